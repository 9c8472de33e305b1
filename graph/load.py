"""Systems from model files, whole or not at all; nothing in them is executed."""

from __future__ import annotations

import codecs
import itertools
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from titop.blocks.basics.errors import Finding, ModelError, did_you_mean, refuse, shown, warn
from titop.blocks.basics.local_files import open_file
from titop.blocks.basics.tolerances import EPS
from titop.blocks.basics.user_input import real_array
from titop.blocks.contract.block import Block
from titop.blocks.contract.fields import put
from titop.blocks.devices.composite_device import CompositeDevice
from titop.graph.files.block_types import DEFAULT_TYPES, ENDS, BlockType, types_in
from titop.graph.files.expressions import evaluate_parameters
from titop.graph.files.file_fields import TEXTS, FileField, read_fields
from titop.graph.files.file_reading import FileReading
from titop.graph.files.saving import FORMAT, KEYS, SECTIONS, SYSTEM, VERSION, WORLD, sequences
from titop.graph.files.toml_text import MAX_SIZE, parse_toml
from titop.graph.system import System

#: Largest number of own coordinates of all bodies of a file: reducing flexible bodies takes time.
MAX_MODES = 5_000


def system_of(document: Mapping[str, Any]) -> System:
    """Return the system that a file's tables describe.

    Raises `ModelError` listing all errors of the tables. Errors of the system are reported when it is resolved.
    """
    _check_version(document)
    reading = FileReading()
    reading.refuse_unknown_keys(document, KEYS, "")
    table = reading.table(document.get("parameters", {}), "parameters")
    reading.parameters, findings = evaluate_parameters(table)
    reading.add(findings)
    sections = {name: reading.table(document.get(name, {}), name) for name in SECTIONS}
    system = _empty_system(document, reading)
    reading.names = dict.fromkeys(["world", *itertools.chain.from_iterable(sections.values())])
    reading.blocks = {"world": system.world}
    _read_bodies(sections["bodies"], system, reading)
    devices = list(_read_devices(sections["devices"], reading))
    listed = TEXTS.read(document.get("order", []), "order", reading)
    order = [name for name in listed if name is not None and reading.knows_block(name, "order")]
    connections = _read_between("joints", "joint", sections, reading)
    loops = _read_between("closures", "closure", sections, reading)
    interactions = _read_between("interactions", "interaction", sections, reading)
    for section in System.ATTACHMENTS:
        for name, table in sections[section].items():
            _read_block(section, name, table, reading)
    refuse(reading.findings)
    for values in connections:
        system.connect(**values)
    for values in loops:
        system.close_loop(**values)
    for values in interactions:
        system.add_interaction(values["interaction"], *values.get("ports", ()), *values.get("coordinates", ()))
    for section, method in System.ATTACHMENTS.items():
        for name in sections[section]:
            getattr(system, method)(reading.blocks[name])
    for device in devices:
        system.add_device(device)
    rank = {name: k for k, name in enumerate(order)}
    for entries, names in sequences(system) if rank else ():
        places = np.argsort([rank.get(name, len(rank)) for name in names], kind="stable")
        entries[:] = [entries[k] for k in places]
    return system


def _check_version(document: Mapping[str, Any]) -> None:
    form, version = document.get("format"), document.get("version")
    if form != FORMAT:
        advice = f'a model file starts with the line format = "{FORMAT}"; is it another file?'
        raise ModelError(Finding("wrong-format", "format", "nothing" if form is None else form, repr(FORMAT), advice))
    if version is None:
        raise ModelError(Finding("missing-key", "version", "nothing", f"version = {VERSION}", "give it"))
    if type(version) is not int or version != VERSION:
        newer = type(version) is int and version > VERSION
        advice = "a newer titop wrote it: update titop" if newer else f"write version = {VERSION}"
        raise ModelError(Finding("unknown-version", "version", version, str(VERSION), advice))


def _empty_system(document: Mapping[str, Any], reading: FileReading) -> System:
    fields, world = (_read_table(name, known, document, reading) for name, known in (("system", SYSTEM), ("world", WORLD)))
    system = System(**fields)
    if fields.get("gravity") is None and not reading.findings:
        found = f"nothing; {system.gravity.tolist()} m/s^2 is taken"
        expected, advice = "the uniform field, in inertial components", "write gravity = [0, 0, -9.81] below [system]"
        warn([Finding("no-gravity", "system.gravity", found, expected, advice)])
    system.world.port_poses.update(world.get("ports", {}))
    return system


def _read_table(
    name: str, fields: Mapping[str, FileField], document: Mapping[str, Any], reading: FileReading
) -> dict[str, Any]:
    table = reading.table(document.get(name, {}), name)
    reading.refuse_unknown_keys(table, fields, name)
    return read_fields(fields, table, name, reading)


def _read_bodies(section: Mapping[str, Any], system: System, reading: FileReading) -> None:
    """Make the bodies and add them to the graph, so that unconnected ones are noticed."""
    modes = 0
    for name, table in section.items():
        body = _read_block("bodies", name, table, reading)
        if body is None:
            continue
        system.by_name[name] = body
        modes += body.nv
        if modes > MAX_MODES:
            expected = f"at most {MAX_MODES} own coordinates of all bodies"
            raise ModelError([*reading.findings, Finding("too-large", f"bodies.{name}", modes, expected, "keep fewer modes")])


def _read_devices(section: Mapping[str, Any], reading: FileReading) -> Iterator[CompositeDevice]:
    """Make the devices, and let others be attached to their parts."""
    for name, table in section.items():
        device: Any = _read_block("devices", name, table, reading)
        if device is not None:
            del reading.blocks[name]
            yield device
            parts = {} if device.check()[0] else device.blocks
            reading.blocks |= parts
            reading.names |= dict.fromkeys(parts)


def _read_between(section: str, role: str, sections: Mapping[str, Any], reading: FileReading) -> list[dict[str, Any]]:
    """Make the joints, closures or interactions; return for each the arguments of the method that adds it."""
    arguments = []
    for name, table in sections[section].items():
        block = _read_block(section, name, table, reading)
        ends = read_fields(ENDS[section], table if isinstance(table, Mapping) else {}, f"{section}.{name}", reading)
        arguments.append({role: block, **ends})
    return arguments


def _read_block(section: str, name: str, value: Any, reading: FileReading) -> Block | None:
    """Make a block and add it to `reading`; None, with findings, if its table is wrong."""
    where, before = f"{section}.{name}", len(reading.findings)
    table = reading.table(value, where)
    if not name or "." in name or name == "world" or name in reading.blocks:
        reading.report("bad-name", where, name, "a name without dots that no other block has", "rename the block")
    known = _type_in(section, table, where, reading)
    if known is None:
        return None
    reading.refuse_unknown_keys(table, ["type", *ENDS.get(section, ()), *known.fields], where)
    values = read_fields(known.fields, table, where, reading)
    if len(reading.findings) > before:
        return None
    try:
        block = reading.build(lambda: known.cls(name=name, **values), where)  # type: ignore[call-arg]
    except Exception as error:  # of a user's class
        advice = "see the constructor of the class, or check the values"
        reading.report("block-fails", where, f"{type(error).__name__}: {error}", f"values for {known.cls.__name__}", advice)
        return None
    if block is None:
        return None
    _keep_bits(block, known.fields, values)
    reading.blocks[name] = block
    return block


def _type_in(section: str, table: Mapping[str, Any], where: str, reading: FileReading) -> BlockType | None:
    types = types_in(section)
    name = table.get("type", DEFAULT_TYPES.get(section))
    if name is None:
        reading.report("missing-key", f"{where}.type", "nothing", "a type", f"known types: {', '.join(types)}")
    elif not isinstance(name, str) or name not in types:
        advice = f"{did_you_mean(name, types)} A class of your own must be registered by register_block"
        reading.report("unknown-type", f"{where}.type", name, f"a type of {section}", advice)
    else:
        return types[name]
    return None


def _keep_bits(block: Block, fields: Mapping[str, FileField], values: Mapping[str, Any]) -> None:
    """Restore the given values of fields whose normalisation changed only the rounding, to keep all bits."""
    for name, field in fields.items():
        given = real_array(values.get(name, ()))
        if not field.normalised or given is None:
            continue
        attribute = field.attribute or name
        made, given = getattr(block, attribute), np.atleast_1d(given)
        if given.shape == made.shape and np.abs(made - given).max(initial=0.0) <= 4 * EPS:
            put(block, attribute, given)


#: Other kinds of files by their first bytes, with the function that reads them.
_OTHER_FILES = {
    b"PK\x03\x04": (
        "arrays (.npz)",
        "read a trajectory by tt.load_trajectory(path, model), a family by tt.LPVModel.load(path)",
    ),
    b"<": ("XML", "read a robot by tt.from_urdf(path)"),
}


def load(source: str | os.PathLike[str]) -> System:
    """Read a system from a model file or its text; nothing in it is executed.

    Parameters
    ----------
    source : str or Path
        Path of the file; a `str` of several lines is the text itself.

    Raises
    ------
    ModelError
        Listing all errors of the file, each with its dotted place; with line and column if it is not TOML. Errors of the
        system that it describes are reported when the system is resolved.

    Warns
    -----
    ModelWarning
        For a file that does not define gravity.

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
        return system_of(parse_toml(source.removeprefix("\ufeff")))
    try:
        return system_of(parse_toml(_read(source)))
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
