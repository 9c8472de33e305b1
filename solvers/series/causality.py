"""Time derivatives of dynamics in any causality, order by order, from the tree's inverse dynamics.

The unknowns of order k enter the k-th derivative of the equations of motion with the same coefficients as the unknowns of order
zero: ``M a^(k) - J^T lambda^(k) = tau^(k) - (terms of lower orders)`` and ``J a^(k) = -(terms of lower orders)``, with M and J
at the configuration (key L, Lemma 2; for trees the articulated inertias). Each order costs one more evaluation of the tree's
inverse dynamics, and one more right-hand side.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from titop.blocks.basics.errors import Finding, ModelError
from titop.blocks.basics.series_arrays import SeriesArray, derivatives, moving, stacked
from titop.blocks.basics.spatial import Array
from titop.blocks.basics.taylor import taylor_array
from titop.blocks.basics.tolerances import BALANCED, CONSISTENT, EXACT, SAME
from titop.blocks.constraints.closure import relative_pose
from titop.graph.network.connections import Joined
from titop.solvers.constraints import closed_dynamics
from titop.solvers.constraints.branch import accelerations_by_term, mobility
from titop.solvers.constraints.closed_dynamics import acting, balancing_terms, constraints_and_rank, partition_at, shares_at
from titop.solvers.constraints.closed_loops import ClosedLoops
from titop.solvers.constraints.engine_interface import PortSeries
from titop.solvers.mechanism.inputs import PortPush, Push
from titop.solvers.series.series_arguments import at_start, up_to


class _Closing(NamedTuple):
    """A loop with twists V (6) of its ports and matrices E (k x 6) along a motion: its errors change by ``E1 V1 + E2 V2``."""

    loop: Joined
    V: list[SeriesArray]
    E: list[SeriesArray]


def _closing(loop: Joined, first: PortSeries, second: PortSeries) -> _Closing:
    ports, order = (first, second), len(first.twist) - 1
    matrices = loop.closure.jacobians(*relative_pose(*((taylor_array(p.rotation), taylor_array(p.position)) for p in ports)))
    return _Closing(
        loop, [SeriesArray.of_derivatives(p.twist) for p in ports], [moving(stacked(E, order), order) for E in matrices]
    )


class ConstraintSeries:
    """The constraints of a mechanism along a motion.

    `q` (nq); `v_series` (r + 2, nv): the velocity and its derivatives.
    """

    def __init__(self, mechanism: ClosedLoops, q: Array, v_series: Array) -> None:
        self._mechanism, self._v_series, self._last = mechanism, v_series, len(v_series) - 1
        refs = [str(ref) for loop in mechanism.rigid_loops for ref in (loop.first, loop.second)]
        ports = mechanism.engine.series.port_series(refs, q, v_series) if refs else []
        self._closings = [_closing(*each) for each in zip(mechanism.rigid_loops, ports[::2], ports[1::2], strict=True)]

    def rates(self) -> Array:
        """Return the first to (r + 2)-th time derivatives (r + 2, k) of all constraints; zeros where these stay closed."""
        closures = [derivatives(E[0] @ V[0] + E[1] @ V[1], self._last) for _, V, E in self._closings]
        gears = [self._v_series @ gear.jacobian(self._mechanism.nv).T for gear in self._mechanism.gear_constraints]
        return np.hstack([np.zeros((self._last + 1, 0)), *closures, *gears])

    def pushes(self, multipliers: Array) -> list[PortPush]:
        """Return the wrenches of the closures' multipliers, with their derivatives (at most r + 2, k), as pushes on ports."""
        pushes: list[PortPush] = []
        last = len(multipliers) - 1
        padded = np.vstack([multipliers, np.zeros((self._last - last, multipliers.shape[1]))])
        for loop, _, E in self._closings:
            rows = self._mechanism.closure_rows[loop.closure.name]
            for ref, rates in zip((loop.first, loop.second), E, strict=True):
                pushes.append(
                    PortPush(str(ref), False, derivatives(rates.T @ SeriesArray.of_derivatives(padded[:, rows]), last))
                )
        return pushes


def hybrid(
    mechanism: ClosedLoops,
    q: Array,
    v: Array,
    efforts_of: Callable[[Array], Array],
    a_series: Array,
    imposed: Array,
    pushes: Sequence[Push],
) -> tuple[Array, Array]:
    """Return all accelerations and all efforts with their derivatives (r + 1, nv each).

    Raises `ModelError` where the dynamics are refused, and for imposed motions that would open the loops at a higher order.
    `q`, `v` (nq), (nv). `efforts_of`: returns the efforts with k derivatives (k + 1, nv), from the velocity with k derivatives
    (k + 1, nv). They are read where no motion is imposed. `a_series` (r + 1, nv): read where the motion is `imposed`.
    `imposed` (nv).
    """
    v_series, efforts = np.vstack([v, np.where(imposed, a_series, 0.0)]), np.zeros(a_series.shape)
    closed_dynamics.hybrid(mechanism, q, v, efforts_of(v_series[:1])[0], a_series[0], imposed, at_start(pushes))
    equations = (
        _ClosedEquations(mechanism, q, v, imposed) if mechanism.is_constrained else _TreeEquations(mechanism, q, imposed)
    )
    multipliers = np.zeros((len(efforts), len(mechanism.constraint_names)))
    for k in range(len(efforts)):
        motion, now = v_series[: k + 2], up_to(pushes, k)
        efforts[k] = np.where(imposed, 0.0, efforts_of(v_series[: k + 1])[k])
        rates, closing = _closing_pushes(mechanism, q, motion, multipliers[: k + 1])
        v_series[k + 1] += equations.accelerations(efforts[k] - _needed(mechanism, q, motion, [*now, *closing]), rates)
        if mechanism.is_constrained or imposed.any():
            needed = _needed(mechanism, q, motion, [*now, *closing]) - efforts[k]
            imposing, multipliers[k] = equations.shared(needed)
            efforts[k] += imposing
    refuse_opening(mechanism, q, v_series, pushes, efforts)
    return v_series[1:], efforts


def inverse(
    mechanism: ClosedLoops, q: Array, v_series: Array, pushes: Sequence[Push], driven: Array, actuated: Array | None
) -> Array:
    """Return the efforts (r + 1, nv) that, together with those `driven`, cause a motion.

    With a mask of `actuated` coordinates, efforts act on these alone, and are those of least norm. Raises `ModelError` for a
    motion that opens the loops, or needs efforts on coordinates that are not actuated.
    """
    if actuated is None:
        return mechanism.engine.series.tree_inverse(q, v_series, pushes) - driven
    if (found := mechanism.engine.series.shared_inverse(q, v_series, pushes, driven, actuated)) is not None:
        return found
    refuse_opening(mechanism, q, v_series, pushes, driven)
    rows, rank = constraints_and_rank(mechanism, q, v_series[0])
    shares = shares_at(mechanism, rows.jacobian, actuated, rank)
    efforts = np.zeros(driven.shape)
    multipliers = np.zeros((len(efforts), len(mechanism.constraint_names)))
    for k in range(len(efforts)):
        motion = v_series[: k + 2]
        _, closing = _closing_pushes(mechanism, q, motion, multipliers[: k + 1])
        needed = _needed(mechanism, q, motion, [*up_to(pushes, k), *closing]) - driven[k]
        w, multipliers[k] = shares.split(needed)
        efforts[k] = np.where(actuated, w, 0.0)
        unbalanced = shares.unbalanced(needed, efforts[k])
        if unbalanced > BALANCED and not _is_rounding(unbalanced * needed, mechanism, q, v_series[: k + 2], pushes, driven[0]):
            expected = "a motion that efforts on the actuated coordinates can cause"
            advice = "actuate more coordinates, or take accelerations from m.forward_dynamics_series"
            got = f"{unbalanced:.3g} of the largest effort left to others, at order {k}"
            raise ModelError(Finding("under-actuated", "actuated", got, expected, advice))
    return efforts


def refuse_opening(mechanism: ClosedLoops, q: Array, v_series: Array, pushes: Sequence[Push], efforts: Array) -> None:
    """Refuse a motion that opens the loops at some order from the accelerations on, by more than rounding of the `efforts`.

    Raises `ModelError`, naming the order and the constraint.
    """
    if not mechanism.is_constrained:
        return
    weights = mechanism.scale.weights
    jacobian = np.abs(mechanism.constraints_at(q, v_series[0]).jacobian) * weights[:, None]
    openings = ConstraintSeries(mechanism, q, v_series).rates()[1:]
    allowed = allowed_openings(jacobian, v_series)
    if (np.abs(openings * weights) > allowed[:, None]).any():  # rounding of terms that cancel may explain it
        response = mobility(mechanism, q)
        alone = accelerations_by_term(mechanism, q, v_series[0], at_start(pushes)) + response @ np.abs(efforts[0])
        natural = np.sqrt((jacobian @ alone).max()) ** np.arange(2.0, len(allowed) + 2.0)
        allowed += SAME * (natural + (jacobian @ response @ np.abs(efforts).T).max(axis=0))
    for k, (opening, size) in enumerate(zip(openings, allowed, strict=True), start=1):
        worst = int(np.abs(opening * weights).argmax())
        if abs(opening[worst] * weights[worst]) > size:
            unit, name = mechanism.constraint_units[worst], mechanism.constraint_names[worst]
            got = f"{opening[worst]:.3g} {unit}/s^{k + 1} left of {name}"
            advice = "take motions from m.forward_dynamics_series, or prescribe fewer coordinates"
            expected = f"a motion that keeps the loops closed, here its derivative of order {k}"
            raise ModelError(Finding("inconsistent-motion", "v_series", got, expected, advice))


def allowed_openings(jacobian: Array, v_series: Array) -> Array:
    """Return what a motion that keeps loops closed may open at each order from the accelerations on (r + 1; m/s^2 and on).

    `jacobian` (k x nv): of the constraints, its entries' absolute values, in metres.
    """
    rate = _rate((jacobian @ np.abs(v_series).T).max(axis=0))
    return CONSISTENT * rate ** np.arange(2.0, len(v_series) + 1.0)


def _is_rounding(left: Array, mechanism: ClosedLoops, q: Array, v_series: Array, pushes: Sequence[Push], driven: Array) -> bool:
    """Tell whether the efforts `left` (nv) at the last order are rounding of terms that balance each other."""
    sizes, order = mechanism.scale.coordinates, len(v_series) - 2
    terms = balancing_terms(mechanism, q, v_series[0], v_series[1], at_start(pushes), driven)
    terms *= _rate(np.abs(v_series / sizes).max(axis=1)) ** order
    terms += (sizes * (np.abs(mechanism.engine.dynamics.mass_matrix(q)) @ np.abs(v_series[-1]))).max()
    return bool(np.abs(sizes * left).max() <= EXACT * terms)


def _rate(sizes: Array) -> float:
    """Return the largest rate (1/s) among those whose power k + 1 is the size of the k-th derivative of the velocity."""
    return float(max((size ** (1.0 / (k + 1)) for k, size in enumerate(sizes)), default=0.0))


def _needed(mechanism: ClosedLoops, q: Array, motion: Array, pushes: Sequence[Push]) -> Array:
    """Return the required efforts (nv) of the last order."""
    return mechanism.engine.series.tree_inverse(q, motion, pushes)[-1]


def _closing_pushes(mechanism: ClosedLoops, q: Array, motion: Array, multipliers: Array) -> tuple[Array, list[Push]]:
    """Return the constraints' derivatives (k) of the last order, and the wrenches of the multipliers of lower orders."""
    if not mechanism.is_constrained:
        return np.zeros(0), []
    rows = ConstraintSeries(mechanism, q, motion)
    return rows.rates()[-1], [*rows.pushes(multipliers)]


class _TreeEquations:
    """The linear equations of each order for a tree."""

    def __init__(self, mechanism: ClosedLoops, q: Array, imposed: Array) -> None:
        self._mechanism, self._q, self._imposed = mechanism, q, imposed

    def accelerations(self, missing: Array, rates: Array) -> Array:
        """Return the accelerations (nv) that `missing` efforts cause, where none is imposed."""
        if self._imposed.all():
            return np.zeros(self._mechanism.nv)
        efforts = np.where(self._imposed, 0.0, missing)
        return self._mechanism.engine.dynamics.tree_response(self._q, efforts[:, None], self._imposed)[:, 0]

    def shared(self, needed: Array) -> tuple[Array, Array]:
        """Return `needed` efforts (nv) where motion is imposed, and no multipliers."""
        return np.where(self._imposed, needed, 0.0), np.zeros(0)


class _ClosedEquations:
    """The linear equations of each order with constraints, in their null space."""

    def __init__(self, mechanism: ClosedLoops, q: Array, v: Array, imposed: Array) -> None:
        self._imposed = imposed
        rows, rank = constraints_and_rank(mechanism, q, v) if imposed.all() else acting(mechanism, q, v)
        self._partition = partition_at(mechanism, rows.jacobian, rank, imposed)
        self._shares = shares_at(mechanism, rows.jacobian, imposed, rank, by_passive=True)
        self._mass = mechanism.engine.dynamics.mass_matrix(q)

    def accelerations(self, missing: Array, rates: Array) -> Array:
        """Return the accelerations (nv), where none is imposed, that `missing` efforts cause and that cancel `rates` (k)."""
        free, start = self._partition.motions, self._partition.follow(-rates)
        return start + free @ np.linalg.solve(free.T @ self._mass @ free, free.T @ (missing - self._mass @ start))

    def shared(self, needed: Array) -> tuple[Array, Array]:
        """Return the `needed` efforts (nv) on imposed coordinates, and the multipliers (k) that balance the rest."""
        w, carried = self._shares.split(needed)
        return np.where(self._imposed, w, 0.0), carried
