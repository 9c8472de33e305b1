"""Controllers of users: what is none is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import titop as tt
from tests.solvers.control.sliders import controller


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"update": 3.0}, "wrong-type"),
        ({"initial_state": [[1.0]]}, "wrong-type"),
        ({"initial_state": [np.nan]}, "wrong-type"),
        ({"inputs": "rail.q"}, "wrong-type"),
        ({"outputs": ["motor", "motor"]}, "duplicate-name"),
        ({"sample_time": -1.0}, "bad-time"),
        ({"sample_time": np.inf}, "bad-time"),
    ],
)
def test_bad_controllers(changes: dict[str, Any], code: str) -> None:
    with pytest.raises(tt.ModelError) as caught:
        controller(**changes)
    assert caught.value.code == code
