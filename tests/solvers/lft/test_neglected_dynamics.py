"""Neglected dynamics, their blocks closed by hand with complex numbers and matrices."""

from __future__ import annotations

import warnings
from typing import Any

import control
import numpy as np
import pytest

import titop as tt
from tests.solvers.lft.closed_crafts import TORQUES, VALUES, by_hand, craft, rate_control

#: Responses computed in two ways, beside their size.
ROUNDING = 1e-9

S = 0.8j
LAG = control.tf([0.5, 0.1], [1.0, 1.0])
FULL = np.array([[0.3 - 0.4j, 0.1], [-0.2j, 0.5]])


def closed(model: tt.LFTModel, delta: object, point: complex = S) -> np.ndarray:
    """Return the response at `VALUES` with a value of the last block."""
    return by_hand(model, point, [*model.deltas(VALUES)[:-1], delta])


def test_several_inputs_have_one_full_block() -> None:
    """A weight is taken for each of them."""
    model = craft().append("wheels", ["wheels.x", "wheels.z"], LAG)
    assert (model.blocks[-1].kind, model.blocks[-1].repetitions, model.blocks[-1].columns) == ("full", 2, 2)
    plant = craft().at(VALUES)(S)
    change = np.zeros((3, 3), dtype=complex)
    change[np.ix_([0, 2], [0, 2])] = FULL * LAG(S)
    assert closed(model, FULL) == pytest.approx(plant @ (np.eye(3) + change), rel=ROUNDING)
    assert model.at(VALUES)(S) == pytest.approx(plant, rel=ROUNDING)


def test_outputs_by_the_name_of_their_vector() -> None:
    """With a weight for each signal: a number, a transfer function, a state space."""
    weights = [0.2, LAG, control.ss([[-2.0]], [[1.0]], [[1.0]], [[0.0]])]
    model = craft().append("gyros", "gyro", weights)
    delta = np.full((3, 3), 0.2 + 0.1j) + 0.3 * np.eye(3)
    change = delta @ np.diag([0.2, LAG(S), 1.0 / (S + 2.0)])
    plant = craft().at(VALUES)(S)
    assert closed(model, delta) == pytest.approx((np.eye(3) + change) @ plant, rel=ROUNDING)


def test_neglected_modes_are_additive() -> None:
    """From inputs to outputs, with a weight of its own number of outputs: a block that is not square."""
    weight = control.ss(-np.eye(2), np.ones((2, 2)), [[1.0, 2.0], [0.0, 1.0], [1.0, 0.0]], np.zeros((3, 2)))
    model = craft().append("modes", TORQUES[:2], weight, kind="additive", outputs="gyro.z")
    assert (model.blocks[-1].repetitions, model.blocks[-1].columns) == (1, 3)
    delta = np.array([[0.3, 0.1j, -0.2]])
    change = np.zeros((3, 3), dtype=complex)
    change[2, :2] = delta @ weight(S)
    assert closed(model, delta) == pytest.approx(craft().at(VALUES)(S) + change, rel=ROUNDING)
    assert model.at(VALUES)(S) == pytest.approx(craft().at(VALUES)(S), rel=ROUNDING)


def test_one_signal_has_a_complex_block() -> None:
    model = craft().append("modes", "wheels_x", LAG, kind="additive", outputs=["gyro_x"])
    assert model.blocks[-1] == tt.DeltaBlock.complex("modes")._replace(of_outputs=True)
    change = np.zeros((3, 3), dtype=complex)
    change[0, 0] = 0.3j * LAG(S)
    assert closed(model, 0.3j) == pytest.approx(craft().at(VALUES)(S) + change, rel=ROUNDING)


def test_blocks_are_closed_with_controllers() -> None:
    """In continuous time, then sampled: there what a block takes and returns is sampled and held."""
    model = craft().append("wheels", "wheels", 0.3)
    delta = 0.3 * np.eye(3) + 0.2j
    K = rate_control()
    plant = craft().at(VALUES)(S) @ (np.eye(3) + 0.3 * delta)
    assert closed(model.close(K), delta) == pytest.approx(plant @ np.linalg.inv(np.eye(3) - K(S) @ plant), rel=ROUNDING)
    K, z = rate_control(0.02), np.exp(0.8j * 0.02)
    loop = model.close(K, stages=2)
    assert loop.blocks[-1] == model.blocks[-1]
    member = craft().at(VALUES)
    step = control.c2d(control.ss(member.A, member.B, member.C, member.D), 0.02)
    plant = step(z) @ (np.eye(3) + 0.3 * delta)
    right = plant @ np.linalg.inv(np.eye(3) - K(z) @ plant)
    assert closed(loop, delta, z) == pytest.approx(right, rel=1e-5)  # of the real deltas' stages


def test_sampled_loops_take_sampled_weights() -> None:
    loop = craft().close(rate_control(0.02), stages=2)
    z, weight = np.exp(0.8j * 0.02), control.ss([[0.9]], [[0.1]], [[1.0]], [[0.0]], 0.02)
    with pytest.warns(tt.ModelWarning, match=r"append: gyros.*append before closing.*no-loop"):
        appended = loop.append("gyros", "gyro", weight)
    found = closed(appended, FULL[0, 0] * np.eye(3), z)
    assert found == pytest.approx((1 + FULL[0, 0] * weight(z)) * loop.at(VALUES)(z), rel=ROUNDING)
    with pytest.raises(tt.ModelError, match="bad-weight"):
        loop.append("gyros", "gyro", LAG)


@pytest.mark.parametrize("period", [0.0, 0.02])
@pytest.mark.parametrize("where", ["wheels", "gyro", "modes"])
def test_blocks_outside_of_the_loop_are_told(period: float, where: str) -> None:
    """Those are no part of what decides on stability: a size of a hundred is as harmless as none. Before closing it is not."""
    K = rate_control(period)
    arguments: tuple[Any, ...] = ("wheels", 100.0, "additive", "gyro") if where == "modes" else (where, 100.0)
    with pytest.warns(tt.ModelWarning, match=r"append: new.*append before closing.*no-loop") as caught:
        outer = craft().close(K).append("new", *arguments)
    assert len(caught) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        inner = craft().append("new", *arguments).close(K)
    delta = np.zeros((3, outer.blocks[-1].columns))
    delta[0, 0] = -1.0
    moved = [np.abs(poles_with(loop, delta)[:, None] - loop.nominal.poles()).min(axis=1).max() for loop in (outer, inner)]
    assert moved[0] < 1e-6 < 1e-2 < moved[1]


def poles_with(loop: tt.LFTModel, delta: np.ndarray) -> np.ndarray:
    """Return the poles with the last block at a value, the others zero."""
    (w, z), (rows, columns), M = loop.channels, delta.shape, loop.M
    B, C, D = M.B[:, w - rows : w], M.C[z - columns : z], M.D[z - columns : z, w - rows : w]
    return np.linalg.eigvals(M.A + B @ delta @ np.linalg.solve(np.eye(columns) - D @ delta, C))


def test_check_goes_on() -> None:
    """Members of appended blocks are at zero."""
    assert craft().append("wheels", "wheels", LAG).check(2) < ROUNDING


@pytest.mark.parametrize(
    ("code", "arguments"),
    [
        ("given-twice", ("hub.mass", "gyro")),
        ("unknown-signal", ("new", "gyros")),
        ("wrong-type", ("new", [])),
        ("given-twice", ("new", ["gyro", "gyro_x"])),
        ("bad-value", ("new", ["gyro_x", "wheels_x"])),
        ("bad-value", ("new", "gyro", 1.0, "inverse")),
        ("bad-value", ("new", "wheels", 1.0, "additive")),
        ("bad-value", ("new", "wheels", 1.0, "multiplicative", "gyro")),
        ("unknown-signal", ("new", "gyro", 1.0, "additive", "gyro")),
        ("bad-weight", ("new", "gyro", [1.0, 2.0])),
        ("bad-weight", ("new", "gyro", "much")),
        ("bad-weight", ("new", "gyro", float("nan"))),
        ("improper", ("new", "gyro", control.tf([1.0, 0.0, 0.0], [1.0, 1.0]))),
        ("bad-weight", ("new", "gyro", control.tf([1.0], [1.0, -1.0]))),
        ("bad-weight", ("new", "gyro", control.ss([[0.5]], [[1.0]], [[1.0]], [[0.0]], 0.1))),
        ("bad-weight", ("new", "gyro", control.ss([], [], [], np.ones((2, 2))))),
    ],
)
def test_bad_input(code: str, arguments: tuple[object, ...]) -> None:
    with pytest.raises(tt.ModelError, match=code):
        craft().append(*arguments)  # type: ignore[arg-type]
