"""The classes of blocks in model files, with their names and fields.

A class of your own takes one call, in the module that defines it::

    register_block(Segment, "segment")

after which its constructor is called with ``name`` and what else it takes, and its attributes of the same names are saved:
numbers and arrays, texts, switches. Other kinds of values are named, as are defaults that are not written::

    register_block(Segment, "segment", {"length": NUMBER, "damping": FileField(NUMBER, default=0.0)})

`titop.graph.files.file_fields` and `titop.graph.files.records` have the kinds of values.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from titop.blocks.basics.errors import Finding, ModelError
from titop.blocks.basics.pose import Pose
from titop.blocks.bodies.beam import Beam
from titop.blocks.bodies.flexible_body import FlexibleBody
from titop.blocks.bodies.rigid_body import RigidBody
from titop.blocks.bodies.rods.rod import Rod
from titop.blocks.bodies.rods.strains import STRAIGHT
from titop.blocks.constraints.gear import Gear
from titop.blocks.constraints.rigid_closure import RigidClosure
from titop.blocks.contract.block import Block
from titop.blocks.devices import actuators, sensors
from titop.blocks.devices.loads import Load
from titop.blocks.interactions.cable import Cable
from titop.blocks.interactions.contact import Contact
from titop.blocks.interactions.distributed_load import DistributedLoad
from titop.blocks.interactions.springs import CompliantClosure, SpringDamper
from titop.blocks.interactions.tendon import PressureChamber, Tendon
from titop.blocks.joints.coordinate_limits import CoordinateLimits
from titop.blocks.joints.friction_and_limits import Limits
from titop.blocks.joints.joint import Joint
from titop.blocks.joints.plain_joints import Cylindrical, Planar, Prismatic, Revolute, Screw, Universal, Weld
from titop.blocks.joints.quaternion_joints import Free, Spherical
from titop.graph.files.block_fields import (
    BASIS,
    PATH,
    POINTS,
    ROD,
    ROD_PORTS,
    RODS,
    SECTION,
    SHAPE,
    STRAINS,
    TOUCHING,
    WATER,
    NumbersKind,
)
from titop.graph.files.file_fields import (
    BLOCK_NAME,
    COORDINATE_LIST,
    FLAG,
    NUMBER,
    NUMBERS,
    PORT,
    PORT_LIST,
    SYMMETRIC,
    TEXT,
    TEXTS,
    UNLIMITED,
    FileField,
    ValueKind,
)
from titop.graph.files.records import FRICTION, LIMITS, PORTS, POSE, SHAPES

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
    """A class of blocks in model files.

    Attributes
    ----------
    cls : type
    name : str
        Value of ``type`` in a file.
    fields : dict of str to FileField
        In the order in which they are written.
    sections : tuple of str
        Tables of a file in which such blocks may stand.
    """

    cls: type[Block]
    name: str
    fields: Mapping[str, FileField]
    sections: tuple[str, ...]


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
    for name, argument in list(inspect.signature(cls).parameters.items())[1:]:
        if argument.kind in (argument.POSITIONAL_OR_KEYWORD, argument.KEYWORD_ONLY):
            default = argument.default
            known = {"target": PORT, "joint": BLOCK_NAME, "path": PATH}
            kind = known.get(name) or {bool: FLAG, str: TEXT}.get(type(default), NUMBERS)
            fields[name] = kind if default is argument.empty else FileField(kind, None)
    return fields


def _check_registration(cls: Any, type_name: Any, fields: Any) -> None:
    """Refuse arguments that are no class of blocks, no name or no fields."""
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


def _neutral(joint: Any) -> Any:
    return joint.neutral()


_PASSIVE = {
    "stiffness": FileField(SYMMETRIC, 0.0),
    "damping": FileField(SYMMETRIC, 0.0),
    "rest": FileField(NUMBERS, _neutral, normalised=True),
    "armature": FileField(SYMMETRIC, 0.0),
    "friction": FileField(FRICTION, ((0.0, 0.0, 0.01, 0.001),)),
    "limits": FileField(LIMITS, (Limits(),)),
}
_ORIGIN = (0.0, 0.0, 0.0)
_FRAME = FileField(TEXT, "port")
_PATH = {"path": FileField(PATH, None)}


def _kind(closure: Any) -> str:
    return "weld" if closure.directions is None else "directions"


def _register_joints(classes: Iterable[type[Joint]], **own: FileField | ValueKind) -> None:
    for cls in classes:
        axes = dict.fromkeys(cls.axis_fields, FileField(NUMBERS, None))
        register_block(cls, cls.__name__.lower(), {**axes, **own, **(_PASSIVE if cls.coordinates else {})})


register_block(
    RigidBody,
    "rigid",
    {
        "mass": NUMBER,
        "com": FileField(NUMBERS, _ORIGIN),
        "inertia": FileField(SYMMETRIC, 0.0),
        "ports": FileField(PORTS, {}, attribute="port_poses"),
        "volume": FileField(NUMBER, None),
        "buoyancy_center": FileField(NUMBERS, None),
        **WATER,
    },
)
register_block(
    FlexibleBody,
    "flexible",
    {
        "mass": NUMBER,
        "com": FileField(NUMBERS, _ORIGIN),
        "inertia": FileField(SYMMETRIC, 0.0),
        "frequencies": FileField(NUMBERS, None),
        "modal_mass": FileField(SYMMETRIC, None),
        "modal_stiffness": FileField(SYMMETRIC, None),
        "modal_damping": FileField(SYMMETRIC, None),
        "damping_ratios": FileField(NUMBERS, lambda body: np.zeros(body.nv)),
        "participation": FileField(NUMBERS, None),
        "coordinate_names": FileField(TEXTS, None),
        "ports": FileField(PORTS, {}, attribute="port_poses"),
        "shapes": FileField(SHAPES, {}),
        "geometric_stiffness": FileField(SHAPES, None),
        "position_moments": FileField(NUMBERS, None),
        "displacement_moments": FileField(NUMBERS, None),
        "recovery": FileField(SHAPES, {}),
    },
)
register_block(
    Beam,
    "beam",
    {
        **dict.fromkeys(("length", "density", "area", "young", "iy", "iz"), NUMBER),
        "torsion_constant": FileField(NUMBER, None),
        "shear_modulus": FileField(NUMBER, None),
        "poisson": FileField(NUMBER, 0.3, attribute=None),
        "shear_factors": FileField(NUMBERS, None),
        "damping_ratio": FileField(NUMBER, 0.0),
        "modes": FileField(NUMBERS, 2),
        "torsion_modes": FileField(NUMBER, 1),
        "axial_modes": FileField(NUMBER, 0),
        **WATER,
    },
)
register_block(
    Rod,
    "rod",
    {
        "length": NUMBER,
        "section": SECTION,
        "young": NUMBER,
        "density": NUMBER,
        "poisson": FileField(NUMBER, None),
        "shear_modulus": FileField(NUMBER, None, attribute="given_shear_modulus"),
        "damping": FileField(NUMBER, 0.0),
        "strains": FileField(STRAINS, None),
        "basis": FileField(BASIS, 3, attribute=None),
        "reference_strain": FileField(NumbersKind("reference_strain"), STRAIGHT),
        "ports": FileField(ROD_PORTS, {}, attribute="named_ports"),
        "points": FileField(NUMBER, 5),
        "fluid_density": FileField(NUMBER, None, attribute=None),
        **WATER,
    },
)
_register_joints((Revolute, Prismatic, Cylindrical, Universal, Planar, Spherical, Free, Weld))
_register_joints((Screw,), pitch=FileField(NUMBER, 0.0))
register_block(CompliantClosure, "compliant", {"stiffness": FileField(SYMMETRIC, 0.0), "damping": FileField(SYMMETRIC, 0.0)})
register_block(
    SpringDamper,
    "spring",
    {"stiffness": FileField(NUMBER, 0.0), "damping": FileField(NUMBER, 0.0), "length": FileField(NUMBER, 0.0)},
)
register_block(
    Contact,
    "contact",
    {
        "radius": FileField(POINTS, None),
        "stiffness": FileField(NUMBER, 0.0),
        "normal": FileField(NUMBERS, (0.0, 0.0, 1.0)),
        "dissipation": FileField(NUMBER, 0.0),
        "friction": FileField(NUMBER, 0.0),
        "slip_velocity": FileField(NUMBER, 1e-3),
        "exponent": FileField(NUMBER, 1.5),
        "on": FileField(TOUCHING, None),
        "shape": FileField(SHAPE, None),
        "points": FileField(POINTS, None),
        "rolling": FileField(NUMBER, 0.0),
        "tangential_stiffness": FileField(NUMBER, 0.0),
    },
)
register_block(
    Cable,
    "cable",
    {
        **dict.fromkeys(("stiffness", "length", "dissipation"), FileField(NUMBER, 0.0)),
        "arms": FileField(NUMBERS, ()),
        "max_tension": FileField(UNLIMITED, float("inf"), attribute="upper"),
    },
)
_ROUTING: dict[str, FileField | ValueKind] = {
    "rods": RODS,
    "y": FileField(NumbersKind("y"), (0.0,)),
    "z": FileField(NumbersKind("z"), (0.0,)),
    "relative": FileField(FLAG, False),
    "start": FileField(NUMBER, 0.0),
    "end": FileField(NUMBER, None, attribute="given_end"),
    "points": FileField(NUMBER, 8),
}
register_block(
    Tendon,
    "tendon",
    {
        **_ROUTING,
        **dict.fromkeys(("stiffness", "displacement", "dissipation"), FileField(NUMBER, 0.0)),
        "arms": FileField(NUMBERS, ()),
        "max_tension": FileField(UNLIMITED, float("inf"), attribute="upper"),
        "push": FileField(FLAG, False),
    },
)
register_block(
    PressureChamber,
    "chamber",
    {
        **_ROUTING,
        "area": NumbersKind("area"),
        "max_pressure": FileField(UNLIMITED, float("inf"), attribute="upper"),
        "suction": FileField(FLAG, False),
    },
)
register_block(
    DistributedLoad,
    "distributed",
    {
        "rod": ROD,
        **{name: FileField(NumbersKind(name), _ORIGIN) for name in ("force", "torque")},
        "frame": FileField(TEXT, "section"),
        "start": FileField(NUMBER, 0.0),
        "end": FileField(NUMBER, None, attribute="given_end"),
        "scale": FileField(NUMBER, 1.0),
        "driven": FileField(FLAG, False),
        "points": FileField(NUMBER, None, attribute="given_points"),
    },
)
register_block(
    RigidClosure,
    "rigid",
    {
        "kind": FileField(TEXT, _kind),
        "axis": FileField(NUMBERS, (0.0, 0.0, 1.0)),
        "axis2": FileField(NUMBERS, (0.0, 1.0, 0.0)),
        "directions": FileField(NUMBERS, None),
        "redundant": FileField(FLAG, False),
    },
)
register_block(
    Gear,
    "gear",
    {"driver": BLOCK_NAME, "driven": BLOCK_NAME, "ratio": FileField(NUMBER, 1.0), "offset": FileField(NUMBER, 0.0)},
)
register_block(CoordinateLimits, "limits", {"joint": BLOCK_NAME, "limits": LIMITS})
register_block(
    Load,
    "constant",
    {"target": PORT, "force": FileField(NUMBERS, _ORIGIN), "torque": FileField(NUMBERS, _ORIGIN), "frame": _FRAME},
)
register_block(
    actuators.Motor,
    "motor",
    {
        "joint": BLOCK_NAME,
        "gear": FileField(NUMBER, 1.0),
        "rotor_inertia": FileField(NUMBER, 0.0),
        "effort_limit": FileField(UNLIMITED, float("inf"), attribute="upper"),
        **_PATH,
    },
)
register_block(
    actuators.Thruster,
    "thruster",
    {
        "target": PORT,
        "direction": FileField(NUMBERS, None),
        "max_thrust": FileField(UNLIMITED, float("inf"), attribute="upper"),
        **_PATH,
    },
)
_directed: dict[str, FileField | ValueKind] = {"target": PORT, "direction": FileField(NUMBERS, None), "frame": _FRAME}
for _cls in (actuators.Force, actuators.Torque):
    register_block(_cls, _cls.__name__.lower(), _directed | _PATH)
register_block(sensors.Accelerometer, "accelerometer", {"target": PORT, **_PATH})
register_block(sensors.Gyro, "gyro", {"target": PORT, **_PATH})
register_block(sensors.Encoder, "encoder", {"joint": BLOCK_NAME, **_PATH})
register_block(sensors.Tachometer, "tachometer", {"joint": BLOCK_NAME, **_PATH})
register_block(sensors.PoseSensor, "pose", {"target": PORT, "sequence": FileField(TEXT, "XYZ"), **_PATH})
register_block(sensors.StrainGauge, "strain-gauge", {"target": PORT, **_PATH})
register_block(sensors.ReactionSensor, "reaction", {"joint": BLOCK_NAME, **_PATH})
register_block(sensors.TendonSensor, "tendon", {"tendon": BLOCK_NAME, **_PATH})
register_block(sensors.WheelMomentum, "wheel-momentum", {"joint": BLOCK_NAME, "inertia": FileField(NUMBER, None), **_PATH})
