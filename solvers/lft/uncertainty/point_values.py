"""Values of an operating point by name: coordinates ``hinge.q``, rates ``wheel.v`` and inputs ``jet.u``; points with others."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from titop.blocks.basics.paths import split_end
from titop.blocks.basics.spatial import Array
from titop.solvers.equilibrium.linear_validity import excess
from titop.solvers.equilibrium.operating_point import OperatingPoint
from titop.solvers.model.model import Model
from titop.solvers.signals.system_inputs import SystemInputs

#: Accelerations that are rounding, beside the largest.
_ROUNDED = 1e-13


def is_of_point(model: Model, name: Any) -> bool:
    """Tell whether a name is one of a coordinate, a rate or an input of a point, and not of a parameter."""
    if not isinstance(name, str) or name in model.parameter_names:
        return False
    stem, end = split_end(name)
    return stem in (model.coordinate_names if end in ("q", "v") else model.input_names if end == "u" else ())


def value_at(point: OperatingPoint, path: str) -> float:
    """Return a value of a point, in its unit."""
    model, (stem, end) = point.model, split_end(path)
    if end == "u":
        return 0.0 if point.u is None else float(point.u[model.input_names.index(stem)])
    in_q, in_v = model.assembly.place(stem)
    return float(point.q[in_q] if end == "q" else point.v[in_v])


def moved_state(point: OperatingPoint, values: Mapping[str, float]) -> tuple[Array, Array]:
    """Return configuration and rates of the point with the coordinates among values by path (``hinge.q``, ``wheel.v``)."""
    return changed_state(point.model, point.q, point.v, values)


def changed_state(model: Model, q: Array, v: Array, values: Mapping[str, float]) -> tuple[Array, Array]:
    """Return configuration and rates with the coordinates among values by path, the others as they are."""
    q, v = q.copy(), v.copy()
    for path, value in values.items():
        stem, end = split_end(path)
        if is_of_point(model, path) and end != "u":
            in_q, in_v = model.assembly.place(stem)
            if end == "q":
                q[in_q] = value
            else:
                v[in_v] = value
    return q, v


def moved_inputs(point: OperatingPoint, values: Mapping[str, float]) -> Array | None:
    """Return the inputs at the point with those among values by path (``jet.u``)."""
    own = {name: values[f"{name}.u"] for name in point.model.input_names if f"{name}.u" in values}
    if not own:
        return point.u
    u = np.zeros(point.model.nu) if point.u is None else point.u.copy()
    for name, value in own.items():
        u[point.model.input_names.index(name)] = value
    return u


def held_point(point: OperatingPoint, model: Model, values: Mapping[str, float], a: Array) -> OperatingPoint:
    """Return the point of a changed model with other values by name.

    Its efforts are those that keep the accelerations `a` (nv); closures and gears carry what they do.
    """
    q, v = moved_state(point, values)
    u = moved_inputs(point, values)

    def needed(model: Model, q: Array, v: Array, u: Array | None) -> Array:
        whole = model.inputs.joined(u, point.x) if model.nx else u
        pushes = model.external_pushes(point.wrenches, whole)
        driven = 0.0 if u is None else model.inputs.motors @ u
        return model.engine.dynamics.tree_inverse(q, v, a, pushes) - driven

    tau = point.tau + needed(model, q, v, u) - needed(point.model, point.q, point.v, point.u)
    if model.gear_constraints:
        before = point.model
        pushes = before.external_pushes(point.wrenches, point.driving)
        carried = before.carried(point.q, point.v, a, pushes, point.driving, point.tau)
        tau = tau - (model.closure_jacobian(q) - before.closure_jacobian(point.q)).T @ carried
    return OperatingPoint(model, q, v, tau, u, point.wrenches, x=point.x)


def accelerations_at(point: OperatingPoint, system_inputs: SystemInputs) -> Array:
    """Return the accelerations (nv) at a point, but for what rounding leaves of them; none where it is an equilibrium."""
    if system_inputs.prescribed.any():
        a = system_inputs.accelerations(point.model, point.q, point.v, point.tau, point.wrenches, point.driving)
    else:
        a = point.residual
    if excess(point, a, np.zeros_like(a)).max(initial=0.0) <= 1.0:
        return np.zeros_like(a)
    return np.where(np.abs(a) > _ROUNDED * np.abs(a).max(), a, 0.0)
