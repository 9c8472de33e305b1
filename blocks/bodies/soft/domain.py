"""The material that a deformable body fills at rest: points, and the volumes for which they stand."""

from __future__ import annotations

from typing import Any

import numpy as np

from titop.blocks.basics.errors import ModelError
from titop.blocks.basics.spatial import Array
from titop.blocks.basics.user_input import FieldReader


class Domain:
    """Quadrature points of the volume of a body at rest.

    Parameters
    ----------
    points : array_like (k, 3), m
        In the frame of the parent port.
    volumes : array_like (k,), m^3
        For which the points stand: the weights of a quadrature.
    tip : array_like (3,), m, optional
        Where a child port stands if none is named.

    Raises
    ------
    ModelError
        If these are not such numbers.
    """

    def __init__(self, points: Any, volumes: Any, tip: Any = None) -> None:
        reader = FieldReader("domain")
        count = len(np.atleast_1d(np.asarray(volumes, dtype=object)))
        self.points = reader.array("points", points, (count, 3), "give one row (x, y, z) for each volume")
        self.volumes = reader.array("volumes", volumes, (count,))
        self.tip: Array | None = None if tip is None else reader.array("tip", tip, (3,))
        if not reader.findings and not self.volumes.sum() > 0:
            reader.report("bad-volume", "volumes", self.volumes.sum(), "a positive sum", "check the signs of the weights")
        if reader.findings:
            raise ModelError(reader.findings)

    @classmethod
    def cylinder(cls, radius: float, length: float, along: int = 6, around: int = 8, outwards: int = 2) -> Domain:
        """Return a cylinder along z from the origin.

        Parameters
        ----------
        radius, length : float, m
        along, around, outwards : int
            How many points there are in each direction: Gauss points along z and for the radius, equal angles.
        """
        reader = FieldReader("domain")
        for name, value in {"radius": radius, "length": length}.items():
            if not reader.scalar(name, value) > 0:
                reader.report(f"bad-{name}", name, value, "a length > 0 (m)", "check the sign and the unit")
        if reader.findings:
            raise ModelError(reader.findings)
        z, wz = _gauss(along, length)
        area, wa = _gauss(outwards, radius**2)
        angles = 2.0 * np.pi * np.arange(around) / around
        r, phi, height = np.meshgrid(np.sqrt(area), angles, z, indexing="ij")
        points = np.stack([r * np.cos(phi), r * np.sin(phi), height], axis=-1).reshape(-1, 3)
        volumes = np.einsum("i,j,k->ijk", wa, np.full(around, np.pi / around), wz).ravel()
        return cls(points, volumes, [0.0, 0.0, length])


def _gauss(count: int, length: float) -> tuple[Array, Array]:
    """Return points and weights of Gauss and Legendre from 0 to a length."""
    points, weights = np.polynomial.legendre.leggauss(count)
    return 0.5 * length * (points + 1.0), 0.5 * length * weights
