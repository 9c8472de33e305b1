"""Poses, strains and stresses of a rod's sections."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from titop.blocks.basics.spatial import Array
from titop.blocks.bodies.rods.discretisation import RodNumbers, rigidities
from titop.blocks.bodies.rods.recursion import section_poses
from titop.blocks.bodies.rods.rod_data import RodData
from titop.blocks.bodies.rods.section_shapes import largest_around, twisting_arm
from titop.blocks.bodies.rods.strains import LINEAR_FIRST, reference_along

#: Number of sets of places whose discretisation, some tens of kB each, a rod caches.
_CACHED = 16
#: Number of configurations evaluated together: some MB.
_TOGETHER = 256


class Fibres(NamedTuple):
    """Fibres of a rod at k sections: reference strain (k, 6), derivatives of strains (k, 6, n), extents (2, k; m), shape."""

    reference: Array
    shapes: Array
    reach: Array
    shape: str

    def stretch(self, q: Array) -> Array:
        """Return the least stretch (k, no unit) of all fibres, at coordinates (n) or stacked ones; see `Rod.fibre_stretch`."""
        strains, (y, z) = self.reference + np.tensordot(q, self.shapes, (-1, -1)), self.reach
        return strains[..., 3] - largest_around(self.shape, strains[..., 1] * z, strains[..., 2] * y)


class RodSections(RodData):
    """The part of `Rod` for its sections."""

    def section_poses(self, q: Array, abscissas: Any) -> tuple[Array, Array]:
        """Return rotations (k, 3, 3; no unit) and positions (k, 3; m) of sections in the parent port's frame.

        Parameters
        ----------
        q : (n,) array
            Or stacked ones, for stacked results.
        abscissas : array_like (k,), m
            Where they are, from the base of the rod at rest.

        Raises
        ------
        ModelError
            If they are not on the rod.
        """
        numbers = self._numbers_at(self.fractions(abscissas))
        if np.ndim(q) == 1:
            R, r = section_poses(numbers, np.asarray(q))
        else:
            parts = [section_poses(numbers, q[k : k + _TOGETHER]) for k in range(0, max(len(q), 1), _TOGETHER)]
            R, r = (np.concatenate(each) for each in zip(*parts, strict=True))
        return R[..., self._points :, :, :], r[..., self._points :, :]

    def _numbers_at(self, fractions: Array) -> RodNumbers:
        """Return the numbers of the law with steps to some places, cached for the last sets."""
        cache, key = self._reached, fractions.tobytes()
        numbers = cache.get(key)  # other threads may remove it meanwhile
        if numbers is None:
            numbers = self.numbers_to(fractions.tolist())
            if len(cache) >= _CACHED:
                cache.pop(next(iter(cache)), None)
            cache[key] = numbers
        return numbers

    def strain(self, q: Array, abscissas: Any) -> Array:
        """Return the strains (k, 6; rad/m and no unit) ``[k; s]`` at places along the rod.

        Parameters
        ----------
        q : (n,) array
            Or stacked ones, for stacked results.
        abscissas : array_like (k,), m
            The places, from the base of the rod at rest.

        Raises
        ------
        ModelError
            If they are not on the rod.
        """
        fractions = self.fractions(abscissas)
        return self._reference(fractions) + self._strain_of(q, fractions)

    def stressing_strain(self, q: Array, abscissas: Any) -> Array:
        """Return the strains minus the reference strain (k, 6; rad/m and no unit): zero without stress.

        Parameters
        ----------
        q, abscissas
            As for `strain`.
        """
        return self._strain_of(q, self.fractions(abscissas))

    def strain_shapes(self, abscissas: Any) -> Array:
        """Return the derivatives of the strains ``[k; s]`` along the rod by the coordinates (k, 6, n; 1/m and 1/m^2).

        Parameters
        ----------
        abscissas : array_like (k,), m
        """
        shapes = self._shapes_at(self.fractions(abscissas))
        return np.eye(6)[self.numbers.components].T * shapes[:, None, :]

    def elastic_wrench(self, q: Array, abscissas: Any, v: Any = None) -> Array:
        """Return the wrenches (k, 6; N, N m) of sections on the part beyond them, from the material law.

        Minus the stress resultants: rigidities times `stressing_strain`, and viscosities times its rate; linear first, in the
        frames of the sections. Components of the strain that are not free give no stress here: their reactions are in
        `Model.section_wrenches` only. Otherwise the two converge as the orders of the bases increase.

        Parameters
        ----------
        q : (n,) array
        abscissas : array_like (k,), m
        v : (n,) array, optional
            Rates of the coordinates; at rest by default.
        """
        fractions = self.fractions(abscissas)
        poisson = self.young / (2.0 * self.shear_modulus) - 1.0
        moments = self.section.moments(fractions, self.given_length, poisson)
        answer = rigidities(moments, self.young, self.shear_modulus).T * self._strain_of(q, fractions)
        if v is not None:
            answer = answer + rigidities(moments, 3.0 * self.damping, self.damping).T * self._strain_of(v, fractions)
        return -answer[:, LINEAR_FIRST]

    def stress(self, q: Array, abscissas: Any) -> Array:
        """Return the largest stresses (k, 2; N/m^2) on the outlines of sections: axial, and shear from torsion.

        At a point (y, z) of a section the axial stress is ``E (s_x + z k_y - y k_z)``, of the strain relative to the
        reference; the result is its largest amount on the outline. Shear is that of Saint-Venant's torsion. Viscosity, and the
        axial force of an inextensible rod, are not included. Sections given by moments count as ellipses with these.

        Parameters
        ----------
        q : (n,) array
            Or stacked ones, for stacked results.
        abscissas : array_like (k,), m
        """
        fractions = self.fractions(abscissas)
        strain, (y, z) = self._strain_of(q, fractions), self.section.reach(fractions, self.given_length)
        axial = self.young * (
            np.abs(strain[..., 3]) + largest_around(self.section.shape, strain[..., 1] * z, strain[..., 2] * y)
        )
        arm = twisting_arm(self.section.shape, y, z)
        return np.stack([axial, self.shear_modulus * np.abs(strain[..., 0]) * arm], axis=-1)

    def fibre_stretch(self, q: Array, abscissas: Any) -> Array:
        """Return the smallest stretch (k, no unit) of all fibres of sections: 1 at rest; below 0 neighbouring sections overlap.

        Parameters
        ----------
        q : (n,) array
            Or stacked ones, for stacked results.
        abscissas : array_like (k,), m
            Where the sections are, from the base of the rod at rest.

        Raises
        ------
        ModelError
            If they are not on the rod.
        """
        return self.fibres(abscissas).stretch(q)

    def fibres(self, abscissas: Any) -> Fibres:
        """Return the data of `fibre_stretch` at some abscissas (k, m), for many configurations.

        Parameters
        ----------
        abscissas : array_like (k,), m
        """
        fractions = self.fractions(abscissas)
        reach = self.section.reach(fractions, self.given_length)
        return Fibres(self._reference(fractions), self.strain_shapes(abscissas), reach, self.section.shape)

    def _reference(self, fractions: Array) -> Array:
        return reference_along(self.reference_strain, fractions, self.given_length)

    def _shapes_at(self, fractions: Array) -> Array:
        """Return the values (k, n; 1/m) of all coordinates' functions."""
        return np.hstack([basis.values(fractions, self.given_length) for basis in self.strains.values()]) / self.length

    def _strain_of(self, q: Array, fractions: Array) -> Array:
        """Return the strains (..., k, 6) that coordinates add to the reference strain."""
        return (self._shapes_at(fractions) * q[..., None, :]) @ np.eye(6)[self.numbers.components]

    @property
    def _points(self) -> int:
        return len(self.numbers.fractions)
