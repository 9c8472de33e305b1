"""Beams of uncertain length, alone and with section and density."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

import titop as tt

#: Beside the response's norm: 3e-11 that the reduction may change, near a weakly damped resonance times up to a hundred.
EXACT = 1e-8


def beam(name: str = "arm", **fields: Any) -> tt.Beam:
    return tt.Beam(name, 2.0, 2700.0, 1e-3, 70e9, iy=1e-7, iz=2e-7, **fields)


def hinged(own: tt.Beam, tip: bool = False) -> tuple[tt.Model, Any]:
    s = tt.System("hinged", gravity=[0, 0, 0])
    s.connect("world", own, joint=tt.Revolute("hinge", axis=[0, 1, 0], stiffness=50.0, damping=3.0))
    if tip:
        body = tt.RigidBody("tip", 1.0, com=[0.1, 0, 0.05], inertia=[0.01, 0.02, 0.03])
        s.connect(own.port("C"), body, joint=tt.Weld("weld"))
    m = s.resolve()
    return m, (m.neutral(), np.zeros(m.nv))


def carried(gravity: Sequence[float]) -> tuple[tt.Model, Any]:
    """Return a beam out of a turning hub, with a body at its tip, that loads hold straight."""
    s = tt.System("carried", gravity=gravity)
    hub = tt.RigidBody("hub", 5.0, inertia=[1, 2, 3], ports={"a": [0.2, 0, 0.1]})
    s.connect("world", hub, joint=tt.Revolute("turn", axis=[0, 0, 1], stiffness=10.0, damping=0.1))
    arm = beam(modes=1, axial_modes=1)
    s.connect(hub.port("a"), arm, joint=tt.Revolute("drive", axis=[1, 0, 0], stiffness=100.0, damping=0.2))
    tip = tt.RigidBody("tip", 1.0, com=[0.1, 0, 0.05], inertia=[0.01, 0.02, 0.03], ports={"S": [0.1, 0, 0]})
    s.connect(arm.port("C"), tip, joint=tt.Weld("weld"))
    m = s.resolve()
    q, v = m.neutral(), np.zeros(m.nv)
    return m, (q, v, m.inverse_dynamics(q, v, v))


INPUTS, OUTPUTS = ("turn", "drive", "tip.S.F"), ("turn.q", "drive.a", "tip.S.v", "arm.C.w", "weld.reaction")


@pytest.mark.parametrize("modes", [0, 1, 2])
@pytest.mark.parametrize("tip", [False, True])
def test_repetitions_of_a_length(modes: int, tip: bool) -> None:
    """Four for each coordinate of bending (a deflection, a slope, the modes) and for the rigid motion; a few for a tip's body.

    The bound that `degree` states counts at one random frequency, where higher modes are below rounding.
    """
    m, point = hinged(beam(modes=modes), tip)
    model = tt.lft(m, point, {"arm.length": tt.percent(5)}, ["hinge"], ["hinge.q", "hinge.a"])
    assert 4 * (2 + modes) <= model.blocks[0].repetitions <= 4 * (3 + modes) + 4 * tip
    assert model.check(4) < EXACT


@pytest.mark.parametrize("gravity", [(0.0, 0.0, 0.0), (0.0, 0.0, -9.81), (-3.0, 1.0, 2.0)])
def test_a_beam_that_carries_a_body(gravity: tuple[float, ...]) -> None:
    """Under its own weight and the tip's body's too, which soften and stiffen it by its length."""
    m, point = carried(gravity)
    parameters = {"arm.length": tt.percent(-10, 15), "arm.density": tt.percent(10), "arm.iy": tt.percent(20)}
    assert tt.lft(m, point, {"arm.length": tt.percent(30)}, INPUTS, OUTPUTS).check(4) < EXACT
    assert tt.lft(m, point, parameters, INPUTS, OUTPUTS).check(4) < EXACT


@pytest.mark.portable
@pytest.mark.parametrize(("gravity", "repetitions"), [((0.0, 0.0, -9.81), [59, 17, 6]), ((0.0, 0.0, 0.0), [44, 13, 6])])
def test_repetitions_under_gravity(gravity: tuple[float, ...], repetitions: list[int]) -> None:
    """The same on all processors: they are counted before the loop is closed, where the next singular value is rounding."""
    m, point = carried(gravity)
    parameters = {"arm.length": tt.percent(-10, 15), "arm.density": tt.percent(10), "arm.iy": tt.percent(20)}
    assert [block.repetitions for block in tt.lft(m, point, parameters, INPUTS, OUTPUTS).blocks] == repetitions


def test_a_length_with_an_angle_and_a_mass() -> None:
    m, point = carried((0.0, 0.0, 0.0))
    parameters = {"arm.length": tt.percent(10), "drive.q": (-0.5, 0.7), "tip.mass": tt.percent(20)}
    assert tt.lft(m, point, parameters, INPUTS, OUTPUTS).check(6) < EXACT


def test_a_length_tied_to_a_section() -> None:
    m, point = carried((0.0, 0.0, 0.0))
    assert tt.lft(m, point, {("arm.length", "arm.iy"): tt.percent(10)}, INPUTS, OUTPUTS).check(3) < EXACT


def test_a_length_with_a_damping_ratio() -> None:
    """The damping goes with the square of the length once the coordinates do."""
    m, point = hinged(beam(damping_ratio=0.01))
    assert tt.lft(m, point, {"arm.length": tt.percent(10)}, ["hinge"], ["hinge.q"]).check(3) < EXACT


def test_stiffness_is_constant_in_the_scaled_coordinates() -> None:
    """As the length changes by a fifth; in the beam's own, entries change by up to three quarters."""
    short, long = beam(modes=2, axial_modes=1), beam(modes=2, axial_modes=1).with_parameters({"length": 2.4})
    scales = long.scaling_beside(short)
    assert scales is not None
    before, after = short.matrices.stiffness, long.matrices.stiffness  # type: ignore[attr-defined]
    scaled = scales.rows[:, None] * after * scales.columns
    assert scaled == pytest.approx(before, rel=1e-10, abs=1e-9 * np.abs(before).max())
    assert after != pytest.approx(before, rel=0.1)


def test_refused() -> None:
    m, point = hinged(beam())
    with pytest.raises(tt.ModelError, match=r"arm\.C_z.*rescaled-coordinate"):
        tt.lft(m, point, {"arm.length": tt.percent(5)}, ["hinge"], ["arm.C_z.q"])
    with pytest.raises(tt.ModelError, match=r"arm\.mode_y1.*rescaled-coordinate"):
        tt.lft(m, point, {"arm.density": tt.percent(5)}, ["arm.mode_y1"], ["hinge.q"])
    m, point = hinged(beam(shear_factors=5 / 6))
    with pytest.raises(tt.ModelError, match=r"arm\.length.*fits=.*not-rational"):
        tt.lft(m, point, {"arm.length": tt.percent(5)}, ["hinge"], ["hinge.q"])
    m, point = carried((0.0, 0.0, -9.81))
    with pytest.raises(tt.ModelError, match=r"arm\.length.*uncertain acceleration.*not-rational"):
        tt.lft(m, point, {"arm.length": tt.percent(5), "gravity.x": (-1.0, 2.0)}, INPUTS, OUTPUTS)
