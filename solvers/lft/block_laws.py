"""Which law each block has: factors where they are known, else matrices found by interpolation.

Laws by matrices hold for one twist of the parent port. On what spins at an uncertain rate, or about an uncertain axis, the
twist V stands in the slopes and efforts of a law as a polynomial of second degree, as gyroscopic terms do in Lagrange's
equations: with V0 that in the middle of all ranges and ``v = V - V0``,

    law(V) = law(V0) + sum_i v_i L_i + sum_ij v_i v_j Q_ij,     i <= j,

exactly; L and Q follow from the law at a few twists.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import combinations_with_replacement
from typing import NamedTuple

import numpy as np

from titop.blocks.basics.errors import Finding, ModelError
from titop.blocks.basics.paths import owner_of
from titop.blocks.basics.spatial import Array
from titop.blocks.basics.tolerances import EXACT, SAME
from titop.blocks.contract.block import Block
from titop.blocks.devices.actuators import Motor
from titop.graph.network.assembly import Assembly
from titop.solvers.lft.beam_laws import LengthLaw, length_law, scale_matrices
from titop.solvers.lft.changed_blocks import (
    ChangedBlock,
    LawPoint,
    UncertainCoordinates,
    by_acceleration,
    law_matrices,
    not_rational,
    vectors_of_law,
)
from titop.solvers.lft.factored_laws import ModalFactors, UncertainLaw, modal_factors, rigid_law
from titop.solvers.lft.loops import LinearLoop, Signals, stack, zeros
from titop.solvers.lft.polynomials import Irrational, Polynomial, interpolate
from titop.solvers.lft.steps import Change, Rest
from titop.solvers.lft.uncertainty import Uncertainty

#: Pairs of entries of a twist, and these among all products (21, 36).
_PAIRS = tuple(combinations_with_replacement(range(6), 2))
_CHOSEN = np.eye(36)[[6 * i + j for i, j in _PAIRS]]

#: From a twist (6), and values of the block's own deltas, to slopes and, in the last column, efforts (6 + n, m + 1).
LawAt = Callable[[Array, Mapping[str, float]], Array]


def law_of(
    assembly: Assembly,
    block: Block,
    at: LawPoint,
    uncertainty: Uncertainty,
    coordinates: UncertainCoordinates,
    spins: list[str],
    turned: bool,
) -> UncertainLaw:
    """Return the law of a block about the operating point.

    Parameters
    ----------
    assembly : Assembly
        With all parameters in the middle of their ranges.
    block : Block
    at : At
    uncertainty : Uncertainty
    coordinates : UncertainCoordinates
    spins : list of str
        The deltas on which the twist of its parent port at the operating point depends.
    turned : bool
        Whether its acceleration is uncertain.

    Raises
    ------
    ModelError
        Naming a parameter that is not rational.
    """

    def number(entries: list[str], nominal: Array) -> Polynomial:
        return uncertainty.vector([f"{block.name}.{entry}" for entry in entries], nominal)

    if block.is_rigid:
        return rigid_law(number, *block.mass_properties())
    names = _parameter_names(assembly, block, uncertainty)
    factors = modal_factors(block, names, at, uncertainty, bool(coordinates.paths)) if block.is_modal else ModalFactors()
    sampled = [name for name in names if name not in factors.known]
    _refuse_deformed_modes(block, at, sampled, coordinates)
    changing = ChangedBlock(assembly, block, sampled, uncertainty)
    deltas = [*dict.fromkeys([*changing.deltas, *coordinates.deltas])]

    def law_at(twist: Array, values: Mapping[str, float]) -> Array:
        changed, here = changing.at(values), coordinates.shift(at._replace(twist=twist), values)
        slopes, efforts = law_matrices(changed, here)
        factors.subtract(changed, here, slopes, efforts)
        efforts[6:] = 0.0  # own efforts at the point matter to no small changes
        matrices = np.hstack([slopes, efforts])
        return scale_matrices(matrices, changed.scaling_beside(block))

    if turned and coordinates.paths:
        coordinates.refuse_turning(block, at)

    turns = _by_acceleration(changing, at) if turned else np.zeros((block.nv, 6 + block.nv, 6))
    whole: Polynomial | LengthLaw | Irrational
    if (powers := block.length_powers()) is not None and f"{block.name}.length" in sampled:
        whole = length_law(changing, block, at, *powers)
    else:
        whole = interpolate(partial(law_at, at.twist), deltas, changing.reach, uncertainty.fits, vectors_of_law(block.nv))
    if isinstance(whole, Irrational):
        path = changing.path(whole.delta) if whole.delta in changing.deltas else coordinates.path(whole.delta)
        raise ModelError(not_rational(path, whole.misfit, whole.delta in uncertainty.fits))
    if isinstance(whole, LengthLaw):
        if spins:
            expected, advice = f"a certain length of {block.name}, which spins", "keep one of them fixed, or use tt.lpv"
            raise ModelError([Finding("not-rational", "parameters", name, expected, advice) for name in spins])
        return whole
    law: UncertainLaw = MatrixLaw(whole.columns(slice(-1)), whole.columns(slice(-1, None)), turns, at.acceleration)
    if spins and block.mass_matrix(at.q).any():
        law = spun_law(law, law_at, at.twist, deltas, spins, block.name)
    return factors.complete(law)


def _by_acceleration(changing: ChangedBlock, at: LawPoint) -> Array:
    """Return how slopes change with an uncertain acceleration, which must not depend on other parameters itself."""
    middle = by_acceleration(changing.block, at)
    for delta in changing.deltas:
        other = by_acceleration(changing.at({delta: 0.7}), at)
        if np.abs(other - middle).max(initial=0.0) > SAME * np.abs(middle).max(initial=0.0):
            expected = "a parameter on which the stiffness under an uncertain acceleration does not depend"
            advice = "keep it fixed, or gravity and the angles on the way"
            raise ModelError(Finding("not-rational", "parameters", changing.path(delta), expected, advice))
    return middle


def _refuse_deformed_modes(block: Block, at: LawPoint, sampled: list[str], coordinates: UncertainCoordinates) -> None:
    """Refuse beams that are bent beyond their tip's motion at the point: their modes' amplitudes mean another shape each."""
    rescaled = block.rescaled_coordinates().keys() & block.parameters().keys()
    if rescaled and sampled and (at.q.any() or at.v.any() or coordinates.paths):
        expected, advice = "a beam that is straight and at rest at the point", "keep its section, density and length fixed"
        raise ModelError(Finding("not-rational", "parameters", sampled[0], expected, advice))


def _parameter_names(assembly: Assembly, block: Block, uncertainty: Uncertainty) -> list[str]:
    """Return the uncertain parameters on which a block's law may depend, those of its motors' rotors too."""
    motors = [each.name for each in assembly.actuators if isinstance(each, Motor) and owner_of(each.joint) == block.name]
    names = [name for owner in dict.fromkeys([block.name, *motors]) for name in uncertainty.of_block(owner)]
    return [name for name in names if ".position." not in name and ".rotation." not in name]


# -- by matrices ------------------------------------------------------------------------------------------------------------


class MatrixLaw(NamedTuple):
    """A law by its matrices, polynomials in the block's uncertain parameters.

    Attributes
    ----------
    slopes : Polynomial
        By ``[A; a; q; v; V; xi]``, (6 + n, 18 + 3 n), about the operating point.
    efforts : Polynomial
        At the operating point (6 + n, 1).
    by_acceleration : (n, 6 + n, 6) array
        How the slope by each coordinate changes with the acceleration of the parent port.
    middle : (6,) array
        That acceleration, where all deltas are zero.
    """

    slopes: Polynomial
    efforts: Polynomial
    by_acceleration: Array
    middle: Array

    def at_rest(self, constants: LinearLoop, rest: Rest) -> Signals:
        one = Signals(np.ones((1, 1)))
        return self.efforts.apply(constants, one) + self.slopes.columns(slice(6)).apply(constants, self._beyond(rest))

    def change(self, loop: LinearLoop, constants: LinearLoop, rest: Rest, change: Change) -> Signals:
        moved = stack(change.acceleration, change.a, change.q, change.v, change.twist, change.displacement)
        beyond = self._beyond(rest)
        if not len(change.q) or not constants.channels_of(beyond):
            return self.slopes.apply(loop, moved)
        return self.slopes.apply(loop, moved) + loop.bilinear(constants, self.by_acceleration, beyond, change.q)

    def _beyond(self, rest: Rest) -> Signals:
        """Return how the acceleration differs from that in the middle."""
        rows = rest.acceleration.pad(1).copy()
        rows[:, 0] -= self.middle
        return Signals(rows)


class SpunLaw(NamedTuple):
    """A law, and what the twist of its parent port adds where it is another than in the middle of all ranges.

    Attributes
    ----------
    law : UncertainLaw
        At that in the middle.
    middle : (6,) array
        That.
    linear : (6, 6 + n, m + 1) array
        L of each entry.
    quadratic : (21, 6 + n, m + 1) array
        Q of each pair.
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
        rows, middle = rest.twist.pad(1).copy(), self.middle
        rows[:, 0] -= middle
        both = np.kron(np.eye(6), middle[:, None]) + np.kron(middle[:, None], np.eye(6))
        products = (rest.products - both @ rest.twist).pad(1).copy()
        products[:, 0] += np.outer(middle, middle).ravel()
        return stack(Signals(rows), _CHOSEN @ Signals(products))


def spun_law(
    law: UncertainLaw, law_at: LawAt, middle: Array, deltas: Sequence[str], spins: Sequence[str], block: str
) -> SpunLaw:
    """Return the law of a block for any twist of its parent port.

    Parameters
    ----------
    law : UncertainLaw
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
    cut = [np.where(np.abs(part) > EXACT * largest, part, 0.0) for part in found]
    return cut[0] / size, cut[1] / size**2


def _size(middle: Array) -> float:
    """Return by how much a twist is changed: as large as it is, or one."""
    return float(np.abs(middle).max()) or 1.0


def _alike(one: Array, other: Array) -> bool:
    largest = np.abs(other).max(axis=0, keepdims=True, initial=0.0)
    return bool((np.abs(one - other) <= SAME * np.maximum(largest, SAME * np.abs(other).max(initial=0.0))).all())
