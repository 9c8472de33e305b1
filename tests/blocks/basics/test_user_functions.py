"""What users pass as functions and switches: usable ones pass, others are refused with what they are."""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np
import pytest

from titop.blocks.basics.errors import ModelError
from titop.blocks.basics.user_functions import check_function, check_switch


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
