"""A bicycle whose wheels roll without slip: when it stays upright by itself.

The benchmark of Meijaard, Papadopoulos, Ruina and Schwab (Linearized dynamics equations for the balance and steer of a bicycle,
Proceedings of the Royal Society A 463, 2007): frame with rigid rider, fork, and two wheels with thin tyres. Each tyre is a
`tt.RollingDisc`: its height is a constraint of positions, and that it does not slip one of velocities. Of nine coordinates
seven are independent, but only three rates. Linear models leave out where the bicycle is and where it heads to, on which
nothing depends; over the speed they are an LPV family. Axes are those of the paper: x forwards, y to the right, z down.

Run it: ``python examples/bicycle.py`` draws ``bicycle.png``, the eigenvalues over the speed.
"""

from __future__ import annotations

import argparse

import numpy as np
from matplotlib.figure import Figure

import titop as tt

#: Wheel base and trail (m), tilt of the steering axis (rad), radii of the wheels (m).
WHEEL_BASE, TRAIL, TILT, REAR, FRONT = 1.02, 0.08, np.pi / 10, 0.3, 0.35
#: What no rate depends on: where the bicycle is, where it heads to, how far the wheels have turned, and its speed.
CYCLIC = ["base.x.q", "base.y.q", "base.rz.q", "rear_hub", "front_hub.q"]


def build() -> tt.System:
    """Return the benchmark bicycle."""
    s = tt.System("bicycle", gravity=[0, 0, 9.81])
    head = np.array([WHEEL_BASE + TRAIL - REAR * np.tan(TILT), 0, -REAR])  # on the steering axis, as high as the rear hub
    frame_inertia = [[9.2, 0, 2.4], [0, 11, 0], [2.4, 0, 2.8]]
    fork_inertia = [[0.05892, 0, -0.00756], [0, 0.06, 0], [-0.00756, 0, 0.00708]]
    frame = tt.RigidBody("frame", mass=85.0, com=[0.3, 0, -0.9 + REAR], inertia=frame_inertia, ports={"head": [head[0], 0, 0]})
    axle = [WHEEL_BASE, 0, -FRONT] - head
    fork = tt.RigidBody("fork", mass=4.0, com=[0.9, 0, -0.7] - head, inertia=fork_inertia, ports={"axle": axle})
    rear = tt.RigidBody("rear", mass=2.0, inertia=[0.0603, 0.12, 0.0603])
    front = tt.RigidBody("front", mass=3.0, inertia=[0.1405, 0.28, 0.1405])
    s.connect("world", frame, tt.Free("base"))
    s.connect(frame, rear, tt.Revolute("rear_hub", axis=[0, 1, 0]))
    s.connect(frame.port("head"), fork, tt.Revolute("steer", axis=[np.sin(TILT), 0, np.cos(TILT)]))
    s.connect(fork.port("axle"), front, tt.Revolute("front_hub", axis=[0, 1, 0]))
    s.close_loop("world", rear, tt.RollingDisc("rear_tyre", radius=REAR, normal=[0, 0, -1]))
    s.close_loop("world", front, tt.RollingDisc("front_tyre", radius=FRONT, normal=[0, 0, -1]))
    return s


def upright(model: tt.Model, speed: float, lean_rate: float = 0.0) -> tuple[np.ndarray, np.ndarray]:
    """Return the state upright and straight ahead, at a speed (m/s), falling over at a rate (rad/s)."""
    q = model.assemble(model.configuration({"base": [0, 0, -REAR, 0, 0, 0, 1]}), fixed=["base"])
    v = model.velocity({"base": [speed, 0, 0, lean_rate, 0, 0]})
    return q, model.assemble_velocity(q, v, fixed=["base.x", "base.rx"])


def poles(model: tt.Model, speed: float) -> np.ndarray:
    """Return the four eigenvalues of lean and steer (1/s), sorted."""
    return np.sort_complex(np.linalg.eigvals(tt.linearize(model, upright(model, speed), omit=CYCLIC).A))


def changes(model: tt.Model, low: float, high: float) -> float:
    """Return the speed between two others at which the bicycle becomes stable, or unstable."""
    stable = poles(model, low).real.max() < 0.0
    for _ in range(42):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if (poles(model, middle).real.max() < 0.0) == stable else (low, middle)
    return 0.5 * (low + high)


def main(argv: list[str] | None = None) -> tuple[float, float]:
    """Draw the eigenvalues over the speed, and tell from when to when the bicycle is stable."""
    parser = argparse.ArgumentParser(description="The eigenvalues of a bicycle over its speed.")
    parser.add_argument("--output", default="bicycle.png")
    arguments = parser.parse_args(argv)
    model = build().resolve()
    weave, capsize = changes(model, 4.0, 5.0), changes(model, 5.0, 7.0)
    print(f"stable from {weave:.12f} m/s (weave) to {capsize:.12f} m/s (capsize)")
    q, v = upright(model, 5.0, lean_rate=0.2)
    run = tt.simulate(model, np.linspace(0, 5, 251), q, v)
    energy = run.energy().sum(axis=1)
    print(f"pushed at 5 m/s it steers itself upright: lean rate {run.v[-1, 3]:.1e} rad/s after 5 s, {run.v[-1, 0]:.4f} m/s")
    print(f"energy constant within {np.abs(energy - energy[0]).max():.1e} J of {energy[0]:.0f} J")

    speeds = np.linspace(0.0, 10.0, 101)
    q, v = upright(model, speeds[0])  # how fast the bicycle and its other wheel go follows from the first wheel
    family = tt.lpv(model, {"rear_hub.v": -speeds / REAR}, q=q, v=v, omit=CYCLIC)
    found = np.linalg.eigvals(family.A)
    figure = Figure(figsize=(8, 5), layout="constrained")
    axes = figure.subplots()
    axes.axvspan(weave, capsize, color="tab:green", alpha=0.15, label="stable by itself")
    axes.axhline(0.0, color="black", linewidth=0.6)
    axes.plot(speeds, found.real, ".", markersize=3, color="tab:blue")
    axes.plot(speeds, np.where(found.imag > 0, found.imag, np.nan), ".", markersize=2, color="tab:orange")
    axes.plot([], [], ".", color="tab:blue", label="real parts")
    axes.plot([], [], ".", color="tab:orange", label="imaginary parts")
    axes.set(xlabel="speed [m/s]", ylabel="eigenvalues [1/s]", ylim=(-10, 10), xlim=(0, 10))
    axes.legend(loc="lower right")
    figure.savefig(arguments.output)
    return weave, capsize


if __name__ == "__main__":
    main()
