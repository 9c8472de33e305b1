"""Time derivatives through closures and gears, in any causality: loops stay closed, and orders follow from each other."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import titop as tt
from tests import mechanisms
from tests.closed_systems import (
    CLOSURE_KINDS,
    bricard,
    closed_four_bar,
    four_bar,
    geared_hand,
    random_closed_tree,
    slider_crank,
    stewart,
)
from tests.refusals import refusal
from tests.solvers.constraints.linkages import FourBar
from tests.solvers.series_along import moved, slope
from tests.systems import Array
from titop.blocks.basics.taylor import factorials
from titop.solvers.mechanism.inputs import PortPush
from titop.solvers.series.causality import ConstraintSeries

pytestmark = pytest.mark.filterwarnings("ignore::titop.ModelWarning")  # redundant constraints

#: Derivatives beside the acceleration.
ORDER = 2


def assembled(s: tt.System, guess: Any = None, **fixed: Any) -> tuple[tt.System, Array]:
    m = s.resolve("reference")
    return s, m.assemble(m.neutral() if guess is None else guess, **fixed)


def closed_by(kind: str) -> tuple[tt.System, Array]:
    """Return a closed system whose closure is of a kind, in general position."""
    for seed in range(200):  # draws of closures are random
        s, q = random_closed_tree(np.random.default_rng(seed), 2, compliant=0, kinds=("Universal", "Spherical", "Cylindrical"))
        if s.loops[0].closure.kind != kind:
            continue
        left = s.resolve("reference").closure_jacobian(q)[:, 1:]
        strengths = np.linalg.svd(left, compute_uv=False)
        if strengths[strengths > 1e-9][-1] > 0.1:  # also where the first coordinate is prescribed
            return s, q
    raise AssertionError(kind)


SYSTEMS: dict[str, Callable[[], tuple[tt.System, Array]]] = {
    "four-bar, three redundant rows": lambda: assembled(four_bar(), [0.5, 0.5, -1.5], fixed=["q1"]),
    "slider-crank": lambda: assembled(slider_crank(), [0.5, -0.7, 0.2], fixed=["q1"]),
    "bricard": lambda: assembled(bricard(), [0.1] * 5),
    "gears": lambda: assembled(geared_hand()),
    "table": lambda: (mechanisms.shared_top(3), mechanisms.shared_top_at(3, 0.7)),
    "springs and loads": lambda: random_closed_tree(np.random.default_rng(1), 3, passive=True, loads=True),
    **{kind: lambda kind=kind: closed_by(kind) for kind in CLOSURE_KINDS},  # type: ignore[misc]
}


def motion(name: str) -> tuple[tt.Model, Array, Array, Array]:
    """Return model, configuration, the stack of a motion and the efforts that cause it."""
    s, q = SYSTEMS[name]()
    m, rng = s.resolve("reference"), np.random.default_rng(3)
    v = m.assemble_velocity(q, rng.normal(size=m.nv))
    tau = rng.normal(size=(ORDER + 1, m.nv))
    return m, q, np.vstack([v, m.forward_dynamics_series(q, v, tau)]), tau


@pytest.mark.parametrize("name", SYSTEMS)
def test_forward_dynamics_keep_loops_closed(name: str) -> None:
    """The motion is that of differences, and its polynomial of time opens loops by the power of h behind it: 4."""
    m, q, stack, tau = motion(name)
    sizes = np.abs(stack).max()
    first = m.forward_dynamics(q, stack[0], tau[0])
    np.testing.assert_allclose(stack[1], first, rtol=0, atol=1e-10 * np.abs(first).max())  # two ways to eliminate constraints

    def acceleration(h: float) -> Array:
        at, later = moved(m, q, stack, h)
        return m.forward_dynamics(at, later[0], tau[0] + h * tau[1] + h * h / 2 * tau[2])

    np.testing.assert_allclose(slope(acceleration, 2e-3), stack[2], rtol=0, atol=1e-7 * sizes)
    wide, narrow = (np.abs(m.closure_error(moved(m, q, stack, h)[0])).max(initial=0.0) for h in (0.02, 0.01))
    assert narrow <= wide / 2 ** (ORDER + 2.5) + 1e-14
    assert wide <= sizes * 0.02 ** (ORDER + 3)


@pytest.mark.parametrize("name", SYSTEMS)
def test_inverse_and_hybrid_dynamics_cause_the_motion(name: str) -> None:
    """To 1e-9 of the largest entry: errors of one order enter the next times rates of a few."""
    m, q, stack, _ = motion(name)
    names, size = m.coordinate_names, np.abs(stack).max()
    efforts = m.inverse_dynamics_series(q, stack, actuated=names)
    expected = m.inverse_dynamics(q, stack[0], stack[1], actuated=names)
    np.testing.assert_allclose(efforts[0], expected, rtol=0, atol=1e-10 * np.abs(expected).max())
    np.testing.assert_allclose(m.forward_dynamics_series(q, stack[0], efforts), stack[1:], rtol=0, atol=1e-9 * size)
    held, other = names[:1], np.arange(m.nv) > 0
    a, found = m.hybrid_dynamics_series(q, stack[0], np.where(other, efforts, 9.0), np.where(other, 9.0, stack[1:]), held)
    np.testing.assert_allclose(a, stack[1:], rtol=0, atol=1e-9 * size)
    np.testing.assert_allclose(found[:, other], efforts[:, other], rtol=1e-12)
    np.testing.assert_allclose(m.forward_dynamics_series(q, stack[0], found), stack[1:], rtol=0, atol=1e-8 * size)


def test_a_four_bar_moves_as_its_closed_form() -> None:
    """Jerk and snap of the crank, by differences of a formula without trees and multipliers."""
    m, q, v = closed_four_bar(engine="reference")
    stack = np.vstack([v, m.forward_dynamics_series(q, v, np.zeros((3, 3)))])
    bar = FourBar()

    def crank(h: float) -> Array:
        at = [sum(part[0] * h**k / math.factorial(k) for k, part in enumerate(rows)) for rows in ([q, *stack], stack)]
        acceleration = bar.acceleration(at[0], at[1], 0.0)
        later = stack[2][0] + h * stack[3][0]
        rate = slope(lambda e: bar.acceleration(at[0] + e * at[1], at[1] + e * acceleration, 0.0), 2e-3)
        return np.array([acceleration, rate, later])

    start, rates = crank(0.0), slope(crank, 2e-3)
    np.testing.assert_allclose(stack[1:3, 0], start[:2], rtol=1e-9)  # differences of order 8
    np.testing.assert_allclose(stack[3, 0], rates[1], rtol=1e-8)


def test_one_actuator_drives_a_linkage_along() -> None:
    m, q, v = closed_four_bar()
    free = m.forward_dynamics_series(q, v, np.zeros((4, 3)))
    a = m.hybrid_dynamics_series(q, v, np.zeros((4, 3)), 2.0 * free, ["q1"])[0]
    np.testing.assert_allclose(a[:, 0], 2.0 * free[:, 0], rtol=1e-13)
    stack = np.vstack([v, a])
    efforts = m.inverse_dynamics_series(q, stack, actuated=["q1"])
    assert not efforts[:, 1:].any()
    np.testing.assert_allclose(m.forward_dynamics_series(q, v, efforts), a, rtol=0, atol=1e-9 * np.abs(a).max())

    def torque(h: float) -> Array:
        at, later = moved(m, q, stack, h)
        acceleration = m.hybrid_dynamics(at, later[0], np.zeros(3), later[1], ["q1"])[0]
        return m.inverse_dynamics(at, later[0], acceleration, actuated=["q1"])

    # the loop opens by the sixth power of steps of 1e-3 s, times a rate of 10 rad/s
    np.testing.assert_allclose(efforts[1], slope(torque, 1e-3), rtol=0, atol=1e-7 * np.abs(efforts).max())


@pytest.mark.parametrize("order", [1, 2, 3])
def test_motions_that_open_loops_are_refused_at_their_order(order: int) -> None:
    m, q, v = closed_four_bar(engine="reference")
    stack = np.vstack([v, m.forward_dynamics_series(q, v, np.zeros((3, 3)))])
    stack[order] += 1e-3 * np.abs(stack).max() * np.array([1.0, 0.0, 0.0])
    with refusal("inconsistent-motion", f"its derivative of order {order};"):
        m.inverse_dynamics_series(q, stack, actuated=["q1"])
    if order > 1:
        with refusal("inconsistent-motion", f"its derivative of order {order}"):
            m.hybrid_dynamics_series(q, v, np.zeros((3, 3)), stack[1:], ["q1", "q2", "q3"])
    else:
        with refusal("inconsistent-acceleration", "pin."):
            m.hybrid_dynamics_series(q, v, np.zeros((3, 3)), stack[1:], ["q1", "q2", "q3"])


def test_too_few_actuators_are_refused() -> None:
    tree = tt.System("pendulum", gravity=[0, -9.81, 0])
    tree.connect("world", tt.RigidBody("a", 1.0, [1, 0, 0], 0.1, ports={"tip": [1, 0, 0]}), tt.Revolute("q1"))
    tree.connect(tree["a"].port("tip"), tt.RigidBody("b", 1.0, [1, 0, 0], 0.1), tt.Revolute("q2"))
    pendulum = tree.resolve("reference")
    rest = np.zeros(2)
    a = pendulum.forward_dynamics_series([0.3, 0.2], rest, [[2.0, 0.0], [1.0, 0.0]])
    given = pendulum.inverse_dynamics_series([0.3, 0.2], np.vstack([rest, a]), actuated=["q1"])
    np.testing.assert_allclose(given, [[2.0, 0.0], [1.0, 0.0]], rtol=1e-12)
    a[1] += [0.0, 1.0]
    with refusal("under-actuated", "at order 1"):
        pendulum.inverse_dynamics_series([0.3, 0.2], np.vstack([rest, a]), actuated=["q1"])


def test_a_linkage_at_rest_in_equilibrium_stays_there() -> None:
    """What is left of accelerations and of all that follows is rounding, which opens no loop."""
    m = four_bar(tt.RigidClosure("pin", directions=np.eye(6)[:, :2])).resolve("reference")
    q = m.assemble([0.5, 0.5, -1.5], fixed=["q1"])
    held = m.inverse_dynamics(q, np.zeros(3), np.zeros(3), actuated=["q1"])
    stack = np.vstack([np.zeros(3), m.forward_dynamics_series(q, np.zeros(3), [held, *np.zeros((3, 3))])])
    np.testing.assert_allclose(stack, 0, atol=1e-10)  # tens of roundings of 10 m/s^2, times the third power of 6 rad/s
    efforts = m.inverse_dynamics_series(q, stack, actuated=["q1", "q2", "q3"])
    np.testing.assert_allclose(m.forward_dynamics_series(q, np.zeros(3), efforts), 0, atol=1e-10)


@pytest.mark.parametrize("seed", range(3))
def test_springs_at_rest_need_no_efforts_of_any_order(seed: int) -> None:
    """A platform whose six legs rest, but for rounding: five of them can hold it; of one a force of 1e-5 N is not left."""
    m = stewart(seed).resolve()
    q, some = m.assemble(m.neutral()), [f"l{i}" for i in range(5)]
    efforts = m.inverse_dynamics_series(q, np.zeros((4, m.nv)), actuated=some)
    assert np.abs(efforts).max() < 1e-8  # 1e5 N/m times rounding of places
    with refusal("under-actuated", "of the largest effort left to others, at order 0"):
        m.inverse_dynamics_series(q, np.zeros((4, m.nv)), wrenches={"upper5": [1e-5, 0, 0, 0, 0, 0]}, actuated=some)


def test_rates_are_derivatives_of_each_other_and_of_the_opening() -> None:
    """Of any motion, which opens the loop."""
    m = four_bar().resolve("reference")
    rng = np.random.default_rng(0)
    q, stack = rng.normal(size=3), rng.normal(size=(4, 3))
    rates = ConstraintSeries(m.mechanism, q, stack).rates()
    assert rates.shape == (4, len(m.constraint_names))
    np.testing.assert_allclose(rates[0], m.closure_jacobian(q) @ stack[0], rtol=0, atol=1e-12)
    acceleration = m.closure_jacobian(q) @ stack[1] + m.closure_bias(q, stack[0])
    np.testing.assert_allclose(rates[1], acceleration, rtol=0, atol=1e-11)
    differences = slope(lambda h: ConstraintSeries(m.mechanism, *moved(m, q, stack, h)).rates())
    np.testing.assert_allclose(rates[1:], differences[:-1], rtol=0, atol=1e-8 * np.abs(rates).max())


def test_gears_are_rows_of_numbers() -> None:
    m = geared_hand().resolve("reference")
    stack = np.random.default_rng(0).normal(size=(3, m.nv))
    rates = ConstraintSeries(m.mechanism, m.neutral(), stack).rates()
    expected = stack @ np.array([gear.jacobian(m.nv)[0] for gear in m.mechanism.gear_constraints]).T
    np.testing.assert_allclose(rates, expected, rtol=1e-14)


@pytest.mark.parametrize("known", [1, 3])
def test_multipliers_act_by_the_jacobian(known: int) -> None:
    """``J^T lambda`` and its derivatives along the motion, those of multipliers of higher order being zero."""
    m = four_bar().resolve("reference")
    rng = np.random.default_rng(0)
    q, stack = rng.normal(size=3), rng.normal(size=(4, 3))
    multipliers = rng.normal(size=(known, len(m.constraint_names)))

    def efforts(h: float) -> np.ndarray:
        at = moved(m, q, stack, h)[0]
        carried = sum(row * h**k / factorials(known)[k] for k, row in enumerate(multipliers))
        return np.asarray(m.closure_jacobian(at).T @ carried)

    pushes = ConstraintSeries(m.mechanism, q, stack).pushes(multipliers)
    assert all(isinstance(push, PortPush) and not push.inertial for push in pushes)
    done = m.mechanism.engine.series.tree_inverse(q, stack, []) - m.mechanism.engine.series.tree_inverse(q, stack, pushes)
    assert done.shape == (3, 3)
    np.testing.assert_allclose(done[0], efforts(0.0), rtol=0, atol=1e-11)
    if known > 1:
        np.testing.assert_allclose(done[1], slope(efforts), rtol=0, atol=1e-8 * np.abs(done).max())
