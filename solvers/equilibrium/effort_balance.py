"""The equations of equilibria at rest as efforts that balance."""

from __future__ import annotations

import numpy as np

from titop.blocks.basics.errors import ModelError
from titop.blocks.basics.spatial import Array
from titop.solvers.equilibrium.operating_point import OperatingPoint
from titop.solvers.equilibrium.unknown_differences import by_unknown
from titop.solvers.equilibrium.unknowns import Unknowns
from titop.solvers.signals.quantities import Kind

#: What a change of a multiplier counts beside one of an unknown: of many equilibria that one is found whose unknowns change
#: least.
_LOOSE = 1e-4


class Balance:
    """The equations at rest, ``f(q) + J^T m = 0`` and closed loops, as efforts that are left, with their derivatives.

    Where they vanish the accelerations ``a = M^-1 (f + J^T m)`` do. On the way there efforts change far less with the
    configuration than accelerations, whose derivatives hold those of the mass matrix times what is left: of a rod under a large
    load Newton's method needs a third of the steps, and does not stray to other equilibria.

    Parameters
    ----------
    unknowns : Unknowns
    bounds : (unknowns,) arrays, optional
        Of x, beyond which nothing is evaluated.

    Attributes
    ----------
    held : int
        Number of multipliers m, of closures and gears, that follow the unknowns in the argument ``y`` of the equations.
    """

    def __init__(self, unknowns: Unknowns, bounds: tuple[Array, Array] | None = None) -> None:
        model, sizes = unknowns.guess.model, unknowns.sizes
        self._bounds = bounds
        self.unknowns, self.held = unknowns, len(model.constraint_names)
        openings = np.where(model.angular_constraints, 1.0, sizes.length) if self.held else np.zeros(0)
        self._rest, self._sizes = np.zeros(model.nv), np.concatenate([sizes.efforts, openings])
        self._multipliers = sizes.energy / openings

    def lengths(self, count: int) -> Array:
        """Return what changes of so many unknowns, and of the multipliers, count where the shortest step is looked for."""
        return np.repeat([1.0, _LOOSE], [count, self.held])

    def begin(self, x: Array) -> Array:
        """Return unknowns with the multipliers that leave least of their efforts: from none, shapes would go astray first."""
        if not self.held:
            return x
        y = np.append(x, np.zeros(self.held))
        count = self.unknowns.guess.model.nv
        try:
            jacobian = self.unknowns.at(x).model.closure_jacobian(self.unknowns.at(x).q)
        except ModelError:
            return y
        weights = jacobian.T * self._multipliers / self._sizes[:count, None]
        y[len(x) :] = -np.linalg.lstsq(weights, self.residual(y)[:count], rcond=None)[0]
        return y

    def residual(self, y: Array) -> Array:
        """Return the efforts left (nv), then the openings, over what counts as one; infinite where they cannot be evaluated."""
        try:
            return self._left(y)
        except ModelError:
            return np.full(len(self._sizes), np.inf)

    def _left(self, y: Array) -> Array:
        point = self.unknowns.at(self._split(y)[0])
        model = point.model
        if not self.held:
            needed = model.inverse_dynamics(point.q, point.v, self._rest, point.wrenches or None, u=point.driving)
            left: Array = (point.tau - needed) / self._sizes
            return left
        rows = model.engine.dynamics.constraints(point.q, self._rest)
        pushes = model.external_pushes(point.wrenches, point.driving)
        needed = model.engine.dynamics.tree_inverse(point.q, self._rest, self._rest, pushes) - model.motor_efforts(
            point.driving
        )
        held = rows.jacobian.T @ self._split(y)[1]
        result: Array = np.concatenate([point.tau - needed + held, rows.error]) / self._sizes
        return result

    def derivatives(self, y: Array) -> Array:
        """Return their derivatives by y: exact, but for those by parameters."""
        unknowns, (x, multipliers) = self.unknowns, self._split(y)
        point = unknowns.at(x)
        model, by_y = point.model, np.zeros((len(self._sizes), len(y)))
        efforts, openings = by_y[: model.nv], by_y[model.nv :]
        if unknowns.select(Kind.POSITION)[0] or self.held:
            by_q, jacobian = self._by_coordinates(point, multipliers)
            unknowns.put(Kind.POSITION, -by_q, x, efforts)
            unknowns.put(Kind.POSITION, jacobian, x, openings)
            efforts[:, len(x) :] = jacobian.T * self._multipliers
        if unknowns.select(Kind.EFFORT)[0]:
            unknowns.put(Kind.EFFORT, np.eye(model.nv), x, efforts)
        if unknowns.select(Kind.INPUT)[0]:
            driven = model.actuation_matrix(point.q)
            unknowns.put(Kind.INPUT, driven if point.following is None else driven + point.following.by_u, x, efforts)
        by_y /= self._sizes[:, None]
        for k in unknowns.select(Kind.PARAMETER)[0]:
            by_y[:, k] = by_unknown(self.residual, y, k, self._bounds)
        return by_y

    def _split(self, y: Array) -> tuple[Array, Array]:
        """Return unknowns and multipliers."""
        count = len(y) - self.held
        return y[:count], y[count:] * self._multipliers

    def _by_coordinates(self, point: OperatingPoint, multipliers: Array) -> tuple[Array, Array]:
        """Return the derivatives of the efforts needed (nv, nv), and of the openings (k, nv)."""
        model, q = point.model, point.q
        if not self.held:
            by_q = model.inverse_dynamics_derivatives(q, point.v, self._rest, point.wrenches or None, u=point.driving)[0]
            return by_q if point.following is None else by_q - point.following.by_q, np.zeros((0, model.nv))
        pushes = model.external_pushes(point.wrenches, point.driving)
        changes, rows = model.engine.derivatives.with_closures(q, self._rest, self._rest, pushes, multipliers)
        return changes[0] if point.following is None else changes[0] - point.following.by_q, rows[0]
