"""The state of reading a model file: its parameters, its blocks, and findings."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from typing import Any

from titop.blocks.basics.errors import MAX_FINDINGS, Finding, ModelError, did_you_mean
from titop.blocks.basics.paths import entry_of, owner_of, split_path
from titop.blocks.contract.block import Block, PortRef
from titop.graph.files.expressions import number


class FileReading:
    """The reading of one file.

    Its `names` are those of every block that the file describes, in its order, its `blocks` those that are made.
    """

    def __init__(self) -> None:
        self.parameters: dict[str, float] = {}
        self.names: dict[str, None] = {}
        self.blocks: dict[str, Block] = {}
        self.findings: list[Finding] = []

    def add(self, findings: Collection[Finding]) -> None:
        """Record findings."""
        self.findings += findings
        if len(self.findings) >= MAX_FINDINGS:
            raise ModelError(self.findings)

    def report(self, code: str, where: str, value: Any, expected: str, advice: str) -> None:
        """Record an error."""
        self.add([Finding(code, where, value, expected, advice)])

    def build(self, make: Callable[[], Any], where: str) -> Any:
        """Return the object that a constructor makes; None if it refuses, with findings at their place in the file."""
        try:
            return make()
        except ModelError as error:
            self.add([replace(finding, where=join(where, entry_of(finding.where))) for finding in error.findings])
            return None

    def number(self, value: Any, where: str, infinite: bool = False) -> float | None:
        """Return a number given as such or as an expression; None if it is neither."""
        try:
            return number(value, self.parameters, where, infinite)
        except ModelError as error:
            self.add(error.findings)
            return None

    def table(self, value: Any, where: str) -> Mapping[str, Any]:
        """Return a value that must be a table; an empty one if it is not."""
        if isinstance(value, Mapping):
            return value
        self.report("wrong-type", where, value, "a table", f"write [{where}] and key = value below it")
        return {}

    def text(self, value: Any, where: str) -> str | None:
        """Return a value that must be a text; None if it is not."""
        if isinstance(value, str):
            return value
        self.report("wrong-type", where, value, "a text", "put it in quotes")
        return None

    def refuse_unknown_keys(self, table: Mapping[str, Any], known: Collection[str], where: str) -> None:
        """Report every key of a table that is not known."""
        for key in table:
            if key not in known:
                self.report("unknown-key", join(where, key), key, "a known key", did_you_mean(key, known))

    def port(self, value: Any, where: str) -> PortRef | None:
        """Return the port with a dotted name; None if there is no such block."""
        text = self.text(value, where)
        if text is None or not self.knows_block(text, where):
            return None
        name, port = split_path(text)
        return PortRef(self.blocks[name], port) if name in self.blocks else None

    def knows_block(self, text: str, where: str) -> bool:
        """Tell whether a dotted name starts with a block's; report it if not."""
        name = owner_of(text)
        if name in self.names:
            return True
        self.report("unknown-block", where, text, "the name of a block, or block.port", did_you_mean(name, self.names))
        return False


def join(where: str, key: str) -> str:
    """Return the dotted place of a key in a table."""
    return f"{where}.{key}" if where else key
