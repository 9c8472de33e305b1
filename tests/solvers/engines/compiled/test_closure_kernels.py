"""The compiled forms of what closed systems need beside forward dynamics, against the reference resolver's NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import titop as tt
from tests.solvers.engines.compiled.closed_cases import SYSTEMS, TOLERANCE, Case, driven_four_bar, error, of_both
from titop.solvers.constraints import closed_derivatives

Array = NDArray[np.float64]


def test_least_efforts(case: Case) -> None:
    assert error(*of_both(case, "inverse_dynamics", case.q, case.v, case.a)) < TOLERANCE
    assert error(*of_both(case, "inverse_dynamics", case.q, case.v, case.a, case.wrenches)) < TOLERANCE


def test_efforts_on_actuated_coordinates(case: Case) -> None:
    """On as many as move independently, and on one more: then they are the least ones."""
    for actuated in (case.free, [*case.free, case.more]):
        assert error(*of_both(case, "inverse_dynamics", case.q, case.v, case.a, actuated=actuated)) < TOLERANCE


def worst(found: Any, expected: Any) -> float:
    """Return the largest error of several matrices."""
    return max(error(x, y) for x, y in zip(found, expected, strict=True))


def test_derivatives_of_the_least_efforts(case: Case) -> None:
    """On all coordinates, on as many as move independently, and on one more."""
    for actuated in (None, case.free, [*case.free, case.more]):
        state = case.q, case.v, case.a, case.wrenches if actuated is None else None
        assert worst(*of_both(case, "inverse_dynamics_derivatives", *state, actuated=actuated)) < TOLERANCE


def test_derivatives_of_accelerations(case: Case) -> None:
    for wrenches in (None, case.wrenches):
        found, expected = of_both(case, "forward_dynamics_derivatives", case.q, case.v, case.rates[0], wrenches)
        assert worst(found, expected) < TOLERANCE


def test_hybrid_dynamics(case: Case) -> None:
    """Of any coordinates, more than move independently among them: efforts are then the least ones."""
    for imposed in case.imposed:
        for wrenches in (None, case.wrenches):
            state = case.q, case.v, case.rates[0], case.a, imposed, wrenches
            assert worst(*of_both(case, "hybrid_dynamics", *state)) < TOLERANCE


def test_derivatives_of_hybrid_dynamics(case: Case) -> None:
    """Against complex steps, where imposed motions depend on each other too."""
    for imposed in case.imposed[1:4]:
        state = case.q, case.v, case.rates[0], case.a, imposed, case.wrenches
        assert worst(*of_both(case, "hybrid_dynamics_derivatives", *state)) < TOLERANCE


@pytest.mark.parametrize("name", ["four-bar", "braced"])
def test_numpy_forms_of_overdriven_derivatives(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What kernels leave to NumPy comes out the same; without how the constraints turn it does not."""
    case = Case(name)
    model, state = case.model, (case.q, case.v, case.rates[0], case.a)
    mask = np.isin(model.coordinate_names, [*case.free, case.more])
    expected = model.hybrid_dynamics_derivatives(*state, [*case.free, case.more])
    assert worst(closed_derivatives.hybrid(model.mechanism, *state, mask, []), expected) < TOLERANCE
    monkeypatch.setattr(model.mechanism.engine.derivatives, "closure_rate", lambda q, v: 0.0 * model.closure_jacobian(q))
    assert worst(closed_derivatives.hybrid(model.mechanism, *state, mask, []), expected) > 1e-3


def test_inputs_beside_constraints(monkeypatch: pytest.MonkeyPatch) -> None:
    """Motors and thrusters in all causalities: they leave less to do for the least efforts."""
    monkeypatch.setitem(SYSTEMS, "driven", driven_four_bar)
    case, u = Case("driven"), np.array([0.4, -2.0])
    q, v, a, tau = case.q, case.v, case.a, case.rates[0]
    for actuated in (None, ["q2"], ["q1", "q2"]):
        assert error(*of_both(case, "inverse_dynamics", q, v, a, u=u, actuated=actuated)) < TOLERANCE
        assert worst(*of_both(case, "inverse_dynamics_derivatives", q, v, a, u=u, actuated=actuated)) < TOLERANCE
    assert worst(*of_both(case, "forward_dynamics_derivatives", q, v, tau, u=u)) < TOLERANCE
    for imposed in (["q2"], ["q1"], ["q1", "q2"]):
        assert worst(*of_both(case, "hybrid_dynamics", q, v, tau, a, imposed, u=u)) < TOLERANCE
        assert worst(*of_both(case, "hybrid_dynamics_derivatives", q, v, tau, a, imposed, u=u)) < TOLERANCE
    without, beside = (case.model.inverse_dynamics(q, v, a, u=inputs) for inputs in (None, u))
    assert error(without, beside) > 1e-3


def test_stacked_states_have_loads_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(SYSTEMS, "driven", driven_four_bar)
    case, rng = Case("driven"), np.random.default_rng(1)
    model, port, imposed = case.model, case.model.port_names[-1], ["q2"]
    state = [np.stack([x, x]) for x in (case.q, case.v, case.rates[0], case.a)]
    wrenches, u = rng.normal(size=(2, 6)), rng.normal(size=(2, 2))
    for m in (model, case.reference):
        both = m.hybrid_dynamics(*state, imposed, {port: wrenches}, u)
        slopes = m.hybrid_dynamics_derivatives(*state, imposed, {port: wrenches}, u)
        forward = m.forward_dynamics_derivatives(*state[:3], {port: wrenches}, u=u)
        for k in range(2):
            one = *(x[k] for x in state), imposed, {port: wrenches[k]}, u[k]
            assert worst([x[k] for x in both], case.reference.hybrid_dynamics(*one)) < TOLERANCE
            assert worst([x[k] for x in slopes], model.hybrid_dynamics_derivatives(*one)) < TOLERANCE
            expected = model.forward_dynamics_derivatives(*one[:3], {port: wrenches[k]}, u=u[k])
            assert worst([x[k] for x in forward], expected) < TOLERANCE
        assert both[0].shape == (2, model.nv)
        assert slopes.dtau_da.shape == (2, model.nv, model.nv)
        with pytest.raises(tt.ModelError, match="equally stacked"):
            m.hybrid_dynamics(*state[:3], case.a, imposed)


def test_nearest_rates(case: Case) -> None:
    for fixed in ((), case.free):
        assert error(*of_both(case, "assemble_velocity", case.q, case.rates[0], fixed)) < TOLERANCE
        assert error(*of_both(case, "assemble_acceleration", case.q, case.v, case.rates[1], fixed)) < TOLERANCE


def test_what_is_wrong_is_told_as_by_the_reference(case: Case) -> None:
    """Contradictions are left to the NumPy forms, which name them."""
    with pytest.raises(tt.ModelError, match="inconsistent-acceleration"):
        case.model.inverse_dynamics_derivatives(case.q, case.v, case.rates[1])
    for model in (case.model, case.reference):
        with pytest.raises(tt.ModelError, match="inconsistent-acceleration"):
            model.inverse_dynamics(case.q, case.v, case.rates[1])
        with pytest.raises(tt.ConvergenceError, match="fixed velocities contradict"):
            model.assemble_velocity(case.q, case.rates[0], model.coordinate_names)
        with pytest.raises(tt.ModelError, match="under-actuated"):
            model.inverse_dynamics(case.q, case.v, case.a, actuated=[])
        with pytest.raises(tt.ModelError, match="inconsistent-acceleration"):
            model.hybrid_dynamics(case.q, case.v, case.a, case.rates[1], model.coordinate_names)
        with pytest.raises(tt.ModelError, match="finite numbers"):
            model.hybrid_dynamics(case.q, case.v, case.a + np.nan, case.a, model.coordinate_names)


def test_a_changed_parameter_is_heard_of() -> None:
    """Bound tables must not outlive the parameters that they hold."""
    case = Case("four-bar")
    name = next(name for name in case.model.parameters() if name.endswith(".mass"))
    before = (
        case.model.inverse_dynamics(case.q, case.v, case.a),
        case.model.forward_dynamics_derivatives(case.q, case.v),
        case.model.reaction("pin", case.q, case.v, case.a),
    )
    model, reference = (m.with_parameters({name: 5.0}) for m in (case.model, case.reference))
    assert error(before[0], reference.inverse_dynamics(case.q, case.v, case.a)) > 1e-3
    assert error(model.inverse_dynamics(case.q, case.v, case.a), reference.inverse_dynamics(case.q, case.v, case.a)) < TOLERANCE
    for function in ("forward_dynamics_derivatives", "inverse_dynamics_derivatives"):
        assert worst(*(getattr(m, function)(case.q, case.v, case.a) for m in (model, reference))) < TOLERANCE
    imposed = case.q, case.v, case.a, case.a, case.free
    assert worst(*(m.hybrid_dynamics(*imposed) for m in (model, reference))) < TOLERANCE
    assert worst(*(m.hybrid_dynamics_derivatives(*imposed) for m in (model, reference))) < TOLERANCE
    assert error(before[2], reference.reaction("pin", case.q, case.v, case.a)) > 1e-3
    assert error(model.reaction("pin", case.q, case.v, case.a), reference.reaction("pin", case.q, case.v, case.a)) < TOLERANCE
