"""Systems whose joints run into stops, in both engines."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.optimize import brentq

import titop as tt
from tests.systems import Array
from titop.blocks.joints.joint import Joint

#: Numbers of the stops of `rig` that act at `pressed`.
STOPS = [
    f"{stop}.{entry}"
    for stop, bound in (
        ("hinge.limits", "upper"),
        ("rail.limits", "upper"),
        ("rod.limits.displacement", "lower"),
        ("rod.limits.angle", "lower"),
    )
    for entry in (bound, "stiffness", "dissipation")
]


class Slider(Joint):
    """A prismatic joint that says its pose alone: no joint of titop's to the kernels."""

    coordinates, units = ("displacement",), ("m",)

    def pose(self, port: str, q: Array) -> tuple[Array, Array]:
        return np.eye(3) + 0 * q[0], np.array([q[0], 0 * q[0], 0 * q[0]])


def rig(stiffness: float = 400.0, general: bool = False) -> tt.System:
    """Return a hinge, a rail and a cylindrical joint with stops, with and without springs, and a ball joint."""
    stops = tt.Limits(-0.5, 0.4, stiffness=stiffness, dissipation=0.3)
    body = {"mass": 1.0, "com": [0.1, 0.0, 0.2], "inertia": [0.2, 0.3, 0.4], "ports": {"C": [0.1, 0.2, 0.3]}}
    s = tt.System("rig", gravity=[1.0, 2.0, -9.81])
    a, b, c, d = (tt.RigidBody(name, **body) for name in "abcd")
    s.connect("world", a, tt.Revolute("hinge", [1, 0, 0], limits=stops))
    rail: tt.Joint = Slider("rail", limits=stops) if general else tt.Prismatic("rail", [1, 0, 0], limits=stops)
    s.connect(a.port("C"), b, rail)
    s.connect(b.port("C"), c, tt.Cylindrical("rod", [0, 1, 1], stiffness=[3.0, 4.0], damping=0.2, limits=stops))
    s.connect(c.port("C"), d, tt.Spherical("ball", stiffness=2.0, limits=tt.Limits(-1, 1)))
    return s


def pressed(m: tt.Model) -> tuple[Array, Array, Array]:
    """Return a state in which every stop is pressed, and efforts."""
    q = m.configuration({"hinge": 0.6, "rail": 0.5, "rod": [-0.7, -0.8], "ball": [0.1, 0.2, 0.3, np.sqrt(0.86)]})
    v = m.velocity({"hinge": 1.0, "rail": -0.8, "rod": [0.5, -1.5], "ball": [0.3, -0.2, 0.1]})
    return q, v, np.linspace(-1, 1, m.nv)


@pytest.mark.parametrize("general", [False, True], ids=["own", "users"])
def test_engines_agree_in_and_out_of_the_stops(general: bool) -> None:
    m, reference = rig(general=general).resolve(), rig(general=general).resolve("reference")
    loose = rig(stiffness=0.0, general=general).resolve()
    rng = np.random.default_rng(1)
    for scale in (0.3, 1.0, 3.0):
        q, v, tau = m.integrate(m.neutral(), scale * rng.uniform(-1, 1, m.nv)), rng.uniform(-5, 5, m.nv), rng.normal(size=m.nv)
        for function in ("passive_efforts", "energy"):
            np.testing.assert_allclose(getattr(m, function)(q, v), getattr(reference, function)(q, v), rtol=1e-12, atol=1e-11)
        for function in ("forward_dynamics", "inverse_dynamics"):
            np.testing.assert_allclose(getattr(m, function)(q, v, tau), getattr(reference, function)(q, v, tau), rtol=1e-10)
    assert np.abs(m.passive_efforts(q, v) - loose.passive_efforts(q, v)).max() > 1.0


@pytest.mark.parametrize("general", [False, True], ids=["own", "users"])
@pytest.mark.parametrize("rate", [1.0, -1.0, 20.0, -20.0])  # the last two: some stops let go faster than they push
def test_derivatives_are_those_of_the_reference_s_complex_steps(rate: float, general: bool) -> None:
    m, reference = rig(general=general).resolve(), rig(general=general).resolve("reference")
    loose = rig(stiffness=0.0, general=general).resolve()
    q, v, x = pressed(m)
    for function in ("inverse_dynamics_derivatives", "forward_dynamics_derivatives"):
        found, expected = getattr(m, function)(q, rate * v, x), getattr(reference, function)(q, rate * v, x)
        for ours, theirs in zip(found, expected, strict=True):
            np.testing.assert_allclose(
                ours, theirs, rtol=0, atol=1e-11 * np.abs(theirs).max()
            )  # rounding of sums of tens of terms
    change = m.inverse_dynamics_derivatives(q, rate * v, x)[0] - loose.inverse_dynamics_derivatives(q, rate * v, x)[0]
    assert np.abs(change).max() > 100.0


def test_derivatives_are_those_of_differences() -> None:
    m, h = rig().resolve(), 1e-6
    q, v, tau = pressed(m)
    by_q, by_v, _ = m.forward_dynamics_derivatives(q, v, tau)
    for k, e in enumerate(np.eye(m.nv)):
        moved = m.forward_dynamics(m.integrate(q, h * e), v, tau) - m.forward_dynamics(m.integrate(q, -h * e), v, tau)
        pushed = m.forward_dynamics(q, v + h * e, tau) - m.forward_dynamics(q, v - h * e, tau)
        # second order: 1e-12 times third derivatives, and rounding over 1e-6
        np.testing.assert_allclose(by_q[:, k], moved / (2 * h), rtol=0, atol=1e-8 * np.abs(by_q).max())
        np.testing.assert_allclose(by_v[:, k], pushed / (2 * h), rtol=0, atol=1e-8 * np.abs(by_v).max())


@pytest.mark.parametrize("stiffness", [400.0, 0.0])
def test_sensitivities_are_those_of_changed_models(stiffness: float) -> None:
    """By the stiffness of a stop that has none too."""
    m = rig(stiffness).resolve()
    q, v, x = pressed(m)
    found = m.inverse_dynamics_sensitivities(q, v, x, STOPS)
    values = {name: value for name, (value, _) in m.parameters().items()}

    def efforts(name: str, step: float) -> Array:
        return m.with_parameters({name: values[name] + step}).inverse_dynamics(q, v, x)

    for name in STOPS:
        is_bound = name.endswith(("lower", "upper"))
        if is_bound:  # second order, at depths of 0.1: (1e-4 / 0.1)^2 / 24
            change, accuracy = (efforts(name, 1e-4) - efforts(name, -1e-4)) / 2e-4, 1e-6
        else:  # linear: a step forward is exact, but for the rounding of efforts of 100
            change, accuracy = (efforts(name, 0.1) - efforts(name, 0.0)) / 0.1, 1e-10
        np.testing.assert_allclose(found[name], change, rtol=accuracy, atol=accuracy, err_msg=name)
        assert np.abs(change).max() > 1e-2 or (stiffness == 0.0 and not name.endswith("stiffness"))


def test_changed_parameters_act_as_given_ones() -> None:
    """In joints with springs and without, from no stiffness to some and back."""
    loose = rig(stiffness=0.0).resolve()
    q, v, tau = pressed(loose)
    values = {name: 400.0 if name.endswith("stiffness") else value for name, (value, _) in rig().resolve().parameters().items()}
    stiff = {name: values[name] for name in values if ".limits." in name and name.split(".")[0] != "ball"}
    expected = rig().resolve().forward_dynamics(q, v, tau)
    for engine in ("compiled", "reference"):
        m = rig(stiffness=0.0).resolve(engine)
        changed = m.with_parameters(stiff)
        np.testing.assert_allclose(changed.forward_dynamics(q, v, tau), expected, rtol=1e-11)  # the engines'
        undone = changed.with_parameters({name: 0.0 for name in stiff if name.endswith("stiffness")})
        np.testing.assert_allclose(undone.forward_dynamics(q, v, tau), m.forward_dynamics(q, v, tau), rtol=1e-13)
        assert changed.with_parameters({"hinge.limits.upper": 0.7}).passive_efforts(q, v)[0] == 0.0
        for name, value in (
            ("hinge.limits.upper", -0.6),
            ("rod.limits.angle.stiffness", -1.0),
            ("rail.limits.dissipation", -1),
        ):
            with pytest.raises(tt.ModelError, match=name.partition(".limits")[0] + r"\.limits"):
                changed.with_parameters({name: value})
        with pytest.raises(tt.ModelError, match=r"hinge\.limits\.lower"):
            changed.with_parameters({"hinge.limits.lower": -np.inf})


def test_limits_without_stiffness_change_no_bit() -> None:
    def arm(**limits: Any) -> tt.Model:
        s = tt.System("arm", gravity=[0, 0, -9.81])
        body = tt.RigidBody("a", 1.0, com=[0.1, 0.2, 0.3], inertia=0.2)
        s.connect("world", body, tt.Universal("elbow", stiffness=[1.0, 2.0], damping=0.3, friction=tt.Friction(0.1), **limits))
        return s.resolve()

    free, limited, state = (
        arm(),
        arm(limits=tt.Limits(-0.1, 0.1, dissipation=0.3)),
        np.array([[0.7, -0.9], [1.0, 2.0], [3.0, 4.0]]),
    )
    for function in ("forward_dynamics", "inverse_dynamics", "forward_dynamics_derivatives", "inverse_dynamics_derivatives"):
        assert np.array_equal(getattr(free, function)(*state), getattr(limited, function)(*state))
    assert free.energy(*state[:2]) == limited.energy(*state[:2])


def buffer(limits: tt.Limits, mass: float = 0.5, gravity: float = 0.0) -> tt.Model:
    """Return a mass on a vertical rail with stops."""
    s = tt.System("buffer", gravity=[0, 0, -gravity])
    s.connect("world", tt.RigidBody("mass", mass), tt.Prismatic("rail", axis=[0, 0, 1], limits=limits))
    return s.resolve()


@pytest.mark.parametrize(("method", "accuracy"), [("DOP853", 1e-8), ("Radau", 1e-7), ("generalized-alpha", 2e-3)])
@pytest.mark.parametrize("side", [-1.0, 1.0])
def test_a_bounce_is_hertz_s(side: float, method: str, accuracy: float) -> None:
    """Depth ``(5 m v^2 / 4 k)^(2/5)``, and the velocity returned (K. L. Johnson, Contact Mechanics, 1985, eq. 11.23)."""
    mass, k, v = 0.5, 1e6, 2.0
    m = buffer(tt.Limits(-0.1, 0.1, stiffness=k), mass)
    depth = (5 * mass * v**2 / (4 * k)) ** 0.4
    duration = 2 * 1.47163 * depth / v
    tolerances = {} if method == "generalized-alpha" else {"rtol": 1e-10, "atol": 1e-13}
    trajectory = tt.simulate(m, np.linspace(0, 1.5 * duration, 3001), [side * 0.1], [side * v], method=method, **tolerances)
    assert np.abs(trajectory.q).max() - 0.1 == pytest.approx(depth, rel=max(accuracy, 1e-6))  # 1e-6: between samples
    assert trajectory.v[-1, 0] == pytest.approx(-side * v, rel=accuracy)  # what the integrator loses of the energy


@pytest.mark.parametrize("dissipation", [0.1, 2.0])
def test_a_dissipative_bounce_is_hunt_and_crossley_s(dissipation: float) -> None:
    """``m v dv = -k d^1.5 (1 + c v) dd``: the integral of ``m v / (1 + c v)`` is the same before, behind and at the depth."""
    mass, k, v, c = 0.5, 1e6, 2.0, dissipation

    def stored(rate: float) -> float:
        return mass * (rate / c - np.log1p(c * rate) / c**2)

    depth = (2.5 * stored(v) / k) ** 0.4
    returned = -brentq(lambda rate: stored(rate) - stored(v), -min(v, (1 - 1e-12) / c), -1e-6, xtol=1e-14)
    m = buffer(tt.Limits(upper=0.1, stiffness=k, dissipation=c), mass)
    trajectory = tt.simulate(m, np.linspace(0, 8 * depth / v, 3001), [0.1], [v], rtol=1e-10, atol=1e-13)
    assert trajectory.q.max() - 0.1 == pytest.approx(depth, rel=1e-5)  # between samples of 1/400 of the stay
    assert trajectory.v[-1, 0] == pytest.approx(-returned, rel=1e-7)  # what the integrator loses
    assert returned < 0.95 * v


@pytest.mark.parametrize("dissipation", [0.0, 0.5])
def test_energy_of_a_pendulum_that_bounces_between_stops(dissipation: float) -> None:
    """Its change is what the stops' dissipation has taken: nothing without one."""
    s = tt.System("clapper", gravity=[0, 0, -9.81])
    hinge = tt.Revolute("hinge", [0, 1, 0], limits=tt.Limits(-0.2, 0.3, stiffness=2e3, dissipation=dissipation))
    s.connect("world", tt.RigidBody("bob", 1.0, com=[0, 0, -0.5], inertia=0.01), hinge)
    m, times = s.resolve(), np.linspace(0, 1, 20001)
    trajectory = tt.simulate(m, times, [0.0], [4.0], rtol=1e-11, atol=1e-13)
    motion = trajectory.q, trajectory.v, trajectory.a
    energy = np.array([m.energy(*at) for at in zip(trajectory.q[::100], trajectory.v[::100], strict=True)])
    elastic = m.with_parameters({"hinge.limits.dissipation": 0.0})
    efforts = elastic.inverse_dynamics(*motion) - m.inverse_dynamics(*motion)
    lost = np.trapezoid((efforts * trajectory.v)[:, 0], times)
    assert (np.diff(np.sign(trajectory.v[:, 0])) != 0).sum() >= 3  # bounces
    total = energy.sum(axis=1)
    if dissipation:
        assert total[-1] - total[0] == pytest.approx(lost, rel=1e-5)  # the trapezoidal rule's 50 us against stays of 30 ms
        assert lost < -1.0
    else:
        assert lost == 0.0
        np.testing.assert_allclose(total, total[0], rtol=1e-9)  # tolerances of 1e-11 over a few hundred steps
        assert np.ptp(energy[:, 0]) > 1.0


def test_trim_finds_where_a_mass_rests_and_the_linear_model_how_it_sways() -> None:
    mass, k, g = 0.5, 1e5, 9.81
    m = buffer(tt.Limits(lower=0.1, stiffness=k, dissipation=0.2), mass, g)
    point = tt.trim(m, q=[0.09])
    depth = (mass * g / k) ** (2 / 3)
    assert 0.1 - point.q[0] == pytest.approx(depth, rel=1e-8)
    A = tt.linearize(m, point).A
    np.testing.assert_allclose(
        A, [[0, 1], [-1.5 * k * np.sqrt(depth) / mass, -g * 0.2]], rtol=1e-7
    )  # trim's 1e-8 over the depth


def test_a_geared_coordinate_stops_its_driver() -> None:
    s = tt.System("gears", gravity=[0, 0, -9.81])
    stops = tt.Limits(-0.3, 0.3, stiffness=500.0, dissipation=0.1)
    for name, limits in (("left", None), ("right", stops)):
        s.connect(
            "world",
            tt.RigidBody(f"{name}_arm", 1.0, com=[0.2, 0, 0.3], inertia=0.1),
            tt.Revolute(name, [0, 1, 0], limits=limits),
        )
    s.add_gear(tt.Gear("pair", driven="right", driver="left", ratio=-2.0))
    q, v, tau = np.array([0.25, -0.5]), np.array([0.5, -1.0]), np.zeros(2)
    m, reference = s.resolve(), s.resolve("reference")
    np.testing.assert_allclose(m.forward_dynamics(q, v, tau), reference.forward_dynamics(q, v, tau), rtol=1e-11)
    push = 500.0 * 0.2**1.5 * (1 + 0.1 * 1.0)
    loose = m.with_parameters({"right.limits.stiffness": 0.0})
    change = m.forward_dynamics(q, v, tau) - loose.forward_dynamics(q, v, [0.0, push])
    np.testing.assert_allclose(change, 0.0, atol=1e-10)  # of accelerations of 100
    assert np.abs(m.forward_dynamics(q, v, tau) - loose.forward_dynamics(q, v, tau)).max() > 10.0
