"""Which law each block has: factors where they are known, else matrices found by interpolation."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from titop.blocks.basics.errors import Finding, ModelError
from titop.blocks.basics.paths import owner_of
from titop.blocks.basics.spatial import Array
from titop.blocks.bodies.beam import Beam
from titop.blocks.bodies.flexible_body import FlexibleBody
from titop.blocks.bodies.rigid_body import RigidBody
from titop.blocks.contract.block import Block
from titop.blocks.contract.overrides import overrides
from titop.blocks.devices.actuators import Motor
from titop.graph.network.assembly import Assembly
from titop.solvers.lft.interpolation import interpolated
from titop.solvers.lft.laws import (
    At,
    BlockLaw,
    ModalLaw,
    Mode,
    RigidLaw,
    SampledLaw,
    by_acceleration,
    law_matrices,
    rigid_law,
)
from titop.solvers.lft.loops import Affine
from titop.solvers.lft.uncertain import Uncertainty
from titop.solvers.mechanism.parameters import changed_assembly

#: By how much poses of ports may differ, in metres or radians, that do not depend on a parameter.
_SAME = 1e-12


def law_of(assembly: Assembly, block: Block, at: At, uncertainty: Uncertainty, spins: bool, turned: bool) -> BlockLaw:
    """Return the law of a block about the operating point.

    Parameters
    ----------
    assembly : Assembly
        With all parameters in the middle of their ranges.
    block : Block
    at : At
    uncertainty : Uncertainty
    spins : bool
        Whether the twist of its parent port at the operating point is uncertain.
    turned : bool
        Whether its acceleration is.

    Raises
    ------
    ModelError
        Naming a parameter that is not rational.
    """

    def number(entries: list[str], nominal: Array) -> Affine:
        return uncertainty.vector([f"{block.name}.{entry}" for entry in entries], nominal)

    if isinstance(block, RigidBody) and not overrides(block):
        return rigid_law(number, block.mass, block.com, block.inertia)
    names = _own_names(assembly, block, uncertainty)
    if spins and block.mass_matrix(at.q).any():
        advice = "only rigid bodies have laws that are rational in uncertain rates"
        raise ModelError(Finding("not-rational", "parameters", block.name, "a rigid body on what spins", advice))
    rigid: RigidLaw | None = None
    modes: tuple[Mode, ...] = ()
    known: set[str] = set()
    if isinstance(block, FlexibleBody) and not overrides(block):
        rigid, modes, known = _modal_parts(block, names, number, _is_still(block, at))
    sampled = [name for name in names if name not in known]
    _refuse_moved_ports(assembly, block, at, sampled, uncertainty)
    _refuse_deformed_modes(block, at, sampled)
    deltas = [*dict.fromkeys(found[0].name for name in sampled if (found := uncertainty.at(name)))]

    def matrices(values: Mapping[str, float]) -> Array:
        own = _changed(assembly, block, sampled, uncertainty, values) if values else block
        slopes, efforts = law_matrices(own, at)
        _subtract_known(own, at, rigid is not None, modes, slopes, efforts)
        return in_scaled_modes(np.hstack([slopes, efforts]), mode_scales(own, block))

    whole = interpolated(matrices, deltas)
    if isinstance(whole, str):
        path = next(name for name in sampled if (own := uncertainty.at(name)) and own[0].name == whole)
        raise ModelError(_not_rational(path))
    turns = by_acceleration(block, at) if turned else np.zeros((block.nv, 6 + block.nv, 6))
    law = SampledLaw(whole.columns(slice(-1)), whole.columns(slice(-1, None)), turns, at.acceleration)
    return law if rigid is None and not modes else ModalLaw(rigid, modes, law)


def mode_scales(block: Block, middle: Block) -> Array | None:
    """Return by what a beam's own coordinates (n) are divided so that its section and density enter as polynomials.

    Its modes with the tip held have unit mass, so that their amplitude goes with the root of the mass a length: against the
    beam in the middle of all ranges, this is taken out. None of other blocks.
    """
    if not isinstance(block, Beam) or not isinstance(middle, Beam) or overrides(block):
        return None

    def masses(beam: Beam) -> tuple[float, float]:
        return beam.density * beam.area, beam.density * (beam.iy + beam.iz)

    line, polar = (float(np.sqrt(own / before)) for own, before in zip(masses(block), masses(middle), strict=True))
    tip = block.nv - 2 * block.modes - block.torsion_modes - block.axial_modes
    counts = (tip, 2 * block.modes, block.torsion_modes, block.axial_modes)
    return np.repeat([1.0, line, polar, line], counts)


def in_scaled_modes(matrices: Array, scales: Array | None) -> Array:
    """Return slopes and efforts of a law, side by side, in own coordinates that are divided by scales."""
    if scales is None:
        return matrices
    unit = np.ones(6)
    columns = np.concatenate([unit, scales, scales, scales, unit, unit, [1.0]])
    scaled: Array = np.concatenate([unit, scales])[:, None] * matrices * columns
    return scaled


def _refuse_deformed_modes(block: Block, at: At, sampled: list[str]) -> None:
    """Refuse beams that are bent beyond their tip's motion at the point: their modes' amplitudes mean another shape each."""
    if isinstance(block, Beam) and sampled and (at.q.any() or at.v.any()):
        expected, advice = "a beam that is straight and at rest at the point", "keep its section and density fixed"
        raise ModelError(Finding("not-rational", "parameters", sampled[0], expected, advice))


def _is_still(block: FlexibleBody, at: At) -> bool:
    """Tell whether a body's mass and inertia enter as those of a rigid one: undeformed, and nothing turns."""
    moving = (at.q, at.v, at.a, at.twist, at.acceleration[3:])
    return block.second_order is None and not any(part.any() for part in moving)


def _subtract_known(block: Block, at: At, rigid: bool, modes: tuple[Mode, ...], slopes: Array, efforts: Array) -> None:
    """Take what factors say of a law out of its matrices."""
    n = block.nv
    if rigid:
        part = _rigid_part(block, at)
        slopes[:6, :6] -= part[0][:, :6]
        slopes[:6, 6 + 3 * n : 12 + 3 * n] -= part[0][:, 6:12]
        efforts[:6] -= part[1]
    for mode in modes:
        k, (w, zeta) = mode.k, _mode_numbers(block, mode.k)
        slopes[6 + k, 6 + n + k] -= w * w
        slopes[6 + k, 6 + 2 * n + k] -= 2 * zeta * w
        efforts[6 + k] -= w * w * at.q[k] + 2 * zeta * w * at.v[k]


def _own_names(assembly: Assembly, block: Block, uncertainty: Uncertainty) -> list[str]:
    """Return the uncertain parameters on which a block's law may depend, those of its motors' rotors too."""
    owners = {block.name}
    owners |= {
        actuator.name
        for actuator in assembly.actuators
        if isinstance(actuator, Motor) and owner_of(actuator.joint) == block.name
    }
    own = [f"{owner}.{name}" for owner in owners for name in assembly.blocks[owner].parameters()]
    return [name for name in own if uncertainty.at(name) and ".position." not in name]


def _changed(
    assembly: Assembly, block: Block, names: list[str], uncertainty: Uncertainty, values: Mapping[str, float]
) -> Block:
    """Return a block at some values of the deltas."""
    changed, start = uncertainty.changed(values), f"{block.name}."
    if all(name.startswith(start) for name in names):
        return block.with_parameters({name.removeprefix(start): changed[name] for name in names})
    return changed_assembly(assembly, {name: changed[name] for name in names}).blocks[block.name]


def _refuse_moved_ports(assembly: Assembly, block: Block, at: At, names: list[str], uncertainty: Uncertainty) -> None:
    """Refuse parameters on which poses or motion subspaces of ports depend, other than their positions."""
    for name in names:
        uncertain, _ = uncertainty.at(name)  # type: ignore[misc]
        other = _changed(assembly, block, names, uncertainty, {uncertain.name: 0.7})
        for port in block.ports:
            before, after = (
                np.vstack(
                    [np.column_stack(own.pose(port, at.q)), own.motion_subspace(port, at.q).T.reshape(-1, 3)[:, [0, 1, 2, 2]]]
                )
                for own in (block, other)
            )
            if np.abs(before - after).max() > _SAME:
                raise ModelError(_not_rational(name))


def _modal_parts(
    block: FlexibleBody, names: list[str], number: Any, still: bool
) -> tuple[RigidLaw | None, tuple[Mode, ...], set[str]]:
    """Return the rigid law of a flexible body and its modes, where they are uncertain, and the names that enter so alone."""
    own = {name.removeprefix(f"{block.name}.") for name in names}
    of_body = {name for name in own if name == "mass" or name.startswith(("com.", "inertia."))}
    rigid = rigid_law(number, block.mass, block.com, block.inertia) if of_body else None
    known, modes = of_body if still else set(), []
    if block.frequencies is not None:
        places = np.argsort(np.argsort(block.frequencies, kind="stable"))
        for k, place in enumerate(places.tolist()):
            entries = f"mode{k + 1}.frequency", f"mode{place + 1}.damping"
            if own & set(entries):
                values = block.frequencies[k], block.damping_ratios[place]
                modes.append(Mode(k, *(number([e], np.array([x])).column() for e, x in zip(entries, values, strict=True))))
                known |= set(entries)
    return rigid, tuple(modes), {f"{block.name}.{name}" for name in known & own}


def _rigid_part(block: Block, at: At) -> tuple[Array, Array]:
    """Return slopes (6, 18) and efforts (6, 1) of the rigid body that a flexible one is without its modes."""
    assert isinstance(block, FlexibleBody)
    rigid = RigidBody(block.name, block.mass, block.com, block.inertia)
    nothing = np.zeros(0)
    slopes, efforts = law_matrices(rigid, at._replace(q=nothing, v=nothing, a=nothing))
    return slopes, efforts


def _mode_numbers(block: Block, k: int) -> tuple[float, float]:
    """Return frequency and damping ratio of a mode."""
    assert isinstance(block, FlexibleBody)
    assert block.frequencies is not None
    places = np.argsort(np.argsort(block.frequencies, kind="stable"))
    return float(block.frequencies[k]), float(block.damping_ratios[places[k]])


def _not_rational(path: str) -> Finding:
    expected = "a parameter in which the block's law is polynomial: masses, inertias, stiffness, frequencies, positions"
    advice = "keep it fixed, or sample it with tt.lpv; directions, rotations and friction are not rational"
    return Finding("not-rational", "parameters", path, expected, advice)
