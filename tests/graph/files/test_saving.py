"""Model files are written whole or not at all."""

from __future__ import annotations

from pathlib import Path

import pytest

import titop as tt
from tests.graph.files.model_texts import hand_built
from titop.graph.files.saving import save, to_text


class TestSaving:
    @pytest.mark.parametrize("name", ["x.txt", "x", "x.toml.bak", ".toml"])
    def test_other_suffixes_are_refused(self, tmp_path: Path, name: str) -> None:
        with pytest.raises(tt.ModelError, match=r"expected one of \.toml") as caught:
            hand_built().save(tmp_path / name)
        assert caught.value.code == "unknown-format"
        assert list(tmp_path.iterdir()) == []
        save(hand_built(), tmp_path / "x.TOML")

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
