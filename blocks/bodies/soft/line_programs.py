"""Length of lines, and volume of cavities, in deformable bodies, as programs."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from titop.blocks.bodies.soft.differentiation import nested, stacked, symbols, written
from titop.blocks.bodies.soft.optional import casadi
from titop.blocks.bodies.soft.program import Program
from titop.blocks.bodies.soft.soft_fields import checked_kinematics

#: What a point has: its place x (m), the line's direction there ``dx/ds`` (of a cavity, nothing), and its weight.
PLACE, DIRECTION, WEIGHT, POINT_SIZE = slice(0, 3), slice(3, 6), 6, 7


class LinePrograms:
    """Programs of what a line or cavity in a body measures: ``int |F dx/ds| ds`` or ``int det F dV``, with ``F = df/dx``.

    Their shared numbers are the coordinates (n) and `numbers`; each point has what `POINT_SIZE` numbers say.

    Parameters
    ----------
    kinematics : callable
    n : int
    numbers : sequence of str
    volume : bool
        Whether it is a cavity.
    """

    #: The programs, in the order in which compiled laws know them.
    ORDER = ("measure", "curvature")

    def __init__(self, kinematics: Callable[..., Any], n: int, numbers: Sequence[str], volume: bool) -> None:
        self._shared, self._point = symbols("s", n + len(numbers)), symbols("x", POINT_SIZE)
        q, point = self._shared.entries[:n], self._point.entries
        place = stacked(
            checked_kinematics(kinematics)(point[PLACE], q, nested(dict(zip(numbers, self._shared.entries[n:], strict=True))))
        )
        self._q, along, weight = stacked(q), stacked(point[PLACE]), point[WEIGHT].expression
        if volume:
            self._share = weight * casadi().det(casadi().jacobian(place, along))
        else:
            self._share = weight * casadi().norm_2(casadi().jtimes(place, along, stacked(point[DIRECTION])))

    @functools.cached_property
    def measure(self) -> Program:
        """In total the measure, and its derivatives (n) by q."""
        return self._of([self._share, casadi().gradient(self._share, self._q)])

    @functools.cached_property
    def curvature(self) -> Program:
        """In total the second derivatives (n x n)."""
        return self._of([casadi().hessian(self._share, self._q)[0]])

    def _of(self, totals: Sequence[Any]) -> Program:
        once = [casadi().SX(*part.shape) for part in totals]
        return written([self._shared, self._point, symbols("f", 0)], once, totals, [])


@functools.lru_cache(maxsize=256)
def shared_line_programs(kinematics: Callable[..., Any], n: int, numbers: tuple[str, ...], volume: bool) -> LinePrograms:
    """Return the programs of lines, or cavities, in bodies of these kinematics; see `LinePrograms`."""
    return LinePrograms(kinematics, n, numbers, volume)
