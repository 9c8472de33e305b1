"""Signals of linear fractional models, their channels and gains: by label, by name, or by that of a vector or an owner."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Protocol

import numpy as np

from titop.blocks.basics.errors import Finding, ModelError, did_you_mean
from titop.blocks.basics.paths import parts_of
from titop.solvers.lft.delta_blocks import DeltaBlock
from titop.solvers.lft.fractions import Fractional
from titop.solvers.signals.exported import Signal, exported, stems

if TYPE_CHECKING:
    from control import StateSpace

#: Last part of the names of gains.
GAIN = "gain"
#: Names of the gains of inputs and of outputs, None where there is none.
Gains = tuple[list[str | None], list[str | None]]


class Connectable(Protocol):
    """A linear fractional model."""

    @property
    def M(self) -> StateSpace: ...
    @property
    def blocks(self) -> tuple[DeltaBlock, ...]: ...
    @property
    def channels(self) -> tuple[int, int]: ...


def signals_of(M: StateSpace) -> tuple[list[Signal], list[Signal], list[Signal]]:
    """Return states, inputs and outputs of a named system."""
    table = getattr(M, "signals", {})
    groups = M.state_labels, M.input_labels, M.output_labels
    states, inputs, outputs = ([table.get(label, Signal(label, "")) for label in labels] for labels in groups)
    return states, inputs, outputs


def unlike(signals: Iterable[Signal], known: Iterable[Signal]) -> list[Signal]:
    """Return signals, those renamed whose names others have."""
    taken, result = {signal.name for signal in known}, []
    for signal in signals:
        path, count = signal.path, 1
        while exported(path) in taken:
            count += 1
            path = f"{signal.path}_{count}"
        taken.add(exported(path))
        result.append(Signal(path, signal.unit))
    return result


def positions(where: str, names: Sequence[str], known: Sequence[Signal]) -> list[int]:
    """Return where signals stand among others; the name of a vector stands for all of its entries.

    Raises
    ------
    ModelError
        For names that are unknown, or there twice.
    """
    result: list[int] = []
    labels = [signal.name for signal in known]
    for name in names:
        found = [labels.index(exported(str(name)))] if exported(str(name)) in labels else []
        found = found or [k for k, signal in enumerate(known) if exported(str(name)) in stems(signal.path)]
        if not found:
            advice = did_you_mean(name, labels)
            raise ModelError(Finding("unknown-signal", where, name, "a signal of the model", advice))
        if set(found) & set(result) or len(found) > len(set(found)):
            raise ModelError(Finding("given-twice", where, name, "each signal once", "leave one out"))
        result += found
    return result


def channel_signals(blocks: Sequence[DeltaBlock]) -> tuple[list[Signal], list[Signal]]:
    """Return the signals w and z of blocks."""
    w = [Signal(f"{block.name}.w[{k}]", "1") for block in blocks for k in range(block.repetitions)]
    return w, [Signal(f"{block.name}.z[{k}]", "1") for block in blocks for k in range(block.columns)]


def real_fraction(M: StateSpace, blocks: Sequence[DeltaBlock]) -> Fractional:
    """Return a model as a fraction in its real deltas, then 1/s or 1/z; its other blocks are zero."""
    real = [b.kind == "real" for b in blocks]
    w, z = np.repeat(real, [b.repetitions for b in blocks]), np.repeat(real, [b.columns for b in blocks])
    of, to = np.flatnonzero(w), np.flatnonzero(z)
    u, y = np.arange(len(w), M.ninputs), np.arange(len(z), M.noutputs)
    A = np.block([[M.D[np.ix_(to, of)], M.C[to]], [M.B[:, of], M.A]])
    B, C = np.vstack([M.D[np.ix_(to, u)], M.B[:, u]]), np.hstack([M.D[np.ix_(y, of)], M.C[y]])
    sizes = *(block.repetitions for block in blocks if block.kind == "real"), M.nstates
    return Fractional(A, B, C, M.D[np.ix_(y, u)], sizes)


def slices(sizes: Sequence[int]) -> list[slice]:
    """Return where parts of some sizes stand one after the other."""
    return [slice(a, b) for a, b in pairwise(np.cumsum([0, *sizes]).tolist())]


def gains_of(names: Collection[str], inputs: Sequence[str], outputs: Sequence[str]) -> Gains:
    """Return which of some names is the gain of each input and output, by their paths.

    What is called as a signal is that signal's gain alone; else it is that of a vector's entries, or of all that an owner has,
    unless these have gains of their own.

    Raises
    ------
    ModelError
        For names that stand for inputs and outputs at once.
    """
    signals = {*inputs, *outputs}
    of_inputs, of_outputs = ([_gain_of(path, names, signals) for path in paths] for paths in (inputs, outputs))
    for name in sorted({name for name in of_inputs if name} & {name for name in of_outputs if name}):
        found = [
            f"{path}.{GAIN}" for path, own in zip([*inputs, *outputs], [*of_inputs, *of_outputs], strict=True) if own == name
        ]
        got, expected = "the gain of inputs and outputs at once", "that of inputs alone or of outputs alone"
        advice = f"it could be {', '.join(dict.fromkeys(found))}: name one of these, or several as a tuple"
        raise ModelError(Finding("ambiguous-gain", f"parameters[{name!r}]", got, expected, advice))
    return of_inputs, of_outputs


def _gain_of(path: str, names: Collection[str], signals: Collection[str]) -> str | None:
    """Return the name that is the gain of a signal: its own, its vector's, its owner's; None where there is none."""
    own = parts_of(path.split("[")[0])
    wider = [".".join(own[:k]) for k in range(len(own), 0, -1)]
    stems = [path, *(stem for stem in wider if stem not in signals)]
    return next((f"{stem}.{GAIN}" for stem in stems if f"{stem}.{GAIN}" in names), None)
