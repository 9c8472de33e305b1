"""Laws of blocks that are no rigid bodies on what spins at an uncertain rate, or about an uncertain axis.

The twist V of the parent port stands in the slopes and efforts of such a law as a polynomial of second degree, as gyroscopic
terms do in Lagrange's equations: with V0 that in the middle of all ranges and ``v = V - V0``,

    law(V) = law(V0) + sum_i v_i L_i + sum_ij v_i v_j Q_ij,     i <= j,

exactly; L and Q follow from the law at a few twists.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import combinations_with_replacement
from typing import NamedTuple

import numpy as np

from titop.blocks.basics.errors import Finding, ModelError
from titop.blocks.basics.spatial import Array
from titop.solvers.lft.fractions.loops import Loop, Signal, stacked, zeros
from titop.solvers.lft.laws.laws import BlockLaw, Change, Rest

#: Pairs of entries of a twist, and these among all products (21, 36).
_PAIRS = tuple(combinations_with_replacement(range(6), 2))
_CHOSEN = np.eye(36)[[6 * i + j for i, j in _PAIRS]]

#: By how much a law at another twist may differ from the polynomial, in parts of the largest entry of a column.
_EXACT = 1e-9

#: From a twist (6), and values of the block's own deltas, to slopes and, in the last column, efforts (6 + n, m + 1).
LawAt = Callable[[Array, Mapping[str, float]], Array]


class SpunLaw(NamedTuple):
    """A law, and what the twist of its parent port adds where it is another than in the middle of all ranges.

    Attributes
    ----------
    law : BlockLaw
        At that in the middle.
    middle : (6,) array
        That.
    linear : (6, 6 + n, m + 1) array
        L of each entry.
    quadratic : (21, 6 + n, m + 1) array
        Q of each pair.
    """

    law: BlockLaw
    middle: Array
    linear: Array
    quadratic: Array

    def at_rest(self, constants: Loop, rest: Rest) -> Signal:
        powers = self._powers(constants, rest)
        added = np.concatenate([self.linear, self.quadratic])[:, :, -1].T
        return self.law.at_rest(constants, rest) + added @ powers

    def change(self, loop: Loop, constants: Loop, rest: Rest, change: Change) -> Signal:
        still = zeros(6)
        moved = stacked(change.acceleration, change.a, change.q, change.v, still, change.displacement)
        added = np.concatenate([self.linear, self.quadratic])[:, :, :-1].transpose(2, 1, 0)
        acting = np.flatnonzero(added.any(axis=(1, 2)))
        more = loop.bilinear(constants, added[acting], self._powers(constants, rest), moved[acting])
        total = self.law.change(loop, constants, rest, change)
        # what the twist adds to the slopes by itself is the second derivative of the efforts: products stand in it alike
        by_twist = self.linear[:, :, -13:-7]
        slopes = by_twist.transpose(1, 0, 2)
        products = slopes.reshape(len(slopes), 36) / 2 @ change.products - np.tensordot(self.middle, by_twist, 1) @ change.twist
        return total + more + products if len(acting) else total + products

    def _powers(self, constants: Loop, rest: Rest) -> Signal:
        """Return how much the twist differs from that in the middle, and the products of these numbers."""
        rows, middle = rest.twist.padded(1).copy(), self.middle
        rows[:, 0] -= middle
        both = np.kron(np.eye(6), middle[:, None]) + np.kron(middle[:, None], np.eye(6))
        products = (rest.products - both @ rest.twist).padded(1).copy()
        products[:, 0] += np.outer(middle, middle).ravel()
        return stacked(Signal(rows), _CHOSEN @ Signal(products))


def spun_law(law: BlockLaw, law_at: LawAt, middle: Array, deltas: Sequence[str], spins: Sequence[str], block: str) -> SpunLaw:
    """Return the law of a block for any twist of its parent port.

    Parameters
    ----------
    law : BlockLaw
        At the twist in the middle.
    law_at : callable
    middle : (6,) array
    deltas : sequence of str
        On which the law depends itself.
    spins : sequence of str
        On which the twist depends.
    block : str
        Its name.

    Raises
    ------
    ModelError
        Naming the spins, for laws that are no such polynomial, or whose L and Q depend on the block's own parameters.
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
    cut = [np.where(np.abs(part) > _EXACT * 1e-3 * largest, part, 0.0) for part in found]
    return cut[0] / size, cut[1] / size**2


def _size(middle: Array) -> float:
    """Return by how much a twist is changed: as large as it is, or one."""
    return float(np.abs(middle).max()) or 1.0


def _alike(one: Array, other: Array) -> bool:
    largest = np.abs(other).max(axis=0, keepdims=True, initial=0.0)
    return bool((np.abs(one - other) <= _EXACT * np.maximum(largest, _EXACT * np.abs(other).max(initial=0.0))).all())
