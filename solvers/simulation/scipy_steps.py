"""Scipy's implicit integrators, with the exact Jacobian of dy/dt and a factorization that uses its structure."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
from scipy.integrate import BDF, LSODA, OdeSolver, Radau
from scipy.linalg.lapack import dgetrf, dgetrs, zgetrf, zgetrs

from titop.blocks.basics.spatial import Array
from titop.solvers.model.model import Model
from titop.solvers.simulation.driven_model import DrivenModel
from titop.solvers.simulation.implicit_equations import RateJacobian
from titop.solvers.simulation.steppers import OdeStepper, Tolerances

#: Implicit integrators.
_METHODS: dict[str, type[OdeSolver]] = {"LSODA": LSODA, "BDF": BDF, "Radau": Radau}


class ScipySteps(OdeStepper):
    """An implicit integrator of scipy, with the exact Jacobian. `method`, {"LSODA", "BDF", "Radau"}; `start`, `end` (s)."""

    def __init__(self, plant: DrivenModel, method: str, start: float, end: float, y0: Array, tolerances: Tolerances) -> None:
        super().__init__(plant, start, end, y0)
        jacobian, factors = RateJacobian(plant, self.is_near), NewtonFactors(plant.model)
        self._solver: OdeSolver = _METHODS[method](self.rate, start, y0, end, jac=jacobian, **tolerances._asdict())
        if hasattr(self._solver, "solve_lu"):
            self._solver.lu, self._solver.solve_lu = factors.factor, factors.solve
        self._steps, self.name = 0, method
        self._before = vars(self._solver).copy()
        self._dense: Callable[[Array], Array] | None = None

    @property
    def t(self) -> float:
        return float(self._solver.t)

    @property
    def y(self) -> Array:
        return self._solver.y

    @property
    def end(self) -> float:
        return float(self._solver.t_bound)

    @property
    def begin(self) -> float:
        return float(self._solver.t_old)

    def advance(self, watch: float) -> None:
        """Make one step; `watch` is ignored."""
        self._before, self._dense = vars(self._solver).copy(), None
        message = self._solver.step()
        if self._solver.status == "failed":
            raise ArithmeticError(message)
        self._steps += 1

    def go_back(self, length: float) -> None:
        counted = {name: getattr(self._solver, name) for name in ("nfev", "njev", "nlu")}
        vars(self._solver).update(self._before | counted | {"h_abs": length})
        self._steps -= 1

    def move(self, y: Array) -> None:
        self._solver.y = y
        self._solver.f = self._solver.fun(self.t, y)  # implicit integrators use it in the next step

    def interpolate(self, t: float, is_behind: bool) -> bool:
        if not is_behind and isinstance(self._solver, Radau):  # a one-step method repeats the step
            return False
        self._solver.y, self._solver.t = self.dense_output()(np.array([t]))[0], t
        return True

    def go_to(self, end: float, anew: bool) -> bool:
        if anew or isinstance(self._solver, LSODA):  # its Fortran code keeps its end
            return False
        self._solver.t_bound, self._solver.status = end, "running"
        return True

    def memory(self) -> dict[str, Array]:
        return {}

    def recall(self, memory: Mapping[str, Array]) -> None:
        """Begin anew, as after jumps of the loads: there is nothing to recall."""

    def dense_output(self) -> Callable[[Array], Array]:
        if self._dense is None:
            dense = self._solver.dense_output()
            self._dense = lambda times: dense(times).T
        return self._dense

    def statistics(self) -> dict[str, float]:
        return {"steps": self._steps, "evaluations": int(self._solver.nfev), "jacobians": int(self._solver.njev)}


class Factors(NamedTuple):
    """Factors of a matrix: the blocks of q, eliminated, and the LU factors of the rest.

    - `inverse`, `follows` (k): of coordinates that are their own tangents: one over the diagonal, and how q depends on v;
    - `others`: the same for each other block, as matrices;
    - `below` (m, nq): rows of v, by q.
    """

    inverse: Array
    follows: Array
    others: list[tuple[Array, Array]]
    below: Array
    lu: Array
    pivots: Array


class NewtonFactors:
    """Factors matrices ``s I - J``, real or complex, and solves with them: replaces scipy's ``lu`` and ``solve_lu``.

    Rates of q depend only on q and v of the same block. So q is eliminated block by block, and only a matrix of half the size
    has to be factored: a fifth of the work, and small enough that libraries use no threads for it, which on a busy machine
    would wait for each other.
    """

    def __init__(self, model: Model) -> None:
        self.nq = model.nq
        places = model.mechanism.assembly
        blocks = places.blocks_with_coordinates
        plain = [block.name for block in blocks if block.configuration_names == block.coordinates]
        none = [np.zeros(0, dtype=int)]
        self._q = np.concatenate(none + [np.arange(model.nq)[places.q_slices[name]] for name in plain])
        self._v = np.concatenate(none + [np.arange(model.nv)[places.v_slices[name]] for name in plain])
        #: Positions of q and v of the other blocks.
        self._others = [(places.q_slices[b.name], places.v_slices[b.name]) for b in blocks if b.name not in plain]

    def factor(self, matrix: Array) -> Factors:
        """Return the factors of a matrix (ny, ny)."""
        nq = self.nq
        across, rest = matrix[:nq, nq:], matrix[nq:, nq:].copy()
        below = np.ascontiguousarray(matrix[nq:, :nq].real)  # s occurs on the diagonal only
        inverse = 1.0 / matrix[self._q, self._q]
        follows = inverse * across[self._q, self._v]
        rest[:, self._v] -= below[:, self._q] * follows
        others = []
        for q, v in self._others:
            block_inverse = np.linalg.inv(matrix[q, q])
            others.append((block_inverse, block_inverse @ across[q, v]))
            rest[:, v] -= below[:, q] @ others[-1][1]
        lu, pivots, _ = (zgetrf if np.iscomplexobj(matrix) else dgetrf)(rest, overwrite_a=True)
        return Factors(inverse, follows, others, below, lu, pivots)  # a singular matrix gives a solution that is not finite

    def solve(self, factors: Factors, b: Array) -> Array:
        """Return the solution (ny) for a right-hand side."""
        nq, x = self.nq, np.empty(len(b), dtype=factors.lu.dtype)
        x[self._q] = factors.inverse * b[self._q]
        for (q, _), (inverse, _) in zip(self._others, factors.others, strict=True):
            x[q] = inverse @ b[q]
        solve: Any = zgetrs if np.iscomplexobj(factors.lu) else dgetrs
        below = (factors.below @ x[:nq].view(float).reshape(nq, -1)).view(x.dtype)[:, 0]  # real rows, parts of q side by side
        rates = x[nq:] = solve(factors.lu, factors.pivots, b[nq:] - below)[0]
        x[self._q] -= factors.follows * rates[self._v]
        for (q, v), (_, follows) in zip(self._others, factors.others, strict=True):
            x[q] -= follows @ rates[v]
        return x
