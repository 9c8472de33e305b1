"""Where ports are in the planet's inertial frame, for what surrounds a spacecraft: magnetic fields, air, sunlight."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np

from titop.blocks.basics.errors import Finding
from titop.blocks.basics.spatial import Array
from titop.blocks.interactions.interaction import Interaction
from titop.blocks.laws.vectors import Matrix, Vector, product, times

#: The world's axes (9, row by row; as columns), origin (3) and the origin's velocity (3), all in the planet's inertial frame.
Place = Array
#: Of a world that is inertial, with its origin in the planet's centre.
CENTRED: Place = np.concatenate([np.eye(3).ravel(), np.zeros(6)])
#: How many numbers a place is.
PLACE = len(CENTRED)


def place_of_world(field: Any) -> Place:
    """Return the place of the world in a field of gravity, or in none."""
    if field is None:
        return CENTRED
    axes, origin = field.place
    return np.concatenate([np.ravel(axes), origin, field.velocity])


def held_place(name: str, place: Place) -> Iterator[Finding]:
    """Yield the warning for simulations in which the surroundings would move with the world, but do not."""
    if place[12:].any():
        found, expected = "a world that moves along its orbit", "an inertial one: field and light are those of one anomaly"
        advice = "simulate with gravity=orbit.gravity, from orbit.state()"
        yield Finding("held-surroundings", name, found, expected, advice)


def inertial_place(numbers: Any, at: Any, motion: Any, k: Any) -> tuple[Vector, Matrix]:
    """Return position (3, m) and attitude (9) of port k in the planet's frame; the world's place is in `numbers` at `at`."""
    R, r, o = motion.R[k], motion.r[k], at + 9
    world = (
        *(numbers[at], numbers[at + 1], numbers[at + 2]),
        *(numbers[at + 3], numbers[at + 4], numbers[at + 5]),
        *(numbers[at + 6], numbers[at + 7], numbers[at + 8]),
    )
    turn = R[0, 0], R[0, 1], R[0, 2], R[1, 0], R[1, 1], R[1, 2], R[2, 0], R[2, 1], R[2, 2]
    x, y, z = times(world, (r[0], r[1], r[2]))
    return (x + numbers[o], y + numbers[o + 1], z + numbers[o + 2]), product(world, turn)


class PlacedInteraction(Interaction):
    """Common part of interactions whose law needs the world's place, the first numbers of the law."""

    file_tables: ClassVar[tuple[str, ...]] = ("interactions",)
    #: Of the world, as `CENTRED`.
    place: Place = CENTRED
    own_ports = ("world",)

    def under(self, gravity: Array, field: Any) -> Interaction:
        place = place_of_world(field)
        if place.dtype != object and (place == self.place).all():
            return self
        placed = copy.copy(self)
        placed.place, placed.own_blocks = place, (field,)
        return placed

    def along_time(self) -> Iterator[Finding]:
        return held_place(self.name, self.place)
