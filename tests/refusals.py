"""Small systems, and how they are refused."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

import titop as tt

#: Both resolvers, which refuse the same things.
ENGINES = ("compiled", "reference")
#: The same where the reference takes seconds.
LONG_BY_REFERENCE = ("compiled", pytest.param("reference", marks=pytest.mark.long))


def body(name: str = "arm", **fields: Any) -> tt.RigidBody:
    """Return a body with a port ``tip``, fields replaced."""
    return tt.RigidBody(name, **({"mass": 1.0, "com": [0, 0, 1], "inertia": 0.1, "ports": {"tip": [0, 0, 2]}} | fields))


def hinged(arm: Any = None, joint: Any = None, placement: Any = None) -> tt.System:
    """Return a system of one body on a joint."""
    s = tt.System("rig")
    s.connect("world", arm or body(), joint or tt.Revolute("hinge", axis=[1, 0, 0]), placement)
    return s


def refused(s: tt.System, engine: str = "compiled") -> tt.ModelError:
    """Return the error with which a system is refused, and no warning besides."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(tt.ModelError) as caught:
            s.resolve(engine)
    return caught.value


@contextmanager
def refusal(code: str, text: str) -> Iterator[pytest.ExceptionInfo[tt.ModelError]]:
    """Assert that what is done inside is refused with a code and a message that holds a text."""
    with pytest.raises(tt.ModelError, match=re.escape(text)) as caught:
        yield caught
    assert caught.value.code == code


def assert_says(error: tt.ModelError, code: str, where: str, *words: str) -> None:
    """Assert that one finding alone is reported, and that the message holds some words."""
    assert [finding.code for finding in error.findings] == [code]
    assert (error.code, error.where) == (code, where)
    for word in (code, where, *words):
        assert word in str(error)
