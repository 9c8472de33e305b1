"""Bars on a terminal, of what takes long, and nowhere else."""

from __future__ import annotations

import io
import sys

import pytest

from titop.solvers.support import progress


class Terminal(io.StringIO):
    """A stream that says it is one."""

    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("stream", "wanted", "after", "seen"),
    [
        (Terminal, True, 0.0, True),
        (Terminal, True, 60.0, False),
        (Terminal, False, 0.0, False),
        (io.StringIO, True, 0.0, False),
    ],
)
def test_when_it_is_seen(
    monkeypatch: pytest.MonkeyPatch, stream: type[io.StringIO], wanted: bool, after: float, seen: bool
) -> None:
    shown = stream()
    monkeypatch.setattr(sys, "stderr", shown)
    monkeypatch.setattr(progress, "SHOW_AFTER", after)
    assert list(progress.progress_bar(range(3), wanted, unit="item")) == [0, 1, 2]
    assert bool(shown.getvalue()) is seen
