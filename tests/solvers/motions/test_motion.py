"""Motions as functions of time: what they say, copied, and refused where it cannot be used."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy.interpolate import BSpline, CubicSpline, PPoly, UnivariateSpline, make_interp_spline

import titop as tt
from tests.solvers.simulation.simulated_models import largest, single_body
from tests.systems import Array
from titop.solvers.motions.motion import PiecewiseMotion, read_motion

KNOTS = np.array([0.0, 0.3, 0.5, 1.2, 1.7, 2.0])
POINTS = np.random.default_rng(0).normal(size=(6, 3))


def splines() -> dict[str, Any]:
    return {
        "cubic": CubicSpline(KNOTS, POINTS[:, 0]),
        "cubic, three": CubicSpline(KNOTS, POINTS),
        "B": make_interp_spline(KNOTS, POINTS[:, 0], k=5),
        "B, three": make_interp_spline(KNOTS, POINTS, k=3),
        "B, three, along the other axis": make_interp_spline(KNOTS, POINTS.T, k=3, axis=1),
        "B, linear": make_interp_spline(KNOTS, POINTS[:, 0], k=1),
        "constant pieces": BSpline(KNOTS, POINTS[:-1, 0], k=0),
        "smoothing": UnivariateSpline(KNOTS, POINTS[:, 0], k=4, s=0),
    }


@pytest.mark.parametrize("name", splines())
def test_splines_are_evaluated_as_scipy_does(name: str) -> None:
    spline = splines()[name]
    n = np.size(spline(0.0))
    motion = read_motion("m", spline, (n, n), (0.0, 2.0))
    times = [*KNOTS[:-1].tolist(), 0.1, 0.42, 1.99]
    rows = motion.rows(times)
    degree = getattr(spline, "k", 5)
    for order in range(3):
        slopes = spline.derivative(order) if 0 < order <= degree else spline if not order else np.zeros_like
        expected = np.array([np.resize(slopes(t), n) for t in times])
        # rounding; slopes are of order a hundred
        np.testing.assert_allclose(rows[:, order * n : (order + 1) * n], expected, rtol=1e-11, atol=1e-11)


def test_all_times_of_a_step_are_evaluated_at_once() -> None:
    for name, spline in splines().items():
        n = np.size(spline(0.0))
        assert isinstance(read_motion("m", spline, (n, n), (0.0, 2.0)), PiecewiseMotion) == (name != "smoothing")


class Growing(CubicSpline):
    def __call__(self, x: Any, nu: int = 0, extrapolate: Any = None) -> Any:
        return 2.0 * super().__call__(x, nu, extrapolate)


def test_splines_that_evaluate_themselves_otherwise_are_asked() -> None:
    spline = Growing(KNOTS, POINTS[:, 0])
    assert read_motion("m", spline, (1, 1), (0.0, 2.0)).rows([0.4])[0, 0] == spline(0.4)


def hub(joint: tt.Joint) -> tt.Model:
    """Return a body that is to move, and another that hangs on it."""
    s = tt.System("two", gravity=[0, 0, -9.81])
    body = tt.RigidBody("hub", mass=1.0, inertia=[1, 1, 1], ports={"rim": [0.4, 0, 0]})
    s.connect("world", body, joint)
    s.connect(body.port("rim"), tt.RigidBody("bob", 1.0, com=[0, 0, -0.7]), tt.Revolute("hinge", axis=[0, -1, 0]))
    return s.resolve()


@pytest.mark.parametrize("joint", [tt.Planar("base"), tt.Prismatic("base", axis=[1, 0, 0])], ids=["three", "one"])
def test_functions_may_write_into_the_same_arrays_again(joint: tt.Joint) -> None:
    model, room = hub(joint), np.zeros((3, len(joint.coordinates)))

    def reusing(t: float) -> tuple[Array, ...]:
        room[:, 0] = np.sin(t), np.cos(t), -np.sin(t)
        return tuple(room)

    def anew(t: float) -> tuple[Array, ...]:
        return tuple(part.copy() for part in reusing(t))

    t, q, v = np.linspace(0, 3, 7), np.zeros(model.nq), np.zeros(model.nv)
    runs = [tt.simulate(model, t, q, v, prescribed={"base": motion}) for motion in (reusing, anew)]
    assert np.array_equal(runs[0].q, runs[1].q)
    assert largest(runs[0].q[:, -1]) > 0.1  # it swings


def broken_spline(breaks: bool) -> PPoly:
    c = np.array([[0.0, 0.0], [0.0, np.nan if breaks else 0.5]])
    return PPoly(c, [0.0, 0.5, 1.0])


def broken_function(breaks: bool) -> Callable[[float], Any]:
    return lambda t: (np.nan if breaks and t > 0.5 else 0.0, 0.0, 0.0)


def longer_later(breaks: bool) -> Callable[[float], Any]:
    return lambda t: (np.zeros(2 if breaks and t > 0.5 else 1), 0.0, 0.0)


@pytest.mark.parametrize("motion", [broken_spline, broken_function, longer_later])
def test_what_cannot_be_used_later_is_found(motion: Any) -> None:
    """Along an axis on which nothing depends, so that no other number shows it. Unbroken the same motion passes."""
    model = single_body(tt.RigidBody("b", 1.0), tt.Prismatic("rail", axis=[1, 0, 0]))
    given: dict[str, Any] = {"t": [0, 0.2, 1], "q0": [0.0], "v0": [0.0], "progress": False}
    for method in ("DOP853", "BDF"):
        tt.simulate(model, **given, method=method, prescribed={"rail": motion(False)})
        with pytest.raises(tt.ModelError, match=r"prescribed\['rail'\]") as caught:
            tt.simulate(model, **given, method=method, prescribed={"rail": motion(True)})
        assert caught.value.code == "bad-motion"


def test_three_numbers_later_are_not_three_coordinates() -> None:
    motion = read_motion("m", lambda t: ((0.0, 0.0, np.nan if t > 1 else 0.0),) * 3, (3, 3), (0.0, 2.0))
    assert motion.rows([0.0, 1.0]).shape == (2, 9)
    with pytest.raises(tt.ModelError, match="bad-motion"):
        motion.rows([0.5, 1.5])


def test_splines_of_another_size_are_refused() -> None:
    for spline in (splines()["B, three"], PPoly(np.ones((2, 1)) * 1j, [0.0, 2.0])):
        with pytest.raises(tt.ModelError, match="bad-motion"):
            read_motion("m", spline, (1, 1), (0.0, 2.0))


@pytest.mark.parametrize("n", [1, 3])
def test_a_function_may_return_an_array(n: int) -> None:
    """Its rows are position, velocity and acceleration, as the entries of a tuple are; one that it uses again is copied."""
    room = np.zeros((3, n) if n > 1 else 3)

    def filled(t: float) -> Array:
        room[0], room[1], room[2] = t**3, 3 * t**2, 6 * t
        return room

    rows = read_motion("m", filled, (n, n), (0.0, 2.0)).rows([0.5, 1.0])
    np.testing.assert_array_equal(rows, [np.repeat([0.125, 0.75, 3.0], n), np.repeat([1.0, 3.0, 6.0], n)])


@pytest.mark.parametrize("value", [np.zeros(2), np.zeros((2, 3)), np.array(1.0), np.array([0.0, np.nan, 0.0])])
def test_arrays_of_other_shapes_are_refused(value: Array) -> None:
    with pytest.raises(tt.ModelError, match="bad-motion"):
        read_motion("m", lambda t: value, (1, 1), (0.0, 2.0)).rows([0.5])
