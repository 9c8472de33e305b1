"""Libraries that are not installed are told with how to get them."""

from __future__ import annotations

import sys

import pytest

import titop as tt
from tests.refusals import refusal


def test_missing_ones_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "meshio", None)
    with refusal("missing-extra", 'pip install "titop[soft]", or pip install meshio'):
        tt.Domain.mesh("arm.msh")
