"""What own coordinates of a block do at the end of a leg: to motions going outwards, and what wrenches there do to them."""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np

from titop.blocks.basics.spatial import Array, twist_cross
from titop.solvers.lft.fractions.interpolation import Polynomial
from titop.solvers.lft.fractions.loops import Loop, Signal
from titop.solvers.lft.fractions.steps import TRANSPOSED
from titop.solvers.lft.laws.laws import Change, Rest

#: ``-ad(e_i)^T`` of each unit twist (6, 6, 6).
FORCE_CROSS = np.array([-twist_cross(unit).T for unit in np.eye(6)])
#: ``-ad(e_i)`` of each unit twist (6, 6, 6).
MOTION_CROSS = np.array([-twist_cross(unit) for unit in np.eye(6)])
#: From a twist c and a change s to ``ad(c) s = sum_i ad_i s_i``, ad_i the i-th column of ad as a matrix that acts on c.
TWIST_COLUMNS = np.array([[twist_cross(unit)[:, i] for unit in np.eye(6)] for i in range(6)]).transpose(0, 2, 1)
#: From ``x y^T`` to ``x y^T + y x^T`` (36, 36).
_BOTH = np.eye(36) + TRANSPOSED


class OwnMotion(Protocol):
    """Own coordinates at the end of a leg."""

    def rest(self, constants: Loop, rest: Rest, v: Signal, a: Array) -> Rest:
        """Return the motion behind them at the operating point; `rest` is that before, `v` and `a` those of all own ones."""

    def change(self, loop: Loop, constants: Loop, rest: Rest, change: Change, v: Signal, a: Array) -> Change:
        """Return the small changes behind them."""

    def efforts(self, constants: Loop, wrench: Signal, n: int) -> Signal:
        """Return the efforts (n) of a wrench behind them at the operating point."""

    def back(self, loop: Loop, constants: Loop, wrench_0: Signal, wrench: Signal, q: Signal) -> tuple[Signal, Signal]:
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

    def rest(self, constants: Loop, rest: Rest, v: Signal, a: Array) -> Rest:
        entries, S, _, rate, _, _ = self
        relative = S @ v[entries]
        twist = rest.twist + relative
        given = Signal((S @ a[entries] + rate)[:, None])
        turned = constants.bilinear(constants, -MOTION_CROSS, relative, twist)
        products = rest.products + _BOTH @ outer(constants, constants, relative, rest.twist)
        products += outer(constants, constants, relative, relative)
        return Rest(twist, rest.acceleration + given + turned, products)

    def change(self, loop: Loop, constants: Loop, rest: Rest, change: Change, v: Signal, a: Array) -> Change:
        entries, S, bends, _, by_q, by_v = self
        displacement, twist, acceleration, products = change[:4]
        dq, dv, da = change.q[entries], change.v[entries], change.a[entries]
        carried = [-twist_cross(column) for column in S.T]
        relative = S @ v[entries]
        bent_v = bends.transpose(1, 0, 2) @ v.padded(1)[entries, 0] if bends.any() else np.zeros((6, len(entries)))
        relative_change = S @ dv + bent_v @ dq
        displacement += S @ dq
        new = outer(loop, constants, relative, twist)
        new += outer(loop, constants, rest.twist + relative, dv, S) + outer(loop, constants, rest.twist + relative, dq, bent_v)
        before = rest.products + outer(constants, constants, relative, rest.twist)
        new += loop.bilinear(constants, [np.kron(np.eye(6), ad) for ad in carried], before, dq)
        products += _BOTH @ new
        twist += relative_change + loop.bilinear(constants, carried, rest.twist, dq)
        acceleration += S @ da + by_q @ dq + by_v @ dv + loop.bilinear(constants, carried, rest.acceleration, dq)
        if bends.any():
            acceleration += (bends.transpose(1, 0, 2) @ a[entries]) @ dq
        acceleration += loop.bilinear(constants, -MOTION_CROSS, relative, twist)
        acceleration += loop.bilinear(constants, TWIST_COLUMNS, rest.twist + relative, relative_change)
        return change._replace(displacement=displacement, twist=twist, acceleration=acceleration, products=products)

    def efforts(self, constants: Loop, wrench: Signal, n: int) -> Signal:
        return np.eye(n)[:, self.entries] @ (self.subspace.T @ wrench)

    def back(self, loop: Loop, constants: Loop, wrench_0: Signal, wrench: Signal, q: Signal) -> tuple[Signal, Signal]:
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

    def rest(self, constants: Loop, rest: Rest, v: Signal, a: Array) -> Rest:
        return rest

    def change(self, loop: Loop, constants: Loop, rest: Rest, change: Change, v: Signal, a: Array) -> Change:
        moved, moving, accelerated = (self.subspace.applied(loop, x) for x in (change.q, change.v, change.a))
        displacement, twist, acceleration, products = change[:4]
        twist += moving + loop.bilinear(constants, MOTION_CROSS, rest.twist, moved)
        turned = loop.bilinear(constants, [np.kron(np.eye(6), ad) for ad in MOTION_CROSS], rest.products, moved)
        products += _BOTH @ (outer(loop, constants, rest.twist, moving) + turned)
        acceleration += accelerated + loop.bilinear(constants, MOTION_CROSS, rest.acceleration, moved)
        acceleration += loop.bilinear(constants, TWIST_COLUMNS, rest.twist, moving)
        displacement += moved
        return change._replace(displacement=displacement, twist=twist, acceleration=acceleration, products=products)

    def efforts(self, constants: Loop, wrench: Signal, n: int) -> Signal:
        return self.onto.applied(constants, wrench)

    def back(self, loop: Loop, constants: Loop, wrench_0: Signal, wrench: Signal, q: Signal) -> tuple[Signal, Signal]:
        efforts = self.onto.applied(loop, wrench)
        if wrench_0.is_zero:
            return wrench, efforts
        n = len(q)
        picked = np.einsum("ki,jl->ijlk", np.eye(6), np.eye(n)).reshape(6 * n, n, 6)
        efforts += loop.bilinear(constants, picked, wrench_0, self.bends.applied(loop, q))
        wrench += loop.bilinear(constants, FORCE_CROSS, wrench_0, self.subspace.applied(loop, q))
        return wrench, efforts


def outer(loop: Loop, constants: Loop, value: Signal, signal: Signal, along: Array | None = None) -> Signal:
    """Return ``x (B y)^T`` (36) of uncertain constants x (6) and signals y, B `along` (6, n), by default the identity."""
    columns = (np.eye(6) if along is None else along).T
    return loop.bilinear(constants, [np.kron(np.eye(6), column[:, None]) for column in columns], value, signal)
