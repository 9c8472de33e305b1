"""Uncertainties of least size that make a loop singular, from others nearby.

Coordinates are the numbers of real blocks, sizes and phases of others; what these multiply is turned, for full blocks to the
matrix of rank one that moves the eigenvalue most. Steps are linear programmes: numbers of least size before them with an
eigenvalue of ``M Δ`` at one, by its derivatives. They become shorter where the size does not fall.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import eig
from scipy.optimize import linprog

from titop.blocks.basics.spatial import Array
from titop.blocks.basics.tolerances import EPS, NEGLIGIBLE, TYPED
from titop.solvers.lft.delta_blocks import Structure

#: Programmes, steps of Newton's method after each, and to the last digits.
_PROGRAMMES, _NEWTON, _LAST = 30, 5, 20

#: Longest step of a programme, relative to the largest number, the shortest, and what is left of one that was too long.
_TRUST, _SHORTEST, _SHORTER = 0.5, NEGLIGIBLE, 0.25

#: An eigenvalue of ``M Δ`` this near to one is there but for a step of Newton's method.
_NEAR = float(np.sqrt(EPS))

#: The smallest singular value of ``1 - M Δ`` that is rounding, in parts of what its terms are at most, a row.
_ROUNDING = 100 * EPS


class Singular(NamedTuple):
    """An uncertainty of size ``1 / value`` that makes ``1 - M Δ`` singular; `deltas`, of size one, for each block.

    Of a loop, at a frequency `omega` (rad/s).
    """

    value: float
    deltas: Sequence[Any]
    omega: float = 0.0


#: Nothing that makes a loop singular.
NONE = Singular(0.0, ())


class _Point(NamedTuple):
    """Coordinates, and what is known there of the eigenvalue of ``M Δ`` nearest to one.

    `before` and `after` are its left vector times M and its right vector, of product one with Δ between them, up to the value.
    """

    x: Array
    value: complex
    before: Array
    after: Array


class LeastSize:
    """Searches for the smallest numbers of blocks that make a loop singular.

    `deltas`: numbers of blocks, matrices of rank one of full ones, with which the search begins.
    """

    def __init__(self, M: Array, structure: Structure, deltas: Sequence[Any]) -> None:
        self.M, self.structure = M, structure
        self.real = np.array([b.kind == "real" for b in structure.blocks])
        norms = [d if real else np.linalg.norm(d) for real, d in zip(self.real, deltas, strict=True)]
        pairs = zip(self.real, norms, deltas, strict=True)
        self.directions = [1.0 if real or not norm else d / norm for real, norm, d in pairs]
        self.start = np.concatenate([np.array(norms, dtype=float), np.zeros(int((~self.real).sum()))])

    def run(self) -> Singular:
        """Return the smallest uncertainty met; of value zero if none was."""
        best, trust = NONE, _TRUST
        at = new = self._solve(self.start, _NEWTON)
        for _ in range(_PROGRAMMES):
            found = self._singular(new.x) if abs(new.value - 1) < _NEAR else NONE
            if found.value > best.value * (1 + TYPED):
                best, at, trust = found, self._align(new), min(2 * trust, _TRUST)
            else:
                trust *= _SHORTER
            if trust < _SHORTEST:
                break
            new = self._solve(self._step(at, trust), _NEWTON)
        return best

    def exact(self) -> Singular:
        """Return what makes the loop singular to the last digits next to what nearly does; of value zero if none."""
        at = self._solve(self.start, _LAST)
        found = self._singular(at.x)
        if abs(at.value - 1) > _NEAR or not found.value > _NEAR * np.linalg.norm(self.M, 2):
            return NONE  # where the terms are large, next to singular is not yet an eigenvalue at one
        through = self.M @ self.structure.matrix([d / found.value for d in found.deltas])
        least = np.linalg.norm(np.eye(len(through)) - through, -2)
        return found if least <= _ROUNDING * len(through) * (1 + np.linalg.norm(through, 2)) else NONE

    def _solve(self, x: Array, steps: int) -> _Point:
        """Return the coordinates next to some with the eigenvalue at one, by Newton's method, or those that come nearest."""
        best = at = self._point(x)
        for _ in range(steps):
            equal, wanted = self._equations(at)
            unit = self._units(at.x)
            at = self._point(at.x + unit * np.linalg.lstsq(equal * unit, wanted, rcond=None)[0])
            if not abs(at.value - 1) < abs(best.value - 1):
                break
            best = at
        return best

    def _step(self, at: _Point, trust: float) -> Array:
        """Return the numbers of least size before which the eigenvalue is at one, no longer a step away than is trusted."""
        n, m = len(self.real), len(at.x)
        equal, wanted = self._equations(at)
        reach = trust * self._units(at.x)
        low, high = at.x - reach, at.x + reach
        low[:n] = np.where(self.real, low[:n], np.maximum(low[:n], 0.0))
        sizes, ones = np.eye(n, m), np.ones((n, 1))
        found = linprog(
            [*np.zeros(m), 1.0],
            np.block([[sizes, -ones], [-sizes, -ones]]),
            np.zeros(2 * n),
            np.hstack([equal, np.zeros((2, 1))]),
            wanted + equal @ at.x,
            bounds=[*zip(low, high, strict=True), (0, None)],
        )
        if found.success:
            return np.asarray(found.x[:-1])
        step = np.linalg.lstsq(equal * reach, wanted, rcond=None)[0]
        return np.asarray(at.x + reach * step / max(np.abs(step).max(), 1.0))

    def _align(self, at: _Point) -> _Point:
        """Return the point next to one with full blocks along the eigenvalue's vectors; the others' phases stay."""
        x, n, turns = at.x.copy(), len(self.real), np.flatnonzero(~self.real)
        full = [k for k in turns if self.structure.blocks[k].kind == "full"]
        for k in full:
            left, right = at.before[self.structure.w[k]].conj(), at.after[self.structure.z[k]].conj()
            size = np.linalg.norm(left) * np.linalg.norm(right)
            if size:
                self.directions[k] = np.outer(left, right) / size
                x[n + int(np.searchsorted(turns, k))] = 0.0
        return self._solve(x, _NEWTON) if full else at

    def _units(self, x: Array) -> Array:
        """Return the size of coordinates: of the largest number, and one of phases."""
        n = len(self.real)
        return np.concatenate([np.full(n, np.abs(x[:n]).max()), np.ones(len(x) - n)])

    def _blocks(self, x: Array) -> list[Any]:
        n = len(self.real)
        turns = np.ones(n, dtype=complex)
        turns[~self.real] = np.exp(1j * x[n:])
        return [_real(c * d) for c, d in zip(x[:n] * turns, self.directions, strict=True)]

    def _singular(self, x: Array) -> Singular:
        radius = float(np.abs(x[: len(self.real)]).max())
        return Singular(1 / radius, [d / radius for d in self._blocks(x)]) if radius else NONE

    def _point(self, x: Array) -> _Point:
        values, left, right = eig(self.M @ self.structure.matrix(self._blocks(x)), left=True)
        k = int(np.argmin(np.abs(values - 1)))
        y, v = left[:, k].conj(), right[:, k]
        scale = y @ v
        return _Point(x, complex(values[k]), y @ self.M / (scale if abs(scale) > EPS else 1.0), v)

    def _equations(self, at: _Point) -> tuple[Array, Array]:
        """Return real equations (2, n) and right-hand sides of steps that bring the eigenvalue to one."""
        n, (w, z) = len(self.real), (self.structure.w, self.structure.z)
        turns = np.ones(n, dtype=complex)
        turns[~self.real] = np.exp(1j * at.x[n:])
        after = [d * at.after[o] if np.ndim(d) == 0 else d @ at.after[o] for d, o in zip(self.directions, z, strict=True)]
        along = np.array([t * (at.before[i] @ each) for t, i, each in zip(turns, w, after, strict=True)])
        slope = np.concatenate([along, 1j * (at.x[:n] * along)[~self.real]])
        return np.stack([slope.real, slope.imag]), np.array([(1 - at.value).real, -at.value.imag])


def _real(value: Any) -> Any:
    return value if isinstance(value, np.ndarray) else (float(value.real) if value.imag == 0 else complex(value))
