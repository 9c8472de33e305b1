"""Expressions of coordinates that are computed in links, one after the other, with derivatives that are computed so too.

Link i maps a state s and coordinates q_i, together z, to the next state ``g(z)``. From derivatives of g by z, which are few,
those by all q follow by matrices (``D = dg/dz``):

- rates ``u = D z'``, accelerations ``b = D z'' + (D^2 g z') z'``;
- columns ``ds/dq``, ``du/dq`` and ``db/dq`` from those of the last link;
- of a number ``f . s`` the derivatives by q, backwards from the last link, and the second ones
  ``sum_i Z_i^T (f_i . D^2 g) Z_i`` with ``Z_i = dz/dq`` and f_i what f is at the end of link i.
"""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from titop.blocks.basics.spatial import Array
from titop.blocks.bodies.soft.functions import Meaning, held_symbols
from titop.blocks.bodies.soft.soft_fields import DeformationStage, checked_stages
from titop.blocks.programs.differentiation import along, jacobian, replaced
from titop.blocks.programs.graph import SYMMETRIC, Graph, Unknown
from titop.blocks.programs.program import EACH, LOADS, ONCE, OWN, SHARED, TOTALS, Program

#: What an operation counts for that is done once, in every section, and at every point: sections have twelve points by default.
_WEIGHTS = (0.0, 0.1, 1.0)


class ChainLink:
    """One map of a chain, and its derivatives as recorded numbers of the last state, and of rates and loads.

    It maps symbols of the last state (k) and of the link's coordinates, from the `first` of all on, to the next state (m). The
    meanings of symbols in this are put in once it has been differentiated.
    """

    def __init__(self, graph: Graph, last: Array, q: Array, first: int, state: Array, meanings: Sequence[Meaning] = ()) -> None:
        self.graph, self.last, self.first, self.state, self.meanings = graph, last, first, state, tuple(meanings)
        self.count = len(q)
        self.variables = np.concatenate([last, q])
        self._rate, self._acceleration = graph.fresh(len(self.variables)), graph.fresh(len(self.variables))
        self._load = graph.fresh(len(state))

    @classmethod
    def of(cls, graph: Graph, function: Callable[[Any, Any], Any], size: int, first: int, q: Array) -> ChainLink:
        """Return the link of a function of a state of `size` numbers and of coordinates q, from the `first` of all on."""
        last = graph.fresh(size)
        with held_symbols() as held:
            state = function(last, q)
        return cls(graph, last, q, first, state, held)

    @property
    def primal(self) -> str:
        """A hash of the link."""
        return digest(self.graph, self.at(self.state, self.last), self.last)

    def at(self, numbers: Array, last: Array, rate: Any = None, acceleration: Any = None, load: Any = None) -> Array:
        """Return numbers of the link's symbols, with values in place of these."""
        values = dict(zip(self.last, last, strict=True))
        for symbols, given in ((self._rate, rate), (self._acceleration, acceleration), (self._load, load)):
            if given is not None:
                values |= zip(symbols, given, strict=True)
        for symbol, value in self.meanings:
            values[symbol] = values.get(value, value)
        return replaced(numbers, values)

    @functools.cached_property
    def rate(self) -> Array:
        """``D z'``."""
        return along(self.state, self.variables, self._rate)

    @functools.cached_property
    def acceleration(self) -> Array:
        """``D z'' + (D^2 g z') z'``."""
        return along(self.state, self.variables, self._acceleration) + along(self.rate, self.variables, self._rate)

    @functools.cached_property
    def slopes(self) -> Array:
        """D."""
        return jacobian(self.state, self.variables)

    @functools.cached_property
    def rate_slopes(self) -> Array:
        """``D^2 g z'``."""
        return jacobian(self.rate, self.variables)

    @functools.cached_property
    def acceleration_slopes(self) -> Array:
        """``D^2 g z'' + D^3 g z' z'``."""
        return jacobian(self.acceleration, self.variables)

    @functools.cached_property
    def gradient(self) -> Array:
        """``D^T f``."""
        return self._shorter(self.slopes.T @ self._load, self._backwards)

    @functools.cached_property
    def _backwards(self) -> Array:
        return jacobian(self._load @ self.state, self.variables, reverse=True)

    @functools.cached_property
    def hessian(self) -> Array:
        """``f . D^2 g``."""
        each = np.tensordot(self._load, jacobian(self.slopes, self.variables), 1)
        return self._shorter(symmetric(each), symmetric(jacobian(self._backwards, self.variables)))

    def _shorter(self, first: Array, second: Array) -> Array:
        """Return that of two equal arrays which is computed faster.

        Derivatives of all numbers, summed with loads, keep apart what depends on the section alone from loads on its points;
        the derivatives of the sum are fewer.
        """
        starts = self.first == 0 and self.count > 0  # from a point at rest
        alone = self.last[2:3] if starts else self.last[:0]
        beside = self.last[:2] if starts else self.last
        of_points = np.concatenate([beside, self._load])
        return min((first, second), key=lambda numbers: work(self.graph, self.at(numbers, self.last), of_points, alone))

    def with_directions(self, count: int = 3) -> ChainLink:
        """Return the link of the state and of what so many directions of the first state become, one after the other."""
        size = len(self.last)
        directions = [self.graph.fresh(size) for _ in range(count)]
        state = np.concatenate([self.state, *(along(self.state, self.last, direction) for direction in directions)])
        last = np.concatenate([self.last, *directions])
        return ChainLink(self.graph, last, self.variables[size:], self.first, state, self.meanings)


def kinematic_links(graph: Graph, kinematics: Callable[..., Any], q: Array, numbers: Any) -> list[ChainLink]:
    """Return the links by which kinematics with these `numbers` place a point."""

    def link(stage: DeformationStage) -> ChainLink:
        own = q[stage.first : stage.first + stage.size]
        return ChainLink.of(graph, lambda x, q: stage.function(x, q, numbers), 3, stage.first, own)

    return [link(stage) for stage in checked_stages(kinematics, len(q))]


class Chain:
    """What links compute from a first state, or from the last ones of other chains, one after the other.

    Without accelerations, as if they were zero.
    """

    def __init__(self, links: Sequence[ChainLink], start: Array | Sequence[Chain], v: Array, a: Array | None = None) -> None:
        self.links, self.n = tuple(links), len(v)
        self._before = [] if isinstance(start, np.ndarray) else list(start)
        self.start = start if isinstance(start, np.ndarray) else np.concatenate([chain.state for chain in start])
        self._v, self._a = v, _zeros(self.n) if a is None else a

    def _first(self, name: str) -> Array:
        """Return a quantity of the first state."""
        if self._before:
            return np.concatenate([getattr(chain, name) for chain in self._before])
        return _zeros(len(self.start), self.n) if name.endswith("columns") else _zeros(len(self.start))

    def _along(self, first: Any, step: Callable[[int, ChainLink, Any], Any]) -> list[Any]:
        """Return a quantity of every state, of the first one to begin with, by a step over each link."""
        values = [first]
        for k, link in enumerate(self.links):
            values.append(step(k, link, values[-1]))
        return values

    @functools.cached_property
    def _states(self) -> list[Array]:
        return self._along(self.start, lambda k, link, last: link.at(link.state, last))

    @functools.cached_property
    def _rates(self) -> list[Array]:
        def step(k: int, link: ChainLink, last: Any) -> Any:
            return link.at(link.rate, self._states[k], _with_part(last, self._v, link))

        return self._along(self._first("rate"), step)

    @functools.cached_property
    def _accelerations(self) -> list[Array]:
        def step(k: int, link: ChainLink, last: Any) -> Any:
            return link.at(link.acceleration, self._states[k], *self._motion(k, last))

        return self._along(self._first("acceleration"), step)

    def _motion(self, k: int, last: Any = None) -> tuple[Array, Array]:
        """Return rates and accelerations of the variables of a link; `last` is the state's acceleration."""
        link, last = self.links[k], self._accelerations[k] if last is None else last
        return _with_part(self._rates[k], self._v, link), _with_part(last, self._a, link)

    @property
    def state(self) -> Array:
        """The last state."""
        return self._states[-1]

    @property
    def rate(self) -> Array:
        """Its rate."""
        return self._rates[-1]

    @property
    def acceleration(self) -> Array:
        """Its acceleration."""
        return self._accelerations[-1]

    # -- by q --------------------------------------------------------------------------------------------------------------

    @functools.cached_property
    def _columns(self) -> list[Array]:
        """Derivatives of every state."""

        def step(k: int, link: ChainLink, last: Any) -> Any:
            return self._slopes[k] @ self._variable_columns(last, link)

        return self._along(self._first("columns"), step)

    @functools.cached_property
    def _slopes(self) -> list[Array]:
        return [link.at(link.slopes, state) for link, state in zip(self.links, self._states, strict=False)]

    @functools.cached_property
    def _rate_slopes(self) -> list[Array]:
        return [link.at(link.rate_slopes, self._states[k], self._motion(k)[0]) for k, link in enumerate(self.links)]

    @functools.cached_property
    def _rate_columns(self) -> list[Array]:
        def step(k: int, link: ChainLink, last: Any) -> Any:
            here = self._rate_slopes[k] @ self._variable_columns(self._columns[k], link)
            return here + self._slopes[k] @ self._rate_variable_columns(last, link)

        return self._along(self._first("rate_columns"), step)

    def _variable_columns(self, columns: Array, link: ChainLink) -> Array:
        return np.concatenate([columns, np.eye(self.n)[link.first : link.first + link.count]])

    def _rate_variable_columns(self, columns: Array, link: ChainLink) -> Array:
        return np.concatenate([columns, _zeros(link.count, self.n)])

    @property
    def columns(self) -> Array:
        """Derivatives of the state (m x n)."""
        return self._columns[-1]

    @property
    def rate_columns(self) -> Array:
        """Derivatives of its rate (m x n)."""
        return self._rate_columns[-1]

    @functools.cached_property
    def acceleration_columns(self) -> Array:
        """Derivatives of its acceleration (m x n)."""

        def step(k: int, link: ChainLink, last: Any) -> Any:
            bends = link.at(link.acceleration_slopes, self._states[k], *self._motion(k))
            here = bends @ self._variable_columns(self._columns[k], link)
            here = here + 2.0 * (self._rate_slopes[k] @ self._rate_variable_columns(self._rate_columns[k], link))
            return here + self._slopes[k] @ self._rate_variable_columns(last, link)

        found: Array = self._along(self._first("acceleration_columns"), step)[-1]
        return found

    # -- of a number -------------------------------------------------------------------------------------------------------

    def _loads(self, load: Array) -> tuple[list[Array], Array]:
        """Return what a load on the state becomes on every state, and on the coordinates (n)."""
        loads, efforts = [load], _zeros(self.n)
        for link, state in zip(self.links[::-1], self._states[-2::-1], strict=True):
            pulled, size = link.at(link.gradient, state, load=loads[0]), len(link.last)
            loads.insert(0, pulled[:size])
            efforts[link.first : link.first + link.count] += pulled[size:]
        for chain, share in self._shares(loads[0]):
            efforts = efforts + chain.gradient(share)
        return loads, efforts

    def _shares(self, load: Array) -> Iterator[tuple[Chain, Array]]:
        """Yield the chains before, each with its share in a load on the first state."""
        for chain in self._before:
            yield chain, load[: len(chain.state)]
            load = load[len(chain.state) :]

    def gradient(self, load: Array) -> Array:
        """Return the derivatives (n) of ``load . state``."""
        return self._loads(load)[1]

    def hessian(self, load: Array) -> Array:
        """Return the second derivatives (n x n) of ``load . state``."""
        loads, total = self._loads(load)[0], _zeros(self.n, self.n)
        for k, link in enumerate(self.links):
            bent = link.at(link.hessian, self._states[k], load=loads[k + 1])
            columns = self._variable_columns(self._columns[k], link)
            total = total + columns.T @ (bent @ columns)
        for chain, share in self._shares(loads[0]):
            total = total + chain.hessian(share)
        return symmetric(total)


def _with_part(last: Array, all_of: Array, link: ChainLink) -> Array:
    """Return a quantity of the last state, and those entries of it for all coordinates that are the link's."""
    return np.concatenate([last, all_of[link.first : link.first + link.count]])


def _zeros(*shape: int) -> Array:
    return np.zeros(shape, dtype=object)


def symmetric(matrix: Array) -> Array:
    """Return a symmetric matrix from its upper half, so that the lower one is not computed."""
    return np.triu(matrix) + np.triu(matrix, 1).T


def digest(graph: Graph, numbers: Array, symbols: Array) -> str:
    """Return a hash of what numbers are of symbols, whatever was recorded before them and the symbols are called."""
    names: dict[int, Any] = {symbol.place: str(k) for k, symbol in enumerate(symbols)}
    places = [graph.place(number) for number in np.ravel(numbers)]
    for place in graph.needed(places):
        if place not in names:
            operation, arguments = graph.values[place]
            entries = [names[k] for k in graph.sources(place)]
            if operation in SYMMETRIC:
                entries.sort()
            names[place] = hashlib.sha256(repr((operation, entries or arguments)).encode()).hexdigest()
    return hashlib.sha256(repr([names[place] for place in places]).encode()).hexdigest()


def work(graph: Graph, numbers: Array, of_points: Array, of_sections: Array) -> float:
    """Return about how many operations numbers take at each point, with symbols that differ by point and by section."""
    levels = {symbol.place: level for level, symbols in ((2, of_points), (1, of_sections)) for symbol in symbols}
    total = 0.0
    for place in graph.needed(number.place for number in np.ravel(numbers) if isinstance(number, Unknown)):
        if place not in levels:
            sources = graph.sources(place)
            levels[place] = max((levels[k] for k in sources), default=0)
            total += _WEIGHTS[levels[place]] if sources else 0.0
    return total


def program_of(
    graph: Graph, sizes: Sequence[int], totals: Sequence[Any] = (), each: Sequence[Any] = (), once: Sequence[Any] | None = None
) -> Program:
    """Return the program of arrays of recorded numbers.

    `sizes`: of what all points share, what each point has, and the loads on each; `totals`, `each`: what is summed over the
    points, and what is a result at every one; `once`: what is added to the totals once, as many numbers; nothing by default.
    """
    once = [np.zeros(np.shape(part)) for part in totals] if once is None else once
    outputs = {
        name: np.concatenate([np.zeros(0, dtype=object), *map(np.ravel, parts)])
        for name, parts in ((ONCE, once), (TOTALS, totals), (EACH, each))
    }
    return graph.program(dict(zip((SHARED, OWN, LOADS), sizes, strict=True)), outputs)
