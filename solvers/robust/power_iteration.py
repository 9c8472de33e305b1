"""Lower bound of mu at a frequency: an uncertainty that makes the loop singular.

The power iteration for mixed real and complex blocks (Young, Newlin, Doyle 1995, "Let's get real"; Packard, Doyle 1993), from
several random starts. What it ends at is made a true solution, an eigenvalue of ``M Δ`` at one, by Newton's method on the
blocks' sizes and phases, which also finds the least size where all blocks are real.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import block_diag, eig
from scipy.optimize import linprog

from titop.blocks.basics.spatial import Array
from titop.solvers.lft.fractions.delta_blocks import DeltaBlock
from titop.solvers.robust.structure import Structure

_ITERATIONS, _STARTS, _TURNS, _PROGRAMMES = 60, 5, 12, 12

#: Longest step of a programme, relative to the largest number.
_TRUST = 0.5

#: By how much the end of the power iteration is shaken before.
_SHAKEN = 0.1

#: An eigenvalue of ``M Δ`` this near to one is there but for rounding.
_REAL = 1e-8


class Singular(NamedTuple):
    """An uncertainty of size ``1 / value`` that makes ``1 - M Δ`` singular; `deltas` for each block."""

    value: float
    deltas: list[Any]


def lower_bound(M: Array, structure: Structure, seed: int = 0) -> Singular:
    """Return a lower bound of mu of a matrix (columns of z, rows of w), zero where nothing is found."""
    rng = np.random.default_rng(seed)
    best = Singular(0.0, [])
    for _ in range(_STARTS):
        deltas = _iterate(M, structure, rng)
        found = [best]
        if len(structure.real) < len(structure.blocks):
            found.append(_turned(M, structure, deltas))
        if structure.real:
            found.append(_programmes(M, structure, deltas, rng))
        best = max(found, key=lambda singular: singular.value)
    return best


def _through(block: DeltaBlock, q: float, x: Array, along: Array) -> Array:
    """Return what a block of size one makes of x, as much along another vector as it can; q if it is real."""
    if block.kind == "full":
        return np.asarray(np.linalg.norm(x) * _unit(along))
    return np.asarray((q if block.kind == "real" else _phase(np.vdot(x, along))) * x)


def _iterate(M: Array, structure: Structure, rng: np.random.Generator) -> list[Any]:
    """Return the blocks at which the power iteration ends."""
    rows, columns = structure.shape
    b, w = (rng.normal(size=rows) + 1j * rng.normal(size=rows) for _ in range(2))
    q = [float(rng.choice((-1.0, 1.0))) for _ in structure.blocks]
    for _ in range(_ITERATIONS):
        a = _unit(M @ b)
        z = np.zeros(columns, dtype=complex)
        for k, (block, i, o) in enumerate(zip(structure.blocks, structure.w, structure.z, strict=True)):
            if block.kind == "real":
                q[k] = _real_step(q[k], a[o], b[i], w[i])
            z[o] = _through(block, q[k], w[i], a[o])
        w = _unit(M.conj().T @ z)
        b = np.zeros(rows, dtype=complex)
        for k, (block, i, o) in enumerate(zip(structure.blocks, structure.w, structure.z, strict=True)):
            if block.kind == "real":
                q[k] = _real_step(q[k], a[o], b[i], w[i])
            b[i] = _through(block, q[k], a[o], w[i])
        if not (np.isfinite(b).all() and b.any() and w.any()):
            b, w = (rng.normal(size=rows) + 1j * rng.normal(size=rows) for _ in range(2))
    deltas: list[Any] = []
    for k, (block, i, o) in enumerate(zip(structure.blocks, structure.w, structure.z, strict=True)):
        if block.kind == "full":
            deltas.append(np.outer(_unit(w[i]), _unit(a[o]).conj()))
        else:
            deltas.append(complex(_phase(np.vdot(a[o], w[i]))) if block.kind == "complex" else q[k])
    return deltas


def _real_step(q: float, a: Array, b: Array, w: Array) -> float:
    """Return a real block's next value; a value inside its range stays where the iteration is indifferent to it."""
    size = np.linalg.norm(a)
    step = (np.sign(q) or 1.0) * (np.linalg.norm(b) / size if size else 1.0) + float(np.vdot(a, w).real)
    return float(np.clip(step, -1.0, 1.0))


def _unit(x: Array) -> Array:
    size = np.linalg.norm(x)
    return x / size if size else x


def _phase(number: Any) -> Any:
    return number / abs(number) if number else 1.0


def _turned(M: Array, structure: Structure, deltas: list[Any]) -> Singular:
    """Return the blocks with the phase of the complex ones turned until the largest eigenvalue is real."""
    angle, best = 0.0, Singular(0.0, [])
    for _ in range(_TURNS):
        turn = np.exp(-1j * angle)
        own = [d if b.kind == "real" else d * turn for d, b in zip(deltas, structure.blocks, strict=True)]
        values = np.linalg.eigvals(M @ structure.matrix(own))
        real = values.real[(np.abs(values.imag) <= _REAL * np.abs(values)) & (values.real > 0)]
        if len(real) and real.max() > best.value:
            best = Singular(float(real.max()), own)
        angle += float(np.angle(values[np.argmax(values.real)]))
    return best


def _programmes(M: Array, structure: Structure, deltas: list[Any], rng: np.random.Generator) -> Singular:
    """Return what Newton's method makes of blocks: numbers of least size before them with an eigenvalue of ``M Δ`` at one.

    Each step is a linear programme. A complex block's number is complex, its size below that of a polygon about it.
    """
    directions, columns, sides = _directions(structure, deltas)
    x = np.concatenate([np.array([float(d)] if c == 1 else [1.0, 0.0]) for c, d in zip(columns, deltas, strict=True)])
    x = x + _SHAKEN * rng.normal(size=len(x))
    value = _nearest(M, structure, directions, columns, x, 0.0)[0]
    x = x / max(abs(value), _REAL)
    n, best = len(x), Singular(0.0, [])
    for _ in range(_PROGRAMMES):
        value, slope = _nearest(M, structure, directions, columns, x, 1.0)
        if abs(value - 1) < _REAL:
            numbers = _numbers(columns, x)
            radius = float(np.abs(numbers).max())
            if 1 / radius > best.value:
                best = Singular(1 / radius, [_real(c / radius * d) for c, d in zip(numbers, directions, strict=True)])
        equal = np.stack([slope.real, slope.imag])
        wanted = np.array([(1 - value).real, -value.imag])
        trust = _TRUST * np.abs(x).max()
        found = linprog(
            [*np.zeros(n), 1.0],
            np.hstack([sides, -np.ones((len(sides), 1))]),
            np.zeros(len(sides)),
            np.hstack([equal, np.zeros((2, 1))]),
            wanted + equal @ x,
            bounds=[*((c - trust, c + trust) for c in x), (0, None)],
        )
        if found.success:
            x = found.x[:-1]
        else:
            step = np.linalg.lstsq(equal, wanted, rcond=None)[0]
            x = x + step * (trust / max(np.abs(step).max(), trust))
    return best


def _directions(structure: Structure, deltas: list[Any]) -> tuple[list[Any], list[int], Array]:
    """Return what multiplies the blocks' numbers, how many columns each has, and the sides of polygons about them."""
    directions = [1.0 if b.kind == "real" else d for b, d in zip(structure.blocks, deltas, strict=True)]
    columns = [1 if b.kind == "real" else 2 for b in structure.blocks]
    around = np.pi / 4 * np.arange(8)
    polygon = np.stack([np.cos(around), np.sin(around)], axis=1)
    return directions, columns, block_diag(*([[1.0], [-1.0]] if c == 1 else polygon for c in columns))


def _numbers(columns: list[int], x: Array) -> Array:
    at = np.cumsum([0, *columns[:-1]])
    return np.array([x[k] + (1j * x[k + 1] if c == 2 else 0.0) for k, c in zip(at, columns, strict=True)])


def _real(value: Any) -> Any:
    return value if isinstance(value, np.ndarray) else (float(value.real) if value.imag == 0 else complex(value))


def _nearest(
    M: Array, structure: Structure, directions: list[Any], columns: list[int], x: Array, goal: float
) -> tuple[complex, Array]:
    """Return the eigenvalue of ``M Δ`` nearest to one, or the largest if the goal is zero, and its derivatives by numbers."""
    blocks = [c * d for c, d in zip(_numbers(columns, x), directions, strict=True)]
    values, left, right = eig(M @ structure.matrix(blocks), left=True)
    k = int(np.argmin(np.abs(values - 1)) if goal else np.argmax(np.abs(values)))
    y, v = left[:, k].conj(), right[:, k]
    before, scale = y @ M, y @ v
    slope = []
    for d, c, w, z in zip(directions, columns, structure.w, structure.z, strict=True):
        along = before[w] @ (d * v[z] if np.ndim(d) == 0 else d @ v[z])
        slope += [along, 1j * along][:c]
    return complex(values[k]), np.array(slope) / (scale if abs(scale) > np.finfo(float).eps else 1.0)
