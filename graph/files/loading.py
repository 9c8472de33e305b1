"""Reading model files; nothing in them is executed."""

from __future__ import annotations

import codecs
import os
from pathlib import Path

from titop.blocks.basics.errors import Finding, ModelError, did_you_mean
from titop.blocks.basics.local_files import open_file
from titop.blocks.basics.wording import shown
from titop.graph.files.from_tables import AnyNetwork, system_of
from titop.graph.files.toml_text import MAX_SIZE, parse_toml

#: What other readers are for, by how it begins.
_OTHER_FILES = {
    b"PK\x03\x04": (
        "arrays (.npz)",
        "read a trajectory by tt.load_trajectory(path, model), a family by tt.LPVModel.load(path)",
    ),
    b"<": ("XML", "read a robot by tt.from_urdf(path)"),
}


def load_as(kind: type[AnyNetwork], source: str | os.PathLike[str]) -> AnyNetwork:
    """Read a file or a text as an instance of a `kind` of network; see `titop.load`."""
    if not isinstance(source, str | os.PathLike):
        raise ModelError(Finding("wrong-type", "load", source, "a path, or the text of a model file", "pass one of them"))
    if isinstance(source, str) and "\n" in source:
        return system_of(parse_toml(source.removeprefix("\ufeff")), kind)
    try:
        return system_of(parse_toml(_read(source)), kind)
    except ModelError as error:
        error.add_note(f"in {shown(os.fspath(source))}")
        raise


def _read(source: str | os.PathLike[str]) -> str:
    path = Path(source)
    try:
        with open_file(path) as file:
            data = file.read(4 * MAX_SIZE + 1)
    except (OSError, ValueError) as error:
        advice = "check the path" if path.suffix != ".toml" else _files_beside(path)
        raise ModelError(Finding("no-file", str(source), error, "a readable model file", advice)) from None
    for beginning, (found, advice) in _OTHER_FILES.items():
        if data.removeprefix(codecs.BOM_UTF8).startswith(beginning):
            raise ModelError(Finding("wrong-format", path.name, found, "a model file (TOML)", advice))
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        found = f"byte {data[error.start]:#04x}"
        raise ModelError(Finding("not-text", f"line {line}", found, "text in UTF-8", "save the file as UTF-8")) from None


def _files_beside(path: Path) -> str:
    try:
        return did_you_mean(path.name, sorted(found.name for found in path.parent.glob("*.toml")))
    except (OSError, ValueError):
        return "check the path"
