"""Sending blocks to other processes: what cannot go is told by the block and the field that hold it."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np

from titop.blocks.basics.errors import Finding, ModelError
from titop.blocks.contract.fields import Fielded

#: What goes everywhere.
_PLAIN = str | int | float | complex | np.ndarray | None
_ADVICE = "write it by def, or class, at the top of a module, not as a lambda or inside a function; or use one process"


def check_sending(block: Fielded) -> None:
    """Refuse to send a block whose class, or the functions it holds, another process could not find.

    Raises
    ------
    ModelError
        That names the first.
    """
    cls = type(block)
    if "<locals>" in cls.__qualname__:
        _refuse(block.name, cls.__qualname__)
    for field, value in vars(block).items():
        if isinstance(value, _PLAIN | Fielded):
            continue
        try:
            pickle.dumps(value)
        except ModelError:
            raise
        except Exception as error:  # pickle raises what it pleases
            _refuse(f"{block.name}.{field.lstrip('_')}", _culprit(value, error))


def _culprit(value: Any, error: Exception) -> Any:
    """Return the function that cannot be sent, if that is what a value is or holds, or else what is said of it."""
    held = value.values() if isinstance(value, dict) else value if isinstance(value, tuple | list) else (value,)
    functions = (each for each in held if callable(each) and "<" in getattr(each, "__qualname__", ""))
    return next(functions, f"{type(value).__name__} ({str(error).splitlines()[0]})")


def _refuse(where: str, found: Any) -> None:
    raise ModelError(Finding("cannot-send", where, found, "what another process finds by its name", _ADVICE))
