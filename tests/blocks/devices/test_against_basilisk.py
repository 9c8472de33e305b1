"""Unbalanced wheels and control moment gyros against Basilisk, whose equations were derived otherwise (back-substitution).

`make_basilisk_data.py` makes the data. Basilisk assumes that a coupled wheel's transverse moments are equal, and so do these.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

import titop as tt
from tests.blocks.devices.basilisk_cases import (
    DURATION,
    GIMBAL,
    GIMBAL_RATES,
    GIMBAL_TORQUES,
    GYROS,
    HUB,
    OFFSET,
    SAMPLES,
    WHEEL,
    WHEELS,
)

DATA = np.load(Path(__file__).with_name("basilisk.npz"))
ROTOR: dict[str, Any] = {
    "inertia": WHEEL["along"],
    "mass": WHEEL["mass"],
    "transverse_inertia": WHEEL["across"],
    "static_imbalance": WHEEL["static"],
    "dynamic_imbalance": WHEEL["dynamic"],
}


def about_origin(mass: float, com: Any, inertia: Any) -> np.ndarray:
    """Return the inertia (kg m^2) of a body about the frame's origin."""
    return np.asarray(inertia) + mass * (np.dot(com, com) * np.eye(3) - np.outer(com, com))


def craft(without: bool = False) -> tuple[tt.System, tt.RigidBody]:
    """Return the system and its hub, `without` the wheels if the given hub includes them, as balanced ones in Basilisk."""
    mass, moment, inertia = HUB["mass"], HUB["mass"] * np.array(HUB["com"]), about_origin(**HUB)
    for each in WHEELS if without else []:
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


def wheels(jitter: str, without: bool = False) -> tuple[tt.Model, dict[str, float], dict[str, float], list[str]]:
    """Return the model, rates at the start, inputs, and names of wheels."""
    s, hub = craft(without)
    rates, torques = {}, {}
    for k, each in enumerate(WHEELS):
        hub.add_port(f"w{k}", each["place"])
        phase = angle_of(each["second"], each["axis"])
        s.add_device(tt.ReactionWheel(f"w{k}", hub.port(f"w{k}"), each["axis"], **ROTOR, phase=phase, jitter=jitter))
        rates[f"w{k}"], torques[f"w{k}/motor"] = each["speed"], each["torque"]
    return s.resolve(), rates, torques, ["w0", "w1"]


def gyros() -> tuple[tt.Model, dict[str, float], dict[str, float], list[str]]:
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
    return s.resolve(), rates, torques, ["g0/wheel", "g1/wheel", "g0/gimbal", "g1/gimbal"]


def worst(case: str, model: tt.Model, rates: dict[str, float], torques: dict[str, float], names: list[str]) -> float:
    """Return the largest difference of positions (m), attitudes, velocities, speeds and angles, over the largest of each."""
    there = {name: DATA[f"{case}.{name}"] for name in ("position", "velocity", "attitude", "spin", "omegas", "thetas")}
    attitudes = Rotation.from_mrp(there["attitude"])
    q, v = model.configuration({"base": [*there["position"][0], *attitudes[0].as_quat()]}), model.velocity(rates)
    places = {name: (model.mechanism.assembly.place(name)) for name in names}
    v[:6] = [*attitudes[0].inv().apply(there["velocity"][0]), *there["spin"][0]]
    run = tt.simulate(model, np.linspace(0.0, DURATION, SAMPLES), q, v, u=torques, rtol=1e-12, atol=1e-13)
    turned = attitudes.inv() * Rotation.from_quat(run.q[:, 3:7])
    angles, speeds = (np.column_stack([of[:, places[name][k]] for name in names]) for k, of in enumerate((run.q, run.v)))
    found = [run.q[:, :3], turned.magnitude(), attitudes.apply(run.v[:, :3]), run.v[:, 3:6], speeds[:, :2], angles[:, :2]]
    right = [there["position"], np.zeros(SAMPLES), there["velocity"], there["spin"], there["omegas"], there["thetas"]]
    if f"{case}.gammas" in DATA:
        found += [angles[:, 2:], speeds[:, 2:]]
        right += [DATA[f"{case}.gammas"], DATA[f"{case}.gammadots"]]
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
