"""A double pendulum balanced on a cart: trim, linear model, LQR, and the controller on the nonlinear system.

The cart is pushed along its rail; both joints of the pendulum are free. The linear model about the upper equilibrium gives the
gain (``control.lqr``), which is then tried on the nonlinear system from larger and larger tilts.

Run it: ``python examples/cart_double_pendulum.py`` draws ``cart_double_pendulum.png``.
"""

from __future__ import annotations

import argparse

import numpy as np

import titop as tt

#: Weights of cart position, angles, and their rates; of the force.
STATE_WEIGHTS = np.diag([4.0, 20.0, 20.0, 0.5, 1.0, 1.0])
FORCE_WEIGHT = np.array([[0.05]])


def build() -> tt.System:
    """Return cart and pendulum, upright at zero."""
    cart = tt.RigidBody("cart", mass=2.0)
    lower = tt.RigidBody("lower", mass=0.5, com=[0, 0, 0.25], inertia=[0.011, 0.011, 0.0], ports={"tip": [0, 0, 0.5]})
    upper = tt.RigidBody("upper", mass=0.3, com=[0, 0, 0.3], inertia=[0.009, 0.009, 0.0], ports={"tip": [0, 0, 0.6]})
    s = tt.System("cart with double pendulum", gravity=[0, 0, -9.81])
    s.connect("world", cart, joint=tt.Prismatic("rail", axis=[1, 0, 0], damping=0.5))
    s.connect(cart, lower, joint=tt.Revolute("elbow1", axis=[0, 1, 0], damping=0.002))
    s.connect(lower.port("tip"), upper, joint=tt.Revolute("elbow2", axis=[0, 1, 0], damping=0.002))
    s.add_actuator(tt.Motor("drive", "rail", effort_limit=60.0))
    return s


def design(model: tt.Model) -> tuple[tt.OperatingPoint, np.ndarray, np.ndarray]:
    """Return the upper equilibrium, the LQR gain (1, 6), and the closed loop's poles."""
    import control

    upright = tt.trim(model, ["elbow1", "elbow2"])
    system = tt.linearize(model, upright, inputs=["drive"], outputs=["rail.q", "upper.tip.r"])
    gain, _, poles = control.lqr(system, STATE_WEIGHTS, FORCE_WEIGHT)
    return upright, np.asarray(gain), poles


def balance(model: tt.Model, point: tt.OperatingPoint, gain: np.ndarray, tilt: float, t: np.ndarray) -> tt.Trajectory:
    """Return the motion from a tilt (rad) of the lower arm under ``u = -K deviation``, within the drive's limit."""

    def feedback(_: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        return np.clip(-gain @ point.deviation(q, v), model.mechanism.inputs.lower, model.mechanism.inputs.upper)

    return tt.simulate(model, t, model.configuration({"elbow1": tilt}), np.zeros(model.nv), u=feedback)


def predicted(model: tt.Model, point: tt.OperatingPoint, gain: np.ndarray, tilt: float, t: np.ndarray) -> np.ndarray:
    """Return what the linear model says of the same motion: deviations (n, 6)."""
    from scipy.linalg import expm

    system = tt.linearize(model, point, inputs=["drive"])
    start = point.deviation(model.configuration({"elbow1": tilt}), np.zeros(model.nv))
    step = expm((system.A - system.B @ gain) * (t[1] - t[0]))
    rows = [start]
    for _ in t[1:]:
        rows.append(step @ rows[-1])
    return np.array(rows)


def draw(runs: dict[float, tt.Trajectory], linear: dict[float, np.ndarray]) -> object:
    """Return cart position, angles and force over time for each tilt; what the linear model predicts dashed."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8, 6), layout="constrained")
    axes = figure.subplots(2, 2, sharex=True)
    titles = ("cart [m]", "lower arm [deg]", "upper arm to lower arm [deg]", "force [N]")
    for (tilt, run), colour in zip(runs.items(), ("tab:blue", "tab:orange", "tab:red"), strict=False):
        label = f"{np.rad2deg(tilt):.0f} deg"
        for axis, k, scale in ((axes[0, 0], 0, 1.0), (axes[0, 1], 1, 180 / np.pi), (axes[1, 0], 2, 180 / np.pi)):
            axis.plot(run.t, scale * run.q[:, k], color=colour, label=label, linewidth=1.4)
            axis.plot(run.t, scale * linear[tilt][:, k], color=colour, linestyle="--", linewidth=0.9)
        axes[1, 1].plot(run.t, run.u[:, 0], color=colour, label=label, linewidth=1.4)
    for axis, title in zip(axes.flat, titles, strict=True):
        axis.set_title(title, fontsize=10)
        axis.grid(alpha=0.3)
    for axis in axes[1]:
        axis.set_xlabel("t [s]")
    axes[0, 0].legend(title="first tilt (dashed: linear)", fontsize=8)
    return figure


def main(argv: list[str] | None = None) -> dict[float, tt.Trajectory]:
    """Design, simulate and draw."""
    parser = argparse.ArgumentParser(description="A double pendulum balanced on a cart.")
    parser.add_argument("--output", default="cart_double_pendulum.png")
    arguments = parser.parse_args(argv)
    model = build().resolve()
    point, gain, poles = design(model)
    print(f"upper equilibrium: {point.stability}, fastest open-loop pole {point.eigenvalues[0].real:.2f} rad/s")
    print("gain:", np.array2string(gain[0], precision=1))
    print("closed-loop poles [rad/s]:", np.array2string(np.sort_complex(poles), precision=2))
    t = np.linspace(0, 5, 251)
    tilts = np.deg2rad([2.0, 8.0, 12.0])
    runs = {float(tilt): balance(model, point, gain, tilt, t) for tilt in tilts}
    linear = {float(tilt): predicted(model, point, gain, tilt, t) for tilt in tilts}
    for tilt, run in runs.items():
        error = np.abs(run.q - linear[tilt][:, :3]).max()
        print(
            f"tilt {np.rad2deg(tilt):4.1f} deg: largest force {np.abs(run.u).max():5.1f} N, largest angle "
            f"{np.rad2deg(np.abs(run.q[:, 1:]).max()):5.1f} deg, {error:.1e} from the linear model"
        )
    draw(runs, linear).savefig(arguments.output)  # type: ignore[attr-defined]
    print(f"figure in {arguments.output}")
    return runs


if __name__ == "__main__":
    main()
