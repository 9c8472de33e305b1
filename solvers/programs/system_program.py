"""A model between inputs and outputs as straight-line programs: its rates, its outputs, and how these change."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from titop.blocks.basics.errors import Finding, ModelError
from titop.blocks.basics.pose import euler_angles
from titop.blocks.basics.spatial import Array, cross
from titop.blocks.contract.block import Block
from titop.blocks.interactions.interaction import motion_among
from titop.blocks.joints.friction_and_limits import CoordinateLimits
from titop.blocks.joints.joint import Joint
from titop.blocks.programs.differentiation import along, jacobian, replaced
from titop.blocks.programs.program import Program
from titop.solvers.constraints import closed_dynamics
from titop.solvers.constraints.interaction_loads import target_motion
from titop.solvers.equilibrium.operating_point import OperatingPoint
from titop.solvers.mechanism.inputs import PortPush, Whole, acting_inputs
from titop.solvers.mechanism.port_motion import PortMotion
from titop.solvers.programs.tracing import Recorded, naming_blocks
from titop.solvers.signals.quantities import Kind, Quantity
from titop.solvers.signals.snapshot import Snapshot
from titop.solvers.signals.system_inputs import SystemInputs
from titop.solvers.signals.values import quantity_value


class SystemPrograms(NamedTuple):
    """Programs of a system with ``states`` x = [q; v; first-order states], ``inputs`` u and ``parameters`` p.

    - `rates`: ``xdot``, and ``health``: positive where the accelerations can be trusted;
    - `outputs`: ``y``, the outputs; the gaps, which are zero where stops and contacts switch; and what is measured;
    - `tangent`: the ``change`` of [xdot; outputs; gaps] with a ``seed``, the change of [p; u; x];
    - `adjoint`: the ``gradient`` by [p; u; x] of a sum of [xdot; outputs; gaps] with a ``weight`` each;
    - `gaps`: the gaps' names.
    """

    rates: Program
    outputs: Program
    tangent: Program
    adjoint: Program
    gaps: tuple[str, ...]


def system_programs(
    point: OperatingPoint,
    inputs: SystemInputs,
    outputs: Sequence[Quantity],
    measured: Sequence[Quantity],
    parameters: Sequence[str],
    origin: Array,
) -> SystemPrograms:
    """Record a system. What acts at the point acts, where it is no input; quaternions are divided by their norms.

    Displacements are measured from the `origin` (nq). What is `measured` stands behind outputs and gaps, without derivatives.

    Raises `ModelError` for what cannot be recorded, naming the parameter, or without any the block.
    """
    record = partial(_programs, point, inputs, outputs, measured, origin)
    try:
        return record(parameters)
    except ModelError as error:
        if not parameters or _fails(record, ()):
            raise
        name = next((name for name in parameters if _fails(record, (name,))), "all together")
        expected, advice = "one whose changes keep the program", "leave it out; with_parameters changes it before"
        raise ModelError(Finding("fixed-parameter", "parameters", name, expected, advice)) from error


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
    origin: Array,
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
    reading = _Reading(recorded, inputs.prescribed, origin)
    names, gaps = reading.gaps()
    xdot, y, seen, health = (
        replaced(np.concatenate([np.zeros(0, dtype=object), *parts]), in_place)
        for parts in (
            [recorded.tangent @ recorded.v, reading.a, reading.state_rates()],
            [*(reading.value(of) for of in outputs), gaps],
            [reading.value(of) for of in measured],
            [reading.health],
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
        graph.program(sizes | {"seed": len(seed)}, {"change": along(both, by, seed)}),
        graph.program(sizes | {"weight": len(weight)}, {"gradient": gradient}),
        names,
    )


class _Reading:
    """A recorded model whose quantities are read as those of a model, without checks of the state.

    It stands for the model and for its mechanism.
    """

    def __init__(self, recorded: Recorded, imposed: Array, origin: Array) -> None:
        self.recorded, self._of, self.mechanism = recorded, recorded.mechanism, self
        graph, inputs = recorded.graph, recorded.mechanism.inputs
        size = len(inputs.names)
        driving = np.concatenate([graph.input("u", size), graph.input("x", inputs.count - size)]).view(Whole)
        q, v, tau, a = recorded.q, recorded.v, recorded.tau, recorded.a
        if imposed.any():
            self.health = np.ones(1, dtype=object)
            if self._of.is_constrained:
                found = closed_dynamics.hybrid(self._of, q, v, recorded.efforts, a, imposed, recorded.pushes)
            else:
                found = recorded.passes.resolve(q, v, a, recorded.efforts, imposed, recorded.pushes)[:2]
            self.a, tau = found[0], np.where(imposed, found[1] - (recorded.efforts - tau), tau)
        else:
            self.a, self.health = recorded.forward
        self.at = Snapshot(self, q, v, self.a, tau, driving, None, origin)  # type: ignore[arg-type]

    def __getattr__(self, name: str) -> Any:
        return getattr(self._of, name)

    @property
    def nu(self) -> int:
        return len(self._of.inputs.names)

    def _read_q(self, q: Array) -> Array:
        return q

    def _read_v(self, name: str, v: Array) -> Array:
        return v

    def state_rates(self) -> Array:
        rates: Array = self._of.engine.states.rates(self.at.q, self.at.v, self.at.u)
        return rates

    def difference(self, q0: Array, q1: Array) -> Array:
        return self._of.difference_unchecked(q0, q1)

    def _port(self, port: str) -> PortMotion:
        at = self.at
        motion: PortMotion = self._of.engine.observations.port_motion(self._of.read_port(port), at.q, at.v, at.a)
        return motion

    def pose(self, port: str, q: Array) -> tuple[Array, Array]:
        motion = self._port(port)
        return motion.rotation, motion.position

    def accelerometer(self, port: str, *_: Any) -> Array:
        motion, field = self._port(port), self._of.assembly.field
        felt: Array = motion.acceleration[:3] + cross(motion.twist[3:], motion.twist[:3])
        return felt if field is None else felt - motion.rotation.T @ field.acceleration(motion.position)

    def reaction(self, name: str, q: Array, v: Array, a: Array, *_: Any) -> Array:
        closure, pushes, mechanism = self._of.loop_of(name), list(self.recorded.pushes), self._of
        if mechanism.is_constrained:
            raise TypeError("with closed loops, reactions are no output of programs")
        if closure is None:
            wrench: Array = mechanism.engine.observations.joint_wrench(name, q, v, a, pushes)
            return wrench
        inputs = acting_inputs(pushes).get(name)
        second: Array = closure.closure.act(target_motion(mechanism, closure, q, v, inputs))[0][1]
        return second

    def value(self, of: Quantity) -> Array:
        """Return the values of a quantity."""
        if of.kind in (Kind.ANGLES, Kind.POSE):
            motion = self._port(of.owner)
            whole = np.concatenate([motion.position, euler_angles(motion.rotation, of.sequence, np.arctan2, np.hypot)])
            return whole[[k + 3 * (of.kind == Kind.ANGLES) for k in of.entries]]
        return quantity_value(self.at, of)

    def gaps(self) -> tuple[tuple[str, ...], Array]:
        """Return the gaps of all stops, contacts and other switches of blocks, and their names."""
        names, found = list[str](), [np.zeros(0, dtype=object)]
        assembly, at = self._of.assembly, self.at
        owners: list[tuple[Block, Any]] = [
            (loop.closure, lambda loop=loop: target_motion(self._of, loop, at.q, at.v, None)) for loop in self._of.interactions
        ]
        for block in (*assembly.blocks_with_coordinates, *assembly.limits):
            if isinstance(block, Joint | CoordinateLimits):
                places = [assembly.place(block.joint)] if isinstance(block, CoordinateLimits) else None
                in_q = [places[0][0]] if places else assembly.q_slices[block.name]
                in_v = [places[0][1]] if places else assembly.v_slices[block.name]
                owners.append((block, lambda q=at.q[in_q], v=at.v[in_v]: motion_among([], [], q, v, np.zeros(0))))
        for block, motion in owners:
            if type(block).gaps is not Block.gaps:
                values = block.gaps(motion())
                found.append(np.asarray(values, dtype=object))
                names += [f"{block.name}.switch[{k}]" for k in range(len(values))]
        return tuple(names), np.concatenate(found)
