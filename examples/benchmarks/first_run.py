"""What a user waits for: importing titop, everything from there to the first forward dynamics, and compiling all ahead.

Whole processes are timed, from the start of Python to its end: with an empty cache of compiled kernels, as after an
installation, and with a filled one. Reading a robot of 29 joints from URDF, with a filled cache, is compared with Pinocchio.

Run it: ``python examples/benchmarks/first_run.py``
"""

from __future__ import annotations

import argparse
import importlib.metadata
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

FIRST_FORWARD_DYNAMICS = """
from models import aerial_manipulator, random_state, system
model = system(aerial_manipulator()).resolve()
state = random_state(model)
model.forward_dynamics(state.q, state.v, state.a)
"""

FIRST_WITH_A_BEAM = """
import numpy
from kinds import beam, chain, link
model = chain([link, link, link, beam])
model.forward_dynamics(model.neutral(), numpy.zeros(model.nv), numpy.zeros(model.nv))
"""
EVERYTHING = """
from titop.solvers.cli import main
main(["compile"])
"""

#: In the wheel example-robot-data, which is installed with the extra "test".
ROBOT = "robots/g1_description/urdf/g1_29dof_rev_1_0.urdf"
ROBOT_WITH_TITOP = """
import sys, numpy, titop
model = titop.from_urdf(sys.argv[1]).resolve()
model.forward_dynamics(model.neutral(), numpy.zeros(model.nv), numpy.zeros(model.nv))
"""
ROBOT_WITH_PINOCCHIO = """
import sys, numpy, pinocchio
model = pinocchio.buildModelFromUrdf(sys.argv[1])
data = model.createData()
pinocchio.aba(model, data, pinocchio.neutral(model), numpy.zeros(model.nv), numpy.zeros(model.nv))
"""
ROBOT_GOAL = 2.0


class Case(NamedTuple):
    """Python code to run, whether the cache is emptied before, the goal (s) if there is one, and how often at most it runs."""

    what: str
    code: str
    empty_cache: bool
    goal: float | None
    most_runs: int = 100


CASES = (
    Case("python alone", "pass", False, None),
    Case("import titop", "import titop", False, 1.0),
    Case("first forward dynamics, cache filled", FIRST_FORWARD_DYNAMICS, False, None),
    Case("first forward dynamics, cache empty", FIRST_FORWARD_DYNAMICS, True, 5.0),
    Case("the same with a beam", FIRST_WITH_A_BEAM, True, 8.0),
    Case("titop compile, everything, on two processors", EVERYTHING, True, 60.0, most_runs=1),
)


def seconds(code: str, cache: str, *arguments: str) -> float:
    """Return the time (s) of a fresh process that runs `code` with compiled kernels kept in `cache`."""
    environment = {**os.environ, "TITOP_CACHE_DIR": cache}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)  # or Python compiles all modules at every start
    begin = time.perf_counter()
    command = [sys.executable, "-W", "ignore", "-c", code, *arguments]
    subprocess.run(command, cwd=Path(__file__).parent, env=environment, stderr=subprocess.DEVNULL, check=True)
    return time.perf_counter() - begin


def measure(case: Case, runs: int, filled: str, fresh: Callable[[], str]) -> float:
    """Return the median time (s) of a case."""
    times = range(min(runs, case.most_runs))
    return statistics.median(seconds(case.code, fresh() if case.empty_cache else filled) for _ in times)


def robot_file() -> Path | None:
    """Return the robot's URDF, or None where Pinocchio or the robots are not installed."""
    try:
        files = importlib.metadata.distribution("example-robot-data").files or []
        importlib.metadata.distribution("pin")
    except importlib.metadata.PackageNotFoundError:
        return None
    return next((Path(str(file.locate())) for file in files if str(file).endswith(ROBOT)), None)


def compare_robot(path: Path, runs: int, cache: str) -> None:
    """Print the times of both libraries, run in turns, and the ratio of their medians."""
    seconds(ROBOT_WITH_TITOP, cache, str(path))
    pairs = [
        (seconds(ROBOT_WITH_TITOP, cache, str(path)), seconds(ROBOT_WITH_PINOCCHIO, cache, str(path))) for _ in range(runs)
    ]
    ours, theirs = map(statistics.median, zip(*pairs, strict=True))
    met = "yes" if ours <= ROBOT_GOAL * theirs else "NO"
    print(f"| robot of 29 joints from URDF to first forward dynamics | {ours:.3f} | {ROBOT_GOAL:g} x {theirs:.3f} | {met} |")


def main() -> None:
    """Time all cases and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=5, help="processes of each case, of which the median is reported")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        filled = tempfile.mkdtemp(dir=folder)
        seconds(FIRST_FORWARD_DYNAMICS, filled)
        print("| | seconds | goal | met |", "|---|---|---|---|", sep="\n")
        for case in CASES:
            median = measure(case, arguments.runs, filled, lambda: tempfile.mkdtemp(dir=folder))
            goal, met = ("-", "-") if case.goal is None else (f"{case.goal:g}", "yes" if median <= case.goal else "NO")
            print(f"| {case.what} | {median:.2f} | {goal} | {met} |", flush=True)
        path = robot_file()
        if path is not None:
            compare_robot(path, arguments.runs, filled)


if __name__ == "__main__":
    main()
