"""A model between inputs and outputs as straight-line programs: its rates, its outputs, and how these change."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from titop.blocks.basics.errors import Finding, ModelError
from titop.blocks.basics.spatial import Array, solve
from titop.blocks.contract.block import Block
from titop.blocks.joints.friction_and_limits import CoordinateLimits, stop_bounds
from titop.blocks.joints.joint import Joint
from titop.blocks.programs.branches import explored
from titop.blocks.programs.differentiation import along, jacobian, replaced
from titop.blocks.programs.program import Program
from titop.solvers.constraints import closed_dynamics
from titop.solvers.constraints.interaction_loads import target_motion
from titop.solvers.equilibrium.operating_point import OperatingPoint
from titop.solvers.mechanism.inputs import PortPush
from titop.solvers.programs.program_outputs import reading
from titop.solvers.programs.tracing import Recorded, naming_blocks
from titop.solvers.signals.quantities import Kind, Quantity
from titop.solvers.signals.system_inputs import SystemInputs


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
) -> SystemPrograms:
    """Record a system. What acts at the point acts, where it is no input; quaternions are divided by their norms.

    What is `measured` stands behind outputs and gaps, without derivatives.

    Raises `ModelError` for what cannot be recorded, naming the parameter, or without any the block.
    """
    record = partial(_programs, point, inputs, outputs, measured)
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
    parameters: Sequence[str],
) -> SystemPrograms:
    model, values = point.model, point.model.parameters()
    nq, nv, nu = model.nq, model.nv, model.nu
    u = np.zeros(nu) if point.u is None else point.u
    rest = {"q": point.q, "v": point.v, "tau": point.tau, "a": np.zeros(nv), "u": u, "x": point.x}
    rest |= {"parameters": np.array([values[name][0] for name in parameters])} if parameters else {}
    recorded = Recorded(model.mechanism, rest, parameters, range(nu))
    graph = recorded.graph
    x, w = graph.input("states", nq + nv + model.nx), graph.input("inputs", len(inputs.named))
    now = {Kind.EFFORT: rest["tau"], Kind.ACCELERATION: rest["a"], Kind.INPUT: rest["u"]}
    now = {kind: values.astype(object) for kind, values in now.items()}
    wrenches = {port: wrench.astype(object) for port, wrench in (point.wrenches or {}).items()}
    for number, channel in zip(w, inputs.named, strict=True):
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
    in_place = {old: new for name, new in given.items() for old, new in zip(graph.input(name, len(new)), new, strict=True)}
    names, gaps = _gaps(recorded)
    a, efforts, healths = _accelerations(recorded, inputs.prescribed)
    at = copy.copy(recorded)
    at.tau = efforts
    constrained = recorded.mechanism.is_constrained and not inputs.prescribed.any()
    xdot, y, seen, health, closed = (
        replaced(np.concatenate([np.zeros(0, dtype=object), *parts]), in_place)
        for parts in (
            [recorded.tangent @ recorded.v, a, recorded.changes],
            [*(reading(at, of, a) for of in outputs), *gaps],
            [reading(at, of, a) for of in measured],
            [healths],
            [*_closed(recorded), recorded.x] if constrained else [],
        )
    )
    sizes = {"states": len(x), "inputs": len(w), "parameters": len(parameters)}
    p = graph.input("parameters", len(parameters))
    by, both = [*p, *w, *x], np.concatenate([xdot, y])
    seed, weight = graph.input("seed", len(by)), graph.input("weight", len(both))
    gradient = jacobian(np.array([weight @ both], dtype=object), by, reverse=True)[0]
    return SystemPrograms(
        graph.program(sizes, {"xdot": xdot, "health": health}),
        graph.program(sizes, {"y": np.concatenate([y, seen])}),
        graph.program(sizes | {"seed": len(seed)}, {"change": along(both, by, [*seed])}),
        graph.program(sizes | {"weight": len(weight)}, {"gradient": gradient}),
        graph.program(sizes, {"closed": closed}) if constrained else None,
        names,
    )


def _accelerations(recorded: Recorded, imposed: Array) -> tuple[Array, Array, Array]:
    """Return accelerations, efforts, and the health of the accelerations; motions are `imposed` on some coordinates (nv)."""
    if not imposed.any():
        return recorded.forward[0], recorded.tau, recorded.forward[1]
    q, v, a, efforts, pushes = recorded.q, recorded.v, recorded.a, recorded.efforts, recorded.pushes
    if recorded.mechanism.is_constrained:
        rank = closed_dynamics.rank_of_free(recorded.original, recorded.nominal["q"], imposed)
        a, found = closed_dynamics.hybrid(recorded.mechanism, q, v, efforts, a, imposed, pushes, held_rank=rank)
    else:
        a, found = recorded.passes.resolve(q, v, a, efforts, imposed, pushes)[:2]
    return a, np.where(imposed, found - (efforts - recorded.tau), recorded.tau), np.ones(0, dtype=object)


def _closed(recorded: Recorded) -> tuple[Array, Array]:
    """Return configuration and rates, moved to the constraints along the shortest way in sizes of coordinates."""
    m = recorded.mechanism
    rows = m.constraints_at(recorded.q, recorded.v)
    chosen = closed_dynamics.partition_at(m, rows.jacobian, recorded.rank).rows
    J = rows.jacobian[chosen]
    back = (J * m.scale.coordinates**2).T
    off = back @ solve(J @ back, np.column_stack([rows.error[chosen], J @ recorded.v]))
    return recorded.q - recorded.tangent @ off[:, 0], recorded.v - off[:, 1]


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
