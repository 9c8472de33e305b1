"""The data of a deformable body: its fields, its parameters, and what is wrong with them."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from titop.blocks.basics.errors import Finding, ModelError, numbers_text
from titop.blocks.basics.spatial import Array
from titop.blocks.basics.tolerances import SAME, TYPED
from titop.blocks.basics.user_input import FieldReader
from titop.blocks.bodies.soft.domain import Domain
from titop.blocks.bodies.soft.law_programs import MASS, PLACE, POINT_SIZE, VOLUME, LawPrograms, shared_programs
from titop.blocks.bodies.soft.material import Material, check_numbers
from titop.blocks.bodies.soft.soft_fields import read_density, read_names, read_numbers, read_units
from titop.blocks.bodies.soft.soft_ports import SoftPort, read_soft_ports
from titop.blocks.contract.block import Block, ParameterFields
from titop.blocks.contract.fields import Consumed, Field, Fixed

#: How far from 1 det F may be for materials that keep their volume.
_KEEPS_VOLUME = 10 * SAME


def _read_density(body: Any, field: str, value: Any) -> float:
    density, body._densities = read_density(body.reader, value, body.domain.points)
    vars(body).pop("points", None)  # which are computed of it
    return density


class SoftData(Block):
    """The part of `SoftBody` that is data."""

    can_fold = True
    not_in_files = "its kinematics are Python functions, and so are its curves: keep the system in a script that builds it"

    _densities: Array
    kinematics = Fixed[Any](lambda body, field, value: value)
    domain = Fixed[Domain](lambda body, field, value: value)
    material = Fixed[Material | None](lambda body, field, value: value)
    density = Field(_read_density)
    coordinates = Fixed(lambda body, field, value: read_names(body.reader, value, body.kinematics))  # type: ignore[assignment]
    units = Fixed(lambda body, field, value: read_units(body.reader, value, len(body.coordinates)))  # type: ignore[assignment]
    scales, energy, dissipation = Consumed(), Consumed(), Consumed()
    ports = Fixed[tuple[str, ...]](lambda body, field, value: value)  # type: ignore[assignment]

    def __init__(
        self,
        name: str,
        kinematics: Callable[..., Any],
        domain: Domain,
        density: Any,
        material: Material | None = None,
        coordinates: Sequence[str] | None = None,
        units: Sequence[str] | None = None,
        scales: Sequence[float] | None = None,
        ports: Mapping[str, Any] | None = None,
        parameters: Mapping[str, Any] | None = None,
        energy: Callable[..., Any] | None = None,
        dissipation: Callable[..., Any] | None = None,
    ) -> None:
        super().__init__(name)
        reader = self.reader
        self.kinematics = kinematics
        if not callable(kinematics):
            advice = "write def f(x, q): return [...], the place of the point x"
            reader.report("wrong-type", "kinematics", kinematics, "a function f(x, q)", advice)
        if not isinstance(domain, Domain):
            reader.report("wrong-type", "domain", domain, "a tt.Domain", "write tt.Domain.cylinder(radius=0.02, length=0.2)")
            domain = Domain(np.eye(3), np.ones(3))
        if material is not None and not isinstance(material, Material):
            advice = "write tt.Material.neo_hookean(young=1e5, poisson=0.4)"
            reader.report("wrong-type", "material", material, "a tt.Material", advice)
            material = None
        self.domain, self.material, self.density = domain, material, density
        self.coordinates = coordinates
        n = len(self.coordinates)
        known = {name: getattr(kinematics, name, None) for name in ("units", "scales", "parameters")}
        self.units = known["units"] if units is None else units
        scales = known["scales"] if scales is None else scales
        #: Range of each coordinate (n, in its unit) over which the kinematics are nearly linear; 1 by default.
        self.coordinate_scales = np.ones(n) if scales is None else reader.array("scales", scales, (n,))
        self._values, self._value_units = read_numbers(reader, known["parameters"] if parameters is None else parameters)
        for key, (value, unit) in self.material.parameters.items() if self.material else ():
            self._values[f"material.{key}"], self._value_units[f"material.{key}"] = value, unit
        #: The child ports by name.
        self.soft_ports = read_soft_ports(reader, ports, domain)
        self.ports = tuple(self.soft_ports)
        #: The law as programs; None where the fields cannot be used.
        self.programs: LawPrograms | None = None
        if not reader.findings:
            self._derive(self.material and self.material.energy, tuple(self.soft_ports.values()), energy, dissipation)

    def _derive(self, *functions: Any) -> None:
        """Make the programs of the law, and check them at rest."""
        reader = self.reader
        try:
            self.programs = shared_programs(self.kinematics, len(self.coordinates), self.number_names, *functions)
            self._check_rest()
            self._check_functions()
        except ModelError as error:
            reader.findings += [replace(finding, where=f"{self.name}.kinematics") for finding in error.findings]
        except Exception as error:  # whatever the user's function raises
            reader.report("bad-kinematics", "kinematics", _reason(error), "a function of unknowns", advice_on(error))

    def _check_rest(self) -> None:
        """Report points at which kinematics have no place or no derivatives at rest, or are folded there."""
        assert self.programs is not None
        # in some direction of all coordinates: what is no number in any of them is none there
        rest = self.shared(self.neutral(), np.cos(1.0 + np.arange(self.nv)))
        with np.errstate(all="ignore"):
            places, thirds = (p.at_points(rest, self.points)[1] for p in (self.programs.places, self.programs.thirds))
        lost = ~(np.isfinite(places).all(axis=1) & np.isfinite(thirds).all(axis=1))
        if lost.any():
            value = f"not a number at x = {self._place_of(lost.argmax())}"
            advice = "functions such as sin(q)/q need tt.Kinematics.sinc(q), which has derivatives at zero"
            self.reader.report("not-differentiable", "kinematics", value, "derivatives at q = 0", advice)
        else:
            self._check_volumes(np.linalg.det(places[:, 3:].reshape(-1, 3, 3)))

    def _place_of(self, point: Any) -> str:
        return numbers_text(self.points[point, PLACE])

    def _check_volumes(self, volumes: Array) -> None:
        if (volumes <= 0).any():
            value = f"det F = {volumes.min():.3g} at x = {self._place_of(volumes.argmin())}"
            advice = "check signs: the map turns the body inside out"
            self.reader.report("folded", "kinematics", value, "det F > 0 at rest", advice)
        elif self.material and self.material.incompressible:
            rng, worst_off = np.random.default_rng(0), 0.0
            for q in [self.neutral(), *(0.3 * self.random_configuration(rng) for _ in range(3))]:
                worst_off = max(worst_off, float(np.abs(self.volume_ratios(q) - 1.0).max()))
            if not worst_off < _KEEPS_VOLUME:
                expected = f"det F = 1 within {_KEEPS_VOLUME:g} at all points, as the incompressible law needs"
                advice = "take kinematics that keep volumes, or tt.Material.neo_hookean"
                self.reader.report("changes-volume", "material", f"det F off by {worst_off:.3g}", expected, advice)

    def _check_functions(self) -> None:
        """Report functions of the whole body that give no number, and functions that give no frame at rest."""
        programs = self.programs
        assert programs is not None
        for field, unit, value in (
            ("energy", "J", lambda: programs.own_stored),
            ("dissipation", "W", lambda: programs.own_dissipated),
        ):
            self._check_value(field, f"a number ({unit}), of unknowns", value, lambda number: np.ndim(number) == 0)
        for name, port in self.soft_ports.items():
            if port.frame is not None:
                expected = "a rotation (3 x 3) and a position (3), of unknowns"
                self._check_value(f"ports.{name}", expected, functools.partial(self._frame_at_rest, port), _is_frame)

    def _frame_at_rest(self, port: SoftPort) -> Array:
        alone = LawPrograms(self.kinematics, self.nv, self.number_names, ports=[port])
        return alone.port_poses.at_points(self.shared(self.neutral()), self.points[:1])[1][0]

    def _check_value(self, field: str, expected: str, value_of: Callable[[], Any], is_right: Callable[[Any], bool]) -> None:
        """Report a function's value that is not right, or how it fails."""
        try:
            if not is_right(value := value_of()):
                self.reader.report("bad-values", field, str(value), expected, "check what the function returns")
        except Exception as error:  # whatever the user's function raises
            self.reader.report("function-fails", field, _reason(error), expected, advice_on(error))

    @functools.cached_property
    def points(self) -> Array:
        """What each material point has (k, 5): its place x (m), its volume (m^3) and its mass (kg)."""
        points = np.zeros((len(self.domain.points), POINT_SIZE), np.result_type(self.density, float))
        points[:, PLACE], points[:, VOLUME] = self.domain.points, self.domain.volumes
        points[:, MASS] = self.density * self._densities * self.domain.volumes
        return points

    def shared(
        self, q: Array, v: Array | None = None, a: Array | None = None, twist: Array | None = None, rate: Array | None = None
    ) -> Array:
        """Return the numbers (k; SI units) that all points share in programs: states, zero unless given, and parameters.

        Parameters
        ----------
        q : (n,) array
        v, a : (n,) array, optional
        twist, rate : (6,) array, optional
            Of the parent port, and its acceleration (m and rad).
        """
        none, still = np.zeros(self.nv), np.zeros(6)
        states = [q, none if v is None else v, none if a is None else a, still if twist is None else twist]
        return np.concatenate([*states, still if rate is None else rate, self.number_values])

    @property
    def number_names(self) -> tuple[str, ...]:
        """Names of the `numbers` of the functions."""
        return tuple(self._values)

    @property
    def number_values(self) -> Array:
        """The `numbers` (k, SI units) of the functions."""
        return np.array(list(self._values.values()))

    def volume_ratios(self, q: Array) -> Array:
        """Return ``det F`` (k, no unit) at all points: volume over that at rest; negative where folded.

        Parameters
        ----------
        q : (n,) or (m, n) array
            Of several configurations the ratios are (m, k).
        """
        assert self.programs is not None
        shared = np.array([self.shared(row) for row in np.atleast_2d(q)])
        placed = self.programs.places.at_points(shared, self.points)[1]
        ratios = np.linalg.det(placed[..., 3:].reshape(*placed.shape[:2], 3, 3))
        return ratios if np.ndim(q) > 1 else ratios[0]

    @property
    def mass(self) -> Any:
        """The body's mass (kg)."""
        return self.points[:, MASS].sum()

    def parameter_fields(self) -> ParameterFields:
        """Return density, the material's numbers and the kinematics' own."""
        unit = "kg/m^3" if (self._densities == 1.0).all() else "1"
        numbers: ParameterFields = {name: ("_values", (name,), each) for name, each in self._value_units.items()}
        return {"density": ("density", (), unit), **numbers}

    def _update(self) -> None:
        vars(self).pop("points", None)

    def check(self) -> tuple[list[Finding], list[Finding]]:
        errors, warnings = super().check()
        if not errors:
            reader = FieldReader(self.name)
            numbers = {name: value for name, value in self._values.items() if name.startswith("material.")}
            check_numbers(reader, {"density": self.density, **numbers})
            errors += reader.findings
        return errors, warnings


def _is_frame(entries: Array) -> bool:
    """Tell whether these are the entries (12) of a rotation and a position."""
    if entries.shape != (12,) or not np.isfinite(entries).all():
        return False
    rotation = entries[:9].reshape(3, 3)
    return bool(np.abs(rotation.T @ rotation - np.eye(3)).max() < TYPED and np.linalg.det(rotation) > 0)


# -- what errors of users' functions mean when they are called with unknowns, and what to write instead ------------------------


#: Parts of messages, and what to do where one has them; the first that fits.
_ADVICE = (
    (
        "does not support argument",
        "NumPy's functions take no arrays that mix numbers and unknowns: write tt.Kinematics.array([0.0, q[0]]), or take the "
        "function of each entry",
    ),
    ("is not known yet to become a float", "write it by NumPy's functions, and arrays by tt.Kinematics.array([...])"),
    ("a branch on a number", "write tt.Kinematics.where(condition, yes, no), which is also the way to a maximum or a clip"),
    ("Cannot cast ufunc", "of unknowns NumPy has no det, inv or solve: write the formula, or tt.Material.determinant(F)"),
    *(
        (f"has no attribute '{name}'", f"of a number and an unknown write np.{name}(*tt.Kinematics.array([1.0, q[0]]))")
        for name in ("arctan2", "hypot")
    ),
    ("has no attribute 'dtype'", "of unknowns NumPy has no sinc: write tt.Kinematics.sinc(x), which is sin(x)/x"),
)

_ELSE = "write it by NumPy's functions of numbers, without branches on x or q"


def _reason(error: Exception) -> str:
    return f"{type(error).__name__}: {error}".splitlines()[0]


def advice_on(error: Exception) -> str:
    """Return what to do about an error that a function raised when it was called with unknowns."""
    return next((advice for part, advice in _ADVICE if part in str(error)), _ELSE)
