"""A sphere of many facets."""

from __future__ import annotations

from typing import Any

import numpy as np

import titop as tt


def sphere(target: Any, radius: float, rings: int, **parts: float) -> list[tt.Facet]:
    """Return the facets of a sphere: Gauss' rule over its height, equal distances about its axis."""
    heights, weights = np.polynomial.legendre.leggauss(rings)
    facets = []
    for z, weight in zip(heights, weights, strict=True):
        for angle in (np.arange(2 * rings) + 0.5) * np.pi / rings:
            normal = np.array([np.sqrt(1 - z * z) * np.cos(angle), np.sqrt(1 - z * z) * np.sin(angle), z])
            facets.append(tt.Facet(target, weight * np.pi / rings * radius**2, normal, radius * normal, **parts))
    return facets
