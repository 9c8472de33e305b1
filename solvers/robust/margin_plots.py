"""Pictures of stability margins: Nichols charts with what is excluded, disks of factors, margins over a parameter."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from titop.blocks.basics.spatial import Array
from titop.blocks.basics.tolerances import TINY
from titop.solvers.linear.matrices import Matrices

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: Frequencies of a curve, and how far (factor) it goes beyond the poles.
_POINTS, _BEYOND = 600, 30.0
#: Rounds in which points are added, where a curve changes by more than this (rad, and in the logarithm of its gain).
_ROUNDS, _STEP = 6, 0.05
#: Points on the border of a disk.
_BORDER = 361
#: Gains that a Nichols chart shows (dB).
_SHOWN = (-40.0, 40.0)


def disk_border(disk: float, skew: float) -> Array:
    """Return factors on the border of a disk."""
    delta = disk * np.exp(2j * np.pi * np.linspace(0, 1, _BORDER))
    below = 1 - (1 + skew) / 2 * delta
    return np.asarray((1 + (1 - skew) / 2 * delta) / np.where(np.abs(below) > TINY, below, TINY))


def draw_loops(loops: Sequence[str], disks: Array, skew: float, systems: Sequence[tuple[str, Matrices]]) -> Figure:
    """Draw a Nichols chart and a disk of factors for each loop.

    - `loops`: rows of `disks` (n); more than there are in the systems is one for all at once;
    - `systems`: labels, and what comes back in each loop of what is added there.
    """
    from titop.blocks.basics.figure import Figure

    count = len(systems[0][1].D)
    figure = Figure(figsize=(9.5, 4.2 * count), layout="constrained")
    for k, (nichols, factors) in enumerate(figure.subplots(count, 2, squeeze=False, width_ratios=(1.5, 1))):
        for label, system in systems:
            _draw_nichols(nichols, system.part([k], [k]), label)
        for name, disk, style in [(loops[k], disks[k], "-"), *zip(loops[count:], disks[count:], ["--"] * count, strict=False)]:
            border = disk_border(float(disk), skew)
            phase, gain = _on_chart(-1 / border)
            nichols.plot(phase, gain, style, color="tab:red", label=f"excluded, {name}" if k == 0 or style == "-" else None)
            factors.plot(border.real, border.imag, style, color="tab:red", label=f"{name}: {disk:.3g}")
        turn = np.exp(1j * np.linspace(0, 2 * np.pi, _BORDER))
        factors.plot(turn.real, turn.imag, color="0.7", linewidth=0.8)
        factors.plot(1, 0, "k+")
        factors.set(aspect="equal", xlim=(-0.5, 3.5), ylim=(-2, 2), xlabel="real part of the factor", ylabel="imaginary part")
        nichols.plot(-180, 0, "k+")
        nichols.set(
            xlim=(-360, 0), ylim=_SHOWN, xticks=range(-360, 1, 45), xlabel="phase [deg]", ylabel="gain [dB]", title=loops[k]
        )
        for axis in (nichols, factors):
            axis.grid(alpha=0.3)
            axis.legend(fontsize=8)
    return figure


def draw_over(
    loops: Sequence[str], parameters: Mapping[str, Array], gain: Array, phase: Array, delay: Array, disk: Array
) -> Figure:
    """Draw the margins of a grid over its last parameter, with a line for each combination of the others."""
    from titop.blocks.basics.figure import Figure

    name, values = list(parameters.items())[-1]
    figure = Figure(figsize=(7, 9), layout="constrained")
    axes = figure.subplots(4, 1, sharex=True)
    with np.errstate(divide="ignore"):
        tables: list[tuple[str, Array]] = [
            ("gain [dB]", 20 * np.log10(gain)),
            ("phase [deg]", phase),
            ("delay [s]", delay),
            ("disk", disk),
        ]
    for axis, (label, table) in zip(axes, tables, strict=True):
        for k, loop in enumerate(loops):
            rows = table.reshape(-1, len(values), len(loops), *table.shape[table.ndim - (label.startswith("gain")) :])[:, :, k]
            lines = np.where(np.isfinite(rows), rows, np.nan).swapaxes(0, 1).reshape(len(values), -1)
            axis.plot(values, lines, color=f"C{k}", label=[loop, *[None] * (lines.shape[1] - 1)])
        axis.set_ylabel(label)
        axis.grid(alpha=0.3)
    axes[0].legend(fontsize=8)
    axes[-1].set_xlabel(name)
    return figure


def _draw_nichols(axis: Axes, system: Matrices, label: str) -> None:
    """Draw an open loop, ``-G / (1 + G)``."""
    sizes = np.abs(system.poles)
    sizes = sizes[sizes > 0] if np.any(sizes > 0) else np.ones(1)
    omega = np.unique([*np.geomspace(sizes.min() / _BEYOND, sizes.max() * _BEYOND, _POINTS), *sizes.tolist()])
    for _ in range(_ROUNDS):  # sharp resonances need more points
        G = system.responses(1j * omega)[:, 0, 0]
        with np.errstate(divide="ignore", invalid="ignore"):
            loop = -G / (1 + G)
            coarse = np.abs(np.log(loop[1:] / loop[:-1])) > _STEP
        drawn, omega = loop, np.sort([*omega, *np.sqrt(omega[1:] * omega[:-1])[coarse]])
    phase, gain = _on_chart(drawn)
    axis.plot(phase, gain, label=label, linewidth=1.2)


def _on_chart(values: Any) -> tuple[Array, Array]:
    """Return phases (deg) between -360 and 0, broken where they jump, and gains (dB)."""
    phase = np.degrees(np.angle(values)) % -360.0
    gain = 20 * np.log10(np.maximum(np.abs(values), TINY))
    jumps = np.flatnonzero(np.abs(np.diff(phase)) > 180) + 1
    return np.insert(phase, jumps, np.nan), np.insert(gain, jumps, np.nan)
