"""Time derivatives by jets: beside the reference engine, and beside simulated motions."""

from __future__ import annotations

from collections.abc import Callable
from math import factorial
from typing import Any

import numpy as np
import pytest

import titop as tt
from tests.blocks.interactions.touching_systems import LOSSES, two_bodies
from tests.blocks.surroundings.orbiting import in_orbit, satellite
from tests.closed_systems import closed_four_bar, four_bar, geared_hand, random_closed_tree
from tests.every_kind import SYSTEMS as SYSTEMS_OF_ALL
from tests.every_kind import states
from tests.flexible import random_body as random_panel
from tests.refusals import refusal
from tests.systems import Array, random_body, random_pose
from titop.solvers.engines.compiled import law_tables
from titop.solvers.native.signatures import ORDERS

State = tuple[tt.System, Array, Array]


def hung(*arms: Callable[[np.random.Generator], tuple[Any, tt.Joint]]) -> State:
    """Return arms on a free base, a configuration and a velocity."""
    rng, s = np.random.default_rng(2), tt.System("hung", gravity=[0.3, -0.5, -9.81])
    base = random_body(rng, "base")
    s.connect("world", base, joint=tt.Free("float"))
    for arm in arms:
        body, joint = arm(rng)
        s.connect(base, body, joint=joint, placement=random_pose(rng))
    probe = s.resolve("reference")
    return s, probe.integrate(probe.neutral(), 0.2 * rng.normal(size=probe.nv)), 0.3 * rng.normal(size=probe.nv)


def strut() -> State:
    """A ball joint with a spring and a spring to the world."""
    s, q, v = hung(lambda rng: (random_body(rng, "arm"), tt.Spherical("ball", stiffness=[1.0, 2.0, 3.0])))
    s.close_loop(s["arm"].port("A"), "world", tt.SpringDamper("strut", stiffness=30.0, damping=2.0, length=0.5))
    return s, q, v


def rubbing() -> State:
    """Friction, and a stop that is touched."""
    friction, limits = tt.Friction(coulomb=1.0), tt.Limits(-0.01, 0.01, stiffness=50.0, dissipation=0.1)
    return hung(
        lambda rng: (random_body(rng, "arm"), tt.Revolute("pin", axis=[1, 2, 0.3], friction=friction)),
        lambda rng: (random_body(rng, "block"), tt.Prismatic("slide", limits=limits)),
    )


def panel() -> State:
    return hung(lambda rng: (random_panel(rng, "panel"), tt.Universal("cross", [1, 0, 0], [0, 1, 0])))


def beam() -> State:
    stiff = tt.Beam("beam", length=1.0, density=1500.0, area=1e-3, young=2e8, iy=1e-7, iz=2e-7)
    return hung(lambda rng: (stiff, tt.Revolute("pin", axis=[1, 2, 0.3])))


def rod() -> State:
    strains = {"torsion": 0, "bending_y": 1, "elongation": 0}
    soft = tt.Rod("rod", 0.4, tt.Section.circle(0.02), young=2e5, density=900.0, damping=20.0, strains=strains)
    return hung(lambda rng: (soft, tt.Spherical("ball")))


def pressed(contact: tt.Contact) -> State:
    """Two bodies, pressed into each other."""
    s, rng = two_bodies(contact), np.random.default_rng(4)
    probe = s.resolve("reference")
    for _ in range(200):
        q = probe.integrate(probe.neutral(), 0.5 * rng.normal(size=probe.nv))
        if probe.contacts(q, np.zeros(probe.nv)).gap.min() < -0.02:
            return s, q, 0.3 * rng.normal(size=probe.nv)
    raise AssertionError("no contact")


def touching() -> State:
    return pressed(tt.Contact("touch", 1.2, 300.0, shape=tt.Shape.plane([0, 1, 1]), rolling=0.02, **LOSSES))


def capsules() -> State:
    """The nearest points of two capsules move along both."""
    one, two = tt.Shape.capsule(0.3, 0.8), tt.Shape.capsule(0.4, 0.6)
    return pressed(tt.Contact("touch", None, 300.0, shape=one, on=two, **LOSSES))


def linkage() -> State:
    _, q, v = closed_four_bar(engine="reference")
    return four_bar(), q, v


def hand() -> State:
    s, rng = geared_hand(), np.random.default_rng(3)
    m = s.resolve("reference")
    q = m.assemble(m.random_configuration(rng))
    return s, q, m.assemble_velocity(q, rng.normal(size=m.nv))


def closed_tree() -> State:
    rng = np.random.default_rng(2)
    s, q = random_closed_tree(rng, 6, 0, 2)
    m = s.resolve("reference")
    q = m.assemble(q)
    return s, q, m.assemble_velocity(q, rng.normal(size=m.nv))


#: Systems, and those of which the reference takes seconds.
SYSTEMS = [strut, rubbing, touching, capsules, panel, linkage, hand, closed_tree, pytest.param(rod, marks=pytest.mark.long)]
pytestmark = pytest.mark.filterwarnings("ignore::titop.ModelWarning")


def assert_orders_agree(found: Any, expected: Any, tolerance: float) -> None:
    """Compare the largest difference of each order with its largest entry."""
    for one, two in zip(np.asarray(found), np.asarray(expected), strict=True):
        assert np.abs(one - two).max(initial=0.0) <= tolerance * np.abs(two).max(initial=0.0)


@pytest.mark.parametrize("system", SYSTEMS)
def test_engines_agree(system: Callable[[], State]) -> None:
    """Sums of some hundred products, of which those of stiff rods cancel."""
    (s, q, v), rng = system(), np.random.default_rng(5)
    m, r = s.resolve(), s.resolve("reference")
    calls: Any = m.mechanism.engine.calls  # type: ignore[attr-defined]
    assert calls.along.serves
    assert type(calls.kernels["forward_dynamics_series", None]).__name__ == "AlongKernel"
    tau, port = rng.normal(size=(3, m.nv)), m.body_names[-1]
    loads = {"wrenches": {port: rng.normal(size=(3, 6))}}
    a = r.forward_dynamics_series(q, v, tau)
    assert_orders_agree(m.forward_dynamics_series(q, v, tau), a, 1e-11)
    assert not np.allclose(
        a, r.forward_dynamics_series(q, v, tau * [[1.0], [1.0], [1.01]]), rtol=1e-9, atol=0.0
    )  # orders matter
    assert_orders_agree(m.forward_dynamics_series(q, v, tau, **loads), r.forward_dynamics_series(q, v, tau, **loads), 1e-11)
    motion, names = np.vstack([v, a]), [m.coordinate_names[0]] if m.is_constrained else [m.joint_names[-1]]
    for one, two in zip(
        m.hybrid_dynamics_series(q, v, tau, 1.1 * a, names), r.hybrid_dynamics_series(q, v, tau, 1.1 * a, names), strict=True
    ):
        assert_orders_agree(one, two, 1e-10)
    for one, two in zip(m.equation_series(q, motion, **loads), r.equation_series(q, motion, **loads), strict=True):
        assert_orders_agree(one, two, 1e-11)
    for one, two in zip(m.motion_series(port, q, motion[:3]), r.motion_series(port, q, motion[:3]), strict=True):
        assert_orders_agree(one, two, 1e-12)
    if not m.is_constrained:
        smooth = np.vstack([v, rng.normal(size=(3, m.nv))])
        expected = r.inverse_dynamics_series(q, smooth, **loads)
        assert_orders_agree(m.inverse_dynamics_series(q, smooth, **loads), expected, 1e-11)


@pytest.mark.long
def test_engines_agree_on_stiff_beams() -> None:
    """Efforts of stiff modes are 1e5 times all others: elimination leaves 3e-11 of accelerations; not so at another speed."""
    s, q, v = beam()
    m, r, rng = s.resolve(), s.resolve("reference"), np.random.default_rng(5)
    tau, motion = rng.normal(size=(3, m.nv)), np.vstack([v, rng.normal(size=(3, m.nv))])
    accelerations = r.forward_dynamics_series(q, v, tau)
    assert_orders_agree(m.forward_dynamics_series(q, v, tau), accelerations, 1e-9)
    assert not np.allclose(m.forward_dynamics_series(q, 1.01 * v, tau), accelerations, rtol=1e-6, atol=0.0)
    assert_orders_agree(m.inverse_dynamics_series(q, motion), r.inverse_dynamics_series(q, motion), 1e-11)


@pytest.mark.parametrize(("system", "actuated"), [(linkage, ["q1"]), (hand, ["wrist", "l", "slide_l"])])
def test_efforts_of_closed_systems_agree(system: Callable[[], State], actuated: list[str]) -> None:
    (s, q, v), rng = system(), np.random.default_rng(5)
    m, r = s.resolve(), s.resolve("reference")
    tau = np.where([name in actuated for name in m.coordinate_names], rng.normal(size=(3, m.nv)), 0.0)
    motion = np.vstack([v, m.forward_dynamics_series(q, v, tau)])
    assert_orders_agree(m.inverse_dynamics_series(q, motion, actuated=actuated), tau, 1e-11)
    loads = {"wrenches": {m.body_names[-1]: rng.normal(size=(3, 6))}}
    expected = r.inverse_dynamics_series(q, motion, actuated=actuated, **loads)
    assert_orders_agree(m.inverse_dynamics_series(q, motion, actuated=actuated, **loads), expected, 1e-11)
    motion[2] += 1e-3  # opens the loops at the second order
    for engine in (m, r):
        with refusal("inconsistent-motion", "derivative of order 2"):
            engine.inverse_dynamics_series(q, motion, actuated=actuated)


@pytest.mark.parametrize("system", [strut, rubbing, capsules, panel, linkage, hand])
def test_series_tell_where_a_simulation_goes(system: Callable[[], State]) -> None:
    """What is left of a series that ends falls with the power of time that comes next."""
    (s, q, v), rng = system(), np.random.default_rng(6)
    m, orders = s.resolve(), ORDERS
    tau = 0.3 * rng.normal(size=(orders, m.nv))
    rates = np.vstack([v, m.forward_dynamics_series(q, v, tau)])
    errors, shorter = [], []
    for h in (2e-3, 1e-3):
        powers = np.array([h**k / factorial(k) for k in range(orders + 1)])

        def efforts(t: float, q: Array, v: Array) -> Array:
            return np.array([t**k / factorial(k) for k in range(orders)]) @ tau

        there = tt.simulate(m, [0.0, h], q, v, tau=efforts, rtol=1e-13, atol=1e-15, method="DOP853").v[-1]
        errors.append(np.abs(there - powers @ rates).max())
        shorter.append(np.abs(there - powers[:-1] @ rates[:-1]).max())
    noise = 1e-12 * np.abs(rates[0]).max()  # the simulation's
    assert errors[1] < errors[0] / 16.0 + noise  # h^5: by 32 times
    assert shorter[1] > shorter[0] / 20.0  # h^4
    assert errors[0] < 0.1 * shorter[0]


@pytest.mark.parametrize("system", [strut, linkage, hand])
def test_stacks_have_the_bits_of_single_calls(system: Callable[[], State]) -> None:
    (s, q, v), rng = system(), np.random.default_rng(7)
    m, count = s.resolve(), 5
    tau, factors = rng.normal(size=(count, 3, m.nv)), rng.uniform(-1.0, 1.0, (count, 1))
    qs, vs = np.tile(q, (count, 1)), factors * v
    wrench, port = rng.normal(size=(count, 3, 6)), m.body_names[-1]
    stacked = m.forward_dynamics_series(qs, vs, tau)
    loaded = m.forward_dynamics_series(qs, vs, tau, wrenches={port: wrench})
    terms = m.equation_series(qs, np.concatenate([vs[:, None], stacked], axis=1))
    order = rng.permutation(count)
    np.testing.assert_array_equal(m.forward_dynamics_series(qs, vs[order], tau[order]), stacked[order])
    for k in range(count):
        np.testing.assert_array_equal(m.forward_dynamics_series(q, vs[k], tau[k]), stacked[k])
        np.testing.assert_array_equal(m.forward_dynamics_series(q, vs[k], tau[k], wrenches={port: wrench[k]}), loaded[k])
        for one, all_of_them in zip(m.equation_series(q, np.vstack([vs[k], stacked[k]])), terms, strict=True):
            np.testing.assert_array_equal(one, all_of_them[k])
    np.testing.assert_array_equal(stacked[:, 0], [m.forward_dynamics(q, vs[k], tau[k, 0]) for k in range(count)])


def test_rows_that_fail_are_named() -> None:
    s, q, v = strut()
    m, count = s.resolve(), 4
    qs, vs, tau = np.tile(q, (count, 1)), np.tile(v, (count, 1)), np.ones((count, 2, m.nv))
    tau[2, 1, 3] = np.nan
    with refusal("not-finite", "tau_series[1, 3]") as caught:
        m.forward_dynamics_series(qs, vs, tau)
    assert "in row 2" in caught.value.__notes__[0]


@pytest.mark.parametrize("part", [1e-6, 0.0])
def test_slow_motions_have_small_coriolis_efforts(part: float) -> None:
    """What is quadratic in small velocities is no difference of larger efforts: equal to its own rounding, zero at rest."""
    s, q, v = strut()
    motion = np.vstack([part * v, np.random.default_rng(9).normal(size=(3, len(v)))])
    found, expected = s.resolve().equation_series(q, motion), s.resolve("reference").equation_series(q, motion)
    assert_orders_agree(found.coriolis, expected.coriolis, 1e-11)
    assert np.abs(found.coriolis[0]).max() <= 100.0 * part**2


def test_nothing_is_refused_as_no_derivatives_at_all() -> None:
    s, q, v = strut()
    m, n = s.resolve(), len(v)
    nothing, motion = np.empty((0, n)), np.ones((4, n))
    for engine in (m, s.resolve("reference")):
        with refusal("wrong-shape", "tau_series"):
            engine.forward_dynamics_series(q, v, nothing)
        with refusal("wrong-shape", "tau_series"):
            engine.forward_dynamics_series(q[None], v[None], nothing[None])
        with refusal("wrong-shape", "tau_series"):
            engine.hybrid_dynamics_series(q, v, nothing, nothing, ["float"])
        with refusal("wrong-shape", "a_series"):
            engine.hybrid_dynamics_series(q, v, motion[1:], np.ones((3, 1)), ["float"])
        for order in (-1, True):
            with refusal("bad-order", "order"):
                engine.inverse_dynamics_series(q, motion, order)


def test_higher_orders_are_left_to_the_reference() -> None:
    s, q, v = linkage()
    m, r, tau = s.resolve(), s.resolve("reference"), np.random.default_rng(8).normal(size=(ORDERS + 1, 3))
    expected = r.forward_dynamics_series(q, v, tau)
    assert_orders_agree(m.forward_dynamics_series(q, v, tau), expected, 1e-10)  # an order more, with as many products again
    assert_orders_agree(m.forward_dynamics_series(q, v, tau[:-1]), expected[:-1], 1e-11)


def test_blocks_in_python_are_left_to_the_reference() -> None:
    class Own(tt.RigidBody):
        def gyroscopic(self, q: Array, v: Array, twist: Array) -> Array:
            return 2.0 * super().gyroscopic(q, v, twist)

    s = tt.System("own")
    s.connect("world", Own("body", mass=1.0, com=[0.1, 0.2, 0.3], inertia=0.5), tt.Revolute("joint"))
    m: Any = s.resolve()
    assert not m.mechanism.engine.calls.along.serves
    motion = np.ones((4, 1))
    expected = s.resolve("reference").inverse_dynamics_series([0.3], motion)
    np.testing.assert_allclose(m.inverse_dynamics_series([0.3], motion), expected, rtol=1e-12)


def test_no_law_is_compiled_where_another_has_no_derivatives(monkeypatch: pytest.MonkeyPatch) -> None:
    """A first call would wait for it in vain."""
    compiled: list[Any] = []
    monkeypatch.setattr(law_tables, "_compiles", lambda stage: bool(compiled.append(stage)) or True)
    m = SYSTEMS_OF_ALL["a little of everything"]().resolve()
    assert any(block.compiled_law is not None for block in m.mechanism.assembly.blocks.values())
    calls: Any = m.mechanism.engine.calls  # type: ignore[attr-defined]
    assert not calls.along.serves
    assert not compiled


@pytest.mark.long
def test_satellites_among_all_that_surrounds_them() -> None:
    """Positions of 7e6 m leave 2e-11 of a second derivative of air, which changes over 6e4 m; not so with other commands."""
    s = satellite()
    m, r, rng = s.resolve(), s.resolve("reference"), np.random.default_rng(0)
    calls: Any = m.mechanism.engine.calls  # type: ignore[attr-defined]
    assert calls.along.serves
    (q, v), tau, u = in_orbit(m), rng.normal(size=(3, m.nv)), rng.normal(size=(3, m.nu))
    expected = r.forward_dynamics_series(q, v, tau, u=u)
    assert_orders_agree(m.forward_dynamics_series(q, v, tau, u=u), expected, 1e-9)
    assert not np.allclose(m.forward_dynamics_series(q, v, tau, u=1.01 * u), expected, rtol=1e-6, atol=0.0)


@pytest.mark.parametrize("kind", ["contacts with bristles", "drives and a loaded rod"])
def test_states_of_the_first_order_are_refused(kind: str) -> None:
    """They would stand still, in kernels that know all else."""
    m = SYSTEMS_OF_ALL[kind]().resolve()
    at = states(m, 1)
    with pytest.raises(tt.ModelError, match="expected a model without first-order states"):
        m.forward_dynamics_series(at["q"][0], at["v"][0], np.zeros((2, m.nv)))
