"""Fluids around bodies and rods, water or air, and users' coefficients of their effects.

A *coefficient* has the name of a direction; the directions and units depend on the kind of body. A *matrix* (6 x 6) is in the
axes of the body or the section, linear first, in SI units; six numbers mean its diagonal.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from titop.blocks.basics.choices import everywhere
from titop.blocks.basics.errors import Finding, ModelError, did_you_mean
from titop.blocks.basics.spatial import Array
from titop.blocks.basics.tolerances import SAME
from titop.blocks.basics.user_functions import check_function
from titop.blocks.basics.user_input import FieldReader, real_array
from titop.blocks.contract.block import Block, ParameterFields
from titop.blocks.contract.fields import instance


class Fluid:
    """An unbounded fluid around bodies and rods, with a uniform current.

    Parameters
    ----------
    density : float, kg/m^3
    current : array_like (3,), m/s
        Constant velocity of the fluid in the inertial frame.

    Raises
    ------
    ModelError
        If the density is negative, or zero with a current.

    Examples
    --------
    >>> import titop as tt
    >>> tt.Fluid(1025.0, current=[0.3, 0, 0])
    Fluid(1025.0, current=[0.3, 0.0, 0.0])
    """

    def __init__(self, density: float, current: Any = (0.0, 0.0, 0.0)) -> None:
        reader = FieldReader("fluid")
        #: kg/m^3
        self.density = reader.non_negative("density", density, "bad-density")
        #: (3,) array, m/s
        self.current = reader.array("current", current, (3,), "give its velocity in the inertial frame, as [0.3, 0, 0]")
        if self.density == 0.0 and self.current.any():
            advice = "give the fluid's density, 1000.0 for water, 1.2 for air"
            reader.report("current-without-fluid", "current", current, "no current where there is no fluid", advice)
        reader.raise_findings()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Fluid) and self.density == other.density and np.array_equal(self.current, other.current)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        current = f", current={self.current.tolist()}" if self.current.any() else ""
        return f"Fluid({self.density}{current})"


#: Where the numbers of a fluid stand in it, by name.
_PATHS: dict[str, tuple[Any, ...]] = {"density": ("density",)} | {
    f"current.{axis}": ("current", k) for k, axis in enumerate("xyz")
}


#: Reads a fluid, or None.
read_fluid = instance(Fluid, "write fluid=tt.Fluid(1000.0)")

#: Coefficients by name, a matrix, a function of the abscissa that returns one, or a word.
Coefficients = dict[str, Any] | Any


def read_coefficients(
    reader: FieldReader, field: str, value: Any, names: Mapping[str, str], words: tuple[str, ...] = (), along: bool = False
) -> Coefficients:
    """Read coefficients: a number, for the first of the names (of directions, with units), numbers by name, or a matrix.

    One of the `words` is allowed in their place, and `along` a body a function of X (m) that returns a matrix.
    """
    if value is None or (isinstance(value, str) and value in words):
        return value
    if along and callable(value):
        check_function(f"{reader.owner}.{field}", value, "X")
        return value
    if isinstance(value, Mapping):
        return _read_named(reader, field, value, names)
    array = real_array(value)
    if array is not None and array.shape == ():
        return _read_named(reader, field, {next(iter(names)): value}, names)
    if array is None or array.shape not in ((6,), (6, 6)):
        listed = ", ".join(f'"{word}"' for word in words)
        expected = "a number, numbers by name, or a 6 x 6 matrix" + (f", or {listed}" if words else "")
        reader.report("wrong-type", field, value, expected, f'write {{"{next(iter(names))}": 1.0}}')
        return None
    matrix = reader.array(field, np.diag(array) if array.ndim == 1 else array, (6, 6))
    reader.findings += matrix_findings(f"{reader.owner}.{field}", matrix, field == "added_mass")
    return matrix


def _read_named(reader: FieldReader, field: str, value: Mapping[str, Any], names: Mapping[str, str]) -> dict[str, float]:
    read = {}
    for name, entry in value.items():
        where = f"{field}.{name}"
        if name not in names:
            reader.report("unknown-coefficient", where, name, "the name of a coefficient", did_you_mean(str(name), names))
        else:
            read[name] = reader.non_negative(where, entry, "negative-coefficient")
    return read


def matrix_findings(where: str, matrix: Array, symmetric: bool) -> list[Finding]:
    """Return what is wrong with the matrix of an added mass, which is symmetric, or of a drag, which must not create energy."""
    if not np.isfinite(matrix).all():
        return []
    size = np.abs(matrix).max()
    if symmetric and np.abs(matrix - matrix.T).max() > SAME * size:
        return [Finding("not-symmetric", where, matrix, "a symmetric matrix", "use (M + M.T) / 2")]
    lowest = np.linalg.eigvalsh(matrix / 2 + matrix.T / 2)[0]
    if lowest < -SAME * size:
        value, advice = f"a principal value of {lowest:.3g}", "check signs, and that linear entries come first"
        expected = "principal values >= 0: no fluid feeds energy" if not symmetric else "principal values >= 0"
        return [Finding("negative-coefficient", where, value, expected, advice)]
    return []


def read_lift(reader: FieldReader, field: str, value: Any) -> Array | None:
    """Read the axis l (3) of ``|v| l x v``; a number means an axis along x."""
    if value is None:
        return None
    array = real_array(value)
    if array is not None and array.shape == ():
        value = [float(array), 0.0, 0.0]
    return reader.array(field, value, (3,), "give a number, or three: the force is along (x, y, z) x velocity")


def fluid_fields(body: Any, added: Mapping[str, str], drag: Mapping[str, str], lift_unit: str) -> ParameterFields:
    """Return the parameters of a fluid around a body and of its effects, none without a fluid; matrices have none."""
    if body.fluid is None:
        return {}
    fields: ParameterFields = {
        f"fluid.{name}": ("fluid", path, "m/s" if path[1:] else "kg/m^3") for name, path in _PATHS.items()
    }
    for field, units in (("added_mass", added), ("drag", drag)):
        coefficients = getattr(body, field)
        if isinstance(coefficients, dict):
            fields |= {f"{field}.{name}": (field, (name,), units[name]) for name in coefficients}
    if body.lift is not None:
        fields |= {f"lift.{axis}": ("lift", (k,), lift_unit) for k, axis in enumerate("xyz")}
    return fields


def of_direction(value: Any, names: tuple[str, ...]) -> Any:
    """Return the coefficient of the first of some names that has one, else zero."""
    coefficients = value if isinstance(value, dict) else {}
    return next((coefficients[name] for name in names if name in coefficients), 0.0)


def refuse_negative(block: Block, fields: ParameterFields, values: Mapping[str, Any]) -> None:
    """Refuse negative values of a fluid's parameters (`fluid_fields`), unless of current or lift."""
    for name, value in values.items():
        if name in fields and not name.startswith(("fluid.current.", "lift.")) and everywhere(np.real(value) < 0.0):
            code = "bad-density" if name == "fluid.density" else "negative-coefficient"
            raise ModelError(Finding(code, f"{block.name}.{name}", value, "a value >= 0", "check the sign and the unit"))


def report_dry(reader: FieldReader, fields: Mapping[str, Any]) -> None:
    """Report effects of a fluid without a fluid."""
    for field, value in fields.items():
        if value is not None:
            reader.report("no-fluid", field, value, f"a fluid, since there is {field}", "write fluid=tt.Fluid(1000.0)")
