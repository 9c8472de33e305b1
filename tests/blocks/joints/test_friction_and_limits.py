"""Stops of joints: their law, their energy, and how unusable ones are refused."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np
import pytest

import titop as tt
from tests.refusals import hinged
from titop.blocks.basics.differences import derivative

STIFFNESS, DISSIPATION = 300.0, 0.5


def planar() -> tt.Joint:
    """Return a joint that stops below and above, above alone, and nowhere."""
    stops = {"stiffness": STIFFNESS, "dissipation": DISSIPATION}
    return tt.Planar("table", limits=[tt.Limits(-0.2, 0.3, **stops), tt.Limits(upper=0.1, **stops), tt.Limits(-1, 1)])


def test_stops_push_back_and_never_pull() -> None:
    joint, k, c = planar(), STIFFNESS, DISSIPATION
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # an infinite bound enters no product
        for q, v, expected in (
            ([0.29, 0.09, 3.0], [5.0, 5.0, 5.0], [0.0, 0.0, 0.0]),
            ([0.34, 0.11, 3.0], [0.0, 0.0, 0.0], [-k * 0.04**1.5, -k * 0.01**1.5, 0.0]),
            ([-0.24, -9.0, 3.0], [0.0, 0.0, 0.0], [k * 0.04**1.5, 0.0, 0.0]),
            ([-0.24, 0.11, 0.0], [-0.4, 0.4, 1.0], [k * 0.04**1.5 * (1 + 0.4 * c), -k * 0.01**1.5 * (1 + 0.4 * c), 0.0]),
            ([-0.24, 0.11, 0.0], [0.4, -0.4, 1.0], [k * 0.04**1.5 * (1 - 0.4 * c), -k * 0.01**1.5 * (1 - 0.4 * c), 0.0]),
            ([-0.24, 0.11, 0.0], [2.1, -2.1, 1.0], [0.0, 0.0, 0.0]),
        ):
            efforts = joint.passive_efforts(np.array(q), np.array(v))
            np.testing.assert_allclose(efforts, expected, rtol=1e-13, atol=1e-14)  # rounding of depths of 1e-2


def test_their_energy_is_what_their_elastic_part_takes_and_the_rest_dissipates() -> None:
    joint, rng, still = planar(), np.random.default_rng(0), np.zeros(3)
    assert joint.elastic_energy(np.array([0.34, 0.0, 0.0])) == pytest.approx(STIFFNESS * 0.04**2.5 / 2.5, rel=1e-13)
    for _ in range(20):
        q, v = rng.uniform(-0.6, 0.6, 3), rng.uniform(-5, 5, 3)
        steps = 1e-30j * np.eye(3)
        gradient = [np.imag(joint.elastic_energy(q + step)) / 1e-30 for step in steps]
        np.testing.assert_allclose(joint.passive_efforts(q, still), -np.array(gradient), rtol=1e-13, atol=1e-13)
        assert (v * joint.damping_efforts(q, v) <= 0).all()
        sum_of_parts = joint.damping_efforts(q, v) + joint.passive_efforts(q, still)
        np.testing.assert_allclose(joint.passive_efforts(q, v), sum_of_parts, rtol=1e-13, atol=1e-12)


def test_their_slopes_are_complex_safe() -> None:
    """Complex steps against differences, pressed, released, and out of contact."""
    joint = planar()
    for q, v in (
        ([0.4, 0.15, 0.0], [0.3, 0.2, 0.1]),
        ([-0.4, 0.15, 0.0], [1.0, -1.0, 0.1]),
        ([0.0, 0.3, 0.0], [0.0, -3.0, 0.0]),
    ):
        at, rate, step = np.array(q), np.array(v), 1e-30j
        for k, axis in enumerate(np.eye(3)):
            by_q, by_v = joint.passive_efforts(at + step * axis, rate), joint.passive_efforts(at, rate + step * axis)
            moved = derivative(lambda h, axis=axis, at=at, rate=rate: joint.passive_efforts(at + h * axis, rate), 1e-3)
            pushed = derivative(lambda h, axis=axis, at=at, rate=rate: joint.passive_efforts(at, rate + h * axis), 1e-3)
            # sixth order: (1e-3 / 0.05)^6 of a slope of 100 at the least depth
            np.testing.assert_allclose(np.imag(by_q) / 1e-30, moved, atol=1e-7, err_msg=str(k))
            np.testing.assert_allclose(np.imag(by_v) / 1e-30, pushed, atol=1e-9, err_msg=str(k))


def test_limits_are_given_back_as_they_were_given() -> None:
    limits = (tt.Limits(lower=-1, upper=2, velocity=3, stiffness=7), tt.Limits(), tt.Limits(effort=2))
    assert tt.Planar("table", limits=limits).limits == limits
    assert tt.Cylindrical("rod", limits=limits[0]).limits == (limits[0],) * 2
    assert tt.Revolute("hinge").limits == (tt.Limits(),)
    assert tt.Weld("fixed").limits == ()


def test_names_and_units() -> None:
    own = {name: value for name, value in planar().parameters().items() if name.startswith("limits")}
    assert own == {
        "limits.x.lower": (-0.2, "m"),
        "limits.x.upper": (0.3, "m"),
        "limits.x.stiffness": (STIFFNESS, "N/m^1.5"),
        "limits.x.dissipation": (DISSIPATION, "s/m"),
        "limits.y.upper": (0.1, "m"),
        "limits.y.stiffness": (STIFFNESS, "N/m^1.5"),
        "limits.y.dissipation": (DISSIPATION, "s/m"),
        "limits.theta.lower": (-1.0, "rad"),
        "limits.theta.upper": (1.0, "rad"),
        "limits.theta.stiffness": (0.0, "N m/rad^1.5"),
        "limits.theta.dissipation": (0.0, "s/rad"),
    }
    hinge = tt.Revolute("hinge", limits=tt.Limits(upper=1.0))
    assert [name for name in hinge.parameters() if "limits" in name] == [
        f"limits.{x}" for x in ("upper", "stiffness", "dissipation")
    ]
    assert not any("limits" in name for name in tt.Revolute("hinge", limits=tt.Limits(velocity=1.0)).parameters())
    assert not any("limits" in name for name in tt.Spherical("ball", limits=tt.Limits(-1, 1)).parameters())


@pytest.mark.parametrize(
    ("joint", "code", "where"),
    [
        (lambda: tt.Revolute("j", limits=tt.Limits(-1, 1, stiffness=-2.0)), "bad-stop", "j.limits.stiffness: got -2"),
        (lambda: tt.Revolute("j", limits=tt.Limits(-1, 1, dissipation=-2.0)), "bad-stop", "j.limits.dissipation: got -2"),
        (lambda: tt.Revolute("j", limits=tt.Limits(-1, 1, stiffness=math.inf)), "bad-stop", "j.limits.stiffness: got inf"),
        (lambda: tt.Revolute("j", limits=tt.Limits(-1, 1, stiffness=math.nan)), "bad-stop", "j.limits.stiffness: got nan"),
        (
            lambda: tt.Planar("j", limits=[tt.Limits(), tt.Limits(stiffness=-2), tt.Limits()]),
            "bad-stop",
            "j.limits.y.stiffness",
        ),
        (lambda: tt.Spherical("j", limits=tt.Limits(-1, 1, stiffness=2.0)), "no-stop", "j.limits.rx.stiffness: got 2"),
        (lambda: tt.Free("j", limits=tt.Limits(-1, 1, stiffness=2.0)), "no-stop", "j.limits.x.stiffness: got 2"),
        (lambda: tt.Revolute("j", limits=tt.Limits(1, -1)), "bad-limits", "j.limits"),
        (lambda: tt.Revolute("j", limits=tt.Limits(lower=math.inf)), "bad-limits", "j.limits"),
        (lambda: tt.Revolute("j", limits=tt.Limits(stiffness="x")), "bad-limits", "j.limits"),
        (lambda: tt.Revolute("j", limits=3), "wrong-type", "j.limits: got 3"),
    ],
)
def test_unusable_ones_are_refused_by_name(joint: Any, code: str, where: str) -> None:
    with pytest.raises(tt.ModelError) as caught:
        hinged(joint=joint()).resolve("reference")
    assert {finding.code for finding in caught.value.findings} == {code}
    assert where in str(caught.value)


def test_a_stop_nowhere_is_warned_of() -> None:
    with pytest.warns(tt.ModelWarning, match=r"j\.limits\.stiffness: got 2.*finite lower or upper"):
        hinged(joint=tt.Revolute("j", limits=tt.Limits(velocity=1, stiffness=2.0))).resolve("reference")


# Dry friction of joints.


def test_friction_stops_a_sliding_mass_and_follows_its_curve():
    friction = tt.Friction(coulomb=2.0, breakaway=3.0, stribeck_velocity=0.1, smoothing=1e-3)
    s = tt.System("slide", gravity=[0, 0, 0])
    s.connect("world", tt.RigidBody("block", 1.0), tt.Prismatic("rail", friction=friction))
    for engine in ("compiled", "reference"):
        m = s.resolve(engine)
        for v in (-2.0, -0.05, 0.0, 1e-4, 0.03, 1.5):
            expected = -(2.0 + 1.0 * np.exp(-((v / 0.1) ** 2))) * np.tanh(v / 1e-3)
            assert m.passive_efforts([0.0], [v])[0] == pytest.approx(expected, rel=1e-13)
    trajectory = tt.simulate(s.resolve(), [0, 5], [0], [4.0], method="Radau")
    assert abs(trajectory.v[-1, 0]) < 1e-6
    assert trajectory.q[-1, 0] == pytest.approx(4.0, abs=0.01)  # v^2 / (2 F_c), a little less for the breakaway
    assert s.resolve().with_parameters({"rail.friction.coulomb": 1.0}).passive_efforts([0], [9])[0] == -1.0
