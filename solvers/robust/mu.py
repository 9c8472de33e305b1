"""The structured singular value over frequency: `mu`."""

from __future__ import annotations

import os
from collections.abc import Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from titop.blocks.basics.errors import Finding, ModelError
from titop.blocks.basics.notebook import attributes_page
from titop.blocks.basics.spatial import Array
from titop.blocks.basics.user_input import read_array
from titop.solvers.lft.delta_blocks import DeltaBlock, Structure
from titop.solvers.linear.matrices import Matrices
from titop.solvers.robust.branch_and_bound import CELLS, branch_and_bound
from titop.solvers.robust.least_size import Singular
from titop.solvers.robust.lower_bound import lower_bound
from titop.solvers.robust.scalings import Centres
from titop.solvers.robust.uncertain_loop import (
    balance,
    centre_system,
    check_precision,
    check_sizes,
    in_given_ranges,
    read_blocks,
    read_stable_loop,
)
from titop.solvers.robust.upper_bound import in_own_units, upper_bound
from titop.solvers.support.checkpoint import Checkpoint
from titop.solvers.support.progress import progress_bar
from titop.solvers.support.spread import Spread, SweepInterrupt, died_at, read_workers
from titop.solvers.support.workers import one_thread

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: Bounds with a larger relative gap are improved in other coordinates, as long as the improvement is as large.
_LOOSE = 0.01


@dataclass(frozen=True)
class MuBounds:
    """Bounds of the structured singular value at some frequencies.

    Attributes
    ----------
    omega : array (n,), rad/s
        Frequencies; a single zero for a matrix.
    upper, lower : array (n,), no unit
        Their inverses are factors by which all ranges may grow about their middles: up to ``1 / upper`` the loop is not
        singular at that frequency, at ``1 / lower`` an uncertainty makes it singular.
    shares : array (n, blocks), no unit
        Relative growth of the upper bound with the range of each block alone; the sum is one.
    blocks : tuple of str
    deltas : array (n, rows of w, columns of z), no unit
        The uncertainty of size ``1 / lower`` found at each frequency: ``1 - M Δ`` is singular, to rounding. Zero if none.
        Normalised as the model's blocks are; parameters with a nominal value off the middle then have another size.
    members : tuple of dict
        The same by name: parameters in their units, maybe beyond their ranges, and numbers of complex and full blocks.
    left : array (n,), no unit
        Unproved part of the volume of the smallest box that branching tried at each frequency; zero if the gap was closed, or
        not requested.
    """

    omega: Array
    upper: Array
    lower: Array
    shares: Array
    blocks: tuple[str, ...]
    deltas: Array
    members: tuple[dict[str, Any], ...]
    left: Array

    _repr_html_ = attributes_page

    def __str__(self) -> str:
        return f"at most {self.peak:.6g}, driven by {self.driver}"

    @property
    def peak(self) -> float:
        """The highest upper bound (no unit) at these frequencies; between them it may be higher: see `robust_stability`."""
        return float(self.upper.max())

    @property
    def driver(self) -> str:
        """The block that drives the highest upper bound."""
        return self.blocks[int(np.argmax(self.shares[int(np.argmax(self.upper))]))]

    def plot(self) -> Figure:
        """Plot both bounds, and the shares of the blocks, over frequency."""
        from titop.blocks.basics.figure import Figure

        figure = Figure(figsize=(7, 6), layout="constrained")
        bounds, shares = figure.subplots(2, 1, sharex=True, height_ratios=(1.6, 1))
        shown = np.isfinite(self.omega) & (self.omega > 0)
        omega = self.omega[shown]
        bounds.semilogx(omega, self.upper[shown], label="upper bound")
        bounds.semilogx(omega, self.lower[shown], linestyle="--", label="lower bound")
        bounds.set_ylabel("structured singular value")
        bounds.legend()
        for name, column in zip(self.blocks, self.shares[shown].T, strict=True):
            shares.semilogx(omega, column, label=name)
        shares.set_ylabel("share of the bound")
        shares.set_xlabel("frequency [rad/s]")
        shares.legend(fontsize=8)
        for axis in (bounds, shares):
            axis.grid(alpha=0.3, which="both")
        return figure


@one_thread()
def mu(
    lft: Any,
    omega: Any = None,
    blocks: Sequence[DeltaBlock] | None = None,
    tolerance: float = 1e-4,
    progress: bool = True,
    gap: float | None = None,
    cells: int = CELLS,
    workers: int | Executor = 1,
    checkpoint: str | os.PathLike[str] | None = None,
) -> MuBounds:
    """Bound the structured singular value at frequencies, with any mix of real, complex and full blocks.

    Upper bounds are by D and G scalings (Fan, Tits, Doyle 1991), with a method of centres; lower bounds by a search along the
    edges of the box of real parameters, or at samples of these with a power iteration for the other blocks (Packard, Doyle
    1993), followed by linear programmes. A frequency takes some 0.2 s with 5 repetitions, 1 s with 22.

    Real parameters are constant in time: a rotating drive is not covered.

    Parameters
    ----------
    lft : LFTModel, control.StateSpace or array
        The nominal loop, stable. The first channels of a state space or a matrix are those of the blocks.
    omega : array_like
        Frequencies (rad/s), zero and infinity allowed; not needed for a matrix.
    blocks : sequence of DeltaBlock, optional
        For a state space or a matrix.
    tolerance : float
        Relative tolerance of the upper bound's last steps.
    progress : bool
        Show a progress bar on a terminal when it takes longer than a second.
    gap : float, optional
        Branch over the box of the real parameters until the bounds are this close (relative), at each frequency;
        this may take minutes.
    cells : int
        Largest number of parts of a box that branching examines; the result's `left` is the part that remains.
    workers : int or Executor
        Number of processes, or an executor, for the frequencies: see `monte_carlo`.
    checkpoint : str or path, optional
        A file from which the frequencies go on when they are computed again: see `monte_carlo`.

    Returns
    -------
    MuBounds

    Raises
    ------
    ModelError
        For unusable arguments, and a nominal loop that is not stable.
    SweepInterrupt
        On Ctrl-C; its `found` has the bounds at the frequencies done until then.

    See Also
    --------
    lyapunov_stability : for parameters that change with time.

    Examples
    --------
    Two complex numbers on the diagonal, of a matrix whose gain is four times as large:

    >>> import titop as tt
    >>> bounds = tt.mu([[0, 16], [1, 0]], blocks=[tt.DeltaBlock.complex("a"), tt.DeltaBlock.complex("b")])
    >>> [round(float(bound[0]), 3) for bound in (bounds.lower, bounds.upper)]
    [4.0, 4.0]
    """
    given, structure, frequencies, responses = _read(lft, omega, blocks)
    check_precision(structure, tolerance, gap, cells)
    about = {"responses": responses, "blocks": structure.blocks, "options": (tolerance, gap, cells)}
    keeper = None if checkpoint is None else Checkpoint(checkpoint, "mu", about, (_Bounds, Singular))
    at: dict[int, _Bounds] = {}
    options, stopped, died = (structure, tolerance, gap, cells), False, died_at(lambda task: f"{task[0]:.6g} rad/s")
    with (
        Spread(partial, (_bound, *options), read_workers(workers), died, checkpoint=keeper) as spread,
        progress_bar(progress=progress, total=len(responses), unit="frequency") as bar,
    ):
        try:
            for k, bounds in spread.results(list(enumerate(zip(frequencies.tolist(), responses, strict=True)))):
                at[k] = bounds
                bar.update()
        except KeyboardInterrupt:
            if not at:
                raise
            stopped = True
    bounds = _collect(given, structure, frequencies[[*at]], [*at.values()])
    if stopped:
        found = f"stopped at {len(at)} of {len(frequencies)} frequencies: they are the .found of this exception"
        raise SweepInterrupt(found, bounds)
    return bounds


def _collect(given: Structure, structure: Structure, frequencies: Array, at: Sequence[_Bounds]) -> MuBounds:
    numbers = [[d / bounds.found.value for d in bounds.found.deltas] for bounds in at]
    nothing = np.zeros(structure.shape)
    return MuBounds(
        frequencies,
        np.array([bounds.upper for bounds in at]),
        np.array([bounds.found.value for bounds in at]),
        np.array([bounds.shares for bounds in at]),
        tuple(b.name for b in structure.blocks),
        np.array([given.matrix(in_given_ranges(given, structure, deltas)) if deltas else nothing for deltas in numbers]),
        tuple(structure.values(deltas) if deltas else {} for deltas in numbers),
        np.array([bounds.left for bounds in at]),
    )


class _Bounds(NamedTuple):
    upper: float
    found: Singular
    shares: Array
    left: float


def _bound(structure: Structure, tolerance: float, gap: float | None, cells: int, at: tuple[float, Array]) -> _Bounds:
    """Return bounds at a frequency (rad/s), given with the response there (columns of z, rows of w)."""
    centres, M = Centres(structure), balance(Matrices.constant(at[1]), structure).D
    bound = upper_bound(centres, M, tolerance)
    found = lower_bound(M, structure, bound.level)
    upper, scaled, better = bound.level, M, bound
    while better.level > found.value * (1 + _LOOSE):  # coordinates in which centres creep look the same
        scaled, better = in_own_units(centres, scaled, better)
        better = upper_bound(centres, scaled, tolerance, better)
        if better.level > upper * (1 - _LOOSE):
            break
        upper, M, bound = better.level, scaled, better
    shares, left = centres.shares(M, bound.x, bound.g), 0.0
    if gap is not None and upper > found.value * (1 + gap):
        branched = branch_and_bound(Matrices.constant(M), structure, found.value, upper, gap, cells, False)
        upper, left = branched.upper, branched.left
        found = max(found, branched.found, key=lambda one: one.value)
    return _Bounds(upper, found, shares, left)


def _read(lft: Any, omega: Any, blocks: Any) -> tuple[Structure, Structure, Array, list[Array]]:
    """Return the given structure and one with centred ranges, the frequencies and the response at each."""
    if not hasattr(lft, "blocks") and not hasattr(lft, "A"):
        matrix = np.asarray(lft)
        if matrix.dtype.kind not in "fiuc" or matrix.ndim != 2 or not np.isfinite(matrix).all():
            advice = "pass what tt.lft returns, a state space or a matrix with blocks=[...]"
            raise ModelError(Finding("wrong-type", "lft", lft, "an LFTModel, a state space or a finite matrix", advice))
        given = read_blocks(blocks)
        check_sizes(given, matrix)
        w, z = given.shape
        system, structure = centre_system(Matrices.constant(matrix[:z, :w].astype(complex)), given)
        return given, structure, np.zeros(1), [system.D]
    loop = read_stable_loop(lft, blocks)
    advice = "such as np.geomspace(0.1, 100, 200)"
    wrong = Finding("wrong-type", "omega", omega, "frequencies (rad/s), none negative", advice)
    frequencies = read_array(wrong, lambda omega: omega.ndim == 1 and omega.size and (omega >= 0).all())
    return loop.given, loop.structure, frequencies, [loop.uncertain.response(loop.warp(float(w))) for w in frequencies]
