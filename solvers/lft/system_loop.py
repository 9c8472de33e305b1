"""The loop of a whole system: states, inputs and unknowns as columns, blocks and joints between them, outputs as rows.

Most outputs are exact in what is uncertain; how others are read is taken as in the middle of all ranges, and then compared.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from titop.blocks.basics.errors import Finding, ModelError
from titop.blocks.basics.paths import entry_of, owner_of
from titop.blocks.basics.spatial import Array
from titop.blocks.devices.actuators import PortActuator
from titop.blocks.devices.device import FilterKind
from titop.blocks.devices.first_order_states import PathStates
from titop.solvers.equilibrium.operating_point import OperatingPoint
from titop.solvers.lft.block_laws import CONVECTIVE
from titop.solvers.lft.fractions import Fractional, close_deltas
from titop.solvers.lft.joining import LoopConstraints, interaction, refuse_uncertain_pose
from titop.solvers.lft.loops import LinearLoop, Signals, stack, zeros
from titop.solvers.lft.other_values import ChangedBlock, accelerations_at, inputs_of, state_at
from titop.solvers.lft.polynomials import Polynomial
from titop.solvers.lft.steps import Change
from titop.solvers.lft.tree_passes import Applied, Changes, NominalState, Tree
from titop.solvers.lft.uncertainty import Uncertainty, gains_of
from titop.solvers.linear.linear_equations import Places, displace
from titop.solvers.linear.linearize import read_ends
from titop.solvers.mechanism.port_motion import motion_of_port
from titop.solvers.model.closures import reduction
from titop.solvers.model.model import Model
from titop.solvers.signals.quantities import Kind, Quantity
from titop.solvers.signals.snapshot import Snapshot, SnapshotChanges
from titop.solvers.signals.system_inputs import SystemInputs
from titop.solvers.signals.values import derivative_of

#: So many random members tell whether outputs need the rates of a displacement.
_LOOKED_AT = 4


class SystemLoop:
    """The loop of a system about an operating point; the last arguments are those of `linearize`.

    - `ends`: what the names of inputs, outputs and states stand for;
    - `a` (nv): accelerations at the point, which all members share;
    - `states`: entries of ``[dq; dv; dx]``, those of displaced coordinates among them;
    - `left`: those that are states of the model: without these;
    - `frozen`: outputs that are read as in the middle of all ranges: exact only if how they are read is certain.
    """

    def __init__(
        self, point: OperatingPoint, uncertainty: Uncertainty, inputs: Any, outputs: Any, omit: Any, hold: Any, independent: Any
    ) -> None:
        self.point, self.uncertainty = point, uncertainty
        middle = uncertainty.values_at({})
        model = uncertainty.model_at(middle)
        q, v = state_at(point.model, point.q, point.v, middle)
        self.ends = read_ends(model, lambda: (q, v, point.residual + point.a, np.zeros(model.nu)), inputs, outputs, omit, hold)
        self.a = accelerations_at(point, self.ends.inputs)
        self.constraints = LoopConstraints(point, self.a, uncertainty) if model.is_constrained else None
        state = NominalState(model, q, v, self.a)
        self.acting, applied = [], []
        filtering = [joined.closure for joined in model.mechanism.interactions if _is_filter(joined.closure)]
        self.filters = [Filter(model, closure, uncertainty) for closure in filtering]  # type: ignore[arg-type]
        for filtered in self.filters:
            applied += filtered.applied_at(point, uncertainty)
        for joined in model.mechanism.interactions:
            if _is_filter(joined.closure):
                continue
            acting, loads = interaction(joined, state, point.driving, uncertainty)
            self.acting.append(acting)
            applied += loads
        applied += applied_at(point, uncertainty) + ([] if self.constraints is None else self.constraints.applied)
        acting = point.model.mechanism.inputs
        pushes = acting.own_pushes(inputs_of(point)) if acting.own else []
        driven = {push.block.name: push.derivatives(point.q) for push in pushes}
        self.tree = Tree(state, applied, driven, uncertainty)
        for joined in model.mechanism.assembly.loops:
            if not _is_filter(joined.closure):
                refuse_uncertain_pose(self.tree, joined)
        self.loop, self.model = LinearLoop(), model
        reduced = reduction(model, q, v, self.ends.inputs.held, independent)
        count = len(reduced.states) // 2
        self.states = np.concatenate([reduced.states, 2 * model.nv + np.arange(model.nx)])
        self._build(self.states[:count])

    def fraction(self, reduce: bool = False) -> Fractional:
        """Return the loop with its unknowns solved for, in all that is uncertain, then 1/s.

        Channels that nothing reaches or shows are left out if asked for, before.
        """
        deltas = [uncertain.name for uncertain in self.uncertainty.all]
        model = self.loop.fraction(deltas, self._rates, self._outputs, reduce)
        return self._displace(model) if self.ends.inputs.displaced else model

    @property
    def left(self) -> Array:
        """Entries of ``[dq; dv; dx]`` that are states of the model: displaced coordinates are none."""
        displaced = [*self.ends.inputs.displaced]
        return self.states[~np.isin(self.states, [*displaced, *(self.model.nv + k for k in displaced)])]

    def _displace(self, model: Fractional) -> Fractional:
        """Return the model with displacements in the place of accelerations: see `titop.solvers.linear.linear_equations`.

        What their accelerations and rates do at once follows from copies of all channels, those of each one after the other.

        Raises `ModelError` for outputs of any member that need the rates of a displacement.
        """
        rng, count = np.random.default_rng(3), len(model.sizes) - 1
        for values in (np.zeros(count), *rng.uniform(-1.0, 1.0, (_LOOKED_AT, count))):
            member = [part[None] for part in close_deltas(model, [*values.tolist(), None])[:4]]
            displace(self.model, member, self.states, self.ends.inputs, self.ends.output_signals)
        at = Places.of(self.model, self.states, self.ends.inputs)
        n, nu, x = sum(model.sizes[:-1]), model.B.shape[1], len(at.others)
        turning = at.turning(model.A[None, n:, n:])[0]
        columns = np.eye(3 * n + x + nu)
        copies, states, inputs = columns[: 3 * n].reshape(3, n, -1), columns[3 * n : 3 * n + x], columns[3 * n + x :]
        displacements = inputs[at.columns]
        driven, follows = [], np.zeros((x, len(columns)))
        for k, of_displaced in enumerate(((None, None), (None, displacements), (displacements, turning @ displacements))):
            given = np.zeros((n + len(self.states) + nu, len(columns)))
            given[:n] = copies[k]
            given[n + at.others] = follows + (states if k == 2 else 0.0)
            for places, value in zip((at.q, at.v), of_displaced, strict=True):
                given[n + places] = 0.0 if value is None else value
            if k == 2:
                given[n + len(self.states) :] = inputs
            given[n + len(self.states) + at.columns] = (displacements, turning @ displacements, 0.0)[k]
            rows = np.block([[model.A, model.B], [model.C, model.D]]) @ given
            driven.append(rows[:n])
            follows = rows[n + at.others]
        order = np.argsort(np.tile(np.repeat(np.arange(count), model.sizes[:-1]), 3), kind="stable")
        everything = np.vstack([np.concatenate(driven)[order], follows, rows[n + len(self.states) :]])
        everything[:, : 3 * n] = everything[:, order]
        end = 3 * n + x
        sizes = *(3 * size for size in model.sizes[:-1]), x
        return Fractional(everything[:end, :end], everything[:end, end:], everything[end:, :end], everything[end:, end:], sizes)

    def _build(self, independent: Array) -> None:
        model, loop, inputs, nv = self.model, self.loop, self.ends.inputs, self.model.nv
        free = np.flatnonzero(~inputs.held)
        others = np.eye(nv)[:, np.setdiff1d(free, independent)]
        states, n = loop.columns("x", 2 * len(independent) + model.nx), len(independent)
        spread = np.eye(nv)[:, independent]
        mechanical = states[:n], states[n : 2 * n]
        q, v = (spread @ changes + others @ loop.columns("?", others.shape[1]) for changes in mechanical)
        paths = ([signal.path for signal in signals] for signals in (inputs.signals, self.ends.output_signals))
        of_inputs, of_outputs = gains_of(self.uncertainty.paths(), *paths)
        external = self._scale(loop.columns("u", len(inputs.named)), of_inputs)
        driven = stack(external, states[2 * n :])  # channels: what is named, then states of the first order
        solved_for = np.flatnonzero(~inputs.prescribed)
        a = inputs.motions @ driven + np.eye(nv)[:, solved_for] @ loop.columns("?", len(solved_for))
        changes = Changes(self.tree, loop, q, v, a)
        for push in self.tree.applied:
            changes.hold(push)
        self._push(changes, driven)
        joined, own_rates = self._join(changes, solved_for, driven)
        for filtered in self.filters:
            joined += filtered.push(changes, self._whole @ driven, self.uncertainty)
        changes.inwards()
        applied = inputs.applied @ driven
        needed = changes.efforts - self._input_efforts(driven) - joined
        loop.require((needed - applied)[solved_for])
        mask = np.diag(inputs.prescribed.astype(float))
        moving = SystemChanges(q, v, a, mask @ needed + (np.eye(nv) - mask) @ applied, driven, states[2 * n :], changes)
        rates_q = v - model.mechanism.bracket(self.tree.state.v) @ q
        own_rates += [filtered.rates(moving, self._whole @ driven, inputs) for filtered in self.filters]
        rates_v = a - model.mechanism.bracket(self.point.a) @ q
        self._rates = stack(rates_q[independent], rates_v[independent], *own_rates)
        readings = [_read(moving, group.of, group.derivatives) for group in self.ends.outputs]
        frozen = (group for group, (_, exact) in zip(self.ends.outputs, readings, strict=True) if not exact)
        self.frozen = tuple(signal.path for group in frozen for signal in group.signals)
        self._outputs = self._scale(stack(*(signal for signal, _ in readings)), of_outputs)

    def _join(self, changes: Changes, solved_for: Array, driven: Signals) -> tuple[Signals, list[Signals]]:
        """Apply interactions and closures; return their efforts (nv) on coordinates, and how their states change.

        Closures' rows join the loop.
        """
        total, rates = zeros(self.model.nv), list[Signals]()
        for acting in self.acting:
            efforts, own_rates = acting.push(self.tree, changes, self._whole @ driven)
            total += efforts
            rates.append(own_rates)
        if self.constraints is None:
            return total, rates
        free = np.flatnonzero(~self.ends.inputs.held)
        for kind, acted_on in (("displacement", free), ("twist", free), ("acceleration", solved_for)):
            rows = self.constraints.chosen(acted_on)
            self.loop.require(self.constraints.rows_of(self.tree, changes, kind)[rows])
        count = len(self.model.constraint_names)
        multipliers = np.eye(count)[:, rows] @ self.loop.columns("?", len(rows))
        total += self.constraints.push(self.tree, changes, multipliers)
        if len(rows) < count:
            changes.closing.clear()  # redundant closures share what they carry in a way that parameters change
        return total, rates

    @property
    def _whole(self) -> Array:
        channels = self.ends.inputs.channels
        chosen = np.zeros((self.model.nu + self.model.nx, len(channels)))
        for k, channel in enumerate(channels):
            if channel.kind == Kind.INPUT:
                chosen[channel.entry, k] = 1.0
        return chosen

    def _scale(self, signals: Signals, gains: Sequence[str | None]) -> Signals:
        scaled = [signals[k] for k in range(len(signals))]
        for k, name in enumerate(gains):
            if name is not None:
                scaled[k] = self.uncertainty.vector([name], np.ones(1)).column().apply(self.loop, scaled[k])
        return stack(*scaled)

    def _push(self, changes: Changes, driven: Signals) -> None:
        places, units = self.model.mechanism.inputs, np.eye(6)
        wrenches = wrenches_at_places(self.model, self.uncertainty)
        for k, channel in enumerate(self.ends.inputs.named):
            if channel.kind == Kind.WRENCH:
                changes.push(channel.port, units[:, [channel.entry]] @ driven[k])
            elif channel.kind == Kind.INPUT:
                for place, wrench, column in zip(places.places, wrenches, places.columns, strict=True):
                    if column == channel.entry:
                        changes.push(place.port, wrench.apply(changes.loop, driven[k]), place.inertial)

    def _input_efforts(self, driven: Signals) -> Signals:
        model, q = self.model, self.tree.state.q
        matrix = model.mechanism.inputs.motors.copy()
        for block, at_q, at_v, columns in model.mechanism.inputs.own:
            matrix[at_v, columns] = block.input_matrix(q[at_q])
        total = zeros(model.nv)
        for k, channel in enumerate(self.ends.inputs.named):
            if channel.kind == Kind.INPUT:
                name = model.input_names[channel.entry] if channel.entry < model.nu else ""
                total += matrix[:, [channel.entry]] @ driven[k] + self._gear(name, channel.entry, driven[k])
        return total

    def _gear(self, name: str, entry: int, driven: Signals) -> Signals:
        along = (self.model.mechanism.inputs.motors[:, entry] != 0).astype(float)[:, None]
        return along @ self.uncertainty.beyond(f"{name}.gear").apply(self.loop, driven)


def _is_filter(closure: Any) -> bool:
    return isinstance(closure, PathStates) and closure.device.filter_law[0] != FilterKind.DIPOLE


def idle_filters(model: Model) -> list[Any]:
    """Return the filters whose states and inputs at the point do not matter to linear models: those of motors and sensors."""
    closures = [joined.closure for joined in model.mechanism.interactions]
    acting = FilterKind.WRENCH, FilterKind.WRENCH_IN_WORLD
    return [each for each in closures if _is_filter(each) and each.device.filter_law[0] not in acting]


class Filter:
    """The filter of an actuator or a sensor, in series with the system: ``T dx/dt = T (A x + B u)``, ``y = C x + D u``.

    T is diagonal, of lags the time constant over that in the middle of its range, else one: so all is polynomial in parameters.
    States of accelerometers' filters are x itself, not x minus ``B V`` as in `PathStates`.

    Raises `ModelError` for parameters that are not to be fitted.
    """

    def __init__(self, model: Model, closure: PathStates, uncertainty: Uncertainty) -> None:
        self._model, self._device, self._matrices = model, closure.device, closure.matrices
        self._law, self._pace = Polynomial.affine(np.hstack(self._matrices[:2])), Polynomial.affine(np.eye(0))
        if names := [name for name in uncertainty.of_block(self._device.name) if entry_of(name).startswith("path.")]:
            changing = ChangedBlock(model.mechanism.assembly, self._device, names, uncertainty)
            law = changing.polynomial(lambda values: _filter_law(changing.at(values), self._device))
            last = -len(self._matrices[0])
            self._law, self._pace = law.columns(slice(last)), law.columns(slice(last, None))
        inputs = model.mechanism.inputs
        first, states = len(inputs.names), dict(inputs.states)[closure.name]
        self._x = np.arange(first + states.start, first + states.stop)
        self._u = [inputs.place_of[name] for name in closure.input_names]

    def applied_at(self, point: OperatingPoint, uncertainty: Uncertainty) -> list[Applied]:
        """Return the wrenches of an actuator at the point."""
        kind = self._device.filter_law[0]
        if kind not in (FilterKind.WRENCH, FilterKind.WRENCH_IN_WORLD):
            return []
        (_, _, C, D), whole = self._matrices, np.asarray(self._model.mechanism.inputs.whole(point.u, point.x))
        levels = uncertainty.vector([f"{self._model.input_names[k]}.u" for k in self._u], whole[self._u])
        own, still = wrenches_of(self._model, self._device, uncertainty), C @ whole[self._x]
        wrenches = [own.transform(lambda columns: (columns @ still)[:, None])]
        for k in range(len(D)):
            wrenches.append(levels.transform(lambda u, k=k: D[k : k + 1] @ u).times(own.columns(slice(k, k + 1))))  # type: ignore[misc]
        return [Applied(str(self._device.filter_ports[-1]), kind == FilterKind.WRENCH_IN_WORLD, each) for each in wrenches]

    def push(self, changes: Changes, whole: Signals, uncertainty: Uncertainty) -> Signals:
        """Apply what an actuator does by inputs and states; return its efforts (nv)."""
        efforts = zeros(self._model.nv)
        if not self._u:
            return efforts
        (_, _, C, D), (kind, own) = self._matrices, self._device.filter_law
        values = C @ whole[self._x] + D @ whole[self._u]
        if kind == FilterKind.EFFORT:
            along = np.eye(self._model.nv)[:, [self._model.mechanism.assembly.place(self._device.filter_coordinates[0])[1]]]
            return along @ (values * own + uncertainty.beyond(f"{self._device.name}.gear").apply(changes.loop, values))
        port, wrenches = str(self._device.filter_ports[-1]), wrenches_of(self._model, self._device, uncertainty)
        changes.push(port, wrenches.apply(changes.loop, values), kind == FilterKind.WRENCH_IN_WORLD)
        return efforts

    def rates(self, moving: SystemChanges, whole: Signals, inputs: SystemInputs) -> Signals:
        """Return how the states change."""
        loop = moving.changes.loop
        driven = self._law.apply(loop, stack(whole[self._x], whole[self._u] if self._u else self._received(moving, inputs)))
        if self._pace.is_constant:
            return driven
        rates = loop.columns("?", len(driven))
        loop.require(self._pace.apply(loop, rates) - driven)
        return rates

    def _received(self, moving: SystemChanges, inputs: SystemInputs) -> Signals:
        device, kind = self._device, self._device.filter_law[0]
        if kind == FilterKind.OBSERVED:
            signals = self._model.mechanism.sensor_signals
            of = next(each.filtering for each in signals if each.owner == device.name and each.filtering is not None).measured
            return _read(moving, of, partial(derivative_of, of=of, inputs=inputs))[0]
        if kind in (FilterKind.POSITION, FilterKind.RATE):
            place = [self._model.mechanism.assembly.place(device.filter_coordinates[0])[1]]
            return moving.q[place] if kind == FilterKind.POSITION else moving.v[place]
        port = moving.changes.at_port(*moving.changes.tree.place(str(device.filter_ports[-1])))
        if kind == FilterKind.ANGULAR_VELOCITY:
            return port.twist[3:]
        return port.acceleration[:3] + CONVECTIVE @ port.products


def _filter_law(device: Any, middle: Any) -> Array:
    """Return ``[T A, T B, T]`` of the filter in a device's path: T has its time constants over those of the `middle` one."""
    count = len(device.channels)
    (A, B, *_), T = device.path.law(count), np.diag(np.divide(device.path.paces(count), middle.path.paces(count)))
    return np.hstack([T @ A, T @ B, T])


def applied_at(point: OperatingPoint, uncertainty: Uncertainty) -> list[Applied]:
    """Return the wrenches that act on ports at the point: loads, external ones and those of actuators."""
    model = point.model
    found = []
    for load in model.mechanism.assembly.loads:
        names = [f"{load.name}.{part}.{axis}" for part in ("force", "torque") for axis in "xyz"]
        wrench = uncertainty.vector(names, np.concatenate([load.force, load.torque]))
        found.append(Applied(str(load.target), load.frame == "world", wrench.column()))
    found += [
        Applied(port, False, Polynomial.affine(np.asarray(wrench)[:, None])) for port, wrench in (point.wrenches or {}).items()
    ]
    inputs = model.mechanism.inputs
    nominal = inputs_of(point)
    for place, wrench, k in zip(inputs.places, wrenches_at_places(model, uncertainty), inputs.columns.tolist(), strict=True):
        level = uncertainty.vector([f"{model.input_names[k]}.u"], nominal[[k]])
        if level.constant.any() or not level.is_constant:
            found.append(Applied(place.port, place.inertial, level.times(wrench)))
    return found


def wrenches_at_places(model: Model, uncertainty: Uncertainty) -> list[Polynomial]:
    """Return the wrench (6, 1) per unit of an input at each place of the model's inputs."""
    acting = [each for each in model.mechanism.assembly.actuators if isinstance(each, PortActuator) and not each.is_attached]
    whole = [(wrenches_of(model, each, uncertainty), len(each.inputs)) for each in acting]
    return [wrenches.columns(slice(k, k + 1)) for wrenches, count in whole for k in range(count)]


def wrenches_of(model: Model, actuator: Any, uncertainty: Uncertainty) -> Polynomial:
    """Return the wrenches (6, k) of an actuator per unit of each input."""
    names = [name for name in uncertainty.of_block(actuator.name) if not entry_of(name).startswith("path.")]
    changing = ChangedBlock(model.mechanism.assembly, actuator, names, uncertainty)
    return changing.polynomial(lambda values: changing.at(values).wrenches.T)  # type: ignore[attr-defined]


# -- outputs -----------------------------------------------------------------------------------------------------------------


class SystemChanges(NamedTuple):
    """Signals of the whole system.

    `q`, `v`, `a`, `tau` (nv): changes of coordinates, rates, accelerations and applied efforts; `inputs`: with states of the
    first order behind them; `x` (nx): these states.
    """

    q: Signals
    v: Signals
    a: Signals
    tau: Signals
    inputs: Signals
    x: Signals
    changes: Changes

    def at(self, of: Quantity) -> Change:
        """Return the changes at a port."""
        return self.changes.at_port(*self.changes.tree.place(of.owner))


class _Slopes(SnapshotChanges):
    """What outputs' derivatives are asked of, by ``[dq; dv; da; dtau; inputs]``: `sizes` of these."""

    def __init__(self, *sizes: int) -> None:
        super().__init__()
        self.q, self.v, self.a, self.tau, self.inputs = np.split(np.eye(sum(sizes)), np.cumsum(sizes[:-1]))


def _read(moving: SystemChanges, of: Quantity | None, derivatives: Callable[[Any, Any], Array]) -> tuple[Signals, bool]:
    """Return the signals of an output, and whether they are exact; `of` is None for functions, which have no quantity."""
    model, q, v, a = moving.changes.tree.state
    if of is not None and of.kind in READINGS and (signals := READINGS[of.kind](moving, of)) is not None:
        measured = of if of.filtering is None else of.filtering.measured
        return signals[list(of.entries)], measured.kind != Kind.OBSERVATION
    tau = model.inverse_dynamics(q, v, a) if model.mechanism.is_tree else np.zeros(model.nv)
    at = Snapshot(model, q, v, a, tau, None, None, q)
    slopes = np.asarray(derivatives(at, _Slopes(*[model.nv] * 4, len(moving.inputs))))
    return slopes @ stack(moving.q, moving.v, moving.a, moving.tau, moving.inputs), False


def _position(moving: SystemChanges, of: Quantity) -> Signals | None:
    """Return the change of a position in inertial axes; None where angles are asked for as well."""
    if max(of.entries) >= 3:
        return None
    tree, position = moving.changes.tree, moving.at(of).displacement[:3]
    for step in reversed(tree.way(*tree.place(of.owner))):
        position = step.vector(moving.changes.loop, position, back=True)
    return position


def _reaction(moving: SystemChanges, of: Quantity) -> Signals | None:
    """Return the change of the wrench that a joint transmits to its child, or a closure to its second port.

    None of interactions, and of closures that share what they carry.
    """
    tree = moving.changes.tree
    if of.owner not in tree.index:
        return moving.changes.closing.get(of.owner)
    joint = tree.index[of.owner]
    return moving.changes.carried[next(k for k, node in enumerate(tree.nodes) if node.parent == joint)]


def _momentum(moving: SystemChanges, of: Quantity) -> Signals | None:
    """Return the change of a wheel's momentum; None where its inertia may be uncertain."""
    tree = moving.changes.tree
    wheel = tree.state.model.mechanism.assembly.connection_of_joint[owner_of(of.owner)].child.block.name
    return None if tree.uncertainty.of_block(wheel) else moving.v * of.factor


def _specific_force(moving: SystemChanges, of: Quantity) -> Signals | None:
    """Return the change of ``a + w x v``, accelerations less gravity's; None in a field of gravity, which must be certain."""
    tree = moving.changes.tree
    if (field := tree.state.model.mechanism.assembly.field) is not None:
        if names := tree.uncertainty.of_block(field.name):
            expected, advice = f"no specific force where {', '.join(names)} is uncertain", "leave it out, or keep these fixed"
            raise ModelError(Finding("inexact-output", "outputs", f"the specific force at {of.owner}", expected, advice))
        return None
    return moving.at(of).acceleration[:3] + CONVECTIVE @ moving.at(of).products


def _filtered(moving: SystemChanges, of: Quantity) -> Signals | None:
    """Return the change of a filtered measurement; None where one of its parts may be uncertain."""
    assert of.filtering is not None
    measured, place, C, terms = of.filtering
    received = READINGS.get(measured.kind)
    if measured.kind != Kind.CONFIGURATION and (received is None or received(moving, measured) is None):
        return None
    total, tree = C @ moving.x[place], moving.changes.tree
    for quantity, matrix in terms:
        if measured.kind == Kind.SPECIFIC_FORCE and quantity.kind == Kind.TWIST:
            continue  # see `Filter`
        read = READINGS.get(quantity.kind)
        signals = None if read is None else read(moving, quantity)
        if signals is None:
            return None
        total += matrix @ signals[list(quantity.entries)]
    assembly, names = tree.state.model.mechanism.assembly, tree.uncertainty.of_block(of.owner)
    changing = ChangedBlock(assembly, assembly.blocks[of.owner], names, tree.uncertainty)
    if not names or not changing.block.path.is_scaled:  # type: ignore[attr-defined]
        return total
    scaling = partial(_scaling, changing=changing, middle=np.linalg.inv(_scaling({}, changing, np.eye(len(C)))))
    return changing.polynomial(scaling).apply(moving.changes.loop, total)


def _scaling(values: Mapping[str, float], changing: Any, middle: Array) -> Array:
    """Return what scale factors and misalignment of a sensor make of what they make in the middle, a matrix (n, n)."""
    return np.asarray(changing.at(values).path.scaling(len(middle)) @ middle)


def _observed(moving: SystemChanges, of: Quantity) -> Signals:
    """Return the change of what a sensor says of its port, exact where the port's pose and twist at the point are certain."""
    tree, port = moving.changes.tree, str(of.sensor.target)
    model, q, v, _ = tree.state
    slopes: Array = of.sensor.observed_slopes(*motion_of_port(model.mechanism, port, q, v, np.zeros(model.nv))[:3])
    change = moving.changes.at_port(*tree.place(port))
    return slopes @ stack(change.displacement, change.twist)


#: From signals of the system and a quantity to the signals of all entries of the quantity's vector.
READINGS: dict[Kind, Callable[[SystemChanges, Quantity], Signals | None]] = {
    Kind.POSITION: lambda moving, of: moving.q,
    Kind.RATE: lambda moving, of: moving.v,
    Kind.ACCELERATION: lambda moving, of: moving.a,
    Kind.EFFORT: lambda moving, of: moving.tau,
    Kind.OWN_STATE: lambda moving, of: moving.x,
    Kind.MOMENTUM: _momentum,
    Kind.TWIST: lambda moving, of: moving.at(of).twist,
    Kind.PORT_ACCELERATION: lambda moving, of: moving.changes.port_acceleration(*moving.changes.tree.place(of.owner)),
    Kind.SPECIFIC_FORCE: _specific_force,
    Kind.POSE: _position,
    Kind.REACTION: _reaction,
    Kind.READING: lambda moving, of: moving.changes.measured[of.owner],
    Kind.READING_AT_ONCE: lambda moving, of: moving.changes.measured[of.owner],
    Kind.OBSERVATION: _observed,
    Kind.FILTERED: _filtered,
    Kind.FILTERED_AT_ONCE: _filtered,
}
