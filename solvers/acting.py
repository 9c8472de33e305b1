"""What acts on a compiled model from outside, call by call: wrenches on some ports, and the inputs of actuators and blocks."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any

import numpy as np

from titop.blocks.spatial import Array
from titop.solvers.arguments import is_ready
from titop.solvers.inputs import Place
from titop.solvers.kernels import layout
from titop.solvers.packed import MOST_VARIANTS, PackedModel, real

_FORCES = slice(int(layout.FORCE), int(layout.FORCE) + 6)
_FLOAT = np.dtype(float)


class Acting:
    """The tables of a compiled model on which wrenches at the same ports act in every call, and its inputs or not.

    Parameters
    ----------
    model : PackedModel
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

    def __init__(self, model: PackedModel, ports: tuple[str, ...], driven: bool, closing: bool = False) -> None:
        on_ports = tuple(Place(port, False) for port in model._read_wrenches(dict.fromkeys(ports, np.zeros(6))))
        self._places = model.inputs.places if driven else ()
        own = [str(ref) for loop in model.rigid_loops for ref in (loop.first, loop.second)] if closing else []
        places = on_ports + self._places + tuple(Place(port, False) for port in own)
        loaded = model._loaded_at(places) if places else model
        self._model, self._tables = model, loaded._arrays
        self._loads, self._closing = len(ports) + len(self._places), len(own)
        self._acting = [(model._acting_inputs[name], own) for name, own in model.inputs.acting] if driven else []

    def tables(self, wrenches: Mapping[str, Any] | None, u: Array | None) -> tuple[Array, ...]:
        """Return the tables with `wrenches`, and the inputs `u` on ports and of interactions, in them.

        Raises
        ------
        TypeError
            Where a wrench is not six floats in an array: it has to be read with more care.
        """
        ints, floats, *laws = self._tables
        if self._loads:
            floats, row = floats.copy(), len(floats) - self._loads - self._closing
            for wrench in wrenches.values() if wrenches else ():
                if type(wrench) is not np.ndarray or wrench.dtype is not _FLOAT or wrench.shape != (6,):
                    raise TypeError
                floats[row, _FORCES] = wrench
                row += 1
            if self._places and u is not None:
                floats[row : row + len(self._places), _FORCES] = self._model.inputs.wrenches(u)
        if self._acting and u is not None:
            laws[0] = laws[0].copy()
            for where, own in self._acting:
                laws[0][0, where] += u[own]
        return ints, floats, *laws


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


class ActedOnModel(PackedModel):
    """A compiled model on which wrenches and inputs act, call by call."""

    @cached_property
    def _acting(self) -> Variants:
        """What acts on ports, by the ports with wrenches, whether inputs act, and whether there is room for closures."""
        return Variants(lambda key: Acting(self, *key))

    def _acted_on(
        self, wrenches: Mapping[str, Any] | None, u: Any, q: Any, closing: bool = False
    ) -> tuple[tuple[Array, ...], Array | None]:
        """Return the tables with wrenches and inputs on ports in them, and the efforts (nv) of the other inputs, if any act.

        Raises
        ------
        TypeError
            Where arguments have to be read with more care.
        """
        acting = self._acting[() if wrenches is None else tuple(wrenches), u is not None, closing]
        if u is None:
            return acting.tables(wrenches, None), None
        if self.inputs.own and not is_ready(q, self.nq):
            raise TypeError
        u = real(self.inputs.read(u), "u")
        return acting.tables(wrenches, u), self.inputs.efforts(u, q)
