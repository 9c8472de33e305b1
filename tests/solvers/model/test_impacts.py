"""Impacts, against closed forms and the tree in which the bodies are welded."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import titop as tt
from tests.docking_systems import ENGINES, arm, docked, joined, pair

pytestmark = pytest.mark.portable


@pytest.mark.parametrize("engine", ENGINES)
def test_ballistic_pendulum(engine: str) -> None:
    """A ball hits a rod on a pivot: ``w = m u l / (I + m l^2)``, lost ``m u^2 I / 2 (I + m l^2)``."""
    m, u, length, inertia = 0.3, 7.0, 1.5, 2.0
    s = tt.System("pendulum", gravity=[0, -9.81, 0])
    rod = tt.RigidBody("rod", mass=1.0, com=[0, -0.5, 0], inertia=[1.0, 1.0, inertia - 0.25], ports={"end": [0, -length, 0]})
    ball = tt.RigidBody("ball", mass=m, inertia=[0.01, 0.01, 0.01])
    s.connect("world", rod, joint=tt.Revolute("pivot"))
    s.connect("world", ball, joint=tt.Planar("flight"))
    s.close_loop(rod.port("end"), ball, tt.RigidClosure("stuck", kind="planar_revolute"))
    model = s.resolve(engine=engine)
    q, v = model.configuration({"flight": [0, -length, 0]}), model.velocity({"flight": [u, 0, 0]})
    found = model.impact(q, v, "stuck")
    whole = inertia + m * length**2
    w = m * u * length / whole
    # rounding of a system of four coordinates
    assert found.v == pytest.approx([w, w * length, 0, 0], abs=1e-13)
    assert found.lost == pytest.approx(0.5 * m * u**2 * inertia / whole, rel=1e-13)
    assert found.impulse["stuck"] == pytest.approx([m * (w * length - u), 0, 0, 0, 0, 0], abs=1e-13)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("seed", range(3))
def test_docking_is_that_of_the_welded_tree(engine: str, seed: int) -> None:
    """Momentum is kept; the velocities are those of one body with that momentum, and its energy is what is not lost."""
    rng, free, welded = np.random.default_rng(seed), pair(engine), joined(engine)
    at, v = welded.random_configuration(rng), rng.normal(size=12)
    q = docked(welded, at)
    found, before = free.impact(q, v, "dock"), free.momentum(q, v)
    # rounding, of momenta of about ten
    assert free.momentum(q, found.v) == pytest.approx(before, abs=1e-12)
    alike = np.linalg.solve(welded.momentum_matrix(at), before)
    assert found.v[:6] == pytest.approx(alike, abs=1e-12)
    assert found.lost == pytest.approx(free.energy(q, v).kinetic - welded.energy(at, alike).kinetic, rel=1e-12)
    assert found.lost > 0
    v[11] += 0.1  # the control
    assert free.impact(q, v, "dock").v != pytest.approx(found.v, abs=1e-3)


@pytest.mark.parametrize("engine", ENGINES)
def test_a_locked_joint_makes_one_link_of_two(engine: str) -> None:
    """The angular momentum about the pivot is kept, by hand; the impulse is what changes that of the lower link."""
    model, q, v = arm(engine), np.array([0.3, 0.8]), np.array([0.4, -2.0])
    found = model.impact(q, v, ["elbow"])
    mass = model.mass_matrix(q)
    w = (mass[0] @ v) / mass[0, 0]
    assert found.v == pytest.approx([w, 0], abs=1e-14)
    assert found.v[1] == 0
    assert found.impulse["elbow"] == pytest.approx([mass[1] @ (found.v - v)], rel=1e-13)
    assert found.lost == pytest.approx(0.5 * v @ mass @ v - 0.5 * mass[0, 0] * w**2, rel=1e-13)


def test_several_at_once_and_redundant_closures() -> None:
    """Two welds beside each other transmit what one does, together; where another stays open, nothing happens there."""
    free = pair()
    s, (first, second) = tt.System("twice", gravity=[0, 0, 0]), _of(free)
    s.connect("world", first, joint=tt.Free("fa"))
    s.connect("world", second, joint=tt.Free("fb"))
    for name in ("one", "two"):
        s.close_loop(first.port("D"), second.port("D"), tt.RigidClosure(name, redundant=True))
    twice, q = s.resolve(), docked(joined(), joined().neutral())
    v = np.random.default_rng(0).normal(size=12)
    once, both = free.impact(q, v, "dock"), twice.impact(q, v, ["one", "two"])
    assert both.v == pytest.approx(once.v, abs=1e-13)
    assert both.impulse["one"] + both.impulse["two"] == pytest.approx(once.impulse["dock"], abs=1e-12)
    alone = twice.impact(q, v, "one", open=["two"])
    assert alone.v == pytest.approx(once.v, abs=1e-13)
    assert list(alone.impulse) == ["one"]
    assert twice.impact(q, v, "one", open="two").v.tolist() == alone.v.tolist()
    with pytest.raises(tt.ModelError, match="velocity that keeps the loops closed"):
        twice.impact(q, v, "one")


def _of(model: tt.Model) -> tuple[Any, ...]:
    return tuple(model.mechanism.assembly.blocks[name] for name in ("a", "b"))


def test_massless_followers() -> None:
    """A gear with a coordinate without inertia of its own: a wheel turns another, which is locked."""
    s = tt.System("gear")
    s.connect("world", tt.RigidBody("wheel", mass=1.0, inertia=[1, 1, 2.0]), tt.Revolute("drive"))
    s.connect("world", tt.RigidBody("pointer", mass=0.0), tt.Revolute("hand"))
    s.add_gear(tt.Gear("pair", "drive", "hand", ratio=3.0))
    found = s.resolve().impact([0, 0], [1.0, 3.0], "hand")
    assert found.v.tolist() == [0.0, 0.0]
    assert found.lost == pytest.approx(1.0, rel=1e-14)
    assert found.impulse["hand"] == pytest.approx([-2.0 / 3.0], rel=1e-14)


def test_refusals() -> None:
    free, welded = pair(), joined()
    q = docked(welded, welded.neutral())
    q[8] += 0.25
    q[10:] = [0, 0, np.sin(0.1), np.cos(0.1)]
    cases: list[tuple[Any, Any, str]] = [
        ("dock", (), r"dock: got ports .* m and 0.2 rad apart"),
        ("dok", (), "unknown"),
        ("fa", ["dok"], "open: got dok; expected rigid closures that do not close; closures: dock"),
        ("dock", ["dock"], "open: got dock"),
        (3, (), "a list of names"),
    ]
    for closure, others, message in cases:
        with pytest.raises(tt.ModelError, match=message):
            free.impact(q, np.zeros(12), closure, open=others)
    with pytest.raises(tt.ModelError, match="shape"):
        free.impact(q, np.zeros(3), "dock")
