"""Rods cut at a section: the efforts that keep the cut closed are the internal wrench of the section."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from titop.blocks.bodies.rods.discretisation import RodLayout, RodNumbers
from titop.blocks.bodies.rods.rod import Rod
from titop.blocks.bodies.rods.strains import LINEAR_FIRST
from titop.blocks.bodies.water.immersion import Water

#: Number of the coordinates of a cut.
CUT = 6


class CutRod(Rod):
    """A rod with six further coordinates: the relative displacement of the part beyond a section.

    Parameters
    ----------
    rod : Rod
    fraction : float
        Place of the cut, as a fraction of the length.

    Notes
    -----
    The six are the exponential coordinates of the displacement, linear first, in the section's frame; zero closes the cut.
    Points lie as in a rod whose strain jumps there, so that both parts have their own Gauss points, with the same accuracy as
    for the whole rod. The rod's own coordinates come first, with unchanged meaning.
    """

    def __init__(self, rod: Rod, fraction: float) -> None:
        vars(self).update(vars(rod.snapshot()))
        self.cut_at = fraction
        self.coordinates = (*rod.coordinates, *(f"cut{k}" for k in range(CUT)))
        self._update()

    def _layout(self, places: Sequence[float]) -> RodLayout:
        return super()._layout(places)._replace(cuts=(self.cut_at,))

    def numbers_to(self, places: Sequence[float]) -> RodNumbers:
        """Return the numbers of the law with the cut, and with steps to some places in place of those to the ports.

        Parameters
        ----------
        places : sequence of float
            As fractions of the length.
        """
        return _cut(super().numbers_to(places), self.cut_at)


def _cut(numbers: RodNumbers, fraction: float) -> RodNumbers:
    """Return a rod's numbers with one further step, after the point at the cut, displaced by the strain of the cut alone."""
    k = int(np.abs(numbers.fractions - fraction).argmin())
    n, water = len(numbers.components), numbers.water
    shapes = np.pad(np.insert(numbers.shapes, k, 0.0, axis=0), [(0, 0), (0, 0), (0, CUT)])
    shapes[k, :, n:] = 1.0
    return RodNumbers(
        np.concatenate([numbers.components, LINEAR_FIRST]),
        np.insert(numbers.fractions, k, numbers.fractions[k]),
        numbers.before + (numbers.before >= k),
        np.insert(numbers.steps, k, 1.0),
        np.insert(numbers.reference, k, 0.0, axis=0),
        shapes,
        np.insert(numbers.inertia, k, 0.0, axis=0),
        np.pad(numbers.stiffness, (0, CUT)),
        np.pad(numbers.damping, (0, CUT)),
        water and Water(water.current, *(np.insert(part, k, 0.0, axis=0) for part in water[1:])),
    )
