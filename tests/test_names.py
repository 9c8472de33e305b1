"""What a name stands for: no class and no file is named twice, and no small file serves one neighbour alone."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterable
from pathlib import PurePosixPath

import pytest

from tests.graph.test_layers import LAYERS, MODULES, ROOT, imports, module_of

#: Lines of a module from which on it may serve one module of its own folder alone.
LEAST_LINES = 60

#: Classes named twice that still have to find names of their own. Take out what is mended; put nothing in.
CLASSES_LEFT: set[str] = set()

#: Files named twice, likewise.
FILES_LEFT = {"loads.py"}

#: Small modules with one importing sibling, likewise.
SMALL_LEFT: set[str] = set()


def sources() -> dict[str, str]:
    """Return the text of every file of the layers, by its path in the package."""
    return {path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf8") for path in MODULES.values()}


def importers() -> dict[str, set[str]]:
    """Return the files that import each file, types included."""
    pairs = [(MODULES.get(entry.module), entry.file) for layer in LAYERS for entry in imports(layer)]
    table: dict[str, set[str]] = {file: set() for file in sources()}
    for path, file in pairs:
        if path is not None and module_of(path) != module_of(ROOT / file):
            table[path.relative_to(ROOT).as_posix()].add(file)
    return table


def more_than_once(names: Iterable[str]) -> set[str]:
    """Return the names that come more than once."""
    return {name for name, count in Counter(names).items() if count > 1}


def classes_twice(files: dict[str, str]) -> set[str]:
    """Return names of classes that stand twice, wherever they stand."""
    trees = [ast.parse(text) for text in files.values()]
    return more_than_once(node.name for tree in trees for node in ast.walk(tree) if isinstance(node, ast.ClassDef))


def files_twice(files: Iterable[str]) -> set[str]:
    """Return names of files that stand twice among the kernels, or twice among all others.

    A kernel may be named like the module that calls it.
    """
    paths = [PurePosixPath(file) for file in files if not file.endswith("__init__.py")]
    kernels = [path.name for path in paths if "kernels" in path.parts]
    return more_than_once(kernels) | more_than_once(path.name for path in paths if "kernels" not in path.parts)


def small_with_one_sibling(files: dict[str, str], table: dict[str, set[str]]) -> set[str]:
    """Return files under `LEAST_LINES` lines that one file imports, which stands in the same folder."""
    small = {file for file, text in files.items() if len(text.splitlines()) < LEAST_LINES and not file.endswith("__init__.py")}
    alone = {file: next(iter(table[file])) for file in small if len(table[file]) == 1}
    return {file for file, user in alone.items() if PurePosixPath(file).parent == PurePosixPath(user).parent}


def test_no_class_is_named_twice() -> None:
    assert classes_twice(sources()) == CLASSES_LEFT


def test_no_file_is_named_twice() -> None:
    assert files_twice(sources()) == FILES_LEFT


def test_no_small_module_serves_one_sibling_alone() -> None:
    assert small_with_one_sibling(sources(), importers()) == SMALL_LEFT


def test_classes_named_twice_are_found() -> None:
    """The negative control: a second class of a name, wherever it stands."""
    files = {"blocks/a.py": "class A:\n    class Inner: ...", "solvers/b.py": "class B: ...", "graph/c.py": "class C: ..."}
    assert classes_twice(files) == set()
    assert classes_twice(files | {"graph/d.py": "def f():\n    class Inner: ..."}) == {"Inner"}


@pytest.mark.parametrize(
    ("files", "twice"),
    [
        (["blocks/a.py", "solvers/b.py", "solvers/x/__init__.py", "graph/__init__.py"], set()),
        (["blocks/a.py", "solvers/kernels/tree/a.py"], set()),
        (["blocks/a.py", "solvers/model/a.py"], {"a.py"}),
        (["solvers/kernels/a.py", "solvers/kernels/tree/a.py"], {"a.py"}),
    ],
)
def test_files_named_twice_are_found(files: list[str], twice: set[str]) -> None:
    """The negative control; kernels and the modules that call them may share a name."""
    assert files_twice(files) == twice


@pytest.mark.parametrize(
    ("lines", "users", "is_small"),
    [
        (LEAST_LINES - 1, {"blocks/x/b.py"}, True),
        (LEAST_LINES, {"blocks/x/b.py"}, False),
        (LEAST_LINES - 1, {"blocks/x/b.py", "blocks/x/c.py"}, False),
        (LEAST_LINES - 1, {"blocks/y/b.py"}, False),
    ],
)
def test_small_modules_with_one_sibling_are_found(lines: int, users: set[str], is_small: bool) -> None:
    """The negative control: long enough, two users, or a user elsewhere will do."""
    expected = {"blocks/x/a.py"} if is_small else set()
    assert small_with_one_sibling({"blocks/x/a.py": "\n" * lines}, {"blocks/x/a.py": users}) == expected
