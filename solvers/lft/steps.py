"""From frame to frame: what steps, uncertain ones too, do to motions going outwards and to wrenches coming back.

Steps lead from a block's parent port to its child ports, and from there to the next block. Own coordinates of a block act where
they end. Motions are those of the operating point (constants), and small changes of them.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

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
#: The same for each of six columns one after the other (6, 36, 36).
_COLUMNS_CROSS = np.array([np.kron(np.eye(6), cross) for cross in _MOTION_CROSS])
#: ``x e_i^T`` (6, 36, 6) of each unit vector as a matrix that acts on x.
_OUTER = np.array([np.kron(np.eye(6), unit[:, None]) for unit in np.eye(6)])
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
        return self.rotation.transform(np.transpose)

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
        return self.position.transform(skew)

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


class OwnMotion(NamedTuple):
    """n of a block's own coordinates at the end of a leg; they rest at the operating point where what they move is uncertain.

    - `entries` (n): among the block's own;
    - `subspace` (6, n): S;
    - `onto` (n, 6): from wrenches to efforts: its transpose, where efforts are scaled as coordinates are;
    - `bends` (6 n, n): how ``onto`` changes with the coordinates: rows by entry of the wrench, then by effort;
    - `rate` (6), `by_q`, `by_v` (6, n): ``dS/dt v`` at the operating point, and its derivatives.
    """

    entries: Array
    subspace: Polynomial
    onto: Polynomial
    bends: Polynomial
    rate: Array
    by_q: Array
    by_v: Array

    @classmethod
    def certain(cls, entries: Array, S: Array, bends: Array, rate: Array, by_q: Array, by_v: Array) -> OwnMotion:
        """Return those with a subspace (6, n) and its derivatives, `bends` (n, 6, n), that are certain."""
        rows = bends.transpose(1, 2, 0).reshape(-1, len(entries))
        return cls(entries, Polynomial.affine(S), Polynomial.affine(S.T), Polynomial.affine(rows), rate, by_q, by_v)

    @classmethod
    def resting(cls, subspace: Polynomial, onto: Polynomial, bends: Polynomial) -> OwnMotion:
        """Return all coordinates of a block, at rest."""
        n = len(onto.constant)
        return cls(np.arange(n), subspace, onto, bends, np.zeros(6), *np.zeros((2, 6, n)))

    def _bend(self, along: Array) -> Array:
        n = len(self.entries)
        return along @ self.bends.constant.reshape(6, n, n)

    def rest(self, constants: LinearLoop, rest: Rest, v: Signals, a: Array) -> Rest:
        """Return the motion behind them at the operating point; `rest` is that before, `v` and `a` those of all own ones."""
        relative = self.subspace.apply(constants, v[self.entries])
        twist = rest.twist + relative
        imposed = Signals((self.subspace.constant @ a[self.entries] + self.rate)[:, None])
        turned = constants.bilinear(constants, -_MOTION_CROSS, relative, twist)
        products = rest.products + _BOTH @ _outer(constants, constants, relative, rest.twist)
        products += _outer(constants, constants, relative, relative)
        return Rest(twist, rest.acceleration + imposed + turned, products)

    def change(self, loop: LinearLoop, constants: LinearLoop, rest: Rest, change: Change, v: Signals, a: Array) -> Change:
        """Return the small changes behind them."""
        dq, dv, da = (x[self.entries] for x in (change.q, change.v, change.a))
        moved, moving, accelerated = (self.subspace.apply(loop, x) for x in (dq, dv, da))
        accelerated += self.by_q @ dq + self.by_v @ dv
        if self.bends.constant.any():
            moving += self._bend(v.pad(1)[self.entries, 0]) @ dq
            accelerated += self._bend(a[self.entries]) @ dq
        relative = self.subspace.apply(constants, v[self.entries])
        behind = rest.twist + relative
        before = rest.products + _outer(constants, constants, relative, rest.twist)
        products = _outer(loop, constants, relative, change.twist) + _outer(loop, constants, behind, moving)
        products += loop.bilinear(constants, _COLUMNS_CROSS, before, moved)
        twist = change.twist + moving + loop.bilinear(constants, _MOTION_CROSS, rest.twist, moved)
        accelerated += loop.bilinear(constants, _MOTION_CROSS, rest.acceleration, moved)
        accelerated += loop.bilinear(constants, -_MOTION_CROSS, relative, twist)
        accelerated += loop.bilinear(constants, _TWIST_COLUMNS, behind, moving)
        return change._replace(
            displacement=change.displacement + moved,
            twist=twist,
            acceleration=change.acceleration + accelerated,
            products=change.products + _BOTH @ products,
        )

    def efforts(self, constants: LinearLoop, wrench: Signals, n: int) -> Signals:
        """Return the efforts (n) of a wrench behind them at the operating point."""
        return np.eye(n)[:, self.entries] @ self.onto.apply(constants, wrench)

    def back(
        self, loop: LinearLoop, constants: LinearLoop, wrench_0: Signals, wrench: Signals, q: Signals
    ) -> tuple[Signals, Signals]:
        """Return the changes of a wrench, and of the efforts (n) on all own coordinates, which move by `q`."""
        dq, n = q[self.entries], len(self.entries)
        efforts = self.onto.apply(loop, wrench)
        if not wrench_0.is_zero:
            if any(matrix.any() for matrix in self.bends.matrices):
                picked = np.einsum("ki,jl->ijlk", np.eye(6), np.eye(n)).reshape(6 * n, n, 6)
                efforts += loop.bilinear(constants, picked, wrench_0, self.bends.apply(loop, dq))
            wrench += loop.bilinear(constants, _FORCE_CROSS, wrench_0, self.subspace.apply(loop, dq))
        return wrench, np.eye(len(q))[:, self.entries] @ efforts


def _outer(loop: LinearLoop, constants: LinearLoop, value: Signals, signal: Signals) -> Signals:
    return loop.bilinear(constants, _OUTER, value, signal)
