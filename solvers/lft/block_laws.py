"""Which law each block has: factors where they are known, of rigid bodies and of modes of flexible ones, else matrices.

A law says which wrench at its parent port, and which efforts on its own coordinates, a block needs for its motion: of the
operating point itself (a constant of the loop of constants) and of small changes. Accelerations are less gravity's. In factors
uncertain numbers stand as few times as possible.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from titop.blocks.basics.errors import Finding, ModelError
from titop.blocks.basics.paths import owner_of
from titop.blocks.basics.spatial import Array, skew
from titop.blocks.basics.tolerances import SAME
from titop.blocks.bodies.rigid_body import INERTIA_ENTRIES, RigidBody
from titop.blocks.contract.block import Block
from titop.blocks.devices.actuators import CoordinateActuator
from titop.graph.network.assembly import Assembly
from titop.solvers.lft.loops import LinearLoop, Signals, stack, zeros
from titop.solvers.lft.matrix_laws import MatrixLaw, UncertainLaw, length_law, scale_matrices, spun_law
from titop.solvers.lft.other_values import (
    ChangedBlock,
    LawPoint,
    UncertainCoordinates,
    by_acceleration,
    law_matrices,
    vectors_of_law,
)
from titop.solvers.lft.polynomials import Polynomial
from titop.solvers.lft.steps import Change, Rest
from titop.solvers.lft.uncertainty import Uncertainty, polynomial_of

#: ``e_i x e_j`` (3, 3, 3) as ``sum_k CROSSED[k, i, j] e_k``.
_CROSSED = np.array([skew(unit) for unit in np.eye(3)]).transpose(1, 0, 2)
#: ``w x v`` of a twist from the products of its entries (3, 36).
CONVECTIVE = np.pad(_CROSSED.transpose(0, 2, 1), ((0, 0), (0, 3), (3, 0))).reshape(3, 36)
#: ``w w^T`` from the products (9, 36).
_OF_SPIN = np.eye(36).reshape(6, 6, 36)[3:, 3:].reshape(9, 36)
#: The gradient of accelerations ``alpha x p + w x (w x p)`` by p from alpha and ``w w^T`` (9, 12).
_GRADIENT = np.hstack([np.array([skew(unit).ravel() for unit in np.eye(3)]).T, np.eye(9) - np.outer(np.eye(3), np.eye(3))])


#: From names of parameters of a block, and their nominal values, to the vector of them.
VectorOf = Callable[[list[str], Array], Polynomial]


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

    `assembly`: with all parameters in the middle of their ranges; `spins`: the deltas on which the twist of its parent port at
    the operating point depends; `turned`: whether its acceleration is uncertain.

    Raises `ModelError` naming a parameter that is not rational.
    """

    def number(entries: list[str], nominal: Array) -> Polynomial:
        return uncertainty.vector([f"{block.name}.{entry}" for entry in entries], nominal)

    if block.is_rigid:
        return rigid_law(number, *block.mass_properties())
    names = _parameter_names(assembly, block, uncertainty)
    factors = modal_factors(block, number, names, at, bool(coordinates.paths)) if block.is_modal else ModalFactors()
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
    if (powers := block.length_powers()) is not None and f"{block.name}.length" in sampled:
        if spins:
            expected, advice = f"a certain length of {block.name}, which spins", "keep one of them fixed, or use tt.lpv"
            raise ModelError([Finding("not-rational", "parameters", name, expected, advice) for name in spins])
        return length_law(changing, block, at, *powers)

    def path(delta: str) -> str:
        return changing.path(delta) if delta in changing.deltas else coordinates.path(delta)

    vectors = vectors_of_law(block.nv)
    whole = polynomial_of(partial(law_at, at.twist), deltas, uncertainty, path, changing.reach, vectors)
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
    actuators = (each for each in assembly.actuators if isinstance(each, CoordinateActuator))
    motors = [each.name for each in actuators if owner_of(each.joint) == block.name]
    names = [name for owner in dict.fromkeys([block.name, *motors]) for name in uncertainty.of_block(owner)]
    return [name for name in names if ".position." not in name and ".rotation." not in name]


# -- factors -----------------------------------------------------------------------------------------------------------------


class RigidLaw(NamedTuple):
    """``F = m (a + w x v + B c)`` and ``I alpha + w x (I w) + c x F``, ``B p = alpha x p + w x (w x p)``.

    Linear in the acceleration and the products of the twist's entries, which both change alike.

    `mass`: a matrix (1, 1), kg; `com`: a vector c (3), m; `inertia`: a matrix I (3, 3), kg m^2.
    """

    mass: Polynomial
    com: Polynomial
    inertia: Polynomial

    def at_rest(self, constants: LinearLoop, rest: Rest) -> Signals:
        return self._wrench(constants, rest)

    def change(self, loop: LinearLoop, constants: LinearLoop, rest: Rest, change: Change) -> Signals:
        return self._wrench(loop, change)

    def _wrench(self, loop: LinearLoop, motion: Rest | Change) -> Signals:
        point = motion.acceleration[:3] + CONVECTIVE @ motion.products
        turning = stack(motion.acceleration[3:], _OF_SPIN @ motion.products)
        of_centre = point + self.com.transform(lambda c: np.kron(np.eye(3), c) @ _GRADIENT).apply(loop, turning)
        force = self.mass.transform(lambda mass: mass * np.eye(3)).apply(loop, of_centre)
        moment = self.inertia.transform(_moments).apply(loop, turning) + self.com.transform(skew).apply(loop, force)
        return stack(force, moment)


def _moments(inertia: Array) -> Array:
    """Return ``I alpha + w x (I w)`` from alpha and ``w w^T`` (3, 12)."""
    gyroscopic = np.einsum("ijk,kl->ijl", _CROSSED, inertia).reshape(3, 9)
    return np.hstack([inertia, gyroscopic])


class Mode(NamedTuple):
    """A mode ``k`` of a block with m coordinates of their own, as ``ω (ω η + 2 ζ dη/dt)``."""

    k: int
    frequency: Polynomial
    damping: Polynomial


class Spring(NamedTuple):
    """The stiffness of a mode ``k``, as ``κ η``."""

    k: int
    stiffness: Polynomial


def rigid_law(number: VectorOf, mass: float, com: Array, inertia: Array) -> RigidLaw:
    """Return the rigid law of a body; `number` makes vectors of its named parameters uncertain."""
    masses = number(["mass"], np.array([mass])).column()
    rows, columns = (list(index) for index in zip(*INERTIA_ENTRIES.values(), strict=True))
    entries = number([f"inertia.{entry}" for entry in INERTIA_ENTRIES], inertia[rows, columns])

    def tensor(values: Array) -> Array:
        full = np.zeros((3, 3))
        full[rows, columns] = full[columns, rows] = values
        return full

    return RigidLaw(masses, number([f"com.{axis}" for axis in "xyz"], com), entries.transform(tensor))


class ModalFactors(NamedTuple):
    """What factors say of a block's law; nothing of blocks that are no flexible bodies.

    `known`: the names of parameters that enter so alone; `scale`: by which all of the law is multiplied.
    """

    rigid: RigidLaw | None = None
    modes: tuple[Mode, ...] = ()
    springs: tuple[Spring, ...] = ()
    known: frozenset[str] = frozenset()
    scale: Polynomial | None = None

    def complete(self, rest: UncertainLaw) -> UncertainLaw:
        """Return the law, of which these factors leave a rest."""
        return FlexibleLaw(self, rest) if any(self) else rest

    def subtract(self, block: Block, at: LawPoint, slopes: Array, efforts: Array) -> None:
        """Take what the factors say of a law out of its matrices."""
        n = block.nv
        if self.rigid is not None:
            by_motion, wrench = _rigid_part(block, at)
            slopes[:6, :6] -= by_motion[:, :6]
            slopes[:6, 6 + 3 * n : 12 + 3 * n] -= by_motion[:, 6:12]
            efforts[:6] -= wrench
        for mode in self.modes:
            k, (w, zeta) = mode.k, _mode_numbers(block, mode.k)
            slopes[6 + k, 6 + n + k] -= w * w
            slopes[6 + k, 6 + 2 * n + k] -= 2 * zeta * w
            efforts[6 + k] -= w * w * at.q[k] + 2 * zeta * w * at.v[k]
        for spring in self.springs:
            k, (w, _) = spring.k, _mode_numbers(block, spring.k)
            slopes[6 + k, 6 + n + k] -= w * w
            efforts[6 + k] -= w * w * at.q[k]


class FlexibleLaw(NamedTuple):
    """A flexible body: its factors, and what is left of its law."""

    factors: ModalFactors
    rest: UncertainLaw

    def at_rest(self, constants: LinearLoop, rest: Rest) -> Signals:
        total, rigid = self.rest.at_rest(constants, rest), self.factors.rigid
        if rigid is not None:
            total += stack(rigid.at_rest(constants, rest), zeros(len(total) - 6))
        return self._times_scale(constants, total)

    def change(self, loop: LinearLoop, constants: LinearLoop, rest: Rest, change: Change) -> Signals:
        total, (rigid, modes, springs, *_) = self.rest.change(loop, constants, rest, change), self.factors
        if rigid is not None:
            total += stack(rigid.change(loop, constants, rest, change), zeros(len(total) - 6))
        for k, frequency, damping in modes:
            effort = frequency.apply(loop, change.q[k]) + damping.apply(loop, change.v[k]) * 2.0
            total += np.eye(len(total))[:, [6 + k]] @ frequency.apply(loop, effort)
        for k, stiffness in springs:
            total += np.eye(len(total))[:, [6 + k]] @ stiffness.apply(loop, change.q[k])
        return self._times_scale(loop, total)

    def _times_scale(self, loop: LinearLoop, total: Signals) -> Signals:
        scale = self.factors.scale
        return total if scale is None else scale.transform(lambda factor: factor * np.eye(len(total))).apply(loop, total)


def modal_factors(block: Any, number: VectorOf, names: list[str], at: LawPoint, bends: bool) -> ModalFactors:
    """Return the parts of a flexible body's law that are known as factors, of which `names` are the uncertain parameters.

    `number` makes vectors of named parameters uncertain. Where it `bends`, its own coordinates at the point are uncertain.

    Raises `ModelError` for deformed bodies that are scaled.
    """
    entered = {name.removeprefix(f"{block.name}.") for name in names}
    of_body = {name for name in entered if name == "mass" or name.startswith(("com.", "inertia."))}
    rigid = rigid_law(number, block.mass, block.com, block.inertia) if of_body else None
    known = of_body if _is_still(block, at) and not bends else set()
    modes, springs = [], []
    if block.frequencies is not None:
        for k, values in enumerate(zip(block.frequencies, block.damping_ratios, strict=True)):
            entries = f"mode{k + 1}.frequency", f"mode{k + 1}.damping"
            if entered & set(entries):
                modes.append(Mode(k, *(number([e], np.array([x])).column() for e, x in zip(entries, values, strict=True))))
                known |= set(entries)
            stiffness = number([f"mode{k + 1}.stiffness"], block.frequencies[[k]] ** 2)
            if not stiffness.is_constant:
                springs.append(Spring(k, stiffness.column()))
    found = frozenset(f"{block.name}.{name}" for name in known & entered)
    return ModalFactors(rigid, tuple(modes), tuple(springs), found, _scale(block, at, number, bends))


def _scale(block: Any, at: LawPoint, number: VectorOf, bends: bool) -> Polynomial | None:
    """Return the factor of all of the law, one in the middle of its range; None where it is certain."""
    scale = number(["mass_scale"], np.ones(1))
    if scale.is_constant:
        return None
    if bends or at.q.any() or at.v.any() or at.a.any():
        expected, advice = "a body that is neither deformed nor deforming at the point", "vary mass and inertia alone"
        raise ModelError(Finding("not-rational", "parameters", f"{block.name}.mass_scale", expected, advice))
    return scale.transform(lambda value: (value / scale.constant)[:, None])


def _is_still(block: Any, at: LawPoint) -> bool:
    """Tell whether a body's mass and inertia enter as those of a rigid one: undeformed, and nothing turns."""
    moving = (at.q, at.v, at.a, at.twist, at.acceleration[3:])
    return block.second_order is None and not any(part.any() for part in moving)


def _rigid_part(block: Any, at: LawPoint) -> tuple[Array, Array]:
    """Return slopes (6, 18) and efforts (6, 1) of the rigid body that a flexible one is without its modes."""
    rigid = RigidBody(block.name, block.mass, block.com, block.inertia)
    nothing = np.zeros(0)
    return law_matrices(rigid, at._replace(q=nothing, v=nothing, a=nothing))


def _mode_numbers(block: Any, k: int) -> tuple[float, float]:
    assert block.frequencies is not None
    return float(block.frequencies[k]), float(block.damping_ratios[k])
