"""The compiled forms of what closed systems need beside forward dynamics, against the reference resolver's NumPy."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import titop as tt
from tests.closed_systems import bricard, four_bar, geared_hand, slider_crank
from tests.flexible import random_body
from titop.solvers.constraints import closed_derivatives, closed_loops
from titop.solvers.engines.compiled import resolver

Array = NDArray[np.float64]

#: Both sides are exact but for rounding, which few rows of like size hardly amplify.
TOLERANCE = 1e-11


def braced_hand() -> tt.System:
    """Return a hand whose gears and a rod between its fingers' tips share coordinates."""
    s = geared_hand()
    rod = tt.RigidClosure("rod", directions=np.random.default_rng(3).normal(size=(6, 1)))
    s.close_loop(s["tip_l"], s["finger_r"], rod)
    return s


def flexible_loop() -> tt.System:
    """Return two flexible bodies in a loop: a closure at a port of one, whose own coordinates move it, and one at its frame."""
    rng = np.random.default_rng(5)
    one, two = random_body(rng, "one"), random_body(rng, "two")
    s = tt.System("flexible")
    s.connect("world", one, tt.Spherical("ball"))
    s.connect(one.port(next(iter(one.ports))), two, tt.Revolute("hinge", axis=[0.3, 1, 0.2]))
    s.close_loop("world", two.port(list(two.ports)[-1]), tt.RigidClosure("tip", directions=rng.normal(size=(6, 1))))
    s.close_loop(one.port(list(one.ports)[-1]), two, tt.RigidClosure("frame", directions=rng.normal(size=(6, 1))))
    return s


def driven_four_bar() -> tt.System:
    """Return a four-bar linkage with a motor, and a thruster on its coupler."""
    s = four_bar()
    s.add_actuator(tt.Motor("motor", "q1", gear=3.0))
    s.add_actuator(tt.Thruster("jet", s["coupler"].port("end"), direction=[0.3, 1.0, 0.0]))
    return s


SYSTEMS = {
    "four-bar": four_bar,
    "slider-crank": slider_crank,
    "bricard": bricard,
    "hand": geared_hand,
    "braced": braced_hand,
    "flexible": flexible_loop,
}


class Case:
    """A system with constraints in both engines, at a state that satisfies them."""

    def __init__(self, name: str) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", tt.ModelWarning)  # redundant constraints
            self.model, self.reference = (SYSTEMS[name]().resolve(engine) for engine in ("compiled", "reference"))
        rng, model = np.random.default_rng(2), self.model
        self.q = model.assemble(model.integrate(model.neutral(), 0.3 * rng.normal(size=model.nv)))
        self.free = model.independent_coordinates(self.q)
        self.rates = rng.normal(size=(2, model.nv))
        self.v = self.reference.assemble_velocity(self.q, self.rates[0])
        self.a = self.reference.assemble_acceleration(self.q, self.v, self.rates[1])
        self.wrenches = {model.port_names[-1]: rng.normal(size=6)}
        self.more = next(name for name in model.coordinate_names if name not in self.free)

    @property
    def imposed(self) -> list[Sequence[str]]:
        """Choices of coordinates: none, one and all that move independently, one more than do, and all."""
        return [[], self.free[:1], self.free, [*self.free, self.more], self.model.coordinate_names]

    def forbid_python(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Let the NumPy forms fail, to which the compiled model returns where something is not clear."""

        def fail(*_: Any, **__: Any) -> Any:
            raise AssertionError("not in compiled code")

        for function in ("inverse", "hybrid", "forward", "multipliers", "closure_pushes"):
            monkeypatch.setattr(resolver.closed_dynamics, function, fail)
        monkeypatch.setattr(closed_derivatives, "actuated_derivatives", fail)
        monkeypatch.setattr(closed_derivatives, "closed_slopes", fail)
        monkeypatch.setattr(closed_loops, "project_velocity", fail)
        monkeypatch.setattr(closed_loops, "project_acceleration", fail)


@pytest.fixture(params=SYSTEMS, scope="module")
def case(request: pytest.FixtureRequest) -> Case:
    return Case(request.param)


def error(found: Any, expected: Any) -> float:
    """Return the largest difference, over the largest entry (or one)."""
    return float(np.abs(np.subtract(found, expected)).max() / max(np.abs(expected).max(), 1.0))


def of_both(case: Case, function: str, *arguments: Any, **options: Any) -> tuple[Any, Any]:
    """Return what a function of the compiled model says without NumPy forms, and that of the reference."""
    expected = getattr(case.reference, function)(*arguments, **options)
    with pytest.MonkeyPatch.context() as monkeypatch:
        case.forbid_python(monkeypatch)
        return getattr(case.model, function)(*arguments, **options), expected


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
    assert worst(closed_derivatives.closed_slopes(model, *state[:2], *resolved(case, mask), [], mask), expected) < TOLERANCE
    monkeypatch.setattr(type(model), "closure_rate_slopes", lambda self, q, v: 0.0 * self.closure_jacobian(q))
    assert worst(closed_derivatives.closed_slopes(model, *state[:2], *resolved(case, mask), [], mask), expected) > 1e-3


def resolved(case: Case, mask: Array) -> tuple[Array, Array]:
    """Return accelerations and efforts, the motion imposed where `mask` is true."""
    names = [name for name, on in zip(case.model.coordinate_names, mask, strict=True) if on]
    return case.model.hybrid_dynamics(case.q, case.v, case.rates[0], case.a, names)


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


def names_of_reactions(case: Case) -> tuple[str, ...]:
    return (*case.model.joint_names, *(loop.closure.name for loop in case.model.rigid_loops))


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
    for gear in (constraint.gear.name for constraint in case.model.gear_constraints):
        found, expected = of_both(case, "gear_effort", gear, q, v, case.a, case.wrenches)
        assert error(found, expected) < TOLERANCE
        rows, _ = of_both(case, "gear_effort", gear, states[0], states[1], np.stack([case.a] * 2), case.wrenches)
        np.testing.assert_array_equal(rows, [found, found])


def test_what_closures_carry_is_least(case: Case) -> None:
    """Against the pseudoinverse of the Jacobian, which knows of no rows; anything along its null space would be seen."""
    model, q = case.model, case.q
    jacobian, needed = model.closure_jacobian(q), case.reference.tree_inverse(q, case.v, case.a, [])
    least, row = np.linalg.pinv(jacobian.T, rcond=1e-9) @ needed, 0  # what is left of redundant rows is rounding, 1e-15
    idle = np.linalg.svd(jacobian.T)[2][np.linalg.matrix_rank(jacobian, tol=1e-9) :]
    for loop in model.rigid_loops:
        own = slice(row, row + len(loop.closure.constraint_names))
        at_second = loop.closure.jacobians(*model.relative_pose(loop, q))[1].T
        found = model.reaction(loop.closure.name, q, case.v, case.a)
        assert error(found, at_second @ least[own]) < TOLERANCE
        if len(idle):
            assert error(found, at_second @ (least + idle.sum(axis=0))[own]) > 1e-3
        row = own.stop
    for k, constraint in enumerate(model.gear_constraints):
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
        unbalanced = model.reaction(name, *state, tau=case.rates[1])
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
    without = case.model.reaction("pin", q, v, a, case.wrenches, tau=tau)
    assert error(without, found["pin"][0]) > 1e-3


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
