"""Surroundings that act on a block: fluids, springs to the ground, gravity."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from titop.blocks.basics.spatial import Array
from titop.blocks.contract.law import Law


class Surrounded:
    """The part of `Block` that defines its surroundings; by default gravity alone.

    Notes
    -----
    Arguments of the methods: `q` and `v` the own coordinates and their rates; `twist` the twist (6) of the parent port, in its
    frame; `rotation` (3 x 3) and `position` (3, m) the pose of the parent port in the inertial frame.
    """

    coordinates: tuple[str, ...]
    compiled_law: ClassVar[Law | None]
    #: The fraction of the weight that buoyancy carries, if it is uniform: the density of the fluid over the block's.
    borne: Any = None
    #: The fluid around a block of titop's own.
    fluid: Any = None

    def mass_matrix(self, q: Array) -> Array:
        """Return the inertia seen from the parent port, (6 + n) x (6 + n), for ``[V_P; v]`` (kg, kg m and kg m^2)."""
        raise NotImplementedError

    def law_numbers(self) -> Array:
        """Return the numbers (k, SI units) from which the block's compiled law is computed; none without such a law."""
        return np.zeros(0)

    def applied_efforts(self, q: Array, v: Array, twist: Array, rotation: Array, position: Array) -> Array:
        """Return the loads that depend on the block's motion and pose: drag, buoyancy, springs to the ground.

        Returns
        -------
        (6 + n,) array
            The wrench at the parent port (N and N m), in its frame, force first; then the efforts along the own coordinates.
        """
        law = self.compiled_law
        if law is not None and law.applied is not None:
            return law.applied_efforts(self.law_numbers(), q, v, twist, rotation, position)
        if self.fluid is not None:
            return self.stream_efforts(q, v, twist, rotation)
        return np.zeros(6 + len(self.coordinates))

    def stream_efforts(self, q: Array, v: Array, twist: Array, rotation: Array) -> Array:
        """Return the part of `applied_efforts` (6 + n; N, N m) due to the `fluid`: drag, lift, and the effects of a current."""
        return np.zeros(6 + len(self.coordinates))

    def applied_energy(self, q: Array, rotation: Array, position: Array) -> Any:
        """Return the potential energy (J) of `applied_efforts` at rest; it is used in energy balances alone."""
        return 0.0 * q.sum()

    def weight(self, q: Array) -> tuple[Any, Array]:
        """Return the weight: a mass (kg), and its first moment (3, kg m) about the parent port, in its frame.

        By default from the mass matrix less `weightless_inertia`. In a fluid, buoyancy reduces the weight by that of the
        displaced fluid, and the added mass has no weight.
        """
        return mass_and_moment(self.mass_matrix(q) - self.weightless_inertia(q))

    def weightless_inertia(self, q: Array) -> Array:
        """Return the inertia (6 + n, 6 + n; kg, kg m and kg m^2) on which gravity does not act.

        It is that of the displaced fluid and of the added mass: by default the fraction `borne` of the mass matrix.
        """
        return (0.0 if self.borne is None else self.borne) * self.mass_matrix(q)

    def added_inertia(self, q: Array) -> Array:
        """Return the added mass of a fluid (6 + n, 6 + n; kg, kg m and kg m^2), a part of the mass matrix.

        It contributes neither to the centre of mass nor to the weight of the system. Zero by default.
        """
        return np.zeros((6 + len(self.coordinates), 6 + len(self.coordinates)))


def mass_and_moment(inertia: Array) -> tuple[Any, Array]:
    """Return mass (kg) and first moment (3, kg m) of an inertia: mean values if the axes differ."""
    M = inertia
    moment = [M[5, 1] - M[4, 2], M[3, 2] - M[5, 0], M[4, 0] - M[3, 1]]
    return (M[0, 0] + M[1, 1] + M[2, 2]) / 3.0, 0.5 * np.array(moment)
