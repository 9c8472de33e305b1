"""Fields of blocks: user input is read here, both in the constructor and when a field is set later.

A class of blocks declares each of its fields once, with a function that reads it::

    class Spring(Block):
        stiffness = Field(non_negative("negative-stiffness"))

        def __init__(self, name, stiffness):
            super().__init__(name)
            self.stiffness = stiffness  # read; errors are kept for the report

A value set later is read in the same way: it replaces the earlier one and its errors. Access to a field costs nothing extra,
since only setting calls the reader.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Mapping
from functools import cache
from inspect import getattr_static
from math import isfinite
from numbers import Real
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Generic, NoReturn, TypeVar

import numpy as np

from titop.blocks.basics.errors import Finding, ModelError, did_you_mean
from titop.blocks.basics.spatial import Array
from titop.blocks.basics.user_input import FieldReader

T = TypeVar("T")

#: Reads a field: arguments are the block, whose reader collects errors, the name of the field for users, and their value.
Read = Callable[[Any, str, Any], T]


def as_it_is(block: Any, field: str, value: Any) -> Any:
    """Take a value without reading it: another function has read it, or all values are right."""
    return value


class Fielded:
    """Objects with fields: blocks and systems.

    Attributes
    ----------
    name : str
    reader : FieldReader
        Keeps the errors in the fields until all are reported.
    """

    name: str
    reader: FieldReader

    def __init_subclass__(cls, **arguments: Any) -> None:
        super().__init_subclass__(**arguments)
        if not cls.__module__.startswith("titop."):
            _gate_redefined(cls)

    def _begin(self, name: str) -> FieldReader:
        """Return the reader of a new object; drop values that a user's class gave to fields before."""
        if "reader" not in vars(self):
            for field in fields_of(type(self)):
                vars(self).pop(field, None)
            self.reader = FieldReader(name)
        return self.reader

    def _update(self) -> None:
        """Recompute what follows from the fields after one of them was set; classes with such attributes override this."""


class Field(Generic[T]):
    """A field of a class of blocks.

    Parameters
    ----------
    read : function of block, name and value, optional
        Returns the stored value; applied to a stored value, it returns the same. By default values stay as they are.
    argument : str, optional
        Name of the field in the constructor; that of the attribute by default. Another name becomes a property of the class, by
        which the field can be set as well: annotate it in the class.
    shown : function of the block, optional
        Value of that property; that of the field by default.
    """

    def __init__(self, read: Read[T] = as_it_is, argument: str = "", shown: Callable[[Any], Any] | None = None) -> None:
        self.read = read
        self.argument = argument
        self.shown = shown
        self.attribute = ""

    def __set_name__(self, owner: type, name: str) -> None:
        self.attribute = name
        self.argument = self.argument or name
        if self.argument != name:
            says = f"The constructor's argument of this name, stored as `{name}`; when set, it is read as by the constructor."
            setattr(owner, self.argument, property(self.shown or attrgetter(name), self.__set__, doc=says))

    def __set__(self, block: Any, value: Any) -> None:
        attributes = block.__dict__
        if "reader" not in attributes:  # before the constructor of titop's class, which makes another reader
            attributes[self.attribute] = value
        elif self.attribute not in attributes:  # by the constructor
            attributes[self.attribute] = self.read(block, self.argument, value)
        elif isinstance(value, complex) or getattr(getattr(value, "dtype", None), "kind", "") == "c":  # a complex step
            attributes[self.attribute] = value
        else:
            self.change(block, value)

    def change(self, block: Fielded, value: Any) -> None:
        """Read another value, which replaces the one before and its errors."""
        attributes = vars(block)
        attributes["reader"] = without(block.reader, self.argument)
        attributes[self.attribute] = self.read(block, self.argument, value)
        block._update()

    def keep(self, block: Fielded, value: Any) -> None:
        """Let a block have a value as it is."""
        vars(block)[self.attribute] = value

    if TYPE_CHECKING:  # stored values are read without a call of this

        def __get__(self, block: Any, owner: Any = None) -> T: ...


class Kept(Field[T]):
    """A field that can be neither added nor removed later: without it, another field has its role."""

    def change(self, block: Fielded, value: Any) -> None:
        """Read another value, or refuse it."""
        if (value is None) != (vars(block)[self.attribute] is None):
            refuse_change(block, self.argument, value)
        super().change(block, value)


class Fixed(Field[T]):
    """A field that cannot be changed later, since too much depends on it.

    `advice`: what to do instead; by default, to make another block.
    """

    advice = ""

    def change(self, block: Fielded, value: Any) -> None:
        """Refuse another value."""
        refuse_change(block, self.argument, value, self.advice)


class Consumed(Field[Any]):
    """An argument of a constructor that is not stored under its name: setting it would have no effect, and is refused.

    Users' classes may have attributes of such names.
    """

    def __get__(self, block: Any, owner: Any = None) -> Any:
        if block is None:
            return self
        if self.attribute not in vars(block):
            raise AttributeError(f"{type(block).__name__!r} object has no attribute {self.attribute!r}")
        return vars(block)[self.attribute]

    def __set__(self, block: Any, value: Any) -> None:
        if type(block).__module__.startswith("titop.blocks."):
            refuse_change(block, self.argument, value)
        vars(block)[self.attribute] = value


class Redefined(Field[Any]):
    """A `field` whose name is also an attribute of a user's class, `own`: a default, a property, `NOTHING` if only annotated.

    It replaces that attribute and returns its value; values that are set are read by the field first.
    """

    def __init__(self, field: Field[Any], own: Any) -> None:
        super().__init__(field.read, field.argument)
        self.field, self.own = field, own
        self.is_computed = hasattr(type(own), "__set__")

    def __get__(self, block: Any, owner: Any = None) -> Any:
        if not self.is_computed and block is not None and self.attribute in vars(block):
            return vars(block)[self.attribute]
        if self.own is NOTHING:
            raise AttributeError(f"{owner.__name__!r} has no attribute {self.attribute!r}")
        shown = getattr(type(self.own), "__get__", None)
        return shown(self.own, block, owner) if shown else self.own

    def __set__(self, block: Any, value: Any) -> None:
        is_later = "reader" in vars(block) and self.attribute in vars(block)
        self.field.__set__(block, value)
        if self.is_computed:
            self.own.__set__(block, vars(block)[self.attribute])
            if is_later:
                block._update()

    def keep(self, block: Fielded, value: Any) -> None:
        super().keep(block, value)
        if self.is_computed:
            self.own.__set__(block, value)


NOTHING = object()  # stands for an attribute that a class only annotates


def _gate_redefined(cls: type) -> None:
    """Wrap the attributes of a user's class that have names of fields."""
    annotated: Any = vars(cls).get("__annotations__", {})
    if sys.version_info >= (3, 14):  # where annotations are made when they are asked for, if the names in them are known
        import annotationlib

        annotated = annotationlib.get_annotations(cls, format=annotationlib.Format.FORWARDREF)
    for name, field in _found_fields(cls).items():
        own = getattr_static(cls, name)
        if isinstance(own, Field):
            if name not in annotated or name in vars(cls):
                continue
            own = NOTHING
        if not isinstance(field, Consumed):
            redefined = Redefined(getattr(field, "field", field), own)
            redefined.__set_name__(cls, name)
            setattr(cls, name, redefined)


def refuse_change(block: Fielded, argument: str, value: Any, advice: str = "") -> NoReturn:
    """Refuse to set a field of a block again, or a value that follows from other fields; then `advice` names these.

    Raises `ModelError`.
    """
    kind = type(block).__name__
    other = f"build another with {kind}(..., {argument}=...), or change numbers of the resolved model by with_parameters"
    expected = "the value that follows from other fields" if advice else "the value that it was made with"
    raise ModelError(Finding("cannot-change", f"{block.name}.{argument}", value, expected, advice or other))


def put(block: Any, name: str, value: Any) -> None:
    """Set an attribute; a field without reading it again, as copies made by `with_parameters` need it."""
    field = fields_of(type(block)).get(name)
    if field is None:
        setattr(block, name, value)
    else:
        field.keep(block, value)


def without(reader: FieldReader, field: str) -> FieldReader:
    """Return a reader with the findings of another, except those about a field."""
    copied = FieldReader(reader.owner)
    where = f"{reader.owner}.{field}"
    copied.findings = [finding for finding in reader.findings if not _is_about(finding, where)]
    copied.warnings = [finding for finding in reader.warnings if not _is_about(finding, where)]
    return copied


def fields_of(cls: Any) -> dict[str, Field[Any]]:
    """Return the fields of a class of blocks, by attribute."""
    return _fields_of(cls)


@cache
def _fields_of(cls: Any) -> dict[str, Field[Any]]:
    return _found_fields(cls)


def _found_fields(cls: type) -> dict[str, Field[Any]]:
    found: dict[str, Field[Any]] = {}
    for base in reversed(cls.__mro__):
        found |= {name: entry for name, entry in vars(base).items() if isinstance(entry, Field)}
    return found


def altered_fields(block: Fielded) -> list[Finding]:
    """Return what is wrong with a block's arrays after they were written to."""
    attributes, findings = block.__dict__, list[Finding]()
    for name, field in fields_of(type(block)).items():
        value = attributes.get(name)
        if type(value) is np.ndarray and value.dtype == float:
            square = value.ndim == 2 and 1 < value.shape[0] == value.shape[1]
            if isfinite(np.vdot(value, value)) and not (square and (value != value.T).any()):  # fast: of every block
                continue
        if isinstance(value, np.ndarray | complex | dict):
            findings += _newly_wrong(block, field, value)
    return findings


def refused_numbers(block: Fielded, numbers: Mapping[str, Any]) -> list[Finding]:
    """Return what is newly wrong with unread values of some attributes, those that are numbers in fields of numbers."""
    read = ((fields_of(type(block)).get(name), x) for name, x in numbers.items() if isinstance(x, Real))
    return [each for field, x in read if field and isinstance(field.read, _By) for each in _newly_wrong(block, field, x)]


def _newly_wrong(block: Fielded, field: Field[Any], value: Any) -> list[Finding]:
    reader, where = block.reader, f"{block.name}.{field.argument}"
    if any(_is_about(finding, where) for finding in reader.findings):
        return []
    vars(block)["reader"] = again = FieldReader(block.name)
    try:
        field.read(block, field.argument, value)
    finally:
        vars(block)["reader"] = reader
    return again.findings


def _is_about(finding: Finding, where: str) -> bool:
    return finding.where == where or finding.where.startswith((f"{where}.", f"{where}["))


def zero_axes(block: Fielded) -> list[Finding]:
    """Return the findings about directions of zeros among the fields of a block that are read as an `axis`."""
    cls: Any = type(block)
    expected, advice = "a non-zero direction", "give a direction such as [0, 0, 1]"
    given = ((field, getattr(block, field)) for field in _axis_fields(cls))
    zero = (field for field, value in given if value is not None and not value.any())
    return [Finding("zero-axis", f"{block.name}.{field}", [0, 0, 0], expected, advice) for field in zero]


@cache
def _axis_fields(cls: type) -> tuple[str, ...]:
    return tuple(name for name, field in fields_of(cls).items() if getattr(field.read, "of", field.read) is axis)


# -- readers of fields ------------------------------------------------------------------------------------------------


class _By:
    """Reads by a method of `FieldReader`, with `more` arguments after the value; the block itself stays as it is."""

    def __init__(self, method: str, *more: Any) -> None:
        self._method, self._more = method, more

    def __call__(self, block: Any, field: str, value: Any) -> Any:
        return getattr(block.reader, self._method)(field, value, *self._more)


#: A finite number; one that must not be negative, and may be infinite; True or False.
scalar: Read[float] = _By("scalar")
bound: Read[float] = _By("bound")
switch: Read[bool] = _By("switch")
#: A direction (3), not of zeros; three finite numbers; any number of them.
axis: Read[Array] = _By("axis")
vector: Read[Array] = _By("array", (3,))
numbers: Read[Array] = _By("numbers")


def non_negative(code: str) -> Read[float]:
    """Return a reader of a number that must not be negative; else the finding has this code."""
    return _By("non_negative", code)


def positive(code: str, *says: str) -> Read[float]:
    """Return a reader of a number greater than zero; else the finding has this code, and perhaps says what is expected."""
    return _By("positive", code, *says)


def symmetric(n: int) -> Read[Array]:
    """Return a reader of a symmetric n x n matrix."""
    return _By("symmetric", n)


def per_coordinate(block: Any, field: str, value: Any) -> Array:
    """Read a symmetric matrix over the block's coordinates (n x n)."""
    return block.reader.symmetric(field, value, block.nv)


class _Optional:
    """Reads a field that may be None, else by the reader `of`."""

    def __init__(self, of: Read[Any]) -> None:
        self.of = of

    def __call__(self, block: Any, field: str, value: Any) -> Any:
        return None if value is None else self.of(block, field, value)


def optional(read: Read[T]) -> Read[T | None]:
    """Return a reader of a field that may be None."""
    return _Optional(read)


def instance(cls: type[T], advice: str, code: str = "wrong-type") -> Read[T | None]:
    """Return a reader of an object of a public class of titop, or None; else the finding has this code."""

    def read(block: Any, field: str, value: Any) -> T | None:
        if value is None or isinstance(value, cls):
            return value
        block.reader.report(code, field, value, f"a tt.{cls.__name__}", advice)
        return None

    return read


def choice(options: Collection[str], code: str) -> Read[Any]:
    """Return a reader of one of the `options`; else the finding has this code."""

    def read(block: Any, field: str, value: Any) -> Any:
        if value not in options:
            block.reader.report(code, field, value, " or ".join(options), did_you_mean(value, options))
        return value

    return read
