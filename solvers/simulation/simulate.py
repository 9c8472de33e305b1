"""Simulation: a model with its loads, integrated in time."""

from __future__ import annotations

import copy
import inspect
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from titop.blocks.basics.errors import ConvergenceError, Finding, ModelError, refuse, warn
from titop.blocks.basics.spatial import Array
from titop.blocks.basics.tolerances import EPS
from titop.blocks.basics.user_functions import check_switch
from titop.blocks.basics.user_input import is_row, read_array
from titop.graph.network.assembly import refuse_unsteady
from titop.solvers.arguments.reading import read_mapping
from titop.solvers.constraints import closed_dynamics
from titop.solvers.constraints.interaction_loads import refuse_pushing
from titop.solvers.control.controllers import Loop
from titop.solvers.control.loop_arguments import read_loop
from titop.solvers.engines.compiled.prepared_kernels import CompiledPreparedDynamics
from titop.solvers.equilibrium.linear_validity import doubts, spin_findings, under_ground
from titop.solvers.model.model import Model, read_model
from titop.solvers.model.sections import overlaps
from titop.solvers.motions.prescribed import PrescribedMotion, with_held
from titop.solvers.simulation.accuracy import AbsoluteTolerances, read_positive
from titop.solvers.simulation.acting import NOWHERE
from titop.solvers.simulation.agenda import Agenda
from titop.solvers.simulation.changes import Latch, Lock, Release
from titop.solvers.simulation.closed_states import close_start
from titop.solvers.simulation.driven_model import DrivenModel
from titop.solvers.simulation.ensemble import Ensemble
from titop.solvers.simulation.ensemble_members import Stacks
from titop.solvers.simulation.events import Event, WatchedEvent, read_events
from titop.solvers.simulation.explicit_steps import CompiledRungeKutta, HeldSteps
from titop.solvers.simulation.findings import brief_impacts, deep_starts
from titop.solvers.simulation.generalized_alpha import GeneralizedAlpha
from titop.solvers.simulation.monitor import HalfTurns, Monitor
from titop.solvers.simulation.start_and_end import ReachedStates, SimulationInterrupt, Start, interrupt, leave
from titop.solvers.simulation.steppers import Tolerances, require_projecting
from titop.solvers.simulation.together import SteppedMember, Together, can_be_held, let_kernels_sample
from titop.solvers.simulation.trajectory import Trajectory

#: Integrators: explicit ones for smooth problems, then implicit ones for stiff problems.
METHODS = ("DOP853", "RK45", "RK23", "LSODA", "BDF", "Radau", "exponential", "generalized-alpha")
#: The smallest relative tolerance of the integrators.
_FINEST = 100 * EPS


def simulate(
    model: Model,
    t: Any,
    q0: Any = None,
    v0: Any = None,
    tau: Any = None,
    wrenches: Mapping[str, Any] | None = None,
    prescribed: Mapping[str, Callable[[float], Any]] | None = None,
    events: Event | Sequence[Event] = (),
    method: str | GeneralizedAlpha = "DOP853",
    rtol: float = 1e-8,
    atol: float | Mapping[str, Any] = 1e-10,
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
    x0: Any = None,
    start: Trajectory | Ensemble | None = None,
    hold: Sequence[str] | str = (),
    changes: Lock | Release | Latch | Sequence[Lock | Release | Latch] = (),
    parameters: Mapping[str, Any] | None = None,
    seeds: Sequence[Any] | None = None,
) -> Any:
    """Simulate a model, alone or in closed loop with a controller; or many members of an ensemble at once.

    Parameters
    ----------
    model : Model
    t : array_like (n,), s
        Increasing output times, two at least.
    q0, v0 : array_like (nq,), (nv,)
        State at ``t[0]``; not needed with a `start`. It must satisfy the constraints of rigid closures and gears within 1e-6:
        see `Model.assemble` and `Model.assemble_velocity`. Stacked, (k, nq) and (k, nv), they are those of k members of an
        ensemble, and so is a stacked `x0`, or an array (k,) for a name in `x0` or `u`. Any other argument but `t` has a value
        for each member as ``tt.each([...])``. What is not stacked is shared.
    tau : array_like (nv,) or (n, nv), or callable, optional
        Applied efforts: constant, sampled at the output times (linearly interpolated), or a function; zero by default. All
        functions of this simulation may be ``f(t)`` or ``f(t, q, v)``.
    wrenches : mapping of port name to (6,) array or callable, optional
        External wrenches on bodies, in the ports' frames.
    prescribed : mapping of joint or coordinate name to callable, optional
        ``f(t)`` returns position, velocity and acceleration of the prescribed motion (each a number, or one per
        coordinate); or a scipy spline. It also sets the start values. The efforts that drive the motion are part of the result.
        A motion that is imposed cannot follow the state, of which it is a part.
    events : Event or sequence of Event
    method : {"DOP853", "RK45", "RK23", "LSODA", "BDF", "Radau", "exponential", "generalized-alpha"} or GeneralizedAlpha
        The default suits smooth systems. For stiff ones take "Radau" or "BDF", which use the exact Jacobian of dy/dt (only
        the caller's functions of the state are differentiated by differences). With rigid closures or gears, states are
        projected onto the closures after every step; "LSODA", "BDF" and "exponential" cannot do this. "exponential"
        integrates exactly what is linear about a state, all vibrations of flexible bodies among it, so that its steps are as
        long as what is not linear allows, or from sample to sample. "generalized-alpha" is of second
        order, for stiff springs, flexible bodies and closures at moderate tolerances; `GeneralizedAlpha` sets its
        damping and step. For soft rods of damped material take "BDF", with closed loops "Radau".
        Steps of "Radau" that end deep in stiff stops or contacts lose energy at tolerances looser than 1e-5.
    rtol : float
        Relative tolerance of the integrator, of all states.
    atol : float or mapping of name or unit to float
        Absolute tolerance, in the units of the states. Motions of its order (nanometres with the default) are not resolved:
        reduce it for these. A mapping has one for each kind of state, as ``{"m": 1e-3, "rad": 1e-9}``, or for joints, blocks,
        coordinates and first-order states by name: ``{"hinge": 1e-9, "default": 1e-6}``. Each is also that of the velocities,
        by number, unless these are named: ``"m/s"``, ``"hinge.v"``. For a joint or block of several units write ``{"base":
        {"m": 1e-3, "rad": 1e-9}}``. Names of coordinates go before those of joints and blocks, these before units, and
        ``"default"`` is for the rest, states of controllers too. Of a free or spherical joint's rotation the smallest counts.
    max_step : float, s
        The longest step. Steps end at kinks of splines and samples (kinks larger than `rtol` times their extent), and where a
        contact, a stop, a cable or a block of one's own switches (`Block.gaps`). Functions of time with short pulses need a
        `max_step`. A fixed step must not be longer.
    u : array_like (nu,) or (n, nu), mapping of name to number or callable, or callable, optional
        Inputs of actuators and blocks, as `tau`; a callable may also return a mapping.
    progress : bool
        Show a progress bar on a terminal when the simulation takes longer than a second.
    controller : linear system of python-control, Controller, ScheduledController or Loop, or a list of these, optional
        Its inputs and outputs are identified by name. Inputs are measured outputs: sensors' outputs, ``joint.q``, ``joint.v``,
        ``body.port.w[0]`` and so on (parts of a port's motion). Outputs are commands: inputs and efforts (``joint`` or
        ``joint.tau``), which are added to `u` and `tau`. A state space writes underscores for dots (``joint_q``). The
        coordinates ``.q`` of free and spherical joints are displacements from the operating point (or neutral) along their
        tangent directions. An input of a state space that is named like an output gets the error **reference minus output**,
        as in ``control.feedback(plant, K)``: a gain ``u = -K x`` is the state space with ``D = +K``. If the controller has
        inputs ``r_<output>``, these get the references, and all inputs named like outputs get the outputs themselves.

        Several controllers each have their own rate, delay, references, noise and operating point: `Loop`. Continuous and
        sampled ones may be mixed. At a common instant all read before any of their commands takes effect; they are called in
        the order of the list. Commands of the same signal add up. Inputs and efforts of operating points act once;
        `operating_point` is that of all loops without one.

        In a cascade, outputs of a controller are references of controllers after it in the list: ``r_<output>`` sets the
        reference of an output (as a deviation from its operating point), any other name an input of that name. At a common
        instant they arrive at once, unless their loop has a delay.
    reference : mapping of name to number, array (n,) or callable, or array_like (nr,) or (n, nr), optional
        Absolute values, also with an operating point; by the output's name, or in the order of the controller's inputs. The
        default is the operating point's outputs, or zero.
        Other names are further reference inputs of the controller.
    sample_time : float, s, optional
        Samples a continuous controller by Tustin's rule (`control.sample_system` with "bilinear"). Without it a continuous
        controller's states are integrated with the model's. Discrete controllers have their own sample time.
    delay : float, s
        From a sample to its commands, any number of sample times. Outputs, accelerations too, are read before the commands
        that begin at that instant take effect, as in `LFTModel.close`.
    operating_point : mapping of name to number, or object with ``q, v, u, tau, wrenches, model`` or ``y, u``, optional
        Where the controller was designed: it gets the deviations of outputs and references from the values there, and its
        commands are added to the inputs (and efforts) there. The outputs there are those under the point's wrenches and with
        its parameters. The result of `LPVModel.trim_at` may be used. If the point moves, linear models are about a reference
        that moves with it; here a `ModelWarning` names the measured outputs that drift away from their values there (such as
        the angle of a wheel that turns) and have no `reference`.
    noise : float, array_like (ny,) or mapping of output name to float, optional
        Standard deviations of white noise on the outputs at the samples, in the outputs' units, whatever the sample time; in
        addition to the errors of sensors themselves, which are densities (`SignalPath`).
    saturate : bool
        Limit the inputs, in closed loop, to the actuators' ranges; `Trajectory.control` has the unlimited commands.
    seed : int, numpy.random.SeedSequence or Generator
        Of the noise, and of the errors of sensors and actuators (`SignalPath`); the same seed gives the same bits. Of an
        ensemble's member k it is ``numpy.random.SeedSequence(seed, spawn_key=(k,))``.
    x0 : array_like (nx,) or mapping of state name to number, optional
        First-order states at ``t[0]``; zero by default. All methods integrate them together with q and v.
    start : Trajectory or Ensemble, optional
        Go on from its end, at ``t[0]``, an ensemble member by member: with its state (unless `q0`, `v0` or `x0` say otherwise,
        as after an impact), states of controllers, commands that are held or delayed, paths of devices, the times of samples,
        generators of noise (`seed` is not used), events (by their names) and the step of the integrator. Pass the same
        controllers, of the same model, whose parameters may be others; those of an ensemble's members remain if `parameters` do
        not name them. The parts of a simulation are the whole bit for bit where steps end between them, as at samples and with
        fixed steps, if that is an output time of the whole; elsewhere they agree within the tolerances.
    hold : sequence of str
        Joints or coordinates that are locked at their place in `q0`, as in `linearize`: `Trajectory.tau` has the efforts that
        this takes.
    changes : Lock, Release or Latch, or a sequence of these
        What is locked, closes, or comes free during the simulation, at times or events: docking, separation, deployment. The
        model has all rigid closures: those that first close are open until then. Where something closes, velocities jump
        (`Model.impact`): momentum is kept, energy is lost. All coordinates, controllers and their noise, paths of devices,
        events and first-order states go on. What happened is in `Trajectory.changes`; a `ModelWarning` names what did not. For
        a separation connect the part by a `Free` joint, `hold` it, and let a `Release` free it; locks are imposed motions, the
        efforts that they take are in `Trajectory.tau`. A sample at the instant of a change is taken before it.
    parameters : mapping of name to number or array_like (k,), optional
        Of the model, one value or one for each member: see `Model.with_parameters`.
    seeds : sequence (k,) of int, SeedSequence or Generator, optional
        Of each member, in the place of `seed`.

    Returns
    -------
    Trajectory or Ensemble
        An `Ensemble` if anything is stacked, or `parameters` are given: each member's trajectory has the bits of its own
        simulation, whatever runs beside it. It notes which members failed, and raises an error only if all did.

    Raises
    ------
    ModelError
        For unusable arguments.
    ConvergenceError
        If the integrator gives up, or a loop cannot be kept closed; the message gives the time, and advice.
    SimulationInterrupt
        On Ctrl-C, a `KeyboardInterrupt` whose ``trajectory`` has what was computed; of an ensemble a `SweepInterrupt`, whose
        ``found`` has the members that were.

    Warns
    -----
    ModelWarning
        For springs whose rotation passes half a turn (compliant closures, free and spherical joints); spinning flexible bodies
        without geometric stiffness; references that look like deviations from the operating point; wrenches of the point that
        are not applied; an `rtol` below rounding. After a second: for an explicit method whose step is limited by stiffness,
        naming the coordinate and suitable methods; and for a `max_step`, fixed step or `sample_time` that takes too many steps.

    Examples
    --------
    >>> import numpy as np, titop as tt
    >>> s = tt.System("drop", gravity=[0, 0, -10])
    >>> s.connect("world", tt.RigidBody("stone", mass=1.0), joint=tt.Prismatic("fall"))
    >>> trajectory = tt.simulate(s.resolve(), [0, 1], [0.0], [0.0])
    >>> round(float(trajectory.q[-1, 0]), 9)
    -5.0

    An ensemble of three members:

    >>> ensemble = tt.simulate(s.resolve(), [0, 1], [[0.0], [1.0], [2.0]], [0.0], parameters={"fall.damping": [0.0, 0.1, 0.2]})
    >>> ensemble.q[:, -1, 0].round(3).tolist(), ensemble[2].t.tolist()
    ([-5.0, -3.837, -2.683], [0.0, 1.0])
    """
    read_model(model)
    arguments = locals()
    stacks = Stacks(arguments)
    if not stacks.is_one:
        return stacks.simulated(simulate, simulate_many)
    given = _read(arguments)
    times, scheme, max_step = given.times, given.scheme, given.max_step
    agenda = Agenda(model, times, given.before, changes, hold, given.prescribed, events)
    while True:
        plant, y0, watched, tolerances = _begin(agenda, given)
        before, part, model = agenda.start, agenda.part, agenda.stage
        solution = ReachedStates(part[:1], y0[None], {})
        begin = time.perf_counter()
        try:
            if model.nv == 0 and watched:
                expected, advice = "a model with coordinates, whose motion is integrated", "ask their functions at the times"
                raise ModelError(Finding("no-motion", "events", ", ".join(watched), expected, advice))
            if model.nv + model.nx == 0:
                solution = ReachedStates(part, np.empty((len(part), 0)), {})
            else:
                with Monitor(plant, part, scheme, max_step, progress) as monitor:
                    happening = tuple(watched.values())
                    solution = _integrate(plant, part, y0, happening, scheme, tolerances, monitor, before.integrator)
                warn(monitor.half_turns.findings())
                if monitor.impacts is not None:
                    warn(brief_impacts(model, monitor.impacts.states(), monitor.impacts.step))
            solution.statistics["seconds"] = time.perf_counter() - begin
            trajectory = _checked(_collect(plant, solution, watched))
        except KeyboardInterrupt as error:
            last = solution.t[-1], solution.y[-1]
            stop = error if isinstance(error, SimulationInterrupt) else interrupt(last, times[-1], solution)
            stop._collect = partial(_collect_all, agenda, plant, watched)
            raise stop from None
        if not agenda.reached(trajectory):
            warn(agenda.missing())
            return agenda.joined()


#: The arguments of `simulate`, and what they are by default.
ARGUMENTS = {name: argument.default for name, argument in inspect.signature(simulate).parameters.items()}

#: Arguments in which members that are simulated together may differ, and those that they must not have.
_OWN, _ALONE = ("model", "q0", "v0", "tau", "u", "seed"), ("x0", "prescribed", "events", "start", "hold", "changes")


class _Given(NamedTuple):
    """Arguments of `simulate` that have been read."""

    times: Array
    scheme: str | GeneralizedAlpha
    rtol: float
    absolute: AbsoluteTolerances
    max_step: float
    before: Start
    prescribed: Mapping[str, Any]
    wrenches: Mapping[str, Any]
    loop: Loop
    saturate: bool
    seed: Any
    tau: Any
    u: Any


def _read(given: Mapping[str, Any]) -> _Given:
    """Read the arguments of `simulate`, by name."""
    model = given["model"]
    warn(refuse_unsteady(model.mechanism.assembly))
    times, scheme = _read_times(given["t"]), _read_method(given["method"])
    rtol, absolute = read_positive("rtol", given["rtol"]), AbsoluteTolerances(model, given["atol"])
    max_step = read_positive("max_step", given["max_step"])
    if rtol < _FINEST:
        expected = f"{_FINEST:.1e} at least"
        warn([Finding("fine-tolerance", "rtol", rtol, expected, "that is taken: rounding allows no less")])
        rtol = _FINEST
    before = Start(model, times, *(given[name] for name in ("q0", "v0", "x0", "start")))
    imposed = read_mapping("prescribed", given["prescribed"] or {})
    wrenches = read_mapping("wrenches", given["wrenches"] or {})
    wrenches = {name: value if callable(value) else copy.copy(value) for name, value in wrenches.items()}  # a snapshot
    check_switch("saturate", given["saturate"])
    names = "controller", "sample_time", "delay", "reference", "noise", "operating_point"
    loop = Loop(*(given[name] for name in names))
    if model.is_constrained and isinstance(scheme, str):
        require_projecting(scheme)
    if isinstance(scheme, GeneralizedAlpha):
        scheme.check_step(max_step)
    rest = (given[name] for name in ("saturate", "seed", "tau", "u"))
    return _Given(times, scheme, rtol, absolute, max_step, before, imposed, wrenches, loop, *rest)


def _begin(agenda: Agenda, given: _Given) -> tuple[DrivenModel, Array, dict[str, WatchedEvent], Tolerances]:
    """Return the driven model of a stage, its state at the start, the events that are watched, and the tolerances."""
    before, part, model, times = agenda.start, agenda.part, agenda.stage, given.times
    motions = with_held(model, given.prescribed, agenda.locked, before.q, before.v)
    motion = PrescribedMotion(model, motions, (times[0], times[-1]), agenda.locked)
    q, v = motion.impose(part[0], before.q, before.v)
    loop = read_loop(model, times, q, v, given.loop, given.saturate, given.seed, given.wrenches)
    before.recall_loop(loop)
    plant = DrivenModel(model, times, given.tau, given.wrenches, motion, given.u, loop, given.seed)
    before.recall_paths(plant)
    if model.is_constrained:
        q, v = (q, v) if before.is_reached else close_start(model, q, v, motion.names)
        plant.prepared.rank = closed_dynamics.rank_of_free(model.mechanism, q, motion.mask, motion.still)
    warn([*deep_starts(model, q, v), *doubts([(model, q, v)])])
    refuse(under_ground(model, q[None], part[:1]))
    watched = read_events(plant, agenda.watched(plant))
    before.recall_events(watched)
    refuse_pushing(model.mechanism, plant.inputs(part[0], q, v), part[:1])
    y0 = before.state(q, v, loop)
    if np.iscomplexobj(y0):
        raise ModelError(Finding("wrong-type", "q0, v0, x0", "complex numbers", "real numbers", "simulations are real"))
    return plant, y0, watched, Tolerances(given.rtol, given.absolute.of_state(len(y0)), given.max_step)


def simulate_many(shared: Mapping[str, Any], own: Sequence[Mapping[str, Any]]) -> list[Callable[[], Trajectory] | None]:
    """Return what gives the trajectory of each of many simulations, by the arguments that they share and those of their own.

    None where it has to be one of its own.
    """
    found: list[Callable[[], Trajectory] | None] = [None] * len(own)
    first = ARGUMENTS | dict(shared)
    alike = [name for name in own[0] if name not in _OWN]
    if any(each.keys() != own[0].keys() or any(each[name] is not own[0][name] for name in alike) for each in own):
        return found
    every = [first | dict(each) for each in own]
    if any(every[0][name] is not ARGUMENTS[name] for name in _ALONE):
        return found
    if not all(isinstance(each["seed"], int | np.integer | np.random.SeedSequence) for each in every):  # these stay as they are
        return found
    begin, given = time.perf_counter(), _read(every[0])
    plant, _, watched, tolerances = _begin(Agenda(every[0]["model"], given.times, given.before, (), (), {}, ()), given)
    kinks = plant.kinks(given.rtol)
    if not can_be_held(plant, given.scheme) or watched or len(kinks) or HalfTurns(plant.model).any:
        return found
    members: dict[int, SteppedMember] = {}
    starts: dict[tuple[int, int], tuple[Array, Array]] = {}  # many share one: its q, and its state
    for k, each in enumerate(every):
        with suppress(ModelError):
            state = id(each["q0"]), id(each["v0"])
            if state not in starts:
                start = Start(each["model"], given.times, each["q0"], each["v0"], None, None)
                starts[state] = start.q, start.state(start.q, start.v, None)
            q, y = starts[state]
            refuse(under_ground(each["model"], q[None], given.times[:1]))
            members[k] = SteppedMember(each["model"], y, each["tau"], each["u"], each["seed"])
    together = Together(plant, given.times, list(members.values()), str(given.scheme), tolerances)
    if not together.is_possible:
        return found
    together.run(lambda: None)
    for k, trajectory in zip(members, together.trajectories(time.perf_counter() - begin), strict=True):
        found[k] = None if trajectory is None else partial(_checked, trajectory, anew=True)
    return found


def _checked(trajectory: Trajectory, anew: bool = False) -> Trajectory:
    """Return a trajectory; warn of what is doubtful in it, also at its start if `anew`, and refuse what cannot be."""
    model, t, q = trajectory.model, trajectory.t, trajectory.q
    at_start = doubts([(model, q[0], trajectory.v[0])] if anew else [])
    warn([*at_start, *spin_findings(model, q, trajectory.v), *under_ground(model, q, t)])
    refuse_pushing(model.mechanism, trajectory.u, t)
    warn(overlaps(model, q, t))
    return trajectory


def _collect_all(agenda: Agenda, plant: DrivenModel, events: Mapping[str, WatchedEvent], solution: ReachedStates) -> Trajectory:
    return agenda.joined(_collect(plant, solution, events))


def _collect(plant: DrivenModel, solution: ReachedStates, events: Mapping[str, WatchedEvent]) -> Trajectory:
    (t, y, statistics, memory), model = solution, plant.model
    ends = [(event.times[0], event.states[0]) for event in events.values() if event.terminal and event.times]
    if ends:
        end, state = min(ends, key=lambda pair: pair[0])
        before = t < end
        t, y, memory = np.append(t[before], end), np.vstack([y[before], state]), None
    memory = leave(y[-1], plant, events, memory)
    q, v = plant.split_rows(t, y)
    (tau, u, wrenches), x = plant.acting_rows(t, y, q, v), y[:, plant.in_x]
    a, tau = plant.dynamics_rows(t, q, v, tau, model.mechanism.inputs.with_states(u, x) if model.nx else u, wrenches)
    histories = () if plant.loop is None else plant.loop.histories(plant, t, y)
    times = {name: np.array(event.times) for name, event in events.items()}
    return Trajectory(model, t, q, v, a, tau, u, wrenches, times, histories, statistics, x, memory)


def _read_method(method: Any) -> str | GeneralizedAlpha:
    if isinstance(method, GeneralizedAlpha):
        return method
    if not isinstance(method, str) or method not in METHODS:
        raise ModelError(Finding("unknown-method", "method", method, " or ".join(METHODS), "choose one of these"))
    return GeneralizedAlpha() if method == "generalized-alpha" else str(method)


def _read_times(t: Any) -> Array:
    wrong = Finding("bad-times", "t", t, "two or more increasing finite times", "use np.linspace(0, end, n)")
    return read_array(wrong, lambda times: is_row(times) and len(times) > 1 and (np.diff(times) > 0).all())


def _integrate(
    plant: DrivenModel,
    times: Array,
    y0: Array,
    events: Sequence[WatchedEvent],
    method: str | GeneralizedAlpha,
    tolerances: Tolerances,
    monitor: Monitor,
    memory: Mapping[str, Array],
) -> ReachedStates:
    """Return the states at the output times, and append to the events.

    Explicit methods run in compiled code to the end if nothing but steps can happen, and samples of a linear controller. All
    others go step by step: see `titop.solvers.simulation.stepping.integrate_stepwise` for the arguments.
    """
    kinks = plant.kinks(tolerances.rtol)
    happens = events or len(kinks) or monitor.half_turns.any
    if can_be_held(plant, method) and not happens:
        found = _integrate_at_once(plant, times, y0, str(method), tolerances, monitor, memory)
        if found is not None:
            return found
    from titop.solvers.simulation.stepping import integrate_stepwise  # imports scipy's integrators

    return integrate_stepwise(plant, times, y0, events, method, tolerances, kinks, monitor, memory)


def _integrate_at_once(
    plant: DrivenModel,
    times: Array,
    y0: Array,
    method: str,
    tolerances: Tolerances,
    monitor: Monitor,
    memory: Mapping[str, Array],
) -> ReachedStates | None:
    """Return the states at the output times, None if kernels cannot sample the controller."""
    assert isinstance(plant.prepared, CompiledPreparedDynamics)
    plant.dynamics(times[0], *plant.split(times[0], y0))  # raises what is wrong with it
    tau, jumped = np.zeros(plant.model.nv), True
    plant.act_held(tau)
    tables = plant.prepared.member_tables([plant.model.mechanism], False)
    steps = HeldSteps(plant.prepared, method, times, y0[None].copy(), tolerances, tables)
    steps.loads[0] = tau
    u, beside = plant.held_inputs, plant.efforts(0.0, *NOWHERE)
    controller = let_kernels_sample(plant, steps, None if u is None else u[None], beside[None])
    if plant.loop is not None and controller is None:
        return None
    steps.recall(memory)

    def solution(memory: dict[str, Array] | None = None) -> ReachedStates:
        reached = steps.reached(0)
        y = steps.outputs[0, :reached]
        if controller is not None and reached > 1:  # steps end on the group
            y[1:] = np.hstack(plant.split_rows(times[1:reached], y[1:]))
        return ReachedStates(times[:reached], y, steps.statistics(0), memory)

    def look() -> None:
        monitor.look(steps.time(0), steps.y[0], lambda: steps.statistics(0)["steps"], None, steps.pieces)

    try:
        if controller is None:
            steps.go_to(float(times[-1]), look)
        else:
            jumped = steps.follow(controller, look)
    except KeyboardInterrupt:
        raise interrupt((steps.time(0), steps.y[0].copy()), float(times[-1]), solution()) from None
    if not steps.goes_on[0]:
        t = steps.time(0)
        if controller is not None:
            plant.command = controller.command
            stepper = CompiledRungeKutta(plant, method, t, steps.end(0), steps.y[0], tolerances)
            while stepper.is_running:
                stepper.step(-np.inf)  # raises what a controller is the reason of
        plant.dynamics(t, *plant.split(t, steps.y[0]))  # raises what is wrong with the model there
        advice = 'perhaps a stiff system: try method="Radau"'
        raise ConvergenceError(f"{method} gave up after t = {t:.6g} s of {times[-1]:.6g} s: too short steps; {advice}")
    return solution(None if controller is None else steps.memory(0, jumped))
