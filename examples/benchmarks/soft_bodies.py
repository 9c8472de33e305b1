"""Soft bodies: dynamics of chains of planar PCC bodies over their number (simulation 3 of key P).

Inverse dynamics without and with gravity and elasticity (the paper's IID and ID), mass matrix, both in one pass (MID), and
forward dynamics by elimination, beside forward dynamics by solving with what MID gives, as the paper does, and beside a
symbolic Euler-Lagrange model of the same chain (sympy, lambdified), whose result is compared first. Times are processor times
of one call from Python, the median of interleaved repeats; growth is the power of the number of bodies that fits the times from
ten bodies on. A last body is large: primitives that keep the volume, eight coordinates, of which each moves what the ones
before it have moved.

Run it: ``OPENBLAS_NUM_THREADS=1 python examples/benchmarks/soft_bodies.py``, or long chains are solved by several threads.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Sequence
from timeit import Timer
from typing import Any

import numpy as np

import titop as tt

#: Time (s) given to one call before it is another's turn.
TURN = 0.01
REPEATS = 11
#: Of the bodies (SI units).
RADIUS, LENGTH, DENSITY, YOUNG, POISSON = 0.03, 0.3, 1000.0, 1e6, 0.3
GRAVITY = -9.81
NUMBERS = (1, 2, 3, 5, 10, 20, 35, 50, 75, 100)
#: Goals (us) at 20 bodies, and (s) from a body's definition to its first answer with an empty and a filled cache.
AT, GOALS, FIRST_GOALS = 20, {"ID": 100.0, "FD": 200.0}, (10.0, 1.0)
#: How far titop and the symbolic model may be apart, relative to the largest entry.
ALIKE = 1e-9

KINEMATICS = tt.Kinematics.constant_curvature(LENGTH)
DOMAIN = tt.Domain.cylinder(RADIUS, LENGTH, along=6, around=4, outwards=1)
MATERIAL = tt.Material.neo_hookean(YOUNG, POISSON)

#: Kinematics as text, for processes of their own: of the bodies, of others, and of the large one.
PLANAR, SPATIAL = (f"K.constant_curvature({LENGTH}, spatial={spatial})" for spatial in (False, True))
LARGE = (
    "K.elongation([one, linear]).then(K.planar_bending([one, linear], 'x'), K.planar_bending([one, linear], 'y'), "
    "K.twist([linear, lambda z: linear(z) ** 2]))"
)

#: What a process does that is timed by itself: a body of its own, its first answer, and its first derivatives.
FIRST_ANSWER = """
import time, titop as tt
K, one, linear = tt.Kinematics, lambda z: 1.0, lambda z: z / 0.3
begin = time.process_time()
s = tt.System("first")
domain, material = tt.Domain.cylinder(0.03, 0.3, along=6, around=6, outwards=2), tt.Material.neo_hookean(1e6, 0.3, 100.0)
s.connect("world", tt.SoftBody("body", {kinematics}, domain, 1000.0, material), tt.Weld("clamp"))
m = s.resolve()
q, v = 0.1 + m.neutral(), m.neutral()
m.forward_dynamics(q, v, v)
answered = time.process_time()
m.forward_dynamics_derivatives(q, v, v)
print(answered - begin, time.process_time() - answered)
"""

Calls = dict[str, Callable[[], object]]


def chain(bodies: int, inertial: bool = False) -> tt.Model:
    """Return bodies one after the other, the first clamped; of inertia alone on demand."""
    s = tt.System("bodies", gravity=[0, 0, 0.0 if inertial else GRAVITY])
    end: tt.PortRef | str = "world"
    for k in range(bodies):
        body = tt.SoftBody(f"body{k}", KINEMATICS, DOMAIN, DENSITY, None if inertial else MATERIAL)
        s.connect(end, body, tt.Weld(f"clamp{k}"))
        end = body.port("tip")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tt.ModelWarning)  # long chains lose digits, which do not matter here
        return s.resolve()


def state(count: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return q, v and a; the chain stays nearly straight however long it is."""
    q, v, a = np.random.default_rng(0).normal(size=(3, count))
    return 0.3 * q, 0.3 * v, a


def calls(bodies: int) -> Calls:
    """Return titop's functions that are timed."""
    model, inertial = chain(bodies), chain(bodies, inertial=True)
    q, v, a = state(model.nv)
    out, rest, matrix = np.empty(model.nv), np.zeros(model.nv), np.empty((model.nv, model.nv))
    tau = model.inverse_dynamics(q, v, a)
    return {
        "IID": lambda: inertial.inverse_dynamics(q, v, a, out=out),
        "ID": lambda: model.inverse_dynamics(q, v, a, out=out),
        "M": lambda: model.mass_matrix(q),
        "MID": lambda: model.mass_inverse_dynamics(q, v, a, out=(out, matrix)),
        "FD": lambda: model.forward_dynamics(q, v, tau, out=out),
        "FD by MID": lambda: solved(*model.mass_inverse_dynamics(q, v, rest, out=(out, matrix)), tau),
    }


def solved(held: np.ndarray, matrix: np.ndarray, tau: np.ndarray) -> np.ndarray:
    """Return accelerations from efforts, the mass matrix and the efforts at which nothing accelerates."""
    return np.linalg.solve(matrix, tau - held)


def large_calls() -> Calls:
    """Return titop's functions of a large body that are timed."""
    names = {"K": tt.Kinematics, "one": lambda z: 1.0, "linear": lambda z: z / LENGTH}
    domain, material = tt.Domain.cylinder(RADIUS, LENGTH), tt.Material.neo_hookean(YOUNG, POISSON, 100.0)
    s = tt.System("large", gravity=[0, 0, GRAVITY])
    s.connect("world", tt.SoftBody("body", eval(LARGE, names), domain, DENSITY, material), tt.Weld("clamp"))
    model = s.resolve()
    q, v, a = (0.3 * x for x in state(model.nv))
    tau = model.inverse_dynamics(q, v, a)
    return {
        "ID": lambda: model.inverse_dynamics(q, v, a),
        "FD": lambda: model.forward_dynamics(q, v, tau),
        "derivatives of FD": lambda: model.forward_dynamics_derivatives(q, v, tau),
    }


def symbolic(bodies: int) -> Callable[..., list[float]]:
    """Return inverse dynamics (q, v, a) of the chain by Euler and Lagrange, from kinetic energy and potential at its points.

    Sums over points of equal z are carried out: a section has its mass, its rotary inertia, and stretches its fibres.
    """
    import sympy

    q, v, a = (sympy.symbols(f"{name}:{bodies}") for name in "qva")
    kinetic, potential = sympy.Integer(0), sympy.Integer(0)
    angle, x, z = sympy.Integer(0), sympy.Integer(0), sympy.Integer(0)
    sections = DOMAIN.points.reshape(6, 4, 3)[:, :, [0, 2]]
    shear = YOUNG / (2 * (1 + POISSON))
    bulk = 2 * shear * POISSON / (1 - 2 * POISSON)

    def rate(expression: Any) -> Any:
        return sum(sympy.diff(expression, coordinate) * speed for coordinate, speed in zip(q, v, strict=True))

    for bend in q:

        def place(s: float, bend: Any = bend, angle: Any = angle, x: Any = x, z: Any = z) -> tuple[Any, Any, Any]:
            """Return angle and place of the section at s; a straight body has no such form."""
            turned = angle + bend * s / LENGTH
            reach = LENGTH / bend
            return (
                turned,
                x + reach * (sympy.cos(angle) - sympy.cos(turned)),
                z + reach * (sympy.sin(turned) - sympy.sin(angle)),
            )

        for section, volumes in zip(sections, DOMAIN.volumes.reshape(6, 4), strict=True):
            turned, across, along = place(section[0, 1])
            mass, rotary = DENSITY * volumes.sum(), DENSITY * volumes @ section[:, 0] ** 2
            kinetic += (mass * (rate(across) ** 2 + rate(along) ** 2) + rotary * rate(turned) ** 2) / 2
            potential -= mass * GRAVITY * along
            for offset, volume in zip(section[:, 0], volumes, strict=True):
                stretch = 1 - bend * offset / LENGTH
                logarithm = sympy.log(stretch)
                potential += volume * (shear / 2 * (stretch**2 - 1 - 2 * logarithm) + bulk / 2 * logarithm**2)
        angle, x, z = place(LENGTH)
    momenta = [sympy.diff(kinetic, speed) for speed in v]
    efforts = [
        rate(momentum)
        + sum(sympy.diff(momentum, speed) * growth for speed, growth in zip(v, a, strict=True))
        - sympy.diff(kinetic - potential, coordinate)
        for momentum, coordinate in zip(momenta, q, strict=True)
    ]
    found: Callable[..., list[float]] = sympy.lambdify([q, v, a], efforts, "math", cse=True)
    return found


def medians(functions: Calls) -> dict[str, float]:
    """Return the median processor time (s) of one call of each function."""
    timers = {name: Timer(function, timer=time.thread_time) for name, function in functions.items()}
    numbers = {name: max(1, round(TURN / max(min(timer.repeat(3, 3)) / 3, 1e-7))) for name, timer in timers.items()}
    rows = [{name: timer.timeit(numbers[name]) / numbers[name] for name, timer in timers.items()} for _ in range(REPEATS)]
    return {name: statistics.median(row[name] for row in rows) for name in timers}


def measure_symbolic(bodies: int) -> tuple[float, float]:
    """Return the processor times (s) of building the symbolic model and of one call.

    Raises
    ------
    AssertionError
        If it does not have titop's efforts.
    """
    begin = time.process_time()
    inverse = symbolic(bodies)
    built = time.process_time() - begin
    q, v, a = state(bodies)
    theirs, ours = np.array(inverse(q, v, a)), chain(bodies).inverse_dynamics(q, v, a)
    assert np.abs(theirs - ours).max() < ALIKE * np.abs(ours).max(), np.abs(theirs - ours).max() / np.abs(ours).max()
    arguments = [x.tolist() for x in (q, v, a)]
    return built, medians({"EL": lambda: inverse(*arguments)})["EL"]


def first_answers() -> dict[str, tuple[float, float]]:
    """Return processor times (s) from a body's definition to its first answer, and on to first derivatives.

    Each in a process of its own.
    """

    def seconds(cache: str, kinematics: str) -> tuple[float, float]:
        command = [sys.executable, "-W", "ignore", "-c", FIRST_ANSWER.format(kinematics=kinematics)]
        environment = {**os.environ, "TITOP_CACHE_DIR": cache}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)  # or Python compiles all modules at every start
        done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True)
        answer, derivatives = map(float, done.stdout.split())
        return answer, derivatives

    with tempfile.TemporaryDirectory() as cache:
        return {
            "nothing compiled yet": seconds(cache, PLANAR),
            "another body has been compiled": seconds(cache, SPATIAL),
            "all in the cache": seconds(cache, PLANAR),
            "a large body, another has been compiled": seconds(cache, LARGE),
            "a large body, all in the cache": seconds(cache, LARGE),
        }


def fit(numbers: Sequence[int], seconds: Sequence[float]) -> tuple[float, float, float, float]:
    """Return a line through times (s, s a body), how far they are from it relative to it, and the power of their growth."""
    n, t = np.array(numbers, dtype=float), np.array(seconds)
    slope, offset = np.polyfit(n, t, 1, w=1 / t)  # relative errors count
    off = float(np.abs(t / (offset + slope * n) - 1).max())
    long = n >= 10
    growth = float(np.polyfit(np.log(n[long]), np.log(t[long]), 1)[0]) if long.sum() > 1 else float("nan")
    return float(offset), float(slope), off, growth


def main(argv: list[str] | None = None) -> dict[int, dict[str, float]]:
    """Print what calls take."""
    parser = argparse.ArgumentParser(description="Dynamics of chains of soft bodies.")
    parser.add_argument("--numbers", type=int, nargs="*", default=NUMBERS, help="numbers of bodies")
    parser.add_argument("--symbolic", type=int, default=3, help="how many bodies the longest symbolic model has")
    parser.add_argument("--first", action=argparse.BooleanOptionalAction, default=True, help="measure first answers too")
    arguments = parser.parse_args(argv)
    found = {}
    print("us of processor time in all")
    for bodies in arguments.numbers:
        found[bodies] = medians(calls(bodies))
        row = ", ".join(f"{name} {1e6 * seconds:.1f}" for name, seconds in found[bodies].items())
        print(f"  {bodies:3d} bodies: {row}", flush=True)
    for name in found[arguments.numbers[0]] if len(found) > 1 else ():
        offset, slope, off, growth = fit(list(found), [times[name] for times in found.values()])
        goal = f" (goal {GOALS[name]:.0f}: {1e6 * found[AT][name]:.1f} at {AT})" if name in GOALS and AT in found else ""
        print(f"  {name:8s} {1e6 * offset:.1f} + {1e6 * slope:.2f} N us within {100 * off:.0f} %; growth N^{growth:.2f}{goal}")
    for bodies in range(1, arguments.symbolic + 1):
        built, called = measure_symbolic(bodies)
        print(f"  Euler-Lagrange, {bodies} bodies: built in {built:.1f} s, inverse dynamics {1e6 * called:.0f} us", flush=True)
    row = ", ".join(f"{name} {1e6 * seconds:.0f}" for name, seconds in medians(large_calls()).items())
    print(f"  a body that keeps the volume, 8 coordinates, 72 points: {row}", flush=True)
    if arguments.first:
        print("s from a body's definition to its first answer, and on to first derivatives")
        for what, (answer, derivatives) in first_answers().items():
            goal = FIRST_GOALS[what.endswith("in the cache")]
            print(f"  {what}: {answer:.2f} (goal {goal:g}), {derivatives:.2f}")
    return found


if __name__ == "__main__":
    main()
