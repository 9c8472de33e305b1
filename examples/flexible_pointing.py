"""A satellite with flexible panels points finely while the panels turn: LQG, fixed and scheduled over the panels' angle.

The panels are flexible bodies on drives that turn them about their length: what bends the hub's roll at 0 deg bends its yaw at
90 deg. Four wheels stand in a pyramid and store momentum, which couples roll and pitch. An LPV family of linear models over the
panels' angle (drives held, what does not matter left out) gives a discrete LQG controller at each angle. On the nonlinear
system roll and yaw follow small steps while the panels go through the range: with the controller of 0 deg, which is unstable
from 30 deg on; with a slower one that is stable all the way; and with the fast ones looked up by the measured angle.

Run it: ``python examples/flexible_pointing.py`` draws ``flexible_pointing.png`` and ``flexible_pointing_poles.png``.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import control
import numpy as np
from matplotlib.figure import Figure
from scipy.spatial.transform import Rotation

import titop as tt
from titop.blocks.basics.spatial import Array

MASS, LENGTH, WIDTH, OFFSET = 30.0, 6.0, 2.0, 0.9  # kg, m, m, m: of a panel; of its drive from the hub's centre
HZ = 2 * np.pi
WHEEL_INERTIA, WHEEL_SPEED, TILT = 0.1, 150.0, np.deg2rad(35)  # kg m^2, rad/s, of the axes above the x-y plane
ANGLES = np.deg2rad(np.arange(0, 91, 10.0))  # of the panels, where the family has members
SAMPLE_TIME = DELAY = 0.1  # s
STEP = np.deg2rad(0.03)  # of roll and yaw
SLEW = (40.0, 100.0)  # s, from when to when the panels turn
STEPS = (5.0, 60.0, 120.0)  # s, when the attitude steps: up, down, up
END = 150.0  # s
FAST, SLOW = 0.8, 0.2  # rad/s, bandwidths
TORQUE_NOISE = 0.02  # N m, of each wheel, as which the estimator takes disturbances
FIXED, SLOWER, SCHEDULED = "fast, of 0 deg", "slow, of 50 deg", "fast, scheduled"
ATTITUDE = [f"star_tracker.theta[{k}]" for k in range(3)]
RATES = [f"gyro.{axis}" for axis in "xyz"]
WHEELS = [f"wheel{k}" for k in range(4)]
NOISE = dict.fromkeys(ATTITUDE, 5e-6) | dict.fromkeys(RATES, 2e-6)  # rad, rad/s


def panel(name: str) -> tt.FlexibleBody:
    """Return a panel along x in the x-y plane: two modes of bending across it, one in its plane, one of torsion.

    Participations are a uniform cantilever's: ``sqrt(m) 2 s / b`` and ``sqrt(m) L 2 / b^2`` at the roots ``b``.
    """
    roots, shape = np.array([1.8751041, 4.6940911]), np.array([0.7340955, 1.0184673])
    force, moment = np.sqrt(MASS) * 2 * shape / roots, np.sqrt(MASS) * LENGTH * 2 / roots**2
    spin = MASS * WIDTH**2 / 12
    participation = np.zeros((4, 6))
    participation[:2, 2], participation[:2, 4] = force, -moment  # across: along z, about -y
    participation[2, 1], participation[2, 5] = force[0], moment[0]  # in the plane: along y, about z
    participation[3, 3] = np.sqrt(spin) * np.sqrt(8) / np.pi
    across = 0.3 * HZ * (roots / roots[0]) ** 2
    inertia = [spin, MASS * LENGTH**2 / 12, spin + MASS * LENGTH**2 / 12]
    frequencies = [*across, 1.2 * HZ, 1.0 * HZ]
    return tt.FlexibleBody(name, MASS, [LENGTH / 2, 0, 0], inertia, frequencies, participation, damping_ratios=0.005)


def build() -> tt.System:
    """Return hub, panels along y and minus y on their drives, and wheels."""
    hub = tt.RigidBody("hub", mass=500.0, inertia=[300, 250, 90], ports={"left": [0, OFFSET, 0], "right": [0, -OFFSET, 0]})
    s = tt.System("pointing", gravity=[0, 0, 0])
    s.connect("world", hub, joint=tt.Free("base"))
    for side, sign in (("left", 1), ("right", -1)):
        drive = tt.Revolute(f"{side}_drive", axis=[sign, 0, 0])
        outwards = tt.Pose(rotation=Rotation.from_euler("z", 90 * sign, degrees=True))
        s.connect(hub.port(side), panel(f"{side}_panel"), joint=drive, placement=outwards)
    for name, azimuth in zip(WHEELS, np.deg2rad([45, 135, 225, 315]), strict=True):
        axis = [np.cos(TILT) * np.cos(azimuth), np.cos(TILT) * np.sin(azimuth), np.sin(TILT)]
        s.add_actuator(tt.ReactionWheel(name, hub, axis, WHEEL_INERTIA, mass=5.0, torque_limit=0.4))
    s.add_sensor(tt.PoseSensor("star_tracker", hub))
    s.add_sensor(tt.Gyro("gyro", hub))
    return s


def family(model: tt.Model) -> tt.LPVModel:
    """Return the linear models over the angle of both drives, from wheel torques to attitude and rates."""
    return tt.lpv(
        model,
        {"left_drive.q": ANGLES, "right_drive.q": ANGLES},
        grid=False,
        unknowns=[],
        v=dict.fromkeys(WHEELS, WHEEL_SPEED),
        inputs=[f"{name}/motor" for name in WHEELS],
        outputs=[*ATTITUDE, *RATES],
        hold=["left_drive", "right_drive"],
        omit=["base.x", "base.y", "base.z", *WHEELS],  # about rest nothing depends on how fast the wheels turn further
    )


def at_angle(members: tt.LPVModel, angle: float) -> control.StateSpace:
    """Return the linear model with both panels at an angle."""
    return members.at(left_drive_q=angle, right_drive_q=angle)


def sampled(member: control.StateSpace) -> tuple[Array, Array, Array]:
    """Return a member's A, B, C at the samples, its inputs one sample late: they are the last states."""
    plant = control.sample_system(member, SAMPLE_TIME)
    n, m = plant.B.shape
    a = np.block([[plant.A, plant.B], [np.zeros((m, n + m))]])
    return a, np.vstack([np.zeros((n, m)), np.eye(m)]), np.hstack([plant.C, np.zeros((6, m))])


def design(member: control.StateSpace, inertia: Array, bandwidth: float) -> control.StateSpace:
    """Return a discrete LQG controller; its states are estimates of the member's, and the wheels' late torques.

    Solved in mrad, so that all numbers are about as large.
    """
    a, b, c = sampled(control.ss(member.A, 1e3 * member.B, member.C, 0))
    n = member.nstates
    authority = 1e-3 * np.concatenate([inertia * bandwidth**2, inertia * bandwidth])
    gain, _, _ = control.dlqr(a, b, c.T @ np.diag(authority**2) @ c, np.eye(4), method="scipy")
    noise = np.diag([(1e3 * deviation) ** 2 for deviation in NOISE.values()])
    kalman, _, _ = control.dlqe(a[:n, :n], a[:n, n:], c[:, :n], TORQUE_NOISE**2 * np.eye(4), noise, method="scipy")
    observer = np.vstack([kalman, np.zeros((4, 6))])  # the torques are known
    signals = {"inputs": member.output_labels, "outputs": member.input_labels}
    return control.ss(a - b @ gain - observer @ c, 1e3 * observer, gain, 0, SAMPLE_TIME, **signals)


def scheduled(controllers: list[control.StateSpace]) -> tt.ScheduledController:
    """Return the controllers as one, interpolated over the measured angle of a drive."""
    tables = {name: np.array([getattr(member, name) for member in controllers]) for name in "ABC"}
    first = controllers[0]

    def at(rho: Mapping[str, float]) -> control.StateSpace:
        place = np.interp(rho["angle"], ANGLES, np.arange(len(ANGLES)))
        k = min(int(place), len(ANGLES) - 2)
        a, b, c = (table[k] + (place - k) * (table[k + 1] - table[k]) for table in tables.values())
        return control.ss(a, b, c, 0, SAMPLE_TIME, inputs=first.input_labels, outputs=first.output_labels)

    return tt.ScheduledController(at, {"angle": "left_drive.q"}, SAMPLE_TIME)


def growth(member: control.StateSpace, controller: control.StateSpace) -> float:
    """Return the growth rate (1/s) of the closed loop of a member of the family and a controller: positive is unstable."""
    a, b, c = sampled(member)
    closed = np.block([[a, b @ controller.C], [-controller.B @ c, controller.A]])
    return float(np.log(np.abs(np.linalg.eigvals(closed)).max()) / SAMPLE_TIME)


def turn(t: float) -> tuple[float, float, float]:
    """Return angle, rate and acceleration of the drives: a cycloid from the first of the angles to the last."""
    duration = SLEW[1] - SLEW[0]
    phase = 2 * np.pi * min(max((t - SLEW[0]) / duration, 0.0), 1.0)
    mean = ANGLES[-1] / duration
    angle = mean * duration * (phase - np.sin(phase)) / (2 * np.pi)
    return angle, mean * (1 - np.cos(phase)), mean * np.sin(phase) * 2 * np.pi / duration


def wanted(t: float) -> float:
    """Return the wanted roll and yaw (rad)."""
    return STEP * (sum(t >= start for start in STEPS) % 2)


def point(model: tt.Model, controller: Any, drive: Any = turn, end: float = END) -> tt.Trajectory:
    """Simulate the nonlinear system in closed loop while the panels turn."""
    t = np.arange(0, end + SAMPLE_TIME / 2, SAMPLE_TIME)
    loop = {"controller": controller, "delay": DELAY, "noise": NOISE}
    drives = {"left_drive": drive, "right_drive": drive}
    v = model.velocity(dict.fromkeys(WHEELS, WHEEL_SPEED))
    reference = dict.fromkeys((ATTITUDE[0], ATTITUDE[2]), wanted)
    return tt.simulate(model, t, model.neutral(), v, prescribed=drives, reference=reference, rtol=1e-6, atol=1e-9, **loop)


def errors(run: tt.Trajectory) -> Array:
    """Return the errors (n, 3; mdeg) of roll, pitch and yaw, without noise."""
    attitude = run.outputs()[:, [run.model.output_names.index(name) for name in ATTITUDE]]
    return 1e3 * np.rad2deg(attitude - np.array([wanted(t) for t in run.t])[:, None] * [1, 0, 1])


def draw(members: tt.LPVModel, runs: dict[str, tt.Trajectory], rates: dict[str, list[float]]) -> Figure:
    """Draw gains, what the linear models say of the closed loops, and the runs."""
    figure = Figure(figsize=(9, 9), layout="constrained")
    (gains, frozen), (panels, roll), (pitch, yaw), (mode, torque) = axes = figure.subplots(4, 2)
    frequencies = np.geomspace(0.02, 4, 600)
    for k in (0, len(ANGLES) // 2, -1):
        gain = [np.abs(at_angle(members, ANGLES[k])(1j * HZ * f)[3, 0]) for f in frequencies]
        gains.loglog(frequencies, gain, linewidth=1, label=f"{np.rad2deg(ANGLES[k]):.0f} deg")
    colours = ("tab:red", "tab:blue", "black")
    for (label, run), colour in zip(runs.items(), colours, strict=True):
        style = {"color": colour, "linewidth": 1, "label": label}
        frozen.plot(np.rad2deg(ANGLES), rates[label], marker=".", **style)
        for axis, error in zip((roll, pitch, yaw), errors(run).T, strict=True):
            axis.plot(run.t, error, **style)
        mode.plot(run.t, 1e3 * run.coordinate("left_panel.mode1"), **style)
        torque.step(run.t, run.u[:, 0], where="post", **style)
    panels.plot(run.t, np.rad2deg(run.coordinate("left_drive")), color="black", linewidth=1)
    gains.set(title="torque of wheel 0 to roll rate, panels held", xlabel="Hz", ylabel="rad/s / N m")
    frozen.set(title="closed loops, panels held", xlabel="panels [deg]", ylabel="fastest growth [1/s]")
    panels.set(title="the panels turn", ylabel="deg")
    for axis, name in ((roll, "roll"), (pitch, "pitch"), (yaw, "yaw")):
        axis.set(title=f"{name} error", ylabel="mdeg", ylim=(-50, 50))
    pitch.set(ylim=(-250, 250))
    mode.set(title="left panel, first bending mode", ylabel="mm sqrt(kg)")
    torque.set(title="wheel 0", ylabel="N m")
    for axis in axes.flat:
        axis.grid(alpha=0.3)
    for axis in axes.flat[2:]:
        axis.set_xlabel("t [s]")
    gains.legend(fontsize=8)
    frozen.legend(fontsize=8)
    return figure


def main(argv: list[str] | None = None) -> tuple[tt.LPVModel, dict[str, tt.Trajectory], dict[str, list[float]]]:
    """Make the family, design on it, simulate and draw."""
    parser = argparse.ArgumentParser(description="Fine pointing of a satellite while its flexible panels turn.")
    parser.add_argument("--output", default="flexible_pointing.png", help="the poles are drawn beside it")
    output = Path(parser.parse_args(argv).output)
    model = build().resolve()
    members = family(model)
    print(members)
    inertia = np.diag(model.mass_matrix(model.neutral()))[3:6]
    systems = [at_angle(members, angle) for angle in ANGLES]
    fast, slow = ([design(system, inertia, bandwidth) for system in systems] for bandwidth in (FAST, SLOW))
    for k, angle in enumerate(np.rad2deg(ANGLES)):
        where = [f"{other:.0f}" for other, s in zip(np.rad2deg(ANGLES), systems, strict=True) if growth(s, fast[k]) < 0]
        print(f"the fast controller of {angle:2.0f} deg is stable from {where[0]} to {where[-1]} deg")
    middle = slow[len(slow) // 2]
    runs = {FIXED: point(model, fast[0]), SLOWER: point(model, middle), SCHEDULED: point(model, scheduled(fast))}
    used = {FIXED: fast[:1] * len(ANGLES), SLOWER: [middle] * len(ANGLES), SCHEDULED: fast}
    rates = {label: [growth(*pair) for pair in zip(systems, used[label], strict=True)] for label in runs}
    for label, run in runs.items():
        size = np.linalg.norm(errors(run), axis=1)
        turning, end = size[(run.t > SLEW[0]) & (run.t < STEPS[1])].max(), size[run.t > END - 10].max()
        wheels = np.abs(run.u).max()
        print(f"{label}: {turning:.2f} mdeg as the panels start, {end:.2f} mdeg at the end, wheels up to {wheels:.2f} N m")
    draw(members, runs, rates).savefig(output)
    members.poles().savefig(output.with_name(f"{output.stem}_poles{output.suffix}"))
    return members, runs, rates


if __name__ == "__main__":
    main()
