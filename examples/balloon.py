"""The balloon of paper A (section 4, Table 1): nine degrees of freedom from port blocks.

A balloon carries a flight chain; at its tip a mass slides on a spring, and from the mass hangs a double pendulum of point
masses. Buoyancy acts at the balloon's centre, fixed in the inertial frame.

The paper does not print the slider's stiffness and the three dampings, nor the length of its simulation. Chosen here:
k = 100 N/m, d_s = 2 N s/m, d_p1 = d_p2 = 0.2 N m s/rad, 20 s. The balloon's inertia is the paper's; it violates the triangle
inequality, of which titop warns.

Run it: ``python examples/balloon.py`` prints the diagram and draws ``balloon.png``.

"""

from __future__ import annotations

import argparse
import warnings

import numpy as np

import titop as tt
from titop.solvers.pictures.figures import plot_over_time

#: Total mass times gravity (N): the balloon floats.
BUOYANCY = (10 + 1 + 2 + 3) * 9.81


def build(inertia_yz: float = -7.0) -> tt.System:
    """Return the balloon of Table 1; `inertia_yz` (kg m^2) is its product of inertia."""
    inertia = [[5, 0, 0], [0, 10, inertia_yz], [0, inertia_yz, 10]]
    balloon = tt.RigidBody("balloon", mass=10.0, inertia=inertia, ports={"C": [0, -2, 0]})
    slider = tt.RigidBody("slider", mass=1.0)
    pendulum1 = tt.RigidBody("pendulum1", mass=2.0, com=[0, -1.2, 0], ports={"tip": [0, -1.2, 0]})
    pendulum2 = tt.RigidBody("pendulum2", mass=3.0, com=[0, -1.6, 0])

    s = tt.System("balloon", gravity=[0, -9.81, 0])
    s.connect("world", balloon, joint=tt.Free("base"))
    s.connect(balloon.port("C"), slider, joint=tt.Prismatic("rail", axis=[1, 0, -1], stiffness=100.0, damping=2.0))
    s.connect(slider, pendulum1, joint=tt.Revolute("joint1", axis=[0, 0, 1], damping=0.2))
    s.connect(pendulum1.port("tip"), pendulum2, joint=tt.Revolute("joint2", axis=[0, 0, 1], damping=0.2))
    s.add_load(tt.Load("buoyancy", balloon, force=[0, BUOYANCY, 0], frame="world"))
    return s


def resolve(system: tt.System) -> tt.Model:
    """Resolve without the warning of the inertia, which is the paper's own."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tt.ModelWarning)
        return system.resolve()


def initial_state(model: tt.Model) -> tuple[np.ndarray, np.ndarray]:
    """Return the paper's initial state: at rest, the pendulums nearly upright."""
    return model.configuration({"joint1": np.deg2rad(170), "joint2": np.deg2rad(-170)}), np.zeros(model.nv)


def pinocchio_solution(t: np.ndarray) -> np.ndarray | None:
    """Return the motion q (n, 10) at the times t from Pinocchio and scipy, built by hand; None without Pinocchio."""
    try:
        import pinocchio as pin
    except ImportError:
        return None
    from scipy.integrate import solve_ivp

    def shifted(y: float) -> pin.SE3:
        return pin.SE3(np.eye(3), np.array([0, y, 0]))

    peer = pin.Model()
    peer.gravity.linear = np.array([0, -9.81, 0])
    base = peer.addJoint(0, pin.JointModelFreeFlyer(), shifted(0), "base")
    rail = peer.addJoint(base, pin.JointModelPrismaticUnaligned(np.array([1, 0, -1]) / np.sqrt(2)), shifted(-2), "rail")
    joint1 = peer.addJoint(rail, pin.JointModelRZ(), shifted(0), "joint1")
    joint2 = peer.addJoint(joint1, pin.JointModelRZ(), shifted(-1.2), "joint2")
    inertia = np.array([[5.0, 0, 0], [0, 10, -7], [0, -7, 10]])
    for joint, mass, com, about in (
        (base, 10.0, 0, inertia),
        (rail, 1, 0, 0 * inertia),
        (joint1, 2, -1.2, 0 * inertia),
        (joint2, 3, -1.6, 0 * inertia),
    ):
        peer.appendBodyToJoint(joint, pin.Inertia(float(mass), np.array([0.0, com, 0]), about), shifted(0))
    data = peer.createData()

    def derivative(_: float, y: np.ndarray) -> np.ndarray:
        q, v = pin.normalize(peer, y[:10]), y[10:]
        x, y_, z, w = q[3:7]
        rotation = pin.Quaternion(w, x, y_, z).matrix()
        product = np.array([[w, -z, y_], [z, w, -x], [-y_, x, w], [-x, -y_, -z]])
        up = rotation.T @ [0, BUOYANCY, 0]
        tau = np.concatenate([up, [0, 0, 0, -100 * q[7] - 2 * v[6], -0.2 * v[7], -0.2 * v[8]]])
        return np.concatenate([rotation @ v[:3], product @ v[3:6] / 2, v[6:], pin.aba(peer, data, q, v, tau)])

    start = np.concatenate([np.zeros(6), [1, 0], np.deg2rad([170, -170]), np.zeros(9)])
    solution = solve_ivp(derivative, (t[0], t[-1]), start, "DOP853", t, rtol=1e-10, atol=1e-12)
    return np.array([pin.normalize(peer, column[:10]) for column in solution.y.T])


def degrees_of_freedom(q: np.ndarray) -> dict[str, np.ndarray]:
    """Return the paper's nine signals from configurations (n, 10): position, Euler angles XYZ, slider, pendulums."""
    from scipy.spatial.transform import Rotation

    angles = np.unwrap(Rotation.from_quat(q[:, 3:7]).as_euler("XYZ"), axis=0)
    labels = ["x [m]", "y [m]", "z [m]", "phi [rad]", "theta [rad]", "psi [rad]", "p [m]", "theta1 [rad]", "theta2 [rad]"]
    return dict(zip(labels, [*q[:, :3].T, *angles.T, *q[:, 7:].T], strict=True))


def main(argv: list[str] | None = None) -> tt.Trajectory:
    """Simulate, compare with an independent engine and draw, in the manner of the paper's figure 17."""
    parser = argparse.ArgumentParser(description="The balloon of paper A.")
    parser.add_argument("--output", default="balloon.png", help="where to draw the figure")
    arguments = parser.parse_args(argv)

    system = build()
    print(system)
    model = resolve(system)
    trajectory = tt.simulate(model, np.linspace(0, 20, 401), *initial_state(model), rtol=1e-10, atol=1e-12)
    signals, peer = degrees_of_freedom(trajectory.q), pinocchio_solution(trajectory.t)
    errors = None if peer is None else {label: x - signals[label] for label, x in degrees_of_freedom(peer).items()}
    plot_over_time(trajectory.t, signals, errors).savefig(arguments.output)
    print("after 20 s: " + ", ".join(f"{label} {values[-1]:+.6f}" for label, values in signals.items()))
    if errors is None:
        print("install Pinocchio (pip install pin) to see the difference to an independent engine")
    else:
        print(
            "the motion differs from Pinocchio's (red in the figure) by at most "
            f"{max(np.abs(error).max() for error in errors.values()):.1e}"
        )
    print(f"figure in {arguments.output}")
    return trajectory


if __name__ == "__main__":
    main()
