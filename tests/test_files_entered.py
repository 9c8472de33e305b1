"""How many files of titop a call walks through: what a reader has to open to follow it.

Calls are the second of their kind: what is found once is not looked at again. The numbers are bounds that may only fall.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import pytest

import titop as tt

ROOT = f"{Path(tt.__file__).parent}/"
LAYERS = tuple(f"{ROOT}{layer}/" for layer in ("blocks", "graph", "solvers"))


def files_entered(call: Callable[[], Any]) -> set[str]:
    """Return the files of titop that a second call enters."""
    call()
    entered = set()

    def note(frame: FrameType, event: str, argument: Any) -> None:
        name = frame.f_code.co_filename
        if event == "call" and name.startswith(LAYERS):
            entered.add(name.removeprefix(ROOT))

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        call()
    finally:
        sys.setprofile(before)
    return entered


@pytest.fixture(scope="module")
def cart_pole() -> tt.Model:
    s = tt.System("cart-pole", gravity=[0, 0, -9.81])
    cart, pole = tt.RigidBody("cart", mass=1.0), tt.RigidBody("pole", mass=0.2, com=[0, 0, -0.5], inertia=0.01)
    s.connect("world", cart, joint=tt.Prismatic("rail", axis=[1, 0, 0]))
    s.connect(cart, pole, joint=tt.Revolute("hinge", axis=[0, 1, 0]))
    return s.resolve()


def test_a_linearisation(cart_pole: tt.Model) -> None:
    point = cart_pole.neutral()
    entered = files_entered(lambda: tt.linearize(cart_pole, point, inputs=["rail"], outputs=["hinge.q"]))
    assert 0 < len(entered) <= 14, sorted(entered)


def test_an_uncertain_model() -> None:
    s = tt.System("pendulum", gravity=[0, 0, -9.81])
    bob = tt.RigidBody("bob", mass=2.0, com=[0, 0, -1], inertia=[0.1, 0.1, 0.05])
    s.connect("world", bob, joint=tt.Revolute("hinge", axis=[0, 1, 0], damping=0.1, stiffness=1.0))
    m = s.resolve()
    ranges = {"bob.mass": tt.percent(10), "hinge.damping": tt.percent(20), "bob.com.z": (-1.1, -0.9)}
    point = m.neutral()
    entered = files_entered(lambda: tt.lft(m, point, ranges, inputs=["hinge"], outputs=["hinge.q"]))
    assert 0 < len(entered) <= 48, sorted(entered)


def test_forward_dynamics(cart_pole: tt.Model) -> None:
    q, v, tau = np.array([0.0, 0.1]), np.array([0.5, 0.0]), np.array([1.0, 0.0])
    assert files_entered(lambda: cart_pole.forward_dynamics(q, v, tau)) == {"solvers/model/dynamics.py"}


def test_files_are_counted(cart_pole: tt.Model) -> None:
    """A call that nobody has prepared enters many more."""
    assert len(files_entered(lambda: tt.simulate(cart_pole, [0.0, 0.1], [0.0, 0.1], [0.0, 0.0]))) > 20
