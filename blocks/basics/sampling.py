"""Sampling of users' functions of the abscissa at places along a rod."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from titop.blocks.basics.errors import Finding, ModelError
from titop.blocks.basics.spatial import Array
from titop.blocks.basics.user_input import real_array


def sampled(where: str, function: Callable[[float], Any], fractions: Array, length: float, shape: tuple[int, ...]) -> Array:
    """Return the values (k, \\*shape; units of the function) of a function of X (m) at places along a rod.

    Parameters
    ----------
    where : str
        Dotted path of the function.
    function : callable
    fractions : (k,) array
        The places, as fractions of the length.
    length : float, m
    shape : tuple of int
        Of each value.

    Raises
    ------
    ModelError
        If the function fails, or a value has another shape or is not finite.
    """
    rows = []
    for X in (fractions * length).tolist():
        expected = f"finite numbers of shape {shape}" if shape else "a finite number"
        try:
            value = function(X)
        except Exception as error:
            failure = f"{type(error).__name__}: {error} (X = {X:.4g})"
            raise ModelError(Finding("function-fails", where, failure, expected, "check the function")) from error
        row = real_array(value)
        if row is None or row.shape != shape or not np.isfinite(row).all():
            advice = f"check what the function returns at X = {X:.4g}"
            raise ModelError(Finding("bad-values", where, value, expected, advice))
        rows.append(row)
    return np.array(rows)
