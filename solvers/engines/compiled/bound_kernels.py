"""Kernels bound to a system's tables: of constraints that act in general, of efforts on coordinates, of time derivatives."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np

from titop.blocks.basics.spatial import Array
from titop.blocks.contract.applied import is_acted_on
from titop.blocks.joints.joint import Joint
from titop.solvers.constraints.branch import free_rank
from titop.solvers.engines.compiled.acted_on import Bound
from titop.solvers.engines.compiled.law_tables import compiled_law, compiled_surroundings
from titop.solvers.engines.compiled.packed import PackedSystem, interaction_rows
from titop.solvers.engines.compiled.tables import GeneralBlock, constraint_tables
from titop.solvers.kernels.entries import (
    closure_entries,
    derivative_entries,
    effort_entries,
    hybrid_entries,
    observation_entries,
    series_entries,
)
from titop.solvers.kernels.entries.pair import Pair
from titop.solvers.kernels.equations.motion_matrices import FACTOR
from titop.solvers.kernels.interface import layout
from titop.solvers.model.mechanism import Mechanism


def constrained_forward(system: PackedSystem) -> Bound:
    """Return forward dynamics."""
    return Bound.of(system, closure_entries.constrained_forward, system.constraint_tables[1], system.loops)


def constrained_derivatives(
    system: PackedSystem, tables: tuple[Array, ...], entry: Pair = derivative_entries.constrained_derivatives
) -> Bound:
    """Return the derivatives of forward dynamics, or another `entry` like it, on `tables` with space for closures."""
    before = system.constraint_tables[1], system.tables.paths, system.loops
    return Bound.of(system, entry, *before, tables=tables)


def least_efforts(system: PackedSystem, actuated: Array, with_mass: bool = False) -> Bound:
    """Return inverse dynamics with efforts of least norm on `actuated` coordinates, and the mass matrix if `with_mass`."""
    entry = closure_entries.constrained_mass_inverse if with_mass else closure_entries.constrained_inverse
    return Bound.of(system, entry, system.loops, actuated, behind=(np.zeros(system.mechanism.nv),), shares=True)


def least_shares(system: PackedSystem) -> Bound:
    """Return the least efforts that do what each of several needed ones does."""
    unknown = np.ones(system.mechanism.nv, dtype=bool)
    return Bound.of(system.bare, closure_entries.least_shares, system.loops, unknown)


def shared_derivatives(system: PackedSystem, actuated: Array) -> Bound:
    """Return the derivatives of efforts of least norm on `actuated` coordinates."""
    before, behind = (system.tables.paths, system.loops, actuated), (np.zeros(system.mechanism.nv),)
    entry, tables = derivative_entries.shared_derivatives, system.closing()
    return Bound.of(system, entry, *before, tables=tables, behind=behind, shares=True)


def nearest_motion(system: PackedSystem, second: bool) -> Any:
    """Return the kernel of the nearest velocities, or `second` rates, that keep loops closed."""
    sizes = system.mechanism.scale.coordinates
    return Bound.of(system.bare, closure_entries.nearest_motion, system.loops, second, sizes).call


def motion_slopes(system: PackedSystem, ports: Sequence[str]) -> Bound:
    """Return the derivatives of ports' motions."""
    shown, places, frames = system.with_all_ports, np.empty((len(ports), 3), dtype=np.int64), np.empty((len(ports), 12))
    for k, port in enumerate(ports):
        (element, in_law, frames[k]), (block, name) = system.port_place(port), system.mechanism.ports[port]
        entries_of, row = system.ints[element], -1
        last = entries_of[layout.LAST] if element else -1
        if in_law >= 0:
            general = system.general_block(block)
            index = list(general.ports).index(name)
            row = entries_of[layout.PORTS] + index
            if own := general.block.nv:
                last = entries_of[layout.COLUMN] + (index + 1) * own - 1
        places[k] = element, last, row
    return Bound.of(shown, derivative_entries.motion_derivatives, behind=(system.tables.paths, places, frames))


def body_efforts(system: PackedSystem, mechanism: Mechanism, own: bool, names: tuple[str, ...]) -> Bound:
    """Return the efforts a unit of numbers of bodies: see `efforts_by_inertia`.

    In a frame at its centre of mass, a body's numbers are its mass, its mass times changes of that place, and its inertia.
    """
    asked = mechanism.inertial.asked(own, names)
    bodies = {body: k for k, body in enumerate(dict.fromkeys(body for body, _ in asked))}
    chosen, frames = np.full((len(bodies), 11), -1, dtype=np.int64), np.ones((len(bodies), FACTOR + 1))
    for row, (body, number) in enumerate(asked):
        chosen[bodies[body], 1 + number] = row
    for body, k in bodies.items():
        chosen[k, 0] = element = system.tables.elements[body]
        frames[k, :FACTOR] = system.frames[element]
        if own:
            block: Any = mechanism.assembly.blocks[body]
            frames[k, 9:FACTOR] += (frames[k, :9].reshape(3, 3) * block.com).sum(axis=1)
            frames[k, FACTOR] = block.mass
    return Bound.of(system, observation_entries.regressor, behind=(chosen, frames))


class HybridKernels:
    """The kernels of a system's hybrid dynamics for one choice of `imposed` coordinates (nv).

    `rank`: number of constraints that act on the coordinates that are not imposed; in general, by default.
    """

    def __init__(self, system: PackedSystem, imposed: Array, rank: int | None = None) -> None:
        self._system, self.imposed, self._rank = system, imposed, rank

    @cached_property
    def _constraints(self) -> tuple[Array, Array]:
        """The tree of the leading coordinates, and the table of the constraints."""
        mechanism, imposed, rank = self._system.mechanism, self.imposed, self._rank
        whole, q = mechanism.generic_rank, mechanism.regular_configuration
        if rank is None:
            free = int(np.count_nonzero(~imposed))
            rank = min(whole, free) if q is None else free_rank(mechanism, q, imposed, whole)
        loops, tree = constraint_tables(mechanism, self._system.tables, imposed)
        loops[0, [layout.WHOLE_RANK, layout.RANK]] = whole, rank
        return tree, loops

    @property
    def determines(self) -> bool:
        """Whether all constraints act on coordinates that are not imposed: any motion is possible, by one choice of efforts."""
        if not self._system.mechanism.is_constrained:
            return True
        loops = self._constraints[1]
        return bool(loops[0, layout.RANK] == loops[0, layout.WHOLE_RANK] and not loops[0, layout.HELD])

    def dynamics(self, tables: tuple[Array, ...]) -> Bound:
        """Return hybrid dynamics with such tables."""
        is_constrained = self._system.mechanism.is_constrained
        kernel = hybrid_entries.constrained_hybrid if is_constrained else hybrid_entries.hybrid_dynamics
        before = (*self._constraints, self.imposed) if is_constrained else (self.imposed,)
        return Bound.of(self._system, kernel, *before, tables=tables, imposed=self.imposed)

    def derivatives(self, tables: tuple[Array, ...]) -> Bound:
        """Return their derivatives with such tables, in which there is space for closures."""
        tree, loops = self._constraints
        before = tree, self._system.tables.paths, loops, self.imposed
        return Bound.of(self._system, hybrid_entries.hybrid_derivatives, *before, tables=tables, imposed=self.imposed)


class CompiledEfforts:
    """The efforts on the coordinates of a system, as far as they are compiled."""

    def __init__(self, mechanism: Mechanism, system: PackedSystem) -> None:
        self._mechanism, self._system = mechanism, system

    @cached_property
    def answering(self) -> list[GeneralBlock]:
        """The blocks whose laws are evaluated in Python."""
        return [general for general in self._system.tables.general if compiled_law(general.block) is None]

    @cached_property
    def applied_in_python(self) -> bool:
        """Whether some blocks define their applied efforts in Python."""
        acted_on = (general.block for general in self._system.tables.general if is_acted_on(general.block))
        return any(compiled_surroundings(block) is None for block in acted_on)

    @property
    def in_python(self) -> bool:
        """Whether Python methods of blocks have to be called too."""
        return bool(self.answering) or self.applied_in_python

    @cached_property
    def passive(self) -> Bound:
        """Compiled passive efforts, without gravity: of joints and interactions, and of the blocks whose laws are compiled."""
        system = self._system
        ints = system.ints.copy()
        ints[0, layout.LOADS] = 0
        ints[0, layout.INTERACTIONS] -= ints[0, layout.WEIGHING]
        if self.applied_in_python:
            ints[0, layout.APPLYING] = 0
        elements = [general.element for general in system.tables.general if general not in self.answering]
        acting, table = (
            system.variant(ints=ints, floats=system.floats.copy()),
            np.array(elements, dtype=np.int64).reshape(1, -1),
        )
        acting.floats[0, layout.GRAVITY : layout.GRAVITY + 3] = 0.0
        return Bound.of(acting, effort_entries.passive_efforts, behind=(system.bare.ints, table))

    @cached_property
    def actuation(self) -> Bound:
        """Compiled efforts per unit of each input (nu, nv), except for blocks' own inputs."""
        inputs, system = self._mechanism.inputs, self._system
        loaded = system.with_loads_at(inputs.places) if inputs.places else system
        if inputs.places:
            loaded = loaded.variant(floats=loaded.floats.copy())
            loaded.floats[-len(inputs.places) :, layout.FORCE : layout.FORCE + 6] = inputs.units_at_places
        rows = interaction_rows(system)
        acting = [
            (rows[name], at, column)
            for name, columns in inputs.acting
            for at, column in zip(_range(system.acting_inputs[name]), _range(columns), strict=False)  # states are behind
        ]
        table = np.array(acting, dtype=np.int64).reshape(-1, 3)
        columns, motors = np.array([inputs.columns], dtype=np.int64).reshape(1, -1), np.ascontiguousarray(inputs.motors.T)
        return Bound.of(loaded, effort_entries.actuation_rows, behind=(columns, table, motors))


def _range(part: slice) -> range:
    return range(part.start, part.stop)


#: The derivatives of wrenches, where all are constant.
CONSTANT: Array = np.zeros((0, 6))


def group_springs(system: PackedSystem) -> list[Joint]:
    """Return the spherical and free joints with a stiffness, whose efforts the kernels do not differentiate by time."""
    names = [c.joint.name for c in system.structure.connections if c.joint.quaternion.stop]
    joints = [system.assembly.blocks[name] for name in names if name not in system.tables.general_names]
    return [joint for joint in joints if isinstance(joint, Joint) and joint.stiffness.any()]


def has_series(system: PackedSystem) -> bool:
    """Tell whether the kernels compute time derivatives for all blocks of the tree.

    They know rigid bodies, built-in joints with springs of plain coordinates, dampers and armatures, and loads; neither general
    blocks and interactions, nor friction, stops, and springs of spherical and free joints; nor a world that turns.
    """
    if system.has_laws or group_springs(system) or system.turns:
        return False
    first, count = int(system.ints[0, layout.ELEMENTS]), int(system.ints[0, layout.SPRINGS])
    row = first
    for _ in range(count):
        row += int(system.ints[row, layout.SIZE])
    springs = system.floats[first:row]
    return not (springs[:, layout.FRICTION : layout.FRICTION + 2].any() or springs[:, layout.STOP + 2].any())


def port_series(system: PackedSystem, port: str) -> Bound | None:
    """Return the kernel of a port's motion with time derivatives; None for general blocks, and for worlds that turn."""
    element, _, frame = system.port_place(system.mechanism.read_port(port))
    if system.has_laws or system.turns:
        return None
    return Bound.of(system, series_entries.motion_series, behind=(element, frame))
