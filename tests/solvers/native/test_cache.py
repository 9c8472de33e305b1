"""Kept machine code: edits of sources are noticed, and only safe places are used."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.copied_package import AFTER, BEFORE, CopiedPackage, copy_package
from titop.solvers.native import cache
from titop.solvers.native.kernel import entry
from titop.solvers.native.signatures import REAL


@pytest.fixture(scope="module")
def copied_package(tmp_path_factory: pytest.TempPathFactory) -> CopiedPackage:
    return copy_package(tmp_path_factory.mktemp("edited"))


def test_an_edit_of_a_helper_in_another_file_changes_the_result(copied_package: CopiedPackage) -> None:
    assert copied_package.run() == (BEFORE, True)
    copied_package.edit()
    assert copied_package.run() == (AFTER, True)


def test_the_second_process_reads_the_cache_and_does_not_load_numba(copied_package: CopiedPackage) -> None:
    number, _ = copied_package.run()
    files = copied_package.kept()
    assert files
    assert copied_package.run() == (number, False)
    assert copied_package.kept() == files


def test_damaged_files_of_the_cache_are_compiled_again(copied_package: CopiedPackage) -> None:
    shutil.rmtree(copied_package.cache, ignore_errors=True)
    number, _ = copied_package.run()
    for path in copied_package.kept():
        path.write_bytes(path.read_bytes()[:-1] + b"?")
    assert copied_package.run() == (number, True)
    assert not any(path.read_bytes().endswith(b"?") for path in copied_package.kept())


def test_without_a_writable_cache_kernels_still_compile(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache, "cache_folder", lambda: None)
    assert _doubled(3.0) == 6.0


@entry(REAL, result=REAL)
def _doubled(x):
    """Return twice a number."""
    return 2.0 * x


def test_a_folder_that_others_can_write_is_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TITOP_CACHE_DIR", str(tmp_path))
    folder = cache.cache_folder.__wrapped__()
    assert folder is not None
    folder.chmod(0o777)
    assert cache.cache_folder.__wrapped__() is None


class TestWhereTheCacheIs:
    """Where compiled kernels are kept, when something is odd about the places for them."""

    @pytest.fixture(autouse=True)
    def nowhere(self, monkeypatch, tmp_path):
        for name in ("TITOP_CACHE_DIR", "XDG_CACHE_HOME"):
            monkeypatch.delenv(name, raising=False)
        monkeypatch.setenv("HOME", str(tmp_path / "home"))
        monkeypatch.setattr(cache.tempfile, "gettempdir", lambda: str(tmp_path / "temporary"))
        self.find = cache.cache_folder.__wrapped__

    def test_in_the_users_folder(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        folder = self.find()
        assert folder is not None
        assert folder.parent == tmp_path / "home" / ".cache" / "titop"
        assert folder.stat().st_mode & 0o777 == folder.parent.stat().st_mode & 0o777 == 0o700
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "elsewhere"))
        assert self.find().parent == tmp_path / "elsewhere" / "titop"
        monkeypatch.setenv("XDG_CACHE_HOME", "")
        assert self.find() == folder

    def test_without_a_home(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(cache.Path, "home", classmethod(lambda cls: (_ for _ in ()).throw(RuntimeError("no home"))))
        assert self.find().parent.parent == tmp_path / "temporary"

    def test_without_any_place(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def fail(*_):
            raise FileNotFoundError("nowhere")

        monkeypatch.setattr(cache.Path, "home", classmethod(fail))
        monkeypatch.setattr(cache.tempfile, "gettempdir", fail)
        assert self.find() is None
        assert cache.obstacle() == "no folder: nowhere; no folder: nowhere"

    def test_what_is_in_the_way_is_named(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        assert cache.obstacle() is None
        (tmp_path / "file").write_text("")
        monkeypatch.setenv("TITOP_CACHE_DIR", str(tmp_path / "file"))
        assert cache.obstacle().startswith(f"{tmp_path / 'file'}")
        monkeypatch.setenv("TITOP_CACHE_DIR", str(tmp_path))
        self.find().chmod(0o777)
        assert cache.obstacle().endswith("is another user's, or can be written by others")

    def test_a_relative_place_is_meant_where_the_process_is(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.chdir(tmp_path)
        monkeypatch.setenv("TITOP_CACHE_DIR", "kernels")
        assert self.find().parent == tmp_path / "kernels"

    def test_a_place_that_others_made_is_not_used(self, tmp_path: Path) -> None:
        (tmp_path / "home" / ".cache" / "titop").mkdir(parents=True)
        (tmp_path / "home" / ".cache" / "titop").chmod(0o777)
        assert self.find().parent.parent == tmp_path / "temporary"

    def test_a_file_that_others_can_write_is_not_read(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        folder = self.find()
        monkeypatch.setattr(cache, "cache_folder", lambda: folder)
        cache.write("kernel", b"code")
        assert cache.read("kernel") == b"code"
        (folder / "kernel").chmod(0o666)
        assert cache.read("kernel") is None

    def test_a_failed_write_leaves_nothing(self, monkeypatch: pytest.MonkeyPatch) -> None:
        folder = self.find()
        monkeypatch.setattr(cache, "cache_folder", lambda: folder)

        def full(*_):
            raise OSError("no space left")

        monkeypatch.setattr(cache.os, "replace", full)
        assert cache.write("kernel", b"code") == f"{folder}: no space left"
        assert list(folder.iterdir()) == []
