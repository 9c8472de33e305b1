"""What an equilibrium leaves free, and what determines it."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pytest

import titop as tt
from tests.solvers.equilibrium.spinners import GRAVITY, ROUNDING
from tests.solvers.equilibrium.test_equilibrium_path import posts


def test_a_closed_loop_is_determined() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tt.ModelWarning)  # of the planar loop's redundant constraints
        model = tt.load(Path(__file__).parents[3] / "examples" / "models" / "four_bar.toml").resolve()
    guess = model.assemble(model.configuration({"drive": -1.5}), fixed=["drive"])
    point = tt.trim(model, q=guess)
    assert np.abs(model.closure_error(point.q)).max() < ROUNDING
    assert np.abs(point.residual).max() < ROUNDING  # the accelerations of a closed loop may be all rounding
    assert (point.rank, point.free, point.overdetermined) == (3, (), ())  # closures determine two, gravity one
    held = tt.trim(model, ["drive.tau"], q=guess)
    assert (held.rank, held.free, held.overdetermined) == (1, (), ())
    none = tt.trim(model, ["drive.tau", "pivot.tau"], q=guess)
    assert (none.rank, none.free) == (1, ("drive.tau", "pivot.tau"))
    far = tt.trim(model, q={"drive": -1.5})  # the loop far from closed
    assert np.abs(model.closure_error(far.q)).max() < ROUNDING
    with pytest.raises(tt.ConvergenceError, match=r"an opening of pin\.\S+, \S+, is left at drive"):
        tt.trim(model, ["drive"], q={"drive": -1.5})  # one coordinate alone cannot close it


def test_a_resting_satellite_is_free_but_for_its_beams() -> None:
    """Six motions of the whole and two hinges without springs; deformations have stiffness, from 10 N/m to 1e10 N/m."""
    s = tt.System("satellite", gravity=[0, 0, 0])
    hub = tt.RigidBody("hub", 100.0, inertia=[10, 12, 14], ports={"left": [1, 0, 0], "right": [-1, 0, 0]})
    s.connect("world", hub, tt.Free("base"))
    for side in ("left", "right"):
        beam = tt.Beam(f"{side}_beam", 3.0, density=2700.0, area=1e-3, young=7e10, iy=1e-8, iz=1e-8)
        s.connect(hub.port(side), beam, tt.Revolute(f"{side}_hinge", axis=[1, 0, 0]))
    model = s.resolve()
    point = tt.trim(model)
    rigid = ("base.x", "base.y", "base.z", "base.rx", "base.ry", "base.rz", "left_hinge", "right_hinge")
    assert point.free == point.overdetermined == rigid
    assert point.rank == model.nv - len(rigid)


def test_negative_stiffnesses_are_counted() -> None:
    """Of three posts of 1 m on springs under 20 N each, upright: two of them would fall."""
    pushes = {f"push{k}.force.z": -20.0 for k in range(3)}
    model = posts(0.0, 10.0, 11.0, 30.0)
    assert tt.trim(model, q=model.neutral(), parameters=pushes).negative == 2
    assert tt.trim(model, ["hinge0", "hinge2"], q=model.neutral(), parameters=pushes).negative == 1
    assert tt.trim(model, ["hinge0"], parameters={"push0.force.z": -10.0}).negative is None  # nothing holds it


def test_soft_beside_stiff_is_determined() -> None:
    """A pendulum, 10 N m/rad, beside a spring of 1e12 N/m: both are determined, and a sledge without a spring is not."""
    s = tt.System("row", gravity=[0, 0, -GRAVITY])
    sledge, block = tt.RigidBody("sledge", 1.0), tt.RigidBody("block", 1.0)
    s.connect("world", sledge, tt.Prismatic("track", axis=[1, 0, 0]))
    s.connect(sledge, block, tt.Prismatic("spring", axis=[1, 0, 0], stiffness=1e12))
    s.connect(block, tt.RigidBody("bob", 1.0, com=[0, 0, -1]), tt.Revolute("hinge", axis=[0, 1, 0]))
    point = tt.trim(s.resolve())
    assert (point.rank, point.free, point.overdetermined) == (2, ("track",), ("track",))
