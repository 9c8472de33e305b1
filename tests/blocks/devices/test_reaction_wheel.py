"""Reaction wheels trade momentum."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import titop as tt
from titop.graph.files.saving import to_text


def test_a_wheel_trades_momentum_with_its_satellite():
    """Without other forces the total stays zero: hub and wheel turn against each other."""
    s = tt.System("spin", gravity=[0, 0, 0])
    hub = tt.RigidBody("hub", 10, inertia=[1, 1, 2])
    s.connect("world", hub, tt.Revolute("yaw"))
    s.add_actuator(tt.ReactionWheel("wheel", hub, [0, 0, 1], inertia=0.1, mass=1.0))
    m = s.resolve()
    trajectory = tt.simulate(m, np.linspace(0, 10, 11), [0, 0], [0, 0], u={"wheel/motor": 0.02})
    yaw, wheel = trajectory.v[-1]
    assert wheel + yaw == pytest.approx(0.02 * 10 / 0.1, rel=1e-8)  # spin of the rotor in inertial space
    assert 2.0 * yaw + 0.1 * (wheel + yaw) == pytest.approx(0, abs=1e-8)
    assert trajectory.outputs()[-1, 0] == pytest.approx(0.1 * wheel)


def wheeled(inertia: float = 0.1) -> tt.System:
    s = tt.System("wheeled", gravity=[0, 0, 0])
    hub = tt.RigidBody("hub", 1.0, inertia=1.0)
    s.connect("world", hub, tt.Free("base"))
    s.add_actuator(tt.ReactionWheel("rw", hub, [0, 0.6, 0.8], inertia=inertia, mass=0.1))
    return s


@pytest.mark.parametrize("engine", ["compiled", "reference"])
def test_the_momentum_that_is_read_follows_the_rotors_inertia(engine: str) -> None:
    """As read of a wheel that was built so, also in linear models."""
    model, built = wheeled().resolve(engine), wheeled(0.3).resolve(engine)
    tripled = model.with_parameters(
        {f"rw/rotor.{p}": v[0] for p, v in built.mechanism.assembly.blocks["rw/rotor"].parameters().items()}
    )
    q, v, a = model.neutral(), [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 2.0], np.zeros(7)
    assert model.outputs(q, v, a) == pytest.approx([0.1 * 2.0], rel=1e-14)
    assert tripled.outputs(q, v, a) == pytest.approx([0.3 * 2.0], rel=1e-14)
    assert tt.linearize(tripled, q, inputs=["rw/motor"], outputs=["rw/momentum"]).C[0, -1] == pytest.approx(0.3, rel=1e-14)


@pytest.mark.parametrize("name", ["rw/rotor.inertia.zz", "rw.inertia"])
def test_uncertain_rotors_are_not_read_by_their_nominal_inertia(name: str) -> None:
    model = wheeled().resolve()
    with pytest.raises(tt.ModelError, match=r"rw/momentum.*inexact-output"):
        tt.lft(model, model.neutral(), {name: tt.percent(20)}, ["rw/motor"], ["rw/momentum"])
    family = tt.lft(model, model.neutral(), {"hub.inertia.zz": tt.percent(20)}, ["rw/motor"], ["rw/momentum"])
    assert family.check(4) < 1e-12


def test_a_wheel_on_a_port_of_its_own_is_weighed_about_its_axis() -> None:
    s = tt.System("off centre", gravity=[0, 0, 0])
    wheel = tt.RigidBody("wheel", 2.0, com=[0.1, 0.2, 0], inertia=1.0, ports={"axle": [0.3, 0.1, 0.2]})
    s.connect("world", wheel.port("axle"), tt.Revolute("bearing", axis=[0, 1, 0]))
    s.add_sensor(tt.WheelMomentum("momentum", "bearing"))
    model = s.resolve()
    assert model.outputs([0.2], [1.5], [0.0]) == pytest.approx(1.5 * model.mass_matrix([0.2])[0], rel=1e-14)


def test_parts_follow_what_is_set_later() -> None:
    wheel = tt.ReactionWheel("wheel", tt.RigidBody("hub", 1.0), [0, 0, 1], 0.1, 2.0)
    rotor, bearing, motor = wheel["rotor"], wheel[""], wheel["motor"]
    wheel.mass, wheel.axis, wheel.inertia, wheel.torque_limit = 3.0, [1, 0, 0], 0.2, 0.5
    assert (rotor.mass, motor.upper, rotor.inertia[0, 0], rotor.inertia[2, 2]) == (3.0, 0.5, 0.2, 0.1)
    assert bearing.axis.tolist() == [1, 0, 0]
    with pytest.raises(tt.ModelError, match=r"wheel.target.*cannot-change"):
        wheel.target = tt.RigidBody("other", 1.0)


# Imbalance, harmonics and the limit of the speed.

UNBALANCED = {"transverse_inertia": 0.08, "static_imbalance": 2e-3, "dynamic_imbalance": 3e-3, "phase": 0.4, "damping": 1e-3}
HARMONICS = [(2.0, 1e-4, 2e-4), (5.25, 3e-5, 0.0)]
SLANTED = np.array([0.1, 0.3, 1.0])


def satellite(base: tt.Joint | None = None, **fields: Any) -> tt.System:
    """Return a hub with an unbalanced wheel, free or on another joint."""
    s = tt.System("satellite", gravity=[0, 0, 0])
    hub = tt.RigidBody("hub", 20.0, com=[0, 0.02, 0], inertia=[2.0, 1.5, 1.0], ports={"wheel": [0.2, 0.1, -0.1]})
    s.connect("world", hub, tt.Free("base") if base is None else base)
    s.add_device(tt.ReactionWheel("wheel", hub.port("wheel"), SLANTED, 0.1, 3.0, 0.2, **{**UNBALANCED, **fields}))
    return s


def rotated(angle: float) -> tuple[np.ndarray, np.ndarray]:
    """Return the spin axis, and the direction at an angle about it from the port's x axis: the one that follows z."""
    spin = SLANTED / np.linalg.norm(SLANTED)
    radial = np.array([1.0, 0, 0]) - spin[0] * spin
    radial /= np.linalg.norm(radial)
    return spin, Rotation.from_rotvec(angle * spin).apply(radial)


@pytest.mark.parametrize("engine", ["compiled", "reference"])
def test_engines_agree_with_bodies_written_out(engine: str) -> None:
    """Of a rotor whose inertia is that of point masses on a balanced one, weighed by themselves."""
    spin, radial = rotated(UNBALANCED["phase"])
    s = tt.System("by hand", gravity=[0, 0, 0])
    hub = tt.RigidBody("hub", 20.0, com=[0, 0.02, 0], inertia=[2.0, 1.5, 1.0], ports={"wheel": [0.2, 0.1, -0.1]})
    ahead, axes = np.cross(spin, radial), np.column_stack([spin, radial, np.cross(spin, radial)])
    inertia = axes @ np.array([[0.1, 0, 3e-3], [0, 0.08, 0], [3e-3, 0, 0.08]]) @ axes.T
    assert spin @ inertia @ ahead == pytest.approx(3e-3)
    s.connect("world", hub, tt.Free("base"))
    rotor = tt.RigidBody("rotor", 3.0, com=2e-3 / 3.0 * radial, inertia=inertia)
    s.connect(hub.port("wheel"), rotor, tt.Revolute("wheel", axis=SLANTED, damping=1e-3))
    rng, model, expected = np.random.default_rng(0), satellite().resolve(engine), s.resolve(engine)
    q, v, tau = model.random_configuration(rng), rng.normal(size=7), rng.normal(size=7)
    assert model.forward_dynamics(q, v, tau) == pytest.approx(expected.forward_dynamics(q, v, tau), rel=1e-13)


def test_momentum_stays_what_it_is_whatever_the_motor_does() -> None:
    """Of an unbalanced rotor, exactly; the loads of steady spin act on the hub alone, and do not keep it."""
    lost = []
    for jitter in ("coupled", "force"):
        m = satellite(jitter=jitter).resolve()
        start = m.neutral(), m.velocity({"wheel": 60.0})
        run = tt.simulate(m, np.linspace(0, 2, 21), *start, u={"wheel/motor": 0.2}, rtol=1e-13, atol=1e-14)
        momentum = np.array([m.momentum(q, v) for q, v in zip(run.q, run.v, strict=True)])
        lost.append(np.abs(momentum - momentum[0]).max() / np.abs(momentum[0]).max())
    assert lost[0] < 1e-12  # the integrator's tolerance, some hundred steps
    assert lost[1] > 1e-4  # 7 N of 60 rad/s turn, with what they leave over a part of a turn


@pytest.mark.parametrize("engine", ["compiled", "reference"])
def test_both_kinds_of_jitter_load_a_held_hub_alike(engine: str) -> None:
    """At steady spin, with force ``U_s v^2`` along the mass centre and torque ``U_d v^2`` beside it."""
    angle, speed = 0.7, 50.0
    _, radial = rotated(UNBALANCED["phase"] + angle)
    force, torque = 2e-3 * speed**2 * radial, 3e-3 * speed**2 * radial
    expected = -np.concatenate([force, torque + np.cross([0.2, 0.1, -0.1], force)])
    for jitter in ("coupled", "force"):
        m = satellite(tt.Weld("base"), jitter=jitter).resolve(engine)
        assert m.reaction("base", [angle], [speed], [0.0]) == pytest.approx(expected, rel=1e-12, abs=1e-12)
    m = satellite(tt.Weld("base"), jitter=None).resolve(engine)
    assert np.abs(m.reaction("base", [angle], [speed], [0.0])).max() < 1e-12


@pytest.mark.parametrize("engine", ["compiled", "reference"])
def test_a_balanced_wheel_resists_by_its_momentum(engine: str) -> None:
    """The torque on a hub that turns at w is ``-w x h``."""
    m = satellite(tt.Revolute("base", axis=[0, 1, 0]), jitter=None).resolve(engine)
    w, (spin, _) = np.array([0, 0.3, 0]), rotated(0.0)
    turning = [m.reaction("base", [0.2, 0.5], [0.3, speed], [0.0, 0.0])[3:] for speed in (0.0, 80.0)]
    assert turning[1] - turning[0] == pytest.approx(np.cross(w, 0.1 * 80.0 * spin), rel=1e-11)


def test_harmonics_turn_by_their_orders() -> None:
    m = satellite(tt.Weld("base"), jitter=None, harmonics=HARMONICS, phase=0.0).resolve()
    speed, angles = 40.0, np.linspace(0, 2 * np.pi, 800, endpoint=False)
    forces = -np.array([m.reaction("base", [4 * angle], [speed], [0.0])[:3] for angle in angles])  # four turns
    spin, radial = rotated(0.0)
    lines = np.abs(np.fft.fft(forces @ radial + 1j * forces @ np.cross(spin, radial))) / len(angles)
    assert {int(k): round(float(lines[k]), 12) for k in np.flatnonzero(lines > 1e-9)} == {8: 0.16, 21: 0.048}


def test_a_wheel_at_its_limit_is_driven_no_faster_and_brakes() -> None:
    s = satellite(tt.Weld("base"), jitter=None, speed_limit=30.0, damping=0.0)
    m, times = s.resolve(), np.linspace(0, 40, 401)
    run = tt.simulate(m, times, [0.0], [0.0], u=lambda t, q, v: [0.2 if t < 20 else -0.1])
    speed = run.v[:, 0]
    assert speed[times < 14] == pytest.approx(2.0 * times[times < 14], rel=1e-9)  # 0.2 N m on 0.1 kg m^2
    assert speed[(times > 16) & (times <= 20)].min() > 30.0
    assert speed.max() == pytest.approx(30.03, rel=1e-6)  # where all of the torque is gone; steps end near there
    assert speed[times > 20.2] == pytest.approx(speed[202] - 1.0 * (times[times > 20.2] - times[202]), abs=1e-3)
    fast = m.forward_dynamics([0.0], [60.0], [0.0])
    assert fast[0] == pytest.approx(-2.0)  # a motor brakes with no more than its torque


def test_a_run_that_starts_above_the_limit_says_so() -> None:
    m = satellite(tt.Weld("base"), jitter=None, speed_limit=30.0).resolve()
    with pytest.warns(tt.ModelWarning, match=r"wheel\.speed_limit: got -31 rad/s; expected.*30 rad/s.*is braked"):
        tt.simulate(m, [0, 0.1], [0.0], [-31.0])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tt.simulate(m, [0, 0.1], [0.0], [30.03])  # where its motor leaves the wheel


# Loads that turn disturb: what is linear leaves them out.

JITTERING = {"jitter": "force", "harmonics": HARMONICS, "damping": 0.0}
LINEAR: dict[str, Any] = {"inputs": ["wheel/motor", "hub.wheel"], "outputs": ["hub.w", "hub.dv", "wheel/momentum"]}


def at_angle(m: tt.Model, angle: float, speed: float = 300.0) -> tt.OperatingPoint:
    return tt.OperatingPoint(m, m.configuration({"wheel": angle}), m.velocity({"wheel": speed}))


def differences(first: Any, second: Any) -> float:
    """Return the largest difference of the matrices of two linear models, of entries up to some thousands."""
    return max(float(np.abs(getattr(first, name) - getattr(second, name)).max()) for name in "ABCD")


@pytest.mark.filterwarnings("error")
def test_wheels_that_jitter_spin_in_equilibrium() -> None:
    """That of a balanced wheel, whose linear model theirs is, at every angle, which is no state that anything depends on."""
    m, balanced = (satellite(**fields).resolve() for fields in (JITTERING, {"jitter": None, "damping": 0.0}))
    point = tt.trim(m, v={"wheel": 300.0})
    assert point.model is m
    assert point.stability == tt.trim(balanced, v={"wheel": 300.0}).stability == "neutral"
    expected = tt.linearize(balanced, at_angle(balanced, 0.0), **LINEAR, omit=["wheel.q"])
    assert np.abs(expected.A).max() > 10  # the wheel's gyroscopic coupling
    for angle in (0.0, 1.0, 2.5):
        system = tt.linearize(m, at_angle(m, angle), **LINEAR, omit=["wheel.q"])
        assert differences(system, expected) < 1e-12  # rounding of 300 rad/s squared over 0.1 of the hub's inertia
        assert np.abs(tt.linear_matrices(m, at_angle(m, angle))[0][:, 6]).max() < 1e-12
    frequencies, right = (np.sort(np.abs(each.poles())) for each in (system, expected))
    assert frequencies == pytest.approx(right, abs=1e-5)  # the root of rounding: zeros are defective
    assert np.abs(m.forward_dynamics(point.q, point.v)).max() > 1  # m/s^2 of 180 N of imbalance
    reference = satellite(**JITTERING).resolve("reference")
    assert np.abs(tt.linear_matrices(reference, at_angle(reference, 1.0))[0] - point.state_matrices[1]).max() < 1e-12


def test_imbalance_of_mass_has_no_equilibrium_and_a_model_that_turns() -> None:
    """The negative control."""
    m = satellite(damping=0.0).resolve()
    with pytest.raises(tt.ConvergenceError):
        tt.trim(m, v={"wheel": 300.0}, max_iterations=10)
    with pytest.warns(tt.ModelWarning, match="no-equilibrium"):
        systems = [tt.linearize(m, at_angle(m, angle), **LINEAR) for angle in (0.0, 1.0)]
    assert differences(*systems) > 1.0
    with pytest.raises(tt.ModelError, match="not-omissible"):
        tt.linearize(m, at_angle(m, 0.0), **LINEAR, omit=["wheel.q"])


@pytest.mark.filterwarnings("error")
def test_families_of_wheels_that_jitter() -> None:
    """Over the wheel's speed, along which the angle stays where it is, and of uncertain masses."""
    m, linear = satellite(**JITTERING).resolve(), {**LINEAR, "omit": ["wheel.q"]}
    family = tt.lpv(m, {"wheel.v": [100.0, 200.0, 300.0]}, v={"wheel": 100.0}, **linear)
    assert np.abs(family.q[:, 7]).max() < 1e-9  # rad
    balanced = satellite(jitter=None, damping=0.0).resolve()
    expected = tt.linearize(balanced, at_angle(balanced, 0.0, 300.0), **linear)
    assert differences(family.at(wheel_v=300.0), expected) < 1e-12
    assert family.trim_at(wheel_v=150.0, model=m).model is m
    points = tt.trim_along(m, "wheel.v", [100.0, 300.0], v={"wheel": 100.0})
    assert [point.model is m for point in points] == [True, True]
    assert differences(tt.lpv(m, {"wheel.v": [100.0, 300.0]}, points=points, **linear).at(wheel_v=300.0), expected) < 1e-12
    linear["outputs"] = ["hub.w", "hub.dv"]  # what reads the momentum reads the nominal inertia
    fractional = tt.lft(m, points[1], {"hub.mass": tt.percent(10), "wheel.inertia": tt.percent(5)}, **linear)
    assert fractional.check(3) < 1e-11  # rounding of sums whose terms cancel
    values = {"hub.mass": 21.0, "wheel.inertia": 0.102}
    changed = m.with_parameters(values)
    response, right = fractional.at(values)(2j), tt.linearize(changed, at_angle(changed, 0.4), **linear)(2j)
    assert np.abs(response - right).max() < 1e-12 * np.abs(right).max()
    assert tt.modes(m, points[1]).frequency.max() == pytest.approx(tt.modes(balanced, at_angle(balanced, 0.0)).frequency.max())


def test_harmonic_loads_are_those_on_the_port() -> None:
    """Of a held hub in steady spin of either sense, at several angles: what the jitter adds to the reaction at its root."""
    for speed in (40.0, -40.0):
        m, still = (satellite(tt.Weld("base"), **fields).resolve() for fields in (JITTERING, {"jitter": None}))
        loads = m.mechanism.assembly.devices[0].harmonic_loads(speed)
        assert loads.frequency == pytest.approx([40.0, 80.0, 210.0])
        for t in (0.0, 0.011, 0.3):
            state = [speed * t], [speed], [0.0]
            added = still.reaction("base", *state) - m.reaction("base", *state)  # what the root need not carry
            turn = np.exp(1j * loads.frequency * t)
            force, torque = (turn @ loads.force).real, (turn @ loads.torque).real
            torque = torque + np.cross([0.2, 0.1, -0.1], force)
            assert added == pytest.approx(np.concatenate([force, torque]), rel=1e-12, abs=1e-12)
    hub = tt.RigidBody("hub", 1.0)
    coupled, without = (tt.ReactionWheel("w", hub, SLANTED, 0.1, 3.0, **UNBALANCED, jitter=kind) for kind in ("coupled", None))
    assert coupled.harmonic_loads(40.0).force == pytest.approx(loads.force[:1].conj())
    assert len(without.harmonic_loads(40.0).frequency) == 0


def test_jitter_enters_linear_models_at_the_wheels_port() -> None:
    """The hub, at rest on the mean, moves as the response to the harmonic loads says."""
    m = satellite(tt.Revolute("base", axis=[0, 1, 0], stiffness=200.0, damping=20.0), **JITTERING).resolve()
    speed, wheel = 60.0, m.mechanism.assembly.devices[0]
    point = tt.trim(m, v={"wheel": speed})
    system = tt.linearize(m, point, inputs=["hub.wheel"], outputs=["base.q"], omit=["wheel.q"])
    loads = wheel.harmonic_loads(speed)
    wrenches = np.hstack([loads.force, loads.torque])
    t = np.linspace(2.0, 2.2, 30)  # s: after 10 time constants and more
    expected = sum(
        (system(1j * frequency)[0] @ wrench * np.exp(1j * frequency * t)).real
        for frequency, wrench in zip(loads.frequency, wrenches, strict=True)
    )
    run = tt.simulate(m, [0.0, *t], point.q, point.v, rtol=1e-9, atol=1e-12)
    assert np.abs(expected).max() > 1e-4
    assert np.abs(run.q[1:, 0] - expected).max() < 1e-2 * np.abs(expected).max()  # the wheel's rate varies by the hub's


def test_jitter_gains_do_not_enter_linear_models() -> None:
    m = satellite(**JITTERING, jitter_gain=0.5).resolve()
    smooth = m.undisturbed
    assert smooth.undisturbed is smooth
    q, v = m.neutral(), m.velocity({"wheel": 300.0})
    still = smooth.with_parameters({"wheel.jitter_gain": 2.0}).forward_dynamics(q, v)
    assert np.abs(still).max() < 1e-12  # rounding; jitter gives metres per second squared
    with pytest.raises(tt.ModelError, match=r"wheel.jitter_gain.*"):
        tt.lft(m, tt.trim(m, v={"wheel": 300.0}), {"wheel.jitter_gain": tt.percent(10)}, **LINEAR)
    plant = m.to_nlsys(["wheel/motor"], ["base.v"], point=tt.OperatingPoint(m, q, v))
    assert plant.dynamics(0.0, np.concatenate([np.zeros(7), v]), [0.0])[7:] == pytest.approx(m.forward_dynamics(q, v))
    by_q = m.forward_dynamics_derivatives(q, v, np.zeros(7))[0]
    assert np.abs(by_q[:, 6]).max() > 1.0  # derivatives of functions are exact ones of what these have
    ahead, behind = (m.forward_dynamics(m.configuration({"wheel": e}), v) for e in (1e-5, -1e-5))
    assert by_q[:, 6] == pytest.approx((ahead - behind) / 2e-5, rel=1e-6)


@pytest.mark.parametrize("name", ["static_imbalance", "dynamic_imbalance", "inertia", "transverse_inertia"])
def test_uncertain_imbalance_is_that_of_changed_wheels(name: str) -> None:
    m, signals = satellite().resolve(), {"inputs": ["wheel/motor"], "outputs": ["hub.w"]}
    family = tt.lft(m, m.neutral(), {f"wheel.{name}": tt.percent(10)}, **signals)
    at = {f"wheel.{name}": 1.07 * m.parameters()[f"wheel.{name}"][0]}
    expected = tt.linearize(m.with_parameters(at), m.neutral(), **signals)
    found, right = family.at(at)(2j), expected(2j)
    assert np.abs(found - right).max() < 1e-12 * np.abs(right).max()
    assert np.abs(family.at()(2j) - right).max() > 1e-9 * np.abs(right).max()


def test_families_of_spinning_wheels_on_free_bodies() -> None:
    """Most of their poles are zero, but for rounding, which is no measure of how fast they are."""
    s = tt.System("s", gravity=[0, 0, 0])
    hub = tt.RigidBody("hub", 100.0, com=[0.1, 0, 0], inertia=10.0, ports={"A": [0.3, 0, 0.1]})
    s.connect("world", hub, tt.Free("base"))
    s.add_device(tt.ReactionWheel("w", hub.port("A"), [0, 0, 1], 0.1, 5.0, transverse_inertia=0.06))
    m = s.resolve()
    point = tt.OperatingPoint(m, m.neutral(), m.velocity({"w": 50.0}))
    family = tt.lft(m, point, {"w.mass": tt.percent(3)}, ["w/motor"], ["base.q[0]", "base.v", "w.v"])
    assert family.check(3) < 1e-11  # rounding of sums whose terms cancel


def test_files_keep_every_field() -> None:
    s = satellite(jitter=None, harmonics=HARMONICS, speed_limit=400.0, friction=tt.Friction(coulomb=1e-3), jitter_gain=0.5)
    text = to_text(s)
    assert to_text(tt.load(text)) == text
    assert tt.load(text).resolve().parameters() == s.resolve().parameters()


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"mass": 0.0, "static_imbalance": 1e-3}, "static_imbalance.*a rotor with mass"),
        ({"dynamic_imbalance": 0.01}, "dynamic_imbalance.*some distribution of mass has"),
        ({"speed_limit": 100.0}, "speed_limit.*torque_limit"),
        ({"speed_limit": 0.0, "torque_limit": 1.0}, "speed_limit.*a limit > 0"),
        ({"jitter": "loud"}, "jitter: got loud"),
        ({"harmonics": [(1, 2)]}, "harmonics"),
        ({"harmonics": [(1, 1e-4, 0), (0, 1e-4, 0)]}, "harmonics.*other than zero"),
        ({"damping": -1.0}, "damping.*>= 0"),
    ],
)
def test_wrong_wheels_are_refused(fields: dict[str, Any], said: str) -> None:
    s, hub = tt.System("s"), tt.RigidBody("hub", 1.0, inertia=1.0)
    s.connect("world", hub, tt.Free("base"))
    s.add_device(wheel := tt.ReactionWheel("w", hub, [0, 0, 1], **{"inertia": 0.1, "mass": 1.0, **fields}))
    with pytest.raises(tt.ModelError, match=f"w.{said}"):
        s.check()
    with pytest.raises(tt.ModelError, match=f"w.{said}"):
        wheel.harmonic_loads(1.0)


@pytest.mark.parametrize("speed", [np.nan, "fast", [1.0, 2.0], None, 1j])
def test_wrong_speeds_have_no_loads(speed: Any) -> None:
    wheel = tt.ReactionWheel("w", tt.RigidBody("hub", 1.0), [0, 0, 1], 0.1, 1.0, static_imbalance=1e-6)
    with pytest.raises(tt.ModelError, match=r"w\.speed"):
        wheel.harmonic_loads(speed)
    assert wheel.harmonic_loads(np.array(5)).frequency == [5.0]


def test_a_slight_product_of_inertia_of_a_disc_raises_no_warning() -> None:
    """A tilted disc has one; the moments differ by the square of the tilt."""
    s, hub = tt.System("s"), tt.RigidBody("hub", 1.0, inertia=1.0)
    s.connect("world", hub, tt.Free("base"))
    s.add_device(tt.ReactionWheel("w", hub, [0, 0, 1], 0.1, 1.0, dynamic_imbalance=2e-5, static_imbalance=1e-6))
    assert s.check() == []
