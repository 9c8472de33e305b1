"""Members of families at points of their parameters, for tests of parameters that change with time; and of one parameter, the
values between the points at which a Lyapunov function may fail.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.polynomial import Polynomial
from scipy.linalg import eigvals

from titop.blocks.basics.errors import Finding, ModelError
from titop.blocks.basics.spatial import Array
from titop.blocks.basics.tolerances import NEAR_AXIS
from titop.solvers.lft.delta_blocks import DeltaBlock, Structure
from titop.solvers.lft.feedback import read_closing
from titop.solvers.linear.lpv_model import LPVModel, grid_points
from titop.solvers.linear.matrices import Matrices

#: Most members of a grid, and random ones between its points.
_MOST, _BETWEEN = 4096, 200

#: A loop with such a condition has no response.
_ILL_POSED = 1e9


class Members(NamedTuple):
    """Frozen members of a family at k points of p parameters.

    - `s` (k, p): the parameters normalised to [-1, 1] (no unit): δ of a linear fractional model, which of an angle is a
      tangent; the distance from the middle of the points, in half their range, of a family of samples;
    - `slopes` (k, p): derivatives of `s` to the parameters, in their inverse units;
    - `A` (k, n, n): not a number where a member has no response. Its unit is the family's.
    """

    s: Array
    slopes: Array
    A: Array

    def join(self, other: Members) -> Members:
        """Return the members of both."""
        return Members(*(np.concatenate(pair) for pair in zip(self, other, strict=True)))


#: What returns members at which P (terms, n, n) may fail to have a decay (1/s); none after a proof.
Doubts = Callable[[Array, float], Members]


@dataclass(frozen=True)
class FractionalFamily:
    """Members of a linear fractional model; complex and full blocks are zero.

    `system`: the channels of the uncertainty alone, balanced; `count`: values of each parameter on the grid; `factor`: by how
    much all ranges are larger.
    """

    system: Matrices
    structure: Structure
    count: int
    factor: float = 1.0

    @property
    def parameters(self) -> tuple[DeltaBlock, ...]:
        """The real blocks."""
        return tuple(self.structure.blocks[k] for k in self.structure.real)

    @property
    def names(self) -> tuple[str, ...]:
        """Of the parameters."""
        return tuple(block.name for block in self.parameters)

    @property
    def scaled_system(self) -> Matrices:
        """The channels of the uncertainty with the factor."""
        return self.system.scale(np.full(len(self.system.C), self.factor))

    def with_ranges(self, factor: float) -> FractionalFamily:
        """Return the family with all ranges so many times as large."""
        return replace(self, factor=factor)

    def all_members(self) -> Members:
        """Return the members in the middle, where the only block leaves no response, on the grid, and random ones."""
        middle = np.zeros((1, len(self.names)))
        where = poles(self.scaled_system)[:, None] if len(self.names) == len(self.structure.blocks) == 1 else middle
        return self.members(np.vstack([middle, where])).join(self.grid()).join(self.between())

    def doubts(self, rate: float) -> Doubts | None:
        """Return what looks between the points, the only parameter changing at a rate (its unit a second) or less; or None."""
        if len(self.names) > 1:
            return None
        scaled, slope = self.scaled_system, slope_of(self.parameters[0], self.factor)
        return lambda P, decay: self.members(suspects(scaled, P, slope, rate, decay)[:, None])

    def grid(self) -> Members:
        """Return the members at all points of the grid."""
        points = self.count ** len(self.names)
        if points > _MOST:
            got, advice = f"{points} points", "take fewer values of each parameter, or fewer parameters"
            raise ModelError(Finding("too-many-points", "points", got, f"a grid of {_MOST} points or fewer", advice))
        axis = np.linspace(-1, 1, self.count)
        return self.members(np.array([*itertools.product(axis, repeat=len(self.names))]))

    def between(self, count: int = _BETWEEN) -> Members:
        """Return random members."""
        return self.members(np.random.default_rng(0).uniform(-1, 1, (count, len(self.names))))

    def values(self, s: Array) -> dict[str, float]:
        """Return the parameters in their units at a normalised point (p,)."""
        return {b.name: b.value(float(x) * self.factor) for b, x in zip(self.parameters, s, strict=True)}

    def place(self, values: Mapping[str, float]) -> tuple[Array, Array]:
        """Return the normalised point (p) of parameters in their units, and its slopes (p)."""
        s = [b.normalised(values[b.name]) / self.factor for b in self.parameters]
        return np.array(s), np.array([slope_of(b, self.factor)(x) for b, x in zip(self.parameters, s, strict=True)])

    def members(self, s: Array) -> Members:
        """Return the members at normalised points (k, p)."""
        slopes = np.array([slope_of(b, self.factor)(x) for b, x in zip(self.parameters, s.T, strict=True)]).reshape(s.T.shape).T
        return Members(s, slopes, np.array([self._member(row) for row in s]))

    def _member(self, s: Array) -> Array:
        delta = self.structure.real_matrix(self.factor * s)
        loop = np.eye(len(self.system.D)) - self.system.D @ delta
        if np.linalg.cond(loop) > _ILL_POSED:
            return np.full_like(self.system.A, np.nan)
        return self.system.close_loop(delta).A


def slope_of(block: DeltaBlock, factor: float = 1.0) -> Polynomial:
    """Return the derivative of ``s = δ / factor`` to the parameter (1 over its unit) as a polynomial in s."""
    a, b = (x * factor for x in block.fraction)
    below = Polynomial([1.0, b])
    if not block.part:
        return below**2 / a
    start = np.tan((block.centre - (block.lower + block.upper) / 2) / block.part)
    return (below**2 + (start * below + Polynomial([0.0, a])) ** 2) / (a * block.part)


@dataclass(frozen=True)
class SampledFamily:
    """Members of a family of samples, maybe closed by a controller; between its points, interpolated ones.

    `sign`: of the controller, as in `LFTModel.close`; `rate`: unit (rad/s) of the members' poles.
    """

    model: LPVModel
    controller: Any = None
    sign: Any = 1
    rate: float = 1.0

    @property
    def names(self) -> tuple[str, ...]:
        """Of the parameters."""
        return tuple(self.model.parameters)

    @property
    def states(self) -> tuple[str, ...]:
        """Names of the members' states, the controller's behind."""
        return (
            *(state.path for state in self.model.states),
            *(self.controller.state_labels if self.controller is not None else ()),
        )

    def with_ranges(self, factor: float) -> SampledFamily:
        """Return the family itself: its ranges are those of its points."""
        return self

    def all_members(self) -> Members:
        """Return the members at points with an equilibrium and half-way between them, that nearest to the middle first."""
        members = self.grid().join(self.between())
        order = np.argsort(np.linalg.norm(members.s, axis=1), kind="stable")
        return Members(*(part[order] for part in members))

    def doubts(self, rate: float) -> None:
        """Return None: between its points a family of samples says nothing of the system."""

    def grid(self) -> Members:
        """Return the members at the points that have an equilibrium."""
        return self._members(self._points())

    def between(self, count: int = 0) -> Members:
        """Return interpolated members half-way between neighbours, of a list between each point and the next; and others
        spread over the ranges.

        `count`: of the latter, those outside of the samples included, which are left out.
        """
        points, spread = self._points(), _evenly(count, len(self.names))
        if self.model.is_grid:
            axes = [(axis[1:] + axis[:-1]) / 2 if len(axis) > 1 else axis for axis in self.model.parameters.values()]
            middles, (middle, _) = np.array([*itertools.product(*axes)]), self._ranges()
            others = middle + np.ptp(points, axis=0) * (spread - 0.5)
        else:
            middles, places = (points[1:] + points[:-1]) / 2, (len(points) - 1) * spread[:, 0]
            others = np.stack([np.interp(places, np.arange(len(points)), column) for column in points.T], axis=1)
        known = [row for row in [*middles, *others] if self._is_known(row)]
        return self._members(np.array(known).reshape(-1, points.shape[1]))

    def values(self, s: Array) -> dict[str, float]:
        """Return the parameters in their units at a normalised point (p,)."""
        middle, half = self._ranges()
        within = np.clip(middle + half * s, middle - half, middle + half)  # what rounding leaves outside has no member
        return dict(zip(self.names, within.tolist(), strict=True))

    def place(self, values: Mapping[str, float]) -> tuple[Array, Array]:
        """Return the normalised point (p) of parameters in their units, and its slopes (p)."""
        middle, half = self._ranges()
        return (np.array([values[name] for name in self.names]) - middle) / half, 1 / half

    def _points(self) -> Array:
        """Return the values (k, p) at all points with an equilibrium."""
        return grid_points(self.model.parameters, self.model.is_grid)[self.model.valid.ravel()]

    def _ranges(self) -> tuple[Array, Array]:
        """Return middle and half-range (p) of the parameters."""
        axes = [*self.model.parameters.values()]
        low, high = np.array([axis.min() for axis in axes]), np.array([axis.max() for axis in axes])
        return (low + high) / 2, np.where(high > low, (high - low) / 2, 1.0)

    def _is_known(self, point: Array) -> bool:
        try:
            self.model.at(dict(zip(self.names, point, strict=True)))
        except ModelError as error:
            if error.code != "outside":
                raise
            return False
        return True

    def _members(self, points: Array) -> Members:
        middle, half = self._ranges()
        n = len(self.states)
        A = np.array([self._close(dict(zip(self.names, row, strict=True))) for row in points]).reshape(-1, n, n)
        return Members((points - middle) / half, np.broadcast_to(1 / half, points.shape), A / self.rate)

    def _close(self, values: dict[str, float]) -> Array:
        member = self.model.at(values)
        if self.controller is None:
            return np.asarray(member.A)
        closing = read_closing(_NominalModel(member), self.controller, 1, 0.0, 1, self.sign)
        return np.asarray(closing.exact(Matrices.of(member)).A)


def _evenly(count: int, dimension: int) -> Array:
    """Return points (count, dimension) spread over the unit cube (no unit), by multiples of generalised golden ratios."""
    ratio = max(np.roots([1.0, *[0.0] * (dimension - 1), -1.0, -1.0]).real)
    return np.asarray(np.outer(np.arange(1, count + 1), ratio ** -np.arange(1.0, dimension + 1)) % 1)


#: What tests read members of.
VaryingFamily = FractionalFamily | SampledFamily


@dataclass(frozen=True)
class _NominalModel:
    """A member as a fractional model without uncertainty."""

    M: Any
    blocks: tuple[DeltaBlock, ...] = ()
    channels: tuple[int, int] = (0, 0)


def suspects(system: Matrices, P: Array, slope: Polynomial, rate: float, decay: float) -> Array:
    """Return values of δ (k, no unit) of which one fails if any in [-1, 1] does, given that one holds.

    Where the largest eigenvalue of ``F = A'P + P A + dP/dt + 2 decay P`` crosses zero, F is singular. With
    ``v = (1 - δ D)^-1 C x`` and ``u = (1 - δ D')^-1 B' P x`` this is an eigenvalue problem that is polynomial in δ. If no δ in
    [-1, 1] is an eigenvalue, there are no suspects: F holds everywhere. Otherwise they are these values, those between them,
    and the ends. All members need a response: see `poles`.

    - `system`: the channels of one real block;
    - `P` (terms, n, n): coefficients of the powers of δ (no unit);
    - `slope`: see `slope_of`;
    - `rate`: highest rate of the parameter, in its unit per second;
    - `decay`: in 1/s.
    """
    found = np.concatenate([_singular(system, P, sign * rate * slope, decay) for sign in ((1, -1) if rate else (1,))])
    near = found[(np.abs(found.imag) <= NEAR_AXIS * (1 + np.abs(found))) & (np.abs(found.real) <= 1 + NEAR_AXIS)].real
    if not len(near):
        return near
    ends = np.unique(np.concatenate([[-1.0], np.clip(near, -1, 1), [1.0]]))
    return np.unique(np.concatenate([ends, (ends[1:] + ends[:-1]) / 2]))


def poles(system: Matrices) -> Array:
    """Return the δ (k, no unit) in [-1, 1] at which members have no response."""
    found = np.linalg.eigvals(system.D)
    near = found[(np.abs(found) >= 1 - NEAR_AXIS) & (np.abs(found.imag) <= NEAR_AXIS * np.abs(found))].real
    return np.clip(1 / near, -1, 1)


def _singular(system: Matrices, P: Array, motion: Polynomial, decay: float) -> Array:
    """Return all complex δ at which F is singular, δ changing as a polynomial says (1/s)."""
    A, B, C, D = system.A, system.B, system.C, system.D
    n, r = B.shape
    shifted = A + decay * np.eye(n)
    degree = max(len(P), len(P) - 2 + len(motion.coef))
    K = np.zeros((degree + 1, n + 2 * r, n + 2 * r))
    x, v, u = slice(0, n), slice(n, n + r), slice(n + r, n + 2 * r)
    K[0, v, x], K[0, v, v], K[1, v, v] = -C, np.eye(r), -D
    K[0, u, u], K[1, u, u] = np.eye(r), -D.T
    K[1, x, u] = C.T
    for k, term in enumerate(P):
        K[k, u, x] -= B.T @ term
        K[k, x, x] += shifted.T @ term + term @ shifted
        K[k + 1, x, v] += term @ B
        for j, coefficient in enumerate(motion.coef.tolist()):
            if k:
                K[k - 1 + j, x, x] += k * coefficient * term
    return _polynomial_eigenvalues(K)


def _polynomial_eigenvalues(K: Array) -> Array:
    """Return the finite numbers at which ``K_0 + δ K_1 + δ² K_2 ...`` is singular, from its companion form."""
    degree, size = len(K) - 1, K.shape[-1]
    right = np.eye(degree * size)
    left = np.vstack([-np.hstack([*K[-2::-1]]), right[:-size]])
    right[:size, :size] = K[-1]
    values = eigvals(left, right)
    return values[np.isfinite(values)]
