"""Model files: what is written by hand is read, and what is wrong in it is said with its place."""

from __future__ import annotations

import inspect
import runpy
import time
from pathlib import Path

import numpy as np
import pytest

import titop as tt
from tests.graph.files.model_texts import ARM, BEAM, HEAD, PIN, ROOT, SPRING, accelerations, hand_built, mistake, numbers
from titop.graph.files import block_types, toml_text
from titop.graph.files.file_fields import REQUIRED
from titop.graph.files.saving import to_text
from titop.graph.load import load


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
        "types: compliant, spring, contact, cable, elastic-drive, tendon, chamber, distributed, rigid, rolling-disc",
    ),
    ('"rigid"\nkind', '"rigidd"\nkind', "unknown-type", "closures.pin.type", "did you mean 'rigid'"),
    (
        '"rigid"\nkind',
        '"revolute"\nkind',
        "unknown-type",
        "closures.pin.type",
        "compliant, spring, contact, cable, elastic-drive, tendon, chamber, distributed, rigid, rolling-disc",
    ),
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
        with pytest.warns(tt.ModelWarning, match=r"system\.gravity: got nothing; \[0\.0, 0\.0, -9\.81\] m/s\^2 is taken"):
            loaded = load("format = 'titop'\nversion = 1\n")
        built = tt.System()
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

    def test_many_sensors_on_unknown_joints_are_refused_quickly(self) -> None:
        """Each name alone is quickly compared; all of them would take a minute."""
        text = HEAD + ARM + "".join(f'[sensors.s{k}]\ntype = "encoder"\njoint = "world.{k}"\n' for k in range(10_000))
        system = load(text)
        start = time.process_time()
        with pytest.raises(tt.ModelError, match="unknown-joint"):
            system.check()
        assert time.process_time() - start < 5.0

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
