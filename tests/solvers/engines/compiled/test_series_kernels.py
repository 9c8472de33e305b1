"""Time derivatives by kernels, beside the reference engine, which asks every block."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import titop as tt
from tests.refusals import refusal
from tests.solvers.kernels.series.motions_at_random import Moving, assert_close_by_row
from titop.solvers.engines.compiled.acted_on import Bound
from titop.solvers.engines.compiled.bound_kernels import group_springs, has_series
from titop.solvers.mechanism.inputs import ActingPush, PortPush


def hung(joint: tt.Joint) -> tt.System:
    """Return a body on a joint."""
    s = tt.System("hung", gravity=[0, 0, -9.81])
    s.connect("world", tt.RigidBody("body", mass=1.0, com=[0.1, 0.2, 0.3], inertia=0.5, ports={"A": [1, 0, 0]}), joint)
    return s


@pytest.mark.parametrize(
    ("joint", "expected"),
    [
        (tt.Revolute("joint", stiffness=2.0, damping=1.0, armature=0.1), True),
        (tt.Spherical("joint", damping=2.0, armature=0.1), True),
        (tt.Free("joint"), True),
        (tt.Spherical("joint", stiffness=2.0), False),
        (tt.Free("joint", stiffness=2.0), False),
        (tt.Revolute("joint", friction=tt.Friction(coulomb=0.5)), False),
        (tt.Revolute("joint", limits=tt.Limits(-1.0, 1.0, stiffness=1e3)), False),
        (tt.Revolute("joint", limits=tt.Limits(-1.0, 1.0)), True),
    ],
)
def test_the_kernels_tell_what_they_serve(joint: tt.Joint, expected: bool) -> None:
    model = hung(joint).resolve()
    assert has_series(model.mechanism.engine.system) is expected  # type: ignore[attr-defined]
    kernels: Any = model.mechanism.engine.calls.kernels  # type: ignore[attr-defined]
    for name in ("inverse_dynamics_series", "forward_dynamics_series"):
        assert isinstance(kernels[name, None], Bound) is expected  # others are those of jets


def test_parameters_change_what_they_serve() -> None:
    model = hung(tt.Revolute("joint", friction=tt.Friction(coulomb=0.5))).resolve()
    smooth = model.with_parameters({"joint.friction.coulomb": 0.0, "joint.friction.breakaway": 0.0})
    assert has_series(smooth.mechanism.engine.system)  # type: ignore[attr-defined]
    assert not has_series(model.mechanism.engine.system)  # type: ignore[attr-defined]


def test_systems_with_other_laws_are_left_to_the_reference() -> None:
    s = hung(tt.Revolute("joint"))
    s.add_interaction(tt.SpringDamper("spring", stiffness=5.0, length=0.1), "world", s.connections[0].child.block.port("A"))
    model = s.resolve()
    assert not has_series(model.mechanism.engine.system)  # type: ignore[attr-defined]
    q, motion, found = np.array([0.3]), np.ones((6, 1)), model.mechanism.engine.series  # of more orders than jets have
    np.testing.assert_array_equal(found.tree_inverse(q, motion, []), found.reference.tree_inverse(q, motion, []))  # type: ignore[attr-defined]


@pytest.mark.parametrize("base", ["fixed", "free"])
def test_kernels_and_reference_agree(base: str) -> None:
    """The reference sums general laws: some hundred products more of each."""
    moving = Moving(4, springs=True, loads=True, base=base)
    engine: Any = moving.model.mechanism.engine.series
    pushes = [PortPush("b2", False, np.random.default_rng(0).normal(size=(6, 6)))]
    expected = engine.reference.tree_inverse(moving.q, moving.v_series, pushes)
    assert_close_by_row(engine.tree_inverse(moving.q, moving.v_series, pushes), expected, 1e-11)
    given = np.zeros((2, 6, moving.model.nv)), np.zeros(moving.model.nv, dtype=bool)
    assert engine.tree_hybrid(moving.q, moving.v_series[0], *given[0], given[1], pushes) is not None
    inputs = ActingPush("motor", np.zeros((6, 1)))
    assert engine.tree_hybrid(moving.q, moving.v_series[0], *given[0], given[1], [inputs]) is None


def test_hybrid_calls_take_names() -> None:
    moving = Moving(0, ("Revolute",), bodies=3, base="fixed")
    n, motion, efforts = moving.model.nv, moving.v_series[1:], moving.inverse()
    results = np.empty(motion.shape), np.empty(motion.shape)
    call = moving.model.mechanism.engine.calls.kernels["hybrid_dynamics_series", ("j0",)].call
    assert call(moving.q, moving.v_series[0], efforts, motion, *results) == 0
    assert_close_by_row(results[0], motion, 1e-8)
    imposed = np.arange(n) == 0
    np.testing.assert_array_equal(moving.hybrid(efforts, motion, imposed)[1], results[1])


@pytest.mark.parametrize(("seed", "springs", "loads"), [(1, False, False), (2, True, True), (3, False, True)])
def test_stacked_states_have_the_bits_of_single_ones(seed: int, springs: bool, loads: bool) -> None:
    """In any order and grouping, with every kind of joint."""
    m, rng = Moving(seed, springs=springs, loads=loads).model, np.random.default_rng(seed)
    q, order = np.array([m.random_configuration(rng) for _ in range(11)]), rng.permutation(11)
    v, (motion, a, tau) = rng.normal(size=(11, m.nv)), rng.normal(size=(3, 11, 4, m.nv))
    assert m._calls.inverse_dynamics_series is not None
    for call in (
        lambda k: m.inverse_dynamics_series(q[k], motion[k]),
        lambda k: m.inverse_dynamics_series(q[k], motion[k], order=1),
        lambda k: m.forward_dynamics_series(q[k], v[k], tau[k]),
        lambda k: m.motion_series(m.port_names[-1], q[k], motion[k]).rotation,
        lambda k: m.motion_series(m.port_names[-1], q[k], motion[k]).position,
        lambda k: m.motion_series(m.port_names[-1], q[k], motion[k]).twist,
        lambda k: np.stack(m.hybrid_dynamics_series(q[k], v[k], tau[k], a[k], m.coordinate_names[1:2]), axis=-1),
    ):
        expected = np.array([call(k) for k in range(11)])
        for group in (order, order[:3], order[3:]):
            np.testing.assert_array_equal(call(group), expected[group])
        assert not np.array_equal(call(order), expected[order[::-1]])


@pytest.mark.parametrize("seed", range(4))
def test_ports_move_as_in_the_reference_engine(seed: int) -> None:
    """With every kind of joint: derivatives of order k differ by roundings of the largest of all."""
    moving = Moving(seed)
    m, reference = moving.model, moving.tree.resolve("reference")
    for port in ("world", *m.port_names):
        ours, theirs = (each.motion_series(port, moving.q, moving.v_series) for each in (m, reference))
        for one, other in zip(ours, theirs, strict=True):
            np.testing.assert_allclose(one, other, rtol=0, atol=1e-12 * max(1.0, np.abs(other).max()))
    slower = m.motion_series(m.port_names[-1], moving.q, 0.999 * moving.v_series)
    assert np.abs(slower.twist - theirs.twist).max() > 1e-6


def test_a_stack_is_refused_as_its_wrong_row_is() -> None:
    moving = Moving(1)
    q, stack = np.stack([moving.q] * 3), np.stack([moving.v_series] * 3)
    stack[1, 2, 0] = np.nan
    with refusal("not-finite", "v_series[2, 0]"):
        moving.model.inverse_dynamics_series(q, stack)
    with refusal("wrong-shape", "v_series"):
        moving.model.inverse_dynamics_series(q, stack[:, :1])
    for order, code in ((9, "wrong-shape"), (-1, "bad-order"), (1.5, "bad-order")):
        with refusal(code, "order" if code == "bad-order" else "v_series"):
            moving.model.inverse_dynamics_series(q, np.zeros(stack.shape), order)  # type: ignore[arg-type]
    with refusal("wrong-shape", "v_series"):
        moving.model.motion_series("world", q, stack[:, :0])
    with refusal("wrong-length", "q, v_series"):
        moving.model.inverse_dynamics_series(q[1:], stack)


def on_joint(joint: tt.Joint) -> tt.System:
    """Return a body on a joint."""
    s = tt.System("hung", gravity=[0, 0, -9.81])
    s.connect("world", tt.RigidBody("body", mass=1.0, com=[0.1, 0.2, 0.3], inertia=0.5), joint)
    return s


@pytest.mark.parametrize(
    ("joint", "expected"),
    [
        (tt.Spherical("joint", stiffness=2.0), True),
        (tt.Free("joint", stiffness=2.0), True),
        (tt.Spherical("joint", damping=2.0), False),
        (tt.Revolute("joint", stiffness=2.0), False),
    ],
)
def test_springs_of_groups_are_found(joint: tt.Joint, expected: bool) -> None:
    system = on_joint(joint).resolve().mechanism.engine.system  # type: ignore[attr-defined]
    assert [each.name for each in group_springs(system)] == ["joint"] * expected
