"""Dotted names: a block's name comes first, then what is meant of it, as in ``"hub.C"``, ``"boom.mode1"``, ``"slider.com.x"``.

Nobody else takes dotted names apart but `titop.solvers.signals`, which knows what their last parts mean.
"""

from __future__ import annotations


def owner_of(path: str) -> str:
    """Return the first part of a dotted name: the block's."""
    return path.partition(".")[0]


def entry_of(path: str) -> str:
    """Return all that follows the first part of a dotted name; empty where nothing does."""
    return path.partition(".")[2]


def split_path(path: str) -> tuple[str, str | None]:
    """Return the first part of a dotted name, and all that follows: None where there is no dot."""
    owner, dot, rest = path.partition(".")
    return owner, rest if dot else None


def split_end(path: str) -> tuple[str, str]:
    """Return what stands before the last part of a dotted name, empty if there is one part, and that last part."""
    stem, _, end = path.rpartition(".")
    return stem, end


def parts_of(path: str) -> list[str]:
    """Return the parts of a dotted name."""
    return path.split(".")
