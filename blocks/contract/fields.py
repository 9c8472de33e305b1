"""The one gate through which what users give to a block comes in: to its constructor, and whenever they set a field later.

A class of blocks declares each of its fields once, with how it is read::

    class Spring(Block):
        stiffness = Field(non_negative("negative-stiffness"))

        def __init__(self, name, stiffness):
            super().__init__(name)
            self.stiffness = stiffness  # read, and what is wrong with it kept for the report

A value set later is read in the same way: it takes the place of the earlier one, and of what was wrong with that. Reading a
field costs nothing more, since only setting passes the gate.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from functools import cache
from inspect import getattr_static
from math import isfinite
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Generic, NoReturn, TypeVar

import numpy as np

from titop.blocks.basics.errors import Finding, ModelError, did_you_mean
from titop.blocks.basics.spatial import Array
from titop.blocks.basics.user_input import FieldReader

T = TypeVar("T")

#: Reads a field: the block whose reader takes what is wrong, the name that users know the field by, what they gave.
Read = Callable[[Any, str, Any], T]


class Fielded:
    """What has fields: blocks and systems.

    Attributes
    ----------
    name : str
    reader : FieldReader
        Keeps what is wrong with the fields until all of it is reported.
    """

    name: str
    reader: FieldReader

    def __init_subclass__(cls, **given: Any) -> None:
        super().__init_subclass__(**given)
        if not cls.__module__.startswith("titop."):
            _gate_redefined(cls)

    def _begin(self, name: str) -> FieldReader:
        """Return the reader of what is being made, and drop what a class of users gave for fields before."""
        if "reader" not in vars(self):
            for field in fields_of(type(self)):
                vars(self).pop(field, None)
            self.reader = FieldReader(name)
        return self.reader

    def _update(self) -> None:
        """Bring what is computed from the fields up to date, after one of them was set; where something is, classes do so."""


class Field(Generic[T]):
    """A field of a class of blocks.

    Parameters
    ----------
    read : function of block, name and value
        Returns what the block keeps; given that, it returns the same again.
    argument : str, optional
        What the constructor calls the field; as the attribute by default. Another name is a property of the class, by which
        the field can be set as well: annotate it in the class.
    shown : function of the block, optional
        What that property is; what the field holds by default.
    """

    def __init__(self, read: Read[T], argument: str = "", shown: Callable[[Any], Any] | None = None) -> None:
        self.read = read
        self.argument = argument
        self.shown = shown
        self.attribute = ""

    def __set_name__(self, owner: type, name: str) -> None:
        self.attribute = name
        self.argument = self.argument or name
        if self.argument != name:
            says = f"What the constructor calls so, kept as `{name}`; set, it is read as the constructor does."
            setattr(owner, self.argument, property(self.shown or attrgetter(name), self.__set__, doc=says))

    def __set__(self, block: Any, value: Any) -> None:
        own = block.__dict__
        if "reader" not in own:  # before the constructor of titop's class, which gives another
            own[self.attribute] = value
        elif self.attribute not in own:  # by the constructor
            own[self.attribute] = self.read(block, self.argument, value)
        elif _carries_derivatives(value):
            own[self.attribute] = value
        else:
            self.change(block, value)

    def change(self, block: Fielded, value: Any) -> None:
        """Read another value, in place of the one before and of what was wrong with that."""
        own = vars(block)
        own["reader"] = without(block.reader, self.argument)
        own[self.attribute] = self.read(block, self.argument, value)
        block._update()

    def keep(self, block: Fielded, value: Any) -> None:
        """Let a block have a value as it is."""
        vars(block)[self.attribute] = value

    if TYPE_CHECKING:  # what instances keep is read without passing here

        def __get__(self, block: Any, owner: Any = None) -> T: ...


class Kept(Field[T]):
    """A field that cannot be given later where it was not given, nor be taken away: another field stands in its place."""

    def change(self, block: Fielded, value: Any) -> None:
        """Read another value, or refuse it."""
        if (value is None) != (vars(block)[self.attribute] is None):
            refuse_change(block, self.argument, value)
        super().change(block, value)


class Fixed(Field[T]):
    """A field on which so much rests that it cannot be changed later.

    Attributes
    ----------
    advice : str
        What to do instead; to make another block by default.
    """

    advice = ""

    def change(self, block: Fielded, value: Any) -> None:
        """Refuse another value."""
        refuse_change(block, self.argument, value, self.advice)


class Consumed(Field[Any]):
    """What a constructor takes and keeps nothing of by that name: setting it would do nothing, and is refused.

    Classes of users may have attributes of such names.
    """

    def __init__(self) -> None:
        super().__init__(lambda block, field, value: value)

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
    """A `field` whose name a class of users has for an attribute of its `own`: a default, a property, `NOTHING` but annotated.

    It stands in that attribute's place, and shows it; what is set passes the field's gate first.
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
        """Let a block have a value as it is."""
        super().keep(block, value)
        if self.is_computed:
            self.own.__set__(block, value)


NOTHING = object()  # what a class has for an attribute that it only annotates


def _gate_redefined(cls: type) -> None:
    """Put fields before the attributes of a class of users that have their names."""
    annotated = vars(cls).get("__annotations__", {})
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
    """Refuse to set a field of a block again, or what follows from others: those to set are the `advice` then.

    Raises
    ------
    ModelError
    """
    kind = type(block).__name__
    other = f"build another with {kind}(..., {argument}=...), or change numbers of the resolved model by with_parameters"
    expected = "the value that follows from other fields" if advice else "the value that it was made with"
    raise ModelError(Finding("cannot-change", f"{block.name}.{argument}", value, expected, advice or other))


def put(block: Any, name: str, value: Any) -> None:
    """Set an attribute; a field to what has been read, or computed, as it is: copies that `with_parameters` makes need that."""
    field = fields_of(type(block)).get(name)
    if field is None:
        setattr(block, name, value)
    else:
        field.keep(block, value)


def without(reader: FieldReader, field: str) -> FieldReader:
    """Return a reader with the findings of another, but for those about a field."""
    kept = FieldReader(reader.owner)
    where = f"{reader.owner}.{field}"
    kept.findings = [finding for finding in reader.findings if not _is_about(finding, where)]
    kept.warnings = [finding for finding in reader.warnings if not _is_about(finding, where)]
    return kept


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
    """Return what has become wrong, by writing into them, with arrays that a block had read."""
    own, found = block.__dict__, list[Finding]()
    for name, field in fields_of(type(block)).items():
        value = own.get(name)
        if type(value) is np.ndarray and value.dtype == float:
            square = value.ndim == 2 and 1 < value.shape[0] == value.shape[1]
            if isfinite(np.vdot(value, value)) and not (square and (value != value.T).any()):  # fast: of every block
                continue
        if isinstance(value, np.ndarray | complex | dict):
            found += _read_again(block, field, value)
    return found


def _read_again(block: Fielded, field: Field[Any], value: Any) -> list[Finding]:
    """Return what is wrong with a value that was read before, but for what was known then."""
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
    """Tell whether a finding is about a field or a part of it."""
    return finding.where == where or finding.where.startswith((f"{where}.", f"{where}["))


def _carries_derivatives(value: Any) -> bool:
    """Tell whether a number or an array takes a complex step, as blocks do whose derivatives by their fields are asked for."""
    return isinstance(value, complex) or getattr(getattr(value, "dtype", None), "kind", "") == "c"


# -- how fields are read ------------------------------------------------------------------------------------------------


def scalar(block: Any, field: str, value: Any) -> float:
    """Read a finite number."""
    return block.reader.scalar(field, value)


def bound(block: Any, field: str, value: Any) -> float:
    """Read a number that must not be negative, and may be infinite."""
    return block.reader.bound(field, value)


def switch(block: Any, field: str, value: Any) -> bool:
    """Read True or False."""
    return block.reader.switch(field, value)


def axis(block: Any, field: str, value: Any) -> Array:
    """Read a direction (3)."""
    return block.reader.axis(field, value)


def vector(block: Any, field: str, value: Any) -> Array:
    """Read three finite numbers."""
    return block.reader.array(field, value, (3,))


def numbers(block: Any, field: str, value: Any) -> Array:
    """Read however many finite numbers there are."""
    return block.reader.numbers(field, value)


def non_negative(code: str) -> Read[float]:
    """Return how to read a number that must not be negative; else the finding has this code."""
    return lambda block, field, value: block.reader.non_negative(field, value, code)


def symmetric(n: int) -> Read[Array]:
    """Return how to read a symmetric n x n matrix."""
    return lambda block, field, value: block.reader.symmetric(field, value, n)


def per_coordinate(block: Any, field: str, value: Any) -> Array:
    """Read a symmetric matrix over the block's coordinates (n x n)."""
    return block.reader.symmetric(field, value, block.nv)


def optional(read: Read[T]) -> Read[T | None]:
    """Return how to read a field that may be None."""
    return lambda block, field, value: None if value is None else read(block, field, value)


def choice(options: Collection[str], code: str) -> Read[Any]:
    """Return how to read one of some words; else the finding has this code."""

    def read(block: Any, field: str, value: Any) -> Any:
        if value not in options:
            block.reader.report(code, field, value, " or ".join(options), did_you_mean(value, options))
        return value

    return read
