"""Liquids in tanks, compared with numerical solutions of the potential's boundary value problem, and with what is conserved."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.polynomial.legendre import leggauss
from scipy.optimize import brentq
from scipy.spatial.transform import Rotation
from scipy.special import jvp, lpmv

import titop as tt
from tests.refusals import LONG_BY_REFERENCE, refusal
from titop.graph.files.saving import to_text

GRAVITY = 9.80665
#: Trajectories of Basilisk, by `make_basilisk_slosh.py`.
PEER = Path(__file__).with_name("basilisk_slosh.npz")
#: Sums of a few numbers of size one, and cubic splines of them.
ROUNDING = 1e-12


def tank(**fields: Any) -> Any:
    """The liquid of a cylinder."""
    given = {"radius": 0.6, "height": 1.5, "fill": 0.7, "density": 1141.0} | fields
    target = given.pop("target", tt.RigidBody("stage", 500.0, inertia=300.0))
    return tt.Slosh.cylinder("lox", target, **given)


def stage(device: Any = tank, gravity: float = 0.0, thrust: float = 0.0, engine: str = "compiled", **fields: Any) -> tt.Model:
    """A free stage with a tank, under a thrust along its axis."""
    s = tt.System("stage", gravity=[0, 0, -gravity])
    body = tt.RigidBody("stage", 500.0, inertia=[300.0, 300.0, 90.0], ports={"tank": [0, 0, 0.5], "engine": [0, 0, -1.0]})
    s.connect("world", body, tt.Free("base"))
    s.add_device(device(target=body.port("tank"), **fields))
    s.add_load(tt.Load("thrust", body.port("engine"), force=[0, 0, thrust]))
    return s.resolve(engine=engine)


def by_polynomials(h: float, degree: int = 13) -> tuple[Any, ...]:
    """Slosh of a cylinder of radius 1, depth h, density 1 by polynomials ``r^(2i+1) z^j cos``, without Bessel functions.

    omega^2 / g; masses over that of the liquid; heights; lateral inertia about the centre under a lid, over the mass.
    Both are Ritz's: of the kinetic energy, and of ``2 int phi u dS - int |grad phi|^2`` for the wall's velocity u in pitching.
    """
    (x, wx), (y, wy) = leggauss(40), leggauss(40)
    r, z, w = ((x + 1) / 2)[:, None], h * y / 2, np.outer(wx / 2, wy * h / 2)
    terms = [(2 * i + 1, j) for i in range(7) for j in range(degree) if 2 * i + j < degree]

    def basis(r: Any, z: Any) -> tuple[Any, ...]:
        zeta, value = 2 * z / h, []
        for i, j in terms:
            c = np.eye(degree)[j]
            P, dP = (np.polynomial.legendre.legval(zeta, each) for each in (c, np.polynomial.legendre.legder(c)))
            value.append((r**i * P, i * r ** (i - 1) * P, r**i * dP * 2 / h))
        shape = np.broadcast_shapes(r.shape, z.shape)
        return tuple(np.array([np.broadcast_to(part[k], shape) for part in value]) for k in range(3))

    phi, by_r, by_z = basis(r, z[None, :])
    energy = np.pi * sum(np.einsum("irz,jrz,rz->ij", each, each, w * r) for each in (by_r, by_z, phi / r))
    top, bottom, wall = (basis(*at)[0] for at in ((r[:, 0], np.array(h / 2)), (r[:, 0], np.array(-h / 2)), (np.array(1.0), z)))
    disc = np.pi * wx / 2 * r[:, 0]
    surface = (top * disc) @ top.T
    inverse = np.linalg.inv(np.linalg.cholesky(energy))
    mu, modes = np.linalg.eigh(inverse @ surface @ inverse.T)
    modes = (inverse.T @ modes)[:, ::-1][:, :3]
    rates, pitching = 1 / mu[::-1][:3], np.pi * wall @ (wy * h / 2 * z) - ((top - bottom) * disc) @ r[:, 0]
    potential = np.linalg.solve(energy, pitching)  # by a rotation about y: wall z cos, ends -+ r cos
    along, squares = modes.T @ (top * disc) @ r[:, 0], np.einsum("ik,ij,jk->k", modes, surface, modes)
    mass = np.pi * h
    heights = h / 2 + (modes.T @ surface @ potential) / along
    return rates, rates * along**2 / squares / mass, heights, pitching @ potential / mass


@pytest.mark.parametrize("h", [0.4, 1.0, 2.5])
def test_a_cylinder_solved_without_bessel_functions(h: float) -> None:
    """To what polynomials of degree 12 leave where the wall meets surface and bottom."""
    rates, parts, heights, inertia = by_polynomials(h)
    liquid = tank(radius=1.0, height=h, fill=1.0, density=1.0, modes=3).liquid()
    for k, near in ((0, 1e-6), (1, 5e-3)):
        assert 1 / liquid.lengths[k] == pytest.approx(rates[k], rel=near)
        assert liquid.masses[k] / liquid.mass == pytest.approx(parts[k], rel=near)
        assert liquid.heights[k] == pytest.approx(heights[k], abs=near)
    rest, at = liquid.rest
    whole = liquid.inertia + rest * at**2 + liquid.masses @ liquid.heights**2 - liquid.mass * (h / 2) ** 2
    assert whole / liquid.mass == pytest.approx(inertia, rel=1e-4)
    assert whole / liquid.mass < 0.9 * (h**2 / 12 + 0.25)  # ideal liquid takes less than ice


def test_zeros_of_bessel_functions() -> None:
    zeros = [brentq(lambda x: jvp(1, x), *between, xtol=1e-14, rtol=1e-14) for between in ((1, 3), (4, 6), (8, 9))]
    assert zeros[0] == pytest.approx(1.8411837813, abs=5e-11)
    liquid = tank(modes=3).liquid()
    h = 0.7 * 1.5
    rates = [GRAVITY / 0.6 * zero * np.tanh(zero * h / 0.6) for zero in zeros]
    assert GRAVITY / liquid.lengths == pytest.approx(rates, rel=1e-12)


def harmonics(fill: float, count: int = 40) -> tuple[float, float]:
    """omega^2 R / g and part of the mass of the lowest mode in a sphere by solid harmonics: Ritz, no coordinates in common."""
    c = 2 * fill - 1
    a, end = np.sqrt(1 - c**2), np.arccos(-c)
    x, w = leggauss(300)
    near, weight = 1 - (1 - (x + 1) / 2) ** 3, 1.5 * w * (1 - (x + 1) / 2) ** 2  # graded towards the rim
    rho, theta, degrees = a * near, end * near, np.arange(1, count + 1)[:, None]
    radius = np.hypot(rho, c)
    top = radius**degrees * lpmv(1, degrees, c / radius)
    rising = np.vstack([np.zeros_like(rho), (degrees[1:] + 1) * top[:-1]])
    wall = lpmv(1, degrees, -np.cos(theta))
    energy = (top * (weight * a * rho)) @ rising.T + (wall * (weight * end * np.sin(theta))) @ (degrees * wall).T
    surface = (top * (weight * a * rho)) @ top.T
    size = 1 / np.sqrt(np.diag(energy))
    values, vectors = np.linalg.eigh(size[:, None] * (energy + energy.T) / 2 * size)
    onto = size[:, None] * vectors[:, values > 1e-13 * values.max()] / np.sqrt(values[values > 1e-13 * values.max()])
    mu, modes = np.linalg.eigh(onto.T @ surface @ onto)
    mode = onto @ modes[:, -1]
    along = np.pi * (mode @ top) @ (weight * a * rho**2)
    volume = np.pi * (2 * fill) ** 2 * (3 - 2 * fill) / 3
    return 1 / mu[-1], along**2 / mu[-1] / (np.pi * mode @ surface @ mode) / volume


@pytest.mark.parametrize(("fill", "near"), [(0.05, 1e-7), (0.3, 1e-7), (0.5, 1e-7), (0.7, 1e-6), (0.9, 5e-4)])
def test_a_sphere_solved_by_harmonics(fill: float, near: float) -> None:
    """`near` is what harmonics leave: towards a full sphere the surface meets the wall in a cusp."""
    liquid = tt.Slosh.sphere("fuel", tt.RigidBody("hub", 1.0), 1.0, fill, 1.0).liquid()
    rate, part = harmonics(fill)
    assert 1 / liquid.lengths[0] == pytest.approx(rate, rel=near)
    assert liquid.masses[0] / liquid.mass == pytest.approx(part, rel=2 * near)
    if fill == 0.5:
        assert 1 / liquid.lengths[0] == pytest.approx(1.56016, abs=5e-6)  # McIver (1989)
    assert liquid.heights[0] + liquid.lengths[0] == pytest.approx(1.0, abs=ROUNDING)
    tilting = liquid.masses[0] * liquid.lengths[0] / (liquid.mass * (1.0 - liquid.centre))
    assert 0.9 < tilting < 1.0  # with all modes one: liquid in a sphere does not feel it turn


def of_sphere(target: Any, fill: float = 0.4, **fields: Any) -> Any:
    return tt.Slosh.sphere("lox", target, radius=0.6, fill=fill, density=1141.0, **fields)


def of_table(target: Any, fill: float = 0.7, **fields: Any) -> Any:
    """The table of a cylinder's liquid."""
    fills = np.linspace(0.2, 1.0, 17)
    rows = [tank(fill=fill, modes=2).liquid() for fill in fills]
    named = {
        "centre": [row.centre for row in rows],
        "mass": [row.mass for row in rows],
        "inertia": [row.inertia for row in rows],
    }
    named |= {name: [getattr(row, name) for row in rows] for name in ("masses", "lengths", "heights")}
    return tt.Slosh.table("lox", target, fill, fills, **named, **fields)


@pytest.mark.parametrize("fill", [0.3, 0.61, 0.95])
@pytest.mark.parametrize("kind", ["pendulum", "spring"])
@pytest.mark.parametrize("device", [tank, of_sphere, of_table])
def test_mass_and_mass_centre_are_the_liquids(device: Any, kind: str, fill: float) -> None:
    model = stage(device, model=kind).with_parameters({"lox.fill": fill})
    height = 1.2 if device is of_sphere else 1.5
    depth = fill * height
    mass, centre = 1141.0 * np.pi * 0.36 * depth, depth / 2
    if device is of_sphere:
        mass = 1141.0 * np.pi * depth**2 * (1.8 - depth) / 3
        centre = 0.6 - 0.75 * (1.2 - depth) ** 2 / (1.8 - depth)
    masses = [value for name, (value, _) in model.parameters().items() if name.startswith("lox/") and name.endswith(".mass")]
    assert sum(masses) == pytest.approx(mass, rel=ROUNDING)
    expected = mass * (centre + 0.5) / (mass + 500.0)
    assert model.center_of_mass(model.neutral()) == pytest.approx([0, 0, expected], abs=ROUNDING)


@pytest.mark.parametrize("engine", LONG_BY_REFERENCE)
@pytest.mark.parametrize("device", [tank, of_sphere, of_table])
def test_pendulums_and_springs_are_one_linear_model(device: Any, engine: str) -> None:
    """At the acceleration for which springs are made: poles, and moments on the stage; at another they differ."""
    whole = 500.0 + device(target=tt.RigidBody("stage", 1.0)).liquid().mass
    given = {"damping_ratio": 0.02, "acceleration": 3.0, "engine": engine}
    poles, gains = [], []
    for thrust in (3.0 * whole, 6.0 * whole):
        for kind in ("pendulum", "spring"):
            model = stage(device, thrust=thrust, model=kind, **given)
            point = tt.trim(model, accelerating="base")
            system = tt.linearize(model, point, ["base"], ["stage.dw", "base.x.a"])
            poles.append(sorted(point.eigenvalues[point.eigenvalues.imag > 0.1], key=np.imag))
            gains.append(system(1.3j))
    assert poles[0] == pytest.approx(poles[1], rel=1e-9)
    assert gains[0] == pytest.approx(gains[1], rel=1e-9)
    assert np.abs(np.subtract(poles[2], poles[3])).max() > 0.1


def test_damping() -> None:
    """In a tank that stands still: -Re / |s| of its poles, with the number of SP-106 for viscosity; deep it has no depth."""
    s = tt.System("still", gravity=[0, 0, -GRAVITY])
    s.world.add_port("P", [0, 0, 0])
    s.add_device(tank(target=s.world.port("P"), modes=2, damping_ratio=0.01, viscosity=1e-6, height=6.0))
    model = s.resolve()
    poles = tt.trim(model).eigenvalues
    ratio = 0.01 + 0.79 * np.sqrt(1e-6 / np.sqrt(GRAVITY * 0.6**3))
    assert -poles.real / np.abs(poles) == pytest.approx(ratio, rel=1e-4)
    shallow = tank(viscosity=1e-6, fill=0.1).viscous_ratio()
    x = 1.84 * 0.15 / 0.6
    right = 0.79 * np.sqrt(1e-6 / np.sqrt(GRAVITY * 0.6**3)) * (1 + 0.318 / np.sinh(x) * (1 + 0.75 / np.cosh(x)))
    assert shallow == pytest.approx(right, rel=1e-12)


@pytest.mark.parametrize("kind", ["pendulum", "spring"])
def test_trajectories_of_basilisk(kind: str) -> None:
    """Ten seconds of a spacecraft that turns under thrust, in which it comes 40 m far: to 1e-11 (measured: 1.2e-12).

    Of Basilisk's Runge-Kutta steps of 1 ms remains less than this, of titop's tolerance too.
    """
    damping, runs = 0.02 if kind == "spring" else 0.0, np.load(PEER)
    inertia, centre = [[300.0, 4, -3], [4, 280, 2], [-3, 2, 90]], [0.02, -0.01, 0.15]
    if kind == "spring":
        inertia, centre = np.diag([300.0, 280.0, 90.0]).tolist(), [0.02, 0.0, 0.15]
    s = tt.System("craft", gravity=[0, 0, 0])
    hub = tt.RigidBody("hub", 500.0, centre, inertia, ports={"tank": [0, 0, 0.5]})
    s.connect("world", hub, tt.Free("base"))
    s.add_device(tank(target=hub.port("tank"), acceleration=3.0, model=kind, damping_ratio=damping))
    s.add_load(tt.Load("push", hub, force=[0, 0, 2100.0]))
    model = s.resolve()
    t, r, v, sigma, omega = (runs[f"{kind}_{name}"] for name in ("t", "r_BN_N", "v_BN_N", "sigma_BN", "omega_BN_B"))
    turned, q0, v0 = [Rotation.from_mrp(each) for each in sigma], model.neutral(), np.zeros(model.nv)
    q0[:3], q0[3:7], v0[:3], v0[3:6] = r[0], turned[0].as_quat(), turned[0].inv().apply(v[0]), omega[0]
    if kind == "spring":
        q0[7], v0[6] = 0.08, -0.05
    else:
        v0[6:] = -0.8, -0.6  # about x and y: towards y and x
    found = tt.simulate(model, t, q0, v0, rtol=1e-12, atol=1e-13)
    assert found.q[:, :3] == pytest.approx(r, abs=1e-11)
    assert found.v[:, 3:6] == pytest.approx(omega, abs=1e-11)
    assert max((Rotation.from_quat(q[3:7]).inv() * R).magnitude() for q, R in zip(found.q, turned, strict=True)) < 1e-11
    assert np.abs(found.q[:, 7:]).max() > 0.03
    liquid = tank(acceleration=3.0).liquid()  # of which the peer's numbers are
    rest, at = liquid.rest
    numbers = liquid.masses[0], liquid.lengths[0], liquid.heights[0] + 0.5, rest, at + 0.5, liquid.inertia
    assert runs["numbers"] == pytest.approx(numbers, rel=1e-12)


@pytest.mark.parametrize("device", [tank, of_sphere, of_table])
def test_families_over_the_fill(device: Any) -> None:
    """Members are the linear models of tanks built so; accelerations follow the mass."""
    fills = [0.3, 0.5, 0.7]
    model, thrust = stage(device, thrust=5e3), 5e3
    unknowns = [name for name in model.coordinate_names if name.startswith("lox")] + ["base.z.a"]
    family = tt.lpv(model, {"lox.fill": fills}, inputs=["base"], outputs=["base.z.a"], unknowns=unknowns, progress=False)
    for k, fill in enumerate(fills):
        built = stage(device, thrust=thrust, fill=fill)
        point = tt.trim(built, accelerating="base")
        right = tt.linearize(built, point, ["base"], ["base.z.a"])
        found = family.at(lox_fill=fill)
        for name in "ABCD":
            assert np.abs(getattr(found, name) - getattr(right, name)).max() < 1e-9
        mass = 500.0 + device(target=tt.RigidBody("stage", 1.0), fill=fill).liquid().mass
        assert family.y[k, 0] == pytest.approx(thrust / mass, rel=1e-12)


@pytest.mark.parametrize("device", [tank, of_sphere])
def test_fractional_models_over_the_fill(device: Any) -> None:
    """About the point under thrust, whose acceleration all members keep; a fit to 1e-7 of the laws' entries."""
    model = stage(device, thrust=5e3, damping_ratio=0.01)
    point, ends = tt.trim(model, accelerating="base"), (["base"], ["base.rx.q", "lox/mode1.first.q"])
    family = tt.lft(model, point, {"lox.fill": tt.percent(10)}, *ends, fits={"lox.fill": 1e-7})
    assert family.check() < 1e-5
    fill = 1.07 * (0.4 if device is of_sphere else 0.7)
    found = family.at({"lox.fill": fill})
    changed = model.with_parameters({"lox.fill": fill})
    held = tt.trim(changed, [f"{name}.tau" for name in ("base.z", "base.rx", "base.ry")])
    held = tt.OperatingPoint(changed, point.q, tau=held.tau + changed.mass_matrix(point.q) @ point.a, a=point.a)
    right = tt.linearize(changed, held, *ends)(1.3j)
    assert np.abs(found(1.3j) - right).max() < 1e-5 * np.abs(right).max()


@pytest.mark.parametrize("device", [tank, of_sphere, of_table])
def test_sensitivities_to_the_fill(device: Any) -> None:
    rng, model = np.random.default_rng(4), stage(device)
    state = model.random_configuration(rng), rng.normal(size=model.nv), rng.normal(size=model.nv)
    found = model.forward_dynamics_sensitivities(*state, ["lox.fill"])["lox.fill"]
    step = 1e-3
    ahead, behind = (
        [
            model.with_parameters({"lox.fill": (0.4 if device is of_sphere else 0.7) + k * sign * step}).forward_dynamics(
                *state
            )
            for k in (1, 2, 3)
        ]
        for sign in (1, -1)
    )
    pairs = [a - b for a, b in zip(ahead, behind, strict=True)]
    expected = (45 * pairs[0] - 9 * pairs[1] + pairs[2]) / (60 * step)
    # differences of sixth order over 1e-3; splines have jumps of their third derivative
    assert found == pytest.approx(expected, rel=1e-7, abs=(1e-4 if device is of_table else 1e-7) * np.abs(expected).max())


def test_files_and_engines() -> None:
    for device in (tank, of_sphere, of_table):
        for kind in ("pendulum", "spring"):
            s = tt.System("stage")
            body = tt.RigidBody("stage", 500.0, inertia=300.0)
            s.connect("world", body, tt.Free("base"))
            s.add_device(device(target=body, model=kind))
            loaded = tt.load(to_text(s))
            assert to_text(loaded) == to_text(s)
            models = s.resolve(), loaded.resolve(), s.resolve(engine="reference")
            rng = np.random.default_rng(1)
            q, v = models[0].random_configuration(rng), rng.normal(size=models[0].nv)
            a = [model.forward_dynamics(q, v, 0 * v) for model in models]
            assert a[0].tolist() == a[1].tolist()
            assert a[0] == pytest.approx(a[2], rel=1e-10)


@pytest.mark.parametrize(
    ("code", "where", "make"),
    [
        ("overfilled", "lox.fill", lambda b: tank(target=b, fill=1.2)),
        ("overfilled", "lox.fill", lambda b: tank(target=b, fill=0.0)),
        ("overfilled", "lox.fill", lambda b: of_sphere(b, fill=1.0)),
        ("overfilled", "lox.fill", lambda b: of_table(b, fill=0.1)),
        ("not-positive", "lox.radius", lambda b: tank(target=b, radius=-1.0)),
        ("not-positive", "lox.density", lambda b: tank(target=b, density=0.0)),
        ("negative-viscosity", "lox.viscosity", lambda b: tank(target=b, viscosity=-1.0)),
        ("not-a-count", "lox.modes", lambda b: tank(target=b, modes=0)),
        ("unknown-model", "lox.model", lambda b: tank(target=b, model="wave")),
        ("not-sorted", "lox.fills", lambda b: tt.Slosh.table("lox", b, 0.5, [1, 0], [1, 2], [0, 1], [0.5, 1], [1, 1], [0, 1])),
        ("not-sorted", "lox.fills", lambda b: tt.Slosh.table("lox", b, 0.5, [], [], [], [], [], [])),
        ("no-tank", "lox", lambda b: tt.Slosh("lox", b, 0.5)),
        ("not-positive", "lox.masses", lambda b: tt.Slosh.table("lox", b, 0.5, [0, 1], [1, 2], [0, 1], [2, 1], [1, 1], [0, 1])),
        (
            "wrong-shape",
            "lox.heights",
            lambda b: tt.Slosh.table("lox", b, 0.5, [0, 1], [1, 2], [0, 1], [0.5, 1], [1, 1], [0, 1, 2]),
        ),
    ],
)
def test_what_no_tank_is(code: str, where: str, make: Any) -> None:
    body = tt.RigidBody("stage", 500.0, inertia=300.0)
    s = tt.System("wrong")
    s.connect("world", body, tt.Free("base"))
    with refusal(code, where):
        s.add_device(make(body))
        s.resolve()


def test_a_fill_set_later() -> None:
    model = stage()
    with refusal("overfilled", "lox.fill"):
        model.with_parameters({"lox.fill": 1.01})
