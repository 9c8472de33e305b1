"""Surfaces of deformable bodies at rest, for pictures."""

from __future__ import annotations

import numpy as np

from titop.blocks.basics.spatial import Array
from titop.blocks.contract.description import Picture

#: Rows of points along a body, and how many of them are drawn as lines.
_ROWS, _LINES = 13, 7


def lofted(rings: list[Array], scales: tuple[float, float], length: float) -> Picture:
    """Return the outline of a body along z from the origin.

    Parameters
    ----------
    rings : one or two (m, 2) arrays, m
        Its section's outer edge, then that of a hole, point by point beside the first; counter-clockwise.
    scales : two floats
        By which the section is multiplied at the base and at the tip.
    length : float, m
    """
    count, parts, triangles, lines = len(rings[0]), [], [], []
    heights = np.linspace(0.0, length, _ROWS)
    sizes = np.linspace(*scales, _ROWS)
    for k, ring in enumerate(rings):
        grid = np.arange(_ROWS * count).reshape(_ROWS, count) + k * _ROWS * count
        parts.append(np.column_stack([np.outer(sizes, ring[:, 0]).ravel(), np.outer(sizes, ring[:, 1]).ravel(),
                                      np.repeat(heights, count)]))  # fmt: skip
        sides = _strip(grid)
        triangles.append(sides[:, ::-1] if k else sides)
        lines += [np.append(row, row[0]) for row in grid[:: (_ROWS - 1) // (_LINES - 1)]]
        lines += list(grid.T[:: max(1, count // 4)])
    points, size = np.concatenate(parts), _ROWS * count
    ends = np.array([np.arange(count), np.arange(count) + size - count])
    if len(rings) == 2:
        triangles += [_strip(np.array([ends[0] + size, ends[0]])), _strip(np.array([ends[1], ends[1] + size]))]
    else:
        middles = len(points) + np.arange(2)
        points = np.concatenate([points, [[0.0, 0.0, 0.0], [0.0, 0.0, length]]])
        base, tip = (np.stack([end, np.roll(end, -1), np.full(count, m)], 1) for end, m in zip(ends, middles, strict=True))
        triangles += [base[:, ::-1], tip]
    return Picture(points, np.concatenate(triangles), tuple(lines))


def _strip(grid: Array) -> Array:
    """Return the triangles between rows of closed rings, the first row below the next seen from outside."""
    here, beside = grid[:-1], np.roll(grid[:-1], -1, axis=1)
    above, across = grid[1:], np.roll(grid[1:], -1, axis=1)
    lower, upper = np.stack([here, beside, across], axis=-1), np.stack([here, across, above], axis=-1)
    return np.concatenate([lower.reshape(-1, 3), upper.reshape(-1, 3)])
