"""Systems as nonlinear input-output systems of python-control, with exact linearisations."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from titop.blocks.block import complex_step
from titop.blocks.errors import Finding, ModelError
from titop.blocks.spatial import Array
from titop.solvers.equilibrium.operating_point import OperatingPoint, read_point
from titop.solvers.linear.drives import Drives
from titop.solvers.linear.linearisation import Points, motions
from titop.solvers.linear.linearize import named_system
from titop.solvers.linear.readings import read_outputs
from titop.solvers.linear.reduction import Reduction, closure_slopes
from titop.solvers.linear.signals import exported, state_signals, table_of
from titop.solvers.linear.variation import Snapshot, Variation
from titop.solvers.model import Model

if TYPE_CHECKING:
    from control import NonlinearIOSystem, StateSpace


def nonlinear_system(model: Model, inputs: Any, outputs: Any = None, point: Any = None) -> NonlinearIOSystem:
    """Return a model as a system of python-control; see `Model.to_nlsys`."""
    at = read_point(model, model.neutral() if point is None else point)
    if closure_slopes(model, at.q, at.v) is not None:
        advice = "simulate with tt.simulate; or make the closures compliant, and leave the gears out"
        raise ModelError(Finding("closed-loop", "to_nlsys", "rigid closures or gears", "a tree: independent states", advice))
    return _system_class()(Plant(at, inputs, outputs))


class Acting(NamedTuple):
    """A state with what acts on it."""

    model: Model
    q: Array
    v: Array
    tau: Array
    u: Array | None
    wrenches: dict[str, Array] | None
    a: Array


class Plant:
    """A model between inputs and outputs, as a function of ``x = [displacements; rates]``.

    Parameters
    ----------
    point : OperatingPoint
    inputs, outputs
        As in `linearize`; no outputs stand for all states.

    Attributes
    ----------
    drives : Drives
    readings : tuple of Reading
    origin : (nq,) array
        From which displacements are measured: the point's configuration where quaternions are, elsewhere zero.
    """

    def __init__(self, point: OperatingPoint, inputs: Any, outputs: Any) -> None:
        self.point, self.model = point, point.model
        self.drives = Drives(self.model, inputs)
        self.states = state_signals(self.model)
        if outputs is None:
            outputs = [signal.path for signal in self.states]
        self.readings = read_outputs(self.model, outputs, self.drives)
        self.origin = self._origin()
        self._changed: tuple[tuple[tuple[str, float], ...], Model] = ((), self.model)

    def _origin(self) -> Array:
        origin, names = self.model.neutral(), self.model.assembly
        for block in names.blocks_with_coordinates:
            if block.configuration_names != block.coordinates:
                where = names.q_slices[block.name]
                origin[where] = self.point.q[where]
        return origin

    def acting(self, x: Array, w: Array, params: Mapping[str, float] | None = None) -> Acting:
        """Return the state and what acts on it, from x and the inputs w."""
        model, nv = self._with(params or {}), self.model.nv
        tau, a = self.point.tau.copy(), np.zeros(nv)
        u = np.zeros(model.nu) if self.point.u is None else self.point.u.copy()
        wrenches = {port: wrench.copy() for port, wrench in (self.point.wrenches or {}).items()}
        for value, drive in zip(w, self.drives.channels, strict=True):
            if drive.kind == "wrench":
                wrenches.setdefault(drive.port, np.zeros(6))[drive.entry] = value
            else:
                {"effort": tau, "actuator": u, "acceleration": a}[drive.kind][drive.entry] = value
        inputs = u if u.any() else None
        return Acting(model, model.integrate(self.origin, x[:nv]), np.array(x[nv:]), tau, inputs, wrenches or None, a)

    def _with(self, params: Mapping[str, float]) -> Model:
        """Return the model with changed parameters, the last one kept."""
        key = tuple(sorted(params.items()))
        if key != self._changed[0]:
            self._changed = key, self.model.changed(dict(params))[0] if key else self.model
        return self._changed[1]

    def dynamics(self, at: Acting) -> tuple[Array, Array]:
        """Return accelerations and efforts."""
        if self.drives.prescribed.any():
            names = self.drives.imposed_names
            return at.model.hybrid_dynamics(at.q, at.v, at.tau, at.a, names, at.wrenches, at.u)
        return at.model.forward_dynamics(at.q, at.v, at.tau, at.wrenches, u=at.u), at.tau

    def rates(self, x: Array, w: Array, params: Mapping[str, float] | None = None) -> Array:
        """Return dx/dt."""
        at = self.acting(x, w, params)
        return np.concatenate([self.model.difference_slopes(x[: self.model.nv]) @ at.v, self.dynamics(at)[0]])

    def outputs(self, x: Array, w: Array, params: Mapping[str, float] | None = None) -> Array:
        """Return the outputs."""
        at = self.acting(x, w, params)
        snapshot = self._snapshot(at, *self.dynamics(at))
        return np.concatenate([reading.value(snapshot) for reading in self.readings]) if self.readings else np.zeros(0)

    def _snapshot(self, at: Acting, a: Array, tau: Array) -> Snapshot:
        return Snapshot(at.model, at.q, at.v, a, tau, at.u, at.wrenches, self.origin)

    def slopes(self, x: Array, w: Array, params: Mapping[str, float] | None = None) -> tuple[Array, Array, Array, Array]:
        """Return A, B, C and D: the derivatives of rates and outputs, exact to rounding."""
        at, nv = self.acting(x, w, params), self.model.nv
        wrenches = None if at.wrenches is None else {port: wrench[None] for port, wrench in at.wrenches.items()}
        u = None if at.u is None else at.u[None]
        motion = motions(Points([at.model], at.q[None], at.v[None], at.tau[None], u, wrenches, at.a[None]), self.drives)
        change = Variation(Reduction(np.arange(2 * nv)), *motion[2:]).at(0)
        snapshot = self._snapshot(at, motion.a[0], motion.tau[0])
        chart = self.model.difference_slopes(x[:nv])
        to_x = np.eye(2 * nv)
        to_x[:nv, :nv] = np.linalg.inv(chart)
        A, B = motion.by_state[0] @ to_x, motion.by_input[0]
        A[:nv, :nv] = complex_step(lambda dq: self.model.difference_slopes(dq) @ at.v, x[:nv])
        A[:nv, nv:] = chart
        rows = [reading.slopes(snapshot, change) for reading in self.readings]
        y = np.vstack(rows) if rows else np.zeros((0, 2 * nv + B.shape[1]))
        return A, B, y[:, : 2 * nv] @ to_x, y[:, 2 * nv :]


@cache
def _system_class() -> Any:
    """Return the class of systems, made when python-control is first needed: importing it takes seconds."""
    import control

    class ModelSystem(control.NonlinearIOSystem):
        """A model as a nonlinear system whose linearisation is exact."""

        def __init__(self, plant: Plant) -> None:
            outputs = [signal for reading in plant.readings for signal in reading.signals]
            super().__init__(
                lambda t, x, u, params: plant.rates(x, u, params),
                lambda t, x, u, params: plant.outputs(x, u, params),
                inputs=[signal.name for signal in plant.drives.signals] or 0,
                outputs=[signal.name for signal in outputs] or 0,
                states=[signal.name for signal in plant.states] or 0,
                name=exported(plant.model.name),
                dt=0,
            )
            self.plant = plant
            self.signals = table_of(plant.states, plant.drives.signals, outputs)

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
            signals = [signal for reading in self.plant.readings for signal in reading.signals]
            matrices = self.plant.slopes(x, w, params)
            system = named_system(matrices, self.plant.states, self.plant.drives.signals, signals, f"{self.name}$linearized")
            if not kwargs:
                return system
            renamed = control.StateSpace(system, **kwargs)
            renamed.signals = system.signals
            return renamed

    return ModelSystem


def _vector(value: Any, size: int) -> Array:
    """Return a vector of numbers, a single one repeated."""
    array = np.atleast_1d(np.asarray(0.0 if value is None else value, dtype=float)).ravel()
    array = np.full(size, array[0]) if array.size == 1 else array
    if array.size != size or not np.isfinite(array).all():
        raise ModelError(Finding("wrong-length", "x0, u0", value, f"{size} finite numbers", "one for each state and input"))
    return array
