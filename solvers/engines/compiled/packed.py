"""A system as tables for the kernels: filled from parameters, with space for loads, and with the laws of blocks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property, partial
from typing import Any

import numpy as np

from titop.blocks.basics.errors import Finding, ModelError, refuse
from titop.blocks.basics.paths import entry_of, owner_of
from titop.blocks.basics.spatial import Array
from titop.blocks.basics.tolerances import CANCELLED
from titop.blocks.contract.block import Block, overrides, titop_class
from titop.blocks.surroundings.gravity_field import FIELD_NUMBERS, GRAVITY
from titop.graph.checking.tree import massless_joint
from titop.graph.network.assembly import Assembly
from titop.solvers.arguments.reading import overflow
from titop.solvers.engines.compiled.flatten import flatten
from titop.solvers.engines.compiled.law_kinds import interaction_codes, program_codes
from titop.solvers.engines.compiled.law_tables import Stages, has_own_numbers, input_places, law_numbers, reserve_space
from titop.solvers.engines.compiled.tables import GeneralBlock, Tables, constraint_coefficients, constraint_tables
from titop.solvers.kernels.entries import dynamics_entries
from titop.solvers.kernels.entries.pair import Pair, along, under_forces
from titop.solvers.kernels.interface import layout, records
from titop.solvers.mechanism.inputs import PortPush, Push, WrenchPlace, acting_inputs, port_pushes
from titop.solvers.mechanism.kernel_calls import real_only
from titop.solvers.mechanism.system_parameters import assembly_parameters, changed_block, device_parameters, known_changed
from titop.solvers.model.mechanism import Mechanism
from titop.solvers.native import calling
from titop.solvers.native.callbacks import raise_pending
from titop.solvers.native.kernel import Kernel
from titop.solvers.native.signatures import RAISED

#: Number of sets of places of wrenches whose tables are cached.
MOST_VARIANTS = 32


class LawStages:
    """The compiled functions for the laws of a system's general blocks and interactions, in this process.

    Shared by all variants of a system: they own the addresses that bound kernels keep.
    """

    def __init__(self, tables: Tables) -> None:
        self._tables = tables

    @cached_property
    def stages(self) -> Stages:
        """The functions, computed at their first use."""
        return Stages(self._tables.general, self._tables.interactions, self._tables.ints)

    def __getstate__(self) -> dict[str, Any]:
        """Leave out the functions, which cannot be sent to another process."""
        return {"_tables": self._tables}


class PackedSystem:
    """The tables of a system, and the kernels that read them.

    - `mechanism`: coordinates and constraints;
    - `structure`: the assembly with its first parameters; `assembly` is that with the current ones;
    - `tables`: the tables that do not depend on parameters;
    - `params`: values of all parameters, and their units;
    - `changes`: parameters that are not those of `structure`;
    - `blocks`: blocks with these parameters, where their laws' numbers have been written anew;
    - `devices`: with their current parameters;
    - `ints`, `floats`, `frames`, `ports`, `numbers`: see `titop.solvers.kernels.interface.layout`.
    """

    def __init__(self, mechanism: Mechanism, assembly: Assembly, apart: bool = False) -> None:
        self.mechanism, self.structure = mechanism, assembly
        self._check_closures()
        described = assembly_parameters(assembly)
        self.tables = tables = flatten(assembly, tuple(described), apart)
        self.units = tuple([unit for _, unit in described.values()])
        self.params = np.array([value for value, _ in described.values()])
        self.changes: dict[str, float] = {}
        self.blocks: dict[str, Block] = {}
        self.devices = assembly.devices
        self.ints = tables.ints
        self.numbers = law_numbers((*tables.general, *tables.interactions), self.ints)
        reserve_space(tables.general, self.ints, self.numbers)
        self.floats = np.zeros((len(self.ints), layout.FLOAT_COLUMNS))
        bodies = len(tables.constants) + len(tables.welded)
        self.frames, self.ports = np.empty((bodies, 12)), np.empty((len(tables.port_table), 12))
        self.floats[1 : len(tables.constants), layout.ROUNDING] = CANCELLED
        if mechanism.is_constrained:
            self.floats[0, layout.EXTENT] = mechanism.scale.length
        if assembly.loops:
            self.floats[0, layout.REACH] = mechanism.scale.reach
        for row, coefficients in constraint_coefficients(mechanism, tables.constraint_rows):
            self.floats[row : row + len(coefficients), layout.ALONG :][:, : coefficients.shape[1]] = coefficients
        self.laws = LawStages(tables)
        self.pack()

    def _check_closures(self) -> None:
        """Refuse rigid closures, limits and loads that override methods, since kernels do not call these."""
        refuse(
            Finding(
                "own-law",
                f"{block.name}.{', '.join(overridden)}",
                f"{type(block).__name__}'s own",
                f"that of tt.{titop_class(type(block)).__name__}, which the compiled engine has by heart",
                "resolve(engine='reference') follows it; or write what acts as a tt.Interaction between two ports",
            )
            for block in (*(each.closure for each in self.mechanism.rigid_loops), *self.structure.limits, *self.structure.loads)
            if (overridden := overrides(block))
        )

    def pack(self) -> bool:
        """Write the parameters into the tables of floats; return whether they are usable."""
        tables, filled = self.tables, (self.floats, self.frames, self.ports)
        rows = tables.sources, tables.welded, tables.constants, tables.port_table
        status = dynamics_entries.pack(self.ints, *rows, self.params, *filled)
        self.floats[0, layout.TURN : layout.TURN + 6] = self.structure.turning
        if self.structure.field is not None:  # the first parameters are others
            own = {entry_of(name): value for name, value in self.changes.items() if owner_of(name) == GRAVITY}
            field: Any = changed_block(self.structure.field, own)
            self.floats[0, layout.GRAVITY : layout.GRAVITY + 3] = 0.0
            self.floats[0, layout.FIELD : layout.FIELD + FIELD_NUMBERS] = field.field_numbers()
            if own:
                self.floats[0, layout.TURN : layout.TURN + 6] = field.turning
        return bool(status == layout.OK)

    def moves_like(self, other: PackedSystem) -> bool:
        """Tell whether elements have the same geometry and inertia as those of another system with the same tables."""
        elements = len(self.tables.constants)
        return np.array_equal(self.floats[1:elements], other.floats[1:elements]) and np.array_equal(self.frames, other.frames)

    def acts_like(self, other: PackedSystem) -> bool:
        """Tell whether blocks do what those of another system with the same integers do, but for the numbers of their laws."""
        if self.laws is other.laws:
            return True
        tables = self.tables, other.tables
        mine, others = ([*(g.block for g in of.general), *(a.block for a in of.interactions)] for of in tables)
        return all(
            has_own_numbers(one)
            and one.compiled_law is two.compiled_law
            and program_codes(one) == program_codes(two)
            and interaction_codes(one) == interaction_codes(two)
            for one, two in zip(mine, others, strict=True)
        )

    @cached_property
    def assembly(self) -> Assembly:
        """The assembly with the parameters' current values."""
        if not self.changes and self.devices is self.structure.devices:
            return self.structure
        return replace(known_changed(self.structure, self.changes, self.blocks), devices=self.devices)

    def parameters(self) -> dict[str, tuple[float, str]]:
        """Return values and units of all parameters by name."""
        rows = zip(self.tables.parameter_names, self.params.tolist(), self.units, strict=True)
        numbers = {name: (value, unit) for name, value, unit in rows}
        return numbers | device_parameters(self.devices) if self.devices else numbers

    # -- kernels -------------------------------------------------------------------------------------------------------

    @cached_property
    def has_laws(self) -> bool:
        """Whether there are general blocks or interactions."""
        return bool(self.tables.general or self.tables.interactions)

    @property
    def all_tables(self) -> tuple[Array, Array, Array, Array]:
        """The tables that all kernels take."""
        return self.ints, self.floats, self.numbers, self.laws.stages.addresses

    @property
    def arrays(self) -> tuple[Array, ...]:
        """The tables that the kernels of a pair take (see `kernel`)."""
        return self.all_tables if self.has_laws else (self.ints, self.floats)

    def kernel(self, pair: Pair) -> Kernel:
        """Return the kernel of a pair for the system."""
        return pair.mixed if self.has_laws else pair.rigid

    def has_lanes(self, pair: Pair) -> bool:
        """Tell whether a pair has a kernel that computes with several states of the system at once."""
        return pair.stacked is not None and calling.obstacle() is None

    def kernel_in_lanes(
        self, pair: Pair, forced: bool = False
    ) -> tuple[Callable[..., int], Callable[[tuple[Array, ...]], tuple[Array, ...]]]:
        """Return a pair's compiled function for stacked states, and what makes its tables of those for single ones.

        `forced`: the one that takes forces of each state at the last loads, behind its other arguments.
        """
        return self.kernel(under_forces(pair.stacked) if forced else pair.stacked).compiled, self._in_lanes

    def kernel_of_members(self, pair: Pair) -> tuple[Callable[..., int], Callable[[tuple[Array, ...]], tuple[Array, ...]]]:
        """Return the same for members, whose tables of numbers lie in lanes already."""
        return self.kernel(pair.members).compiled, self._of_members

    def kernel_along(
        self, pair: Pair, loaded: bool = False
    ) -> tuple[Callable[..., int], Callable[[tuple[Array, ...]], tuple[Array, ...]]]:
        """Return the same for stacked states along motions; `loaded` as `forced` above."""
        return self.kernel(along(pair, loaded)).compiled, self._along

    def _in_lanes(self, tables: tuple[Array, ...]) -> tuple[Array, ...]:
        return (*tables[:3], self.laws.stages.in_lanes) if self.has_laws else tables

    def _along(self, tables: tuple[Array, ...]) -> tuple[Array, ...]:
        return (*tables[:3], self.laws.stages.along) if self.has_laws else tables

    def _of_members(self, tables: tuple[Array, ...]) -> tuple[Array, ...]:
        return (*tables[:3], self.laws.stages.of_members) if self.has_laws else tables

    def bound(self, pair: Pair) -> Callable[..., int]:
        """Return the compiled function of a pair for the system, with the system's tables bound as first arguments."""
        return partial(self.kernel(pair).compiled, *self.arrays)

    @cached_property
    def constraint_tables(self) -> tuple[Array, Array]:
        """The kernels' tables of the constraints, with no motion imposed: see `constraint_tables`."""
        return constraint_tables(self.mechanism, self.tables, np.zeros(self.mechanism.nv, dtype=bool))

    @property
    def loops(self) -> Array:
        """The kernels' table of rigid closures and gears, with the number of constraints that act in general."""
        loops = self.constraint_tables[0].copy()
        loops[0, [layout.RANK, layout.WHOLE_RANK]] = self.mechanism.generic_rank
        return loops

    def raise_for(self, status: int) -> None:
        """Raise the error of a kernel's status."""
        if status == layout.OK:
            return
        raise_pending()
        if status == RAISED:
            raise RuntimeError("the compiled law of a block has raised an exception")
        if status == layout.NOT_UNIT:
            raise ModelError(
                Finding("not-unit", "q", "a quaternion", "a unit quaternion (x, y, z, w)", "divide it by its norm")
            )
        if status > 0:
            raise ModelError(massless_joint(self.tables.joints[status], "no inertia at this configuration"))
        raise ModelError(overflow(self.structure))

    # -- variants ------------------------------------------------------------------------------------------------------

    @cached_property
    def apart(self) -> PackedSystem:
        """The system in which every welded body has an element of its own: for what one asks of single bodies and of welds.

        For inverse dynamics alone: it does not have the bounds of small pivots.
        """
        if not len(self.tables.welded):
            return self
        return PackedSystem(self.mechanism, self.assembly, apart=True)

    def variant(self, **other: Any) -> PackedSystem:
        """Return the system with `other` attributes, the rest shared; derived attributes are computed again."""
        parts = self.__dict__ | other
        for name in _FOUND:
            parts.pop(name, None)
        system = object.__new__(PackedSystem)
        system.__dict__ = parts
        return system

    def __getstate__(self) -> dict[str, Any]:
        """Leave out derived attributes, among them kernels, which cannot be sent to another process."""
        return self.variant().__dict__

    def with_pushes(self, pushes: Sequence[Push]) -> PackedSystem:
        """Return the system in which the pushes on ports are loads, and inputs of interactions act."""
        at_ports, inputs = port_pushes(pushes), acting_inputs(pushes)
        if not at_ports and not inputs:
            return self
        system = self.with_loads_at(tuple(WrenchPlace(port, inertial) for port, inertial, _ in at_ports))
        floats, numbers = system.floats, system.numbers
        if at_ports:
            floats = floats.copy()
            forces = [real_only(push.wrench, f"the wrench on {push.port}") for push in at_ports]
            floats[-len(at_ports) :, layout.FORCE : layout.FORCE + 6] = forces
        if inputs:
            numbers = numbers.copy()
            for acting, where in self.acting_inputs.items():
                numbers[0, where] += inputs.get(acting, 0.0)
        return system.variant(floats=floats, numbers=numbers)

    def closing(self, pushes: Sequence[Push] = ()) -> tuple[Array, ...]:
        """Return the tables with the pushes as loads, and with space for the wrenches of rigid closures."""
        names = [str(ref) for loop in self.mechanism.rigid_loops for ref in (loop.first, loop.second)]
        return self.with_pushes([*pushes, *(PortPush(name, False, np.zeros(6)) for name in names)]).arrays

    def with_loads_at(self, places: tuple[WrenchPlace, ...]) -> PackedSystem:
        """Return the system with zero loads at some places, as the last rows of its tables."""
        if places not in self._loaded:
            if len(self._loaded) == MOST_VARIANTS:
                self._loaded.clear()
            self._loaded[places] = self._with_loads(places)
        return self._loaded[places]

    @cached_property
    def _loaded(self) -> dict[tuple[WrenchPlace, ...], PackedSystem]:
        return {}

    def _with_loads(self, places: tuple[WrenchPlace, ...]) -> PackedSystem:
        rows = np.full((len(places), layout.INT_COLUMNS), -1, dtype=np.int64)
        used, tables = self.ints[:, layout.USED].copy(), self.tables
        floats = np.zeros((len(places), layout.FLOAT_COLUMNS))
        for k, (port, inertial) in enumerate(places):
            block, name = self.mechanism.ports[port]
            rows[k, layout.ELEMENT], rows[k, layout.INERTIAL] = tables.elements[block], int(inertial)
            if port in tables.port_rows:
                floats[k, :12] = self.ports[tables.port_rows[port]]
            else:
                floats[k, [0, 4, 8]] = 1.0
                ports = self.general_block(block).ports
                if name in ports:
                    first, index = self.ints[tables.elements[block], layout.PORTS], list(ports).index(name)
                    rows[k, layout.PORT], rows[k, layout.ROW] = ports[name], first + index
                    used[tables.elements[block]] |= 1 << min(index, records.SPARED_PORTS)
        ints = np.vstack([self.ints, rows])
        ints[: len(used), layout.USED] = used
        ints[0, layout.LOADS] += len(places)
        ints[0, layout.INERTIAL_LOADS] |= any(place.inertial for place in places)
        return self.variant(ints=ints, floats=np.vstack([self.floats, floats]))

    def with_own_inputs(self, count: int) -> PackedSystem:
        """Return the system with space for inputs of interactions that a state has of its own, six a row behind all others."""
        rows = -(-count // 6)
        ints = np.vstack([self.ints, np.full((rows, layout.INT_COLUMNS), -1, dtype=np.int64)])
        ints[0, layout.OWN_INPUTS] = len(self.ints)
        return self.variant(ints=ints, floats=np.vstack([self.floats, np.zeros((rows, layout.FLOAT_COLUMNS))]))

    @cached_property
    def with_all_ports(self) -> PackedSystem:
        """The system with all ports of its general blocks in use, for functions of any port."""
        ints = self.ints.copy()
        ints[: len(self.tables.constants), layout.USED] = -1
        return self.variant(ints=ints)

    @cached_property
    def bare(self) -> PackedSystem:
        """The system without passive efforts and loads."""
        ints = self.ints.copy()
        ints[0, [layout.SPRINGS, layout.LOADS, layout.INTERACTIONS, layout.PASSIVE]] = 0
        if count := ints[0, layout.WEIGHING]:  # a field's gravity stays
            first = self.tables.interactions[-count].element
            ints[0, [layout.INTERACTIONS, layout.FIRST_INTERACTION]] = count, first
        ints[0, [layout.APPLYING, layout.INERTIAL_LOADS]] = int(ints[0, layout.APPLYING] > 0)  # gravity on weights
        return self.variant(ints=ints)

    @cached_property
    def inertial(self) -> PackedSystem:
        """The system without gravity, passive efforts and loads."""
        floats = self.floats.copy()
        floats[0, layout.GRAVITY : layout.GRAVITY + 3] = 0.0
        ints = self.bare.ints.copy()
        ints[0, layout.INTERACTIONS] = 0
        return self.bare.variant(floats=floats, ints=ints)

    @property
    def turns(self) -> bool:
        """Whether the world turns."""
        return bool(self.floats[0, layout.TURN : layout.TURN + 6].any())

    def _resting(self) -> PackedSystem:
        """The system in a world that does not turn."""
        floats = self.floats.copy()
        floats[0, layout.TURN : layout.TURN + 6] = 0.0
        return self.variant(floats=floats)

    @cached_property
    def still(self) -> PackedSystem:
        """The system without passive efforts and loads, in a world that does not turn."""
        return self.bare._resting() if self.turns else self.bare

    @cached_property
    def responding(self) -> PackedSystem:
        """The system in which efforts alone cause accelerations from rest."""
        return self.inertial._resting() if self.turns else self.inertial

    @cached_property
    def acting_inputs(self) -> dict[str, slice]:
        """Slices of the inputs of interactions among the numbers, by the interactions' names."""
        return input_places(self.tables.interactions, self.ints)

    # -- general blocks, and ports ---------------------------------------------------------------------------------------

    def outward(self, q: Array, v: Array, columns: Any) -> tuple[Array, Array]:
        """Return the general blocks' laws, and work rows with all poses and twists."""
        law, work = np.empty((1, self.ints[0, layout.LAW_SIZE])), np.empty((len(self.tables.constants), columns))
        self.raise_for(dynamics_entries.outward(*self.all_tables, q, v, law, work))
        return law, work

    def general_block(self, name: str) -> GeneralBlock:
        """Return a general block by name."""
        return next(general for general in self.tables.general if general.block.name == name)

    def port_place(self, port: str) -> tuple[int, int, Array]:
        """Return a port's element, and its index in ``law`` (-1 if none), or else its pose (12) in the element."""
        block, name = self.mechanism.ports[port]
        element = self.tables.elements[block]
        if port in self.tables.port_rows:
            return element, -1, self.ports[self.tables.port_rows[port]].copy()
        ports = self.general_block(block).ports
        place = int(ports[name]) if name in ports else -1
        return element, place, np.concatenate([np.eye(3).ravel(), np.zeros(3)])


#: Derived attributes of a system.
_FOUND = tuple(name for name, attribute in vars(PackedSystem).items() if isinstance(attribute, cached_property))


def moving_otherwise(system: PackedSystem) -> list[tuple[Block, slice, slice]]:
    """Return the general blocks whose own coordinates are not plain, with their indices in q and v."""
    return [part for part in system.mechanism.plain_coordinates.others if part[0].name in system.tables.general_names]


def interaction_rows(system: PackedSystem) -> dict[str, int]:
    """Return the rows of interactions among the tables, by name."""
    rows, row = {}, int(system.ints[0, layout.FIRST_INTERACTION])
    for acting in system.tables.interactions:
        rows[acting.block.name] = row
        row += 1 + int(system.ints[row, layout.ACT_PORTS] + system.ints[row, layout.ACT_COORDINATES])
    return rows
