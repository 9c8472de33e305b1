"""Soft rods: dynamics of the cable-driven manipulator's rod and of chains of rods, beside SoRoMoX where it is installed.

The rod is that of key M: 24 coordinates, seven points. Times are those of one call from Python, the median of interleaved
repeats. SoRoMoX (the wheel `soromox`) is timed in the same run, compiled and warm, after its results were compared with
titop's; it has no inverse dynamics. It refuses Poisson's ratio of 0.5, so both get 0.49.

Run it: ``python examples/benchmarks/rods.py``
"""

from __future__ import annotations

import argparse
import statistics
import time
import warnings
from collections.abc import Callable
from timeit import Timer
from typing import Any

import numpy as np

import titop as tt

#: Time (s) given to one call before it is another's turn.
TURN = 0.02
REPEATS = 15
#: Of the rod (SI units).
LENGTH, RADII, YOUNG, POISSON, DENSITY, VISCOSITY = 0.5, (0.03, 0.015), 1e6, 0.49, 1000.0, 1e4
STRAINS = {"torsion": 4, "bending_y": 4, "bending_z": 4, "elongation": 2, "shear_y": 2, "shear_z": 2}
#: Goals (us) of the one rod.
GOALS = {"ID": 5.0, "M": 15.0, "FD": 35.0, "dFD": 120.0}
#: Numbers of rods in the chains, and what is left out of long ones: it grows with the square of the number at least.
CHAINS, LONG, DENSE = (1, 2, 5, 10, 20, 50, 100), 10, ("M", "dID", "dFD")
#: How far titop and SoRoMoX may be apart, relative to the largest entry, at the same seven points: stiffness and damping are
#: not compared, since shear factors differ and they are integrated differently.
ALIKE = 1e-6

Calls = dict[str, Callable[[], object]]


def rod(name: str) -> tt.Rod:
    """Return the rod."""
    material = {"young": YOUNG, "poisson": POISSON, "density": DENSITY, "damping": VISCOSITY}
    return tt.Rod(name, LENGTH, tt.Section.circle(radius=RADII), **material, strains=STRAINS)


def chain(rods: int) -> tt.Model:
    """Return rods one after the other, the first clamped and horizontal."""
    s = tt.System("rods", gravity=[0, 0, -9.81])
    end: tt.PortRef | str = "world"
    for k in range(rods):
        link = rod(f"rod{k}")
        s.connect(end, link, joint=tt.Weld(f"clamp{k}"))
        end = link.port("tip")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tt.ModelWarning)  # long chains: their rods' inertia is known to 2e-10
        return s.resolve()


def state(count: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return q, v and a, the same for everybody."""
    rng = np.random.default_rng(0)
    q, v, a = rng.normal(size=(3, count))
    return 0.1 * q, 0.1 * v, a


def calls(model: tt.Model) -> Calls:
    """Return titop's functions that are timed."""
    q, v, a = state(model.nv)
    out, slopes = np.empty(model.nv), np.empty((3, model.nv, model.nv))
    tau = model.inverse_dynamics(q, v, a)
    return {
        "ID": lambda: model.inverse_dynamics(q, v, a, out=out),
        "M": lambda: model.mass_matrix(q),
        "FD": lambda: model.forward_dynamics(q, v, tau, out=out),
        "tangent": lambda: model.forward_dynamics_tangent(q, v, tau, v, a, tau),
        "dID": lambda: model.inverse_dynamics_derivatives(q, v, a, out=slopes),
        "dFD": lambda: model.forward_dynamics_derivatives(q, v, tau, out=slopes),
    }


def peer() -> Calls:
    """Return SoRoMoX's functions, compiled, of the same rod at the same state; none where it is not installed.

    It has no inverse dynamics.

    Raises
    ------
    AssertionError
        If its mass matrix, or weight and terms in the squares of rates, are not titop's.
    """
    try:
        import jax
        from soromox.systems.components import JointSpec, LinearProfile, LinkSpec
        from soromox.systems.gvs import GVS, GVSSegment, StrainBasisSpec
    except ImportError:
        return {}
    jax.config.update("jax_enable_x64", True)
    link = LinkSpec.circular(
        length=LENGTH,
        radius=LinearProfile(*RADII),
        density=DENSITY,
        young_modulus=YOUNG,
        poisson_ratio=POISSON,
        material_damping_coefficient=VISCOSITY,
        reference_strain=[0, 0, 0, 1, 0, 0],
    )
    basis = StrainBasisSpec("legendre", [1] * 6, list(STRAINS.values()))
    robot = GVS.from_segments(
        [GVSSegment(link, JointSpec("fixed"), basis, 5)],
        gravity=np.array([0, 0, -9.81]),
        base_pose=np.array([0, 0, 0, 1.0, 0, 0, 0]),
        scale_rotational_basis_by_length=True,
    )
    model = chain(1)
    q, v, _ = state(model.nv)
    scale = np.where([name.split(".")[-1].startswith(("torsion", "bending")) for name in model.coordinate_names], 1.0, LENGTH)
    x = jax.numpy.asarray(np.concatenate([q / scale, v / scale]))  # its coordinates of elongation and shear are ours over L
    mass = jax.jit(lambda x: robot.inertia_matrix(x[: model.nv]))
    forward = jax.jit(lambda x: robot.forward_dynamics(0.0, x)[model.nv :])
    _check("mass matrix", mass(x), model.mass_matrix(q) * np.outer(scale, scale))
    qs, vs = x[: model.nv], x[model.nv :]
    theirs = mass(x) @ forward(x) + robot.elastic_force(qs) + robot.damping_matrix(qs) @ vs
    a = model.forward_dynamics(q, v, np.zeros(model.nv))
    _check("weight and inertia", theirs, scale * (model.mass_matrix(q) @ a - rod("rod").passive_efforts(q, v)))
    return {"M": lambda: mass(x).block_until_ready(), "FD": lambda: forward(x).block_until_ready()}


def _check(what: str, theirs: Any, ours: np.ndarray) -> None:
    apart = np.abs(np.asarray(theirs) - ours).max() / np.abs(ours).max()
    print(f"SoRoMoX's {what} is within {apart:.1e} of titop's")
    assert apart < ALIKE


def medians(functions: Calls) -> dict[str, float]:
    """Return the median time (s) of one call of each function."""
    timers = {name: Timer(function) for name, function in functions.items()}
    numbers = {name: max(1, round(TURN / min(timer.repeat(3, 1)))) for name, timer in timers.items()}
    rows = [{name: timer.timeit(numbers[name]) / numbers[name] for name, timer in timers.items()} for _ in range(REPEATS)]
    return {name: statistics.median(row[name] for row in rows) for name in timers}


def main(argv: list[str] | None = None) -> dict[int, dict[str, float]]:
    """Print what calls take."""
    parser = argparse.ArgumentParser(description="Dynamics of soft rods.")
    parser.add_argument("--chains", type=int, nargs="*", default=CHAINS, help="numbers of rods")
    arguments = parser.parse_args(argv)
    begin = time.perf_counter()
    model = chain(1)
    model.forward_dynamics(*state(model.nv))
    print(f"one rod, {model.nv} coordinates: first answer after {time.perf_counter() - begin:.1f} s")
    begin = time.perf_counter()
    others = {f"{name} of SoRoMoX": function for name, function in peer().items()}
    print(f"SoRoMoX: first answers after {time.perf_counter() - begin:.0f} s" if others else "SoRoMoX is not installed")
    for name, seconds in medians(calls(model) | others).items():
        goal = f" (goal {GOALS[name]:.0f})" if name in GOALS else ""
        print(f"  {name:14s} {1e6 * seconds:8.1f} us{goal}")

    found = {}
    for rods in arguments.chains:
        timed = calls(chain(rods))
        found[rods] = medians({name: call for name, call in timed.items() if rods <= LONG or name not in DENSE})
    print("chains: us in all, and for each rod")
    for rods, times in found.items():
        row = ", ".join(f"{name} {1e6 * seconds:.0f} ({1e6 * seconds / rods:.1f})" for name, seconds in times.items())
        print(f"  {rods:3d} rods: {row}")
    return found


if __name__ == "__main__":
    main()
