"""Coordinates that closures and gears make follow others: unknowns of every search in which those change, named or not."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

import numpy as np

from titop.blocks.basics.errors import ConvergenceError
from titop.blocks.basics.spatial import Array
from titop.solvers.constraints.branch import closed_near, comparable_jacobian, is_open, regular_configuration
from titop.solvers.constraints.multipliers import independent_rows
from titop.solvers.equilibrium.operating_point import OperatingPoint
from titop.solvers.equilibrium.unknowns import Unknown
from titop.solvers.model.model import Model
from titop.solvers.signals.quantities import Kind


def with_dependents(guess: OperatingPoint, sought: Sequence[Unknown], varied: Sequence[Unknown] = ()) -> tuple[Unknown, ...]:
    """Return what is sought, and the coordinates that it takes to close loops and to keep gears.

    Those that vary are held, and those whose effort is sought, if the loops can be closed without. Of the others the ones are
    taken that closures tell best.

    Parameters
    ----------
    guess : OperatingPoint
    sought, varied : sequence of Unknown
    """
    model = guess.model
    if not model.is_constrained:
        return tuple(sought)
    jacobian = _regular_jacobian(model, guess.q)
    held = {entry.number for entry in varied if entry.kind == Kind.POSITION}
    known = [entry.number for entry in sought if entry.kind == Kind.POSITION and entry.number not in held]
    driven = {entry.number for entry in sought if entry.kind == Kind.EFFORT} - {*known} - held
    rest = [k for k in range(model.nv) if k not in held and k not in driven and k not in known]
    taken, span = _followers(jacobian, known, np.zeros((len(jacobian), 0)))
    added: list[int] = []
    for some in (rest, sorted(driven)):
        taken, span = _followers(jacobian, some, span)
        added += taken
    return (*sought, *(Unknown(Kind.POSITION, model.coordinate_names[k], k) for k in sorted(added)))


def is_open_guess(guess: OperatingPoint) -> bool:
    """Tell whether a guess leaves loops open or gears out of step."""
    model = guess.model
    return model.is_constrained and is_open(model, model.engine.dynamics.constraints(guess.q, np.zeros(model.nv)).error)


def _regular_jacobian(model: Model, q: Array) -> Array:
    """Return the constraints' Jacobian (k, nv), comparable, where loops are closed and not singular: near q if they can be."""
    with suppress(ConvergenceError):
        q = regular_configuration(model, closed_near(model, q))
    return comparable_jacobian(model, q)


def _followers(jacobian: Array, some: list[int], span: Array) -> tuple[list[int], Array]:
    """Return which of some coordinates close what those that span a space (k, n) do not, and the space of both."""
    both = np.hstack([span, jacobian[:, some]])
    count = len(independent_rows(both.T)) - span.shape[1]
    left = jacobian[:, some] - span @ (span.T @ jacobian[:, some])
    taken = [some[k] for k in independent_rows(left.T, count)] if count > 0 else []
    return taken, np.linalg.qr(np.hstack([span, jacobian[:, taken]]))[0]
