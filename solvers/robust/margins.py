"""Stability margins of control loops, of one model, over a grid, and proved for a family: `margins`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy.optimize import minimize_scalar

from titop.blocks.basics.errors import Finding, ModelError
from titop.blocks.basics.spatial import Array
from titop.blocks.basics.tolerances import CLOSE, COARSE, NEGLIGIBLE, TINY, TYPED
from titop.blocks.basics.user_input import real_array
from titop.solvers.control.loop_list import Loop, read_loops
from titop.solvers.lft.delta_blocks import DeltaBlock, Structure, channel_signals
from titop.solvers.lft.lft_model import LFTModel
from titop.solvers.linear.lpv_model import LPVModel
from titop.solvers.linear.matrices import Matrices
from titop.solvers.linear.state_space import named_signals, named_system, positions, read_linear
from titop.solvers.robust.branch_and_bound import CELLS, cells_spread
from titop.solvers.robust.exact_margins import LoopMargins, disk_ranges, exact_margins, offset
from titop.solvers.robust.margin_plots import draw_loops, draw_over
from titop.solvers.robust.member_search import EigenvalueSearch, GainSearch, peak_gain
from titop.solvers.robust.scalings import Centres
from titop.solvers.robust.sweep import sweep
from titop.solvers.robust.uncertain_loop import (
    UncertainLoop,
    centre_ranges,
    check_branching,
    check_stable,
    read_loop,
)
from titop.solvers.robust.upper_bound import upper_bound
from titop.solvers.robust.worst_case_gain import SkewSweep, bound_performance
from titop.solvers.support.workers import one_thread

if TYPE_CHECKING:
    from control import StateSpace
    from matplotlib.figure import Figure

#: Name of the row of all loops at once.
ALL = "all at once"

#: Largest margins that are proved, one over the size of the block: factors of gain up to 101, phases up to 168 degrees.
_LEAST = 0.1

#: Bands of frequency in which delays are proved, before lags of those that are left limit them.
_BANDS = 60


@dataclass(frozen=True)
class Margins:
    """Stability margins, one row for each loop, and a last one for all loops at once where there are several.

    Of a family the margins are proved: every member is stable with any smaller change. Over a grid all arrays have its axes
    first. The margins of all loops at once are for changes that are independent and simultaneous; their gains and phases are
    those of the disk.

    Attributes
    ----------
    loops : tuple of str
        Names of the rows.
    gain : array (..., n, 2), no unit
        Factors of the loop's gain between which it stays stable: 0 and infinity where nothing limits them.
    phase : array (..., n), degrees
        Lag or lead, the smaller of both; 180 where no phase matters.
    delay : array (..., n), s
        Infinite where no delay matters. Of a sampled loop, its phase lag over the frequency, so that whole samples are delays of
        its commands. Not a number for all loops at once.
    disk : array (..., n), no unit
        Size of the disk of factors, see `margins`.
    omega : array (..., n, 5), rad/s
        Frequencies of the lower and the upper gain, the phase, the delay and the disk; not a number where there is none.
    member : dict
        Parameters of the member with the smallest disk margin, of a family or a grid.
    members : tuple of dict
        For each row by margin (``"low"``, ``"high"``, ``"phase"``, ``"disk"``), the worst member found, of a family.
    attained : Margins or None
        The exact margins of these members: what is proved is no larger.
    skew : float
    parameters : dict of str to array
        Of a grid.
    systems : tuple of (str, Matrices)
        Labels, and what comes back in each loop of what is added there: for `plot`.
    """

    loops: tuple[str, ...]
    gain: Array
    phase: Array
    delay: Array
    disk: Array
    omega: Array
    member: dict[str, Any]
    members: tuple[dict[str, dict[str, Any]], ...] = ()
    attained: Margins | None = None
    skew: float = 0.0
    parameters: Mapping[str, Array] | None = None
    systems: tuple[tuple[str, Matrices], ...] = field(default=(), repr=False)

    def plot(self) -> Figure:
        """Draw, for each loop, a Nichols chart with what the disk excludes, and the disk of factors; over a grid the margins.

        Of a family, loops in the middle of all ranges and of the members with the worst disk; excluded is what is proved.
        """
        if self.parameters is not None:
            return draw_over(self.loops, self.parameters, self.gain, self.phase, self.delay, self.disk)
        if not self.systems:
            got, advice = "an unstable member", "see .member"
            raise ModelError(Finding("no-margins", "plot", got, "a family without one", advice))
        return draw_loops(self.loops, self.disk, self.skew, self.systems)

    def __str__(self) -> str:
        smallest = {name: getattr(self, name).reshape(-1, len(self.loops)) for name in ("phase", "delay", "disk")}
        gain = self.gain.reshape(-1, len(self.loops), 2)
        rows = [
            f"{name}: gain {gain[:, k, 0].max():.4g} to {gain[:, k, 1].min():.4g}, phase {smallest['phase'][:, k].min():.4g} deg, "
            f"delay {smallest['delay'][:, k].min():.4g} s, disk {smallest['disk'][:, k].min():.4g}"
            for k, name in enumerate(self.loops)
        ]
        return "\n".join(rows)


@one_thread()
def margins(
    loop: Any,
    at: str | Sequence[str] | None = None,
    skew: float = 0.0,
    gap: float | None = None,
    *,
    controller: Any = None,
    sign: int = 1,
    blocks: Sequence[DeltaBlock] | None = None,
    cells: int = CELLS,
    tolerance: float = NEGLIGIBLE / 2,
    progress: bool = True,
) -> Margins:
    """Return by how much gain, phase and delay of control loops may change, each alone and all at once.

    Each loop is multiplied by a factor f while all others are closed. Gain: f is real; phase: ``f = exp(-j φ)``, for lags and
    leads; delay: ``f = exp(-s τ)``; disk: any f of

        f = (1 + (1 - σ) δ / 2) / (1 - (1 + σ) δ / 2),     |δ| <= disk,

    gain and phase at once, with the skew σ (Seiler, Packard, Gahinet 2020). At zero gains may rise as much as fall, at one the
    disk is that of S, at minus one that of T. For all loops at once each has a δ of its own.

    Of one model the margins are eigenvalues of pencils, exact without a grid. Of a family they are proved for all members and
    all frequencies, by skew mu with a block around the loop, complex for a disk, real for gain and phase. Parameters
    and changes are constant in time.

    What `loop` and `at` are:

    - an open loop L, such as ``P * K``: with u = r - L u the loops of its inputs, `at` some of these;
    - with a `controller`, a plant: `at` are inputs that the controller drives (all of them by default) or outputs that it takes,
      connected by names as in `LFTModel.close`, ``u = u_outside + K y``;
    - a closed LFTModel: `at` are blocks by which it was opened before, ``plant.append("break", "hinge").close(K)``, with weight 1.

    Parameters
    ----------
    loop : control.StateSpace, control.TransferFunction, LPVModel, LFTModel, or sequence of the first two
        Sampled ones too. Of an LPVModel and a sequence, members are looked at one by one.
    at : str or sequence of str, optional
    skew : float
    gap : float, optional
        Branch over the box of a family's real parameters until margins are this close to those of members; may take minutes.
    controller : control.StateSpace, control.TransferFunction or Loop, or a list of these, optional
    sign : {1, -1}
        Of the controller, as in `LFTModel.close`.
    blocks : sequence of DeltaBlock, optional
        For a state space, whose first channels are theirs.
    cells : int
        Largest number of parts of the box that branching examines.
    tolerance : float
        Relative tolerance of what is proved.
    progress : bool
        Show a progress bar on a terminal when it takes longer than a second.

    Returns
    -------
    Margins

    Raises
    ------
    ModelError
        For loops that are not square or not stable, signals and blocks that are not there, and unusable numbers.

    Examples
    --------
    >>> import control, titop as tt
    >>> L = control.tf([25], [1, 10, 10, 10])
    >>> found = tt.margins(L)
    >>> found.gain.round(2).tolist(), found.phase.round(1).tolist(), found.disk.round(2).tolist()
    ([[0.0, 3.6]], [29.1], [0.46])
    """
    number = real_array(skew)
    if number is None or number.ndim or not np.isfinite(number):
        raise ModelError(Finding("bad-value", "skew", skew, "a finite number", "0 for gains that rise as much as fall"))
    if isinstance(loop, LPVModel | list | tuple):
        return _over_grid(loop, at, float(skew), controller, sign)
    uncertain, names = _read(loop, at, controller, sign, blocks)
    if len(uncertain.structure.blocks) == len(names):
        return replace(_of_members([(uncertain, names)], float(skew)), systems=(("open loop", uncertain.system),))
    check_branching(uncertain.structure, gap, cells)
    return _Family(centre_ranges(uncertain), names, float(skew), gap, cells, tolerance, progress).margins()


# -- loops that are opened -----------------------------------------------------------------------------------------------------


def _read(loop: Any, at: Any, controller: Any, sign: int, blocks: Any) -> tuple[UncertainLoop, tuple[str, ...]]:
    """Return a closed loop with complex blocks where it is opened, the last ones, and their names."""
    model = loop
    if not isinstance(loop, LFTModel):
        model = LFTModel(read_linear("loop", loop), tuple(Structure.of(blocks or ()).blocks), ())
    names = None if at is None else [at] if isinstance(at, str) else list(at)
    if controller is not None:
        model, names = _close(model, names, controller, sign)
    known = {block.name: k for k, block in enumerate(model.blocks) if block.kind != "real"}
    if names and all(name in known for name in names):
        system, opened = Matrices.of(model.M), [known[name] for name in names]
    elif model.blocks and names is None and (model.members is not None and model.members.closings):
        advice = 'open it before: plant.append("break", "hinge").close(K), at="break"; or give controller=K instead'
        raise ModelError(Finding("closed-loop", "at", None, f"one of the blocks {', '.join(known) or '(none)'}", advice))
    else:
        return _of_open_loop(model, names)
    structure = Structure.of(model.blocks)
    others = [k for k in range(len(model.blocks)) if k not in opened]
    for k in opened:
        if structure.blocks[k].repetitions != structure.blocks[k].columns:
            expected, advice = "as many rows as columns", "append it with a weight of 1"
            raise ModelError(Finding("bad-block", "at", structure.blocks[k].name, expected, advice))
    w, z = (np.concatenate([np.r_[side[k]] for k in [*others, *opened]]) for side in (structure.w, structure.z))
    labels = [
        structure.blocks[k].name + (f"[{j}]" if structure.blocks[k].repetitions > 1 else "")
        for k in opened
        for j in range(structure.blocks[k].repetitions)
    ]
    return _named_loop(model, system.part(z, w), [structure.blocks[k] for k in others], labels)


def _close(model: LFTModel, names: list[str] | None, controller: Any, sign: int) -> tuple[LFTModel, list[str]]:
    """Return the loop of a plant that was opened at some inputs or outputs, and the names of its blocks there."""
    (w, z), (_, inputs, outputs) = model.channels, named_signals(model.M)
    signals = [*inputs[w:], *outputs[z:]]
    if names is None:
        loops = read_loops(Loop(controller))
        driven = [label for each in loops for label in read_linear("controller", each.controller).output_labels]
        names = list(dict.fromkeys(driven))
    paths = [signals[k].path for k in positions("at", names, signals)]
    for path in paths:
        model = model.append(path, path)
    return model.close(controller, sign=sign), paths


def _of_open_loop(model: LFTModel, names: list[str] | None) -> tuple[UncertainLoop, tuple[str, ...]]:
    """Return an open loop with negative feedback."""
    system, (w, z), (_, inputs, _) = Matrices.of(model.M), model.channels, named_signals(model.M)
    count, rows = system.B.shape[1] - w, len(system.C) - z
    if count != rows or not count:
        expected = "as many inputs as outputs: an open loop L, with u = r - L u"
        advice = "multiply by the controller, or give it as controller="
        raise ModelError(Finding("not-square", "loop", f"{rows} outputs, {count} inputs", expected, advice))
    places = list(range(count)) if names is None else positions("at", names, inputs[w:])
    wires = np.zeros((w + count, z + count))
    wires[w:, z:] = -np.eye(count)
    try:
        closed = system.close_loop(wires)
    except np.linalg.LinAlgError:
        advice = "add an actuator's or a sensor's delay"
        raise ModelError(Finding("algebraic-loop", "loop", "1 + L singular", "a loop with a solution at once", advice)) from None
    sides = np.concatenate([np.ones(z), -np.ones(count)])
    opened = [w + k for k in places], [z + k for k in places]
    part = closed.scale(sides).part([*range(z), *opened[1]], [*range(w), *opened[0]])
    return _named_loop(model, part, list(model.blocks), [inputs[w + k].path for k in places])


def _named_loop(
    model: LFTModel, system: Matrices, blocks: list[DeltaBlock], labels: list[str]
) -> tuple[UncertainLoop, tuple[str, ...]]:
    """Return the stable loop of channels of blocks, and of those at which it is opened behind them."""
    every = [*blocks, *(DeltaBlock.complex(f"loop {label}") for label in labels)]
    new_w, new_z = channel_signals(every)
    named = named_system(system, named_signals(model.M)[0], new_w, new_z, str(model.M.name), model.M.dt or 0.0)
    loop = read_loop(named, every)
    check_stable(loop, "loop", "check the signs: an open loop has u = r - L u, a controller u = K y; see sign=-1")
    return loop, tuple(labels)


# -- of one model, and over a grid -----------------------------------------------------------------------------------------------


def _over_grid(models: Any, at: Any, skew: float, controller: Any, sign: int) -> Margins:
    """Return the margins of members."""
    if isinstance(models, LPVModel):
        places = [tuple(place) for place in np.argwhere(models.valid).tolist()]
        systems: list[Any] = [
            named_system(
                [getattr(models, name)[place] for name in "ABCD"], models.states, models.inputs, models.outputs, models.name
            )
            for place in places
        ]
        shape, parameters = models.shape, dict(models.parameters)
    else:
        systems, shape = list(models), (len(models),)
        places, parameters = [(k,) for k in range(len(systems))], {"model": np.arange(len(systems), dtype=float)}
    if not systems:
        raise ModelError(Finding("no-members", "loop", models, "one model at least", "see .valid of an LPVModel"))
    loops = []
    for place, system in zip(places, systems, strict=True):
        try:
            loops.append(_read(system, at, controller, sign, None))
        except ModelError as error:
            raise ModelError([replace(one, where=f"{one.where} of member {place}") for one in error.findings]) from None
    if len({names for _, names in loops}) > 1:
        raise ModelError(Finding("other-signals", "loop", "models with other inputs", "the same loops in all", "name them alike"))
    result = _of_members(loops, skew)
    worst = places[int(np.argmin(result.disk.reshape(len(places), -1).min(axis=1)))]
    grids = parameters.values() if len(shape) < 2 else np.meshgrid(*parameters.values(), indexing="ij")
    member = {name: float(values[worst]) for name, values in zip(parameters, grids, strict=True)}
    spread = {}
    for name in ("gain", "phase", "delay", "disk", "omega"):
        values = getattr(result, name).reshape(len(places), *_shape(name, len(result.loops)))
        spread[name] = np.full((*shape, *values.shape[1:]), np.nan)
        for place, value in zip(places, values, strict=True):
            spread[name][place] = value
    return replace(result, **spread, member=member, parameters=parameters)


def _shape(name: str, count: int) -> tuple[int, ...]:
    return {"gain": (count, 2), "omega": (count, 5)}.get(name, (count,))


def _of_members(loops: Sequence[tuple[UncertainLoop, tuple[str, ...]]], skew: float) -> Margins:
    """Return the exact margins of loops without uncertainty, one model after the other."""
    names, rows = loops[0][1], []
    for loop, _ in loops:
        rate, count = loop.rate, len(names)
        each = [exact_margins(loop.system.part([k], [k]), skew, loop.period * rate) for k in range(count)]
        if count > 1:
            each.append(_together(loop.system, skew))
        rows.append([_in_units(one, loop) for one in each])
    table = {name: np.array([[row[name] for row in each] for each in rows]) for name in rows[0][0]}
    if len(loops) == 1:
        table = {name: values[0] for name, values in table.items()}
    return Margins((*names, ALL) if len(names) > 1 else names, **table, member={}, skew=skew)


def _in_units(one: LoopMargins, loop: UncertainLoop) -> dict[str, Any]:
    """Return margins in degrees and s, and the frequencies in rad/s."""
    return {
        "gain": (one.low, one.high),
        "phase": np.degrees(one.phase),
        "delay": one.delay / loop.rate,
        "disk": one.disk,
        "omega": [loop.frequency(omega) for omega in one.omega],
    }


def _together(system: Matrices, skew: float) -> LoopMargins:
    """Return the margins of all loops of a stable system at once: of the disk, proved to 1e-6 or so."""
    size, omega = _peak_of_all(offset(system, (1 + skew) / 2))
    disk = 1 / size if size else np.inf
    low, high, phase = disk_ranges(disk, skew)
    return LoopMargins(low, high, phase, np.nan, disk, (omega, omega, omega, np.nan, omega))


def _peak_of_all(system: Matrices) -> tuple[float, float]:
    """Return the highest value of mu, with a complex number in each loop, and its frequency."""
    centres = Centres(Structure.of([DeltaBlock.complex(f"loop {k}") for k in range(len(system.D))]))
    first = sweep(centres, system, max(TYPED, float(np.abs(system.D).max())), True, NEGLIGIBLE, progress=False)

    def value(logarithm: float) -> float:
        return upper_bound(centres, system.response(float(np.exp(logarithm))), TYPED**2).level

    omega, height = first.omega, value(np.log(first.omega)) if 0 < first.omega < np.inf else 0.0
    if height:
        around = np.log(omega) + np.array([-0.1, 0.1])
        better = minimize_scalar(lambda x: -value(x), bounds=around, method="bounded", options={"xatol": TYPED})
        height, omega = max((height, omega), (-better.fun, float(np.exp(better.x))))
    else:
        height = upper_bound(centres, system.response(omega), TYPED**2).level
    for tolerance in (TYPED, CLOSE):
        proof = sweep(centres, system, height * (1 + tolerance), tolerance=tolerance, progress=False, known=first.known)
        if proof.proved:
            return proof.level, omega
    return first.bound, omega


# -- proved for a family ---------------------------------------------------------------------------------------------------------


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


def _raised(system: Matrices, k: int) -> Matrices:
    """Return the channels of y with ``f = 1 + y²``: twice in a row between what comes back and what is added."""
    return _replace_last(system, 1, np.array([[1.0], [0.0]]), np.array([[0.0, 1.0]]), np.array([[0.0, 0.0], [1.0, 0.0]]))


def _lowered(system: Matrices, k: int) -> Matrices:
    """Return the channels of y with ``f = 1 / (1 + y²)``."""
    return _replace_last(system, 1, np.array([[1.0], [0.0]]), np.array([[0.0, -1.0]]), np.array([[0.0, -1.0], [1.0, 0.0]]))


def _turned(system: Matrices, k: int) -> Matrices:
    """Return the channels of θ with ``f = (1 - j θ) / (1 + j θ)``, a lag of 2 arctan θ, at frequencies that are positive."""
    return _replace_last(system, 1, np.array([[-2j]]), np.eye(1), np.array([[-1j]]))


def _late(system: Matrices, k: int) -> Matrices:
    """Return the channels of y with ``f = (1 - j y²) / (1 + j y²)``, a lag alone."""
    return _replace_last(
        system, 1, np.array([[-2j], [0.0]]), np.array([[0.0, 1.0]]), np.array([[0.0, -1j], [1.0, 0.0]])
    )


def _in_disk(skew: float) -> _Side:
    return _Side(
        lambda k: [DeltaBlock.complex(f"disk {j}") for j in range(k)],
        lambda one: 1 / one.disk,
        lambda value: 1 / value if value else np.inf,
        lambda system, k: _replace_last(system, k, np.eye(k), np.eye(k), (1 + skew) / 2 * np.eye(k)),
        "d",
    )


def _sides(skew: float) -> dict[str, _Side]:
    """Return the margins of one loop that are proved, by name."""
    return {
        "low": _Side(
            lambda k: [DeltaBlock.real("low", 2)],
            lambda one: float(np.sqrt(one.low / (1 - one.low))),
            lambda value: 1 / (1 + 1 / value**2) if value else 0.0,
            _lowered,
            "g",
        ),
        "high": _Side(
            lambda k: [DeltaBlock.real("high", 2)],
            lambda one: float(1 / np.sqrt(one.high - 1)),
            lambda value: 1 + 1 / value**2 if value else np.inf,
            _raised,
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
class _Family:
    """Margins that all members have.

    `loop`: with a channel for each loop behind those of the uncertainty, ranges centred.
    """

    loop: UncertainLoop
    names: tuple[str, ...]
    skew: float
    gap: float | None
    cells: int
    tolerance: float
    progress: bool

    @property
    def uncertain(self) -> UncertainLoop:
        """The loop with the channels of the uncertainty alone."""
        structure = Structure.of(self.loop.structure.blocks[: -len(self.names)])
        return replace(self.loop, structure=structure)

    def margins(self) -> Margins:
        """Return all that is proved, and what the worst members have."""
        count, sides = len(self.names), _sides(self.skew)
        unstable = EigenvalueSearch(self.uncertain.uncertain, self.uncertain.structure, 1.0).run()
        if unstable.value >= 1:
            return self._none(unstable.deltas, unstable.value)
        rows: list[tuple[dict[str, float], dict[str, float], dict[str, Any]]] = []
        for k in range(count):
            bounds = {name: self._bound(side, [k]) for name, side in sides.items()}
            rows.append(self._row(bounds, sides))
            delay = self._delay(k)
            for row, value in zip(rows[-1], delay[:2], strict=False):
                row |= {"delay": value, "omega delay": delay[2]}
            rows[-1][2]["delay"] = delay[3]
        if count > 1:
            rows.append(self._row({"disk": self._bound(sides["disk"], range(count))}, sides))
        proved, attained = (self._table([row[which] for row in rows]) for which in (0, 1))
        members = tuple(row[2] for row in rows)
        worst = members[int(np.argmin(attained.disk))]["disk"]
        attained = replace(attained, member=worst, members=members)
        return replace(proved, member=worst, members=members, attained=attained, systems=self._systems(members))

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

    def _row(
        self, bounds: dict[str, tuple[float, float, float, dict[str, Any]]], sides: dict[str, _Side]
    ) -> tuple[dict[str, float], dict[str, float], dict[str, Any]]:
        """Return margins that are proved, that are attained, and the members, of one loop."""
        proved, attained = (
            {name: sides[name].margin(one[which]) for name, one in bounds.items()} for which in (0, 1)
        )
        for values in (proved, attained):
            values |= {f"omega {name}": one[2] for name, one in bounds.items()}
        return proved, attained, {name: one[3] for name, one in bounds.items()}

    def _table(self, rows: list[dict[str, float]]) -> Margins:
        """Return margins from rows by name; those of a disk alone have its ranges."""
        for row in rows:
            if "phase" not in row:
                row["low"], row["high"], row["phase"] = disk_ranges(row["disk"], self.skew)
        places = [[row.get(f"omega {name}", np.nan) for name in ("low", "high", "phase", "delay", "disk")] for row in rows]
        return Margins(
            (*self.names, ALL) if len(self.names) > 1 else self.names,
            np.array([[row["low"], row["high"]] for row in rows]),
            np.degrees([row["phase"] for row in rows]),
            np.array([row.get("delay", np.nan) for row in rows]),
            np.array([row["disk"] for row in rows]),
            np.array(places),
            {},
            skew=self.skew,
        )

    def _none(self, deltas: Sequence[Any], size: float) -> Margins:
        """Return the margins of a family with a member that is unstable or ill-posed."""
        structure = self.uncertain.structure
        member = structure.values([delta / size for delta in deltas])
        row = {"low": 1.0, "high": 1.0, "phase": 0.0, "delay": 0.0, "disk": 0.0}
        count = len(self.names) + (len(self.names) > 1)
        none = self._table([dict(row) for _ in range(count)])
        return replace(none, member=member, attained=none)

    def _delay(self, place: int) -> tuple[float, float, float, dict[str, Any]]:
        """Return a delay (s) that is proved, the shortest that is attained, its frequency (rad/s) and its member.

        In each band of frequencies the gain of the loop is below one, whatever the phase, or the lag that this delay has at the
        band's end is stood. Bands in which neither can be shown are cut in two; what very narrow ones stand limits the delay.
        """
        loop, (w, z) = self.uncertain, self.uncertain.structure.shape
        system = loop.system.part([*range(z), z + place], [*range(w), w + place])

        def peak(member: Matrices) -> tuple[float, float]:
            one = exact_margins(member, self.skew, loop.period * loop.rate, "p")
            return 1 / max(one.delay, TINY), one.omega[3]

        found = GainSearch(system, loop.structure, peak)
        best = found.run()
        member, attained = loop.structure.values(loop.structure.deltas(best.deltas)), 1 / best.value if best.value else np.inf
        where = loop.frequency(best.omega)
        if not attained > TINY:
            return 0.0, 0.0, where, member
        proved, middle = attained * (1 - self.tolerance), best.omega if 0 < best.omega < np.inf else 1.0
        near = self.tolerance / 4
        below, above = middle * (1 - near), middle * (1 + near)
        bands, count = [(0.0, below), (above, np.inf), (below, above)], 0
        while bands and proved:
            (low, high), count = bands.pop(), count + 1
            end = self._true(high)
            if self._is_low(system, (low, high)) or self._stands(system, (low, high), end * proved):
                continue
            if high <= low * (1 + self.tolerance) or count > _BANDS:
                proved = min(proved, self._lag(system, (low, high)) / end)
            else:
                cut = _cut((low, high), middle)
                bands += [(low, cut), (cut, high)]
        return proved / loop.rate, attained / loop.rate, where, member

    def _true(self, omega: float) -> float:
        """Return the frequency of the loop, in parts of its rate, for one of the system."""
        period = self.loop.period * self.loop.rate
        return 2 / period * float(np.arctan(omega * period / 2)) if period else omega

    def _is_low(self, system: Matrices, band: tuple[float, float]) -> bool:
        """Tell whether the gain of the open loop is shown to be below one in all members, in a band."""
        w, z = self.uncertain.structure.shape
        wires = np.zeros((w + 1, z + 1))
        wires[w, z] = -1.0
        try:
            opened = system.close_loop(wires)
        except np.linalg.LinAlgError:
            return False
        whole = Structure.of([*self.uncertain.structure.blocks, DeltaBlock.complex("gain")])
        middle = band[1] / 2 if not band[0] else 2 * band[0] if np.isinf(band[1]) else float(np.sqrt(band[0] * band[1]))
        if abs(opened.response(middle)[z, w]) >= 1:
            return False
        return sweep(Centres(whole), opened, 1.0, tolerance=COARSE, progress=False, band=band).proved

    def _stands(self, system: Matrices, band: tuple[float, float], lag: float) -> bool:
        """Tell whether all members are shown to stand a lag (rad) in a band."""
        if not lag < np.pi:
            return False
        unit = 1 / float(np.sqrt(np.tan(lag / 2)))
        skew = SkewSweep(self.uncertain.structure, _late(system, 1), [DeltaBlock.real("lag", 2)], unit)
        return skew.run(False, self.tolerance, band=band).proved

    def _lag(self, system: Matrices, band: tuple[float, float]) -> float:
        """Return a lag (rad) that all members stand in a band."""
        skew = SkewSweep(self.uncertain.structure, _late(system, 1), [DeltaBlock.real("lag", 2)], 1.0)
        proof = skew.run(True, self.tolerance, band=band)
        return 2 * float(np.arctan(1 / proof.level**2)) if proof.proved else 0.0

    def _bound(self, side: _Side, places: Sequence[int]) -> tuple[float, float, float, dict[str, Any]]:
        """Return what is proved and attained of a margin, as values; the frequency (rad/s) and the member of the last."""
        loop, (w, z), k = self.uncertain, self.uncertain.structure.shape, len(places)
        system = loop.system.part([*range(z), *(z + j for j in places)], [*range(w), *(w + j for j in places)])

        def peak(member: Matrices) -> tuple[float, float]:
            if k > 1:
                return _peak_of_all(offset(member, (1 + self.skew) / 2))
            one = exact_margins(member, self.skew, loop.period * loop.rate, side.letter)
            at = {"g": 1 if side.block(1)[0].name == "high" else 0, "p": 2, "d": 4}[side.letter]
            return side.reach(one), one.omega[at]

        found = GainSearch(system, loop.structure, peak)
        found.run()
        with cells_spread(1, None) as spread:
            options = self.gap, self.cells, self.tolerance
            bound = bound_performance(
                loop, side.channels(system, k), side.block(k), found, options, self.progress, spread, _LEAST
            )
        best = found.best
        return bound.upper, best.value, loop.frequency(best.omega), loop.structure.values(loop.structure.deltas(best.deltas))
