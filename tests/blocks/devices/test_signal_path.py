from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import titop as tt
from titop.blocks.basics.errors import ModelError
from titop.blocks.devices.signal_path import LinearFilter

control = pytest.importorskip("control")

#: Rounding of a response of a few poles.
ROUNDING = 1e-12


def response(path: tt.SignalPath, count: int, s: complex) -> Any:
    A, B, C, D = path.law(count)
    return C @ np.linalg.solve(s * np.eye(len(A)) - A, B) + D


@pytest.mark.parametrize("s", [0.3j, 4.0j, 1.0 + 2.0j])
def test_filters_are_those_of_python_control(s: complex) -> None:
    given = control.tf([0.2, 1.0, 3.0], [0.1, 1.0, 2.0])
    expected = {
        "lag": (tt.SignalPath.lag(0.25), 1.0 / (0.25 * s + 1.0)),
        "second": (tt.SignalPath.second_order(5.0, 0.3), 25.0 / (s * s + 3.0 * s + 25.0)),
        "transfer": (tt.SignalPath(given), given(s)),
        "states": (tt.SignalPath(control.ss(given)), given(s)),
        "gain": (tt.SignalPath(control.tf([2.0], [4.0])), 0.5),
    }
    for path, value in expected.values():
        assert np.allclose(response(path, 2, s), value * np.eye(2), rtol=ROUNDING, atol=ROUNDING)


def test_each_channel_may_have_a_filter_of_its_own() -> None:
    lag, direct = tt.SignalPath.lag(0.5), control.tf([1.0], [1.0])
    path = tt.SignalPath([lag, direct, control.tf([1.0], [1.0, 1.0])])
    assert np.allclose(response(path, 3, 2.0j), np.diag([1 / (1 + 1j), 1.0, 1 / (1 + 2j)]), atol=ROUNDING)
    assert path.state_names(3) == ("lag[0]", "filter[1]")
    assert path.state_units(("N", "N", "N")) == ("N", "1")
    crossed = tt.SignalPath(control.ss(-np.eye(2), [[0.0, 1.0], [1.0, 0.0]], np.eye(2), np.zeros((2, 2))))
    assert np.allclose(response(crossed, 2, 0.0), [[0.0, 1.0], [1.0, 0.0]], atol=ROUNDING)


def test_units_of_states_follow_the_signal() -> None:
    assert tt.SignalPath.second_order(5.0, 0.3).state_units(("rad", "m")) == ("rad", "rad/s", "m", "m/s")


def test_numbers_are_parameters() -> None:
    path = tt.SignalPath([tt.SignalPath.lag(0.5), tt.SignalPath.second_order(5.0, 0.3)], bias=[0.1, 0.2])
    assert set(path.parameters()) == {"time_constant.0", "frequency.1", "damping.1", "bias.0", "bias.1"}
    changed = path.with_parameters({"frequency.1": 7.0, "bias.0": -1.0})
    assert (changed.parameter("frequency.1"), changed.parameter("bias.0"), changed.parameter("bias.1")) == (7.0, -1.0, 0.2)
    assert (path.parameter("frequency.1"), path.parameter("bias.0")) == (5.0, 0.1)
    single = tt.SignalPath.lag(0.5, bias=0.1).with_parameters({"time_constant": 0.25, "bias": 0.3})
    assert single == tt.SignalPath.lag(0.25, bias=0.3)
    assert single != tt.SignalPath.lag(0.25)


def test_text_and_table() -> None:
    path = tt.SignalPath.lag(0.5, delay=0.1)
    assert repr(path) == "SignalPath(filter={'kind': 'lag', 'time_constant': 0.5}, delay=0.1)"
    assert repr(tt.SignalPath()) == "SignalPath()"
    (table,) = (each.described() for each in tt.SignalPath(control.tf([1.0], [1.0, 2.0, 3.0])).filters)
    again = LinearFilter.of_table(table)
    assert again.described() == table
    with pytest.raises(ModelError, match="bad-filter"):
        LinearFilter.of_table({"kind": "lag"})
    with pytest.raises(ModelError, match="bad-filter"):
        LinearFilter.of_table(table | {"B": [1.0]})


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ({"delay": -1.0}, "bad-time"),
        ({"sample_time": 0.0}, "bad-time"),
        ({"bias": "much"}, "wrong-type"),
        ({"bias": [[1.0]]}, "wrong-type"),
        ({"bias": np.inf}, "not-finite"),
        ({"noise_density": -1.0}, "negative"),
        ({"quantum": np.nan}, "not-finite"),
        ({"rate_limit": 0.0}, "bad-rate"),
        ({"limits": (1.0, -1.0)}, "bad-limits"),
        ({"limits": 1.0}, "bad-limits"),
        ({"filter": 3.0}, "wrong-type"),
        ({"filter": []}, "wrong-length"),
        ({"filter": control.tf([1.0, 0.0], [1.0])}, "improper"),
        ({"filter": control.ss(0.5, 1, 1, 0, 0.1)}, "discrete-filter"),
        ({"filter": control.ss(-1, [[1.0, 1.0]], 1, [[0.0, 0.0]])}, "wrong-shape"),
        ({"filter": [control.ss(-np.eye(2), np.eye(2), np.eye(2), np.zeros((2, 2)))]}, "wrong-shape"),
        ({"filter": control.ss(np.nan, 1, 1, 0)}, "not-finite"),
    ],
)
def test_refusals(arguments: dict[str, Any], code: str) -> None:
    with pytest.raises(ModelError) as refused:
        tt.SignalPath(**arguments)
    assert [finding.code for finding in refused.value.findings] == [code]


@pytest.mark.parametrize(
    ("path", "code", "where"),
    [
        (tt.SignalPath(bias=[1.0, 2.0]), "wrong-length", "gyro.path.bias"),
        (tt.SignalPath(limits=([0.0, 0.0], [1.0, 1.0])), "wrong-length", "gyro.path.limits"),
        (tt.SignalPath([tt.SignalPath.lag(1.0)] * 2), "wrong-length", "gyro.path.filter"),
        (tt.SignalPath.lag(-1.0), "bad-filter", "gyro.path.time_constant"),
        (tt.SignalPath.lag(0.0), "bad-filter", "gyro.path.time_constant"),
        (tt.SignalPath.lag("a"), "bad-filter", "gyro.path.time_constant"),
        ("lag", "wrong-type", "gyro.path"),
    ],
)
def test_a_path_has_to_fit_its_device(path: Any, code: str, where: str) -> None:
    errors, _ = tt.Gyro("gyro", tt.RigidBody("body", mass=1.0), path=path).check()
    assert [(finding.code, finding.where) for finding in errors] == [(code, where)]
    assert not tt.Gyro("gyro", tt.RigidBody("body", mass=1.0), path=tt.SignalPath(bias=[1.0, 2.0, 3.0])).check()[0]
