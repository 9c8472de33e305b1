"""Ready kinematics of deformable bodies."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from titop.blocks.bodies.soft.functions import cosc, sinc, where


class Kinematics:
    """A function ``f(x, q)`` or ``f(x, q, numbers)`` that knows its coordinates.

    Parameters
    ----------
    function : callable
    coordinates : sequence of str
    units : sequence of str
        Of the coordinates.
    scales : sequence of float, optional
        How far each coordinate goes until the function bends; 1 by default.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        coordinates: Sequence[str],
        units: Sequence[str],
        scales: Sequence[float] | None = None,
    ) -> None:
        self.function = function
        self.coordinates, self.units = tuple(coordinates), tuple(units)
        self.scales = None if scales is None else tuple(scales)

    def __call__(self, x: Any, q: Any) -> Any:
        """Return the place (3) of the point that rests at x."""
        return self.function(x, q)

    sinc = staticmethod(sinc)
    cosc = staticmethod(cosc)
    where = staticmethod(where)

    @classmethod
    def constant_curvature(cls, length: float, elongation: bool = False) -> Kinematics:
        """Return constant curvature in the x-z plane, along z from the origin.

        Parameters
        ----------
        length : float, m
        elongation : bool
            Whether the centre line stretches too.
        """

        def bend(x: Any, q: Any) -> Any:
            angle, height = q[0] * x[2] / length, x[2] * (1.0 + q[1] / length) if elongation else x[2]
            return [
                height * angle * cosc(angle) + x[0] * np.cos(angle),
                x[1],
                height * sinc(angle) - x[0] * np.sin(angle),
            ]

        names = ("bending", "elongation") if elongation else ("bending",)
        return cls(bend, names, ("rad", "m")[: len(names)], (1.0, 0.3 * length)[: len(names)])
