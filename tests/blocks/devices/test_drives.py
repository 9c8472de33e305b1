"""Motors with windings and steppers, against state spaces and closed forms written here."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.linalg import expm

import titop as tt
from tests.refusals import ENGINES

INERTIA, ROTOR, GEAR, VISCOUS = 0.5, 1e-3, 10.0, 0.05
R, KT, KE = 2.0, 0.1, 0.12


def driven(actuator: Any, damping: float = VISCOUS) -> tt.System:
    """Return a wheel on a fixed axis with an actuator on its shaft."""
    s = tt.System("drive", gravity=[0, 0, 0])
    s.connect("world", tt.RigidBody("wheel", mass=1.0, inertia=INERTIA), tt.Revolute("shaft", damping=damping))
    s.add_actuator(actuator)
    return s


def motor(inductance: float = 0.0, **more: Any) -> tt.DCMotor:
    more = {"back_emf": KE} | more
    return tt.DCMotor("motor", "shaft", R, KT, inductance=inductance, gear=GEAR, rotor_inertia=ROTOR, **more)


def stepper(**more: Any) -> tt.StepperDrive:
    return tt.StepperDrive("drive", "shaft", 200, 0.1, 0.02, gear=5.0, rotor_inertia=ROTOR, damping=1e-3, **more)


@pytest.mark.parametrize("engine", ENGINES)
def test_motor_is_its_state_space(engine: str) -> None:
    """Angle, speed and current by the equations of a textbook."""
    J, L = INERTIA + GEAR**2 * ROTOR, 0.01
    A = [[0, 1, 0], [0, -VISCOUS / J, GEAR * KT / J], [0, -KE * GEAR / L, -R / L]]
    system = tt.linearize(
        driven(motor(L)).resolve(engine=engine), [0.3], inputs=["motor"], outputs=["shaft.q", "motor.current"]
    )
    np.testing.assert_allclose(system.A, A, rtol=1e-13)  # a product or two of each number
    np.testing.assert_allclose(system.B, [[0], [0], [1 / L]], rtol=1e-13)
    np.testing.assert_allclose(system.C, np.eye(3)[[0, 2]], atol=1e-15)
    stiff = tt.linearize(driven(motor()).resolve(engine=engine), [0.3], inputs=["motor"], outputs=["motor.current"])
    np.testing.assert_allclose(stiff.A, [[0, 1], [0, -(VISCOUS + GEAR**2 * KT * KE / R) / J]], rtol=1e-13)
    np.testing.assert_allclose(stiff.B, [[0], [GEAR * KT / R / J]], rtol=1e-13)
    np.testing.assert_allclose(stiff.C, [[0, -KE * GEAR / R]], atol=1e-15)
    np.testing.assert_allclose(stiff.D, [[1 / R]], rtol=1e-13)


def test_step_of_voltage_is_the_matrix_exponential() -> None:
    m = driven(motor(0.01)).resolve()
    system = tt.linearize(m, [0.0], inputs=["motor"])
    t = np.linspace(0.0, 1.0, 5)
    trajectory = tt.simulate(m, t, [0.0], [0.0], u={"motor": 5.0}, rtol=1e-10, atol=1e-12)
    whole = np.zeros((4, 4))
    whole[:3, :3], whole[:3, 3] = system.A, system.B[:, 0] * 5.0
    exact = np.array([(expm(whole * time) @ [0, 0, 0, 1])[:3] for time in t])
    np.testing.assert_allclose(np.hstack([trajectory.q, trajectory.v, trajectory.x]), exact, atol=1e-8)  # some rtol


@pytest.mark.parametrize("inductance", [0.0, 0.01])
def test_ideal_motor_turns_all_power_into_work_and_heat(inductance: float) -> None:
    """``u i = R i^2 + torque w + L i di/dt``, with equal constants."""
    m = driven(motor(inductance, back_emf=None), damping=0.0).resolve(engine="reference")
    v, u, x = np.array([3.0]), {"motor": 7.0}, np.array([1.3])[: m.nx]
    current = x[0] if m.nx else (7.0 - KT * GEAR * 3.0) / R
    torque = (INERTIA + GEAR**2 * ROTOR) * m.forward_dynamics([0.1], v, u=u, x=x)[0]
    stored = inductance * current * m.state_rates([0.1], v, x=x, u=u)[0] if m.nx else 0.0
    assert 7.0 * current == pytest.approx(R * current**2 + torque * 3.0 + stored, rel=1e-13)


def test_cogging_follows_its_harmonics_and_stores_their_energy() -> None:
    rows = [(6, 0.02, 0.3), (12, 0.01)]
    m = driven(motor(0.01, cogging=rows)).resolve(engine="reference")
    q = 0.123
    torque = GEAR * sum(row[1] * np.sin(row[0] * GEAR * q + (row[2] if len(row) > 2 else 0)) for row in rows)
    assert m.passive_efforts([q], [0.0])[0] == pytest.approx(torque, rel=1e-12)
    h = 1e-6
    slope = (m.energy([q + h], [0.0]).elastic - m.energy([q - h], [0.0]).elastic) / (2 * h)
    assert slope == pytest.approx(-torque, rel=1e-8)  # of a difference: h^2 and rounding over h


@pytest.mark.parametrize(
    "actuator",
    [
        tt.Motor("motor", "shaft", GEAR, ROTOR, path=tt.SignalPath.lag(0.1)),
        motor(cogging=[(6, 0.02, 0.3)]),
        motor(0.01, path=tt.SignalPath.second_order(3.0, 0.4), cogging=[(6, 0.02)]),
        stepper(harmonics=[(200, 0.01), (4, 0.02, 0.5)], path=tt.SignalPath.lag(0.1)),
    ],
    ids=["filtered torque", "without inductance", "filtered", "stepper"],
)
def test_engines_files_and_sensitivities_agree(actuator: Any, tmp_path: Any) -> None:
    s, rng = driven(actuator), np.random.default_rng(3)
    m, reference = s.resolve(), s.resolve(engine="reference")
    q, v, x = rng.normal(size=1), rng.normal(size=1), rng.normal(size=m.nx)
    state = {"u": [0.7], "x": x}
    a = m.forward_dynamics(q, v, **state)
    np.testing.assert_allclose(reference.forward_dynamics(q, v, **state), a, rtol=1e-12)
    np.testing.assert_allclose(reference.state_rates(q, v, **state), m.state_rates(q, v, **state), rtol=1e-12)
    points = [tt.OperatingPoint(each, q, v, u=[0.7], x=x) for each in (m, reference)]
    with pytest.warns(UserWarning, match="equilibrium"):  # none of them is an equilibrium
        one, two = (tt.linearize(point.model, point, inputs=[actuator.name], outputs=["shaft.q"]) for point in points)
    np.testing.assert_allclose(one.A, two.A, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(one.B, two.B, rtol=1e-12, atol=1e-12)
    s.save(tmp_path / "s.toml")
    loaded = tt.load(tmp_path / "s.toml")
    assert loaded.actuators[0].parameters() == actuator.parameters()
    np.testing.assert_array_equal(
        loaded.resolve(engine="reference").forward_dynamics(q, v, **state), reference.forward_dynamics(q, v, **state)
    )
    names = [name for name in m.parameters() if name.startswith(f"{actuator.name}.")]
    found = m.forward_dynamics_sensitivities(q, v, [0.0], names, **state)
    for name in names:
        value, step = m.parameters()[name][0], 1e-5
        ends = [m.with_parameters({name: value + side}).forward_dynamics(q, v, **state) for side in (step, -step)]
        np.testing.assert_allclose(found[name], (ends[0] - ends[1]) / (2 * step), rtol=3e-3, atol=1e-4, err_msg=name)  # step^2


@pytest.mark.parametrize("inductance", [0.0, 0.01])
def test_families_hold_their_members(inductance: float) -> None:
    """LFT and LPV models of uncertain windings: resistance and inductance divide, and are exact all the same."""
    m = driven(motor(inductance, path=tt.SignalPath.lag(0.05))).resolve()
    point = tt.OperatingPoint(m, [0.2])
    names = ["resistance", "torque_constant", "back_emf", "gear", "rotor_inertia", "path.time_constant", "inductance"]
    ranges = {f"motor.{name}": tt.percent(20) for name in names[: 6 + bool(inductance)]}
    ends = {"inputs": ["motor"], "outputs": ["shaft.q", "motor.current"]}
    family = tt.lft(m, point, ranges, **ends)
    assert family.check(3) < 1e-12  # against tt.linearize at random members and corners
    values = {"motor.resistance": [1.8, 2.2]}
    others = [m.with_parameters({"motor.resistance": value}) for value in values["motor.resistance"]]
    lpv = tt.lpv(m, values, [tt.OperatingPoint(other, [0.2]) for other in others], **ends)
    other = others[1]
    np.testing.assert_allclose(lpv.A[1], tt.linearize(other, [0.2], **ends).A, rtol=1e-12)


@pytest.mark.parametrize(("joint", "units"), [(tt.Revolute, ("N m/A", "V s/rad")), (tt.Prismatic, ("N/A", "V s/m"))])
def test_units_are_those_of_the_coordinate(joint: Any, units: tuple[str, str]) -> None:
    s = tt.System("drive", gravity=[0, 0, 0])
    s.connect("world", tt.RigidBody("rotor", mass=1.0, inertia=0.5), joint("shaft"))
    s.add_actuator(tt.DCMotor("motor", "shaft", 2.0, 0.1, back_emf=0.2, cogging=[(4, 0.1, 0.2)]))
    known = s.resolve(engine="reference").parameters()
    assert (known["motor.torque_constant"][1], known["motor.back_emf"][1]) == units
    assert known["motor.cogging.0.phase"][1] == "rad"


def test_controllers_read_the_current_where_it_is_a_state() -> None:
    """A current loop with an integrator meets its reference."""
    control = pytest.importorskip("control")
    m = driven(motor(0.01), damping=5.0).resolve()
    law = control.ss([[0.0]], [[1.0]], [[50.0]], [[1.0]], inputs=["motor_current"], outputs=["motor"], name="current")
    loop = {"controller": law, "reference": {"motor.current": 1.5}}
    trajectory = tt.simulate(m, [0.0, 2.0], [0.0], [0.0], **loop)
    assert trajectory.x[-1] == pytest.approx([1.5], abs=1e-5)  # many time constants of the loop


def test_sensors_read_drives() -> None:
    """Of a sampled loop without inductance, too, where the current follows the voltage at once."""
    control = pytest.importorskip("control")
    s = driven(motor(), damping=5.0)
    s.add_sensor(tt.DriveSensor("ammeter", "motor.current"))
    m = s.resolve()
    assert m.outputs([0.0], [0.3], [0.0], u={"motor": 5.0}) == pytest.approx([(5.0 - KE * GEAR * 0.3) / R], rel=1e-14)
    law = control.ss([[1.0]], [[0.5]], [[1.0]], [[0.0]], 0.01, inputs=["ammeter"], outputs=["motor"], name="current")
    trajectory = tt.simulate(m, [0.0, 2.0], [0.0], [0.0], controller=law, reference={"ammeter": 1.5})
    assert trajectory.outputs()[-1] == pytest.approx([1.5], abs=1e-5)
    s.add_sensor(tt.DriveSensor("typo", "motor.curent"))
    with pytest.raises(tt.ModelError, match="unknown-reading"):
        s.resolve()


def test_stepper_holds_by_its_electrical_stiffness() -> None:
    m = driven(stepper()).resolve()
    point = tt.trim(m, q=[0.2], u={"drive": 0.2})
    J, K = INERTIA + 25 * ROTOR, 25 * 0.1 * 50  # gear^2 times torque times cycles per turn
    assert point.x == pytest.approx([0.2], abs=1e-9)
    A = [[0, 1, 0], [-K / J, -(VISCOUS + 25e-3) / J, K / J], [0, 0, -50]]
    np.testing.assert_allclose(tt.linearize(m, point, inputs=["drive"]).A, A, rtol=1e-12)


def test_stepper_slips_by_four_steps() -> None:
    """Equilibria repeat with a cycle of the field, and the torque is the holding torque a quarter of it away."""
    m = driven(stepper(), damping=0.0).resolve()
    step = stepper().step
    assert step == pytest.approx(2 * np.pi / 1000)
    for q, torque in ((4 * step, 0.0), (-step, 0.5), (step, -0.5)):
        assert m.passive_efforts([q], [0.0])[0] == pytest.approx(torque, abs=1e-12)


def test_stepper_takes_whole_steps() -> None:
    """A commanded angle between two steps ends on the nearer one."""
    step = stepper().step
    assert tt.StepperDrive("back", "shaft", 200, 0.1, 0.01, gear=-100.0).step == pytest.approx(np.pi / 10000, rel=1e-15)
    m = driven(stepper(path=tt.SignalPath(sample_time=0.1, quantum=step)), damping=6.0).resolve()
    end = tt.simulate(m, [0.0, 4.0], [0.0], [0.0], u={"drive": 2.4 * step}).q[-1]
    assert end == pytest.approx([2 * step], abs=1e-5)  # settled to some millionths of a radian


@pytest.mark.parametrize(
    ("wrong", "code", "where"),
    [
        (lambda: tt.DCMotor("m", "shaft", 0.0, 0.1), "no-resistance", "m.resistance"),
        (lambda: tt.DCMotor("m", "shaft", 1.0, 0.1, inductance=-1.0), "negative-inductance", "m.inductance"),
        (lambda: tt.DCMotor("m", "shaft", 1.0, 0.1, voltage_limit=-1.0), "bad-limits", "m.voltage_limit"),
        (lambda: tt.DCMotor("m", "shaft", 1.0, 0.1, cogging=[(0, 1.0)]), "bad-order", "m.cogging"),
        (lambda: tt.DCMotor("m", "shaft", 1.0, 0.1, cogging=3.0), "wrong-shape", "m.cogging"),
        (lambda: tt.DCMotor("m", "shaft", 1.0, 0.1, cogging=[(1, 2, 3, 4)]), "wrong-shape", "m.cogging"),
        (lambda: tt.StepperDrive("m", "shaft", 0, 0.1, 0.1), "not-positive", "m.steps_per_turn"),
        (lambda: tt.StepperDrive("m", "shaft", 200, 0.1, 0.0), "not-positive", "m.time_constant"),
    ],
)
def test_wrong_drives_are_refused(wrong: Any, code: str, where: str) -> None:
    s = driven(wrong())
    with pytest.raises(tt.ModelError) as caught:
        s.resolve(engine="reference")
    assert [(finding.code, finding.where) for finding in caught.value.findings] == [(code, where)]


def test_a_current_stays_a_state() -> None:
    m = driven(motor(0.01)).resolve()
    with pytest.raises(tt.ModelError, match="other-states"):
        m.with_parameters({"motor.inductance": 0.0})
    assert "motor.inductance" not in driven(motor()).resolve().parameters()
