"""Figures over time."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from titop.blocks.basics.spatial import Array

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def plot_over_time(
    t: Array, signals: Mapping[str, Array], errors: Mapping[str, Array] | None = None, columns: int = 3
) -> Figure:
    """Draw each signal over time in a panel of its own.

    Parameters
    ----------
    t : (n,) array, s
    signals : mapping of label to (n,) array
    errors : mapping of label to (n,) array, optional
        Differences to another solution, drawn in red on a second axis.
    columns : int
        Panels in a row.

    Returns
    -------
    matplotlib.figure.Figure
    """
    from matplotlib.figure import Figure

    rows = -(-len(signals) // columns)
    figure = Figure(figsize=(4 * columns, 2.3 * rows), layout="constrained")
    axes = np.atleast_2d(figure.subplots(rows, columns, sharex=True, squeeze=False))
    for axis in axes.flat[len(signals) :]:
        axis.set_visible(False)
    for axis, (label, values) in zip(axes.flat, signals.items(), strict=False):
        axis.plot(t, values, color="black", linewidth=1)
        axis.set_title(label, fontsize=10)
        axis.grid(alpha=0.3)
        if errors and label in errors:
            twin = axis.twinx()
            twin.plot(t, errors[label], color="tab:red", linewidth=0.8)
            twin.tick_params(axis="y", labelcolor="tab:red", labelsize=7)
    for axis in axes[-1]:
        axis.set_xlabel("t [s]")
    return figure
