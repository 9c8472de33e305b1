"""What is suspicious about where lines run in rods."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from titop.blocks.basics.errors import Finding
from titop.blocks.basics.spatial import Array
from titop.blocks.basics.tolerances import NEGLIGIBLE, SAME
from titop.blocks.bodies.rods.quadrature import MAX_POINTS
from titop.blocks.bodies.rods.rod import Rod
from titop.blocks.interactions.rod_routing import Path, Routing

#: How many places of the line are looked at on each rod.
_PLACES = 33


def routing_findings(
    name: str, rods: Sequence[Rod], routing: Routing, path_with: Callable[[int], Path], needs_lever: bool
) -> Iterator[Finding]:
    """Yield what is suspicious: lines outside the sections, lines that do nothing, too few points.

    Parameters
    ----------
    name : str
        Of the line.
    rods : sequence of Rod
    routing : Routing
    path_with : callable
        Returns the line with so many points.
    needs_lever : bool
        Whether it is to bend or twist, not only to shorten.
    """
    X, places, reach, parts = _looked_at(rods, routing)
    size, distance = reach.max(), np.hypot(*places)
    worst = int(parts.argmax())
    if parts[worst] > 1.0 + SAME:
        found = f"y = {places[0, worst]:.4g} m, z = {places[1, worst]:.4g} m at X = {X[worst]:.4g} m"
        expected = f"a place in the section, which reaches {reach[0, worst]:.4g} m and {reach[1, worst]:.4g} m"
        advice = "check y, z and their unit, or write relative=True for parts of the half widths"
        yield Finding("outside-the-section", name, found, expected, advice)
    rest = np.zeros(sum(rod.nv for rod in rods))
    given, dense = path_with(routing.points).gradient(rest), path_with(MAX_POINTS).gradient(rest)
    if needs_lever and distance.max() <= SAME * size:
        advice = "move it off the axis by y or z: along the axis it can only shorten"
        yield Finding("no-lever", name, "a line along the axis", "a distance from the axis", advice)
    elif np.abs(dense).max() <= SAME * np.abs(path_with(routing.points).measure(rest)):
        advice = "check y and z against the rod's free strains: bending_z wants y, bending_y wants z"
        yield Finding("no-lever", name, "no effect on any coordinate at rest", "a line that moves the rod", advice)
    elif np.abs(given - dense).max() > NEGLIGIBLE * np.abs(dense).max():
        enough = next(
            (
                points
                for points in range(routing.points + 1, MAX_POINTS)
                if np.abs(path_with(points).gradient(rest) - dense).max() <= NEGLIGIBLE * np.abs(dense).max()
            ),
            MAX_POINTS,
        )
        expected = f"{enough} points or more, which this routing needs for errors below {NEGLIGIBLE:.1%}"
        yield Finding("coarse-routing", f"{name}.points", routing.points, expected, f"write points={enough}")


def _looked_at(rods: Sequence[Rod], routing: Routing) -> tuple[Array, Array, Array, Array]:
    """Return abscissas (k, m), y and z there and the sections' half widths (2, k each; m), and how much of these they take."""
    rows, first = [], 0.0
    for rod in rods:
        start, stop = (min(max((end - first) / rod.given_length, 0.0), 1.0) for end in (routing.start, routing.end))
        if stop > start:
            fractions = start + (stop - start) * np.linspace(SAME, 1.0 - SAME, _PLACES)
            places = np.real(routing.places(rod, first, fractions))
            reach = np.real(rod.section.reach(fractions, rod.given_length))
            across = places / np.where(reach == 0.0, 1.0, reach)
            parts = np.abs(across).max(0) if rod.section.shape == "rectangle" else np.hypot(*across)
            rows.append(np.vstack([first + rod.given_length * fractions, places, reach, parts]))
        first += rod.given_length
    X, y, z, along_y, along_z, parts = np.hstack(rows)
    return X, np.array([y, z]), np.array([along_y, along_z]), parts
