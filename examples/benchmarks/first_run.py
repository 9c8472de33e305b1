"""What a user waits for: importing titop, everything from there to the first forward dynamics, and compiling all ahead.

Whole processes are timed, from the start of Python to its end: with an empty cache of compiled kernels, as after an
installation, and with a filled one. Reading a robot of 29 joints from URDF, with a filled cache, is compared with Pinocchio.
A wheel is built and installed into a folder of its own to time what users of wheels wait for: in a clone, first run
``titop compile --for-wheels``.

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

#: An arm of seven hinges, and what is asked of it first.
LINK = """<link name="l{k}"><inertial><origin xyz="0.05 0 0.1"/><mass value="2"/>
<inertia ixx="0.03" ixy="0" ixz="0" iyy="0.03" iyz="0" izz="0.01"/></inertial></link>"""
HINGE = """<joint name="j{k}" type="continuous"><parent link="l{k}"/><child link="l{next}"/>
<origin xyz="0 0 0.2" rpy="1.57 0 0"/><axis xyz="0 0 1"/></joint>"""
ARM = (
    '<robot name="arm">'
    + "".join(LINK.format(k=k) for k in range(8))
    + "".join(HINGE.format(k=k, next=k + 1) for k in range(7))
    + "</robot>"
)
ARM_WITH_TITOP = """
import sys, numpy, titop
model = titop.from_urdf(sys.argv[1]).resolve()
getattr(model, sys.argv[2])(*numpy.zeros((3, model.nv)))
"""


class Ask(NamedTuple):
    """A function asked of the arm where titop is installed from a wheel, whether the cache is empty, and the goal (s)."""

    function: str
    empty_cache: bool
    goal: float


ASKS = (
    Ask("forward_dynamics", True, 1.0),
    Ask("forward_dynamics_derivatives", True, 1.5),
    Ask("inverse_dynamics", False, 0.25),
)


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


def seconds(code: str, cache: str, *arguments: str, **settings: str) -> float:
    """Return the time (s) of a fresh process that runs `code` with compiled kernels kept in `cache`."""
    environment = {**os.environ, "TITOP_CACHE_DIR": cache, **settings}
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


def time_wheel(folder: Path, runs: int) -> None:
    """Build a wheel, install it within a folder, and print what its users wait for, in seconds and in those of a processor."""
    root, site, arm = Path(__file__).parents[2], folder / "site", folder / "arm.urdf"
    pip = [sys.executable, "-m", "pip", "-q"]
    subprocess.run([*pip, "wheel", "--no-deps", "-w", str(folder), str(root)], check=True)
    (wheel,) = folder.glob("*.whl")
    subprocess.run([*pip, "install", "--no-deps", "--target", str(site), str(wheel)], check=True)
    arm.write_text(ARM)
    for ask in ASKS:
        filled = tempfile.mkdtemp(dir=folder)
        seconds(ARM_WITH_TITOP, filled, str(arm), ask.function, PYTHONPATH=str(site))
        times, used = [], []
        for _ in range(runs):
            cache = tempfile.mkdtemp(dir=folder) if ask.empty_cache else filled
            before = os.times()
            times.append(seconds(ARM_WITH_TITOP, cache, str(arm), ask.function, PYTHONPATH=str(site)))
            after = os.times()
            used.append(sum(after[2:4]) - sum(before[2:4]))
        took, cpu = statistics.median(times), statistics.median(used)
        what = f"wheel of {wheel.stat().st_size / 1e6:.1f} MB: URDF to first {ask.function}"
        what += f", cache {'empty' if ask.empty_cache else 'filled'} ({cpu:.2f} s of a processor)"
        print(f"| {what} | {took:.2f} | {ask.goal:g} | {'yes' if cpu <= ask.goal else 'NO'} |", flush=True)


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
        time_wheel(Path(folder), arguments.runs)


if __name__ == "__main__":
    main()
