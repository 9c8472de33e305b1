"""Kernels take eight parameters at most: what belongs together is one of them, a record."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import titop

KERNELS = Path(titop.__file__).parent / "solvers" / "kernels"

#: The most in each folder: those that are not down to eight yet may not grow.
MOST = {"closures": 8, "derivatives": 12, "entries": 17, "equations": 15, "interface": 12, "laws": 8, "ports": 13}
MOST |= {"series": 8, "spatial": 8, "tree": 11}

#: Of what is called flat: entries from Python, features and stages, which are told how many numbers stand at their addresses.
MOST_FLAT, FLAT, COUNTS = 17, {"entry", "feature", "pair"}, {"count", "number_count"}

#: The entry that is told all that may happen in a simulation.
WIDE = {"steps": 21}


def kernels(text: str) -> Iterator[tuple[str, int, bool]]:
    """Yield name and number of parameters of the kernels in a text, which have no types, and whether they are called flat."""
    for function in ast.walk(ast.parse(text)):
        if isinstance(function, ast.FunctionDef) and function.returns is None:
            names = [each.arg for each in function.args.args]
            marks = {ast.unparse(each).partition("(")[0] for each in function.decorator_list}
            yield function.name, len(names), bool(FLAT & marks or COUNTS & {*names})


def wider(text: str, most: int) -> list[str]:
    """Return the kernels in a text that take more."""
    return [name for name, count, flat in kernels(text) if count > WIDE.get(name, MOST_FLAT if flat else most)]


@pytest.mark.parametrize("folder", [*MOST, "../../blocks/laws"])
def test_no_kernel_takes_more(folder: str) -> None:
    assert [path.name for path in (KERNELS / folder).glob("*.py") if wider(path.read_text("utf8"), MOST.get(folder, 8))] == []


def test_all_folders_are_named() -> None:
    assert {path.parent.name for path in KERNELS.glob("*/*.py")} == {*MOST}


def test_one_that_takes_more_is_found() -> None:
    """Of those that others call, of stages as kinds of blocks have them, and of entries."""
    nine, eighteen = (", ".join(f"x{k}" for k in range(count)) for count in (9, 18))
    assert wider(f"@helper\ndef write({nine}):\n    return x0\n", 8) == ["write"]
    assert wider(f"def law() -> None:\n    def stage({nine}):\n        return x0\n", 8) == ["stage"]
    assert wider(f"@pair(INTS)\ndef asked({nine}):\n    return x0\n", 8) == []
    assert wider(f"@pair(INTS)\ndef asked({eighteen}):\n    return x0\n", 8) == ["asked"]
