"""The smooth dynamics of systems from MJCF against MuJoCo's own, at the same states."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import mujoco
import numpy as np
from numpy.typing import NDArray

import titop as tt

Array = NDArray[np.float64]


def compiled(path_or_text: str | Path) -> Any:
    """Return MuJoCo's model without meshes and textures, and without anything that is not smooth."""
    is_text = isinstance(path_or_text, str)
    spec = mujoco.MjSpec.from_string(path_or_text) if is_text else mujoco.MjSpec.from_file(str(path_or_text))
    for part in [*(geom for geom in spec.geoms if geom.meshname), *spec.meshes, *spec.textures]:
        spec.delete(part)
    for material in spec.materials:
        material.textures = [""] * len(material.textures)
    model = spec.compile()
    flags = mujoco.mjtDisableBit
    model.opt.disableflags |= flags.mjDSBL_CONTACT | flags.mjDSBL_LIMIT | flags.mjDSBL_FRICTIONLOSS | flags.mjDSBL_CLAMPCTRL
    model.opt.density = model.opt.viscosity = 0.0
    model.actuator_forcelimited[:] = model.jnt_actfrclimited[:] = model.tendon_actfrclimited[:] = 0
    return model


def smooth(s: tt.System, engine: str = "compiled") -> tt.Model:
    """Return the model of a system without dry friction."""
    for connection in s.connections:
        if connection.joint.nv:
            connection.joint.friction = None
    return s.resolve(engine=engine)


def jacobian(s: tt.System, qpos: Array) -> Array:
    """Return the matrix (nv x nv) that makes ``qvel`` of v: of free joints the attitude, the identity for all others."""
    turn, iq, iv = np.eye(sum(c.joint.nv for c in s.connections)), 0, 0
    for joint in (connection.joint for connection in s.connections):
        if isinstance(joint, tt.Free):
            rotation = np.zeros(9)
            mujoco.mju_quat2Mat(rotation, qpos[iq + 3 : iq + 7])
            turn[iv : iv + 3, iv : iv + 3] = rotation.reshape(3, 3)
        iq, iv = iq + joint.nq, iv + joint.nv
    return turn


def drift(s: tt.System, v: Array, turn: Array) -> Array:
    """Return the part of ``qacc`` that does not come from a: ``dR/dt v`` of free joints."""
    rate, iv = np.zeros(len(v)), 0
    for joint in (connection.joint for connection in s.connections):
        if isinstance(joint, tt.Free):
            rate[iv : iv + 3] = np.cross(v[iv + 3 : iv + 6], v[iv : iv + 3])
        iv += joint.nv
    return turn @ rate


def mass_matrix(model: Any, data: Any) -> Array:
    """Return MuJoCo's dense mass matrix."""
    matrix = np.zeros((model.nv, model.nv))
    mujoco.mj_fullM(model, data, matrix)
    return matrix


def at_state(model: Any, s: tt.System, q: Array, v: Array, u: dict[str, float] | None = None) -> Any:
    """Return MuJoCo's data at a state of titop's and commands by the names of actuators."""
    data = mujoco.MjData(model)
    data.qpos[:], data.qvel[:] = tt.to_mujoco(s, q, v)
    for name, value in (u or {}).items():
        data.actuator(name).ctrl[:] = value
    mujoco.mj_forward(model, data)
    return data


def worst_residual(s: tt.System, model: Any, states: int = 5, engine: str = "compiled", seed: int = 1) -> float:
    """Return the largest difference of ``M a + h - passive - B u`` from MuJoCo's, relative to the largest term.

    All actuators of the file have to be inputs; a rope called t is one more, which is not pulled.
    """
    m, rng, worst = smooth(s, engine), np.random.default_rng(seed), 0.0
    names = [mujoco.mj_id2name(model, mujoco.mjtObj.mjOBJ_ACTUATOR, k) for k in range(model.nu)]
    inputs = {name.partition(".")[0].removesuffix("_actuator"): k for k, name in enumerate(m.input_names)}
    assert set(inputs) - {"t"} == {(name or "").replace(".", "_").removesuffix("_actuator") for name in names}
    for _ in range(states):
        q, v, a = m.random_configuration(rng), rng.normal(size=m.nv), rng.normal(size=m.nv)
        u = rng.uniform(0.0, 1.0, m.nu) * ["t" not in name.split(".") for name in m.input_names]
        data = at_state(model, s, q, v, {name: u[inputs[name.removesuffix("_actuator")]] for name in names})
        turn = jacobian(s, data.qpos)
        inertial = mass_matrix(model, data) @ (turn @ a + drift(s, v, turn))
        terms = [inertial, data.qfrc_bias, -data.qfrc_passive, -data.qfrc_actuator]
        if m.is_constrained:
            own = m.mass_matrix(q) @ a + m.nonlinear_effects(q, v) - m.passive_efforts(q, v) - m.actuation_matrix(q) @ u
        else:
            own = m.inverse_dynamics(q, v, a, u=u)
        scale = max(float(np.abs(term).max()) for term in terms)
        worst = max(worst, float(np.abs(turn.T @ sum(terms) - own).max()) / scale)
    return worst


def loop_accelerations(s: tt.System, model: Any, guess: Array) -> tuple[Array, Array]:
    """Return titop's accelerations near a configuration, at a random velocity, and those by the constraints of MuJoCo.

    These solve ``[M J'; J 0] [a; -f] = [tau; -dJ/dt v]`` with MuJoCo's mass matrix, forces and Jacobian of constraints, whose
    rate is a central difference.
    """
    m = smooth(s)
    q = m.assemble(guess)
    v = m.assemble_velocity(q, np.random.default_rng(2).normal(size=m.nv))

    def constraints(step: float) -> tuple[Any, Array, Array]:
        data = at_state(model, s, m.integrate(q, step * v), v)
        turn = jacobian(s, data.qpos)
        return data, turn, data.efc_J.reshape(-1, m.nv) @ turn

    data, turn, J = constraints(0.0)
    step = 1e-6
    rate = (constraints(step)[2] - constraints(-step)[2]) @ v / (2 * step)
    assert np.abs(J @ v).max() < 1e-9 * np.abs(v).max()
    M = turn.T @ mass_matrix(model, data) @ turn
    forces = data.qfrc_passive + data.qfrc_actuator - data.qfrc_bias - mass_matrix(model, data) @ drift(s, v, turn)
    square = np.block([[M, J.T], [J, np.zeros((len(J), len(J)))]])
    solved = np.linalg.lstsq(square, np.concatenate([turn.T @ forces, -rate]), rcond=1e-12)[0]
    return m.forward_dynamics(q, v), solved[: m.nv]
