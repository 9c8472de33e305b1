"""Stability margins of control loops, of one model, over a grid, and proved for a family: `margins`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from titop.blocks.basics.errors import Finding, ModelError
from titop.blocks.basics.notebook import page, table
from titop.blocks.basics.spatial import Array
from titop.blocks.basics.tolerances import NEGLIGIBLE
from titop.blocks.basics.user_input import read_number
from titop.solvers.control.controllers import Loop, read_loops
from titop.solvers.lft.delta_blocks import DeltaBlock, Structure, channel_signals
from titop.solvers.lft.lft_model import LFTModel
from titop.solvers.linear.lpv_model import LPVModel
from titop.solvers.linear.matrices import Matrices
from titop.solvers.linear.state_space import named_signals, named_system, positions, read_linear, signal_names
from titop.solvers.robust.branch_and_bound import CELLS
from titop.solvers.robust.exact_margins import exact_margins, margins_together
from titop.solvers.robust.margin_plots import draw_loops, draw_over
from titop.solvers.robust.margin_proof import MarginProof, Row
from titop.solvers.robust.uncertain_loop import UncertainLoop, centre_ranges, check_precision, check_stable, read_loop
from titop.solvers.support.workers import one_thread

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: Margins of one loop by name.
_NAMES = ("low", "high", "phase", "delay", "disk")

#: Name of the row of all loops at once.
ALL = "all at once"


@dataclass(frozen=True)
class Margins:
    """Stability margins, one row for each loop, and a last one for all loops at once where there are several.

    Of a family the margins are proved: every member is stable with any smaller change; gains beyond 1/101 and 101 and phases
    beyond 168 degrees are not looked at. Over a grid all arrays have its axes first. The margins of all loops at once are for
    changes that are independent and simultaneous; their gains and phases are those of the disk.

    Attributes
    ----------
    loops : tuple of str
        Names of the rows.
    gain : array (..., n, 2), no unit
        Factors of the loop's gain between which it stays stable: 0 and infinity where nothing limits them.
    phase : array (..., n), degrees
        Lag or lead, the smaller of both; 180 where no phase matters.
    delay : array (..., n), s
        Infinite where no delay matters. Of a sampled loop its phase lag over the frequency, so that whole samples are delays
        of its commands. For all loops at once it is proved for delays that differ; over a grid it is not a number there.
    disk : array (..., n), no unit
        Size of the disk of factors, see `margins`.
    omega : array (..., n, 5), rad/s
        Frequencies of the lower and the upper gain, the phase, the delay and the disk; not a number where there is none.
    member : dict
        Parameters of the member with the smallest disk margin, of a family or a grid.
    members : tuple of dict
        Of a family: the worst members found, for each row by margin: ``"low"``, ``"high"``, ``"phase"``, ``"delay"`` or
        ``"disk"``.
    attained : Margins or None
        The exact margins of these members: what is proved is no larger.
    skew : float
    parameters : dict of str to array
        Of a grid.
    systems : tuple of (str, Matrices)
        Labels, and what comes back in each loop of what is added there: for `plot`.

    Examples
    --------
    >>> import control, titop as tt
    >>> print(tt.margins(control.tf([2], [1, 1, 0], inputs=["motor"], outputs=["angle"])))
    motor: gain 0 to inf, phase 38.67 deg, disk 0.6667, delay 0.5401 s
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
            raise ModelError(Finding("no-margins", "plot", "an unstable member", "a family without one", "see .member"))
        return draw_loops(self.loops, self.disk, self.skew, self.systems)

    def _repr_html_(self) -> str:
        head = "loop", "gain from", "to", "phase (deg)", "disk", "delay (s)"
        return page("margins", self.member or "", table("the least of each", self._rows(), head))

    def __str__(self) -> str:
        text = "{}: gain {:.4g} to {:.4g}, phase {:.4g} deg, disk {:.4g}, delay {:.4g} s"
        return "\n".join(text.format(*row).removesuffix(", delay inf s").removesuffix(", delay nan s") for row in self._rows())

    def _rows(self) -> list[tuple[Any, ...]]:
        """Return name, gains, phase, disk and delay of each loop, the least over a grid."""
        gain = self.gain.reshape(-1, len(self.loops), 2)
        low, high = np.nanmax(gain[..., 0], axis=0), np.nanmin(gain[..., 1], axis=0)
        phase, disk, delay = (np.fmin.reduce(each.reshape(-1, len(self.loops))) for each in (self.phase, self.disk, self.delay))
        return list(zip(self.loops, low, high, phase, disk, delay, strict=True))


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

        ``f = (1 + (1 - σ) δ / 2) / (1 - (1 + σ) δ / 2)``, ``|δ| <= disk``,

    gain and phase at once, with the skew σ (Seiler, Packard, Gahinet 2020). At zero gains may rise as much as fall, at one the
    disk is that of S, at minus one that of T. For all loops at once each has a δ of its own.

    Of one model the margins are eigenvalues of pencils, exact without a grid. Of a family they are proved for all members and
    all frequencies, by skew mu with a block around the loop, complex for a disk, real for gain and phase. Parameters
    and changes are constant in time.

    What `loop` and `at` are:

    - an open loop L, such as ``P * K``: with u = r - L u the loops of its inputs, `at` some of these;
    - with a `controller`, a plant: `at` are inputs that the controller drives, all of them by default, or outputs that it
      takes; it is connected by names as in `LFTModel.close`, ``u = u_outside + K y``;
    - a closed LFTModel: `at` are blocks by which it was opened before, with a weight of 1:
      ``plant.append("break", "hinge").close(K)``.

    Parameters
    ----------
    loop : control.StateSpace, control.TransferFunction, LPVModel, LFTModel, or sequence of the first two
        Sampled ones too. Of an LPVModel and a sequence, members are looked at one by one.
    at : str or sequence of str, optional
    skew : float
    gap : float, optional
        Branch over the box of a family's real parameters until gains, phases and disks are this close to those
        of members (relative, of the blocks' sizes); this may take minutes. Delays are proved without.
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
    skew = read_number(Finding("bad-value", "skew", skew, "a finite number", "0 for gains that rise as much as fall"))
    if isinstance(loop, LPVModel | list | tuple):
        return _over_grid(loop, at, float(skew), controller, sign)
    uncertain, names = read_opened(loop, at, controller, sign, blocks)
    check_precision(uncertain.structure, tolerance, gap, cells)
    if len(uncertain.structure.blocks) == len(names):
        result = _of_model(uncertain, names, float(skew))
        if len(names) > 1:
            shortest, proof = int(np.argmin(result.delay[:-1])), MarginProof(uncertain, names, float(skew), tolerance=tolerance)
            result.delay[-1] = proof.delay_of_all(float(result.delay[shortest]), float(result.omega[shortest, 3]))
        return result
    found = MarginProof(centre_ranges(uncertain), names, float(skew), tolerance, gap, cells, progress).run()
    attained = replace(_of_rows(found.attained, names, float(skew)), member=found.worst, members=found.members)
    proved = _of_rows(found.proved, names, float(skew))
    return replace(proved, member=found.worst, members=found.members, attained=attained, systems=found.systems)


# -- of one model, and over a grid ------------------------------------------------------------------------------------------


def _over_grid(models: Any, at: Any, skew: float, controller: Any, sign: int) -> Margins:
    if isinstance(models, LPVModel):
        places = [tuple(place) for place in np.argwhere(models.valid).tolist()]
        parts = models.states, models.inputs, models.outputs, models.name
        systems: list[Any] = [named_system([getattr(models, x)[place] for x in "ABCD"], *parts) for place in places]
        shape, parameters = models.shape, dict(models.parameters)
    else:
        systems, shape = list(models), (len(models),)
        places, parameters = [(k,) for k in range(len(systems))], {"model": np.arange(len(systems), dtype=float)}
    if not systems:
        raise ModelError(Finding("no-members", "loop", models, "one model at least", "see .valid of an LPVModel"))
    loops = []
    for place, system in zip(places, systems, strict=True):
        try:
            loops.append(read_opened(system, at, controller, sign, None))
        except ModelError as error:
            raise ModelError([replace(one, where=f"{one.where} of member {place}") for one in error.findings]) from None
    if len({names for _, names in loops}) > 1:
        got, expected = "models with other inputs", "the same loops in all"
        raise ModelError(Finding("other-signals", "loop", got, expected, "name them alike"))
    results = [_of_model(loop, names, skew) for loop, names in loops]
    worst = places[int(np.argmin([result.disk.min() for result in results]))]
    grids = parameters.values() if len(shape) < 2 else np.meshgrid(*parameters.values(), indexing="ij")
    member = {name: float(values[worst]) for name, values in zip(parameters, grids, strict=True)}
    spread: dict[str, Any] = {}
    for name in ("gain", "phase", "delay", "disk", "omega"):
        spread[name] = np.full((*shape, *getattr(results[0], name).shape), np.nan)
        for place, result in zip(places, results, strict=True):
            spread[name][place] = getattr(result, name)
    return replace(results[0], **spread, member=member, parameters=parameters, systems=())


def _of_model(loop: UncertainLoop, names: tuple[str, ...], skew: float) -> Margins:
    """Return the exact margins of a loop without uncertainty."""
    every = [exact_margins(loop.system.part([k], [k]), skew, loop.period * loop.rate) for k in range(len(names))]
    if len(names) > 1:
        every.append(margins_together(loop.system, skew))
    rows = []
    for one in every:
        row = {name: float(getattr(one, name)) for name in _NAMES} | {"delay": one.delay / loop.rate}
        rows.append(row | {f"omega {name}": loop.frequency(w) for name, w in zip(_NAMES, one.omega, strict=True)})
    return replace(_of_rows(rows, names, skew), systems=(("open loop", loop.system),))


def _of_rows(rows: Sequence[Row], names: tuple[str, ...], skew: float) -> Margins:
    places = [[row.get(f"omega {name}", np.nan) for name in _NAMES] for row in rows]
    table = {name: np.array([row.get(name, np.nan) for row in rows]) for name in _NAMES}
    gain, every = np.stack([table["low"], table["high"]], axis=1), (*names, ALL) if len(names) > 1 else names
    return Margins(every, gain, np.degrees(table["phase"]), table["delay"], table["disk"], np.array(places), {}, skew=skew)


# -- loops, opened: what is added is the input of a channel, what comes back there its output; all other loops are closed ----


def read_opened(loop: Any, at: Any, controller: Any, sign: int, blocks: Any) -> tuple[UncertainLoop, tuple[str, ...]]:
    """Return a closed loop with complex blocks where it is opened, the last ones, and their names."""
    model = loop
    if not isinstance(loop, LFTModel):
        model = LFTModel(read_linear("loop", loop), tuple(Structure.of(blocks or ()).blocks), ())
    names = None if at is None else list(signal_names("at", at))
    if controller is not None:
        model, names = _close_plant(model, names, controller, sign)
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


def _close_plant(model: LFTModel, names: list[str] | None, controller: Any, sign: int) -> tuple[LFTModel, list[str]]:
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
        expected, advice = "a loop with a solution at once", "add an actuator's or a sensor's delay"
        raise ModelError(Finding("algebraic-loop", "loop", "1 + L singular", expected, advice)) from None
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
