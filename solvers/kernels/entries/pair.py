"""Kernels of two kinds of systems from one function: rigid ones, and those with blocks of other kinds."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from types import FunctionType
from typing import Any, NamedTuple

import numpy as np

from titop.solvers.kernels.closures.closed_derivatives import with_forces
from titop.solvers.kernels.interface import layout
from titop.solvers.kernels.interface.stages import floats_at, integral, jet_type, place_of
from titop.solvers.kernels.tree.kinematics import write_rates
from titop.solvers.native.kernel import Kernel, StageHelper, helper, shared
from titop.solvers.native.signatures import CUBE, FLOATS, IN_LANES, INTEGER, OF_MEMBERS, ORDERS, SINGLE, Signature, Type

#: Arguments that kernels for rigid systems, and for systems without closures and gears, do without.
_OF_LAWS = ("numbers", "stages")
_OF_CLOSURES = ("closing", "plain", "tree", "loops")


class Pair(NamedTuple):
    """A function's kernels for two kinds of systems: numba drops from each what is the other's.

    Attributes
    ----------
    rigid : Kernel
        For systems without general blocks and interactions: the function's `LAWS` is False, and its `numbers` and `stages` are
        not among the arguments.
    mixed : Kernel
        For all: it is True.
    stacked : Pair or None
        The same for stacked states, of a function whose arguments say what each state has of its own.
    members : Pair or None
        The same for those whose tables are their own as well.
    """

    rigid: Kernel
    mixed: Kernel
    stacked: Any = None
    members: Any = None


def pair(
    *arguments: Type, result: Type = INTEGER, whole: bool = False, closed: bool | None = None, lanes: bool = True
) -> Callable[[Callable[..., Any]], Pair]:
    """Return a decorator that makes a function of such arguments a `Pair`, of no stacks without `lanes`; see `Kernel`.

    Without asking for `LAWS` or for tables of laws it has one kernel, which is both.
    A function that asks for `CLOSED` as well has a pair for systems that are `closed`, by rigid closures or gears, and one for
    those that are not.
    """

    def decorate(function: Callable[..., Any]) -> Pair:
        names = function.__code__.co_varnames
        has_laws = "LAWS" in function.__code__.co_names or not set(_OF_LAWS).isdisjoint(names[: len(arguments)])
        title = function.__name__ if closed is None else f"{'closed' if closed else 'open'}_{function.__name__}"

        def kernel(name: str, laws: bool, form: str = SINGLE) -> Kernel:
            kind = FunctionType(function.__code__, {**function.__globals__, "LAWS": laws, "CLOSED": closed}, name)
            kind.__doc__ = function.__doc__
            left_out = (*(() if laws else _OF_LAWS), *(_OF_CLOSURES if closed is False else ()))
            types = (kind._replace(given=False) if at in left_out else kind for at, kind in zip(names, arguments, strict=False))
            return Kernel(kind, Signature(tuple(types), result), whole=whole, form=form)

        def both(form: str) -> tuple[Kernel, Kernel]:
            rigid = kernel(title, False, form)
            return rigid, kernel(f"{title}_of_all", True, form) if has_laws else rigid

        own = {kind.stacked for kind in arguments} - {""}
        forms = IN_LANES if lanes and own - {"table"} else None, OF_MEMBERS if "table" in own else None
        return Pair(*both(SINGLE), *(form and Pair(*both(form)) for form in forms))

    return decorate


#: The forces and torques of a state at loads (k, 6).
_FORCES = Type("float64", 2, stacked="read")

#: A function that takes them behind the arguments of another. Series take them beside the table, with their derivatives.
_UNDER_FORCES = """
def {name}_under_forces({names}, forces):
    {taken}
    return function({names})
"""


@cache
def under_forces(stacked: Pair) -> Pair:
    """Return the kernels of stacked states, each with forces of its own at the last loads of the table ``floats``.

    Those of time derivatives take the derivatives of each force behind it.
    """

    def kernel(plain: Kernel) -> Kernel:
        code, name = plain.function.__code__, plain.function.__name__
        known = {**plain.function.__globals__, "with_forces": with_forces, "function": StageHelper(plain.function)}
        names = code.co_varnames[: code.co_argcount]
        taken = "changes = forces" if "changes" in names else "floats = with_forces(floats, forces, q)"
        exec(text := _UNDER_FORCES.format(name=name, names=", ".join(names), taken=taken), known)
        function, arguments = known[f"{name}_under_forces"], (*plain.signature.arguments, _FORCES)
        function.made_of = text
        return Kernel(function, plain.signature._replace(arguments=arguments), form=IN_LANES)

    return Pair(kernel(stacked.rigid), kernel(stacked.mixed))


@helper
def put_derivatives(derivatives, jets):
    """Turn derivatives (orders, n) into jets (n); derivatives that are not given are zero."""
    coefficients = floats_at(place_of(jets), jets.size, ORDERS)
    for j in range(jets.size):
        scale = 1.0
        for k in range(ORDERS):
            scale /= max(k, 1)
            coefficients[j, k] = scale * derivatives[k, j] if k < derivatives.shape[0] else 0.0


@helper
def take_derivatives(jets, derivatives):
    """Turn jets (n) into derivatives (orders, n)."""
    coefficients, scale = floats_at(place_of(jets), jets.size, ORDERS), 1.0
    for k in range(derivatives.shape[0]):
        scale *= max(k, 1)
        for j in range(jets.size):
            derivatives[k, j] = scale * coefficients[j, k]


@helper
def move(accelerations, v):
    """Let velocities change by accelerations: each time one more order is right."""
    for j in range(v.size):
        v[j] = integral(v[j], accelerations[j])


@shared
def configuration_along(ints, q, v):
    """Return configurations as jets, from where they begin and the velocities' jets."""
    along, rates = np.empty(q.size, jet_type()), np.empty(q.size, jet_type())
    for j in range(q.size):
        along[j] = q[j]
    for _ in range(ORDERS - 1 if q.size > v.size else 1):  # each pass makes one more order right
        write_rates(ints, along, v, rates)
        for j in range(q.size):
            along[j] = integral(along[j], rates[j])
    return along


#: A function of stacked states along motions, in jets (see `titop.solvers.native.jets`), from one of single states.
_ALONG = """
def {name}({arguments}):
    n, orders = v_series.shape[2], {first}_series.shape[1]
    if q_0.shape[1] != ints[0, layout.NQ] or n != ints[0, layout.NV] or orders > ORDERS or {misfit}:
        return layout.WRONG_SIZE
    {rooms}
    for row in range(q_0.shape[0]):
        put_derivatives(v_series[row], v)
        {puts}
        for _ in range({passes}):
            q = configuration_along(ints, q_0[row], v)
            {loads}
            status = function({called})
            if status != layout.OK:
                return status
            {moves}
        {takes}
    return layout.OK
"""


@cache
def along(of_one: Pair, loaded: bool = False) -> Pair:
    """Return the kernels of stacked states along motions: results with their derivatives.

    After its tables a kernel takes q (n, nq), velocities with their derivatives (n, rows, nv), the first alone being read where
    accelerations are results, what else it takes likewise, where `loaded` the forces (n, rows, 6 k) at the last loads, and
    arrays for each result (n, orders, size).
    """

    def kernel(plain: Kernel) -> Kernel:
        code, name = plain.function.__code__, f"{plain.function.__name__}_along{'_loaded' if loaded else ''}"
        names, kinds = code.co_varnames[: code.co_argcount], plain.signature.arguments
        tables = {at: kind for at, kind in zip(names, kinds, strict=True) if not kind.stacked}
        results = [at for at, kind in zip(names, kinds, strict=True) if kind.stacked == "written"]
        given = [at for at, kind in zip(names, kinds, strict=True) if kind.stacked == "read" and at not in "qv"]
        sought = next((at for at in ("accelerations", "a") if at in results), None)
        known = {"matrix": "(n, n)", "sides": "(3, loops[0, layout.ROWS])", "jacobian": "(loops[0, layout.ROWS], n)"}
        shapes = {at: known.get(at, f"(1, {at}_series.shape[2])") for at in results}
        shapes = {at: shapes[at] if kind.ndim > 1 else "n" for at, kind in zip(names, kinds, strict=True) if kind.stacked}
        puts = [f"put_derivatives({at}_series[row], {at})" for at in given]
        forces, with_loads = ["forces"] if loaded else [], "loaded = with_forces(floats, forces, q)"
        puts += ["put_derivatives(forces_series[row], forces)"] if loaded else []
        rooms = [f"{at} = np.empty({shape}, jet_type())" for at, shape in (shapes | {"v": "n"}).items() if at != "q"]
        rooms += ["forces = np.empty((forces_series.shape[2] // 6, 6), jet_type())"] if loaded else []
        series = ["v", *given, *forces, *results]
        misfits = [f"{at}_series.shape[0] != q_0.shape[0]" for at in series]
        misfits += [f"{at}_series.shape[2] != n" for at in series if shapes.get(at) == "n"]
        misfits += [f"{at}_series.shape[1] != orders" for at in results]
        text = _ALONG.format(
            name=name,
            arguments=", ".join([*tables, "q_0", *(f"{at}_series" for at in series)]),
            first=results[0],
            misfit=" or ".join(misfits),
            rooms="\n    ".join(rooms),
            puts="\n        ".join(puts),
            passes="orders" if sought else "1",
            loads=with_loads if loaded else "",
            called=", ".join("loaded" if loaded and at == "floats" else at for at in names),
            moves=f"move({sought}, v)" if sought else "",
            takes="\n        ".join(f"take_derivatives({at}, {at}_series[row])" for at in results),
        )
        within = {**globals(), "layout": layout, "function": StageHelper(plain.function)}
        exec(text, within)
        within[name].made_of, within[name].__module__ = text, plain.function.__module__
        return Kernel(within[name], Signature((*tables.values(), FLOATS, *[CUBE] * len(series))))

    return Pair(kernel(of_one.rigid), kernel(of_one.mixed))
