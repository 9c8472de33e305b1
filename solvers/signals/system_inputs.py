"""Inputs of linear and nonlinear systems: efforts, actuators, wrenches on ports, prescribed accelerations and displacements."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from titop.blocks.basics.errors import Finding, ModelError
from titop.blocks.basics.spatial import Array
from titop.solvers.signals.exported import Signal, refuse_twice, signals_of
from titop.solvers.signals.grammar import INPUT, read_entries, read_name, read_names
from titop.solvers.signals.quantities import Kind, NamedModel


class SystemInput(NamedTuple):
    """One scalar input.

    - `entry`: coordinate, actuator input, or entry of the wrench;
    - `port`: of a wrench.
    """

    kind: Kind
    entry: int
    port: str
    signal: Signal


class SystemInputs:
    """The inputs of a system, read from their names.

    - `names`: see `linearize`;
    - `hold`: joints or coordinates that are frozen;
    - `states`: whether the model's first-order states are inputs too: a linear model feeds them back;
    - `channels`: the named inputs, then the first-order states;
    - `held` (nv): coordinates that are frozen;
    - `prescribed` (nv): coordinates whose motion is imposed: the held ones, and those whose acceleration or displacement is an
      input;
    - `displaced`: coordinates whose displacement is an input, and the columns of these inputs. They stand for accelerations
      until `titop.solvers.linear.linear_equations` has made them displacements;
    - `imposed_names`: their names;
    - `applied`, `motions` (nv, inputs): efforts of inputs that are efforts, and imposed accelerations, per unit of each input;
    - `signals`: paths and units of the named inputs;
    - `depend_on_attitude`: whether the efforts per unit of the inputs may depend on the configuration.
    """

    def __init__(self, model: NamedModel, names: Any, hold: Any = (), states: bool = False) -> None:
        self.named = tuple(channel for name in read_names("inputs", names) for channel in _read(model, name))
        refuse_twice("input", (channel.signal for channel in self.named))
        every = model.mechanism.inputs
        state_signals = zip(every.state_names, every.state_units, strict=True) if states else ()
        nu = len(every.names)
        self.channels = (
            *self.named,
            *(SystemInput(Kind.INPUT, nu + k, "", Signal(*signal)) for k, signal in enumerate(state_signals)),
        )
        self.held = np.zeros(model.nv, dtype=bool)
        self.held[read_entries(model, "hold", hold, "a joint or coordinate to hold")] = True
        self.applied, self.motions = np.zeros((2, model.nv, len(self.channels)))
        for column, channel in enumerate(self.channels):
            if channel.kind in (Kind.EFFORT, Kind.ACCELERATION, Kind.POSITION):
                (self.applied if channel.kind == Kind.EFFORT else self.motions)[channel.entry, column] = 1.0
        self.displaced = {each.entry: column for column, each in enumerate(self.named) if each.kind == Kind.POSITION}
        self.prescribed = self.held | self.motions.any(axis=1)
        self._refuse_conflicts(model)
        self.imposed_names = [model.coordinate_names[k] for k in np.flatnonzero(self.prescribed)]
        self.signals = tuple(channel.signal for channel in self.named)
        self.depend_on_attitude = any(channel.kind in (Kind.WRENCH, Kind.INPUT, Kind.NOISE) for channel in self.channels)

    def efforts(self, model: NamedModel, q: Array, v: Array | None = None, u: Array | None = None) -> Array:
        """Return the efforts on the coordinates per unit of each input (nv, inputs); zero columns for accelerations."""
        return self.applied + self.loads(model, q, v, u)

    def loads(self, model: NamedModel, q: Array, v: Array | None = None, u: Array | None = None) -> Array:
        """Return the efforts of actuators, wrenches and first-order states per unit of each input (nv, inputs).

        `model` may be an opened one, with more coordinates. Efforts of first-order states depend on rates, inputs and states.
        """
        result = np.zeros((model.nv, len(self.channels)))
        actuation = model.actuation_matrix(q) if any(channel.kind == Kind.INPUT for channel in self.channels) else None
        if len(self.channels) > len(self.named) and actuation is not None:
            rates = np.zeros(model.nv) if v is None else v
            actuation = np.hstack([actuation, model.state_efforts(q, rates, u=u)])
        ports = {channel.port for channel in self.channels if channel.kind == Kind.WRENCH}
        jacobians = {port: model.jacobian(port, q) for port in ports}
        for column, channel in enumerate(self.channels):
            if channel.kind == Kind.INPUT and actuation is not None:
                result[:, column] = actuation[:, channel.entry]
            elif channel.kind == Kind.WRENCH:
                result[:, column] = jacobians[channel.port][channel.entry]
        return result

    def accelerations(self, model: NamedModel, q: Array, v: Array, tau: Array, wrenches: Any, u: Any) -> Array:
        """Return the accelerations (nv, rad/s^2 or m/s^2) that efforts cause at a state with the held coordinates at rest.

        They are the imposed accelerations at an operating point: driven coordinates keep the motion that its efforts cause.

        - `q`, `v`, `tau` (nq), (nv), (nv);
        - `wrenches`, `u`: as in `Model.forward_dynamics`.

        Raises `ModelError` as in `Model.forward_dynamics`.
        """
        resting = [model.coordinate_names[k] for k in np.flatnonzero(self.held)]
        return model.hybrid_dynamics(q, v, tau, np.zeros(model.nv), resting, wrenches, u)[0]

    def _refuse_conflicts(self, model: NamedModel) -> None:
        imposed_twice = [channel for channel in self.channels if channel.kind == Kind.EFFORT and self.prescribed[channel.entry]]
        moved = [channel for channel in self.channels if channel.kind in (Kind.ACCELERATION, Kind.POSITION)]
        imposed_twice += [each for each in moved if self.held[each.entry] or self.motions[each.entry].sum() > 1]
        if imposed_twice:
            name = model.coordinate_names[imposed_twice[0].entry]
            advice = f"the motion of {name!r} is imposed already; its effort is the output {name + '.tau'!r}"
            expected = "effort or motion, not both"
            raise ModelError(Finding("imposed-twice", "inputs", imposed_twice[0].signal.path, expected, advice))


def _read(model: NamedModel, name: Any) -> list[SystemInput]:
    of = read_name(model, INPUT, name)
    port = of.owner if of.kind == Kind.WRENCH else ""
    pairs = zip(of.entries, signals_of(model, of), strict=True)
    if of.kind == Kind.NOISE:  # of actuators it acts like their inputs, see `with_paths`
        return [SystemInput(Kind.INPUT if k >= 0 else Kind.NOISE, max(k, 0), "", signal) for k, signal in pairs]
    return [SystemInput(of.kind, k, port, signal) for k, signal in pairs]
