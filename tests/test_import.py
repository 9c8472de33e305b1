"""Importing titop is quick: what takes long to import is left until it is used."""

from __future__ import annotations

import subprocess
import sys

import pytest

#: Libraries that take a tenth of a second or more, each needed by few functions.
HEAVY = (
    "control",
    "matplotlib",
    "scipy.integrate",
    "scipy.linalg",
    "scipy.optimize",
    "xarray",
    "CyRK",
    "scipy.spatial",
    "numba",
)


@pytest.mark.parametrize("library", HEAVY)
def test_left_alone(library: str, loaded: frozenset[str]) -> None:
    assert library not in loaded


def test_what_is_needed_is_there(loaded: frozenset[str]) -> None:
    assert {"numpy", "networkx", "titop.solvers.simulation.simulate"} <= loaded


@pytest.fixture(scope="module")
def loaded() -> frozenset[str]:
    """Return the modules that ``import titop`` loads in a fresh process."""
    command = [sys.executable, "-c", "import titop, sys; print(*sys.modules)"]
    return frozenset(subprocess.run(command, capture_output=True, text=True, check=True).stdout.split())
