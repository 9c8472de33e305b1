"""Worst values in time of errors from signals that are known, and from signals that are bounded.

A signal that is straight between times drives ``dx/dt = A x + B u``, integrated by exponentials of A without error; the
integral of the outputs is among the states, so that means over windows have none either. Times are as dense as the modes that
are left need: eight steps a radian, so that a peak between them is higher by 0.2 % at most.

The worst of all signals within a bound b is b times the total variation of the step response: the L1 norm of the impulse
response (Dahleh and Diaz-Bobillo 1995).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from scipy.linalg import expm

from titop.blocks.basics.errors import Finding, ModelError
from titop.blocks.basics.spatial import Array
from titop.blocks.basics.tolerances import CLOSE, SAME, TINY, TYPED
from titop.solvers.linear.matrices import Matrices
from titop.solvers.pointing.error_sources import ErrorSource
from titop.solvers.pointing.spectral_errors import Metric

#: Steps a radian, states that are computed at once, and steps at most.
_DENSE, _CHUNK, _MOST = 8.0, 4096, 2**22
#: Places in a window at which its mean is compared with the signal.
_PLACES = np.linspace(0.0, 1.0, 17)
_UNIT_STEP = (np.zeros(1), np.ones(1))


class TimeResponse:
    """Outputs of a system of one input, at rest before, for a signal that is straight between times.

    `signal`: (times, values); held after its end. `t` (n, s); `y`, `integral` (outputs, n).
    """

    def __init__(self, where: str, system: Matrices, period: float, signal: tuple[Array, Array]) -> None:
        times, values = signal
        if period:
            first, last = np.floor(times[0] / period), np.ceil(times[-1] / period)
            instants = period * np.arange(int(first), int(last) + 1)
            times, values = instants, np.interp(instants + SAME * period, times, values, left=0.0)
        (A, B, C, D), poles = system.balance(), system.poles_in_time(period)
        n, p = len(A), len(C)
        settled = n * period - np.log(TYPED) / np.abs(poles.real).min(initial=np.inf) or 1.0
        rates = np.append(np.diff(values) / np.diff(times), 0.0)
        self._F = np.zeros((n + 2 + p, n + 2 + p))  # states, input, its rate, integrals of outputs
        self._F[:n, :n], self._F[:n, n], self._F[n, n + 1] = A, B[:, 0], 1.0
        self._F[n + 2 :, :n], self._F[n + 2 :, n] = C, D[:, 0]
        self._output, found = self._F[n + 2 :].copy(), []
        state, count = np.zeros(n + 2 + p), 0
        for start, length, u, rate in zip(times, [*np.diff(times), settled], values, rates, strict=True):
            state = np.concatenate([state[:n], [u, rate], state[n + 2 :]])
            for step, steps in [(period, max(round(length / period), 1))] if period else _steps(length, poles):
                count += steps
                if count > _MOST:
                    got, advice = f"more than {_MOST} steps", "reduce the model: its poles are too far apart, or hardly damped"
                    raise ModelError(Finding("too-long", where, got, "a loop that settles", advice))
                every, state = self._run(state, step, steps, period)
                found.append((start + step * np.arange(steps), every))
                start = start + step * steps
        last = self._output @ state
        self.t = np.concatenate([*(t for t, _ in found), [start]])
        y, integral = np.concatenate([states for _, states in found]).reshape(-1, 2, p).transpose(1, 2, 0)
        self.y, self.integral = np.column_stack([y, last]), np.column_stack([integral, state[n + 2 :]])

    def _run(self, state: Array, step: float, steps: int, period: float) -> tuple[Array, Array]:
        """Return outputs and their integrals (steps, 2 outputs) at the beginnings of steps, and the state at their end."""
        p, one = len(self._output), np.eye(len(self._F))
        once = expm(step * self._F)
        if period:
            once = self._F.copy()
            n = len(once) - p - 2
            once[n:] *= period
            once[n:, n:] += one[n:, n:]
        found, powers = [], [once]
        while 2 ** len(powers) <= min(steps, _CHUNK):
            powers.append(powers[-1] @ powers[-1])
        while steps > 0:
            states = state[None]
            for power in powers:
                states = np.concatenate([states, states @ power.T])
            states = states[: min(steps, _CHUNK)]
            found.append(np.hstack([states @ self._output.T, states[:, -p:]]))
            steps, state = steps - len(states), once @ states[-1]
        return np.concatenate(found), state

    def at(self, t: Array) -> Array:
        """Return outputs (outputs, n) at times (s)."""
        return np.array([np.interp(t, self.t, row, left=0.0) for row in self.y])

    def means(self, t: Array, window: float) -> Array:
        """Return the means (outputs, n) over windows that begin at times (s)."""
        late = np.maximum(t[None] + np.array([[window], [0.0]]) - self.t[-1], 0.0)
        ends = np.array([np.interp(t + after, self.t, row) for row in self.integral for after in (window, 0.0)])
        ends = ends.reshape(-1, 2, len(t)) + self.y[:, -1:, None] * late
        return np.asarray((ends[:, 0] - ends[:, 1]) / window)

    def errors(self, metric: Metric, period: float) -> Iterator[Array]:
        """Yield the error that a metric counts (outputs, n) over time, for each place in a window where it matters."""
        window = metric.window
        delays = [0.0, window, metric.separation, window + metric.separation][: 4 if metric.kind == "difference" else 2]
        t = np.sort(np.concatenate([self.t - delay for delay in delays]), kind="stable")
        if metric.kind == "absolute":
            yield self.at(self.t)
        elif metric.kind == "mean":
            yield self.means(t, window)
        elif metric.kind == "difference":
            yield self.means(t + metric.separation, window) - self.means(t, window)
        else:
            for place in _PLACES:
                before = place * (window - period)
                before = period * round(before / period) if period else before
                yield self.at(t + before) - self.means(t, window)


def _steps(length: float, poles: Array) -> Iterator[tuple[float, int]]:
    """Yield lengths (s) and numbers of steps over some time since the input has changed: coarser when fast modes are gone."""
    start, end = 0.0, min(length, _DENSE / np.abs(poles).max(initial=TINY))
    while start < length:
        left = np.abs(poles[-poles.real * start < -np.log(CLOSE)])
        steps = int(np.ceil((end - start) * _DENSE * left.max(initial=0.0))) + 1
        yield (end - start) / steps, steps
        start, end = end, min(2 * end, length)


def worst_in_time(where: str, source: ErrorSource, system: Matrices, period: float, metrics: Sequence[Metric]) -> Array:
    """Return the worst value (metrics, outputs) of a transient, or of what is bounded."""
    response = TimeResponse(where, system, period, source.signal or _UNIT_STEP)

    def size(errors: Array) -> Array:
        if source.kind == "transient":
            return np.abs(errors).max(axis=1)
        return source.size * np.abs(np.diff(errors, axis=1, prepend=0.0)).sum(axis=1)

    return np.array([np.max([size(errors) for errors in response.errors(metric, period)], axis=0) for metric in metrics])
