"""What rounding does to compiled systems: doubtful pivots are seen and allowed for, ordinary ones are left alone."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import titop as tt
from tests.flexible import random_system
from tests.systems import Array, random_tree
from tests.tolerances import ROUNDING_OF_MANY
from titop.blocks.basics.tolerances import CANCELLED
from titop.solvers.engines.compiled import rounding
from titop.solvers.engines.compiled.rounding import element_parts
from titop.solvers.kernels.interface import layout


def packed(s: tt.System) -> Any:
    """Return the tables of a system."""
    return s.resolve().mechanism.engine.system  # type: ignore[attr-defined]


def coaxial(light: float) -> tt.System:
    """Return two wheels on one axis, the outer one of 1 kg m^2 on a hinge of the inner, lighter one."""
    s = tt.System("coaxial")
    inner, outer = (tt.RigidBody(name, mass=1.0, inertia=inertia) for name, inertia in (("inner", light), ("outer", 1.0)))
    s.connect("world", inner, tt.Revolute("first"))
    s.connect(inner, outer, tt.Revolute("second"))
    return s


@pytest.mark.parametrize("seed", range(4))
def test_kernels_refuse_what_keeps_less_than_the_part(seed: int) -> None:
    """The smallest share, found in Python, is safe, and not far from where the kernels' answer changes.

    It counts what turning and moving bodies has rounded, which the kernels do not: a few times the inertia.
    """
    system = packed(random_tree(np.random.default_rng(seed), 6))
    q = system.mechanism.neutral()
    least = rounding.pivots_at(system, q).shares.min()
    assert rounding.keeps(system, 0.99 * least, [q])
    assert not rounding.keeps(system, 5.0 * least, [q])
    assert not rounding.keeps(system, 5.0 * least, [q, q])
    assert rounding.keeps(system, 5.0 * least, [])


def test_ordinary_trees_are_left_alone() -> None:
    system = packed(random_tree(np.random.default_rng(0), 6))
    before = system.floats.copy()
    assert rounding.doubtful_pivots(system, [system.mechanism.neutral()]) == []
    assert np.array_equal(system.floats, before)


@pytest.mark.filterwarnings("ignore:.*ill-conditioned:titop.ModelWarning")
def test_what_keeps_little_is_allowed_for_where_it_stands() -> None:
    system, q = packed(coaxial(1e-9)), np.zeros(2)
    (pivots,) = rounding.doubtful_pivots(system, [q])
    assert pivots.shares[0] < rounding.plainly_sound(system) < pivots.shares[1]
    rows = [system.tables.elements[body] for body in ("inner", "outer")]
    first, second = system.floats[rows, layout.ROUNDING]
    assert first == pytest.approx(CANCELLED * min(1.0, 0.1 * pivots.shares[0] / pivots.ratios[0]))
    assert second == CANCELLED
    assert rounding.keeps(system, first, [q])


def test_what_rounding_is_allowed_for_depends_on_no_parameters_before() -> None:
    """There and back again, a mechanism at a singular pose is refused as it was."""
    s = tt.System("wrist", gravity=[0, 0, 0])
    inner, outer = tt.RigidBody("inner", 0.0), tt.RigidBody("outer", 0.0)
    axis = {"j3.axis.x": np.sin(1.0), "j3.axis.z": np.cos(1.0)}
    s.connect("world", inner, tt.Revolute("j1", axis=[0, 0, 1]))
    s.connect(inner, outer, tt.Revolute("j2", axis=[0, 1, 0]))
    s.connect(outer, tt.RigidBody("hand", 1.0, inertia=0.1), tt.Revolute("j3", axis=[axis["j3.axis.x"], 0, axis["j3.axis.z"]]))
    made = s.resolve()
    with pytest.warns(tt.ModelWarning):
        other = made.with_parameters({"j3.axis.x": 1e-5, "j3.axis.z": 1.0})
    for m in (made, other.with_parameters(axis)):
        with pytest.raises(tt.ModelError, match="no inertia at this configuration"):
            m.forward_dynamics([0, -1 + 1e-7, 0], np.zeros(3), [1e-9, 0, 0])


def parts_of(model: Any, q: Array) -> list[Any]:
    """Return the parts of a compiled model's elements."""
    system = model.mechanism.engine.system.apart
    law, work = system.bare.with_all_ports.outward(q, np.zeros(model.nv), layout.INVERSE_COLUMNS)
    bodies = {system.tables.elements[c.child.block.name]: c.child for c in system.assembly.connections}
    found: list[Any] = element_parts(system.ints, system.floats, system.frames, bodies, law[0], work)
    return found


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("flexible", [False, True])
def test_parts_add_up_to_the_mass_matrix(seed: int, flexible: bool) -> None:
    """``sum J^T M J``, J the motion of each part by all coordinates: its parent's, carried over, and its own."""
    rng = np.random.default_rng(seed)
    s = random_system(rng) if flexible else random_tree(rng, 8, passive=True)
    model = s.resolve()
    q, nv = model.random_configuration(rng), model.nv
    parts, motions, total = parts_of(model, q), [], np.zeros((nv, nv))
    for part in parts:
        own = np.eye(nv)[part.v]
        above = motions[part.parent] if part.parent > 0 else np.zeros((6, nv))  # the world stands still
        motion = part.transport @ above
        motions.append(np.vstack([motion, own]))
        total += motions[-1].T @ part.inertia @ motions[-1]
    np.testing.assert_allclose(total, model.mass_matrix(q), **ROUNDING_OF_MANY)


def test_rounding_of_bodies_turns_with_them() -> None:
    """By hand: the moments about the centre, and twice what the ways to it and to the pin add to them."""
    s = tt.System("crank")
    crank = tt.RigidBody("crank", 2.0, com=[1.0, 0, 0], inertia=[1.0, 2.0, 3.0], ports={"pin": [0, 0, 2.0]})
    s.connect("world", crank.port("pin"), tt.Revolute("axle", axis=[1, 0, 0]))
    model = s.resolve()
    _, joint, body = parts_of(model, np.zeros(1))
    turn = model.mechanism.engine.system.frames[1, :9].reshape(3, 3)
    np.testing.assert_allclose(abs(turn @ [1, 0, 0]), [0, 0, 1], atol=1e-15)  # elements turn about their z
    moved = np.diag([1.0 + 4 * 4.0, 2.0 + 4 * 5.0, 3.0 + 4 * 1.0])
    np.testing.assert_allclose(body.rounded[3:, 3:], turn @ moved @ turn.T, atol=1e-14)
    np.testing.assert_array_equal(body.rounded[:3, :3], 2.0 * np.eye(3))
    assert not joint.rounded.any()
