"""What tests of this room have in common."""

from __future__ import annotations

import pytest

import titop as tt
from tests.solvers.equilibrium.spinners import spinner
from tests.solvers.linear.families import ARMS, MASSES, SPINS


@pytest.fixture(scope="session")
def family() -> tt.LPVModel:
    return tt.lpv(spinner(), {"left.mass": MASSES, "shaft.v": SPINS}, **ARMS)
