"""The free components of a rod's strain, and the bases of these: functions of the abscissa."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.polynomial import legendre

from titop.blocks.basics.errors import Finding, ModelError, did_you_mean
from titop.blocks.basics.spatial import Array
from titop.blocks.basics.user_functions import check_function, sampled
from titop.blocks.basics.user_input import FieldReader

#: Largest number of functions of one component; for more, use several rods in series.
MAX_FUNCTIONS = 100

#: The kinds, and the arguments for their number of functions.
_KINDS = {"legendre": "order", "piecewise-constant": "pieces", "piecewise-affine": "pieces", "gaussian": "count"}


class StrainBasis:
    """The basis of one component of a rod's strain: your own functions of the abscissa X, or one of four kinds.

    Parameters
    ----------
    function : callable
        Returns the values (count) of the functions at an abscissa X (m).
    count : int
        Number of functions.
    breaks : sequence of float, optional
        Places of jumps and kinks of the functions, as fractions of the length; each interval between them has its own
        quadrature points.

    Raises
    ------
    ModelError
        If the function does not take X, or the count is no whole number from 1 to 100.

    Examples
    --------
    >>> import numpy as np, titop as tt
    >>> waves = tt.StrainBasis(lambda X: np.sin(np.array([1, 2]) * np.pi * X), count=2)
    >>> tt.StrainBasis.legendre(3).count
    4
    """

    def __init__(self, function: Callable[[float], Any], count: int, breaks: Any = ()) -> None:
        check_function("basis.function", function, "X")
        reader = FieldReader("basis")
        places = reader.numbers("breaks", breaks)
        if not reader.findings and not ((places > 0) & (places < 1) & (np.diff(places, prepend=0.0) > 0)).all():
            reader.report("bad-breaks", "breaks", breaks, "rising numbers between 0 and 1", "give them in parts of the length")
        reader.raise_findings()
        self._set("own", _whole("count", count, 1), function=function, breaks=tuple(places.tolist()))

    def _set(
        self, kind: str, count: int, number: int = 0, width: float | None = None, function: Any = None, breaks: Any = ()
    ) -> None:
        #: ``"legendre"``, ``"piecewise-constant"``, ``"piecewise-affine"``, ``"gaussian"`` or ``"own"``.
        self.kind = kind
        #: Number of functions.
        self.count = count
        #: Places of their jumps and kinks, as fractions of the length.
        self.breaks = breaks
        self.number, self.width, self.function = number, width, function

    @classmethod
    def legendre(cls, order: int) -> StrainBasis:
        """Return Legendre polynomials of X, from the constant to one of the given order, over the whole rod.

        Parameters
        ----------
        order : int
        """
        return cls.of_kind("legendre", order=order)

    @classmethod
    def piecewise_constant(cls, pieces: int) -> StrainBasis:
        """Return one constant for each of several pieces of the same length.

        Parameters
        ----------
        pieces : int
        """
        return cls.of_kind("piecewise-constant", pieces=pieces)

    @classmethod
    def piecewise_affine(cls, pieces: int) -> StrainBasis:
        """Return functions that are linear in each of several pieces of the same length, and continuous.

        The coordinates are the values at the ``pieces + 1`` ends of the pieces. For strains with jumps, use rods in series.

        Parameters
        ----------
        pieces : int
        """
        return cls.of_kind("piecewise-affine", pieces=pieces)

    @classmethod
    def gaussian(cls, count: int, width: float | None = None) -> StrainBasis:
        """Return bell curves with equally spaced centres from base to tip; a single one is in the middle.

        Parameters
        ----------
        count : int
        width : float, optional
            Standard deviation as a fraction of the length; the distance of the centres by default, and half for a single one.
        """
        return cls.of_kind("gaussian", count=count, width=width)

    @classmethod
    def of_kind(cls, kind: str, width: float | None = None, **numbers: Any) -> StrainBasis:
        """Return a basis by the name of its kind, as in model files.

        Parameters
        ----------
        kind : str
        width : float, optional
            Of Gaussian curves.
        **numbers
            The order, number of pieces or number of functions by name.

        Raises
        ------
        ModelError
            If there is no such kind, or a number is missing, unknown or no whole number in its range.
        """
        if kind not in _KINDS:
            raise ModelError(Finding("unknown-basis", "basis", kind, "a kind of basis", did_you_mean(kind, _KINDS)))
        name = _KINDS[kind]
        if set(numbers) != {name} or (width is not None and kind != "gaussian"):
            arguments = sorted(numbers | ({} if width is None else {"width": width}))
            raise ModelError(Finding("wrong-numbers", f"basis.{kind}", arguments, f"its {name}", f"write {name} = 3"))
        number = _whole(name, numbers[name], 0 if name == "order" else 1)
        if width is not None:
            width = FieldReader("basis").scalar("width", width)
            if not width > 0:
                raise ModelError(Finding("bad-width", "basis.width", width, "a value > 0", "give it in parts of the length"))
        basis = cls.__new__(cls)
        count = number + (kind in ("legendre", "piecewise-affine"))
        breaks = tuple((np.arange(1, number) / number).tolist()) if kind.startswith("piecewise") else ()
        basis._set(kind, count, number, width, breaks=breaks)
        return basis

    @property
    def numbers(self) -> dict[str, float]:
        """Arguments of `of_kind` beside the kind; empty for users' functions."""
        if self.kind == "own":
            return {}
        return {_KINDS[self.kind]: self.number} | ({} if self.width is None else {"width": self.width})

    def values(self, fractions: Array, length: float) -> Array:
        """Return the values (k, count; no unit) of the functions at places along a rod.

        Parameters
        ----------
        fractions : (k,) array
            The places, as fractions of the length; none of them at a break.
        length : float, m

        Raises
        ------
        ModelError
            If a user's function fails.
        """
        if self.kind == "legendre":
            return legendre.legvander(2.0 * fractions - 1.0, self.number)
        if self.kind == "piecewise-constant":
            return np.eye(self.count)[np.clip((fractions * self.number).astype(int), 0, self.number - 1)]
        if self.kind == "piecewise-affine":
            return np.maximum(1.0 - np.abs(fractions[:, None] * self.number - np.arange(self.count)), 0.0)
        if self.kind == "gaussian":
            centres = np.linspace(0.0, 1.0, self.count) if self.count > 1 else np.array([0.5])
            width = self.width or (1.0 / (self.count - 1) if self.count > 1 else 0.5)
            return np.exp(-0.5 * ((fractions[:, None] - centres) / width) ** 2)
        return sampled("strains.function", self.function, fractions, length, (self.count,))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, StrainBasis) and vars(self) == vars(other)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        if self.kind == "own":
            return f"StrainBasis({self.function}, {self.count})"
        return f"StrainBasis.{self.kind.replace('-', '_')}({', '.join(f'{name}={x}' for name, x in self.numbers.items())})"


def _whole(name: str, value: Any, least: int) -> int:
    """Return a whole number from `least` to the most that there may be."""
    reader = FieldReader("basis")
    number = reader.integer(name, value, least, MAX_FUNCTIONS)
    reader.raise_findings()
    return number


#: The components of a strain ``xi = [k; s]``: twist and curvatures (rad/m), then stretch and shears (no unit).
COMPONENTS = ("torsion", "bending_y", "bending_z", "elongation", "shear_y", "shear_z")

#: The theories by name, with their free components.
THEORIES: dict[str, tuple[str, ...]] = {"kirchhoff": COMPONENTS[:3], "extensible": COMPONENTS[:4], "timoshenko": COMPONENTS}

#: The strain of a straight rod.
STRAIGHT = (0.0, 0.0, 0.0, 1.0, 0.0, 0.0)

#: Permutation between strain components and the order of twists, linear first; it is its own inverse.
LINEAR_FIRST = np.array([3, 4, 5, 0, 1, 2])


def read_strains(reader: FieldReader, strains: Any, basis: Any) -> dict[str, StrainBasis]:
    """Read the free components by name, in their order: a theory, with the same `basis` for all, or a basis for each."""
    if isinstance(strains, str):
        if strains not in THEORIES:
            expected, advice = "a theory, or a mapping of components to orders", did_you_mean(strains, THEORIES)
            reader.report("unknown-theory", "strains", strains, expected, advice)
            return {}
        strains = dict.fromkeys(THEORIES[strains], basis)
    if not isinstance(strains, Mapping):
        advice = 'write "kirchhoff", or {"bending_y": 3, "torsion": 0}'
        reader.report("wrong-type", "strains", strains, "a theory, or a mapping of components to orders", advice)
        return {}
    for name in strains:
        if name not in COMPONENTS:
            expected, advice = "a component of the strain", did_you_mean(name, COMPONENTS)
            reader.report("unknown-strain", f"strains.{name}", name, expected, advice)
    if not strains:
        reader.report("no-strains", "strains", strains, "one component or more", "use a tt.RigidBody for what does not deform")
    bases = {name: _read_basis(reader, name, strains[name]) for name in COMPONENTS if name in strains}
    return {name: basis for name, basis in bases.items() if basis is not None}


def _read_basis(reader: FieldReader, name: str, value: Any) -> StrainBasis | None:
    if isinstance(value, StrainBasis):
        return value
    try:
        return StrainBasis.legendre(value)
    except ModelError:
        advice = "0 stands for a constant, 1 for a linear function, and so on; or give a tt.StrainBasis"
        reader.report("bad-order", f"strains.{name}", value, "an order from 0 to 99", advice)
        return None


def read_reference(reader: FieldReader, value: Any) -> Any:
    """Read the reference strain: six numbers ``[k; s]``, or a function of X (m) that returns them."""
    if callable(value):
        check_function(f"{reader.owner}.reference_strain", value, "X")
        return value
    advice = "give [torsion, bending y, bending z (rad/m), elongation, shear y, shear z]; straight is [0, 0, 0, 1, 0, 0]"
    return reader.array("reference_strain", value, (6,), advice)


def reference_along(reference: Any, fractions: Array, length: float) -> Array:
    """Return the reference strain (k, 6; rad/m and no unit), ``[k; s]``, at places along a rod, in parts of its length."""
    if callable(reference):
        return sampled("reference_strain", reference, fractions, length, (6,))
    return np.broadcast_to(reference, (len(fractions), 6))
