"""Elements as parts of the elimination: what they add up to is the mass matrix."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import titop as tt
from tests.flexible import random_system
from tests.systems import Array, random_tree
from tests.tolerances import ROUNDING_OF_MANY
from titop.solvers.engines.compiled.element_parts import element_parts
from titop.solvers.kernels.interface import layout


def parts_of(model: Any, q: Array) -> list[Any]:
    """Return the parts of a compiled model's elements."""
    system = model.engine.system
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
    turn = model.engine.system.frames[1, :9].reshape(3, 3)
    np.testing.assert_allclose(abs(turn @ [1, 0, 0]), [0, 0, 1], atol=1e-15)  # elements turn about their z
    moved = np.diag([1.0 + 4 * 4.0, 2.0 + 4 * 5.0, 3.0 + 4 * 1.0])
    np.testing.assert_allclose(body.rounded[3:, 3:], turn @ moved @ turn.T, atol=1e-14)
    np.testing.assert_array_equal(body.rounded[:3, :3], 2.0 * np.eye(3))
    assert not joint.rounded.any()
