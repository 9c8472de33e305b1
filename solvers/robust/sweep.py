"""One bound for all frequencies from zero to infinity, those between the ones looked at included.

At a level, the centre of the scalings at one frequency stays valid between two others (`validity`). Intervals are laid side
by side until none is left. Where no scaling is found the level is raised above the bound there, at which all earlier
intervals hold as well.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from titop.solvers.robust.centres import Centres
from titop.solvers.robust.level_search import Known, LevelSearch, Start
from titop.solvers.robust.state_space import Matrices
from titop.solvers.robust.upper_bound import UpperBound
from titop.solvers.robust.validity import valid_interval
from titop.solvers.support.progress import progress_bar

#: Frequencies looked at, at most, and what is left of a gap that is not closed (relative).
_FREQUENCIES, _SHORTEST = 2000, 1e-9


@dataclass
class Sweep:
    """What a sweep proved.

    Attributes
    ----------
    level : float
        That holds at all frequencies if `proved`.
    proved : bool
    omega : float
        The frequency (rad/s) of the highest bound that was met, and of the failure where nothing is proved.
    worst : UpperBound or None
        The bound there.
    intervals : list of (low, high)
        Frequencies (rad/s) covered by one scaling each.
    known : list of (omega, UpperBound)
        Scalings at frequencies (rad/s), with which searches nearby begin.
    """

    level: float
    proved: bool = False
    omega: float = 0.0
    worst: UpperBound | None = None
    intervals: list[tuple[float, float]] = field(default_factory=list)
    known: Known = field(default_factory=list)

    def gaps(self) -> list[tuple[float, float]]:
        """Return what is not covered; zero and infinity alone count as gaps."""
        found, reached, closed = [], 0.0, False
        for low, high in sorted(self.intervals):
            if low > reached or (low == reached and not closed and reached > 0):
                found.append((reached, low))
            elif low == reached == 0:
                closed = True
            if high >= reached:
                reached, closed = high, True
        if not self.intervals or not np.isinf(reached):
            found.append((reached, np.inf))
        return found


def sweep(
    centres: Centres,
    system: Matrices,
    level: float,
    raised: bool = False,
    tolerance: float = 0.01,
    progress: bool = True,
    start: Start = None,
    known: Known | None = None,
) -> Sweep:
    """Prove a level at all frequencies, or find the lowest that can be proved.

    Parameters
    ----------
    centres : Centres
    system : Matrices
        With the channels of the uncertainty alone; stable.
    level : float
        To prove; or to begin with.
    raised : bool
        Raise the level where it cannot be proved, until it can.
    tolerance : float
        By how much the level is raised above the bound at a frequency, relative.
    progress : bool
        Show a progress bar on a terminal when it takes longer than a second.
    start : callable, optional
        Function of a response that returns the scaling with which the search at a frequency begins, or None.
    known : list of (omega, UpperBound), optional
        Scalings of a similar system. The frequency of the last one is looked at first.
    """
    known = known or []
    result = Sweep(level, known=list(known))
    search = LevelSearch(centres, tolerance, start, result.known)
    if raised:
        _raise(search, system, result)
    layout = "{desc}: {percentage:3.0f}%|{bar}| {elapsed}"
    with progress_bar(progress=progress, total=100, desc="frequencies", bar_format=layout) as bar:
        for omega in _frequencies(system, result, [w for w, _ in known[-1:]]):
            if not _cover(search, system, result, omega, raised):
                result.omega = omega
                return result
            bar.update(_covered(result) - bar.n)
    result.proved = not result.gaps()
    return result


def _seeds(system: Matrices) -> list[float]:
    """Return the frequencies of oscillating poles, zero and infinity."""
    poles = system.poles
    turning = poles[np.abs(poles.imag) > 0.7 * np.abs(poles)]
    return [*sorted(set(np.abs(turning.imag).tolist())), 0.0, np.inf]


def _raise(search: LevelSearch, system: Matrices, result: Sweep) -> None:
    """Raise the level above the bounds at the frequencies of the poles."""
    for omega in _seeds(system):
        bound = search.run(system.response(omega), omega, result.level)
        if bound is not None and bound.level > result.level:
            result.level = bound.level * (1 + search.tolerance)


def _frequencies(system: Matrices, result: Sweep, first: Sequence[float]) -> Iterator[float]:
    """Yield the seeds that are not covered yet, then frequencies within gaps."""
    for omega in [*first, *_seeds(system)]:
        if not any(low <= omega <= high for low, high in result.intervals):
            yield omega
    for _ in range(_FREQUENCIES):
        gaps = result.gaps()
        if not gaps:
            return
        low, high = max(gaps, key=_width)
        yield _within(low, high)


def _within(low: float, high: float) -> float:
    """Return a frequency within a gap."""
    if np.isinf(high):
        return 2 * low if low else 1.0
    return float(np.sqrt(low * high)) if low else high / 2


def _width(gap: tuple[float, float]) -> float:
    low, high = gap
    return np.inf if np.isinf(high) or not low else float(np.log(high / low))


def _covered(result: Sweep) -> float:
    """Return how much is covered (%), on an axis that is logarithmic about the frequencies that were met."""
    ends = [w for pair in result.intervals for w in pair if 0 < w < np.inf]
    if not ends:
        return 0.0
    middle = float(np.exp(np.mean(np.log(ends))))
    left = sum(np.arctan(high / middle) - np.arctan(low / middle) for low, high in result.gaps())
    return float(100 * (1 - left / (np.pi / 2)))


def _cover(search: LevelSearch, system: Matrices, result: Sweep, omega: float, raised: bool) -> bool:
    """Add the interval about a frequency; tell whether there is one."""
    M, centres = system.response(omega), search.centres
    bound = search.run(M, omega, result.level)
    if bound is None:
        return False
    if result.worst is None or bound.level > result.worst.level:
        result.worst, result.omega = bound, omega
    if raised and bound.level > search.room * result.level:
        result.level = max(result.level, bound.level * (1 + search.tolerance))
    elif bound.level >= result.level:
        return False
    x = search.centre(M, omega, result.level, bound)
    low, high = valid_interval(system, centres.scaling(x, bound.g), centres.levels(result.level), omega)
    if not high - low > _SHORTEST * omega and 0 < omega < np.inf:
        return False
    result.intervals.append((low, high))
    return True
