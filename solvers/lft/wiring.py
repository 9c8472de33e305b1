"""Two linear fractional models, or one and a state space, wired to each other: one model with the blocks of both.

Both stand side by side. The channels of blocks of the same name are put together, and their repetitions reduced. States stay as
they are: what cancels may be unstable.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from titop.blocks.basics.errors import Finding, ModelError
from titop.blocks.basics.spatial import Array
from titop.blocks.basics.tolerances import SAME, SINGULAR
from titop.blocks.basics.user_input import real_array
from titop.solvers.lft.delta_blocks import DeltaBlock, channel_counts, channel_order, channel_signals, slices, with_degrees
from titop.solvers.lft.fractions import Fractional, reduce_fraction, reduce_static
from titop.solvers.lft.moving_equilibria import MovingCoordinate
from titop.solvers.lft.uncertainty import Uncertain
from titop.solvers.linear.matrices import Matrices, side_by_side
from titop.solvers.linear.state_space import named_signals, named_system, read_linear, unlike
from titop.solvers.signals.exported import Signal


class WiredPart(NamedTuple):
    """One of two systems: channels first among its inputs and outputs, `inputs` and `outputs` without them.

    `period` (s) is zero in continuous time, None for a constant, which goes with any.
    """

    system: Matrices
    states: list[Signal]
    inputs: list[Signal]
    outputs: list[Signal]
    period: float | None
    blocks: tuple[DeltaBlock, ...] = ()
    uncertain: tuple[Uncertain, ...] = ()
    error: float = 0.0
    moving: tuple[MovingCoordinate, ...] = ()

    @property
    def size(self) -> tuple[int, int]:
        """Numbers of outputs and inputs."""
        return len(self.outputs), len(self.inputs)


def read_part(where: str, given: Any, constant: Callable[[float], Array] = np.atleast_2d) -> WiredPart:
    """Return what a user gives as a part; `constant` makes a matrix of a number.

    Raises `ModelError` for what is no linear system, and infinite numbers.
    """
    matrix = None if hasattr(given, "blocks") else real_array(given)
    if matrix is None or matrix.ndim not in (0, 2) or not np.isfinite(matrix).all():
        expected = "an LFTModel, a control.StateSpace or TransferFunction, a matrix or a number"
        M = given.M if hasattr(given, "blocks") else read_linear(where, given, expected)
        if M.dt is True:
            advice = "control.ss(A, B, C, D, dt)"
            raise ModelError(Finding("no-sample-time", where, "discrete time without a step", "a sample time", advice))
        states, inputs, outputs = named_signals(M)
        base = float(M.dt or 0.0) if M.nstates or M.dt else None
        if not hasattr(given, "blocks"):
            return WiredPart(Matrices.of(M), states, inputs, outputs, base)
        w, z = channel_counts(given.blocks)
        more = given.blocks, given.uncertain, given.error, given.moving
        return WiredPart(Matrices.of(M), states, inputs[w:], outputs[z:], base, *more)
    D = np.array(matrix if matrix.ndim else constant(float(matrix)), dtype=float)
    outputs, inputs = ([Signal(f"{letter}[{k}]", "") for k in range(n)] for letter, n in zip("yu", D.shape, strict=True))
    return WiredPart(Matrices.constant(D), [], inputs, outputs, None)


def _common_period(where: str, parts: Sequence[WiredPart]) -> float:
    periods = [part.period for part in parts if part.period is not None]
    if len(periods) == 2 and abs(periods[0] - periods[1]) > SAME * max(periods):
        shown = " and ".join(f"{period:g} s" if period else "continuous time" for period in periods)
        raise ModelError(Finding("other-sample-time", where, shown, "one sample time", "see control.sample_system"))
    return periods[0] if periods else 0.0


# -- wiring -----------------------------------------------------------------------------------------------------------------


class Wires(NamedTuple):
    """``u = between y + into r``, ``y_out = out y``, of the inputs u and outputs y of both parts."""

    between: Array
    into: Array
    out: Array


def wire(
    model: Any, where: str, parts: tuple[WiredPart, WiredPart], wires: Wires, inputs: list[Signal], outputs: list[Signal]
) -> Any:
    """Return the model of wired parts, one of which is `model`, with these signals; repetitions of what both have are reduced.

    Raises `ModelError` for other time bases, conflicts of blocks, and loops without a solution at once.
    """
    period, system = _common_period(where, parts), side_by_side([part.system for part in parts])
    blocks, places, uncertain = _join_blocks(where, parts)
    U, Y = (np.array(group, dtype=int) for group in _ports(parts))
    loop = wires.between @ system.D[np.ix_(Y, U)]
    if np.linalg.svd(np.eye(len(loop)) - loop, compute_uv=False).min(initial=1.0) < SINGULAR * (1.0 + np.linalg.norm(loop)):
        advice = "add an actuator's or a sensor's delay, or a lag"
        raise ModelError(Finding("algebraic-loop", where, "a singular loop", "a loop with a solution at once", advice))
    full = np.zeros(system.D.T.shape)
    full[np.ix_(U, Y)] = wires.between
    A, B, C, D = system.close_loop(full)
    ins, outs = np.eye(len(full)), np.eye(len(full.T))
    columns = np.hstack([ins[:, places[0]], ins[:, U] @ wires.into])
    rows = np.vstack([outs[places[1]], wires.out @ outs[Y]])
    states = [*parts[0].states, *unlike(parts[1].states, parts[0].states)]
    w, z = channel_signals(blocks)
    matrices = A, B @ columns, rows @ C, rows @ D @ columns
    M = named_system(matrices, states, [*w, *inputs], [*z, *outputs], str(model.M.name), period)
    error, moving = max(part.error for part in parts), {each.name: each for part in parts for each in part.moving}
    own = {"members": None, "error": error, "moving": tuple(moving.values()), "paths": ()}
    result = replace(model, M=M, blocks=blocks, uncertain=uncertain, **own)
    return reduce_channels(result) if len(blocks) < sum(len(part.blocks) for part in parts) else result


def _ports(parts: Sequence[WiredPart]) -> tuple[list[int], list[int]]:
    """Return where inputs and outputs stand among all signals of parts side by side, without channels."""
    U: list[int] = []
    Y: list[int] = []
    of, to = 0, 0
    for part in parts:
        (w, z), (p, m) = channel_counts(part.blocks), part.size
        U += range(of + w, of + w + m)
        Y += range(to + z, to + z + p)
        of, to = of + w + m, to + z + p
    return U, Y


# -- blocks -----------------------------------------------------------------------------------------------------------------


def _join_blocks(
    where: str, parts: Sequence[WiredPart]
) -> tuple[tuple[DeltaBlock, ...], tuple[list[int], list[int]], tuple[Uncertain, ...]]:
    """Return the blocks of both parts, those of one name as one; where their channels w and z stand; and what is uncertain.

    Raises `ModelError` for blocks of one name that are not the same, and full ones, which cannot be repeated.
    """
    places: dict[str, tuple[list[int], list[int]]] = {}
    joined: dict[str, DeltaBlock] = {}
    first = [0, 0]
    for part in parts:
        w, z = (slices([getattr(b, size) for b in part.blocks]) for size in ("repetitions", "columns"))
        for block, of, to in zip(part.blocks, w, z, strict=True):
            if block.name in joined:
                _refuse_other(where, joined[block.name], block)
                old = joined[block.name]
                rows, columns = old.repetitions + block.repetitions, old.columns + block.columns
                joined[block.name] = old._replace(repetitions=rows, columns=columns, degree=None)
            else:
                joined[block.name], places[block.name] = block, ([], [])
            places[block.name][0].extend(range(first[0] + of.start, first[0] + of.stop))
            places[block.name][1].extend(range(first[1] + to.start, first[1] + to.stop))
        p, m = part.size
        first = [first[0] + channel_counts(part.blocks)[0] + m, first[1] + channel_counts(part.blocks)[1] + p]
    channels = [k for of, _ in places.values() for k in of], [k for _, to in places.values() for k in to]
    return tuple(joined.values()), channels, _join_uncertain(where, parts, joined)


def _refuse_other(where: str, one: DeltaBlock, other: DeltaBlock) -> None:
    place = f"{where}: {one.name}"
    for what in ("kind", "unit", "part", "lower", "upper", "nominal", "of_outputs"):
        first, second = getattr(one, what), getattr(other, what)
        if first != second:
            advice = "make both models with the same range, or name one parameter otherwise"
            raise ModelError(Finding("other-range", place, f"{what} {second}", f"{first}, as in the first model", advice))
    if one.kind == "full":
        advice = "give one of them another name in append: a full block cannot be repeated"
        raise ModelError(Finding("given-twice", place, "a full block of both models", "each full block once", advice))


def _join_uncertain(where: str, parts: Sequence[WiredPart], joined: dict[str, DeltaBlock]) -> tuple[Uncertain, ...]:
    known: dict[str, Uncertain] = {}
    of_path: dict[str, str] = {}
    for uncertain in (each for part in parts for each in part.uncertain):
        old = known.setdefault(uncertain.name, uncertain._replace(block=joined[uncertain.name]))
        for member in uncertain.members:
            tied = of_path.setdefault(member.path, uncertain.name)
            if tied != uncertain.name or old.members != uncertain.members:
                found, advice = f"tied to {tied} and to {uncertain.name}", "tie the same parameters in both models"
                if tied == uncertain.name:
                    found = "tied to other parameters in the second model"
                raise ModelError(Finding("other-range", f"{where}: {member.path}", found, "one meaning of a name", advice))
    return tuple(known.values())


def reduce_channels(model: Any, states: bool = False) -> Any:
    """Return a model with fewer repetitions of real blocks, and fewer states if these may be left out.

    Channels of other blocks, and states that stay, are inputs and outputs of what is reduced.
    """
    M, blocks = model.M, model.blocks
    n, (p, m) = M.nstates, M.D.shape
    whole, real = np.block([[M.D, M.C], [M.B, M.A]]), np.array([b.kind == "real" for b in blocks], dtype=bool)
    order, count = [], int(sum(b.repetitions for b in blocks if b.kind == "real"))
    for size, ports in (("columns", p), ("repetitions", m)):
        first = np.flatnonzero(np.repeat(real, [getattr(b, size) for b in blocks]))
        order.append([*first, *range(ports, ports + n), *np.setdiff1d(np.arange(ports), first)])
    T, sizes = whole[np.ix_(*order)], tuple(b.repetitions for b in blocks if b.kind == "real")
    inner = count + n * states
    fraction = Fractional(T[:inner, :inner], T[:inner, inner:], T[inner:, :inner], T[inner:, inner:], sizes)
    small = reduce_fraction(fraction._replace(sizes=(*sizes, n))) if states else reduce_static(fraction)
    T = np.block([[small.A, small.B], [small.C, small.D]])
    n = small.sizes[-1] if states else n
    left = dict(zip([b.name for b in blocks if b.kind == "real"], small.sizes, strict=False))
    new = tuple(b._replace(repetitions=left[b.name], columns=left[b.name]) if b.name in left else b for b in blocks)
    first = sum(b.repetitions for b in new if b.kind == "real")
    rows, columns = (
        channel_order(new, size, first + n, end) for size, end in zip(("columns", "repetitions"), T.shape, strict=True)
    )
    x = slice(first, first + n)
    names, inputs, outputs = named_signals(M)
    if n < len(names):
        names = [Signal(f"x{k + 1}", "1") for k in range(n)]
    (w, z), (of, to) = channel_signals(new), channel_counts(blocks)
    matrices = T[x, x], T[x, columns], T[rows, x], T[np.ix_(rows, columns)]
    small_M = named_system(matrices, names, [*w, *inputs[of:]], [*z, *outputs[to:]], str(M.name), float(M.dt or 0.0))
    new = with_degrees(small_M, new, bool(small_M.dt))
    known = {block.name: block for block in new}
    uncertain = tuple(each._replace(block=known[each.name]) for each in model.uncertain)
    return replace(model, M=small_M, blocks=new, uncertain=uncertain)
