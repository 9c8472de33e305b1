"""Blocks with inputs of their own."""

from __future__ import annotations

from typing import Any

import numpy as np

import titop as tt
from examples.custom_block import ConstantCurvatureSegment
from titop.blocks.basics.spatial import Array


class TendonSegment(ConstantCurvatureSegment):
    """A soft segment bent by a tendon whose lever arm grows as it bends, and by an antagonist."""

    inputs = ("front", "back")
    input_units = ("N", "N")
    parameter_units = {**ConstantCurvatureSegment.parameter_units, "lever": "m"}  # noqa: RUF012

    def __init__(self, name: str, lever: float = 0.05, **fields: Any) -> None:
        super().__init__(name, **fields)
        self.lever = lever

    def input_matrix(self, q: Array) -> Array:
        return self.lever * np.array([[1.0 + 2.0 * np.sin(q[0]), -np.cos(q[0])]])


class PiezoPanel(tt.FlexibleBody):
    """A panel with one patch, whose effect fades where the panel bends much."""

    inputs = ("patch",)
    input_units = ("V",)

    def input_matrix(self, q: Array) -> Array:
        weights = np.linspace(1.0, -0.5, self.nv)
        return (weights / (1.0 + 4.0 * (q @ q)))[:, None]


class Muscle(tt.Revolute):
    """A hinge pulled by a muscle."""

    inputs = ("pull",)

    def input_matrix(self, q: Array) -> Array:
        return np.array([[0.3 * np.cos(q[0])]])


class Telescope(tt.Block):
    """A block of ones own whose functions lose imaginary parts."""

    coordinates = ("x",)
    units = ("m",)
    ports = ("C",)
    inputs = ("pressure",)

    def pose(self, port: str, q: Array) -> tuple[Array, Array]:
        return np.eye(3), np.array([0.0, 0.0, 1.0 + float(np.real(q[0]))])

    def mass_matrix(self, q: Array) -> Array:
        return np.diag([2.0, 2.0, 2.0, 0.1, 0.1, 0.1, 0.5])

    def input_matrix(self, q: Array) -> Array:
        return np.array([[np.exp(-abs(float(np.real(q[0])) + 2.0))]])
