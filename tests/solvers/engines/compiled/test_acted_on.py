"""What acts from outside in single calls: wrenches and inputs, given anew each time, against the reference engine."""

from __future__ import annotations

import pickle
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import titop as tt
from tests.actuated_systems import Pushed, satellite
from tests.systems import random_state
from tests.tolerances import ROUNDING
from titop.solvers.mechanism.inputs import WrenchPlace

PORTS = ("hub", "hub.nozzle", "arm.tip", "arm")


@pytest.fixture(scope="module")
def models():
    return satellite().resolve(), satellite().resolve("reference")


def acting(rng, model, ports):
    return {port: rng.normal(size=6) for port in ports}, rng.normal(size=model.nu)


@pytest.mark.parametrize("ports", [(), ("arm.tip",), ("arm.tip", "hub"), ("hub", "arm.tip"), PORTS], ids=len)
@pytest.mark.parametrize("driven", [True, False])
def test_forward_and_inverse_dynamics(models, ports, driven) -> None:
    rng = np.random.default_rng(len(ports))
    for _ in range(3):  # the second time with tables that are there already
        q, v, *_, tau = random_state(models[0], rng)
        wrenches, u = acting(rng, models[0], ports)
        given = {"wrenches": wrenches, "u": u if driven else None}
        a, expected = (model.forward_dynamics(q, v, tau, **given) for model in models)
        np.testing.assert_allclose(a, expected, **ROUNDING)
        np.testing.assert_allclose(models[0].inverse_dynamics(q, v, a, **given), tau, **ROUNDING)


def test_lists_and_names_say_the_same(models) -> None:
    rng = np.random.default_rng(5)
    q, v, *_, tau = random_state(models[0], rng)
    wrenches, u = acting(rng, models[0], ("arm.tip",))
    plain = {port: wrench.tolist() for port, wrench in wrenches.items()}, dict(zip(models[0].input_names, u, strict=True))
    expected = models[0].forward_dynamics(q, v, tau, wrenches, u=u)
    np.testing.assert_allclose(models[0].forward_dynamics(q, v, tau, plain[0], u=plain[1]), expected, **ROUNDING)


@pytest.mark.parametrize("given", [[1.0, 2, -3.5, 0, 0, 1], (0.5, 1.0, 0, 0, 0, 0)], ids=["list", "tuple"])
def test_plain_numbers_are_put_into_tables_at_once(given, models, monkeypatch: pytest.MonkeyPatch) -> None:
    q, v, *_, tau = random_state(models[0], np.random.default_rng(6))
    expected = models[0].forward_dynamics(q, v, tau, {"arm.tip": np.array(given, float)})
    monkeypatch.setattr(type(models[0].mechanism), "external_pushes", None)
    assert (models[0].forward_dynamics(q, v, tau, {"arm.tip": given}) == expected).all()


@pytest.mark.parametrize("wrong", [["1", 0, 0, 0, 0, 0], [1.0, 2.0], [[1.0], 0, 0, 0, 0, 0], [10**400, 0, 0, 0, 0, 0]], ids=str)
def test_wrong_lists_are_refused(wrong, models) -> None:
    q, v, *_, tau = random_state(models[0], np.random.default_rng(6))
    for model in models:
        with pytest.raises(tt.ModelError, match="six finite numbers"):
            model.forward_dynamics(q, v, tau, {"arm.tip": wrong})


@pytest.mark.parametrize("entry", range(6))
@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_entries_that_no_derivative_depends_on_are_looked_at(entry: int, value: float) -> None:
    """A hinge hears of one entry of the wrench on its body, and its derivatives of none of those along the body's axes."""
    s = tt.System("hinged")
    s.connect("world", tt.RigidBody("body", 1.0, inertia=0.1), tt.Revolute("hinge", axis=[0, 1, 0]))
    m, wrench = s.resolve(), np.zeros(6)
    state = np.zeros((3, 1))
    for _ in range(2):  # the second time with tables that are there already
        m.inverse_dynamics_derivatives(*state, wrenches={"body": wrench})
    wrench[entry] = value
    for function in (m.inverse_dynamics, m.inverse_dynamics_derivatives, m.forward_dynamics_derivatives):
        with pytest.raises(tt.ModelError, match="six finite numbers"):
            function(*state, wrenches={"body": wrench})


def test_more_sets_of_ports_than_are_kept(models) -> None:
    """Any order of the same ports says the same, however many were asked for before; other wrenches say something else."""
    rng = np.random.default_rng(6)
    q, v, *_, tau = random_state(models[0], rng)
    wrenches, _ = acting(rng, models[0], PORTS)
    expected = models[0].forward_dynamics(q, v, tau, wrenches)
    for _ in range(3):
        for k in range(24):
            order = np.random.default_rng(k).permutation(PORTS)
            for count in (2, 4):
                models[0].forward_dynamics(q, v, tau, {str(port): wrenches[port] for port in order[:count]})
            a = models[0].forward_dynamics(q, v, tau, {str(port): wrenches[port] for port in order})
            np.testing.assert_allclose(a, expected, **ROUNDING)
    assert not np.allclose(models[0].forward_dynamics(q, v, tau, {"hub": wrenches["hub"]}), expected)


def test_other_parameters_are_heard(models) -> None:
    rng = np.random.default_rng(7)
    q, v, *_, tau = random_state(models[0], rng)
    wrenches, u = acting(rng, models[0], ("arm.tip",))
    values = {"arm.mass": 4.0, "arm.tip.position.x": 1.5}
    before = models[0].forward_dynamics(q, v, tau, wrenches, u=u)
    a, expected = (model.with_parameters(values).forward_dynamics(q, v, tau, wrenches, u=u) for model in models)
    np.testing.assert_allclose(a, expected, **ROUNDING)
    assert not np.allclose(a, before)


def test_threads_do_not_hear_each_other(models) -> None:
    rng = np.random.default_rng(8)
    q, v, *_, tau = random_state(models[0], rng)
    cases = [acting(rng, models[0], ("arm.tip", "hub")) for _ in range(200)]

    def accelerations(case):
        return models[0].forward_dynamics(q, v, tau, case[0], u=case[1])

    expected = [accelerations(case) for case in cases]
    with ThreadPoolExecutor(4) as pool:
        np.testing.assert_array_equal(list(pool.map(accelerations, cases)), expected)


@pytest.mark.parametrize("given", [{"wrenches": {"hub": 1j * np.ones(6)}}, {"u": 1j * np.ones(7)}], ids=str)
def test_complex_numbers_are_refused(models, given) -> None:
    q, v, *_, tau = random_state(models[0], np.random.default_rng(9))
    for function in (models[0].forward_dynamics, models[0].inverse_dynamics):
        with pytest.raises(tt.ModelError, match="real numbers"):
            function(q, v, tau, **given)
    assert np.imag(models[1].forward_dynamics(q, v, tau, **given)).any()


@pytest.mark.parametrize("engine", [0, 1])
def test_stacked_states_with_loads_of_their_own(models, engine: str) -> None:
    model, rng = models[engine], np.random.default_rng(10)
    q, v, x = (np.array(part) for part in zip(*(random_state(model, rng)[:3] for _ in range(3)), strict=True))
    tips, u, both = rng.normal(size=(3, 6)), rng.normal(size=(3, model.nu)), rng.normal(size=6)
    for function in (model.forward_dynamics, model.inverse_dynamics):
        found = function(q, v, x, {"arm.tip": tips, "hub": both}, u=u)
        for row in range(3):
            expected = function(q[row], v[row], x[row], {"arm.tip": tips[row], "hub": both}, u=u[row])
            np.testing.assert_allclose(found[row], expected, **ROUNDING)
        assert not np.allclose(found[0], function(q, v, x, {"arm.tip": tips[::-1], "hub": both}, u=u)[0])
        np.testing.assert_allclose(function(q, v, x, u=u.tolist())[1], function(q[1], v[1], x[1], u=u[1]), **ROUNDING)
        for wrong in ({"u": u[:2]}, {"wrenches": {"hub": tips[:2]}}, {"wrenches": {"hub": tips[:, :5]}}):
            with pytest.raises(tt.ModelError):
                function(q, v, x, **wrong)
        with pytest.raises(tt.ModelError, match="u: got 3 stacked ones"):
            function(q[0], v[0], x[0], u=u)


@pytest.mark.parametrize("engine", [0, 1])
def test_efforts_beside_inputs_have_all_their_entries(models, engine: str) -> None:
    q, v, *_ = random_state(models[engine], np.random.default_rng(11))
    for wrong in (1.0, [1.0], np.ones(1), np.ones((1, len(v)))):
        with pytest.raises(tt.ModelError, match="tau"):
            models[engine].forward_dynamics(q, v, wrong, u=np.ones(models[engine].nu))


def test_a_model_from_another_process_keeps_the_functions_of_its_blocks() -> None:
    """Bound kernels hold addresses of Python functions: here of a block that answers through Python, by ports and loops."""
    s = tt.System("pushed rail")
    bodies = [tt.RigidBody(name, 1.0, [0.1, 0, 0], [0.1, 0.2, 0.2]) for name in ("near", "far")]
    s.connect("world", bodies[0], tt.Revolute("hinge", axis=[0, 0, 1]))
    s.connect(bodies[0], Pushed("pushed"), tt.Revolute("elbow", axis=[0, 0, 1]))
    s.connect("world", bodies[1], tt.Prismatic("rail", axis=[1, 0, 0]))
    s.add_gear(tt.Gear("pair", driver="hinge", driven="rail", ratio=0.5))
    model = s.resolve()
    rng = np.random.default_rng(12)
    q, v, tau = random_state(model, rng)[0], np.zeros(model.nv), rng.normal(size=model.nv)
    wrench = {"near": rng.normal(size=6)}
    expected = model.forward_dynamics(q, v, tau, wrench, u=[0.3]), *model.forward_dynamics_derivatives(q, v, tau)
    travelled = pickle.loads(pickle.dumps(model))
    slopes = travelled.forward_dynamics_derivatives(q, v, tau)
    found = travelled.forward_dynamics(q.tolist(), v, tau, wrench, u=[0.3]), *slopes
    system = travelled.mechanism.engine.system
    assert system.laws is system.with_loads_at((WrenchPlace("near", False),)).laws
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, **ROUNDING)
