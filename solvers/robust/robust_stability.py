"""Whether all members of a family of linear models are stable: `robust_stability`."""

from __future__ import annotations

import os
from collections.abc import Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from titop.blocks.basics.notebook import attributes_page, member_text
from titop.blocks.basics.spatial import Array
from titop.solvers.lft.delta_blocks import DeltaBlock
from titop.solvers.robust.branch_and_bound import CELLS, EXAMINED, branch_and_bound, cells_spread
from titop.solvers.robust.least_size import Singular
from titop.solvers.robust.lower_bound import lower_bound
from titop.solvers.robust.member_search import EigenvalueSearch
from titop.solvers.robust.scalings import Centres
from titop.solvers.robust.sweep import Sweep, sweep
from titop.solvers.robust.uncertain_loop import UncertainLoop, balance, check_positive, in_given_ranges, read_stable_loop
from titop.solvers.support.checkpoint import Checkpoint
from titop.solvers.support.spread import Spread, SweepInterrupt, read_workers
from titop.solvers.support.workers import one_thread

#: How far beyond the ranges unstable members are looked for, in boxes each so many times as large as the last.
_REACH, _LARGER = 100.0, 4.0

#: The level at which the search for the lowest begins if no unstable member is known; members farther away are not sought.
_LOWEST = 1 / _REACH


@dataclass(frozen=True)
class RobustStability:
    """The result of a test of a family's stability.

    Attributes
    ----------
    robust : bool or None
        Whether all members are stable and well-posed with all ranges ``1 / level`` times as large; None if neither was proved
        nor a counterexample found.
    level : float
    upper : float
        Proved upper bound of the structured singular value over all frequencies, infinite without a proof.
    lower : float
        One over the size of the smallest destabilising uncertainty found, zero without one.
    kind : {"unstable", "ill-posed", ""}
        The failure with that uncertainty.
    member : dict
        Values of the parameters there, in their units and maybe beyond their ranges, and of complex and full blocks, by name.
    deltas : tuple
        The same for each block, normalised as the model's blocks are.
    omega : float
        Frequency (rad/s) at which the member is on the stability boundary; without a member, that of the highest bound.
    intervals : array (n, 2), rad/s
        Frequency intervals covered by one scaling each: the proof.
    shares : dict
        Relative growth of the highest bound with the range of each block alone; the sum is one.
    left : float
        Unproved part of the volume of the smallest box that branching tried; zero if the gap was closed, or not requested.
    """

    robust: bool | None
    level: float
    upper: float
    lower: float
    kind: str
    member: dict[str, Any]
    deltas: tuple[Any, ...]
    omega: float
    intervals: Array
    shares: dict[str, float]
    left: float = 0.0

    @property
    def margin(self) -> tuple[float, float]:
        """Factors (no unit) by which all ranges may grow about their middles: the proved one, and an upper bound."""
        return 1 / self.upper, np.inf if not self.lower else 1 / self.lower

    @property
    def driver(self) -> str:
        """The block that drives the bound, empty if no bound was needed."""
        return max(self.shares, key=self.shares.__getitem__, default="")

    _repr_html_ = attributes_page

    def __str__(self) -> str:
        verdict = {True: "robustly stable", False: "not robustly stable", None: "undecided"}[self.robust]
        text = f"{verdict} at level {self.level:g}: structured singular value between {self.lower:.4g} and {self.upper:.4g}"
        if self.left:
            text = f"{text} ({100 * self.left:.3g} % of a box left: give more cells)"
        return f"{text}, {self.kind} at {self.omega:.4g} rad/s with {member_text(self.member)}" if self.kind else text


@one_thread()
def robust_stability(
    lft: Any,
    level: float = 1.0,
    blocks: Sequence[DeltaBlock] | None = None,
    margin: bool = False,
    gap: float | None = None,
    cells: int = CELLS,
    tolerance: float = 0.01,
    progress: bool = True,
    workers: int | Executor = 1,
    checkpoint: str | os.PathLike[str] | None = None,
) -> RobustStability:
    """Prove that all members of a family are stable and well-posed, or find one that is not.

    First unstable members are sought: at corners, along gradients of eigenvalues, by a power iteration. Then the structured
    singular value is bounded at all frequencies at once, including zero and infinity: each scaling is valid between
    two frequencies that follow from the eigenvalues of a Hamiltonian matrix. The proof is for constant parameters, up to
    rounding.

    Parameters
    ----------
    lft : LFTModel or control.StateSpace
        The nominal loop, stable, also sampled; the first channels of a state space are those of the blocks.
    level : float
        Ranges are scaled by ``1 / level`` about their middles.
    blocks : sequence of DeltaBlock, optional
        For a state space.
    margin : bool
        Find the lowest level that can be proved, whatever `level` is.
    gap : float, optional
        Branch over the box of the real parameters until the bounds are this close (relative). May take minutes.
    cells : int
        Largest number of parts of a box that branching examines; the result's `left` is the part that remains.
    tolerance : float
        Relative tolerance of the lowest level.
    progress : bool
        Show a progress bar on a terminal when it takes longer than a second.
    workers : int or Executor
        Number of processes, or an executor, for the parts of the box: see `monte_carlo`. Without `gap` one does all.
    checkpoint : str or path, optional
        A file from which the work goes on when it is done again, with the searches and the parts: see `monte_carlo`.

    Returns
    -------
    RobustStability

    Raises
    ------
    ModelError
        For unusable arguments, and a nominal loop that is not stable.
    SweepInterrupt
        On Ctrl-C while it branches; its `found` has the bounds known until then.

    See Also
    --------
    lyapunov_stability : for parameters that change with time.
    """
    check_positive("1.0 stands for the given ranges", level=level)
    loop = read_stable_loop(lft, blocks, tolerance, gap, cells)
    loop = replace(loop, system=balance(loop.system, loop.structure))
    about = {"loop": (loop.uncertain, loop.structure.blocks), "options": (level, margin, gap, cells, tolerance)}
    keeper = None if checkpoint is None else Checkpoint(checkpoint, "robust_stability", about, (*EXAMINED, Sweep))
    with cells_spread(read_workers(workers), keeper) as spread:
        found, proof = spread.here("bounds", lambda: _bounds(loop, level, margin, gap, tolerance, progress))
        if gap is None or proof is None or not proof.bound > found.value * (1 + gap):
            return _result(loop, level, found, proof)
        return _branch(loop, level, (found, proof), (gap, cells, progress), spread)


def _bounds(
    loop: UncertainLoop, level: float, margin: bool, gap: float | None, tolerance: float, progress: bool
) -> tuple[Singular, Sweep | None]:
    """Return the nearest unstable member found, and the proof for the whole box; arguments are as in `robust_stability`."""
    lowest = margin or gap is not None
    found = _search(loop, 1 / level, _REACH if lowest else 1 / level)
    if not lowest and found.value >= level:
        return found, None
    centres = Centres(loop.structure)
    proof = sweep(centres, loop.uncertain, max(found.value, _LOWEST) if lowest else level, lowest, tolerance, progress)
    if lowest or not proof.proved or not loop.structure.is_real:
        at_peak = lower_bound(loop.uncertain.response(proof.omega), loop.structure)._replace(omega=proof.omega)
        found = _nearer(found, at_peak)
    if margin and found.value < level < proof.bound:
        given = sweep(centres, loop.uncertain, level, False, tolerance, progress)
        proof = given if given.proved else proof
    if lowest and max(found.value * (1 + tolerance), _LOWEST) < proof.bound < np.inf:
        reach = min(_LARGER / proof.bound, 1 / found.value if found.value else _REACH)
        found = _nearer(found, _search(loop, reach, reach))
    return found, proof


def _branch(
    loop: UncertainLoop, level: float, known: tuple[Singular, Sweep], options: tuple[float, int, bool], spread: Spread
) -> RobustStability:
    """Return what is known after branching; `known` is so before, `options` are the gap, cells and progress."""
    (found, proof), stop = known, None
    try:
        branched = branch_and_bound(loop.uncertain, loop.structure, found.value, proof.bound, *options, spread)
    except SweepInterrupt as error:
        branched, stop = error.found, "branching was stopped: the bounds known are the .found of this exception"
    proof.proved, proof.level = bool(np.isfinite(branched.upper)), branched.upper
    result = _result(loop, level, _nearer(found, branched.found), proof, branched.left)
    if stop:
        raise SweepInterrupt(stop, result)
    return result


def _nearer(one: Singular, other: Singular) -> Singular:
    """Return what is known of two uncertainties: the smaller."""
    return max(one, other, key=lambda found: found.value)


def _search(loop: UncertainLoop, reach: float, farthest: float) -> Singular:
    """Look for the nearest unstable or ill-posed member among the real parameters, in larger and larger boxes.

    Steps of a search are parts of its box: members that are next to each other are missed from far away.
    """
    while True:
        member = EigenvalueSearch(loop.uncertain, loop.structure, reach).run()
        if member.value or reach >= farthest:
            return member
        reach = min(_LARGER * reach, farthest)


def _result(loop: UncertainLoop, level: float, found: Singular, proof: Sweep | None, left: float = 0.0) -> RobustStability:
    upper = proof.bound if proof is not None else np.inf
    robust = False if found.value >= level else (True if upper <= level else None)
    structure = loop.structure
    deltas = tuple(d / found.value for d in found.deltas) if found.value else ()
    shares: dict[str, float] = {}
    if proof is not None and proof.worst is not None:
        M = loop.uncertain.response(proof.omega)
        values = Centres(structure).shares(M, proof.worst.x, proof.worst.g)
        shares = {b.name: float(share) for b, share in zip(structure.blocks, values, strict=True)}
    at_infinity = np.isinf(found.omega) and not loop.period  # of a sampled loop that is half its sampling frequency
    kind = "" if not found.value else ("ill-posed" if at_infinity else "unstable")
    omega = found.omega if kind else (proof.omega if proof is not None else 0.0)
    intervals = np.array(sorted(proof.intervals) if proof is not None else []).reshape(-1, 2)
    return RobustStability(
        robust,
        level,
        float(upper),
        found.value,
        kind,
        structure.values(deltas) if deltas else {},
        in_given_ranges(loop.given, structure, deltas) if deltas else (),
        loop.frequency(omega),
        np.vectorize(loop.frequency, otypes=[float])(intervals) if intervals.size else intervals,
        shares,
        left,
    )
