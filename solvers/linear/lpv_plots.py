"""Pictures of families of linear models."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from titop.blocks.basics.errors import Finding, ModelError
from titop.blocks.basics.spatial import Array
from titop.blocks.basics.user_input import real_array
from titop.solvers.signals.exported import Signal

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.colors import Normalize
    from matplotlib.figure import Figure


_COLOURS = "viridis"


class Family(Protocol):
    """What pictures show of a family; see `titop.solvers.linear.lpv_model`."""

    @property
    def name(self) -> str: ...
    @property
    def parameters(self) -> dict[str, Array]: ...
    @property
    def units(self) -> dict[str, str]: ...
    @property
    def states(self) -> tuple[Signal, ...]: ...
    @property
    def inputs(self) -> tuple[Signal, ...]: ...
    @property
    def outputs(self) -> tuple[Signal, ...]: ...
    @property
    def A(self) -> Array: ...
    @property
    def B(self) -> Array: ...
    @property
    def C(self) -> Array: ...
    @property
    def D(self) -> Array: ...
    @property
    def valid(self) -> Array: ...

    @property
    def shape(self) -> tuple[int, ...]: ...
    @property
    def eigenvalues(self) -> Array: ...


def draw_poles(family: Family) -> Figure:
    """Return the poles in the complex plane, coloured by the last parameter."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7, 5.5), layout="constrained")
    axis = figure.subplots()
    poles, values = family.eigenvalues, _last_values(family)
    spread = np.broadcast_to(values[..., None], poles.shape)
    axis.axhline(0, color="0.8", linewidth=0.8)
    axis.axvline(0, color="0.5", linewidth=0.8)
    axis.scatter(poles.real, poles.imag, c=spread, cmap=_COLOURS, s=9, linewidths=0, zorder=3)
    axis.set_xlabel("real part [rad/s]")
    axis.set_ylabel("imaginary part [rad/s]")
    axis.set_title(f"poles of {family.name}", fontsize=10)
    axis.grid(alpha=0.3)
    _colour_bar(figure, [axis], family)
    return figure


def draw_bode(family: Family, column: int, row: int, omega: Any) -> Figure:
    """Return gain and phase of all members from one input to one output, coloured by the last parameter."""
    from matplotlib import colormaps
    from matplotlib.figure import Figure

    frequencies = _frequencies(family) if omega is None else _read_frequencies(omega)
    responses = _responses(family, column, row, frequencies)
    colours, norm = colormaps[_COLOURS], _norm(family)
    figure = Figure(figsize=(7, 6), layout="constrained")
    gain, phase = figure.subplots(2, 1, sharex=True, height_ratios=(1.6, 1))
    for response, value in zip(responses, _last_values(family).ravel(), strict=True):
        if np.isfinite(response).all():
            gain.loglog(frequencies, np.abs(response), color=colours(norm(value)), linewidth=1)
            phase.semilogx(frequencies, np.rad2deg(np.unwrap(np.angle(response))), color=colours(norm(value)), linewidth=1)
    source, target = family.inputs[column], family.outputs[row]
    gain.set_title(f"{source.path} [{source.unit}] to {target.path} [{target.unit}]", fontsize=10)
    gain.set_ylabel(f"gain [{target.unit} / ({source.unit})]")
    phase.set_ylabel("phase [deg]")
    phase.set_xlabel("frequency [rad/s]")
    for axis in (gain, phase):
        axis.grid(alpha=0.3, which="both")
    _colour_bar(figure, [gain, phase], family)
    return figure


def _responses(family: Family, column: int, row: int, frequencies: Array) -> Array:
    """Return the frequency responses (points, frequencies)."""
    n, size = int(np.prod(family.shape)), len(family.states)
    A, B = family.A.reshape(n, size, size), family.B.reshape(n, size, -1)[:, :, column, None]
    C, D = family.C.reshape(n, -1, size)[:, row, None, :], family.D.reshape(n, -1, family.D.shape[-1])[:, row, column]
    responses = np.empty((n, len(frequencies)), dtype=complex)
    for k, frequency in enumerate(frequencies):
        responses[:, k] = (C @ np.linalg.solve(1j * frequency * np.eye(size) - A, B))[:, 0, 0] + D
    return responses


def _frequencies(family: Family) -> Array:
    """Return frequencies from a tenth of the slowest to ten times the fastest pole."""
    sizes = np.abs(family.eigenvalues[family.valid])
    sizes = sizes[sizes > 1e-3 * sizes.max(initial=0.0)]
    low, high = (sizes.min(), sizes.max()) if sizes.size else (1.0, 1.0)
    return np.geomspace(0.1 * low, 10 * high, 400)


def _read_frequencies(omega: Any) -> Array:
    numbers = real_array(omega)
    if numbers is None or numbers.ndim != 1 or not numbers.size or not (np.isfinite(numbers) & (numbers > 0)).all():
        raise ModelError(
            Finding("wrong-type", "omega", omega, "positive frequencies (rad/s)", "such as np.geomspace(0.1, 100, 200)")
        )
    return numbers


def _last_values(family: Family) -> Array:
    values = list(family.parameters.values())[-1]
    return np.broadcast_to(values, family.shape)


def _norm(family: Family) -> Normalize:
    from matplotlib.colors import Normalize

    values = list(family.parameters.values())[-1]
    return Normalize(float(values.min()), float(values.max()))


def _colour_bar(figure: Figure, axes: list[Axes], family: Family) -> None:
    from matplotlib.cm import ScalarMappable

    name, unit = list(family.units.items())[-1]
    figure.colorbar(ScalarMappable(_norm(family), _COLOURS), ax=axes, label=f"{name} [{unit}]")
