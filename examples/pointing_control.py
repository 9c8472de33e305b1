"""The satellite of `satellite` points under digital control, with a late computer, noisy sensors and unknown inertias.

A discrete linear-quadratic regulator, designed on the linear model at the nominal inertias, commands the four wheels from the
star tracker and the gyro. It steps the attitude by some degrees; a Monte Carlo analysis repeats that with other inertias.

Run it: ``python examples/pointing_control.py`` draws ``pointing_control.png``.
"""

from __future__ import annotations

import argparse
from typing import Any

import control
import numpy as np
import satellite
from matplotlib.figure import Figure

import titop as tt
from titop.blocks.basics.spatial import Array

DURATION = 60.0  # s
SAMPLE_TIME = 0.25  # s
DELAY = 0.15  # s, from the sensors to the wheels
STEP = np.deg2rad([4.0, -2.0, 3.0])  # Euler angles
NOISE = {f"gyro.{axis}": 2e-5 for axis in "xyz"} | {f"star_tracker.theta[{k}]": 5e-5 for k in range(3)}  # rad/s, rad
SPREAD = 0.25  # of the inertias, relatively
ANGLES = [f"star_tracker_theta[{k}]" for k in range(3)]
RATES = [f"gyro_{axis}" for axis in "xyz"]


def design(model: tt.Model) -> control.StateSpace:
    """Return the regulator: errors of angles and rates to wheel torques, at the samples."""
    wheels = [name for name in model.input_names if name.endswith("/motor")]
    _, _, by_effort = model.forward_dynamics_derivatives(model.neutral(), np.zeros(model.nv))
    to_rates = (by_effort @ model.mechanism.inputs.motors)[3:6, : len(wheels)]  # angular acceleration a unit of wheel torque
    zero, one = np.zeros((3, 3)), np.eye(3)
    spin = control.ss(np.block([[zero, one], [zero, zero]]), np.vstack([zero, one]), np.eye(6), 0)
    sampled = control.sample_system(spin, SAMPLE_TIME)
    gain, _, _ = control.dlqr(sampled, np.diag([1.0] * 3 + [4.0] * 3), 30.0 * one)
    torques = np.linalg.pinv(to_rates) @ gain
    return control.ss([], [], [], torques, SAMPLE_TIME, inputs=[*ANGLES, *RATES], outputs=wheels)


def step(model: tt.Model, controller: Any, every: float) -> dict[str, Any]:
    """Return the arguments of the simulation of a step, with output times `every` so many seconds."""
    t = np.arange(0, DURATION + every / 2, every)
    loop = {"controller": controller, "reference": dict(zip(ANGLES, STEP, strict=True)), "delay": DELAY, "noise": NOISE}
    return {"t": t, "q0": model.neutral(), "v0": np.zeros(model.nv), "rtol": 1e-7, "atol": 1e-9, **loop}


def errors(trajectory: tt.Trajectory) -> Array:
    """Return the errors of the angles (n, 3; mrad), without noise."""
    return 1e3 * (trajectory.outputs()[:, -3:] - STEP)


def figures_of_merit(trajectory: tt.Trajectory) -> dict[str, Any]:
    """Return the pointing error over time and in the end, and the largest overshoot relative to the step."""
    error = errors(trajectory)
    return {
        "error": np.linalg.norm(error, axis=1),
        "jitter": np.sqrt((error[-80:] ** 2).mean()),
        "overshoot": (error * np.sign(STEP)).max(axis=0).max() / (1e3 * np.abs(STEP).max()),
    }


def draw(nominal: tt.Trajectory, samples: tt.Samples) -> Figure:
    """Draw the nominal run and the samples."""
    figure = Figure(figsize=(9, 6), layout="constrained")
    (angles, wheels), (spread, overshoot) = figure.subplots(2, 2)
    angles.plot(nominal.t, errors(nominal), linewidth=1, label=[f"theta[{k}]" for k in range(3)])
    angles.set(title="nominal: attitude errors", ylabel="mrad", xlabel="t [s]", xlim=(0, 30))
    for k in range(4):
        wheels.step(nominal.t, nominal.u[:, k], where="post", linewidth=1, label=f"wheel {k}")
    title = f"wheel torques, held {SAMPLE_TIME} s, {DELAY} s late"
    wheels.set(title=title, ylabel="N m", xlabel="t [s]", xlim=(0, 10))
    found = samples.statistics("error")
    t = np.linspace(0, DURATION, len(found.median))
    spread.fill_between(t, found.low, found.high, color="tab:blue", alpha=0.3, label="5 to 95 %")
    spread.plot(t, found.median, color="tab:blue", linewidth=1, label="median")
    spread.set(title=f"{samples.n} samples: pointing error", ylabel="mrad", xlabel="t [s]", yscale="log")
    overshoot.plot(samples.parameters["hub.inertia.xx"], samples.outcomes["overshoot"], ".")
    overshoot.set(title="each sample: overshoot", xlabel="hub.inertia.xx [kg m^2]", ylabel="of the largest step")
    for axis in (angles, wheels, spread, overshoot):
        axis.grid(alpha=0.3)
    for axis in (angles, wheels, spread):
        axis.legend(fontsize=8)
    return figure


def main(argv: list[str] | None = None) -> tuple[tt.Trajectory, tt.Samples]:
    """Simulate, repeat with other inertias, and draw."""
    parser = argparse.ArgumentParser(description="Digital attitude control of a satellite, and what unknown inertias do to it.")
    parser.add_argument("--output", default="pointing_control.png")
    parser.add_argument("--samples", type=int, default=60)
    parser.add_argument("--workers", type=int, default=2)
    arguments = parser.parse_args(argv)
    model = satellite.build().resolve()
    controller = design(model)
    nominal = tt.simulate(model, **step(model, controller, 0.05))
    inertias = {name: model.parameters()[name][0] for name in (f"hub.inertia.{axis}" for axis in ("xx", "yy", "zz"))}
    uncertain = {name: ((1 - SPREAD) * value, (1 + SPREAD) * value) for name, value in inertias.items()}

    run = tt.Run(outcome=figures_of_merit, **step(model, controller, 0.25))  # many samples at a time
    samples = tt.monte_carlo(model, uncertain, run, n=arguments.samples, seed=1, workers=arguments.workers)
    draw(nominal, samples).savefig(arguments.output)
    for name, unit in (("jitter", " mrad"), ("overshoot", "")):
        found = samples.statistics(name)
        print(f"{name}: median {found.median:.3f}{unit}, 95 % below {found.high:.3f}{unit}, worst {found.greatest:.3f}{unit}")
    return nominal, samples


if __name__ == "__main__":
    main()
