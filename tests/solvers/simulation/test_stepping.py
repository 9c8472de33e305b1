"""States at the output times, as far as they are reached."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import numpy as np

from titop.solvers.simulation.stepping import OutputStates


def test_outputs_have_a_row_for_each_time() -> None:
    y = np.array([1.0, 2.0])
    outputs = OutputStates(np.array([0.5, 1.0, 1.5, 2.0]), y)
    step: Any = SimpleNamespace(states=lambda times: [t * y for t in times])
    assert outputs.next == 1.0
    outputs.add(step, 0.9)  # a step that reaches none
    assert outputs.next == 1.0
    outputs.add(step, 1.5)
    solution = outputs.solution({"steps": 2})
    np.testing.assert_array_equal(solution.t, [0.5, 1.0, 1.5])  # the fourth was not reached
    np.testing.assert_array_equal(solution.y, [y, y, 1.5 * y])
    assert solution.statistics == {"steps": 2}
    outputs.add(step, 2.0)
    assert outputs.next == math.inf
