"""Arrays of truncated Taylor series, coefficients stacked: a product needs one matrix product for each pair of orders.

Formulas of blocks take single numbers that carry their derivatives (`titop.blocks.basics.taylor`). Passes over a tree multiply
poses and wrenches; for them these arrays are much faster. Constant arrays stay plain arrays.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from titop.blocks.basics.spatial import Array, skew
from titop.blocks.basics.taylor import coefficients_of, factors_of, numbers_with


class SeriesArray:
    """A vector or matrix with its time derivatives, as coefficients of a power series.

    `coefficients` (r + 1, ...): of the powers of t: the k-th is the k-th derivative over k!.
    """

    __slots__ = ("coefficients",)
    __array_ufunc__ = None  # plain arrays leave arithmetic to this class

    def __init__(self, coefficients: Array) -> None:
        self.coefficients = coefficients

    @classmethod
    def of_derivatives(cls, derivatives: Array) -> SeriesArray:
        """Return an array from its time derivatives (r + 1, ...)."""
        return cls(derivatives / factors_of(derivatives))

    @property
    def order(self) -> int:
        """The last power r."""
        return len(self.coefficients) - 1

    @property
    def T(self) -> SeriesArray:
        """The transposed matrix."""
        return SeriesArray(self.coefficients.swapaxes(1, 2))

    @property
    def rate(self) -> SeriesArray:
        """The derivative; its last coefficient is unknown and set to zero."""
        rates = np.zeros_like(self.coefficients)
        count = len(rates)
        rates[:-1] = self.coefficients[1:] * np.arange(1.0, count).reshape(-1, *[1] * (rates.ndim - 1))
        return SeriesArray(rates)

    def __getitem__(self, at: Any) -> SeriesArray:
        return SeriesArray(self.coefficients[(slice(None), *at) if isinstance(at, tuple) else (slice(None), at)])

    def __setitem__(self, at: Any, part: SeriesArray | Array) -> None:
        self.coefficients[:, at] = _coefficients(part, self.order)

    def __add__(self, other: SeriesArray | Array) -> SeriesArray:
        if isinstance(other, SeriesArray):
            return SeriesArray(self.coefficients + other.coefficients)
        coefficients = self.coefficients.copy()
        coefficients[0] += other
        return SeriesArray(coefficients)

    __radd__ = __add__

    def __neg__(self) -> SeriesArray:
        return SeriesArray(-self.coefficients)

    def __sub__(self, other: SeriesArray | Array) -> SeriesArray:
        return self + -other

    def __rsub__(self, other: Array) -> SeriesArray:
        return -self + other

    def __matmul__(self, other: SeriesArray | Array) -> SeriesArray:
        if not isinstance(other, SeriesArray):
            return SeriesArray(self.coefficients @ other)
        ours, theirs = self.coefficients, other.coefficients
        result = _product(ours[0], theirs)
        for k in range(1, len(ours)):
            result[k:] += _product(ours[k], theirs[:-k])
        return SeriesArray(result)

    def __rmatmul__(self, other: Array) -> SeriesArray:
        return SeriesArray(_product(other, self.coefficients))


def _product(matrix: Array, stack: Array) -> Array:
    """Return a matrix times a stack of vectors or matrices."""
    return np.asarray(stack @ matrix.T if stack.ndim == 2 else matrix @ stack)


def stacked(array: Any, order: int) -> SeriesArray | Array:
    """Return numbers, some of which carry derivatives up to an order, as one array; plain arrays are returned as they are."""
    array = np.asarray(array)
    if array.dtype != object:
        return array
    return SeriesArray(coefficients_of(array, order))


def numbers(array: SeriesArray | Array) -> Array:
    """Return an array of numbers that carry their derivatives (dtype object), as the functions of blocks take them."""
    return numbers_with(array.coefficients) if isinstance(array, SeriesArray) else array


def moving(array: SeriesArray | Array, order: int) -> SeriesArray:
    """Return an array as one that carries derivatives; a constant array gets zero derivatives."""
    return SeriesArray(_coefficients(array, order))


def derivatives(array: SeriesArray | Array, order: int) -> Array:
    """Return the time derivatives (order + 1, ...) of an array that may be constant."""
    known = _coefficients(array, order)
    return known * factors_of(known)


def join_arrays(parts: Sequence[SeriesArray | Array], order: int, axis: int = 0) -> SeriesArray | Array:
    """Return the concatenation of arrays, some of which may carry derivatives."""
    plain = [part for part in parts if not isinstance(part, SeriesArray)]
    if len(plain) == len(parts):
        return np.concatenate(plain, axis)
    return SeriesArray(np.concatenate([_coefficients(part, order) for part in parts], axis + 1))


def _coefficients(array: SeriesArray | Array, order: int) -> Array:
    if isinstance(array, SeriesArray):
        return array.coefficients[: order + 1]
    return np.concatenate([array[None], np.zeros((order, *array.shape))])


def crossing(vector: SeriesArray | Array) -> SeriesArray | Array:
    """Return the matrix (3x3) of the cross product by a vector; see `titop.blocks.basics.spatial.skew`."""
    if isinstance(vector, SeriesArray):
        return SeriesArray(np.array([skew(row) for row in vector.coefficients]))
    return skew(vector)
