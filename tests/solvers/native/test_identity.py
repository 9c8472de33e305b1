"""Names of machine code: each edit changes those of what it touches and no others, the same under every Python."""

from __future__ import annotations

import json
import os
import platform
import time
from collections.abc import Callable
from pathlib import Path
from types import FunctionType
from typing import Any

import numpy as np
import pytest

from tests.copied_package import CopiedPackage, copy_package
from titop.solvers.engines.compiled.compile_ahead import units
from titop.solvers.native import identity
from titop.solvers.native.identity import identity_of, source_hash, text_of_function
from titop.solvers.native.kernel import Kernel, helper, shared
from titop.solvers.native.signatures import INTEGER, REAL, VECTOR, Signature

NAMES = """
import json
from titop.solvers.engines.compiled.compile_ahead import units
print(json.dumps({name: unit.file for name, unit in units().items()}))
"""


@pytest.fixture(scope="module")
def copied_package(tmp_path_factory: pytest.TempPathFactory) -> CopiedPackage:
    return copy_package(tmp_path_factory.mktemp("named"))


def test_an_edit_of_a_helper_renames_exactly_what_uses_it(copied_package: CopiedPackage) -> None:
    before = json.loads(copied_package.output(NAMES))
    assert len({*before.values()}) == len(before) > 200
    assert before == {name: unit.file for name, unit in units().items()}  # in another process, from other places
    copied_package.edit()
    after = json.loads(copied_package.output(NAMES))
    renamed = {name for name in before if after[name] != before[name]}
    # found by searching for its name
    using = ("configuration_rate", "configuration_derivatives", "state_derivative")
    using += ("open_steps", "closed_steps", "members", "lane_steps")
    assert renamed == {
        name
        for name in before
        if name.removesuffix("_in_lanes").removesuffix("_of_members").removesuffix("_of_all").endswith(using)
    }
    assert len(renamed) >= 7


@pytest.mark.portable
def test_every_function_that_is_compiled_is_told_by_its_source() -> None:
    """So that names are the same under every Python; and the source has all of which there is byte code.

    What is made where it is asked for (`pair.under_forces`) says so.
    """
    for unit in units().values():
        assert unit.file
    made = [each for each in identity._KNOWN if each.__name__.endswith("_under_forces")]
    assert made
    assert all(f"def {each.__name__}(" in str(identity._source(each)) for each in made)
    ours = [each for each in identity._KNOWN if identity._is_ours(each) and each.__code__.co_filename != "<string>"]
    assert len(ours) > 1000
    for function in ours:
        code = function.__code__
        assert (text := identity._source(function)) is not None, function
        lines = Path(code.co_filename).read_text("utf8").split("\n")
        last = max(line for _, line, _, _ in code.co_positions() if line)
        if code.co_name != "<lambda>":
            assert lines[last - 1] in text.split("\n"), function


SOURCE = '''
@entry(
    REAL,
)
def first(
    x,
) -> float:
    """Text."""

    def inner(y):
        return y

    # a remark
    return inner(
        x
    )


# of the next
def second(x):
    return x
class Other:
    def method(self):
        return 1
    other = 2
'''
LINES = SOURCE.split("\n")


@pytest.mark.parametrize(
    ("start", "end"), [("@entry(", "    )"), ("def second", "    return x"), ("    def method", "        return 1")]
)
def test_the_text_of_a_function(start: str, end: str) -> None:
    begin = next(k for k, line in enumerate(LINES) if line.startswith(start))
    text = text_of_function(LINES, begin)
    stop = begin + LINES[begin:].index(end) + 1
    assert text == [line for line in LINES[begin:stop] if line]


def made(source: str, **values: Any) -> Callable[..., Any]:
    """Return the function `f` of a source, in which names have `values`."""
    known: dict[str, Any] = {"__name__": "tests.made", "np": np, **values}
    exec(source, known)
    function = known["f"]
    assert isinstance(function, FunctionType)
    return function


PLAIN = "def f(x):\n    return K * x\n"


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (made(PLAIN, K=1.0), made(PLAIN, K=2.0)),
        (made(PLAIN, K=1), made(PLAIN, K=1.0)),
        (made(PLAIN, K=np.ones(2)), made(PLAIN, K=np.ones(3))),
        (made(PLAIN, K=(1.0, (2.0,))), made(PLAIN, K=(1.0, (3.0,)))),
        (made(PLAIN, K=1.0), made(PLAIN.replace("K *", "K +"), K=1.0)),
        (made(PLAIN, K=made("def f(x):\n    return x\n")), made(PLAIN, K=made("def f(x):\n    return -x\n"))),
        (made(PLAIN, K=helper(made(PLAIN, K=1.0))), made(PLAIN, K=helper(made(PLAIN, K=2.0)))),
        (made(PLAIN, K=helper(made(PLAIN, K=1.0))), made(PLAIN, K=shared(made(PLAIN, K=1.0)))),
        (made("def f(x, k=1.0):\n    return x\n"), made("def f(x, k=2.0):\n    return x\n")),
    ],
)
def test_what_a_function_reads_is_part_of_it(one: Any, other: Any) -> None:
    assert identity_of(one) != identity_of(other)


def test_what_a_function_reads_may_change() -> None:
    function = made(PLAIN, K=made(PLAIN, K=1.0))
    before = identity_of(function)
    function.__globals__["K"].__globals__["K"] = 2.0
    assert identity_of(function) != before


def test_what_it_does_not_read_is_not() -> None:
    assert identity_of(made(PLAIN, K=1.0)) == identity_of(made(PLAIN, K=1.0, L=2.0))
    itself = "def f(x):\n    return f(x - 1) if x else K\n"
    assert identity_of(made(itself, K=1.0)) == identity_of(made(itself, K=1.0)) != identity_of(made(itself, K=2.0))


def test_signatures_and_callers_are_part_of_names() -> None:
    def half(x):
        return 0.5 * x

    kinds = [Signature((kind,), REAL) for kind in (INTEGER, REAL, VECTOR, REAL._replace(given=False))]
    files = [Kernel(half, kind, whole=whole).file for kind in kinds for whole in (False, True)]
    assert len({*files}) == len(files)


def test_a_file_edited_since_the_process_began_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "edited.py"
    path.write_text("")
    identity._lines.cache_clear()
    assert identity._lines(str(path)) is None
    old = time.time() - 1e6
    os.utime(path, (old, old))
    identity._lines.cache_clear()
    assert identity._lines(str(path)) == [""]
    assert identity._lines(str(tmp_path / "none.py")) is None


def test_a_hash_of_sources_covers_every_file(tmp_path: Path) -> None:
    (tmp_path / "room").mkdir()
    for path in (tmp_path / "a.py", tmp_path / "room" / "b.py"):
        path.write_text("x = 1\n")
    before = source_hash([tmp_path])
    for path in tmp_path.rglob("*.py"):
        path.write_text("x = 2\n")
        assert source_hash([tmp_path]) != before
        path.write_text("x = 1\n")
    assert source_hash([tmp_path]) == before


@pytest.mark.skipif(platform.machine() not in ("x86_64", "AMD64"), reason="names of processors of another kind")
@pytest.mark.parametrize(
    ("name", "features", "count"),
    [
        ("x86-64-v4", "", 8),
        ("znver4", "", 8),
        ("x86-64-v3", "", 4),
        ("x86-64", "", 2),
        ("x86-64", "+avx2", 4),
        ("x86-64-v4", "-avx512f", 4),
    ],
)
def test_lanes_are_as_wide_as_the_processor_that_is_named(
    name: str, features: str, count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(identity, "processor", lambda: (name, features))
    assert identity._lane_count() == count
    for chosen, found in (("4", 4), ("3", count)):
        monkeypatch.setenv(identity.LANES_SETTING, chosen)
        assert identity._lane_count() == found
