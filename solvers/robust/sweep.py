"""One bound for all frequencies from zero to infinity, those between the ones looked at included.

At a level, the centre of the scalings at one frequency stays valid between two others. Intervals are laid side by side until
none is left. Where no scaling is found the level is raised above the bound there, at which all earlier intervals hold as well.
It is raised too where intervals are so short that the frequencies allowed would not close the gaps.

With ``N = [M; 1]`` and ``Π = [-D_z, j G; -j G, L² D_w]``, L the levels, a scaling is valid where ``F = N^H Π N > 0``. F is a
hermitian function of frequency; its sign changes only where it is singular, at the imaginary eigenvalues of a Hamiltonian
matrix (Boyd, Balakrishnan, Kabamba 1989). About a frequency ω0 they are sought in the plane of ``p = 1 / (s - j ω0)``: what is
next to ω0 is far away there and well conditioned, and infinity is the point p = 0.

Rounding moves eigenvalues off the axis, the more the larger the scalings and the weaker the damping. So F itself is looked at
too, where eigenvalues and poles are, on the axis or not, and halfway between: an interval ends before the first of these
frequencies at which F is not positive.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

from titop.blocks.basics.spatial import Array
from titop.blocks.basics.tolerances import CLOSE, FEW_ROUNDINGS, NEAR_AXIS, SAME, TINY
from titop.solvers.linear.matrices import Matrices
from titop.solvers.robust.scalings import Centres, Scaling
from titop.solvers.robust.upper_bound import Known, LevelSearch, Start, UpperBound
from titop.solvers.support.progress import progress_bar

#: Frequencies looked at, at most.
_FREQUENCIES = 2000

#: After so many frequencies it is asked whether those that are left can close the gaps, and how often a level may be raised
#: because they cannot.
_ASKED, _RAISES = 100, 40

#: How far F is looked at beyond the last frequency that matters (factor).
_BEYOND = 2.0


@dataclass
class Sweep:
    """What a sweep proved.

    - `level`: that holds at all frequencies if `proved`;
    - `omega`: the frequency (rad/s) of the highest bound that was met, and of the failure where nothing is proved;
    - `worst`: the bound there;
    - `intervals`: frequencies (rad/s) covered by one scaling each;
    - `known`: scalings at frequencies (rad/s), with which searches nearby begin.
    """

    level: float
    proved: bool = False
    omega: float = 0.0
    worst: UpperBound | None = None
    intervals: list[tuple[float, float]] = field(default_factory=list)
    known: Known = field(default_factory=list)

    @property
    def bound(self) -> float:
        """What holds at all frequencies: the level, infinite where that is not proved."""
        return self.level if self.proved else np.inf

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
    band: tuple[float, float] = (0.0, np.inf),
) -> Sweep:
    """Prove a level at all frequencies, or find the lowest that can be proved.

    - `system`: with the channels of the uncertainty alone; stable;
    - `level`: to prove; or to begin with;
    - `raised`: raise the level where it cannot be proved, or not within the frequencies allowed, until it can;
    - `tolerance`: by how much the level is raised above the bound at a frequency, relative;
    - `progress`: show a progress bar on a terminal when it takes longer than a second;
    - `start`: function of a response that returns the scaling with which the search at a frequency begins, or None;
    - `known`: scalings of a similar system. The frequency of the last one is looked at first;
    - `band` (rad/s): where the level is to hold; others count as covered.
    """
    known = known or []
    others = [(0.0, band[0])] if band[0] else []
    result = Sweep(level, known=list(known), intervals=others + ([(band[1], np.inf)] if np.isfinite(band[1]) else []))
    search = LevelSearch(centres, tolerance, start, result.known)
    pace = _Pace(result, tolerance) if raised else None
    if raised:
        _raise(search, system, result, band)
    layout = "{desc}: {percentage:3.0f}%|{bar}| {elapsed}"
    with progress_bar(progress=progress, total=100, desc="frequencies", bar_format=layout) as bar:
        for omega in _frequencies(system, result, [w for w, _ in known[-1:]], pace):
            if not _cover(search, system, result, omega, pace):
                result.omega = omega
                return result
            bar.update(_coverage(result) - bar.n)
    result.proved = not result.gaps()
    return result


class _Pace:
    """Raises the level of a sweep whose intervals are too short: by its tolerance, then by twice as much each time.

    `tolerance`: relative.
    """

    def __init__(self, result: Sweep, tolerance: float) -> None:
        self.result, self.step, self.raises = result, tolerance, 0
        self.left, self.open = _FREQUENCIES, np.inf

    def lift(self) -> bool:
        if self.raises >= _RAISES:
            return False
        self.result.level *= 1 + self.step
        self.step, self.raises, self.open = 2 * self.step, self.raises + 1, np.inf
        return True

    def step_on(self) -> bool:
        """Count a frequency, and raise the level where those that are left would not close the gaps; tell whether to go on."""
        self.left -= 1
        if self.left > 0 and self.left % _ASKED:
            return True
        before, self.open = self.open, sum(_width(gap) for gap in self.result.gaps())
        closing = before - self.open if np.isfinite(before) else np.inf
        if self.left > 0 and not self.open * _ASKED > closing * self.left:
            return True
        self.left = max(self.left, _FREQUENCIES // 2)
        return self.lift()


def _seeds(system: Matrices) -> list[float]:
    """Return the frequencies of oscillating poles, zero and infinity."""
    poles = system.poles
    turning = poles[np.abs(poles.imag) > 0.7 * np.abs(poles)]
    return [*sorted(set(np.abs(turning.imag).tolist())), 0.0, np.inf]


def _raise(search: LevelSearch, system: Matrices, result: Sweep, band: tuple[float, float]) -> None:
    """Raise the level above the bounds at the frequencies of the poles within a band, and at its ends."""
    for omega in dict.fromkeys([*(omega for omega in _seeds(system) if band[0] <= omega <= band[1]), *band]):
        bound = search.run(system.response(omega), omega, result.level)
        if bound is not None and bound.level > result.level:
            result.level = bound.level * (1 + search.tolerance)


def _frequencies(system: Matrices, result: Sweep, first: Sequence[float], pace: _Pace | None) -> Iterator[float]:
    """Yield the seeds that are not covered yet, then frequencies within gaps, so many as are allowed."""
    for omega in [*first, *_seeds(system)]:
        if not any(low <= omega <= high for low, high in result.intervals):
            yield omega
    met = 0
    while gaps := result.gaps():
        met += 1
        if met > _FREQUENCIES if pace is None else not pace.step_on():
            return
        low, high = max(gaps, key=_width)
        yield _within(low, high)


def _within(low: float, high: float) -> float:
    if np.isinf(high):
        return 2 * low if low else 1.0
    return float(np.sqrt(low * high)) if low else high / 2


def _width(gap: tuple[float, float]) -> float:
    low, high = gap
    return np.inf if np.isinf(high) or not low else float(np.log(high / low))


def _coverage(result: Sweep) -> float:
    """Return how much is covered (%), on an axis that is logarithmic about the frequencies that were met."""
    ends = [w for pair in result.intervals for w in pair if 0 < w < np.inf]
    if not ends:
        return 0.0
    middle = float(np.exp(np.mean(np.log(ends))))
    left = sum(np.arctan(high / middle) - np.arctan(low / middle) for low, high in result.gaps())
    return float(100 * (1 - left / (np.pi / 2)))


def _cover(search: LevelSearch, system: Matrices, result: Sweep, omega: float, pace: _Pace | None) -> bool:
    """Add the interval about a frequency, the level raised if there is a pace; tell whether there is one."""
    bound = search.run(system.response(omega), omega, result.level)
    if bound is None:
        return False
    if result.worst is None or bound.level > result.worst.level:
        result.worst, result.omega = bound, omega
    if pace is not None and bound.level > search.room * result.level:
        result.level = max(result.level, bound.level * (1 + search.tolerance))
    elif bound.level >= result.level:
        return False
    low, high = _interval(search, system, result, omega, bound)
    while not high - low > SAME * omega and 0 < omega < np.inf:
        if pace is None or not pace.lift():
            return False
        low, high = _interval(search, system, result, omega, bound)
    result.intervals.append((low, high))
    return True


def _interval(search: LevelSearch, system: Matrices, result: Sweep, omega: float, bound: UpperBound) -> tuple[float, float]:
    """Return the frequencies about one between which the centre at the level is valid."""
    centres = search.centres
    x = search.centre(system.response(omega), omega, result.level, bound)
    return valid_interval(system, centres.scaling(x, bound.g), centres.levels(result.level), omega)


def valid_interval(system: Matrices, scaling: Scaling, levels: Array, omega: float) -> tuple[float, float]:
    """Return the frequencies (rad/s), from zero to infinity, between which ``F > 0`` holds, given that it does at `omega`."""
    system, G = scaling.normalise(system)
    crossings, places = _crossings(system, G, levels, omega)
    if np.isinf(omega):
        low, high = max(crossings, default=0.0) * (1 + CLOSE), np.inf
    else:
        above = min((w for w in crossings if w > omega), default=np.inf)
        below = max((w for w in crossings if w < omega), default=-np.inf)
        high = above if np.isinf(above) else above - CLOSE * (above - omega)
        low = max(below + CLOSE * (omega - below) if np.isfinite(below) else 0.0, 0.0)
    places = [*places, *system.poles.imag.tolist(), *np.abs(system.poles).tolist()]
    return _confirm(system, G, levels, omega, (low, high), places)


def _confirm(
    system: Matrices, G: Array, levels: Array, omega: float, interval: tuple[float, float], places: Sequence[float]
) -> tuple[float, float]:
    """Return the part of an interval about a frequency in which F is positive wherever it is looked at."""
    low, high = interval
    inside = sorted({abs(w) for w in places if low < abs(w) < high and np.isfinite(w)})
    ends = [low, *inside, high if np.isfinite(high) else _BEYOND * max([1.0, low, *inside])]
    seen = np.array(sorted({*ends, high, omega, *((a + b) / 2 for a, b in pairwise(ends))}))
    good = _is_positive(system, G, levels, seen) | (seen == omega)
    at = int(np.searchsorted(seen, omega))
    wrong = np.flatnonzero(~good)
    before, after = wrong[wrong < at], wrong[wrong > at]
    return float(seen[before[-1] + 1] if before.size else low), float(seen[after[0] - 1] if after.size else high)


def _is_positive(system: Matrices, G: Array, levels: Array, frequencies: Array) -> Array:
    """Tell whether F is positive, by more than errors of rounding, at each frequency."""
    M = np.array([system.response(float(omega)) for omega in frequencies])
    skew = 1j * G @ M
    values = np.linalg.eigvalsh(np.diag(levels**2) - M.conj().swapaxes(1, 2) @ M - skew - skew.conj().swapaxes(1, 2))
    return np.asarray(values[:, 0] > FEW_ROUNDINGS * len(levels) * np.abs(values).max(axis=1))


def _crossings(system: Matrices, G: Array, levels: Array, omega: float) -> tuple[list[float], list[float]]:
    """Return all frequencies, negative ones too, at which F may be singular, and those next to any eigenvalue."""
    n, m = len(system.A), system.B.shape[1]
    form = np.block([[-np.eye(len(system.C)), 1j * G.conj().T], [-1j * G, np.diag(levels**2)]])
    if np.isinf(omega):
        A, B, C, D = system.A.astype(complex), system.B, system.C, system.D
    else:
        A = np.linalg.inv(system.A - 1j * omega * np.eye(n))
        B, C, D = A @ system.B, -system.C @ A, system.response(omega)
    C, D = np.concatenate([C, np.zeros((m, n))]), np.concatenate([D, np.eye(m)])
    R, S, Q = D.conj().T @ form @ D, C.conj().T @ form @ D, C.conj().T @ form @ C
    solved = np.linalg.solve(R, np.concatenate([S.conj().T, B.conj().T], axis=1))
    half = A - B @ solved[:, :n]
    hamiltonian = np.block([[half, -B @ solved[:, n:]], [-Q + S @ solved[:, :n], -half.conj().T]])
    values = np.linalg.eigvals(hamiltonian)
    near = np.abs(values.real) <= NEAR_AXIS * np.abs(values) + SAME * np.abs(values).max(initial=0.0)
    if np.isinf(omega):
        return np.abs(values.imag[near]).tolist(), values.imag.tolist()
    frequencies = [omega - 1 / p if abs(p) > TINY else np.inf for p in values.imag.tolist()]
    return [w for w, on_axis in zip(frequencies, near, strict=True) if on_axis], frequencies
