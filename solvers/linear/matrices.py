"""A linear model as its matrices: responses, parts, loops closed around it, models in series and side by side."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from titop.blocks.basics.spatial import Array


@dataclass(frozen=True)
class Matrices:
    """``dx/dt = A x + B w``, ``z = C x + D w``, or a sampled model; they unpack as ``A, B, C, D``.

    The unit of time is the model's own; of an `UncertainLoop`, poles and frequencies are in parts of its rate.
    """

    A: Array
    B: Array
    C: Array
    D: Array

    def __iter__(self) -> Iterator[Array]:
        return iter((self.A, self.B, self.C, self.D))

    @classmethod
    def of(cls, system: Any) -> Matrices:
        """Return those of a state space, as arrays of their own."""
        return cls(*(np.array(getattr(system, name), dtype=float) for name in "ABCD"))

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

    def responses(self, points: Array) -> Array:
        """Return the responses (n, outputs, inputs) at values of s, or of z of a sampled model."""
        eye = np.eye(len(self.A))
        return np.array([self.C @ np.linalg.solve(x * eye - self.A, self.B) + self.D for x in points])

    def close_loop(self, delta: Array) -> Matrices:
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

    def scale(self, outputs: Array, inputs: Array | float = 1.0) -> Matrices:
        """Return the model with outputs and inputs multiplied by numbers."""
        return Matrices(self.A, self.B * inputs, outputs[:, None] * self.C, outputs[:, None] * self.D * inputs)

    def in_series(self, behind: Matrices) -> Matrices:
        """Return the model with another behind its outputs, whose states come last."""
        (A, B, C, D), (a, b, c, d) = self, behind
        joined = np.block([[A, np.zeros((len(A), len(a)))], [b @ C, a]])
        return Matrices(joined, np.vstack([B, b @ D]), np.hstack([d @ C, c]), d @ D)


def side_by_side(systems: Sequence[Matrices]) -> Matrices:
    """Return models with states, inputs and outputs one after the other."""
    from scipy.linalg import block_diag

    return Matrices(*(block_diag(*matrices) for matrices in zip(*systems, strict=True)))
