"""Inversion of channels of linear systems: an output becomes an input, and its input the output."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from titop.blocks.basics.errors import Finding, ModelError, did_you_mean
from titop.blocks.basics.ranks import decided_rank
from titop.blocks.basics.tolerances import SINGULAR
from titop.solvers.linear.state_space import is_state_space, named_signals, named_system, port_labels
from titop.solvers.signals.exported import exported_name, stems
from titop.solvers.signals.grammar import read_names

if TYPE_CHECKING:
    from control import StateSpace


def invert_channels(system: StateSpace, channels: Sequence[Any] | str) -> StateSpace:
    """Return a linear system with some channels inverted.

    With the inverted channels last, ``y2 = C2 x + D21 u1 + D22 u2`` is solved for u2, which takes the place of y2. Inverting
    the parent port of a TITOP block frees it there, inverting a child port clamps it, inverting one component pins it (Alazard,
    Finozzi and Sanfedino, Multibody System Dynamics 57(3), 2023).

    Parameters
    ----------
    system : control.StateSpace
    channels : sequence of str or (input, output)
        Pairs of signals; or a common path of inputs and outputs, in equal number and order: ``"arm.P"`` stands for
        ``arm.P.dV[0..5]`` and ``arm.P.W[0..5]`` (not for a coordinate ``arm.P_x``), ``"hinge"`` for ``hinge`` and ``hinge.a``.
        Dots may be underscores.

    Returns
    -------
    control.StateSpace
        The same states; the signals of the inverted channels have changed sides.

    Raises
    ------
    ModelError
        For unknown signals, none at all, and when the channels' feedthrough is singular.

    Examples
    --------
    >>> import control, titop as tt
    >>> mass = control.StateSpace([[0.0]], [[0.5]], [[0.0]], [[0.5]], inputs=["force"], outputs=["acceleration"])
    >>> inverse = tt.invert_channels(mass, [("force", "acceleration")])
    >>> inverse.input_labels, inverse.output_labels, inverse.D.tolist()
    (['acceleration'], ['force'], [[2.0]])
    """
    if not is_state_space(system):
        advice = "pass what tt.linearize or tt.block_system returns"
        raise ModelError(Finding("wrong-type", "system", system, "a linear model with named signals", advice))
    if not (given := read_names("channels", channels)):
        advice = "name a common path of inputs and outputs, or pairs (input, output)"
        raise ModelError(Finding("no-channel", "channels", channels, "one channel at least", advice))
    pairs = [pair for channel in given for pair in _pairs(system, channel)]
    ins, outs = (np.array([labels.index(pair[k]) for pair in pairs], dtype=int) for k, labels in enumerate(port_labels(system)))
    for side, positions, labels in zip(("input", "output"), (ins, outs), port_labels(system), strict=True):
        if len(set(positions)) < len(positions):
            twice = next(labels[k] for k in positions if (positions == k).sum() > 1)
            raise ModelError(Finding("duplicate-channel", "channels", twice, f"each {side} once", "leave one out"))
    feedthrough = system.D[np.ix_(outs, ins)]
    sizes = np.linalg.svd(feedthrough, compute_uv=False)
    if (rank := decided_rank(sizes, SINGULAR * sizes[0])) < len(sizes):
        got = f"feedthrough of rank {rank} of {len(sizes)}"
        advice = "only channels whose output follows its input at once can be inverted: forces and accelerations"
        raise ModelError(Finding("singular-channel", "channels", got, "an invertible feedthrough", advice))
    inverse = np.linalg.inv(feedthrough)
    n = system.nstates
    whole = np.block([[system.A, system.B], [system.C, system.D]])
    columns, rows = whole[:, n + ins] @ inverse, inverse @ whole[n + outs]
    whole = whole - columns @ whole[n + outs]
    whole[n + outs], whole[:, n + ins] = -rows, columns
    whole[np.ix_(n + outs, n + ins)] = inverse
    matrices = whole[:n, :n], whole[:n, n:], whole[n:, :n], whole[n:, n:]
    states, inputs, outputs = named_signals(system)
    for k, j in zip(ins, outs, strict=True):
        inputs[k], outputs[j] = outputs[j], inputs[k]
    return named_system(matrices, states, inputs, outputs, system.name, float(system.dt or 0.0))


def _pairs(system: StateSpace, channel: Any) -> list[tuple[str, str]]:
    """Return the pairs of signals that a channel stands for."""
    inputs, outputs = port_labels(system)
    if isinstance(channel, tuple | list) and len(channel) == 2 and all(isinstance(name, str) for name in channel):
        pair = exported_name(channel[0]), exported_name(channel[1])
        for name, labels in zip(pair, (inputs, outputs), strict=True):
            if name not in labels:
                raise ModelError(
                    Finding("unknown-channel", "channels", name, "a signal of the system", did_you_mean(name, labels))
                )
        return [pair]
    found: list[list[str]] = [[], []]
    if isinstance(channel, str):
        table = getattr(system, "signals", {})
        found = [
            [label for label in labels if exported_name(channel) in stems(table[label].path if label in table else label)]
            for labels in (inputs, outputs)
        ]
    if not found[0] or len(found[0]) != len(found[1]):
        counts = f"{channel!r}: {len(found[0])} inputs, {len(found[1])} outputs"
        advice = f"give pairs such as ({inputs[0] if inputs else ''!r}, {outputs[0] if outputs else ''!r})"
        raise ModelError(Finding("unknown-channel", "channels", counts, "as many inputs as outputs, one at least", advice))
    return list(zip(*found, strict=True))
