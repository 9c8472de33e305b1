"""Laws of blocks by their matrices, by interpolation: for one twist of the parent port, for any, and of uncertain lengths.

On what spins at an uncertain rate, or about an uncertain axis, the twist V stands in the slopes and efforts of a law as a
polynomial of second degree, as gyroscopic terms do in Lagrange's equations: with V0 that in the middle of all ranges and
``v = V - V0``,

    law(V) = law(V0) + sum_i v_i L_i + sum_ij v_i v_j Q_ij,     i <= j,

exactly; L and Q follow from the law at a few twists.

A coordinate of a block whose coordinates scale with its parameters is that of the loop times its column's scale; the effort on
it counts times its row's (`titop.blocks.bodies.beam_matrices` has those of beams). Then the law is ``R(l) N(l) C(l)``, the
diagonals C and R of powers of the length, N of first degree; and beside it stiffness and damping on the own coordinates.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import combinations_with_replacement
from typing import NamedTuple, Protocol

import numpy as np

from titop.blocks.basics.errors import Finding, ModelError
from titop.blocks.basics.spatial import Array
from titop.blocks.basics.tolerances import EXACT, SAME
from titop.blocks.contract.block import Block
from titop.blocks.contract.description import CoordinateScaling
from titop.solvers.lft.loops import LinearLoop, Signals, stack, zeros
from titop.solvers.lft.other_values import ChangedBlock, LawPoint, law_matrices, vectors_of_law
from titop.solvers.lft.polynomials import Polynomial
from titop.solvers.lft.steps import Change, Rest

#: Pairs of entries of a twist, and these among all products (21, 36).
_PAIRS = tuple(combinations_with_replacement(range(6), 2))
_CHOSEN = np.eye(36)[[6 * i + j for i, j in _PAIRS]]

#: From a twist (6), and values of the block's own deltas, to slopes and, in the last column, efforts (6 + n, m + 1).
LawAt = Callable[[Array, Mapping[str, float]], Array]


class UncertainLaw(Protocol):
    """What the passes ask of a block's law."""

    def at_rest(self, constants: LinearLoop, rest: Rest) -> Signals:
        """Return wrench and efforts (6 + n) at the operating point."""

    def change(self, loop: LinearLoop, constants: LinearLoop, rest: Rest, change: Change) -> Signals:
        """Return their small change."""


class MatrixLaw(NamedTuple):
    """A law by its matrices, polynomials in the block's uncertain parameters.

    `slopes`: by ``[A; a; q; v; V; xi]``, (6 + n, 18 + 3 n), about the operating point; `efforts`: at the operating point (6 +
    n, 1); `by_acceleration` (n, 6 + n, 6): how the slope by each coordinate changes with the acceleration of the parent port;
    `middle` (6): that acceleration, where all deltas are zero.
    """

    slopes: Polynomial
    efforts: Polynomial
    by_acceleration: Array
    middle: Array

    def at_rest(self, constants: LinearLoop, rest: Rest) -> Signals:
        one = Signals(np.ones((1, 1)))
        return self.efforts.apply(constants, one) + self.slopes.columns(slice(6)).apply(
            constants, _beyond(rest.acceleration, self.middle)
        )

    def change(self, loop: LinearLoop, constants: LinearLoop, rest: Rest, change: Change) -> Signals:
        moved = stack(change.acceleration, change.a, change.q, change.v, change.twist, change.displacement)
        beyond = _beyond(rest.acceleration, self.middle)
        if not len(change.q) or not constants.channels_of(beyond):
            return self.slopes.apply(loop, moved)
        return self.slopes.apply(loop, moved) + loop.bilinear(constants, self.by_acceleration, beyond, change.q)


def _beyond(signal: Signals, middle: Array) -> Signals:
    """Return by how much uncertain constants differ from those in the middle."""
    rows = signal.pad(1).copy()
    rows[:, 0] -= middle
    return Signals(rows)


class SpunLaw(NamedTuple):
    """A law, and what the twist of its parent port adds where it is another than in the middle of all ranges.

    `law`: at that in the middle; `middle` (6): that; `linear` (6, 6 + n, m + 1): L of each entry; `quadratic` (21, 6 + n, m +
    1): Q of each pair.
    """

    law: UncertainLaw
    middle: Array
    linear: Array
    quadratic: Array

    def at_rest(self, constants: LinearLoop, rest: Rest) -> Signals:
        powers = self._powers(constants, rest)
        added = np.concatenate([self.linear, self.quadratic])[:, :, -1].T
        return self.law.at_rest(constants, rest) + added @ powers

    def change(self, loop: LinearLoop, constants: LinearLoop, rest: Rest, change: Change) -> Signals:
        still = zeros(6)
        moved = stack(change.acceleration, change.a, change.q, change.v, still, change.displacement)
        added = np.concatenate([self.linear, self.quadratic])[:, :, :-1].transpose(2, 1, 0)
        acting = np.flatnonzero(added.any(axis=(1, 2)))
        more = loop.bilinear(constants, added[acting], self._powers(constants, rest), moved[acting])
        total = self.law.change(loop, constants, rest, change)
        # what the twist adds to the slopes by itself is the second derivative of the efforts: products stand in it alike
        by_twist = self.linear[:, :, -13:-7]
        slopes = by_twist.transpose(1, 0, 2)
        products = slopes.reshape(len(slopes), 36) / 2 @ change.products - np.tensordot(self.middle, by_twist, 1) @ change.twist
        return total + more + products if len(acting) else total + products

    def _powers(self, constants: LinearLoop, rest: Rest) -> Signals:
        """Return how much the twist differs from that in the middle, and the products of these numbers."""
        middle = self.middle
        both = np.kron(np.eye(6), middle[:, None]) + np.kron(middle[:, None], np.eye(6))
        products = (rest.products - both @ rest.twist).pad(1).copy()
        products[:, 0] += np.outer(middle, middle).ravel()
        return stack(_beyond(rest.twist, middle), _CHOSEN @ Signals(products))


def spun_law(
    law: UncertainLaw, law_at: LawAt, middle: Array, deltas: Sequence[str], spins: Sequence[str], block: str
) -> SpunLaw:
    """Return the law of a block for any twist of its parent port.

    `law`: at the twist in the middle; `deltas`: on which the law depends itself; `spins`: on which the twist depends; `block`:
    its name.

    Raises `ModelError` naming the spins, for laws that are no such polynomial, or whose L and Q depend on the block's own
    parameters.
    """
    linear, quadratic = _coefficients(law_at, middle, {})
    step, columns = np.random.default_rng(6).uniform(-1.0, 1.0, 6) * _size(middle), np.concatenate([linear, quadratic])
    powers = np.concatenate([step, [step[i] * step[j] for i, j in _PAIRS]])
    right = law_at(middle + step, {})
    found = law_at(middle, {}) + np.tensordot(powers, columns, 1)
    why = "" if _alike(found, right) else "is no quadratic function of its twist"
    for delta in deltas:
        other = np.concatenate(_coefficients(law_at, middle, {delta: 0.7}))
        if not _alike(np.tensordot(powers, other, 1), np.tensordot(powers, columns, 1)):
            why = f"changes with its twist in a way that depends on {delta}"
    if why:
        expected, advice = f"a twist of {block}, whose law {why}, that is certain", "keep it fixed, or sample it with tt.lpv"
        raise ModelError([Finding("not-rational", "parameters", name, expected, advice) for name in spins])
    return SpunLaw(law, middle, linear, quadratic)


def _coefficients(law_at: LawAt, middle: Array, values: Mapping[str, float]) -> tuple[Array, Array]:
    """Return L (6, ...) and Q (21, ...)."""
    size, units = _size(middle), np.eye(6)
    still = law_at(middle, values)
    ahead, behind = (np.array([law_at(middle + sign * size * unit, values) for unit in units]) for sign in (1.0, -1.0))
    linear = (ahead - behind) / (2 * size)
    quadratic = []
    for i, j in _PAIRS:
        if i == j:
            quadratic.append((ahead[i] + behind[i] - 2 * still) / (2 * size**2))
        else:
            both = law_at(middle + size * (units[i] + units[j]), values)
            quadratic.append((both - ahead[i] - ahead[j] + still) / size**2)
    found = (linear * size, np.array(quadratic) * size**2)
    largest = np.abs([still, *ahead]).max(axis=(0, 1), initial=0.0)
    cut = [np.where(np.abs(part) > EXACT * largest, part, 0.0) for part in found]
    return cut[0] / size, cut[1] / size**2


def _size(middle: Array) -> float:
    """Return by how much a twist is changed: as large as it is, or one."""
    return float(np.abs(middle).max()) or 1.0


def _alike(one: Array, other: Array) -> bool:
    largest = np.abs(other).max(axis=0, keepdims=True, initial=0.0)
    return bool((np.abs(one - other) <= SAME * np.maximum(largest, SAME * np.abs(other).max(initial=0.0))).all())


# -- uncertain lengths -------------------------------------------------------------------------------------------------------


def scale_matrices(matrices: Array, scales: CoordinateScaling | None) -> Array:
    """Return slopes (6 + n, 18 + 3n) and efforts of a law, side by side, in scaled coordinates."""
    if scales is None:
        return matrices
    unit = np.ones(6)
    columns = np.concatenate([unit, *(scales.columns,) * 3, unit, unit, [1.0]])
    return np.concatenate([unit, scales.rows])[:, None] * matrices * columns


class LengthLaw(NamedTuple):
    """``R(l) N C(l)`` and stiffness and damping.

    - `length` (1, 1): one in the middle of its range;
    - `rows`, `columns` (6 + n) and (12 + 3n): powers in R, and in C for ``[A; a; q; v; V]``;
    - `slopes`, `efforts`: N, and at the operating point (6 + n, 1);
    - `still` (6 + n, 2n): by ``[q; v]`` of the beam at rest without load;
    - `middle` (6): acceleration of the parent port where all deltas are zero.
    """

    length: Polynomial
    rows: Array
    columns: Array
    slopes: Polynomial
    efforts: Polynomial
    still: Polynomial
    middle: Array

    def at_rest(self, constants: LinearLoop, rest: Rest) -> Signals:
        scaled = self._times(constants, _beyond(rest.acceleration, self.middle), self.columns[:6])
        efforts = self.efforts.apply(constants, Signals(np.ones((1, 1))))
        return self._times(constants, efforts + self.slopes.columns(slice(6)).apply(constants, scaled), self.rows)

    def change(self, loop: LinearLoop, constants: LinearLoop, rest: Rest, change: Change) -> Signals:
        moved = stack(change.acceleration, change.a, change.q, change.v, change.twist)
        total = self.slopes.apply(loop, self._times(loop, moved, self.columns))
        return self._times(loop, total, self.rows) + self.still.apply(loop, stack(change.q, change.v))

    def _times(self, loop: LinearLoop, signal: Signals, powers: Array) -> Signals:
        for power in range(1, int(powers.max()) + 1):
            longer = (powers >= power).astype(float)
            scaled = self.length.transform(lambda length, longer=longer: length * np.diag(longer))  # type: ignore[misc]
            signal = scaled.apply(loop, signal) + np.diag(1.0 - longer) @ signal
        return signal


def length_law(changing: ChangedBlock, block: Block, at: LawPoint, rows: Array, columns: Array) -> LengthLaw:
    """Return the law of a block whose length is uncertain. `rows`, `columns` (6 + n): see `Block.length_powers`."""
    name, n = f"{block.name}.length", block.nv
    member = changing.uncertainty[name]
    length = Polynomial.affine(np.eye(1), [(member.delta, np.full((1, 1), member.half / member.middle))])
    columns = np.concatenate([columns, columns[6:], columns[6:], columns[:6]])
    calm = at._replace(twist=np.zeros(6), acceleration=np.zeros(6))

    def matrices(values: Mapping[str, float], at: LawPoint) -> Array:
        changed = changing.at(values)
        return scale_matrices(np.hstack(law_matrices(changed, at)), changed.scaling_beside(block))

    def still(values: Mapping[str, float]) -> Array:
        return matrices(values, calm)[:, 6 + n : 6 + 3 * n]

    def moving(values: Mapping[str, float]) -> Array:
        whole = matrices(values, at)
        whole[:, 6 + n : 6 + 3 * n] -= still(values)
        factor = changing.at(values).parameters()["length"][0] / block.parameters()["length"][0]
        kept = np.hstack([whole[:, :-7] / factor**columns, whole[:, -1:]])
        return kept / factor ** rows[:, None]

    whole = changing.polynomial(moving, vectors_of_law(n)[:4])
    parts = whole.columns(slice(-1)), whole.columns(slice(-1, None)), changing.polynomial(still)
    return LengthLaw(length, rows, columns, *parts, at.acceleration)
