"""Libraries that deformable bodies need and others do not."""

from __future__ import annotations

import importlib
from types import ModuleType

from titop.blocks.basics.errors import Finding, ModelError


def casadi() -> ModuleType:
    """Return CasADi.

    Raises
    ------
    ModelError
        If it is not installed.
    """
    return _loaded("casadi", "titop.SoftBody", "a library that differentiates")


def meshio() -> ModuleType:
    """Return meshio.

    Raises
    ------
    ModelError
        If it is not installed.
    """
    return _loaded("meshio", "domain.mesh", "a library that reads meshes")


def _loaded(name: str, where: str, expected: str) -> ModuleType:
    try:
        return importlib.import_module(name)
    except ImportError as error:
        advice = f'pip install "titop[soft]", or pip install {name}'
        raise ModelError(Finding("missing-extra", where, f"no {name}", expected, advice)) from error
