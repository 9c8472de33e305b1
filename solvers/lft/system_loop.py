"""The loop of a whole system: states, inputs and unknowns as columns, blocks and joints between them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from titop.blocks.basics.spatial import Array
from titop.solvers.equilibrium.operating_point import OperatingPoint
from titop.solvers.lft.fractions import Fractional
from titop.solvers.lft.joining import Constraints, interaction, refuse_uncertain_pose
from titop.solvers.lft.labels import gains_of
from titop.solvers.lft.loops import LinearLoop, Rows, stack, zeros
from titop.solvers.lft.operating_points import accelerations_at, inputs_of, state_at
from titop.solvers.lft.passes import Applied, Changes, NominalState, Tree
from titop.solvers.lft.polynomials import Polynomial
from titop.solvers.lft.readings import Moving, apply_gains, output_groups, read
from titop.solvers.lft.uncertainty import Uncertainty
from titop.solvers.model.reduction import reduction
from titop.solvers.signals.grammar import read_names
from titop.solvers.signals.quantities import Kind
from titop.solvers.signals.system_inputs import SystemInputs


class SystemLoop:
    """The loop of a system about an operating point.

    Parameters
    ----------
    point : OperatingPoint
    uncertainty : Uncertainty
    inputs, outputs, hold, independent
        As in `linearize`.

    Attributes
    ----------
    a : (nv,) array
        Accelerations at the point, which all members share.
    states : int array
        Entries of ``[dq; dv; dx]``.
    inputs, outputs : tuple of Signal
        Paths and units.
    frozen : tuple of str
        Outputs that are read as in the middle of all ranges: exact only if how they are read is certain.
    """

    def __init__(
        self, point: OperatingPoint, uncertainty: Uncertainty, inputs: Any, outputs: Any, hold: Any, independent: Any
    ) -> None:
        self.point, self.uncertainty = point, uncertainty
        middle = uncertainty.values_at({})
        model = uncertainty.model_at(middle)
        self.system_inputs = SystemInputs(model, inputs, hold)
        self.a = accelerations_at(point, self.system_inputs)
        q, v = state_at(point.model, point.q, point.v, middle)
        self.constraints = Constraints(point, self.a, uncertainty) if model.is_constrained else None
        state = NominalState(model, q, v, self.a)
        self.acting, applied = [], []
        for joined in model.interactions:
            acting, loads = interaction(joined, state, point.driving, uncertainty)
            self.acting.append(acting)
            applied += loads
        applied += applied_at(point, uncertainty) + ([] if self.constraints is None else self.constraints.applied)
        pushes = point.model.inputs.own_pushes(inputs_of(point))
        driven = {push.block.name: push.derivatives(point.q) for push in pushes}
        self.tree = Tree(state, applied, driven, uncertainty)
        for joined in model.assembly.loops:
            refuse_uncertain_pose(self.tree, joined)
        self.loop, self.model = LinearLoop(), model
        reduced = reduction(model, q, v, self.system_inputs.held, independent)
        count = len(reduced.states) // 2
        self.states = np.concatenate([reduced.states, 2 * model.nv + np.arange(model.nx)])
        self._build(self.states[:count], read_names("outputs", outputs))

    def fraction(self, reduce: bool = False) -> Fractional:
        """Return the loop with its unknowns solved for, in all that is uncertain, then 1/s.

        Channels that nothing reaches or shows are left out if asked for, before.
        """
        deltas = [uncertain.name for uncertain in self.uncertainty.all]
        return self.loop.fraction(deltas, self._rates, self._outputs, reduce)

    def _build(self, independent: Array, outputs: Sequence[Any]) -> None:
        model, loop, inputs, nv = self.model, self.loop, self.system_inputs, self.model.nv
        free = np.flatnonzero(~inputs.held)
        others = np.eye(nv)[:, np.setdiff1d(free, independent)]
        states, n = loop.columns("x", 2 * len(independent) + model.nx), len(independent)
        spread = np.eye(nv)[:, independent]
        mechanical = states[:n], states[n : 2 * n]
        q, v = (spread @ own + others @ loop.columns("?", others.shape[1]) for own in mechanical)
        given = loop.columns("u", len(inputs.channels))
        of_inputs, of_outputs = gains_of(
            self.uncertainty.paths(),
            [signal.path for signal in inputs.signals],
            [signal.path for group in output_groups(self.tree, outputs, inputs) for signal in group.signals],
        )
        driven = apply_gains(loop, given, self._gains(of_inputs))
        solved_for = np.flatnonzero(~inputs.prescribed)
        a = inputs.motions @ driven + np.eye(nv)[:, solved_for] @ loop.columns("?", len(solved_for))
        changes = Changes(self.tree, loop, q, v, a)
        for push in self.tree.applied:
            changes.hold(push)
        self._push(changes, driven)
        joined, own_rates = self._join(changes, solved_for, driven, states[2 * n :])
        changes.inwards()
        applied = inputs.applied @ driven
        needed = changes.efforts - self._own_efforts(driven) - joined
        loop.require((needed - applied)[solved_for])
        mask = np.diag(inputs.prescribed.astype(float))
        moving = Moving(q, v, a, mask @ needed + (np.eye(nv) - mask) @ applied, driven, states[2 * n :], changes)
        rates_q = v - model.bracket(self.tree.state.v) @ q
        self._rates = stack(rates_q[independent], a[independent], *own_rates)
        found = [read(self.tree, moving, output, inputs) for output in outputs]
        self.frozen = tuple(signal.path for group, _, exact in found if not exact for signal in group.signals)
        self.inputs = inputs.signals
        self.outputs = tuple(signal for group, _, _ in found for signal in group.signals)
        read_out = stack(*(signal for _, signal, _ in found)) if found else zeros(0)
        self._outputs = apply_gains(loop, read_out, self._gains(of_outputs))

    def _join(self, changes: Changes, solved_for: Array, driven: Rows, x: Rows) -> tuple[Rows, list[Rows]]:
        """Apply interactions and closures; return their efforts (nv) on coordinates, and how their states `x` change.

        Closures' rows join the loop.
        """
        total, channels = zeros(self.model.nv), self.system_inputs.channels
        rates: list[Rows] = []
        chosen = np.zeros((self.model.nu, len(channels)))
        for k, channel in enumerate(channels):
            if channel.kind == Kind.INPUT:
                chosen[channel.entry, k] = 1.0
        for acting in self.acting:
            efforts, own_rates = acting.push(self.tree, changes, stack(chosen @ driven, x))
            total += efforts
            rates.append(own_rates)
        if self.constraints is None:
            return total, rates
        free = np.flatnonzero(~self.system_inputs.held)
        for kind, acted_on in (("displacement", free), ("twist", free), ("acceleration", solved_for)):
            rows = self.constraints.chosen(acted_on)
            self.loop.require(self.constraints.rows_of(self.tree, changes, kind)[rows])
        count = len(self.model.constraint_names)
        multipliers = np.eye(count)[:, rows] @ self.loop.columns("?", len(rows))
        total += self.constraints.push(self.tree, changes, multipliers)
        if len(rows) < count:
            changes.closing.clear()  # redundant closures share what they carry in a way that parameters change
        return total, rates

    def _gains(self, names: Sequence[str | None]) -> list[Polynomial | None]:
        """Return the uncertain gains of inputs or outputs by name, None where they are certain."""
        return [None if name is None else self.uncertainty.vector([name], np.ones(1)).column() for name in names]

    def _push(self, changes: Changes, driven: Rows) -> None:
        """Apply the inputs that are wrenches at ports."""
        inputs, places = self.system_inputs, self.model.inputs
        units = np.eye(6)
        for k, channel in enumerate(inputs.channels):
            if channel.kind == Kind.WRENCH:
                changes.push(channel.port, units[:, [channel.entry]] @ driven[k])
            elif channel.kind == Kind.INPUT:
                for place, wrench, column in zip(places.places, places.units_at_places, places.columns, strict=True):
                    if column == channel.entry:
                        changes.push(place.port, wrench[:, None] @ driven[k], place.inertial)

    def _own_efforts(self, driven: Rows) -> Rows:
        """Return what inputs do along the coordinates themselves: motors, and blocks' own."""
        model, q = self.model, self.tree.state.q
        matrix = model.inputs.motors.copy()
        for block, at_q, at_v, columns in model.inputs.own:
            matrix[at_v, columns] = block.input_matrix(q[at_q])
        total = zeros(model.nv)
        for k, channel in enumerate(self.system_inputs.channels):
            if channel.kind == Kind.INPUT:
                total += matrix[:, [channel.entry]] @ driven[k] + self._geared(channel.signal.path, channel.entry, driven[k])
        return total

    def _geared(self, name: str, entry: int, driven: Rows) -> Rows:
        """Return what the uncertain part of a motor's gear adds."""
        found = self.uncertainty.at(f"{name}.gear")
        if found is None:
            return zeros(self.model.nv)
        along = (self.model.inputs.motors[:, entry] != 0).astype(float)[:, None]
        return along @ self.loop.times(found[0].name, driven * found[1].half)


def applied_at(point: OperatingPoint, uncertainty: Uncertainty) -> list[Applied]:
    """Return the wrenches that act on ports at the point: loads, external ones and those of actuators."""
    model = point.model
    found = []
    for load in model.assembly.loads:
        names = [f"{load.name}.{part}.{axis}" for part in ("force", "torque") for axis in "xyz"]
        wrench = uncertainty.vector(names, np.concatenate([load.force, load.torque]))
        found.append(Applied(str(load.target), load.frame == "world", wrench.column()))
    found += [
        Applied(port, False, Polynomial.affine(np.asarray(wrench)[:, None])) for port, wrench in (point.wrenches or {}).items()
    ]
    inputs = model.inputs
    nominal = inputs_of(point)
    for place, unit, k in zip(inputs.places, inputs.units_at_places, inputs.columns.tolist(), strict=True):
        level = uncertainty.vector([f"{model.input_names[k]}.u"], nominal[[k]])
        if level.constant.any() or not level.is_constant:
            found.append(Applied(place.port, place.inertial, level.mapped(lambda u, unit=unit: (u * unit)[:, None])))  # type: ignore[misc]
    return found
