"""Observations of the compiled engine at checked states: motion of ports, energy, efforts, multipliers; first-order states."""

from __future__ import annotations

from functools import cached_property, partial
from typing import Any

import numpy as np

from titop.blocks.basics.spatial import Array
from titop.blocks.contract.applied import gravity_energy, has_weight, is_acted_on, moves_fluid, weight_energy
from titop.blocks.contract.block import overrides_method
from titop.blocks.contract.description import mass_and_moment
from titop.blocks.interactions.soft_tendon import SoftPath
from titop.graph.network.connections import Joined
from titop.solvers.arguments.reading import of_one_state
from titop.solvers.arguments.rowwise import Stack
from titop.solvers.constraints.engine_interface import StateDerivatives
from titop.solvers.constraints.interaction_loads import touch_rows
from titop.solvers.engines.compiled.acted_on import Bound
from titop.solvers.engines.compiled.compiled_readings import IDENTITY
from titop.solvers.engines.compiled.function_kernels import CompiledCalls
from titop.solvers.engines.compiled.law_kinds import run_line
from titop.solvers.engines.compiled.law_tables import touches_stage
from titop.solvers.engines.compiled.packed import PackedSystem, interaction_rows
from titop.solvers.engines.compiled.tables import GeneralBlock
from titop.solvers.kernels.entries import observation_entries, state_entries
from titop.solvers.kernels.interface import layout
from titop.solvers.mechanism.inputs import Push
from titop.solvers.mechanism.kernel_calls import real_only
from titop.solvers.mechanism.port_motion import PortMotion
from titop.solvers.model.mechanism import Mechanism
from titop.solvers.native.callbacks import raise_pending


class CompiledObservations:
    """The observations of the compiled engine; see `ObservationsCore` for its functions."""

    def __init__(self, mechanism: Mechanism, system: PackedSystem, calls: CompiledCalls) -> None:
        self._mechanism, self._system, self._calls, self._nv = mechanism, system, calls, mechanism.nv

    def _asked(self, kernel: Any, size: tuple[int, ...], q: Array, *rates: Array) -> Array:
        result = np.empty(size)
        self._system.raise_for(kernel(real_only(q, "q"), *(real_only(x, "v") for x in rates), result))
        return result

    def port_motion(self, port: str, q: Array, v: Array, a: Array) -> PortMotion:
        motion = self._asked(self._calls.at_ports[port].motion, (1, 24), q, v, a)[0]
        return PortMotion(motion[:9].reshape(3, 3), motion[9:12], motion[12:18], motion[18:])

    def jacobian(self, port: str, q: Array) -> Array:
        return self._asked(self._calls.at_ports[port].jacobian, (6, self._nv), q)

    def joint_wrench(self, joint: str, q: Array, v: Array, a: Array, pushes: list[Push]) -> Array:
        return self._calls.readings.reactions[joint].under(pushes, q, v, a)

    def passive_efforts(self, q: Array, v: Array) -> Array:
        efforts, parts = self._asked(self._calls.efforts.passive.call, (self._nv,), q, v), self._calls.efforts
        for general in parts.answering:
            efforts[general.v] += general.block.passive_efforts(q[general.q], v[general.v])
        return efforts + self._applied_efforts(q, v) if parts.applied_in_python else efforts

    def _applied_efforts(self, q: Array, v: Array) -> Array:
        """Return the efforts (nv) that blocks apply in Python: see `Block.applied_efforts`."""
        efforts, (_, work, world) = np.zeros(self._nv), observed(self._system, q, v)
        for general in self._system.tables.general:
            if is_acted_on(general.block):
                at, twist = world[general.element], work[general.element, layout.TWIST : layout.TWIST + 6]
                applied = general.block.applied_efforts(q[general.q], v[general.v], twist, at[:9].reshape(3, 3), at[9:])
                kernel = partial(self._system.bound(observation_entries.port_jacobian), general.element, -1, IDENTITY, False)
                efforts += self._asked(kernel, (6, self._nv), q).T @ applied[:6]
                efforts[general.v] += applied[6:]
        return efforts

    def actuation_matrix(self, q: Array) -> Array:
        inputs = self._mechanism.inputs
        matrix = self._asked(self._calls.efforts.actuation.call, (len(inputs.names), self._nv), q).T
        for block, in_q, in_v, columns in inputs.own:
            matrix[in_v, columns] = block.input_matrix(q[in_q])
        return matrix

    def energy(self, q: Array, v: Array) -> tuple[Any, Any, Any]:
        energies, _, world = observed(self._system, real_only(q, "q"), real_only(v, "v"))
        kinetic, gravity, elastic = energies.tolist()
        field = self._mechanism.engine.gravity
        for general in surrounded(self._system):
            block, at = general.block, world[general.element]
            place = q[general.q], at[:9].reshape(3, 3), at[9:]
            elastic += float(block.applied_energy(*place))
            if overrides_method(block, "weight"):
                inertial = gravity_energy(*mass_and_moment(block.mass_matrix(place[0])), *place[1:], field)
                gravity += float(weight_energy(block, *place, field) - inertial)
            elif has_weight(block):
                gravity -= float(gravity_energy(*mass_and_moment(block.weightless_inertia(place[0])), *place[1:], field))
        return kinetic, gravity, elastic

    def touches(self, loop: Joined, q: Array, v: Array, u: Array) -> Array:
        stage = touches_stage(loop.closure)
        if stage is None:
            return touch_rows(self._mechanism, loop, q, v, u)
        system, name = self._system, loop.closure.name
        ints, floats, numbers, stages = system.all_tables
        numbers = numbers.copy()
        numbers[0, system.acting_inputs[name]] = u
        kernel = system.kernel(observation_entries.touches)
        asked = partial(kernel, interaction_rows(system)[name], stage.address, ints, floats, numbers, stages)
        return self._asked(asked, (len(loop.closure.point_names), layout.TOUCH_SIZE), q, v)

    def momentum(self, q: Array, v: Array) -> Array:
        return self._asked(self._calls.momentum, (6,), q, v)

    def mass_center(self, q: Array) -> Array:
        kernel = self._system.bound(observation_entries.center_of_mass)
        center, wet = self._asked(kernel, (4,), q), self._moving_fluid
        if not wet:
            return center
        _, _, world = observed(self._system, q, np.zeros(self._nv))
        mass, moment = center[3], center[3] * center[:3]
        for general in wet:
            fluid, first = mass_and_moment(general.block.added_inertia(q[general.q]))
            at = world[general.element]
            mass, moment = mass - fluid, moment - fluid * at[9:] - at[:9].reshape(3, 3) @ first
        with np.errstate(invalid="ignore", divide="ignore"):  # a system without mass has no centre
            return np.append(np.divide(moment, mass), mass)

    @cached_property
    def _moving_fluid(self) -> list[GeneralBlock]:
        return [general for general in self._system.tables.general if moves_fluid(general.block)]

    def regressors(self, own: bool, names: tuple[str, ...], q: Array, v: Array, a: Array) -> Array:
        size = len(q), len(self._mechanism.inertial.asked(own, names)), self._nv
        return self._asked(self._calls.regressors[own, names].at_stack, size, q, v, a)

    def along_line(self, line: Any, q: Array) -> tuple[Any, Array]:
        path = line.path
        return path.measured(q, run_line) if isinstance(path, SoftPath) else path.measured(q)

    def line_curvature(self, line: Any, q: Array) -> Array:
        path = line.path
        return path.hessian(q, run_line) if isinstance(path, SoftPath) else np.asarray(path.hessian(q))

    def multipliers(self, q: Array, v: Array, a: Array, pushes: list[Push], applied: Array | None) -> Array:
        return self._calls.readings.multipliers(q, v, a, pushes, applied)


def observed(system: PackedSystem, q: Array, v: Array) -> tuple[Array, Array, Array]:
    """Return kinetic, gravity's and elastic energy (3); work rows with twists; the poses of all elements."""
    elements = len(system.tables.constants)
    work, world, result = np.empty((elements, layout.INVERSE_COLUMNS)), np.empty((elements, 12)), np.empty(3)
    system.raise_for(system.bound(observation_entries.observed)(q, v, work, world, result))
    return result, work, world


def surrounded(system: PackedSystem) -> list[GeneralBlock]:
    """Return the blocks with applied efforts or energy other than gravity on their inertia."""
    blocks = system.tables.general
    return [each for each in blocks if is_acted_on(each.block) or overrides_method(each.block, "applied_energy")]


class CompiledStates:
    """The first-order states of the compiled engine; see `StatesCore` for its functions."""

    def __init__(self, mechanism: Mechanism, system: PackedSystem, calls: CompiledCalls) -> None:
        self._mechanism, self._system, self._calls = mechanism, system, calls

    def rates(self, q: Array, v: Array, u: Array) -> Array:
        rates = np.empty((*q.shape[:-1], len(self._mechanism.inputs.state_names)))
        if rates.size:
            self._ask(Bound.of(self._system, state_entries.state_rates), q, v, u, rates)
        return rates

    def slopes(self, q: Array, v: Array, u: Array) -> tuple[StateDerivatives, Array]:
        system, nv, nx, rows = self._system, self._mechanism.nv, len(self._mechanism.inputs.state_names), q.shape[:-1]
        by_state, efforts = np.zeros((*rows, 2 * nx, nv)), np.empty((*rows, nx, nv))
        by_w = np.zeros((*rows, nx, self._mechanism.inputs.count))
        if by_w.size:
            driven = np.empty((*rows, nx, len(self._columns)))
            slopes = Bound.of(system, state_entries.state_slopes, system.inertial.ints, behind=(system.tables.paths,))
            self._ask(slopes, q, v, u, by_state, driven, efforts)
            by_w[..., self._columns] = driven
        by_u, by_x = np.split(by_w, [len(self._mechanism.inputs.names)], axis=-1)
        return StateDerivatives(by_state[..., :nx, :], by_state[..., nx:, :], by_u, by_x), efforts.swapaxes(-1, -2)

    def _ask(self, bound: Bound, q: Array, v: Array, u: Array, *results: Array) -> None:
        """Let a kernel write its results at a state, or at stacked ones."""
        arrays = real_only(q, "q"), real_only(v, "v"), *results
        if q.ndim == 2:
            stack = Stack(arrays[:2], None, u)
            status = self._calls.run_stacked(bound, lambda rows: tuple([part[rows] for part in arrays]), stack)
        else:
            status = bound.on(self._driven(u))(*arrays)
        self._system.raise_for(status)

    def following(self, q: Array, v: Array, u: Array, begun: Array, guess: Array, half: float) -> tuple[Array, Array]:
        x, inverse = guess.copy(), np.zeros((len(guess),) * 2)
        status = state_entries.follow_states(half, *self._driven(u), q, v, begun, x, inverse)
        if status != layout.OK:
            raise_pending()
            x[:] = np.nan
        return x, inverse

    @cached_property
    def _columns(self) -> Array:
        """Indices of the inputs and states of interactions with states among all, in the order of the kernel's."""
        inputs, driving = self._mechanism.inputs, dict(self._mechanism.inputs.driving)
        return np.concatenate([np.arange(inputs.count)[driving[name]] for name, _ in inputs.states])

    def _driven(self, u: Array) -> tuple[Array, Array, Array, Array]:
        """Return the tables, with inputs and states."""
        ints, floats, numbers, addresses = self._system.all_tables
        numbers, u = numbers.copy(), real_only(of_one_state(u), "u")
        for name, columns in self._mechanism.inputs.driving:
            numbers[0, self._system.acting_inputs[name]] = u[columns]
        return ints, floats, numbers, addresses
