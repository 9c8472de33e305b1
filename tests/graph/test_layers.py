"""Dependencies point one way: ``blocks <- graph <- solvers``; only graph knows networkx."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

import titop

ROOT = Path(titop.__file__).parent
LAYERS = ("blocks", "graph", "solvers")

#: The one arrow against the layers, so that users can write ``s.resolve()``; what is imported for types alone is no arrow.
ALLOWED = {("graph/system.py", "System.resolve", "titop.solvers.resolve")}


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
                module = f"{node.module}.{alias.name}" if node.module in ("titop", *_packages()) else str(node.module)
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


def imports(layer: str) -> list[Import]:
    """Return all imports of a layer."""
    files = sorted((ROOT / layer).rglob("*.py"))
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
    assert found - ALLOWED == set()
    assert {entry for entry in ALLOWED if entry[0].startswith(layer)} <= found


def test_types_may_be_imported_against_the_layers_by_system_alone() -> None:
    order = {layer: k for k, layer in enumerate(LAYERS)}
    against = {
        entry.file
        for layer in LAYERS
        for entry in imports(layer)
        if entry.types_only and order.get(layer_of(entry.module), -1) > order[layer]
    }
    assert against <= {"graph/system.py"}


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
        ("titop.solvers.resolve", "A.method", False),
    }
