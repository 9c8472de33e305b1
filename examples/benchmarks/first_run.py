"""What a user waits for: importing titop, and everything from there to the first forward dynamics.

Whole processes are timed, from the start of Python to its end: with an empty cache of compiled kernels, as after an
installation, and with a filled one.

Run it: ``python examples/benchmarks/first_run.py``
"""

from __future__ import annotations

import argparse
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


class Case(NamedTuple):
    """Python code to run, whether the cache is emptied before, and the goal (s) where there is one."""

    what: str
    code: str
    empty_cache: bool
    goal: float | None


CASES = (
    Case("python alone", "pass", False, None),
    Case("import titop", "import titop", False, 1.0),
    Case("first forward dynamics, cache filled", FIRST_FORWARD_DYNAMICS, False, None),
    Case("first forward dynamics, cache empty", FIRST_FORWARD_DYNAMICS, True, None),
)


def seconds(code: str, cache: str) -> float:
    """Return the time (s) of a fresh process that runs `code` with compiled kernels kept in `cache`."""
    environment = {**os.environ, "TITOP_CACHE_DIR": cache}
    begin = time.perf_counter()
    subprocess.run(
        [sys.executable, "-c", code], cwd=Path(__file__).parent, env=environment, stderr=subprocess.DEVNULL, check=True
    )
    return time.perf_counter() - begin


def measure(case: Case, runs: int, filled: str, fresh: Callable[[], str]) -> float:
    """Return the median time (s) of a case."""
    return statistics.median(seconds(case.code, fresh() if case.empty_cache else filled) for _ in range(runs))


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


if __name__ == "__main__":
    main()
