"""What acts on a compiled model from outside, call by call: wrenches on some ports, and the inputs of actuators and blocks."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np

from titop.blocks.basics.spatial import Array
from titop.solvers.arguments.reading import is_ready, read_wrenches
from titop.solvers.engines.compiled.packed import MOST_VARIANTS, PackedSystem
from titop.solvers.kernels.entries import dynamics_entries
from titop.solvers.kernels.interface import layout
from titop.solvers.mechanism.fast_path import real_only
from titop.solvers.mechanism.inputs import Inputs, Place

#: Tables of their own, kernels bound to them, what puts wrenches on ports into them, and the wrenches of inputs in them.
_Room = tuple[tuple[Array, ...], dict[Any, Any], list[Any], Array]

#: How many kernels are kept bound to a set of tables.
_MOST_CALLS = 8
_FORCES = slice(int(layout.FORCE), int(layout.FORCE) + 6)


class Acting:
    """Calls of a compiled model on which wrenches at the same ports act in every call, and its inputs or not.

    Tables with loads in them are kept from call to call, one set for each call that is on its way.

    Parameters
    ----------
    system : PackedSystem
    inputs : Inputs
    ports : sequence of str
    driven : bool
        Whether inputs act.
    closing : bool
        Whether the tables get room for what the rigid closures do to their ports: the last loads.

    Raises
    ------
    ModelError
        For an unknown port.
    """

    def __init__(
        self, system: PackedSystem, inputs: Inputs, ports: tuple[str, ...], driven: bool, closing: bool = False
    ) -> None:
        known = read_wrenches(dict.fromkeys(ports, np.zeros(6)), system.mechanism.ports)
        places = inputs.places if driven else ()
        own = [str(ref) for loop in system.mechanism.rigid_loops for ref in (loop.first, loop.second)] if closing else []
        loads = (*(Place(port, False) for port in known), *places, *(Place(port, False) for port in own))
        loaded = system.loaded_at(loads) if loads else system
        self._tables, self._inputs = loaded.arrays, inputs
        self._count, self._driven, self._loads = len(ports), len(places), len(loads)
        acting = [(system.acting_inputs[name], own) for name, own in inputs.acting] if driven else []
        #: Where the inputs of interactions stand among the numbers and among the inputs, and what rests there.
        self._places = np.array([k for place, _ in acting for k in range(place.start, place.stop)], dtype=int)
        self._columns = np.array([k for _, own in acting for k in range(own.start, own.stop)], dtype=int)
        self._resting = self._tables[2][0, self._places] if acting else np.zeros(0)
        self._rooms: list[_Room] = []

    def run(self, bound: Any, wrenches: Mapping[str, Any] | None, u: Array | None, *arguments: Any, often: bool = True) -> int:
        """Call a kernel with `wrenches`, and the inputs `u` on ports and of interactions, in its tables; return its status.

        Parameters
        ----------
        bound : functools.partial
            Of the kernel, whose last arguments are the model's tables.
        wrenches : mapping of port name to (6,) array
        u : (nu,) array
        *arguments
            What the kernel takes behind its tables.
        often : bool
            Whether this kernel will be asked for again.

        Raises
        ------
        TypeError
            Where a wrench is not six floats in an array: it has to be read with more care.
        """
        try:
            room = self._rooms.pop()  # nobody else has it until it is back
        except IndexError:
            room = self._new_room()
        tables, calls, puts, driven = room
        if wrenches:
            for put, wrench in zip(puts, wrenches.values(), strict=False):
                if put(wrench) != layout.OK:
                    raise TypeError
        if u is not None:
            if self._driven:
                driven[:] = self._inputs.wrenches(u)
            if len(self._places):
                tables[2][0, self._places] = self._resting + u[self._columns]
        call = calls.get(bound)
        if call is None:
            call = partial(bound.func, *bound.args[: -len(tables)], *tables)
            if often:
                if len(calls) == _MOST_CALLS:
                    calls.clear()
                calls[bound] = call
        status: int = call(*arguments)
        self._rooms.append(room)
        return status

    def _new_room(self) -> _Room:
        ints, floats, *laws = self._tables
        if self._loads:
            floats = floats.copy()
        if len(self._places):
            laws[0] = laws[0].copy()
        first = len(floats) - self._loads
        driven = floats[first + self._count : first + self._count + self._driven, _FORCES]
        puts = [partial(dynamics_entries.put_wrench.compiled, floats, first + k) for k in range(self._count)]
        return (ints, floats, *laws), {}, puts, driven


class Variants(dict[Any, Any]):
    """What is made for a key when it is first asked for, of some keys at a time."""

    def __init__(self, make: Callable[[Any], Any]) -> None:
        super().__init__()
        self._make = make

    def __missing__(self, key: Any) -> Any:
        if len(self) == MOST_VARIANTS:
            self.clear()
        self[key] = made = self._make(key)
        return made


class ActedOn:
    """What acts on a system from outside, call by call.

    Parameters
    ----------
    system : PackedSystem
    inputs : Inputs
    """

    def __init__(self, system: PackedSystem, inputs: Inputs) -> None:
        self.system, self._inputs, self._nq = system, inputs, system.mechanism.nq
        self._acting = Variants(lambda key: Acting(system, inputs, *key))

    def by(
        self, wrenches: Mapping[str, Any] | None, u: Any, q: Any, closing: bool = False
    ) -> tuple[Acting, Array | None, Array | None]:
        """Return what acts on ports, the inputs, and the efforts (nv) of those that act along coordinates, if any act.

        Raises
        ------
        TypeError
            Where arguments have to be read with more care.
        """
        acting = self._acting[() if wrenches is None else tuple(wrenches), u is not None, closing]
        if u is None:
            return acting, None, None
        if self._inputs.own and not is_ready(q, self._nq):
            raise TypeError
        u = real_only(self._inputs.read(u), "u")
        return acting, u, self._inputs.efforts(u, q)

    def by_derived(self, wrenches: Mapping[str, Any] | None, u: Any, q: Any) -> tuple[Acting, Array | None, Array | None]:
        """Return that for derivatives, which leave room for closures, and out what inputs of blocks change with q.

        Raises
        ------
        TypeError
            Where arguments have to be read with more care.
        """
        if u is not None and self._inputs.own:
            raise TypeError
        return self.by(wrenches, u, q, closing=True)
