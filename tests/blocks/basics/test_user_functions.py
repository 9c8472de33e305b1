"""What users pass as functions and switches: usable ones pass, others are refused with what they are."""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np
import pytest
from scipy.interpolate import CubicSpline

import titop as tt
from titop.blocks.basics.errors import ModelError
from titop.blocks.basics.user_functions import check_function, check_switch, function_of_state, sampled, takes_state


class Valve:
    """What is an object, and called with three arguments."""

    def __call__(self, t: float, q: Any, v: Any) -> float:
        return t


@pytest.mark.parametrize(
    "function",
    [
        lambda t, q, v: 0.0,
        lambda *arguments: 0.0,
        lambda t, q, v, gain=2.0: 0.0,
        Valve(),
        functools.partial(lambda a, t, q, v: 0.0, 1.0),
        max,  # built in: its signature is not known
    ],
)
def test_what_can_be_called_so_passes(function: Any) -> None:
    check_function("torque", function, "t, q, v")


@pytest.mark.parametrize(
    ("function", "code", "words"),
    [
        (3.0, "wrong-type", "write lambda t, q, v: ..."),
        ("f", "wrong-type", "a function f\\(t, q, v\\)"),
        (lambda t, q: 0.0, "wrong-signature", "\\(t, q\\)"),
        (lambda t, q, v, gain: 0.0, "wrong-signature", "gain"),
        (math.atan2, "wrong-signature", "atan2"),
    ],
)
def test_what_cannot_is_refused_with_its_signature(function: Any, code: str, words: str) -> None:
    with pytest.raises(ModelError, match=rf"torque: .*{words}.*\[{code}\]"):
        check_function("torque", function, "t, q, v")


def test_switches_are_true_or_false_and_nothing_like_it() -> None:
    for value in (True, False, np.True_, np.array([1.0])[0] > 0):
        check_switch("events", value)
    for value in (1, 0, None, "yes", np.array(True)):
        with pytest.raises(ModelError, match=r"events: .*expected True or False"):
            check_switch("events", value)


@pytest.mark.parametrize(
    ("function", "of_state"),
    [
        (lambda t: 0.0, False),
        (lambda t, q, v: 0.0, True),
        (lambda t, q=None, v=None: 0.0, True),
        (lambda *arguments: 0.0, True),
        (lambda t, gain=2.0: 0.0, False),
        (CubicSpline([0.0, 1.0, 2.0], [0.0, 1.0, 0.0]), False),  # its other arguments are no state
        (math.sin, False),
        (Valve(), True),
        (max, True),
    ],
)
def test_functions_of_time_and_of_state_are_told_apart(function: Any, of_state: bool) -> None:
    assert takes_state("torque", function) == of_state
    if function is not max:  # of numbers and arrays
        alone = function(0.5, None, None) if of_state else function(0.5)
        assert function_of_state("torque", function)(0.5, None, None) == alone


@pytest.mark.parametrize("function", [lambda: 0.0, lambda t, q: 0.0, lambda t, q, v, gain: 0.0])
def test_what_is_neither_is_refused_with_both_signatures(function: Any) -> None:
    with pytest.raises(ModelError, match=r"torque: .*expected a function f\(t\) or f\(t, q, v\).*\[wrong-signature\]"):
        takes_state("torque", function)


# Functions of the abscissa at places along a rod.


def test_values_are_taken_at_abscissas() -> None:
    found = sampled("f", lambda X: [X, X**2], np.array([0.0, 0.5, 1.0]), 4.0, (2,))
    assert found.tolist() == [[0.0, 0.0], [2.0, 4.0], [4.0, 16.0]]


@pytest.mark.parametrize("value", [np.nan, [1.0, 2.0], "wide", None])
def test_unusable_values_say_where(value: object) -> None:
    with pytest.raises(tt.ModelError, match=r"rod\.radius.*X = 2"):
        sampled("rod.radius", lambda X: value if X > 1 else 1.0, np.array([0.0, 0.5]), 4.0, ())


def test_an_error_of_the_function_is_the_cause() -> None:
    with pytest.raises(tt.ModelError, match=r"ValueError: too far \(X = 4\)") as caught:
        sampled("f", lambda X: 1.0 if X < 3 else (_ for _ in ()).throw(ValueError("too far")), np.array([0.0, 1.0]), 4.0, ())
    assert isinstance(caught.value.__cause__, ValueError)
