"""References of control loops, in every form."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import titop as tt
from tests.solvers.control.sliders import gain, largest, slider
from tests.tolerances import TIGHT


@pytest.mark.parametrize("step", [None, 0.05])
def test_references_can_be_given_in_every_form(step: float | None) -> None:
    t = np.linspace(0, 1, 11)
    ramp = np.column_stack([0.5 * t, np.full(11, 0.5)])
    forms = [
        {"rail.q": lambda t: 0.5 * t, "rail.v": 0.5},
        {"rail_q": 0.5 * t, "rail_v": lambda t: 0.5},
        ramp,
        lambda t: np.array([0.5 * t, 0.5]),
    ]
    runs = [
        tt.simulate(slider(), t, [0.0], [0.0], controller=gain(3.0, 2.0), sample_time=step, reference=form, **TIGHT)
        for form in forms
    ]
    for run in runs[1:]:
        assert largest(run.q - runs[0].q) < 1e-10  # sums in another order, a tolerance of 1e-11
    assert runs[0].signal("r_rail.q")[-1] == pytest.approx(0.5)
    separate = gain(3.0, 2.0, -3.0, -2.0, inputs=["r_rail_q", "r_rail_v", "rail_q", "rail_v"])
    two = tt.simulate(slider(), t, [0.0], [0.0], controller=separate, sample_time=step, reference=ramp, **TIGHT)
    assert largest(two.q - runs[0].q) < 1e-10  # sums in another order, a tolerance of 1e-11
    forward = gain(3.0, 2.0, 1.5, inputs=["rail_q", "rail_v", "push"])
    pushed = tt.simulate(
        slider(), t, [0.0], [0.0], controller=forward, sample_time=step, reference={**forms[0], "push": lambda t: 2.0}, **TIGHT
    )
    beside = tt.simulate(
        slider(), t, [0.0], [0.0], controller=gain(3.0, 2.0), sample_time=step, reference=ramp, u=[3.0], **TIGHT
    )
    assert largest(pushed.q - beside.q) < 1e-10  # sums in another order, a tolerance of 1e-11


@pytest.mark.parametrize(("reference", "said"), [(0.1, True), (-0.1, True), (0.7, False), (0.3, False), (2.0, False)])
def test_references_that_look_like_deviations_are_said(reference: float, said: bool) -> None:
    arguments = {"controller": gain(3.0, 2.0), "operating_point": {"rail.q": 0.5}, "reference": {"rail.q": reference}}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        tt.simulate(slider(), [0, 0.1], [0.5], [0.0], **arguments)
    assert [("far-reference" in str(w.message) and "absolute" in str(w.message)) for w in caught] == [True] * said


def test_references_are_no_deviations_from_what_is_zero_but_for_rounding() -> None:
    for there, said in ((3e-13, False), (1e-3, True)):
        arguments = {"controller": gain(3.0, 2.0), "operating_point": {"rail.q": there}, "reference": {"rail.q": 0.0}}
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            tt.simulate(slider(), [0, 0.1], [0.0], [0.0], **arguments)
        assert ["far-reference" in str(w.message) for w in caught] == [True] * said
