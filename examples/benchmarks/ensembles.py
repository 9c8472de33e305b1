"""Ensembles beside their members one after the other: the balloon, a satellite and a cart-pole in sampled loops.

Run it: ``python examples/benchmarks/ensembles.py``. Times are CPU times a member, least of some repeats in turn.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import control
import numpy as np

import titop as tt

sys.path.insert(0, str(Path(__file__).parent.parent))
from balloon import build, initial_state, resolve
from satellite import build as build_satellite

#: Members of a study in which the time of the last row is told.
STUDY = 100_000


def balloon(n: int, rng: np.random.Generator) -> tuple[tt.Model, dict[str, Any], dict[str, np.ndarray]]:
    """Return the balloon for 20 s, which members begin with other velocities."""
    model = resolve(build())
    q0, v0 = initial_state(model)
    stacks = {"v0": v0 + 0.01 * rng.normal(size=(n, model.nv))}
    return model, {"t": np.linspace(0, 20, 201), "q0": q0, "rtol": 1e-8}, stacks


def satellite(n: int, rng: np.random.Generator) -> tuple[tt.Model, dict[str, Any], dict[str, np.ndarray]]:
    """Return a satellite for 100 s, whose wheels damp its rates and hold its attitude at 4 Hz, measured with noise."""
    model = build_satellite().resolve()
    axes = np.array([[np.cos(a), np.sin(a), np.sqrt(0.5)] for a in np.deg2rad(45 + 90 * np.arange(4))])
    allocation = np.linalg.pinv((axes / np.linalg.norm(axes, axis=1)[:, None]).T)
    gains = np.hstack([-1.0 * np.eye(3), -8.0 * np.eye(3)])
    inputs = [f"star_tracker_theta[{k}]" for k in range(3)] + [f"gyro_w[{k}]" for k in range(3)]
    names = [name for name in model.output_names if name.startswith(("star_tracker.theta", "gyro"))]
    inputs = [name.replace(".", "_") for name in names]
    K = control.ss([], [], [], allocation @ gains, 0.25, inputs=inputs, outputs=[f"wheel{k}" for k in range(4)])
    arguments = {"t": np.linspace(0, 100, 101), "q0": model.neutral(), "rtol": 1e-8, "controller": K, "noise": 1e-5}
    v0 = np.zeros((n, model.nv))
    v0[:, 3:6] = 0.01 * rng.normal(size=(n, 3))
    return model, arguments, {"v0": v0}


def cart_pole(n: int, rng: np.random.Generator) -> tuple[tt.Model, dict[str, Any], dict[str, np.ndarray]]:
    """Return a pole on a cart for 10 s, which a controller keeps upright at 50 Hz."""
    s = tt.System("cart-pole")
    cart, pole = tt.RigidBody("cart", mass=1.0, inertia=0.1), tt.RigidBody("pole", mass=0.1, com=[0, 0, 0.5], inertia=0.01)
    s.connect("world", cart, tt.Prismatic("rail", axis=[1, 0, 0], damping=0.1))
    s.connect(cart, pole, tt.Revolute("hinge", axis=[0, 1, 0], damping=0.002))
    s.add_actuator(tt.Motor("motor", "rail"))
    model, outputs = s.resolve(), ["rail.q", "hinge.q", "rail.v", "hinge.v"]
    linear = tt.linearize(model, tt.OperatingPoint(model, [0, 0]), inputs=["motor"], outputs=outputs)
    gains = control.lqr(linear.A, linear.B, np.diag([1, 1, 0.1, 0.1]), [[0.1]])[0]
    K = control.ss([], [], [], gains, 0.02, inputs=[name.replace(".", "_") for name in outputs], outputs=["motor"])
    arguments = {"t": np.linspace(0, 10, 101), "q0": [0.0, 0.1], "v0": [0.0, 0.0], "rtol": 1e-6, "controller": K}
    return model, arguments, {"cart.mass": rng.uniform(0.9, 1.1, n), "pole.mass": rng.uniform(0.09, 0.11, n)}


def seconds(function: Callable[[], Any]) -> float:
    """Return the CPU time (s) of a call."""
    begin = time.process_time()
    function()
    return time.process_time() - begin


def compare(make: Callable[..., Any], n: int, few: int, repeats: int = 3) -> tuple[float, float, bool]:
    """Return the times (s) of a member, one after the other and together, and whether their bits are the same."""
    model, arguments, stacks = make(n, np.random.default_rng(0))
    parameters = {name: column for name, column in stacks.items() if name != "v0"}
    together = arguments | {name: column for name, column in stacks.items() if name == "v0"}
    together |= {"parameters": parameters} if parameters else {}
    found: dict[str, Any] = {}

    def alone() -> None:
        for k in range(few):
            own = {name: rows[k] for name, rows in together.items() if name == "v0" and np.ndim(rows) == 2}
            changed = model.with_parameters({name: float(column[k]) for name, column in parameters.items()})
            seed = np.random.SeedSequence(0, spawn_key=(k,))
            found[str(k)] = tt.simulate(changed, **(arguments | own), seed=seed, progress=False)

    def whole() -> None:
        found["ensemble"] = tt.simulate(model, **together, progress=False)

    times = [(seconds(alone) / few, seconds(whole) / n) for _ in range(repeats)]
    same = all(np.array_equal(found[str(k)].q, found["ensemble"][k].q) for k in range(few))
    return min(one for one, _ in times), min(many for _, many in times), same


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--members", type=int, default=1000)
    parser.add_argument("--alone", type=int, default=20)
    arguments = parser.parse_args()
    print(f"{'ms a member':<44}{'alone':>8}{'together':>10}{'ratio':>8}  same bits")
    for make in (balloon, satellite, cart_pole):
        alone, together, same = compare(make, arguments.members, arguments.alone)
        title = str(make.__doc__).removeprefix("Return ").split(",", maxsplit=1)[0]
        print(f"{title:<44}{1e3 * alone:>8.2f}{1e3 * together:>10.2f}{together / alone:>8.2f}  {same}")
    print(f"{STUDY:,} of the last take {STUDY * together:.0f} s on one core")


if __name__ == "__main__":
    main()
