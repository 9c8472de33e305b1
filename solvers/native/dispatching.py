"""Kernels through numba's own calls, where `calling` does not know how Python's objects lie in memory; loads numba.

They give the same results, take a microsecond or two more a call, and every process compiles them anew.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numba import cfunc, njit

from titop.solvers.native import compilation  # noqa: F401 - what kernels may call: plain functions of blocks
from titop.solvers.native.signatures import Signature

_OPTIONS: dict[str, Any] = {"error_model": "numpy"}


def dispatched(function: Callable[..., Any], signature: Signature) -> Callable[..., Any]:
    """Return a function that Python calls: compiled for one signature, a `TypeError` for arguments of other types."""
    dispatcher = njit(nogil=True, **_OPTIONS)(function)
    dispatcher.compile(str(signature))
    dispatcher.disable_compile()
    nothing = [None if kind.given else np.zeros((0,) * kind.ndim, kind.dtype) for kind in signature.arguments]

    def called(*given: Any) -> Any:
        if not all(x.dtype.isnative for x in given if isinstance(x, np.ndarray)):  # numba takes them for unaligned ones
            raise TypeError("expected arrays of the machine's own byte order")
        rest = iter(given)
        return dispatcher(*(next(rest) if empty is None else empty for empty in nothing), *rest)

    return called


def called_by_address(function: Callable[..., Any], signature: Signature) -> Any:
    """Return a compiled function of integers, which has its address as ``.address`` as long as it lives."""
    return cfunc(str(signature), **_OPTIONS)(function)
