"""What a motion loses by its energy, and by its dissipated power, integrated as exactly as motions are."""

from __future__ import annotations

from typing import Any

import numpy as np

import titop as tt

#: Nodes of each panel.
_NODES = 12


def balance(
    m: tt.Model, q: Any, v: Any, duration: float, looks: int = 300, panels: int = 40, **given: Any
) -> tuple[float, Any]:
    """Return the energy (J) that a motion loses, and the integral of `Model.dissipated_power` (J).

    By Gauss's rule on so many `panels` between the times at which something begins or ceases to touch, found in `looks`.
    Times are drawn together there, so that powers of depths with fractions become smooth.
    """
    switches = _switches(m, q, v, np.linspace(0.0, duration, looks + 1), **given)
    ends = np.unique([0.0, *switches, duration])
    points, weights = np.polynomial.legendre.leggauss(_NODES)
    x = ((np.arange(panels)[:, None] + 0.5 + 0.5 * points) / panels).ravel()
    lengths = np.diff(ends)[:, None]
    times = (ends[:-1, None] + lengths * x**2 * (3.0 - 2.0 * x)).ravel()
    parts = (lengths * 3.0 * x * (1.0 - x) * np.tile(weights, panels) / panels).ravel()
    run = tt.simulate(m, np.concatenate([[0.0], times, [duration]]), q, v, **given)
    energy = run.energy().sum(axis=1)
    return energy[0] - energy[-1], parts @ m.dissipated_power(run.q[1:-1], run.v[1:-1])


def _switches(m: tt.Model, q: Any, v: Any, times: Any, **given: Any) -> list[float]:
    """Return the times at which gaps pass zero, to a millionth of the time between two looks."""
    if not m.contacts(m.neutral(), np.zeros(m.nv)).names:
        return []
    found = []
    run = tt.simulate(m, times, q, v, **given)
    gaps = run.contacts().gap
    for k in np.flatnonzero((gaps[:-1] * gaps[1:] < 0).any(axis=1)):
        near = np.linspace(times[k], times[k + 1], 102)
        closer = tt.simulate(m, near, run.q[k], run.v[k], **given).contacts().gap
        for i, j in np.argwhere(closer[:-1] * closer[1:] < 0):
            a, b = closer[i, j], closer[i + 1, j]
            found.append(near[i] + (near[i + 1] - near[i]) * a / (a - b))
    return found
