"""Where things stand in the records of general blocks: side by side, as many numbers as there are, none of them twice."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from titop.solvers.kernels.interface import layout, records


@pytest.mark.parametrize(("n", "ports"), [(0, 1), (1, 0), (3, 2), (7, 4)])
def test_records_have_no_gaps_and_no_overlaps(n: int, ports: int) -> None:
    """Sizes as `layout` and the block contract say them: ``M`` (6 + n) square, and so on."""
    size = 6 + n
    of_port = 9 + 3 + 3 * 6 + 6 + 6 * n  # pose; twist, acceleration, wrench; gamma; S
    law = [(0, size**2), (records.bias_at(n), size), (records.result_at(n), size)]
    law += [(records.port_at(n, p), of_port) for p in range(ports)]
    law += [(records.carried_at(n, ports), n)]
    slopes = [(0, size * n), (records.by_rate_at(n), size * n), (records.by_twist_at(n), size * 6)]
    slopes += [(records.columns_at(n, p), 3 * 6 * n) for p in range(ports)]
    for parts, whole in ((law, records.law_size(n, ports)), (slopes, records.slopes_size(n, ports))):
        end = 0
        for begin, length in parts:
            assert begin == end
            end = begin + length
        assert end == whole
    assert layout.PORT_S + 6 * n == of_port


def test_ports_in_use_have_a_bit_each() -> None:
    """Those beyond what an integer can hold are always in use."""
    used = 1 << 0 | 1 << 5 | 1 << 61
    assert [p for p in range(64) if records.is_used(used, p)] == [0, 5, 61, 62, 63]
    assert all(records.is_used(-1, p) for p in range(64))


def test_columns_are_named_once() -> None:
    """A name given twice would move a column without a word."""
    names = re.findall(r"^([A-Z]\w*)\b.* = ", Path(layout.__file__).read_text(encoding="utf8"), re.MULTILINE)
    assert len(names) > 100
    assert len(names) == len(set(names))
