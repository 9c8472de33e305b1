"""Which law each block has: factors where they are known, else matrices found by interpolation."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

import numpy as np

from titop.blocks.basics.errors import Finding, ModelError
from titop.blocks.basics.paths import owner_of
from titop.blocks.basics.spatial import Array
from titop.blocks.bodies.beam import Beam
from titop.blocks.bodies.flexible_body import FlexibleBody
from titop.blocks.bodies.rigid_body import RigidBody, is_rigid
from titop.blocks.contract.block import Block
from titop.blocks.contract.overrides import overrides
from titop.blocks.devices.actuators import Motor
from titop.graph.network.assembly import Assembly
from titop.solvers.lft.fractions.interpolation import Irrational, Polynomial, interpolated
from titop.solvers.lft.fractions.loops import Affine
from titop.solvers.lft.laws.beam_coordinates import beam_scales, in_scaled_coordinates
from titop.solvers.lft.laws.beam_laws import LengthLaw, length_law
from titop.solvers.lft.laws.changed_blocks import ChangedBlock, not_rational
from titop.solvers.lft.laws.laws import At, BlockLaw, SampledLaw, by_acceleration, law_matrices, rigid_law, vectors_of_law
from titop.solvers.lft.laws.modal_laws import ModalParts, modal_parts
from titop.solvers.lft.laws.own_coordinates import OwnCoordinates
from titop.solvers.lft.laws.spun_laws import spun_law
from titop.solvers.lft.uncertainty.uncertain import Uncertainty

#: By how much, in parts of the largest, a law's dependence on acceleration may change that does not depend on a parameter.
_SAME = 1e-9


def law_of(
    assembly: Assembly, block: Block, at: At, uncertainty: Uncertainty, own: OwnCoordinates, spins: list[str], turned: bool
) -> BlockLaw:
    """Return the law of a block about the operating point.

    Parameters
    ----------
    assembly : Assembly
        With all parameters in the middle of their ranges.
    block : Block
    at : At
    uncertainty : Uncertainty
    own : OwnCoordinates
    spins : list of str
        The deltas on which the twist of its parent port at the operating point depends.
    turned : bool
        Whether its acceleration is uncertain.

    Raises
    ------
    ModelError
        Naming a parameter that is not rational.
    """

    def number(entries: list[str], nominal: Array) -> Affine:
        return uncertainty.vector([f"{block.name}.{entry}" for entry in entries], nominal)

    if isinstance(block, RigidBody) and is_rigid(block):
        return rigid_law(number, block.mass, block.com, block.inertia)
    names = _own_names(assembly, block, uncertainty)
    is_modal = isinstance(block, FlexibleBody) and block.fluid is None and not overrides(block)
    parts = modal_parts(block, names, at, uncertainty, bool(own.paths)) if is_modal else ModalParts()  # type: ignore[arg-type]
    sampled = [name for name in names if name not in parts.known]
    _refuse_deformed_modes(block, at, sampled, own)
    changing = ChangedBlock(assembly, block, sampled, uncertainty)
    deltas = [*dict.fromkeys([*changing.deltas, *own.deltas])]

    def law_at(twist: Array, values: Mapping[str, float]) -> Array:
        changed, here = changing.at(values), own.moved(at._replace(twist=twist), values)
        slopes, efforts = law_matrices(changed, here)
        parts.subtract(changed, here, slopes, efforts)
        efforts[6:] = 0.0  # own efforts at the point matter to no small changes
        return in_scaled_coordinates(np.hstack([slopes, efforts]), beam_scales(changed, block))

    if turned and own.paths:
        own.refuse_turning(block, at)

    turns = _by_acceleration(changing, at) if turned else np.zeros((block.nv, 6 + block.nv, 6))
    whole: Polynomial | LengthLaw | Irrational
    if isinstance(block, Beam) and is_modal and block.shear_factors is None and f"{block.name}.length" in sampled:
        whole = length_law(changing, block, at)
    else:
        whole = interpolated(partial(law_at, at.twist), deltas, changing.reach, uncertainty.fits, vectors_of_law(block.nv))
    if isinstance(whole, Irrational):
        path = changing.path(whole.delta) if whole.delta in changing.deltas else own.path(whole.delta)
        raise ModelError(not_rational(path, whole.misfit, whole.delta in uncertainty.fits))
    if isinstance(whole, LengthLaw):
        if spins:
            expected, advice = f"a certain length of {block.name}, which spins", "keep one of them fixed, or use tt.lpv"
            raise ModelError([Finding("not-rational", "parameters", name, expected, advice) for name in spins])
        return whole
    law: BlockLaw = SampledLaw(whole.columns(slice(-1)), whole.columns(slice(-1, None)), turns, at.acceleration)
    if spins and block.mass_matrix(at.q).any():
        law = spun_law(law, law_at, at.twist, deltas, spins, block.name)
    return parts.joined(law)


def _by_acceleration(changing: ChangedBlock, at: At) -> Array:
    """Return how slopes change with an uncertain acceleration, which must not depend on other parameters itself."""
    middle = by_acceleration(changing.block, at)
    for delta in changing.deltas:
        other = by_acceleration(changing.at({delta: 0.7}), at)
        if np.abs(other - middle).max(initial=0.0) > _SAME * np.abs(middle).max(initial=0.0):
            expected = "a parameter on which the stiffness under an uncertain acceleration does not depend"
            advice = "keep it fixed, or gravity and the angles on the way"
            raise ModelError(Finding("not-rational", "parameters", changing.path(delta), expected, advice))
    return middle


def _refuse_deformed_modes(block: Block, at: At, sampled: list[str], own: OwnCoordinates) -> None:
    """Refuse beams that are bent beyond their tip's motion at the point: their modes' amplitudes mean another shape each."""
    if isinstance(block, Beam) and sampled and (at.q.any() or at.v.any() or own.paths):
        expected, advice = "a beam that is straight and at rest at the point", "keep its section, density and length fixed"
        raise ModelError(Finding("not-rational", "parameters", sampled[0], expected, advice))


def _own_names(assembly: Assembly, block: Block, uncertainty: Uncertainty) -> list[str]:
    """Return the uncertain parameters on which a block's law may depend, those of its motors' rotors too."""
    owners = {block.name: None}
    for actuator in assembly.actuators:
        if isinstance(actuator, Motor) and owner_of(actuator.joint) == block.name:
            owners[actuator.name] = None
    own = [f"{owner}.{name}" for owner in owners for name in assembly.blocks[owner].parameters()]
    return [name for name in own if uncertainty.at(name) and ".position." not in name and ".rotation." not in name]
