"""Signals found by their names, and made unlike others."""

from __future__ import annotations

import pytest

import titop as tt
from titop.solvers.lft.connections.labels import positions, unlike
from titop.solvers.signals.exported import Signal

KNOWN = [Signal("gyro.x", "rad/s"), Signal("gyro.y", "rad/s"), Signal("hub.C.F[0]", "N"), Signal("hub.C.F[1]", "N")]


def test_entries_and_vectors() -> None:
    """Dotted or as they are exported."""
    assert positions("signals", ["hub.C.F", "gyro_y"], KNOWN) == [2, 3, 1]
    assert positions("signals", ["hub_C_F[1]", "gyro"], KNOWN) == [3, 0, 1]
    with pytest.raises(tt.ModelError, match="unknown-signal"):
        positions("signals", ["gyr"], KNOWN)
    with pytest.raises(tt.ModelError, match="given-twice"):
        positions("signals", ["gyro", "gyro.x"], KNOWN)


def test_names_that_are_taken() -> None:
    found = unlike([Signal("gyro.x", ""), Signal("gyro_x", ""), Signal("x[0]", "")], KNOWN)
    assert [signal.path for signal in found] == ["gyro.x_2", "gyro_x_3", "x[0]"]
