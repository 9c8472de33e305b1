"""What is read of contacts: gaps, forces, and how what touches slides."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from titop.blocks.basics.errors import Finding, ModelError, did_you_mean
from titop.blocks.basics.spatial import Array
from titop.graph.network.connections import Loop
from titop.solvers.arguments.reading import of_one_state
from titop.solvers.arguments.rowwise import rowwise
from titop.solvers.constraints.interaction_loads import contacts_of
from titop.solvers.model.readings import Readings


class Contacts(NamedTuple):
    """What contacts do at k spheres or points, at a state or, with a leading axis, at several.

    Vectors come in the frame of the port whose shape is touched.

    Attributes
    ----------
    names : tuple of str
        Of each: its contact, with a number where that has several, such as ``grip[3]``.
    gap : (..., k) array, m
        Between the surfaces, negative in contact.
    depth : (..., k) array, m
        How far what touches is pressed in; zero without contact.
    force : (..., k, 3) array, N
        On what touches.
    slip : (..., k, 3) array, m/s
        Velocity with which its surface moves along the other, in contact or not.
    """

    names: tuple[str, ...]
    gap: Array
    depth: Array
    force: Array
    slip: Array


class ContactReadings(Readings):
    """What is read of contacts."""

    def contacts(self, q: Any, v: Any, name: str | None = None, x: Any = None) -> Contacts:
        """Return what all contacts do at k spheres or points, or one of them, at a state or at stacked ones.

        Parameters
        ----------
        q, v : array_like (nq,), (nv,)
        name : str, optional
            Of the one contact.
        x : array_like (nx,), optional
            States of the first order, m, such as those of bristles; zero by default.

        Returns
        -------
        Contacts
            Gaps and depths (k, m), forces (k, 3; N) and slip (k, 3; m/s).

        Examples
        --------
        >>> import titop as tt
        >>> s = tt.System("ball", gravity=[0, 0, -9.81])
        >>> ball = tt.RigidBody("ball", mass=0.5)
        >>> s.connect("world", ball, tt.Prismatic("up", axis=[0, 0, 1]))
        >>> s.close_loop("world", ball, tt.Contact("ground", radius=0.1, stiffness=1e5))
        >>> touching = s.resolve().contacts([0.09], [0.0])
        >>> touching.names, touching.depth.round(6).tolist(), touching.force.round(6).tolist()
        (('ground',), [0.01], [[0.0, 0.0, 100.0]])
        """
        loops = self._contacts_of(name)
        names = tuple(name for loop in loops for name in loop.closure.point_names)
        gaps, forces, slips = self._touches(q, v, self.inputs.whole(None, x), loops)
        return Contacts(names, gaps, np.maximum(-gaps, 0.0), forces, slips)

    def _contacts_of(self, name: str | None) -> list[Loop]:
        """Return the contacts, or the one of a name.

        Raises
        ------
        ModelError
            If there is none of this name.
        """
        found = contacts_of(self)
        if name is not None and name not in found:
            raise ModelError(Finding("unknown-contact", "name", name, "a contact", did_you_mean(name, found)))
        return [*found.values()] if name is None else [found[name]]

    @rowwise
    def _touches(self, q: Any, v: Any, u: Any, loops: list[Loop]) -> tuple[Array, Array, Array]:
        q, v, driving = self._read_q(q), self._read_v("v", v), dict(self.inputs.driving)
        given = of_one_state(self.inputs.whole(u))
        rows = [self.engine.observations.touches(loop, q, v, given[driving.get(loop.closure.name, [])]) for loop in loops]
        gap, force, slip = np.split(np.vstack([np.zeros((0, 7)), *rows]), [1, 4], axis=1)
        return gap[:, 0], force, slip
