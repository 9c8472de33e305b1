"""Forward and hybrid dynamics series, against inverse dynamics series, which others check."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import titop as tt
from tests.solvers.kernels.series.motions_at_random import Moving, assert_close_by_row
from tests.systems import KINDS, Array
from titop.solvers.engines.compiled.compiled_dynamics import CONSTANT
from titop.solvers.kernels.entries import series_entries
from titop.solvers.kernels.interface import layout

#: What is left of a motion's digits: each order takes on the rounding of those before, times how much inertias differ.
BACK = 1e-6

#: The same where these differ by a factor of some tens.
BACK_OF_A_ROBOT = 1e-8

#: Efforts of motions that the elimination finds: rounding alone, by the largest of each order.
SOLVED = 1e-10


def assert_solved(moving: Moving, found: Array, efforts: Array) -> None:
    """A motion needs these efforts, and is the tree's own up to what rounding of the efforts moves."""
    assert_close_by_row(moving.inverse(np.vstack([moving.v_series[:1], found])), efforts, SOLVED)
    assert_close_by_row(found, moving.v_series[1:], BACK)


@pytest.mark.parametrize("base", ["fixed", "free"])
@pytest.mark.parametrize("kinds", [("Revolute",), ("Screw", "Prismatic"), ("Spherical", "Universal"), KINDS])
@pytest.mark.parametrize("springs", [False, True])
def test_forward_after_inverse_returns_the_motion(kinds: Any, base: str, springs: bool) -> None:
    moving = Moving(3, kinds, springs=springs, loads=True, base=base)
    efforts = moving.inverse()
    assert_solved(moving, moving.forward(efforts), efforts)


def test_forward_after_inverse_of_an_aerial_manipulator() -> None:
    """A free base with two arms of three joints each, through the model's own functions."""
    rng = np.random.default_rng(0)
    s = tt.System("manipulator", gravity=[0, 0, -9.81])
    hub = tt.RigidBody("hub", 4.0, com=[0, 0, 0.05], inertia=[0.1, 0.1, 0.15], ports={"L": [0.2, 0, 0], "R": [-0.2, 0, 0]})
    s.connect("world", hub, tt.Free("base"))
    for arm in "LR":
        port = hub.port(arm)
        for k, axis in enumerate(np.eye(3)):
            link = tt.RigidBody(f"{arm}{k}", 0.8, com=[0, 0, -0.1], inertia=[0.01, 0.01, 0.002], ports={"E": [0, 0, -0.25]})
            s.connect(port, link, tt.Revolute(f"joint{arm}{k}", axis=axis))
            port = link.port("E")
    model = s.resolve()
    q, motion = model.random_configuration(rng), rng.normal(size=(7, model.nv))
    efforts = model.inverse_dynamics_series(q, motion)
    assert_close_by_row(model.forward_dynamics_series(q, motion[0], efforts), motion[1:], BACK_OF_A_ROBOT)


def test_order_zero_is_forward_dynamics() -> None:
    moving = Moving(0, springs=True, loads=True)
    tau = moving.v_series[1:2]
    expected = moving.model.forward_dynamics(moving.q, moving.v_series[0], tau[0])
    assert_close_by_row(moving.forward(tau), expected[None], 1e-13)  # the same sums in another order


def test_other_efforts_cause_other_motions() -> None:
    """The negative control: at the order of the change, and not before."""
    moving = Moving(3)
    efforts = moving.inverse()
    changed = efforts.copy()
    changed[2, 0] += 1e-3
    change = np.abs(moving.forward(changed) - moving.forward(efforts)).max(axis=1)
    assert change[:2].max() == 0.0
    assert change[2] > 1e-6


@pytest.mark.parametrize("base", ["fixed", "free"])
@pytest.mark.parametrize("seed", range(4))
def test_hybrid_dynamics_complete_motion_and_efforts(seed: int, base: str) -> None:
    """Any coordinates are imposed, parts of spherical and free joints too; what is not to be read is something else."""
    moving = Moving(seed, springs=True, loads=True, base=base)
    motion, efforts, rng = moving.v_series[1:], moving.inverse(), np.random.default_rng(seed)
    imposed = rng.random(moving.model.nv) < 0.5
    a_series = np.where(imposed, motion, rng.normal(size=motion.shape))
    tau_series = np.where(imposed, rng.normal(size=motion.shape), efforts)
    found = moving.hybrid(tau_series, a_series, imposed)
    assert_solved(moving, found[0], np.where(imposed, found[1], efforts))
    assert_close_by_row(found[1], efforts, BACK)


def test_hybrid_dynamics_with_all_or_nothing_imposed() -> None:
    moving = Moving(2, springs=True)
    efforts, motion, n = moving.inverse(), moving.v_series[1:], moving.model.nv
    nothing = np.zeros(motion.shape)
    np.testing.assert_array_equal(moving.hybrid(efforts, nothing, np.zeros(n, bool))[0], moving.forward(efforts))
    assert_close_by_row(moving.hybrid(nothing, motion, np.ones(n, bool))[1], efforts, 1e-11)  # through inertias of subtrees


def test_a_joint_that_moves_no_inertia_is_told() -> None:
    s = tt.System("rotor", gravity=[0, 0, -9.81])
    s.connect("world", tt.RigidBody("point", 1.0, com=[0, 0, 0.5]), tt.Revolute("spin", axis=[0, 0, 1], armature=1.0))
    system: Any = s.resolve().mechanism.engine.system  # type: ignore[attr-defined]
    floats, given = system.floats.copy(), (np.zeros(1), np.zeros(1), np.zeros((3, 1)), np.empty((3, 1)))
    assert series_entries.forward_dynamics_series.rigid(CONSTANT, system.ints, floats, *given) == layout.OK
    floats[:, layout.ARMATURE] = 0.0
    assert series_entries.forward_dynamics_series.rigid(CONSTANT, system.ints, floats, *given) == 1
