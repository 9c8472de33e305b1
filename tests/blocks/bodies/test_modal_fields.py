"""Reading the data of flexible bodies."""

from __future__ import annotations

from tests.blocks.bodies.flexible_panels import panel


def test_one_mode_may_be_given_by_six_numbers() -> None:
    body = panel(
        frequencies=3.5, participation=[0, 0.78, 0, 0, 0, 0.56], shapes={"C": [0, 2, 0, 0, 0, 2.75]}, damping_ratios=[0.1]
    )
    assert body.check() == ([], [])
    assert (body.nv, body.coordinates, body.shapes["C"].shape) == (1, ("mode1",), (6, 1))
