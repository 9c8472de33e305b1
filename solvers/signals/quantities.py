"""Quantities: what the names of signals stand for, and their units; and the interface of a model that has them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any, NamedTuple, Protocol, Self

from titop.blocks.basics.spatial import Array
from titop.blocks.contract.own_coordinates import acceleration_unit, effort_unit, rate_unit


class NamedModel(Protocol):
    """A model with named parts and their kinematics; see `titop.solvers.model`."""

    nv: int
    coordinate_names: tuple[str, ...]
    configuration_names: tuple[str, ...]

    @property
    def mechanism(self) -> Any: ...
    def _on(self, mechanism: Any) -> Self: ...
    @property
    def port_names(self) -> tuple[str, ...]: ...
    @property
    def joint_names(self) -> tuple[str, ...]: ...
    @property
    def input_names(self) -> tuple[str, ...]: ...
    @property
    def nu(self) -> int: ...
    @property
    def is_constrained(self) -> bool: ...
    @property
    def constraint_names(self) -> tuple[str, ...]: ...
    @property
    def gravity(self) -> Array: ...
    def neutral(self) -> Array: ...
    def mass_matrix(self, q: Any) -> Array: ...
    def parameters(self) -> dict[str, tuple[float, str]]: ...
    @property
    def hybrid_dynamics(self) -> Callable[..., tuple[Array, Array]]: ...
    def jacobian(self, port: str, q: Any, frame: str = "port") -> Array: ...
    def configuration_derivatives(self, q: Any) -> Array: ...
    def integrate(self, q: Any, dq: Any) -> Array: ...
    def difference(self, q0: Any, q1: Any) -> Array: ...
    def pose(self, port: str, q: Any) -> tuple[Array, Array]: ...
    def motion(self, port: str, q: Any, v: Any, a: Any, sequence: str = "XYZ") -> Array: ...
    def motion_derivatives(self, port: str, q: Any, v: Any, a: Any) -> Any: ...
    def accelerometer(self, port: str, q: Any, v: Any, a: Any) -> Array: ...
    @property
    def reaction(self) -> Callable[..., Array]: ...
    def section_strains(self, rod: str, abscissas: Any, q: Any) -> Array: ...
    @property
    def section_wrenches(self) -> Callable[..., Array]: ...
    def actuation_matrix(self, q: Any) -> Array: ...
    def state_efforts(self, q: Any, v: Any, x: Any = None, u: Any = None) -> Array: ...


class Kind(StrEnum):
    """Kinds of quantities: each is a vector, of a model or of an owner in it."""

    #: Displacements along the tangent directions of the coordinates (nv), their rates, accelerations and efforts.
    POSITION = "coordinate"
    RATE = "rate"
    ACCELERATION = "acceleration"
    EFFORT = "effort"
    #: Displacements and rates together, as states.
    STATE = "state"
    #: Entries of q.
    CONFIGURATION = "configuration"
    #: Inputs of actuators, blocks and interactions (nu).
    INPUT = "actuator"
    #: First-order states of blocks and interactions (nx).
    OWN_STATE = "state of the first order"
    #: White noise of actuators and sensors, of unit density.
    NOISE = "noise"
    #: Parameters of blocks.
    PARAMETER = "parameter"
    #: External wrenches on a port (6), in its frame.
    WRENCH = "wrench"
    #: Of a port, in its frame: spatial acceleration (6), twist (6), position from the inertial origin (3); Euler angles (3).
    PORT_ACCELERATION = "acceleration of a port"
    TWIST = "twist"
    PLACE = "place"
    ANGLES = "angles"
    #: Of a port: specific force, as accelerometers measure it (3); position in inertial axes with Euler angles (6).
    SPECIFIC_FORCE = "specific force"
    POSE = "pose"
    #: Rates (nv) times an inertia.
    MOMENTUM = "momentum"
    #: Of a tendon or a chamber: length or volume, and its rate (2).
    LENGTH = "length"
    VOLUME = "volume"
    #: Wrench that a joint or closure transmits (6).
    REACTION = "reaction"
    #: Of the section of a rod at a port: strain minus the reference strain (6), and wrench transmitted towards the tip (6).
    STRAIN = "strain"
    SECTION_WRENCH = "wrench of a section"
    #: Of a contact: the gaps of its spheres (k); the sum of the forces on them (3), then each (3 k), in the shape's frame.
    GAP = "gap"
    CONTACT_FORCE = "contact force"
    #: What a sensor says of the pose and twist of its port (n).
    OBSERVATION = "observation"
    #: What an interaction measures; the second follows inputs at once.
    READING = "reading"
    READING_AT_ONCE = "reading with feedthrough"
    #: What a sensor measures, behind the filter of its path; the second depends on accelerations.
    FILTERED = "filtered measurement"
    FILTERED_AT_ONCE = "filtered measurement with feedthrough"


#: Kinds of vectors of the coordinates; stacked at stacked states.
OF_COORDINATES = frozenset({Kind.POSITION, Kind.RATE, Kind.ACCELERATION, Kind.EFFORT})

#: Measures of lines in rods and deformable bodies, and their rates.
OF_LINES = frozenset({Kind.LENGTH, Kind.VOLUME})

#: Kinds whose quantities have numbers that depend on parameters.
DEPENDENT = frozenset({Kind.MOMENTUM, Kind.OBSERVATION, Kind.FILTERED, Kind.FILTERED_AT_ONCE})

#: Kinds that depend on accelerations or inputs, and therefore directly on the loads.
DYNAMIC = frozenset(
    {Kind.ACCELERATION, Kind.EFFORT, Kind.PORT_ACCELERATION, Kind.SPECIFIC_FORCE, Kind.REACTION, Kind.SECTION_WRENCH}
    | {Kind.FILTERED_AT_ONCE, Kind.READING_AT_ONCE}
)
#: What interactions measure.
OF_INTERACTIONS = Kind.READING, Kind.READING_AT_ONCE


class Filtering(NamedTuple):
    """A filter of what a sensor measures: ``C x + sum of M z``.

    - `place`: of the filter's states x among the model's;
    - `C` (n, k);
    - `terms`: quantities z, and matrices M.
    """

    measured: Quantity
    place: slice
    C: Array
    terms: tuple[tuple[Quantity, Array], ...]


@dataclass(frozen=True)
class Quantity:
    """A named quantity: some entries of a vector.

    - `owner`: joint, block, coordinate, port, sensor's target, or parameter;
    - `entries`: indices in the vector of this kind;
    - `paths`: dotted name of each entry;
    - `factor`: the inertia, for a momentum;
    - `sequence`: axes of Euler angles;
    - `filtering`: of a filtered measurement;
    - `sensor`: the sensor that says an observation; its `owner`.
    """

    kind: Kind
    owner: str
    entries: tuple[int, ...]
    paths: tuple[str, ...]
    factor: float = 1.0
    sequence: str = "XYZ"
    filtering: Filtering | None = None
    sensor: Any = None

    def only(self, *chosen: int) -> Quantity:
        """Return the quantity of some of the entries."""
        return replace(self, entries=tuple(self.entries[k] for k in chosen), paths=tuple(self.paths[k] for k in chosen))


def of_all_coordinates(kind: Kind, names: Sequence[str], suffix: str) -> Quantity:
    """Return the quantity of all coordinates of a model."""
    return Quantity(kind, "", tuple(range(len(names))), tuple(name + suffix for name in names))


#: Units of dual vectors, linear parts first.
WRENCH_UNITS = ("N",) * 3 + ("N m",) * 3
DISPLACEMENT_UNITS = ("m",) * 3 + ("rad",) * 3
TWIST_UNITS = tuple(map(rate_unit, DISPLACEMENT_UNITS))
ACCELERATION_UNITS = tuple(map(acceleration_unit, DISPLACEMENT_UNITS))
#: Units of strains, torsion and bendings first.
STRAIN_UNITS = ("rad/m",) * 3 + ("1",) * 3


def units_of(model: NamedModel, of: Quantity) -> tuple[str, ...]:
    """Return the unit of each entry of a quantity."""
    if of.kind == Kind.PARAMETER:
        return (model.parameters()[of.owner][1],)
    if of.filtering is not None:
        measured = units_of(model, of.filtering.measured)
        return tuple(measured[k] for k in of.entries)
    if of.sensor is not None:
        measured = of.sensor.channel_units()
        return tuple(measured[k] for k in of.entries)
    if of.kind in OF_INTERACTIONS:
        loop = next(loop for loop in model.mechanism.interactions if loop.closure.name == of.owner)
        return tuple(loop.closure.reading_units[k] for k in of.entries)
    if of.kind in ALIKE:
        return (ALIKE[of.kind],) * len(of.entries)
    units = UNITS[of.kind](model)
    return tuple(units[k] for k in of.entries)


def reading_of(loops: Iterable[Any], name: str, sensor: str = "") -> Quantity | None:
    """Return what one of the interactions among `loops` measures under a name, called as a `sensor`; None for other names."""
    for closure in (loop.closure for loop in loops):
        if name in (paths := getattr(closure, "reading_paths", ())):
            kind = Kind.READING_AT_ONCE if closure.inputs and name not in closure.state_paths else Kind.READING
            return Quantity(kind, closure.name, (paths.index(name),), (sensor or name,))
    return None


#: Kinds whose entries all have one unit, with any number of entries.
ALIKE = {Kind.GAP: "m", Kind.CONTACT_FORCE: "N", Kind.NOISE: "1"}
#: For the other kinds: from a model to the units of all entries.
UNITS: dict[Kind, Callable[[NamedModel], Sequence[str]]] = {
    Kind.POSITION: lambda model: model.mechanism.assembly.coordinate_units,
    Kind.RATE: lambda model: [*map(rate_unit, model.mechanism.assembly.coordinate_units)],
    Kind.ACCELERATION: lambda model: [*map(acceleration_unit, model.mechanism.assembly.coordinate_units)],
    Kind.EFFORT: lambda model: [*map(effort_unit, model.mechanism.assembly.coordinate_units)],
    Kind.CONFIGURATION: lambda model: model.mechanism.assembly.configuration_units,
    Kind.INPUT: lambda model: model.mechanism.inputs.units,
    Kind.OWN_STATE: lambda model: model.mechanism.inputs.state_units,
    Kind.WRENCH: lambda _: WRENCH_UNITS,
    Kind.PORT_ACCELERATION: lambda _: ACCELERATION_UNITS,
    Kind.TWIST: lambda _: TWIST_UNITS,
    Kind.PLACE: lambda _: DISPLACEMENT_UNITS[:3],
    Kind.ANGLES: lambda _: DISPLACEMENT_UNITS[3:],
    Kind.SPECIFIC_FORCE: lambda _: ACCELERATION_UNITS[:3],
    Kind.POSE: lambda _: DISPLACEMENT_UNITS,
    Kind.MOMENTUM: lambda model: [f"{effort_unit(unit)} s" for unit in model.mechanism.assembly.coordinate_units],
    Kind.LENGTH: lambda _: ("m", "m/s"),
    Kind.VOLUME: lambda _: ("m^3", "m^3/s"),
    Kind.REACTION: lambda _: WRENCH_UNITS,
    Kind.STRAIN: lambda _: STRAIN_UNITS,
    Kind.SECTION_WRENCH: lambda _: WRENCH_UNITS,
}
