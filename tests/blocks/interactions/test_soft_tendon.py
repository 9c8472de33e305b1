"""Elastic tendons in deformable bodies: closed forms, stored energy, both engines, trims, motors, bad input."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy.integrate import simpson

import titop as tt
from tests.blocks.interactions.rod_lines import motion_at
from tests.blocks.interactions.test_soft_line import ARM, LENGTH, STRAIGHT, arm, body
from tests.refusals import ENGINES
from tests.tolerances import ROUNDING, ROUNDING_OF_MANY
from titop.blocks.contract.target_motion import TargetMotion

STIFFNESS, DISSIPATION, DRUM = 200.0, 0.3, 0.02


def tendon(bodies: Any, **fields: Any) -> tt.SoftTendon:
    return tt.SoftTendon("tendon", bodies, STRAIGHT, **({"stiffness": STIFFNESS, "dissipation": DISSIPATION} | fields))


def wound(**fields: Any) -> tt.System:
    """Return two segments with a tendon that a drum on a motor winds up, and a stay across them that slants."""
    s = arm(
        lambda bodies: tt.SoftTendon("stay", bodies, [[-ARM, 0, 0], [ARM, 0.01, LENGTH]], stiffness=50.0, displacement=0.01)
    )
    s.connect("world", tt.RigidBody("drum", mass=1.0, inertia=0.01), tt.Revolute("motor", stiffness=0.5, damping=0.01))
    s.add_interaction(tendon([s["lower"], s["upper"]], **({"arms": [DRUM], "displacement": 0.002} | fields)), "motor")
    return s


#: Stretched, slack, and stretched but relaxing so fast that dissipation takes all.
STATES = {
    "stretched": ([0.7, 0.01, -0.4, 0.02, 0.3], [0.3, 0.01, -0.2, 0.02, 1.0]),
    "slack": ([0.7, -0.01, -0.4, -0.02, -1.5], [0.3, 0.01, -0.2, 0.02, 1.0]),
    "relaxing": ([0.7, 0.01, -0.4, 0.02, 0.3], [0.3, 0.01, -0.2, 0.02, -2e2]),
}


@pytest.mark.parametrize("name", STATES)
def test_it_pulls_by_its_stretch_and_never_pushes(name: str) -> None:
    """Beside a circle a length changes by arm times angle: ``e = sum of elongations - ARM sum of angles + drawn in``."""
    q, v = (np.array(part) for part in STATES[name])
    t = tendon([body("a"), body("b")], displacement=0.002, arms=[DRUM])
    slopes = np.array([-ARM, 1.0, -ARM, 1.0, DRUM])
    stretch, rate = slopes @ q + 0.002, slopes @ v
    expected = STIFFNESS * stretch * (1 + DISSIPATION * rate) if name == "stretched" else 0.0
    assert (stretch > 0, DISSIPATION * rate > -1) == (name != "slack", name != "relaxing")
    np.testing.assert_allclose(t.stretch(q), stretch, **ROUNDING)
    np.testing.assert_allclose(t.act(motion_at(q, v, 3.0))[1], -(3.0 + expected) * slopes, **ROUNDING)
    np.testing.assert_allclose(t.stored(motion_at(q, v, 3.0)), 0.5 * STIFFNESS * max(stretch, 0) ** 2, **ROUNDING)


def test_energy_is_what_it_stores_and_dissipation_opposes() -> None:
    for displacement in (0.5, -0.5):
        tt.check_block(tendon(body(), displacement=displacement, dissipation=0.01))

    class Wrong(tt.SoftTendon):
        def stored(self, motion: TargetMotion) -> Any:
            return 0.9 * super().stored(motion)

    with pytest.raises(tt.ModelError, match="stored"):
        tt.check_block(Wrong("t", body(), STRAIGHT, stiffness=STIFFNESS, displacement=0.5))


@pytest.mark.parametrize("name", STATES)
def test_engines_agree(name: str) -> None:
    """Efforts, energy, accelerations, and derivatives, which the compiled engine has in closed form."""
    q, v = (np.array(part) for part in STATES[name])
    models, u = [wound().resolve(engine) for engine in ENGINES], np.array([2.0, 3.0])
    found, expected = (
        (
            m.passive_efforts(q, v),
            np.array(m.energy(q, v)),
            m.forward_dynamics(q, v, u=u),
            np.hstack(m.inverse_dynamics_derivatives(q, v, 0.1 * v, u=u)),
        )
        for m in models
    )
    for ours, theirs in zip(found, expected, strict=True):
        scale = np.abs(theirs).max()
        np.testing.assert_allclose(ours / scale, theirs / scale, **ROUNDING_OF_MANY)
    slack = wound(stiffness=0.0, dissipation=0.0).resolve()
    assert (np.abs(slack.passive_efforts(q, v) - found[0]).max() > 1e-3) == (name == "stretched")


@pytest.mark.long
def test_the_energy_balance_closes() -> None:
    """Of a simulation in which the tendon goes slack and is stretched again; without its energy it does not close."""
    m, times = wound(displacement=0.0).resolve(), np.linspace(0, 0.2, 801)
    run = tt.simulate(m, times, [0.5, 0.0, -0.3, 0.0, 0.5], np.zeros(5), method="Radau", rtol=1e-8, atol=1e-10)
    stretches = np.array([m.mechanism.assembly.loops[-1].closure.stretch(q) for q in run.q])  # type: ignore[attr-defined]
    assert stretches.min() < -1e-3 < 1e-3 < stretches.max()
    energy, lost = run.energy().sum(axis=1), m.dissipated_power(run.q, run.v)
    fallen = energy[0] - energy[-1]
    # a quarter of a millisecond beside oscillations of some milliseconds: the rule's error is 1e-6 of the integral at most
    assert fallen == pytest.approx(simpson(lost, x=times), rel=2e-6)
    stored = 0.5 * STIFFNESS * np.maximum(stretches, 0) ** 2
    assert abs(stored[0] - stored[-1]) > 0.1 * fallen


def test_trims_hold_a_displacement_and_find_one() -> None:
    """Drawn in by a motor or by a parameter: the same shape; a displacement is found that bends the tip so far."""
    drawn = 0.02
    s = arm(lambda bodies: tendon(bodies, displacement=drawn))
    m = s.resolve()
    point = tt.trim(m)
    assert point.stability == "stable"
    assert point.q[2] > 0.2  # bent towards the tendon; gravity pulls along the arm
    efforts = m.inverse_dynamics(point.q, point.v, np.zeros(m.nv))
    assert np.abs(efforts).max() < 1e-9 * STIFFNESS * drawn  # residual of Newton's iteration
    held = ["lower", "upper", "motor.tau"]
    motor = tt.trim(wound(displacement=0.0).resolve(), held, q={"motor": drawn / DRUM})
    other = arm(
        lambda bodies: tt.SoftTendon("stay", bodies, [[-ARM, 0, 0], [ARM, 0.01, LENGTH]], stiffness=50.0, displacement=0.01),
        lambda bodies: tendon(bodies, displacement=drawn),
    )
    np.testing.assert_allclose(motor.q[:4], tt.trim(other.resolve()).q, rtol=0, atol=1e-8)
    sought = ["lower", "upper.elongation", "tendon.displacement"]
    found = tt.trim(m, sought, q={"upper.bending": point.q[2]}, parameters={"tendon.displacement": 0.01})
    assert found.parameters["tendon.displacement"] == pytest.approx(drawn, rel=1e-6)  # of an equilibrium to 1e-9
    less = m.with_parameters({"tendon.displacement": 0.5 * drawn})
    assert 0.3 < tt.trim(less).q[2] / point.q[2] < 0.7
    assert "tendon.stiffness" in m.parameters()


def test_parameters_and_bad_input() -> None:
    t = tendon(body(), arms=[DRUM, 0.03])
    assert {"stiffness", "displacement", "dissipation", "arms.0", "arms.1"} == set(t.parameters())
    changed: Any = t.with_parameters({"arms.1": 0.04, "stiffness": 10.0})
    assert (changed.arms[1], changed.stiffness, t.arms[1]) == (0.04, 10.0, 0.03)
    for fields, code in (
        ({"stiffness": -1.0}, "negative-stiffness"),
        ({"dissipation": -1.0}, "negative-dissipation"),
        ({"arms": "long"}, "wrong-type"),
        ({"displacement": float("nan")}, "not-finite"),
    ):
        errors, _ = tendon(body(), **fields).check()
        assert [finding.code for finding in errors] == [code]
    _, (warning,) = tt.SoftTendon("t", body(), STRAIGHT, displacement=0.1).check()
    assert warning.code == "idle-displacement"


@pytest.mark.parametrize(
    ("curve", "code", "said"),
    [
        (lambda s: [0.01 * math.sin(s), 0.0, LENGTH * s], "bad-curve", "np.sin, not math.sin"),
        (lambda s: [s, 0.0], "bad-curve", "three finite numbers"),
        (lambda s: [s, 0.0, [0.0, 1.0]], "bad-curve", "three finite numbers"),
        (lambda s: [s] * (2 if s.real < 0.5 else 3), "bad-curve", "three finite numbers"),
        (lambda s: "along", "bad-curve", "three finite numbers"),
        (lambda s: None, "bad-curve", "three finite numbers"),
        (lambda s: [0.0, 0.0, LENGTH], "bad-curve", "that change with s"),
        (lambda: 0.0, "bad-curve", "takes 0 positional arguments"),
        ([[0, 0, 0], [1, 2]], "wrong-shape", "points (k, 3)"),
        ("along", "wrong-shape", "points (k, 3)"),
        (None, "wrong-shape", "points (k, 3)"),
        ([[0, 0, 0], [0, 0, 0]], "no-length", "points that differ"),
        ([STRAIGHT, STRAIGHT], "wrong-count", "2 of them"),
        ([], "wrong-count", "0 of them"),
    ],
)
def test_curves_that_are_none_are_refused_by_name(curve: Any, code: str, said: str) -> None:
    (finding,) = tt.SoftTendon("t", body(), curve).check()[0]
    assert (finding.code, finding.where) == (code, "t.curve")
    assert said in str(finding)
