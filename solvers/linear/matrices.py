"""A linear model as its matrices: responses, parts, inversions, loops closed around it, models in series and side by side."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from titop.blocks.basics.errors import Finding, ModelError, did_you_mean
from titop.blocks.basics.ranks import decided_rank
from titop.blocks.basics.spatial import Array
from titop.blocks.basics.tolerances import SINGULAR
from titop.solvers.linear.state_space import is_state_space, named_signals, named_system, port_labels
from titop.solvers.signals.exported import exported_name, stems
from titop.solvers.signals.grammar import read_names

if TYPE_CHECKING:
    from control import StateSpace


@dataclass(frozen=True)
class Matrices:
    """``dx/dt = A x + B w``, ``z = C x + D w``, or a sampled model; they unpack as ``A, B, C, D``.

    The unit of time is the model's own; of an `UncertainLoop`, poles and frequencies are in parts of its rate.
    """

    A: Array
    B: Array
    C: Array
    D: Array

    def __iter__(self) -> Iterator[Array]:
        return iter((self.A, self.B, self.C, self.D))

    @classmethod
    def of(cls, system: Any) -> Matrices:
        """Return those of a state space, as arrays of their own."""
        return cls(*(np.array(getattr(system, name), dtype=float) for name in "ABCD"))

    @classmethod
    def constant(cls, D: Array) -> Matrices:
        """Return a matrix (outputs, inputs) as a model without states."""
        return cls(np.zeros((0, 0)), np.zeros((0, D.shape[1])), np.zeros((D.shape[0], 0)), D)

    @cached_property
    def poles(self) -> Array:
        """Eigenvalues of A (n)."""
        return np.linalg.eigvals(self.A)

    def poles_in_time(self, period: float) -> Array:
        """Return the poles (n, rad/s); of a sampled model ``log(z) / period``, those at zero left out."""
        poles = self.poles
        return np.log(poles[poles != 0].astype(complex)) / period if period else poles

    def response(self, omega: float) -> Array:
        """Return the response (outputs, inputs; own units) at a frequency, which may be infinite."""
        if np.isinf(omega):
            return self.D.astype(complex)
        return self.C @ np.linalg.solve(1j * omega * np.eye(len(self.A)) - self.A, self.B) + self.D

    def responses(self, points: Array) -> Array:
        """Return the responses (n, outputs, inputs) at values of s, or of z of a sampled model."""
        eye = np.eye(len(self.A))
        return np.array([self.C @ np.linalg.solve(x * eye - self.A, self.B) + self.D for x in points])

    def close_loop(self, delta: Array) -> Matrices:
        """Return the model of the remaining channels with ``w = Δ z + w'`` on the first ones, which stay.

        Raises `LinAlgError` if the loop is ill-posed.
        """
        n, m = delta.shape
        full = np.zeros((self.B.shape[1], self.C.shape[0]), dtype=delta.dtype)
        full[:n, :m] = delta
        inner = np.linalg.inv(np.eye(len(self.D)) - self.D @ full)
        fed = full @ inner
        return Matrices(
            self.A + self.B @ fed @ self.C, self.B @ (np.eye(len(full)) + fed @ self.D), inner @ self.C, inner @ self.D
        )

    def part(self, outputs: Any, inputs: Any) -> Matrices:
        """Return the model of some outputs and inputs."""
        return Matrices(self.A, self.B[:, inputs], self.C[outputs], self.D[np.ix_(outputs, inputs)])

    def exchange(self, outputs: Array, inputs: Array) -> Matrices:
        """Return the model with as many outputs as inputs, and these inputs as the outputs, in their places.

        Raises `LinAlgError` if the outputs do not follow the inputs at once.
        """
        n, whole = len(self.A), np.block([[self.A, self.B], [self.C, self.D]])
        inverse = np.linalg.inv(self.D[np.ix_(outputs, inputs)])
        columns, rows = whole[:, n + inputs] @ inverse, inverse @ whole[n + outputs]
        whole = whole - columns @ whole[n + outputs]
        whole[n + outputs], whole[:, n + inputs] = -rows, columns
        whole[np.ix_(n + outputs, n + inputs)] = inverse
        return Matrices(whole[:n, :n], whole[:n, n:], whole[n:, :n], whole[n:, n:])

    def scale(self, outputs: Array, inputs: Array | float = 1.0) -> Matrices:
        """Return the model with outputs and inputs multiplied by numbers."""
        return Matrices(self.A, self.B * inputs, outputs[:, None] * self.C, outputs[:, None] * self.D * inputs)

    def turn(self, basis: Array) -> Matrices:
        """Return the system with other states: the columns of a basis (n, n) are theirs."""
        back = np.linalg.inv(basis)
        return Matrices(back @ self.A @ basis, back @ self.B, self.C @ basis, self.D)

    def balance(self) -> Matrices:
        """Return the model with units of its states (powers of two) in which they, what drives and what sees them are alike."""
        from scipy.linalg import matrix_balance

        n = len(self.A)
        around = np.zeros((n + 1, n + 1))
        around[:n, :n], around[:n, n], around[n, :n] = (self.A, np.linalg.norm(self.B, axis=1), np.linalg.norm(self.C, axis=0))
        x = matrix_balance(around, permute=False, separate=True)[1][0][:n]
        return Matrices(self.A * x / x[:, None], self.B / x[:, None], self.C * x, self.D)

    def in_series(self, behind: Matrices) -> Matrices:
        """Return the model with another behind its outputs, whose states come last."""
        (A, B, C, D), (a, b, c, d) = self, behind
        joined = np.block([[A, np.zeros((len(A), len(a)))], [b @ C, a]])
        return Matrices(joined, np.vstack([B, b @ D]), np.hstack([d @ C, c]), d @ D)


def side_by_side(systems: Sequence[Matrices]) -> Matrices:
    """Return models with states, inputs and outputs one after the other."""
    from scipy.linalg import block_diag

    return Matrices(*(block_diag(*matrices) for matrices in zip(*systems, strict=True)))


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
    states, inputs, outputs = named_signals(system)
    for k, j in zip(ins, outs, strict=True):
        inputs[k], outputs[j] = outputs[j], inputs[k]
    return named_system(Matrices.of(system).exchange(outs, ins), states, inputs, outputs, system.name, float(system.dt or 0.0))


def _pairs(system: StateSpace, channel: Any) -> list[tuple[str, str]]:
    inputs, outputs = port_labels(system)
    if isinstance(channel, tuple | list) and len(channel) == 2 and all(isinstance(name, str) for name in channel):
        pair = exported_name(channel[0]), exported_name(channel[1])
        for name, labels in zip(pair, (inputs, outputs), strict=True):
            if name not in labels:
                advice = did_you_mean(name, labels)
                raise ModelError(Finding("unknown-channel", "channels", name, "a signal of the system", advice))
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
