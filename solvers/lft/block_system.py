"""The linear TITOP model of a single block: accelerations and wrenches exchanged at its ports.

About an operating point, with ``xi`` the small displacement of the parent port P, ``B = [Ad(g)^-1 S]`` for a child port C, and
W_C the wrench that the block applies there::

    d(xi)/dt = V - ad(V0) xi                       dV/dt = A_P                        (as small changes)
    [W_P; tau] = M [A_P - G; a] + h(q, v, V_P) - [0; passive] + sum_C B^T W_C
    A_C = Ad(g)^-1 A_P + S a + gamma

Motions are imposed on the block, those of its own coordinates too, and wrenches returned; `invert_channels` inverts this. The
steps, legs and laws are those of linear fractional models, without uncertainty.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from titop.blocks.basics.errors import Finding, ModelError, did_you_mean
from titop.blocks.basics.spatial import Array, skew, twist_cross, twist_transport
from titop.blocks.contract.block import PARENT_PORT
from titop.solvers.constraints.closed_dynamics import closure_pushes
from titop.solvers.constraints.interaction_loads import interaction_pushes
from titop.solvers.engines.reference.passes import Node, Passes, State
from titop.solvers.engines.reference.reference_engine import reference_passes
from titop.solvers.equilibrium.operating_point import read_point
from titop.solvers.lft.legs import Leg, certain_leg
from titop.solvers.lft.loops import LinearLoop, Signals, stack, zeros
from titop.solvers.lft.other_values import LawPoint, law_slopes
from titop.solvers.lft.steps import Change, Rest
from titop.solvers.lft.tree_passes import TURNED
from titop.solvers.linear.state_space import named_system
from titop.solvers.mechanism.inputs import acting_inputs, own_pushes, port_pushes
from titop.solvers.signals.exported import Signal, signals_of
from titop.solvers.signals.quantities import ACCELERATION_UNITS, DISPLACEMENT_UNITS, TWIST_UNITS, WRENCH_UNITS, Kind, Quantity

if TYPE_CHECKING:
    from control import StateSpace

    from titop.solvers.model.model import Model


class LoadedPort(NamedTuple):
    """A child port at the operating point.

    `leg`: the leg to it; `wrench` (6): the wrench that the block applies there, without external ones; `turning` (6): the
    external wrench that keeps its inertial direction.
    """

    leg: Leg
    wrench: Array
    turning: Array


def block_system(model: Model, point: Any, name: str) -> StateSpace:
    """Return the linear TITOP model of one block about an operating point of the system.

    Inputs are the acceleration of the parent port ``arm.P.dV``, the wrench applied to the block at each child port
    ``arm.C.W``, and the accelerations of the block's own coordinates ``hinge.a``. Outputs are the wrench that the block applies
    to its parent ``arm.P.W``, the accelerations of child ports ``arm.C.dV`` and the efforts ``hinge.tau`` (key A's
    ``W_{A/.,P}`` and ``W_{./A,C}``). Each block integrates twist and displacement of its parent port: so a chain of blocks has
    states more than once, which `connect_blocks` removes. Ports of closures are child ports like the others, under the wrenches
    that they transmit at the point.

    Parameters
    ----------
    model : Model
    point : OperatingPoint, (q, v, tau), (q, v) or q
    name : str
        A body, or a joint. The parent port is the port of the parent to which the block is attached, with its frame; all other
        ports are child ports, and so is the block's own frame (``arm.W``, ``arm.dV``) where others are attached to it.

    Returns
    -------
    control.StateSpace

    Raises
    ------
    ModelError
        For unknown names, points that accelerate, fields of gravity, and a child port named ``parent``: of a block with a port
        ``P`` the parent port has this name.

    Examples
    --------
    >>> import titop as tt
    >>> s = tt.System("swing")
    >>> bob = tt.RigidBody("bob", mass=2.0, inertia=0.1, ports={"tip": [0, 0, -1]})
    >>> s.connect("world", bob, joint=tt.Revolute("hinge", axis=[0, 1, 0]))
    >>> m = s.resolve()
    >>> system = tt.block_system(m, m.neutral(), "bob")
    >>> system.input_labels[0], system.output_labels[0], float(system.D[0, 0])
    ('bob_P_dV[0]', 'bob_P_W[0]', -2.0)
    """
    at = read_point(model, point)
    if at.a.any():
        got, advice = "a reference that accelerates", "let gravity take its place: trim with gravity.z among the unknowns"
        raise ModelError(Finding("accelerating-point", "point", got, "one at rest or in steady motion", advice))
    if (field := at.model.mechanism.assembly.field) is not None:
        expected, advice = "uniform gravity: a field acts between each block and the world", "linearise the system as a whole"
        raise ModelError(Finding("block-in-field", name, field.words, expected, advice))
    reference = reference_passes(at.model.mechanism.assembly)
    names = [node.block.name for node in reference.nodes]
    if name not in names[1:]:
        raise ModelError(Finding("unknown-block", "name", name, "a body or joint of the model", did_you_mean(name, names[1:])))
    k = names.index(name)
    imposed, pushes = np.ones(model.nv, dtype=bool), at.model.mechanism.external_pushes(at.wrenches, at.driving)
    if model.is_constrained:
        carried = at.model.mechanism.multipliers(at.q, at.v, at.residual, pushes, at.driving, at.tau)
        pushes += closure_pushes(at.model.mechanism, at.q, carried)
    _, _, states = reference.resolve(at.q, at.v, at.residual, np.zeros(model.nv), imposed, pushes)
    # the resolver has the interactions' wrenches, the ports do not
    pushes += interaction_pushes(at.model.mechanism, at.q, at.v, acting_inputs(pushes))
    node, state = reference.nodes[k], states[k]
    own = at.q[node.q], at.v[node.v], at.residual[node.v]
    exchanged = _child_ports(reference, node)
    others = [port for port in (None, *node.block.ports) if port not in exchanged]
    ports, loaded = ([_port(reference, states, k, port, own, pushes) for port in group] for group in (exchanged, others))
    driven = sum(push.derivatives(at.q) for push in own_pushes(pushes) if push.v == node.v)
    here = LawPoint(*own, state.V, state.A, state.rotation, state.position, reference.assembly.gravity, np.asarray(driven))
    loaded = [port for port in loaded if port.wrench.any() or port.turning.any()]
    return named_system(_matrices(node, here, ports, loaded), *_signals(at.model, node, exchanged), name)


def _child_ports(reference: Passes, node: Node) -> list[str | None]:
    """Return the names of a block's ports, without that by which it is attached to its parent; None: its frame, if in use."""
    name, assembly = node.block.name, reference.assembly
    hangs = next((c.child.name for c in assembly.connections if c.child.block.name == name), None)
    others = [c.parent for c in assembly.connections], *(loop.ports for loop in assembly.loops)
    in_use = any(ref.block.name == name and ref.name is None for refs in others for ref in refs)
    return [*(port for port in node.block.ports if port != hangs), *([None] if in_use else [])]


def _port(reference: Passes, states: list[State], k: int, port: str | None, own: Any, pushes: Any) -> LoadedPort:
    block, (q, v, _) = reference.nodes[k].block, own
    is_one = port in block.ports
    leg, rotation = (certain_leg(block, port, q, v), block.pose(port, q)[0]) if is_one else (Leg(()), np.eye(3))  # type: ignore[arg-type]
    wrench = np.zeros(6)
    for child, state in zip(reference.nodes, states, strict=True):
        if child.parent == k and child.port == port:
            wrench += twist_transport(*child.mount).T @ state.W
    path = block.name if port is None else f"{block.name}.{port}"
    external, turning = _external(reference, path, states[k].rotation @ rotation, pushes)
    return LoadedPort(leg, wrench - external, turning)


def _external(reference: Passes, path: str, rotation: Array, pushes: Any) -> tuple[Array, Array]:
    """Return the external wrench at a port, in its frame, and the part of it that keeps its inertial direction."""
    total, turning = np.zeros(6), np.zeros(6)
    for load in reference.assembly.loads:
        if str(load.target) == path:
            total += load.wrench(rotation)
            turning += load.wrench(rotation) if load.frame == "world" else 0.0
    for push in port_pushes(pushes):
        if push.port == path:
            wrench = (
                np.concatenate([rotation.T @ push.wrench[:3], rotation.T @ push.wrench[3:]]) if push.inertial else push.wrench
            )
            total += wrench
            turning += wrench if push.inertial else 0.0
    return total, turning


def _matrices(node: Node, at: LawPoint, ports: list[LoadedPort], loaded: list[LoadedPort]) -> tuple[Array, Array, Array, Array]:
    """Return A, B, C and D; states and acceleration are those of the parent's port.

    `ports` exchange wrenches and accelerations, `loaded` ones only have loads.
    """
    n, transport, gravity = node.block.nv, twist_transport(*node.mount), at.rotation.T @ at.gravity
    loop, constants = LinearLoop(), LinearLoop()
    constants.columns("u", 1)
    xi, twist = (transport @ loop.columns("x", 6) for _ in range(2))
    q, v = (loop.columns("x", n) for _ in range(2))
    acceleration = transport @ loop.columns("u", 6)
    applied = [loop.columns("u", 6) for _ in ports]
    a = loop.columns("u", n)
    own_v, A = Signals(at.v[:, None]), at.acceleration + np.concatenate([gravity, np.zeros(3)])
    rest = Rest(Signals(at.twist[:, None]), Signals(A[:, None]), zeros(36))
    change = Change(xi, twist, acceleration, zeros(36), q, v, a)
    weightless = acceleration - np.vstack([skew(gravity), np.zeros((3, 3))]) @ xi[3:]
    law = law_slopes(node.block, at) @ stack(weightless, a, q, v, twist, xi)
    outputs = []
    for port, by_input in zip((*ports, *loaded), (*applied, *(zeros(6) for _ in loaded)), strict=True):
        moved = port.leg.change(loop, constants, rest, change, own_v, at.a)
        outputs.append(moved.acceleration)
        turned = loop.bilinear(constants, TURNED, Signals(port.turning[:, None]), moved.displacement[3:])
        law += stack(*port.leg.change_back(loop, constants, Signals(port.wrench[:, None]), -by_input - turned, change, n))
    back = np.linalg.inv(transport)
    rates = back @ (twist - twist_cross(at.twist) @ xi), back @ acceleration, v - node.block.bracket(at.v) @ q, a
    width, x = len(loop.kinds), 12 + 2 * n
    rows, result = stack(*rates).pad(width), stack(-transport.T @ law[:6], *outputs[: len(ports)], law[6:]).pad(width)
    return rows[:, :x], rows[:, x:], result[:, :x], result[:, x:]


def _signals(model: Model, node: Node, ports: list[str | None]) -> tuple[list[Signal], list[Signal], list[Signal]]:
    name, parent = node.block.name, PARENT_PORT if PARENT_PORT not in ports else "parent"
    if "parent" in ports:
        got, expected = "a child port of this name", "another: it says by which port a block hangs on its parent"
        raise ModelError(Finding("reserved-name", f"{name}.parent", got, expected, "rename the port"))
    entries = tuple(range(node.v.start, node.v.stop))

    def own(kind: Kind, suffix: str) -> tuple[Signal, ...]:
        paths = tuple(model.coordinate_names[k] + suffix for k in entries)
        return signals_of(model, Quantity(kind, name, entries, paths))

    states = _six(f"{name}.{parent}.xi", DISPLACEMENT_UNITS) + _six(f"{name}.{parent}.V", TWIST_UNITS)
    states += [*own(Kind.POSITION, ".q"), *own(Kind.RATE, ".v")]
    inputs, outputs = _six(f"{name}.{parent}.dV", ACCELERATION_UNITS), _six(f"{name}.{parent}.W", WRENCH_UNITS)
    for port in ports:
        path = name if port is None else f"{name}.{port}"
        inputs += _six(f"{path}.W", WRENCH_UNITS)
        outputs += _six(f"{path}.dV", ACCELERATION_UNITS)
    inputs += own(Kind.ACCELERATION, ".a")
    outputs += own(Kind.EFFORT, ".tau")
    return states, inputs, outputs


def _six(path: str, units: tuple[str, ...]) -> list[Signal]:
    return [Signal(f"{path}[{k}]", unit) for k, unit in enumerate(units)]
