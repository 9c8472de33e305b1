"""What tests of systems have in common."""

from __future__ import annotations

import pytest

from tests.refusals import ENGINES


@pytest.fixture(params=ENGINES)
def engine(request: pytest.FixtureRequest) -> str:
    return request.param
