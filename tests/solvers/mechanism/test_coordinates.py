"""Own coordinates of bodies, driven, read and geared by name as those of joints are."""

from __future__ import annotations

import numpy as np
import pytest

import titop as tt
from tests.flexible import random_body
from tests.mixed_trees import mixed_tree
from tests.refusals import ENGINES
from tests.solvers.mechanism.soft_arms import BEND, OFFSET, SWAY, driven_arm, geared_arm, soft_arm
from tests.systems import KINDS, Array, random_tree
from tests.tolerances import ROUNDING
from titop.solvers.mechanism.coordinates import plain_coordinates


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
    own = model.mechanism.assembly.coordinate_units[place("panel.mode2")]
    assert (own, model.output_units) == ("1", ("rad", "1/s"))
    assert model.mechanism.inputs.units == ("N m", "J", "N m")


def test_linear_models_of_own_coordinates() -> None:
    model = driven_arm().resolve()
    point = tt.trim(model)
    motors = tt.linearize(model, point, inputs=["bender", "shaker"], outputs=["angle", "rate"])
    efforts = tt.linearize(model, point, inputs=["segment", "panel.mode2"], outputs=["segment.q", "panel.mode3.v"])
    np.testing.assert_allclose(motors.B, efforts.B * [2.0, -3.0], **ROUNDING)
    np.testing.assert_allclose(motors.C, efforts.C, **ROUNDING)
    assert motors.D.tolist() == [[0.0, 0.0], [0.0, 0.0]]
    assert np.linalg.norm(efforts.B[:, 1]) > 0


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


def test_who_writes_into_the_neutral_configuration_changes_no_other() -> None:
    m = random_tree(np.random.default_rng(0), 3).resolve()
    q = m.neutral()
    expected = q.copy()
    q += 1.0
    np.testing.assert_array_equal(m.neutral(), expected)


def test_unchecked_moves_are_the_blocks_own() -> None:
    """In compiled code, as the reference engine has it; and what is not finite is left to the blocks."""
    rng = np.random.default_rng(2)
    tree = random_tree(rng, 6, kinds=("Revolute", "Spherical", "Universal"), base="free")
    model, reference = tree.resolve(), tree.resolve("reference")
    q = np.array([model.random_configuration(rng) for _ in range(3)])
    dq = rng.normal(size=(3, model.nv))
    np.testing.assert_allclose(
        model.mechanism.integrate_unchecked(q, dq), reference.mechanism.integrate_unchecked(q, dq), **ROUNDING
    )
    np.testing.assert_allclose(
        model.mechanism.integrate_unchecked(q[1], dq[1]), reference.mechanism.integrate_unchecked(q[1], dq[1]), **ROUNDING
    )
    assert not np.allclose(model.mechanism.integrate_unchecked(q, dq), reference.mechanism.integrate_unchecked(q, 0.9 * dq))
    assert np.iscomplexobj(model.mechanism.integrate_unchecked(q, 1j * dq))
    dq[1, -1] = np.nan
    found = model.mechanism.integrate_unchecked(q, dq)
    assert np.isnan(found[1]).any()
    np.testing.assert_allclose(found[[0, 2]], reference.mechanism.integrate_unchecked(q, dq)[[0, 2]], **ROUNDING)


@pytest.mark.parametrize("engine", ENGINES)
def test_numbers_of_configurations_move_as_steps_along_the_tangent(engine: str) -> None:
    """By differences to both sides: plain coordinates as they are, quaternions and positions turned along."""
    rng = np.random.default_rng(4)
    model = random_tree(rng, 8, base="free").resolve(engine)
    assert model.mechanism.quaternions
    assert len(model.mechanism.plain_coordinates.in_q) > 0
    q, step = model.random_configuration(rng), 1e-6
    ahead, behind = (np.array([model.integrate(q, side * row) for row in step * np.eye(model.nv)]).T for side in (1, -1))
    derivatives = model.configuration_derivatives(q)
    np.testing.assert_allclose(derivatives, (ahead - behind) / (2 * step), atol=1e-9)  # rounding over the step


def test_numbers_of_configurations_move_as_complex_steps_say() -> None:
    """Several free and spherical joints at once, at stacked configurations."""
    rng = np.random.default_rng(5)
    s = tt.System("swarm")
    for k in range(2):
        base = tt.RigidBody(f"base{k}", 1.0, inertia=1.0, ports={"hip": [0.2, 0, 0]})
        s.connect("world", base, tt.Free(f"float{k}"))
        s.connect(base.port("hip"), tt.RigidBody(f"leg{k}", 1.0, inertia=1.0), tt.Spherical(f"ball{k}"))
    model, reference = s.resolve(), s.resolve("reference")
    q = np.array([model.random_configuration(rng) for _ in range(3)])
    expected = np.array([reference.configuration_derivatives(row) for row in q])
    np.testing.assert_allclose(model.configuration_derivatives(q), expected, rtol=0, atol=1e-15)  # rounding of one product
    assert np.abs(expected).sum(axis=-1).all()


def test_random_configurations_are_those_of_the_blocks() -> None:
    """One after the other, by the same generator: of plain joints side by side, of bodies and of quaternions between them."""
    model = mixed_tree(np.random.default_rng(6), 8).resolve()
    ones, others = np.random.default_rng(7), np.random.default_rng(7)
    for _ in range(3):
        blocks = model.mechanism.assembly.blocks_with_coordinates
        expected = np.concatenate([block.random_configuration(others) for block in blocks])
        np.testing.assert_array_equal(model.random_configuration(ones), expected)


class Winding(tt.Revolute):
    """A hinge whose coordinate goes twice as far as its rate says."""

    def integrate(self, q: Array, dq: Array) -> Array:
        return q + 2.0 * dq

    def difference(self, q0: Array, q1: Array) -> Array:
        return (q1 - q0) / 2.0


def check(s: tt.System) -> list[str]:
    """Compare with what `Model.integrate` does; return the names of the blocks whose coordinates are not plain."""
    model, rng = s.resolve("reference"), np.random.default_rng(0)
    plain = plain_coordinates(model.mechanism.assembly)
    q, dq = model.random_configuration(rng), rng.normal(size=model.nv)
    np.testing.assert_allclose(model.integrate(q, dq)[plain.in_q], q[plain.in_q] + dq[plain.in_v], rtol=1e-14, atol=1e-14)
    assert len(plain.in_q) + sum(in_q.stop - in_q.start for _, in_q, _ in plain.others) == model.nq
    assert len(plain.in_v) + sum(in_v.stop - in_v.start for _, _, in_v in plain.others) == model.nv
    return [block.name for block, *_ in plain.others]


def test_quaternions_and_planes_are_not_plain() -> None:
    s = random_tree(np.random.default_rng(5), 12, [kind for kind in KINDS if kind != "Weld"])
    joints = [connection.joint for connection in s.connections]
    found = check(s)
    assert {type(joint) for joint in joints if joint.name in found} >= {tt.Spherical}
    assert found == [joint.name for joint in joints if joint.nq != joint.nv]


def test_own_coordinates_of_bodies_are_plain() -> None:
    assert check(soft_arm()) == []


@pytest.mark.filterwarnings("ignore:.*inconsistent-block:titop.ModelWarning")  # its poses do not follow
def test_a_joint_that_says_how_it_moves_is_asked() -> None:
    s = tt.System("winch")
    s.connect("world", tt.RigidBody("drum", mass=1.0, inertia=1.0), Winding("spool"))
    assert check(s) == ["spool"]
