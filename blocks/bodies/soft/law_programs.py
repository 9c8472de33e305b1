"""The law of a deformable body as programs, derived from its kinematics, its material and its ports' frames.

A point at x stands at ``p = f(x, q)`` in the frame of the parent port, moves there by ``u = J q'`` and is accelerated by
``b = J a + du/dq q'``, with ``J = df/dq``; the deformation gradient is ``F = df/dx`` (key P, sections 2 and 3).
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np

from titop.blocks.bodies.soft.differentiation import (
    Symbols,
    as_array,
    casadi,
    expression_of,
    stacked,
    symbols,
    unstacked,
    written,
)
from titop.blocks.bodies.soft.program import Program

#: What a point has: its place x (m), the volume for which it stands (m^3), and its mass (kg).
PLACE, VOLUME, MASS, POINT_SIZE = slice(0, 3), 3, 4, 5


class LawPrograms:
    """Programs of the law, each derived when it is first asked for.

    Their shared numbers are q, v and a (n each), twist V and acceleration A of the parent port (6 each), and `numbers`; each
    point has what `POINT_SIZE` numbers say. Matrices are laid out row by row.

    Parameters
    ----------
    kinematics : callable
        ``f(x, q, numbers)``.
    n : int
        How many coordinates there are.
    numbers : sequence of str
        Names of the numbers that functions are told.
    material : object, optional
        With ``energy(F, numbers)`` and ``dissipation(F, rate, numbers)`` per volume.
    ports : mapping of name to callable
        ``frame(q, numbers)``: rotation and position.
    own_energy, own_dissipation : callable, optional
        ``energy(q, numbers)`` and ``dissipation(q, v, numbers)`` of the whole body.
    """

    def __init__(
        self,
        kinematics: Callable[..., Any],
        n: int,
        numbers: Sequence[str],
        material: Any = None,
        ports: Mapping[str, Callable[..., Any]] | None = None,
        own_energy: Callable[..., Any] | None = None,
        own_dissipation: Callable[..., Any] | None = None,
    ) -> None:
        self.n, self.ports, self.material = n, dict(ports or {}), material
        self.own_energy, self.own_dissipation = own_energy, own_dissipation
        self._shared = symbols("s", 3 * n + 12 + len(numbers))
        self._point, self._force = symbols("x", POINT_SIZE), symbols("f", 3)
        entries = self._shared.entries
        self._q, self._v, self._a = entries[:n], entries[n : 2 * n], entries[2 * n : 3 * n]
        self._V, self._A = entries[3 * n : 3 * n + 6], entries[3 * n + 6 : 3 * n + 12]
        self._numbers = _nested(dict(zip(numbers, entries[3 * n + 12 :], strict=True)))
        self._p = stacked(kinematics(self._point.entries[PLACE], self._q, self._numbers))
        self._columns_q, self._columns_v = stacked(self._q), stacked(self._v)

    # -- points ------------------------------------------------------------------------------------------------------------

    @functools.cached_property
    def places(self) -> Program:
        """At every point p (3) and F (3 x 3)."""
        return self._of_points(each=[self._p, self._gradient])

    @functools.cached_property
    def motion(self) -> Program:
        """At every point p, u and b (3 each)."""
        return self._of_points(each=[self._p, self._u, self._b])

    @functools.cached_property
    def columns(self) -> Program:
        """At every point p, u, b without accelerations (3 each) and J (3 x n)."""
        return self._of_points(each=[self._p, self._u, self._along(self._u), self._J])

    @functools.cached_property
    def efforts(self) -> Program:
        """In total ``J^T f`` (n) of forces f (3) on the points."""
        work = casadi().dot(self._p, self._force.vector)
        return self._of_points(totals=[casadi().gradient(work, self._columns_q)], loads=self._force)

    @functools.cached_property
    def bends(self) -> Program:
        """In total ``d(J^T f)/dq`` (n x n) of constant forces; at every point p, u, b, J, du/dq and db/dq (3 x n each)."""
        work = casadi().dot(self._p, self._force.vector)
        each = [self._p, self._u, self._b, self._J, self._by_q(self._u), self._by_q(self._b)]
        return self._of_points(totals=[casadi().hessian(work, self._columns_q)[0]], each=each, loads=self._force)

    @property
    def _u(self) -> Any:
        return self._along(self._p)

    @property
    def _b(self) -> Any:
        return casadi().jtimes(self._p, self._columns_q, stacked(self._a)) + self._along(self._u)

    @property
    def _J(self) -> Any:
        return self._by_q(self._p)

    def _along(self, expression: Any) -> Any:
        """Return the rate of an expression of q."""
        return casadi().jtimes(expression, self._columns_q, self._columns_v)

    def _by_q(self, expression: Any) -> Any:
        return casadi().jacobian(expression, self._columns_q)

    def _of_points(
        self, once: Sequence[Any] = (), totals: Sequence[Any] = (), each: Sequence[Any] = (), loads: Symbols | None = None
    ) -> Program:
        once = once or [casadi().SX(*part.shape) for part in totals]
        return written([self._shared, self._point, loads or symbols("f", 0)], once, totals, each)

    # -- material ----------------------------------------------------------------------------------------------------------

    @property
    def _gradient(self) -> Any:
        return casadi().jacobian(self._p, stacked(self._point.entries[PLACE]))

    @functools.cached_property
    def stored(self) -> Program:
        """In total the elastic energy (J)."""
        return self._of_points([self._own_stored], [self._density])

    @functools.cached_property
    def resistance(self) -> Program:
        """In total the efforts (n) with which elasticity and damping resist."""
        return self._of_points([self._resist(self._own_stored, self._own_dissipated)], [self._material_resistance])

    @functools.cached_property
    def resistance_slopes(self) -> Program:
        """In total the derivatives of these efforts by q and v (n x n each)."""
        parts = self._resist(self._own_stored, self._own_dissipated), self._material_resistance
        by_q, by_v = ([casadi().jacobian(part, along) for part in parts] for along in (self._columns_q, self._columns_v))
        return self._of_points([by_q[0], by_v[0]], [by_q[1], by_v[1]])

    @property
    def _own_stored(self) -> Any:
        return expression_of(self.own_energy(self._q, self._numbers) if self.own_energy else 0.0)

    @property
    def _own_dissipated(self) -> Any:
        return expression_of(self.own_dissipation(self._q, self._v, self._numbers) if self.own_dissipation else 0.0)

    @property
    def _density(self) -> Any:
        if self.material is None:
            return casadi().SX(0.0)
        F = unstacked(self._gradient, (3, 3))
        return expression_of(self.material.energy(F, self._material_numbers) * self._point.entries[VOLUME])

    @property
    def _material_resistance(self) -> Any:
        dissipated = casadi().SX(0.0)
        if self.material is not None:
            gradient = casadi().vec(self._gradient)
            rate = casadi().reshape(self._along(gradient), 3, 3)
            F, rates = unstacked(self._gradient, (3, 3)), unstacked(rate, (3, 3))
            dissipated = expression_of(
                self.material.dissipation(F, rates, self._material_numbers) * self._point.entries[VOLUME]
            )
        return self._resist(self._density, dissipated)

    @property
    def _material_numbers(self) -> Any:
        return getattr(self._numbers, "material", SimpleNamespace())

    def _resist(self, stored: Any, dissipated: Any) -> Any:
        return casadi().gradient(stored, self._columns_q) + casadi().gradient(dissipated, self._columns_v)

    # -- ports -------------------------------------------------------------------------------------------------------------

    @functools.cached_property
    def port_poses(self) -> Program:
        """One after the other of every port rotation (3 x 3) and position (3)."""
        return self._of_points(each=[stacked(part) for R, r, _ in self._frames for part in (R, r)])

    @functools.cached_property
    def port_columns(self) -> Program:
        """One after the other of every port rotation (3 x 3), position (3), ``dS/dt v`` (6) and S (6 x n)."""
        each: list[Any] = []
        for R, r, S in self._frames:
            each += [stacked(R), stacked(r), self._along(casadi().mtimes(S, self._columns_v)), S]
        return self._of_points(each=each)

    @functools.cached_property
    def port_slopes(self) -> Program:
        """Derivatives at ports on which wrenches (6 each, in their frames) are held.

        In total those of the wrench on P (6 x n) and of the efforts (n x n) by q; one after the other of every port those of
        twist and acceleration by q, and of its acceleration by v (6 x n each).
        """
        wrenches, pressed = symbols("W", 6 * len(self.ports)), casadi().SX(6 + self.n, 1)
        each: list[Any] = []
        for k, (R, r, S) in enumerate(self._frames):
            twist, acceleration = self._moved(R, r, S)
            each += [self._by_q(twist), self._by_q(acceleration), casadi().jacobian(acceleration, self._columns_v)]
            w = wrenches.entries[6 * k : 6 * k + 6]
            force, torque = R @ w[:3], R @ w[3:]
            at_parent = stacked(np.concatenate([force, torque + _cross(r, force)]))
            pressed += casadi().vertcat(at_parent, casadi().mtimes(S.T, stacked(w)))
        return self._of_points(totals=[self._by_q(pressed)], each=each, loads=wrenches)

    @property
    def _frames(self) -> list[tuple[Any, Any, Any]]:
        return [self._frame(frame) for frame in self.ports.values()]

    def _frame(self, frame: Callable[..., Any]) -> tuple[Any, Any, Any]:
        """Return rotation (3 x 3), position (3) and motion subspace (6 x n) of a port."""
        R, r = (np.asarray(part, dtype=object) for part in frame(self._q, self._numbers))
        # of all entries at once: so their derivatives have in common what they can
        slopes = unstacked(self._by_q(casadi().vertcat(stacked(R), stacked(r))), (12, self.n))
        columns = []
        for slope in slopes.T:
            spin = R.T @ slope[:9].reshape(3, 3)
            columns.append(stacked([*(R.T @ slope[9:]), spin[2, 1], spin[0, 2], spin[1, 0]]))
        return R, r, casadi().horzcat(casadi().SX(6, 0), *columns)

    def _moved(self, R: Any, r: Any, S: Any) -> tuple[Any, Any]:
        """Return twist and acceleration (6 each) of a port in its own frame."""
        own = unstacked(casadi().mtimes(S, self._columns_v), (6,))
        twist = _carried(R, r, self._V) + own
        rate = unstacked(self._along(stacked(own)) + casadi().mtimes(S, stacked(self._a)), (6,))
        turned = np.concatenate([_cross(twist[3:], own[:3]) + _cross(twist[:3], own[3:]), _cross(twist[3:], own[3:])])
        return stacked(twist), stacked(_carried(R, r, self._A) + rate + turned)


def _carried(R: Any, r: Any, x: Any) -> Any:
    """Return a twist (6) of the parent port at a frame that moves with it."""
    return np.concatenate([R.T @ (x[:3] + _cross(x[3:], r)), R.T @ x[3:]])


def _cross(x: Any, y: Any) -> Any:
    return as_array([x[1] * y[2] - x[2] * y[1], x[2] * y[0] - x[0] * y[2], x[0] * y[1] - x[1] * y[0]])


def _nested(numbers: Mapping[str, Any]) -> SimpleNamespace:
    """Return numbers by dotted names as attributes of attributes."""
    root = SimpleNamespace()
    for name, value in numbers.items():
        place = root
        *heads, last = name.split(".")
        for head in heads:
            if not hasattr(place, head):
                setattr(place, head, SimpleNamespace())
            place = getattr(place, head)
        setattr(place, last, value)
    return root
