"""Pictures of pointing budgets."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def draw_budget(budget: Any) -> Figure:
    """Draw, for each output, what sources have alone as stacked bars with totals, and the variance of noise by frequency."""
    from matplotlib.figure import Figure

    count, places = len(budget.outputs), np.arange(len(budget.metrics))
    figure = Figure(figsize=(9.5, 3.6 * count), layout="constrained")
    frequencies, variance = budget.density
    shown = (frequencies > 0) & np.isfinite(frequencies)
    for o, (bars, sums) in enumerate(figure.subplots(count, 2, squeeze=False)):
        below = np.zeros(len(places))
        for k, source in enumerate(budget.sources):
            alone = np.where(np.isfinite(budget.by_source[:, o, k]), budget.by_source[:, o, k], 0.0)
            bars.bar(places, alone, bottom=below, width=0.6, label=source)
            below = below + alone
        marks = [("k_", budget.value, "total")]
        marks += [("r_", budget.worst, "worst member")] if budget.members else []
        for style, values, label in [*marks, ("bv", budget.requirement, "required")]:
            if np.isfinite(values[:, o]).any():
                bars.plot(places, values[:, o], style, markersize=10, markeredgewidth=2, label=label)
        unit = f" [{budget.unit[o]}]" if budget.unit[o] else ""
        bars.set(xticks=places, xticklabels=budget.metrics, ylabel=f"{budget.outputs[o]}{unit}", title="each source alone")
        sums.semilogx(frequencies[shown], np.sqrt(variance[o, shown]))
        sums.set_ylim(bottom=0.0)
        for line in budget.lines[0, o, np.isfinite(budget.lines[0, o])].tolist():
            sums.axvline(line, color="0.6", linewidth=0.8)
        for edge in budget.edges:
            sums.axvline(edge, color="0.8", linestyle=":")
        sums.set(xlabel="frequency [Hz]", ylabel=f"sigma of noise below{unit}", title="added up over frequency")
        for axis in (bars, sums):
            axis.grid(alpha=0.3)
        bars.legend(fontsize=7, loc="upper left", bbox_to_anchor=(1.0, 1.0))
    return figure
