"""Errors go to other processes whole, and there are no others."""

from __future__ import annotations

import copy
import difflib
import pickle
import random
import string
import time
from typing import Any

import numpy as np
import pytest

import titop as tt
from titop.blocks.basics.errors import Finding, did_you_mean, warn


@pytest.mark.parametrize("depth", [1, 4])
def test_warnings_tell_the_line_of_the_user_however_deep_they_arise(depth: int) -> None:
    inside: dict[str, Any] = {"__name__": "titop.deep", "warn": warn, "finding": Finding("odd", "hub", 1, "2", "look")}
    exec("def call(n): return call(n - 1) if n else warn([finding])", inside)
    with pytest.warns(tt.ModelWarning) as caught:
        inside["call"](depth)
    assert caught[0].filename == __file__


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


# The words of strangers in messages: printable, on one line, short; and advice on near names, quickly.

#: A terminal would turn red, move its title, or read from right to left.
ESCAPES = ["\x1b[31mred", "\x1b]0;title\x07", "a\u202eb", "a\rb", "a\x00b", "a\x9b31mb", "\ud800"]


@pytest.mark.parametrize("text", ESCAPES)
@pytest.mark.parametrize("field", ["where", "value", "expected", "advice"])
def test_messages_are_printable(text: str, field: str) -> None:
    fields = dict.fromkeys(("code", "where", "value", "expected", "advice"), "x")
    finding = Finding(**(fields | {field: text}))
    assert str(finding).isprintable()
    error = tt.ModelError([finding, finding])
    assert all(line.isprintable() for line in str(error).split("\n"))
    assert getattr(error.findings[0], field) == text  # the finding itself keeps it


@pytest.mark.parametrize("field", ["where", "value", "expected", "advice"])
def test_long_texts_are_cut(field: str) -> None:
    fields = dict.fromkeys(("code", "where", "value", "expected", "advice"), "x")
    start = time.process_time()
    assert len(str(Finding(**(fields | {field: "long " * 1_000_000})))) < 1100
    assert len(str(Finding(**(fields | {field: "\x1b" * 4_000_000})))) < 5000
    assert time.process_time() - start < 1.0


def test_what_is_short_and_printable_stays_as_it_is() -> None:
    finding = Finding(code="c", where="größe.masse", value="-1  kg\n", expected="e" * 1000, advice="nimm 「1」")
    assert str(finding) == f"größe.masse: got -1 kg; expected {'e' * 1000}; nimm 「1」 [c]"
    assert str(Finding(code="c", where="w" * 200, value="v" * 201, expected="e", advice="a")).count("...") == 1


def test_arrays_are_written_alike_whatever_the_print_options_are() -> None:
    finding = Finding("bad", "hub.com", np.array([0.5, 1.0, 2.0]), "other numbers", "look")
    usual = str(finding)
    with np.printoptions(legacy="1.13"):
        assert str(finding.value) not in usual  # the negative control: NumPy itself writes them otherwise
        assert str(finding) == usual


def test_advice_names_the_same_as_a_comparison_with_all() -> None:
    """As many names as are compared closely and more: the best match is found, as `difflib` alone finds it."""
    rng = random.Random(1)
    for _ in range(200):
        known = ["".join(rng.choices(string.ascii_lowercase, k=rng.randint(3, 12))) for _ in range(300)]
        name = list(rng.choice(known))
        name[rng.randrange(len(name))] = rng.choice(string.ascii_lowercase)
        (best,) = difflib.get_close_matches("".join(name), known, n=1) or ("",)
        assert best in did_you_mean("".join(name), known)


def test_advice_is_quick_however_many_and_long_the_names_are() -> None:
    many = [f"{'shoulder/' * 20}{k}" for k in range(20_000)]
    start = time.process_time()
    for k in range(10):
        assert len(did_you_mean(f"{'shoulder/' * 20}{k}x", many)) < 1000
    assert len(did_you_mean("x" * 4_000_000, ["y" * 4_000_000])) < 200
    assert time.process_time() - start < 2.0  # an unbounded comparison takes minutes


def test_no_name_is_near() -> None:
    assert did_you_mean("x", []) == "known names: none"
    assert did_you_mean("x", range(100, 120)) == f"known names: {', '.join(map(str, range(100, 110)))}, ..."
    assert did_you_mean(np.zeros(2), ["mass"]) == "known names: mass"


@pytest.mark.parametrize("name", ["\x1b[31m", "a\nb", "\u202e"])
def test_names_of_ports_and_coordinates_are_printable(name: str) -> None:
    """They stand in outputs, which nobody escapes."""
    mode = {"mass": 1, "com": [0, 0, 0], "inertia": 1, "frequencies": [1.0], "participation": np.zeros(6)}
    for body in (
        tt.RigidBody("b", 1.0, ports={name: [0, 0, 0]}),
        tt.FlexibleBody("b", **mode, ports={name: [0, 0, 0]}, shapes={name: np.zeros(6)}),
        tt.FlexibleBody("b", **mode, coordinate_names=[name]),
    ):
        errors, _ = body.check()
        assert {finding.code for finding in errors} == {"bad-name"}
        assert all(str(finding).isprintable() for finding in errors)
