"""Whether a search has left the equilibrium of its guess for an unstable one, and where a system settles instead.

To which equilibrium a guess belongs is told by creeping from it: the motion of the system in honey (see `creeping`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from titop.blocks.basics.errors import ConvergenceError, Finding, ModelError
from titop.blocks.basics.spatial import Array
from titop.solvers.equilibrium.displacements import displaced
from titop.solvers.equilibrium.operating_point import OperatingPoint
from titop.solvers.equilibrium.resting_states import followed
from titop.solvers.equilibrium.unknowns import Unknowns
from titop.solvers.signals.quantities import Kind

#: How far a system is pushed aside from an unstable equilibrium, in what counts as one of coordinates; how often.
_ASIDE, _TRIES = 1e-2, 4
#: Equilibria closer together than this, in the same measure, are one.
_SAME = 1e-3

#: So often a system goes on creeping that is not at rest yet.
_ROUNDS = 8


class Settling(NamedTuple):
    """How a system is brought to rest: by creeping from a guess for a while, and by the search next to where that ends."""

    creep: Callable[[Unknowns], Unknowns]
    near: Callable[[Unknowns], OperatingPoint]

    def from_guess(self, unknowns: Unknowns, rounds: int = _ROUNDS) -> OperatingPoint:
        """Return the equilibrium to which a guess creeps.

        Raises
        ------
        ConvergenceError
            If it comes to rest at none in so many rounds.
        """
        for left in reversed(range(rounds)):
            unknowns = self.creep(unknowns)
            try:
                return self.near(unknowns)
            except ConvergenceError:
                if not left:
                    raise
        raise ValueError(rounds)


def can_settle(unknowns: Unknowns) -> bool:
    """Tell whether coordinates alone are sought, at rest: what then moves may come to rest."""
    return not unknowns.guess.v.any() and all(entry.kind == Kind.POSITION for entry in unknowns.entries)


def refuse_preference(prefer: Any, unknowns: Unknowns) -> None:
    """Refuse preferences that are none, or that nothing can be found by.

    Raises
    ------
    ModelError
    """
    if prefer not in (None, "stable"):
        raise ModelError(Finding("unknown-preference", "prefer", prefer, "'stable' or None", "leave it out for the nearest"))
    if prefer and not can_settle(unknowns):
        others = [entry.name for entry in unknowns.entries if entry.kind != Kind.POSITION]
        found = f"'stable' beside {', '.join(others)}" if others else "'stable' at a moving point"
        advice = "seek coordinates, at rest; hold efforts and parameters, or leave prefer out and look at .stability"
        raise ModelError(Finding("unusable-preference", "prefer", found, "coordinates alone as unknowns, at rest", advice))


def strayed_findings(point: OperatingPoint, unknowns: Unknowns, settling: Settling) -> Iterator[Finding]:
    """Yield a finding where a search that strayed has found an unstable equilibrium to which its guess does not creep."""
    if not len(point.growing):
        return
    settled = None
    with suppress(ConvergenceError, ModelError):  # also where creeping meets a singular configuration
        settled = settling.from_guess(unknowns)
    if settled is not None and _apart(unknowns, point.q, settled.q).max(initial=0.0) <= _SAME:
        return
    gone = _apart(unknowns, unknowns.guess.q, point.q)
    farthest = point.model.coordinate_names[int(gone.argmax())]
    found = f"an unstable equilibrium away from the guess, most of all in {farthest}"
    expected = "the equilibrium next to the guess" + (
        "" if settled is None else f": it creeps to another one, {settled.stability}"
    )
    advice = 'start from a guess next to the equilibrium that is meant, or ask for prefer="stable"'
    yield Finding("strayed", "trim", found, expected, advice)


def to_stable(point: OperatingPoint, unknowns: Unknowns, settling: Settling) -> OperatingPoint:
    """Return an equilibrium that does not grow: the one found, or where the guess, or else what was found, settles.

    Raises
    ------
    ConvergenceError
        If none is found; with the unstable one.
    """
    rng, start = np.random.default_rng(0), unknowns
    for _ in range(_TRIES):
        if not len(point.growing):
            return point
        with suppress(ConvergenceError, ModelError):  # as above
            point = settling.from_guess(start)
            if not len(point.growing):
                return point
        start = _beside(point, unknowns, rng)
    raise ConvergenceError(
        "no stable equilibrium is found: neither the guess nor what was found, an unstable equilibrium, comes to rest at one; "
        "try another guess",
        point,
    )


def _beside(point: OperatingPoint, unknowns: Unknowns, rng: np.random.Generator) -> Unknowns:
    """Return the unknowns with a guess a little beside a point, on some side, loops closed again if they can be."""
    model, aside = point.model, np.zeros(point.model.nv)
    own = unknowns.select(Kind.POSITION)[1]
    aside[own] = _ASIDE * unknowns.sizes.coordinates[own] * rng.normal(size=len(own))
    q, x = displaced(model, point.q, aside), followed(point, aside)
    with suppress(ConvergenceError):
        q = model.assemble(q) if model.is_constrained else q
    return Unknowns(replace(unknowns.guess, q=q, x=x), unknowns.entries, unknowns.sizes, unknowns.axes)


def _apart(unknowns: Unknowns, first: Array, second: Array) -> Array:
    """Return by how much two configurations differ (nv), in what counts as one of each coordinate."""
    apart: Array = np.abs(unknowns.guess.model.difference(first, second)) / unknowns.sizes.coordinates
    return apart
