"""The room that passes along directions keep rows in, of elements and of general blocks' ports, in the frame of ``sums``.

Along a direction a row has the displacement, and the changes of the twist and of the acceleration, which makes room for that of
the wrench. Transposed it has the dual vector, and what pulls the acceleration, the twist and the displacement.
"""

from __future__ import annotations

import numpy as np

from titop.solvers.native.kernel import helper

FIRST, SECOND, THIRD, DISPLACED = np.int64(0), np.int64(6), np.int64(12), np.int64(18)
ROOM_COLUMNS = 24


@helper
def clear_row(room, i):
    for c in range(ROOM_COLUMNS):
        room[i, c] = 0.0
