"""The matrices of a linear model around which an uncertainty closes a loop."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from titop.blocks.basics.spatial import Array
from titop.solvers.robust.structure import Structure


@dataclass(frozen=True)
class Matrices:
    """``dx/dt = A x + B w``, ``z = C x + D w``.

    The unit of time is the system's own: poles and frequencies are in parts of the rate of an `UncertainLoop`.
    """

    A: Array
    B: Array
    C: Array
    D: Array

    @classmethod
    def constant(cls, D: Array) -> Matrices:
        """Return a matrix (outputs, inputs) as a model without states."""
        return cls(np.zeros((0, 0)), np.zeros((0, D.shape[1])), np.zeros((D.shape[0], 0)), D)

    @cached_property
    def poles(self) -> Array:
        """Eigenvalues of A (n)."""
        return np.linalg.eigvals(self.A)

    def response(self, omega: float) -> Array:
        """Return the response (outputs, inputs; own units) at a frequency, which may be infinite."""
        if np.isinf(omega):
            return self.D.astype(complex)
        return self.C @ np.linalg.solve(1j * omega * np.eye(len(self.A)) - self.A, self.B) + self.D

    def closed(self, delta: Array) -> Matrices:
        """Return the model of the remaining channels with ``w = Δ z + w'`` on the first ones, which stay.

        Raises
        ------
        LinAlgError
            If the loop is ill-posed.
        """
        n, m = delta.shape
        full = np.zeros((self.B.shape[1], self.C.shape[0]), dtype=delta.dtype)
        full[:n, :m] = delta
        inner = np.linalg.inv(np.eye(len(self.D)) - self.D @ full)
        fed = full @ inner
        return Matrices(
            self.A + self.B @ fed @ self.C,
            self.B @ (np.eye(len(full)) + fed @ self.D),
            inner @ self.C,
            inner @ self.D,
        )

    def part(self, outputs: Any, inputs: Any) -> Matrices:
        """Return the model of some outputs and inputs."""
        return Matrices(self.A, self.B[:, inputs], self.C[outputs], self.D[np.ix_(outputs, inputs)])

    def scaled(self, outputs: Array, inputs: Array | float = 1.0) -> Matrices:
        """Return the model with outputs and inputs multiplied by numbers."""
        return Matrices(self.A, self.B * inputs, outputs[:, None] * self.C, outputs[:, None] * self.D * inputs)


def uncertain_part(system: Matrices, structure: Structure) -> Matrices:
    """Return the channels of the uncertainty alone."""
    w, z = structure.shape
    return system.part(np.arange(z), np.arange(w))
