"""The blocks of an uncertainty: their parameters, repetitions, normalisation, channels, and where they stand in Δ."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol

import numpy as np

from titop.blocks.basics.errors import Finding, ModelError
from titop.blocks.basics.spatial import Array
from titop.solvers.lft.fractions import Fractional, degrees
from titop.solvers.signals.exported import Signal

if TYPE_CHECKING:
    from control import StateSpace

#: Kinds of blocks: ``δ I`` with a real or a complex δ, or a full complex matrix.
BlockKind = Literal["real", "complex", "full"]


class DeltaBlock(NamedTuple):
    """One block of ``w = Δ z``, normalised: ``|δ| <= 1``, or for a full block ``σ_max <= 1``.

    A real block stands for a parameter that is a linear fractional function of δ,

        value = nominal + a δ / (1 + b δ),

    `lower` at -1, `nominal` at 0, `upper` at 1: nominal values off the middle of their range cost no further repetition. If the
    nominal value is at an end of its range, there is no such function: then the middle is at 0. Bounds of robustness measure
    sizes from the middle of each range, wherever the nominal value is. For an angle the same holds for the tangent of its part,
    measured from the middle of the range: ``tan((value - middle) / part)``.

    Attributes
    ----------
    name : str
    kind : {"real", "complex", "full"}
    repetitions : int
        Number of occurrences of δ on the diagonal; for a full block its number of rows, the size of its `w`.
    columns : int
        Size of its `z`: equal to the repetitions, except for full blocks.
    lower, upper, nominal : float
        Range and nominal value of a parameter, in `unit`; -1, 1 and 0 for complex and full blocks.
    unit : str
    degree : int or None
        Least number of repetitions of any model with the same response, if known.
    part : {0, 2, 4}
        For angles that enter by the tangent of their half or quarter; 0 for others.
    of_outputs : bool
        Whether a block of neglected dynamics adds to outputs of a model, and is sampled where these are.

    Examples
    --------
    >>> mass = DeltaBlock.real("hub.mass", 3, lower=90.0, upper=120.0, nominal=100.0, unit="kg")
    >>> [round(mass.value(delta), 12) for delta in (-1, 0, 1)]
    [90.0, 100.0, 120.0]
    """

    name: str
    kind: BlockKind
    repetitions: int
    columns: int
    lower: float = -1.0
    upper: float = 1.0
    nominal: float = 0.0
    unit: str = ""
    degree: int | None = None
    part: int = 0
    of_outputs: bool = False

    @classmethod
    def real(
        cls,
        name: str,
        repetitions: int = 1,
        lower: float = -1.0,
        upper: float = 1.0,
        nominal: float | None = None,
        unit: str = "",
        degree: int | None = None,
    ) -> DeltaBlock:
        """Return a repeated real block.

        `name`, `repetitions`, `lower`, `upper`, `nominal` (the middle of the range by default), `unit`, `degree`: as in the
        class.
        """
        middle = (lower + upper) / 2 if nominal is None else nominal
        return cls(name, "real", repetitions, repetitions, lower, upper, middle, unit, degree)

    @classmethod
    def complex(cls, name: str, repetitions: int = 1) -> DeltaBlock:
        """Return a repeated complex block with a `name` and a number of `repetitions`."""
        return cls(name, "complex", repetitions, repetitions)

    @classmethod
    def full(cls, name: str, rows: int = 1, columns: int | None = None) -> DeltaBlock:
        """Return a full complex block with a `name`, of `rows` x `columns`, square by default."""
        return cls(name, "full", rows, rows if columns is None else columns)

    @property
    def centre(self) -> float:
        """The value, in `unit`, at δ = 0: the nominal one, or the middle if that is an end of the range."""
        return self.nominal if self.lower < self.nominal < self.upper else (self.lower + self.upper) / 2

    @property
    def fraction(self) -> tuple[float, float]:
        """The numbers ``a`` (in `unit`, or that of a tangent) and ``b`` in the value's formula."""
        lower, centre, upper = map(self._entering, (self.lower, self.centre, self.upper))
        above, below = upper - centre, centre - lower
        return 2 * above * below / (above + below), (below - above) / (below + above)

    def value(self, delta: float) -> float:
        """Return the parameter's value, in its unit, at a normalised value `delta`."""
        a, b = self.fraction
        entering = self._entering(self.centre) + a * delta / (1 + b * delta)
        return (self.lower + self.upper) / 2 + self.part * math.atan(entering) if self.part else entering

    def normalised(self, value: float) -> float:
        """Return δ for a parameter's `value` in its unit; beyond ±1 outside the range, where one value's may be infinite."""
        a, b = self.fraction
        beyond = self._entering(value) - self._entering(self.centre)
        return beyond / (a - b * beyond) if a != b * beyond else math.inf

    def _entering(self, value: float) -> float:
        """Return the number by which a value enters a model: the value, or a tangent."""
        return math.tan((value - (self.lower + self.upper) / 2) / self.part) if self.part else value


# -- channels --------------------------------------------------------------------------------------------------------------


class Connectable(Protocol):
    """A linear fractional model."""

    @property
    def M(self) -> StateSpace: ...
    @property
    def blocks(self) -> tuple[DeltaBlock, ...]: ...
    @property
    def channels(self) -> tuple[int, int]: ...


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


def channel_counts(blocks: Sequence[DeltaBlock]) -> tuple[int, int]:
    """Return the numbers of entries of w and z."""
    return sum(block.repetitions for block in blocks), sum(block.columns for block in blocks)


def channel_order(blocks: Sequence[DeltaBlock], size: str, real: int, total: int) -> list[int]:
    """Return where channels stand in the order of blocks, and all after them, if those of real blocks come first.

    These, and what else stands before the others, are `real`; `size` is ``"repetitions"`` or ``"columns"``.
    """
    at, result = {True: 0, False: real}, list[int]()
    for block in blocks:
        is_real, count = block.kind == "real", getattr(block, size)
        result += range(at[is_real], at[is_real] + count)
        at[is_real] += count
    return [*result, *range(at[False], total)]


def with_degrees(M: StateSpace, blocks: Sequence[DeltaBlock], sampled: bool) -> tuple[DeltaBlock, ...]:
    """Return the blocks of a model with the least numbers of repetitions of its real ones."""
    count = sum(block.kind == "real" for block in blocks)
    least = iter(degrees(real_fraction(M, blocks), count, np.random.default_rng(0), sampled))
    return tuple(block._replace(degree=next(least)) if block.kind == "real" else block for block in blocks)


def slices(sizes: Sequence[int]) -> tuple[slice, ...]:
    """Return the slices of consecutive parts of some sizes."""
    return tuple(slice(a, b) for a, b in pairwise(np.cumsum([0, *sizes]).tolist()))


# -- the uncertainty around which a loop closes -----------------------------------------------------------------------------


@dataclass(frozen=True)
class Structure:
    """Blocks of ``w = Δ z``, and the entries of `w` and of `z` that are theirs, by block."""

    blocks: tuple[DeltaBlock, ...]
    w: tuple[slice, ...]
    z: tuple[slice, ...]

    @classmethod
    def of(cls, blocks: Sequence[DeltaBlock]) -> Structure:
        """Return the structure of blocks that follow each other.

        Raises `ModelError` for blocks that are none, of unknown kinds, or without a size.
        """
        if findings := [finding for k, block in enumerate(blocks) for finding in _wrong(k, block)]:
            raise ModelError(findings)
        return cls(tuple(blocks), slices([b.repetitions for b in blocks]), slices([b.columns for b in blocks]))

    @property
    def shape(self) -> tuple[int, int]:
        """Sizes of `w` and `z`."""
        return channel_counts(self.blocks)

    @property
    def real(self) -> tuple[int, ...]:
        """Places of the real blocks among all."""
        return tuple(k for k, block in enumerate(self.blocks) if block.kind == "real")

    @property
    def is_real(self) -> bool:
        """Whether all blocks are real."""
        return len(self.real) == len(self.blocks)

    def entries(self, places: Sequence[int]) -> tuple[Array, Array]:
        """Return the entries of `z`, and of `w`, that are some blocks'."""
        rows, columns = (np.concatenate([np.r_[side[k]] for k in places]) for side in (self.z, self.w))
        return rows, columns

    def matrix(self, deltas: Sequence[Any]) -> Array:
        """Return Δ (rows of w, columns of z; no unit) from a number or a matrix for each block."""
        delta = np.zeros(self.shape, dtype=np.result_type(float, *deltas))
        for block, w, z, value in zip(self.blocks, self.w, self.z, deltas, strict=True):
            delta[w, z] = value if block.kind == "full" else value * np.eye(block.repetitions)
        return delta

    def values(self, deltas: Sequence[Any]) -> dict[str, Any]:
        """Return the values by name, parameters in their own units, from one for each block."""
        return {b.name: b.value(float(d)) if b.kind == "real" else d for b, d in zip(self.blocks, deltas, strict=True)}

    def deltas(self, real: Array | Sequence[float]) -> list[Any]:
        """Return a number or a matrix for each block (no unit): those of the real blocks, zero of the others."""
        deltas: list[Any] = [np.zeros((b.repetitions, b.columns)) if b.kind == "full" else 0.0 for b in self.blocks]
        for k, delta in zip(self.real, real, strict=True):
            deltas[k] = float(delta)
        return deltas

    def real_matrix(self, real: Array | Sequence[float]) -> Array:
        """Return Δ with numbers of the real blocks, all others zero."""
        return self.matrix(self.deltas(real))


def _wrong(k: int, block: Any) -> list[Finding]:
    where = f"blocks[{k}]"
    if not isinstance(block, DeltaBlock):
        return [Finding("wrong-type", where, block, "a DeltaBlock", "such as DeltaBlock.real('hub.mass', 3)")]
    where = f"{where} {block.name!r}"
    if block.kind not in ("real", "complex", "full"):
        return [Finding("bad-block", where, block.kind, "real, complex or full", "use DeltaBlock.real, .complex or .full")]
    if block.repetitions < 1 or block.columns < 1 or (block.kind != "full" and block.columns != block.repetitions):
        got = f"{block.repetitions} x {block.columns}"
        return [Finding("bad-block", where, got, "one repetition or more, square but for full blocks", "check the sizes")]
    if not (block.lower < block.upper and block.lower <= block.nominal <= block.upper):
        got = f"{block.lower} .. {block.nominal} .. {block.upper}"
        return [Finding("bad-range", where, got, "lower <= nominal <= upper", "take a nominal value inside the range")]
    return []
