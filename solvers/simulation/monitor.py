"""Progress of a simulation, and warnings while it runs: that it takes too long, and why its steps are short."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from math import inf, isfinite
from typing import Any

import numpy as np

from titop.blocks.basics.errors import ConvergenceError, Finding, ModelError, warn
from titop.blocks.basics.spatial import Array, rotation_log
from titop.blocks.basics.tolerances import TYPED
from titop.blocks.interactions.springs import CompliantClosure
from titop.blocks.joints.joint import Joint
from titop.graph.network.connections import Joined
from titop.solvers.constraints.interaction_loads import relative_pose
from titop.solvers.kernels.ports.guards import LOCATED
from titop.solvers.model.model import Model
from titop.solvers.simulation.driven_model import DrivenModel
from titop.solvers.simulation.generalized_alpha import GeneralizedAlpha
from titop.solvers.simulation.steppers import EXPLICIT
from titop.solvers.support.progress import SHOW_AFTER, progress_bar

#: A warning is given if the rest of the simulation would take longer than this (s).
_LONG = 60.0
#: A bound is taken as the reason of short steps if the mean step is longer than this part of it.
_BINDING = 0.5
#: Switches are taken as the reason of short steps if there are no more steps than this between two of them: it takes some
#: twenty until steps are as long as before, where loads jump.
_BETWEEN = 30
#: Switches that are counted together, at least.
_SEVERAL = 20
#: The steps of a simulation are examined after this time (s).
_LOOK_AFTER = 1.0
#: Step times the largest eigenvalue, from which on stability limits the steps: the limit is 2.5 to 6 on the axes, depending on
#: the method. If the tolerances limit the steps by errors of the fastest motion, the product stays below one.
_BOUNDED = 1.5
#: Other bounds of the steps, the longest step allowed or a controller's samples, have to leave room for so many: implicit steps
#: are needed there too, and two or three steps of Radau take as long as 35 (34 coordinates) to 250 (2) of DOP853.
_ROOM = 100
#: A rotation vector changes by at most this many times the angle of the rotation (pi/2, next to half a turn), unless it jumps.
_STRETCH = 1.6


class Monitor:
    """Watches a running simulation: shows its progress, and warns if it takes too long, naming what makes its steps short.

    - `times` (n, s);
    - `max_step` (s): longest step that the user allows;
    - `progress`: show a progress bar on a terminal;
    - `half_turns`: springs whose rotation passes half a turn;
    - `impacts`: gaps that close, where steps are fixed.
    """

    impacts: Impacts | None = None

    def __init__(
        self, plant: DrivenModel, times: Array, method: str | GeneralizedAlpha, max_step: float, progress: bool
    ) -> None:
        self._plant, self._begin, end = plant, float(times[0]), float(times[-1])
        bounds = {"max_step": max_step}
        if isinstance(method, GeneralizedAlpha) and method.step is not None:
            bounds["step"], self.impacts = method.step, Impacts(plant, method.step)
        if plant.loop is not None:
            bounds["sample_time"] = plant.loop.sample_time
        self.half_turns, self._pace = HalfTurns(plant.model), Pace(self._begin, end, bounds)
        self._chatter = Chatter(plant.gaps.owners, end)
        self._stiffness = StiffnessWatch(plant, method, self._begin, max_step) if method in EXPLICIT else None
        self._shown: Any = progress_bar(total=end - self._begin, unit="s") if progress else nullcontext()

    def __enter__(self) -> Monitor:
        self._bar = self._shown.__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        self._shown.__exit__(*error)

    def look(self, t: float, y: Array, steps: Callable[[], float], switches: Array | None = None, pieces: int = 1) -> None:
        """Examine the time `t` (s) and state reached.

        - `steps`: returns the number of steps; called only when needed;
        - `switches` (n): number of switches of each gap;
        - `pieces`: number of pieces of the integration so far, those cut by switches apart.
        """
        self._pace.look(t, steps)
        if self.half_turns.any:
            self.half_turns.look(t, self._plant.split(t, y)[0])
        if switches is not None:
            self._chatter.look(t, switches, steps)
            if self.impacts is not None:
                self.impacts.look(t, y, switches)
        if self._stiffness is not None and self._stiffness.is_due:
            self._stiffness.look(t, y, int(steps()), pieces if switches is None else pieces + int(switches.sum()))
        if (bar := self._bar) is not None and t - self._begin - bar.n > bar.total / 200:
            bar.update(t - self._begin - bar.n)


class Pace:
    """After a second of steps, estimates once how long the rest takes.

    - `start`, `end` (s);
    - `bounds`: the bounds of the steps, by the user's argument: `max_step`, a fixed step, the time between a controller's
      samples.
    """

    def __init__(self, start: float, end: float, bounds: Mapping[str, float]) -> None:
        self._argument, self._bound = min(bounds.items(), key=lambda item: item[1], default=("max_step", inf))
        self._span = end - start
        self._end, self._begun_at, self._look_at = end, start, inf
        self._begun = self._first = 0.0

    def look(self, t: float, steps: Callable[[], float]) -> None:
        """Examine the time `t` (s) reached; `steps` returns the number of steps, and is called only when needed.

        Warns with the number of steps that the bound requires, if it is the reason of short steps.
        """
        now = time.perf_counter()
        if not self._begun:
            self._begun, self._begun_at, self._look_at, self._first = now, t, now + SHOW_AFTER, steps()
        if now < self._look_at:
            return
        self._look_at = inf
        left = (self._end - t) * (now - self._begun) / (t - self._begun_at) if t > self._begun_at else inf
        if left < _LONG or not isfinite(self._bound):
            return
        if t - self._begun_at < _BINDING * self._bound * (steps() - self._first):  # steps are short for another reason
            return
        value = f"{self._bound:.3g} s, which asks for {self._span / self._bound:.2g} steps over {self._span:.3g} s"
        expected = f"steps that end: these will take {_duration(left)} more"
        warn([Finding("many-steps", self._argument, value, expected, "lengthen it, or interrupt (Ctrl-C keeps what is there)")])


class Chatter:
    """After every second of steps with several switches, estimates how long the rest takes; warns once.

    `owners` (n): the block that each gap belongs to.
    """

    def __init__(self, owners: Sequence[str], end: float) -> None:
        self._owners, self._end, self._has_told = owners, end, False
        self._before: tuple[float, float, Array, float] | None = None

    def look(self, t: float, counts: Array, steps: Callable[[], float]) -> None:
        """Examine the time `t` (s) of a switch, the number of switches of each gap (n), and that of `steps`.

        Warns with the block that switches most, if these switches are the reason of short steps.
        """
        now = time.perf_counter()
        if self._before is not None and (self._has_told or now < self._before[0] + SHOW_AFTER):
            return
        here = now, t, counts.copy(), steps()
        then, since, counted, made = self._before or here
        switches, advanced = counts - counted, t - since
        if self._before is not None and switches.sum() < _SEVERAL:
            return
        self._before = here
        left = (self._end - t) * (now - then) / advanced if advanced > 0 else inf
        if not switches.any() or left < _LONG or here[3] - made > _BETWEEN * switches.sum():
            return
        self._has_told, most = True, int(np.argmax(switches))
        value = f"{int(switches[most])} switches in {advanced:.2g} s, up to t = {t:.6g} s"
        expected = f"one now and then: at this rate the simulation takes {_duration(left)} more"
        advice = "let the law change smoothly there, by a softer spring or dissipation, or give what it moves a mass"
        warn([Finding("chattering", f"{self._owners[most]}.gaps", value, expected, advice)])


def _duration(seconds: float) -> str:
    if seconds == inf:
        return "for ever"
    for unit, length in (("years", 3.156e7), ("days", 86400.0), ("hours", 3600.0)):
        if seconds > 2 * length:
            return f"about {seconds / length:.2g} {unit}"
    return f"about {seconds / 60:.2g} minutes"


class StiffnessWatch:
    """After a second, examines once whether the steps are as long as stability allows.

    - `start` (s);
    - `longest` (s): longest step allowed.
    """

    def __init__(self, plant: DrivenModel, method: str, start: float, longest: float) -> None:
        self._plant, self._method, self._start, self._longest = plant, method, start, longest
        self._look_at: float = time.perf_counter() + _LOOK_AFTER

    @property
    def is_due(self) -> bool:
        """Whether it is time to examine the steps."""
        return time.perf_counter() >= self._look_at

    def look(self, t: float, y: Array, steps: int, pieces: int = 1) -> None:
        """Examine the time `t` (s) and state `y` reached by `steps`, the way cut into `pieces`.

        Warns with the coordinate that limits the steps, and suitable methods.
        """
        if not steps:
            return
        self._look_at = np.inf
        step = (t - self._start) / steps
        if steps < _ROOM * pieces or _ROOM * step > self._longest:
            return
        rate, name, creeps = fastest_motion(self._plant, t, y)
        if step * rate < _BOUNDED:
            return
        suits_multistep = creeps and pieces <= 1 and not self._plant.model.is_constrained
        others = '"Radau"' + (', or "BDF"' if suits_multistep else "")
        others += "" if creeps or self._plant.model.is_constrained else ', or "exponential" if vibrations matter'
        value = f"{self._method} with steps of {step:.1e} s, bounded by its stability for {name} ({rate:.1e} 1/s)"
        warn([Finding("stiff", "method", value, "an implicit method for a stiff system", f"take {others}")])


def fastest_motion(plant: DrivenModel, t: float, y: Array) -> tuple[float, str, bool]:
    """Return the fastest mode of what is integrated; its rate is zero if there is no Jacobian.

    That is the size of the largest eigenvalue (1/s), the coordinate with the largest part in its mode, and whether it decays
    more than it oscillates.
    """
    from titop.solvers.simulation.implicit_equations import RateJacobian  # imports scipy

    model = plant.model
    try:
        jacobian = RateJacobian(plant)(t, y)
    except (ModelError, ConvergenceError):
        return 0.0, "", False
    values, right = np.linalg.eig(jacobian)
    k = int(np.abs(values).argmax())
    left = np.linalg.lstsq(right, np.eye(len(y)), rcond=None)[0][k]
    shares = np.abs(left * right[:, k])[model.nq :]
    at = int(shares.argmax())
    names = *model.coordinate_names, *model.state_names
    name = names[at] if at < len(names) else "the controller's states"
    return float(np.abs(values[k])), name, bool(abs(values[k].real) > abs(values[k].imag))


class HalfTurns:
    """The relative rotations of compliant closures, and of free and spherical joints with springs, checked step by step.

    `passed`: closures and joints that passed half a turn, and when.
    """

    def __init__(self, model: Model) -> None:
        self.passed: dict[str, float] = {}
        self._rotations = dict(_rotations(model))
        self._last: dict[str, Array] = {}

    def look(self, t: float, q: Array) -> None:
        """Examine the state at the end of a step, at time t (s)."""
        for name, rotation in self._rotations.items():
            now, before = rotation(q), self._last.get(name)
            if before is not None and name not in self.passed:
                angle = np.linalg.norm(rotation_log(before.T @ now))
                if np.linalg.norm(rotation_log(now) - rotation_log(before)) > _STRETCH * angle + TYPED:
                    self.passed[name] = t
            self._last[name] = now

    @property
    def any(self) -> bool:
        """Whether there are rotations to watch."""
        return bool(self._rotations)

    def findings(self) -> Iterator[Finding]:
        """Yield the warnings."""
        for name, t in self.passed.items():
            expected = "rotations by less than half a turn: the spring's displacement jumps there, and energy with it"
            advice = "put the rotation into a joint, or leave its stiffness out"
            yield Finding("half-turn", name, f"half a turn by t = {t:.6g} s", expected, advice)


class Impacts:
    """The states in which gaps close, the fastest of each.

    `step` (s): of the integrator; where compiled code does not know rates of gaps, they are differences over a part of it.
    """

    def __init__(self, plant: DrivenModel, step: float) -> None:
        self._plant, self.step, self._counts = plant, step, np.zeros(plant.gaps.count)
        self._fastest: dict[int, tuple[float, Array, Array]] = {}

    def look(self, t: float, y: Array, counts: Array) -> None:
        """Look at the state at the time `t` (s), and how often each gap has switched (n)."""
        switched = np.flatnonzero(counts != self._counts)
        if not len(switched):
            return
        self._counts = counts.copy()
        q, v = self._plant.split(t, y)
        rates = self._plant.gaps.rows(q[None], v[None], LOCATED * self.step)[1][0]
        for k in switched.tolist():
            if rates[k] < min(0.0, self._fastest.get(k, (0.0,))[0]):
                self._fastest[k] = float(rates[k]), q.copy(), v.copy()

    def states(self) -> Iterator[tuple[str, int, Array, Array]]:
        """Yield what has gaps, the one of its gaps that closes, and q and v there."""
        owners = self._plant.gaps.owners
        for k, (_, q, v) in self._fastest.items():
            yield owners[k], owners[:k].count(owners[k]), q, v


def _rotations(model: Model) -> Iterator[tuple[str, Callable[[Array], Array]]]:
    """Yield each spring that stores the energy of a rotation, and the rotation as a function of q."""
    for loop in model.mechanism.assembly.loops:
        if isinstance(loop.closure, CompliantClosure) and loop.closure.stiffness[3:].any():
            yield loop.closure.name, _loop_rotation(model, loop)
    for block in model.mechanism.assembly.blocks_with_coordinates:
        if isinstance(block, Joint) and block.quaternion.stop and block.stiffness[-3:].any():
            yield block.name, _joint_rotation(block, model.mechanism.assembly.q_slices[block.name])


def _loop_rotation(model: Model, loop: Joined) -> Callable[[Array], Array]:
    return lambda q: relative_pose(model.mechanism, loop, q)[0]


def _joint_rotation(joint: Joint, where: slice) -> Callable[[Array], Array]:
    rest, _ = joint.pose("", joint.rest)
    return lambda q: rest.T @ joint.pose("", q[where])[0]
