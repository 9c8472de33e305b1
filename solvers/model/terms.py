"""The terms of a model's equations of motion, its energy and momentum, and the rates of its first-order states.

Arguments: `q` a configuration (nq); `v` and `a` vectors (nv); `x` first-order states (nx, or by name) and `u` inputs
(nu, or by name), zero by default. All may be stacked along a leading axis; results are then stacked too.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from titop.blocks.basics.errors import Finding, ModelError
from titop.blocks.basics.spatial import Array
from titop.blocks.basics.user_input import axes_of
from titop.blocks.contract.block import Block
from titop.blocks.interactions.interaction import power_of, stored_rate
from titop.solvers.arguments.reading import check_stacks
from titop.solvers.arguments.rowwise import read_states, rowwise
from titop.solvers.constraints.engine_interface import StateDerivatives
from titop.solvers.constraints.interaction_loads import stated_motions
from titop.solvers.mechanism.conditioning import Conditioning
from titop.solvers.mechanism.conditioning import conditioning as conditioning_of
from titop.solvers.mechanism.kernel_calls import DONE
from titop.solvers.model.calls import of_state, with_care
from titop.solvers.model.mechanism import Mechanism, Resolved


class Energy(NamedTuple):
    """Energy of a system (J); `elastic` is the energy of springs, interactions and deformable bodies."""

    kinetic: float
    gravity: float
    elastic: float

    @property
    def potential(self) -> float:
        """Sum of gravity and elastic energy (J)."""
        return self.gravity + self.elastic

    @property
    def total(self) -> float:
        """Sum of kinetic and potential energy (J)."""
        return self.kinetic + self.potential


@of_state("nv", "nv")
def mass_matrix(model: Resolved, q: Any) -> Array:
    """Return the mass matrix (nv, nv) of the tree, without closures and gears.

    Computed by composite inertias (Featherstone, Rigid Body Dynamics Algorithms, chapter 6).
    """
    return model.mechanism.engine.dynamics.mass_matrix(q)


@of_state("nv", "nv")
def inverse_mass_matrix(model: Resolved, q: Any) -> Array:
    """Return the inverse (nv, nv) of the tree's mass matrix: its columns are the accelerations per unit of each effort.

    Raises
    ------
    ModelError
        For an unusable configuration, and for a joint that moves no inertia.
    """
    return model.mechanism.engine.dynamics.tree_response(q, np.eye(model.nv), np.zeros(model.nv, dtype=bool))


@of_state("nv")
def inertial_inverse_dynamics(model: Resolved, q: Any, v: Any, a: Any) -> Array:
    """Return the inertial efforts (nv) ``M a + C v``: without gravity, passive efforts and loads.

    About an `Orbit` they include those of its turning frame.

    Inertial inverse dynamics (key P, algorithm 1): one pass to the leaves and one back, for blocks of every kind.
    """
    return inertial_efforts(model.mechanism, q, v, a)


def inertial_efforts(mechanism: Mechanism, q: Array, v: Array, a: Array) -> Array:
    """Return the inertial efforts (nv) at a checked state, without kernels: what gravity does not need."""
    dynamics = mechanism.engine.dynamics
    return dynamics.bare_inverse(q, v, a) - dynamics.weight(q)


@of_state("nv", still=1)
def nonlinear_effects(model: Resolved, q: Any, v: Any) -> Array:
    """Return the Coriolis, centrifugal and gravity terms (nv): ``C v`` plus gravity, without passive efforts and loads."""
    return model.mechanism.engine.dynamics.bare_inverse(q, v, np.zeros(model.nv))


@of_state("nv", still=2)
def gravity_effects(model: Resolved, q: Any) -> Array:
    """Return the part (nv) of the nonlinear effects that is due to gravity."""
    return model.mechanism.engine.dynamics.weight(q)


@of_state("nv", "nv")
def coriolis_matrix(model: Resolved, q: Any, v: Any) -> Array:
    """Return the Coriolis matrix (nv, nv) for which ``dM/dt - 2 C`` is skew.

    ``C = (dh/dv + M blkdiag(ad v, w x, 0)) / 2`` with the inertial terms h. For trees of rigid bodies it is computed in one
    pass (after Echeandia and Wensing, 2021). About an `Orbit` what is linear in v counts as a whole: ``C v`` is ``h`` less that
    of a system at rest in Hill's frame.
    """
    return model.mechanism.engine.dynamics.coriolis_matrix(q, v)


@of_state("nv")
def passive_efforts(model: Resolved, q: Any, v: Any) -> Array:
    """Return the efforts (nv) of springs, dampers, stops, elasticity, interactions and `Block.applied_efforts`."""
    return model.mechanism.engine.observations.passive_efforts(q, v)


def dissipated_power(model: Resolved, q: Any, v: Any, x: Any = None) -> Any:
    """Return the power (W) that damping, friction, stops and interactions dissipate.

    It is the power of the velocity-dependent part of the passive efforts. Together with `energy` it closes the balance: the
    rate of the energy is the power of efforts, inputs, wrenches and loads minus this power. The power of a `Load` is its
    wrench times the twist of its port. The result is negative where energy is supplied: by the current of a `Fluid`, or by
    bristles that spring back, since these store no energy (see `Contact`).

    Interactions with first-order states `x` (zero by default; inputs are zero) dissipate the power that they take and do not
    store.

    Examples
    --------
    >>> import titop as tt
    >>> s = tt.System("slider")
    >>> s.connect("world", tt.RigidBody("block", mass=2.0), joint=tt.Prismatic("rail", stiffness=5.0, damping=0.5))
    >>> float(s.resolve().dissipated_power([0.3], [2.0]))
    2.0
    """
    mechanism = model.mechanism
    v = mechanism._read_v("v", v, stacked=True)
    efforts = passive_efforts(model, q, np.zeros(v.shape)) - passive_efforts(model, q, v)
    for block in mechanism.assembly.blocks.values():
        if block.fluid is not None and block.fluid.current.any():
            efforts = efforts - _current_efforts(model, block, q)
    power = (efforts * v).sum(axis=-1)
    return power + _lost_by_states(model, q, v, mechanism.inputs.whole(None, x)) if mechanism.nx else power


@rowwise
def _lost_by_states(model: Resolved, q: Any, v: Any, u: Any) -> Any:
    """Return the power that interactions dissipate because of their states.

    The power that the passive efforts already count, with these states zero, is subtracted.
    """
    mechanism, more = model.mechanism, 0.0
    for loop, motion in stated_motions(mechanism, mechanism._read_q(q), mechanism._read_v("v", v), u):
        unbent = motion._replace(x=0.0 * motion.x)
        still = unbent._replace(V=0.0 * motion.V, v=0.0 * motion.v)
        counted = power_of(loop.closure.act(still), motion) - power_of(loop.closure.act(unbent), motion)
        more = more - power_of(loop.closure.act(motion), motion) - stored_rate(loop.closure, motion) - counted
    return more


@rowwise
def _current_efforts(model: Resolved, block: Block, q: Any) -> Array:
    """Return the efforts (nv) of a current on a block at rest; they belong to no stored energy."""
    mechanism = model.mechanism
    q, still = mechanism._read_q(q), np.zeros(block.nv)
    in_v, deformation = (
        mechanism.assembly.v_slices.get(block.name, slice(0)),
        q[mechanism.assembly.q_slices.get(block.name, slice(0))],
    )
    observations, rest = mechanism.engine.observations, np.zeros(model.nv)
    motion = observations.port_motion(block.name, q, rest, rest)
    on_block = block.stream_efforts(deformation, still, motion.twist, motion.rotation)
    efforts: Array = observations.jacobian(block.name, q).T @ on_block[:6]
    efforts[in_v] += on_block[6:]
    return efforts


def actuation_matrix(model: Resolved, q: Any) -> Array:
    """Return the efforts on the coordinates per unit of each input (nv, nu)."""
    return actuation_rows(model, q).swapaxes(-1, -2)


@of_state("nu", "nv")
def actuation_rows(model: Resolved, q: Any) -> Array:
    """Return the transposed `actuation_matrix` (nu, nv): a row of efforts per unit of each input."""
    return model.mechanism.engine.observations.actuation_matrix(q).T


def conditioning(model: Resolved, q: Any) -> Conditioning:
    """Return how rounding affects forward dynamics of the tree, without closures and gears, at a configuration.

    Masses that grow outwards along a chain of joints lose digits: the inertia that a joint moves is then a small difference of
    large numbers. The error is a bound that holds on every processor and in both engines. It bounds the error of the
    accelerations as a whole, measured by kinetic energy, relative to those that efforts and gravity alone would cause; and
    that of ``inverse_dynamics(forward_dynamics(tau)) - tau`` relative to ``|mass_matrix| |a|``. A system whose inertia loses
    much gives a `ModelWarning` when it is resolved. Costs about 0.2 ms per block.

    Examples
    --------
    >>> import titop as tt
    >>> s = tt.System("pendulum")
    >>> s.connect("world", tt.RigidBody("bob", mass=2.0, com=[0, 0, -1]), joint=tt.Revolute("hinge", axis=[1, 0, 0]))
    >>> s.resolve().conditioning([0.3]).error < 1e-12
    True
    """
    mechanism = model.mechanism
    return conditioning_of(mechanism.engine.dynamics.pivots(mechanism._read_q(q, stacked=True)), model.coordinate_names)


def energy(model: Resolved, q: Any, v: Any, x: Any = None) -> Energy:
    """Return kinetic, gravity and elastic energy (J); the last includes `Block.applied_energy`.

    About an `Orbit` the kinetic energy is that of inertial twists, and what is conserved is Jacobi's integral: the total less
    the scalar product of the frame's angular velocity and the angular `momentum`.

    The energy stored in interactions may depend on the first-order states `x`.
    """
    mechanism = model.mechanism
    if x is not None:
        bare, more = energy(model, q, v), _stored_by_states(model, q, v, mechanism.inputs.whole(None, x))
        return bare._replace(elastic=bare.elastic + more)
    kernel = model._calls.energies
    try:
        energies = np.empty(3)
        if kernel(q, v, energies) == DONE:
            return Energy(*energies.tolist())
    except TypeError:
        pass
    of_stacks = None if kernel is None else model._calls.stacked["energies"]
    parts = with_care(
        mechanism, kernel, of_stacks, lambda *at: np.array(mechanism.engine.observations.energy(*at)), (q, v), (3,)
    )
    return Energy(*(parts if parts.ndim == 1 else parts.T.copy()))


@rowwise
def _stored_by_states(model: Resolved, q: Any, v: Any, u: Any) -> Any:
    """Return the energy stored in interactions, minus the energy stored with their states zero."""
    more: Any = 0.0
    mechanism = model.mechanism
    for loop, motion in stated_motions(mechanism, mechanism._read_q(q), mechanism._read_v("v", v), u):
        more = more + loop.closure.stored(motion) - loop.closure.stored(motion._replace(x=0.0 * motion.x))
    return more


@of_state(6)
def momentum(model: Resolved, q: Any, v: Any) -> Array:
    """Return linear and angular momentum (6) about the inertial origin, in inertial axes (N s, N m s).

    About an `Orbit` it is about the origin of Hill's frame, in the axes of that. It includes Kirchhoff's impulse: the
    momentum of the fluid that the bodies set in motion, in fluid otherwise at rest.
    """
    return model.mechanism.engine.observations.momentum(q, v)


@of_state(6, "nv")
def momentum_matrix(model: Resolved, q: Any) -> Array:
    """Return the matrix (6, nv) from v to `momentum` (N s, N m s per unit of v), less what Hill's frame of an `Orbit` adds.

    Moved to the centre of mass, it is the centroidal momentum matrix (Orin and Goswami, IROS 2008).
    """
    momentum_of = model.mechanism.engine.observations.momentum
    columns = [momentum_of(q, rate) for rate in np.eye(model.nv)] - momentum_of(q, np.zeros(model.nv))  # as the world turns
    return np.array(columns).reshape(model.nv, 6).T


def center_of_mass(model: Resolved, q: Any) -> Array:
    """Return the centre of mass (3, m) in the inertial frame: that of the inertial masses, not of weights (`Block.weight`).

    The added mass of surrounding fluids is not included (`Block.added_inertia`).

    Raises
    ------
    ModelError
        For a system without mass.
    """
    center = mass_center(model, q)
    mass = center[3] if center.ndim == 1 else center[:, 3].min(initial=np.inf)
    if not mass.real > 0:
        raise ModelError(Finding("massless", "center_of_mass", mass, "a system with mass", "give a body a mass"))
    return center[..., :3]


@of_state(4)
def mass_center(model: Resolved, q: Any) -> Array:
    """Return the centre of mass (3, m) in the inertial frame, followed by the mass (kg)."""
    return model.mechanism.engine.observations.mass_center(q)


def state_rates(model: Resolved, q: Any, v: Any, x: Any = None, u: Any = None) -> Array:
    """Return the rates dx/dt (nx, in the unit of each state per s) of the first-order states.

    Raises
    ------
    ModelError
        For unusable arguments, and for functions of blocks that do not return one number for each state.

    Examples
    --------
    >>> import numpy as np, titop as tt
    >>> class Lag(tt.Interaction):
    ...     port_counts, coordinate_counts, inputs, state_names = (0, 0), (1, 1), ("command",), ("effort",)
    ...     def act(model, motion):
    ...         return np.zeros((0, 6)), motion.x
    ...     def state_rates(model, motion):
    ...         return (motion.u - motion.x) / 0.5
    >>> s = tt.System("drive", gravity=[0, 0, 0])
    >>> s.connect("world", tt.RigidBody("rotor", mass=1.0, inertia=2.0), tt.Revolute("shaft"))
    >>> s.add_interaction(Lag("motor"), "shaft")
    >>> m = s.resolve(engine="reference")
    >>> m.state_names, m.state_rates([0.0], [0.0], x=[1.0], u=[3.0]).tolist()
    (('motor.effort',), [4.0])
    >>> m.forward_dynamics([0.0], [0.0], x=[1.0]).tolist()
    [0.5]
    """
    rates: Array = _of_states(model, q, v, model.mechanism.inputs.whole(u, x), lambda states, *at: states.rates(*at))
    return rates


def state_rates_derivatives(model: Resolved, q: Any, v: Any, x: Any = None, u: Any = None) -> StateDerivatives:
    """Return the derivatives of `state_rates`, exact to rounding where the functions of blocks accept complex numbers.

    Returns
    -------
    StateDerivatives
        In the states' units per s, per unit of each variable.
    """
    slopes: Any = _of_states(model, q, v, model.mechanism.inputs.whole(u, x), lambda states, *at: states.slopes(*at)[0])
    return StateDerivatives(*slopes)


def state_efforts(model: Resolved, q: Any, v: Any, x: Any = None, u: Any = None) -> Array:
    """Return the derivatives (nv, nx; N m or N per unit of each) of the efforts by the first-order states.

    It is to `x` what `actuation_matrix` is to `u`. Exact to rounding where the functions of blocks accept complex numbers.
    """
    efforts: Array = _of_states(model, q, v, model.mechanism.inputs.whole(u, x), lambda states, *at: states.slopes(*at)[1])
    return efforts


def _of_states(model: Resolved, q: Any, v: Any, u: Any, ask: Callable[..., Any]) -> Any:
    """Return the result of `ask`, a function of the engine's part for first-order states, at a state or at stacked ones."""
    mechanism, kernels = model.mechanism, model._calls.kernels
    if kernels is not None and axes_of(q) == 2:
        states = read_states(mechanism, {"q": q, "v": v}, stacked=True)
        check_stacks({"q": states[0], **({"u": u} if u.ndim == 2 else {})})
        return ask(mechanism.engine.states, *map(np.ascontiguousarray, states), u)
    return _of_state(model, q, v, u, ask)


@rowwise
def _of_state(model: Resolved, q: Any, v: Any, u: Any, ask: Callable[..., Any]) -> Any:
    mechanism = model.mechanism
    return ask(mechanism.engine.states, mechanism._read_q(q), mechanism._read_v("v", v), u)
