"""Steps of explicit Runge-Kutta methods in compiled code, for all that acts as functions of time and state."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Protocol

import numpy as np

from titop.blocks.basics.spatial import Array
from titop.solvers.constraints.assembling import CLOSED
from titop.solvers.control.linear_feedback import LinearFeedback
from titop.solvers.engines.compiled.prepared import CompiledPreparedDynamics, no_control
from titop.solvers.kernels.entries.step_control import BEGUN, CLOCK_COLUMNS, END, LENGTH, STEPS, TIME
from titop.solvers.kernels.entries.stepping_entries import LOOK_CLOSER, TOO_SHORT
from titop.solvers.kernels.interface import layout
from titop.solvers.native.callbacks import raise_pending
from titop.solvers.simulation.closed_states import NEAR, PRECISION, OnClosures
from titop.solvers.simulation.plant import Plant

if TYPE_CHECKING:
    from titop.solvers.simulation.tableaus import Tableau

#: What trial states may give that go too far: numbers that overflow, and loops that are open.
_TOO_FAR = (layout.NOT_FINITE, layout.SINGULAR, layout.INCONSISTENT)
#: Tries after which Python has a look: at signals such as Ctrl-C, and to tell how far it is.
_MANY = 100


class HeldPlant(Plant, Protocol):
    """A plant that tells apart what acts as it is from what has to be asked at every state."""

    @property
    def is_held(self) -> bool: ...
    def act_held(self, tau: Array) -> None: ...
    def act_at(self, t: float, y: Array, tau: Array) -> None: ...
    def check_acting(self) -> None: ...


class CompiledStages:
    """Makes steps, and fills in stages; see `Stages` of `runge_kutta`.

    Parameters
    ----------
    plant : HeldPlant
    dynamics : CompiledPreparedDynamics
        Its wrenches and inputs act.
    feedback : LinearFeedback or None
        A continuous controller.
    method : Tableau
    """

    def __init__(
        self, plant: HeldPlant, dynamics: CompiledPreparedDynamics, feedback: LinearFeedback | None, method: Tableau
    ) -> None:
        model, rows = plant.model, len(method.nodes)
        self._plant, self._dynamics, self._method = plant, dynamics, method
        self._motions, self._tau = np.zeros((rows, model.nq + 2 * model.nv)), np.zeros(model.nv)
        self._feedback = feedback if feedback is not None and feedback.varies else None
        control = no_control(model.nv, rows) if feedback is None else feedback.tables(rows)
        self._kernel = dynamics.steps(plant.motion.moved, control, self._tau, np.array([PRECISION, CLOSED, NEAR]))
        self._offsets, self._clock = control[1], np.zeros(CLOCK_COLUMNS)
        self._one_try = method.end, math.inf, self._clock, method.estimators, method.coefficients
        self._in_time = bool(plant.motion.names) or self._feedback is not None
        self._asked = not plant.is_held
        self.act()

    @property
    def makes_steps(self) -> bool:
        """Whether whole steps can be made: whether what acts asks for no state."""
        return not self._asked

    def act(self) -> None:
        """Let act what is commanded now, until further notice."""
        if not self._asked:
            self._plant.act_held(self._tau)

    def steps(self, watch: float, clock: Array, y: Array, states: Array, rates: Array) -> OnClosures | None:
        """Make a step, or several until one reaches the time `watch` (s), or there were many.

        The last of a system with closures may have to be put on them with care: None is returned then, and where steps became
        too short to count.
        """
        method, first, reached = self._method, clock[STEPS], min(watch, clock[END])
        tries = 1 if self._in_time else _MANY
        while True:
            begun = int(clock[BEGUN])
            if self._in_time:
                self._write(begun, method.end + 1, clock[TIME], clock[LENGTH])
            status = self._kernel(
                tries,
                *(0, method.used, method.end, watch, clock, method.estimators, method.coefficients),
                *(y, states, rates, self._motions),
            )
            if status == layout.OK:
                made = clock[STEPS] - first
                if made and (clock[TIME] >= reached or made >= _MANY):
                    told = self._dynamics.told
                    return OnClosures(y.copy(), float(told[1]), int(told[2]))
            elif status in (LOOK_CLOSER, TOO_SHORT):
                return None
            else:
                self._explain(status, clock[TIME], states[: method.used])

    def fill(self, first: int, last: int, t: float, h: float, states: Array, rates: Array) -> bool:
        """Write the rates from stage `first` on to before `last`, and the states up to that; tell whether all are finite."""
        self._clock[LENGTH] = h
        if self._in_time:
            self._write(first, last, t, h)
        kernel, step = self._kernel, (states[0], states, rates, self._motions)
        if not self._asked:
            status = kernel(0, first, last, *self._one_try, *step)
        else:
            status = kernel(0, first, first, *self._one_try, *step) if first else layout.OK  # the state there
            for s in range(first, last):
                self._plant.act_at(t + self._method.nodes[s] * h, states[s], self._tau)
                status = kernel(0, s, s + 1, *self._one_try, *step)
                if status != layout.OK:
                    self._plant.check_acting()
                    break
        if status != layout.OK:
            self._explain(status, t, states[first:last])
        return status == layout.OK

    def _write(self, first: int, last: int, t: float, h: float) -> None:
        """Write what functions of time say at stages of a step."""
        if first < last:
            times = [t + c * h for c in self._method.nodes[first:last]]
            self._plant.motion.write(times, self._motions[first:last])
            if self._feedback is not None:
                self._feedback.write(times, self._offsets[first:last])

    def _explain(self, status: int, t: float, states: Array) -> None:
        """Raise what is wrong, unless a shorter step may go better."""
        raise_pending()
        if status <= 0 and status not in _TOO_FAR:  # above it is a joint's that moves no inertia, strained as it is
            self._dynamics.model.engine.raise_for(status)
        if self._plant.loop is not None:
            self._plant.command = self._plant.loop.command_at(self._plant, t, states[0])
            for state in states:
                self._plant.split(t, state)  # tells what a controller did
