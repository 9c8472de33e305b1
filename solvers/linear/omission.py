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
from titop.blocks.basics.paths import split_end
from titop.blocks.basics.spatial import Array
from titop.solvers.linear.system_outputs import SystemOutputs
from titop.solvers.signals.exported import Signal
from titop.solvers.signals.grammar import STATE, read_name, read_names
from titop.solvers.signals.quantities import Kind

if TYPE_CHECKING:
    from titop.solvers.model.model import Model

#: An entry below this part of its row, or that part of the whole matrix, is small: it may be zero.
_OF_ROW, _OF_ALL = 1e-9, 1e-12

#: A small entry is zero where it is below this part of its row (some units of rounding), or where it is no larger than so many
#: times its change nearby.
_ROUNDING, _CHANGES = 16 * float(np.finfo(float).eps), 8.0


def read_omitted(model: Model, omit: Any) -> Array:
    """Return the entries of ``[dq; dv; dx]`` that names stand for: coordinates, or with ``.q`` and ``.v`` their parts.

    Raises
    ------
    ModelError
        For unknown names.
    """
    nv = model.nv
    starts = {Kind.POSITION: (0,), Kind.RATE: (nv,), Kind.STATE: (0, nv), Kind.OWN_STATE: (2 * nv,)}
    found = [read_name(model, STATE, name) for name in read_names("omit", omit)]
    entries = [start + k for of in found for start in starts[of.kind] for k in of.entries]
    return np.unique(np.array(entries, dtype=int))


def kept_states(
    states: Array,
    matrices: tuple[Array, Array],
    signals: Sequence[Signal],
    omitted: Array,
    system_outputs: Sequence[SystemOutputs],
    nearby: Callable[[Array], Sequence[tuple[Array, Array]]],
) -> Array:
    """Return the positions of the states that remain, at all of stacked points.

    Parameters
    ----------
    states : (x,) int array
        Entries of ``[dq; dv; dx]``.
    matrices : (n, x, x) and (n, outputs, x) arrays
        A and C.
    signals : sequence of Signal
        Of all entries.
    omitted : int array
        Entries to leave out.
    system_outputs : sequence of SystemOutputs
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
    outputs = [signal.path for group in system_outputs for signal in group.signals]
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
            advice = f"the {kind} {who[row]!r} depends on {path!r}: keep it"
            coordinate, end = split_end(path)
            if end == "v":
                advice += f", or omit {coordinate + '.q'!r} alone"
            raise ModelError(Finding("not-omissible", "omit", path, "a coordinate on which nothing depends", advice))
    return kept


def _judged(rows: Array, out: Array) -> tuple[Array, Array]:
    """Return which entries of omitted columns are dependences, and which have to be looked at again."""
    sizes = np.abs(rows)
    beside = sizes.max(axis=2, keepdims=True, initial=0.0)
    small = sizes <= _OF_ROW * beside + _OF_ALL * sizes.max(initial=0.0)
    return ~small & out, small & out & (sizes > _ROUNDING * beside)
