"""Controllers of lower order: what matters least in their loop is left out, and the loop checked again.

How much a state of a controller matters is how far the loop moves it (its part of the controllability Gramian of the closed
loop) and how much of it the loop shows (of the observability Gramian): Enns' weighted balancing, where the weights are those of
the loop itself. Controllers may be unstable then, as only the loop is stable.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy.linalg import schur, solve_continuous_lyapunov, solve_sylvester

from titop.blocks.basics.errors import Finding, ModelError
from titop.blocks.basics.notebook import attributes_page, counted
from titop.blocks.basics.spatial import Array
from titop.blocks.basics.tolerances import EXACT, NEAR_AXIS, SINGULAR
from titop.blocks.basics.user_input import read_count
from titop.solvers.linear.matrices import Matrices, side_by_side
from titop.solvers.linear.peaks import peak_gain
from titop.solvers.linear.state_space import named_signals, named_system, period_of, positions, read_linear
from titop.solvers.robust.robust_stability import RobustStability, robust_stability
from titop.solvers.robust.uncertain_loop import to_continuous, to_sampled
from titop.solvers.signals.exported import REFERENCE, Signal, exported_name
from titop.solvers.support.workers import one_thread
from titop.solvers.synthesis.general_plant import close, sensitivity_plant
from titop.solvers.synthesis.synthesize import Synthesis

if TYPE_CHECKING:
    from control import StateSpace


@dataclass(frozen=True)
class ReducedController:
    """A controller of lower order, and what it costs.

    Attributes
    ----------
    controller : control.StateSpace
    error : float
        Norm (H-infinity, certified, in units of the controls over those of the measurements) of what was left out; infinite if
        that is unstable.
    gain, before : float
        Norms of the loop with this controller and with the one before, certified; NaN without a loop.
    proof : RobustStability or None
        Of the family closed by this controller.

    Examples
    --------
    >>> import control, titop as tt
    >>> K = control.append(control.tf([2], [1, 1]), control.tf([1], [1e-3, 1]))
    >>> less = tt.reduce_controller(K, 1)
    >>> less.controller.nstates, bool(less.error < 1.1), less.proof is None
    (1, True, True)
    """

    controller: StateSpace
    error: float
    gain: float
    before: float
    proof: RobustStability | None

    _repr_html_ = attributes_page

    def __str__(self) -> str:
        text = f"{counted(self.controller.nstates, 'state')}, error {self.error:.4g}"
        if not np.isnan(self.gain):
            text = f"{text}, gain of the loop {self.gain:.6g} after {self.before:.6g}"
        return text if self.proof is None else f"{text}; {self.proof}"


class _Loop(NamedTuple):
    """A plant ``(w, u) -> (z, y)`` around a controller, y with its references, in continuous time."""

    plant: Matrices
    z: int
    w: int

    def close(self, K: Matrices) -> Matrices | None:
        """Return the loop, None if it is ill-posed or unstable."""
        try:
            result = close(self.plant, K, self.z, self.w)
        except np.linalg.LinAlgError:
            return None
        return result if np.isfinite(result.A).all() and (result.poles.real < 0).all() else None


@one_thread()
def reduce_controller(controller: Any, order: int, loop: Any = None, sign: int = 1) -> ReducedController:
    """Return a controller of lower order: balanced, in its loop if that is given, which is proved again.

    Without a loop, the stable part of a controller is balanced and truncated: the error is at most twice the sum of the
    singular values left out. Integrators are always kept. With a loop, states count for what the loop makes of them: with
    respect to its own disturbances and errors, and to disturbances at all controls and noise on all measurements. The others
    are left out, or follow at once with what they are at rest. The best of these in the loop is returned.

    Parameters
    ----------
    controller : control.StateSpace or control.TransferFunction
        Also an unstable or a sampled one.
    order : int
        States to be kept, at most.
    loop : Synthesis, control.StateSpace or LFTModel, optional
        What `hinfsyn` or a function like it returned: the controller's loop with its weights. Or a plant without controller,
        connected by names as in `LFTModel.close`; inputs ``r_...`` of the controller are references. A family is proved
        robustly stable again.
    sign : {1, -1}
        Of the feedback: ``u = sign K y``; a `Synthesis` has its own.

    Returns
    -------
    ReducedController
        States of its controller are combinations of those before.

    Raises
    ------
    ModelError
        For unknown signals, another sample time, a loop that the controller does not stabilize; and if no controller of this
        order that was tried keeps the loop stable, or the family robust: it says which order does.

    Notes
    -----
    Enns, Model reduction for control system design, Stanford (1984); Liu and Anderson, Singular perturbation approximation of
    balanced systems (1989).

    Examples
    --------
    >>> import control, titop as tt
    >>> G = control.tf([1], [1, 0.2, 1], inputs=["torque"], outputs=["angle"])
    >>> S = tt.mixsyn(G, w1=control.tf([0.5, 1], [1, 0.001]), w2=0.1)
    >>> less = tt.reduce_controller(S.controller, 2, loop=S)
    >>> less.controller.nstates, bool(less.gain < 1.1 * S.gain)
    (2, True)
    """
    model = read_linear("controller", controller)
    n = model.nstates
    wrong = Finding("bad-value", "order", order, f"a number of states from 0 to {n}", "the controller has no more")
    order = read_count(wrong, 0, n)
    period = period_of(model)
    full = Matrices.of(model)
    K = (to_continuous(full, period, "controller") if period else full).balance()
    if isinstance(loop, Synthesis):
        loop, sign = loop.plant, 1
    around = None if loop is None else _read_loop(loop, model, period, sign)
    closed = None if around is None else around.close(K)
    if around is not None and closed is None:
        advice = "close it with the other sign, or give the plant that the controller was made for"
        raise ModelError(Finding("unstable-loop", "loop", "unstable with the controller", "a stable loop", advice))
    choices = [_alone(K), *([] if around is None else _in_loop(around, K))]
    best = _best(choices, order, around)
    proof = None if best is None else _proof(loop, model, best[1], period, sign)
    if best is None or (proof is not None and proof.robust is False):
        expected = "a loop that stays stable, a family that stays robust, unstable modes and integrators that are kept"
        enough = next((k for k in range(order + 1, n) if best is None and _best(choices, k, around)), n)
        advice = f"take {enough} or more" if best is None else "the family is not robust any more: take more"
        raise ModelError(Finding("order-too-low", "order", order, expected, advice))
    gain, reduced, difference = best
    error, _ = peak_gain(difference)
    before = np.nan if closed is None else peak_gain(closed)[0]
    return ReducedController(_named(reduced, model, period), error, gain, before, proof)


class _Choice(NamedTuple):
    """A controller as a sum of what is kept and what is reduced, and the Gramians of the latter."""

    kept: Matrices
    rest: Matrices
    P: Array
    Q: Array

    def reduce(self, order: int) -> Iterator[tuple[Matrices, Matrices]]:
        """Yield controllers that keep the largest singular values, and what is lost: others are left out, or follow at once."""
        rest, lower, upper = self.rest, _root(self.P), _root(self.Q)
        left, sizes, right = np.linalg.svd(upper.T @ lower)
        rank = int((sizes > EXACT * sizes.max(initial=0.0)).sum())
        scale = np.sqrt(sizes[:rank])
        T, W = lower @ right[:rank].T / scale, upper @ left[:, :rank] / scale
        A, B, C, k = W.T @ rest.A @ T, W.T @ rest.B, rest.C @ T, min(order - len(self.kept.A), rank)
        if k < 0:
            return
        yield self._with(Matrices(A[:k, :k], B[:k], C[:, :k], rest.D))
        fast = np.linalg.svd(A[k:, k:], compute_uv=False)
        if k < rank and fast[-1] > SINGULAR * fast[0]:
            after, out = A[:k, k:], C[:, k:]
            by_x, by_y = np.linalg.solve(A[k:, k:], A[k:, :k]), np.linalg.solve(A[k:, k:], B[k:])
            slow = Matrices(A[:k, :k] - after @ by_x, B[:k] - after @ by_y, C[:, :k] - out @ by_x, rest.D - out @ by_y)
            yield self._with(slow)

    def _with(self, slow: Matrices) -> tuple[Matrices, Matrices]:
        return _sum(self.kept, slow), _sum(self.rest, slow.scale(-np.ones(len(slow.C))))


def _best(choices: Sequence[_Choice], order: int, around: _Loop | None) -> tuple[float, Matrices, Matrices] | None:
    """Return the least gain, the reduced controller that has it, and what is lost; None if none keeps the loop stable."""
    every = []
    for choice in choices:
        for reduced, lost in choice.reduce(order):
            if around is None:
                return np.nan, reduced, lost
            closed = around.close(reduced)
            if closed is not None:
                every.append((peak_gain(closed)[0], reduced, lost))
    return min(every, key=lambda one: one[0], default=None)


def _sum(one: Matrices, other: Matrices) -> Matrices:
    """Return two models of the same inputs with their outputs added."""
    A = side_by_side([one, other]).A
    return Matrices(A, np.vstack([one.B, other.B]), np.hstack([one.C, other.C]), one.D + other.D)


def _split(K: Matrices, is_kept: Callable[[float], bool]) -> tuple[Matrices, Matrices]:
    """Return a controller as a sum, of the modes to be kept by their real parts, and the others."""
    A, B, C, D = K
    T, basis, k = schur(A, output="real", sort=lambda real, imag=0.0: is_kept(np.real(real)))
    X = solve_sylvester(T[:k, :k], -T[k:, k:], -T[:k, k:]) if 0 < k < len(A) else np.zeros((k, len(A) - k))
    B, C = basis.T @ B, C @ basis
    return (Matrices(T[:k, :k], B[:k] - X @ B[k:], C[:, :k], 0 * D), Matrices(T[k:, k:], B[k:], C[:, :k] @ X + C[:, k:], D))


def _root(P: Array) -> Array:
    sizes, vectors = np.linalg.eigh((P + P.T) / 2)
    return np.asarray(vectors * np.sqrt(np.maximum(sizes, 0.0)))


def _alone(K: Matrices) -> _Choice:
    kept, rest = _split(K, lambda real: real >= -NEAR_AXIS * _fastest(K))
    return _Choice(kept, rest, *_gramians(rest, 0))


def _in_loop(around: _Loop, K: Matrices) -> Iterator[_Choice]:
    """Yield a controller with its integrators kept, by two choices of disturbances and errors of the loop."""
    plant, z, w = around
    m, p, n = plant.B.shape[1] - w, len(plant.C) - z, len(plant.A)
    kept, rest = _split(K, lambda real: abs(real) <= NEAR_AXIS * _fastest(K))
    whole, n = _sum(kept, rest), n + len(kept.A)
    block = sensitivity_plant(plant.part(np.arange(z, z + p), np.arange(w, w + m)), 1)
    closed, four = around.close(whole), _Loop(block, m + p, m + p).close(whole)
    if closed is not None:
        yield _Choice(kept, rest, *_gramians(closed, n))
    if four is not None:
        P = solve_continuous_lyapunov(four.A, -four.B @ four.B.T)
        seen = np.diag(four.C @ P @ four.C.T)
        units = np.sqrt([max(part.sum(), 0.0) or 1.0 for part in (seen[:m], seen[m:])])
        size = np.r_[np.full(m, units[0]), np.full(p, units[1])]
        yield _Choice(kept, rest, *_gramians(four.scale(1 / size, size), n))


def _fastest(K: Matrices) -> float:
    return float(np.abs(K.poles).max(initial=0.0))


def _gramians(closed: Matrices, n: int) -> tuple[Array, Array]:
    """Return the Gramians' parts of the states behind the first n."""
    A, B, C, _ = closed
    P, Q = solve_continuous_lyapunov(A, -B @ B.T), solve_continuous_lyapunov(A.T, -C.T @ C)
    return P[n:, n:], Q[n:, n:]


def _read_loop(loop: Any, controller: StateSpace, period: float, sign: Any) -> _Loop:
    if isinstance(sign, bool) or sign not in (-1, 1):
        raise ModelError(Finding("bad-value", "sign", sign, "1 or -1", "-1 for u = K (reference - y), 1 for u = K y"))
    model = read_linear("loop", getattr(loop, "M", loop), "a control.StateSpace or an LFTModel")
    other = period_of(model)
    if other != period:
        expected, advice = f"the controller's, {period:g} s", "sample both alike (control.sample_system)"
        raise ModelError(Finding("bad-time", "loop", f"a sample time of {other:g} s", expected, advice))
    _, inputs, outputs = named_signals(model)
    _, takes, drives = named_signals(controller)
    labels = [s.name for s in outputs]
    referred = [s.name not in labels and s.name.startswith(REFERENCE) for s in takes]
    y = positions("controller inputs", [s.name for s, r in zip(takes, referred, strict=True) if not r], outputs)
    u = positions("controller outputs", [s.name for s in drives], inputs)
    z, w = ([k for k in range(len(every)) if k not in taken] for every, taken in ((outputs, y), (inputs, u)))
    plant = Matrices.of(model).part(np.r_[z, y].astype(int), np.r_[w, u].astype(int))
    plant = to_continuous(plant, period, "loop") if period else plant
    if not z or not w:  # all is measured, or driven: the sensitivities count
        plant = sensitivity_plant(plant.part(np.arange(len(z), len(outputs)), np.arange(len(w), len(inputs))), 1)
        z, w = list(range(len(u) + len(y))), list(range(len(u) + len(y)))
    # references are more disturbances, passed to where the controller takes them; measurements have the sign of the feedback
    first, m, count = len(w), plant.B.shape[1], sum(referred)
    whole = side_by_side([plant.scale(np.r_[np.ones(len(z)), np.full(len(y), sign)]), Matrices.constant(np.eye(count))])
    order = np.argsort(np.argsort(referred, kind="stable"), kind="stable")
    rows, columns = np.r_[: len(z), len(z) + order], np.r_[:first, m : m + count, first:m]
    return _Loop(whole.part(rows.astype(int), columns.astype(int)), len(z), first + count)


def _proof(loop: Any, controller: StateSpace, reduced: Matrices, period: float, sign: int) -> RobustStability | None:
    if not getattr(loop, "blocks", None):
        return None
    return robust_stability(loop.close(_named(reduced, controller, period), sign=sign), progress=False)


def _named(reduced: Matrices, controller: StateSpace, period: float) -> StateSpace:
    _, takes, drives = named_signals(controller)
    states = [Signal(f"controller.x[{k}]", "") for k in range(len(reduced.A))]
    system = to_sampled(reduced, period) if period else reduced
    return named_system(system, states, takes, drives, exported_name(str(controller.name)), period)
