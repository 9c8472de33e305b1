"""Ports of deformable bodies: where they stand, and how frames move that coordinates move."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from titop.blocks.basics.spatial import Array
from titop.blocks.basics.tolerances import SAME
from titop.blocks.basics.user_input import FieldReader, real_array
from titop.blocks.bodies.soft.chain import Chain
from titop.blocks.bodies.soft.domain import Domain
from titop.blocks.contract.block import check_port_name
from titop.blocks.programs.differentiation import jacobian, replaced
from titop.blocks.programs.graph import Graph


class SoftPort(NamedTuple):
    """Where a port stands: one or three material points (x, y, z; m), or ``frame(q)`` or ``frame(q, numbers)`` instead."""

    points: tuple[tuple[float, ...], ...]
    frame: Callable[..., Any] | None = None


#: The port that stands at the domain's tip if none is named.
TIP = "tip"


def read_soft_ports(reader: FieldReader, ports: Any, domain: Domain) -> dict[str, SoftPort]:
    """Read ports: a material point, three of them, or a function of q."""
    if ports is None:
        ports = {} if domain.tip is None else {TIP: _end_points(domain, domain.tip)}
    read: dict[str, SoftPort] = {}
    for name, value in reader.mapping("ports", ports, "names to material points", '{"tip": [0, 0, 0.2]}').items():
        if check_port_name(reader, name) and (port := _read_port(reader, f"ports.{name}", value)):
            read[name] = port
    return read


def _end_points(domain: Domain, tip: Array) -> Array:
    """Return the tip, and points as far from it along x and y as the material reaches; the tip alone if it does not."""
    x, y, _ = np.abs(domain.points - tip).max(axis=0)
    return tip + np.array([[0.0, 0.0, 0.0], [x, 0.0, 0.0], [0.0, y, 0.0]]) if x * y > 0 else tip


def _read_port(reader: FieldReader, field: str, value: Any) -> SoftPort | None:
    if callable(value):
        return SoftPort((), value)
    array = real_array(value)
    expected = "a material point (3), three of them (3 x 3), or a function of q"
    if array is None or array.shape not in ((3,), (3, 3)) or not np.isfinite(array).all():
        reader.report("wrong-type", field, value, expected, "give the port's place, and points along its x and y axes")
        return None
    points = array.reshape(-1, 3)
    if len(points) == 3:
        along, beside = points[1] - points[0], points[2] - points[0]
        if not abs(along @ beside) < SAME * np.linalg.norm(along) * np.linalg.norm(beside):
            advice = "let the second point lie along the port's x axis, and the third along its y axis"
            reader.report("bad-frame", field, value, "points at a right angle, seen from the first (key P, (3))", advice)
            return None
    return SoftPort(tuple(map(tuple, points.tolist())))


def frame_through(port: SoftPort, state: Any) -> tuple[Any, Any]:
    """Return rotation (3 x 3) and position (3) of a port with points, of unknowns.

    The state is where three points stand (9); the x axis goes through the second and y near the third: key P, (4) to (6), if
    they keep their distances and their right angle. Or it is where one stands, and the columns of ``F = df/dx`` there (12); the
    axes follow from the first two of these.
    """
    place, along, beside = state[:3], state[3:6], state[6:9]
    if len(port.points) == 3:
        along, beside = along - place, beside - place
    x = _unit(along)
    y = _unit(beside - (beside @ x) * x)
    return np.column_stack([x, y, _cross(x, y)]), place


def _unit(vector: Any) -> Any:
    return vector / np.sqrt(vector @ vector)


class FrameMotion:
    """Twist and acceleration (6 each) of a frame in its own axes, of its pose and the pose's rates.

    A pose is a rotation R (3 x 3, row by row) and a position r (3) in the frame of the parent port, which has twist V and
    acceleration A. Relative to it the frame has twist S v, from ``R^T dR/dt`` and ``R^T dr/dt``, with S linear in the
    derivatives of the pose by q.
    """

    def __init__(self, graph: Graph) -> None:
        self._pose, self._rate, self._change = (graph.fresh(12) for _ in range(3))
        self._parent, self._wrench = graph.fresh(12), graph.fresh(6)
        (R, r), (dR, dr), (ddR, ddr) = ((x[:9].reshape(3, 3), x[9:]) for x in (self._pose, self._rate, self._change))
        self._relative = _twist(R.T @ dR, R.T @ dr)
        relative_rate = _twist(dR.T @ dR + R.T @ ddR, dR.T @ dr + R.T @ ddr)
        V, A = self._parent[:6], self._parent[6:]
        self._twist = twist = _transport(R, r, V) + self._relative
        u, w = self._relative[:3], self._relative[3:]
        crossing = np.concatenate([_cross(twist[3:], u) + _cross(twist[:3], w), _cross(twist[3:], w)])
        self._relative_rate, self._acceleration = relative_rate, _transport(R, r, A) + relative_rate + crossing
        force, torque = R @ self._wrench[:3], R @ self._wrench[3:]
        self._at_parent = np.concatenate([force, torque + _cross(r, force)])
        self._work = jacobian(self._relative @ self._wrench, self._rate, reverse=True)

    def rate_at(self, chain: Chain) -> Array:
        """Return ``dS/dt v + S a`` (6)."""
        return self._at(chain, self._relative_rate)

    def subspace_at(self, chain: Chain) -> Array:
        """Return S (6 x n)."""
        return self._slopes(chain, self._relative, (self._rate, chain.columns))

    def slopes_at(self, chain: Chain, parent: Array) -> list[Array]:
        """Return the derivatives (6 x n each) of twist and acceleration by q, and of the acceleration by v.

        `parent` is twist and acceleration of the parent port.
        """
        columns, rates, changes = chain.columns, chain.rate_columns, chain.acceleration_columns
        by_q = (self._pose, columns), (self._rate, rates)
        return [
            self._slopes(chain, self._twist, *by_q, parent=parent),
            self._slopes(chain, self._acceleration, *by_q, (self._change, changes), parent=parent),
            self._slopes(chain, self._acceleration, (self._rate, columns), (self._change, 2.0 * rates), parent=parent),
        ]

    def wrench_slopes_at(self, chain: Chain, wrench: Array) -> tuple[Array, Array]:
        """Return the derivatives by q of a wrench W, constant in the frame, at the parent port (6 x n), and of ``S^T W``."""
        by_pose = self._pose, chain.columns
        turning = self._slopes(chain, self._work, by_pose, wrench=wrench)
        efforts = chain.hessian(self._at(chain, self._work, wrench=wrench)) + chain.columns.T @ turning
        return self._slopes(chain, self._at_parent, by_pose, wrench=wrench), efforts

    def _slopes(self, chain: Chain, numbers: Array, *by: tuple[Array, Array], parent: Any = None, wrench: Any = None) -> Array:
        """Return the derivatives of numbers by symbols, times the columns of what these stand for, summed."""
        parts = [self._at(chain, jacobian(numbers, symbols), parent, wrench) @ columns for symbols, columns in by]
        return functools.reduce(np.add, parts)

    def _at(self, chain: Chain, numbers: Array, parent: Any = None, wrench: Any = None) -> Array:
        values = [(self._pose, chain.state), (self._rate, chain.rate), (self._change, chain.acceleration)]
        values += [(self._parent, parent), (self._wrench, wrench)]
        known = {symbol: x for symbols, given in values if given is not None for symbol, x in zip(symbols, given, strict=True)}
        return replaced(numbers, known)


def _twist(spin: Any, way: Any) -> Any:
    return np.array([*way, spin[2, 1], spin[0, 2], spin[1, 0]], dtype=object)


def _transport(R: Any, r: Any, x: Any) -> Any:
    """Return a twist (6) of the parent port at a frame that moves with it."""
    return np.concatenate([R.T @ (x[:3] + _cross(x[3:], r)), R.T @ x[3:]])


def _cross(x: Any, y: Any) -> Any:
    return np.array([x[1] * y[2] - x[2] * y[1], x[2] * y[0] - x[0] * y[2], x[0] * y[1] - x[1] * y[0]], dtype=object)
