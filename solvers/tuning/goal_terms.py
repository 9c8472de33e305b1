"""Goals as functions of a controller's matrix S: their values for one closed loop, and the pieces near the highest value.

Every goal is one of three kinds of terms: the peak of a gain between channels (gains, shapes, margins, tracking, rejection),
the variance of outputs, and poles outside of a region.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from titop.blocks.basics.errors import Finding, ModelError, did_you_mean
from titop.blocks.basics.spatial import Array
from titop.blocks.basics.tolerances import CLOSE, SAME, TINY
from titop.solvers.linear.matrices import Matrices, side_by_side
from titop.solvers.linear.peaks import REFINED, Band, find_peaks, frequencies, largest_gains, passing_frequencies
from titop.solvers.signals.exported import REFERENCE, Signal
from titop.solvers.tuning.controller_blocks import ControllerBlocks
from titop.solvers.tuning.goals import Goal, Weight
from titop.solvers.tuning.tuned_loop import AugmentedPlant, ClosedLoop

#: Peaks of one term at most.
_MOST = 12
_NONE = np.zeros(0)
#: Frequencies of a grid that stands in for a certificate.
_FINE = 2000


class Slope(NamedTuple):
    """One value of a term, its gradients by S and by the logarithms of its scalings, its frequency, and its part."""

    value: float
    by_S: Array
    by_scalings: Array
    omega: float
    part: int = 0


class Scan(NamedTuple):
    """What is known of a term after a first look: its highest value so far, and how to find all near the highest of all."""

    highest: float
    pieces: Callable[[float, float], list[Slope]]


class GoalTerm:
    """A function of a closed loop: all that is known of it, exactly, unless a subclass has more to say."""

    scalings: int = 0

    def scan(self, loop: ClosedLoop, known: Array, scalings: Array) -> Scan:
        """Return a first look."""
        raise NotImplementedError

    def missed(self, loop: ClosedLoop, value: float, scalings: Array) -> Array:
        """Return frequencies of the map at which it is above a value."""
        return _NONE

    def highest_at(self, loop: ClosedLoop, omega: Array, scalings: Array) -> float:
        """Return its highest value at frequencies of the map, none of what does not depend on these."""
        return 0.0

    def smooth(self, plant: AugmentedPlant) -> GoalTerm | None:
        """Return a smooth function that stands in for it, None where there is none."""
        return None


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
class PeakTerm(GoalTerm):
    """The highest gain between channels: ``weight / bound σ(left (G + offset) right)``.

    - `band` (rad/s);
    - `weight`: none of one that is a number: the bound is less by that;
    - `inverse`: whether one over the weight is meant;
    - `offset`: added to the diagonal;
    - `scalings`: places that are changed independently: all but the first have a scaling of their own, which is sought along.
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
        """Return factors of rows and of columns."""
        left = np.ones(len(self.rows))
        if self.scalings:
            left[1:] = np.exp(scalings)
            return left, 1 / left
        return left, np.ones(len(self.columns))

    def _weigh(self, gains: Array, omega: Array) -> Array:
        """Return gains (n) times the size of the weight at frequencies of the map."""
        if self.weight is None:
            return gains
        sizes = self.weight.sizes(self.time.frequencies(omega))
        return gains / np.maximum(sizes, TINY) if self.inverse else gains * sizes

    @property
    def warped(self) -> Band:
        """The band in the map, rad/s."""
        return self.time.warp(self.band[0]), self.time.warp(self.band[1])

    @cached_property
    def _places(self) -> Array:
        """Frequencies of the map near which the weight may make a peak."""
        if self.weight is None:
            return _NONE
        every = np.array([self.time.warp(omega) for omega in self.weight.places.tolist()])
        return every[np.isfinite(every)]

    def scan(self, loop: ClosedLoop, known: Array, scalings: Array) -> Scan:
        """Return what a grid shows, and how to refine it."""
        modal, (left, right), band = loop.modal, self.sides(scalings), self.warped
        if modal is None:
            return Scan(np.inf, lambda highest, near: [])
        sides = left[:, None] * right / self.bound
        constant = loop.system.D[self.rows[:, None], self.columns]
        if self.offset:
            constant = constant + self.offset * np.eye(len(constant))
        responses, least = modal.responses(self.rows, self.columns, constant, sides), min(sides.shape)

        def gain(omega: Array) -> Array:
            return self._weigh(largest_gains(responses(omega)), omega)

        omega = frequencies(modal.poles, np.concatenate([known, self._places]), band)
        matrices = responses(omega)
        norms = self._weigh(np.sqrt((np.abs(matrices) ** 2).sum(axis=(1, 2))), omega)
        norms[~np.isfinite(norms)] = 0.0
        bounds = norms / np.sqrt(least)
        if least > 1 and len(omega):  # where the norm of all entries leaves it open
            first = [int(norms.argmax())]
            likely = norms >= REFINED * self._weigh(largest_gains(matrices[first]), omega[first])
            bounds[likely] = self._weigh(largest_gains(matrices[likely]), omega[likely])
        last = 0.0
        if np.isinf(band[1]) and constant.any():
            last = float(self._weigh(largest_gains((constant * sides)[None]), np.array([np.inf]))[0])

        def pieces(highest: float, near: float) -> list[Slope]:
            places, _ = find_peaks(gain, bounds, omega, highest, near, _MOST)
            return self._slopes(loop, np.append(places, np.inf) if last and last >= near * highest else places, left, right)

        return Scan(max(float(bounds.max(initial=0.0)), last), pieces)

    def _slopes(self, loop: ClosedLoop, omega: Array, left: Array, right: Array) -> list[Slope]:
        if not len(omega):
            return []
        G, by_left, by_right = loop.responses(omega, self.rows, self.columns)
        if self.offset:
            G = G + self.offset * np.eye(len(self.rows))
        factors = self._weigh(np.full(len(omega), 1 / self.bound), omega)
        u, sizes, v = np.linalg.svd(left[:, None] * G * right)
        u, v = u[:, :, 0], v[:, 0]
        first, last = u.conj() * left * factors[:, None], right * v.conj()
        by_S = loop.slopes((first[:, None] @ by_left)[:, 0], (by_right @ last[:, :, None])[:, :, 0]).real
        values = sizes[:, 0] * factors
        shares = values[:, None] * (np.abs(u) ** 2 - np.abs(v) ** 2)[:, 1:] if self.scalings else np.zeros((len(omega), 0))
        return [Slope(*one) for one in zip(values.tolist(), by_S, shares, omega.tolist(), strict=True)]

    def highest_at(self, loop: ClosedLoop, omega: Array, scalings: Array) -> float:
        """Return the highest gain at frequencies of the map."""
        left, right = self.sides(scalings)
        G, _, _ = loop.responses(omega, self.rows, self.columns)
        G = G + self.offset * np.eye(*G.shape[1:])
        return float(self._weigh(largest_gains(left[:, None] / self.bound * G * right), omega).max())

    def missed(self, loop: ClosedLoop, value: float, scalings: Array) -> Array:
        """Return frequencies of the map at which the gain is above a value, by the certificate."""
        left, right = self.sides(scalings)
        system = loop.system.part(self.rows, self.columns)
        if self.offset:
            system = Matrices(system.A, system.B, system.C, system.D + self.offset * np.eye(len(self.rows)))
        system = system.scale(left / self.bound, right)
        if self.weight is not None:
            weight = self.weight.inverse if self.inverse else self.weight.system
            if weight is None or self.time.period:
                return self._above(system, value * (1 + SAME), loop.poles)
            system = system.in_series(side_by_side([weight] * len(self.rows)))
        return passing_frequencies(system, value * (1 + SAME), self.warped)

    def _above(self, system: Matrices, value: float, poles: Array) -> Array:
        """Return the peaks above a value that a fine grid shows of a weighted gain: the weight is no system of the map."""
        sizes = np.abs(poles)
        fastest = float(sizes.max(initial=0.0)) or 1.0
        slowest = max(float(sizes.min(initial=fastest)), CLOSE * fastest)
        fine = np.geomspace(slowest / 10, fastest * 10, _FINE)
        omega = frequencies(poles, np.concatenate([fine, self._places]), self.warped)

        def gain(places: Array) -> Array:
            return self._weigh(largest_gains(system.responses(1j * places)), places)

        places, heights = find_peaks(gain, gain(omega), omega, value, REFINED, _MOST)
        return places[heights > value]

    def smooth(self, plant: AugmentedPlant) -> GoalTerm | None:
        """Return the H2 norm of these channels, where no entry of D can make it infinite."""
        by_S = plant.D12[self.rows].any() and plant.D21[:, self.columns].any()
        if self.offset or by_S or plant.D11[np.ix_(self.rows, self.columns)].any():
            return None
        return VarianceTerm(self.rows, self.columns, self.bound, self.time)


@dataclass(frozen=True)
class VarianceTerm(GoalTerm):
    """The H2 norm between channels, over a bound."""

    rows: Array
    columns: Array
    bound: float
    time: Time

    def scan(self, loop: ClosedLoop, known: Array, scalings: Array) -> Scan:
        """Return the norm, with its gradient."""
        if not self.time.period and loop.system.D[self.rows[:, None], self.columns].any():
            return Scan(np.inf, lambda highest, near: [])
        left, right = np.full(len(self.rows), 1 / self.bound), np.ones(len(self.columns))
        found = loop.variance(self.columns, self.rows, left, right, self.time.period)
        if found is None or not np.isfinite(found[0]):
            return Scan(np.inf, lambda highest, near: [])
        value = float(np.sqrt(max(found[0], 0.0)))
        slope = Slope(value, found[1] / (2 * max(value, TINY)), np.zeros(0), 0.0)
        return Scan(value, lambda highest, near: [slope] if value >= near * highest else [])

    def smooth(self, plant: AugmentedPlant) -> GoalTerm | None:
        """Return this one."""
        return self


@dataclass(frozen=True)
class PoleTerm(GoalTerm):
    """Poles outside of a region: the highest of ``decay / -Re``, ``damping |pole| / -Re`` and ``|pole| / fastest``."""

    decay: float
    damping: float
    fastest: float
    time: Time

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
                result.append(Slope(value, change, np.zeros(0), float(sizes[j]), k))
            return result

        return Scan(float(rows.max()), pieces)


# -- from goals to terms -----------------------------------------------------------------------------------------------------


class GoalChannels:
    """Rows and columns of an augmented plant by names of signals: `inputs` and `outputs` of the plant."""

    def __init__(self, inputs: Sequence[Signal], outputs: Sequence[Signal], blocks: ControllerBlocks) -> None:
        m, p = len(inputs), len(outputs)
        disturbance, noise, reference = _places(inputs, 0), _places(outputs, m), _places(blocks.references, m + p)
        output, measured = _places(outputs, 0), _places(outputs, p)
        command, whole = _places(inputs, 2 * p), _places(inputs, 2 * p + m)
        self._led = {**{name: (column, 1.0) for name, column in noise.items()},
                     **{name: (column, -1.0) for name, column in reference.items()}}  # fmt: skip
        self._columns = disturbance | noise | {f"{REFERENCE}{name}": column for name, (column, _) in self._led.items()}
        self._output, self._rows = output, command | output
        taken = [signal for signal in outputs if signal.path in blocks.taken] + blocks.references
        self._taken = list(dict.fromkeys(name for signal in taken for name in (signal.path, signal.name)))
        self._places = {name: (row, (disturbance | noise)[name]) for name, row in (whole | measured).items()}

    def inputs(self, names: Sequence[str]) -> Array:
        """Return columns of what goals name as inputs."""
        return np.array([self._columns[name] for name in spread_names("input of a goal", names, self._columns)], dtype=int)

    def outputs(self, names: Sequence[str]) -> Array:
        """Return rows of what goals name as outputs."""
        return np.array([self._rows[name] for name in spread_names("output of a goal", names, self._rows)], dtype=int)

    def places(self, names: Sequence[str]) -> tuple[Array, Array]:
        """Return rows and columns of places in loops: from what is added there to all that is there."""
        pairs = [self._places[name] for name in spread_names("at", names, self._places)]
        return np.array([row for row, _ in pairs], dtype=int), np.array([column for _, column in pairs], dtype=int)

    def references(self, names: Sequence[str]) -> tuple[Array, Array, float]:
        """Return rows of outputs, columns that lead them, and what added to these responses makes them errors.

        The column of a reference is that of the blocks that take it (the error is the response less one), otherwise that of
        noise on the measurement, a reference's negative.
        """
        names = spread_names("output of a goal", names, self._output)
        rows = np.array([self._output[name] for name in names], dtype=int)
        for name in names:
            if name not in self._taken:
                expected = f"an output that blocks take, one of {', '.join(self._taken)}"
                raise ModelError(Finding("not-measured", "tracking", name, expected, "let a block take it, or its reference"))
        columns, offsets = zip(*(self._led[name] for name in names), strict=True)
        if len(set(offsets)) > 1:
            expected = "references of all outputs, or of none"
            raise ModelError(Finding("mixed-references", "tracking", list(names), expected, "give them as goals of their own"))
        return rows, np.array(columns, dtype=int), offsets[0]


def _places(signals: Sequence[Signal], first: int) -> dict[str, int]:
    return {name: first + k for k, signal in enumerate(signals) for name in (signal.name, signal.path)}


def spread_names(where: str, names: Sequence[str], known: Collection[str]) -> list[str]:
    """Return names of signals, those of a vector's entries in place of its own.

    Raises `ModelError` for unknown ones.
    """
    result: list[str] = []
    for name in names:
        entries = [name] if name in known else [other for other in known if other.startswith(f"{name}[")]
        if not entries:
            raise ModelError(Finding("unknown-signal", where, name, "a signal of the plant", did_you_mean(name, list(known))))
        result += entries
    return result


def read_terms(goal: Goal, channels: GoalChannels, time: Time) -> list[GoalTerm]:
    """Return the terms of a goal. Raises `ModelError` for signals that are not there."""
    numbers = goal.numbers
    if time.period and goal.band[0] >= np.pi / time.period:
        expected = f"frequencies below that of Nyquist, {np.pi / time.period:.4g} rad/s"
        raise ModelError(Finding("bad-value", "band", goal.band, expected, "a sampled loop has no gain beyond"))
    if goal.kind == "gain":
        rows, columns = channels.outputs(goal.outputs), channels.inputs(goal.inputs)
        return [PeakTerm(rows, columns, *_weight_and_bound(goal), goal.band, time)]
    if goal.kind == "h2":
        return [VarianceTerm(channels.outputs(goal.outputs), channels.inputs(goal.inputs), goal.bound, time)]
    if goal.kind == "poles":
        return [PoleTerm(numbers.get("decay", 0.0), numbers.get("damping", 0.0), numbers.get("fastest", np.inf), time)]
    if goal.kind == "tracking":
        return _tracking(goal, channels, time)
    rows, columns = channels.places(goal.at)

    def peak(inverse: bool = False, offset: float = 0.0) -> PeakTerm:
        return PeakTerm(rows, columns, *_weight_and_bound(goal, inverse), goal.band, time, offset, len(rows) - 1)

    if goal.kind == "margins":
        return [peak(offset=(numbers["skew"] - 1) / 2)]
    if goal.kind == "rejection":
        return [peak()]
    return [peak(), peak(inverse=True, offset=-1.0)]


def _weight_and_bound(goal: Goal, inverse: bool = False) -> tuple[Weight | None, bool, float]:
    """Return the weight of a goal, whether one over it is meant, and the bound, by which a weight that is a number is meant."""
    if goal.weight is None or not goal.weight.is_constant:
        return goal.weight, inverse, goal.bound
    size = float(goal.weight.sizes(np.zeros(1))[0])
    return None, False, goal.bound * size if inverse else goal.bound / size


def _tracking(goal: Goal, channels: GoalChannels, time: Time) -> list[GoalTerm]:
    """Return the terms of tracking: the error in parts of what is allowed, and the response where an overshoot is limited."""
    numbers = goal.numbers
    crossing = 2 / numbers["time"]
    slow, high = crossing * numbers["error"], 1 / numbers["peak"]
    weight = Weight(Matrices(np.array([[-slow]]), np.array([[1.0]]), np.array([[crossing - slow * high]]), np.array([[high]])))
    rows, columns, offset = channels.references(goal.at)
    terms: list[GoalTerm] = [PeakTerm(rows, columns, weight, False, 1.0, goal.band, time, offset=offset)]
    if "overshoot" in numbers:
        logarithm = np.log(numbers["overshoot"])
        damping = -logarithm / np.hypot(np.pi, logarithm)
        highest = 1 / (2 * damping * np.sqrt(1 - damping**2)) if damping < np.sqrt(0.5) else 1.0
        terms.append(PeakTerm(rows, columns, None, False, float(highest), goal.band, time))
    return terms
