"""Where sections of rods run through each other."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from titop.blocks.basics.errors import Finding
from titop.blocks.basics.spatial import Array


def overlaps(model: Any, q: Array, t: Array | None = None) -> Iterator[Finding]:
    """Yield a finding for each rod whose neighbouring sections overlap: the worst place, of all states.

    Parameters
    ----------
    model : Model
    q : (n, nq) array
    t : (n,) array, s, optional
        When they are; nothing is said of times by default.
    """
    for rod, (abscissas, fibres) in model.fibres.items() if len(q) else ():
        stretch = fibres.stretch(q[:, model.assembly.q_slices[rod]])
        row, place = np.unravel_index(stretch.argmin(), stretch.shape)
        if stretch[row, place] < 0:
            when = "" if t is None else f" and t = {t[row]:.6g} s"
            found = f"a stretch of {stretch[row, place]:.3g} on its inner side, at X = {abscissas[place]:.4g} m{when}"
            advice = "the rod is bent more sharply than its thickness allows: load it less, or make it thinner or stiffer"
            yield Finding("overlapping-sections", rod, found, "sections that do not run through each other", advice)
