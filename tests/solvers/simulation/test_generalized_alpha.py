"""The generalised-alpha scheme: order, closed loops, stiffness, energy, Newton's method, refusals."""

from __future__ import annotations

import control
import numpy as np
import pytest
from scipy.linalg import expm

import titop as tt
from tests.closed_systems import ANDREWS_END, ANDREWS_ORDER, ANDREWS_TORQUE, closed_four_bar, four_bar, slider_crank
from tests.solvers.constraints.linkages import andrews_start, spring
from tests.solvers.simulation.alpha_systems import flying, oscillator, padded
from tests.solvers.simulation.closed_motions import opening, start_of_bricard
from titop.solvers.simulation.simulate import METHODS

pytestmark = pytest.mark.filterwarnings("ignore::titop.ModelWarning")


def ratios(model, q, v, scheme, steps, **acting):
    """Return by how much the errors in q and v fall from a number of steps in a second to twice as many."""
    precise = tt.simulate(model, [0, 1], q, v, rtol=1e-12, atol=1e-13, **acting)
    errors = []
    for n in (steps, 2 * steps):
        run = tt.simulate(model, [0, 1], q, v, method=tt.GeneralizedAlpha(scheme, 1 / n), rtol=1e-9, atol=1e-10, **acting)
        assert run.statistics["steps"] == n
        dq, dv = model.difference(precise.q[-1], run.q[-1]), run.v[-1] - precise.v[-1]
        errors.append([np.abs(dq).max(), np.abs(dv).max()])
    return np.array(errors[0]) / errors[1]


@pytest.mark.parametrize("start", [lambda: closed_four_bar(0.5, 5.0), flying], ids=["four-bar", "flying"])
@pytest.mark.parametrize("radius", [0.0, 0.8, 0.95])
def test_second_order(start, radius) -> None:
    # 4, but for the next order, which is ten times less at these steps
    assert ratios(*start(), radius, 200) == pytest.approx([4, 4], rel=0.1)


def test_another_gamma_would_be_of_first_order(monkeypatch: pytest.MonkeyPatch) -> None:
    """The negative control."""
    numbers = tt.GeneralizedAlpha().coefficients
    other = numbers._replace(gamma=numbers.gamma + 0.1)
    monkeypatch.setattr(tt.GeneralizedAlpha, "coefficients", property(lambda self: other))
    assert (ratios(*flying(), 0.8, 200) < 2.5).all()


def test_second_order_with_all_that_acts() -> None:
    """Feedback, a wrench and an input of the state, a prescribed crank, redundant constraints, a spherical joint."""
    s = four_bar()
    s.connect(s["coupler"].port("end"), tt.RigidBody("ball", 0.4, [0, 0, -0.2], 0.02), tt.Spherical("neck", stiffness=2.0))
    s.add_actuator(tt.Force("push", s["rocker"], direction=[0, 1, 0]))
    model = s.resolve()
    crank = {"q1": lambda t: (0.5 + np.sin(t), np.cos(t), -np.sin(t))}
    q = model.assemble(model.configuration({"q1": 0.5, "q2": 0.5, "q3": -1.5}), fixed=["q1"])
    v = model.assemble_velocity(q, model.velocity({"q1": 1.0}), fixed=["q1"])
    acting = {
        "prescribed": crank,
        "tau": lambda t, q, v: np.append(np.zeros(3), -0.1 * v[3:]),
        "wrenches": {"ball": lambda t, q, v: np.array([np.sin(3 * t), -0.2 * v[4], 0, 0, 0, 0.1])},
        "u": lambda t, q, v: {"push": np.cos(q[1])},
    }
    # as above; v of the spherical joint is not far from the next order
    assert ratios(model, q, v, 0.8, 100, **acting) == pytest.approx([4, 4], rel=0.15)


@pytest.mark.parametrize("method", ["generalized-alpha", tt.GeneralizedAlpha(step=0.01)], ids=["adaptive", "fixed"])
def test_bricard_keeps_closed_and_moves_on_for_ten_seconds(method) -> None:
    model, q, v = start_of_bricard()
    times = np.linspace(0, 10, 97)  # not where the steps end
    run = tt.simulate(model, times, q, v, method=method, rtol=1e-5, atol=1e-5)
    errors, rates = opening(run)
    assert errors < 1e-12  # the projection stops at 1e-13
    assert rates < 1e-12 * np.abs(run.v).max()
    energy, kinetic = run.energy().sum(axis=1), run.energy()[:, 0]
    # damped a little: thousandths of what comes and goes, by steps of a twentieth of the fastest swing
    assert np.abs(energy - energy[0]).max() < 2e-3 * np.ptp(kinetic)
    assert np.ptp(run.q, axis=0).max() > 1.0, "it moves"


def test_reactions_of_redundant_closures_are_those_of_the_default_integrator() -> None:
    model, q, v = closed_four_bar(0.5, 5.0)
    times = np.linspace(0, 0.5, 4)
    precise = tt.simulate(model, times, q, v)
    run = tt.simulate(model, times, q, v, method=tt.GeneralizedAlpha(step=1e-3))
    assert len(model.constraint_names) > model.closure_rank(q)
    expected = precise.reaction("pin")
    # second order, at steps of a thousandth of a turn; multipliers follow from the state, not from the scheme
    assert np.abs(run.reaction("pin") - expected).max() < 1e-4 * np.abs(expected).max()


@pytest.mark.long
def test_andrews_mechanism_tends_to_the_published_solution() -> None:
    model, q = andrews_start()
    drive, pull = model.velocity({"beta": ANDREWS_TORQUE}), {"k3.D": lambda t, q, v: spring(model, q)}
    order = [model.coordinate_names.index(name) for name in ANDREWS_ORDER]
    errors = []
    for step in (4e-5, 2e-5, 1e-5):
        run = tt.simulate(model, [0, 0.03], q, np.zeros(7), drive, pull, method=tt.GeneralizedAlpha(step=step))
        errors.append(np.abs(run.q[-1][order] - ANDREWS_END).max())
    assert errors[-1] < 1e-4  # of 15.8 rad: 2.5 turns
    assert np.array(errors[:-1]) / errors[1:] == pytest.approx([4, 4], rel=0.05)  # second order


@pytest.mark.parametrize("damping", [0.0, 1e3])
def test_a_stiff_pad_takes_no_short_steps(damping) -> None:
    """Its vibrations, of 1e-3 s and a micrometre, are below the tolerance: explicit integrators have to follow them."""
    rigid, q, v = closed_four_bar()
    closed = tt.simulate(rigid, [0, 1], q, v)
    model, tolerances = padded(1e8, damping), {"rtol": 1e-4, "atol": 1e-4}
    explicit = tt.simulate(model, [0, 1], q, v, **tolerances)
    run = tt.simulate(model, [0, 1], q, v, method="generalized-alpha", **tolerances)
    assert explicit.statistics["steps"] > 2000
    assert run.statistics["steps"] + run.statistics["rejected"] < 250
    # about a hundred steps at a tolerance of 1e-4
    assert np.abs(run.q[-1] - closed.q[-1]).max() < 1e-2
    fixed = tt.simulate(model, [0, 1], q, v, method=tt.GeneralizedAlpha(step=1e-3), **tolerances)
    assert fixed.statistics["steps"] < 1010  # the first may have to be halved
    assert np.abs(fixed.q[-1] - closed.q[-1]).max() < 1e-3  # 1e-2^2 against 1e-3^2 in the steps


def test_energy_of_a_linear_oscillator() -> None:
    model, times = oscillator(2 * np.pi), np.linspace(0, 50, 51)

    def lost(radius, step):
        run = tt.simulate(model, times, [1.0], [0.0], method=tt.GeneralizedAlpha(radius, step))
        energy = run.energy().sum(axis=1)
        return np.abs(energy / energy[0] - 1).max()

    # the trapezoidal rule keeps it: rounding, and Newton's method stops at 1e-10
    assert lost(1.0, 0.02) < 1e-9
    # a vibration resolved by fifty steps loses next to nothing in fifty periods, and eight times less at half the step
    assert lost(0.8, 0.02) < 1e-3
    assert lost(0.8, 0.02) / lost(0.8, 0.01) == pytest.approx(8, rel=0.05)


@pytest.mark.parametrize("radius", [0.5, 0.8, 1.0])
def test_fast_vibrations_are_damped_by_the_spectral_radius(radius) -> None:
    steps = 40
    run = tt.simulate(oscillator(1e5), [0, 0.5, 1.0], [1e-3], [0.0], method=tt.GeneralizedAlpha(radius, 1 / steps), rtol=1e-13)
    energy = run.energy().sum(axis=1)
    # 2500 radians a step are near the limit; a double root makes the amplitudes shrink like n rho^n
    halfway = energy[2] / energy[1]
    assert halfway == pytest.approx(radius**steps, rel=0 if radius == 1 else 4, abs=1e-3 if radius == 1 else 0)


def test_prescribed_crank_drives_the_slider() -> None:
    model, speed = slider_crank().resolve(), 6.0
    q = model.assemble([0.3, -0.4, 0.1], fixed=["q1"])
    v = model.assemble_velocity(q, [speed, 0, 0], fixed=["q1"])
    arguments = [0, 0.35, 1.0], q, v
    turning = {"q1": lambda t: (0.3 + speed * t, speed, 0.0)}
    expected = tt.simulate(model, *arguments, prescribed=turning)
    run = tt.simulate(model, *arguments, prescribed=turning, method="generalized-alpha", rtol=1e-4)
    # the crank determines all: nothing is left to integrate, but the rod must not turn over
    assert run.q == pytest.approx(expected.q, abs=1e-11)
    assert run.tau == pytest.approx(expected.tau, abs=1e-9)


def test_reference_resolver_and_systems_without_motion() -> None:
    compiled, q, v = closed_four_bar()
    reference, _, _ = closed_four_bar(engine="reference")
    found = [tt.simulate(m, [0, 0.05], q, v, method=tt.GeneralizedAlpha(step=0.01)).q[-1] for m in (compiled, reference)]
    assert found[0] == pytest.approx(found[1], abs=1e-10)  # Newton's method stops at a hundredth of 1e-8
    still = tt.simulate(oscillator(1.0), [0, 1], [0.0], [0.0], method="generalized-alpha")
    assert not still.q.any()


@pytest.mark.parametrize("method", METHODS)
def test_statistics(method, tmp_path) -> None:
    model = oscillator(3.0)
    run = tt.simulate(model, [0, 1], [1.0], [0.0], method=method, rtol=1e-5)
    assert run.statistics["steps"] > (0 if method == "exponential" else 3)  # what is linear takes one exponential step
    assert run.statistics["seconds"] > 0
    run.save(tmp_path / "run.npz")
    assert tt.load_trajectory(tmp_path / "run.npz", model).statistics == run.statistics


def test_statistics_of_closed_loops() -> None:
    model, q, v = closed_four_bar()
    for method, expected in {"DOP853": {"steps", "evaluations"}, "generalized-alpha": {"iterations", "rejected"}}.items():
        counted = tt.simulate(model, [0, 0.2], q, v, method=method, rtol=1e-4).statistics
        assert expected | {"jacobians", "seconds"} <= set(counted)
        assert counted["evaluations" if method == "DOP853" else "iterations"] >= counted["steps"]


@pytest.mark.parametrize("radius", [-0.1, 1.1, np.nan, "high", [0.5]])
def test_bad_spectral_radius_is_refused(radius) -> None:
    with pytest.raises(tt.ModelError, match=r"spectral_radius: .*a number from 0 to 1") as caught:
        tt.GeneralizedAlpha(radius)
    assert caught.value.code == "bad-radius"


def test_closures_need_some_damping() -> None:
    model, q, v = closed_four_bar()
    with pytest.raises(tt.ModelError, match=r"at most 0\.95 with rigid closures"):
        tt.simulate(model, [0, 1], q, v, method=tt.GeneralizedAlpha(1.0))


def test_sampled_controllers() -> None:
    """A sampled damper moves as with the default integrator."""
    model, times = oscillator(3.0), np.linspace(0, 1, 11)
    damper = tt.Controller(lambda t, x, y, r: (x, -2.0 * y), [], inputs=["x.v"], outputs=["x"], sample_time=0.1)
    expected, run = (
        tt.simulate(model, times, [1.0], [0.0], controller=damper, method=method, rtol=1e-6, atol=1e-6)
        for method in ("DOP853", "generalized-alpha")
    )
    assert run.q == pytest.approx(expected.q, abs=1e-4)  # a hundred times the tolerance: second order
    assert np.abs(run.control.u).max() > 1.0
    assert run.statistics["steps"] > 10


def filtered_damper():
    """Return a damper with a lag, and the matrix of the oscillator of frequency 3 with it: ``d[q, v, x]/dt``."""
    K = control.ss([[-10.0]], [[1.0]], [[20.0]], [[-2.0]], inputs=["x_v"], outputs=["x"])
    # an input named like an output gets the reference less the output: e = -v, and u = 20 x + 2 v
    return K, np.array([[0.0, 1.0, 0.0], [-9.0, 2.0, 20.0], [0.0, -1.0, -10.0]])


def test_continuous_controllers_converge_as_the_scheme_does() -> None:
    """Against the matrix exponential of the closed loop: second order, states of the controller too."""
    model, times = oscillator(3.0), np.linspace(0, 1, 5)
    K, closed = filtered_damper()
    expected = np.array([expm(closed * t) @ [1.0, 0.0, 0.0] for t in times])
    errors = []
    for step in (0.02, 0.01, 0.005):
        run = tt.simulate(model, times, [1.0], [0.0], controller=K, method=tt.GeneralizedAlpha(0.8, step=step))
        errors.append(np.abs(np.column_stack([run.q, run.v, run.control.x]) - expected).max(axis=0))
    ratios = np.array(errors[:-1]) / np.array(errors[1:])
    assert (ratios > 3.6).all()
    assert (ratios < 4.4).all()
    wrong = np.abs(expm(0.999 * closed) @ [1.0, 0.0, 0.0] - expected[-1])
    assert wrong.max() > errors[-1].max(), "the negative control: a loop that is slower by a thousandth"


def test_continuous_controllers_with_steps_of_their_own() -> None:
    """A fast filter of the controller's is resolved: its states have tolerances as the model's have."""
    model, times = oscillator(3.0), np.linspace(0, 1, 5)
    K, closed = filtered_damper()
    expected = np.array([expm(closed * t) @ [1.0, 0.0, 0.0] for t in times])
    found = []
    for rtol in (1e-4, 1e-6):
        run = tt.simulate(model, times, [1.0], [0.0], controller=K, method="generalized-alpha", rtol=rtol, atol=rtol)
        found.append(np.abs(np.column_stack([run.q, run.v, run.control.x]) - expected).max())
    assert found[0] < 2e-2  # a hundred steps or two, each with an error of the tolerance
    assert found[1] < 0.1 * found[0]


def test_continuous_controllers_of_closed_loops() -> None:
    """A linkage held by a controller that measures and drives its crank, as by an explicit integrator."""
    model, q, v = closed_four_bar(0.5, 0.0)
    K = control.ss([[-20.0]], [[1.0]], [[-300.0]], [[40.0]], inputs=["q1_q"], outputs=["q1"])
    given = {"controller": K, "reference": {"q1_q": lambda t: 0.5 + 0.3 * np.sin(2 * t)}}
    times = np.linspace(0, 1, 11)
    expected = tt.simulate(model, times, q, v, rtol=1e-10, atol=1e-12, **given)
    errors = [
        np.abs(tt.simulate(model, times, q, v, method=tt.GeneralizedAlpha(step=step), **given).q - expected.q).max()
        for step in (4e-3, 2e-3)
    ]
    assert errors[1] < 1e-3
    assert 3.0 < errors[0] / errors[1] < 5.0  # second order, next to what Newton's method leaves


def test_undamped_beams_take_steps_of_what_they_move_by() -> None:
    """A boom kicked about a soft hinge: vibrations far below its motion do not set the steps, and energy is kept."""
    s = tt.System("boom", gravity=[0, 0, -9.81])
    boom = tt.Beam("boom", length=6.0, density=2700.0, area=6e-4, young=7e10, iy=3e-8, iz=3e-8)
    s.connect("world", boom, joint=tt.Revolute("hinge", axis=[0, 1, 0], stiffness=5000.0))
    model, times = s.resolve(), np.linspace(0, 0.3, 16)
    q = model.neutral()
    q[0] = 1e-2
    fine = tt.simulate(model, times, q, np.zeros(model.nv), rtol=1e-8, atol=1e-10)
    run = tt.simulate(model, times, q, np.zeros(model.nv), method="generalized-alpha", rtol=1e-3, atol=1e-5)
    reach = np.abs(fine.q).max(axis=0)
    tip = model.coordinate_names.index("boom.C_z")
    assert np.abs(run.q[:, tip] - fine.q[:, tip]).max() < 0.02 * reach[tip]  # twenty steps' errors in the phase
    energy = run.energy().sum(axis=1)
    assert np.abs(energy - energy[0]).max() < 1e-3 * np.ptp(run.energy()[:, 0])
    # the axial vibration, of 1,470 rad/s and a thousandth of the tip's speed, would take twenty steps a period
    assert run.statistics["steps"] < 500
