"""Pictures of linear models and of their families: poles, frequency responses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from titop.blocks.basics.errors import Finding, ModelError, did_you_mean
from titop.blocks.basics.spatial import Array
from titop.blocks.basics.tolerances import COARSE, NEAR_AXIS, NEGLIGIBLE, SAME, SINGULAR, TINY
from titop.blocks.basics.user_input import is_row, read_array, real_array
from titop.solvers.linear.matrices import Matrices
from titop.solvers.linear.state_space import is_state_space, named_system, period_of, refuse_not_finite
from titop.solvers.signals.exported import Signal, exported_name

if TYPE_CHECKING:
    from control import StateSpace
    from matplotlib.axes import Axes
    from matplotlib.cm import ScalarMappable
    from matplotlib.figure import Figure

#: Random members that are drawn of a fraction.
_SAMPLES = 30

#: Frequencies are put between others so often, until there are so many.
_HALVINGS, _MOST = 40, 20_000


class Colours(NamedTuple):
    """The parameter that sets the members' colours: its values at all of them, and its name with its unit."""

    values: Array
    label: str

    def scale(self) -> ScalarMappable:
        """Return the map from values to colours."""
        from matplotlib.cm import ScalarMappable
        from matplotlib.colors import Normalize

        return ScalarMappable(Normalize(float(self.values.min()), float(self.values.max())), "viridis")

    def bar(self, figure: Figure, axes: list[Axes]) -> None:
        """Draw the colour bar beside axes."""
        figure.colorbar(self.scale(), ax=axes, label=self.label)


def draw_poles(poles: Array, name: str, colours: Colours, limits: Any = None, log: bool | None = None) -> Figure:
    """Draw the poles (..., values, n; rad/s) of a family in the complex plane, with a line for each along the values.

    `limits` are least and greatest real and imaginary parts; with `log`, axes are logarithmic, and linear next to zero; by
    default those on which slow poles would else lie on one dot. Dotted lines are those of a damping ratio.

    Raises `ModelError` for unusable limits.
    """
    from titop.blocks.basics.figure import Figure

    expected, advice = "(least, greatest real part, least, greatest imaginary part)", "such as (-5, 1, 0, 30)"
    wrong = Finding("wrong-type", "limits", limits, expected, advice)
    window = None if limits is None else read_array(wrong, lambda x: x.shape == (4,) and x[0] < x[1] and x[2] < x[3])
    figure, scale = Figure(figsize=(7, 5.5), layout="constrained"), colours.scale()
    axis = figure.subplots()
    spread = np.broadcast_to(colours.values[..., None], poles.shape)
    axis.axhline(0, color="0.8", linewidth=0.8)
    axis.axvline(0, color="0.5", linewidth=0.8)
    for line in poles.reshape(-1, *poles.shape[-2:]):
        axis.plot(line.real, line.imag, color="0.75", linewidth=0.7, zorder=2)
    dots = poles.ravel()  # matplotlib takes a row of three or four numbers for a colour
    axis.scatter(dots.real, dots.imag, c=spread.ravel(), cmap=scale.cmap, norm=scale.norm, s=16, linewidths=0, zorder=3)
    known = poles[np.isfinite(poles)]
    reach = float(np.abs(known).max(initial=0.0)) or 1.0
    for parts, scaled, limit in ((known.real, axis.set_xscale, axis.set_xlim), (known.imag, axis.set_yscale, axis.set_ylim)):
        parts = np.abs(parts)
        parts = parts[parts > NEAR_AXIS * np.maximum(np.abs(known), 0.0 if log else parts.max(initial=0.0))]
        if len(parts) and (log or (log is None and window is None and parts.min() < COARSE * parts.max())):
            scaled("symlog", linthresh=10.0 ** np.floor(np.log10(parts.min())), linscale=0.8)
        elif not len(parts):  # rounding is no part
            limit(-reach, reach)
    if window is not None:
        axis.set_xlim(window[0], window[1])
        axis.set_ylim(window[2], window[3])
    _draw_dampings(axis)
    axis.set_xlabel("real part [rad/s]")
    axis.set_ylabel("imaginary part [rad/s]")
    axis.set_title(f"poles of {name}", fontsize=10)
    axis.grid(alpha=0.3)
    if len(colours.values.ravel()) > 1:
        colours.bar(figure, [axis])
    return figure


def _draw_dampings(axis: Axes) -> None:
    """Draw lines on which poles have some damping ratios, as far as the axes reach, and where they are seen apart."""
    (low, high), (bottom, top) = axis.get_xlim(), axis.get_ylim()
    reach = np.geomspace(NEAR_AXIS, 2.0, 400) * max(map(abs, (low, high, bottom, top)))
    ends = [axis.transData.transform((0.0, top))]
    for ratio in (0.001, 0.01, 0.1, 0.5):
        line = np.column_stack([-ratio * reach, np.sqrt(1 - ratio**2) * reach])
        inside = line[(line[:, 0] > low) & (line[:, 1] < top) & (line[:, 1] > bottom)]
        ends += [axis.transData.transform(inside[-1])] if len(inside) else []
        if len(inside) and np.abs(ends[-1] - ends[-2]).max() > 0.1 * axis.bbox.width:
            axis.plot(*line.T, ":", line[:, 0], -line[:, 1], ":", color="0.6", linewidth=0.8, zorder=1)
            axis.annotate(f"ζ = {ratio:g}", inside[-1], (2, -9), textcoords="offset points", fontsize=7, color="0.4")
    axis.set(xlim=(low, high), ylim=(bottom, top))


def plot_response(
    models: Any,
    inputs: Any = None,
    outputs: Any = None,
    omega: Any = None,
    values: Mapping[str, Any] | None = None,
    singular: bool = False,
) -> Figure:
    """Draw frequency responses of a linear model, or of the members of a family as a fan: gain and phase, or singular values.

    Parameters
    ----------
    models : control.StateSpace, sequence of these, LPVModel or LFTModel
        Of an LPV model all its points are drawn; of a fraction the nominal member and 30 random ones.
    inputs, outputs : str or sequence of str, optional
        By default the first ones for gain and phase, all for singular values.
    omega : array_like, optional, rad/s
        Frequencies; by default around the poles, of sampled models up to half their rate. Poles' frequencies are added, and
        frequencies where the phase is steep.
    values : mapping of str to array_like or float, optional
        Values of one parameter to draw instead, as in `pole_map`: ``{"arm.mass": np.linspace(1, 3, 9)}``.
    singular : bool
        The singular values of the chosen channels instead, in the units of the signals.

    Returns
    -------
    matplotlib.figure.Figure
        A column for each input, a row for each output.

    Raises
    ------
    ModelError
        For unknown signals, frequencies that are not positive or lie above half the rate of sampled models, other models.

    Notes
    -----
    Phases have no jumps: between frequencies they turn by less than 60 degrees. At undamped poles and zeros they turn as if
    these were damped a little. Members begin within half a turn of each other.
    """
    from matplotlib.ticker import MultipleLocator

    from titop.blocks.basics.figure import Figure

    systems, colours = _fan(models) if values is None else read_members(models, values)[1:]
    for k, system in enumerate(systems):
        refuse_not_finite(f"models[{k}]", system)
    poles = [Matrices.of(system).poles_in_time(period_of(system)) for system in systems]
    frequencies = frequencies_around(np.concatenate(poles)) if omega is None else read_frequencies(omega)
    highest = min((np.pi / period_of(system) for system in systems if system.dt), default=np.inf)
    if omega is not None and frequencies.max() > highest:
        expected, advice = f"frequencies up to {highest:.6g} rad/s", "stay below half of the sampling rate"
        raise ModelError(Finding("bad-value", "omega", float(frequencies.max()), expected, advice))
    if omega is None and np.isfinite(highest):
        frequencies = np.geomspace(min(frequencies[0], NEGLIGIBLE * highest), highest, len(frequencies))
    ends = [_chosen(role, names, systems, singular) for role, names in (("input", inputs), ("output", outputs))]
    rows, columns = (1, 1) if singular else (2 * len(ends[1]), len(ends[0]))
    figure = Figure(figsize=(max(7, 4 * columns), max(6, 2.5 * rows)), layout="constrained")
    axes = figure.subplots(rows, columns, sharex=True, squeeze=False)
    shades, start = colours.scale().to_rgba(colours.values), None
    for system, own, colour in zip(systems, poles, shades, strict=True):
        at, responses = _sweep(system, own, frequencies, *ends)
        if singular:
            gains = np.linalg.svd(responses, compute_uv=False)
            axes[0, 0].loglog(
                at, np.where(gains > SINGULAR * gains[:, :1], gains, np.nan), color=colour, linewidth=1
            )  # no rounding
            continue
        phases = np.rad2deg(np.unwrap(np.angle(responses), axis=0))
        start = phases[0] - 360 * (phases[0] > 180 * (1 - COARSE)) if start is None else start
        phases += 360 * np.round((start - phases[0]) / 360)
        for (i, j), _ in np.ndenumerate(responses[0]):
            axes[2 * i, j].loglog(at, np.where(responses[:, i, j] != 0, np.abs(responses[:, i, j]), np.nan), color=colour)
            axes[2 * i + 1, j].semilogx(at, phases[:, i, j], color=colour)
    for axis in axes.flat:
        axis.grid(alpha=0.3, which="both")
    table = getattr(systems[0], "signals", None) or {}
    sources, targets = ([table.get(name, Signal(name, "")) for name in names] for names in ends)
    if singular:
        listed = (f"{some[0].path} … {some[-1].path}" if len(some) > 1 else some[0].path for some in (sources, targets))
        axes[0, 0].set_title(" to ".join(listed), fontsize=10)
        axes[0, 0].set_ylabel("singular values")
    else:
        for (i, target), (j, source) in product(enumerate(targets), enumerate(sources)):
            axes[2 * i, j].set_title(f"{source.path} [{source.unit}] to {target.path} [{target.unit}]", fontsize=10)
            axes[2 * i, j].set_ylabel(f"gain [{target.unit} / {source.unit if source.unit.isalnum() else f'({source.unit})'}]")
            axes[2 * i + 1, j].set_ylabel("phase [deg]")
            if (turn := float(np.ptp(axes[2 * i + 1, j].get_ylim()))) > 90:
                axes[2 * i + 1, j].yaxis.set_major_locator(MultipleLocator(90 * 2.0 ** round(np.log2(turn / 450))))
    for axis in axes[-1]:
        axis.set_xlabel("frequency [rad/s]")
    if len(systems) > 1:
        colours.bar(figure, list(axes.flat))
    return figure


def without_jumps(values: Array, period: float) -> Array:
    """Return curves (n, k, ...) without jumps of a period along k, all beginning within half a period of the first."""
    curves = np.unwrap(values, period=period, axis=1)
    begins = curves[:, :1]
    sound = begins[np.isfinite(begins).reshape(len(begins), -1).all(axis=1)]
    return curves - period * np.round((begins - sound[:1]) / period) if len(sound) else curves


def _fan(models: Any) -> tuple[list[StateSpace], Colours]:
    """Return the members that are drawn if no values are named."""
    if hasattr(models, "valid"):  # an LPV model
        numbers, label = models.colours
        matrices = zip(*(getattr(models, name)[models.valid] for name in "ABCD"), strict=True)
        signals = models.states, models.inputs, models.outputs, models.name
        return [named_system(each, *signals) for each in matrices], Colours(numbers[models.valid], label)
    if callable(getattr(models, "samples", None)):  # a fraction
        drawn = models.samples(_SAMPLES)
        name = next(iter(drawn[0]), "")
        centre = [block.nominal for block in models.blocks if block.name == name]
        numbers = [*centre, *(sample[name] for sample in drawn)] if name else [0.0] * (1 + len(drawn))
        return [models.at(), *(models.at(sample) for sample in drawn)], Colours(np.array(numbers), name)
    return read_members([models] if is_state_space(models) else models)[1:]


def read_members(models: Any, values: Mapping[str, Any] | None = None) -> tuple[str, list[StateSpace], Colours]:
    """Return name and members of a family at values of one parameter, or a sequence of models, and the parameter's values.

    Raises `ModelError` unless exactly one parameter has several values, as many as there are models.
    """
    if callable(getattr(models, "at", None)):
        name, numbers, others = _one_parameter(values)
        systems = [models.at({**others, name: float(value)}) for value in numbers]
        title = str(getattr(models, "name", ""))
    else:
        systems = list(models) if isinstance(models, Sequence) and not isinstance(models, str) else []
        title = str(getattr(systems[0], "name", "")) if systems else ""
    if not systems or not all(is_state_space(system) for system in systems):
        expected, advice = "an LPVModel, an LFTModel or a list of control.StateSpace", "pass what tt.linearize returns"
        raise ModelError(Finding("wrong-type", "models", models, expected, advice))
    if not callable(getattr(models, "at", None)):
        name, numbers, _ = _one_parameter({"model": range(len(systems))} if values is None else values)
    if len(systems) != len(numbers):
        got = f"{len(systems)} models, {len(numbers)} values"
        raise ModelError(Finding("bad-shape", "models", got, "one model for each value", "linearise at each value"))
    return title, systems, Colours(numbers, name)


def _one_parameter(values: Any) -> tuple[str, Array, dict[str, float]]:
    """Return the parameter that has several values, these, and the values of the others."""
    arrays = {str(name): real_array(value) for name, value in values.items()} if isinstance(values, Mapping) else {}
    varied = [name for name, array in arrays.items() if array is not None and array.ndim == 1 and array.size]
    others = {name: float(array) for name, array in arrays.items() if array is not None and array.ndim == 0}
    if len(varied) != 1 or len(others) != len(arrays) - 1:
        advice = 'such as {"arm.mass": np.linspace(1, 3, 50)}'
        raise ModelError(Finding("wrong-type", "values", values, "a mapping that has several values of one parameter", advice))
    numbers = arrays[varied[0]]
    assert numbers is not None
    return varied[0], numbers, others


def _chosen(role: str, names: Any, systems: Sequence[StateSpace], everything: bool) -> list[str]:
    """Return the exported names of chosen inputs or outputs, which all models have."""
    known = getattr(systems[0], f"{role}_labels")
    advice = f'such as "{known[0]}"' if known else f"linearise with {role}s"
    wanted = (known if everything else known[:1]) if names is None else [names] if isinstance(names, str) else names
    if not isinstance(wanted, list | tuple) or not wanted:
        raise ModelError(Finding("wrong-type", f"{role}s", names, "a name, or a list of names", advice))
    result = []
    for name in wanted:
        result.append(exported_name(str(name)))
        if any(result[-1] not in getattr(system, f"{role}_labels") for system in systems):
            raise ModelError(Finding(f"unknown-{role}", role, name, f"an {role} of all models", did_you_mean(str(name), known)))
    return result


def _sweep(system: StateSpace, poles: Array, omega: Array, sources: list[str], targets: list[str]) -> tuple[Array, Array]:
    """Return frequencies (k) and responses (k, outputs, inputs) that turn by less than 60 degrees from each to the next."""
    columns = [system.input_labels.index(name) for name in sources]
    rows = [system.output_labels.index(name) for name in targets]
    A, B, C, D = system.A, system.B[:, columns], system.C[rows], system.D[np.ix_(rows, columns)]

    def response(omega: Array) -> Array:
        s = omega * (1j + SAME)  # a little to the right of the axis: phases at undamped poles turn in their sense
        s = np.exp(s * period_of(system)) if system.dt else s
        return C @ np.linalg.solve(s[:, None, None] * np.eye(len(A)) - A, np.broadcast_to(B, (len(s), *B.shape))) + D

    sizes = np.abs(poles)
    omega = np.unique([*omega, *sizes[(sizes > omega.min()) & (sizes < omega.max())]])
    values = response(omega)
    for _ in range(_HALVINGS):
        angles = np.angle(values)
        turns = np.abs(np.remainder(np.diff(angles, axis=0) + np.pi, 2 * np.pi) - np.pi)
        steep = np.flatnonzero((turns > np.pi / 3).any(axis=(1, 2)))
        between = np.sqrt(omega[steep] * omega[steep + 1])
        if not len(steep) or len(omega) > _MOST:
            break
        values = np.insert(values, steep + 1, response(between), axis=0)
        omega = np.insert(omega, steep + 1, between)
    return omega, values


def frequencies_around(poles: Array) -> Array:
    """Return frequencies from a tenth of the slowest to ten times the fastest pole (rad/s)."""
    sizes = np.abs(poles)
    sizes = sizes[sizes > NEGLIGIBLE * sizes.max(initial=0.0)]
    low, high = (sizes.min(), sizes.max()) if sizes.size else (1.0, 1.0)
    return np.geomspace(0.1 * low, 10 * high, 400)


def read_frequencies(omega: Any) -> Array:
    """Return the frequencies (rad/s) given by a user. Raises `ModelError` unless all are positive."""
    wrong = Finding("wrong-type", "omega", omega, "positive frequencies (rad/s)", "such as np.geomspace(0.1, 100, 200)")
    return read_array(wrong, lambda omega: is_row(omega) and (omega > 0).all())


if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class PoleMap:
    """Poles of models over a parameter.

    Attributes
    ----------
    name, parameter : str
    values : (n,) array
        Of the parameter.
    poles : (n, states) array, rad/s; of sampled models without unit
        Those of a column belong to one mode: from model to model its eigenvectors change least.
    """

    name: str
    parameter: str
    values: Array
    poles: Array

    def plot(self, limits: Any = None, log: bool | None = None) -> Figure:
        """Draw the poles in the complex plane, coloured by the parameter, with a line for each mode; see `LPVModel.poles`.

        `limits` (4, rad/s) are the least and greatest real part and imaginary part; `log` makes axes logarithmic, by default
        where slow poles would else lie on one dot.
        """
        return draw_poles(self.poles, self.name, Colours(self.values, self.parameter), limits, log)


def pole_map(models: Any, values: Mapping[str, Any] | None = None) -> PoleMap:
    """Return the poles of models over a parameter, those of each mode followed.

    Parameters
    ----------
    models : LPVModel, LFTModel or sequence of control.StateSpace
    values : mapping of str to array_like or float
        The parameter's name and its values, ``{"arm.mass": np.linspace(1, 3, 50)}``, with fixed values of others as numbers.
        For a sequence of models, whose places are the values by default, one value each.

    Returns
    -------
    PoleMap

    Raises
    ------
    ModelError
        Unless exactly one parameter has several values, as many as there are models; for models with other states.

    Notes
    -----
    Modes are matched by ``|w_i v_j| |w_j v_i|`` of left and right eigenvectors, which is one for a mode that stays the same and
    does not depend on units, and by the relative distance of poles: where two frequencies cross, modes keep their shapes.

    Examples
    --------
    >>> import control, numpy as np, titop as tt
    >>> pairs = [control.ss(np.diag([-1.0 - k, -3.0 + k]), np.ones((2, 1)), np.ones((1, 2)), 0.0) for k in range(3)]
    >>> tt.pole_map(pairs, {"k": [0, 1, 2]}).poles.real.tolist()  # they cross at k = 1
    [[-3.0, -1.0], [-2.0, -2.0], [-1.0, -3.0]]
    """
    title, systems, colours = read_members(models, values)
    for k, system in enumerate(systems):
        refuse_not_finite(f"models[{k}]", system)
    states, periods = ({size(system) for system in systems} for size in (lambda one: len(one.A), lambda one: one.dt or 0.0))
    if len(periods) > 1:
        got = ", ".join(f"{period} s" for period in sorted(periods))
        raise ModelError(Finding("other-sample-time", "models", got, "one sample time", "sample all or none"))
    if len(states) > 1 or not min(states):
        got = f"models with {sorted(states)} states"
        raise ModelError(Finding("bad-shape", "models", got, "models with the same states, one at least", "linearise alike"))
    return PoleMap(title, colours.label, colours.values, track_poles(np.array([system.A for system in systems])))


def track_poles(matrices: Array) -> Array:
    """Return the eigenvalues (n, states) of matrices (n, states, states), matching ones in one column; NaN stays NaN."""
    from scipy.optimize import linear_sum_assignment

    result = np.full(matrices.shape[:2], np.nan, dtype=complex)
    before: tuple[Array, Array, Array] | None = None
    for row, A in zip(result, matrices, strict=True):
        if not np.isfinite(A).all():
            continue
        poles, right = np.linalg.eig(A.astype(complex))
        left = np.linalg.pinv(right)
        order = np.lexsort((poles.imag, poles.real))
        if before is not None:
            old, old_left, old_right = before
            alike = np.minimum(np.abs(old_left @ right) * np.abs(left @ old_right).T, 1.0)
            apart = np.abs(old[:, None] - poles) / (np.abs(old[:, None]) + np.abs(poles) + TINY)
            order = linear_sum_assignment(1.0 - alike + apart)[1]
        before = poles[order], left[order], right[:, order]
        row[:] = before[0]
    return result
