"""What is wrong and suspicious in one robot, collected while its file is read."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from titop.blocks.basics.errors import MAX_FINDINGS, Finding, ModelError

#: Most links and joints: some seconds of reading.
MAX_PARTS = 20_000
LONGEST_NAME = 200
#: Characters of an unknown word that a message shows.
SHOWN = 80
#: Advice where `titop.graph.robots.repair` can help.
REPAIR = "or repair=True mends it"


class Report:
    """Collects errors and warnings of one robot.

    `robot`: head of every finding's dotted path; `language`: that of the file.
    """

    def __init__(self, robot: str, language: str = "URDF") -> None:
        self.robot, self.language = robot, language
        self.findings: list[Finding] = []
        self._suspicions: dict[tuple[str, str, str, str], list[str]] = {}

    def error(self, code: str, where: str, value: Any, expected: str, advice: str) -> None:
        """Record an error at a dotted path inside the robot; too many end the reading."""
        self.findings.append(Finding(code, self._path(where), value, expected, advice))
        if len(self.findings) >= MAX_FINDINGS:
            raise ModelError(self.findings)

    def suspect(self, code: str, where: str, value: str, expected: str, advice: str) -> None:
        """Record a warning; the same warning at several places is given once."""
        self._suspicions.setdefault((code, value, expected, advice), []).append(where)

    def report_unused(self, what: str, where: str, advice: str = "check that the dynamics can do without it") -> None:
        """Record that something in the file is not used."""
        self.suspect("left-out", where, what, f"what titop reads from {self.language}", advice)

    def warnings(self) -> Iterator[Finding]:
        """Yield the warnings, each with its first place."""
        for (code, value, expected, advice), places in self._suspicions.items():
            times = f" ({len(places)} times)" if len(places) > 1 else ""
            yield Finding(code, self._path(places[0]), value + times, expected, advice)

    def _path(self, where: str) -> str:
        return f"{self.robot}.{where}" if where else self.robot

    def repaired(self, where: str, found: str, expected: str, taken: str) -> None:
        """Record a repair."""
        self.suspect("repaired", where, found, expected, taken)
