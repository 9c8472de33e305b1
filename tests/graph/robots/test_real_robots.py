"""Real robots in URDF: against Pinocchio, and mutated by thousands."""

from __future__ import annotations

import importlib.metadata
import random
import re
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from numpy.typing import NDArray

import titop as tt
from tests.mutants import assert_round_trip, how_many
from titop.blocks.joints.joint import Joint
from titop.graph.robots.urdf import from_urdf

pin = pytest.importorskip("pinocchio")

Array = NDArray[np.float64]


def robots() -> dict[str, Path]:
    """Return the URDF files of the example-robot-data wheel by file name, the folder of the robot before it."""
    try:
        files = importlib.metadata.distribution("example-robot-data").files or []
    except importlib.metadata.PackageNotFoundError:
        return {}
    paths = [Path(str(file.locate())) for file in files if file.suffix == ".urdf"]
    return {f"{path.parent.parent.name}/{path.stem}": path for path in sorted(paths)}


ROBOTS = robots()
pytestmark = pytest.mark.skipif(not ROBOTS, reason="needs the wheel example-robot-data")

#: Robots that are refused, each with the only reason for it. Negative moments are those of the file, except for iCub's
#: head, where products of inertia of 1e-35 stand beside moments that are zero.
REFUSED = {
    "alex_description/alex_psyonic_hands": "unknown-joint",
    "romeo_description/romeo": "massless-joint",
    "romeo_description/romeo_laas_small": "negative-inertia",
    "tiago_description/tiago": "negative-inertia",
    "tiago_description/tiago_dual": "negative-inertia",
    "tiago_description/tiago_no_hand": "negative-inertia",
    "ur_description/ur3": "no-links",
}

#: Robots with mimic joints, which titop turns into gears; those of alex_psyonic_hands name joints that do not exist.
GEARED = (
    "baxter_description/baxter",
    "panda_description/panda",
    "panda_description/panda_collision",
    "pr2_description/pr2",
    "talos_data/talos_full_v2",
    "talos_data/talos_full_v2_box",
    "tiago_pro_description/tiago_pro",
)

#: What is said about robots that load.
WARNED = {
    "allegro_hand_description/allegro_left_hand": {"renamed", "triangle-inequality"},
    "allegro_hand_description/allegro_right_hand": {"renamed", "triangle-inequality"},
    "anymal_b_simple_description/anymal": {"left-out", "triangle-inequality"},
    "anymal_b_simple_description/anymal-kinova": {"left-out", "triangle-inequality"},
    "anymal_c_simple_description/anymal": {"left-out", "renamed", "triangle-inequality"},
    "asr_twodof_description/TwoDofs": {"renamed"},
    "b1_description/b1": {"triangle-inequality"},
    "b1_description/b1-z1": {"renamed", "triangle-inequality"},
    "bolt_description/bolt": {"massless-inertia"},
    "centauro_description/centauro": {"missing-limit"},
    "double_pendulum_description/double_pendulum_continuous": {"left-out"},
    "g1_description/g1_29dof_rev_1_0": {"left-out"},
    "go1_description/go1": {"triangle-inequality"},
    "go2_description/go2": {"left-out"},
    "hyq_description/hyq_no_sensors": {"triangle-inequality"},
    # its head is a point mass: the neck's three joints move two directions of it
    "icub_description/icub": {"ill-conditioned", "small-inertia"},
    "icub_description/icub_reduced": {"small-inertia"},
    "kinova_description/kinova": {"left-out"},
    "panda_description/panda": {"left-out"},
    "panda_description/panda_collision": {"left-out"},
    "pr2_description/pr2": {"left-out", "triangle-inequality"},
    "quadruped_description/quadruped": {"missing-limit"},
    "romeo_description/romeo_small": {"triangle-inequality"},
    "simple_humanoid_description/simple_humanoid": {"left-out"},
    "so_arm_description/so100": {"renamed"},
    "so_arm_description/so101": {"left-out"},
    "talos_data/talos_left_arm": {"left-out"},
    "talos_data/talos_reduced": {"left-out"},
    "talos_data/talos_reduced_box": {"left-out"},
    "talos_data/talos_reduced_corrected": {"left-out"},
    "tiago_pro_description/tiago_pro": {"left-out"},
    "talos_data/talos_full_v2": {"left-out"},
    "talos_data/talos_full_v2_box": {"left-out"},
    "ur_description/ur10_joint_limited_robot": {"renamed"},
    "ur_description/ur10_robot": {"renamed"},
    "ur_description/ur3_gripper": {"renamed"},
    "ur_description/ur3_joint_limited_robot": {"renamed"},
    "ur_description/ur3_robot": {"renamed"},
    "ur_description/ur5_gripper": {"renamed"},
    "ur_description/ur5_joint_limited_robot": {"renamed"},
    "ur_description/ur5_robot": {"renamed"},
    "xarm_description/xarm7": {"left-out", "renamed"},
    "z1_description/z1": {"renamed"},
}


def codes(caught: list[warnings.WarningMessage]) -> set[str]:
    """Return the codes of the warnings; a foreign one stands for itself."""
    return {str(w.message).rpartition("[")[2].rstrip("]") if w.category is tt.ModelWarning else repr(w) for w in caught}


def load(source: Path | bytes, base: str) -> tuple[tt.Model, set[str]]:
    """Return the resolved robot and the codes of its warnings."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = from_urdf(source, base).resolve()
    return model, codes(caught)


def without_mimic(name: str) -> bytes:
    """Return a robot whose mimic joints move on their own."""
    return re.sub(rb"<mimic[^>]*/>", b"", ROBOTS[name].read_bytes())


# -- against Pinocchio -------------------------------------------------------------------------------------------------


class Peer:
    """Pinocchio's own reading of a URDF file, in titop's order of coordinates."""

    def __init__(self, path: Path, base: str, titop_model: tt.Model) -> None:
        root = [pin.JointModelFreeFlyer()] if base == "free" else []
        self.model = pin.buildModelFromUrdf(str(path), *root)
        self.data = self.model.createData()
        joints = [name.split(".")[0] for name in titop_model.coordinate_names]
        self.starts = {name: joints.index(name) for name in dict.fromkeys(joints)}
        self.names = [self._titop_name(name, set(titop_model.body_names)) for name in list(self.model.names)[1:]]
        #: Where Pinocchio's velocities stand in titop's.
        self.order = np.array(
            [
                self.starts[name] + k
                for name, joint in zip(self.names, self.model.joints[1:], strict=True)
                for k in range(joint.nv)
            ],
            dtype=int,
        )

    @staticmethod
    def _titop_name(name: str, bodies: set[str]) -> str:
        allowed = re.sub(r"[^\w/-]", "_", name)
        return f"{allowed}_joint" if allowed in bodies else allowed

    def configuration(self, q: Array) -> Array:
        """Return Pinocchio's configuration: continuous joints as cosine and sine."""
        widths = {name: joint.nv + (joint.nv == 6) for name, joint in zip(self.names, self.model.joints[1:], strict=True)}
        ends = np.cumsum([widths[name] for name in self.starts])
        parts = {name: q[end - widths[name] : end] for name, end in zip(self.starts, ends, strict=True)}
        values = [
            [np.cos(parts[name][0]), np.sin(parts[name][0])] if joint.nq == 2 else parts[name]
            for name, joint in zip(self.names, self.model.joints[1:], strict=True)
        ]
        return np.concatenate([np.zeros(0), *values])

    def back(self, x: Array) -> Array:
        """Return Pinocchio's efforts or accelerations in titop's order."""
        result = np.empty_like(x)
        result[self.order] = x
        return result

    def mass_matrix(self, q: Array) -> Array:
        """Return the mass matrix in titop's order."""
        upper = np.triu(pin.crba(self.model, self.data, self.configuration(q)))
        result = np.empty_like(upper)
        result[np.ix_(self.order, self.order)] = upper + np.triu(upper, 1).T
        return result

    def inverse_dynamics(self, q: Array, v: Array, a: Array) -> Array:
        """Return the efforts without damping and friction, which Pinocchio reads but does not apply."""
        order = self.order
        return self.back(pin.rnea(self.model, self.data, self.configuration(q), v[order], a[order]))

    def forward_dynamics(self, q: Array, v: Array, tau: Array) -> Array:
        """Return the accelerations."""
        order = self.order
        return self.back(pin.aba(self.model, self.data, self.configuration(q), v[order], tau[order]))

    def passive_efforts(self, v: Array) -> Array:
        """Return the efforts of damping and dry friction at velocities well beyond the smoothing."""
        return -self.back(self.model.damping) * v - self.back(self.model.friction) * np.sign(v)


def relative_error(found: Array, expected: Array) -> float:
    """Return the error relative to the norm of the result."""
    return float(np.linalg.norm(found - expected) / max(float(np.linalg.norm(expected)), 1e-300))


def assert_agrees(model: tt.Model, peer: Peer) -> None:
    """Compare mass matrix, inverse and forward dynamics at a random state.

    The tolerance is rounding's: a few hundred roundings, and for accelerations the condition number of the mass matrix.
    """
    rng = np.random.default_rng(1)
    q = model.random_configuration(rng)
    v = rng.uniform(0.1, 2.0, model.nv) * rng.choice([-1.0, 1.0], model.nv)
    a, tau = rng.normal(size=(2, model.nv))
    passive = peer.passive_efforts(v)
    expected = peer.mass_matrix(q)
    tolerance = 1e-12 + 10 * np.finfo(float).eps * np.linalg.cond(expected) if model.nv else 0.0
    np.testing.assert_allclose(model.passive_efforts(q, v), passive, rtol=1e-14, atol=1e-14)
    assert relative_error(model.mass_matrix(q), expected) <= tolerance
    assert relative_error(model.inverse_dynamics(q, v, a) + passive, peer.inverse_dynamics(q, v, a)) <= tolerance
    assert relative_error(model.forward_dynamics(q, v, tau), peer.forward_dynamics(q, v, tau + passive)) <= tolerance


def test_there_are_robots() -> None:
    assert len(ROBOTS) >= 69
    assert set(REFUSED) | set(WARNED) <= set(ROBOTS)


@pytest.mark.parametrize("base", ["fixed", "free"])
@pytest.mark.parametrize("name", [name for name in ROBOTS if name not in REFUSED and name not in GEARED])
def test_robot_agrees_with_pinocchio(name: str, base: str) -> None:
    model, warned = load(ROBOTS[name], base)
    assert warned == WARNED.get(name, set())
    assert_agrees(model, Peer(ROBOTS[name], base, model))


@pytest.mark.parametrize("name", REFUSED)
def test_robot_is_refused_for_one_reason(name: str) -> None:
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        with pytest.raises(tt.ModelError) as caught:
            from_urdf(ROBOTS[name]).resolve()
    assert {finding.code for finding in caught.value.findings} == {REFUSED[name]}
    said = str(caught.value) + "".join(str(w.message) for w in warned)
    assert ("repair=True" in said) == (name in REPAIRED)


@pytest.mark.parametrize("base", ["fixed", "free"])
@pytest.mark.parametrize("name", [*GEARED, "alex_description/alex_psyonic_hands"])
def test_robot_without_mimic_agrees_with_pinocchio(name: str, base: str) -> None:
    model, _ = load(without_mimic(name), base)
    assert_agrees(model, Peer(ROBOTS[name], base, model))


# -- repair ------------------------------------------------------------------------------------------------------------

#: Robots in which something is mended, each with what and how often: inertias, joints, mimics.
REPAIRED = {
    "alex_description/alex_psyonic_hands": (4, 0, 8),
    "allegro_hand_description/allegro_left_hand": (4, 0, 0),
    "allegro_hand_description/allegro_right_hand": (4, 0, 0),
    "anymal_b_simple_description/anymal": (1, 0, 0),
    "anymal_b_simple_description/anymal-kinova": (1, 0, 0),
    "anymal_c_simple_description/anymal": (5, 0, 0),
    "b1_description/b1": (1, 0, 0),
    "b1_description/b1-z1": (1, 0, 0),
    "go1_description/go1": (1, 0, 0),
    "hyq_description/hyq_no_sensors": (5, 0, 0),
    "pr2_description/pr2": (2, 0, 0),
    "romeo_description/romeo": (0, 24, 0),
    "romeo_description/romeo_laas_small": (5, 2, 0),
    "romeo_description/romeo_small": (2, 0, 0),
    "tiago_description/tiago": (2, 0, 0),
    "tiago_description/tiago_dual": (2, 0, 0),
    "tiago_description/tiago_no_hand": (2, 0, 0),
}


def as_mended(path: Path, system: tt.System) -> bytes:
    """Return a robot's file with what was mended written into it: inertias in link axes, fixed joints, no lost mimics."""
    tree = ElementTree.parse(path)
    for link in tree.getroot().findall("link"):
        inertial = link.find("inertial")
        if inertial is not None:
            body = system[re.sub(r"[^\w/-]", "_", link.get("name", ""))]
            for child in list(inertial):
                if child.tag in ("origin", "inertia"):
                    inertial.remove(child)
            ElementTree.SubElement(inertial, "origin", xyz=" ".join(map(repr, body.com.tolist())), rpy="0 0 0")
            rows, columns = np.triu_indices(3)
            entries = {f"i{'xyz'[i]}{'xyz'[j]}": repr(float(body.inertia[i, j])) for i, j in zip(rows, columns, strict=True)}
            ElementTree.SubElement(inertial, "inertia", entries)
    followers = {gear.driven for gear in system.gears}
    for joint in tree.getroot().findall("joint"):
        name = re.sub(r"[^\w/-]", "_", joint.get("name", ""))
        name = name if isinstance(system[name], Joint) else f"{name}_joint"
        mimic = joint.find("mimic")
        if mimic is not None and name not in followers:
            joint.remove(mimic)
        if isinstance(system[name], tt.Weld):
            joint.set("type", "fixed")
    return ElementTree.tostring(tree.getroot())


@pytest.mark.parametrize("name", [name for name in ROBOTS if name != "ur_description/ur3"])
def test_with_repair_all_robots_run(name: str, tmp_path: Path) -> None:
    """As Pinocchio's robot with the same inertias does; those about which there is nothing to mend are as they were."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        system = from_urdf(ROBOTS[name], repair=True)
        model = system.resolve()
    said = [str(w.message) for w in caught if "[repaired]" in str(w.message)]
    counts = tuple(sum(words in text for text in said) for words in ("principal moments", "taken as fixed", "on its own"))
    assert counts == REPAIRED.get(name, (0, 0, 0))
    assert len(said) == sum(counts)
    assert codes(caught) & {"triangle-inequality", "negative-inertia", "massless-joint"} == set()
    if name not in REPAIRED:
        return  # compared without repair
    (tmp_path / "mended.urdf").write_bytes(as_mended(ROBOTS[name], system))
    peer = Peer(tmp_path / "mended.urdf", "fixed", model)
    if system.gears:
        assert_geared_agrees(model, peer, *followers(tmp_path / "mended.urdf", model))
    else:
        assert_agrees(model, peer)


def test_what_was_mended_is_seen() -> None:
    """The negative control: Pinocchio's robot with the inertias of the file does not agree."""
    path = ROBOTS["romeo_description/romeo_small"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = from_urdf(path, repair=True).resolve()
    with pytest.raises(AssertionError):
        assert_agrees(model, Peer(path, "fixed", model))


# -- mimic joints ------------------------------------------------------------------------------------------------------


def followers(path: Path, model: tt.Model) -> tuple[Array, Array]:
    """Return T and o with ``q = T x + o``, x the coordinates of the joints that follow no other, read from the file again."""
    names = list(model.coordinate_names)
    T, o = np.eye(model.nv), np.zeros(model.nv)
    for joint in ElementTree.parse(path).getroot().findall("joint"):
        mimic = joint.find("mimic")
        if mimic is not None and joint.get("type") != "fixed":
            row = names.index(joint.get("name", ""))
            T[row], o[row] = 0.0, float(mimic.get("offset", 0.0))
            T[row, names.index(mimic.get("joint", ""))] = float(mimic.get("multiplier", 1.0))
    return T[:, T.any(axis=0) & (np.diag(T) == 1.0)], o


def assert_geared_agrees(model: tt.Model, peer: Peer, T: Array, o: Array) -> None:
    """Compare the dynamics with Pinocchio's of the joints that follow no other: ``T^T M T x'' = T^T (tau - h)``."""
    rng = np.random.default_rng(1)
    x, rates, x_rates = rng.uniform(-1.0, 1.0, (3, T.shape[1]))
    q, v, tau = T @ x + o, T @ rates, rng.normal(size=model.nv)
    assert np.abs(model.closure_error(q)).max() < 1e-14
    h = peer.inverse_dynamics(q, v, np.zeros(model.nv)) - peer.passive_efforts(v)
    M = T.T @ peer.mass_matrix(q) @ T
    tolerance = 1e-12 + 10 * np.finfo(float).eps * np.linalg.cond(peer.mass_matrix(q))  # as of trees
    a = T @ np.linalg.solve(M, T.T @ (tau - h))
    assert relative_error(model.forward_dynamics(q, v, tau), a) <= tolerance
    a = T @ x_rates
    efforts, needed = model.inverse_dynamics(q, v, a), peer.inverse_dynamics(q, v, a) - peer.passive_efforts(v)
    assert relative_error(T.T @ efforts, T.T @ needed) <= tolerance


@pytest.mark.parametrize("name", GEARED)
def test_geared_robot_agrees_with_pinocchio(name: str) -> None:
    model, warned = load(ROBOTS[name], "fixed")
    assert warned == WARNED.get(name, set())
    T, o = followers(ROBOTS[name], model)
    assert model.closure_rank(model.assemble(model.neutral())) == len(model.constraint_names) == model.nv - T.shape[1] > 0
    assert_geared_agrees(model, Peer(ROBOTS[name], "fixed", model), T, o)


def test_a_ratio_off_by_a_millionth_is_seen() -> None:
    """The negative control of the gears."""
    path = ROBOTS["panda_description/panda"]
    model, _ = load(path, "fixed")
    T, o = followers(path, model)
    (ratio,) = (name for name in model.parameters() if name.endswith("mimic.ratio"))
    with pytest.raises((AssertionError, tt.ModelError)):
        assert_geared_agrees(model.with_parameters({ratio: 1 + 1e-6}), Peer(path, "fixed", model), T, o)


def test_a_millionth_of_one_mass_is_seen() -> None:
    """The negative control."""
    path = ROBOTS["finger_edu_description/finger_edu"]
    model, _ = load(path, "free")
    peer = Peer(path, "free", model)
    masses = {name: value for name, (value, unit) in model.parameters().items() if unit == "kg" and value > 0}
    heaviest = max(masses, key=lambda name: masses[name])
    with pytest.raises(AssertionError):
        assert_agrees(model.with_parameters({heaviest: masses[heaviest] * (1 + 1e-6)}), peer)


# -- mutants -----------------------------------------------------------------------------------------------------------

SMALL = (
    "asr_twodof_description/TwoDofs",
    "borinot_description/borinot_flying_arm_2",
    "double_pendulum_description/double_pendulum_continuous",
    "double_pendulum_description/double_pendulum_simple",
    "finger_edu_description/finger_edu",
    "hextilt_description/hextilt_flying_arm_5",
    "iris_description/iris",
    "panda_description/panda",
    "so_arm_description/so100",
)
MUTANTS_OF_A_KIND = 100
#: A mutant takes some 10 ms; a hang is three orders above.
HANG = 5.0

NUMBER = re.compile(rb"(?<=[\" ])[-+]?\d+\.?\d*(?:[eE][-+]?\d+)?(?=[\" ])")
TAG = re.compile(rb"<[^>]*>")
NUMBERS = (
    *b"nan inf -inf 1e999 -1e999 1e308 1e200 1e39 1e-39 1e-320 0 -0 -1 1e40 -1e20 1e20 0x10 1_0 1,5 1.2.3 -- + . e5".split(),
    *b"\xd9\xa3 ${x} 1e 3.14159265358979 1e-9 1e9".split(),
    *(b"", b"1 2", b"9" * 400, b"0." + b"0" * 40 + b"1"),
)
WORDS = (
    b"link joint robot inertial mass inertia origin parent child axis limit dynamics mimic visual gazebo transmission "
    b"xyz rpy value name type world root_joint revolute prismatic planar floating continuous fixed xacro:macro include"
).split()


def mutate_bytes(text: bytes, rng: random.Random) -> bytes:
    """Return a text with a few bytes changed, a part lost or doubled, or the end cut off."""
    mutant = bytearray(text)
    for _ in range(rng.randint(1, 3)):
        if not mutant:
            break
        start = rng.randrange(len(mutant))
        end = min(len(mutant), start + rng.choice([1, 1, 5, 50, 500]))
        kind = rng.randrange(5)
        if kind == 0:
            mutant[start] = rng.randrange(256)
        elif kind == 1:
            del mutant[start:end]
        elif kind == 2:
            mutant[start:start] = mutant[start:end]
        elif kind == 3:
            mutant[start:start] = rng.choice([b"<", b">", b'"', b"&", b"&#0;", b"&lt;", b"\0", b"\xff\xfe", b"<!--", b"]]>"])
        elif rng.random() < 0.2:
            del mutant[start:]
    return bytes(mutant) or b"<"


def mutate_tags(text: bytes, rng: random.Random) -> bytes:
    """Return a text with a tag lost, doubled, moved or exchanged, or a word replaced."""
    tags = list(TAG.finditer(text))
    one, two = rng.choice(tags), rng.choice(tags)
    kind = rng.randrange(5)
    if kind == 0:
        return text[: one.start()] + text[one.end() :]
    if kind == 1:
        return text[: one.end()] + one.group() + text[one.end() :]
    if kind == 2:
        return text[: one.start()] + two.group() + text[one.end() :]
    if kind == 3:
        names = re.findall(rb'"[A-Za-z_]\w*"', text)
        old, new = rng.choice(names), rng.choice([*names, *(b'"%s"' % word for word in WORDS), b'""', b'"a.b c"'])
        return text.replace(old, new, rng.choice([1, 2, -1]))
    old, new = rng.choice(WORDS), rng.choice(WORDS)
    found = [match.start() for match in re.finditer(re.escape(old), text)] or [0]
    start = rng.choice(found)
    return text[:start] + new + text[start + len(old) :]


def mutate_numbers(text: bytes, rng: random.Random) -> bytes:
    """Return a text with one to three numbers replaced."""
    for _ in range(rng.randint(1, 3)):
        match = rng.choice(list(NUMBER.finditer(text)))
        text = text[: match.start()] + rng.choice(NUMBERS) + text[match.end() :]
    return text


def outcome(mutant: bytes, base: str, seed: int) -> str:
    """Return what becomes of a mutant: ``"refused"`` or ``"finite"``; anything else fails."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            model = from_urdf(mutant, base, repair=seed % 3 == 0).resolve()
            rng = np.random.default_rng(seed)
            q, (v, a) = model.assemble(model.random_configuration(rng)), rng.normal(size=(2, model.nv))
            v = model.assemble_velocity(q, v)
            a = model.assemble_acceleration(q, v, a)
            results = [model.inverse_dynamics(q, v, a), model.forward_dynamics(q, v, a), model.mass_matrix(q)]
            assert_round_trip(model, q, v, a)
        except (tt.ModelError, tt.ConvergenceError):  # the latter for gears that contradict each other
            return "refused"
        finally:
            assert [w for w in caught if w.category is not tt.ModelWarning] == []
    assert all(np.isfinite(result).all() for result in results)
    return "finite"


@pytest.mark.parametrize("mutate", [mutate_bytes, mutate_tags, mutate_numbers])
@pytest.mark.parametrize("name", SMALL)
def test_mutants_are_refused_or_finite(name: str, mutate: Callable[[bytes, random.Random], bytes]) -> None:
    text = ROBOTS[name].read_bytes()
    outcomes = []
    for seed in range(how_many(MUTANTS_OF_A_KIND, 3 * len(SMALL))):
        mutant = mutate(text, random.Random(f"{name} {mutate.__name__} {seed}"))
        start = time.process_time()
        outcomes.append(outcome(mutant, ("fixed", "free")[seed % 2], seed))
        assert time.process_time() - start < HANG
    assert {"refused", "finite"} == set(outcomes), "mutants that are all alike test nothing"


def test_geared_mutants_are_refused_or_finite() -> None:
    """A robot with gears, among them ones that its mutants break or close to circles."""
    joints = "".join(
        f'<joint name="{name}" type="{kind}"><parent link="{parent}"/><child link="{child}"/><origin xyz="0.1 0 0.2"/>'
        f'<axis xyz="{axis}"/>{mimic}</joint>'
        for name, kind, parent, child, axis, mimic in (
            ("wrist", "revolute", "palm", "hand", "1 0 0", ""),
            ("left", "prismatic", "hand", "thumb", "0 1 0", '<mimic joint="wrist" multiplier="0.5" offset="0.1"/>'),
            ("right", "continuous", "hand", "finger", "0 0 1", '<mimic joint="left" multiplier="-2"/>'),
            ("tip", "continuous", "finger", "nail", "0 1 0", '<mimic joint="wrist"/>'),
        )
    )
    inertia = '<inertia ixx="0.01" iyy="0.02" izz="0.02" ixy="0.001" ixz="0" iyz="0"/>'
    inertial = f'<inertial><origin xyz="0.1 0 0" rpy="0 0.5 0"/><mass value="1.5"/>{inertia}</inertial>'
    links = "".join(f'<link name="{name}">{inertial}</link>' for name in ("palm", "hand", "thumb", "finger", "nail"))
    text = f'<robot name="gripper">{links}{joints}</robot>'.encode()
    assert outcome(text, "free", 1) == "finite"
    outcomes = []
    for seed in range(how_many(600)):
        mutate = (mutate_bytes, mutate_tags, mutate_numbers)[seed % 3]
        start = time.process_time()
        outcomes.append(outcome(mutate(text, random.Random(f"geared {seed}")), ("fixed", "free")[seed % 2], seed))
        assert time.process_time() - start < HANG
    assert min(outcomes.count("refused"), outcomes.count("finite")) > 50


def test_there_are_enough_mutants() -> None:
    assert 3 * len(SMALL) * MUTANTS_OF_A_KIND >= 2000
