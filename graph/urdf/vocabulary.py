"""The vocabulary of URDF: elements that are read, that do not concern dynamics, and that are refused by name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

#: Kinds of joint with one coordinate, and all kinds.
AXIAL_KINDS = ("revolute", "continuous", "prismatic")
KINDS = ("fixed", *AXIAL_KINDS, "planar", "floating")

#: Namespaces, as `bare_tag` has them, of elements that other programs have to expand.
UNEXPANDED = ("{ros.org/wiki/xacro}", "{wiki.ros.org/xacro}", "{w3.org/2001/XInclude}")
#: Namespace of Drake's extensions, as `bare_tag` has it.
DRAKE = "{drake.mit.edu}"


@dataclass(frozen=True)
class Vocabulary:
    """The attributes and children that an element may have.

    Attributes
    ----------
    attributes, children : tuple of str
        What is read.
    silent : tuple of str
        Children that say nothing about the dynamics of the robot.
    strict : bool
        Whether an unknown attribute is an error: where it surely changes the dynamics.
    leftovers : mapping of attribute to attribute
        Attributes that real files have though URDF has none, and which say nothing if they are zero, or repeat another.
    """

    attributes: tuple[str, ...]
    children: tuple[str, ...] = ()
    silent: tuple[str, ...] = ()
    strict: bool = False
    leftovers: Mapping[str, str] = field(default_factory=dict)


VOCABULARY = {
    "robot": Vocabulary(
        ("name", "version"), ("link", "joint", "transmission", "gazebo"), ("material", "sensor", "ros2_control")
    ),
    "link": Vocabulary(("name",), ("inertial",), ("visual", "collision", "contact", "material")),
    "inertial": Vocabulary((), ("mass", "inertia", "origin")),
    "mass": Vocabulary(("value",), strict=True),
    "inertia": Vocabulary(
        ("ixx", "iyy", "izz", "ixy", "ixz", "iyz"), strict=True, leftovers={"iyx": "ixy", "izx": "ixz", "izy": "iyz"}
    ),
    "origin": Vocabulary(("xyz", "rpy", "quat_xyzw"), strict=True),
    "joint": Vocabulary(
        ("name", "type"),
        ("origin", "parent", "child", "axis", "limit", "dynamics", "mimic"),
        ("calibration", "safety_controller"),
    ),
    "parent": Vocabulary(("link",), strict=True),
    "child": Vocabulary(("link",), strict=True),
    "axis": Vocabulary(("xyz",), strict=True, leftovers={"rpy": ""}),
    "limit": Vocabulary(("lower", "upper", "velocity", "effort")),
    "dynamics": Vocabulary(("damping", "friction", "armature")),
    "mimic": Vocabulary(("joint", "multiplier", "offset"), strict=True),
}


def bare_tag(tag: str) -> str:
    """Return a tag, its namespace without scheme, ``www.`` and closing slashes: files write one in many ways."""
    namespace, closing, name = tag.rpartition("}")
    if not closing:
        return tag
    for start in ("{", "http://", "https://", "www."):
        namespace = namespace.removeprefix(start)
    return f"{{{namespace.rstrip('/')}}}{name}"


#: What a robot cannot do without and titop has no block for, with advice.
REFUSED = {
    "include": "put everything into one file",
    "loop_joint": "close the loop in Python",
    f"{DRAKE}joint": "connect the joint in Python",
    f"{DRAKE}linear_bushing_rpy": "add the spring in Python",
    f"{DRAKE}ball_constraint": "close the loop in Python",
    f"{DRAKE}mimic": "write it as <mimic>",
}

#: Children of `gazebo` elements that change the dynamics.
GAZEBO_DYNAMICS = ("springStiffness", "springReference", "turnGravityOff", "gravity", "dampingFactor")

#: Elements inside of transmissions, with the value that says nothing: with both, a rotor adds to a joint's inertia.
DRIVES = {"mechanicalReduction": 1.0, "mechanical_reduction": 1.0, "motorInertia": 0.0}
