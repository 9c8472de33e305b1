"""Machine code that comes with titop: used where it was made for, left alone everywhere else."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest

import titop as tt
from tests.copied_package import AFTER, BEFORE, CopiedPackage, copy_package
from titop.solvers.cli import main
from titop.solvers.engines.compiled import compile_ahead
from titop.solvers.native import cache, identity

pytestmark = pytest.mark.skipif(
    identity.wheel_obstacle() is not None, reason=f"no machine code in wheels: {identity.wheel_obstacle()}"
)

#: Ships what the copied package's cache holds.
SHIP = """
import shutil, sys
from titop.solvers.native.cache import shipping
with shipping() as scratch:
    shutil.copytree(sys.argv[1], scratch / "made")
"""


@pytest.fixture(scope="module")
def shipped_package(tmp_path_factory: pytest.TempPathFactory) -> CopiedPackage:
    """A package that comes with machine code, and has an empty cache."""
    copied = copy_package(tmp_path_factory.mktemp("shipped"))
    assert copied.run(**identity.wheel_settings()) == (BEFORE, True)
    (made,) = copied.cache.iterdir()
    copied.output(SHIP.replace("sys.argv[1]", repr(str(made))))
    shutil.rmtree(copied.cache)
    return copied


def test_a_first_process_runs_it_without_the_compiler(shipped_package: CopiedPackage) -> None:
    assert shipped_package.run() == (BEFORE, False)
    assert not shipped_package.kept()
    (folder,) = (shipped_package.package / "solvers" / "native" / "machine_code").iterdir()
    assert folder.name == identity.wheel_name()
    assert folder.stat().st_mode & 0o777 == 0o755  # others may run what the administrator has installed
    assert all(path.stat().st_mode & 0o444 == 0o444 for path in folder.iterdir())


def test_other_settings_of_the_compiler_leave_it_alone(shipped_package: CopiedPackage) -> None:
    assert shipped_package.run(NUMBA_BOUNDSCHECK="0") == (BEFORE, True)


def test_where_sources_were_edited_it_is_left_alone(shipped_package: CopiedPackage, tmp_path: Path) -> None:
    copied = CopiedPackage(shutil.copytree(shipped_package.folder, tmp_path / "edited"))
    copied.edit()
    assert copied.run() == (AFTER, True)


def test_a_damaged_file_is_compiled_instead(shipped_package: CopiedPackage) -> None:
    for path in (shipped_package.package / "solvers" / "native" / "machine_code").rglob("*"):
        if path.is_file():
            path.write_bytes(path.read_bytes()[:-1] + b"?")
    shutil.rmtree(shipped_package.cache, ignore_errors=True)
    assert shipped_package.run() == (BEFORE, True)


@pytest.mark.parametrize("missing", ["fma", "avx2"])
def test_processors_that_lack_something_leave_it_alone(missing: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(cache, "_FOLDER", tmp_path)
    (tmp_path / identity.wheel_name()).mkdir()
    find = cache.shipped_folder.__wrapped__
    assert find() == tmp_path / identity.wheel_name()
    features = dict(identity.llvm.get_host_cpu_features())
    monkeypatch.setattr(identity.llvm, "get_host_cpu_features", lambda: features | {missing: False})
    assert find() is None
    assert identity.wheel_obstacle() == f"the processor is not x86-64-v3: it has no {missing}"
    monkeypatch.setattr(identity, "_ARCHITECTURE", "s390x")
    assert find() is None


@pytest.mark.parametrize("other", ["SOABI", "numpy"])
def test_other_pythons_and_numpys_leave_it_alone(other: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(cache, "_FOLDER", tmp_path)
    (tmp_path / identity.wheel_name()).mkdir()
    if other == "SOABI":
        monkeypatch.setattr(identity.sysconfig, "get_config_var", lambda name: "cpython-399-x86_64-linux-gnu")
    else:
        monkeypatch.setattr(identity.np, "__version__", "3.0.0")
    assert cache.shipped_folder.__wrapped__() is None


def test_what_is_compiled_for_wheels_is_found(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(cache, "_FOLDER", tmp_path / "machine_code")
    one = """import sys, os
from titop.solvers.native import cache
assert os.environ["NUMBA_CPU_NAME"] == "x86-64-v3"
sys.exit(cache.write("kernel", b"code"))"""
    monkeypatch.setattr(compile_ahead, "_COMPILING", (sys.executable, "-c", one))
    assert main(["compile", "--for-wheels"]) == 0
    assert capsys.readouterr().out == "compiled; wheels that are built from here take it along\n"
    monkeypatch.setattr(cache, "shipped_folder", cache.shipped_folder.__wrapped__)
    assert cache.read("kernel") == b"code"
    assert [path.name for path in (tmp_path / "machine_code").iterdir()] == [identity.wheel_name()]


def test_a_compilation_that_fails_leaves_nothing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(cache, "_FOLDER", tmp_path / "machine_code")
    monkeypatch.setattr(compile_ahead, "_COMPILING", (sys.executable, "-c", "import sys; sys.exit(1)"))
    with pytest.raises(tt.ModelError, match="the compilation failed"):
        compile_ahead.compile_for_wheels()
    assert not list((tmp_path / "machine_code").iterdir())
    monkeypatch.setattr(cache, "_FOLDER", tmp_path / "nowhere" / "machine_code")
    with pytest.raises(tt.ModelError, match="No such file"):
        compile_ahead.compile_for_wheels()
    monkeypatch.setenv("NUMBA_OPT", "1")
    with pytest.raises(tt.ModelError, match="NUMBA_OPT is set"):
        compile_ahead.compile_for_wheels()
