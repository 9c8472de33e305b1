"""Which integrator for which system: time and error of each method on five of them.

Each method gets the loosest tolerance, of 1e-3, 1e-4 ... 1e-10 for `rtol` and `atol` alike, at which the final coordinates (m,
rad) are right to 1e-2, then to 1e-4; the last row has the generalised-alpha scheme with a fixed step. Times are the
processor's, of the faster of two runs.

- arm: a six-axis arm of UR5's size falls for 2 s, nothing stiff in it;
- beam: a boom of 0.6 to 460 Hz on a free hub, pushed slowly for 2 s;
- loop: a four-bar linkage falls for 2 s, its loop closed by a rigid pin;
- stiff loop: a linkage with a stiff, damped spring in its coupler (`stiff_loops`), 1 s;
- contact: a lander touches down on its four feet, 1 s.

Run it: ``python examples/benchmarks/integrators.py`` (two minutes)
"""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import stiff_loops

import titop as tt

EXAMPLES = Path(__file__).parents[1]
METHODS = ("DOP853", "RK45", "LSODA", "BDF", "Radau", "generalized-alpha")
TOLERANCES = tuple(10.0**-k for k in range(3, 11))
GOALS = (1e-2, 1e-4)
#: No method is given more time than this for one run (s) before tighter tolerances are left out.
PATIENCE = 4.0


class Case(NamedTuple):
    """A system with its start and what acts; `step` (s) is for the scheme with a fixed one."""

    name: str
    model: tt.Model
    q: np.ndarray
    v: np.ndarray
    end: float
    step: float
    tau: Callable[..., np.ndarray] | None = None


def arm() -> Case:
    """Return the arm, let go."""
    model = tt.from_urdf(EXAMPLES / "models" / "arm.urdf").resolve()
    return Case("arm", model, np.array([0.0, -1.2, 1.0, -1.3, -1.5, 0.0]), np.zeros(6), 2.0, 2e-3)


def beam() -> Case:
    """Return the boom on its hub, which a slow force pushes aside and back."""
    s = tt.System("boom on a hub", gravity=[0, 0, 0])
    hub = tt.RigidBody("hub", mass=100.0, inertia=[10, 10, 10])
    s.connect("world", hub, joint=tt.Free("base"))
    boom = tt.Beam("boom", length=6.0, density=2700.0, area=6e-4, young=7e10, iy=3e-8, iz=3e-8, damping_ratio=0.005)
    s.connect(hub, boom, joint=tt.Weld("root"))
    model = s.resolve()

    def push(t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        tau = np.zeros(model.nv)
        tau[1] = 50.0 * np.sin(np.pi * t)
        return tau

    return Case("beam", model, model.neutral(), np.zeros(model.nv), 2.0, 1e-2, push)


def loop() -> Case:
    """Return the linkage, its crank upright."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tt.ModelWarning)  # a hinge in space is redundant in the plane
        model = tt.load(EXAMPLES / "models" / "four_bar.toml").resolve()
    q = model.assemble(model.configuration({"drive": np.pi / 2}), fixed=["drive"])
    return Case("loop", model, q, model.assemble_velocity(q, [1.0, 0, 0], fixed=["drive"]), 2.0, 1e-3)


def stiff_loop() -> Case:
    """Return the linkage of `stiff_loops`, its spring of 1e7 N m/rad."""
    model = stiff_loops.build(1e7, 1e3)
    return Case("stiff loop", model, *stiff_loops.initial_state(model), 1.0, 5e-3)


def contact() -> Case:
    """Return the lander just above the ground."""
    sys.path.insert(0, str(EXAMPLES))
    import lander

    model = lander.build().resolve()
    return Case("contact", model, *lander.touchdown(model), 1.0, 1e-3)


def run(case: Case, **options: Any) -> tuple[tt.Trajectory | None, float]:
    """Return a run and its time (s); None if the method gives up."""
    begin = time.process_time()
    try:
        found = tt.simulate(case.model, [0, case.end], case.q, case.v, case.tau, progress=False, **options)
    except tt.ConvergenceError:
        return None, time.process_time() - begin
    return found, time.process_time() - begin


def distance(case: Case, found: tt.Trajectory, expected: np.ndarray) -> float:
    """Return the largest difference of the final coordinates."""
    return float(np.abs(case.model.difference(expected, found.q[-1])).max())


def measured(case: Case, method: str, expected: np.ndarray, goal: float) -> str:
    """Return the method's cell of the table."""
    error = np.inf
    for tolerance in TOLERANCES:
        found, seconds = run(case, method=method, rtol=tolerance, atol=tolerance)
        error = np.inf if found is None else distance(case, found, expected)
        if error < goal or seconds > PATIENCE:
            break
    if found is None or error > goal:
        return f"not within {seconds:.0f} s"
    again = run(case, method=method, rtol=tolerance, atol=tolerance)[1]
    return f"{1e3 * min(seconds, again):.3g} ms ({tolerance:.0e}, {error:.0e})"


def fixed_step(case: Case, expected: np.ndarray) -> str:
    """Return the cell of the scheme with a fixed step."""
    scheme = tt.GeneralizedAlpha(spectral_radius=0.8, step=case.step)
    times = [run(case, method=scheme) for _ in range(2)]
    found = times[0][0]
    error = np.inf if found is None else distance(case, found, expected)
    return f"{1e3 * min(seconds for _, seconds in times):.3g} ms ({case.step:g} s, {error:.0e})"


def main() -> None:
    """Print a row a method: time, and in brackets tolerance (or step) and error."""
    cases = [arm(), beam(), loop(), stiff_loop(), contact()]
    expected = {}
    for case in cases:
        exact, other = (run(case, method=name, rtol=rtol, atol=rtol)[0] for name, rtol in (("DOP853", 1e-11), ("Radau", 1e-8)))
        assert exact is not None
        assert other is not None
        expected[case.name] = exact.q[-1]
        print(
            f"{case.name}: Radau at 1e-8 differs from DOP853 at 1e-11 by {distance(case, other, exact.q[-1]):.0e}", flush=True
        )
    for goal in GOALS:
        print(f"\n| right to {goal:g} | " + " | ".join(case.name for case in cases) + " |\n" + "|---" * (1 + len(cases)) + "|")
        for method in METHODS:
            cells = []
            for case in cases:
                refused = case.model.is_constrained and method in ("LSODA", "BDF")
                cells.append("-" if refused else measured(case, method, expected[case.name], goal))
            print(f"| {method} | " + " | ".join(cells) + " |", flush=True)
    print("| generalized-alpha, fixed step | " + " | ".join(fixed_step(case, expected[case.name]) for case in cases) + " |")


if __name__ == "__main__":
    main()
