"""Compiled kernels: the cache notices edits, results are the same bits every time, a long compilation is announced."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import titop as tt
from titop.solvers.kernels import compilation

ROOT = Path(__file__).parent.parent.parent

#: Prints a number that passes through a helper (`rotate` in algebra.py) of a small kernel, and the file it came from.
SCRIPT = """
import numpy as np, titop
from titop.solvers.kernels import entries, layout
ints = np.full((2, layout.INT_COLUMNS), -1); ints[0, :9] = [2, 0, 0, 2, 0, 0, 0, 0, 0]
ints[1, [layout.PARENT, layout.KIND, layout.OWN]] = 0
floats = np.zeros((2, layout.FLOAT_COLUMNS)); floats[0, 0] = 1.0
floats[1, [0, 4, 8, 12]] = 1.0; floats[1, 13] = 0.5
work = np.zeros((2, layout.INVERSE_COLUMNS)); empty = np.zeros((1, 0)); nothing = np.zeros(0); result = np.zeros(13)
entries.twists(ints, floats, empty, nothing, nothing, work)
entries.energy_momentum(ints, floats, empty, nothing, nothing, work, np.zeros((2, 12)), result)
print(titop.__file__, result[1])
"""


@pytest.fixture(scope="module")
def copied_package(tmp_path_factory):
    folder = tmp_path_factory.mktemp("edited")
    package = folder / "titop"
    for name in ("blocks", "graph", "solvers"):
        shutil.copytree(ROOT / name, package / name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "__init__.py", package)
    return folder


def run(folder: Path) -> float:
    environment = os.environ | {"PYTHONPATH": str(folder), "TITOP_CACHE_DIR": str(folder / "cache")}
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT], cwd=folder, env=environment, capture_output=True, text=True, check=True
    )
    file, number = done.stdout.split()
    assert Path(file).parent == folder / "titop"
    return float(number)


def test_an_edit_of_a_helper_in_another_file_changes_the_result(copied_package):
    before = run(copied_package)
    assert before == -0.5  # minus gravity times first moment
    helper = copied_package / "titop" / "solvers" / "kernels" / "algebra.py"
    source = helper.read_text()
    edited = source.replace(
        "t[i, o] * x + t[i, o + 1] * y + t[i, o + 2] * z,", "2 * t[i, o] * x + t[i, o + 1] * y + t[i, o + 2] * z,"
    )
    assert edited != source
    helper.write_text(edited)
    assert run(copied_package) == 2 * before


def test_the_second_process_reads_the_cache(copied_package):
    run(copied_package)
    folder = next((copied_package / "cache").iterdir())
    files = {path: path.stat().st_mtime_ns for path in folder.rglob("*.nbc")}
    assert files
    run(copied_package)
    assert {path: path.stat().st_mtime_ns for path in folder.rglob("*.nbc")} == files


def test_the_hash_covers_every_kernel_file(tmp_path):
    for path in Path(compilation.__file__).parent.glob("*.py"):
        shutil.copy(path, tmp_path)
    before = compilation.source_hash(tmp_path)
    for path in tmp_path.glob("*.py"):
        text = path.read_text()
        path.write_text(text + "\n# edited\n")
        assert compilation.source_hash(tmp_path) != before
        path.write_text(text)
    assert compilation.source_hash(tmp_path) == before


def test_without_a_writable_cache_kernels_still_compile(monkeypatch):
    monkeypatch.setattr(compilation, "cache_folder", lambda: None)
    kernel = compilation.Kernel(lambda x: 2.0 * x, "float64(float64)")
    assert kernel(3.0) == 6.0


def test_a_long_compilation_is_announced(monkeypatch, capsys):
    monkeypatch.setattr(compilation, "ANNOUNCE_AFTER", 0.0)
    with compilation._Announcement("something slow") as announcement:
        announcement.timer.join()
    said = capsys.readouterr().err
    assert "compiling something slow" in said
    assert "compiled something slow" in said


def test_the_same_bits_on_every_run():
    s = tt.System("pair")
    arm = tt.RigidBody("arm", mass=1.0, com=[0.1, 0.2, 0.3], inertia=[1, 2, 2], ports={"tip": [1, 0, 0]})
    s.connect("world", arm, tt.Free("base"))
    s.connect(arm.port("tip"), tt.RigidBody("hand", mass=0.5, com=[0, 0.1, 0]), tt.Revolute("wrist", axis=[1, 1, 0]))
    m = s.resolve()
    rng = np.random.default_rng(0)
    q, v, tau = m.random_configuration(rng), rng.normal(size=m.nv), rng.normal(size=m.nv)
    first = m.forward_dynamics(q, v, tau)
    assert all((m.forward_dynamics(q, v, tau) == first).all() for _ in range(100))
    assert (s.resolve().forward_dynamics(q, v, tau) == first).all()
    assert (m.forward_dynamics(np.tile(q, (3, 1)), np.tile(v, (3, 1)), np.tile(tau, (3, 1))) == first).all()
