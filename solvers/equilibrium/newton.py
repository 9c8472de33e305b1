"""Roots of equations that may determine their unknowns partly, within bounds: the one near the start.

`newton` takes steps of least norm. Where they end without a root `trust_region` searches farther. Derivatives that nobody knows
are differences (`by_difference`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from titop.blocks.basics.spatial import Array
from titop.blocks.basics.tolerances import CANCELLED, CENTRAL_STEP, COARSE, EXACT, RANK

#: A Newton step shorter than the first, and than this part of the one before, squares its error: the next would be rounding.
_SETTLED, _CONTRACTED = np.sqrt(CANCELLED), COARSE

#: Equations are straight along a step that leaves no more of their residual than this.
_STRAIGHT = 0.1

#: A step that does not reduce the residual is halved so often before it is given up.
_HALVINGS = 6

Function = Callable[[Array], Array]
Bounds = tuple[Array, Array]


@dataclass
class Course:
    """How a search went."""

    strict: bool = False  # it ends as soon as it strays
    strayed: bool = False  # a step was cut, or not shorter than the one before
    moved: bool = False  # it went somewhere


def newton(
    residual: Function,
    derivatives: Function,
    x: Array,
    bounds: Bounds,
    reach: Array,
    iterations: int,
    course: Course | None = None,
    straight: Array | None = None,
    lengths: Array | None = None,
) -> Array:
    """Return the end of Newton steps of least norm from x: a root, or where they do not reduce the residual any more.

    Residuals are infinite where they cannot be evaluated. `reach` (n) is the longest change of each unknown in one step, and
    `straight` (n) in one along which the equations turn out to be straight. `lengths` (n) are what a change of each counts
    where the shortest step is looked for, one by default. The `course` of the search is written down.
    """
    course, straight = course or Course(), reach if straight is None else straight
    values, length = residual(x), np.inf
    for _ in range(iterations):
        step = shortest_step(derivatives(x), values, x, bounds, lengths)
        cut, least = (max(1.0, float((np.abs(step) / longest).max(initial=0.0))) for longest in (reach, straight))
        if least < cut:
            ahead = residual(np.clip(x + step / least, *bounds))
            left = 1.0 - (1.0 - _STRAIGHT) / least
            cut = least if ahead @ ahead <= left**2 * (values @ values) else cut
        step = step / cut
        for halving in range(_HALVINGS):
            trial = np.clip(x + step / 2**halving, *bounds)
            reduced = residual(trial)
            if reduced @ reduced < values @ values:
                break
        else:
            return x
        length, last = float(np.abs(trial - x).max()), length
        course.moved |= length > _SETTLED
        course.strayed |= cut > 1.0 or (halving > 0 and length > _SETTLED) or _SETTLED < last <= length
        x, values = trial, reduced
        if course.strict and course.strayed:
            return x
        if not values.any() or (length < _SETTLED and length < _CONTRACTED * last):
            return x
    return x


def shortest_step(derivatives: Array, values: Array, x: Array, bounds: Bounds, lengths: Array | None = None) -> Array:
    """Return the shortest step that solves the linearised equations best within the bounds; see `newton`."""
    lower, upper = bounds
    lengths = np.ones(len(x)) if lengths is None else lengths
    step, fixed = -shortest_solution(derivatives, values, lengths), np.zeros(len(x), dtype=bool)
    if (x + step >= lower).all() and (x + step <= upper).all():
        return step
    while not fixed.all():
        left = values + derivatives[:, fixed] @ step[fixed]
        step[~fixed] = -shortest_solution(derivatives[:, ~fixed], left, lengths[~fixed])
        beyond = ~fixed & ((x + step < lower) | (x + step > upper))
        if not beyond.any():
            break
        step[beyond] = (np.clip(x + step, lower, upper) - x)[beyond]
        fixed |= beyond
    return step


def shortest_solution(matrix: Array, values: Array, lengths: Array | None = None) -> Array:
    """Return the shortest x of least squares; of square matrices far from singular by their inverse, ten times as fast.

    Rows are brought to one size where they can all be met, and columns too before it is told how far from singular a square
    matrix is: entries of stiff and of soft coordinates differ by any factor, and the soft ones are no zeros. `lengths` (n) are
    what a change of each x counts, one by default.
    """
    count, unknowns = matrix.shape
    rows = np.ones(count)
    if count <= unknowns:
        rows, columns, scaled = equilibrate(matrix)
        inverse = regular_inverse(scaled, RANK)
        if inverse is not None:
            return columns * (inverse @ (rows * values))
    lengths = np.ones(unknowns) if lengths is None else lengths
    return np.linalg.lstsq(rows[:, None] * matrix / lengths, rows * values, rcond=RANK)[0] / lengths


def equilibrate(matrix: Array) -> tuple[Array, Array, Array]:
    """Return the factors of a matrix's rows (m), and then columns (n), by which their largest entries are one, and it (m, n).

    Entries that are rounding beside the largest of their row, or of their column, become zero; rows and columns of nothing else
    keep their size.
    """
    sizes = np.abs(matrix)
    least = CANCELLED * np.maximum(sizes.max(axis=1, keepdims=True, initial=0.0), sizes.max(axis=0, initial=0.0))
    known = np.where(sizes > least, matrix, 0.0)
    rows = _factors(np.abs(known).max(axis=1, initial=0.0))
    known = rows[:, None] * known
    columns = _factors(np.abs(known).max(axis=0, initial=0.0))
    return rows, columns, known * columns


def _factors(sizes: Array) -> Array:
    usable = (sizes > 0.0) & np.isfinite(sizes)
    return np.divide(1.0, sizes, out=np.ones(len(sizes)), where=usable)


def regular_inverse(matrix: Array, part: float) -> Array | None:
    """Return the inverse of a square matrix; None if a singular value may be below this part of the largest."""
    if matrix.shape[0] != matrix.shape[1]:
        return None
    try:
        inverse: Array = np.linalg.inv(matrix)
    except np.linalg.LinAlgError:
        return None
    condition = np.sqrt(np.vdot(matrix, matrix)) * np.sqrt(np.vdot(inverse, inverse))  # of Frobenius, no less than that
    return inverse if condition * part < 1.0 else None


def trust_region(residual: Function, derivatives: Function, x: Array, bounds: Bounds, evaluations: int) -> Array:
    """Return the minimum of the residual that scipy's trust-region method finds from x, within the bounds."""
    from scipy.optimize import least_squares

    if not len(x):
        return x  # nothing is unknown: scipy takes norms of it, which NumPy 2.0 refuses
    exact = {"xtol": EXACT, "ftol": EXACT, "gtol": EXACT, "max_nfev": evaluations}
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):  # steps to where nothing can be evaluated
        minimum: Array = least_squares(residual, x, derivatives, bounds, **exact).x
    return minimum


def by_difference(residual: Function, x: Array, k: int, bounds: Bounds | None = None) -> Array:
    """Return the derivative of residuals by the k-th of x, of second order; zero where the system can be to neither side.

    Differences are taken to both sides where the residuals are finite and x within its bounds, else to one.
    """
    room = np.full(2, np.inf) if bounds is None else np.array([bounds[1][k] - x[k], x[k] - bounds[0][k]])
    step = min(CENTRAL_STEP, float(room.max()) / 2)

    def at(steps: int) -> Array | None:
        if abs(steps) * step > room[0 if steps > 0 else 1]:
            return None
        values = residual(x + steps * step * np.eye(len(x))[k])
        return values if np.isfinite(values).all() else None

    ahead, behind = at(1), at(-1)
    if ahead is not None and behind is not None:
        return (ahead - behind) / (2 * step)
    here = residual(x)
    for sign, near in ((1, ahead), (-1, behind)):
        far = None if near is None else at(2 * sign)
        if near is not None and far is not None:
            return sign * (4 * near - 3 * here - far) / (2 * step)
    return np.zeros(len(here))
