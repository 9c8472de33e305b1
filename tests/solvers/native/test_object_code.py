"""Files of machine code, and what they need beside them."""

from __future__ import annotations

from pathlib import Path

import pytest

from titop.solvers.native import cache, object_code
from titop.solvers.native.kernel import Kernel
from titop.solvers.native.object_code import NUMBA, ObjectCode
from titop.solvers.native.signatures import Signature

CODES = {"kernel": ObjectCode(b"a\nb", ("part", NUMBA)), "part": ObjectCode(b"\n", ("deeper",)), "deeper": ObjectCode(b"c")}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(cache, "cache_folder", lambda: tmp_path)
    return tmp_path


def test_what_is_kept_is_read_with_all_that_it_needs(folder: Path) -> None:
    assert object_code.keep(CODES) is None
    read = object_code.read("kernel")
    assert read == {name: code._replace(is_kept=True) for name, code in CODES.items()}
    assert list(object_code.read("kernel", {"part"})) == ["kernel"]
    for name in CODES:
        (folder / name).unlink()
    assert object_code.keep(read) is None
    assert not list(folder.iterdir())  # what is kept is not written again


@pytest.mark.parametrize("lost", CODES)
def test_without_a_part_nothing_is_read(lost: str, folder: Path) -> None:
    object_code.keep(CODES)
    (folder / lost).unlink()
    assert object_code.read("kernel") is None


def test_parts_are_kept_before_what_needs_them(monkeypatch: pytest.MonkeyPatch) -> None:
    kept: list[str] = []
    monkeypatch.setattr(cache, "write", lambda name, content: kept.append(name) or ("full" if name == "part" else None))
    assert object_code.keep(CODES) == "full"
    assert kept == ["deeper", "part"]


# Loading machine code.


def test_code_without_the_function_is_refused() -> None:
    def nothing():
        return 0

    codes = Kernel(nothing, Signature(())).codes()
    with pytest.raises(RuntimeError, match="no function"):
        object_code.load("titop_missing", next(iter(codes)), codes)
