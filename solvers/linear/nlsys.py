"""Systems as nonlinear input-output systems of python-control, with exact linearisations."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from titop.blocks.basics.complex_steps import complex_step
from titop.blocks.basics.errors import Finding, ModelError, warn
from titop.blocks.basics.spatial import Array
from titop.graph.network.assembly import refuse_unsteady
from titop.solvers.arguments.reading import read_state
from titop.solvers.constraints.closed_dynamics import rank_of_free
from titop.solvers.equilibrium.operating_point import OperatingPoint, read_point
from titop.solvers.linear.independent_states import Follower, IndependentStates
from titop.solvers.linear.linear_equations import motions, with_first_order_states
from titop.solvers.linear.path_series import refuse_paths
from titop.solvers.linear.state_space import named_system
from titop.solvers.linear.system_outputs import read_outputs, state_of
from titop.solvers.mechanism.inputs import WrenchPlace
from titop.solvers.model.closures import Reduction, reduction
from titop.solvers.model.model import Model
from titop.solvers.model.parameters import changed_model
from titop.solvers.model.prepared import PreparedDynamics
from titop.solvers.signals.exported import exported_name, state_signals, table_of
from titop.solvers.signals.quantities import DYNAMIC, Kind
from titop.solvers.signals.snapshot import Snapshot, SnapshotDerivatives
from titop.solvers.signals.system_inputs import SystemInputs
from titop.solvers.signals.values import JoinedValues

if TYPE_CHECKING:
    from control import NonlinearIOSystem, StateSpace


def nonlinear_system(
    model: Model, inputs: Any, outputs: Any = None, point: Any = None, independent: Any = None
) -> NonlinearIOSystem:
    """Return a model as a system of python-control; see `Model.to_nlsys`."""
    warn(refuse_unsteady(model.mechanism.assembly))
    at = read_point(model, model.assemble(model.neutral()) if point is None else point)
    return _system_of(SystemFunctions(at.of(model), inputs, outputs, independent))


class ActingState(NamedTuple):
    """A state with what acts on it: a model's arguments, as they are; and the dynamics, at whose places the wrenches act."""

    model: Model
    dynamics: PreparedDynamics
    q: Array
    v: Array
    a: Array
    tau: Array
    inputs: Array
    ports: dict[str, Array]

    @property
    def driving(self) -> Array | None:
        """Inputs, with states of the first order behind them; None where they do nothing."""
        return self.inputs if self.inputs.any() else None

    @property
    def wrenches(self) -> dict[str, Array] | None:
        """Wrenches by port, None for none."""
        return self.ports or None


class SystemFunctions:
    """A model between inputs and outputs, as a function of ``x = [displacements; rates; states of the first order]``.

    Arguments are those of `linearize`; no outputs stand for all states.

    `origin` (nq): from which displacements are measured: the point's configuration where quaternions are, elsewhere zero.
    """

    def __init__(self, point: OperatingPoint, inputs: Any, outputs: Any, independent: Any = None) -> None:
        self.point, self.model = point, point.model
        self.system_inputs = SystemInputs(self.model, inputs, states=True)
        for k in self.system_inputs.displaced:
            name = self.model.coordinate_names[k]
            got, expected = f"{name}.q", "inputs that no nonlinear system has to differentiate"
            raise ModelError(Finding("improper", "inputs", got, expected, f"take {name}.a, or linearize: it takes {name}.q"))
        self.origin = self._origin()
        self._chosen = np.arange(self.model.nv)
        self._independent: IndependentStates | None = None
        if self.model.is_constrained or independent is not None:
            self._independent = IndependentStates(point, self.origin, independent)
            self._chosen = self._independent.chosen
        self._in_rate = self._entries_of_rates()
        states = state_signals(self.model)
        self._in_x = slice(2 * len(self._chosen), None)
        mechanical = tuple(states[k] for k in (*self._chosen, *(self.model.nv + self._chosen)))
        self.states = (*mechanical, *states[2 * self.model.nv :])
        if outputs is None:
            outputs = [signal.path for signal in self.states]
        self.system_outputs = read_outputs(self.model, outputs, self.system_inputs, state_of(point))
        groups = self.system_inputs.signals, (signal for group in self.system_outputs for signal in group.signals)
        refuse_paths(self.model, [signal.path for signals in groups for signal in signals])
        self._is_dynamic = any(group.of is None or group.of.kind in DYNAMIC for group in self.system_outputs)
        self._names = tuple(signal.path for signal in self.states), tuple(signal.path for signal in self.system_inputs.signals)
        self._ports, self._resting, self._targets = self._acting_at_rest()
        self._places = [*(WrenchPlace(port, False) for port in self._ports), *self.model.mechanism.inputs.places]
        self._at_inputs = slice(2 * self.model.nv, 2 * self.model.nv + self.model.nu)
        self._kept = threading.local()  # the places' wrenches are those of one state

    def __getstate__(self) -> dict[str, Any]:
        """Leave out what threads keep for themselves."""
        return {name: value for name, value in vars(self).items() if name != "_kept"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, _kept=threading.local())

    def _acting_at_rest(self) -> tuple[tuple[str, ...], Array, Array]:
        """Return ports on which wrenches act; all that acts, ``[a; tau; u; wrenches]``; and where in it the inputs stand."""
        point, nv, nu = self.point, self.model.nv, self.model.nu
        given = point.wrenches or {}
        pushed = [channel.port for channel in self.system_inputs.named if channel.kind == Kind.WRENCH]
        ports = tuple(dict.fromkeys([*given, *pushed]))
        u = np.zeros(nu) if point.u is None else point.u
        resting = [np.zeros(nv), point.tau, u, *(given.get(port, np.zeros(6)) for port in ports)]
        starts = {Kind.ACCELERATION: 0, Kind.EFFORT: nv, Kind.INPUT: 2 * nv, Kind.WRENCH: 2 * nv + nu}
        targets = [
            starts[channel.kind] + channel.entry + (6 * ports.index(channel.port) if channel.kind == Kind.WRENCH else 0)
            for channel in self.system_inputs.named
        ]
        return ports, np.concatenate(resting), np.array(targets, dtype=int)

    def _origin(self) -> Array:
        origin, names = self.model.neutral(), self.model.mechanism.assembly
        for block in names.blocks_with_coordinates:
            if block.configuration_names != block.coordinates:
                where = names.q_slices[block.name]
                origin[where] = self.point.q[where]
        return origin

    def acting(self, x: Any, w: Any, params: Mapping[str, float] | None = None) -> ActingState:
        """Return the state and what acts on it, from x and the inputs w.

        Raises `ModelError` for wrong lengths and entries that are not finite.
        """
        (model, dynamics, follower), nv = self._with(params), self.model.nv
        x, given = self._read(x, w)
        u = self._push(dynamics, given, x)
        ports = dict(zip(self._ports, self._wrenches_in(given), strict=True))
        q, v = self._state(x, follower)
        return ActingState(model, dynamics, q, v.copy(), given[:nv], given[nv : 2 * nv], u, ports)

    def _state(self, x: Array, follower: Follower | None) -> tuple[Array, Array]:
        if follower is not None:
            return follower.state(x[: self._in_x.start])
        return self.model.mechanism.integrate_unchecked(self.origin, x[: self.model.nv]), x[self.model.nv : 2 * self.model.nv]

    def _read(self, x: Any, w: Any) -> tuple[Array, Array]:
        given = self._resting.copy()
        given[self._targets] = read_state("u", w, self._names[1])
        return read_state("x", x, self._names[0]), given

    def _wrenches_in(self, given: Array) -> Array:
        return given[self._at_inputs.stop :].reshape(-1, 6)

    def _push(self, dynamics: PreparedDynamics, given: Array, x: Array) -> Array:
        """Let inputs and wrenches act on ports; return the inputs, with states of the first order behind them."""
        u = given[self._at_inputs]
        u = self.model.mechanism.inputs.with_states(u, x[self._in_x]) if self.model.nx else u
        if self._ports:
            dynamics.wrenches[: len(self._ports)] = self._wrenches_in(given)
        if len(u):
            if self.model.mechanism.inputs.places:
                dynamics.wrenches[len(self._ports) :] = self.model.mechanism.inputs.wrenches(np.asarray(u))
            dynamics.drive_interactions(np.asarray(u))
        return u

    def _with(self, params: Mapping[str, float] | None) -> tuple[Model, PreparedDynamics, Follower | None]:
        """Return the model with changed parameters, its dynamics and what finds its states, each thread's last ones kept."""
        key, kept = tuple(sorted(params.items())) if params else (), self._kept
        if key != getattr(kept, "key", None):
            model = changed_model(self.model, dict(key)) if key else self.model
            dynamics = model.mechanism.engine.dynamics.prepare(self._places, self.system_inputs.prescribed)
            follower = None if self._independent is None else Follower(self._independent, model)
            if model.is_constrained:
                dynamics.rank = rank_of_free(model.mechanism, self.point.q, self.system_inputs.prescribed)
            kept.key, kept.parts = key, (model, dynamics, follower)
        return kept.parts  # type: ignore[no-any-return]

    def dynamics(self, at: ActingState) -> tuple[Array, Array]:
        """Return accelerations and efforts."""
        motors = at.model.mechanism.inputs.efforts(np.asarray(at.inputs), at.q)
        a, efforts = at.dynamics.dynamics(at.q, at.v, at.tau + motors, at.a)
        return a, np.where(self.system_inputs.prescribed, efforts - motors, at.tau)

    def rates(self, x: Array, w: Array, params: Mapping[str, float] | None = None) -> Array:
        """Return dx/dt."""
        (model, dynamics, follower), nv = self._with(params), self.model.nv
        x, given = self._read(x, w)
        u = np.asarray(self._push(dynamics, given, x))
        q, v = self._state(x, follower)
        tau = given[nv : 2 * nv]
        rate = dynamics.rate(q, v, tau + model.mechanism.inputs.efforts(u, q) if len(u) else tau, given[:nv])
        if self._in_rate is not None:
            return rate[self._in_rate]
        moved = self.model.mechanism.displacement_rate(self._displacements(x), v)
        return np.concatenate([moved[self._chosen], rate[model.nq :][self._chosen], rate[model.nq + nv :]])

    def _entries_of_rates(self) -> Any:
        if self._independent is None:
            return slice(None) if self.model.mechanism.has_plain_configuration else None
        in_q = self._independent.in_plain
        first = self.model.nq + self.model.nv
        first_order = first + np.arange(self.model.nx)
        return None if in_q is None else np.concatenate([in_q, self.model.nq + self._chosen, first_order])

    def _displacements(self, x: Array) -> Array:
        whole = np.zeros(self.model.nv, dtype=x.dtype)
        whole[self._chosen] = x[: len(self._chosen)]
        return whole

    def outputs(self, x: Array, w: Array, params: Mapping[str, float] | None = None) -> Array:
        """Return the outputs."""
        at = self.acting(x, w, params)
        snapshot = self._snapshot(at, *(self.dynamics(at) if self._is_dynamic else (np.zeros(self.model.nv), at.tau)))
        kept, readable = self._kept, [group.of for group in self.system_outputs if group.of is not None]
        if getattr(kept, "read", None) is not at.model:
            kept.read, kept.values = at.model, JoinedValues(at.model, readable)
        values = kept.values.read(snapshot)
        if len(readable) == len(self.system_outputs):
            return values  # type: ignore[no-any-return]
        read = iter(np.split(values, np.cumsum([len(of.entries) for of in readable])))
        return np.concatenate([group.value(snapshot) if group.of is None else next(read) for group in self.system_outputs])

    def _snapshot(self, at: ActingState, a: Array, tau: Array) -> Snapshot:
        return Snapshot(at.model, at.q, at.v, a, tau, at.driving, at.wrenches, self.origin)

    def derivatives(self, x: Array, w: Array, params: Mapping[str, float] | None = None) -> tuple[Array, Array, Array, Array]:
        """Return A, B, C and D: the derivatives of rates and outputs, exact to rounding."""
        at, n, chosen = self.acting(x, w, params), len(self._chosen), self._chosen
        motion = motions([at], self.system_inputs, at.a)
        reduced = self._reduction(at)
        change = SnapshotDerivatives(reduced.columns, *motion[2:6]).at(0)
        snapshot = self._snapshot(at, motion.a[0], motion.tau[0])
        x = read_state("x", x, self._names[0])
        chart = self.model.mechanism.difference_jacobian(self._displacements(x))[np.ix_(chosen, chosen)]
        to_x = np.eye(2 * n)
        to_x[:n, :n] = np.linalg.inv(chart)
        A, B = reduced.rows(reduced.columns(motion.by_state[0])) @ to_x, reduced.rows(motion.by_input[0])
        A[:n, :n] = complex_step(
            lambda dx: (self.model.mechanism.difference_jacobian(self._displacements(dx)) @ at.v)[chosen], x[:n]
        )
        A[:n, n:] = chart
        rows = [group.derivatives(snapshot, change) for group in self.system_outputs]
        y = np.vstack(rows) if rows else np.zeros((0, 2 * n + B.shape[1]))
        C, D = y[:, : 2 * n] @ to_x, y[:, 2 * n :]
        if not self.model.nx:
            return A, B, C, D
        matrices = A[None], B[None], C[None], D[None]
        stacked = with_first_order_states(matrices, [at], self.system_inputs, lambda rows: reduced.columns(rows) @ to_x)
        return stacked[0][0], stacked[1][0], stacked[2][0], stacked[3][0]

    def _reduction(self, at: ActingState) -> Reduction:
        if self._independent is None:
            return Reduction(*(np.arange(self.model.nv),) * 2, self.model.nv)
        names = [self.model.coordinate_names[k] for k in self._chosen]
        return reduction(at.model, at.q, at.v, np.zeros(self.model.nv, dtype=bool), names)


def _system_of(plant: SystemFunctions) -> Any:
    return _system_class()(plant)


@cache
def _system_class() -> Any:
    """Return the class of systems, made when python-control is first needed: importing it takes seconds."""
    import control

    class ModelSystem(control.NonlinearIOSystem):
        """A model as a nonlinear system whose linearisation is exact."""

        def __init__(self, plant: SystemFunctions) -> None:
            outputs = [signal for group in plant.system_outputs for signal in group.signals]
            super().__init__(
                lambda t, x, u, params: plant.rates(x, u, params),
                lambda t, x, u, params: plant.outputs(x, u, params),
                inputs=[signal.name for signal in plant.system_inputs.signals] or 0,
                outputs=[signal.name for signal in outputs] or 0,
                states=[signal.name for signal in plant.states] or 0,
                name=exported_name(plant.model.name),
                dt=0,
            )
            self.plant = plant
            self.signals = table_of(plant.states, plant.system_inputs.signals, outputs)

        def __reduce__(self) -> tuple[Any, ...]:
            """Send the plant and all names: functions and this class, which stand in functions, are made again."""
            kept = {name: value for name, value in vars(self).items() if name not in ("updfcn", "outfcn", "plant")}
            return _system_of, (self.plant,), kept

        def linearize(
            self,
            x0: Any,
            u0: Any = None,
            t: float = 0,
            params: Any = None,
            eps: float = 1e-6,
            copy_names: bool = True,
            **kwargs: Any,
        ) -> StateSpace:
            """Return the exact linearisation; `eps` and `t` do nothing, names are always kept."""
            if isinstance(x0, control.OperatingPoint):
                x0, u0 = x0.states, x0.inputs if u0 is None else u0
            x, w = (_vector(value, size) for value, size in ((x0, self.nstates), (u0, self.ninputs)))
            signals = [signal for group in self.plant.system_outputs for signal in group.signals]
            matrices = self.plant.derivatives(x, w, params)
            system = named_system(
                matrices, self.plant.states, self.plant.system_inputs.signals, signals, f"{self.name}$linearized"
            )
            if kwargs:
                system.update_names(**kwargs)
            return system

    return ModelSystem


def _vector(value: Any, size: int) -> Array:
    array = np.atleast_1d(np.asarray(0.0 if value is None else value, dtype=float)).ravel()
    array = np.full(size, array[0]) if array.size == 1 else array
    if array.size != size or not np.isfinite(array).all():
        raise ModelError(Finding("wrong-length", "x0, u0", value, f"{size} finite numbers", "one for each state and input"))
    return array
