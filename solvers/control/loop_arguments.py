"""Reads the arguments of `simulate` about a control loop, and warns of suspicious ones."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from titop.blocks.basics.errors import Finding, ModelError, warn
from titop.blocks.basics.spatial import Array
from titop.blocks.basics.tolerances import SAME, TYPED
from titop.blocks.basics.user_functions import check_function
from titop.blocks.basics.user_input import is_finite, read_array
from titop.solvers.arguments.reading import read_duration
from titop.solvers.control import control_laws
from titop.solvers.control.continuous_loop import ContinuousLoop
from titop.solvers.control.control_loop import ConnectedController, ControlLoop, OperatingValues, shown_references
from titop.solvers.control.controllers import Controller, Loop, ScheduledController, naming, read_loops
from titop.solvers.control.loop_signals import Exchange, Measurements
from titop.solvers.control.sampled_loop import SampledController, SampledLoop
from titop.solvers.linear.state_space import read_linear
from titop.solvers.model.model import Model
from titop.solvers.signals.grammar import SignalTable, commanded_signals, measured_signals

#: More samples than these would take days, and more memory than computers have.
_MOST_SAMPLES = 1e8


def read_loop(
    model: Model, times: Array, q: Array, v: Array, arguments: Loop, saturate: bool, seed: Any, wrenches: Mapping[str, Any]
) -> ControlLoop | None:
    """Return the control loop of a simulation that starts at q, v, if there is one; of several controllers, that of all."""
    if arguments.controller is None:
        for name, value in arguments.beside():
            raise ModelError(Finding("no-controller", name, value, "a controller beside it", "give controller=..."))
        return None
    if not model.nv:
        raise ModelError(Finding("no-coordinates", "controller", model.name, "a system that moves", "leave it out"))
    listed = read_loops(arguments)
    several = len(listed) > 1
    generators = read_generators(seed, len(listed))
    operating: list[OperatingValues] = []
    laws: list[control_laws.SampledLaw | control_laws.LinearLaw] = []
    for k, each in enumerate(listed):
        with naming(k if several else None):
            operating.append(OperatingValues(model, each.operating_point))
            laws.append(_read_law(model, float(times[0]), q, v, each, operating[k].origin, laws))
    exchange = _read_exchange(model, laws)
    controllers: list[ConnectedController] = []
    findings: list[Finding] = []
    for k, (each, law) in enumerate(zip(listed, laws, strict=True)):
        with naming(k if several else None):
            rest = model, exchange, k, each.reference, operating[k], times, saturate
            controllers.append(_connect(law, each, generators[k], *rest))
            findings += suspicions(controllers[k], operating[k], wrenches, (float(times[0]), q, v))
    warn(findings)
    if several:
        _rest(model, controllers, operating)
    sampled = [each for each in controllers if isinstance(each, SampledController)]
    continuous = [each for each in controllers if not isinstance(each, SampledController)]
    beside = SampledLoop(sampled) if sampled else None
    return ContinuousLoop(continuous, beside) if continuous else beside


def _connect(
    law: control_laws.SampledLaw | control_laws.LinearLaw, given: Loop, generator: np.random.Generator, *rest: Any
) -> ConnectedController:
    delay = read_duration("delay", given.delay, zero=True)
    if isinstance(law, control_laws.SampledLaw):
        _refuse_endless(law.sample_time, rest[-2])
        return SampledController(law, delay, read_noise(given.noise, law.inputs), generator, *rest)
    if delay:
        advice = "give a sample_time, or put a Pade approximation into the controller"
        raise ModelError(Finding("no-sample-time", "delay", delay, "a sampled controller", advice))
    if given.noise is not None:
        advice = "give a sample_time: white noise in continuous time has no finite standard deviation"
        raise ModelError(Finding("no-sample-time", "noise", given.noise, "a sampled controller", advice))
    return ConnectedController(law, *rest)


def _read_exchange(model: Model, laws: Sequence[control_laws.SampledLaw | control_laws.LinearLaw]) -> Exchange:
    """Return the signals from controllers to those after them: outputs that are no commands."""
    measured, commanded = measured_signals(model), commanded_signals(model)
    signals = [(name, k) for k, law in enumerate(laws) for name in law.outputs if name not in commanded]
    for name, k in signals:
        if not any(name in shown_references(law.references, measured) for law in laws[k + 1 :]):
            with naming(k if len(laws) > 1 else None):
                commanded.find("controller.output_labels", name)
    return Exchange(tuple(name for name, _ in signals), tuple(k for _, k in signals))


def _rest(model: Model, controllers: Sequence[ConnectedController], operating: Sequence[OperatingValues]) -> None:
    """Let the inputs and efforts of operating points act once."""
    resting = _resting(model, operating)
    driven = np.array([each.commands.to_loads.any(axis=1) for each in controllers])
    first = np.where(driven.any(axis=0), driven.argmax(axis=0), 0)
    for k, each in enumerate(controllers):
        each.rest_at(np.concatenate([np.where(first == k, resting, 0.0), each.resting[len(resting) :]]))


def _resting(model: Model, operating: Sequence[OperatingValues]) -> Array:
    names = *model.input_names, *(f"{name}.tau" for name in model.coordinate_names)
    resting = np.zeros(len(names))
    for point in operating:
        there = np.concatenate(point.command)
        apart = (there != 0) & (resting != 0) & (np.abs(there - resting) > SAME * np.abs(resting))
        for k in np.flatnonzero(apart).tolist():
            expected, advice = f"{resting[k]:.6g}, as of another loop", "give all loops one operating point"
            raise ModelError(Finding("other-point", f"operating_point: {names[k]}", float(there[k]), expected, advice))
        resting = np.where(resting != 0, resting, there)
    return resting


def _refuse_endless(sample_time: float, times: Array) -> None:
    samples = (times[-1] - times[0]) / sample_time
    if samples > _MOST_SAMPLES:
        got, expected = f"{sample_time:.6g} s, {samples:.3g} samples", f"at most {_MOST_SAMPLES:.0e} samples"
        raise ModelError(Finding("bad-time", "sample_time", got, expected, "sample more slowly, or simulate less time"))


def _read_law(
    model: Model,
    begin: float,
    q: Array,
    v: Array,
    arguments: Loop,
    origin: Array,
    before: Sequence[control_laws.SampledLaw | control_laws.LinearLaw],
) -> control_laws.SampledLaw | control_laws.LinearLaw:
    measured, commanded = measured_signals(model), commanded_signals(model)
    K, step = arguments.controller, arguments.sample_time
    exogenous = [str(name) for name in arguments.reference] if isinstance(arguments.reference, Mapping) else []
    exogenous += [name for law in before for name in law.outputs if name not in commanded]
    period = K.sample_time if isinstance(K, Controller | ScheduledController) else None
    if period and step is not None and not np.isclose(read_duration("sample_time", step), period, rtol=SAME, atol=0):
        expected = f"the controller's {period:g} s"
        raise ModelError(Finding("other-sample-time", "sample_time", step, expected, "leave sample_time out"))
    if isinstance(K, Controller):
        inputs = tuple(measured.find("controller.inputs", name) for name in K.inputs)
        return control_laws.controller_law(K, inputs, control_laws.output_names(K.outputs, measured, commanded))
    if isinstance(K, ScheduledController):
        schedule: control_laws.Schedule = {
            name: read_source(model, f"schedule[{name!r}]", source, measured) for name, source in K.schedule.items()
        }
        start = _parameters_at(model, schedule, begin, q, v, origin)
        first = K.at(start, rates=dict.fromkeys(K.rates, 0.0))
        return control_laws.scheduled_law(K, control_laws.wire(first, measured, commanded, exogenous), schedule, start)
    K = read_linear("controller", K, "a control.StateSpace or TransferFunction, tt.Controller or tt.ScheduledController")
    law = control_laws.wire(K, measured, commanded, exogenous)
    if step is None and K.dt is True:
        advice = "its time base is discrete without a step"
        raise ModelError(Finding("no-sample-time", "sample_time", step, "the controller's sample time", advice))
    if step is None and not K.dt:
        return law
    return control_laws.sampled_law(law, read_duration("sample_time", K.dt if step is None else step))


def read_source(model: Model, where: str, source: Any, measured: SignalTable) -> str | Callable[[float], float]:
    if isinstance(source, str) and source not in measured and source in model.mechanism.parameter_names:
        source = model.parameters()[source][0]
    if isinstance(source, str):
        return measured.find("schedule", source)
    if callable(source):
        advice = "give a function of time alone, or an output that a sensor measures: a controller knows no more of the state"
        check_function(where, source, "t", advice)
        return lambda t: _read_number(f"{where} at t = {t:.6g} s", source(t))
    number = _read_number(where, source)
    return lambda t: number


def _read_number(where: str, value: Any) -> float:
    expected = "an output or a parameter of the model, a function of time, or a number"
    wrong = Finding("wrong-type", where, value, expected, 'such as {"angle": "hinge.q"}')
    return float(read_array(wrong, lambda number: number.size == 1 and is_finite(number)).item())


def _parameters_at(
    model: Model, schedule: control_laws.Schedule, t: float, q: Array, v: Array, origin: Array
) -> dict[str, float]:
    result = {}
    for name, source in schedule.items():
        if not isinstance(source, str):
            result[name] = source(t)
            continue
        measurements = Measurements(model, (source,), origin)
        if measurements.dynamic[0]:
            advice = "schedule by positions and velocities"
            raise ModelError(Finding("dynamic-schedule", f"schedule[{name!r}]", source, "no accelerations or forces", advice))
        result[name] = float(measurements.read_kinematic(q, v)[0])
    return result


def read_generators(seed: Any, count: int) -> list[np.random.Generator]:
    """Return a generator for each of several loops: the noise of one does not depend on the rates of others."""
    if isinstance(seed, np.random.SeedSequence):  # a copy, which spawns the same in the next simulation
        seed = np.random.SeedSequence(seed.entropy, spawn_key=seed.spawn_key, pool_size=seed.pool_size)
    try:
        generator = np.random.default_rng(seed)
        return [generator] if count == 1 else generator.spawn(count)
    except (TypeError, ValueError):
        expected = "a whole number, zero or more, a numpy.random.SeedSequence or Generator"
        raise ModelError(Finding("bad-seed", "seed", seed, expected, "0 will do")) from None


def read_noise(noise: Any, names: tuple[str, ...]) -> Array:
    """Return standard deviations (ny) from a number, numbers (ny), or numbers by name."""
    if noise is None:
        return np.zeros(len(names))
    if isinstance(noise, Mapping):
        table = SignalTable("an output that the controller measures", names)
        by_name = {table.find("noise", str(name)): value for name, value in noise.items()}
        noise = [by_name.get(name, 0.0) for name in names]
    expected, shapes = f"standard deviations, zero or more, of {', '.join(names)}", ((), (len(names),))
    wrong = Finding("bad-noise", "noise", noise, expected, "give a number, one each, or a mapping")
    deviations = read_array(wrong, lambda noise: noise.shape in shapes and is_finite(noise) and (noise >= 0).all())
    return np.array(np.broadcast_to(deviations, len(names)))


def suspicions(
    loop: ConnectedController, operating: OperatingValues, wrenches: Mapping[str, Any], start: Any
) -> Iterator[Finding]:
    """Yield warnings: wrenches of the operating point that are not applied, references that look like deviations from it,
    and outputs that drift away from it.

    - `wrenches`: the loads of the simulation;
    - `start` (t, q, v).
    """
    for port, wrench in operating.wrenches.items():
        if wrench.any() and port not in wrenches:
            advice = "pass wrenches=point.wrenches, or something else for this port"
            yield Finding("missing-wrench", f"wrenches[{port!r}]", "none", f"{wrench} of the operating point", advice)
    references = zip(loop.references.names, loop.reference_units, loop.references.read(*start), loop.r_trim, strict=True)
    for name, unit, reference, there in references:
        size = loop.measurements.model.mechanism.scale.length if unit in ("m", "m/s") else 1.0
        if abs(reference - there) > abs(reference) and abs(there) > TYPED * size:
            got, expected = f"{reference:.6g} at the start", f"a value near the operating point's {there:.6g}"
            advice = "references are absolute: if a deviation is meant, add the operating point's value"
            yield Finding("far-reference", f"reference[{name!r}]", got, expected, advice)
    yield from _drifting(loop, operating)


def _drifting(loop: ConnectedController, operating: OperatingValues) -> Iterator[Finding]:
    """Yield a warning if outputs without a reference change along the motion of the operating point."""
    names = loop.measurements.names
    measured = zip(names, loop.measurements.units, operating.drifts(names).tolist(), strict=True)
    found = [(name, f"{name} drifts by {rate:.3g} {unit}/s") for name, unit, rate in measured if rate]
    found = [(name, drift) for name, drift in found if name not in loop.followed]
    if found:
        (first, _), expected = found[0], "outputs that stay while the point moves on: their deviations are from its start"
        advice = f"feed back rates alone, or give references that move with it: reference={{{first!r}: f}}"
        yield Finding("drifting-output", "operating_point", ", ".join(drift for _, drift in found), expected, advice)
