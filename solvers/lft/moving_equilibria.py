"""Equilibria that a function of users finds at other values, and what of them moves with the parameters.

These are further deltas, which follow by polynomials and quotients of the parameters, or stay independent.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np

from titop.blocks.basics.errors import ConvergenceError, Finding, ModelError
from titop.blocks.basics.paths import parts_of, split_end
from titop.blocks.basics.spatial import Array
from titop.blocks.basics.tolerances import BALANCED, STEADY
from titop.blocks.joints.joint import is_elementary
from titop.solvers.equilibrium.operating_point import OperatingPoint
from titop.solvers.equilibrium.sizes import sizes_of
from titop.solvers.lft import fits
from titop.solvers.lft.fractions import Fractional
from titop.solvers.lft.other_values import inputs_of, value_at
from titop.solvers.lft.system_loop import idle_filters
from titop.solvers.lft.uncertainty import Uncertain, Uncertainty
from titop.solvers.model.model import Model
from titop.solvers.support.progress import progress_bar

#: How coordinates that move depend on the parameters.
How = Literal["fitted", "independent"]

#: By which part of its width each end of the range of an independent coordinate lies beyond what was found.
MARGIN = 0.1
#: By which part the range of a fitted one, about its nominal value, is wider than what was found.
_WIDER = 0.02
#: Highest degree of a fit, and most terms of a polynomial in it; points for each term.
_DEGREE, _TERMS, _OVER = 10, 400, 2

#: Of so many parameters all corners are looked at, of more as many at random; random points of which fits know nothing.
_ALL_CORNERS, _TESTS = 5, 30

_ADVICE = "sample the family with tt.lpv, or hold the equilibrium with efforts"


class Equilibria:
    """The equilibria of a family, as changes of coordinates ``hinge.q``, rates ``wheel.v`` and inputs ``jet.u``.

    `point`: at nominal values; `uncertainty`: of the parameters alone; `function`: `equilibrium` of `lft`.

    - `paths`: of all coordinates, rates and inputs (m);
    - `points` (k, n): normalised values of the parameters: corners, then points that are spread over the box;
    - `changes` (k, m): of the equilibria there, against the nominal point; zero of what is among the parameters;
    - `test_points`, `tests`, `test_changes`: random points of which fits know nothing, and the same of these.
    """

    def __init__(self, point: OperatingPoint, uncertainty: Uncertainty, function: Any, progress: bool = True) -> None:
        if not callable(function):
            advice = "write lambda m: tt.trim(m, ...)"
            raise ModelError(Finding("wrong-type", "equilibrium", type(function).__name__, "a function of a model", advice))
        model = point.model
        for uncertain in uncertainty.all:
            if uncertain.block.centre != uncertain.block.nominal:
                got, expected = f"the nominal {uncertain.block.nominal:.6g} at an end", "a nominal value inside its range"
                advice = "widen the range a little: equilibria are followed from the nominal one"
                raise ModelError(Finding("nominal-at-end", f"parameters[{uncertain.name!r}]", got, expected, advice))
        if model.is_constrained:
            advice = "closures and gears keep what they carry at the point: use tt.lpv"
            raise ModelError(Finding("moving-closure", "equilibrium", "a system with closures or gears", "a tree", advice))
        self.point, self.uncertainty, self._function, self._progress = point, uncertainty, function, progress
        self.paths = [f"{name}{end}" for end in (".q", ".v") for name in model.coordinate_names]
        self.paths += [f"{name}.u" for name in model.input_names]
        self._imposed = [path for path in uncertainty.paths() if path in self.paths]
        self.nominal = np.concatenate([model.difference(model.neutral(), point.q), point.v, inputs_of(point)])
        sizes = sizes_of(point)
        states = [sizes.of_unit(unit) for unit in model.mechanism.inputs.state_units]
        self._ones_of_states = np.maximum(states, np.abs(point.x))
        for closure in idle_filters(model):
            self._ones_of_states[dict(model.mechanism.inputs.states)[closure.name]] = np.inf
        ones = sizes.coordinates, sizes.coordinates * sizes.rate, [sizes.of_unit(unit) for unit in model.mechanism.inputs.units]
        self._ones = np.maximum(np.concatenate(ones), np.abs(self.nominal))
        n = len(uncertainty.all)
        self._refuse_other_nominal()
        corners = np.array([*itertools.product((-1.0, 1.0), repeat=min(n, _ALL_CORNERS))])
        if n > _ALL_CORNERS:
            corners = np.random.default_rng(5).choice((-1.0, 1.0), (len(corners), n))
        self.points, self._spread = corners, 0
        self.changes = self._changes(self._find(corners))
        self.test_points = np.random.default_rng(2).uniform(-1.0, 1.0, (_TESTS, n))
        self.tests = self._find(self.test_points)
        self.test_changes = self._changes(self.tests)

    def at(self, values: Mapping[str, float]) -> OperatingPoint:
        """Return the equilibrium at values of the parameters by path.

        Raises `ModelError` if the function returns no point, or another than was asked for, and `ConvergenceError` where there
        is none, naming the values.
        """
        model = self.uncertainty.model_at(values)
        imposed = {path: values[path] for path in self._imposed}
        shown = ", ".join(f"{path} = {value:.6g}" for path, value in values.items())
        try:
            point = self._function(model, imposed) if imposed else self._function(model)
        except ConvergenceError as error:
            raise ConvergenceError(f"no equilibrium at {shown}: {error}") from None
        if not isinstance(point, OperatingPoint):
            advice = "return what tt.trim finds: lambda m: tt.trim(m, ...)"
            raise ModelError(Finding("wrong-type", "equilibrium", type(point).__name__, "a tt.OperatingPoint", advice))
        self._refuse_another(point, model, imposed, shown)
        return point

    def values(self, row: Array) -> dict[str, float]:
        """Return values by path at normalised ones (n)."""
        result: dict[str, float] = {}
        for uncertain, delta in zip(self.uncertainty.all, row.tolist(), strict=True):
            result |= uncertain.values(uncertain.block.value(delta))
        return result

    def spread(self, n: int) -> None:
        """Have n points at least, beside corners, that are spread over the box."""
        if n > self._spread:
            new = fits.spread_points(self.points.shape[1], n)[self._spread :]
            self.changes = np.vstack([self.changes, self._changes(self._find(new))])
            self.points, self._spread = np.vstack([self.points, new]), n

    @property
    def moving(self) -> list[int]:
        """Entries that move by more than rounding."""
        largest = np.abs(np.vstack([self.changes, self.test_changes])).max(axis=0)
        return np.flatnonzero(largest > BALANCED * self._ones).tolist()

    def depends_on(self, k: int) -> bool:
        """Tell whether the equilibrium depends on the k-th parameter, the others nominal."""
        ends = np.zeros((2, self.points.shape[1]))
        ends[:, k] = -1.0, 1.0
        return bool((np.abs(self._changes(self._find(ends))) > BALANCED * self._ones).any())

    def _find(self, points: Array) -> list[OperatingPoint]:
        return [self.at(self.values(row)) for row in progress_bar(points, self._progress, unit=" equilibria")]

    def _changes(self, points: list[OperatingPoint]) -> Array:
        """Return what differs from the nominal point (k, m); zero of what is among the parameters."""
        point, u = self.point, inputs_of(self.point)
        parts = [(point.model.difference(point.q, at.q), at.v - point.v, inputs_of(at) - u) for at in points]
        changes = np.array([np.concatenate(part) for part in parts]).reshape(len(points), len(self.paths))
        self._refuse_states(points)
        return np.where(np.isin(self.paths, self._imposed), 0.0, changes)

    def _refuse_states(self, points: list[OperatingPoint]) -> None:
        """Refuse states of the first order that move, but for those that only motors and sensors have."""
        moved = np.any(np.abs([at.x - self.point.x for at in points]) > BALANCED * self._ones_of_states, axis=0)
        if names := [self.point.model.state_names[k] for k in np.flatnonzero(moved)]:
            expected = "states of the first order that rest, but for those of motors and sensors"
            raise ModelError(Finding("moving-states", "equilibrium", ", ".join(names[:4]), expected, _ADVICE))

    def _refuse_other_nominal(self) -> None:
        zero = np.zeros((1, len(self.uncertainty.all)))
        change = self._changes(self._find(zero))[0]
        k = int(np.argmax(np.abs(change) / self._ones))
        if abs(change[k]) > STEADY * self._ones[k]:
            expected, advice = "the point itself at the nominal values", "pass as point what it returns there"
            got = f"{self.paths[k]} differs by {change[k]:.3g}"
            raise ModelError(Finding("other-equilibrium", "equilibrium", got, expected, advice))

    def _refuse_another(self, point: OperatingPoint, model: Model, imposed: Mapping[str, float], shown: str) -> None:
        other = []
        if point.model is not model:
            right, returned = model.parameters(), point.model.parameters()
            other = [path for path in right if path not in returned or returned[path][0] != right[path][0]]
        before, after, none = self.point.wrenches or {}, point.wrenches or {}, np.zeros(6)
        ports = {*before, *after}
        other += [port for port in ports if not np.array_equal(before.get(port, none), after.get(port, none))]
        ones = dict(zip(self.paths, self._ones.tolist(), strict=True))
        other += [path for path, x in imposed.items() if abs(value_at(point, path) - x) > STEADY * max(ones[path], abs(x))]
        if other:
            where, advice = f"equilibrium at {shown}", "search coordinates, rates, efforts and inputs only; see tt.lft"
            raise ModelError(Finding("other-equilibrium", where, f"another {other[0]}", "the one asked for", advice))


class MovingCoordinate(NamedTuple):
    """What of an equilibrium moves with the parameters: a coordinate ``hinge.q``, a rate ``wheel.v``, an input ``jet.u``.

    Attributes
    ----------
    name : str
    nominal, lower, upper : float
        Value at the nominal point, and the range: of the values found, or of the delta of an independent one; in `unit`.
    unit : str
    degree : int or None
        Highest power of a normalised parameter in the fit, a polynomial or a quotient; None of an independent one.
    error : float or None
        Largest difference, in `unit`, of the fit from equilibria of which the fit knows nothing.
    """

    name: str
    nominal: float
    lower: float
    upper: float
    unit: str
    degree: int | None = None
    error: float | None = None


def moving_ranges(equilibria: Equilibria, how: How) -> dict[str, tuple[float, float]]:
    """Return the ranges of what moves, by name: around what was found.

    Raises `ModelError` for a non-rational dependence, and ranges that random equilibria leave.
    """
    ranges: dict[str, tuple[float, float]] = {}
    equilibria.spread(_OVER * fits.number_of_terms(len(equilibria.uncertainty.all), 2))
    for k in equilibria.moving:
        path = equilibria.paths[k]
        if _drives_a_joint(equilibria, path):
            continue
        _refuse_strange(equilibria, path)
        nominal = value_at(equilibria.point, path)
        if how == "fitted":
            reach = (1 + _WIDER) * max(np.abs(_range_of_changes(equilibria, k)))
            ranges[path] = nominal - reach, nominal + reach
            continue
        known, tests = equilibria.changes[:, k], equilibria.test_changes[:, k]
        low, high = min(known.min(), 0.0), max(known.max(), 0.0)
        margin = MARGIN * (high - low)
        if tests.min() < low - margin or tests.max() > high + margin:
            shown = f"{nominal + low:.6g} to {nominal + high:.6g} at corners and in between, beyond at random values"
            advice = "narrow the ranges of the parameters, or choose moving='fitted'"
            raise ModelError(Finding("not-covered", f"equilibrium: {path}", shown, "a range that covers it", advice))
        ranges[path] = nominal + low - margin, nominal + high + margin
    return ranges


def with_moving(
    model: Fractional, uncertain: Sequence[Uncertain], equilibria: Equilibria, how: How, tolerance: float
) -> tuple[Fractional, tuple[Uncertain, ...], tuple[MovingCoordinate, ...]]:
    """Return a model in which what moves follows the parameters or stays independent; its deltas; and what is known of it.

    `model`: its deltas zero at nominal values: those of the parameters, of what moves, and 1/s; `uncertain`: parameters and
    what moves; `tolerance`: largest error of a fitted coordinate, in parts of how far it moves.

    Raises `ModelError` where no polynomial is as near.
    """
    if how == "independent":
        return _leave_independent(model, uncertain, equilibria)
    small, notes = _follow(model, uncertain, equilibria, tolerance)
    return small, equilibria.uncertainty.all, notes


def _follow(
    model: Fractional, uncertain: Sequence[Uncertain], equilibria: Equilibria, tolerance: float
) -> tuple[Fractional, tuple[MovingCoordinate, ...]]:
    """Return a model in which what moves follows the parameters by polynomials, and how well it does."""
    names = [each.name for each in equilibria.uncertainty.all]
    fractions: list[Fractional | None] = [None] * len(names)
    notes = []
    for size, each in zip(model.sizes[len(names) :], uncertain[len(names) :], strict=False):
        if size:
            fraction, note = _fit(equilibria, each, names, tolerance)
            fractions.append(fraction)
            notes.append(note)
        else:
            nothing = np.zeros((0, 0)), np.zeros((0, 1)), np.zeros((1, 0)), np.zeros((1, 1))
            fractions.append(Fractional(*nothing, (0,) * (len(names) + 1)))
    return fits.substitute(model, [*fractions, None]), tuple(notes)


def _leave_independent(
    model: Fractional, uncertain: Sequence[Uncertain], equilibria: Equilibria
) -> tuple[Fractional, tuple[Uncertain, ...], tuple[MovingCoordinate, ...]]:
    """Return a model without what nothing depends on: coordinates, and parameters that act through the equilibrium alone."""
    count = len(equilibria.uncertainty.all)
    kept = [k for k, size in enumerate(model.sizes[:-1]) if size or (k < count and not equilibria.depends_on(k))]
    sizes = (*(model.sizes[k] for k in kept), model.sizes[-1])
    blocks = [uncertain[k].block for k in kept if k >= count]
    notes = tuple(MovingCoordinate(b.name, b.nominal, b.lower, b.upper, b.unit) for b in blocks)
    return model._replace(sizes=sizes), tuple(uncertain[k] for k in kept), notes


def _range_of_changes(equilibria: Equilibria, k: int) -> tuple[float, float]:
    changes = np.concatenate([[0.0], equilibria.changes[:, k], equilibria.test_changes[:, k]])
    return float(changes.min()), float(changes.max())


def _drives_a_joint(equilibria: Equilibria, path: str) -> bool:
    """Tell whether a name is that of a motor's input: an effort, which is no part of a linear model."""
    model = equilibria.point.model
    stem, end = split_end(path)
    if end != "u" or any(stem in closure.input_names for closure in idle_filters(model)):
        return end == "u"
    return bool(model.mechanism.inputs.motors[:, model.input_names.index(stem)].any())


def _refuse_strange(equilibria: Equilibria, path: str) -> None:
    """Refuse what moves if the dependence of models on it is not rational."""
    model, (stem, end) = equilibria.point.model, split_end(path)
    if end == "u":
        if model.input_names.index(stem) not in model.mechanism.inputs.columns:
            expected = "inputs that rest, of motors, or that are wrenches on ports"
            raise ModelError(Finding("moving-input", "equilibrium", path, expected, _ADVICE))
        return
    block = model.mechanism.assembly.blocks[parts_of(path)[0]]
    is_plain = model.mechanism.has_plain_coordinates(model.coordinate_names.index(stem))
    if not is_plain or (end == "v" and not is_elementary(block)):
        expected = "attitudes of free and spherical joints, and rates of all but plain joints, that rest"
        raise ModelError(Finding("moving-attitude", "equilibrium", path, expected, _ADVICE))


def _fit(
    equilibria: Equilibria, uncertain: Uncertain, names: list[str], tolerance: float
) -> tuple[Fractional, MovingCoordinate]:
    """Return the fraction with the fewest repetitions that is near enough, and its error.

    A polynomial of the lowest degree, or a quotient, is made smaller where a fraction is as near.
    """
    k, block = equilibria.paths.index(uncertain.name), uncertain.block
    right = block.nominal + equilibria.test_changes[:, k]
    reach = max(np.abs(_range_of_changes(equilibria, k)))

    def error_of(fraction: Fractional) -> float:
        deltas = fits.fraction_at(fraction, equilibria.test_points)
        return float(np.abs([block.value(delta) for delta in deltas] - right).max())

    def is_near(fraction: Fractional) -> bool:
        return error_of(fraction) <= tolerance * reach

    best = np.inf
    for degree in range(1, _DEGREE + 1):
        count = fits.number_of_terms(len(names), degree)
        if count > _TERMS:
            break
        equilibria.spread(2 * _OVER * count)  # quotients have twice as many numbers
        values = np.array([block.normalised(block.nominal + change) for change in equilibria.changes[:, k]])
        for fit in (fits.fit_polynomial, fits.fit_quotient):
            row = fit(tuple(names), equilibria.points, values, degree, tolerance)
            if row is None:
                continue
            fraction = fits.fraction_of(row, names)
            if not is_near(fraction):
                best = min(best, error_of(fraction))
                continue
            fraction = fits.smallest_fraction(equilibria.points, values, fraction.sizes[:-1], is_near) or fraction
            low, high = (block.nominal + bound for bound in _range_of_changes(equilibria, k))
            most = max(fraction.sizes)
            return fraction, MovingCoordinate(uncertain.name, block.nominal, low, high, block.unit, most, error_of(fraction))
    got = f"an error of {best:.2g} {block.unit} where it moves by {reach:.2g} {block.unit}"
    advice = "narrow the ranges, raise the tolerance, or choose moving='independent'"
    expected = f"a quotient of polynomials that is exact to {tolerance:g} of that"
    raise ModelError(Finding("no-fit", f"equilibrium: {uncertain.name}", got, expected, advice))
