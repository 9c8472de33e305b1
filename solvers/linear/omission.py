"""Leaving out states on which nothing depends."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from titop.blocks.errors import Finding, ModelError
from titop.blocks.spatial import Array
from titop.solvers.linear.readings import Reading
from titop.solvers.linear.signals import Signal, coordinates_of, read_names, unknown_name

if TYPE_CHECKING:
    from titop.solvers.model import Model

#: An entry below this part of its row, or that part of the whole matrix, counts as zero.
_OF_ROW, _OF_ALL = 1e-9, 1e-12


def read_omitted(model: Model, omit: Any) -> Array:
    """Return the entries of ``[dq; dv]`` that names stand for: coordinates, or with ``.q`` and ``.v`` their parts.

    Raises
    ------
    ModelError
        For unknown names.
    """
    entries: list[int] = []
    for name in read_names("omit", omit):
        parts: tuple[int, ...] = (0, model.nv)
        where = coordinates_of(model, name) if isinstance(name, str) else None
        if where is None and isinstance(name, str) and name.endswith((".q", ".v")):
            where, parts = coordinates_of(model, name[:-2]), (0,) if name.endswith(".q") else (model.nv,)
        if where is None:
            known = [*model.assembly.v_slices, *model.coordinate_names]
            raise unknown_name("coordinate", name, "a coordinate to omit", [*known, *(f"{one}.q" for one in known)])
        entries += [start + k for start in parts for k in where]
    return np.unique(np.array(entries, dtype=int))


def kept_states(
    states: Array, A: Array, C: Array, signals: Sequence[Signal], omitted: Array, readings: Sequence[Reading]
) -> Array:
    """Return the positions of the states that remain, at all of stacked points.

    Parameters
    ----------
    states : (x,) int array
        Entries of ``[dq; dv]``.
    A, C : (n, x, x), (n, outputs, x) arrays
    signals : sequence of Signal
        Of all entries.
    omitted : int array
        Entries to leave out.
    readings : sequence of Reading

    Raises
    ------
    ModelError
        Naming the state or output that depends on one that was to be omitted, and omitted entries that are no states.
    """
    strange = np.setdiff1d(omitted, states)
    if strange.size:
        path = signals[strange[0]].path
        raise ModelError(Finding("no-state", "omit", path, "a state of the model", "it is held, or follows from others"))
    out = np.isin(states, omitted)
    kept = np.flatnonzero(~out)
    names = [signals[k].path for k in states[kept]]
    outputs = [signal.path for reading in readings for signal in reading.signals]
    for rows, kind, who in ((A[:, kept], "rate of state", names), (C, "output", outputs)):
        size = np.abs(rows).max(axis=2, keepdims=True, initial=0.0)
        depends = np.abs(rows) > _OF_ROW * size + _OF_ALL * np.abs(rows).max(initial=0.0)
        depends[:, :, kept] = False
        if depends.any():
            _, row, column = (int(x[0]) for x in np.nonzero(depends))
            path = signals[states[column]].path
            advice = f"the {kind} {who[row]!r} depends on {path!r}: keep it" + _angle_alone(path)
            raise ModelError(Finding("not-omissible", "omit", path, "a coordinate on which nothing depends", advice))
    return kept


def _angle_alone(path: str) -> str:
    return f", or omit {path[:-2] + '.q'!r} alone" if path.endswith(".v") else ""
