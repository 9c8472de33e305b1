"""What interactions do along the coordinates: elastic ones give the slope of their energy, in either engine."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import titop as tt
from tests.refusals import ENGINES, refusal
from tests.systems import Array, random_tree
from tests.tolerances import ROUNDING
from titop.blocks.basics.differences import derivative
from titop.solvers.constraints import interaction_loads
from titop.solvers.constraints.interaction_loads import refuse_pushing


def elastic() -> tt.System:
    """Return a tree with interactions that store energy and dissipate none, without weight."""
    s = random_tree(np.random.default_rng(3), 6, kinds=["Revolute", "Prismatic", "Universal"], base="fixed")
    s.gravity = np.zeros(3)
    s.connect("world", tt.RigidBody("puck", mass=1.0), tt.Prismatic("slide"))
    s.close_loop(s["b1"].port("A"), s["b4"].port("B"), tt.SpringDamper("spring", stiffness=20.0, length=0.1))
    s.close_loop("world", s["b5"].port("A"), tt.CompliantClosure("rubber", stiffness=2.0))
    s.add_interaction(tt.Cable("cable", stiffness=40.0, length=0.1, arms=[0.2]), "world", s["b2"], "slide")
    return s


@pytest.mark.parametrize("engine", ENGINES)
def test_efforts_are_the_slope_of_the_energy(engine: str) -> None:
    """Differences of sixth order along each coordinate, which leave some 1e-10."""
    model = elastic().resolve(engine)
    q, nv = model.random_configuration(np.random.default_rng(0)), model.nv
    loops = model.mechanism.interactions
    found = sum(interaction_loads.interaction_efforts(model.mechanism, loop, q, np.zeros(nv)) for loop in loops)
    for k, axis in enumerate(np.eye(nv)):

        def stored(t: float, axis: Array = axis) -> Array:
            return np.array([model.energy(model.integrate(q, t * axis), np.zeros(nv)).total])

        slope = derivative(stored, 1e-2)
        assert found[k] == pytest.approx(-slope[0], abs=1e-7)
    assert np.abs(found).max() > 1.0


def test_both_ports_are_pushed_alike() -> None:
    """In inertial axes, forces and moments about one point add up to nothing, for every interaction between two ports."""
    model = elastic().resolve()
    q = model.random_configuration(np.random.default_rng(1))
    pushes = interaction_loads.interaction_pushes(model.mechanism, q, np.zeros(model.nv), {})
    total = np.zeros(6)
    for push in pushes[:4]:
        rotation, position = model.pose(push.port, q)
        force, torque = rotation @ push.wrench[:3], rotation @ push.wrench[3:]
        total += [*force, *(torque + np.cross(position, force))]
    np.testing.assert_allclose(total, np.zeros(6), atol=1e-12)
    assert max(np.abs(push.wrench).max() for push in pushes[:4]) > 0.1


def test_the_relative_pose_is_that_of_the_ports() -> None:
    model = elastic().resolve()
    q, loop = model.random_configuration(np.random.default_rng(2)), model.mechanism.interactions[0]
    rotation, position = interaction_loads.relative_pose(model.mechanism, loop, q)
    (first, p), (second, r) = (model.pose(str(port), q) for port in loop.ports)
    np.testing.assert_allclose(rotation, first.T @ second, **ROUNDING)
    np.testing.assert_allclose(position, first.T @ (r - p), **ROUNDING)


# Inputs that act one way only.


def finger(**fields: Any) -> tt.Model:
    """Return a rod with a motor at its base, a tendon and a chamber."""
    rod = tt.Rod("rod", 1.0, tt.Section.circle(0.01), young=1e8, density=1e3, strains={"bending_z": 0})
    s = tt.System("finger")
    s.connect("world", rod, tt.Revolute("base"))
    s.add_actuator(tt.Motor("motor", "base"))
    s.add_interaction(tt.Tendon("flexor", rod, y=0.008, **fields))
    s.add_interaction(tt.PressureChamber("chamber", rod, area=1e-5, y=-0.005))
    return s.resolve("reference")


MODEL = finger()


def test_motors_may_turn_back() -> None:
    assert MODEL.input_names == ("motor", "flexor.tension", "chamber.pressure")
    refuse_pushing(MODEL.mechanism, np.array([-3.0, 0.0, 2.0]))
    refuse_pushing(MODEL.mechanism, None)


def test_tendons_and_chambers_do_not() -> None:
    with refusal("one-sided", "flexor.tension: got -2 N; expected 0 N or more") as caught:
        refuse_pushing(MODEL.mechanism, np.array([0.0, -2.0, -1e5]))
    assert [finding.where for finding in caught.value.findings] == ["flexor.tension", "chamber.pressure"]
    refuse_pushing(finger(push=True).mechanism, np.array([0.0, -2.0, 0.0]))


def test_the_worst_time_is_told() -> None:
    u = np.zeros((3, 3))
    u[:, 1] = [5.0, -4.0, -1.0]
    with refusal("one-sided", "got -4 N at t = 0.5 s"):
        refuse_pushing(MODEL.mechanism, u, np.array([0.0, 0.5, 1.0]))


@pytest.mark.parametrize(("least", "refused"), [(-1e-10, False), (-1e-8, True)])
def test_rounding_is_no_push(least: float, refused: bool) -> None:
    u = np.array([[0.0, 1.0, 0.0], [0.0, least, 0.0]])
    if refused:
        with refusal("one-sided", "flexor.tension"):
            refuse_pushing(MODEL.mechanism, u)
    else:
        refuse_pushing(MODEL.mechanism, u)
