"""The least maximum of functions that are smooth each: of all peaks of all goals of all members.

Three searches that help each other. `minimise_maximum` takes all pieces near the maximum along: the direction is that of a
quadratic program over them, the curvature that of their Lagrangian at fixed frequencies. `descend` is a quasi-Newton method
that knows the highest piece alone, with a line search for functions with kinks (Lewis and Overton 2013). `sample_gradients`
takes gradients around a point (Burke, Lewis and Overton 2005), where the others stop at a kink that is no minimum.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import nnls

from titop.blocks.basics.spatial import Array
from titop.blocks.basics.tolerances import BALANCED, CLOSE, COARSE, EXACT, NEGLIGIBLE, ONE_SIDED_STEP, TINY

#: Steps over all pieces after which the curvature is measured, by differences of gradients.
_MEASURED = 30


class Piece(NamedTuple):
    """A smooth function near the maximum at a point: its value, gradient (n), term, and frequency."""

    value: float
    gradient: Array
    term: Any = None
    omega: float = 0.0


#: The pieces near the maximum at a point (n), from the highest one down; None where the function is infinite, or known to be
#: above a second argument.
Objective = Callable[..., "list[Piece] | None"]


class Found(NamedTuple):
    """A point (n), and the pieces there."""

    x: Array
    pieces: list[Piece]

    @property
    def value(self) -> float:
        """The maximum."""
        return self.pieces[0].value


def shares(values: Array, gradients: Array, inverse: Array) -> Array:
    """Return shares of pieces in a step (k, of sum one): the multipliers of ``min max_i(f_i + g_i d) + dᵀ H d / 2``.

    Its dual, ``max f λ - (G λ)ᵀ H⁻¹ (G λ) / 2`` over the simplex, is a problem of least squares without negative numbers.
    Raises `LinAlgError` if the inverse of H is not positive.
    """
    count = len(values)
    if count == 1:
        return np.ones(1)
    factor = np.linalg.cholesky((inverse + inverse.T) / 2).T @ gradients
    size = float(np.linalg.norm(factor)) + TINY
    slight = CLOSE * size / np.sqrt(count)
    rows = np.vstack([factor, slight * np.eye(count), size / NEGLIGIBLE * np.ones((1, count))])
    right = np.concatenate([np.zeros(len(factor)), (values - values.max()) / slight, [size / NEGLIGIBLE]])
    if not (np.isfinite(rows).all() and np.isfinite(right).all()):
        raise np.linalg.LinAlgError("infinite gradients")
    try:
        found, _ = nnls(rows, right, maxiter=200 * count)
    except RuntimeError:  # of its iterations
        found = np.zeros(count)
    total = float(found.sum())
    return np.asarray(found / total if total > 0 else np.eye(1, count)[0])


def optimality(pieces: Sequence[Piece], near: float = NEGLIGIBLE) -> float:
    """Return the size of the least combination of the highest pieces' gradients, over the largest: zero at a minimum."""
    active = [piece.gradient for piece in pieces if piece.value >= pieces[0].value * (1 - near)]
    gradients = np.array(active).T
    size = float(np.linalg.norm(gradients, axis=0).max())
    if not size:
        return 0.0
    weights = shares(np.zeros(len(active)), gradients / size, np.eye(len(gradients)))
    return float(np.linalg.norm(gradients @ weights)) / size


def minimise_maximum(objective: Objective, start: Found, steps: int = 150, gain: float = CLOSE * NEGLIGIBLE) -> Found:
    """Return a point with a lower maximum, by steps over all pieces near it.

    - `steps`: at most;
    - `gain`: steps that gain less, in parts of the maximum, several times in a row end the search.
    """
    found, curvature, slow = start, _Curvature(start), 0
    for k in range(steps):
        pieces = found.pieces
        values, gradients = np.array([p.value for p in pieces]), np.array([p.gradient for p in pieces]).T
        try:
            weights = shares(values, gradients, curvature.inverse)
            if k % _MEASURED == _MEASURED // 2:  # updates alone take hundreds of steps where units are far apart
                curvature.measure(objective, found, pieces, weights)
                weights = shares(values, gradients, curvature.inverse)
        except np.linalg.LinAlgError:
            if not curvature.restart(found):
                break
            continue
        slope = gradients @ weights
        direction = -curvature.inverse @ slope
        expected = found.value - float(values @ weights) - float(slope @ direction)
        step = _backtrack(objective, found, direction, expected) if expected > EXACT * abs(found.value) else None
        if step is None:
            if not curvature.restart(found):
                break
            continue
        size, new = step
        curvature.update(size * direction, _slope(pieces, weights, new.pieces) - slope, -size * slope)
        slow = slow + 1 if found.value - new.value < gain * abs(found.value) else 0
        found = new
        if slow >= 5:
            break
    return found


def _backtrack(objective: Objective, found: Found, direction: Array, expected: float) -> tuple[float, Found] | None:
    """Return the size of the first step, of halved ones, that gains a part of what is expected, and what is found there."""
    size = 1.0
    for _ in range(25):
        x, below = found.x + size * direction, found.value - NEGLIGIBLE * size * expected
        pieces = objective(x, below)
        if pieces is not None and pieces[0].value < below:
            return size, Found(x, pieces)
        size /= 2
    return None


def _slope(pieces: Sequence[Piece], weights: Array, others: Sequence[Piece]) -> Array:
    """Return the gradient of a sum of pieces, with their weights, elsewhere."""
    pairs = zip(weights, pieces, strict=True)
    return sum((w * _same_piece(p, others).gradient for w, p in pairs if w), 0.0 * pieces[0].gradient)


def _same_piece(piece: Piece, others: Sequence[Piece]) -> Piece:
    """Return the piece of the same term that is nearest in frequency, or the highest one."""
    same = [other for other in others if other.term == piece.term]
    if not same:
        return others[0]
    return min(
        same, key=lambda other: 0.0 if other.omega == piece.omega else abs(np.arctan(other.omega) - np.arctan(piece.omega))
    )


class _Curvature:
    """An inverse Hessian (n, n), updated by the rule of Broyden, Fletcher, Goldfarb and Shanno."""

    def __init__(self, found: Found) -> None:
        self.restarts = 0
        self._begin(found)

    def _begin(self, found: Found) -> None:
        gradient = found.pieces[0].gradient
        length = max(1.0, float(np.linalg.norm(found.x))) / 10 / (float(np.hypot.reduce(gradient)) + TINY)
        self.inverse, self.fresh = np.eye(len(gradient)) * length, True

    def restart(self, found: Found) -> bool:
        """Begin anew, unless that was just done, or often enough."""
        if self.fresh or self.restarts >= 2:
            return False
        self.restarts += 1
        self._begin(found)
        return True

    def measure(self, objective: Objective, found: Found, pieces: Sequence[Piece], weights: Array) -> None:
        """Take the Hessian by differences of gradients, its directions of less curvature than none the other way round."""
        step, rows, before = ONE_SIDED_STEP * np.maximum(1.0, np.abs(found.x)), [], _slope(pieces, weights, pieces)
        for k, size in enumerate(step):
            moved = found.x.copy()
            moved[k] += size
            others = objective(moved)
            if others is None:
                return
            rows.append((_slope(pieces, weights, others) - before) / size)
        bends, basis = np.linalg.eigh((np.array(rows) + np.array(rows).T) / 2)
        bends = np.abs(bends)
        if bends.max() > 0 and np.isfinite(bends).all():
            self.inverse, self.fresh = (basis / np.maximum(bends, BALANCED * bends.max())) @ basis.T, False

    def update(self, step: Array, change: Array, expected: Array | None = None) -> None:
        """Take in the change of a gradient over a step; with what was expected (H step) it is damped (Powell 1978)."""
        if expected is not None:
            bend = float(step @ expected)
            if step @ change < bend / 5:
                part = 0.8 * bend / (bend - float(step @ change))
                change = part * change + (1 - part) * expected
        along = float(step @ change)
        if along <= 0:
            return
        if self.fresh:
            self.inverse = np.eye(len(step)) * (along / float(change @ change))
            self.fresh = False
        back = self.inverse @ change / along
        self.inverse = self.inverse - np.outer(step, back) - np.outer(back, step)
        self.inverse += (1 + float(change @ back)) / along * np.outer(step, step)


def descend(
    objective: Objective, start: Found, steps: int, gain: float, patience: int, until: float = -np.inf, measured: int = 0
) -> Found:
    """Return a point with a lower maximum, by quasi-Newton steps on the highest piece.

    - `steps`: at most;
    - `gain`, `patience`: so many steps in a row that gain less than this part of the maximum end the search;
    - `until`: a maximum below this ends it;
    - `measured`: after so many steps each the curvature is measured: of a function without kinks.
    """
    found, curvature, slow = start, _Curvature(start), 0
    for k in range(steps):
        if measured and k % measured == 0:
            curvature.measure(objective, found, found.pieces[:1], np.ones(1))
        gradient = found.pieces[0].gradient
        direction = -curvature.inverse @ gradient
        is_down = np.isfinite(direction).all() and gradient @ direction < 0
        new = _weak_wolfe(objective, found, direction) if is_down else None
        if new is None:
            if not curvature.restart(found):
                break
            continue
        curvature.update(new.x - found.x, new.pieces[0].gradient - gradient)
        slow = slow + 1 if found.value - new.value < gain * abs(found.value) else 0
        found = new
        if slow > patience or found.value < until:
            break
    return found


def _weak_wolfe(objective: Objective, found: Found, direction: Array) -> Found | None:
    """Return a point along a direction where the function is lower and its slope less steep, or one that is lower."""
    low, high, size = 0.0, np.inf, 1.0
    slope, best = float(found.pieces[0].gradient @ direction), None
    for _ in range(40):
        x, below = found.x + size * direction, found.value + CLOSE * size * slope
        pieces = objective(x, below)
        if pieces is None or pieces[0].value > below:
            high = size
        else:
            best = Found(x, pieces)
            if pieces[0].gradient @ direction >= 0.9 * slope:
                return best
            low = size
        size = (low + high) / 2 if np.isfinite(high) else 2 * low
        if high - low <= EXACT * high:
            break
    return best


def sample_gradients(objective: Objective, start: Found, rng: np.random.Generator) -> Found:
    """Return a point with a lower maximum, along the least combination of gradients at random points around."""
    found, count = start, len(start.x)
    for part in (10 * COARSE, COARSE, NEGLIGIBLE, CLOSE):
        radius = part * max(float(np.linalg.norm(found.x)) / np.sqrt(count), NEGLIGIBLE)
        for _ in range(15):
            gradients = [p.gradient for p in found.pieces if p.value > found.value * (1 - NEGLIGIBLE)]
            for _ in range(min(2 * count, 24)):
                pieces = objective(found.x + radius * rng.uniform(-1, 1, count))
                if pieces is not None:
                    gradients.append(pieces[0].gradient)
            every = np.array(gradients).T
            least = every @ shares(np.zeros(len(gradients)), every, np.eye(count))
            size = float(np.linalg.norm(least))
            if size * radius < CLOSE * NEGLIGIBLE * abs(found.value):
                break
            step = _backtrack(objective, found, -10 * radius * least / size, NEGLIGIBLE * 10 * radius * size)
            if step is None:
                break
            found = step[1]
    return found
