"""The terms of a model's equations of motion."""

from __future__ import annotations

from typing import Any

import numpy as np

from titop.blocks.basics.spatial import Array
from titop.blocks.contract.block import Block
from titop.blocks.interactions.interaction import power_of, stored_rate
from titop.solvers.arguments.rowwise import rowwise
from titop.solvers.constraints.interaction_loads import stated_motions
from titop.solvers.mechanism.conditioning import Conditioning, conditioning
from titop.solvers.mechanism.fast_path import of_state
from titop.solvers.model.resolved import Resolved


class EquationTerms(Resolved):
    """The terms of a model's equations of motion.

    Arguments of the methods: `q` a configuration (nq), `v` a velocity (nv); or stacked ones along a leading axis, for stacked
    results.
    """

    @of_state("nv", "nv")
    def mass_matrix(self, q: Any) -> Array:
        """Return the mass matrix (nv, nv), of the tree: as if no loop were closed.

        By composite inertias (Featherstone, Rigid Body Dynamics Algorithms, chapter 6).
        """
        return self.engine.dynamics.mass_matrix(q)

    @of_state("nv", "nv")
    def inverse_mass_matrix(self, q: Any) -> Array:
        """Return the inverse (nv, nv) of the mass matrix of the tree: accelerations a unit of each effort.

        Raises
        ------
        ModelError
            For an unusable configuration, and for a joint that moves no inertia.
        """
        return self.engine.dynamics.tree_response(q, np.eye(self.nv), np.zeros(self.nv, dtype=bool))

    @of_state("nv")
    def inertial_inverse_dynamics(self, q: Any, v: Any, a: Any) -> Array:
        """Return the efforts (nv) of inertia alone, ``M a + C v``: without gravity, passive efforts and loads.

        In one pass out and one back, whatever the blocks are (key P, algorithm 1, inertial inverse dynamics).
        """
        return self.engine.dynamics.inertial_inverse(q, v, a)

    @of_state("nv", still=1)
    def nonlinear_effects(self, q: Any, v: Any) -> Array:
        """Return Coriolis, centrifugal and gravity terms (nv): ``C v`` plus gravity, without passive efforts and loads."""
        return self.engine.dynamics.bare_inverse(q, v)

    @of_state("nv", still=2)
    def gravity_effects(self, q: Any) -> Array:
        """Return gravity's part (nv) of the nonlinear effects."""
        return self.engine.dynamics.bare_inverse(q, np.zeros(self.nv))

    @of_state("nv", "nv")
    def coriolis_matrix(self, q: Any, v: Any) -> Array:
        """Return the Coriolis matrix (nv, nv) for which ``dM/dt - 2 C`` is skew.

        ``C = (dh/dv + M blkdiag(ad v, w x, 0)) / 2`` with the inertial terms h. Of trees of rigid bodies in one pass (after
        Echeandia and Wensing, 2021).
        """
        return self.engine.dynamics.coriolis_matrix(q, v)

    @of_state("nv")
    def passive_efforts(self, q: Any, v: Any) -> Array:
        """Return the efforts (nv) of springs, dampers, stops, elasticity, interactions and what blocks say acts on them."""
        return self.engine.observations.passive_efforts(q, v)

    def dissipated_power(self, q: Any, v: Any, x: Any = None) -> Any:
        """Return the power (W) that damping, friction, stops and interactions take: what rates change of the passive efforts.

        With the energy of `energy` the balance closes: its rate is the power of efforts, inputs, wrenches and loads less this
        power; that of a `Load` is its wrench times the twist of its port. Negative where something feeds energy, as a current
        of a `Fluid` may, and bristles that spring back: no energy is stored in these, see `Contact`.

        With states of the first order `x` (nx, or by name; zero by default), inputs zero, interactions that have some lose what
        they take and do not store.

        Examples
        --------
        >>> import titop as tt
        >>> s = tt.System("slider")
        >>> s.connect("world", tt.RigidBody("block", mass=2.0), joint=tt.Prismatic("rail", stiffness=5.0, damping=0.5))
        >>> float(s.resolve().dissipated_power([0.3], [2.0]))
        2.0
        """
        v = self._read_v("v", v, stacked=True)
        lost = self.passive_efforts(q, np.zeros(v.shape)) - self.passive_efforts(q, v)
        for block in self.assembly.blocks.values():
            if block.fluid is not None and block.fluid.current.any():
                lost = lost - self._current_efforts(block, q)
        power = (lost * v).sum(axis=-1)
        return power + self._lost_by_states(q, v, self.inputs.whole(None, x)) if self.nx else power

    @rowwise
    def _lost_by_states(self, q: Any, v: Any, u: Any) -> Any:
        """Return the power that interactions with states take beside what rates change of their loads while these are zero."""
        more: Any = 0.0
        for loop, motion in stated_motions(self, self._read_q(q), self._read_v("v", v), u):
            unbent = motion._replace(x=0.0 * motion.x)
            still = unbent._replace(V=0.0 * motion.V, v=0.0 * motion.v)
            counted = power_of(loop.closure.act(still), motion) - power_of(loop.closure.act(unbent), motion)
            more = more - power_of(loop.closure.act(motion), motion) - stored_rate(loop.closure, motion) - counted
        return more

    @rowwise
    def _current_efforts(self, block: Block, q: Any) -> Array:
        """Return the efforts (nv) of a current on a block at rest, in which nothing is stored."""
        q, still = self._read_q(q), np.zeros(block.nv)
        own, place = self.assembly.v_slices.get(block.name, slice(0)), q[self.assembly.q_slices.get(block.name, slice(0))]
        observations, rest = self.engine.observations, np.zeros(self.nv)
        motion = observations.port_motion(block.name, q, rest, rest)
        pushed = block.stream_efforts(place, still, motion.twist, motion.rotation)
        efforts: Array = observations.jacobian(block.name, q).T @ pushed[:6]
        efforts[own] += pushed[6:]
        return efforts

    def actuation_matrix(self, q: Any) -> Array:
        """Return the efforts on the coordinates a unit of each input (nv, nu)."""
        return self.actuation_rows(q).swapaxes(-1, -2)

    @of_state("nu", "nv")
    def actuation_rows(self, q: Any) -> Array:
        """Return the transposed `actuation_matrix` (nu, nv): a row of efforts for each input, in their units."""
        return self.engine.observations.actuation_matrix(q).T

    @rowwise
    def conditioning(self, q: Any) -> Conditioning:
        """Return what rounding does to forward dynamics at a configuration, of the tree: as if no loop were closed.

        Masses that grow outwards along a chain of joints lose digits: each joint moves a small difference of large inertias.
        The error is a bound, on every processor and in either engine: of accelerations as a whole, their sizes measured by
        kinetic energy, beside those that efforts and gravity give alone; and, against ``|mass_matrix| |a|``, of
        ``inverse_dynamics(forward_dynamics(tau)) - tau``. A system whose inertia loses much gives a `ModelWarning` when it is
        resolved. Costs some 0.2 ms a block.

        Examples
        --------
        >>> import titop as tt
        >>> s = tt.System("pendulum")
        >>> s.connect("world", tt.RigidBody("bob", mass=2.0, com=[0, 0, -1]), joint=tt.Revolute("hinge", axis=[1, 0, 0]))
        >>> s.resolve().conditioning([0.3]).error < 1e-12
        True
        """
        return conditioning(self.engine.dynamics.pivots(self._read_q(q)), self.coordinate_names)
