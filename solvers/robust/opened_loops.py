"""Control loops that are opened to look at their margins: what users give, with a channel for each loop.

What is added in a loop is the input of its channel, what comes back there its output, all other loops closed.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from titop.blocks.basics.errors import Finding, ModelError
from titop.solvers.control.controllers import Loop, read_loops
from titop.solvers.lft.delta_blocks import DeltaBlock, Structure, channel_signals
from titop.solvers.lft.lft_model import LFTModel
from titop.solvers.linear.matrices import Matrices
from titop.solvers.linear.state_space import named_signals, named_system, positions, read_linear, signal_names
from titop.solvers.robust.uncertain_loop import UncertainLoop, check_stable, read_loop


def read_opened(loop: Any, at: Any, controller: Any, sign: int, blocks: Any) -> tuple[UncertainLoop, tuple[str, ...]]:
    """Return a closed loop with complex blocks where it is opened, the last ones, and their names."""
    model = loop
    if not isinstance(loop, LFTModel):
        model = LFTModel(read_linear("loop", loop), tuple(Structure.of(blocks or ()).blocks), ())
    names = None if at is None else list(signal_names("at", at))
    if controller is not None:
        model, names = _close(model, names, controller, sign)
    known = {block.name: k for k, block in enumerate(model.blocks) if block.kind != "real"}
    if names and all(name in known for name in names):
        system, opened = Matrices.of(model.M), [known[name] for name in names]
    elif model.blocks and names is None and (model.members is not None and model.members.closings):
        advice = 'open it before: plant.append("break", "hinge").close(K), at="break"; or give controller=K instead'
        raise ModelError(Finding("closed-loop", "at", None, f"one of the blocks {', '.join(known) or '(none)'}", advice))
    else:
        return _of_open_loop(model, names)
    structure = Structure.of(model.blocks)
    others = [k for k in range(len(model.blocks)) if k not in opened]
    for k in opened:
        if structure.blocks[k].repetitions != structure.blocks[k].columns:
            expected, advice = "as many rows as columns", "append it with a weight of 1"
            raise ModelError(Finding("bad-block", "at", structure.blocks[k].name, expected, advice))
    w, z = (np.concatenate([np.r_[side[k]] for k in [*others, *opened]]) for side in (structure.w, structure.z))
    labels = [
        structure.blocks[k].name + (f"[{j}]" if structure.blocks[k].repetitions > 1 else "")
        for k in opened
        for j in range(structure.blocks[k].repetitions)
    ]
    return _named_loop(model, system.part(z, w), [structure.blocks[k] for k in others], labels)


def _close(model: LFTModel, names: list[str] | None, controller: Any, sign: int) -> tuple[LFTModel, list[str]]:
    """Return the loop of a plant that was opened at some inputs or outputs, and the names of its blocks there."""
    (w, z), (_, inputs, outputs) = model.channels, named_signals(model.M)
    signals = [*inputs[w:], *outputs[z:]]
    if names is None:
        loops = read_loops(Loop(controller))
        driven = [label for each in loops for label in read_linear("controller", each.controller).output_labels]
        names = list(dict.fromkeys(driven))
    paths = [signals[k].path for k in positions("at", names, signals)]
    for path in paths:
        model = model.append(path, path)
    return model.close(controller, sign=sign), paths


def _of_open_loop(model: LFTModel, names: list[str] | None) -> tuple[UncertainLoop, tuple[str, ...]]:
    """Return an open loop with negative feedback."""
    system, (w, z), (_, inputs, _) = Matrices.of(model.M), model.channels, named_signals(model.M)
    count, rows = system.B.shape[1] - w, len(system.C) - z
    if count != rows or not count:
        expected = "as many inputs as outputs: an open loop L, with u = r - L u"
        advice = "multiply by the controller, or give it as controller="
        raise ModelError(Finding("not-square", "loop", f"{rows} outputs, {count} inputs", expected, advice))
    places = list(range(count)) if names is None else positions("at", names, inputs[w:])
    wires = np.zeros((w + count, z + count))
    wires[w:, z:] = -np.eye(count)
    try:
        closed = system.close_loop(wires)
    except np.linalg.LinAlgError:
        advice = "add an actuator's or a sensor's delay"
        raise ModelError(
            Finding("algebraic-loop", "loop", "1 + L singular", "a loop with a solution at once", advice)
        ) from None
    sides = np.concatenate([np.ones(z), -np.ones(count)])
    opened = [w + k for k in places], [z + k for k in places]
    part = closed.scale(sides).part([*range(z), *opened[1]], [*range(w), *opened[0]])
    return _named_loop(model, part, list(model.blocks), [inputs[w + k].path for k in places])


def _named_loop(
    model: LFTModel, system: Matrices, blocks: list[DeltaBlock], labels: list[str]
) -> tuple[UncertainLoop, tuple[str, ...]]:
    """Return the stable loop of channels of blocks, and of those at which it is opened behind them."""
    every = [*blocks, *(DeltaBlock.complex(f"loop {label}") for label in labels)]
    new_w, new_z = channel_signals(every)
    named = named_system(system, named_signals(model.M)[0], new_w, new_z, str(model.M.name), model.M.dt or 0.0)
    loop = read_loop(named, every)
    check_stable(loop, "loop", "check the signs: an open loop has u = r - L u, a controller u = K y; see sign=-1")
    return loop, tuple(labels)
