"""What acts at the output times, and what it causes, against single calls of the model at the states of the trajectory."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import titop as tt
from tests.actuated_systems import all_inputs, driven_loop, only_motors
from tests.refusals import ENGINES
from tests.systems import Array
from titop.solvers.simulation.driven_model import DrivenModel

pytestmark = pytest.mark.filterwarnings("ignore::titop.ModelWarning")

#: Rounding, times the condition of closures, and what is left open of these.
SAME = {"rtol": 1e-9, "atol": 1e-9}


def start(model: tt.Model) -> tuple[Array, Array]:
    """Return a state that closes the loops."""
    q, v = model.integrate(model.neutral(), np.full(model.nv, 0.1)), np.full(model.nv, 0.1)
    if not model.is_constrained:
        return q, v
    q = model.assemble([0.5, 0.5, -1.5])
    return q, model.assemble_velocity(q, v)


class Acting:
    """Functions of time and state that write into the same arrays every time."""

    def __init__(self, model: tt.Model) -> None:
        self._u, self._tau, self._wrench = np.zeros(model.nu), np.zeros(model.nv), np.zeros(6)

    def inputs(self, t: float, q: Array, v: Array) -> Array:
        self._u[:] = 0.6 + 0.2 * np.sin(20 * t + np.arange(len(self._u))) + 0.1 * q[-1]  # cables do not push
        return self._u

    def efforts(self, t: float, q: Array, v: Array) -> Array:
        self._tau[:] = np.cos(30 * t) - v
        return self._tau

    def wrench(self, t: float, q: Array, v: Array) -> Array:
        self._wrench[:] = np.arange(6) * np.sin(40 * t) + q[0]
        return self._wrench


def assert_caused(trajectory: tt.Trajectory, driven: list[str]) -> None:
    """Compare accelerations and efforts with hybrid dynamics at each state."""
    for k in range(0, len(trajectory.t), 7):
        wrenches = {port: rows[k] for port, rows in trajectory.wrenches.items()}
        state = (getattr(trajectory, name)[k] for name in ("q", "v", "tau", "a"))
        expected = trajectory.model.hybrid_dynamics(*state, driven, wrenches, u=trajectory.u[k])
        for found, wanted in zip((trajectory.a[k], trajectory.tau[k]), expected, strict=True):
            np.testing.assert_allclose(found, wanted, **SAME)


def moved(q: Array) -> Any:
    """Return a motion of coordinates that are at q."""
    return lambda t: (q + t**2, 2 * t + 0 * q, 2.0 + 0 * q)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    ("system", "driven", "count"),
    [
        (only_motors, [], 15),
        (only_motors, [], 225),  # so many accelerations are found together
        (all_inputs, [], 15),
        (all_inputs, [], 225),
        (all_inputs, ["elbow"], 15),
        (driven_loop, [], 15),
        (driven_loop, ["q1"], 15),
    ],
)
def test_accelerations_are_caused_by_what_acts(system: Any, driven: list[str], count: int, engine: str) -> None:
    model, t = system().resolve(engine), np.linspace(0, 0.1, count)
    acting, (q, v), ports = Acting(model), start(model), model.port_names[-2:]
    given = {"tau": acting.efforts, "u": acting.inputs, "wrenches": {ports[0]: np.arange(6.0), ports[1]: acting.wrench}}
    motions = {name: moved(q[model.mechanism.assembly.q_slices[name]]) for name in driven}
    trajectory = tt.simulate(model, t, q, 0.0 * v if driven else v, prescribed=motions, rtol=1e-4, atol=1e-6, **given)
    again = Acting(model)
    for k, state in enumerate(zip(t.tolist(), trajectory.q, trajectory.v, strict=True)):
        assert np.array_equal(trajectory.u[k], again.inputs(*state))
        assert np.array_equal(trajectory.wrenches[ports[1]][k], again.wrench(*state))
        assert driven or np.array_equal(trajectory.tau[k], again.efforts(*state))
    assert_caused(trajectory, driven)


def test_what_acts_all_the_time_is_asked_for_once(monkeypatch: pytest.MonkeyPatch) -> None:
    model, asked, efforts = only_motors().resolve(), [0], DrivenModel.efforts

    def counted(plant: DrivenModel, t: float, q: Array, v: Array) -> Array:
        asked[0] += 1
        return efforts(plant, t, q, v)

    monkeypatch.setattr(DrivenModel, "efforts", counted)
    q, v = start(model)
    trajectory = tt.simulate(model, np.linspace(0, 0.1, 225), q, v, u=[0.3, -0.2])
    assert asked[0] < 10
    assert (trajectory.u == [0.3, -0.2]).all()
    assert_caused(trajectory, [])


@pytest.mark.parametrize("system", [only_motors, all_inputs, driven_loop])
def test_samples_act_at_their_times(system: Any) -> None:
    model, t, rng = system().resolve(), np.linspace(0, 0.1, 15), np.random.default_rng(1)
    u, tau, (q, v) = 0.3 + 0.2 * rng.random((15, model.nu)), rng.normal(size=(15, model.nv)), start(model)
    trajectory = tt.simulate(model, t, q, v, tau=tau, u=u, rtol=1e-4, atol=1e-6)
    assert np.array_equal(trajectory.u, u)
    assert np.array_equal(trajectory.tau, tau)
    assert_caused(trajectory, [])


@pytest.mark.parametrize("given_as", ["tau", "u"])
def test_what_is_not_finite_at_an_output_time_is_named(given_as: str) -> None:
    """At that time alone, between the stages of the integrator's steps; a number there passes."""
    model = only_motors().resolve()
    (q, v), count = start(model), model.nv if given_as == "tau" else model.nu
    for number in (1.0, np.nan):

        def function(t: float, q: Array, v: Array, number: float = number) -> Array:
            return np.full(count, number if t == 0.03125 else 1.0)

        t, given = np.array([0.0, 0.03125, 0.1]), {given_as: function}
        if np.isfinite(number):
            tt.simulate(model, t, q, v, **given)
        else:
            with pytest.raises(tt.ModelError, match=rf"{given_as}\[0\]"):
                tt.simulate(model, t, q, v, **given)


def test_functions_are_asked_once_for_what_they_say_at_output_times() -> None:
    """One that forgets its NaN when it is asked again is refused all the same."""
    model, said = only_motors().resolve(), []
    q, v = start(model)

    def forgetful(t: float, q: Array, v: Array) -> Array:
        said.append(t)
        return np.full(model.nv, np.nan if said.count(0.03125) == 1 and t == 0.03125 else 1.0)

    with pytest.raises(tt.ModelError, match=r"tau\[0\]"):
        tt.simulate(model, [0.0, 0.03125, 0.1], q, v, tau=forgetful)


@pytest.mark.parametrize("engine", ["compiled", "reference"])
def test_many_outputs_without_coordinates(engine: str) -> None:
    s = tt.System("fixed")
    s.connect("world", tt.RigidBody("post", 1.0, inertia=0.1), tt.Weld("foot"))
    t = np.linspace(0, 1, 201)
    trajectory = tt.simulate(s.resolve(engine), t, [], [], wrenches={"post": lambda t, q, v: t * np.ones(6)})
    np.testing.assert_allclose(np.diff(trajectory.reaction("foot"), axis=0), -1 / 200, atol=1e-12)
