"""Stacked states with wrenches and inputs of their own, in compiled code: each row is the single call, and the reference's."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import numpy as np
import pytest

import titop as tt
from tests.actuated_systems import Pushed, all_inputs, driven_loop, only_motors
from tests.closed_systems import geared_hand
from tests.every_kind import SYSTEMS
from tests.every_kind import states as states_of
from tests.systems import Array, random_state
from tests.tolerances import ROUNDING_OF_MANY
from titop.solvers.arguments.rowwise import Stack
from titop.solvers.engines.compiled.acted_on import Acting
from titop.solvers.native import calling

pytestmark = pytest.mark.filterwarnings("ignore::titop.ModelWarning")

ROWS = 5
#: Systems with inputs, or first-order states, of interactions.
DRIVEN = ("rods, tendons and chambers", "contacts with bristles", "drives and a loaded rod")


def geared() -> tt.System:
    """Return a hand with gears, a motor and a thruster."""
    s = geared_hand()
    s.add_actuator(tt.Motor("motor", "l", gear=2.0))
    s.add_actuator(tt.Thruster("jet", s["tip_r"]))
    s.add_sensor(tt.ReactionSensor("load_cell", "r"))
    return s


def states(model: tt.Model) -> tuple[Array, ...]:
    """Return stacked states q, v, a and tau, loops closed."""
    rng, rows = np.random.default_rng(3), []
    for _ in range(ROWS):
        q, v, a, tau = random_state(model, rng)
        if model.is_constrained:
            q = model.assemble(model.integrate(model.mechanism.regular_configuration, 0.02 * v))
            v = model.assemble_velocity(q, v)
            a = model.assemble_acceleration(q, v, a)
        rows.append((q, v, a, tau))
    return tuple(np.array(part) for part in zip(*rows, strict=True))


def loads(model: tt.Model, own: str) -> dict[str, Any]:
    """Return wrenches and inputs, of which those that are `own` have a row a state."""
    rng, (first, second) = np.random.default_rng(4), model.port_names[-2:]
    wrenches = {first: rng.normal(size=6), second: rng.normal(size=(ROWS, 6) if "wrenches" in own else 6)}
    u = 0.3 + 0.1 * rng.random((ROWS, model.nu) if "u" in own else model.nu)
    return {"wrenches": wrenches if "wrenches" in own else None, "u": u}


def at_row(given: dict[str, Any], row: int) -> dict[str, Any]:
    """Return what is given of a state."""
    wrenches = {port: wrench[row] if wrench.ndim == 2 else wrench for port, wrench in (given["wrenches"] or {}).items()}
    return {"wrenches": wrenches or None, "u": given["u"][row] if given["u"].ndim == 2 else given["u"]}


def results(model: tt.Model, q: Array, v: Array, a: Array, tau: Array, **given: Any) -> list[Array]:
    """Return what functions say of a state, or of stacked ones."""
    caused, joint = model.forward_dynamics(q, v, tau, **given), model.joint_names[-1]
    return [
        caused,
        model.inverse_dynamics(q, v, a, **given),
        *model.mass_inverse_dynamics(q, v, a, **given),
        *model.hybrid_dynamics(q, v, tau, a, [joint], **given),
        model.dissipated_power(q, v),
        model.reaction(joint, q, v, a, **given),
        model.outputs(q, v, a, **given),
        model.outputs(q, v, caused, tau=tau, **given),
        model.reaction(joint, q, v, caused, tau=tau, **given),
    ]


@pytest.mark.parametrize("own", ["u", "wrenches", "wrenches and u"])
@pytest.mark.parametrize("system", [only_motors, all_inputs, driven_loop, geared])
def test_stacks_are_their_rows(system: Callable[[], tt.System], own: str) -> None:
    model = system().resolve()
    stack, given = states(model), loads(model, own)
    found = results(model, *stack, **given)
    for engine in (model, system().resolve("reference")):
        rows = (results(engine, *(part[k] for part in stack), **at_row(given, k)) for k in range(ROWS))
        for function, expected in zip(found, zip(*rows, strict=True), strict=True):
            np.testing.assert_allclose(function, expected, **ROUNDING_OF_MANY)
    turned = {**given, "u": given["u"][::-1] if "u" in own else given["u"] + 1.0}
    assert not np.allclose(found[0], results(model, *stack, **turned)[0])


def test_no_row_is_looked_at_for_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    """But where blocks have inputs of their own, what these carry."""
    monkeypatch.setattr(Stack, "rows", None)
    for system in (only_motors, all_inputs, driven_loop, geared):
        model = system().resolve()
        (q, v, a, tau), given = states(model), loads(model, "wrenches and u")
        model.forward_dynamics(q, v, tau, **given)
        model.reaction(model.joint_names[-1], q, v, a, **given)
        model.outputs(q, v, a, **given)
        model.hybrid_dynamics(q, v, tau, a, model.joint_names[-1:], **given)
        model.inverse_dynamics(q, v, a, **given)
        model.mass_inverse_dynamics(q, v, a, **given)


def test_wrong_rows_are_named_as_single_states_are() -> None:
    model = all_inputs().resolve()
    (q, v, a, tau), given = states(model), loads(model, "wrenches and u")
    port = model.port_names[-1]
    for wrong, said in ((np.full((ROWS, 6), np.nan), "six finite numbers"), (np.zeros((ROWS, 5)), "six finite numbers")):
        for function in (model.forward_dynamics, model.inverse_dynamics, model.outputs):
            with pytest.raises(tt.ModelError, match=said):
                function(q, v, a, {port: wrong}, u=given["u"])
    u = given["u"].copy()
    u[2, 1] = np.inf
    with pytest.raises(tt.ModelError, match=r"u\[2, 1\]"):
        model.forward_dynamics(q, v, tau, u=u)
    q[3, -1] = np.nan
    with pytest.raises(tt.ModelError, match=r"q\[3, "):
        model.outputs(q, v, a, u=given["u"])


@pytest.mark.parametrize("system", [all_inputs, only_motors, driven_loop])
def test_unknown_inputs_are_named_beside_wrenches_of_rows(system: Callable[[], tt.System]) -> None:
    model = system().resolve()
    (q, v, a, tau), wrenches = states(model), {model.port_names[-1]: np.zeros((ROWS, 6))}
    for function, x in ((model.forward_dynamics, tau), (model.outputs, a)):
        with pytest.raises(tt.ModelError, match="an input of the model"):
            function(q, v, x, wrenches, u={"nothing": 1.0})


def test_no_rows_give_none() -> None:
    for system in (only_motors, all_inputs, driven_loop):
        model = system().resolve()
        nothing = np.zeros((0, model.nq)), np.zeros((0, model.nv)), np.zeros((0, model.nv))
        assert model.forward_dynamics(*nothing, u=np.zeros((0, model.nu))).shape == (0, model.nv)
        hybrid = model.hybrid_dynamics(*nothing, nothing[2], model.joint_names[:1], u=np.zeros((0, model.nu)))
        assert [part.shape for part in hybrid] == [(0, model.nv)] * 2
        tau, mass = model.mass_inverse_dynamics(*nothing, u=np.zeros((0, model.nu)))
        assert (tau.shape, mass.shape) == ((0, model.nv), (0, model.nv, model.nv))
        assert model.outputs(*nothing, u=np.zeros((0, model.nu))).shape == (0, len(model.output_names))


def test_threads_do_not_hear_each_other() -> None:
    model = all_inputs().resolve()
    (q, v, _, tau), cases = states(model), [loads(model, "wrenches and u") for _ in range(40)]
    for k, case in enumerate(cases):
        case["u"] += 0.1 * k
    expected = [model.forward_dynamics(q, v, tau, **case) for case in cases]
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda case: model.forward_dynamics(q, v, tau, **case), cases))
    np.testing.assert_array_equal(found, expected)


def test_no_argument_takes_anothers_place() -> None:
    model = only_motors().resolve()
    q, v, a, tau = states(model)
    given = loads(model, "u")
    for read in (model.outputs, lambda *state, **k: model.reaction(model.joint_names[0], *state, **k)):
        for state, name in (((q, v, None), "a"), ((q, None, a), "v")):
            with pytest.raises(tt.ModelError, match=f"^{name}: got"):
                read(*state, tau=tau, **given)


@pytest.mark.skipif(calling.obstacle() is not None, reason="there are no lanes")
@pytest.mark.parametrize("name", ["a tree", "gears", "a loop in space", "soft bodies", "inputs of all kinds", *DRIVEN])
def test_loads_of_each_state_stay_in_lanes(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """They are not computed row by row: also inputs and first-order states of interactions."""
    model, asked = SYSTEMS[name]().resolve(), list[int]()
    rows, port = states_of(model, 9), model.port_names[-1]
    q, v, a, tau = (rows[each] for each in ("q", "v", "a", "tau"))
    driving = {name: rows[name] for name, count in (("u", model.nu), ("x", model.nx)) if count}
    given = {"wrenches": {port: rows["wrenches"]}} | driving
    run_rows = Acting.run_rows
    monkeypatch.setattr(Acting, "run_rows", lambda *all_of_it: asked.append(1) or run_rows(*all_of_it))
    joint = model.joint_names[0]
    calls: tuple[Callable[..., Any], ...] = (
        lambda q, v, a, tau, **given: model.forward_dynamics(q, v, tau, **given),
        lambda q, v, a, tau, **given: model.inverse_dynamics(q, v, a, **given),
        lambda q, v, a, tau, **given: model.reaction(joint, q, v, a, **given),
    )
    for call in calls:
        found = call(q, v, a, tau, **given)
        for k in range(9):
            own = {"wrenches": {port: rows["wrenches"][k]}} | {name: part[k] for name, part in driving.items()}
            np.testing.assert_array_equal(found[k], call(q[k], v[k], a[k], tau[k], **own))
    assert not asked


def test_text_is_no_wrench() -> None:
    model = only_motors().resolve()
    q, v, a, tau = states(model)
    text = {model.port_names[-1]: np.full((ROWS, 6), "1.0")}
    for use in (
        lambda: model.forward_dynamics(q, v, tau, text),
        lambda: model.inverse_dynamics(q, v, a, text),
        lambda: model.outputs(q, v, a, text),
    ):
        with pytest.raises(tt.ModelError, match="six finite numbers"):
            use()


def test_stacks_of_other_lengths_are_told() -> None:
    for system in (only_motors, driven_loop):
        model = system().resolve()
        q, v, a, tau = states(model)
        for use in (
            lambda m=model, q=q, v=v, tau=tau: m.forward_dynamics_derivatives(q, v[:3], tau[:3]),
            lambda m=model, q=q, v=v, a=a, tau=tau: m.hybrid_dynamics_derivatives(q, v[:3], tau, a, m.joint_names[:1]),
        ):
            with pytest.raises(tt.ModelError, match="equally stacked"):
                use()


def test_rows_beside_an_open_loop_have_the_bits_of_single_states() -> None:
    model = driven_loop().resolve()
    q, v, a, _ = states(model)
    q[2] *= 1.001
    for read in (partial(model.reaction, model.joint_names[0]), model.outputs):
        single = [read(*state) for state in zip(q, v, a, strict=True)]
        np.testing.assert_array_equal(read(q, v, a), single)


def test_errors_say_at_which_row() -> None:
    model = driven_loop().resolve()
    q, v, a, tau = states(model)
    q[2] = 0.0
    for use in (lambda: model.forward_dynamics(q, v, tau), lambda: model.outputs(q, v, a)):
        with pytest.raises(tt.ConvergenceError, match="is open") as caught:
            use()
        assert caught.value.__notes__ == ["in row 2 of the stacked states"]


class Narrow(Pushed):
    """A mass on a rail, with a law that stops where the rail ends."""

    def mass_matrix(self, q: Any) -> Any:
        if q[0].real > 1.0:
            raise ArithmeticError("beyond the rail")
        return super().mass_matrix(q)


def test_what_a_law_in_python_refuses_says_at_which_row() -> None:
    s = tt.System("narrow")
    s.connect("world", Narrow("rail"), tt.Revolute("hinge"))
    model = s.resolve()
    q, v, a, tau = states(model)
    q[2, model.coordinate_names.index("rail.shift")] = 2.0
    port = model.port_names[-1]
    for use in (
        lambda: model.mass_matrix(q),
        lambda: model.passive_efforts(q, v),
        lambda: model.energy(q, v),
        lambda: model.twist(port, q, v),
        lambda: model.forward_dynamics(q, v, tau),
        lambda: model.forward_dynamics(q, v, tau, {port: np.ones((len(q), 6))}),
        lambda: model.forward_dynamics_tangent(q, v, tau, v, a, tau),
    ):
        with pytest.raises(ArithmeticError, match="beyond the rail") as caught:
            use()
        assert caught.value.__notes__ == ["in row 2 of the stacked states"]


class Interrupted(Pushed):
    """A mass on a rail whose law is interrupted once."""

    calls_left = 0

    def mass_matrix(self, q: Any) -> Any:
        Interrupted.calls_left -= 1
        if not Interrupted.calls_left:
            raise KeyboardInterrupt
        return super().mass_matrix(q)


def test_what_interrupts_a_law_is_raised_by_the_stacked_call(monkeypatch: pytest.MonkeyPatch) -> None:
    s = all_inputs()
    s.connect(s["arm"].port("tip"), Interrupted("second-rail"), tt.Revolute("second-hinge"))
    model = s.resolve()
    q, v, a, tau = states(model)
    wrenches = {model.port_names[-1]: np.ones(6)}
    uses: tuple[Callable[[], Any], ...] = (
        lambda: model.forward_dynamics(q, v, tau),
        lambda: model.forward_dynamics(q, v, tau, wrenches),
        lambda: model.mass_matrix(q),
        lambda: model.reaction("second-hinge", q, v, a),
    )
    for use in uses:
        before = use()
        monkeypatch.setattr(Interrupted, "calls_left", 3)
        with pytest.raises(KeyboardInterrupt):
            use()
        np.testing.assert_array_equal(use(), before)
