"""Goals as functions of a controller's matrix S: their values for one closed loop, and the pieces near the highest value.

Every goal is one of three kinds of terms: the peak of a gain between some channels (gains, shapes, margins, tracking, rejection),
the variance of outputs, and poles outside of a region.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np

from titop.blocks.basics.errors import Finding, ModelError, did_you_mean
from titop.blocks.basics.spatial import Array
from titop.blocks.basics.tolerances import SAME, TINY
from titop.solvers.signals.exported import REFERENCE, Signal
from titop.solvers.tuning.controller_blocks import ControllerBlocks
from titop.solvers.tuning.goals import Goal, Weight
from titop.solvers.tuning.peaks import Band, find_peaks, frequencies, largest_gains, passing_frequencies
from titop.solvers.tuning.tuned_loop import AugmentedPlant, ClosedLoop

#: Peaks of one term at most.
_MOST = 12


class Slope(NamedTuple):
    """One value of a term, and its gradient with respect to S and to the logarithms of the term's scalings, and its frequency."""

    value: float
    by_S: Array
    by_scalings: Array
    omega: float


class Scan(NamedTuple):
    """What is known of a term after a first look: its highest value so far, and how to find all near the highest of all."""

    highest: float
    pieces: Callable[[float, float], list[Slope]]


class Term(Protocol):
    """A function of a closed loop."""

    scalings: int

    def scan(self, loop: ClosedLoop, known: Array, scalings: Array) -> Scan: ...
    def missed(self, loop: ClosedLoop, value: float, scalings: Array) -> Array: ...
    def smooth(self, plant: AugmentedPlant) -> Term | None: ...


class Time(NamedTuple):
    """The time of a loop: its period (s), zero in continuous time. Sampled loops are seen by the bilinear map."""

    period: float

    def warp(self, omega: float) -> float:
        """Return the frequency in the map for one in rad/s."""
        if not self.period:
            return omega
        if omega * self.period >= np.pi:
            return np.inf
        return float(2 / self.period * np.tan(omega * self.period / 2))

    def frequencies(self, omega: Array) -> Array:
        """Return frequencies (rad/s) of those in the map."""
        return 2 / self.period * np.arctan(omega * self.period / 2) if self.period else omega

    def poles(self, poles: Array) -> tuple[Array, Array]:
        """Return poles (rad/s) of those in the map, and their derivatives."""
        if not self.period:
            return poles, np.ones(len(poles))
        half = poles * self.period / 2
        return 2 / self.period * np.arctanh(half), 1 / (1 - half**2)


@dataclass(frozen=True)
class PeakTerm:
    """The highest gain between channels: ``weight / bound σ(left (G + offset) right)``.

    Attributes
    ----------
    rows, columns : array of int
    weight : Weight or None
    inverse : bool
        Whether one over the weight is meant.
    bound : float
    band : (float, float), rad/s
    time : Time
    offset : float
        Added to the diagonal.
    scalings : int
        Places that are changed independently: all but the first have a scaling of their own, which is sought along.
    """

    rows: Array
    columns: Array
    weight: Weight | None
    inverse: bool
    bound: float
    band: Band
    time: Time
    offset: float = 0.0
    scalings: int = 0

    def sides(self, scalings: Array) -> tuple[Array, Array]:
        left = np.ones(len(self.rows))
        if self.scalings:
            left[1:] = np.exp(scalings)
            return left, 1 / left
        return left, np.ones(len(self.columns))

    def _factors(self, omega: Array) -> Array:
        """Return the factors (n) of gains at frequencies of the map."""
        if self.weight is None:
            return np.full(len(omega), 1 / self.bound)
        sizes = self.weight.sizes(self.time.frequencies(omega))
        return 1 / np.maximum(sizes, TINY) / self.bound if self.inverse else sizes / self.bound

    @property
    def _warped(self) -> Band:
        return self.time.warp(self.band[0]), self.time.warp(self.band[1])

    def scan(self, loop: ClosedLoop, known: Array, scalings: Array) -> Scan:
        """Return what a grid shows, and how to refine it."""
        modal, (left, right), band = loop.modal, self.sides(scalings), self._warped
        offset = self.offset * np.eye(len(self.rows)) if self.offset else 0.0
        constant = loop.system.D[np.ix_(self.rows, self.columns)] + offset
        if modal is None:
            return Scan(np.inf, lambda highest, near: [])

        def responses(omega: Array) -> Array:
            plain = modal.responses(omega, self.rows, self.columns) + constant
            return left[:, None] * plain * right * self._factors(omega)[:, None, None]

        def gain(omega: Array) -> Array:
            return largest_gains(responses(omega))

        omega = frequencies(modal.poles, known, band)
        matrices = responses(omega)
        root = np.sqrt(min(len(self.rows), len(self.columns)))
        bounds = np.sqrt((np.abs(matrices) ** 2).sum(axis=(1, 2)))
        bounds[~np.isfinite(bounds)] = 0.0
        if root > 1:
            likely = bounds >= 0.7 * bounds.max(initial=0.0) / root
            bounds /= root
            bounds[likely] = largest_gains(matrices[likely])
        at_end = np.inf if np.isinf(band[1]) else None
        last = 0.0
        if at_end is not None:
            far = left[:, None] * constant * right * self._factors(np.array([np.inf]))[0]
            last = float(largest_gains(far[None])[0])

        def pieces(highest: float, near: float) -> list[Slope]:
            places, _ = find_peaks(gain, bounds, omega, highest, near, _MOST)
            every = [*places.tolist(), np.inf] if last >= near * highest else places.tolist()
            return [self._slope(loop, place, left, right) for place in every]

        return Scan(max(float(bounds.max(initial=0.0)), last), pieces)

    def _slope(self, loop: ClosedLoop, omega: float, left: Array, right: Array) -> Slope:
        """Return the exact gain at a frequency, with its gradient."""
        G, by_left, by_right = loop.response(omega, self.rows, self.columns)
        if self.offset:
            G = G + self.offset * np.eye(len(G))
        factor = float(self._factors(np.array([omega]))[0])
        u, sizes, v = np.linalg.svd(left[:, None] * G * right * factor)
        first, last = u[:, 0].conj() * left * factor, right * v[0].conj()
        by_S = np.real(loop.slope(first @ by_left, by_right @ last))
        by_scalings = sizes[0] * (np.abs(u[:, 0]) ** 2 - np.abs(v[0]) ** 2)[1:] if self.scalings else np.zeros(0)
        return Slope(float(sizes[0]), by_S, by_scalings, omega)

    def missed(self, loop: ClosedLoop, value: float, scalings: Array) -> Array:
        """Return frequencies of the map at which the gain is above a value, by the certificate."""
        left, right = self.sides(scalings)
        system = loop.system.part(self.rows, self.columns)
        if self.offset:
            system = type(system)(system.A, system.B, system.C, system.D + self.offset * np.eye(len(self.rows)))
        system = system.scale(left / self.bound, right)
        if self.weight is None or self.weight.is_constant or (not self.inverse and not self.time.period):
            if self.weight is not None and self.weight.is_constant:
                size = abs(float(self.weight.system.D[0, 0]))
                system = system.scale(np.full(len(self.rows), 1 / size if self.inverse else size))
            elif self.weight is not None:
                for _ in self.rows[:1]:
                    system = system.in_series(_side(self.weight, len(self.rows)))
            return passing_frequencies(system, value * (1 + SAME), self._warped)
        omega = frequencies(loop.poles, np.geomspace(*_span(loop.poles), 2000), self._warped)
        inner = largest_gains(system.responses(1j * omega)) * self._factors(omega) * self.bound
        return omega[inner > value * (1 + SAME)]

    def smooth(self, plant: AugmentedPlant) -> Term | None:
        """Return the H2 norm of these channels, where no entry of D can make it infinite."""
        by_S = plant.D12[self.rows].any() and plant.D21[:, self.columns].any()
        if self.offset or by_S or plant.D11[np.ix_(self.rows, self.columns)].any():
            return None
        return VarianceTerm(self.rows, self.columns, self.bound, self.time)


def _side(weight: Weight, count: int):  # type: ignore[no-untyped-def]
    from titop.solvers.linear.matrices import side_by_side

    return side_by_side([weight.system] * count)


def _span(poles: Array) -> tuple[float, float]:
    sizes = np.abs(poles)
    return float(max(sizes.min(initial=1.0), 1e-4 * sizes.max(initial=1.0))) / 10, float(sizes.max(initial=1.0)) * 10


@dataclass(frozen=True)
class VarianceTerm:
    """The H2 norm between channels, over a bound."""

    rows: Array
    columns: Array
    bound: float
    time: Time
    scalings: int = 0

    def scan(self, loop: ClosedLoop, known: Array, scalings: Array) -> Scan:
        """Return the norm, with its gradient."""
        left, right = np.full(len(self.rows), 1 / self.bound), np.ones(len(self.columns))
        found = loop.variance(self.columns, self.rows, left, right, self.time.period)
        if found is None or not np.isfinite(found[0]):
            return Scan(np.inf, lambda highest, near: [])
        value = float(np.sqrt(max(found[0], 0.0)))
        slope = Slope(value, found[1] / (2 * max(value, TINY)), np.zeros(0), 0.0)
        return Scan(value, lambda highest, near: [slope] if value >= near * highest else [])

    def missed(self, loop: ClosedLoop, value: float, scalings: Array) -> Array:
        """Return no frequencies: the norm is exact."""
        return np.zeros(0)

    def smooth(self, plant: AugmentedPlant) -> Term | None:
        """Return this one."""
        return self


@dataclass(frozen=True)
class PoleTerm:
    """Poles outside of a region: the highest of ``decay / -Re``, ``damping |pole| / -Re`` and ``|pole| / fastest``."""

    decay: float
    damping: float
    fastest: float
    time: Time
    scalings: int = 0

    def scan(self, loop: ClosedLoop, known: Array, scalings: Array) -> Scan:
        """Return the values of all poles, and gradients of the highest."""
        if not len(loop.poles):
            return Scan(0.0, lambda highest, near: [])
        poles, bends = self.time.poles(loop.poles)
        with np.errstate(divide="ignore", invalid="ignore"):
            speeds = np.where(poles.real < 0, -poles.real, 0.0)
            sizes = np.abs(poles)
            rows = np.array([self.decay / speeds, self.damping * sizes / speeds, sizes / self.fastest])
        rows = np.where(np.isnan(rows), 0.0, rows)
        rows[:, poles.imag < 0] = 0.0

        def pieces(highest: float, near: float) -> list[Slope]:
            chosen = [(k, j) for k, j in np.argwhere(rows >= near * highest) if np.isfinite(rows[k, j]) and rows[k, j]]
            chosen = sorted(chosen, key=lambda at: -rows[tuple(at)])[:_MOST]
            slopes = loop.pole_slopes([j for _, j in chosen])
            result = []
            for (k, j), slope in zip(chosen, slopes, strict=True):
                pole, by_S = poles[j], bends[j] * slope
                by_real, by_size = np.real(by_S), np.real(np.conj(pole) * by_S) / max(abs(pole), TINY)
                value = float(rows[k, j])
                change = (
                    value * by_real / speeds[j],
                    value * (by_size / max(sizes[j], TINY) + by_real / max(speeds[j], TINY)),
                    by_size / self.fastest,
                )[k]
                result.append(Slope(value, change, np.zeros(0), float(pole.imag)))
            return result

        return Scan(float(rows.max()), pieces)

    def missed(self, loop: ClosedLoop, value: float, scalings: Array) -> Array:
        """Return no frequencies: poles are exact."""
        return np.zeros(0)

    def smooth(self, plant: AugmentedPlant) -> Term | None:
        """Return nothing: it is not smooth."""
        return None


# -- from goals to terms -----------------------------------------------------------------------------------------------------


class Channels:
    """Rows and columns of an augmented plant by names of signals.

    Parameters
    ----------
    channels : (int, int)
        Sizes of w and z of an uncertainty.
    inputs, outputs : sequence of Signal
        Of the plant.
    blocks : ControllerBlocks
    """

    def __init__(
        self, channels: tuple[int, int], inputs: Sequence[Signal], outputs: Sequence[Signal], blocks: ControllerBlocks
    ) -> None:
        w, z = channels
        m, p = len(inputs), len(outputs)
        self._inputs, self._outputs = _places(inputs), _places(outputs)
        self._first = {"disturbance": w, "noise": w + m, "reference": w + m + p}
        self._rows = {"output": z, "measured": z + p, "given": z + 2 * p, "whole": z + 2 * p + m}
        self._references = {name: k for k, name in enumerate(blocks.references)}
        self._taken = blocks.taken

    def inputs(self, names: Sequence[str]) -> Array:
        """Return columns of what goals name as inputs."""
        return np.array([self._input(name) for name in names], dtype=int)

    def outputs(self, names: Sequence[str]) -> Array:
        """Return rows of what goals name as outputs."""
        known = {
            **{n: self._rows["given"] + k for n, k in self._inputs.items()},
            **{n: self._rows["output"] + k for n, k in self._outputs.items()},
        }
        return np.array([_find("output of a goal", name, known) for name in names], dtype=int)

    def places(self, names: Sequence[str]) -> tuple[Array, Array]:
        """Return rows and columns of places in loops: from what is added there to all that is there."""
        known = {**{n: (self._rows["whole"] + k, self._first["disturbance"] + k) for n, k in self._inputs.items()},
                 **{n: (self._rows["measured"] + k, self._first["noise"] + k) for n, k in self._outputs.items()}}  # fmt: skip
        found = [_find("at", name, known) for name in names]
        return np.array([row for row, _ in found], dtype=int), np.array([column for _, column in found], dtype=int)

    def reference(self, name: str) -> tuple[int, int, float]:
        """Return the column from which an output is led, its row, and the sign of the first: of its reference or its noise."""
        row = self._rows["output"] + _find("output of a goal", name, self._outputs)
        path = next((path for path in self._references if _places([Signal(path, "")]).keys() & {name}), None)
        if path is not None:
            return self._first["reference"] + self._references[path], row, 1.0
        return self._first["noise"] + self._outputs[name], row, -1.0

    def _input(self, name: str) -> int:
        known = {
            **{n: self._first["disturbance"] + k for n, k in self._inputs.items()},
            **{n: self._first["noise"] + k for n, k in self._outputs.items()},
        }
        known.update({f"{REFERENCE}{n}": self._first["reference"] + k for n, k in self._references.items()})
        return int(_find("input of a goal", name, known))


def _places(signals: Sequence[Signal]) -> dict[str, int]:
    return {name: k for k, signal in enumerate(signals) for name in (signal.name, signal.path)}


def _find(where, name, known):  # type: ignore[no-untyped-def]
    if name not in known:
        raise ModelError(Finding("unknown-signal", where, name, "a signal of the plant", did_you_mean(name, list(known))))
    return known[name]


def read_terms(goal: Goal, channels: Channels, time: Time) -> list[Term]:
    """Return the terms of a goal.

    Raises
    ------
    ModelError
        For signals that are not there.
    """
    numbers = dict(goal.numbers)

    def peak(
        rows: Array, columns: Array, weight: Weight | None = None, inverse: bool = False, offset: float = 0.0, many: bool = True
    ) -> PeakTerm:
        scalings = len(rows) - 1 if many and len(rows) > 1 else 0
        return PeakTerm(rows, columns, weight, inverse, goal.bound, goal.band, time, offset, scalings)

    if goal.kind == "gain":
        return [peak(channels.outputs(goal.outputs), channels.inputs(goal.inputs), goal.weight, many=False)]
    if goal.kind == "h2":
        return [VarianceTerm(channels.outputs(goal.outputs), channels.inputs(goal.inputs), goal.bound, time)]
    if goal.kind == "poles":
        return [PoleTerm(numbers.get("decay", 0.0), numbers.get("damping", 0.0), numbers.get("fastest", np.inf), time)]
    if goal.kind == "tracking":
        return _tracking(goal, channels, time, numbers)
    rows, columns = channels.places(goal.at)
    if goal.kind == "margins":
        return [peak(rows, columns, offset=(numbers["skew"] - 1) / 2)]
    if goal.kind == "rejection":
        return [peak(rows, columns, goal.weight)]
    return [peak(rows, columns, goal.weight), peak(rows, columns, goal.weight, inverse=True, offset=-1.0)]


def _tracking(goal: Goal, channels: Channels, time: Time, numbers: dict[str, float]) -> list[Term]:
    """Return the terms of tracking: the error, ``r - y``, is that of noise on the measurement."""
    from titop.solvers.linear.matrices import Matrices

    crossing = 2 / numbers["time"]
    slow, high = crossing * numbers["error"], 1 / numbers["peak"]
    weight = Weight(Matrices(np.array([[-slow]]), np.array([[1.0]]), np.array([[crossing - slow * high]]), np.array([[high]])))
    rows, columns, terms = [], [], []
    for name in goal.at:
        column, row, sign = channels.reference(name)
        rows.append(row)
        columns.append(column)
    terms.append(
        PeakTerm(np.array(rows), np.array(columns), weight, False, 1.0, goal.band, time, offset=sign_of(channels, goal))
    )
    if "overshoot" in numbers:
        logarithm = np.log(numbers["overshoot"])
        damping = -logarithm / np.hypot(np.pi, logarithm)
        highest = 1 / (2 * damping * np.sqrt(1 - damping**2)) if damping < np.sqrt(0.5) else 1.0
        terms.append(PeakTerm(np.array(rows), np.array(columns), None, False, float(highest), goal.band, time))
    return list(terms)


def sign_of(channels: Channels, goal: Goal) -> float:
    """Return what makes an error of the response to a reference (-1), or to noise on the measurement (+1)."""
    signs = {channels.reference(name)[2] for name in goal.at}
    if len(signs) > 1:
        expected = "references of all outputs, or of none"
        raise ModelError(Finding("mixed-references", "tracking", goal.at, expected, "give them as goals of their own"))
    return -signs.pop()
