"""Pictures of families of linear models."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from titop.blocks.basics.errors import Finding, ModelError
from titop.blocks.basics.spatial import Array
from titop.blocks.basics.tolerances import NEGLIGIBLE
from titop.blocks.basics.user_input import real_array
from titop.solvers.signals.exported import Signal

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.cm import ScalarMappable
    from matplotlib.figure import Figure


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


def draw_poles(poles: Array, name: str, colours: Colours, limits: Any = None, log: bool = False) -> Figure:
    """Draw the poles (..., values, n; rad/s) of a family in the complex plane, with a line for each along the values.

    `limits` are least and greatest real and imaginary parts; with `log`, axes are logarithmic, and linear next to zero.

    Raises
    ------
    ModelError
        For unusable limits.
    """
    from matplotlib.figure import Figure

    window = None if limits is None else real_array(limits)
    if limits is not None and (window is None or window.shape != (4,) or not (window[0] < window[1] and window[2] < window[3])):
        expected, advice = "(least, greatest real part, least, greatest imaginary part)", "such as (-5, 1, 0, 30)"
        raise ModelError(Finding("wrong-type", "limits", limits, expected, advice))
    figure, scale = Figure(figsize=(7, 5.5), layout="constrained"), colours.scale()
    axis = figure.subplots()
    spread = np.broadcast_to(colours.values[..., None], poles.shape)
    axis.axhline(0, color="0.8", linewidth=0.8)
    axis.axvline(0, color="0.5", linewidth=0.8)
    for line in poles.reshape(-1, *poles.shape[-2:]):
        axis.plot(line.real, line.imag, color="0.75", linewidth=0.7, zorder=2)
    axis.scatter(poles.real, poles.imag, c=spread, cmap=scale.cmap, norm=scale.norm, s=9, linewidths=0, zorder=3)
    if log:
        sizes = np.abs(poles[np.isfinite(poles)])
        linear = float(sizes[sizes > NEGLIGIBLE * sizes.max(initial=0.0)].min(initial=1.0))
        axis.set_xscale("symlog", linthresh=linear)
        axis.set_yscale("symlog", linthresh=linear)
    if window is not None:
        axis.set_xlim(window[0], window[1])
        axis.set_ylim(window[2], window[3])
    axis.set_xlabel("real part [rad/s]")
    axis.set_ylabel("imaginary part [rad/s]")
    axis.set_title(f"poles of {name}", fontsize=10)
    axis.grid(alpha=0.3)
    colours.bar(figure, [axis])
    return figure


def draw_bode(responses: Array, frequencies: Array, source: Signal, target: Signal, colours: Colours) -> Figure:
    """Draw gain and phase of responses (members, frequencies; rad/s) from one input to one output; return the figure."""
    from matplotlib.figure import Figure

    figure, scale = Figure(figsize=(7, 6), layout="constrained"), colours.scale()
    gain, phase = figure.subplots(2, 1, sharex=True, height_ratios=(1.6, 1))
    phases = without_jumps(np.rad2deg(np.angle(responses)), 360.0)
    for response, degrees, colour in zip(responses, phases, scale.to_rgba(colours.values.ravel()), strict=True):
        if np.isfinite(response).all():
            gain.loglog(frequencies, np.abs(response), color=colour, linewidth=1)
            phase.semilogx(frequencies, degrees, color=colour, linewidth=1)
    gain.set_title(f"{source.path} [{source.unit}] to {target.path} [{target.unit}]", fontsize=10)
    gain.set_ylabel(f"gain [{target.unit} / ({source.unit})]")
    phase.set_ylabel("phase [deg]")
    phase.set_xlabel("frequency [rad/s]")
    for axis in (gain, phase):
        axis.grid(alpha=0.3, which="both")
    colours.bar(figure, [gain, phase])
    return figure


def without_jumps(values: Array, period: float) -> Array:
    """Return curves (n, k, ...) without jumps of a period along k, all beginning within half a period of the first."""
    curves = np.unwrap(values, period=period, axis=1)
    begins = curves[:, :1]
    sound = begins[np.isfinite(begins).reshape(len(begins), -1).all(axis=1)]
    return curves - period * np.round((begins - sound[:1]) / period) if len(sound) else curves


def frequency_responses(A: Array, B: Array, C: Array, D: Array, frequencies: Array) -> Array:
    """Return the responses (members, frequencies) of stacked models with one input and one output."""
    one = np.eye(A.shape[-1])
    at = [(C @ np.linalg.solve(1j * frequency * one - A, B) + D)[:, 0, 0] for frequency in frequencies]
    return np.stack(at, axis=1)


def frequencies_around(poles: Array) -> Array:
    """Return frequencies from a tenth of the slowest to ten times the fastest pole (rad/s)."""
    sizes = np.abs(poles)
    sizes = sizes[sizes > NEGLIGIBLE * sizes.max(initial=0.0)]
    low, high = (sizes.min(), sizes.max()) if sizes.size else (1.0, 1.0)
    return np.geomspace(0.1 * low, 10 * high, 400)


def read_frequencies(omega: Any) -> Array:
    """Return the frequencies (rad/s) given by a user.

    Raises
    ------
    ModelError
        Unless all are positive.
    """
    numbers = real_array(omega)
    if numbers is None or numbers.ndim != 1 or not numbers.size or not (np.isfinite(numbers) & (numbers > 0)).all():
        expected, advice = "positive frequencies (rad/s)", "such as np.geomspace(0.1, 100, 200)"
        raise ModelError(Finding("wrong-type", "omega", omega, expected, advice))
    return numbers
