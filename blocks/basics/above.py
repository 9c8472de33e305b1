"""Calls of functions in upper layers from below, so that users can write ``s.resolve()`` and ``m.to_nlsys(...)``.

The caller knows only the name of the function. The facade, which knows all layers, has the module of each name in its register
`ABOVE`; the module is imported at the first call.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib import import_module
from typing import Any

from titop.blocks.basics.garbage import collection_paused


def above(name: str) -> Callable[..., Any]:
    """Return the function of a name in the facade's register."""
    facade: Any = sys.modules["titop"]
    with collection_paused():
        function: Callable[..., Any] = getattr(import_module(facade.ABOVE[name]), name)
    return function
