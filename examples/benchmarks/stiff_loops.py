"""A closed chain with a stiff, damped joint: generalised alpha with analytic slopes beside explicit DOP853, equally accurate.

A four-bar linkage, its loop closed by a rigid hinge, whose coupler is cut in two halves that a stiff spring holds in line. The
spring's vibrations are of 1e-4 s and die out in less than that; the linkage turns in a second. DOP853 has to follow the spring
whatever the tolerance; generalised alpha is given the loosest tolerance at which its error is below the goal.

Run it: ``python examples/benchmarks/stiff_loops.py``
"""

from __future__ import annotations

import argparse
import time
import warnings

import numpy as np

import titop as tt

#: Error (rad) in the angles after a second, of 3 rad that the crank turns.
GOAL = 1e-3
TOLERANCES = (1e-4, 3e-5, 1e-5, 3e-6, 1e-6, 3e-7)


def bar(name: str, length: float, mass: float) -> tt.RigidBody:
    """Return a slender bar along x, with a port ``end``."""
    about = mass * length**2 / 12
    inertia = [0.01 * about, about, about]
    return tt.RigidBody(name, mass=mass, com=[length / 2, 0, 0], inertia=inertia, ports={"end": [length, 0, 0]})


def build(stiffness: float, damping: float) -> tt.Model:
    """Return the linkage, with the spring's stiffness (N m/rad) and damping (N m s/rad)."""
    s = tt.System("stiff four-bar", gravity=[0, -9.81, 0])
    s.world.add_port("ground", [1.0, 0, 0])
    bars = [bar("crank", 0.3, 1.0), bar("near", 0.45, 1.0), bar("far", 0.45, 1.0), bar("rocker", 0.7, 1.5)]
    joints = [
        tt.Revolute("q1"),
        tt.Revolute("q2"),
        tt.Revolute("bend", stiffness=stiffness, damping=damping),
        tt.Revolute("q3"),
    ]
    place = s.world
    for body, joint in zip(bars, joints, strict=True):
        s.connect(place, body, joint=joint)
        place = body.port("end")
    s.close_loop(s.world.port("ground"), place, tt.RigidClosure("pin", "revolute"))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tt.ModelWarning)  # the hinge in space is redundant in the plane
        return s.resolve()


def initial_state(model: tt.Model) -> tuple[np.ndarray, np.ndarray]:
    """Return configuration and velocity: the spring in line, the crank turning."""
    fixed = ["q1", "bend"]
    q = model.assemble(model.configuration({"q1": 0.5, "q2": 0.5, "q3": -1.5}), fixed=fixed)
    return q, model.assemble_velocity(q, model.velocity({"q1": 2.0}), fixed=fixed)


def best(model: tt.Model, method: str, expected: np.ndarray, repeats: int) -> tuple[float, float, tt.Trajectory]:
    """Return time (s), error and run of a method at the loosest tolerance that reaches the goal."""
    q, v = initial_state(model)
    for tolerance in TOLERANCES:
        arguments = {"method": method, "rtol": tolerance, "atol": tolerance, "progress": False}
        run = tt.simulate(model, [0, 1], q, v, **arguments)
        error = float(np.abs(run.q[-1] - expected).max())
        if error < GOAL:
            break
    times = []
    for _ in range(repeats):
        begin = time.perf_counter()
        tt.simulate(model, [0, 1], q, v, **arguments)
        times.append(time.perf_counter() - begin)
    return min(times), error, run


def main() -> None:
    """Print times, errors and the ratio."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--stiffness", type=float, default=1e7)
    parser.add_argument("--damping", type=float, default=1e3)
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    model = build(options.stiffness, options.damping)
    expected = tt.simulate(model, [0, 1], *initial_state(model), method="Radau", rtol=1e-9, atol=1e-11).q[-1]
    times = {}
    for method in ("generalized-alpha", "DOP853"):
        times[method], error, run = best(model, method, expected, options.repeats)
        counted = ", ".join(f"{name} {number}" for name, number in run.statistics.items() if name != "seconds")
        print(f"{method}: {1e3 * times[method]:.0f} ms, error {error:.1e} rad ({counted})")
    print(f"ratio {times['DOP853'] / times['generalized-alpha']:.1f}")


if __name__ == "__main__":
    main()
