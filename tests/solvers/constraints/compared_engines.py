"""How the engines are compared on closed systems."""

from __future__ import annotations

import numpy as np


def relative(found, expected):
    """Return the largest difference, relative to the largest entry (or 1)."""
    found, expected = np.asarray(found), np.asarray(expected)
    return np.abs(found - expected).max(initial=0.0) / max(1.0, np.abs(expected).max(initial=0.0))
