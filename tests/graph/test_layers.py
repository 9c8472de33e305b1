"""Dependencies point one way: ``blocks <- graph <- solvers``, without circles; only graph knows networkx."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import networkx as nx
import pytest

import titop
from titop.blocks.basics.above import above

ROOT = Path(titop.__file__).parent
LAYERS = ("blocks", "graph", "solvers")

#: Layers in which neither files nor folders import each other in circles.
WITHOUT_CIRCLES = ("blocks", "graph", "solvers")

#: The one arrow against the layers, for a type alone: what ``s.resolve()`` returns, by file, scope and module.
ALLOWED_TYPES = {("graph/system.py", "", "titop.solvers.model.model")}


def module_of(path: Path) -> str:
    """Return the dotted name of a file's module."""
    parts = ("titop", *path.relative_to(ROOT).with_suffix("").parts)
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


#: Files of all layers, by module.
MODULES = {module_of(path): path for layer in LAYERS for path in sorted((ROOT / layer).rglob("*.py"))}


@dataclass(frozen=True)
class Import:
    """An import statement: module imported, file and dotted scope where it stands, whether for types alone."""

    module: str
    file: str
    scope: str
    types_only: bool


def imports_of(source: str, file: str) -> Iterator[Import]:
    """Yield every import in a source, wherever it stands."""

    def visit(node: ast.AST, scope: tuple[str, ...], types_only: bool) -> Iterator[Import]:
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield Import(alias.name, file, ".".join(scope), types_only)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{file}:{node.lineno}: imports across folders are absolute"
            for alias in node.names:
                member = f"{node.module}.{alias.name}"
                module = member if member in MODULES or node.module in ("titop", *_packages()) else str(node.module)
                yield Import(module, file, ".".join(scope), types_only)
        for child in ast.iter_child_nodes(node):
            inner = scope
            if isinstance(node, ast.FunctionDef | ast.ClassDef):
                inner = (*scope, node.name) if scope[-1:] != (node.name,) else scope
            guarded = isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING" and child in node.body
            yield from visit(child, inner, types_only or guarded)

    yield from visit(ast.parse(source), (), False)


def _packages() -> tuple[str, ...]:
    return tuple(f"titop.{layer}" for layer in LAYERS)


@cache
def imports(layer: str) -> list[Import]:
    """Return all imports of a layer."""
    files = [path for module, path in MODULES.items() if layer_of(module) == layer]
    assert files
    return [found for path in files for found in imports_of(path.read_text(encoding="utf8"), path.relative_to(ROOT).as_posix())]


def layer_of(module: str) -> str:
    """Return the layer of a module of titop, or the first part of another's name."""
    parts = module.split(".")
    return parts[1] if parts[0] == "titop" and len(parts) > 1 else parts[0]


@pytest.mark.parametrize(
    ("layer", "forbidden"), [("blocks", {"graph", "solvers", "titop"}), ("graph", {"solvers", "titop"}), ("solvers", {"titop"})]
)
def test_dependencies_point_one_way(layer: str, forbidden: set[str]) -> None:
    found = {
        (entry.file, entry.scope, entry.module)
        for entry in imports(layer)
        if layer_of(entry.module) in forbidden and not entry.types_only
    }
    assert found == set()


def test_types_may_be_imported_against_the_layers_by_system_alone() -> None:
    order = {layer: k for k, layer in enumerate(LAYERS)}
    against = {
        (entry.file, entry.scope, entry.module)
        for layer in LAYERS
        for entry in imports(layer)
        if entry.types_only and order.get(layer_of(entry.module), -1) > order[layer]
    }
    assert against == ALLOWED_TYPES


def arrows(layers: tuple[str, ...], folders: bool) -> set[tuple[str, str]]:
    """Return who imports whom among files or folders of some layers, in functions and for types too; the allowed type apart."""
    found = set()
    for entry in (entry for layer in layers for entry in imports(layer)):
        if (entry.file, entry.scope, entry.module) not in ALLOWED_TYPES and layer_of(entry.module) in layers:
            source = module_of(ROOT / entry.file)
            found.add((folder_of(source), folder_of(entry.module)) if folders else (source, entry.module))
    return {(source, target) for source, target in found if source != target}


def folder_of(module: str) -> str:
    """Return the package in which a module stands; a package stands for itself."""
    return module if MODULES[module].name == "__init__.py" else module.rpartition(".")[0]


def circles(found: set[tuple[str, str]]) -> list[list[str]]:
    """Return the groups whose members all import each other by way of others."""
    return [sorted(group) for group in nx.strongly_connected_components(nx.DiGraph(found)) if len(group) > 1]


@pytest.mark.parametrize("folders", [False, True], ids=["files", "folders"])
def test_nothing_imports_itself_by_way_of_others(folders: bool) -> None:
    found = arrows(WITHOUT_CIRCLES, folders)
    assert len(found) > len(WITHOUT_CIRCLES)
    assert circles(found) == []


@pytest.mark.parametrize("folders", [False, True], ids=["files", "folders"])
def test_circles_are_found(folders: bool) -> None:
    """The negative control: whoever is imported back by all that it imports stands with each of them in one circle."""
    found = arrows(WITHOUT_CIRCLES, folders)
    for module in {source for source, _ in found}:
        targets = {target for source, target in found if source == module}
        (circle,) = circles(found | {(target, module) for target in targets})
        assert {module, *targets} <= set(circle)


def rooms_of(package: str) -> list[str]:
    """Return rooms and files of a package in the order in which its docstring lists them."""
    doc = ast.get_docstring(ast.parse(MODULES[package].read_text(encoding="utf8"))) or ""
    held = {room_of(module, package) for module in MODULES}
    return [name for name in dict.fromkeys(re.findall(r"`(\w+)`", doc)) if name in held]


def room_of(module: str, package: str) -> str | None:
    """Return the room of a package in which a module stands, or its own name; None if it is not in the package."""
    return module.removeprefix(f"{package}.").split(".")[0] if module.startswith(f"{package}.") else None


def upwards(package: str, order: list[str]) -> set[tuple[str, str]]:
    """Return who imports whom of the rooms of a package against an order, from top to bottom."""
    found = arrows((layer_of(package),), folders=False)
    rooms = {(room_of(source, package), room_of(target, package)) for source, target in found}
    return {(one, two) for one, two in rooms if one and two and order.index(two) > order.index(one)}


@pytest.mark.parametrize(
    "package", ["titop.blocks", "titop.graph", "titop.solvers", "titop.solvers.kernels", "titop.solvers.lft"]
)
def test_rooms_know_those_listed_above_them(package: str) -> None:
    order = rooms_of(package)
    assert upwards(package, order) == set()
    assert upwards(package, order[::-1])  # the negative control


def test_what_is_called_from_below_stands_where_the_facade_says() -> None:
    """The register names functions of modules; what is not in it is not found, which is the negative control."""
    assert all(callable(above(name)) for name in titop.ABOVE)
    assert {name: above(name).__module__ for name in titop.ABOVE} == titop.ABOVE
    with pytest.raises(KeyError, match="nothing"):
        above("nothing")


def test_only_graph_knows_networkx() -> None:
    assert {
        entry.file.split("/")[0] for layer in LAYERS for entry in imports(layer) if layer_of(entry.module) == "networkx"
    } == {"graph"}


def test_the_tree_holds_no_other_source_than_the_layers_and_the_facade() -> None:
    assert [path.name for path in ROOT.glob("*.py")] == ["__init__.py"]


def test_the_finder_finds() -> None:
    """The negative control: imports at the top, in a method, for types alone, of a package's module."""
    source = """
from typing import TYPE_CHECKING
import networkx as nx
from titop.solvers import model
if TYPE_CHECKING:
    from titop.graph.system import System
    from titop.blocks.contract import law
class A:
    def method(self):
        from titop.solvers.resolve import resolve
"""
    found = {(entry.module, entry.scope, entry.types_only) for entry in imports_of(source, "blocks/a.py")}
    assert found == {
        ("typing", "", False),
        ("networkx", "", False),
        ("titop.solvers.model", "", False),
        ("titop.graph.system", "", True),
        ("titop.blocks.contract.law", "", True),
        ("titop.solvers.resolve", "A.method", False),
    }
