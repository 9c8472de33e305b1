"""Ports whose pose, or what own coordinates move of them, is uncertain: as polynomials of the block's parameters."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from titop.blocks.basics.errors import Finding, ModelError
from titop.blocks.basics.spatial import Array
from titop.blocks.contract.block import Block
from titop.blocks.contract.block_law import current_form
from titop.solvers.lft.fractions.interpolation import Irrational, Polynomial, interpolated
from titop.solvers.lft.fractions.steps import PolynomialRotate, PolynomialShift, Rotate, Shift, Step
from titop.solvers.lft.laws.beam_coordinates import Scales, beam_scales
from titop.solvers.lft.laws.changed_blocks import ChangedBlock, not_rational
from titop.solvers.lft.laws.compared_ports import PortMotion
from titop.solvers.lft.laws.own_motions import UncertainOwn

#: By how much ports may differ that do not depend on a parameter; see `PortMotion`.
_SAME = 1e-12


def moving_names(changing: ChangedBlock, port: str, q: Array) -> list[str]:
    """Return the uncertain parameters on which the pose of a port, or what moves it, depends; of its position what moves it.

    Of blocks without own coordinates the poses of ports are parameters themselves.
    """
    if not changing.block.nv:
        return []
    names = []
    for name in changing.names:
        uncertain, _ = changing.uncertainty.at(name)  # type: ignore[misc]
        other = ChangedBlock(changing.assembly, changing.block, [name], changing.uncertainty).at({uncertain.name: 0.7})
        before, after = (_port_motion(own, changing.block, port, q) for own in (changing.block, other))
        if ".position." in name:
            after = after._replace(rotation=before.rotation, position=before.position)
        if before.differs(after, changing.uncertainty.point.model.size, _SAME):
            names.append(name)
    return names


def moved_port(
    changing: ChangedBlock, names: list[str], port: str, q: Array, v: Array, a: Array, shift: Shift
) -> tuple[tuple[Step, ...], UncertainOwn]:
    """Return steps to a port and what own coordinates do there, where some parameters move it; `shift` if none moves its place.

    Raises
    ------
    ModelError
        For parameters in which they are no polynomials, and blocks that do not rest at the point.
    """
    if v.any() or a.any():
        expected, advice = "a block whose own coordinates rest at the point", "trim it, or keep the parameter fixed"
        raise ModelError(Finding("not-rational", "parameters", names[0], expected, advice))
    block, n = changing.block, changing.block.nv
    own = ChangedBlock(changing.assembly, block, names, changing.uncertainty)
    places = [name for name in changing.names if name.startswith(f"{block.name}.{port}.position.") and name not in names]
    placed = ChangedBlock(changing.assembly, block, [*names, *places], changing.uncertainty)

    def polynomial(matrix: Callable[[Block, Scales], Array], own: ChangedBlock = own) -> Polynomial:
        found = interpolated(
            lambda values: matrix(own.at(values), _scales(own.at(values), block)), own.deltas, own.reach, own.uncertainty.fits
        )
        if isinstance(found, Irrational):
            raise ModelError(not_rational(own.path(found.delta), found.misfit, found.delta in own.uncertainty.fits))
        return found

    def bends(changed: Block, scales: Scales) -> Array:
        # by coordinate, entry of the twist, and coordinate that moves
        bent = current_form(changed, "subspace_slopes")(port, q, v)[0]
        return np.einsum("kij,j,k->ijk", bent, scales.rows, scales.columns).reshape(6 * n, n)

    rotation = polynomial(lambda changed, _: changed.pose(port, q)[0])
    position = polynomial(lambda changed, _: changed.pose(port, q)[1][:, None], placed)
    is_shift = polynomial(lambda changed, _: changed.pose(port, q)[1][:, None]).is_constant
    steps: tuple[Step, ...] = (
        shift if is_shift else PolynomialShift(position),
        Rotate(rotation.constant) if rotation.is_constant else PolynomialRotate(rotation),
    )
    subspace = polynomial(lambda changed, scales: changed.motion_subspace(port, q) * scales.columns)
    onto = polynomial(lambda changed, scales: scales.rows[:, None] * changed.motion_subspace(port, q).T)
    return steps, UncertainOwn(subspace, onto, polynomial(bends))


def _scales(block: Block, middle: Block) -> Scales:
    return beam_scales(block, middle) or Scales(np.ones(block.nv), np.ones(block.nv))


def _port_motion(block: Block, middle: Block, port: str, q: Array) -> PortMotion:
    """Return where a port is and what moves it, in scaled coordinates and by their scaled efforts."""
    scales, subspace = _scales(block, middle), block.motion_subspace(port, q)
    return PortMotion(*block.pose(port, q), np.hstack([subspace * scales.columns, subspace * scales.rows]))
