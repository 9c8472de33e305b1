"""The rigid closures and gears of a model, states that satisfy them, and the reduction to independent coordinates.

Small motions about a state satisfy ``dq = T dq_i`` and ``dv = T dv_i + R dq_i``, with ``dq_i`` the independent coordinates. In
a tree all coordinates that are not held are independent. With rigid closures or gears and their constraint Jacobian ``J(q)``, T
spans the null space of J, and R follows from differentiating ``J(q) v = 0``. Where constraints act on velocities alone, as in
rolling, there are more independent displacements than rates: for the former T spans the null space of the other constraints.

Arguments: `q` a configuration (nq); `v` and `a` vectors (nv); `fixed` and `names` names of coordinates; the name of a joint or
block stands for all of its coordinates.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from titop.blocks.basics.errors import Finding, ModelError
from titop.blocks.basics.paths import split_end
from titop.blocks.basics.spatial import Array
from titop.blocks.basics.tolerances import LOOSE_RANK
from titop.solvers.arguments.reading import as_arrays
from titop.solvers.arguments.rowwise import read_states
from titop.solvers.constraints.assembling import (
    assemble_loops,
    dependent_coordinates,
    follow_drivers,
    project_acceleration,
    project_velocity,
)
from titop.solvers.constraints.branch import rank_near, rank_on_branch
from titop.solvers.constraints.closed_mechanism import GearConstraint
from titop.solvers.constraints.multipliers import independent_rows
from titop.solvers.mechanism.kernel_calls import DONE, names_key, real_only
from titop.solvers.model.mechanism import Resolved
from titop.solvers.signals.grammar import read_entries, read_names


def closure_error(model: Resolved, q: Any) -> Array:
    """Return the errors of closures and gears (k, m and rad), in the order of `constraint_names`; zero where all are closed."""
    return model.mechanism.constraints_at(model.mechanism._read_q(q)).error


def closure_jacobian(model: Resolved, q: Any) -> Array:
    """Return the matrix (k, nv) that maps v to the rate of `closure_error` (m/s and rad/s per unit of v)."""
    return model.mechanism.constraints_at(model.mechanism._read_q(q)).jacobian


def closure_bias(model: Resolved, q: Any, v: Any) -> Array:
    """Return the part (k, m/s^2 and rad/s^2) of the second time derivative of `closure_error` without accelerations."""
    mechanism = model.mechanism
    return mechanism.constraints_at(mechanism._read_q(q), mechanism._read_v("v", v)).bias


def closure_rank(model: Resolved, q: Any) -> int:
    """Return the number of independent constraints at a closed configuration `q` (nq), and along the motion through it.

    The other constraints follow from these. Other branches of the mechanism's motion may have another rank. If `q` is not
    closed, the rank is that of the nearest closed configuration.

    Raises
    ------
    ModelError
        For an unusable configuration, and for a singular one: near it more constraints are independent than at it.
    ConvergenceError
        If the loops cannot be closed from `q`.
    """
    mechanism = model.mechanism
    q = mechanism._read_q(q)
    return rank_on_branch(mechanism, q) if mechanism.is_constrained else 0


def assemble(model: Resolved, q_guess: Any, fixed: Iterable[str] = ()) -> Array:
    """Return a configuration (nq) that closes the loops and meshes the gears.

    First the driven coordinates of gears are set from their drivers. Then Gauss-Newton steps of least norm are made in the
    tangent space, with lengths divided by the system's size; a step is halved until the errors decrease. Bodies deform only
    where joints alone do not close the loops.

    Parameters
    ----------
    q_guess : array_like (nq,)
        Initial guess; the nearer to a closed configuration, the better.
    fixed : iterable of str
        Coordinates, joints or blocks that keep their values.

    Returns
    -------
    (nq,) array

    Raises
    ------
    ConvergenceError
        Naming the loop that stays open, with its error (m, rad), or the loop that closes with its axes antiparallel.
    """
    mechanism = model.mechanism
    chosen = mechanism.chosen("fixed", fixed)
    guess = follow_drivers(mechanism, mechanism._read_q(q_guess, "q_guess"), chosen, GearConstraint.follow)
    return assemble_loops(mechanism, guess, chosen).copy()  # it returns the guess itself where that is closed


def assemble_velocity(model: Resolved, q: Any, v: Any, fixed: Iterable[str] = ()) -> Array:
    """Return the velocity (nv) nearest to `v` that keeps the loops closed; driven coordinates follow their drivers.

    Lengths are divided by the system's size to compare with angles. `fixed` names joints or coordinates that keep their
    velocity.

    Raises
    ------
    ConvergenceError
        If the fixed velocities contradict the closures.
    """
    return _nearest_rates(model, 0, {"q": q, "v": v}, fixed)


def assemble_acceleration(model: Resolved, q: Any, v: Any, a: Any, fixed: Iterable[str] = ()) -> Array:
    """Return the acceleration (nv) nearest to `a` that keeps the loops closed at the velocity `v`.

    Nearest has the meaning of `assemble_velocity`. `fixed` names joints or coordinates that keep their acceleration.

    Raises
    ------
    ConvergenceError
        If the fixed accelerations contradict the closures.
    """
    return _nearest_rates(model, 1, {"q": q, "v": v, "a": a}, fixed)


def _nearest_rates(model: Resolved, order: int, state: dict[str, Any], fixed: Iterable[str]) -> Array:
    """Return the velocity (`order` 0) or acceleration (1) that keeps loops closed, nearest to the last entry of `state`."""
    mechanism, kernels = model.mechanism, model._calls.nearest_rates
    parts, rates = (*state.values(),), (*state.values(),)[-1]
    if kernels is not None and type(rates) is np.ndarray and not mechanism.gear_count:  # with gears, drivers come first
        nearest = rates.copy()
        try:
            if kernels[order](parts[0], parts[1], model._calls.masks[names_key(fixed)], nearest) == DONE:
                return nearest
        except TypeError:
            pass
    mechanism.engine.raise_pending()
    if ready := as_arrays(*parts):
        return _nearest_rates(model, order, dict(zip(state, ready, strict=True)), fixed)
    *before, rates = read_states(mechanism, state)
    chosen = mechanism.chosen("fixed", fixed)
    if not mechanism.is_constrained:
        return rates.copy()
    rates = follow_drivers(mechanism, rates, chosen, GearConstraint.follow_rate)
    if kernels is not None:
        q, v, nearest = (real_only(part, "state") for part in (before[0], (*before, rates)[1], rates.copy()))
        status = kernels[order](q, v, chosen, nearest)
        mechanism.engine.raise_pending()
        if status == DONE:
            return nearest
    project: Any = (project_velocity, project_acceleration)[order]
    projected: Array = project(mechanism, *before, rates, chosen, rank_near(mechanism, before[0]))
    return projected


def independent_coordinates(model: Resolved, q: Any, names: Iterable[str] | None = None) -> tuple[str, ...]:
    """Return names of coordinates that determine the others at `q`, as many as the system has degrees of freedom.

    Without `names`, driven coordinates of gears count as dependent; the other dependent ones are chosen by pivoted QR, so that
    they are determined as well as possible.

    Raises
    ------
    ModelError
        If the given names cannot be independent, or are too many or too few.
    """
    mechanism = model.mechanism
    q, everything = mechanism._read_q(q), np.arange(model.nv)
    rank = rank_near(mechanism, q)
    if names is None:
        dependent = dependent_coordinates(mechanism, q, everything, rank)
        return tuple(name for k, name in enumerate(model.coordinate_names) if k not in dependent)
    mask, freedom = mechanism.chosen("names", names), model.nv - rank
    chosen = tuple(name for name, kept in zip(model.coordinate_names, mask, strict=True) if kept)
    if len(chosen) != freedom:
        raise ModelError(Finding("wrong-length", "names", chosen, f"{freedom} coordinates", "one a degree of freedom"))
    if len(dependent_coordinates(mechanism, q, everything[~mask], rank)) < rank:
        expected, better = "coordinates that determine the others", independent_coordinates(model, q)
        raise ModelError(Finding("dependent-coordinates", "names", chosen, expected, f"take {', '.join(better)}"))
    return chosen


class Reduction(NamedTuple):
    """Which entries of ``x = [dq; dv]`` (2 nv) are states of a linear model, and how the others follow from these.

    - `places` (m): coordinates whose displacements are states: more than `rates` where constraints act on velocities alone;
    - `rates` (n): coordinates whose rates are states;
    - `basis` (2nv, m + n): all of x from the states; None where the others are zero.
    """

    places: Array
    rates: Array
    nv: int
    basis: Array | None = None

    @property
    def states(self) -> Array:
        """Entries (m + n) of x."""
        return np.concatenate([self.places, self.nv + self.rates])

    def columns(self, matrix: Array) -> Array:
        """Return the matrix that acts on the states as `matrix` acts on x."""
        return matrix[..., self.states] if self.basis is None else matrix @ self.basis

    def rows(self, matrix: Array) -> Array:
        """Return the rows of the states, from a matrix with one row for each entry of x."""
        return matrix[..., self.states, :]


def reduction(model: Any, q: Array, v: Array, held: Array, independent: Any = None) -> Reduction:
    """Return the reduction to the states of a linear model about a linearization point.

    Raises `ModelError` if the coordinates are unknown, not independent, or too few. `q`, `v` (nq), (nv). `held` (nv):
    coordinates that are frozen. `independent`: names of the independent coordinates; by default those chosen by pivoting, in a
    tree all. Of those that are independent only as positions, names end in ``.q``.
    """
    free = np.flatnonzero(~held)
    chosen, more = (None, None) if independent is None else read_independent(model, independent)
    closures = closure_derivatives(model, q, v)
    if closures is None:
        if chosen is not None and not np.array_equal(chosen, free):
            raise _not_independent(independent, [model.coordinate_names[k] for k in free])
        return Reduction(free, free, model.nv)
    jacobian, derivatives = closures
    if chosen is None:
        chosen = independent_columns(jacobian, free)
    places, of_places = chosen, jacobian[model.mechanism.places]
    if len(of_places) < len(jacobian):
        left = np.setdiff1d(free, chosen)
        places = np.union1d(chosen, independent_columns(of_places, left) if more is None or not more.size else more)
    T = null_space(jacobian, free, chosen)
    T_places = T if places is chosen else null_space(of_places, free, places)
    if T is None or T_places is None:
        best = reduction(model, q, v, held)
        raise _not_independent(independent, independent_names(model, best.places, best.rates))
    others, R = np.setdiff1d(free, chosen), np.zeros_like(T_places)
    R[others] = -np.linalg.pinv(jacobian[:, others], rtol=LOOSE_RANK) @ derivatives @ T_places
    sizes = model.mechanism.scale.coordinates
    T, T_places, R = (sizes[:, None] * X / sizes[of] for X, of in ((T, chosen), (T_places, places), (R, places)))
    return Reduction(places, chosen, model.nv, np.block([[T_places, np.zeros_like(T)], [R, T]]))


def closure_derivatives(model: Any, q: Array, v: Array) -> tuple[Array, Array] | None:
    """Return the constraint Jacobian (k, nv) and the derivative of ``J(q) v`` by q (k, nv), both scaled; None for a tree."""
    if not model.is_constrained:
        return None
    return model.mechanism.scale.comparable(closure_jacobian(model, q)), model.mechanism.scale.comparable(
        model.mechanism.engine.derivatives.closure_rate(q, v)
    )


def independent_columns(jacobian: Array, free: Array) -> Array:
    """Return the independent ones of the coordinates `free`: all that pivoting does not choose as dependent.

    Among pivots of equal size the first coordinate is chosen, so that rounding does not change the choice.
    """
    return np.delete(free, independent_rows(jacobian[:, free].T))


def free_motions(jacobian: Array) -> Array:
    """Return orthonormal columns (coordinates, n) that span the null space of a Jacobian."""
    _, sizes, right = np.linalg.svd(jacobian)
    rank = int((sizes > LOOSE_RANK * sizes.max(initial=0.0)).sum())
    motions: Array = right[rank:].T
    return motions


def null_space(jacobian: Array, free: Array, chosen: Array) -> Array | None:
    """Return T (nv, n) for the chosen independent coordinates; None where these do not determine the others."""
    others = np.setdiff1d(free, chosen)
    rank, rank_of_others = (
        np.linalg.matrix_rank(J, rtol=LOOSE_RANK) if J.size else 0 for J in (jacobian[:, free], jacobian[:, others])
    )
    if not np.isin(chosen, free).all() or not len(others) == rank == rank_of_others:
        return None
    T = np.zeros((jacobian.shape[1], len(chosen)))
    T[chosen, range(len(chosen))] = 1.0
    T[others] = -np.linalg.pinv(jacobian[:, others], rtol=LOOSE_RANK) @ jacobian[:, chosen]
    return T


def read_independent(model: Any, names: Any) -> tuple[Array, Array]:
    """Return the entries of v that names of independent coordinates stand for, and of those that are only positions.

    The latter end in ``.q`` and are read where constraints act on velocities alone. Raises `ModelError` for unknown names.
    """
    names = read_names("independent", names)
    more = [name for name in names if not model.mechanism.places.all() and split_end(name)[1] == "q"]
    parts = [name for name in names if name not in more], [split_end(name)[0] for name in more]
    first, second = (np.unique(np.array(read_entries(model, "independent", part), dtype=int)) for part in parts)
    return first, second


def independent_names(model: Any, places: Array, rates: Array) -> list[str]:
    """Return the names by which `reduction` takes the same states again."""
    names = model.coordinate_names
    return [*(names[k] for k in rates), *(f"{names[k]}.q" for k in np.setdiff1d(places, rates))]


def _not_independent(independent: Any, possible: Sequence[str]) -> ModelError:
    names, advice = ", ".join(possible), "leave coordinates out with hold= or omit="
    return ModelError(
        Finding("not-independent", "independent", independent, f"a complete independent choice, such as {names}", advice)
    )
