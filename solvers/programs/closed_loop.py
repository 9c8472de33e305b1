"""A model with a controller in continuous time as one program: its rates ``xdot = f(x, r)``, outputs and commands."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from titop.blocks.basics.errors import Finding, ModelError
from titop.blocks.basics.spatial import Array
from titop.blocks.programs.differentiation import replaced
from titop.blocks.programs.graph import Unknown, applied
from titop.blocks.programs.program import Program
from titop.solvers.control.continuous_loop import algebraic_loop
from titop.solvers.control.control_laws import LinearLaw
from titop.solvers.control.controllers import Controller, Loop, ScheduledController
from titop.solvers.equilibrium.operating_point import OperatingPoint, read_point
from titop.solvers.linear.lpv_model import LPVModel
from titop.solvers.linear.state_space import read_linear
from titop.solvers.model.model import Model
from titop.solvers.programs.c_controllers import (
    KINDS,
    MembersBetween,
    law_of_model,
    of_point,
    read_family,
    read_schedule,
    refuse_function,
    shown_inputs,
)
from titop.solvers.programs.system_program import RecordedSystem, resting_within_ranges, system_states, within_range
from titop.solvers.programs.tracing import naming_blocks
from titop.solvers.signals.grammar import MEASURED, read_name
from titop.solvers.signals.quantities import Quantity
from titop.solvers.signals.system_inputs import SystemInputs

#: The function's name, and its arguments.
CLOSED_LOOP, ARGUMENTS = "closed_loop", ("states", "r")


def is_continuous(loop: Any, sample_time: Any) -> bool:
    """Tell whether a `Loop` has a controller in continuous time, and a model at its operating point: it is a closed loop."""
    if not isinstance(loop, Loop) or not isinstance(getattr(loop.operating_point, "model", None), Model):
        return False
    K = loop.controller
    return sample_time is None and loop.sample_time is None and (isinstance(K, LPVModel) or getattr(K, "dt", True) in (None, 0))


@naming_blocks("the closed loop")
def closed_loop(
    model: Model, given: Any, parameters: Sequence[str], outputs: Sequence[Quantity], at: Array
) -> tuple[Program, dict[str, Any], dict[str, Any], dict[str, Any]]:
    """Record a model with a controller: all but its commands acts as at the operating point, within the ranges of actuators.

    Beside the program there are the names, units and nominal values of its own arrays, by their names.

    Raises `ModelError` for sampled controllers and those in Python, and where an output acts on itself at once.
    """
    loop = given if isinstance(given, Loop) else Loop(given)
    for name, value in (("sample_time", loop.sample_time), ("delay", loop.delay or None), ("noise", loop.noise)):
        if value is not None:
            advice = "leave it out; or export the controller alone with tt.export_c, which gives its step"
            raise ModelError(Finding("sampled", f"controller.{name}", value, "a controller in continuous time", advice))
    point = loop.operating_point
    if point is not None and not isinstance(point, OperatingPoint):
        raise ModelError(Finding("wrong-type", "operating_point", point, "a tt.OperatingPoint", "give what tt.trim returns"))
    start = resting_within_ranges(read_point(model, at if point is None else point).of(model))
    law, family = _read_law(model, loop, parameters)
    units, (trims, rest) = of_point(model, point, law)
    measured = [read_name(model, MEASURED, name) for name in law.inputs]
    inputs = SystemInputs(model, law.outputs)
    system = RecordedSystem(start, inputs, parameters)
    graph, n, nz = system.recorded.graph, len(system.x), len(law.states)
    sizes = system.sizes | {"states": n + nz, "r": len(law.references)}
    z, r, a = graph.input("states", n + nz)[n:], graph.input("r", sizes["r"]), graph.fresh(model.nv)
    y = system.placed([system.at.reading(of, a) for of in measured])
    e = law.from_y @ (y - trims[: len(y)]) + law.from_r @ (r - trims[len(y) :])
    known = dict(zip(parameters, system.p, strict=True)) | dict(zip(law.inputs, y, strict=True))
    matrix = np.block([[law.K.A, law.K.B], [law.K.C, law.K.D]]).astype(object) if family is None else _between(family, known)
    both = matrix @ np.concatenate([z, e])
    commands, at_once = both[nz:] + rest, {number.place for number in (*a, *system.w)}
    for k, (name, channel) in enumerate(zip(law.outputs, inputs.named, strict=True)):
        commands[k] = within_range(commands[k], model, channel)
        if isinstance(commands[k], Unknown) and not at_once.isdisjoint(graph.needed([commands[k].place])):
            raise ModelError(algebraic_loop("; ".join(law.inputs), name))
    acting, moving = dict(zip(system.w, commands, strict=True)), dict(zip(a, system.placed([system.a]), strict=True))
    xdot, shown, health = (
        replaced(array, acting)
        for array in (
            np.concatenate([system.placed(system.rates), replaced(both[:nz], moving)]),
            system.placed([system.at.reading(of, system.a) for of in outputs]),
            system.placed([system.healths]),
        )
    )
    found = {"xdot": xdot, "y": shown, "commands": commands, "health": health}
    states = [*system_states(model), *((f"controller.{name}", "1") for name in law.states)]
    ny, references = len(law.inputs), shown_inputs(model, law)[len(law.inputs) :]
    names = {"states": tuple(path for path, _ in states), "r": references, "commands": law.outputs}
    of_units = {"states": tuple(unit or "1" for _, unit in states), "r": tuple(units[0][ny:]), "commands": tuple(units[1])}
    nominal = {"states": np.concatenate([start.q, start.v, start.x, np.zeros(nz)]), "r": trims[ny:]}
    used = {name: size for name, size in sizes.items() if name != "inputs" and (size or name != "parameters")}
    return graph.program(used, found), names, of_units, nominal


def _read_law(model: Model, loop: Loop, parameters: Sequence[str]) -> tuple[LinearLaw, MembersBetween | None]:
    """Return the law of a controller, with what it measures; and of a family its members, whose parameters follow `sources`."""
    K = loop.controller
    if isinstance(K, Controller):
        refuse_function("controller", K.update)
    schedule = K.schedule if isinstance(K, ScheduledController) else {}
    family = K.family if isinstance(K, ScheduledController) else K
    if schedule and (not isinstance(family, LPVModel) or K.rates):
        refuse_function("family" if not K.rates else "rates", family)
    if not isinstance(family, LPVModel):
        first = read_linear("controller", K, KINDS)
        if first.dt:
            got, advice = f"one with a sample time of {first.dt} s", "export it alone with tt.export_c, which gives its step"
            raise ModelError(Finding("sampled", "controller", got, "one in continuous time", advice))
        return law_of_model(first, model, loop.reference), None
    schedule = schedule or {name: name for name in family.parameters}
    law = law_of_model(family.at({name: float(values[0]) for name, values in family.parameters.items()}), model, loop.reference)
    sources = {
        name: source if source in parameters else read_schedule(model, name, source, law) for name, source in schedule.items()
    }
    more = [source for source in sources.values() if isinstance(source, str) and source not in (*law.inputs, *parameters)]
    inputs = (*law.inputs, *dict.fromkeys(more))
    from_y = np.hstack([law.from_y, np.zeros((len(law.from_y), len(inputs) - len(law.inputs)))])
    law = LinearLaw(inputs, law.references, law.outputs, law.states, law.K, from_y, law.from_r)
    return law, read_family(family, sources)


def _between(family: MembersBetween, known: dict[str, Any]) -> Array:
    """Return the member at the parameters, linear between neighbours: each interval adds its part of the difference."""
    members: Array = family.members.reshape(*map(len, family.axes), *family.members.shape[1:]).astype(object)
    for axis, source in zip(family.axes, family.sources, strict=True):
        rho: Any = known.get(str(source), source)
        found = members[0]
        for k, (low, high) in enumerate(pairwise(axis)):
            part = applied("minimum", applied("maximum", (rho - low) * (1.0 / (high - low)), 0.0), 1.0)
            found = found + part * (members[k + 1] - members[k])
        members = found
    return members
