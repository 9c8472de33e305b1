"""The classes of blocks in model files, with their names and fields.

A class of your own takes one call, in the module that defines it::

    register_block(Segment, "segment")

after which its constructor is called with ``name`` and what else it takes, and its attributes of the same names are saved:
numbers and arrays, texts, switches. Other kinds of values are named, as are defaults that are not written::

    register_block(Segment, "segment", {"length": NUMBER, "damping": FileField(NUMBER, default=0.0)})

`titop.graph.files.file_fields` has the kinds of values.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from titop.blocks.basics.errors import Finding, ModelError
from titop.blocks.basics.pose import Pose
from titop.blocks.bodies.beam import Beam
from titop.blocks.bodies.flexible_body import FlexibleBody
from titop.blocks.bodies.rigid_body import RigidBody
from titop.blocks.bodies.rods.rod import Rod
from titop.blocks.constraints.distance import Distance
from titop.blocks.constraints.relation import Gear, LinearRelation
from titop.blocks.constraints.rigid_closure import RigidClosure
from titop.blocks.constraints.rolling import KnifeEdge, RollingDisc, RollingSphere
from titop.blocks.contract.block import Block
from titop.blocks.devices import actuators, drives, sensors
from titop.blocks.devices.control_moment_gyro import ControlMomentGyro
from titop.blocks.devices.loads import Load
from titop.blocks.devices.magnetorquer import Magnetorquer
from titop.blocks.devices.reaction_wheel import ReactionWheel
from titop.blocks.devices.slosh import CylinderSlosh, SphereSlosh, TableSlosh
from titop.blocks.interactions.cable import Cable
from titop.blocks.interactions.contact import Contact
from titop.blocks.interactions.distributed_load import DistributedLoad
from titop.blocks.interactions.elastic_drive import ElasticDrive
from titop.blocks.interactions.springs import CompliantClosure, CoordinateSpring, SpringDamper
from titop.blocks.interactions.tendon import PressureChamber, Tendon
from titop.blocks.joints.curvilinear import Curvilinear
from titop.blocks.joints.friction_and_limits import CoordinateLimits, Limits
from titop.blocks.joints.plain_joints import Cartesian, Cylindrical, Planar, Prismatic, Revolute, Screw, Universal, Weld
from titop.blocks.joints.quaternion_joints import Free, Spherical
from titop.blocks.surroundings.aerodynamic_drag import AerodynamicDrag
from titop.blocks.surroundings.magnetic_field import ResidualDipole
from titop.blocks.surroundings.solar_pressure import SolarPressure
from titop.graph.files import block_fields as special
from titop.graph.files.file_fields import (
    BLOCK_NAME,
    COORDINATE_LIST,
    FACTORS,
    FLAG,
    FRICTION,
    LIMITS,
    NUMBER,
    NUMBERS,
    PORT,
    PORT_LIST,
    PORTS,
    POSE,
    REQUIRED,
    SHAPES,
    SYMMETRIC,
    TEXT,
    TEXTS,
    UNLIMITED,
    FileField,
    ValueKind,
)

#: What the tables of joints, closures and interactions say besides the block's own fields: arguments of the method that adds
#: the block.
ENDS: dict[str, dict[str, FileField]] = {
    "joints": {"parent": FileField(PORT), "child": FileField(PORT), "placement": FileField(POSE, Pose())},
    "closures": {"first": FileField(PORT), "second": FileField(PORT)},
    "interactions": {
        "ports": FileField(PORT_LIST, (), attribute="named_ports"),
        "coordinates": FileField(COORDINATE_LIST, (), attribute="named_coordinates"),
    },
}

#: The type of a block that does not say it.
DEFAULT_TYPES = {"gears": "gear", "loads": "constant"}


@dataclass(frozen=True)
class BlockType:
    """A class of blocks in model files."""

    cls: type[Block]
    name: str  #: Value of ``type`` in a file.
    fields: Mapping[str, FileField]  #: In the order in which they are written.
    sections: tuple[str, ...]  #: Tables of a file in which such blocks may stand.


#: Kinds of arguments of all constructors, by their names.
_KINDS = {"target": PORT, "joint": BLOCK_NAME, "path": special.PATH}

_TYPES: dict[tuple[tuple[str, ...], str], BlockType] = {}


def register_block(cls: type[Block], type_name: str, fields: Mapping[str, FileField | ValueKind] | None = None) -> None:
    """Register a class of blocks for model files.

    Parameters
    ----------
    cls : type
        Subclass of `Block`; its constructor takes ``name`` and the fields as keywords. A subclass of a registered class needs
        a call of its own.
    type_name : str
        Value of ``type`` in files; unique among the blocks of a table. Registering a class of the same name and module again
        replaces it.
    fields : mapping of str to FileField or ValueKind, optional
        In the order in which they are written; a kind alone stands for a field that must be given. Those of the constructor by
        default, which are texts or switches where their defaults are, else numbers; ``target`` is a port, ``joint`` a joint,
        ``path`` a `SignalPath`.

    Raises
    ------
    ModelError
        If the class is no subclass of `Block`, a field no `FileField` or `ValueKind`, the type name that of another class, or a
        field one of those with which the table of a joint, closure or interaction names its targets.
    """
    _check_registration(cls, type_name, {} if fields is None else fields)
    fields = _arguments(cls) if fields is None else fields
    sections = cls.file_tables
    known = next((types[type_name] for types in map(types_in, sections) if type_name in types), None)
    if known and (known.cls.__module__, known.cls.__qualname__) != (cls.__module__, cls.__qualname__):
        taken = f"{type_name!r} is {known.cls.__qualname__}"
        raise ModelError(Finding("duplicate-type", cls.__qualname__, taken, "a type name of its own", "choose another name"))
    reserved = {"type", *(end for section in sections for end in ENDS.get(section, ()))} & set(fields)
    if reserved:
        expected = "fields other than those of every table"
        raise ModelError(Finding("reserved-field", cls.__qualname__, sorted(reserved), expected, "rename the field"))
    full = {name: field if isinstance(field, FileField) else FileField(field) for name, field in fields.items()}
    _TYPES[sections, type_name] = BlockType(cls, type_name, full, sections)


def _arguments(cls: type[Block]) -> dict[str, FileField | ValueKind]:
    """Return the fields that the constructor of a class takes after the name."""
    fields: dict[str, FileField | ValueKind] = {}
    for name, default in _defaults(cls).items():
        kind = _KINDS.get(name) or {bool: FLAG, str: TEXT}.get(type(default), NUMBERS)
        fields[name] = kind if default is REQUIRED else FileField(kind, None)
    return fields


def _defaults(cls: type[Block]) -> dict[str, Any]:
    """Return the arguments of the constructor of a class after the name, with their defaults."""
    arguments = list(inspect.signature(cls).parameters.values())[1:]
    named = (each for each in arguments if each.kind in (each.POSITIONAL_OR_KEYWORD, each.KEYWORD_ONLY))
    return {each.name: REQUIRED if each.default is each.empty else each.default for each in named}


def _check_registration(cls: Any, type_name: Any, fields: Any) -> None:
    name = getattr(cls, "__qualname__", repr(cls))
    advice = 'write register_block(Segment, "segment", {"length": NUMBER})'
    if not (isinstance(cls, type) and issubclass(cls, Block)):
        raise ModelError(Finding("not-a-block", name, cls, "a subclass of tt.Block", advice))
    if not (isinstance(type_name, str) and type_name):
        raise ModelError(Finding("wrong-type", f"{name}.type_name", type_name, "a text that is not empty", advice))
    if not isinstance(fields, Mapping):
        raise ModelError(Finding("wrong-type", f"{name}.fields", fields, "a mapping of names to kinds", advice))
    for field, kind in fields.items():
        if not (isinstance(field, str) and isinstance(kind, FileField | ValueKind)):
            expected = "a FileField or a ValueKind, such as titop.graph.files.file_fields.NUMBER"
            raise ModelError(Finding("wrong-type", f"{name}.{field}", kind, expected, advice))


def type_of(block: Block) -> BlockType | None:
    """Return the registered type of a block's class; None if there is none."""
    return next((known for known in _TYPES.values() if known.cls is type(block)), None)


def types_in(section: str) -> dict[str, BlockType]:
    """Return the types that may stand in a table of a file, by name."""
    return {known.name: known for known in _TYPES.values() if section in known.sections}


# -- titop's own blocks ----------------------------------------------------------------------------------------------------


def _register(cls: type[Block], type_name: str, **kinds: FileField | ValueKind) -> None:
    """Register a class of titop: what its constructor takes without a value is not written.

    Arguments are numbers, texts or switches, and those of a tuple by default several numbers, unless their `kinds` are given.
    """
    fields = {}
    for name, default in _defaults(cls).items():
        by_default = {bool: FLAG, str: TEXT, tuple: NUMBERS}.get(type(default), NUMBER)
        kind = kinds.get(name) or _KINDS.get(name, by_default)
        fields[name] = kind if isinstance(kind, FileField) else FileField(kind, default)
    fields |= {name: kind for name, kind in kinds.items() if name not in fields and isinstance(kind, FileField)}
    register_block(cls, type_name, fields)


_FRICTION = FileField(FRICTION, ((0.0, 0.0, 0.01, 0.001),))
_PASSIVE = {
    "stiffness": FileField(SYMMETRIC, 0.0),
    "damping": FileField(SYMMETRIC, 0.0),
    "rest": FileField(NUMBERS, lambda joint: joint.neutral(), normalised=True),
    "armature": FileField(SYMMETRIC, 0.0),
    "friction": _FRICTION,
    "limits": FileField(LIMITS, (Limits(),)),
}
_BODY_PORTS = FileField(PORTS, {}, attribute="port_poses")
_UPPER = FileField(UNLIMITED, float("inf"), attribute="upper")
_DIRECTION = FileField(NUMBERS, None)
_END = FileField(NUMBER, None, attribute="given_end")


for _cls in (Revolute, Prismatic, Cylindrical, Universal, Cartesian, Planar, Spherical, Free, Weld, Screw):
    _fields = {name: FileField(NUMBER, default) for name, default in _defaults(_cls).items() if name not in _PASSIVE}
    _fields |= dict.fromkeys(_cls.axis_fields, _DIRECTION)
    register_block(_cls, _cls.__name__.lower(), _fields | (_PASSIVE if _cls.coordinates else {}))

_register(Curvilinear, "curvilinear", points=special.POINTS, up=FileField(special.POINTS, None), **_PASSIVE)
_register(RigidBody, "rigid", inertia=SYMMETRIC, ports=_BODY_PORTS, buoyancy_center=NUMBERS, **special.WATER)
_register(
    FlexibleBody,
    "flexible",
    **dict.fromkeys(("frequencies", "participation", "position_moments", "displacement_moments"), NUMBERS),
    **dict.fromkeys(("inertia", "modal_mass", "modal_stiffness", "modal_damping"), SYMMETRIC),
    damping_ratios=FileField(NUMBERS, lambda body: np.zeros(body.nv)),
    coordinate_names=TEXTS,
    ports=_BODY_PORTS,
    shapes=FileField(SHAPES, {}),
    geometric_stiffness=SHAPES,
    recovery=FileField(SHAPES, {}),
)
_register(Beam, "beam", poisson=FileField(NUMBER, None, attribute=None), shear_factors=NUMBERS, modes=NUMBERS, **special.WATER)
_register(
    Rod,
    "rod",
    section=special.SECTION,
    shear_modulus=FileField(NUMBER, None, attribute="given_shear_modulus"),
    strains=FileField(special.STRAINS, None),
    basis=FileField(special.BASIS, 3, attribute=None),
    reference_strain=special.numbers_of("reference_strain"),
    ports=FileField(special.ROD_PORTS, {}, attribute="named_ports"),
    **special.WATER,
)
_register(CompliantClosure, "compliant", stiffness=SYMMETRIC, damping=SYMMETRIC)
_register(SpringDamper, "spring")
_register(Contact, "contact", radius=special.POINTS, on=special.TOUCHING, shape=special.SHAPE, points=special.POINTS)
_register(Cable, "cable", max_tension=_UPPER)
_register(ElasticDrive, "elastic-drive")
_LINE: dict[str, FileField | ValueKind] = {"rods": special.RODS, "end": _END}
_LINE |= {name: special.numbers_of(name) for name in ("y", "z")}
_register(Tendon, "tendon", **_LINE, max_tension=_UPPER)
_register(PressureChamber, "chamber", **_LINE, area=special.numbers_of("area"), max_pressure=_UPPER)
_register(
    DistributedLoad,
    "distributed",
    rod=special.ROD,
    force=special.numbers_of("force"),
    torque=special.numbers_of("torque"),
    end=_END,
    points=FileField(NUMBER, None, attribute="given_points"),
)
_register(ResidualDipole, "residual-dipole", moment=NUMBERS, field=special.MAGNETIC_FIELD)
_register(AerodynamicDrag, "drag", facets=special.FACETS, scale_height=UNLIMITED)
_register(SolarPressure, "solar-pressure", facets=special.FACETS, sun=NUMBERS)
_register(
    RigidClosure,
    "rigid",
    kind=FileField(TEXT, lambda closure: "weld" if closure.directions is None else "directions"),
    directions=NUMBERS,
)
_register(RollingDisc, "rolling-disc")
_register(RollingSphere, "rolling-sphere")
_register(KnifeEdge, "knife-edge")
_register(Distance, "distance")
_register(CoordinateSpring, "coordinate-spring", arms=NUMBERS)
_register(Gear, "gear", driver=BLOCK_NAME, driven=BLOCK_NAME)
_register(LinearRelation, "relation", factors=FACTORS)
_register(CoordinateLimits, "limits", limits=LIMITS)
_register(Load, "constant")
_register(actuators.Motor, "motor", effort_limit=_UPPER)
_register(actuators.Thruster, "thruster", direction=_DIRECTION, max_thrust=_UPPER)
_register(actuators.Propeller, "propeller", direction=_DIRECTION, max_speed=UNLIMITED)
_register(Magnetorquer, "magnetorquer", field=special.MAGNETIC_FIELD, axis=_DIRECTION, max_dipole=_UPPER)
_register(actuators.Force, "force", direction=_DIRECTION)
_register(actuators.Torque, "torque", direction=_DIRECTION)
_UNLIMITED = FileField(UNLIMITED, float("inf"))
_register(ReactionWheel, "reactionwheel", axis=NUMBERS, torque_limit=_UNLIMITED, friction=_FRICTION, harmonics=special.POINTS)
_register(
    ControlMomentGyro,
    "controlmomentgyro",
    **types_in("devices")["reactionwheel"].fields,
    **dict.fromkeys(("gimbal_axis", "outer_axis"), NUMBERS),
    **dict.fromkeys(("gimbal_inertia", "outer_inertia"), SYMMETRIC),
    gimbal_torque_limit=_UNLIMITED,
)
_register(CylinderSlosh, "cylinder-slosh")
_register(SphereSlosh, "sphere-slosh")
_register(
    TableSlosh, "table-slosh", **dict.fromkeys(("fills", "mass", "centre", "masses", "lengths", "heights", "inertia"), NUMBERS)
)
_register(drives.DCMotor, "dc-motor", back_emf=FileField(NUMBER, None), voltage_limit=_UPPER)
_register(drives.StepperDrive, "stepper")
_register(sensors.Accelerometer, "accelerometer")
_register(sensors.Gyro, "gyro")
_register(sensors.Encoder, "encoder")
_register(sensors.Tachometer, "tachometer")
_register(sensors.PoseSensor, "pose")
_register(sensors.StarTracker, "star-tracker", nominal=FileField(NUMBERS, lambda tracker: np.eye(3)))
_register(sensors.SunSensor, "sun-sensor", direction=NUMBERS)
_register(sensors.Magnetometer, "magnetometer", field=special.MAGNETIC_FIELD)
_register(sensors.GNSS, "gnss")
_register(sensors.StrainGauge, "strain-gauge")
_register(sensors.ReactionSensor, "reaction")
_register(sensors.TendonSensor, "tendon", tendon=BLOCK_NAME)
_register(sensors.DriveSensor, "drive", reading=BLOCK_NAME)
_register(sensors.WheelMomentum, "wheel-momentum")
