"""Margins that all members of a family have, proved by skew mu with a block around a loop; and the worst members found.

Blocks that vary a factor f of a loop: for a disk a complex δ, of several loops one each; for a gain a real y in two
places, ``f = 1 + y²`` or ``1 / (1 + y²)``, so that one side alone is varied however far it goes; for a phase a real θ in
``f = (1 - j θ) / (1 + j θ)``, a lag of 2 arctan θ at each frequency that is positive. Delays are lags that grow with
frequency: they are proved in bands, where the lag at the end of the band is more than any.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from titop.blocks.basics.spatial import Array
from titop.blocks.basics.tolerances import COARSE, SAME, TINY
from titop.solvers.lft.delta_blocks import DeltaBlock, Structure
from titop.solvers.linear.matrices import Matrices
from titop.solvers.robust.branch_and_bound import CELLS, cells_spread
from titop.solvers.robust.exact_margins import LoopMargins, disk_ranges, exact_margins, peak_of_all
from titop.solvers.robust.member_search import EigenvalueSearch, GainSearch
from titop.solvers.robust.scalings import Centres
from titop.solvers.robust.sweep import sweep
from titop.solvers.robust.uncertain_loop import UncertainLoop
from titop.solvers.robust.upper_bound import upper_bound
from titop.solvers.robust.worst_case_gain import SkewSweep, bound_performance

#: Largest margins that are proved, one over the size of the block: factors of gain up to 101, phases up to 168 degrees.
_LEAST = 0.1

#: Bands of frequency in which delays are proved, before lags of those that are left limit them.
_BANDS = 60

#: Lags (rad) up to this turn a factor once, others twice.
_TURN = 0.9 * np.pi

#: Margins of a loop by name (phases in rad, delays in s), and their frequencies (rad/s) under ``"omega ..."``.
Row = dict[str, float]


class ProvedMargins(NamedTuple):
    """Margins that are proved and that are attained, by loop, all at once last; the worst members by loop and margin, that with
    the smallest disk, and labelled loops for pictures."""

    proved: list[Row]
    attained: list[Row]
    members: tuple[dict[str, dict[str, Any]], ...]
    worst: dict[str, Any]
    systems: tuple[tuple[str, Matrices], ...]


class _Bound(NamedTuple):
    """What is proved and what is attained, the frequency (rad/s) and the member of the last."""

    proved: float
    attained: float
    omega: float
    member: dict[str, Any]


class _Side(NamedTuple):
    """One margin of a loop as the size of a block: ``1 / value`` of the block, for a member and in what is proved.

    `block`: of the performance; `reach` (`LoopMargins` to value): zero where nothing limits the margin; `margin` (value to
    margin); `channels` (system with the loop's channels last): those of the block instead.
    """

    block: Callable[[int], list[DeltaBlock]]
    reach: Callable[[LoopMargins], float]
    margin: Callable[[float], float]
    channels: Callable[[Matrices, int], Matrices]
    letter: str


def _replace_last(system: Matrices, k: int, rows: Array, columns: Array, direct: Array) -> Matrices:
    """Return a system with its last k inputs and outputs multiplied, and more between them."""
    B, C, D = system.B, system.C, system.D
    n, m = B.shape[1] - k, len(C) - k
    before = np.zeros((n + k, n + columns.shape[1]))
    before[:n, :n], before[n:, n:] = np.eye(n), columns
    after = np.zeros((m + len(rows), m + k), dtype=rows.dtype)
    after[:m, :m], after[m:, m:] = np.eye(m), rows
    whole = (after @ D @ before).astype(np.result_type(after, direct))
    whole[m:, n:] += direct
    return Matrices(system.A, B @ before, after @ C, whole)


def _squared(system: Matrices, sign: float) -> Matrices:
    """Return the channels of y, twice in a row between what comes back and what is added, with ``f = (1 + y²)^sign``."""
    direct = np.array([[0.0, min(sign, 0.0)], [1.0, 0.0]])
    return _replace_last(system, 1, np.array([[1.0], [0.0]]), np.array([[0.0, sign]]), direct)


def _turned(system: Matrices, k: int) -> Matrices:
    """Return the channels of θ with ``f = (1 - j θ) / (1 + j θ)``, a lag of 2 arctan θ at positive frequencies."""
    return _replace_last(system, 1, np.array([[-2j]]), np.eye(1), np.array([[-1j]]))


def _late(system: Matrices, k: int, turns: int) -> Matrices:
    """Return the channels of y with ``f = ((1 - j y²) / (1 + j y²))^turns``, a lag alone, in each of k loops."""
    rows, columns, direct = np.zeros((2 * turns, 1), complex), np.zeros((1, 2 * turns)), np.zeros((2 * turns,) * 2, complex)
    rows[::2], columns[:, 1::2] = -2j, 1.0
    direct[::2, 1::2] = -2j * np.tri(turns) + 1j * np.eye(turns)
    direct[1::2, ::2] = np.eye(turns)
    return _replace_last(system, k, *(np.kron(np.eye(k), part) for part in (rows, columns, direct)))


def _in_disk(skew: float) -> _Side:
    return _Side(
        lambda k: [DeltaBlock.complex(f"disk {j}") for j in range(k)],
        lambda one: 1 / one.disk,
        lambda value: 1 / value if value else np.inf,
        lambda system, k: _replace_last(system, k, np.eye(k), np.eye(k), (1 + skew) / 2 * np.eye(k)),
        "",
    )


def margin_sides(skew: float) -> dict[str, _Side]:
    """Return the margins of one loop that are proved, by name."""
    return {
        "low": _Side(
            lambda k: [DeltaBlock.real("low", 2)],
            lambda one: float(np.sqrt(one.low / (1 - one.low))),
            lambda value: 1 / (1 + 1 / value**2) if value else 0.0,
            lambda system, k: _squared(system, -1.0),
            "g",
        ),
        "high": _Side(
            lambda k: [DeltaBlock.real("high", 2)],
            lambda one: float(1 / np.sqrt(one.high - 1)),
            lambda value: 1 + 1 / value**2 if value else np.inf,
            lambda system, k: _squared(system, 1.0),
            "g",
        ),
        "phase": _Side(
            lambda k: [DeltaBlock.real("phase")],
            lambda one: float(1 / np.tan(one.phase / 2)) if one.phase < np.pi else 0.0,
            lambda value: 2 * float(np.arctan(1 / value)) if value else np.pi,
            _turned,
            "p",
        ),
        "disk": _in_disk(skew),
    }


def _cut(band: tuple[float, float], middle: float) -> float:
    """Return a frequency within a band beside a middle one, the nearer to it the narrower the band is."""
    with np.errstate(divide="ignore"):
        near, far = sorted(abs(float(np.log(end / middle))) for end in band)
    sign = 1.0 if band[1] > middle else -1.0
    return middle * float(np.exp(sign * np.sqrt(near * (far if np.isfinite(far) else max(16 * near, 1.0)))))


@dataclass(frozen=True)
class MarginProof:
    """Margins that all members have.

    `loop`: with a channel for each loop behind those of the uncertainty, ranges centred.
    """

    loop: UncertainLoop
    names: tuple[str, ...]
    skew: float
    tolerance: float
    gap: float | None = None
    cells: int = CELLS
    progress: bool = False

    @property
    def uncertain(self) -> UncertainLoop:
        """The loop with the channels of the uncertainty alone."""
        structure = Structure.of(self.loop.structure.blocks[: -len(self.names)])
        return replace(self.loop, structure=structure)

    def run(self) -> ProvedMargins:
        """Return all that is proved, and what the worst members have."""
        count, sides = len(self.names), margin_sides(self.skew)
        unstable = EigenvalueSearch(self.uncertain.uncertain, self.uncertain.structure, 1.0).run()
        if unstable.value >= 1:
            return self._none(unstable.deltas, unstable.value)
        rows: list[tuple[Row, Row, dict[str, Any]]] = []
        for k in range(count):
            proved, attained, members = self._row({name: self.bound(side, [k]) for name, side in sides.items()}, sides)
            proved["delay"], attained["delay"], omega, members["delay"] = self._delay(k)
            proved["omega delay"] = attained["omega delay"] = omega
            rows.append((proved, attained, members))
        if count > 1:
            rows.append(self._row({"disk": self.bound(sides["disk"], range(count))}, sides))
            shortest = min((row[0] for row in rows[:-1]), key=lambda row: row["delay"])
            rows[-1][0]["delay"] = self.delay_of_all(shortest["delay"], shortest["omega delay"])
        worst = min(rows, key=lambda row: row[1]["disk"])[2]["disk"]
        every = tuple(row[2] for row in rows)
        return ProvedMargins([row[0] for row in rows], [row[1] for row in rows], every, worst, self._systems(every))

    def _systems(self, members: Sequence[dict[str, dict[str, Any]]]) -> tuple[tuple[str, Matrices], ...]:
        """Return the loops of the member in the middle of all ranges, and of those with the worst disks."""
        structure, count = self.uncertain.structure, len(self.names)
        (w, z), nothing = structure.shape, np.zeros(len(structure.real))
        result = []
        for k in range(-1, count):
            values, label = nothing, "middle of all ranges"
            if k >= 0:
                blocks = [structure.blocks[j] for j in structure.real]
                values = np.array([block.normalised(members[k]["disk"][block.name]) for block in blocks])
                label = f"worst, {self.names[k]}"
            closed = self.loop.system.close_loop(structure.real_matrix(values))
            result.append((label, closed.part(np.arange(z, z + count), np.arange(w, w + count))))
        return tuple(result)

    def _row(self, bounds: dict[str, _Bound], sides: dict[str, _Side]) -> tuple[Row, Row, dict[str, Any]]:
        """Return margins that are proved, that are attained, and the members, of one loop; of a disk alone its ranges."""
        proved = {name: sides[name].margin(one.proved) for name, one in bounds.items()}
        attained = {name: sides[name].margin(one.attained) for name, one in bounds.items()}
        for values in (proved, attained):
            values |= {f"omega {name}": one.omega for name, one in bounds.items()}
            if "phase" not in values:
                values |= dict(zip(("low", "high", "phase"), disk_ranges(values["disk"], self.skew), strict=True))
        return proved, attained, {name: one.member for name, one in bounds.items()}

    def _none(self, deltas: Sequence[Any], size: float) -> ProvedMargins:
        """Return the margins of a family with a member that is unstable or ill-posed."""
        member = self.uncertain.structure.values([delta / size for delta in deltas])
        row = {"low": 1.0, "high": 1.0, "phase": 0.0, "delay": 0.0, "disk": 0.0}
        rows = [dict(row) for _ in range(len(self.names) + (len(self.names) > 1))]
        return ProvedMargins(rows, rows, (), member, ())

    def _delay(self, place: int) -> _Bound:
        """Return a delay (s) that is proved, the shortest that is attained, its frequency (rad/s) and its member."""
        loop, (w, z) = self.uncertain, self.uncertain.structure.shape
        system = loop.system.part([*range(z), z + place], [*range(w), w + place])

        def peak(member: Matrices) -> tuple[float, float]:
            one = exact_margins(member, self.skew, loop.period * loop.rate, "p")
            return 1 / max(one.delay, TINY), one.omega[3]

        found = GainSearch(system, loop.structure, peak)
        best = found.run()
        member, attained = loop.structure.values(loop.structure.deltas(best.deltas)), 1 / best.value if best.value else np.inf
        where = loop.frequency(best.omega)
        proved = self._prove_delay(system, 1, attained, best.omega)
        return _Bound(proved / loop.rate, attained / loop.rate, where, member)

    def delay_of_all(self, shortest: float, omega: float) -> float:
        """Return a delay (s) that is proved for independent ones in all loops, from the shortest of one and its frequency."""
        k, (w, z), rate = len(self.names), self.uncertain.structure.shape, self.loop.rate
        system = self.loop.system.part(np.arange(z + k), np.arange(w + k))
        return self._prove_delay(system, k, shortest * rate, self.loop.warp(omega)) / rate

    def _prove_delay(self, system: Matrices, k: int, wanted: float, middle: float) -> float:
        """Return a delay of each of k loops, independent ones, that all members stand; times are those of the system.

        In each band of frequencies the gain of the loops is below one, whatever the phase, or the lag that this delay has at
        the band's end is stood. Bands in which neither can be shown are cut in two; what very narrow ones stand limits it.

        `wanted`: what is not to be passed; `middle`: a frequency at which it is critical.
        """
        if not wanted > TINY:
            return 0.0
        proved, middle = wanted * (1 - self.tolerance), middle if 0 < middle < np.inf else 1.0
        near = self.tolerance / 4
        below, above = middle * (1 - near), middle * (1 + near)
        bands, count = [(0.0, below), (above, np.inf), (below, above)], 0
        while bands and proved:
            (low, high), count = bands.pop(), count + 1
            end = self._true(high)
            if self._is_low(system, k, (low, high)) or self._stands(system, k, (low, high), end * proved):
                continue
            if high <= low * (1 + self.tolerance) or count > _BANDS:
                proved = min(proved, self._lag(system, k, (low, high), end * proved) / end)
            else:
                cut = _cut((low, high), middle)
                bands += [(low, cut), (cut, high)]
        return proved

    def _true(self, omega: float) -> float:
        """Return the frequency of the loop, in parts of its rate, for one of the system."""
        period = self.loop.period * self.loop.rate
        return 2 / period * float(np.arctan(omega * period / 2)) if period else omega

    def _is_low(self, system: Matrices, k: int, band: tuple[float, float]) -> bool:
        """Tell whether the gain of the open loops is shown to be below one in all members, in a band."""
        w, z = self.uncertain.structure.shape
        wires = np.zeros((w + k, z + k))
        wires[w:, z:] = -np.eye(k)
        middle = band[1] / 2 if not band[0] else 2 * band[0] if np.isinf(band[1]) else float(np.sqrt(band[0] * band[1]))
        gains = [DeltaBlock.complex(f"gain {j}") for j in range(k)]
        centres = Centres(Structure.of([*self.uncertain.structure.blocks, *gains]))
        try:
            opened = system.close_loop(wires)
            if np.abs(np.linalg.eigvals(opened.response(middle)[z:, w:])).max() >= 1:
                return False
            return sweep(centres, opened, 1.0, tolerance=COARSE, progress=False, band=band).proved
        except np.linalg.LinAlgError:  # no open loop, or its poles on the axis
            return False

    def _stands(self, system: Matrices, k: int, band: tuple[float, float], lag: float) -> bool:
        return lag < 2 * _TURN and self._lag(system, k, band, lag, False) >= lag * (1 - SAME)

    def _lag(self, system: Matrices, k: int, band: tuple[float, float], most: float, raised: bool = True) -> float:
        """Return lags (rad) that all members are shown to stand in a band: `most`, or less (`raised`), or none."""
        most = min(most, 2 * _TURN)
        turns = 1 if most < _TURN else 2
        blocks = [DeltaBlock.real(f"lag {j}", 2 * turns) for j in range(k)]
        unit = 1 / float(np.sqrt(np.tan(most / 2 / turns)))
        skew = SkewSweep(self.uncertain.structure, _late(system, k, turns), blocks, unit)
        proof = skew.run(raised, self.tolerance, band=band)
        return 2 * turns * float(np.arctan(1 / (unit * proof.level) ** 2)) if proof.proved else 0.0

    def _search_all(self, system: Matrices) -> GainSearch:
        """Return a search for the worst disk of several loops at once, after its run.

        It climbs the gain in those units of the loops that are best in the middle of all ranges: quick to differentiate.
        """
        structure, (w, z) = self.uncertain.structure, self.uncertain.structure.shape
        middle = system.part(np.arange(z, len(system.C)), np.arange(w, system.B.shape[1]))
        centres = Centres(Structure.of([DeltaBlock.complex(f"disk {j}") for j in range(len(self.names))]))
        bound = upper_bound(centres, middle.response(peak_of_all(middle)[1]))
        units = np.sqrt(np.diag(centres.scaling(bound.x, bound.g).D_z).real)
        scaled = system.scale(np.concatenate([np.ones(z), units]), np.concatenate([np.ones(w), 1 / units]))
        worst, found = GainSearch(scaled, structure).run(), GainSearch(system, structure, peak_of_all)
        for deltas in (np.zeros(len(structure.real)), worst.deltas):
            found.look(deltas)
        return found

    def bound(self, side: _Side, places: Sequence[int]) -> _Bound:
        """Return what is proved and attained of a margin, as values; the frequency (rad/s) and the member of the last."""
        loop, (w, z), k = self.uncertain, self.uncertain.structure.shape, len(places)
        system = loop.system.part([*range(z), *(z + j for j in places)], [*range(w), *(w + j for j in places)])

        def peak(member: Matrices) -> tuple[float, float]:
            one = exact_margins(member, self.skew, loop.period * loop.rate, side.letter)
            at = {"low": 0, "high": 1, "phase": 2}[side.block(1)[0].name]
            return side.reach(one), one.omega[at]

        channels, options = side.channels(system, k), (self.gap, self.cells, self.tolerance)
        if k > 1:
            found = self._search_all(channels)
        else:  # of a disk a gain, which has derivatives
            found = GainSearch(system, loop.structure, peak) if side.letter else GainSearch(channels, loop.structure)
            found.run()
        with cells_spread(1, None) as spread:
            bound = bound_performance(loop, channels, side.block(k), found, options, self.progress, spread, _LEAST)
        best = found.best
        member = loop.structure.values(loop.structure.deltas(best.deltas))
        return _Bound(bound.upper, best.value, loop.frequency(best.omega), member)
