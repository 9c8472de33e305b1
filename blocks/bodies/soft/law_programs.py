"""The law of a deformable body as programs, derived from its kinematics, its material and its ports' frames.

A point at x stands at ``p = f(x, q)`` in the frame of the parent port, moves there by ``u = J q'`` and is accelerated by
``b = J a + du/dq q'``, with ``J = df/dq``; the deformation gradient is ``F = df/dx`` (key P, sections 2 and 3).
"""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np

from titop.blocks.basics.spatial import Array, cross, skew
from titop.blocks.bodies.soft.chain import Chain, ChainLink, digest, kinematic_links, program_of, symmetric
from titop.blocks.bodies.soft.material import kelvin_voigt
from titop.blocks.bodies.soft.soft_fields import namespace, with_numbers
from titop.blocks.bodies.soft.soft_ports import FrameMotion, SoftPort, frame_through
from titop.blocks.programs.differentiation import along, jacobian, replaced
from titop.blocks.programs.graph import Graph
from titop.blocks.programs.program import LOADS, OWN, SHARED, Program

#: What a point has: its place x (m), the volume for which it stands (m^3), and its mass (kg).
PLACE, VOLUME, MASS, POINT_SIZE = slice(0, 3), 3, 4, 5

#: Where F stands, row by row, in the state of a point that has the columns of F after its place.
_ROWS = [3 + 3 * j + i for i in range(3) for j in range(3)]


class LawPrograms:
    """Programs of the law, each derived when it is first asked for.

    Their shared numbers are q, v and a (n each), twist V and acceleration A of the parent port (6 each), and `numbers`; each
    point has what `POINT_SIZE` numbers say. Matrices are laid out row by row.

    They are derived from kinematics of n coordinates and `numbers` of these names, the material's ``energy(F, numbers)`` per
    volume (without it there is no viscosity either), ports, and energy and dissipation of the whole body; see `SoftBody`.
    """

    #: The programs that compiled laws call, in the order in which they know them; the first two where something touches.
    ORDER = (
        *("columns", "bends", "terms", "inertia", "efforts", "inertial_efforts", "slopes", "resistance_slopes"),
        *("stored", "port_columns", "port_slopes"),
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
        self._graph = Graph()
        self._shared = entries = self._graph.input(SHARED, 3 * n + 12 + len(numbers))
        self._point, self._loads = self._graph.input(OWN, POINT_SIZE), self._graph.input(LOADS, max(3, 6 * len(ports)))
        self._q, self._v, self._a = entries[:n], entries[n : 2 * n], entries[2 * n : 3 * n]
        self._V, self._A = entries[3 * n : 3 * n + 6], entries[3 * n + 6 : 3 * n + 12]
        self._numbers = namespace(dict(zip(numbers, entries[3 * n + 12 :], strict=True)))
        self._links = kinematic_links(self._graph, kinematics, self._q, self._numbers)

    @functools.cached_property
    def identity(self) -> str:
        """A hash of all that the programs are derived from, before it is differentiated."""
        F, rate = self._graph.fresh(9), self._graph.fresh(9)
        of_material = np.array([self._energy_of(F), self._dissipated(F, rate)] if self.material_energy else [], dtype=object)
        frames = [self._frame_of(port).state for port in self.ports if port.frame]
        symbols, own = np.concatenate([F, rate]), (self.own_stored, self.own_dissipated)
        parts = [digest(self._graph, part, symbols) for part in (of_material, *own, *frames)]
        parts += [link.primal for link in self._links]
        return hashlib.sha256(repr((self.n, parts, [port.points for port in self.ports])).encode()).hexdigest()

    def _chain(self, links: Sequence[ChainLink], start: Array | Sequence[Chain]) -> Chain:
        return Chain(links, start, self._v, self._a)

    def _coasting(self, numbers: Array) -> Array:
        """Return numbers without accelerations of the coordinates."""
        return replaced(numbers, dict.fromkeys(self._a, 0.0))

    # -- points ------------------------------------------------------------------------------------------------------------

    @functools.cached_property
    def _moving(self) -> Chain:
        """What moves a point."""
        return self._chain(self._links, self._point[PLACE])

    @functools.cached_property
    def places(self) -> Program:
        """At every point p (3) and F (3 x 3)."""
        return self._of_points(each=[self._stretching.state[:3], self._gradient])

    @functools.cached_property
    def columns(self) -> Program:
        """At every point p, u, b without accelerations (3 each) and J (3 x n)."""
        point = self._moving
        return self._of_points(each=[point.state, point.rate, self._coasting(point.acceleration), point.columns])

    @functools.cached_property
    def bends(self) -> Program:
        """In total ``d(J^T f)/dq`` (n x n) of constant forces; at every point p, u, b, J, du/dq and db/dq (3 x n each)."""
        point = self._moving
        each = [point.state, point.rate, point.acceleration, point.columns, point.rate_columns, point.acceleration_columns]
        return self._of_points(totals=[point.hessian(self._loads[:3])], each=each, loads=3)

    @functools.cached_property
    def thirds(self) -> Program:
        """At every point the third derivatives (3) of its place along v."""
        return self._of_points(each=[along(self._coasting(self._moving.acceleration), self._q, self._v)])

    def _of_points(self, loads: int = 0, **outputs: Any) -> Program:
        return program_of(self._graph, (len(self._shared), POINT_SIZE, loads), **outputs)

    # -- inertia -----------------------------------------------------------------------------------------------------------

    @functools.cached_property
    def terms(self) -> Program:
        """In total M, the upper half of its rows, and h: wrench on P (6) and efforts (n), with those of `resistance`."""
        still = replaced(self._force, dict.fromkeys([*self._a, *self._A], 0.0))
        return self._needed(still, True, self._inertia)

    @functools.cached_property
    def inertia(self) -> Program:
        """In total M, the upper half of its rows."""
        return self._of_points(totals=[self._inertia])

    @functools.cached_property
    def efforts(self) -> Program:
        """In total the wrench on P (6) and the efforts (n) of a motion, with those of `resistance`."""
        return self._needed(self._force, True)

    @functools.cached_property
    def inertial_efforts(self) -> Program:
        """The same of inertia alone."""
        return self._needed(self._force, False)

    @functools.cached_property
    def slopes(self) -> Program:
        """In total derivatives of wrench on P and efforts of inertia by q, v (6 + n x n each) and twist (6 + n x 6), then M."""
        point, spin = self._moving, skew(self._V[3:])
        J, spread, mass = point.columns, point.rate_columns, self._point[MASS]
        by_q = point.acceleration_columns + skew(self._A[3:]) @ J + spin @ (spin @ J + 2.0 * spread)
        turning = skew(self._V[:3] + spin @ point.state + 2.0 * point.rate) + spin @ skew(point.state)
        changes = by_q, 2.0 * (spread + spin @ J), np.column_stack([spin, -turning])
        by_place = np.concatenate([_zeros(3, self.n), -skew(self._force) @ J, point.hessian(self._force)])
        first, *others = ((mass * self._pulling.T) @ change for change in changes)
        return self._of_points(totals=[first + by_place, *others, self._inertia])

    def _needed(self, force: Array, resists: bool, *first: Array) -> Program:
        """Return the program of totals that come `first`, then the wrench on P and the efforts of forces (3) on the points."""
        wrench, once = [force, cross(self._moving.state, force)], [_zeros(self.n)]
        if resists:  # in one pass back along the chain
            once, load = [self._own_resistance], self._load_of(self._stress[0])
            load[:3] = force
        efforts = self._stretching.gradient(load) if resists else self._moving.gradient(force)
        once = [_zeros(sum(map(len, [*first, *wrench]))), *once]
        return self._of_points(once=once, totals=[*first, *wrench, efforts])

    @functools.cached_property
    def _force(self) -> Array:
        """The force (3) that accelerates a point."""
        point, spin = self._moving, skew(self._V[3:])
        carried = self._A[:3] + skew(self._A[3:]) @ point.state + point.acceleration
        force: Array = self._point[MASS] * (carried + spin @ (self._V[:3] + spin @ point.state + 2.0 * point.rate))
        return force

    @functools.cached_property
    def _pulling(self) -> Array:
        """What velocity of a point (3) the twist of P and the rates of the coordinates become (3 x 6 + n)."""
        return np.column_stack([np.eye(3), -skew(self._moving.state), self._moving.columns])

    @property
    def _inertia(self) -> Array:
        inertia: Array = ((self._point[MASS] * self._pulling.T) @ self._pulling)[np.triu_indices(6 + self.n)]
        return inertia

    # -- material ----------------------------------------------------------------------------------------------------------

    @functools.cached_property
    def _stretching(self) -> Chain:
        """What moves a point and the columns of F there."""
        return self._chain([link.with_directions() for link in self._links], np.concatenate([self._point[PLACE], *np.eye(3)]))

    @property
    def _gradient(self) -> Array:
        """F (3 x 3)."""
        return self._stretching.state[3:].reshape(3, 3).T

    @functools.cached_property
    def stored(self) -> Program:
        """In total the elastic energy (J)."""
        return self._of_points(once=[self.own_stored], totals=[self._density])

    @functools.cached_property
    def resistance(self) -> Program:
        """In total the efforts (n) with which elasticity and damping resist."""
        load = self._load_of(self._stress[0])
        return self._of_points(once=[self._own_resistance], totals=[self._stretching.gradient(load)])

    @functools.cached_property
    def resistance_slopes(self) -> Program:
        """In total the derivatives of these efforts by q and v (n x n each)."""
        once = [jacobian(self._own_resistance, variables) for variables in (self._q, self._v)]
        stress, by_gradient, by_rate = self._stress
        G, spread = self._stretching.columns[_ROWS, :], self._stretching.rate_columns[_ROWS, :]
        by_q = G.T @ (by_gradient @ G + by_rate @ spread) + self._stretching.hessian(self._load_of(stress))
        return self._of_points(once=once, totals=[by_q, symmetric(G.T @ (by_rate @ G))])

    def _load_of(self, stress: Array) -> Array:
        """Return the load on a point's state of a load on F (9)."""
        load = np.zeros(12, dtype=object)
        load[_ROWS] = stress
        return load

    @property
    def own_stored(self) -> Any:
        """The whole body's own energy (J)."""
        energy = self.own_energy and with_numbers(self.own_energy, 1)
        return _number(energy(self._q, self._numbers) if energy else 0.0)

    @property
    def own_dissipated(self) -> Any:
        """The whole body's own dissipation (W)."""
        dissipation = self.own_dissipation and with_numbers(self.own_dissipation, 2)
        return _number(dissipation(self._q, self._v, self._numbers) if dissipation else 0.0)

    @property
    def _own_resistance(self) -> Array:
        """Efforts (n) of the whole body's own energy and dissipation."""
        of_rates = jacobian(self.own_dissipated, self._v, reverse=True)
        return jacobian(self.own_stored, self._q, reverse=True) + of_rates

    @property
    def _density(self) -> Any:
        if self.material_energy is None:
            return 0.0
        return self._energy_of(self._gradient.ravel()) * self._point[VOLUME]

    def _energy_of(self, F: Array) -> Any:
        """Return the energy per volume at F (9)."""
        assert self.material_energy is not None
        return _number(self.material_energy(F.reshape(3, 3), self._material_numbers))

    def _dissipated(self, F: Array, rate: Array) -> Any:
        """Return the dissipated power per volume at F and its rate (9 each)."""
        return kelvin_voigt(F.reshape(3, 3), rate.reshape(3, 3), self._material_numbers)

    @functools.cached_property
    def _stress(self) -> tuple[Array, Array, Array]:
        """The load on F at a point (9), times the point's volume, and its derivatives by F and by its rate (9 x 9 each).

        Derived by F, not through it: what depends on q alone stays apart from what depends on the point.
        """
        if self.material_energy is None:
            return np.zeros(9), np.zeros((9, 9)), np.zeros((9, 9))
        F, rate = self._graph.fresh(9), self._graph.fresh(9)
        of_rates = jacobian(self._dissipated(F, rate), rate, reverse=True)
        stress = jacobian(self._energy_of(F), F, reverse=True) + of_rates
        here = np.concatenate([part[_ROWS] for part in (self._stretching.state, self._stretching.rate)])
        values = dict(zip([*F, *rate], here, strict=True))
        parts = np.column_stack([stress, jacobian(stress, F), jacobian(stress, rate)])
        parts = self._point[VOLUME] * replaced(parts, values)
        return parts[:, 0], parts[:, 1:10], parts[:, 10:]

    @property
    def _material_numbers(self) -> Any:
        return getattr(self._numbers, "material", SimpleNamespace())

    # -- ports -------------------------------------------------------------------------------------------------------------

    @functools.cached_property
    def port_poses(self) -> Program:
        """One after the other of every port rotation (3 x 3) and position (3)."""
        return self._of_points(each=[chain.state for chain in self._frames])

    @functools.cached_property
    def port_columns(self) -> Program:
        """One after the other of every port rotation (3 x 3), position (3), ``dS/dt v`` (6) and S (6 x n)."""
        each: list[Any] = []
        for chain in self._frames:
            each += [chain.state, self._coasting(self._frame.rate_at(chain)), self._frame.subspace_at(chain)]
        return self._of_points(each=each)

    @functools.cached_property
    def port_slopes(self) -> Program:
        """Derivatives at ports on which wrenches (6 each, in their frames) are held.

        In total those of the wrench on P (6 x n) and of the efforts (n x n) by q; one after the other of every port those of
        twist and acceleration by q, and of its acceleration by v (6 x n each).
        """
        wrenches, at_parent = self._loads[: 6 * len(self.ports)].reshape(-1, 6), np.concatenate([self._V, self._A])
        by_q = np.zeros((6, self.n)), np.zeros((self.n, self.n))
        each: list[Any] = []
        for load, chain in zip(wrenches, self._frames, strict=True):
            each += self._frame.slopes_at(chain, at_parent)
            wrench, efforts = self._frame.wrench_slopes_at(chain, load)
            by_q = by_q[0] + wrench, by_q[1] + efforts
        return self._of_points(totals=by_q, each=each, loads=wrenches.size)

    @functools.cached_property
    def _frame(self) -> FrameMotion:
        return FrameMotion(self._graph)

    @functools.cached_property
    def _frames(self) -> list[Chain]:
        """What moves rotation (3 x 3) and position (3) of every port."""
        return [self._frame_of(port) for port in self.ports]

    def _frame_of(self, port: SoftPort) -> Chain:
        if port.frame is not None:
            frame = with_numbers(port.frame, 1)
            whole = ChainLink.of(self._graph, lambda _, q: _pose_entries(*frame(q, self._numbers)), 0, 0, self._q)
            return self._chain([whole], np.zeros(0, dtype=object))
        if len(port.points) == 1:
            links, start = self._stretching.links, np.concatenate([*port.points, *np.eye(3)])
            points = [self._chain(links, start.astype(object))]
        else:
            points = [self._chain(self._links, np.array(point, dtype=object)) for point in port.points]
        size = sum(len(point.state) for point in points)
        through = ChainLink.of(self._graph, lambda s, _: _pose_entries(*frame_through(port, s)), size, 0, self._q[:0])
        return self._chain([through], points)


def _zeros(*shape: int) -> Array:
    return np.zeros(shape, dtype=object)


def _number(value: Any) -> Any:
    """Return a user's number, known or not; what is none cannot be added."""
    return np.squeeze(0.0 + np.asarray(value, dtype=object))[()]


def _pose_entries(rotation: Any, position: Any) -> Any:
    entries = [*np.asarray(rotation, dtype=object).ravel(), *np.asarray(position, dtype=object).ravel()]
    return np.array(entries, dtype=object)


#: Returns the programs of a law; bodies of the same functions, names and ports share them.
shared_programs = functools.lru_cache(maxsize=256)(LawPrograms)
