"""Cubics through values and rates at two times: where they are zero, and lowest."""

from __future__ import annotations

import math
from typing import NamedTuple

from titop.solvers.kernels.ports.guards import zero_between


class Ends(NamedTuple):
    """Values and rates of a curve at two times (s), at which it is positive (a), or falls, and is not (b), or rises."""

    begin: float
    end: float
    a: float
    b: float
    rate_a: float
    rate_b: float

    def since(self, t: float, value: float, rate: float) -> Ends:
        """Return what is behind a time between."""
        return Ends(t, self.end, value, self.b, rate, self.rate_b)

    def until(self, t: float, value: float, rate: float) -> Ends:
        """Return what is before a time between."""
        return Ends(self.begin, t, self.a, value, self.rate_a, rate)

    def opposite(self) -> Ends:
        """Return the same with the other sign."""
        return Ends(self.begin, self.end, -self.a, -self.b, -self.rate_a, -self.rate_b)

    def stays_above(self, part: float) -> bool:
        """Tell whether all control points of the cubic are above zero by more than a `part` of what it changes by."""
        third = (self.end - self.begin) / 3
        out, into = third * self.rate_a, third * self.rate_b
        size = max(abs(self.b - self.a), 3 * abs(out), 3 * abs(into))
        return min(self.a, self.a + out, self.b, self.b - into) > part * size

    def zero(self) -> float:
        """Return a time at which the cubic is zero; it is of unlike signs at the ends, positive at the first."""
        h = self.end - self.begin
        return self.begin + h * float(zero_between(h, self.a, self.b, self.rate_a, self.rate_b))

    def bottom(self) -> float:
        """Return the time at which the cubic is lowest; it falls at the first end, and rises at the second."""
        h = self.end - self.begin
        p, r = h * self.rate_a, h * self.rate_b
        c, d = 3 * (self.b - self.a) - 2 * p - r, 2 * (self.a - self.b) + p + r
        root = math.sqrt(max(c * c - 3 * d * p, 0.0))
        x = -p / (c + root) if c + root > 0 else 0.5
        return self.begin + min(max(x, 0.0), 1.0) * h
