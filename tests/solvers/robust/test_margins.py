"""Margins of open loops, closed models and grids: what is looked at, refusals, pictures."""

from __future__ import annotations

from typing import Any

import control
import numpy as np
import pytest

import titop as tt
from tests.refusals import refusal
from tests.solvers.robust.test_exact_margins import lag, satellite, spinning_satellite


def arm() -> tt.Model:
    """Return a pendulum."""
    s = tt.System("joint", gravity=[0, 0, -9.81])
    body = tt.RigidBody("arm", mass=2.0, com=[0, 0, -0.5], inertia=0.1)
    s.connect("world", body, joint=tt.Revolute("hinge", axis=[0, 1, 0], damping=0.4))
    return s.resolve()


#: From the angle to the torque, u = K y: a lead with the sign of a damper.
K = control.ss([[-20.0]], [[1.0]], [[360.0]], [[-20.0]], inputs=["hinge_q"], outputs=["hinge"])


def numbers(found: tt.Margins) -> list[float]:
    """Return gain, phase, delay and disk of the first row."""
    return [*found.gain[0], found.phase[0], found.delay[0], found.disk[0]]


def test_a_plant_and_its_controller_are_the_open_loop() -> None:
    """Opened at the input or the output, the one loop is ``-K P``; also with the sign of references."""
    m = arm()
    plant = tt.linearize(m, m.neutral(), inputs=["hinge"], outputs=["hinge.q"])
    expected = numbers(tt.margins(-1.0 * (plant * K)))
    for found in (
        tt.margins(plant, controller=K),
        tt.margins(plant, "hinge", controller=K),
        tt.margins(plant, "hinge.q", controller=K),
        tt.margins(plant, controller=control.ss(K.A, K.B, -K.C, -K.D, inputs="hinge_q", outputs="hinge"), sign=-1),
    ):
        assert numbers(found) == pytest.approx(expected, rel=1e-9)  # two realisations of one response
    assert tt.margins(plant, "hinge.q", controller=K).loops == ("hinge.q",)


def test_a_sampled_controller_has_less_phase() -> None:
    """By half its period and its delay, about: ``ω (T / 2 + τ)`` at the crossing."""
    m, period, delay = arm(), 0.01, 0.01
    plant = tt.linearize(m, m.neutral(), inputs=["hinge"], outputs=["hinge.q"])
    continuous = tt.margins(plant, controller=K)
    sampled = tt.margins(plant, controller=tt.Loop(K, sample_time=period, delay=delay))
    less = np.degrees(continuous.omega[0, 2] * (period / 2 + delay))
    assert continuous.phase[0] - sampled.phase[0] == pytest.approx(less, rel=0.03)  # Tustin's rule, the crossing's shift
    assert sampled.gain[0, 1] < continuous.gain[0, 1]


def test_some_of_several_loops() -> None:
    """The others stay closed: the row is that of all."""
    every, one = satellite(), tt.margins(spinning_satellite(), "u[1]")
    assert one.loops == ("u[1]",)
    assert numbers(one) == pytest.approx([*every.gain[1], every.phase[1], every.delay[1], every.disk[1]])


def test_a_grid() -> None:
    """Each member has the margins that it has alone; the worst is named."""
    gains = [1.5, 2.0, 4.0]
    found = tt.margins([lag(k) for k in gains])
    assert found.gain.shape == (3, 1, 2)
    assert found.disk[:, 0] == pytest.approx([tt.margins(lag(k)).disk[0] for k in gains])
    assert found.member == {"model": 2.0}
    assert len(found.plot().axes) == 4


def test_a_family_of_samples() -> None:
    """Members of an LPVModel, closed by one controller."""
    m = arm()
    family = tt.lpv(m, {"arm.mass": [1.5, 2.0, 2.5]}, unknowns=["hinge.tau"], inputs=["hinge"], outputs=["hinge.q"])
    found = tt.margins(family, controller=K)
    assert found.phase.shape == (3, 1)
    assert found.phase[1, 0] == pytest.approx(tt.margins(family.at(arm_mass=2.0), controller=K).phase[0])
    assert found.member["arm.mass"] == 2.5, "the heaviest is the slowest"


REFUSED: list[tuple[str, str, Any, dict[str, Any]]] = [
    ("not-square", "1 outputs, 2 inputs", control.ss(-1, [[1, 1]], 1, [[0, 0]]), {}),
    ("unstable-nominal", "a pole at", lag(9.0), {}),
    ("algebraic-loop", "1 + L singular", control.ss([], [], [], [[-1.0]]), {}),
    ("unknown-signal", "hinge", lag(1.0), {"at": "hinge"}),
    ("bad-value", "skew", lag(1.0), {"skew": np.nan}),
    ("bad-value", "skew", lag(1.0), {"skew": "S"}),
    ("bad-value", "tolerance", lag(1.0), {"tolerance": 0.0}),
    ("wrong-type", "loop", "loop", {}),
    ("no-members", "loop", [], {}),
    ("unstable-nominal", "of member (1,)", [lag(1.0), lag(9.0)], {}),
]


@pytest.mark.parametrize(("code", "text", "loop", "options"), REFUSED)
def test_refusals(code: str, text: str, loop: Any, options: dict[str, Any]) -> None:
    with refusal(code, text):
        tt.margins(loop, **options)


def test_a_closed_loop_that_was_not_opened_is_refused() -> None:
    """What is outside of a loop tells nothing of it."""
    m = arm()
    family = tt.lft(m, m.neutral(), {"arm.mass": tt.percent(20)}, inputs=["hinge"], outputs=["hinge.q"])
    with refusal("closed-loop", "append"):
        tt.margins(family.close(K))


def test_pictures() -> None:
    """A chart and a disk a loop; what is excluded reaches as far as the disk."""
    figure = satellite().plot()
    assert len(figure.axes) == 4
    factors = figure.axes[1].lines[1].get_xdata()
    assert [np.min(factors), np.max(factors)] == pytest.approx([0.905, 1.105], abs=1e-3)
