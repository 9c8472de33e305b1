"""Steps of explicit Runge-Kutta methods in compiled code, for all that acts as functions of time and state."""

from __future__ import annotations

import math
from functools import partial

import numpy as np

from titop.blocks.basics.spatial import Array
from titop.solvers.constraints.assembling import closed_within
from titop.solvers.engines.compiled.prepared import CompiledPreparedDynamics, no_control
from titop.solvers.kernels.entries.step_control import (
    BEGUN,
    CLOCK_COLUMNS,
    END,
    EVALUATIONS,
    LENGTH,
    LOOK_CLOSER,
    STEPS,
    TIME,
    TOO_SHORT,
)
from titop.solvers.kernels.entries.stepping_entries import judge
from titop.solvers.kernels.interface import layout
from titop.solvers.kernels.ports.guards import NEAR as MAY_SWITCH
from titop.solvers.native.callbacks import raise_pending
from titop.solvers.simulation.closed_states import NEAR, PRECISION, OnClosures
from titop.solvers.simulation.driven_model import DrivenModel
from titop.solvers.simulation.tableaus import Tableau

#: What trial states may give that go too far: numbers that overflow, and loops that are open.
_TOO_FAR = (layout.NOT_FINITE, layout.SINGULAR, layout.INCONSISTENT)
#: Tries after which Python has a look: at signals such as Ctrl-C, and to tell how far it is.
_MANY = 100


class CompiledStages:
    """Makes steps, and fills in stages of one.

    Parameters
    ----------
    plant : DrivenModel
        One that `has_stages`.
    method : Tableau

    Attributes
    ----------
    is_clear : bool or None
        Whether no gap came near zero in the last steps; None where nobody has looked.
    """

    def __init__(self, plant: DrivenModel, method: Tableau) -> None:
        assert isinstance(plant.prepared, CompiledPreparedDynamics)
        model, rows, feedback, guards = plant.model, len(method.nodes), plant.linear_feedback, plant.gaps.step_guards
        self._plant, self._dynamics, self._method, self._guards = plant, plant.prepared, method, guards
        self._motions, self._tau = np.zeros((rows, model.nq + 2 * model.nv)), np.zeros(model.nv)
        self._feedback = feedback if feedback is not None and feedback.varies else None
        control = no_control(model.nv, rows) if feedback is None else feedback.tables(rows)
        self._precision = np.array([PRECISION, 0.0, NEAR])  # errors that count as closed follow from the first state
        self._kernel, self._same = self._dynamics.steps(plant.motion.mask_q, control, guards, self._tau, self._precision)
        self._offsets, self._clock = control[1], np.zeros(CLOCK_COLUMNS)
        self._in_time = bool(plant.motion.names) or self._feedback is not None
        self._by_functions = not (plant.is_held or plant.is_sampled)
        self.is_clear: bool | None = None
        self.act()

    def work_on(self, clock: Array, y: Array, states: Array, rates: Array) -> None:
        """Work on these arrays from now on: a `clock`, the state that is reached, and rows of stages."""
        if not self._precision[1]:
            self._precision[1] = closed_within(self._plant.model.mechanism, y[: self._plant.model.nq])
        method, step = self._method, (states, rates, self._motions, *self._same)
        self._run, self._y, self._states, self._rates = clock, y, states, rates
        curve = method.curve if len(self._guards) and not (self._in_time or self._by_functions) else np.zeros((0, len(rates)))
        tables = method.estimators, method.coefficients, curve
        self._whole = clock, *tables, y, *step
        self._part = method.end, math.inf, self._clock, *tables, states[0], *step
        kernels = [partial(self._kernel, 0, s, s + 1, *self._part) for s in range(len(states))]
        nq, nv = self._plant.model.nq, self._plant.model.nv
        self._stages = list(zip(method.nodes, states, states[:, :nq], states[:, nq : nq + nv], kernels, strict=True))

    def act(self) -> None:
        """Let act what is commanded now, until further notice."""
        if not self._by_functions:
            self._plant.act_held(self._tau)

    def steps(self, watch: float) -> OnClosures | None:
        """Make a step, or several until one reaches the time `watch` (s), or there were many.

        In the last one something may have switched: see `is_clear`. It may have to be put on the closures with care: None is
        returned then, and where steps became too short to count.
        """
        method, clock = self._method, self._run
        first, reached = clock.item(STEPS), min(watch, clock.item(END))
        one_by_one = self._in_time or self._by_functions
        arguments = 1 if one_by_one else _MANY, 0, method.used, method.end, watch, *self._whole
        self._dynamics.hold_rank()
        while True:
            status = self._prepare_try() if one_by_one else layout.OK
            if status == layout.OK:
                status = self._kernel(*arguments)
            if status in (layout.OK, MAY_SWITCH):
                made, self.is_clear = clock.item(STEPS) - first, status == layout.OK
                if not self.is_clear or (made and (clock.item(TIME) >= reached or made >= _MANY)):
                    reached_state = self._dynamics.told
                    return OnClosures(self._y.copy(), float(reached_state[1]), int(reached_state[2]))
            elif status in (LOOK_CLOSER, TOO_SHORT):
                self.is_clear = None
                return None
            else:
                self._explain(status, clock.item(TIME), self._states[: method.used])

    def _prepare_try(self) -> int:
        """Write the motions of the next try, or all of its stages, so that only its error is left to find; return a status."""
        clock, method = self._run, self._method
        begun, t, h = int(clock[BEGUN]), clock.item(TIME), clock.item(LENGTH)
        if self._in_time:
            self._write(begun, method.end + 1, t, h)
        if not self._by_functions or h <= 0.0:
            return layout.OK
        self._states[0] = self._y
        clock[EVALUATIONS] += method.used - begun
        status = self._fill_by_functions(begun, method.used, t, h)
        if status == layout.OK:
            clock[BEGUN] = method.used
        else:
            judge(False, method.end, clock, method.estimators, self._states, self._rates)
        return status

    def fill(self, first: int, last: int, t: float, h: float) -> bool:
        """Write the rates from stage `first` on to before `last`, and the states up to that; tell whether all are finite."""
        self._dynamics.hold_rank()
        if self._in_time:
            self._write(first, last, t, h)
        if self._by_functions:
            status = self._fill_by_functions(first, last, t, h)
        else:
            self._clock[LENGTH] = h
            status = self._kernel(0, first, last, *self._part)
        if status != layout.OK:
            self._explain(status, t, self._states[first:last])
        return status == layout.OK

    def _fill_by_functions(self, first: int, last: int, t: float, h: float) -> int:
        """Fill in stages, asking at each what acts; return a status."""
        plant, tau, status = self._plant, self._tau, layout.OK
        is_plain = plant.has_plain_states and plant.loop is None  # or else `split` tells what a controller did
        self._clock[LENGTH] = h
        if first:
            self._kernel(0, first, first, *self._part)  # the state there
        for node, state, q, v, kernel in self._stages[first:last]:
            now = t + node * h
            if not is_plain:
                q, v = plant.split(now, state)
            plant.act_at(now, q, v, tau)
            status = kernel()
            if status != layout.OK:
                plant.check_acting()
                break
        return status

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
