"""Ensembles beside their members one after the other: the balloon, a satellite and a cart-pole in sampled loops.

Run it: ``python examples/benchmarks/ensembles.py``. Times are CPU times a member, least of some repeats in turn. With ``--study
100000 --workers 2`` a Monte Carlo study of so many cart-poles is run as well, beside MuJoCo's `rollout` in turn, if it is
installed: with a call for each sample of the controller, and one step of its Runge-Kutta method.
"""

from __future__ import annotations

import argparse
import copy
import os
import resource
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


CART_POLE = """<mujoco><option gravity="0 0 -9.81" timestep="0.02" integrator="RK4"/><worldbody><body name="cart">
<joint type="slide" axis="1 0 0" damping="0.1"/><inertial pos="0 0 0" mass="1" diaginertia="0.1 0.1 0.1"/><body name="pole">
<joint axis="0 1 0" damping="0.002"/><inertial pos="0 0 0.5" mass="0.1" diaginertia="0.01 0.01 0.01"/></body></body></worldbody>
</mujoco>"""


def mujoco_cart_poles(gains: np.ndarray, q0: Any, masses: dict[str, np.ndarray]) -> Callable[[], np.ndarray] | None:
    """Return what simulates cart-poles in MuJoCo, and returns where they are after 10 s; None if it is not installed."""
    try:
        import mujoco
        from mujoco import rollout
    except ImportError:
        return None
    model = mujoco.MjModel.from_xml_string(CART_POLE)
    models = [copy.copy(model) for _ in masses["cart.mass"]]
    for k, each in enumerate(models):
        each.body_mass[1:] = masses["cart.mass"][k], masses["pole.mass"][k]
    data, spec, control = mujoco.MjData(model), mujoco.mjtState.mjSTATE_FULLPHYSICS, mujoco.mjtState.mjSTATE_QFRC_APPLIED
    start = np.zeros((len(models), mujoco.mj_stateSize(model, spec)))
    start[:, 1:3] = q0

    def run() -> np.ndarray:
        state, applied = start, np.zeros((len(models), 1, 2))
        for _ in range(500):
            applied[:, 0, 0] = -(state[:, 1:5] @ gains)
            state = rollout.rollout(models, [data], state, applied, control_spec=control)[0][:, 0].copy()
        return state[:, 1:3]

    return run


def study(n: int, workers: int, method: str) -> None:
    """Run a study of cart-poles of other masses; print its times, and those of MuJoCo."""
    model, arguments, masses = cart_pole(1000, np.random.default_rng(0))
    arguments["method"] = method
    run = tt.Run(outcome=last, **arguments)
    tt.monte_carlo(model, {"cart.mass": tt.percent(10)}, run, n=100, progress=False)  # compiles
    begin, used = time.perf_counter(), spent()
    samples = tt.monte_carlo(model, {"cart.mass": tt.percent(10), "pole.mass": tt.percent(10)}, run, n=n, workers=workers)
    wall, used = time.perf_counter() - begin, spent() - used
    print(f"{n:,} members by {method} in {workers} processes: {wall:.1f} s, {1e3 * used / n:.3f} ms of a core each", end="")
    print(f"; load {os.getloadavg()[0]:.1f}")
    assert not samples.failures
    assert np.abs(samples.outcomes["q"]).max() < 1e-3
    run_mujoco = mujoco_cart_poles(arguments["controller"].D[0], arguments["q0"], masses)
    if run_mujoco is not None:
        times, found = [], dict[str, np.ndarray]()
        for _ in range(3):
            mine = seconds(
                lambda: found.update(here=tt.simulate(model, **arguments, parameters=masses, progress=False).q[:, -1])
            )
            times.append((mine, seconds(lambda: found.update(there=run_mujoco()))))
        ours, theirs = (min(each) / 1000 for each in zip(*times, strict=True))
        away = np.abs(found["here"] - found["there"]).max()
        print(f"1,000 of them {1e3 * ours:.3f} ms each, MuJoCo {1e3 * theirs:.3f}: {ours / theirs:.2f}; ends {away:.1e} apart")


def last(trajectory: tt.Trajectory) -> dict[str, np.ndarray]:
    """Return where a cart-pole is at the end."""
    return {"q": trajectory.q[-1]}


def spent() -> float:
    """Return the CPU time (s) of this process and those that it has ended."""
    return sum(sum(resource.getrusage(who)[:2]) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))


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
    parser.add_argument("--study", type=int, default=0)
    parser.add_argument("--workers", type=int, default=2)
    arguments = parser.parse_args()
    print(f"{'ms a member':<44}{'alone':>8}{'together':>10}{'ratio':>8}  same bits")
    for make in (balloon, satellite, cart_pole):
        alone, together, same = compare(make, arguments.members, arguments.alone)
        title = str(make.__doc__).removeprefix("Return ").split(",", maxsplit=1)[0]
        print(f"{title:<44}{1e3 * alone:>8.2f}{1e3 * together:>10.2f}{together / alone:>8.2f}  {same}")
    for method in ("DOP853", "RK45") if arguments.study else ():
        study(arguments.study, arguments.workers, method)


if __name__ == "__main__":
    main()
