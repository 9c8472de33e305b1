"""Families between their points."""

from __future__ import annotations

import dataclasses
from itertools import product
from pathlib import Path

import numpy as np
import pytest

import titop as tt
from tests.refusals import refusal
from tests.solvers.equilibrium.spinners import HINGES, spinner
from tests.solvers.linear.constrained_families import crank_case, four_bar
from tests.solvers.linear.families import ARMS, SPINS


def test_trims_of_the_outputs(family: tt.LPVModel) -> None:
    model = spinner()
    for k in range(len(SPINS)):
        q, v, rest = family.q[0, k], family.v[0, k], np.zeros(3)
        expected = [q[2], *model.motion("left", q, v, rest)[:3], *model.reaction("left_hinge", q, v, rest)]
        assert family.y[0, k] == pytest.approx(expected, abs=1e-12)


def test_between_points(family: tt.LPVModel) -> None:
    middle = 0.5 * (SPINS[2] + SPINS[3])
    found = family.at(left_mass=1.15, shaft_v=middle)
    mean = 0.25 * sum(family.A[i, k] for i in (0, 1) for k in (2, 3))
    assert np.abs(found.A - mean).max() < 1e-12
    point = tt.trim(spinner(), HINGES, q=dict.fromkeys(HINGES, 1.0), v={"shaft": middle}, parameters={"left.mass": 1.15})
    exact = tt.linearize(spinner(), point)
    error = np.abs(found.A - exact.A).max()
    assert 1e-4 < error < 0.2  # interpolation: second order in steps of 0.4 rad/s and 0.3 kg


def test_poles_are_continuous(family: tt.LPVModel) -> None:
    finer = tt.lpv(spinner(), {"shaft.v": np.linspace(6.0, 4.0, 41)}, **ARMS)
    steps = np.abs(np.diff(finer.eigenvalues, axis=0)).max(axis=0)
    # a step of 0.05 rad/s moves frequencies near the spin rate by about as much
    assert steps.max() < 0.3
    shuffled = np.sort_complex(finer.eigenvalues)
    assert np.abs(np.diff(shuffled, axis=0)).max() >= steps.max() - 1e-12


class TestAttitudes:
    """A mast of 5 kg hangs from a ball joint, its weight 0.5 m below; a load of 2 kg slides out to its side."""

    POSITIONS = (0.0, 0.6, 1.2)

    def model(self) -> tt.Model:
        s = tt.System("mast", gravity=[0, 0, -9.81])
        mast = tt.RigidBody("mast", 5.0, com=[0, 0, -0.5], inertia=[0.5, 0.5, 0.02])
        s.connect("world", mast, tt.Spherical("ball"))
        s.connect(mast, tt.RigidBody("load", 2.0), tt.Prismatic("slide", axis=[1, 0, 0]))
        return s.resolve()

    def test_are_unit_quaternions(self) -> None:
        """It tilts by atan(2 kg x / 2.5 kg m); half-way between two points by the mean of both angles."""
        m = self.model()
        family = tt.lpv(m, {"slide.q": self.POSITIONS}, unknowns=["ball", "slide.tau"])
        angles = np.arctan(np.array(self.POSITIONS) * 2.0 / 2.5)
        for k in range(2):
            trim = family.trim_at(slide_q=(self.POSITIONS[k] + self.POSITIONS[k + 1]) / 2)
            mean = (angles[k] + angles[k + 1]) / 2
            assert trim["q"][:4] == pytest.approx([0, np.sin(mean / 2), 0, np.cos(mean / 2)], abs=1e-12)
            assert tt.OperatingPoint(m, trim["q"]).q == pytest.approx(trim["q"], abs=1e-15)

    def test_do_not_depend_on_the_sign_of_quaternions(self) -> None:
        """On a grid of two parameters and along a list of points."""
        m = self.model()
        dampings = {"slide.damping": [0.0, 1.0]}
        points = []
        for k, (x, damping) in enumerate(product(self.POSITIONS, dampings["slide.damping"])):
            point = tt.trim(m, ["ball", "slide.tau"], q={"slide": x}, parameters={"slide.damping": damping})
            sign = -1.0 if k in (1, 2, 5) else 1.0
            points.append(dataclasses.replace(point, q=point.q * ([sign] * 4 + [1.0])))
        axis = {"slide.q": self.POSITIONS}
        for given, parameters, grid in ((points, axis | dampings, True), (points[::2], axis, False)):
            family = tt.lpv(m, parameters, points=given, grid=grid)
            at = {"slide.q": 0.9} | ({"slide.damping": 0.3} if grid else {})
            q = family.trim_at(at)["q"]
            mean = np.arctan(np.array(self.POSITIONS[1:]) * 2.0 / 2.5).mean()
            assert q[:4] * np.sign(q[3]) == pytest.approx([0, np.sin(mean / 2), 0, np.cos(mean / 2)], abs=1e-12)


def test_trims_between_points_are_searched_in_a_model(family: tt.LPVModel) -> None:
    """Exact where interpolation errs, as `trim` finds them, with the member's parameters."""
    at = {"left.mass": 1.15, "shaft.v": 0.5 * (SPINS[2] + SPINS[3])}
    interpolated, found = family.trim_at(at), family.trim_at(at, model=spinner())
    guess = dict.fromkeys(HINGES, 1.0)
    expected = tt.trim(spinner(), HINGES, q=guess, v={"shaft": at["shaft.v"]}, parameters={"left.mass": 1.15})
    assert found.q[1:] == pytest.approx(expected.q[1:], abs=1e-9)  # the tolerance of the search
    assert found.model.parameters()["left.mass"][0] == 1.15
    assert np.abs(found.residual).max() < 1e-8 * SPINS[2] ** 2
    assert np.abs(interpolated["q"][1:] - expected.q[1:]).max() > 1e-4


def test_trims_of_closed_loops_are_searched_with_what_follows() -> None:
    case = crank_case(points=5)
    found = case.family().trim_at({"q0.q": 1.3}, model=case.model)
    assert found.q[0] == 1.3
    assert np.abs(case.model.closure_error(found.q)).max() < 1e-9
    assert np.abs(found.residual).max() < 1e-6
    assert tt.linearize(case.model, found, ["q0"], ["q0.q"]).poles() == pytest.approx(
        case.member(case.family(), 1.3).poles(), rel=1e-6
    )


def test_only_what_was_searched_is_searched_again(family: tt.LPVModel) -> None:
    at = {"left.mass": 1.15, "shaft.v": float(SPINS[2])}
    with refusal("other-model", "the model of"):
        family.trim_at(at, model=four_bar())
    with refusal("no-search", "a family whose trims tt.lpv has searched"):
        dataclasses.replace(family, search={}).trim_at(at, model=spinner())
    with refusal("outside", "values between points"):
        family.trim_at({"left.mass": 1e3, "shaft.v": float(SPINS[2])}, model=spinner())


@pytest.mark.parametrize("suffix", ["npz", "mat"])
def test_files_know_what_was_searched(suffix: str, tmp_path: Path) -> None:
    case = crank_case(points=3)
    options = {"bounds": {"q0.tau": (-1e3, np.inf)}, "wrenches": {"bar1.end": [0.0, 1.0, 0, 0, 0, 0]}}
    family = case.family(**options)
    family.save(tmp_path / f"family.{suffix}")
    found = tt.LPVModel.load(tmp_path / f"family.{suffix}").trim_at({"q0.q": 1.3}, model=case.model)
    assert np.array_equal(found.q, family.trim_at({"q0.q": 1.3}, model=case.model).q)
    assert found.wrenches is not None
    assert found.wrenches["bar1.end"].tolist() == [0, 1, 0, 0, 0, 0]
