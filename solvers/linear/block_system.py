"""A block's own linear TITOP model: accelerations and wrenches exchanged at its ports.

About an operating point, with ``xi`` the small displacement of the parent port P, ``B = [Ad(g)^-1 S]`` of a child port C, and
W_C the wrench that the block applies there::

    d(xi)/dt = V - ad(V0) xi                       dV/dt = A_P                        (as small changes)
    [W_P; tau] = M [A_P - G; a] + h(q, v, V_P) - [0; passive] + sum_C B^T W_C
    A_C = Ad(g)^-1 A_P + S a + gamma

Motions are imposed on the block and wrenches returned, its own coordinates included; `invert_channels` turns that round.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from titop.blocks.basics.complex_steps import complex_step
from titop.blocks.basics.errors import Finding, ModelError, did_you_mean
from titop.blocks.basics.spatial import Array, skew, twist_cross, twist_transport
from titop.blocks.contract.applied import BlockMotion, derivatives_at, is_acted_on
from titop.blocks.contract.block import PARENT_PORT, Block
from titop.blocks.contract.block_law import current_form
from titop.solvers.constraints.closed_dynamics import closure_pushes
from titop.solvers.constraints.interaction_loads import interaction_pushes
from titop.solvers.engines.reference.engine import reference_passes
from titop.solvers.engines.reference.passes import Node, Passes, State
from titop.solvers.equilibrium.operating_point import read_point
from titop.solvers.linear.state_space import named_system
from titop.solvers.mechanism.inputs import acting_inputs, own_pushes, port_pushes
from titop.solvers.signals.exported import Signal, signals_of
from titop.solvers.signals.quantities import Kind, Quantity
from titop.solvers.signals.units import ACCELERATION_UNITS, DISPLACEMENT_UNITS, TWIST_UNITS, WRENCH_UNITS

if TYPE_CHECKING:
    from control import StateSpace

    from titop.solvers.model.model import Model


class PortState(NamedTuple):
    """A child port at the operating point.

    Attributes
    ----------
    onto, subspace : (6, 6), (6, n) arrays
        ``Ad(g)^-1`` and S.
    bends : (n, 6, n) array
        dS/dq.
    rate_by_q, rate_by_v : (6, n) arrays
        Derivatives of ``dS/dt v``.
    wrench : (6,) array
        That the block applies there, less external ones.
    turning : (6,) array
        External wrench that keeps its inertial direction.
    """

    onto: Array
    subspace: Array
    bends: Array
    rate_by_q: Array
    rate_by_v: Array
    wrench: Array
    turning: Array


def block_system(model: Model, point: Any, name: str) -> StateSpace:
    """Return the linear TITOP model of one block about an operating point of the system.

    Inputs are the acceleration of the parent port ``arm.P.dV``, the wrench that is applied to the block at each child port
    ``arm.C.W``, and the accelerations of own coordinates ``hinge.a``; outputs the wrench that the block applies to its parent
    ``arm.P.W``, the accelerations of child ports ``arm.C.dV`` and the efforts ``hinge.tau`` (key A's ``W_{A/.,P}`` and
    ``W_{./A,C}``). Each block integrates twist and displacement of its parent port: a chain of them has states more than once.
    Of closures, the ports are child ports like the others; the wrenches that they carry at the point act there.

    Parameters
    ----------
    model : Model
    point : OperatingPoint, (q, v, tau), (q, v) or q
    name : str
        A body, or a joint. The parent port is the port of the parent on which the block hangs, with its frame; child ports are
        all others.

    Returns
    -------
    control.StateSpace

    Raises
    ------
    ModelError
        For unknown names.

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
    # the resolver knows the interactions' wrenches, the ports do not
    pushes += interaction_pushes(at.model.mechanism, at.q, at.v, acting_inputs(pushes))
    node, state = reference.nodes[k], states[k]
    own = at.q[node.q], at.v[node.v], at.residual[node.v]
    exchanged = _child_ports(reference, node)
    others = [None, *(port for port in node.block.ports if port not in exchanged)]
    ports, loaded = ([_port(reference, states, k, port, own, pushes) for port in names] for names in (exchanged, others))
    driven = sum(push.derivatives(at.q) for push in own_pushes(pushes) if push.v == node.v)
    law = _law_derivatives(node.block, *own, state, driven, reference.assembly.gravity)
    matrices = _matrices(node, state, ports, loaded, own, law, state.rotation.T @ reference.assembly.gravity)
    return named_system(matrices, *_signals(at.model, node, exchanged), name)


def _child_ports(reference: Passes, node: Node) -> list[str]:
    """Return the names of a block's ports without the one on which it hangs."""
    hangs = next((c.child.name for c in reference.assembly.connections if c.child.block.name == node.block.name), None)
    return [port for port in node.block.ports if port != hangs]


def _port(reference: Passes, states: list[State], k: int, port: str | None, own: Any, pushes: Any) -> PortState:
    node, (q, v, _), n = reference.nodes[k], own, reference.nodes[k].block.nv
    block = node.block
    pose: tuple[Array, Array] = (np.eye(3), np.zeros(3))
    subspace, derivatives = np.zeros((6, n)), (np.zeros((n, 6, n)), np.zeros((6, n)), np.zeros((6, n)))
    if port in block.ports:
        pose = block.pose(port, q)
        if n:
            subspace, derivatives = block.motion_subspace(port, q), current_form(block, "subspace_slopes")(port, q, v)
    wrench = np.zeros(6)
    for child, state in zip(reference.nodes, states, strict=True):
        if child.parent == k and child.port == port:
            wrench += twist_transport(*child.mount).T @ (state.MA @ state.A + state.pA)
    path = block.name if port is None else f"{block.name}.{port}"
    external, turning = _external(reference, path, states[k].rotation @ pose[0], pushes)
    return PortState(twist_transport(*pose), subspace, *derivatives, wrench - external, turning)


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


def _matrices(
    node: Node, state: State, ports: list[PortState], loaded: list[PortState], own: Any, law_slopes: Any, gravity: Array
) -> tuple[Array, Array, Array, Array]:
    """Return A, B, C and D, computed in the block's own frame and moved to the parent's port at the end.

    `ports` exchange wrenches and accelerations, `loaded` ones carry loads alone.
    """
    block, (_, v, a), n = node.block, own, node.block.nv
    width = 12 + 2 * n + 6 + 6 * len(ports) + n  # of z = [xi, V, q, v; A_P, W of each port, a]
    z = np.eye(width)
    edges = np.cumsum([6, 6, n, n, 6, *([6] * len(ports))])
    xi, twist, dq, dv, acceleration, *wrenches, da = np.split(z, edges)
    weightless = acceleration.copy()
    weightless[:3] -= skew(gravity) @ xi[3:]
    by_q, by_v, by_twist, by_displacement = law_slopes
    law = state.M @ np.vstack([weightless, da]) + by_q @ dq + by_v @ dv + by_twist @ twist + by_displacement @ xi
    outputs = []
    own_acceleration = state.A + np.concatenate([gravity, np.zeros(3)])
    for port in (*ports, *loaded):
        turned = _turning_wrench(port.turning, port.onto @ xi + port.subspace @ dq)
        law += np.hstack([port.onto, port.subspace]).T @ turned + _transport_derivatives(port, port.wrench) @ dq
    for port, applied in zip(ports, wrenches, strict=True):
        law -= np.hstack([port.onto, port.subspace]).T @ applied
        outputs.append(_port_acceleration(port, state.V, own_acceleration, (v, a), (acceleration, da), (twist, dq, dv)))
    bracket = twist_cross(state.V)
    rates = [twist - bracket @ xi, acceleration, dv - block.bracket(v) @ dq, da]
    transport = twist_transport(*node.mount)
    rows, result = np.vstack(rates), np.vstack([-transport.T @ law[:6], *outputs, law[6:]])
    # states and acceleration of P as those of the parent's port
    change = np.eye(width)
    for start in (0, 6, 12 + 2 * n):
        change[start : start + 6, start : start + 6] = transport
    rows, result = rows @ change, result @ change
    back = np.linalg.inv(transport)
    rows[:6], rows[6:12] = back @ rows[:6], back @ rows[6:12]
    x = 12 + 2 * n
    return rows[:, :x], rows[:, x:], result[:, :x], result[:, x:]


def _law_derivatives(block: Block, q: Array, v: Array, a: Array, state: State, driven: Any, gravity: Array) -> list[Array]:
    """Return the derivatives of the block's law by q, v, and the parent port's twist and displacement.

    `driven` are those of its inputs' efforts. Gravity on the inertia is left out of the last.
    """
    if block.nv:
        by_q, by_v, by_twist = current_form(block, "law_slopes")(q, v, state.V, np.concatenate([state.A, a]))
        by_q = np.vstack([by_q[:6], by_q[6:] - driven])
    else:
        by_q, by_v, by_twist = *np.zeros((2, 6, 0)), complex_step(lambda twist: block.gyroscopic(q, v, twist), state.V)
    derivatives = [by_q, by_v, by_twist, np.zeros((6 + block.nv, 6))]
    if is_acted_on(block):
        acting = derivatives_at(block, BlockMotion(q, v, state.V, state.rotation, state.position), gravity)
        derivatives = [derivative - part for derivative, part in zip(derivatives, acting, strict=True)]
    return derivatives


def _transport_derivatives(port: PortState, wrench: Array) -> Array:
    """Return the derivative (6 + n, n) of ``B^T W`` by q, W constant."""
    columns = []
    for j in range(port.subspace.shape[1]):
        turned = -twist_cross(port.subspace[:, j]) @ port.onto
        columns.append(np.concatenate([turned.T @ wrench, port.bends[j].T @ wrench]))
    return np.array(columns).reshape(len(columns), 6 + len(columns)).T


def _turning_wrench(wrench: Array, moved: Array) -> Array:
    """Return the change of minus an external wrench of inertial direction, in the port's frame, when the port moves."""
    return -np.vstack([skew(wrench[:3]) @ moved[3:], skew(wrench[3:]) @ moved[3:]])


def _port_acceleration(port: PortState, V: Array, A: Array, own: Any, accelerations: Any, changes: Any) -> Array:
    """Return the change of ``A_C = Ad(g)^-1 A_P + S a + dS/dt v + ad(V_C) S v``."""
    (v, a), (dA, da), (twist, dq, dv) = own, accelerations, changes
    relative = port.subspace @ v
    at_child = twist_cross(port.onto @ V + relative)
    bent_v = np.moveaxis(port.bends, 0, -1).transpose(0, 2, 1) @ v if len(v) else np.zeros((6, 0))
    bent_a = np.moveaxis(port.bends, 0, -1).transpose(0, 2, 1) @ a if len(a) else np.zeros((6, 0))
    carried_A = np.array([-twist_cross(s) @ port.onto @ A for s in port.subspace.T]).reshape(-1, 6).T
    carried_V = np.array([-twist_cross(s) @ port.onto @ V for s in port.subspace.T]).reshape(-1, 6).T
    twist_change = port.onto @ twist + (carried_V + bent_v) @ dq + port.subspace @ dv
    relative_change = bent_v @ dq + port.subspace @ dv
    gamma = port.rate_by_q @ dq + port.rate_by_v @ dv - twist_cross(relative) @ twist_change + at_child @ relative_change
    result: Array = port.onto @ dA + port.subspace @ da + (carried_A + bent_a) @ dq + gamma
    return result


def _signals(model: Model, node: Node, ports: list[str]) -> tuple[list[Signal], list[Signal], list[Signal]]:
    name, parent = node.block.name, PARENT_PORT if PARENT_PORT not in ports else "parent"
    entries = tuple(range(node.v.start, node.v.stop))

    def own(kind: Kind, suffix: str) -> tuple[Signal, ...]:
        paths = tuple(model.coordinate_names[k] + suffix for k in entries)
        return signals_of(model, Quantity(kind, name, entries, paths))

    states = _six(f"{name}.{parent}.xi", DISPLACEMENT_UNITS) + _six(f"{name}.{parent}.V", TWIST_UNITS)
    states += [*own(Kind.POSITION, ".q"), *own(Kind.RATE, ".v")]
    inputs, outputs = _six(f"{name}.{parent}.dV", ACCELERATION_UNITS), _six(f"{name}.{parent}.W", WRENCH_UNITS)
    for port in ports:
        inputs += _six(f"{name}.{port}.W", WRENCH_UNITS)
        outputs += _six(f"{name}.{port}.dV", ACCELERATION_UNITS)
    inputs += own(Kind.ACCELERATION, ".a")
    outputs += own(Kind.EFFORT, ".tau")
    return states, inputs, outputs


def _six(path: str, units: tuple[str, ...]) -> list[Signal]:
    return [Signal(f"{path}[{k}]", unit) for k, unit in enumerate(units)]
