"""What comes with titop in LLVM's language: used on any processor, without numba, and left alone where it does not fit."""

from __future__ import annotations

import functools
import platform
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import llvmlite.binding as llvm
import pytest

import titop as tt
from tests.copied_package import AFTER, BEFORE, CopiedPackage, copy_package
from titop.blocks.surroundings.magnetic_field import DIPOLE_LAW
from titop.solvers.cli import main
from titop.solvers.engines.compiled import compile_ahead
from titop.solvers.kernels.entries import dynamics_entries, moving_entries
from titop.solvers.kernels.laws.user_laws import interaction_stages_of
from titop.solvers.native import pieces
from titop.solvers.native.identity import WIDTHS
from titop.solvers.native.pieces import CodePiece, machine_code, ship, shipped, with_needs

#: Ships what the next script asks for, in all widths.
SHIP_FOR_ALL = """
from titop.solvers.engines.compiled import compile_ahead
few = {name: unit for name, unit in compile_ahead.units().items() if name in (
    "entries_dynamics_entries_forward_dynamics", "entries_observation_entries_center_of_mass_in_lanes",
    "entries_dynamics_entries_pack", "entries_observation_entries_center_of_mass",
)}
compile_ahead.units = lambda: few
print(compile_ahead.write_for_wheels(workers=1, progress=False))
"""

#: Prints centres of mass of stacked states, how many are computed at once, and whether numba was loaded.
STACKED = """
import sys
import numpy as np, titop as tt
s = tt.System("arm")
s.connect("world", tt.RigidBody("rod", 1.0, [0.1, 0.2, 0.3]), tt.Revolute("hinge"))
found = s.resolve().center_of_mass(np.linspace(-1.0, 1.0, 11)[:, None])
print(found.tobytes().hex(), sys.modules["titop.solvers.native.identity"].LANE_COUNT, "numba" in sys.modules)
"""

#: Ships the kernel that the copied package's script runs.
SHIP = """
from titop.solvers.kernels.entries.moving_entries import configuration_rate
from titop.solvers.native.pieces import ship
ship(configuration_rate.pieces())
"""


@pytest.fixture(scope="module")
def shipped_package(tmp_path_factory: pytest.TempPathFactory) -> CopiedPackage:
    """A package that comes with code, and has an empty cache."""
    copied = copy_package(tmp_path_factory.mktemp("shipped"))
    copied.output(SHIP)
    return copied


def test_a_first_process_runs_it_without_numba(shipped_package: CopiedPackage) -> None:
    assert shipped_package.run() == (BEFORE, False)
    kept = shipped_package.kept()
    assert len(kept) == 1
    assert shipped_package.run() == (BEFORE, False)
    assert shipped_package.kept() == kept  # as machine code of this processor, which the second process finds
    (folder,) = (shipped_package.package / "solvers" / "native" / "shipped").iterdir()
    assert folder.stat().st_mode & 0o777 == 0o755  # others may read what the administrator has installed
    assert all(path.stat().st_mode & 0o444 == 0o444 for path in folder.iterdir())


def test_settings_of_numba_that_change_the_text_leave_it_alone(shipped_package: CopiedPackage) -> None:
    assert shipped_package.run(NUMBA_BOUNDSCHECK="1") == (BEFORE, True)


def test_where_sources_were_edited_it_is_left_alone(shipped_package: CopiedPackage, tmp_path: Path) -> None:
    copied = CopiedPackage(shutil.copytree(shipped_package.folder, tmp_path / "edited"))
    copied.edit()
    assert copied.run() == (AFTER, True)


@pytest.mark.parametrize("damage", [b"", b"?", None])
def test_what_is_damaged_is_compiled_by_numba(damage: bytes | None, shipped_package: CopiedPackage, tmp_path: Path) -> None:
    copied = CopiedPackage(shutil.copytree(shipped_package.folder, tmp_path / "damaged"))
    shutil.rmtree(copied.cache, ignore_errors=True)
    for path in (copied.package / "solvers" / "native" / "shipped").rglob("*.xz"):
        if damage is not None:
            path.write_bytes(path.read_bytes()[: -len(damage) or 0] + damage)
        elif path.name.startswith("solvers.kernels.tree"):
            path.unlink()  # what the kernel calls
    assert copied.run() == (BEFORE, True)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An empty place for what is shipped."""
    monkeypatch.setattr(pieces, "_FOLDER", tmp_path / "shipped")
    pieces._file.cache_clear()
    yield tmp_path / "shipped"
    pieces._file.cache_clear()


def test_pieces_are_found_with_all_that_they_need(folder: Path) -> None:
    assert not folder.exists()
    made = {
        "a/one": CodePiece("x", "one", ("b/two",)),
        "b/two": CodePiece("y", "two", ("a/one",)),
        "b/three": CodePiece("z", "three"),
    }
    ship(made)
    assert with_needs("a/one", shipped) == {name: made[name] for name in ("a/one", "b/two")}
    ship({"a/one": made["a/one"]})  # in place of all that was there
    with pytest.raises(KeyError):
        with_needs("a/one", shipped)
    assert len([*folder.iterdir()]) == 1


@pytest.mark.parametrize(
    "kernel",
    [dynamics_entries.forward_dynamics.mixed, moving_entries.configuration_rate, interaction_stages_of(DIPOLE_LAW).act],
)
@pytest.mark.parametrize("triple", ["aarch64-unknown-linux-gnu", "arm64-apple-darwin", "x86_64-unknown-linux-gnu"])
def test_the_text_is_for_any_processor(kernel, triple: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(pieces.object_code.cache, "cache_folder", lambda: None)
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    found = kernel.pieces()
    text = "".join(piece.text for piece in found.values())
    assert "llvm.x86" not in text
    assert "target " not in text
    assert "x double>" not in text  # vectors are as long as a processor's
    assert "dynamic.globals" not in text  # addresses in the process that wrote it
    other = llvm.Target.from_triple(triple).create_target_machine(codemodel="small", opt=1)
    monkeypatch.setattr(pieces, "target", functools.cache(lambda: other))
    codes = machine_code(kernel.wanted, found.__getitem__, loaded=())
    magic = b"\xcf\xfa\xed\xfe" if "apple" in triple else b"\x7fELF"
    assert all(code.code.startswith(magic) for code in codes.values())


def test_what_is_written_for_wheels_is_found(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    names = "entries_dynamics_entries_put_wrench", "entries_moving_entries_configuration_rate"
    few = {name: unit for name, unit in compile_ahead.units().items() if name in names}
    monkeypatch.setattr(compile_ahead, "units", lambda: few)
    for _ in range(2):
        assert main(["compile", "--for-wheels", "--workers", "1"]) == 0
        said = capsys.readouterr().out
        assert re.fullmatch(r"\d+ functions written; wheels that are built from here take all along\n", said)
    assert all(shipped(unit.wanted.piece) for unit in few.values())
    monkeypatch.setattr(compile_ahead, "units", lambda: {names[0]: few[names[0]]})
    compile_ahead.write_for_wheels(progress=False)
    with pytest.raises(KeyError):
        shipped(few[names[1]].wanted.piece)  # nothing stays that is no longer used


@pytest.mark.long
def test_it_serves_processors_of_all_widths(tmp_path: Path) -> None:
    copied = copy_package(tmp_path)
    assert int(copied.output(SHIP_FOR_ALL)) > 20
    runs = [copied.output(STACKED, TITOP_LANES=width).split() for width in ("", *WIDTHS)]
    if platform.machine() in ("x86_64", "AMD64"):
        runs.append(copied.output(STACKED, NUMBA_CPU_NAME="x86-64-v3", NUMBA_CPU_FEATURES="").split())
        assert runs[-1][1] == "4"
    assert [lanes for _, lanes, _ in runs[1:4]] == [*WIDTHS]
    assert {(numbers, loaded) for numbers, _, loaded in runs} == {(runs[0][0], "False")}  # the same bits, without numba


def test_where_it_cannot_be_written_that_is_said(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compile_ahead, "units", dict)
    monkeypatch.setattr(pieces, "_FOLDER", folder / "nowhere" / "shipped")
    with pytest.raises(tt.ModelError, match="No such file"):
        compile_ahead.write_for_wheels(progress=False)
    monkeypatch.setenv("NUMBA_BOUNDSCHECK", "1")
    with pytest.raises(tt.ModelError, match="NUMBA_BOUNDSCHECK is set"):
        compile_ahead.write_for_wheels(progress=False)
