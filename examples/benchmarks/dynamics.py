"""Inverse dynamics (ID), forward dynamics (FD), mass matrix (M) and derivatives (dID, dFD), one call, beside other engines.

Every number comes from several fresh processes. In each, all engines are checked to agree, then timed in turns, and the
fastest of many repeats counts; ratios are taken within a process, and their median over the processes is reported.

Run it: ``python examples/benchmarks/dynamics.py``
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
from timeit import Timer
from typing import Any, NamedTuple

import numpy as np
from models import aerial_manipulator, fixed_arm, random_state
from peers import PEERS, Drake, MuJoCo, Pinocchio, engines

#: Time (s) given to one engine before it is the next one's turn.
TURN = 0.005
#: Columns of the tables.
NAMES = ("titop", *(peer.name for peer in PEERS))
BATCH = 10_000
#: Quantities whose results grow with the square of the number of bodies: left out for the largest model.
DENSE = ("dID", "dFD")

#: Time (s) of a call by model, quantity and engine.
Times = dict[str, dict[str, dict[str, float]]]


class Goal(NamedTuple):
    """The largest allowed ratio of two times, each given by model, quantity and engine."""

    what: str
    limit: float
    time: tuple[str, str, str]
    reference: tuple[str, str, str]


GOALS = (
    Goal("7 bodies: ID with out=, against Pinocchio", 1.1, ("7 bodies", "ID", "titop"), ("7 bodies", "ID", "Pinocchio")),
    Goal("7 bodies: ID without out=", 1.4, ("7 bodies", "ID without out=", "titop"), ("7 bodies", "ID", "Pinocchio")),
    Goal("7 bodies: FD", 0.8, ("7 bodies", "FD", "titop"), ("7 bodies", "FD", "Pinocchio")),
    Goal("101 bodies: ID", 0.8, ("101 bodies", "ID", "titop"), ("101 bodies", "ID", "Pinocchio")),
    Goal("101 bodies: FD", 0.8, ("101 bodies", "FD", "titop"), ("101 bodies", "FD", "Pinocchio")),
    Goal("7 bodies: derivatives of ID", 0.9, ("7 bodies", "dID", "titop"), ("7 bodies", "dID", "Pinocchio")),
    Goal("101 bodies: derivatives of ID", 0.9, ("101 bodies", "dID", "titop"), ("101 bodies", "dID", "Pinocchio")),
    Goal("7 bodies: derivatives of FD", 1.1, ("7 bodies", "dFD", "titop"), ("7 bodies", "dFD", "Pinocchio")),
    Goal("101 bodies: derivatives of FD", 0.6, ("101 bodies", "dFD", "titop"), ("101 bodies", "dFD", "Pinocchio")),
    Goal("996 bodies: ID, against 101 bodies", 11.0, ("996 bodies", "ID", "titop"), ("101 bodies", "ID", "titop")),
    Goal("996 bodies: FD, against 101 bodies", 11.0, ("996 bodies", "FD", "titop"), ("101 bodies", "FD", "titop")),
    Goal("batch: ID, against a loop over Pinocchio", 0.5, ("batch", "ID", "titop"), ("batch", "ID", "Pinocchio")),
    Goal("batch: FD, against a loop over Pinocchio", 0.5, ("batch", "FD", "titop"), ("batch", "FD", "Pinocchio")),
    Goal("with_parameters, against one ID", 10.0, ("7 bodies", "with_parameters", "titop"), ("7 bodies", "ID", "titop")),
)

#: Models by name, each with the peers that can hold it (Pinocchio's tables are quadratic in the number of bodies).
MODELS = {
    "7 bodies": (aerial_manipulator(), PEERS),
    "7-dof arm": (fixed_arm(), PEERS),
    "101 bodies": (aerial_manipulator(branches=5, links=20), PEERS),
    "996 bodies": (aerial_manipulator(branches=5, links=199), (MuJoCo, Drake)),
}


def fastest(timers: dict[Any, Timer], repeats: int) -> dict[Any, float]:
    """Return the smallest time (s) of one call of each, taken in turns."""
    numbers = {key: max(1, round(TURN / max(min(timer.repeat(3, 1)), 1e-7))) for key, timer in timers.items()}
    best = dict.fromkeys(timers, float("inf"))
    for _ in range(repeats):
        for key, timer in timers.items():
            best[key] = min(best[key], timer.timeit(numbers[key]) / numbers[key])
    return best


def time_calls(model: str, repeats: int) -> dict[str, dict[str, float]]:
    """Return the times of all engines for one model, by quantity and engine."""
    tree, peers = MODELS[model]
    timers = {}
    for engine in engines(tree, peers):
        for quantity, statement in engine.statements.items():
            if quantity in DENSE and len(tree.bodies) > 200:
                continue
            timers[quantity, engine.name] = Timer(statement, globals=vars(engine))
        if engine.name == "titop":
            change = f"model.with_parameters({{'{tree.bodies[-1].name}.mass': 0.3}})"
            timers["with_parameters", "titop"] = Timer(change, globals=vars(engine))
    times: dict[str, dict[str, float]] = {}
    for (quantity, engine_name), seconds in fastest(timers, repeats).items():
        times.setdefault(quantity, {})[engine_name] = seconds
    return times


def time_batches(repeats: int) -> dict[str, dict[str, float]]:
    """Return the times of `BATCH` stacked states of the 7-body robot: titop's one call, and a loop over Pinocchio."""
    tree, _ = MODELS["7 bodies"]
    titop, *found = engines(tree, (Pinocchio,))
    model = vars(titop)["model"]
    q, v, a = (np.array(x) for x in zip(*(random_state(model, seed) for seed in range(BATCH)), strict=True))
    timers = {
        ("ID", "titop"): Timer("model.inverse_dynamics(q, v, a)", globals={"model": model, "q": q, "v": v, "a": a}),
        ("FD", "titop"): Timer("model.forward_dynamics(q, v, a)", globals={"model": model, "q": q, "v": v, "a": a}),
    }
    for peer in found:
        names = {**vars(peer), "q": q, "v": v, "a": a, "out": np.empty_like(a)}
        for quantity, call in (("ID", "pin.rnea"), ("FD", "pin.aba")):
            loop = f"for k in range(len(q)): out[k] = {call}(model, data, q[k], v[k], a[k])"
            timers[quantity, peer.name] = Timer(loop, globals=names)
    times: dict[str, dict[str, float]] = {}
    for (quantity, engine_name), seconds in fastest(timers, max(3, repeats // 5)).items():
        times.setdefault(quantity, {})[engine_name] = seconds
    return times


def measure(repeats: int) -> Times:
    """Return all times of one process."""
    return {model: time_calls(model, repeats) for model in MODELS} | {"batch": time_batches(repeats)}


def median_ratio(runs: list[Times], time: tuple[str, str, str], reference: tuple[str, str, str]) -> float | None:
    """Return the median over processes of the ratio of two times; None where one was not measured."""

    def of(run: Times, key: tuple[str, str, str]) -> float | None:
        model, quantity, engine = key
        return run[model].get(quantity, {}).get(engine)

    pairs = [(of(run, time), of(run, reference)) for run in runs]
    ratios = [ours / theirs for ours, theirs in pairs if ours is not None and theirs is not None]
    return statistics.median(ratios) if ratios else None


def report(runs: list[Times]) -> str:
    """Return the tables as markdown."""
    lines = [f"Medians over {len(runs)} processes of the fastest call (us); in brackets titop's time over the engine's.", ""]
    lines += ["| model | | " + " | ".join(NAMES) + " |", "|---|---|" + "---|" * len(NAMES)]
    for model in runs[0]:
        for quantity in runs[0][model]:
            cells = [_cell(runs, model, quantity, engine) for engine in NAMES]
            lines.append(f"| {model} | {quantity} | " + " | ".join(cells) + " |")
    lines += ["", "| goal | at most | measured | met |", "|---|---|---|---|"]
    for goal in GOALS:
        ratio = median_ratio(runs, goal.time, goal.reference)
        measured, met = ("not measured", "?") if ratio is None else (f"{ratio:.2f}", "yes" if ratio <= goal.limit else "NO")
        lines.append(f"| {goal.what} | {goal.limit:g} | {measured} | {met} |")
    return "\n".join(lines)


def _cell(runs: list[Times], model: str, quantity: str, engine: str) -> str:
    known = quantity if engine == "titop" else quantity.split()[0]  # "ID without out=" is compared with the peers' ID
    found = [run[model].get(known, {}).get(engine) for run in runs]
    seconds = [value for value in found if value is not None]
    if not seconds:
        return "-"
    time = f"{1e6 * statistics.median(seconds):.3g}"
    if engine == "titop":
        return time
    ratio = median_ratio(runs, (model, quantity, "titop"), (model, known, engine))
    return time if ratio is None else f"{time} ({ratio:.2f})"


def main() -> None:
    """Time everything in fresh processes and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--processes", type=int, default=5, help="fresh processes whose median is reported")
    parser.add_argument("--repeats", type=int, default=25, help="turns of every engine, of which the fastest counts")
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.child:
        print(json.dumps(measure(arguments.repeats)))
        return
    command = [sys.executable, __file__, "--child", "--repeats", str(arguments.repeats)]
    runs = []
    for _ in range(arguments.processes):
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
        runs.append(json.loads(done.stdout.splitlines()[-1]))
    print(report(runs))


if __name__ == "__main__":
    main()
