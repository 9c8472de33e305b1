"""Leaving out states on which nothing depends.

Soft coordinates stand beside stiff ones, so that the size of an entry does not tell whether it is zero. A small one is looked
at again at points nearby, as far away as equilibria are known: what is rounding, or due to the point's own error, changes by as
much as it is; a dependence stays.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from titop.blocks.basics.errors import Finding, ModelError
from titop.blocks.basics.spatial import Array
from titop.solvers.linear.readings import Reading
from titop.solvers.linear.signals import Signal, coordinates_of, read_names, unknown_name

if TYPE_CHECKING:
    from titop.solvers.model.model import Model

#: An entry below this part of its row, or that part of the whole matrix, is small: it may be zero.
_OF_ROW, _OF_ALL = 1e-9, 1e-12

#: A small entry is zero where it is below this part of the whole matrix (some units of rounding), or where it is no larger
#: than so many times its change nearby.
_ROUNDING, _CHANGES = 16 * float(np.finfo(float).eps), 8.0


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
    states: Array,
    matrices: tuple[Array, Array],
    signals: Sequence[Signal],
    omitted: Array,
    readings: Sequence[Reading],
    nearby: Callable[[Array], Sequence[tuple[Array, Array]]],
) -> Array:
    """Return the positions of the states that remain, at all of stacked points.

    Parameters
    ----------
    states : (x,) int array
        Entries of ``[dq; dv]``.
    matrices : (n, x, x) and (n, outputs, x) arrays
        A and C.
    signals : sequence of Signal
        Of all entries.
    omitted : int array
        Entries to leave out.
    readings : sequence of Reading
    nearby : callable
        From the numbers (m) of points to the same matrices (m, ...) at points next to them, several times.

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
    rows = matrices[0][:, kept], matrices[1]
    depends, open_ = (list(parts) for parts in zip(*(_judged(part, out) for part in rows), strict=True))
    again = np.flatnonzero(open_[0].any(axis=(1, 2)) | open_[1].any(axis=(1, 2)))
    if again.size:
        others = [(A[:, kept], C) for A, C in nearby(again)]
        for k, part in enumerate(rows):
            changes = np.max([np.abs(other[k] - part[again]) for other in others], axis=0)
            depends[k][again] |= open_[k][again] & (np.abs(part[again]) > _CHANGES * changes)
    for found, kind, who in zip(depends, ("rate of state", "output"), (names, outputs), strict=True):
        if found.any():
            _, row, column = (int(x[0]) for x in np.nonzero(found))
            path = signals[states[column]].path
            advice = f"the {kind} {who[row]!r} depends on {path!r}: keep it" + _angle_alone(path)
            raise ModelError(Finding("not-omissible", "omit", path, "a coordinate on which nothing depends", advice))
    return kept


def _judged(rows: Array, out: Array) -> tuple[Array, Array]:
    """Return which entries of omitted columns are dependences, and which have to be looked at again."""
    sizes = np.abs(rows)
    largest = sizes.max(initial=0.0)
    small = sizes <= _OF_ROW * sizes.max(axis=2, keepdims=True, initial=0.0) + _OF_ALL * largest
    return ~small & out, small & out & (sizes > _ROUNDING * largest)


def _angle_alone(path: str) -> str:
    return f", or omit {path[:-2] + '.q'!r} alone" if path.endswith(".v") else ""
