"""Machine code with the names of what must be loaded before it, and the files that keep both."""

from __future__ import annotations

from collections.abc import Container, Mapping
from typing import NamedTuple

from titop.solvers.native import cache

#: Among the names of what is needed: numba's own functions.
NUMBA = "numba"


class ObjectCode(NamedTuple):
    """Machine code of one function, not yet loaded.

    Attributes
    ----------
    code : bytes
    needs : tuple of str
        Names of shared parts (see `parts`), and `NUMBA`.
    is_kept : bool
        Whether the cache has it.
    """

    code: bytes
    needs: tuple[str, ...] = ()
    is_kept: bool = False


#: Machine code of a function and of the shared parts that it needs, by name.
Codes = Mapping[str, ObjectCode]


def read(name: str, loaded: Container[str] = ()) -> Codes | None:
    """Return what is kept of a function and of all that it needs, less what is `loaded`; None where anything is missing."""
    codes: dict[str, ObjectCode] = {}
    waiting = [name]
    while waiting:
        if (content := cache.read(wanted := waiting.pop())) is None:
            return None
        needs, _, code = content.partition(b"\n")
        codes[wanted] = found = ObjectCode(code, tuple(needs.decode().split()), True)
        waiting += [need for need in found.needs if need != NUMBA and need not in loaded and need not in codes]
    return codes


def keep(codes: Codes) -> str | None:
    """Keep what is not kept yet, the function itself last; return None, or why it is not kept."""
    for name, (code, needs, is_kept) in reversed(list(codes.items())):
        if not is_kept and (reason := cache.write(name, " ".join(needs).encode() + b"\n" + code)):
            return reason
    return None
