"""Gaps of a model as one function: those of both engines, rates, and what compiled code guards."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import titop as tt
from tests.solvers.simulation.soft_arms import L, hinged
from tests.solvers.simulation.switching_systems import PLACES, Teeth, landing, teeth_law
from titop.blocks.basics.spatial import Array
from titop.solvers.kernels.ports.guards import BEFORE, CLOSE, RATE, SIDE, VALUE
from titop.solvers.motions.prescribed import PrescribedMotion
from titop.solvers.simulation.driven_model import DrivenModel


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
    assert sorted(gaps.rows(q[None], v[None], 1e-7)[1][0]) == pytest.approx(sorted(slopes), abs=1e-6)  # differences to one side


def test_compiled_code_guards_the_same_gaps() -> None:
    driven, y = plant(switching().resolve()), np.array([0.3, -0.8, 0.7, 0.4])
    driven.gaps.stay_clear(1e-3, *driven.split(0.0, y))
    gaps = driven.gaps.at(y[:2], y[2:])
    np.testing.assert_allclose(driven.gaps.step_guards[:, VALUE], gaps, rtol=0, atol=1e-15)
    np.testing.assert_allclose(
        driven.gaps.step_guards[:, RATE], driven.gaps.rows(y[None, :2], y[None, 2:], 1e-7)[1][0], rtol=0, atol=1e-6
    )


def tendons() -> dict[str, tt.System]:
    """A rod, and a deformable body, each with tendons on two sides, of which one winds up on a drum."""
    rod = tt.Rod("rod", 0.3, tt.Section.circle(0.005), young=1e6, density=1000.0)
    arm = hinged()
    systems, body, ends = {"rod": tt.System("rod"), "soft": arm}, arm["body"], [[0.01, 0, 0], [0.01, 0.002, L]]
    systems["rod"].connect("world", rod, tt.Weld("clamp"))
    made = {
        "rod": lambda name, side, **how: tt.Tendon(name, rod, y=side * 0.004, z=0.001, **how),
        "soft": lambda name, side, **how: tt.SoftTendon(name, body, [[side * x, y, z] for x, y, z in ends], **how),
    }
    for kind, s in systems.items():
        s.connect("world", tt.RigidBody("drum", 1.0, inertia=0.1), tt.Revolute("motor"))
        s.add_interaction(made[kind]("near", 1.0, stiffness=100.0, displacement=0.01))
        s.add_interaction(made[kind]("far", -1.0, stiffness=50.0, dissipation=0.2, arms=[0.02]), "motor")
    return systems


@pytest.mark.parametrize("kind", ["rod", "soft"])
def test_compiled_code_guards_tendons(kind: str) -> None:
    """Stretch and its rate, against the blocks' own word and differences of it."""
    s, rng = tendons()[kind], np.random.default_rng(3)
    driven, of_blocks = plant(s.resolve()), plant(s.resolve(engine="reference")).gaps
    q, v = 0.3 * rng.normal(size=driven.model.nq), rng.normal(size=driven.model.nv)
    driven.gaps.stay_clear(1e-3, *driven.split(0.0, np.concatenate([q, v])))
    gaps, step = of_blocks.at(q, v), 1e-6
    assert gaps.shape == (2,)
    np.testing.assert_allclose(driven.gaps.step_guards[:, VALUE], gaps, rtol=0, atol=1e-15)  # rounding of lengths of 0.3 m
    slopes = (of_blocks.at(q + step * v, v) - of_blocks.at(q - step * v, v)) / (2 * step)
    np.testing.assert_allclose(driven.gaps.step_guards[:, RATE], slopes, rtol=1e-7, atol=1e-9)  # central differences
    np.testing.assert_array_equal(driven.gaps.at(q, v), driven.gaps.step_guards[:, VALUE])
    np.testing.assert_array_equal(driven.gaps.rows(q[None], v[None], math.nan)[1][0], driven.gaps.step_guards[:, RATE])


def in_python(self: Teeth, motion: tt.TargetMotion) -> Array:
    return Teeth.gaps(self, motion)


@pytest.mark.parametrize("kind", [Teeth, type("Spoken", (Teeth,), {"gaps": in_python})], ids=["compiled", "python"])
@pytest.mark.parametrize("engine", ["compiled", "reference"])
def test_interactions_have_as_many_gaps_as_they_say(kind: type[Teeth], engine: str) -> None:
    """Heights of points of a plank, and their rates, beside a contact of titop's own; all compiled, some, or none."""
    s, _ = landing(kind)
    s.close_loop("world", s["carriage"], tt.Contact("touch", 0.05, 1e6))
    (height, tilt), (sinking, w) = q, v = np.array([0.3, 0.4]), np.array([-0.7, 1.3])
    driven, places = plant(s.resolve(engine=engine)), np.array(PLACES)
    gaps, rates = driven.gaps.rows(np.array([0 * q, q]), np.array([0 * v, v]), 1e-7)
    expected = np.append(height - places * np.sin(tilt), height - 0.05)
    slopes = np.append(sinking - places * np.cos(tilt) * w, sinking)
    order = np.argsort(driven.gaps.owners, kind="stable")  # teeth before touch
    assert sorted(driven.gaps.owners) == ["teeth"] * 4 + ["touch"]
    np.testing.assert_allclose(gaps[:, order], [[0, 0, 0, 0, -0.05], expected], rtol=0, atol=1e-15)
    np.testing.assert_array_equal(driven.gaps.at(q, v), gaps[1])
    said = 5 if engine == "reference" else 4 * (kind is not Teeth)
    # exact where compiled, else differences to one side over 0.1 us: their curvature, and rounding
    np.testing.assert_allclose(rates[1, order], slopes, rtol=0, atol=1e-6 if said else 1e-14)
    assert len(driven.gaps.guards) == 5 - said
    assert driven.gaps.is_guarded is (said == 0)
    assert len(driven.gaps.step_guards) == 5 * (said == 0)


def test_gaps_of_one_interaction_are_guarded_one_by_one() -> None:
    """A plank sinks by 2 mm, between heights at which its third tooth is above the ground, and in it."""
    s, _ = landing()
    driven, tilt = plant(s.resolve()), 0.2
    rows, places = driven.gaps.step_guards, np.array(PLACES)
    for sunk, close in ((1e-3, [0.0, 0.0, 1.0, 0.0]), (-0.01, [0.0] * 4)):
        y = np.array([places[2] * np.sin(tilt) - sunk, tilt, 0.0, 0.0])
        heights = y[0] - places * np.sin(tilt)
        rows[:, SIDE], rows[:, VALUE], rows[:, RATE] = np.sign(heights + 2e-3), heights + 2e-3, 0.0
        assert driven.gaps.stay_clear(1e-3, *driven.split(0.0, y)) == (not any(close))
        assert rows[:, CLOSE].tolist() == close
        np.testing.assert_array_equal(rows[:, BEFORE], heights + 2e-3)
        np.testing.assert_allclose(rows[:, VALUE], heights, rtol=0, atol=1e-15)


def test_compiled_gaps_that_change_in_number_are_refused() -> None:
    def heights(numbers: Any, motion: Any) -> Any:
        return motion.r[1, 2] + motion.R[1, 2, 0] * numbers[1 : len(numbers) - (motion.r[1, 2].real > 0.2)]

    s, _ = landing(type("Fewer", (Teeth,), {"compiled_law": tt.Law(teeth_law, gaps=heights)}))
    with pytest.raises(tt.ModelError, match=r"teeth\.gaps: .*expected 4 numbers, as in the neutral configuration"):
        tt.simulate(s.resolve(), [0, 1], [0.3, 0.0], [0.0, 0.0])


def test_gaps_that_lose_imaginary_parts_go_through_python() -> None:
    def heights(numbers: Any, motion: Any) -> Any:
        return (motion.r[1, 2] + motion.R[1, 2, 0] * numbers[1:]).real

    s, _ = landing(type("Real", (Teeth,), {"compiled_law": tt.Law(teeth_law, gaps=heights)}))
    with pytest.warns(tt.ModelWarning, match="not-complex-safe"):
        driven = plant(s.resolve())
    assert not driven.gaps.is_guarded
    rates = driven.gaps.rows(np.array([[0.3, 0.0]]), np.array([[-1.0, 0.0]]), 1e-6)[1]
    assert rates[0].tolist() == pytest.approx([-1.0] * 4, abs=1e-9)  # rounding over 1 us


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
    assert not len(driven.gaps.step_guards)


def test_gaps_that_follow_rates_away_from_neutral_do_so() -> None:
    """Not at the neutral configuration: there the gap is zero at any rate."""

    class Governor(tt.Revolute):
        def gaps(self, motion: tt.TargetMotion) -> Array:
            return np.array([motion.v[0] * motion.q[0]])

    class Latch(tt.Revolute):
        def gaps(self, motion: tt.TargetMotion) -> Array:
            return np.array([np.sin(motion.q[0])])

    for joint, follows in ((Governor("turn"), True), (Latch("turn"), False)):
        s = tt.System("own")
        s.connect("world", tt.RigidBody("wheel", 1.0, inertia=1.0), joint)
        assert plant(s.resolve()).gaps.follow_rates is follows


def test_limits_with_gaps_of_their_own_say_them() -> None:
    """As joints do: beside the same limits of the class, which stop at their bounds."""

    class Padded(tt.CoordinateLimits):
        def gaps(self, motion: tt.TargetMotion) -> Array:
            return np.array([0.02 - motion.q[0] + 0.1 * motion.v[0]])

    for kind, expected in ((tt.CoordinateLimits, 0.01 - 0.003), (Padded, 0.02 - 0.003 + 0.1 * 0.5)):
        s = tt.System("bumper", gravity=[0, 0, 0])
        s.connect("world", tt.Beam("boom", 1.0, density=1.0, area=1.0, young=1e4, iy=1e-4, iz=1e-4), tt.Weld("clamp"))
        s.add_limits(kind("bumper", "boom.C_y", tt.Limits(upper=0.01, stiffness=1e3)))
        driven = plant(m := s.resolve())
        found = driven.gaps.at(m.configuration({"boom.C_y": 0.003}), m.velocity({"boom.C_y": 0.5}))
        assert found.tolist() == pytest.approx([expected], abs=1e-16)
        assert len(driven.gaps.step_guards) == (kind is tt.CoordinateLimits)
