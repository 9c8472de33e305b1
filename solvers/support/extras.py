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


def import_cupy(what: str) -> Any:
    """Return the module CuPy, which `what` needs.

    Raises `ImportError` if it is not installed, `RuntimeError` if it finds no device; both say what to do.
    """
    try:
        import cupy
    except ImportError:
        advice = "pip install titop[gpu], or with a driver for CUDA 12 alone: pip install cupy-cuda12x[ctk]"
        raise ImportError(f"{what} needs CuPy: {advice}") from None
    try:
        count, why = cupy.cuda.runtime.getDeviceCount(), ""
    except RuntimeError as error:  # no driver, or one that is too old
        count, why = 0, f" ({error})"
    if not count:
        advice = "see whether nvidia-smi shows one; m.program computes the same on processors"
        raise RuntimeError(f"{what} found no graphics processor of NVIDIA{why}: {advice}")
    return cupy
