"""What joins the branches of a tree: interactions as forces, rigid closures and gears as rows of the loop.

Of interactions, what they do to ports and coordinates at the operating point, and by small displacements of these, are
polynomials in their parameters. Closures keep the multipliers that they have at the nominal point; what changes of them is
unknown, and so are the coordinates that follow from the independent ones.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

import numpy as np

from titop.blocks.basics.complex_steps import complex_step
from titop.blocks.basics.errors import Finding, ModelError
from titop.blocks.basics.spatial import Array, rotation_exp, twist_transport
from titop.blocks.basics.tolerances import EXACT, LOOSE_RANK, SAME, TINY
from titop.blocks.contract.target_motion import TargetMotion
from titop.blocks.interactions.interaction import Interaction, all_loads, motion_derivatives, stepping
from titop.graph.network.connections import Joined
from titop.solvers.constraints.closed_mechanism import GearConstraint
from titop.solvers.constraints.interaction_loads import relative_pose, target_motion
from titop.solvers.constraints.multipliers import independent_rows
from titop.solvers.equilibrium.operating_point import OperatingPoint
from titop.solvers.lft.loops import Signals, stack, zeros
from titop.solvers.lft.other_values import ChangedBlock, state_at
from titop.solvers.lft.polynomials import Polynomial, misfit
from titop.solvers.lft.tree_passes import Applied, Changes, NominalState, Tree
from titop.solvers.lft.uncertainty import Uncertainty
from titop.solvers.model.model import Model

#: A normalised value at which numbers of an interaction are compared with those in the middle.
_ELSEWHERE = 0.7


class InteractionSlopes(NamedTuple):
    """An interaction: slopes of its wrenches, efforts, rates of states and readings by ``[xi of each port; V; q; v; u; x]``.

    Inputs are `u` (m), states of the first order x (k).
    """

    joined: Joined
    slopes: Polynomial
    pace: Polynomial | None  #: What both sides are multiplied by: a diagonal matrix.

    def push(self, tree: Tree, changes: Changes, u: Signals) -> tuple[Signals, Signals]:
        """Apply what changes of its wrenches; return that of its efforts (nv), and of the rates of its states (k).

        The inputs of the model, with states behind them, are changed by `u` (nu + nx).
        """
        loop, model = changes.loop, tree.state.model
        ports = [changes.at_port(*tree.place(str(ref))) for ref in self.joined.ports]
        entries = [model.mechanism.assembly.place(name)[1] for name in self.joined.coordinates]
        chosen = np.eye(model.nv)[entries]
        moved = stack(
            *(port.displacement for port in ports), *(port.twist for port in ports), chosen @ changes.q, chosen @ changes.v,
            u[driving_places(model, self.joined)],
        )  # fmt: skip
        loads = self.slopes.apply(loop, moved)
        if self.pace is not None:
            multiplied, loads = loads, loop.columns("?", len(loads))
            loop.require(self.pace.apply(loop, loads) - multiplied)
        for k, ref in enumerate(self.joined.ports):
            changes.push(str(ref), loads[6 * k : 6 * k + 6])
        ends = np.cumsum([6 * len(ports), len(entries), len(self.joined.closure.state_names)]).tolist()
        changes.measured[self.joined.closure.name] = loads[ends[2] :]
        return chosen.T @ loads[ends[0] : ends[1]] if entries else zeros(model.nv), loads[ends[1] : ends[2]]


def driving_places(model: Model, joined: Joined) -> list[int]:
    """Return where the inputs and states of an interaction stand among the model's."""
    where = dict(model.mechanism.inputs.driving).get(joined.closure.name, slice(0))
    return np.arange(model.mechanism.inputs.count)[where].tolist()


def interaction(
    joined: Joined, state: NominalState, u: Array | None, uncertainty: Uncertainty
) -> tuple[InteractionSlopes, list[Applied]]:
    """Return an interaction, and what it applies to ports at the operating point.

    There inputs, with states of the first order behind them, are `u` (nu + nx).

    Raises `ModelError` for parameters in which an interaction is no polynomial, and coordinates and rates on which it depends.
    """
    model, q, v, _ = state
    closure, p = joined.closure, len(joined.ports)
    changing = ChangedBlock(model.mechanism.assembly, closure, _names(joined, uncertainty), uncertainty)
    motion = target_motion(model.mechanism, joined, q, v, None if u is None else np.asarray(u)[driving_places(model, joined)])
    relative, middle = np.zeros((6 * max(p - 1, 0), 6 * p)), closure.denominators()
    for k in range(1, p):
        rows = slice(6 * k - 6, 6 * k)
        relative[rows, :6] = -twist_transport(motion.R[k], motion.r[k])
        relative[rows, 6 * k : 6 * k + 6] = np.eye(6)

    on_world = [k for k, ref in enumerate(joined.ports) if ref.block.name == "world"]  # are not displaced
    held = [6 * (p * part + k) + i for k in on_world for part in range(2) for i in range(6)]

    def loads(values: Mapping[str, float], motion: TargetMotion = motion) -> Array:
        changed = changing.at(values)
        assert isinstance(changed, Interaction)
        step, rest = stepping(changed), np.concatenate([motion.u, motion.x])
        slopes = motion_derivatives(lambda moved: _rows(changed, moved), motion, step)
        driven = step(lambda w: _rows(changed, motion._replace(u=w[: len(motion.u)], x=w[len(motion.u) :])), rest)
        still = _rows(changed, motion)[:, None]
        law = np.hstack([slopes[:, : len(relative)] @ relative, slopes[:, len(relative) :], driven, still])
        law[:, held] = 0.0
        return law if middle is None else pace(values) @ law

    def pace(values: Mapping[str, float]) -> Array:
        return np.diag(np.divide(changing.at(values).denominators(), middle))  # type: ignore[attr-defined]

    vectors = range(0, 12 * p, 3)  # displacements and twists of ports
    for delta, other in _other_motions(state, joined, motion, uncertainty):
        if misfit(loads({}, other), loads({}), vectors) > SAME:
            raise ModelError(_closure_finding(delta, closure.name))
    fitted = changing.polynomial(loads, vectors)
    rest = fitted.columns(slice(-1, None))
    applied = [Applied(str(ref), False, rest.rows(slice(6 * k, 6 * k + 6))) for k, ref in enumerate(joined.ports)]
    varying = None if middle is None or not changing.names else changing.polynomial(pace)
    return InteractionSlopes(joined, fitted.columns(slice(-1)), varying), applied


def _rows(interaction: Interaction, motion: TargetMotion) -> Array:
    """Return all wrenches and efforts of an interaction, the rates of its states, and what it measures."""
    rates = interaction.state_rates(motion) if interaction.state_names else np.zeros(0)
    return np.concatenate(
        [all_loads(interaction, motion), rates, interaction.read(motion) if interaction.readings else rates[:0]]
    )


def _names(joined: Joined, uncertainty: Uncertainty) -> list[str]:
    """Return the uncertain parameters on which an interaction may depend, those of soft bodies along which it runs too."""
    closure = joined.closure
    owners = dict.fromkeys((closure.name, *(block.name for block in closure.own_blocks)))
    return [name for owner in owners for name in uncertainty.of_block(owner)]


def _other_motions(
    state: NominalState, joined: Joined, motion: TargetMotion, uncertainty: Uncertainty
) -> Iterator[tuple[str, TargetMotion]]:
    """Yield what an interaction is told where each uncertain coordinate and rate of the point differs."""
    model, q, v, _ = state
    here = uncertainty.values_at({})
    for each in uncertainty.all:
        there = uncertainty.values_at({each.name: _ELSEWHERE})
        moved = {path: value for path, value in there.items() if value != here[path]}
        q_there, v_there = state_at(model, q, v, moved)
        if (q_there != q).any() or (v_there != v).any():
            yield each.name, target_motion(model.mechanism, joined, q_there, v_there, np.concatenate([motion.u, motion.x]))


class LoopConstraints:
    """Rigid closures and gears at the nominal point, and the multipliers that they keep.

    `a` (nv): accelerations at the point.

    `applied`: what closures apply to ports at the point.
    """

    def __init__(self, point: OperatingPoint, a: Array, uncertainty: Uncertainty) -> None:
        model = point.model
        if not model.mechanism.places.all():
            got, expected = "what rolls, or slides along an edge", "closures that hold displacements"
            raise ModelError(Finding("rolling", model.name, got, expected, "take a family by tt.lpv"))
        if point.v.any() or a.any():
            advice = "in systems with closures or gears, only points at rest are exact: trim it, or use tt.lpv"
            raise ModelError(Finding("moving-closure", "point", "rates or accelerations", "a point at rest", advice))
        self.model, self.q, self.gears = model, point.q, model.mechanism.gear_constraints
        carried = model.mechanism.multipliers(
            point.q, point.v, a, model.mechanism.external_pushes(point.wrenches, point.driving), point.driving, point.tau
        )
        self._loops: list[tuple[Joined, tuple[Array, Array], Array]] = []
        self.applied: list[Applied] = []
        row = 0
        for joined in model.mechanism.rigid_loops:
            multipliers = carried[row : row + len(joined.closure.constraint_names)]
            multipliers = np.where(np.abs(multipliers) > EXACT * max(np.abs(carried).max(initial=0.0), TINY), multipliers, 0.0)
            row += len(multipliers)
            pose = relative_pose(model.mechanism, joined, point.q)
            self._loops.append((joined, pose, multipliers))
            for ref, jacobian in zip(joined.ports, joined.closure.jacobians(*pose), strict=True):
                self.applied.append(Applied(str(ref), False, Polynomial.affine((jacobian.T @ multipliers)[:, None])))
        self._comparable = model.mechanism.scale.comparable(model.closure_jacobian(point.q))
        self._refuse_motion(uncertainty)
        for gear in self.gears:
            for name, (k, _) in zip(gear.gear.factor_parameters, gear.places, strict=True):
                if uncertainty.reaching([where := f"{gear.gear.name}.{name}"]) and point.q[k]:
                    advice = "choose a point at which the coordinate that the factor multiplies is zero"
                    raise ModelError(Finding("moved-closure", where, point.q[k], "coordinates that stay", advice))

    def _refuse_motion(self, uncertainty: Uncertainty) -> None:
        model = self.model
        for name, column in zip(model.coordinate_names, self._comparable.T, strict=True):
            if column.any() and (found := uncertainty.at(f"{name}.v")):
                rows = np.flatnonzero(column)
                raise ModelError(_closure_finding(found.delta, model.constraint_names[rows[0]]))
        for gear in self.gears:
            for _, k in gear.places:
                if found := uncertainty.at(f"{model.coordinate_names[k]}.q"):
                    raise ModelError(_closure_finding(found.delta, gear.gear.name))

    def rows_of(self, tree: Tree, changes: Changes, kind: str) -> Signals:
        """Return the constraints' rows of displacements, twists or accelerations: zero."""
        found, source = [], {"displacement": changes.q, "twist": changes.v, "acceleration": changes.a}[kind]
        turns, still = self.model.mechanism.engine.turning.any() and kind != "displacement", zeros(self.model.nv)
        # where the world turns, ports that rest in it do not: coordinates move them as they displace them
        along = Changes(tree, changes.loop, source, still, still) if turns and self._loops else changes
        for joined, pose, _ in self._loops:
            at = [tree.place(str(ref)) for ref in joined.ports]
            if turns:
                moved = [along.at_port(*place).displacement for place in at]
            elif kind == "acceleration":
                moved = [changes.port_acceleration(*place) for place in at]
            else:
                moved = [getattr(changes.at_port(*place), kind) for place in at]
            first, second = joined.closure.jacobians(*pose)
            found.append(first @ moved[0] + second @ moved[1])
        for gear in self.gears:
            total = zeros(1)
            for k, sign, factor in _factors(tree, gear):
                total += factor.apply(changes.loop, source[k]) * sign
            found.append(total)
        return stack(*found) if found else zeros(0)

    def chosen(self, free: Array) -> Array:
        """Return independent rows, of as many as act on free coordinates."""
        comparable = self._comparable[:, free]
        rank = int(np.linalg.matrix_rank(comparable, rtol=LOOSE_RANK)) if comparable.size else 0
        return independent_rows(comparable, rank, len(self.gears))

    def push(self, tree: Tree, changes: Changes, multipliers: Signals) -> Signals:
        """Apply the closures with changed multipliers, noted as `changes.closing`; return the gears' efforts (nv)."""
        row, total = 0, zeros(tree.state.model.nv)
        for joined, pose, kept in self._loops:
            multiplier = multipliers[row : row + len(kept)]
            row += len(kept)
            R, r = pose
            ports = [changes.at_port(*tree.place(str(ref))).displacement for ref in joined.ports]
            moved = ports[1] - twist_transport(R, r) @ ports[0]
            for k, ref in enumerate(joined.ports):
                wrench = joined.closure.jacobians(R, r)[k].T @ multiplier
                if kept.any():
                    wrench += _wrench_slopes(joined, pose, kept, k) @ moved
                changes.push(str(ref), wrench)
            changes.closing[joined.closure.name] = wrench
        for gear in self.gears:
            multiplier = multipliers[row]
            row += 1
            for k, sign, factor in _factors(tree, gear):
                total += np.eye(len(total))[:, [k]] @ factor.apply(changes.loop, multiplier) * sign
        return total


def _factors(tree: Tree, gear: GearConstraint) -> Iterator[tuple[int, float, Polynomial]]:
    """Yield the place of each coordinate of a gear in v, and its factor as a sign and what may be uncertain."""
    for name, factor, (_, k) in zip(gear.gear.factor_parameters, gear.factors, gear.places, strict=True):
        sign = -1.0 if name == "ratio" else 1.0
        yield k, sign, tree.uncertainty.vector([f"{gear.gear.name}.{name}"], np.array([sign * factor])).column()


def _wrench_slopes(joined: Joined, pose: tuple[Array, Array], kept: Array, k: int) -> Array:
    R, r = pose
    return complex_step(lambda x: joined.closure.jacobians(R @ rotation_exp(x[3:]), r + R @ x[:3])[k].T @ kept, np.zeros(6))


def refuse_uncertain_pose(tree: Tree, joined: Joined) -> None:
    """Refuse ports whose pose in each other is uncertain. Raises `ModelError` naming a delta."""
    ways = [tree.way(*tree.place(str(ref))) for ref in joined.ports]
    for way in ways[1:]:
        common = 0
        while common < min(len(way), len(ways[0])) and way[common] is ways[0][common]:
            common += 1
        for step in (*ways[0][common:], *way[common:]):
            for delta in step.deltas:
                raise ModelError(_closure_finding(delta, joined.closure.name))


def _closure_finding(delta: str, name: str) -> Finding:
    """Return that a closure, a gear or an interaction does not stay as it is for all values of a delta."""
    expected = "parameters that move no port or coordinate of a closure, gear or interaction against the other"
    advice = f"{name}: the loop would close elsewhere: use tt.lpv, or keep it fixed"
    return Finding("moved-closure", "parameters", delta, expected, advice)
