"""Reading the data of flexible bodies."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import titop as tt
from tests.blocks.bodies.flexible_panels import panel
from titop.blocks.basics.user_input import FieldReader
from titop.blocks.bodies.modal_fields import read_second_order
from titop.blocks.bodies.second_order import LOADS


def test_one_mode_may_be_given_by_six_numbers() -> None:
    body = panel(
        frequencies=3.5, participation=[0, 0.78, 0, 0, 0, 0.56], shapes={"C": [0, 2, 0, 0, 0, 2.75]}, damping_ratios=[0.1]
    )
    assert body.check() == ([], [])
    assert (body.nv, body.coordinates, body.shapes["C"].shape) == (1, ("mode1",), (6, 1))


class TestRecovery:
    def test_one_row_may_be_given_by_its_numbers(self) -> None:
        body = panel(recovery={"root stress": [1.0, 2.0], "tip": np.ones((3, 2))})
        assert body.check() == ([], [])
        assert {name: rows.shape for name, rows in body.recovery.items()} == {"root stress": (1, 2), "tip": (3, 2)}
        assert panel().recovery == {}

    def test_it_stands_in_files(self, tmp_path: Path) -> None:
        s = tt.System("panel")
        s.connect("world", panel(recovery={"MEF1.10": [[1.0, 2.0], [3.0, 4.0]]}), tt.Weld("clamp"))
        s.save(tmp_path / "panel.toml")
        again = tt.load(tmp_path / "panel.toml")["panel"]
        np.testing.assert_array_equal(again.recovery["MEF1.10"], [[1.0, 2.0], [3.0, 4.0]])

    @pytest.mark.parametrize(
        ("recovery", "code", "where"),
        [
            ([[1.0, 2.0]], "wrong-type", "panel.recovery"),
            ({"root": [1.0]}, "wrong-shape", "panel.recovery.root"),
            ({"root": 3.0}, "wrong-shape", "panel.recovery.root"),
            ({"root": [[1.0, np.nan]]}, "not-finite", "panel.recovery.root"),
            ({"root": "stress"}, "wrong-type", "panel.recovery.root"),
        ],
    )
    def test_what_is_refused(self, recovery: Any, code: str, where: str) -> None:
        assert [(finding.code, finding.where) for finding in panel(recovery=recovery).check()[0]] == [(code, where)]


# -- reading the second order of a body's deformation: all of it or nothing, symmetric, under known loads


N = 2
RNG = np.random.default_rng(0)


def symmetric(count: int) -> Any:
    matrices = RNG.normal(size=(count, N, N))
    return matrices + matrices.transpose(0, 2, 1)


PRODUCTS = RNG.normal(size=(3, 3, N, N))
FIELDS = {
    "stiffness": {load: symmetric(count) for load, count in (LOADS | {"C": 6}).items()},
    "position": RNG.normal(size=(3, 3, N)),
    "displacement": PRODUCTS + PRODUCTS.transpose(1, 0, 3, 2),
}


def read(**changes: Any) -> tuple[Any, FieldReader]:
    reader = FieldReader("b")
    return read_second_order(reader, **FIELDS | changes, n=N, ports=["C"]), reader


def test_what_is_right_is_taken() -> None:
    (stiffness, position, displacement), reader = read()
    assert (reader.findings, reader.warnings) == ([], [])
    assert set(stiffness) == {*LOADS, "C"}
    np.testing.assert_array_equal(stiffness["C"], FIELDS["stiffness"]["C"])
    np.testing.assert_array_equal(position, FIELDS["position"])
    np.testing.assert_array_equal(displacement, FIELDS["displacement"])


def test_there_may_be_none() -> None:
    found, reader = read(stiffness=None, position=None, displacement=None)
    assert (found, reader.findings) == ((None, None, None), [])


def test_parts_belong_together() -> None:
    found, reader = read(position=None, displacement=None)
    assert found == (None, None, None)
    missing = [(finding.code, finding.where) for finding in reader.findings]
    assert missing == [("missing-second-order", f"b.{field}") for field in ("position_moments", "displacement_moments")]


def test_ports_without_stiffness_are_suspicious() -> None:
    _, reader = read(stiffness={load: FIELDS["stiffness"][load] for load in LOADS})
    assert not reader.findings
    (warning,) = reader.warnings
    assert (warning.code, warning.where) == ("port-without-stiffness", "b.geometric_stiffness.C")


SKEW = np.array([[0.0, 1.0], [-1.0, 0.0]])


@pytest.mark.parametrize(
    ("changes", "code", "where"),
    [
        ({"stiffness": 3.0}, "wrong-type", "geometric_stiffness"),
        ({"stiffness": FIELDS["stiffness"] | {"spins": symmetric(6)}}, "unknown-load", "geometric_stiffness.spins"),
        ({"stiffness": FIELDS["stiffness"] | {"C": symmetric(3)}}, "wrong-shape", "geometric_stiffness.C"),
        ({"stiffness": FIELDS["stiffness"] | {"C": np.tile(SKEW, (6, 1, 1))}}, "not-symmetric", "geometric_stiffness.C"),
        ({"position": np.zeros((3, 3, 3))}, "wrong-shape", "position_moments"),
        ({"displacement": PRODUCTS}, "not-symmetric", "displacement_moments"),
        ({"displacement": np.full((3, 3, N, N), np.nan)}, "not-finite", "displacement_moments"),
    ],
)
def test_unusable_ones_are_refused_by_name(changes: dict[str, Any], code: str, where: str) -> None:
    _, reader = read(**changes)
    assert [(finding.code, finding.where) for finding in reader.findings] == [(code, f"b.{where}")]


def test_accelerations_and_spin_are_needed() -> None:
    _, reader = read(stiffness={"C": FIELDS["stiffness"]["C"]})
    found = [(finding.code, finding.where) for finding in reader.findings]
    assert found == [("missing-load", f"b.geometric_stiffness.{load}") for load in ("acceleration", "spin")]


def test_what_programs_print_is_symmetric_enough() -> None:
    rounded = FIELDS["stiffness"]["C"] * (1 + 1e-7 * RNG.normal(size=(6, N, N)))
    assert not read(stiffness=FIELDS["stiffness"] | {"C": rounded})[1].findings
