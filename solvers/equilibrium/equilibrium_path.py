"""Equilibria while loads grow, past limit points."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

import numpy as np

from titop.blocks.basics.errors import ConvergenceError, Finding, ModelError, did_you_mean, warn
from titop.blocks.basics.notebook import attributes_page
from titop.blocks.basics.spatial import Array
from titop.blocks.basics.user_input import is_finite, read_array, read_number
from titop.solvers.arguments.reading import read_mapping
from titop.solvers.constraints.interaction_loads import one_sided_inputs, refuse_pushing
from titop.solvers.equilibrium.continuation import single_unknown, value_of, values_of
from titop.solvers.equilibrium.curve import KINDS, Curve, Station, steps_along
from titop.solvers.equilibrium.linear_validity import doubts
from titop.solvers.equilibrium.operating_point import OperatingPoint
from titop.solvers.equilibrium.search import search
from titop.solvers.equilibrium.trim import read_guess, read_steps, read_tolerance
from titop.solvers.equilibrium.unknowns import TrimUnknowns, with_dependents
from titop.solvers.model.model import Model
from titop.solvers.support.progress import progress_bar


@dataclass(frozen=True, eq=False)
class EquilibriumPath:
    """Equilibria along a path, in order.

    Attributes
    ----------
    points : tuple of OperatingPoint
    factors : (n,) array
        Load factors.
    kinds : tuple of str
        ``""``; ``"limit"`` where the load factor turns round; ``"bifurcation"`` where a stiffness passes through zero elsewhere
        and other paths branch off; ``"flutter"`` where an oscillation begins or ceases to grow.
    complete : bool
        Whether the path was followed to its end: until the load factor left its range, or the path was closed.
    closed : bool
        Whether the path returned to its first point in the original direction, up to whole turns of angles.
    """

    points: tuple[OperatingPoint, ...]
    factors: Array
    kinds: tuple[str, ...]
    complete: bool
    closed: bool

    @property
    def q(self) -> Array:
        """Configurations (n, nq; rad or m)."""
        return np.array([point.q for point in self.points])

    @property
    def unstable(self) -> Array:
        """Numbers (n, no unit) of eigenvalues that certainly grow: one for each unstable mode, two if it oscillates."""
        return np.array([len(point.growing) for point in self.points])

    def values(self, name: str) -> Array:
        """Return a quantity's values (n,) along the path, in its own unit.

        Parameters
        ----------
        name : str
            A coordinate, a rate, an effort, an input or a parameter, as in `trim`.
        """
        return values_of(self.points, name)

    def at(self, kind: str) -> list[OperatingPoint]:
        """Return the points with an event.

        Parameters
        ----------
        kind : {"limit", "bifurcation", "flutter"}

        Raises
        ------
        ModelError
            For unknown kinds.
        """
        if kind not in KINDS:
            raise ModelError(Finding("unknown-kind", "kind", kind, " or ".join(map(repr, KINDS)), did_you_mean(kind, KINDS)))
        return [point for point, happened in zip(self.points, self.kinds, strict=True) if happened == kind]

    _repr_html_ = attributes_page

    def __str__(self) -> str:
        events = ", ".join(f"{kind} at {factor:.6g}" for kind, factor in zip(self.kinds, self.factors, strict=True) if kind)
        span = f"{self.factors[0]:.6g} to {self.factors[-1]:.6g}"
        happened = (events or "nothing turns") + (", back at the start" if self.closed else "")
        return f"{len(self.points)} equilibria of {self.points[0].model.name!r}, load factor {span}: {happened}"


def equilibrium_path(
    model: Model,
    loads: Mapping[str, Any],
    unknowns: Sequence[str] | str | None = None,
    q: Any = None,
    v: Any = None,
    tau: Any = None,
    u: Any = None,
    wrenches: Mapping[str, Any] | None = None,
    parameters: Mapping[str, float] | None = None,
    within: tuple[float, float] = (-1.0, 1.0),
    longest: float = 0.2,
    steps: int = 1000,
    tolerance: float = 1e-9,
    progress: bool = True,
) -> EquilibriumPath:
    """Follow equilibria while loads grow together, past limit points, where structures snap through.

    All loads are linear functions of one load factor, zero at the start. The factor is an unknown, and steps are measured along
    the path (pseudo-arclength, Keller 1977), with exact derivatives except those by parameters. Events, where the factor turns
    round or stability changes, are located by bisection, and their points are part of the path. A step that jumps to another
    path of different stability, as near the buckling of an imperfect structure, is shortened.

    Parameters
    ----------
    model : Model
    loads : mapping of name to (first, last)
        The quantities to change, as in `trim_along`: inputs, efforts, coordinates or parameters such as ``"push.force.z"``,
        with their values at load factors of zero and one.
    unknowns : sequence of str, optional
        As in `trim`; by default all coordinates that are not loads. Coordinates that depend on others through closures and
        gears are always unknowns.
    q, v, tau, u, wrenches, parameters, tolerance
        As in `trim`; the guess is for the start.
    within : pair of float
        Range of the load factor. The path ends where the factor leaves it, or where the path is back at its start. Inputs of
        one-sided tendons end it at zero.
    longest : float
        Longest step: the norm of the unknowns (in radians or the system's size) and the load factor. Bends shorten steps.
    steps : int
        Largest number of steps.
    progress : bool
        Show a progress bar on a terminal when it takes longer than a second.

    Returns
    -------
    EquilibriumPath

    Raises
    ------
    ModelError
        For unknown names and unusable values.
    ConvergenceError
        If no equilibrium is found at the start, or the path cannot be continued: with the load factor reached, and the
        residual; `found` of the error is the path so far.

    Warns
    -----
    ModelWarning
        If the path is still within the range after all steps; for points at which an interaction's law is doubtful.

    Notes
    -----
    Each step costs two to five linearisations, and eigenvalues. At a bifurcation the path does not change to another branch;
    add a small load that favours one side. Paths are distinguished if steps of 3e-5, measured as `longest`, distinguish them.
    Free and spherical joints may turn by less than a whole turn from the start.

    Examples
    --------
    >>> import titop as tt
    >>> s = tt.System("truss", gravity=[0, 0, 0])
    >>> apex, foot = tt.RigidBody("apex", 1.0), tt.RigidBody("foot", 1.0)
    >>> s.connect("world", apex, tt.Prismatic("drop", axis=[0, 0, -1]), tt.Pose([0, 0, 0.2]))
    >>> s.connect("world", foot, tt.Weld("ground"), tt.Pose([1, 0, 0]))
    >>> s.close_loop(apex, foot, tt.SpringDamper("bar", stiffness=1000.0, length=1.04**0.5))
    >>> s.add_load(tt.Load("push", apex, force=[0, 0, 0], frame="world"))
    >>> path = tt.equilibrium_path(s.resolve(), {"push.force.z": (0.0, -10.0)})
    >>> [round(float(-point.parameters["push.force.z"]), 4) for point in path.at("limit")]
    [1.5096, -1.5096]
    """
    guess = read_guess(model, q, v, tau, u, wrenches, parameters)
    names, first, last = _read_loads(guess, loads)
    tolerance, steps = read_tolerance(tolerance), read_steps("steps", steps)
    wrong = Finding("bad-step", "longest", longest, "a number > 0", "0.2 suits most systems")
    longest = read_number(wrong, lambda x: 0 < x < np.inf)
    if unknowns is None:
        unknowns = [name for name in model.coordinate_names if name not in names]
    begin = _point_at(guess, names, first)
    sought = TrimUnknowns(
        begin, with_dependents(begin, TrimUnknowns(begin, unknowns).entries, TrimUnknowns(begin, names).entries)
    )
    start = search(sought, None, tolerance)
    curve = Curve(start, names, sought.entries, last - first, tolerance, guess.q)
    path = _follow(curve, longest, _range(start, names, first, last, within), steps, progress)
    warn(doubts((point.model, point.q, point.v) for point in path.points))
    return replace(path, points=tuple(point.of(model) for point in path.points))


def _follow(curve: Curve, longest: float, within: tuple[float, float], steps: int, progress: bool) -> EquilibriumPath:
    start, end = curve.begin(), ""
    stations, kinds = [start], [""]
    try:
        with progress_bar(progress=progress, unit=" equilibria") as bar:
            for step in islice(steps_along(curve, start, longest, within), steps):
                stations += [*(event.station for event in step.events), step.reached]
                kinds += [*(event.kind for event in step.events), ""]
                end = step.end
                bar.set_postfix_str(f"load factor {step.reached.y[0]:.4g}", refresh=False)
                bar.update()
    except ConvergenceError as error:
        raise ConvergenceError(str(error), _path(stations, kinds, "")) from None
    if not end:
        reached = f"a load factor of {stations[-1].y[0]:.4g} after {steps} steps"
        expected, advice = f"one of {within[0]:g} or {within[1]:g}", "raise steps or longest, or narrow within"
        warn([Finding("path-goes-on", "equilibrium_path", reached, expected, advice)])
    return _path(stations, kinds, end)


def _path(stations: Sequence[Station], kinds: Sequence[str], end: str) -> EquilibriumPath:
    points, factors = tuple(station.point for station in stations), np.array([station.y[0] for station in stations])
    return EquilibriumPath(points, factors, tuple(kinds), complete=bool(end), closed=end == "closed")


def _range(start: OperatingPoint, names: Sequence[str], first: Array, last: Array, within: Any) -> tuple[float, float]:
    """Return the range of load factors, limited to those at which tendons do not push."""
    advice = "the path starts at a load factor of zero"
    wrong = Finding("bad-bounds", "within", within, "two numbers, lower <= 0 < upper", advice)
    lower, upper = read_array(wrong, lambda pair: pair.shape == (2,) and pair[0] <= 0.0 < pair[1]).tolist()
    inputs = start.model.mechanism.inputs
    least = {inputs.names[k]: inputs.lower[k] for k in one_sided_inputs(start.model.mechanism)}
    for name, begin, end in zip(names, first, last, strict=True):
        if name in least and end > begin:
            lower = max(lower, (least[name] - begin) / (end - begin))
    return lower, upper


def _read_loads(guess: OperatingPoint, loads: Any) -> tuple[list[str], Array, Array]:
    pairs = dict(read_mapping("loads", loads))
    if not pairs:
        advice = 'such as {"push.force.z": (0.0, -10.0)}'
        raise ModelError(Finding("wrong-type", "loads", loads, "a name and two values at least", advice))
    names, ends = [], []
    for name, pair in pairs.items():
        names.append(single_unknown(guess, name, "loads").names[0])
        advice = "values at load factors zero and one"
        wrong = Finding("bad-load", f"loads[{name!r}]", pair, "two different numbers", advice)
        ends.append(read_array(wrong, lambda ends: ends.shape == (2,) and is_finite(ends) and ends[0] != ends[1]))
    first, last = np.array(ends).T
    for values in (first, last):
        refuse_pushing(guess.model.mechanism, _point_at(guess, names, values).u)
    return names, first, last


def _point_at(guess: OperatingPoint, names: Sequence[str], values: Array) -> OperatingPoint:
    for name in names:
        value_of(guess, name)
    return TrimUnknowns(guess, names).with_values(values)
