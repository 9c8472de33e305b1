"""The types of what kernels take and give back, for the compiler and for calls from Python."""

from __future__ import annotations

from typing import NamedTuple


class Type(NamedTuple):
    """A number, or with `ndim` a C-contiguous array of numbers; one that is not `given` the kernel gets without numbers.

    What is `stacked`, ``"read"``, ``"written"`` or ``"changed"``, is each state's own: with several at once it lies in lanes
    (see `lanes`).
    """

    dtype: str
    ndim: int = 0
    given: bool = True
    stacked: str = ""

    def __str__(self) -> str:
        """The type in numba's notation."""
        return f"{self.dtype}[{':, ' * (self.ndim - 1)}::1]" if self.ndim else self.dtype


INTEGER, REAL, FLAG = Type("int64"), Type("float64"), Type("boolean")
INTS, FLOATS = Type("int64", 2), Type("float64", 2)
VECTOR, MASK, CUBE = Type("float64", 1), Type("boolean", 1), Type("float64", 3)

#: A vector of a state, and the address of such numbers; and vector, matrix and matrices that a kernel writes for it.
STATE, STATE_AT = Type("float64", 1, stacked="read"), Type("int64", stacked="read")
#: A table of a system's numbers, and the address of such numbers: in lanes where several systems are computed at once.
TABLE, TABLE_AT = Type("float64", 2, stacked="table"), Type("int64", stacked="table")
CHANGED, CHANGED_ROWS = (Type("float64", ndim, stacked="changed") for ndim in (1, 2))
RESULT, RESULT_ROWS, RESULT_CUBE = (Type("float64", ndim, stacked="written") for ndim in (1, 2, 3))

#: The forms of a function: of one state; in lanes, of several states; and of several members, whose tables lie in lanes, too.
SINGLE, IN_LANES, OF_MEMBERS = "", "in_lanes", "of_members"
#: And of one state along a motion, in jets (see `jets`), with tables of jets or not; and of how many coefficients these are.
ALONG, ALONG_LOADED, ORDERS = "along", "along_loaded", 4

#: What a function called by its address returns where an exception keeps it from answering.
RAISED = -6

#: Addresses of Python's functions are told by one more than they are, and what these answer by so much more than they mean:
#: where a signal keeps one from being entered, nothing answers at all.
IN_PYTHON = 1
ANSWERED = 1 << 40
#: The name by which machine code finds where to count lost answers.
LOST = "titop_lost"
#: ... and what to call with numba's record of an exception that keeps it from answering.
STOPPED = "titop_stopped"


def lies_in_lanes(kind: Type, form: str) -> bool:
    """Tell whether an argument lies in lanes in a form of a function."""
    return form != SINGLE and bool(kind.stacked) and (form in (OF_MEMBERS, ALONG_LOADED) or kind.stacked != "table")


class Signature(NamedTuple):
    """The arguments of a kernel and its result: a status, unless said otherwise."""

    arguments: tuple[Type, ...]
    result: Type = INTEGER

    def __str__(self) -> str:
        """The signature in numba's notation."""
        return f"{self.result}({', '.join(map(str, self.arguments))})"
