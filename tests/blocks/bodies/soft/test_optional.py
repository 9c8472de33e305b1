"""Libraries that are not installed are told with how to get them."""

from __future__ import annotations

import sys
from types import ModuleType

import pytest

from tests.refusals import refusal
from titop.blocks.bodies.soft.optional import casadi, meshio


def test_libraries_are_themselves() -> None:
    assert casadi() is sys.modules["casadi"]


@pytest.mark.parametrize(("library", "name"), [(casadi, "casadi"), (meshio, "meshio")])
def test_missing_ones_are_named(library: ModuleType, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, name, None)
    with refusal("missing-extra", f'pip install "titop[soft]", or pip install {name}'):
        library()  # type: ignore[operator]
