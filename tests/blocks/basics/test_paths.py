"""Dotted names, taken apart and put together again."""

from __future__ import annotations

import pytest

from titop.blocks.basics import paths


@pytest.mark.parametrize("path", ["hub", "hub.C", "slider.com.x", "hub.", ".x", "", "a..b"])
def test_parts_make_up_the_name(path: str) -> None:
    owner, rest = paths.split_path(path)
    assert owner == paths.owner_of(path)
    assert path == (owner if rest is None else f"{owner}.{rest}")
    assert paths.entry_of(path) == (rest or "")
    assert ".".join(paths.parts_of(path)) == path
    assert "." not in owner
    assert (rest is None) == ("." not in path)
