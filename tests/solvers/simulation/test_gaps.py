"""Gaps of a model as one function: those of both engines, rates, and what compiled code guards."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import titop as tt
from titop.blocks.basics.spatial import Array
from titop.solvers.kernels.ports.guards import RATE, VALUE
from titop.solvers.simulation.driven_model import DrivenModel
from titop.solvers.simulation.prescribed import PrescribedMotion


def switching() -> tt.System:
    """Two links with stops, a contact at the tip, and a rope to it: five gaps."""
    s = tt.System("links", gravity=[0, 0, -9.81])
    parent: Any = "world"
    for name, limits in (("a", tt.Limits(-1.0, 2.0, stiffness=1e3)), ("b", tt.Limits(upper=0.7, stiffness=1e3))):
        link = tt.RigidBody(f"link_{name}", 1.0, com=[0, 0, -0.5], inertia=0.1, ports={"end": [0, 0, -1.0]})
        s.connect(parent, link, tt.Revolute(name, axis=[0, 1, 0], limits=limits))
        parent = link.port("end")
    s.world.add_port("floor", [0, 0, -1.9])
    s.world.add_port("eye", [1.0, 0, 0])
    s.close_loop(s.world.port("floor"), parent, tt.Contact("touch", 0.05, 1e6, normal=[0.1, 0, 1]))
    s.add_interaction(tt.Cable("rope", 1e3, 1.5), s.world.port("eye"), parent)
    return s


def plant(model: tt.Model) -> DrivenModel:
    return DrivenModel(model, np.array([0.0, 1.0]), None, {}, PrescribedMotion(model, {}), None, None)


def tip(q: Array) -> Array:
    return -np.array([np.sin(q[0]) + np.sin(q[0] + q[1]), 0.0, np.cos(q[0]) + np.cos(q[0] + q[1])])


def expected(q: Array) -> Array:
    normal = np.array([0.1, 0, 1]) / np.hypot(0.1, 1.0)
    distance = normal @ (tip(q) - [0, 0, -1.9]) - 0.05
    return np.array([q[0] + 1.0, 2.0 - q[0], 0.7 - q[1], distance, np.linalg.norm(tip(q) - [1.0, 0, 0]) - 1.5])


@pytest.mark.parametrize("engine", ["compiled", "reference"])
def test_gaps_are_distances_from_stops_planes_and_tautness(engine: str) -> None:
    gaps, q, v = plant(switching().resolve(engine=engine)).gaps, np.array([0.3, -0.8]), np.array([0.7, 0.4])
    assert gaps.count == 5
    assert not gaps.follow_rates
    found = gaps.at(q, v)
    assert sorted(found) == pytest.approx(sorted(expected(q)), abs=1e-14)
    slopes = (expected(q + 1e-6 * v) - expected(q - 1e-6 * v)) / 2e-6
    assert sorted(gaps.rates(q, v, found, 1e-7)) == pytest.approx(sorted(slopes), abs=1e-6)  # differences to one side


def test_compiled_code_guards_the_same_gaps() -> None:
    driven, y = plant(switching().resolve()), np.array([0.3, -0.8, 0.7, 0.4])
    driven.clears(0.0, y, 1e-3)
    gaps = driven.gaps.at(y[:2], y[2:])
    np.testing.assert_allclose(driven.guards[:, VALUE], gaps, rtol=0, atol=1e-15)
    np.testing.assert_allclose(driven.guards[:, RATE], driven.gaps.rates(y[:2], y[2:], gaps, 1e-7), rtol=0, atol=1e-6)


def test_nothing_is_watched_where_nothing_switches() -> None:
    s = tt.System("plain")
    joint = tt.Revolute("hinge", friction=tt.Friction(0.1), limits=tt.Limits(-1.0, 1.0))  # limits that stop nothing
    s.connect("world", tt.RigidBody("body", 1.0, inertia=1.0), joint)
    s.add_interaction(tt.Cable("rope"), "world", s["body"])  # without a stiffness
    assert plant(s.resolve()).gaps.count == 0


def test_users_gaps_are_not_guarded_but_watched() -> None:
    """A joint that switches at a rate, and a body that does at a height, which it is told in inertial axes."""

    class Ratchet(tt.Revolute):
        def gaps(self, motion: tt.TargetMotion) -> Array:
            return np.array([motion.v[0] - 0.5])

    class Diver(tt.RigidBody):
        def gaps(self, motion: tt.TargetMotion) -> Array:
            return np.array([motion.r[1] @ [0, 0, 1.0] + motion.V[1, 3]])

    s = tt.System("own", gravity=[0, 0, 0])
    s.connect("world", Diver("diver", 1.0, inertia=1.0), Ratchet("turn", axis=[1, 0, 0]), tt.Pose([0, 0, 3.0]))
    driven = plant(s.resolve())
    assert driven.gaps.at(np.array([0.2]), np.array([0.7])).tolist() == pytest.approx([0.2, 3.7])
    assert driven.gaps.follow_rates
    assert not len(driven.guards)
