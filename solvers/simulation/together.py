"""Many members of an ensemble in one compiled call: trees under loads that are held, alone or under sampled controllers.

Controllers are called with the states of all members at their common samples; between these compiled code makes the steps of
each member, in its own time, in lanes: members share their parameters, or have their own in lanes as well. So a member has the
bits of its own simulation. A linear controller, of plain coordinates, is sampled in compiled code too: Python is entered again
after many samples.
Whatever else may happen in a simulation, and members that come to grief, are for simulations of their own.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property, partial
from typing import Any, NamedTuple

import numpy as np

from titop.blocks.basics.spatial import Array
from titop.solvers.control.control_history import ControlHistory
from titop.solvers.control.loop_arguments import read_generators
from titop.solvers.control.loop_signals import Command
from titop.solvers.control.sampled_loop import Generators, SampledController, SampledLoop
from titop.solvers.engines.compiled.prepared_kernels import CompiledPreparedDynamics
from titop.solvers.kernels.entries import runge_kutta as control
from titop.solvers.model.model import Model
from titop.solvers.simulation.acting import Acting, Constant, read_efforts, read_inputs
from titop.solvers.simulation.driven_model import DrivenModel
from titop.solvers.simulation.explicit_steps import HeldSteps
from titop.solvers.simulation.start_and_end import leave
from titop.solvers.simulation.steppers import EXPLICIT, Tolerances
from titop.solvers.simulation.trajectory import Trajectory


class SteppedMember(NamedTuple):
    """What a member has of its own: its model, the state (nq + nv) at the start, `tau`, `u` and `seed` as in `simulate`."""

    model: Model
    y: Array
    tau: Any
    u: Any
    seed: Any


def can_be_held(plant: DrivenModel, method: Any) -> bool:
    """Tell whether compiled code makes all steps of a simulation between common times, where nothing but samples happens."""
    free = plant.has_stages and not (plant.model.is_constrained or plant.motion.names or plant.model.nx or plant.paths)
    held = plant.is_held and not plant.model.mechanism.inputs.driving and not plant.gaps.count
    loop = plant.loop is None or (isinstance(plant.loop, SampledLoop) and plant.loop.takes_stacks)
    return method in EXPLICIT and free and held and loop


def let_kernels_sample(plant: DrivenModel, steps: HeldSteps, u: Array | None, tau: Array) -> SampledController | None:
    """Let kernels take the samples of a plant's linear controller, if it is the only one, and of plain coordinates.

    Inputs `u` (n, nu) and efforts (n, nv) act beside it. Returns it; None for other controllers.
    """
    loop, model, inputs = plant.loop, plant.model, plant.model.mechanism.inputs
    if not isinstance(loop, SampledLoop) or len(loop.controllers) != 1 or inputs.places or _depend_on_order(inputs.motors):
        return None
    tables = loop.controllers[0].tables(model.nq, inputs.motors, model.mechanism.quaternions)
    if tables is None:
        return None
    beside = np.zeros((len(tau), model.nu)) if u is None else u
    steps.control, steps.loads = tables, np.array(np.hstack([beside, tau]), order="C")
    return loop.controllers[0]


def _depend_on_order(motors: Array) -> bool:
    """Tell whether efforts are sums of several inputs', which depend on the order of matrix products."""
    return bool((np.count_nonzero(motors, axis=1) > 1).any())


class Together:
    """The simulation of many members.

    - `plant`: the first one's; `times` (m, s); `method`, `tolerances`: of the integrator.
    """

    def __init__(
        self, plant: DrivenModel, times: Array, members: Sequence[SteppedMember], method: str, tolerances: Tolerances
    ) -> None:
        assert isinstance(plant.prepared, CompiledPreparedDynamics)
        self.plant, self.times, self.members, self.command = plant, times, members, plant.command
        self._loop: Any = copy.copy(plant.loop)  # its plant is this
        n, model = len(members), plant.model
        self._inputs = model.mechanism.inputs
        self._tau = np.array(_each_once(partial(read_efforts, model, times), [member.tau for member in members]), order="F")
        inputs = _each_once(partial(read_inputs, model, times), [member.u for member in members])
        have_inputs = {each is not None for each in inputs}
        self._u = np.array(inputs) if have_inputs == {True} else None
        differ = any(member.model is not model for member in members)
        mechanisms = [member.model.mechanism for member in members]
        tables = plant.prepared.member_tables(mechanisms, differ or bool(self._inputs.places))
        #: Whether members differ in numbers alone.
        self.is_possible = tables is not None and len(have_inputs) == 1
        self.is_possible &= all(each.inputs.act_like(self._inputs) for each in mechanisms if differ)
        if differ and isinstance(plant.loop, SampledLoop):
            self.is_possible &= plant.loop.reads_alike(partial(plant.prepared.are_same_places, mechanisms))
        if tables is None or not self.is_possible:
            return
        if isinstance(self._loop, SampledLoop):
            count = len(self._loop.controllers)
            self._loop.stack([Generators(n, partial(self._generator, c, count)) for c in range(count)])
        y = np.array([member.y for member in members])
        self.steps = HeldSteps(plant.prepared, method, times, y, tolerances, tables)
        self._one_by_one = _depend_on_order(self._inputs.motors)
        self._sampled = let_kernels_sample(plant, self.steps, self._u, self._tau)

    def _generator(self, controller: int, count: int, k: int) -> np.random.Generator:
        """Return the noise of one of a number of controllers, of a member."""
        return read_generators(self.members[k].seed, count)[controller]

    def run(self, look: Callable[[], None]) -> None:
        """Go to the end."""
        if self._sampled is not None:
            self._jumped = self.steps.follow(self._sampled, look)
            return
        t, end, until = float(self.times[0]), float(self.times[-1]), float(self.times[0])
        while True:
            self._jumped = t >= until
            if self._jumped:
                y = self.steps.y if t == self.times[0] else self._on_group(t, self.steps.y)  # the start is there already
                until = math.inf if self._loop is None else self._loop.act(self, t, y)
                self.steps.loads[:] = np.add(*self._act(self.command))
            if t == end:
                return
            t = min(until, end)
            self.steps.go_to(t, look)

    def split(self, t: float, y: Array) -> tuple[Array, Array]:
        """Return q (n, nq) and v (n, nv) of states."""
        return self.plant.split_rows(np.full(len(y), t), y)

    def _on_group(self, t: float, y: Array) -> Array:
        return y if self.plant.has_plain_states else np.hstack(self.split(t, y))

    def _act(self, command: Command | None) -> tuple[Array, Array]:
        """Put inputs into effect; return efforts (n, nv), and those of motors."""
        efforts, motors = self._tau if command is None else self._tau + command.tau, np.zeros_like(self._tau)
        u = self._acting(command)
        if u is not None and self._inputs.places:
            wrenches = self._inputs.wrenches(u)
            self.steps.tables.push(wrenches)
        if u is not None:
            motors = np.array([self._inputs.motors.dot(row) for row in u]) if self._one_by_one else u.dot(self._inputs.motors.T)
        return efforts, motors

    def _acting(self, command: Command | None) -> Array | None:
        """Return the inputs (n, nu), within the actuators' ranges in closed loop."""
        if command is None or self._loop is None or not self.plant.model.nu:
            return self._u
        u = np.broadcast_to(command.u if self._u is None else command.u + self._u, (len(self.members), self.plant.model.nu))
        return self._loop.commands.within_limits(u)

    def trajectories(self, seconds: float) -> Iterator[Trajectory | None]:
        """Yield the trajectory of each member, None for those that came to grief; they have taken `seconds` together."""
        n, m, model, steps = len(self.members), len(self.times), self.plant.model, self.steps
        outputs = np.nan_to_num(steps.outputs)
        if self._loop is not None:  # steps of one member end on the group
            outputs[:, 1:] = self._on_group(0.0, outputs[:, 1:].reshape(n * (m - 1), -1)).reshape(n, m - 1, -1)
        q, v = self.plant.split_rows(np.tile(self.times, n), outputs.reshape(n * m, -1))
        q, v = q.reshape(n, m, -1), v.reshape(n, m, -1)
        y = outputs if self.plant.has_plain_states else np.concatenate([q, v], axis=-1)
        a, tau, total, u = *(np.empty((n, m, model.nv)) for _ in range(3)), np.zeros((n, m, model.nu))
        for k, t in enumerate(self.times.tolist()):
            command = None if self._loop is None else self._loop.command_at(self, t, outputs)
            tau[:, k], motors = self._act(command)
            if (acting := self._acting(command)) is not None:
                u[:, k] = acting
            total[:, k] = tau[:, k] + motors
            if self._inputs.places:  # wrenches that act now alone
                a[:, k] = steps.rates(y[:, k : k + 1], total[:, k : k + 1])[:, 0, model.nq :]
        if not self._inputs.places:
            a = steps.rates(y, total)[..., model.nq :].copy()
        counts = steps.clocks[:, [control.STEPS, control.EVALUATIONS]].astype(int).tolist()
        good = np.all(
            [steps.goes_on, np.isfinite(a).all(axis=(1, 2)), *(each.are_finite() for each in self.controllers)], axis=0
        )
        wrenches = {port: np.tile(value, (m, 1)) for port, value in self.plant.constant.items()}
        for k, member in enumerate(self.members):
            statistics = {"steps": counts[k][0], "evaluations": counts[k][1], "jacobians": 0, "seconds": seconds / n}
            arrays = q[k], v[k], a[k], tau[k], u[k], {port: wrench.copy() for port, wrench in wrenches.items()}
            rest: Any = {}, Histories(self, k), statistics, np.zeros((m, 0)), Memories(self, k)
            yield Trajectory(member.model, self.times.copy(), *arrays, *rest) if good[k] else None

    @cached_property
    def histories(self) -> list[tuple[ControlHistory, ...]]:
        """The signals of each member's controllers, stacked when they are first asked for."""
        return list(zip(*(each.histories_of_members(len(self.members)) for each in self.controllers), strict=True))

    @property
    def controllers(self) -> list[SampledController]:
        """The controllers, of all members."""
        return [] if self._loop is None else self._loop.controllers

    def memory_of(self, k: int) -> dict[str, Array]:
        """Return what a member needs to go on later."""
        loop = copy.copy(self._loop)
        if isinstance(loop, SampledLoop):
            loop.controllers = [each.of_member(k) for each in loop.controllers]
        plant, y, left = copy.copy(self.plant), self.steps.outputs[k, -1], None
        plant.loop = loop
        if loop is not None:
            y, left = self._on_group(float(self.times[-1]), self.steps.y[k : k + 1])[0], self.steps.memory(k, self._jumped)
        return leave(y, plant, {}, left)


class Histories(Sequence[ControlHistory]):
    """The signals of a member's controllers, which are made when they are asked for."""

    def __init__(self, together: Together, k: int) -> None:
        self._together, self._k = together, k

    def __getitem__(self, place: Any) -> Any:
        return self._together.histories[self._k][place]

    def __len__(self) -> int:
        return len(self._together.controllers)

    def __reduce__(self) -> tuple[Any, ...]:
        """Send the signals to other processes."""
        return tuple, (tuple(self),)


class Memories(Mapping[str, Array]):
    """The memory of a member, which is made when it is asked for."""

    def __init__(self, together: Together, k: int) -> None:
        self._made: dict[str, Array] | None = None
        self._make = lambda: together.memory_of(k)

    @property
    def _memory(self) -> dict[str, Array]:
        if self._made is None:
            self._made = self._make()
        return self._made

    def __getitem__(self, name: str) -> Array:
        return self._memory[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._memory)

    def __len__(self) -> int:
        return len(self._memory)

    def __reduce__(self) -> tuple[Any, ...]:
        """Send what is remembered to other processes."""
        return dict, (self._memory,)


def _each_once(read: Callable[[Any], Acting], given: Sequence[Any]) -> list[Any]:
    """Return what is held of members, which may have been given the same."""
    known: dict[int, Any] = {}
    for one in given:
        if id(one) not in known:
            acting = read(one)
            assert isinstance(acting, Constant)
            known[id(one)] = acting.value
    return [known[id(one)] for one in given]
