"""What is suspicious about a control loop at its start."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from titop.solvers.control.loop_checks import suspicions


def loop(reference: float, trim: float, unit: str = "m", size: float = 1.0) -> Any:
    """Return what the checks know of a loop with one reference."""
    return SimpleNamespace(
        references=SimpleNamespace(names=("rail.q",), read=lambda t: np.array([reference])),
        reference_units=(unit,),
        r_trim=np.array([trim]),
        measurements=SimpleNamespace(model=SimpleNamespace(size=size)),
    )


def codes(controlled: Any, pushes: dict[str, Any] | None = None, wrenches: dict[str, Any] | None = None) -> list[str]:
    found = suspicions(controlled, SimpleNamespace(wrenches=pushes or {}), wrenches or {}, 0.0)  # type: ignore[arg-type]
    return [finding.code for finding in found]


@pytest.mark.parametrize(
    ("reference", "trim", "found"),
    [(2.0, 2.0, []), (2.1, 2.0, []), (0.1, 2.0, ["far-reference"]), (-0.1, -2.0, ["far-reference"]), (1.5, 2.0, [])],
)
def test_references_near_zero_look_like_deviations(reference: float, trim: float, found: list[str]) -> None:
    assert codes(loop(reference, trim)) == found


def test_operating_points_near_zero_are_none_to_deviate_from() -> None:
    """Less than a millionth of the system's size, in metres; of a radian, in any system."""
    assert codes(loop(0.0, 1e-5, "m", size=100.0)) == []
    assert codes(loop(0.0, 1e-5, "m", size=1.0)) == ["far-reference"]
    assert codes(loop(0.0, 1e-5, "rad", size=100.0)) == ["far-reference"]


def test_wrenches_of_the_operating_point_have_to_act() -> None:
    push = {"b": np.array([1.0, 0, 0, 0, 0, 0])}
    assert codes(loop(0.0, 0.0), push) == ["missing-wrench"]
    assert codes(loop(0.0, 0.0), push, {"b": np.zeros(6)}) == []
    assert codes(loop(0.0, 0.0), {"b": np.zeros(6)}) == []
