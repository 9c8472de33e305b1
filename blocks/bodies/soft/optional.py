"""Libraries that deformable bodies need and others do not."""

from __future__ import annotations

from types import ModuleType

from titop.blocks.basics.errors import Finding, ModelError


def casadi() -> ModuleType:
    """Return CasADi.

    Raises
    ------
    ModelError
        If it is not installed.
    """
    try:
        import casadi as library
    except ImportError as error:
        raise _missing("casadi", "titop.SoftBody", "a library that differentiates") from error
    return library


def meshio() -> ModuleType:
    """Return meshio.

    Raises
    ------
    ModelError
        If it is not installed.
    """
    try:
        import meshio as library
    except ImportError as error:
        raise _missing("meshio", "domain.mesh", "a library that reads meshes") from error
    return library


def _missing(name: str, where: str, expected: str) -> ModelError:
    advice = f'pip install "titop[soft]", or pip install {name}'
    return ModelError(Finding("missing-extra", where, f"no {name}", expected, advice))
