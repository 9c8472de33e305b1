"""One choice of independent coordinates for all members of a family."""

from __future__ import annotations

import numpy as np
import pytest

from tests.refusals import refusal
from tests.solvers.linear.constrained_families import MATRICES, crank_case


def test_choices_of_single_points_do_not_mix() -> None:
    """The control: that linkage, each point in the coordinate that suits it best, between 1.25 and 1.5 rad."""
    case = crank_case()
    family = case.family()
    low, high = (case.member(family, value) for value in (1.25, 1.5))
    assert low.state_labels != high.state_labels
    exact = case.member(family, 1.375)(2j).item()
    assert exact.real == pytest.approx(-0.219, abs=1e-3)
    # what interpolation between the two would give
    mixed = [0.5 * (getattr(low, name) + getattr(high, name)) for name in MATRICES]
    wrong = (mixed[2] @ np.linalg.solve(2j * np.eye(2) - mixed[0], mixed[1]) + mixed[3]).item()
    assert abs(wrong - exact) > 0.2
    assert abs(family.at(q0_q=1.375)(2j).item() - exact) < 0.02


def test_a_choice_of_ones_own() -> None:
    case = crank_case()
    for name in case.model.coordinate_names:
        family = case.family(independent=[name])
        assert family.states[0].path == f"{name}.q"
        expected = case.member(family, 2.0, independent=[name])
        assert np.abs(family.at(q0_q=2.0).A - expected.A).max() < 1e-7
    with refusal("not-independent", "q0.q = 1"):
        case.family(independent=["q0", "q1"])
    with refusal("unknown-coordinate", "q9"):
        case.family(independent=["q9"])


def test_choices_that_fail_are_refused_by_point() -> None:
    """The angle between coupler and rocker turns back where the crank lies along the ground."""
    turn = crank_case(0.2, 6.2, 5)
    assert turn.family().states[0].path != "q2.q"
    with refusal("not-independent", "somewhere between q0.q = 1.7 and there"):
        turn.family(independent=["q2"])
    back = crank_case(3.0, np.pi, 2)
    assert back.family().states[0].path != "q2.q"
    with refusal("not-independent", "points: q0.q = 3.14159: got q2"):
        back.family(independent=["q2"])
