"""Helpers of all calls of compiled kernels.

A kernel writes its results into arrays that are passed to it, and returns a status: `DONE`, or an error. Arguments of other
types (lists, integers, complex numbers, stacked states) it refuses with a `TypeError`, without computing anything.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from titop.blocks.basics.errors import Finding, ModelError
from titop.blocks.basics.spatial import Array

#: The status of a kernel that has written its results.
DONE = 0


class NoCalls:
    """The kernels of an engine without kernels: every one is None."""

    def __getattr__(self, name: str) -> None:
        if name.startswith("__"):
            raise AttributeError(name)

    @property
    def at_ports(self) -> NoCalls:
        """Kernels of ports; every one is None."""
        return self

    def __getitem__(self, port: str) -> NoCalls:
        return self


NO_CALLS: Any = NoCalls()


def real_only(array: Array, name: str, advice: str = "use resolve(engine='reference') for complex arguments") -> Array:
    """Return an array of real numbers. Raises `ModelError` if it is complex."""
    if array.dtype.kind == "c":
        raise ModelError(Finding("wrong-type", name, "complex numbers", "real numbers", advice))
    return array


def names_key(names: Any) -> tuple[str, ...] | None:
    """Return names of coordinates as a key of kernels.

    Raises `TypeError` if they are no list or tuple, and have to be checked in detail.
    """
    if not isinstance(names, list | tuple | None):
        raise TypeError
    return None if names is None else tuple(names)


def driven_by(tau: Any, driven: Array | None) -> Any:
    """Return applied efforts `tau` (nv) plus the efforts (nv) of inputs; `tau` alone where there are none.

    Raises `TypeError` if `tau` is no array of nv numbers: the sum would convert a list to an array, or broadcast a single
    number.
    """
    if driven is None:
        return tau
    if type(tau) is not np.ndarray or tau.shape != driven.shape:
        raise TypeError
    return tau + driven


class Shapes(dict[tuple[str | int, ...], tuple[int, ...]]):
    """Shapes of arrays, from tuples of numbers and of names of sizes."""

    def __init__(self, **sizes: int) -> None:
        super().__init__()
        self.sizes = sizes

    def __missing__(self, sizes: tuple[str | int, ...]) -> tuple[int, ...]:
        self[sizes] = shape = tuple(self.sizes[size] if isinstance(size, str) else size for size in sizes)
        return shape
