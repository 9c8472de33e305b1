"""Slopes of feedback in implicit dynamics."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

import titop as tt
from tests.closed_systems import four_bar
from titop.solvers.simulation import implicit_equations

pytestmark = pytest.mark.filterwarnings("ignore::titop.ModelWarning")


def test_stiff_feedback_is_differentiated(monkeypatch: pytest.MonkeyPatch) -> None:
    model = four_bar().resolve()
    q = model.assemble([0.5, 0.5, -1.5], fixed=["q1"])

    def servo(t, q, v):
        return np.array([-1e5 * (q[0] - 0.6) - 2e3 * v[0], 0, 0])

    arguments = {"tau": servo, "method": "generalized-alpha", "rtol": 1e-6, "atol": 1e-6}
    run = tt.simulate(model, [0, 0.5, 1], q, np.zeros(3), **arguments)
    assert run.statistics["steps"] < 300
    assert run.q[-1][0] == pytest.approx(0.6, abs=1e-4)  # gravity over stiffness, 3.6e-5, and what steps of the tolerance leave
    monkeypatch.setattr(implicit_equations, "feedback_derivatives", lambda *_: (np.zeros((3, 3)),) * 2)
    blind = tt.simulate(model, [0, 0.02], q, np.zeros(3), **arguments)
    seeing = run.statistics["steps"] + run.statistics["rejected"]
    assert blind.statistics["steps"] + blind.statistics["rejected"] > seeing, (
        "the negative control, over a fiftieth of the time"
    )


def test_rows_are_kept_while_they_are_independent(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of three constraints two act: the first two until they become alike, then others."""
    model = four_bar().resolve()
    plant = SimpleNamespace(model=model, motion=SimpleNamespace(mask=np.zeros(3, dtype=bool)), prepared=SimpleNamespace(rank=2))
    equations = implicit_equations.ImplicitDynamics(plant)  # type: ignore[arg-type]
    looked: list[int] = []
    choose = implicit_equations.independent_rows
    monkeypatch.setattr(implicit_equations, "independent_rows", lambda *given: looked.append(1) or choose(*given))
    first, second, third = np.eye(3)

    def chosen(*rows: np.ndarray) -> list[int]:
        return sorted(equations.independent(np.array(rows)).tolist())

    assert chosen(2.0 * first, second, 0.1 * third) == [0, 1]
    assert chosen(2.0 * first, second + 0.5 * first, 0.1 * third) == [0, 1]
    assert len(looked) == 1
    assert chosen(2.0 * first, first + 1e-3 * second, 0.1 * third) == [0, 2]
    assert len(looked) == 2
    # next to a singular configuration fewer act: nothing is kept
    assert chosen(first, first, first) == [0]
    assert chosen(first, first, first) == [0]
    assert len(looked) == 4
