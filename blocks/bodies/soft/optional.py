"""Libraries that deformable bodies need and others do not."""

from __future__ import annotations

from types import ModuleType

from titop.blocks.basics.errors import missing_extra


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
        raise missing_extra("casadi", "soft", "titop.SoftBody", "a library that differentiates") from error
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
        raise missing_extra("meshio", "soft", "domain.mesh", "a library that reads meshes") from error
    return library
