"""All that is asked of a loop, evaluated for one system."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, NamedTuple

import numpy as np

from titop.blocks.basics.spatial import Array
from titop.solvers.linear.matrices import Matrices
from titop.solvers.pointing.error_sources import ErrorSource
from titop.solvers.pointing.error_sums import Law, correlate, in_sigmas, quantile
from titop.solvers.pointing.spectral_errors import Metric, Panels, last_panel, responder, worst_line
from titop.solvers.pointing.transient_errors import worst_in_time

#: Over what a level of confidence counts.
Interpretation = Literal["temporal", "ensemble", "mixed"]


class ActingSource(NamedTuple):
    """A source, its label, and the column of the system's inputs that it acts on."""

    label: str
    source: ErrorSource
    column: int


class Sizes(NamedTuple):
    """Errors of one system.

    - `parts` (metrics, outputs, sources): standard deviations of noise, amplitudes of lines, bounds and sizes of others;
    - `bands` (metrics, outputs, bands): variances of noise and lines there;
    - `lines` (metrics, outputs, sources), Hz: where lines are worst, not a number for others;
    - `density`: ends of panels (n, Hz) and what noise has below each (outputs, n), a variance.
    """

    parts: Array
    bands: Array
    lines: Array
    density: tuple[Array, Array]


@dataclass(frozen=True)
class BudgetCase:
    """What is asked: of which sources, metrics and bands (edges in Hz), and how errors are combined."""

    acting: tuple[ActingSource, ...]
    metrics: tuple[Metric, ...]
    edges: tuple[float, ...]
    period: float
    confidence: float
    interpretation: Interpretation
    simplified: bool
    groups: tuple[tuple[int, ...], ...]

    @cached_property
    def laws(self) -> tuple[Law, ...]:
        """How the error of each source is distributed."""
        return tuple(self._law(each.source) for each in self.acting)

    def _law(self, source: ErrorSource) -> Law:
        """Return the distribution of a source's errors: what is worst over time, or over the ensemble, is fixed."""
        in_time: Law = "fixed" if self.interpretation == "ensemble" else "gaussian" if source.kind == "noise" else "arcsine"
        if source.kind in ("noise", "harmonic"):
            return in_time
        return "fixed" if self.interpretation == "temporal" or source.kind != "bias" else source.distribution

    @cached_property
    def factors(self) -> Array:
        """What a size is multiplied by (sources): those Gaussian ones that count as fixed have no bound but their quantile."""
        gaussian = [a.source.kind == "noise" or a.source.distribution == "gaussian" for a in self.acting]
        fixed = [law == "fixed" for law in self.laws]
        return np.where(np.logical_and(gaussian, fixed), in_sigmas(self.confidence), 1.0)

    # -- sizes -----------------------------------------------------------------------------------------------------------------

    def evaluate(self, system: Matrices) -> Sizes:
        """Return the errors of a stable system."""
        respond, poles = responder(system, self.period), system.poles_in_time(self.period)
        shape = len(self.metrics), len(system.C), len(self.acting)
        parts, lines = np.zeros(shape), np.full(shape, np.nan)
        bands = np.zeros((*shape[:2], len(self.edges) + 1))
        density = self._add_noise(system, poles, parts, bands)
        for k, (label, source, column) in enumerate(self.acting):
            if source.kind == "harmonic":
                self._add_line(respond, poles, k, parts, lines)
                for m, o in np.ndindex(shape[:2]):
                    bands[m, o, np.searchsorted(self.edges, lines[m, o, k], side="right")] += parts[m, o, k] ** 2 / 2
            elif source.kind == "bias":
                gain = np.abs(respond(np.zeros(1))[0, :, column])
                constant = [metric.kind in ("absolute", "mean") for metric in self.metrics]
                parts[:, :, k] = source.size * np.outer(constant, gain)
            elif source.kind in ("transient", "bounded"):
                one = system.part(np.arange(shape[1]), [column])
                parts[:, :, k] = worst_in_time(label, source, one, self.period, self.metrics)
        return Sizes(parts * self.factors, bands, lines, density)

    def _add_noise(self, system: Matrices, poles: Array, parts: Array, bands: Array) -> tuple[Array, Array]:
        """Add standard deviations and variances by band; return the spectrum's integral."""
        noisy = [k for k, each in enumerate(self.acting) if each.source.kind == "noise"]
        if not noisy:
            return np.zeros(1), np.zeros((len(system.C), 1))
        panels, count = self.panels(system, poles, noisy), len(system.C)
        middle = np.where(panels.far, np.inf, (panels.low + panels.high) / 2) / (2 * np.pi)
        of_band = np.searchsorted(self.edges, middle, side="right")
        for m, metric in enumerate(self.metrics):
            by_panel = np.maximum(panels.variances(metric, self.period), 0.0).reshape(len(middle), count, len(noisy))
            parts[m][:, noisy] = np.sqrt(by_panel.sum(axis=0))
            np.add.at(bands[m].T, of_band, by_panel.sum(axis=2))
        order = np.argsort(middle, kind="stable")
        ends = np.where(panels.far, np.inf, panels.high)[order] / (2 * np.pi)
        whole = panels.variances(Metric(""), self.period).reshape(len(middle), count, len(noisy)).sum(axis=2)
        return ends, np.cumsum(whole[order], axis=0).T

    def panels(self, system: Matrices, poles: Array, noisy: Sequence[int]) -> Panels:
        """Return the spectra of outputs by some sources, channels in this order."""
        (labels, sources, columns) = zip(*(self.acting[k] for k in noisy), strict=True)
        poles = np.concatenate([poles, *(np.asarray(source.poles, dtype=complex) for source in sources)])
        poles = np.concatenate([poles, poles.conj() + 2j * np.pi / self.period]) if self.period else poles
        places = 2 * np.pi * np.array([*self.edges, *(place for source in sources for place in source.places)])
        delays = [delay for metric in self.metrics for delay in (metric.window, metric.separation) if delay]
        last = np.pi / self.period if self.period else last_panel(poles, places, delays)
        respond = responder(system.part(np.arange(len(system.C)), columns), self.period)

        def density(omega: Array) -> Array:
            spectra = np.array([source.over(omega / (2 * np.pi), where) for where, source in zip(labels, sources, strict=True)])
            return (np.abs(respond(omega)) ** 2 * spectra.T[:, None]).reshape(len(omega), -1)

        return Panels.of(density, poles, places, max(delays[:1], default=0.0), last, not self.period)

    def _add_line(self, respond: Callable[[Array], Array], poles: Array, k: int, parts: Array, lines: Array) -> None:
        """Add the amplitudes of a line, at its worst frequencies."""
        label, source, column = self.acting[k]
        band = 2 * np.pi * source.band[0], 2 * np.pi * source.band[1]
        for m, metric in enumerate(self.metrics):
            for o in range(parts.shape[1]):

                def gain(omega: Array, o: int = o, metric: Metric = metric) -> Array:
                    weights = np.sqrt(metric.weights(omega, self.period))
                    return np.abs(respond(omega)[:, o, column]) * source.over(omega / (2 * np.pi), label) * weights

                parts[m, o, k], place = worst_line(gain, poles, band)
                lines[m, o, k] = place / (2 * np.pi)

    # -- sums ------------------------------------------------------------------------------------------------------------------

    def total(self, parts: Array) -> float:
        """Return the value at the level of confidence of one metric and output, of sizes (sources)."""
        return quantile(correlate(parts, self.laws, self.groups), self.confidence, self.simplified)

    def totals(self, parts: Array) -> Array:
        """Return the values at the level of confidence (metrics, outputs) of sizes (metrics, outputs, sources)."""
        return np.array([[self.total(row) for row in rows] for rows in parts])

    def alone(self, parts: Array) -> Array:
        """Return what each source has alone (metrics, outputs, sources) at the level of confidence."""
        rows = [row for of_metric in parts.tolist() for row in of_metric]
        found = [
            quantile([each], self.confidence, self.simplified) for row in rows for each in zip(self.laws, row, strict=True)
        ]
        return np.array(found).reshape(parts.shape)
