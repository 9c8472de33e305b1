"""Control loops in continuous time: linear controllers, whose states are integrated with the model's."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from titop.blocks.basics.errors import Finding, refuse
from titop.blocks.basics.spatial import Array
from titop.solvers.control.control_history import ControlHistory
from titop.solvers.control.control_loop import ConnectedController, ControlledModel, ControlLoop, Memory
from titop.solvers.control.loop_signals import Command
from titop.solvers.control.sampled_loop import SampledLoop
from titop.solvers.linear.matrices import Matrices, side_by_side
from titop.solvers.linear.system_outputs import read_outputs
from titop.solvers.signals.snapshot import Snapshot, SnapshotDerivatives
from titop.solvers.signals.system_inputs import SystemInputs
from titop.solvers.support.interpolated import Interpolated


class LinearFeedback(NamedTuple):
    """The command of controllers for ``z = [q, v, x]``: ``gains z + offset(t)``, inputs (nu), efforts (nv) and the rates of x.

    - `gains` (nu + nv + nx, nq + nv + nx); `offset`, ``f(t) -> (nu + nv + nx,)``;
    - `varies`: whether the offset depends on time;
    - `limits` (2, nu): of the inputs;
    - `motors` (nv, nu): the inputs' efforts;
    - `thrust` (6 n, nu): the inputs' wrenches at n places;
    - `rows`, ``f(times) -> (n, nu + nv + nx)``: the offsets at several times, if they are known in advance.
    """

    gains: Array
    offset: Callable[[float], Array]
    varies: bool
    limits: Array
    motors: Array
    thrust: Array
    rows: Callable[[Array], Array] | None = None

    @property
    def drives(self) -> Array:
        """The inputs' limits, efforts and wrenches, for compiled stages."""
        return np.array(np.vstack([self.limits, self.motors, self.thrust]), order="C")

    def write(self, times: Sequence[float], offsets: Array) -> None:
        """Write the offsets at some times into the table."""
        if self.rows is not None:
            offsets[:] = self.rows(np.array(times))
            return
        for row, t in zip(offsets, times, strict=True):
            row[:] = self.offset(t)


class ContinuousLoop(ControlLoop):
    """A loop whose controllers' states are integrated with the model's: ``y = [q, v, first-order states, x]``.

    Several controllers in continuous time are one: their inputs, states and outputs follow one another, and signals from one to
    another are closed within it.

    - `beside`: sampled controllers beside them;
    - `K`: all continuous controllers.
    """

    def __init__(self, controllers: Sequence[ConnectedController], beside: SampledLoop | None = None) -> None:
        self.controllers, self.beside, self._model = controllers, beside, controllers[0].measurements.model
        self._everyone: list[ConnectedController] = [*controllers, *([] if beside is None else beside.controllers)]
        self.sampled, self.sample_time = beside is not None, math.inf if beside is None else beside.sample_time
        self.commands = controllers[0].commands.beside([each.commands for each in controllers[1:]])
        self._from_y = _diagonal([each.law.from_y for each in controllers])
        self._from_r = _diagonal([each.law.from_r for each in controllers])
        self._reads = np.vstack([each.reads for each in controllers])
        K = [Matrices.of(each.law.K) for each in controllers]
        self.K = K[0] if len(K) == 1 else side_by_side(K).close_loop(self._from_r @ self._reads @ self.commands.to_signals)
        self.initial_state = np.zeros(len(self.K.A))
        self._trim = np.concatenate([each.trim for each in controllers])
        self._r_trim = np.concatenate([each.r_trim for each in controllers])
        self._resting = np.sum([each.resting for each in controllers], axis=0)
        self._hold(None if beside is None else beside.command)
        self._accelerated = any(each.accelerated for each in controllers)
        self._refuse_algebraic()
        sends = np.abs(self.commands.to_loads).sum(axis=0) > 0
        outputs = [name for each in controllers for name in each.names["commands"]]
        names = list(dict.fromkeys(name for name, sent in zip(outputs, sends.tolist(), strict=True) if sent))
        self._inputs = SystemInputs(self._model, names)
        #: The model's inputs (in `_inputs`) per unit of each output of the controllers.
        self._spread = np.array([[name == output for output in outputs] for name in names], dtype=float)
        self._outputs = [read_outputs(self._model, list(each.names["outputs"]), self._inputs) for each in controllers]

    def _refuse_algebraic(self) -> None:
        dynamic = np.concatenate([each.measurements.dynamic for each in self.controllers])
        through = np.argwhere((self.K.D @ self._from_y != 0) & dynamic)
        kinds = ("outputs", "commands")
        outputs, commands = ([name for each in self.controllers for name in each.names[kind]] for kind in kinds)
        refuse(algebraic_loop(outputs[y], commands[u]) for u, y in through.tolist())

    @property
    def connected(self) -> list[ConnectedController]:
        return sorted(self._everyone, key=lambda each: each.place)

    @property
    def tables(self) -> list[Interpolated]:
        return [table for each in self.controllers for table in each.references.tables]

    def _hold(self, command: Command | None) -> None:
        self._held = self._resting if command is None else self._resting + np.concatenate(command)

    def begin(self, plant: ControlledModel, t: float, y: Array) -> Command:
        return self._command_beside(plant, t, y, None if self.beside is None else self.beside.command)

    def act(self, plant: ControlledModel, t: float, y: Array) -> float:
        if self.beside is None:
            return math.inf
        plant.command = self.begin(plant, t, y)
        until = self.beside.advance(plant, t, y, lambda held: self._command_beside(plant, t, y, held))
        plant.command = self.begin(plant, t, y)
        return until

    def rate(self, plant: ControlledModel, t: float, y: Array) -> Array:
        """Return dy/dt."""
        (q, v), x = plant.split(t, y), self._states(y)
        error = self._error(t, q, v)
        plant.command = self.command(x, error)
        rate = plant.rate_at(t, q, v)
        if self._accelerated:
            error = self.error(plant, t, q, v, rate[len(q) :][: len(v)])
        return np.concatenate([rate, self.K.A @ x + self.K.B @ error])

    def error(self, plant: ControlledModel, t: float, q: Array, v: Array, a: Array) -> Array:
        """Return the controllers' inputs at a state with accelerations `a`, without those from one to another."""
        if not self._accelerated:
            return self._error(t, q, v)
        return self._error(t, q, v, [plant.measure(each.measurements, t, q, v, a) for each in self.controllers])

    def feedback(self, given: Array | None) -> LinearFeedback | None:
        """Return the controllers as tables, for additional inputs `given` (nu); None if tables cannot describe them.

        They cannot if they measure more than coordinates and their rates, if references follow the state, or if inputs are not
        constant efforts and wrenches.
        """
        model, K, references = self._model, self.K, [each.references for each in self.controllers]
        if any(each.follow_state for each in references):
            return None
        selections = [each.measurements.selection(model.nq, model.nv) for each in self.controllers]
        measured = [each for each in selections if each is not None]
        if len(measured) < len(selections) or model.mechanism.inputs.own or model.mechanism.inputs.driving:
            return None
        sent = self.commands.to_loads
        added, varies = np.zeros(len(sent)), self.sampled or any(each.vary for each in references)
        if given is not None:
            added[: model.nu] = given
        by_error = np.vstack([sent @ K.D, K.B])
        gains = np.hstack([by_error @ self._from_y @ np.vstack(measured), np.vstack([sent @ K.C, K.A])])
        at_rest, still = -by_error @ self._from_y @ self._trim, np.zeros(len(K.A))
        by_reference, nowhere = by_error @ self._from_r, np.zeros(0)

        def offset(t: float) -> Array:
            held = np.concatenate([self._held[: len(added)] + added, still])
            return held + at_rest + by_reference @ (self._references(t, nowhere, nowhere) - self._r_trim)

        inputs = model.mechanism.inputs
        return LinearFeedback(gains, offset, varies, self.commands.limits, inputs.motors, inputs.thrust)

    def derivatives(self, plant: ControlledModel, t: float, y: Array, by_state: Array, by_tau: Array) -> Array:
        """Return the derivatives (nv + nx, 2 nv + nx) of accelerations and ``dx/dt`` by tangent changes of q, by v and x.

        With a linear controller ``dx/dt = A x + B e, z = C x + D e``, e the error of the outputs.

        - `t` (s);
        - `by_state`, `by_tau` (nv, 2 nv) and (nv, nv): derivatives of the accelerations under constant commands.
        """
        model, K, nv = self._model, self.K, self._model.nv
        q, v = plant.split(t, y)
        a, tau = plant.dynamics(t, q, v)
        u = plant.inputs(t, q, v)
        # commands at the actuators' limits have no derivative
        acting = self.commands.acting(None if u is None else model.mechanism.inputs.without_states(u))
        by_input = by_tau @ self._inputs.efforts(model, q)
        whole = np.vstack([np.eye(nv, 2 * nv, nv), by_state]), np.vstack([np.zeros_like(by_input), by_input])
        change = SnapshotDerivatives(lambda matrix: matrix, *whole, np.zeros((nv, 2 * nv)), self._inputs.applied)
        outputs = [np.zeros((0, 2 * nv + by_input.shape[1]))]
        for each, groups in zip(self.controllers, self._outputs, strict=True):
            state = Snapshot(model, q, v, a, tau, u, plant.wrenches(t, q, v), each.measurements.origin)
            outputs += [group.derivatives(state, change) for group in groups]
        y_by_state, y_by_input = np.split(np.vstack(outputs), [2 * nv], axis=1)
        y_by_command, by_command = y_by_input @ self._spread * acting, by_input @ self._spread * acting
        sought_by_state = np.vstack([each.references.derivatives(model, t, q, v) for each in self.controllers])
        sought_by_state = self._from_r @ sought_by_state
        # D has no entries for outputs with a feedthrough from commands
        command_by_state = K.D @ (self._from_y @ y_by_state + sought_by_state)
        e_by_state = self._from_y @ (y_by_state + y_by_command @ command_by_state) + sought_by_state
        e_by_x = self._from_y @ y_by_command @ K.C
        return np.block([[by_state + by_command @ command_by_state, by_command @ K.C], [K.B @ e_by_state, K.A + K.B @ e_by_x]])

    def command_at(self, plant: ControlledModel, t: float, y: Array) -> Command:
        return self._command_beside(plant, t, y, None if self.beside is None else self.beside.command_at(plant, t, y))

    def _command_beside(self, plant: ControlledModel, t: float, y: Array, held: Command | None) -> Command:
        """Return the command at a state, with those of sampled controllers, which are held from now on."""
        self._hold(held)
        return self.command(self._states(y), self._error(t, *plant.split(t, y)))

    def command(self, x: Array, error: Array) -> Command:
        """Return the command for states x and inputs of the controllers."""
        return self.commands.send(self.K.C @ x + self.K.D @ error, self._held)

    def _states(self, y: Array) -> Array:
        return y[self._model.nq + self._model.nv + self._model.nx :]

    def _references(self, t: float, q: Array, v: Array) -> Array:
        signals = self._held[len(self.commands.to_loads) :]
        return np.concatenate([each.read_references(t, q, v, signals) for each in self.controllers])

    def _error(self, t: float, q: Array, v: Array, outputs: Sequence[Array] | None = None) -> Array:
        read = [each.measurements.read_kinematic(q, v) for each in self.controllers] if outputs is None else outputs
        return self._from_y @ (np.concatenate(read) - self._trim) + self._from_r @ (self._references(t, q, v) - self._r_trim)

    def histories(self, plant: ControlledModel, t: Array, y: Array) -> tuple[ControlHistory, ...]:
        rows: list[list[Any]] = [[] for _ in self.controllers]
        ends = np.cumsum([(each.law.K.nstates, each.law.K.noutputs) for each in self.controllers], axis=0)[:-1]
        for instant, state in zip(t, y, strict=True):
            q, v = plant.split(instant, state)
            plant.command = self.command_at(plant, instant, state)
            a, x, signals = plant.dynamics(instant, q, v)[0], self._states(state), plant.command.signals
            values = np.split(self.K.C @ x + self.K.D @ self._error(instant, q, v), ends[:, 1])
            for each, row, x_k, value in zip(self.controllers, rows, np.split(x, ends[:, 0]), values, strict=True):
                y_k, r_k = plant.measure(each.measurements, instant, q, v, a), each.read_references(instant, q, v, signals)
                row.append((y_k, r_k, each.send(value), x_k))
        histories = []
        for each, row in zip(self.controllers, rows, strict=True):
            outputs, references, commands, states = (list(part) for part in zip(*row, strict=True))
            histories.append(each.rows(t, outputs, references, commands, states, False))
        return tuple(self._in_order(histories, [] if self.beside is None else self.beside.histories(plant, t, y)))

    def memory(self) -> list[Memory]:
        return self._in_order([{} for _ in self.controllers], [] if self.beside is None else self.beside.memory())

    def recall(self, memory: Sequence[Memory]) -> None:
        if self.beside is not None:
            self.beside.recall([memory[each.place] for each in self.beside.controllers])
            self._hold(self.beside.command)

    def _in_order(self, these: Sequence[Any], others: Sequence[Any]) -> list[Any]:
        placed = zip(self._everyone, (*these, *others), strict=True)
        return [each for _, each in sorted(placed, key=lambda pair: pair[0].place)]


def algebraic_loop(y: str, u: str) -> Finding:
    """Return the finding for an output that acts on itself at once, through a command."""
    hops = f"{y} -> controller (direct feedthrough) -> {u} -> accelerations of the model -> {y}"
    advice = "give a sample_time, or let the controller's gain fall with frequency (a lag of the actuator, zero D)"
    return Finding("algebraic-loop", "controller", hops, "no output that acts on itself at once", advice)


def _diagonal(matrices: Sequence[Array]) -> Array:
    if len(matrices) == 1:
        return matrices[0]
    from scipy.linalg import block_diag

    return np.asarray(block_diag(*matrices))
