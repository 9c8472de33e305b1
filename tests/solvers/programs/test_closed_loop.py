"""Plants with controllers in continuous time as one program: against `simulate`, and against plain sums of both in NumPy."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import control
import numpy as np
import pytest
from scipy.integrate import solve_ivp

import titop as tt
from tests.c_programs import CompiledC, needs_compiler, run_test
from tests.closed_systems import four_bar

#: Sums of some tens of terms in another order.
ROUNDING = 1e-12


def cart() -> tt.System:
    """Return a cart that a motor drives, with a pole, and what measures its acceleration."""
    s = tt.System("cart", gravity=[0, 0, -9.81])
    body = tt.RigidBody("cart", 1.0, inertia=0.1 * np.eye(3), ports={"P": [0, 0, 0]})
    s.connect("world", body, tt.Prismatic("rail", axis=[1, 0, 0]))
    pole = tt.RigidBody("pole", 0.3, [0, 0, -0.5], inertia=0.01 * np.eye(3))
    s.connect(body.port("P"), pole, tt.Revolute("hinge", axis=[0, 1, 0], damping=0.01))
    s.add_actuator(tt.Motor("motor", "rail", effort_limit=5.0))
    s.add_sensor(tt.Accelerometer("felt", body.port("P")))
    return s


def state_space(D: float = 10.0, inputs: tuple[str, ...] = ("rail_q", "hinge_q"), output: str = "motor") -> Any:
    return control.ss(
        [[-30.0, 0.0], [1.0, -20.0]], 30 * np.eye(2), [[-3.0, 2.0]], [[D, -0.1 * D]], inputs=[*inputs], outputs=[output]
    )


def family() -> tt.LPVModel:
    """Return members on a grid of the hinge's angle and of the pole's mass, of which two entries depend on these."""
    angles, masses = [-0.4, 0.1, 0.5], [0.2, 0.4]

    def member(angle: float, mass: float) -> Any:
        gain = 3.0 + angle**2 - mass
        return control.ss([[-2.0 - angle]], [[1.0]], [[gain]], [[-4.0 * mass]], inputs=["rail_v"], outputs=["motor"])

    members = [member(angle, mass) for angle in angles for mass in masses]
    return tt.LPVModel.of({"hinge.q": angles, "pole.mass": masses}, members)


def test_it_follows_simulate() -> None:
    """Through a range of the motor, around an operating point under load, with references and another mass."""
    m = cart().resolve()
    point = tt.OperatingPoint(m, [0.2, 0.0], u=[1.0])
    loop = tt.Loop(state_space(), reference={"rail.q": 0.5}, operating_point=point)
    p = m.program("closed_loop", controller=loop, parameters=["pole.mass"])
    assert p.names["r"] == ("r_rail.q", "r_hinge.q")
    assert p.names["states"][-2:] == ("controller.x[0]", "controller.x[1]")
    start, r = np.array([0.1, 0.3, 0.5, -0.2, 0.0, 0.0]), [0.5, 0.0]
    for mass in (0.3, 0.7):
        changed = m.with_parameters({"pole.mass": mass})
        found = solve_ivp(
            lambda t, x, mass=mass: p.closed_loop(x, r, parameters=[mass])[0], [0, 1], start, "DOP853", rtol=1e-11, atol=1e-12
        )
        right = tt.simulate(changed, [0, 1], start[:2], start[2:4], controller=loop, rtol=1e-11, atol=1e-12)
        # both within the tolerance of their steps, which the kinks at the range's ends let grow a little
        np.testing.assert_allclose(found.y[:4, -1], [*right.q[-1], *right.v[-1]], atol=1e-8)
        commanded = [p.closed_loop(x, r, parameters=[mass])[2][0] for x in found.y.T]
        assert min(commanded) == -5.0 or max(commanded) == 5.0


@pytest.mark.parametrize("angle", [-0.7, -0.4, 0.0, 0.1, 0.3, 0.5, 0.9])
def test_families_are_interpolated_along_outputs_and_parameters(angle: float) -> None:
    m, members = cart().resolve(), family()
    scheduled = tt.ScheduledController(members, {"hinge.q": "hinge.q", "pole.mass": "pole.mass"}, sample_time=0.1)
    for mass in (0.2, 0.33):
        changed, state = m.with_parameters({"pole.mass": mass}), np.array([0.1, angle, 0.5, -0.2, 0.7])
        K = members.at({"hinge.q": float(np.clip(angle, -0.4, 0.5)), "pole.mass": mass})
        z, e = state[4:], np.array([0.3 - state[2]])
        u = K.C @ z + K.D @ e
        expected = np.concatenate([state[2:4], changed.forward_dynamics(state[:2], state[2:4], u=u), K.A @ z + K.B @ e])
        for controller in (members, tt.Loop(members), scheduled):
            p = m.program("closed_loop", controller=controller, parameters=["pole.mass"])
            found, _, commands = p.closed_loop(state, [0.3], parameters=[mass])
            np.testing.assert_allclose(found, expected, rtol=ROUNDING)
            np.testing.assert_allclose(commands, u, rtol=ROUNDING)


def test_it_takes_nothing_of_the_model_beside() -> None:
    """What would be ignored is refused: efforts and inputs act as at the operating point."""
    p = cart().resolve().program("closed_loop", "mass_matrix", controller=state_space(), inputs=["motor"])
    for name, others in (("closed_loop", "q"), ("closed_loop", "tau"), ("closed_loop", "u"), ("mass_matrix", "states")):
        with pytest.raises(TypeError, match=f"{name} takes"):
            getattr(p, name)(**{others: p.at[others] + 0.1})
    assert np.array_equal(p.mass_matrix(u=[0.1]), p.mass_matrix())


def test_what_rests_beyond_a_range_is_limited_as_simulate_does() -> None:
    """A second motor, at rest beyond what it can give, adds what it can."""
    s = cart()
    s.add_actuator(tt.Motor("second", "hinge", effort_limit=1.0))
    m = s.resolve()
    K = control.ss([], [], [], [[1.0]], inputs=["rail_q"], outputs=["motor"])
    p = m.program("closed_loop", controller=tt.Loop(K, operating_point=tt.OperatingPoint(m, [0.0, 0.0], u=[0.0, 3.0])))
    expected = m.forward_dynamics([0.1, 0.2], [0.3, 0.4], u=[-0.1, 1.0])
    np.testing.assert_allclose(p.closed_loop([0.1, 0.2, 0.3, 0.4])[0][2:], expected, rtol=ROUNDING)


def test_felt_accelerations_act_through_states_alone() -> None:
    m = cart().resolve()
    K = state_space(0.0, ("felt_x", "hinge_q"))
    found = m.program("closed_loop", controller=K).closed_loop([0.1, 0.3, 0.5, -0.2, 0.4, 0.6])[0]
    z = np.array([0.4, 0.6])
    a = m.forward_dynamics([0.1, 0.3], [0.5, -0.2], u=K.C @ z)
    np.testing.assert_allclose(found, [0.5, -0.2, *a, *(K.A @ z - K.B @ [a[0], 0.3])], rtol=ROUNDING)
    with pytest.raises(tt.ModelError, match="acts on itself"):
        m.program("closed_loop", controller=state_space(1.0, ("felt_x", "hinge_q")))


@pytest.mark.filterwarnings("ignore::titop.ModelWarning")
def test_constraints_quaternions_and_efforts() -> None:
    """A four-bar under an effort of the controller, and a free body whose quaternion is divided by its norm."""
    m = four_bar().resolve()
    q = m.assemble([0.8, 0.0, 0.0])
    v = m.assemble_velocity(q, [1.0, 0, 0])
    name = m.coordinate_names[0]
    K = control.ss([], [], [], [[2.0]], inputs=[f"{name}.q".replace(".", "_")], outputs=[name])
    p = m.program("closed_loop", controller=tt.Loop(K, operating_point=tt.OperatingPoint(m, q)))
    tau = [2.0 * (0.1 - q[0]), 0.0, 0.0]
    np.testing.assert_allclose(p.closed_loop([*q, *v], [0.1])[0], [*v, *m.forward_dynamics(q, v, tau)], rtol=1e-11)
    s = tt.System("free", gravity=[0, 0, 0])
    s.connect("world", tt.RigidBody("body", 1.0, [0.1, 0.2, 0.3], inertia=[1.0, 2.0, 2.5]), tt.Free("base"))
    m = s.resolve()
    K = control.ss([], [], [], [[5.0]], inputs=["base_rx_v"], outputs=["base_rx"])
    p, q, v = m.program("closed_loop", controller=K), m.random_configuration(np.random.default_rng(0)), np.ones(6)
    turning = m.coordinate_names.index("base.rx")
    tau = np.zeros(6)
    tau[turning] = -5.0
    once, twice = (p.closed_loop([*q[:3], *(scale * q[3:]), *v])[0] for scale in (1.0, 2.0))
    np.testing.assert_allclose(once[7:], m.forward_dynamics(q, v, tau), rtol=ROUNDING)
    np.testing.assert_allclose(twice, once, rtol=ROUNDING)


@needs_compiler
def test_c_of_a_loop(tmp_path: Path) -> None:
    m = cart().resolve()
    loop = tt.Loop(state_space(), operating_point=tt.trim(m, "motor", q=[0.1, 0.0]))
    names = tt.export_c(loop, tmp_path / "c", "plant")
    header = (tmp_path / "c" / "plant.h").read_text()
    assert "PLANT_STATES_HINGE_V,  /* hinge.v (rad/s) */" in header
    assert names["r:r_rail.q"] == "PLANT_R_R_RAIL_Q"
    assert "int plant_closed_loop(const double states[6], const double r[2], double xdot[6]," in header
    status, said = run_test(tmp_path / "c", "plant")
    assert status == 0, said
    state, r, found = np.array([0.1, 0.3, 0.5, -0.2, 0.4, 0.6]), np.array([0.1, 0.2]), np.zeros(6)
    y, commands = np.zeros(3), np.zeros(1)
    assert CompiledC(tmp_path / "c", "plant").call("closed_loop", state, r, found, y, commands) == 0
    right = m.program("closed_loop", controller=loop).closed_loop(state, r)[0]
    np.testing.assert_allclose(found, right, rtol=ROUNDING)


@pytest.mark.parametrize(
    ("controller", "words"),
    [
        (None, "beside the function"),
        (tt.Controller(lambda t, x, y, r: (x, y), [], ["rail.q"], ["motor"], 0.1), "in Python"),
        (tt.ScheduledController(lambda rho: state_space(), {"a": "hinge.q"}, 0.1), "in Python"),
        (tt.Loop(state_space(), sample_time=0.1), "continuous time"),
        (tt.Loop(state_space(), delay=0.1), "continuous time"),
        (control.sample_system(state_space(), 0.1), "continuous time"),
        (state_space(inputs=("rail_q", "hing_q")), "hinge"),
        (state_space(output="moto"), "motor"),
        (tt.Loop(state_space(), operating_point={"motor": 1.0}), "tt.OperatingPoint"),
        (tt.LPVModel.of({"angle": [0.0, 1.0]}, [state_space(), state_space(1.0)]), "angle"),
        (3.0, "StateSpace"),
    ],
)
def test_what_is_no_closed_loop_is_told(controller: Any, words: str) -> None:
    with pytest.raises(tt.ModelError, match=words):
        cart().resolve(engine="reference").program("closed_loop", controller=controller)


def test_a_controller_without_its_function_is_told() -> None:
    with pytest.raises(tt.ModelError, match="closed_loop"):
        cart().resolve(engine="reference").program("rates", controller=state_space())
