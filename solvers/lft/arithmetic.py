"""Linear fractional models joined with others, parameters of one name being one parameter, and with neglected dynamics.

Neglected dynamics are weighted complex blocks around inputs and outputs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from titop.blocks.basics.errors import Finding, ModelError
from titop.blocks.basics.spatial import Array
from titop.blocks.basics.tolerances import SAME
from titop.blocks.basics.user_input import read_number
from titop.solvers.lft.delta_blocks import Connectable, DeltaBlock, channel_signals
from titop.solvers.lft.fractions import reach
from titop.solvers.lft.moving_equilibria import MovingCoordinate
from titop.solvers.lft.uncertainty import Uncertain
from titop.solvers.lft.wiring import WiredPart, Wires, read_part, reduce_channels, wire
from titop.solvers.linear.matrices import Matrices, side_by_side
from titop.solvers.linear.path_series import PathTiming
from titop.solvers.linear.state_space import named_signals, named_system, positions, read_linear, unlike
from titop.solvers.signals.exported import Signal

if TYPE_CHECKING:
    from control import StateSpace


class LFTArithmetic:
    """What can be done with a linear fractional model and another, or a ``control.StateSpace``, a matrix or a number.

    As with systems of python-control, ``second * first`` is `first`, then `second`; inputs and outputs are taken in their
    order. Inputs are those of the first of a product, outputs those of the last; of sums and feedback, those of the model on
    the left. A parameter of both is one parameter, which must have the same range in both. Results make no members of a system
    (`check`, `operating_point`): ask the models themselves, whose parameters have the same names.
    """

    M: StateSpace
    blocks: tuple[DeltaBlock, ...]
    uncertain: tuple[Uncertain, ...]
    error: float
    moving: tuple[MovingCoordinate, ...]
    paths: tuple[PathTiming, ...]

    __array_ufunc__ = None  # products with arrays come here

    def __neg__(self) -> Self:
        return self * -1.0

    def __add__(self, other: Any) -> Self:
        a = read_part("+", self)
        b = read_part("+", other, lambda number: np.full(a.size, number))
        _refuse_sizes("+", b.size, a.size)
        (p, m), none = a.size, np.zeros((2 * a.size[1], 2 * a.size[0]))
        return wire(self, "+", (a, b), Wires(none, np.tile(np.eye(m), (2, 1)), np.tile(np.eye(p), 2)), a.inputs, a.outputs)

    def __radd__(self, other: Any) -> Self:
        return self + other

    def __sub__(self, other: Any) -> Self:
        return self + -1.0 * other

    def __rsub__(self, other: Any) -> Self:
        return -self + other

    def __mul__(self, other: Any) -> Self:
        last = read_part("*", self)
        return self._multiply(read_part("*", other, lambda number: number * np.eye(last.size[1])), last)

    def __rmul__(self, other: Any) -> Self:
        first = read_part("*", self)
        return self._multiply(first, read_part("*", other, lambda number: number * np.eye(first.size[0])))

    def __truediv__(self, number: float) -> Self:
        return self * (1.0 / number)

    def feedback(self, other: Any = 1.0, sign: int = -1) -> Self:
        """Return the loop ``u = r + sign * other y``, negative by default.

        Parameters
        ----------
        other : LFTModel, control.StateSpace, array_like or number
            From the outputs to the inputs, in their order; `close` connects by names.
        sign : {-1, 1}

        Returns
        -------
        LFTModel
            From r to y, named as inputs and outputs are.

        Raises
        ------
        ModelError
            For other sizes or sample times, parameters of other ranges, and algebraic loops without a solution.

        Examples
        --------
        >>> import control, titop as tt
        >>> s = tt.System("swing", gravity=[0, 0, -9.81])
        >>> s.connect("world", tt.RigidBody("bob", mass=2.0, com=[0, 0, -1]), joint=tt.Revolute("hinge", axis=[0, 1, 0]))
        >>> m = s.resolve()
        >>> swing = tt.lft(m, m.neutral(), {"bob.mass": tt.percent(10)}, inputs=["hinge"], outputs=["hinge.q"])
        >>> loop = swing.feedback(control.ss([[-9.0]], [[1.0]], [[-90.0]], [[10.0]]))
        >>> loop.blocks[0].repetitions, loop.at(bob_mass=2.1).nstates
        (1, 3)
        """
        if sign not in (-1, 1):
            raise ModelError(Finding("bad-value", "sign", sign, "-1 or 1", "-1 is negative feedback"))
        a = read_part("feedback", self)
        b = read_part("feedback", other, lambda number: number * np.eye(*a.size[::-1]))
        _refuse_sizes("feedback", b.size, a.size[::-1])
        p, m = a.size
        wires = np.block([[np.zeros((m, p)), sign * np.eye(m)], [np.eye(p), np.zeros((p, m))]])
        return wire(self, "feedback", (a, b), Wires(wires, np.eye(m + p, m), np.eye(p, p + m)), a.inputs, a.outputs)

    def star(self, other: Any, inputs: int | None = None, outputs: int | None = None) -> Self:
        """Return Redheffer's star product: the last outputs drive the first inputs of another, whose first outputs drive back.

        Parameters
        ----------
        other : LFTModel, control.StateSpace, array_like or number
        inputs, outputs : int, optional
            How many of the last inputs and outputs of the model are connected; by default as many as both have.

        Returns
        -------
        LFTModel
            With the inputs and outputs of the model that are left, then those of the other.

        Raises
        ------
        ModelError
            As `feedback`.
        """
        a, b = read_part("star", self), read_part("star", other)
        (p, m), (q, n) = a.size, b.size
        most = min(m, q), min(p, n)
        nu, ny = (most[k] if value is None else value for k, value in enumerate((inputs, outputs)))
        if not (nu in range(most[0] + 1) and ny in range(most[1] + 1)):
            expected = f"at most {most[0]} inputs and {most[1]} outputs"
            raise ModelError(Finding("wrong-size", "star", f"{nu} inputs, {ny} outputs", expected, "leave them out for all"))
        wires = np.zeros((m + n, p + q))
        wires[m - nu : m, p : p + nu] = np.eye(nu)
        wires[m : m + ny, p - ny : p] = np.eye(ny)
        into = np.delete(np.eye(m + n), [*range(m - nu, m + ny)], axis=1)
        out = np.delete(np.eye(p + q), [*range(p - ny, p + nu)], axis=0)
        of, to = a.inputs[: m - nu], a.outputs[: p - ny]
        named = [*of, *unlike(b.inputs[ny:], of)], [*to, *unlike(b.outputs[nu:], to)]
        return wire(self, "star", (a, b), Wires(wires, into, out), *named)

    def prepend(self, system: Any) -> Self:
        """Return the model with a system before some of its inputs: an actuator, a filter of disturbances.

        Parameters
        ----------
        system : LFTModel or control.StateSpace
            Its outputs named as inputs of the model.

        Returns
        -------
        LFTModel
            With the inputs of the system, then those of the model that it does not drive.

        Raises
        ------
        ModelError
            For unknown names, and as `feedback`.
        """
        first, last = read_part("prepend", system), read_part("prepend", self)
        at = positions("prepend: outputs of the system", [signal.path for signal in first.outputs], last.inputs)
        return self._follow("prepend", first, last, at, range(len(first.outputs)))

    def _append_system(self, system: Any) -> Self:
        """Return the model with a system behind the outputs that its inputs are named after."""
        first, last = read_part("append", self), read_part("append", system)
        of = positions("append: inputs of the system", [signal.path for signal in last.inputs], first.outputs)
        return self._follow("append", first, last, range(len(last.inputs)), of)

    def reduce(self) -> Self:
        """Return the model of the same response with as few states and repetitions as `lft` makes of it.

        States without effect are left out, also unstable ones. If there are any, the others have no names any more, and delays
        of devices stay fractions in `close`.
        """
        small = reduce_channels(self, states=True)
        return small if small.M.nstates == self.M.nstates else replace(small, paths=())

    # -- series ------------------------------------------------------------------------------------------------------------

    def _multiply(self, first: WiredPart, last: WiredPart) -> Self:
        _refuse_sizes("*", first.size[:1], last.size[1:])
        return self._follow("*", first, last, range(last.size[1]), range(first.size[0]))

    def _follow(self, where: str, first: WiredPart, last: WiredPart, at: Sequence[int], of: Sequence[int]) -> Self:
        """Return parts in series: outputs `of` the first drive inputs `at` of the last; all others are passed on."""
        _refuse_sizes(where, (len(at),), (len(of),))
        (p, m), (q, n) = first.size, last.size
        between = np.zeros((m + n, p + q))
        between[m + np.array(at, dtype=int), np.array(of, dtype=int)] = 1.0
        free_in, free_out = np.setdiff1d(np.arange(n), at), np.setdiff1d(np.arange(p), of)
        into = np.eye(m + n)[:, [*range(m), *(m + free_in)]]
        out = np.eye(p + q)[[*range(p, p + q), *free_out]]
        inputs = [*first.inputs, *unlike([last.inputs[k] for k in free_in], first.inputs)]
        outputs = [*last.outputs, *unlike([first.outputs[k] for k in free_out], last.outputs)]
        return wire(self, where, (first, last), Wires(between, into, out), inputs, outputs)


def _refuse_sizes(where: str, found: Sequence[int], wanted: Sequence[int]) -> None:
    """Refuse another number of outputs and inputs than wanted, or of signals alone."""
    if tuple(found) != tuple(wanted):
        shown, expected = (" x ".join(map(str, sizes)) for sizes in (found, wanted))
        advice = "connect by names: prepend, append, close; or choose signals with a matrix of zeros and ones"
        raise ModelError(Finding("wrong-size", where, f"{shown} signals", f"{expected} (outputs x inputs)", advice))


# -- neglected dynamics ------------------------------------------------------------------------------------------------------

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
    listed = [names] if isinstance(names, str) else list(names) if isinstance(names, Sequence) else []
    if not listed:
        raise ModelError(Finding("wrong-type", where, names, "a signal, or a list of signals", "give their names"))
    return listed


def _weight(weight: Any, count: int, period: float) -> Matrices:
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
        number = read_number(Finding("bad-weight", where, weight, expected, "see control.ss, control.tf"))
        return Matrices.constant(np.array([[number]]))
    weight = read_linear(where, weight, expected)
    if weight.nstates:
        _check_dynamics(where, weight, period)
    return Matrices.of(weight)


def _check_dynamics(where: str, weight: StateSpace, period: float) -> None:
    step = weight.dt
    if (step is True and not period) or (step is not True and not np.isclose(float(step or 0.0), period, rtol=SAME, atol=0)):
        found, advice = f"a step of {step}", "see control.sample_system, or append before the model is sampled"
        raise ModelError(Finding("bad-weight", where, found, f"the model's step, {period:g} s", advice))
    poles = np.linalg.eigvals(weight.A)
    if (np.abs(poles).max() >= 1) if period else (poles.real.max() >= 0):
        raise ModelError(Finding("bad-weight", where, f"poles {poles}", "a stable system", "see control.ss, control.tf"))
