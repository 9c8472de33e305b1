"""Length and rate of tendons at a state, and their changes, against differences along a motion."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import titop as tt
from titop.solvers.signals.lines_and_sections import line_derivatives, line_values, lines_of
from titop.solvers.signals.quantities import Kind, Quantity
from titop.solvers.signals.snapshot import Snapshot

Array = NDArray[np.float64]


def finger() -> tt.Model:
    s = tt.System("finger")
    rods = [
        tt.Rod(f"rod{k}", 0.5, tt.Section.circle(0.01), young=1e8, density=1e3, strains={"bending_z": 1, "torsion": 0})
        for k in range(2)
    ]
    s.connect("world", rods[0], tt.Revolute("hinge"))
    s.connect(rods[0].port("tip"), rods[1], tt.Weld("weld"))
    s.add_interaction(tt.Tendon("tendon", rods, y=0.005, z=lambda X: 0.004 * X))
    s.add_interaction(tt.PressureChamber("chamber", rods[1], area=1e-5, y=-0.004))
    return s.resolve("reference")


MODEL = finger()
NAMES = {"tendon": Kind.LENGTH, "chamber": Kind.VOLUME}
Q, V = 0.5 * np.random.default_rng(0).normal(size=(2, MODEL.nv))
BOTH = np.eye(2 * MODEL.nv)
CHANGE: Any = SimpleNamespace(q=BOTH[: MODEL.nv], v=BOTH[MODEL.nv :])


def at(q: Array, v: Array) -> Snapshot:
    return Snapshot(MODEL, q, v, np.zeros(MODEL.nv), np.zeros(MODEL.nv), None, None)


def quantity(name: str) -> Quantity:
    return Quantity(NAMES[name], name, (0, 1), (f"{name}.measure", f"{name}.rate"))


def test_lines_are_known_by_name() -> None:
    assert [*lines_of(MODEL)] == ["tendon", "chamber"]
    assert lines_of(MODEL)["chamber"].measured == "volume"


@pytest.mark.parametrize("name", NAMES)
def test_rates_are_those_of_the_measure(name: str) -> None:
    """By a step of 1e-5 to both sides along the motion: its square, of terms of size one."""
    of, h = quantity(name), 1e-5
    measure, rate = line_values(at(Q, V), of)
    ahead, behind = (line_values(at(Q + side * h * V, V), of)[0] for side in (1, -1))
    assert rate == pytest.approx((ahead - behind) / (2 * h), abs=1e-9 * measure)
    assert abs(rate) > 1e-4 * measure


@pytest.mark.parametrize("name", NAMES)
def test_changes_are_differences(name: str) -> None:
    of, h, n = quantity(name), 1e-5, MODEL.nv
    changes = line_derivatives(at(Q, V), CHANGE, of)
    for k, step in enumerate(h * BOTH):
        ahead, behind = (line_values(at(Q + side * step[:n], V + side * step[n:]), of) for side in (1, -1))
        # rounding of lengths and rates of one, over the step
        allowed = 1e-8 * np.abs(changes).max() + 8 * np.finfo(float).eps / h
        np.testing.assert_allclose(changes[:, k], (ahead - behind) / (2 * h), rtol=0, atol=allowed)
    assert not changes[:, 0].any()  # the hinge turns the whole
    assert not changes[0, n:].any()


def test_stacked_states_are_read_at_once() -> None:
    q, v = np.array([Q, 2 * Q, 0 * Q]), np.array([V, -V, V])
    found = line_values(at(q, v), quantity("tendon"))
    each = [line_values(at(*state), quantity("tendon")) for state in zip(q, v, strict=True)]
    np.testing.assert_allclose(found, each, rtol=1e-13)
    assert found[2, 0] == pytest.approx(np.hypot(1.0, 0.004), rel=1e-9)  # a straight line at rest
