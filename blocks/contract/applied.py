"""Loads of a block's surroundings in its law, and their derivatives."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from titop.blocks.basics.complex_steps import complex_step, trusted_step
from titop.blocks.basics.spatial import Array, cross, rotation_exp
from titop.blocks.contract.block import Block, overrides_method, titop_class


class BlockMotion(NamedTuple):
    """Pose and motion of a block."""

    q: Array  #: Own coordinates.
    v: Array  #: Their rates.
    twist: Array  #: (6): of the parent port, in its frame.
    rotation: Array  #: (3, 3): of the parent port in the inertial frame.
    position: Array  #: (3; m): likewise.


def has_weight(block: Block) -> bool:
    """Tell whether a block defines its weight apart from its inertia."""
    return overrides_method(block, "weight") or block.borne is not None or block.fluid is not None


def moves_fluid(block: Block) -> bool:
    """Tell whether a part of a block's inertia may be that of a fluid."""
    return block.fluid is not None or overrides_method(block, "added_inertia", titop_class(type(block)))


def is_acted_on(block: Block) -> bool:
    """Tell whether a block has loads beside gravity on its inertia."""
    law = block.compiled_law
    return has_weight(block) or overrides_method(block, "applied_efforts") or (law is not None and law.applied is not None)


def efforts_at(block: Block, at: BlockMotion, gravity: Array, all_of_them: bool = True) -> Array:
    """Return the wrench at the parent port and the own efforts (6 + n) beside gravity on the block's inertia.

    They are the loads of its surroundings, if `all_of_them` is set, and the gravity (3, inertial) on its weight less that on
    its inertia.
    """
    efforts = _weight_efforts(block, at, gravity) if has_weight(block) else np.zeros(6 + block.nv)
    return efforts + block.applied_efforts(*at) if all_of_them else efforts


def _weight_efforts(block: Block, at: BlockMotion, gravity: Array) -> Array:
    down = at.rotation.T @ gravity
    if not overrides_method(block, "weight"):
        return -block.weightless_inertia(at.q)[:, :3] @ down
    inertial = block.mass_matrix(at.q)[:, :3] @ down

    def weight(q: Array) -> Array:
        mass, moment = block.weight(q)
        return np.concatenate([[mass], moment])

    mass, moment = block.weight(at.q)
    on_coordinates = block.slopes(weight, at.q).T @ np.concatenate([[gravity @ at.position], down])
    return np.concatenate([mass * down, cross(np.asarray(moment), down), on_coordinates]) - inertial


def derivatives_at(block: Block, at: BlockMotion, gravity: Array) -> tuple[Array, Array, Array, Array]:
    """Return the derivatives of all efforts (6 + n) by q, v (n each), twist and displacement of the parent port (6 each).

    A displacement is a small twist of the parent port, in its frame.
    """
    step = complex_step if block.complex_safe else trusted_step

    def displaced(by: Array) -> BlockMotion:
        return at._replace(rotation=at.rotation @ rotation_exp(by[3:]), position=at.position + at.rotation @ by[:3])

    return (
        block.slopes(lambda q: efforts_at(block, at._replace(q=q), gravity), at.q),
        step(lambda v: efforts_at(block, at._replace(v=v), gravity), at.v),
        step(lambda twist: efforts_at(block, at._replace(twist=twist), gravity), at.twist),
        step(lambda by: efforts_at(block, displaced(by), gravity), np.zeros(6)),
    )


def weight_energy(block: Block, q: Array, rotation: Array, position: Array, gravity: Array) -> Any:
    """Return gravity's potential energy (J) of a block's weight."""
    return gravity_energy(*block.weight(q), rotation, position, gravity)


def gravity_energy(mass: Any, moment: Array, rotation: Array, position: Array, gravity: Array) -> Any:
    """Return gravity's potential energy (J) of a mass (kg) and its first moment (3, kg m) about a port at a pose."""
    return -gravity @ (mass * position + rotation @ moment)
