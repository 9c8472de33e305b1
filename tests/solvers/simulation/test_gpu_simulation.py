"""Ensembles on a graphics processor, by kernels that run as C, against `tt.simulate` and a method written out."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import control
import numpy as np
import pytest
from scipy.integrate import RK23, RK45

import titop as tt
from tests.c_programs import needs_compiler
from tests.closed_systems import four_bar
from tests.cuda_stand_in import compile_cuda, cupy, needs_nvcc  # noqa: F401
from tests.every_kind import SYSTEMS, states
from tests.solvers.programs.test_export_programs import lander
from titop.blocks.basics.spatial import Array
from titop.solvers.programs import cuda_code

pytestmark = [needs_compiler, pytest.mark.usefixtures("cupy")]
#: Of `tt.simulate`, far below what is compared.
TIGHT: dict[str, Any] = {"rtol": 1e-12, "atol": 1e-13, "progress": False}


def swing(limit: float = np.inf) -> tt.Model:
    """Return a pendulum with a motor."""
    s = tt.System("swing", gravity=[0, 0, -9.81])
    bob = tt.RigidBody("bob", mass=2.0, com=[0, 0, -1], inertia=0.1 * np.eye(3))
    s.connect("world", bob, joint=tt.Revolute("hinge", axis=[0, 1, 0], damping=0.2))
    s.add_actuator(tt.Motor("motor", "hinge", effort_limit=limit))
    return s.resolve()


def holding(m: tt.Model, delay: float, **more: Any) -> tt.Loop:
    """Return a controller that holds the pendulum aside, with an integrator."""
    K = control.ss([[0.0]], [[1.0, 0.0]], [[20.0]], [[30.0, 8.0]], inputs=["hinge_q", "hinge_v"], outputs=["motor"])
    return tt.Loop(K, sample_time=0.05, delay=delay, operating_point=tt.trim(m, ["motor"], q=[0.3]), **more)


@pytest.fixture(scope="module")
def model() -> tt.Model:
    return lander().resolve()


@pytest.mark.parametrize(("method", "scheme"), [("RK45", RK45), ("RK23", RK23)])
def test_steps_are_the_methods(model: tt.Model, method: str, scheme: Any) -> None:
    """Steps by SciPy's coefficients; quaternions are divided by their norms at every stage. Rounding, of numbers near one."""
    rng, h, q0 = np.random.default_rng(2), 0.05, model.neutral()
    v0, tau = rng.standard_normal((2, 7))
    run = model.on_gpu("simulate", max_step=h, method=method)
    found, turning = run([0.0, 0.1, 0.2], v0=v0, tau=tau), model.program("configuration_rate")

    def unit(x: Array) -> Array:
        return np.concatenate([x[:3], x[3:7] / np.linalg.norm(x[3:7]), x[7:]])

    def rates(x: Array) -> Array:
        dq = turning.configuration_rate(x[:8], x[8:])
        return np.concatenate([dq, model.forward_dynamics(x[:8], x[8:], tau)])

    x = np.concatenate([q0, v0])
    for _ in range(4):
        stages = np.zeros((0, 15))
        for row in [*(scheme.A[k, :k] for k in range(scheme.n_stages))]:
            stages = np.vstack([stages, rates(unit(x + h * row @ stages))])
        x = unit(x + h * scheme.B @ stages)
    np.testing.assert_allclose(found.q[0, -1], x[:8], atol=1e-14)
    np.testing.assert_allclose(found.v[0, -1], x[8:], atol=1e-13)


@pytest.mark.parametrize(("method", "order"), [("RK23", 3), ("RK45", 5), ("DOP853", 8)])
def test_orders(method: str, order: int) -> None:
    """Halving steps divides the error by two to the order, within the next order's part."""
    m, t = swing(), [0.0, 1.0]
    right = tt.simulate(m, t, [1.0], [0.0], **TIGHT).q[-1, 0]
    steps = 0.2 if method == "DOP853" else 0.1
    errors = [float(m.on_gpu("simulate", max_step=h, method=method)(t, [1.0]).q[0, -1, 0]) - right for h in (steps, steps / 2)]
    assert abs(np.log2(errors[0] / errors[1]) - order) < 0.6


@pytest.mark.parametrize("delay", [0.0, 0.02, 0.1, 0.13])
def test_a_sampled_loop(delay: float) -> None:
    """Members differ in a parameter, in a start and in a reference; delays of parts of samples and whole ones; limits act."""
    m, t, masses = swing(limit=12.0), np.linspace(0, 1.0, 11), np.array([1.8, 2.0, 2.3])
    loop, starts, aims = holding(m, delay), np.array([[0.3], [0.0], [0.5]]), np.array([0.3, 0.4, 0.2])
    run = m.on_gpu("simulate", max_step=0.01, controller=loop, parameters=["bob.mass"], outputs=["hinge.a"])
    found = run(t, starts, parameters={"bob.mass": masses}, reference={"hinge_q": aims})
    assert found.q.shape == (3, 11, 1)
    assert not found.status.any()
    for k, mass in enumerate(masses):
        aimed = replace(loop, reference={"hinge.q": aims[k]})
        right = tt.simulate(m.with_parameters({"bob.mass": mass}), t, starts[k], [0.0], controller=aimed, **TIGHT)
        np.testing.assert_allclose(found.q[k], right.q, atol=1e-10)  # the method's error, with a fifth order and 0.01 s
        np.testing.assert_allclose(found.v[k], right.v, atol=1e-9)
    assert delay > 0.1 or abs(found.q[0, -1, 0] - 0.3) < 0.05


def test_a_family_of_controllers() -> None:
    """Interpolated at every sample, by what it measures; references are functions of time, and the loop's."""
    m, t = swing(), np.linspace(0, 1.0, 6)
    members = [
        control.ss([[-2.0]], [[1.0]], [[-k]], [[3 * k]], inputs=["hinge_q"], outputs=["motor"], name="K") for k in (5.0, 15.0)
    ]
    family = tt.LPVModel.of({"aside": [-1.0, 1.0]}, members)
    K = tt.ScheduledController(family, {"aside": "hinge.q"}, 0.02)
    loop = tt.Loop(K, reference={"hinge.q": lambda time: 0.5 * np.sin(time)})
    found = m.on_gpu("simulate", max_step=0.01, controller=loop)(t, [0.2])
    right = tt.simulate(m, t, [0.2], [0.0], controller=loop, **TIGHT)
    np.testing.assert_allclose(found.q[0], right.q, atol=1e-10)


def test_inputs_are_limited_in_closed_loop_alone() -> None:
    """As in `tt.simulate`: without a controller the motor gives what is asked for, here more than its range."""
    m, t = swing(limit=12.0), [0.0, 0.1, 0.2]
    found = m.on_gpu("simulate", max_step=0.01, inputs=["motor"])(t, u=[20.0])
    right = tt.simulate(m, t, [0.0], [0.0], u=[20.0], **TIGHT)
    np.testing.assert_allclose(found.q[0], right.q, atol=1e-10)  # the method's error, with a fifth order and 0.01 s


def test_long_programs_are_cut(model: tt.Model, monkeypatch: pytest.MonkeyPatch) -> None:
    """Functions of a hundred operations, which share numbers in memory, have the bits of one."""
    whole = model.on_gpu("simulate", max_step=0.1)([0, 0.1], v0=np.ones(7))
    monkeypatch.setattr(cuda_code, "_CHUNK", 100)
    run = model.on_gpu("simulate", max_step=0.1)
    assert "rates_values_5" in run.code
    np.testing.assert_array_equal(run([0, 0.1], v0=np.ones(7)).v, whole.v)


@pytest.mark.long
@needs_nvcc
@pytest.mark.parametrize("precision", ["double", "single"])
def test_cudas_compiler_takes_it(precision: str, tmp_path: Path) -> None:
    members = [control.ss([[-2.0]], [[1.0]], [[k]], [[3 * k]], inputs=["hinge_q"], outputs=["motor"]) for k in (5.0, 15.0)]
    family = tt.LPVModel.of({"hinge.q": [-1.0, 1.0]}, members)
    K = tt.ScheduledController(family, {"hinge.q": "hinge.q"}, 0.02)
    run = swing().on_gpu("simulate", precision, max_step=0.01, controller=tt.Loop(K, delay=0.05))
    (tmp_path / "run.cu").write_text(f"#include <math.h>\n{run.code}")
    compile_cuda(tmp_path / "run.cu")


def test_single_precision_and_columns() -> None:
    """Rounding of a hundred steps, of numbers near one."""
    m, t = swing(), [0.0, 0.5, 1.0]
    found = m.on_gpu("simulate", "single", max_step=0.01, controller=holding(m, 0.02))(t, np.array([[0.3, 0.1, 0.5]]).T)
    right = tt.simulate(m, t, [0.1], [0.0], controller=holding(m, 0.02), **TIGHT)
    assert found.q.dtype == np.float32
    np.testing.assert_allclose(found.q[1], right.q, atol=1e-5)


def test_loads_that_act_beside_commands() -> None:
    """Efforts and inputs that are given are added to commands; states of the first order are integrated."""
    s = tt.System("swing", gravity=[0, 0, -9.81])
    s.connect("world", tt.RigidBody("bob", mass=2.0, com=[0, 0, -1]), joint=tt.Revolute("hinge", axis=[0, 1, 0]))
    filtered = tt.SignalPath(filter=control.tf([1.0], [0.1, 1.0]))
    s.add_actuator(tt.Motor("motor", "hinge", path=filtered))
    m, t = s.resolve(), np.linspace(0, 1, 5)
    assert m.nx == 1
    K = control.ss([], [], [], [[-4.0]], 0.05, inputs=["hinge_v"], outputs=["motor"])
    given = {"tau": [0.7], "u": [1.5], "x0": [0.4]}
    found = m.on_gpu("simulate", max_step=0.01, controller=K, inputs=["motor"], outputs=["hinge.q"])(t, [0.2], **given)
    right = tt.simulate(m, t, [0.2], [0.0], controller=K, **given, **TIGHT)
    for name in ("q", "v", "x"):
        np.testing.assert_allclose(getattr(found, name)[0], getattr(right, name), atol=1e-9)
    np.testing.assert_array_equal(found.y, found.q)


def test_noise_is_the_seeds() -> None:
    """White noise on the measurements: of two seeds it differs, and a still pendulum trembles by what theory says."""
    m, n = swing(), 400
    K = control.ss([], [], [], [[1.0]], 0.1, inputs=["hinge_q"], outputs=["motor"])
    run = m.on_gpu("simulate", max_step=0.05, controller=tt.Loop(K, noise={"hinge.q": 1e-3}))
    q0 = np.zeros((n, 1))
    one, again, other = (run([0.0, 0.05], q0, seed=seed).v[:, -1, 0] for seed in (1, 1, 2))
    np.testing.assert_array_equal(one, again)
    assert (one != other).all()
    # torque 1e-3 N m for 0.05 s on 2.1 kg m^2; the standard deviation of n numbers is known to 1 / sqrt(2 n) of itself
    assert abs(one.std() / (1e-3 * 0.05 / 2.1) - 1) < 4 / np.sqrt(2 * n) + 0.01


def test_members_that_fail_stop_alone() -> None:
    m = swing()
    found = m.on_gpu("simulate", max_step=0.05, parameters=["bob.mass"], outputs=["hinge.a"])(
        [0.0, 0.1, 0.2], [[1.0], [1.0], [1.0]], [[0.0], [np.inf], [0.0]]
    )
    assert found.status.tolist() == [0, -1, 0]
    assert np.isfinite(found.q[[0, 2]]).all()
    assert np.isfinite(found.q[1, 0]).all()
    assert np.isnan(found.q[1, 1:]).all()
    assert np.isnan(found.y[1, 1:]).all()


def linkage(**more: Any) -> tt.System:
    return four_bar(tt.RigidClosure("pin", "revolute", redundant=True), **more)


def test_linkages_stay_closed() -> None:
    """Members with other lengths and masses are closed first, and go through dead centres of the rocker, a turn of the crank.

    Fifth order with 2.5 ms; what closures are left with is rounding.
    """
    m, t = linkage().resolve(), np.linspace(0, 0.4, 9)
    q0 = m.assemble([1.0, -1.0, -0.5])
    v0 = m.assemble_velocity(q0, [30.0, 0.0, 0.0])
    values = {"coupler.mass": np.array([2.0, 1.5, 2.5]), "crank.end.position.x": np.array([0.3, 0.28, 0.32])}
    run = m.on_gpu("simulate", max_step=0.0025, parameters=[*values], at=q0)
    found = run(t, q0, v0, parameters=values)
    assert not found.status.any()
    assert np.ptp(found.q[:, :, 0], axis=1).min() > 2 * np.pi
    for k in range(3):
        changed = m.with_parameters({name: numbers[k] for name, numbers in values.items()})
        assert np.abs(found.q[k, 0] - changed.assemble(q0)).max() < 1e-6
        right = tt.simulate(changed, t, found.q[k, 0], found.v[k, 0], **TIGHT)
        np.testing.assert_allclose(found.q[k], right.q, atol=1e-8)
        np.testing.assert_allclose(found.v[k], right.v, atol=1e-7)
        for q, v in zip(found.q[k], found.v[k], strict=True):
            assert np.abs(changed.closure_error(q)).max() < 1e-14
            assert np.abs(changed.closure_jacobian(q) @ v).max() < 1e-13


@pytest.mark.long
@pytest.mark.parametrize("name", ["gears", "what rolls"])
def test_gears_and_rolling(name: str) -> None:
    m, t = SYSTEMS[name]().resolve(), [0.0, 0.1, 0.2]
    given = states(m, 1)
    found = m.on_gpu("simulate", max_step=0.005, at=given["q"][0])(t, given["q"], given["v"])
    right = tt.simulate(m, t, given["q"][0], given["v"][0], **TIGHT)
    np.testing.assert_allclose(found.q[0], right.q, atol=1e-10)
    np.testing.assert_allclose(found.v[0], right.v, atol=1e-9)


@pytest.mark.parametrize(("precision", "error"), [("double", 1e-9), ("single", 1e-4)])
def test_a_controlled_linkage(precision: str, error: float) -> None:
    s = linkage()
    s.add_actuator(tt.Motor("motor", "q1", effort_limit=20.0))
    m, t = s.resolve(), np.linspace(0, 0.5, 6)
    K = control.ss([], [], [], [[30.0, 5.0]], 0.02, inputs=["q1_q", "q1_v"], outputs=["motor"])
    q0 = m.assemble([1.0, -1.0, -0.5])
    loop = tt.Loop(K, delay=0.01, reference={"q1.q": 1.5})
    found = m.on_gpu("simulate", precision, max_step=0.0025, controller=loop, at=q0)(t)
    right = tt.simulate(m, t, q0, np.zeros(3), controller=loop, **TIGHT)
    np.testing.assert_allclose(found.q[0], right.q, atol=error)


def test_loops_that_cannot_be_closed_and_dead_centres_have_statuses() -> None:
    """A bar too long to meet the others; a parallelogram that runs into its stretched position, where a pivot is lost."""
    m = linkage().resolve()
    q0 = m.assemble([1.0, -1.0, -0.5])
    run = m.on_gpu("simulate", max_step=0.005, parameters=["rocker.end.position.x"], at=q0)
    found = run([0.0, 0.1], q0, parameters=[[0.7], [3.0]])
    assert found.status.tolist() == [0, -3]
    assert np.isnan(found.q[1]).all()
    m = linkage(lengths=(2.0, 1.0, 2.0, 1.0)).resolve()
    q0 = np.array([1.0, -1.0, 1.0 - np.pi])
    found = m.on_gpu("simulate", max_step=0.001, at=q0)([0.0, 0.2], [q0, [0.0, 0.0, -np.pi]])
    assert found.status[0] == 0
    assert found.status[1] != 0


def test_refusals(model: tt.Model) -> None:
    m = swing()
    late = tt.System("late", gravity=[0, 0, 0])
    late.connect("world", tt.RigidBody("bob", mass=2.0, com=[0, 0, -1]), joint=tt.Revolute("hinge", axis=[0, 1, 0]))
    late.add_actuator(tt.Motor("motor", "hinge", path=tt.SignalPath(delay=0.1)))
    K = control.ss([], [], [], [[1.0]], 0.1, inputs=["hinge_q"], outputs=["motor"])
    wrong: list[tuple[str, tt.Model, dict[str, Any]]] = [
        ("bad-step", m, {}),
        ("unknown-method", m, {"max_step": 0.1, "method": "Radau"}),
        ("no-program", m, {"max_step": 0.1, "inputs": ["bob.F"]}),
        ("no-delay", late.resolve(), {"max_step": 0.1, "controller": K}),
        ("python-function", m, {"max_step": 0.1, "controller": tt.Loop(K, reference=lambda t, q, v: q)}),
    ]
    for code, which, given in wrong:
        with pytest.raises(tt.ModelError) as error:
            which.on_gpu("simulate", **given)([0, 1])
        assert [each.code for each in error.value.findings] == [code]
    run = model.on_gpu("simulate", max_step=0.1)
    for code, arguments in {
        "bad-times": ([0.0],),
        "wrong-shape": ([0, 1], np.tile(model.neutral(), (2, 1)), np.zeros((3, 7))),
    }.items():
        with pytest.raises(tt.ModelError) as error:
            run(*arguments)
        assert [each.code for each in error.value.findings] == [code]
    assert run([0, 1], [2 * model.neutral(), model.neutral()]).status.tolist() == [-2, 0]
