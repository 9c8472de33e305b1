"""The power iteration for mixed real and complex blocks (Young, Newlin, Doyle 1995, "Let's get real"; Packard, Doyle 1993).

It ends at an uncertainty for which the loop is nearly singular; with other numbers of the real blocks held, or free too.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from titop.blocks.basics.spatial import Array
from titop.solvers.lft.fractions.delta_blocks import DeltaBlock
from titop.solvers.robust.least_size import Singular
from titop.solvers.robust.structure import Structure

#: Steps, and turns of phases until an eigenvalue is real.
_ITERATIONS, _TURNS = 60, 12

#: An eigenvalue of ``M Δ`` counts as real whose imaginary part is below this part of it.
_REAL = 1e-8


def _through(block: DeltaBlock, q: float, x: Array, along: Array) -> Array:
    """Return what a block of size one makes of x, as much along another vector as it can; q if it is real."""
    if block.kind == "full":
        return np.asarray(np.linalg.norm(x) * _unit(along))
    return np.asarray((q if block.kind == "real" else _phase(np.vdot(x, along))) * x)


def iterated(M: Array, structure: Structure, rng: np.random.Generator, held: Sequence[float] | None = None) -> list[Any]:
    """Return the blocks at which the power iteration ends; numbers of real ones, one a block, may be held."""
    rows, columns = structure.shape
    b, w = (rng.normal(size=rows) + 1j * rng.normal(size=rows) for _ in range(2))
    q = [float(rng.choice((-1.0, 1.0))) for _ in structure.blocks] if held is None else [*held]
    for _ in range(_ITERATIONS):
        a = _unit(M @ b)
        z = np.zeros(columns, dtype=complex)
        for k, (block, i, o) in enumerate(zip(structure.blocks, structure.w, structure.z, strict=True)):
            if block.kind == "real" and held is None:
                q[k] = _real_step(q[k], a[o], b[i], w[i])
            z[o] = _through(block, q[k], w[i], a[o])
        w = _unit(M.conj().T @ z)
        b = np.zeros(rows, dtype=complex)
        for k, (block, i, o) in enumerate(zip(structure.blocks, structure.w, structure.z, strict=True)):
            if block.kind == "real" and held is None:
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


def turned(M: Array, structure: Structure, deltas: list[Any]) -> Singular:
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
