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


def pinocchio_difference(trajectory: tt.Trajectory, model: tt.Model) -> np.ndarray | None:
    """Return how far titop's accelerations are from Pinocchio's along the trajectory (n, 9), or None without Pinocchio."""
    try:
        import pinocchio as pin
    except ImportError:
        return None
    peer = pin.Model()
    peer.gravity.linear = np.array([0, -9.81, 0])
    at = pin.SE3.Identity()
    base = peer.addJoint(0, pin.JointModelFreeFlyer(), at, "base")
    inertia = np.array([[5.0, 0, 0], [0, 10, -7], [0, -7, 10]])
    peer.appendBodyToJoint(base, pin.Inertia(10.0, np.zeros(3), inertia), at)
    down = pin.SE3(np.eye(3), np.array([0, -2.0, 0]))
    rail = peer.addJoint(base, pin.JointModelPrismaticUnaligned(np.array([1, 0, -1]) / np.sqrt(2)), down, "rail")
    peer.appendBodyToJoint(rail, pin.Inertia(1.0, np.zeros(3), np.zeros((3, 3))), at)
    joint1 = peer.addJoint(rail, pin.JointModelRZ(), at, "joint1")
    peer.appendBodyToJoint(joint1, pin.Inertia(2.0, np.array([0, -1.2, 0]), np.zeros((3, 3))), at)
    joint2 = peer.addJoint(joint1, pin.JointModelRZ(), pin.SE3(np.eye(3), np.array([0, -1.2, 0])), "joint2")
    peer.appendBodyToJoint(joint2, pin.Inertia(3.0, np.array([0, -1.6, 0]), np.zeros((3, 3))), at)
    data = peer.createData()
    rows = []
    for q, v, a in zip(trajectory.q, trajectory.v, trajectory.a, strict=True):
        up = np.concatenate([model.pose("balloon", q)[0].T @ [0, BUOYANCY, 0], np.zeros(3)])
        tau = np.concatenate([up, [-100 * q[7] - 2 * v[6], -0.2 * v[7], -0.2 * v[8]]])
        rows.append(a - pin.aba(peer, data, q, v, tau))
    return np.array(rows)


def draw(trajectory: tt.Trajectory, difference: np.ndarray | None, path: str) -> None:
    """Draw the nine degrees of freedom in the manner of the paper's figure 17, differences in red."""
    from titop.solvers.plotting import plot_over_time

    pose = trajectory.motion("balloon")[:, 12:]
    labels = ["x [m]", "y [m]", "z [m]", "phi [rad]", "theta [rad]", "psi [rad]", "p [m]", "theta1 [rad]", "theta2 [rad]"]
    values = [*trajectory.q[:, :3].T, *pose[:, 3:].T, *(trajectory.coordinate(name) for name in ("rail", "joint1", "joint2"))]
    errors = None if difference is None else dict(zip(labels, difference.T, strict=True))
    plot_over_time(trajectory.t, dict(zip(labels, values, strict=True)), errors).savefig(path, dpi=120)


def main(argv: list[str] | None = None) -> tt.Trajectory:
    """Simulate, compare and draw."""
    parser = argparse.ArgumentParser(description="The balloon of paper A.")
    parser.add_argument("--output", default="balloon.png", help="where to draw the figure")
    arguments = parser.parse_args(argv)

    system = build()
    print(system)
    model = resolve(system)
    trajectory = tt.simulate(model, np.linspace(0, 20, 401), *initial_state(model), rtol=1e-10, atol=1e-12)
    difference = pinocchio_difference(trajectory, model)
    draw(trajectory, difference, arguments.output)
    print(f"after 20 s: rail {trajectory.q[-1, 7]:+.6f} m, joint1 {trajectory.q[-1, 8]:+.6f} rad, joint2 {trajectory.q[-1, 9]:+.6f} rad")
    if difference is None:
        print("install Pinocchio (pip install pin) to see the difference to an independent engine")
    else:
        print(f"accelerations differ from Pinocchio's by at most {np.abs(difference).max():.1e} along the motion")
    print(f"figure in {arguments.output}")
    return trajectory


if __name__ == "__main__":
    main()
