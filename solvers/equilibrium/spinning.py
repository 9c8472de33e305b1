"""Bodies that spin although nothing is known of their stiffening."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from titop.blocks.basics.errors import Finding
from titop.blocks.bodies.flexible_body import FlexibleBody
from titop.solvers.model.model import Model

#: Spins whose square is more than this part of the lowest frequency's change that frequency, one way or the other.
_NOTICED = 1e-2


def spin_findings(model: Model, q: Any, v: Any) -> Iterator[Finding]:
    """Yield each flexible body without geometric stiffness that spins fast for its modes, at states (..., nq) and (..., nv)."""
    for block in model.assembly.blocks_with_coordinates:
        if not isinstance(block, FlexibleBody) or block.second_order is not None:
            continue
        lowest = float(block.natural_frequencies[0])
        spin = float(np.linalg.norm(model.twist(block.name, q, v)[..., 3:], axis=-1).max())
        if spin**2 > _NOTICED * lowest**2:
            value = f"a spin of {spin:.3g} rad/s beside a lowest frequency of {lowest:.3g} rad/s"
            expected = "spins of less than a tenth of it: nothing is known of how the body stiffens"
            advice = "give geometric_stiffness and the modes' moments, or make it of beams"
            yield Finding("spinning-modes", block.name, value, expected, advice)
