"""What stands in a layer above and is called from below, so that users can write ``s.resolve()`` and ``m.to_nlsys(...)``.

Who calls it knows its name alone. The facade, which knows all layers, says in its register `ABOVE` where it stands; it is
loaded when it is first called.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib import import_module
from typing import Any


def above(name: str) -> Callable[..., Any]:
    """Return the function of a name in the facade's register."""
    facade: Any = sys.modules["titop"]
    function: Callable[..., Any] = getattr(import_module(facade.ABOVE[name]), name)
    return function
