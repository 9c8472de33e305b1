"""The equations of equilibria, at rest and moving, in the unknowns of a search, and their derivatives.

At a relative equilibrium the accelerations vanish, ``a(q, v) = 0``, and remain zero while the configuration moves with v:
``a_q v = 0``. Coordinates on which the accelerations do not depend may move at any rate. A closed loop stays closed:
``closure_error(q) = 0`` and ``J v = 0``. At rest an equivalent condition is a balance of efforts, ``f(q) + J^T m = 0``.
"""

from __future__ import annotations

import numpy as np

from titop.blocks.basics.errors import ModelError
from titop.blocks.basics.spatial import Array
from titop.blocks.basics.tolerances import CLOSE
from titop.solvers.equilibrium.newton import Bounds, by_difference
from titop.solvers.equilibrium.operating_point import OperatingPoint
from titop.solvers.equilibrium.unknowns import TrimUnknowns
from titop.solvers.signals.quantities import Kind


class Equations:
    """Base class: scaled residuals as functions of y, the unknowns x followed by multipliers.

    Parameters
    ----------
    unknowns : TrimUnknowns
    bounds : (unknowns,) arrays, optional
        Of x; outside them nothing is evaluated.

    Attributes
    ----------
    sizes : (k,) array
        Scale of each residual.
    multipliers : int
        Number of multipliers m of closures and gears, which follow the unknowns in y.
    """

    sizes: Array
    multipliers = 0

    def __init__(self, unknowns: TrimUnknowns, bounds: Bounds | None = None) -> None:
        self.unknowns, self.bounds = unknowns, bounds

    def begin(self, x: Array) -> Array:
        """Return the initial y of a search."""
        return x

    def lengths(self, count: int) -> Array:
        """Return the weights of changes of the first `count` unknowns, and of the multipliers, in the length of a step.

        Multipliers weigh less: of many equilibria the search finds the one whose unknowns change least.
        """
        return np.repeat([1.0, CLOSE], [count, self.multipliers])

    def residual(self, y: Array) -> Array:
        """Return the residuals (k); infinite if parameters or configurations are impossible."""
        try:
            values: Array = self._values(y) / self.sizes
        except ModelError:
            return np.full(len(self.sizes), np.inf)
        return values

    def derivatives(self, y: Array) -> Array:
        """Return the derivatives of the residuals by y (k, n): exact, except for those by parameters and along the motion.

        These are differences of exact functions; an error of theirs slows the search, and changes no equilibrium.
        """
        point, by_y = self._point(y), np.zeros((len(self.sizes), len(y)))
        for k in self._by_differences():
            by_y[:, k] = self.sizes * by_difference(self.residual, y, k, self.bounds)
        self._fill_exact(point, y, by_y)
        result: Array = by_y / self.sizes[:, None]
        return result

    def _values(self, y: Array) -> Array:
        """Return the residuals (k) in their own units."""
        raise NotImplementedError

    def _fill_exact(self, point: OperatingPoint, y: Array, by_y: Array) -> None:
        """Write the derivatives that are known exactly into their places."""
        raise NotImplementedError

    def _point(self, y: Array) -> OperatingPoint:
        return self.unknowns.at(y[: len(self.unknowns.entries)])

    def _by_differences(self) -> list[int]:
        """Return the unknowns that are differentiated by differences."""
        return self.unknowns.select(Kind.PARAMETER)[0]


def _input_matrix(point: OperatingPoint) -> Array:
    """Return the derivatives (nv, nu) of efforts by inputs."""
    driven = point.model.actuation_matrix(point.q)
    return driven if point.following is None else driven + point.following.by_u


class AccelerationEquations(Equations):
    """Accelerations, then their change along the motion if the point moves, then closure errors and their rates.

    Attributes
    ----------
    moving : bool
        Whether the point moves.
    """

    def __init__(self, unknowns: TrimUnknowns, bounds: Bounds | None = None) -> None:
        super().__init__(unknowns, bounds)
        sizes, self.moving = unknowns.sizes, unknowns.are_moving
        parts = [sizes.accelerations, sizes.drifts] if self.moving else [sizes.accelerations]
        openings = unknowns.openings
        self.sizes = np.concatenate([*parts, openings, openings * sizes.rate])

    @property
    def names(self) -> list[str]:
        """Descriptions of the residuals: ``"an opening of pin.x"``."""
        model = self.unknowns.guess.model
        names = [f"an acceleration of {name}" for name in model.coordinate_names]
        names += [f"{name} while it moves" for name in names] if self.moving else []
        return names + [f"{what} of {name}" for what in ("an opening", "a rate of opening") for name in model.constraint_names]

    def _values(self, y: Array) -> Array:
        point = self._point(y)
        model, values = point.model, [point.residual]
        if self.moving:
            a, A, _ = point.state_matrices
            values = [a, A[model.nv :, : model.nv] @ point.v]
        if model.is_constrained:
            rows = model.mechanism.engine.dynamics.constraints(point.q, point.v)
            values += [rows.error, rows.jacobian @ point.v]
        return np.concatenate(values)

    def _fill_exact(self, point: OperatingPoint, y: Array, by_y: Array) -> None:
        unknowns, model, accelerations = self.unknowns, point.model, by_y[: point.model.nv]
        by_q, by_v, by_tau = point.forward_derivatives
        for kind, matrix in ((Kind.POSITION, by_q), (Kind.RATE, by_v), (Kind.EFFORT, by_tau)):
            unknowns.fill_columns(kind, matrix, y, accelerations)
        if unknowns.select(Kind.INPUT)[0]:
            unknowns.fill_columns(Kind.INPUT, by_tau @ _input_matrix(point), y, accelerations)
        if model.is_constrained:
            closed = model.mechanism.engine.dynamics.constraints(point.q, point.v).jacobian
            opening = by_y[len(by_y) - 2 * len(closed) :]
            turning = model.mechanism.engine.derivatives.closure_rate(point.q, point.v)
            unknowns.fill_columns(Kind.POSITION, np.vstack([closed, turning]), y, opening)
            unknowns.fill_columns(Kind.RATE, np.vstack([0.0 * closed, closed]), y, opening)

    def _by_differences(self) -> list[int]:
        return [*range(len(self.unknowns.entries))] if self.moving else super()._by_differences()


class EffortEquations(Equations):
    """The equations at rest, ``f(q) + J^T m = 0`` and closed loops, as residual efforts.

    Where they vanish the accelerations ``a = M^-1 (f + J^T m)`` do. Away from the equilibrium efforts vary far less with the
    configuration than accelerations, whose derivatives contain those of the mass matrix times the residual. For a rod under a
    large load Newton's method needs a third of the steps, and does not stray to other equilibria.
    """

    def __init__(self, unknowns: TrimUnknowns, bounds: Bounds | None = None) -> None:
        super().__init__(unknowns, bounds)
        model, self._rest = unknowns.guess.model, np.zeros(unknowns.guess.model.nv)
        self.multipliers = len(model.constraint_names)
        self.sizes = np.concatenate([unknowns.sizes.efforts, unknowns.openings])
        self._forces = unknowns.sizes.energy / unknowns.openings

    def begin(self, x: Array) -> Array:
        """Return unknowns and the multipliers of least residual efforts: from zero ones, shapes would first go astray."""
        y, nv = np.append(x, np.zeros(self.multipliers)), self.unknowns.guess.model.nv
        if not self.multipliers:
            return x
        try:
            point = self._point(x)
            jacobian = point.model.closure_jacobian(point.q)
        except ModelError:
            return y
        weights = jacobian.T * self._forces / self.sizes[:nv, None]
        y[len(x) :] = -np.linalg.lstsq(weights, self.residual(y)[:nv], rcond=None)[0]
        return y

    def _multipliers(self, y: Array) -> Array:
        forces: Array = y[len(y) - self.multipliers :] * self._forces
        return forces

    def _values(self, y: Array) -> Array:
        point = self._point(y)
        model = point.model
        if not self.multipliers:
            needed = model.inverse_dynamics(point.q, point.v, self._rest, point.wrenches or None, u=point.driving)
            efforts: Array = point.tau - needed
            return efforts
        rows = model.mechanism.engine.dynamics.constraints(point.q, self._rest)
        pushes = model.mechanism.external_pushes(point.wrenches, point.driving)
        needed = model.mechanism.engine.dynamics.tree_inverse(point.q, self._rest, self._rest, pushes)
        needed = needed - model.mechanism.motor_efforts(point.driving)
        return np.concatenate([point.tau - needed + rows.jacobian.T @ self._multipliers(y), rows.error])

    def _fill_exact(self, point: OperatingPoint, y: Array, by_y: Array) -> None:
        unknowns, model, count = self.unknowns, point.model, len(self.unknowns.entries)
        efforts, openings = by_y[: model.nv], by_y[model.nv :]
        if unknowns.select(Kind.POSITION)[0] or self.multipliers:
            by_q, jacobian = self._by_coordinates(point, self._multipliers(y))
            unknowns.fill_columns(Kind.POSITION, -by_q, y[:count], efforts)
            unknowns.fill_columns(Kind.POSITION, jacobian, y[:count], openings)
            efforts[:, count:] = jacobian.T * self._forces
        if unknowns.select(Kind.EFFORT)[0]:
            unknowns.fill_columns(Kind.EFFORT, np.eye(model.nv), y[:count], efforts)
        if unknowns.select(Kind.INPUT)[0]:
            unknowns.fill_columns(Kind.INPUT, _input_matrix(point), y[:count], efforts)

    def _by_coordinates(self, point: OperatingPoint, multipliers: Array) -> tuple[Array, Array]:
        """Return the derivatives of the efforts needed (nv, nv), and of the closure errors (k, nv)."""
        model, q = point.model, point.q
        if self.multipliers:
            pushes = model.mechanism.external_pushes(point.wrenches, point.driving)
            changes, rows = model.mechanism.engine.derivatives.with_closures(q, self._rest, self._rest, pushes, multipliers)
            by_q, jacobian = changes[0], rows[0]
        else:
            by_q = model.inverse_dynamics_derivatives(q, point.v, self._rest, point.wrenches or None, u=point.driving)[0]
            jacobian = np.zeros((0, model.nv))
        return by_q if point.following is None else by_q - point.following.by_q, jacobian
