"""What acts on a compiled model from outside, call by call: wrenches on some ports, and the inputs of actuators and blocks."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from titop.blocks.spatial import Array
from titop.solvers.inputs import Place
from titop.solvers.kernels import entries, layout

if TYPE_CHECKING:
    from titop.solvers.packed import PackedModel

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
    model : PackedModel
    ports : sequence of str
    driven : bool
        Whether inputs act.

    Raises
    ------
    ModelError
        For an unknown port.
    """

    def __init__(self, model: PackedModel, ports: tuple[str, ...], driven: bool) -> None:
        on_ports = tuple(Place(port, False) for port in model._read_wrenches(dict.fromkeys(ports, np.zeros(6))))
        places = model.inputs.places if driven else ()
        loaded = model._loaded_at(on_ports + places) if ports or places else model
        self._tables, self._inputs = loaded._arrays, model.inputs
        self._count, self._driven = len(ports), len(places)
        self._acting = [(model._acting_inputs[name], own) for name, own in model.inputs.acting] if driven else []
        self._rooms: list[_Room] = []

    def run(self, bound: Any, wrenches: Mapping[str, Any] | None, u: Array | None, arguments: tuple[Any, ...]) -> int:
        """Call a kernel with `wrenches`, and the inputs `u` on ports and of interactions, in its tables; return its status.

        Parameters
        ----------
        bound : functools.partial
            Of the kernel, whose last arguments are the model's tables.
        wrenches : mapping of port name to (6,) array
        u : (nu,) array
        arguments : tuple
            What the kernel takes behind its tables.

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
            for where, own in self._acting:
                tables[2][0, where] = self._tables[2][0, where] + u[own]
        call = calls.get(bound)
        if call is None:
            if len(calls) == _MOST_CALLS:
                calls.clear()
            call = calls[bound] = partial(bound.func, *bound.args[: -len(tables)], *tables)
        status: int = call(*arguments)
        self._rooms.append(room)
        return status

    def _new_room(self) -> _Room:
        ints, floats, *laws = self._tables
        if loads := self._count + self._driven:
            floats = floats.copy()
        if self._acting:
            laws[0] = laws[0].copy()
        first = len(floats) - loads
        puts = [partial(entries.put_wrench.compiled, floats, first + k) for k in range(self._count)]
        return (ints, floats, *laws), {}, puts, floats[first + self._count :, _FORCES]
