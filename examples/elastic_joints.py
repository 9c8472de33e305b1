"""An arm with elastic joints follows its links' motion exactly: feedforward by flatness.

Springs of harmonic drives stand between motors and links. From the motion of the links follows all else: the spring carries
the link's torque, so that the motor stands ``torque / stiffness`` ahead, and to accelerate it takes the second derivative of
inverse dynamics (De Luca and Book, Robots with Flexible Elements, Springer Handbook of Robotics)::

    tau_motor = B d2/dt2 (q + tau / K) + tau

The full elastic model is simulated with this feedforward and a PD controller on the motors: its links are where they should be,
to the integrator's tolerance. With the feedforward of the rigid arm the same controller leaves them off by a hundredth.

Run it: ``python examples/elastic_joints.py`` draws ``elastic_joints.png``.
"""

from __future__ import annotations

import argparse

import matplotlib.pyplot as plt
import numpy as np
from scipy.interpolate import BPoly

import titop as tt
from titop.blocks.basics.spatial import Array

JOINTS = ("turn", "shoulder", "elbow")
AXES = ([0, 0, 1], [0, 1, 0], [0, 1, 0])
#: Of the joints: stiffness K (N m/rad), inertia of the motor behind its gear B (kg m^2), gains on the motor.
STIFFNESS, ROTORS = np.array([4000.0, 4000.0, 2000.0]), np.array([1.0, 1.0, 0.4])
GAINS, DAMPING = 400 * ROTORS, 40 * ROTORS
START, TRAVEL, DURATION = np.array([0.0, 0.3, 0.8]), np.array([1.2, 0.6, 0.7]), 0.8


def build(elastic: bool) -> tt.System:
    """Return the arm; elastic joints are two in a row, a motor's and a spring's, with nothing but the rotor between."""
    column = tt.RigidBody("column", 3.0, com=[0, 0, 0.1], inertia=0.02, ports={"end": [0, 0, 0.2]})
    upper = tt.RigidBody("upper", 4.0, com=[0, 0, 0.2], inertia=[0.06, 0.06, 0.01], ports={"end": [0, 0, 0.4]})
    fore = tt.RigidBody("fore", 3.5, com=[0, 0, 0.25], inertia=[0.06, 0.06, 0.01], ports={"tip": [0, 0, 0.4]})
    s = tt.System("arm", gravity=[0, 0, -9.81])
    place = s.world
    for link, name, axis, stiffness, rotor in zip((column, upper, fore), JOINTS, AXES, STIFFNESS, ROTORS, strict=True):
        if elastic:
            behind = tt.RigidBody(f"{name}_rotor", 0.0)
            s.connect(place, behind, tt.Revolute(f"{name}_motor", axis=axis, armature=rotor))
            s.connect(behind, link, tt.Revolute(f"{name}_spring", axis=axis, stiffness=stiffness))
        else:
            s.connect(place, link, tt.Revolute(name, axis=axis))
        place = link.port("end") if link is not fore else link
    return s


#: Ninth-degree motions: acceleration, jerk and snap begin and end at zero.
REFERENCE = {
    name: BPoly.from_derivatives([0, DURATION], [[start, 0, 0, 0, 0], [start + travel, 0, 0, 0, 0]])
    for name, start, travel in zip(JOINTS, START, TRAVEL, strict=True)
}


def reference(rigid: tt.Model, t: float, order: int) -> tuple[Array, Array]:
    """Return the links' angles (3) and the stack of their rates at t (s), at rest after the motion."""
    return tt.trajectory_series(rigid, min(t, DURATION), REFERENCE, order)


def by_flatness(rigid: tt.Model, t: float) -> tuple[Array, Array]:
    """Return angles, rates and accelerations of the motors (3, 3), and their torques (3)."""
    q, v_series = reference(rigid, t, 2)
    torques = rigid.inverse_dynamics_series(q, v_series)  # of the links, with two derivatives
    motors = np.vstack([q, v_series[:2]]) + torques / STIFFNESS
    return motors, ROTORS * motors[2] + torques[0]


def as_if_rigid(rigid: tt.Model, t: float) -> tuple[Array, Array]:
    """Return the same of an arm that has no springs."""
    q, v_series = reference(rigid, t, 0)
    return np.vstack([q, v_series]), ROTORS * v_series[1] + rigid.inverse_dynamics(q, *v_series)


def simulate(feedforward, t: Array, **tolerances: float) -> tt.Trajectory:
    """Return the elastic arm's motion from rest, under feedforward and PD control of its motors."""
    rigid, elastic = build(False).resolve(), build(True).resolve()
    deflections = -rigid.gravity_effects(START) / STIFFNESS
    q0 = np.column_stack([START - deflections, deflections]).ravel()

    def law(instant: float, q: Array, v: Array) -> Array:
        motors, torques = feedforward(rigid, instant)
        tau = np.zeros(6)
        tau[::2] = torques + GAINS * (motors[0] - q[::2]) + DAMPING * (motors[1] - v[::2])
        return tau

    return tt.simulate(elastic, t, q0, np.zeros(6), tau=law, **tolerances)


def errors(motion: tt.Trajectory) -> Array:
    """Return how far the links are from where they should be (n, 3; rad)."""
    wanted = np.array([[REFERENCE[name](min(t, DURATION)) for name in JOINTS] for t in motion.t])
    return motion.q[:, ::2] + motion.q[:, 1::2] - wanted


def draw(runs: dict[str, tt.Trajectory], output: str) -> None:
    """Draw angles, springs, torques and errors."""
    figure, axes = plt.subplots(2, 2, figsize=(8, 5.4), sharex=True, layout="constrained")
    exact = runs["flatness"]
    for k, name in enumerate(JOINTS):
        axes[0, 0].plot(exact.t, exact.q[:, 2 * k] + exact.q[:, 2 * k + 1], label=name)
        axes[0, 1].plot(exact.t, 1e3 * exact.q[:, 2 * k + 1], label=name)
        axes[1, 0].plot(exact.t, exact.tau[:, 2 * k], label=name)
    for name, motion in runs.items():
        axes[1, 1].semilogy(motion.t[1:], np.abs(errors(motion))[1:].max(axis=1), linewidth=1, label=name)
    titles = ("links [rad]", "springs [mrad]", "motor torques [N m]", "largest error of a link [rad]")
    for panel, title in zip(axes.flat, titles, strict=True):
        panel.set_title(title, fontsize=9)
        panel.grid(alpha=0.3)
        panel.axvline(DURATION, color="gray", linewidth=0.8, linestyle=":", label="end of the motion")
    for panel in (axes[0, 0], axes[1, 1]):
        panel.legend(fontsize=8)
    for panel in axes[-1]:
        panel.set_xlabel("t [s]")
    figure.savefig(output)
    plt.close(figure)


def main(argv: list[str] | None = None) -> dict[str, tt.Trajectory]:
    """Simulate with both feedforwards, and draw."""
    parser = argparse.ArgumentParser(description="Feedforward for elastic joints by flatness.")
    parser.add_argument("--output", default="elastic_joints.png")
    parser.add_argument("--duration", type=float, default=1.2)
    arguments = parser.parse_args(argv)
    t = np.linspace(0, arguments.duration, round(200 * arguments.duration) + 1)
    laws = {"flatness": by_flatness, "as if rigid": as_if_rigid}
    runs = {name: simulate(law, t, rtol=1e-9, atol=1e-11) for name, law in laws.items()}
    for name, motion in runs.items():
        print(f"{name}: links off by up to {np.abs(errors(motion)).max():.1e} rad")
    draw(runs, arguments.output)
    return runs


if __name__ == "__main__":
    main()
