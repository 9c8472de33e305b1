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
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from titop.blocks.bodies.soft.casadi_expressions import (
    Meaning,
    Symbols,
    casadi,
    column,
    forward_jacobian,
    held_symbols,
    program_of,
    substitute,
    symbols,
    symmetric,
    work,
)
from titop.blocks.bodies.soft.soft_fields import DeformationStage, checked_stages
from titop.blocks.programs.program import Program


class ChainLink:
    """One map of a chain, and its derivatives as expressions of the last state, and of rates and loads.

    It maps symbols of the last state and of the link's coordinates, from the `first` of all on, to the next state. The meanings
    of symbols in this are put in once it has been differentiated.
    """

    def __init__(self, last: Any, q: Any, first: int, state: Any, meanings: Sequence[Meaning] = ()) -> None:
        self.last, self.first, self.state, self.meanings = last, first, state, tuple(meanings)
        self.count = q.numel()
        self.variables = casadi().vertcat(last, q)
        size = self.variables.numel()
        self._rate, self._acceleration = symbols("r", size).vector, symbols("a", size).vector
        self._load = symbols("f", state.numel()).vector

    @classmethod
    def of(cls, function: Callable[[Any, Any], Any], size: int, q: Symbols, first: int, count: int) -> ChainLink:
        """Return the link of a function of a state of `size` numbers and of `count` of all coordinates q."""
        last = symbols("y", size)
        with held_symbols() as held:
            state = column(function(last.entries, q.entries[first : first + count]))
        return cls(last.vector, part_of(q.vector, first, count), first, state, held)

    def primal(self, shared: Symbols) -> Program:
        """Return the link as a program, of what all points share, of its state, and of what symbols in it stand for."""
        meanings = [column([]), *(casadi().vec(meaning.symbol) for meaning in self.meanings)]
        last, held = (Symbols(vector, np.empty(0)) for vector in (self.last, casadi().vertcat(*meanings)))
        return program_of([shared, last, held], each=[self.state, *(meaning.value for meaning in self.meanings)])

    def at(self, expression: Any, last: Any, rate: Any = None, acceleration: Any = None, load: Any = None) -> Any:
        """Return an expression of the link's symbols, with values in place of these."""
        values = [(self.last, last), (self._rate, rate), (self._acceleration, acceleration), (self._load, load)]
        return substitute(self._without_meanings(expression), values)

    @functools.cached_property
    def rate(self) -> Any:
        """``D z'``."""
        return casadi().jtimes(self.state, self.variables, self._rate)

    @functools.cached_property
    def acceleration(self) -> Any:
        """``D z'' + (D^2 g z') z'``."""
        along = casadi().jtimes(self.rate, self.variables, self._rate)
        return casadi().jtimes(self.state, self.variables, self._acceleration) + along

    @functools.cached_property
    def slopes(self) -> Any:
        """D."""
        return forward_jacobian(self.state, self.variables)

    @functools.cached_property
    def rate_slopes(self) -> Any:
        """``D^2 g z'``."""
        return forward_jacobian(self.rate, self.variables)

    @functools.cached_property
    def acceleration_slopes(self) -> Any:
        """``D^2 g z'' + D^3 g z' z'``."""
        return forward_jacobian(self.acceleration, self.variables)

    @functools.cached_property
    def gradient(self) -> Any:
        """``D^T f``."""
        summed = casadi().dot(self._load, self.state)
        return self._shorter(casadi().mtimes(self.slopes.T, self._load), casadi().gradient(summed, self.variables))

    @functools.cached_property
    def hessian(self) -> Any:
        """``f . D^2 g``."""
        summed, eye = casadi().dot(self._load, self.state), casadi().SX.eye(self.variables.numel())
        second = forward_jacobian(casadi().vec(self.slopes), self.variables)
        each = symmetric(casadi().mtimes(casadi().kron(eye, self._load.T), second))
        return self._shorter(each, casadi().hessian(summed, self.variables)[0])

    def _shorter(self, first: Any, second: Any) -> Any:
        """Return that of two equal expressions which is computed faster.

        Derivatives of all numbers, summed with loads, keep apart what depends on the section alone from loads on its points;
        the derivatives of the sum are fewer.
        """
        starts = self.first == 0 and self.count > 0  # from a point at rest
        place = part_of(self.last, 0, min(self.last.numel(), 3))
        along = place[2] if starts and place.numel() else casadi().SX(0, 1)
        beside = part_of(place, 0, 2) if starts and place.numel() else self.last
        variables = casadi().vertcat(beside, self._load), along
        return min((first, second), key=lambda expression: work(self._without_meanings(expression), *variables))

    def _without_meanings(self, expression: Any) -> Any:
        for meaning in reversed(self.meanings):
            expression = casadi().substitute(expression, meaning.symbol, meaning.value)
        return expression

    def with_directions(self, count: int = 3) -> ChainLink:
        """Return the link of the state and of what so many directions of the first state become, one after the other."""
        size = self.last.numel()
        directions = [symbols(f"d{k}", size).vector for k in range(count)]
        images = [casadi().jtimes(self.state, self.last, direction) for direction in directions]
        last, q = casadi().vertcat(self.last, *directions), part_of(self.variables, size, self.count)
        return ChainLink(last, q, self.first, casadi().vertcat(self.state, *images), self.meanings)

    def of_three(self) -> ChainLink:
        """Return the link of three states, one after the other."""
        size, states, meanings = self.last.numel(), list[Any](), list[Meaning]()
        q, places = part_of(self.variables, size, self.count), [symbols(f"y{k}", size).vector for k in range(3)]
        for place in places:
            known, values = [self.last], [place]
            for meaning in self.meanings:
                symbol = casadi().SX.sym("h", meaning.symbol.numel())
                meanings.append(Meaning(symbol, casadi().substitute([meaning.value], known, values)[0]))
                known, values = [*known, meaning.symbol], [*values, symbol]
            states += casadi().substitute([self.state], known, values)
        return ChainLink(casadi().vertcat(*places), q, self.first, casadi().vertcat(*states), meanings)


def kinematic_links(kinematics: Callable[..., Any], q: Symbols, numbers: Any) -> list[ChainLink]:
    """Return the links by which kinematics with these `numbers` place a point."""

    def link(stage: DeformationStage) -> ChainLink:
        return ChainLink.of(lambda x, q: stage.function(x, q, numbers), 3, q, stage.first, stage.size)

    return [link(stage) for stage in checked_stages(kinematics, len(q.entries))]


def part_of(vector: Any, first: int, count: int) -> Any:
    """Return some entries of a column of CasADi's."""
    return vector[[*range(first, first + count)]] if count else casadi().SX(0, 1)


class Chain:
    """What links compute from a first state, one after the other; without accelerations, as if they were zero."""

    def __init__(self, links: Sequence[ChainLink], start: Any, q: Any, v: Any, a: Any = None) -> None:
        self.links, self.n = tuple(links), q.numel()
        self.start, self._v, self._a = start, v, casadi().SX(self.n, 1) if a is None else a

    def _along(self, first: Any, step: Callable[[int, ChainLink, Any], Any]) -> list[Any]:
        """Return a quantity of every state, of the first one to begin with, by a step over each link."""
        values = [first]
        for k, link in enumerate(self.links):
            values.append(step(k, link, values[-1]))
        return values

    @functools.cached_property
    def _states(self) -> list[Any]:
        return self._along(self.start, lambda k, link, last: link.at(link.state, last))

    @functools.cached_property
    def _rates(self) -> list[Any]:
        def step(k: int, link: ChainLink, last: Any) -> Any:
            return link.at(link.rate, self._states[k], _with_part(last, self._v, link))

        return self._along(casadi().SX(*self.start.shape), step)

    @functools.cached_property
    def _accelerations(self) -> list[Any]:
        def step(k: int, link: ChainLink, last: Any) -> Any:
            return link.at(link.acceleration, self._states[k], *self._motion(k, last))

        return self._along(casadi().SX(*self.start.shape), step)

    def _motion(self, k: int, last: Any = None) -> tuple[Any, Any]:
        """Return rates and accelerations of the variables of a link; `last` is the state's acceleration."""
        link, last = self.links[k], self._accelerations[k] if last is None else last
        return _with_part(self._rates[k], self._v, link), _with_part(last, self._a, link)

    @property
    def state(self) -> Any:
        """The last state."""
        return self._states[-1]

    @property
    def rate(self) -> Any:
        """Its rate."""
        return self._rates[-1]

    @property
    def acceleration(self) -> Any:
        """Its acceleration."""
        return self._accelerations[-1]

    # -- by q --------------------------------------------------------------------------------------------------------------

    @functools.cached_property
    def _columns(self) -> list[Any]:
        """Derivatives of every state."""

        def step(k: int, link: ChainLink, last: Any) -> Any:
            return casadi().mtimes(self._slopes[k], self._variable_columns(last, link))

        return self._along(casadi().SX(self.start.numel(), self.n), step)

    @functools.cached_property
    def _slopes(self) -> list[Any]:
        return [link.at(link.slopes, state) for link, state in zip(self.links, self._states, strict=False)]

    @functools.cached_property
    def _rate_slopes(self) -> list[Any]:
        return [link.at(link.rate_slopes, self._states[k], self._motion(k)[0]) for k, link in enumerate(self.links)]

    @functools.cached_property
    def _rate_columns(self) -> list[Any]:
        def step(k: int, link: ChainLink, last: Any) -> Any:
            here = casadi().mtimes(self._rate_slopes[k], self._variable_columns(self._columns[k], link))
            return here + casadi().mtimes(self._slopes[k], self._rate_variable_columns(last, link))

        return self._along(casadi().SX(self.start.numel(), self.n), step)

    def _variable_columns(self, columns: Any, link: ChainLink) -> Any:
        return casadi().vertcat(columns, casadi().SX.eye(self.n)[[*range(link.first, link.first + link.count)], :])

    def _rate_variable_columns(self, columns: Any, link: ChainLink) -> Any:
        return casadi().vertcat(columns, casadi().SX(link.count, self.n))

    @property
    def columns(self) -> Any:
        """Derivatives of the state (m x n)."""
        return self._columns[-1]

    @property
    def rate_columns(self) -> Any:
        """Derivatives of its rate (m x n)."""
        return self._rate_columns[-1]

    @functools.cached_property
    def acceleration_columns(self) -> Any:
        """Derivatives of its acceleration (m x n)."""

        def step(k: int, link: ChainLink, last: Any) -> Any:
            bends = link.at(link.acceleration_slopes, self._states[k], *self._motion(k))
            here = casadi().mtimes(bends, self._variable_columns(self._columns[k], link))
            here += 2.0 * casadi().mtimes(self._rate_slopes[k], self._rate_variable_columns(self._rate_columns[k], link))
            return here + casadi().mtimes(self._slopes[k], self._rate_variable_columns(last, link))

        return self._along(casadi().SX(self.start.numel(), self.n), step)[-1]

    # -- of a number -------------------------------------------------------------------------------------------------------

    def _loads(self, load: Any) -> tuple[list[Any], Any]:
        """Return what a load on the state becomes on every state, and on the coordinates (n)."""
        loads, efforts = [load], casadi().SX(self.n, 1)
        for link, state in zip(self.links[::-1], self._states[-2::-1], strict=True):
            pulled, size = link.at(link.gradient, state, load=loads[0]), link.last.numel()
            loads.insert(0, part_of(pulled, 0, size))
            if link.count:
                efforts[link.first : link.first + link.count] += part_of(pulled, size, link.count)
        return loads, efforts

    def gradient(self, load: Any) -> Any:
        """Return the derivatives (n) of ``load . state``."""
        return self._loads(load)[1]

    def hessian(self, load: Any) -> Any:
        """Return the second derivatives (n x n) of ``load . state``."""
        loads, total = self._loads(load)[0], casadi().SX(self.n, self.n)
        for k, link in enumerate(self.links):
            bent = link.at(link.hessian, self._states[k], load=loads[k + 1])
            columns = self._variable_columns(self._columns[k], link)
            total += casadi().mtimes(columns.T, casadi().mtimes(bent, columns))
        return symmetric(total)


def _with_part(last: Any, all_of: Any, link: ChainLink) -> Any:
    """Return a quantity of the last state, and those entries of it for all coordinates that are the link's."""
    return casadi().vertcat(last, part_of(all_of, link.first, link.count))
