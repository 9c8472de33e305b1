"""What rounding does to compiled systems: doubtful pivots are seen and allowed for, ordinary ones are left alone."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import titop as tt
from tests.systems import random_tree
from titop.solvers.engines.compiled import rounding
from titop.solvers.kernels.interface import layout
from titop.solvers.mechanism.conditioning import NO_INERTIA


def packed(s: tt.System) -> Any:
    """Return the tables of a system."""
    return s.resolve().engine.system  # type: ignore[attr-defined]


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
    assert first == pytest.approx(NO_INERTIA * min(1.0, 0.1 * pivots.shares[0] / pivots.ratios[0]))
    assert second == NO_INERTIA
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
