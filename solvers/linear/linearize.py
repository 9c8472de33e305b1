"""Linear models of systems about operating points."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from titop.blocks.basics.errors import Finding, ModelError, warn
from titop.blocks.basics.spatial import Array
from titop.solvers.equilibrium.linear_validity import (
    changing_findings,
    excess,
    spin_findings,
    steadiness_findings,
    switching_findings,
)
from titop.solvers.equilibrium.operating_point import OperatingPoint, read_point
from titop.solvers.linear.linear_equations import Points, linear_equations, nearby
from titop.solvers.linear.omission import kept_states, read_omitted
from titop.solvers.linear.system_outputs import SystemOutputs, read_outputs, state_of
from titop.solvers.model.model import Model
from titop.solvers.signals.exported import Signal, exported, state_signals, table_of
from titop.solvers.signals.system_inputs import SystemInputs

if TYPE_CHECKING:
    from control import StateSpace


def linear_matrices(model: Model, point: Any) -> tuple[Array, Array]:
    """Return A and B of the linearisation by all efforts, fast: one call of a compiled kernel, python-control left out.

    Parameters
    ----------
    model : Model
    point : OperatingPoint, (q, v, tau), (q, v) or q
        What `trim` returns, or any state. Whether it is an equilibrium is not asked, as predictive controllers linearise at
        every state they come by: `linearize` warns.

    Returns
    -------
    A : (2nv, 2nv) array
        For ``x = [dq; dv]``, tangent displacements and rates; about a moving point, from the reference that moves with it.
    B : (2nv, nv) array
        By the efforts ``tau``. Units of both: those of dx/dt a unit of the states (rad or m, and by s) or of the efforts.

    Raises
    ------
    ModelError
        For an unusable point.

    Notes
    -----
    Costs a product of six numbers for each pair of coordinates on one path to the world, and the solution with the mass matrix.
    In a system with rigid closures or gears the states are all coordinates, which only together obey them: use `linearize`.
    """
    if not isinstance(point, OperatingPoint) or point.model is not model:
        point = read_point(model, point)
    elif model.is_constrained:
        point.refuse_open()
    _, A, B = point.model.raw_linear_matrices(point.q, point.v, point.tau, point.wrenches, point.driving)
    return A, B


def linearize(
    model: Model,
    point: Any,
    inputs: Sequence[str] | str = (),
    outputs: Sequence[Any] | str = (),
    omit: Sequence[str] | str = (),
    hold: Sequence[str] | str = (),
    independent: Sequence[str] | None = None,
) -> StateSpace:
    """Return the linear model of a system about an operating point, with named states, inputs and outputs.

    States are the displacements ``joint.q`` of the coordinates along their tangent directions, then their rates ``joint.v``,
    then states of the first order ``block.state``; from a reference that moves with the point's velocities:
    ``d(dq)/dt = dv - ad(v0) dq`` for free and spherical joints, so that the model is right about spinning bodies too. All
    derivatives are exact to rounding. States that integrate rates alone, as bristles that stick, bring a zero eigenvalue each,
    which nothing excites: `OperatingPoint.eigenvalues` leaves them out; static gains are those at a low frequency.

    Parameters
    ----------
    model : Model
    point : OperatingPoint, (q, v, tau), (q, v) or q
        What `trim` returns, or any state; a warning gives the acceleration away from an equilibrium, names flexible bodies
        without geometric stiffness that spin, and tells of steady motions along which the linear model changes.
    inputs : sequence of str
        ``"hinge"`` the effort of a joint (of each of its coordinates; ``"base.rx"`` of one of them); ``"motor"`` an actuator's,
        ``"flexor"`` a tendon's inputs; ``"boom.tendon"`` a block's own; ``"hub.C"`` the wrench at a port in its frame
        (``"hub.C.F"``, ``"hub.C.T"`` its parts); ``"hinge.a"`` the acceleration of a joint, whose effort then follows: a
        channel inverted, about the acceleration that the point's efforts cause.
    outputs : sequence of str, callable with a name of its own or (name, callable), as lambdas need it
        ``"hinge.q"``, ``"hinge.v"``, ``"hinge.a"``, ``"hinge.tau"`` of joints and coordinates; sensors, or one of their
        outputs; ``"hub.C.dv"``, ``.dw``, ``.v``, ``.w``, ``.r``, ``.theta`` the parts of a port's motion vector;
        ``"hinge.reaction"``; ``"tendon.length"``, ``"tendon.rate"``; ``"rod.tip.strain"`` and ``"rod.tip.section"``, strain
        of a rod's section at a port and the wrench that it transmits; ``"block.state"``, or a block for all of its states;
        functions ``f(q, v, a, u)`` of numbers or vectors, u
        the model's inputs.
        ``"hub.C.w[0]"`` is one component.
    omit : sequence of str
        States on which nothing depends, left out: ``"base.x"`` with its rate, ``"wheel.q"`` only the angle, ``"block.state"``.
    hold : sequence of str
        Joints or coordinates frozen where they are.
    independent : sequence of str, optional
        In systems with closures or gears, the coordinates to take as states.

    Returns
    -------
    control.StateSpace
        Dots in names replaced by underscores, vector components indexed: ``hub_C_w[0]``; `signal_table` gives paths and units.

    Raises
    ------
    ModelError
        For unknown names and unusable points; when something depends on what was to be omitted; when a held joint moves.

    Examples
    --------
    >>> import titop as tt
    >>> s = tt.System("swing", gravity=[0, 0, -9.81])
    >>> s.connect("world", tt.RigidBody("bob", mass=2.0, com=[0, 0, -1]), joint=tt.Revolute("hinge", axis=[0, 1, 0]))
    >>> m = s.resolve()
    >>> system = tt.linearize(m, tt.trim(m), inputs=["hinge"], outputs=["hinge.q", "bob.dv"])
    >>> system.state_labels, system.output_labels
    (['hinge_q', 'hinge_v'], ['hinge_q', 'bob_dv[0]', 'bob_dv[1]', 'bob_dv[2]'])
    >>> system.A.round(6) + 0.0
    array([[ 0.  ,  1.  ],
           [-9.81,  0.  ]])
    """
    at = read_point(model, point)
    system_inputs = SystemInputs(at.model, inputs, hold, states=True)
    system_outputs = read_outputs(at.model, outputs, system_inputs, state_of(at))
    omitted = read_omitted(at.model, omit)
    wrenches = None if at.wrenches is None else {port: wrench[None] for port, wrench in at.wrenches.items()}
    u = at.driving
    points = Points([at.model], at.q[None], at.v[None], at.tau[None], None if u is None else u[None], wrenches)
    linear = linear_equations(points, system_inputs, system_outputs, independent)
    states = state_signals(at.model)
    chosen = [at.model.coordinate_names[k] for k in linear.states if k < at.model.nv]

    def again(_: Array) -> list[tuple[Array, Array]]:
        rng = np.random.default_rng(0)
        found = (linear_equations(nearby(points, rng), system_inputs, system_outputs, chosen) for _ in range(2))
        return [(other.A, other.C) for other in found]

    kept = kept_states(linear.states, (linear.A, linear.C), states, omitted, system_outputs, again)
    rates = rates_among(linear.states[kept], at.model.nv)
    _warn_away_from_equilibrium(at, rates, linear.a[0], linear.drift[0])
    warn([*spin_findings(at.model, at.q, at.v), *steadiness_findings(at), *changing_findings(at)])
    warn(switching_findings(at.model, at.q[None], at.v[None]))
    A, B, C, D = linear.A[0][np.ix_(kept, kept)], linear.B[0][kept], linear.C[0][:, kept], linear.D[0]
    return state_space((A, B, C, D), [states[k] for k in linear.states[kept]], system_inputs, system_outputs, at.model.name)


def rates_among(states: Array, nv: int) -> Array:
    """Return the entries of v whose rates are among states, entries of ``[dq; dv; dx]``."""
    rates: Array = states[(states >= nv) & (states < 2 * nv)] - nv
    return rates


def state_space(
    matrices: Sequence[Array],
    states: Sequence[Signal],
    system_inputs: SystemInputs,
    system_outputs: Sequence[SystemOutputs],
    name: str,
) -> StateSpace:
    """Return matrices as a named system that carries its table of signals."""
    return named_system(matrices, states, system_inputs.signals, [s for group in system_outputs for s in group.signals], name)


def named_system(
    matrices: Sequence[Array],
    states: Sequence[Signal],
    inputs: Sequence[Signal],
    outputs: Sequence[Signal],
    name: str,
    period: float = 0.0,
) -> StateSpace:
    """Return matrices as a named system that carries its table of signals; with a sampling period (s) in discrete time."""
    import control

    if not inputs and 1 in (len(states), len(outputs)):
        got, expected = f"{len(states)} states, {len(outputs)} outputs and no inputs", "what python-control can hold"
        raise ModelError(Finding("no-inputs", "inputs", got, expected, "name an input, or take another state or output along"))
    system = control.StateSpace(
        *(matrix + 0.0 for matrix in matrices),  # no negative zeros
        *((period,) if period else ()),
        states=[signal.name for signal in states] or 0,
        inputs=[signal.name for signal in inputs] or 0,
        outputs=[signal.name for signal in outputs] or 0,
        name=exported(name),
        remove_useless_states=False,
    )
    system.signals = table_of(states, inputs, outputs)
    return system


def _warn_away_from_equilibrium(point: OperatingPoint, rates: Array, a: Array, drift: Array) -> None:
    """Warn when some of the coordinates (`rates` are entries of v) are accelerated, now or while the reference moves.

    `a` and `drift` are as in `excess`.
    """
    for what, values, parts in zip(("accelerated", "accelerated ever more"), (a, drift), excess(point, a, drift), strict=True):
        if parts[rates].max(initial=0.0) > 1:
            worst = rates[int(parts[rates].argmax())]
            name, found = point.model.coordinate_names[worst], f"{what} by {values[worst]:.3g}"
            advice = "find an equilibrium with tt.trim; this model holds for short times only"
            warn([Finding("no-equilibrium", f"point: {name}", found, "no acceleration", advice)], stacklevel=4)
            return
