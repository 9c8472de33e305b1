"""The equations of equilibria, at rest and moving, in the unknowns of a search, their derivatives, and what these tell.

At a relative equilibrium the accelerations vanish, ``a(q, v) = 0``, and remain zero while the configuration moves with v:
``a_q v = 0``. Coordinates on which the accelerations do not depend may move at any rate. Where some accelerate by a0, they
do so for good: ``a(q, v) = a0`` and ``a_q v + a_v a0 = 0``. A closed loop stays closed:
``closure_error(q) = 0`` and ``J v = 0``. At rest an equivalent condition is a balance of efforts, ``f(q) + J^T m = 0``.

Derivatives tell which unknowns an equilibrium determines, what does not depend on them (`with_rank`), and whether it `stands`.
Stiff and soft coordinates stand side by side in them. An entry counts as zero beside the rounding of the terms that made it;
rows and columns are brought to one size before ranks are counted.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from titop.blocks.basics.errors import ModelError
from titop.blocks.basics.ranks import decided_rank
from titop.blocks.basics.spatial import Array
from titop.blocks.basics.tolerances import BALANCED, CLOSE, EXACT, SAME
from titop.solvers.equilibrium.newton import Bounds, by_difference, equilibrate, regular_inverse
from titop.solvers.equilibrium.operating_point import OperatingPoint
from titop.solvers.equilibrium.unknowns import TrimUnknowns
from titop.solvers.signals.quantities import Kind


class Equations:
    """Base class: scaled residuals as functions of y, the unknowns x followed by multipliers.

    Outside the bounds of x nothing is evaluated.

    - `sizes` (k): scale of each residual;
    - `multipliers`: number of multipliers m of closures and gears, which follow the unknowns in y.
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
        return by_y / self.sizes[:, None]

    def _values(self, y: Array) -> Array:
        raise NotImplementedError

    def _fill_exact(self, point: OperatingPoint, y: Array, by_y: Array) -> None:
        raise NotImplementedError

    def _point(self, y: Array) -> OperatingPoint:
        return self.unknowns.at(y[: len(self.unknowns.entries)])

    def _by_differences(self) -> list[int]:
        return self.unknowns.select(Kind.PARAMETER)[0]


def _input_matrix(point: OperatingPoint) -> Array:
    driven = point.model.actuation_matrix(point.q)
    return driven if point.following is None else driven + point.following.by_u


class AccelerationEquations(Equations):
    """Accelerations, then their change along the motion if the point moves, then closure errors and their rates.

    `moving`: whether the point moves.
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
            values.append(point.drift)
        if model.is_constrained:
            rows = model.mechanism.engine.dynamics.constraints(point.q, point.v)
            values += [rows.error, rows.jacobian @ point.v]
        return np.concatenate(values)

    def _fill_exact(self, point: OperatingPoint, y: Array, by_y: Array) -> None:
        unknowns, model, accelerations = self.unknowns, point.model, by_y[: point.model.nv]
        by_q, by_v, by_tau = point.forward_derivatives
        by_kind = (Kind.POSITION, by_q), (Kind.RATE, by_v), (Kind.ACCELERATION, -np.eye(model.nv)), (Kind.EFFORT, by_tau)
        for kind, matrix in by_kind:
            unknowns.fill_columns(kind, matrix, y, accelerations)
        if unknowns.select(Kind.INPUT)[0]:
            unknowns.fill_columns(Kind.INPUT, by_tau @ _input_matrix(point), y, accelerations)
        if model.is_constrained:
            closed = model.mechanism.engine.dynamics.constraints(point.q, point.v).jacobian
            opening = by_y[len(by_y) - 2 * len(closed) :]
            turning = model.mechanism.engine.derivatives.closure_rate(point.q, point.v)
            places = model.mechanism.places[:, None]
            unknowns.fill_columns(Kind.POSITION, np.vstack([np.where(places, closed, 0.0), turning]), y, opening)
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
        return y[len(y) - self.multipliers :] * self._forces

    def _values(self, y: Array) -> Array:
        point = self._point(y)
        model = point.model
        if not self.multipliers:
            needed = model.inverse_dynamics(point.q, point.v, point.a, point.wrenches or None, u=point.driving)
            return point.tau - needed
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
            unknowns.fill_columns(Kind.POSITION, np.where(model.mechanism.places[:, None], jacobian, 0.0), y[:count], openings)
            efforts[:, count:] = jacobian.T * self._forces
        if unknowns.select(Kind.ACCELERATION)[0]:
            unknowns.fill_columns(Kind.ACCELERATION, -model.mass_matrix(point.q), y[:count], efforts)
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
            by_q = model.inverse_dynamics_derivatives(q, point.v, point.a, point.wrenches or None, u=point.driving)[0]
            jacobian = np.zeros((0, model.nv))
        return by_q if point.following is None else by_q - point.following.by_q, jacobian


def easiest(judged: AccelerationEquations) -> Equations:
    """Return the equations of these roots that take the fewest steps: of efforts, where they know of all that acts."""
    unknowns = judged.unknowns
    accelerated = unknowns.guess.a.any() or unknowns.select(Kind.ACCELERATION)[0]
    if judged.moving or (accelerated and unknowns.guess.model.is_constrained):
        return judged
    return EffortEquations(unknowns, judged.bounds)


# -- stiffness -------------------------------------------------------------------------------------------------------------

#: Entries of null spaces below this are rounding of double roots.
_ENTRY = np.sqrt(EXACT)


def with_rank(point: OperatingPoint, derivatives: Array, unknowns: TrimUnknowns) -> OperatingPoint:
    """Return an equilibrium with what its equations say of the unknowns.

    Equations are compared as efforts, not as accelerations: an effort that no unknown changes accelerates all coordinates that
    are coupled to its own. `derivatives` (equations, unknowns) are those of `AccelerationEquations`.
    """
    model, nv, names = point.model, point.model.nv, unknowns.names
    efforts = _efforts(model.mass_matrix(point.q), unknowns.sizes.accelerations[:, None] * derivatives[:nv])
    independent = [*model.independent_coordinates(point.q)] if model.is_constrained else [*model.coordinate_names]
    motions, closed = _motions(point, independent), _closed_directions(point, derivatives)
    reduced, terms = motions.T @ efforts @ closed, np.abs(motions).T @ np.abs(efforts) @ np.abs(closed)
    balanced = equilibrate(np.where(np.abs(reduced) > EXACT * terms, reduced, 0.0))[2]
    if regular_inverse(balanced, BALANCED) is not None:  # every motion that closes loops changes an effort of its own
        negative = _negative(unknowns, efforts, motions)
        return point.with_findings(unknowns=names, rank=len(names), free=(), overdetermined=(), negative=negative)
    left, sizes, _ = np.linalg.svd(balanced)
    lost = np.abs(left[:, _rank(sizes) :]).max(axis=1, initial=0.0) > _ENTRY
    rest = derivatives[nv:]  # along the motion by differences, and of closures
    rest = np.where(np.abs(rest) > BALANCED * max(1.0, np.abs(rest).max(initial=0.0)), rest, 0.0)
    _, sizes, right = np.linalg.svd(equilibrate(np.vstack([efforts, rest]))[2])
    rank = _rank(sizes)
    free = np.abs(right[rank:]).max(axis=0, initial=0.0) > _ENTRY
    return point.with_findings(
        unknowns=names,
        rank=rank,
        free=tuple(name for name, is_free in zip(names, free, strict=True) if is_free),
        overdetermined=tuple(name for name, is_lost in zip(independent, lost, strict=True) if is_lost),
        negative=_negative(unknowns, efforts, motions) if rank == len(names) else None,
    )


def _rank(sizes: Array) -> int:
    return decided_rank(sizes, BALANCED * max(1.0, sizes.max(initial=0.0)))


def _negative(unknowns: TrimUnknowns, efforts: Array, motions: Array) -> int | None:
    """Return how many stiffnesses over the unknowns are negative; None if these are not one for each of some efforts.

    Where loops are closed they are those along the motions, of all coordinates only.
    """
    nv, count = motions.shape
    rows = [entry.number for entry in unknowns.entries if entry.kind in (Kind.POSITION, Kind.ACCELERATION, Kind.EFFORT)]
    if unknowns.are_all_coordinates:
        return negative_stiffnesses(-motions.T @ (efforts / unknowns.scales) @ motions)
    if count == nv and len(set(rows)) == len(unknowns.entries):
        return negative_stiffnesses(-efforts[rows] / unknowns.scales)
    return None


def negative_stiffnesses(stiffness: Array) -> int:
    """Return how many eigenvalues of a stiffness (n, n) are negative; that of loads that follow a body has no symmetry."""
    sizes = np.sqrt(np.abs(np.diag(stiffness)))
    stiffness = stiffness / np.outer(sizes, sizes) if sizes.all() else stiffness
    largest = np.abs(stiffness).max(initial=0.0)
    zero = -EXACT * largest
    if np.abs(stiffness - stiffness.T).max(initial=0.0) <= SAME * largest:
        return int((np.linalg.eigvalsh(stiffness) < zero).sum())
    values = np.linalg.eigvals(stiffness)  # those of loads that follow a body: pairs have no zero
    return int(((values.real < zero) & (values.imag == 0)).sum())


def stiffness_at(point: OperatingPoint) -> Array:
    """Return the stiffness (n, n) of a point at rest along its independent motions."""
    return -efforts_of_motions(point, point.forward_derivatives[0])


def stands(point: OperatingPoint) -> bool:
    """Tell whether the stiffness of a point at rest is positive: that of loads that turn with a body has no symmetry."""
    stiffness = stiffness_at(point)
    sizes = np.sqrt(np.abs(np.diag(stiffness)))
    if not sizes.all():
        return False
    stiffness = stiffness / np.outer(sizes, sizes)
    try:
        np.linalg.cholesky((stiffness + stiffness.T) / 2.0 - EXACT * np.eye(len(stiffness)))  # told ten times as fast
    except np.linalg.LinAlgError:
        return bool(np.linalg.eigvals(stiffness).real.min() > EXACT)
    return True


def efforts_of_motions(point: OperatingPoint, accelerations: Array) -> Array:
    """Return the efforts (n, n), along independent motions, that stand for accelerations by coordinates (nv, nv)."""
    model = point.model
    efforts: Array = model.mass_matrix(point.q) @ accelerations
    if not model.is_constrained:
        return efforts
    motions = _motions(point, [*model.independent_coordinates(point.q)])
    return motions.T @ efforts @ motions


def _efforts(mass: Array, derivatives: Array) -> Array:
    """Return the efforts M A that stand for accelerations A, without what is rounding beside others of the same unknown.

    Efforts compare with each other over the root of their coordinates' inertia; a soft coordinate's with its own only.
    """
    inertia = np.diag(mass)[:, None]
    efforts = mass @ derivatives
    compared = np.abs(efforts) / np.sqrt(np.where(inertia > 0, inertia, 1.0))
    return np.where(compared > EXACT * compared.max(axis=0, initial=0.0), efforts, 0.0)


def _motions(point: OperatingPoint, names: Sequence[str]) -> Array:
    """Return the motions (nv, n) of all coordinates with independent ones: one for each of them."""
    model = point.model
    if not model.is_constrained:
        return np.eye(model.nv)
    chosen = [model.coordinate_names.index(name) for name in names]
    motions = np.eye(model.nv)[:, chosen]
    others = np.setdiff1d(np.arange(model.nv), chosen)
    weighted = model.mechanism.scale.weights[:, None] * model.closure_jacobian(point.q)
    motions[others] = -np.linalg.lstsq(weighted[:, others], weighted[:, chosen], rcond=None)[0]
    return motions


def _closed_directions(point: OperatingPoint, derivatives: Array) -> Array:
    """Return directions of the unknowns (columns) in which rigid closures and gears stay closed: all of them for a tree."""
    constraints = len(point.model.constraint_names)
    if not constraints:
        return np.eye(derivatives.shape[1])
    _, sizes, right = np.linalg.svd(derivatives[-2 * constraints :])
    return right[_rank(sizes) :].T
