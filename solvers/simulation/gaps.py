"""Gaps: functions of the state that are zero where blocks, joints and interactions switch, as one vector."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from titop.blocks.basics.errors import Finding, ModelError
from titop.blocks.basics.spatial import Array
from titop.blocks.basics.user_input import real_array
from titop.blocks.contract.block import Block
from titop.blocks.contract.own_coordinates import redefines
from titop.blocks.contract.target_motion import TargetMotion
from titop.blocks.interactions.interaction import COINCIDENT, Interaction, motion_among
from titop.blocks.joints.friction_and_limits import CoordinateLimits, stop_bounds
from titop.blocks.joints.joint import Joint
from titop.solvers.arguments.reading import all_finite
from titop.solvers.engines.compiled.law_tables import gap_stage
from titop.solvers.engines.compiled.prepared_kernels import NO_GUARDS, CompiledPreparedDynamics
from titop.solvers.model.model import Model
from titop.solvers.model.prepared import PreparedDynamics

#: Owners of stops, whose gaps depend on coordinates; the others' gaps depend on the places of their ports.
_WITH_STOPS = (Joint, CoordinateLimits)
#: Gaps evaluated in Python (n), as a function of q and v.
_Part = Callable[[Array, Array], Array]


class Gaps:
    """All gaps of a model: first those evaluated in compiled code, then those evaluated in Python.

    - `owners`: the block that each gap belongs to;
    - `follow_rates`: whether some gaps depend on rates, not on positions alone;
    - `rounding` (m, rad): gaps no larger than this may be zero;
    - `guards` (n, k): rows of the gaps in compiled code, laid out as in `titop.solvers.kernels.ports.guards`.
    """

    def __init__(self, model: Model, dynamics: PreparedDynamics) -> None:
        self._model, self._dynamics = model, dynamics
        self._compiled = dynamics if isinstance(dynamics, CompiledPreparedDynamics) else None
        q, v = model.neutral(), np.zeros(model.nv)
        self.owners, self._parts = list[str](), list[_Part]()
        self._stages: list[tuple[int, Interaction, int]] = []
        self.guards = self._add_all(q, v)
        self.rounding = COINCIDENT * model.mechanism.scale.reach
        self.follow_rates = bool(self.owners) and self._are_of_rates(q, v)

    @property
    def count(self) -> int:
        """Number of gaps."""
        return len(self.owners)

    @property
    def is_guarded(self) -> bool:
        """Whether compiled code evaluates all gaps, and their time derivatives by positions."""
        return not (self._parts or self.follow_rates)

    @property
    def step_guards(self) -> Array:
        """The guard rows for compiled steps: those of all gaps, or none if compiled code does not evaluate them all."""
        return self.guards if self.is_guarded else NO_GUARDS

    def stay_clear(self, length: float, q: Array, v: Array) -> bool:
        """Tell whether none of the `step_guards` came near zero in a step of a `length` (s) to a state."""
        return self._compiled is not None and self._compiled.clears(self.step_guards, length, q, v)

    def _are_of_rates(self, q: Array, v: Array) -> bool:
        """Tell whether gaps depend on rates by more than rounding, tried at the configuration and at a generic one."""
        states, change = (q, self._model.mechanism.probes[1]), np.random.default_rng(0).normal(size=len(v))
        return any(not (np.abs(self.at(q, v) - self.at(q, v + change)) <= self.rounding).all() for q in states)

    def at(self, q: Array, v: Array) -> Array:
        """Return the gaps (n) at a state with unit quaternions."""
        compiled = self._compiled_gaps(q[None], v[None])[0][0] if len(self.guards) else np.zeros(0)
        return np.concatenate([compiled, *(part(q, v) for part in self._parts)]) if self._parts else compiled

    def rows(self, q: Array, v: Array, step: float) -> tuple[Array, Array]:
        """Return the gaps (m, n) at stacked states and their time derivatives due to changes of position.

        Time derivatives of gaps evaluated in Python are differences over a `step` (s).
        """
        if not self._parts:
            return self._compiled_gaps(q, v)
        ahead = [self._model.mechanism.integrate_unchecked(*state) for state in zip(q, step * v, strict=True)]
        parts = self._parts
        now, then = (np.array([np.concatenate([f(*x) for f in parts]) for x in zip(at, v, strict=True)]) for at in (q, ahead))
        known = self._compiled_gaps(q, v) if len(self.guards) else (np.zeros((len(q), 0)),) * 2
        return np.hstack([known[0], now]), np.hstack([known[1], (then - now) / step])

    def _compiled_gaps(self, q: Array, v: Array) -> tuple[Array, Array]:
        """Return the gaps evaluated in compiled code (m, k) at stacked states, and their time derivatives."""
        assert self._compiled is not None
        gaps, rates = self._compiled.gaps(self.guards, q, v)
        if not all_finite(gaps):
            motions = self._dynamics.target_motions(*(x[np.isfinite(gaps).all(axis=1).argmin()] for x in (q, v)))
            for k, closure, count in self._stages:
                _read(closure, motions[k], count)
        return gaps, rates

    # -- owners --------------------------------------------------------------------------------------------------------

    def _add_all(self, q: Array, v: Array) -> Array:
        """Collect all gaps, as many as there are at a state; return guard rows for those in compiled code."""
        stops = self._stops()
        of_interactions = self._count_interaction_gaps(q, v)
        self._stages = [entry for entry in of_interactions if self._compiled and gap_stage(entry[1])]
        self.owners += [closure.name for _, closure, count in self._stages for _ in range(count)]
        for block in filter(_redefines_gaps, self._model.mechanism.assembly.blocks.values()):
            if count := len(self._block_gaps(block)(q, v)):
                self._parts.append(self._block_gaps(block, count))
                self.owners += [block.name] * count
        if others := [entry for entry in of_interactions if entry not in self._stages]:
            self._parts.append(self._interaction_gaps(others))
            self.owners += [closure.name for _, closure, count in others for _ in range(count)]
        if self._compiled is None:
            return NO_GUARDS
        return self._compiled.guards(stops, [(k, count) for k, _, count in self._stages])

    def _stops(self) -> Array:
        assembly, numbers, places = self._model.mechanism.assembly, [np.zeros((0, 6))], list[tuple[int, int, str]]()
        for block in assembly.blocks_with_coordinates:
            if isinstance(block, Joint) and not redefines(block, "gaps", Joint):
                numbers.append(block.limit_numbers)
                in_q, in_v = assembly.q_slices[block.name].start, assembly.v_slices[block.name].start
                places += [(in_q + k, in_v + k, block.name) for k in range(block.nv)]
        for limits in assembly.limits:
            if not redefines(limits, "gaps", CoordinateLimits):
                numbers.append(limits.limit_numbers)
                places.append((*assembly.place(limits.joint), limits.name))
        which, signs, bounds = stop_bounds(np.vstack(numbers))
        self.owners += [places[k][2] for k in which]
        where = np.array([places[k][:2] for k in which], dtype=int).reshape(-1, 2)
        if self._compiled is None and len(which):
            in_q = where[:, 0]
            self._parts.append(lambda q, v: signs * (q[in_q] - bounds))
        return np.column_stack([where, signs, bounds])

    def _count_interaction_gaps(self, q: Array, v: Array) -> list[tuple[int, Interaction, int]]:
        closures = [(k, loop.closure) for k, loop in enumerate(self._model.mechanism.interactions)]
        switching = [(k, closure) for k, closure in closures if redefines(closure, "gaps", Block)]
        if not switching:
            return []
        motions = self._dynamics.target_motions(q, v)
        counted = [(k, closure, len(_read(closure, motions[k]))) for k, closure in switching]
        return [entry for entry in counted if entry[2]]

    def _interaction_gaps(self, interactions: list[tuple[int, Interaction, int]]) -> _Part:
        def gaps(q: Array, v: Array) -> Array:
            motions = self._dynamics.target_motions(q, v)
            return np.concatenate([_read(closure, motions[k], count) for k, closure, count in interactions])

        return gaps

    def _block_gaps(self, block: Block, count: int | None = None) -> _Part:
        """Return the gaps of a block or joint that defines its own, `count` of them if that is known."""
        model, assembly = self._model, self._model.mechanism.assembly
        nowhere, still = slice(0, 0), np.zeros(model.nv)
        in_q, in_v = assembly.q_slices.get(block.name, nowhere), assembly.v_slices.get(block.name, nowhere)
        if isinstance(block, CoordinateLimits):
            in_q, in_v = (slice(k, k + 1) for k in assembly.place(block.joint))
        u = np.zeros(len(block.inputs))
        at_world, world = (np.eye(3), np.zeros(3)), np.concatenate([np.zeros(3), assembly.turning[:3]])

        def gaps(q: Array, v: Array) -> Array:
            poses, twists = [], []
            if not isinstance(block, _WITH_STOPS):
                at = model.mechanism.engine.observations.port_motion(block.name, q, v, still)
                poses, twists = [at_world, (at.rotation, at.position)], [world, at.twist]
            return _read(block, motion_among(poses, twists, q[in_q], v[in_v], u), count)

        return gaps


def _redefines_gaps(block: Block) -> bool:
    """Tell whether a block, other than an interaction, defines gaps of its own."""
    base = next((kind for kind in _WITH_STOPS if isinstance(block, kind)), Block)
    return redefines(block, "gaps", base) and not isinstance(block, Interaction)


def _read(block: Block, motion: TargetMotion, count: int | None = None) -> Array:
    returned = block.gaps(motion)
    is_ready = type(returned) is np.ndarray and returned.dtype == float
    gaps = returned if is_ready else real_array(returned)
    if gaps is None or gaps.ndim != 1 or not all_finite(gaps):
        expected, advice = "a vector of finite numbers", "return an array, of a number for each place where the block switches"
        raise ModelError(Finding("bad-gaps", f"{block.name}.gaps", returned, expected, advice))
    if count is not None and len(gaps) != count:
        expected, advice = f"{count} numbers, as in the neutral configuration", "return as many in every state"
        raise ModelError(Finding("bad-gaps", f"{block.name}.gaps", returned, expected, advice))
    return gaps
