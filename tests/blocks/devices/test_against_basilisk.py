"""Wheels, gyros, panels and sampled feedback against Basilisk, whose equations were derived otherwise (back-substitution).

`make_basilisk_data.py` makes the data. Basilisk assumes that a coupled wheel's transverse moments are equal, and so do these.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import titop as tt
from tests.blocks.devices.basilisk_cases import (
    DAMPED,
    DURATIONS,
    GIMBAL,
    GIMBAL_RATES,
    GIMBAL_TORQUES,
    GYROS,
    HUB,
    OFFSET,
    PANELS,
    SAMPLED,
    SAMPLES,
    STIFF,
    TRIAD,
    WHEEL,
    WHEELS,
)

DATA = np.load(Path(__file__).with_name("basilisk.npz"))
BALANCED: dict[str, Any] = {"inertia": WHEEL["along"], "mass": WHEEL["mass"], "transverse_inertia": WHEEL["across"]}
ROTOR = BALANCED | {"static_imbalance": WHEEL["static"], "dynamic_imbalance": WHEEL["dynamic"]}


#: A model, its angles and rates at the start, arguments of `simulate`, and its coordinates for each of Basilisk's states.
Case = tuple[tt.Model, dict[str, float], dict[str, float], dict[str, Any], dict[str, list[str]]]


def about_origin(mass: float, com: Any, inertia: Any) -> np.ndarray:
    """Return the inertia (kg m^2) of a body about the frame's origin."""
    return np.asarray(inertia) + mass * (np.dot(com, com) * np.eye(3) - np.outer(com, com))


def craft(without: Sequence[dict[str, Any]] = ()) -> tuple[tt.System, tt.RigidBody]:
    """Return the system and its hub, `without` the wheels that the given hub includes, as balanced ones in Basilisk."""
    mass, moment, inertia = HUB["mass"], HUB["mass"] * np.array(HUB["com"]), about_origin(**HUB)
    for each in without:
        along = np.outer(each["axis"], each["axis"])
        rotor = WHEEL["along"] * along + WHEEL["across"] * (np.eye(3) - along)
        mass, moment = mass - WHEEL["mass"], moment - WHEEL["mass"] * np.array(each["place"])
        inertia = inertia - about_origin(WHEEL["mass"], each["place"], rotor)
    hub = tt.RigidBody("hub", mass, moment / mass, inertia - about_origin(mass, moment / mass, np.zeros((3, 3))))
    s = tt.System("craft", gravity=[0, 0, 0])
    s.connect("world", hub, tt.Free("base"))
    return s, hub


def angle_of(direction: Any, axis: Any) -> float:
    """Return the angle about an axis of a direction from the port's axis that follows the one nearest to the axis."""
    following = np.eye(3)[(int(np.argmax(np.abs(axis))) + 1) % 3]
    radial = following - (following @ axis) * np.array(axis)
    return float(np.arctan2(np.cross(radial, direction) @ axis, radial @ direction))


def wheels(jitter: str, without: bool = False) -> Case:
    """Return the model, its state at the start and inputs, and coordinates for Basilisk's states."""
    s, hub = craft(WHEELS if without else ())
    rates, torques = {}, {}
    for k, each in enumerate(WHEELS):
        hub.add_port(f"w{k}", each["place"])
        phase = angle_of(each["second"], each["axis"])
        s.add_device(tt.ReactionWheel(f"w{k}", hub.port(f"w{k}"), each["axis"], **ROTOR, phase=phase, jitter=jitter))
        rates[f"w{k}"], torques[f"w{k}/motor"] = each["speed"], each["torque"]
    return s.resolve(), {}, rates, {"u": torques}, {"omegas": ["w0.v", "w1.v"], "thetas": ["w0.q", "w1.q"]}


def gyros() -> Case:
    s, hub = craft()
    rates, torques = {}, {}
    for k, each in enumerate(GYROS):
        hub.add_port(f"g{k}", each["place"])
        axes = np.column_stack([each["axis"], np.cross(each["gimbal"], each["axis"]), each["gimbal"]])
        gyro = tt.ControlMomentGyro(
            f"g{k}",
            hub.port(f"g{k}"),
            each["gimbal"],
            each["axis"],
            **ROTOR,
            phase=angle_of(axes[:, 1], each["axis"]),
            gimbal_mass=GIMBAL["mass"],
            gimbal_com=axes @ GIMBAL["com"],
            gimbal_inertia=axes @ np.diag(GIMBAL["inertia"]) @ axes.T,
            offset=axes @ [OFFSET["spin"], 0.0, OFFSET["gimbal"]],
        )
        s.add_device(gyro)
        rates |= {f"g{k}/wheel": each["speed"], f"g{k}/gimbal": GIMBAL_RATES[k]}
        torques |= {f"g{k}/motor": each["torque"], f"g{k}/gimbal_motor": GIMBAL_TORQUES[k]}
    states = {"omegas": ("wheel", "v"), "thetas": ("wheel", "q"), "gammas": ("gimbal", "q"), "gammadots": ("gimbal", "v")}
    names = {state: [f"g{k}/{part}.{kind}" for k in (0, 1)] for state, (part, kind) in states.items()}
    return s.resolve(), {}, rates, {"u": torques}, names


def panels(changed: int = 0, **changes: float) -> Case:
    """Return the case with two panels on springs, of which one has other ones."""
    s, hub = craft()
    for k, each in enumerate(PANELS):
        hub.add_port(f"p{k}", each["place"], np.array(each["frame"]))
        spring = {name: each[name] for name in ("stiffness", "damping")} | (changes if k == changed else {})
        panel = tt.RigidBody(f"panel{k}", each["mass"], each["com"], each["inertia"])
        s.connect(hub.port(f"p{k}"), panel, tt.Revolute(f"p{k}", each["axis"], **spring))
    angles, rates = ({f"p{k}": each[name] for k, each in enumerate(PANELS)} for name in ("angle", "rate"))
    names = {f"{state}{k}": [f"p{k}.{kind}"] for k in (0, 1) for state, kind in (("theta", "q"), ("thetadot", "v"))}
    return s.resolve(), angles, rates, {}, names


def feedback(sample_time: float = SAMPLED, held: float = 1.0) -> Case:
    """Return the case of three wheels that are fed back attitude and rates, and make up for (a part of) the gyroscopic torque.

    The law is that of Schaub and Junkins, Analytical Mechanics of Space Systems, for modified Rodrigues parameters.
    """
    s, hub = craft(TRIAD)
    for k, each in enumerate(TRIAD):
        hub.add_port(f"w{k}", each["place"])
        s.add_device(tt.ReactionWheel(f"w{k}", hub.port(f"w{k}"), each["axis"], **BALANCED))
    axes = np.column_stack([each["axis"] for each in TRIAD])

    def law(t: float, x: np.ndarray, y: np.ndarray, r: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        turned, spin, speeds = np.split(y, 3)
        momentum = HUB["inertia"] @ spin + WHEEL["along"] * axes @ (axes.T @ spin + speeds)
        gyroscopic = held * np.cross(spin, momentum)
        return x, np.linalg.solve(axes, STIFF * Rotation.from_rotvec(turned).as_mrp() + DAMPED * spin - gyroscopic)

    measured = [f"base.r{x}.{kind}" for kind in "qv" for x in "xyz"] + [f"w{k}.v" for k in range(3)]
    controller = tt.Controller(law, [], measured, [f"w{k}/motor" for k in range(3)], sample_time)
    rates = {f"w{k}": each["speed"] for k, each in enumerate(TRIAD)}
    return s.resolve(), {}, rates, {"controller": controller}, {"omegas": ["w0.v", "w1.v", "w2.v"]}


def worst(case: str, model: tt.Model, angles: Any, rates: Any, given: Any, states: dict[str, list[str]]) -> float:
    """Return the largest difference of positions (m), attitudes, velocities, speeds and angles, over the largest of each."""
    there = {name: DATA[f"{case}.{name}"] for name in ("position", "velocity", "attitude", "spin", *states)}
    attitudes = Rotation.from_mrp(there["attitude"])
    start = {"base": [*there["position"][0], *attitudes[0].as_quat()]}
    q, v = model.configuration(start | angles), model.velocity(rates)
    v[:6] = [*attitudes[0].inv().apply(there["velocity"][0]), *there["spin"][0]]
    run = tt.simulate(model, np.linspace(0.0, DURATIONS[case], SAMPLES), q, v, rtol=1e-12, atol=1e-13, **given)
    turned = attitudes.inv() * Rotation.from_quat(run.q[:, 3:7])
    found = [run.q[:, :3], turned.magnitude(), attitudes.apply(run.v[:, :3]), run.v[:, 3:6]]
    right = [there["position"], np.zeros(SAMPLES), there["velocity"], there["spin"]]
    for state, names in states.items():
        places = [model.mechanism.assembly.place(name[:-2]) for name in names]
        kinds = zip(names, places, strict=True)
        found.append(np.column_stack([run.q[:, at[0]] if name.endswith("q") else run.v[:, at[1]] for name, at in kinds]))
        right.append(there[state])
    return max(float(np.abs(x - y).max() / max(np.abs(y).max(), 1.0)) for x, y in zip(found, right, strict=True))


def test_coupled_wheels() -> None:
    assert worst("coupled_wheels", *wheels("coupled")) < 1e-9  # both integrators' tolerances, over some hundred turns


def test_wheels_with_loads_of_steady_spin() -> None:
    assert worst("forced_wheels", *wheels("force", without=True)) < 1e-9


def test_coupled_gyros() -> None:
    assert worst("coupled_gyros", *gyros()) < 1e-9


def test_another_kind_of_jitter_is_seen() -> None:
    assert worst("coupled_wheels", *wheels("force")) > 1e-5
    assert worst("forced_wheels", *wheels("coupled", without=True)) > 1e-5


def test_panels_on_springs() -> None:
    """Ten seconds in which both swing: frames and places are askew, axis, mass centre and inertia of the second one too."""
    assert worst("panels", *panels()) < 1e-9  # both integrators' tolerances: measured 1e-12


def test_sampled_feedback_of_attitude() -> None:
    """A hundred samples, with torques held between them; a loop that is stable lets no error of the integrators grow."""
    assert worst("feedback", *feedback()) < 1e-9


@pytest.mark.parametrize("changed", [0, 1])
@pytest.mark.parametrize("name", ["stiffness", "damping"])
def test_another_spring_is_seen(changed: int, name: str) -> None:
    assert worst("panels", *panels(changed, **{name: 1.001 * PANELS[changed][name]})) > 1e-5


@pytest.mark.parametrize("changes", [{"sample_time": 0.05}, {"held": 0.99}])
def test_another_feedback_is_seen(changes: dict[str, float]) -> None:
    """Other samples, or a hundredth of the gyroscopic torque."""
    assert worst("feedback", *feedback(**changes)) > 1e-5
