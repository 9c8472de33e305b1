"""Rods as numbers, and their stages called as the passes do."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from titop.solvers.kernels.interface import layout, records

Array = NDArray[Any]


@dataclass
class Step:
    """From a point along a length: the reference strains and the coordinates' shapes at the two places of collocation."""

    length: float
    reference: Array
    shapes: Array

    def numbers(self) -> Array:
        return np.concatenate([[self.length], self.reference.ravel(), self.shapes.ravel()])


@dataclass
class Mounted:
    """A port beyond a point."""

    point: int
    step: Step
    rotation: Array
    position: Array


@dataclass
class Numbers:
    """The numbers of a rod."""

    components: Array
    steps: list[Step]
    inertia: Array
    stiffness: Array
    damping: Array
    ports: list[Mounted] = field(default_factory=list)

    @property
    def n(self) -> int:
        return len(self.components)

    def law_numbers(self) -> Array:
        rows = [[len(self.steps), 0, 0], self.components, *(step.numbers() for step in self.steps), self.inertia.ravel()]
        rows += [self.stiffness.ravel(), self.damping.ravel()]
        for port in self.ports:
            rows += [[port.point], port.step.numbers(), port.rotation.ravel(), port.position]
        return np.concatenate([np.asarray(row, dtype=float) for row in rows])


def random_rotation(rng: np.random.Generator) -> Array:
    q, _ = np.linalg.qr(rng.normal(size=(3, 3)))
    return q * np.sign(np.linalg.det(q))


def rod(
    seed: int = 0,
    orders: tuple[int, ...] = (2, 3, 2, 1, 1, 1),
    points: int = 5,
    ports: tuple[float, ...] = (1.0,),
    length: float = 0.8,
    taper: float = 0.5,
    curved: float = 0.3,
) -> Numbers:
    """Return a rod with Legendre shapes of each strain; `ports` at fractions of its length; its mass vanishes at `taper` 1."""
    rng = np.random.default_rng(seed)
    components = np.repeat(np.arange(6), orders)
    gauss, weights = np.polynomial.legendre.leggauss(points)
    at = np.concatenate([[0.0], 0.5 * (1.0 + gauss), [1.0]])
    weights = np.concatenate([[0.0], 0.5 * weights, [0.0]])
    bent = curved * rng.normal(size=(6, 3))

    def shapes(x: float) -> Array:
        return np.array([np.polynomial.Legendre.basis(k)(2.0 * x - 1.0) for order in orders for k in range(order)])

    def step(begin: float, end: float) -> Step:
        middle, apart = 0.5 * (begin + end), (end - begin) * np.sqrt(3.0) / 6.0
        places = middle - apart, middle + apart
        reference = [np.array([0.0, 0.0, 0.0, 1.0, 0.0, 0.0]) + bent @ [1.0, x, x * x] for x in places]
        return Step(length * (end - begin), np.array(reference), np.array([shapes(x) for x in places]))

    radius = 0.1 * (1.0 - taper * at)
    inertia = (
        1000.0
        * length
        * weights[:, None]
        * np.stack([np.pi * radius**2, 0.5 * np.pi * radius**4, 0.2 * np.pi * radius**4, 0.3 * np.pi * radius**4], axis=1)
    )
    roots = rng.normal(size=(2, len(components), len(components)))
    stiffness, damping = (root @ root.T for root in roots)
    mounted = []
    for x in ports:
        point = int(np.searchsorted(at, x, side="right")) - 1
        mounted.append(Mounted(point, step(at[point], x), random_rotation(rng), rng.normal(size=3) * 0.1))
    steps = [step(*pair) for pair in itertools.pairwise(at)]
    return Numbers(components, steps, inertia, stiffness, damping, mounted)


class Called:
    """A rod's stages, called as the passes do.

    Parameters
    ----------
    law : CompiledLaw
    numbers : Numbers
    used : int
        A bit for each port that is in use.
    """

    def __init__(self, law: Any, numbers: Numbers, used: int | None = None) -> None:
        self.law_of = law
        self.n, self.ports = numbers.n, len(numbers.ports)
        self.used = (1 << self.ports) - 1 if used is None else used
        self.numbers = numbers.law_numbers()
        self.stages = np.zeros(layout.STAGE_COLUMNS, dtype=np.int64)
        self.stages[layout.TERMS] = law.terms.address
        self.law = np.full(records.law_size(self.n, self.ports), np.nan)
        self.slopes = np.full(records.slopes_size(self.n, self.ports), np.nan)
        self.room = np.full(law.room(self.n, self.ports, self.numbers), np.nan)

    def call(self, stage: str, q: Array, v: Array, a: Array, twist: Array, acceleration: Array, passive: bool = True) -> None:
        given = [np.ascontiguousarray(x, dtype=float) for x in (q, v, a, twist, acceleration)]
        words = [self.n, self.ports, self.used, len(self.numbers), int(passive), 0, self.stages.ctypes.data]
        words += [x.ctypes.data for x in (self.numbers, *given, self.law, self.room, self.slopes)]
        assert getattr(self.law_of, stage)(*words) == 0

    def port(self, p: int, column: int, shape: tuple[int, ...]) -> Array:
        start = records.port_at(self.n, p) + column
        return self.law[start : start + int(np.prod(shape))].reshape(shape)

    @property
    def mass(self) -> Array:
        size = 6 + self.n
        return self.law[: size * size].reshape(size, size)

    @property
    def bias(self) -> Array:
        start = records.bias_at(self.n)
        return self.law[start : start + 6 + self.n]

    @property
    def result(self) -> Array:
        start = records.result_at(self.n)
        return self.law[start : start + 6 + self.n]

    def slopes_by(self, of: str) -> Array:
        """Return the derivatives of W_P and tau by q, v or the twist."""
        n = self.n
        start = {"q": 0, "v": records.by_rate_at(n), "twist": records.by_twist_at(n)}[of]
        columns = 6 if of == "twist" else n
        return self.slopes[start : start + (6 + n) * columns].reshape(6 + n, columns)

    def port_slopes(self, p: int) -> Array:
        """Return X, Y and Z of a port."""
        start = records.columns_at(self.n, p)
        return self.slopes[start : start + 18 * self.n].reshape(3, 6, self.n)
