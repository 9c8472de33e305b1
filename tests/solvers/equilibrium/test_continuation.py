"""Branches of equilibria along a parameter."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.optimize import brentq

import titop as tt
from tests.actuated_systems import satellite
from tests.blocks.bodies.rods.rod_systems import SECTION, YOUNG, clamped
from tests.refusals import refusal
from tests.solvers.equilibrium.spinners import GRAVITY, HANGING, HINGES, ROUNDING, opening, spinner, swing, whirl
from tests.solvers.equilibrium.test_equilibrium_path import SPRING, posts
from tests.solvers.equilibrium.test_load_steps import BUCKLING, buckled
from titop.solvers.equilibrium.continuation import Branch


def test_along_a_parameter() -> None:
    points = tt.trim_along(spinner(), "shaft.v", [5.0, 3.6], HINGES, steps=14, q=dict.fromkeys(HINGES, 1.0), v={"shaft": 5.0})
    spins = [point.v[0] for point in points]
    assert spins == pytest.approx(np.linspace(5.0, 3.6, 15).tolist())
    assert [point.q[1] for point in points] == pytest.approx([opening(w) for w in spins], abs=ROUNDING)
    masses = tt.trim_along(spinner(), "left.mass", np.linspace(1, 3, 5), HINGES, q=dict.fromkeys(HINGES, 1.0), v={"shaft": 5.0})
    assert [p.q[2] for p in masses] == pytest.approx([opening(5.0, mass=m) for m in np.linspace(1, 3, 5)], abs=ROUNDING)
    assert masses[-1].parameters == {"left.mass": 3.0}
    # one long step is corrected and, where that fails, divided
    far = tt.trim_along(spinner(), "shaft.v", [30.0, 3.6], HINGES, q=dict.fromkeys(HINGES, 1.5), v={"shaft": 30.0})
    assert far[-1].q[1] == pytest.approx(opening(3.6), abs=ROUNDING)


def test_a_branch_that_ends() -> None:
    """The largest torque that the pendulum can hold, 2 kg * 9.81 m/s^2 * 1 m, is 19.62 N m."""
    with pytest.raises(tt.ConvergenceError, match=r"end near hinge.tau = 19.6\d*, before 20:") as caught:
        tt.trim_along(swing(), "hinge.tau", [0.0, 25.0], steps=10)
    torques = 2.5 * np.arange(8)  # those before 20 are not lost
    assert [point.tau[0] for point in caught.value.found] == pytest.approx(torques.tolist())
    assert [point.q[0] for point in caught.value.found] == pytest.approx(np.arcsin(torques / 19.62).tolist(), rel=1e-8)


def leaning(push: float, side: float) -> float:
    """Return the angle to which a post of 1 m on a spring leans: ``P sin q + F cos q = k q``."""
    return float(brentq(lambda x: push * np.sin(x) + side * np.cos(x) - SPRING * x, 0.5, 2.5, xtol=1e-14))


class TestCoarseSteps:
    """Past the buckling of what is pushed aside a little, where straight branches are next to those that bend."""

    @pytest.mark.parametrize("steps", [1, 3, 10])
    @pytest.mark.parametrize("side", [1e-6, 1e-3])
    def test_of_a_post(self, side: float, steps: int) -> None:
        model = posts(0.0, SPRING).with_parameters({"push0.force.x": side})
        points = tt.trim_along(model, "push0.force.z", [0.0, -20.0], steps=steps)
        assert points[-1].q[0] == pytest.approx(leaning(20.0, side), abs=1e-8)  # trim's tolerance
        assert [point.negative for point in points] == [0] * (steps + 1)

    @pytest.mark.parametrize("steps", [1, 3])
    def test_of_a_post_that_is_upright(self, steps: int) -> None:
        """It stays so, as unstable as it is."""
        points = tt.trim_along(posts(HANGING, SPRING), "push0.force.z", [0.0, -20.0], steps=steps, q={"hinge0": HANGING})
        np.testing.assert_allclose([point.q[0] for point in points], HANGING, atol=1e-9)
        assert points[-1].negative == 1

    @pytest.mark.parametrize("steps", [1, 2])
    def test_of_a_column_past_two_loads(self, steps: int) -> None:
        """Euler's elastica; the straight column has two negative stiffnesses there, 10.5 times its buckling load."""
        rod = tt.Rod("column", 1.0, SECTION, YOUNG, 1000.0, strains={"bending_z": 6}, points=12)
        model = clamped(rod, force=[0.0, 1e-6, 0.0], frame="world", engine="compiled")
        point = tt.trim_along(model, "load.force.x", [0.0, -10.5 * BUCKLING], steps=steps)[-1]
        np.testing.assert_allclose(rod.pose("tip", point.q)[1][:2], buckled(10.5), atol=1e-4)  # order 6: 3e-5

    @pytest.mark.parametrize("steps", [1, 4])
    def test_of_a_pendulum_on_a_shaft(self, steps: int) -> None:
        """``w^2 (e + sin q) cos q = g sin q``, swung out beyond ``w^2 = g``."""
        start = {"q": {"hinge": HANGING}, "v": {"shaft": 1.0}}
        offset, speed = 1e-3, 6.0
        point = tt.trim_along(whirl(offset), "shaft.v", [1.0, speed], ["hinge"], steps=steps, **start)[-1]
        angle = brentq(lambda x: speed**2 * (offset + np.sin(x)) * np.cos(x) - GRAVITY * np.sin(x), 0.5, 1.5)
        assert point.q[1] - HANGING == pytest.approx(angle, abs=ROUNDING)

    def test_of_a_post_in_a_closed_loop(self) -> None:
        """A rider on a track that stays beside its top."""
        s, top = tt.System("loop", gravity=[0, 0, 0]), [0, 0, 1.0]
        post, rider = tt.RigidBody("post", 1.0, com=top, inertia=0.1, ports={"top": top}), tt.RigidBody("rider", 1.0)
        s.connect("world", post, tt.Revolute("hinge", axis=[0, 1, 0], stiffness=SPRING))
        s.connect("world", rider, tt.Prismatic("track", axis=[1, 0, 0]), tt.Pose(top))
        s.close_loop(rider, post.port("top"), tt.RigidClosure("pin", directions=np.eye(6)[:, :1]))
        s.add_load(tt.Load("push", post.port("top"), force=[1e-3, 0, 0], frame="world"))
        point = tt.trim_along(s.resolve(), "push.force.z", [0.0, -20.0])[-1]
        angle = leaning(20.0, 1e-3)
        np.testing.assert_allclose(point.q, [angle, np.sin(angle)], atol=1e-8)


class TestSweeps:
    """The pendulum of `test_a_branch_that_ends`, elsewhere and in parts."""

    def follow(self, last: float = 15.0, **options: Any) -> list[tt.OperatingPoint]:
        return tt.trim_along(swing(), "hinge.tau", [0.0, last], steps=50, progress=False, **options)

    def numbers(self, points: list[tt.OperatingPoint]) -> list[Any]:
        return [(p.q.tolist(), p.tau.tolist(), p.negative, p.rank, p.unknowns, p.model.name) for p in points]

    def test_elsewhere_are_the_same(self, tmp_path: Path) -> None:
        here = self.follow()
        assert self.numbers(self.follow(workers=2, checkpoint=tmp_path / "file")) == self.numbers(here)
        assert self.numbers(self.follow(checkpoint=tmp_path / "file")) == self.numbers(here)
        assert here[-1].q == pytest.approx(np.arcsin(15 / 19.62), rel=1e-8)
        with refusal("other-sweep", "values"):
            self.follow(14.0, checkpoint=tmp_path / "file")

    def test_that_end_elsewhere_have_their_points(self, tmp_path: Path) -> None:
        for checkpoint in (None, tmp_path / "file", tmp_path / "file"):
            with pytest.raises(tt.ConvergenceError, match=r"end near hinge\.tau = 19\.6") as caught:
                self.follow(25.0, workers=2 if checkpoint is None else 1, checkpoint=checkpoint)
            assert len(caught.value.found) == 40  # half a N m each

    def test_stopped_by_ctrl_c(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        calls: list[Any] = []
        follow = Branch.follow

        def stopping(*arguments: Any) -> tt.OperatingPoint:
            if len(calls) == 45:
                raise KeyboardInterrupt
            calls.append(arguments[2])
            return follow(*arguments)

        whole = self.follow()
        monkeypatch.setattr(Branch, "follow", stopping)
        with pytest.raises(tt.SweepInterrupt, match="40 of 51 points") as stopped:
            self.follow(checkpoint=tmp_path / "file")
        assert self.numbers(stopped.value.found) == self.numbers(whole[:40])
        monkeypatch.setattr(Branch, "follow", follow)
        assert self.numbers(self.follow(checkpoint=tmp_path / "file")) == self.numbers(whole)


def test_bad_continuations_are_refused() -> None:
    model = swing()
    for arguments, code, text in (
        (("hing", [0, 1]), "unknown-unknown", "did you mean 'hinge'"),
        (("hinge.tau", []), "wrong-type", "np.linspace"),
        (("hinge.tau", [0, np.inf]), "wrong-type", "np.linspace"),
    ):
        with refusal(code, text):
            tt.trim_along(model, *arguments)
    with refusal("wrong-type", "1 or more"):
        tt.trim_along(model, "hinge.tau", [0, 1], steps=0)
    free = satellite().resolve()
    with refusal("not-scalar", "base.x"):
        tt.trim_along(free, "base", [0, 1])
    with refusal("no-number", "base.rx"):
        tt.trim_along(free, "base.rx", [0, 1])
    with refusal("no-number", "bounds"):
        tt.trim(free, ["base.rx"], bounds={"base.rx": (0, 1)})


class TestCounterweights:
    """A lever of 2 kg on a spring of 3 N m/rad is held by a mass of ``3 - 3 q / (0.2 g cos q)`` kg while that is one."""

    ANGLES = np.linspace(0.1, 1.2, 9)
    LAST = brentq(lambda q: 0.2 * GRAVITY * np.cos(q) - q, 0.1, 1.2)

    def lever(self) -> tt.Model:
        s = tt.System("lever", gravity=[0, 0, -GRAVITY])
        arm = tt.RigidBody("arm", 2.0, com=[0.3, 0, 0], inertia=[0.01, 0.05, 0.05], ports={"cw": [-0.2, 0, 0]})
        s.connect("world", arm, tt.Revolute("hinge", axis=[0, 1, 0], stiffness=3.0))
        s.connect(arm.port("cw"), tt.RigidBody("cw", 1.0), tt.Weld("weld"))
        return s.resolve()

    def test_end_where_they_weigh_nothing(self) -> None:
        with pytest.raises(tt.ConvergenceError, match=r"the equilibria end near hinge\.q = ") as ended:
            tt.trim_along(self.lever(), "hinge.q", self.ANGLES, ["cw.mass"])
        near = float(str(ended.value).split("hinge.q = ")[1].split(",")[0])
        assert near == pytest.approx(self.LAST, abs=0.1375 / 2**8)  # the step of the angles, halved eight times

    def test_end_paths(self) -> None:
        with pytest.raises(tt.ConvergenceError, match="the path ends near a load factor of ") as ended:
            tt.equilibrium_path(self.lever(), {"hinge.q": (0.0, 1.2)}, ["cw.mass"], within=(0, 1))
        near = float(str(ended.value).split("factor of ")[1].split(":")[0])
        assert near == pytest.approx(self.LAST / 1.2, abs=1e-5)

    @pytest.mark.parametrize("bounds", [None, {"cw.mass": (0, 10)}], ids=str)
    def test_leave_the_rest_of_a_family(self, bounds: dict[str, tuple[float, float]] | None) -> None:
        with pytest.warns(tt.ModelWarning, match="no equilibrium at 2 of 9 points"):
            family = tt.lpv(self.lever(), {"hinge.q": self.ANGLES}, unknowns=["cw.mass"], bounds=bounds)
        assert family.valid.tolist() == (self.ANGLES <= self.LAST).tolist()
        assert 0 < family.valid.sum() < len(self.ANGLES)
