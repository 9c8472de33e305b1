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
        self._model, self._tables, self._floats = model, loaded._arrays, loaded._floats
        self._loads = len(ports) + len(self._places)

    def tables(self, wrenches: Mapping[str, Any] | None, u: Array | None) -> tuple[Array, ...]:
        """Return the tables with `wrenches` and the inputs `u` on ports in them.

        Raises
        ------
        TypeError
            Where a wrench is not six floats in an array: it has to be read with more care.
        """
        if self._loads == 0:
            return self._tables
        floats, row = self._floats.copy(), -self._loads
        for wrench in wrenches.values() if wrenches else ():
            if type(wrench) is not np.ndarray or wrench.dtype is not _FLOAT or wrench.shape != (6,):
                raise TypeError
            floats[row, _FORCES] = wrench
            row += 1
        if self._places and u is not None:
            floats[-len(self._places) :, _FORCES] = self._model.inputs.wrenches(u)
        return self._tables[0], floats, *self._tables[2:]
