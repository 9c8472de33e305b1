"""Roots of equations that may determine their unknowns partly, with bounds: the one near the start."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from titop.blocks.basics.spatial import Array

#: Singular values below this part of the largest one count as zero: their directions stay as they are.
_RANK = 1e-10

#: Entries below this part of the largest of their row, or of their column, are rounding: no row or column is scaled by them.
_ROUNDING = 1e-14

#: A Newton step shorter than this, and than that part of the one before, squares its error: the next would be rounding.
_SETTLED, _CONTRACTED = 1e-7, 1e-2

#: Equations are straight along a step that leaves no more of their residual than this.
_STRAIGHT = 0.1

#: A step that does not reduce the residual is halved so often before it is given up.
_HALVINGS = 6

Function = Callable[[Array], Array]


@dataclass
class Course:
    """How a search went.

    Attributes
    ----------
    strict : bool
        Whether it ends as soon as it strays.
    strayed : bool
        Whether a step was cut, or not shorter than the one before.
    moved : bool
        Whether it went anywhere.
    """

    strict: bool = False
    strayed: bool = False
    moved: bool = False


def newton(
    residual: Function,
    derivatives: Function,
    x: Array,
    bounds: tuple[Array, Array],
    reach: Array,
    iterations: int,
    course: Course | None = None,
    straight: Array | None = None,
    lengths: Array | None = None,
) -> Array:
    """Return the end of Newton steps of least norm from x: a root, or where they do not reduce the residual any more.

    Parameters
    ----------
    residual : callable
        From x (n) to the equations' residuals, infinite where they cannot be evaluated.
    derivatives : callable
        From x to their derivatives.
    x : (n,) array
        Within the bounds.
    bounds : (n,) arrays
    reach : (n,) array
        Longest change of each unknown in one step.
    iterations : int
    course : Course, optional
        Where it is written down whether the search strayed.
    straight : (n,) array, optional
        Longest change of each unknown in a step along which the equations turn out to be straight; `reach` by default.
    lengths : (n,) array, optional
        What a change of each unknown counts where the shortest step is looked for; one by default.
    """
    course, straight = course or Course(), reach if straight is None else straight
    values, moved = residual(x), np.inf
    for _ in range(iterations):
        step = least_step(derivatives(x), values, x, bounds, lengths)
        cut, least = (max(1.0, float((np.abs(step) / longest).max(initial=0.0))) for longest in (reach, straight))
        if least < cut:
            found = residual(np.clip(x + step / least, *bounds))
            left = 1.0 - (1.0 - _STRAIGHT) / least
            cut = least if found @ found <= left**2 * (values @ values) else cut
        step = step / cut
        for halving in range(_HALVINGS):
            trial = np.clip(x + step / 2**halving, *bounds)
            found = residual(trial)
            if found @ found < values @ values:
                break
        else:
            return x
        moved, last = float(np.abs(trial - x).max()), moved
        course.moved |= moved > _SETTLED
        course.strayed |= cut > 1.0 or (halving > 0 and moved > _SETTLED) or _SETTLED < last <= moved
        x, values = trial, found
        if course.strict and course.strayed:
            return x
        if not values.any() or (moved < _SETTLED and moved < _CONTRACTED * last):
            return x
    return x


def least_step(derivatives: Array, values: Array, x: Array, bounds: tuple[Array, Array], lengths: Array | None = None) -> Array:
    """Return the shortest step that solves the linearised equations best within the bounds; see `newton`."""
    lower, upper = bounds
    counted = np.ones(len(x)) if lengths is None else lengths
    step, fixed = -least_solution(derivatives, values, counted), np.zeros(len(x), dtype=bool)
    if (x + step >= lower).all() and (x + step <= upper).all():
        return step
    while not fixed.all():
        left = values + derivatives[:, fixed] @ step[fixed]
        step[~fixed] = -least_solution(derivatives[:, ~fixed], left, counted[~fixed])
        beyond = ~fixed & ((x + step < lower) | (x + step > upper))
        if not beyond.any():
            break
        step[beyond] = (np.clip(x + step, lower, upper) - x)[beyond]
        fixed |= beyond
    return step


def least_solution(matrix: Array, values: Array, lengths: Array | None = None) -> Array:
    """Return the shortest x of least squares; of square matrices far from singular by their inverse, ten times as fast.

    Rows are brought to one size where they can all be met, and columns too before it is told how far from singular a square
    matrix is: entries of stiff and of soft coordinates differ by any factor, and the soft ones are no zeros. `lengths` (n) are
    what a change of each x counts, one by default.
    """
    count, unknowns = matrix.shape
    rows = np.ones(count)
    if count <= unknowns:
        rows, columns, scaled = of_one_size(matrix)
        inverse = sure_inverse(scaled, _RANK)
        if inverse is not None:
            solution: Array = columns * (inverse @ (rows * values))
            return solution
    counted = np.ones(unknowns) if lengths is None else lengths
    least: Array = np.linalg.lstsq(rows[:, None] * matrix / counted, rows * values, rcond=_RANK)[0] / counted
    return least


def of_one_size(matrix: Array) -> tuple[Array, Array, Array]:
    """Return the factors of a matrix's rows (m), and then columns (n), by which their largest entries are one, and it (m, n).

    Entries that are rounding become zero; rows and columns of nothing else keep their size.
    """
    sizes = np.abs(matrix)
    least = _ROUNDING * np.maximum(sizes.max(axis=1, keepdims=True, initial=0.0), sizes.max(axis=0, initial=0.0))
    known = np.where(sizes > least, matrix, 0.0)
    rows = _factors(np.abs(known).max(axis=1, initial=0.0))
    known = rows[:, None] * known
    columns = _factors(np.abs(known).max(axis=0, initial=0.0))
    return rows, columns, known * columns


def _factors(sizes: Array) -> Array:
    """Return what makes sizes one; one for those that cannot be."""
    usable = (sizes > 0.0) & np.isfinite(sizes)
    return np.divide(1.0, sizes, out=np.ones(len(sizes)), where=usable)


def sure_inverse(matrix: Array, part: float) -> Array | None:
    """Return the inverse of a square matrix; None if a singular value may be below this part of the largest."""
    if matrix.shape[0] != matrix.shape[1]:
        return None
    try:
        inverse: Array = np.linalg.inv(matrix)
    except np.linalg.LinAlgError:
        return None
    condition = np.sqrt(np.vdot(matrix, matrix)) * np.sqrt(np.vdot(inverse, inverse))  # of Frobenius, no less than that
    return inverse if condition * part < 1.0 else None


def trust_region(residual: Function, derivatives: Function, x: Array, bounds: tuple[Array, Array], evaluations: int) -> Array:
    """Return the minimum of the residual that scipy's trust-region method finds from x."""
    from scipy.optimize import least_squares

    lower, upper = bounds
    margin = 1e-6 * np.where(np.isfinite(upper - lower), upper - lower, 1.0)
    inside = np.clip(x, lower + margin, upper - margin)
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):  # steps to where nothing can be evaluated
        found: Array = least_squares(
            residual, inside, derivatives, (lower, upper), xtol=1e-12, ftol=1e-12, gtol=1e-12, max_nfev=evaluations
        ).x
    return found
