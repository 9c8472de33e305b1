"""Predefined kinematics of deformable bodies, those with rigid sections on a backbone along z among them.

Rods of titop run along x; here the backbone is the z axis, as in key P. Rotations are right-handed: bending about y moves the
tip towards x, bending about x moves it towards -y.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np

from titop.blocks.basics.errors import Finding, ModelError, did_you_mean
from titop.blocks.basics.user_input import read_count
from titop.blocks.bodies.soft.deformation import Deformation, check_positive, number_names, read_shapes
from titop.blocks.bodies.soft.functions import Shape, ShapeSum, array, cosc, planar_curve, screw, sinc, space_curve, where

#: Components of the strain: rotation about the axes, then displacement along them, per unit of the abscissa.
COMPONENTS = ("bending_x", "bending_y", "torsion", "shear_x", "shear_y", "elongation")
#: Of a body that bends in two planes.
_SPATIAL = COMPONENTS[:2]


class Kinematics(Deformation):
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

    @classmethod
    def constant_curvature(cls, length: float, elongation: bool = False, spatial: bool = False) -> Self:
        """Return constant curvature (PCC), along z from the origin; exact, also where it is straight.

        Parameters
        ----------
        length : float, m
        elongation : bool
            Whether the centre line stretches too (m): coordinate ``elongation``.
        spatial : bool
            Whether it bends about x and y (rad), ``bending_x`` and ``bending_y``; otherwise about y alone, ``bending``.
        """
        check_positive(length=length)

        def bend(x: Any, q: Any) -> Any:
            height = x[2] * (1.0 + q[-1] / length) if elongation else x[2]
            if not spatial:
                angle = q[0] * x[2] / length
                chord = height * sinc(0.5 * angle)
                return [
                    chord * np.sin(0.5 * angle) + x[0] * np.cos(angle),
                    x[1],
                    chord * np.cos(0.5 * angle) - x[0] * np.sin(angle),
                ]
            turning = np.array([q[0], q[1], 0.0]) * (x[2] / length)
            return _point_of_section(*screw(turning, np.array([0.0, 0.0, 1.0]) * height), x)

        names = [*(_SPATIAL if spatial else ("bending",)), *(("elongation",) if elongation else ())]
        return cls(bend, names, *_measures(names, length))

    @classmethod
    def affine_curvature(cls, length: float, elongation: bool = False, spatial: bool = False, steps: int = 2) -> Self:
        """Return curvature that is linear in the abscissa (PAC): ``(q_1 + q_2 z / length) / length``.

        Parameters
        ----------
        length, elongation, spatial
            As for `constant_curvature`. For each plane there are two coordinates (rad), ``bending1`` and ``bending2`` or
            ``bending_x1``, ...
        steps : int
            In space, as for `variable_strain`, where the accuracy is given.
        """
        check_positive(length=length)
        return cls._of_curvature(length, [lambda z: 1.0, lambda z: z / length], elongation, spatial, steps)

    @classmethod
    def gaussian_curvature(
        cls, length: float, elongation: bool = False, spatial: bool = False, width: float = 0.5, steps: int = 2
    ) -> Self:
        """Return curvature that is a constant and a bell around the middle (PGC; key P, simulation 5).

        ``(q_1 + q_2 exp(-((z / length - 1/2) / width)^2 / 2)) / length``. The bell of key P,
        ``exp(-(z - length/2)^2)`` with z in metres, has ``width = sqrt(1/2) / length``: over 0.2 m it is as good as constant.

        Parameters
        ----------
        length, elongation, spatial
            As for `affine_curvature`.
        width : float
            Standard deviation of the bell as a fraction of the length, as of `StrainBasis.gaussian`.
        steps : int
            As for `affine_curvature`.
        """
        check_positive(length=length, width=width)
        bell = lambda z: np.exp(-0.5 * ((z / length - 0.5) / width) ** 2)  # noqa: E731
        return cls._of_curvature(length, [lambda z: 1.0, bell], elongation, spatial, steps)

    @classmethod
    def _of_curvature(cls, length: float, shapes: Sequence[Shape], elongation: bool, spatial: bool, steps: int) -> Self:
        if spatial:
            stretch: dict[str, Sequence[Shape]] = {"elongation": [lambda z: 1.0]} if elongation else {}
            return cls.variable_strain(length, dict.fromkeys(_SPATIAL, shapes) | stretch, steps)
        names = [*number_names("bending", len(shapes)), *(("elongation",) if elongation else ())]

        def bend(x: Any, q: Any) -> Any:
            angle, aside, ahead = planar_curve(ShapeSum(shapes, q[: len(shapes)] / length), x[2])
            stretch = 1.0 + q[-1] / length if elongation else 1.0
            return [stretch * aside + x[0] * np.cos(angle), x[1], stretch * ahead - x[0] * np.sin(angle)]

        return cls(bend, names, *_measures(names, length))

    @classmethod
    def constant_strain(cls, length: float, strains: Sequence[str] = COMPONENTS) -> Self:
        """Return constant strain (PCS): every section by an exponential of SE(3); exact, also where it is straight.

        Parameters
        ----------
        length : float, m
        strains : sequence of str
            Which of ``bending_x``, ``bending_y``, ``torsion`` (rad), ``shear_x``, ``shear_y`` and ``elongation`` (m) there are,
            in the order of the coordinates; all by default.

        Raises
        ------
        ModelError
            If there is no such component.
        """
        check_positive(length=length)
        names = _read_components(strains)

        def place(x: Any, q: Any) -> Any:
            turning, way = _strain(names, q / length)
            return _point_of_section(*screw(turning * x[2], way * x[2]), x)

        return cls(place, names, *_measures(names, length))

    @classmethod
    def variable_strain(cls, length: float, shapes: Mapping[str, Any], steps: int = 2) -> Self:
        """Return strain that varies along the body (GVS): ``sum_k shape_k(z) q_k / length`` for each component.

        A Magnus expansion of sixth order from the base to each section, in steps of equal length. Over a body that turns by a
        radian, with affine curvature, two steps give an error of about 1e-6 of the length, four of 2e-8; programs grow with
        their number. If a step turns by more than half a turn, places are NaN: use more steps. In a plane
        `affine_curvature` and `gaussian_curvature` are exact to rounding, and much shorter.

        Parameters
        ----------
        length : float, m
        shapes : mapping of component to functions of the abscissa
            Components as for `constant_strain`; coordinates ``torsion``, or ``torsion1``, ... of several.
        steps : int

        Raises
        ------
        ModelError
            If there is no such component, or its shapes are no functions.
        """
        check_positive(length=length)
        read_count(Finding("bad-count", "kinematics.steps", steps, "a whole number from 1", "write steps=2"), 1)
        _read_components(shapes)
        read = {name: read_shapes(functions, name) for name, functions in shapes.items()}
        names = [entry for name, functions in read.items() for entry in number_names(name, len(functions))]
        components = [name for name, functions in read.items() for _ in functions]
        all_shapes = [shape for functions in read.values() for shape in functions]

        def place(x: Any, q: Any) -> Any:
            def strain(z: Any) -> tuple[Any, Any]:
                return _strain(components, [shape(z) * value / length for shape, value in zip(all_shapes, q, strict=True)])

            return _point_of_section(*space_curve(strain, x[2], steps), x)

        return cls(place, names, *_measures(components, length))


def _point_of_section(rotation: Any, position: Any, x: Any) -> Any:
    return position + rotation[:, 0] * x[0] + rotation[:, 1] * x[1]


def _strain(components: Sequence[str], values: Any) -> tuple[Any, Any]:
    """Return turning and displacement (3 each) a unit of the abscissa."""
    strain: list[Any] = [0.0, 0.0, 0.0, 0.0, 0.0, 1.0]
    for name, value in zip(components, values, strict=True):
        strain[COMPONENTS.index(name)] = strain[COMPONENTS.index(name)] + value
    return np.array(strain[:3]), np.array(strain[3:])


def _measures(components: Sequence[str], length: float) -> tuple[list[str], list[float]]:
    """Return units and scales of coordinates."""
    lengths = [name.startswith(("shear", "elongation")) for name in components]
    return ["m" if is_length else "rad" for is_length in lengths], [0.3 * length if is_length else 1.0 for is_length in lengths]


def _read_components(components: Any) -> list[str]:
    names = [components] if isinstance(components, str) else list(components)
    for name in names:
        if name not in COMPONENTS:
            advice = did_you_mean(str(name), COMPONENTS)
            raise ModelError(Finding("unknown-strain", f"kinematics.{name}", name, "a component of the strain", advice))
    return names
