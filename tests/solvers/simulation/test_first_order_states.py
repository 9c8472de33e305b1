"""States of the first order in simulations: closed forms, scipy's integrator on independent equations, all methods alike."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.linalg import expm

import titop as tt
from tests.stated_systems import BristleJoint, DragInPython, LaggingJoint, MaxwellJoint, interacting, jointed, looped
from titop.solvers.motions.prescribed import PrescribedMotion
from titop.solvers.simulation.driven_model import DrivenModel
from titop.solvers.simulation.implicit_equations import RateJacobian

#: Tolerances of integrators, and what errors of a simulation of a second may add up to.
FINE, ADDED = {"rtol": 1e-9, "atol": 1e-11, "progress": False}, 1e-7


def rotor(joint: tt.Joint, inertia: float = 2.0) -> tt.Model:
    """Return a rotor about z without weight on a joint."""
    s = tt.System("rotor")
    s.connect("world", tt.RigidBody("wheel", mass=1.0, inertia=inertia), joint)
    return s.resolve()


def slider(joint: tt.Joint, mass: float = 2.0) -> tt.Model:
    """Return a mass on a prismatic joint along x, without weight."""
    s = tt.System("slider")
    s.connect("world", tt.RigidBody("block", mass=mass), joint)
    return s.resolve()


def test_lag_answers_as_its_closed_form() -> None:
    m, t = rotor(LaggingJoint("hinge")), np.linspace(0, 1, 21)
    run = tt.simulate(m, t, [0.0], [0.0], u=[4.0], x0={"hinge.effort": 1.0}, **FINE)
    effort = 4.0 - 3.0 * np.exp(-t / 0.3)
    speed = (4.0 * t - 0.9 * (1.0 - np.exp(-t / 0.3))) / 2.0
    np.testing.assert_allclose(run.x[:, 0], effort, atol=ADDED)
    np.testing.assert_allclose(run.v[:, 0], speed, atol=ADDED)
    np.testing.assert_allclose(run.a[:, 0], effort / 2.0, atol=ADDED)
    np.testing.assert_array_equal(run.coordinate("hinge.effort"), run.x[:, 0])


def test_maxwell_element_relaxes() -> None:
    m, t = rotor(MaxwellJoint("hinge")), np.linspace(0, 0.5, 11)
    run = tt.simulate(m, t, [0.2], [0.0], prescribed={"hinge": lambda _: (0.2, 0.0, 0.0)}, x0=[0.05], **FINE)
    np.testing.assert_allclose(run.tau[:, 0], 20.0 * 0.15 * np.exp(-t * 20.0 / 3.0), atol=ADDED)  # holds it against the spring


def test_zener_element_swings_as_its_matrix_says() -> None:
    k, c, stiffness, inertia = 20.0, 3.0, 5.0, 2.0
    A = np.array([[0, 1, 0], [-(k + stiffness) / inertia, 0, k / inertia], [k / c, 0, -k / c]])
    m, t, start = rotor(MaxwellJoint("hinge", stiffness=stiffness), inertia), np.linspace(0, 2, 9), np.array([0.3, -0.1, 0.1])
    run = tt.simulate(m, t, start[:1], start[1:2], x0=start[2:], **FINE)
    expected = np.array([expm(A * instant) @ start for instant in t])
    np.testing.assert_allclose(np.hstack([run.q, run.v, run.x]), expected, atol=ADDED)


def test_bristle_friction_is_that_of_other_equations() -> None:
    """LuGre with a pull that makes the mass stick, slip and stick again; written anew for scipy."""
    m = slider(BristleJoint("rail", axis=[1, 0, 0]))

    def pull(t: float) -> float:
        return 2.5 * np.sin(3.0 * t)

    def rates(t: float, y: Any) -> Any:
        _, v, z = y
        limit = (1.0 + 0.5 * np.exp(-((v / 0.01) ** 2))) / 1e3
        dz = v - np.hypot(v, 1e-6) / limit * z
        return [v, (pull(t) - 1e3 * z - 30.0 * dz - 0.4 * v) / 2.0, dz]

    t = np.linspace(0, 2, 41)
    expected = solve_ivp(rates, (0, 2), [0, 0, 0], method="LSODA", t_eval=t, rtol=1e-10, atol=1e-12).y.T
    run = tt.simulate(m, t, [0.0], [0.0], tau=lambda t, q, v: np.array([pull(t)]), method="Radau", **FINE)
    sizes = np.abs(expected).max(axis=0)
    np.testing.assert_allclose(np.hstack([run.q, run.v, run.x]) / sizes, expected / sizes, atol=1e-6)
    assert np.abs(expected[:, 1]).min() < 1e-3 < 0.1 < np.abs(expected[:, 1]).max()  # it does stick and slip


@pytest.mark.filterwarnings("ignore:method")  # an explicit method for what is stiff, on slow machines
@pytest.mark.parametrize("method", ["RK45", "Radau", "BDF", "LSODA"])
@pytest.mark.parametrize("make", [interacting, jointed])
def test_methods_agree(make: Any, method: str) -> None:
    m, rng = make().resolve(), np.random.default_rng(1)
    q, v, x, t = m.random_configuration(rng), 0.3 * rng.normal(size=m.nv), 0.01 * rng.normal(size=m.nx), np.linspace(0, 0.2, 5)
    run, best = (tt.simulate(m, t, q, v, u=[0.7], x0=x, method=which, **FINE) for which in (method, "DOP853"))
    for name in ("q", "v", "x", "a"):
        one, other = getattr(run, name), getattr(best, name)
        np.testing.assert_allclose(one, other, atol=1e-6 * max(1.0, np.abs(other).max()))  # a hundred steps at 1e-9 or so


@pytest.mark.portable
@pytest.mark.parametrize("law", [DragInPython, None])
def test_engines_agree(law: Any) -> None:
    s = interacting() if law is None else interacting(law)
    m, rng, t = s.resolve(), np.random.default_rng(2), np.linspace(0, 0.3, 4)
    q, v, x = m.random_configuration(rng), 0.3 * rng.normal(size=m.nv), rng.normal(size=m.nx)
    one, other = (tt.simulate(each, t, q, v, u=[0.7], x0=x, **FINE) for each in (m, s.resolve(engine="reference")))
    for name in ("q", "v", "x"):
        np.testing.assert_allclose(getattr(one, name), getattr(other, name), atol=ADDED)


@pytest.mark.parametrize("method", ["DOP853", "Radau"])
def test_closed_loops_take_states_along(method: str) -> None:
    m, t = looped().resolve(), np.linspace(0, 0.5, 6)
    q = m.assemble(m.configuration({"driven": 0.8, "soft": 0.5}), ["driven"])
    run = tt.simulate(m, t, q, np.zeros(m.nv), u=[1.5], x0={"soft.creep": q[1]}, method=method, **FINE)
    np.testing.assert_allclose(run.x[:, 0], 1.5 * (1.0 - np.exp(-t / 0.3)), atol=ADDED)
    assert max(np.abs(m.closure_error(each)).max() for each in run.q) < 1e-12
    # the viscoelastic hinge's state is what its rates add up to: Simpson's rule, of fourth order, over twice as many times
    fine = tt.simulate(m, np.linspace(0, 0.5, 101), q, np.zeros(m.nv), u=[1.5], x0={"soft.creep": q[1]}, method=method, **FINE)
    rate = 20.0 * (fine.q[:, 1] - fine.x[:, 1]) / 3.0
    added = 0.005 / 3.0 * (rate[0] + rate[-1] + 4.0 * rate[1::2].sum() + 2.0 * rate[2:-1:2].sum())
    np.testing.assert_allclose(fine.x[-1, 1] - fine.x[0, 1], added, atol=1e-8)


@pytest.mark.parametrize("make", [interacting, jointed, looped])
def test_generalized_alpha_converges_to_the_others(make: Any) -> None:
    m, t = make().resolve(), np.linspace(0, 0.2, 3)
    q = m.assemble(m.configuration({"driven": 0.8, "soft": 0.5}), ["driven"]) if m.is_constrained else m.neutral()
    x = np.full(m.nx, 0.01)
    best = tt.simulate(m, t, q, np.zeros(m.nv), u=[0.7], x0=x, method="Radau", **FINE)
    errors = []
    for step in (4e-3, 2e-3):
        run = tt.simulate(
            m, t, q, np.zeros(m.nv), u=[0.7], x0=x, method=tt.GeneralizedAlpha(step=step), rtol=1e-8, progress=False
        )
        errors.append(max(np.abs(run.q - best.q).max(), np.abs(run.x - best.x).max()))
    assert errors[1] < 0.35 * errors[0] < 1e-3  # second order: a quarter


@pytest.mark.parametrize("make", [interacting, jointed])
def test_jacobian_of_implicit_methods(make: Any) -> None:
    m, rng = make().resolve(), np.random.default_rng(3)
    plant = DrivenModel(m, np.array([0.0, 1.0]), None, {}, PrescribedMotion(m, {}, (0.0, 1.0)), [0.7], None)
    y = np.concatenate([m.random_configuration(rng), 0.3 * rng.normal(size=m.nv), 0.1 * rng.normal(size=m.nx)])
    step = 1e-6
    columns = [(plant.rate(0.0, y + dy) - plant.rate(0.0, y - dy)) / (2 * step) for dy in step * np.eye(len(y))]
    jacobian = RateJacobian(plant)(0.0, y)
    np.testing.assert_allclose(jacobian, np.array(columns).T, atol=1e-7 * np.abs(jacobian).max())  # central differences


def test_continuous_controllers_have_states_of_their_own() -> None:
    """A proportional-integral controller around the lag: the closed loop's matrix by hand."""
    import control

    m, t = rotor(LaggingJoint("hinge")), np.linspace(0, 1, 11)
    K = control.ss([[0.0]], [[1.0]], [[2.0]], [[3.0]], inputs=["hinge_v"], outputs=["hinge_command"])
    run = tt.simulate(m, t, [0.0], [0.0], controller=K, reference={"hinge.v": 1.0}, x0=[0.2], **FINE)
    A = np.array([[0.0, 0.5, 0.0], [-3.0 / 0.3, -1.0 / 0.3, 2.0 / 0.3], [-1.0, 0.0, 0.0]])  # speed, effort, integral
    b, start = np.array([0.0, 3.0 / 0.3, 1.0]), np.array([0.0, 0.2, 0.0])
    rest = -np.linalg.solve(A, b)
    expected = np.array([expm(A * instant) @ (start - rest) + rest for instant in t])
    np.testing.assert_allclose(run.v[:, 0], expected[:, 0], atol=ADDED)
    np.testing.assert_allclose(run.x[:, 0], expected[:, 1], atol=ADDED)
    stiff = tt.simulate(m, t, [0.0], [0.0], controller=K, reference={"hinge.v": 1.0}, x0=[0.2], method="Radau", **FINE)
    np.testing.assert_allclose(stiff.x[:, 0], expected[:, 1], atol=ADDED)


def test_trajectories_keep_states(tmp_path: Path) -> None:
    m = jointed().resolve()
    run = tt.simulate(m, [0.0, 0.05, 0.1], m.neutral(), np.zeros(3), x0={"soft.creep": 0.1}, progress=False)
    run.save(tmp_path / "run.npz")
    read = tt.load_trajectory(tmp_path / "run.npz", m)
    np.testing.assert_array_equal(read.x, run.x)
    data = run.to_xarray()
    assert data["x"].sel(state="soft.creep").to_numpy()[0] == 0.1
    assert data["state_unit"].to_numpy().tolist() == ["N m", "m", "rad"]
    other = rotor(MaxwellJoint("hinge"))
    with pytest.raises(tt.ModelError):
        tt.load_trajectory(tmp_path / "run.npz", other)


def test_reactions_know_states() -> None:
    m, rng = interacting().resolve(), np.random.default_rng(4)
    run = tt.simulate(m, [0.0, 0.1, 0.2], m.random_configuration(rng), np.zeros(m.nv), x0=rng.normal(size=m.nx), progress=False)
    felt = run.reaction("drag")
    for k in range(3):
        expected = m.reaction("drag", run.q[k], run.v[k], run.a[k], x=run.x[k])
        np.testing.assert_allclose(felt[k], expected, rtol=1e-12, atol=1e-12)
    assert np.abs(felt - m.reaction("drag", run.q, run.v, run.a)).max() > 0.1


@pytest.mark.parametrize(
    ("given", "code"), [([0.1, 0.2], "wrong-length"), ({"hinge": 1.0}, "unknown-state"), ([np.inf], "not-finite")]
)
def test_wrong_start_values_are_refused(given: Any, code: str) -> None:
    with pytest.raises(tt.ModelError) as refusal:
        tt.simulate(rotor(MaxwellJoint("hinge")), [0, 1], [0.0], [0.0], x0=given)
    assert refusal.value.code == code
