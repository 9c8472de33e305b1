"""Exact margins of a loop without uncertainty: gain, phase, delay and disk, from the eigenvalues of pencils, without a grid.

With G from what is added in the loop to what comes back there (of an open loop L, ``G = -L / (1 + L)``), the loop with a factor
f is singular where ``(f - 1) G = 1``. G of a stable loop has no poles on the axis, whatever L has.

- Gain: f is real where ``G(jω) - G(-jω) = 0``; phase: ``|f| = 1`` where ``G(jω) + G(-jω) + 1 = 0``. Both are zeros of a system
  with A and -A, thus eigenvalues of a pencil that inverts nothing.
- Disk (Seiler, Packard, Gahinet 2020): ``f = (1 + (1 - σ) δ / 2) / (1 - (1 + σ) δ / 2)`` with complex δ of size up to
  ``1 / max |S + (σ - 1) / 2|``, S = 1 + G and σ the skew; of several loops at once one over the structured singular value.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.linalg import eigvals
from scipy.optimize import minimize_scalar

from titop.blocks.basics.spatial import Array
from titop.blocks.basics.tolerances import CLOSE, COARSE, NEGLIGIBLE, ROUNDING, SAME, TYPED
from titop.solvers.lft.delta_blocks import DeltaBlock, Structure
from titop.solvers.linear.matrices import Matrices
from titop.solvers.linear.peaks import peak_gain
from titop.solvers.robust.scalings import Centres
from titop.solvers.robust.sweep import sweep
from titop.solvers.robust.upper_bound import upper_bound

#: Steps of Newton's method to a crossing: double ones converge by a half each.
_NEWTON = 40


class LoopMargins(NamedTuple):
    """Margins of one loop, in the unit of time of its system.

    `low`, `high`: factors of its gain between which it is stable; `phase` (rad): lag or lead; `delay`; `disk`: the size of δ;
    the frequencies of each in `omega`: low, high, phase, delay, disk; not a number where there is none.
    """

    low: float
    high: float
    phase: float
    delay: float
    disk: float
    omega: tuple[float, float, float, float, float]


def exact_margins(system: Matrices, skew: float, period: float = 0.0, sides: str = "gpd") -> LoopMargins:
    """Return the margins of a stable loop.

    - `system`: from what is added in the loop to what comes back there: one input, one output;
    - `period`: sample time of what the bilinear map made of a sampled loop, in the system's unit of time, or zero;
    - `sides`: letters of what is asked for: gain, phase (and delay), disk.
    """
    low = high = phase = delay = disk = (np.nan, np.nan)
    if "g" in sides:
        low, high = _gain_margins(system)
    if "p" in sides:
        phase, delay = _phase_margins(system, period)
    if "d" in sides:
        size, peak = peak_gain(offset(system, (1 + skew) / 2))
        disk = 1 / size if size else np.inf, peak
    omega = (low[1], high[1], phase[1], delay[1], disk[1])
    return LoopMargins(low[0], high[0], phase[0], delay[0], disk[0], omega)


def offset(system: Matrices, number: float) -> Matrices:
    """Return a system plus a number times its inputs."""
    return Matrices(system.A, system.B, system.C, system.D + number * np.eye(len(system.D)))


def disk_ranges(disk: float, skew: float) -> tuple[float, float, float]:
    """Return the least and the largest gain, and the phase (rad), of all factors of a disk."""
    inner, outer = 1 - (1 - skew) * disk / 2, 1 - (1 + skew) * disk / 2
    low, high = inner / (1 + (1 + skew) * disk / 2), np.inf if outer <= 0 else (1 + (1 - skew) * disk / 2) / outer
    cosine = low if np.isinf(high) else (1 + low * high) / (low + high)
    if low < 0 and np.isinf(high):
        return 0.0, np.inf, np.pi
    return max(low, 0.0), high, float(np.arccos(np.clip(cosine, -1.0, 1.0)))


def _gain_margins(system: Matrices) -> tuple[tuple[float, float], tuple[float, float]]:
    """Return the nearest factors below and above one at which the loop is singular, zero and infinity without, and where."""
    low, high = (0.0, np.nan), (np.inf, np.nan)
    for omega in [0.0, *_crossings(system, -1.0, 0.0).tolist(), np.inf]:
        G = float(system.response(omega)[0, 0].real)
        factor = 1 + 1 / G if abs(G) > ROUNDING else np.inf
        if 0 < factor < 1 and factor > max(low[0], SAME):
            low = factor, omega
        elif 1 < factor < high[0]:
            high = factor, omega
    return low, high


def _phase_margins(system: Matrices, period: float) -> tuple[tuple[float, float], tuple[float, float]]:
    """Return the smallest lag or lead (rad), and the smallest delay, at which the loop is singular, and where."""
    phase, delay = (np.pi, np.nan), (np.inf, np.nan)
    D = float(system.D[0, 0])
    if not period and D and abs(D) >= abs(1 + D):
        delay = 0.0, np.inf  # the open loop has no less than one at infinity: any delay turns it there
    for omega in _crossings(system, 1.0, 1.0).tolist():
        G = complex(system.response(omega)[0, 0])
        lag = float(-np.angle((1 + G) / G)) % (2 * np.pi)
        if min(lag, 2 * np.pi - lag) < phase[0]:
            phase = min(lag, 2 * np.pi - lag), omega
        true = 2 / period * np.arctan(omega * period / 2) if period else omega
        if omega and lag / true < delay[0]:
            delay = lag / true, omega
    return phase, delay


def _crossings(system: Matrices, sign: float, constant: float) -> Array:
    """Return the frequencies, none negative, at which ``G(jω) + sign G(-jω) + constant`` is zero.

    Eigenvalues near the axis are looked at: by Newton's method they come onto it, or are none.
    """
    A, B, C, D = system
    n = len(A)
    pencil, states = np.zeros((2 * n + 1,) * 2), np.zeros((2 * n + 1,) * 2)
    pencil[:n, :n], pencil[n:-1, n:-1], states[:-1, :-1] = A, -A, np.eye(2 * n)
    into, out = np.linalg.norm(B) or 1.0, np.linalg.norm(C) or 1.0
    pencil[:-1, -1:] = np.vstack([B, B]) / into
    pencil[-1:, :-1] = np.hstack([C, -sign * C]) / out
    pencil[-1, -1] = ((1 + sign) * D[0, 0] + constant) / (into * out)
    top, bottom = eigvals(pencil, states, homogeneous_eigvals=True)
    finite = np.abs(bottom) > ROUNDING * np.abs(top)
    values = top[finite] / bottom[finite]
    near = np.abs(values.real) <= COARSE * np.abs(values)
    found = (_polish(system, sign, constant, float(omega)) for omega in np.abs(values.imag[near]))
    return np.unique([omega for omega in found if omega is not None])


def _polish(system: Matrices, sign: float, constant: float, start: float) -> float | None:
    """Return the frequency near one at which ``G(jω) + sign G(-jω) + constant`` is zero; None where there is none."""
    omega, eye, turn = start, np.eye(len(system.A)), 1j if sign < 0 else 1.0
    best = (np.inf, start)
    for _ in range(_NEWTON):
        inner = np.linalg.solve(1j * omega * eye - system.A, system.B)
        G = complex((system.C @ inner + system.D)[0, 0])
        slope = complex((-1j * system.C @ np.linalg.solve(1j * omega * eye - system.A, inner))[0, 0])
        value, by_omega = (2 * G / turn).real + constant, (2 * slope / turn).real
        best = min(best, (abs(value) / (abs(G) + abs(constant) or 1.0), omega))
        if best[0] <= ROUNDING or not by_omega:
            break
        step = value / by_omega
        omega = omega - step
        if not abs(omega - start) <= NEGLIGIBLE * 100 * start:
            break
    return best[1] if best[0] <= TYPED else None


def margins_together(system: Matrices, skew: float) -> LoopMargins:
    """Return the margins of all loops of a stable system at once: of the disk, proved to 1e-6 or so."""
    size, omega = peak_of_all(offset(system, (1 + skew) / 2))
    disk = 1 / size if size else np.inf
    low, high, phase = disk_ranges(disk, skew)
    return LoopMargins(low, high, phase, np.nan, disk, (omega, omega, omega, np.nan, omega))


def peak_of_all(system: Matrices) -> tuple[float, float]:
    """Return the highest value of mu, with a complex number in each loop, and its frequency."""
    centres = Centres(Structure.of([DeltaBlock.complex(f"loop {k}") for k in range(len(system.D))]))
    first = sweep(centres, system, max(TYPED, float(np.abs(system.D).max())), True, NEGLIGIBLE, progress=False)

    def value(logarithm: float) -> float:
        return upper_bound(centres, system.response(float(np.exp(logarithm))), TYPED**2).level

    omega, height = first.omega, value(np.log(first.omega)) if 0 < first.omega < np.inf else 0.0
    if height:
        around = np.log(omega) + np.array([-0.1, 0.1])
        better = minimize_scalar(lambda x: -value(x), bounds=around, method="bounded", options={"xatol": TYPED})
        height, omega = max((height, omega), (-better.fun, float(np.exp(better.x))))
    else:
        height = upper_bound(centres, system.response(omega), TYPED**2).level
    for tolerance in (TYPED, CLOSE):
        proof = sweep(centres, system, height * (1 + tolerance), tolerance=tolerance, progress=False, known=first.known)
        if proof.proved:
            return proof.level, omega
    return first.bound, omega
