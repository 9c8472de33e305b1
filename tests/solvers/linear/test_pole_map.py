"""Poles over a parameter: modes keep their columns where frequencies cross."""

from __future__ import annotations

import warnings
from typing import Any

import control
import numpy as np
import pytest

import titop as tt
from tests.refusals import refusal

STIFFNESSES = np.array([1.0, 2.0, 3.0, 5.0, 6.0, 9.0])


def oscillators(stiffness: float, unit: float = 1.0) -> control.StateSpace:
    """Return two masses, nearly apart, on a spring of 4 N/m and one that varies; the second one's unit of length is another."""
    K, D = np.array([[4.0, 1e-3], [1e-3, stiffness]]), np.diag([0.04, 0.02])
    A = np.block([[np.zeros((2, 2)), np.eye(2)], [-K, -D]])
    scale = np.array([1.0, unit, 1.0, unit])
    return control.ss(scale[:, None] * A / scale, scale[:, None] * np.eye(4, 1, -3), np.eye(1, 4), 0.0, name="two")


@pytest.mark.parametrize("unit", [1.0, 1e3])
def test_modes_cross(unit: float) -> None:
    """Each keeps its damping and its law; sorted poles do not. In any unit."""
    found = tt.pole_map([oscillators(k, unit) for k in STIFFNESSES], {"k": STIFFNESSES})
    assert (found.parameter, found.values.tolist()) == ("k", STIFFNESSES.tolist())
    fixed = np.abs(found.poles[0]) > 1.5
    assert np.abs(found.poles[:, fixed]) == pytest.approx(np.full((6, 2), 2.0), rel=1e-5)  # the spring between them: 1e-3
    assert np.abs(found.poles[:, ~fixed]) == pytest.approx(np.sqrt(np.outer(STIFFNESSES, [1, 1])), rel=1e-5)
    by_size = np.sort(np.abs(found.poles), axis=1)
    assert np.ptp(by_size[:, :2]) > 0.5
    assert np.ptp(by_size[:, 2:]) > 0.5


@pytest.mark.parametrize("count", [3, 4])
def test_three_or_four_poles_of_one_model_have_its_colour(count: int) -> None:
    """Matplotlib takes a row of so many numbers for a colour, and says so."""
    system = control.ss(-np.diag(1.0 + np.arange(count)), np.eye(count, 1), np.eye(1, count), 0.0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        (axis,) = tt.pole_map([system]).plot().axes
    assert axis.collections[0].get_array() is not None


def test_poles_on_an_axis_stand_on_it() -> None:
    """Rounding of undamped poles is not stretched over the whole width."""
    skewed = np.array([[0.0, 1.0, 0, 0], [-1, 0, 0, 0], [0, 0, 0, 100.0], [0, 0, -100, 0]])
    turn = np.linalg.qr(np.random.default_rng(0).normal(size=(4, 4)))[0]
    (axis,) = tt.pole_map([control.ss(turn @ skewed @ turn.T, np.eye(4, 1), np.eye(1, 4), 0.0)]).plot().axes
    assert axis.get_xlim() == pytest.approx((-100, 100))


def family() -> tuple[tt.Model, dict[str, Any]]:
    """Return a system of two hinges whose stiffness and mass vary."""
    s = tt.System("pair", gravity=[0, 0, 0])
    for name, stiffness in (("one", 4.0), ("two", 1.0)):
        body = tt.RigidBody(name, 1.0, com=[0, 0, -1.0])
        s.connect("world", body, tt.Revolute(f"at_{name}", [0, 1, 0], stiffness=stiffness, damping=0.01))
    return s.resolve(), {"inputs": ["at_one", "at_two"], "outputs": ["at_one.q", "at_two.q"]}


def test_families_and_fractions_agree() -> None:
    """Poles of an LPV family at its points, and of the exact fraction: frequencies are roots of the stiffness."""
    model, ends = family()
    lpv = tt.lpv(model, {"at_two.stiffness": STIFFNESSES}, **ends)
    lft = tt.lft(model, model.neutral(), {"at_two.stiffness": (1.0, 9.0)}, **ends)
    of_lpv, of_lft = (tt.pole_map(each, {"at_two.stiffness": STIFFNESSES}).poles for each in (lpv, lft))
    assert np.sort_complex(of_lpv) == pytest.approx(np.sort_complex(of_lft), abs=1e-12)
    assert np.abs(of_lpv - lpv.eigenvalues).max() < 1e-12
    moving = np.ptp(np.abs(of_lpv), axis=0) > 0.1
    assert np.abs(of_lpv[:, moving]) == pytest.approx(np.sqrt(np.outer(STIFFNESSES, [1, 1])), rel=1e-9)
    assert moving.sum() == 2


def test_slow_poles_are_seen_beside_fast_ones() -> None:
    """Of a flexible mode of damping 0.005 beside a motor: apart by pixels, on the side that they are on; not on linear axes."""
    sizes, damping = np.array([0.3, 0.8, 2.0, 300.0]), np.array([0.005, 0.01, 0.005, 0.7])
    poles = np.concatenate([[0.0, 1e-9, -5e-10], *(sizes * (-damping + way * 1j * np.sqrt(1 - damping**2)) for way in (1, -1))])
    found = tt.PoleMap("motor", "k", np.array([1.0]), poles[None])
    automatic, linear = found.plot().axes[0], found.plot(log=False).axes[0]
    assert (automatic.get_xscale(), automatic.get_yscale(), linear.get_xscale()) == ("symlog", "symlog", "linear")
    slow = np.column_stack([poles.real, poles.imag])[3:6]
    for axis, apart in ((automatic, True), (linear, False)):
        axis.figure.draw_without_rendering()
        at = axis.transData.transform([*slow, (0.0, 0.0)])
        distances = np.linalg.norm(at[:, None] - at, axis=2)[np.triu_indices(4, 1)]
        assert (distances.min() > 10) == apart
        assert (np.abs(at[:3, 0] - at[3, 0]).min() > 10) == apart  # which side of the imaginary axis
    words = [text.get_text() for text in automatic.texts]
    assert words == ["ζ = 0.001", "ζ = 0.01", "ζ = 0.1", "ζ = 0.5"]
    assert len(found.plot().axes) == 1  # no colours of one value
    alike = tt.PoleMap("alike", "k", np.array([1.0]), poles[None, 3:5])
    assert alike.plot().axes[0].get_xscale() == "linear"


def test_pictures_and_refusals() -> None:
    systems = [oscillators(k) for k in STIFFNESSES]
    found = tt.pole_map(systems)
    axis = found.plot(limits=(-0.05, 0.01, 0, 3), log=True).axes[0]
    assert (axis.get_xlim(), axis.get_ylim(), axis.get_xscale()) == ((-0.05, 0.01), (0.0, 3.0), "symlog")
    assert len([line for line in axis.lines if len(line.get_xdata()) == 6]) == 4
    assert (
        tt.lpv(family()[0], {"at_two.stiffness": STIFFNESSES}, **family()[1]).poles(log=True).axes[0].get_yscale() == "symlog"
    )
    with refusal("wrong-type", "limits"):
        found.plot(limits=(1, 0, 0, 3))
    with refusal("wrong-type", "models"):
        tt.pole_map(3, {"k": [1.0]})
    with refusal("wrong-type", "values"):
        tt.pole_map(systems, {"k": 3.0})
    with refusal("bad-shape", "6 models"):
        tt.pole_map(systems, {"k": [1.0, 2.0]})
    with refusal("other-sample-time", "0.0 s, 0.1 s"):
        tt.pole_map([systems[0], control.c2d(systems[0], 0.1)])
    with refusal("bad-shape", "[0] states"):
        tt.pole_map([control.ss([], [], [], [[1.0]])])
    with refusal("bad-shape", "[2, 4] states"):
        tt.pole_map([systems[0], control.ss(-np.eye(2), np.ones((2, 1)), np.ones((1, 2)), 0)])
