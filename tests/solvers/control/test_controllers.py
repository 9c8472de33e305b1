"""Controllers as users give them."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import control
import numpy as np
import pytest

import titop as tt
from tests.solvers.control.sliders import MASS, controller, gain, held, largest, lead, slider, state
from tests.tolerances import ACCURACY, TIGHT


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"update": 3.0}, "wrong-type"),
        ({"initial_state": [[1.0]]}, "wrong-type"),
        ({"initial_state": [np.nan]}, "wrong-type"),
        ({"inputs": "rail.q"}, "wrong-type"),
        ({"outputs": ["motor", "motor"]}, "duplicate-name"),
        ({"sample_time": -1.0}, "bad-time"),
        ({"sample_time": np.inf}, "bad-time"),
    ],
)
def test_bad_controllers(changes: dict[str, Any], code: str) -> None:
    with pytest.raises(tt.ModelError) as caught:
        controller(**changes)
    assert caught.value.code == code


def test_a_scheduled_controller_follows_its_parameter() -> None:
    step, x, expected = 0.1, np.array([1.0, 0.0]), []
    A, B = held(step)

    def family(rho: dict[str, float]) -> Any:
        return gain(4.0 * (1 + rho["place"] ** 2), 3.0)

    for _ in range(21):
        expected.append(x)
        x = A @ x - B * (4.0 * (1 + x[0] ** 2) * x[0] + 3.0 * x[1])
    t = np.arange(21) * step
    for given in (family, SimpleNamespace(at=family)):
        scheduled = tt.ScheduledController(given, {"place": "ruler"}, step)
        run = tt.simulate(slider(), t, [1.0], [0.0], controller=scheduled, **TIGHT)
        assert largest(state(run) - expected) < ACCURACY
    steady = tt.ScheduledController(lambda rho: lead(), {"rho": "rail.q"}, 0.02)
    runs = [
        tt.simulate(slider(), t, [0.0], [0.0], controller=K, sample_time=0.02, reference={"ruler": 1.0})
        for K in (steady, lead())
    ]
    np.testing.assert_allclose(runs[0].q, runs[1].q, rtol=0, atol=1e-14)  # of numbers about 1, summed in another order


def test_members_of_a_family_must_have_the_same_states() -> None:
    def family(rho: dict[str, float]) -> Any:
        return lead() if rho["x"] > 0.4 else gain(1.0, inputs=["ruler"])

    with pytest.raises(tt.ModelError, match="same states and signals"):
        tt.simulate(slider(), [0, 1], [0.5], [-1.0], controller=tt.ScheduledController(family, {"x": "rail.q"}, 0.1))


def test_members_of_a_family_must_name_their_states_alike() -> None:
    """As many states of other meaning would go on from one sample to the next as if they were the same."""

    def family(rho: dict[str, float]) -> Any:
        names = ["position", "rate"] if rho["x"] > 0.4 else ["rate", "position"]
        A = np.diag([-1.0, -2.0])
        return control.ss(A, [[1.0], [1.0]], [[1.0, 1.0]], 0.0, states=names, inputs=["ruler"], outputs=["motor"])

    with pytest.raises(tt.ModelError, match="state_labels"):
        tt.simulate(slider(), [0, 1], [0.5], [-1.0], controller=tt.ScheduledController(family, {"x": "rail.q"}, 0.1))


def turned(K: Any, T: Any) -> Any:
    """Return a state space with states ``T x``."""
    names = {"inputs": K.input_labels, "outputs": K.output_labels}
    return control.ss(T @ K.A @ np.linalg.inv(T), T @ K.B, K.C @ np.linalg.inv(T), K.D, **names)


@pytest.mark.parametrize("jumping", [False, True])
def test_one_controller_in_changing_coordinates_acts_as_one(jumping: bool) -> None:
    """Coordinates that turn and stretch with the parameter, smoothly or at once, are not what the states go on in."""
    K, t = lead(), np.linspace(0, 1, 11)

    def family(rho: dict[str, float]) -> Any:
        angle = 3.0 * float(rho["place"] > 0.1) if jumping else 8.0 * rho["place"]
        turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
        return turned(K, turn @ np.diag([1.0, 1.0 + 5.0 * abs(angle)]))

    common = {"reference": {"ruler": 0.3}, "sample_time": 0.02}
    fixed = tt.simulate(slider(), t, [0.0], [0.0], controller=K, **common)
    found = tt.simulate(
        slider(), t, [0.0], [0.0], controller=tt.ScheduledController(family, {"place": "ruler"}, 0.02), **common
    )
    assert largest(state(found) - state(fixed)) < 1e-9  # fifty samples of matrices of condition 1e2
    assert largest(found.q) > 0.25


def test_members_that_change_go_on_from_their_states() -> None:
    """A gain that grows with the parameter, behind a filter: the states stay those of the filter."""

    def family(rho: dict[str, float]) -> Any:
        return control.ss([[0.9]], [[0.1]], [[5.0 * (1 + rho["gain"])]], 0.0, 0.05, inputs=["rail_q"], outputs=["motor"])

    t = np.arange(21) * 0.05
    scheduled = tt.ScheduledController(family, {"gain": lambda t: 2.0 * t}, 0.05)
    run = tt.simulate(slider(), t, [1.0], [0.0], controller=scheduled, **TIGHT)
    x, low, (A, B), expected = np.array([1.0, 0.0]), 0.0, held(0.05), []
    for k in range(21):
        expected.append(x)
        u = 5.0 * (1 + 2.0 * 0.05 * k) * low
        low = 0.9 * low - 0.1 * x[0]
        x = A @ x + B * u
    assert largest(state(run) - expected) < ACCURACY


def test_members_are_put_into_the_coordinates_of_the_first() -> None:
    """Also where a part of the states is free, since nothing reaches or shows it."""
    names = {"inputs": ["ruler"], "outputs": ["motor"]}
    members = [
        control.ss(np.diag([0.9, 0.5]), [[1.0], [0.0]], [[1.0, 0.0]], 0.0, 0.1, **names),
        control.ss(np.diag([0.5, 0.9]), [[0.0], [2.0]], [[0.0, 0.5]], 0.0, 0.1, **names),
    ]
    scheduled = tt.ScheduledController(lambda rho: members[int(rho["k"])], {"k": "rail.q"}, 0.1)
    found = scheduled.at({"k": 1}, like=members[0])
    free = found.C @ np.linalg.matrix_power(found.A, 3) @ members[0].B
    assert free == pytest.approx(0.9**3, rel=1e-12)
    assert not (members[1].C @ members[1].A @ members[0].B).any()  # as it would have gone on


def test_members_in_no_like_coordinates_are_refused() -> None:
    K = control.sample_system(lead(), 0.1)
    K = control.ss(K.A, K.B, K.C, K.D, 0.1, inputs=["ruler"], outputs=["motor"])
    far = turned(K, np.diag([1.0, 1e-12]))
    scheduled = tt.ScheduledController(lambda rho: K, {"k": "rail.q"}, 0.1)
    far = control.ss(far.A, far.B, far.C, far.D, 0.1, inputs=["ruler"], outputs=["motor"])
    scheduled.family = lambda rho: far
    with pytest.raises(tt.ModelError, match=r"family at k = 1: .*same coordinates, of like size.*other-coordinates"):
        scheduled.at({"k": 1.0}, like=K)


def test_schedules_follow_parameters_times_and_numbers() -> None:
    seen: list[dict[str, float]] = []

    def family(rho: dict[str, float]) -> Any:
        seen.append(rho)
        return gain(1.0, 1.0)

    schedule = {"m": "mass.mass", "clock": lambda t: 2.0 * t, "fixed": 3.0, "place": "rail.q"}
    tt.simulate(slider(), [0, 0.2], [0.5], [0.0], controller=tt.ScheduledController(family, schedule, 0.1))
    assert seen[0] == {"m": MASS, "clock": 0.0, "fixed": 3.0, "place": 0.5}
    assert [rho["clock"] for rho in seen[-2:]] == pytest.approx([0.2, 0.4])


def test_rates_of_parameters_are_filtered_derivatives() -> None:
    """Of a ramp, exact in the end, and before by what is left of the filter; the states are parts of the history."""
    seen: list[float] = []

    def family(rho: dict[str, float], rates: dict[str, float]) -> Any:
        seen.append(rates["clock"])
        return gain(1.0, 1.0)

    scheduled = tt.ScheduledController(family, {"clock": lambda t: 5.0 * t}, 0.1, rates={"clock": 0.2})
    run = tt.simulate(slider(), [0, 3], [0.5], [0.0], controller=scheduled)
    expected = 5.0 * (1 - np.exp(-0.5 * np.arange(31)))
    np.testing.assert_allclose(seen[-30:], expected[1:], rtol=1e-9)  # thirty sums of numbers of size five
    assert run.control is not None
    assert run.control.names["states"] == ("controller.clock.slow",)


@pytest.mark.parametrize(
    ("schedule", "rates", "code", "where"),
    [
        ({"x": lambda t, q, v: 0.0}, None, "wrong-signature", "schedule['x']"),
        ({"x": None}, None, "wrong-type", "schedule['x']"),
        ({"x": lambda t: np.nan}, None, "wrong-type", "schedule['x'] at t = 0 s"),
        ({"x": "rail.q"}, {"y": 0.1}, "unknown-parameter", "rates"),
        ({"x": "rail.q"}, {"x": 0.0}, "bad-time", "rates['x']"),
    ],
)
def test_bad_schedules(schedule: Any, rates: Any, code: str, where: str) -> None:
    def run() -> None:
        scheduled = tt.ScheduledController(lambda rho: gain(1.0, 1.0), schedule, 0.1, rates)
        tt.simulate(slider(), [0, 1], [0.5], [0.0], controller=scheduled)

    with pytest.raises(tt.ModelError) as caught:
        run()
    assert (caught.value.code, caught.value.where) == (code, where)
