"""Derivatives by the parameters of every kind of block, users' included, against differences of the whole model."""

from __future__ import annotations

import runpy
from functools import cache
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
from numpy.typing import NDArray

import titop as tt
from tests.systems import random_pose
from titop.blocks.basics.spatial import rotation_exp, twist_transport
from titop.blocks.contract.block import Block

Array = NDArray[np.float64]
Segment = runpy.run_path(str(Path(__file__).parents[3] / "examples" / "custom_block.py"))["ConstantCurvatureSegment"]

#: Of the largest entry: the models' own differences below leave 1e-9 of it (eighth order, 1 % of the parameter).
ACCURACY = 1e-8
_STENCIL = ((1, 4 / 5), (2, -1 / 5), (3, 4 / 105), (4, -1 / 280))


class Telescope(tt.Block):
    """The telescope of the page on blocks of your own, with parameters."""

    coordinates, ports = ("extension",), ("C",)
    parameter_units: ClassVar = {"length": "m", "mass": "kg", "stiffness": "N/m"}

    def __init__(self, name: str, length: float = 1.0, mass: float = 3.0, stiffness: float = 40.0) -> None:
        super().__init__(name)
        self.length, self.mass, self.stiffness = length, mass, stiffness

    def pose(self, port: str, q: Array) -> tuple[Array, Array]:
        return np.eye(3) + 0 * q[0], np.array([0 * q[0], 0 * q[0], self.length + q[0]])

    def mass_matrix(self, q: Array) -> Array:
        motion = np.column_stack([twist_transport(*self.pose("C", q)), [0, 0, 1, 0, 0, 0]])
        return self.mass * motion.T @ np.diag([1, 1, 1, 0.01, 0.01, 0.01]) @ motion

    def elastic_energy(self, q: Array) -> Any:
        return 0.5 * self.stiffness * q[0] ** 2


class Rigid(Telescope):
    """Loses the imaginary parts of its mass, and computes what it needs when it is built."""

    def __init__(self, name: str, length: float = 1.0, mass: float = 3.0, stiffness: float = 40.0) -> None:
        super().__init__(name, length, mass, stiffness)
        self.half = 0.5 * stiffness

    def mass_matrix(self, q: Array) -> Array:
        return np.real(self.mass) / self.mass * super().mass_matrix(q)

    def elastic_energy(self, q: Array) -> Any:
        return self.half * q[0] ** 2

    def with_parameters(self, values: dict[str, float]) -> tt.Block:
        fields = {"length": self.length, "mass": self.mass, "stiffness": self.stiffness} | values
        return type(self)(self.name, **fields)


class Helix(tt.Joint):
    """A joint by its pose alone, with a parameter beside those of all joints."""

    coordinates, units = ("turn",), ("rad",)

    def __init__(self, name: str, lead: float, **passive: Any) -> None:
        super().__init__(name, **passive)
        self.lead = np.array([lead])

    def pose(self, port: str, q: Array) -> tuple[Array, Array]:
        z = np.array([0.0, 0.0, 1.0])
        return rotation_exp(q[0] * z), self.lead[0] * (q[0] + 0.1 * q[0] ** 2) * z

    def parameter_fields(self) -> Any:
        return {"lead": ("lead", (0,), "m/rad")} | super().parameter_fields()


def panel() -> tt.FlexibleBody:
    shapes = np.random.default_rng(5).uniform(-0.5, 0.5, (6, 2))
    participation = np.array([[0.5, 0.3, 0.1, 0.1, 0.0, 0.2], [0.0, 0.4, 0.2, 0.0, 0.1, 0.1]])
    ports = {"C": [1.0, 0.2, 0.0]}
    return tt.FlexibleBody("panel", 2.0, [0.5, 0, 0.1], [0.5, 0.6, 0.7], [3.0, 5.0], participation, ports, {"C": shapes}, 0.02)


def tree() -> tt.System:
    """Return every kind of body in one tree, on a few joints."""
    rng = np.random.default_rng(0)
    s = tt.System("tree", gravity=[1.0, 2.0, -9.81])
    hub = tt.RigidBody("hub", 4.0, [0.1, 0.0, -0.1], [0.5, 0.6, 0.7], ports={"A": [0, 0.4, 0], "B": [0, -0.4, 0.1]})
    s.connect("world", hub, tt.Spherical("ball", stiffness=3.0, damping=0.1))
    s.connect(hub.port("A"), panel(), tt.Revolute("root", [1, 2, 3], stiffness=2.0), random_pose(rng))
    s.connect(
        s["panel"].port("C"),
        Segment("segment", 0.8, 0.15, 40.0, 3.0, 0.2),
        Helix("helix", 0.3, stiffness=4.0, rest=0.2, armature=0.3),
    )
    s.connect(s["segment"].port("C"), Telescope("tube"), tt.Weld("splice"))
    s.connect(s["tube"].port("C"), Rigid("rigid"), tt.Universal("elbow", armature=0.1))
    s.connect(
        s["rigid"].port("C"), tt.RigidBody("tip", 0.5, [0, 0, 0.1], 0.02), tt.Prismatic("slide", friction=tt.Friction(0.2))
    )
    beam = tt.Beam("beam", 1.5, 40.0, 1e-2, 1e6, 1e-5, 2e-5, modes=0, torsion_modes=0, damping_ratio=0.01)
    s.connect(hub.port("B"), beam, tt.Weld("glue"))
    s.add_actuator(tt.Motor("motor", "helix", gear=3.0, rotor_inertia=0.02))
    s.add_actuator(tt.Thruster("jet", hub.port("A"), direction=[1, 2, 3]))
    s.add_load(tt.Load("push", s["tube"].port("C"), force=[1, 2, 3], torque=[3, 2, 1], frame="world"))
    s.close_loop(hub.port("B"), s["tip"], tt.CompliantClosure("bungee", stiffness=2.0, damping=0.3))
    return s


@cache
def model() -> tt.Model:
    return tree().resolve()


INPUTS = {"motor": 0.7, "jet": 1.3}


@cache
def state() -> tuple[Array, Array, Array, Array]:
    """Return a state near the neutral one, where all deform."""
    rng = np.random.default_rng(2)
    moved, v, a, tau = 0.3 * rng.normal(size=(4, model().nv))
    return model().integrate(model().neutral(), moved), v, a, tau


NAMES = [
    *("gravity.y", "hub.mass", "hub.com.x", "hub.inertia.xy", "hub.A.position.x", "hub.A.rotation.y"),
    *("panel.mass", "panel.com.x", "panel.inertia.zz", "panel.mode1.frequency", "panel.mode2.damping", "panel.C.position.y"),
    *("panel.mode1.participation.y", "panel.C.mode1.y"),
    *("segment.length", "segment.radius", "segment.density", "segment.stiffness", "segment.damping"),
    *("tube.length", "tube.mass", "tube.stiffness", "rigid.length", "rigid.mass", "rigid.stiffness"),
    *("beam.length", "beam.young", "beam.density", "beam.damping_ratio", "root.axis.x", "root.placement.rotation.x"),
    *("helix.lead", "helix.stiffness", "helix.rest", "helix.armature", "ball.stiffness.rx.ry", "elbow.axis2.x"),
    *("elbow.armature.first", "slide.friction.coulomb", "motor.gear", "motor.rotor_inertia", "jet.direction.x"),
    *("push.force.x", "bungee.stiffness.x.x", "bungee.damping.y.y"),
]


def differences(name: str) -> tuple[Array, Array]:
    """Return the derivatives of inverse and forward dynamics by a parameter, from models with other values."""
    q, v, a, tau = state()
    value = model().parameters()[name][0]
    step = 0.01 * (abs(value) or 1.0)
    inverse, forward = np.zeros((2, model().nv))
    for k, weight in _STENCIL:
        for sign in (1, -1):
            changed = model().with_parameters({name: value + sign * k * step})
            inverse += sign * weight / step * changed.inverse_dynamics(q, v, a, u=INPUTS)
            forward += sign * weight / step * changed.forward_dynamics(q, v, tau, u=INPUTS)
    return inverse, forward


def disagreement(found: Array, expected: Array) -> float:
    return float(np.abs(found - expected).max() / np.abs(expected).max())


def test_every_kind_of_block_has_its_parameters_here() -> None:
    kinds = {type(block) for block in model().mechanism.assembly.blocks.values() if block.parameters()}
    assert {type(model().mechanism.assembly.blocks[name.partition(".")[0]]) for name in NAMES[1:]} == kinds


@pytest.mark.parametrize("name", NAMES)
def test_parameters_against_differences_of_the_model(name: str) -> None:
    q, v, a, tau = state()
    inverse, forward = differences(name)
    assert np.abs(inverse).max() > 1e-6
    found = model().inverse_dynamics_sensitivities(q, v, a, [name], u=INPUTS)[name]
    assert disagreement(found, inverse) < ACCURACY
    found = model().forward_dynamics_sensitivities(q, v, tau, [name], u=INPUTS)[name]
    assert disagreement(found, forward) < ACCURACY


@pytest.mark.parametrize("name", ["segment.length", "tube.mass", "helix.lead"])
def test_complex_steps_inside_complex_steps_are_noticed(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """As it was: a parameter's imaginary part beside a coordinate's."""
    q, v, a, _ = state()
    monkeypatch.setattr(Block, "take_real_steps", lambda self, steps: None)
    found = model().inverse_dynamics_sensitivities(q, v, a, [name], u=INPUTS)[name]
    assert disagreement(found, differences(name)[0]) > 100 * ACCURACY


def test_the_stiffness_of_the_example() -> None:
    """A bend of 0.2 alone: the effort that holds it grows by 0.2 a unit of stiffness."""
    s = tt.System("segment")
    s.connect("world", Segment("segment", stiffness=3.0), tt.Weld("clamp"))
    found = s.resolve().inverse_dynamics_sensitivities([0.2], [0.0], [0.0], ["segment.stiffness"])["segment.stiffness"]
    assert found[0] == pytest.approx(0.2, rel=1e-11)


def test_the_mass_of_a_deformed_flexible_body() -> None:
    """Closed form: one mode along x, moved by gravity; the mass enters the inertia alone, not the generalised force."""
    body = tt.FlexibleBody("panel", 2.0, [0.5, 0, 0], 0.5, [3.0], np.array([[0, 0.5, 0, 0, 0, 0]]))
    s = tt.System("panel", gravity=[0, -9.81, 0])
    s.connect("world", body, tt.Revolute("hinge", axis=[0, 0, 1]))
    found = s.resolve().inverse_dynamics_sensitivities([0.0, 0.3], [0.0, 0.0], [1.0, 0.0], ["panel.mass"])["panel.mass"]
    # the torque about z is (J_c + m |c + d|^2) a + m c g, with d = L eta / m across c
    m, c, moved = 2.0, 0.5, 0.5 * 0.3
    assert found[0] == pytest.approx(c**2 - moved**2 / m**2 + 9.81 * c, rel=1e-12)


@pytest.mark.filterwarnings("ignore::titop.ModelWarning")
def test_a_parameter_of_value_zero_in_any_unit() -> None:
    """An offset that is zero, of a block that loses imaginary parts, in metres and in micrometres."""

    class Offset(Telescope):
        parameter_units: ClassVar = {"offset": "m"}
        offset = 0.0

        def elastic_energy(self, q: Array) -> Any:
            return (
                0.5 * self.stiffness * (q[0] - np.real(self.offset)) ** 2 * np.cos((q[0] - np.real(self.offset)) / self.length)
            )

    for size in (1e-6, 1.0, 1e6):
        s = tt.System("offset", gravity=[0, 0, 0])
        s.connect("world", Offset("tube", length=size, mass=1.0, stiffness=1.0), tt.Weld("clamp"))
        found = s.resolve().inverse_dynamics_sensitivities([0.3 * size], [0.0], [0.0], ["tube.offset"])["tube.offset"][0]
        x = 0.3
        # minus the second derivative of x^2 cos(x) / 2
        assert found == pytest.approx(-(np.cos(x) - 2 * x * np.sin(x) - 0.5 * x * x * np.cos(x)), rel=1e-8)
