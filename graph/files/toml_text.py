"""TOML as text: guarded reading, and writing in one stable form.

The standard library reads TOML but does not write it; `format_table` writes what model files hold, one table a block
and matrices row by row.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Mapping
from typing import Any

from titop.blocks.basics.errors import Finding, ModelError

#: Largest text in characters; most tables, and most keys, their parts, values, lists and operations together: a few seconds
#: of reading. A robot of 6,000 links in full detail has 12,000 tables and 350,000 entries.
MAX_SIZE = 4_000_000
MAX_TABLES = 20_000
MAX_ENTRIES = 400_000
#: Deepest nesting, and most dots in a line besides those of numbers (reading a dotted key takes quadratic time).
MAX_DEPTH = 12
MAX_DOTS = 100

_IN_NUMBER = re.compile(r"\d\.\d")
_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")
_PLACE = re.compile(r"^(.*) \(at (?:line (\d+), column (\d+)|end of document)\)$", re.DOTALL)


def parse_toml(text: str) -> dict[str, Any]:
    """Return the content of a TOML text.

    Raises `ModelError` with line and column if the text is not TOML; also if it is too large or too deeply nested.
    """
    check_size(text)
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ModelError(_syntax_finding(text, str(error))) from None
    except RecursionError:
        raise _too_deep() from None
    except ValueError as error:  # an integer of thousands of digits
        raise ModelError(Finding("not-toml", "file", error, "TOML", "shorten the number")) from None
    if _is_deeper(document, MAX_DEPTH):
        raise _too_deep()
    return document


def check_size(text: str) -> None:
    """Refuse a text that would take long to read.

    Raises `ModelError` if it has too many characters, tables, entries, or dots in a line.
    """
    entries = sum(map(text.count, "=,[+-*/(")) + _dots(text)
    for count, most, what in (
        (len(text), MAX_SIZE, "characters"),
        (text.count("\n["), MAX_TABLES, "tables"),
        (entries, MAX_ENTRIES, "keys, values and operations"),
    ):
        if count > most:
            raise _too_large(f"{count} {what}", f"at most {most} {what}", "split the model")
    for number, line in enumerate(text.split("\n"), start=1):
        if line.count(".") > MAX_DOTS and _dots(line) > MAX_DOTS:
            raise _too_large(f"line {number}", f"at most {MAX_DOTS} dots a line", "break the line or shorten the key")


def _dots(text: str) -> int:
    """Return the number of dots that are not between two digits."""
    return text.count(".") - len(_IN_NUMBER.findall(text))


def _syntax_finding(text: str, message: str) -> Finding:
    match = _PLACE.match(message)
    reason, line, column = match.groups() if match else (message, None, None)
    lines = text.split("\n")
    if line is None:
        shown, where = lines[-1].strip(), f"line {len(lines)}, end of the file"
    else:
        shown, where = lines[int(line) - 1].strip(), f"line {line}, column {column}"
    advice = 'texts and expressions stand in quotes, "2*length"; every key stands once'
    return Finding("not-toml", where, repr(shown), f"TOML ({reason[:100]})", advice)


def _too_large(value: str, expected: str, advice: str) -> ModelError:
    return ModelError(Finding("too-large", "file", value, expected, advice))


def _too_deep() -> ModelError:
    advice = "a model file needs no more than a matrix in a table in a table"
    return ModelError(Finding("too-deep", "file", "deeper nesting", f"at most {MAX_DEPTH} nested tables and lists", advice))


def _is_deeper(value: Any, depth: int) -> bool:
    level = [value]
    for _ in range(depth + 1):
        lists = (item.values() if isinstance(item, dict) else item for item in level if isinstance(item, dict | list))
        level = [child for each in lists for child in each]
        if not level:
            return False
    return True


def format_table(header: tuple[str, ...], entries: Mapping[str, Any]) -> str:
    """Return a table as text.

    `header`: names that lead to the table; none for the top of a file; `entries`: of keys to numbers, texts, lists, or mappings
    of the same: these are written one key a line, ``ports.C = ...``.
    """
    lines = [f"[{'.'.join(map(format_key, header))}]"] if header else []
    for key, value in entries.items():
        if isinstance(value, Mapping) and value:
            lines += [f"{format_key(key)}.{format_key(inner)} = {format_value(entry)}" for inner, entry in value.items()]
        elif isinstance(value, list) and any(isinstance(row, list) for row in value):
            lines += [f"{format_key(key)} = [", *(f"    {format_value(row)}," for row in value), "]"]
        else:
            lines.append(f"{format_key(key)} = {format_value(value)}")
    return "\n".join(lines) + "\n"


def format_key(key: str) -> str:
    """Return a key, in quotes where it needs them."""
    return key if _BARE_KEY.fullmatch(key) else format_value(key)


def format_value(value: Any) -> str:
    """Return a value on one line; floats keep all their bits.

    Examples
    --------
    >>> format_value({"position": [0.1, 0.0, 1e-20], "frame": "world"})
    '{ position = [0.1, 0.0, 1e-20], frame = "world" }'
    """
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, list):
        return f"[{', '.join(map(format_value, value))}]"
    if isinstance(value, Mapping):
        inner = ", ".join(f"{format_key(key)} = {format_value(entry)}" for key, entry in value.items())
        return f"{{ {inner} }}" if inner else "{}"
    raise TypeError(f"no TOML for {type(value).__name__}")
