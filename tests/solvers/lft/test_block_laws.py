"""Laws without known factors: rods and beams, whose matrices are interpolated block by block, or refused by name."""

from __future__ import annotations

import numpy as np
import pytest

import titop as tt

#: Beside the response's norm: see `test_lft`.
EXACT = 1e-9


def hung(block: tt.Block) -> tt.Model:
    s = tt.System("hung", gravity=[0, 0, -9.81] if isinstance(block, tt.Rod) else [0, 0, 0])
    s.connect("world", block, joint=tt.Revolute("hinge", axis=[0, 1, 0], stiffness=50.0, damping=3.0))
    return s.resolve()


def beam(damping_ratio: float = 0.0) -> tt.Beam:
    return tt.Beam("arm", 2.0, 2700.0, 1e-4, 70e9, iy=1e-9, iz=1e-9, damping_ratio=damping_ratio)


def rod() -> tt.Rod:
    section = tt.Section.circle(0.01)
    return tt.Rod("arm", 1.0, section, young=1e8, density=1100.0, damping=1e4, strains={"bending_y": 1, "torsion": 0})


@pytest.mark.parametrize("name", ["young", "density", "damping", "section.radius"])
def test_a_bent_rod_under_gravity(name: str) -> None:
    """Stiffness, density and damping are linear, a radius enters with its fourth power."""
    m = hung(rod())
    q, v = np.array([0.1, 0.2, 0.05, 0.02]), np.zeros(4)
    model = tt.lft(
        m, (q, v, m.inverse_dynamics(q, v, v)), {f"arm.{name}": tt.percent(10)}, ["hinge"], ["hinge.q", "arm.tip.dv"]
    )
    assert model.check(2) < EXACT


@pytest.mark.parametrize("name", ["young", "iy", "density", "area"])
def test_a_beam(name: str) -> None:
    """A section and a density enter as polynomials once the modes' amplitudes do not follow them."""
    m = hung(beam())
    point = m.neutral(), np.zeros(m.nv)
    model = tt.lft(m, point, {f"arm.{name}": tt.percent(10)}, ["hinge"], ["hinge.q", "hinge.a"])
    assert model.blocks[0].repetitions == model.blocks[0].degree
    assert model.check(3) < EXACT


def test_damping_ratios_make_a_stiffness_irrational() -> None:
    """Dampers that follow from a ratio go with the root of the stiffness, which no polynomial of low degree meets."""
    m = hung(beam(damping_ratio=0.01))
    with pytest.raises(tt.ModelError, match=r"arm\.young.*not-rational"):
        tt.lft(m, (m.neutral(), np.zeros(m.nv)), {"arm.young": tt.percent(10)}, ["hinge"], ["hinge.q"])
