"""What tests of this room have in common."""

from __future__ import annotations

import pytest

from tests.solvers.engines.compiled.closed_cases import SYSTEMS, Case


@pytest.fixture(params=SYSTEMS, scope="module")
def case(request: pytest.FixtureRequest) -> Case:
    return Case(request.param)
