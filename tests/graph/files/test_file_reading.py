"""What readers of model files share: each mistake is recorded with its place, and many of them end the reading."""

from __future__ import annotations

from typing import Any

import pytest

import titop as tt
from titop.blocks.basics.errors import MAX_FINDINGS
from titop.graph.files.file_reading import FileReading, join


@pytest.fixture
def reading() -> FileReading:
    """A reading that knows of two blocks, one of which is made."""
    begun = FileReading()
    begun.names |= dict.fromkeys(["hub", "arm"])
    begun.blocks["hub"] = tt.RigidBody("hub", mass=1.0)
    begun.parameters["length"] = 0.5
    return begun


def told(reading: FileReading) -> list[tuple[str, str]]:
    """Return place and code of each finding."""
    return [(finding.where, finding.code) for finding in reading.findings]


def test_values_of_the_right_kind_pass(reading: FileReading) -> None:
    assert reading.number("2 * length", "a.b") == 1.0
    assert reading.table({"x": 1}, "a") == {"x": 1}
    assert reading.text("hub", "a") == "hub"
    port = reading.port("hub.C.x", "a")
    assert port is not None
    assert (port.block, port.name) == (reading.blocks["hub"], "C.x")
    assert reading.findings == []


@pytest.mark.parametrize(
    ("method", "value", "nothing", "code"),
    [
        ("number", "2 * lenght", None, "unknown-parameter"),
        ("number", [1.0], None, "wrong-type"),
        ("table", [1.0], {}, "wrong-type"),
        ("text", 3.0, None, "wrong-type"),
        ("port", "hup.C", None, "unknown-block"),
        ("port", 3.0, None, "wrong-type"),
    ],
)
def test_others_are_recorded_with_their_place(reading: FileReading, method: str, value: Any, nothing: Any, code: str) -> None:
    assert getattr(reading, method)(value, "arm.field") == nothing
    assert told(reading) == [("arm.field", code)]


def test_a_block_that_is_described_but_not_made_is_no_second_mistake(reading: FileReading) -> None:
    assert reading.port("arm.C", "connection") is None
    assert reading.findings == []


def test_unknown_keys_are_recorded_with_a_hint(reading: FileReading) -> None:
    reading.refuse_unknown_keys({"mass": 1, "inertai": 2}, ["mass", "inertia"], "arm")
    assert told(reading) == [("arm.inertai", "unknown-key")]
    assert "did you mean 'inertia'?" in str(reading.findings[0])
    assert join("", "mass") == "mass"


def test_the_last_finding_that_is_borne_ends_the_reading(reading: FileReading) -> None:
    for k in range(MAX_FINDINGS - 1):
        reading.text(k, f"arm.f{k}")
    with pytest.raises(tt.ModelError) as raised:
        reading.text(0, "arm.last")
    assert len(raised.value.findings) == MAX_FINDINGS
