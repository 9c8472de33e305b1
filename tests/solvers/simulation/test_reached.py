"""Solutions in the making, as CyRK returns them."""

from __future__ import annotations

import numpy as np

from titop.solvers.simulation.reached import Reached


def test_solutions_have_a_column_for_each_time() -> None:
    y = np.array([1.0, 2.0])
    reached = Reached(0.5, y, events=2)
    assert reached.last[0] == 0.5
    assert not reached.ended
    reached.outputs.append(2 * y)
    reached.found[1].times.append(0.7)
    reached.found[1].states.append(3 * y)
    reached.ended = True
    solution = reached.solution(np.array([0.5, 1.0, 1.5]))
    np.testing.assert_array_equal(solution.t, [0.5, 1.0])  # the third was not reached
    np.testing.assert_array_equal(solution.y, [[1.0, 2.0], [2.0, 4.0]])
    assert [len(times) for times in solution.t_events] == [0, 1]
    np.testing.assert_array_equal(solution.y_events[1], [[3.0], [6.0]])
    assert solution.y_events[0].size == 0
    assert solution.event_terminated
