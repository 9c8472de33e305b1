"""Blocks of one's own with mistakes."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

import pytest

import titop as tt

Segment = runpy.run_path(str(Path(__file__).parents[3] / "examples" / "custom_block.py"))["ConstantCurvatureSegment"]


def segment(**overrides: Any) -> tt.Block:
    """Return the example's segment, some of its methods overridden."""
    cls = type("Mine", (Segment,), overrides)
    return cls("segment", 0.8, 0.15, 40.0, 3.0, 0.2)


# -- laws that no matter follows, and parameters ------------------------------------------------------------------------


def refused(block: tt.Block) -> dict[str, str]:
    """Return the codes of what `check_block` finds, by function."""
    with pytest.raises(tt.ModelError) as caught:
        tt.check_block(block)
    return {finding.where.removeprefix(f"{block.name}."): finding.code for finding in caught.value.findings}
