"""Linear fractional models with neglected dynamics: weighted complex blocks around inputs and outputs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from titop.blocks.basics.errors import Finding, ModelError
from titop.blocks.basics.spatial import Array
from titop.blocks.basics.tolerances import SAME
from titop.blocks.basics.user_input import real_array
from titop.solvers.lft.delta_blocks import Connectable, DeltaBlock, channel_signals
from titop.solvers.lft.fractions import reach
from titop.solvers.linear.matrices import Matrices, side_by_side
from titop.solvers.linear.state_space import named_signals, named_system, positions, read_linear, unlike
from titop.solvers.signals.exported import Signal

if TYPE_CHECKING:
    from control import StateSpace

_KINDS = ("multiplicative", "additive")


def with_neglected(
    model: Connectable, name: str, signals: Any, weight: Any, kind: str, outputs: Any
) -> tuple[StateSpace, DeltaBlock]:
    """Return the matrix M with channels more, after those that are there, and their block; see `LFTModel.append`."""
    if not isinstance(name, str) or not name or name in [block.name for block in model.blocks]:
        raise ModelError(Finding("given-twice", "name", name, "a new name", "choose another"))
    M, (w, z), period = model.M, model.channels, float(model.M.dt or 0.0)
    (taken_C, taken_D), (entering_B, entering_D), of_outputs = _ends(model, _as_list("signals", signals), kind, outputs)
    W, rows = _weight(weight, len(taken_C), period), entering_B.shape[1]
    direct = np.block([[M.D, entering_D], [taken_D, np.zeros((len(taken_D), rows))]])
    plant = Matrices(M.A, np.hstack([M.B, entering_B]), np.vstack([M.C, taken_C]), direct)
    A, B, C, D = plant.in_series(side_by_side([Matrices.constant(np.eye(M.noutputs)), W]))
    columns = len(C) - M.noutputs
    block = DeltaBlock.complex(name) if rows == columns == 1 else DeltaBlock.full(name, rows, columns)
    states, inputs, all_outputs = named_signals(M)
    inputs[w:w], all_outputs[z:z] = channel_signals([block])
    states += unlike([Signal(f"{name}.x{i + 1}", "1") for i in range(len(A) - M.nstates)], states)
    of = [*range(w), *range(M.ninputs, M.ninputs + rows), *range(w, M.ninputs)]
    to = [*range(z), *range(M.noutputs, len(C)), *range(z, M.noutputs)]
    system = named_system((A, B[:, of], C[to], D[np.ix_(to, of)]), states, inputs, all_outputs, str(M.name), period)
    return system, block._replace(of_outputs=of_outputs)


def outside(model: Connectable) -> list[Finding]:
    """Return what is to be warned of where the last block of a closed model lies in no loop: nothing it returns reaches it."""
    M, blocks = model.M, model.blocks
    w, z = (np.repeat(np.arange(len(blocks)), [getattr(b, size) for b in blocks]) for size in ("repetitions", "columns"))
    taken = np.equal.outer(w, z) @ np.hstack([M.D[: len(z), : len(w)] != 0, M.C[: len(z)] != 0])
    joined = np.vstack([taken, np.hstack([M.B[:, : len(w)] != 0, M.A != 0])])
    last = np.flatnonzero(w == len(blocks) - 1)
    if reach(joined, np.any(joined[:, last], axis=1))[last].any():
        return []
    where, expected = f"append: {blocks[-1].name}", "a block in a loop"
    advice = "append before closing, lft.append(...).close(K), or close another controller around it"
    return [Finding("no-loop", where, "a block that nothing it returns comes back to", expected, advice)]


def _ends(
    model: Connectable, names: Sequence[str], kind: str, outputs: Any
) -> tuple[tuple[Array, Array], tuple[Array, Array], bool]:
    """Return rows of C and D of what a block takes, columns of B and D of what it adds to, and whether these are outputs."""
    M, (w, z), (_, inputs, all_outputs) = model.M, model.channels, named_signals(model.M)
    inputs, known = inputs[w:], all_outputs[z:]
    if kind not in _KINDS:
        raise ModelError(Finding("bad-value", "kind", kind, " or ".join(map(repr, _KINDS)), "see LFTModel.append"))
    if (kind == "additive") != bool(len(outputs)):
        expected = "outputs to add to" if kind == "additive" else "none: signals are multiplied"
        raise ModelError(Finding("bad-value", "outputs", outputs, expected, "additive blocks go from inputs to outputs"))

    def inputs_at(places: Sequence[int]) -> tuple[Array, Array]:
        return np.zeros((len(places), M.nstates)), np.eye(M.ninputs)[places]

    def into_outputs(places: Sequence[int]) -> tuple[Array, Array]:
        return np.zeros((M.nstates, len(places))), np.eye(M.noutputs)[:, places]

    if kind == "additive":
        of = [w + k for k in positions("signals", names, inputs)]
        to = [z + k for k in positions("outputs", _as_list("outputs", outputs), known)]
        return inputs_at(of), into_outputs(to), True
    found = positions("signals", names, [*inputs, *known])
    of = [w + k for k in found if k < len(inputs)]
    to = [z + k - len(inputs) for k in found if k >= len(inputs)]
    if of and to:
        advice = "append one block for inputs and one for outputs, or an additive one"
        raise ModelError(Finding("bad-value", "signals", names, "inputs alone or outputs alone", advice))
    return (inputs_at(of), (M.B[:, of], M.D[:, of]), False) if of else ((M.C[to], M.D[to]), into_outputs(to), True)


def _as_list(where: str, names: Any) -> list[str]:
    """Return names, one or several, as a list."""
    listed = [names] if isinstance(names, str) else list(names) if isinstance(names, Sequence) else []
    if not listed:
        raise ModelError(Finding("wrong-type", where, names, "a signal, or a list of signals", "give their names"))
    return listed


def _weight(weight: Any, count: int, period: float) -> Matrices:
    """Return a weight as the matrices of a system that takes `count` signals."""
    many = isinstance(weight, list | tuple | np.ndarray) and np.ndim(weight) > 0
    if many and len(weight) != count:
        raise ModelError(Finding("bad-weight", "weight", f"{len(weight)} weights", f"one, or {count}", "one for each signal"))
    parts = [_system(f"weight[{k}]" if many else "weight", each, period) for k, each in enumerate(weight if many else [weight])]
    if many and any(part.D.shape != (1, 1) for part in parts):
        raise ModelError(Finding("bad-weight", "weight", weight, "one input and one output each", "see control.ss"))
    if not many and parts[0].B.shape[1] == 1:
        parts *= count
    system = side_by_side(parts)
    if system.B.shape[1] != count:
        found = f"{len(system.C)} x {system.B.shape[1]}"
        raise ModelError(Finding("bad-weight", "weight", found, f"one input, or {count}", "as many inputs as signals"))
    return system


def _system(where: str, weight: Any, period: float) -> Matrices:
    """Return a number, a transfer function or a state space as a stable system with the time base of a model."""
    import control

    expected = "a finite number, a control.StateSpace or a proper control.TransferFunction"
    if not isinstance(weight, control.StateSpace | control.TransferFunction):
        number = real_array(weight)
        if number is None or number.ndim or not np.isfinite(number):
            raise ModelError(Finding("bad-weight", where, weight, expected, "see control.ss, control.tf"))
        return Matrices.constant(np.array([[float(number)]]))
    weight = read_linear(where, weight, expected)
    if weight.nstates:
        _check_dynamics(where, weight, period)
    return Matrices.of(weight)


def _check_dynamics(where: str, weight: StateSpace, period: float) -> None:
    """Refuse weights with another time base than a model's, and unstable ones."""
    step = weight.dt
    if (step is True and not period) or (step is not True and not np.isclose(float(step or 0.0), period, rtol=SAME, atol=0)):
        found, advice = f"a step of {step}", "see control.sample_system, or append before the model is sampled"
        raise ModelError(Finding("bad-weight", where, found, f"the model's step, {period:g} s", advice))
    poles = np.linalg.eigvals(weight.A)
    if (np.abs(poles).max() >= 1) if period else (poles.real.max() >= 0):
        raise ModelError(Finding("bad-weight", where, f"poles {poles}", "a stable system", "see control.ss, control.tf"))
