"""Trajectories of Basilisk for `test_against_basilisk.py`: of unbalanced wheels and control moment gyros on a free body.

Run it where Basilisk is installed (``pip install bsk==2.12.1``)::

    python tests/blocks/devices/make_basilisk_data.py

Integrated by Runge-Kutta-Fehlberg 7(8) with steps so short that halving them changes no number by more than 1e-11.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
from Basilisk.architecture import messaging
from Basilisk.simulation import reactionWheelStateEffector, spacecraft, svIntegrators, vscmgStateEffector
from Basilisk.utilities import SimulationBaseClass, macros
from basilisk_cases import DURATION, GIMBAL, GIMBAL_RATES, GIMBAL_TORQUES, GYROS, HUB, OFFSET, SAMPLES, START, WHEEL, WHEELS

KEPT: list[Any] = []  # messages, which Basilisk does not own


def column(values: Any) -> list[list[float]]:
    return [[float(x)] for x in values]


def wheels(mode: str) -> tuple[Any, list[float]]:
    effector = reactionWheelStateEffector.ReactionWheelStateEffector()
    for each in WHEELS:
        wheel = reactionWheelStateEffector.RWConfigPayload()
        wheel.rWB_B, wheel.gsHat_B = column(each["place"]), column(each["axis"])
        wheel.w2Hat0_B, wheel.w3Hat0_B = column(each["second"]), column(np.cross(each["axis"], each["second"]))
        wheel.mass, wheel.Js, wheel.Jt, wheel.Jg = WHEEL["mass"], WHEEL["along"], WHEEL["across"], WHEEL["across"]
        wheel.U_s, wheel.U_d, wheel.Omega, wheel.theta = WHEEL["static"], WHEEL["dynamic"], each["speed"], 0.0
        wheel.d, wheel.J13 = WHEEL["static"] / WHEEL["mass"], WHEEL["dynamic"]
        wheel.u_max, wheel.Omega_max, wheel.P_max = 10.0, 1e6, -1.0
        wheel.fCoulomb = wheel.fStatic = wheel.cViscous = 0.0
        wheel.betaStatic = -1.0
        wheel.RWModel = getattr(reactionWheelStateEffector, mode)
        effector.addReactionWheel(wheel)
    payload = messaging.ArrayMotorTorqueMsgPayload()
    payload.motorTorque = [each["torque"] for each in WHEELS]
    KEPT.append(messaging.ArrayMotorTorqueMsg().write(payload))
    effector.rwMotorCmdInMsg.subscribeTo(KEPT[-1])
    return effector, [each["speed"] for each in WHEELS]


def gyros(mode: str) -> tuple[Any, list[float]]:
    effector = vscmgStateEffector.VSCMGStateEffector()
    for each, rate in zip(GYROS, GIMBAL_RATES, strict=True):
        gyro = messaging.VSCMGConfigMsgPayload()
        gyro.rGB_B, gyro.gsHat0_B, gyro.ggHat_B = column(each["place"]), column(each["axis"]), column(each["gimbal"])
        gyro.gtHat0_B = column(np.cross(each["gimbal"], each["axis"]))
        gyro.w2Hat0_B, gyro.w3Hat0_B = gyro.gtHat0_B, gyro.ggHat_B
        gyro.massW, gyro.massG = WHEEL["mass"], GIMBAL["mass"]
        gyro.massV, total = WHEEL["mass"] + GIMBAL["mass"], WHEEL["mass"] + GIMBAL["mass"]
        gyro.rhoW, gyro.rhoG = WHEEL["mass"] / total, GIMBAL["mass"] / total
        gyro.IW1, gyro.IW2, gyro.IW3, gyro.IW13 = WHEEL["along"], WHEEL["across"], WHEEL["across"], WHEEL["dynamic"]
        gyro.IG1, gyro.IG2, gyro.IG3 = GIMBAL["inertia"]
        gyro.IG12 = gyro.IG13 = gyro.IG23 = 0.0
        gyro.U_s, gyro.U_d, gyro.d = WHEEL["static"], WHEEL["dynamic"], WHEEL["static"] / WHEEL["mass"]
        gyro.l, gyro.L, gyro.rGcG_G = OFFSET["spin"], OFFSET["gimbal"], column(GIMBAL["com"])
        gyro.Omega, gyro.gamma, gyro.gammaDot, gyro.theta = each["speed"], 0.0, rate, 0.0
        gyro.u_s_max = gyro.u_s_min = gyro.u_g_max = gyro.u_g_min = gyro.Omega_max = gyro.gammaDot_max = -1.0
        gyro.u_s_f = gyro.u_g_f = 0.0
        gyro.wheelLinearFrictionRatio = gyro.gimbalLinearFrictionRatio = -1.0
        gyro.VSCMGModel = getattr(vscmgStateEffector, mode)
        effector.AddVSCMG(gyro)
    payload = messaging.VSCMGArrayTorqueMsgPayload()
    payload.wheelTorque = [each["torque"] for each in GYROS]
    payload.gimbalTorque = GIMBAL_TORQUES
    KEPT.append(messaging.VSCMGArrayTorqueMsg().write(payload))
    effector.cmdsInMsg.subscribeTo(KEPT[-1])
    return effector, [each["speed"] for each in GYROS]


def trajectory(effector: Any, prefix: str, step: float) -> dict[str, np.ndarray]:
    """Return position, velocity, modified Rodrigues parameters and angular velocity of the hub, and the effector's states."""
    craft, base = spacecraft.Spacecraft(), SimulationBaseClass.SimBaseClass()
    craft.ModelTag, effector.ModelTag = "craft", "effector"
    process = base.CreateNewProcess("process")
    process.addTask(base.CreateNewTask("task", macros.sec2nano(step)))
    craft.addStateEffector(effector)
    base.AddModelToTask("task", effector)
    base.AddModelToTask("task", craft)
    integrator = svIntegrators.svIntegratorRKF78(craft)
    integrator.setRelativeTolerance(1e-13)
    integrator.setAbsoluteTolerance(1e-14)
    craft.setIntegrator(integrator)
    craft.hub.mHub, craft.hub.r_BcB_B, craft.hub.IHubPntBc_B = HUB["mass"], column(HUB["com"]), HUB["inertia"]
    craft.hub.r_CN_NInit, craft.hub.v_CN_NInit = column(START["position"]), column(START["velocity"])
    craft.hub.sigma_BNInit, craft.hub.omega_BN_BInit = column([0, 0, 0]), column(START["spin"])
    base.InitializeSimulation()
    names = {"position": "hubPosition", "velocity": "hubVelocity", "attitude": "hubSigma", "spin": "hubOmega"}
    for name in ("Omegas", "Thetas", "Gammas", "GammaDots"):
        state = getattr(effector, f"nameOf{prefix}{name}State", None)
        if state:
            names[name.lower()] = state
    rows: dict[str, list[Any]] = {name: [] for name in names}
    for t in np.linspace(0.0, DURATION, SAMPLES):
        base.ConfigureStopTime(macros.sec2nano(t))
        base.ExecuteSimulation()
        for name, state in names.items():
            rows[name].append(np.ravel(craft.dynManager.getStateObject(state).getState()))
    return {name: np.array(values) for name, values in rows.items()}


def main(step: float = 1e-3) -> None:
    cases = {
        "coupled_wheels": (lambda: wheels("JitterFullyCoupled"), "ReactionWheel"),
        "forced_wheels": (lambda: wheels("JitterSimple"), "ReactionWheel"),
        "coupled_gyros": (lambda: gyros("vscmgJitterFullyCoupled"), "VSCMG"),
    }
    arrays = {}
    for case, (make, prefix) in cases.items():
        fine, coarse = (trajectory(make()[0], prefix, h) for h in (step / 2, step))
        print(case, {name: f"{np.abs(fine[name] - coarse[name]).max():.1e}" for name in fine}, file=sys.stderr)
        arrays |= {f"{case}.{name}": values for name, values in fine.items()}
    np.savez_compressed(Path(__file__).with_name("basilisk.npz"), **arrays)


if __name__ == "__main__":
    main()
