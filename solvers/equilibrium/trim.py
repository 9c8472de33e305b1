"""Equilibria, at rest and moving."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

from titop.blocks.basics.errors import ConvergenceError, Finding, warn
from titop.blocks.basics.user_input import read_count, read_number
from titop.solvers.arguments.reading import read_mapping
from titop.solvers.constraints.interaction_loads import refuse_pushing
from titop.solvers.equilibrium.equations import stands
from titop.solvers.equilibrium.linear_validity import doubts, spin_findings
from titop.solvers.equilibrium.newton import Course
from titop.solvers.equilibrium.operating_point import OperatingPoint
from titop.solvers.equilibrium.search import search
from titop.solvers.equilibrium.settling import Settling, can_settle, nothing_found, raise_loads, refuse_preference
from titop.solvers.equilibrium.unknowns import TrimUnknowns, is_open_guess, with_dependents
from titop.solvers.model.model import Model, read_model
from titop.solvers.model.sections import overlaps
from titop.solvers.signals.grammar import COORDINATE, read_name, read_names

#: Newton steps under the full load before the load is raised in steps.
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
    accelerating: Sequence[str] | str = (),
) -> OperatingPoint:
    """Find an equilibrium: a state that persists, at rest, moving at constant rates or with constant accelerations.

    Systems with a shape of their own (rods, springs) may need a detour: if Newton's method under the whole load fails, or
    strays to an unstable equilibrium (without a guess `q`: moves to one), loads are raised from zero in steps. If these
    equilibria end before the whole load, by snap-through or buckling, a warning says where, and another equilibrium is
    returned. `equilibrium_path` follows them further.

    At a moving equilibrium the accelerations are zero in the coordinates' own sense (the body-frame twist of a free joint is
    constant), and remain zero while the configuration moves: steady spin, uniform motion, steady turns. Coordinates that do not
    influence the dynamics may drift. Loads that only disturb (`Block.disturbances`), such as a wheel's jitter, are left out.

    At an equilibrium that accelerates, as under thrust, some coordinates have constant accelerations, all others rest or
    move as above: in a frame that moves along, gravity opposite to the acceleration would take its place. Nothing may depend
    on how far and how fast the system has come: not on friction of the ground, and not on the rate of a rotation, whose
    gyroscopic and centrifugal efforts grow. A rotation may accelerate if these do not matter, as of a balanced wheel on a fixed
    axis.

    Parameters
    ----------
    model : Model
    unknowns : sequence of str, optional
        The quantities to find: coordinates ``"hinge"`` (a joint's name stands for all of its coordinates), rates ``"hinge.v"``,
        accelerations ``"base.z.a"``, efforts ``"hinge.tau"``, actuators or their inputs, parameters ``"slider.mass"``. All
        coordinates by default, but those that accelerate. All other quantities are fixed; positions of free joints are measured
        along the axes of their bodies in the guess. If the guess does not close the loops, the coordinates that close them are
        unknowns too. To hold a pose, name the efforts alone, or write ``tt.OperatingPoint(m, q, tau=m.gravity_effects(q))``.
    q : (nq,) array or mapping of joint or coordinate name to value, optional
        Guess of the unknown coordinates and values of the fixed ones; neutral by default.
    v : (nv,) array or mapping, optional
        The same for rates.
    tau : (nv,) array or mapping of joint or coordinate name to number, optional
        The same for efforts.
    u : (nu,) array or mapping of input name to number, optional
        The same for inputs of actuators and blocks.
    wrenches : mapping of port name to (6,), optional
        External wrenches, in the ports' frames.
    parameters : mapping of name to number, optional
        Parameters to change first: values, and guesses of the unknown ones.
    bounds : mapping of unknown to (lower, upper), optional
        By default inputs are bounded by their actuators' ranges.
    tolerance : float
        Relative tolerance of the equations, in parts of what each unknown of its own size contributes to them. That size is at
        least a radian, the system's size, or an effort that moves the system so far in the time of a fall or turn by as much.
    max_iterations : int
        Largest number of Newton steps, and then of evaluations by a trust-region method.
    prefer : {None, "stable"}
        ``"stable"`` excludes equilibria whose motions grow. It finds the one at which the system comes to rest when it creeps,
        as if in honey, from the guess, or else from the unstable equilibrium after a small push. Requires a system at rest
        whose only unknowns are coordinates.
    x : (nx,) array or mapping of state name to number, optional
        Guess of the first-order states; zero by default. They are found such that their rates are zero. A state whose rate
        does not depend on it follows the coordinates from the guess, as if they moved slowly: a sticking bristle
        bends by its slip, an integrator of inputs keeps its value.
    accelerating : sequence of str, optional
        Joints and coordinates whose accelerations are unknowns too. A joint with displacements stands for these: name
        rotations one by one.

    Returns
    -------
    OperatingPoint
        With the unknowns that are free, and the conditions that do not depend on the unknowns. With more unknowns than the
        equations determine, it is the equilibrium close to the guess.

    Raises
    ------
    ModelError
        For unknown names, unusable values and bounds.
    ConvergenceError
        If no equilibrium is found near the guess, with the smallest residual and where it occurs. If a stable equilibrium is
        preferred and none is found; `found` of the error is then the unstable one.

    Warns
    -----
    ModelWarning
        For spinning flexible bodies without geometric stiffness; where an interaction's law is doubtful; if the search has
        strayed to an unstable equilibrium that is not the one closest to the guess, and creeping leads elsewhere.

    Notes
    -----
    Each iteration costs one linearisation; parameters, and the condition along the motion, take some evaluations of the
    dynamics for each unknown.
    For friction of contacts with bristles, start from a state with known bristles: the end of a simulation with its
    x, or a guess at the depth of rest.

    For mechanisms without a shape of their own, with all coordinates unknown and no equilibrium at rest near the
    guess, the system creeps along its accelerations until it is at rest: hanging chains are found from any guess.

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

    A stage of 2 kg under a thrust of 30 N, in weightlessness:

    >>> s = tt.System("stage", gravity=[0, 0, 0])
    >>> stage = tt.RigidBody("stage", mass=2.0, inertia=1.0)
    >>> s.connect("world", stage, joint=tt.Free("base"))
    >>> s.add_load(tt.Load("thrust", stage, force=[0, 0, 30.0]))
    >>> tt.trim(s.resolve(), accelerating="base").a.round(6).tolist()
    [0.0, 0.0, 15.0, 0.0, 0.0, 0.0]
    """
    guess = read_guess(model, q, v, tau, u, wrenches, parameters, x)
    tolerance = read_tolerance(tolerance)
    max_iterations = read_steps("max_iterations", max_iterations, "unknowns=[] only looks whether the guess is an equilibrium")
    unknowns = _with_accelerations(model, unknowns, accelerating)
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
    q, v = point.q, point.v
    warn([*spin_findings(point.model, q, v), *overlaps(point.model, q[None]), *doubts([(point.model, q, v)])])
    return point.of(model)


def _with_accelerations(model: Model, unknowns: Any, accelerating: Any) -> Any:
    """Return the names of unknowns with the accelerations of some joints and coordinates."""
    names, accelerations = list(model.coordinate_names), list[str]()
    for name in read_names("accelerating", accelerating):
        of = read_name(model, COORDINATE, name, "accelerating")
        units = [model.mechanism.assembly.coordinate_units[k] for k in of.entries]
        names = [path for path in names if path not in of.paths]
        accelerations += [f"{path}.a" for path, unit in zip(of.paths, units, strict=True) if unit == "m" or "m" not in units]
    return [*(names if unknowns is None else read_names("unknowns", unknowns)), *accelerations] if accelerations else unknowns


def _under_loads(
    sought: TrimUnknowns,
    find: Callable[..., OperatingPoint],
    settling: Settling,
    course: Course,
    is_guessed: bool,
    prefer: str | None,
) -> OperatingPoint:
    """Return the equilibrium of a system at rest with all coordinates unknown.

    Newton's method under the whole load comes first. If it fails, or strays to an unstable equilibrium, loads are raised in
    steps. If the steps end before the whole load, an equilibrium is searched from the guess, and returned with a warning.
    Systems without a shape of their own are searched from the guess (this search is recorded in `course`), or creep.
    """

    def near(unknowns: TrimUnknowns, course: Course) -> OperatingPoint:
        return find(unknowns, max_iterations=min(_DIRECT, settling.steps), course=course, wider=False)

    def anywhere(course: Course) -> OperatingPoint:
        try:
            return find(sought, course=course)
        except ConvergenceError:
            with nothing_found():  # the error of the search from the guess is more helpful
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
        warn([Finding("other-branch", "trim", value, f"a connected one, but {ended}", advice)])
        return other
    return anywhere(course) if raised is None else raised


def read_guess(model: Any, q: Any, v: Any, tau: Any, u: Any, wrenches: Any, parameters: Any, x: Any = None) -> OperatingPoint:
    """Return the point at which a search starts, undisturbed. Raises `ModelError` for unusable values."""
    read_model(model)
    changes = dict(read_mapping("parameters", parameters or {}))
    if changes:
        model = model.with_parameters(changes)
    q = model.neutral() if q is None else model.configuration(q) if isinstance(q, Mapping) else q
    v = model.velocity(v) if isinstance(v, Mapping) else v
    tau = model.velocity(tau) if isinstance(tau, Mapping) else tau
    point = OperatingPoint(model, q, v, tau, u, wrenches, changes, x=x)
    refuse_pushing(model.mechanism, point.u)
    return point.undisturbed


def read_tolerance(tolerance: Any) -> float:
    """Return a tolerance. Raises `ModelError` if it is unusable."""
    wrong = Finding("bad-tolerance", "tolerance", tolerance, "a number between 0 and 1", "1e-9 suits most systems")
    return read_number(wrong, lambda x: 0 < x < 1)


def read_steps(name: str, count: Any, advice: str = "count the steps") -> int:
    """Return a number of steps. Raises `ModelError` if it is unusable."""
    return read_count(Finding("wrong-type", name, count, "a whole number, 1 or more", advice), 1)
