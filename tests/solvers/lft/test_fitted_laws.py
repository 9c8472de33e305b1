"""Parameters in which laws are fitted: the response's error is stated, and narrow ranges do not hide what is no polynomial."""

from __future__ import annotations

import numpy as np
import pytest

import titop as tt
from tests.solvers.lft.satellites import arm, bent, satellite, still
from titop.solvers.lft.polynomials import Irrational, interpolate

OUTPUTS = ("j1.q", "j3.a", "b3.E.dv", "b3.E.w", "j2.reaction", "b2.C.v")


@pytest.mark.parametrize("name", ["j1.axis.x", "j3.axis.z"])
def test_axes_of_joints(name: str) -> None:
    """The stated error holds at members that it has not seen, within twice; a finer tolerance gives a smaller one."""
    m = arm()
    value = m.parameters()[name][0]
    given = {name: (value - 0.1, value + 0.15)}
    model = tt.lft(m, bent(m), given, ("mot", "j2"), OUTPUTS, fits=[name])
    assert 1e-9 < model.error < 1e-2
    assert model.check(20, seed=7) < 2 * model.error
    fine = tt.lft(m, bent(m), given, ("mot", "j2"), OUTPUTS, fits={name: 1e-7})
    assert fine.error < 0.02 * model.error
    assert fine.blocks[0].repetitions > model.blocks[0].repetitions


def test_rotations_about_two_axes() -> None:
    m = arm()
    given = {"b1.C.rotation.x": (-0.2, 0.2), "b1.C.rotation.y": (-0.1, 0.2)}
    model = tt.lft(m, bent(m), given, ("mot",), ("j1.q", "b3.E.w"), fits=dict.fromkeys(given, 1e-5))
    assert 0 < model.error < 1e-2


def test_ports_of_flexible_bodies() -> None:
    """A port that its modes move turns them too."""
    m, name = satellite(), "panel_right.tip.rotation.z"
    outputs = ("hub.imu.w", "panel_right.tip.v")
    model = tt.lft(m, still(m), {name: (-0.3, 0.4)}, ("wheels", "panel_right.tip.F"), outputs, fits={name: 1e-6})
    assert model.error < 1e-5


def test_damping_ratios_of_beams() -> None:
    s = tt.System("hung", gravity=[0, 0, 0])
    beam = tt.Beam("arm", 2.0, 2700.0, 1e-4, 70e9, iy=1e-9, iz=1e-9, damping_ratio=0.01)
    s.connect("world", beam, joint=tt.Revolute("hinge", axis=[0, 1, 0], stiffness=50.0, damping=3.0))
    m = s.resolve()
    point = m.neutral(), np.zeros(m.nv)
    model = tt.lft(m, point, {"arm.young": tt.percent(10)}, ["hinge"], ["hinge.q"], fits="arm.young")
    assert model.error < 1e-3


def test_friction() -> None:
    """At rest a joint is damped by breakaway over smoothing: linear in the one, to be fitted in the other."""
    s = tt.System("door")
    friction = tt.Friction(coulomb=0.1, breakaway=0.2, smoothing=0.5, stribeck_velocity=0.3)
    hinge = tt.Revolute("hinge", axis=[0, 0, 1], stiffness=5.0, friction=friction)
    s.connect("world", tt.RigidBody("leaf", 2.0, inertia=[1.0, 2.0, 2.5]), joint=hinge)
    m = s.resolve()
    point = m.neutral(), np.zeros(1)
    breakaway, smoothing = "hinge.friction.breakaway", "hinge.friction.smoothing"
    assert tt.lft(m, point, {breakaway: tt.percent(20)}, ["hinge"], ["hinge.q"]).check(3) < 1e-9
    with pytest.raises(tt.ModelError, match=r"friction\.smoothing.*fits=.*not-rational"):
        tt.lft(m, point, {smoothing: tt.percent(20)}, ["hinge"], ["hinge.q"])
    assert 0 < tt.lft(m, point, {smoothing: tt.percent(20)}, ["hinge"], ["hinge.q"], fits=smoothing).error < 1e-3


@pytest.mark.parametrize("half", [1e-4, 1e-3, 1e-2, 0.1])
def test_narrow_ranges_hide_nothing(half: float) -> None:
    m = arm()
    with pytest.raises(tt.ModelError, match=r"j1\.axis\.y.*not-rational"):
        tt.lft(m, bent(m), {"j1.axis.y": (1.0 - half, 1.0 + half)}, ["mot"], ["j1.q"])


def test_what_a_narrow_range_would_have_hidden() -> None:
    """A root within a ten-thousandth is a parabola to rounding; where it is looked at farther off it is none."""

    def root(values: dict[str, float]) -> np.ndarray:
        return np.array([[np.sqrt(1 + 1e-4 * values.get("x", 0.0))]])

    assert not isinstance(interpolate(root, ["x"]), Irrational)  # type: ignore[arg-type]
    assert isinstance(interpolate(root, ["x"], {"x": 3e3}), Irrational)  # type: ignore[arg-type]


def test_the_lowest_degree_that_meets_a_tolerance() -> None:
    def exponential(values: dict[str, float]) -> np.ndarray:
        return np.array([[np.exp(values.get("x", 0.0))]])

    for tolerance, degree in ((0.2, 2), (1e-3, 4), (1e-5, 6)):
        found = interpolate(exponential, ["x"], fits={"x": tolerance})  # type: ignore[arg-type]
        assert not isinstance(found, Irrational)
        assert max(e[0] for e in found.exponents) <= degree
        errors = [abs(found.evaluate({"x": x})[0, 0] - np.exp(x)) / np.exp(x) for x in np.linspace(-1, 1, 50)]
        assert max(errors) < 2 * tolerance


def test_refused_fits() -> None:
    m, given = arm(), {"j1.axis.x": (0.1, 0.3)}
    for fits, message in (
        (["j1.axis.y"], "unknown-parameter"),
        ({"j1.axis.x": 2.0}, "bad-tolerance"),
        ({"j1.axis.x": 1e-14}, r"polynomials miss by.*no-fit"),
    ):
        with pytest.raises(tt.ModelError, match=message):
            tt.lft(m, bent(m), given, ["mot"], ["j1.q"], fits=fits)
