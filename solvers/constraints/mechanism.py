"""What constraints know of a model: any engine's will do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np

from titop.blocks.basics.errors import Finding, ModelError
from titop.blocks.basics.spatial import Array
from titop.graph.network.assembly import Assembly
from titop.graph.network.connections import Loop
from titop.solvers.arguments.reading import overflow
from titop.solvers.constraints.gear_constraint import GearConstraint
from titop.solvers.mechanism.conditioning import Pivots
from titop.solvers.mechanism.hybrid_derivatives import HybridDerivatives
from titop.solvers.mechanism.inputs import Inputs, Push, WrenchPlace
from titop.solvers.mechanism.port_motion import PortMotion
from titop.solvers.mechanism.scale import Scale


class Constraints(NamedTuple):
    """Values (k, m and rad), Jacobian (k x nv) and bias (k, m/s^2 and rad/s^2) of all constraints.

    ``d2 error/dt2 = J a + bias``
    """

    error: Array
    jacobian: Array
    bias: Array


def finite_constraints(error: Array, jacobian: Array, bias: Array) -> Constraints:
    """Return the constraints.

    Raises
    ------
    ModelError
        If a number is not finite.
    """
    rows = Constraints(error, jacobian, bias)
    if not all(np.isfinite(part).all() for part in rows):
        raise ModelError(overflow())
    return rows


class DynamicsCore(Protocol):
    """The dynamics of an engine, at arguments that need no check: arrays of a state, and `pushes` that act from outside.

    `forward` and `inverse` take stacked states as well.
    """

    def constraints(self, q: Array, v: Array) -> Constraints:
        """Return the constraints at a state, which is taken as it is."""

    def tree_inverse(self, q: Array, v: Array, a: Array, pushes: list[Push]) -> Array:
        """Return the efforts (nv) that cause the accelerations `a` beside the `pushes`, as if no loop were closed."""

    def tree_inverse_and_constraints(self, q: Array, v: Array, a: Array, pushes: list[Push]) -> tuple[Array, Array, Array]:
        """Return `tree_inverse`, and the values and Jacobian of `constraints`, at once."""

    def tree_hybrid(self, q: Array, v: Array, tau: Array, a: Array, mask: Array, pushes: list[Push]) -> tuple[Array, Array]:
        """Return accelerations and efforts (nv), the motion imposed where `mask` is true, as if no loop were closed."""

    def tree_response(self, q: Array, efforts: Array, mask: Array) -> Array:
        """Return the accelerations (nv x m) a unit of each column of `efforts`, none where the motion is imposed (`mask`)."""

    def responses(self, q: Array, efforts: Array) -> Array:
        """Return the accelerations (batch, m, nv) of the tree that each of m `efforts` alone causes from rest, stacked."""

    def tree_forward(self, q: Array, v: Array, tau: Array) -> Array:
        """Return the accelerations (nv) of the tree, as if no loop were closed, gears in mesh."""

    def bare_inverse(self, q: Array, v: Array) -> Array:
        """Return inverse dynamics (nv) at zero acceleration without passive efforts and loads."""

    def inertial_inverse(self, q: Array, v: Array, a: Array) -> Array:
        """Return inverse dynamics (nv) without gravity, passive efforts and loads."""

    def mass_inertial_inverse(self, q: Array, v: Array, a: Array) -> tuple[Array, Array]:
        """Return `inertial_inverse` and the mass matrix (nv, nv) of the tree."""

    def mass_matrix(self, q: Array) -> Array:
        """Return the mass matrix (nv, nv) of the tree."""

    def coriolis_matrix(self, q: Array, v: Array) -> Array:
        """Return the Coriolis matrix (nv, nv) of the tree."""

    def forward(self, q: Array, v: Array, tau: Array, pushes: list[Push]) -> Array:
        """Return the accelerations (nv) that the efforts cause, with all constraints."""

    def inverse(self, q: Array, v: Array, a: Array, pushes: list[Push], motors: Any, actuated: Array | None) -> Array:
        """Return the efforts (nv) that cause the accelerations, beside those of `motors` and the `pushes`.

        Where a mask says which coordinates are `actuated`, on these alone, as little as possible.
        """

    def mass_inverse(
        self, q: Array, v: Array, a: Array, pushes: list[Push], motors: Any, actuated: Array | None
    ) -> tuple[Array, Array]:
        """Return `inverse` at one state, and the mass matrix (nv, nv) of the tree."""

    def hybrid(
        self, q: Array, v: Array, tau: Array, a: Array, mask: Array, motors: Any, pushes: list[Push]
    ) -> tuple[Array, Array]:
        """Return all accelerations and efforts (nv), the motion prescribed where `mask` is true, beside `motors` and pushes."""

    def held(self, q: Array, v: Array, tau: Array, rank: int, pushes: list[Push]) -> Array:
        """Return the accelerations (nv) where `rank` constraints act at a state that may be a little open."""

    def closed_velocity(self, q: Array, v: Array, fixed: Array) -> Array:
        """Return the velocity (nv) nearest to `v` with which the loops stay closed, entries where `fixed` held."""

    def closed_acceleration(self, q: Array, v: Array, a: Array, fixed: Array) -> Array:
        """Return the acceleration (nv) nearest to `a` with which the loops stay closed at `v`, entries where `fixed` held."""

    def pivots(self, q: Array) -> Pivots:
        """Return how much inertia elimination leaves to each coordinate (nv, no unit) of the tree."""

    def prepared(self, places: Sequence[WrenchPlace], imposed: Array) -> Any:
        """Return the `PreparedDynamics` for integrators, wrenches at `places`, the motion imposed where `imposed` is true."""


class DerivativesCore(Protocol):
    """The derivatives of an engine's dynamics, by tangent displacements of q, at arguments that need no check."""

    def tree_inverse(self, q: Array, v: Array, a: Array, pushes: list[Push]) -> Array:
        """Return the derivatives (3, nv, nv) of the tree's inverse dynamics by q, v and a."""

    def inverse(self, q: Array, v: Array, a: Array, pushes: list[Push], motors: Any, actuated: Array | None) -> Array:
        """Return the derivatives (3, nv, nv) of inverse dynamics by q, v and a."""

    def forward(self, q: Array, v: Array, tau: Array, pushes: list[Push]) -> Array:
        """Return the derivatives (3, nv, nv) of forward dynamics by q, v and tau."""

    def hybrid(self, q: Array, v: Array, tau: Array, a: Array, mask: Array, pushes: list[Push]) -> HybridDerivatives:
        """Return the derivatives of hybrid dynamics."""

    def tangent(self, q: Array, v: Array, tau: Array, dq: Array, dv: Array, dtau: Array, pushes: list[Push]) -> Array:
        """Return the derivative (nv) of forward dynamics along one direction."""

    def adjoint(self, q: Array, v: Array, tau: Array, weights: Array, pushes: list[Push]) -> tuple[Array, Array, Array]:
        """Return the derivatives (nv) of a weighted sum of the accelerations by q, v and tau."""

    def motion(self, ports: Sequence[str], q: Array, v: Array, a: Array, weightless: bool = False) -> list[Array]:
        """Return of each of the `ports` S, dV/dq, dA/dq, dA/dv (4, 6, nv), in the port's frame.

        A less gravity's, or `weightless` as if there were no gravity.
        """

    def with_closures(self, q: Array, v: Array, a: Array, pushes: list[Push], multipliers: Array) -> tuple[Array, Array]:
        """Return the derivatives (3, nv, nv) of `tree_inverse`, the closures acting with `multipliers` (k).

        Also those of the constraints (4, k, nv): their Jacobian J, derivatives of ``J a + bias`` by q and v, of ``J v`` by q.
        """

    def closure_rate(self, q: Array, v: Array) -> Array:
        """Return the derivative (k, nv) of ``J v`` (m/s and rad/s) by q, J the Jacobian of the constraints."""


class StateDerivatives(NamedTuple):
    """Derivatives of the rates dx/dt (nx) of the states of the first order.

    By coordinates (nx, nv; along their tangents), by their rates (nx, nv), by inputs (nx, nu) and by the states (nx, nx).
    """

    by_q: Array
    by_v: Array
    by_u: Array
    by_x: Array


class StatesCore(Protocol):
    """The states of the first order of an engine, at arguments that need no check; `u` are inputs with the states behind."""

    def rates(self, q: Array, v: Array, u: Array) -> Array:
        """Return the rates dx/dt (nx)."""

    def slopes(self, q: Array, v: Array, u: Array) -> tuple[StateDerivatives, Array]:
        """Return the derivatives of the rates, and the efforts (nv, nx) along the coordinates a unit of each state."""

    def following(self, q: Array, v: Array, u: Array, begun: Array, guess: Array, half: float) -> tuple[Array, Array]:
        """Return the states ``x = begun + half dx/dt`` that Newton's method finds from a guess, all (nx).

        Not numbers where it finds none. Also the inverse of ``1 - half d(dx/dt)/dx`` (nx, nx) next to them.
        """


class PortSeries(NamedTuple):
    """Pose and twist of a port, each with its time derivatives, stacked first.

    Attributes
    ----------
    rotation : (r + 2, 3, 3) array
    position : (r + 2, 3) array, m
        In the inertial frame.
    twist : (r + 2, 6) array
        In the port's frame.
    """

    rotation: Array
    position: Array
    twist: Array


class EquationSeries(NamedTuple):
    """Terms of the equations of motion, ``M a + h + g + e = tau``, each with its time derivatives, stacked first (key L, (10)).

    Attributes
    ----------
    mass_matrix : (r + 1, nv, nv) array
        M.
    coriolis : (r + 1, nv) array
        Coriolis and centrifugal efforts h.
    gravity : (r + 1, nv) array
        What holds up against gravity on inertia, g.
    external : (r + 1, nv) array
        What holds up against all else that acts, e: springs, dampers, loads, surroundings, interactions, wrenches and inputs.
    """

    mass_matrix: Array
    coriolis: Array
    gravity: Array
    external: Array


class SeriesCore(Protocol):
    """Time derivatives of an engine's tree, at arguments that need no check.

    A motion is a configuration and a stack (r + 2, nv) of v, a and further derivatives. Wrenches and inputs of the pushes are
    stacked with their derivatives likewise (r + 1, ...).
    """

    def tree_inverse(self, q: Array, v_series: Array, pushes: Sequence[Push]) -> Array:
        """Return the efforts (r + 1, nv) that cause the motion beside the `pushes`, as if no loop were closed."""

    def tree_hybrid(
        self, q: Array, v: Array, tau_series: Array, a_series: Array, mask: Array, pushes: Sequence[Push]
    ) -> tuple[Array, Array] | None:
        """Return accelerations and efforts (r + 1, nv each) from one elimination, the motion imposed where `mask` is true.

        None where the engine has none for what the tree consists of.
        """

    def equation_series(self, q: Array, v_series: Array, pushes: Sequence[Push]) -> EquationSeries:
        """Return the terms of the tree's equations of motion."""

    def port_series(self, ports: Sequence[str], q: Array, v_series: Array) -> list[PortSeries]:
        """Return how each of the `ports` moves."""


class ObservationsCore(Protocol):
    """What an engine reads of states that need no check."""

    def port_motion(self, port: str, q: Array, v: Array, a: Array) -> PortMotion:
        """Return pose, twist and acceleration of a port."""

    def jacobian(self, port: str, q: Array) -> Array:
        """Return the Jacobian (6, nv) of a port, in its frame."""

    def joint_wrench(self, joint: str, q: Array, v: Array, a: Array, pushes: list[Push]) -> Array:
        """Return the wrench (6) that a joint transmits to its child, with all that acts given as pushes."""

    def passive_efforts(self, q: Array, v: Array) -> Array:
        """Return the efforts (nv) of all that is sprung, damped or acted on by its surroundings."""

    def actuation_matrix(self, q: Array) -> Array:
        """Return the efforts on the coordinates a unit of each input (nv, nu)."""

    def touches(self, loop: Loop, q: Array, v: Array, u: Array) -> Array:
        """Return gap (m), force (3, N) and slip (3, m/s) of all that touches in a contact (k, 7), driven by u."""

    def energy(self, q: Array, v: Array) -> tuple[Any, Any, Any]:
        """Return kinetic, gravity and elastic energy (J)."""

    def momentum(self, q: Array, v: Array) -> Array:
        """Return linear and angular momentum (6) about the inertial origin, in inertial axes."""

    def mass_center(self, q: Array) -> Array:
        """Return the centre of mass (3, m) in the inertial frame, and the mass (kg)."""

    def regressors(self, bodies: tuple[str, ...], q: Array, v: Array, a: Array) -> Array:
        """Return the columns (batch, nv, 10 a body) of the regressors that belong to some `bodies`, at stacked states."""

    def multipliers(self, q: Array, v: Array, a: Array, pushes: list[Push], applied: Array | None) -> Array:
        """Return the multipliers (k) of all constraints under `applied` efforts, or the least ones."""

    def along_line(self, line: Any, q: Array) -> tuple[Any, Array]:
        """Return the measure of a line in rods or deformable bodies, and its derivatives (..., n), at their coordinates."""

    def line_curvature(self, line: Any, q: Array) -> Array:
        """Return its second derivatives (n, n)."""


class Engine(Protocol):
    """How a model is resolved.

    Attributes
    ----------
    calls
        Kernels by the names of the model's functions, as `titop.solvers.model.calls` asks for them; None where there is none.
    """

    @property
    def calls(self) -> Any: ...
    @property
    def dynamics(self) -> DynamicsCore: ...
    @property
    def derivatives(self) -> DerivativesCore: ...
    @property
    def states(self) -> StatesCore: ...
    @property
    def series(self) -> SeriesCore: ...
    @property
    def observations(self) -> ObservationsCore: ...
    @property
    def assembly(self) -> Assembly: ...
    @property
    def gravity(self) -> Array: ...
    def parameters(self) -> dict[str, tuple[float, str]]: ...
    def changed(self, values: Mapping[str, float]) -> tuple[Any, list[Finding]]: ...
    def doubtful_pivots(self, places: Sequence[Array]) -> list[Pivots]: ...
    def raise_for(self, status: int) -> None: ...
    def raise_pending(self) -> None: ...


class ClosedMechanism(Protocol):
    """Coordinates, and what constrains them; see `titop.solvers.constraints.closed_loops`."""

    nv: int
    coordinate_names: tuple[str, ...]
    configuration_names: tuple[str, ...]

    @property
    def engine(self) -> Engine: ...
    @property
    def assembly(self) -> Assembly: ...
    @property
    def rigid_loops(self) -> tuple[Loop, ...]: ...
    @property
    def interactions(self) -> tuple[Loop, ...]: ...
    @property
    def gear_constraints(self) -> tuple[GearConstraint, ...]: ...
    @property
    def gear_count(self) -> int: ...
    @property
    def is_constrained(self) -> bool: ...
    @property
    def constraint_names(self) -> tuple[str, ...]: ...
    @property
    def constraint_units(self) -> tuple[str, ...]: ...
    @property
    def own_coordinates(self) -> frozenset[str]: ...
    @property
    def deformations(self) -> Array: ...
    @property
    def angular_constraints(self) -> Array: ...
    @property
    def scale(self) -> Scale: ...
    @property
    def angular_coordinates(self) -> Array: ...
    @property
    def length_coordinates(self) -> Array: ...
    def neutral(self) -> Array: ...
    def random_configuration(self, rng: np.random.Generator) -> Array: ...
    def moved(self, q: Array, dq: Array) -> Array: ...
    def apart(self, q0: Array, q1: Array) -> Array: ...
    def rates(self, q: Array, v: Array) -> Array: ...
    @property
    def generic_rank(self) -> int: ...
    @property
    def regular_configuration(self) -> Array | None: ...
    def acting_rank(self, q: Array, jacobian: Array) -> int: ...


class NamedMechanism(ClosedMechanism, Protocol):
    """A mechanism whose ports and bodies are known by name: what engines know of a model."""

    nq: int

    @property
    def ports(self) -> dict[str, tuple[str, str | None]]: ...
    @property
    def inputs(self) -> Inputs: ...
    @property
    def input_names(self) -> tuple[str, ...]: ...
    @property
    def inertial_bodies(self) -> tuple[str, ...]: ...
    @property
    def plain_coordinates(self) -> Any: ...
    def external_pushes(self, wrenches: Mapping[str, Any] | None, u: Any = None) -> list[Push]: ...
    def motor_efforts(self, u: Any) -> Any: ...
    def _read_q(self, q: Any, name: str = "q", stacked: bool = False) -> Array: ...
    def _read_v(self, name: str, v: Any, stacked: bool = False) -> Array: ...
    def read_port(self, port: str) -> str: ...
    def bracket(self, v: Array) -> Array: ...
    def pose(self, port: str, q: Any) -> tuple[Array, Array]: ...
    def jacobian(self, port: str, q: Any) -> Array: ...
