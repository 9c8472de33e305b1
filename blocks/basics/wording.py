"""Foreign text in messages: printable, on one line, short; and known names that are similar to another."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import Any

#: Largest number of characters of a value in a message, and of a sentence that may list names.
VALUE_LENGTH = 200
SENTENCE_LENGTH = 1000

#: Limits of the comparison with known names: characters of each, characters of all, and the number compared closely. It takes
#: about 10 ms at most, for any number of names.
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
    """Return a line with escapes for unprintable characters, cut after `length` characters; blanks stay."""
    cut = line[:length] + (" ..." if len(line) > length else "")
    return cut if cut.isprintable() else "".join(c if c.isprintable() else ascii(c)[1:-1] for c in cut)


def closest_names(name: str, known: Iterable[str]) -> list[str]:
    """Return up to three of the known names that are similar to a name, the most similar first."""
    wanted, left = name[:_COMPARED_LENGTH], _COMPARED_CHARACTERS
    wanted_pairs = _pairs(wanted)
    names: dict[str, str] = {}
    likeness: dict[str, float] = {}
    for other in known:
        part = other[:_COMPARED_LENGTH]
        left -= len(part) + 1
        if left < 0:
            break
        if part not in names:
            pairs = _pairs(part)
            names[part], likeness[part] = other, len(wanted_pairs & pairs) / (len(wanted_pairs) + len(pairs))
    candidates = sorted(names, key=likeness.__getitem__, reverse=True)[:_CANDIDATES]
    return [names[part] for part in difflib.get_close_matches(wanted, candidates, n=3)]


def _pairs(name: str) -> set[str]:
    """Return the pairs of neighbouring characters of a name, with marks at its start and end."""
    return {f"^{name}$"[k : k + 2] for k in range(len(name) + 1)}
