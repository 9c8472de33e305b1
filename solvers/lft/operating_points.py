"""Operating points at values by name: coordinates ``hinge.q``, rates ``wheel.v``, inputs ``jet.u``; equilibria that follow.

Points keep their coordinates, and efforts hold them there; or they are equilibria that a function of users finds.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import Any

import numpy as np

from titop.blocks.basics.errors import ConvergenceError, Finding, ModelError
from titop.blocks.basics.paths import split_end
from titop.blocks.basics.spatial import Array
from titop.blocks.basics.tolerances import BALANCED, ROUNDING, STEADY
from titop.solvers.equilibrium.linear_validity import excess
from titop.solvers.equilibrium.operating_point import OperatingPoint
from titop.solvers.equilibrium.sizes import sizes_of
from titop.solvers.lft.fits import spread_points
from titop.solvers.lft.uncertainty import Uncertainty
from titop.solvers.model.model import Model
from titop.solvers.signals.system_inputs import SystemInputs
from titop.solvers.support.progress import progress_bar

#: Of so many parameters all corners are looked at, of more as many at random; random points of which fits know nothing.
_ALL_CORNERS, _TESTS = 5, 30


def is_of_point(model: Model, name: Any) -> bool:
    """Tell whether a name is one of a coordinate, a rate or an input of a point, and not of a parameter."""
    if not isinstance(name, str) or name in model.mechanism.parameter_names:
        return False
    stem, end = split_end(name)
    return stem in (model.coordinate_names if end in ("q", "v") else model.input_names if end == "u" else ())


def value_at(point: OperatingPoint, path: str) -> float:
    """Return a value of a point, in its unit."""
    model, (stem, end) = point.model, split_end(path)
    if end == "u":
        return 0.0 if point.u is None else float(point.u[model.input_names.index(stem)])
    in_q, in_v = model.mechanism.assembly.place(stem)
    return float(point.q[in_q] if end == "q" else point.v[in_v])


def inputs_of(point: OperatingPoint) -> Array:
    """Return the inputs (nu) at a point."""
    return np.zeros(point.model.nu) if point.u is None else point.u


def state_at(model: Model, q: Array, v: Array, values: Mapping[str, float]) -> tuple[Array, Array]:
    """Return configuration and rates with the coordinates among values by path, the others as they are."""
    q, v = q.copy(), v.copy()
    for path, value in values.items():
        stem, end = split_end(path)
        if is_of_point(model, path) and end != "u":
            in_q, in_v = model.mechanism.assembly.place(stem)
            if end == "q":
                q[in_q] = value
            else:
                v[in_v] = value
    return q, v


def held_point(point: OperatingPoint, model: Model, values: Mapping[str, float], a: Array) -> OperatingPoint:
    """Return the point of a changed model with other values by name.

    Its efforts are those that keep the accelerations `a` (nv); closures and gears carry what they do.
    """
    q, v = state_at(point.model, point.q, point.v, values)
    u = point.u
    if pushed := [(k, values[f"{name}.u"]) for k, name in enumerate(model.input_names) if f"{name}.u" in values]:
        u = inputs_of(point).copy()
        for k, value in pushed:
            u[k] = value

    def needed(model: Model, q: Array, v: Array, u: Array | None) -> Array:
        whole = model.mechanism.inputs.with_states(u, point.x) if model.nx else u
        pushes = model.mechanism.external_pushes(point.wrenches, whole)
        driven = 0.0 if u is None else model.mechanism.inputs.motors @ u
        return model.mechanism.engine.dynamics.tree_inverse(q, v, a, pushes) - driven

    tau = point.tau + needed(model, q, v, u) - needed(point.model, point.q, point.v, point.u)
    if model.mechanism.gear_constraints:
        before = point.model
        pushes = before.mechanism.external_pushes(point.wrenches, point.driving)
        carried = before.mechanism.multipliers(point.q, point.v, a, pushes, point.driving, point.tau)
        tau = tau - (model.closure_jacobian(q) - before.closure_jacobian(point.q)).T @ carried
    return OperatingPoint(model, q, v, tau, u, point.wrenches, x=point.x)


def accelerations_at(point: OperatingPoint, system_inputs: SystemInputs) -> Array:
    """Return the accelerations (nv) at a point, but for what rounding leaves of them; none where it is an equilibrium."""
    if system_inputs.prescribed.any():
        a = system_inputs.accelerations(point.model, point.q, point.v, point.tau, point.wrenches, point.driving)
    else:
        a = point.residual
    if not a.any() or excess(point, a, np.zeros_like(a)).max(initial=0.0) <= 1.0:
        return np.zeros_like(a)
    return np.where(np.abs(a) > ROUNDING * np.abs(a).max(), a, 0.0)


# -- that depend on parameters ----------------------------------------------------------------------------------------------


class Equilibria:
    """The equilibria of a family, as changes of coordinates ``hinge.q``, rates ``wheel.v`` and inputs ``jet.u``.

    Parameters
    ----------
    point : OperatingPoint
        At nominal values.
    uncertainty : Uncertainty
        Of the parameters alone.
    function : callable
        `equilibrium` of `lft`.
    progress : bool

    Attributes
    ----------
    paths : list of str
        Of all coordinates, rates and inputs (m).
    nominal : (m,) array
    points : (k, n) array
        Normalised values of the parameters: corners, then points that are spread over the box.
    changes : (k, m) array
        Of the equilibria there, against the nominal point; zero of what is among the parameters.
    tests : list of OperatingPoint
        Equilibria at random points, and
    test_points, test_changes : arrays

    Raises
    ------
    ModelError
        For functions that return other points than asked for.
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
        if model.nx:
            got, expected = ", ".join(model.state_names[:4]), "a model without states of the first order"
            advice = "these move with equilibria, which is not followed: leave equilibrium= out, or use tt.lpv"
            raise ModelError(Finding("moving-states", "equilibrium", got, expected, advice))
        self.point, self.uncertainty, self._function, self._progress = point, uncertainty, function, progress
        self.paths = [f"{name}{end}" for end in (".q", ".v") for name in model.coordinate_names]
        self.paths += [f"{name}.u" for name in model.input_names]
        self._imposed = [path for path in uncertainty.paths() if path in self.paths]
        self.nominal = np.concatenate([model.difference(model.neutral(), point.q), point.v, inputs_of(point)])
        sizes = sizes_of(point)
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

        Raises
        ------
        ModelError
            If the function returns no point, or another than was asked for.
        ConvergenceError
            Where there is none, naming the values.
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
            new = spread_points(self.points.shape[1], n)[self._spread :]
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
        """Return the equilibria at normalised values (k, n)."""
        return [self.at(self.values(row)) for row in progress_bar(points, self._progress, unit=" equilibria")]

    def _changes(self, points: list[OperatingPoint]) -> Array:
        """Return what differs from the nominal point (k, m); zero of what is among the parameters."""
        point, u = self.point, inputs_of(self.point)
        parts = [(point.model.difference(point.q, at.q), at.v - point.v, inputs_of(at) - u) for at in points]
        changes = np.array([np.concatenate(part) for part in parts]).reshape(len(points), len(self.paths))
        return np.where(np.isin(self.paths, self._imposed), 0.0, changes)

    def _refuse_other_nominal(self) -> None:
        """Refuse a nominal point that is none of these equilibria."""
        zero = np.zeros((1, len(self.uncertainty.all)))
        change = self._changes(self._find(zero))[0]
        k = int(np.argmax(np.abs(change) / self._ones))
        if abs(change[k]) > STEADY * self._ones[k]:
            expected, advice = "the point itself at the nominal values", "pass as point what it returns there"
            got = f"{self.paths[k]} differs by {change[k]:.3g}"
            raise ModelError(Finding("other-equilibrium", "equilibrium", got, expected, advice))

    def _refuse_another(self, point: OperatingPoint, model: Model, imposed: Mapping[str, float], shown: str) -> None:
        """Refuse points of other parameters, wrenches or coordinates than asked for."""
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
