"""Random states of flexible systems, and how results are compared."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

import titop as tt

Array = NDArray[np.float64]


def state(model: tt.Model, seed: int, bend: float = 1.0) -> tuple[Array, Array, Array]:
    """Return a configuration, with deformations of `bend` times the usual ones, and random rates and accelerations."""
    rng = np.random.default_rng(seed)
    q = model.random_configuration(rng)
    for name in ("near", "far", "side", "boom"):
        if any(coordinate.startswith(f"{name}.") for coordinate in model.configuration_names):
            where = [coordinate.startswith(f"{name}.") for coordinate in model.configuration_names]
            q[where] *= bend
    return q, rng.normal(size=model.nv), rng.normal(size=model.nv)


def error(found: Any, expected: Any) -> float:
    """Return the largest difference, relative to the largest entry."""
    found, expected = np.asarray(found), np.asarray(expected)
    return float(np.abs(found - expected).max() / np.abs(expected).max())


def wrenches(seed: int) -> dict[str, Array]:
    """Return wrenches on ports and reference frames of flexible and rigid bodies."""
    rng = np.random.default_rng(seed)
    return {port: rng.normal(size=6) for port in ("near.C0", "near.C1", "near", "boom.C", "side.C0", "tip")}


# Efforts differ by the rounding of sums of some hundred terms each: about 1e-14 of the largest.
ACCURACY = 1e-12
