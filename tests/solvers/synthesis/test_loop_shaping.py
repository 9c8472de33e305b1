"""Mixed sensitivity and loop shaping: python-control, closed forms, integrators, refusals."""

from __future__ import annotations

from typing import Any

import control
import numpy as np
import pytest
from scipy.linalg import block_diag

import titop as tt

WEIGHT = control.tf([0.5, 1], [1, 0.001])


def resonance() -> Any:
    return control.tf([1], [1, 0.2, 1], inputs=["torque"], outputs=["angle"])


def test_mixed_sensitivity_as_python_control_has_it() -> None:
    pytest.importorskip("slycot")
    *_, (theirs, _) = control.mixsyn(control.ss(resonance()), control.ss(WEIGHT), control.ss([], [], [], 0.1), None)
    result = tt.mixsyn(resonance(), w1=WEIGHT, w2=0.1)
    assert result.optimum == pytest.approx(theirs, rel=3e-3), "their level is known to 1e-3, ours to 2e-3"
    assert result.gain <= 1.01 * theirs


def test_the_loop_is_that_of_the_named_controller_and_its_weights() -> None:
    G, w3 = resonance(), control.tf([1, 0], [0.01, 1])
    result = tt.mixsyn(G, w1=WEIGHT, w2=0.1, w3=w3)
    K = result.controller
    assert (K.input_labels, K.output_labels) == (["angle"], ["torque"])
    assert result.loop.input_labels == ["r_angle"]
    assert result.loop.output_labels == ["angle_S", "torque_KS", "angle_T"]
    assert K.state_labels[-2:] == ["w1_x[0]_estimate", "w3_x[0]_estimate"]
    for omega in (0.0, 0.3, 1.0, 20.0):
        g, k, w = (complex(system(1j * omega)) for system in (G, K, WEIGHT))
        S = 1 / (1 + g * k)
        expected = [w * S, 0.1 * k * S, complex(w3(1j * omega)) * g * k * S]
        assert np.squeeze(result.loop(1j * omega)) == pytest.approx(expected, rel=1e-8), "rounding of two realisations"
        assert np.linalg.norm(expected) <= result.gain


def test_several_channels_have_copies_of_a_weight() -> None:
    rng = np.random.default_rng(0)
    G = control.StateSpace(
        rng.normal(size=(3, 3)), rng.normal(size=(3, 2)), rng.normal(size=(2, 3)), 0.1 * rng.normal(size=(2, 2))
    )
    one = tt.mixsyn(G, w1=WEIGHT, w2=[0.1, 0.1])
    whole = control.append(control.ss(WEIGHT), control.ss(WEIGHT))
    two = tt.mixsyn(G, w1=whole, w2=0.1 * np.eye(2))
    assert one.optimum == pytest.approx(two.optimum, rel=2.1e-3), "states in another order, another bracket"
    assert one.loop.noutputs == 4
    assert tt.mixsyn(G, w2=[[0.1, 0.2]], w1=1.0).loop.output_labels[2:] == ["w2[0]_KS"]


def test_rigid_modes_that_no_reference_excites() -> None:
    pytest.importorskip("slycot")
    w1, w3 = control.tf([0.5, 0.05], [1, 0.001]), control.tf([1, 0], [0.01, 5])
    result = tt.mixsyn(control.tf([1], [1, 0, 0]), w1=w1, w2=0.05, w3=w3)
    # slycot refuses zeros on the axis; a little damping moves the optimum by as little
    slightly = control.ss(control.tf([1], [1, 2e-2, 1e-4]))
    *_, (theirs, _) = control.mixsyn(slightly, control.ss(w1), control.ss([], [], [], 0.05), control.ss(w3))
    assert result.optimum == pytest.approx(theirs, rel=5e-3)
    assert result.gain < 1.015 * theirs


def test_a_sampled_plant() -> None:
    G = control.sample_system(control.ss(resonance()), 0.05)
    result = tt.mixsyn(G, w1=control.sample_system(control.ss(WEIGHT), 0.05, "bilinear"), w2=0.1)
    assert result.controller.dt == 0.05
    assert (np.abs(control.feedback(G * result.controller).poles()) < 1).all()
    assert result.gain == pytest.approx(control.linfnorm(result.loop)[0], rel=1e-8)


@pytest.mark.parametrize("through", [0.0, 1.0])
def test_loop_shaping_in_closed_form(through: float) -> None:
    rng = np.random.default_rng(1)
    A, B, C = (rng.normal(size=shape) for shape in ((4, 4), (4, 2), (2, 4)))
    D = through * rng.normal(size=(2, 2))
    X = control.care(A, B, C.T @ C, np.eye(2) + D.T @ D, C.T @ D)[0]
    Z = control.care(A.T, C.T, B @ B.T, np.eye(2) + D @ D.T, B @ D.T)[0]
    least = np.sqrt(1 + np.abs(np.linalg.eigvals(X @ Z)).max())
    result = tt.loopsyn(control.StateSpace(A, B, C, D))
    assert result.optimum == pytest.approx(least, rel=2.1e-3), "the bracket"
    assert least <= result.gain <= 1.01 * least


def test_weights_of_the_shape_are_in_the_controller() -> None:
    G = control.ss([[0.0]], [[1.0]], [[1.0]], [[0.0]], inputs=["force"], outputs=["speed"])
    before = control.tf([1, 1], [1, 0])
    result = tt.loopsyn(G, before=before, behind=2.0)
    K = result.controller
    assert np.abs(K.poles()).min() < 1e-9, "the integrator"
    assert (control.feedback(G * K, 1).poles().real < 0).all()
    # about the plant with its weights, K is the one between them
    omega = 0.7j
    g, k = complex(2 * before(omega) * G(omega)), complex(K(omega) / before(omega) / 2)
    four = np.array([[-k * g, -k], [g, 1]]) / (1 + g * k)
    assert result.loop(omega) == pytest.approx(four, rel=1e-8)
    assert np.linalg.norm(four, 2) <= result.gain
    less = tt.reduce_controller(K, 2, loop=result)
    assert less.gain < 1.2 * less.before


@pytest.mark.parametrize(
    ("weights", "code", "where"),
    [
        ({}, "no-weight", "w1"),
        ({"w1": control.tf([1], [1, 0])}, "unstable-weight", "w1"),
        ({"w2": control.tf([1], [1, -1])}, "unstable-weight", "w2"),
        ({"w3": control.tf([1], [1, 0.5], 0.1)}, "bad-time", "w3"),
        ({"w1": np.ones((1, 2))}, "wrong-shape", "w1"),
        ({"w1": np.nan}, "not-finite", "w1"),
        ({"w1": np.ones((1, 1, 1))}, "wrong-shape", "w1"),
        ({"w1": 0.0}, "bad-value", "w1"),
        ({"w1": "high"}, "wrong-type", "w1"),
        ({"w1": True}, "wrong-type", "w1"),
    ],
)
def test_wrong_weights(weights: dict[str, Any], code: str, where: str) -> None:
    with pytest.raises(tt.ModelError) as caught:
        tt.mixsyn(resonance(), **weights)
    assert (caught.value.code, caught.value.where) == (code, where)


def test_wrong_weights_of_a_shape() -> None:
    with pytest.raises(tt.ModelError) as caught:
        tt.loopsyn(resonance(), behind=np.ones((2, 1)))
    assert (caught.value.code, caught.value.where) == ("wrong-shape", "behind")
    with pytest.raises(tt.ModelError) as caught:
        tt.loopsyn(control.tf([1, 0], [1, 1]), before=control.tf([1], [1, 0]))
    assert caught.value.code == "undetectable-mode", "the integrator cancels a zero of the plant"


@pytest.mark.parametrize("effort", [0.05, None], ids=["weighted controls", "free controls"])
@pytest.mark.parametrize("count", [4, 10, 15])
def test_undamped_modes_as_interpolation_demands(count: int, effort: float | None) -> None:
    """S is zero at each undamped pole, so that T is one there: no level is below the largest weight of T at these.

    For collocated modes and these weights little else counts. Without a warning that the optimum is not known.
    """
    rng = np.random.default_rng(1)
    omega = np.geomspace(1, 30, count) * (1 + 0.05 * rng.uniform(-1, 1, count))
    shape = np.stack([np.zeros(count), rng.uniform(0.5, 1.5, count)], axis=1).ravel()
    A = block_diag(*([[0, 1], [-(w**2), 0]] for w in omega))
    G = control.ss(A, shape[:, None], np.roll(shape, -1)[None], [[0.0]])
    w3 = control.tf([1, 0], [0.01, 20])
    least = max(abs(complex(w3(1j * w))) for w in omega)
    result = tt.mixsyn(G, w1=control.tf([0.5, 1], [1, 0.01]), w2=effort, w3=w3)
    assert least * (1 - 1e-6) <= result.gain <= 1.01 * least, "certified to 1e-9; the optimum's part and a hundredth"
    assert result.optimum == pytest.approx(least, rel=3e-3), "the optimum is known to 2e-3"
