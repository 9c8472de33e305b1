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
from tests.solvers.equilibrium.spinners import HINGES, opening, spinner
from tests.solvers.equilibrium.test_equilibrium_path import SPRING, posts
from tests.solvers.linear.families import ARMS, MASSES, MATRICES, SPINS
from tests.solvers.support.test_spread import Stubborn
from titop.solvers.linear.lpv_members import FamilyMembers


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


@pytest.mark.parametrize("points", [2, 4, 11])
def test_coarse_grids_keep_to_the_branch(points: int) -> None:
    """Of a post that is pushed aside a little, past its buckling: ``P sin q + F cos q = k q``, all stiffnesses positive."""
    model = posts(0.0, SPRING).with_parameters({"push0.force.x": 1e-3})
    pushes = np.linspace(0.0, 20.0, points)
    angles = tt.lpv(model, {"push0.force.z": -pushes}, inputs=["hinge0"], outputs=["hinge0.q"]).q[:, 0]
    np.testing.assert_allclose(pushes * np.sin(angles) + 1e-3 * np.cos(angles), SPRING * angles, atol=1e-8)
    assert (SPRING - pushes * np.cos(angles) + 1e-3 * np.sin(angles) > 0.0).all()


@pytest.mark.long
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


@pytest.mark.long
def test_a_process_that_dies_is_reported_with_its_points() -> None:
    arguments = ARMS | {"outputs": [("spin", fatal)]}
    tt.lpv(spinner(), {"left.mass": MASSES, "shaft.v": [6.0, 4.9]}, **arguments)
    tried = r"exit code 3, each of 3 times that it was tried at left\.mass = \S+, shaft\.v = 4\.9;"  # whichever dies first
    with pytest.raises(tt.ModelError, match=rf"{tried}.*worker-died"):
        tt.lpv(spinner(), {"left.mass": MASSES, "shaft.v": [6.0, 4.9]}, workers=2, **arguments)


def test_points_without_an_equilibrium_are_marked(tmp_path: Path) -> None:
    """The largest torque that the pendulum can hold is 19.62 N m."""
    s = tt.System("swing", gravity=[0, 0, -9.81])
    s.connect("world", tt.RigidBody("bob", 2.0, com=[0, 0, -1]), tt.Revolute("hinge", axis=[0, 1, 0]))
    with pytest.warns(tt.ModelWarning, match=r"tau = 20; at hinge\.tau = 25; at hinge\.tau = 30: got .* 3 of 7 points"):
        family = tt.lpv(s.resolve(), {"hinge.tau": np.linspace(0, 30, 7)}, inputs=["hinge"], outputs=["hinge.q"])
    assert family.valid.tolist() == [True] * 4 + [False] * 3
    assert [*family.failed] == [(4,), (5,), (6,)]
    assert all("an acceleration of hinge" in reason for reason in family.failed.values())
    family.save(tmp_path / "family.npz")
    assert tt.LPVModel.load(tmp_path / "family.npz").failed == family.failed
    assert np.isnan(family.A[4:]).all()
    assert np.isfinite(family.A[:4]).all()
    family.at(hinge_tau=12.0)
    with refusal("outside", "hinge.tau = 17"):
        family.at(hinge_tau=17.0)
    assert not family.grid.valid.values[-1]
    with pytest.raises(
        tt.ConvergenceError, match=r"no equilibrium at any point.*at hinge\.tau = 25: .*acceleration of hinge"
    ) as caught:
        tt.lpv(s.resolve(), {"hinge.tau": [25.0, 30.0]})
    assert [*caught.value.found] == [0, 1]
    assert all("an acceleration of hinge" in reason for reason in caught.value.found.values())
    with np.load(tmp_path / "family.npz") as file:
        arrays = dict(file)
    np.savez(tmp_path / "damaged.npz", **(arrays | {"reasons": arrays["reasons"][:2]}))
    with pytest.raises(tt.ModelError, match=r"wrong-format") as refused:
        tt.LPVModel.load(tmp_path / "damaged.npz")
    assert "2 reasons for 3 points that failed" in str(refused.value)


@pytest.mark.long
@pytest.mark.parametrize("workers", [1, 2])
def test_points_of_a_grid_without_an_equilibrium_are_named(workers: int) -> None:
    """A drive with a spring that nothing holds: only where it is at rest is there an equilibrium, whatever the mass."""
    s = tt.System("drive", gravity=[0, 0, 0])
    panel = tt.RigidBody("panel", 10.0, com=[1, 0, 0], inertia=5.0)
    s.connect("world", panel, tt.Revolute("drive", axis=[0, 1, 0], stiffness=100.0))
    over = {"panel.mass": [10.0, 20.0], "drive.q": [0.0, 0.3, 0.6]}
    with pytest.warns(tt.ModelWarning, match=r"lpv at panel\.mass = 10, drive\.q = 0\.3; .* 4 of 6 points: .*\.failed"):
        family = tt.lpv(s.resolve(), over, unknowns=[], inputs=["drive"], workers=workers, progress=False)
    assert set(family.failed) == {(0, 1), (0, 2), (1, 1), (1, 2)}
    assert not any(family.valid[index] for index in family.failed)


def test_families_begin_where_the_grid_does() -> None:
    """A crane that hoists: at the neutral configuration its rope has no length, and the swing no inertia."""
    trolley, sheave, load = tt.RigidBody("trolley", mass=2.0), tt.RigidBody("sheave", mass=0.0), tt.RigidBody("load", mass=0.5)
    s = tt.System("crane", gravity=[0, 0, -9.81])
    s.connect("world", trolley, tt.Prismatic("rail", axis=[1, 0, 0]))
    s.connect(trolley, sheave, tt.Revolute("swing", axis=[0, 1, 0]))
    s.connect(sheave, load, tt.Prismatic("hoist", axis=[0, 0, -1]))
    with pytest.warns(tt.ModelWarning, match="singular-neutral"):
        m = s.resolve()
    lengths = np.array([0.5, 1.0, 2.0])
    expected = np.sqrt(9.81 / lengths * (1 + 0.5 / 2.0))  # w^2 = g/l (1 + m/M)
    family = tt.lpv(m, {"hoist.q": lengths}, inputs=["rail"], unknowns=["hoist.tau"], progress=False)
    assert np.abs(family.eigenvalues.imag).max(axis=1) == pytest.approx(expected, rel=1e-9)  # the tolerance of trim
    points = tt.trim_along(m, "hoist.q", lengths, ["hoist.tau"])
    assert [point.tau[2] for point in points] == pytest.approx([-0.5 * 9.81] * 3, rel=1e-9)


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
        ({"left.mass": 1.0, "shaft.v": "fast"}, "wrong-type", "a finite number"),
        ({"left.mass": 0.9, "shaft.v": 5.0}, "outside", "left.mass = 0.9"),
    ):
        with refusal(code, text):
            family.at(values)  # type: ignore[arg-type]
    single = tt.lpv(spinner(), {"left.mass": [1.0], "shaft.v": SPINS}, **ARMS)
    assert np.array_equal(single.at(left_mass=1.0, shaft_v=6.0).A, single.A[0, 0])
    with refusal("outside", "left.mass = 1.1"):
        single.at(left_mass=1.1, shaft_v=6.0)


class TestSweeps:
    """A family of a pendulum held by its hinge, computed in parts."""

    def family(self, **options: Any) -> tt.LPVModel:
        s = tt.System("swing", gravity=[0, 0, -9.81])
        s.connect("world", tt.RigidBody("bob", mass=2.0, com=[0, 0, -1]), joint=tt.Revolute("hinge", axis=[0, 1, 0]))
        over = {"bob.mass": [1.0, 2.0], "hinge.q": np.linspace(0.0, 1.0, 45)}
        return tt.lpv(s.resolve(), over, unknowns=["hinge.tau"], inputs=["hinge"], progress=False, **options)

    def test_go_on_from_their_checkpoints(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        whole, lines, calls = self.family(), FamilyMembers.follow_line, list[int]()

        def stopping(self: FamilyMembers, *arguments: Any) -> Any:
            calls.append(1)
            if len(calls) == 4:
                raise KeyboardInterrupt
            return lines(self, *arguments)

        monkeypatch.setattr(FamilyMembers, "follow_line", stopping)
        with pytest.warns(tt.ModelWarning, match="stopped by Ctrl-C"), pytest.raises(tt.SweepInterrupt) as stopped:
            self.family(checkpoint=tmp_path / "file")
        found = stopped.value.found
        assert found.valid.sum() == 3 * 20  # two lines in stretches of 20, 20 and 5 points
        assert np.array_equal(found.A[found.valid], whole.A[found.valid])
        assert set(found.failed.values()) == {"not computed: stopped by Ctrl-C"}
        again = self.family(checkpoint=tmp_path / "file", workers=2)
        assert len(calls) == 4
        assert all(np.array_equal(getattr(whole, name), getattr(again, name)) for name in ("A", "B", "C", "D", "tau", "valid"))
        with refusal("other-sweep", "options"):
            self.family(checkpoint=tmp_path / "file", tolerance=1e-8)

    def test_stopped_with_a_line_missing(self) -> None:
        """Of two lines in three stretches each; those of the second go on while nothing comes of the first."""
        whole = self.family()
        with pytest.warns(tt.ModelWarning, match="stopped by Ctrl-C"), pytest.raises(tt.SweepInterrupt) as stopped:
            self.family(workers=Stubborn(0))
        found = stopped.value.found
        assert found.valid.sum(axis=1).tolist() == [0, 20]
        assert np.array_equal(found.A[found.valid], whole.A[found.valid])
        assert np.array_equal(found.q[found.valid], whole.q[found.valid])

    def test_stopped_while_linearising(self, monkeypatch: pytest.MonkeyPatch) -> None:
        linearise, calls = FamilyMembers.linearise, list[int]()

        def stopping(self: FamilyMembers, *arguments: Any) -> Any:
            calls.append(1)
            if len(calls) == 3:
                raise KeyboardInterrupt
            return linearise(self, *arguments)

        monkeypatch.setattr(FamilyMembers, "linearise", stopping)
        with pytest.warns(tt.ModelWarning, match="stopped by Ctrl-C"), pytest.raises(tt.SweepInterrupt) as stopped:
            self.family()
        assert stopped.value.found.valid.sum() == 2 * 12  # eight parts of 90 points
