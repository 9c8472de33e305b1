"""Checks of blocks on request: right ones pass, each wrong override is named."""

from __future__ import annotations

import numpy as np
import pytest

import titop as tt
from tests.blocks.checking.wrong_blocks import Segment, refused, segment


@pytest.mark.parametrize(
    "block",
    [
        segment(),
        tt.Revolute("hinge", stiffness=2.0),
        tt.Universal("elbow"),
        tt.Planar("table"),
        tt.Screw("screw", pitch=0.2),
        tt.Rod("undamped", 1.0, tt.Section.circle(0.01), 1e6, 1000.0, strains={"bending_z": 0}),
        tt.Motor("motor", "hinge", gear=2.0),
        tt.Force("thruster", tt.RigidBody("hull", 1.0, inertia=1.0)),
        pytest.param(
            tt.Beam("beam", length=1, density=1, area=1, young=1, iy=1, iz=1, torsion_constant=1, shear_modulus=1, modes=1),
            marks=pytest.mark.long,
        ),
    ],
    ids=lambda block: block.name,
)
def test_blocks_that_agree(block: tt.Block) -> None:
    tt.check_block(block)


def test_every_wrong_override_is_named() -> None:
    wrong = {
        "motion_subspace": lambda self, port, q: 1.001 * Segment.motion_subspace(self, port, q),
        "subspace_rate": lambda self, port, q, v: np.zeros(6),
        "gyroscopic": lambda self, q, v, twist: np.zeros(7),
        "passive_efforts": lambda self, q, v: np.zeros(1),
        "law_slopes": lambda self, q, v, twist, x: (np.zeros((7, 1)), np.zeros((7, 1)), np.zeros((7, 6))),
    }
    for name, override in wrong.items():
        with pytest.raises(tt.ModelError) as caught:
            tt.check_block(segment(**{name: override}))
        assert any(finding.where.startswith(f"segment.{name}") for finding in caught.value.findings), name
        assert {finding.code for finding in caught.value.findings} == {"inconsistent-block"}


def test_a_block_that_fails_is_reported_as_such() -> None:
    with pytest.raises(tt.ModelError, match="wrong-shape"):
        tt.check_block(segment(mass_matrix=lambda self, q: np.eye(3)))


def test_drag_that_loses_imaginary_parts_is_noticed() -> None:
    """Its slope by the velocity would be half of the right one."""
    s = tt.System("drag")
    s.connect("world", segment(damping_efforts=lambda self, q, v: -abs(v) * v), tt.Weld("clamp"))
    with pytest.warns(tt.ModelWarning, match="not-complex-safe"):
        model = s.resolve()
    by_v = model.inverse_dynamics_derivatives([0.3], [2.0], [0.0])[1][0, 0]
    still = tt.System("no drag")
    still.connect("world", segment(damping_efforts=lambda self, q, v: 0 * v), tt.Weld("clamp"))
    inertial = still.resolve().inverse_dynamics_derivatives([0.3], [2.0], [0.0])[1][0, 0]
    assert by_v - inertial == pytest.approx(4.0, rel=1e-9)


def test_parameters_that_are_lost_or_lose_imaginary_parts_are_named() -> None:
    lost = segment(with_parameters=lambda self, values: Segment.with_parameters(self, {**values, "length": 0.8}))
    assert refused(lost) == {"length": "parameter-lost"}
    real = segment(elastic_energy=lambda self, q: 0.5 * np.real(self.stiffness) * q[0] ** 2)
    assert refused(real) == {"stiffness": "parameter-not-complex-safe"}
    real.__class__.complex_parameters = False  # type: ignore[misc]
    tt.check_block(real)


def test_parameters_of_zero_are_looked_at_too() -> None:
    """Also where what loses imaginary parts is zero with them."""
    real = segment(damping_efforts=lambda self, q, v: -np.real(self.drag) * v)
    real.__class__.parameter_units = {**Segment.parameter_units, "drag": "N m s"}  # type: ignore[misc]
    real.drag = 0.0  # type: ignore[attr-defined]
    assert refused(real) == {"drag": "parameter-not-complex-safe"}


def test_what_is_no_block_is_refused() -> None:
    with pytest.raises(tt.ModelError, match=r"block: got a System; expected a tt\.Block"):
        tt.check_block(tt.System("arm"))  # type: ignore[arg-type]
