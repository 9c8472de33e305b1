"""Model files are written whole or not at all."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

import titop as tt
from tests.graph.files.model_texts import hand_built
from titop.graph.files.saving import save, to_text


class TestSaving:
    def test_a_failure_leaves_the_old_file_and_nothing_else(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        path = tmp_path / "x.toml"
        path.write_text("old")

        def refuse(*_: Any) -> None:
            raise OSError("no")

        monkeypatch.setattr(os, "replace", refuse)
        with pytest.raises(OSError, match="no"):
            save(hand_built(), path)
        assert [entry.name for entry in tmp_path.iterdir()] == ["x.toml"]
        assert path.read_text() == "old"

    @pytest.mark.parametrize("name", ["x.txt", "x", "x.toml.bak", ".toml"])
    def test_other_suffixes_are_refused(self, tmp_path: Path, name: str) -> None:
        with pytest.raises(tt.ModelError, match=r"expected one of \.toml") as caught:
            hand_built().save(tmp_path / name)
        assert caught.value.code == "unknown-format"
        assert list(tmp_path.iterdir()) == []
        save(hand_built(), tmp_path / "x.TOML")

    def test_only_the_file_is_left(self, tmp_path: Path) -> None:
        for _ in range(2):
            save(hand_built(), str(tmp_path / "x.toml"))
        assert [entry.name for entry in tmp_path.iterdir()] == ["x.toml"]

    @pytest.mark.skipif(os.name == "nt", reason="links need a privilege there")
    def test_a_link_stays_a_link(self, tmp_path: Path) -> None:
        (tmp_path / "real.toml").touch()
        (tmp_path / "link.toml").symlink_to(tmp_path / "real.toml")
        save(hand_built(), tmp_path / "link.toml")
        assert (tmp_path / "link.toml").is_symlink()
        assert (tmp_path / "real.toml").stat().st_size > 0

    def test_an_unsound_system_is_refused_and_nothing_written(self, tmp_path: Path) -> None:
        s = hand_built()
        s.connect(tt.RigidBody("lost", 1.0), tt.RigidBody("too", 1.0), tt.Revolute("pin"))
        with pytest.raises(tt.ModelError, match="unconnected"):
            save(s, tmp_path / "x.toml")
        assert list(tmp_path.iterdir()) == []

    def test_a_name_that_is_no_text_is_refused(self) -> None:
        s = hand_built()
        s.name = "\ud800"
        with pytest.raises(tt.ModelError, match="names that are text"):
            to_text(s)
