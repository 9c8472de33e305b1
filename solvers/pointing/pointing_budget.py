"""Budgets of pointing errors: `pointing_budget`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from titop.blocks.basics.errors import Finding, ModelError, did_you_mean, refuse
from titop.blocks.basics.notebook import attributes_page
from titop.blocks.basics.spatial import Array
from titop.blocks.basics.tolerances import SAME
from titop.blocks.basics.user_input import read_array, real_array
from titop.solvers.arguments.reading import read_mapping
from titop.solvers.linear.matrices import Matrices
from titop.solvers.linear.state_space import named_signals, period_of, positions, read_linear, signal_names
from titop.solvers.pointing.budget_cases import ActingSource, BudgetCase, Interpretation
from titop.solvers.pointing.error_sources import ErrorSource
from titop.solvers.pointing.error_sums import DEVIATIONS
from titop.solvers.pointing.proved_budgets import proved_errors
from titop.solvers.pointing.spectral_errors import Metric
from titop.solvers.pointing.worst_budgets import worst_errors
from titop.solvers.robust.uncertain_loop import read_stable_loop
from titop.solvers.signals.exported import Signal
from titop.solvers.support.workers import one_thread

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: Units of angles, in rad.
ANGLES = {"rad": 1.0, "mrad": 1 / 1000, "urad": 1 / 1000**2, "nrad": 1 / 1000**3, "deg": np.pi / 180, "arcmin": np.pi / 10800,
          "arcsec": np.pi / 648000, "mas": np.pi / 648e6}  # fmt: skip

#: Least level of confidence at which bounds of errors bound their sums.
_PROVED = 0.95
#: What metrics are called of errors of knowledge.
_KNOWLEDGE = {"APE": "AKE", "MPE": "MKE", "RPE": "RKE", "PDE": "KDE", "PRE": "KRE"}


@dataclass(frozen=True)
class PointingBudget:
    """Errors of a loop by metric, output and source, in `unit`.

    Attributes
    ----------
    metrics, outputs, sources : tuple of str
    devices : tuple of str
        Whose each source is: the first part of the dotted name of its input.
    unit : tuple of str
        Of each output.
    value : array (metrics, outputs)
        At the level of confidence; of a family, that of its nominal member. Infinite where a spectrum has no finite variance.
    by_source : array (metrics, outputs, sources)
        What each source has alone, at the same level of confidence.
    by_device : array (metrics, outputs, different devices)
        What all sources of each device have together, without those of others.
    sigma : array (metrics, outputs, sources)
        Standard deviations of what is random; zero for bounds.
    by_band : array (metrics, outputs, bands)
        Standard deviations of noise and lines below the first of `edges`, between them, and above the last.
    lines : array (metrics, outputs, sources), Hz
        Where lines are worst; not a number for other sources.
    worst : array (metrics, outputs)
        Of a family: of the worst member found, infinite if that is unstable; else the value.
    members : tuple of tuple of dict
        Its parameters by metric and output; empty for a single system.
    upper : array (metrics, outputs)
        Of a family: no member has more; infinite if nothing was proved. Else the value.
    requirement : array (metrics, outputs)
        Not a number where there is none.
    edges : tuple of float, Hz
    confidence : float
    interpretation, method : str
    density : (array (n), array (outputs, n))
        Frequencies (Hz), and the variance of noise below each: of the absolute error.

    Examples
    --------
    >>> import control, titop as tt
    >>> loop = control.tf([1.0], [1.0, 1.0], inputs=["torque"], outputs=["angle"])
    >>> print(tt.pointing_budget(loop, {"torque": tt.ErrorSource.noise(1.0)}, "angle", window=2.0, requirement={"APE": 3.0}))
    APE angle: 2.121, required 3, margin 0.8787
    MPE angle: 1.598
    RPE angle: 1.395
    """

    metrics: tuple[str, ...]
    outputs: tuple[str, ...]
    sources: tuple[str, ...]
    devices: tuple[str, ...]
    unit: tuple[str, ...]
    value: Array
    by_source: Array
    by_device: Array
    sigma: Array
    by_band: Array
    lines: Array
    worst: Array
    members: tuple[tuple[dict[str, Any], ...], ...]
    upper: Array
    requirement: Array
    edges: tuple[float, ...]
    confidence: float
    interpretation: str
    method: str
    density: tuple[Array, Array] = field(repr=False)

    @property
    def margin(self) -> Array:
        """The requirement less the worst value (n x outputs; units of these) of n metrics; not a number without one."""
        return np.asarray(self.requirement - self.worst)

    def table(self) -> str:
        """Return all as text: for each metric and output its sources alone, bands, total, worst member and margin.

        Several sources of one device stand below what they have together, those that give nothing in one line.
        """
        lines = []
        for m, o in np.ndindex(self.value.shape):
            lines.append(f"{self._row(m, o)}  ({100 * self.confidence:g} %, {self.interpretation}, {self.method})")
            alone, silent = self.by_source[m, o], list[str]()
            acts = alone > SAME * alone.max(where=np.isfinite(alone), initial=0.0)
            for device, together in zip(dict.fromkeys(self.devices), self.by_device[m, o], strict=True):
                own = [k for k, owner in enumerate(self.devices) if owner == device]
                acting = [k for k in own if acts[k]]
                silent += [self.sources[k] for k in own if not acts[k]] if acting or len(own) == 1 else [device]
                if len(acting) > 1:
                    lines.append(f"    {device:<32} {together:12.4g}   together")
                for k in acting:
                    source = f"{'  ' * (len(acting) > 1)}{self.sources[k]}"
                    line = f" at {self.lines[m, o, k]:.4g} Hz" if np.isfinite(self.lines[m, o, k]) else ""
                    lines.append(f"    {source:<32} {alone[k]:12.4g}   sigma {self.sigma[m, o, k]:.4g}{line}")
            lines += [f"    nothing from {', '.join(silent)}"] if silent else []
            ends = ["0", *(f"{edge:g}" for edge in self.edges), "inf"]
            for k, sigma in enumerate(self.by_band[m, o] if self.edges else ()):
                lines.append(f"    {f'{ends[k]} to {ends[k + 1]} Hz':<32} {'':12}   sigma {sigma:.4g}")
            if self.members:
                member = ", ".join(f"{name} = {v:.6g}" for name, v in self.members[m][o].items() if isinstance(v, float))
                lines.append(f"    worst member found: {member}")
        return "\n".join(lines)

    _repr_html_ = attributes_page

    def __str__(self) -> str:
        return "\n".join(self._row(m, o) for m in range(len(self.metrics)) for o in range(len(self.outputs)))

    def _row(self, m: int, o: int) -> str:
        unit = f" {self.unit[o]}" if self.unit[o] else ""
        text = f"{self.metrics[m]} {self.outputs[o]}: {self.value[m, o]:.4g}{unit}"
        text += f", worst member {self.worst[m, o]:.4g}" if self.members else ""
        text += f", at most {self.upper[m, o]:.4g}" if self.members and np.isfinite(self.upper[m, o]) else ""
        if np.isfinite(self.requirement[m, o]):
            text += f", required {self.requirement[m, o]:.4g}, margin {self.margin[m, o]:.4g}"
        return text

    def plot(self) -> Figure:
        """Draw, for each output, sources alone as stacked bars with totals, and how noise adds up over frequency."""
        return _draw(self)


@one_thread()
def pointing_budget(
    loop: Any,
    sources: Mapping[str, Any],
    outputs: str | Sequence[str],
    *,
    window: float | None = None,
    drift: float | None = None,
    reproducibility: float | None = None,
    requirement: Mapping[str, Any] | None = None,
    confidence: float = 0.9973,
    interpretation: Interpretation = "temporal",
    method: Literal["advanced", "simplified"] = "advanced",
    correlated: Sequence[Sequence[str]] = (),
    bands: Sequence[float] = (),
    knowledge: bool = False,
    prove: bool = False,
    cells: int = 1,
    unit: str | None = None,
    progress: bool = True,
) -> PointingBudget:
    """Return how large the errors of a loop are, by the metrics of ECSS-E-ST-60-10C and ESA's handbook ESSB-HB-E-003.

    ==========  ======================================================================================================
    APE         the error at any time: what is left of all sources (absolute performance error)
    MPE         its mean over a window of time
    RPE         its difference from this mean; the mean square over the window counts, as in the handbook
    PDE         difference of the means of two windows, whose beginnings are `drift` apart
    PRE         the same, `reproducibility` apart, in another observation
    ==========  ======================================================================================================

    Each frequency counts by the exact weight of its metric (`titop.solvers.pointing.spectral_errors`), so that MPE² + RPE² of
    noise are its APE². What varies slowly may deviate at a window's ends by up to the root of three of its RPE. Errors of
    knowledge (AKE, MKE, RKE, KDE, KRE) are the same of outputs that are errors of estimates.

    How sources are combined: noise is Gaussian, lines have any phase, a bias is as it is told. In the `interpretation`

    - ``"temporal"``: the level of confidence is a part of the time, for the worst system: biases are fixed, at their bound, a
      Gaussian one at its quantile at the level of confidence;
    - ``"ensemble"``: it is a part of all systems, at the worst time: lines count with their amplitude, noise with its quantile;
    - ``"mixed"``: over time and systems at once.

    Transients and bounded signals count with their worst value in each, biases in APE and MPE alone. What is fixed is added,
    with the sign that is worst. All else is independent, and convolved by its density (``"advanced"``), or counts by its
    standard deviation as if it were Gaussian (``"simplified"``). Sources that are `correlated` are added instead, those of each
    kind of distribution.

    Of a family, the worst member is searched for each metric and output among the real parameters, at corners, at random and
    by climbing: a member found, no bound. With `prove` there are bounds for all members besides, by skew mu in bands of
    frequency, of noise, lines and biases; none of transients and bounded signals. Bounds of lines and biases are as near to the
    worst member as those of `worst_case_gain`; those of noise add up the highest gain at each frequency, of whichever member.

    Parameters
    ----------
    loop : control.StateSpace, control.TransferFunction or LFTModel
        Closed and stable, in continuous time or sampled; of a sampled one, windows are means of samples.
    sources : mapping of str to ErrorSource, a sequence of them, or None
        Of each input of the loop; the name of a vector stands for a source of its own for each entry. None: nothing acts.
    outputs : str or sequence of str
        Pointing errors.
    window, drift, reproducibility : float, s, optional
        Length of a window, for all metrics but APE; distances of windows, for PDE and PRE.
    requirement : mapping of str to float or array_like (outputs), optional
        By metric, in the outputs' unit, or in `unit`.
    confidence : float
        Level of confidence; 0.9973 is three standard deviations of what is Gaussian.
    interpretation : {"temporal", "ensemble", "mixed"}
    method : {"advanced", "simplified"}
    correlated : sequence of sequences of str
        Groups of inputs whose sources are fully correlated.
    bands : sequence of float, Hz
        Edges, between which variances are told apart.
    knowledge : bool
        Name the metrics as errors of knowledge.
    prove : bool
        Bound the errors of all members of a family, neglected dynamics included: seconds to minutes. At a level of confidence
        of 0.95 or more, where larger errors make larger sums.
    cells : int
        Parts of the box of the real parameters that are bounded one by one: the more, the nearer to the worst member.
    unit : {"rad", "mrad", "urad", "nrad", "deg", "arcmin", "arcsec", "mas"}, optional
        Of all results, where outputs are angles.
    progress : bool
        Show a progress bar on a terminal when it takes longer than a second.

    Returns
    -------
    PointingBudget

    Raises
    ------
    ModelError
        For a loop that is not stable, sources without an input, inputs without a source, unusable numbers.

    Examples
    --------
    >>> import control, titop as tt
    >>> loop = control.tf([[[1.0], [2.0]]], [[[1.0, 1.0], [1.0, 2.0]]], inputs=["torque", "gyro"], outputs=["angle"])
    >>> wheel, gyro = tt.ErrorSource.harmonic(0.5, 2.0), tt.ErrorSource.noise(0.1)
    >>> budget = tt.pointing_budget(loop, {"torque": wheel, "gyro": gyro}, "angle", window=1.0)
    >>> budget.metrics, budget.by_source[0, 0].round(4).tolist()
    (('APE', 'MPE', 'RPE'), [0.6066, 0.3])
    """
    family = loop if getattr(loop, "blocks", None) else None
    model = read_linear("loop", getattr(loop, "M", loop), "a control.StateSpace, control.TransferFunction or LFTModel")
    skipped = family.channels if family else (0, 0)
    _, inputs, every = named_signals(model)
    inputs, every, period = inputs[skipped[0] :], every[skipped[1] :], period_of(model)
    rows = positions("outputs", signal_names("outputs", outputs), every)
    metrics = _metrics(window, drift, reproducibility, period)
    acting = _acting(sources, inputs, period)
    names = [_KNOWLEDGE[metric.name] if knowledge else metric.name for metric in metrics]
    units, factors = _units([every[k] for k in rows], unit)
    required = _requirement(requirement, names, len(rows))
    level = real_array(confidence)
    findings = []
    if level is None or level.ndim or not 0 < level < 1:
        findings.append(Finding("bad-value", "confidence", confidence, "between 0 and 1", "0.9973 for three sigma"))
    elif prove and level < _PROVED:
        expected, advice = f"at least {_PROVED} for a proof", "below, a sum with a larger line may be smaller"
        findings.append(Finding("bad-value", "confidence", confidence, expected, advice))
    for name, value, known in (
        ("interpretation", interpretation, ("temporal", "ensemble", "mixed")),
        ("method", method, ("advanced", "simplified")),
    ):
        if value not in known:
            findings.append(Finding("bad-value", name, value, " or ".join(known), did_you_mean(str(value), known)))
    if real_array(cells) is None or np.ndim(cells) or not 1 <= cells < np.inf:
        findings.append(Finding("bad-value", "cells", cells, "a number, one or more", "such as 16"))
    edges = real_array(bands)
    if edges is None or edges.ndim != 1 or not np.isfinite(edges).all() or (np.diff(edges, prepend=0.0) <= 0).any():
        findings.append(Finding("bad-value", "bands", bands, "increasing frequencies (Hz) above zero", "such as [0.01, 1.0]"))
    refuse(findings)
    assert edges is not None
    groups, simplified = _groups(correlated, acting, inputs), method == "simplified"
    case = BudgetCase(acting, metrics, tuple(edges.tolist()), period, float(confidence), interpretation, simplified, groups)
    nominal = Matrices.of(family.nominal if family else model).part(rows, np.arange(len(inputs)))
    _check_stable(nominal, period)
    found = case.evaluate(nominal)
    own_value = case.totals(found.parts)
    worst, upper = own_value, own_value
    members: tuple[tuple[dict[str, Any], ...], ...] = ()
    if family:
        uncertain = read_stable_loop(family, None)
        (w, z), places = uncertain.structure.shape, np.array(rows)
        part = uncertain.system.part(np.r_[:z, z + places], np.arange(w + len(inputs)))
        errors = worst_errors(case, uncertain, part, progress)
        worst, members, upper = errors.values, errors.members, np.full_like(own_value, np.inf)
        if prove:
            upper = proved_errors(case, uncertain, part, errors, cells, progress)
    devices = [re.split(r"[./[]", inputs[each.column].path)[0] for each in acting]
    of_each = [case.totals(np.where(np.array(devices) == name, found.parts, 0.0)) for name in dict.fromkeys(devices)]
    deviations, scale = [DEVIATIONS[law] for law in case.laws], factors[:, None]
    return PointingBudget(
        tuple(names),
        tuple(every[k].path for k in rows),
        tuple(each.label for each in acting),
        tuple(devices),
        units,
        own_value / factors,
        case.alone(found.parts) / scale,
        np.moveaxis(np.reshape(of_each, (-1, *own_value.shape)), 0, -1) / scale,
        found.parts * deviations / scale,
        np.sqrt(found.bands) / scale,
        found.lines,
        worst / factors,
        members,
        upper / factors,
        required,
        case.edges,
        case.confidence,
        interpretation,
        method,
        (found.density[0], found.density[1] / scale**2),
    )


# -- what users give ---------------------------------------------------------------------------------------------------------


def _metrics(window: Any, drift: Any, reproducibility: Any, period: float) -> tuple[Metric, ...]:
    """Return the metrics that windows define. Raises `ModelError` for times that are none."""
    times, findings = {"window": window, "drift": drift, "reproducibility": reproducibility}, list[Finding]()
    for name, value in times.items():
        number = real_array(0.0 if value is None else value)
        if number is None or number.ndim or not np.isfinite(number) or (value is not None and number <= 0):
            findings.append(Finding("bad-time", name, value, "a time above zero", "leave it out if there is no such metric"))
        elif period and value and abs(number - period * round(float(number) / period)) > SAME * number:
            expected, advice = f"whole periods of {period:g} s", "windows of a sampled loop are means of samples"
            findings.append(Finding("bad-time", name, value, expected, advice))
    if window is None and not findings and (drift or reproducibility):
        expected, advice = "the length of the windows that are compared", "give window="
        findings.append(Finding("bad-time", "window", None, expected, advice))
    refuse(findings)
    found, length = [Metric("APE")], float(window or 0.0)
    if window is not None:
        found += [Metric("MPE", "mean", length), Metric("RPE", "relative", length)]
    apart = (("PDE", drift), ("PRE", reproducibility))
    return *found, *(Metric(name, "difference", length, float(value)) for name, value in apart if value is not None)


def _acting(sources: Any, inputs: Sequence[Signal], period: float) -> tuple[ActingSource, ...]:
    """Return what acts on each input. Raises `ModelError` for sources that cannot, and inputs that nobody speaks of."""
    found, told, findings = list[ActingSource](), set[int](), list[Finding]()
    for name, given in read_mapping("sources", sources).items():
        places = positions("sources", [name], inputs)
        if told & set(places):
            findings.append(Finding("given-twice", "sources", name, "each input once", "give several sources as a list"))
        told |= set(places)
        several = given if isinstance(given, list | tuple) else [] if given is None else [given]
        for k, source in enumerate(several):
            where = f"sources[{name!r}]"
            if not isinstance(source, ErrorSource):
                expected, advice = "an ErrorSource, several or None", "such as tt.ErrorSource.noise(1e-3)"
                findings.append(Finding("wrong-type", where, source, expected, advice))
            elif source.period is not None and abs(source.period - period) > SAME * period:
                expected, advice = f"that of the loop, {period:g} s", "sample the filter (control.sample_system)"
                findings.append(Finding("other-sample-time", where, f"a filter of {source.period:g} s", expected, advice))
            elif period and 2 * source.band[1] * period > 1:
                expected, advice = f"at most {0.5 / period:g} Hz, half the sampling frequency", "give its alias"
                findings.append(Finding("bad-value", where, source.band, expected, advice))
            else:
                suffix = f" ({k + 1})" if len(several) > 1 else ""
                found += [ActingSource(f"{inputs[place].path}{suffix}", source, place) for place in places]
    for k in sorted(set(range(len(inputs))) - told):
        expected, advice = "what acts on each input of the loop", "give an ErrorSource, or None where nothing does"
        findings.append(Finding("no-source", "sources", f"nothing of {inputs[k].path!r}", expected, advice))
    refuse(findings)
    return tuple(found)


def _groups(correlated: Any, acting: Sequence[ActingSource], inputs: Sequence[Signal]) -> tuple[tuple[int, ...], ...]:
    """Return the places of sources by group. Raises `ModelError` for groups that share an input, or have nothing to add."""
    found, told = list[tuple[int, ...]](), set[int]()
    for names in (correlated,) if isinstance(correlated, str) or not isinstance(correlated, Iterable) else correlated:
        columns = positions("correlated", signal_names("correlated", names), inputs)
        group = tuple(k for k, each in enumerate(acting) if each.column in columns)
        if told & set(columns):
            advice = "put what depends on each other into one group"
            raise ModelError(Finding("given-twice", "correlated", names, "each input in one group", advice))
        if len(columns) < 2 and len(group) < 2:
            advice = 'write correlated=[("torque", "gyro")] for one group of two'
            raise ModelError(Finding("bad-group", "correlated", names, "groups of two sources or more", advice))
        told |= set(columns)
        found.append(group)
    return tuple(found)


def _units(signals: Sequence[Signal], unit: str | None) -> tuple[tuple[str, ...], Array]:
    """Return the units of results, and what outputs are divided by. Raises `ModelError` for units that do not fit."""
    if unit is None:
        return tuple(signal.unit for signal in signals), np.ones(len(signals))
    if not isinstance(unit, str) or unit not in ANGLES:
        raise ModelError(Finding("bad-unit", "unit", unit, f"one of {', '.join(ANGLES)}", did_you_mean(str(unit), ANGLES)))
    for signal in signals:
        if signal.unit not in ("rad", ""):
            advice = "leave unit out, or name outputs that are angles"
            raise ModelError(Finding("bad-unit", "unit", f"{unit} for {signal.path} in {signal.unit}", "angles", advice))
    return (unit,) * len(signals), np.full(len(signals), ANGLES[unit])


def _requirement(requirement: Any, names: Sequence[str], count: int) -> Array:
    """Return what is required (metrics, outputs). Raises `ModelError` for other metrics, and what is not positive."""
    required = np.full((len(names), count), np.nan)
    for name, value in read_mapping("requirement", requirement or {}).items():
        if name not in names:
            advice = "give window=, drift= or reproducibility= for metrics of windows"
            raise ModelError(Finding("unknown-metric", "requirement", name, f"one of {', '.join(names)}", advice))
        expected, advice = f"a positive number, or {count} by output", "give it in the unit of the results"
        wrong = Finding("bad-value", f"requirement[{name!r}]", value, expected, advice)
        required[names.index(name)] = read_array(wrong, lambda each: each.shape in ((), (count,)) and (each > 0).all())
    return required


def _check_stable(system: Matrices, period: float) -> None:
    poles = system.poles_in_time(period)
    if len(poles) and not poles.real.max() < 0:
        worst, expected = poles[np.argmax(poles.real)], "a stable closed loop"
        advice = "close the loop with its controller first; leave out coordinates that nothing controls (omit=)"
        raise ModelError(Finding("unstable", "loop", f"a pole at {worst:.6g} rad/s", expected, advice))


# -- pictures --------------------------------------------------------------------------------------------------------------


#: So many sources have a colour of their own in the figure, the largest.
_BARS = 8


def _draw(budget: PointingBudget) -> Figure:
    """Draw, for each output, what sources have alone as stacked bars with totals, and the variance of noise by frequency."""
    from titop.blocks.basics.figure import Figure

    count, places = len(budget.outputs), np.arange(len(budget.metrics))
    figure = Figure(figsize=(9.5, 3.6 * count), layout="constrained")
    frequencies, variance = budget.density
    shown = (frequencies > 0) & np.isfinite(frequencies)
    for o, (bars, sums) in enumerate(figure.subplots(count, 2, squeeze=False)):
        below, parts = np.zeros(len(places)), np.nan_to_num(budget.by_source[:, o], posinf=0.0).T
        largest = np.sort(np.argsort(-parts.max(axis=1), kind="stable")[:_BARS])
        shown_parts = {budget.sources[k]: parts[k] for k in largest}
        if len(largest) < len(parts):
            shown_parts[f"{len(parts) - len(largest)} others"] = parts.sum(axis=0) - parts[largest].sum(axis=0)
        for source, alone in shown_parts.items():
            bars.bar(places, alone, bottom=below, width=0.6, label=source)
            below = below + alone
        marks = [("k_", budget.value, "total")]
        marks += [("r_", budget.worst, "worst member")] if budget.members else []
        for style, values, label in [*marks, ("bv", budget.requirement, "required")]:
            if np.isfinite(values[:, o]).any():
                bars.plot(places, values[:, o], style, markersize=6 if "v" in style else 12, markeredgewidth=2, label=label)
        unit = f" [{budget.unit[o]}]" if budget.unit[o] else ""
        bars.set(xticks=places, xticklabels=budget.metrics, ylabel=f"{budget.outputs[o]}{unit}", title="each source alone")
        sums.semilogx(frequencies[shown], np.sqrt(variance[o, shown]))
        sums.set_ylim(bottom=0.0)
        for k, line in enumerate(budget.lines[0, o, np.isfinite(budget.lines[0, o])].tolist()):
            sums.axvline(line, color="0.6", linewidth=0.8, label="" if k else "harmonic sources")
        for k, edge in enumerate(budget.edges):
            sums.axvline(edge, color="0.6", linestyle=":", label="" if k else "edges of bands")
        if sums.get_legend_handles_labels()[1]:
            sums.legend(fontsize=8, loc="lower right")
        sums.set(xlabel="frequency [Hz]", ylabel=f"sigma of noise below{unit}", title="added up over frequency")
        for axis in (bars, sums):
            axis.grid(alpha=0.3)
        bars.legend(fontsize=7, loc="upper left", bbox_to_anchor=(1.0, 1.0))
    return figure
