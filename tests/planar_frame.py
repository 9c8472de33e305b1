"""Plane frames of corotational beam elements at rest: an oracle for planar rods that shares nothing with them.

Two nodes an element, each with x, z and the angle from x towards z; small strains in the element's own axes, which turn with it
(M. A. Crisfield, Non-linear Finite Element Analysis of Solids and Structures, vol. 1, chapter 7), with shear (Timoshenko).
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


@dataclass
class Frame:
    """A frame that is put together element by element.

    Attributes
    ----------
    young, shear, gravity : float
        Moduli (Pa), and along -z (m/s^2).
    nodes : list of (2,) arrays, m
    elements : list
        Both ends, each as numbers of x, z and angle; then area (m^2), its second moment (m^4), mass per length (kg/m).
    count : int
        How many numbers there are.
    """

    young: float
    shear: float
    gravity: float = 9.81
    places: list[float] = field(default_factory=list)
    elements: list[tuple[list[int], float, float, float]] = field(default_factory=list)

    def node(self, place: Array) -> list[int]:
        """Return the numbers of x, z and angle of a new node."""
        self.places += [float(place[0]), float(place[1]), 0.0]
        return list(range(len(self.places) - 3, len(self.places)))

    def hinged(self, node: list[int]) -> list[int]:
        """Return the numbers of a new node that turns by itself where another one is."""
        return [node[0], node[1], self.node(np.zeros(2))[2]]

    def beam(self, first: list[int], last: list[int], section: tuple[float, float], density: float, count: int) -> None:
        """Join two nodes by a beam of so many elements; the section is height and width (m)."""
        ends = np.array([[self.places[k] for k in node[:2]] for node in (first, last)])
        height, width = section
        within = [self.node(ends[0] + k / count * (ends[1] - ends[0])) for k in range(1, count)]
        for one, two in zip([first, *within], [*within, last], strict=True):
            area = height * width
            self.elements.append(([*one, *two], area, area * width**2 / 12, density * area))

    def at_rest(self, given: dict[int, float], steps: int = 8) -> tuple[Array, Array]:
        """Return all numbers at equilibrium, some moved by as much as `given`, and what holds these (N, N m)."""
        where = np.array([each[0] for each in self.elements])
        start = np.array(self.places)
        ends = start[where].reshape(-1, 2, 3)[:, :, :2]
        lengths = np.linalg.norm(ends[:, 1] - ends[:, 0], axis=1)
        used = np.unique(where)
        free = np.setdiff1d(used, list(given))
        x, weight = start.copy(), np.zeros(len(start))
        for (numbers, _, _, line), length in zip(self.elements, lengths, strict=True):
            weight[[numbers[1], numbers[4]]] -= 0.5 * line * length * self.gravity
        for step in range(1, steps + 1):
            for number, by in given.items():
                x[number] = start[number] + by * step / steps
            for _ in range(30):
                forces = self._forces(start[where], x[where])
                left = np.zeros(len(x))
                np.add.at(left, where, forces)
                left -= weight
                if np.abs(left[free]).max() < 1e-7:  # N: rounding of places by stiffness leaves a tenth of it
                    break
                stiffness = np.zeros((len(x), len(x)))
                for j in range(6):  # complex steps
                    moved = x[where].astype(complex)
                    moved[:, j] += 1e-30j
                    columns = self._forces(start[where], moved).imag / 1e-30
                    np.add.at(stiffness, (where, where[:, j : j + 1]), columns)
                x[free] -= np.linalg.solve(stiffness[np.ix_(free, free)], left[free])
            else:
                raise AssertionError("no equilibrium of the frame")
        return x, left

    def _forces(self, before: Array, now: Array) -> Array:
        """Return what the elements' ends are pulled with by their deformation (m x 6, N and N m)."""
        area, moment = (np.array([each[k] for each in self.elements]) for k in (1, 2))
        was, way = before[:, 3:5] - before[:, :2], now[:, 3:5] - now[:, :2]
        length, long = np.sqrt((was**2).sum(axis=1)), np.sqrt((way**2).sum(axis=1))
        turned = np.arctan((was[:, 0] * way[:, 1] - was[:, 1] * way[:, 0]) / (was * way).sum(axis=1))
        one, two = now[:, 2] - before[:, 2] - turned, now[:, 5] - before[:, 5] - turned
        soft = 12.0 * self.young * moment / (5.0 / 6.0 * self.shear * area * length**2)
        stiff, pull = self.young * moment / length / (1.0 + soft), self.young * area * (long - length) / length
        first, last = stiff * ((4.0 + soft) * one + (2.0 - soft) * two), stiff * ((2.0 - soft) * one + (4.0 + soft) * two)
        along, across = way / long[:, None], np.stack([-way[:, 1], way[:, 0]], axis=1) / long[:, None] ** 2
        force = pull[:, None] * along - (first + last)[:, None] * across
        return np.column_stack([-force, first, force, last])
