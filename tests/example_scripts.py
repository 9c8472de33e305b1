"""Running the scripts of ``examples/``."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

EXAMPLES = Path(__file__).parents[1] / "examples"


def script(name: str) -> dict[str, Any]:
    """Return the names that a script defines."""
    return runpy.run_path(str(EXAMPLES / f"{name}.py"))
