"""One gate: what constructors read is read alike when it is set later, whatever the class."""

from __future__ import annotations

import copy
import importlib
import inspect
import pickle
import pkgutil
import sys
from typing import Any

import numpy as np
import pytest

import titop as tt
import titop.blocks
from titop.blocks.contract.block import Block
from titop.blocks.contract.fields import Consumed, Field, Fixed, Kept, fields_of

BODY = tt.RigidBody("carrier", 1.0, inertia=0.1)
ROD = tt.Rod("rod", 1.0, tt.Section.circle(0.01), young=1e6, density=1000.0, strains={"bending_z": 0})
STIFF = tt.Rod("stiff", 1.0, tt.Section.circle(0.01), young=1e6, density=1000.0, shear_modulus=1e5, strains={"bending_z": 0})
CYLINDER = tt.Domain.cylinder(0.01, 0.1)
SOFT = tt.SoftBody("soft", lambda x, q: [x[0] * (1.0 + q[0]), x[1], x[2]], CYLINDER, 1000.0, coordinates=("stretch",))
SHAPE = np.zeros((6, 1))
MODAL: dict[str, Any] = {"participation": np.full((1, 6), 0.1), "ports": {"C": [1, 0, 0]}, "shapes": {"C": SHAPE}}


def blocks() -> list[Block]:
    """Return one block of every class of titop's that users make."""
    return [
        tt.RigidBody("b", 1.0, com=[0, 0, 1], inertia=[1, 2, 2.5], ports={"C": [0, 1, 0]}),
        tt.FlexibleBody("f", 1.0, inertia=0.1, frequencies=[3.0], **MODAL),
        tt.FlexibleBody("k", 1.0, inertia=0.1, modal_mass=1.0, modal_stiffness=[[9.0]], **MODAL),
        tt.Beam("beam", length=1.0, density=1.0, area=1.0, young=1e4, iy=1e-4, iz=1e-4),
        copy.copy(ROD),
        copy.copy(STIFF),
        copy.copy(SOFT),
        tt.CentralGravity(4e14, 6.4e6, 1e-3),
        tt.Weld("weld"),
        tt.Revolute("r"),
        tt.Prismatic("p", limits=tt.Limits(-1, 1)),
        tt.Screw("s", pitch=0.1),
        tt.Cylindrical("c"),
        tt.Cartesian("ca"),
        tt.Curvilinear("cu", [[0, 0, 0], [1, 0, 0], [1, 1, 0]], up=[0, 0, 1]),
        tt.Universal("u"),
        tt.Planar("plane"),
        tt.Spherical("ball"),
        tt.Free("free"),
        tt.Gear("gear", "r", "p"),
        tt.LinearRelation("relation", {"r": 1.0, "p": -2.0}),
        tt.RollingDisc("wheel", 0.3),
        tt.RollingSphere("marble", 0.1),
        tt.KnifeEdge("runner"),
        tt.Distance("rope", 0.5),
        tt.CoordinateLimits("stop", "f.mode1", tt.Limits(upper=1.0)),
        tt.RigidClosure("pin", kind="revolute"),
        tt.RigidClosure("slot", directions=np.eye(6)[:, :2]),
        tt.CompliantClosure("soft_weld", 1.0, 0.1),
        tt.SpringDamper("spring", 1.0, 0.1, 0.2),
        tt.Contact("ground", 0.1, 1e5),
        tt.Cable("cable", 10.0, 1.0, arms=[0.1]),
        tt.CoordinateSpring("spring", [1.0, -2.0], 3.0, 0.1, 0.2, 4.0),
        tt.ElasticDrive("harmonic", 100.0, 1e4, hysteresis_torque=1.0, hysteresis_stiffness=1e4, kinematic_error=[(2, 1e-4)]),
        tt.Tendon("tendon", ROD, y=0.005),
        tt.PressureChamber("chamber", ROD, area=1e-4, y=0.005),
        tt.SoftTendon("soft_tendon", SOFT, [[0, 0, 0], [0.1, 0, 0]]),
        tt.SoftChamber("soft_chamber", SOFT, tt.Domain.cylinder(0.005, 0.1)),
        tt.DistributedLoad("wind", ROD, force=[0, 0, 1]),
        tt.Load("load", BODY, force=[1, 0, 0]),
        tt.Motor("motor", "r", gear=10.0),
        tt.DCMotor("dc", "r", 2.0, 0.1, inductance=0.01, cogging=[(6, 0.01)]),
        tt.StepperDrive("stepper", "r", 200, 0.1, 1e-3),
        tt.Thruster("thruster", BODY),
        tt.Propeller("propeller", BODY, 1e-5, 1e-7),
        tt.Magnetorquer("torquer", BODY, tt.MagneticField.uniform([0, 0, 3e-5])),
        tt.ResidualDipole("residual", [0, 0, 0.1], tt.MagneticField.dipole(7.7e22)),
        tt.AerodynamicDrag("drag", [tt.Facet(BODY, 1.0, [1, 0, 0])], 1e-12, 60e3, 400e3, 6.378e6),
        tt.SolarPressure("light", [tt.Facet(BODY, 1.0, [1, 0, 0])], [1, 0, 0]),
        tt.Force("force", BODY, direction=[1, 0, 0]),
        tt.Torque("torque", BODY),
        tt.Accelerometer("accelerometer", BODY),
        tt.Gyro("gyro", BODY),
        tt.PoseSensor("pose", BODY),
        tt.StarTracker("tracker", BODY),
        tt.SunSensor("sun", BODY, [1, 0, 1]),
        tt.GNSS("gnss", BODY),
        tt.Magnetometer("magnetometer", BODY, tt.MagneticField.uniform([0, 3e-5, 0])),
        tt.StrainGauge("gauge", ROD),
        tt.Encoder("encoder", "r"),
        tt.Tachometer("tachometer", "r"),
        tt.ReactionSensor("reaction", "r"),
        tt.WheelMomentum("momentum", "r"),
        tt.ReactionWheel("wheel", BODY, [0, 0, 1], 0.1, 2.0),
        tt.ControlMomentGyro("gyro", BODY, [1, 0, 0], [0, 0, 1], 0.1, 2.0, outer_axis=[0, 1, 0], speed=100.0),
        tt.TendonSensor("length", "tendon"),
        tt.Orbit(tt.CentralGravity(4e14, 6.4e6, 1e-3), altitude=7e5, eccentricity=0.01, inclination=0.3),
        tt.Slosh.cylinder("lox", BODY, 1.0, 2.0, 0.5, 1000.0),
        tt.Slosh.sphere("fuel", BODY, 1.0, 0.5, 1000.0),
        tt.Slosh.table("oil", BODY, 0.5, [0, 1], [1, 2], [0, 1], [0.5, 1], [1, 1], [0, 1]),
        tt.DriveSensor("torque_sensor", "harmonic.torque"),
    ]


def classes() -> list[type[Block]]:
    """Return all classes of blocks that titop has."""
    for module in pkgutil.walk_packages(titop.blocks.__path__, "titop.blocks."):
        importlib.import_module(module.name)
    found: dict[type[Block], None] = {}
    waiting = [Block]
    while waiting:
        for cls in waiting.pop().__subclasses__():
            found[cls] = None
            waiting.append(cls)
    of_modules = (cls for cls in found if cls.__module__.startswith("titop.blocks."))
    return [cls for cls in of_modules if cls is getattr(sys.modules[cls.__module__], cls.__name__, None)]  # none of examples


#: Taken otherwise: what names the block, what `SoftBody` calls as its method `parameters` is called; internal classes.
ELSEWHERE = {"self", "name", "passive", "wheel", "parameters"}
INTERNAL = {
    *("_Plain", "AttachedStates", "BlockStates", "CutRod", "ObservedStates", "PathStates", "DriveStates", "SoftLine"),
    *("BodyGravity", "MomentGravity", "FallingStates", "OnFacets", "PlacedInteraction"),
}


def accepts(cls: type, argument: str) -> bool:
    """Tell whether a class has a gate for an argument of its constructor."""
    member = inspect.getattr_static(cls, argument, None)
    return isinstance(member, Field) or (isinstance(member, property) and member.fset is not None)


def test_every_argument_of_every_class_has_a_gate() -> None:
    missing = [
        f"{cls.__name__}.{argument}"
        for cls in classes()
        if cls.__name__ not in INTERNAL
        for argument in inspect.signature(cls.__init__).parameters
        if argument not in ELSEWHERE and not accepts(cls, argument)
    ]
    assert missing == []


def test_all_that_users_make_is_tried_here() -> None:
    public = {value for name in dir(tt) if isinstance(value := getattr(tt, name), type) and issubclass(value, Block)}
    bases = {tt.Block, tt.Joint, tt.Interaction, tt.Law, tt.CompositeDevice, tt.Slosh} & public
    assert {cls.__name__ for cls in public - bases} <= {type(block).__name__ for block in blocks()}


@pytest.mark.parametrize("block", blocks(), ids=lambda block: block.name)
def test_values_are_read_again_as_they_are(block: Block) -> None:
    before = {name: copy.copy(value) for name, value in vars(block).items()}
    for name, field in fields_of(type(block)).items():
        if name in before and not isinstance(field, Fixed):
            setattr(block, name, getattr(block, name))
            now, then = getattr(block, name), before[name]
            same = np.array_equal(now, then) if isinstance(then, np.ndarray) else repr(now) == repr(then)
            assert same, name
    assert block.check()[0] == []


@pytest.mark.parametrize("block", blocks(), ids=lambda block: block.name)
def test_nonsense_is_refused_by_name_and_forgotten_when_mended(block: Block) -> None:
    nonsense: Any = {"this": "is none"}
    for name, field in fields_of(type(block)).items():
        if isinstance(field, Consumed | Fixed):
            with pytest.raises(tt.ModelError, match="cannot-change"):
                setattr(block, name, nonsense)
            continue
        if name not in vars(block) or isinstance(getattr(block, name), str):
            continue  # names of joints: anything is one
        good = getattr(block, name)
        if good is None and isinstance(field, Kept):  # another stands in its place
            with pytest.raises(tt.ModelError, match="cannot-change"):
                setattr(block, name, nonsense)
            continue
        setattr(block, name, nonsense)
        assert any(finding.where.startswith(f"{block.name}.{field.argument}") for finding in block.check()[0]), name
        setattr(block, name, good)
        assert not block.check()[0], name


@pytest.mark.parametrize("block", blocks(), ids=lambda block: block.name)
def test_parameters_are_read_as_fields_are(block: Block) -> None:
    """What a field refuses is refused of a parameter with the same finding, whether it has to be positive or not negative."""
    assert block.check()[0] == []
    for name in block.parameters():
        before = getattr(block, name, None)
        field = fields_of(type(block)).get(name)
        if type(before) is not float or field is None or isinstance(field, Fixed):
            continue
        for wrong in (-1.0, 0.0, np.float64(-1.0)):
            other = copy.copy(block)
            setattr(other, name, wrong)
            expected = {(finding.code, finding.where) for finding in other.check()[0]}
            found = block.with_parameters({name: wrong}).check()[0]
            assert expected <= {(finding.code, finding.where) for finding in found}, (name, wrong)
    assert block.check()[0] == []


@pytest.mark.parametrize("block", blocks(), ids=lambda block: block.name)
def test_the_constructor_s_names_reach_the_fields(block: Block) -> None:
    for name, field in fields_of(type(block)).items():
        if field.argument == name or isinstance(field, Fixed | Consumed) or (held := getattr(block, name)) is None:
            continue
        other = not held if isinstance(held, bool) else 7 if isinstance(held, int) else 0.6
        setattr(block, field.argument, other)
        assert getattr(block, name) == getattr(block, field.argument) == other, field.argument
        assert not block.check()[0]
        setattr(block, field.argument, {"this": "is none"})
        assert [finding.where for finding in block.check()[0]][:1] == [f"{block.name}.{field.argument}"]
        setattr(block, field.argument, held)


def test_ranges_of_inputs_set_later() -> None:
    motor, thruster, cable = tt.Motor("m", "r"), tt.Thruster("t", BODY), tt.Cable("c")
    motor.effort_limit, thruster.max_thrust, cable.max_tension = 3, 4, 5
    ranges = [block.input_ranges for block in (motor, thruster, cable)]
    assert ranges == [((-3.0, 3.0),), ((0.0, 4.0),), ((0.0, 5.0),)]
    tendon, chamber = tt.Tendon("t", ROD, y=0.005), tt.SoftChamber("s", SOFT, tt.Domain.cylinder(0.005, 0.1))
    tendon.max_tension, tendon.push, tendon.end, chamber.max_pressure, chamber.suction = 6, True, 0.5, 7, True
    assert [block.input_ranges for block in (tendon, chamber)] == [((-6.0, 6.0),), ((-7.0, 7.0),)]
    assert tendon.measure(np.zeros(ROD.nv)) == pytest.approx(0.5, rel=1e-12)  # rounding
    for block, advice in ((motor, "effort_limit"), (tendon, "push and max_tension"), (chamber, "suction and max_pressure")):
        with pytest.raises(tt.ModelError, match=rf"set {advice}.*cannot-change"):
            block.lower = -3.0


def test_what_follows_from_a_beam_s_dimensions_cannot_be_set() -> None:
    """It would be lost with the next dimension that is set; what a flexible body takes from users is refused, all of it."""
    beam = tt.Beam("beam", length=1.0, density=1.0, area=1.0, young=1e4, iy=1e-4, iz=1e-4)
    inherited = set(fields_of(tt.FlexibleBody))
    assert {name for name in inherited if not isinstance(fields_of(tt.Beam)[name], Fixed)} == set()
    for name in inherited:
        with pytest.raises(tt.ModelError, match=rf"beam\.{name}.*cannot-change"):
            setattr(beam, name, getattr(beam, name))
    with pytest.raises(tt.ModelError, match="set the beam's dimensions and material"):
        beam.mass = 2.0
    longer = beam.with_parameters({"length": 2.0})
    for other in (longer, copy.copy(longer), copy.deepcopy(longer), pickle.loads(pickle.dumps(longer))):
        assert isinstance(other, tt.Beam)
        assert other.mass == 2.0


def refusal(system: tt.System) -> tt.ModelError:
    with pytest.raises(tt.ModelError) as caught:
        system.resolve(engine="reference")
    return caught.value


def pendulum(inertia: Any = 0.1) -> tuple[tt.System, tt.RigidBody, tt.Revolute]:
    s, body, joint = tt.System("s"), tt.RigidBody("b", 1.0, inertia=inertia), tt.Revolute("j")
    s.connect("world", body, joint)
    return s, body, joint


def test_values_set_later_do_what_given_ones_do() -> None:
    s, body, joint = pendulum()
    joint.armature, joint.damping, joint.axis, joint.limits = 1e-3, 0.5, [0, 2, 0], tt.Limits(-1, 1, stiffness=10.0)
    joint.friction, joint.rest, joint.stiffness = tt.Friction(0.1), 0.2, 3
    body.mass, body.com, body.inertia, body.ports = 2, [0.1, 0, 0], [0.1, 0.2, 0.3], {"C": [0, 0, 1]}
    s.gravity = [0, 0, -1]
    other = tt.System("s", gravity=[0, 0, -1])
    limits, friction = tt.Limits(-1, 1, stiffness=10.0), tt.Friction(0.1)
    passive = {"armature": 1e-3, "damping": 0.5, "limits": limits, "friction": friction, "rest": 0.2, "stiffness": 3}
    given = tt.RigidBody("b", 2.0, [0.1, 0, 0], [0.1, 0.2, 0.3], {"C": [0, 0, 1]})
    other.connect("world", given, tt.Revolute("j", [0, 2, 0], **passive))
    first, second = (system.resolve(engine="reference") for system in (s, other))
    assert first.parameters() == second.parameters()
    assert first.forward_dynamics([1.1], [0.3], [0.2]) == second.forward_dynamics([1.1], [0.3], [0.2])


def test_what_is_wrong_is_told_at_resolve_with_all_else_until_it_is_mended() -> None:
    s, body, joint = pendulum()
    body.mass, joint.axis = np.nan, [0, 0]
    body.inertia = [[0.1, 0.05, 0], [0, 0.2, 0], [0, 0, 0.25]]
    assert {(f.code, f.where) for f in refusal(s).findings} == {
        ("not-finite", "b.mass"),
        ("wrong-shape", "j.axis"),
        ("not-symmetric", "b.inertia"),
    }
    body.mass, body.inertia, joint.axis = 1.0, 0.1, [0, 0, 1]
    s.resolve(engine="reference")


def test_what_a_constructor_could_not_read_is_mended_by_setting_it() -> None:
    s, body, _ = pendulum("heavy")
    assert refusal(s).where == "b.inertia"
    body.inertia = 0.1
    s.resolve(engine="reference")


@pytest.mark.parametrize(
    ("where", "spoil"),
    [
        ("b.inertia", lambda s, b, j: b.inertia.__setitem__((0, 0), np.nan)),
        ("b.inertia", lambda s, b, j: b.inertia.__setitem__((0, 1), 1.0)),
        ("b.com", lambda s, b, j: b.com.__setitem__(1, np.inf)),
        ("j.stiffness", lambda s, b, j: j.stiffness.__setitem__((0, 0), np.nan)),
        ("j.rest", lambda s, b, j: j.rest.__setitem__(0, np.nan)),
        ("j.friction", lambda s, b, j: j.friction.__setitem__((0, 0), np.nan)),
        ("s.gravity", lambda s, b, j: s.gravity.__setitem__(2, np.nan)),
        ("b.C.position", lambda s, b, j: b.port_poses["C"].position.__setitem__(2, np.nan)),
        ("j.placement.position", lambda s, b, j: s.connections[0].placement.position.__setitem__(0, np.nan)),
    ],
)
def test_arrays_that_were_spoilt_after_they_had_been_read(where: str, spoil: Any) -> None:
    s, body, joint = pendulum()
    body.add_port("C", [0, 0, 1])
    spoil(s, body, joint)
    assert where in {finding.where for finding in refusal(s).findings}


def test_arrays_and_poses_of_users_stay_theirs() -> None:
    place, com, pose = np.array([0.0, 0.0, 1.0]), np.array([0.1, 0.0, 0.0]), tt.Pose([0, 0, 1])
    s, body = tt.System("s"), tt.RigidBody("b", 1.0, com, 0.1, ports={"C": pose, "D": place})
    body.add_port("E", pose)
    s.connect("world", body, tt.Revolute("j"), placement=pose)
    place[:], com[:], pose.position[:] = np.nan, np.nan, np.nan
    m = s.resolve(engine="reference")
    frozen = [m.pose(f"b.{port}", [0.3])[1].copy() for port in "CDE"]
    for port in "CDE":
        body.port_poses[port].position[0] = 7.0
    assert np.array_equal([m.pose(f"b.{port}", [0.3])[1] for port in "CDE"], frozen)


def test_poses_read_what_is_set() -> None:
    pose = tt.Pose()
    pose.position, pose.rotation = [1, 2, 3], np.diag([1.0, -1.0, -1.0])
    assert pose == tt.Pose([1, 2, 3], np.diag([1.0, -1.0, -1.0]))
    for field, value in (("position", [1, 2]), ("rotation_vector", [0, np.nan, 0]), ("rotation", 2 * np.eye(3))):
        with pytest.raises(tt.ModelError):
            setattr(pose, field, value)
    assert pose.position.tolist() == [1.0, 2.0, 3.0]


def test_what_follows_from_fields_follows() -> None:
    beam = tt.Beam("beam", length=1.0, density=1.0, area=1.0, young=1e4, iy=1e-4, iz=1e-4)
    beam.young, beam.length = 4e4, 2
    expected = tt.Beam("beam", length=2.0, density=1.0, area=1.0, young=4e4, iy=1e-4, iz=1e-4)
    assert np.array_equal(beam.natural_frequencies, expected.natural_frequencies)
    assert beam.shear_modulus == expected.shear_modulus
    rod = tt.Rod("rod", 1.0, tt.Section.circle(0.01), young=1e6, density=1000.0)
    rod.young = 2e6
    stiffer = tt.Rod("rod", 1.0, tt.Section.circle(0.01), young=2e6, density=1000.0)
    assert np.array_equal(rod.numbers.stiffness, stiffer.numbers.stiffness)
    body = tt.FlexibleBody("f", 1.0, inertia=0.1, frequencies=[3.0], **MODAL)
    body.frequencies = 5
    assert body.matrices.stiffness.tolist() == [[25.0]]


def test_lines_follow_rods_that_change() -> None:
    """A tendon at a distance d from the axis of a rod of length L is L long at rest."""
    rod = tt.Rod("rod", 1.0, tt.Section.circle(0.01), young=np.nan, density=1000.0, strains={"bending_z": 0})
    s, tendon = tt.System("s"), tt.Tendon("tendon", rod, y=0.005)
    s.connect("world", rod, tt.Weld("clamp"))
    s.add_interaction(tendon)
    assert refusal(s).where == "rod.young"
    rod.young, rod.length = 1e6, 2.0
    s.resolve(engine="reference")
    assert tendon.measure(np.zeros(1)) == pytest.approx(2.0, rel=1e-12)  # rounding


def test_names_are_given_before_connecting() -> None:
    s, body, _ = pendulum()
    body.name = "other"
    assert refusal(s).code == "renamed-block"


@pytest.mark.parametrize("block", blocks(), ids=lambda block: block.name)
def test_copies_and_pickles_keep_what_was_read(block: Block) -> None:
    if isinstance(block, tt.SoftBody | tt.SoftTendon | tt.SoftChamber):
        copies: list[Block] = [copy.copy(block)]  # kinematics are a function of this test, which cannot be sent
    else:
        copies = [copy.copy(block), copy.deepcopy(block), pickle.loads(pickle.dumps(block))]
    for other in copies:
        assert other.parameters() == block.parameters()


class Doubled(tt.RigidBody):
    """A user's body, whose parameter acts on a field of titop's."""

    def parameters(self) -> dict[str, tuple[float, str]]:
        return {"half": (float(np.real(self.mass)) / 2, "kg")}

    def with_parameters(self, values: dict[str, float]) -> Block:
        changed = copy.copy(self)
        changed.mass = 2 * values["half"]
        return changed


def test_complex_steps_of_users_pass() -> None:
    half: Any = 1.0 + 1e-30j
    changed = Doubled("d", 1.0).with_parameters({"half": half})
    assert changed.mass_matrix(np.zeros(0))[0, 0] == 2.0 + 2e-30j


def test_fields_are_declared_once() -> None:
    assert all(isinstance(field, Field) for field in fields_of(tt.Revolute).values())
    assert set(fields_of(tt.Revolute)) == {"axis", "friction", "stiffness", "damping", "armature", "rest"}
