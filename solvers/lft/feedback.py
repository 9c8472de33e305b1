"""Linear fractional models with a controller: sampled or continuous, its outputs delayed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from titop.blocks.basics.errors import Finding, ModelError
from titop.blocks.basics.spatial import Array
from titop.blocks.basics.tolerances import SAME, SINGULAR
from titop.blocks.basics.user_input import read_count
from titop.solvers.arguments.reading import read_duration
from titop.solvers.lft.delta_blocks import Connectable, DeltaBlock, channel_counts, channel_signals, with_degrees
from titop.solvers.lft.sampled_models import Channels, Window, kept_columns, over_cycle, sample_channels, sample_fraction
from titop.solvers.linear.matrices import Matrices, side_by_side
from titop.solvers.linear.path_series import pade
from titop.solvers.linear.state_space import named_signals, named_system, positions, read_linear, unlike
from titop.solvers.signals.exported import REFERENCE, Signal

if TYPE_CHECKING:
    from control import StateSpace

#: Stages of an interval, and orders of fractions for delays, at most.
_STAGES, _ORDERS = 6, 10
#: So many samples are kept at most.
_MOST = 1000


class Closing(NamedTuple):
    """A controller, and how it is connected: ``u = u_outside + sign K y``.

    - `laws`: the controller, with the sign, at each step of its cycle: one, of several rates more. References are its last
      inputs;
    - `states`, `outputs`: its labels;
    - `taken`, `driven`: where its inputs and outputs stand among outputs and inputs of the model, without channels;
    - `references`: more inputs of the loop: what the controller takes beside outputs;
    - `delays` (s): of its outputs;
    - `stages`, `order`: of the model of an interval, and of fractions for delays;
    - `step`: between samples (s); zero in continuous time;
    - `sampling`: whether the model is in continuous time before;
    - `timed`: signals of devices whose delays the loop has instead of the fractions of the model;
    - `sensors`: what samples, holds and delays the outputs of the model, at each step of the cycle; none where nothing does;
    - `sensed`: the states of these;
    - `passed`: inputs of the model which the law delays as they come from outside: its last inputs and outputs.
    """

    laws: tuple[Matrices, ...]
    states: tuple[str, ...]
    outputs: tuple[str, ...]
    taken: list[int]
    driven: list[int]
    references: tuple[Signal, ...]
    delays: Array
    stages: int
    order: int
    step: float
    sampling: bool
    timed: tuple[str, ...] = ()
    sensors: tuple[Matrices, ...] = ()
    sensed: tuple[str, ...] = ()
    passed: tuple[int, ...] = ()

    @property
    def period(self) -> float:
        """Of the closed loop (s): all steps of the cycle; zero in continuous time."""
        return self.step * len(self.laws)

    @property
    def is_of_intervals(self) -> bool:
        """Whether the loop has another period than the model before."""
        return self.sampling or len(self.laws) > 1

    def late_laws(self) -> tuple[list[Matrices], list[Window]]:
        """Return the controller's laws with its delays, and where and when its outputs act on inputs of the model."""
        if not self.step:
            return [add_delays(law, self.delays, self.order) for law in self.laws], [Window(k) for k in self.driven]
        taps, windows = [], []
        for k, (column, delay) in enumerate(zip(self.driven, self.delays.tolist(), strict=True)):
            whole, part = split_delay(f"delay of {self.outputs[k]}", delay, self.step)
            if part:
                taps.append((k, whole + 1))
                windows.append(Window(column, 0.0, part))
            taps.append((k, whole))
            windows.append(Window(column, part, 1.0))
        return [tap_outputs(law, taps) for law in self.laws], windows

    def exact(self, system: Matrices) -> Matrices:
        """Return the loop around a system without channels, sampled exactly; delays in continuous time are fractions."""
        laws, windows = self.late_laws()
        if self.sampling:
            windows = [*(Window(k) for k in range(system.B.shape[1])), *windows]
            kept = kept_columns(system, Channels(), windows, self.taken)
            found = sample_fraction(system, Channels(), self.step, 1, windows, self.taken)
            system = found.ports(len(system.A) + len(kept))
        else:
            system = _with_entries(system, windows)
        steps = self.connect(system, laws)
        return steps[0] if len(steps) == 1 else over_cycle(steps, ()).ports(len(steps[0].A))

    def connect(self, system: Matrices, laws: Sequence[Matrices], w: int = 0, z: int = 0) -> list[Matrices]:
        """Return the loop of a system with w and z channels at each step of the cycle."""
        steps = []
        for k, law in enumerate(laws):
            if self.sensors:
                system_k = system.in_series(side_by_side([Matrices.constant(np.eye(z)), self.sensors[k]]))
            else:
                system_k = system
            loop = connect(system_k, law, [z + j for j in self.taken])
            columns = np.arange(loop.D.shape[1] - len(self.passed))
            columns[w + np.array(self.passed, dtype=int)] = len(columns) + np.arange(len(self.passed))
            steps.append(loop.part(np.arange(len(loop.D)), columns))
        return steps

    def of_response(self, plant: Array, point: complex, omega: float) -> Array:
        """Return the response of the loop from that of the plant at a frequency (rad/s), delays in continuous time exact."""
        K = self.laws[0].responses(np.array([point]))[0]
        K, by_r = np.split(K * np.exp(-1j * omega * self.delays)[:, None], [len(self.taken)], axis=1)
        loop = np.eye(len(K)) - K @ plant[np.ix_(self.taken, self.driven)]
        closed = plant[:, self.driven] @ np.linalg.solve(loop, np.hstack([K @ plant[self.taken], by_r]))
        return closed + np.hstack([plant, np.zeros((len(plant), by_r.shape[1]))])


def read_closing(
    model: Connectable, controller: Any, stages: Any, delay: Any, order: Any, sign: Any, mixed: bool = False
) -> Closing:
    """Return a controller connected by names; of several the `sign` is not that of those with references (`mixed`).

    Raises `ModelError` for what is no linear system or cannot be connected.
    """
    controller = read_linear("controller", controller)
    if isinstance(sign, bool) or sign not in (-1, 1):
        advice = "1 for u = u_outside + K y, -1 for u = u_outside - K y, as simulate feeds back reference - y"
        raise ModelError(Finding("bad-value", "sign", sign, "1 or -1", advice))
    for name, value, most, usual in (("stages", stages, _STAGES, "1 or 2"), ("order", order, _ORDERS, "4")):
        read_count(Finding("bad-value", name, value, f"a whole number from 1 to {most}", f"{usual} will do"), 1, most)
    (w, z), (_, inputs, outputs) = model.channels, named_signals(model.M)
    known = {signal.name: signal for signal in outputs[z:]}
    wanted = [name.removeprefix(REFERENCE) in known and name not in known for name in controller.input_labels]
    if any(wanted) and mixed:
        sign = 1
    if any(wanted) and sign < 0:
        got, expected = "-1", "1 for a controller that takes references: its outputs have the signs of its commands"
        raise ModelError(Finding("bad-value", "sign", got, expected, "leave sign out"))
    order_of = np.argsort(wanted, kind="stable")  # references last
    names = [controller.input_labels[k] for k in order_of]
    count = len(names) - sum(wanted)
    references = tuple(known[name.removeprefix(REFERENCE)] for name in names[count:])
    references = tuple(Signal(f"{REFERENCE}{signal.path}", signal.unit) for signal in references)
    taken = positions("controller inputs", names[:count], outputs[z:])
    driven = positions("controller outputs", controller.output_labels, inputs[w:])
    if (len(taken), len(driven)) != (count, controller.noutputs):
        expected, advice = "a name for each of its inputs and outputs", "name the entries of vectors one by one"
        raise ModelError(Finding("unknown-signal", "controller", "names of vectors", expected, advice))
    step = _step(model.M, controller, mixed)
    if model.M.dt:
        _refuse_late(model, [z + k for k in taken], outputs)
    delays = read_delays(delay, controller.output_labels)
    labels = tuple(controller.state_labels), tuple(controller.output_labels)
    sampling = bool(step) and not model.M.dt
    every = np.arange(controller.noutputs)
    matrices = Matrices.of(controller).scale(np.full(len(every), float(sign))).part(every, order_of)
    return Closing((matrices,), *labels, taken, driven, references, delays, stages, order, step, sampling)


def closed_loop(model: Connectable, closing: Closing) -> tuple[StateSpace, tuple[DeltaBlock, ...]]:
    """Return the matrix M of the loop, and its blocks.

    Raises `ModelError` for delays of a sampled model that are no whole steps, and complex and full blocks in loops of several
    rates.
    """
    M, (w, _), blocks = model.M, model.channels, model.blocks
    kept: list[int] = []
    laws, windows = closing.late_laws()
    if closing.step and not closing.sampling and any(window.start for window in windows):
        expected, advice = f"whole periods of {closing.step:g} s", "give the delay where the model is sampled"
        raise ModelError(Finding("bad-time", "delay", closing.delays, expected, advice))
    if closing.sampling:
        system, blocks, kept = sample_channels(model, closing.step, closing.stages, windows, closing.taken)
    else:
        moved = [window._replace(column=w + window.column) for window in windows]
        system = _with_entries(Matrices.of(M), moved)
    w, z = channel_counts(blocks)
    steps = closing.connect(system, laws, w, z)
    matrices = steps[0]
    if len(steps) > 1:
        if others := [block.name for block in blocks if block.kind != "real"]:
            expected, advice = "real blocks alone in loops of several rates", "close by one rate, or leave the blocks out"
            raise ModelError(Finding("complex-block", "controller", ", ".join(others), expected, advice))
        lifted = over_cycle(steps, [block.repetitions for block in blocks])
        matrices = lifted.ports(len(steps[0].A))
        blocks = tuple(b._replace(repetitions=size, columns=size) for b, size in zip(blocks, lifted.sizes, strict=True))
    result = _name_signals(model, blocks, matrices, closing, kept)
    return result, with_degrees(result, blocks, sampled=True) if closing.is_of_intervals else blocks


def connect(system: Matrices, law: Matrices, taken: list[int]) -> Matrices:
    """Return the loop of a system and a law that takes some of its outputs and drives its last inputs.

    What the law takes beside the outputs are inputs of the loop, after the system's.

    Raises `ModelError` for a loop without a solution at once.
    """
    (outputs, inputs), (commands, _), readings = system.D.shape, law.D.shape, len(taken)
    first = inputs - commands
    loop = law.D[:, :readings] @ system.D[taken, first:]
    if np.linalg.svd(np.eye(commands) - loop, compute_uv=False).min(initial=1.0) < SINGULAR * (1.0 + np.linalg.norm(loop)):
        advice = "add an actuator's or a sensor's delay"
        raise ModelError(Finding("algebraic-loop", "controller", "a singular loop", "a loop with a solution at once", advice))
    wires = np.zeros((inputs + law.D.shape[1], outputs + commands))
    wires[first:inputs, outputs:] = np.eye(commands)
    wires[inputs + np.arange(readings), taken] = 1.0
    return side_by_side([system, law]).close_loop(wires).part(np.arange(outputs), np.r_[:first, inputs + readings : len(wires)])


def _step(M: StateSpace, controller: StateSpace, mixed: bool) -> float:
    """Return the sampling period (s) of the loop, zero in continuous time; that of one of several (`mixed`) may be its own."""
    period, step = float(M.dt or 0.0), controller.dt
    if step is True:
        advice = "give its step: control.ss(A, B, C, D, dt, inputs=[...], outputs=[...])"
        raise ModelError(Finding("no-sample-time", "controller", "discrete time without a step", "a sample time", advice))
    if not period or step is None or (step == 0 and not controller.nstates):
        return period or float(step or 0.0)
    if mixed and step:
        return float(step)
    if not np.isclose(step, period, rtol=SAME, atol=0):
        found = f"a step of {step:g} s" if step else "continuous time"
        advice = "see control.sample_system"
        raise ModelError(Finding("other-sample-time", "controller", found, f"the model's {period:g} s", advice))
    return period


def _refuse_late(model: Connectable, taken: list[int], outputs: Sequence[Signal]) -> None:
    """Refuse outputs of a sampled model that have the commands of their instant: controllers read them before."""
    late = [outputs[k].path for k in taken if np.any(model.M.D[k, model.channels[0] :])]
    if late:
        expected = "outputs that no command changes at its instant"
        advice = "close the controllers that take these first, or all at once (control.append)"
        raise ModelError(Finding("direct-feedthrough", "controller inputs", late, expected, advice))


def _with_entries(system: Matrices, windows: list[Window]) -> Matrices:
    """Return a system with inputs more: those that a law drives."""
    A, B, C, D = system
    columns = [window.column for window in windows]
    return Matrices(A, np.hstack([B, B[:, columns]]), C, np.hstack([D, D[:, columns]]))


def _name_signals(
    model: Connectable, blocks: tuple[DeltaBlock, ...], matrices: Matrices, closing: Closing, kept: Sequence[int]
) -> StateSpace:
    """Return matrices as a system with the signals of a model, and more states: inputs that are kept, the controller's."""
    (w, z), (states, inputs, outputs) = model.channels, named_signals(model.M)
    more = [Signal(f"{inputs[k].path}.before", inputs[k].unit) for k in kept]
    more += [Signal(name, "") for name in (*closing.sensed, *closing.states)]
    more += [Signal(f"delayed[{k}]", "") for k in range(len(matrices.A) - len(states) - len(more))]
    new_w, new_z = channel_signals(blocks)
    all_states, all_inputs = [*states, *unlike(more, states)], [*inputs[w:], *unlike(closing.references, inputs)]
    return named_system(matrices, all_states, [*new_w, *all_inputs], [*new_z, *outputs[z:]], str(model.M.name), closing.period)


# -- delays -----------------------------------------------------------------------------------------------------------------


def read_delays(delay: Any, outputs: Sequence[str]) -> Array:
    """Return the delay (s) of each output of a controller: one number for all, or numbers by name, zero of others.

    Raises `ModelError` for unknown names, and what are no times.
    """
    if not isinstance(delay, Mapping):
        return np.full(len(outputs), read_duration("delay", delay, zero=True))
    result, known = np.zeros(len(outputs)), [Signal(name, "") for name in outputs]
    for name, value in delay.items():
        at = positions("delay", [name], known)
        result[at] = read_duration(f"delay[{name!r}]", value, zero=True)
    return result


def split_delay(where: str, delay: float, period: float) -> tuple[int, float]:
    """Return a delay (s) as whole sampling periods (s), and the part of one that is left.

    Raises `ModelError` if so many samples are not kept.
    """
    if delay > _MOST * period:
        expected = f"{_MOST} periods at most"
        raise ModelError(Finding("bad-time", where, delay, expected, "check the units: delays are in seconds"))
    whole = int(delay / period + SAME)
    part = delay / period - whole
    return whole, part if part > SAME else 0.0


def tap_outputs(law: Matrices, taps: Sequence[tuple[int, int]]) -> Matrices:
    """Return a sampled system with other outputs: pairs of one of its own, and how many samples ago; those are states."""
    A, B, C, D = law
    n, depth = len(A), np.zeros(len(C), dtype=int)
    for output, ago in taps:
        depth[output] = max(depth[output], ago)
    first = n + np.cumsum([0, *depth])
    size = first[-1]
    now = np.hstack([C, np.zeros((len(C), size - n))])
    grown, driven = np.zeros((size, size)), np.zeros((size, B.shape[1]))
    grown[:n, :n], driven[:n] = A, B
    for output, start, count in zip(range(len(C)), first, depth, strict=False):
        if count:
            grown[start], driven[start] = now[output], D[output]
            grown[start + 1 : start + count, start : start + count - 1] = np.eye(count - 1)
    kept = np.eye(size)
    rows = [kept[first[output] + ago - 1] if ago else now[output] for output, ago in taps]
    direct = [np.zeros(B.shape[1]) if ago else D[output] for output, ago in taps]
    return Matrices(grown, driven, np.reshape(rows, (len(taps), size)), np.reshape(direct, (len(taps), B.shape[1])))


def add_delays(law: Matrices, delays: Array, order: int) -> Matrices:
    """Return a continuous system, fractions for delays (s) behind its outputs."""
    passing = Matrices.constant(np.ones((1, 1)))
    return law.in_series(side_by_side([pade(order, float(delay)) if delay else passing for delay in delays]))
