"""What is evaluated at other values: a block, with the matrices of its law there, and operating points.

Points keep their coordinates, and efforts hold them there; `moving_equilibria` has those that follow the parameters.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from titop.blocks.basics.complex_steps import complex_step
from titop.blocks.basics.errors import Finding, ModelError
from titop.blocks.basics.paths import split_end
from titop.blocks.basics.spatial import Array
from titop.blocks.basics.tolerances import ROUNDING, SAME
from titop.blocks.contract.applied import BlockMotion, derivatives_at, efforts_at, is_acted_on
from titop.blocks.contract.block import Block
from titop.blocks.contract.block_law import current_form
from titop.graph.network.assembly import Assembly
from titop.solvers.equilibrium.linear_validity import excess
from titop.solvers.equilibrium.operating_point import OperatingPoint
from titop.solvers.lft.polynomials import MatrixFunction, Polynomial
from titop.solvers.lft.uncertainty import Uncertainty, polynomial_of
from titop.solvers.mechanism.system_parameters import changed_assembly
from titop.solvers.model.model import Model
from titop.solvers.signals.system_inputs import SystemInputs

#: Rationality is judged where parameters differ from the middle of their range by this part of it at least.
_WIDE = 0.3
#: So many coordinates of a block may move: its law is evaluated at a grid of them.
_MOST = 6

#: What to do where coordinates may not move.
HOLD = "use tt.lpv, or hold it with efforts"


class ChangedBlock:
    """A block whose named parameters are uncertain.

    `assembly`: with all parameters in the middle of their ranges; `names`: of its parameters, and of those of what belongs to
    it.
    """

    def __init__(self, assembly: Assembly, block: Block, names: list[str], uncertainty: Uncertainty) -> None:
        self.assembly, self.block, self.names, self.uncertainty = assembly, block, names, uncertainty
        self.deltas = uncertainty.deltas(names)
        self._known: dict[tuple[float, ...], Block] = {}

    def at(self, values: Mapping[str, float]) -> Block:
        """Return the block at some values of the deltas; missing ones are zero."""
        key = tuple(values.get(delta, 0.0) for delta in self.deltas)
        if not any(key):
            return self.block
        if key not in self._known:
            self._known[key] = self._block_at(values)
        return self._known[key]

    def _block_at(self, values: Mapping[str, float]) -> Block:
        changed, start = self.uncertainty.values_at(values), f"{self.block.name}."
        names = self.uncertainty.of_parts(self.names)
        if all(name.startswith(start) for name in names):
            return self.block.with_parameters({name.removeprefix(start): changed[name] for name in names})
        return changed_assembly(self.assembly, {name: changed[name] for name in names}, names).blocks[self.block.name]

    def path(self, delta: str) -> str:
        """Return the first name of a delta's that is the block's."""
        return next(name for name in self.names if self.uncertainty[name].delta == delta)

    @cached_property
    def reach(self) -> dict[str, float]:
        """How many times as far as its range each delta goes until its parameter has changed much: one of wide ranges.

        As far as the block accepts the values; of parameters around zero as far as the range.
        """
        known = len(self.block.check()[0])
        result = {}
        for delta in self.deltas:
            member = self.uncertainty[self.path(delta)]
            far = 1.0 if member.part else max(1.0, _WIDE * abs(member.middle / member.half))
            while far > 1.0 and any(len(self.at({delta: x}).check()[0]) > known for x in (-far, far)):
                far = max(1.0, far / 2)
            result[delta] = far
        return result

    def polynomial(self, function: MatrixFunction, vectors: Sequence[int] = ()) -> Polynomial:
        """Return the polynomial that a matrix function of the deltas is: see `polynomial_of`."""
        return polynomial_of(function, self.deltas, self.uncertainty, self.path, self.reach, vectors)


# -- its law ----------------------------------------------------------------------------------------------------------------


class LawPoint(NamedTuple):
    """Where a block's law is taken: own coordinates (q, v, a), twist and acceleration of the parent port in the middle of all
    ranges, its pose there, gravity, and slopes of own inputs' efforts."""

    q: Array
    v: Array
    a: Array
    twist: Array
    acceleration: Array
    rotation: Array
    position: Array
    gravity: Array
    driven: Array


def vectors_of_law(n: int) -> tuple[int, ...]:
    """Return where the three columns begin that a vector has in the slopes of the law of a block with n own coordinates."""
    return 0, 3, *range(6 + 3 * n, 18 + 3 * n, 3)


def law_matrices(block: Block, at: LawPoint) -> tuple[Array, Array]:
    """Return slopes (6 + n, 18 + 3n) and efforts (6 + n, 1) of a block's law."""
    slopes = law_slopes(block, at)
    efforts = slopes[:, : 6 + block.nv] @ np.concatenate([at.acceleration, at.a]) + block.gyroscopic(at.q, at.v, at.twist)
    if block.nv:
        efforts[6:] -= block.passive_efforts(at.q, at.v)
    if is_acted_on(block):
        place = BlockMotion(at.q, at.v, at.twist, at.rotation, at.position)
        efforts = efforts - efforts_at(block, place, at.gravity, True)
    return slopes, efforts[:, None]


def law_slopes(block: Block, at: LawPoint) -> Array:
    """Return the slopes (6 + n, 18 + 3n) of a block's law, by ``[A; a; q; v; V; xi]``."""
    n, M = block.nv, block.mass_matrix(at.q)
    if n:
        by_q, by_v, by_twist = current_form(block, "law_slopes")(at.q, at.v, at.twist, np.concatenate([at.acceleration, at.a]))
        by_q = np.vstack([by_q[:6], by_q[6:] - at.driven])
    else:
        by_q, by_v = np.zeros((2, 6, 0))
        by_twist = complex_step(lambda twist: block.gyroscopic(at.q, at.v, twist), at.twist)
    slopes = np.hstack([M, by_q, by_v, by_twist, np.zeros((6 + n, 6))])
    if is_acted_on(block):
        place = BlockMotion(at.q, at.v, at.twist, at.rotation, at.position)
        slopes[:, 6 + n :] -= np.hstack(derivatives_at(block, place, at.gravity))
    return slopes


def by_acceleration(block: Block, at: LawPoint) -> Array:
    """Return how the slopes by own coordinates change with the parent port's acceleration (n, 6 + n, 6)."""
    n = block.nv
    if not n:
        return np.zeros((0, 6, 6))
    still = current_form(block, "law_slopes")(at.q, at.v, at.twist, np.zeros(6 + n))[0]
    columns = [current_form(block, "law_slopes")(at.q, at.v, at.twist, unit)[0] - still for unit in np.eye(6 + n)[:6]]
    return np.stack(columns, axis=-1).transpose(1, 0, 2)


# -- its own coordinates ----------------------------------------------------------------------------------------------------


class UncertainCoordinates(NamedTuple):
    """Which coordinates and rates of a block are uncertain: their names, and whose entry each is."""

    paths: tuple[str, ...]
    entries: tuple[int, ...]
    uncertainty: Uncertainty

    @classmethod
    def of(cls, coordinates: Sequence[str], uncertainty: Uncertainty) -> UncertainCoordinates:
        """Return those of a block with some coordinates."""
        found = [(f"{name}{end}", k) for end in (".q", ".v") for k, name in enumerate(coordinates)]
        found = [(path, k) for path, k in found if uncertainty.at(path)]
        paths, entries = tuple(path for path, _ in found), tuple(k for _, k in found)
        if len(paths) > _MOST:
            expected = f"{_MOST} coordinates of a block at most"
            raise ModelError(Finding("many-coordinates", "parameters", ", ".join(paths), expected, HOLD))
        return cls(paths, entries, uncertainty)

    @property
    def deltas(self) -> list[str]:
        """Of all of them."""
        return [self.uncertainty[path].delta for path in self.paths]

    def path(self, delta: str) -> str:
        """Return the first name of a delta's."""
        return self.paths[self.deltas.index(delta)]

    def shift(self, at: LawPoint, values: Mapping[str, float]) -> LawPoint:
        """Return where a law is taken at some values of the deltas."""
        if not self.paths:
            return at
        changed, q, v = self.uncertainty.values_at(values), at.q.copy(), at.v.copy()
        for path, k in zip(self.paths, self.entries, strict=True):
            (q if split_end(path)[1] == "q" else v)[k] = changed[path]
        return at._replace(q=q, v=v)

    def refuse_turning(self, block: Block, at: LawPoint) -> None:
        """Refuse coordinates on which it depends how the law changes with the acceleration of the parent port."""
        columns = slice(6 if at.acceleration[3:].any() else 3)
        still = by_acceleration(block, at)[..., columns]
        for path in self.paths:
            other = by_acceleration(block, self.shift(at, {self.uncertainty[path].delta: 0.7}))[..., columns]
            if np.abs(other - still).max(initial=0.0) > SAME * np.abs(still).max(initial=0.0):
                expected = "a coordinate that stays, where the direction of gravity is uncertain"
                raise ModelError(Finding("not-rational", "parameters", path, expected, HOLD))


# -- operating points: coordinates ``hinge.q``, rates ``wheel.v``, inputs ``jet.u`` --------------------------------------------


def is_of_point(model: Model, name: Any) -> bool:
    """Tell whether a name is one of a coordinate, a rate or an input of a point, and not of a parameter."""
    if not isinstance(name, str) or name in model.mechanism.parameter_names:
        return False
    stem, end = split_end(name)
    return stem in (model.coordinate_names if end in ("q", "v") else model.input_names if end == "u" else ())


def value_at(point: OperatingPoint, path: str) -> float:
    """Return a value of a point, in its unit."""
    model, (stem, end) = point.model, split_end(path)
    if end == "u":
        return 0.0 if point.u is None else float(point.u[model.input_names.index(stem)])
    in_q, in_v = model.mechanism.assembly.place(stem)
    return float(point.q[in_q] if end == "q" else point.v[in_v])


def inputs_of(point: OperatingPoint) -> Array:
    """Return the inputs (nu) at a point."""
    return np.zeros(point.model.nu) if point.u is None else point.u


def state_at(model: Model, q: Array, v: Array, values: Mapping[str, float]) -> tuple[Array, Array]:
    """Return configuration and rates with the coordinates among values by path, the others as they are."""
    q, v = q.copy(), v.copy()
    for path, value in values.items():
        stem, end = split_end(path)
        if is_of_point(model, path) and end != "u":
            in_q, in_v = model.mechanism.assembly.place(stem)
            if end == "q":
                q[in_q] = value
            else:
                v[in_v] = value
    return q, v


def held_point(point: OperatingPoint, model: Model, values: Mapping[str, float], a: Array) -> OperatingPoint:
    """Return the point of a changed model with other values by name.

    Its efforts are those that keep the accelerations `a` (nv); closures and gears carry what they do.
    """
    q, v = state_at(point.model, point.q, point.v, values)
    u = point.u
    if pushed := [(k, values[f"{name}.u"]) for k, name in enumerate(model.input_names) if f"{name}.u" in values]:
        u = inputs_of(point).copy()
        for k, value in pushed:
            u[k] = value

    def needed(model: Model, q: Array, v: Array, u: Array | None) -> Array:
        whole = model.mechanism.inputs.with_states(u, point.x) if model.nx else u
        pushes = model.mechanism.external_pushes(point.wrenches, whole)
        driven = 0.0 if u is None else model.mechanism.inputs.motors @ u
        return model.mechanism.engine.dynamics.tree_inverse(q, v, a, pushes) - driven

    tau = point.tau + needed(model, q, v, u) - needed(point.model, point.q, point.v, point.u)
    if model.mechanism.gear_constraints:
        before = point.model
        pushes = before.mechanism.external_pushes(point.wrenches, point.driving)
        carried = before.mechanism.multipliers(point.q, point.v, a, pushes, point.driving, point.tau)
        tau = tau - (model.closure_jacobian(q) - before.closure_jacobian(point.q)).T @ carried
    return OperatingPoint(model, q, v, tau, u, point.wrenches, x=point.x, a=point.a)


def accelerations_at(point: OperatingPoint, system_inputs: SystemInputs) -> Array:
    """Return the accelerations (nv) at a point, but for what rounding leaves of them; the point's at an equilibrium."""
    if system_inputs.prescribed.any():
        a = system_inputs.accelerations(point.model, point.q, point.v, point.tau, point.wrenches, point.driving)
    else:
        a = point.residual + point.a
    left = a - point.a
    if not left.any() or excess(point, left, np.zeros_like(a)).max(initial=0.0) <= 1.0:
        return point.a
    return np.where(np.abs(a) > ROUNDING * np.abs(a).max(), a, 0.0)
