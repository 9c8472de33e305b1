"""Trajectories of Basilisk for `test_against_basilisk.py`: of wheels, control moment gyros and panels on a free body.

Run it where Basilisk is installed (``pip install bsk==2.12.1``)::

    python tests/blocks/devices/make_basilisk_data.py

Integrated by Runge-Kutta-Fehlberg 7(8) with steps so short that halving them changes no number by more than 1e-11.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from Basilisk.architecture import messaging
from Basilisk.fswAlgorithms import attTrackingError, mrpFeedback, rwMotorTorque
from Basilisk.simulation import (
    hingedRigidBodyStateEffector,
    reactionWheelStateEffector,
    simpleNav,
    spacecraft,
    spinningBodyOneDOFStateEffector,
    svIntegrators,
    vscmgStateEffector,
)
from Basilisk.utilities import SimulationBaseClass, macros
from basilisk_cases import (
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
    START,
    STIFF,
    TRIAD,
    TURNED,
    WHEEL,
    WHEELS,
)

KEPT: list[Any] = []  # messages, which Basilisk does not own


def column(values: Any) -> list[list[float]]:
    return [[float(x)] for x in values]


def wheels(mode: str, of: list[dict[str, Any]] = WHEELS) -> Any:
    effector = reactionWheelStateEffector.ReactionWheelStateEffector()
    for each in of:
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
    payload.motorTorque = [each.get("torque", 0.0) for each in of]
    KEPT.append(messaging.ArrayMotorTorqueMsg().write(payload))
    effector.rwMotorCmdInMsg.subscribeTo(KEPT[-1])
    return effector


def gyros(mode: str) -> Any:
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
    return effector


def panels() -> list[Any]:
    first = hingedRigidBodyStateEffector.HingedRigidBodyStateEffector()
    second = spinningBodyOneDOFStateEffector.SpinningBodyOneDOFStateEffector()
    for effector, each in zip((first, second), PANELS, strict=True):
        effector.mass, effector.k, effector.c = each["mass"], each["stiffness"], each["damping"]
        effector.thetaInit, effector.thetaDotInit = each["angle"], each["rate"]
    hinged, spinning = PANELS
    first.d, first.IPntS_S = -hinged["com"][0], hinged["inertia"]
    first.r_HB_B, first.dcm_HB = column(hinged["place"]), np.transpose(hinged["frame"]).tolist()
    second.sHat_S, second.r_ScS_S, second.IPntSc_S = column(spinning["axis"]), column(spinning["com"]), spinning["inertia"]
    second.r_SB_B, second.dcm_S0B = column(spinning["place"]), np.transpose(spinning["frame"]).tolist()
    return [first, second]


def feedback(base: Any, craft: Any, effector: Any) -> None:
    """Add the sampled feedback, after the motion up to a sample: the wheels tell their speeds before and read torques after."""
    navigation, error = simpleNav.SimpleNav(), attTrackingError.attTrackingError()
    law, allocation = mrpFeedback.mrpFeedback(), rwMotorTorque.rwMotorTorque()
    navigation.scStateInMsg.subscribeTo(craft.scStateOutMsg)
    rest = messaging.AttRefMsg().write(messaging.AttRefMsgPayload())
    error.attNavInMsg.subscribeTo(navigation.attOutMsg)
    error.attRefInMsg.subscribeTo(rest)
    body, array = messaging.VehicleConfigMsgPayload(), messaging.RWArrayConfigMsgPayload()
    body.ISCPntB_B = np.ravel(HUB["inertia"]).tolist()
    array.GsMatrix_B, array.numRW = np.ravel([each["axis"] for each in TRIAD]).tolist(), len(TRIAD)
    array.JsList, array.uMax = [WHEEL["along"]] * len(TRIAD), [10.0] * len(TRIAD)
    body, array = messaging.VehicleConfigMsg().write(body), messaging.RWArrayConfigMsg().write(array)
    law.K, law.P, law.Ki, law.integralLimit, law.controlLawType = STIFF, DAMPED, -1.0, 0.0, 1
    law.guidInMsg.subscribeTo(error.attGuidOutMsg)
    law.vehConfigInMsg.subscribeTo(body)
    law.rwParamsInMsg.subscribeTo(array)
    law.rwSpeedsInMsg.subscribeTo(effector.rwSpeedOutMsg)
    allocation.controlAxes_B = np.eye(3).ravel().tolist()
    allocation.vehControlInMsg.subscribeTo(law.cmdTorqueOutMsg)
    allocation.rwParamsInMsg.subscribeTo(array)
    effector.rwMotorCmdInMsg.subscribeTo(allocation.rwMotorTorqueOutMsg)
    for module in (effector, navigation, error, law, allocation, effector):
        base.AddModelToTask("samples", module)
    KEPT.extend((navigation, rest, error, body, array, law, allocation))


def trajectory(case: str, step: float) -> dict[str, np.ndarray]:
    """Return position, velocity, modified Rodrigues parameters and angular velocity of the hub, and the effectors' states."""
    make, prefix, states = CASES[case]
    effectors = make()
    craft, base = spacecraft.Spacecraft(), SimulationBaseClass.SimBaseClass()
    process = base.CreateNewProcess("process")
    process.addTask(base.CreateNewTask("task", macros.sec2nano(step)), 2)
    process.addTask(base.CreateNewTask("samples", macros.sec2nano(SAMPLED)), 1)
    craft.ModelTag = "craft"
    for k, effector in enumerate(effectors):
        effector.ModelTag = f"effector{k}"
        craft.addStateEffector(effector)
        if case != "feedback":
            base.AddModelToTask("task", effector)
    base.AddModelToTask("task", craft)
    integrator = svIntegrators.svIntegratorRKF78(craft)
    integrator.setRelativeTolerance(1e-13)
    integrator.setAbsoluteTolerance(1e-14)
    craft.setIntegrator(integrator)
    craft.hub.mHub, craft.hub.r_BcB_B, craft.hub.IHubPntBc_B = HUB["mass"], column(HUB["com"]), HUB["inertia"]
    craft.hub.r_CN_NInit, craft.hub.v_CN_NInit = column(START["position"]), column(START["velocity"])
    craft.hub.sigma_BNInit, craft.hub.omega_BN_BInit = column([0, 0, 0]), column(START["spin"])
    if case == "feedback":
        craft.hub.sigma_BNInit = column(TURNED)
        feedback(base, craft, *effectors)
    base.InitializeSimulation()
    names = {"position": "hubPosition", "velocity": "hubVelocity", "attitude": "hubSigma", "spin": "hubOmega"}
    for k, effector in enumerate(effectors):
        numbered = str(k) if len(effectors) > 1 else ""
        names |= {f"{name}{numbered}".lower(): getattr(effector, f"nameOf{prefix}{name}State") for name in states}
    rows: dict[str, list[Any]] = {name: [] for name in names}
    for t in np.linspace(0.0, DURATIONS[case], SAMPLES):
        base.ConfigureStopTime(macros.sec2nano(t))
        base.ExecuteSimulation()
        for name, state in names.items():
            rows[name].append(np.ravel(craft.dynManager.getStateObject(state).getState()))
    return {name: np.array(values) for name, values in rows.items()}


#: Effectors, the prefix of the names of their states, and the states that are kept.
CASES: dict[str, tuple[Callable[[], list[Any]], str, tuple[str, ...]]] = {
    "coupled_wheels": (lambda: [wheels("JitterFullyCoupled")], "ReactionWheel", ("Omegas", "Thetas")),
    "forced_wheels": (lambda: [wheels("JitterSimple")], "ReactionWheel", ("Omegas", "Thetas")),
    "coupled_gyros": (lambda: [gyros("vscmgJitterFullyCoupled")], "VSCMG", ("Omegas", "Thetas", "Gammas", "GammaDots")),
    "panels": (panels, "", ("Theta", "ThetaDot")),
    "feedback": (lambda: [wheels("BalancedWheels", TRIAD)], "ReactionWheel", ("Omegas",)),
}


def main(step: float = 1e-3) -> None:
    arrays = {}
    for case in CASES:
        fine, coarse = (trajectory(case, h) for h in (step / 2, step))
        print(case, {name: f"{np.abs(fine[name] - coarse[name]).max():.1e}" for name in fine}, file=sys.stderr)
        arrays |= {f"{case}.{name}": values for name, values in fine.items()}
    np.savez_compressed(Path(__file__).with_name("basilisk.npz"), **arrays)


if __name__ == "__main__":
    main()
