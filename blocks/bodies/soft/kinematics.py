"""Predefined kinematics of deformable bodies."""

from __future__ import annotations

from titop.blocks.bodies.soft.backbones import BackboneKinematics
from titop.blocks.bodies.soft.functions import array, cosc, sinc, where
from titop.blocks.bodies.soft.primitives import PrimitiveKinematics


class Kinematics(BackboneKinematics, PrimitiveKinematics):
    """A function ``f(x, q)`` or ``f(x, q, numbers)`` with its coordinates: your own, or a predefined one.

    Bodies extend along z from the origin, as in key P (a `tt.Rod` runs along x).

    - Plane sections on a backbone: `constant_curvature` (PCC), `affine_curvature` (PAC), `gaussian_curvature` (PGC),
      `constant_strain` (PCS), `variable_strain` (GVS).
    - Volume-preserving primitives (LVP): `elongation`, `twist`, `shear`, `planar_bending`, `source`.
    - `bulges`, for a variable radius.
    - `then` composes them.

    Parameters
    ----------
    function : callable
        Returns the position (3, m) of the material point x (3, m at rest).
    coordinates : sequence of str
        Names of the entries of q.
    units : sequence of str, optional
        Of the coordinates, "1" by default.
    scales : sequence of float, optional
        Range of each coordinate over which the function is nearly linear; 1 by default.
    parameters : mapping of name to number or (number, unit), optional
        Numbers that the function receives as `numbers`.

    Raises
    ------
    ModelError
        If these do not match each other.

    Examples
    --------
    >>> import titop as tt
    >>> bend = tt.Kinematics.planar_bending([lambda z: 1.0])
    >>> body = tt.Kinematics.elongation([lambda z: z, lambda z: z**2]).then(bend)
    >>> body.coordinates, body.units
    (('elongation1', 'elongation2', 'bending_y'), ('1', '1', 'rad/m'))
    """

    sinc = staticmethod(sinc)
    cosc = staticmethod(cosc)
    where = staticmethod(where)
    array = staticmethod(array)
