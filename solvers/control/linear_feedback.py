"""Linear controllers in continuous time as tables: what they do, by the numbers of the state alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from titop.blocks.basics.spatial import Array


class LinearFeedback(NamedTuple):
    """What a controller answers to ``z = [q, v, x]``: ``gains z + offset(t)``, inputs (nu), efforts (nv) and the rates of x.

    Attributes
    ----------
    gains : (nu + nv + nx, nq + nv + nx) array
    offset : callable ``f(t) -> (nu + nv + nx,)``
    varies : bool
        Whether the offset changes in time.
    limits : (2, nu) array
        Of the inputs.
    motors : (nv, nu) array
        The inputs' efforts.
    thrust : (6 n, nu) array
        The inputs' wrenches at their n places.
    rows : callable ``f(times) -> (n, nu + nv + nx)``, optional
        The offsets at several times, where these are known at once.
    """

    gains: Array
    offset: Callable[[float], Array]
    varies: bool
    limits: Array
    motors: Array
    thrust: Array
    rows: Callable[[Array], Array] | None = None

    def tables(self, rows: int) -> tuple[Array, ...]:
        """Return what compiled stages take: gains, offsets at as many times, limits, motors and thrust."""
        return self.gains, np.tile(self.offset(0.0), (rows, 1)), self.limits, self.motors, self.thrust

    def write(self, times: Sequence[float], offsets: Array) -> None:
        """Write the offsets at some times into rows."""
        if self.rows is not None:
            offsets[:] = self.rows(np.array(times))
            return
        for row, t in zip(offsets, times, strict=True):
            row[:] = self.offset(t)
