"""The words of strangers in messages: printable, on one line, short; and which known names are near to another."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import Any

#: Characters that a message shows of a value, and of a sentence that may list names.
VALUE_LENGTH = 200
SENTENCE_LENGTH = 1000

#: What is compared with a name: so many characters of another and of all others, and so many others closely. Some 10 ms at
#: most, however many names there are.
_COMPARED_LENGTH = 100
_COMPARED_CHARACTERS = 40_000
_CANDIDATES = 20


def shown(value: Any, length: int = VALUE_LENGTH) -> str:
    """Return a value as a message shows it: printable characters on one line, cut after `length` of them.

    Examples
    --------
    >>> print(shown("red \\x1b[31m\\n alert"))
    red \\x1b[31m alert
    """
    text = str(value)
    line = " ".join(text[: 2 * length].split())
    return escape(line, length) if len(text) <= 2 * length else f"{escape(line[:length])} ..."


def escape(line: str, length: int = SENTENCE_LENGTH) -> str:
    """Return a line with what is not printable written out, cut after `length` characters; blanks stay."""
    cut = line[:length] + (" ..." if len(line) > length else "")
    return cut if cut.isprintable() else "".join(c if c.isprintable() else ascii(c)[1:-1] for c in cut)


def closest_names(name: str, known: Iterable[str]) -> list[str]:
    """Return up to three of the known names that are near to a name, the nearest first."""
    wanted, left = name[:_COMPARED_LENGTH], _COMPARED_CHARACTERS
    own = _pairs(wanted)
    names: dict[str, str] = {}
    likeness: dict[str, float] = {}
    for other in known:
        part = other[:_COMPARED_LENGTH]
        left -= len(part) + 1
        if left < 0:
            break
        if part not in names:
            pairs = _pairs(part)
            names[part], likeness[part] = other, len(own & pairs) / (len(own) + len(pairs))
    candidates = sorted(names, key=likeness.__getitem__, reverse=True)[:_CANDIDATES]
    return [names[part] for part in difflib.get_close_matches(wanted, candidates, n=3)]


def _pairs(name: str) -> set[str]:
    """Return the letters of a name two by two, the first and the last with its end."""
    return {f"^{name}$"[k : k + 2] for k in range(len(name) + 1)}
