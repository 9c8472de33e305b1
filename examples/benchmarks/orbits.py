"""A satellite in orbit: forward dynamics by what surrounds it, and a day of motion.

A hub with four wheels, two flexible panels and fuel on a spring of 0.1 Hz without damping, from the centre of an oblate earth.
Forward dynamics alone, in fields of gravity, and with 20 facets in air and light, a residual dipole and magnetorquers (us of
processor time, the least of several). Then a day at rtol 1e-9: panels and fuel held, and fuel free; beside the first hour of
each by scipy's DOP853 around the same compiled functions, at the same tolerances.

Run it: ``python examples/benchmarks/orbits.py`` (a minute)
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
from scipy.integrate import solve_ivp

import titop as tt
from titop.blocks.basics.spatial import Array

EARTH, ROUND = (tt.CentralGravity(3.986004418e14, 6378136.3, j2=j2) for j2 in (1.0826e-3, 0.0))
ORBIT = tt.Orbit(EARTH, altitude=600e3, inclination=np.deg2rad(98))
FIELD = tt.MagneticField.dipole(2.98e-5, radius=6.3712e6)
FUEL, SLOSH = 40.0, 0.1 * 2 * np.pi  # kg, rad/s
HELD = ["left.mode1", "left.mode2", "right.mode1", "right.mode2"]
DAY, RTOL, ATOL = 86400.0, 1e-9, {"m": 1e-3, "rad": 1e-10, "slosh": 1e-9, "default": 1e-9}


def satellite(gravity: Any, surrounded: bool = True, hold: Sequence[str] = ()) -> tt.Model:
    """Return the satellite, with some coordinates held at rest."""
    ports = {"left": [0, 0.9, 0], "right": [0, -0.9, 0], "tank": [0, 0, -0.5]}
    hub = tt.RigidBody("hub", 500.0, inertia=[150, 420, 400], ports=ports)
    s = tt.System("satellite", gravity=gravity)
    s.connect("world", hub, tt.Free("base"))
    facets = tt.Facet.box(hub, [1.6, 1.8, 2.5], specular=0.3)
    for side, sign in (("left", 1), ("right", -1)):
        modes = [[0, 0, 4.0, 10.0 * sign, 0, 0], [4.0, 0, 0, 0, 0, -10.0 * sign]]
        panel = tt.FlexibleBody(side, 25.0, [0, 2.5 * sign, 0], [208, 8, 216], [2.2, 7.5], modes, damping_ratios=0.005)
        s.connect(hub.port(side), panel, tt.Weld(f"{side}_root"))
        facets += [tt.Facet(panel, 10.0, [0, 0, way], [0, 2.5 * sign, 0]) for way in (1, -1)]
    s.connect(hub.port("tank"), tt.RigidBody("fuel", FUEL), tt.Prismatic("slosh", [1, 0, 0], stiffness=FUEL * SLOSH**2))
    for k, azimuth in enumerate(np.deg2rad([45, 135, 225, 315])):
        s.add_device(tt.ReactionWheel(f"wheel{k}", hub, [np.cos(azimuth), np.sin(azimuth), 0.7], 0.05, mass=5.0))
    if surrounded:
        facets += tt.Facet.box(hub, [0.5, 0.5, 0.5], [0.8, 0, 1.5]) + [tt.Facet(hub, 1.0, [0, 0, k]) for k in (1, 1, -1, -1)]
        s.add_interaction(tt.AerodynamicDrag("drag", facets, 1e-13, 70e3, 600e3, EARTH.radius, rotation=[0, 0, 7.292e-5]))
        s.add_interaction(tt.SolarPressure("sunlight", facets, [0.3, -0.9, 0.3], radius=EARTH.radius))
        s.add_interaction(tt.ResidualDipole("residual", [0.1, 0.2, -0.1], FIELD), hub)
        s.add_actuator(tt.Magnetorquer("torquer", hub, FIELD, max_dipole=50.0))
    return s.resolve(hold=dict.fromkeys(hold, 0.0))


def least(function: Callable[[], object], repeats: int, calls: int) -> float:
    """Return the least processor time (s) of a call."""
    times = []
    for _ in range(repeats):
        begin = time.process_time()
        for _ in range(calls):
            function()
        times.append((time.process_time() - begin) / calls)
    return min(times)


def start(m: tt.Model) -> tuple[Array, Array]:
    """Return the satellite pointing to the earth, near enough to librate."""
    base, v = ORBIT.state()
    return m.configuration({"base": base}), m.velocity({"base": v})


def compare_dynamics(repeats: int) -> None:
    """Print forward dynamics in more and more surroundings."""
    models = {"uniform gravity": satellite([0, 0, 0], False), "a round earth": satellite(ROUND, False)}
    models |= {"an oblate earth": satellite(EARTH, False), "... with magnetics and 20 facets": satellite(EARTH)}
    print("forward dynamics, us:")
    for label, m in models.items():
        (q, v), tau, u = start(m), np.zeros(m.nv), np.full(m.nu, 1e-3)
        m.forward_dynamics(q, v, tau, u=u)
        took = least(partial(m.forward_dynamics, q, v, tau, u=u), repeats, 2000)
        print(f"    {label:<34} {1e6 * took:.1f}")


def scipys(m: tt.Model, end: float, q: Array, v: Array) -> float:
    """Return the processor time (s) of scipy's DOP853 around the same functions."""
    atol = np.tile(np.where(np.arange(m.nq) < 3, 1e-3, 1e-9), 2)[: m.nq + m.nv]

    def slope(t: float, y: Array) -> Array:
        q, v = y[: m.nq].copy(), y[m.nq :]
        q[3:7] /= np.sqrt(q[3:7] @ q[3:7])
        return np.concatenate([m.configuration_rate(q, v), m.forward_dynamics(q, v)])

    begin = time.process_time()
    solve_ivp(slope, (0, end), np.concatenate([q, v]), method="DOP853", rtol=RTOL, atol=atol)
    return time.process_time() - begin


def fly(hours: float) -> None:
    """Print the processor time of a day, or of some hours of it."""
    for label, hold in (("panels and fuel held", [*HELD, "slosh"]), ("fuel of 0.1 Hz free", HELD)):
        m = satellite(EARTH, hold=hold)
        q, v = start(m)
        v[m.coordinate_names.index("slosh")] = 0.0 if "slosh" in hold else 1e-3
        how: dict[str, Any] = {"rtol": RTOL, "atol": ATOL, "progress": False}
        tt.simulate(m, [0, 10], q, v, **how)
        scipys(m, 1.0, q, v)
        times = []
        for end in (hours * 3600.0, 3600.0):
            begin = time.process_time()
            run = tt.simulate(m, [0, end], q, v, **how)
            times.append((time.process_time() - begin, run.statistics["steps"]))
        (took, steps), (hour, _) = times
        share = hour / scipys(m, 3600.0, q, v)
        print(f"{hours:g} h, {label}: {took:.2f} s, {steps} steps; the first hour {share:.2f} of scipy's time")


def main() -> None:
    """Measure."""
    parser = argparse.ArgumentParser(description="A satellite in orbit.")
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--hours", type=float, default=24.0)
    arguments = parser.parse_args()
    compare_dynamics(arguments.repeats)
    fly(arguments.hours)


if __name__ == "__main__":
    main()
