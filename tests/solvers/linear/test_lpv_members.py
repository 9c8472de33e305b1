"""Families of systems with closures and gears: all members in the same states, so that what lies between follows."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest

import titop as tt
from tests.closed_systems import bar, geared_hand
from tests.refusals import refusal

MATRICES = ("A", "B", "C", "D")


def chain(lengths: tuple[float, ...], ground: float) -> tt.Model:
    """Return a planar chain of bars on the world whose end is pinned to the ground."""
    s = tt.System("chain", gravity=[0, -9.81, 0])
    s.world.add_port("ground", [ground, 0, 0])
    parent: Any = "world"
    for k, length in enumerate(lengths):
        link = bar(f"bar{k}", length, 1.0)
        s.connect(parent, link, tt.Revolute(f"q{k}"))
        parent = link.port("end")
    s.close_loop(s.world.port("ground"), parent, tt.RigidClosure("pin", directions=np.eye(6)[:, :2]))
    return s.resolve()


def four_bar() -> tt.Model:
    """Return the linkage of the page on loops."""
    return chain((0.3, 0.9, 0.7), 1.0)


class Case(NamedTuple):
    """A family over the values of a parameter: what is searched, from where."""

    model: tt.Model
    parameter: str
    values: Any
    unknowns: list[str]
    q: Any

    def family(self, values: Any = None, **options: Any) -> tt.LPVModel:
        """Return the family, from the first joint's effort to its coordinate."""
        joint = self.model.coordinate_names[0]
        signals = {"inputs": [joint], "outputs": [f"{joint}.q"]}
        over = {self.parameter: self.values if values is None else values}
        return tt.lpv(self.model, over, unknowns=self.unknowns, q=self.q, **signals, **options)

    def member(self, family: tt.LPVModel, value: float, **options: Any) -> Any:
        """Return the linear model at a value, from an equilibrium searched near the family's trim."""
        trim = family.trim_at({self.parameter: value})
        parameters = {} if self.parameter.endswith(".q") else {self.parameter: value}
        q = trim["q"]
        if self.parameter.endswith(".q"):
            q = self.model.assemble(q, fixed=[self.parameter[:-2]])
        point = tt.trim(self.model, self.unknowns, q=q, tau=trim["tau"], parameters=parameters)
        joint = self.model.coordinate_names[0]
        return tt.linearize(self.model, point, [joint], [f"{joint}.q"], **options)


def crank_case(low: float = 1.0, high: float = 3.0, points: int = 9) -> Case:
    model = four_bar()
    q = model.assemble([low, -1.0, -1.0], fixed=["q0"])
    return Case(model, "q0.q", np.linspace(low, high, points), ["q1", "q2", "q0.tau"], q)


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
