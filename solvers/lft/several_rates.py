"""Several controllers of different rates as one, whose law changes from step to step of a cycle.

The step is the largest of which all sample times are multiples, the cycle their least common multiple. Where a controller has
no sample its states stay, and its outputs are held: these are further states of the loop.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from titop.blocks.basics.errors import Finding, ModelError
from titop.blocks.basics.spatial import Array
from titop.blocks.basics.tolerances import SAME
from titop.solvers.arguments.reading import read_duration
from titop.solvers.control.controllers import discretise
from titop.solvers.control.loop_list import Loop, naming
from titop.solvers.lft.delta_blocks import Connectable
from titop.solvers.lft.feedback import Closing, read_closing, refuse_parts
from titop.solvers.linear.matrices import Matrices, side_by_side
from titop.solvers.linear.state_space import read_linear

#: Steps of a cycle, at most.
_STEPS = 1000


def read_controllers(loops: Sequence[Loop]) -> tuple[list[tuple[int, Loop]], list[tuple[int, Loop]]]:
    """Return the loops in continuous time and those that are sampled, each with its place in the list.

    Raises
    ------
    ModelError
        For what is no linear system, and for unusable sample times.
    """
    parts: tuple[list[tuple[int, Loop]], list[tuple[int, Loop]]] = [], []
    for k, loop in enumerate(loops):
        with naming(k if len(loops) > 1 else None):
            K = read_linear("controller", loop.controller)
            if loop.sample_time is not None:
                K = _sampled(K, read_duration("sample_time", loop.sample_time))
            parts[bool(K.dt)].append((k, Loop(K, delay=loop.delay)))
    return parts


def _sampled(K: Any, step: float) -> Any:
    """Return a controller in discrete time, its sample time that of the loop."""
    K = discretise(K, step)
    if K.dt is None or K.dt is True:
        import control

        labels = {"inputs": K.input_labels, "outputs": K.output_labels, "states": K.state_labels}
        return control.ss(K.A, K.B, K.C, K.D, step, **labels)
    return K


def join_closings(model: Connectable, loops: Sequence[tuple[int, Loop]], stages: Any, order: Any, sign: Any) -> Closing:
    """Return several sampled controllers as one.

    Raises
    ------
    ModelError
        For what cannot be connected, and for sample times without a common multiple.
    """
    parts = []
    for k, loop in loops:
        with naming(k):
            parts.append(read_closing(model, loop.controller, stages, loop.delay, order, sign, mixed=True))
    base = [float(model.M.dt)] if model.M.dt else []
    step, every = _common_step([*base, *(part.step for part in parts)])
    if base:
        if every[0] != 1:
            expected, advice = f"multiples of the model's {base[0]:g} s", "close all controllers of a continuous model at once"
            raise ModelError(Finding("other-sample-time", "controller", step, expected, advice))
        every = every[1:]
    known = list(dict.fromkeys(signal for part in parts for signal in part.references))
    laws = [
        _side_by_side([_at_step(part, k, count, len(known), known) for part, count in zip(parts, every, strict=True)], parts)
        for k in range(math.lcm(*every))
    ]
    states = tuple(name for (k, _), part, count in zip(loops, parts, every, strict=True) for name in _states(k, part, count))
    first = parts[0]
    closing = first._replace(
        laws=tuple(laws),
        states=states,
        outputs=tuple(name for part in parts for name in part.outputs),
        taken=[k for part in parts for k in part.taken],
        driven=[k for part in parts for k in part.driven],
        references=tuple(known),
        delays=np.concatenate([part.delays for part in parts]),
        step=step,
    )
    refuse_parts(closing)
    return closing


def _states(place: int, part: Closing, every: int) -> Iterator[str]:
    """Yield the names of a controller's states, and of outputs that are held."""
    yield from (f"controller[{place}].{name}" for name in part.states)
    if every > 1:
        yield from (f"controller[{place}].{name}.held" for name in part.outputs)


def _at_step(part: Closing, k: int, every: int, references: int, known: Sequence[Any]) -> Matrices:
    """Return the law of a controller with a sample at each `every` step, at step k; references are all `known` ones."""
    A, B, C, D = part.laws[0]
    taken = len(part.taken)
    columns = [*range(taken), *(taken + known.index(signal) for signal in part.references)]
    wide = np.eye(taken + references)[columns]  # from all references to its own
    B, D, (n, commands) = B @ wide, D @ wide, (len(A), len(C))
    if every == 1:
        return Matrices(A, B, C, D)
    nothing = np.zeros((n, commands))
    if k % every:
        held = np.hstack([nothing.T, np.eye(commands)])
        return Matrices(np.eye(n + commands), np.zeros((n + commands, wide.shape[1])), held, np.zeros_like(D))
    grown = np.block([[A, nothing], [C, np.zeros((commands, commands))]])
    return Matrices(grown, np.vstack([B, D]), np.hstack([C, np.zeros((commands, commands))]), D)


def _side_by_side(laws: Sequence[Matrices], parts: Sequence[Closing]) -> Matrices:
    """Return laws as one that takes all of their outputs, then the references, which they share."""
    whole = side_by_side(laws)
    starts = np.cumsum([0, *(law.D.shape[1] for law in laws)])
    taken = [start + j for start, part in zip(starts, parts, strict=False) for j in range(len(part.taken))]
    shared = laws[0].D.shape[1] - len(parts[0].taken)
    to_inputs: Array = np.zeros((starts[-1], len(taken) + shared))
    to_inputs[taken, np.arange(len(taken))] = 1.0
    for start, part in zip(starts, parts, strict=False):
        to_inputs[start + len(part.taken) + np.arange(shared), len(taken) + np.arange(shared)] = 1.0
    return Matrices(whole.A, whole.B @ to_inputs, whole.C, whole.D @ to_inputs)


def _common_step(times: Sequence[float]) -> tuple[float, list[int]]:
    """Return the largest step (s) of which sample times are multiples, and how many steps each is.

    Raises
    ------
    ModelError
        If there is none, or the cycle takes too many steps.
    """
    least = min(times)
    ratios = [Fraction(time / least).limit_denominator(_STEPS) for time in times]
    shared = math.lcm(*(ratio.denominator for ratio in ratios))
    every = [int(ratio * shared) for ratio in ratios]
    for time, ratio in zip(times, ratios, strict=True):
        if abs(time / least - ratio) > SAME * ratio:
            expected, advice = f"a simple fraction of {least:g} s", "choose rates with a common multiple, or simulate"
            raise ModelError(Finding("no-common-period", "sample_time", time, expected, advice))
    if (count := math.lcm(*every)) > _STEPS:
        found = f"{count} steps of {least / shared:.3g} s until all sample again"
        advice = "choose rates in simple proportions"
        raise ModelError(Finding("no-common-period", "sample_time", found, f"{_STEPS} at most", advice))
    return least / shared, every
