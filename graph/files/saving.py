"""Model files: systems as TOML text that people can read, write and share."""

from __future__ import annotations

import codecs
import os
from pathlib import Path

from titop.blocks.basics.errors import Finding, ModelError, did_you_mean
from titop.blocks.basics.local_files import open_file, replaced_file
from titop.blocks.basics.user_input import check_suffix
from titop.blocks.basics.wording import shown
from titop.graph.files.document import system_of, tables_of
from titop.graph.files.toml_text import MAX_SIZE, check_size, format_table, parse_toml
from titop.graph.system import System

_HEADER = "# A model for titop. Units: m, kg, s, rad, N.\n"

#: What other readers are for, by how it begins.
_OTHER_FILES = {
    b"PK\x03\x04": (
        "arrays (.npz)",
        "read a trajectory by tt.load_trajectory(path, model), a family by tt.LPVModel.load(path)",
    ),
    b"<": ("XML", "read a robot by tt.from_urdf(path)"),
}


def save(system: System, path: str | os.PathLike[str]) -> None:
    """Write a system to a file, whole or not at all; `load` gives the same system, to the last bit.

    Parameters
    ----------
    system : System
    path : str or Path
        Of the file, ending in ``.toml``.

    Raises
    ------
    ModelError
        If the system does not pass its checks, is too large for `load`, has blocks of classes that are not registered, or the
        path another suffix.
    """
    check_suffix(path, ("toml",))
    text = to_text(system)
    check_size(text)
    with replaced_file(path) as file:
        file.write(text.encode())


def load(source: str | os.PathLike[str]) -> System:
    """Read a system from a file or a text; nothing in it is executed.

    Parameters
    ----------
    source : str or Path
        Path of the file; a `str` of several lines is the text itself.

    Raises
    ------
    ModelError
        With everything that is wrong in the file, each with its dotted place; with line and column if it is not TOML. What is
        wrong with the system that it describes is reported when that is resolved.

    Examples
    --------
    >>> system = load('''
    ... format = "titop"
    ... version = 1
    ... [system]
    ... name = "pendulum"
    ... gravity = [0, 0, -9.81]
    ... [parameters]
    ... length = 0.8
    ... [bodies.bob]
    ... type = "rigid"
    ... mass = 2
    ... com = [0, 0, "-length"]
    ... [joints.hinge]
    ... type = "revolute"
    ... parent = "world"
    ... child = "bob"
    ... axis = [1, 0, 0]
    ... ''')
    >>> system.resolve().mass_matrix([0.0]).round(3).tolist()
    [[1.28]]
    """
    if not isinstance(source, str | os.PathLike):
        raise ModelError(Finding("wrong-type", "load", source, "a path, or the text of a model file", "pass one of them"))
    if isinstance(source, str) and "\n" in source:
        return system_of(parse_toml(source))
    try:
        return system_of(parse_toml(_read(source)))
    except ModelError as error:
        error.add_note(f"in {shown(os.fspath(source))}")
        raise


def to_text(system: System) -> str:
    """Return what `save` writes."""
    text = "\n".join([_HEADER, *(format_table(header, entries) for header, entries in tables_of(system))])
    try:
        text.encode()
    except UnicodeEncodeError as error:
        shown = repr(error.object[max(error.start - 10, 0) : error.end])
        raise ModelError(Finding("not-text", system.name, shown, "names that are text", "rename the block or port")) from None
    return text


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
