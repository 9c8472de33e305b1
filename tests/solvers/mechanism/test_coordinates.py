"""Own coordinates of bodies, driven, read and geared by name as those of joints are."""

from __future__ import annotations

import numpy as np
import pytest

import titop as tt
from examples.custom_block import ConstantCurvatureSegment
from tests.flexible import random_body
from tests.refusals import ENGINES, assert_says, refused
from tests.tolerances import ROUNDING
from titop.blocks.basics.spatial import Array


def soft_arm() -> tt.System:
    """Return a soft segment with a modal panel at its tip, on a hinge."""
    s = tt.System("soft arm", gravity=[0, 0, -9.81])
    segment = ConstantCurvatureSegment("segment", 0.6, 0.05, 120.0, stiffness=3.0, damping=0.1)
    s.connect("world", segment, joint=tt.Revolute("shoulder", axis=[0, 1, 0]))
    s.connect(segment.port("C"), random_body(np.random.default_rng(5)), joint=tt.Weld("wrist"))
    return s


def driven_arm() -> tt.System:
    s = soft_arm()
    s.add_actuator(tt.Motor("bender", s["segment"], gear=2.0))
    s.add_actuator(tt.Motor("shaker", "panel.mode2", gear=-3.0))
    s.add_actuator(tt.Motor("drive", "shoulder"))
    s.add_sensor(tt.Encoder("angle", "segment.bend"))
    s.add_sensor(tt.Tachometer("rate", "panel.mode3"))
    return s


def state(model: tt.Model, seed: int = 0) -> tuple[Array, Array, Array]:
    return tuple(np.random.default_rng(seed).normal(size=(3, model.nv)))  # type: ignore[return-value]


@pytest.mark.parametrize("engine", ENGINES)
def test_motors_push_own_coordinates(engine: str) -> None:
    driven, plain = driven_arm().resolve(engine), soft_arm().resolve(engine)
    q, v, tau = state(plain)
    u = {"bender": 0.7, "shaker": 0.4, "drive": -1.1}
    efforts = plain.velocity({"segment": 2.0 * 0.7, "panel": [0.0, -3.0 * 0.4, 0.0], "shoulder": -1.1})
    a = driven.forward_dynamics(q, v, tau, u=u)
    np.testing.assert_allclose(a, plain.forward_dynamics(q, v, tau + efforts), **ROUNDING)
    np.testing.assert_allclose(driven.inverse_dynamics(q, v, a, u=u), tau, **ROUNDING)
    assert np.abs(a - plain.forward_dynamics(q, v, tau)).max() > 0.1  # the inputs matter


@pytest.mark.parametrize("engine", ENGINES)
def test_sensors_read_own_coordinates_in_their_units(engine: str) -> None:
    model = driven_arm().resolve(engine)
    q, v, a = state(model)
    place = model.coordinate_names.index
    assert model.outputs(q, v, a).tolist() == [q[place("segment.bend")], v[place("panel.mode3")]]
    own = model.assembly.coordinate_units[place("panel.mode2")]
    assert (own, model.output_units) == ("1", ("rad", "1/s"))
    assert model.inputs.units == ("N m", "J", "N m")


def test_linear_models_of_own_coordinates() -> None:
    model = driven_arm().resolve()
    point = tt.trim(model)
    motors = tt.linearize(model, point, inputs=["bender", "shaker"], outputs=["angle", "rate"])
    efforts = tt.linearize(model, point, inputs=["segment", "panel.mode2"], outputs=["segment.q", "panel.mode3.v"])
    np.testing.assert_allclose(motors.B, efforts.B * [2.0, -3.0], **ROUNDING)
    np.testing.assert_allclose(motors.C, efforts.C, **ROUNDING)
    assert motors.D.tolist() == [[0.0, 0.0], [0.0, 0.0]]
    assert np.linalg.norm(efforts.B[:, 1]) > 0


#: Of the geared arm: how far the segment bends, and the panel's mode moves, a radian of the shoulder.
BEND, SWAY, OFFSET = -0.5, 0.2, 0.1


def geared_arm() -> tt.System:
    s = soft_arm()
    s.add_gear(tt.Gear("tendon", driver="shoulder", driven="segment", ratio=BEND, offset=OFFSET))
    s.add_gear(tt.Gear("linkage", driver="segment.bend", driven="panel.mode1", ratio=SWAY / BEND))
    return s


@pytest.mark.parametrize("engine", ENGINES)
def test_gears_join_own_coordinates(engine: str) -> None:
    model, tree = geared_arm().resolve(engine), soft_arm().resolve("reference")
    names = ("shoulder", "segment.bend", "panel.mode1", "panel.mode2", "panel.mode3")
    assert model.coordinate_names == names
    T, o = np.zeros((5, 3)), np.array([0, OFFSET, SWAY / BEND * OFFSET, 0, 0])
    T[:3, 0], T[3, 1], T[4, 2] = (1.0, BEND, SWAY), 1.0, 1.0
    rng = np.random.default_rng(3)
    q, v, tau = T @ rng.normal(size=3) + o, T @ rng.normal(size=3), rng.normal(size=5)
    a = model.forward_dynamics(q, v, tau)
    held = tree.inverse_dynamics(q, v, np.zeros(5))
    expected = T @ np.linalg.solve(T.T @ tree.mass_matrix(q) @ T, T.T @ (tau - held))
    np.testing.assert_allclose(a, expected, **ROUNDING)
    efforts = model.inverse_dynamics(q, v, a, actuated=["shoulder", "panel.mode2", "panel.mode3"])
    np.testing.assert_allclose(T.T @ (efforts - tau), 0.0, atol=1e-10)
    by_q, by_v, by_tau = model.forward_dynamics_derivatives(q, v, tau)
    step, direction = 1e-5, np.array([0.3, -0.8, 0.5])
    for slope, move in ((by_q, "q"), (by_v, "v"), (by_tau, "tau")):
        moved = [
            model.forward_dynamics(
                *(
                    x + s * step * T @ direction if name == move else x
                    for name, x in zip(("q", "v", "tau"), (q, v, tau), strict=True)
                )
            )
            for s in (1, -1)
        ]
        difference = (moved[0] - moved[1]) / (2 * step)
        scale = np.abs(difference).max()
        np.testing.assert_allclose(slope @ T @ direction, difference, rtol=1e-6, atol=1e-7 * scale)  # of central differences


def test_a_geared_arm_stays_in_mesh() -> None:
    model = geared_arm().resolve()
    q = model.assemble(model.configuration({"shoulder": 0.4}), fixed=["shoulder"])
    np.testing.assert_allclose(q[:3], [0.4, OFFSET + BEND * 0.4, SWAY / BEND * (OFFSET + BEND * 0.4)], atol=1e-12)
    with pytest.raises(tt.ModelError, match=r"gear 'tendon' is out of mesh by 0\.1 rad"):
        tt.simulate(model, [0, 0.3], np.zeros(5), np.zeros(5))
    trajectory = tt.simulate(model, np.linspace(0, 0.3, 4), q, np.zeros(5))
    np.testing.assert_allclose(trajectory.q[:, 1], OFFSET + BEND * trajectory.q[:, 0], atol=1e-9)  # held by projection
    assert np.ptp(trajectory.q[:, 0]) > 0.1


def test_files_subsystems_and_pictures_name_own_coordinates(tmp_path) -> None:
    s = tt.System("boom", gravity=[0, 0, 0])
    s.connect("world", random_body(np.random.default_rng(5)), joint=tt.Revolute("hinge", axis=[0, 1, 0]))
    s.add_gear(tt.Gear("pair", driver="hinge", driven="panel.mode1", ratio=0.1))
    s.add_actuator(tt.Motor("shaker", "panel.mode2"))
    s.add_sensor(tt.Encoder("sway", "panel.mode3"))
    s.save(tmp_path / "boom.toml")
    model, again = s.resolve(), tt.load(tmp_path / "boom.toml").resolve()
    q, v, tau = np.array([0.2, 0.02, 0.1, 0.3]), np.array([1.0, 0.1, 0.4, 0.5]), np.ones(4)
    a = model.forward_dynamics(q, v, tau, u=[2.0])
    assert (again.forward_dynamics(q, v, tau, u=[2.0]) == a).all()
    whole = tt.System("robot", gravity=[0, 0, 0])
    whole.include(s, "left")
    assert (whole.actuators[0].joint, whole.gears[0].driven) == ("left/panel.mode2", "left/panel.mode1")
    np.testing.assert_allclose(whole.resolve().forward_dynamics(q, v, tau, u=[2.0]), a, rtol=1e-13)
    assert "Motor shaker on panel.mode2" in str(s)
    lines = s.to_mermaid().splitlines()
    body = next(line.split("[")[0].strip() for line in lines if "FlexibleBody" in line)
    for coordinate, ending in (("mode1", f"{body}"), ("mode2", f"{body}"), ("mode3", "")):
        assert any(f'"{coordinate}"' in line and line.endswith(ending) and body in line for line in lines)


@pytest.mark.parametrize(
    ("acting", "code", "where", "words"),
    [
        (tt.Motor("m", "pannel.mode1"), "unknown-joint", "m.joint", "did you mean 'panel'?"),
        (tt.Motor("m", "panel"), "several-coordinates", "m.joint", "'panel.mode1'"),
        (tt.Motor("m", "panel.mode4"), "unknown-coordinate", "m.joint", "a coordinate of the block"),
        (tt.Motor("m", "segment", rotor_inertia=0.1), "no-armature", "m.rotor_inertia", "mass matrix of 'segment'"),
        (tt.Motor("m", "tip"), "unknown-joint", "m.joint", "or a block with coordinates"),
        (tt.Encoder("e", "segment.bent"), "unknown-coordinate", "e.joint", "did you mean 'segment.bend'?"),
        (tt.ReactionSensor("r", "segment"), "unknown-joint", "r.joint", "a joint of the system"),
        (tt.Gear("g", "segment", "segment.bend"), "self-connection", "g", "two different coordinates"),
        (tt.Gear("g", "panel", "segment"), "several-coordinates", "g.driver", "'panel.mode1'"),
    ],
)
def test_what_is_no_target_is_refused_by_name(acting: tt.Block, code: str, where: str, words: str) -> None:
    s = soft_arm()
    s.connect(s["panel"].port("C0"), tt.RigidBody("tip", 1.0, inertia=0.1), tt.Weld("bracket"))
    add = {tt.Motor: s.add_actuator, tt.Gear: s.add_gear}.get(type(acting), s.add_sensor)
    add(acting)  # type: ignore[operator]
    assert_says(refused(s), code, where, words)


def test_circles_and_contradictions_of_gears_on_own_coordinates_are_seen() -> None:
    s = geared_arm()
    s.add_gear(tt.Gear("back", driver="panel.mode1", driven="shoulder"))
    assert_says(refused(s), "gear-cycle", "panel.mode1", "segment.bend and shoulder.angle")
    s = geared_arm()
    s.add_gear(tt.Gear("again", driver="shoulder", driven="segment.bend", ratio=BEND, offset=0.0))
    assert_says(refused(s), "gears-contradict", "again")


def test_a_rotor_that_no_joint_bears_is_refused_later_too() -> None:
    model = driven_arm().resolve()
    with pytest.raises(tt.ModelError, match=r"bender\.rotor_inertia.*no-armature"):
        model.with_parameters({"bender.rotor_inertia": 0.1})
