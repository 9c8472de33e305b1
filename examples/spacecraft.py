"""A space telescope from end to end: orbit, panels, tanks, wheels, magnetorquers, sensors, tuning, proof, budget, one orbit.

A telescope in a low orbit points to a star. Its panels bend, fuel sloshes in two tanks, and gravity's gradient,
air, sunlight and a residual dipole turn it. Four wheels, out of balance, hold it, and three magnetorquers take momentum
from them in the earth's field. A star tracker and a drifting gyro feed an estimator. How fast the panels swing, how much fuel
sloshes and the hub's inertia are uncertain: the law is tuned on the whole family, its margins and stability are proved for all
members, and a budget tells what the telescope's errors are made of. Last, the nominal satellite and the member with the least
margins fly one orbit about an oblate earth, with all of this, sampled and noisy: their errors are near those of the budget.

Run it: ``python examples/spacecraft.py`` draws ``spacecraft.png``.
"""

from __future__ import annotations

import argparse
from functools import partial
from typing import Any

import control
import numpy as np
from matplotlib.figure import Figure
from scipy.spatial.transform import Rotation

import titop as tt
from titop.blocks.basics.spatial import Array, cross

EARTH = tt.CentralGravity(3.986004418e14, 6378136.3, j2=1.0826e-3)
ORBIT = tt.Orbit(EARTH, altitude=500e3, inclination=np.deg2rad(51.6))
FIELD = tt.MagneticField.dipole(2.98e-5, radius=6.3712e6, axis=[0.17, -0.05, -0.98])
START: Array = ORBIT.place[0] @ Rotation.from_euler("xyz", [40, 30, 20], degrees=True).as_matrix()  # the telescope, inertial
TILT = np.deg2rad(35)  # of the wheels' axes above the x-y plane
WHEELS, AXES = [f"wheel{k}" for k in range(4)], ["x", "y", "z"]
MOTORS, MOMENTA = [f"{name}/motor" for name in WHEELS], [f"{name}/momentum" for name in WHEELS]
TRACKER, GYRO, FIELD_READ, TORQUERS = ([f"{of}.{axis}" for axis in AXES] for of in ("tracker", "gyro", "field", "torquer"))
TORQUE, ERROR = [f"hub.body.T[{k}]" for k in range(3)], [f"hub.body.theta[{k}]" for k in range(3)]  # the telescope is along z
RATES = [f"hub.body.w[{k}]" for k in range(3)]
NOISES = [f"{name}.noise" for name in (*MOTORS, *TRACKER, *GYRO)] + [f"{name}.instability" for name in GYRO]
PLACE = ["base.x", "base.y", "base.z", *WHEELS]  # about rest nothing depends on these
SAMPLE_TIME, UNLOADING_TIME, GYRO_LAG = 0.5, 5.0, 0.5  # s; without the lag slow errors come from samples of what wheels shake
WHEEL_INERTIA, SPEED, MOMENTUM = 0.1, 28.0, [1.2, -0.8, 0.6]  # kg m^2, rad/s against each other, N m s to be unloaded
INPUTS, OUTPUTS = [*MOTORS, *TORQUE], [*TRACKER, *GYRO, *ERROR]
UNLOADING, MAX_DIPOLE = 1e-3, 60.0  # 1/s, A m^2
LINES = np.array([15.0, 40.0])  # rad/s between which wheels spin
REQUIRED, EXPOSURE, SETTLED = {"APE": 25.0, "RPE": 1.2}, 10.0, 900.0  # arcsec, s, s
RANGES = {
    ("left.mode1.frequency", "right.mode1.frequency"): tt.percent(20),
    ("front/bob1.mass", "back/bob1.mass"): tt.percent(40),
    "hub.inertia.xx": tt.percent(10),
}


def panel(name: str) -> tt.FlexibleBody:
    """Return a panel along x: a uniform cantilever's first mode across it, and one in its plane."""
    mass, length, width, root, shape = 25.0, 5.0, 2.0, 1.8751041, 0.7340955
    force, moment = np.sqrt(mass) * 2 * shape / root, np.sqrt(mass) * length * 2 / root**2
    participation = [[0, 0, force, 0, -moment, 0], [0, force, 0, 0, 0, moment]]
    inertia = np.array([width**2, length**2, width**2 + length**2]) * mass / 12
    return tt.FlexibleBody(name, mass, [length / 2, 0, 0], inertia, [2.2, 7.5], participation, damping_ratios=0.005)


def wheel_axes() -> Array:
    """Return the wheels' axes (3, 4), in a pyramid about z."""
    azimuth = np.deg2rad([45, 135, 225, 315])
    return np.array([np.cos(TILT) * np.cos(azimuth), np.cos(TILT) * np.sin(azimuth), np.full(4, np.sin(TILT))])


def build(orbiting: bool) -> tt.System:
    """Return the satellite: in its orbit with all that surrounds it, or falling freely, alone, for which laws are made."""
    ports = {"left": [0, 0.9, 0], "right": [0, -0.9, 0], "front": [0.3, 0, -0.6], "back": [-0.3, 0, -0.6], "body": [0, 0, 0]}
    hub = tt.RigidBody("hub", mass=900.0, com=[0.02, 0.01, 0], inertia=[600, 520, 480], ports=ports)
    s = tt.System("telescope", gravity=EARTH if orbiting else [0, 0, 0])
    s.connect("world", hub, joint=tt.Free("base"))
    for side, sign in (("left", 1), ("right", -1)):
        outwards = tt.Pose(rotation=Rotation.from_euler("z", 90 * sign, degrees=True))
        s.connect(hub.port(side), panel(side), joint=tt.Weld(f"{side}_root"), placement=outwards)
    for tank in ("front", "back"):  # a membrane holds the fuel as such an acceleration would
        s.add_device(tt.Slosh.sphere(tank, hub.port(tank), 0.3, 0.5, 1010.0, "spring", damping_ratio=0.02, acceleration=0.08))
    for name, axis in zip(WHEELS, wheel_axes().T, strict=True):
        s.add_device(wheel(name, hub.add_port(name, position=0.3 * axis), axis))
    stars = tt.SignalPath(noise_density=[2e-5, 2e-5, 6e-5], sample_time=SAMPLE_TIME)
    rates = {"noise_density": 5e-7, "bias": 2e-6, "bias_instability": 1e-7, "correlation_time": 1000.0}
    s.add_sensor(tt.StarTracker("tracker", hub, START if orbiting else None, path=stars))
    s.add_sensor(tt.Gyro("gyro", hub, path=tt.SignalPath.lag(GYRO_LAG, sample_time=SAMPLE_TIME, **rates)))
    if orbiting:
        surround(s, hub, [s["left"], s["right"]])
    return s


def wheel(name: str, port: Any, axis: Array) -> tt.ReactionWheel:
    """Return a wheel that is out of balance, and shakes at twice its speed, too."""
    jitter = {"static_imbalance": 3e-5, "dynamic_imbalance": 2e-5, "harmonics": [(2.0, 1e-5, 3e-6)], "jitter": "force"}
    path = tt.SignalPath(noise_density=1e-4, sample_time=SAMPLE_TIME)
    return tt.ReactionWheel(name, port, axis, WHEEL_INERTIA, mass=6.0, torque_limit=0.2, path=path, **jitter)


def surround(s: tt.System, hub: tt.RigidBody, panels: list[Any]) -> None:
    """Add air, light and the magnetic field, with magnetorquers and a magnetometer."""
    facets = tt.Facet.box(hub, [1.6, 1.8, 2.5], specular=0.3)
    facets += [tt.Facet(one, 10.0, [0, 0, way], [2.5, 0, 0], specular=0.1) for one in panels for way in (1, -1)]
    s.add_interaction(tt.AerodynamicDrag("drag", facets, 5e-13, 65e3, 500e3, EARTH.radius, 2.2, rotation=[0, 0, 7.292e-5]))
    s.add_interaction(tt.SolarPressure("sunlight", facets, [-0.9, 0.3, 0.31], radius=EARTH.radius))
    s.add_interaction(tt.ResidualDipole("residual", [0.5, -0.3, 0.8], FIELD), hub)
    s.add_actuator(tt.Magnetorquer("torquer", hub, FIELD, max_dipole=MAX_DIPOLE))
    s.add_sensor(tt.Magnetometer("field", hub, FIELD, path=tt.SignalPath(noise_density=1e-8, sample_time=UNLOADING_TIME)))


def law(theta: Any) -> tuple[Any, Any, Any, Any]:
    """Return the same law for each axis: accelerations from angles of the tracker and rates of the gyro.

    The estimator integrates the gyro less its estimated drift, and follows the tracker with a bandwidth k of its own; angle and
    rate are fed back with bandwidth w and damping d; a filter of second order rolls off from r on.
    """
    w, d, r, k = theta
    A = [[-1.4 * k, -1, 0, 0], [k * k, 0, 0, 0], [0, 0, 0, 1], [w * w * r * r, -2 * d * w * r * r, -r * r, -1.4 * r]]
    B = [[1.4 * k, 1], [-k * k, 0], [0, 0], [0, 2 * d * w * r * r]]
    axes = [np.kron(np.array(part), np.eye(3)) for part in (A, B, [[0, 0, 1, 0]], [[0, 0]])]
    return tuple(axes)  # type: ignore[return-value]


def allocation(model: tt.Model) -> control.StateSpace:
    """Return torques of the wheels for accelerations about the axes, of the satellite with all that moves in it held."""
    held = [name for name in model.coordinate_names if name.startswith(("left", "right", "front", "back"))]
    rigid = tt.linearize(model, model.neutral(), MOTORS, RATES, omit=PLACE, hold=held)
    return control.ss([], [], [], np.linalg.pinv(rigid.C @ rigid.B), inputs=AXES, outputs=MOTORS, name="allocation")


def tune(family: tt.LFTModel, wheels: control.StateSpace) -> tt.Tuned:
    """Return the law that lets least of disturbances and noise through, with 6 dB and 40 degrees about each motor."""
    limits = {"lower": [0.02, 0.4, 0.3, 0.005], "upper": [0.5, 1.5, 4, 0.2]}
    names = ["bandwidth", "damping", "roll_off", "estimator"]
    blocks = [tt.Tunable.function("law", law, [0.1, 0.8, 1.0, 0.03], [*TRACKER, *GYRO], AXES, **limits, names=names), wheels]
    quiet = [tt.Goal.gain(TORQUE, ERROR, 0.1), tt.Goal.gain(TRACKER, ERROR, 1.3), tt.Goal.gain(GYRO, ERROR, 40.0)]
    return tt.tune(family, blocks, [*quiet, tt.Goal.margins(MOTORS, gain=6.0, phase=40.0, hard=True)], starts=1)


def unload() -> tt.Controller:
    """Return what takes momentum from the wheels: a dipole across the field, its torque on the hub taken by the wheels."""

    wheels = np.linalg.pinv(wheel_axes())

    def update(t: float, x: Array, y: Array, r: Array) -> tuple[Array, Array]:
        momentum, field = wheel_axes() @ y[:4], y[4:]
        dipole = UNLOADING * cross(momentum, field) / (field @ field)
        dipole = dipole * min(1.0, MAX_DIPOLE / np.abs(dipole).max())
        return x, np.concatenate([dipole, wheels @ cross(dipole, field)])

    return tt.Controller(update, [], [*MOMENTA, *FIELD_READ], [*TORQUERS, *MOTORS], UNLOADING_TIME)


def sources() -> dict[str, Any]:
    """Return what acts on each input of the loop; noise has the densities of the devices' paths."""
    torques = [[tt.ErrorSource.bias(size)] for size in surrounding_torques()]
    for order, each in enumerate(shaking(), start=1):
        for axis, size in zip(torques[:2], each[:2], strict=True):  # about z the telescope is not asked to be quiet
            axis.append(tt.ErrorSource.harmonic(order * LINES / (2 * np.pi), partial(line, size / order**2)))
    noise = dict.fromkeys(NOISES, tt.ErrorSource.noise())
    return dict(zip(TORQUE, torques, strict=True)) | noise | dict.fromkeys(MOTORS)  # nothing else acts on motors


def surrounding_torques() -> Array:
    """Return the torque of gravity, air, light and the residual dipole over an orbit: at most (3; N m).

    It is what holds all at rest in inertial axes while the satellite falls.
    """
    model, torques = build(orbiting=True).resolve(), []
    for anomaly in np.linspace(0, 2 * np.pi, 72):
        q, v = start(model, ORBIT.with_parameters({"anomaly": anomaly}), spinning=False)
        falling = np.where(np.arange(model.nv) < 3, model.forward_dynamics(q, v), 0.0)
        torques.append(-model.inverse_dynamics(q, v, falling)[3:6])
    return np.abs(torques).max(axis=0)


def shaking() -> Array:
    """Return the torques (orders, 3; N m s^2) of all wheels on the hub over the square of their speed, at worst in phase."""
    hub = tt.RigidBody("hub", mass=900.0)
    loads = [
        (0.3 * axis, wheel(name, hub, axis).harmonic_loads(1.0)) for name, axis in zip(WHEELS, wheel_axes().T, strict=True)
    ]
    return sum(np.abs(np.cross(place, each.force) + each.torque) for place, each in loads)


def line(size: float, frequency: Array) -> Array:
    """Return amplitudes that grow with the square of frequencies (Hz)."""
    return size * (2 * np.pi * frequency) ** 2


def start(model: tt.Model, orbit: tt.Orbit = ORBIT, spinning: bool = True) -> tuple[Array, Array]:
    """Return the state at a place of the orbit: at rest in inertial axes, wheels spinning against each other and loaded."""
    base, _ = orbit.state()
    base[3:] = Rotation.from_matrix(START).as_quat()
    speeds = SPEED * np.array([1, -1, 1, -1]) + np.linalg.pinv(wheel_axes()) @ MOMENTUM / WHEEL_INERTIA
    v = {"base": np.concatenate([START.T @ orbit.velocity, np.zeros(3)])} | dict(zip(WHEELS, spinning * speeds, strict=True))
    return model.configuration({"base": base}), model.velocity(v)


def fly(family: tt.LFTModel, member: dict[str, float], K: control.StateSpace, orbits: float) -> tt.Trajectory:
    """Fly a member with all that surrounds it: the law sampled, sensors noisy, wheels shaking, momentum unloaded."""
    values = family.operating_point(member).model.parameters()
    model = build(orbiting=True).resolve().with_parameters({name: values[name][0] for name in np.hstack([*RANGES])})
    atol = {"base": {"m": 1e-3, "rad": 1e-9}, "default": 1e-7}
    loops = [tt.Loop(K, SAMPLE_TIME), unload()]
    t = np.arange(0, orbits * ORBIT.period, SAMPLE_TIME)
    return tt.simulate(model, t, *start(model), controller=loops, rtol=1e-8, atol=atol)


def errors(run: tt.Trajectory) -> Array:
    """Return the errors (n, 3; arcsec) about the telescope's axes, which is to stay as it starts."""
    turned = Rotation.from_matrix(START).inv() * Rotation.from_quat(run.q[:, 3:7])
    return np.asarray(turned.as_rotvec() * 3600 * 180 / np.pi)


def measured(run: tt.Trajectory) -> Array:
    """Return APE and RPE (2, 2; arcsec) across the telescope: what errors are below for 99.73 % of the time, three sigma."""
    across = errors(run)[run.t >= SETTLED, :2]
    return np.array([np.quantile(np.abs(across), 0.9973, axis=0), 3 * np.sqrt((jitter(across) ** 2).mean(axis=0))])


def jitter(size: Array) -> Array:
    """Return the root mean square (k, ...) of errors (n, ...) in each exposure about its mean."""
    count = round(EXPOSURE / SAMPLE_TIME)
    return size[: len(size) // count * count].reshape(-1, count, *size.shape[1:]).std(axis=1)


def momentum(run: tt.Trajectory) -> Array:
    """Return the momentum (n, 3; N m s) that the wheels have stored."""
    return run.outputs()[:, [run.model.output_names.index(name) for name in MOMENTA]] @ wheel_axes().T


def draw(budget: tt.PointingBudget, runs: dict[str, tt.Trajectory]) -> Figure:
    """Draw the errors over the orbit with what the budget allows, the budget by source, and the momentum that is unloaded."""
    figure = Figure(figsize=(9, 6.5), layout="constrained")
    (error, share), (within, stored) = figure.subplots(2, 2)
    for (label, run), color in zip(runs.items(), ("tab:blue", "tab:red"), strict=True):
        minutes, size = run.t / 60, errors(run)[:, 1]
        shaken = jitter(size)
        error.plot(minutes, size, color=color, linewidth=0.5, label=label)
        within.plot(EXPOSURE / 60 * np.arange(len(shaken)), shaken, color=color, linewidth=0.8, label=label)
        stored.plot(minutes, np.linalg.norm(momentum(run), axis=1), color=color, label=label)
    for sign in (-1, 1):
        error.axhline(sign * budget.worst[0, 1], color="black", linestyle="--", linewidth=1)
    sigma = np.linalg.norm(budget.sigma[2, 1])
    within.axhline(sigma, color="black", linestyle="--", linewidth=1, label="budget, one sigma")
    error.set(title="error about y, and the budget's APE", ylabel="arcsec", ylim=(-15, 15))
    within.set(title="jitter in exposures of 10 s", ylabel="arcsec, rms", ylim=(0, 4 * sigma), xlabel="t [min]")
    stored.set(title="momentum of the wheels", ylabel="N m s", ylim=(0, None), xlabel="t [min]")
    groups = summary(budget)
    for k, metric in enumerate(("APE", "RPE")):
        share.barh(np.arange(len(groups)) + 0.4 * k, [each[k] for each in groups.values()], 0.4, label=metric)
    share.set(title="each alone, about y [arcsec]", yticks=np.arange(len(groups)) + 0.2, yticklabels=[*groups])
    for axis in (error, share, within, stored):
        axis.grid(alpha=0.3)
        axis.legend(fontsize=8)
    return figure


def summary(budget: tt.PointingBudget) -> dict[str, Array]:
    """Return APE and RPE about y (arcsec) of groups of sources: each alone, added by their squares."""
    groups = {"surroundings": ("(1)", TORQUE[2]), "imbalance": "(2)", "harmonic": "(3)", "wheels' noise": "motor.noise"}
    groups |= {"star tracker": tuple(NOISES[4:7]), "gyro": tuple(NOISES[7:10]), "gyro's drift": "instability"}
    alone = budget.by_source[[0, 2], 1]  # APE and RPE about y
    return {
        label: np.linalg.norm(alone[:, [name.endswith(ends) for name in budget.sources]], axis=1)
        for label, ends in groups.items()
    }


def main(argv: list[str] | None = None) -> dict[str, Any]:
    """Tune, prove, make the budget, fly one orbit with the nominal satellite and with the worst member, and draw."""
    parser = argparse.ArgumentParser(description="A space telescope from end to end.")
    parser.add_argument("--output", default="spacecraft.png")
    parser.add_argument("--orbits", type=float, default=1.0)
    arguments = parser.parse_args(argv)
    model = build(orbiting=False).resolve()
    family = tt.lft(model, model.neutral(), RANGES, INPUTS, OUTPUTS, omit=PLACE)
    tuned = tune(family, allocation(model))
    print(f"{family}\n{tuned}")
    noisy = tt.lft(model, model.neutral(), RANGES, INPUTS, OUTPUTS, omit=PLACE, noise=True)
    loop = noisy.close(tuned.controller, delay=dict.fromkeys(MOTORS, SAMPLE_TIME / 2), sign=-1)  # commands are held
    print(f"with commands that are held: {tt.robust_stability(loop)}")
    windows = {"window": EXPOSURE, "requirement": REQUIRED, "unit": "arcsec"}
    budget = tt.pointing_budget(loop, sources(), ERROR[:2], **windows)
    print(budget)
    print("about y, APE and RPE alone:", {name: each.round(2).tolist() for name, each in summary(budget).items()})
    members = {"nominal": {}, "least margins": tuned.proof[-1].member}
    runs = {label: fly(noisy, member, tuned.controller, arguments.orbits) for label, member in members.items()}
    flown = {label: measured(run) for label, run in runs.items()}
    for label, run in runs.items():
        stored = np.linalg.norm(momentum(run)[[0, -1]], axis=1)
        print(
            f"{label}, {run.t[-1] / 60:.0f} min flown: APE {flown[label][0].round(2)}, RPE {flown[label][1].round(2)} arcsec;",
            end=" ",
        )
        print(f"wheels unloaded from {stored[0]:.2f} to {stored[1]:.2f} N m s, at most {np.abs(run.v[:, -4:]).max():.0f} rad/s")
    draw(budget, runs).savefig(arguments.output)
    return {"family": family, "tuned": tuned, "loop": loop, "budget": budget, "runs": runs, "flown": flown}


if __name__ == "__main__":
    main()
