"""The interface of engines: the functions that both have, documented once.

The two engines share no code for the tree, so that each verifies the other.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from titop.blocks.basics.errors import Finding, ModelError
from titop.blocks.basics.spatial import Array, is_finite
from titop.graph.network.assembly import Assembly
from titop.graph.network.connections import Joined
from titop.solvers.arguments.reading import overflow
from titop.solvers.mechanism.conditioning import Pivots
from titop.solvers.mechanism.inputs import Push, WrenchPlace
from titop.solvers.mechanism.port_motion import PortMotion


class Constraints(NamedTuple):
    """Values (k, m and rad), Jacobian (k x nv) and bias (k, m/s^2 and rad/s^2) of all constraints.

    ``d2 error/dt2 = J a + bias``
    """

    error: Array
    jacobian: Array
    bias: Array


def finite_constraints(assembly: Assembly, error: Array, jacobian: Array, bias: Array) -> Constraints:
    """Return the constraints. Raises `ModelError` if a number is not finite."""
    rows = Constraints(error, jacobian, bias)
    if not all(map(is_finite, rows)):
        raise ModelError(overflow(assembly))
    return rows


class DynamicsCore(Protocol):
    """The dynamics of an engine. Arguments are not checked: arrays of a state, and external loads (`pushes`).

    Closures and gears are left out, but for `constraints`: `closed_dynamics` adds them.
    """

    def constraints(self, q: Array, v: Array) -> Constraints:
        """Return the constraints at a state, which need not be closed."""

    def tree_inverse(self, q: Array, v: Array, a: Array, pushes: list[Push]) -> Array:
        """Return the efforts (nv) that, together with the `pushes`, cause the accelerations `a` of the tree."""

    def tree_hybrid(self, q: Array, v: Array, tau: Array, a: Array, mask: Array, pushes: list[Push]) -> tuple[Array, Array]:
        """Return accelerations and efforts (nv) of the tree; the motion is imposed where `mask` is true."""

    def tree_response(self, q: Array, efforts: Array, mask: Array) -> Array:
        """Return the tree's accelerations (nv x m) due to each column of `efforts` alone; zero where `mask` imposes motion."""

    def responses(self, q: Array, efforts: Array) -> Array:
        """Return the tree's accelerations (batch, m, nv) due to each of m `efforts` alone, at stacked configurations."""

    def tree_forward(self, q: Array, v: Array, tau: Array) -> Array:
        """Return the accelerations (nv) of the tree without closures, but with gears in mesh."""

    def bare_inverse(self, q: Array, v: Array, a: Array) -> Array:
        """Return inverse dynamics (nv) without passive efforts and loads."""

    def weight(self, q: Array) -> Array:
        """Return what gravity alone contributes to inverse dynamics (nv)."""

    def mass_matrix(self, q: Array) -> Array:
        """Return the mass matrix (nv, nv) of the tree."""

    def coriolis_matrix(self, q: Array, v: Array) -> Array:
        """Return the Coriolis matrix (nv, nv) of the tree."""

    def pivots(self, q: Array) -> Pivots:
        """Return the pivots of the tree's elimination, relative to the numbers that they are computed from (nv, no unit)."""

    def prepare(self, places: Sequence[WrenchPlace], imposed: Array) -> Any:
        """Return the `PreparedDynamics` for integrators, with wrenches at `places` and motion imposed where `imposed`."""


class HybridDerivatives(NamedTuple):
    """Derivatives (nv, nv) of hybrid dynamics; columns by efforts where motion is prescribed, and the reverse, are zero."""

    da_dq: Array
    da_dv: Array
    da_dtau: Array
    da_da: Array
    dtau_dq: Array
    dtau_dv: Array
    dtau_dtau: Array
    dtau_da: Array


class DerivativesCore(Protocol):
    """The derivatives of an engine's dynamics; those by q are along tangent displacements. Arguments are not checked."""

    def tree_inverse(self, q: Array, v: Array, a: Array, pushes: list[Push]) -> Array:
        """Return the derivatives (3, nv, nv) of the tree's inverse dynamics by q, v and a."""

    def inverse(self, q: Array, v: Array, a: Array, pushes: list[Push], motors: Any, actuated: Array | None) -> Array:
        """Return the derivatives (3, nv, nv) of inverse dynamics by q, v and a."""

    def forward(self, q: Array, v: Array, tau: Array, pushes: list[Push]) -> Array:
        """Return the derivatives (3, nv, nv) of forward dynamics by q, v and tau."""

    def hybrid(self, q: Array, v: Array, tau: Array, a: Array, mask: Array, pushes: list[Push]) -> HybridDerivatives:
        """Return the derivatives of hybrid dynamics."""

    def motion(self, ports: Sequence[str], q: Array, v: Array, a: Array, weightless: bool = False) -> list[Array]:
        """Return S, dV/dq, dA/dq and dA/dv (4, 6, nv) of each of the `ports`, in the port's frame.

        A is the spatial acceleration minus gravity; if `weightless`, gravity is left out.
        """

    def with_closures(self, q: Array, v: Array, a: Array, pushes: list[Push], multipliers: Array) -> tuple[Array, Array]:
        """Return the derivatives (3, nv, nv) of `tree_inverse` under closure wrenches with constant `multipliers` (k).

        Also of the constraints (4, k, nv): their Jacobian J, the derivatives of ``J a + bias`` by q and v, and of ``J v`` by q.
        """

    def closure_rate(self, q: Array, v: Array) -> Array:
        """Return the derivative (k, nv) of ``J v`` (m/s and rad/s) by q, J the Jacobian of the constraints."""


class StateDerivatives(NamedTuple):
    """Derivatives of the rates dx/dt (nx) of the first-order states.

    They are taken by coordinates (nx, nv; along tangents), by rates (nx, nv), by inputs (nx, nu) and by the states (nx, nx).
    """

    by_q: Array
    by_v: Array
    by_u: Array
    by_x: Array


class StatesCore(Protocol):
    """The first-order states of an engine; `u` are inputs with the states behind them. Arguments are not checked."""

    def rates(self, q: Array, v: Array, u: Array) -> Array:
        """Return the rates dx/dt (nx)."""

    def slopes(self, q: Array, v: Array, u: Array) -> tuple[StateDerivatives, Array]:
        """Return the derivatives of the rates, and the efforts (nv, nx) along the coordinates per unit of each state."""

    def following(self, q: Array, v: Array, u: Array, begun: Array, guess: Array, half: float) -> tuple[Array, Array]:
        """Solve ``x = begun + half dx/dt`` for the states (nx) by Newton's method, from a guess.

        Returns NaN if it does not converge; and the inverse of ``1 - half d(dx/dt)/dx`` (nx, nx) near the solution.
        """


class PortSeries(NamedTuple):
    """Pose and twist of a port, each with its time derivatives, stacked first.

    - `rotation` (r + 2, 3, 3);
    - `position` (r + 2, 3, m): in the inertial frame;
    - `twist` (r + 2, 6): in the port's frame.
    """

    rotation: Array
    position: Array
    twist: Array


class EquationSeries(NamedTuple):
    """Terms of the equations of motion, ``M a + h + g + e = tau``, each with its time derivatives, stacked first (key L, (10)).

    - `mass_matrix` (r + 1, nv, nv): M;
    - `coriolis` (r + 1, nv): Coriolis and centrifugal efforts h;
    - `gravity` (r + 1, nv): efforts g that balance gravity;
    - `external` (r + 1, nv): efforts e that balance all other loads: springs, dampers, loads, surroundings, interactions,
      wrenches and inputs.
    """

    mass_matrix: Array
    coriolis: Array
    gravity: Array
    external: Array


class SeriesCore(Protocol):
    """Time derivatives of the dynamics of an engine's tree. Arguments are not checked.

    A motion is a configuration and a stack (r + 2, nv) of v, a and further derivatives. Wrenches and inputs of the pushes are
    also stacked with their derivatives (r + 1, ...).
    """

    def tree_inverse(self, q: Array, v_series: Array, pushes: Sequence[Push]) -> Array:
        """Return the efforts (r + 1, nv) that, together with the `pushes`, cause the motion of the tree."""

    def tree_hybrid(
        self, q: Array, v: Array, tau_series: Array, a_series: Array, mask: Array, pushes: Sequence[Push]
    ) -> tuple[Array, Array] | None:
        """Return accelerations and efforts (r + 1, nv each), of loops too; the motion is imposed where `mask` is true.

        None where the engine goes order by order (`causality`).
        """

    def shared_inverse(self, q: Array, v_series: Array, pushes: Sequence[Push], driven: Array, actuated: Array) -> Array | None:
        """Return the efforts (r + 1, nv) on `actuated` coordinates that cause a motion beside those `driven`; None likewise."""

    def equation_series(self, q: Array, v_series: Array, pushes: Sequence[Push]) -> EquationSeries:
        """Return the terms of the tree's equations of motion."""

    def port_series(self, ports: Sequence[str], q: Array, v_series: Array) -> list[PortSeries]:
        """Return the motion of each of the `ports`."""


class ObservationsCore(Protocol):
    """Kinematics, energies, loads and sensor quantities of an engine. States are not checked."""

    def port_motion(self, port: str, q: Array, v: Array, a: Array) -> PortMotion:
        """Return pose, twist and acceleration of a port."""

    def jacobian(self, port: str, q: Array) -> Array:
        """Return the Jacobian (6, nv) of a port, in its frame."""

    def joint_wrench(self, joint: str, q: Array, v: Array, a: Array, pushes: list[Push]) -> Array:
        """Return the wrench (6) that a joint transmits to its child under the `pushes`."""

    def passive_efforts(self, q: Array, v: Array) -> Array:
        """Return the efforts (nv) of springs, dampers, stops, elasticity, interactions and surroundings."""

    def actuation_matrix(self, q: Array) -> Array:
        """Return the efforts on the coordinates per unit of each input (nv, nu)."""

    def touches(self, loop: Joined, q: Array, v: Array, u: Array) -> Array:
        """Return gap (m), force (3, N) and slip (3, m/s) of the k spheres or points of a contact (k, 7) with inputs u."""

    def energy(self, q: Array, v: Array) -> tuple[Any, Any, Any]:
        """Return kinetic, gravity and elastic energy (J)."""

    def momentum(self, q: Array, v: Array) -> Array:
        """Return linear and angular momentum (6) about the inertial origin, in inertial axes."""

    def mass_center(self, q: Array) -> Array:
        """Return the centre of mass (3, m) in the inertial frame, followed by the mass (kg)."""

    def regressors(self, own: bool, names: tuple[str, ...], q: Array, v: Array, a: Array) -> Array:
        """Return the efforts (batch, m, nv) a unit of m numbers of bodies, as `efforts_by_inertia`, at stacked states."""

    def multipliers(self, q: Array, v: Array, a: Array, pushes: list[Push], applied: Array | None) -> Array:
        """Return the multipliers (k) of all constraints under `applied` efforts; None stands for efforts of least norm."""

    def along_line(self, line: Any, q: Array) -> tuple[Any, Array]:
        """Return the measure of a line in rods or deformable bodies, and its derivatives (..., n) by their coordinates."""

    def line_curvature(self, line: Any, q: Array) -> Array:
        """Return the second derivatives (n, n) of a line's measure."""


class Engine(Protocol):
    """An engine: the functions that compute with a resolved system, by subject.

    `calls`: kernels by the names of a model's functions, as `titop.solvers.model.calls` uses them; None for a missing kernel.
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
    @property
    def turning(self) -> Array: ...
    def parameters(self) -> dict[str, tuple[float, str]]: ...
    def with_values(self, values: Mapping[str, float]) -> tuple[Any, list[Finding]]: ...
    def doubtful_pivots(self, places: Sequence[Array]) -> list[Pivots]: ...
    def raise_for(self, status: int) -> None: ...
    def raise_pending(self) -> None: ...
