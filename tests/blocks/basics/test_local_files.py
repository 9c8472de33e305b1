"""Local files are written whole or not at all, as model files are."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from tests.graph.files.model_texts import hand_built
from titop.graph.files.saving import save


def test_a_failure_leaves_the_old_file_and_nothing_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "x.toml"
    path.write_text("old")

    def refuse(*_: Any) -> None:
        raise OSError("no")

    monkeypatch.setattr(os, "replace", refuse)
    with pytest.raises(OSError, match="no"):
        save(hand_built(), path)
    assert [entry.name for entry in tmp_path.iterdir()] == ["x.toml"]
    assert path.read_text() == "old"


def test_where_nothing_can_be_written_the_path_is_named(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"nowhere/x\.toml") as caught:
        save(hand_built(), tmp_path / "nowhere" / "x.toml")
    assert ".tmp" not in str(caught.value)


def test_only_the_file_is_left(tmp_path: Path) -> None:
    for _ in range(2):
        save(hand_built(), str(tmp_path / "x.toml"))
    assert [entry.name for entry in tmp_path.iterdir()] == ["x.toml"]


@pytest.mark.skipif(os.name == "nt", reason="links need a privilege there")
def test_a_link_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "real.toml").touch()
    (tmp_path / "link.toml").symlink_to(tmp_path / "real.toml")
    save(hand_built(), tmp_path / "link.toml")
    assert (tmp_path / "link.toml").is_symlink()
    assert (tmp_path / "real.toml").stat().st_size > 0
