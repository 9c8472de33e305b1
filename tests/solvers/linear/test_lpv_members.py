"""Points of families: trimmed in one process or several, or given; and what comes of them."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import fields

import numpy as np
import pytest

import titop as tt
from tests.closed_systems import geared_hand
from tests.refusals import refusal
from tests.solvers.equilibrium.spinners import opening, spinner
from tests.solvers.linear.constrained_families import MATRICES, Case, chain, crank_case, four_bar
from tests.solvers.linear.families import ARMS
from tests.solvers.linear.nonlinear_systems import cart
from titop.solvers.linear.lpv_members import Results


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


def test_given_points() -> None:
    model = cart().resolve()
    values = np.linspace(0.0, 1.0, 5)
    points = [tt.trim(model, ["lower.tau", "upper.tau"], q={"lower": x}) for x in values]
    family = tt.lpv(model, {"lower.q": values}, points, ["rail", "lower"], ["upper.q"])
    for k, point in enumerate(points):
        A, B = tt.linear_matrices(model, point)
        assert np.array_equal(family.A[k], A)
        assert np.array_equal(family.B[k], B[:, :2])
    again = tt.lpv(model, {"lower.q": values}, points, ["rail", "lower"], ["upper.q"], workers=2)
    assert np.array_equal(family.A, again.A)
    with refusal("other-value", "points[4]"):
        tt.lpv(model, {"lower.q": [*values[:-1], 1.1]}, points)
    with refusal("wrong-length", "5 points"):
        tt.lpv(model, {"lower.q": values[:-1]}, points)
    with refusal("wrong-type", "tt.OperatingPoint"):
        tt.lpv(model, {"lower.q": values}, [1, 2, 3, 4, 5])  # type: ignore[list-item]
    with refusal("other-model", "points of 'spinner'"):
        tt.lpv(spinner(), {"shaft.v": values}, points)
    falling = [tt.OperatingPoint(model, [0.0, x, 0.0]) for x in values]
    with pytest.warns(tt.ModelWarning, match="4 of 5"):
        tt.lpv(model, {"lower.q": values}, falling)


def test_a_list_of_points() -> None:
    values = {"left.mass": [1.0, 1.3, 1.0, 1.3, 1.1], "shaft.v": [6.0, 6.0, 5.0, 5.0, 5.5]}
    family = tt.lpv(spinner(), values, grid=False, **ARMS)
    assert family.shape == (5,)
    assert family.q[:, 2] == pytest.approx([opening(w, mass=m) for m, w in zip(*values.values(), strict=True)], abs=1e-11)
    assert np.abs(family.at(left_mass=1.1, shaft_v=5.5).A - family.A[4]).max() < 1e-9
    with refusal("outside", "shaft.v = 7"):
        family.at(left_mass=1.1, shaft_v=7.0)
    line = tt.lpv(spinner(), {"shaft.v": [6.0, 5.0, 5.5]}, grid=False, **ARMS)
    assert np.array_equal(line.at(shaft_v=5.5).A, line.A[2])
    assert np.array_equal(line.at(shaft_v=5.75).A, (line.A[0] + line.A[2]) / 2)
    alone = tt.lpv(spinner(), {"left.mass": [1.2], "shaft.v": [6.0]}, grid=False, **ARMS)
    assert np.array_equal(alone.at(left_mass=1.2, shaft_v=6.0).A, alone.A[0])
    with refusal("outside", "shaft.v = 6.1"):
        alone.at(left_mass=1.2, shaft_v=6.1)


def test_a_list_of_parameters_tied_together() -> None:
    both = {"left.mass": [1.0, 1.3, 1.1], "right.mass": [1.0, 1.3, 1.1], "shaft.v": [6.0, 6.0, 6.0]}
    family = tt.lpv(spinner(), both, grid=False, **ARMS)
    for mass, expected in ((1.3, family.A[1]), (1.05, (family.A[0] + family.A[2]) / 2)):
        found = family.at(left_mass=mass, right_mass=mass, shaft_v=6.0)
        assert np.abs(found.A - expected).max() < 1e-9  # rounding of the place on the line, against entries of 10
    with refusal("outside", "right.mass = 1.2"):
        family.at(left_mass=1.1, right_mass=1.2, shaft_v=6.0)


SHAPES = {"A": (4, 4), "B": (4, 1), "C": (2, 4), "D": (2, 1), "valid": ()}


def part(rows: int, seed: int) -> Results:
    """Return results at some points, all different."""
    rng = np.random.default_rng(seed)
    arrays = {field.name: rng.normal(size=(rows, *SHAPES.get(field.name, (3,)))) for field in fields(Results)}
    return Results(**arrays | {"valid": np.ones(rows, dtype=bool), "states": np.arange(4)})


def test_parts_stand_in_their_rows_and_the_rest_is_no_number() -> None:
    first, second = part(2, 0), part(1, 1)
    whole = Results.empty(5, first)
    whole.put(np.array([3, 0]), first)
    whole.put(np.array([4]), second)
    assert whole.valid.tolist() == [True, False, False, True, True]
    assert np.array_equal(whole.states, first.states)
    for field in fields(Results):
        if field.name in ("valid", "states"):
            continue
        found, given = getattr(whole, field.name), getattr(first, field.name)
        assert found.shape == (5, *given.shape[1:])
        assert np.array_equal(found[[3, 0]], given)
        assert np.array_equal(found[4], getattr(second, field.name)[0])
        assert np.isnan(found[[1, 2]]).all()
