"""Kinds of values in model files: what is written is read as it was, and what is missing or the default is not written."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import titop as tt
from titop.graph.files import file_fields as fields
from titop.graph.files.file_fields import FileField, ValueKind, read_fields, write_fields
from titop.graph.files.file_reading import FileReading


def read(kind: ValueKind, value: Any) -> Any:
    """Return what is read, without a finding."""
    reading = FileReading()
    reading.names |= dict.fromkeys(["hub"])
    reading.blocks["hub"] = tt.RigidBody("hub", mass=1.0)
    found = kind.read(value, "arm.field", reading)
    assert reading.findings == []
    return found


@pytest.mark.parametrize("value", [0.0, 1 / 3, -1e-300, 2.0**-1074])
def test_numbers_keep_their_bits(value: float) -> None:
    assert read(fields.NUMBER, fields.NUMBER.write(np.array([value]))) == value
    assert read(fields.UNLIMITED, fields.UNLIMITED.write(-np.inf)) == -np.inf


@pytest.mark.parametrize("shape", [(), (3,), (2, 4), (6, 6)])
def test_arrays_keep_their_bits_and_shape(shape: tuple[int, ...]) -> None:
    value = np.random.default_rng(0).normal(size=shape)
    assert np.array_equal(read(fields.NUMBERS, fields.NUMBERS.write(value)), value)


@pytest.mark.parametrize(
    ("matrix", "written"),
    [
        (np.zeros((3, 3)), 0.0),
        (np.diag([1.0, 2.0, 0.0]), [1.0, 2.0, 0.0]),
        (np.array([[1.0, 0.5], [0.5, 2.0]]), [[1.0, 0.5], [0.5, 2.0]]),
        (np.array([[4.0]]), 4.0),
    ],
)
def test_symmetric_matrices_take_their_shortest_form(matrix: np.ndarray, written: Any) -> None:
    assert fields.SYMMETRIC.write(matrix) == written


def test_names_and_ports_stand_as_texts() -> None:
    port = read(fields.PORT, "hub.C")
    assert fields.PORT.write(port) == "hub.C"
    assert read(fields.BLOCK_NAME, "hub.mode1") == "hub.mode1"
    assert [str(each) for each in read(fields.PORT_LIST, fields.PORT_LIST.write([port, "hub"]))] == ["hub.C", "hub"]
    assert read(fields.TEXTS, fields.TEXTS.write(("a", "b"))) == ["a", "b"]


@pytest.mark.parametrize(
    ("kind", "value", "where", "code"),
    [
        (fields.NUMBER, np.inf, "arm.field", "not-finite"),
        (fields.NUMBERS, [[1.0], ["x +"]], "arm.field[1][0]", "bad-expression"),
        (fields.TEXTS, "a", "arm.field", "wrong-type"),
        (fields.TEXTS, ["a", 1], "arm.field[1]", "wrong-type"),
        (fields.PORT_LIST, "hub", "arm.field", "wrong-type"),
        (fields.COORDINATE_LIST, ["hub"], "arm.field[0]", "unknown-block"),
    ],
)
def test_mistakes_are_found_where_they_stand(kind: ValueKind, value: Any, where: str, code: str) -> None:
    reading = FileReading()
    kind.read(value, "arm.field", reading)
    assert [(finding.where, finding.code) for finding in reading.findings] == [(where, code)]


def test_defaults_are_not_written_and_what_must_be_given_is_missed() -> None:
    table = {
        "mass": FileField(fields.NUMBER),
        "com": FileField(fields.NUMBERS, (0.0, 0.0, 0.0)),
        "length": FileField(fields.NUMBER, lambda owner: 2.0 * owner.mass),
        "damping": FileField(fields.NUMBER, None),
        "shown": FileField(fields.TEXT, "no", attribute="label"),
    }
    owner = SimpleNamespace(mass=1.5, com=np.zeros(3), length=3.0, damping=0.0, label="no")
    assert write_fields(table, owner) == {"mass": 1.5, "damping": 0.0}
    owner.com[2], owner.length, owner.label = 0.1, 4.0, "yes"
    written = write_fields(table, owner)
    assert written == {"mass": 1.5, "damping": 0.0, "com": [0.0, 0.0, 0.1], "length": 4.0, "shown": "yes"}
    reading = FileReading()
    assert read_fields(table, written | {"other": 1}, "arm", reading) == written
    assert read_fields(table, {}, "arm", reading) == {}
    assert [(finding.where, finding.code) for finding in reading.findings] == [("arm.mass", "missing-key")]
