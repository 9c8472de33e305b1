"""A robot's joint with a motor and a harmonic drive: resonance, hysteresis, and the vibration of its gear's error.

A motor with a winding turns the wave generator of a harmonic drive, whose spring carries a link. Its stiffness grows with the
torque, it has hysteresis, and an error of twice the rotor's turns. The linear model has the resonance of rotor and link,
and small steps of the voltage follow it; large ones do not, since the hysteresis, a spring for small torsions, gives way. The
torque over the torsion is a loop. When the rotor runs up, the error shakes the link where it meets the resonance.

Run it: ``python examples/harmonic_drive.py`` draws ``harmonic_drive.png``.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from scipy.linalg import expm

import titop as tt
from titop.blocks.basics.spatial import Array

RATIO, ROTOR, LINK = -100.0, 3e-5, 0.8  # 1, kg m^2, kg m^2
STIFFNESS, CUBIC, DAMPING = 8e3, 3e9, 3.0  # N m/rad, N m/rad^3, N m s/rad
RUBBING: dict[str, Any] = {"hysteresis_torque": 1.0, "hysteresis_stiffness": 8e3}  # N m, N m/rad
ERROR = [(2, 1e-4, 0.0)]  # order, rad, rad
RUN = 150.0  # rad/s


def build(error: Any = ERROR) -> tt.System:
    """Return a link on its axis, and beside it the rotor, with a motor and the drive between both."""
    s = tt.System("joint", gravity=[0, 0, 0])
    rotor = tt.RigidBody("wave_generator", 0.2, inertia=ROTOR)
    link = tt.RigidBody("link", 3.0, com=[0.25, 0, 0], inertia=LINK - 3.0 * 0.25**2)
    s.connect("world", rotor, tt.Revolute("rotor", damping=1e-5))
    s.connect("world", link, tt.Revolute("elbow", damping=0.1))
    s.add_actuator(tt.DCMotor("motor", "rotor", resistance=0.8, torque_constant=0.05, inductance=5e-4, voltage_limit=48.0))
    drive = tt.ElasticDrive("drive", RATIO, STIFFNESS, CUBIC, DAMPING, **RUBBING, kinematic_error=error)
    s.add_interaction(drive, "rotor", "elbow")
    for name in ("torque", "torsion"):
        s.add_sensor(tt.DriveSensor(name, f"drive.{name}"))
    return s


def resonance(model: tt.Model) -> complex:
    """Return the pole (rad/s) of rotor against link, which is the fastest that swings."""
    poles = np.linalg.eigvals(tt.linearize(model, model.neutral()).A)
    return complex(poles[np.imag(poles) > 0][np.argmax(np.abs(poles[np.imag(poles) > 0]))])


def step(model: tt.Model, volts: float, t: Array) -> tuple[tt.Trajectory, Array]:
    """Return the motion after a step of the voltage, and what the linear model says of it (states in rows)."""
    system = tt.linearize(model, model.neutral(), inputs=["motor"])
    n = len(system.A)
    whole = np.zeros((n + 1, n + 1))
    whole[:n, :n], whole[:n, n] = system.A, system.B[:, 0] * volts
    linear = np.array([(expm(whole * time) @ np.eye(n + 1)[n])[:n] for time in t])
    return tt.simulate(model, t, model.neutral(), np.zeros(2), u=[volts], method="Radau", rtol=1e-6), linear


def swing(model: tt.Model, t: Array) -> tt.Trajectory:
    """Return the motion when the rotor swings slowly, and the link is held: the torque over the torsion is a loop."""
    size, rate = 0.12, 2 * np.pi

    def turning(time: float) -> tuple[float, float, float]:
        return size * np.sin(rate * time), size * rate * np.cos(rate * time), -size * rate**2 * np.sin(rate * time)

    held = {"rotor": turning, "elbow": lambda time: (0.0, 0.0, 0.0)}
    return tt.simulate(model, t, [0.0, 0.0], [size * rate, 0.0], prescribed=held)


def run_up(model: tt.Model, t: Array) -> tt.Trajectory:
    """Return the motion when the rotor runs up at a constant acceleration, to RUN at the end."""
    slope = RUN / t[-1]
    moved = {"rotor": lambda time: (slope * time**2 / 2, slope * time, slope)}
    return tt.simulate(model, t, [0.0, 0.0], [0.0, 0.0], prescribed=moved)


def shaking(run: tt.Trajectory) -> Array:
    """Return the rate (n, rad/s) of the link beside that of a rigid gear."""
    rate: Array = run.v[:, 1] - run.v[:, 0] / RATIO
    return rate


def draw(model: tt.Model, steps: dict[float, tuple[tt.Trajectory, Array]], loop: tt.Trajectory, run: tt.Trajectory) -> Figure:
    """Return the gain from voltage to the link's rate, steps, the loop of the torque, and the run-up."""
    figure = Figure(figsize=(9, 6), layout="constrained")
    (gain, rates), (torque, speed) = figure.subplots(2, 2)
    system = tt.linearize(model, model.neutral(), inputs=["motor"], outputs=["elbow.v"])
    frequencies = np.logspace(0, 3.5, 400)
    gain.loglog(frequencies, [abs(complex(system(1j * frequency))) for frequency in frequencies])
    gain.axvline(abs(resonance(model)), color="0.6", linestyle="--", linewidth=0.9, label="resonance of rotor and link")
    gain.set(title="voltage to the link's rate", xlabel="frequency [rad/s]", ylabel="gain [rad/s / V]")
    for (volts, (simulated, _)), colour in zip(steps.items(), ("tab:blue", "tab:red"), strict=True):
        rates.plot(simulated.t, simulated.v[:, 1] / volts, color=colour, label=f"{volts:g} V")
    rates.plot(simulated.t, steps[volts][1][:, 3] / volts, color="k", linestyle="--", linewidth=0.9, label="linear")
    rates.set(title="step of the voltage", xlabel="t [s]", ylabel="rate of the link [rad/s / V]")
    values = loop.outputs()
    torque.plot(1e3 * values[:, 1], values[:, 0])
    torque.set(title="hysteresis of the gear", xlabel="torsion [mrad]", ylabel="torque [N m]")
    speed.plot(run.v[:, 0], shaking(run), linewidth=0.8)
    speed.set(title="run-up with the gear's error", xlabel="rate of the rotor [rad/s]", ylabel="link less rigid gear [rad/s]")
    for axis in (gain, rates):
        axis.legend(fontsize=8)
    for axis in (gain, rates, torque, speed):
        axis.grid(alpha=0.3)
    return figure


def main(argv: list[str] | None = None) -> dict[float, tuple[tt.Trajectory, Array]]:
    """Linearise, simulate and draw."""
    parser = argparse.ArgumentParser(description="A robot's joint with motor and harmonic drive.")
    parser.add_argument("--output", default="harmonic_drive.png")
    arguments = parser.parse_args(argv)
    model, exact = build().resolve(), build(error=()).resolve()
    pole = resonance(model)
    print(f"resonance of rotor and link: {abs(pole):.0f} rad/s, damping ratio {-pole.real / abs(pole):.2f}")
    t = np.linspace(0, 0.2, 201)
    steps = {volts: step(exact, volts, t) for volts in (0.02, 2.0)}
    for volts, (run, linear) in steps.items():
        off = np.abs(run.v[:, 1] - linear[:, 3]).max() / np.abs(linear[:, 3]).max()
        print(f"step of {volts:g} V: the link is {100 * off:.2f} % off the linear model")
    loop, run = swing(model, np.linspace(0, 2, 401)), run_up(model, np.linspace(0, 4, 801))
    worst = run.v[np.argmax(np.abs(shaking(run))), 0]
    print(f"the gear's error shakes the link most at {worst:.0f} rad/s of the rotor")
    draw(model, steps, loop, run).savefig(arguments.output)
    print(f"figure in {arguments.output}")
    return steps


if __name__ == "__main__":
    main()
