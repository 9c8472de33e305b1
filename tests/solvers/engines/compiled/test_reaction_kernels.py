"""Reactions of closed systems in compiled form, against the reference resolver."""

from __future__ import annotations

import numpy as np
import pytest

import titop as tt
from tests.solvers.engines.compiled.closed_cases import SYSTEMS, TOLERANCE, Case, driven_four_bar, error, of_both
from titop.solvers.constraints.interaction_loads import relative_pose


def names_of_reactions(case: Case) -> tuple[str, ...]:
    return (*case.model.joint_names, *(loop.closure.name for loop in case.model.mechanism.rigid_loops))


def test_reactions(case: Case) -> None:
    """Of joints and closures, with the least efforts and with given ones, under loads, single and stacked."""
    q, v, tau = case.q, case.v, case.rates[0]
    a = case.reference.forward_dynamics(q, v, tau, case.wrenches)
    states = [np.stack([x, x]) for x in (q, v, a, tau)]
    for name in names_of_reactions(case):
        assert error(*of_both(case, "reaction", name, q, v, case.a)) < TOLERANCE
        assert error(*of_both(case, "reaction", name, q, v, case.a, case.wrenches)) < TOLERANCE
        found, expected = of_both(case, "reaction", name, q, v, a, case.wrenches, tau=tau)
        assert error(found, expected) < TOLERANCE
        rows, _ = of_both(case, "reaction", name, *states[:3], case.wrenches, tau=states[3])
        np.testing.assert_array_equal(rows, [found, found])
    for gear in (constraint.gear.name for constraint in case.model.mechanism.gear_constraints):
        found, expected = of_both(case, "gear_effort", gear, q, v, case.a, case.wrenches)
        assert error(found, expected) < TOLERANCE
        rows, _ = of_both(case, "gear_effort", gear, states[0], states[1], np.stack([case.a] * 2), case.wrenches)
        np.testing.assert_array_equal(rows, [found, found])


def test_what_closures_carry_is_least(case: Case) -> None:
    """Against the pseudoinverse of the Jacobian, which knows of no rows; anything along its null space would be seen."""
    model, q = case.model, case.q
    jacobian, needed = model.closure_jacobian(q), case.reference.mechanism.engine.dynamics.tree_inverse(q, case.v, case.a, [])
    least, row = np.linalg.pinv(jacobian.T, rcond=1e-9) @ needed, 0  # what is left of redundant rows is rounding, 1e-15
    idle = np.linalg.svd(jacobian.T)[2][np.linalg.matrix_rank(jacobian, tol=1e-9) :]
    for loop in model.mechanism.rigid_loops:
        own = slice(row, row + len(loop.closure.constraint_names))
        at_second = loop.closure.jacobians(*relative_pose(model.mechanism, loop, q))[1].T
        found = model.reaction(loop.closure.name, q, case.v, case.a)
        assert error(found, at_second @ least[own]) < TOLERANCE
        if len(idle):
            assert error(found, at_second @ (least + idle.sum(axis=0))[own]) > 1e-3
        row = own.stop
    for k, constraint in enumerate(model.mechanism.gear_constraints):
        found = model.gear_effort(constraint.gear.name, q, case.v, case.a)
        assert error(found, least[row + k]) < TOLERANCE


def test_reactions_where_kernels_do_not_answer(case: Case) -> None:
    """Open loops, efforts that do not cause the accelerations, lists: read with more care, as the reference reads them."""
    names, state = names_of_reactions(case), (case.q, case.v, case.a)
    opened = case.model.integrate(case.q, 1e-5 * case.rates[0])
    stack = [np.stack([x, y]) for x, y in ((case.q, opened), (case.v, case.v), (case.a, case.a))]
    for name in (names[0], names[-1]):
        reference, model = case.reference, case.model
        expected = reference.reaction(name, *state), reference.reaction(name, opened, *state[1:])
        # open by 1e-5, redundant constraints contradict each other as much: both forms take the same rows, of like size
        assert error(model.reaction(name, opened, *state[1:]), expected[1]) < 1e-9
        assert error(model.reaction(name, *stack), expected) < 1e-9
        assert error(model.reaction(name, *(list(x) for x in state)), expected[0]) < TOLERANCE
        with pytest.warns(tt.ModelWarning, match=r"tau: got efforts that leave .*contradicting-efforts"):
            unbalanced = model.reaction(name, *state, tau=case.rates[1])
        with pytest.warns(tt.ModelWarning, match="contradicting-efforts"):
            assert error(unbalanced, reference.reaction(name, *state, tau=case.rates[1])) < 1e-9
        for spoiled in (np.nan * case.a, case.a[:-1]):
            with pytest.raises(tt.ModelError, match=r"^a"):
                model.reaction(name, case.q, case.v, spoiled)
        with pytest.raises(tt.ModelError, match="tau"):
            model.reaction(name, *state, tau=case.a[:1])
        with pytest.raises(tt.ModelError, match="tau"):
            model.reaction(name, *state, tau=np.nan * case.a)
    for gear in ("nothing", 3, ["pair"]):
        with pytest.raises(tt.ModelError, match="unknown-gear"):
            case.model.gear_effort(gear, *state)


def test_reactions_beside_inputs(monkeypatch: pytest.MonkeyPatch) -> None:
    """A motor and a thruster; sensors of a joint and of the closure read the same."""

    def driven() -> tt.System:
        s = driven_four_bar()
        for sensor in (tt.ReactionSensor("hinge", "q2"), tt.ReactionSensor("at_pin", "pin"), tt.Gyro("gyro", s["coupler"])):
            s.add_sensor(sensor)
        return s

    monkeypatch.setitem(SYSTEMS, "driven", driven)
    case, u = Case("driven"), np.array([0.4, -2.0])
    q, v, tau = case.q, case.v, case.rates[0]
    a = case.reference.forward_dynamics(q, v, tau, case.wrenches, u=u)
    for given in ({}, {"tau": tau}):
        found = {name: of_both(case, "reaction", name, q, v, a, case.wrenches, u, **given) for name in ("q2", "pin")}
        assert all(error(*both) < TOLERANCE for both in found.values())
        read, expected = of_both(case, "outputs", q, v, a, case.wrenches, u, **given)
        assert error(read, expected) < TOLERANCE
        np.testing.assert_allclose(read[:12], [*found["q2"][0], *found["pin"][0]], rtol=1e-14)
    stack = [np.stack([x, x]) for x in (q, v, a, tau)]
    wrenches = {name: np.stack([wrench, wrench]) for name, wrench in case.wrenches.items()}
    for given in ({"wrenches": case.wrenches, "u": u}, {"wrenches": wrenches, "u": np.stack([u, u])}):
        rows, _ = of_both(case, "outputs", *stack[:3], tau=stack[3], **given)
        np.testing.assert_allclose(rows, [read, read], rtol=1e-14)
    with pytest.warns(tt.ModelWarning, match="contradicting-efforts"):
        without = case.model.reaction("pin", q, v, a, case.wrenches, tau=tau)
    assert error(without, found["pin"][0]) > 1e-3
