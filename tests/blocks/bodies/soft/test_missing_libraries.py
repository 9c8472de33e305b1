"""Libraries that are not installed are told with how to get them."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import pytest

import titop as tt
from tests.refusals import refusal
from titop.blocks.bodies.soft.casadi_expressions import casadi


def test_libraries_are_themselves() -> None:
    assert casadi() is sys.modules["casadi"]


@pytest.mark.parametrize(("use", "name"), [(casadi, "casadi"), (lambda: tt.Domain.mesh("arm.msh"), "meshio")])
def test_missing_ones_are_named(use: Callable[[], Any], name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, name, None)
    with refusal("missing-extra", f'pip install "titop[soft]", or pip install {name}'):
        use()
