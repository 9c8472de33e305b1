"""Configurations along a motion, with their time derivatives."""

from __future__ import annotations

import numpy as np

from titop.blocks.basics.errors import Finding, ModelError
from titop.blocks.basics.spatial import Array, cross
from titop.blocks.basics.taylor import Taylor, taylor_array
from titop.blocks.contract.block import Block


def configuration_series(block: Block, q: Array, v_series: Array) -> Array:
    """Return a block's configuration (nq) with as many time derivatives as there are rows of velocities (rows, n).

    Raises
    ------
    ModelError
        For user-defined coordinates that are neither plain nor those of a quaternion.
    """
    if block.configuration_names == block.coordinates:
        return taylor_array(np.vstack([q, v_series[:-1]]))
    quaternion = getattr(block, "quaternion", slice(0, 0))
    if len(range(*quaternion.indices(len(q)))) != 4:
        advice = "name its configuration as its coordinates, if these are plain numbers"
        raise ModelError(
            Finding("no-series", block.name, block.configuration_names, "plain coordinates or a quaternion", advice)
        )
    angular = taylor_array(v_series[:, -3:])
    attitude = quaternion_series(q[quaternion], angular)
    if block.nv == 3:
        return attitude
    x, y, z, w = attitude
    r, u = np.array([x, y, z]), taylor_array(v_series[:, :3])
    rate = u + 2.0 * (w * cross(r, u) + cross(r, cross(r, u)))  # the twist's linear part in the joint's frame
    return np.concatenate([[integral(start, each) for start, each in zip(q[:3], rate, strict=True)], attitude])


def quaternion_series(q: Array, angular: Array) -> Array:
    """Return the quaternion (4, dtype object) that starts at q and has an angular velocity (3) in its own frame."""
    rates = np.array([each.coefficients for each in angular])
    series = np.zeros((4, rates.shape[1]))
    series[:, 0] = q
    for k in range(rates.shape[1] - 1):
        for j in range(k + 1):
            (x, y, z, w), (a, b, c) = series[:, j], rates[:, k - j]
            series[:, k + 1] += [w * a + y * c - z * b, w * b + z * a - x * c, w * c + x * b - y * a, -x * a - y * b - z * c]
        series[:, k + 1] /= 2.0 * (k + 1)
    result = np.empty(4, dtype=object)
    result[:] = [Taylor(row) for row in series]
    return result


def integral(start: float, rate: Taylor) -> Taylor:
    """Return the time integral of a rate, from a start value."""
    coefficients = rate.coefficients
    return Taylor(np.concatenate([[start], coefficients[:-1] / np.arange(1, len(coefficients))]))
