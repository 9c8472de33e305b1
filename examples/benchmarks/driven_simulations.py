"""What drives and closes simulations costs: each beside an open tree of equal size; and systems from ``to_nlsys``, a call.

Chains of ten bars: with a gear, closed to a loop, with a prescribed hinge (a function, a spline), closed and prescribed; and a
7-dof arm under functions of time and state and under controllers. Functions that damp stand beside dampers in the joints, a
controller at 100 Hz also beside steps as short. The same methods at the same tolerances; CPU times of the whole call of
`simulate`, interleaved, the least of some; then less what the caller's functions take alone, as often as they are called.

Run it: ``python examples/benchmarks/driven_simulations.py``
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable
from timeit import Timer
from types import FunctionType
from typing import Any, NamedTuple

import control
import numpy as np
from closed_loops import BARS, chain, linkage
from models import fixed_arm, system
from scipy.interpolate import CubicSpline

import titop as tt

DAMPING, SAMPLE = 2.0, 0.01
#: Goals: times of an open tree of equal size; time (s) of a call of ``to_nlsys``.
GOAL, CALL_GOAL = 2.0, 20e-6
END = 4.0
TIMES = np.linspace(0, END, 21)


class Case(NamedTuple):
    """A simulation, beside another one of equal size by its name."""

    beside: str
    model: tt.Model
    q: np.ndarray
    v: np.ndarray
    given: dict[str, Any]


def swing(t: float) -> tuple[float, float, float]:
    """Return a prescribed angle, its rate and its acceleration."""
    return 0.1 + 0.3 * np.sin(t), 0.3 * np.cos(t), -0.3 * np.sin(t)


def damped(t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Return the efforts of dampers."""
    return -DAMPING * v


def pushed(t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Return a wrench that varies in time."""
    return np.array([np.sin(t), 0, 0, 0, 0, 0])


class Counted:
    """A function that counts its calls.

    Parameters
    ----------
    function : callable
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function, self.calls, self.last = function, 0, ()

    def __call__(self, *arguments: Any) -> Any:
        self.calls, self.last = self.calls + 1, arguments
        return self.function(*arguments)

    def seconds(self) -> float:
        """Return what all these calls take alone."""
        timer = Timer(lambda: self.function(*self.last), timer=time.process_time)
        return self.calls * min(timer.repeat(7, 1000)) / 1000


def alone(case: Case) -> float:
    """Return what the functions of a simulation take alone (s), as often as they are called there."""
    counted: list[Counted] = []

    def count(given: Any) -> Any:
        if isinstance(given, dict):
            return {name: count(value) for name, value in given.items()}
        if not isinstance(given, FunctionType):
            return given
        counted.append(Counted(given))
        return counted[-1]

    tt.simulate(case.model, TIMES, case.q, case.v, progress=False, **count(case.given))
    return sum(function.seconds() for function in counted)


def build() -> tt.Model:
    """Return the arm with a motor in each joint."""
    s = system(fixed_arm())
    for k in range(1, 8):
        s.add_actuator(tt.Motor(f"motor{k}", f"link{k}_joint"))
    return s.resolve()


def chain_case(kind: str, beside: str, **given: Any) -> Case:
    """Return a chain of bars that swings, its first hinge where it is prescribed to be."""
    model, rng, driven = chain(kind), np.random.default_rng(0), list(given.get("prescribed", {}))
    q, v = 0.3 * rng.normal(size=BARS), 0.3 * rng.normal(size=BARS)
    if driven:
        q[0], v[0] = swing(0.0)[:2]
    if model.is_constrained:
        q = model.assemble(q, driven)
        v = model.assemble_velocity(q, v, driven)
    return Case(beside, model, q, v, given)


def cases() -> dict[str, Case]:
    """Return all simulations by name."""
    times = np.linspace(0, END, 41)
    spline = CubicSpline(times, [swing(t)[0] for t in times])
    names = range(1, 8)
    inputs, outputs = [f"link{k}_joint_q" for k in names], [f"motor{k}" for k in names]
    lag = control.ss(-10 * np.eye(7), np.eye(7), np.eye(7), 2 * np.eye(7), inputs=inputs, outputs=outputs)
    model = build()

    damping = {name: DAMPING for name in model.parameters() if name.endswith("_joint.damping")}

    def arm(beside: str = "arm", model: tt.Model = model, **given: Any) -> Case:
        return Case(beside, model, np.linspace(0.1, 0.7, 7), np.zeros(7), given)

    return {
        "chain": chain_case("open", "chain"),
        "chain, a gear": chain_case("gear", "chain"),
        "chain, closed": chain_case("loop", "chain"),
        "chain, prescribed hinge": chain_case("open", "chain", prescribed={"hinge0": swing}),
        "chain, prescribed spline": chain_case("open", "chain", prescribed={"hinge0": spline}),
        "chain, closed and prescribed": chain_case("loop", "chain", prescribed={"hinge0": swing}),
        "arm": arm(),
        "arm, prescribed joint": arm(prescribed={"link1_joint": swing}),
        "arm, dampers": arm("arm, dampers", model.with_parameters(damping)),
        "arm, tau=f(t, q, v)": arm("arm, dampers", tau=damped),
        "arm, u=f(t, q, v)": arm("arm, dampers", u=damped),
        "arm, wrench=f(t, q, v)": arm(wrenches={"link7": pushed}),
        "arm, continuous controller": arm(controller=lag),
        "arm, controller at 100 Hz": arm(controller=lag, sample_time=SAMPLE),
        "arm, steps of 10 ms at most": arm(max_step=SAMPLE),
        "arm, the same controller": arm("arm, steps of 10 ms at most", controller=lag, sample_time=SAMPLE),
    }


def simulation_times(repeats: int) -> None:
    """Print the times of all simulations beside those of equal size."""
    found: dict[str, float] = {}
    counted: dict[str, float] = {}
    all_cases = cases()
    for turn in range(repeats + 1):
        for name, case in all_cases.items():
            begin = time.process_time()
            run = tt.simulate(case.model, TIMES, case.q, case.v, progress=False, **case.given)
            taken = time.process_time() - begin
            counted[name] = run.statistics["steps"]
            if turn:  # the first one loads, or compiles
                found[name] = min(found.get(name, np.inf), taken)
    for name, case in all_cases.items():
        ratio, a_step = found[name] / found[case.beside], 1e6 * found[name] / counted[name]
        per_step = ratio * counted[case.beside] / counted[name]
        ours = (found[name] - alone(case)) / found[case.beside]
        missed = ", missed" if ratio > GOAL else ""
        print(
            f"{name:30s} {1e3 * found[name]:7.1f} ms, {counted[name]:5.0f} steps of {a_step:6.1f} us: "
            f"{ratio:5.2f} x, {per_step:5.2f} x a step, {ours:5.2f} x less its functions (goal {GOAL:g}{missed})"
        )


def call_times(repeats: int) -> None:
    """Print the time of the rates of systems from ``to_nlsys``."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tt.ModelWarning)  # of redundant constraints
        loop = linkage().resolve()
    q = loop.assemble([np.pi / 2, -1.2, -1.2], fixed=["crank_hinge"])
    point = tt.OperatingPoint(loop, q, np.zeros(3), np.zeros(3))
    arm = build()
    plants: dict[str, tuple[Any, np.ndarray, np.ndarray]] = {
        "arm": (arm.to_nlsys(["motor1", "motor2"]), np.full(14, 0.1), np.ones(2)),
        "arm, prescribed joint": (arm.to_nlsys(["link1_joint.a"]), np.full(14, 0.1), np.ones(1)),
        "four-bar": (loop.to_nlsys(["crank_hinge"], None, point, ["crank_hinge"]), np.array([q[0], 1.0]), np.ones(1)),
    }
    for name, (plant, x, w) in plants.items():
        timer = Timer("plant.updfcn(0.0, x, w, {})", timer=time.process_time, globals={"plant": plant, "x": x, "w": w})
        call = min(timer.repeat(5 * repeats, 300)) / 300
        missed = ", missed" if call > CALL_GOAL else ""
        print(f"to_nlsys, {name:20s} {1e6 * call:6.1f} us a call (goal {1e6 * CALL_GOAL:g}{missed})")


def main() -> None:
    """Print the times."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=10)
    repeats = parser.parse_args().repeats
    simulation_times(repeats)
    call_times(repeats)


if __name__ == "__main__":
    main()
