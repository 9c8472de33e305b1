"""Equilibria that stand, where the search from the guess leads astray: loads raised in steps, and systems that creep to rest.

Newton's method from rest under the full load may fail, or end at an equilibrium that no raising of the load leads to. In steps
(`raise_loads`) each equilibrium is next to the one before: accepted are those that few Newton steps of falling length reach,
and that stand. To which equilibrium a guess belongs is told by creeping from it (`creep`), the motion of the system in honey:
what stands draws it. `Settling` compares that with what the search has found.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from titop.blocks.basics.errors import ConvergenceError, Finding, ModelError
from titop.blocks.basics.spatial import Array
from titop.blocks.basics.tolerances import CLOSE, COARSE, NEGLIGIBLE
from titop.solvers.arguments.reading import is_without_dynamics
from titop.solvers.equilibrium.displacements import displace, following_states
from titop.solvers.equilibrium.equations import AccelerationEquations, efforts_of_motions, stands
from titop.solvers.equilibrium.newton import Course, shortest_solution
from titop.solvers.equilibrium.operating_point import OperatingPoint
from titop.solvers.equilibrium.unknowns import TrimUnknowns
from titop.solvers.model.parameters import changed_model
from titop.solvers.signals.quantities import Kind

# -- loads raised in steps -------------------------------------------------------------------------------------------------

#: First step, in parts of the load; what a step grows by after success; where equilibria are said to end.
_FIRST, _GROWTH, _LEAST = 0.25, 1.6, 2.0**-20


def with_part_of_loads(point: OperatingPoint, part: float) -> OperatingPoint:
    """Return a point with a part of its gravity, loads, wrenches, efforts and inputs."""
    if part == 1.0:
        return point
    names = [] if point.model.mechanism.assembly.field else [f"gravity.{axis}" for axis in "xyz"]
    for block in point.model.mechanism.assembly.blocks.values():
        names += [f"{block.name}.{entry}" for entry in block.load_parameters]
    numbers = point.model.parameters()
    changes = {name: part * numbers[name][0] for name in names if numbers[name][0]}
    return replace(
        point,
        model=changed_model(point.model, changes) if changes else point.model,
        tau=part * point.tau,
        a=part * point.a,
        u=None if point.u is None else part * point.u,
        wrenches={port: part * np.asarray(wrench) for port, wrench in (point.wrenches or {}).items()},
    )


def raise_loads(unknowns: TrimUnknowns, search: Callable[[TrimUnknowns, Course], OperatingPoint]) -> OperatingPoint | None:
    """Return the equilibrium that raising the loads from nothing leads to; None if without them no shape is kept.

    The unknowns are all coordinates, at rest; `search` writes down its course.

    Raises `ConvergenceError` if the equilibria end before the whole load: with the part that they reach.
    """
    full = unknowns.guess
    try:
        before = last = search(TrimUnknowns(with_part_of_loads(full, 0.0)), Course())
    except ConvergenceError:
        return None
    if not stands(last):
        return None
    came_from, reached, step, reason = 0.0, 0.0, _FIRST, ""
    while reached < 1.0:
        part = min(1.0, reached + step)
        onwards = (part - reached) / (reached - came_from) if reached > came_from else 0.0
        dq = onwards * full.model.difference(before.q, last.q)
        q, x = displace(full.model, last.q, dq), following_states(last, dq)
        course = Course(strict=True)
        try:
            point = search(TrimUnknowns(replace(with_part_of_loads(full, part), q=q, x=x)), course)
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


# -- creeping to rest ------------------------------------------------------------------------------------------------------

#: Longest change of a coordinate in a step, in what counts as one of it.
_LONGEST = 0.5
#: By how much a step's time falls where it leads too far, and grows at most where the residual falls.
_SHORTER, _LONGER = 0.25, 10.0
#: A step's time at most, in that in which what grows does so by e: implicit steps of more than one lead back to what does not
#: stand, or across it.
_UNSTABLE = 0.5


def creep(unknowns: TrimUnknowns, steps: int) -> TrimUnknowns:
    """Return the unknowns with a guess near the equilibrium to which theirs creeps, or with what is reached in so many steps.

    Coordinates follow ``dq/ds = a(q)`` by implicit steps, in a time that grows as the accelerations fall, until the steps are
    Newton's, which is as fast where they are `CLOSE`: pseudo-transient continuation (Kelley and Keyes, SIAM Journal on
    Numerical Analysis 35, 1998). Each step begins at zero displacement, so that rotations may be of any size. Steps are short
    enough to leave an equilibrium that does not stand. Unknowns are coordinates, at rest; other coordinates stay.
    """
    here, still = unknowns, np.zeros(len(unknowns.entries))
    values, time = _along_unknowns(here, AccelerationEquations(here).residual(still)), 0.0
    for _ in range(steps):
        size = float(np.linalg.norm(values))
        if size < CLOSE:
            break
        time, growth, equations = time or 0.1 / size, _growth(here), AccelerationEquations(here)
        time = min(time, _UNSTABLE / growth) if growth else time
        matrix = -_along_unknowns(here, equations.derivatives(still))
        matrix[np.diag_indices(len(still))] += 1.0 / time
        step = shortest_solution(matrix, values)
        ahead = _along_unknowns(here, equations.residual(step))
        if not np.isfinite(ahead).all() or np.abs(step).max() > _LONGEST:
            time *= _SHORTER
            continue
        here = TrimUnknowns(here.at(step), unknowns.entries, unknowns.sizes, unknowns.axes)
        least = 1.0 if growth else _SHORTER  # residuals grow on the way down from what does not stand
        values, time = ahead, time * min(max(size / float(np.linalg.norm(ahead)), least), _LONGER)
    return TrimUnknowns(here.guess, unknowns.entries, axes=unknowns.axes)


def _along_unknowns(unknowns: TrimUnknowns, equations: Array) -> Array:
    nv, rows = unknowns.guess.model.nv, unknowns.select(Kind.POSITION)[1]
    along = equations[:nv] if unknowns.transform is None else unknowns.transform.T @ equations[:nv]
    return np.concatenate([along[rows], equations[nv:]])


def _growth(unknowns: TrimUnknowns) -> float:
    """Return how fast creeping from the guess grows, in what counts as one of rates, squared; zero if nothing does.

    Zero too where closures leave no matrix to tell it by: creeping goes on as where nothing grows.
    """
    point, rows = unknowns.guess, unknowns.select(Kind.POSITION)[1]
    try:
        by_q = point.forward_derivatives[0]
        if point.model.is_constrained:
            by_q = np.linalg.solve(efforts_of_motions(point, np.eye(len(by_q))), efforts_of_motions(point, by_q))
        else:
            by_q = by_q[np.ix_(rows, rows)]
        return float(np.linalg.eigvals(by_q).real.max(initial=0.0)) / unknowns.sizes.rate**2
    except np.linalg.LinAlgError:
        return 0.0


# -- where a system settles ------------------------------------------------------------------------------------------------

#: How far a system is pushed aside from an unstable equilibrium, in what counts as one of coordinates; how often.
_ASIDE, _TRIES = COARSE, 4
#: So often a system goes on creeping that is not at rest yet.
_ROUNDS = 8


def can_settle(unknowns: TrimUnknowns) -> bool:
    """Tell whether coordinates alone are sought, at rest: what then moves may come to rest."""
    return not unknowns.guess.v.any() and all(entry.kind == Kind.POSITION for entry in unknowns.entries)


def refuse_preference(prefer: Any, unknowns: TrimUnknowns) -> None:
    """Refuse preferences that are none, or that nothing can be found by."""
    if prefer not in (None, "stable"):
        raise ModelError(Finding("unknown-preference", "prefer", prefer, "'stable' or None", "leave it out for the nearest"))
    if prefer and not can_settle(unknowns):
        others = [entry.name for entry in unknowns.entries if entry.kind != Kind.POSITION]
        wish = f"'stable' beside {', '.join(others)}" if others else "'stable' at a moving point"
        advice = "seek coordinates, at rest; hold efforts and parameters, or leave prefer out and look at .stability"
        raise ModelError(Finding("unusable-preference", "prefer", wish, "coordinates alone as unknowns, at rest", advice))


@contextmanager
def nothing_found() -> Iterator[None]:
    """Go on behind a search that finds nothing, or that comes to a state without dynamics, as a singular configuration is."""
    try:
        yield
    except ConvergenceError:
        pass
    except ModelError as error:
        if not is_without_dynamics(error):
            raise


class Settling(NamedTuple):
    """How a system is brought to rest: by creeping from a guess for some steps, and by a search next to where that ends."""

    steps: int
    search: Callable[[TrimUnknowns], OperatingPoint]

    def from_guess(self, unknowns: TrimUnknowns, rounds: int = _ROUNDS) -> OperatingPoint:
        """Return the equilibrium to which a guess creeps.

        Raises `ConvergenceError` if it comes to rest at none in so many rounds.
        """
        for left in reversed(range(rounds)):
            unknowns = creep(unknowns, self.steps)
            try:
                return self.search(unknowns)
            except ConvergenceError:
                if not left:
                    raise
        raise ValueError(rounds)

    def to_stable(self, point: OperatingPoint, unknowns: TrimUnknowns) -> OperatingPoint:
        """Return an equilibrium that does not grow: the one found, or where the guess, or else what was found, settles.

        Raises `ConvergenceError` if none is found; with the unstable one.
        """
        rng, start = np.random.default_rng(0), unknowns
        for _ in range(_TRIES):
            if not len(point.growing):
                return point
            with nothing_found():
                point = self.from_guess(start)
                if not len(point.growing):
                    return point
            start = _perturb(point, unknowns, rng)
        raise ConvergenceError(
            "no stable equilibrium is found: neither the guess nor what was found, an unstable equilibrium, comes to rest at "
            "one; try another guess",
            point,
        )

    def strayed_findings(self, point: OperatingPoint, unknowns: TrimUnknowns) -> Iterator[Finding]:
        """Yield a finding where a search that strayed has found an unstable equilibrium to which its guess does not creep."""
        if not len(point.growing):
            return
        settled = None
        with nothing_found():
            settled = self.from_guess(unknowns)
        if settled is not None and _distances(unknowns, point.q, settled.q).max(initial=0.0) <= NEGLIGIBLE:
            return
        farthest = point.model.coordinate_names[int(_distances(unknowns, unknowns.guess.q, point.q).argmax())]
        value = f"an unstable equilibrium away from the guess, most of all in {farthest}"
        other = "" if settled is None else f": it creeps to another one, {settled.stability}"
        advice = 'start from a guess next to the equilibrium that is meant, or ask for prefer="stable"'
        advice += f'; to hold the guess by efforts, make these the unknowns: tt.trim(m, ["{farthest}.tau", ...], q=guess)'
        yield Finding("strayed", "trim", value, f"the equilibrium next to the guess{other}", advice)


def _perturb(point: OperatingPoint, unknowns: TrimUnknowns, rng: np.random.Generator) -> TrimUnknowns:
    """Return the unknowns with a guess a little beside a point, on some side, loops closed again if they can be."""
    model, aside, chosen = point.model, np.zeros(point.model.nv), unknowns.select(Kind.POSITION)[1]
    aside[chosen] = _ASIDE * unknowns.sizes.coordinates[chosen] * rng.normal(size=len(chosen))
    q, x = displace(model, point.q, aside), following_states(point, aside)
    with suppress(ConvergenceError):
        q = model.assemble(q) if model.is_constrained else q
    return TrimUnknowns(replace(unknowns.guess, q=q, x=x), unknowns.entries, unknowns.sizes, unknowns.axes)


def _distances(unknowns: TrimUnknowns, first: Array, second: Array) -> Array:
    return np.abs(unknowns.guess.model.difference(first, second)) / unknowns.sizes.coordinates
