"""Integrators that keep loops closed, and that one alone would not."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import titop as tt
from tests.closed_systems import closed_four_bar, four_bar
from tests.solvers.simulation.closed_motions import opening, start_of_bricard

pytestmark = pytest.mark.filterwarnings("ignore::titop.ModelWarning")


@pytest.mark.parametrize("start", [closed_four_bar, start_of_bricard])
def test_energy_is_constant_and_loops_stay_closed(start) -> None:
    model, q, v = start()
    trajectory = tt.simulate(model, np.linspace(0, 10, 201), q, v, rtol=1e-10, atol=1e-12)
    energy = trajectory.energy().sum(axis=1)
    assert np.ptp(trajectory.q, axis=0).max() > 1.0, "it moves"
    kinetic = trajectory.energy()[:, 0]
    # a few hundred steps, each with an error of 1e-10 of the state, at an energy that comes and goes by tens of joules
    assert np.abs(energy - energy[0]).max() < 1e-8 * np.ptp(kinetic)
    errors, rates = opening(trajectory)
    assert errors < 1e-12  # the projection stops at 1e-13
    assert rates < 1e-12 * max(1.0, np.abs(trajectory.v).max())


def test_integrator_alone_would_open_the_loops() -> None:
    """The negative control: the same accelerations without the projection."""
    model, q, v = closed_four_bar()

    def derivative(t, y):
        return np.concatenate([y[3:], model.forward_dynamics(y[:3], y[3:], np.zeros(3))])

    y = solve_ivp(derivative, (0, 10), np.concatenate([q, v]), "DOP853", rtol=1e-6, atol=1e-8).y[:, -1]
    assert np.abs(model.closure_error(y[:3])).max() > 1e-7


def test_long_way_round_equals_short_steps() -> None:
    """Outputs do not depend on which other outputs are asked for, nor on where the run was cut."""
    model, q, v = closed_four_bar()
    whole = tt.simulate(model, np.linspace(0, 1, 5), q, v)
    halves = tt.simulate(model, [0, 0.5], q, v)
    rest = tt.simulate(model, [0.5, 1.0], halves.q[-1], halves.v[-1])
    # tolerance 1e-8, over some tens of steps
    assert rest.q[-1] == pytest.approx(whole.q[-1], abs=1e-6)


def test_running_into_a_dead_centre_is_said() -> None:
    """The rocker driven past where it can reach."""
    model, q, v = closed_four_bar()
    driven = {"q3": lambda t: (q[2] + 3 * t, 3.0, 0.0)}
    v = model.assemble_velocity(q, [0, 0, 3.0], fixed=["q3"])
    with pytest.raises((tt.ConvergenceError, tt.ModelError), match=r"at t = \S+ s|gave up after|singular-closure"):
        tt.simulate(model, [0, 2], q, v, prescribed=driven)


def test_a_trial_step_that_overflows_is_made_shorter() -> None:
    """A damper of 1e5 rad/s: products of velocities square what a first trial step amplifies, stage by stage."""
    s = four_bar()
    s.connect(s["rocker"], tt.RigidBody("flap", 1.0, [0.1, 0, 0], 0.01), tt.Revolute("flutter", stiffness=1e7, damping=1e3))
    model = s.resolve()
    q = model.assemble([0.5, 0.5, -1.5, 0.0], fixed=["q1"])
    v = model.assemble_velocity(q, [2.0, 0, 0, 0], fixed=["q1"])
    run = tt.simulate(model, [0, 0.01], q, v, rtol=1e-4, atol=1e-4)
    # held by the spring against torques of 1e2 N m; one over its stiffness, and the tolerance
    assert np.abs(run.q[-1, 3]) < 1e-4


def parallelogram() -> tt.Model:
    """Return a linkage of bars 1, 2 and 1 over ground of 2: its branches meet where it is folded flat."""
    s = tt.System("parallelogram", gravity=[0, 0, 0])
    s.world.add_port("B", position=[2.0, 0, 0])
    cranks = [tt.RigidBody(name, 1.0, [0.5, 0, 0], [0.01, 0.1, 0.1], ports={"end": [1.0, 0, 0]}) for name in ("left", "right")]
    coupler = tt.RigidBody("coupler", 1.0, [1.0, 0, 0], [0.01, 0.3, 0.3], ports={"end": [2.0, 0, 0]})
    s.connect("world", cranks[0], tt.Revolute("q1", axis=[0, 0, 1]))
    s.connect(cranks[0].port("end"), coupler, tt.Revolute("q2", axis=[0, 0, 1]))
    s.connect(s.world.port("B"), cranks[1], tt.Revolute("q3", axis=[0, 0, 1]))
    s.close_loop(coupler.port("end"), cranks[1].port("end"), tt.RigidClosure("pin", directions=np.eye(6)[:, :2]))
    return s.resolve()


@pytest.mark.parametrize("speed", [1.0, 1.3, 4.0])
@pytest.mark.parametrize("method", ["DOP853", "Radau"])
def test_change_points_of_a_parallelogram_are_passed(method: str, speed: float) -> None:
    """Without gravity its cranks turn steadily, and its coupler is carried along without turning."""
    way = np.array([1.0, -1.0, 1.0])
    run = tt.simulate(parallelogram(), [0, 7], 0.5 * way, speed * way, method=method)
    # two change points and more, at a tolerance of 1e-8
    assert run.q[-1] == pytest.approx((0.5 + 7 * speed) * way, abs=1e-6)
    assert run.statistics["steps"] < 100
