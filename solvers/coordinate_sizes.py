"""What counts as one of each coordinate of a system, so that no unit matters."""

from __future__ import annotations

import numpy as np

from titop.blocks.basics.spatial import Array
from titop.graph.network.assembly import Assembly


def coordinate_sizes(assembly: Assembly, inertia: Array, length: float) -> Array:
    """Return what counts as one for each coordinate (nv): a radian, the length (m), or what moves the system's mass so far.

    The last for coordinates with other units, from their `inertia` (nv, the diagonal of the mass matrix).
    """
    units = np.array(assembly.coordinate_units)
    sizes = np.where(units == "m", length, 1.0)
    other = ~np.isin(units, ("m", "rad")) & (inertia > 0)
    if other.any():
        masses = [block.mass_matrix(block.neutral())[0, 0] for block in assembly.blocks.values()]
        sizes[other] = length * np.sqrt((float(sum(masses)) or 1.0) / inertia[other])
    return sizes
