"""Conversion of user input to numbers, collecting everything that is wrong with it.

A block reads its fields through a `FieldReader`: a value that cannot be used gives a `Finding` and is replaced by
NaN of the right shape, so that construction continues and one report shows everything that is wrong in a system.
"""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Callable, Collection, Mapping
from pathlib import PurePath
from typing import Any

import numpy as np

from titop.blocks.basics.choices import Undecided, everywhere
from titop.blocks.basics.errors import Finding, ModelError, refuse
from titop.blocks.basics.spatial import Array
from titop.blocks.basics.tolerances import EPS, EXACT, SAME, TYPED

#: Larger numbers are typing errors, and products of a few of them overflow; the inertia of the sun is 6e46 kg m^2.
LARGEST = 1e60

#: Up to so many numbers plain Python is faster than NumPy.
_FEW = 16

#: A quaternion this close to unit is left as it is, bit by bit.
_UNIT = 4 * EPS


def check_suffix(path: Any, known: Collection[str]) -> None:
    """Refuse an impossible file name, or one whose suffix is none of the known ones (without dots).

    Raises `ModelError` with a list of the known suffixes.
    """
    if not isinstance(path, str | os.PathLike):
        raise ModelError(Finding("wrong-type", "path", path, "the name of a file", f'write "name.{next(iter(known))}"'))
    suffix = PurePath(path).suffix
    if suffix.lower().lstrip(".") not in known:
        listed = ", ".join(f".{entry}" for entry in sorted(known))
        advice = f"let the name end in {' or '.join(f'.{entry}' for entry in list(known)[:2])}"
        raise ModelError(Finding("unknown-format", str(path), suffix or "no suffix", f"one of {listed}", advice))
    if "\0" in str(path):
        raise ModelError(Finding("bad-value", "path", repr(str(path)), "a name without NUL characters", "check the name"))


def is_name(value: Any) -> bool:
    """Tell whether a value may name a block: a text of letters, digits and ``_-/``."""
    return isinstance(value, str) and value.replace("_", "").replace("-", "").replace("/", "").isalnum()


def sequence_findings(where: str, sequence: Any) -> list[Finding]:
    """Return what is wrong with a sequence of axes of Euler angles, if anything."""
    wrong = not isinstance(sequence, str) or len(sequence) != 3 or set(sequence) - set("XYZ")
    if not wrong and sequence[0] != sequence[1] != sequence[2]:
        return []
    expected, advice = "three axes such as 'XYZ' or 'ZXZ'", "use capital letters, neighbours different"
    return [Finding("bad-sequence", where, sequence, expected, advice)]


def is_masked(value: Any) -> bool:
    """Whether some entries of an array are masked; NumPy's module for that is loaded where such arrays are made."""
    return "numpy.ma" in sys.modules and bool(np.ma.is_masked(value))


def real_array(value: Any) -> Array | None:
    """Return a new array of floats, or None if the value is not real numbers, or some are masked; unknown ones remain."""
    try:
        if type(value) is np.ndarray and value.dtype == float:
            return value.copy()
        if type(value) in (list, tuple) and all(type(x) is float for x in value):
            return np.array(value, dtype=float)
        if isinstance(value, float):
            return np.array(value)
        if is_masked(value):
            return None
        array = np.asarray(value)
        if array.dtype.kind not in "fiubO":
            return None
        if array.dtype.kind == "O" and any(isinstance(x, Undecided) for x in array.flat):
            return array.copy()
        return np.array(value, dtype=float)
    except (TypeError, ValueError, OverflowError):
        return None


def as_number(value: Any) -> Any:
    """Return a number as a float; one that is not known yet as it is."""
    value = value.item() if isinstance(value, np.ndarray) else value
    return value if isinstance(value, Undecided) else float(value)


def read_array(wrong: Finding, fits: Callable[[Array], Any] = lambda array: True) -> Array:
    """Return the value of a finding as a new array of floats. Raises `ModelError` of it unless it is real numbers that fit."""
    array = real_array(wrong.value)
    if array is None or not fits(array):
        raise ModelError(wrong)
    return array


def read_number(wrong: Finding, fits: Callable[[float], Any] = math.isfinite) -> float:
    """Return the value of a finding as a number. Raises `ModelError` of it unless it is a real number that fits."""
    return float(read_array(wrong, lambda array: not array.ndim and fits(array.item())))


def read_count(wrong: Finding, least: int, most: float = math.inf) -> int:
    """Return the value of a finding as a whole number. Raises `ModelError` of it for anything else, and outside of a range."""
    value = wrong.value
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or not least <= value <= most:
        raise ModelError(wrong)
    return int(value)


def is_row(array: Array) -> bool:
    """Tell whether an array is a row of finite numbers, one or more."""
    return array.ndim == 1 and array.size > 0 and is_finite(array)


def is_range(array: Array) -> bool:
    """Tell whether an array is two finite numbers, of which the second is larger."""
    return array.shape == (2,) and is_finite(array) and bool(array[0] < array[1])


def shape_of(value: Any) -> tuple[int, ...]:
    """Return the shape of a user's value; () for lists with rows of unequal lengths, which are refused later."""
    try:
        return np.shape(value)
    except ValueError:
        return ()


def axes_of(value: Any) -> int:
    """Return the number of axes of a user's value."""
    return len(shape_of(value))


def out_of_range(where: str, value: Any) -> Finding:
    """Return the finding for an absurdly large number."""
    expected = f"magnitudes up to {LARGEST:g}: products of larger ones are too large for double precision"
    return Finding("out-of-range", where, value, expected, "check the number and its units")


def is_usable(array: Array) -> bool:
    """Tell whether all numbers of an array of floats are finite and none is absurdly large; fast for few numbers."""
    if array.size > _FEW or array.dtype == object:
        return array.dtype == object or bool(np.abs(array).max() <= LARGEST)
    numbers = array.ravel().tolist()
    return sum(map(abs, numbers)) <= LARGEST or all(-LARGEST <= number <= LARGEST for number in numbers)


def is_finite(array: Array) -> bool:
    """Tell whether all numbers of an array of floats are finite; fast for few numbers."""
    if array.dtype == object:
        return True
    return all(map(math.isfinite, array.ravel().tolist())) if array.size <= _FEW else bool(np.isfinite(array).all())


class FieldReader:
    """Reads the fields of one block.

    `owner`: name of the block, the first part of every finding's dotted path.
    """

    def __init__(self, owner: str) -> None:
        self.owner = owner
        self.findings: list[Finding] = []
        self.warnings: list[Finding] = []

    def report(self, code: str, field: str, value: Any, expected: str, advice: str) -> None:
        """Record an error."""
        self.findings.append(Finding(code, f"{self.owner}.{field}", value, expected, advice))

    def raise_findings(self) -> None:
        """Raise a `ModelError` of all errors, if there are any."""
        refuse(self.findings)

    def suspect(self, code: str, field: str, value: Any, expected: str, advice: str) -> None:
        """Record a warning."""
        self.warnings.append(Finding(code, f"{self.owner}.{field}", value, expected, advice))

    def mapping(self, field: str, value: Any, of: str, example: str) -> dict[Any, Any]:
        """Read a mapping of names to something; None is an empty one."""
        if value is not None and not isinstance(value, Mapping):
            self.report("wrong-type", field, value, f"a mapping of {of}", f"write {example}")
        return dict(value) if isinstance(value, Mapping) else {}

    def array(self, field: str, value: Any, shape: tuple[int, ...], advice: str = "give finite numbers") -> Array:
        """Read a finite real array of the given shape."""
        result = real_array(value)
        if result is None:
            wanted = f"numbers of shape {shape}" if shape else "a number"
            self.report("wrong-type", field, value, wanted, advice)
            return np.full(shape, np.nan)
        if result.shape != shape:
            self.report("wrong-shape", field, value, f"shape {shape}, not {result.shape}", advice)
            return np.full(shape, np.nan)
        return result if is_usable(result) else self._unusable(field, value, result, advice)

    def _unusable(self, field: str, value: Any, result: Array, advice: str) -> Array:
        """Report numbers that are not finite or absurdly large; return NaN in place of the latter."""
        if not is_finite(result):
            self.report("not-finite", field, value, "finite numbers", advice)
            return result
        observed = f"numbers up to {np.abs(result).max():.3g}" if result.size > 1 else value
        self.findings.append(out_of_range(f"{self.owner}.{field}", observed))
        return np.full(result.shape, np.nan)

    def scalar(self, field: str, value: Any) -> float:
        """Read a finite number."""
        if isinstance(value, float) and -LARGEST <= value <= LARGEST:
            return float(value)
        return as_number(self.array(field, value, ()))

    def integer(self, field: str, value: Any, least: int, most: int) -> int:
        """Read a whole number from `least` to `most`."""
        number = self.scalar(field, value)
        if np.isfinite(number) and not (number == int(number) and least <= number <= most):
            self.report("not-a-count", field, value, f"a whole number from {least} to {most}", "check the value")
            return least
        return int(number) if np.isfinite(number) else least

    def numbers(self, field: str, value: Any, n: int | None = None, advice: str = "give finite numbers") -> Array:
        """Read n finite numbers, or any number of them if n is None; a scalar counts as one."""
        array = real_array(value)
        if array is None and n is None:
            self.report("wrong-type", field, value, "a list of numbers", advice)
            return np.zeros(0)
        count = array.size if array is not None and n is None else n or 0
        return self.array(field, value if array is None or array.ndim else array[None], (count,), advice)

    def fractions(self, field: str, value: Any, length: float) -> Array:
        """Read places (k, m) along a rod or beam, and return them as fractions of its length.

        Raises `ModelError` if they are not on it.
        """
        places = self.numbers(field, value) / length
        if not self.findings and not ((places >= 0) & (places <= 1)).all():
            expected, advice = f"{field} from 0 to the length, {length:g} m", "count from the base, in metres"
            self.report("off-the-rod", field, value, expected, advice)
        self.raise_findings()
        return places

    def switch(self, field: str, value: Any) -> bool:
        """Read True or False."""
        if type(value).__name__ not in ("bool", "bool_"):
            self.report("wrong-type", field, value, "True or False", "choose one of the two, without quotes")
            return False
        return bool(value)

    def bound(self, field: str, value: Any) -> float:
        """Read a number that must not be negative, and may be infinite."""
        number = real_array(value)
        if number is None or number.shape or (number.dtype != object and not number >= 0):
            self.report("bad-limits", field, value, "a number >= 0, or infinity", "check the value and its sign")
            return math.inf
        return as_number(number)

    def non_negative(self, field: str, value: Any, code: str) -> float:
        """Read a number that must not be negative."""
        number = self.scalar(field, value)
        if everywhere(number < 0):
            self.report(code, field, number, "a value >= 0", "check the sign and the unit")
        return number

    def positive(
        self, field: str, value: Any, code: str, expected: str = "a value > 0", advice: str = "check the sign and the unit"
    ) -> float:
        """Read a number that must be greater than zero."""
        number = self.scalar(field, value)
        if everywhere(number <= 0):
            self.report(code, field, number, expected, advice)
        return number

    def axis(self, field: str, value: Any) -> Array:
        """Read a direction (3) of any length; it is not normalised."""
        direction = real_array(value)
        if direction is not None and direction.shape == (3,) and is_finite(direction):
            return direction
        return self.array(field, value, (3,), "give three numbers such as [0, 0, 1]")

    def rotation(self, field: str, value: Any) -> Array:
        """Read a rotation matrix (3x3) or anything with ``as_matrix()`` such as a scipy `Rotation`."""
        matrix = value.as_matrix() if hasattr(value, "as_matrix") else value
        matrix = self.array(field, matrix, (3, 3), "give a 3x3 matrix or a scipy Rotation")
        if not np.isfinite(matrix).all():
            return matrix
        error = np.abs(matrix.T @ matrix - np.eye(3)).max()
        if error > TYPED:
            self.report("not-orthogonal", field, value, f"an orthogonal matrix (R^T R - 1 is {error:.1e})", "orthonormalise it")
        elif np.linalg.det(matrix) < 0:
            self.report("left-handed", field, value, "determinant +1, not -1", "swap or negate one axis")
        return matrix

    def symmetric(self, field: str, value: Any, n: int) -> Array:
        """Read a symmetric n x n matrix; a number means a multiple of the identity, n numbers a diagonal."""
        if isinstance(value, float) and -LARGEST <= value <= LARGEST:
            return value * np.eye(n) if value else np.zeros((n, n))
        numbers = real_array(value)
        if numbers is None:
            self.report("wrong-type", field, value, f"a number, {n} numbers or a {n}x{n} matrix", "give numbers")
            return np.full((n, n), np.nan)
        if numbers.shape == ():
            numbers = numbers * np.eye(n)
        elif numbers.shape == (n,):
            numbers = np.diag(numbers)
        matrix = self.array(field, numbers, (n, n), f"give a number, {n} numbers or a {n}x{n} matrix")
        asymmetry = np.abs(matrix - matrix.T)
        if matrix.dtype == object or not asymmetry.any():
            return matrix
        size = np.abs(matrix)
        if (asymmetry > SAME * size + EXACT * size.max(initial=0.0)).any():  # False for NaN
            self.report("not-symmetric", field, value, "a symmetric matrix", "use (M + M.T) / 2")
        return matrix / 2 + matrix.T / 2

    def unit_quaternion(self, field: str, value: Any) -> Array:
        """Read a unit quaternion (x, y, z, w), a 3x3 matrix or a scipy `Rotation`."""
        if hasattr(value, "as_quat"):
            value = value.as_quat()
        quaternion = self.array(field, value, (4,), "give (x, y, z, w), scalar last, or a scipy Rotation")
        norm = float(np.linalg.norm(quaternion))
        if np.isfinite(norm) and abs(norm - 1) > TYPED:
            self.report("not-unit", field, value, f"a unit quaternion (norm is {norm:.9g})", "divide it by its norm")
        return quaternion / norm if norm > 0 and abs(norm - 1) > _UNIT else quaternion
