"""Impacts: velocities jump where closures close or coordinates are locked, by impulses along their constraints.

With the constraints ``J v+ = 0`` of all that is closed behind the impact, and v+ = 0 where coordinates are locked,
``M (v+ - v) = J^T p``: perfectly inelastic (Wittenburg, Dynamics of Multibody Systems, section 6; Carnot's theorem for the
energy). ``v+ = s + F x``, with F the motions that the constraints allow and s one of them, so that ``F^T M (v+ - v) = 0``.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, NamedTuple, TypeVar

import numpy as np

from titop.blocks.basics.errors import Finding, ModelError
from titop.blocks.basics.spatial import Array
from titop.blocks.basics.tolerances import BALANCED, OPEN
from titop.blocks.interactions.springs import CompliantClosure
from titop.graph.network.connections import Joined
from titop.solvers.constraints.assembling import refuse_open
from titop.solvers.constraints.closed_dynamics import closure_pushes, partition_at
from titop.solvers.constraints.interaction_loads import relative_pose
from titop.solvers.constraints.multipliers import Partition, solve
from titop.solvers.mechanism.inputs import PortPush
from titop.solvers.model.mechanism import Mechanism, Resolved
from titop.solvers.signals.grammar import read_names

Model = TypeVar("Model", bound=Resolved)


class Impact(NamedTuple):
    """What an impact does.

    - `v` (nv): the velocities behind it;
    - `impulse`: of each closure that is closed, on its second port, in its frame (6, N s and N m s), as `Model.reaction`; of
      what is locked, along its coordinates (N s or N m s); by name;
    - `lost` (J): kinetic energy that turns into heat.
    """

    v: Array
    impulse: dict[str, Array]
    lost: float


def impact(model: Resolved, q: Any, v: Any, closure: Any, open: Iterable[str] = ()) -> Impact:
    """Return what happens when closures close, or coordinates are locked, all at once: a perfectly inelastic impact.

    Parameters
    ----------
    q : array_like (nq,)
        The ports of what closes meet there.
    v : array_like (nv,)
        The velocities before, which keep all other closures closed.
    closure : str or sequence of str
        Rigid closures of the model, and joints, blocks or coordinates that are locked.
    open : sequence of str
        Other rigid closures that stay open.

    Returns
    -------
    Impact
        Momentum is that of before, to rounding, where nothing holds the system.

    Raises
    ------
    ModelError
        For unknown names, ports that are apart (by how much), and velocities that open other closures.

    Examples
    --------
    >>> import titop as tt
    >>> s = tt.System("rail")
    >>> wagon, truck = tt.RigidBody("wagon", mass=3.0), tt.RigidBody("truck", mass=1.0)
    >>> s.connect("world", wagon, tt.Prismatic("x", axis=[1, 0, 0]))
    >>> s.connect("world", truck, tt.Prismatic("y", axis=[1, 0, 0]))
    >>> s.close_loop(wagon, truck, tt.RigidClosure("hook", redundant=True))
    >>> happened = s.resolve().impact([0, 0], [0, 2], "hook")
    >>> happened.v.tolist(), happened.impulse["hook"][0].item(), happened.lost
    ([0.5, 0.5], -1.5, 1.5)
    """
    mechanism = model.mechanism
    q, v, names, held = (
        mechanism._read_q(q),
        mechanism._read_v("v", v),
        read_names("closure", closure),
        read_names("open", open),
    )
    closing = [name for name in names if name in mechanism.closure_rows]
    locked = [name for name in names if name not in closing]
    mechanism.chosen("closure", locked)  # refuses unknown names
    for name in held:
        if name not in mechanism.closure_rows or name in closing:
            expected, advice = "rigid closures that do not close", f"closures: {', '.join(mechanism.closure_rows) or 'none'}"
            raise ModelError(Finding("unknown-closure", "open", name, expected, advice))
    for name in closing:
        refuse_apart(mechanism, name, q, name)
    before = with_closures(model, dict.fromkeys([*closing, *held]))
    cures = "start from m.assemble(q)", "start with m.assemble_velocity(q, v), or let the others close too"
    refuse_open(before.mechanism, q, v, "open-start", ("q", "v"), cures)
    return struck(with_closures(model, dict.fromkeys(held)).mechanism, q, v, locked)[0]


def struck(
    mechanism: Mechanism, q: Array, v: Array, locked: Iterable[str], imposed: Any = False
) -> tuple[Impact, dict[str, float]]:
    """Return the impact of all closures of a mechanism and of what is `locked`, and the energy (J) that each of them turns
    into heat, by name.

    `imposed` (nv): coordinates whose velocity is prescribed. Raises `ModelError` if these contradict the constraints.
    """
    locks = {name: np.flatnonzero(mechanism.prescribed([name])) for name in locked}
    still = mechanism.prescribed(list(locks))
    jacobian, scale = mechanism.constraints_at(q, v).jacobian, mechanism.scale
    partition = partition_at(mechanism, jacobian, None, still | imposed)
    start = np.where(still, 0.0, v)
    start = start - partition.follow(jacobian @ start)
    motions, mass = partition.motions, mechanism.engine.dynamics.mass_matrix(q)
    after = start + motions @ solve(motions.T @ mass @ motions, motions.T @ (mass @ (v - start)))
    left, terms = (np.abs(np.real(scale.weights * part)) for part in (jacobian @ after, np.abs(jacobian) @ np.abs(v)))
    if left.max(initial=0.0) > BALANCED * terms.max(initial=0.0):
        worst = mechanism.constraint_names[int(left.argmax())]
        got, advice = f"{worst} left changing at {left.max():.3g}", "prescribe less, or lock what moves together"
        raise ModelError(Finding("contradicting-impact", worst, got, "motions that let it close", advice))
    pushed, sizes, dependent = mass @ (after - v), scale.coordinates, partition.dependent
    columns = (jacobian * sizes)[:, dependent].T
    multipliers = Partition.of(columns, sizes=scale.weights).least((sizes * pushed)[dependent])
    efforts, opening = pushed - jacobian.T @ multipliers, jacobian @ v
    at_ports: list[PortPush] = closure_pushes(mechanism, q, multipliers)[1::2]
    impulse = dict(zip(mechanism.closure_rows, (push.wrench for push in at_ports), strict=True))
    impulse |= {name: efforts[k] for name, k in locks.items()}
    losses = {name: (-0.5 * multipliers[rows] @ opening[rows]).item() for name, rows in mechanism.closure_rows.items()}
    losses |= {name: (-0.5 * efforts[k] @ v[k]).item() for name, k in locks.items()}
    return Impact(after, impulse, (0.5 * (after - v) @ pushed).item()), losses


def with_closures(model: Model, closures: Mapping[str, Array | None]) -> Model:
    """Return a model with some rigid closures as they are during a run: open (None), or closed where the errors of their
    constraints had values (k).

    Open ones are springs without stiffness, so that all that their names mean is known, and zero.
    """
    if not closures:
        return model
    assembly = model.mechanism.assembly
    loops = (_switched(loop, closures) for loop in assembly.loops)
    return model._on(model.mechanism.with_assembly(replace(assembly, loops=tuple(loops))))


def _switched(loop: Joined, closures: Mapping[str, Array | None]) -> Joined:
    name = loop.closure.name
    if name not in closures:
        return loop
    if (caught := closures[name]) is None:
        return replace(loop, closure=CompliantClosure(name, np.zeros((6, 6)), np.zeros((6, 6))))
    closure = copy.copy(loop.closure)
    closure.caught = caught
    return replace(loop, closure=closure)


def apart(mechanism: Mechanism, name: str, q: Array) -> tuple[float, float]:
    """Return how far (m, rad) the ports of a rigid closure are apart in its constraints."""
    loop = next(loop for loop in mechanism.rigid_loops if loop.closure.name == name)
    R, r = relative_pose(mechanism, loop, q)
    error, angular = np.real(loop.closure.error(R, r)), loop.closure.is_angular
    angle = np.pi if loop.closure.is_flipped(R) else float(np.linalg.norm(error[angular]))
    return float(np.linalg.norm(error[~angular])), angle


def refuse_apart(mechanism: Mechanism, name: str, q: Array, where: str) -> None:
    """Refuse to close a rigid closure whose ports are apart; `where` is what messages call it."""
    distance, angle = apart(mechanism, name, q)
    if max(distance / mechanism.scale.length, angle) > OPEN:
        got, advice = f"ports {distance:.3g} m and {angle:.3g} rad apart", "a tt.Latch waits until they meet"
        raise ModelError(Finding("ports-apart", where, got, "ports that meet", advice))
