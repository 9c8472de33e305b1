"""Uniform beams as flexible bodies."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, TypeVar

import numpy as np

from titop.blocks.basics.errors import Finding
from titop.blocks.basics.pose import Pose
from titop.blocks.basics.spatial import Array
from titop.blocks.basics.user_input import FieldReader, real_array
from titop.blocks.bodies.beam_matrices import KINDS, MODE_SCALES, BeamSection, length_powers, reduced_beam, scaling_beside
from titop.blocks.bodies.flexible_body import FlexibleBody
from titop.blocks.bodies.modal_reduction import boundary_names
from titop.blocks.bodies.second_order import stiffness_of
from titop.blocks.bodies.water.fluid import Fluid, fluid_fields, refuse_negative
from titop.blocks.bodies.water.immersed import FIELDS, ImmersedBeam
from titop.blocks.bodies.water.immersion import ADDED, DRAG
from titop.blocks.contract.block import Block, ParameterFields, overrides, with_number
from titop.blocks.contract.description import CoordinateScaling, Picture
from titop.blocks.contract.fields import Consumed, Field, Fielded, Fixed, fields_of, optional, put, scalar
from titop.blocks.contract.own_coordinates import redefines

T = TypeVar("T")

#: Name of the port at the tip.
TIP = "C"
#: Largest number of modes of a kind, which are accurate to rounding; a beam with so many takes half a second.
MAX_MODES = 50
_POSITIVE = ("length", "density", "area", "young", "shear_modulus", "iy", "iz", "torsion_constant")


class _Dimension(Field[T]):
    """A field of a beam; when it is set later, the constructor is called again."""

    def change(self, block: Fielded, value: Any) -> None:
        """Build the beam again."""
        assert isinstance(block, Beam)
        vars(block).update(vars(block._made_anew({**block._by_default, self.attribute: value})))


def _count(beam: Any, field: str, value: Any) -> int:
    return beam.reader.integer(field, value, 0, MAX_MODES)


class _Derived(Fixed[Any]):
    """A field of a flexible body that follows from the beam's."""

    advice = "set the beam's dimensions and material, from which it follows, or write a FlexibleBody"

    def __init__(self, field: str) -> None:
        super().__init__(fields_of(FlexibleBody)[field].read)


class Beam(ImmersedBeam, FlexibleBody):
    """A uniform straight beam along local x from its base, port ``P``, to its tip, port ``C``.

    Stretch, torsion and bending in two planes. The coordinates are the tip's displacements and rotations relative to the base
    (``C_x`` to ``C_rz``), and then amplitudes of modes with both ends held (Craig-Bampton): ``mode_y1``, ``mode_y2``, ... of
    bending in the x-y plane, ``mode_z1``, ... in the x-z plane, ``mode_rx1``, ... of torsion, ``mode_x1``, ... of stretch. The
    beam is right whether its ends are clamped, free, hinged or carry other bodies. With both ends held it is exact; otherwise
    two modes per plane give the first frequency of a cantilever to 6e-5, four to 5e-6. For larger deflections divide it into
    shorter beams.

    Parameters
    ----------
    name : str
    length : float, m
    density : float, kg/m^3
    area : float, m^2
        Of the cross-section.
    young : float, Pa
    iy, iz : float, m^4
        Second moments of area about local y (bending in the x-z plane) and z (in the x-y plane).
    torsion_constant : float, m^4, optional
        ``iy + iz`` by default, which is right for circular cross-sections.
    shear_modulus : float, Pa, optional
        ``young / (2 (1 + poisson))`` by default.
    poisson : float
        Used if no shear modulus is given.
    shear_factors : float or (2,), optional
        Shear-area factors along y and z of a Timoshenko beam with rotary inertia; without them it is an Euler-Bernoulli beam.
    damping_ratio : float
        Of every natural mode of the beam clamped at P.
    modes : int or (2,) ints
        Number of bending modes with both ends held, at most 50: in each plane, or in the x-y and in the x-z plane.
    torsion_modes, axial_modes : int
        Number of modes of torsion and of stretch with both ends held, at most 50 of each.
    fluid : Fluid, optional
        The fluid around the beam, whose sections count as ellipses with their area and moments.
    added_mass, drag, lift : optional
        Its effects per unit length, as for a `Rod`; to first order in the deformation.

    Notes
    -----
    The law is that of `FlexibleBody`: to second order in the deformation, so that spin, acceleration and loads at the tip
    stiffen or soften the beam, up to buckling; deformations must be small. Strains are linear in the coordinates, which are
    the tip's displacements to first order. Without shear factors the rotary inertia of the cross-section in bending is
    neglected; the inertia of the sections does not depend on the deformation.

    Modes have positive strains at the base and are numbered within their kind by frequency, so that their coordinates have the
    same meaning for other dimensions and materials. The exception are pairs of modes of a stocky Timoshenko beam that change
    their order (from about the fifth mode on, where half a wave is no longer than about four radii of gyration).

    Examples
    --------
    >>> import titop as tt
    >>> boom = tt.Beam("boom", length=1.0, density=1.0, area=1.0, young=1e4, iy=1e-4, iz=1e-4)
    >>> boom.natural_frequencies[:2].round(3).tolist()  # bending in both planes, 1.8751^2
    [3.516, 3.516]
    """

    complex_parameters = False  # they go through an eigenvalue problem
    parameter_units: ClassVar[dict[str, str]] = {
        "length": "m",
        "density": "kg/m^3",
        "area": "m^2",
        "young": "Pa",
        "iy": "m^4",
        "iz": "m^4",
        "torsion_constant": "m^4",
        "shear_modulus": "Pa",
        "damping_ratio": "1",
    }

    length = _Dimension(scalar)
    density = _Dimension(scalar)
    area = _Dimension(scalar)
    young = _Dimension(scalar)
    iy = _Dimension(scalar)
    iz = _Dimension(scalar)
    torsion_constant = _Dimension(scalar)
    shear_modulus = _Dimension(scalar)
    shear_factors = _Dimension(optional(lambda beam, field, value: _read_factors(beam.reader, value)))
    damping_ratio = _Dimension(scalar)
    modes = _Dimension(lambda beam, field, value: _read_planes(beam.reader, value))
    torsion_modes = _Dimension(_count)
    axial_modes = _Dimension(_count)
    #: The fluid around the beam, its added mass, drag and lift; see `Rod`.
    fluid = _Dimension[Fluid | None]()
    added_mass = _Dimension[Any]()
    drag = _Dimension[Any]()
    lift = _Dimension[Array | None]()
    poisson = Consumed()
    mass, com, inertia = _Derived("mass"), _Derived("com"), _Derived("inertia")
    participation, shapes, frequencies = _Derived("participation"), _Derived("shapes"), _Derived("frequencies")
    modal_mass, modal_stiffness = _Derived("modal_mass"), _Derived("modal_stiffness")
    modal_damping, damping_ratios = _Derived("modal_damping"), _Derived("damping_ratios")
    recovery = _Derived("recovery")

    def __init__(
        self,
        name: str,
        length: float,
        density: float,
        area: float,
        young: float,
        iy: float,
        iz: float,
        torsion_constant: float | None = None,
        shear_modulus: float | None = None,
        poisson: float = 0.3,
        shear_factors: Any = None,
        damping_ratio: float = 0.0,
        modes: int | Sequence[int] = 2,
        torsion_modes: int = 1,
        axial_modes: int = 0,
        fluid: Fluid | None = None,
        added_mass: Any = None,
        drag: Any = None,
        lift: Any = None,
    ) -> None:
        reader = self._begin(str(name))
        self.length, self.density, self.area, self.young = length, density, area, young
        self.iy, self.iz, self.shear_factors = iy, iz, shear_factors
        ratio = reader.scalar("poisson", poisson)
        if ratio <= -1:
            reader.report("bad-poisson", "poisson", ratio, "a ratio > -1, mostly from 0 to 0.5", "check the value")
            ratio = 0.0
        optional_fields = {
            "torsion_constant": (torsion_constant, self.iy + self.iz),
            "shear_modulus": (shear_modulus, self.young / (2 * (1 + ratio))),
        }
        #: Fields that the constructor derives from others, and their arguments.
        self._by_default: dict[str, Any] = {"poisson": poisson}
        for field, (value, derived) in optional_fields.items():
            if value is None:
                put(self, field, derived)
                self._by_default[field] = None
            else:
                setattr(self, field, value)
        self.damping_ratio, self.modes = damping_ratio, modes
        self.torsion_modes, self.axial_modes = torsion_modes, axial_modes
        self._read_water(fluid, added_mass, drag, lift)
        for field in _POSITIVE:
            if getattr(self, field) <= 0 and field not in self._by_default:
                reader.report(f"bad-{field.replace('_', '-')}", field, getattr(self, field), "a value > 0", "check the unit")
        try:
            with np.errstate(all="ignore"):
                fields = self._fields(bool(reader.findings))
        except (np.linalg.LinAlgError, ValueError, ArithmeticError):
            expected = "dimensions and material whose products double precision can hold"
            reader.report("out-of-range", "length", self.length, expected, "check the units of all numbers")
            fields = self._fields(unusable=True)
        super().__init__(name, **fields, damping_ratios=self.damping_ratio)
        self._immerse()

    @property
    def mode_counts(self) -> dict[str, int]:
        """Number of modes of bending in the x-y plane (``y``) and in the x-z plane (``z``), of torsion, of stretch."""
        across = self.modes if isinstance(self.modes, tuple) else (self.modes, self.modes)
        return dict(zip(KINDS, (*across, self.torsion_modes, self.axial_modes), strict=True))

    def _fields(self, unusable: bool) -> dict[str, Any]:
        """Return the fields of the flexible body; those of a unit beam if this one's numbers are unusable."""
        modes = (f"mode_{kind}{k + 1}" for kind, count in self.mode_counts.items() for k in range(count))
        names = [*boundary_names([TIP]), *modes]
        n = len(names)
        if unusable:
            return {
                "mass": 1.0,
                "participation": np.zeros((n, 6)),
                "modal_stiffness": np.eye(n),
                "ports": {TIP: [1.0, 0.0, 0.0]},
                "shapes": {TIP: np.zeros((6, n))},
                "coordinate_names": names,
            }
        line, length = self.density * self.area, self.length
        polar = self.density * (self.iy + self.iz)
        sections = np.zeros(2) if self.shear_factors is None else self.density * length * np.array([self.iy, self.iz])
        made = reduced_beam(self._section, self.mode_counts)
        #: Places along the line (p, m), and its displacement there per unit of each coordinate (3, n, p).
        self.line = made.places, made.line
        self.line_turns, self.line_lengths = made.turns, made.lengths
        #: Curvature and strain there per unit of each coordinate (6, n, p), as `stressing_strain` has them.
        self.line_strains = made.strains
        if not all(np.isfinite(matrix).all() for matrix in made):
            raise np.linalg.LinAlgError
        shape = np.zeros((6, n))
        shape[:, :6] = np.eye(6)
        return {
            "mass": line * length,
            "com": np.array([length / 2, 0, 0]),
            "inertia": np.diag([polar * length, *(line * length**3 / 12 + sections)]),
            "participation": made.participation,
            "modal_mass": made.mass,
            "modal_stiffness": made.stiffness,
            "geometric_stiffness": {**stiffness_of(made.shortening), TIP: made.tip},
            "position_moments": made.first,
            "displacement_moments": made.second,
            "ports": {TIP: [length, 0, 0]},
            "shapes": {TIP: shape},
            "coordinate_names": tuple(names),
        }

    def line_at(self, q: Array) -> Array:
        """Return points (p, 3; m) of the deformed line from P to the tip, in the axes of P.

        To first order; the second-order shortening of the tip is distributed evenly along the line.
        """
        places, shapes = self.line
        ends = np.zeros((3, self.nv, 1)), self.shapes[TIP][:3, :, None]
        moved = np.concatenate([ends[0], shapes, ends[1]], axis=2)
        along = np.concatenate([[0.0], places, [self.length]])
        points = np.outer(along, [1.0, 0.0, 0.0]) + np.einsum("knp,n->pk", moved, q)
        return points + np.outer(along / self.length, self.pose(TIP, q)[1] - points[-1])

    def stressing_strain(self, q: Array, abscissas: Any) -> Array:
        """Return the strains of sections (k, 6; rad/m and no unit): of torsion and both bendings, of stretch and both shears.

        They are linear in the coordinates, whose polynomials hold static loads at the ends exactly. Modes converge more slowly
        in strain than in displacement.

        Parameters
        ----------
        q : (n,) array or stack of such
        abscissas : array_like (k,), m
            From the base.

        Raises
        ------
        ModelError
            If abscissas are not on the beam.
        """
        from scipy.interpolate import BarycentricInterpolator

        fractions = FieldReader(self.name).fractions("abscissas", abscissas, self.length)
        shapes = BarycentricInterpolator(self.line[0] / self.length, self.line_strains, axis=2)(fractions)
        return np.einsum("cnk,...n->...kc", shapes, q)

    def axial_stress(self, q: Array, abscissas: Any, y: float, z: float) -> Array:
        """Return the axial stress (k, N/m^2) of sections at y and z (m) from their centre: ``E (e + z k_y - y k_z)``.

        Parameters
        ----------
        q, abscissas
            As for `stressing_strain`.
        y, z : float, m
        """
        strains = self.stressing_strain(q, abscissas)
        stress: Array = self.young * (strains[..., 3] + z * strains[..., 1] - y * strains[..., 2])
        return stress

    def picture(self, q: Array) -> Picture | None:
        """Return the deformed line; None if a subclass redefines the pose of the tip."""
        return None if redefines(self, "pose", Beam) else Picture.of_line(self.line_at(q))

    def rescaled_coordinates(self) -> Mapping[str, Sequence[int]]:
        """Return that the length rescales all coordinates, and parameters of the mass those of the modes."""
        return {"length": range(self.nv)} | dict.fromkeys(MODE_SCALES, range(6, self.nv))

    def scaling_beside(self, other: Beam) -> CoordinateScaling | None:
        """Return scales (n, no unit) in which the law is a polynomial of section, density and length."""
        return None if overrides(self) else scaling_beside(self, other)

    def length_powers(self) -> tuple[Array, Array] | None:
        """Return the powers (6 + n, no unit) of the length; None for beams with shear, or in a fluid."""
        return length_powers(self) if self.is_modal and self.shear_factors is None else None

    @property
    def _section(self) -> BeamSection:
        """The numbers from which all matrices follow."""
        moments = {"y": self.iz, "z": self.iy}
        shear = rotary = None
        if self.shear_factors is not None:
            shear = dict(zip("yz", (self.shear_factors * self.shear_modulus * self.area).tolist(), strict=True))
            rotary = {kind: self.density * moment for kind, moment in moments.items()}
        return BeamSection(
            self.length,
            self.density * self.area,
            self.density * (self.iy + self.iz),
            {kind: self.young * moment for kind, moment in moments.items()},
            self.shear_modulus * self.torsion_constant,
            self.young * self.area,
            shear,
            rotary,
        )

    def parameter_fields(self) -> ParameterFields:
        """Return dimensions, material and damping, and the numbers of a fluid."""
        return Block.parameter_fields(self) | fluid_fields(self, ADDED, DRAG, "1")

    def with_parameters(self, values: dict[str, float]) -> Block:
        dry = self.fluid is None and not self.reader.findings
        sound = all(name in _POSITIVE and isinstance(value, int | float) and value > 0 for name, value in values.items())
        if dry and sound:
            try:
                with np.errstate(all="raise", under="ignore"):
                    return self._with_dimensions(values)
            except (np.linalg.LinAlgError, ArithmeticError):
                pass  # the constructor says what is wrong
        return self._made_anew(values)

    def _with_dimensions(self, values: Mapping[str, float]) -> Beam:
        """Return a beam in no fluid with other dimensions and material, whose fields need not be read."""
        made = copy.copy(self)
        made._by_default = {"poisson": self._by_default["poisson"]}
        for name, value in values.items():
            put(made, name, float(value))
        fields = made._fields(unusable=False)
        made.port_poses = {port: Pose(place) for port, place in fields.pop("ports").items()}
        for field, array in fields.items():
            put(made, field, array)
        made._update()
        return made

    def _made_anew(self, values: Mapping[str, Any]) -> Beam:
        """Return a beam with other numbers, built by the constructor, since everything follows from them.

        It is the constructor of this class: a subclass may have another one, and attributes and parameters that stay as they
        are.
        """
        dimensions = (*Beam.parameter_units, "shear_factors", "modes", "torsion_modes", "axial_modes", *FIELDS)
        fields: dict[str, Any] = {name: getattr(self, name) for name in dimensions} | dict(values)
        others = {name: fields.pop(name) for name in values if name not in (*dimensions, "poisson")}
        made = copy.copy(self)
        wet = fluid_fields(self, ADDED, DRAG, "1")
        refuse_negative(self, wet, others)
        for name in [name for name in others if name in wet]:
            field, path, _ = wet[name]
            made.__dict__[field] = fields[field] = with_number(getattr(made, field), path, others.pop(name))
        del made.__dict__["reader"]
        Beam.__init__(made, self.name, **fields)
        for name, value in others.items():
            put(made, name, value)
        return made

    def check(self) -> tuple[list[Finding], list[Finding]]:
        errors, warnings = super().check()
        # sections without rotary inertia give an inertia that no rigid body has
        return errors, [finding for finding in warnings if finding.code != "triangle-inequality"]

    def cannot_object(self, entry: str, value: float) -> bool:
        """Tell whether `entry` is of the material or section, with a positive `value`, in no fluid."""
        sound = entry in _POSITIVE and entry != "length" and value > 0
        return sound and self.fluid is None and not redefines(self, "check", Beam)


def _read_planes(reader: FieldReader, value: Any) -> int | tuple[int, int]:
    """Return the number of bending modes: one for both planes, or two that differ."""
    array = real_array(value)
    if array is None or array.ndim == 0:
        return reader.integer("modes", value, 0, MAX_MODES)
    if array.shape != (2,):
        expected = "a number of modes for both planes, or one for each"
        reader.report("not-a-count", "modes", value, expected, "write modes=2, or modes=(2, 1): in the x-y and the x-z plane")
        return 0
    across, up = (reader.integer(f"modes[{k}]", float(entry), 0, MAX_MODES) for k, entry in enumerate(array))
    return across if across == up else (across, up)


def _read_factors(reader: FieldReader, value: Any) -> Array:
    array = real_array(value)
    factors = reader.array("shear_factors", value if array is None or array.ndim else np.full(2, array), (2,))
    if (factors <= 0).any():
        reader.report("bad-shear-factors", "shear_factors", value, "values > 0", "5/6 for rectangles, 0.9 for circles")
    return factors
