"""Mu synthesis: robust performance in closed form, scalings by hand, members of a family, refusals."""

from __future__ import annotations

from typing import Any

import control
import numpy as np
import pytest

import titop as tt
from titop.blocks.basics.errors import ModelError
from titop.solvers.linear.matrices import Matrices, side_by_side

RELATIVE = 2e-3  # of a proved level: a tolerance of 1e-3 at the peak, and as much for what lies between


def lag(real: bool) -> tuple[Any, list[tt.DeltaBlock]]:
    """Return an unstable lag with an uncertain gain (``z = u / 2``), a weighted output and a little effort."""
    weight = control.ss(control.tf([0.1, 0.5], [1, 0.05]))
    names = {"inputs": ["gain_w[0]", "force", "noise", "u"], "outputs": ["gain_z[0]", "error", "effort", "y"]}
    D = [[0, 0, 0, 0.4], [0, 0, 0, 0], [0, 0, 0, 0.1], [0, 0, 0.1, 0]]
    plain = Matrices(np.array([[0.5]]), np.array([[1, 1, 0, 1.0]]), np.array([[0], [1], [0], [1.0]]), np.array(D))
    one, two = Matrices.constant(np.eye(1)), Matrices.constant(np.eye(2))
    whole = plain.in_series(side_by_side([one, Matrices.of(weight), two]))
    block = tt.DeltaBlock.real("gain") if real else tt.DeltaBlock.complex("gain")
    return control.ss(*whole, **names), [block]


def loop_gain(loop: Any, delta: complex, omega: float) -> float:
    """Return the gain of a loop with its only uncertain number at a value."""
    M = loop(1j * omega)
    closed = M[1:, 1:] + M[1:, :1] * delta / (1 - M[0, 0] * delta) @ M[:1, 1:]
    return float(np.linalg.norm(closed, 2))


@pytest.mark.long
def test_a_proved_level_holds_for_members_and_is_reached() -> None:
    """Complex numbers on the circle of size ``1 / β``: mu of a number and a full block is its upper bound."""
    P, blocks = lag(real=False)
    result = tt.musyn(P, "y", "u", blocks=blocks, progress=False)
    assert result.proof is not None
    assert result.gain == result.proof.upper
    size = 1 / result.gain
    turns = size * np.exp(1j * np.linspace(0, 2 * np.pi, 121))
    reached = max(loop_gain(result.loop, delta, omega) for delta in turns for omega in np.geomspace(1e-3, 1e3, 121))
    assert reached <= result.gain
    assert reached >= result.gain * (1 - 0.02), "grids of 5 % in frequency and 3 degrees; slopes at both peaks are zero"
    assert result.optimum < result.gain


def by_hand(P: Any, order: int) -> float:
    """Return the least H-infinity optimum over scalings d (a gain, or a lag beside it) of the uncertainty's channels."""
    from scipy.optimize import minimize

    def level(x: Any) -> float:
        d = control.tf([np.exp(x[0])], [1]) if not order else np.exp(x[0]) * control.tf([1, np.exp(x[1])], [1, np.exp(x[2])])
        both = [control.ss(d), control.ss(1 / d)]
        before, behind = (side_by_side([Matrices.of(s), Matrices.constant(np.eye(3))]) for s in (both[1], both[0]))
        scaled = before.in_series(Matrices.of(P)).in_series(behind)
        named = control.ss(*scaled, inputs=P.input_labels, outputs=P.output_labels)
        return tt.hinfsyn(named, "y", "u").optimum

    found = minimize(level, np.zeros(1 + 2 * order), method="Nelder-Mead", options={"xatol": 0.05, "fatol": 2e-3, "maxfev": 60})
    return float(found.fun)


@pytest.mark.long
def test_no_worse_than_scalings_fitted_by_hand() -> None:
    """D-K with a lag for D has two more states; five percent is what the issue of this function allows."""
    P, blocks = lag(real=False)
    result = tt.musyn(P, "y", "u", blocks=blocks, progress=False)
    assert result.gain <= 1.05 * by_hand(P, 1)
    real = tt.musyn(*lag(real=True)[:1], "y", "u", blocks=[tt.DeltaBlock.real("gain")], progress=False)
    assert real.gain <= result.gain * (1 + RELATIVE), "real numbers are complex ones"


def two_masses() -> Any:
    """Return two masses, the spring between from 0.5 to 2, force on one and place of the other, with weights."""
    A = np.array([[0, 0, 1, 0], [0, 0, 0, 1], [-1.25, 1.25, 0, 0], [1.25, -1.25, 0, 0.0]])
    B = np.array([[0, 0, 0, 0], [0, 0, 0, 0], [-1, 0, 0, 1], [1, 0.1, 0, 0.0]])
    C = np.array([[0.75, -0.75, 0, 0], [0, 1, 0, 0], [0, 0, 0, 0], [0, 1, 0, 0.0]])
    D = np.zeros((4, 4))
    D[2, 3], D[3, 2] = 1.0, 0.01
    weights = [control.tf([0.2, 0.1], [1, 0.01]), control.tf([0.05, 0.001], [0.01, 1])]
    one = Matrices.constant(np.eye(1))
    whole = Matrices(A, B, C, D).in_series(side_by_side([one, *(Matrices.of(control.ss(w)) for w in weights), one]))
    return control.ss(*whole, inputs=["k_w[0]", "force", "noise", "u"], outputs=["k_z[0]", "place", "effort", "y"])


@pytest.mark.long
def test_two_masses_with_an_uncertain_spring() -> None:
    """The least level of long runs is 0.76; constant scalings have 0.92. Both are of the search alone: no closed form."""
    P = two_masses()
    result = tt.musyn(P, "y", "u", blocks=[tt.DeltaBlock.real("k")], progress=False)
    assert result.gain <= 1.05 * 0.76 < 0.85 * by_hand(P, 0) * 1.05
    deltas = np.linspace(-1, 1, 21) / result.gain
    reached = max(loop_gain(result.loop, delta, omega) for delta in deltas for omega in np.geomspace(0.01, 100, 200))
    assert reached <= result.gain


@pytest.mark.long
def test_sampled_plants_are_those_of_the_bilinear_map() -> None:
    P, blocks = lag(real=False)
    sampled = control.sample_system(P, 0.05, "bilinear")
    sampled = control.ss(*Matrices.of(sampled), 0.05, inputs=P.input_labels, outputs=P.output_labels)
    one = tt.musyn(P, "y", "u", blocks=blocks, order=1, progress=False)
    other = tt.musyn(sampled, "y", "u", blocks=blocks, order=1, progress=False)
    assert other.controller.dt == 0.05
    assert one.controller.nstates == other.controller.nstates == 1
    assert other.gain == pytest.approx(one.gain, rel=0.01), "searches end within a percent of each other"


def test_what_cannot_be_done() -> None:
    P, blocks = lag(real=True)
    with pytest.raises(ModelError, match="no uncertain blocks") as caught:
        tt.musyn(P, "y", "u")
    assert caught.value.findings[0].code == "no-uncertainty"
    with pytest.raises(ModelError) as caught:
        tt.musyn(P, "y", "u", blocks=blocks, order=5)
    assert (caught.value.findings[0].code, caught.value.findings[0].where) == ("bad-value", "order")
    unmoved = control.ss(P.A, P.B * [1, 1, 1, 0], P.C, P.D, inputs=P.input_labels, outputs=P.output_labels)
    with pytest.raises(ModelError) as caught:
        tt.musyn(unmoved, "y", "u", blocks=blocks)
    assert caught.value.findings[0].code == "unstabilizable-mode"
    bare = control.ss(P.A, P.B[:, [0, 3]], P.C[[0, 3]], P.D[np.ix_([0, 3], [0, 3])], inputs=["w", "u"], outputs=["z", "y"])
    with pytest.raises(ModelError) as caught:
        tt.musyn(bare, "y", "u", blocks=blocks)
    assert caught.value.findings[0].code == "no-channel"
