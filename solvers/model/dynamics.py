"""Dynamics of a model in any causality, and the terms of its equations of motion."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from functools import cached_property, partial
from typing import Any

import numpy as np

from titop.blocks.basics.spatial import Array
from titop.graph.network.connections import Loop
from titop.solvers.arguments.reading import coordinate_mask, read_wrenches
from titop.solvers.arguments.rowwise import rowwise
from titop.solvers.arguments.stacked_loads import each_row, read_states
from titop.solvers.constraints import closed_dynamics, interaction_loads
from titop.solvers.mechanism.conditioning import Conditioning, Pivots, conditioning
from titop.solvers.mechanism.coordinate_sizes import coordinate_sizes
from titop.solvers.mechanism.inputs import Inputs, Place, PortPush, Push
from titop.solvers.model.port_kinematics import PortKinematics
from titop.solvers.model.prepared import PreparedDynamics


class Dynamics(PortKinematics, ABC):
    """The dynamics of a model.

    Arguments of the methods: `q` a configuration (nq); `v`, `a`, `tau` and `dq` vectors (nv); `port` ``"body.port"``, or
    ``"body"`` for the reference frame; `wrenches` external wrenches (6) on bodies by port name, in the port's frame; `out`
    where to put the result; `u` the inputs of actuators and blocks (nu, or by name).
    """

    #: Of the parameters; complex in complex steps.
    _dtype: type = float

    @abstractmethod
    def forward_dynamics(
        self,
        q: Any,
        v: Any,
        tau: Any = None,
        wrenches: Mapping[str, Any] | None = None,
        out: Array | None = None,
        u: Any = None,
    ) -> Array:
        """Return the accelerations ``a`` (nv) that the efforts cause. Linear cost in the number of blocks.

        With rigid closures or gears, together with the least multipliers that keep them closed; the cost then grows with the
        coordinates on the paths between them and with the square of the number of constraints.

        Parameters
        ----------
        q, v, tau : array_like (nq,), (nv,), (nv,)
            Or stacked along a leading axis, all three; the result is then stacked too. No `tau` stands for zero.
        wrenches : mapping of port name to (6,), optional
            External wrenches on bodies, in the port's frame; of stacked states also (batch, 6), each state its own.
        out : (nv,) float array, optional
            Where to put the result, for callers in a loop.
        u : array_like (nu,) or mapping of input name to number, optional
            Inputs of actuators and blocks, beside `tau`; zero by default. Of stacked states also (batch, nu).

        Raises
        ------
        ModelError
            For unusable arguments, for a joint that moves no inertia at `q`, and where the closures are singular.

        Notes
        -----
        Elimination from the leaves inwards, of rigid bodies the articulated-body algorithm (Featherstone, Rigid Body Dynamics
        Algorithms, chapter 7); rigid closures add multipliers (key M, section 5.2).

        With rigid closures or gears, states have to keep them closed (`assemble`, `assemble_velocity`); `simulate` checks that
        they do, this function does not.
        """

    @abstractmethod
    def inverse_dynamics(
        self,
        q: Any,
        v: Any,
        a: Any,
        wrenches: Mapping[str, Any] | None = None,
        out: Array | None = None,
        u: Any = None,
        actuated: Sequence[str] | None = None,
    ) -> Array:
        """Return the applied efforts ``tau`` (nv) that cause the accelerations `a`, beside the inputs `u`.

        Parameters
        ----------
        q, v, a : array_like (nq,), (nv,), (nv,)
            Or stacked along a leading axis, all three.
        wrenches, out, u
            As `forward_dynamics`.
        actuated : sequence of str, optional
            Names of coordinates, or of joints and blocks for all of theirs: efforts act on these alone. All of them by default.
            Where rigid closures or gears leave a choice, the efforts are those of least norm.

        Raises
        ------
        ModelError
            For unusable arguments; for accelerations that would open the loops, or that need efforts on coordinates that are
            not actuated.

        Notes
        -----
        Motions outwards, wrenches inwards: the recursion of Newton and Euler (Featherstone, Rigid Body Dynamics Algorithms,
        chapter 5; with soft bodies key P).
        """

    def hybrid_dynamics(
        self,
        q: Any,
        v: Any,
        tau: Any,
        a: Any,
        prescribed: Sequence[str],
        wrenches: Mapping[str, Any] | None = None,
        u: Any = None,
    ) -> tuple[Array, Array]:
        """Return all accelerations and all efforts, from the motion of some joints and the efforts of the others.

        Rigid closures and gears carry what keeps them closed; where they leave a choice, the efforts are those of least norm.

        Parameters
        ----------
        q, v : array_like (nq,), (nv,)
            Or stacked along a leading axis, all four; the results are then stacked too.
        tau : array_like (nv,)
            Read where the motion is free.
        a : array_like (nv,)
            Read where the motion is prescribed.
        prescribed : sequence of str
            Names of joints, of blocks with own coordinates, or of single coordinates.
        wrenches, u
            As `forward_dynamics`.

        Returns
        -------
        a, tau : (nv,) arrays

        Raises
        ------
        ModelError
            For unusable arguments, unknown names, a coordinate prescribed twice, and prescribed accelerations that would open
            the loops.

        Notes
        -----
        One elimination of mixed causality (Featherstone, Rigid Body Dynamics Algorithms, chapter 9).
        """
        mask, state = self._prescribed(prescribed), {"q": q, "v": v, "tau": tau, "a": a}
        if np.ndim(q) == 2:
            rows, one = each_row(self, state, wrenches, u), partial(self.hybrid_dynamics, prescribed=prescribed)
            stacked: Array = np.array([one(*row, wrenches=own, u=inputs) for row, own, inputs in rows]).reshape(-1, 2, self.nv)
            return stacked[:, 0].copy(), stacked[:, 1].copy()
        motors, pushes = self.motor_efforts(u), self.external_pushes(wrenches, u)
        q, v, tau, a = read_states(self, state)
        return self._masked_dynamics(q, v, tau, a, mask, motors, pushes)

    def _prescribed(self, names: Sequence[str]) -> Array:
        """Return a mask (nv) of the coordinates whose motion is prescribed."""
        return coordinate_mask(names, self._assembly)

    def _masked_dynamics(
        self, q: Array, v: Array, tau: Array, a: Array, mask: Array, motors: Any, pushes: list[Push]
    ) -> tuple[Array, Array]:
        """Return hybrid dynamics, the motion prescribed where `mask` (nv) is true, beside efforts of `motors` and `pushes`."""
        if self.is_constrained:
            a, tau = closed_dynamics.hybrid(self, q, v, tau + motors, a, mask, pushes)
        else:
            a, tau = self.tree_hybrid(q, v, tau + motors, a, mask, pushes)
        return a, tau - motors

    def held_dynamics(self, q: Array, v: Array, tau: Array, rank: int, pushes: list[Push]) -> Array:
        """Return the accelerations (nv) that all efforts and `pushes` cause where `rank` constraints act.

        States may be a little open. Where fewer are independent, these act.
        """
        return closed_dynamics.held_forward(self, q, v, tau, pushes, rank)

    def prepared(self, places: Sequence[Place], imposed: Array) -> PreparedDynamics:
        """Return the dynamics for integrators, wrenches acting at `places`, the motion imposed where `imposed` (nv) is true."""
        return PreparedDynamics(self, places, imposed)

    # -- terms of the equations of motion ------------------------------------------------------------------------------

    @abstractmethod
    def mass_matrix(self, q: Any) -> Array:
        """Return the mass matrix (nv, nv), of the tree: as if no loop were closed.

        By composite inertias (Featherstone, Rigid Body Dynamics Algorithms, chapter 6).
        """

    @rowwise
    def inverse_mass_matrix(self, q: Any) -> Array:
        """Return the inverse (nv, nv) of the mass matrix of the tree: accelerations a unit of each effort.

        Raises
        ------
        ModelError
            For an unusable configuration, and for a joint that moves no inertia.
        """
        q = self._read_q(q)
        return self.tree_response(q, np.eye(self.nv), np.zeros(self.nv, dtype=bool))

    @rowwise
    def nonlinear_effects(self, q: Any, v: Any) -> Array:
        """Return Coriolis, centrifugal and gravity terms (nv): ``C v`` plus gravity, without passive efforts and loads."""
        return self._bare_inverse_dynamics(self._read_q(q), self._read_v("v", v))

    @rowwise
    def gravity_effects(self, q: Any) -> Array:
        """Return gravity's part (nv) of the nonlinear effects."""
        return self._bare_inverse_dynamics(self._read_q(q), np.zeros(self.nv))

    @rowwise
    def coriolis_matrix(self, q: Any, v: Any) -> Array:
        """Return the Coriolis matrix (nv, nv) for which ``dM/dt - 2 C`` is skew.

        ``C = (dh/dv + M blkdiag(ad v, w x, 0)) / 2``; the inertial terms h are quadratic in v, so that differences
        give dh/dv to rounding: of any length, and taken where h compares with gravity. Costs 2 nv inverse dynamics. The
        compiled engine needs no differences: of trees of rigid bodies one pass (after Echeandia and Wensing, 2021).
        """
        q, v = self._read_q(q), self._read_v("v", v)
        matrix = self.mass_matrix(q)
        sizes = coordinate_sizes(self._assembly, np.real(np.diag(matrix)), self._size)
        speed = float(np.abs(v / sizes).max(initial=0.0))
        rate = float(np.sqrt(np.linalg.norm(self.gravity) / self._size)) or speed
        coriolis = matrix @ self._bracket(v)
        if not speed:
            return coriolis
        fast = rate / speed * v
        resting, base = (self._bare_inverse_dynamics(q, rates) for rates in (0.0 * v, fast))
        for j, direction in enumerate(np.diag(rate * sizes)):
            pushed, alone = self._bare_inverse_dynamics(q, fast + direction), self._bare_inverse_dynamics(q, direction)
            coriolis[:, j] += (pushed - base - (alone - resting)) / direction[j] * (speed / rate)
        return 0.5 * coriolis

    @rowwise
    def passive_efforts(self, q: Any, v: Any) -> Array:
        """Return the efforts (nv) of springs, dampers, stops, elasticity, interactions and what blocks say acts on them."""
        q, v = self._read_q(q), self._read_v("v", v)
        efforts = self._own_passive_efforts(q, v) + self._applied_efforts(q, v)
        for loop in self.interactions:
            efforts = efforts + interaction_loads.interaction_efforts(self, loop, q, v)
        return efforts

    @rowwise
    def dissipated_power(self, q: Any, v: Any) -> float:
        """Return the power (W) that damping, friction, stops and interactions take: what rates change of the passive efforts.

        With the energy of `energy` the balance closes: its rate is the power of efforts, inputs and wrenches less this power.
        Negative where something feeds energy.

        Examples
        --------
        >>> import titop as tt
        >>> s = tt.System("slider")
        >>> s.connect("world", tt.RigidBody("block", mass=2.0), joint=tt.Prismatic("rail", stiffness=5.0, damping=0.5))
        >>> float(s.resolve().dissipated_power([0.3], [2.0]))
        2.0
        """
        v = self._read_v("v", v)
        power: float = (self.passive_efforts(q, np.zeros(self.nv)) - self.passive_efforts(q, v)) @ v
        return power

    @abstractmethod
    def _applied_efforts(self, q: Array, v: Array) -> Array:
        """Return the efforts (nv) of what the blocks say acts on them: see `Block.applied_efforts`."""

    def _own_passive_efforts(self, q: Array, v: Array) -> Array:
        """Return the efforts (nv) of the blocks' own springs, dampers, stops and elasticity."""
        efforts = self._blockwise(
            lambda block: block.passive_efforts(q[self._q(block)], v[self._v(block)]),
            self.nv,
            np.result_type(q, v, self._dtype),
        )
        for limits in self._assembly.limits:
            in_q, in_v = self._assembly.place(limits.joint)
            efforts[in_v] += limits.effort(q[in_q], v[in_v])
        return efforts

    def conditioning(self, q: Any) -> Conditioning:
        """Return what rounding does to forward dynamics at a configuration, of the tree: as if no loop were closed.

        Masses that grow outwards along a chain of joints lose digits: each joint moves a small difference of large inertias.
        The estimate is for accelerations as a whole, their sizes measured by kinetic energy, and holds for
        ``inverse_dynamics(forward_dynamics(tau)) - tau`` against ``|mass_matrix| |a|``. A system where it is much gives a
        `ModelWarning` when it is resolved. Costs some 0.2 ms a block.

        Examples
        --------
        >>> import titop as tt
        >>> s = tt.System("pendulum")
        >>> s.connect("world", tt.RigidBody("bob", mass=2.0, com=[0, 0, -1]), joint=tt.Revolute("hinge", axis=[1, 0, 0]))
        >>> s.resolve().conditioning([0.3]).error < 1e-12
        True
        """
        return conditioning(self.pivots(self._read_q(q)), self.coordinate_names)

    # -- what acts from outside ----------------------------------------------------------------------------------------

    @cached_property
    def inputs(self) -> Inputs:
        """The inputs of actuators and blocks: names, units, ranges."""
        return Inputs(self.assembly)

    @property
    def input_names(self) -> tuple[str, ...]:
        """Names of the inputs ``u``."""
        return self.inputs.names

    @property
    def nu(self) -> int:
        """Number of inputs."""
        return len(self.inputs.names)

    @rowwise
    def actuation_matrix(self, q: Any) -> Array:
        """Return the efforts on the coordinates a unit of each input (nv, nu)."""
        q = self._read_q(q)
        matrix = self.inputs.matrix(self, q)
        interaction_loads.write_input_columns(self, q, matrix)
        return matrix

    def motor_efforts(self, u: Any) -> Any:
        """Return what the motors' inputs among `u` do to the coordinates (nv)."""
        return 0.0 if u is None else self.inputs.motors @ self.inputs.read(u)

    def external_pushes(self, wrenches: Mapping[str, Any] | None, u: Any = None) -> list[Push]:
        """Return the external `wrenches` and what the inputs `u` do to ports and own coordinates."""
        pushes: list[Push] = [PortPush(port, False, wrench) for port, wrench in self._read_wrenches(wrenches).items()]
        return pushes if u is None else pushes + self.inputs.pushes(self.inputs.read(u))

    def _read_wrenches(self, wrenches: Mapping[str, Any] | None) -> dict[str, Array]:
        return {} if wrenches is None else read_wrenches(wrenches, self.ports)

    # -- closures ------------------------------------------------------------------------------------------------------

    def relative_pose(self, loop: Loop, q: Array) -> tuple[Array, Array]:
        motion = interaction_loads.target_motion(self, loop, q, np.zeros(self.nv))
        return motion.R[1], motion.r[1]

    def _open_dynamics(self, q: Array, v: Array, tau: Array) -> Array:
        """Return the accelerations of the tree, no loop closed, gears in mesh."""
        if self.gear_count:
            return closed_dynamics.open_accelerations(self, q, v, tau, [])
        return self.tree_hybrid(q, v, tau, np.zeros(self.nv), np.zeros(self.nv, dtype=bool), [])[0]

    def _actuated(self, names: Sequence[str] | None) -> Array | None:
        """Return a mask (nv) of the actuated coordinates; None where every motion is possible without looking."""
        if names is None:
            return np.ones(self.nv, dtype=bool) if self.is_constrained else None
        return self._chosen("actuated", names)

    # -- what an engine provides ---------------------------------------------------------------------------------------

    @abstractmethod
    def tree_hybrid(self, q: Array, v: Array, tau: Array, a: Array, mask: Array, pushes: list[Push]) -> tuple[Array, Array]:
        """Return accelerations `a` and efforts `tau` (nv), the motion imposed where `mask` is true, as if no loop were closed.

        `pushes` are the wrenches that act from outside.
        """

    @abstractmethod
    def tree_inverse(self, q: Array, v: Array, a: Array, pushes: list[Push]) -> Array:
        """Return the efforts (nv) that cause the accelerations `a` beside the `pushes`, as if no loop were closed."""

    @abstractmethod
    def tree_response(self, q: Array, efforts: Array, mask: Array) -> Array:
        """Return the accelerations (nv x m) a unit of each column of `efforts`, none where the motion is imposed (`mask`)."""

    @abstractmethod
    def pivots(self, q: Array) -> Pivots:
        """Return how much inertia elimination leaves to each coordinate (nv, no unit) of the tree."""

    @abstractmethod
    def _bare_inverse_dynamics(self, q: Array, v: Array) -> Array:
        """Return inverse dynamics at zero acceleration without passive efforts and loads."""

    @cached_property
    def _parameter_names(self) -> frozenset[str]:
        """Names of the parameters, which no change of them changes."""
        return frozenset(self.parameters())

    @abstractmethod
    def parameters(self) -> dict[str, tuple[float, str]]:
        """Return every number of every block by dotted name, with its unit."""
