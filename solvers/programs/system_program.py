"""A model between inputs and outputs as programs: its rates, its outputs, and how these change."""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from titop.blocks.basics.errors import Finding, ModelError
from titop.blocks.basics.spatial import Array
from titop.blocks.contract.block import Block
from titop.blocks.joints.friction_and_limits import CoordinateLimits, stop_bounds
from titop.blocks.joints.joint import Joint
from titop.blocks.programs.branches import explored
from titop.blocks.programs.differentiation import along, jacobian, replaced
from titop.blocks.programs.graph import applied
from titop.blocks.programs.program import Program
from titop.solvers.constraints.interaction_loads import target_motion
from titop.solvers.equilibrium.operating_point import OperatingPoint
from titop.solvers.mechanism.inputs import PortPush
from titop.solvers.model.model import Model
from titop.solvers.programs.tracing import Recorded, bounded, check_length, naming_blocks
from titop.solvers.signals.exported import Signal, signals_of
from titop.solvers.signals.quantities import Kind, Quantity, of_all_coordinates
from titop.solvers.signals.system_inputs import SystemInput, SystemInputs


class SystemPrograms(NamedTuple):
    """Programs of a system with ``states`` x = [q; v; first-order states], ``inputs`` u and ``parameters`` p.

    - `rates`: ``xdot``, and ``health``: positive where the accelerations can be trusted;
    - `outputs`: ``y``, the outputs; the gaps, which are zero where stops and contacts switch; and what is measured;
    - `tangent`: the ``change`` of [xdot; outputs; gaps] with a ``seed``, the change of [p; u; x];
    - `adjoint`: the ``gradient`` by [p; u; x] of a sum of [xdot; outputs; gaps] with a ``weight`` each;
    - `closed`: ``closed``, the states moved back to the constraints by a step of Newton's method; None without constraints,
      and where motions are imposed;
    - `gaps`: the gaps' names.
    """

    rates: Program
    outputs: Program
    tangent: Program
    adjoint: Program
    closed: Program | None
    gaps: tuple[str, ...]


def system_programs(
    point: OperatingPoint,
    inputs: SystemInputs,
    outputs: Sequence[Quantity],
    measured: Sequence[Quantity],
    parameters: Sequence[str],
    limited: int = 0,
) -> SystemPrograms:
    """Record a system. What acts at the point acts, where it is no input; quaternions are divided by their norms.

    What is `measured` stands behind outputs and gaps, without derivatives. The first inputs are `limited` to their ranges.

    Raises `ModelError` for what cannot be recorded, naming the parameter, or without any the block.
    """
    record = partial(_programs, point, inputs, outputs, measured, limited)
    try:
        return record(parameters)
    except ModelError as error:
        if not parameters or _fails(record, ()):
            raise
        name = next((name for name in parameters if _fails(record, (name,))), "all together")
        expected, advice = "one whose changes keep the program", "leave it out; with_parameters changes it before"
        found = "; ".join(str(finding) for finding in error.findings)
        raise ModelError(Finding("fixed-parameter", "parameters", name, expected, f"{advice} ({found})")) from error


def _fails(record: Callable[[Sequence[str]], SystemPrograms], parameters: Sequence[str]) -> bool:
    try:
        record(parameters)
    except ModelError:
        return True
    return False


@naming_blocks("inputs and outputs")
def _programs(
    point: OperatingPoint,
    inputs: SystemInputs,
    outputs: Sequence[Quantity],
    measured: Sequence[Quantity],
    limited: int,
    parameters: Sequence[str],
) -> SystemPrograms:
    system = RecordedSystem(point, inputs, parameters, limited)
    with bounded("inputs and outputs", system.recorded.graph, system.recorded.original):
        return _recorded(system, outputs, measured, not inputs.prescribed.any())


def _recorded(
    system: RecordedSystem, outputs: Sequence[Quantity], measured: Sequence[Quantity], is_free: bool
) -> SystemPrograms:
    recorded, graph, a, sizes = system.recorded, system.recorded.graph, system.a, system.sizes
    names, gaps = _gaps(recorded)
    constrained = recorded.mechanism.is_constrained and is_free
    xdot, y, seen, health, closed = (
        system.placed(parts)
        for parts in (
            system.rates,
            [*(system.at.reading(of, a) for of in outputs), *gaps],
            [system.at.reading(of, a) for of in measured],
            [system.healths],
            [*(recorded.closing_step()[of] for of in "qv"), recorded.x] if constrained else [],
        )
    )
    by, both = [*system.p, *system.w, *system.x], np.concatenate([xdot, y])
    seed, weight = graph.input("seed", len(by)), graph.input("weight", len(both))
    gradient = jacobian(np.array([weight @ both], dtype=object), by, reverse=True)[0]
    programs = SystemPrograms(
        graph.program(sizes, {"xdot": xdot, "health": health}),
        graph.program(sizes, {"y": np.concatenate([y, seen])}),
        graph.program(sizes | {"seed": len(seed)}, {"change": along(both, by, [*seed])}),
        graph.program(sizes | {"weight": len(weight)}, {"gradient": gradient}),
        graph.program(sizes, {"closed": closed}) if constrained else None,
        names,
    )
    for name, found in programs._asdict().items():
        if isinstance(found, Program):
            check_length(name, found, recorded.original)
    return programs


class RecordedSystem:
    """A system of ``states`` x, ``inputs`` w and ``parameters`` p whose numbers are recorded: see `SystemPrograms`.

    - `recorded`: of q, v, ... of its own, which `placed` replaces by what stands for them; `at`: with the efforts that act;
    - `a`, `healths`: the accelerations, and their health; `sizes` of x, w and p by name;
    - `limited`: how many of the first inputs act within the ranges of actuators.
    """

    def __init__(self, point: OperatingPoint, inputs: SystemInputs, parameters: Sequence[str], limited: int = 0) -> None:
        model, values = point.model, point.model.parameters()
        nq, nv, nu = model.nq, model.nv, model.nu
        u = np.zeros(nu) if point.u is None else point.u
        rest = {"q": point.q, "v": point.v, "tau": point.tau, "a": np.zeros(nv), "u": u, "x": point.x}
        rest |= {"parameters": np.array([values[name][0] for name in parameters])} if parameters else {}
        self.recorded = recorded = Recorded(model.mechanism, rest, parameters, range(nu))
        graph = recorded.graph
        self.x, self.w = x, w = graph.input("states", nq + nv + model.nx), graph.input("inputs", len(inputs.named))
        self.p = graph.input("parameters", len(parameters))
        self.sizes = {"states": len(x), "inputs": len(w), "parameters": len(parameters)}
        now = {Kind.EFFORT: rest["tau"], Kind.ACCELERATION: rest["a"], Kind.INPUT: rest["u"]}
        now = {kind: values.astype(object) for kind, values in now.items()}
        wrenches = {port: wrench.astype(object) for port, wrench in (point.wrenches or {}).items()}
        shown = [within_range(x, model, of) for x, of in zip(w[:limited], inputs.named, strict=False)]
        for number, channel in zip([*shown, *w[limited:]], inputs.named, strict=True):
            if channel.kind == Kind.WRENCH:
                wrenches.setdefault(channel.port, np.zeros(6, dtype=object))[channel.entry] = number
            else:
                now[channel.kind][channel.entry] = number
        recorded.pushes += [PortPush(port, False, wrench) for port, wrench in wrenches.items()]
        q = x[:nq].copy()
        for start in model.mechanism.quaternions:
            entries = slice(start, start + 4)
            q[entries] = q[entries] * (1.0 / (q[entries] @ q[entries]) ** 0.5)
        given = {"q": q, "v": x[nq : nq + nv], "x": x[nq + nv :], "tau": now[Kind.EFFORT]}
        given |= {"a": now[Kind.ACCELERATION], "u": now[Kind.INPUT]}
        pairs = ((graph.input(name, len(new)), new) for name, new in given.items())
        self._in_place = {old: new for before, after in pairs for old, new in zip(before, after, strict=True)}
        self.at = copy.copy(recorded)
        self.a, self.at.tau, self.healths = recorded.hybrid(inputs.prescribed)

    @property
    def rates(self) -> list[Array]:
        """The rates of x, in parts, before they are `placed`."""
        return [self.recorded.tangent @ self.recorded.v, self.a, self.recorded.changes]

    def placed(self, parts: Sequence[Array]) -> Array:
        """Return recorded numbers, one part behind the other, as functions of x, w and p."""
        return replaced(np.concatenate([np.zeros(0, dtype=object), *parts]), self._in_place)


def within_range(number: Any, model: Model, channel: SystemInput) -> Any:
    """Return what acts of a recorded number as an input: within the range of its actuator."""
    ranges = model.mechanism.inputs
    for operation, limits in (("maximum", ranges.lower), ("minimum", ranges.upper)) if channel.kind == Kind.INPUT else ():
        if np.isfinite(limits[channel.entry]):
            number = applied(operation, number, float(limits[channel.entry]))
    return number


def resting_within_ranges(point: OperatingPoint) -> OperatingPoint:
    """Return a point whose inputs are within the ranges of actuators, as they act in closed loop."""
    ranges = point.model.mechanism.inputs
    return point if point.u is None else dataclasses.replace(point, u=np.clip(point.u, ranges.lower, ranges.upper))


def system_states(model: Model) -> list[Signal]:
    """Return the states; plain coordinates and rates have the names of outputs."""
    assembly, names, plain = model.mechanism.assembly, [*model.configuration_names], model.mechanism.plain_coordinates
    for in_q, in_v in zip(plain.in_q, plain.in_v, strict=True):
        names[in_q] = f"{model.coordinate_names[in_v]}.q"
    rates = signals_of(model, of_all_coordinates(Kind.RATE, model.coordinate_names, ".v"))
    own = map(Signal, model.mechanism.inputs.state_names, model.mechanism.inputs.state_units)
    return [*map(Signal, names, assembly.configuration_units), *rates, *own]


def _gaps(recorded: Recorded) -> tuple[tuple[str, ...], list[Array]]:
    """Return the names of the gaps of stops, contacts and other interactions that switch, and the gaps."""
    mechanism, names, gaps = recorded.mechanism, list[str](), list[Array]()
    assembly, blocks = mechanism.assembly, recorded.original.assembly.blocks
    for block in (*assembly.blocks_with_coordinates, *assembly.limits):
        if isinstance(block, Joint | CoordinateLimits):
            known: Any = blocks[block.name]
            which, signs, _ = stop_bounds(known.limit_numbers)
            in_q = [assembly.place(block.joint)[0]] if isinstance(block, CoordinateLimits) else assembly.q_slices[block.name]
            q = recorded.q[in_q]
            gaps.append(signs * (q[which] - block.limit_numbers[which, (signs < 0).astype(int)]))
            names += [f"{block.name}.switch[{k}]" for k in range(len(which))]
    for loop in mechanism.interactions:
        if type(loop.closure).gaps is not Block.gaps:
            motion = target_motion(mechanism, loop, recorded.q, recorded.v)
            gaps.append(np.asarray(explored(loop.closure.gaps, motion), dtype=object))
            names += [f"{loop.closure.name}.switch[{k}]" for k in range(len(gaps[-1]))]
    return tuple(names), gaps
