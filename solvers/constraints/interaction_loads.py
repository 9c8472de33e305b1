"""Loads of interactions at a state, on ports and on coordinates, for both engines."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from titop.blocks.basics.errors import Finding, ModelError, refuse
from titop.blocks.basics.spatial import Array, twist_transport
from titop.blocks.basics.tolerances import SAME
from titop.blocks.contract.target_motion import TargetMotion
from titop.blocks.interactions.interaction import Interaction, loads_by_states, motion_among
from titop.blocks.programs.branches import explored
from titop.graph.network.connections import Joined
from titop.solvers.arguments.reading import of_one_state, overflow
from titop.solvers.constraints.closed_mechanism import ClosedMechanism
from titop.solvers.mechanism.inputs import Inputs, PortPush, Push, acting_inputs


def target_motion(mechanism: ClosedMechanism, loop: Joined, q: Array, v: Array, u: Array | None = None) -> TargetMotion:
    """Return the motion of a loop's ports and coordinates; `u` are its inputs with its states behind them, none by default."""
    motions = [mechanism.engine.observations.port_motion(str(ref), q, v, np.zeros(mechanism.nv)) for ref in loop.ports]
    poses = [(motion.rotation, motion.position) for motion in motions]
    places = [mechanism.assembly.place(name) for name in loop.coordinates]
    along, rates = q[[at for at, _ in places]], v[[at for _, at in places]]
    inputs, states = loop.closure.inputs_and_states(u)
    return motion_among(poses, [motion.twist for motion in motions], along, rates, inputs, mechanism.scale.reach, states)


def stated_motions(mechanism: ClosedMechanism, q: Array, v: Array, u: Any) -> Iterator[tuple[Joined, TargetMotion]]:
    """Yield the interactions with first-order states, each with its motion; `u` as `Inputs.whole` takes it."""
    inputs, driving = of_one_state(mechanism.inputs.whole(u)), dict(mechanism.inputs.driving)
    for loop in mechanism.interactions:
        if loop.closure.state_names:
            yield loop, target_motion(mechanism, loop, q, v, inputs[driving[loop.closure.name]])


def target_derivatives(mechanism: ClosedMechanism, loop: Joined, q: Array, v: Array, motion: TargetMotion) -> Array:
    """Return the derivatives of the motion of a loop's targets by coordinates and rates (rows, 2 nv).

    Rows are, like the columns of `load_derivatives`: small twists of all ports but the first, relative to it; twists;
    coordinates; their rates.
    """
    nv, still = mechanism.nv, np.zeros((6, mechanism.nv))
    ports = [str(ref) for ref in loop.ports]
    jacobians, twists = [], []
    for S, by_q, _, _ in mechanism.engine.derivatives.motion(ports, q, v, np.zeros(nv)):
        jacobians.append(S)
        twists.append(np.hstack([by_q, S]))
    places = zip(jacobians[1:], motion.R[1:], motion.r[1:], strict=True)
    relative = [np.hstack([S - twist_transport(R, r) @ jacobians[0], still]) for S, R, r in places]
    along = np.eye(2 * nv)[[mechanism.assembly.place(name)[1] + k for k in (0, nv) for name in loop.coordinates]]
    return np.vstack([*relative, *twists, along])


def efforts_by_states(mechanism: ClosedMechanism, loop: Joined, q: Array, motion: TargetMotion) -> Array:
    """Return the derivatives (nv, k) of an interaction's efforts on all coordinates by its states."""
    by_x, p = loads_by_states(loop.closure, motion), len(loop.ports)
    total = np.zeros((mechanism.nv, by_x.shape[1]))
    for k, ref in enumerate(loop.ports):
        total += mechanism.engine.observations.jacobian(str(ref), q).T @ by_x[6 * k : 6 * k + 6]
    for name, row in zip(loop.coordinates, by_x[6 * p :], strict=True):
        total[mechanism.assembly.place(name)[1]] += row
    return total


def read_rates(interaction: Interaction, motion: TargetMotion) -> Array:
    """Return the rates (k) of an interaction's states.

    Raises `ModelError` if they are not one number for each state, or not finite.
    """
    rates, count = np.asarray(explored(interaction.state_rates, motion)), len(interaction.state_names)
    if rates.shape != (count,):
        where, advice = f"{interaction.name}.state_rates", "return an array, of a number for each name in state_names"
        raise ModelError(Finding("wrong-shape", where, f"shape {rates.shape}", f"shape ({count},)", advice))
    if rates.dtype.kind in "fc" and not np.isfinite(rates).all():
        raise ModelError(overflow())
    return rates


def contacts_of(mechanism: ClosedMechanism) -> dict[str, Joined]:
    """Return the contacts by name."""
    return {loop.closure.name: loop for loop in mechanism.interactions if loop.closure.has_points}


def touch_rows(mechanism: ClosedMechanism, loop: Joined, q: Array, v: Array, u: Array) -> Array:
    """Return gap, force and slip of all spheres or points of a contact; see `ObservationsCore.touches`."""
    contact: Any = loop.closure
    touches = contact.touches(target_motion(mechanism, loop, q, v, u))
    return np.array([[touch.gap, *touch.force, *touch.slip] for touch in touches], float)


def relative_pose(mechanism: ClosedMechanism, loop: Joined, q: Array) -> tuple[Array, Array]:
    """Return rotation (3x3) and position (3, m) of a loop's second port in the frame of its first."""
    motion = target_motion(mechanism, loop, q, np.zeros(mechanism.nv))
    return motion.R[1], motion.r[1]


def interaction_pushes(mechanism: ClosedMechanism, q: Array, v: Array, inputs: Mapping[str, Array]) -> list[PortPush]:
    """Return the wrenches of all interactions on their ports, as pushes; `inputs` are given by the interactions' names."""
    pushes = []
    for loop in mechanism.interactions:
        wrenches, _ = explored(loop.closure.act, target_motion(mechanism, loop, q, v, inputs.get(loop.closure.name)))
        pushes += [PortPush(str(ref), False, wrench) for ref, wrench in zip(loop.ports, wrenches, strict=True)]
    return pushes


def interaction_efforts(mechanism: ClosedMechanism, loop: Joined, q: Array, v: Array, u: Array | None = None) -> Array:
    """Return an interaction's efforts on all coordinates (nv)."""
    wrenches, efforts = explored(loop.closure.act, target_motion(mechanism, loop, q, v, u))
    total = np.zeros(mechanism.nv, np.result_type(wrenches, efforts, float))
    for ref, wrench in zip(loop.ports, wrenches, strict=True):
        total = total + mechanism.engine.observations.jacobian(str(ref), q).T @ wrench
    for name, effort in zip(loop.coordinates, efforts, strict=True):
        total[mechanism.assembly.place(name)[1]] += effort
    return total


def input_efforts(mechanism: ClosedMechanism, q: Array, pushes: Iterable[Push]) -> Any:
    """Return the efforts (nv) of the inputs of interactions among `pushes`; 0.0 without any."""
    inputs, resting = acting_inputs(pushes), np.zeros(mechanism.nv)
    total: Any = 0.0
    for loop in mechanism.interactions:
        if loop.closure.name in inputs:
            driven = interaction_efforts(mechanism, loop, q, resting, inputs[loop.closure.name])
            total = total + driven - interaction_efforts(mechanism, loop, q, resting)
    return total


def write_input_columns(mechanism: ClosedMechanism, inputs: Inputs, q: Array, matrix: Array) -> None:
    """Write the efforts per unit of each input of an interaction into its columns of `matrix` (nv, nu).

    The efforts are linear in the inputs. Inputs are scaled to the efforts without them, so that differences keep their digits.
    """
    loops, resting = {loop.closure.name: loop for loop in mechanism.interactions}, np.zeros(mechanism.nv)
    for name, columns in inputs.acting:
        without = interaction_efforts(mechanism, loops[name], q, resting)
        count, size = columns.stop - columns.start, max(1.0, 2.0 ** np.frexp(np.abs(without).max(initial=0.0))[1])
        for k, unit in enumerate(np.eye(count, count + len(loops[name].closure.state_names)), start=columns.start):
            matrix[:, k] = (interaction_efforts(mechanism, loops[name], q, resting, size * unit) - without) / size


def one_sided_inputs(mechanism: Any) -> list[int]:
    """Return the inputs (indices) of interactions that are ``one_sided``."""
    if not mechanism.inputs.acting:
        return []
    names = {loop.closure.name for loop in mechanism.assembly.loops if getattr(loop.closure, "one_sided", False)}
    return [k for name, columns in mechanism.inputs.acting if name in names for k in range(columns.start, columns.stop)]


def refuse_pushing(mechanism: Any, u: Array | None, t: Array | None = None) -> None:
    """Refuse inputs that leave the range of an interaction that is ``one_sided``.

    Inputs `u` (nu) may be stacked (k, nu), at times `t` (k, s), which messages name. Raises `ModelError`.
    """
    if u is not None:
        refuse(_pushing(mechanism, u, t))


def _pushing(mechanism: Any, u: Array, t: Array | None) -> Iterator[Finding]:
    inputs = mechanism.inputs
    for k in one_sided_inputs(mechanism):
        least, values = inputs.lower[k], np.atleast_2d(u)[:, k]
        worst = int(values.argmin())
        if values[worst] < least - SAME * np.abs(values).max():
            got = f"{values[worst]:.6g} {inputs.units[k]}" + ("" if t is None else f" at t = {t[worst]:.6g} s")
            expected = f"{least:g} {inputs.units[k]} or more: it acts one way only"
            advice = "check the sign; what may also push is made so, where its kind can (push=True, suction=True)"
            yield Finding("one-sided", inputs.names[k], got, expected, advice)
