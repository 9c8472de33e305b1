"""Families of linear models: at their points they are the linear models there; in between they follow."""

from __future__ import annotations

import multiprocessing
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import titop as tt
from tests.refusals import refusal
from tests.solvers.equilibrium.test_trim import HINGES, opening, spinner
from tests.solvers.linear.test_linearize import cart

#: Arms of a spinning shaft: the branch of open arms, followed from fast to slow.
SPINS, MASSES = np.linspace(6.0, 3.6, 7), [1.0, 1.3]
ARMS: dict[str, Any] = {
    "unknowns": HINGES,
    "q": dict.fromkeys(HINGES, 1.0),
    "v": {"shaft": 6.0},
    "inputs": ["shaft", "left_hinge"],
    "outputs": ["left_hinge.q", "left.dv", "left_hinge.reaction"],
}

MATRICES = ("A", "B", "C", "D")


@pytest.fixture(scope="module")
def family() -> tt.LPVModel:
    return tt.lpv(spinner(), {"left.mass": MASSES, "shaft.v": SPINS}, **ARMS)


def test_points_of_the_grid_are_linear_models(family: tt.LPVModel) -> None:
    assert family.shape == (2, 7)
    assert family.valid.all()
    for i, mass in enumerate(MASSES):
        for k, spin in enumerate(SPINS):
            guess = {name: opening(spin, mass=m) for name, m in zip(HINGES, (1.0, mass), strict=True)}
            point = tt.trim(spinner(), HINGES, q=guess, v={"shaft": spin}, parameters={"left.mass": mass})
            assert family.q[i, k, 1:] == pytest.approx(list(guess.values()), abs=1e-11)
            system = tt.linearize(spinner(), point, ARMS["inputs"], ARMS["outputs"])
            member = family.at(left_mass=mass, shaft_v=spin)
            for name in MATRICES:
                # two searches stop within 1e-12 of the equilibrium; entries near 100
                assert np.abs(getattr(member, name) - getattr(system, name)).max() < 1e-9, name
            trim = family.trim_at({"left.mass": mass, "shaft.v": spin})
            there = tt.OperatingPoint(spinner().with_parameters({"left.mass": mass}), trim["q"], trim["v"], trim["tau"])
            again = tt.linearize(there.model, there, ARMS["inputs"], ARMS["outputs"])
            for name in MATRICES:
                assert np.abs(getattr(member, name) - getattr(again, name)).max() < 1e-12, name
            assert member.state_labels == system.state_labels
    assert tt.signal_table(family.at(left_mass=1.0, shaft_v=4.0))["left_dv[0]"].unit == "m/s^2"


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


def test_several_processes_give_the_same_bits(family: tt.LPVModel) -> None:
    other = tt.lpv(spinner(), {"left.mass": MASSES, "shaft.v": SPINS}, workers=2, **ARMS)
    for name in (*MATRICES, "q", "v", "tau", "u", "y", "valid"):
        assert np.array_equal(getattr(family, name), getattr(other, name)), name


@pytest.mark.parametrize("workers", [1, 2])
def test_an_error_says_at_which_point(workers: int) -> None:
    with refusal("negative-mass", "left.mass") as caught:
        tt.lpv(spinner(), {"shaft.v": [6.0], "left.mass": [1.0, -1.0]}, workers=workers, **ARMS)
    assert caught.value.__notes__ == ["at shaft.v = 6, left.mass = -1"]


def fatal(q: Any, v: Any, a: Any, u: Any) -> float:
    """Return the spin rate; end the process, unless it is the first one, at slow spins."""
    if multiprocessing.parent_process() and 0.0 < v[0] < 5.0:
        os._exit(3)
    return float(v[0])


def test_a_process_that_dies_is_reported_with_its_points() -> None:
    arguments = ARMS | {"outputs": [("spin", fatal)]}
    tt.lpv(spinner(), {"left.mass": MASSES, "shaft.v": [6.0, 4.9]}, **arguments)
    line = r"exit code 3 at left\.mass = (\S+), shaft\.v = 6 to left\.mass = \1, shaft\.v = 4\.9"  # whichever dies first
    with pytest.raises(tt.ModelError, match=rf"{line}.*worker-died"):
        tt.lpv(spinner(), {"left.mass": MASSES, "shaft.v": [6.0, 4.9]}, workers=2, **arguments)


def test_points_without_an_equilibrium_are_marked() -> None:
    """The largest torque that the pendulum can hold is 19.62 N m."""
    s = tt.System("swing", gravity=[0, 0, -9.81])
    s.connect("world", tt.RigidBody("bob", 2.0, com=[0, 0, -1]), tt.Revolute("hinge", axis=[0, 1, 0]))
    family = tt.lpv(s.resolve(), {"hinge.tau": np.linspace(0, 30, 7)}, inputs=["hinge"], outputs=["hinge.q"])
    assert family.valid.tolist() == [True] * 4 + [False] * 3
    assert np.isnan(family.A[4:]).all()
    assert np.isfinite(family.A[:4]).all()
    family.at(hinge_tau=12.0)
    with refusal("outside", "hinge.tau = 17"):
        family.at(hinge_tau=17.0)
    assert not family.grid.valid.values[-1]
    with pytest.raises(tt.ConvergenceError, match="no equilibrium at any point"):
        tt.lpv(s.resolve(), {"hinge.tau": [25.0, 30.0]})


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


def test_components_of_joints_are_outputs_of_a_family() -> None:
    """One coordinate of a joint of several, at every point of the family."""
    s = tt.System("cardan", gravity=[0, 0, -9.81])
    body = tt.RigidBody("bob", 2.0, com=[0, 0, -1], inertia=0.1)
    s.connect("world", body, tt.Universal("joint", axis1=[1, 0, 0], axis2=[0, 1, 0]))
    model = s.resolve()
    values = [0.1, 0.2, 0.3]
    family = tt.lpv(model, {"joint.second.q": values}, unknowns=["joint.first.tau", "joint.second.tau"], outputs=["joint.q[1]"])
    assert family.y[:, 0] == pytest.approx(values, abs=1e-15)
    assert np.array_equal(family.C, np.tile([[[0.0, 1.0, 0.0, 0.0]]], (3, 1, 1)))


def test_omission_and_holding() -> None:
    family = tt.lpv(spinner(), {"shaft.v": SPINS}, **{**ARMS, "outputs": ["left_hinge.q"]}, omit=["shaft.q"])
    assert [signal.path for signal in family.states][2] == "shaft.v"
    assert family.A.shape == (7, 5, 5)
    with refusal("not-omissible", "left_hinge"):
        tt.lpv(spinner(), {"shaft.v": SPINS}, **ARMS, omit=["left_hinge"])


def test_pictures_and_exchange(family: tt.LPVModel, tmp_path: Path) -> None:
    path = tmp_path / "family.npz"
    family.save(path)
    assert list(tmp_path.iterdir()) == [path]
    again = tt.LPVModel.load(path)
    for name in (*MATRICES, "q", "v", "tau", "u", "y", "valid"):
        assert np.array_equal(getattr(again, name), getattr(family, name)), name
    assert (again.states, again.outputs, again.coordinate_names) == (family.states, family.outputs, family.coordinate_names)
    assert list(again.parameters) == list(family.parameters)
    assert repr(again) == repr(family)
    data = family.grid
    assert data.A.dims == ("left.mass", "shaft.v", "to_state", "state")
    assert float(data.v.sel({"left.mass": 1.0, "shaft.v": 6.0, "coordinate": "shaft"})) == 6.0
    assert data.attrs["unit of left_dv[0]"] == "m/s^2"
    for figure in (family.poles(), family.bode(), family.bode("left_hinge", "left.dv[0]", np.geomspace(0.1, 10, 20))):
        figure.savefig(tmp_path / "figure.png")
        assert (tmp_path / "figure.png").read_bytes().startswith(b"\x89PNG")
    with refusal("unknown-output", "did you mean"):
        family.bode(output="left_hinge_p")
    with refusal("wrong-type", "positive frequencies"):
        family.bode(omega=[0.0, 1.0])
    (tmp_path / "other.npz").write_bytes(b"nothing")
    with refusal("wrong-format", "LPVModel.save"):
        tt.LPVModel.load(tmp_path / "other.npz")
    np.savez(tmp_path / "more.npz", A=np.zeros(3))
    with refusal("wrong-format", "LPVModel.save"):
        tt.LPVModel.load(tmp_path / "more.npz")
    with pytest.raises(FileNotFoundError):
        tt.LPVModel.load(tmp_path / "none.npz")


@pytest.mark.parametrize(
    ("arguments", "code", "text"),
    [
        ({"parameters": {"shaft.w": [1, 2]}}, "unknown-unknown", "shaft"),
        ({"parameters": {"shaft.v": [1, 2, 2]}}, "not-sorted", "sort them"),
        ({"parameters": {"shaft.v": [1, np.nan]}}, "wrong-type", "finite"),
        ({"parameters": {"shaft.v": 3}}, "wrong-type", "finite"),
        ({"parameters": {}}, "no-parameter", "tt.linearize"),
        ({"parameters": [1]}, "wrong-type", "mapping"),
        ({"parameters": {"shaft.v": [1, 2], "left.mass": [1]}, "grid": False}, "wrong-length", "grid=True"),
        ({"workers": 0}, "wrong-type", "processes"),
        ({"outputs": ["left_hinge.p"]}, "unknown-output", "did you mean"),
        ({"inputs": ["left_hing"]}, "unknown-input", "did you mean"),
        ({"model": 3}, "wrong-type", "resolve"),
    ],
)
def test_bad_input_is_refused(arguments: dict[str, Any], code: str, text: str) -> None:
    with refusal(code, text):
        tt.lpv(**{"model": spinner(), "parameters": {"shaft.v": [6.0, 5.0]}, **ARMS, **arguments})


def test_bad_members_are_refused(family: tt.LPVModel) -> None:
    for values, code, text in (
        ({"left.mass": 1.0}, "no-parameter", "shaft.v"),
        ({"left.mass": 1.0, "shaft.w": 5.0}, "unknown-parameter", "did you mean 'shaft.v'"),
        ({"left.mass": 1.0, "shaft.v": "fast"}, "wrong-type", "a number"),
        ({"left.mass": 0.9, "shaft.v": 5.0}, "outside", "left.mass = 0.9"),
    ):
        with refusal(code, text):
            family.at(values)  # type: ignore[arg-type]
    single = tt.lpv(spinner(), {"left.mass": [1.0], "shaft.v": SPINS}, **ARMS)
    assert np.array_equal(single.at(left_mass=1.0, shaft_v=6.0).A, single.A[0, 0])
    with refusal("outside", "left.mass = 1.1"):
        single.at(left_mass=1.1, shaft_v=6.0)
