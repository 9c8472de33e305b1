"""Ensembles of simulations on a graphics processor: a thread a member, explicit fixed steps, a sampled controller."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from titop.blocks.basics.errors import Finding, ModelError, did_you_mean, warn
from titop.blocks.basics.spatial import Array
from titop.blocks.basics.tolerances import SAME
from titop.blocks.basics.user_input import is_row, read_array, read_number
from titop.blocks.programs.program import Output
from titop.graph.network.assembly import refuse_unsteady
from titop.solvers.control.control_loop import OperatingValues
from titop.solvers.control.controllers import Loop
from titop.solvers.control.loop_arguments import read_noise
from titop.solvers.control.loop_signals import References
from titop.solvers.linear.path_series import refuse_paths
from titop.solvers.model.model import Model
from titop.solvers.programs.c_code import Dialect, FunctionPrinter
from titop.solvers.programs.c_controllers import read_controller
from titop.solvers.programs.c_text import fill, table
from titop.solvers.programs.controller_text import ControllerText
from titop.solvers.programs.cuda_code import (
    NOT_CLOSED,
    NOT_FINITE,
    NOT_UNIT,
    cuda_dialect,
    health_check,
    kernel,
    normalising,
    strided,
)
from titop.solvers.programs.model_program import program
from titop.solvers.programs.on_gpu import GpuArrays
from titop.solvers.programs.program_text import HEALTH
from titop.solvers.signals.grammar import COMMANDED, INPUT, OUTPUT, SignalTable, read_name, read_names
from titop.solvers.signals.quantities import Kind
from titop.solvers.simulation.explicit_steps import tableau
from titop.solvers.support.extras import import_cupy

#: Methods, all explicit.
_METHODS = ("RK23", "RK45", "DOP853")
#: Steps of Newton's method to the constraints: at the start, and after each step, where the first leaves its error squared.
_NEWTON, _AGAIN = 20, 2

_RATES = """\
static __device__ int rates_at(@real *x, const @real *u, const @real *p, @real *rates)
{
    @real health_[<coordinates>];
    int found = 0;
<units>    rates_values(x, u, p, rates, health_);
<check>    return found;
}

"""
#: Moves a state to the constraints, of closures and gears.
_CLOSE = """\
static __device__ int close_at(@real *x, const @real *u, const @real *p, int steps)
{
    @real z[<moved>], open[1] = {<zero>};
    int c, step;
    for (step = 0; step < steps; step++) {
        closed_values(x, u, p, z, open);
        for (c = 0; c < <moved>; c++) { x[c] = z[c]; }
<units>    }
    return open[0] <= <most_open> ? 0 : <not_closed>;
}

"""
_START = """\
    int found = 0;
<check_units>    if (!found) { found = close_at(x, u, p, <newton>); }
    status[i] = found;
    for (c = 0; c < <states>; c++) { states[(size_t)c * n + i] = x[c]; }
"""
#: Kernels have arrays with a column for each member: states, inputs (efforts, then those of actuators) and parameters.
_LOAD = """\
    @real x[<states>], u[<inputs>], p[<parameters> + 1];
    int c;
    for (c = 0; c < <states>; c++) { x[c] = states[(size_t)c * n + i]; }
    for (c = 0; c < <inputs>; c++) { u[c] = inputs[(size_t)c * n + i]; }
    for (c = 0; c < <parameters>; c++) { p[c] = parameters[(long long)i * parameters_i + c * parameters_k]; }
"""
#: Steps of a method of Runge and Kutta; a member that fails stays where it is.
_ADVANCE = """\
    static const @real reach[<stages> + 1][<stages>] =
    <reach>;
    @real z[<states>], k[<stages>][<states>], sum;
    int j, s, step, found = status[i];
<check_units>    sum = <zero>;
    for (c = 0; c < <states>; c++) { sum += <zero> * x[c]; }
    for (c = 0; c < <inputs>; c++) { sum += <zero> * u[c]; }
    for (c = 0; c < <parameters>; c++) { sum += <zero> * p[c]; }
    if (!(sum == <zero>) && !found) { found = <not_finite>; }
    for (step = 0; step < steps && !found; step++) {
        for (s = 0; s <= <stages> && !found; s++) {
            for (c = 0; c < <states>; c++) {
                sum = <zero>;
                for (j = 0; j < s; j++) { sum += reach[s][j] * k[j][c]; }
                z[c] = x[c] + h * sum;
            }
            if (s < <stages>) { found = rates_at(z, u, p, k[s]); }
        }
        sum = <zero>;
        for (c = 0; c < <states>; c++) { sum += z[c]; }
        if (!isfinite(sum) && !found) { found = <not_finite>; }
        for (c = 0; c < <states> && !found; c++) { x[c] = z[c]; }
<units><close>    }
    status[i] = found;
    for (c = 0; c < <states>; c++) { states[(size_t)c * n + i] = x[c]; }
"""
_OBSERVE = """\
    @real found[<outputs>];
    outputs_values(x, u, p, found);
    for (c = 0; c < <outputs>; c++) { y[(size_t)c * n + i] = found[c]; }
"""
#: A sample of the controller, whose memory and parameters are arrays of numbers.
_SAMPLE = """\
    law_memory *own = (law_memory *)(memory + i * <memory>);
    const law_parameters *numbers = (const law_parameters *)law;
    @real in[LAW_INPUTS], out[LAW_OUTPUTS];
    int c;
    if (status[i]) { return; }
    if (is_first) { law_reset(own, numbers); }
    for (c = 0; c < <measured>; c++) { in[c] = y[(size_t)c * n + i]; }
    for (c = 0; c < LAW_INPUTS - <measured>; c++) { in[<measured> + c] = r[(long long)i * r_i + c * r_k]; }
    if (law_step(own, numbers, in, out) == LAW_NOT_FINITE) {
        status[i] = <not_finite>;
    } else {
        for (c = 0; c < LAW_OUTPUTS; c++) { commands[(size_t)c * n + i] = out[c]; }
    }
"""


class GpuEnsemble(NamedTuple):
    """What a `GpuSimulation` returns: arrays of CuPy, of n members at m times.

    Attributes
    ----------
    t : (m,) array of NumPy, s
    q, v, x : (n, m, nq), (n, m, nv), (n, m, nx)
        States; NaN from where a member failed.
    y : (n, m, ny)
        The outputs that were asked for, with the commands that act from that time on.
    status : (n,) of int32
        0; or why a member stopped: see `Model.on_gpu`; -3 if its loops cannot be closed, or steps are too long to keep them so.
    """

    t: Array
    q: Any
    v: Any
    x: Any
    y: Any
    status: Any


class _Moment(NamedTuple):
    """A time (s) at which the controller takes a sample, its commands begin to act, or states are asked for."""

    time: float
    is_sample: bool
    acts: bool
    is_output: bool


class GpuSimulation:
    """Simulations of very many members on a graphics processor, with fixed steps: ``Model.on_gpu("simulate", ...)``.

    Parameters
    ----------
    model : Model
    precision : str
        ``"double"`` or ``"single"``.
    max_step : float, s
        Steps are as long as this at most, and equal between instants at which a sample is taken, commands begin to act, or
        states are asked for. No error is estimated: compare some members with `simulate`.
    controller : control.StateSpace, control.TransferFunction, LPVModel, ScheduledController or Loop, optional
        As `export_c` takes it, whose C it is, with its delay, references, noise and operating point; measurements and commands
        as in `simulate`: in closed loop, inputs are limited to the actuators' ranges.
    method : {"RK45", "RK23", "DOP853"}
        As in `simulate`: of order 5, 3 and 8, with 6, 3 and 12 evaluations a step.
    parameters : sequence of str
        Parameters of the model that members may differ in. Values are not checked.
    inputs : sequence of str
        Inputs of actuators and blocks, beside those that are commanded, that are given as ``u``.
    outputs : sequence of str
        What is recorded beside the states; see `linearize`.
    at : array_like (nq,), optional
        With closures, the configuration at which dependent coordinates are chosen, as in `program`.

    Raises
    ------
    ModelError
        For what `program` and `export_c` refuse; for delays and sampling of sensors' and actuators' paths.

    Notes
    -----
    Closures and gears are kept as in `simulate`: states are moved to the constraints at the start, there by 20 steps of
    Newton's method, also from afar and with parameters of their own, and by two after every step of the method.

    Called with ``(t, q0=None, v0=None, x0=None, tau=None, u=None, parameters=None, reference=None, seed=0)``: increasing
    output times, start states, constant efforts and inputs to which commands are added, parameters, references of the
    controller. A vector counts for all members, an array (n, .) has a row for each; mappings give numbers or (n,) arrays by
    name. ``seed`` is that of the noise. It returns a `GpuEnsemble` and waits for nothing; members that fail do not stop others.
    """

    def __init__(
        self,
        model: Model,
        precision: str,
        max_step: float | None = None,
        controller: Any = None,
        method: str = "RK45",
        parameters: Sequence[str] = (),
        inputs: Sequence[str] = (),
        outputs: Sequence[str] = (),
        at: Any = None,
    ) -> None:
        dialect = cuda_dialect(precision)
        advice = "give a tenth of the shortest period, and compare some members with tt.simulate"
        wrong = Finding("bad-step", "max_step", max_step, "a positive number of seconds", advice)
        self.max_step = read_number(wrong, lambda x: 0 < x < np.inf)
        if method not in [*_METHODS]:
            expected = f"one of {', '.join(_METHODS)}"
            raise ModelError(Finding("unknown-method", "method", method, expected, did_you_mean(str(method), _METHODS)))
        xp = import_cupy("Model.on_gpu")
        warn(refuse_unsteady(model.mechanism.assembly))
        loop = controller if isinstance(controller, Loop) else Loop(controller)
        self._model, self._loop, self.outputs = model, loop, read_names("outputs", outputs)
        self.control = None if controller is None else read_controller(loop, None, model)
        law, inputs = None if self.control is None else self.control.law, read_names("inputs", inputs)
        commanded = [read_name(model, COMMANDED, name) for name in law.outputs] if law else []
        asked = [read_name(model, INPUT, name) for name in inputs]
        if strange := next((of.paths[0] for of in asked if of.kind != Kind.INPUT), None):
            raise ModelError(Finding("no-program", "inputs", strange, "an actuator's input", "give efforts as tau"))
        asked += [of for of in commanded if of.kind == Kind.INPUT]
        rest, limits = OperatingValues(model, loop.operating_point).command, model.mechanism.inputs
        places = sorted({k for of in asked for k in of.entries} | {*np.flatnonzero(rest.u).tolist()})
        #: Rows of the commands among efforts and inputs; these at rest, and their limits.
        self.rows = [of.entries[0] if of.kind != Kind.INPUT else model.nv + places.index(of.entries[0]) for of in commanded]
        self.resting, free = np.concatenate([rest.tau, rest.u[places]]), np.full(model.nv, np.inf)
        ranges = np.array([limits.lower, limits.upper]) if law else np.outer([-np.inf, np.inf], np.ones(model.nu))
        self.limits = np.concatenate([-free, ranges[0, places]]), np.concatenate([free, ranges[1, places]])
        measured = () if law is None else law.inputs
        paths = [path for name in self.outputs for path in read_name(model, OUTPUT, name).paths]
        read, names = [*dict.fromkeys([*measured, *paths])], [model.input_names[k] for k in places]
        #: How many outputs are read, and which are recorded.
        self.read, self.observed = len(read), [read.index(path) for path in paths]
        refuse_paths(model, [*names, *read])
        functions = ("rates", "closing_step") if model.is_constrained else ("rates",)
        self.program = program(model, *functions, parameters=parameters, inputs=names, outputs=read, at=at)
        self.noise = read_noise(loop.noise, measured)
        self.law, self.memory = None, 0
        if self.control is not None:
            self.law, held = ControllerText(self.control, "law", dialect.precision, on_device=True), self.control.held
            #: How many numbers the controller's memory takes: its states, outputs that are held back, and their place.
            self.memory = max(self.control.linear.K.nstates, 1) + (held * len(self.rows) + 1 if held else 0)
        self.code = self._text(dialect, method)
        self._arrays = GpuArrays(xp, precision, self.code)

    def __repr__(self) -> str:
        return f"GpuSimulation({self._model.name!r}; {self.program.operations} operations, {self._arrays.kind})"

    def __call__(
        self,
        t: Any,
        q0: Any = None,
        v0: Any = None,
        x0: Any = None,
        tau: Any = None,
        u: Any = None,
        parameters: Any = None,
        reference: Any = None,
        seed: int = 0,
    ) -> GpuEnsemble:
        """Return the motions of the members. See the class."""
        m, names, at = self._model, self.program.names, self.program.at
        wrong = Finding("bad-times", "t", t, "two or more increasing finite times", "use np.linspace(0, end, n)")
        times = read_array(wrong, lambda times: is_row(times) and len(times) > 1 and (np.diff(times) > 0).all())
        zero, start = np.zeros(m.nv), at["q"] if m.is_constrained else m.neutral()
        states = [("q0", q0, names["q"], start), ("v0", v0, names["v"], zero), ("x0", x0, m.state_names, np.zeros(m.nx))]
        loads = [("tau", tau, names["v"], zero), ("u", u, names.get("u", ()), np.zeros(len(names.get("u", ()))))]
        numbers = ("parameters", parameters, names.get("parameters", ()), at.get("parameters", np.zeros(0)))
        read = {each[0]: self._arrays.read(*each) for each in (*states, *loads, numbers)}
        references = self._references(reference, times)
        known = [*read.values()] if references is None or isinstance(references, References) else [*read.values(), references]
        run, xp = _Run(self, self._arrays.count("members", known), read, seed), self._arrays.xp
        nan, n, ends = self._arrays.kind.type(np.nan), run.n, (m.nq, m.nq + m.nv)
        states, y = (xp.empty((len(times), size, n), self._arrays.kind) for size in (len(run.states), len(self.observed)))
        count = 0
        moments = [*self._moments(times)]
        for here, end in zip(moments, [*(each.time for each in moments[1:]), moments[-1].time], strict=True):
            if here.is_sample:
                run.sample(references.read(here.time, zero, zero) if isinstance(references, References) else references)
            if here.acts:
                run.act()
            if here.is_output:
                states[count] = xp.where(run.status == 0, run.states, nan)
                if self.observed:
                    y[count] = xp.where(run.status == 0, run.observe()[self.observed], nan)
                count += 1
            if end > here.time:
                run.advance(end - here.time)
        by_member = states.transpose(2, 0, 1)
        q, v, x = by_member[..., : ends[0]], by_member[..., ends[0] : ends[1]], by_member[..., ends[1] :]
        return GpuEnsemble(times, q, v, x, y.transpose(2, 0, 1), run.status)

    def _text(self, dialect: Dialect, method: str) -> str:
        """Return the kernels: ``advance``, ``observe`` and ``sample``."""
        real, function, names = dialect.precision, self.program.functions["rates"], self.program.names
        nq, nv, outputs = len(names["q"]), len(names["v"]), function.outputs
        rates = tuple(value for of in ("dq", "dv", "dx") for value in outputs[of].values)
        begins = {"q": ("x", 0), "v": ("x", nq), "x": ("x", nq + nv), "tau": ("u", 0), "u": ("u", nv), "parameters": ("p", 0)}

        def place(of: str, k: int) -> str:
            array, begin = begins[of]
            return f"{array}[{begin + k}]"

        own = {"rates": Output(rates, (len(rates),)), HEALTH: outputs[HEALTH], "found": outputs["y"]}
        printed, text = replace(function, outputs=own), normalising(dialect) if self.program.quaternions else ""
        asked = {"rates": (printed, ["rates", HEALTH])} | ({"outputs": (printed, ["found"])} if self.read else {})
        if closing := self.program.functions.get("closing_step"):
            moved = Output(closing.outputs["q"].values + closing.outputs["v"].values, (nq + nv,))
            own = {"moved": moved, "open": closing.outputs["open"]}
            asked["closed"] = replace(closing, outputs=own), [*own]
        for name, (of_results, results) in asked.items():
            arguments = {of: f"const {real} *{of}" for of in "xup"} | {of: f"{real} *{of}" for of in results}
            text += FunctionPrinter(of_results, f"{name}_values", results, arguments, dialect, place).printed().text
        rule = tableau(method)
        values = {
            "states": len(rates),
            "inputs": len(self.resting),
            "parameters": len(names.get("parameters", ())),
            "coordinates": nv,
            "moved": nq + nv,
            "most_open": dialect.most_open,
            "not_closed": NOT_CLOSED,
            "newton": _NEWTON,
            "close": f"        if (!found) {{ found = close_at(x, u, p, {_AGAIN}); }}\n" if closing else "",
            "stages": rule.end,
            "reach": table(rule.coefficients[: rule.end + 1, : rule.end], real),
            "zero": dialect.number(0.0),
            "not_finite": NOT_FINITE,
            "outputs": self.read,
            "measured": len(self.noise),
            "memory": self.memory,
            "check": health_check(dialect, nv),
            "check_units": "".join(f"    if (!unit(x + {k})) {{ found = {NOT_UNIT}; }}\n" for k in self.program.quaternions),
            "units": "".join(f"    (void)unit(x + {start});\n" for start in self.program.quaternions),
        }
        marks = {name: str(value) for name, value in values.items()}
        rates_at, load, advance, observe, sample, close_at, start = (
            fill(each, "law", real, marks) for each in (_RATES, _LOAD, _ADVANCE, _OBSERVE, _SAMPLE, _CLOSE, _START)
        )
        states, status = f"{real} *__restrict__ states", "int *__restrict__ status"
        given = [f"const {real} *__restrict__ inputs", strided(f"const {real}", "parameters")]
        if closing:
            text += close_at + kernel("start", [states, *given, status], load + start)
        text += rates_at + kernel("advance", [states, *given, status, f"{real} h", "int steps"], load + advance)
        if self.read:
            text += kernel("observe", [f"const {states}", *given, f"{real} *__restrict__ y"], load + observe)
        if self.law is not None:
            arrays = [f"const {real} *__restrict__ y", strided(f"const {real}", "r")]
            arrays += [f"{real} *memory", f"const {real} *law", f"{real} *commands", status, "int is_first"]
            text += self.law.header + self.law.source + kernel("sample", arrays, sample)
        return text

    def _references(self, given: Any, times: Array) -> Any:
        """Return constant references on the device, for each member or for all; or those of the loop, functions of time."""
        if self.control is None:
            return None
        names, trims = self.control.law.references, self.control.trims[0][len(self.control.law.inputs) :]
        own = References(names, self._loop.reference, times, trims)
        if own.follow_state:
            got, advice = "a function of the state", "give numbers, or a function of time"
            raise ModelError(Finding("python-function", "reference", got, "references that are known before", advice))
        if given is None:
            return own
        if isinstance(given, Mapping):
            known = SignalTable("a reference of the controller", names)
            given = {known.find("reference", str(name)): value for name, value in given.items()}
        return self._arrays.read("reference", given, names, own.read(float(times[0]), np.zeros(0), np.zeros(0)))

    def _moments(self, times: Array) -> Iterator[_Moment]:
        """Yield the instants of a simulation in turn, those that are one but for rounding together."""
        sample = acting = output = 0
        begin, near, rest, period = float(times[0]), SAME * float(np.diff(times).min()), 0.0, 0.0
        if self.control is not None:
            period = self.control.law.sample_time
            near, rest = min(near, SAME * period), self.control.delay - self.control.held * period
            rest = rest if rest > SAME * period else 0.0
        while output < len(times):
            due = [begin + sample * period, begin + acting * period + rest] if self.control else [math.inf, math.inf]
            due.append(float(times[output]))
            now = min(due)
            which = [each <= now + near for each in due]
            yield _Moment(now, *which)
            sample, acting, output = sample + which[0], acting + which[1], output + which[2]


class _Run:
    """Members on the device, as far as they are.

    - `states` (nx, n), `inputs` (nv + nu, n); `status` (n,).
    """

    def __init__(self, simulation: GpuSimulation, n: int, read: Mapping[str, Any], seed: int) -> None:
        self._of, self._arrays, self.n = simulation, simulation._arrays, n
        xp, kind = self._arrays.xp, self._arrays.kind

        def columns(*names: str) -> Any:
            parts = [xp.broadcast_to(xp.atleast_2d(read[name]).T, (read[name].shape[-1], n)) for name in names]
            return xp.ascontiguousarray(xp.concatenate(parts))

        self.states, self.status = columns("q0", "v0", "x0"), xp.zeros(n, np.int32)
        self._base, self._parameters = columns("tau", "u"), self._arrays.strided(read["parameters"])
        self._limits = [xp.asarray(limit[:, None], kind) for limit in simulation.limits]
        self.inputs = self._limited(self._base + xp.asarray(simulation.resting[:, None], kind))
        if "closing_step" in simulation.program.functions:
            self._arrays.launch("start", n, self.states, self.inputs, *self._parameters, self.status)
        self._y = xp.empty((simulation.read, n), kind)
        if simulation.law is not None:
            self._is_first = True
            self._commands = xp.empty((len(simulation.rows), n), kind)
            self._memory = xp.zeros((n, simulation.memory), kind)
            self._law = xp.asarray(simulation.law.defaults, kind)
            self._noise = xp.asarray(simulation.noise[:, None], kind)
            self._rng = xp.random.default_rng(seed) if simulation.noise.any() else None

    def _limited(self, inputs: Any) -> Any:
        return self._arrays.xp.minimum(self._arrays.xp.maximum(inputs, self._limits[0]), self._limits[1])

    def advance(self, span: float) -> None:
        """Go some time (s) on."""
        steps = max(1, math.ceil(span / self._of.max_step - SAME))
        h, given = self._arrays.kind.type(span / steps), (self.inputs, *self._parameters)
        self._arrays.launch("advance", self.n, self.states, *given, self.status, h, np.int32(steps))

    def observe(self) -> Any:
        """Return all outputs (ny, n)."""
        self._arrays.launch("observe", self.n, self.states, self.inputs, *self._parameters, self._y)
        return self._y

    def sample(self, references: Any) -> None:
        """Take a sample, with references (nr) or (n, nr)."""
        y, measured = self.observe(), len(self._of.noise)
        if self._rng is not None:
            y[:measured] += self._noise * self._rng.standard_normal((measured, self.n), dtype=self._arrays.kind)
        r = self._arrays.strided(self._arrays.xp.asarray(references, self._arrays.kind))
        first, self._is_first = np.int32(self._is_first), False
        self._arrays.launch("sample", self.n, y, *r, self._memory, self._law, self._commands, self.status, first)

    def act(self) -> None:
        """Let the last commands act."""
        rows = self._of.rows
        self.inputs[rows] = self._base[rows] + self._commands
        self.inputs = self._limited(self.inputs)
