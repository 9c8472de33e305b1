"""Prescribed motions, and the efforts that they take."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.interpolate import PchipInterpolator, make_interp_spline
from scipy.spatial.transform import Rotation

import titop as tt
from tests.solvers.simulation.simulated_models import GRAVITY, Array, cart, largest, moving, shaken, single_body
from tests.tolerances import ACCURACY, TIGHT
from titop.solvers.motions.prescribed import PrescribedMotion


def assert_efforts_are_those_of_the_motion(trajectory: tt.Trajectory, prescribed: slice) -> None:
    """Prescribed motions take the efforts of inverse dynamics, the others none."""
    expected = np.array([trajectory.model.inverse_dynamics(*state) for state in moving(trajectory)])
    # rounding of the dynamics alone
    assert largest(trajectory.tau[:, prescribed] - expected[:, prescribed]) < 1e-11
    assert largest(np.delete(trajectory.tau, prescribed, axis=1)) == 0
    assert largest(np.delete(expected, prescribed, axis=1)) < 1e-11


@pytest.mark.parametrize("given_as", ["function", "spline"])
def test_prescribed_motion_of_a_joint(given_as: str) -> None:
    knots = np.linspace(-0.5, 3.5, 801)
    spline = make_interp_spline(knots, shaken(knots)[0], k=7)
    motion: Callable[[float], Any] = shaken if given_as == "function" else spline
    t = np.linspace(0, 3, 31)
    trajectory = tt.simulate(cart(), t, [0.0, 0.4], [0.0, 0.0], prescribed={"track": motion}, **TIGHT)

    def swing(time: float, y: Array) -> list[float]:
        return [y[1], -(GRAVITY * np.sin(y[0]) + shaken(time)[2] * np.cos(y[0])) / 0.7]

    expected = solve_ivp(swing, (0, 3), [0.4, 0], "DOP853", t, rtol=1e-12, atol=1e-13).y.T
    assert largest(trajectory.q[:, 1] - expected[:, 0]) < ACCURACY
    assert largest(trajectory.v[:, 1] - expected[:, 1]) < ACCURACY
    # a spline of degree 7 through points 5 ms apart: 1e-15 in position, 1e-11 in its second derivative
    for found, exact in zip((trajectory.q, trajectory.v, trajectory.a), shaken(t), strict=True):
        assert largest(found[:, 0] - exact) < (1e-15 if given_as == "function" else 1e-10)
    assert_efforts_are_those_of_the_motion(trajectory, slice(0, 1))


def test_prescribed_motion_of_a_base() -> None:
    """A pendulum swings outwards on a hub that turns at a constant rate."""
    rate, reach, length, mass = 3.0, 0.4, 0.7, 2.0
    hub = tt.RigidBody("hub", mass=1.0, inertia=[1, 1, 1], ports={"rim": [reach, 0, 0]})
    s = tt.System("carousel", gravity=[0, 0, -GRAVITY])
    s.connect("world", hub, tt.Free("base"))
    s.connect(hub.port("rim"), tt.RigidBody("bob", mass=mass, com=[0, 0, -length]), tt.Revolute("hinge", axis=[0, -1, 0]))

    def turning(t: float) -> tuple[Array, Array, Array]:
        half = rate * t / 2
        return np.array([0, 0, 1.0, 0, 0, np.sin(half), np.cos(half)]), np.array([0, 0, 0, 0, 0, rate]), np.zeros(6)

    t = np.linspace(0, 3, 31)
    model = s.resolve()
    trajectory = tt.simulate(model, t, model.neutral(), np.zeros(7), prescribed={"base": turning}, **TIGHT)

    def swing(_: float, y: Array) -> list[float]:
        outwards = rate**2 * (reach + length * np.sin(y[0])) * np.cos(y[0])
        return [y[1], (outwards - GRAVITY * np.sin(y[0])) / length]

    theta, theta_rate = solve_ivp(swing, (0, 3), [0, 0], "DOP853", t, rtol=1e-12, atol=1e-13).y
    assert largest(trajectory.q[:, 7] - theta) < ACCURACY
    # what turns the hub is the change of the bob's angular momentum
    torque = 2 * mass * rate * (reach + length * np.sin(theta)) * length * np.cos(theta) * theta_rate
    assert largest(trajectory.tau[:, 5] - torque) < 10 * ACCURACY  # forces of order ten
    assert_efforts_are_those_of_the_motion(trajectory, slice(0, 6))


def test_efforts_of_other_accelerations_are_noticed() -> None:
    trajectory = tt.simulate(cart(), [0, 1], [0.0, 0.4], [0.0, 0.0], prescribed={"track": shaken})
    wrong = tt.Trajectory(trajectory.model, trajectory.t, trajectory.q, trajectory.v, trajectory.a + 1e-6, trajectory.tau)
    with pytest.raises(AssertionError):
        assert_efforts_are_those_of_the_motion(wrong, slice(0, 1))


@pytest.mark.parametrize(
    ("prescribed", "code"),
    [({"disc": None, "disc.x": None}, "prescribed-twice"), ({"base.x": None}, "not-separable"), ({"base": None}, "bad-motion")],
)
def test_bad_choices_of_prescribed_coordinates(prescribed: dict[str, Any], code: str) -> None:
    s = tt.System("two")
    base, disc = tt.RigidBody("rock", mass=1.0, inertia=1.0), tt.RigidBody("pebble", mass=1.0, inertia=1.0)
    s.connect("world", base, tt.Free("base"))
    s.connect(base, disc, tt.Planar("disc"))
    model = s.resolve()
    motions = {name: (lambda t, n=3 if name == "disc" else 1: (np.zeros(n),) * 3) for name in prescribed}
    with pytest.raises(tt.ModelError) as caught:
        tt.simulate(model, [0, 1], model.neutral(), np.zeros(9), prescribed=motions)
    assert caught.value.code == code


def test_one_prescribed_coordinate_of_several() -> None:
    model = single_body(tt.RigidBody("disc", mass=1.0, inertia=1.0), tt.Planar("plane"))
    trajectory = tt.simulate(model, [0, 1, 2], np.zeros(3), [0, 1, 2], prescribed={"plane.x": shaken}, **TIGHT)
    t = trajectory.t
    assert largest(trajectory.q - np.array([shaken(t)[0], t, 2 * t]).T) < ACCURACY
    assert_efforts_are_those_of_the_motion(trajectory, slice(0, 1))


def test_splines_are_not_extrapolated() -> None:
    from scipy.interpolate import CubicSpline, make_interp_spline

    knots = np.linspace(0, 1, 9)
    for spline in (CubicSpline(knots, knots**2), make_interp_spline(knots, knots**2, k=5)):
        tt.simulate(cart(), [0, 1], [0.0, 0.4], [0.0, 0.0], prescribed={"track": spline})
        with pytest.raises(tt.ModelError, match="short-spline"):
            tt.simulate(cart(), [0, 2], [0.0, 0.4], [0.0, 0.0], prescribed={"track": spline})


class TestContradictions:
    """Velocities and accelerations that are not the derivatives of what is returned before them."""

    @pytest.mark.parametrize(
        ("motion", "what"),
        [
            (lambda t: (np.sin(t), 0.0, 0.0), "velocity 0;"),
            (lambda t: (np.sin(t), np.cos(t), np.sin(t)), "acceleration 0.1"),
            (lambda t: (np.sin(t), 1.03 * np.cos(t), -1.03 * np.sin(t)), "velocity 1.0"),
        ],
    )
    def test_give_a_warning(self, motion: Callable[[float], Any], what: str) -> None:
        with pytest.warns(tt.ModelWarning, match=f"prescribed motion of track: got {what}.*contradictory-motion"):
            tt.simulate(cart(), [0, 1], [0.0, 0.4], [0.0, 0.0], prescribed={"track": motion})

    @pytest.mark.parametrize(
        "motion",
        [
            lambda t: (0.5, 0.0, 0.0),
            lambda t: (1e-3 * np.sin(3e3 * t), 3 * np.cos(3e3 * t), -9e3 * np.sin(3e3 * t)),
            lambda t: (min(t, 0.5), 1.0 * (t < 0.5), 0.0),
            lambda t: (1e6 + t * t, 2 * t, 2.0),
        ],
        ids=["rest", "fast", "kink", "far"],
    )
    def test_are_not_seen_where_there_are_none(self, motion: Callable[[float], Any]) -> None:
        PrescribedMotion(cart(), {"track": motion}, (0.0, 1.0))  # warnings are errors in these tests

    def test_of_turning_bases(self) -> None:
        model = single_body(tt.RigidBody("hub", 2.0, inertia=0.1), tt.Free("base"))
        turn = 0.7

        def spinning(t: float, rate: float) -> tuple[list[float], list[float], list[float]]:
            pose = [np.sin(t), 0.0, 0.0, 0.0, 0.0, np.sin(turn * t / 2), np.cos(turn * t / 2)]
            across = [np.cos(t) * np.cos(turn * t), -np.cos(t) * np.sin(turn * t), 0.0]
            rates = [
                -np.sin(t) * np.cos(turn * t) - turn * np.cos(t) * np.sin(turn * t),
                np.sin(t) * np.sin(turn * t) - turn * np.cos(t) * np.cos(turn * t),
                0.0,
            ]
            return pose, [*across, 0.0, 0.0, rate], [*rates, 0.0, 0.0, 0.0]

        PrescribedMotion(model, {"base": lambda t: spinning(t, turn)}, (0.0, 1.0))
        with pytest.warns(tt.ModelWarning, match="velocity -0.7"):
            PrescribedMotion(model, {"base": lambda t: spinning(t, -turn)}, (0.0, 1.0))


def test_prescribed_quaternions_that_are_none_are_named() -> None:
    s = tt.System("ball")
    s.connect("world", tt.RigidBody("b", 1.0, inertia=[0.1, 0.2, 0.25]), tt.Spherical("ball"))
    model = s.resolve()

    def growing(t: float) -> Any:
        return np.array([0, 0, np.sin(t / 2), np.cos(t / 2)]) * (1 + t), [0, 0, 1], [0, 0, 0]

    with pytest.raises(tt.ModelError, match=r"prescribed\['ball'\] at t = 0\.\d+ s: got norm 1\.\d+; expected a unit quat"):
        tt.simulate(model, [0, 0.5, 1], model.neutral(), np.zeros(3), prescribed={"ball": growing})


def crane() -> tt.Model:
    s = tt.System("crane")
    trolley = tt.RigidBody("trolley", 2.0)
    s.connect("world", trolley, tt.Prismatic("rail", axis=[1, 0, 0]))
    s.connect(trolley, tt.RigidBody("load", 1.0, com=[0, 0, -1], inertia=0.01), tt.Revolute("hinge", axis=[0, 1, 0]))
    return s.resolve()


@pytest.mark.parametrize("method", ["DOP853", "Radau", "BDF"])
def test_motions_of_splines_are_not_stepped_over(method: str) -> None:
    """A load that hangs at rest for fifty seconds, and then swings: as with steps that are short by themselves."""
    knots = np.linspace(0, 100, 201)
    spline = make_interp_spline(knots, np.clip((knots - 50) / 2, 0, 1), k=3)
    options: dict[str, Any] = {"prescribed": {"rail": spline}, "rtol": 1e-8, "atol": 1e-10, "progress": False}
    found = tt.simulate(crane(), [0, 55, 60], [0.0, 0.0], [0.0, 0.0], method=method, **options).q[:, 1]
    expected = tt.simulate(crane(), [0, 55, 60], [0.0, 0.0], [0.0, 0.0], max_step=0.05, **options).q[:, 1]
    np.testing.assert_allclose(found, expected, atol=1e-5)
    assert np.abs(expected).max() > 1e-3


def test_velocities_that_jump_are_told() -> None:
    corner = make_interp_spline([0, 1, 2], [0, 1, 0], k=1)
    with pytest.warns(tt.ModelWarning, match=r"prescribed\['rail'\]: got a velocity that jumps at t = 1 s.*jumping-motion"):
        tt.simulate(crane(), [0, 1, 1.2], [0, 0], [0, 0], prescribed={"rail": corner})


@pytest.mark.parametrize("method", ["DOP853", "generalized-alpha"])
def test_no_step_falls_between_what_a_spline_does(method: str) -> None:
    """A move over one piece, whose acceleration is zero at both ends and halfway: its impulses set a sprung body swinging.

    The momentum that the spring gets follows from a fine simulation of the same motion.
    """
    s = tt.System("cart", gravity=[0, 0, 0])
    cart = tt.RigidBody("cart", mass=1.0)
    s.connect("world", cart, tt.Prismatic("x", axis=[1, 0, 0]))
    s.connect(cart, tt.RigidBody("load", mass=1.0), tt.Prismatic("y", axis=[1, 0, 0], stiffness=50.0, damping=0.5))
    m, knots = s.resolve(), np.linspace(0, 2, 161)
    move = PchipInterpolator(knots, np.where(np.arange(161) > 80, 0.02, 0.0))
    options = {"prescribed": {"x": move}, "rtol": 1e-6, "atol": 1e-9, "progress": False}
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # the velocity is continuous: no jump is to be warned of
        found = tt.simulate(m, [0, 2.0], [0, 0], [0, 0], method=method, **options)
    fine = tt.simulate(m, [0, 2.0], [0, 0], [0, 0], method="DOP853", max_step=1e-3, **options)
    np.testing.assert_allclose(found.v[-1], fine.v[-1], rtol=0, atol=2e-4)
    assert abs(fine.v[-1, 1]) > 0.05


def two_links(weld: float | None = None) -> tt.Model:
    """Return a double pendulum, its second joint welded at an angle if one is given."""
    upper = tt.RigidBody("upper", 2.0, com=[0.3, 0, 0], inertia=0.1, ports={"end": [0.6, 0, 0]})
    lower = tt.RigidBody("lower", 1.0, com=[0.2, 0, 0], inertia=0.05)
    s = tt.System("links", gravity=[0, 0, -GRAVITY])
    s.connect("world", upper, tt.Revolute("first", axis=[0, 1, 0]))
    if weld is None:
        s.connect(upper.port("end"), lower, tt.Revolute("second", axis=[0, 1, 0]))
    else:
        placed = tt.Pose(rotation=Rotation.from_rotvec([0, weld, 0]).as_matrix())
        s.connect(upper.port("end"), lower, tt.Weld("second"), placed)
    return s.resolve()


def test_held_coordinates_stay_where_they_are() -> None:
    """As welded there, by the effort that the weld takes about the joint's axis."""
    t = np.linspace(0, 1, 11)
    held = tt.simulate(two_links(), t, [0.1, 0.5], [0.2, 0.0], hold=["second"], **TIGHT)
    welded = tt.simulate(two_links(0.5), t, [0.1], [0.2], **TIGHT)
    assert (held.q[:, 1] == 0.5).all()
    assert not held.v[:, 1].any()
    assert largest(held.q[:, :1] - welded.q) < ACCURACY
    assert largest(held.tau[:, 1] - welded.reaction("second")[:, 4]) < 10 * ACCURACY  # of efforts of size 10
    assert largest(tt.simulate(two_links(), t, [0.1, 0.5], [0.2, 0.0], **TIGHT).q[:, 1] - 0.5) > 0.1


def test_a_base_is_held_with_its_attitude() -> None:
    hub = tt.RigidBody("hub", mass=1.0, inertia=1.0)
    s = tt.System("ship", gravity=[0, 0, -GRAVITY])
    s.connect("world", hub, tt.Free("base"))
    s.connect(hub, tt.RigidBody("bob", mass=2.0, com=[0, 0, -0.7]), tt.Revolute("hinge", axis=[0, -1, 0]))
    start = [0.1, 0.2, 0.3, *Rotation.from_rotvec([0.3, 0, 0]).as_quat(), 0.4]
    run = tt.simulate(s.resolve(), [0, 1], start, np.zeros(7), hold="base")
    assert (run.q[:, :7] == run.q[0, :7]).all()
    assert abs(run.q[1, 7] - 0.4) > 0.1


@pytest.mark.parametrize(
    ("code", "arguments"),
    [
        ("unknown-coordinate", {"hold": "third"}),
        ("held-moves", {"hold": ["first"]}),
        ("prescribed-twice", {"hold": ["second"], "prescribed": {"second": lambda t: (0.5, 0.0, 0.0)}}),
    ],
)
def test_what_cannot_be_held_is_refused(code: str, arguments: dict[str, Any]) -> None:
    with pytest.raises(tt.ModelError, match="hold") as caught:
        tt.simulate(two_links(), [0, 1], [0.1, 0.5], [0.2, 0.0], **arguments)
    assert caught.value.code == code
