"""Gaps: what blocks, joints and interactions say is zero where they switch, as one function of the state."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from titop.blocks.basics.errors import Finding, ModelError
from titop.blocks.basics.spatial import Array
from titop.blocks.basics.user_input import real_array
from titop.blocks.contract.block import Block
from titop.blocks.contract.coordinates import redefines
from titop.blocks.contract.target_motion import TargetMotion
from titop.blocks.interactions.interaction import COINCIDENT, Interaction, motion_among
from titop.blocks.joints.coordinate_limits import CoordinateLimits
from titop.blocks.joints.joint import Joint
from titop.blocks.joints.limits import stop_bounds
from titop.solvers.arguments.reading import all_finite
from titop.solvers.model.model import Model

#: What has stops, along coordinates: the others say where their ports are.
_WITH_STOPS = (Joint, CoordinateLimits)
#: A part of the gaps (n), as a function of q and v.
_Part = Callable[[Array, Array], Array]


class Gaps:
    """The gaps of all that switches.

    Parameters
    ----------
    model : Model
    target_motions : callable ``f(q, v)``
        The motions of the targets of all interactions.

    Attributes
    ----------
    count : int
    follow_rates : bool
        Whether some depend on rates, not on positions alone.
    rounding : float, m, rad
        Gaps that are no larger may be zero.
    compiled : callable ``f(q, v)``, optional
        All gaps (n) and their rates by compiled code, where that knows them.
    """

    def __init__(self, model: Model, target_motions: Callable[[Array, Array], list[TargetMotion]]) -> None:
        self._model, self._target_motions = model, target_motions
        q, v = model.neutral(), np.zeros(model.nv)
        #: What kernels can guard: stops, as rows of places in q and v, sign and bound, and interactions; None if there is more.
        self.guarded: tuple[Array, list[tuple[int, Interaction]]] | None = np.zeros((0, 4)), []
        self.compiled: Callable[[Array, Array], tuple[Array, Array]] | None = None
        self._parts = list(self._all_parts(q, v))
        self.count, self.rounding = len(self.at(q, v)), COINCIDENT * model.reach
        self.follow_rates = bool(self.count) and self._are_of_rates(q, v)

    def _are_of_rates(self, q: Array, v: Array) -> bool:
        """Tell whether gaps change with rates, at a configuration or in no special position."""
        states, moved = (q, self._model.probes[1]), np.random.default_rng(0).normal(size=len(v))
        return any(not np.array_equal(self.at(q, v), self.at(q, v + moved)) for q in states)

    def at(self, q: Array, v: Array) -> Array:
        """Return the gaps (n) at a state with unit quaternions."""
        if self.compiled is not None:
            return self.compiled(q, v)[0]
        parts = [part(q, v) for part in self._parts]
        return parts[0] if len(parts) == 1 else np.concatenate([np.zeros(0), *parts])

    def rates(self, q: Array, v: Array, gaps: Array, step: float) -> Array:
        """Return the rates (n) of `gaps` at a state, as they follow positions; Python's by differences over a `step` (s)."""
        if self.compiled is not None:
            return self.compiled(q, v)[1]
        rates: Array = (self.at(self._model.moved(q, step * v), v) - gaps) / step
        return rates

    # -- whose they are ------------------------------------------------------------------------------------------------

    def _all_parts(self, q: Array, v: Array) -> Iterator[_Part]:
        """Yield all parts; the state is one to look at how many gaps each has."""
        if len((stops := self._stops())(q, v)):
            yield stops
        for block in self._model.assembly.blocks.values():
            base = next((kind for kind in _WITH_STOPS if isinstance(block, kind)), Block)
            own = redefines(block, "gaps", base) and not isinstance(block, Interaction)
            if own and (count := len(self._of_block(block)(q, v))):
                self.guarded = None
                yield self._of_block(block, count)
        closures = [(k, loop.closure) for k, loop in enumerate(self._model.interactions)]
        switching = [(k, closure) for k, closure in closures if redefines(closure, "gaps", Block)]
        if switching:
            motions = self._target_motions(q, v)
            counts = [len(_read(closure, motions[k])) for k, closure in switching]
            switching = [which for which, count in zip(switching, counts, strict=True) if count]
        if switching:
            self.guarded = self.guarded and (self.guarded[0], switching)
            yield self._of_interactions(switching, [count for count in counts if count])

    def _stops(self) -> _Part:
        """Return the gaps of all stops, those of joints and limits with gaps of their own apart."""
        assembly, numbers, places = self._model.assembly, [np.zeros((0, 6))], list[tuple[int, int]]()
        for block in assembly.blocks_with_coordinates:
            if isinstance(block, Joint) and not redefines(block, "gaps", Joint):
                numbers.append(block.limit_numbers)
                in_q, in_v = assembly.q_slices[block.name].start, assembly.v_slices[block.name].start
                places += [(in_q + k, in_v + k) for k in range(block.nv)]
        for limits in assembly.limits:
            if not redefines(limits, "gaps", CoordinateLimits):
                numbers.append(limits.limit_numbers)
                places.append(assembly.place(limits.joint))
        which, signs, bounds = stop_bounds(np.vstack(numbers))
        where = np.array(places, dtype=int).reshape(-1, 2)[which]
        self.guarded = np.column_stack([where, signs, bounds]), []
        in_q = where[:, 0]
        return lambda q, v: signs * (q[in_q] - bounds)

    def _of_interactions(self, switching: list[tuple[int, Interaction]], counts: list[int]) -> _Part:
        every = [(k, closure, count) for (k, closure), count in zip(switching, counts, strict=True)]

        def gaps(q: Array, v: Array) -> Array:
            motions = self._target_motions(q, v)
            return np.concatenate([_read(closure, motions[k], count) for k, closure, count in every])

        return gaps

    def _of_block(self, block: Block, count: int | None = None) -> _Part:
        """Return the gaps of a block or joint that says them itself, as many as `count` where that is known."""
        model, assembly = self._model, self._model.assembly
        nowhere, still = slice(0, 0), np.zeros(model.nv)
        in_q, in_v = assembly.q_slices.get(block.name, nowhere), assembly.v_slices.get(block.name, nowhere)
        if isinstance(block, CoordinateLimits):
            in_q, in_v = (slice(k, k + 1) for k in assembly.place(block.joint))
        u = np.zeros(len(block.inputs))
        at_world, world = (np.eye(3), np.zeros(3)), np.zeros(6)

        def gaps(q: Array, v: Array) -> Array:
            poses, twists = [], []
            if not isinstance(block, _WITH_STOPS):
                at = model.engine.observations.port_motion(block.name, q, v, still)
                poses, twists = [at_world, (at.rotation, at.position)], [world, at.twist]
            return _read(block, motion_among(poses, twists, q[in_q], v[in_v], u), count)

        return gaps


def _read(block: Block, motion: TargetMotion, count: int | None = None) -> Array:
    """Return the gaps of a block, as many as `count` where that is known.

    Raises
    ------
    ModelError
        If they are no vector of finite numbers, or not as many as before.
    """
    given = block.gaps(motion)
    is_ready = type(given) is np.ndarray and given.dtype == float
    gaps = given if is_ready else real_array(given)
    if gaps is None or gaps.ndim != 1 or not all_finite(gaps):
        expected, advice = "a vector of finite numbers", "return an array, of a number for each place where the block switches"
        raise ModelError(Finding("bad-gaps", f"{block.name}.gaps", given, expected, advice))
    if count is not None and len(gaps) != count:
        expected, advice = f"{count} numbers, as in the neutral configuration", "return as many in every state"
        raise ModelError(Finding("bad-gaps", f"{block.name}.gaps", given, expected, advice))
    return gaps
