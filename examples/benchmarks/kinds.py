"""Dynamics of chains in which kinds of blocks mix, beside the chain of rigid links with as many coordinates.

Ten links on hinges; in place of some of them beams, or a block of a user's own, given in NumPy or compiled. Times are those of
one call from Python, the median of interleaved repeats.

Run it: ``python examples/benchmarks/kinds.py``
"""

from __future__ import annotations

import statistics
import sys
from collections.abc import Callable
from pathlib import Path
from timeit import Timer

import numpy as np

import titop as tt

sys.path.insert(0, str(Path(__file__).parents[1]))

from compiled_block import Telescope
from custom_block import ConstantCurvatureSegment

LINKS = 10
#: Time (s) given to one call before it is another's turn.
TURN = 0.01


def link(name: str) -> tt.Block:
    """Return a rigid link 0.3 m long."""
    return tt.RigidBody(name, 1.0, com=[0.15, 0, 0], inertia=[0.001, 0.01, 0.01], ports={"C": [0.3, 0, 0]})


def beam(name: str) -> tt.Block:
    """Return a flexible link."""
    return tt.Beam(name, length=0.3, density=2700.0, area=1e-4, young=70e9, iy=1e-9, iz=1e-9)


def segment(name: str) -> tt.Block:
    """Return a soft link in plain NumPy."""
    return ConstantCurvatureSegment(name, 0.3, 0.03, 1000.0, stiffness=3.0, damping=0.01)


def telescope(name: str) -> tt.Block:
    """Return a link that extends and sloshes, compiled."""
    return Telescope(name, length=0.3)


def chain(makers: list[Callable[[str], tt.Block]]) -> tt.Model:
    """Return the chain of links made by `makers`, each on a hinge."""
    s = tt.System("chain", gravity=[0, 0, -9.81])
    at: tt.PortRef | str = "world"
    for k, make in enumerate(makers):
        block = make(f"link{k}")
        s.connect(at, block, tt.Revolute(f"hinge{k}", axis=[0, 0, 1] if k % 2 else [0, 1, 0]))
        at = block.port("C")
    return s.resolve()


def systems() -> dict[str, tt.Model]:
    """Return the chains by what is special about them."""
    return {
        "one beam": chain([beam if k == 4 else link for k in range(LINKS)]),
        "five beams": chain([beam if k % 2 else link for k in range(LINKS)]),
        "a compiled block": chain([telescope if k == 4 else link for k in range(LINKS)]),
        "a block in NumPy": chain([segment if k == 4 else link for k in range(LINKS)]),
    }


def calls(model: tt.Model) -> dict[str, Callable[[], object]]:
    """Return the functions that are timed, at a random state."""
    rng = np.random.default_rng(0)
    q, v = model.random_configuration(rng), rng.normal(size=model.nv)
    x, out, cube = rng.normal(size=model.nv), np.empty(model.nv), np.empty((3, model.nv, model.nv))
    return {
        "ID": lambda: model.inverse_dynamics(q, v, x, out=out),
        "FD": lambda: model.forward_dynamics(q, v, x, out=out),
        "dID": lambda: model.inverse_dynamics_derivatives(q, v, x, out=cube),
        "dFD": lambda: model.forward_dynamics_derivatives(q, v, x, out=cube),
    }


def times(functions: list[Callable[[], object]], repeats: int = 15) -> list[float]:
    """Return the median time (s) of one call of each function."""
    timers = [Timer(function) for function in functions]
    numbers = [max(1, round(TURN / timer.timeit(1))) for timer in timers if timer.timeit(1)]
    rows = [[timer.timeit(n) / n for timer, n in zip(timers, numbers, strict=True)] for _ in range(repeats)]
    return [statistics.median(column) for column in zip(*rows, strict=True)]


def main() -> None:
    """Print a table of times and of ratios to the rigid chain."""
    for name, model in systems().items():
        rigid = chain([link] * model.nv)
        special, plain = calls(model), calls(rigid)
        found = times([*special.values(), *plain.values()])
        entries = [
            f"{key} {1e6 * ours:.1f} us ({ours / theirs:.1f} x)"
            for key, ours, theirs in zip(special, found[:4], found[4:], strict=True)
        ]
        print(f"{name} ({model.nv} coordinates): {', '.join(entries)}")


if __name__ == "__main__":
    main()
