"""Controllers as C: a step of a linear, sampled or scheduled controller, with its delay and its operating point.

Those of fixed matrices go from sample to sample by ``[x_next; u] = [A, B; C, D] [x; e]``. Members of a family in continuous
time are interpolated at every sample and sampled by Tustin's rule there, as `ScheduledController` does: with the sample time T,
``(I - A T/2) z = x + B T/2 e`` gives ``u = C z + D e`` and ``x_next = 2 z - x``, one solution instead of two inverses.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, NoReturn

import numpy as np

from titop.blocks.basics.errors import Finding, ModelError
from titop.blocks.basics.spatial import Array
from titop.blocks.basics.tolerances import SAME
from titop.solvers.arguments.reading import read_duration
from titop.solvers.control.control_laws import ControlLaw, LinearLaw, SampledLaw, sampled_law, scheduled_law, wire
from titop.solvers.control.control_loop import OperatingValues, shown_references
from titop.solvers.control.controllers import Controller, FirstMember, Loop, ScheduledController, discretise
from titop.solvers.control.loop_arguments import read_source
from titop.solvers.control.loop_signals import reference_unit
from titop.solvers.linear.lpv_model import LPVModel
from titop.solvers.linear.state_space import named_signals, read_linear
from titop.solvers.model.model import Model
from titop.solvers.signals.grammar import COMMANDED, MEASURED, commanded_signals, measured_signals, read_name
from titop.solvers.signals.quantities import Kind, units_of

#: Samples in the test, and the seed of its inputs.
_SAMPLES, _SEED = 60, 1
#: The test ends before numbers of unstable controllers are larger: sums of them are finite in single precision too.
_LARGEST = 1e30
KINDS = (
    "a control.StateSpace or TransferFunction, a tt.LPVModel, a tt.ScheduledController, a tt.Loop of these, or m.program(...)"
)


class MembersBetween(NamedTuple):
    """The members between which a controller is interpolated.

    - `axes`: the parameters' values, rising, the last parameter changes first in `members`;
    - `members` (points, states + outputs, states + errors): ``[A, B; C, D]`` in continuous time;
    - `sources`: what each parameter is: an entry of the inputs, or a number.
    """

    names: tuple[str, ...]
    axes: list[Array]
    members: Array
    sources: list[int | float]


@dataclass(frozen=True)
class CController:
    """What is printed of a controller.

    - `law`: the same in Python, which answers the test; its inputs and references are the inputs in C, named `inputs`;
    - `linear`: how the errors e of the state space follow from these; `family`: its members, if it has some;
    - `delay` (s); `trims`: inputs and outputs of the operating point, zero without; `units` of the inputs and of the outputs;
    - `has_point`: whether there is an operating point.
    """

    name: str
    law: SampledLaw
    linear: LinearLaw
    family: MembersBetween | None
    inputs: tuple[str, ...]
    units: tuple[Sequence[str], Sequence[str]]
    trims: tuple[Array, Array]
    has_point: bool
    delay: float

    @property
    def errors(self) -> Array:
        """The errors (ne, inputs) per unit of each input."""
        more = np.zeros((len(self.linear.from_y), len(self.law.inputs) - self.linear.from_y.shape[1]))
        return np.hstack([self.linear.from_y, more, self.linear.from_r])

    @property
    def held(self) -> int:
        """For how many whole samples outputs are held back."""
        return int(np.floor(self.delay / self.law.sample_time + SAME))

    def test_case(self) -> tuple[Array, Array, float]:
        """Return inputs of steps (samples, inputs), the outputs (samples, outputs) by titop, and what single precision costs.

        The cost is the error, in parts of the largest output, with states, inputs and outputs rounded to single precision.
        """
        rng, (at, _), axes = np.random.default_rng(_SEED), self.trims, self.family
        given = at + rng.standard_normal((_SAMPLES, len(self.inputs)))
        for axis, source in zip(axes.axes, axes.sources, strict=True) if axes else ():
            if isinstance(source, int):
                given[:, source] = rng.uniform(axis[0], axis[-1], _SAMPLES)
        answers, rounded = self._run(given, float), self._run(given, np.float32)
        count = min(len(answers), len(rounded))
        given, answers, rounded = given[:count], answers[:count], rounded[:count]
        sizes = np.abs(answers).max(axis=0, initial=0.0)
        errors = np.abs(rounded - answers).max(axis=0) / np.where(sizes > 0, sizes, 1.0)
        return given, answers, float(errors.max(initial=0.0))

    def _run(self, given: Array, kind: Any) -> Array:
        (at, rest), ny, x = self.trims, len(self.law.inputs), self.law.initial_state
        answers = [rest] * self.held
        for k, row in enumerate(given.astype(kind).astype(float)):
            y, r = np.split(row - at, [ny])
            x, u = self.law.update(k * self.law.sample_time, x, y, r, row[:ny])
            if k and max(np.abs(x).max(initial=0.0), np.abs(u).max()) > _LARGEST:
                return np.array(answers[:k])
            x = x.astype(kind).astype(float)
            answers.append((rest + u).astype(kind).astype(float))
        return np.array(answers[: len(given)])


def read_controller(what: Any, sample_time: Any, plant: Model | None = None) -> CController:
    """Return what is printed of a controller, or raise `ModelError`; `plant`: whose signals it has, if no point says."""
    loop = what if isinstance(what, Loop) else Loop(what)
    K, step = loop.controller, loop.sample_time if sample_time is None else sample_time
    if isinstance(K, Controller):
        refuse_function("controller", K.update)
    if isinstance(K, LPVModel):
        K = ScheduledController(K, {name: name for name in K.parameters}, _needed(step))
    scheduled = K if isinstance(K, ScheduledController) else None
    if scheduled is None:
        first = read_linear("what", K, KINDS)
        own = first.dt if first.dt is not True else None
        period = read_duration("sample_time", _needed(own if step is None else step))
        first, name = discretise(first, period), str(first.name)
    else:
        if not isinstance(scheduled.family, LPVModel):
            refuse_function("family", scheduled.family)
        period, name = scheduled.sample_time, scheduled.family.name
        if step is not None and not np.isclose(read_duration("sample_time", step), period, rtol=SAME, atol=0):
            expected = f"the controller's {period:g} s"
            raise ModelError(Finding("other-sample-time", "sample_time", step, expected, "leave sample_time out"))
        known = scheduled.family.parameters
        first = scheduled.at({name: float(np.min(known.get(name, 0.0))) for name in scheduled.schedule})
    if not first.ninputs or not first.noutputs:
        got = f"{first.ninputs} inputs, {first.noutputs} outputs"
        raise ModelError(Finding("empty", "what", got, "one of each at least", "C has no arrays of nothing"))
    point = loop.operating_point
    model = getattr(point, "model", plant)
    if point is not None and not isinstance(model, Model):
        advice = "give what tt.trim returns, which knows the model: then a step takes its outputs and gives its inputs"
        raise ModelError(Finding("wrong-type", "operating_point", point, "a tt.OperatingPoint", advice))
    linear = _plain(first) if model is None else law_of_model(first, model, loop.reference)
    if scheduled is None:
        law, family = sampled_law(linear, period), None
    else:
        sources = {key: read_schedule(model, key, source, linear) for key, source in scheduled.schedule.items()}
        schedule = {key: of if isinstance(of, str) else _constant(of) for key, of in sources.items()}
        law = scheduled_law(scheduled, linear, schedule, {})
        places = {key: law.inputs.index(of) if isinstance(of, str) else of for key, of in sources.items()}
        family = read_family(scheduled.family, places, (first, scheduled.sample_time))
    if model is None:
        inputs, signals = law.inputs, {signal.path: signal.unit for side in named_signals(first)[1:] for signal in side}
        signals |= {} if scheduled is None else dict(scheduled.family.units)
        units = [signals.get(path, "") for path in inputs], [signals.get(path, "") for path in law.outputs]
        trims = np.zeros(len(inputs)), np.zeros(len(law.outputs))
    else:
        inputs = shown_inputs(model, law)
        units, trims = of_point(model, point, law)
    delay = read_duration("delay", loop.delay, zero=True)
    return CController(name, law, linear, family, inputs, units, trims, point is not None, delay)


def _plain(K: Any) -> LinearLaw:
    """Return a state space that takes what its inputs are."""
    states, inputs, outputs = (tuple(signal.path for signal in side) for side in named_signals(K))
    return LinearLaw(inputs, (), outputs, states, K, np.eye(len(inputs)), np.zeros((len(inputs), 0)))


def law_of_model(K: Any, model: Model, reference: Any) -> LinearLaw:
    """Return the connection of a state space to a model. Raises `ModelError` for unknown signals."""
    measured, commanded = measured_signals(model), commanded_signals(model)
    law = wire(K, measured, commanded, [*reference] if isinstance(reference, dict) else [])
    for name in law.outputs:
        commanded.find("controller.output_labels", name)
    return law


def shown_inputs(model: Model, law: ControlLaw) -> tuple[str, ...]:
    """Return the names of what a controller takes: measured outputs, then references."""
    return (*law.inputs, *shown_references(law.references, measured_signals(model)))


def of_point(model: Model, point: Any, law: ControlLaw) -> Any:
    """Return units of what a controller takes and gives, and their values at the operating point."""
    inputs = shown_inputs(model, law)
    values = OperatingValues(model, point)
    at = np.concatenate([values.outputs(law.inputs), values.outputs(law.references)])
    measured = [units_of(model, read_name(model, MEASURED, name))[0] for name in law.inputs]
    units, rest = list[str](), list[float]()
    for of in (read_name(model, COMMANDED, name) for name in law.outputs):
        rest.append(float((values.command.u if of.kind == Kind.INPUT else values.command.tau)[of.entries[0]]))
        units.append(units_of(model, of)[0])
    return ([*measured, *(reference_unit(model, name) for name in inputs[len(measured) :])], units), (at, np.array(rest))


def read_schedule(model: Model | None, name: str, source: Any, linear: LinearLaw) -> str | float:
    """Return what a scheduling parameter follows: an input of the step, or a number."""
    if callable(source):
        refuse_function(f"schedule[{name!r}]", source, "name what it follows: a step then takes that as an input")
    if not isinstance(source, str):
        return float(source)
    if model is None:
        return name if name not in linear.inputs else f"rho.{name}"
    found = read_source(model, f"schedule[{name!r}]", source, measured_signals(model))
    return found if isinstance(found, str) else found(0.0)


def _constant(value: float) -> Callable[[float], float]:
    return lambda t: value


def _needed(sample_time: Any) -> Any:
    if not sample_time:
        advice = "give one, as in tt.Loop(K, sample_time=0.01): it is sampled by Tustin's rule"
        raise ModelError(Finding("no-sample-time", "sample_time", sample_time, "a controller in discrete time", advice))
    return sample_time


def refuse_function(where: str, function: Any, advice: str = "") -> NoReturn:
    """Refuse a function in Python: it is no table of numbers."""
    name = getattr(function, "__qualname__", type(function).__name__)
    advice = advice or "make a family of its members: tt.LPVModel.of(parameters, [f(rho) for ...]), which C interpolates"
    raise ModelError(Finding("python-function", where, f"{name}, in Python", "matrices, or a family of them", advice))


def read_family(family: Any, sources: dict[str, Any], sampled: tuple[Any, float] | None = None) -> MembersBetween:
    """Return the members of a family, whose parameters follow `sources`.

    `sampled`: a first member in discrete time and the sample time: all have to be in its coordinates. Raises `ModelError` for
    families that are not tables.
    """
    names = tuple(family.parameters)
    if not family.valid.all() and family.is_grid:
        where, got = f"family {family.name!r}", f"{int((~family.valid).sum())} points without an equilibrium"
        raise ModelError(Finding("incomplete", where, got, "a member at every point", "narrow the ranges of the parameters"))
    if not family.is_grid and len(names) > 1:
        where, advice = f"family {family.name!r}", "give tt.lpv axes of a grid"
        raise ModelError(
            Finding("no-grid", where, "a list of points in several parameters", "a grid, or one parameter", advice)
        )
    members = np.block([[family.A, family.B], [family.C, family.D]])
    axes, shape = [], family.shape
    for k, values in enumerate(family.parameters.values()):
        known, order = np.unique(values if family.is_grid else values[family.valid], return_index=True)
        members = np.take(members, order if family.is_grid else np.flatnonzero(family.valid)[order], axis=k)
        axes.append(known)
    at, period = (FirstMember(sampled[0]), sampled[1]) if sampled else (None, 0.0)
    for place in np.ndindex(*map(len, axes)) if at else ():
        rho = {name: float(axis[k]) for name, axis, k in zip(names, axes, place, strict=True)}
        member = discretise(family.at(rho), period)
        if at and at.align(member, f"family at {rho}") is not member:
            advice = "give all members their states in the same coordinates"
            raise ModelError(Finding("other-coordinates", f"family at {rho}", "other states", "those of the first", advice))
    return MembersBetween(names, axes, members.reshape(-1, *members.shape[len(shape) :]), [sources[name] for name in names])
