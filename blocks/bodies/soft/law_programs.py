"""The law of a deformable body as programs, derived from its kinematics, its material and its ports' frames.

A point at x stands at ``p = f(x, q)`` in the frame of the parent port, moves there by ``u = J q'`` and is accelerated by
``b = J a + du/dq q'``, with ``J = df/dq``; the deformation gradient is ``F = df/dx`` (key P, sections 2 and 3).
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np

from titop.blocks.bodies.soft.differentiation import (
    Symbols,
    as_array,
    casadi,
    expression_of,
    nested,
    stacked,
    symbols,
    unstacked,
    written,
)
from titop.blocks.bodies.soft.material import kelvin_voigt
from titop.blocks.bodies.soft.program import Program
from titop.blocks.bodies.soft.soft_fields import checked_kinematics, with_numbers
from titop.blocks.bodies.soft.soft_ports import SoftPort, frame_of

#: What a point has: its place x (m), the volume for which it stands (m^3), and its mass (kg).
PLACE, VOLUME, MASS, POINT_SIZE = slice(0, 3), 3, 4, 5


class LawPrograms:
    """Programs of the law, each derived when it is first asked for.

    Their shared numbers are q, v and a (n each), twist V and acceleration A of the parent port (6 each), and `numbers`; each
    point has what `POINT_SIZE` numbers say. Matrices are laid out row by row.

    Parameters
    ----------
    kinematics : callable
        ``f(x, q)`` or ``f(x, q, numbers)``.
    n : int
        How many coordinates there are.
    numbers : sequence of str
        Names of the numbers that functions are told.
    material_energy : callable, optional
        ``energy(F, numbers)`` per volume; without it there is no viscosity either.
    ports : sequence of SoftPort
    own_energy, own_dissipation : callable, optional
        ``energy(q, numbers)`` and ``dissipation(q, v, numbers)`` of the whole body.
    """

    #: The programs that compiled laws call, in the order in which they know them.
    ORDER = (
        *("motion", "columns", "efforts", "bends", "stored", "resistance", "resistance_slopes"),
        *("port_columns", "port_slopes"),
    )

    def __init__(
        self,
        kinematics: Callable[..., Any],
        n: int,
        numbers: Sequence[str],
        material_energy: Callable[..., Any] | None = None,
        ports: Sequence[SoftPort] = (),
        own_energy: Callable[..., Any] | None = None,
        own_dissipation: Callable[..., Any] | None = None,
    ) -> None:
        self.n, self.ports, self.material_energy = n, tuple(ports), material_energy
        self.own_energy, self.own_dissipation = own_energy, own_dissipation
        self.kinematics = checked_kinematics(kinematics)
        self._shared = symbols("s", 3 * n + 12 + len(numbers))
        self._point, self._force = symbols("x", POINT_SIZE), symbols("f", 3)
        entries = self._shared.entries
        self._q, self._v, self._a = entries[:n], entries[n : 2 * n], entries[2 * n : 3 * n]
        self._V, self._A = entries[3 * n : 3 * n + 6], entries[3 * n + 6 : 3 * n + 12]
        self._numbers = nested(dict(zip(numbers, entries[3 * n + 12 :], strict=True)))
        self._p = stacked(self.kinematics(self._point.entries[PLACE], self._q, self._numbers))
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
        return self._of_points(totals=[casadi().mtimes(self._J.T, self._force.vector)], loads=self._force)

    @functools.cached_property
    def bends(self) -> Program:
        """In total ``d(J^T f)/dq`` (n x n) of constant forces; at every point p, u, b, J, du/dq and db/dq (3 x n each)."""
        J = self._J
        each = [self._p, self._u, self._b, J, self._by_q(self._u), self._by_q(self._b)]
        pulled = sum(force * self._by_q(J[k, :].T) for k, force in enumerate(casadi().vertsplit(self._force.vector)))
        return self._of_points(totals=[pulled], each=each, loads=self._force)

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
        own = casadi().gradient(self._own_stored, self._columns_q) + casadi().gradient(self._own_dissipated, self._columns_v)
        return self._of_points([own], [casadi().mtimes(self._stretching.T, self._stress[0])])

    @functools.cached_property
    def resistance_slopes(self) -> Program:
        """In total the derivatives of these efforts by q and v (n x n each)."""
        own = casadi().gradient(self._own_stored, self._columns_q) + casadi().gradient(self._own_dissipated, self._columns_v)
        once = [casadi().jacobian(own, along) for along in (self._columns_q, self._columns_v)]
        G, (stress, by_gradient, by_rate), v = self._stretching, self._stress, self._columns_v
        bends = [self._by_q(G[k, :].T) for k in range(9)]
        spread = casadi().vertcat(*(casadi().mtimes(bend, v).T for bend in bends))
        by_q = casadi().mtimes(G.T, casadi().mtimes(by_gradient, G) + casadi().mtimes(by_rate, spread))
        by_q += sum(stress[k] * bend for k, bend in enumerate(bends))
        return self._of_points(once, [by_q, casadi().mtimes(G.T, casadi().mtimes(by_rate, G))])

    @property
    def _own_stored(self) -> Any:
        energy = self.own_energy and with_numbers(self.own_energy, 1)
        return expression_of(energy(self._q, self._numbers) if energy else 0.0)

    @property
    def _own_dissipated(self) -> Any:
        dissipation = self.own_dissipation and with_numbers(self.own_dissipation, 2)
        return expression_of(dissipation(self._q, self._v, self._numbers) if dissipation else 0.0)

    @property
    def _density(self) -> Any:
        if self.material_energy is None:
            return casadi().SX(0.0)
        F = unstacked(self._gradient, (3, 3))
        return expression_of(self.material_energy(F, self._material_numbers) * self._point.entries[VOLUME])

    @property
    def _stretching(self) -> Any:
        """The derivatives dF/dq (9 x n), F row by row."""
        return self._by_q(casadi().vec(self._gradient.T))

    @functools.cached_property
    def _stress(self) -> tuple[Any, Any, Any]:
        """What works on F at a point (9), times the point's volume, and its derivatives by F and by its rate (9 x 9 each).

        Derived by F, not through it: what depends on q alone stays apart from what depends on the point.
        """
        if self.material_energy is None:
            return casadi().SX(9, 1), casadi().SX(9, 9), casadi().SX(9, 9)
        F, rate = symbols("F", 9), symbols("r", 9)
        square, squares = F.entries.reshape(3, 3), rate.entries.reshape(3, 3)
        stored = expression_of(self.material_energy(square, self._material_numbers))
        dissipated = expression_of(kelvin_voigt(square, squares, self._material_numbers))
        stress = casadi().gradient(stored, F.vector) + casadi().gradient(dissipated, rate.vector)
        found = [stress, casadi().jacobian(stress, F.vector), casadi().jacobian(stress, rate.vector)]
        here = [*map(casadi().densify, (casadi().vec(self._gradient.T), casadi().mtimes(self._stretching, self._columns_v)))]
        volume = self._point.entries[VOLUME].expression
        stress, by_gradient, by_rate = (volume * part for part in casadi().substitute(found, [F.vector, rate.vector], here))
        return stress, by_gradient, by_rate

    @property
    def _material_numbers(self) -> Any:
        return getattr(self._numbers, "material", SimpleNamespace())

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
        return [self._frame(port) for port in self.ports]

    def _frame(self, port: SoftPort) -> tuple[Any, Any, Any]:
        """Return rotation (3 x 3), position (3) and motion subspace (6 x n) of a port."""
        R, r = frame_of(port, self.kinematics, self._q, self._numbers)
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


@functools.lru_cache(maxsize=256)
def shared_programs(*functions: Any) -> LawPrograms:
    """Return the programs of a law; bodies of the same functions, names and ports share them. See `LawPrograms`."""
    return LawPrograms(*functions)


def _carried(R: Any, r: Any, x: Any) -> Any:
    """Return a twist (6) of the parent port at a frame that moves with it."""
    return np.concatenate([R.T @ (x[:3] + _cross(x[3:], r)), R.T @ x[3:]])


def _cross(x: Any, y: Any) -> Any:
    return as_array([x[1] * y[2] - x[2] * y[1], x[2] * y[0] - x[0] * y[2], x[0] * y[1] - x[1] * y[0]])
