"""Importing titop, and computing with a rigid system, is quick: what takes long to import is left until it is used."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import titop as tt

#: Libraries that take half a tenth of a second or more, each needed by few functions.
HEAVY = ("control", "matplotlib", "networkx", "numba", "scipy", "xarray")

FIRST_DYNAMICS = """
import sys
import titop as tt
s = tt.System("pendulum")
s.connect("world", tt.RigidBody("bob", mass=1.0, com=[0, 0, -1]), tt.Revolute("pivot", axis=[1, 0, 0]))
s.resolve().forward_dynamics([0.1], [0.0])
print(*sys.modules)
"""


@pytest.mark.parametrize("library", HEAVY)
def test_left_alone(library: str, loaded: frozenset[str]) -> None:
    assert library not in loaded


#: Modules of kinds of blocks that a rigid system does not have.
OF_OTHER_KINDS = (
    *("bodies.rods.rod", "bodies.rods.section", "interactions.tendon"),
    *("interactions.cable", "interactions.contact", "bodies.beam"),
)


@pytest.mark.parametrize("module", OF_OTHER_KINDS)
def test_other_kinds_of_blocks_are_left_alone(module: str, loaded: frozenset[str]) -> None:
    """Whoever reads blocks asks them what can be read of them."""
    assert f"titop.blocks.{module}" not in loaded
    assert (Path(__file__).parents[1] / "blocks" / f"{module.replace('.', '/')}.py").exists()


def test_what_is_needed_is_there(loaded: frozenset[str]) -> None:
    assert {"numpy", "llvmlite", "titop.solvers.engines.compiled.compiled_engine"} <= loaded


def test_the_import_alone_loads_no_layer() -> None:
    assert not {name for name in modules("import titop, sys; print(*sys.modules)") if name.startswith("titop.")}


@pytest.fixture(scope="module")
def loaded() -> frozenset[str]:
    """Return the modules that a first forward dynamics loads in a fresh process, with kernels compiled before."""
    modules(FIRST_DYNAMICS)
    return modules(FIRST_DYNAMICS)


def modules(script: str) -> frozenset[str]:
    """Return what a script prints in a fresh process."""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    return frozenset(done.stdout.split())


def test_every_public_name_is_found() -> None:
    assert set(tt.__all__) <= set(dir(tt))
    assert tt.System is tt.graph.system.System
    assert all(getattr(tt, name).__module__.startswith("titop.") for name in tt.__all__ if name[0].isupper())
    everything: dict[str, object] = {}
    exec("from titop import *", everything)
    assert set(tt.__all__) <= everything.keys()


def test_other_names_are_not() -> None:
    with pytest.raises(AttributeError, match="Sytem"):
        _ = tt.Sytem


def test_every_folder_of_modules_is_installed() -> None:
    root = Path(__file__).parents[1]
    listed = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf8"))["tool"]["setuptools"]["packages"]
    folders = {path.parent for layer in ("blocks", "graph", "solvers") for path in (root / layer).rglob("*.py")}
    assert set(listed) == {"titop", *(".".join(("titop", *folder.relative_to(root).parts)) for folder in folders)}
    assert all((folder / "__init__.py").exists() for folder in folders)
