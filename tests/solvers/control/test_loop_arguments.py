"""Arguments of a loop: refused, or told to be suspicious."""

from __future__ import annotations

import warnings
from functools import cache
from types import SimpleNamespace
from typing import Any

import control
import numpy as np
import pytest

import titop as tt
from tests.solvers.control.sliders import controller, gain, lead, slider
from titop.solvers.control.control_loop import OperatingValues
from titop.solvers.control.loop_arguments import suspicions


@pytest.mark.parametrize("seed", ["x", -1, 1.5])
def test_seeds_that_are_none_are_refused(seed: Any) -> None:
    with pytest.raises(tt.ModelError, match="bad-seed"):
        tt.simulate(slider(), [0, 1], [0.5], [0.0], controller=gain(1.0, 1.0), sample_time=0.1, seed=seed)


def test_sample_times_that_never_end_are_refused() -> None:
    K = tt.Controller(lambda t, x, y, r: (x, y), [], ["rail.q"], ["motor"], 1e-12)
    for given in ({"controller": gain(1.0, 1.0), "sample_time": 1e-12}, {"controller": K}):
        with pytest.raises(tt.ModelError, match="1e-12 s, 1e\\+12 samples"):
            tt.simulate(slider(), [0, 1], [0.5], [0.0], **given)


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ({"controller": gain(1.0, inputs=["rail_qq"])}, "unknown-signal"),
        ({"controller": control.ss([], [], [], [[1.0]])}, "unknown-signal"),
        ({"controller": gain(1.0, inputs=["rail_q"], outputs=["moter"])}, "unknown-signal"),
        ({"controller": gain(1.0, 1.0, inputs=["rail_q", "rail_q"])}, "duplicate-name"),
        (
            {"controller": control.ss([], [], [], [[1.0], [2.0]], inputs=["rail_q"], outputs=["motor", "motor"])},
            "duplicate-name",
        ),
        ({"controller": controller(inputs=["rail.w"])}, "unknown-signal"),
        ({"controller": controller(outputs=["rail.q"])}, "unknown-signal"),
        ({"controller": controller(), "sample_time": 0.2}, "other-sample-time"),
        ({"controller": gain(1.0, 1.0, dt=0.1), "sample_time": 0.2}, "other-sample-time"),
        ({"controller": gain(1.0, 1.0, dt=True)}, "no-sample-time"),
        ({"controller": control.tf([1], [1, 1])}, "unknown-signal"),
        ({"controller": control.tf([1, 0], [1], inputs=["rail_q"], outputs=["motor"])}, "improper"),
        ({"controller": [[1.0, 2.0]]}, "wrong-type"),
        ({"controller": gain(1.0, 1.0), "delay": 0.1}, "no-sample-time"),
        ({"controller": gain(1.0, 1.0), "noise": 0.1}, "no-sample-time"),
        ({"controller": gain(1.0, 1.0), "sample_time": 0.0}, "bad-time"),
        ({"controller": controller(), "delay": -0.1}, "bad-time"),
        ({"controller": controller(), "delay": "late"}, "bad-time"),
        ({"controller": controller(), "noise": -1.0}, "bad-noise"),
        ({"controller": controller(), "noise": [1.0, 2.0]}, "bad-noise"),
        ({"controller": controller(), "noise": {"rail.v": 1.0}}, "unknown-signal"),
        ({"controller": gain(1.0, 1.0), "reference": {"rail.a": 1.0}}, "unknown-signal"),
        ({"controller": gain(1.0, 1.0), "reference": [1.0]}, "wrong-shape"),
        ({"controller": gain(1.0, 1.0), "reference": {"rail.q": [1.0, 2.0, 3.0]}}, "wrong-shape"),
        ({"controller": gain(1.0, 1.0), "reference": {"rail.q": lambda t: np.nan}}, "wrong-shape"),
        ({"controller": gain(1.0, 1.0), "operating_point": {"rial.q": 1.0}}, "unknown-signal"),
        ({"controller": gain(1.0, 1.0), "operating_point": {"rail.q": np.nan}}, "not-finite"),
        ({"controller": gain(1.0, 1.0), "operating_point": 3.0}, "wrong-type"),
        ({"controller": controller(update=lambda t, x, y, r: y)}, "bad-update"),
        ({"controller": controller(update=lambda t, x, y, r: ([1.0, 2.0], y))}, "bad-update"),
        ({"controller": controller(update=lambda t, x, y, r: (x, [np.nan]))}, "bad-update"),
        ({"reference": [1.0]}, "no-controller"),
        ({"delay": 0.1}, "no-controller"),
        ({"noise": 0.1}, "no-controller"),
        ({"controller": tt.ScheduledController(lambda rho: 1.0, {"rho": "rail.q"}, 0.1)}, "wrong-type"),
        ({"controller": tt.ScheduledController(lambda rho: lead(), {"rho": "accelerometer.x"}, 0.1)}, "dynamic-schedule"),
        ({"controller": tt.ScheduledController(lambda rho: lead(), {"rho": "rail.x"}, 0.1)}, "unknown-signal"),
    ],
)
def test_bad_arguments(arguments: dict[str, Any], code: str) -> None:
    with pytest.raises(tt.ModelError) as caught:
        tt.simulate(slider(), [0, 1], [0.5], [0.0], **arguments)
    assert caught.value.code == code


def loop(reference: float, trim: float, unit: str = "m", size: float = 1.0) -> Any:
    """Return what the checks know of a loop with one reference."""
    return SimpleNamespace(
        references=SimpleNamespace(names=("rail.q",), read=lambda *at: np.array([reference]), specified=("rail.q",)),
        reference_units=(unit,),
        r_trim=np.array([trim]),
        measurements=SimpleNamespace(
            model=SimpleNamespace(mechanism=SimpleNamespace(scale=SimpleNamespace(length=size))),
            names=("rail.q",),
            units=(unit,),
        ),
    )


def codes(controlled: Any, pushes: dict[str, Any] | None = None, wrenches: dict[str, Any] | None = None) -> list[str]:
    operating: Any = SimpleNamespace(wrenches=pushes or {}, drifts=lambda names: np.zeros(len(names)))
    found = suspicions(controlled, operating, wrenches or {}, (0.0, None, None))
    return [finding.code for finding in found]


@pytest.mark.parametrize(
    ("reference", "trim", "found"),
    [(2.0, 2.0, []), (2.1, 2.0, []), (0.1, 2.0, ["far-reference"]), (-0.1, -2.0, ["far-reference"]), (1.5, 2.0, [])],
)
def test_references_near_zero_look_like_deviations(reference: float, trim: float, found: list[str]) -> None:
    assert codes(loop(reference, trim)) == found


def test_operating_points_near_zero_are_none_to_deviate_from() -> None:
    """Less than a millionth of the system's size, in metres; of a radian, in any system."""
    assert codes(loop(0.0, 1e-5, "m", size=100.0)) == []
    assert codes(loop(0.0, 1e-5, "m", size=1.0)) == ["far-reference"]
    assert codes(loop(0.0, 1e-5, "rad", size=100.0)) == ["far-reference"]


def test_wrenches_of_the_operating_point_have_to_act() -> None:
    push = {"b": np.array([1.0, 0, 0, 0, 0, 0])}
    assert codes(loop(0.0, 0.0), push) == ["missing-wrench"]
    assert codes(loop(0.0, 0.0), push, {"b": np.zeros(6)}) == []
    assert codes(loop(0.0, 0.0), {"b": np.zeros(6)}) == []


#: Rate of the wheel at its operating point (rad/s).
RATE = 10.0


@cache
def turning() -> tt.OperatingPoint:
    """Return a wheel that turns against friction, beside a door at rest on a spring."""
    s = tt.System("wheel", gravity=[0, 0, 0])
    rotor = tt.RigidBody("rotor", 1.0, inertia=0.5, ports={"rim": [0.2, 0, 0]})
    s.connect("world", rotor, tt.Revolute("wheel", axis=[0, 0, 1], damping=0.1))
    s.connect("world", tt.RigidBody("leaf", 1.0, inertia=0.5), tt.Revolute("door", axis=[0, 0, 1], stiffness=1.0))
    return tt.trim(s.resolve(), ["wheel.tau"], v={"wheel": RATE})


def warned(measured: list[str], reference: Any = None) -> tuple[list[str], float]:
    """Return the warnings of a simulation from the operating point, and the wheel's rate at its end."""
    point = turning()
    K = control.ss([], [], [], 0.5 * np.ones((1, len(measured))), inputs=measured, outputs=["wheel"])
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        end = tt.simulate(
            point.model, [0, 1.0], point.q, point.v, controller=K, reference=reference, operating_point=point, progress=False
        )
    return [str(warning.message) for warning in caught], float(end.v[-1, 0])


def test_outputs_that_drift_at_the_point_are_told_once() -> None:
    """The wheel is braked by its angle, which its linear model about the moving point does not have."""
    found, rate = warned(["wheel_q", "wheel_v", "rotor_rim_r[0]", "rotor_rim_theta[2]", "door_q"])
    assert rate < 0.8 * RATE
    assert len(found) == 1
    assert "drifting-output" in found[0]
    assert f"wheel.q drifts by {RATE:.3g} rad/s" in found[0]
    assert f"rotor.rim.theta[2] drifts by {RATE:.3g} rad/s" in found[0]
    for stays in ("wheel.v drifts", "rotor.rim.r", "door.q"):  # a place is told in the axes of its port
        assert stays not in found[0]


@pytest.mark.parametrize(
    ("measured", "reference"),
    [(["wheel_v", "door_q"], None), (["wheel_q", "wheel_v"], {"wheel.q": lambda t: RATE * t}), (["rotor_rim_w[2]"], None)],
)
def test_what_stays_at_the_point_keeps_it(measured: list[str], reference: Any) -> None:
    found, rate = warned(measured, reference)
    assert found == []
    assert rate == pytest.approx(RATE, rel=1e-6)


@pytest.mark.parametrize("length", [1e-8, 1e-5, 1e-3, 1.0, 1e4])
@pytest.mark.parametrize("rail", [False, True])
def test_drifts_are_told_of_systems_of_any_size(length: float, rail: bool) -> None:
    """The tip of an arm moves across, at ``-L sin(q)``, beside a part that slides as fast or none; not along z."""
    s = tt.System("arm", gravity=[0, 0, 0])
    arm = tt.RigidBody("arm", 1.0, inertia=length**2, ports={"tip": [length, 0, 0]})
    s.connect("world", arm, tt.Revolute("hinge", axis=[0, 0, 1]))
    s.add_sensor(tt.PoseSensor("place", arm.port("tip")))
    q, v = [0.3], [1.0]
    if rail:
        s.connect("world", tt.RigidBody("shoe", 1.0), tt.Prismatic("rail", axis=[0, 0, 1]))
        q, v = [0.3, 0.0], [1.0, length]
    point = SimpleNamespace(q=np.array(q), v=np.array(v))
    names = ["place.x", "place.z", "hinge.v", "arm.tip.v[1]", *(["rail.q", "rail.v"] if rail else [])]
    drifts = OperatingValues(s.resolve(), point).drifts(names)
    expected = [-length * np.sin(0.3), 0.0, 0.0, 0.0, *([length, 0.0] if rail else [])]
    np.testing.assert_allclose(drifts, expected, rtol=1e-7, atol=0.0)
