"""Control loops with sample and hold, one or several of different rates.

A sampled controller runs at ``t[0] + k T``. At each sample the outputs are read under the commands in effect until then (so
that accelerometers make no algebraic loop), and the controller is called. Its commands take effect at the sample, or after the
delay, and are held. A step of the integrator ends at every change of the commands.

Of several controllers, those with a sample at the same instant all read the model before any of their commands takes effect
there; they are called in the order in which they were given, so that signals of one reach those after it at the same instant.
Their commands add up.
"""

from __future__ import annotations

import copy
import json
import math
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from titop.blocks.basics.errors import Finding, ModelError
from titop.blocks.basics.spatial import Array
from titop.blocks.basics.tolerances import SAME
from titop.solvers.arguments.reading import all_finite
from titop.solvers.control.control_history import ControlHistory, margin_of
from titop.solvers.control.control_laws import SampledLaw
from titop.solvers.control.control_loop import (
    ConnectedController,
    ControlledModel,
    ControlLoop,
    Memory,
    check_memory,
    refuse_memory,
)
from titop.solvers.control.loop_signals import Command, add_commands
from titop.solvers.kernels.entries.sampled_legs import ACTING, REFERENCES, SAMPLE, UNTIL

#: Samples for which noise of many members is drawn at a time.
_AHEAD = 64

#: NumPy's generators, by the name that their states have.
_GENERATORS: dict[str, Any] = {
    kind.__name__: kind for kind in (np.random.PCG64, np.random.PCG64DXSM, np.random.MT19937, np.random.Philox, np.random.SFC64)
}


class _Instant(NamedTuple):
    """A time at which a sample is taken, or the commands of sample number `applied` take effect, or both."""

    time: float
    sample: bool
    applied: int


class _Sample(NamedTuple):
    """The controller's inputs at a time (s), outputs, references and its states, and its commands."""

    time: float
    measured: Array
    reference: Array
    state: Array
    command: Command


class SampledLeg(NamedTuple):
    """What happens at a time, until when nothing else does (s): which sample is taken, which takes effect; -1 for none.

    And the references then.
    """

    time: float
    until: float
    sample: int
    applied: int
    reference: Array


class Generators:
    """The noise of many members, by the generators that `make` returns for each of `count`."""

    def __init__(self, count: int, make: Callable[[int], np.random.Generator]) -> None:
        self.count, self._make, self._drawn = count, make, 0
        self._rows, self._ahead = list[np.random.Generator](), np.zeros((0, count, 0))

    def standard_normal(self, columns: int) -> Array:
        """Return the next numbers (count, columns) of each."""
        self._rows = self._rows or [self._make(k) for k in range(self.count)]
        if not len(self._ahead):
            self._ahead = np.array([rng.standard_normal((_AHEAD, columns)) for rng in self._rows]).swapaxes(0, 1)
        numbers, self._ahead = self._ahead[0], self._ahead[1:]
        self._drawn += columns
        return numbers

    def of_member(self, k: int) -> np.random.Generator:
        """Return the generator of a member, as far as it has drawn."""
        rng = self._make(k)
        rng.standard_normal(self._drawn)
        return rng


class SampledController(ConnectedController):
    """One sampled controller.

    - `delay` (s): from a sample to the commands;
    - `noise` (ny): standard deviations of the outputs at the samples;
    - `law`, `*rest`: see `ConnectedController`;
    - `command`: in effect now.
    """

    def __init__(self, law: SampledLaw, delay: float, noise: Array, rng: np.random.Generator, *rest: Any) -> None:
        super().__init__(law, *rest)
        times = self.times
        self._delay, self._noise = delay / law.sample_time, noise
        self._rng: Any = rng
        self._is_noisy, self._is_trimmed = bool(noise.any()), bool(self.trim.any())
        self.sample_time = law.sample_time
        self._margin = margin_of(law.sample_time, times)
        #: Samples since the start, behind some `_carried` on from a simulation before; the number of the first.
        self._samples: list[_Sample] = []
        self._first = self._carried = 0
        self._instants: list[float] = []
        self._acting: list[Command] = []
        self._state = law.initial_state.copy()
        self._times, self._begin = times.tolist(), float(times[0])
        self._next: _Instant
        #: Number of samples taken, and of those whose commands have taken effect between samples.
        self._taken = self._late = 0
        self._go_on()

    def rest_at(self, resting: Array) -> None:
        super().rest_at(resting)
        self.command = self.commands.part(resting)

    def advance(self, plant: ControlledModel, t: float, y: Array, signals: Array) -> float:
        """Take samples that are due at a state, under `signals` of others; return until when (s) the `command` holds."""
        if not self._instants:
            self._put_into_effect(t, self.command)
        sample, applied = self._pass_to(t)
        if sample >= 0:
            self._state = self._sample(plant, t, y, self._state, signals)
        if applied >= 0:
            self._put_into_effect(t, self._samples[applied - self._first].command)
        return self._next.time

    def _pass_to(self, t: float) -> tuple[int, int]:
        """Return numbers of the sample due at a time (s), and of that whose commands take effect; -1 for none."""
        sample = applied = -1
        while self._next.time <= t + self._margin:  # one instant with those of other loops, but for rounding
            if self._next.sample:
                sample, self._taken = self._taken, self._taken + 1
            if self._next.applied >= 0:
                applied = self._next.applied
                self._late = applied + self._whole + 1
            self._next = next(self._plan)
        return sample, applied

    def _go_on(self) -> None:
        """Plan the instants after those that have passed."""
        self._whole = int(np.floor(self._delay + SAME))
        self._plan = self._instants_after(self._taken, self._late)
        self._next = next(self._plan)

    def _instants_after(self, taken: int, late: int) -> Iterator[_Instant]:
        """Yield the instants and their actions: at output times where only rounding has moved them away from these."""
        step, begin, whole, times = self.law.sample_time, self._begin, self._whole, self._times
        part = self._delay - whole if self._delay - whole > SAME else 0.0
        margin = self._margin

        for k in range(min(taken, late) if part else taken, int((times[-1] - begin + margin) / step) + 1):
            if k >= taken:
                yield _Instant(at_output(begin + k * step, times, margin), True, -1 if part else k - whole)
            if part and k >= max(whole, late) and (then := begin + (k + part) * step) <= times[-1] + margin:
                yield _Instant(at_output(then, times, margin), False, k - whole)
        yield _Instant(math.inf, False, -1)

    def _put_into_effect(self, t: float, command: Command) -> None:
        self._acting.append(command)
        self._instants.append(t)
        self.command = command

    def _sample(self, plant: ControlledModel, t: float, state: Array, x: Array, signals: Array) -> Array:
        """Take a sample, call the controller, store its commands, and return its next states."""
        q, v = plant.split(t, state)
        if self.accelerated:
            measured = plant.measure(self.measurements, t, q, v, plant.dynamics(t, q, v)[0])
        else:
            measured = self.measurements.read_kinematic(q, v)
        if self._is_noisy:
            measured = measured + self._noise * self._rng.standard_normal(measured.shape[-1])
        r = self.read_references(t, q, v, signals)
        x_next, u = self._answer(t, x, r - self.r_trim, measured)
        if measured.ndim == 1:
            _refuse_infinite(t, x_next, u)
        self._samples.append(_Sample(t, measured, r, x, self.send(u)))
        return x_next

    def _answer(self, t: float, x: Array, r: Array, measured: Array) -> tuple[Array, Array]:
        """Return the next states and the commands of the law, of stacked states row by row if it does not take these."""
        if measured.ndim == 2 and self.law.matrix is not None:
            y = measured - self.trim if self._is_trimmed else measured
            return self.law.update(t, x, y, r, measured)  # type: ignore[no-any-return]
        if measured.ndim == 1:
            return self.law.update(t, x.copy(), measured - self.trim, r, measured)  # type: ignore[no-any-return]
        measured = np.ascontiguousarray(measured)  # as that of one state
        stacks = zip(x.copy(), measured - self.trim, measured, strict=True)
        rows = [self.law.update(t, *row, r.copy(), own) for *row, own in stacks]
        return np.array([row[0] for row in rows]), np.array([row[1] for row in rows])

    # -- in compiled code, and of many members -------------------------------------------------------------------------------

    def stack(self, generators: Generators) -> None:
        """Control stacked states from now on, before the first sample; each member has its own noise."""
        self._rng, self._state = generators, np.tile(self._state, (generators.count, 1))

    def legs(self, begin: float, end: float) -> Iterator[SampledLeg]:
        """Yield what is going to happen between two times (s), and at these; it has happened with `end_legs`."""
        self._put_into_effect(begin, self.command)
        ahead = copy.copy(self)
        ahead._go_on()
        while begin <= end:
            sample, applied = ahead._pass_to(begin)
            reference = self.references.read(begin, np.zeros(0), np.zeros(0)) if sample >= 0 else self.r_trim
            yield SampledLeg(begin, min(ahead._next.time, end), sample, applied, reference)
            begin = ahead._next.time

    def tables(self, nq: int, motors: Array, quaternions: Sequence[int]) -> tuple[Array, Array] | None:
        """Return ``gains`` and ``drives`` of the kernels' `sampled_legs`, None unless it is linear in plain coordinates."""
        (nv, nu), law = motors.shape, self.law
        selection = self.measurements.selection(nq, nv) if self.measurements.are_entries else None
        if law.matrix is None or selection is None or any(selection[:, k : k + 4].any() for k in quaternions):
            return None
        nx, behind = len(law.states), np.zeros((2, law.matrix.shape[1]))
        behind[0, nx + len(self.r_trim) :] = selection.argmax(axis=1)
        behind[1, nx + len(self.r_trim) :] = self.trim
        gains = np.array(np.vstack([law.matrix[:nx], self.commands.to_loads @ law.matrix[nx:], behind]), order="C")
        free, wide = np.full((2, nv), [[-np.inf], [np.inf]]), np.zeros((nv, nu + nv))
        wide[:, :nu] = motors
        return gains, np.vstack([self.resting[: nu + nv], np.hstack([self.commands.limits, free]), wide])

    def begin_legs(self, legs: Sequence[SampledLeg]) -> tuple[Array, Array]:
        """Return ``plan`` and ``signals`` (n, ...) of `sampled_legs`: rows of what is in effect, of late ones, and to come."""
        (n, nx), ny, nr = np.atleast_2d(self._state).shape, len(self.trim), len(self.r_trim)
        late = self._samples[-(self._whole + 2) :]
        row, plan = 1 + len(late), np.full((len(legs), REFERENCES + nr), -1.0)
        signals = np.zeros((n, row + len(legs) + 1, ny + nx + len(self.resting)))
        for k, command in enumerate([self.command, *(each.command for each in late)]):
            signals[:, k, ny + nx :] = np.concatenate(command, axis=-1)
        signals[:, row, ny : ny + nx] = self._state
        first, acting = self._first + len(self._samples) - row, 0
        rng = copy.deepcopy(self._rng) if self._state.ndim == 1 else self._rng  # not all legs may be reached
        for leg, line in zip(legs, plan, strict=True):
            acting = leg.applied - first if leg.applied >= 0 else acting
            line[UNTIL], line[ACTING] = leg.until, acting
            if leg.sample >= 0:
                line[SAMPLE], line[REFERENCES:] = leg.sample - first, leg.reference - self.r_trim
                if self._is_noisy:
                    signals[:, leg.sample - first, :ny] = self._noise * rng.standard_normal(ny)
        return plan, signals

    def end_legs(self, legs: Sequence[SampledLeg], plan: Array, signals: Array) -> None:
        """Note the signals that kernels have written, of the first `legs` of a plan; check them as those of single samples.

        An exception before the end, such as Ctrl-C, leaves all as it was.
        """
        nx, ny, is_one, state, late = self._state.shape[-1], len(self.trim), self._state.ndim == 1, self._state, self._late
        rows, may_be_infinite = signals[0] if is_one else signals, is_one and not np.isfinite(signals).all()
        samples, effects, known = list[_Sample](), list[tuple[float, Command]](), len(self._samples)
        for leg, row in zip(legs, plan[:, SAMPLE].astype(int).tolist(), strict=False):
            if row >= 0:
                measured, x, command = rows[..., row, :ny], rows[..., row, ny : ny + nx], rows[..., row, ny + nx :]
                state = rows[..., row + 1, ny : ny + nx]
                if may_be_infinite:
                    _refuse_infinite(leg.time, state, command @ self.commands.matrix)
                samples.append(_Sample(leg.time, measured, leg.reference, x, self.commands.part(command)))
            if leg.applied >= 0:
                late, k = leg.applied + self._whole + 1, leg.applied - self._first
                effects.append((leg.time, (self._samples[k] if k < known else samples[k - known]).command))
        if is_one and self._is_noisy:
            self._rng.standard_normal((len(samples), ny))
        self._samples += samples
        self._taken, self._late, self._state = self._taken + len(samples), late, state
        for effect in effects:
            self._put_into_effect(*effect)
        self._go_on()

    def are_finite(self) -> Array:
        """Tell of which members all states and commands are finite, as those of a single simulation have to be."""
        parts = [self._state, *(part for each in self._samples for part in (each.state, *each.command))]
        return np.asarray(np.isfinite(np.hstack(parts)).all(axis=1))

    def histories_of_members(self, n: int) -> list[ControlHistory]:
        """Return the signals at the samples of each of n members."""
        times = np.array([sample.time for sample in self._samples])
        values = [np.concatenate(sample.command, axis=-1) @ self.commands.matrix for sample in self._samples]
        measured, references, states = ([sample[k] for sample in self._samples] for k in (1, 2, 3))
        y, u, x = (np.array(column).reshape(len(times), n, -1).swapaxes(0, 1).copy() for column in (measured, values, states))
        r = np.array(references)
        return [ControlHistory(times, y[k], r.copy(), u[k], x[k], self.names, self._units, True) for k in range(n)]

    def of_member(self, k: int) -> SampledController:
        """Return the controller of one of many members, to go on later."""

        def row(array: Array) -> Array:
            return array[k] if array.ndim == 2 else array

        def command(whole: Command) -> Command:
            return Command(*map(row, whole))

        one = copy.copy(self)
        last = self._samples[-(self._whole + 2) :]
        one._samples = [
            _Sample(each.time, row(each.measured), row(each.reference), row(each.state), command(each.command)) for each in last
        ]
        one._state, one._rng, one.command = self._state[k], self._rng.of_member(k), command(self.command)
        return one

    def command_at(self, t: float) -> Command:
        """Return the command at an output time (s) of the solution."""
        return self._acting[bisect_right(self._instants, t + self._margin) - 1]

    def history(self) -> ControlHistory:
        """Return the signals at the samples."""
        samples = self._samples[max(0, self._carried - 1) :]
        instants, outputs, references, states = ([sample[k] for sample in samples] for k in range(4))
        return self.rows(np.array(instants), outputs, references, [sample.command for sample in samples], states, True)

    # -- to go on later ----------------------------------------------------------------------------------------------------

    def memory(self) -> Memory:
        """Return what it needs to go on later."""
        samples = self._samples[-(self._whole + 2) :]
        columns = [[sample[k] for sample in samples] for k in range(4)]
        sizes = len(self.measurements.names), len(self.references.names), len(self.law.states)
        found = {
            "grid": np.array([self._begin, self.law.sample_time, self._delay, self._taken, self._late]),
            "state": self._state.copy(),
            "acting": np.concatenate(self.command),
            "times": np.array(columns[0], dtype=float),
            "commands": np.reshape([np.concatenate(sample.command) for sample in samples], (-1, len(self.resting))),
            "generator": np.array(json.dumps(self._rng.bit_generator.state, default=np.ndarray.tolist)),
        }
        parts = zip(("measured", "references", "states"), columns[1:], sizes, strict=True)
        return found | {name: np.array(rows, dtype=float).reshape(len(samples), size) for name, rows, size in parts}

    def recall(self, known: Memory) -> None:
        """Go on where a memory was left; see `ControlLoop.recall`."""
        now = self.memory()
        check_memory("controller", "controller", known, now, ("times", "measured", "references", "states", "commands"))
        grid = known["grid"]
        for name, then, here in zip(("sample_time", "delay"), grid[1:3], now["grid"][1:3], strict=True):
            if abs(then - here) > SAME * max(1.0, abs(here)) * (self.sample_time if name == "sample_time" else 1.0):
                unit = 1.0 if name == "sample_time" else self.sample_time
                refuse_memory(name, f"{here * unit:g} s", f"{then * unit:g} s, as before")
        self._begin, self._taken, self._late = float(grid[0]), int(grid[3]), int(grid[4])
        self._state = known["state"].copy()
        commands = [self.commands.part(row) for row in (*known["commands"], known["acting"])]
        rows = zip(known["times"].tolist(), known["measured"], known["references"], known["states"], commands, strict=False)
        self._samples = [_Sample(*row) for row in rows]
        self._carried = len(self._samples)
        self._first = self._taken - self._carried
        self._instants, self._acting, self.command = [self._times[0]], [commands[-1]], commands[-1]
        self._rng = read_generator("noise", known["generator"])
        self._go_on()


def _refuse_infinite(t: float, x: Array, u: Array) -> None:
    """Refuse states and commands of a sample that are not finite."""
    if not (all_finite(x) and all_finite(u)):
        advice = "the loop is unstable, or the controller's numbers are wrong"
        raise ModelError(Finding("not-finite", f"controller at t = {t:.6g} s", u, "finite commands and states", advice))


class SampledLoop(ControlLoop):
    """A loop of sampled controllers alone, whose commands are held between instants.

    - `controllers`: in the order in which they are called;
    - `command`: in effect now.
    """

    sampled = True
    initial_state = np.zeros(0)

    def __init__(self, controllers: Sequence[SampledController]) -> None:
        self.controllers, self.commands = controllers, controllers[0].commands
        self.sample_time = min(each.sample_time for each in controllers)
        self._sum()

    @property
    def connected(self) -> list[ConnectedController]:
        return [*self.controllers]

    @property
    def takes_stacks(self) -> bool:
        """Whether it may control stacked states of many members of one model."""
        ones = self.controllers
        return not (len(self.command.signals) or any(one.accelerated or one.references.follow_state for one in ones))

    def reads_alike(self, are_same_places: Callable[[], bool]) -> bool:
        """Whether members with other parameters measure alike: entries of the state, or where the same places move."""
        others = [one.measurements for one in self.controllers if not one.measurements.are_entries]
        return not others or (all(each.takes_stacks for each in others) and are_same_places())

    def stack(self, generators: Sequence[Generators]) -> None:
        """Control stacked states from now on; see `SampledController.stack`."""
        for one, own in zip(self.controllers, generators, strict=True):
            one.stack(own)

    def _sum(self) -> None:
        self.command = add_commands([each.command for each in self.controllers])

    def advance(
        self, plant: ControlledModel, t: float, y: Array, whole: Callable[[Command], Command] = lambda command: command
    ) -> float:
        """Take the samples that are due at a state, and change the `command`; return until when (s) it holds.

        `whole` adds commands of continuous controllers, which may follow from those of sampled ones at once.
        """
        until = math.inf
        for each in self.controllers:
            signals = whole(self.command).signals if len(self.command.signals) else self.command.signals
            until = min(until, each.advance(plant, t, y, signals))
            self._sum()
        return until

    def begin(self, plant: ControlledModel, t: float, y: Array) -> Command:
        return self.command

    def act(self, plant: ControlledModel, t: float, y: Array) -> float:
        if plant.command is None:
            plant.command = self.command
        until = self.advance(plant, t, y)
        plant.command = self.command
        return until

    def command_at(self, plant: ControlledModel, t: float, y: Array) -> Command:
        return add_commands([each.command_at(t) for each in self.controllers])

    def histories(self, plant: ControlledModel, t: Array, y: Array) -> tuple[ControlHistory, ...]:
        return tuple(each.history() for each in self.controllers)

    def memory(self) -> list[Memory]:
        return [each.memory() for each in self.controllers]

    def recall(self, memory: Sequence[Memory]) -> None:
        for each, left in zip(self.controllers, memory, strict=True):
            each.recall(left)
        self._sum()


def at_output(t: float, times: Sequence[float], margin: float) -> float:
    """Return the output time from which a time differs by rounding alone, at most a `margin` (s), or else the time."""
    k = bisect_left(times, t - margin)
    return times[k] if k < len(times) and times[k] <= t + margin else t


def read_generator(where: str, text: Array) -> np.random.Generator:
    """Return a generator from its state as text; messages call it `where`."""
    try:
        state = json.loads(str(text))
        bits = _GENERATORS[state["bit_generator"]]()
        bits.state = state
    except (KeyError, TypeError, ValueError, AttributeError):
        refuse_memory(where, str(text)[:60], "the state of one of NumPy's generators")
    return np.random.Generator(bits)
