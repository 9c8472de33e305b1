"""Expressions of coordinates that are computed in links, one after the other, with derivatives that are computed so too.

Link i maps a state s and own coordinates q_i, together z, to the next state ``g(z)``. From derivatives of g by z, which are
few, those by all q follow by matrices (``D = dg/dz``):

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

from titop.blocks.bodies.soft.differentiation import (
    Meaning,
    Symbols,
    forwards,
    holding,
    stacked,
    symbols,
    symmetric,
    work,
    written,
)
from titop.blocks.bodies.soft.optional import casadi
from titop.blocks.bodies.soft.program import Program
from titop.blocks.bodies.soft.soft_fields import DeformationStage, checked_stages


class ChainLink:
    """One map of a chain, and its derivatives as expressions of the last state, and of rates and loads.

    Parameters
    ----------
    last : casadi.SX
        Symbols of the last state.
    own : casadi.SX
        Symbols of the coordinates that it depends on.
    first : int
        Which of all coordinates is the first of these.
    state : casadi.SX
        The next state.
    meant : sequence of Meaning
        What symbols in it stand for once it has been differentiated.
    """

    def __init__(self, last: Any, own: Any, first: int, state: Any, meant: Sequence[Meaning] = ()) -> None:
        self.last, self.first, self.state, self.meant = last, first, state, tuple(meant)
        self.count = own.numel()
        self.variables = casadi().vertcat(last, own)
        size = self.variables.numel()
        self._rate, self._acceleration = symbols("r", size).vector, symbols("a", size).vector
        self._load = symbols("f", state.numel()).vector

    @classmethod
    def of(cls, function: Callable[[Any, Any], Any], size: int, q: Symbols, first: int, count: int) -> ChainLink:
        """Return the link of a function of a state (so many numbers) and of so many coordinates.

        Parameters
        ----------
        function : callable
        size : int
        q : Symbols
            All coordinates.
        first, count : int
        """
        last, own = symbols("y", size), part_of(q.vector, first, count)
        with holding() as held:
            state = stacked(function(last.entries, q.entries[first : first + count]))
        return cls(last.vector, own, first, state, held)

    def primal(self, shared: Symbols) -> Program:
        """Return the link as a program, of what all points share, of its state, and of what symbols in it stand for."""
        meanings = [stacked([]), *(casadi().vec(meaning.symbol) for meaning in self.meant)]
        own, held = (Symbols(vector, np.empty(0)) for vector in (self.last, casadi().vertcat(*meanings)))
        return written([shared, own, held], [], [], [self.state, *(meaning.value for meaning in self.meant)])

    def at(self, expression: Any, last: Any, rate: Any = None, acceleration: Any = None, load: Any = None) -> Any:
        """Return an expression of the link's symbols, with what is given in place of them."""
        expression = self._released(expression)
        given = [(self.last, last), (self._rate, rate), (self._acceleration, acceleration), (self._load, load)]
        known = [(symbol, casadi().densify(value)) for symbol, value in given if value is not None]
        return casadi().substitute([expression], [symbol for symbol, _ in known], [value for _, value in known])[0]

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
        return forwards(self.state, self.variables)

    @functools.cached_property
    def rate_slopes(self) -> Any:
        """``D^2 g z'``."""
        return forwards(self.rate, self.variables)

    @functools.cached_property
    def acceleration_slopes(self) -> Any:
        """``D^2 g z'' + D^3 g z' z'``."""
        return forwards(self.acceleration, self.variables)

    @functools.cached_property
    def pulled(self) -> Any:
        """``D^T f``."""
        summed = casadi().dot(self._load, self.state)
        return self._shorter(casadi().mtimes(self.slopes.T, self._load), casadi().gradient(summed, self.variables))

    @functools.cached_property
    def bent(self) -> Any:
        """``f . D^2 g``."""
        summed, eye = casadi().dot(self._load, self.state), casadi().SX.eye(self.variables.numel())
        second = forwards(casadi().vec(self.slopes), self.variables)
        each = symmetric(casadi().mtimes(casadi().kron(eye, self._load.T), second))
        return self._shorter(each, casadi().hessian(summed, self.variables)[0])

    def _shorter(self, first: Any, second: Any) -> Any:
        """Return that of two equal expressions which is computed faster.

        Derivatives of all numbers, summed with loads, keep apart what depends on the section alone from loads on its points;
        the derivatives of the sum are fewer.
        """
        place = part_of(self.last, 0, min(self.last.numel(), 3))
        along = place[2] if self.is_first and place.numel() else casadi().SX(0, 1)
        beside = part_of(place, 0, 2) if self.is_first and place.numel() else self.last
        given = casadi().vertcat(beside, self._load), along
        return min((first, second), key=lambda expression: work(self._released(expression), *given))

    def _released(self, expression: Any) -> Any:
        for meaning in reversed(self.meant):
            expression = casadi().substitute(expression, meaning.symbol, meaning.value)
        return expression

    @property
    def is_first(self) -> bool:
        """Whether the state before it is a point at rest."""
        return self.first == 0 and self.count > 0

    def stretched(self, count: int = 3) -> ChainLink:
        """Return the link of the state and of what so many directions of the first state become, one after the other."""
        size = self.last.numel()
        directions = [symbols(f"d{k}", size).vector for k in range(count)]
        moved = [casadi().jtimes(self.state, self.last, direction) for direction in directions]
        state = casadi().vertcat(self.state, *moved)
        last, q = casadi().vertcat(self.last, *directions), part_of(self.variables, size, self.count)
        return ChainLink(last, q, self.first, state, self.meant)

    def tripled(self) -> ChainLink:
        """Return the link of three states, one after the other."""
        size, states, meant = self.last.numel(), list[Any](), list[Meaning]()
        q, places = part_of(self.variables, size, self.count), [symbols(f"y{k}", size).vector for k in range(3)]
        for place in places:
            known, values = [self.last], [place]
            for meaning in self.meant:
                own = casadi().SX.sym("h", meaning.symbol.numel())
                meant.append(Meaning(own, casadi().substitute([meaning.value], known, values)[0]))
                known, values = [*known, meaning.symbol], [*values, own]
            states += casadi().substitute([self.state], known, values)
        return ChainLink(casadi().vertcat(*places), q, self.first, casadi().vertcat(*states), meant)


def kinematic_links(kinematics: Callable[..., Any], q: Symbols, numbers: Any) -> list[ChainLink]:
    """Return the links by which kinematics place a point.

    Parameters
    ----------
    kinematics : callable
    q : Symbols
    numbers : object
        What it is told.
    """

    def link(stage: DeformationStage) -> ChainLink:
        return ChainLink.of(lambda x, own: stage.function(x, own, numbers), 3, q, stage.first, stage.size)

    return [link(stage) for stage in checked_stages(kinematics, len(q.entries))]


def part_of(column: Any, first: int, count: int) -> Any:
    """Return some entries of a column of CasADi's."""
    return column[[*range(first, first + count)]] if count else casadi().SX(0, 1)


class Chain:
    """What links compute, one after the other.

    Parameters
    ----------
    links : sequence of ChainLink
    start : casadi.SX
        The first state.
    q, v, a : casadi.SX
        All coordinates (n), their rates and accelerations; without the last, as if they were zero.
    """

    def __init__(self, links: Sequence[ChainLink], start: Any, q: Any, v: Any, a: Any = None) -> None:
        self.links, self.n = tuple(links), q.numel()
        self.start, self._v, self._a = start, v, casadi().SX(self.n, 1) if a is None else a

    @functools.cached_property
    def _states(self) -> list[Any]:
        found = [self.start]
        for link in self.links:
            found.append(link.at(link.state, found[-1]))
        return found

    @functools.cached_property
    def _rates(self) -> list[Any]:
        found = [casadi().SX(*self.start.shape)]
        for link, state in zip(self.links, self._states, strict=False):
            found.append(link.at(link.rate, state, self._with_own(found[-1], self._v, link)))
        return found

    @functools.cached_property
    def _accelerations(self) -> list[Any]:
        found = [casadi().SX(*self.start.shape)]
        for k, link in enumerate(self.links):
            found.append(link.at(link.acceleration, self._states[k], *self._moved(k, found[-1])))
        return found

    def _with_own(self, last: Any, own: Any, link: ChainLink) -> Any:
        return casadi().vertcat(last, part_of(own, link.first, link.count))

    def _moved(self, k: int, last: Any = None) -> tuple[Any, Any]:
        """Return rates and accelerations of the variables of a link."""
        link, last = self.links[k], self._accelerations[k] if last is None else last
        return self._with_own(self._rates[k], self._v, link), self._with_own(last, self._a, link)

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
        found = [casadi().SX(self.start.numel(), self.n)]
        for link, slopes in zip(self.links, self._slopes, strict=True):
            found.append(casadi().mtimes(slopes, self._all(found[-1], link)))
        return found

    @functools.cached_property
    def _slopes(self) -> list[Any]:
        return [link.at(link.slopes, state) for link, state in zip(self.links, self._states, strict=False)]

    @functools.cached_property
    def _rate_slopes(self) -> list[Any]:
        return [link.at(link.rate_slopes, self._states[k], self._moved(k)[0]) for k, link in enumerate(self.links)]

    @functools.cached_property
    def _rate_columns(self) -> list[Any]:
        found = [casadi().SX(self.start.numel(), self.n)]
        for k, link in enumerate(self.links):
            here = casadi().mtimes(self._rate_slopes[k], self._all(self._columns[k], link))
            found.append(here + casadi().mtimes(self._slopes[k], self._none(found[-1], link)))
        return found

    def _all(self, columns: Any, link: ChainLink) -> Any:
        """Return derivatives of all variables of a link."""
        return casadi().vertcat(columns, casadi().SX.eye(self.n)[[*range(link.first, link.first + link.count)], :])

    def _none(self, columns: Any, link: ChainLink) -> Any:
        """Return derivatives of rates of all variables of a link."""
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
        found = casadi().SX(self.start.numel(), self.n)
        for k, link in enumerate(self.links):
            bends = link.at(link.acceleration_slopes, self._states[k], *self._moved(k))
            here = casadi().mtimes(bends, self._all(self._columns[k], link))
            here += 2.0 * casadi().mtimes(self._rate_slopes[k], self._none(self._rate_columns[k], link))
            found = here + casadi().mtimes(self._slopes[k], self._none(found, link))
        return found

    # -- of a number -------------------------------------------------------------------------------------------------------

    def _loads(self, load: Any) -> tuple[list[Any], list[Any]]:
        """Return what a load on the state becomes on every state, and on the own coordinates of every link."""
        loads, own = [load], list[Any]()
        for k, link in reversed([*enumerate(self.links)]):
            pulled = link.at(link.pulled, self._states[k], load=loads[0])
            size = link.last.numel()
            loads.insert(0, part_of(pulled, 0, size))
            own.insert(0, part_of(pulled, size, link.count))
        return loads, own

    def pulled(self, load: Any) -> Any:
        """Return the derivatives (n) of ``load . state``."""
        total = casadi().SX(self.n, 1)
        for link, own in zip(self.links, self._loads(load)[1], strict=True):
            total += casadi().vertcat(casadi().SX(link.first, 1), own, casadi().SX(self.n - link.first - link.count, 1))
        return total

    def bent(self, load: Any) -> Any:
        """Return the second derivatives (n x n) of ``load . state``."""
        loads, total = self._loads(load)[0], casadi().SX(self.n, self.n)
        for k, link in enumerate(self.links):
            bent = link.at(link.bent, self._states[k], load=loads[k + 1])
            moved = self._all(self._columns[k], link)
            total += casadi().mtimes(moved.T, casadi().mtimes(bent, moved))
        return symmetric(total)
