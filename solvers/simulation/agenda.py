"""The stages of a simulation between its changes: what is closed and locked in each, when it ends, and what happens there.

At a change velocities jump by an impact. Controllers, paths of devices and events go on as where a simulation takes up another
one (`start_and_end`); integrators begin anew. Changes of one name take turns: each waits for the one before.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from titop.blocks.basics.errors import Finding, ModelError
from titop.blocks.basics.spatial import Array
from titop.blocks.basics.tolerances import OPEN
from titop.blocks.basics.user_input import read_number, real_array
from titop.blocks.constraints.rigid_closure import RigidClosure
from titop.solvers.control.control_history import KINDS, ControlHistory, margin_of
from titop.solvers.model.impacts import apart, refuse_apart, struck, with_closures
from titop.solvers.model.model import Model
from titop.solvers.motions.prescribed import with_held
from titop.solvers.signals.grammar import COORDINATE, OUTPUT, read_name, read_names
from titop.solvers.signals.quantities import DYNAMIC
from titop.solvers.signals.snapshot import Snapshot
from titop.solvers.signals.values import JoinedValues
from titop.solvers.simulation.changes import CLOSURE, LOCK, Changed, Latch, Lock, Release, is_open
from titop.solvers.simulation.driven_model import DrivenModel
from titop.solvers.simulation.events import Event
from titop.solvers.simulation.start_and_end import EVENT, Start
from titop.solvers.simulation.trajectory import Trajectory

_KINDS = {Lock: "lock", Release: "release", Latch: "latch"}
#: Fields of trajectories with a row for each time.
_TIMED = ("t", "q", "v", "a", "tau", "u", "x")


@dataclass
class _Pending:
    """A change that has not happened.

    - `where`: what messages call it; `closes`: whether something closes or is locked;
    - `time` (s): of one at a time; NaN of one at an event;
    - `parted`: whether the ports of a latch have been apart since they were released;
    - `nearest` (m, rad): of the ports so far.
    """

    change: Any
    where: str
    closes: bool
    time: float
    parted: bool = True
    nearest: tuple[float, float] = (np.inf, np.inf)

    @property
    def event(self) -> str:
        """Name of its event."""
        return f"{self.where}: {'meets' if self.parted else 'parts'}"


class Agenda:
    """The stages of a simulation, one after the other: from `start`, over the times `part` (s), with the model `stage`, what is
    `locked`, and `watched` events. At its end a stage is handed over (`reached`).

    - `model`: of the user; `times` (n, s): its output times; `before`: where it begins;
    - `changes`, `hold`, `prescribed`, `events`: as in `simulate`.
    """

    def __init__(
        self, model: Model, times: Array, before: Start, changes: Any, hold: Any, prescribed: Mapping[str, Any], events: Any
    ) -> None:
        self.model, self.stage, self.start, self.part, self._times = model, model, before, times, times
        self.locked: list[Any] = read_names("hold", hold)
        self.locked += [name for name in before.left(LOCK) if name not in self.locked]
        self._events = [events] if isinstance(events, Event) or not isinstance(events, Iterable) else list(events)
        self._imposed = model.mechanism.prescribed(list(prescribed))
        #: Of each closure that is switched: times (s), each with the errors at which its constraints are kept; NaN where open.
        self._closures = {name: [np.append(times[0], rows[-1, 1:])] for name, rows in before.left(CLOSURE).items()}
        self._locks = set(before.left(LOCK))
        self._queues: dict[str, list[_Pending]] = {}
        self._happened: list[Changed] = []
        self._parts: list[Trajectory] = []
        for k, change in enumerate(_listed(changes)):
            self._add(change, f"changes[{k}], {type(change).__name__} of {change.name!r}")
        if self._closures or self._queues:
            self._begin(float(times[0]), [], before.q, before.v)

    # -- reading -----------------------------------------------------------------------------------------------------------

    def _add(self, change: Any, where: str) -> None:
        """Read a change, and put it behind those of the same name."""
        name, mechanism, closes = change.name, self.model.mechanism, not isinstance(change, Release)
        is_closure = isinstance(name, str) and name in mechanism.closure_rows
        if is_closure and name not in self._closures:
            rows = np.arange(len(mechanism.constraint_names))[mechanism.closure_rows[name]]
            self._closures[name] = [np.append(self._times[0], np.full(len(rows), np.nan if closes else 0.0))]
        elif not is_closure:
            read_name(self.model, COORDINATE, name, where, "a joint, coordinate or rigid closure of the model")
            self._refuse_shared(name, where)
            with_held(self.model, {}, [name], self.model.neutral(), np.zeros(self.model.nv))  # refuses a part of an attitude
            self._locks.add(name)
        queue = self._queues.setdefault(name, [])
        is_closed = not is_open(self._closures[name][-1]) if is_closure else name in self.locked
        is_closed = queue[-1].closes if queue else is_closed
        if closes == is_closed:
            got = f"{name} is {'closed or locked' if closes else 'neither closed nor locked'} then"
            held = f"what is closed, or locked ({', '.join(self.locked) or 'nothing'} is)"
            expected, advice = "what is open or free" if closes else held, 'hold=["hinge"] locks from the start'
            if queue:
                advice = "changes of one name take turns in the order of the list"
            raise ModelError(Finding("nothing-to-change", where, got, expected, advice))
        if isinstance(change, Latch) and change.within is not None:
            pair = real_array(change.within)
            is_kept = any(
                loop.closure.name == name and isinstance(loop.closure, RigidClosure) for loop in mechanism.rigid_loops
            )
            if not is_kept or pair is None or pair.shape != (2,) or not (pair > 0).all():
                expected = "a distance (m) and an angle (rad) between the ports of a tt.RigidClosure"
                raise ModelError(Finding("wrong-type", f"{where}, within", change.within, expected, "such as (0.01, 0.02)"))
        waits = change.at is None and is_closure and isinstance(change, Latch)
        time = np.nan if waits else self._read_when(change.at, where)
        pending, is_known = _Pending(change, where, closes, time), bool(queue) or name in self.start.left(CLOSURE)
        if waits and is_known and (queue or self._excess(pending, apart(mechanism, name, self.start.q)) <= 1.0):
            pending.parted = False
        if queue and time <= queue[-1].time:
            expected = f"a time after that of the change before, {queue[-1].time:.9g} s"
            raise ModelError(Finding("bad-times", f"{where}, at", time, expected, "list changes of one name in their order"))
        queue.append(pending)

    def _read_when(self, at: Any, where: str) -> float:
        """Return the time (s) of a change; NaN if it is at an event."""
        if isinstance(at, Event):
            return np.nan
        value = real_array(at[1:]) if isinstance(at, tuple) and at and isinstance(at[0], str) else None
        if value is not None and value.shape == (1,):
            if len(read_name(self.model, OUTPUT, at[0], f"{where}, at").entries) != 1:
                advice = f"name one of its components, such as {at[0]}[0]"
                raise ModelError(Finding("several-signals", f"{where}, at", at[0], "one number", advice))
            return np.nan
        expected, times = "a time (s), a tt.Event, or a measured quantity and a value", self._times
        number = read_number(Finding("wrong-type", f"{where}, at", at, expected, 'such as ("hinge.q", 1.57)'))
        margin = margin_of(times[1] - times[0], times)
        if number < times[0] - margin:
            advice = "begin as things are then"
            raise ModelError(Finding("bad-times", f"{where}, at", number, f"{times[0]:.9g} s or later", advice))
        nearest = times[np.abs(times - number).argmin()]
        return float(nearest if abs(nearest - number) <= margin else number)

    def _refuse_shared(self, name: str, where: str) -> None:
        """Refuse a joint or coordinate of which a part is locked by another name, or prescribed."""
        mechanism = self.model.mechanism
        others = {each for each in (*self.locked, *self._locks) if each != name}
        masks = {f"{each} is locked": mechanism.prescribed([each]) for each in others} | {"it is prescribed": self._imposed}
        for got, mask in masks.items():
            if (mechanism.prescribed([name]) & mask).any():
                advice = "use one name for all that is locked together"
                raise ModelError(Finding("locked-twice", where, got, "coordinates that nothing else holds", advice))

    # -- stages ------------------------------------------------------------------------------------------------------------

    @property
    def _heads(self) -> list[_Pending]:
        return [queue[0] for queue in self._queues.values() if queue]

    def watched(self, plant: DrivenModel) -> list[Any]:
        """Return the user's events, and those that changes wait for."""
        waiting = [head for head in self._heads if np.isnan(head.time)]
        return self._events + [replace(self._event(head, plant), name=head.event, terminal=True) for head in waiting]

    def _event(self, head: _Pending, plant: DrivenModel) -> Event:
        at, name, mechanism = head.change.at, head.change.name, self.model.mechanism
        if isinstance(at, Event):
            return at
        if at is not None:
            return Event(_reading(plant, *at))
        if not head.parted:
            return Event(lambda t, q, v: self._excess(head, apart(mechanism, name, q)) - 1.0, direction=1)
        rows = mechanism.closure_rows[name]
        weights = mechanism.scale.weights[rows] ** 2

        def half_rate(t: float, q: Array, v: Array) -> float:
            """Return half the rate at which the sum of squares of the errors grows."""
            at_state = mechanism.constraints_at(q, v)
            return float(weights * at_state.error[rows] @ (at_state.jacobian[rows] @ v))

        return Event(half_rate, direction=1)

    def _excess(self, head: _Pending, ends: tuple[float, float]) -> float:
        """Return how far (m, rad) ports are apart, in parts of what is allowed."""
        within = getattr(head.change, "within", None)
        within = (OPEN * self.model.mechanism.scale.length, OPEN) if within is None else within
        return max(ends[0] / within[0], ends[1] / within[1])

    def reached(self, trajectory: Trajectory) -> bool:
        """Take the trajectory of a stage; tell whether another one follows, and begin it."""
        self._parts.append(trajectory)
        t, occurred = float(trajectory.t[-1]), {name for name, times in trajectory.events.items() if len(times)}
        if not self._queues or t >= self._times[-1] or any(e.terminal and e.name in occurred for e in self._events):
            return False
        self.start = Start(self.stage, np.array([t, self._times[-1]]), None, None, None, trajectory)
        self._begin(t, [head for head in self._heads if head.event in occurred], trajectory.q[-1], trajectory.v[-1])
        return True

    def _begin(self, t: float, due: list[_Pending], q: Array, v: Array) -> None:
        """Begin a stage at a time (s) and a state, where events were `due`."""
        due = [head for head in [*due, *(head for head in self._heads if head.time == t)] if self._applies(head, t, q)]
        closing = [head for head in due if head.closes]
        self.locked = [name for name in self.locked if name not in {head.change.name for head in due}]
        self.locked += [head.change.name for head in closing if head.change.name not in self._closures]
        now = {name: None if is_open(rows[-1]) else rows[-1][1:] for name, rows in self._closures.items()}
        self.stage, after = with_closures(self.model, now), v
        if closing:
            impact, losses = struck(self.stage.mechanism, q, v, self.locked, self._imposed)
            self.start.v = after = impact.v
        for head in due:
            name = head.change.name
            what: dict[str, Any] = {"impulse": impact.impulse[name], "lost": losses[name]} if head.closes else {}
            ends = head.nearest if name in self._closures and head.closes else (0.0, 0.0)
            self._happened.append(Changed(_KINDS[type(head.change)], name, t, *ends, q=q, before=v, v=after, **what))
            self._queues[name].remove(head)
        if due or self._parts:
            self.start.integrator = {}
        until = min([self._times[-1], *(head.time for head in self._heads if head.time > t)])
        self.part = np.concatenate([[t], self._times[(self._times > t) & (self._times < until)], [until]])

    def _applies(self, head: _Pending, t: float, q: Array) -> bool:
        """Tell whether a change that is due happens; put down what a closure is from then on."""
        name, mechanism = head.change.name, self.model.mechanism
        if name not in self._closures:
            return True
        errors = np.full(len(self._closures[name][-1]) - 1, np.nan)
        if head.closes:
            ends = apart(mechanism, name, q)
            if not head.parted or (isinstance(head.change, Latch) and self._excess(head, ends) > 1.0):
                head.nearest, head.parted = min(head.nearest, ends), True
                return False
            if isinstance(head.change, Lock):
                refuse_apart(mechanism, name, q, f"{head.where} at t = {t:.6g} s")
            head.nearest, errors = ends, mechanism.constraints_at(q).error[mechanism.closure_rows[name]]
        self._closures[name].append(np.append(t, errors))
        return True

    # -- the whole -----------------------------------------------------------------------------------------------------------

    def joined(self, *last: Trajectory) -> Trajectory:
        """Return the trajectory of all stages, and of a `last` one that was interrupted."""
        parts = [*self._parts, *last]
        if not (self._closures or self._locks):
            return parts[0]
        ends = [*(len(part.t) - 1 for part in parts[:-1]), len(parts[-1].t)]
        begins = [int(k > 0 and part.t[0] not in self._times and len(part.t) > 1) for k, part in enumerate(parts)]
        rows = [slice(*each) for each in zip(begins, ends, strict=True)]

        def along(arrays: Iterable[Array]) -> Array:
            return np.concatenate([array[each] for array, each in zip(arrays, rows, strict=True)])

        memory = {name: array for name, array in parts[-1].memory.items() if not name.startswith(f"{EVENT}changes[")}
        memory |= {f"{CLOSURE}{name}": np.array(array) for name, array in self._closures.items()}
        memory |= {f"{LOCK}{name}": np.zeros(0) for name in self.locked if name in self._locks}
        counts = {name for part in parts for name in part.statistics}
        return Trajectory(
            self.model,
            **{name: along(getattr(part, name) for part in parts) for name in _TIMED},
            wrenches={port: along(part.wrenches[port] for part in parts) for port in parts[0].wrenches},
            events={each.name: np.concatenate([part.events[each.name] for part in parts]) for each in self._events},
            controls=tuple(_joined([part.controls[k] for part in parts], rows) for k in range(len(parts[0].controls))),
            statistics={name: sum(part.statistics.get(name, 0) for part in parts) for name in counts},
            memory=memory,
            changes=tuple(self._happened),
        )

    def missing(self) -> list[Finding]:
        """Put down what has not happened; return warnings."""
        findings, last = [], self._parts[-1]
        for head in [head for queue in self._queues.values() for head in queue]:
            name, got, ends = head.change.name, f"nothing by t = {last.t[-1]:.6g} s", (0.0, 0.0)
            if name in self._closures and head.closes:
                states = self._parts[0].q[0], last.q[-1]
                ends = min(head.nearest, *(apart(self.model.mechanism, name, q) for q in states))
                got += f"; the ports came as near as {ends[0]:.3g} m and {ends[1]:.3g} rad"
            findings.append(
                Finding("no-change", head.where, got, "a change during the simulation", "simulate longer, or allow more")
            )
            self._happened.append(Changed(_KINDS[type(head.change)], name, np.nan, *ends))
        return findings


def _listed(changes: Any) -> list[Any]:
    kinds = tuple(_KINDS)
    listed = list(changes) if isinstance(changes, Iterable) and not isinstance(changes, str) else [changes]
    for change in listed:
        if not isinstance(change, kinds):
            expected, advice = "tt.Lock, tt.Release or tt.Latch objects", 'write changes=[tt.Lock("hinge", at=2.0)]'
            raise ModelError(Finding("wrong-type", "changes", change, expected, advice))
    return listed


def _reading(plant: DrivenModel, name: str, value: float) -> Callable[[float, Array, Array], float]:
    """Return how far a measured quantity is above a value, as a function of time and state."""
    model, of = plant.model, read_name(plant.model, OUTPUT, name)
    values, origin, still = JoinedValues(model, [of]), model.neutral(), (np.zeros(model.nv), np.zeros(model.nv))

    def above(t: float, q: Array, v: Array) -> float:
        a, tau = plant.dynamics(t, q, v) if of.kind in DYNAMIC else still
        at = Snapshot(model, q, v, a, tau, plant.inputs(t, q, v), plant.wrenches(t, q, v), origin)
        return float(values.read(at)[0] - value)

    return above


def _joined(histories: Sequence[ControlHistory], rows: Sequence[slice]) -> ControlHistory:
    """Return the signals of a controller over all stages; the first samples of later ones were the last ones before."""
    if histories[0].sampled:
        ends = [-np.inf, *(each.t[-1] if len(each.t) else -np.inf for each in histories[:-1])]
        rows = [slice(int(np.searchsorted(each.t, end, "right")), None) for each, end in zip(histories, ends, strict=True)]
    names = ("t", *KINDS.values())
    arrays: dict[str, Any] = {
        name: np.concatenate([getattr(h, name)[each] for h, each in zip(histories, rows, strict=True)]) for name in names
    }
    return replace(histories[0], **arrays)
