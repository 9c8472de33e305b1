"""Linear fractional models sampled: channels of real deltas once a stage, those of neglected dynamics once a period."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from titop.blocks.basics.spatial import Array
from titop.solvers.lft.connections.labels import Connectable
from titop.solvers.lft.connections.sampling import Channels, Matrices, Window, kept_columns, sampled
from titop.solvers.lft.fractions.delta_blocks import DeltaBlock


def sampled_channels(
    model: Connectable, period: float, stages: int, windows: Sequence[Window], taken: Sequence[int]
) -> tuple[Matrices, tuple[DeltaBlock, ...], list[int]]:
    """Return the matrices of M over a period (s), its inputs held, its blocks, and which inputs of M are kept as states.

    Inputs are channels, inputs of the model, then `windows`, whose columns count the inputs of the model alone, as `taken`
    counts its outputs. What complex and full blocks return is held too, of what they have at the sampling instants: of what is
    taken where they add to that.
    """
    M, blocks = model.M, model.blocks
    w, z = (_slices([getattr(b, size) for b in blocks]) for size in ("repetitions", "columns"))
    real = [k for k, block in enumerate(blocks) if block.kind == "real"]
    channels = Channels(tuple(w[k] for k in real), tuple(z[k] for k in real))
    first, last = model.channels
    before = [last + k for k in taken]
    complex_ = []
    for k, block in enumerate(blocks):
        if block.kind != "real":
            complex_ += [Window(column, read=block.of_outputs) for column in range(w[k].start, w[k].stop)]
            if block.of_outputs and M.D[before, w[k]].any():
                before += range(z[k].start, z[k].stop)
    inputs = [Window(k) for k in range(first, M.ninputs)]
    moved = [window._replace(column=first + window.column) for window in windows]
    system: Matrices = tuple(np.asarray(getattr(M, name)) for name in "ABCD")  # type: ignore[assignment]
    held = [*complex_, *inputs, *moved]
    found = sampled(system, channels, period, stages, held, before)
    kept = kept_columns(system, channels, held, before)
    sizes = dict(zip(real, found.sizes, strict=True))
    new = tuple(b._replace(repetitions=sizes[k], columns=sizes[k]) if k in sizes else b for k, b in enumerate(blocks))
    A, B, C, D = found.ports(M.nstates + len(kept))
    columns, rows = (
        _order(new, size, len(found.A), total) for size, total in (("repetitions", B.shape[1]), ("columns", len(C)))
    )
    return (A, B[:, columns], C[rows], D[np.ix_(rows, columns)]), new, kept


def _slices(sizes: Sequence[int]) -> list[slice]:
    return [slice(a, b) for a, b in pairwise(np.cumsum([0, *sizes]).tolist())]


def _order(blocks: Sequence[DeltaBlock], size: str, count: int, total: int) -> Array:
    """Return where the channels of blocks stand, and all else after them: first those of the real ones, `count`."""
    at = {"real": 0, "other": count}
    order: list[int] = []
    for block in blocks:
        kind, own = "real" if block.kind == "real" else "other", getattr(block, size)
        order += range(at[kind], at[kind] + own)
        at[kind] += own
    return np.array([*order, *range(at["other"], total)], dtype=int)
