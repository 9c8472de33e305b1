"""Errors go to other processes whole, and there are no others."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest

import titop as tt


@pytest.mark.parametrize("value", [3.0, "text", np.array([1.0, np.nan]), (1, [2]), None])
def test_an_error_is_the_same_after_pickling(value: Any) -> None:
    findings = [tt.Finding("first", "hub.mass", value, "more", "less"), tt.Finding("second", "b", 2, "c", "d")]
    error = tt.ModelError(findings)
    error.add_note("seen at noon")
    for other in (pickle.loads(pickle.dumps(error)), copy.deepcopy(error)):
        assert type(other) is tt.ModelError
        assert str(other) == str(error)
        assert (other.code, other.where, other.__notes__) == ("first", "hub.mass", ["seen at noon"])
        assert [finding.advice for finding in other.findings] == ["less", "d"]
        np.testing.assert_equal(other.findings[0].value, value)


def test_what_cannot_be_pickled_goes_as_its_text() -> None:
    error = tt.ModelError(tt.Finding("wrong-type", "function", lambda t: t, "numbers", "give a list"))
    other = pickle.loads(pickle.dumps(error))
    assert str(other) == str(error)
    assert "<lambda>" in other.findings[0].value


@pytest.mark.parametrize("name", ["ModelError", "ModelWarning", "ConvergenceError", "SimulationInterrupt", "SweepInterrupt"])
def test_every_exception_can_be_pickled(name: str) -> None:
    kind = getattr(tt, name)
    error = kind(tt.Finding("code", "where", 1, "2", "3")) if kind is tt.ModelError else kind("a message")
    other = pickle.loads(pickle.dumps(error))
    assert type(other) is kind
    assert str(other) == str(error)


def test_there_are_no_other_exceptions() -> None:
    exceptions = {name for name in dir(tt) if isinstance(kind := getattr(tt, name), type) and issubclass(kind, BaseException)}
    assert exceptions == {"ModelError", "ModelWarning", "ConvergenceError", "SimulationInterrupt", "SweepInterrupt"}
