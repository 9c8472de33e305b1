"""Peaks of a gain over frequency: all that are near the highest one, and a certificate that no higher one was missed.

The gain is the largest singular value of ``C (jω - A)⁻¹ B + D``, times the size of a weight. A controller that is tuned on the
highest peak alone makes others as high, so that all of them are needed. They are found in modal form, where a frequency costs a
product; the certificate is the pencil whose imaginary eigenvalues are the frequencies at which the gain passes a level
(Boyd, Balakrishnan and Kabamba 1989; without inverses as in Benner, Sima and Voigt 2012).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.linalg import eigvals, matrix_balance

from titop.blocks.basics.spatial import Array
from titop.blocks.basics.tolerances import CLOSE, COARSE, NEGLIGIBLE, ROUNDING, SAME, SINGULAR
from titop.solvers.linear.matrices import Matrices

#: Frequencies of the grid, beside those of the poles; it goes so many times beyond the slowest and the fastest one.
_PARTS, _BEYOND = np.linspace(0.0, 1.0, 40), 10.0
#: A local maximum above this part of the highest one is refined: it may be higher than it seems.
REFINED = 0.7
#: A feedthrough of less than this part of a level is inverted, the level itself less it, in the certificate.
_SLIGHT = 0.5
#: How often at most a bracket is cut, on both sides of a parabola's vertex, in parts of the bracket; and the heights in it, in
#: parts of the highest, at which a vertex is known to the square of that.
_ROUNDS, _SIDES, _AROUND, _FLAT = 6, np.array([-0.07, 0.07]), np.array([-1, 0, 1]), CLOSE * COARSE

#: Frequencies (rad/s) between which a gain counts.
Band = tuple[float, float]
EVERYWHERE: Band = (0.0, np.inf)


class Modal(NamedTuple):
    """A stable model in modal form: ``left diag(1 / (jω - poles)) right``, without its feedthrough."""

    poles: Array
    left: Array
    right: Array

    def responses(self, rows: Array, columns: Array, constant: Array, sides: Array | float = 1.0) -> Callable[[Array], Array]:
        """Return a function from frequencies (n, rad/s) to responses (n, rows, columns), a constant added, times `sides`."""
        residues = (self.left[rows].T[:, :, None] * self.right[:, None, columns] * sides).reshape(
            len(self.poles), constant.size
        )
        added = constant * sides

        def at(omega: Array) -> Array:
            result: Array = (1 / (1j * omega[:, None] - self.poles)) @ residues
            return result.reshape(-1, *added.shape) + added

        return at


def largest_gains(responses: Array) -> Array:
    """Return the largest singular value (n) of each response: the root of the largest eigenvalue of ``G Gᴴ`` or ``Gᴴ G``."""
    rows, columns = responses.shape[1:]
    if min(rows, columns) == 1:
        return np.sqrt((np.abs(responses) ** 2).sum(axis=(1, 2)))
    turned = responses.conj().transpose(0, 2, 1)
    squares = responses @ turned if rows <= columns else turned @ responses
    if min(rows, columns) > 2:
        return np.sqrt(np.linalg.eigvalsh(squares)[:, -1])
    one, two = squares[:, 0, 0].real, squares[:, 1, 1].real
    return np.sqrt((one + two) / 2 + np.hypot((one - two) / 2, np.abs(squares[:, 0, 1])))


def frequencies(poles: Array, known: Array, band: Band) -> Array:
    """Return frequencies (rad/s) at which no peak is far: those of the poles, of a grid, and some that are known."""
    sizes = np.abs(poles)
    fastest = float(sizes.max(initial=0.0)) or 1.0
    slowest = max(float(sizes.min(initial=fastest)), NEGLIGIBLE**2 * fastest)
    grid = slowest / _BEYOND * (_BEYOND**2 * fastest / slowest) ** _PARTS
    ends = [end for end in band if np.isfinite(end)]
    every = np.sort(np.concatenate([[0.0], ends, sizes, np.abs(poles.imag), grid, known]))
    return every[np.append(True, every[1:] > every[:-1]) & (every >= band[0]) & (every <= band[1])]


def find_peaks(
    gain: Callable[[Array], Array], bounds: Array, omega: Array, highest: float, near: float, most: int
) -> tuple[Array, Array]:
    """Return frequencies (rad/s) and heights of the local maxima of a gain, from the highest one down.

    - `gain`: maps frequencies (n) to gains (n);
    - `bounds` (n): gains at `omega` where they may matter, below them elsewhere;
    - `omega` (n): in ascending order;
    - `highest`: what counts already; peaks below a part of it are left out;
    - `near`: this part of the highest;
    - `most`: so many peaks at most.
    """
    top = max(float(bounds.max(initial=0.0)), highest)
    padded = np.concatenate([[-1.0], bounds, [-1.0]])
    local = np.flatnonzero((bounds >= padded[:-2]) & (bounds >= padded[2:]) & (bounds >= REFINED * top))
    local = local[np.argsort(-bounds[local], kind="stable")][:most]
    if not len(local) or not top > 0:
        return np.zeros(0), np.zeros(0)
    sides = np.stack([local - 1, local, local + 1], axis=1)
    inside = np.clip(sides, 0, len(omega) - 1)
    brackets = np.where(sides < 0, -omega[inside[:, ::-1]], omega[inside]) if not omega[0] else omega[inside]
    values = bounds[inside[:, ::-1]] * (sides < 0) + bounds[inside] * (sides >= 0)
    places, heights = _refine(gain, brackets, values)
    near_top = heights >= near * max(float(heights.max()), highest)
    order = np.argsort(-heights[near_top], kind="stable")
    return places[near_top][order], heights[near_top][order]


def _refine(gain: Callable[[Array], Array], brackets: Array, values: Array) -> tuple[Array, Array]:
    """Return places and heights of the maxima in brackets (n, 3), all at once; an even gain counts on both sides of zero."""

    def at(omega: Array) -> Array:
        return gain(np.abs(omega).ravel()).reshape(omega.shape)

    peaks = np.arange(len(brackets))[:, None]
    for _ in range(_ROUNDS):
        low, high = brackets[:, :1], brackets[:, 2:]
        both = _vertices(brackets, values)[:, None] + (high - low) * _SIDES
        both = np.minimum(np.maximum(both, low), high)
        every, heights = np.concatenate([brackets, both], axis=1), np.concatenate([values, at(both)], axis=1)
        order = every.argsort(axis=1, kind="stable")
        highest = np.minimum(np.maximum(heights[peaks, order].argmax(axis=1), 1), 3)
        chosen = order[peaks, highest[:, None] + _AROUND]
        brackets, values = every[peaks, chosen], heights[peaks, chosen]
        if (values.min(axis=1) >= values.max(axis=1) * (1 - _FLAT)).all():
            break
    last = _vertices(brackets, values)[:, None]
    every, heights = np.concatenate([brackets, last], axis=1), np.concatenate([values, at(last)], axis=1)
    best = heights.argmax(axis=1)
    return np.abs(every[peaks[:, 0], best]), heights[peaks[:, 0], best]


def _vertices(places: Array, values: Array) -> Array:
    """Return where parabolas (n) through ``1 / values²`` (n, 3), which that of a single resonance is, are lowest."""
    low, middle, high = places.T
    highest = values.max(axis=1, keepdims=True)
    below, here, above = ((highest / np.maximum(values, SINGULAR * highest)) ** 2).T
    left, right, up, down = middle - low, high - middle, above - here, below - here
    bend = left * up + right * down
    shift = (right**2 * down - left**2 * up) / np.where(bend > 0, bend, np.inf) / 2
    return np.minimum(np.maximum(middle + shift, low), high)


def passing_frequencies(system: Matrices, level: float, band: Band = EVERYWHERE) -> Array:
    """Return frequencies (rad/s) at which the gain of a stable model is above a level: some of each range, none if nowhere.

    Nor at a level of zero, that of channels without a connection.

    With the matrices in parts of the level, ``[A, 0, B, 0; 0, -Aᵀ, 0, -Cᵀ; C, 0, D, -1; 0, Bᵀ, -1, Dᵀ]`` is singular, less
    ``s`` in its first two rows, where s = jω and 1 is a singular value of the response. What is near the axis counts as on it:
    the gain itself decides.
    """
    if not level > 0:
        return np.zeros(0)
    A, B, C, D = system
    n, (p, m) = len(A), D.shape
    root = np.sqrt(level)
    pencil, states = np.zeros((2 * n + m + p,) * 2), np.zeros((2 * n + m + p,) * 2)
    x, y, u, z = slice(0, n), slice(n, 2 * n), slice(2 * n, 2 * n + m), slice(2 * n + m, None)
    pencil[x, x], pencil[x, u], pencil[y, y], pencil[y, z] = A, B / root, -A.T, -C.T / root
    pencil[2 * n : 2 * n + p, x], pencil[2 * n : 2 * n + p, u], pencil[2 * n : 2 * n + p, z] = C / root, D / level, -np.eye(p)
    pencil[2 * n + p :, y], pencil[2 * n + p :, u], pencil[2 * n + p :, z] = B.T / root, -np.eye(m), D.T / level
    states[: 2 * n, : 2 * n] = np.eye(2 * n)
    if np.linalg.norm(D) < _SLIGHT * level:  # then what is of no states is eliminated without a loss of digits
        (both, to_both), (from_both, rest) = ([part[:, : 2 * n], part[:, 2 * n :]] for part in np.split(pencil, [2 * n]))
        values = eigvals(both - to_both @ np.linalg.solve(rest, from_both))
    else:
        top, bottom = eigvals(pencil, states, homogeneous_eigvals=True)
        finite = np.abs(bottom) > ROUNDING * np.abs(top)
        values = top[finite] / bottom[finite]
    near = np.abs(values.real) <= NEGLIGIBLE * np.abs(values)
    crossings = np.unique(np.clip(np.abs(values.imag[near]), *band))
    if not len(crossings):
        return crossings
    ends = np.array([end for end in band if np.isfinite(end)])
    every = np.unique(np.concatenate([crossings, (crossings[1:] + crossings[:-1]) / 2, [crossings[0] / 2], ends]))
    every = every[(every >= band[0]) & (every <= band[1])]
    gains = largest_gains(system.responses(1j * every))
    return every[gains > level * (1 + SAME)]


def peak_gain(system: Matrices) -> tuple[float, float]:
    """Return the H-infinity norm of a model in continuous time and the frequency (rad/s) of its peak, certified.

    Levels are raised to the gain at frequencies above them until none is left (Bruinsma and Steinbuch 1990). Infinite of an
    unstable model.
    """
    A, (scales, _) = matrix_balance(system.A, permute=False, separate=True)
    system = Matrices(A, system.B / scales[:, None], system.C * scales, system.D)
    poles, vectors = np.linalg.eig(A)
    if not (poles.real < 0).all() or not system.D.size:
        return (np.inf, np.nan) if system.D.size else (0.0, 0.0)
    modal = Modal(poles, system.C @ vectors, np.linalg.pinv(vectors) @ system.B)
    rows, columns = map(np.arange, system.D.shape)
    responses = modal.responses(rows, columns, system.D)

    def gain(omega: Array) -> Array:
        return largest_gains(system.responses(1j * omega))

    level, place = float(largest_gains(system.D[None])[0]), np.inf
    omega = frequencies(poles, np.zeros(0), EVERYWHERE)
    likely, _ = find_peaks(lambda omega: largest_gains(responses(omega)), largest_gains(responses(omega)), omega, level, 1.0, 3)
    if len(likely) and (heights := gain(likely)).max() > level:
        level, place = float(heights.max()), float(likely[heights.argmax()])
    while level > 0 and len(places := passing_frequencies(system, level)):
        heights = gain(places)
        level, place = float(heights.max()), float(places[heights.argmax()])
    return level, place
