"""What users give: a linear model with channels of an uncertainty, read, checked, its ranges centred, its channels balanced.

Uncertain numbers are counted from the middle of their range, so that bounds do not depend on nominal values. A parameter whose
nominal value is off the middle is a fraction of its δ, ``value = nominal + a δ / (1 + b δ)``. It is infinite at ``δ = -1 / b``,
the nearer the nominal value is to an end of the range, the nearer to zero: a loop may be singular there whatever it is. With d
from the middle on, ``value = middle + half d``, the same values have

    δ = (d - b) / (1 - b d) = -b + (1 - b²) d / (1 - b d),

once more a fraction in d with as many repetitions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.linalg import cholesky, matrix_balance, svd

from titop.blocks.basics.errors import Finding, ModelError, did_you_mean
from titop.blocks.basics.spatial import Array
from titop.blocks.basics.tolerances import CLOSE, EXACT, SINGULAR
from titop.blocks.basics.user_input import read_number
from titop.solvers.lft.delta_blocks import DeltaBlock, Structure
from titop.solvers.linear.matrices import Matrices
from titop.solvers.linear.state_space import middle_rate, named_signals, period_of, positions, signal_names
from titop.solvers.signals.exported import Signal


@dataclass(frozen=True)
class UncertainLoop:
    """A loop of a linear model and an uncertainty.

    - `system`: in continuous time, its unit ``1 / rate``; a sampled one by the bilinear map, which keeps stability and gains;
    - `structure`, `given`: of the system, and of the model given: these differ where ranges were centred;
    - `inputs`, `outputs`: all channels;
    - `period`: sample time (s), zero in continuous time;
    - `rate`: unit (rad/s) of the system's poles and frequencies;
    - `scales` (n): units of the system's states, in those of the model.
    """

    system: Matrices
    structure: Structure
    given: Structure
    inputs: tuple[Signal, ...]
    outputs: tuple[Signal, ...]
    states: tuple[str, ...]
    period: float
    rate: float
    scales: Array

    @property
    def uncertain(self) -> Matrices:
        """The channels of the uncertainty alone."""
        w, z = self.structure.shape
        return self.system.part(np.arange(z), np.arange(w))

    @property
    def poles(self) -> Array:
        """Poles of the loop (n, rad/s); of a sampled one ``log(z) / period``."""
        poles = self.rate * self.system.poles
        if not self.period:
            return poles
        with np.errstate(divide="ignore"):  # z = 0 decays at once
            logs = np.arctanh(poles.astype(complex) * self.period / 2)
        return np.asarray(
            2 / self.period * logs.real + 2j / self.period * logs.imag
        )  # parts apart: zero times infinity is none

    def frequency(self, omega: float) -> float:
        """Return the frequency (rad/s) for one of the system, in its unit."""
        omega = self.rate * omega
        return float(2 / self.period * np.arctan(omega * self.period / 2)) if self.period else omega

    def warp(self, omega: float) -> float:
        """Return the frequency of the system, in its unit, for one in rad/s."""
        return float(2 / self.period * np.tan(omega * self.period / 2) if self.period else omega) / self.rate


def read_stable_loop(
    lft: Any, blocks: Sequence[DeltaBlock] | None, tolerance: Any = 0.5, gap: Any = None, cells: Any = 1
) -> UncertainLoop:
    """Return a stable loop as `read_loop` does, its ranges centred; the tolerance, `gap` and `cells` are checked too.

    Raises `ModelError` for unusable arguments, and a nominal loop that is not stable.
    """
    loop = read_loop(lft, blocks)
    check_precision(loop.structure, tolerance, gap, cells)
    check_stable(loop)
    return centre_ranges(loop)


def read_loop(lft: Any, blocks: Sequence[DeltaBlock] | None) -> UncertainLoop:
    """Return the loop of an LFT model, or of a state space with its blocks.

    Raises `ModelError` for other types, and channels that are not there.
    """
    model, blocks = getattr(lft, "M", lft), getattr(lft, "blocks", None) if blocks is None else blocks
    if not all(hasattr(model, name) for name in "ABCD") or not hasattr(model, "input_labels"):
        advice = "pass what tt.lft returns, or M with blocks=[...]"
        raise ModelError(Finding("wrong-type", "lft", type(lft).__name__, "an LFTModel or a control.StateSpace", advice))
    structure = read_blocks(blocks)
    system = Matrices.of(model)
    check_sizes(structure, system.D)
    period = period_of(model)
    system = to_continuous(system, period) if period else system
    rate = middle_rate(system.A)
    system, scales = _in_units(system, rate)
    _, inputs, outputs = named_signals(model)
    states = tuple(str(name) for name in model.state_labels)
    return UncertainLoop(system, structure, structure, tuple(inputs), tuple(outputs), states, period, rate, scales)


def read_blocks(blocks: Any) -> Structure:
    """Return the structure of blocks, of which there must be one or more."""
    if not isinstance(blocks, Sequence) or not blocks:
        advice = "such as blocks=[tt.DeltaBlock.real('hub.mass', 3)]"
        raise ModelError(Finding("wrong-type", "blocks", blocks, "one DeltaBlock or more", advice))
    return Structure.of(blocks)


def check_sizes(structure: Structure, D: Array) -> None:
    """Refuse a matrix without the channels of the blocks."""
    w, z = structure.shape
    if D.ndim != 2 or D.shape[0] < z or D.shape[1] < w:
        expected = f"at least {z} outputs and {w} inputs, those of the blocks"
        raise ModelError(Finding("wrong-shape", "M", f"shape {D.shape}", expected, "put the channels of the blocks first"))


def check_stable(loop: UncertainLoop, where: str = "lft", advice: str = "") -> None:
    """Refuse a nominal loop that is not stable, with advice or the usual one."""
    poles = loop.poles
    worst = poles[np.argmax(poles.real)] if len(poles) else -1.0
    if not np.real(worst) < 0:
        advice = advice or (
            "close it with another controller or sample time"
            if loop.period
            else "close the loop first: lft.close(K); free rigid modes need a controller or omit="
        )
        raise ModelError(Finding("unstable-nominal", where, f"a pole at {worst:.6g} rad/s", "a stable nominal loop", advice))


def check_positive(advice: str, **given: Any) -> None:
    """Refuse what is no positive number, by name; `advice` says what to do."""
    for name, value in given.items():
        read_number(Finding("bad-value", name, value, "a positive number", advice), lambda x: 0 < x < np.inf)


def check_tolerance(tolerance: Any) -> None:
    """Refuse what is no relative tolerance."""
    read_number(Finding("bad-value", "tolerance", tolerance, "between 0 and 1", "such as 0.01"), lambda x: 0 < x < 1)


def check_precision(structure: Structure, tolerance: Any, gap: Any, cells: Any) -> None:
    """Refuse what is no relative tolerance, gaps and numbers of cells that are not positive, and boxes without parameters."""
    check_tolerance(tolerance)
    check_positive("leave it out: the default suits most models", gap=1.0 if gap is None else gap, cells=cells)
    if gap is not None and not structure.real:
        raise ModelError(Finding("no-parameters", "gap", "no real blocks", "a real parameter to branch over", "leave gap out"))


def channels(names: Any, known: tuple[Signal, ...], skipped: int, where: str) -> list[int]:
    """Return the places of signals among the channels behind those of the uncertainty; a vector's name stands for its entries.

    Raises `ModelError` for unknown names, and signals named twice.
    """
    wanted = signal_names(where, names, some=False)
    if not wanted:
        advice = did_you_mean("", [signal.name for signal in known[skipped:]])
        raise ModelError(Finding("unknown-signal", where, names, "a signal or more", advice))
    return [skipped + k for k in positions(where, wanted, known[skipped:])]


def centre_ranges(loop: UncertainLoop) -> UncertainLoop:
    """Return a loop with its ranges centred, or as it is where that is unstable or ill-posed in their middle."""
    system, structure = centre_system(loop.system, loop.structure)
    if not (system.poles.real < 0).all():
        return loop
    return replace(loop, system=system, structure=structure)


def centre_system(system: Matrices, structure: Structure) -> tuple[Matrices, Structure]:
    """Return a system, the channels of the blocks first, and its blocks, with their ranges centred.

    Both as they are where the loop is ill-posed in the middle.
    """
    offsets = [block.fraction[1] if block.kind == "real" else 0.0 for block in structure.blocks]  # b of parameters
    if not any(offsets):
        return system, structure
    w = structure.shape[0]
    try:
        about_middles = system.close_loop(structure.real_matrix([-offsets[k] for k in structure.real]))
    except np.linalg.LinAlgError:
        return system, structure
    narrow = np.ones(system.B.shape[1])
    narrow[:w] = 1 - np.repeat(offsets, [b.repetitions for b in structure.blocks]) ** 2
    scaled = about_middles.scale(np.ones(len(system.C)), narrow)
    D = scaled.D.copy()
    for place, rows, offset in zip(structure.w, structure.z, offsets, strict=True):
        if offset:
            D[rows, place] += offset * np.eye(rows.stop - rows.start)
    blocks = [b._replace(nominal=(b.lower + b.upper) / 2) if k else b for b, k in zip(structure.blocks, offsets, strict=True)]
    return replace(scaled, D=D), Structure.of(blocks)


def in_given_ranges(given: Structure, structure: Structure, deltas: Sequence[Any]) -> tuple[Any, ...]:
    """Return values normalised as the given blocks are from those of a centred structure, one of each block."""
    pairs = zip(given.blocks, structure.blocks, deltas, strict=True)
    return tuple(before.normalised(block.value(float(d))) if before != block else d for before, block, d in pairs)


def _in_units(system: Matrices, rate: float) -> tuple[Matrices, Array]:
    """Return the system with frequencies in parts of a rate and states in units in which A is balanced, and these (n,)."""
    if not len(system.A):
        return system, np.ones(0)
    A, (scales, _) = matrix_balance(system.A / rate, permute=False, separate=True)
    return Matrices(A, system.B / rate / scales[:, None], system.C * scales, system.D), scales


def to_continuous(system: Matrices, period: float, where: str = "lft") -> Matrices:
    """Return a sampled model by the bilinear map ``z = (1 + s T/2) / (1 - s T/2)``."""
    A, (units, _) = matrix_balance(system.A, permute=False, separate=True) if len(system.A) else (system.A, (np.ones(0), None))
    B, C, D = system.B / units[:, None], system.C * units, system.D
    one = np.eye(len(A))
    if len(A) and np.linalg.svd(A + one, compute_uv=False)[-1] < SINGULAR * (1 + np.linalg.norm(A, 2)):
        raise ModelError(Finding("bad-pole", where, "a pole at -1", "none there", "take another sample time"))
    inner = np.linalg.inv(A + one)
    root = 2 / np.sqrt(period)
    A, B, C, D = 2 / period * inner @ (A - one), root * inner @ B, root * C @ inner, D - C @ inner @ B
    return Matrices(A * units[:, None] / units, B * units[:, None], C / units, D)


def to_sampled(system: Matrices, period: float) -> Matrices:
    """Return the sampled model that `to_continuous` maps to a model.

    Raises `LinAlgError` for a pole at ``2 / period``.
    """
    A, B, C, D = system
    one, half = np.eye(len(A)), period / 2
    inner = np.linalg.inv(one - half * A)
    root = np.sqrt(period)
    return Matrices(inner @ (one + half * A), root * inner @ B, root * C @ inner, D + half * C @ inner @ B)


# -- balanced channels -------------------------------------------------------------------------------------------------------

#: Directions whose square is smaller than this part of a block's others are taken for as large.
_LEAST = CLOSE**2

#: Rounds over all blocks.
_ROUNDS = 20


def balance(system: Matrices, structure: Structure) -> Matrices:
    """Return a stable loop with the channels of all blocks, its first ones, balanced.

    ``δ 1`` commutes with all matrices T, a full block with all numbers, so that ``T z`` and ``T w`` are as good as z and w.
    What reaches the channels of a block and what they reach are made equal and diagonal, or equal alone, over the frequencies
    of all poles (as Moore 1981 balances states): from channels that differ by decades, as they do by their units, the method of
    centres gives bounds that are several times too high. Units go first, by a number for each channel (Osborne 1960): they may
    be so far apart that no sum of squares holds both.
    """
    w, z = structure.shape
    into, back = _coordinates(_responses(system.part(np.arange(z), np.arange(w))), structure)
    B, C, D = system.B.copy(), system.C.copy(), system.D.copy()
    B[:, :w], C[:z] = B[:, :w] @ back, into @ C[:z]
    D[:, :w] = D[:, :w] @ back
    D[:z] = into @ D[:z]
    return Matrices(system.A, B, C, D)


def _responses(system: Matrices) -> list[Array]:
    """Return the responses at zero, infinity and the poles' frequencies, the only one of a matrix."""
    frequencies = (0.0, *np.unique(np.abs(system.poles)).tolist()) if len(system.A) else ()
    return [system.response(omega) for omega in (*frequencies, np.inf)]


def _coordinates(responses: list[Array], structure: Structure) -> tuple[Array, Array]:
    """Return the transformation of z, and its inverse for w.

    Responses are taken for as large as each other, with the channels as they are before each round.
    """
    z, w = _unit_scales(np.max(np.abs(responses), axis=0), structure)
    into, back = np.diag(1 / z), np.diag(w)
    responses = [M / z[:, None] * w for M in responses]
    for _ in range(_ROUNDS):
        gains = [float(np.linalg.norm(M, 2)) for M in responses]
        responses = [M / gain for M, gain in zip(responses, gains, strict=True) if 0 < gain < np.inf]
        if not responses:
            break
        for block, rows, columns in zip(structure.blocks, structure.z, structure.w, strict=True):
            reached, seen = _squares([M[rows] for M in responses]), _squares([M[:, columns].T for M in responses])
            T, inverse = _equalling(reached, seen) if block.kind == "full" else _balancing(reached, seen)
            forth, other = T @ into[rows], back[:, columns] @ inverse
            if block.kind != "full" and np.abs(forth[:, rows] @ other[columns] - np.eye(len(T))).max() > EXACT:
                continue  # directions that nothing reaches would be stretched on and on: the loop would become another one
            for M in responses:
                M[rows], M[:, columns] = T @ M[rows], M[:, columns] @ inverse
            into[rows], back[:, columns] = forth, other
    return into, back


def _squares(matrices: list[Array]) -> Array:
    """Return the sum of all ``Re M M^H``."""
    return np.sum([(M @ M.conj().T).real for M in matrices], axis=0)


def _equalling(reached: Array, seen: Array) -> tuple[Array, Array]:
    """Return t of z and 1/t of w on the diagonal, with ``t^2 reached`` as large as ``seen / t^2``."""
    t = 1.0
    if np.trace(reached) > 0 and np.trace(seen) > 0:
        t = float(np.trace(seen) / np.trace(reached)) ** 0.25
    return t * np.eye(len(reached)), np.eye(len(seen)) / t


def _balancing(reached: Array, seen: Array) -> tuple[Array, Array]:
    """Return T with ``T reached T^T = T^-T seen T^-1`` diagonal, and its inverse."""
    one = np.eye(len(reached))
    if not (np.trace(reached) > 0 and np.trace(seen) > 0):
        return one, one
    lower, other = (cholesky(X + _LEAST * np.trace(X) * one, lower=True) for X in (reached, seen))
    left, sizes, right = svd(other.T @ lower)
    root = np.sqrt(sizes)
    return (left.T @ other.T) / root[:, None], lower @ right.T / root


def _unit_scales(gains: Array, structure: Structure) -> tuple[Array, Array]:
    """Return by what entries of z, and of w, are divided so that the largest gains (columns of z, rows of w) are balanced.

    A full block's entries have the same scale; entries of other blocks one each, which commutes with them.
    """
    w, z, units = np.zeros(structure.shape[0], dtype=int), np.zeros(structure.shape[1], dtype=int), 0
    for block, own_w, own_z in zip(structure.blocks, structure.w, structure.z, strict=True):
        count = 1 if block.kind == "full" else block.repetitions
        w[own_w] = units + np.arange(count)
        z[own_z] = units + np.arange(count)
        units += count
    among = np.zeros((units, units))
    np.maximum.at(among, (z[:, None], w[None]), gains)
    among, (scales, _) = matrix_balance(among, permute=False, separate=True)
    out, into = np.linalg.norm(among, axis=0), np.linalg.norm(among, axis=1)
    size = np.minimum(out, into).max() or 1.0
    for k in np.flatnonzero((out == 0) != (into == 0)):  # nothing balances these: they are made no larger than what is balanced
        reached, seen = np.linalg.norm(among[k]), np.linalg.norm(among[:, k])
        scale = max(reached / size, 1.0) if reached else min(size / seen, 1.0)
        among[k], among[:, k], scales[k] = among[k] / scale, among[:, k] * scale, scales[k] * scale
    return scales[z], scales[w]
