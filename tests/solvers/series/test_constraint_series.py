"""How constraints open along a motion, and what multipliers do, against positions and forces of a linkage."""

from __future__ import annotations

import numpy as np
import pytest

from tests.closed_systems import four_bar, geared_hand
from tests.solvers.series_along import moved, slope
from titop.blocks.basics.taylor import factorials
from titop.solvers.mechanism.inputs import PortPush
from titop.solvers.series.constraint_series import ConstraintSeries

pytestmark = pytest.mark.filterwarnings("ignore::titop.ModelWarning")  # redundant constraints


def test_rates_are_derivatives_of_each_other_and_of_the_opening() -> None:
    """Of any motion, which opens the loop."""
    m = four_bar().resolve("reference")
    rng = np.random.default_rng(0)
    q, stack = rng.normal(size=3), rng.normal(size=(4, 3))
    rates = ConstraintSeries(m.mechanism, q, stack).rates()
    assert rates.shape == (4, len(m.constraint_names))
    np.testing.assert_allclose(rates[0], m.closure_jacobian(q) @ stack[0], rtol=0, atol=1e-12)
    acceleration = m.closure_jacobian(q) @ stack[1] + m.closure_bias(q, stack[0])
    np.testing.assert_allclose(rates[1], acceleration, rtol=0, atol=1e-11)
    differences = slope(lambda h: ConstraintSeries(m.mechanism, *moved(m, q, stack, h)).rates())
    np.testing.assert_allclose(rates[1:], differences[:-1], rtol=0, atol=1e-8 * np.abs(rates).max())


def test_gears_are_rows_of_numbers() -> None:
    m = geared_hand().resolve("reference")
    stack = np.random.default_rng(0).normal(size=(3, m.nv))
    rates = ConstraintSeries(m.mechanism, m.neutral(), stack).rates()
    expected = stack @ np.array([gear.jacobian(m.nv)[0] for gear in m.mechanism.gear_constraints]).T
    np.testing.assert_allclose(rates, expected, rtol=1e-14)


@pytest.mark.parametrize("known", [1, 3])
def test_multipliers_act_by_the_jacobian(known: int) -> None:
    """``J^T lambda`` and its derivatives along the motion, those of multipliers of higher order being zero."""
    m = four_bar().resolve("reference")
    rng = np.random.default_rng(0)
    q, stack = rng.normal(size=3), rng.normal(size=(4, 3))
    multipliers = rng.normal(size=(known, len(m.constraint_names)))

    def efforts(h: float) -> np.ndarray:
        at = moved(m, q, stack, h)[0]
        carried = sum(row * h**k / factorials(known)[k] for k, row in enumerate(multipliers))
        return np.asarray(m.closure_jacobian(at).T @ carried)

    pushes = ConstraintSeries(m.mechanism, q, stack).pushes(multipliers)
    assert all(isinstance(push, PortPush) and not push.inertial for push in pushes)
    done = m.mechanism.engine.series.tree_inverse(q, stack, []) - m.mechanism.engine.series.tree_inverse(q, stack, pushes)
    assert done.shape == (3, 3)
    np.testing.assert_allclose(done[0], efforts(0.0), rtol=0, atol=1e-11)
    if known > 1:
        np.testing.assert_allclose(done[1], slope(efforts), rtol=0, atol=1e-8 * np.abs(done).max())
