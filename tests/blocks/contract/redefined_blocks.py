"""A small system around a block of every public class, and what subclasses of it may say anew."""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

import titop as tt
from tests.blocks.joints.joint_kinds import FIELDS
from tests.flexible import random_body
from tests.systems import Array
from titop.blocks.constraints.closure import Closure
from titop.blocks.constraints.relation import Relation
from titop.blocks.devices.actuators import Actuator
from titop.blocks.devices.sensors import Sensor

#: Puts a block into a system, as it is or as one of a subclass.
Change = Callable[[Any], Any]


def arm(name: str = "arm", **ports: Any) -> tt.RigidBody:
    """Return a body with a port at its end."""
    return tt.RigidBody(name, 1.3, [0.2, 0.1, 0.0], [0.1, 0.12, 0.15], {"end": [0.5, 0.1, -0.1], **ports})


def _rod(name: str = "block") -> tt.Rod:
    section = tt.Section.circle(0.02)
    return tt.Rod(name, 0.4, section, young=2e5, density=900.0, damping=20.0, strains={"bending_y": 1, "elongation": 0})


def _soft(name: str = "block") -> tt.SoftBody:
    bend, material = tt.Kinematics.constant_curvature(0.3), tt.Material.linear(1e5, 0.3, 20.0)
    return tt.SoftBody(name, bend, tt.Domain.cylinder(0.02, 0.3), 1000.0, material, ports={"C": [0, 0, 0.3]})


def carried(block: tt.Block) -> tt.System:
    """Return a body on a hinge, with another at its last port."""
    s = tt.System("carried", gravity=[1, 2, -9.81])
    s.connect("world", block, tt.Revolute("hinge", axis=[1, 2, 3]))
    s.connect(block.port(block.ports[-1]), arm("tip"), tt.Revolute("wrist", axis=[0, 1, 1], stiffness=2.0))
    return s


def joined(joint: tt.Joint) -> tt.System:
    """Return two bodies with a joint between them."""
    s = tt.System("joined", gravity=[1, 2, -9.81])
    s.connect("world", one := arm("one"), tt.Revolute("hinge", axis=[1, 2, 3]))
    s.connect(one.port("end"), arm("tip"), joint)
    return s


def two_arms() -> tuple[tt.System, tt.RigidBody, tt.RigidBody]:
    """Return two bodies in a row on hinges."""
    s, one, two = tt.System("arms", gravity=[1, 2, -9.81]), arm("one"), arm("tip")
    s.connect("world", one, tt.Revolute("hinge", axis=[0, 1, 0]))
    s.connect(one.port("end"), two, tt.Revolute("wrist", axis=[0, 1, 0]))
    return s, one, two


def acting(act: Callable[[tt.System, tt.RigidBody, tt.RigidBody, Change], None]) -> Callable[[Change], tt.System]:
    """Return what builds two arms on which something acts."""

    def build(change: Change) -> tt.System:
        s, one, two = two_arms()
        act(s, one, two, change)
        return s

    return build


def on(make: Callable[..., tt.Block], what: Callable[..., tt.Block], *ends: str) -> Callable[[Change], tt.System]:
    """Return what builds a body that deforms, on which something acts, or which something reads."""

    def build(change: Change) -> tt.System:
        body = make("body")
        s, acts = carried(body), change(what(body))
        if isinstance(acts, tt.Interaction):
            s.add_interaction(acts)
        elif isinstance(acts, tt.CoordinateLimits):
            s.add_limits(acts)
        else:
            s.add_sensor(acts)
        return s

    return build


def _tendon_sensor(change: Change) -> tt.System:
    rod = _rod("body")
    s = carried(rod)
    s.add_interaction(tt.Tendon("tendon", rod, y=0.008, stiffness=30.0, displacement=0.01))
    s.add_sensor(change(tt.TendonSensor("block", "tendon")))
    return s


def _wheel_sensor(change: Change) -> tt.System:
    s = carried(arm("body"))
    s.add_sensor(change(tt.WheelMomentum("block", "wrist", 0.2)))
    return s


def _driven(change: Change) -> tt.System:
    s, *_ = two_arms()
    s.add_actuator(tt.DCMotor("motor", "wrist", resistance=2.0, torque_constant=0.3, inductance=0.1))
    s.add_sensor(change(tt.DriveSensor("block", "motor.current")))
    return s


def _touching(cls: Any, *arguments: Any, **more: Any) -> Callable[[Change], tt.System]:
    def build(change: Change) -> tt.System:
        s = tt.System("rolling")
        s.connect("world", arm("body"), tt.Free("base"))
        s.close_loop("world", s["body"], change(cls("block", *arguments, **more)))
        return s

    return build


def _closed(change: Change) -> tt.System:
    s, _, two = two_arms()
    s.world.add_port("rail", [0.7, 0.1, 0.2])
    s.close_loop(s.world.port("rail"), two.port("end"), change(tt.RigidClosure("block", directions=np.eye(6)[:, 2:3])))
    return s


def _joined(kind: str, change: Change) -> tt.System:
    return joined(change(getattr(tt, kind)("block", stiffness=2.0, damping=0.3, armature=0.1, **FIELDS[kind])))


FIELD = tt.MagneticField.uniform([1.0, 2.0, 3.0])


#: What builds a system around a block of each public class, by the name of that.
def _in_field(make: Callable[[], tt.Block]) -> Callable[[Change], tt.System]:
    """Return what builds a body in a field of gravity."""

    def build(change: Change) -> tt.System:
        s = tt.System("in field", gravity=change(make()))
        s.connect("world", body := arm("one"), tt.Free("base"), placement=tt.Pose([3.0, 1.0, 2.0]))
        s.connect(body.port("end"), arm("tip"), tt.Revolute("hinge", axis=[1, 2, 3]))
        return s

    return build


SYSTEMS: dict[str, Callable[[Change], tt.System]] = {
    "RigidBody": lambda change: carried(change(arm("block"))),
    "Beam": lambda change: carried(change(tt.Beam("block", 1.0, 1500.0, 1e-3, 2e6, 1e-7, 2e-7))),
    "FlexibleBody": lambda change: carried(change(random_body(np.random.default_rng(3), "block"))),
    "Rod": lambda change: carried(change(_rod())),
    "SoftBody": lambda change: carried(change(_soft())),
    "Weld": lambda change: joined(change(tt.Weld("block"))),
    **{kind: partial(_joined, kind) for kind in FIELDS if kind not in ("Weld", "Free")},
    "Free": lambda change: _flying(change(tt.Free("block", armature=0.1, stiffness=0.3))),
    "SpringDamper": acting(
        lambda s, one, two, change: s.close_loop("world", two.port("end"), change(tt.SpringDamper("block", 20.0, 0.5, 0.2)))
    ),
    "CompliantClosure": acting(
        lambda s, one, two, change: s.close_loop("world", two.port("end"), change(tt.CompliantClosure("block", 20.0, 0.5)))
    ),
    "Contact": acting(
        lambda s, one, two, change: s.close_loop("world", two.port("end"), change(tt.Contact("block", 2.0, 1e3)))
    ),
    "Cable": acting(
        lambda s, one, two, change: s.add_interaction(
            change(tt.Cable("block", 50.0, 0.1, 0.01, [0.2])), "world", one.port("end"), two.port("end"), "wrist"
        )
    ),
    "Load": acting(lambda s, one, two, change: s.add_load(change(tt.Load("block", two.port("end"), [1, 2, 3], frame="world")))),
    "Motor": acting(
        lambda s, one, two, change: s.add_actuator(change(tt.Motor("block", "wrist", gear=2.0, rotor_inertia=0.1)))
    ),
    "DCMotor": acting(
        lambda s, one, two, change: s.add_actuator(change(tt.DCMotor("block", "wrist", 2.0, 0.3, inductance=0.1, gear=2.0)))
    ),
    "StepperDrive": acting(
        lambda s, one, two, change: s.add_actuator(change(tt.StepperDrive("block", "wrist", 200, 0.5, 0.01, gear=2.0)))
    ),
    "CoordinateSpring": acting(
        lambda s, one, two, change: s.add_interaction(
            change(tt.CoordinateSpring("block", [1.0, -0.5], 20.0, 0.3, 0.1, 5.0)), "hinge", "wrist"
        )
    ),
    "ElasticDrive": acting(
        lambda s, one, two, change: s.add_interaction(
            change(tt.ElasticDrive("block", 50.0, 20.0, 5.0, 0.1, 0.2, 30.0)), "hinge", "wrist"
        )
    ),
    "Propeller": acting(
        lambda s, one, two, change: s.add_actuator(change(tt.Propeller("block", two.port("end"), 1e-2, 1e-3, [1, 2, 0])))
    ),
    "Magnetorquer": acting(
        lambda s, one, two, change: s.add_actuator(change(tt.Magnetorquer("block", two.port("end"), FIELD, [1, 2, 0])))
    ),
    "ResidualDipole": acting(
        lambda s, one, two, change: s.add_interaction(change(tt.ResidualDipole("block", [1, 2, 0], FIELD)), two.port("end"))
    ),
    "AerodynamicDrag": acting(
        lambda s, one, two, change: s.add_interaction(
            change(tt.AerodynamicDrag("block", tt.Facet.box(two, [1, 2, 3]), 1.0, np.inf, 0.0, 1.0))
        )
    ),
    "SolarPressure": acting(
        lambda s, one, two, change: s.add_interaction(
            change(tt.SolarPressure("block", tt.Facet.box(two, [1, 2, 3]), [1, 2, 0], 1.0))
        )
    ),
    "Thruster": acting(lambda s, one, two, change: s.add_actuator(change(tt.Thruster("block", two.port("end"), [1, 2, 0])))),
    "Force": acting(lambda s, one, two, change: s.add_actuator(change(tt.Force("block", two.port("end"), frame="world")))),
    "Torque": acting(lambda s, one, two, change: s.add_actuator(change(tt.Torque("block", two.port("end"))))),
    "Gear": acting(lambda s, one, two, change: s.add_gear(change(tt.Gear("block", "hinge", "wrist", -0.7)))),
    "LinearRelation": acting(
        lambda s, one, two, change: s.add_relation(change(tt.LinearRelation("block", {"wrist": 1.0, "hinge": 0.7})))
    ),
    "RollingDisc": _touching(tt.RollingDisc, 0.3, height=False),
    "RollingSphere": _touching(tt.RollingSphere, 0.3, height=False),
    "KnifeEdge": _touching(tt.KnifeEdge, height=False),
    "Distance": _touching(tt.Distance, 0.9),
    "RigidClosure": _closed,
    "CoordinateLimits": on(_rod, lambda rod: tt.CoordinateLimits("block", "body.bending_y0", tt.Limits(0.5, stiffness=50.0))),
    "Tendon": on(_rod, lambda rod: tt.Tendon("block", rod, y=0.008, stiffness=30.0, displacement=0.01)),
    "PressureChamber": on(_rod, lambda rod: tt.PressureChamber("block", rod, 1e-4, y=0.005)),
    "DistributedLoad": on(_rod, lambda rod: tt.DistributedLoad("block", rod, [0, 1.0, 0.5], frame="world")),
    "SoftTendon": on(_soft, lambda body: tt.SoftTendon("block", body, [[0.01, 0, 0], [0.01, 0, 0.3]], 30.0, 0.01)),
    "SoftChamber": on(_soft, lambda body: tt.SoftChamber("block", body, tt.Domain.cylinder(0.005, 0.2))),
    "Accelerometer": on(arm, lambda body: tt.Accelerometer("block", body.port("end"))),
    "Gyro": on(arm, lambda body: tt.Gyro("block", body.port("end"))),
    "PoseSensor": on(arm, lambda body: tt.PoseSensor("block", body.port("end"))),
    "StarTracker": on(arm, lambda body: tt.StarTracker("block", body.port("end"))),
    "SunSensor": on(arm, lambda body: tt.SunSensor("block", body.port("end"), [0.3, 0.2, 1.0])),
    "GNSS": on(arm, lambda body: tt.GNSS("block", body.port("end"))),
    "Magnetometer": on(arm, lambda body: tt.Magnetometer("block", body.port("end"), tt.MagneticField.uniform([1, 2, 3]))),
    "StrainGauge": on(_rod, lambda rod: tt.StrainGauge("block", rod.port("tip"))),
    "Encoder": on(arm, lambda body: tt.Encoder("block", "wrist")),
    "Tachometer": on(arm, lambda body: tt.Tachometer("block", "wrist")),
    "ReactionSensor": on(arm, lambda body: tt.ReactionSensor("block", "wrist")),
    "WheelMomentum": _wheel_sensor,
    "TendonSensor": _tendon_sensor,
    "DriveSensor": _driven,
    "CentralGravity": _in_field(lambda: tt.CentralGravity(50.0, 1.0, j2=0.1)),
    "Orbit": _in_field(lambda: tt.Orbit(tt.CentralGravity(50.0, 1.0), 9.0, inclination=0.3)),
}

#: Public classes that say nothing by themselves. Nor do devices: their parts do, which their class makes.
BASES = {"Block", "Joint", "Interaction"}

#: What tells nothing of a block's law: names, units, checks, copies, and the numbers from which classes of titop's compute.
UNHEARD = {
    *(
        "undefined",
        "check",
        "configuration_units",
        "configuration_names",
        "input_names",
        "input_ranges",
        "input_units",
        "inputs",
        "units",
    ),
    *("own_blocks", "own_coordinates", "among", "snapshot", "port", "add_port", "random_configuration", "neutral"),
    *("parameters", "parameters_along", "with_parameters", "law_numbers", "complex_safe", "read_configuration"),
}

#: What says again what other functions do: redefined to say something else they contradict these, of which checks tell.
REPEATED = {
    *("law", "law_slopes", "subspace_slopes", "elastic_slopes", "pose_and_subspace", "slopes", "along", "second_along"),
    *("displacement_sizes", "inertia_weights", "bending_parts", "law_parts", "steps", "takes_second", "take_real_steps"),
    *("forget_steps", "coordinate_scales", "integrate_derivatives", "difference_derivatives"),
}


def _flying(joint: tt.Joint) -> tt.System:
    s = tt.System("flying", gravity=[1, 2, -9.81])
    s.connect("world", body := arm("one"), joint)
    s.connect(body.port("end"), arm("tip"), tt.Revolute("hinge", axis=[1, 2, 3]))
    return s


def public_classes() -> dict[str, type[tt.Block]]:
    """Return the public classes of blocks by their names."""
    named = {name: getattr(tt, name) for name in dir(tt)}
    return {
        name: cls
        for name, cls in named.items()
        if inspect.isclass(cls) and issubclass(cls, tt.Block) and not issubclass(cls, tt.CompositeDevice) and name not in BASES
    }


def redefinable(cls: type[tt.Block]) -> list[str]:
    """Return the functions and properties of a class that a subclass may redefine, but for what is not heard of.

    Of what is neither body nor joint: those that no block has. Properties that can be set are fields.
    """
    lawless = issubclass(cls, tt.Interaction | Closure | Relation | tt.CoordinateLimits | tt.Load | Actuator | Sensor)
    known = UNHEARD.union(dir(tt.Block) if lawless else ())
    found = ((name, inspect.getattr_static(cls, name)) for name in dir(cls) if not name.startswith("_") and name not in known)
    return [name for name, x in found if inspect.isfunction(x) or (isinstance(x, property) and x.fset is None)]


def redefined(name: str, change: bool = True) -> Change:
    """Return what makes a block one of a subclass that says more than its class in one function, or (no `change`) the same."""

    def apply(block: Any) -> Any:
        cls = type(block)
        base = inspect.getattr_static(cls, name)

        def told(*given: Any, **more: Any) -> Any:
            said = base.fget(*given) if isinstance(base, property) else base(*given, **more)
            return more_of(said, name == "pose") if change else said

        copied = copy.copy(block)
        copied.__class__ = type(f"My{cls.__name__}", (cls,), {name: property(told) if isinstance(base, property) else told})
        return copied

    return apply


def more_of(said: Any, is_pose: bool = False) -> Any:
    """Return numbers a third larger, of poses the positions, and anything else as it is."""
    if is_pose:
        return said[0], 1.3 * np.asarray(said[1])
    if isinstance(said, tuple):
        return type(said)(*map(more_of, said)) if hasattr(said, "_fields") else tuple(map(more_of, said))
    if isinstance(said, np.ndarray) and said.dtype.kind in "fcO":
        return 1.3 * said
    return 1.3 * said if isinstance(said, float | complex) else said


def told(m: tt.Model, derivatives: bool = False) -> dict[str, Array]:
    """Return what a model tells of a state."""
    rng = np.random.default_rng(4)
    q = m.integrate(m.neutral(), 0.1 * rng.normal(size=m.nv))
    v, a, tau = rng.normal(size=(3, m.nv))
    if m.is_constrained:
        q = m.assemble(q)
        v = m.assemble_velocity(q, v)
    u = np.arange(1.0, m.nu + 1.0) / 3.0
    motion = m.forward_dynamics(q, v, tau, u=u)
    found = {
        "forward": motion,
        "inverse": m.inverse_dynamics(q, v, motion, u=u),
        "mass": m.mass_matrix(q),
        "passive": m.passive_efforts(q, v),
        "energy": np.array(m.energy(q, v)),
        "momentum": m.momentum(q, v),
        "centre": m.center_of_mass(q),
        "motion": m.motion("tip.end", q, v, a)[:15],
        "reaction": m.reaction("hinge", q, v, motion, u=u),
        "driven": m.actuation_matrix(q),
        "outputs": m.outputs(q, v, motion, u=u) if m.output_names else np.zeros(0),
    }
    if derivatives:
        found["forward by state"] = np.concatenate(m.forward_dynamics_derivatives(q, v, tau, u=u))
    return found
