"""From frame to frame: what steps, uncertain ones too, do to motions going outwards and to wrenches coming back.

Steps lead from a block's parent port to its child ports, and from there to the next block. Own coordinates of a block act where
they end. Motions are those of the operating point (constants), and small changes of them.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, Protocol

import numpy as np

from titop.blocks.basics.spatial import Array, skew, twist_cross
from titop.solvers.lft.loops import LinearLoop, Signals, stack
from titop.solvers.lft.polynomials import Polynomial

#: From a matrix (6, 6; its rows one after the other) to its transpose.
_TRANSPOSED = np.eye(36).reshape(6, 6, 36).transpose(1, 0, 2).reshape(36, 36)
#: From ``x y^T`` to ``x y^T + y x^T`` (36, 36).
_BOTH = np.eye(36) + _TRANSPOSED
#: ``-ad(e_i)^T`` of each unit twist (6, 6, 6).
_FORCE_CROSS = np.array([-twist_cross(unit).T for unit in np.eye(6)])
#: ``-ad(e_i)`` of each unit twist (6, 6, 6).
_MOTION_CROSS = np.array([-twist_cross(unit) for unit in np.eye(6)])
#: From a twist c and a change s to ``ad(c) s = sum_i ad_i s_i``, ad_i the i-th column of ad as a matrix that acts on c.
_TWIST_COLUMNS = np.array([[twist_cross(unit)[:, i] for unit in np.eye(6)] for i in range(6)]).transpose(0, 2, 1)


class Rest(NamedTuple):
    """The motion of a frame at the operating point: twist and acceleration (6), ``V V^T`` (36)."""

    twist: Signals
    acceleration: Signals
    products: Signals

    def carry(self, constants: LinearLoop, steps: Iterable[FrameStep]) -> Rest:
        """Return the motion of the frame to which steps lead."""
        twist, acceleration = (carry_motion(constants, steps, x) for x in self[:2])
        return Rest(twist, acceleration, carry_products(constants, steps, self.products))


class Change(NamedTuple):
    """Small changes: displacement, twist, acceleration (6) of a block's frame and ``V V^T`` (36), and of own coordinates.

    Products of uncertain twists with changes of these are gathered where they arise and go outwards with the motion, so that
    uncertain steps act on both in the same order.
    """

    displacement: Signals
    twist: Signals
    acceleration: Signals
    products: Signals
    q: Signals
    v: Signals
    a: Signals

    def carry(self, loop: LinearLoop, steps: Iterable[FrameStep]) -> Change:
        """Return the changes of the frame to which steps lead."""
        displacement, twist, acceleration = (carry_motion(loop, steps, x) for x in self[:3])
        products = carry_products(loop, steps, self.products)
        return self._replace(displacement=displacement, twist=twist, acceleration=acceleration, products=products)


# -- steps ------------------------------------------------------------------------------------------------------------------


class FrameStep:
    """From a frame to the next; a subclass says what is uncertain, and either turns vectors or shifts what is fixed to them."""

    @property
    def deltas(self) -> tuple[str, ...]:
        """Names of what is uncertain about it."""
        raise NotImplementedError

    def vector(self, loop: LinearLoop, x: Signals, back: bool = False) -> Signals:
        """Return vectors (3) in the next frame's axes; `back` from those in this one's."""
        return x

    def motion(self, loop: LinearLoop, x: Signals) -> Signals:
        """Return motions (6, linear first) of the next frame, fixed to this one."""
        return stack(self.vector(loop, x[:3]), self.vector(loop, x[3:]))

    def wrench(self, loop: LinearLoop, x: Signals) -> Signals:
        """Return wrenches (6) about this frame from those about the next."""
        return stack(self.vector(loop, x[:3], back=True), self.vector(loop, x[3:], back=True))


@dataclass(frozen=True, eq=False)
class Rotate(FrameStep):
    """A rotation R (3, 3), from the next frame's components to this one's, perhaps a polynomial."""

    rotation: Polynomial

    @property
    def deltas(self) -> tuple[str, ...]:
        return self.rotation.deltas

    @cached_property
    def _outwards(self) -> Polynomial:
        return self.rotation.mapped(np.transpose)

    def vector(self, loop: LinearLoop, x: Signals, back: bool = False) -> Signals:
        return (self.rotation if back else self._outwards).apply(loop, x)


@dataclass(frozen=True, eq=False)
class Shift(FrameStep):
    """A displacement (3, m), perhaps a polynomial."""

    position: Polynomial

    @property
    def deltas(self) -> tuple[str, ...]:
        return self.position.deltas

    @cached_property
    def _lever(self) -> Polynomial:
        return self.position.mapped(skew)

    def motion(self, loop: LinearLoop, x: Signals) -> Signals:
        return stack(x[:3] - self._lever.apply(loop, x[3:]), x[3:])

    def wrench(self, loop: LinearLoop, x: Signals) -> Signals:
        return stack(x[:3], x[3:] + self._lever.apply(loop, x[:3]))


@dataclass(frozen=True, eq=False)
class Turn(FrameStep):
    """A rotation about a unit axis by twice the angle whose tangent is ``slope δ``, as its Cayley factor.

    With N the axis' cross product and t the tangent, ``(1 + t N)(1 - t N)^-1``: t stands in it twice for each vector.
    """

    axis: Array
    delta: str
    slope: float

    @property
    def deltas(self) -> tuple[str, ...]:
        return (self.delta,)

    def vector(self, loop: LinearLoop, x: Signals, back: bool = False) -> Signals:
        return loop.once((self.delta, self.slope, back, *self.axis), x, lambda: self._turn(loop, x, back))  # type: ignore[no-any-return]

    def _turn(self, loop: LinearLoop, x: Signals, back: bool) -> Signals:
        if x.is_zero:
            return x
        plane = np.linalg.svd(self.axis[None])[2][1:].T
        cross = (self.slope if back else -self.slope) * plane.T @ skew(self.axis)
        returned = loop.open_channels(self.delta, 2)
        loop.drive(returned, cross @ (x + plane @ returned))
        return x + 2.0 * plane @ returned


def carry_motion(loop: LinearLoop, steps: Iterable[FrameStep], x: Signals) -> Signals:
    """Return motions (6) of the frame to which steps lead."""
    for step in steps:
        x = step.motion(loop, x)
    return x


def carry_products(loop: LinearLoop, steps: Iterable[FrameStep], x: Signals) -> Signals:
    """Return a symmetric matrix (36, row by row) of products of motions of the frame to which steps lead."""
    if x.is_zero:
        return x
    for step in steps:
        for _ in range(2):
            x = _TRANSPOSED @ stack(*(step.motion(loop, x[6 * k : 6 * k + 6]) for k in range(6)))
    return x


def carry_vector(loop: LinearLoop, steps: Iterable[FrameStep], x: Signals) -> Signals:
    """Return vectors (3) in the axes of the frame to which steps lead."""
    for step in steps:
        x = step.vector(loop, x)
    return x


def carry_back(loop: LinearLoop, steps: Iterable[FrameStep], x: Signals) -> Signals:
    """Return wrenches (6) about the frame from which steps lead."""
    for step in reversed([*steps]):
        x = step.wrench(loop, x)
    return x


# -- own coordinates at the end -----------------------------------------------------------------------------------------------


class OwnMotion(Protocol):
    """Own coordinates at the end of a leg."""

    def rest(self, constants: LinearLoop, rest: Rest, v: Signals, a: Array) -> Rest:
        """Return the motion behind them at the operating point; `rest` is that before, `v` and `a` those of all own ones."""

    def change(self, loop: LinearLoop, constants: LinearLoop, rest: Rest, change: Change, v: Signals, a: Array) -> Change:
        """Return the small changes behind them."""

    def efforts(self, constants: LinearLoop, wrench: Signals, n: int) -> Signals:
        """Return the efforts (n) of a wrench behind them at the operating point."""

    def back(
        self, loop: LinearLoop, constants: LinearLoop, wrench_0: Signals, wrench: Signals, q: Signals
    ) -> tuple[Signals, Signals]:
        """Return the changes of a wrench, and of the efforts (n) on all own coordinates, which move by `q`."""


class Own(NamedTuple):
    """n of the own coordinates.

    Attributes
    ----------
    entries : (n,) int array
        Among the block's own.
    subspace : (6, n) array
        S.
    bends : (n, 6, n) array
        dS/dq.
    rate : (6,) array
        ``dS/dt v`` at the operating point, with derivatives
    by_q, by_v : (6, n) arrays
    """

    entries: Array
    subspace: Array
    bends: Array
    rate: Array
    by_q: Array
    by_v: Array

    def rest(self, constants: LinearLoop, rest: Rest, v: Signals, a: Array) -> Rest:
        entries, S, _, rate, _, _ = self
        relative = S @ v[entries]
        twist = rest.twist + relative
        given = Signals((S @ a[entries] + rate)[:, None])
        turned = constants.bilinear(constants, -_MOTION_CROSS, relative, twist)
        products = rest.products + _BOTH @ _outer(constants, constants, relative, rest.twist)
        products += _outer(constants, constants, relative, relative)
        return Rest(twist, rest.acceleration + given + turned, products)

    def change(self, loop: LinearLoop, constants: LinearLoop, rest: Rest, change: Change, v: Signals, a: Array) -> Change:
        entries, S, bends, _, by_q, by_v = self
        displacement, twist, acceleration, products = change[:4]
        dq, dv, da = change.q[entries], change.v[entries], change.a[entries]
        carried = [-twist_cross(column) for column in S.T]
        relative = S @ v[entries]
        bent_v = bends.transpose(1, 0, 2) @ v.padded(1)[entries, 0] if bends.any() else np.zeros((6, len(entries)))
        relative_change = S @ dv + bent_v @ dq
        displacement += S @ dq
        behind = rest.twist + relative
        new = _outer(loop, constants, relative, twist)
        new += _outer(loop, constants, behind, dv, S) + _outer(loop, constants, behind, dq, bent_v)
        before = rest.products + _outer(constants, constants, relative, rest.twist)
        new += loop.bilinear(constants, [np.kron(np.eye(6), ad) for ad in carried], before, dq)
        products += _BOTH @ new
        twist += relative_change + loop.bilinear(constants, carried, rest.twist, dq)
        acceleration += S @ da + by_q @ dq + by_v @ dv + loop.bilinear(constants, carried, rest.acceleration, dq)
        if bends.any():
            acceleration += (bends.transpose(1, 0, 2) @ a[entries]) @ dq
        acceleration += loop.bilinear(constants, -_MOTION_CROSS, relative, twist)
        acceleration += loop.bilinear(constants, _TWIST_COLUMNS, behind, relative_change)
        return change._replace(displacement=displacement, twist=twist, acceleration=acceleration, products=products)

    def efforts(self, constants: LinearLoop, wrench: Signals, n: int) -> Signals:
        return np.eye(n)[:, self.entries] @ (self.subspace.T @ wrench)

    def back(
        self, loop: LinearLoop, constants: LinearLoop, wrench_0: Signals, wrench: Signals, q: Signals
    ) -> tuple[Signals, Signals]:
        entries, S, bends, *_ = self
        dq = q[entries]
        efforts = S.T @ wrench
        if bends.any():
            efforts += loop.bilinear(constants, [bend.T for bend in bends], wrench_0, dq)
        wrench += loop.bilinear(constants, [-twist_cross(column).T for column in S.T], wrench_0, dq)
        return wrench, np.eye(len(q))[:, entries] @ efforts


class UncertainOwn(NamedTuple):
    """All n own coordinates of a block, which rest at the operating point; what they move is a polynomial.

    Attributes
    ----------
    subspace : Polynomial (6, n)
        S.
    onto : Polynomial (n, 6)
        From wrenches to efforts: its transpose, where efforts are scaled as coordinates are.
    bends : Polynomial (6 n, n)
        How ``onto`` changes with the coordinates: rows by entry of the wrench, then by effort.
    """

    subspace: Polynomial
    onto: Polynomial
    bends: Polynomial

    def rest(self, constants: LinearLoop, rest: Rest, v: Signals, a: Array) -> Rest:
        return rest

    def change(self, loop: LinearLoop, constants: LinearLoop, rest: Rest, change: Change, v: Signals, a: Array) -> Change:
        moved, moving, accelerated = (self.subspace.apply(loop, x) for x in (change.q, change.v, change.a))
        displacement, twist, acceleration, products = change[:4]
        twist += moving + loop.bilinear(constants, _MOTION_CROSS, rest.twist, moved)
        turned = loop.bilinear(constants, [np.kron(np.eye(6), ad) for ad in _MOTION_CROSS], rest.products, moved)
        products += _BOTH @ (_outer(loop, constants, rest.twist, moving) + turned)
        acceleration += accelerated + loop.bilinear(constants, _MOTION_CROSS, rest.acceleration, moved)
        acceleration += loop.bilinear(constants, _TWIST_COLUMNS, rest.twist, moving)
        displacement += moved
        return change._replace(displacement=displacement, twist=twist, acceleration=acceleration, products=products)

    def efforts(self, constants: LinearLoop, wrench: Signals, n: int) -> Signals:
        return self.onto.apply(constants, wrench)

    def back(
        self, loop: LinearLoop, constants: LinearLoop, wrench_0: Signals, wrench: Signals, q: Signals
    ) -> tuple[Signals, Signals]:
        efforts = self.onto.apply(loop, wrench)
        if wrench_0.is_zero:
            return wrench, efforts
        n = len(q)
        picked = np.einsum("ki,jl->ijlk", np.eye(6), np.eye(n)).reshape(6 * n, n, 6)
        efforts += loop.bilinear(constants, picked, wrench_0, self.bends.apply(loop, q))
        wrench += loop.bilinear(constants, _FORCE_CROSS, wrench_0, self.subspace.apply(loop, q))
        return wrench, efforts


def _outer(loop: LinearLoop, constants: LinearLoop, value: Signals, signal: Signals, along: Array | None = None) -> Signals:
    """Return ``x (B y)^T`` (36) of uncertain constants x (6) and signals y, B `along` (6, n), by default the identity."""
    columns = (np.eye(6) if along is None else along).T
    return loop.bilinear(constants, [np.kron(np.eye(6), column[:, None]) for column in columns], value, signal)
