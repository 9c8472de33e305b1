"""Families of linear models over parameters."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import Executor
from typing import Any

import numpy as np

from titop.blocks.basics.errors import Finding, ModelError, warn
from titop.blocks.basics.spatial import Array
from titop.blocks.basics.tolerances import SAME
from titop.blocks.basics.user_input import is_row, read_array
from titop.solvers.arguments.reading import Percent, read_mapping
from titop.solvers.equilibrium.continuation import BarePoint, bare, unit_of, value_of, values_of
from titop.solvers.equilibrium.linear_validity import excess, spin_findings, switching_findings
from titop.solvers.equilibrium.operating_point import OperatingPoint
from titop.solvers.equilibrium.trim import read_guess
from titop.solvers.equilibrium.unknowns import TrimUnknowns
from titop.solvers.linear.linearize import kept_states, rates_among
from titop.solvers.linear.lpv_files import MATRICES, TRIMS
from titop.solvers.linear.lpv_members import Failure, FamilyMembers, Recipe, Results, SweepOf
from titop.solvers.linear.lpv_model import LPVModel, grid_points
from titop.solvers.linear.path_series import noise_inputs
from titop.solvers.mechanism.system_parameters import warn_of_samples
from titop.solvers.model.model import Model
from titop.solvers.signals.grammar import UNKNOWN, read_name
from titop.solvers.signals.quantities import Kind
from titop.solvers.support.checkpoint import Checkpoint, identity
from titop.solvers.support.spread import SweepInterrupt, read_workers

#: Largest memory (bytes) of a family; each point needs some besides its numbers.
_MOST_MEMORY, _POINT = 8 * 2**30, 2000

#: Most points without an equilibrium that a warning names.
_NAMED = 10


def lpv(
    model: Model,
    parameters: Mapping[str, Any],
    points: Sequence[OperatingPoint] | None = None,
    inputs: Sequence[str] | str = (),
    outputs: Sequence[Any] | str = (),
    unknowns: Sequence[str] | str | None = None,
    q: Any = None,
    v: Any = None,
    tau: Any = None,
    u: Any = None,
    wrenches: Mapping[str, Any] | None = None,
    bounds: Mapping[str, Any] | None = None,
    omit: Sequence[str] | str = (),
    hold: Sequence[str] | str = (),
    independent: Sequence[str] | None = None,
    grid: bool = True,
    tolerance: float = 1e-9,
    workers: int | Executor = 1,
    progress: bool = True,
    x: Any = None,
    checkpoint: str | os.PathLike[str] | None = None,
    noise: bool = False,
) -> LPVModel:
    """Return the family of a system's linear models over parameters and operating points.

    The equilibria of the grid's points are found by continuation from neighbours, in the order of the values, and the system is
    linearised there in the same state coordinates. Points without an equilibrium are excluded, and marked: a warning
    and `failed` of the family name them with the reason.

    With closures or gears the independent coordinates are chosen once: those with the best worst case over all points. A
    choice, also one of yours, that fails at a point or on the way between two is rejected.

    The parameters are frozen: each member is valid while they are constant. Along a changing parameter ``rho(t)`` the states
    are deviations from trims that change too; the terms in the parameter's rate, ``-d(trim)/d(rho) d(rho)/dt``, are omitted.
    The trims of states, inputs and outputs are stored, so that these terms can be added.

    Parameters
    ----------
    model : Model
    parameters : mapping of name to array_like (n,)
        The values of each: parameters ``"payload.mass"``, coordinates ``"hinge.q"``, rates ``"shaft.v"``, efforts
        ``"hinge.tau"`` and inputs of actuators. They span a grid, the last one varying fastest.
    points : sequence of OperatingPoint, optional
        Given operating points, one for each point of the grid, instead of trimming.
    inputs, outputs, omit, hold, independent
        As in `linearize`.
    unknowns, q, v, tau, u, wrenches, bounds, tolerance, x
        As in `trim`; the guess is for the first point. By default all coordinates are unknown except those that are
        parameters; those that depend on others through closures and gears always are. So are, by default, the rates that
        closures and gears tie to rates among the parameters, such as a vehicle's speed to that of a wheel. Of what
        accelerates, name the accelerations: ``"base.z.a"``.
    grid : bool
        If false, the values are a list of points: equally many of each parameter.
    workers : int or Executor
        Number of processes, or an executor: see `monte_carlo`. A script that uses several needs the guard ``if __name__ ==
        "__main__":``; blocks and functions of one's own have to be in a module that the processes can import.
    progress : bool
        Show a progress bar on a terminal when it takes longer than a second.
    checkpoint : str or path, optional
        A file from which the family goes on when it is computed again: see `monte_carlo`. A process that is killed loses at
        most twenty points of a line, or five hundred linear models.
    noise : bool
        As in `linearize`.

    Returns
    -------
    LPVModel

    Raises
    ------
    ModelError
        For unknown names and unusable values; if, at any point, something depends on a state to omit; if independent
        coordinates fail; for a family too large for memory (8 GiB).
    ConvergenceError
        If no point has an equilibrium.
    SweepInterrupt
        On Ctrl-C; its `found` is the family with the points computed until then, the others among its `failed`.

    Warns
    -----
    ModelWarning
        For points without an equilibrium; and as `linearize`.

    Examples
    --------
    >>> import titop as tt
    >>> s = tt.System("swing", gravity=[0, 0, -9.81])
    >>> s.connect("world", tt.RigidBody("bob", mass=2.0, com=[0, 0, -1]), joint=tt.Revolute("hinge", axis=[0, 1, 0]))
    >>> family = tt.lpv(s.resolve(), {"hinge.q": [0.0, 0.5, 1.0]}, unknowns=["hinge.tau"], inputs=["hinge"])
    >>> family.at(hinge_q=0.5).A.round(3).tolist()
    [[0.0, 1.0], [-8.609, 0.0]]
    """
    guess = read_guess(model, q, v, tau, u, wrenches, None, x)
    axes = _read_parameters(guess, parameters, grid)
    inputs = noise_inputs(guess.model, inputs, outputs, noise) if noise else inputs
    if unknowns is None:
        names = {path for name in axes for path in read_name(model, UNKNOWN, name).paths}
        unknowns = [*(name for name in model.coordinate_names if name not in names), *_following_rates(guess, axes)]
    recipe = Recipe(tuple(axes), inputs, outputs, omit, hold, independent, unknowns, bounds, tolerance)
    family = FamilyMembers(guess, recipe)
    _refuse_too_many(family, axes, grid)
    targets = grid_points(axes, grid)
    known = guess.model.parameters()
    rows = [dict(zip(axes, row, strict=True)) for row in targets.tolist()]
    warn_of_samples(guess.model.mechanism.assembly, [{name: row[name] for name in row if name in known} for row in rows])
    lines = _lines(targets, tuple(len(values) for values in axes.values()) if grid else (len(targets),))
    workers = read_workers(workers)
    if points is not None:
        points = _read_points(model, points, len(targets))
        _refuse_other_values(points, axes, targets)
    keeper = None
    if checkpoint is not None:
        about: dict[str, Any] = {
            "model": identity(model),
            "parameters": axes,
            "points": [bare(point, model) for point in points or []],
        }
        about |= {"guess": (guess.q, guess.v, guess.tau, guess.u, guess.x, guess.wrenches), "options": recipe, "grid": grid}
        keeper = Checkpoint(checkpoint, "lpv", about, (BarePoint, Failure, Results))
    sweep = SweepOf(workers, keeper, progress)
    results = family.trim(targets, lines, sweep) if points is None else family.at_known(points, targets, lines, sweep)
    whole = _assemble(family, axes, grid, targets, results, points)
    if family.stopped:
        raise SweepInterrupt("the family was stopped: what was computed is the .found of this exception", whole)
    return whole


def _assemble(
    family: FamilyMembers,
    axes: dict[str, Array],
    grid: bool,
    targets: Array,
    results: Results,
    points: Sequence[OperatingPoint] | None,
) -> LPVModel:
    model, ends, valid = family.guess.model, family.ends, results.valid
    kept = np.arange(len(results.states))
    if ends.omitted.size:
        kept = kept_states(model, results.v[valid], results.states, (results.A[valid], results.C[valid]), ends, family.nearby)
    if family.failures:
        _warn_of_failures(family, targets)
    if points is not None:
        _warn_away_from_equilibria(points, results, results.states[kept])
    if valid.any():
        warn([*spin_findings(model, results.q[valid], results.v[valid]), *family.findings()])
        warn(switching_findings(model, results.q[valid], results.v[valid]))
    shape = tuple(len(values) for values in axes.values()) if grid else (len(valid),)
    recipe, search = family.recipe, dict[str, Any]()
    if points is None:
        search = {"unknowns": recipe.unknowns, "bounds": recipe.bounds, "tolerance": recipe.tolerance}
        search |= {"wrenches": family.guess.wrenches}
    named = [ends.states[k] for k in results.states[kept]]
    matrices = results.A[:, kept][:, :, kept], results.B[:, kept], results.C[:, :, kept], results.D
    matrices, states = ends.with_paths(model, matrices, named)
    arrays = dict(zip(MATRICES, matrices, strict=True)) | {name: getattr(results, name) for name in (*TRIMS, "x", "valid")}
    return LPVModel(
        name=model.name,
        parameters=axes,
        units={name: unit_of(model, name) for name in axes},
        is_grid=grid,
        states=tuple(states),
        inputs=ends.inputs.signals,
        outputs=ends.output_signals,
        **{name: array.reshape(*shape, *array.shape[1:]) for name, array in arrays.items()},
        configuration_names=model.configuration_names,
        coordinate_names=model.coordinate_names,
        input_names=model.input_names,
        own_states=model.state_names,
        search=search,
        failed={tuple(map(int, np.unravel_index(row, shape))): reason for row, reason in family.failures.items()},
    )


def _warn_of_failures(family: FamilyMembers, targets: Array) -> None:
    rows, reasons = [*family.failures], [*family.failures.values()]
    where = "; ".join(f"at {family.values(targets[row])}" for row in rows[:_NAMED]) + ("; ..." if len(rows) > _NAMED else "")
    got, expected = f"no equilibrium at {len(rows)} of {len(targets)} points: {reasons[0]}", "one at each"
    advice = "more unknowns, another guess, or other values may find them; .failed gives the reason of each"
    warn([Finding("no-equilibrium", f"lpv {where}", got, expected, advice)])


def _warn_away_from_equilibria(points: Sequence[OperatingPoint], results: Results, states: Array) -> None:
    model = points[0].model
    rates = rates_among(states, model.nv)
    left = results.a - [point.a for point in points]
    parts = np.array([np.maximum(*excess(*each)) for each in zip(points, left, results.drift, strict=True)])[:, rates]
    away = int((parts.max(axis=1, initial=0.0) > 1.0).sum())
    if away:
        row, column = np.unravel_index(int(parts.argmax()), parts.shape)
        most = max(abs(left[row, rates[column]]), abs(results.drift[row, rates[column]]))
        got = f"{away} of {len(parts)}; the worst, points[{row}], with {most:.3g}"
        where = f"points: {model.coordinate_names[rates[column]]}"
        advice = "trim them: leave points= out"
        warn([Finding("no-equilibrium", where, got, "points without acceleration", advice)])


def _read_parameters(guess: OperatingPoint, parameters: Any, grid: bool) -> dict[str, Array]:
    axes: dict[str, Array] = {}
    for name, values in read_mapping("parameters", parameters).items():
        value_of(guess, name)
        advice = "such as np.linspace(0, 10, 51)"
        wrong = Finding("wrong-type", f"parameters[{name!r}]", values, "a list of finite numbers", advice)
        if isinstance(values, Percent):
            raise ModelError(wrong)
        numbers = read_array(wrong, is_row)
        if grid and not ((np.diff(numbers) > 0).all() or (np.diff(numbers) < 0).all()):
            raise ModelError(Finding("not-sorted", f"parameters[{name!r}]", values, "rising or falling values", "sort them"))
        axes[name] = numbers
    if not axes:
        advice = "use tt.linearize for none"
        raise ModelError(Finding("no-parameter", "parameters", parameters, "one parameter at least", advice))
    if not grid and len({len(values) for values in axes.values()}) > 1:
        lengths = ", ".join(f"{name}: {len(values)}" for name, values in axes.items())
        raise ModelError(Finding("wrong-length", "parameters", lengths, "as many values of each", "or a grid: grid=True"))
    return axes


def _following_rates(guess: OperatingPoint, axes: Iterable[str]) -> list[str]:
    """Return the names of the rates that have to change with those among the parameters, at the guess."""
    model = guess.model
    given = [entry.number for entry in TrimUnknowns(guess, [*axes]).entries if entry.kind is Kind.RATE]
    if not given or not model.is_constrained:
        return []
    rows = model.mechanism.engine.dynamics.constraints(guess.q, guess.v).jacobian * model.mechanism.scale.coordinates
    others = np.delete(np.arange(model.nv), given)
    share = np.abs(np.linalg.lstsq(rows[:, others], rows[:, given], rcond=None)[0]).max(axis=1)
    return [f"{model.coordinate_names[k]}.v" for k in others[share > SAME * share.max(initial=0.0)]]


def _refuse_too_many(family: FamilyMembers, axes: dict[str, Array], grid: bool) -> None:
    model, lengths = family.guess.model, [len(values) for values in axes.values()]
    points = math.prod(lengths) if grid else lengths[0]
    x, w, y = len(family.ends.states), len(family.ends.inputs.named), len(family.ends.output_signals)
    size = points * (_POINT + 8 * ((x + w) * (x + y) + model.nq + 3 * model.nv + model.nu + y))
    if size > _MOST_MEMORY:
        got = f"{' x '.join(map(str, lengths)) if grid else points} points, of {size / 2**30:.3g} GiB"
        expected, advice = f"a family of at most {_MOST_MEMORY / 2**30:.3g} GiB", "take fewer values, or fewer parameters"
        raise ModelError(Finding("too-many-points", "parameters", got, expected, advice))


def _lines(targets: Array, shape: tuple[int, ...]) -> list[tuple[int, Array]]:
    """Return the lines along the last parameter: the preceding line of each (-1 for the first), and its points.

    Each line is computed from its first point, and that one from the first point of a neighbouring line. So the results do not
    depend on the number of processes.
    """
    lines = np.arange(len(targets)).reshape(-1, shape[-1])
    before = np.full(len(lines), -1)
    for k, index in enumerate(np.ndindex(shape[:-1])):
        moved = next((axis for axis in reversed(range(len(index))) if index[axis]), None)
        if moved is not None:
            neighbour = list(index)
            neighbour[moved] -= 1
            before[k] = np.ravel_multi_index(neighbour, shape[:-1])
    return list(zip(before.tolist(), lines, strict=True))


def _read_points(model: Model, points: Any, expected: int) -> Sequence[OperatingPoint]:
    if not isinstance(points, Sequence) or not all(isinstance(point, OperatingPoint) for point in points):
        got = type(points).__name__
        raise ModelError(Finding("wrong-type", "points", got, "a list of tt.OperatingPoint", "pass what tt.trim returns"))
    if len(points) != expected:
        advice = "the last parameter varies fastest"
        raise ModelError(Finding("wrong-length", "points", f"{len(points)} points", f"{expected}, one for each value", advice))
    for k, point in enumerate(points):
        if point.model.coordinate_names != model.coordinate_names:
            got = f"a point of {point.model.name!r}"
            raise ModelError(Finding("other-model", f"points[{k}]", got, f"points of {model.name!r}", "trim this model"))
        point.refuse_open(f"points[{k}]")
    return [point.undisturbed for point in points]


def _refuse_other_values(points: Sequence[OperatingPoint], axes: dict[str, Array], targets: Array) -> None:
    for column, name in enumerate(axes):
        values = values_of(points, name)
        error = np.abs(values - targets[:, column])
        worst = int(error.argmax())
        if error[worst] > SAME * (float(np.abs(targets[:, column]).max()) or 1.0):
            expected = f"{name} = {targets[worst, column]:.9g}"
            advice = "give points and values in the same order, the last parameter fastest"
            raise ModelError(Finding("other-value", f"points[{worst}]", f"{values[worst]:.9g}", expected, advice))
