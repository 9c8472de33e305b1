"""Control loops in continuous time: a linear controller, whose states are integrated with the model's."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from titop.blocks.basics.errors import Finding, ModelError
from titop.blocks.basics.spatial import Array
from titop.solvers.control.control_history import ControlHistory
from titop.solvers.control.control_laws import ContinuousLaw
from titop.solvers.control.control_loop import ControlledModel, ControlLoop, Memory
from titop.solvers.control.loop_signals import Command, Measurements
from titop.solvers.control.sampled_loop import HeldLoop
from titop.solvers.linear.system_outputs import read_outputs
from titop.solvers.model.model import Model
from titop.solvers.signals.snapshot import Snapshot, SnapshotDerivatives
from titop.solvers.signals.system_inputs import SystemInputs
from titop.solvers.support.interpolated import Interpolated


class LinearFeedback(NamedTuple):
    """The command of a controller for ``z = [q, v, x]``: ``gains z + offset(t)``, inputs (nu), efforts (nv) and the rates of x.

    Attributes
    ----------
    gains : (nu + nv + nx, nq + nv + nx) array
    offset : callable ``f(t) -> (nu + nv + nx,)``
    varies : bool
        Whether the offset depends on time.
    limits : (2, nu) array
        Of the inputs.
    motors : (nv, nu) array
        The inputs' efforts.
    thrust : (6 n, nu) array
        The inputs' wrenches at n places.
    rows : callable ``f(times) -> (n, nu + nv + nx)``, optional
        The offsets at several times, if they are known in advance.
    """

    gains: Array
    offset: Callable[[float], Array]
    varies: bool
    limits: Array
    motors: Array
    thrust: Array
    rows: Callable[[Array], Array] | None = None

    def tables(self, rows: int) -> tuple[Array, ...]:
        """Return the tables for compiled stages: gains, offsets at `rows` times, limits, motors and thrust."""
        return self.gains, np.tile(self.offset(0.0), (rows, 1)), self.limits, self.motors, self.thrust

    def write(self, times: Sequence[float], offsets: Array) -> None:
        """Write the offsets at some times into the table."""
        if self.rows is not None:
            offsets[:] = self.rows(np.array(times))
            return
        for row, t in zip(offsets, times, strict=True):
            row[:] = self.offset(t)


class ContinuousLoop(ControlLoop):
    """A loop whose controller's states are integrated with the model's: ``y = [q, v, first-order states, x]``.

    Attributes
    ----------
    K : control.StateSpace
        The controller.
    beside : HeldLoop or None
        Sampled controllers beside it.
    place : int
        Where it stands among these.
    """

    sampled = False
    sample_time = math.inf
    beside: HeldLoop | None = None
    place = 0

    def __init__(self, model: Model, law: ContinuousLaw, *rest: Any) -> None:
        wiring, self.K = law.wiring, law.K
        super().__init__(model, (wiring.inputs, wiring.references, wiring.outputs, tuple(law.K.state_labels)), *rest)
        self._from_y, self._from_r = wiring.from_y, wiring.from_r
        self._inputs = SystemInputs(model, list(wiring.outputs))
        self._outputs = read_outputs(model, list(wiring.inputs), self._inputs)
        self.initial_state = np.zeros(law.K.nstates)
        through = np.argwhere((law.K.D @ wiring.from_y != 0) & self.measurements.dynamic)
        if len(through):
            raise ModelError([self._algebraic_loop(*pair) for pair in through.tolist()])

    def _algebraic_loop(self, command: int, output: int) -> Finding:
        y, u = self._names["outputs"][output], self._names["commands"][command]
        hops = f"{y} -> controller (direct feedthrough) -> {u} -> accelerations of the model -> {y}"
        advice = "give a sample_time, or let the controller's gain fall with frequency (a lag of the actuator, zero D)"
        return Finding("algebraic-loop", "controller", hops, "no output that acts on itself at once", advice)

    @property
    def tables(self) -> list[Interpolated]:
        return self.references.tables

    @property
    def signal_names(self) -> list[tuple[str, ...]]:
        others = [] if self.beside is None else self.beside.signal_names
        return [*others[: self.place], *super().signal_names, *others[self.place :]]

    def put_beside(self, loop: HeldLoop, place: int) -> None:
        """Add the commands of sampled controllers, among which this one stands at a `place`."""
        self.beside, self.place, self.sampled, self.sample_time = loop, place, True, loop.sample_time
        self._hold(loop.command)

    def _hold(self, command: Command) -> None:
        """Set the commands that are held beside this controller's."""
        self._held = self._resting + np.concatenate(command)

    def rest_at(self, resting: Command) -> None:
        super().rest_at(resting)
        self._held = self._resting

    def send(self, values: Array) -> Command:
        return self.commands.send(values, self._held)

    @property
    def all_measurements(self) -> list[Measurements]:
        return [self.measurements, *([] if self.beside is None else self.beside.all_measurements)]

    def begin(self, plant: ControlledModel, t: float, y: Array) -> Command:
        return self._command_beside(plant, t, y, None if self.beside is None else self.beside.command)

    def act(self, plant: ControlledModel, t: float, y: Array) -> float:
        if self.beside is None:
            return math.inf
        plant.command = self.begin(plant, t, y)
        until = self.beside.advance(plant, t, y)
        plant.command = self.begin(plant, t, y)
        return until

    def rate(self, plant: ControlledModel, t: float, y: Array) -> Array:
        """Return dy/dt."""
        (q, v), x = plant.split(t, y), self._states(plant, y)
        error = self._error(t, q, v)
        plant.command = self.command(x, error)
        rate = plant.rate_at(t, q, v)
        if self._accelerated:
            error = self.error(plant, t, q, v, rate[len(q) :][: len(v)])
        return np.concatenate([rate, self.K.A @ x + self.K.B @ error])

    def error(self, plant: ControlledModel, t: float, q: Array, v: Array, a: Array) -> Array:
        """Return the controller's inputs at a state with accelerations `a`."""
        return self._error(t, q, v, plant.measure(self.measurements, t, q, v, a) if self._accelerated else None)

    def feedback(self, given: Array | None) -> LinearFeedback | None:
        """Return the controller as tables, for additional inputs `given` (nu); None if tables cannot describe it.

        They cannot if it measures more than coordinates and their rates, if references follow the state, or if inputs are not
        constant efforts and wrenches.
        """
        model, K = self.measurements.model, self.K
        if self.references.follow_state:
            return None
        measured = self.measurements.selection(model.nq, model.nv)
        if measured is None or model.mechanism.inputs.own or model.mechanism.inputs.driving:
            return None
        sent = np.vstack([self.commands.to_u, self.commands.to_tau])
        added, varies = np.zeros(len(self._resting)), self.references.vary or self.sampled
        if given is not None:
            added[: model.nu] = given
        by_error = np.vstack([sent @ K.D, K.B])
        gains = np.hstack([by_error @ self._from_y @ measured, np.vstack([sent @ K.C, K.A])])
        at_rest, still = -by_error @ self._from_y @ self.trim, np.zeros(K.nstates)
        by_reference, nowhere = by_error @ self._from_r, (np.zeros(0), np.zeros(0))

        def offset(t: float) -> Array:
            held = np.concatenate([self._held + added, still])
            return held + at_rest + by_reference @ (self.references.read(t, *nowhere) - self.r_trim)

        inputs = model.mechanism.inputs
        return LinearFeedback(gains, offset, varies, self.commands.limits, inputs.motors, inputs.thrust)

    def derivatives(self, plant: ControlledModel, t: float, y: Array, by_state: Array, by_tau: Array) -> Array:
        """Return the derivatives (nv + nx, 2 nv + nx) of accelerations and ``dx/dt`` by tangent changes of q, by v and x.

        With a linear controller ``dx/dt = A x + B e, z = C x + D e``, e the error of the outputs.

        Parameters
        ----------
        plant : ControlledModel
        t : float, s
        y : array
        by_state, by_tau : (nv, 2 nv) and (nv, nv) arrays
            Derivatives of the accelerations under constant commands.
        """
        model, K, nv = plant.model, self.K, plant.model.nv
        q, v = plant.split(t, y)
        a, tau = plant.dynamics(t, q, v)
        u = plant.inputs(t, q, v)
        state = Snapshot(model, q, v, a, tau, u, plant.wrenches(t, q, v), self.measurements.origin)
        # commands at the actuators' limits have no derivative
        acting = self.commands.acting(None if u is None else model.mechanism.inputs.without_states(u))
        nc = len(acting)
        by_command = by_tau @ self._inputs.efforts(model, q) * acting
        whole = np.vstack([np.eye(nv, 2 * nv, nv), by_state]), np.vstack([np.zeros((nv, nc)), by_command])
        change = SnapshotDerivatives(lambda matrix: matrix, *whole, np.zeros((nv, 2 * nv)), self._inputs.applied)
        outputs = np.vstack([np.zeros((0, 2 * nv + nc)), *(group.derivatives(state, change) for group in self._outputs)])
        y_by_state, y_by_command = outputs[:, : 2 * nv], outputs[:, 2 * nv :] * acting
        sought_by_state = self._from_r @ self.references.derivatives(model, t, q, v)
        # D has no entries for outputs with a feedthrough from commands
        command_by_state = K.D @ (self._from_y @ y_by_state + sought_by_state)
        e_by_state = self._from_y @ (y_by_state + y_by_command @ command_by_state) + sought_by_state
        e_by_x = self._from_y @ y_by_command @ K.C
        return np.block([[by_state + by_command @ command_by_state, by_command @ K.C], [K.B @ e_by_state, K.A + K.B @ e_by_x]])

    def command_at(self, plant: ControlledModel, t: float, y: Array) -> Command:
        return self._command_beside(plant, t, y, None if self.beside is None else self.beside.command_at(plant, t, y))

    def _alone(self, t: float, q: Array, v: Array, x: Array) -> Command:
        """Return the command without those of sampled controllers."""
        return self.commands.send(self.K.C @ x + self.K.D @ self._error(t, q, v), self._resting)

    def _command_beside(self, plant: ControlledModel, t: float, y: Array, held: Command | None) -> Command:
        """Return the command at a state, with those of sampled controllers, which are held from now on."""
        if held is not None:
            self._hold(held)
        q, v = plant.split(t, y)
        return self.command(self._states(plant, y), self._error(t, q, v))

    def command(self, x: Array, error: Array) -> Command:
        """Return the command for states x and inputs of the controller."""
        return self.send(self.K.C @ x + self.K.D @ error)

    def _states(self, plant: ControlledModel, y: Array) -> Array:
        return y[plant.model.nq + plant.model.nv + plant.model.nx :]

    def _error(self, t: float, q: Array, v: Array, outputs: Array | None = None) -> Array:
        """Return the controller's inputs; without `outputs`, those that depend on accelerations are meaningless."""
        outputs = self.measurements.read_kinematic(q, v) if outputs is None else outputs
        return self._from_y @ (outputs - self.trim) + self._from_r @ (self.references.read(t, q, v) - self.r_trim)

    def histories(self, plant: ControlledModel, t: Array, y: Array) -> tuple[ControlHistory, ...]:
        outputs, references, commands, states = [], [], [], []
        for instant, state in zip(t, y, strict=True):
            q, v = plant.split(instant, state)
            plant.command = self.command_at(plant, instant, state)
            outputs.append(plant.measure(self.measurements, instant, q, v, plant.dynamics(instant, q, v)[0]))
            references.append(self.references.read(instant, q, v))
            states.append(self._states(plant, state))
            commands.append(plant.command if self.beside is None else self._alone(instant, q, v, states[-1]))
        history = self.rows(t, outputs, references, commands, states, False)
        if self.beside is None:
            return (history,)
        others = self.beside.histories(plant, t, y)
        return *others[: self.place], history, *others[self.place :]

    def memory(self) -> list[Memory]:
        others = [] if self.beside is None else self.beside.memory()
        return [*others[: self.place], {}, *others[self.place :]]

    def recall(self, memory: Sequence[Memory]) -> None:
        others = [*memory[: self.place], *memory[self.place + 1 :]]
        if self.beside is not None:
            self.beside.recall(others)
            self._hold(self.beside.command)
