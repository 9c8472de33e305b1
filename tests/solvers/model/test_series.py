"""Time derivatives as users ask for them: terms of equations of motion, motion of ports, simulations, and what is refused."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest

import titop as tt
from tests.closed_systems import closed_four_bar
from tests.refusals import ENGINES, refusal
from tests.solvers.series_along import assert_derivatives, moved
from tests.systems import Array, random_tree
from tests.test_bad_inputs import crane

Q, STACK, EFFORTS = np.array([0.1, 0.2]), np.ones((4, 2)), np.ones((3, 2))


@cache
def tree(seed: int) -> tuple[tt.Model, Array, Array]:
    """Return a random tree on a free base, with springs, dampers and loads, and a motion."""
    rng = np.random.default_rng(seed)
    m = random_tree(rng, 3, base="free", passive=True, loads=True).resolve("reference")
    return m, m.random_configuration(rng), rng.normal(size=(5, m.nv))


@cache
def model(engine: str = "reference") -> tt.Model:
    return crane().resolve(engine)


# -- terms of the equations of motion ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(2))
def test_terms_add_up_by_leibniz_rule(seed: int) -> None:
    """From Jacobians, against the recursion: sums of some hundred terms."""
    m, q, stack = tree(seed)
    tau, terms = m.inverse_dynamics_series(q, stack), m.equation_series(q, stack)
    for k, expected in enumerate(tau):
        inertial = sum(math.comb(k, j) * terms.mass_matrix[j] @ stack[1 + k - j] for j in range(k + 1))
        found = inertial + terms.coriolis[k] + terms.gravity[k] + terms.external[k]
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12 * np.abs(tau).max())
        without = found - math.comb(k, 1) * terms.mass_matrix[min(k, 1)] @ stack[k] if k else found + terms.external[k]
        assert np.abs(without - expected).max() > 1e-3  # the control: no term may be left out


@pytest.mark.parametrize("seed", [1])
def test_terms_are_those_of_the_model(seed: int) -> None:
    m, q, stack = tree(seed)
    terms = m.equation_series(q, stack)
    coriolis = m.coriolis_matrix(q, stack[0])
    size = 1 + np.abs(terms.mass_matrix).max()
    skewed = terms.mass_matrix[1] - 2 * coriolis
    np.testing.assert_allclose(skewed, -skewed.T, rtol=0, atol=1e-12 * size)
    assert np.abs(terms.mass_matrix[1] - coriolis + coriolis.T).max() > 1e-3  # the control
    np.testing.assert_allclose(coriolis @ stack[0], terms.coriolis[0], rtol=0, atol=1e-12 * size)
    np.testing.assert_allclose(terms.mass_matrix[0], m.mass_matrix(q), rtol=0, atol=1e-13 * size)
    np.testing.assert_allclose(terms.gravity[0], m.gravity_effects(q), rtol=0, atol=1e-12 * size)
    np.testing.assert_allclose(terms.mass_matrix, terms.mass_matrix.swapaxes(1, 2), rtol=0, atol=1e-12 * np.abs(terms[0]).max())

    def whole(h: float) -> Array:
        at, later = moved(m, q, stack[:4], h)
        parts = m.equation_series(at, later[:3] if h else later)
        return np.hstack([part.reshape(len(part), -1) for part in parts])

    assert_derivatives(whole)


def test_terms_take_wrenches_and_inputs() -> None:
    m, q = model(), Q
    loads = {"wrenches": {"bob.tip": np.arange(18.0).reshape(3, 6)}, "u": {"motor": [1.0, 2.0, 3.0]}}
    free, pushed = m.equation_series(q, STACK), m.equation_series(q, STACK, **loads)
    done = m.inverse_dynamics_series(q, STACK, **loads) - m.inverse_dynamics_series(q, STACK)
    np.testing.assert_allclose(pushed.external - free.external, done, rtol=0, atol=1e-12)
    np.testing.assert_array_equal(pushed.mass_matrix, free.mass_matrix)


# -- motion of ports -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("engine", ENGINES)
def test_ports_move_with_velocity_acceleration_and_jerk(engine: str) -> None:
    """Against differences of poses, and points that turn about an axis by hand."""
    rng = np.random.default_rng(0)
    m = random_tree(rng, 3, base="free").resolve(engine)
    q, stack = m.random_configuration(rng), rng.normal(size=(4, m.nv))
    port = m.port_names[-1]
    found = m.motion_series(port, q, stack)
    assert [part.shape for part in found] == [(4, 3, 3), (5, 3), (4, 6)]
    R, p = m.pose(port, q)
    np.testing.assert_allclose(found.rotation[0], R, rtol=0, atol=1e-14)
    np.testing.assert_allclose(found.position[0], p, rtol=0, atol=1e-14)
    np.testing.assert_allclose(found.position[1], R @ (m.jacobian(port, q) @ stack[0])[:3], rtol=0, atol=1e-13)

    def series(h: float) -> Array:
        at, later = moved(m, q, stack, h)
        return m.motion_series(port, at, later).position

    assert_derivatives(series)


def test_a_point_on_a_circle_has_a_known_jerk() -> None:
    """At radius 1 and rate w: velocity w, acceleration w^2, jerk w^3, snap w^4, each a quarter turn on."""
    s = tt.System("wheel")
    s.connect("world", tt.RigidBody("disc", 1.0, inertia=1.0, ports={"rim": [1, 0, 0]}), tt.Revolute("axle"))
    m, w = s.resolve("reference"), 3.0
    found = m.motion_series("disc.rim", [0.0], [[w], [0.0], [0.0], [0.0]])
    turns = np.array([[1, 0, 0], [0, 1, 0], [-1, 0, 0], [0, -1, 0], [1, 0, 0]])
    np.testing.assert_allclose(found.position, turns * w ** np.arange(5.0)[:, None], rtol=0, atol=1e-13)
    np.testing.assert_array_equal(found.twist[:, 5], [w, 0, 0, 0])
    still = m.motion_series("world", [0.0], [[w]])
    np.testing.assert_array_equal(still.position, np.zeros((2, 3)))


# -- simulations -------------------------------------------------------------------------------------------------------------


def test_a_simulation_has_the_series_as_its_derivatives() -> None:
    """A step of Taylor's series is a step of the simulation: 0.02 s to the tenth, times rates of a few, and its tolerance.

    Of 1e-12 of rates of 2 rad/s at each of some ten steps.
    """
    m = crane().resolve()
    q, v = Q, np.array([0.3, -2.0])
    trajectory = tt.simulate(m, [0, 0.02], q, v, rtol=1e-12, atol=1e-13, progress=False)
    a = m.forward_dynamics_series(q, v, np.zeros((8, 2)))
    powers = 0.02 ** np.arange(9.0) / [math.factorial(k) for k in range(9)]
    np.testing.assert_allclose(trajectory.v[-1], powers @ np.vstack([v, a]), rtol=0, atol=1e-10)
    np.testing.assert_allclose(trajectory.q[-1], q + 0.02 * (powers / np.arange(1, 10)) @ np.vstack([v, a]), rtol=0, atol=1e-10)
    short = powers[:3] @ np.vstack([v, a])[:3]
    assert np.abs(trajectory.v[-1] - short).max() > 1e-6  # the control: the jerk counts


# -- what is refused -----------------------------------------------------------------------------------------------------------

_NAN = np.array([[1.0, 1.0], [1.0, 1.0], [1.0, np.nan], [1.0, 1.0]])

CASES: list[tuple[str, str, Callable[[tt.Model], Any]]] = [
    ("wrong-shape", "v_series: got shape (2,); expected shape (2, 2)", lambda m: m.inverse_dynamics_series(Q, [1.0, 2.0])),
    ("wrong-shape", "v_series: got shape (1, 2); expected shape (2, 2)", lambda m: m.inverse_dynamics_series(Q, STACK[:1])),
    ("wrong-shape", "v_series: got shape (4, 3)", lambda m: m.inverse_dynamics_series(Q, np.ones((4, 3)))),
    ("wrong-shape", "expected shape (5, 2)", lambda m: m.inverse_dynamics_series(Q, STACK, order=3)),
    ("wrong-shape", "v_series: got shape (2, 4, 2)", lambda m: m.inverse_dynamics_series(Q, [STACK, STACK])),
    ("not-finite", "v_series[2, 1]: got nan", lambda m: m.inverse_dynamics_series(Q, _NAN)),
    ("wrong-type", "v_series", lambda m: m.inverse_dynamics_series(Q, "x")),
    ("wrong-type", "v_series", lambda m: m.inverse_dynamics_series(Q, [[1, 2], [1]])),
    ("wrong-type", "v_series", lambda m: m.inverse_dynamics_series(Q, STACK + 1j)),
    ("bad-order", "order: got -1; expected a whole number >= 0", lambda m: m.inverse_dynamics_series(Q, STACK, order=-1)),
    ("bad-order", "order: got 1.5", lambda m: m.inverse_dynamics_series(Q, STACK, order=1.5)),  # type: ignore[arg-type]
    ("bad-order", "order: got 2", lambda m: m.inverse_dynamics_series(Q, STACK, order="2")),  # type: ignore[arg-type]
    ("wrong-length", "q: got shape (1,)", lambda m: m.inverse_dynamics_series([1.0], STACK)),
    ("wrong-length", "out", lambda m: m.inverse_dynamics_series(Q, STACK, out=np.empty((2, 2)))),
    ("wrong-length", "v: got shape (3,)", lambda m: m.forward_dynamics_series(Q, np.zeros(3), EFFORTS)),
    ("wrong-shape", "tau_series: got shape (0, 2)", lambda m: m.forward_dynamics_series(Q, Q, np.ones((0, 2)))),
    ("not-finite", "tau_series[2, 1]", lambda m: m.forward_dynamics_series(Q, Q, _NAN)),
    ("wrong-shape", "a_series: got shape (4, 2)", lambda m: m.hybrid_dynamics_series(Q, Q, EFFORTS, STACK, ["hinge"])),
    ("unknown-coordinate", "'hinge'", lambda m: m.hybrid_dynamics_series(Q, Q, EFFORTS, EFFORTS, ["hing"])),
    ("unknown-coordinate", "'rail'", lambda m: m.inverse_dynamics_series(Q, STACK, actuated=["ral"])),
    ("under-actuated", "at order 0", lambda m: m.inverse_dynamics_series(Q, STACK, actuated=["rail"])),
    ("unknown-port", "'bob.tip'", lambda m: m.inverse_dynamics_series(Q, STACK, wrenches={"bob.tp": np.zeros(6)})),
    ("wrong-shape", "expected shape (3, 6)", lambda m: m.inverse_dynamics_series(Q, STACK, wrenches={"bob": np.ones((2, 6))})),
    ("wrong-type", "wrenches", lambda m: m.inverse_dynamics_series(Q, STACK, wrenches=[1])),  # type: ignore[arg-type]
    ("unknown-input", "'motor'", lambda m: m.inverse_dynamics_series(Q, STACK, u={"motr": 1.0})),
    ("wrong-shape", "u['motor']: got shape (2, 1)", lambda m: m.inverse_dynamics_series(Q, STACK, u={"motor": [1.0, 2.0]})),
    ("not-finite", "u['motor'][0, 0]", lambda m: m.inverse_dynamics_series(Q, STACK, u={"motor": np.nan})),
    ("unknown-twists", "twists", lambda m: m.inverse_dynamics_series(Q, STACK, twists="world")),
    ("unknown-port", "port", lambda m: m.motion_series("bob.tp", Q, STACK)),
    ("wrong-shape", "v_series: got shape (0, 2)", lambda m: m.motion_series("bob", Q, np.ones((0, 2)))),
    ("wrong-shape", "v_series: got shape (1, 2)", lambda m: m.equation_series(Q, STACK[:1])),
    ("not-finite", "[not-finite]", lambda m: m.inverse_dynamics_series(Q, 1e300 * STACK)),
]  # fmt: skip


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(("code", "text", "call"), CASES)
def test_what_cannot_be_used_is_refused_by_name(code: str, text: str, call: Callable[[tt.Model], Any], engine: str) -> None:
    with refusal(code, text):
        call(model(engine))


@pytest.mark.filterwarnings("ignore::titop.ModelWarning")
@pytest.mark.parametrize("engine", ENGINES)
def test_loops_that_open_later_are_refused(engine: str) -> None:
    m, q, v = closed_four_bar(engine=engine)
    a = m.forward_dynamics_series(q, v, np.zeros((3, 3)))
    a[2, 0] += 1.0 + np.abs(a).max()
    with refusal("inconsistent-motion", "its derivative of order 3"):
        m.inverse_dynamics_series(q, np.vstack([v, a]), actuated=["q1"])
    with refusal("inconsistent-motion", "its derivative of order 3"):
        m.hybrid_dynamics_series(q, v, np.zeros((3, 3)), a, ["q1", "q2", "q3"])


@pytest.mark.parametrize("engine", ENGINES)
def test_arguments_stay_as_they_are(engine: str) -> None:
    m = model(engine)
    q, stack, tau = Q.copy(), STACK.copy(), EFFORTS.copy()
    out = np.empty((3, 2))
    assert m.inverse_dynamics_series(q, stack, out=out) is out
    np.testing.assert_array_equal(out, m.inverse_dynamics_series(q.tolist(), stack.astype(int).tolist()))
    assert m.forward_dynamics_series(q, stack[0], tau, out=out) is out
    m.hybrid_dynamics_series(q, stack[0], tau, tau, ["rail"], twists="spatial")
    np.testing.assert_array_equal(q, Q)
    np.testing.assert_array_equal(stack, STACK)
    np.testing.assert_array_equal(tau, EFFORTS)
