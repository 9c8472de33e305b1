"""Dynamics as a linear function of the bodies' inertial parameters, for identifying them from measured motion."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from math import isfinite
from typing import Any, NamedTuple

import numpy as np

from titop.blocks.basics.spatial import Array
from titop.blocks.bodies.inertial_parameters import NAMES, OWN_NAMES, inertial_derivatives, inertial_numbers
from titop.blocks.bodies.rigid_body import RigidBody, is_rigid
from titop.solvers.arguments.reading import made_ready
from titop.solvers.arguments.stacked_loads import read_states
from titop.solvers.mechanism.fast_path import DONE, UNREADY
from titop.solvers.mechanism.shared import structural
from titop.solvers.model.resolved import Resolved

#: How many lists of parameters are kept in mind.
_MOST_ROWS = 32


class InertialRows(NamedTuple):
    """Some parameters that are masses, centres of mass or inertias.

    Attributes
    ----------
    places : dict of str to int
        Their numbers by name.
    bodies : tuple of str
        To which they belong.
    rows : array of int
        Of each among the own parameters (10 a body) of these.
    """

    places: dict[str, int]
    bodies: tuple[str, ...]
    rows: Array


class Identification(Resolved):
    """What a model knows of its inertial parameters: ten of each rigid body, in which its dynamics are linear."""

    @structural
    def inertial_bodies(self) -> tuple[str, ...]:
        """Names of the rigid bodies that are in no fluid, which have inertial parameters; parents first."""
        blocks = self._assembly.blocks
        return tuple(name for name in self.body_names if isinstance(blocks[name], RigidBody) and is_rigid(blocks[name]))

    @structural
    def inertial_parameter_names(self) -> tuple[str, ...]:
        """Names of the `inertial_parameters`."""
        return tuple(f"{body}.{name}" for body in self.inertial_bodies for name in NAMES)

    def inertial_parameters(self) -> Array:
        """Return the inertial parameters (10 of each rigid body).

        In the order of `inertial_parameter_names`: mass (kg), first moments (kg m), and the inertia about the origin of the
        body's reference frame (kg m^2: xx, yy, zz, xy, xz, yz), all in the reference frame.
        """
        return inertial_numbers([self._rigid_body(name) for name in self.inertial_bodies]).ravel()

    def regressor(self, q: Any, v: Any, a: Any) -> Array:
        """Return the efforts of inverse dynamics a unit of each of the `inertial_parameters`.

        ``regressor(q, v, a) @ inertial_parameters()`` is what `inverse_dynamics` says of the rigid bodies' inertia and weight;
        springs, dampers, armatures, loads and other blocks, bodies in a fluid among them, add what does not depend on these
        parameters. Of the tree: as if no loop were closed. After Atkeson, An and Hollerbach, International Journal of Robotics
        Research 5(3), 1986.

        Parameters
        ----------
        q, v, a : array_like (nq,), (nv,), (nv,)
            Or stacked along a leading axis, all three; the result is then stacked too.

        Returns
        -------
        (nv, p) array, or (batch, nv, p)
            p is the number of inertial parameters.

        Raises
        ------
        ModelError
            For unusable states.

        Examples
        --------
        >>> import titop as tt
        >>> s = tt.System("pendulum")
        >>> s.connect("world", tt.RigidBody("bob", mass=2.0, com=[0, 0, -1]), joint=tt.Revolute("hinge", axis=[1, 0, 0]))
        >>> m = s.resolve()
        >>> float((m.regressor([0.3], [0.0], [0.0]) @ m.inertial_parameters())[0]) == float(m.gravity_effects([0.3])[0])
        True
        """
        return self._regressor_of(self.inertial_bodies, q, v, a)

    def _regressor_of(self, bodies: tuple[str, ...], q: Any, v: Any, a: Any) -> Array:
        """Return the columns (nv, 10 a body) of the `regressor` that belong to some bodies; of stacked states, stacked."""
        try:
            rows = np.empty((1, len(NAMES) * len(bodies), self.nv))
            done = self._calls.regressors[bodies](q[None], v[None], a[None], rows) == DONE
            if done and isfinite(q.dot(q) + v.dot(v) + a.dot(a)):  # kernels do not look at what no rigid body moves with
                return rows[0].T
        except UNREADY:
            pass
        self.engine.raise_pending()
        if ready := made_ready(q, v, a):
            q, v, a = ready
            return self._regressor_of(bodies, q, v, a)
        q, v, a = read_states(self, {"q": q, "v": v, "a": a}, stacked=True)
        regressors = self.engine.observations.regressors
        return regressors(bodies, q[None], v[None], a[None])[0] if q.ndim == 1 else regressors(bodies, q, v, a)

    def inertial_effort_derivatives(self, names: Iterable[str], q: Array, v: Array, a: Array) -> dict[str, Array]:
        """Return the derivatives (nv) of inverse dynamics by those of some parameters that are masses or inertias, by name.

        Parameters
        ----------
        names : iterable of str
            Of parameters such as ``"slider.mass"``.
        q, v, a : (nq,), (nv,), (nv,) arrays
        """
        own = tuple(name for name in names if name in self._inertial_places)
        inertial = self._inertial_rows(own) if own else None
        if inertial is None:
            return {}
        return dict(zip(inertial.places, self._derivatives_by_inertia(inertial, q, v, a), strict=True))

    def _inertial_rows(self, names: tuple[str, ...]) -> InertialRows | None:
        """Return where to find the derivatives by some parameters; None if one of them is no mass or inertia."""
        found = self._rows_met.get(names)
        if found is None and self._inertial_places.keys() >= set(names):
            if len(self._rows_met) == _MOST_ROWS:
                self._rows_met.clear()
            places = {name: place for place, name in enumerate(dict.fromkeys(names))}
            bodies = {body: k for k, body in enumerate(dict.fromkeys(self._inertial_places[name][0] for name in places))}
            owned = (self._inertial_places[name] for name in places)
            rows = np.array([len(NAMES) * bodies[body] + row for body, row in owned], dtype=int)
            found = self._rows_met[names] = InertialRows(places, tuple(bodies), rows)
        return found

    @structural
    def _rows_met(self) -> dict[tuple[str, ...], InertialRows]:
        """The `_inertial_rows` that were asked for."""
        return {}

    def _derivatives_by_inertia(self, inertial: InertialRows, q: Any, v: Any, a: Any) -> Array:
        """Return the derivatives (m, nv) of inverse dynamics by m parameters, from the regressor of their bodies alone.

        At stacked states (batch, m, nv).
        """
        bodies = inertial.bodies
        by_numbers = np.swapaxes(self._regressor_of(bodies, q, v, a), -1, -2)
        by_body = by_numbers.reshape(*by_numbers.shape[:-2], len(bodies), len(NAMES), self.nv)
        numbers_by_own = np.array([self._numbers_by_own(name) for name in bodies]).reshape(-1, len(NAMES), len(NAMES))
        return np.matmul(numbers_by_own, by_body).reshape(by_numbers.shape).take(inertial.rows, -2)

    def _numbers_by_own(self, body: str) -> Array:
        """Return the derivatives (10 x 10) of a rigid body's numbers by its own parameters, transposed."""
        found = self._numbers_met.get(body)
        if found is None:
            found = self._numbers_met[body] = inertial_derivatives(self._rigid_body(body)).T
        return found

    @cached_property
    def _numbers_met(self) -> dict[str, Array]:
        """The derivatives that were asked for, by body."""
        return {}

    @structural
    def _inertial_places(self) -> dict[str, tuple[str, int]]:
        """Body, and place among its own, of every parameter that is no more than a mass, a centre of mass or an inertia."""
        beside = {own.name for loop in self.interactions for own in loop.closure.own_blocks}  # which change with their blocks
        bodies = (body for body in self.inertial_bodies if body not in beside)
        return {f"{body}.{name}": (body, row) for body in bodies for row, name in enumerate(OWN_NAMES)}

    @structural
    def _own_inertial_names(self) -> tuple[str, ...]:
        """Names of the parameters of rigid bodies that are masses, centres of mass and inertias, ten of each."""
        return tuple(f"{body}.{name}" for body in self.inertial_bodies for name in OWN_NAMES)

    def _rigid_body(self, name: str) -> RigidBody:
        block = self.assembly.blocks[name]
        assert isinstance(block, RigidBody)
        return block
