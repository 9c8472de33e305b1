"""Uncertainties of least size that make a loop singular, from others nearby.

What multiplies the blocks' numbers stays: one of real and complex blocks, a matrix of rank one of full ones. Steps are linear
programmes: numbers of least size before them with an eigenvalue of ``M Δ`` at one, by its derivatives. A complex block's number
is complex, its size below that of a polygon about it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import block_diag, eig
from scipy.optimize import linprog

from titop.blocks.basics.spatial import Array
from titop.solvers.robust.structure import Structure

#: Programmes, and steps of Newton's method to the last digits.
_PROGRAMMES, _LAST = 12, 20

#: Longest step of a programme, relative to the largest number.
_TRUST = 0.5

#: An eigenvalue of ``M Δ`` this near to one is there but for some steps of Newton's method.
_NEAR = 1e-8

#: The smallest singular value of ``1 - M Δ`` that is rounding, in parts of what its terms are at most, a row.
_ROUNDING = 100 * float(np.finfo(float).eps)


class Singular(NamedTuple):
    """An uncertainty of size ``1 / value`` that makes ``1 - M Δ`` singular; `deltas`, of size one, for each block."""

    value: float
    deltas: list[Any]


class LeastSize:
    """Searches for the smallest numbers of blocks that make a loop singular.

    Parameters
    ----------
    M : array (columns of z, rows of w)
    structure : Structure
    deltas : sequence
        What the numbers of complex and full blocks multiply, and numbers of real ones.

    Attributes
    ----------
    start : array
        The coordinates of these: numbers of real blocks; real and imaginary parts of others, one.
    """

    def __init__(self, M: Array, structure: Structure, deltas: Sequence[Any]) -> None:
        self.M, self.structure = M, structure
        self.directions = [1.0 if b.kind == "real" else d for b, d in zip(structure.blocks, deltas, strict=True)]
        self.columns = [1 if b.kind == "real" else 2 for b in structure.blocks]
        around = np.pi / 4 * np.arange(8)
        polygon = np.stack([np.cos(around), np.sin(around)], axis=1)
        self.sides = block_diag(*([[1.0], [-1.0]] if c == 1 else polygon for c in self.columns))

        pairs = zip(self.columns, deltas, strict=True)
        self.start = np.concatenate([np.array([float(d)] if c == 1 else [1.0, 0.0]) for c, d in pairs])

    def run(self, x: Array) -> Singular:
        """Return the smallest uncertainty met from coordinates of any size; of value zero if none was."""
        x = x / max(abs(self._nearest(x, 0.0)[0]), _NEAR)
        best = Singular(0.0, [])
        for _ in range(_PROGRAMMES):
            value, slope = self._nearest(x, 1.0)
            if abs(value - 1) < _NEAR:
                best = max(best, self._singular(x), key=lambda found: found.value)
            x = self._step(x, value, slope)
        return best

    def exact(self, x: Array) -> Singular:
        """Return what makes the loop singular to the last digits next to coordinates that nearly do; of value zero if none."""
        best, error = x, np.inf
        for _ in range(_LAST):
            value, slope = self._nearest(x, 1.0)
            if not abs(value - 1) < error:
                break
            best, error = x, abs(value - 1)
            x = x + np.linalg.lstsq(*_equations(value, slope), rcond=None)[0]
        result = self._singular(best)
        return result if self._is_singular(result) else Singular(0.0, [])

    def _is_singular(self, found: Singular) -> bool:
        if not found.value > _NEAR * np.linalg.norm(self.M, 2):
            return False
        through = self.M @ self.structure.matrix([d / found.value for d in found.deltas])
        least = np.linalg.norm(np.eye(len(through)) - through, -2)
        return bool(least <= _ROUNDING * len(through) * (1 + np.linalg.norm(through, 2)))

    def _step(self, x: Array, value: complex, slope: Array) -> Array:
        """Return the numbers of least size before which the eigenvalue is at one, no longer a step away than is trusted."""
        n = len(x)
        equal, wanted = _equations(value, slope)
        trust = _TRUST * np.abs(x).max()
        found = linprog(
            [*np.zeros(n), 1.0],
            np.hstack([self.sides, -np.ones((len(self.sides), 1))]),
            np.zeros(len(self.sides)),
            np.hstack([equal, np.zeros((2, 1))]),
            wanted + equal @ x,
            bounds=[*((c - trust, c + trust) for c in x), (0, None)],
        )
        if found.success:
            return np.asarray(found.x[:-1])
        step = np.linalg.lstsq(equal, wanted, rcond=None)[0]
        return np.asarray(x + step * (trust / max(np.abs(step).max(), trust)))

    def _numbers(self, x: Array) -> Array:
        at = np.cumsum([0, *self.columns[:-1]])
        return np.array([x[k] + (1j * x[k + 1] if c == 2 else 0.0) for k, c in zip(at, self.columns, strict=True)])

    def _singular(self, x: Array) -> Singular:
        """Return the uncertainty of coordinates."""
        numbers = self._numbers(x)
        radius = float(np.abs(numbers).max())
        return Singular(1 / radius, [_real(c / radius * d) for c, d in zip(numbers, self.directions, strict=True)])

    def _nearest(self, x: Array, goal: float) -> tuple[complex, Array]:
        """Return the eigenvalue of ``M Δ`` nearest to one, or the largest if the goal is zero, and its derivatives."""
        blocks = [c * d for c, d in zip(self._numbers(x), self.directions, strict=True)]
        values, left, right = eig(self.M @ self.structure.matrix(blocks), left=True)
        k = int(np.argmin(np.abs(values - 1)) if goal else np.argmax(np.abs(values)))
        y, v = left[:, k].conj(), right[:, k]
        before, scale = y @ self.M, y @ v
        slope = []
        for d, c, w, z in zip(self.directions, self.columns, self.structure.w, self.structure.z, strict=True):
            along = before[w] @ (d * v[z] if np.ndim(d) == 0 else d @ v[z])
            slope += [along, 1j * along][:c]
        return complex(values[k]), np.array(slope) / (scale if abs(scale) > np.finfo(float).eps else 1.0)


def _equations(value: complex, slope: Array) -> tuple[Array, Array]:
    """Return real equations (2, n) and right-hand sides of steps that bring an eigenvalue to one."""
    return np.stack([slope.real, slope.imag]), np.array([(1 - value).real, -value.imag])


def _real(value: Any) -> Any:
    return value if isinstance(value, np.ndarray) else (float(value.real) if value.imag == 0 else complex(value))
