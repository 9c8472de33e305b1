"""Whether a port of a block, or what own coordinates move of it, is the same at other values, in any unit of length."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from titop.blocks.basics.spatial import Array


class PortMotion(NamedTuple):
    """rotation (3, 3), position (3,) in m and motion subspace (6, n) of a port."""

    rotation: Array
    position: Array
    subspace: Array

    def differs(self, other: PortMotion, size: float, tolerance: float) -> bool:
        """Tell whether another one differs by more than a tolerance: in rad, in parts of the system's `size` (m), and of the
        largest entry of each coordinate's column."""
        lengths = np.repeat([size, 1.0], 3)[:, None]
        own, others = self.subspace / lengths, other.subspace / lengths
        beside = np.maximum(np.abs(own), np.abs(others)).max(axis=0)
        turned, moved = np.abs(other.rotation - self.rotation).max(), np.abs(other.position - self.position).max() / size
        return bool(max(turned, moved) > tolerance or (np.abs(others - own) > tolerance * beside).any())
