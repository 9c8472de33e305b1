"""Signals of linear fractional models and of their channels: by label, by name or by that of a vector, made unlike others."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Protocol

from titop.blocks.basics.errors import Finding, ModelError, did_you_mean
from titop.solvers.lft.fractions.delta_blocks import DeltaBlock
from titop.solvers.signals.exported import Signal, exported, stems

if TYPE_CHECKING:
    from control import StateSpace


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
