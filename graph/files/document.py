"""The content of a model file, as nested tables.

A file holds, in this order: ``format`` and ``version``, ``[system]``, ``[parameters]``, ``[world]``, and a table for each
block, ``[bodies.NAME]``, ``[joints.NAME]`` (in the order of the coordinates), ``[closures.NAME]``, ``[interactions.NAME]``,
``[gears.NAME]``, ``[limits.NAME]``, ``[loads.NAME]``, ``[actuators.NAME]`` and ``[sensors.NAME]``.
`titop.graph.files.block_types` lists what may stand in such a table.
"""

from __future__ import annotations

from titop.graph.files.block_types import ENDS
from titop.graph.files.file_fields import NUMBERS, TEXT, FileField
from titop.graph.files.records import PORTS
from titop.graph.network.network import Network

FORMAT = "titop"
VERSION = 1

SECTIONS = ("bodies", *ENDS, *Network.ATTACHMENTS)
KEYS = ("format", "version", "system", "parameters", "world", *SECTIONS)
SYSTEM = {"name": FileField(TEXT, None), "gravity": FileField(NUMBERS, None)}
WORLD = {"ports": FileField(PORTS, {}, attribute="port_poses")}
