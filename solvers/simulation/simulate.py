"""Simulation: integrating a model's motion in time with CyRK's integrators, scipy's with rigid closures, or an own one."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np

from titop.blocks.checks import real_array
from titop.blocks.errors import ConvergenceError, Finding, ModelError
from titop.blocks.spatial import Array
from titop.solvers.arguments import read_mapping, read_state, read_wrenches
from titop.solvers.compiled import CompiledModel
from titop.solvers.control.commands import Command
from titop.solvers.control.control_loop import ContinuousLoop, ControlLoop
from titop.solvers.control.loop_arguments import LoopArguments, read_loop
from titop.solvers.control.measurements import Measurements
from titop.solvers.inputs import Push
from titop.solvers.loops import closed_dynamics
from titop.solvers.model import Model
from titop.solvers.simulation.generalized_alpha import GeneralizedAlpha
from titop.solvers.simulation.prescribed import PrescribedMotion
from titop.solvers.simulation.trajectory import Trajectory

#: Integrators: explicit ones for smooth problems, then implicit ones for stiff problems.
METHODS = ("DOP853", "RK45", "RK23", "LSODA", "BDF", "Radau", "generalized-alpha")

#: A simulation that takes longer than this (s) shows a progress bar.
_SHOW_PROGRESS_AFTER = 1.0

Efforts = Callable[[float, Array, Array], Array]

#: A state for functions that do not look at it.
_NOWHERE = (np.zeros(0), np.zeros(0))


@dataclass(frozen=True)
class Event:
    """Something to watch for: a zero of a function of time and state.

    Parameters
    ----------
    function : callable ``f(t, q, v) -> float``
    name : str
        Key of the times in `Trajectory.events`.
    terminal : bool
        Whether the simulation ends there.
    direction : {-1, 0, 1}
        Count only falling, all, or only rising zeros.
    """

    function: Callable[[float, Array, Array], float]
    name: str = "event"
    terminal: bool = True
    direction: int = 0


def simulate(
    model: Model,
    t: Any,
    q0: Any,
    v0: Any,
    tau: Any = None,
    wrenches: Mapping[str, Any] | None = None,
    prescribed: Mapping[str, Callable[[float], Any]] | None = None,
    events: Event | Sequence[Event] = (),
    method: str | GeneralizedAlpha = "DOP853",
    rtol: float = 1e-8,
    atol: float = 1e-10,
    max_step: float = np.inf,
    progress: bool = True,
    u: Any = None,
    controller: Any = None,
    reference: Any = None,
    sample_time: float | None = None,
    delay: float = 0.0,
    operating_point: Any = None,
    noise: Any = None,
    saturate: bool = True,
    seed: Any = 0,
) -> Trajectory:
    """Simulate a model, alone or in closed loop with a controller.

    Parameters
    ----------
    model : Model
    t : array_like (n,), s
        Increasing output times, two at least.
    q0, v0 : array_like (nq,), (nv,)
        State at ``t[0]``. Rigid closures and gears have to be closed within 1e-6: see `Model.assemble` and
        `Model.assemble_velocity`.
    tau : array_like (nv,) or (n, nv), or callable ``f(t, q, v) -> (nv,)``, optional
        Applied efforts: constant, sampled at the output times (linear in between), or a function; zero by default.
    wrenches : mapping of port name to (6,) array or callable ``f(t, q, v) -> (6,)``, optional
        External wrenches on bodies, in the port's frame.
    prescribed : mapping of joint or coordinate name to callable, optional
        ``f(t)`` returns position, velocity and acceleration of the prescribed motion (each a number, or one per
        coordinate); or a scipy spline. Start values come from it. The efforts that it takes are in the result.
    events : Event or sequence of Event
    method : {"DOP853", "RK45", "RK23", "LSODA", "BDF", "Radau", "generalized-alpha"} or GeneralizedAlpha
        The default suits smooth systems; take "Radau" or "BDF" for stiff ones. With rigid closures or gears "LSODA" and "BDF"
        cannot be had; states are then projected onto the closures after every step. "generalized-alpha" is of second order, for
        stiff springs, flexible bodies and closures at moderate tolerances; `GeneralizedAlpha` chooses its damping and step.
    rtol, atol : float
        Tolerances of the integrator, for q and v alike.
    max_step : float, s
    u : array_like (nu,) or (n, nu), mapping of name to number or callable, or callable ``f(t, q, v)``, optional
        Inputs of the actuators, as `tau`; a callable may also return a mapping.
    progress : bool
        Show a progress bar on a terminal when the simulation takes longer than a second.
    controller : control.StateSpace, Controller or ScheduledController, optional
        Its inputs and outputs go by name: measured are sensors' outputs, ``joint.q``, ``joint.v`` and ``body.port.w[0]`` and
        so on (parts of a port's motion); commanded are actuators' inputs and efforts (``joint`` or ``joint.tau``), in addition
        to `u` and `tau`. A state space writes underscores for dots (``joint_q``). The coordinates ``.q`` of free and spherical
        joints are displacements from the operating point (or neutral) along their tangent directions. An input of a state
        space that is named like an output gets the error **reference minus output**, as in ``control.feedback(plant, K)``: a
        gain ``u = -K x`` is the state space with ``D = +K``. If the controller has inputs ``r_<output>``, these get the
        references, and all inputs named like outputs get the outputs themselves.
    reference : mapping of name to number, array (n,) or callable ``f(t)``, or array_like (nr,) or (n, nr), optional
        By the output's name, or in the order of the controller's inputs; the operating point's outputs, or zero, by default.
        Other names are references that the controller has an input of.
    sample_time : float, s, optional
        Samples a continuous controller by Tustin's rule (`control.sample_system` with "bilinear"). Without it a continuous
        controller's states are integrated with the model's. Discrete controllers bring their own.
    delay : float, s
        From a sample to the commands, any number of sample times.
    operating_point : mapping of name to number, or object with ``q, v, u, tau`` or ``y, u``, optional
        Where the controller was designed: it gets deviations of outputs and references from there, and its commands are
        added to the inputs (and efforts) there.
    noise : float, array_like (ny,) or mapping of output name to float, optional
        Standard deviations of white noise on the outputs at the samples, in the outputs' units.
    saturate : bool
        Cut the inputs, in closed loop, to the actuators' ranges; `Trajectory.control` has the uncut commands.
    seed : int, numpy.random.SeedSequence or Generator
        Of the noise; the same seed gives the same bits.

    Returns
    -------
    Trajectory

    Raises
    ------
    ModelError
        For unusable arguments.
    ConvergenceError
        If the integrator gives up, or a loop cannot be kept closed; says when, and what to try.

    Examples
    --------
    >>> import numpy as np, titop as tt
    >>> s = tt.System("drop", gravity=[0, 0, -10])
    >>> s.connect("world", tt.RigidBody("stone", mass=1.0), joint=tt.Prismatic("fall"))
    >>> trajectory = tt.simulate(s.resolve(), [0, 1], [0.0], [0.0])
    >>> round(float(trajectory.q[-1, 0]), 9)
    -5.0
    """
    if not isinstance(model, Model):
        raise ModelError(Finding("wrong-type", "model", model, "a resolved model", "pass system.resolve()"))
    times = _read_times(t)
    scheme = _read_method(method)
    rtol, atol, max_step = _read_positive("rtol", rtol), _read_positive("atol", atol), _read_positive("max_step", max_step)
    motion = PrescribedMotion(model, read_mapping("prescribed", prescribed or {}), (times[0], times[-1]))
    wrenches = read_mapping("wrenches", wrenches or {})
    q, v = motion.impose(times[0], model.integrate(q0, np.zeros(model.nv)), read_state("v0", v0, model.coordinate_names))
    loop = read_loop(
        model, times, q, v, LoopArguments(controller, reference, sample_time, delay, operating_point, noise, saturate, seed)
    )
    if isinstance(scheme, GeneralizedAlpha) and isinstance(loop, ContinuousLoop):
        expected, advice = "a sampled controller, or none", 'give a sample_time, or take method="Radau"'
        raise ModelError(Finding("unknown-method", "method", f"{method} for a continuous controller", expected, advice))
    plant = _Plant(model, times, tau, wrenches, motion, u, loop)
    if model.is_constrained:
        from titop.solvers.simulation.constrained_integration import closed_start, require_method

        if isinstance(scheme, str):
            require_method(scheme)
        q, v = closed_start(model, q, v, motion.names)
        plant.held_rank = closed_dynamics.rank_of_free(model, q, motion.mask)
    watched = [events] if isinstance(events, Event) or not isinstance(events, Iterable) else list(events)
    for event in watched:
        if not isinstance(event, Event):
            raise ModelError(Finding("wrong-type", "events", event, "tt.Event objects", "write tt.Event(f, name=...)"))
    y0 = np.concatenate([q, v, loop.initial_state if loop else []])
    if np.iscomplexobj(y0):
        raise ModelError(Finding("wrong-type", "q0, v0", "complex numbers", "real numbers", "simulations are real"))
    begin, names = time.perf_counter(), [event.name for event in watched]
    if len(set(names)) < len(names):
        raise ModelError(Finding("duplicate-name", "events", names, "names that differ", 'write tt.Event(f, name="...")'))
    if model.nv == 0:
        solution = SimpleNamespace(t=times, y=np.empty((0, len(times))), t_events=[[]] * len(watched), y_events=[])
    elif loop is None:
        solution = _integrate(plant, times, y0, watched, scheme, rtol, atol, max_step, progress)
    else:
        shown = progress and not loop.sampled

        def integrate(span: Array, state: Array) -> Any:
            return _integrate(plant, span, state, watched, scheme, rtol, atol, max_step, shown)

        solution = loop.run(plant, times, y0, integrate, progress)
    plant.count({"seconds": time.perf_counter() - begin})
    return _collect(plant, times, solution, watched)


class _Plant:
    """A model with everything that acts on it, as a function of time and state ``y = [q, v]``.

    In closed loop `command` is what the controller adds now, and y goes on with the states of a continuous controller.
    """

    def __init__(
        self,
        model: Model,
        times: Array,
        tau: Any,
        wrenches: Mapping[str, Any],
        motion: PrescribedMotion,
        u: Any,
        loop: ControlLoop | None,
    ) -> None:
        self.motion = motion
        self.loop = loop
        self.command: Command | None = None
        self._efforts = _read_efforts(model, times, tau)
        read_wrenches({port: np.zeros(6) if callable(value) else value for port, value in wrenches.items()}, model.ports)
        self.varying = {port: value for port, value in wrenches.items() if callable(value)}
        self.constant = {port: np.asarray(value, dtype=float) for port, value in wrenches.items() if not callable(value)}
        self.model = model
        self._inputs = _read_inputs(model, times, u)
        functions = (tau, *self.varying.values(), u, *(u.values() if isinstance(u, Mapping) else ()))
        #: Whether what acts is a function that may depend on the state.
        self.feedback = any(callable(function) for function in functions)
        #: What the integrator counted.
        self.counted: dict[str, float] = {}
        #: How many constraints act on the coordinates that are not prescribed.
        self.held_rank = 0

    def count(self, numbers: Mapping[str, float]) -> None:
        """Add to what is counted."""
        self.counted |= {name: self.counted.get(name, 0) + number for name, number in numbers.items()}

    def split(self, t: float, y: Array) -> tuple[Array, Array]:
        """Return q (unit quaternions) and v of a state, prescribed motions imposed."""
        q, v = self.model.unit_configuration(y[: self.model.nq]), y[self.model.nq : self.model.nq + self.model.nv]
        return self.motion.impose(t, q, v)

    def efforts(self, t: float, q: Array, v: Array) -> Array:
        """Return all efforts on the coordinates that are not inputs."""
        efforts = self._efforts(t, q, v)
        return efforts if self.command is None else efforts + self.command.tau

    def inputs(self, t: float, q: Array, v: Array) -> Array | None:
        """Return all inputs, in closed loop within the actuators' ranges; None for none."""
        given = self._inputs(t, q, v)
        if self.command is None or self.loop is None or not self.model.nu:
            return given
        return self.loop.commands.within_limits(self.command.u if given is None else self.command.u + given)

    def measure(self, measurements: Measurements, t: float, q: Array, v: Array, a: Array) -> Array:
        """Return outputs at a state with accelerations `a`."""
        return measurements.read(q, v, a, self.wrenches(t, q, v), self.inputs(t, q, v), self.efforts(t, q, v))

    def wrenches(self, t: float, q: Array, v: Array) -> dict[str, Array]:
        """Return all external wrenches."""
        return self.constant | {port: np.asarray(value(t, q, v), dtype=float) for port, value in self.varying.items()}

    def loads(self, t: float, q: Array, v: Array) -> tuple[Array, list[Push]]:
        """Return applied efforts, the motors' included, and all that acts on ports."""
        tau, u, inputs = self.efforts(t, q, v), self.inputs(t, q, v), self.model.inputs
        pushes = [Push(port, False, value) for port, value in read_wrenches(self.wrenches(t, q, v), self.model.ports).items()]
        return (tau, pushes) if u is None else (tau + inputs.motors @ u, pushes + inputs.pushes(u))

    def dynamics(self, t: float, q: Array, v: Array) -> tuple[Array, Array]:
        """Return accelerations and applied efforts."""
        tau, wrenches, u = self.efforts(t, q, v), self.wrenches(t, q, v), self.inputs(t, q, v)
        if self.motion.mask.any():
            given = q, v, tau, self.motion.acceleration(t), self.motion.mask
            return self.model.masked_dynamics(*given, wrenches, u, self.held_rank)
        if self.model.is_constrained:
            efforts, pushes = tau + self.model.motor_efforts(u), self.model.external_pushes(wrenches, u)
            return self.model.held_dynamics(q, v, efforts, self.held_rank, pushes), tau
        return self.model.forward_dynamics(q, v, tau, wrenches or None, u=u), tau

    def derivative(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        """Return ``f(dy, t, y, *arguments)`` for the integrator, and the arguments: compiled where the whole system is."""
        model = self.model
        free = not self.varying and not self.motion.mask.any() and not isinstance(self.loop, ContinuousLoop)
        constant = isinstance(self._efforts, _Constant) and isinstance(self._inputs, _Constant)
        if free and constant and isinstance(model, CompiledModel) and model.is_compiled:
            tau, u = self.efforts(0.0, *_NOWHERE), self.inputs(0.0, *_NOWHERE)
            return model.loaded(self.constant, u).state_derivative(tau if u is None else tau + model.inputs.motors @ u)

        def derivative(dy: Array, t: float, y: Array) -> None:
            dy[:] = self.rate(t, y)

        return derivative, ()

    def rate(self, t: float, y: Array) -> Array:
        """Return dy/dt, in closed loop with the rates of a continuous controller's states."""
        if isinstance(self.loop, ContinuousLoop):
            q, v, a, own = self.loop.rates(self, t, y)
            return np.concatenate([self.model.configuration_rate(q, v), a, own])
        q, v = self.split(t, y)
        return np.concatenate([self.model.configuration_rate(q, v), self.dynamics(t, q, v)[0]])


def _integrate(
    plant: _Plant,
    times: Array,
    y0: Array,
    events: list[Event],
    method: str | GeneralizedAlpha,
    rtol: float,
    atol: float,
    max_step: float,
    progress: bool,
) -> Any:
    from CyRK import pysolve_ivp
    from tqdm import tqdm

    length = times[-1] - times[0]
    watched = tuple(_watch(plant, event) for event in events)
    with tqdm(
        total=float(length), unit="s", delay=_SHOW_PROGRESS_AFTER, disable=None if progress else True, leave=False
    ) as bar:
        if plant.model.is_constrained or isinstance(method, GeneralizedAlpha):
            from titop.solvers.simulation.alpha_solver import AlphaSolver
            from titop.solvers.simulation.constrained_integration import Projected, Stepper, integrate_steps, require_method

            span, tolerances = (float(times[0]), float(times[-1])), {"rtol": rtol, "atol": atol, "max_step": max_step}
            solver: Stepper
            if isinstance(method, GeneralizedAlpha):
                solver = AlphaSolver(plant, method, *span, y0, **tolerances)
            else:
                solver = Projected(plant, require_method(method), *span, y0, **tolerances)
            solution = integrate_steps(plant, times, y0, watched, solver, lambda t: _show(bar, t - times[0]))
            plant.count(solver.statistics())
            return solution
        derivative, arguments = plant.derivative()
        if not bar.disable:
            derivative = _with_progress(derivative, bar, times[0])
        solution = pysolve_ivp(
            derivative,
            (float(times[0]), float(times[-1])),
            y0,
            method=method,
            args=arguments or None,
            t_eval=times,
            events=watched or None,
            rtol=rtol,
            atol=atol,
            max_step=max_step,
            pass_dy_as_arg=True,
        )
    if not solution.success:
        reached, state = _last_step(derivative, arguments, times, y0, method, rtol, atol, max_step)
        plant.dynamics(reached, *plant.split(reached, state))  # raises what is wrong with the model there
        hint = (
            'a stiff system: try method="Radau"' if method in METHODS[:3] else "looser tolerances, or a singular configuration"
        )
        raise ConvergenceError(
            f"{method} gave up after t = {reached:.6g} s of {times[-1]:.6g} s ({solution.message}); perhaps {hint}"
        )
    plant.count({"steps": solution.steps_taken})  # CyRK counts nothing else
    return solution


def _last_step(
    derivative: Callable[..., Any],
    arguments: tuple[Any, ...],
    times: Array,
    y0: Array,
    method: str,
    rtol: float,
    atol: float,
    max_step: float,
) -> tuple[float, Array]:
    """Return time (s) and state that a failing integration reached: with output times, CyRK only tells the last of these."""
    from CyRK import pysolve_ivp

    span, args = (float(times[0]), float(times[-1])), arguments or None
    steps = pysolve_ivp(
        derivative, span, y0, method=method, args=args, rtol=rtol, atol=atol, max_step=max_step, pass_dy_as_arg=True
    )
    return (float(steps.t[-1]), np.array(steps.y)[:, -1]) if steps.size else (float(times[0]), y0)


def _with_progress(derivative: Callable[..., None], bar: Any, begin: float) -> Callable[..., None]:
    def shown(dy: Array, t: float, y: Array, *arguments: Any) -> None:
        _show(bar, t - begin)
        derivative(dy, t, y, *arguments)

    return shown


def _show(bar: Any, done: float) -> None:
    if done - bar.n > bar.total / 200:
        bar.update(done - bar.n)


def _watch(plant: _Plant, event: Event) -> Callable[[float, Array], float]:
    def watched(t: float, y: Array, *_: Any) -> float:
        returned = event.function(t, *plant.split(t, np.array(y)))
        value = None if returned is None else real_array(returned)
        if value is None or value.size != 1:
            raise ModelError(Finding("wrong-type", f"event {event.name!r}", returned, "a number", "return a float"))
        return float(value.ravel()[0])

    watched.terminal = event.terminal  # type: ignore[attr-defined]
    watched.direction = event.direction  # type: ignore[attr-defined]
    return watched


def _collect(plant: _Plant, times: Array, solution: Any, events: list[Event]) -> Trajectory:
    """Return the solution at the output times that it reached, and at the terminal event."""
    model = plant.model
    t, y = np.array(solution.t), np.array(solution.y).T
    found = {event.name: np.array(solution.t_events[k]) for k, event in enumerate(events)}
    ended = [
        (solution.t_events[k][0], np.array(solution.y_events[k])[:, 0])
        for k, event in enumerate(events)
        if event.terminal and len(solution.t_events[k])
    ]
    if ended:
        end, state = min(ended, key=lambda pair: pair[0])
        before = t < end
        t, y = np.append(t[before], end), np.vstack([y[before], state])
    q, v, a, tau = np.empty((len(t), model.nq)), *(np.empty((len(t), model.nv)) for _ in range(3))
    u = np.empty((len(t), model.nu))
    wrenches: dict[str, Array] = {port: np.empty((len(t), 6)) for port in (*plant.constant, *plant.varying)}
    for k, instant in enumerate(t):
        if plant.loop is not None:
            plant.command = plant.loop.command_at(plant, instant, y[k])
        q[k], v[k] = plant.split(instant, y[k])
        a[k], tau[k] = plant.dynamics(instant, q[k], v[k])
        applied = plant.inputs(instant, q[k], v[k])
        u[k] = 0.0 if applied is None else applied
        for port, wrench in plant.wrenches(instant, q[k], v[k]).items():
            wrenches[port][k] = wrench
    history = None if plant.loop is None else plant.loop.history(plant, t, y)
    return Trajectory(model, t, q, v, a, tau, u, wrenches, found, history, dict(plant.counted))


class _Constant:
    """A function of time and state that is always the same."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def __call__(self, t: float, q: Array, v: Array) -> Any:
        return self.value


def _read_efforts(model: Model, times: Array, tau: Any) -> Efforts:
    if callable(tau):
        return lambda t, q, v: read_state("tau", tau(t, q, v), model.coordinate_names)
    values = read_state("tau", np.zeros(model.nv) if tau is None else tau, model.coordinate_names, stacked=True)
    if values.ndim == 1:
        return _Constant(values)
    return _sampled(values, times, "tau")


def _read_inputs(model: Model, times: Array, u: Any) -> Callable[[float, Array, Array], Array | None]:
    if u is None:
        return _Constant(None)
    if callable(u):
        return lambda t, q, v: model.inputs.read(u(t, q, v))
    if isinstance(u, Mapping) and any(callable(value) for value in u.values()):
        return lambda t, q, v: model.inputs.read({name: x(t, q, v) if callable(x) else x for name, x in u.items()})
    if not isinstance(u, Mapping) and np.ndim(u) == 2:
        return _sampled(read_state("u", u, model.input_names, stacked=True), times, "u")
    return _Constant(model.inputs.read(u))


def _sampled(values: Array, times: Array, name: str) -> Callable[[float, Array, Array], Array]:
    """Return the linear interpolation of samples at the output times."""
    if len(values) != len(times):
        expected = f"one for each of the {len(times)} output times"
        raise ModelError(Finding("wrong-length", name, f"{len(values)} samples", expected, "sample at t"))
    return lambda t, q, v: np.array([np.interp(t, times, column) for column in values.T])


def _read_method(method: Any) -> str | GeneralizedAlpha:
    if isinstance(method, GeneralizedAlpha):
        return method
    if method not in METHODS:
        raise ModelError(Finding("unknown-method", "method", method, " or ".join(METHODS), "choose one of these"))
    return GeneralizedAlpha() if method == "generalized-alpha" else str(method)


def _read_positive(name: str, value: Any) -> float:
    number = real_array(value)
    if number is None or number.shape != () or not number > 0 or (name != "max_step" and not np.isfinite(number)):
        raise ModelError(Finding("bad-tolerance", name, value, "a positive number", "1e-8 suits most simulations"))
    return float(number)


def _read_times(t: Any) -> Array:
    times = real_array(t)
    usable = times is not None and times.ndim == 1 and len(times) >= 2 and np.isfinite(times).all()
    if times is None or not usable or not (np.diff(times) > 0).all():
        raise ModelError(Finding("bad-times", "t", t, "two or more increasing finite times", "use np.linspace(0, end, n)"))
    return times
