"""Parameters that are brought into effect by packing anew: all that are listed are, to the bit."""

from __future__ import annotations

import numpy as np
import pytest

import titop as tt
from tests.systems import random_state, random_tree
from titop.solvers.engines.compiled.repacking import Repacking, move_constraints
from titop.solvers.kernels.entries.dynamics_entries import forward_dynamics


@pytest.fixture(scope="module")
def system() -> tt.System:
    s = random_tree(np.random.default_rng(4), 6, passive=True, loads=True)
    s.connect("world", tt.RigidBody("puck", mass=1.0), tt.Prismatic("slide"))
    s.add_actuator(tt.Motor("drive", "slide"))
    return s


def test_packing_with_a_parameter_is_flattening_a_system_that_has_it(system: tt.System) -> None:
    """Forward dynamics of tables written anew, and of the reference engine with the changed blocks."""
    model, reference = system.resolve(), system.resolve("reference")
    packed = model.engine.system  # type: ignore[attr-defined]
    positions = Repacking(packed.structure, packed.tables, model.inputs).positions
    q, v, _, tau = random_state(model, np.random.default_rng(0))
    for name in np.random.default_rng(1).permutation(list(positions))[:12]:
        value = model.parameters()[name][0]
        params = packed.params.copy()
        params[positions[name]] = value + 0.01
        changed = packed.variant(
            params=params, floats=packed.floats.copy(), frames=packed.frames.copy(), ports=packed.ports.copy()
        )
        assert changed.pack()
        a = np.empty(model.nv)
        assert changed.kernel(forward_dynamics)(*changed.arrays, q, v, tau, a) == 0
        expected = reference.with_parameters({name: value + 0.01}).forward_dynamics(q, v, tau)
        np.testing.assert_allclose(a, expected, rtol=1e-9, atol=1e-9)  # rounding times the condition of the mass matrix


def test_what_asks_for_other_tables_is_not_listed(system: tt.System) -> None:
    """A spring where none is, a quaternion that has to be unit, what actuators are."""
    model = system.resolve()
    packed = model.engine.system  # type: ignore[attr-defined]
    positions = Repacking(packed.structure, packed.tables, model.inputs).positions
    left_out = set(model.parameters()) - set(positions)
    assert {"slide.stiffness", "slide.damping", "drive.gear"} <= left_out
    assert {name for name in left_out if ".rest." in name} == {name for name in model.parameters() if ".rest.q" in name}
    assert {"puck.mass", "b0.com.x", "slide.axis.x"} <= set(positions)


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (["arm.mass"], False),
        (["pin.axis.x"], True),
        (["arm.mass", "arm.E.position.x"], True),
        (["axis.mass"], True),
        ([], False),
    ],
)
def test_geometry_moves_constraints(names: list[str], expected: bool) -> None:
    assert move_constraints(names) == expected
