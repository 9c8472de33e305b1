"""Cross-sections of rods, and their dimensions: numbers, tapered ones, functions of the abscissa."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from titop.blocks.basics.errors import Finding, ModelError, did_you_mean
from titop.blocks.basics.paths import parts_of
from titop.blocks.basics.spatial import Array, entrywise
from titop.blocks.basics.user_functions import check_function, sampled
from titop.blocks.basics.user_input import FieldReader, real_array
from titop.blocks.bodies.rods.section_shapes import SHAPES, SectionMoments, divisor
from titop.blocks.contract.block import ParameterFields

#: A dimension: the same all along, at the base and at the tip (between them it changes linearly), or a function of X (m).
Dimension = tuple[Any, ...] | Callable[[float], float]


def read_dimension(reader: FieldReader, field: str, value: Any, unit: str = "m") -> Dimension:
    """Read a dimension: a number, a pair of numbers at base and tip, or a function of the abscissa X (m)."""
    if callable(value):
        check_function(f"{reader.owner}.{field}", value, "X")
        return value
    array = real_array(value)
    if array is not None and array.shape in ((1,), (2,)):
        return tuple(reader.array(field, array, array.shape).tolist())
    if array is not None and array.shape:
        advice = "for anything but a linear taper give a function of X"
        reader.report("wrong-shape", field, value, f"a number ({unit}), or two: at base and tip", advice)
        return (np.nan,)
    return (reader.scalar(field, value),)


def along(name: str, dimension: Dimension, fractions: Array, length: float) -> Array:
    """Return a dimension at places along the rod (k): `fractions` of its `length` (m)."""
    if callable(dimension):
        return sampled(f"section.{name}", dimension, fractions, length, ())
    base, tip = dimension[0], dimension[-1]
    return base + (tip - base) * fractions


def dimension_fields(name: str, dimension: Dimension, unit: str, field: str, inside: tuple[str, ...] = ()) -> ParameterFields:
    """Return those of a dimension `inside` a field: ``radius``, or ``radius.base`` and ``radius.tip``; a function has none."""
    names = [] if callable(dimension) else [name] if len(dimension) == 1 else [f"{name}.base", f"{name}.tip"]
    return {entry: (field, (*inside, k), unit) for k, entry in enumerate(names)}


#: Dimensions of a section given by area and moments, and their units.
_OWN = {"area": "m^2", "iy": "m^4", "iz": "m^4", "torsion_constant": "m^4", "shear_factor_y": "1", "shear_factor_z": "1"}
_OPTIONAL = ("torsion_constant", "shear_factor_y", "shear_factor_z")


class Section:
    """The cross-section of a rod: its area and moments, or one of the shapes `circle`, `ellipse`, `rectangle` and `tube`.

    The rod runs along local x through the section's centre of mass; y and z are its principal axes. Each dimension may be a
    number, a pair of numbers for base and tip with a linear taper between them, or a function of the abscissa X (m). A section
    may vanish at one end of the rod.

    Parameters
    ----------
    area : dimension, m^2
    iy, iz : dimension, m^4
        Second moments of area about y (bending in the x-z plane) and z (in the x-y plane).
    torsion_constant : dimension, m^4, optional
        ``iy + iz`` by default, which is right for circles.
    shear_factor_y, shear_factor_z : dimension
        Of the shear areas along y and z.

    Raises
    ------
    ModelError
        If a dimension is invalid, or not positive.

    Examples
    --------
    >>> import titop as tt
    >>> tt.Section.circle(radius=[0.03, 0.015])
    Section.circle(radius=[0.03, 0.015])
    """

    def __init__(
        self, area: Any, iy: Any, iz: Any, torsion_constant: Any = None, shear_factor_y: Any = 1.0, shear_factor_z: Any = 1.0
    ) -> None:
        given = {"area": area, "iy": iy, "iz": iz, "torsion_constant": torsion_constant}
        given |= {"shear_factor_y": shear_factor_y, "shear_factor_z": shear_factor_z}
        self._read("own", {name: value for name, value in given.items() if value is not None})

    def _read(self, shape: str, given: Mapping[str, Any]) -> None:
        reader = FieldReader("section")
        #: ``"circle"``, ``"ellipse"``, ``"rectangle"``, ``"tube"``, or ``"own"`` for area and moments.
        self.shape = shape
        #: The dimensions by name.
        self.dimensions: dict[str, Dimension] = {}
        for name, value in given.items():
            dimension = read_dimension(reader, name, value, _OWN.get(name, "m"))
            self.dimensions[name] = dimension
            if not callable(dimension) and np.isfinite(dimension).all() and max(dimension) <= 0 and name != "inner_radius":
                reader.findings.append(_sign_finding(f"section.{name}", max(dimension)))
        reader.raise_findings()

    @classmethod
    def circle(cls, radius: Any) -> Section:
        """Return a full circle.

        Parameters
        ----------
        radius : dimension, m
        """
        return cls.of_shape("circle", radius=radius)

    @classmethod
    def ellipse(cls, semi_axis_y: Any, semi_axis_z: Any) -> Section:
        """Return an ellipse.

        Parameters
        ----------
        semi_axis_y, semi_axis_z : dimension, m
        """
        return cls.of_shape("ellipse", semi_axis_y=semi_axis_y, semi_axis_z=semi_axis_z)

    @classmethod
    def rectangle(cls, width: Any, height: Any) -> Section:
        """Return a rectangle.

        Parameters
        ----------
        width, height : dimension, m
            Along y and along z.
        """
        return cls.of_shape("rectangle", width=width, height=height)

    @classmethod
    def tube(cls, radius: Any, inner_radius: Any) -> Section:
        """Return a circle with a hole.

        Parameters
        ----------
        radius, inner_radius : dimension, m
        """
        return cls.of_shape("tube", radius=radius, inner_radius=inner_radius)

    @classmethod
    def of_shape(cls, shape: str, **dimensions: Any) -> Section:
        """Return a section of the named shape, or ``"own"`` for area and moments, as in model files.

        Parameters
        ----------
        shape : str
        **dimensions
            By name.

        Raises
        ------
        ModelError
            If there is no such shape, or its dimensions are unknown or invalid.
        """
        known: dict[str, tuple[str, ...]] = {name: names for name, (names, _) in SHAPES.items()} | {"own": tuple(_OWN)}
        if shape not in known:
            raise ModelError(Finding("unknown-shape", "section.shape", shape, "a shape", did_you_mean(shape, known)))
        reader = FieldReader("section")
        for name in dimensions.keys() - set(known[shape]):
            reader.report("unknown-dimension", name, name, f"a dimension of a {shape}", did_you_mean(name, known[shape]))
        for name in known[shape]:
            if name not in dimensions and not (shape == "own" and name in _OPTIONAL):
                reader.report("missing-dimension", name, "nothing", f"the {name} of a {shape}", "give it")
        reader.raise_findings()
        if shape == "own":
            return cls(**dimensions)
        section = cls.__new__(cls)
        section._read(shape, {name: dimensions[name] for name in known[shape]})
        return section

    def moments(self, fractions: Array, length: float, poisson: Any) -> SectionMoments:
        """Return area and moments at places along a rod.

        Parameters
        ----------
        fractions : (k,) array
            The places, as fractions of the length.
        length : float, m
            With which functions of X are called.
        poisson : float
            Poisson's ratio of the material, on which shear factors depend.

        Returns
        -------
        SectionMoments
            Each of shape (k,), in m^2 and m^4; shear factors (2, k) without unit.
        """
        values = {name: along(name, dimension, fractions, length) for name, dimension in self.dimensions.items()}
        if self.shape != "own":
            return SHAPES[self.shape][1](**values, poisson=poisson)
        factors = np.array([values["shear_factor_y"], values["shear_factor_z"]])
        constant = values.get("torsion_constant", values["iy"] + values["iz"])
        return SectionMoments(values["area"], values["iy"], values["iz"], constant, factors)

    def reach(self, fractions: Array, length: float) -> Array:
        """Return the extents of sections along y and z (2, k; m); if only moments are known, those of ellipses with these.

        Parameters
        ----------
        fractions, length
            As for `moments`.
        """
        moments = self.moments(fractions, length, 0.0)
        area = divisor(moments.area)
        parts = 3.0 if self.shape == "rectangle" else 4.0
        if self.shape == "tube":
            radius = along("radius", self.dimensions["radius"], fractions, length)
            return np.array([radius, radius])
        return entrywise(np.sqrt, parts * np.array([moments.iz, moments.iy]) / area)

    def findings(self, where: str, fractions: Array, length: float, poisson: float) -> list[Finding]:
        """Return what is wrong with the sections at inner places of a rod.

        Parameters
        ----------
        where : str
            Dotted path of the section.
        fractions, length, poisson
            As for `moments`.
        """
        for name, dimension in self.dimensions.items():
            values = np.real(along(name, dimension, fractions, length))
            if not (values >= 0).all() or not np.isfinite(values).all() or not (values.any() or name == "inner_radius"):
                return [_sign_finding(f"{where}.{name}", values.min())]
        for name, values in self.moments(fractions, length, poisson)._asdict().items():
            lowest = np.atleast_2d(np.real(values)).min(axis=0)
            if not (lowest > 0).all():
                observed = f"{name} {lowest.min():.3g} at {fractions[lowest.argmin()]:.3g} of the length"
                advice = "check the dimensions: a section may vanish at the ends only"
                return [Finding("bad-section", where, observed, "positive area and moments", advice)]
        return []

    def fields(self, field: str) -> ParameterFields:
        """Return the parameters of a block that has the section as a `field`."""
        fields: ParameterFields = {}
        for name, dimension in self.dimensions.items():
            fields |= dimension_fields(f"{field}.{name}", dimension, _OWN.get(name, "m"), field, ("dimensions", name))
        return fields

    def __repr__(self) -> str:
        shown = (
            (name, value if callable(value) else [*value] if len(value) > 1 else value[0])
            for name, value in self.dimensions.items()
        )
        head = "Section" if self.shape == "own" else f"Section.{self.shape}"
        return f"{head}({', '.join(f'{name}={value}' for name, value in shown)})"


def _sign_finding(where: str, value: float) -> Finding:
    code = f"bad-{parts_of(where)[-1].replace('_', '-')}"
    return Finding(code, where, value, "values > 0 (one end may be 0)", "check the sign and the unit")
