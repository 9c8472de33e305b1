"""Sections of rods in systems: poses, and internal wrenches against reactions, loads beyond, and the material."""

from __future__ import annotations

import pickle
import warnings
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import titop as tt
from tests.blocks.bodies.rods.rod_systems import SECTION, YOUNG, clamped, settled
from titop.blocks.basics.spatial import twist_transport
from titop.blocks.bodies.rods import rod_sections
from titop.solvers.model import mechanism
from titop.solvers.model.sections import overlaps

Array = NDArray[np.float64]

#: Sums of some hundred terms of order ten.
ROUNDING = 1e-11


def robot(engine: str = "compiled", closed: bool = False, **rod: Any) -> tt.Model:
    """Return a rod on a hinge with a hand, loaded and driven."""
    fields: dict[str, Any] = {"damping": 300.0, "strains": "timoshenko", "basis": 2} | rod
    soft = tt.Rod("rod", 0.8, tt.Section.circle([0.03, 0.02]), 1e6, 1000.0, ports={"mid": 0.33, "root": 0.0}, **fields)
    hand = tt.RigidBody("hand", 0.2, com=[0.05, 0, 0], inertia=1e-3, ports={"E": [0.1, 0, 0]})
    s = tt.System("robot", gravity=[0, 0, -9.81])
    s.connect("world", soft, tt.Revolute("hinge", axis=[0, 1, 0], stiffness=50.0))
    s.connect(soft.port("tip"), hand, tt.Revolute("wrist", axis=[0, 0, 1], stiffness=1.0))
    s.add_load(tt.Load("pull", soft.port("mid"), force=[0.1, 0.5, 0.2], torque=[0.01, 0.0, 0.02], frame="world"))
    s.add_actuator(tt.Motor("drive", "hinge"))
    s.add_actuator(tt.Thruster("jet", hand.port("E"), direction=[0, 1, 0]))
    if closed:
        post = tt.RigidBody("post", 1.0, ports={"top": [0.88, 0.0, -0.05]})
        s.connect("world", post, tt.Weld("foot"))
        s.close_loop(hand.port("E"), post.port("top"), tt.RigidClosure("grip", "spherical"))
    return s.resolve(engine)


def state(model: tt.Model, seed: int = 0) -> tuple[Array, Array, Array]:
    rng = np.random.default_rng(seed)
    return tuple(0.2 * rng.normal(size=model.nv) for _ in range(3))  # type: ignore[return-value]


@pytest.mark.parametrize("engine", ["compiled", "reference"])
def test_the_base_transmits_the_reaction_and_the_tip_what_hangs_there(engine: str) -> None:
    model = robot(engine)
    q, v, a = state(model)
    u, wrenches = [0.3, 0.7], {"rod.mid": np.arange(6.0), "hand.E": np.ones(6)}
    base, tip = model.section_wrenches("rod", [0.0, 0.8], q, v, a, wrenches, u)
    np.testing.assert_allclose(base, model.reaction("hinge", q, v, a, wrenches, u), atol=ROUNDING)
    hanging = model.reaction("wrist", q, v, a, wrenches, u)
    angle = q[model.configuration_names.index("wrist")]
    turn = np.array([[np.cos(angle), -np.sin(angle), 0], [np.sin(angle), np.cos(angle), 0], [0, 0, 1]])
    np.testing.assert_allclose(tip, twist_transport(turn, np.zeros(3)).T @ hanging, atol=ROUNDING)
    assert np.abs(base - tip).max() > 1  # they differ


def test_a_load_is_beyond_the_sections_before_it() -> None:
    """It steps by what the load is, in the section's frame."""
    model = robot()
    q, v, a = state(model)
    own = model.pose("rod.mid", q)[0]
    before, behind = model.section_wrenches("rod", [0.33, 0.33 + 1e-9], q, v, a)
    np.testing.assert_allclose(before - behind, -np.r_[own.T @ [0.1, 0.5, 0.2], own.T @ [0.01, 0, 0.02]], atol=1e-6)


def test_engines_agree_with_loops_closed() -> None:
    found = []
    for engine in ("compiled", "reference"):
        model = robot(engine, closed=True)
        q = model.assemble(model.neutral())
        v, a = np.zeros((2, model.nv))
        a = model.forward_dynamics(q, v, a)
        np.testing.assert_allclose(
            model.section_wrenches("rod", [0.0], q, v, a)[0], model.reaction("hinge", q, v, a), atol=1e-8
        )  # a few hundred newtons, by elimination
        found.append(model.section_wrenches("rod", [0.5], q, v, a)[0])
    np.testing.assert_allclose(*found, atol=1e-7)


def test_the_material_answers_as_orders_rise() -> None:
    """At rest, what the sections need is what the strain gives, the better the more functions and points there are."""
    unloaded = {f"pull.{kind}.{axis}": 0.0 for kind in ("force", "torque") for axis in "xyz"}
    errors = []
    for order, points in ((1, 4), (3, 16), (7, 64)):
        model = robot(basis=order, points=points).with_parameters({"rod.young": 1e7} | unloaded)
        q = settled(model)
        rest, places = np.zeros(model.nv), [0.1, 0.25, 0.5, 0.7]
        needed = model.section_wrenches("rod", places, q, rest, rest)
        given = model.mechanism.assembly.blocks["rod"].elastic_wrench(q[model.mechanism.assembly.q_slices["rod"]], places)
        errors.append(np.abs(needed - given).max() / np.abs(needed).max())
    assert errors[0] > 1e-2
    assert errors[1] < 0.1 * errors[0]
    assert errors[2] < 2e-6  # of fourth order in the distance of the points: 1.2e-5 at half as many


def test_an_inextensible_rod_carries_its_weight() -> None:
    """Hanging, the section at X holds what hangs below it; the strain knows nothing of that."""
    s = tt.System("hanging", gravity=[0, 0, -10.0])
    rod = tt.Rod("rod", 2.0, tt.Section.circle(0.01), 1e6, 1000.0, basis=1)
    down = tt.Pose(rotation=[[0, 0, 1], [0, 1, 0], [-1, 0, 0]])
    s.connect("world", rod, tt.Weld("clamp"), placement=down)
    model, X = s.resolve(), np.array([0.0, 0.3, 1.7, 2.0])
    rest = np.zeros(model.nv)
    weight = 10.0 * 1000.0 * np.pi * 0.01**2 * (2.0 - X)
    np.testing.assert_allclose(model.section_wrenches("rod", X, rest, rest, rest)[:, 0], -weight, atol=ROUNDING)
    np.testing.assert_array_equal(rod.elastic_wrench(rest, X), 0.0)


def test_poses_strains_and_stresses_of_sections() -> None:
    model = robot()
    q, v, a = state(model)
    rotations, positions = model.section_poses("rod", [0.33, 0.8], q)
    for k, port in enumerate(("rod.mid", "rod.tip")):
        R, r = model.pose(port, q)
        np.testing.assert_allclose(rotations[k], R, atol=ROUNDING)
        np.testing.assert_allclose(positions[k], r, atol=ROUNDING)
    rod, own = model.mechanism.assembly.blocks["rod"], q[model.mechanism.assembly.q_slices["rod"]]
    np.testing.assert_array_equal(model.section_strains("rod", [0.33], q), rod.stressing_strain(own, [0.33]))
    np.testing.assert_array_equal(model.section_stresses("rod", [0.33], q), rod.stress(own, [0.33]))
    stacked = model.section_wrenches("rod", [0.1, 0.2, 0.3], *(np.array([x, 2 * x]) for x in (q, v, a)))
    np.testing.assert_array_equal(stacked[1], model.section_wrenches("rod", [0.1, 0.2, 0.3], 2 * q, 2 * v, 2 * a))


def test_stacked_configurations_are_looked_at_together(monkeypatch: pytest.MonkeyPatch) -> None:
    """Against one by one: more than are looked at at once, one, and none."""
    monkeypatch.setattr(rod_sections, "_TOGETHER", 3)
    model, X = robot(), [0.0, 0.25, 0.8]
    q = 0.3 * np.random.default_rng(2).normal(size=(7, model.nq))
    for rows in (q, q[:1]):
        rotations, positions = model.section_poses("rod", X, rows)
        for k, row in enumerate(rows):
            R, r = model.section_poses("rod", X, row)
            np.testing.assert_allclose(rotations[k], R, rtol=0, atol=1e-14)  # of size one
            np.testing.assert_allclose(positions[k], r, rtol=0, atol=1e-14)
            np.testing.assert_array_equal(model.section_strains("rod", X, rows)[k], model.section_strains("rod", X, row))
            np.testing.assert_array_equal(model.section_stresses("rod", X, rows)[k], model.section_stresses("rod", X, row))
    assert [part.shape for part in model.section_poses("rod", X, q[:0])] == [(0, 3, 3, 3), (0, 3, 3)]
    assert model.section_strains("rod", X, q[:0]).shape == (0, 3, 6)


def test_changed_rods_are_looked_at_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a rod's tip is, after it was asked for with other lengths and at more places than are kept."""
    monkeypatch.setattr(rod_sections, "_CACHED", 2)
    model = robot()
    q = state(model)[0]
    for length in (0.8, 1.1, 0.8):
        changed = model.with_parameters({"rod.length": length})
        for end in ([length], [0.0, length], [0.3, length], [0.1, 0.2, length], [length]):
            np.testing.assert_allclose(
                changed.section_poses("rod", end, q)[1][-1], changed.pose("rod.tip", q)[1], atol=ROUNDING
            )
        assert len(changed.mechanism.assembly.blocks["rod"]._reached) == 2  # type: ignore[attr-defined]
        assert np.allclose(changed.pose("rod.tip", q)[1], model.pose("rod.tip", q)[1]) == (length == 0.8)


def test_changed_models_are_cut_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mechanism, "_KEPT", 2)
    model = robot()
    q, v, a = state(model)
    before = model.section_wrenches("rod", [0.0], q, v, a)[0]
    heavier = model.with_parameters({"hand.mass": 5.0})
    after = heavier.section_wrenches("rod", [0.0, 0.1, 0.2, 0.3], q, v, a)[0]
    np.testing.assert_allclose(after, heavier.reaction("hinge", q, v, a), atol=ROUNDING)
    assert np.abs(after - before).max() > 1


@pytest.mark.parametrize("closed", [False, True])
def test_stacked_states_share_their_cuts(closed: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each section is cut once for all states, more sections than are kept too."""
    made: list[float] = []
    cut = mechanism.cut_rod_at

    def counted(assembly: Any, rod: Any, fraction: float) -> Any:
        made.append(fraction)
        return cut(assembly, rod, fraction)

    monkeypatch.setattr(mechanism, "_KEPT", 2)
    monkeypatch.setattr(mechanism, "cut_rod_at", counted)
    model, places = robot(closed=closed), [0.1, 0.2, 0.3, 0.4]
    q, v, a = (np.array([x, x, x]) for x in state(model))
    if closed:
        q, v = np.array([model.assemble(model.neutral())] * 3), 0.0 * v
    tau = np.arange(v.size, dtype=float).reshape(v.shape)
    a = model.forward_dynamics(q, v, tau)
    found = model.section_wrenches("rod", places, q, v, a, tau=tau)
    assert len(made) == len(places)
    for row in range(3):
        alone = model.section_wrenches("rod", places, q[row], v[row], a[row], tau=tau[row])
        np.testing.assert_array_equal(found[row], alone)
    assert model.section_wrenches("rod", places, q[:0], v[:0], a[:0]).shape == (0, 4, 6)


def test_opened_joints_are_kept_for_one_of_models_that_are_alike() -> None:
    """So that families keep no more than one; copies in other processes begin without."""
    model = robot()
    heavier = model.with_parameters({"hand.mass": 2.0})
    opened = model.mechanism.open_at("wrist")
    assert opened.nv == model.nv + 6
    assert model.mechanism.open_at("wrist") is opened
    assert heavier.mechanism.open_at("wrist").parameters()["hand.mass"][0] == 2.0
    assert model.mechanism.open_at("wrist") is not opened
    assert model.mechanism.open_at("rod.mid") is model.mechanism.open_at("rod.mid")
    copied = pickle.loads(pickle.dumps(model)).mechanism
    assert not {"_openings", "_cuts"} & {*vars(copied), *copied._structural}
    assert copied.open_at("wrist").nv == opened.nv


def test_refusals() -> None:
    model = robot()
    rest = np.zeros(model.nv)
    with pytest.raises(tt.ModelError, match=r"rod: got hand; expected a rod of the model; known names: rod"):
        model.section_poses("hand", [0.1], rest)
    with pytest.raises(tt.ModelError, match=r"abscissas.*from 0 to the length, 0.8 m"):
        model.section_wrenches("rod", [0.9], rest, rest, rest)


# Rods whose sections run through each other, in equilibria and motions.


def bent(moment: float) -> tt.Model:
    """Return a rod with E I = L = 1 and radius 0.05, whose curvature is the moment."""
    rod = tt.Rod("rod", 1.0, SECTION, YOUNG, 1000.0, strains={"bending_z": 0}, points=2)
    return clamped(rod, engine="compiled", torque=[0.0, 0.0, moment])


def test_equilibria_tell() -> None:
    """The inner side vanishes at a curvature of 1 / 0.05 = 20."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tt.trim(bent(19.9), q=[19.8])
    with pytest.warns(
        tt.ModelWarning, match=r"rod: got a stretch of -0.05 on its inner side, at X = 0 m; .*overlapping"
    ) as caught:
        tt.trim(bent(21.0), q=[20.9])
    assert caught[0].filename == __file__


def test_motions_tell_when() -> None:
    model = bent(0.0)
    motion = np.array([[0.0], [25.0], [10.0]])
    (found,) = overlaps(model, motion, np.array([0.0, 0.5, 1.0]))
    assert "t = 0.5 s" in found.value
    assert not [*overlaps(model, motion[[0, 2]])]
    with pytest.warns(tt.ModelWarning, match="overlapping"):
        tt.simulate(model, [0.0, 1e-6], [25.0], [0.0])
