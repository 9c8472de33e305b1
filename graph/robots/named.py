"""Robots by the names under which the package robot_descriptions has them."""

from __future__ import annotations

import importlib
import os
import re
from typing import Any

from titop.blocks.basics.errors import Finding, ModelError, missing_extra

_NAME = re.compile(r"[a-z0-9_]+_description")


def path_of(path_or_text: Any, language: str) -> Any:
    """Return the path of the file in a `language` of a robot that is given by name; what is no such name as it is.

    The package fetches robots that it does not have yet, from their repositories. Raises `ModelError` if it is not installed,
    or has no such robot in this language.
    """
    if not isinstance(path_or_text, str) or not _NAME.fullmatch(path_or_text) or os.path.exists(path_or_text):
        return path_or_text
    try:
        importlib.import_module("robot_descriptions")
    except ImportError:
        raise missing_extra(
            "robot_descriptions", "robots", path_or_text, "a path, or that package for robots by name"
        ) from None
    try:
        return getattr(importlib.import_module(f"robot_descriptions.{path_or_text}"), f"{language}_PATH")
    except (ImportError, AttributeError):
        expected, advice = f"a robot that robot_descriptions has in {language}", "see its list of robots"
        raise ModelError(Finding("unknown-robot", "path_or_text", path_or_text, expected, advice)) from None
