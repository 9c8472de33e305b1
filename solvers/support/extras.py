"""Libraries that are installed with an extra of titop, and imported where they are needed."""

from __future__ import annotations

from typing import Any


def import_xarray(what: str) -> Any:
    """Return the module xarray, which `what` needs. Raises `ImportError` if it is not installed; says how to install it."""
    try:
        import xarray
    except ImportError:
        raise ImportError(f"{what} needs xarray: pip install titop[xarray]") from None
    return xarray
