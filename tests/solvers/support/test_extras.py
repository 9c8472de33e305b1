"""Libraries that are installed with an extra of titop."""

from __future__ import annotations

import sys

import pytest

from titop.solvers.support.extras import import_xarray


def test_the_library_is_itself() -> None:
    pytest.importorskip("xarray")
    assert import_xarray("to_xarray") is sys.modules["xarray"]


def test_what_needs_it_and_how_to_get_it_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "xarray", None)
    with pytest.raises(ImportError, match=r"^to_xarray needs xarray: pip install titop\[xarray\]$") as caught:
        import_xarray("to_xarray")
    assert caught.value.__suppress_context__
