"""Writing model files, whole or not at all.

A file holds, in this order: ``format`` and ``version``, ``[system]``, ``[parameters]``, ``[world]``, and a table for each
block, ``[bodies.NAME]``, ``[joints.NAME]`` (in the order of the coordinates), ``[closures.NAME]``, ``[interactions.NAME]``,
``[gears.NAME]``, ``[limits.NAME]``, ``[loads.NAME]``, ``[actuators.NAME]``, ``[sensors.NAME]`` and ``[devices.NAME]``, which
stands for all parts of a device. `order` names joints and others that are added one after the other, if parts of devices are
not the last of these.
`titop.graph.files.block_types` lists what may stand in such a table.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from titop.blocks.basics.errors import Finding, ModelError, refuse
from titop.blocks.basics.local_files import replaced_file
from titop.blocks.basics.user_input import check_suffix
from titop.blocks.contract.block import Block
from titop.blocks.interactions.interaction import Interaction
from titop.graph.checking.system_check import system_findings
from titop.graph.files.block_fields import GRAVITY
from titop.graph.files.block_types import DEFAULT_TYPES, ENDS, type_of
from titop.graph.files.file_fields import PORTS, TEXT, FileField, write_fields
from titop.graph.files.toml_text import check_size, format_table
from titop.graph.network.connections import Connection, Joined
from titop.graph.network.network import Network

FORMAT, VERSION = "titop", 1
_HEADER = "# A model for titop. Units: m, kg, s, rad, N.\n"

SECTIONS = ("bodies", *ENDS, *Network.ATTACHMENTS, "devices")
KEYS = ("format", "version", "order", "system", "parameters", "world", *SECTIONS)
SYSTEM = {"name": FileField(TEXT, None), "gravity": FileField(GRAVITY, None)}
WORLD = {"ports": FileField(PORTS, {}, attribute="port_poses")}


def tables_of(system: Network) -> Iterator[tuple[tuple[str, ...], dict[str, Any]]]:
    """Yield header and entries of every table of a system's file.

    Raises `ModelError` if the system does not pass its checks, or has blocks of classes that are not registered or that files
    cannot hold.
    """
    system_findings(system)
    refuse(_type_findings(system))
    parts = {name for device in system.devices for name in device.blocks}
    mixed = [names for _, names in sequences(system) if names != sorted(names, key=parts.__contains__)]
    order = {"order": [name for names in mixed for name in names]} if mixed else {}
    yield (), {"format": FORMAT, "version": VERSION} | order
    yield ("system",), write_fields(SYSTEM, system)
    world = write_fields(WORLD, system.world)
    if world:
        yield ("world",), world
    joints = {c.joint.name: c for c in system.connections if c.joint.name not in parts}
    loops = {loop.closure.name: loop for loop in system.loops if loop.closure.name not in parts}
    attached = {
        section: [each for each in getattr(system, section) if each.name not in parts] for section in Network.ATTACHMENTS
    }
    others = {"world", *parts, *joints, *loops, *(block.name for blocks in attached.values() for block in blocks)}
    for name, block in system.by_name.items():
        if name not in others:
            yield ("bodies", name), _block_entries("bodies", block)
    for name, connection in joints.items():
        yield ("joints", name), _block_entries("joints", connection.joint, connection)
    sections = _sections_of(loops)
    for section in ("closures", "interactions"):
        for name, loop in loops.items():
            if section == sections[name]:
                yield (section, name), _block_entries(section, loop.closure, loop)
    for section, blocks in attached.items():
        for block in blocks:
            yield (section, block.name), _block_entries(section, block)
    for device in system.devices:
        yield ("devices", device.name), _block_entries("devices", device)


def sequences(system: Network) -> Iterator[tuple[list[Any], list[str]]]:
    """Yield the lists of a system in which the order matters, each with the names of its entries."""
    yield system.connections, [connection.joint.name for connection in system.connections]
    yield system.loops, [loop.closure.name for loop in system.loops]
    for section in system.ATTACHMENTS:
        yield getattr(system, section), [block.name for block in getattr(system, section)]


def _sections_of(loops: Mapping[str, Joined]) -> dict[str, str]:
    """Return the section of each loop: that of closures, until a loop has inputs or other targets than two ports.

    From there on interactions are written to their own section, so that inputs and sums of loads keep their order.
    """
    sections, acting = {}, False
    for name, loop in loops.items():
        acting = acting or not loop.is_between_two_ports or bool(loop.closure.inputs)
        sections[name] = "interactions" if acting and isinstance(loop.closure, Interaction) else "closures"
    return sections


def _type_findings(system: Network) -> Iterator[Finding]:
    parts = {name for device in system.devices for name in device.blocks}
    for name, block in [*system.by_name.items(), *((device.name, device) for device in system.devices)]:
        if block is not system.world and type_of(block) is None and (name not in parts or block in system.devices):
            yield _unwritten(name, block)
    for device in system.devices:
        changed = [name for name, value in device.part_numbers().items() if device.numbers.get(name) != value]
        if changed:
            advice = "set the fields of the device instead: a file holds only these"
            yield Finding("changed-part", device.name, ", ".join(changed), "parts as the device makes them", advice)


def _unwritten(name: str, block: Block) -> Finding:
    found = type(block).__name__
    if block.not_in_files:
        return Finding("not-in-files", name, found, "blocks that are numbers and names", block.not_in_files)
    advice = "call titop.register_block for it, once, where it is defined"
    return Finding("unregistered-class", name, found, "a class that files know", advice)


def _block_entries(section: str, block: Block, between: Connection | Joined | None = None) -> dict[str, Any]:
    known = type_of(block)
    assert known is not None
    entries: dict[str, Any] = {} if DEFAULT_TYPES.get(section) == known.name else {"type": known.name}
    if between is not None:
        entries |= write_fields(ENDS[section], between)
    try:
        return entries | write_fields(known.fields, block)
    except ModelError as error:
        raise ModelError([replace(finding, where=f"{block.name}.{finding.where}") for finding in error.findings]) from None


def save(system: Network, path: str | os.PathLike[str]) -> None:
    """Write a system to a file: see `System.save`."""
    check_suffix(path, ("toml",))
    text = to_text(system)
    check_size(text)
    with replaced_file(path) as file:
        file.write(text.encode())


def to_text(system: Network) -> str:
    """Return the text that `save` writes."""
    text = "\n".join([_HEADER, *(format_table(header, entries) for header, entries in tables_of(system))])
    try:
        text.encode()
    except UnicodeEncodeError as error:
        shown = repr(error.object[max(error.start - 10, 0) : error.end])
        raise ModelError(Finding("not-text", system.name, shown, "names that are text", "rename the block or port")) from None
    return text
