"""Equilibria, at rest and moving."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

from titop.blocks.basics.errors import ConvergenceError, Finding, ModelError, warn
from titop.blocks.basics.user_input import real_array
from titop.solvers.arguments.one_sided import refuse_pushing
from titop.solvers.arguments.reading import read_mapping
from titop.solvers.equilibrium.linear_validity import spin_findings
from titop.solvers.equilibrium.newton import Course
from titop.solvers.equilibrium.operating_point import OperatingPoint
from titop.solvers.equilibrium.search import search
from titop.solvers.equilibrium.settling import Settling, can_settle, nothing_found, raise_loads, refuse_preference
from titop.solvers.equilibrium.stiffness import stands
from titop.solvers.equilibrium.unknowns import TrimUnknowns, is_open_guess, with_dependents
from titop.solvers.model.model import Model, read_model
from titop.solvers.model.sections import overlaps

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
    tolerance = read_tolerance(tolerance)
    max_iterations = read_count("max_iterations", max_iterations, "unknowns=[] only looks whether the guess is an equilibrium")
    sought = TrimUnknowns(guess, unknowns)
    if unknowns is not None and sought.entries and is_open_guess(guess):
        sought = TrimUnknowns(guess, with_dependents(guess, sought.entries))
    refuse_preference(prefer, sought)
    find = partial(search, bounds=bounds, tolerance=tolerance, max_iterations=max_iterations)
    settling, course = Settling(max_iterations, find), Course()
    if sought.are_all_coordinates and not guess.v.any():
        point = _under_loads(sought, find, settling, course, q is not None, prefer)
    else:
        point = find(sought, course=course)
    if prefer == "stable":
        point = settling.to_stable(point, sought)
    elif course.strayed and can_settle(sought):
        warn(settling.strayed_findings(point, sought))
    warn([*spin_findings(point.model, point.q, point.v), *overlaps(point.model, point.q[None])])
    return point


def _under_loads(
    sought: TrimUnknowns,
    find: Callable[..., OperatingPoint],
    settling: Settling,
    course: Course,
    is_guessed: bool,
    prefer: str | None,
) -> OperatingPoint:
    """Return the equilibrium of a system at rest of which all coordinates are sought.

    Newton's method under the whole load comes first. If it finds nothing, or strays to an equilibrium that does not stand,
    loads are raised in steps. If the steps end before the whole load, an equilibrium is searched from the guess, and returned
    with a warning. Systems that keep no shape without loads are searched from the guess (this `course` is written down), or
    creep.
    """

    def near(unknowns: TrimUnknowns, course: Course) -> OperatingPoint:
        return find(unknowns, max_iterations=min(_DIRECT, settling.steps), course=course, wider=False)

    def anywhere(course: Course) -> OperatingPoint:
        try:
            return find(sought, course=course)
        except ConvergenceError:
            with nothing_found():  # the error of the search from the guess says more
                return settling.from_guess(sought, rounds=1)
            raise

    direct = Course()
    with suppress(ConvergenceError):
        point = near(sought, direct)
        if not (direct.strayed if is_guessed else direct.moved) or stands(point):
            return point
    try:
        raised = raise_loads(sought, near)
    except ConvergenceError as ended:
        try:
            other = find(sought) if prefer is None else anywhere(Course())
        except ConvergenceError as error:
            farther = '; or ask for prefer="stable"' if prefer is None else ""
            raise ConvergenceError(f"{error}; {ended}{farther}") from None
        advice = "start from a guess next to the equilibrium that is meant"
        advice += ', or ask for prefer="stable"' if len(other.growing) else ""
        value = f"an equilibrium, {other.stability}, that raising the loads does not lead to"
        warn([Finding("other-branch", "trim", value, f"a connected one, but {ended}", advice)], stacklevel=4)
        return other
    return anywhere(course) if raised is None else raised


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
    refuse_pushing(model.mechanism, point.u)
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


def read_count(name: str, count: Any, advice: str = "count the steps") -> int:
    """Return a number of steps.

    Raises
    ------
    ModelError
        If it is none.
    """
    if not isinstance(count, int) or isinstance(count, bool) or count < 1:
        raise ModelError(Finding("wrong-type", name, count, "a whole number, 1 or more", advice))
    return count
