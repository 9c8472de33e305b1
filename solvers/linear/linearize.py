"""Linear models of systems about operating points, without states on which nothing depends."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from titop.blocks.basics.errors import Finding, ModelError, warn
from titop.blocks.basics.paths import split_end
from titop.blocks.basics.spatial import Array
from titop.blocks.basics.tolerances import EXACT, FEW_ROUNDINGS, SAME
from titop.solvers.equilibrium import linear_validity
from titop.solvers.equilibrium.operating_point import OperatingPoint, read_point, read_stacked_states
from titop.solvers.equilibrium.sizes import rotational_rates
from titop.solvers.linear.linear_equations import LinearEquations, linear_equations, names_of, nearby
from titop.solvers.linear.path_series import Stacked, noise_inputs, with_paths
from titop.solvers.linear.state_space import named_system
from titop.solvers.linear.system_outputs import AtState, SystemOutputs, read_outputs, state_of
from titop.solvers.model.derivatives import raw_linear_matrices
from titop.solvers.model.model import Model, read_model
from titop.solvers.signals.exported import Signal, state_signals
from titop.solvers.signals.grammar import STATE, read_name, read_names
from titop.solvers.signals.quantities import DEPENDENT, Kind
from titop.solvers.signals.system_inputs import SystemInputs

if TYPE_CHECKING:
    from control import StateSpace

#: A small entry counts as zero if it is no larger than so many times its change nearby.
_CHANGES = 8.0

#: Number of calls for which the meaning of the names is stored.
_MOST_KNOWN = 16


def linear_matrices(
    model: Model, point: Any, wrenches: Mapping[str, Any] | None = None, u: Any = None, x: Any = None
) -> tuple[Array, Array]:
    """Return A and B of the linearisation by all efforts, fast: one call of a compiled kernel, without python-control.

    Parameters
    ----------
    model : Model
    point : OperatingPoint, (q, v, tau), (q, v) or q
        The result of `trim`, or any state. Equilibrium is not checked, since predictive controllers linearise at arbitrary
        states; `linearize` warns. States may be stacked along a leading axis, with loops that are closed, which is not
        checked either; the results are then stacked too.
    wrenches, u, x
        What acts at a state, or at stacked ones, as in `forward_dynamics`; an operating point has its own.

    Returns
    -------
    A : (2nv, 2nv) array
        For ``x = [dq; dv]``, tangent displacements and rates; about a moving point, relative to the reference moving with it.
    B : (2nv, nv) array
        By the efforts ``tau``. Units of both: those of dx/dt per unit of the states (rad or m, and per s) or of the efforts.

    Raises
    ------
    ModelError
        For an unusable point, and loads beside those of an operating point.

    Notes
    -----
    The cost is a product of six numbers for each pair of coordinates on one path to the world, and the solution with the mass
    matrix. With rigid closures or gears the states are all coordinates, which satisfy the constraints only together: use
    `linearize`.
    """
    acting = None if u is None and x is None else read_model(model).mechanism.inputs.whole(u, x)
    is_loaded = wrenches is not None or acting is not None
    if isinstance(point, OperatingPoint) and is_loaded:
        got, advice = "an operating point", "leave out what acts, or make another tt.OperatingPoint"
        raise ModelError(Finding("loads-twice", "point", got, "a state: loads are given beside it", advice))
    if not isinstance(point, OperatingPoint) and (stacked := read_stacked_states(model, point)):
        q, v, tau = stacked
        return raw_linear_matrices(model.undisturbed, q, v, tau, wrenches, acting)[1:]
    if not isinstance(point, OperatingPoint) or point.model is not model:
        point = read_point(model, point)
    elif model.is_constrained:
        point.refuse_open()
    point = point.undisturbed
    loads = (wrenches, acting) if is_loaded else (point.wrenches, point.driving)
    _, A, B = raw_linear_matrices(point.model, point.q, point.v, point.tau, *loads)
    return linear_validity.about_reference(model, A, point.a), B


def linearize(
    model: Model,
    point: Any,
    inputs: Sequence[str] | str = (),
    outputs: Sequence[Any] | str = (),
    omit: Sequence[str] | str = (),
    hold: Sequence[str] | str = (),
    independent: Sequence[str] | None = None,
    noise: bool = False,
) -> StateSpace:
    """Return the linear model of a system about an operating point, with named states, inputs and outputs.

    The states are the displacements ``joint.q`` of the coordinates along their tangent directions, then their rates
    ``joint.v``, then first-order states ``block.state``. They are relative to a reference that moves with the point's
    velocities: ``d(dq)/dt = dv - ad(v0) dq`` for free and spherical joints, so that the model is correct for spinning bodies.
    About an equilibrium that accelerates they are relative to the accelerating reference, see `OperatingPoint`.
    All derivatives are exact to rounding. States that only integrate rates, such as sticking bristles, have a zero eigenvalue
    each that nothing excites: `OperatingPoint.eigenvalues` omits them. Static gains are then those at a low frequency.

    Parameters
    ----------
    model : Model
    point : OperatingPoint, (q, v, tau), (q, v) or q
        The result of `trim`, or any state. Warnings give the acceleration away from an equilibrium, name spinning flexible
        bodies without geometric stiffness, and report steady motions along which the linear model changes. Loads that only
        disturb (`Block.disturbances`), such as a wheel's jitter, are left out: let them in by inputs, the wrench at its port.
    inputs : sequence of str
        ``"hinge"`` the effort of a joint (of each of its coordinates; ``"base.rx"`` of one of them); ``"motor"`` an actuator's
        and ``"flexor"`` a tendon's inputs; ``"boom.tendon"`` an input of a block; ``"hub.C"`` the wrench at a port in its frame
        (``"hub.C.F"``, ``"hub.C.T"`` its parts); ``"hinge.a"`` the acceleration of a joint, whose effort is then an output: an
        inverted channel, about the acceleration caused by the point's efforts; ``"road.q"`` its displacement, about the same
        motion. Nothing is differentiated: the states are then what is left of coordinates and rates beside what follows the
        displacement and its rate at once, ``"wheel.q.remainder"``; outputs that need its derivatives are refused.
        ``"gyro.noise"`` and ``"motor.walk"`` are white noise of unit density, which acts by the `noise_density` or
        `random_walk` of a device's path; ``.instability`` and ``.rounding`` likewise (`SignalPath`).
    outputs : sequence of str, callable with a name of its own, or (name, callable), which lambdas need
        ``"hinge.q"``, ``"hinge.v"``, ``"hinge.a"``, ``"hinge.tau"`` of joints and coordinates; sensors, or one of their
        outputs; ``"hub.C.dv"``, ``.dw``, ``.v``, ``.w``, ``.r``, ``.theta`` the parts of a port's motion vector;
        ``"hinge.reaction"``; ``"tendon.length"``, ``"tendon.rate"``; ``"rod.tip.strain"`` and ``"rod.tip.section"``, strain
        of a rod's section at a port and the wrench it transmits; ``"block.state"``, or a block for all of its states;
        functions ``f(q, v, a, u)`` that return numbers or vectors, u the model's inputs. ``"hub.C.w[0]"`` is one component.
    omit : sequence of str
        States to leave out, on which nothing depends: ``"base.x"`` and its rate, ``"wheel.q"`` only the angle,
        ``"block.state"``.
    hold : sequence of str
        Joints or coordinates that are locked.
    independent : sequence of str, optional
        With closures or gears, the coordinates to take as states.
    noise : bool
        Append inputs of white noise: all by which actuators err, and the sensors among the outputs, ``"motor.noise"``,
        ``"gyro.x.noise"``, ``"gyro.x.walk"``, each of the two-sided density one: see `SignalPath`.

    Returns
    -------
    control.StateSpace
        In names, underscores replace dots, and vector components have an index: ``hub_C_w[0]``; `signal_table` gives paths and
        units. Its `operating_point` has the point's numbers by name, see `OperatingPoint.values_by_name`.

    Raises
    ------
    ModelError
        For unknown names and unusable points; if something depends on a state to omit; if a locked joint moves.

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
    inputs = noise_inputs(at.model, inputs, outputs, noise) if noise else inputs
    ends = read_ends(at.model, state_of(at), inputs, outputs, omit, hold)
    linear = linear_equations([at], ends.inputs, ends.outputs, independent)
    kept = np.arange(len(linear.states))
    if ends.omitted.size:
        chosen = names_of(at.model, linear.states, ends.inputs)

        def again(_: Array) -> list[tuple[Array, Array]]:
            rng = np.random.default_rng(0)
            others = (linear_equations(nearby([at], rng), ends.inputs, ends.outputs, chosen) for _ in range(2))
            return [(other.A, other.C) for other in others]

        kept = kept_states(at.model, at.v[None], linear.states, (linear.A, linear.C), ends, again)
    findings = [
        *_acceleration_findings(at, rates_among(linear.states[kept], at.model.nv), linear),
        *linear_validity.spin_findings(at.model, at.q, at.v),
        *linear_validity.doubts([(at.model, at.q, at.v)]),
        *linear_validity.steadiness_findings(at, held=ends.inputs.held),
        *linear_validity.changing_findings(at),
        *linear_validity.switching_findings(at.model, at.q[None], at.v[None]),
    ]
    if findings:
        warn(findings)
    A, B, C, D = linear.A[0][np.ix_(kept, kept)], linear.B[0][kept], linear.C[0][:, kept], linear.D[0]
    named, about = [ends.states[k] for k in linear.states[kept]], at.values_by_name()
    matrices, states = ends.with_paths(at.model, (A, B, C, D), named)
    return named_system(matrices, states, ends.inputs.signals, ends.output_signals, at.model.name, operating_point=about)


class Ends(NamedTuple):
    """The signals of a linear model: its inputs, outputs and states.

    - `states`: all states of the model, in the order of ``[dq; dv; dx]``;
    - `omitted`: entries of the states to leave out;
    - `has_paths`: whether a device of the model has a path.
    """

    inputs: SystemInputs
    outputs: tuple[SystemOutputs, ...]
    states: tuple[Signal, ...]
    omitted: Array
    has_paths: bool

    @property
    def output_signals(self) -> tuple[Signal, ...]:
        """Paths and units of the outputs."""
        return tuple(signal for group in self.outputs for signal in group.signals)

    def with_paths(
        self, model: Model, matrices: Stacked, states: Sequence[Signal], before: int = 0
    ) -> tuple[Stacked, Sequence[Signal]]:
        """Return matrices with the delays and noise of the devices' paths, and their states; see `with_paths`."""
        if not self.has_paths:
            return matrices, states
        return with_paths(model, matrices, states, self.inputs.signals, self.output_signals, before)


def read_ends(model: Model, at: AtState, inputs: Any, outputs: Any, omit: Any, hold: Any) -> Ends:
    """Return the signals of some names; see `linearize`, and `read_outputs` for `at`.

    They are stored by the names, in common for all models of a structure, unless outputs depend on parameters.

    Raises `ModelError` for unknown names.
    """
    key, known = tuple(map(_as_key, (inputs, outputs, omit, hold))), model.mechanism.ends
    if (ends := known.get(key)) is not None:  # another thread may clear what is stored
        return ends
    system_inputs = SystemInputs(model, inputs, hold, states=True)
    system_outputs = read_outputs(model, outputs, system_inputs, at)
    states = state_signals(model)
    if system_inputs.displaced:
        states = tuple(Signal(f"{path}.remainder", unit) for path, unit in states)
    assembly = model.mechanism.assembly
    has_paths = any(device.path is not None for device in (*assembly.actuators, *assembly.sensors))
    ends = Ends(system_inputs, system_outputs, states, read_omitted(model, omit), has_paths)
    weighed = any(group.of is not None and group.of.kind in DEPENDENT for group in system_outputs)
    if None not in key and not weighed:
        if len(known) == _MOST_KNOWN:
            known.clear()
        known[key] = ends
    return ends


def _as_key(names: Any) -> tuple[str, ...] | None:
    names = [names] if isinstance(names, str) else names
    return tuple(names) if isinstance(names, list | tuple) and all(isinstance(name, str) for name in names) else None


def rates_among(states: Array, nv: int) -> Array:
    """Return the entries of v whose rates are among the states, given as entries of ``[dq; dv; dx]``."""
    return states[(states >= nv) & (states < 2 * nv)] - nv


def read_omitted(model: Model, omit: Any) -> Array:
    """Return the entries of ``[dq; dv; dx]`` of some names: coordinates, or with ``.q`` and ``.v`` only a part of their states.

    Raises `ModelError` for unknown names.
    """
    nv = model.nv
    starts = {Kind.POSITION: (0,), Kind.RATE: (nv,), Kind.STATE: (0, nv), Kind.OWN_STATE: (2 * nv,)}
    found = [read_name(model, STATE, name) for name in read_names("omit", omit)]
    entries = [start + k for of in found for start in starts[of.kind] for k in of.entries]
    return np.unique(np.array(entries, dtype=int))


def kept_states(
    model: Model,
    v: Array,
    states: Array,
    matrices: tuple[Array, Array],
    ends: Ends,
    nearby: Callable[[Array], Sequence[tuple[Array, Array]]],
) -> Array:
    """Return the positions of the states that remain, at all stacked points.

    Stiff and soft coordinates occur together, so that the size of an entry does not tell whether it is zero. A small one is
    computed again at points nearby, within the error of an equilibrium. If it is rounding, or an effect of the point's error,
    it changes by its own size; a real dependence does not. What turns leaves rounding of the squares of its rate, the same at
    all points; that is rounding beside the fastest of them.

    `matrices` are A (n, x, x) and C (n, outputs, x) at points with rates `v` (n, nv), `states` (x) entries of ``[dq; dv; dx]``;
    `nearby` gives the same matrices next to some of the points, by their indices (m), several times.

    Raises `ModelError` naming the state or output that depends on an omitted state, and entries to omit that are not states.
    """
    signals, strange = ends.states, np.setdiff1d(ends.omitted, states)
    if strange.size:
        path = signals[strange[0]].path
        raise ModelError(Finding("no-state", "omit", path, "a state of the model", "it is held, or follows from others"))
    out = np.isin(states, ends.omitted)
    kept = np.flatnonzero(~out)
    names = [signals[k].path for k in states[kept]]
    outputs = [signal.path for signal in ends.output_signals]
    rows = matrices[0][:, kept], matrices[1]
    turned = _roundings_of_turning(model, v, states, ends)
    judged = (_judge(part, out, least) for part, least in zip(rows, (turned[0][kept], turned[1]), strict=True))
    depends, open_ = (list(parts) for parts in zip(*judged, strict=True))
    again = np.flatnonzero(open_[0].any(axis=(1, 2)) | open_[1].any(axis=(1, 2)))
    if again.size:
        others = [(A[:, kept], C) for A, C in nearby(again)]
        for k, part in enumerate(rows):
            changes = np.max([np.abs(other[k] - part[again]) for other in others], axis=0)
            depends[k][again] |= open_[k][again] & (np.abs(part[again]) > _CHANGES * changes)
    for found, kind, who in zip(depends, ("rate of state", "output"), (names, outputs), strict=True):
        if found.any():
            _, row, column = (int(x[0]) for x in np.nonzero(found))
            path = signals[states[column]].path
            advice = f"the {kind} {who[row]!r} depends on {path!r}: keep it"
            coordinate, end = split_end(path)
            if end == "v":
                advice += f", or omit {coordinate + '.q'!r} alone"
            raise ModelError(Finding("not-omissible", "omit", path, "a coordinate on which nothing depends", advice))
    return kept


def _roundings_of_turning(model: Model, v: Array, states: Array, ends: Ends) -> tuple[Array, Array]:
    """Return the rounding (x, x; outputs, x) in derivatives by coordinates of what turns as fast as rates v (n, nv)."""
    nv, scale = model.nv, model.mechanism.scale
    rate = float(np.abs(rotational_rates(model, v) / scale.coordinates).max(initial=0.0))
    by_state, of_outputs, over = np.zeros(len(ends.states)), np.zeros(len(ends.output_signals)), np.zeros(len(ends.states))
    if rate:
        at = scale.at_rate(rate)
        by_state[nv : 2 * nv], over[:nv] = at.accelerations, FEW_ROUNDINGS / at.coordinates
        of_outputs[:] = [at.of_unit(signal.unit) for signal in ends.output_signals]
    return np.outer(by_state[states], over[states]), np.outer(of_outputs, over[states])


def _judge(rows: Array, out: Array, rounding: Array) -> tuple[Array, Array]:
    """Return which entries of omitted columns are dependences, and which have to be checked again."""
    sizes = np.abs(rows)
    beside = sizes.max(axis=2, keepdims=True, initial=0.0)
    small = sizes <= np.maximum(SAME * beside + EXACT * sizes.max(initial=0.0), rounding)
    return ~small & out, small & out & (sizes > np.maximum(FEW_ROUNDINGS * beside, rounding))


def _acceleration_findings(point: OperatingPoint, rates: Array, linear: LinearEquations) -> Iterator[Finding]:
    """Yield a finding if coordinates (`rates` are entries of v) accelerate, now or while the reference moves."""
    both = linear.a[0] - point.a, linear.drift[0]
    away = linear_validity.excess(point, *both, linear.of_first)
    for what, values, parts in zip(("accelerated", "accelerated ever more"), both, away, strict=True):
        if parts[rates].max(initial=0.0) > 1:
            worst = rates[int(parts[rates].argmax())]
            where, acceleration = f"point: {point.model.coordinate_names[worst]}", f"{what} by {values[worst]:.3g}"
            held = "or hold it by efforts, (q, v, m.inverse_dynamics(q, v, 0 * v))"
            advice = f"find an equilibrium with tt.trim, {held}; this model holds for short times only"
            yield Finding("no-equilibrium", where, acceleration, "no acceleration", advice)
            return
