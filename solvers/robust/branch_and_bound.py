"""Branch and bound over the box of real parameters: what scalings alone leave open.

To prove a box, cells of it are proved: the loop is expanded about a cell's middle, whose scalings need to bound that cell
only. A cell that resists is cut in two along the parameter that drives its bound. A cell whose middle is unstable is a member
that tells the truth sooner: the box shrinks to it (Newlin, Young 1997, "Mixed mu problems and branch and bound techniques").
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from titop.blocks.basics.spatial import Array
from titop.blocks.basics.tolerances import SAME
from titop.solvers.linear.matrices import Matrices
from titop.solvers.robust.least_size import NONE, Singular
from titop.solvers.robust.lower_bound import smallest, worst_complex
from titop.solvers.robust.member_search import EigenvalueSearch
from titop.solvers.robust.scalings import Centres
from titop.solvers.robust.structure import Structure
from titop.solvers.robust.sweep import Sweep, sweep
from titop.solvers.robust.upper_bound import Known
from titop.solvers.support.progress import progress_bar

#: Cells of a box that are looked at, at most.
CELLS = 400

#: How far the bound of an unproved box lies above the members found, relative, before the next box is tried.
_CLOSER = 0.5

#: What is taken for the bound, relative to a box that was not proved, while none is known.
_FARTHER = 4.0

#: Scalings that are handed on to the halves of a cell.
_KEPT = 40


@dataclass(frozen=True)
class _Cell:
    """Part of a box: its middle, half its widths, and scalings found for what it is part of, the hardest frequency last."""

    middle: Array
    half: Array
    known: Known


class Branched(NamedTuple):
    """What cells proved.

    Attributes
    ----------
    upper : float
        Bound of mu over all frequencies.
    found : Singular
        The nearest unstable member, or other uncertainty that makes the loop singular, met on the way; of value zero without.
    left : float
        Part of the volume of the smallest box tried that is not proved; zero where the gap was closed.
    """

    upper: float
    found: Singular
    left: float


def branch_and_bound(
    system: Matrices, structure: Structure, lower: float, upper: float, gap: float, cells: int = CELLS, progress: bool = True
) -> Branched:
    """Return an upper bound of mu over all frequencies.

    A box that cannot be proved within its cells is followed by a smaller one, halfway to what is proved. Where no member is
    known a bound that is the part `gap` of the one known is low enough.

    Parameters
    ----------
    system : Matrices
        With the channels of the uncertainty alone; stable.
    structure : Structure
        With real blocks, other than these are kept whole.
    lower, upper : float
        Bounds known, the upper one infinite where none is.
    gap : float
        Relative distance of the bounds that is sought.
    cells : int
        Cells of a box that are looked at, at most.
    progress : bool
        Show a progress bar on a terminal when it takes longer than a second.
    """
    nearest = NONE
    first = upper / 4 if np.isfinite(upper) else 1.0
    level, unproved, left = max(lower * (1 + gap), first), 0.0, 0.0
    low = gap * upper if np.isfinite(upper) else 0.0
    for _ in range(30):
        box = ParameterBox(system, structure, 1 / level)
        proved, found, volume = box.prove(cells, progress)
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

    Parameters
    ----------
    system : Matrices
        With the channels of the uncertainty alone; stable.
    structure : Structure
    radius : float
    look : callable, optional
        What is done with the normalised parameters in the middle of every cell that is looked at.
    """

    def __init__(
        self, system: Matrices, structure: Structure, radius: float, look: Callable[[Array], object] | None = None
    ) -> None:
        self.system, self.structure, self.radius, self.look = system, structure, radius, look
        self.centres = Centres(structure)

    def prove(self, most: int, progress: bool) -> tuple[bool, Singular, float]:
        """Tell whether all members are stable; return one that is not, of value zero without; and the volume that is left."""
        n = len(self.structure.real)
        cells, seen, left = [_Cell(np.zeros(n), np.full(n, self.radius), [])], 0, 1.0
        layout = "{desc}: {percentage:3.0f}%|{bar}| {elapsed}"
        with progress_bar(progress=progress, total=100, desc=f"box of radius {self.radius:.3g}", bar_format=layout) as bar:
            while cells and seen < most:
                seen += 1
                cell = cells.pop()
                found = self._unstable(cell.middle)
                if found.value:
                    return False, found, left
                if self.look is not None:
                    self.look(cell.middle)
                proof, shares = self._proof(cell)
                if proof.proved:
                    left -= float(np.prod(cell.half / self.radius))
                    bar.update(100 * (1 - left) - bar.n)
                else:
                    found = self._singular(cell.middle, proof.omega) if self.look is None else NONE
                    if found.value:
                        return False, found, left
                    cells += self._halves(cell, int(np.argmax(shares)), proof)
        return not cells, NONE, left if cells else 0.0

    def _unstable(self, middle: Array) -> Singular:
        """Return the member on the way to a cell's middle at which stability is lost, if it is."""
        search = EigenvalueSearch(self.system, self.structure, float(np.abs(middle).max()))
        if middle.any():
            search.march(middle)
            search.shrink()
        return search.best.singular(self.structure)

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
        """Return both halves of a cell."""
        half = cell.half.copy()
        half[cut] /= 2
        step = np.zeros(len(half))
        step[cut] = half[cut]
        hard = [] if proof.worst is None else [(proof.omega, proof.worst)]
        known = [*proof.known[-_KEPT:], *hard]
        return [_Cell(cell.middle + sign * step, half, known) for sign in (-1.0, 1.0)]
