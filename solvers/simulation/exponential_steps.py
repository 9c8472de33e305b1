"""Exponential steps: what is linear about a state is integrated exactly, whatever its frequencies, the rest by collocation.

With A the Jacobian of dy/dt at some state before, ``dy/dt = A y + N(t, y)``. A step of length h from y0 solves::

    Y_i = phi_0(c_i h A) y0 + h sum_j W_ij N(t + c_i h, Y_j)    W_ij = int_0^c_i exp((c_i - x) h A) l_j(x) dx

at some nodes c_i, with the polynomials l_j that are one at a node and zero at the others; by fixed-point iteration, which
converges as fast as N changes little with y. Undamped vibrations do not limit the step, nor do constant loads: only what is
nonlinear does (Hochbruck and Ostermann, Exponential integrators, Acta Numerica 19, 2010, 209-286, section 2.1).

The matrices of a step depend on h and A alone. So A is kept while the iteration converges, and steps divide the way to the next
time by powers of two: between equal samples they are the same ones.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import NamedTuple

import numpy as np

from titop.blocks.basics.spatial import Array
from titop.blocks.basics.tolerances import COARSE, EPS, SAME
from titop.solvers.simulation.driven_model import DrivenModel
from titop.solvers.simulation.implicit_equations import RateJacobian
from titop.solvers.simulation.steppers import OdeStepper, Tolerances

#: The first interval between nodes. They are Lobatto's, moved so far that the second is twice the first; unlike equidistant
#: ones, they do not all meet a vibration in the same phase, which then looks like something slow.
_FIRST = 0.1175
_PLACES = np.array([0.0, _FIRST, 3.0 * _FIRST, 1.0 - 3.0 * _FIRST, 1.0 - _FIRST, 1.0])
_NODES, _MIDDLE = len(_PLACES), 1.0 - 6.0 * _FIRST
#: Exponent of the error in a step's length: that of the polynomial through all nodes but one.
_EXPONENT = -1.0 / _NODES
#: Most iterations of a step; the part of its tolerance to which they go on; the contraction above which A is computed anew.
_MOST, _PART, _SLOW = 12, 0.02, 0.3
#: Bounds of the factor by which the next step is longer, its caution, and the factor after an iteration that fails.
_SHORTEST, _LONGEST, _CAUTION, _AFTER_FAILURE = 0.1, 8.0, 0.9, 0.25
#: Where events or switches are looked for within a step, motions of so many tolerances have to be seen by its nodes.
_SEEN = 1e4
#: Functions of so many halves of a matrix are stored; others are computed again.
_RUNGS = 10
#: Matrices of so many ways are kept.
_KEPT = 3


class StepMatrices(NamedTuple):
    """The matrices of a step of some length, with n states.

    - `free` ((nodes - 1) n, n): from the state at the beginning to the states at the other nodes, without N;
    - `forced` ((nodes - 1) n, nodes n): from N at all nodes, times the length;
    - `error` (n, nodes n): how much of the last of these states is due to the middle node.
    """

    free: Array
    forced: Array
    error: Array


@cache
def polynomials(first: int) -> tuple[Array, Array]:
    """Return the coefficients (power, node) of the polynomials through all nodes, and through all but a middle one.

    They are in the part of the step that is over since the node `first`.
    """
    places = _PLACES - _PLACES[first]
    fewer = np.delete(np.arange(_NODES), _NODES // 2)
    through, without = np.linalg.inv(np.vander(places, increasing=True)), np.zeros((_NODES, _NODES))
    without[:-1, fewer] = np.linalg.inv(np.vander(places[fewer], increasing=True))
    return through, without


class Ladder:
    """The functions ``phi_0`` (the exponential) to ``phi_count`` of a matrix (n, n) times 1, 1/2, 1/4 and so on.

    By scaling and doubling, ``phi_k(z) = z phi_k+1(z) + 1/k!`` and ``2^k phi_k(2z) = phi_0(z) phi_k(z) + sum_l phi_l(z) / (k -
    l)!`` over l = 1 to k: what the functions of the matrix need on the way are those of its fractions.
    """

    def __init__(self, matrix: Array, count: int) -> None:
        from scipy.linalg import matrix_balance

        balanced, (self._scale, _) = matrix_balance(matrix, permute=False, separate=True)
        size = float(np.abs(balanced).sum(axis=0).max(initial=0.0))
        if not math.isfinite(size):
            raise ArithmeticError("the derivatives of the rates are not finite")
        self._doublings, self._factors = max(0, math.frexp(size)[1] + 1), [1.0 / math.factorial(k) for k in range(count + 1)]
        self._matrix = balanced
        self._stored = deque(self._rungs(self._doublings), _RUNGS)

    def _rungs(self, last: int) -> Iterator[Array]:
        """Yield the functions of the smallest part of the matrix, of twice that, and so on up to `last` doublings."""
        phi = self._short(self._matrix / 2.0**self._doublings)
        yield phi
        for _ in range(last):
            phi = self._doubled(phi)
            yield phi

    def _short(self, z: Array) -> Array:
        count, eye, phi = len(self._factors) - 1, np.eye(len(z)), np.empty((len(self._factors), *z.shape))
        term, phi[-1], k = self._factors[-1] * eye, 0.0, count
        while np.abs(term).max(initial=0.0) > EPS * self._factors[-1]:
            phi[-1] += term
            k += 1
            term = term @ z / k
        for k in range(count - 1, -1, -1):
            phi[k] = z @ phi[k + 1] + self._factors[k] * eye
        return phi

    def _doubled(self, phi: Array) -> Array:
        product = phi[0] @ phi
        for k in range(1, len(phi)):
            product[k] += np.tensordot(self._factors[k - 1 :: -1], phi[1 : k + 1], 1)
            product[k] /= 2.0**k
        return product

    def at(self, part: float) -> Array:
        """Return the functions (count + 1, n, n) of a part of the matrix, a power of two up to one."""
        halvings = 1 - math.frexp(part)[1]
        if halvings < len(self._stored):
            phi = self._stored[-1 - halvings]
        elif halvings <= self._doublings:
            *_, phi = self._rungs(self._doublings - halvings)
        else:
            phi = self._short(part * self._matrix)
        return phi * (self._scale[:, None] / self._scale)


class WayMatrices:
    """The matrices of steps that are a `way` (s) with the Jacobian A (n, n; 1/s), or its half, its quarter and so on."""

    def __init__(self, A: Array, way: float) -> None:
        self._way, self._steps = way, dict[float, StepMatrices]()
        self._outer, self._middle = (Ladder(way * part * A, _NODES) for part in (2.0 * _FIRST, _MIDDLE))

    def of(self, part: float) -> StepMatrices:
        """Return those of a step that is a part of the way, a power of two up to one."""
        if part not in self._steps:
            first, second = (self._outer.at(part * half) for half in (0.5, 1.0))
            self._steps[part] = _step_matrices([first, second, self._middle.at(part), second, first], part * self._way)
        return self._steps[part]


def _step_matrices(functions: list[Array], h: float) -> StepMatrices:
    n, factorials = functions[0].shape[1], np.array([math.factorial(k) for k in range(_NODES)], dtype=float)
    free, forced, error = [np.eye(n)], [np.zeros((n, _NODES * n))], np.zeros((n, _NODES * n))
    for i, (phi, interval) in enumerate(zip(functions, np.diff(_PLACES), strict=True)):
        through, without = polynomials(i)
        factors = (h * factorials * interval ** np.arange(1, _NODES + 1))[:, None]
        over = [np.tensordot((factors * part).T, phi[1:], 1) for part in (through, through - without)]
        new, differing = (part.swapaxes(0, 1).reshape(n, -1) for part in over)
        free.append(phi[0] @ free[-1])
        forced.append(phi[0] @ forced[-1] + new)
        error = phi[0] @ error + differing
    return StepMatrices(np.vstack(free[1:]), np.vstack(forced[1:]), error)


class ExponentialSteps(OdeStepper):
    """Exponential collocation with step control. `start`, `end` (s)."""

    def __init__(self, plant: DrivenModel, method: str, start: float, end: float, y0: Array, tolerances: Tolerances) -> None:
        super().__init__(plant, start, end, y0)
        self.name, self._t, self._end, self._y = method, start, end, np.array(y0, dtype=float)
        self._rtol, self._atol, self._longest = tolerances
        self._wish = min(self._longest, end - start)
        self._jacobian, self._given = RateJacobian(plant, self.is_near), 0.0
        self._begun, self._before, self._taken = start, self._y, np.zeros((_NODES, len(y0)))
        self._steps = self._evaluations = self._jacobians = 0
        self._is_slow, self._is_watched, self._leg = False, plant.gaps.count > 0, (start, start, 1.0)
        self._linearise()

    def _linearise(self) -> None:
        self._A, self._is_new = self._jacobian(self._t, self._y), True
        self._matrices = dict[float, WayMatrices]()
        self._jacobians += 1

    @property
    def t(self) -> float:
        return self._t

    @property
    def begin(self) -> float:
        return self._begun

    @property
    def end(self) -> float:
        return self._end

    @property
    def y(self) -> Array:
        return self._y

    def advance(self, watch: float) -> None:
        """Make a step; it ends at the time `watch` (s) or divides the way there by a power of two."""
        target = min(watch, self._end) if watch > self._t else self._end
        if self._given:
            self._leg = self._t, self._t + self._given, 0.0
        elif self._leg[1] != target:
            self._leg = self._t, target, 0.0
        (origin, target, over), first, reached = self._leg, self._y.copy(), None
        begin, way = self._t, self._given or target - origin
        while reached is None:
            part = 1.0 if self._given else 2.0 ** -max(0, math.ceil(math.log2(way / self._wish) - SAME))
            while over + part > 1.0:
                part /= 2.0
            if begin + part * way <= begin:
                raise ArithmeticError("Required step size is less than spacing between numbers.")
            reached = self._collocate(begin, first, way, part, self._is_watched or watch == -math.inf)
        self._leg = origin, target, over + part
        self._begun, self._before, self._y = begin, first, reached
        self._t = target if over + part == 1.0 else origin + (over + part) * way
        self._steps, self._is_new, self._given = self._steps + 1, False, 0.0
        if self._is_slow:
            self._linearise()

    def _collocate(self, t: float, y0: Array, way: float, part: float, seen: bool) -> Array | None:
        """Return the state at the end of a step, None if it has to be tried again: shorter, or with another A.

        If the motion has to be `seen`, events or switches are looked for within the step.
        """
        h = part * way
        times, matrices = (t + h * _PLACES).tolist(), self._of_length(way, part)
        free, N = matrices.free @ y0, np.tile(self._rest([t], y0[None]), (_NODES, 1))
        states, before = free + matrices.forced @ N.ravel(), math.inf
        for _ in range(_MOST):
            N[1:] = self._rest(times[1:], states.reshape(-1, len(y0)))
            latest = free + matrices.forced @ N.ravel()
            last = latest[-len(y0) :]
            scale = self._atol + self._rtol * np.maximum(np.abs(y0), np.abs(last))
            change, states = float(np.abs((latest - states).reshape(N[1:].shape) / scale).max()), latest
            if not change <= 2.0 * before:
                break
            rate = change / before if before < math.inf else 0.0
            if change * max(rate, _PART) <= _PART or change == 0.0:
                unseen = self._unseen(y0, states, scale) if seen else 0.0
                if unseen > 1.0:
                    self._wish, self._given = max(_SHORTEST, _CAUTION * unseen**_EXPONENT) * h, 0.0
                    return None
                return self._judge(last.copy(), N, matrices, scale, h, rate)
            before = change
        self._try_again(_AFTER_FAILURE * h)
        return None

    def _unseen(self, y0: Array, states: Array, scale: Array) -> float:
        """Return what of a middle state the polynomial through the others does not tell, in parts of what is allowed."""
        all_states = np.vstack([y0, states.reshape(-1, len(y0))])
        through, without = polynomials(_NODES // 2)
        allowed = scale * max(1.0, min(_SEEN, COARSE / self._rtol))
        return float(np.abs((through[0] - without[0]) @ all_states / allowed).max())

    def _judge(self, y: Array, N: Array, matrices: StepMatrices, scale: Array, h: float, rate: float) -> Array | None:
        """Return the state at the end if its error is small enough; set the length of the next step."""
        parts = matrices.error @ N.ravel() / scale
        error = math.sqrt(parts @ parts / len(parts))
        factor = min(_LONGEST, max(_SHORTEST, _CAUTION * error**_EXPONENT)) if error > 0.0 else _LONGEST
        if error > 1.0:
            self._try_again(factor * h)
            return None
        self._wish = min(self._longest, max(self._wish, factor * h) if factor > 1.0 else factor * h)
        self._taken, self._taken_with, self._is_slow = N, self._A, rate > _SLOW and not self._is_new
        return y

    def _try_again(self, h: float) -> None:
        if self._is_new:
            self._wish, self._given = h, 0.0
        else:
            self._linearise()

    def _of_length(self, way: float, part: float) -> StepMatrices:
        """Return the matrices of a step that is a part of a `way` (s); those of a way that differs by rounding are the same."""
        near = 4.0 * EPS * max(abs(self._t), abs(self._end))
        way = next((known for known in self._matrices if abs(known - way) <= near), way)
        if way not in self._matrices:
            if len(self._matrices) == _KEPT:
                del self._matrices[next(iter(self._matrices))]
            self._matrices[way] = WayMatrices(self._A, way)
        return self._matrices[way].of(part)

    def _rest(self, times: list[float], states: Array) -> Array:
        """Return N (m, n) at times and states (m, n)."""
        self._evaluations += len(times)
        rates = np.array([self.rate(t, y) for t, y in zip(times, states, strict=True)])
        return rates - states @ self._A.T

    def go_back(self, length: float) -> None:
        self._t, self._y, self._given = self._begun, self._before.copy(), length
        self._steps -= 1

    def move(self, y: Array) -> None:
        self._y = np.array(y, dtype=float)

    def go_to(self, end: float, anew: bool) -> bool:
        self._end, self._given, self._leg = end, 0.0, (self._t, self._t, 1.0)
        self._derivative, self._arguments = self.plant.derivative()
        return True

    def memory(self) -> dict[str, Array]:
        ways = np.full(_KEPT, np.nan)
        ways[: len(self._matrices)] = list(self._matrices)
        return {"state": self._y.copy(), "jacobian": self._A, "ways": ways, "wish": np.array([self._wish, self._is_new])}

    def recall(self, memory: Mapping[str, Array]) -> None:
        self._y, self._A = memory["state"].copy(), memory["jacobian"].copy()
        self._wish, self._is_new = float(memory["wish"][0]), bool(memory["wish"][1])
        ways = memory["ways"][np.isfinite(memory["ways"])].tolist()
        self._matrices = {way: WayMatrices(self._A, way) for way in ways}

    def dense_output(self) -> Callable[[Array], Array]:
        from scipy.linalg import expm

        n, h = len(self._y), self._t - self._begun
        terms = polynomials(0)[0] @ self._taken  # N within the step, by powers of the part of it that is over
        grown = np.zeros((n + _NODES, n + _NODES))
        grown[:n, :n], begin, y0 = self._taken_with, self._begun, self._before
        for k in range(_NODES):
            grown[:n, n + k] = math.factorial(k) * terms[k] / h**k
        grown[n + 1 :, n:-1] = np.eye(_NODES - 1)
        start = np.concatenate([y0, [1.0], np.zeros(_NODES - 1)])
        return lambda times: np.array([(expm((t - begin) * grown) @ start)[:n] for t in times])

    def statistics(self) -> dict[str, float]:
        return {"steps": self._steps, "evaluations": self._evaluations, "jacobians": self._jacobians}
