"""What acts on a compiled model from outside, call by call: wrenches on some ports, and the inputs of actuators and blocks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from titop.blocks.spatial import Array
from titop.solvers.inputs import Place
from titop.solvers.kernels import layout

if TYPE_CHECKING:
    from titop.solvers.packed import PackedModel

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

    Raises
    ------
    ModelError
        For an unknown port.
    """

    def __init__(self, model: PackedModel, ports: tuple[str, ...], driven: bool) -> None:
        on_ports = tuple(Place(port, False) for port in model._read_wrenches(dict.fromkeys(ports, np.zeros(6))))
        self._places = model.inputs.places if driven else ()
        loaded = model._loaded_at(on_ports + self._places) if ports or self._places else model
        self._model, self._tables = model, loaded._arrays
        self._loads = len(ports) + len(self._places)
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
            floats, row = floats.copy(), -self._loads
            for wrench in wrenches.values() if wrenches else ():
                if type(wrench) is not np.ndarray or wrench.dtype is not _FLOAT or wrench.shape != (6,):
                    raise TypeError
                floats[row, _FORCES] = wrench
                row += 1
            if self._places and u is not None:
                floats[-len(self._places) :, _FORCES] = self._model.inputs.wrenches(u)
        if self._acting and u is not None:
            laws[0] = laws[0].copy()
            for where, own in self._acting:
                laws[0][0, where] += u[own]
        return ints, floats, *laws
