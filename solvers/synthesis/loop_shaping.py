"""Controllers of a loop whose shape is given: by weights of its sensitivities (`mixsyn`), or of the plant itself (`loopsyn`).

Both are `hinfsyn` for a plant that is built of weights. The controllers take the error ``reference - y``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from titop.blocks.basics.errors import Finding, ModelError
from titop.blocks.basics.user_input import real_array
from titop.solvers.linear.matrices import Matrices, side_by_side
from titop.solvers.linear.state_space import named_signals, named_system, period_of, read_linear, unlike
from titop.solvers.signals.exported import REFERENCE, Signal
from titop.solvers.synthesis.general_plant import GeneralPlant, refuse_hidden_modes, sensitivity_plant
from titop.solvers.synthesis.synthesize import Synthesis, solve_hinf

#: What outputs of weights are named after that shape a plant; of those, poles may be anywhere.
SHAPED = "shaped"


def mixsyn(plant: Any, w1: Any = None, w2: Any = None, w3: Any = None) -> Synthesis:
    """Return the controller of the least weighted mixed sensitivity: the norm of ``[w1 S; w2 K S; w3 T]``, but for a hundredth.

    With ``S = (1 + G K)⁻¹`` and ``T = 1 - S``; ``u = K (reference - y)``. A norm below one keeps each of S, K S and T below one
    over its weight.

    Parameters
    ----------
    plant : control.StateSpace or control.TransferFunction
        G.
    w1, w2, w3 : control.StateSpace, control.TransferFunction, float or array, optional
        Of the error, the controls and the outputs; with one input and one output each signal has its own copy. At least one.

    Returns
    -------
    Synthesis
        Its controller is named as the plant is, from outputs to inputs; connect it with ``sign=-1``. Its loop goes from the
        references ``r_...`` to the weighted signals ``....S``, ``....KS`` and ``....T``.

    Raises
    ------
    ModelError
        For weights of wrong size or another sample time, unstable ones among them, and as `hinfsyn`.

    Examples
    --------
    >>> import control, titop as tt
    >>> G = control.tf([1], [1, 0.2, 1], inputs=["torque"], outputs=["angle"])
    >>> K, loop, gain = tt.mixsyn(G, w1=control.tf([0.5, 1], [1, 0.001]), w2=0.1)
    >>> loop.input_labels, loop.output_labels
    (['r_angle'], ['angle_S', 'torque_KS'])
    """
    model = read_linear("plant", plant)
    period = period_of(model)
    G, (states, inputs, outputs) = Matrices.of(model), named_signals(model)
    m, p, n = len(inputs), len(outputs), len(states)
    weighted = [
        _Weight(name, weight, signals, ending, period)
        for name, weight, signals, ending in (("w1", w1, outputs, "S"), ("w2", w2, inputs, "KS"), ("w3", w3, outputs, "T"))
        if weight is not None
    ]
    if not weighted:
        raise ModelError(Finding("no-weight", "w1", None, "w1, w2 or w3", "such as w1=control.tf([0.5, 1], [1, 0.001])"))
    places = {"w1": np.arange(p), "w2": p + np.arange(m), "w3": p + m + np.arange(p)}
    rows = np.r_[np.concatenate([places[each.name] for each in weighted]), np.arange(p)].astype(int)
    # from (reference, u) to (error, u, y), chosen and repeated
    plain = Matrices(
        G.A,
        np.hstack([np.zeros((n, p)), G.B]),
        np.vstack([-G.C, np.zeros((m, n)), G.C]),
        np.block([[np.eye(p), -G.D], [np.zeros((m, p)), np.eye(m)], [np.zeros((p, p)), G.D]]),
    ).part(rows, np.arange(p + m))
    behind = side_by_side([*(each.system for each in weighted), Matrices.constant(np.eye(p))])
    return _synthesize(
        GeneralPlant(
            plain.in_series(behind),
            period,
            [*states, *unlike([state for each in weighted for state in each.states()], states)],
            [Signal(f"{REFERENCE}{s.path}", s.unit) for s in outputs],
            inputs,
            [signal for each in weighted for signal in each.outputs],
            outputs,
        )
    )


def loopsyn(plant: Any, before: Any = None, behind: Any = None) -> Synthesis:
    """Return the controller that keeps the shape of a loop, ``behind G before``, and is most robust in it.

    Weights shape the plant: high gain where the loop shall follow, low gain where it shall be robust. The controller is weights
    and the one between, ``before K behind``, that tolerates the largest errors of coprime factors of the shaped plant. The gain
    is one over that size: below 2 to 3 the shape is kept; more says that it contradicts the plant.

    Parameters
    ----------
    plant : control.StateSpace or control.TransferFunction
        G.
    before, behind : control.StateSpace, control.TransferFunction, float or array, optional
        Of the plant's inputs and of its outputs; with one input and one output each signal has its own copy.

    Returns
    -------
    Synthesis
        Its controller is named as the plant is; ``u = K (reference - y)``: connect it with ``sign=-1``. Its loop is that of
        the shaped plant, from disturbances at its inputs and noise at its outputs to what the controller gives, and the outputs
        as measured. Its `plant` has the same channels without weights.

    Raises
    ------
    ModelError
        As `mixsyn`.

    Notes
    -----
    McFarlane and Glover, A loop shaping design procedure using H-infinity synthesis, IEEE Transactions on Automatic Control 37
    (1992). The least gain is ``sqrt(1 + λ)``, λ the largest eigenvalue of the product of two Riccati solutions.

    Examples
    --------
    >>> import control, titop as tt
    >>> G = control.ss([[0.0]], [[1.0]], [[1.0]], [[0.0]], inputs=["force"], outputs=["speed"])
    >>> print(f"{tt.loopsyn(G).optimum:.2f}")
    1.41
    """
    model = read_linear("plant", plant)
    period = period_of(model)
    G, (states, inputs, outputs) = Matrices.of(model), named_signals(model)
    first, last = (
        _Weight(name, np.eye(len(signals)) if weight is None else weight, signals, SHAPED, period)
        for name, weight, signals in (("before", before, inputs), ("behind", behind, outputs))
    )
    disturbances = [Signal(f"{s.path}.{end}", s.unit) for of, end in ((inputs, "disturbance"), (outputs, "noise")) for s in of]
    efforts = [Signal(f"{s.path}.effort", s.unit) for s in inputs]
    measured = [Signal(f"{s.path}.measured", s.unit) for s in outputs]
    shaped = GeneralPlant(
        sensitivity_plant(first.system.in_series(G).in_series(last.system), -1),
        period,
        unlike([*first.states(), *states, *last.states()], []),
        disturbances,
        inputs,
        [*efforts, *last.outputs],
        outputs,
    )
    bare = GeneralPlant(sensitivity_plant(G, -1), period, states, disturbances, inputs, [*efforts, *measured], outputs)
    inner = _synthesize(shaped)
    estimates = named_signals(inner.controller)[0]
    whole = last.system.in_series(Matrices.of(inner.controller)).in_series(first.system)
    names = [*last.states("filter"), *estimates, *first.states("filter")]
    K = named_system(whole, unlike(names, []), outputs, inputs, "controller", period)
    return Synthesis(K, inner.loop, inner.gain, inner.optimum, bare.named)


class _Weight:
    """A weight of some signals: one for all, or a copy for each."""

    def __init__(self, name: str, weight: Any, signals: Sequence[Signal], ending: str, period: float) -> None:
        self.name, count = name, len(signals)
        numbers = real_array(weight)
        if isinstance(weight, bool):
            raise ModelError(Finding("wrong-type", name, weight, "a number, a matrix or a system", "1.0 for a weight of one"))
        if numbers is not None:
            if not np.isfinite(numbers).all():
                raise ModelError(Finding("not-finite", name, weight, "finite numbers", "look at what it was made from"))
            if not numbers.any():
                raise ModelError(Finding("bad-value", name, weight, "a weight that is not zero", "leave it out"))
            if numbers.ndim > 2:
                expected = "a number, a vector or a matrix"
                raise ModelError(Finding("wrong-shape", name, f"shape {numbers.shape}", expected, "give a matrix"))
            system = Matrices.constant(np.atleast_2d(numbers) if numbers.ndim != 1 else np.diag(numbers))
        else:
            model = read_linear(name, weight, "a control.StateSpace, a control.TransferFunction, a number or a matrix")
            system = Matrices.of(model)
            if len(system.A) and period_of(model) != period:
                expected = f"the plant's sample time, {period:g} s" if period else "continuous time, as the plant"
                advice = "sample the weight (control.sample_system), or the plant"
                raise ModelError(Finding("bad-time", name, f"a sample time of {period_of(model):g} s", expected, advice))
            poles = system.poles
            bad = np.abs(poles) >= 1 if period else poles.real >= 0
            if bad.any() and ending != SHAPED:
                advice = "replace an integrator by a slow lag, such as s by s + 0.001, unstable poles by their mirror images"
                raise ModelError(Finding("unstable-weight", name, f"a pole at {poles[bad][0]:.6g}", "a stable weight", advice))
        if system.D.shape == (1, 1) and count > 1:
            system = side_by_side([system] * count)
        is_square = len(system.D) == count
        if system.D.shape[1] != count or (ending == SHAPED and not is_square):
            expected = f"{count} inputs, one for each of {', '.join(s.path for s in signals)}, or one input and one output"
            advice = "repeat it by a diagonal system"
            raise ModelError(Finding("wrong-shape", name, f"shape {system.D.shape}", expected, advice))
        self.system = system
        paths = [s.path for s in signals] if is_square else [f"{name}[{k}]" for k in range(len(system.D))]
        self.outputs = [Signal(f"{path}.{ending}", "") for path in paths]

    def states(self, kind: str = "x") -> list[Signal]:
        return [Signal(f"{self.name}.{kind}[{k}]", "") for k in range(len(self.system.A))]


def _synthesize(plant: GeneralPlant) -> Synthesis:
    refuse_hidden_modes(plant)
    return solve_hinf(plant)
