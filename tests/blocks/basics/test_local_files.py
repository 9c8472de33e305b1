"""Local files are written whole or not at all, as model files are."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import Any

import pytest

import titop as tt
from tests.graph.files.model_texts import hand_built
from tests.refusals import refusal
from titop.blocks.basics.local_files import new_folder, replaced_file
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
    with refusal("no-folder", "nowhere/x.toml") as caught:
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


@pytest.mark.skipif(os.name == "nt", reason="permissions are others there")
@pytest.mark.parametrize("mode", [0o600, 0o640, 0o666])
def test_permissions_stay(tmp_path: Path, mode: int) -> None:
    """Also those that new files would not get; while it is written nobody may read what nobody could."""
    path, before = tmp_path / "x.toml", os.umask(0o022)
    try:
        path.touch()
        path.chmod(mode)
        with replaced_file(path) as file:
            assert stat.S_IMODE(os.fstat(file.fileno()).st_mode) == mode
            file.write(b"new")
        with replaced_file(tmp_path / "fresh.toml"):
            pass
    finally:
        os.umask(before)
    assert path.read_text() == "new"
    assert stat.S_IMODE(path.stat().st_mode) == mode
    assert stat.S_IMODE((tmp_path / "fresh.toml").stat().st_mode) == 0o644


def test_names_that_no_file_has_are_refused(tmp_path: Path) -> None:
    with pytest.raises(tt.ModelError, match=r"path: got .*; expected a name without NUL"):
        save(hand_built(), tmp_path / "a\0b.toml")


def test_a_folder_is_there_when_all_of_it_is(tmp_path: Path) -> None:
    target = tmp_path / "folder"
    with new_folder(target) as path:
        (path / "file").write_text("text")
        assert not target.exists()
    assert [each.name for each in tmp_path.iterdir()] == ["folder"]
    assert (target / "file").read_text() == "text"
    with pytest.raises(tt.ModelError, match="does not exist yet"), new_folder(target):
        pass


def test_a_failure_leaves_no_folder(tmp_path: Path) -> None:
    def interrupted() -> None:
        with new_folder(tmp_path / "folder") as path:
            (path / "file").write_text("text")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert not list(tmp_path.iterdir())
