"""Equilibria of what is held in shape by its own stiffness, all that acts on it raised in steps from nothing.

Newton's method from rest under the full load may fail, or end at an equilibrium that no raising of the load leads to. In steps
each equilibrium is next to the one before: accepted are those that few Newton steps of falling length reach, and that stand.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from titop.blocks.basics.errors import ConvergenceError
from titop.blocks.devices.loads import Load
from titop.blocks.interactions.distributed_load import DistributedLoad
from titop.solvers.equilibrium.description import efforts_of_motions
from titop.solvers.equilibrium.displacements import displaced
from titop.solvers.equilibrium.operating_point import OperatingPoint
from titop.solvers.equilibrium.resting_states import followed
from titop.solvers.equilibrium.root_search import Course
from titop.solvers.equilibrium.unknowns import Unknowns
from titop.solvers.signals.quantities import Kind

#: First step, in parts of the load; what a step grows by after success; where equilibria are said to end.
_FIRST, _GROWTH, _LEAST = 0.25, 1.6, 2.0**-20

#: What eigenvalues of a stiffness with a diagonal of ones are, beyond rounding, that are not zero.
_POSITIVE = 1e-12

#: From an equilibrium to one: the search of `trim`, its course written down.
Search = Callable[[Unknowns, Course], OperatingPoint]


def can_be_stepped(unknowns: Unknowns) -> bool:
    """Tell whether all coordinates of a system at rest are searched for, and nothing else."""
    guess = unknowns.guess
    return not guess.v.any() and unknowns.select(Kind.POSITION)[1] == list(range(guess.model.nv)) == list(
        range(len(unknowns.entries))
    )


def stands(point: OperatingPoint) -> bool:
    """Tell whether the stiffness of a point at rest is positive: that of loads that turn with a body has no symmetry."""
    stiffness = -efforts_of_motions(point, point.forward_derivatives[0])
    scale = np.sqrt(np.abs(np.diag(stiffness)))
    if not scale.all():
        return False
    stiffness = stiffness / np.outer(scale, scale)
    try:
        np.linalg.cholesky((stiffness + stiffness.T) / 2.0 - _POSITIVE * np.eye(len(stiffness)))  # told ten times as fast
    except np.linalg.LinAlgError:
        return bool(np.linalg.eigvals(stiffness).real.min() > _POSITIVE)
    return True


def loaded(point: OperatingPoint, fraction: float) -> OperatingPoint:
    """Return a point with a part of its gravity, loads, wrenches, efforts and inputs."""
    if fraction == 1.0:
        return point
    names = [f"gravity.{axis}" for axis in "xyz"]
    for load in point.model.assembly.loads:
        if isinstance(load, Load):
            names += [f"{load.name}.{entry}" for entry in load.parameters()]
    closures = (loop.closure for loop in point.model.assembly.loops)
    names += [f"{load.name}.scale" for load in closures if isinstance(load, DistributedLoad) and not load.driven]
    numbers = point.model.parameters()
    changes = {name: fraction * numbers[name][0] for name in names if numbers[name][0]}
    return replace(
        point,
        model=point.model.changed(changes)[0] if changes else point.model,
        tau=fraction * point.tau,
        u=None if point.u is None else fraction * point.u,
        wrenches={port: fraction * np.asarray(wrench) for port, wrench in (point.wrenches or {}).items()},
    )


def stepped(unknowns: Unknowns, search: Search) -> OperatingPoint | None:
    """Return the equilibrium that raising the loads from nothing leads to; None if without them no shape is kept.

    The unknowns are such as `can_be_stepped` accepts: all coordinates.

    Raises
    ------
    ConvergenceError
        If the equilibria end before the whole load: with the part that they reach.
    """
    full = unknowns.guess
    try:
        before = last = search(Unknowns(loaded(full, 0.0)), Course())
    except ConvergenceError:
        return None
    if not stands(last):
        return None
    came_from, reached, step, reason = 0.0, 0.0, _FIRST, ""
    while reached < 1.0:
        part = min(1.0, reached + step)
        onwards = (part - reached) / (reached - came_from) if reached > came_from else 0.0
        dq = onwards * full.model.difference(before.q, last.q)
        q, x = displaced(full.model, last.q, dq), followed(last, dq)
        course = Course(strict=True)
        try:
            point = search(Unknowns(replace(loaded(full, part), q=q, x=x)), course)
            fault = "" if stands(point) else "what follows does not stand"
        except ConvergenceError as error:
            fault = str(error).partition(";")[0]
        fault = "another branch is near" if course.strayed else fault
        if not fault:
            before, last, came_from, reached, step = last, point, reached, part, _GROWTH * step
            continue
        step, reason = step / 2, fault
        if step < _LEAST:
            raise ConvergenceError(
                f"with loads raised in steps the equilibria end near {reached:.4g} of the whole load ({reason}): a limit point "
                "or buckling; equilibrium_path, or trim_along a coordinate with the load unknown, follows them further"
            )
    return last
