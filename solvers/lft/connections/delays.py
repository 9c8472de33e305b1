"""Delays of controllers' outputs: read, as samples that are kept, and as fractions in continuous time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import factorial
from typing import Any

import numpy as np

from titop.blocks.basics.errors import Finding, ModelError
from titop.blocks.basics.spatial import Array
from titop.solvers.arguments.reading import read_duration
from titop.solvers.lft.connections.labels import positions
from titop.solvers.lft.connections.sampling import Matrices
from titop.solvers.signals.exported import Signal

#: So many samples are kept at most, and a part of a period below this is none.
_MOST, _NOTHING = 1000, 1e-9


def read_delays(delay: Any, outputs: Sequence[str]) -> Array:
    """Return the delay (s) of each output of a controller: one number for all, or numbers by name, zero of others.

    Raises
    ------
    ModelError
        For unknown names, and what are no times.
    """
    if not isinstance(delay, Mapping):
        return np.full(len(outputs), read_duration("delay", delay, zero=True))
    result, known = np.zeros(len(outputs)), [Signal(name, "") for name in outputs]
    for name, value in delay.items():
        at = positions("delay", [name], known)
        result[at] = read_duration(f"delay[{name!r}]", value, zero=True)
    return result


def split_delay(where: str, delay: float, period: float) -> tuple[int, float]:
    """Return a delay (s) as whole sampling periods (s), and the part of one that is left.

    Raises
    ------
    ModelError
        If so many samples are not kept.
    """
    if delay > _MOST * period:
        expected = f"{_MOST} periods at most"
        raise ModelError(Finding("bad-time", where, delay, expected, "check the units: delays are in seconds"))
    whole = int(delay / period + _NOTHING)
    part = delay / period - whole
    return whole, part if part > _NOTHING else 0.0


def tapped(law: Matrices, taps: Sequence[tuple[int, int]]) -> Matrices:
    """Return a sampled system with other outputs: pairs of one of its own, and how many samples ago; those are states."""
    A, B, C, D = law
    n, depth = len(A), np.zeros(len(C), dtype=int)
    for output, ago in taps:
        depth[output] = max(depth[output], ago)
    first = n + np.cumsum([0, *depth])
    size = first[-1]
    now = np.hstack([C, np.zeros((len(C), size - n))])
    grown, driven = np.zeros((size, size)), np.zeros((size, B.shape[1]))
    grown[:n, :n], driven[:n] = A, B
    for output, start, count in zip(range(len(C)), first, depth, strict=False):
        if count:
            grown[start], driven[start] = now[output], D[output]
            grown[start + 1 : start + count, start : start + count - 1] = np.eye(count - 1)
    kept = np.eye(size)
    rows = [kept[first[output] + ago - 1] if ago else now[output] for output, ago in taps]
    direct = [np.zeros(B.shape[1]) if ago else D[output] for output, ago in taps]
    return grown, driven, np.reshape(rows, (len(taps), size)), np.reshape(direct, (len(taps), B.shape[1]))


def pade(order: int, delay: float) -> Matrices:
    """Return the fraction of some order for a delay (s): of gain one at all frequencies, its phase alone is not exact.

    On the imaginary axis it differs from ``e^(-s delay)`` by less than `pade_error`.
    """
    from scipy.signal import tf2ss

    n = order
    above = np.array([factorial(2 * n - k) / (factorial(k) * factorial(n - k)) for k in range(n, -1, -1)])
    A, B, C, D = tf2ss(above * (-1.0) ** np.arange(n, -1, -1), above)
    return A / delay, B / delay, C, D


def pade_error(order: int, phase: float) -> float:
    """Return a bound of the error of `pade` of an `order`, where the delay times the frequency is `phase` (rad).

    The remainder of Pade's fraction of the exponential is an integral with the factor ``n!^2 / ((2 n)! (2 n + 1)!)``, divided
    by a denominator that is not less than one on the imaginary axis.
    """
    n = order
    return min(2.0, factorial(n) ** 2 / (factorial(2 * n) * factorial(2 * n + 1)) * phase ** (2 * n + 1))


def delayed(law: Matrices, delays: Array, order: int) -> Matrices:
    """Return a continuous system, fractions for delays (s) behind its outputs."""
    for k, delay in enumerate(delays):
        if delay:
            A, B, C, D = law
            a, b, c, d = pade(order, float(delay))
            grown = np.block([[A, np.zeros((len(A), order))], [b @ C[[k]], a]])
            out, direct = np.hstack([C, np.zeros((len(C), order))]), D.copy()
            out[[k]], direct[[k]] = np.hstack([d @ C[[k]], c]), d @ D[[k]]
            law = grown, np.vstack([B, b @ D[[k]]]), out, direct
    return law
