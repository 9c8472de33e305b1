"""Equilibria, at rest and moving."""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping, Sequence
from contextlib import suppress
from typing import Any

import numpy as np

from titop.blocks.basics.errors import ConvergenceError, Finding, ModelError, warn
from titop.blocks.basics.spatial import Array
from titop.blocks.basics.user_input import real_array
from titop.solvers.arguments.one_sided import refuse_pushing
from titop.solvers.arguments.reading import read_mapping
from titop.solvers.equilibrium.creeping import crept
from titop.solvers.equilibrium.dependents import is_open_guess, with_dependents
from titop.solvers.equilibrium.description import described
from titop.solvers.equilibrium.effort_balance import Balance
from titop.solvers.equilibrium.equations import Motion, equations, excess
from titop.solvers.equilibrium.load_steps import Search, can_be_stepped, stands, stepped
from titop.solvers.equilibrium.operating_point import OperatingPoint
from titop.solvers.equilibrium.refusals import refuse_passing, refuse_residual
from titop.solvers.equilibrium.resting_states import refuse_changing
from titop.solvers.equilibrium.root_search import Course, newton, trust_region
from titop.solvers.equilibrium.settling import Settling, can_settle, refuse_preference, strayed_findings, to_stable
from titop.solvers.equilibrium.spinning import spin_findings
from titop.solvers.equilibrium.unknowns import Unknown, Unknowns
from titop.solvers.model.model import Model, read_model
from titop.solvers.model.sections import overlaps
from titop.solvers.signals.quantities import Kind

#: Longest step of a coordinate (rad, or m for a system of size one), or in parts of its guess of a parameter by which equations
#: bend: longer ones lead to far equilibria.
_REACH = 0.5

#: Newton steps under the full load before it is raised in steps.
_DIRECT = 25


def trim(
    model: Model,
    unknowns: Sequence[str] | str | None = None,
    q: Any = None,
    v: Any = None,
    tau: Any = None,
    u: Any = None,
    wrenches: Mapping[str, Any] | None = None,
    parameters: Mapping[str, float] | None = None,
    bounds: Mapping[str, Any] | None = None,
    tolerance: float = 1e-9,
    max_iterations: int = 200,
    prefer: str | None = None,
    x: Any = None,
) -> OperatingPoint:
    """Find an equilibrium: a state that lasts, at rest or moving at constant rates.

    Where a shape is kept without loads (rods, springs), they are raised from nothing in steps if Newton's method under the
    whole load finds nothing, or strays to (without a guess `q`: moves to) an equilibrium that does not stand. A warning tells
    where those of the steps end before the whole load, by snapping through or buckling, and another one is returned.
    `equilibrium_path` follows them further.

    At a moving equilibrium the accelerations are zero in the coordinates' own sense (the body-frame twist of a free joint is
    constant), and remain so while the configuration moves: steady spin, uniform motion, steady turns. What does not influence
    the dynamics may drift.

    Parameters
    ----------
    model : Model
    unknowns : sequence of str, optional
        What may change: coordinates ``"hinge"`` (a joint's name stands for all of its own), rates ``"hinge.v"``, efforts
        ``"hinge.tau"``, actuators or their inputs, parameters ``"slider.mass"``. All coordinates by default. The rest stays;
        positions of free joints are those along the axes of their bodies in the guess. Where the guess leaves loops open,
        coordinates that close them are unknowns in any case.
    q : (nq,) array or mapping of joint or coordinate name to value, optional
        Guess of the unknown and values of the fixed coordinates; neutral by default.
    v : (nv,) array or mapping, optional
        The same for rates.
    tau : (nv,) array or mapping of joint or coordinate name to number, optional
        The same for efforts.
    u : (nu,) array or mapping of input name to number, optional
        The same for inputs of actuators and blocks.
    wrenches : mapping of port name to (6,), optional
        External wrenches, in the ports' frames.
    parameters : mapping of name to number, optional
        Parameters to change before: values, and guesses of the unknown ones.
    bounds : mapping of unknown to (lower, upper), optional
        Inputs stay in their actuators' ranges when nothing else is said.
    tolerance : float
        How exactly the equations hold, in parts of what the unknowns' own size contributes to them; that is at least a radian,
        the system's size, or what moves it by as much within the time in which it would fall or turn so far.
    max_iterations : int
        Steps of Newton's method, and evaluations of the equations by the trust region that follows, at most.
    prefer : {None, "stable"}
        ``"stable"``: not an equilibrium whose motions grow, but the one at which the system comes to rest from the guess when
        it creeps, as if in honey, or from the unstable one found, pushed aside a little. Only coordinates may be unknown, of a
        system at rest.
    x : (nx,) array or mapping of state name to number, optional
        Guess of the states of the first order; zero by default. They are found so that they rest. One whose rate does not
        depend on it there follows the coordinates on the way from the guess, as if they moved slowly: a bristle that sticks
        bends by what it slips, an integrator of inputs stays.

    Returns
    -------
    OperatingPoint
        Says also which unknowns are free and which conditions do not depend on them. With more unknowns than the equations
        determine, the equilibrium near the guess is returned.

    Raises
    ------
    ModelError
        For unknown names, unusable values and bounds.
    ConvergenceError
        When there is no equilibrium near the guess: with the smallest residual found, and where it is left. When none is found
        that does not grow, and such a one is preferred: the unstable one is `found` of the error.

    Warns
    -----
    ModelWarning
        For flexible bodies without geometric stiffness that spin; where an unstable equilibrium is returned that is not the one
        next to the guess: the search has strayed to it, and creeping from the guess leads elsewhere.

    Notes
    -----
    Each iteration costs one linearisation; parameters, and the condition along the motion, some evaluations of the dynamics for
    each unknown.

    What friction holds in contacts with bristles is found from where they push about as they will: a simulation's end with its
    x, or a guess at the depth at which it rests.

    Of mechanisms that keep no shape by themselves, where all coordinates are sought and no equilibrium at rest is near the
    guess, the system creeps with its accelerations to where it comes to rest: chains find from any guess how they hang.

    Examples
    --------
    >>> import titop as tt
    >>> s = tt.System("swing", gravity=[0, 0, -9.81])
    >>> s.connect("world", tt.RigidBody("bob", mass=2.0, com=[0, 0, -1]), joint=tt.Revolute("hinge", axis=[0, 1, 0]))
    >>> m = s.resolve()
    >>> tt.trim(m, q={"hinge": 3.0}).stability
    'unstable'
    >>> tt.trim(m, q={"hinge": 3.0}, prefer="stable").stability
    'neutral'
    >>> hanging = tt.trim(m, ["hinge.tau"], q={"hinge": 0.5})
    >>> round(float(hanging.tau[0]), 6)  # 2 kg * 9.81 m/s^2 * sin(0.5) m
    9.406329
    """
    guess = read_guess(model, q, v, tau, u, wrenches, parameters, x)
    tolerance, max_iterations = read_tolerance(tolerance), _read_iterations(max_iterations)
    searched = Unknowns(guess, unknowns)
    if unknowns is not None and searched.entries and is_open_guess(guess):
        searched = Unknowns(guess, with_dependents(guess, searched.entries))
    refuse_preference(prefer, searched)
    limits, course = searched.bounds(bounds), Course()

    def anywhere(course: Course) -> OperatingPoint:
        return search(searched, limits, tolerance, max_iterations, course=course)

    def creep(start: Unknowns) -> Unknowns:
        return Unknowns(crept(start, max_iterations), start.entries, axes=start.axes)

    def beside(start: Unknowns) -> OperatingPoint:
        return search(start, start.bounds(bounds), tolerance, max_iterations)

    def anywhere_or_crept(course: Course) -> OperatingPoint:
        try:
            return anywhere(course)
        except ConvergenceError:
            with suppress(ConvergenceError, ModelError):  # the error of the search from the guess says more
                return settling.from_guess(searched, rounds=1)
            raise

    def near(unknowns: Unknowns, course: Course) -> OperatingPoint:
        most = min(_DIRECT, max_iterations)
        return search(unknowns, unknowns.bounds(bounds), tolerance, most, course=course, wider=False)

    settling = Settling(creep, beside)
    if can_be_stepped(searched):
        beyond, farther = (anywhere, '; or ask for prefer="stable"') if prefer is None else (anywhere_or_crept, "")
        point = _found_near(searched, near, q is not None)
        point = point or _found_in_steps(searched, near, lambda: beyond(Course()), lambda: anywhere_or_crept(course), farther)
    else:
        point = anywhere(course)
    if prefer == "stable":
        point = to_stable(point, searched, settling)
    elif course.strayed and can_settle(searched):
        warn(strayed_findings(point, searched, settling))
    warn([*spin_findings(point.model, point.q, point.v), *overlaps(point.model, point.q[None])])
    return point


def _found_near(unknowns: Unknowns, near: Search, guessed: bool) -> OperatingPoint | None:
    """Return what Newton's method finds under the full load; None if nothing, or what does not stand and nobody guessed."""
    course = Course()
    try:
        point = near(unknowns, course)
    except ConvergenceError:
        return None
    went_off = course.strayed if guessed else course.moved
    return None if went_off and not stands(point) else point


def _found_in_steps(
    unknowns: Unknowns,
    near: Search,
    beyond: Callable[[], OperatingPoint],
    shapeless: Callable[[], OperatingPoint],
    farther: str,
) -> OperatingPoint:
    """Return what raising the loads leads to; where that ends, what is found `beyond`, or advice with `farther` at its end.

    Systems that keep no shape without loads take what `shapeless` finds.
    """
    try:
        point = stepped(unknowns, near)
    except ConvergenceError as ended:
        try:
            other = beyond()
        except ConvergenceError as error:
            raise ConvergenceError(f"{error}; {ended}{farther}") from None
        advice = "start from a guess next to the equilibrium that is meant"
        advice += ', or ask for prefer="stable"' if len(other.growing) else ""
        value = f"an equilibrium, {other.stability}, that raising the loads does not lead to"
        warn([Finding("other-branch", "trim", value, f"a connected one, but {ended}", advice)], stacklevel=4)
        return other
    return shapeless() if point is None else point


def search(
    unknowns: Unknowns,
    bounds: tuple[Array, Array],
    tolerance: float = 1e-9,
    max_iterations: int = 200,
    start: Array | None = None,
    course: Course | None = None,
    wider: bool = True,
) -> OperatingPoint:
    """Return the equilibrium found from a start (that of the guess by default), and write down the course of the search.

    Newton steps of least norm come first; where they end without an equilibrium, and it may search `wider`, scipy's trust
    region takes over. They begin at the guess where the start is none, as with a mass below zero.

    Raises
    ------
    ConvergenceError
        When there is none.
    """
    bodies = unknowns.guess.model.own_coordinates
    moving = bool(unknowns.guess.v.any()) or bool(unknowns.select(Kind.RATE)[0])
    x = np.clip(np.zeros(len(unknowns.entries)) if start is None else start, *bounds)
    motion = Motion(unknowns, moving, bounds)
    if start is not None and not np.isfinite(motion.residual(x)).all():
        x = np.clip(np.zeros(len(x)), *bounds)
    reach = np.array([_REACH if _is_bounded(entry, bodies) else np.inf for entry in unknowns.entries])
    straight = np.where([entry.kind == Kind.PARAMETER for entry in unknowns.entries], np.inf, reach)
    if len(x) and not moving:
        x = _balanced(Balance(unknowns, bounds), x, bounds, (reach, straight), max_iterations, course)
    elif len(x):
        x = newton(motion.residual, motion.derivatives, x, bounds, reach, max_iterations, course, straight)
    by_x = motion.derivatives(x)
    left = excess(unknowns, x, moving, motion.residual(x), by_x, tolerance)
    if wider and (left > 1).any():
        if course is not None:
            course.strayed = True
        x = trust_region(motion.residual, motion.derivatives, x, bounds, max_iterations)
        x = newton(motion.residual, motion.derivatives, x, bounds, reach, max_iterations, straight=straight)
        by_x = motion.derivatives(x)
        left = excess(unknowns, x, moving, motion.residual(x), by_x, tolerance)
    point = unknowns.at(x)
    refuse_residual(point, equations(point, moving, unknowns.sizes), left, unknowns, x, bounds)
    refuse_passing(point, by_x, tolerance, unknowns)
    refuse_changing(point, unknowns.sizes, tolerance)
    return described(point, by_x, unknowns)


def _balanced(
    balance: Balance,
    x: Array,
    bounds: tuple[Array, Array],
    longest: tuple[Array, Array],
    iterations: int,
    course: Course | None,
) -> Array:
    """Return the end of Newton steps to where efforts balance; multipliers go as far as they like.

    `longest` are the longest changes of each unknown in a step, and in one along which the equations are straight.
    """
    anything = np.full(balance.held, np.inf)
    limits = np.append(bounds[0], -anything), np.append(bounds[1], anything)
    reach, straight = (np.append(each, anything) for each in longest)
    start, lengths = balance.begin(x), balance.lengths(len(x))
    return newton(balance.residual, balance.derivatives, start, limits, reach, iterations, course, straight, lengths)[: len(x)]


def _is_bounded(entry: Unknown, bodies: Container[str]) -> bool:
    """Tell whether steps of an unknown are: not those of deformations, whose stiffness bounds them."""
    return entry.kind == Kind.PARAMETER or (entry.kind == Kind.POSITION and entry.name not in bodies)


def read_guess(model: Any, q: Any, v: Any, tau: Any, u: Any, wrenches: Any, parameters: Any, x: Any = None) -> OperatingPoint:
    """Return the point from which a search starts.

    Raises
    ------
    ModelError
        For unusable values.
    """
    read_model(model)
    changes = dict(read_mapping("parameters", parameters or {}))
    if changes:
        model = model.with_parameters(changes)
    q = model.neutral() if q is None else model.configuration(q) if isinstance(q, Mapping) else q
    v = model.velocity(v) if isinstance(v, Mapping) else v
    tau = model.velocity(tau) if isinstance(tau, Mapping) else tau
    point = OperatingPoint(model, q, v, tau, u, wrenches, changes, x=x)
    refuse_pushing(model, point.u)
    return point


def read_tolerance(tolerance: Any) -> float:
    """Return a tolerance.

    Raises
    ------
    ModelError
        If it is none.
    """
    number = real_array(tolerance)
    if number is None or number.shape != () or not 0 < number < 1:
        raise ModelError(
            Finding("bad-tolerance", "tolerance", tolerance, "a number between 0 and 1", "1e-9 suits most systems")
        )
    return float(number)


def _read_iterations(iterations: Any) -> int:
    if not isinstance(iterations, int) or isinstance(iterations, bool) or iterations < 1:
        advice = "unknowns=[] only looks whether the guess is an equilibrium"
        raise ModelError(Finding("wrong-type", "max_iterations", iterations, "a whole number, 1 or more", advice))
    return iterations
