"""How elastic, dissipative contacts push: of a sphere with a plane, and of a joint with its stops."""

from __future__ import annotations

from typing import Any

import numpy as np


def impact_push(depth: Any, rate: Any, stiffness: Any, dissipation: Any) -> Any:
    """Return ``stiffness depth^1.5 (1 + dissipation rate)``: zero out of contact, and where it would pull.

    Hertz; K. H. Hunt and F. R. E. Crossley, Coefficient of restitution interpreted as damping in vibroimpact, 1975.

    Parameters
    ----------
    depth, rate : float or array
        How deep the contact is, and how fast it becomes deeper.
    stiffness, dissipation : float or array
    """
    share = 1.0 + dissipation * rate
    return stiffness * _three_halves(depth) * np.where(np.real(share) > 0, share, 0.0)


def impact_energy(depth: Any, stiffness: Any) -> Any:
    """Return the stored energy ``stiffness depth^2.5 / 2.5``, zero out of contact."""
    return stiffness * depth * _three_halves(depth) / 2.5


def _three_halves(depth: Any) -> Any:
    """Return ``depth^1.5``, zero out of contact."""
    pressed = np.real(depth) > 0
    return np.where(pressed, depth, 0.0 * depth) * np.sqrt(np.where(pressed, depth, 1.0 + 0.0 * depth))
