"""An observatory satellite of 34 coordinates with modes of 0.1 to 400 Hz: linear models over parameters, and its closed loop.

First many linear models about the neutral configuration, over the hub's mass, a mode's frequency and Young's modulus of a beam:
ms each, in all and without linearisation, beside linearisation alone and beside resolving the system. Then a sampled attitude
controller, by explicit and by exponential steps at the default tolerances: processor time, steps, and the largest error in
tolerances, beside steps at a tolerance a thousand times tighter.

Run it: ``python examples/benchmarks/flexible_loops.py`` (a minute)
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable

import control
import numpy as np
from scipy.spatial.transform import Rotation

import titop as tt

HZ, ARRAY, LENGTH, SAMPLE = 2 * np.pi, 45.0, 7.0, 0.1
MODES, WHEELS = np.array([0.185, 1.16, 0.91, 0.98]) * HZ, [f"rw{k}" for k in range(1, 5)]
MOTORS, MEASURED = (
    [f"{wheel}/motor" for wheel in WHEELS],
    [*(f"str.theta[{k}]" for k in range(3)), "gyro.x", "gyro.y", "gyro.z"],
)
AXES = np.array([[np.cos(0.61) * np.cos(a), np.cos(0.61) * np.sin(a), np.sin(0.61)] for a in np.deg2rad([45, 135, 225, 315])])
PARTICIPATION = np.zeros((4, 6))
PARTICIPATION[[0, 0, 1, 1, 2, 2, 3], [2, 4, 2, 4, 1, 5, 3]] = 5.252, -26.7, -2.911, 4.26, 5.252, 26.7, 3.487


def satellite() -> tt.System:
    """Return the satellite: a hub with an array by its modes and one as a beam, sloshing fuel, a boom with a dish, wheels."""
    ports = {"left": [0, 0.9, 0], "right": [0, -0.9, 0], "tank": [0, 0, -0.5], "gimbal": [0.8, 0, 0.6]}
    hub = tt.RigidBody("hub", 1000.0, com=[0, 0, 0.05], inertia=[[620, 8, -5], [8, 560, 4], [-5, 4, 480]], ports=ports)
    s = tt.System("observatory", gravity=[0, 0, 0])
    s.connect("world", hub, tt.Free("base"))
    area, line = 0.06, ARRAY / LENGTH
    young = (MODES[0] / 1.8751041**2) ** 2 * line * LENGTH**4 / 4.5e-6
    inertia = [ARRAY / 3, ARRAY * LENGTH**2 / 12, ARRAY * (4 + LENGTH**2) / 12]
    left = tt.FlexibleBody("left", ARRAY, [LENGTH / 2, 0, 0], inertia, MODES, PARTICIPATION, damping_ratios=0.005)
    right = tt.Beam("right", LENGTH, line / area, area, young, 4.5e-6, 0.02, shear_modulus=8e4, damping_ratio=0.005, modes=1)
    for sign, body in ((1, left), (-1, right)):
        place = tt.Pose(rotation=Rotation.from_euler("z", 90 * sign, degrees=True))
        drive = tt.Revolute(f"{body.name}_drive", axis=[sign, 0, 0], stiffness=2000.0, damping=8.0)
        s.connect(hub.port(body.name), body, drive, placement=place)
    fuel = tt.RigidBody("fuel", 45.0, com=[0, 0, -0.4], inertia=0.0)
    s.connect(hub.port("tank"), fuel, tt.Universal("slosh", stiffness=4.1, damping=0.1))
    boom = tt.Beam("boom", 2.5, 1600.0, 3e-4, 6e10, 4e-8, 4e-8, damping_ratio=0.008, modes=0, torsion_modes=0)
    gimbal = tt.Universal("gimbal", axis1=[0, 1, 0], axis2=[0, 0, 1], stiffness=3000.0, damping=3.0)
    s.connect(hub.port("gimbal"), boom, gimbal)
    s.connect(boom.port("C"), tt.RigidBody("dish", 8.0, com=[0.2, 0, 0], inertia=[0.9, 0.6, 0.6]), tt.Weld("mount"))
    for wheel, axis in zip(WHEELS, AXES, strict=True):
        s.add_actuator(tt.ReactionWheel(wheel, hub, axis, 0.08, mass=6.0))
    s.add_sensor(tt.PoseSensor("str", hub))
    s.add_sensor(tt.Gyro("gyro", hub))
    return s


def controller() -> control.StateSpace:
    """Return proportional feedback of angles and rates to the wheels, well below the lowest modes."""
    gains = np.linalg.pinv(-AXES.T) @ np.kron([[25.0, 150.0]], np.eye(3))
    names = [name.replace(".", "_") for name in MEASURED]
    return control.ss([], [], [], gains, SAMPLE, inputs=names, outputs=MOTORS)


def measured(function: Callable[[], object], repeats: int) -> float:
    """Return the least processor time (s) of some calls."""
    times = []
    for _ in range(repeats):
        begin = time.process_time()
        function()
        times.append(time.process_time() - begin)
    return min(times)


def linear_models(m: tt.Model, repeats: int) -> None:
    """Print times of linear models."""
    rng, known = np.random.default_rng(0), m.parameters()
    names = "hub.mass", "left.mode1.frequency", "right.young"

    def varied() -> tt.Model:
        return m.with_parameters({name: known[name][0] * rng.uniform(0.9, 1.1) for name in names})

    def linear(model: tt.Model) -> control.StateSpace:
        return tt.linearize(model, model.neutral(), MOTORS, MEASURED)

    rows = {
        "linear model at other parameters": lambda: linear(varied()),
        "... other parameters": varied,
        "... linear model": lambda: linear(m),
        "resolving the system": lambda: satellite().resolve(),
    }
    for name, function in rows.items():
        function()
        print(f"{name:34}{1e3 * measured(function, repeats):8.2f} ms")


def closed_loop(m: tt.Model, end: float) -> None:
    """Print times, steps and errors of the closed loop."""
    t, q, v = np.linspace(0.0, end, int(end) + 1), m.neutral(), m.velocity({"base.rx": 1e-3, "base.ry": -2e-3, "base.rz": 1e-3})

    def run(**given: object) -> tt.Trajectory:
        return tt.simulate(m, t, q, v, controller=controller(), delay=SAMPLE, progress=False, **given)

    exact = run(rtol=1e-11, atol=1e-13)
    run(method="exponential")
    for method in ("DOP853", "exponential"):
        seconds, found = measured(lambda: run(method=method), 2), run(method=method)  # noqa: B023
        pairs = (found.q, exact.q), (found.v, exact.v)
        errors = [float((np.abs(x - y) / (1e-10 + 1e-8 * np.abs(y))).max()) for x, y in pairs]
        steps = found.statistics["steps"]
        print(f"{method:12}{seconds:6.2f} s, {steps} steps, errors of q and v: {errors[0]:.2g}, {errors[1]:.2g} tolerances")


def main() -> None:
    """Print all times."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=50)
    parser.add_argument("--end", type=float, default=20.0, help="of the simulation (s)")
    given = parser.parse_args()
    warnings.simplefilter("ignore", tt.ModelWarning)
    m = satellite().resolve()
    linear_models(m, given.repeats)
    closed_loop(m, given.end)


if __name__ == "__main__":
    main()
