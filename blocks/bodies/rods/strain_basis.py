"""Functions of the abscissa of which a component of a rod's strain is made."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.polynomial import legendre

from titop.blocks.basics.errors import Finding, ModelError, did_you_mean
from titop.blocks.basics.sampling import sampled
from titop.blocks.basics.spatial import Array
from titop.blocks.basics.user_functions import check_function
from titop.blocks.basics.user_input import FieldReader

#: Functions of one component: with more, a rod is better cut into several.
MAX_FUNCTIONS = 100

#: The kinds, and what counts their functions.
_KINDS = {"legendre": "order", "piecewise-constant": "pieces", "piecewise-affine": "pieces", "gaussian": "count"}


class StrainBasis:
    """The functions of which one component of a rod's strain is made: its own, of the abscissa X, or one of four kinds.

    Parameters
    ----------
    function : callable
        Returns the values (count) of the functions at an abscissa X (m).
    count : int
        Number of functions.
    breaks : sequence of float, optional
        Where the functions jump or have kinks, in parts of the length: between them quadrature points are laid apart.

    Raises
    ------
    ModelError
        If the function is none of X, or the count no whole number from 1 to 100.

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
        given = reader.numbers("breaks", breaks)
        if not reader.findings and not ((given > 0) & (given < 1) & (np.diff(given, prepend=0.0) > 0)).all():
            reader.report("bad-breaks", "breaks", breaks, "rising numbers between 0 and 1", "give them in parts of the length")
        if reader.findings:
            raise ModelError(reader.findings)
        self._set("own", _whole("count", count, 1), function=function, breaks=tuple(given.tolist()))

    def _set(
        self, kind: str, count: int, number: int = 0, width: float | None = None, function: Any = None, breaks: Any = ()
    ) -> None:
        #: ``"legendre"``, ``"piecewise-constant"``, ``"piecewise-affine"``, ``"gaussian"`` or ``"own"``.
        self.kind = kind
        #: Number of functions.
        self.count = count
        #: Where they jump or have kinks, in parts of the length.
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

        The coordinates are the values at the ``pieces + 1`` ends of the pieces. For strains that jump put rods in series.

        Parameters
        ----------
        pieces : int
        """
        return cls.of_kind("piecewise-affine", pieces=pieces)

    @classmethod
    def gaussian(cls, count: int, width: float | None = None) -> StrainBasis:
        """Return bell curves, their centres spread from base to tip; one alone stands in the middle.

        Parameters
        ----------
        count : int
        width : float, optional
            Standard deviation in parts of the length; the distance of the centres by default, and half for a single one.
        """
        return cls.of_kind("gaussian", count=count, width=width)

    @classmethod
    def of_kind(cls, kind: str, width: float | None = None, **numbers: Any) -> StrainBasis:
        """Return a basis by the name of its kind, as model files have it.

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
            If there is no such kind, or a number is missing, none of that kind or no whole number in its range.
        """
        if kind not in _KINDS:
            raise ModelError(Finding("unknown-basis", "basis", kind, "a kind of basis", did_you_mean(kind, _KINDS)))
        name = _KINDS[kind]
        if set(numbers) != {name} or (width is not None and kind != "gaussian"):
            given = sorted(numbers | ({} if width is None else {"width": width}))
            raise ModelError(Finding("wrong-numbers", f"basis.{kind}", given, f"its {name}", f"write {name} = 3"))
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
        """What `of_kind` takes besides the kind; nothing for functions of a user's."""
        if self.kind == "own":
            return {}
        return {_KINDS[self.kind]: self.number} | ({} if self.width is None else {"width": self.width})

    def values(self, fractions: Array, length: float) -> Array:
        """Return the values (k, count; no unit) of the functions at places along a rod.

        Parameters
        ----------
        fractions : (k,) array
            The places, in parts of the length; none of them at a break.
        length : float, m

        Raises
        ------
        ModelError
            If a function of a user's fails.
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
    number = reader.scalar(name, value)
    if not reader.findings and not (number == int(number) and least <= number <= MAX_FUNCTIONS):
        expected = f"a whole number from {least} to {MAX_FUNCTIONS}"
        reader.report("not-a-count", name, value, expected, "check the value; several rods in series bend further")
    if reader.findings:
        raise ModelError(reader.findings)
    return int(number)
