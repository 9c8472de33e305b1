"""How frames move that coordinates move: twist, acceleration and what wrenches do, from rotation and position as chains."""

from __future__ import annotations

from typing import Any

import numpy as np

from titop.blocks.bodies.soft.chain import Chain
from titop.blocks.bodies.soft.differentiation import as_array, stacked, symbols
from titop.blocks.bodies.soft.optional import casadi


class FrameMotion:
    """Twist and acceleration (6 each) of a frame in its own axes, of its pose and that's rates.

    A pose is a rotation R (3 x 3, row by row) and a position r (3) in the frame of the parent port, which has twist V and
    acceleration A itself. Relative to it the frame has twist S v, from ``R^T dR/dt`` and ``R^T dr/dt``, with S linear in the
    derivatives of the pose by q.
    """

    def __init__(self) -> None:
        pose, rate, change = (symbols(name, 12) for name in ("x", "u", "b"))
        parent, wrench = symbols("V", 12), symbols("W", 6)
        self._pose, self._rate, self._change = pose.vector, rate.vector, change.vector
        self._parent, self._wrench = parent.vector, wrench.vector
        (R, r), (dR, dr), (ddR, ddr) = (_split(entries) for entries in (pose.entries, rate.entries, change.entries))
        own = _twist(R.T @ dR, R.T @ dr)
        own_rate = _twist(dR.T @ dR + R.T @ ddR, dR.T @ dr + R.T @ ddr)
        V, A = parent.entries[:6], parent.entries[6:]
        twist = _carried(R, r, V) + own
        turned = np.concatenate([_cross(twist[3:], own[:3]) + _cross(twist[:3], own[3:]), _cross(twist[3:], own[3:])])
        self._own, self._own_rate = stacked(own), stacked(own_rate)
        self._twist, self._acceleration = stacked(twist), stacked(_carried(R, r, A) + own_rate + turned)
        force, torque = R @ wrench.entries[:3], R @ wrench.entries[3:]
        self._at_parent = stacked(np.concatenate([force, torque + _cross(r, force)]))
        self._pulled = casadi().gradient(casadi().dot(self._own, self._wrench), self._rate)

    def rate_at(self, chain: Chain) -> Any:
        """Return ``dS/dt v + S a`` (6)."""
        return self._at(chain, self._own_rate)

    def subspace_at(self, chain: Chain) -> Any:
        """Return S (6 x n)."""
        return casadi().mtimes(self._at(chain, casadi().jacobian(self._own, self._rate)), chain.columns)

    def slopes_at(self, chain: Chain, parent: Any) -> list[Any]:
        """Return the derivatives (6 x n each) of twist and acceleration by q, and of the acceleration by v.

        Parameters
        ----------
        chain : Chain
            Of the pose.
        parent : casadi.SX
            Twist and acceleration of the parent port.
        """
        columns, rates, changes = chain.columns, chain.rate_columns, chain.acceleration_columns

        def by(expression: Any, *moved: tuple[Any, Any]) -> Any:
            parts = [(self._at(chain, casadi().jacobian(expression, symbol), parent), column) for symbol, column in moved]
            return sum(casadi().mtimes(part, column) for part, column in parts)

        return [
            by(self._twist, (self._pose, columns), (self._rate, rates)),
            by(self._acceleration, (self._pose, columns), (self._rate, rates), (self._change, changes)),
            by(self._acceleration, (self._rate, columns), (self._change, 2.0 * rates)),
        ]

    def pressed_at(self, chain: Chain, wrench: Any) -> tuple[Any, Any]:
        """Return the derivatives by q of a wrench on the parent port (6 x n), and of the efforts ``S^T W`` (n x n).

        Parameters
        ----------
        chain : Chain
        wrench : casadi.SX
            W, constant in the frame.
        """
        product, columns = casadi().mtimes, chain.columns
        by_pose = self._at(chain, casadi().jacobian(self._at_parent, self._pose), wrench=wrench)
        pulled = self._at(chain, self._pulled, wrench=wrench)
        turned = self._at(chain, casadi().jacobian(self._pulled, self._pose), wrench=wrench)
        return product(by_pose, columns), chain.bent(pulled) + product(columns.T, product(turned, columns))

    def _at(self, chain: Chain, expression: Any, parent: Any = None, wrench: Any = None) -> Any:
        given = [(self._pose, chain.state), (self._rate, chain.rate), (self._change, chain.acceleration)]
        given += [(symbol, value) for symbol, value in ((self._parent, parent), (self._wrench, wrench)) if value is not None]
        return casadi().substitute([expression], [symbol for symbol, _ in given], [casadi().densify(x) for _, x in given])[0]


def _split(entries: Any) -> tuple[Any, Any]:
    return entries[:9].reshape(3, 3), entries[9:]


def _twist(spin: Any, way: Any) -> Any:
    return as_array([*way, spin[2, 1], spin[0, 2], spin[1, 0]])


def _carried(R: Any, r: Any, x: Any) -> Any:
    """Return a twist (6) of the parent port at a frame that moves with it."""
    return np.concatenate([R.T @ (x[:3] + _cross(x[3:], r)), R.T @ x[3:]])


def _cross(x: Any, y: Any) -> Any:
    return as_array([x[1] * y[2] - x[2] * y[1], x[2] * y[0] - x[0] * y[2], x[0] * y[1] - x[1] * y[0]])
