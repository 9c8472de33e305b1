"""Sensitivities at stacked states, without a loop over these: the direct effects of parameters as programs.

What a parameter changes directly is recorded with numbers of the state that are not known yet, differentiated, and evaluated
at all states at once; the motions of ports and their Jacobians, the response to moving ports, and what follows from changed
efforts come from kernels. Single states are stacks of one, for the same bits.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import cached_property
from types import SimpleNamespace
from typing import Any

import numpy as np

from titop.blocks.basics.paths import owner_of
from titop.blocks.basics.spatial import Array
from titop.blocks.programs.graph import Graph, TooLongError
from titop.solvers.mechanism.kernel_calls import DONE
from titop.solvers.mechanism.port_motion import PortMotion
from titop.solvers.sensitivities.effects import Movable, Move, SensitiveModel, SensitivityState, movables

#: So many operations are recorded at most: evaluated one by one, more take longer than kernels and blocks do.
_LONGEST = 4000
#: So many states at a time: programs keep every number of each.
_ROWS = 1024
#: The vectors of a move that a program computes.
_VECTORS = ("displacement", "rate", "acceleration", "by_rows")


class ApartError(Exception):
    """States cannot be computed together: there is no kernel, or one refuses some of them."""


class _Asked:
    """An engine whose ports' motions are not known yet; it remembers which are asked for."""

    def __init__(self, mechanism: Any, graph: Graph, sizes: dict[str, int]) -> None:
        self.assembly, self._nv, self.observations = mechanism.assembly, mechanism.nv, self
        self._graph, self._sizes = graph, sizes

    def port_motion(self, port: str, q: Array, v: Array, a: Array) -> PortMotion:
        rotation, position, twist, acceleration = np.split(self._input(f"motion {port}", 24), (9, 12, 18))
        return PortMotion(rotation.reshape(3, 3), position, twist, acceleration)

    def jacobian(self, port: str, q: Array) -> Array:
        return self._input(f"jacobian {port}", 6 * self._nv).reshape(6, self._nv)

    def _input(self, name: str, size: int) -> Array:
        self._sizes[name] = size
        return self._graph.input(name, size)


class RecordedEffects:
    """The direct effects of some parameters on a system, without external loads, as a program.

    - `changes`: `ParameterChange` by name;
    - `moves`: the moves of each parameter that is recorded, whose vectors the program computes;
    - `left`: the names of those that cannot be;
    - `loaded`: of these, and of those whose effects depend on external loads.
    """

    def __init__(self, model: SensitiveModel, changes: Mapping[str, Any]) -> None:
        self._model, mechanism, graph = model, model.mechanism, Graph()
        sizes = {"q": mechanism.nq, "v": mechanism.nv, "a": mechanism.nv, "parameters": len(changes)}
        given = {name: graph.input(name, size) for name, size in sizes.items()}
        twin: Any = mechanism.twin(lambda _: _Asked(mechanism, graph, sizes), moved=False)
        asked: Any = SimpleNamespace(mechanism=twin, nv=model.nv)
        q, v, a, parameters = given.values()
        at = SensitivityState(asked, q, v, a, {}, mechanism.inputs.whole(None))
        self.moves, self.left, outputs = dict[str, list[Move]](), set[str](), dict[str, Array]()
        long = set[str]()
        for (name, change), parameter in zip(changes.items(), parameters, strict=True):
            graph.limit, effect = len(graph.values) + _LONGEST, None
            try:
                effect = change.record(at, parameter) if owner_of(name) not in long else None
            except TooLongError:
                long.add(owner_of(name))
            except Exception:  # of a user's function that looks at numbers, and of kernels: it may be anything
                pass
            if effect is None or effect.turns or (mechanism.is_constrained and effect.moves):
                self.left.add(name)
                continue
            self.moves[name], outputs[name] = effect.moves, effect.efforts
            for k, move in enumerate(effect.moves):
                outputs |= {f"{name} {k} {part}": getattr(move, part) for part in _VECTORS}
        self.loaded = self.left | {name for name, moves in self.moves.items() if moves or changes[name].is_driven}
        graph.limit = math.inf
        self._values = np.array([change.value for change in changes.values()])
        self._program = graph.program(sizes, outputs)

    def at(self, q: Array, v: Array, a: Array, loaded: bool) -> dict[str, Array]:
        """Return the changes (batch, nv) of inverse dynamics at stacked states, by name; if `loaded` without moves.

        Raises `ApartError`.
        """
        rows = [slice(k, k + _ROWS) for k in range(0, len(q), _ROWS)]
        parts = [self._at(q[part], v[part], a[part], loaded) for part in rows]
        return {name: np.concatenate([part[name] for part in parts]) for name in self.moves}

    def _at(self, q: Array, v: Array, a: Array, loaded: bool) -> dict[str, Array]:
        mechanism, calls = self._model.mechanism, self._model.mechanism.engine.calls
        given = {"q": mechanism._read_q(q, "q", True), "v": v, "a": a, "parameters": self._values}
        for name, size in self._program.inputs.items():
            if name not in given:
                what, _, port = name.partition(" ")
                shape, state = ((1, 24), (q, v, a)) if what == "motion" else ((6, size // 6), (q,))
                asked = np.empty((len(q), *shape))
                if calls.at_ports[port].bound[what].at_stack(*state, asked, threads=calls.threads) != DONE:
                    raise ApartError
                given[name] = asked.reshape(len(q), size)
        with np.errstate(all="ignore"):  # of sides that are not chosen
            found = self._program.evaluate({name: given[name] for name in self._program.inputs})
        changes = {name: found[name] for name in self.moves}
        numbers: list[tuple[str, Move]] = []
        for name, moves in self.moves.items():
            for k, move in enumerate(moves):
                vectors: dict[str, Any] = {part: found[f"{name} {k} {part}"] for part in _VECTORS}
                numbers.append((name, move._replace(**vectors)))
        for movable in [] if loaded else self._movables:
            moved = [(name, move) for name, move in numbers if move.place in movable.places]
            by_move = self._followed(movable, [move for _, move in moved], q, v, a)
            for k, (name, _) in enumerate(moved):
                changes[name] = changes[name] + by_move[:, k]
        return changes

    @cached_property
    def _movables(self) -> list[Movable]:
        return movables(self._model, {move.place for moves in self.moves.values() for move in moves})

    @staticmethod
    def _followed(movable: Movable, moves: list[Move], q: Array, v: Array, a: Array) -> Array:
        """Return the changes (batch, moves, nv) of inverse dynamics by moves of places, with stacked numbers."""
        wide, state = movable.stacked(q, v, a)
        along, changes = np.zeros((3, len(q), len(moves), wide.nv)), np.empty((len(q), len(moves), wide.nv))
        held, calls = np.empty((len(q), wide.nv)), wide.engine.calls.stacked
        for k, move in enumerate(moves):
            along[:, :, k, movable.columns(move.place)] = move.displacement, move.rate, move.acceleration
        if calls["inverse_tangent"](*state, *along, changes) != DONE or calls["inverse"](*state, held) != DONE:
            raise ApartError
        needed = changes[..., movable.own]
        for k, move in enumerate(moves):
            needed[:, k, move.rows] += (move.by_rows * held[:, movable.columns(move.place), None]).sum(axis=1)
        return needed
