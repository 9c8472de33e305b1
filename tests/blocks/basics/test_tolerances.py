"""The one table of tolerances: how large it may become, and that small numbers stand nowhere else."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import titop
from titop.blocks.basics import tolerances

ROOT = Path(titop.__file__).parent
TABLE = Path("blocks/basics/tolerances.py")
MOST = 25

#: Small numbers that are no thresholds, by file: how many there are, and what they are.
NO_THRESHOLDS: dict[str, tuple[int, str]] = {
    "blocks/programs/turning_numbers.py": (12, "coefficients of sine and cosine"),
    "solvers/programs/c_text.py": (1, "the rounding of single precision, which C may have"),
    "solvers/support/threads.py": (2, "seconds of work that are worth a thread"),
    "graph/checking/system_check.py": (2, "a density in kg/m^3, and a part of the least inertia that matter has"),
    "solvers/lft/fractions.py": (10, "a schedule: how many directions count, tried one after the other"),
    "solvers/linear/lpv_plots.py": (1, "a damping ratio whose line is drawn"),
    "graph/files/block_types.py": (1, "what files leave out: defaults of arguments"),
    "blocks/devices/slosh.py": (23, "coefficients of the frequency and the mass of liquid in a sphere"),
    "blocks/surroundings/magnetic_field.py": (1, "the magnetic constant over 4 pi"),
}


def small_numbers(source: str) -> Iterator[tuple[int, str]]:
    """Yield line and text of numbers of a source between 0 and a hundredth, and of what asks NumPy for the rounding.

    Texts, docstrings among them, and comments are no numbers; defaults of arguments and of fields of records belong to those
    who set them.
    """
    tree = ast.parse(source)
    arguments = (node for node in ast.walk(tree) if isinstance(node, ast.arguments))
    defaults = [default for each in arguments for default in (*each.defaults, *each.kw_defaults) if default]
    classes = (node for node in ast.walk(tree) if isinstance(node, ast.ClassDef))
    defaults += [node.value for each in classes for node in each.body if isinstance(node, ast.AnnAssign) and node.value]
    exempt = {id(part) for default in defaults for part in ast.walk(default)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, float | complex) and id(node) not in exempt:
            if 0.0 < abs(node.value) < tolerances.COARSE:
                yield node.lineno, ast.get_source_segment(source, node) or ""
        elif isinstance(node, ast.Attribute) and node.attr in ("finfo", "spacing", "epsilon"):
            yield node.lineno, node.attr


def found_outside() -> dict[str, list[tuple[int, str]]]:
    """Return the small numbers of every file but the table."""
    files = sorted(path.relative_to(ROOT) for layer in ("blocks", "graph", "solvers") for path in (ROOT / layer).rglob("*.py"))
    assert files
    found = {path.as_posix(): [*small_numbers((ROOT / path).read_text(encoding="utf8"))] for path in files if path != TABLE}
    return {path: numbers for path, numbers in found.items() if numbers}


def test_small_numbers_stand_in_the_table_alone() -> None:
    found = found_outside()
    assert {path: numbers for path, numbers in found.items() if len(numbers) > NO_THRESHOLDS.get(path, (0, ""))[0]} == {}


def test_exceptions_are_needed() -> None:
    found = {path: len(numbers) for path, numbers in found_outside().items()}
    assert found == {path: count for path, (count, _) in NO_THRESHOLDS.items()}


def test_few_names_with_their_reasons() -> None:
    lines = (ROOT / TABLE).read_text(encoding="utf8").splitlines()
    places = {match[1]: k for k, line in enumerate(lines) if (match := re.match(r"([A-Z_]+)(?:: \w+)? = ", line))}
    assert {name for name in vars(tolerances) if name.isupper()} == set(places)
    assert 0 < len(places) <= MOST
    assert [name for name, k in places.items() if not lines[k - 1].startswith("#: ")] == []


@pytest.mark.parametrize(
    ("source", "count"),
    [
        ("x < 1e-9", 1),
        ("_SAME = 0.001", 1),
        ("a, b = 1e-6j, 3e-3", 2),
        ("if x < -1e-12 * y: pass", 1),
        ("eps = np.finfo(float).eps", 1),
        ("def f(x=1 + 1e-3):\n    return x < 1e-3", 1),
        ("def f(*, atol=1e-9): '''Within 1e-9.'''", 0),
        ("class A:\n    smoothing: float = 0.001\n    _small = 1e-9", 1),
        ("x = 0.5 * 0.0 + 1e-2  # 1e-9", 0),
    ],
)
def test_small_numbers_are_found(source: str, count: int) -> None:
    assert len([*small_numbers(source)]) == count
