"""The volume of a deformable body at rest: quadrature points and their weights."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from titop.blocks.basics.errors import Finding, ModelError
from titop.blocks.basics.pose import Pose
from titop.blocks.basics.spatial import Array
from titop.blocks.basics.user_input import FieldReader
from titop.blocks.bodies.soft.quadrature import (
    Edge,
    circle,
    gauss,
    gauss_angles,
    gauss_radii,
    loft,
    mesh_outline,
    mesh_points,
    move,
    polygon,
    read_tetrahedra,
    sector,
    sweep,
    triangulate,
)
from titop.blocks.contract.description import Picture


class Domain:
    """Quadrature points of the volume of a body at rest: your own, or `cylinder`, `cone`, `tube`, `sector`, `box` or `mesh`.

    Predefined shapes extend along z from the origin. Their points are ordered by sections (equal z) from the base: Gauss
    points along z, and in the section a rule that is exact for polynomials up to degree 5 with the default numbers of points,
    so for the inertia of sections that stay plane, and for their elasticity in Green's strain.

    Parameters
    ----------
    points : array_like (k, 3), m
        In the frame of the parent port.
    volumes : array_like (k,), m^3
        Weights of the quadrature.
    tip : array_like (3,), m, optional
        Position of the default child port, if none is given.
    outline : Picture, optional
        The surface at rest, for pictures.
    surface : (m, 13) array, optional
        The surface at rest as a quadrature, for the volume of cavities: see `titop.blocks.bodies.soft.quadrature`. By default
        that of the outline's triangles.

    Raises
    ------
    ModelError
        If these are invalid.

    Examples
    --------
    >>> import titop as tt
    >>> arm = tt.Domain.cone(base_radius=0.02, tip_radius=0.01, length=0.3)
    >>> len(arm.points), float(arm.volumes.sum().round(9))
    (72, 0.000219911)
    """

    def __init__(
        self, points: Any, volumes: Any, tip: Any = None, outline: Picture | None = None, surface: Array | None = None
    ) -> None:
        reader = FieldReader("domain")
        count = len(np.atleast_1d(np.asarray(volumes, dtype=object)))
        self.points = reader.array("points", points, (count, 3), "give one row (x, y, z) for each volume")
        self.volumes = reader.array("volumes", volumes, (count,))
        self.tip: Array | None = None if tip is None else reader.array("tip", tip, (3,))
        if not reader.findings and not self.volumes.sum() > 0:
            reader.report("bad-volume", "volumes", self.volumes.sum(), "a positive sum", "check the signs of the weights")
        reader.raise_findings()
        #: The surface at rest; None for your own points.
        self.outline = outline
        #: The same as a quadrature; None for your own points.
        self.surface = triangulate(outline) if surface is None and outline is not None else surface

    def placed(self, pose: Pose) -> Self:
        """Return the domain rotated and displaced, for example a cavity beside the axis.

        Parameters
        ----------
        pose : Pose
            Of the domain's frame in that of the parent port.
        """

        def carry(points: Array) -> Array:
            return points @ pose.rotation.T + pose.position

        tip = None if self.tip is None else carry(self.tip)
        outline = None if self.outline is None else self.outline._replace(points=carry(self.outline.points))
        surface = None if self.surface is None else move(self.surface, pose)
        return type(self)(carry(self.points), self.volumes, tip, outline, surface)

    @classmethod
    def cylinder(cls, radius: float, length: float, along: int = 6, around: int = 6, outwards: int = 2) -> Self:
        """Return a cylinder along z from the origin.

        Parameters
        ----------
        radius, length : float, m
        along, around, outwards : int
            Number of points in each direction: Gauss points along z and for the squared radius, equal angles.
        """
        _check({"radius": radius, "length": length}, {"along": along, "around": around, "outwards": outwards})
        return cls._round((0.0, radius), (1.0, 1.0), length, along, around, outwards)

    @classmethod
    def cone(
        cls, base_radius: float, tip_radius: float, length: float, along: int = 6, around: int = 6, outwards: int = 2
    ) -> Self:
        """Return a cone along z whose radius goes linearly from the origin to the tip; one of the radii may be zero.

        Parameters
        ----------
        base_radius, tip_radius, length : float, m
        along, around, outwards : int
            As for `cylinder`.
        """
        sizes = {"length": length} | ({"base_radius": base_radius} if not _is_zero(base_radius) else {})
        sizes |= {"tip_radius": tip_radius} if not _is_zero(tip_radius) or _is_zero(base_radius) else {}
        _check(sizes, {"along": along, "around": around, "outwards": outwards})
        return cls._round((0.0, 1.0), (base_radius, tip_radius), length, along, around, outwards)

    @classmethod
    def tube(
        cls, radius: float, inner_radius: float, length: float, along: int = 6, around: int = 6, outwards: int = 2
    ) -> Self:
        """Return a cylinder along z from the origin, with a hole.

        Parameters
        ----------
        radius, inner_radius, length : float, m
        along, around, outwards : int
            As for `cylinder`.
        """
        sizes = {"radius": radius, "inner_radius": inner_radius, "length": length}
        _check(sizes, {"along": along, "around": around, "outwards": outwards})
        if not inner_radius < radius:
            expected = f"less than {radius}"
            raise ModelError(Finding("bad-inner-radius", "domain.inner_radius", inner_radius, expected, "check both radii"))
        return cls._round((inner_radius, radius), (1.0, 1.0), length, along, around, outwards)

    @classmethod
    def sector(cls, radius: float, angle: float, length: float, along: int = 6, around: int = 6, outwards: int = 3) -> Self:
        """Return a sector of a cylinder along z from the origin, with its middle on the side of x: a chamber of several.

        Parameters
        ----------
        radius : float, m
        angle : float, rad
            At most ``2 pi``.
        length : float, m
        along, around, outwards : int
            Number of Gauss points along z, for harmonics of the angle, and outwards.
        """
        _check({"radius": radius, "angle": angle, "length": length}, {"along": along, "around": around, "outwards": outwards})
        if angle > 2.0 * np.pi:
            raise ModelError(Finding("bad-angle", "domain.angle", angle, "at most 2 pi (rad)", "give radians"))
        (r, weights), (angles, shares) = gauss_radii(outwards, radius), gauss_angles(around, angle)
        section = _polar(r, angles)
        arc = angle * (np.arange(_SIDES) / (_SIDES - 1) - 0.5)
        ring = np.vstack([_polar([radius], arc), [0.0, 0.0]])
        areas = np.outer(weights, shares).ravel()
        return cls._swept(section, areas, (1.0, 1.0), length, along, [ring], [sector(radius, angle, around, outwards)])

    @classmethod
    def box(cls, width: float, height: float, length: float, along: int = 6, across: int = 3) -> Self:
        """Return a box along z from the origin, with its middle on the axis.

        Parameters
        ----------
        width, height, length : float, m
            Along x, y and z.
        along, across : int
            Number of Gauss points along z, and along x and y.
        """
        _check({"width": width, "height": height, "length": length}, {"along": along, "across": across})
        places, weights = gauss(across, 1.0)
        x, y = (part.ravel() for part in np.meshgrid(width * (places - 0.5), height * (places - 0.5), indexing="ij"))
        section, areas = np.stack([x, y], axis=1), width * height * np.outer(weights, weights).ravel()
        corners = 0.5 * np.array([[width, height], [-width, height], [-width, -height], [width, -height]])
        return cls._swept(section, areas, (1.0, 1.0), length, along, [corners], [polygon(corners, across)])

    @classmethod
    def mesh(cls, mesh: Any, points: int = 4, scale: float = 1.0, tip: Any = None) -> Self:
        """Return a domain of tetrahedra.

        Parameters
        ----------
        mesh : path or meshio.Mesh
            Files of Gmsh, VTK, Abaqus, ...: all formats of `meshio`. Second-order tetrahedra are used by their corners.
        points : {4, 1}
            In each tetrahedron: exact for polynomials of degree 2, as inertia needs it, or of degree 1.
        scale : float
            Unit of the mesh (m): 0.001 for millimetres.
        tip : array_like (3,), m, optional
            Position of the default child port, if none is given.

        Raises
        ------
        ModelError
            If meshio is not installed or cannot read the file, or tetrahedra are inverted, degenerate or overlap.
        """
        _check({"scale": scale}, {})
        corners, tetrahedra = read_tetrahedra(mesh)
        corners = scale * corners
        return cls(*mesh_points(corners, tetrahedra, points), tip, mesh_outline(corners, tetrahedra))

    @classmethod
    def _round(
        cls, radii: tuple[float, float], scales: tuple[float, float], length: float, along: int, around: int, outwards: int
    ) -> Self:
        """Return rings along z, their radii multiplied by scales that go from base to tip."""
        inner, outer = radii
        squares, weights = gauss(outwards, outer**2 - inner**2)
        r = np.sqrt(inner**2 + squares)
        angles = 2.0 * np.pi * np.arange(around) / around
        section = _polar(r, angles)
        areas = np.repeat(weights * np.pi / around, around)
        ring = _polar([1.0], 2.0 * np.pi * np.arange(_SIDES) / _SIDES)
        rings = [outer * ring, inner * ring] if inner else [outer * ring]
        edges = [circle(outer, around), *([circle(inner, around).reversed] if inner else [])]
        return cls._swept(section, areas, scales, length, along, rings, edges)

    @classmethod
    def _swept(
        cls,
        section: Array,
        areas: Array,
        scales: tuple[float, float],
        length: float,
        along: int,
        rings: list[Array],
        edges: list[Edge],
    ) -> Self:
        """Return sections (k, 2) along z, multiplied by scales that go from base to tip."""
        z, weights = gauss(along, length)
        size = scales[0] + (scales[1] - scales[0]) * z / length
        places = (size[:, None, None] * section).reshape(-1, 2)
        points = np.column_stack([places, np.repeat(z, len(section))])
        volumes = np.outer(weights * size**2, areas).ravel()
        surface = sweep(edges, scales, length, along)
        return cls(points, volumes, [0.0, 0.0, length], loft(rings, scales, length), surface)


#: Sides of round outlines.
_SIDES = 24


def _polar(radii: Any, angles: Array) -> Array:
    """Return places (k, 2) at all angles on all radii."""
    return np.stack([np.outer(radii, np.cos(angles)).ravel(), np.outer(radii, np.sin(angles)).ravel()], axis=1)


def _is_zero(value: Any) -> bool:
    return isinstance(value, int | float) and value == 0


def _check(sizes: dict[str, Any], counts: dict[str, Any]) -> None:
    """Refuse lengths that are not positive, and invalid numbers of points."""
    reader = FieldReader("domain")
    for name, value in sizes.items():
        reader.positive(name, value, f"bad-{name.replace('_', '-')}", "a length > 0 (m)")
    for name, value in counts.items():
        lowest = 3 if name == "around" else 1
        if not isinstance(value, int | np.integer) or isinstance(value, bool) or value < lowest:
            reader.report("bad-count", name, value, f"a whole number from {lowest}", "say how many points there are")
    reader.raise_findings()
