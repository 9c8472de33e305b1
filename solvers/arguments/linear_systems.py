"""Linear systems that users give: controllers and weights."""

from __future__ import annotations

from typing import Any

import numpy as np

from titop.blocks.basics.errors import Finding, ModelError


def refuse_not_finite(where: str, system: Any) -> None:
    """Refuse a state space with NaN or infinity in its matrices.

    Raises
    ------
    ModelError
        Naming the entry.
    """
    for name in "ABCD":
        matrix = np.asarray(getattr(system, name))
        if not np.isfinite(matrix).all():
            row, column = (int(k) for k in np.argwhere(~np.isfinite(matrix))[0])
            advice = "look at what the system was made from"
            raise ModelError(
                Finding("not-finite", f"{name}[{row}, {column}] of {where}", matrix[row, column], "finite numbers", advice)
            )
