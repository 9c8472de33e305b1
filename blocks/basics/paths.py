"""Dotted names: a block's name, then a part or quantity of it, as in ``"hub.C"``, ``"boom.mode1"``, ``"slider.com.x"``.

Only `titop.solvers.signals` splits dotted names as well: it knows the meaning of their last parts.
"""

from __future__ import annotations


def owner_of(path: str) -> str:
    """Return the first part of a dotted name: the block's."""
    return path.partition(".")[0]


def entry_of(path: str) -> str:
    """Return the rest of a dotted name after the first part; empty if there is none."""
    return path.partition(".")[2]


def split_path(path: str) -> tuple[str, str | None]:
    """Return the first part of a dotted name, and the rest: None if there is no dot."""
    owner, dot, rest = path.partition(".")
    return owner, rest if dot else None


def split_end(path: str) -> tuple[str, str]:
    """Return all but the last part of a dotted name (empty if there is one part), and the last part."""
    stem, _, end = path.rpartition(".")
    return stem, end


def parts_of(path: str) -> list[str]:
    """Return the parts of a dotted name."""
    return path.split(".")
