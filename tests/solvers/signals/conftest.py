"""What tests of this room have in common."""

from __future__ import annotations

import pytest

import titop as tt
from tests.solvers.signals.rigs import rig


@pytest.fixture(scope="module")
def model() -> tt.Model:
    return rig().resolve()
