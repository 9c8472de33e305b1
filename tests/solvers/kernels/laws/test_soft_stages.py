"""The compiled law of deformable bodies against the reference engine, whose derivatives are complex steps through programs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import titop as tt
from tests.systems import random_body, random_pose
from tests.tolerances import ROUNDING_OF_MANY

Array = NDArray[Any]

LENGTH = 0.3
SIDE = ((0.1, 0.0, 0.1), (0.1, 0.0, 0.2), (0.1, 0.1, 0.1))


def bulge(x: Any, q: Any, numbers: Any) -> list[Any]:
    """Return a map without any symmetry: bending, shear that grows, and a section that swells."""
    angle = q[0] * x[2] / numbers.length
    wide = 1.0 + q[1] * np.sin(x[2] / numbers.length) * x[2]
    return [
        x[2] * angle * tt.Kinematics.cosc(angle) + wide * x[0] * np.cos(angle),
        wide * x[1] + q[2] * x[2] ** 2,
        x[2] * tt.Kinematics.sinc(angle) - wide * x[0] * np.sin(angle) + q[1] * q[2] * x[2] * x[1],
    ]


def turned(q: Any) -> Any:
    """Return the frame of a port that turns by a coordinate."""
    c, s = np.cos(q[0]), np.sin(q[0])
    return [[c, -s, 0], [s, c, 0], [0, 0, 1]], [0.1 * s, q[2], 0.2 + q[1] ** 2]


def soft(name: str) -> tt.SoftBody:
    domain = tt.Domain.cylinder(0.1, LENGTH, along=3, around=4, outwards=1)
    return tt.SoftBody(
        name,
        bulge,
        domain,
        lambda x: 500.0 + 200.0 * x[0],
        tt.Material.neo_hookean(1e4, 0.3, 20.0),
        coordinates=("bending", "swelling", "shear"),
        scales=(0.5, 0.3, 0.5),
        ports={
            "tip": [0, 0, LENGTH],
            "side": [[0.1, 0, 0.1], [0.1, 0, 0.2], [0.1, 0.1, 0.1]],
            "turned": turned,
            "free": turned,
        },
        parameters={"length": (LENGTH, "m")},
        energy=lambda q: 3.0 * q[0] ** 2 + q[0] * q[1] ** 2,
        dissipation=lambda q, v: (1.0 + q[1] ** 2) * v[2] ** 2,
    )


def mixed(seed: int = 0) -> tt.System:
    """Return a free base, two deformable bodies with branches at three ports each, and a rod; the fourth port is not in use."""
    rng = np.random.default_rng(seed)
    s = tt.System("mixed", gravity=[1.0, -2.0, -9.0])
    base = random_body(rng, "base")
    s.connect("world", base, tt.Free("float"))
    parent: Any = base.port("A")
    for k in range(2):
        body = soft(f"soft{k}")
        s.connect(parent, body, tt.Revolute(f"root{k}", axis=rng.normal(size=3)), placement=random_pose(rng))
        s.connect(body.port("side"), random_body(rng, f"leaf{k}"), tt.Weld(f"glue{k}"), placement=random_pose(rng))
        s.connect(body.port("turned"), random_body(rng, f"twig{k}"), tt.Spherical(f"ball{k}"), placement=random_pose(rng))
        parent = body.port("tip")
    s.connect(parent, tt.Rod("rod", 0.5, tt.Section.circle(0.02), 1e6, 900.0, basis=1), tt.Weld("clamp"))
    return s


@pytest.fixture(scope="module")
def models() -> tuple[tt.Model, tt.Model]:
    return mixed().resolve(), mixed().resolve(engine="reference")


def state(m: tt.Model, seed: int) -> tuple[Array, Array, Array]:
    rng = np.random.default_rng(seed)
    return m.integrate(m.neutral(), 0.4 * rng.normal(size=m.nv)), *rng.normal(size=(2, m.nv))


def geared() -> tt.System:
    """Return a body between two links, with a gear over it, a spring that closes the chain, and a tendon."""
    s, body = tt.System("geared", gravity=[1.0, -2.0, -9.0]), soft("soft")
    links = [tt.RigidBody(f"link{k}", 1.0, [0.1, 0, 0], [0.01] * 3, ports={"end": [0.3, 0, 0]}) for k in range(2)]
    s.connect("world", links[0], tt.Revolute("first", axis=[0, 1, 0]))
    s.connect(links[0].port("end"), body, tt.Revolute("second", axis=[0, 1, 0]))
    s.connect(body.port("tip"), links[1], tt.Revolute("third", axis=[0, 1, 0]))
    s.close_loop("world", links[1].port("end"), tt.SpringDamper("spring", stiffness=50.0, damping=1.0, length=0.1))
    s.add_interaction(tt.SoftTendon("tendon", body, [[0.05, 0, 0], [0, 0.05, LENGTH]]))
    s.add_gear(tt.Gear("gear", "first", "third", 2.0))
    return s


GEARED: dict[str, Callable[[tt.Model, Array, Array, Array], Any]] = {
    "stacked": lambda m, q, v, a: m.forward_dynamics(q, v, a, {"soft.side": np.arange(6.0)}, u=[2.0]),
    "derivatives": lambda m, q, v, a: np.hstack(m.forward_dynamics_derivatives(q[0], v[0], a[0], u=[2.0])[:2]),
    "hybrid": lambda m, q, v, a: np.hstack(m.hybrid_dynamics(q[0], v[0], a[0], a[1], prescribed=["second"])),
    "direction": lambda m, q, v, a: m.forward_dynamics_tangent(q[0], v[0], a[0], v[1], a[1], a[2]),
}


@pytest.mark.long
@pytest.mark.parametrize("name", GEARED)
def test_with_gears_tendons_wrenches_and_stacked_states(name: str) -> None:
    models, rng = [geared().resolve(engine=engine) for engine in ("compiled", "reference")], np.random.default_rng(0)
    q, v, a = (0.3 * rng.normal(size=(3, models[0].nv)) for _ in range(3))
    q = np.array([models[0].assemble(row) for row in q])
    v = np.array([models[0].assemble_velocity(*row) for row in zip(q, v, strict=True)])
    found, expected = (GEARED[name](m, q, v, a) for m in models)
    scale = np.abs(expected).max()
    np.testing.assert_allclose(found / scale, expected / scale, **ROUNDING_OF_MANY)


FUNCTIONS: dict[str, Callable[[tt.Model, Array, Array, Array], Any]] = {
    "inverse dynamics": lambda m, q, v, a: m.inverse_dynamics(q, v, a),
    "with a wrench": lambda m, q, v, a: m.inverse_dynamics(q, v, a, {"soft0.tip": np.arange(6.0), "rod.tip": np.ones(6)}),
    "forward dynamics": lambda m, q, v, a: m.forward_dynamics(q, v, a),
    "mass matrix": lambda m, q, v, a: m.mass_matrix(q),
    "energy": lambda m, q, v, a: np.array(m.energy(q, v)),
    "pose": lambda m, q, v, a: m.pose("soft1.turned", q)[1],
    "derivatives of inverse dynamics": lambda m, q, v, a: np.hstack(m.inverse_dynamics_derivatives(q, v, a)),
    "derivatives of forward dynamics": lambda m, q, v, a: np.hstack(m.forward_dynamics_derivatives(q, v, a)[:2]),
}


#: The reference's derivatives take seconds.
LONG = ("derivatives of inverse dynamics", "derivatives of forward dynamics")


@pytest.mark.parametrize("name", [pytest.param(name, marks=[pytest.mark.long] * (name in LONG)) for name in FUNCTIONS])
def test_engines_agree(models: tuple[tt.Model, tt.Model], name: str) -> None:
    compiled, reference = models
    q, v, a = state(compiled, 3)
    found, expected = (FUNCTIONS[name](m, q, v, a) for m in (compiled, reference))
    scale = np.abs(expected).max()
    np.testing.assert_allclose(found / scale, expected / scale, **ROUNDING_OF_MANY)


def test_a_change_is_seen(models: tuple[tt.Model, tt.Model]) -> None:
    """The comparison above does see a parameter that is off by a ten-millionth."""
    compiled, reference = models
    q, v, a = state(compiled, 3)
    off = reference.with_parameters({"soft1.length": LENGTH * (1 + 1e-7)})
    found, expected = compiled.inverse_dynamics(q, v, a), off.inverse_dynamics(q, v, a)
    assert np.abs(found - expected).max() > 1e-9 * np.abs(expected).max()


def test_parameters_reach_the_compiled_law(models: tuple[tt.Model, tt.Model]) -> None:
    compiled, _ = models
    changes = {"soft0.length": 0.31, "soft1.material.young": 2e4, "soft1.material.viscosity": 1.0, "soft0.density": 1.5}
    q, v, a = state(compiled, 4)
    found, expected = (m.with_parameters(changes).inverse_dynamics(q, v, a) for m in models)
    np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-10 * np.abs(expected).max())


def test_sensitivities(models: tuple[tt.Model, tt.Model]) -> None:
    """Against differences of the sixth order, which keep nine digits of them."""
    names = ["soft0.length", "soft1.material.young", "soft0.density"]
    compiled, _ = models
    q, v, a = state(compiled, 5)
    found = compiled.inverse_dynamics_sensitivities(q, v, a, names)
    for name in names:
        value = compiled.parameters()[name][0]
        h, expected = 1e-3 * value, 0.0
        for j, weight in ((1, 0.75), (2, -0.15), (3, 1 / 60)):
            ahead, behind = (compiled.with_parameters({name: value + s * j * h}).inverse_dynamics(q, v, a) for s in (1, -1))
            expected = expected + weight * (ahead - behind) / h
        np.testing.assert_allclose(found[name], expected, rtol=1e-8, atol=1e-8 * np.abs(expected).max())


def test_bodies_of_the_same_functions_share_programs() -> None:
    kinematics, domain = tt.Kinematics.constant_curvature(0.2), tt.Domain.cylinder(0.01, 0.2)
    first = tt.SoftBody("a", kinematics, domain, 1000.0, tt.Material.neo_hookean(1e5, 0.3))
    second = tt.SoftBody("b", kinematics, domain, 900.0, tt.Material.neo_hookean(2e5, 0.4))
    other = tt.SoftBody("c", tt.Kinematics.constant_curvature(0.2), domain, 1000.0)
    assert first.programs is second.programs
    assert first.programs is not other.programs


def test_energy_is_kept() -> None:
    """Two undamped segments swing for half a second: the energy's change is what the integrator's tolerance leaves."""
    kinematics, domain = tt.Kinematics.constant_curvature(0.2), tt.Domain.cylinder(0.02, 0.2, along=4, around=4, outwards=1)
    s, parent = tt.System("swinging", gravity=[0, 0, 9.81]), "world"
    for k in range(2):
        body = tt.SoftBody(f"b{k}", kinematics, domain, 1000.0, tt.Material.neo_hookean(1e5, 0.4))
        s.connect(parent, body, tt.Weld(f"w{k}"))
        parent = body.port("tip")
    m = s.resolve()
    trajectory = tt.simulate(m, np.linspace(0.0, 0.5, 11), np.array([0.8, -0.4]), np.zeros(2), rtol=1e-10, atol=1e-12)
    energy = trajectory.energy().sum(axis=1)
    assert np.abs(np.diff(trajectory.q, axis=0)).max() > 0.1
    assert np.ptp(energy) < 1e-8 * np.abs(trajectory.energy()).max()
