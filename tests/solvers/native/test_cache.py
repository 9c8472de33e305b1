"""Kept machine code: edits of sources are noticed, and only safe places are used."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from titop.solvers.native import cache
from titop.solvers.native.kernel import entry
from titop.solvers.native.signatures import REAL

ROOT = Path(__file__).parents[3]

#: Prints a number that passes through a helper (`write_rates` in kinematics.py) of a small kernel, and the file it came from.
SCRIPT = """
import numpy as np, titop
from titop.solvers.kernels.entries import dynamics_entries
from titop.solvers.kernels.interface import layout
ints = np.zeros((2, layout.INT_COLUMNS), int)
ints[0, layout.ELEMENTS], ints[1, layout.KIND] = 2, layout.AXIAL
rates = np.zeros(1)
dynamics_entries.configuration_rate(ints, np.zeros(1), np.array([-0.5]), rates)
print(titop.__file__, rates[0])
"""


@pytest.fixture(scope="module")
def copied_package(tmp_path_factory):
    folder = tmp_path_factory.mktemp("edited")
    package = folder / "titop"
    for name in ("blocks", "graph", "solvers"):
        shutil.copytree(ROOT / name, package / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("__init__.py", "__init__.pyi"):
        shutil.copy(ROOT / name, package)
    return folder


def run(folder: Path) -> float:
    environment = os.environ | {"PYTHONPATH": str(folder), "TITOP_CACHE_DIR": str(folder / "cache")}
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT], cwd=folder, env=environment, capture_output=True, text=True, check=True
    )
    file, number = done.stdout.split()
    assert Path(file).parent == folder / "titop"
    return float(number)


def test_an_edit_of_a_helper_in_another_file_changes_the_result(copied_package) -> None:
    before = run(copied_package)
    assert before == -0.5
    helper = copied_package / "titop" / "solvers" / "kernels" / "tree" / "kinematics.py"
    source = helper.read_text()
    edited = source.replace("            rates[k] = v[j]\n", "            rates[k] = 2 * v[j]\n")
    assert edited != source
    helper.write_text(edited)
    assert run(copied_package) == 2 * before


def test_the_second_process_reads_the_cache(copied_package) -> None:
    run(copied_package)
    folder = next((copied_package / "cache").iterdir())
    files = {path: path.stat().st_mtime_ns for path in folder.iterdir()}
    assert files
    run(copied_package)
    assert {path: path.stat().st_mtime_ns for path in folder.iterdir()} == files


def test_a_process_that_finds_its_kernels_does_not_load_numba(copied_package) -> None:
    run(copied_package)
    environment = os.environ | {"PYTHONPATH": str(copied_package), "TITOP_CACHE_DIR": str(copied_package / "cache")}
    script = SCRIPT + "import sys; print('numba' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.split()[-1] == "False"


def test_damaged_files_of_the_cache_are_compiled_again(copied_package) -> None:
    shutil.rmtree(copied_package / "cache", ignore_errors=True)
    before = run(copied_package)
    files = list(next((copied_package / "cache").iterdir()).iterdir())
    for path in files:
        path.write_bytes(path.read_bytes()[:-1] + b"?")
    assert run(copied_package) == before
    assert not any(path.read_bytes().endswith(b"?") for path in files)


def test_the_hash_covers_every_kernel_file(tmp_path: Path) -> None:
    (tmp_path / "room").mkdir()
    for path in Path(cache.__file__).parent.glob("*.py"):
        shutil.copy(path, tmp_path)
        shutil.copy(path, tmp_path / "room")
    before = cache.source_hash([tmp_path])
    for path in tmp_path.rglob("*.py"):
        text = path.read_text()
        path.write_text(text + "\n# edited\n")
        assert cache.source_hash([tmp_path]) != before
        path.write_text(text)
    assert cache.source_hash([tmp_path]) == before


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

    def test_nothing_is_kept_of_sources_that_were_edited(self, monkeypatch: pytest.MonkeyPatch) -> None:
        folder = self.find()
        monkeypatch.setattr(cache, "cache_folder", lambda: folder)
        monkeypatch.setattr(cache, "source_hash", lambda: "edited")
        assert "edited" in cache.write("kernel", b"code")
        assert list(folder.iterdir()) == []

    def test_a_failed_write_leaves_nothing(self, monkeypatch: pytest.MonkeyPatch) -> None:
        folder = self.find()
        monkeypatch.setattr(cache, "cache_folder", lambda: folder)

        def full(*_):
            raise OSError("no space left")

        monkeypatch.setattr(cache.os, "replace", full)
        assert cache.write("kernel", b"code") == f"{folder}: no space left"
        assert list(folder.iterdir()) == []
