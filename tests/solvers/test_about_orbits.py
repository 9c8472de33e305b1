"""Linear models and motions about orbits, against closed forms and Kepler's orbits."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.special import ellipk

import titop as tt
from tests.refusals import refusal
from tests.systems import Array
from titop.blocks.basics.spatial import quaternion_log, quaternion_product

MU, RADIUS = 3.986004418e14, 6378136.3
EARTH = tt.CentralGravity(MU, RADIUS)
CIRCULAR = tt.Orbit(EARTH, altitude=700e3, inclination=0.9, node=0.3, perigee=0.2, anomaly=0.1)
ELLIPTIC = tt.Orbit(EARTH, semi_major_axis=9e6, eccentricity=0.15, inclination=0.4, anomaly=0.7)


def satellite(gravity: Any, inertia: Any = (10.0, 25.0, 30.0), mass: float = 100.0) -> tt.Model:
    s = tt.System("satellite", gravity=gravity)
    s.connect("world", tt.RigidBody("hub", mass=mass, inertia=list(inertia)), tt.Free("base"))
    return s.resolve()


def random_inertia(rng: np.random.Generator) -> Array:
    """Return principal moments that a body can have."""
    second = rng.uniform(0.1, 5.0, 3)
    return second.sum() - second


def rest(m: tt.Model, q: Any = None) -> tuple[Array, Array]:
    return m.neutral() if q is None else q, np.zeros(m.nv)


def squares_of_attitude_rates(inertia: Array) -> Array:
    """Return the squares of the poles of roll, yaw and pitch, over the square of the mean motion.

    With x outwards, z along the orbit's normal, small angles a, and n the mean motion (Hughes, section 9.3)::

        Ix a_x'' - n (Ix + Iy - Iz) a_y' +   n^2 (Iz - Iy) a_x = 0
        Iy a_y'' + n (Ix + Iy - Iz) a_x' + 4 n^2 (Iz - Ix) a_y = 0
        Iz a_z''                         + 3 n^2 (Iy - Ix) a_z = 0
    """
    x, y, z = inertia
    across = [x * y, 4 * x * (z - x) + y * (z - y) + (x + y - z) ** 2, 4 * (z - y) * (z - x)]
    return np.array([*np.roots(across), -3 * (y - x) / z])


@pytest.mark.parametrize("seed", range(16))
def test_poles_of_gravity_gradient(seed: int) -> None:
    inertia = random_inertia(np.random.default_rng(seed))
    m = satellite(CIRCULAR, inertia)
    poles = tt.linearize(m, tt.trim(m)).poles() / CIRCULAR.mean_motion
    roots = np.sqrt(squares_of_attitude_rates(inertia).astype(complex))
    expected = np.array([*roots, *-roots, 1j, 1j, -1j, -1j])  # and drift along the track, a double zero
    for pole in expected:
        nearest = np.abs(poles - pole).argmin()
        # double precision of numbers of order one, and of the shift of the centre by 1e-15 of the distance
        assert abs(poles[nearest] - pole) < 1e-12
        poles = np.delete(poles, nearest)
    assert np.abs(poles).max() < 1e-6  # a double pole, by the root of rounding


def test_modes_are_poles() -> None:
    """A frame that turns couples what would be normal modes."""
    m = satellite(CIRCULAR)
    rates = np.sort(np.unique(tt.modes(m, tt.trim(m)).frequency.round(15)))
    expected = CIRCULAR.mean_motion * np.sqrt(-squares_of_attitude_rates(np.array([10.0, 25.0, 30.0]))) / (2 * np.pi)
    for rate in expected:
        assert np.abs(rates - rate).min() < 1e-11


def test_poles_are_stable_and_unstable() -> None:
    """The random inertias are of every kind."""
    squares = [squares_of_attitude_rates(random_inertia(np.random.default_rng(seed))) for seed in range(16)]
    unstable = [bool((np.sqrt(each.astype(complex)).real > 1e-9).any()) for each in squares]
    assert any(unstable)
    assert not all(unstable)


def test_relative_motion_is_that_of_clohessy_and_wiltshire() -> None:
    m, n = satellite(CIRCULAR), CIRCULAR.mean_motion
    da_dq, da_dv, _ = m.forward_dynamics_derivatives(*rest(m), np.zeros(6))
    np.testing.assert_allclose(da_dq[:3, :3], n**2 * np.diag([3, 0, -1]), atol=1e-12 * n**2)
    np.testing.assert_allclose(da_dv[:3, :3], n * np.array([[0, 2, 0], [-2, 0, 0], [0, 0, 0]]), atol=1e-13 * n)


def test_two_satellites_fall_as_kepler_says() -> None:
    rng = np.random.default_rng(0)
    m, time = satellite(CIRCULAR), 0.8 * CIRCULAR.period
    q0 = np.concatenate([rng.uniform(-500, 500, 3), [0, 0, 0, 1]])
    v0 = np.concatenate([rng.uniform(-0.3, 0.3, 3), np.zeros(3)])
    run = tt.simulate(m, [0.0, time], q0, v0, rtol=1e-12, atol=1e-10)
    q, v = CIRCULAR.state(q0, v0)
    # a point mass on an orbit of its own; q begins with the position, and the attitude is that of Hill's frame
    other = tt.Orbit.from_state(EARTH, q[:3], CIRCULAR.place[0] @ v[:3]).after(time)
    chief = CIRCULAR.after(time)
    expected = chief.place[0].T @ (other.place[1] - chief.place[1])
    np.testing.assert_allclose(run.q[-1, :3], expected, atol=1e-5)  # 1e-12 of 7e6 m, in both orbits
    n, t = CIRCULAR.mean_motion, time
    linear = q0[2] * np.cos(n * t) + v0[2] / n * np.sin(n * t)
    np.testing.assert_allclose(run.q[-1, 2], linear, atol=1.0)  # of second order: 500 m over 7e6 m, a few times


def test_inertial_motion_is_the_same() -> None:
    rng = np.random.default_rng(1)
    m, inertial = satellite(CIRCULAR), satellite(CIRCULAR.gravity)
    q0 = m.integrate(m.neutral(), np.concatenate([rng.normal(size=3), 0.2 * rng.normal(size=3)]))
    v0, time = 1e-3 * rng.normal(size=6), 2 * CIRCULAR.period
    run = tt.simulate(m, [0.0, time], q0, v0, rtol=1e-12, atol=1e-12)
    other = tt.simulate(inertial, [0.0, time], *CIRCULAR.state(q0, v0), rtol=1e-13, atol=1e-9)
    q, v = CIRCULAR.after(time).relative(other.q[-1], other.v[-1])
    np.testing.assert_allclose(run.q[-1, :3], q[:3], atol=1e-4)  # a few thousand roundings of 7e6 m
    turned = quaternion_log(quaternion_product(run.q[-1, 3:] * [-1, -1, -1, 1], q[3:]))
    assert np.abs(turned).max() < 1e-8
    np.testing.assert_allclose(run.v[-1], v, atol=1e-7)
    energy = np.array([m.energy(*state).total for state in zip(run.q, run.v, strict=True)])
    spin = np.array([m.momentum(*state)[5] for state in zip(run.q, run.v, strict=True)])
    jacobi = energy - CIRCULAR.mean_motion * spin
    assert abs(jacobi[1] - jacobi[0]) < 1e-9 * np.ptp(energy)  # of the integrator
    assert np.ptp(energy) > 1e-7  # which is not conserved


@pytest.mark.parametrize("anomaly", np.linspace(0.0, 2 * np.pi, 6))
def test_elliptic_orbits(anomaly: float) -> None:
    """Matrices of Tschauner and Hempel, and the pitch equation of Beletskii."""
    inertia = np.array([10.0, 25.0, 30.0])
    m = satellite(ELLIPTIC, inertia).with_parameters({"gravity.anomaly": anomaly})
    a, e = ELLIPTIC.semi_major_axis, ELLIPTIC.eccentricity
    p = a * (1 - e**2)
    r = p / (1 + e * np.cos(anomaly))
    w, k = np.sqrt(MU * p) / r**2, MU / r**3
    faster = -2 * k * e * np.sin(anomaly)
    da_dq, da_dv, _ = m.forward_dynamics_derivatives(*rest(m), np.zeros(6))
    expected = np.array([[w**2 + 2 * k, faster, 0], [-faster, w**2 - k, 0], [0, 0, -k]])
    np.testing.assert_allclose(da_dq[:3, :3], expected, atol=1e-12 * k)
    np.testing.assert_allclose(da_dv[:3, :3], w * np.array([[0, 2, 0], [-2, 0, 0], [0, 0, 0]]), atol=1e-13 * w)
    np.testing.assert_allclose(da_dq[5, 5], -3 * k * (inertia[1] - inertia[0]) / inertia[2], rtol=1e-12)
    np.testing.assert_allclose(m.forward_dynamics(*rest(m), np.zeros(6))[5], -faster, rtol=1e-11, atol=1e-12 * k)
    angle = 0.7
    at = m.integrate(m.neutral(), [0, 0, 0, 0, 0, angle]), np.zeros(6)
    pulled = 3 * k * (inertia[1] - inertia[0]) / inertia[2] * np.sin(angle) * np.cos(angle)
    np.testing.assert_allclose(m.forward_dynamics(*at, np.zeros(6))[5], -faster - pulled, rtol=1e-10)


def test_a_family_along_the_anomaly() -> None:
    """The torque that keeps pitch on Hill's frame is part of the trim; members are those of Tschauner and Hempel."""
    m, grid = satellite(ELLIPTIC), np.linspace(0.0, 2 * np.pi, 5)
    family = tt.lpv(m, {"gravity.anomaly": grid}, unknowns=["base.x.tau", "base.rz.tau"], inputs=["base.x.tau"])
    for anomaly in grid:
        there = m.with_parameters({"gravity.anomaly": anomaly})
        torque = there.inverse_dynamics(*rest(m), np.zeros(6))
        alone = tt.linearize(there, (m.neutral(), np.zeros(6), torque), inputs=["base.x.tau"])
        np.testing.assert_allclose(family.at({"gravity.anomaly": anomaly}).A, alone.A, atol=1e-15)  # of 1e-6


def test_parameters_follow() -> None:
    m = satellite(ELLIPTIC)
    values = {"gravity.anomaly": 2.1, "gravity.semi_major_axis": 9.5e6, "gravity.mu": 1.1 * MU}
    changed = tt.Orbit(tt.CentralGravity(1.1 * MU, RADIUS), 9.5e6, eccentricity=0.15, inclination=0.4, anomaly=2.1)
    rng = np.random.default_rng(0)
    q, v = m.integrate(m.neutral(), rng.normal(size=6)), 1e-3 * rng.normal(size=6)
    there = satellite(changed)
    for model in (
        m.with_parameters(values),
        m.with_parameters({"hub.mass": 90.0}).with_parameters({**values, "hub.mass": 100.0}),
    ):
        np.testing.assert_array_equal(model.forward_dynamics(q, v, 0 * v), there.forward_dynamics(q, v, 0 * v))
        np.testing.assert_array_equal(model.gravity_effects(q), there.gravity_effects(q))


@pytest.mark.parametrize("name", ["gravity.mu", "gravity.semi_major_axis", "gravity.eccentricity", "gravity.anomaly"])
def test_sensitivities_by_elements(name: str) -> None:
    m, rng = satellite(ELLIPTIC), np.random.default_rng(0)
    q, v, tau = m.integrate(m.neutral(), rng.normal(size=6)), 1e-3 * rng.normal(size=6), np.zeros(6)
    slopes = m.forward_dynamics_sensitivities(q, v, tau, [name])[name]
    value = m.parameters()[name][0]
    ahead, back = (m.with_parameters({name: (1 + side * 1e-4) * value}).forward_dynamics(q, v, tau) for side in (1, -1))
    difference = (ahead - back) / (2e-4 * value)
    np.testing.assert_allclose(slopes, difference, atol=1e-6 * np.abs(difference).max())  # the square of the step, and rounding
    assert np.abs(slopes).max() > 0


def test_a_dumbbell_is_pulled_apart() -> None:
    """Two masses on a spring along the radius: its stretch is some micrometres, at 7,000 km from the centre."""
    masses, length, stiffness = np.array([60.0, 20.0]), 10.0, 100.0
    s = tt.System("dumbbell", gravity=CIRCULAR)
    first, second = (tt.RigidBody(f"end{k}", mass=mass, inertia=1e-3) for k, mass in enumerate(masses))
    s.connect("world", first, tt.Free("base"))
    s.connect(first, second, tt.Prismatic("boom", axis=[1, 0, 0], stiffness=stiffness), [length, 0, 0])
    m = s.resolve()
    point = tt.trim(m)
    stretch = point.q[-1]
    assert 1e-6 < stretch < 1e-3

    r0, n2 = CIRCULAR.distance, CIRCULAR.mean_motion**2

    def pull(x: float) -> float:
        """Return ``n^2 r - mu / r^2`` at ``r0 + x``, without cancellation."""
        return float(n2 * x + n2 * r0 * (2 * r0 * x + x * x) / (r0 + x) ** 2)

    x, tension = point.q[0], stiffness * stretch
    np.testing.assert_allclose(masses[0] * pull(x), -tension, rtol=1e-9)
    np.testing.assert_allclose(masses[1] * pull(x + length + stretch), tension, rtol=1e-9)
    # to first order the tension is that of the reduced mass
    np.testing.assert_allclose(tension, masses.prod() / masses.sum() * 3 * n2 * (length + stretch), rtol=1e-5)


def test_large_libration() -> None:
    """Pitch swings as a pendulum of twice the angle: with a period by the complete elliptic integral."""
    inertia, largest = np.array([10.0, 25.0, 30.0]), 1.2
    m = satellite(CIRCULAR, inertia)
    rate = CIRCULAR.mean_motion * np.sqrt(3 * (inertia[1] - inertia[0]) / inertia[2])
    period = 4 * ellipk(np.sin(largest) ** 2) / rate
    start = m.integrate(m.neutral(), [0, 0, 0, 0, 0, largest])
    run = tt.simulate(m, [0.0, period / 4, period], start, np.zeros(6), rtol=1e-11, atol=1e-13)
    angles = 2 * np.arctan2(run.q[:, 5], run.q[:, 6])
    np.testing.assert_allclose(angles, [largest, 0.0, largest], atol=1e-9)  # of the integrator
    np.testing.assert_allclose(run.v[1, 5], -rate * np.sin(largest), rtol=1e-9)


def test_nonlinear_systems_of_python_control() -> None:
    control = pytest.importorskip("control")
    m = satellite(CIRCULAR)
    system = m.to_nlsys(inputs=["base.rz.tau"], outputs=["base.rz.q"])
    assert isinstance(system, control.NonlinearIOSystem)
    moved, v = np.array([0.1, 0, 0, 0.1, 0.2, 0.3]), 1e-3 * np.ones(6)
    rates = system.dynamics(0.0, np.concatenate([moved, v]), [0.5])
    expected = m.forward_dynamics(m.integrate(m.neutral(), moved), v, [0, 0, 0, 0, 0, 0.5])
    np.testing.assert_allclose(rates[6:], expected, rtol=1e-9, atol=1e-15)


def panels(gravity: Any) -> tt.Model:
    s = tt.System("panels", gravity=gravity)
    hub = tt.RigidBody("hub", mass=500.0, inertia=[200, 300, 350], ports={"left": [0, -1, 0], "right": [0, 1, 0]})
    s.connect("world", hub, tt.Free("base"))
    for name, side in (("left", -1.0), ("right", 1.0)):
        shape = np.array([[0, 0, 30.0, 0, 0, 0]])
        shape[0, 3:] = [side * 60.0, 0, 0]
        panel = tt.FlexibleBody(
            name + "_panel", 30.0, [0, 2.0 * side, 0], [60.0, 2.0, 60.0], [0.5], shape / 7, damping_ratios=0.0
        )
        s.connect(hub.port(name), panel, tt.Weld(f"mount_{name}"))
    return s.resolve()


def test_flexible_panels() -> None:
    """Poles of panels are those of a free satellite, shifted by the gradient: by ``n^2 / omega`` at most."""
    about, free = panels(CIRCULAR), panels([0.0, 0.0, 0.0])
    point = tt.trim(about)
    n = CIRCULAR.mean_motion
    here, there = (np.sort(np.abs(tt.linearize(m, at).poles().imag))[-4:] for m, at in ((about, point), (free, rest(free))))
    shifts = (here - there) * there / n**2
    assert (np.abs(shifts) < 10).all()
    assert (np.abs(shifts) > 1e-3).all()
    deflection = point.q[7:]
    assert np.isfinite(deflection).all()
    moved = about.integrate(point.q, np.concatenate([np.zeros(6), [1e-6, -1e-6]]))
    period = 2 * np.pi / there[-1]
    run = tt.simulate(about, [0.0, period / 2], moved, np.zeros(about.nv), rtol=1e-11, atol=1e-16)
    swing = (run.q[-1] - point.q)[7:]
    # a mode of both against each other swings to its other side, a micrometre: what the hub takes is of the other mode
    np.testing.assert_allclose(swing[0] - swing[1], -2e-6, rtol=1e-4)


def test_what_time_does_not_allow() -> None:
    m = satellite(ELLIPTIC)
    with refusal("elliptic-orbit", "gravity.eccentricity"):
        tt.simulate(m, [0.0, 1.0], *rest(m))
    with refusal("elliptic-orbit", "gravity.eccentricity"):
        m.inverse_dynamics_series(m.neutral(), np.zeros((3, 6)))
    with refusal("elliptic-orbit", "gravity.eccentricity"):
        m.to_nlsys(inputs=["base.rz.tau"])
    oblate = satellite(tt.Orbit(tt.CentralGravity(MU, RADIUS, j2=1e-3), altitude=7e5))
    with pytest.warns(tt.ModelWarning, match="oblate-orbit"):
        tt.simulate(oblate, [0.0, 1.0], *rest(oblate))


def test_elements_are_refused_in_fractional_models() -> None:
    m = satellite(CIRCULAR)
    for name in ("gravity.mu", "gravity.semi_major_axis", "gravity.anomaly"):
        with refusal("not-rational", "parameters"):
            value = m.parameters()[name][0]
            tt.lft(m, tt.trim(m), {name: (0.9 * value, 1.1 * value)}, inputs=["base.rz.tau"], outputs=["base.rz.q"])


def hinged() -> tt.Model:
    s = tt.System("hinged", gravity=CIRCULAR)
    hub = tt.RigidBody("hub", mass=100.0, inertia=[10, 25, 30], ports={"A": [0, 1, 0]})
    panel = tt.RigidBody("panel", mass=5.0, com=[0, 1, 0], inertia=[2, 0.1, 2])
    s.connect("world", hub, tt.Free("base"))
    s.connect(hub.port("A"), panel, tt.Revolute("hinge", axis=[1, 0, 0], stiffness=0.01, damping=1e-4))
    s.add_sensor(tt.Gyro("gyro", hub))
    s.add_sensor(tt.Accelerometer("accelerometer", panel))
    return s.resolve()


def linked() -> tt.Model:
    s = tt.System("linked", gravity=CIRCULAR)
    hub = tt.RigidBody("hub", mass=100.0, inertia=[10, 25, 30], ports={"A": [0, 1, 0], "B": [1, 1, 0]})
    s.connect("world", hub, tt.Free("base"))
    bars = [
        tt.RigidBody(f"bar{k}", mass, [length / 2, 0, 0], 0.1, ports={"end": [length, 0, 0]})
        for k, (mass, length) in enumerate([(2.0, 1.0), (3.0, 1.2), (1.0, 0.8)])
    ]
    s.connect(hub.port("A"), bars[0], tt.Revolute("hinge", stiffness=0.02, damping=1e-4, rest=0.7))
    s.connect(bars[0].port("end"), bars[1], tt.Revolute("elbow", stiffness=0.03))
    s.connect(hub.port("B"), bars[2], tt.Revolute("crank", stiffness=0.01))
    s.close_loop(bars[1].port("end"), bars[2].port("end"), tt.RigidClosure("pin", kind="planar_revolute"))
    return s.resolve()


@pytest.mark.parametrize(
    ("build", "mass", "outputs"),
    [
        (hinged, "panel.mass", ["hinge.q", "hub.A.v", "hub.A.w", "hub.A.dv", "hub.A.r", "gyro", "accelerometer"]),
        (linked, "bar1.mass", ["hinge.q", "base.rz.q", "hub.v[0]", "bar1.dv[1]"]),
    ],
)
def test_fractional_models_are_exact(build: Any, mass: str, outputs: list[str]) -> None:
    m = build()
    start = m.neutral()
    if m.is_constrained:
        start = m.assemble(m.configuration({"hinge": 0.7, "elbow": -0.9, "crank": 1.2}))
    point = tt.trim(m, q=start)
    nominal = m.parameters()[mass][0]
    ends: dict[str, Any] = {"inputs": ["hinge.tau", "base.rz.tau"], "outputs": outputs}
    family = tt.lft(m, point, {mass: tt.percent(20), "hinge.stiffness": tt.percent(50)}, **ends)
    values = {mass: 1.14 * nominal, "hinge.stiffness": 0.8 * m.parameters()["hinge.stiffness"][0]}
    alone = tt.linearize(m.with_parameters(values), family.operating_point(values), **ends)
    for rate in (1e-4, 0.7 * CIRCULAR.mean_motion, 0.02):
        member, expected, middle = (each(1j * rate) for each in (family.at(values), alone, family.nominal))
        sizes = np.abs(expected).max(axis=1) + 1e-6 * np.abs(expected).max()  # some outputs are zero but for rounding
        # rounding of the matrices, 1e-15 of n^2, over the distance from a double pole at zero
        assert (np.abs(member - expected).max(axis=1) / sizes).max() < 1e-7
        assert (np.abs(middle - expected).max(axis=1) / sizes).max() > 1e-3  # negative control


def test_uncertain_oblateness_is_not_read_by_accelerometers() -> None:
    """Beside an output that is large what is inexact in their reading would not show."""
    m = hinged()
    ends: dict[str, Any] = {"inputs": ["hinge.tau"], "outputs": ["hub.A.r", "accelerometer"]}
    with refusal("inexact-output", "outputs"):
        tt.lft(m, tt.trim(m), {"gravity.j2": (0.0, 1e-3)}, **ends)
    assert tt.lft(m, tt.trim(m), {"gravity.j2": (0.0, 1e-3)}, **ends | {"outputs": ["hub.A.r"]}).check(2) < 1e-9


def test_blocks_of_a_field_are_not_cut_out() -> None:
    m = satellite(CIRCULAR)
    with refusal("block-in-field", "hub"):
        tt.block_system(m, m.neutral(), "hub")


def test_the_reference_agrees() -> None:
    s = tt.System("panels", gravity=ELLIPTIC)
    hub = tt.RigidBody(
        "hub", mass=50.0, com=[0.1, 0, 0.2], inertia=[20, 30, 35], ports={"left": [0, -1, 0], "right": [0, 1, 0]}
    )
    s.connect("world", hub, tt.Free("base"))
    s.connect(hub.port("left"), tt.Beam("boom", 6.0, 2700.0, 1e-4, 7e10, iy=1e-9, iz=1e-9), tt.Revolute("hinge"))
    s.connect(hub.port("right"), tt.Rod("whip", 5.0, tt.Section.circle(0.01), 1e7, 1000.0, basis=1), tt.Weld("root"))
    m, reference = s.resolve(), s.resolve(engine="reference")
    rng = np.random.default_rng(0)
    q, v = m.integrate(m.neutral(), 0.1 * rng.normal(size=m.nv)), 1e-2 * rng.normal(size=m.nv)
    tau = m.inverse_dynamics(q, v, np.zeros(m.nv))
    np.testing.assert_allclose(reference.inverse_dynamics(q, v, np.zeros(m.nv)), tau, rtol=1e-9, atol=1e-12 * np.abs(tau).max())
    weights = [each.gravity_effects(q) for each in (m, reference)]
    np.testing.assert_allclose(*weights, rtol=1e-8, atol=1e-11 * np.abs(weights[0]).max())
    np.testing.assert_allclose(m.energy(q, v), reference.energy(q, v), rtol=1e-9)
    h = 1e-6
    along = rng.normal(size=m.nv)
    ahead, back = (m.energy(m.integrate(q, side * h * along), 0 * v).gravity for side in (1, -1))
    # half the square of the step of an energy that is quadratic in places, and rounding over the step
    np.testing.assert_allclose((ahead - back) / (2 * h), m.gravity_effects(q) @ along, rtol=1e-5)
