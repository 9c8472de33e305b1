"""Checks of blocks on request: right ones pass, each wrong override is named."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import titop as tt

Segment = runpy.run_path(str(Path(__file__).parents[2] / "examples" / "custom_block.py"))["ConstantCurvatureSegment"]


def segment(**overrides: Any) -> tt.Block:
    """Return the example's segment, some of its methods overridden."""
    cls = type("Mine", (Segment,), overrides)
    return cls("segment", 0.8, 0.15, 40.0, 3.0, 0.2)


@pytest.mark.parametrize(
    "block",
    [
        segment(),
        tt.Revolute("hinge", stiffness=2.0),
        tt.Universal("elbow"),
        tt.Planar("table"),
        tt.Screw("screw", pitch=0.2),
        tt.Beam("beam", length=1.0, density=1.0, area=1.0, young=1.0, iy=1.0, iz=1.0, torsion_constant=1.0, shear_modulus=1.0),
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
