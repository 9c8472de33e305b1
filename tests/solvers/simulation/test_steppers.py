"""Simulations of systems with rigid closures."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.interpolate import CubicSpline

import titop as tt
from tests.closed_systems import closed_four_bar, four_bar, slider_crank
from tests.solvers.constraints.linkages import FourBar, SliderCrank
from tests.solvers.simulation.closed_motions import opening, start_of_bricard
from tests.solvers.simulation.driven_systems import closed_loop, gears, plant_at_a_state, rigid_tree, swing

pytestmark = pytest.mark.filterwarnings("ignore::titop.ModelWarning")


@pytest.mark.parametrize("method", ["DOP853", "RK45", "RK23", "Radau"])
def test_four_bar_against_its_one_degree_of_freedom(method) -> None:
    oracle = FourBar()
    model, q, v = closed_four_bar(0.5, 12.0)  # fast enough to turn over
    rtol = {"RK23": 1e-7}.get(method, 1e-9)
    t = np.linspace(0, 1, 21)
    trajectory = tt.simulate(model, t, q, v, tau=[0.5, 0, 0], method=method, rtol=rtol, atol=rtol)

    def derivative(t, y):
        return [y[1], oracle.acceleration(np.angle(np.exp(1j * y[0])), y[1], 0.5)]

    expected = solve_ivp(derivative, (0, 1), [0.5, 12.0], "DOP853", t, rtol=1e-12, atol=1e-12).y
    # a hundred times the tolerance: some hundreds of steps
    assert np.abs(trajectory.q[:, 0] - expected[0]).max() < 300 * rtol
    assert expected[0].max() > 2 * np.pi
    assert opening(trajectory)[0] < 1e-12


def test_prescribed_crank_drives_the_slider() -> None:
    """A crank turned at constant speed: torque over a turn against the closed form, and no work in all."""
    oracle, speed = SliderCrank(), 6.0
    model = slider_crank().resolve()
    q = model.assemble([0.3, -0.4, 0.1], fixed=["q1"])
    v = model.assemble_velocity(q, [speed, 0, 0], fixed=["q1"])
    t = np.linspace(0, 2 * np.pi / speed, 41)
    turning = {"q1": lambda t: (0.3 + speed * t, speed, 0.0)}
    trajectory = tt.simulate(model, t, q, v, prescribed=turning, rtol=1e-9, atol=1e-11)
    angles = 0.3 + speed * t
    assert trajectory.q[:, 0] == pytest.approx(angles, abs=1e-14)
    expected = np.array([oracle.torque(angle, speed, 0.0) for angle in angles])
    # configurations and velocities come from the projection, not from the integrator
    assert trajectory.tau[:, 0] == pytest.approx(expected, abs=1e-9)
    assert not trajectory.tau[:, 1:].any()
    slide = trajectory.reaction("slide")[:, 1]
    assert slide == pytest.approx([oracle.slide_force(angle, speed, 0.0) for angle in angles], abs=1e-9)
    # nothing dissipates; the trapezoidal rule over a period is exact but for harmonics beyond the fortieth
    assert np.trapezoid(trajectory.tau[:, 0], angles) == pytest.approx(0.0, abs=1e-8)


def test_prescribed_spline_and_events() -> None:
    model = four_bar().resolve()
    knots = np.linspace(0, 1, 5)
    spline = CubicSpline(knots, 0.5 + 2 * knots**2)
    q = model.assemble([0.5, 0.5, -1.5], fixed=["q1"])
    v = model.assemble_velocity(q, [float(spline(0, 1)), 0, 0], fixed=["q1"])
    passing = tt.Event(lambda t, q, v: q[0] - 1.0, name="passing", terminal=False)
    falling = tt.Event(lambda t, q, v: q[0] - 1.0, name="falling", terminal=True, direction=-1)
    reached = tt.Event(lambda t, q, v: q[0] - 2.0, name="reached")
    t = np.linspace(0, 1, 11)
    trajectory = tt.simulate(model, t, q, v, prescribed={"q1": spline}, events=[passing, falling, reached])
    assert trajectory.events["passing"] == pytest.approx([np.sqrt(0.25)], abs=1e-9)
    assert trajectory.events["falling"].size == 0
    end = trajectory.t[-1]
    assert trajectory.events["reached"] == pytest.approx([end])
    assert spline(end) == pytest.approx(2.0, abs=1e-12)
    assert trajectory.t[:-1] == pytest.approx(t[t < end])
    assert np.abs(model.closure_error(trajectory.q[-1])).max() < 1e-12


def test_loads_inputs_and_quaternions_in_loops() -> None:
    """A platform on three legs of spherical joints, pushed by a thruster: forces on the legs balance it."""
    s = tt.System("tripod", gravity=[0, 0, -9.81])
    platform = tt.RigidBody("platform", mass=3.0, inertia=[0.2, 0.2, 0.3])
    s.connect("world", platform, tt.Free("base"))
    for k, angle in enumerate(np.arange(3) * 2 * np.pi / 3):
        foot, knee = np.array([np.cos(angle), np.sin(angle), 0]), np.array([0.5 * np.cos(angle), 0.5 * np.sin(angle), 0])
        leg = tt.RigidBody(f"leg{k}", mass=0.5, com=[0, 0, 0.4], inertia=[0.03, 0.03, 0.001], ports={"top": [0, 0, 0.8]})
        platform.add_port(f"knee{k}", knee)
        s.connect("world", leg, tt.Spherical(f"hip{k}"), placement=foot)
        s.close_loop(leg.port("top"), platform.port(f"knee{k}"), tt.RigidClosure(f"ball{k}", "spherical"))
    s.add_actuator(tt.Force("push", platform, direction=[1, 0, 0]))
    model = s.resolve()
    guess = model.configuration({"base": tt.Pose([0.05, 0, 0.6])})
    q = model.assemble(guess)
    assert (model.nv, model.closure_rank(q)) == (15, 9)
    trajectory = tt.simulate(model, np.linspace(0, 0.5, 6), q, np.zeros(model.nv), u={"push": 2.0}, rtol=1e-9, atol=1e-11)
    assert opening(trajectory)[0] < 1e-12
    k = -1
    state = trajectory.q[k], trajectory.v[k], trajectory.a[k]
    forces = sum(model.pose("platform", trajectory.q[k])[0] @ trajectory.reaction(f"ball{j}")[k, :3] for j in range(3))
    turn = model.pose("platform", trajectory.q[k])[0]
    specific = turn @ model.accelerometer("platform", *state)
    push = turn @ [2.0, 0, 0]
    # Newton's law of the platform: rounding at forces of 1e2
    assert forces + push == pytest.approx(3.0 * specific, abs=1e-9)


def test_a_start_off_the_closures_is_refused_with_advice() -> None:
    model, q, v = closed_four_bar()
    with pytest.raises(tt.ModelError, match=r"q0: .*loop 'pin' is open by .*m\.assemble\(q0\)") as caught:
        tt.simulate(model, [0, 1], q + np.array([0.1, 0, 0]), v)
    assert caught.value.code == "open-start"
    with pytest.raises(tt.ModelError, match=r"v0: .*pin\.\w+ changing at .*m\.assemble_velocity\(q0, v0\)"):
        tt.simulate(model, [0, 1], q, [1.0, 0, 0])
    still = {"q1": lambda t: (0.5, 0.0, 0.0)}
    with pytest.raises(tt.ModelError, match=r"m\.assemble_velocity\(q0, v0, fixed=\['q1'\]\)"):
        tt.simulate(model, [0, 1], q, v, prescribed=still)
    nearly = tt.simulate(model, [0, 0.1], q + np.array([0, 1e-8, 0]), v)
    assert np.abs(model.closure_error(nearly.q[0])).max() < 1e-12


@pytest.mark.parametrize("method", ["BDF", "LSODA"])
def test_methods_of_several_steps_are_refused(method) -> None:
    model, q, v = closed_four_bar()
    with pytest.raises(tt.ModelError, match=r'take "Radau" for stiff systems'):
        tt.simulate(model, [0, 1], q, v, method=method)


def test_motions_that_the_loop_forbids_are_refused() -> None:
    model, q, v = closed_four_bar(rate=1.0)
    forbidden = {"q1": lambda t: (0.5 + t, 1.0, 0.0), "q2": lambda t: (q[1] + v[1] * t, v[1], 0.0)}
    with pytest.raises(tt.ConvergenceError, match=r"at t = \S+ s"):
        tt.simulate(model, [0, 1], q, v, prescribed=forbidden)


def test_compliant_closures_are_simulated_without_projection() -> None:
    """They keep the compiled path, and damp."""
    s = four_bar(tt.CompliantClosure("pad", [3e3, 3e3, 3e3, 0, 0, 0], [5, 5, 5, 0, 0, 0]))
    model = s.resolve()
    rigid, q, v = closed_four_bar()
    trajectory = tt.simulate(model, np.linspace(0, 1, 11), q, v, method="BDF", rtol=1e-9, atol=1e-11)
    assert not model.is_constrained
    energy = trajectory.energy().sum(axis=1)
    assert energy[-1] < energy[0]
    assert np.abs(rigid.closure_error(trajectory.q[-1])[:2]).max() < 5e-2  # forces of 50 N over 3 kN/m, and then some
    lossless = four_bar(tt.CompliantClosure("pad", [3e3, 3e3, 3e3, 0, 0, 0])).resolve()
    kept = tt.simulate(lossless, np.linspace(0, 1, 11), q, v, rtol=1e-10, atol=1e-12).energy().sum(axis=1)
    # some thousands of steps at 1e-10 of energies of 1e2 J
    assert np.abs(kept - kept[0]).max() < 1e-6


def test_reference_resolver_simulates_too() -> None:
    compiled, q, v = closed_four_bar()
    reference, _, _ = closed_four_bar(engine="reference")
    found = [tt.simulate(m, [0, 0.05], q, v, rtol=1e-6).q[-1] for m in (compiled, reference)]
    assert found[0] == pytest.approx(found[1], abs=1e-12)


@pytest.mark.parametrize("method", ["DOP853", "RK45", "Radau", "generalized-alpha"])
@pytest.mark.parametrize("system", [rigid_tree, closed_loop, gears])
def test_states_within_a_step_are_the_same_however_many_are_asked_for(system: Any, method: str) -> None:
    tree, driven = system()
    plant, y = plant_at_a_state(tree, driven, "compiled")
    model, (q, v), motions = plant.model, plant.split(0.2, y), dict.fromkeys(driven, swing)
    many, few = (
        tt.simulate(model, t, q, v, prescribed=motions, method=method, rtol=1e-4, atol=1e-6)
        for t in (np.linspace(0.2, 0.5, 61), np.linspace(0.2, 0.5, 4))
    )
    for name in ("q", "v", "a", "tau"):
        scale = 1.0 + np.abs(getattr(few, name)).max()
        # rounding, times the condition of closures
        np.testing.assert_allclose(getattr(many, name)[::20], getattr(few, name), rtol=0, atol=1e-9 * scale)


@pytest.mark.parametrize("method", ["DOP853", "RK45", "RK23", "Radau", "generalized-alpha"])
def test_many_outputs_within_a_step_of_a_loop(method: str) -> None:
    """Nothing prescribed: states within steps go to the closing kernel as the integrator gives them."""
    model, q, v = closed_four_bar()
    fields: dict[str, Any] = {"method": method, "rtol": 1e-5, "atol": 1e-7}
    many, few = (tt.simulate(model, np.linspace(0, 0.1, n), q, v, **fields) for n in (61, 3))
    np.testing.assert_allclose(many.q[::30], few.q, rtol=0, atol=1e-9)  # rounding, times the condition of closures
    assert max(np.abs(model.closure_error(row)).max() for row in many.q) < 1e-12


# -- integrators that keep loops closed, and that one alone would not


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
