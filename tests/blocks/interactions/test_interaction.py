"""What interactions do to two ports: opposite wrenches, power from stored energy, closed forms, and what they refuse."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.linalg import expm
from scipy.spatial.transform import Rotation

import titop as tt
from titop.blocks.interactions.interaction import Interaction

KINDS: list[Interaction] = [
    tt.CompliantClosure("rubber", stiffness=[3.0, 4.0, 5.0, 0.6, 0.7, 0.8]),
    tt.SpringDamper("spring", stiffness=30.0, length=0.4),
    tt.Contact("ground", radius=0.9, stiffness=20.0, normal=[0.2, -0.3, 2.0]),
]

DISSIPATING: list[Interaction] = [
    tt.CompliantClosure("rubber", stiffness=2.0, damping=[0.3, 0.4, 0.5, 0.06, 0.07, 0.08]),
    tt.SpringDamper("spring", stiffness=30.0, length=0.4, damping=2.0),
    tt.Contact("ground", radius=0.9, stiffness=20.0, dissipation=0.3, friction=0.6, slip_velocity=0.1),
]


def relative_motion(seed: int) -> tuple[Any, Any, Any, Any]:
    """Return R, r and two twists; the ports are less than half a turn apart, the sphere of `KINDS` is in the ground."""
    rng = np.random.default_rng(seed)
    turn = Rotation.from_rotvec(rng.normal(size=3) * 0.7).as_matrix()
    return turn, rng.uniform(-0.3, 0.3, 3), rng.normal(size=6), rng.normal(size=6)


def moved(R: Any, r: Any, V1: Any, V2: Any, t: float) -> tuple[Any, Any]:
    """Return the relative pose a time `t` later, both ports moving at constant twists."""

    def transform(twist: Any) -> Any:
        matrix = np.zeros((4, 4))
        matrix[:3, :3], matrix[:3, 3] = np.cross(np.eye(3), twist[3:]), twist[:3]
        return expm(t * matrix)

    start = np.eye(4)
    start[:3, :3], start[:3, 3] = R, r
    pose = np.linalg.inv(transform(V1)) @ start @ transform(V2)
    return pose[:3, :3], pose[:3, 3]


@pytest.mark.parametrize("interaction", DISSIPATING, ids=lambda x: x.name)
@pytest.mark.parametrize("seed", range(5))
def test_wrenches_are_opposite_about_one_point(interaction: Interaction, seed: int) -> None:
    R, r, V1, V2 = relative_motion(seed)
    on_1, on_2 = interaction.wrenches(R, r, V1, V2)
    force, torque = R @ on_2[:3], R @ on_2[3:] + np.cross(r, R @ on_2[:3])
    assert np.abs(on_1).max() > 0.1
    np.testing.assert_allclose(np.concatenate([force, torque]), -on_1, rtol=0, atol=1e-13)  # forces of order one


@pytest.mark.parametrize("interaction", KINDS, ids=lambda x: x.name)
@pytest.mark.parametrize("seed", range(5))
def test_power_is_what_the_stored_energy_loses(interaction: Interaction, seed: int) -> None:
    R, r, V1, V2 = relative_motion(seed)
    on_1, on_2 = interaction.wrenches(R, r, V1, V2)
    ahead, behind = (interaction.energy(*moved(R, r, V1, V2, t)) for t in (1e-5, -1e-5))
    # central differences of 1e-5 s: 1e-10 of truncation, 1e-11 of rounding, times energies of order one
    assert on_1 @ V1 + on_2 @ V2 == pytest.approx(-(ahead - behind) / 2e-5, rel=1e-7, abs=1e-8)


@pytest.mark.parametrize("interaction", DISSIPATING, ids=lambda x: x.name)
@pytest.mark.parametrize("seed", range(5))
def test_dampers_and_friction_take_energy(interaction: Interaction, seed: int) -> None:
    R, r, V1, V2 = relative_motion(seed)
    resting = np.zeros(6)
    power = sum(W @ V for W, V in zip(interaction.wrenches(R, r, V1, V2), (V1, V2), strict=True))
    stored = sum(W @ V for W, V in zip(interaction.wrenches(R, r, resting, resting), (V1, V2), strict=True))
    assert power < stored


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: tt.SpringDamper("s"), "neither stiffness nor damping"),
        (lambda: tt.SpringDamper("s", stiffness=1.0, length=-1.0), "s.length: got -1.0"),
        (lambda: tt.SpringDamper("s", stiffness="soft"), "s.stiffness"),
        (lambda: tt.SpringDamper("s", stiffness=float("nan")), "s.stiffness"),
        (lambda: tt.Contact("c", radius=-1.0, stiffness=1.0), "c.radius: got -1.0"),
        (lambda: tt.Contact("c", radius=1.0, stiffness=0.0), "c.stiffness: got 0.0"),
        (lambda: tt.Contact("c", radius=1.0, stiffness=1.0, normal=[0, 0, 0]), "c.normal"),
        (lambda: tt.Contact("c", radius=1.0, stiffness=1.0, slip_velocity=0.0), "c.slip_velocity: got 0.0"),
        (lambda: tt.Contact("c", radius=1.0, stiffness=1.0, friction=-0.1), "c.friction: got -0.1"),
        (lambda: tt.Contact("c", radius=1.0, stiffness=1.0, dissipation=-0.1), "c.dissipation: got -0.1"),
    ],
)
def test_unusable_ones_are_refused_by_name(make: Any, said: str) -> None:
    s = tt.System("s")
    body = tt.RigidBody("b", mass=1.0)
    s.connect("world", body, tt.Prismatic("p", axis=[0, 0, 1]))
    s.close_loop("world", body, make())
    with pytest.raises(tt.ModelError, match=said):
        s.resolve(engine="reference")


class OfAnyTwo(tt.Interaction):
    """Pulls two ports together by a unit force, which has no direction where they meet."""

    def act(self, motion: Any) -> tuple[Any, Any]:
        force = np.append(motion.r[1] / np.sqrt(motion.r[1] @ motion.r[1]), np.zeros(3))
        return np.array([force, -force]), np.zeros(0)


def pulled(interaction: tt.Interaction, at: Any, engine: str = "reference") -> tt.Model:
    s = tt.System("pulled", gravity=[0, 0, 0])
    body = tt.RigidBody("b", mass=1.0, inertia=0.1, ports={"C": at})
    s.connect("world", body, tt.Prismatic("p", axis=[0, 0, 1]))
    s.add_interaction(interaction, "world", body.port("C"))
    return s.resolve(engine)


@pytest.mark.parametrize("engine", ["reference", "compiled"])
@pytest.mark.filterwarnings("ignore")
def test_who_returns_no_numbers_is_named(engine: str) -> None:
    beside = pulled(OfAnyTwo("pull"), [0, 0, 2], engine)
    assert beside.forward_dynamics([0.0], [0.0]) == pytest.approx([-1.0])
    with pytest.raises(tt.ModelError, match=r"or functions of pull return no finite numbers there \[not-finite\]"):
        beside.forward_dynamics([-2.0], [0.0])


def test_numbers_of_targets_are_two() -> None:
    class OfTwo(OfAnyTwo):
        port_counts: Any = 2

    said = r"OfTwo\.port_counts: got 2; expected the least and the largest number; write \(2, 2\)"
    with pytest.raises(tt.ModelError, match=said):
        pulled(OfTwo("pull"), [0, 0, 2])
    with pytest.raises(tt.ModelError, match=said):
        tt.check_block(OfTwo("pull"))


class Scale(Interaction):
    """A spring between two coordinates that tells its force, and twice its input."""

    port_counts, coordinate_counts = (0, 0), (2, 2)
    inputs, input_units = ("push",), ("N",)
    readings, reading_units = ("force", "doubled"), ("N", "N")

    def act(self, motion: Any) -> Any:
        force = self.read(motion)[0] + motion.u[0]
        return np.zeros((0, 6)), force * np.array([1.0, -1.0])

    def read(self, motion: Any) -> Any:
        stretch = motion.q[1] - motion.q[0]
        return np.array([3.0 * stretch + stretch**3, 2.0 * motion.u[0]])


def test_interactions_of_ones_own_measure() -> None:
    """What they measure is read by sensors and by linear models, with exact derivatives and feedthrough."""
    s = tt.System("scale", gravity=[0, 0, 0])
    for name in ("left", "right"):
        s.connect("world", tt.RigidBody(f"{name}_body", mass=1.0), tt.Prismatic(name))
    s.add_interaction(Scale("scale"), "left", "right")
    s.add_sensor(tt.DriveSensor("sensor", "scale.force"))
    m = s.resolve(engine="reference")
    assert m.outputs([0.1, 0.3], [0.0, 0.0], [0.0, 0.0], u=[1.0]) == pytest.approx([0.608], rel=1e-14)
    point = tt.OperatingPoint(m, [0.1, 0.3], tau=[-0.608, 0.608])
    system = tt.linearize(m, point, ["scale.push"], ["sensor", "scale.doubled"])
    np.testing.assert_allclose(system.C, [[-3.12, 3.12, 0, 0], [0, 0, 0, 0]], atol=1e-14)
    np.testing.assert_allclose(system.D, [[0.0], [2.0]], atol=1e-15)
