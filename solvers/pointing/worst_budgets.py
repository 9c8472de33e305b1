"""Worst members of an uncertain family for a budget: searched as those of gains are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from titop.blocks.basics.spatial import Array
from titop.solvers.linear.matrices import Matrices
from titop.solvers.pointing.budget_cases import BudgetCase
from titop.solvers.robust.member_search import Gain, GainSearch, corners
from titop.solvers.robust.uncertain_loop import UncertainLoop, to_sampled
from titop.solvers.support.progress import progress_bar

#: Random members beside corners from which searches start.
_RANDOM = 6


class WorstErrors(NamedTuple):
    """Of each metric and output: the worst value found (metrics, outputs), sizes there, and parameters of the members."""

    values: Array
    parts: Array
    members: tuple[tuple[dict[str, object], ...], ...]
    deltas: tuple[tuple[Array, ...], ...]


def physical(loop: UncertainLoop, system: Matrices) -> Matrices:
    """Return a system of a loop's in its own units of time: rad/s, or sampled."""
    system = Matrices(loop.rate * system.A, loop.rate * system.B, system.C, system.D)
    return to_sampled(system, loop.period) if loop.period else system


def worst_errors(case: BudgetCase, loop: UncertainLoop, system: Matrices, progress: bool) -> WorstErrors:
    """Return the worst members found of a loop, whose `system` has the channels of the uncertainty, then those of the budget.

    The same corners and random members are looked at for each metric and output. From the worst of them it climbs, and
    from the worst found for each line alone: where a mode meets it, which may be far from what is worst for noise.
    """
    known: dict[bytes, tuple[Array, Array]] = {}
    n, (w, z) = len(loop.structure.real), loop.structure.shape
    shape = len(case.metrics), len(system.C) - z
    lines = [k for k, each in enumerate(case.acting) if each.source.kind == "harmonic"]

    def sizes(member: Matrices) -> tuple[Array, Array]:
        key = b"".join(matrix.tobytes() for matrix in member)
        if key not in known:
            parts = case.evaluate(physical(loop, member)).parts
            known[key] = parts, case.totals(parts)
        return known[key]

    def climb(which: int, place: tuple[int, ...], starts: Sequence[Array]) -> Gain:
        """Return the highest total (1), or size alone (0), found from some members, and beside it at ends of single ranges."""
        search = GainSearch(system, loop.structure, lambda s: (float(sizes(s)[which][place]), np.nan))
        best = search.run(starts=with_ends(search.run(starts=starts).deltas))
        return search.refine() if lines else best

    rng = np.random.default_rng(0)
    starts = [*corners(n, rng), *rng.uniform(-1, 1, (_RANDOM, n))] if n else [np.zeros(0)]
    found: list[Gain] = []
    with progress_bar(progress=progress, total=shape[0] * shape[1], desc="worst members") as bar:
        for m, o in np.ndindex(shape):
            alone = [climb(0, (m, o, k), starts).deltas for k in lines] if len(case.acting) > 1 else []
            every = [climb(1, (m, o), begin) for begin in (starts, *map(with_ends, alone))]
            found.append(max(every, key=lambda gain: gain.value))
            bar.update(1)
    parts = np.full((*shape, len(case.acting)), np.inf)
    for (m, o), gain in zip(np.ndindex(shape), found, strict=True):
        if np.isfinite(gain.value):
            closed = system.close_loop(loop.structure.real_matrix(gain.deltas)).part(
                np.arange(z, len(system.C)), np.arange(w, system.B.shape[1])
            )
            parts[m, o] = sizes(closed)[0][m, o]
    rows = [found[m * shape[1] : (m + 1) * shape[1]] for m in range(shape[0])]
    members = tuple(tuple(loop.structure.values(loop.structure.deltas(gain.deltas)) for gain in row) for row in rows)
    values = np.array([[gain.value for gain in row] for row in rows]).reshape(shape)
    return WorstErrors(values, parts, members, tuple(tuple(gain.deltas for gain in row) for row in rows))


def with_ends(deltas: Array) -> list[Array]:
    """Return normalised parameters, and the same with each at either end of its range."""
    ends = np.tile(deltas, (2 * len(deltas), 1))
    ends[np.arange(len(ends)), np.arange(len(ends)) // 2] = np.resize([1.0, -1.0], len(ends))
    return [deltas, *ends]
