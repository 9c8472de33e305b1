"""Which classes are compiled, and which answer in Python."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import titop as tt
from examples.compiled_block import Telescope
from titop.blocks.basics.spatial import Array


def test_a_class_that_changes_more_than_its_law_answers_in_python() -> None:
    class Heavy(Telescope):
        def passive_efforts(self, q: Array, v: Array) -> Array:
            """Return efforts of which the law does not know."""
            return -7.0 * np.ones(2) + 0 * q

    s, t = tt.System("one"), tt.System("two")
    s.connect("world", Heavy("boom"), tt.Weld("w"))
    t.connect("world", Telescope("boom"), tt.Weld("w"))
    with pytest.warns(tt.ModelWarning, match="inconsistent-law"):
        heavy = s.resolve()
    assert not heavy.mechanism.engine.is_compiled
    plain, zero = t.resolve(), np.zeros(2)
    assert plain.mechanism.engine.is_compiled
    change = heavy.mass_matrix(zero) @ (heavy.forward_dynamics(zero, zero, zero) - plain.forward_dynamics(zero, zero, zero))
    np.testing.assert_allclose(change, -7.0, rtol=1e-12)


@pytest.mark.filterwarnings("ignore::titop.ModelWarning")
def test_a_subclass_that_changes_a_twin_of_the_law_is_followed() -> None:
    class Heavy(Telescope):
        def mass_matrix(self, q: Array) -> Array:
            """Three times the inertia, of which the law does not know."""
            return 3.0 * super().mass_matrix(q)

    heavy, plain = tt.System("one"), tt.System("two")
    heavy.connect("world", Heavy("boom"), tt.Weld("w"))
    plain.connect("world", Telescope("boom"), tt.Weld("w"))
    q = np.array([0.1, 0.2])
    np.testing.assert_allclose(heavy.resolve().mass_matrix(q), 3.0 * plain.resolve().mass_matrix(q), rtol=1e-12)


def _dragging(kind: type) -> Any:
    """Return a class of blocks with drag whose function refuses imaginary parts: derivatives of that are differences."""

    def applied_efforts(self: Any, q: Any, v: Any, twist: Any, rotation: Any, position: Any) -> Any:
        return -0.1 * np.concatenate([np.real(twist), np.real(v)])

    return type(f"Dragging{kind.__name__}", (kind,), {"applied_efforts": applied_efforts})


_SHAPES = np.full((6, 2), [0.1, 0.2])
_MODAL: Any = {
    "frequencies": [3.0, 4.0],
    "participation": np.full((2, 6), 0.1),
    "ports": {"C": [1, 0, 0]},
    "shapes": {"C": _SHAPES},
}


@pytest.mark.long
@pytest.mark.parametrize(
    "block",
    [
        lambda: _dragging(tt.RigidBody)("block", 1.0, [0.1, 0, 0.2], 0.1, {"C": [1, 0, 0]}),
        lambda: _dragging(tt.FlexibleBody)("block", 1.0, inertia=0.1, **_MODAL),
        lambda: _dragging(tt.Beam)("block", 1.0, 1000.0, 1e-4, 7e5, 1e-9, 2e-9, modes=2, torsion_modes=1),
        lambda: _dragging(tt.Rod)("block", 1.0, tt.Section.circle(0.02), 1e6, 1000.0, strains={"bending_z": 1}),
    ],
    ids=["rigid", "flexible", "beam", "rod"],
)
def test_what_acts_is_differenced_beside_a_compiled_law(block: Any) -> None:
    """The law's own slopes belong to it: they write the inertia, which Python's slopes take as written by Python's terms."""
    s = tt.System("s")
    s.connect("world", first := block(), tt.Revolute("hinge", [0, 1, 1]))
    s.connect(first.port(first.ports[0]), tt.RigidBody("tip", 0.5, [0.1, 0, 0], 0.01), tt.Spherical("wrist"))
    with pytest.warns(tt.ModelWarning, match="not-complex-safe"):
        model, reference = s.resolve(), s.resolve("reference")
    rng = np.random.default_rng(0)
    q = model.integrate(model.neutral(), 0.01 * rng.normal(size=model.nv))
    v, a = rng.normal(size=(2, model.nv))
    by_q, by_v, by_a = model.inverse_dynamics_derivatives(q, v, a)
    steps = 0.1 * np.eye(model.nv)
    changes = [(reference.inverse_dynamics(q, v + dv, a) - reference.inverse_dynamics(q, v - dv, a)) / 0.2 for dv in steps]
    expected = np.transpose(changes)
    size = np.abs(expected).max()
    np.testing.assert_allclose(by_v, expected, rtol=1e-9, atol=1e-11 * size, err_msg="quadratic in the rates: but for rounding")
    np.testing.assert_allclose(by_a, reference.mass_matrix(q), rtol=1e-9, atol=1e-12)
    expected = reference.inverse_dynamics_derivatives(q, v, a)[0]
    np.testing.assert_allclose(by_q, expected, rtol=1e-9, atol=1e-11 * np.abs(expected).max(), err_msg="drag takes no part")
