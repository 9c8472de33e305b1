"""The highest gain of a family of linear models: `worst_case_gain`; as much of it as of the ranges: `robust_gain`."""

from __future__ import annotations

import os
from collections.abc import Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from titop.blocks.basics.notebook import attributes_page, member_text
from titop.blocks.basics.spatial import Array
from titop.solvers.lft.delta_blocks import DeltaBlock, Structure, channel_signals
from titop.solvers.linear.matrices import Matrices
from titop.solvers.linear.state_space import named_signals, named_system
from titop.solvers.robust.branch_and_bound import CELLS, EXAMINED, ParameterBox, cells_spread
from titop.solvers.robust.member_search import EigenvalueSearch, Gain, GainSearch
from titop.solvers.robust.robust_stability import robust_stability
from titop.solvers.robust.scalings import Centres
from titop.solvers.robust.sweep import Sweep, sweep
from titop.solvers.robust.uncertain_loop import UncertainLoop, balance, channels, read_stable_loop
from titop.solvers.robust.upper_bound import UpperBound, upper_bound
from titop.solvers.support.checkpoint import Checkpoint
from titop.solvers.support.spread import Spread, SweepInterrupt, read_workers
from titop.solvers.support.workers import one_thread

#: Gains above so many times the highest one found are not bounded.
_HIGHEST = 100.0

#: Gains that branching tries.
_BOXES = 5

#: Where scalings for this level are found, those for one are looked for.
_ROOM = 0.999


@dataclass(frozen=True)
class WorstCaseGain:
    """Bounds of the highest gain.

    Attributes
    ----------
    upper : float
        Upper bound of every member's gain, at any frequency; infinite if none was proved. In output units over input units.
    lower : float
        The gain of the worst member found, infinite if it is unstable or ill-posed.
    member : dict
        Its parameters by name, in their units.
    omega : float
        Frequency (rad/s) of its peak, NaN if the gain is infinite.
    intervals : array (n, 2), rad/s
        Frequency intervals covered by one scaling each: the proof of the upper bound for the whole box.
    left : float
        Part of the box's volume in which branching did not prove the gap; zero if it did, or was not requested.
    """

    upper: float
    lower: float
    member: dict[str, Any]
    omega: float
    intervals: Array
    left: float = 0.0

    _repr_html_ = attributes_page

    def __str__(self) -> str:
        if np.isinf(self.lower):
            return f"no worst-case gain: unstable or ill-posed with {member_text(self.member)}"
        found = f"the lower at {self.omega:.4g} rad/s with {member_text(self.member)}"
        text = f"worst-case gain between {self.lower:.6g} and {self.upper:.6g}, {found}"
        return f"{text} ({100 * self.left:.3g} % of the box left: give more cells)" if self.left else text


@one_thread()
def worst_case_gain(
    lft: Any,
    input: str | Sequence[str],
    output: str | Sequence[str],
    blocks: Sequence[DeltaBlock] | None = None,
    gap: float | None = None,
    cells: int = CELLS,
    tolerance: float = 0.01,
    progress: bool = True,
    workers: int | Executor = 1,
    checkpoint: str | os.PathLike[str] | None = None,
) -> WorstCaseGain:
    """Bound the highest gain, over all members of a family and all frequencies, from some inputs to some outputs.

    The upper bound is skew mu: the ranges are fixed, and the gain of a full block around the performance channels is
    minimised by scalings, at all frequencies at once as in `robust_stability`. The lower bound is a member: the worst of
    corners and of ascents along the gradient of the H-infinity norm (Zhou, Doyle, Glover 1996, chapters 10 and 11).

    Real parameters are constant in time: a rotating drive is not covered.

    Parameters
    ----------
    lft : LFTModel or control.StateSpace
        The nominal loop, stable; the first channels of a state space are those of the blocks.
    input, output : str or sequence of str
        Signals of the model, ``"hinge.q"`` or ``"hinge_q"``, several as one vector; ``"gyro"`` stands for all its entries.
    blocks : sequence of DeltaBlock, optional
        For a state space.
    gap, cells, progress, workers, checkpoint
        As of `robust_stability`.
    tolerance : float
        Relative tolerance of the upper bound.

    Returns
    -------
    WorstCaseGain

    Raises
    ------
    ModelError
        For unknown signals and unusable arguments, and a nominal loop that is not stable.
    SweepInterrupt
        On Ctrl-C while it branches; its `found` has the bounds known until then.

    See Also
    --------
    lyapunov_stability : for parameters that change with time.

    Examples
    --------
    A lag whose gain is 0.5 ± 0.25:

    >>> import control, titop as tt
    >>> M = control.ss([[-1]], [[0, 1]], [[0.25], [0.5]], [[0, 0], [1, 0]], inputs=["w", "u"], outputs=["z", "y"])
    >>> worst = tt.worst_case_gain(M, "u", "y", blocks=[tt.DeltaBlock.real("k")])
    >>> round(worst.lower, 3), worst.member, bool(worst.upper < 0.76)
    (0.75, {'k': 1.0}, True)
    """
    loop = read_stable_loop(lft, blocks, tolerance, gap, cells)
    w, z = loop.structure.shape
    columns, rows = channels(input, loop.inputs, w, "input"), channels(output, loop.outputs, z, "output")
    system = balance(loop.system, loop.structure).part([*range(z), *rows], [*range(w), *columns])
    about = {"loop": (system, loop.structure.blocks), "options": (gap, cells, tolerance)}
    keeper = None if checkpoint is None else Checkpoint(checkpoint, "worst_case_gain", about, (*EXAMINED, Gain, Sweep))
    found = GainSearch(system, loop.structure)
    performance = [DeltaBlock.full("performance", len(columns), len(rows))]
    with cells_spread(read_workers(workers), keeper) as spread:
        found.keep(spread.here("gain", found.run))
        bound = bound_performance(loop, system, performance, found, (gap, cells, tolerance), progress, spread)
    worst, frequency = found.best, np.vectorize(loop.frequency, otypes=[float])
    member = loop.structure.values(loop.structure.deltas(worst.deltas))
    intervals = frequency(bound.intervals) if bound.intervals.size else bound.intervals
    result = WorstCaseGain(bound.upper, worst.value, member, loop.frequency(worst.omega), intervals, bound.left)
    if bound.stopped:
        raise SweepInterrupt("branching was stopped: the bounds known are the .found of this exception", result)
    return result


@dataclass(frozen=True)
class RobustGain:
    """How much of an uncertainty and of a performance fit at once: bounds of mu with a block around the performance channels.

    Attributes
    ----------
    upper : float
        All members with ranges ``1 / upper`` times as large about their middles have gains of at most `upper`: robust
        performance, proved where it is at most one. Infinite if nothing was proved.
    lower : float
        With ranges ``1 / lower`` times as large a member has a gain of `lower`.
    member : dict
        Its parameters by name, in their units.
    omega : float
        Frequency (rad/s) of this gain.
    intervals : array (n, 2), rad/s
        Frequency intervals covered by one scaling each: the proof.
    shares : dict
        Relative growth of the bound with the range of each block alone, and with the gain (``"performance"``).
    left : float
        Part of a box's volume in which branching did not prove the gap; zero if it did, or was not requested.
    """

    upper: float
    lower: float
    member: dict[str, Any]
    omega: float
    intervals: Array
    shares: dict[str, float]
    left: float = 0.0

    @property
    def margin(self) -> tuple[float, float]:
        """Factors (no unit) of the ranges at which the gain is at most their inverse: the proved one, and an upper bound."""
        return 1 / self.upper if self.upper else np.inf, 1 / self.lower if self.lower else np.inf

    _repr_html_ = attributes_page

    def __str__(self) -> str:
        text = f"gain and inverse size of the ranges between {self.lower:.4g} and {self.upper:.4g}"
        text = f"{text} ({100 * self.left:.3g} % of a box left: give more cells)" if self.left else text
        return f"{text}, at {self.omega:.4g} rad/s with {member_text(self.member)}"


def robust_gain(
    lft: Any,
    input: str | Sequence[str],
    output: str | Sequence[str],
    gap: float | None = None,
    *,
    blocks: Sequence[DeltaBlock] | None = None,
    cells: int = CELLS,
    tolerance: float = 0.01,
    progress: bool = True,
    workers: int | Executor = 1,
    checkpoint: str | os.PathLike[str] | None = None,
) -> RobustGain:
    """Bound how much of the ranges and of a gain fit at once: robust performance.

    For all ranges ``1 / β`` times as large the gain is at most β, for the smallest β that can be proved. This is mu of the
    uncertainty and a full block around the performance channels, by `robust_stability`. Inputs and outputs count in their own
    units: put weights before, so that a gain of one is what is required. `worst_case_gain` keeps the ranges as they are.

    Parameters
    ----------
    lft : LFTModel or control.StateSpace
        The nominal loop, stable; the first channels of a state space are those of the blocks.
    input, output : str or sequence of str
        Signals of the model; several as one vector.
    gap, blocks, cells, tolerance, progress, workers, checkpoint
        See `robust_stability`.

    Returns
    -------
    RobustGain

    Raises
    ------
    ModelError
        For unknown signals and unusable arguments, and a nominal loop that is not stable.
    SweepInterrupt
        On Ctrl-C while it branches; its `found` has the bounds known until then.

    Examples
    --------
    A lag whose gain is 0.5 ± 0.25. With the range times 1 / β the gain is at most 0.5 + 0.25 / β, which is β at 0.809:

    >>> import control, titop as tt
    >>> M = control.ss([[-1]], [[0, 1]], [[0.25], [0.5]], [[0, 0], [1, 0]], inputs=["w", "u"], outputs=["z", "y"])
    >>> round(tt.robust_gain(M, "u", "y", blocks=[tt.DeltaBlock.real("k")]).lower, 3)
    0.809
    """
    loop, model = read_stable_loop(lft, blocks, tolerance, gap, cells), getattr(lft, "M", lft)
    w, z = loop.structure.shape
    columns, rows = channels(input, loop.inputs, w, "input"), channels(output, loop.outputs, z, "output")
    every = [*loop.given.blocks, DeltaBlock.full("performance", len(columns), len(rows))]
    part = Matrices.of(model).part([*range(z), *rows], [*range(w), *columns])
    names = named_signals(model)[0], *channel_signals(every)
    closed = named_system(part, *names, str(model.name), model.dt or 0.0)
    try:
        found, stop = robust_stability(closed, 1.0, every, True, gap, cells, tolerance, progress, workers, checkpoint), ""
    except SweepInterrupt as error:
        found, stop = error.found, str(error)
    member = {name: value for name, value in found.member.items() if name != "performance"}
    result = RobustGain(found.upper, found.lower, member, found.omega, found.intervals, found.shares, found.left)
    if stop:
        raise SweepInterrupt(stop, result)
    return result


class PerformanceBound(NamedTuple):
    """What is proved of a performance: the bound, intervals of frequency, what branching left, and whether it was stopped."""

    upper: float
    intervals: Array
    left: float
    stopped: bool


def bound_performance(
    loop: UncertainLoop,
    system: Matrices,
    performance: Sequence[DeltaBlock],
    found: GainSearch,
    options: tuple[float | None, int, float],
    progress: bool,
    spread: Spread,
    least: float = 0.0,
) -> PerformanceBound:
    """Return a bound that no member exceeds: one over the size of blocks around the performance channels that all tolerate.

    - `system`: its channels, then those of the performance;
    - `performance`: blocks around these: a full one for a gain;
    - `found`: after its run: members, worse ones found on the way are recorded. Nothing is bounded where one is unstable;
    - `options`: gap, cells and tolerance as of `worst_case_gain`;
    - `least`: what is bounded where no member has as much.
    """
    (gap, cells, tolerance), stopped, left = options, False, 0.0
    unit, nothing = max(found.best.value, least), np.zeros((0, 2))
    if not 0 < unit < np.inf:
        return PerformanceBound(np.inf, nothing, 0.0, False)
    skew = SkewSweep(loop.structure, system, performance, unit)
    proof = spread.here("sweep", lambda: skew.run(True, tolerance, progress))
    upper = unit * proof.level if proof.proved else np.inf
    if np.isinf(upper):
        found.keep_unstable(EigenvalueSearch(loop.uncertain, loop.structure, 1.0).run())
    if gap is not None and upper > max(found.best.value, unit) * (1 + gap):
        upper, left, stopped = _branch(skew, upper, found, (gap, cells, progress), spread)
    return PerformanceBound(float(upper), np.array(sorted(proof.intervals)).reshape(-1, 2), left, stopped)


class SkewSweep:
    """Sweeps for the size of performance blocks, in parts of a unit, that all members tolerate.

    `structure`: of the uncertainty; `system`: with its channels, then those of the performance; `unit`: one over a size.
    """

    def __init__(self, structure: Structure, system: Matrices, performance: Sequence[DeltaBlock], unit: float) -> None:
        z, self.unit = structure.shape[1], unit
        self.structure = Structure.of([*structure.blocks, *performance])
        outputs = np.concatenate([np.ones(z), np.full(len(system.C) - z, 1 / unit)])
        self.system = balance(system.scale(outputs), self.structure)
        self.start = _SkewStart(self.structure, len(performance))

    def run(self, raised: bool, tolerance: float, progress: bool = False, band: tuple[float, float] = (0.0, np.inf)) -> Sweep:
        """Return the proof of level one, or of the lowest level (`raised`), within a band (rad/s)."""
        return sweep(self.start.skew, self.system, 1.0, raised, tolerance, progress, self.start, band=band)


def _branch(
    skew: SkewSweep, upper: float, found: GainSearch, options: tuple[float, int, bool], spread: Spread
) -> tuple[float, float, bool]:
    """Return a bound of the gain, the part of the box that remains, and whether Ctrl-C came; gains on the way are recorded.

    The gain is below a number in all cells if mu is below one with a performance block for this number. If this cannot be
    proved within the cells, the next number lies halfway to the known bound.

    `upper`: the bound known, infinite where none is; `options`: the gap, cells and progress.
    """
    (gap, cells, progress), (system, unit), z = options, (skew.system, skew.unit), found.structure.shape[1]
    n, first = len(found.structure.real), 0.0
    level = max(found.best.value, unit) * (1 + gap)
    for number in range(_BOXES):
        outputs = np.concatenate([np.ones(z), np.full(len(system.C) - z, unit / level)])
        box = ParameterBox(system.scale(outputs), skew.structure, 1.0, found.gain)
        try:
            proved, member, left = box.prove(cells, progress, spread, number, found.keep)
        except KeyboardInterrupt:
            return upper, first or box.left, True
        first = first or left
        if member.value and len(skew.structure.real) == n:
            found.keep_unstable(member)
            return np.inf, first, False
        if member.value:  # a real performance has reached the level: there is a worse member
            found.look(np.clip([member.deltas[k] / member.value for k in found.structure.real], -1.0, 1.0))
        if proved:
            return level, first, False
        level = max(np.sqrt(level * min(upper, _HIGHEST * unit)), found.best.value * (1 + gap))
    return upper, first, False


class _SkewStart:
    """Finds scalings at which the ranges are proved and the gain is high, with which skew mu begins.

    `structure`: so many performance blocks (`count`) last.
    """

    def __init__(self, structure: Structure, count: int) -> None:
        self.whole = Centres(structure)
        self.skew = Centres(structure, count)
        self.outputs = slice(structure.z[-count].start, None)
        first = len(structure.blocks) - count
        sizes = [place for place, (k, _) in zip(self.whole.unknowns.places, self.whole.owners, strict=True) if k >= first]
        self.last = slice(sizes[0].start, None)
        self.is_real = structure.real[-1:] >= (first,)

    def __call__(self, M: Array, largest: float) -> UpperBound | None:
        """Return a scaling that proves some gain at a response, G bounded relative to its gain, or None.

        D of the performance blocks is divided by the square of the gain, G of real ones by the gain.
        """
        lowered = M.copy()
        lowered[self.outputs] /= _HIGHEST
        found = upper_bound(self.whole, lowered, enough=_ROOM, largest=largest)
        if found.level >= 1:
            return None
        x, g = found.x.copy(), found.g
        if self.is_real:
            x, g = self.whole.widen(x, g, _HIGHEST * g), _HIGHEST * g
        x[self.last] = found.x[self.last] / _HIGHEST**2
        return UpperBound(_HIGHEST, x, g)
