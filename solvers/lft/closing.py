"""Linear fractional models with a controller, or with neglected dynamics."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from titop.blocks.basics.errors import Finding, ModelError, did_you_mean
from titop.blocks.basics.spatial import Array
from titop.solvers.lft.delta_blocks import DeltaBlock
from titop.solvers.linear.linearize import named_system
from titop.solvers.signals.exported import Signal, exported

if TYPE_CHECKING:
    from control import StateSpace

#: A loop whose feedthrough has a reciprocal condition below this has no solution at once.
_SINGULAR = 1e-12


class Closable(Protocol):
    """A linear fractional model."""

    @property
    def M(self) -> StateSpace: ...
    @property
    def blocks(self) -> tuple[DeltaBlock, ...]: ...
    @property
    def channels(self) -> tuple[int, int]: ...


def closed_loop(model: Closable, controller: StateSpace) -> StateSpace:
    """Return the matrix M of the loop ``u = u_outside + K y``, signals connected by name."""
    import control

    if not isinstance(controller, control.StateSpace):
        raise ModelError(
            Finding("wrong-type", "controller", type(controller).__name__, "a control.StateSpace", "use control.ss")
        )
    if controller.dt not in (0, None):
        found, advice = f"a step of {controller.dt}", "give its continuous form, delays as Pade approximations (control.pade)"
        raise ModelError(Finding("sampled-controller", "controller", found, "a controller in continuous time", advice))
    M, (w, z) = model.M, model.channels
    taken = _positions("inputs", controller.input_labels, list(M.output_labels)[z:], z)
    driven = _positions("outputs", controller.output_labels, list(M.input_labels)[w:], w)
    Dk, C2, D2 = np.asarray(controller.D), M.C[taken], M.D[taken]
    feedthrough = np.eye(len(Dk)) - Dk @ M.D[np.ix_(taken, driven)]
    if 1.0 / np.linalg.cond(feedthrough) < _SINGULAR:
        advice = "add an actuator's or a sensor's delay"
        raise ModelError(Finding("algebraic-loop", "controller", "a singular loop", "a loop with a solution at once", advice))
    # u = K_x x + K_k x_k + K_u u_outside of the driven inputs
    by = np.linalg.solve(feedthrough, np.hstack([Dk @ C2, controller.C, Dk @ D2]))
    n, k = M.nstates, controller.nstates
    by_x, by_k, by_u = np.split(by, [n, n + k], axis=1)
    B, D = M.B[:, driven], M.D[:, driven]
    A_rows = np.hstack([M.A + B @ by_x, B @ by_k])
    C = np.hstack([M.C + D @ by_x, D @ by_k])
    B_all, D_all = M.B + B @ by_u, M.D + D @ by_u
    A = np.vstack([A_rows, np.hstack([controller.B @ C[taken][:, :n], controller.A + controller.B @ C[taken][:, n:]])])
    return _like(M, (A, np.vstack([B_all, controller.B @ D_all[taken]]), C, D_all), list(controller.state_labels))


def with_neglected(model: Closable, name: str, signal: str, weight: Any) -> StateSpace:
    """Return the matrix M with a channel more, after those that are there: a signal times ``1 + weight δ``."""
    import control

    if name in [block.name for block in model.blocks]:
        raise ModelError(Finding("given-twice", "name", name, "a new name", "choose another"))
    W = weight if isinstance(weight, control.StateSpace) else control.ss([], [], [], [[float(weight)]])
    if (W.ninputs, W.noutputs) != (1, 1) or (W.nstates and np.linalg.eigvals(W.A).real.max() >= 0):
        found = f"{W.noutputs} x {W.ninputs}, {W.nstates} states"
        raise ModelError(
            Finding("bad-weight", "weight", found, "one input, one output, stable", "see control.ss, control.tf2ss")
        )
    M, (w, z) = model.M, model.channels
    inputs, outputs = list(M.input_labels), list(M.output_labels)
    n, k, known = M.nstates, W.nstates, [*inputs[w:], *outputs[z:]]
    if exported(signal) not in known:
        raise ModelError(Finding("unknown-signal", "signal", signal, "an input or an output", did_you_mean(signal, known)))
    if exported(signal) in inputs[w:]:
        j = w + inputs[w:].index(exported(signal))
        # z = W u_j, u_j -> u_j + w_new
        row_C, row_D = np.zeros((1, n)), np.eye(len(inputs))[[j]]
        col_B, col_D = M.B[:, [j]], M.D[:, [j]]
    else:
        i = z + outputs[z:].index(exported(signal))
        row_C, row_D = M.C[[i]], M.D[[i]]
        col_B, col_D = np.zeros((n, 1)), np.eye(len(outputs))[:, [i]]
    A = np.block([[M.A, np.zeros((n, k))], [W.B @ row_C, W.A]])
    B = np.vstack([np.insert(M.B, [w], col_B, axis=1), np.insert(W.B @ row_D, [w], np.zeros((k, 1)), axis=1)])
    new_C, new_D = np.hstack([W.D @ row_C, W.C]), np.insert(W.D @ row_D, [w], np.zeros((1, 1)), axis=1)
    C = np.insert(np.hstack([M.C, np.zeros((len(outputs), k))]), [z], new_C, axis=0)
    D = np.insert(np.insert(M.D, [w], col_D, axis=1), [z], new_D, axis=0)
    system = _signals(M)
    inputs_, outputs_ = system[1], system[2]
    inputs_.insert(w, Signal(f"{name}.w[0]", "1"))
    outputs_.insert(z, Signal(f"{name}.z[0]", "1"))
    states = [*system[0], *(Signal(f"{name}.x{i + 1}", "1") for i in range(k))]
    return named_system((A, B, C, D), states, inputs_, outputs_, str(M.name))


def _positions(side: str, names: list[str], known: list[str], start: int) -> Array:
    """Return where the signals of a controller stand among those of a model."""
    for name in names:
        if name not in known:
            advice = did_you_mean(name, known)
            raise ModelError(Finding("unknown-signal", f"controller {side}", name, "a signal of the model", advice))
    return np.array([start + known.index(name) for name in names], dtype=int)


def _like(M: StateSpace, matrices: tuple[Array, Array, Array, Array], added: list[str]) -> StateSpace:
    """Return matrices as a system with the signals of another, and more states."""
    states, inputs, outputs = _signals(M)
    names = {state.name for state in states}
    more = [Signal(name if name not in names else f"controller_{name}", "") for name in added]
    return named_system(matrices, [*states, *more], inputs, outputs, str(M.name))


def _signals(M: StateSpace) -> tuple[list[Signal], list[Signal], list[Signal]]:
    table = getattr(M, "signals", {})
    groups = M.state_labels, M.input_labels, M.output_labels
    states, inputs, outputs = ([table.get(label, Signal(label, "")) for label in labels] for labels in groups)
    return states, inputs, outputs
