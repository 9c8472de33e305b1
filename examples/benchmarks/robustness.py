"""Proofs of robustness of a satellite with flexible panels, by the repetitions of its parameters, and one bound beside cvxpy.

Attitude is held by wheels behind two lags, so that the panels' second modes come near to instability. Times are of the
processor, with one thread: what other processes do counts little. cvxpy with Clarabel answers whether scalings for one level
exist at one frequency; titop finds the lowest level there. Without cvxpy that column stays empty.

Run it: ``OMP_NUM_THREADS=1 python examples/benchmarks/robustness.py``
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from importlib.util import find_spec
from itertools import pairwise
from typing import Any

import control
import numpy as np

import titop as tt

#: Longest times (s) of a proof at a level, by the repetitions up to which they are meant.
GOALS = {15: 60.0, 25: 300.0}

#: The frequency (rad/s) and the level of the programme.
AT, LEVEL = 4.0, 1.0


def panel(name: str) -> tt.FlexibleBody:
    """Return a panel along x: bending out of plane and in plane, and torsion."""
    participation = [
        [0.0, 0.0, 3.5, 0.0, -9.0, 0.0],
        [0.0, 2.8, 0.0, 0.0, 0.0, 7.0],
        [0.0, 0.0, 0.3, 1.5, -0.5, 0.0],
        [0.0, 0.0, 1.4, 0.0, -1.6, 0.2],
    ]
    return tt.FlexibleBody(
        name,
        mass=25.0,
        com=[2.4, 0.0, 0.1],
        inertia=[9.0, 52.0, 60.0],
        frequencies=[2.0, 5.5, 9.0, 14.0],
        participation=participation,
        damping_ratios=0.01,
    )


def satellite() -> tt.Model:
    """Return a free hub with two panels on sprung drives."""
    s = tt.System("satellite", gravity=[0.0, 0.0, 0.0])
    inertia = [[120.0, 2.0, -1.0], [2.0, 140.0, 3.0], [-1.0, 3.0, 160.0]]
    left = tt.Pose([-1.0, 0.0, 0.2], np.diag([-1.0, -1.0, 1.0]))
    ports = {"right": [1.0, 0.0, 0.2], "left": left, "imu": [0.1, 0.3, 0.0]}
    hub = tt.RigidBody("hub", mass=200.0, com=[0.05, -0.02, 0.1], inertia=inertia, ports=ports)
    s.connect("world", hub, joint=tt.Free("base"))
    for side, sign in (("right", 1.0), ("left", -1.0)):
        drive = tt.Revolute(f"sada_{side}", axis=[sign, 0, 0], stiffness=400.0, damping=0.8)
        s.connect(hub.port(side), panel(f"panel_{side}"), joint=drive)
    s.add_actuator(tt.Torque("wheels", hub.port("imu")))
    s.add_sensor(tt.Gyro("gyro", hub.port("imu")))
    return s.resolve()


def attitude_control(bandwidth: float = 1.3, lag: float = 5.0) -> control.StateSpace:
    """Return proportional feedback of angles and rates behind two lags (rad/s)."""
    inertia, one, none = np.diag([200.0, 700.0, 800.0]), np.eye(3), np.zeros((3, 3))
    gains = -lag * np.hstack([inertia * bandwidth**2, 1.4 * inertia * bandwidth])
    A, B = lag * np.block([[-one, none], [one, -one]]), np.vstack([gains, np.zeros((3, 6))])
    inputs = [f"base_r{axis}_q" for axis in "xyz"] + [f"gyro_{axis}" for axis in "xyz"]
    outputs = [f"wheels_{axis}" for axis in "xyz"]
    return control.ss(A, B, np.hstack([none, one]), np.zeros((3, 6)), inputs=inputs, outputs=outputs)


def families() -> dict[str, tt.LFTModel]:
    """Return closed loops with 9, 15, 22 and 25 repetitions."""

    def tied(name: str) -> tuple[str, str]:
        return name.replace("*", "right"), name.replace("*", "left")

    first = {"hub.mass": tt.percent(15), tied("panel_*.mode1.frequency"): tt.percent(10)}
    few = {**first, tied("sada_*.stiffness"): tt.percent(20)}
    other = {tied("panel_*.mode2.frequency"): tt.percent(10), "hub.inertia.zz": tt.percent(10), "wheels.z.gain": tt.percent(10)}
    turned = {tied("sada_*.q"): (-0.6, 0.6), tied("panel_*.mass"): tt.percent(5)}
    damped = {"hub.inertia.zz": tt.percent(10), tied("panel_*.mode1.damping"): tt.percent(30)}
    m, K = satellite(), attitude_control()
    outputs = [*(f"base.r{axis}.q" for axis in "xyz"), "gyro"]
    found = {}
    for parameters in (few, {**few, **other}, {**few, **turned}, {**few, **turned, **damped}):
        model = tt.lft(m, m.neutral(), parameters, ["wheels"], outputs).close(K)
        found[f"{sum(block.repetitions for block in model.blocks)}"] = model
    return found


def timed(run: Callable[[], Any]) -> tuple[float, Any]:
    """Return the processor's time (s) and the result."""
    begin = time.process_time()
    result = run()
    return time.process_time() - begin, result


def programme(model: tt.LFTModel) -> float:
    """Return the largest slack of scalings of trace one at one level and frequency, by cvxpy with Clarabel."""
    import cvxpy as cp

    w, z = model.channels
    M = model.M(1j * AT)[:z, :w]
    sizes = [block.repetitions for block in model.blocks]
    ends = np.cumsum([0, *sizes])
    places = [np.eye(w)[begin:end] for begin, end in pairwise(ends)]
    scalings = [[cp.Variable((r, r), hermitian=True) for r in sizes] for _ in "DG"]
    D, G = (sum(E.T @ X @ E for E, X in zip(places, part, strict=True)) for part in scalings)
    skew, t = 1j * (G @ M), cp.Variable()
    F = LEVEL**2 * D - M.conj().T @ D @ M - skew - skew.H
    limits = [*(X >> 0 for X in scalings[0]), (F + F.H) / 2 >> t * np.eye(w), cp.real(cp.trace(D)) == 1]
    cp.Problem(cp.Maximize(t), limits).solve(solver="CLARABEL")
    return float(t.value)


def row(name: str, model: tt.LFTModel) -> str:
    """Return a line of the table."""
    level, proof = timed(lambda: tt.robust_stability(model, progress=False))
    margin, bounds = timed(lambda: tt.robust_stability(model, margin=True, progress=False))
    gain, worst = timed(lambda: tt.worst_case_gain(model, "wheels_x", "gyro_x", progress=False))
    single, _ = timed(lambda: tt.mu(model, [AT], progress=False))
    peer = f"{timed(lambda: programme(model))[0]:.2f}" if find_spec("cvxpy") and find_spec("clarabel") else ""
    verdict = {True: "stable", False: "unstable", None: "undecided"}[proof.robust]
    cells = [name, f"{level:.1f} ({verdict})", f"{margin:.1f} ({bounds.lower:.4f} to {bounds.upper:.4f})"]
    return " | ".join(["", *cells, f"{gain:.1f} ({worst.lower:.4g} to {worst.upper:.4g})", f"{single:.2f}", peer, ""]).strip()


def main() -> None:
    """Print the table as markdown."""
    argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter).parse_args()
    print("| repetitions | at the level, s | margin, s (mu) | worst-case gain, s (gain) | mu at one frequency, s | cvxpy, s |")
    print("|---|---|---|---|---|---|")
    for name, model in families().items():
        print(row(name, model), flush=True)
    print("\nGoals at the level:", ", ".join(f"{goal:g} s up to {size} repetitions" for size, goal in GOALS.items()))


if __name__ == "__main__":
    main()
