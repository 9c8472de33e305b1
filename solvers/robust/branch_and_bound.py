"""Branch and bound over the box of real parameters: what scalings alone leave open.

To prove a box, cells of it are proved: the loop is expanded about a cell's middle, whose scalings need to bound that cell
only. A cell that resists is cut in two along the parameter that drives its bound. A cell whose middle is unstable is a member
that tells the truth sooner: the box shrinks to it (Newlin, Young 1997, "Mixed mu problems and branch and bound techniques").
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from titop.blocks.basics.errors import numbers_text
from titop.blocks.basics.spatial import Array
from titop.blocks.basics.tolerances import SAME
from titop.solvers.lft.delta_blocks import Structure
from titop.solvers.linear.matrices import Matrices
from titop.solvers.robust.least_size import NONE, Singular
from titop.solvers.robust.lower_bound import smallest, worst_complex
from titop.solvers.robust.member_search import EigenvalueSearch
from titop.solvers.robust.scalings import Centres
from titop.solvers.robust.sweep import Sweep, sweep
from titop.solvers.robust.upper_bound import Known, UpperBound
from titop.solvers.support.checkpoint import Checkpoint
from titop.solvers.support.progress import progress_bar
from titop.solvers.support.spread import Spread, SweepInterrupt, died_at

#: Cells of a box that are looked at, at most.
CELLS = 400

#: How far the bound of an unproved box lies above the members found, relative, before the next box is tried.
_CLOSER = 0.5

#: What is taken for the bound, relative to a box that was not proved, while none is known.
_FARTHER = 4.0

#: Scalings that are handed on to the halves of a cell.
_KEPT = 40

#: Cells that are asked for beside the one whose turn it is.
_AHEAD = 32


@dataclass(frozen=True)
class _Cell:
    """Part of a box: its middle, half its widths, and scalings found for what it is part of, the hardest frequency last."""

    middle: Array
    half: Array
    known: Known


class _Examined(NamedTuple):
    """What a cell came to.

    `member`: on the way to its middle, where stability is lost; of value zero if it is not; `seen`: what was looked at in the
    middle; `singular`: near the middle, likewise; `halves`: where nothing else is known.
    """

    member: Singular
    seen: Any = None
    proved: bool = False
    singular: Singular = NONE
    halves: Sequence[_Cell] = ()


#: What a checkpoint has of cells.
EXAMINED = (_Examined, _Cell, Singular, UpperBound)


class Branched(NamedTuple):
    """What cells proved.

    `upper`: bound of mu over all frequencies; `found`: the nearest unstable member, or other uncertainty that makes the loop
    singular, met on the way; of value zero without; `left`: part of the volume of the smallest box tried that is not proved;
    zero where the gap was closed.
    """

    upper: float
    found: Singular
    left: float


def cells_spread(workers: int | Executor, checkpoint: Checkpoint | None) -> Spread:
    """Return what examines cells, in this process or others."""
    died = died_at(lambda task: f"the cell about {numbers_text(task[1].middle)}")
    return Spread(_examining, (), workers, died, checkpoint=checkpoint)


def _examining() -> Callable[[tuple[ParameterBox, _Cell]], _Examined]:
    return lambda task: task[0].examine(task[1])


def branch_and_bound(
    system: Matrices,
    structure: Structure,
    lower: float,
    upper: float,
    gap: float,
    cells: int = CELLS,
    progress: bool = True,
    spread: Spread | None = None,
) -> Branched:
    """Return an upper bound of mu over all frequencies.

    A box that cannot be proved within its cells is followed by a smaller one, halfway to what is proved. Where no member is
    known a bound that is the part `gap` of the one known is low enough.

    - `system`: with the channels of the uncertainty alone; stable;
    - `structure`: with real blocks, other than these are kept whole;
    - `lower`, `upper`: bounds known, the upper one infinite where none is;
    - `gap`: relative distance of the bounds that is sought;
    - `cells`: cells of a box that are looked at, at most;
    - `progress`: show a progress bar on a terminal when it takes longer than a second;
    - `spread`: what examines the cells.

    Raises `SweepInterrupt` on Ctrl-C, with what is known until then.
    """
    if spread is None:
        with cells_spread(1, None) as spread:
            return branch_and_bound(system, structure, lower, upper, gap, cells, progress, spread)
    nearest = NONE
    first = upper / 4 if np.isfinite(upper) else 1.0
    level, unproved, left = max(lower * (1 + gap), first), 0.0, 0.0
    low = gap * upper if np.isfinite(upper) else 0.0
    for number in range(30):
        box = ParameterBox(system, structure, 1 / level)
        try:
            proved, found, volume = box.prove(cells, progress, spread, number)
        except KeyboardInterrupt:
            raise SweepInterrupt("branching was stopped", Branched(upper, nearest, box.left)) from None
        if found.value:
            nearest, lower = found, found.value
            level = min(lower * (1 + gap), upper)
        elif proved:
            upper = level
            level = max(lower * (1 + gap), level / 2, 0.0 if lower else low)
        else:
            unproved, left = level, volume
        if unproved:
            level = max(level, unproved + _CLOSER * (min(upper, _FARTHER * unproved) - unproved))
        wanted = (lower * (1 + gap) if lower else low) * (1 + SAME)
        if upper <= max(wanted, unproved * (1 + gap)):
            break
    return Branched(upper, nearest, left if upper > wanted else 0.0)


class ParameterBox:
    """All members whose normalised parameters, and complex blocks, are no larger than a radius.

    `system`: with the channels of the uncertainty alone; stable; `look`: a function of the normalised parameters in the middle
    of every cell that is looked at; `left`: part of the volume that is not proved so far.
    """

    def __init__(
        self, system: Matrices, structure: Structure, radius: float, look: Callable[[Array], Any] | None = None
    ) -> None:
        self.system, self.structure, self.radius, self.look = system, structure, radius, look
        self.centres, self.left = Centres(structure), 1.0

    def prove(
        self, most: int, progress: bool, spread: Spread, number: int, keep: Callable[[Any], object] | None = None
    ) -> tuple[bool, Singular, float]:
        """Tell whether all members are stable; return one that is not, of value zero without; and the volume that is left.

        Cells are examined side by side, but their turns come one after the other, the largest first: what is left shrinks to
        the members that resist.

        `most`: cells to examine; `number`: of the box, in this study; `keep`: what is done with what was looked at, cell by
        cell.
        """
        n = len(self.structure.real)
        root = _Cell(np.zeros(n), np.full(n, self.radius), [])
        cells, seen, self.left = [((number, ""), root)], 0, 1.0
        layout = "{desc}: {percentage:3.0f}%|{bar}| {elapsed}"
        with progress_bar(progress=progress, total=100, desc=f"box of radius {self.radius:.3g}", bar_format=layout) as bar:
            while cells and seen < most:
                seen += 1
                for key, cell in cells[:_AHEAD]:
                    spread.ask(key, (self, cell))
                (_, path), cell = cells.pop(0)
                result: _Examined = spread.answer((number, path))
                if keep is not None and result.seen is not None:
                    keep(result.seen)
                if bad := max(result.member, result.singular, key=lambda found: found.value).value:
                    spread.forget()
                    return False, result.member if result.member.value == bad else result.singular, self.left
                if result.proved:
                    self.left -= float(np.prod(cell.half / self.radius))
                    bar.update(100 * (1 - self.left) - bar.n)
                cells += [((number, f"{path}{k}"), half) for k, half in enumerate(result.halves)]
        spread.forget()
        return not cells, NONE, self.left if cells else 0.0

    def examine(self, cell: _Cell) -> _Examined:
        """Return what a cell comes to."""
        member = self._unstable(cell.middle)
        if member.value:
            return _Examined(member)
        seen = None if self.look is None else self.look(cell.middle)
        proof, shares = self._proof(cell)
        if proof.proved:
            return _Examined(NONE, seen, True)
        singular = self._singular(cell.middle, proof.omega) if self.look is None else NONE
        halves = [] if singular.value else self._halves(cell, int(np.argmax(shares)), proof)
        return _Examined(NONE, seen, False, singular, halves)

    def _unstable(self, middle: Array) -> Singular:
        """Return the member on the way to a cell's middle at which stability is lost, if it is."""
        search = EigenvalueSearch(self.system, self.structure, float(np.abs(middle).max()))
        if middle.any():
            search.march(middle)
            search.shrink()
        return search.best

    def _singular(self, middle: Array, omega: float) -> Singular:
        """Return what makes the loop singular near a cell's middle, at a frequency, if it lies within the box."""
        M, start = self.system.response(omega), NONE
        if not self.structure.is_real:
            start = worst_complex(M, self.structure, middle[None], np.random.default_rng(0)).singular(0)
        elif middle.any():
            size = float(np.abs(middle).max())
            start = Singular(1 / size, (middle / size).tolist())
        found = smallest(M, self.structure, start) if start.value else NONE
        return found._replace(omega=omega) if found.value > 1 / self.radius else NONE

    def _proof(self, cell: _Cell) -> tuple[Sweep, Array]:
        """Return the proof of a cell, or a failed one, and the shares of the parameters in its bound."""
        half = np.full(len(self.structure.blocks), self.radius)
        half[list(self.structure.real)] = cell.half
        scale = np.repeat(half, [block.columns for block in self.structure.blocks])
        local = self.system.close_loop(self.structure.real_matrix(cell.middle)).scale(scale)
        proof = sweep(self.centres, local, 1.0, tolerance=0.02, progress=False, known=cell.known)
        shares = cell.half / self.radius
        if not proof.proved and proof.worst is not None:
            M = local.response(proof.omega)
            shares = self.centres.shares(M, proof.worst.x, proof.worst.g)[list(self.structure.real)]
        return proof, shares

    def _halves(self, cell: _Cell, cut: int, proof: Sweep) -> Sequence[_Cell]:
        half = cell.half.copy()
        half[cut] /= 2
        step = np.zeros(len(half))
        step[cut] = half[cut]
        hard = [] if proof.worst is None else [(proof.omega, proof.worst)]
        known = [*proof.known[-_KEPT:], *hard]
        return [_Cell(cell.middle + sign * step, half, known) for sign in (-1.0, 1.0)]
