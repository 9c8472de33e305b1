"""Time derivatives through every kind of block: against ordinary dynamics, differences along motions, and each other."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest

import titop as tt
from tests.actuated_systems import satellite
from tests.refusals import ENGINES
from tests.solvers.engines.reference.series_systems import CASES, carrying, drawn, flying, jointed, pulled_rod, two_on_hinges
from tests.solvers.mechanism import blocks_with_inputs, driven_blocks
from tests.solvers.series_along import assert_derivatives, assert_inverse, at_time, moved
from tests.systems import Array, random_tree

#: Of efforts that come back: sums of some hundred terms, through a solution with the mass matrix at each order.
ROUND_TRIP = 1e-10
#: Blocks whose own functions take tenths of a second.
SLOW = ("rod", "soft", "stops of bodies", "segment")


@cache
def model(name: str) -> tt.Model:
    return CASES[name].make().resolve("reference")


@pytest.mark.filterwarnings("ignore::titop.ModelWarning")
@pytest.mark.parametrize("name", CASES)
def test_derivatives_are_those_of_differences(name: str) -> None:
    """Inverse dynamics along the motion, and the motion again of its efforts."""
    m, case = model(name), CASES[name]
    q, stack = case.state(m)
    tau = assert_inverse(m, q, stack, case.step)
    if not any(word in name for word in SLOW):
        slopes = m.inverse_dynamics_derivatives(q, stack[0], stack[1])
        contracted = sum(by @ part for by, part in zip(slopes, stack[:3], strict=True))
        # derivatives by complex steps and Taylor's coefficients are both exact
        np.testing.assert_allclose(tau[1], contracted, rtol=0, atol=1e-9 * np.abs(tau[:2]).max())
        a = m.forward_dynamics_series(q, stack[0], tau)
        again = m.inverse_dynamics_series(q, np.vstack([stack[:1], a]))
        for row, expected in zip(again, tau, strict=True):
            np.testing.assert_allclose(row, expected, rtol=0, atol=ROUND_TRIP * np.abs(tau).max())


@pytest.mark.parametrize("seed", range(4))
def test_any_causality_of_random_trees(seed: int) -> None:
    """Forward after inverse dynamics return the motion to 1e-8, as asked for, with any joints prescribed."""
    rng = np.random.default_rng(seed)
    m = random_tree(rng, 4, passive=seed % 2 == 1, loads=True).resolve("reference")
    q, stack = m.random_configuration(rng), rng.normal(size=(5, m.nv))
    tau = assert_inverse(m, q, stack)
    sizes = np.abs(stack).max()
    np.testing.assert_allclose(m.forward_dynamics_series(q, stack[0], tau), stack[1:], rtol=0, atol=1e-8 * sizes)
    chosen = rng.random(m.nv) < 0.5
    names = [name for name, held in zip(m.coordinate_names, chosen, strict=True) if held]
    a, efforts = m.hybrid_dynamics_series(q, stack[0], np.where(chosen, 99.0, tau), np.where(chosen, stack[1:], -99.0), names)
    np.testing.assert_allclose(a, stack[1:], rtol=0, atol=1e-8 * sizes)
    np.testing.assert_allclose(efforts, tau, rtol=0, atol=1e-9 * np.abs(tau).max())


@pytest.mark.parametrize("engine", ENGINES)
def test_wrenches_and_inputs_enter_with_their_derivatives(engine: str) -> None:
    m = satellite().resolve(engine)
    rng = np.random.default_rng(0)
    q, stack = m.random_configuration(rng), rng.normal(size=(4, m.nv))
    wrench, u = rng.normal(size=(3, 6)), rng.normal(size=(3, m.nu))

    def loads(h: float) -> dict[str, Any]:
        return {"wrenches": {"arm.tip": at_time(wrench, h)}, "u": at_time(u, h)}

    tau = assert_inverse(m, q, stack, loads=loads)
    named = dict(zip(m.input_names, u.T, strict=True))
    np.testing.assert_array_equal(m.inverse_dynamics_series(q, stack, wrenches={"arm.tip": wrench}, u=named), tau)
    a = m.forward_dynamics_series(q, stack[0], tau, wrenches={"arm.tip": wrench}, u=u)
    np.testing.assert_allclose(a, stack[1:], rtol=0, atol=1e-8 * np.abs(stack).max())
    a, efforts = m.hybrid_dynamics_series(q, stack[0], tau, stack[1:], ["elbow.first"], wrenches={"arm.tip": wrench}, u=u)
    np.testing.assert_allclose(a, stack[1:], rtol=0, atol=1e-8 * np.abs(stack).max())
    np.testing.assert_allclose(efforts, tau, rtol=0, atol=ROUND_TRIP * np.abs(tau).max())
    held = m.inverse_dynamics_series(q, stack, wrenches={"arm.tip": wrench[0]}, u=u[0])
    still = wrench * [[1], [0], [0]], u * [[1], [0], [0]]
    np.testing.assert_array_equal(held, m.inverse_dynamics_series(q, stack, wrenches={"arm.tip": still[0]}, u=still[1]))
    assert np.abs(held - tau)[1:].max() > 0.1  # the control: their derivatives count


def test_inputs_of_blocks() -> None:
    m = driven_blocks.arm().resolve("reference")
    q, stack = CASES["inputs of blocks"].state(m)
    u = np.random.default_rng(0).normal(size=(2, m.nu))
    assert_inverse(m, q, stack, loads=lambda h: {"u": at_time(u, h)})


def test_inputs_of_interactions() -> None:
    m = CASES["cable"].make().resolve("reference")
    q, stack = CASES["cable"].state(m)
    u = np.array([[2.0], [3.0], [-1.0]])
    assert_inverse(m, q, stack, loads=lambda h: {"u": at_time(u, h)})


def test_loads_of_wrong_derivatives_are_noticed() -> None:
    """The control of the tests above: a wrench whose rate has the other sign."""
    m = CASES["loads"].make().resolve("reference")
    q, stack = CASES["loads"].state(m)
    wrench = np.random.default_rng(0).normal(size=(3, 6))

    def loads(h: float) -> dict[str, Any]:
        return {"wrenches": {"upper.B": at_time(wrench, h) * (1 if h else [[1], [-1], [1]])}}

    with pytest.raises(AssertionError, match="derivative of order 1"):
        assert_inverse(m, q, stack, loads=loads)


class LateCoriolis(tt.RigidBody):
    """A body whose gyroscopic terms have a wrong sign where derivatives pass through them."""

    def gyroscopic(self, q: Array, v: Array, twist: Array) -> Array:
        terms = super().gyroscopic(q, v, twist)
        return terms if terms.dtype != object else terms - 2 * 1e-6 * (terms - derivative_free(terms))


def derivative_free(terms: Array) -> Array:
    return np.array([getattr(term, "real", term) for term in terms])


def test_a_part_in_a_million_of_a_derivative_is_noticed() -> None:
    """The control of the differences."""
    wrong = LateCoriolis("body", 2.0, [0.1, 0.2, 0.3], [0.2, 0.3, 0.4])
    m = flying(wrong).resolve("reference")
    rng = np.random.default_rng(0)
    with pytest.raises(AssertionError, match="derivative of order 1"):
        assert_inverse(m, m.random_configuration(rng), rng.normal(size=(3, 6)))


@pytest.mark.filterwarnings("ignore::titop.ModelWarning")
@pytest.mark.parametrize("name", ["Free", "beam", "panel", "block of one's own", "soft body"])
def test_ports_move_as_their_poses(name: str) -> None:
    m, case = model(name), CASES[name]
    q, stack = case.state(m)
    port = m.port_names[-1]

    def at(h: float) -> Any:
        return m.motion_series(port, *moved(m, q, stack, h))

    position = assert_derivatives(lambda h: at(h).position, case.step)
    rotation = assert_derivatives(lambda h: at(h).rotation, case.step)
    twist = assert_derivatives(lambda h: at(h).twist, case.step)
    pose, motion = m.pose(port, q), m.motion(port, q, stack[0], stack[1])
    for found, expected in zip((rotation[0], position[0], twist[0], twist[1]), (*pose, motion[6:12], motion[:6]), strict=True):
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12 * (1 + np.abs(expected).max()))  # a few roundings
    assert len(position) == len(stack) + 1


class Counting(tt.RigidBody):
    """A body that leans on Python's own functions."""

    def gyroscopic(self, q: Array, v: Array, twist: Array) -> Array:
        return super().gyroscopic(q, v, twist) * float(1.0 + 0.0 * twist[0])


class Spindle(tt.Interaction):
    """A law of floats alone."""

    def wrenches(self, R: Any, r: Any, V1: Any, V2: Any) -> tuple[Any, Any]:
        pull = np.zeros(6)
        pull[0] = r[0]
        return pull, -pull

    def energy(self, R: Any, r: Any) -> Any:
        return 0.0


REFUSED: dict[str, tuple[tt.System, str]] = {
    "float": (carrying(Counting("flywheel", 1.0, inertia=0.1, ports={"A": [0, 0, 0.1]})), "flywheel"),
    "lost imaginary parts": (flying(blocks_with_inputs.Telescope("telescope")), "telescope"),
    "interaction": (two_on_hinges((Spindle("spindle"), ("lower.B", "upper.B"))), "spindle"),
}


@pytest.mark.filterwarnings("ignore::titop.ModelWarning")
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", REFUSED)
def test_blocks_without_series_are_refused_by_name(name: str, engine: str) -> None:
    s, where = REFUSED[name]
    m = s.resolve(engine)
    q, stack = m.neutral(), np.full((3, m.nv), 0.1)
    for ask in (
        lambda: m.inverse_dynamics_series(q, stack),
        lambda: m.forward_dynamics_series(q, stack[0], stack[1:]),
        lambda: m.hybrid_dynamics_series(q, stack[0], stack[1:], stack[1:], m.coordinate_names[:1]),
        lambda: m.equation_series(q, stack),
    ):
        with pytest.raises(tt.ModelError) as caught:
            ask()
        assert (caught.value.code, caught.value.where) == ("no-series", where)


class Cone(tt.Interaction):
    """Pulls with the distance, not its square: nowhere but at its tip without derivatives."""

    def wrenches(self, R: Array, r: Array, V1: Array, V2: Array) -> tuple[Array, Array]:
        pull = np.concatenate([np.sqrt(r @ r) * np.ones(3), np.zeros(3)])
        return pull, -pull


def test_functions_without_derivatives_are_refused() -> None:
    """A distance has a value where it is none, but no derivatives."""
    m = touching(Cone("cone")).resolve("reference")
    with np.errstate(all="ignore"):
        q = np.zeros(1)
        assert m.inverse_dynamics(q, [1.0], [0.0]) == pytest.approx(0.0)
        with pytest.raises(tt.ModelError) as caught:
            m.inverse_dynamics_series(q, [[1.0], [0.0], [0.0]])
    assert (caught.value.code, caught.value.where) == ("not-finite", "rail")
    assert np.isfinite(m.inverse_dynamics_series([0.1], [[1.0], [0.0], [0.0]])).all()  # the control


def touching(interaction: tt.Interaction) -> tt.System:
    """Return a body on a rail that is joined to the world where it begins."""
    s = tt.System("touching", gravity=[0, 0, 0])
    body = drawn(0, "body")
    s.connect("world", body, tt.Prismatic("rail"))
    s.close_loop("world", body, interaction)
    return s


@pytest.mark.parametrize("q", [0.0, 0.1])
def test_a_spring_of_no_length_has_derivatives_everywhere(q: float) -> None:
    """``tau' = k v`` of one of 1 N/m that is stretched by a metre a second."""
    m = touching(tt.SpringDamper("spring", stiffness=1.0)).resolve("reference")
    found = m.inverse_dynamics_series([q], [[1.0], [0.0], [0.0]])
    np.testing.assert_allclose(found[:, 0], [q, 1.0], rtol=1e-13)  # a handful of operations


def test_order_zero_asks_for_no_derivative() -> None:
    m = jointed("Free").resolve("reference")
    rng = np.random.default_rng(0)
    q, stack = m.random_configuration(rng), rng.normal(size=(4, m.nv))
    whole = m.inverse_dynamics_series(q, stack)
    for order in range(3):
        np.testing.assert_allclose(m.inverse_dynamics_series(q, stack, order=order), whole[: order + 1], rtol=1e-13, atol=1e-13)
        np.testing.assert_allclose(m.inverse_dynamics_series(q, stack[: order + 2]), whole[: order + 1], rtol=1e-13, atol=1e-13)


@pytest.mark.filterwarnings("ignore::titop.ModelWarning")
@pytest.mark.parametrize("name", ["Free", "soft body", "interactions", "actuators"])
def test_the_compiled_engine_says_the_same(name: str) -> None:
    """By whichever way it goes, to two orders of summation."""
    m, reference = CASES[name].make().resolve(), model(name)
    q, stack = CASES[name].state(m)
    tau = m.inverse_dynamics_series(q, stack)
    expected = reference.inverse_dynamics_series(q, stack)
    np.testing.assert_allclose(tau, expected, rtol=0, atol=1e-11 * np.abs(expected).max())
    found = m.forward_dynamics_series(q, stack[0], tau)
    accelerations = reference.forward_dynamics_series(q, stack[0], tau)
    np.testing.assert_allclose(found, accelerations, rtol=0, atol=1e-9 * np.abs(accelerations).max())


def test_rods_on_compiled_engines() -> None:
    m = pulled_rod().resolve()
    q, stack = CASES["rod"].state(m)
    np.testing.assert_allclose(m.inverse_dynamics_series(q, stack)[0], m.inverse_dynamics(q, stack[0], stack[1]), rtol=1e-9)
