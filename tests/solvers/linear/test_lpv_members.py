"""Families of systems with closures and gears: all members in the same states, so that what lies between follows."""

from __future__ import annotations

import warnings
from collections.abc import Callable

import numpy as np
import pytest

import titop as tt
from tests.closed_systems import geared_hand
from tests.refusals import refusal
from tests.solvers.linear.constrained_families import MATRICES, Case, chain, crank_case, four_bar


def five_bar_case() -> Case:
    """Two degrees of freedom; the first bar is moved, the last joint held."""
    model = chain((0.4, 0.8, 0.8, 0.4), 1.0)
    q = model.assemble([0.5, 0.8, -1.6, -1.0], fixed=["q0"])
    q = model.assemble(q, fixed=["q0", "q3"])
    return Case(model, "q0.q", np.linspace(0.5, 2.0, 7), ["q1", "q2", "q0.tau", "q3.tau"], q)


def gear_case() -> Case:
    model = geared_hand().resolve()
    names = [f"{name}.tau" for name in ("wrist", "l", "slide_l")]
    return Case(model, "finger_r.mass", np.linspace(0.1, 1.0, 4), names, model.assemble(0.3 * np.ones(model.nv)))


CASES: list[Callable[[], Case]] = [crank_case, five_bar_case, gear_case]


@pytest.mark.parametrize("make", CASES)
def test_members_are_linear_models_of_one_choice(make: Callable[[], Case]) -> None:
    """At every point exactly; in between to the error of interpolation, which falls with the square of the step."""
    case = make()
    family = case.family()
    assert family.valid.all()
    independent = [signal.path[:-2] for signal in family.states if signal.path.endswith(".q")]
    for value in case.values:
        found, expected = family.at({case.parameter: value}), case.member(family, value, independent=independent)
        assert found.state_labels == expected.state_labels
        for name in MATRICES:
            # equilibria of two searches, to 1e-11; slopes near 100
            assert np.abs(getattr(found, name) - getattr(expected, name)).max() < 1e-7, name
    low, high = case.values[:2]
    middle, quarter = 0.5 * (low + high), 0.75 * low + 0.25 * high
    finer = case.family(np.sort([low, high, middle]))
    assert finer.states == family.states

    def error(of: tt.LPVModel, value: float) -> float:
        found, exact = of.at({case.parameter: value}), case.member(family, value, independent=independent)
        return max(float(np.abs(getattr(found, name) - getattr(exact, name)).max()) for name in MATRICES)

    assert error(finer, quarter) < 0.5 * error(family, middle)  # a quarter, but for higher orders
    assert error(family, middle) < 0.2 * np.abs(family.A).max()


def test_given_points_and_processes() -> None:
    case = crank_case(1.0, 3.0, 3)
    family = case.family()
    trims = [family.trim_at(q0_q=value) for value in case.values]
    points = [tt.OperatingPoint(case.model, trim["q"], trim["v"], trim["tau"]) for trim in trims]
    given = tt.lpv(case.model, {"q0.q": case.values}, points, ["q0"], ["q0.q"])
    other = case.family(workers=2)
    for name in MATRICES:
        assert np.array_equal(getattr(given, name), getattr(family, name)), name
        assert np.array_equal(getattr(other, name), getattr(family, name)), name


def test_points_keep_their_own_models() -> None:
    """Given points of a model with other parameters, also where they do not say so, and of one with other dimensions."""
    model, longer = four_bar(), chain((0.3, 0.95, 0.7), 1.0)
    heavy = model.with_parameters({"bar0.mass": 3.0})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tt.ModelWarning)  # away from equilibria
        points = [tt.OperatingPoint(own, own.assemble([1.0, -1.0, -1.0], fixed=["q0"])) for own in (model, heavy, longer)]
        found = tt.lpv(model, {"q0.tau": [0.0, 0.0, 0.0]}, points, ["q0"], grid=False)
        systems = [tt.linearize(p.model, p, ["q0"], independent=[found.states[0].path[:-2]]) for p in points]
    for k, system in enumerate(systems):
        assert np.abs(found.A[k] - system.A).max() < 1e-12
        assert k == 0 or np.abs(system.A - systems[0].A).max() > 0.1


def test_families_beyond_memory_are_refused() -> None:
    many = np.linspace(1.0, 2.0, 1000)
    with refusal("too-many-points", "1000 x 1000 x 1000 points"):
        tt.lpv(four_bar(), {f"bar{k}.mass": many for k in range(3)})
