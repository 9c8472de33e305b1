"""Where sections of rods run through each other, and where deformable bodies are folded."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from titop.blocks.basics.errors import Finding
from titop.blocks.basics.spatial import Array

#: Configurations whose volumes are computed together.
_TOGETHER = 64


def overlaps(model: Any, q: Array, t: Array | None = None) -> Iterator[Finding]:
    """Yield a finding for each rod whose neighbouring sections overlap, and each folded body: the worst place, of all states.

    Parameters
    ----------
    model : Model
    q : (n, nq) array
    t : (n,) array, s, optional
        When they are; nothing is said of times by default.
    """
    if len(q):
        yield from _overlapping_rods(model, q, t)
        yield from _folded_bodies(model, q, t)


def _overlapping_rods(model: Any, q: Array, t: Array | None) -> Iterator[Finding]:
    for rod, (abscissas, fibres) in model.fibres.items():
        stretch = fibres.stretch(q[:, model.assembly.q_slices[rod]])
        row, place = np.unravel_index(stretch.argmin(), stretch.shape)
        if stretch[row, place] < 0:
            found = f"a stretch of {stretch[row, place]:.3g} on its inner side, at X = {abscissas[place]:.4g} m{_when(t, row)}"
            advice = "the rod is bent more sharply than its thickness allows: load it less, or make it thinner or stiffer"
            yield Finding("overlapping-sections", rod, found, "sections that do not run through each other", advice)


def _folded_bodies(model: Any, q: Array, t: Array | None) -> Iterator[Finding]:
    for name, block in model.assembly.blocks.items():
        if not block.can_fold:
            continue
        parts = np.array_split(q[:, model.assembly.q_slices[name]], -(-len(q) // _TOGETHER))
        with np.errstate(invalid="ignore"):
            ratios = np.concatenate([block.volume_ratios(part) for part in parts])
        row, place = np.unravel_index(ratios.argmin(), ratios.shape)
        if not ratios[row, place] > 0:
            x = np.array2string(block.domain.points[place], precision=4)
            found = f"det F = {ratios[row, place]:.3g} at x = {x} m{_when(t, row)}"
            advice = "it is deformed further than its kinematics can tell: load it less, or make it thinner or stiffer"
            yield Finding("folded", name, found, "det F > 0: no part turned inside out", advice)


def _when(t: Array | None, row: Any) -> str:
    return "" if t is None else f" and t = {t[row]:.6g} s"
