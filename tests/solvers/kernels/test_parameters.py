"""Kernels take eight parameters at most: what belongs together is one of them, a record."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import titop

KERNELS = Path(titop.__file__).parent / "solvers" / "kernels"

#: The most, but for what is called flat: entries from Python, features and stages by address. Stages are told how many numbers
#: stand at their addresses.
MOST, MOST_FLAT, FLAT, COUNTS = 8, 17, {"entry", "feature", "pair"}, {"count", "number_count"}

#: The entry that is told all that may happen in a simulation.
WIDE = {"steps": 21}

#: What these pass on at each stage of a step.
STEPPING = ("accelerate", "control", "held_stages", "held_steps", "switches_within", "take_state_within")

FOLDERS = sorted({path.parent.name for path in KERNELS.glob("*/*.py")})


def kernels(text: str) -> Iterator[tuple[str, int, bool]]:
    """Yield name and number of parameters of the kernels in a text, which have no types, and whether they are called flat."""
    tree = ast.parse(text)
    decorated = [ast.unparse(call) for call in ast.walk(tree) if isinstance(call, ast.Call) and isinstance(call.func, ast.Call)]
    for function in ast.walk(tree):
        if isinstance(function, ast.FunctionDef) and function.returns is None:
            names = [each.arg for each in function.args.args]
            marks = {ast.unparse(each).partition("(")[0] for each in function.decorator_list}
            marks |= {call.partition("(")[0] for call in decorated if call.endswith(f")({function.name})")}
            yield function.name, len(names), bool(FLAT & marks or COUNTS & {*names})


def wider(text: str) -> list[str]:
    """Return the kernels in a text that take more."""
    return [name for name, count, flat in kernels(text) if count > (WIDE.get(name, MOST_FLAT) if flat else MOST)]


@pytest.mark.parametrize("folder", [*FOLDERS, "../../blocks/laws"])
def test_no_kernel_takes_more(folder: str) -> None:
    found = [name for path in (KERNELS / folder).glob("*.py") for name in wider(path.read_text("utf8"))]
    assert [name for name in found if name not in STEPPING] == []


def test_one_that_takes_more_is_found() -> None:
    """Of those that others call, of stages as kinds of blocks have them, and of entries."""
    nine, eighteen = (", ".join(f"x{k}" for k in range(count)) for count in (9, 18))
    assert wider(f"@helper\ndef write({nine}):\n    return x0\n") == ["write"]
    assert wider(f"def law() -> None:\n    def stage({nine}):\n        return x0\n") == ["stage"]
    assert wider(f"@pair(INTS)\ndef asked({nine}):\n    return x0\n") == []
    assert wider(f"@pair(INTS)\ndef asked({eighteen}):\n    return x0\n") == ["asked"]
    assert wider(f"def asked({nine}):\n    return x0\nkernel = pair(INTS)(asked)\n") == []
