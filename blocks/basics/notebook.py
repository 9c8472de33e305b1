"""What notebooks show of objects: HTML without scripts, that is XML too. Texts are escaped, and all sizes are bounded."""

from __future__ import annotations

import html
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields
from itertools import islice
from typing import Any

import numpy as np

from titop.blocks.basics.errors import numbers_text

#: At most so many rows of a table, cells of a row, entries of a value, and points of a curve.
ROWS, CELLS, ENTRIES, POINTS = 40, 12, 6, 60

#: The style of what matters less, in light and dark notebooks.
FAINT = "opacity:0.7"


class Markup(str):
    """Text that is HTML already."""

    __slots__ = ()


def printable(name: Any, longest: int = 28) -> str:
    """Return a name on one line, without control characters, cut in the middle if it is long."""
    text = "".join(c if c.isprintable() else " " for c in str(name))
    head = longest // 2
    return text if len(text) <= longest else f"{text[:head]}…{text[head + 1 - longest :]}"


def escaped(value: Any, longest: int = 40) -> Markup:
    """Return any value, briefly, as HTML; `Markup` stays as it is."""
    return value if isinstance(value, Markup) else Markup(html.escape(printable(_brief(value), longest)))


def page(title: Any, facts: Any, *parts: str) -> str:
    """Return a ``div`` with a title, a line of facts and what follows."""
    head = f"<p><b>{escaped(title, 60)}</b> <span style='{FAINT}'>{escaped(facts, 200)}</span></p>"
    return "\n".join(["<div style='font-family:sans-serif;font-size:13px;line-height:1.5'>", head, *parts, "</div>"])


def table(summary: str, rows: Iterable[Sequence[Any]], head: Sequence[str] = (), is_open: bool = True) -> Markup:
    """Return a table under a summary that opens and closes it; nothing if there are no rows."""
    rows = list(rows)
    shown = [("th", head)] * bool(head) + [("td", row) for row in rows[:ROWS]]
    cut = [(tag, row if len(row) <= CELLS else (*row[: CELLS - 1], "…")) for tag, row in shown]
    lines = ["".join(f"<{tag}>{escaped(cell, 200)}</{tag}>" for cell in row) for tag, row in cut]
    lines += [f"<td>and {len(rows) - ROWS} more</td>"] if len(rows) > ROWS else []
    state = " open=''" if is_open else ""
    body = "".join(f"<tr>{line}</tr>" for line in lines)
    return Markup(f"<details{state}><summary>{escaped(summary)}</summary><table>{body}</table></details>" if rows else "")


def curve(values: Any) -> Markup:
    """Return a small picture of numbers (n,) in their order; those that are not finite are left out."""
    y = np.asarray(values, dtype=float)
    y = y[np.unique(np.linspace(0, len(y) - 1, min(POINTS, len(y))).astype(int))]
    x, y = np.flatnonzero(np.isfinite(y)) * 120.0 / max(len(y) - 1, 1), y[np.isfinite(y)]
    low, high = min(y, default=0.0), max(y, default=0.0)
    heights = 19 - 18 * (y - low) / (high - low) if high > low else 10 + 0 * y
    points = " ".join(f"{a:.1f},{b:.1f}" for a, b in zip(x, heights, strict=True))
    return Markup(f"<svg width='120' height='20'><polyline points='{points}' fill='none' stroke='currentColor'/></svg>")


def counted(number: int, what: str) -> str:
    """Return a number of things: ``"1 state"``, ``"2 states"``."""
    return f"{number} {what}{'s' * (number != 1)}"


def member_text(values: Mapping[str, Any]) -> str:
    """Return the parameters of a member as results tell them."""
    return ", ".join(f"{name} = {_one(value)}" for name, value in values.items()) or "nominal"


def page_of(result: Any, *parts: str) -> str:
    """Return a page of an object by the first line that it prints, such as ``Model('arm', 2 bodies)``, and parts."""
    kind, first = type(result).__name__, next(iter(str(result).splitlines()), "")
    facts = first.removeprefix(f"{kind}(")
    return page(kind, first if facts == first else facts.removesuffix(")"), *parts)


def attributes_page(result: Any) -> str:
    """Return a dataclass as a page: the lines that it prints, and a table of its attributes."""
    lines = str(result).splitlines()[1:]
    rows = [(each.name, getattr(result, each.name)) for each in fields(result) if each.repr and each.name[0] != "_"]
    return page_of(result, table("more", ([line] for line in lines)), table("attributes", rows, is_open=False))


def _brief(value: Any) -> str:
    """Return a value: few numbers and names as they are, the start of others, shapes of arrays, else the type."""
    if isinstance(value, Mapping | list | tuple):
        entries = value.items() if isinstance(value, Mapping) else ((None, each) for each in value)
        parts = [f"{'' if name is None else f'{name} = '}{_one(each)}" for name, each in islice(entries, ENTRIES)]
        return ", ".join(parts + [f"and {len(value) - ENTRIES} more"] * (len(value) > ENTRIES))
    return _one(value)


def _one(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return numbers_text(value) if 0 < value.size <= ENTRIES and value.dtype.kind in "if" else f"array {value.shape}"
    if isinstance(value, float | complex | np.inexact):
        return f"{value:.6g}"
    return str(value) if value is None or isinstance(value, str | int | np.generic) else type(value).__name__
