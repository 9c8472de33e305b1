"""Model files: systems survive them to the last bit, and what is wrong in one is said with its place."""

from __future__ import annotations

import inspect
import math
import os
import runpy
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import titop as tt
from tests.closed_systems import four_bar, geared_hand, random_closed_tree
from tests.mutants import assert_round_trip, how_many
from tests.systems import KINDS, random_joint, random_port, random_state, random_tree
from titop.blocks.constraints.rigid_closure import KINDS as RIGID
from titop.graph.files import block_types, toml_text
from titop.graph.files.block_types import register_block
from titop.graph.files.fields import NUMBER, REQUIRED, Field
from titop.graph.files.saving import save, to_text
from titop.graph.load import load

ROOT = Path(__file__).parents[3]

HEAD = """\
format = "titop"
version = 1

[system]
name = "rig"
gravity = [0, 0, -9.81]
"""

ARM = """
[parameters]
half = "arm.length / 2"
arm.length = 2.0

[world]
ports.A = { position = [0, 0, "arm.length"], rotation_vector = [0, 0, "deg(90)"] }

[bodies.arm]
type = "rigid"
mass = 3
com = ["half", 0, 0]
inertia = [0.1, "1/2", 0.5]
ports.tip = ["arm.length", 0, 0]

[joints.hinge]
type = "revolute"
parent = "world.A"
child = "arm"
axis = [0, 1, 0]
placement = [0, 0, -0.5]
stiffness = "10*sqrt(arm.length)"
rest = "deg(-30)"

[loads.push]
target = "arm.tip"
force = [0, 0, "-2*half"]
"""

PIN = """
[closures.pin]
type = "rigid"
kind = "revolute"
axis = [0, "half", "arm.length"]
first = "arm.tip"
second = "world"
"""

BEAM = """
[bodies.boom]
type = "beam"
length = 2
density = 2700
area = 1e-4
young = 7e10
iy = 1e-8
iz = 1e-8
"""

SPRING = """\
type = "compliant"
stiffness = "10**4 * half"
damping = ["half", 1, 1, "arm.length", 2, 2]
"""


def accelerations(system: tt.System, engine: str = "reference") -> list[bytes]:
    """Return the bits of accelerations at random states."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tt.ModelWarning)
        model = system.resolve(engine)
    rng = np.random.default_rng(1)
    states = [random_state(model, rng) for _ in range(3)]
    return [model.forward_dynamics(q, v, tau).tobytes() for q, v, _, tau in states]


def hand_built() -> tt.System:
    """Return the system that `ARM` describes."""
    s = tt.System("rig", gravity=[0, 0, -9.81])
    pose = tt.Pose.from_rotation_vector([0, 0, 2], [0, 0, math.radians(90)])
    s.world.port_poses["A"] = pose
    arm = tt.RigidBody("arm", 3, com=[1, 0, 0], inertia=[0.1, 0.5, 0.5], ports={"tip": [2, 0, 0]})
    hinge = tt.Revolute("hinge", axis=[0, 1, 0], stiffness=10 * math.sqrt(2), rest=math.radians(-30))
    s.connect(s.world.port("A"), arm, hinge, placement=[0, 0, -0.5])
    s.add_load(tt.Load("push", arm.port("tip"), force=[0, 0, -2]))
    return s


def equipped() -> tt.System:
    """Return a system with limits, friction, and every actuator and sensor."""
    s = hand_built()
    arm = s.connections[0].child.block
    hand = tt.RigidBody("hand", 0.5, inertia=0.1)
    friction = tt.Friction(coulomb=0.1, smoothing=0.01)
    s.connect(arm.port("tip"), hand, tt.Prismatic("slide", limits=tt.Limits(-1, 1, effort=3), friction=friction))
    s.add_actuator(tt.Motor("motor", "hinge", gear=50, rotor_inertia=1e-4, effort_limit=2))
    s.add_actuator(tt.Thruster("jet", arm.port("tip"), direction=[0, 1, 1], max_thrust=3))
    s.add_actuator(tt.Force("wind", arm, frame="world"))
    s.add_actuator(tt.Torque("twist", arm, direction=[0, 0, 2]))
    s.add_actuator(tt.ReactionWheel("wheel", arm, axis=[1, 0, 0], inertia=0.01, mass=0.5))
    s.add_sensor(tt.Gyro("gyro", arm.port("tip")))
    s.add_sensor(tt.Accelerometer("accelerometer", arm))
    s.add_sensor(tt.PoseSensor("tracker", arm, sequence="ZYX"))
    s.add_sensor(tt.Encoder("encoder", "hinge"))
    s.add_sensor(tt.Tachometer("tachometer", "hinge"))
    s.add_sensor(tt.ReactionSensor("cell", "hinge"))
    return s


def looped(rng: np.random.Generator, bodies: int) -> tt.System:
    """Return a random tree with closures of every kind between bodies that joints let move."""
    s = random_tree(rng, bodies, [kind for kind in KINDS if kind != "Weld"])
    for k, kind in enumerate(RIGID):
        ends = rng.choice(len(s.connections), size=2, replace=False)
        first, second = (random_port(rng, s.connections[end].child.block) for end in ends)
        s.close_loop(first, second, tt.RigidClosure(f"r{k}", kind, axis=rng.normal(size=3), axis2=rng.normal(size=3)))
    tip = s.connections[-1].child.block
    directions, matrix = rng.normal(size=(6, int(rng.integers(1, 4)))), rng.normal(size=(6, 6))
    s.close_loop("world", tip.port("A"), tt.RigidClosure("some", directions=directions))
    s.close_loop(tip, s.world.port("B"), tt.CompliantClosure("spring", matrix @ matrix.T, rng.uniform(0.0, 1.0, 6)))
    return s


def numbers(system: tt.System) -> dict[str, dict[str, tuple[float, str]]]:
    """Return the parameters of every block, by its name."""
    return {name: block.parameters() for name, block in system.graph.nodes(data="block")}


class TestRoundTrips:
    @pytest.mark.parametrize("seed", range(40))
    def test_random_systems(self, seed: int, tmp_path: Path) -> None:
        rng = np.random.default_rng(seed)
        system = random_tree(rng, int(rng.integers(1, 7)), passive=bool(seed % 4), loads=True)
        save(system, tmp_path / "a.toml")
        loaded = load(tmp_path / "a.toml")
        save(loaded, tmp_path / "b.toml")
        assert (tmp_path / "a.toml").read_bytes() == (tmp_path / "b.toml").read_bytes()
        assert [c.joint.name for c in loaded.connections] == [c.joint.name for c in system.connections]
        assert [c.placement for c in loaded.connections] == [c.placement for c in system.connections]
        assert accelerations(loaded) == accelerations(system)

    @pytest.mark.parametrize("seed", range(20))
    def test_random_loops(self, seed: int, tmp_path: Path) -> None:
        rng = np.random.default_rng(seed)
        system = looped(rng, int(rng.integers(2, 7)))
        save(system, tmp_path / "a.toml")
        loaded = load(tmp_path / "a.toml")
        save(loaded, tmp_path / "b.toml")
        assert (tmp_path / "a.toml").read_bytes() == (tmp_path / "b.toml").read_bytes()
        assert numbers(loaded) == numbers(system)
        ends = [[(str(x.first), str(x.second), x.closure.name) for x in s.loops] for s in (loaded, system)]
        assert ends[0] == ends[1]
        for one, other in zip(loaded.loops, system.loops, strict=True):
            assert type(one.closure) is type(other.closure)
            if isinstance(one.closure, tt.RigidClosure):
                assert one.closure.constraint_names == other.closure.constraint_names

    def test_defaults_of_closures_are_left_out(self) -> None:
        s = hand_built()
        arm = s.connections[0].child.block
        s.close_loop(arm.port("tip"), "world", tt.RigidClosure("pin"))
        s.close_loop(arm, s.world.port("A"), tt.CompliantClosure("spring", stiffness=5))
        text = to_text(s)
        assert '[closures.pin]\ntype = "rigid"\nfirst = "arm.tip"\nsecond = "world"\n\n' in text
        assert text.endswith(
            '[closures.spring]\ntype = "compliant"\nfirst = "arm"\nsecond = "world.A"\n'
            "stiffness = [5.0, 5.0, 5.0, 5.0, 5.0, 5.0]\n\n"
            '[loads.push]\ntarget = "arm.tip"\nforce = [0.0, 0.0, -2.0]\n'
        )

    def test_bits_tell(self) -> None:
        """The negative control: the smallest change of a mass changes the accelerations, and the text."""
        changed = hand_built()
        changed.connections[0].child.block.mass = np.nextafter(3.0, 4.0)
        assert accelerations(changed) != accelerations(hand_built())
        assert to_text(changed) != to_text(hand_built())

    def test_random_systems_cover_every_joint(self) -> None:
        texts = "".join(to_text(random_tree(np.random.default_rng(seed), 6)) for seed in range(40))
        assert all(f'type = "{kind.lower()}"' in texts for kind in KINDS)

    def test_the_compiled_resolver_agrees(self) -> None:
        system = random_tree(np.random.default_rng(3), 6, passive=True, loads=True)
        assert accelerations(load(to_text(system)), "compiled") == accelerations(system, "compiled")

    @pytest.mark.parametrize("kind", ["Spherical", "Free"])
    def test_rest_quaternions_keep_their_bits(self, kind: str) -> None:
        for seed in range(50):
            joint = random_joint(np.random.default_rng(seed), "joint", kind, passive=True)
            s = tt.System()
            s.connect("world", tt.RigidBody("body", 1.0, inertia=1.0), joint)
            assert load(to_text(s)).connections[0].joint.rest.tobytes() == joint.rest.tobytes()

    def test_a_rest_quaternion_typed_by_hand_is_normalised(self) -> None:
        text = HEAD + '[bodies.b]\ntype = "rigid"\nmass = 1\ninertia = 1\n'
        text += '[joints.j]\ntype = "spherical"\nparent = "world"\nchild = "b"\nrest = [0, 0, 0.7071068, 0.7071068]\n'
        assert np.linalg.norm(load(text).connections[0].joint.rest) == pytest.approx(1.0, abs=1e-15)

    def test_order_of_children_before_parents_is_kept(self) -> None:
        s = tt.System()
        a, b = (tt.RigidBody(name, 1.0, inertia=1.0) for name in "ab")
        s.connect(a, b, tt.Revolute("second"))
        s.connect("world", a, tt.Revolute("first"))
        loaded = load(to_text(s))
        assert loaded.resolve("reference").coordinate_names == ("second", "first")
        assert to_text(loaded) == to_text(s)

    def test_order_of_bodies_in_a_file_is_kept(self) -> None:
        bodies = [f'[bodies.{name}]\ntype = "rigid"\nmass = 1.0\ninertia = [1.0, 1.0, 1.0]\n' for name in "ba"]
        joints = [
            f'[joints.j{name}]\ntype = "revolute"\nparent = "world"\nchild = "{name}"\naxis = [0, 0, 1]\n' for name in "ab"
        ]
        text = to_text(load(HEAD + "".join(joints + bodies)))
        assert text.index("bodies.b") < text.index("bodies.a") < text.index("joints.ja") < text.index("joints.jb")

    def test_names_that_need_quotes(self) -> None:
        s = tt.System('a "name"\n\x7f\\')
        body = tt.RigidBody("größe/1", 1.0, ports={"with space": [0, 0, 1], 'quote"': [1, 0, 0], "": [0, 0, 0]})
        body.port_poses.pop("")
        s.connect("world", body, tt.Free("base"))
        s.add_load(tt.Load("push", body.port("with space"), force=[1, 0, 0]))
        text = to_text(s)
        assert '[bodies."größe/1"]' in text
        assert to_text(load(text)) == text
        assert load(text).name == s.name

    def test_unusual_floats(self) -> None:
        values = [-0.0, 5e-324, 1.7976931348623157e300]
        s = tt.System(gravity=values)
        s.connect("world", tt.RigidBody("b", 0.1 + 0.2, com=[-0.0, 0.0, 0.0]), tt.Free("base"))
        loaded = load(to_text(s))
        assert loaded.gravity.tobytes() == np.array(values).tobytes()
        assert math.copysign(1.0, loaded.connections[0].child.block.com[0]) == -1.0

    def test_limits_and_friction(self) -> None:
        s = tt.System()
        body = tt.RigidBody("b", 1.0, inertia=1.0)
        limits, friction = (
            tt.Limits(lower=-1, upper=2, effort=5, stiffness=1e5, dissipation=0.3),
            tt.Friction(coulomb=0.1, breakaway=0.3),
        )
        s.connect("world", body, tt.Planar("table", limits=[limits, tt.Limits(), limits], friction=friction))
        s.connect(body, tt.RigidBody("c", 1.0, inertia=1.0), tt.Revolute("hinge", limits=limits))
        text = to_text(s)
        table, hinge = (connection.joint for connection in load(text).connections)
        assert hinge.limits == (limits,)
        assert table.limits == (limits, tt.Limits(), limits)
        assert table.friction.tolist() == [[0.1, 0.3, 0.01, 0.001]] * 3
        assert hinge.friction.tolist() == [[0.0, 0.0, 0.01, 0.001]]
        assert "limits.upper = 2.0" in text
        assert "limits.dissipation = 0.3" in text
        assert "friction.breakaway = 0.3" in text
        assert to_text(load(text)) == text

    def test_actuators_and_sensors(self) -> None:
        s = equipped()
        loaded = load(to_text(s))
        assert to_text(loaded) == to_text(s)
        assert loaded.resolve("reference").input_names == s.resolve("reference").input_names
        assert (loaded.actuators[0].lower, loaded.actuators[0].upper) == (-2, 2)
        assert accelerations(loaded) == accelerations(s)


class TestHandWritten:
    def test_expressions(self) -> None:
        assert accelerations(load(HEAD + ARM)) == accelerations(hand_built())

    def test_the_balloon_equals_the_script(self) -> None:
        built = runpy.run_path(str(ROOT / "examples" / "balloon.py"))["build"]()
        loaded = load(ROOT / "examples" / "models" / "balloon.toml")
        assert to_text(loaded) == to_text(built)
        assert accelerations(loaded) == accelerations(built)

    def test_the_four_bar_is_closed_where_it_starts(self) -> None:
        system = load(ROOT / "examples" / "models" / "four_bar.toml")
        loop = system.loops[0]
        assert (loop.closure.kind, str(loop.first), str(loop.second)) == ("revolute", "coupler.tip", "rocker.tip")
        model = system.resolve("reference")
        tips = [model.pose(str(ref), model.neutral())[1] for ref in (loop.first, loop.second)]
        np.testing.assert_allclose(tips[0], tips[1], atol=1e-14)  # a few roundings of metres
        assert system["rocker"].parameters()["mass"] == (4.4, "kg")
        assert to_text(load(to_text(system))) == to_text(system)

    def test_expressions_in_closures(self) -> None:
        (loop,) = load(HEAD + ARM + PIN).loops
        assert loop.closure.axis.tolist() == [0, 1, 2]
        text = PIN.replace('type = "rigid"\nkind = "revolute"\naxis = [0, "half", "arm.length"]', SPRING)
        (loop,) = load(HEAD + ARM + text).loops
        np.testing.assert_array_equal(np.diag(loop.closure.stiffness), np.full(6, 1e4))
        np.testing.assert_array_equal(np.diag(loop.closure.damping), [1, 1, 1, 2, 2, 2])

    def test_every_example_loads(self) -> None:
        paths = list((ROOT / "examples" / "models").glob("*.toml"))
        assert paths
        for path in paths:
            load(path).check()

    def test_an_unconnected_body_is_noticed(self) -> None:
        text = HEAD + ARM + '\n[bodies.lost]\ntype = "rigid"\nmass = 1\n'
        with pytest.raises(tt.ModelError, match="a path of joints from the world") as caught:
            load(text).resolve()
        assert caught.value.where == "lost"

    def test_physical_checks_follow(self) -> None:
        text = (HEAD + ARM).replace("mass = 3", "mass = -3").replace("arm.tip", "arm.tp")
        with pytest.raises(tt.ModelError) as caught:
            load(text).resolve()
        assert {finding.code for finding in caught.value.findings} == {"negative-mass", "unknown-port"}

    def test_a_byte_order_mark_and_windows_lines(self, tmp_path: Path) -> None:
        path = tmp_path / "x.toml"
        path.write_bytes(b"\xef\xbb\xbf" + (HEAD + ARM).replace("\n", "\r\n").encode())
        assert to_text(load(path)) == to_text(load(HEAD + ARM))


#: What to replace in the hand-written file by what; code and place of the finding; words of the message.
ERRORS = [
    ('format = "titop"', 'format = "other"', "wrong-format", "format", "got other; expected 'titop'"),
    ('format = "titop"\n', "", "wrong-format", "format", "a model file starts with the line"),
    ("version = 1\n", "", "missing-key", "version", "version = 1"),
    ("version = 1", "version = 2", "unknown-version", "version", "update titop"),
    ("version = 1", "version = true", "unknown-version", "version", "write version = 1"),
    ("version = 1", "version = 1.0", "unknown-version", "version", "write version = 1"),
    ("[loads.push]", "[load.push]", "unknown-key", "load", "did you mean 'loads'"),
    ('name = "rig"', "name = 5", "wrong-type", "system.name", "put it in quotes"),
    ('name = "rig"', 'names = "rig"\nname = "rig"', "unknown-key", "system.names", "did you mean 'name'"),
    ("gravity = [0, 0, -9.81]", 'gravity = [0, 0, "-g"]', "unknown-parameter", "system.gravity[2]", "'g' stands"),
    ('"arm.length / 2"', '"arm.lenght / 2"', "unknown-parameter", "parameters.half", "did you mean 'arm.length'"),
    ('"arm.length / 2"', '"half"', "cyclic-parameters", "parameters.half", "half -> half"),
    ("[parameters]\n", "[[parameters]]\n", "wrong-type", "parameters", "a table"),
    ("mass = 3", "mass = nan", "not-finite", "bodies.arm.mass", "a finite number"),
    ("mass = 3", "mass = inf", "not-finite", "bodies.arm.mass", "a finite number"),
    ("mass = 3", "mass = true", "wrong-type", "bodies.arm.mass", "a number or an expression"),
    ("mass = 3", "mass = 2020-01-01", "wrong-type", "bodies.arm.mass", "a number or an expression"),
    ("mass = 3", "mass = 1" + "0" * 400, "not-finite", "bodies.arm.mass", "a finite number"),
    ("mass = 3", "mas = 3\nmass = 3", "unknown-key", "bodies.arm.mas", "did you mean 'mass'"),
    ("mass = 3\n", "", "missing-key", "bodies.arm.mass", "give it"),
    ("mass = 3", 'mass = "heavy"', "unknown-parameter", "bodies.arm.mass", "'heavy' stands"),
    ('"1/2"', '"1/0"', "bad-value", "bodies.arm.inertia[1]", "division by zero"),
    ('type = "rigid"', 'type = "rigit"', "unknown-type", "bodies.arm.type", "did you mean 'rigid'"),
    ('type = "rigid"\n', "", "missing-key", "bodies.arm.type", "known types: rigid"),
    ('type = "rigid"', "type = 1", "unknown-type", "bodies.arm.type", "a type of bodies"),
    ('type = "rigid"', 'type = "revolute"', "unknown-type", "bodies.arm.type", "a type of bodies"),
    ('ports.tip = ["arm.length", 0, 0]', "ports = 3", "wrong-type", "bodies.arm.ports", "a table"),
    ('ports.tip = ["arm.length", 0, 0]', "ports.tip = 3", "wrong-type", "bodies.arm.ports.tip", "a position"),
    ('ports.tip = ["arm.length", 0, 0]', "ports.tip = [0, 0]", "wrong-shape", "bodies.arm.ports.tip.position", "shape (3,)"),
    (
        "placement = [0, 0, -0.5]",
        "placement.positon = [0, 0, 0]",
        "unknown-key",
        "joints.hinge.placement.positon",
        "'position'",
    ),
    (
        "placement = [0, 0, -0.5]",
        "placement.rotation_vector = 1",
        "wrong-shape",
        "joints.hinge.placement.rotation_vector",
        "(3,)",
    ),
    ('type = "revolute"', 'type = "revolut"', "unknown-type", "joints.hinge.type", "did you mean 'revolute'"),
    ('parent = "world.A"', 'parnt = "world.A"', "unknown-key", "joints.hinge.parnt", "did you mean 'parent'"),
    ('parent = "world.A"\n', "", "missing-key", "joints.hinge.parent", "give it"),
    ('parent = "world.A"', "parent = 3", "wrong-type", "joints.hinge.parent", "put it in quotes"),
    ('child = "arm"', 'child = "am"', "unknown-block", "joints.hinge.child", "did you mean 'arm'"),
    ("axis = [0, 1, 0]", "axes = [0, 1, 0]", "unknown-key", "joints.hinge.axes", "did you mean 'axis'"),
    ('child = "arm"\n', "", "missing-key", "joints.hinge.child", "give it"),
    ('rest = "deg(-30)"', "pitch = 3", "unknown-key", "joints.hinge.pitch", "known names"),
    ('rest = "deg(-30)"', 'limits.low = "deg(-30)"', "unknown-key", "joints.hinge.limits.low", "did you mean 'lower'"),
    ('rest = "deg(-30)"', "limits = 3", "wrong-type", "joints.hinge.limits", "a table"),
    ("[joints.hinge]", "[joints.arm]", "bad-name", "joints.arm", "that no other block has"),
    ("[joints.hinge]", '[joints."h.x"]', "bad-name", "joints.h.x", "without dots"),
    ("[joints.hinge]", '[joints."world"]', "bad-name", "joints.world", "that no other block has"),
    ('target = "arm.tip"', 'target = "am.tip"', "unknown-block", "loads.push.target", "did you mean 'arm'"),
    ('target = "arm.tip"', 'type = "variable"\ntarget = "arm.tip"', "unknown-type", "loads.push.type", "constant"),
    ("[loads.push]", "[loads]\nx = 3\n[loads.push]", "wrong-type", "loads.x", "a table"),
]


#: The same for the closure that may follow.
CLOSURE_ERRORS = [
    (
        'type = "rigid"\nkind',
        "kind",
        "missing-key",
        "closures.pin.type",
        "types: compliant, spring, contact, cable, rigid",
    ),
    ('"rigid"\nkind', '"rigidd"\nkind', "unknown-type", "closures.pin.type", "did you mean 'rigid'"),
    ('"rigid"\nkind', '"revolute"\nkind', "unknown-type", "closures.pin.type", "compliant, spring, contact, cable, rigid"),
    ('kind = "revolute"', 'kind = "revolut"', "unknown-kind", "pin.kind", "did you mean 'revolute'"),
    ('kind = "revolute"', "kind = 3", "wrong-type", "closures.pin.kind", "put it in quotes"),
    ('axis = [0, "half"', 'axes = [0, "half"', "unknown-key", "closures.pin.axes", "did you mean 'axis'"),
    ('axis = [0, "half"', 'axis = [0, "hal"', "unknown-parameter", "closures.pin.axis[1]", "did you mean 'half'"),
    ('axis = [0, "half", "arm.length"]', "directions = [1, 0]", "wrong-shape", "pin.directions", "6 x k"),
    ('first = "arm.tip"', 'frist = "arm.tip"', "unknown-key", "closures.pin.frist", "did you mean 'first'"),
    ('first = "arm.tip"\n', "", "missing-key", "closures.pin.first", "give it"),
    ('second = "world"', 'second = "wrld"', "unknown-block", "closures.pin.second", "did you mean 'world'"),
    ('second = "world"', 'parent = "world"\nsecond = "world"', "unknown-key", "closures.pin.parent", "known names"),
    ("[closures.pin]", "[closures.hinge]", "bad-name", "closures.hinge", "that no other block has"),
    ("[closures.pin]", "[closure.pin]", "unknown-key", "closure", "did you mean 'closures'"),
    ("[closures.pin]", "[closures]\nx = 3\n[closures.pin]", "wrong-type", "closures.x", "a table"),
]


def mistake(old: str, new: str, text: str = HEAD + ARM) -> str:
    """Return the hand-written file with a part replaced."""
    assert text.count(old) == 1
    return text.replace(old, new)


def required(cls: type) -> set[str]:
    """Return the arguments without default, the name besides, of a constructor."""
    arguments = list(inspect.signature(cls).parameters.values())
    return {a.name for a in arguments if a.default is a.empty and a.kind is not a.VAR_KEYWORD} - {"name"}


def optional(cls: type) -> set[str]:
    """Return the arguments with default of a constructor, and of those that it passes its keywords on to."""
    arguments = list(inspect.signature(cls).parameters.values())
    passed_on = any(a.kind is a.VAR_KEYWORD for a in arguments)
    return {a.name for a in arguments if a.default is not a.empty} | (optional(cls.__base__) if passed_on else set())


class TestOptionalFields:
    @pytest.mark.parametrize("known", block_types._TYPES.values(), ids=lambda known: known.cls.__name__)
    def test_what_classes_default_files_default(self, known: block_types.BlockType) -> None:
        needed = {name for name, field in known.fields.items() if field.default is REQUIRED}
        assert needed == required(known.cls)
        assert set(known.fields) - needed == optional(known.cls) - {"name"}

    def test_a_system_needs_no_name_and_no_gravity(self) -> None:
        assert required(tt.System) == set()
        loaded, built = load("format = 'titop'\nversion = 1\n"), tt.System()
        assert (loaded.name, loaded.gravity.tolist()) == (built.name, built.gravity.tolist())
        assert "gravity = [0.0, 0.0, -9.81]" in to_text(built)  # a reader sees it all the same

    @pytest.mark.parametrize(
        ("rows", "fields"),
        [("", {}), ("poisson = 0.1\n", {"poisson": 0.1}), ("torsion_constant = 1e-9\n", {"torsion_constant": 1e-9})],
    )
    def test_a_beam_defaults_as_its_class(self, rows: str, fields: dict[str, float]) -> None:
        s = tt.System("rig")
        s.connect("world", tt.Beam("boom", 2.0, 2700.0, 1e-4, 7e10, 1e-8, 1e-8, **fields), tt.Revolute("hinge"))
        joint = '[joints.hinge]\ntype = "revolute"\nparent = "world"\nchild = "boom"\n'
        loaded = load(HEAD + BEAM + rows + joint)
        assert numbers(loaded) == numbers(s)
        assert numbers(load(to_text(loaded))) == numbers(s)


class TestErrors:
    @pytest.mark.parametrize(("old", "new", "code", "where", "words"), ERRORS)
    def test_a_mistake_is_found_with_its_place(self, old: str, new: str, code: str, where: str, words: str) -> None:
        with pytest.raises(tt.ModelError) as caught:
            load(mistake(old, new))
        found = {(finding.code, finding.where): str(finding) for finding in caught.value.findings}
        assert (code, where) in found
        assert words in found[code, where]

    @pytest.mark.parametrize(("old", "new", "code", "where", "words"), CLOSURE_ERRORS)
    def test_a_mistake_in_a_closure_is_found(self, old: str, new: str, code: str, where: str, words: str) -> None:
        with pytest.raises(tt.ModelError) as caught:
            load(mistake(old, new, HEAD + ARM + PIN)).resolve()
        found = {(finding.code, finding.where): str(finding) for finding in caught.value.findings}
        assert (code, where) in found
        assert words in found[code, where]

    def test_all_mistakes_are_reported_together(self) -> None:
        text = mistake("mass = 3", 'mass = "2*m"').replace("axis =", "axes =").replace('"arm.tip"', '"am.tip"')
        with pytest.raises(tt.ModelError) as caught:
            load(text)
        assert [finding.where for finding in caught.value.findings] == [
            "bodies.arm.mass",
            "joints.hinge.axes",
            "loads.push.target",
        ]

    @pytest.mark.parametrize(
        ("old", "new", "where", "words"),
        [
            ("mass = 3", "mass = = 3", "line 17, column 8", "'mass = = 3'"),
            ("mass = 3", "mass = 3\nmass = 4", "line 18, column 9", "every key stands once"),
            ("mass = 3", "mass = 2*half", "line 17, column 9", "stand in quotes"),
            ('force = [0, 0, "-2*half"]', "force = [0, 0", "line 34, end of the file", "TOML"),
            ("[bodies.arm]", "[bodies.arm", "line 15, column 12", "'[bodies.arm'"),
        ],
    )
    def test_syntax_errors_have_line_and_column(self, old: str, new: str, where: str, words: str) -> None:
        with pytest.raises(tt.ModelError) as caught:
            load(mistake(old, new))
        assert (caught.value.code, caught.value.where) == ("not-toml", where)
        assert words in str(caught.value)

    @pytest.mark.parametrize(
        ("text", "code"),
        [
            ("#" * 5_000_000 + "\n", "too-large"),
            (".".join(["a"] * 50_000) + " = 1\n", "too-large"),
            ("a = " + "[" * 100_000 + "\n", "too-deep"),
            ("a = " + "[" * 20 + "]" * 20 + "\n", "too-deep"),
            ("a = " + "{a = " * 20 + "1" + "}" * 20 + "\n", "too-deep"),
            ("[" + ".".join(["a"] * 100) + "]\n", "too-deep"),
            ("a = " + "1" * 5000 + "\n", "not-toml"),
            (HEAD + "".join(f"k{k} = 1\n" for k in range(100_000)), "unknown-key"),
            (HEAD + "[parameters]\n" + "".join(f'p{k} = "q{k}"\n' for k in range(50_000)), "unknown-parameter"),
            (HEAD + "".join(f"k{k}.{'.'.join('a' * 90)} = 1\n" for k in range(20_000)), "too-large"),
            (HEAD + "".join(f"[bodies.b{k}]\n" for k in range(100_000)), "too-large"),
            (HEAD + f"[world.ports]\na = [{'0,' * 1_000_000}]\n", "too-large"),
            (HEAD + "[parameters]\n" + "".join(f'p{k} = "{"+".join("1" * 100)}"\n' for k in range(15_000)), "too-large"),
            (HEAD + "".join(f'[loads.{"x" * 190}{k}]\ntarget = "{"x" * 191}{k}"\n' for k in range(5000)), "unknown-block"),
            (HEAD + f'[loads."{"x" * 3_000_000}"]\ntarget = "w"\n', "unknown-block"),
            (HEAD + f"{BEAM}modes = 1000\n", "not-a-count"),
            (HEAD + "".join(f"{BEAM.replace('boom', f'b{k}')}modes = 20\n" for k in range(1500)), "too-large"),
        ],
        ids=[
            *("size", "dots", "open brackets", "brackets", "braces", "header", "digits", "keys", "parameters", "dotted keys"),
            *("tables", "numbers", "operations", "unknown names", "long name", "modes", "beams"),
        ],
    )
    def test_oversized_texts_are_refused_quickly(self, text: str, code: str) -> None:
        start = time.process_time()
        with pytest.raises(tt.ModelError) as caught:
            load(text).check()
        assert caught.value.code == code
        assert len(str(caught.value)) < 50_000
        assert time.process_time() - start < 5.0

    def test_many_sensors_on_unknown_joints_are_refused_quickly(self) -> None:
        """Each name alone is quickly compared; all of them would take a minute."""
        text = HEAD + ARM + "".join(f'[sensors.s{k}]\ntype = "encoder"\njoint = "world.{k}"\n' for k in range(10_000))
        system = load(text)
        start = time.process_time()
        with pytest.raises(tt.ModelError, match="unknown-joint"):
            system.check()
        assert time.process_time() - start < 5.0

    def test_a_matrix_of_many_columns_is_no_dotted_key(self) -> None:
        with pytest.raises(tt.ModelError, match="wrong-shape"):
            load(HEAD + ARM.replace("inertia = [0.1, ", f"inertia = [{'0.1, ' * 500}")).check()

    def test_what_cannot_be_read_again_is_not_written(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(toml_text, "MAX_TABLES", 3)
        with pytest.raises(tt.ModelError, match="split the model"):
            hand_built().save(tmp_path / "x.toml")
        assert list(tmp_path.iterdir()) == []

    def test_escapes_do_not_reach_the_terminal(self) -> None:
        for text in (mistake('"arm"', '"\\u001b[31marm"'), mistake("[bodies.arm]", '[bodies."\\u001b[31m"]')):
            with pytest.raises(tt.ModelError) as caught:
                load(text)
            assert all(line.isprintable() for line in str(caught.value).split("\n"))

    @pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
    def test_pipes_and_devices_are_refused_without_waiting(self, tmp_path: Path) -> None:
        pipe = tmp_path / "pipe.toml"
        os.mkfifo(pipe)
        for path in (pipe, Path("/dev/zero"), tmp_path):
            with pytest.raises(tt.ModelError, match="a folder, pipe or device"):
                load(path)

    def test_other_files_have_other_readers(self, tmp_path: Path) -> None:
        np.savez(tmp_path / "x.npz", t=np.zeros(3))
        (tmp_path / "x.toml").write_text("\ufeff<robot/>", encoding="utf-8")
        for name, words in (("x.npz", "tt.load_trajectory"), ("x.toml", "tt.from_urdf")):
            with pytest.raises(tt.ModelError, match=words) as caught:
                load(tmp_path / name)
            assert caught.value.code == "wrong-format"

    def test_a_missing_file(self, tmp_path: Path) -> None:
        (tmp_path / "balloon.toml").touch()
        with pytest.raises(tt.ModelError, match=r"did you mean 'balloon\.toml'") as caught:
            load(tmp_path / "baloon.toml")
        assert caught.value.code == "no-file"

    @pytest.mark.parametrize("source", ["", "nul\0byte", "x" * 5000, ".", Path("nowhere") / "x.toml"])
    def test_paths_that_are_none(self, source: Any) -> None:
        with pytest.raises(tt.ModelError) as caught:
            load(source)
        assert caught.value.code == "no-file"

    def test_a_source_that_is_none(self) -> None:
        with pytest.raises(tt.ModelError, match="a path, or the text"):
            load(3)  # type: ignore[arg-type]

    def test_the_error_names_the_file(self, tmp_path: Path) -> None:
        path = tmp_path / "arm.toml"
        path.write_text(mistake("mass = 3", "mas = 3"))
        with pytest.raises(tt.ModelError) as caught:
            load(path)
        assert caught.value.__notes__ == [f"in {path}"]

    def test_bytes_that_are_no_text(self, tmp_path: Path) -> None:
        path = tmp_path / "x.toml"
        path.write_bytes(b"format = 1\nname = '\xff'")
        with pytest.raises(tt.ModelError, match="byte 0xff") as caught:
            load(path)
        assert (caught.value.code, caught.value.where) == ("not-text", "line 2")


class TestSaving:
    def test_a_failure_leaves_the_old_file_and_nothing_else(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        path = tmp_path / "x.toml"
        path.write_text("old")

        def refuse(*_: Any) -> None:
            raise OSError("no")

        monkeypatch.setattr(os, "replace", refuse)
        with pytest.raises(OSError, match="no"):
            save(hand_built(), path)
        assert [entry.name for entry in tmp_path.iterdir()] == ["x.toml"]
        assert path.read_text() == "old"

    @pytest.mark.parametrize("name", ["x.txt", "x", "x.toml.bak", ".toml"])
    def test_other_suffixes_are_refused(self, tmp_path: Path, name: str) -> None:
        with pytest.raises(tt.ModelError, match=r"expected one of \.toml") as caught:
            hand_built().save(tmp_path / name)
        assert caught.value.code == "unknown-format"
        assert list(tmp_path.iterdir()) == []
        save(hand_built(), tmp_path / "x.TOML")

    def test_only_the_file_is_left(self, tmp_path: Path) -> None:
        for _ in range(2):
            save(hand_built(), str(tmp_path / "x.toml"))
        assert [entry.name for entry in tmp_path.iterdir()] == ["x.toml"]

    @pytest.mark.skipif(os.name == "nt", reason="links need a privilege there")
    def test_a_link_stays_a_link(self, tmp_path: Path) -> None:
        (tmp_path / "real.toml").touch()
        (tmp_path / "link.toml").symlink_to(tmp_path / "real.toml")
        save(hand_built(), tmp_path / "link.toml")
        assert (tmp_path / "link.toml").is_symlink()
        assert (tmp_path / "real.toml").stat().st_size > 0

    def test_an_unsound_system_is_refused_and_nothing_written(self, tmp_path: Path) -> None:
        s = hand_built()
        s.connect(tt.RigidBody("lost", 1.0), tt.RigidBody("too", 1.0), tt.Revolute("pin"))
        with pytest.raises(tt.ModelError, match="unconnected"):
            save(s, tmp_path / "x.toml")
        assert list(tmp_path.iterdir()) == []

    def test_a_name_that_is_no_text_is_refused(self) -> None:
        s = hand_built()
        s.name = "\ud800"
        with pytest.raises(tt.ModelError, match="names that are text"):
            to_text(s)


class Bar(tt.Block):
    """A user's block: a rigid bar with a port at its end."""

    ports = ("C",)

    def __init__(self, name: str, length: float = 1.0, density: float = 1.0) -> None:
        super().__init__(name)
        if length < 0:
            raise ValueError("a negative length")
        self.length, self.density = length, density

    def pose(self, port: str, q: Any) -> tuple[Any, Any]:
        return np.eye(3), np.array([0.0, 0.0, self.length])

    def mass_matrix(self, q: Any) -> Any:
        return self.density * self.length * np.eye(6)


def with_bars() -> tt.System:
    """Return a system with a user's block as a body and one as a joint."""
    s = tt.System("bars")
    bar = Bar("bar", length=0.3)
    s.connect("world", bar, tt.Revolute("hinge", axis=[1, 0, 0]))
    s.connect(bar.port("C"), tt.RigidBody("tip", 1.0), Bar("link", length=0.1 + 0.2, density=2.0))
    return s


@pytest.fixture
def registered() -> Iterator[None]:
    """Register the user's block for one test."""
    known = dict(block_types._TYPES)
    register_block(Bar, "bar", {"length": NUMBER, "density": Field(NUMBER, 1.0)})
    yield
    block_types._TYPES.clear()
    block_types._TYPES.update(known)


class TestUserBlocks:
    def test_an_unregistered_class_is_refused_by_name(self) -> None:
        with pytest.raises(tt.ModelError) as caught:
            to_text(with_bars())
        assert [(finding.code, finding.where) for finding in caught.value.findings] == [
            ("unregistered-class", "bar"),
            ("unregistered-class", "link"),
        ]
        assert "register_block" in str(caught.value)

    def test_a_subclass_of_a_known_class_is_no_known_class(self) -> None:
        s = tt.System()
        s.connect("world", tt.RigidBody("b", 1.0, inertia=1.0), type("Mine", (tt.Revolute,), {})("hinge"))
        with pytest.raises(tt.ModelError, match="got Mine; expected a class that files know"):
            to_text(s)

    @pytest.mark.usefixtures("registered")
    def test_round_trip(self) -> None:
        text = to_text(with_bars())
        assert '[joints.link]\ntype = "bar"\nparent = "bar.C"\nchild = "tip"\nlength = 0.30000000000000004\n' in text
        assert to_text(load(text)) == text
        assert accelerations(load(text)) == accelerations(with_bars())

    @pytest.mark.usefixtures("registered")
    def test_a_constructor_that_refuses(self) -> None:
        text = to_text(with_bars()).replace("length = 0.3\n", "length = -1\n")
        with pytest.raises(tt.ModelError, match="ValueError: a negative length") as caught:
            load(text)
        assert (caught.value.code, caught.value.where) == ("block-fails", "bodies.bar")

    @pytest.mark.usefixtures("registered")
    def test_type_names_are_unique_but_a_class_may_be_registered_again(self) -> None:
        register_block(Bar, "bar", {"length": NUMBER})
        with pytest.raises(tt.ModelError, match="choose another name"):
            register_block(Bar, "rigid", {})

    def test_a_users_closure_has_the_table_of_closures(self) -> None:
        known = dict(block_types._TYPES)
        cls = type("Strut", (tt.CompliantClosure,), {"__module__": __name__})
        try:
            register_block(cls, "strut", {"stiffness": NUMBER})
            text = SPRING.replace("compliant", "strut").partition("damping")[0]
            text = HEAD + ARM + "[closures.pin]\n" + text + PIN.partition("length]\n")[2] + 'first = "arm"\nsecond = "world"\n'
            assert type(load(text).loops[0].closure) is cls
            with pytest.raises(tt.ModelError, match="rename the field"):
                register_block(cls, "strut", {"first": NUMBER})
            with pytest.raises(tt.ModelError, match="choose another name"):
                register_block(cls, "rigid", {})
            register_block(cls, "weld", {})  # a joint's type, which is no closure's
        finally:
            block_types._TYPES.clear()
            block_types._TYPES.update(known)

    def test_fields_that_every_table_has_are_refused(self) -> None:
        with pytest.raises(tt.ModelError, match="rename the field"):
            register_block(Bar, "bar", {"type": NUMBER, "parent": NUMBER})


class TestMutations:
    """Whatever happens to a file: a ModelError, or a system that resolves to a ModelError or to finite accelerations."""

    NUMBERS = ("0", "-1", "1e308", "1e-320", "nan", "inf", "-inf", '"1/0"', '"half"', "[]", "{}", "true", '""', "[[1, 2], 3]")
    WORDS = (
        "type",
        "ports",
        "mass",
        "arm",
        "world",
        "free",
        "weld",
        "screw",
        "rest",
        "C",
        "a.b",
        "",
        "parent",
        "limits",
        "kind",
        "second",
    )

    def mutant(self, rng: np.random.Generator, text: str) -> str | bytes:
        """Return a file with bytes, a number, a word, a line or a block of lines changed."""
        lines = text.split("\n")
        here, there = (int(k) for k in rng.integers(len(lines), size=2))
        kind = rng.integers(6)
        if kind == 0:
            data = bytearray(text.encode())
            for position in rng.integers(len(data), size=rng.integers(1, 4)):
                data[position] = rng.integers(256) if rng.random() < 0.3 else rng.integers(32, 127)
            return bytes(data)
        if kind == 1:
            return self.replaced(rng, text, "0123456789", str(rng.choice(self.NUMBERS)))
        if kind == 2:
            return self.replaced(rng, text, "abcdefghijklmnopqrstuvwxyz_", str(rng.choice(self.WORDS)))
        if kind == 3:
            del lines[here]
        elif kind == 4:
            lines.insert(there, lines[here])
        else:
            lines[here], lines[there] = lines[there], lines[here]
        return "\n".join(lines)

    def replaced(self, rng: np.random.Generator, text: str, letters: str, new: str) -> str:
        """Return a text in which one run of letters is replaced."""
        places = [k for k, letter in enumerate(text) if letter in letters]
        start = end = int(rng.choice(places))
        while start > 0 and text[start - 1] in letters + ".-":
            start -= 1
        while end < len(text) and text[end] in letters + ".-":
            end += 1
        return text[:start] + new + text[end:]

    @pytest.mark.filterwarnings("ignore")
    def test_mutants(self, tmp_path: Path) -> None:
        rng = np.random.default_rng(20)
        tree = random_tree(np.random.default_rng(5), 3, passive=True, loads=True)
        loops = looped(np.random.default_rng(6), 3)
        hinged_beam = HEAD + BEAM + '[joints.hinge]\ntype = "revolute"\nparent = "world"\nchild = "boom"\n'
        closed, _ = random_closed_tree(np.random.default_rng(6), 3)
        systems = (tree, equipped(), loops, geared_hand(), closed, four_bar())
        originals = [HEAD + ARM + PIN, hinged_beam, *map(to_text, systems)]
        outcomes = {"refused": 0, "unsound": 0, "sound": 0}
        path = tmp_path / "mutant.toml"
        for original in originals:  # compiles what the mutants need
            path.write_text(original)
            assert self.outcome(path) != "refused"
        for k in range(how_many(2000)):
            mutant = self.mutant(rng, originals[k % len(originals)])
            path.write_bytes(mutant if isinstance(mutant, bytes) else mutant.encode())
            start = time.process_time()
            outcomes[self.outcome(path)] += 1
            assert time.process_time() - start < 5.0
        assert all(count > 100 for count in outcomes.values()), outcomes

    def test_a_wrong_digit_is_seen(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """The negative control of the round trip."""
        model = random_tree(np.random.default_rng(5), 3).resolve()
        q, v, _, tau = random_state(model, np.random.default_rng(0))
        assert_round_trip(model, q, v, tau)
        a = model.forward_dynamics(q, v, tau)
        monkeypatch.setattr(type(model), "forward_dynamics", lambda *_: a * (1 + 1e-9))
        with pytest.raises(AssertionError):
            assert_round_trip(model, q, v, tau)

    def outcome(self, path: Path) -> str:
        """Return what became of a mutant."""
        try:
            system = load(path)
        except tt.ModelError:
            return "refused"
        try:
            model = system.resolve()
            q, v, _, tau = random_state(model, np.random.default_rng(0))
            q = model.assemble(q)
            v = model.assemble_velocity(q, v)
            acceleration = model.forward_dynamics(q, v, tau)
            assert_round_trip(model, q, v, tau)
        except (tt.ModelError, tt.ConvergenceError):  # the latter for loops that cannot be closed
            return "unsound"
        assert np.isfinite(acceleration).all()
        assert to_text(load(to_text(system))) == to_text(system)
        return "sound"


def test_a_robot_goes_through_a_file_bit_by_bit(tmp_path):
    """URDF to system to file to system: the same bits of accelerations."""
    urdf = Path(__file__).parents[3] / "examples" / "models" / "arm.urdf"
    robot = tt.from_urdf(urdf, base="free")
    robot.save(tmp_path / "arm.toml")
    one, other = robot.resolve(), tt.load(tmp_path / "arm.toml").resolve()
    rng = np.random.default_rng(0)
    q, v, tau = one.random_configuration(rng), rng.normal(size=one.nv), rng.normal(size=one.nv)
    assert (one.forward_dynamics(q, v, tau) == other.forward_dynamics(q, v, tau)).all()


@pytest.mark.parametrize(
    ("arguments", "found"),
    [
        ((int, "bar", {}), "int: got .*not-a-block"),
        ((tt.Beam("beam", 1, 1, 1, 1, 1, 1), "bar", {}), "not-a-block"),
        ((tt.RigidBody, "", {}), r"RigidBody\.type_name"),
        ((tt.RigidBody, 3, {}), r"RigidBody\.type_name"),
        ((tt.RigidBody, "bar", ["mass"]), r"RigidBody\.fields"),
        ((tt.RigidBody, "bar", {"mass": float}), r"RigidBody\.mass: .*Kind"),
    ],
)
def test_only_classes_of_blocks_with_kinds_of_fields_are_registered(arguments: Any, found: str) -> None:
    with pytest.raises(tt.ModelError, match=found):
        register_block(*arguments)
