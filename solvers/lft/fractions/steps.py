"""Steps from a frame to the next, uncertain ones too: what they do to motions going outwards and to wrenches coming back."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple, Protocol

import numpy as np

from titop.blocks.basics.spatial import Array, skew
from titop.solvers.lft.fractions.interpolation import Polynomial
from titop.solvers.lft.fractions.loops import Affine, Loop, Signal, stacked

#: From a matrix (6, 6; its rows one after the other) to its transpose.
TRANSPOSED = np.eye(36).reshape(6, 6, 36).transpose(1, 0, 2).reshape(36, 36)


class Step(Protocol):
    """From a frame to the next."""

    @property
    def deltas(self) -> tuple[str, ...]:
        """Names of what is uncertain about it."""

    def turned(self, loop: Loop, x: Signal, back: bool = False) -> Signal:
        """Return vectors (3) in the next frame's axes; `back` from those in this one's."""

    def motion(self, loop: Loop, x: Signal) -> Signal:
        """Return motions (6, linear first) of the next frame, fixed to this one."""

    def wrench(self, loop: Loop, x: Signal) -> Signal:
        """Return wrenches (6) about this frame from those about the next."""


class Rotate(NamedTuple):
    """A rotation R, from the next frame's components to this one's."""

    rotation: Array

    @property
    def deltas(self) -> tuple[str, ...]:
        return ()

    def turned(self, loop: Loop, x: Signal, back: bool = False) -> Signal:
        return (self.rotation if back else self.rotation.T) @ x

    def motion(self, loop: Loop, x: Signal) -> Signal:
        return stacked(self.rotation.T @ x[:3], self.rotation.T @ x[3:])

    def wrench(self, loop: Loop, x: Signal) -> Signal:
        return stacked(self.rotation @ x[:3], self.rotation @ x[3:])


class Shift(NamedTuple):
    """A displacement (3, m)."""

    position: Affine

    @property
    def deltas(self) -> tuple[str, ...]:
        return tuple(delta for delta, _ in self.position.slopes)

    def turned(self, loop: Loop, x: Signal, back: bool = False) -> Signal:
        return x

    def motion(self, loop: Loop, x: Signal) -> Signal:
        return stacked(x[:3] + lever(loop, self.position, x[3:]) * -1.0, x[3:])

    def wrench(self, loop: Loop, x: Signal) -> Signal:
        return stacked(x[:3], x[3:] + lever(loop, self.position, x[:3]))


class Turn(NamedTuple):
    """A rotation about a unit axis by twice the angle whose tangent is ``value + slope δ``, as its Cayley factor.

    With N the axis' cross product and t the tangent, ``(1 + t N)(1 - t N)^-1``: t stands in it twice for each vector.
    """

    axis: Array
    delta: str
    slope: float

    @property
    def deltas(self) -> tuple[str, ...]:
        return (self.delta,)

    def turned(self, loop: Loop, x: Signal, back: bool = False) -> Signal:
        return loop.once((self.delta, self.slope, back, *self.axis), x, lambda: self._turned(loop, x, back))  # type: ignore[no-any-return]

    def _turned(self, loop: Loop, x: Signal, back: bool) -> Signal:
        if x.is_zero:
            return x
        plane = np.linalg.svd(self.axis[None])[2][1:].T
        cross = (self.slope if back else -self.slope) * plane.T @ skew(self.axis)
        returned = loop.opened(self.delta, 2)
        loop.drive(returned, cross @ (x + plane @ returned))
        return x + 2.0 * plane @ returned

    def motion(self, loop: Loop, x: Signal) -> Signal:
        return stacked(self.turned(loop, x[:3]), self.turned(loop, x[3:]))

    def wrench(self, loop: Loop, x: Signal) -> Signal:
        return stacked(self.turned(loop, x[:3], back=True), self.turned(loop, x[3:], back=True))


class PolynomialRotate(NamedTuple):
    """A rotation (3, 3), from the next frame's components to this one's, that is a polynomial."""

    rotation: Polynomial

    @property
    def deltas(self) -> tuple[str, ...]:
        return self.rotation.deltas

    def turned(self, loop: Loop, x: Signal, back: bool = False) -> Signal:
        return (self.rotation if back else self.rotation.mapped(np.transpose)).applied(loop, x)

    def motion(self, loop: Loop, x: Signal) -> Signal:
        return stacked(self.turned(loop, x[:3]), self.turned(loop, x[3:]))

    def wrench(self, loop: Loop, x: Signal) -> Signal:
        return stacked(self.turned(loop, x[:3], back=True), self.turned(loop, x[3:], back=True))


class PolynomialShift(NamedTuple):
    """A displacement (3, 1; m) that is a polynomial."""

    position: Polynomial

    @property
    def deltas(self) -> tuple[str, ...]:
        return self.position.deltas

    def turned(self, loop: Loop, x: Signal, back: bool = False) -> Signal:
        return x

    def motion(self, loop: Loop, x: Signal) -> Signal:
        return stacked(x[:3] - self._lever(loop, x[3:]), x[3:])

    def wrench(self, loop: Loop, x: Signal) -> Signal:
        return stacked(x[:3], x[3:] + self._lever(loop, x[:3]))

    def _lever(self, loop: Loop, x: Signal) -> Signal:
        return self.position.mapped(lambda column: skew(column[:, 0])).applied(loop, x)


def lever(loop: Loop, arm: Affine, x: Signal) -> Signal:
    """Return ``arm x``, the cross product of an uncertain vector and a signal."""
    return loop.applied(arm.mapped(skew), x)


def moved_outwards(loop: Loop, steps: Iterable[Step], x: Signal) -> Signal:
    """Return motions (6) of the frame to which steps lead."""
    for step in steps:
        x = step.motion(loop, x)
    return x


def squares_outwards(loop: Loop, steps: Iterable[Step], x: Signal) -> Signal:
    """Return a symmetric matrix (36, row by row) of products of motions of the frame to which steps lead."""
    if x.is_zero:
        return x
    for step in steps:
        for _ in range(2):
            x = TRANSPOSED @ stacked(*(step.motion(loop, x[6 * k : 6 * k + 6]) for k in range(6)))
    return x


def turned_outwards(loop: Loop, steps: Iterable[Step], x: Signal) -> Signal:
    """Return vectors (3) in the axes of the frame to which steps lead."""
    for step in steps:
        x = step.turned(loop, x)
    return x


def carried_back(loop: Loop, steps: Iterable[Step], x: Signal) -> Signal:
    """Return wrenches (6) about the frame from which steps lead."""
    for step in reversed([*steps]):
        x = step.wrench(loop, x)
    return x
