"""How elastic, dissipative contacts push: of surfaces, and of a joint with its stops."""

from __future__ import annotations

from typing import Any

import numpy as np

#: Hertz's, of smooth surfaces that touch in a point.
HERTZ = 1.5


def impact_push(depth: Any, rate: Any, stiffness: Any, dissipation: Any, exponent: Any = HERTZ) -> Any:
    """Return ``stiffness depth^exponent (1 + dissipation rate)``: zero out of contact, and where it would pull.

    Hertz; K. H. Hunt and F. R. E. Crossley, Coefficient of restitution interpreted as damping in vibroimpact, 1975.

    Parameters
    ----------
    depth, rate : float or array
        How deep the contact is, and how fast it becomes deeper.
    stiffness, dissipation, exponent : float or array
    """
    share = 1.0 + dissipation * rate
    return stiffness * _power(depth, exponent) * np.where(np.real(share) > 0, share, 0.0)


def impact_energy(depth: Any, stiffness: Any, exponent: Any = HERTZ) -> Any:
    """Return the stored energy ``stiffness depth^(exponent + 1) / (exponent + 1)``, zero out of contact."""
    return stiffness * depth * _power(depth, exponent) / (exponent + 1.0)


def _power(depth: Any, exponent: Any) -> Any:
    """Return ``depth^exponent``, zero out of contact."""
    pressed = np.real(depth) > 0
    inside, some = np.where(pressed, depth, 0.0 * depth), np.where(pressed, depth, 1.0 + 0.0 * depth)
    return inside * (np.sqrt(some) if np.all(exponent == HERTZ) else np.exp((exponent - 1.0) * np.log(some)))
