"""Steps of explicit Runge-Kutta methods: whole steps or all stages in compiled code, if that covers all of the motion."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache, partial
from itertools import islice
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
from scipy.integrate import DOP853, RK23, RK45

from titop.blocks.basics.spatial import Array
from titop.solvers.constraints.assembling import closed_within
from titop.solvers.control.sampled_loop import SampledController
from titop.solvers.engines.compiled.prepared_kernels import CompiledPreparedDynamics, MemberTables, no_control
from titop.solvers.kernels.entries import runge_kutta as control
from titop.solvers.kernels.entries.sampled_legs import UNTIL
from titop.solvers.kernels.entries.stepping_entries import TOO_FAR, choose_first, guess_length, judge, set_out, states_within
from titop.solvers.kernels.interface import layout
from titop.solvers.kernels.ports.guards import NEAR as MAY_SWITCH
from titop.solvers.native.callbacks import raise_pending
from titop.solvers.simulation.closed_states import NEAR, PRECISION, ClosedState
from titop.solvers.simulation.driven_model import DrivenModel
from titop.solvers.simulation.steppers import OdeStepper, Tolerances

#: States (m, n) as a function of the elapsed parts (m) of a step, 0 to 1.
Within = Callable[[Array], Array]


class Tableau(NamedTuple):
    """A Runge-Kutta method: stage s is at ``t + nodes[s] h``, its state is ``y + h sum_j coefficients[s, j] rates[j]``.

    - `nodes`: of all stages;
    - `coefficients` (n, n);
    - `end`: the stage whose state is that at the end of the step; later stages serve `within`;
    - `used`: number of stages that the error estimate uses;
    - `estimators` (1, used) or (2, used): see `error_of` of the kernels' `runge_kutta`;
    - `exponent`: of the error, in the length of the next step;
    - `curve` (k, n): of states within a step: ``y + h sum_p passed^(p + 1) curve[p] @ rates``, `passed` the elapsed part of it.
    """

    nodes: list[float]
    coefficients: Array
    end: int
    used: int
    estimators: Array
    exponent: float
    curve: Array

    @property
    def table(self) -> Array:
        """All its rows of stages, as kernels take them (`runge_kutta.Method`): estimators as wide as the others."""
        estimators = np.zeros((len(self.estimators), len(self.nodes)))
        estimators[:, : self.used] = self.estimators
        return np.vstack([self.coefficients, estimators, self.curve])

    def asked(self, tries: int, first: int = 0, behind: int | None = None) -> Array:
        """Return what kernels are asked that try so many steps at most, or fill in stages (see `runge_kutta`)."""
        return np.array([[tries, self.used, self.end, len(self.estimators), first, self.used if behind is None else behind]])

    def clock(self, start: float, end: float, tolerances: Tolerances) -> Array:
        """Return the clock of a step control that begins, without a wish for the first step."""
        clock = np.zeros(control.ATOL + len(tolerances.atol))
        known = {control.TIME: start, control.END: end, control.WISH: -1.0, control.GROWTH: control.MOST}
        known |= {control.LONGEST: tolerances.max_step, control.RTOL: tolerances.rtol, control.EXPONENT: self.exponent}
        clock[[*known]], clock[control.ATOL :] = [*known.values()], tolerances.atol
        return clock

    def within(self, states: Array, rates: Array, h: float) -> Within:
        """Return the states within a step of length h, from all its stages."""
        first, known = states[:1].copy(), rates.copy()

        def states_at(parts: Array) -> Array:
            result = np.empty((len(parts), first.shape[1]))
            states_within.compiled(np.ascontiguousarray(parts), h, first, known, self.curve, result)
            return result

        return states_at


@cache
def tableau(method: str) -> Tableau:
    """Return a method, ``"DOP853"``, ``"RK45"`` or ``"RK23"``."""
    return _dop853() if method == "DOP853" else _embedded_pair({"RK45": RK45, "RK23": RK23}[method])


def _embedded_pair(kind: Any) -> Tableau:
    n = kind.n_stages
    coefficients = np.zeros((n + 1, n + 1))
    coefficients[:n, : kind.A.shape[1]], coefficients[n, :n] = kind.A, kind.B

    exponent = -1 / (kind.error_estimator_order + 1)
    return Tableau(
        [*kind.C.tolist(), 1.0], coefficients, n, n + 1, kind.E[None].copy(), exponent, np.ascontiguousarray(kind.P.T)
    )


def _dop853() -> Tableau:
    n, more = DOP853.n_stages, len(DOP853.C_EXTRA)
    coefficients = np.zeros((n + 1 + more, n + 1 + more))
    coefficients[:n, :n], coefficients[n, :n] = DOP853.A, DOP853.B
    coefficients[n + 1 :, : DOP853.A_EXTRA.shape[1]] = DOP853.A_EXTRA
    estimators = np.array([DOP853.E5[:n], DOP853.E3[:n]])  # the rate at the end is not used

    whole, first, last = np.zeros((3, n + 1 + more))
    whole[:n], first[0], last[n] = DOP853.B, 1.0, 1.0
    terms = np.vstack([whole, first - whole, 2 * whole - last - first, DOP853.D])
    curve, factor = np.zeros((len(terms), n + 1 + more)), np.ones(1)
    for k, term in enumerate(terms):  # alternating factors: the elapsed part and the remaining one
        factor = np.convolve(factor, [1.0, -1.0] if k % 2 else [0.0, 1.0])
        curve += np.outer(np.append(factor[1:], np.zeros(len(terms) - len(factor) + 1)), term)
    exponent = -1 / (DOP853.error_estimator_order + 1)
    return Tableau([*DOP853.C.tolist(), 1.0, *DOP853.C_EXTRA.tolist()], coefficients, n, n, estimators, exponent, curve)


#: Tries after which compiled steps return to Python, which handles signals such as Ctrl-C and reports progress.
_MANY = 100
#: No table.
NOTHING = np.zeros((0, 0))
#: How often some members may come to grief before the others no longer step in lanes.
_TRIES = 8
#: Legs between samples, of all members, that compiled code makes before Python looks; of each; and for how long (s) about.
_ALL_LEGS, _LEGS, _A_WHILE = 2**15, (16, 256), 0.05


class HeldSteps:
    """Compiled steps of members of a tree, one or many, each in its own time, under loads that are held, or change at samples.

    - `prepared`: of one of them; `method`: as in `tableau`; `times` (m, s): output times, from the first of which they start;
    - `y` (n, ny): the states reached, at first the start;
    - `loads` (n, ...): all efforts, which callers set; with `control`, inputs and efforts that act beside a controller's;
    - `tables`: of all members; `control`: of a linear controller, ``gains`` and ``drives`` of the kernels' `sampled_legs`;
    - `outputs` (n, m, ny): states at the output times, quaternions not unit;
    - `pieces`: how many legs have begun.
    """

    pieces = 0

    def __init__(
        self,
        prepared: CompiledPreparedDynamics,
        method: str,
        times: Array,
        y: Array,
        tolerances: Tolerances,
        tables: MemberTables | None,
    ) -> None:
        assert tables is not None
        self.times, self.y, self.loads, self._method = times, y, np.zeros((len(y), prepared.mechanism.nv)), tableau(method)
        self.control = NOTHING, NOTHING
        self.outputs = np.full((len(y), len(times), y.shape[1]), np.nan)
        self.outputs[:, 0] = y
        self._progress = np.hstack([np.full((len(y), 1), layout.OK), tables.table])
        #: Of each member, whether it has got so far.
        self.goes_on = np.ones(len(y), dtype=bool)
        self.clocks = np.tile(self._method.clock(float(times[0]), float(times[0]), tolerances), (len(y), 1))
        in_lanes = prepared.with_lanes(tables)
        self._prepared, self._name, self.tables = prepared, method, in_lanes or tables
        self._fixed = self._method.asked(_MANY), self._method.table
        #: How often they may still try to step in lanes, where some have come to grief.
        self._tries = 0 if in_lanes is None else _TRIES

    def go_to(self, end: float, look: Callable[[], None]) -> None:
        """Go to a time (s), and `look` now and then, where Ctrl-C is noticed too."""
        self.clocks[:, control.LEG] = 0.0
        self.go_along(np.array([[end, -1.0, -1.0]]), np.zeros((len(self.y), 0, 0)), look)

    def follow(self, controller: SampledController, look: Callable[[], None]) -> bool:
        """Go to the end, sampling the controller whose tables `control` has; tell whether loads may have jumped there."""
        ahead, most = controller.legs(*self.times[[0, -1]].tolist()), int(np.clip(_ALL_LEGS // len(self.y), *_LEGS))
        count, jumped = _LEGS[0], False
        while self.goes_on.any() and (legs := list(islice(ahead, count))):
            plan, signals = controller.begin_legs(legs)
            self.clocks[:, control.LEG] = 0.0
            begin = perf_counter()
            try:
                self.go_along(plan, signals, look)
                controller.end_legs(legs[: self._begun()], plan, signals)
            except KeyboardInterrupt:  # perhaps as soon as kernels have returned, or while their signals were noted
                controller.end_legs(legs[: self._begun()], plan, signals)
                raise
            count = min(max(1, int(count * min(2.0, _A_WHILE / (perf_counter() - begin)))), most)
            jumped = legs[-1].time == self.times[-1]
        return jumped

    def go_along(self, plan: Array, signals: Array, look: Callable[[], None]) -> None:
        """Go along the legs of a `plan`, and write the `signals` (n, ...) of their samples: see the kernels' `sampled_legs`."""
        prepared, end, before = self._prepared, plan[-1, UNTIL], self.pieces
        self._leave_behind(signals)
        rest, in_lanes = (prepared.imposed, plan, *self.control, signals, self.tables), self._tries > 0
        while True:
            if in_lanes:  # all together, until one comes to grief
                due = slice(*np.searchsorted(self.times, [self.clocks[:, control.TIME].min(), end], "right"))
                outputs = self.outputs[:, due].copy()
                states = self.clocks, self.y, outputs, self.loads
                in_lanes = prepared.lane_steps(*self._fixed, self.times[due], *states, *rest) == layout.OK
                self.outputs[:, due], self._tries = outputs, self._tries - (not in_lanes)
            else:
                states = self.clocks, self.y, self.outputs, self.loads
                prepared.member_steps(*self._fixed, self.times, self._progress, *states, *rest)
                self.goes_on = self._progress[:, 0] == layout.OK
            self.pieces = before + self._begun()
            raise_pending()
            look()
            behind = (self.clocks[:, control.TIME] < end) | (self.clocks[:, control.LEG] < len(plan))
            if not behind.any() or not behind[self.goes_on].any():
                return

    def _begun(self) -> int:
        """Return how many legs of the present plan have begun."""
        return int(self.clocks[:, control.LEG].max())

    def _leave_behind(self, signals: Array) -> None:
        """Let members that have come to grief do as another one does, since nobody looks at them: lanes need not fail."""
        if self._tries and not self.goes_on.all() and self.goes_on.any():
            for rows in (self.clocks, self.y, self.loads, signals):
                rows[~self.goes_on] = rows[self.goes_on.argmax()]

    def rates(self, y: Array, tau: Array) -> Array:
        """Return the rates (n, m, ny) of states with unit quaternions, under efforts (n, m, nv)."""
        rates, _ = self._prepared.rates_of_members(y, np.ascontiguousarray(tau), self.tables, self._tries > 0)
        raise_pending()
        return rates

    def time(self, k: int) -> float:
        """Return the time (s) that a member has reached."""
        return self.clocks.item(k, control.TIME)

    def end(self, k: int) -> float:
        """Return the time (s) at which the present leg of a member ends."""
        return self.clocks.item(k, control.END)

    def reached(self, k: int) -> int:
        """Return the number of output times that a member has reached."""
        return int(np.searchsorted(self.times, self.time(k), "right"))

    def memory(self, k: int, jumped: bool) -> dict[str, Array]:
        """Return what the next step of a member depends on, as steppers do; whether loads have `jumped` at the end."""
        closures = np.array([OdeStepper._away, self._prepared.farthest, self._prepared.rank])
        left = {"state": self.y[k].copy(), "clock": self.clocks[k, [control.WISH, control.GROWTH]], "closures": closures}
        return left | {"method": np.array(self._name), "jumped": np.array(jumped)}

    def recall(self, memory: Mapping[str, Array]) -> None:
        """Let a single member go on as one would that left a `memory`, if it is one of this method, for the same states."""
        if str(memory.get("method")) == self._name and memory["state"].shape == self.y[0].shape:
            self.y[0], self.clocks[0, [control.WISH, control.GROWTH]] = memory["state"], memory["clock"]

    def statistics(self, k: int) -> dict[str, float]:
        """Return the counts of a member."""
        steps, evaluations = self.clocks[k, [control.STEPS, control.EVALUATIONS]].astype(int).tolist()
        return {"steps": steps, "evaluations": evaluations, "jacobians": 0}


class RungeKutta(OdeStepper):
    """An explicit method with scipy's step control, stage by stage.

    - `method`: as in `tableau`;
    - `start`, `end` (s);
    - `states`, `rates` (stages, ny): those of the last step's stages.
    """

    def __init__(self, plant: DrivenModel, method: str, start: float, end: float, y0: Array, tolerances: Tolerances) -> None:
        super().__init__(plant, start, end, y0)
        self.name, self._y, self.method = method, np.array(y0, dtype=float), tableau(method)
        shape = len(self.method.nodes), len(y0)
        self.states, self.rates, self._clock = np.zeros(shape), np.zeros(shape), np.zeros(control.ATOL + len(y0))
        self._clock[:] = self.method.clock(start, end, tolerances)
        self._set_out = set_out.compiled

    def _begin(self) -> None:
        """Choose the length of the first step, unless one was recalled."""
        clock, y = self._clock, self._y
        if clock[control.WISH] < 0.0:
            rate = self._rate_at(self.t, y)
            guess_length.compiled(clock, y, rate)
            h = clock.item(control.LENGTH)
            choose_first.compiled(clock, y, rate, self._rate_at(self.t + h, y + h * rate))

    def _rate_at(self, t: float, y: Array) -> Array:
        self.states[0] = y
        return self.rates[0].copy() if self.fill(0, 1, t, 0.0) else np.full(len(y), np.nan)

    @property
    def t(self) -> float:
        return self._clock.item(control.TIME)

    @property
    def begin(self) -> float:
        return self._clock.item(control.BEFORE)

    @property
    def end(self) -> float:
        return self._clock.item(control.END)

    @property
    def y(self) -> Array:
        return self._y

    def advance(self, watch: float) -> ClosedState | None:
        self._begin()
        clock, method, is_step = self._clock, self.method, False
        self.states[0], self.is_clear = self._y, None
        while not is_step and clock[control.LENGTH] > 0.0:
            begun, t, h = int(clock[control.BEGUN]), float(clock[control.TIME]), float(clock[control.LENGTH])
            filled = self.fill(begun, method.used, t, h)
            is_step = bool(judge(filled, method.end, clock, method.estimators, self.states, self.rates))
        if is_step:
            self._y[:] = self.states[method.end]
        self._check_length()
        return None

    def _check_length(self) -> None:
        if self.is_running and self._clock[control.LENGTH] <= 0.0:
            raise ArithmeticError("Required step size is less than spacing between numbers.")

    def fill(self, first: int, last: int, t: float, h: float) -> bool:
        """Write the rates of stages `first` to `last` - 1, and the states up to `last`; tell whether all are finite."""
        states, rates, method = self.states, self.rates, self.method
        self._clock[control.EVALUATIONS] += last - first
        for s in range(first, min(last + 1, len(states))):
            states[s] = states[0] + h * (method.coefficients[s, :s] @ rates[:s])
            if s < last:
                rates[s] = self.rate(t + method.nodes[s] * h, states[s].copy())
                if not np.isfinite(rates[s]).all():
                    return False
        return True

    def go_back(self, length: float) -> None:
        clock = self._clock  # later steps may be as long as they were
        self._y[:] = self.states[0]
        clock[control.TIME], clock[control.LENGTH], clock[control.BEGUN] = clock[control.BEFORE], length, 0.0
        clock[control.STEPS] -= 1.0

    def move(self, y: Array) -> None:
        self._y[:] = y

    def go_to(self, end: float, anew: bool) -> bool:
        self._clock[control.END] = end
        self._set_out(self._clock)
        return True

    def memory(self) -> dict[str, Array]:
        closures = np.array([self._away, self.plant.prepared.farthest, self.plant.prepared.rank], dtype=float)
        return {"state": self._y.copy(), "clock": self._clock[[control.WISH, control.GROWTH]], "closures": closures}

    def recall(self, memory: Mapping[str, Array]) -> None:
        self._y[:], self._clock[[control.WISH, control.GROWTH]] = memory["state"], memory["clock"]
        self._away, self.plant.prepared.farthest, rank = memory["closures"].tolist()
        self.plant.prepared.rank = int(rank)
        self._set_out(self._clock)

    def dense_output(self) -> Callable[[Array], Array]:
        method, begin, h = self.method, self.begin, float(self._clock[control.LAST])
        self.fill(method.used, len(method.nodes), begin, h)
        within = method.within(self.states, self.rates, h)
        return lambda times: within((times - begin) / h)

    def statistics(self) -> dict[str, float]:
        counts = self._clock[[control.STEPS, control.EVALUATIONS]].astype(int).tolist()
        return {"steps": counts[0], "evaluations": counts[1], "jacobians": 0}


class CompiledRungeKutta(RungeKutta):
    """The same in compiled code, for a plant that `has_stages`; near singular configurations stage by stage.

    The stages are compiled where loads are functions of the state, whole steps where they are functions of time.

    `*arguments`: see `RungeKutta`.
    """

    def __init__(self, plant: DrivenModel, *arguments: Any) -> None:
        super().__init__(plant, *arguments)
        assert isinstance(plant.prepared, CompiledPreparedDynamics)
        method, model, rows = self.method, plant.model, len(self.method.nodes)
        feedback, guards, nq, nv = plant.linear_feedback, plant.gaps.step_guards, plant.model.nq, plant.model.nv
        self._dynamics, self._tau = plant.prepared, np.zeros(nv)
        self._feedback = feedback if feedback is not None and feedback.varies else None
        tables, offset = no_control(nv), np.zeros(0)
        if feedback is not None:
            tables, offset = (feedback.gains, feedback.drives), feedback.offset(0.0)
        told = np.tile(np.concatenate([np.zeros(nq + 2 * nv), offset]), (rows, 1))
        self._motions, self._offsets = np.split(told, [nq + 2 * nv], axis=1)
        precision = np.array([PRECISION, closed_within(model.mechanism, self._y[:nq]), NEAR])
        self._kernel, same = self._dynamics.steps(plant.motion.mask_q, tables, guards, self._tau, precision)
        self._in_time = bool(plant.motion.names) or self._feedback is not None
        self._by_functions = not (plant.is_held or plant.is_sampled)
        states, step = self.states, (self.states, self.rates, told, *same)
        table = method.table
        if not len(guards) or self._in_time or self._by_functions:
            table = table[: len(table) - len(method.curve)]
        self._part_clock = np.zeros(control.ATOL)
        self._whole, self._part = (self._clock, table, self._y, *step), (self._part_clock, table, states[0], *step)
        self._asked = method.asked(1 if self._in_time or self._by_functions else _MANY)
        kernels = [partial(self._kernel, method.asked(0, s, s + 1), *self._part) for s in range(rows)]
        self._stages = list(zip(method.nodes, states, states[:, :nq], states[:, nq : nq + nv], kernels, strict=True))
        self._act()

    def _act(self) -> None:
        if not self._by_functions:
            self.plant.act_held(self._tau)

    def go_to(self, end: float, anew: bool) -> bool:
        self._act()  # anew in any case
        return super().go_to(end, anew)

    def advance(self, watch: float) -> ClosedState | None:
        """Make a step, or several until one reaches the time `watch` (s), or there were many.

        Something may have switched in the last one: see `is_clear`. Returns None if its state has to be projected by the
        careful projection in Python.
        """
        if self.is_near():
            return super().advance(watch)
        self._begin()
        reached = self._steps(watch)
        self._check_length()
        return reached

    def _steps(self, watch: float) -> ClosedState | None:
        method, clock = self.method, self._clock
        first, reached = clock.item(control.STEPS), min(watch, clock.item(control.END))
        one_by_one = self._in_time or self._by_functions
        clock[control.WATCH], arguments = watch, (self._asked, *self._whole)
        self._dynamics.hold_rank()
        while True:
            status = self._prepare_try() if one_by_one else layout.OK
            if status == layout.OK:
                status = self._kernel(*arguments)
            if status in (layout.OK, MAY_SWITCH):
                made, self.is_clear = clock.item(control.STEPS) - first, status == layout.OK
                if not self.is_clear or (made and (clock.item(control.TIME) >= reached or made >= _MANY)):
                    reached_state = self._dynamics.closure_report
                    return ClosedState(self._y.copy(), float(reached_state[1]), int(reached_state[2]))
            elif status in (control.LOOK_CLOSER, control.TOO_SHORT):
                self.is_clear = None
                return None
            else:
                self._explain(status, clock.item(control.TIME), self.states[: method.used])

    def _prepare_try(self) -> int:
        """Write the motions of the next trial step, or all of its stages, for the kernel; return a status."""
        clock, method = self._clock, self.method
        begun, t, h = int(clock[control.BEGUN]), clock.item(control.TIME), clock.item(control.LENGTH)
        if self._in_time:
            self._write(begun, method.end + 1, t, h)
        if not self._by_functions or h <= 0.0:
            return layout.OK
        self.states[0] = self._y
        clock[control.EVALUATIONS] += method.used - begun
        status = self._fill_by_functions(begun, method.used, t, h)
        if status == layout.OK:
            clock[control.BEGUN] = method.used
        else:
            judge(False, method.end, clock, method.estimators, self.states, self.rates)
        return status

    def fill(self, first: int, last: int, t: float, h: float) -> bool:
        if self.is_near():
            return super().fill(first, last, t, h)
        self._clock[control.EVALUATIONS] += last - first
        self._dynamics.hold_rank()
        if self._in_time:
            self._write(first, last, t, h)
        if self._by_functions:
            status = self._fill_by_functions(first, last, t, h)
        else:
            self._part_clock[control.LENGTH] = h
            status = self._kernel(self.method.asked(0, first, last), *self._part)
        if status != layout.OK:
            self._explain(status, t, self.states[first:last])
        return status == layout.OK

    def _fill_by_functions(self, first: int, last: int, t: float, h: float) -> int:
        """Fill in stages, evaluating the loads at each; return a status."""
        plant, tau, status = self.plant, self._tau, layout.OK
        is_plain = plant.has_plain_states and plant.loop is None  # otherwise `split` raises if a controller is the reason
        self._part_clock[control.LENGTH] = h
        if first:
            self._kernel(self.method.asked(0, first, first), *self._part)  # the state there
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
        if first < last:
            times = [t + c * h for c in self.method.nodes[first:last]]
            self.plant.motion.write(times, self._motions[first:last])
            if self._feedback is not None:
                self._feedback.write(times, self._offsets[first:last])

    def _explain(self, status: int, t: float, states: Array) -> None:
        raise_pending()
        if status <= 0 and status not in TOO_FAR:  # above it is a joint's that moves no inertia, strained as it is
            self._dynamics.mechanism.engine.raise_for(status)
        if self.plant.loop is not None:
            self.plant.command = self.plant.loop.command_at(self.plant, t, states[0])
            for state in states:
                self.plant.split(t, state)  # raises if a controller is the reason
