"""A satellite with flexible panels, boom, wheels and slosh: members that sampling misses, and proofs.

Panels stand on sprung drives at any angle, a camera on a boom, fuel sloshes, four wheels stand in a pyramid. Fuel mass, the
panels' frequency and damping, the drives' stiffness and angle are uncertain: `tt.lft` makes one exact linear model of all
members. An H-infinity controller (loop shaping of Glover and McFarlane) is designed with all appendages held. With a fast one
all random members and all corners are stable, and yet there is an unstable member: it is found, put back into the nonlinear
system and simulated with the sampled controller. With a slower one all members are proved stable, and the gain from torques on
the hub to the camera is bounded.

Run it: ``python examples/robust_satellite.py`` draws ``robust_satellite.png``.
"""

from __future__ import annotations

import argparse
from typing import Any, NamedTuple

import control
import numpy as np
from matplotlib.figure import Figure
from scipy.linalg import solve_continuous_are
from scipy.spatial.transform import Rotation

import titop as tt
from titop.blocks.basics.spatial import Array

HZ = 2 * np.pi
MASS, LENGTH, WIDTH = 25.0, 5.0, 2.0  # kg, m, m: of a panel
FUEL, SLOSH, SLOSH_DAMPING = 40.0, 0.2 * HZ, 0.02  # kg, rad/s, no unit
TILT = np.deg2rad(35)  # of the wheels' axes above the x-y plane
FAST, SLOW = 0.355, 0.25  # rad/s, bandwidths
ROLL_OFF, INTEGRAL = 4.0, 0.1  # times the bandwidth
SAMPLE_TIME = 0.1  # s
ROOM = 0.2  # between the bounds of the gain, relative
TORQUE, PUSH, END = 0.005, 50.0, 500.0  # N m, s, s: of the simulated disturbance, how long it lasts, and the simulation
WINDOW = 10.0  # s, in which the largest errors are taken
WHEELS = [f"wheel{k}" for k in range(4)]
MOTORS = [f"{name}/motor" for name in WHEELS]
TRACKER = [f"star_tracker.theta[{k}]" for k in range(3)]
CAMERA = [f"boom.C.theta[{k}]" for k in range(3)]  # rad
DISTURBANCE = [f"hub.cooler.T[{k}]" for k in range(3)]
PLACE = ["base.x", "base.y", "base.z", *WHEELS]  # about rest nothing depends on these
STIFF = ["boom.C_x", "boom.C_rx"]  # stretch and torsion of the boom: far above all else
APPENDAGES = ["left_drive", "left_panel", "right_drive", "right_panel", "slosh", "boom"]


def panel(name: str) -> tt.FlexibleBody:
    """Return a panel along x: a uniform cantilever's first mode across it, and one in its plane."""
    root, shape = 1.8751041, 0.7340955
    force, moment = np.sqrt(MASS) * 2 * shape / root, np.sqrt(MASS) * LENGTH * 2 / root**2
    participation = np.zeros((2, 6))
    participation[0, 2], participation[0, 4] = force, -moment
    participation[1, 1], participation[1, 5] = force, moment
    spin, bend = MASS * WIDTH**2 / 12, MASS * LENGTH**2 / 12
    frequencies = [0.35 * HZ, 1.2 * HZ]
    inertia = [spin, bend, spin + bend]
    return tt.FlexibleBody(name, MASS, [LENGTH / 2, 0, 0], inertia, frequencies, participation, damping_ratios=0.01)


def build() -> tt.System:
    """Return the satellite."""
    places = {"left": [0, 0.9, 0], "right": [0, -0.9, 0], "tank": [0, 0, -0.5], "boom": [0.6, 0, 0.4], "cooler": [0, 0, 0]}
    hub = tt.RigidBody("hub", mass=500.0, inertia=[300, 250, 220], ports=places)
    s = tt.System("observatory", gravity=[0, 0, 0])
    s.connect("world", hub, joint=tt.Free("base"))
    for side, sign in (("left", 1), ("right", -1)):
        drive = tt.Revolute(f"{side}_drive", axis=[sign, 0, 0], stiffness=60.0, damping=0.6)
        outwards = tt.Pose(rotation=Rotation.from_euler("z", 90 * sign, degrees=True))
        s.connect(hub.port(side), panel(f"{side}_panel"), joint=drive, placement=outwards)
    spring = {"stiffness": FUEL * SLOSH**2, "damping": 2 * SLOSH_DAMPING * FUEL * SLOSH}
    s.connect(hub.port("tank"), tt.RigidBody("fuel", FUEL, inertia=0.5), joint=tt.Prismatic("slosh", [1, 0, 0], **spring))
    tube = {"density": 1600.0, "area": 3e-4, "young": 6e9, "iy": 4e-8, "iz": 4e-8, "damping_ratio": 0.01}
    boom = tt.Beam("boom", length=3.0, **tube, modes=0, torsion_modes=0, axial_modes=0)
    s.connect(hub.port("boom"), boom, joint=tt.Weld("root"))
    s.connect(boom.port("C"), tt.RigidBody("camera", mass=4.0, inertia=1.2), joint=tt.Weld("mount"))
    for name, azimuth in zip(WHEELS, np.deg2rad([45, 135, 225, 315]), strict=True):
        axis = [np.cos(TILT) * np.cos(azimuth), np.cos(TILT) * np.sin(azimuth), np.sin(TILT)]
        s.add_actuator(tt.ReactionWheel(name, hub, axis, inertia=0.1, mass=5.0, torque_limit=0.4))
    s.add_sensor(tt.PoseSensor("star_tracker", hub))
    return s


def uncertain(model: tt.Model) -> tt.LFTModel:
    """Return the linear models of all members, from wheels and disturbance to star tracker and camera."""
    parameters = {
        "fuel.mass": (20.0, 60.0),
        both("panel.mode1.frequency"): tt.percent(20),
        both("panel.mode1.damping"): (0.006, 0.015),
        both("drive.stiffness"): tt.percent(30),
        both("drive.q"): (-np.deg2rad(60), np.deg2rad(60)),
    }
    inputs, outputs = [*MOTORS, *DISTURBANCE], [*TRACKER, *CAMERA]
    return tt.lft(model, model.neutral(), parameters, inputs, outputs, omit=PLACE, hold=STIFF)


def both(name: str) -> tuple[str, str]:
    """Return the names of one parameter of both sides, which share a value."""
    return f"left_{name}", f"right_{name}"


def design(model: tt.Model, bandwidth: float) -> control.StateSpace:
    """Return the controller from errors of the star tracker to wheel torques, designed with all appendages held."""
    held = [name for name in model.coordinate_names if name.split(".")[0] in APPENDAGES]
    rigid = tt.linearize(model, model.neutral(), MOTORS, TRACKER, omit=PLACE, hold=held)
    allocation = np.linalg.pinv(rigid.B[3:])  # from angular accelerations to wheels
    integral, roll_off = control.tf([1, INTEGRAL * bandwidth], [1, 0]), control.tf([1], [1 / (ROLL_OFF * bandwidth), 1])
    weight = control.append(*[control.ss(bandwidth**2 * integral * roll_off)] * 3)
    shaped = control.series(weight, control.ss(rigid.A, rigid.B @ allocation, rigid.C, 0))
    K = control.series(loop_shaping(shaped), weight)
    return control.ss(K.A, K.B, allocation @ K.C, 0, inputs=rigid.output_labels, outputs=rigid.input_labels)


def loop_shaping(plant: control.StateSpace, room: float = 1.1) -> control.StateSpace:
    """Return the controller, with negative feedback, that is robust to errors of the plant's normalised coprime factors.

    Glover, McFarlane 1989: two Riccati equations, no iteration. The plant has no feedthrough; `room` times the lowest level is
    reached.
    """
    A, B, C = plant.A, plant.B, plant.C
    X = solve_continuous_are(A, B, C.T @ C, np.eye(B.shape[1]))
    Z = solve_continuous_are(A.T, C.T, B @ B.T, np.eye(len(C)))
    level = room * np.sqrt(1 + np.abs(np.linalg.eigvals(X @ Z)).max())
    print(f"loop shaping: coprime factors may be wrong by {1 / level:.2f}")
    injection = level**2 * np.linalg.solve((1 - level**2) * np.eye(len(A)) + Z @ X, Z @ C.T)
    return control.ss(A - B @ B.T @ X + injection @ C, -injection, B.T @ X, 0)


def closed(family: tt.LFTModel, K: control.StateSpace) -> tt.LFTModel:
    """Return the loops of all members; held commands come half a sample late."""
    negative = control.ss(K.A, K.B, -K.C, -K.D, inputs=K.input_labels, outputs=K.output_labels)
    return family.close(negative, delay=SAMPLE_TIME / 2, order=1)


class Peak(NamedTuple):
    """A member's values, its highest gain (rad/N m) from the disturbance, where (rad/s), and the torque's direction."""

    values: dict[str, float]
    gain: float
    omega: float
    direction: Array


def names(signals: list[str]) -> list[str]:
    """Return signals as python-control calls them."""
    return [name.replace(".", "_") for name in signals]


def growth(loop: tt.LFTModel, values: dict[str, float]) -> float:
    """Return the growth rate (1/s) of a member: positive is unstable."""
    return float(loop.at(values).poles().real.max())


def beyond(loop: tt.LFTModel, found: tt.RobustStability) -> dict[str, float]:
    """Return the member at the end of the ranges in the direction of the one that is just unstable."""
    deltas = np.array(found.deltas) / np.abs(found.deltas).max()
    return {block.name: block.value(delta) for block, delta in zip(loop.blocks, deltas, strict=True)}


def peak(loop: tt.LFTModel, values: dict[str, float], omega: Array | None = None) -> Peak:
    """Return the highest gain of a member at some frequencies, by default at its poles' and around."""
    member = loop.at(values)
    if omega is None:
        poles = member.poles()
        poles = poles[poles.imag > 0, None]
        omega = np.concatenate([np.geomspace(0.02, 20.0, 60), (poles.imag + poles.real * np.linspace(-1, 1, 5)).ravel()])
    _, gains, v = np.linalg.svd(response(member, omega))
    k = int(gains[:, 0].argmax())
    return Peak(values, float(gains[k, 0]), float(omega[k]), v[k, 0].conj())


def swing(loop: tt.LFTModel, values: dict[str, float]) -> Peak:
    """Return what a member does at the frequency of its least stable oscillation."""
    poles = loop.at(values).poles()
    return peak(loop, values, np.abs(poles[[poles.real.argmax()]].imag))


def response(member: control.StateSpace, omega: Array) -> Array:
    """Return the responses (n, 3, 3; rad/N m) of the camera to the disturbance."""
    rows = [member.output_labels.index(name) for name in names(CAMERA)]
    columns = [member.input_labels.index(name) for name in names(DISTURBANCE)]
    return np.moveaxis(member(1j * omega)[np.ix_(rows, columns)], 2, 0)


def gain(member: control.StateSpace, omega: Array) -> Array:
    """Return the gains (n, rad/N m) from the disturbance to the camera."""
    return np.linalg.norm(response(member, omega), 2, (1, 2))


def disturbed(family: tt.LFTModel, K: control.StateSpace, at: Peak, until: float) -> tt.Trajectory:
    """Simulate a member, for some time under a torque at its worst frequency: the nonlinear system, the controller sampled."""
    point = family.operating_point(at.values)

    def torque(t: float, q: Array, v: Array) -> Array:
        return np.concatenate([np.zeros(3), (t < until) * TORQUE * (at.direction * np.exp(1j * at.omega * t)).real])

    t = np.arange(0, END + SAMPLE_TIME / 2, SAMPLE_TIME)
    held = dict.fromkeys(STIFF, lambda t: (0.0, 0.0, 0.0))
    loop = {"controller": K, "sample_time": SAMPLE_TIME, "wrenches": {"hub.cooler": torque}, "prescribed": held}
    return tt.simulate(point.model, t, point.q, point.v, point.tau, rtol=1e-5, atol=1e-9, **loop)


def pointing(run: tt.Trajectory) -> Array:
    """Return the errors (n; rad) of the camera."""
    return np.linalg.norm(run.motion("boom.C")[:, 15:], axis=1)


def amplitude(run: tt.Trajectory, omega: float) -> float:
    """Return the amplitude (rad) of the camera's errors over the last whole periods that fill half of a run."""
    period = 2 * np.pi / omega
    last = run.t > END - period * np.floor(END / 2 / period)
    return float(np.sqrt(2 * (pointing(run)[last] ** 2).mean()))


def envelope(errors: Array) -> tuple[Array, Array]:
    """Return windows of time and the largest errors in them."""
    largest = errors[1:].reshape(-1, round(WINDOW / SAMPLE_TIME)).max(axis=1)
    return WINDOW * (np.arange(len(largest)) + 0.5), largest


def simulated_growth(run: tt.Trajectory) -> float:
    """Return the growth rate (1/s) over the last half of a run."""
    t, largest = envelope(pointing(run))
    return float(np.polyfit(t[t > END / 2], np.log(largest[t > END / 2]), 1)[0])


def draw(found: dict[str, Any]) -> Figure:
    """Draw the growth of members, the bounds and what drives them, gains over frequency, and pointing errors over time."""
    figure = Figure(figsize=(9, 6.5), layout="constrained")
    (rates, mu), (gains, time) = axes = figure.subplots(2, 2)
    fast, slow = found["fast"], found["slow"]
    rates.hist(fast["rates"], bins=40, color="0.6", label=f"{len(fast['rates'])} random members")
    rates.axvline(max(fast["corners"]), color="tab:blue", linewidth=1, label=f"worst of {len(fast['corners'])} corners")
    rates.axvline(
        growth(fast["loop"], fast["worst"].values), color="tab:red", linewidth=1, label="found by tt.robust_stability"
    )
    rates.set(title="fast: growth of members", xlabel="1/s", ylabel="members")
    bounds = found["bounds"]
    mu.stackplot(bounds.omega, (bounds.upper[:, None] * bounds.shares).T, labels=bounds.blocks, alpha=0.9)
    mu.plot(bounds.omega, bounds.upper, color="black", linewidth=1)
    mu.set(title="slow: mu, and what drives it", xlabel="rad/s", xlim=(0.8, 8), ylim=(0, 1))
    omega = np.geomspace(0.02, 10.0, 300)
    for values in slow["loop"].samples(40):
        gains.loglog(omega, 1e3 * gain(slow["loop"].at(values), omega), color="0.7", linewidth=0.5)
    gains.axhline(1e3 * found["gain"].upper, color="black", linestyle="--", linewidth=1, label="no member is above")
    gains.loglog(omega, 1e3 * gain(slow["loop"].at(slow["worst"].values), omega), color="tab:green", label="worst member")
    gains.set(title="slow: disturbance to camera", xlabel="rad/s", ylabel="mrad / N m", ylim=(1e-2, None))
    for (label, run), colour in zip(found["runs"].items(), ("tab:blue", "tab:red", "tab:green"), strict=True):
        t, largest = envelope(pointing(run))
        time.semilogy(t, 1e6 * largest, color=colour, label=label)
    time.set(title=f"nonlinear, sampled, pushed for {PUSH:.0f} s", xlabel="t [s]", ylabel="camera [urad]")
    for axis in axes.flat:
        axis.grid(alpha=0.3)
        axis.legend(fontsize=7)
    return figure


def main(argv: list[str] | None = None) -> dict[str, Any]:
    """Make the models, design, prove, find the worst members, simulate them and draw."""
    parser = argparse.ArgumentParser(description="Robust stability and worst-case gain of a flexible satellite.")
    parser.add_argument("--output", default="robust_satellite.png")
    parser.add_argument("--samples", type=int, default=200)
    arguments = parser.parse_args(argv)
    model = build().resolve()
    family = uncertain(model)
    for b in family.blocks:
        print(f"{b.name}: {b.lower:.4g} to {b.upper:.4g} {b.unit}, {b.repetitions} repetitions, {b.degree} at least")
    print(f"{family.M.nstates} states; members differ from tt.linearize by up to {family.check(5):.1g}")
    controllers = {"fast": design(model, FAST), "slow": design(model, SLOW)}
    found: dict[str, Any] = {"model": model, "family": family}
    for label, K in controllers.items():
        loop = closed(family, K)
        members, corners = loop.samples(arguments.samples), loop.corners()
        stability = tt.robust_stability(loop)
        found[label] = {"loop": loop, "stability": stability, "members": members}
        found[label] |= {"rates": [growth(loop, one) for one in members], "corners": [growth(loop, one) for one in corners]}
        unstable = [sum(rate >= 0 for rate in found[label][of]) for of in ("rates", "corners")]
        print(
            f"{label}: {unstable[0]} of {len(members)} random members and {unstable[1]} of {len(corners)} corners are unstable"
        )
        print(f"{label}: {stability}")
    fast, slow = found["fast"], found["slow"]
    fast["sampled"] = swing(fast["loop"], max(fast["members"], key=lambda one: growth(fast["loop"], one)))
    fast["worst"] = swing(fast["loop"], beyond(fast["loop"], fast["stability"]))
    found["runs"] = {
        "fast, worst random member": disturbed(family, controllers["fast"], fast["sampled"], PUSH),
        "fast, the member found": disturbed(family, controllers["fast"], fast["worst"], PUSH),
        "slow, the same member": disturbed(family, controllers["slow"], fast["worst"], PUSH),
    }
    for label, one in (("fast, worst random member", fast["sampled"]), ("fast, the member found", fast["worst"])):
        rate, predicted = simulated_growth(found["runs"][label]), growth(fast["loop"], one.values)
        print(f"{label}: grows with {rate:.4f} 1/s, by the linear model {predicted:.4f} 1/s")
    found["bounds"] = tt.mu(slow["loop"], np.geomspace(0.8, 8.0, 25))
    found["gain"] = tt.worst_case_gain(slow["loop"], names(DISTURBANCE), names(CAMERA), tolerance=ROOM)
    slow["worst"] = peak(slow["loop"], found["gain"].member)
    slow["sampled"] = max((peak(slow["loop"], values) for values in slow["members"]), key=lambda one: one.gain)
    run = disturbed(family, controllers["slow"], slow["worst"], END)
    found["simulated gain"] = amplitude(run, slow["worst"].omega) / TORQUE
    print(f"slow: {found['gain']}, of random members {slow['sampled'].gain:.6g}, simulated {found['simulated gain']:.6g}")
    draw(found).savefig(arguments.output)
    return found


if __name__ == "__main__":
    main()
