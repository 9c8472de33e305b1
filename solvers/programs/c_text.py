"""C text: numbers, names, comments and arrays, as all exported files have them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from titop.blocks.basics.errors import Finding, ModelError
from titop.blocks.basics.spatial import Array
from titop.blocks.basics.tolerances import EPS

#: Words that C99, or C++ which may include the header, keeps for itself; and headers that exported C includes.
_WORDS = set(
    """and and_eq asm auto bitand bitor bool break case catch char class compl const const_cast continue default delete do
    double dynamic_cast else enum explicit export extern false float for friend goto if inline int long mutable namespace new
    not not_eq operator or or_eq private protected public register reinterpret_cast restrict return short signed sizeof static
    static_cast struct switch template this throw true try typedef typeid typename union unsigned using virtual void volatile
    wchar_t while xor xor_eq math stdio""".split()  # noqa: SIM905
)
#: Bytes of a call's frame beside its arrays: scalars, saved registers, return address.
_FRAME = 192
#: One rounding of a float, relative: not in the table of tolerances, which is full and of double precision; C alone has it.
SINGLE_EPS = float(np.finfo(np.float32).eps)
#: Errors in tests, in roundings, beside what rounding inputs and states costs: sums in another order, rounded constants.
_MARGIN = 100
_COLUMNS, _MARK = 110, r"@real|@p|@P|<(\w+)>"


def c_number(value: float, precision: str) -> str:
    """Return a number as C reads it: the shortest text that gives the same bits in that precision."""
    if not np.isfinite(value):
        return "NAN" if value != value else "INFINITY" if value > 0 else "-INFINITY"
    if precision == "double":
        return repr(float(value))
    with np.errstate(over="ignore"):
        single = np.float32(value)
    if not np.isfinite(single):
        expected = "numbers that single precision holds, up to 3e38"
        raise ModelError(Finding("out-of-range", "precision", value, expected, 'give precision="double"'))
    return f"{single!s}f"


def c_names(paths: Iterable[str]) -> dict[str, str]:
    """Return a name in C for each path: what C forbids becomes an underscore; of the same ones later ones get a number."""
    taken, result = set(_WORDS), dict[str, str]()
    for path in paths:
        stem = re.sub(r"[^A-Za-z0-9]+", "_", path).strip("_") or "x"
        stem = f"x{stem}" if stem[0].isdigit() else stem
        name, count = stem, 1
        while name.lower() in taken:
            count += 1
            name = f"{stem}_{count}"
        taken.add(name.lower())
        result[path] = name
    return result


def comment(text: str) -> str:
    """Return text as a comment in C, whatever it contains, marks of templates too."""
    text = text.replace("@", "(at)").replace("<", "(").replace(">", ")")
    plain = text.encode("ascii", "replace").decode().replace("*/", "* /").replace("/*", "/ *")
    return f"/* {plain} */"


def table(values: Any, precision: str) -> str:
    """Return an array as the braces that initialise it."""
    array: Array = np.asarray(values, dtype=float)
    if array.ndim > 1:
        return "{" + ",\n     ".join(table(row, precision) for row in array) + "}"
    lines, line = list[str](), ""
    for text in (c_number(value, precision) for value in array.tolist()):
        if line and len(line) + len(text) > _COLUMNS:
            lines.append(line.rstrip())
            line = ""
        line += f"{text}, "
    return "{" + "\n      ".join([*lines, line]).rstrip(", ") + "}"


def allowed_error(cost: float, precision: str) -> float:
    """Return the error that a test allows, in parts of the largest answer, where single precision costs so much of it."""
    return float(f"{_MARGIN * (EPS if precision == 'double' else SINGLE_EPS) * max(1.0, cost / SINGLE_EPS):.1e}")


def stack_bytes(numbers: int, precision: str, frames: int = 1) -> int:
    """Return what arrays of so many numbers, and frames of calls, take of a stack at most."""
    return (8 if precision == "double" else 4) * numbers + _FRAME * frames


def fill(template: str, prefix: str, precision: str, values: Mapping[str, str]) -> str:
    """Return a template with its marks replaced: ``@p``, ``@P`` by the prefix, ``@real`` by the type, ``<name>`` by values.

    Values may have marks, too.
    """
    marks = {"@p": prefix, "@P": prefix.upper(), "@real": precision}

    def replaced(match: re.Match[str]) -> str:
        return marks.get(match[0]) or re.sub(_MARK, replaced, values[match[1]])

    return re.sub(_MARK, replaced, template)


def enumeration(title: str, prefix: str, notes: Mapping[str, str]) -> str:
    """Return names as an enumeration from zero on, with a comment each."""
    ends = [*("," for _ in notes), ""][1:]
    rows = (
        f"    {prefix}_{name}".upper() + f"{end}  {comment(note)}"
        for (name, note), end in zip(notes.items(), ends, strict=True)
    )
    return f"{comment(title)}\nenum {{\n" + "\n".join(rows) + "\n};\n\n"
