"""The pointing dossier of an observatory: from the drawn system to files that other tools read.

A hub carries two flexible panels on drives, fuel that sloshes, four reaction wheels that lag, a star tracker (4 Hz, late,
noisy) and a gyro (20 Hz, with a random walk). Each function below is a chapter: model, trim under thrust, LPV over the angle of
the drives, design, margins, fractional model with a proof, simulation of the nonlinear model with two loops of two rates, Monte
Carlo of that simulation, files.

Run it: ``python examples/satellite_dossier.py`` prints the dossier and draws ``satellite_dossier.png``.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import control
import numpy as np
from matplotlib.figure import Figure
from scipy.spatial.transform import Rotation

import titop as tt
from titop.blocks.basics.spatial import Array

HZ = 2 * np.pi
MASS, LENGTH, WIDTH = 30.0, 6.0, 2.0  # kg, m, m: of a panel
FUEL, ARM, SLOSH = 50.0, 0.4, 0.12 * HZ  # kg, m, rad/s: fuel as a pendulum in a field of its own
THRUST = 25.0  # N, along z
GYRO_TIME, TRACKER_TIME = 0.05, 0.25  # s
WHEEL_DELAY, TRACKER_DELAY = 0.02, 0.1  # s
TRACKER_NOISE, GYRO_NOISE, GYRO_WALK = 1e-5, 1e-6, 1e-8  # rad/sqrt(Hz), rad/s/sqrt(Hz), rad/s^2/sqrt(Hz)
BANDWIDTH, DAMPING = 0.15, 0.8  # rad/s, no unit: of the attitude loop
STEP = np.deg2rad([1.0, -0.5, 0.8])  # Euler angles, of the slew
WHEELS = [f"wheel{k}" for k in range(4)]
MOTORS = [f"{name}/motor" for name in WHEELS]
TRACKER, GYRO = [f"tracker.theta[{k}]" for k in range(3)], [f"gyro.{axis}" for axis in "xyz"]
DRIVES = ("left_drive", "right_drive")
RANGES = {
    "fuel.mass": tt.percent(30),
    "hub.inertia.xx": tt.percent(15),
    ("left_panel.mode1.frequency", "right_panel.mode1.frequency"): tt.percent(20),  # both panels from one mould
}
PLACE = ["base.x", "base.y", "base.z", *WHEELS]  # nothing depends on these


def panel(name: str) -> tt.FlexibleBody:
    """Return a panel along x, as a table of modes from finite elements: out of plane, in plane, torsion."""
    root, shape = 1.8751041, 0.7340955  # of a uniform cantilever
    force, moment = np.sqrt(MASS) * 2 * shape / root, np.sqrt(MASS) * LENGTH * 2 / root**2
    participation = [[0, 0, force, 0, -moment, 0], [0, force, 0, 0, 0, moment], [0, 0, 0, 2.8, 0, 0]]
    spin, bend = MASS * WIDTH**2 / 12, MASS * LENGTH**2 / 3
    about_root = [spin, bend, spin + bend]
    com = np.array([LENGTH / 2, 0, 0])
    inertia = np.diag(about_root) - MASS * (com @ com * np.eye(3) - np.outer(com, com))
    return tt.FlexibleBody(name, MASS, com, inertia, np.array([0.25, 0.9, 1.1]) * HZ, participation, damping_ratios=0.005)


def build() -> tt.System:
    """Chapter 1: the system, its actuators and sensors with their lags, delays, rates and noise."""
    places = {"left": [0, 0.9, 0], "right": [0, -0.9, 0], "tank": [0, 0, -0.3], "engine": [0, 0, -1.0]}
    hub = tt.RigidBody("hub", mass=800.0, inertia=[500, 450, 400], ports=places)
    s = tt.System("observatory", gravity=[0, 0, 0])
    s.connect("world", hub, joint=tt.Free("base"))
    for side, sign in (("left", 1), ("right", -1)):
        drive = tt.Revolute(f"{side}_drive", axis=[sign, 0, 0], stiffness=2000.0, damping=8.0)
        outwards = tt.Pose(rotation=Rotation.from_euler("z", 90 * sign, degrees=True))
        s.connect(hub.port(side), panel(f"{side}_panel"), joint=drive, placement=outwards)
    spring = {"stiffness": FUEL * ARM**2 * SLOSH**2, "damping": 0.02 * FUEL * ARM**2 * SLOSH}
    fuel = tt.RigidBody("fuel", FUEL, com=[0, 0, -ARM], inertia=0.5)
    s.connect(hub.port("tank"), fuel, joint=tt.Universal("slosh", **spring))
    tilt = np.deg2rad(35)
    for name, azimuth in zip(WHEELS, np.deg2rad([45, 135, 225, 315]), strict=True):
        axis = [np.cos(tilt) * np.cos(azimuth), np.cos(tilt) * np.sin(azimuth), np.sin(tilt)]
        lag = tt.SignalPath.lag(0.08, delay=WHEEL_DELAY)
        s.add_actuator(tt.ReactionWheel(name, hub, axis, inertia=0.1, mass=5.0, torque_limit=0.4, path=lag))
    s.add_actuator(tt.Thruster("apogee", hub.port("engine"), direction=[0, 0, 1], max_thrust=THRUST))
    seen = tt.SignalPath(sample_time=TRACKER_TIME, delay=TRACKER_DELAY, noise_density=TRACKER_NOISE)
    s.add_sensor(tt.PoseSensor("tracker", hub, path=seen))
    felt = tt.SignalPath(sample_time=GYRO_TIME, noise_density=GYRO_NOISE, random_walk=GYRO_WALK)
    s.add_sensor(tt.Gyro("gyro", hub, path=felt))
    return s


def burn(model: tt.Model) -> tt.OperatingPoint:
    """Chapter 2: the shape under thrust, which is that of rest in the field that the thrust takes away."""
    shape = [name for name in model.coordinate_names if not name.startswith(("base", *WHEELS))]
    return tt.trim(model, [*shape, "gravity.z"], u={"apogee": THRUST})


def family(model: tt.Model) -> tt.LPVModel:
    """Chapter 3: linear models at rest over the angle of the drives, which turn together and are held there by their motors."""
    angles = np.deg2rad([0, 30, 60, 90])
    held = [f"{name}.tau" for name in DRIVES]
    grid = dict.fromkeys((f"{name}.q" for name in DRIVES), angles)
    return tt.lpv(model, grid, grid=False, unknowns=held, inputs=MOTORS, outputs=[*TRACKER, *GYRO], omit=PLACE)


def design(model: tt.Model) -> list[control.StateSpace]:
    """Chapter 4: gains by the rigid satellite, of the angles at 4 Hz and of the rates at 20 Hz."""
    flexible = [name for name in model.coordinate_names if not name.startswith(("base", *WHEELS))]
    rigid = tt.linearize(model, model.neutral(), WHEELS, ["hub.w"], omit=PLACE, hold=flexible)
    allocation = np.linalg.pinv(rigid.C @ rigid.B)  # from angular accelerations to the wheels' torques
    angles, rates = ([name.replace(".", "_") for name in names] for names in (TRACKER, GYRO))
    stiff, damped = BANDWIDTH**2 * allocation, 2 * DAMPING * BANDWIDTH * allocation
    return [
        control.ss([], [], [], damped, GYRO_TIME, inputs=rates, outputs=MOTORS, name="rate loop"),
        control.ss([], [], [], stiff, TRACKER_TIME, inputs=angles, outputs=MOTORS, name="attitude loop"),
    ]


def margin(plant: control.StateSpace, loops: list[control.StateSpace]) -> float:
    """Chapter 5: the distance of the loop at the wheels from -1 in all directions, the samplers as late as half their time.

    The gains of all wheels may differ at once by any factor from 1 / (1 + margin) to 1 / (1 - margin).
    """
    omega = np.geomspace(1e-3, 20.0, 4000)
    rate, attitude = (loop.D * np.exp(-0.5j * omega[:, None, None] * loop.dt) for loop in loops)
    loop = np.concatenate([attitude, rate], axis=2) @ plant(1j * omega).transpose(2, 0, 1)
    return float(np.linalg.svd(np.eye(len(WHEELS)) + loop, compute_uv=False).min())


def proof(model: tt.Model, loops: list[control.StateSpace]) -> tt.RobustStability:
    """Chapter 6: whether all satellites of these ranges are stable, with both samplers: the loop is lifted to 4 Hz, exactly."""
    members = tt.lft(model, model.neutral(), RANGES, inputs=MOTORS, outputs=[*TRACKER, *GYRO], omit=PLACE)
    return tt.robust_stability(members.close(loops, sign=-1))  # as simulate closes it: reference minus output


def slew(model: tt.Model, loops: list[control.StateSpace], end: float = 90.0, seed: int = 0) -> tt.Trajectory:
    """Chapter 7: the nonlinear model turns by the step, with both loops, lags, delays, noise and limits of torque."""
    rate, attitude = loops
    both = [rate, tt.Loop(attitude, reference=dict(zip(TRACKER, STEP, strict=True)))]
    t, still = np.linspace(0, end, round(10 * end) + 1), np.zeros(model.nv)
    return tt.simulate(model, t, model.neutral(), still, controller=both, seed=seed, rtol=1e-6, atol=1e-9)


def errors(trajectory: tt.Trajectory) -> Array:
    """Return the pointing errors (n, 3; mrad), without noise."""
    names = trajectory.model.output_names
    return 1e3 * (trajectory.outputs()[:, [names.index(name) for name in TRACKER]] - STEP)


def monte_carlo(model: tt.Model, loops: list[control.StateSpace], n: int, workers: int) -> tt.Samples:
    """Chapter 8: the same with random satellites and random noise."""

    def run(sample: tt.Model, seed: int) -> dict[str, float]:
        error = errors(slew(sample, loops, seed=seed))
        return {"error": np.linalg.norm(error[-100:], axis=1).max(), "overshoot": (error * np.sign(STEP)).max()}

    return tt.monte_carlo(model, RANGES, run, n=n, seed=1, workers=workers)


def hand_over(
    folder: Path, system: tt.System, members: tt.LPVModel, loops: list[control.StateSpace], run: tt.Trajectory
) -> None:
    """Chapter 9: files for those who come after; MATLAB reads the .mat files, see examples/pages/linear_models.md."""
    system.save(folder / "observatory.toml")
    tt.save_linear(members, folder / "members.mat")
    for loop in loops:
        tt.save_linear(loop, folder / f"{loop.name.replace(' ', '_')}.mat")
    run.save(folder / "slew.npz")


def draw(nominal: tt.Trajectory, samples: tt.Samples, members: tt.LPVModel) -> Figure:
    """Draw the slew, the wheels, the samples, and the modes over the angle of the drives."""
    figure = Figure(figsize=(9, 6), layout="constrained")
    (pointing, torque), (spread, modes) = figure.subplots(2, 2)
    pointing.plot(nominal.t, errors(nominal), linewidth=1, label=[f"theta[{k}]" for k in range(3)])
    pointing.set(title="pointing error of the nominal satellite", ylabel="mrad", xlabel="t [s]")
    torque.plot(nominal.t, nominal.u[:, : len(WHEELS)], linewidth=1, label=WHEELS)
    torque.set(title="commands to the wheels", ylabel="N m", xlabel="t [s]")
    spread.plot(samples.parameters["fuel.mass"], samples.outcomes["error"], ".")
    spread.set(title=f"{samples.n} random satellites: error at the end", ylabel="mrad", xlabel="fuel [kg]", ylim=(0, None))
    for angle in np.deg2rad(np.linspace(0, 90, 31)):
        poles = members.at(left_drive_q=angle, right_drive_q=angle).poles()
        frequencies = poles.imag[(poles.imag > 0.1) & (poles.imag < 12.0)] / HZ
        modes.plot(np.full(len(frequencies), np.rad2deg(angle)), frequencies, ".", color="tab:blue", markersize=3)
    modes.set(title="natural frequencies", ylabel="Hz", xlabel="angle of the drives [degrees]")
    for axis in (pointing, torque, spread, modes):
        axis.grid(alpha=0.3)
    for axis in (pointing, torque):
        axis.legend(fontsize=8)
    return figure


def main(argv: list[str] | None = None) -> tuple[tt.RobustStability, tt.Trajectory, tt.Samples]:
    """Write the dossier, chapter by chapter."""
    parser = argparse.ArgumentParser(description="The pointing dossier of an observatory.")
    parser.add_argument("--output", default="satellite_dossier.png")
    parser.add_argument("--samples", type=int, default=40)
    parser.add_argument("--workers", type=int, default=2)
    arguments = parser.parse_args(argv)
    system = build()
    model = system.resolve()
    print(tt.modes(model), end="\n\n")
    thrusting = burn(model)
    bent = thrusting.q[model.configuration_names.index("left_panel.mode1")]
    print(f"under thrust: {-thrusting.parameters['gravity.z']:.4f} m/s^2, first mode of a panel {bent:.4f} m sqrt(kg)")
    members, loops = family(model), design(model)
    plant = members.at(left_drive_q=0.0, right_drive_q=0.0)
    print(f"margin in all directions: {margin(plant, loops):.3f}")
    proved = proof(model, loops)
    print(f"both loops, all members: {proved}")
    nominal = slew(model, loops)
    samples = monte_carlo(model, loops, arguments.samples, arguments.workers)
    for name in ("error", "overshoot"):
        found = samples.statistics(name)
        print(f"{name}: median {found.median:.3f} mrad, 95 % below {found.high:.3f} mrad, worst {found.greatest:.3f} mrad")
    hand_over(Path(arguments.output).parent, system, members, loops, nominal)
    draw(nominal, samples, members).savefig(arguments.output)
    return proved, nominal, samples


if __name__ == "__main__":
    main()
