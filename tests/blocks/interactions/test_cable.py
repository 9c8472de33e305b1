"""What a cable does to its ports and coordinates: forces along its way, power from its length, and what it refuses."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import titop as tt
from tests.blocks.interaction_motions import motion
from tests.refusals import ENGINES
from titop.blocks.checking.interaction_findings import moved, resultant
from titop.blocks.contract.target_motion import TargetMotion
from titop.blocks.interactions.interaction import Interaction


@pytest.mark.parametrize("ports", [2, 3, 5])
@pytest.mark.parametrize("seed", range(3))
def test_wrenches_add_up_to_nothing(ports: int, seed: int) -> None:
    cable = tt.Cable("cable", stiffness=30.0, length=0.1, dissipation=0.1, arms=[0.2])
    at = motion(cable, seed, ports, 4.0)
    wrenches, _ = cable.act(at)
    assert np.abs(wrenches).max() > 1.0
    np.testing.assert_allclose(resultant(at, wrenches), 0, atol=1e-12 * np.abs(wrenches).max())  # sums of a few terms
    wrenches[-1] = 0.0
    assert np.abs(resultant(at, wrenches)).max() > 0.1  # the control: without the last port they do not


@pytest.mark.parametrize("seed", range(3))
def test_a_tension_takes_the_power_of_the_length(seed: int) -> None:
    """``P = -T dL/dt``: with length zero and stiffness two, the stored energy is the length's square."""
    cable, ruler = tt.Cable("cable", arms=[0.3, -0.2]), tt.Cable("ruler", stiffness=2.0, length=-9.0, arms=[0.3, -0.2])
    at = motion(cable, seed, tension=3.0)
    wrenches, efforts = cable.act(at)
    power = np.sum(wrenches * at.V) + efforts @ at.v
    lengths = [np.sqrt(ruler.stored(moved(at, t))) for t in (1e-5, -1e-5)]
    # central differences of 1e-5 s: 1e-10 of truncation, 1e-10 of rounding, of lengths about ten
    assert power == pytest.approx(-3.0 * (lengths[0] - lengths[1]) / 2e-5, rel=1e-7, abs=1e-8)


def test_an_eye_feels_both_parts() -> None:
    cable = tt.Cable("cable")
    at = TargetMotion(
        np.array([np.eye(3)] * 3),
        np.array([[0, 0, 0], [0, 0, 2.0], [3.0, 0, 2]]),
        np.zeros((3, 6)),
        *np.zeros((2, 0)),
        u=np.array([5.0]),
    )
    wrenches, efforts = cable.act(at)
    np.testing.assert_allclose(wrenches[:, :3], [[0, 0, 5], [5, 0, -5], [-5, 0, 0]], atol=1e-15)  # exact but for signs of zero
    assert not wrenches[:, 3:].any()
    assert efforts.size == 0


def test_a_slack_cable_does_nothing_and_a_released_one_never_pushes() -> None:
    cable, fast = tt.Cable("cable", stiffness=10.0, length=99.0), tt.Cable("fast", stiffness=10.0, dissipation=1e3)
    at = motion(cable, 0)
    assert not cable.act(at)[0].any()
    assert not cable.stored(at)
    pulling, reversed_motion = fast.act(at)[0].any(), fast.act(at._replace(V=-at.V))[0].any()
    assert fast.stored(at) > 0
    assert pulling != reversed_motion  # the dissipation, beyond one, takes all of the tension one way


def test_coinciding_ports_have_no_direction() -> None:
    at = motion(tt.Cable("cable"), 1, 3, 2.0)
    at.r[1] = at.r[0]
    wrenches, _ = tt.Cable("cable").act(at)
    assert np.isfinite(wrenches).all()
    assert not wrenches[0].any()


def through_a_hinge(eyes: int, apart: float = 0.0) -> tt.System:
    """Return two arms, and a rope along both through one eye in the hinge between them, or one on either arm."""
    s = tt.System("tendon", gravity=[0, 0, -9.81])
    s.world.add_port("anchor", [0, 1.0, 0.2])
    turned = [Rotation.from_rotvec(x) for x in ([0.3, 0.2, 0.5], [1.1, -0.4, 0.7])]
    upper = tt.RigidBody("upper", 1.0, [0.1, 0, 0], 0.1, {"elbow": tt.Pose([0.31, 0.17, 0.23], turned[0])})
    lower = tt.RigidBody(
        "lower", 0.5, [0.1, 0, 0], 0.1, {"elbow": tt.Pose([0.13, 0.07, 0.11], turned[1]), "tip": [0.5, 0.3, 0]}
    )
    lower.add_port("eye", tt.Pose(np.array([0.13, 0.07, 0.11]) + turned[1].apply([0, apart, 0]), turned[1]))
    s.connect("world", upper, tt.Revolute("shoulder", axis=[1, 2, 3]))
    s.connect(upper.port("elbow"), lower.port("elbow"), tt.Revolute("hinge", axis=[0, 1, 0]))
    via = [upper.port("elbow"), lower.port("eye")][:eyes]
    s.add_interaction(tt.Cable("cable", stiffness=500.0, length=1.0), s.world.port("anchor"), *via, lower.port("tip"))
    return s


STATES = [(rng.normal(size=2), rng.normal(size=2)) for rng in map(np.random.default_rng, range(8))]


@pytest.mark.parametrize("engine", ENGINES)
class TestEyesThatCoincide:
    """Nothing acts between them: the geometry is that of one eye, the reaction differs by the rope's pull on the second."""

    def test_motion_is_that_with_one_eye(self, engine: str) -> None:
        one, two = (through_a_hinge(k).resolve(engine) for k in (1, 2))
        for q, v in STATES:
            np.testing.assert_allclose(two.forward_dynamics(q, v), one.forward_dynamics(q, v), rtol=1e-11)
            for found, expected in zip(*(m.forward_dynamics_derivatives(q, v) for m in (two, one)), strict=True):
                np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)  # rounding of accelerations of 100 rad/s^2

    def test_the_second_eye_bears_its_part_of_the_rope(self, engine: str) -> None:
        one, two = (through_a_hinge(k).resolve(engine) for k in (1, 2))
        for q, v in STATES:
            (R, eye), tip, anchor = two.pose("lower.elbow", q), two.pose("lower.tip", q)[1], np.array([0, 1.0, 0.2])
            way = np.linalg.norm(eye - anchor) + np.linalg.norm(tip - eye)
            pull = 500.0 * max(way - 1.0, 0.0) * R.T @ (tip - eye) / np.linalg.norm(tip - eye)
            a = one.forward_dynamics(q, v)
            taken = one.reaction("hinge", q, v, a) - two.reaction("hinge", q, v, a)
            np.testing.assert_allclose(taken, [*pull, 0, 0, 0], rtol=1e-10, atol=1e-10)  # of reactions of 100 N

    def test_eyes_a_nanometre_apart_have_a_direction(self, engine: str) -> None:
        """Negative control: along the hinge's axis the whole tension."""
        q, v = STATES[0]
        near, same = through_a_hinge(2, 1e-9).resolve(engine), through_a_hinge(2).resolve(engine)
        more = near.reaction("hinge", q, v, np.zeros(2)) - same.reaction("hinge", q, v, np.zeros(2))
        assert abs(more[1]) > 50.0


@pytest.mark.parametrize(
    "cable", [tt.Cable("c", 3.0, 0.1, 0.2, [0.3]), tt.Cable("d"), tt.Cable("e", 2.0)], ids=lambda x: x.name
)
def test_check_block_has_nothing_to_say(cable: Interaction) -> None:
    tt.check_block(cable)


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"stiffness": -1.0}, "c.stiffness: got -1.0"),
        ({"dissipation": -1.0}, "c.dissipation: got -1.0"),
        ({"length": float("nan")}, "c.length"),
        ({"arms": "long"}, "c.arms"),
        ({"max_tension": float("nan")}, "c.max_tension"),
    ],
)
def test_unusable_cables_are_refused_by_name(values: Any, said: str) -> None:
    errors, _ = tt.Cable("c", **values).check()
    assert any(said in str(finding) for finding in errors), errors


@pytest.mark.parametrize("name", ["stiffness", "dissipation"])
def test_parameters_of_cables_become_no_coefficients_that_add_energy(name: str) -> None:
    s = tt.System("hoist", gravity=[0, 0, -9.81])
    s.world.add_port("eye", [0, 0, 1])
    load = tt.RigidBody("load", 1.0)
    s.connect("world", load, tt.Prismatic("up", axis=[0, 0, 1]))
    s.add_interaction(tt.Cable("rope", 10.0, 0.5, 0.1), s.world.port("eye"), load)
    m = s.resolve()
    with pytest.raises(tt.ModelError, match=rf"rope\.{name}: got -1\.0; expected a value >= 0"):
        m.with_parameters({f"rope.{name}": -1.0})
    assert m.with_parameters({f"rope.{name}": 0.0}).parameters()[f"rope.{name}"][0] == 0.0


def test_cables_do_not_push() -> None:
    s = tt.System("hoist", gravity=[0, 0, -9.81])
    s.world.add_port("eye", [0, 0, 1])
    load = tt.RigidBody("load", 1.0)
    s.connect("world", load, tt.Prismatic("up", axis=[0, 0, 1]))
    s.add_interaction(tt.Cable("rope"), s.world.port("eye"), load)
    m = s.resolve()
    for use in (lambda u: tt.simulate(m, [0, 1], [0], [0], u=u), lambda u: tt.trim(m, ["up.tau"], u=u)):
        with pytest.raises(tt.ModelError, match="one-sided"):
            use({"rope.tension": -5.0})
