"""A model as tables for the kernels: packed from parameters, with wrenches pushed in, with the blocks' laws filled in."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, partial
from typing import Any, Self

import numpy as np

from titop.blocks.basics.errors import Finding, ModelError
from titop.blocks.basics.paths import parts_of
from titop.blocks.basics.spatial import Array
from titop.blocks.contract.applied import is_acted_on
from titop.blocks.contract.overrides import built_in, overrides
from titop.blocks.joints.joint import Joint
from titop.graph.checking.massless import massless_joint
from titop.graph.network.assembly import Assembly
from titop.solvers.arguments.reading import overflow, read_mapping
from titop.solvers.engines.compiled.constraint_tables import constraint_coefficients, constraint_tables
from titop.solvers.engines.compiled.element_parts import element_parts
from titop.solvers.engines.compiled.flatten import flatten
from titop.solvers.engines.compiled.inertial_changes import NEAR, are_near, inertial_parameters
from titop.solvers.engines.compiled.law_tables import (
    Stages,
    compiled_interaction,
    compiled_law,
    compiled_surroundings,
    has_own_numbers,
    input_places,
    law_numbers,
    numbered_anew,
    place_rooms,
)
from titop.solvers.engines.compiled.tables import GeneralBlock
from titop.solvers.kernels.entries import dynamics_entries
from titop.solvers.kernels.entries.pair import Pair
from titop.solvers.kernels.interface import layout, records
from titop.solvers.mechanism.conditioning import NO_INERTIA, Pivots, find_pivots
from titop.solvers.mechanism.inputs import ActingPush, Place, PortPush, Push, acting_inputs, port_pushes
from titop.solvers.mechanism.parameters import assembly_parameters, changed_assembly, look_at, suspicions
from titop.solvers.model.model import Model
from titop.solvers.native.callbacks import raise_pending
from titop.solvers.native.kernel import Kernel
from titop.solvers.native.signatures import RAISED

#: Attributes that keep compiled functions with the system's tables ...
BOUND = (
    "_forward",
    "_inverse",
    "_mass",
    "_forward_slopes",
    "_inverse_slopes",
    "_closed_forward_slopes",
    "_shared_slopes",
    "_shared_inverses",
    "_hybrids",
    "_nearest_velocity",
    "_nearest_acceleration",
    "_linearised",
    "_regressor",
    "_energies",
    "_momentum",
    "_mass_center",
    "_bare_inverse",
    "_resting_inverse",
    "_bare_slopes",
    "_coriolis",
    "_integrate",
    "_integrate_derivatives",
    "_difference",
    "_difference_derivatives",
    "_tangent",
    "_adjoint",
    "_passive",
    "_actuation",
    "_sensors",
    "_reactions",
    "_motions",
    "_accelerometers",
    "_multipliers",
    "_gear_efforts",
    "_momentum_of",
    "_inverse_mass",
)
#: ... and what else is found from tables and parameters.
_DERIVED = (
    *BOUND,
    *("_bare", "_with_all_ports", "_loaded_variants", "_acting", "_at_ports", "_masks"),
    *("_group_springs", "_all_compiled_slopes", "_current_assembly", "_inertial_slopes", "interactions"),
)

#: Parts of the names of parameters on which the number of independent constraints may depend.
_GEOMETRY = ("position", "rotation", "axis", "axis1", "axis2", "pitch")

#: How many sets of places on which wrenches act are kept ready.
MOST_VARIANTS = 32

#: Coordinates of the elementary joints.
_SIZES = {layout.WELD: 0, layout.AXIAL: 1, layout.SPHERICAL: 3, layout.FREE: 6}
#: Coordinates that keep this part of what they carry lose at most some ten digits to rounding.
_PLAINLY_SOUND = 1e-6
#: How much further below what was seen a pivot may come elsewhere.
_MARGIN = 0.1


class PackedModel(Model):
    """The tables of a compiled model, and what fills them."""

    def __init__(self, assembly: Assembly) -> None:
        super().__init__(assembly)
        self._check_closures()
        described = assembly_parameters(assembly)
        self._tables = flatten(assembly, tuple(described))
        self._units = tuple(unit for _, unit in described.values())
        self._params = np.array([value for value, _ in described.values()])
        self._changes: dict[str, float] = {}
        self._ints = self._tables.ints
        self._added: tuple[Self, list[PortPush | ActingPush]] | None = None
        self._numbers = law_numbers((*self._tables.general, *self._tables.interactions), self._ints)
        place_rooms(self._tables.general, self._ints)
        self._floats = np.zeros((len(self._ints), layout.FLOAT_COLUMNS))
        self._frames = np.empty((len(self._tables.constants), 12))
        self._ports = np.empty((len(self._tables.port_table), 12))
        self._floats[1 : len(self._tables.constants), layout.ROUNDING] = NO_INERTIA
        for row, coefficients in constraint_coefficients(self, self._tables.constraint_rows):
            self._floats[row : row + len(coefficients), layout.ALONG :][:, :13] = coefficients
        self._pack()

    def _check_closures(self) -> None:
        """Refuse rigid closures and loads with laws of their own, which the kernels would not hear of."""
        findings = [
            Finding(
                "own-law",
                f"{block.name}.{', '.join(own)}",
                f"{type(block).__name__}'s own",
                f"that of tt.{built_in(type(block)).__name__}, which the compiled engine has by heart",
                "resolve(engine='reference') follows it; or write what acts as a tt.Interaction between two ports",
            )
            for block in (*(loop.closure for loop in self.rigid_loops), *self._assembly.loads)
            if (own := overrides(block))
        ]
        if findings:
            raise ModelError(findings)

    def _pack(self) -> bool:
        """Write the parameters into the tables of floats; return whether they are usable."""
        tables, filled = self._tables, (self._floats, self._frames, self._ports)
        status = dynamics_entries.pack(self._ints, tables.sources, tables.constants, tables.port_table, self._params, *filled)
        return bool(status == layout.OK)

    @property
    def _all_tables(self) -> tuple[Array, Array, Array, Array]:
        """The tables that kernels for all systems take."""
        return self._ints, self._floats, self._numbers, self._stages

    @property
    def _arrays(self) -> tuple[Array, ...]:
        """The tables that the kernels of a pair take (see `_kernel`)."""
        return self._all_tables if self._has_laws else self._all_tables[:2]

    @cached_property
    def _has_laws(self) -> bool:
        """Whether there are general blocks or interactions."""
        return bool(self._tables.general or self._tables.interactions)

    @cached_property
    def _law_stages(self) -> Stages:
        """The compiled functions of this process for the laws of general blocks and interactions."""
        return Stages(self._tables.general, self._tables.interactions)

    @cached_property
    def _stages(self) -> Array:
        return self._law_stages.addresses

    def _kernel(self, pair: Pair) -> Kernel:
        """Return the kernel of a pair that suits the system."""
        return pair.mixed if self._has_laws else pair.rigid

    def _bound(self, pair: Pair) -> Callable[..., int]:
        """Return the compiled function of a pair that suits the system, its first arguments the system's tables."""
        return partial(self._kernel(pair).compiled, *self._arrays)

    @cached_property
    def is_compiled(self) -> bool:
        """Whether the law of every block and interaction is compiled: of rigid and flexible bodies and built-in joints."""
        blocks = [general.block for general in self._tables.general]
        generals = all(compiled_law(block) and (compiled_surroundings(block) or not is_acted_on(block)) for block in blocks)
        return generals and all(compiled_interaction(acting.block) for acting in self._tables.interactions)

    @cached_property
    def _constraint_tables(self) -> tuple[Array, Array]:
        return constraint_tables(self, self._tables, np.zeros(self.nv, dtype=bool))

    def _loops(self, rank: int, held: bool = False) -> Array:
        """Return the table that tells kernels of the rigid closures and gears, and how many constraints act."""
        loops = self._constraint_tables[0].copy()
        loops[0, [layout.RANK, layout.WHOLE_RANK, layout.HELD]] = rank, rank, held
        return loops

    # -- variants ------------------------------------------------------------------------------------------------------

    def _pushed(self, pushes: Sequence[Push]) -> Self:
        """Return a model in which the pushes on ports are loads, and inputs of interactions act."""
        at_ports, inputs = port_pushes(pushes), acting_inputs(pushes)
        if not at_ports and not inputs:
            return self
        model = self._loaded_at(tuple(Place(port, inertial) for port, inertial, _ in at_ports))._variant()
        if at_ports:
            forces = [real(push.wrench, f"the wrench on {push.port}") for push in at_ports]
            model._floats = model._floats.copy()
            model._floats[-len(at_ports) :, layout.FORCE : layout.FORCE + 6] = forces
        if inputs:
            model._numbers = model._numbers.copy()
            for acting, where in self._acting_inputs.items():
                model._numbers[0, where] += inputs.get(acting, 0.0)
        model._added = self, [push for push in pushes if isinstance(push, PortPush | ActingPush)]
        return model

    def _loaded_at(self, places: tuple[Place, ...]) -> Self:
        """Return the model with loads without force at some places: the last rows of its tables."""
        if places not in self._loaded_variants:
            if len(self._loaded_variants) == MOST_VARIANTS:
                self._loaded_variants.clear()
            self._loaded_variants[places] = self._with_loads(places)
        return self._loaded_variants[places]

    @cached_property
    def _loaded_variants(self) -> dict[tuple[Place, ...], Self]:
        return {}

    def _with_loads(self, places: tuple[Place, ...]) -> Self:
        model = self._variant()
        rows = np.full((len(places), layout.INT_COLUMNS), -1, dtype=np.int64)
        used = self._ints[:, layout.USED].copy()
        floats = np.zeros((len(places), layout.FLOAT_COLUMNS))
        for k, (port, inertial) in enumerate(places):
            block, name = self.ports[port]
            rows[k, layout.ELEMENT], rows[k, layout.INERTIAL] = self._tables.elements[block], int(inertial)
            if port in self._tables.port_rows:
                floats[k, :12] = self._ports[self._tables.port_rows[port]]
            else:
                floats[k, [0, 4, 8]] = 1.0
                ports = self._general_block(block).ports
                if name in ports:
                    first = self._ints[self._tables.elements[block], layout.PORTS]
                    index = list(ports).index(name)
                    rows[k, layout.PORT], rows[k, layout.ROW] = ports[name], first + index
                    used[self._tables.elements[block]] |= 1 << min(index, records.SPARED_PORTS)
        model._ints, model._floats = np.vstack([self._ints, rows]), np.vstack([self._floats, floats])
        model._ints[: len(used), layout.USED] = used
        model._ints[0, layout.LOADS] += len(places)
        model._ints[0, layout.INERTIAL_LOADS] |= any(place.inertial for place in places)
        return model

    def _variant(self) -> Self:
        """Return a shallow copy whose tables may be replaced.

        It shares the compiled functions: their addresses, which outlive it in bound kernels, are this model's to keep.
        """
        shared = {"_law_stages": self._law_stages, "_stages": self._stages} if self._has_laws else {}
        attributes = {**self.__dict__, **shared}
        for derived in _DERIVED:
            attributes.pop(derived, None)
        model = object.__new__(type(self))
        model.__dict__ = attributes
        return model

    @cached_property
    def _with_all_ports(self) -> Self:
        """The model with all ports of its general blocks in use, for functions that read any of them."""
        model = self._variant()
        model._ints = self._ints.copy()
        model._ints[: len(self._tables.constants), layout.USED] = -1
        return model

    @cached_property
    def _bare(self) -> Self:
        """The model without passive efforts and loads."""
        bare = self._variant()
        bare._ints = self._ints.copy()
        bare._ints[0, [layout.SPRINGS, layout.LOADS, layout.INTERACTIONS, layout.PASSIVE]] = 0
        acted_on = self._ints[0, layout.APPLYING] > 0
        bare._ints[0, [layout.APPLYING, layout.INERTIAL_LOADS]] = int(acted_on)  # gravity on weights
        return bare

    @cached_property
    def _acting_inputs(self) -> dict[str, slice]:
        return input_places(self._tables.interactions, self._ints)

    # -- laws of general blocks ----------------------------------------------------------------------------------------

    def _outward(self, q: Array, v: Array, columns: Any) -> tuple[Array, Array]:
        """Return the general blocks' laws, and work rows with all poses and twists."""
        law, work = np.empty((1, self._ints[0, layout.LAW_SIZE])), np.empty((len(self._tables.constants), columns))
        self.raise_for(dynamics_entries.outward(*self._all_tables, q, v, law, work))
        return law, work

    def _inverse_work(self, q: Array, v: Array, a: Array) -> tuple[Array, Array, Array]:
        """Return efforts, laws and work rows of inverse dynamics."""
        law, work = self._outward(q, v, layout.INVERSE_COLUMNS)
        tau = np.empty(self.nv)
        self.raise_for(dynamics_entries.inverse_stage(*self._all_tables, law, q, v, a, work, tau))
        return tau, law, work

    # -- rounding ------------------------------------------------------------------------------------------------------

    @property
    def _plainly_sound(self) -> float:
        """The part of what they carry that coordinates keep where nothing is lost: chains of n like bodies keep n^-2."""
        return min(_PLAINLY_SOUND, 1e-2 / max(self.nv, 1) ** 2)

    def _doubtful_pivots(self) -> list[Pivots]:
        moves = self._moves_at_rest(self._plainly_sound)
        rounding = self._floats[1 : len(self._tables.constants), layout.ROUNDING]
        rounding[:] = self._plainly_sound
        places = self._at_rest[0], self._elsewhere
        doubtful = [] if moves else [q for q in places if self._is_refused(q, self._floats)]
        rounding[:] = NO_INERTIA
        found = [self.pivots(q) for q in doubtful]
        for pivots in found:
            self._look_closer(pivots)
        return found

    @cached_property
    def _ample(self) -> Array | None:
        """The parameters, if masses and inertias near them leave all coordinates plainly sound (see `inertial_changes`)."""
        return self._params if self._moves_at_rest(self._plainly_sound * NEAR**2) else None

    def _moves_at_rest(self, part: float) -> bool:
        """Whether kernels alone find accelerations at both configurations of `check_inertia`, keeping this part everywhere."""
        floats = self._floats.copy()
        floats[1 : len(self._tables.constants), layout.ROUNDING] = part
        return not any(self._is_refused(q, floats) for q in (self._at_rest[0], self._elsewhere))

    def _is_refused(self, q: Array, floats: Array) -> bool:
        """Whether a kernel refuses accelerations of the tree at rest, with these floats."""
        tables, (_, v, tau) = (self._ints, floats, *self._arrays[2:]), self._at_rest
        status = self._kernel(dynamics_entries.forward_dynamics)(*tables, q, v, tau, np.empty(self.nv))
        raise_pending()
        return bool(status != layout.OK)

    def _look_closer(self, pivots: Pivots) -> None:
        """Let pivots be as small against what their coordinates carry as rounding allows, where that is less than usual."""
        small = (pivots.ratios > NO_INERTIA) & (pivots.shares < self._plainly_sound)
        rounding = np.full(self.nv, NO_INERTIA)
        rounding[small] *= np.minimum(1.0, _MARGIN * pivots.shares[small] / pivots.ratios[small])
        for row in range(1, len(self._tables.constants)):
            entries = self._ints[row]
            joint = range(entries[layout.V], entries[layout.V] + _SIZES[entries[layout.KIND]])
            block = range(entries[layout.OWN_V], entries[layout.OWN_V] + entries[layout.OWN])
            self._floats[row, layout.ROUNDING] = rounding[[*joint, *block]].min(initial=self._floats[row, layout.ROUNDING])

    def pivots(self, q: Array) -> Pivots:
        law, work = self._bare._outward(real(q, "q"), np.zeros(self.nv), layout.INVERSE_COLUMNS)
        bodies = {self._tables.elements[c.child.block.name]: c.child for c in self.assembly.connections}
        parts = element_parts(self._ints, self._floats, self._frames, bodies, law[0], work)
        return find_pivots(parts, np.zeros(self.nv, dtype=bool))

    # -- ports ---------------------------------------------------------------------------------------------------------

    def _port_in_element(self, port: str, q: Array) -> tuple[Array, Array, Array, slice]:
        """Return rotation, position and motion subspace of a port in its element, and the coordinates of the subspace."""
        if port in self._tables.port_rows:
            pose = self._ports[self._tables.port_rows[port]]
            return pose[:9].reshape(3, 3), pose[9:], np.zeros((6, 0)), slice(0, 0)
        block, name = self.ports[port]
        general = self._general_block(block)
        if name not in general.ports:
            return np.eye(3), np.zeros(3), np.zeros((6, general.block.nv)), general.v
        own = q[general.q]
        return *general.block.pose(name, own), general.block.motion_subspace(name, own), general.v

    def _port_place(self, port: str) -> tuple[int, int, Array]:
        """Return a port's element, and its place in ``law`` (-1 without) or else its pose (12) in the element."""
        block, name = self.ports[port]
        element = self._tables.elements[block]
        if port in self._tables.port_rows:
            return element, -1, self._ports[self._tables.port_rows[port]].copy()
        ports = self._general_block(block).ports
        place = int(ports[name]) if name in ports else -1
        return element, place, np.concatenate([np.eye(3).ravel(), np.zeros(3)])

    def _general_block(self, name: str) -> GeneralBlock:
        return next(general for general in self._tables.general if general.block.name == name)

    @cached_property
    def _connections(self) -> dict[str, Any]:
        return {connection.joint.name: connection for connection in self._assembly.connections}

    # -- parameters ----------------------------------------------------------------------------------------------------

    @property
    def assembly(self) -> Assembly:
        """The assembly with the parameters' current values."""
        return self._current_assembly

    @cached_property
    def _current_assembly(self) -> Assembly:
        return changed_assembly(self._assembly, self._changes) if self._changes else self._assembly

    def specification(self, assembly: Assembly, dtype: type) -> Any:
        from titop.solvers.engines.reference.resolver import ReferenceModel

        return ReferenceModel(assembly, dtype)

    @property
    def gravity(self) -> Array:
        return self._floats[0, layout.GRAVITY : layout.GRAVITY + 3].copy()

    def parameters(self) -> dict[str, tuple[float, str]]:
        return {
            name: (value, unit)
            for name, value, unit in zip(self._tables.parameter_names, self._params.tolist(), self._units, strict=True)
        }

    def changed(self, values: Mapping[str, float]) -> tuple[Self, list[Finding]]:
        values = read_mapping("parameters", values)
        if self._added:
            unloaded, pushes = self._added
            model, findings = unloaded.changed(values)
            return model._pushed(pushes), findings
        index = self._packed_parameters
        model = self._variant()
        model._params = self._params.copy()
        model._changes = {**self._changes, **values}
        for name, value in values.items():
            if name not in index or not isinstance(value, int | float):
                return self._rebuilt(values)
            model._params[index[name]] = value
        model._floats, model._frames, model._ports = self._floats.copy(), self._frames.copy(), self._ports.copy()
        if not model._pack():
            return self._rebuilt(values)
        model._numbers = numbered_anew(self._tables.interactions, self._ints, self._numbers, model._changes, values)
        bodies = {self._inertial_parameters.get(name, -1) for name in values}
        if -1 not in bodies and self._ample is not None and are_near(self._ample, model._params, bodies):
            return model, []
        model.__dict__.pop("_ample", None)
        if self.is_constrained and any(part in _GEOMETRY for name in values for part in parts_of(name)):
            model._regular_before = self.regular_configuration
            for name in ("_closed_somewhere", "regular_configuration", "generic_rank", "_forward"):
                model.__dict__.pop(name, None)
        errors, warnings = look_at(self._assembly, model._changes, values)
        if errors:
            raise ModelError(errors)
        return model, warnings + model.check_inertia()

    def _rebuilt(self, values: Mapping[str, float]) -> tuple[Self, list[Finding]]:
        """Return the model built again with changed parameters: other springs, general blocks, or an error."""
        changes = {**self._changes, **values}
        model = type(self)(changed_assembly(self._assembly, changes))
        if self.is_constrained:
            model._regular_before = self.regular_configuration
        return model, suspicions(self._assembly, changes, values) + model.check_inertia()

    @cached_property
    def _packed_parameters(self) -> dict[str, int]:
        """Position of the parameters that packing, and numbering anew, bring into effect; shared by all variants."""
        unsprung = set(self._tables.joints) - self._sprung_joints()
        general = self._tables.general_names | {block.name for block in (*self._assembly.actuators, *self._assembly.sensors)}
        general |= {block.name for block, *_ in self.inputs.own}
        general |= {loop.closure.name for loop in self._assembly.loops} | {gear.name for gear in self._assembly.gears}
        general -= {acting.block.name for acting in self._tables.interactions if has_own_numbers(acting.block)}
        index = {}
        for position, name in enumerate(self._tables.parameter_names):
            block, entry, *own = parts_of(name)
            if block in general or (block in unsprung and entry in ("stiffness", "damping", "friction", "limits")):
                continue
            if entry == "rest" and own and own[0].startswith("q"):  # a quaternion, which its joint has to check
                continue
            index[name] = position
        return index

    @cached_property
    def _inertial_parameters(self) -> dict[str, int]:
        return inertial_parameters(self._assembly, self._packed_parameters)

    def _sprung_joints(self) -> set[str]:
        joints = (connection.joint for connection in self._assembly.connections)
        return {joint.name for joint in joints if isinstance(joint, Joint) and joint.is_sprung}

    # -- faults --------------------------------------------------------------------------------------------------------

    def raise_for(self, status: int) -> None:
        """Raise what a kernel's status means."""
        if status == layout.OK:
            return
        raise_pending()
        if status == RAISED:
            raise MemoryError("no memory for the law of a block")
        if status == layout.NOT_UNIT:
            raise ModelError(
                Finding("not-unit", "q", "a quaternion", "a unit quaternion (x, y, z, w)", "divide it by its norm")
            )
        if status > 0:
            raise ModelError(massless_joint(self._tables.joints[status], "no inertia at this configuration"))
        raise ModelError(overflow())


def real(array: Array, name: str) -> Array:
    """Return an argument that the kernels take.

    Raises
    ------
    ModelError
        If it is complex.
    """
    if np.iscomplexobj(array):
        raise ModelError(
            Finding(
                "wrong-type", name, "complex numbers", "real numbers", "use resolve(engine='reference') for complex arguments"
            )
        )
    return array
