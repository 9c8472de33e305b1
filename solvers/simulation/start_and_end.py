"""Where a simulation begins, perhaps where another has ended, and the states reached, also where Ctrl-C stops it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from titop.blocks.basics.errors import Finding, ModelError
from titop.blocks.basics.paths import split_end
from titop.blocks.basics.spatial import Array
from titop.solvers.arguments.reading import read_state
from titop.solvers.control.control_history import margin_of
from titop.solvers.control.control_loop import ControlLoop, Memory, refuse_memory
from titop.solvers.model.model import Model
from titop.solvers.simulation.driven_model import DrivenModel
from titop.solvers.simulation.events import WatchedEvent
from titop.solvers.simulation.trajectory import Trajectory


class ReachedStates(NamedTuple):
    """The states that an integrator has reached.

    - `t` (n, s): the output times reached, and the time where it was stopped;
    - `y` (n, ...): the states at these times;
    - `statistics`: counts of steps and the like; see `Trajectory`;
    - `memory`: what the integrator needs to go on from the last state as if it had not stopped there; None where it cannot.
    """

    t: Array
    y: Array
    statistics: dict[str, float]
    memory: dict[str, Array] | None = None


class SimulationInterrupt(KeyboardInterrupt):
    """Ctrl-C during a simulation; the states computed until then are kept.

    Parameters
    ----------
    message : str
    solution : ReachedStates, optional
        The states reached.

    Attributes
    ----------
    trajectory : Trajectory
        From the beginning to the last finished step; raises a `ModelError` if the exception comes from another process.

    Examples
    --------
    ::

        try:
            trajectory = tt.simulate(m, np.linspace(0, 1000, 5001), q0, v0)
        except tt.SimulationInterrupt as stopped:
            trajectory = stopped.trajectory
    """

    def __init__(self, message: str, solution: ReachedStates | None = None) -> None:
        super().__init__(message)
        self.solution = solution
        #: Makes a trajectory of the solution; as this takes time, it is called on first access.
        self._collect: Callable[[ReachedStates], Trajectory] | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        """Send only the message to another process."""
        return type(self), self.args

    @cached_property
    def trajectory(self) -> Trajectory:
        """The motion until the simulation was stopped."""
        if self._collect is None or self.solution is None:
            advice = "ask in the process that simulated"
            raise ModelError(Finding("no-trajectory", "trajectory", str(self), "a simulation of this process", advice))
        return self._collect(self.solution)


def interrupt(last: tuple[float, Array], end: float, solution: ReachedStates) -> SimulationInterrupt:
    """Return the exception for a simulation until `end` that was stopped after its `last` step, a time (s) and a state.

    `solution` has the output times reached.
    """
    if last[0] > solution.t[-1]:
        solution = solution._replace(t=np.append(solution.t, last[0]), y=np.vstack([solution.y, last[1]]))
    text = f"stopped at t = {solution.t[-1]:.6g} s of {end:.6g} s; `trajectory` of this exception has what was computed"
    return SimulationInterrupt(text, solution)


#: Heads of the names of what integrator, events and controllers leave.
_INTEGRATOR, EVENT, _PATH = "integrator.", "event.", "path."


class Start:
    """The beginning of a simulation.

    - `times` (n, s): the first is set to the end of `start` where only rounding keeps it from there;
    - `q0`, `v0`, `x0`: as in `simulate`;
    - `start`: a simulation that goes on;
    - `q`, `v`, `x` (nq), (nv) and (nx);
    - `is_reached`: whether the state is one that the other simulation has reached: on the closures;
    - `integrator`: what the integrator takes up.
    """

    def __init__(self, model: Model, times: Array, q0: Any, v0: Any, x0: Any, start: Trajectory | None) -> None:
        self._start, states = start, model.nq + model.nv
        if start is None:
            for name, value in (("q0", q0), ("v0", v0)):
                if value is None:
                    advice = "give q0 and v0, or start=, the trajectory that goes on"
                    raise ModelError(Finding("no-state", name, value, "the state at t[0]", advice))
        else:
            self._y = _last_state(model, times, start)
        self.is_reached = start is not None and q0 is None and v0 is None
        self.q = self._y[: model.nq].copy() if q0 is None else model.integrate(q0, np.zeros(model.nv))
        self.v = self._y[model.nq : states].copy() if v0 is None else read_state("v0", v0, model.coordinate_names)
        goes_on = start is not None and x0 is None
        self.x = self._y[states : states + model.nx].copy() if goes_on else model.mechanism.inputs.read_states(x0)
        self.integrator = self.left(_INTEGRATOR) if self.is_reached and goes_on else {}

    def left(self, head: str) -> Memory:
        """Return what the other simulation has left under names with a `head`."""
        memory = {} if self._start is None else self._start.memory
        return {name.removeprefix(head): array for name, array in memory.items() if name.startswith(head)}

    def recall_loop(self, loop: ControlLoop | None) -> None:
        """Let controllers go on where those of the other simulation have stopped."""
        before = () if self._start is None else self._start.controls
        if not before:
            return
        names = [] if loop is None else [each.signal_names for each in loop.connected]
        if len(names) != len(before):
            refuse_memory("controller", f"{len(names)} controllers", f"{len(before)}, as before")
        for k, (now, then) in enumerate(zip(names, before, strict=True)):
            if now != then.signal_names:
                where = f"controller[{k}]" if len(names) > 1 else "controller"
                refuse_memory(where, ", ".join(now), f"{', '.join(then.signal_names)}, as before")
        if loop is not None:
            loop.recall([self.left(f"controller[{k}].") for k in range(len(names))])

    def recall_events(self, events: Mapping[str, WatchedEvent]) -> None:
        """Let events go on that the other simulation has watched too."""
        left = self.left(EVENT)
        for name, event in events.items():
            if name in left:
                event.recall(left[name])

    def recall_paths(self, plant: DrivenModel) -> None:
        """Let the paths of devices go on where those of the other simulation have stopped."""
        left: dict[str, Memory] = {}
        for name, array in self.left(_PATH).items():
            device, part = split_end(name)
            left.setdefault(device, {})[part] = array
        now = {} if plant.paths is None else plant.paths.memory()
        begins = self._start is None or not self._start.controls  # sensors that no controller has read
        for name in left.keys() - now.keys():
            if left[name].get("grid", np.zeros(0))[2:].any():  # sampled, or late
                refuse_memory(f"{name}.path", "none", "a path, as before", "path")
        for name in now.keys() - left.keys():
            if now[name]["grid"][2:].any() and not begins:
                refuse_memory(f"{name}.path", "a path", "none, as before", "path")
        if self._start is not None and plant.paths is not None:
            plant.paths.recall(left, float(self._start.t[-1]))

    def state(self, q: Array, v: Array, loop: ControlLoop | None) -> Array:
        """Return the state at the first time, q and v as they are there, with those of the controllers."""
        more = np.zeros(0) if loop is None else loop.initial_state
        if len(more) and self._start is not None and self._start.controls:
            more = self._y[len(self._y) - len(more) :]
        return np.concatenate([q, v, self.x, more])


def _last_state(model: Model, times: Array, start: Any) -> Array:
    if not isinstance(start, Trajectory):
        raise ModelError(Finding("wrong-type", "start", start, "a tt.Trajectory", "pass what tt.simulate has returned"))
    for name in ("configuration_names", "coordinate_names", "state_names"):
        then, now = (getattr(of, name) for of in (start.model, model))
        if then != now:
            advice = "only parameters may change: begin anew with m.configuration and m.velocity"
            raise ModelError(Finding("other-model", f"start: {name}", then, f"{now}", advice))
    if "y" not in start.memory:
        advice = "simulate once more, or begin anew: q0=start.q[-1], v0=start.v[-1]"
        raise ModelError(Finding("no-memory", "start", "a trajectory without a memory", "one of simulate", advice))
    end = float(start.t[-1])
    if abs(times[0] - end) > margin_of(times[1] - times[0], times):
        raise ModelError(Finding("bad-times", "t[0]", float(times[0]), f"the end of start, {end:.9g} s", "begin there"))
    times[0] = end
    states = start.memory["y"]
    if states.dtype != np.dtype(float) or states.ndim != 1 or len(states) < model.nq + model.nv + model.nx:
        advice = "simulate anew"
        raise ModelError(Finding("no-memory", "start", f"a state of shape {states.shape}", "that of the model", advice))
    return states


def leave(y: Array, plant: DrivenModel, events: Mapping[str, WatchedEvent], integrator: Memory | None) -> Memory:
    """Return what a simulation needs to go on later from its last state, by name."""
    left = {"y": y.copy()} | {f"{_INTEGRATOR}{name}": array for name, array in (integrator or {}).items()}
    left |= {f"{EVENT}{name}": event.memory() for name, event in events.items()}
    paths = {} if plant.paths is None else plant.paths.memory()
    left |= {f"{_PATH}{name}.{key}": array for name, arrays in paths.items() for key, array in arrays.items()}
    controllers = [] if plant.loop is None else plant.loop.memory()
    return left | {f"controller[{k}].{name}": array for k, each in enumerate(controllers) for name, array in each.items()}
