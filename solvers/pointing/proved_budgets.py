"""Bounds of the errors of all members of a family, by skew mu in bands of frequency.

The variance that noise leaves is at most the sum over bands of the highest gain of any member there, squared, times what the
weighted spectrum has in the band. Bands are cut where the spectrum of known members changes. The bound tends to the integral
of the highest gain at each frequency: above the worst member's variance as far as different members are worst at different
frequencies, as Paganini's robust H2 performance is (1999). In the last band, to infinity, ``(1 + s / Ω) G`` is bounded in place
of G, where that is proper: white noise has a finite rest there. Lines and constants are bounded by gains at their frequencies.
"""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np

from titop.blocks.basics.spatial import Array
from titop.blocks.basics.tolerances import COARSE, TINY, TYPED
from titop.solvers.lft.delta_blocks import DeltaBlock
from titop.solvers.linear.matrices import Matrices
from titop.solvers.linear.peaks import Band, frequencies
from titop.solvers.pointing.budget_cases import BudgetCase
from titop.solvers.pointing.spectral_errors import Panels, last_panel, worst_line
from titop.solvers.pointing.worst_budgets import WorstErrors, with_ends
from titop.solvers.robust.scalings import Centres
from titop.solvers.robust.sweep import sweep
from titop.solvers.robust.uncertain_loop import UncertainLoop, balance
from titop.solvers.robust.worst_case_gain import SkewSweep
from titop.solvers.support.progress import progress_bar

#: Bands of one channel at most, and how far a bound of a line may be above the worst member found.
_BANDS, _NEAR = 24, 2 * COARSE
#: Frequencies, beside those of poles, by which bands are chosen.
_GRID = 60
#: Tolerance of gains in bands of noise.
_LOOSE = 4 * COARSE
#: Frequencies of a band at which gains of known members are looked at, and the weight of a line with its amplitude.
_PARTS, _SEEN = 33, 1025
_NONE = np.zeros(0)


class Cell(NamedTuple):
    """Part of the box of the real parameters: its middle and half its widths (n, normalised)."""

    middle: Array
    half: Array

    def cut(self, j: int) -> list[Cell]:
        """Return the halves along a parameter."""
        half = self.half.copy()
        half[j] /= 2
        return [Cell(self.middle + side * half * (np.arange(len(half)) == j), half) for side in (-1, 1)]


def proved_errors(
    case: BudgetCase, loop: UncertainLoop, system: Matrices, worst: WorstErrors, cells: int, progress: bool
) -> Array:
    """Return values (metrics, outputs) that no member exceeds, infinite where nothing is proved.

    `system`: with the channels of the uncertainty, then those of the budget; `worst`: members that are known; `cells`: parts of
    the box that are bounded one by one: that whose bound is highest is halved, along what moves poles most in their widths.
    """
    n = len(loop.structure.real)
    if not np.isfinite(worst.values).all():
        return np.full_like(worst.values, np.inf)
    whole, most = Cell(np.zeros(n), np.ones(n)), max(cells, 1) if n else 1
    with progress_bar(progress=progress, total=2 * most - 1, desc="bounds") as bar:

        def bound(cell: Cell) -> tuple[Array, Cell]:
            total = case.totals(_CellProof(case, loop, system, worst, cell).run())
            bar.update(1)
            return total, cell

        found = [bound(whole)]
        while len(found) < most:
            found.sort(key=lambda each: float((each[0] / np.maximum(worst.values, TINY)).max()))
            _, cell = found.pop()
            found += [bound(half) for half in cell.cut(_moving(loop, system, cell))]
    return np.asarray(np.max([total for total, _ in found], axis=0))


def _moving(loop: UncertainLoop, system: Matrices, cell: Cell) -> int:
    """Return the parameter along which poles move most, in parts of their distance from the axis."""

    def poles(middle: Array) -> Array:
        found = system.close_loop(loop.structure.real_matrix(middle)).poles
        return found[np.lexsort((found.real, found.imag))]

    moved = []
    for row in np.diag(cell.half):
        low, high = poles(cell.middle - row), poles(cell.middle + row)
        moved.append(np.abs((high - low) / np.minimum(low.real, high.real)).max(initial=0.0))
    return int(np.argmax(moved))


class _CellProof:
    """Bounds what sources leave in the members of a cell."""

    def __init__(self, case: BudgetCase, loop: UncertainLoop, system: Matrices, worst: WorstErrors, cell: Cell) -> None:
        self.case, self.loop, self.worst = case, loop, worst
        structure, half = loop.structure, np.ones(len(loop.structure.blocks))
        half[list(structure.real)] = cell.half
        scale = np.repeat(half, [block.columns for block in structure.blocks])
        about = system.close_loop(structure.real_matrix(cell.middle))
        self.system = balance(about.scale(np.append(scale, np.ones(len(system.C) - len(scale)))), structure)
        inside = [(delta - cell.middle) / cell.half for row in worst.deltas for delta in row]
        inside = [delta for delta in inside if (np.abs(delta) <= 1).all()]
        local = {tuple(delta.tolist()) for delta in [*inside, *with_ends(np.zeros(len(cell.half)))]}
        self._known = [self.system.close_loop(structure.real_matrix(delta)) for delta in local]

    def run(self) -> Array:
        """Return bounds of sizes (metrics, outputs, sources), infinite where nothing is proved."""
        bounds = np.full(self.worst.parts.shape, np.inf)
        if not self._is_stable():
            return bounds
        for o, k in np.ndindex(bounds.shape[1:]):
            source, column = self.case.acting[k].source, self.case.acting[k].column
            if source.kind == "noise":
                bounds[:, o, k] = np.sqrt(self._noise(k, o))
            elif source.kind == "harmonic":
                bounds[:, o, k] = [self._line(m, o, k) for m in range(len(bounds))]
            elif source.kind == "bias":
                constant = np.array([metric.kind in ("absolute", "mean") for metric in self.case.metrics])
                bounds[:, o, k] = constant * source.size * self._gain(o, column, (0.0, TYPED * self.loop.rate))
        return bounds * self.case.factors

    def _is_stable(self) -> bool:
        w, z = self.loop.structure.shape
        uncertain = self.system.part(np.arange(z), np.arange(w))
        return sweep(Centres(self.loop.structure), uncertain, 1.0, progress=False).proved

    def _gain(self, o: int, column: int, band: Band, lead: float = 0.0, tolerance: float = COARSE) -> float:
        """Return a bound of all members' gain in a band, of ``(1 + s / lead) G`` if there is a `lead` (rad/s)."""
        (w, z), n = self.loop.structure.shape, len(self.system.A)
        rows, columns = [*range(z), z + o], [*range(w), w + column]

        def seen(system: Matrices) -> Matrices:
            A, B, C, D = system.part(rows, columns)
            if not lead:
                return Matrices(A, B, C, D)
            after = np.eye(n) + A * (self.loop.rate / lead)
            C, D = np.vstack([C[:z], C[z:] @ after]), np.vstack([D[:z], C[z:] @ B * (self.loop.rate / lead)])
            return Matrices(A, B, C, D)

        low, high = (np.inf if end == self._end else self.loop.warp(end) for end in band)
        unit = 0.0
        for member in self._known:
            omega = frequencies(member.poles, np.linspace(low, min(high, 2 * low + 1), _PARTS), (low, high))
            unit = max(unit, *(abs(complex(seen(member).response(w)[z, -1])) for w in omega.tolist()))
        entries = np.abs(self.system.C[z + o]).max(initial=0.0) * np.abs(self.system.B[:, w + column]).max(initial=0.0)
        unit = max(unit, TYPED * float(entries))
        if not unit > 0:
            return np.inf
        skew = SkewSweep(self.loop.structure, seen(self.system), [DeltaBlock.full("performance")], unit)
        return unit * skew.run(True, tolerance, band=(low, high)).bound

    @property
    def _end(self) -> float:
        """The highest frequency (rad/s)."""
        return np.pi / self.case.period if self.case.period else np.inf

    # -- noise -----------------------------------------------------------------------------------------------------------------

    def _noise(self, k: int, o: int) -> Array:
        """Return bounds of variances (metrics) that a source leaves."""
        column, cuts = self.case.acting[k].column, self._cuts(k, o)
        return np.asarray(np.sum([self._share(k, o, column, band) for band in pairwise(cuts)], axis=0))

    def _cuts(self, k: int, o: int) -> list[float]:
        """Return ends of bands (rad/s), between which the highest spectrum of known members changes little for its share."""
        (label, source, column), (w, z) = self.case.acting[k], self.loop.structure.shape
        poles = self.loop.rate * np.concatenate([member.poles for member in self._known])
        sizes = np.minimum(np.abs(np.append(poles, self.loop.rate)), self._end)  # there may be no poles, or fast ones alone
        near = np.abs(poles.imag)[:, None] + np.abs(poles.real)[:, None] * np.array([-3, -2, -1, -0.5, 0, 0.5, 1, 2, 3])
        omega = np.concatenate([near.ravel(), np.geomspace(sizes.min() / 8, 8 * sizes.max(), _GRID)])
        omega = np.unique(omega[(omega > 0) & (omega < min(8 * sizes.max(), self._end))])
        warped = [self.loop.warp(each) for each in omega.tolist()]
        gains = [np.abs(member.part([z + o], [w + column]).responses(1j * np.array(warped)).ravel()) for member in self._known]
        spectrum = np.max(gains, axis=0) ** 2 * source.over(omega / (2 * np.pi), label)
        parts = [(0, len(omega) - 1)]
        while len(parts) < _BANDS - 2:
            parts.sort(key=lambda part: float(spectrum[part[0] : part[1] + 1].max() * (omega[part[1]] - omega[part[0]])))
            first, last = parts.pop()
            inner = np.arange(first + 1, last)
            if not len(inner):
                parts.append((first, last))
                break
            below = np.maximum.accumulate(spectrum[first : last + 1])[1:-1] * (omega[inner] - omega[first])
            above = np.maximum.accumulate(spectrum[first : last + 1][::-1])[::-1][1:-1] * (omega[last] - omega[inner])
            middle = int(inner[np.argmin(below + above)])
            parts += [(first, middle), (middle, last)]
        return [0.0, *sorted({float(omega[end]) for part in parts for end in part}), self._end]

    def _share(self, k: int, o: int, column: int, band: Band) -> Array:
        """Return bounds of the variances (metrics) from a band."""
        w, z = self.loop.structure.shape
        rolls_off = np.isinf(band[1]) and not self.system.D[z + o, [*range(w), w + column]].any()
        lead = band[0] if rolls_off else 0.0
        spectrum = self._spectrum(k, band, lead)
        return spectrum * self._gain(o, column, band, lead, _LOOSE) ** 2 if spectrum.any() else spectrum

    def _spectrum(self, k: int, band: Band, lead: float) -> Array:
        """Return the integrals (metrics) of a source's weighted spectrum over a band, less what a lead has taken."""
        (label, source, _), case = self.case.acting[k], self.case
        delays = [delay for metric in case.metrics for delay in (metric.window, metric.separation) if delay]
        places = np.array([*band, *(2 * np.pi * np.asarray(source.places))])
        far = np.isinf(band[1])
        last = last_panel(np.zeros(0), places[np.isfinite(places)], delays) if far else band[1]

        def density(omega: Array) -> Array:
            return (source.over(omega / (2 * np.pi), label) / (1 + (omega / lead) ** 2 if lead else 1.0))[:, None]

        poles = np.asarray(source.poles, dtype=complex)
        panels = Panels.of(density, poles, places, max(delays[:1], default=0.0), last, far)
        inside = panels.far | (panels.low >= band[0])
        return np.array([panels.variances(metric, case.period)[inside].sum() for metric in case.metrics])

    # -- lines -----------------------------------------------------------------------------------------------------------------

    def _line(self, m: int, o: int, k: int) -> float:
        """Return a bound of a line's amplitude: bands of its range are halved until it is near what was found."""
        (label, source, column), metric = self.case.acting[k], self.case.metrics[m]
        low, high = (2 * np.pi * end for end in source.band)

        def amplitude(omega: Array) -> Array:
            return source.over(omega / (2 * np.pi), label)

        enough, bound = self.worst.parts[m, o, k] * (1 + _NEAR), 0.0
        high = min(high * (1 + TYPED) + TYPED * self.loop.rate * (high == 0), self._end)
        bands, count = [(low * (1 - TYPED), high)], 0
        while bands:
            band, count = bands.pop(), count + 1
            omega = np.linspace(*band, _SEEN)
            weights, (peak, place) = metric.highest_weights(omega, self.case.period) ** 0.5, worst_line(amplitude, _NONE, band)
            size = max(float((weights * amplitude(omega)).max()), float(np.interp(place, omega, weights)) * peak)
            found = self._gain(o, column, band) * size if size else 0.0
            if found <= enough or count > _BANDS or band[1] <= band[0] * (1 + _NEAR / 4):
                bound = max(bound, found)
            else:
                middle = (band[0] + band[1]) / 2
                bands += [(band[0], middle), (middle, band[1])]
        return bound
