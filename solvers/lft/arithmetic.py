"""Sums, products and feedback of linear fractional models, in which parameters of the same name are the same parameter."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from titop.blocks.basics.errors import Finding, ModelError
from titop.solvers.lft.delta_blocks import DeltaBlock
from titop.solvers.lft.moving_equilibria import MovingCoordinate
from titop.solvers.lft.uncertainty import Uncertain
from titop.solvers.lft.wiring import Composition, WiredPart, Wires, read_part, reduce_channels, wire
from titop.solvers.linear.path_series import PathTiming
from titop.solvers.linear.state_space import positions, unlike
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
        return self._wire("+", (a, b), Wires(none, np.tile(np.eye(m), (2, 1)), np.tile(np.eye(p), 2)), a.inputs, a.outputs)

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
        return self._wire("feedback", (a, b), Wires(wires, np.eye(m + p, m), np.eye(p, p + m)), a.inputs, a.outputs)

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
        return self._wire("star", (a, b), Wires(wires, into, out), *named)

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
        paths = self.paths if small.M.nstates == self.M.nstates else ()
        return replace(self, M=small.M, blocks=small.blocks, uncertain=small.uncertain, paths=paths)  # type: ignore[type-var]

    # -- series ------------------------------------------------------------------------------------------------------------

    def _multiply(self, first: WiredPart, last: WiredPart) -> Self:
        """Return all outputs of the first as inputs of the last."""
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
        return self._wire(where, (first, last), Wires(between, into, out), inputs, outputs)

    def _wire(
        self, where: str, parts: tuple[WiredPart, WiredPart], wires: Wires, inputs: list[Signal], outputs: list[Signal]
    ) -> Self:
        """Return wired parts."""
        return self._with(wire(where, parts, wires, inputs, outputs, str(self.M.name)))

    def _with(self, fields: Composition) -> Self:
        """Return the model with other fields."""
        return replace(self, **fields._asdict())  # type: ignore[type-var]


def _refuse_sizes(where: str, found: Sequence[int], wanted: Sequence[int]) -> None:
    """Refuse another number of outputs and inputs than wanted, or of signals alone."""
    if tuple(found) != tuple(wanted):
        shown, expected = (" x ".join(map(str, sizes)) for sizes in (found, wanted))
        advice = "connect by names: prepend, append, close; or choose signals with a matrix of zeros and ones"
        raise ModelError(Finding("wrong-size", where, f"{shown} signals", f"{expected} (outputs x inputs)", advice))
