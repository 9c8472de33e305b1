"""Examples of model files load."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import titop as tt
from tests.graph.files.model_texts import ARM, HEAD, ROOT, mistake
from titop.graph.files.saving import to_text
from titop.graph.load import load


def test_every_example_loads() -> None:
    paths = list((ROOT / "examples" / "models").glob("*.toml"))
    assert paths
    for path in paths:
        load(path).check()


# Where model files come from: files, texts, and what is neither.


def test_a_byte_order_mark_and_windows_lines(tmp_path: Path) -> None:
    path = tmp_path / "x.toml"
    path.write_bytes(b"\xef\xbb\xbf" + (HEAD + ARM).replace("\n", "\r\n").encode())
    assert to_text(load(path)) == to_text(load(HEAD + ARM)) == to_text(load("\ufeff" + HEAD + ARM))


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_pipes_and_devices_are_refused_without_waiting(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe.toml"
    os.mkfifo(pipe)
    for path in (pipe, Path("/dev/zero"), tmp_path):
        with pytest.raises(tt.ModelError, match="a folder, pipe or device"):
            load(path)


def test_other_files_have_other_readers(tmp_path: Path) -> None:
    np.savez(tmp_path / "x.npz", t=np.zeros(3))
    (tmp_path / "x.toml").write_text("\ufeff<robot/>", encoding="utf-8")
    for name, words in (("x.npz", "tt.load_trajectory"), ("x.toml", "tt.from_urdf")):
        with pytest.raises(tt.ModelError, match=words) as caught:
            load(tmp_path / name)
        assert caught.value.code == "wrong-format"


def test_a_missing_file(tmp_path: Path) -> None:
    (tmp_path / "balloon.toml").touch()
    with pytest.raises(tt.ModelError, match=r"did you mean 'balloon\.toml'") as caught:
        load(tmp_path / "baloon.toml")
    assert caught.value.code == "no-file"


@pytest.mark.parametrize("source", ["", "nul\0byte", "x" * 5000, ".", Path("nowhere") / "x.toml"])
def test_paths_that_are_none(source: Any) -> None:
    with pytest.raises(tt.ModelError) as caught:
        load(source)
    assert caught.value.code == "no-file"


def test_a_source_that_is_none() -> None:
    with pytest.raises(tt.ModelError, match="a path, or the text"):
        load(3)  # type: ignore[arg-type]


def test_the_error_names_the_file(tmp_path: Path) -> None:
    path = tmp_path / "arm.toml"
    path.write_text(mistake("mass = 3", "mas = 3"))
    with pytest.raises(tt.ModelError) as caught:
        load(path)
    assert caught.value.__notes__ == [f"in {path}"]


def test_bytes_that_are_no_text(tmp_path: Path) -> None:
    path = tmp_path / "x.toml"
    path.write_bytes(b"format = 1\nname = '\xff'")
    with pytest.raises(tt.ModelError, match="byte 0xff") as caught:
        load(path)
    assert (caught.value.code, caught.value.where) == ("not-text", "line 2")
