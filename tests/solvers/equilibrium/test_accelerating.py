"""Equilibria that accelerate: the same as at rest in a frame in which gravity takes the place of the acceleration."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.linalg import expm

import titop as tt
from tests.refusals import LONG_BY_REFERENCE, refusal

THRUST, DRY, BOB = 30.0, 20.0, 3.0
#: A few operations of rounding on numbers of size one to ten.
ROUNDING = 1e-13


def stage(gravity: float = 0.0, spherical: bool = False, engine: str = "compiled") -> Any:
    """A stage under thrust along z, with a pendulum for its liquid."""
    s = tt.System("stage", gravity=[0.0, 0.0, gravity])
    body = tt.RigidBody("stage", DRY, com=[0, 0, 0.2], inertia=[5.0, 5.0, 2.0], ports={"E": [0, 0, -1], "P": [0, 0, 0.7]})
    s.connect("world", body, tt.Free("base"))
    joint = tt.Spherical("slosh", damping=0.05) if spherical else tt.Universal("slosh", damping=0.05)
    s.connect(body.port("P"), tt.RigidBody("bob", BOB, com=[0, 0, -0.5], inertia=[0.02, 0.02, 0.03]), joint)
    s.add_load(tt.Load("thrust", body.port("E"), force=[0.0, 0.0, THRUST]))
    return s.resolve(engine=engine)


@pytest.mark.parametrize("spin", [0.0, 0.8])
@pytest.mark.parametrize("engine", LONG_BY_REFERENCE)
def test_gravity_in_the_place_of_acceleration(spin: float, engine: str) -> None:
    spherical = spin != 0.0  # two axes in a row are no symmetric joint
    model = stage(spherical=spherical, engine=engine)
    point = tt.trim(model, v={"base.rz": spin}, accelerating=["base"])
    acceleration = THRUST / (DRY + BOB)
    assert point.a == pytest.approx(np.eye(model.nv)[2] * acceleration, abs=ROUNDING)
    assert "base.z.a = 1.30435 m/s^2" in str(point)
    assert point.values_by_name()["a"]["base.z"] == pytest.approx(acceleration, abs=ROUNDING)
    weighed = stage(-acceleration, spherical, engine)
    beside = tt.OperatingPoint(weighed, weighed.neutral(), point.v)
    about, right = (tt.linearize(m, p, ["base"], ["slosh.q"]) for m, p in ((model, point), (weighed, beside)))
    for name in "ABCD":
        assert getattr(about, name) == pytest.approx(getattr(right, name), abs=ROUNDING)
    assert tt.linear_matrices(model, point)[0] == pytest.approx(tt.linear_matrices(weighed, beside)[0], abs=ROUNDING)
    still = tt.OperatingPoint(model, point.q, point.v)  # the negative control: without the reference's acceleration
    assert np.abs(tt.linear_matrices(model, still)[0] - right.A).max() > 1.0


@pytest.mark.parametrize("speed", [0.0, 5.0])
def test_simulated_deviations(speed: float) -> None:
    """Deviations from the accelerating reference after 2 s are those of the linear model, but for their squares."""
    model = stage()
    trimmed = tt.trim(model, accelerating="base")
    point = tt.OperatingPoint(model, trimmed.q, np.eye(8)[2] * speed, a=trimmed.a)
    A, rng = tt.linear_matrices(model, point)[0], np.random.default_rng(0)
    dq, dv = 1e-5 * rng.normal(size=(2, 8))
    end = tt.simulate(model, [0.0, 2.0], model.integrate(point.q, dq), point.v + dv, rtol=1e-11, atol=1e-14)
    right = expm(2.0 * A) @ np.concatenate([dq, dv])
    assert point.deviation(end.q[-1], end.v[-1], t=2.0) == pytest.approx(right, abs=1e-4 * np.abs(right).max())


def test_families_and_varied_accelerations() -> None:
    model = stage()
    masses = [2.0, 3.0, 4.0]
    point = tt.trim(model, accelerating="base")
    family = tt.lpv(model, {"bob.mass": masses}, inputs=["base"], outputs=["base.z.a"], unknowns=["slosh", "base.z.a"])
    linear = tt.lft(model, point, {"bob.mass": tt.percent(34)}, ["base"], ["slosh.q"], reduce=False)
    assert linear.check() < ROUNDING * 1e2
    for mass in masses:
        weighed = stage(-THRUST / (DRY + mass)).with_parameters({"bob.mass": mass})
        right = tt.linearize(weighed, weighed.neutral()).A
        assert np.abs(family.at(bob_mass=mass).A - right).max() < ROUNDING
        held = stage(-point.a[2]).with_parameters({"bob.mass": mass})  # a member of the LFT keeps the point's acceleration
        right = tt.linearize(held, tt.trim(held, ["base.z.tau"])).A
        assert np.abs(linear.at({"bob.mass": mass}).A - right).max() < ROUNDING
    assert family.y[:, 0] == pytest.approx([THRUST / (DRY + mass) for mass in masses], abs=ROUNDING)
    between = family.trim_at(bob_mass=2.5, model=model)
    assert between.a[2] == pytest.approx(THRUST / (DRY + 2.5), abs=ROUNDING)
    along = tt.trim_along(model, "base.z.a", [0.0, 1.0, 2.0], unknowns=["slosh", "thrust.force.z"])
    forces = [each.parameters["thrust.force.z"] for each in along]
    assert forces == pytest.approx([0.0, DRY + BOB, 2 * (DRY + BOB)], abs=ROUNDING * 1e2)


def test_what_depends_on_how_far_and_fast_it_has_come() -> None:
    s = tt.System("sled")
    sled = tt.RigidBody("sled", 2.0)
    s.connect("world", sled, tt.Prismatic("rail", axis=[1, 0, 0], damping=0.1))
    s.add_load(tt.Load("push", sled, force=[3.0, 0, 0]))
    model = s.resolve()
    with pytest.raises(tt.ConvergenceError, match=r"not while the system moves \(rail\)"):
        tt.trim(model, accelerating="rail")
    assert tt.trim(model.with_parameters({"rail.damping": 0.0}), accelerating="rail").a == pytest.approx([1.5], abs=ROUNDING)
    with pytest.raises(tt.ModelError, match="accelerating: got rale"):
        tt.trim(model, accelerating="rale")
    tilted = stage().with_parameters({"thrust.force.x": 1.0})
    turning = ["slosh", "base.rx.a", "base.ry.a", "base.rz.a"]
    with pytest.raises(tt.ConvergenceError, match="not while the system moves"):
        tt.trim(tilted, turning, accelerating="base")
    with pytest.raises(tt.ConvergenceError, match="an acceleration of base"):
        tt.trim(tilted, accelerating="base")


def test_wheels_that_spin_up() -> None:
    rotor = tt.RigidBody("rotor", 2.0, inertia=[1.0, 1.0, 2.0])
    s = tt.System("wheel")
    s.connect("world", rotor, tt.Revolute("axle", axis=[0, 0, 1]))
    point = tt.trim(s.resolve(), accelerating="axle", tau={"axle": 4.0})
    assert point.a == pytest.approx([2.0], abs=ROUNDING)
    assert np.abs(tt.linearize(point.model, point).A - [[0.0, 1.0], [0.0, 0.0]]).max() < ROUNDING
    s = tt.System("hub")
    hub = tt.RigidBody("hub", 2.0, inertia=[1.0, 1.0, 2.0])
    s.connect("world", hub, tt.Spherical("ball", stiffness=3.0))
    s.connect(hub, tt.RigidBody("rotor", 2.0, inertia=[1.0, 1.0, 2.0]), tt.Revolute("axle", axis=[0, 0, 1]))
    model = s.resolve()
    point = tt.trim(model, ["axle.a", "ball"], tau={"axle": 0.4})
    with pytest.warns(tt.ModelWarning, match="time-varying"):  # gyroscopic efforts grow
        tt.linearize(model, point)


def test_closed_loops_that_accelerate() -> None:
    """Two sleds on parallel rails, joined by a closure, accelerate together."""
    s = tt.System("sleds")
    sleds = [tt.RigidBody(name, mass, ports={"E": [0.0, 0.0, 0.0]}) for name, mass in (("left", 1.0), ("right", 2.0))]
    for sled in sleds:
        s.connect("world", sled, tt.Prismatic(f"rail_{sled.name}", axis=[1, 0, 0]))
    directions = np.eye(6)[:, :1]
    s.close_loop(sleds[0].port("E"), sleds[1].port("E"), tt.RigidClosure("bar", directions=directions))
    s.add_load(tt.Load("push", sleds[0], force=[6.0, 0, 0]))
    point = tt.trim(s.resolve(), accelerating=["rail_left", "rail_right"])
    assert point.a == pytest.approx([2.0, 2.0], abs=ROUNDING)
    assert np.abs(tt.linearize(point.model, point).A - [[0.0, 1.0], [0.0, 0.0]]).max() < ROUNDING


def test_names_of_accelerations() -> None:
    model = stage()
    with refusal("unknown-coordinate", "nothing"):
        tt.trim(model, accelerating="nothing")
    with refusal("wrong-type", "accelerating"):
        tt.trim(model, accelerating=3)  # type: ignore[arg-type]
    explicit = tt.trim(model, ["slosh", "base.z.a"], bounds={"base.z.a": (0.0, 2.0)})
    assert explicit.a == pytest.approx(tt.trim(model, accelerating="base.z").a, abs=ROUNDING)
    with pytest.raises(tt.ConvergenceError, match=r"base\.z\.a at a bound"):
        tt.trim(model, ["slosh", "base.z.a"], bounds={"base.z.a": (0.0, 1.0)})
    with refusal("accelerating-point", "gravity.z"):
        tt.block_system(model, explicit, "bob")


def test_families_and_paths_of_closed_loops_that_accelerate() -> None:
    """A pendulum on two sleds, joined by a closure, hangs along the force of inertia and weight."""
    s = tt.System("sleds", gravity=[0, 0, -9.81])
    sleds = [tt.RigidBody(name, mass, ports={"E": [0.0, 0.0, 0.0]}) for name, mass in (("left", 1.0), ("right", 2.0))]
    for sled in sleds:
        s.connect("world", sled, tt.Prismatic(f"rail_{sled.name}", axis=[1, 0, 0]))
    bob = tt.RigidBody("bob", 2.0, com=[0, 0, -1.0], inertia=0.01)
    s.connect(sleds[0].port("E"), bob, tt.Revolute("swing", axis=[0, 1, 0]))
    s.close_loop(sleds[0].port("E"), sleds[1].port("E"), tt.RigidClosure("bar", directions=np.eye(6)[:, :1]))
    s.add_load(tt.Load("push", sleds[0], force=[6.0, 0, 0]))
    m, sought = s.resolve(), ["rail_left.a", "rail_right.a", "swing"]
    path = tt.equilibrium_path(m, {"push.force.x": (6.0, 90.0)}, sought, within=(-0.1, 1.0))
    family = tt.lpv(m, {"push.force.x": [6.0, 90.0]}, unknowns=sought, inputs=["rail_left"])
    along = tt.trim_along(m, "push.force.x", [6.0, 90.0], sought, steps=3)
    for point in (*path.points, *along, family.trim_at(push_force_x=41.0, model=m)):
        force = point.parameters["push.force.x"]
        assert point.a == pytest.approx([force / 5, force / 5, 0.0], rel=1e-9, abs=1e-9)  # tolerance of the search
        assert point.q[2] == pytest.approx(np.arctan(force / 5 / 9.81), rel=1e-7)  # to 1e-9 of all forces
    assert point.parameters["push.force.x"] == 41.0
