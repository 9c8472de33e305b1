"""How elastic, dissipative contacts push: of surfaces, and of a joint with its stops."""

from __future__ import annotations

from typing import Any

import numpy as np

from titop.blocks.basics.choices import select

#: Hertz's exponent, of smooth surfaces that touch in a point.
HERTZ = 1.5


def impact_push(depth: Any, rate: Any, stiffness: Any, dissipation: Any, exponent: Any) -> Any:
    """Return ``stiffness depth^exponent (1 + dissipation rate)``: zero out of contact, and where it would pull.

    Hertz; K. H. Hunt and F. R. E. Crossley, Coefficient of restitution interpreted as damping in vibroimpact, 1975.

    Parameters
    ----------
    depth, rate : number
        How deep the contact is (m or rad), and how fast it becomes deeper.
    stiffness, dissipation, exponent : number
    """
    share = 1.0 + dissipation * rate
    return _elastic(depth, stiffness, exponent) * select(share.real > 0.0, share, 0.0 * share)


def impact_energy(depth: Any, stiffness: Any, exponent: Any) -> Any:
    """Return the stored energy ``stiffness depth^(exponent + 1) / (exponent + 1)``, zero out of contact."""
    return _elastic(depth, stiffness, exponent) * depth / (exponent + 1.0)


def _elastic(depth: Any, stiffness: Any, exponent: Any) -> Any:
    """Return ``stiffness depth^exponent``, zero out of contact."""
    pressed = depth.real > 0.0
    inside, some = select(pressed, depth, 0.0 * depth), select(pressed, depth, 0.0 * depth + 1.0)
    if exponent == HERTZ:
        return stiffness * inside * np.sqrt(some)
    return stiffness * inside * np.exp((exponent - 1.0) * np.log(some))
