"""What all calls of compiled kernels share.

A kernel writes its results into arrays that it is given, and returns a status: `DONE`, or that something is wrong. Arguments
that are not its own (lists, integers, complex numbers, stacked states) it refuses with a `TypeError`, and computes nothing.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from titop.blocks.basics.errors import Finding, ModelError
from titop.blocks.basics.spatial import Array

#: The status of a kernel that has written its results.
DONE = 0


class NoCalls:
    """The kernels of an engine that has none: every one is None."""

    def __getattr__(self, name: str) -> None:
        if name.startswith("__"):
            raise AttributeError(name)

    @property
    def at_ports(self) -> NoCalls:
        """Of the ports there is none either."""
        return self

    def __getitem__(self, port: str) -> NoCalls:
        return self


NO_CALLS: Any = NoCalls()


def real_only(array: Array, name: str) -> Array:
    """Return an argument that kernels take.

    Raises
    ------
    ModelError
        If it is complex.
    """
    if array.dtype.kind == "c":
        advice = "use resolve(engine='reference') for complex arguments"
        raise ModelError(Finding("wrong-type", name, "complex numbers", "real numbers", advice))
    return array


def names_key(names: Any) -> tuple[str, ...] | None:
    """Return names of coordinates as a key.

    Raises
    ------
    TypeError
        Where they have to be read with more care.
    """
    if not isinstance(names, list | tuple | None):
        raise TypeError
    return None if names is None else tuple(names)


def driven_by(tau: Any, driven: Array | None) -> Any:
    """Return applied efforts `tau` (nv) plus the efforts (nv) of inputs; `tau` alone where there are none.

    Raises
    ------
    TypeError
        Where `tau` is no array of nv numbers: adding would turn a list into an array, or stretch a single number.
    """
    if driven is None:
        return tau
    if type(tau) is not np.ndarray or tau.shape != driven.shape:
        raise TypeError
    return tau + driven


class Shapes(dict[tuple[str | int, ...], tuple[int, ...]]):
    """Shapes by the names of their sizes, which are given by name."""

    def __init__(self, **sizes: int) -> None:
        super().__init__()
        self.sizes = sizes

    def __missing__(self, sizes: tuple[str | int, ...]) -> tuple[int, ...]:
        self[sizes] = shape = tuple(self.sizes[size] if isinstance(size, str) else size for size in sizes)
        return shape
