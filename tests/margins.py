"""How near their tolerances assertions are: a plugin that records it, for whoever looks for tests that rest on rounding.

    python -m pytest -p tests.margins -o enable_assertion_pass_hook=true --margins margins.tsv tests/...

The file (one for each process of ``-n``) has a line for each place that compares: the largest part of what is allowed that
was taken (1 is a failure, below 0.1 a margin of ten; far above 1 where a difference is what is asserted), how often it
compared, the place, the test that came nearest, and what it compared. Seen are `np.testing.assert_allclose`, `np.allclose` and
`pytest.approx`, and of plain `assert` those that compare two numbers by order where either is written with an exponent or
below `SMALL`: others count or compare sizes, not errors.

What rests on rounding differs between ``OPENBLAS_CORETYPE=Haswell`` and ``SkylakeX``; what is truncation does not.
"""

from __future__ import annotations

import ast
import atexit
import inspect
import os
import re
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

#: Numbers below this one are tolerances.
SMALL = 1e-2

TESTS = Path(__file__).parent

# what pytest has compiled of tests without the hook for assertions that pass is of no use here
sys.pycache_prefix = tempfile.mkdtemp()
atexit.register(shutil.rmtree, sys.pycache_prefix, ignore_errors=True)


def taken(actual: Any, desired: Any, rtol: float, atol: float) -> float:
    """Return the largest part of the allowed difference that two arrays take; 0 where they are equal."""
    actual, desired = np.broadcast_arrays(np.asarray(actual), np.asarray(desired))
    if actual.dtype.kind not in "biufc" or desired.dtype.kind not in "biufc":
        return 0.0
    apart = actual != desired
    if not apart.any():
        return 0.0
    with np.errstate(all="ignore"):
        parts = np.abs(actual[apart] - desired[apart]) / (atol + rtol * np.abs(desired[apart]))
    return float(np.nanmax(parts, initial=0.0))


class Margins:
    """What was taken of what is allowed, by place."""

    def __init__(self) -> None:
        self.places: dict[tuple[str, int], tuple[float, str, str]] = {}
        self.counts: dict[tuple[str, int], int] = {}

    def record(self, part: float, text: str, place: tuple[str, int] | None = None) -> None:
        """Keep the largest part at a place, that of the test's file which compares unless it is given."""
        place = place or calling()
        if place is None:
            return
        test = os.environ.get("PYTEST_CURRENT_TEST", "").removesuffix(" (call)")
        self.counts[place] = self.counts.get(place, 0) + 1
        if place not in self.places or part > self.places[place][0]:
            self.places[place] = part, test, text

    def lines(self) -> list[str]:
        """Return a line a place, the nearest first."""
        rows = sorted(self.places.items(), key=lambda each: -each[1][0])
        return [f"{part:.3g}\t{self.counts[p]}\t{p[0]}:{p[1]}\t{test}\t{text}" for p, (part, test, text) in rows]


def calling() -> tuple[str, int] | None:
    """Return file and line of tests that compare now."""
    frame = inspect.currentframe()
    while frame is not None:
        path = Path(frame.f_code.co_filename)
        if path.is_relative_to(TESTS) and path != Path(__file__):
            return str(path.relative_to(TESTS.parent)), frame.f_lineno
        frame = frame.f_back
    return None


MARGINS = Margins()


def _number(text: str) -> float | None:
    """Return what arithmetic on plain numbers gives, or None for anything else."""
    text = re.sub(r"np\.float64\(([^()]*)\)", r"\1", text)
    try:
        tree = ast.parse(text.strip(), mode="eval")
    except SyntaxError:
        return None
    allowed = (ast.Expression, ast.BinOp, ast.UnaryOp, ast.Constant, ast.operator, ast.unaryop)
    if not all(isinstance(node, allowed) for node in ast.walk(tree)):
        return None
    try:
        return float(eval(compile(tree, "", "eval")))
    except (TypeError, ValueError, ArithmeticError):
        return None


def pytest_assertion_pass(item: pytest.Item, lineno: int, orig: str, expl: str) -> None:
    """Record comparisons of two numbers by order that are about errors."""
    first = expl.splitlines()[0] if expl else ""
    sides = re.split(r" (<=?|>=?) ", first)
    if len(sides) != 3:
        return
    left, right = _number(sides[0]), _number(sides[2])
    if left is None or right is None or (not re.search(r"\de-\d", orig) and min(abs(left), abs(right)) > SMALL):
        return
    small, large = (left, right) if sides[1][0] == "<" else (right, left)
    part = max(small, -large) / (max(large, -small) or 1.0)
    path = str(Path(item.path).relative_to(TESTS.parent))
    MARGINS.record(max(part, 0.0), f"assert {first}  [{' '.join(orig.split())}]", (path, lineno))


def pytest_addoption(parser: pytest.Parser) -> None:
    """Say where the margins are written."""
    parser.addoption("--margins", default="margins.tsv", help="file of how near their tolerances assertions are")


def pytest_configure() -> None:
    """Listen to what compares."""
    scalar: Any = type(pytest.approx(1.0))
    plain, same, equal = np.testing.assert_allclose, np.allclose, scalar.__eq__

    def assert_allclose(actual: Any, desired: Any, rtol: float = 1e-7, atol: float = 0, *rest: Any, **named: Any) -> None:
        MARGINS.record(taken(actual, desired, rtol, atol), f"assert_allclose {rtol=} {atol=}")
        plain(actual, desired, rtol, atol, *rest, **named)

    def allclose(a: Any, b: Any, rtol: float = 1e-5, atol: float = 1e-8, **named: Any) -> bool:
        MARGINS.record(taken(a, b, rtol, atol), f"allclose {rtol=} {atol=}")
        return same(a, b, rtol, atol, **named)

    def approximately(self: Any, actual: Any) -> bool:
        answer = equal(self, actual)
        if self.tolerance:
            part = taken(actual, self.expected, 0.0, self.tolerance)
            MARGINS.record(part, f"{actual!r} == approx({self.expected!r}, abs={self.tolerance:.3g})")
        return answer

    np.testing.assert_allclose, np.allclose, scalar.__eq__ = assert_allclose, allclose, approximately


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Write what was recorded."""
    worker = os.environ.get("PYTEST_XDIST_WORKER")
    path = Path(session.config.getoption("--margins"))
    (path.with_name(f"{path.name}.{worker}") if worker else path).write_text("\n".join(MARGINS.lines()) + "\n")
