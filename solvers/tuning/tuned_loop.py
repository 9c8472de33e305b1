"""A plant with a controller whose matrices are to be tuned: closed, its gains, and how they change with these matrices.

All blocks of a controller together are one matrix around a plant that has their states, too,

    (dx_K/dt, f) = S (x_K, e),

where e are what the blocks take and f what they give. What connects blocks with each other and with the plant stands in
the augmented plant, from ``(w, dx_K/dt, f)`` to ``(z, x_K, e)``. So every structure is a constant gain S, partly tuned.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy.linalg.lapack import dgees, dtrsyl

from titop.blocks.basics.spatial import Array
from titop.blocks.basics.tolerances import SINGULAR
from titop.solvers.linear.matrices import Matrices, side_by_side
from titop.solvers.linear.peaks import Modal


class BlockWires(NamedTuple):
    """How blocks are connected, as matrices of zeros, ones and signs.

    - `references` (e, references);
    - `states`: of all blocks;
    - `measured` (e, outputs): what blocks take from outputs of the plant, with the sign of the feedback;
    - `inner` (e, f): what they take from each other;
    - `driven` (inputs, f): what they give to inputs of the plant.
    """

    states: int
    measured: Array
    inner: Array
    references: Array
    driven: Array


@dataclass(frozen=True)
class Plant:
    """A plant with a hold and delays before it: ``(w, d, u) -> (z, y, u_late)``.

    - `system`: its inputs are w of an uncertainty, disturbances d at all inputs, and what the controller gives to each; its
      outputs z, y and what arrives of the last;
    - `channels`: sizes of w and z;
    - `inputs`, `outputs`: numbers of d, and of y.
    """

    system: Matrices
    channels: tuple[int, int]
    inputs: int
    outputs: int

    @classmethod
    def of(cls, system: Matrices, channels: tuple[int, int], late: Sequence[int] = (), period: float = 0.0) -> Plant:
        """Return a plant of its matrices, what the controller gives late by whole samples, by input.

        Sampled ones are seen by the bilinear map, where a sample's delay is ``(1 - s T / 2) / (1 + s T / 2)``.
        """
        (A, B, C, D), (w, z) = system, channels
        m, p = B.shape[1] - w, len(C) - z
        counts = list(late) or [0] * m
        passing = side_by_side([_delays(count, period) for count in counts])
        Bu, Du, n, k = B[:, w:], D[:, w:], len(A), len(passing.A)
        joined = Matrices(
            np.block([[A, Bu @ passing.C], [np.zeros((k, n)), passing.A]]),
            np.block([[B, Bu @ passing.D], [np.zeros((k, w + m)), passing.B]]),
            np.block([[C, Du @ passing.C], [np.zeros((m, n)), passing.C]]),
            np.block([[D, Du @ passing.D], [np.zeros((m, w + m)), passing.D]]),
        )
        return cls(joined, channels, m, p)

    def member(self, delta: Array) -> Plant:
        """Return the plant with its uncertainty closed by a matrix (w, z). Raises `LinAlgError` where that is ill-posed."""
        w, z = self.channels
        closed = self.system.close_loop(delta)
        part = closed.part(np.arange(z, len(closed.C)), np.arange(w, closed.B.shape[1]))
        return Plant(part, (0, 0), self.inputs, self.outputs)


def _delays(count: int, period: float) -> Matrices:
    """Return a delay by whole samples, seen by the bilinear map."""
    result = Matrices.constant(np.ones((1, 1)))
    fast = 2 / period if period else 0.0
    one = Matrices(np.array([[-fast]]), np.array([[1.0]]), np.array([[2 * fast]]), np.array([[-1.0]]))
    for _ in range(count):
        result = result.in_series(one)
    return result


def augment(plant: Plant, wires: BlockWires, opened: Sequence[int] = ()) -> Matrices:
    """Return the augmented plant.

    Its inputs: w, disturbances at all inputs of the plant, noise on all its outputs as they are measured, references; then S's
    outputs. Its outputs: z, the plant's, those measured, what the controller gives to each input of the plant, all that each
    has; then S's inputs. `opened`: inputs of the plant that the controller does not reach, loops opened there.
    """
    (A, B, C, D), (w, z), m, p = plant.system, plant.channels, plant.inputs, plant.outputs
    n, (taken, given), measured = wires.states, wires.inner.shape, wires.measured
    driven = wires.driven.copy()
    driven[list(opened)] = 0.0
    sizes = [w, m, p, wires.references.shape[1], n, given]
    # rows that pick from all inputs
    of_w, of_d, noise, references, rates, f = np.split(np.eye(sum(sizes)), np.cumsum(sizes)[:-1])
    into, give = np.vstack([of_w, of_d, driven @ f]), driven @ f
    (z_x, y_x, late_x), (z_u, y_u, late_u) = (np.split(rows, [z, z + p]) for rows in (C, D @ into))
    taking = measured @ (y_u + noise) + wires.references @ references + wires.inner @ f
    by_x = np.vstack([z_x, y_x, y_x, np.zeros((m, len(A))), late_x, np.zeros((n, len(A))), measured @ y_x])
    return Matrices(
        np.block([[A, np.zeros((len(A), n))], [np.zeros((n, len(A) + n))]]),
        np.vstack([B @ into, rates]),
        np.hstack([by_x, np.eye(len(by_x), n, n + taken - len(by_x))]),
        np.vstack([z_u, y_u, y_u + noise, give, late_u + of_d, 0 * rates, taking]),
    )


class AugmentedPlant:
    """An augmented plant in parts: external channels, and those of S, whose rows and columns have `sizes`."""

    def __init__(self, system: Matrices, sizes: tuple[int, int]) -> None:
        outputs, inputs = sizes
        first_u, first_y = system.B.shape[1] - outputs, len(system.C) - inputs
        self.A = system.A
        self.B1, self.B2 = system.B[:, :first_u], system.B[:, first_u:]
        self.C1, self.C2 = system.C[:first_y], system.C[first_y:]
        self.D11, self.D12 = system.D[:first_y, :first_u], system.D[:first_y, first_u:]
        self.D21, self.D22 = system.D[first_y:, :first_u], system.D[first_y:, first_u:]
        self.has_loops_at_once = bool(self.D22.any())
        self._ones = np.eye(outputs), np.eye(inputs)

    def close(self, S: Array) -> ClosedLoop | None:
        """Return the loop around a gain S; None where that has no solution at once, or is not finite."""
        if not np.isfinite(S).all():
            return None
        K, after, before = S, self._ones[0], self._ones[1]
        if self.has_loops_at_once:
            loop = after - S @ self.D22
            sizes = np.linalg.svd(loop, compute_uv=False)
            if not sizes[-1] > SINGULAR * (1 + sizes[0]):
                return None
            after = np.linalg.inv(loop)
            K = after @ S
            before = before + self.D22 @ K
        by_B, by_D = self.B2 @ K, self.D12 @ K
        system = Matrices(
            self.A + by_B @ self.C2, self.B1 + by_B @ self.D21, self.C1 + by_D @ self.C2, self.D11 + by_D @ self.D21
        )
        return ClosedLoop(self, system, K, after, before) if np.isfinite(system.A).all() else None


@dataclass
class ClosedLoop:
    """A loop around a gain S.

    - `system`: of the external channels;
    - `K`: ``(1 - S D22)⁻¹ S``, from what blocks take without each other's answers at once;
    - `after`, `before`: ``(1 - S D22)⁻¹`` and ``(1 - D22 S)⁻¹``: ``dK = after dS before``.
    """

    plant: AugmentedPlant
    system: Matrices
    K: Array
    after: Array
    before: Array

    @cached_property
    def _vectors(self) -> tuple[Array, Array]:
        return np.linalg.eig(self.system.A)  # type: ignore[return-value]

    @property
    def poles(self) -> Array:
        """Eigenvalues of A (n)."""
        return self._vectors[0]

    @cached_property
    def schur(self) -> tuple[Array, Array, Array]:
        """See `_schur`."""
        return _schur(self.system.A)

    @cached_property
    def modal(self) -> Modal | None:
        """The loop in modal form, None where its vectors are no basis."""
        poles, vectors = self._vectors
        try:
            right = np.linalg.solve(vectors, self.system.B.astype(complex))
        except np.linalg.LinAlgError:
            return None
        return Modal(poles, self.system.C @ vectors, right)

    def pole_slopes(self, places: Sequence[int]) -> list[Array]:
        """Return the complex gradient of some poles with respect to S, of its shape."""
        _, vectors = self._vectors
        try:
            left = np.linalg.inv(vectors)
        except np.linalg.LinAlgError:
            left = np.linalg.pinv(vectors)
        by_input, by_output = left @ self.plant.B2, self.plant.C2 @ vectors
        return list(self.slopes(by_input[list(places)], by_output.T[list(places)]))

    def responses(self, omega: Array, rows: Array, columns: Array) -> tuple[Array, Array, Array]:
        """Return the responses (k) at frequencies (rad/s), and those from S's outputs and to its inputs."""
        A, B, C, D = self.system
        inputs = np.hstack([B[:, columns], self.plant.B2])
        finite, diagonal = np.isfinite(omega), np.arange(len(A))
        matrices = np.tile(-A.astype(complex), (len(omega), 1, 1))
        matrices[:, diagonal, diagonal] += 1j * np.where(finite, omega, 1.0)[:, None]
        states = np.linalg.solve(matrices, inputs[None]) * finite[:, None, None]
        by_external, by_gain = states[:, :, : len(columns)], states[:, :, len(columns) :]
        return (
            D[rows[:, None], columns] + C[rows] @ by_external,
            self.plant.D12[rows] + C[rows] @ by_gain,
            self.plant.D21[:, columns] + self.plant.C2 @ by_external,
        )

    def slopes(self, left: Array, right: Array) -> Array:
        """Return the gradients (k, of its shape) with respect to S of ``left dK right``, k numbers."""
        return (left @ self.after)[:, :, None] * (right @ self.before.T)[:, None]

    def variance(self, columns: Array, rows: Array, left: Array, right: Array, period: float) -> tuple[float, Array] | None:
        """Return the sum of variances of outputs for white noise of unit density, and its gradient with respect to S.

        Lyapunov's equations for what the noise reaches and for what the outputs see. `left` and `right` scale rows and columns.
        With a period (s), the loop is a sampled one by the bilinear map, the noise one of independent samples: what weighs
        frequencies as the map does is a lag behind each output.
        """
        A, B, C, D = self.system
        B, C, D = B[:, columns] * right, left[:, None] * C[rows], left[:, None] * D[rows[:, None], columns] * right
        to_C, D12, D21 = self.plant.C2, left[:, None] * self.plant.D12[rows], self.plant.D21[:, columns] * right
        from_B = self.plant.B2
        if period:
            n, p = len(A), len(rows)
            fast = 2 / period
            A = np.block([[A, np.zeros((n, p))], [fast * C, -fast * np.eye(p)]])
            B, from_B, to_C = (
                np.vstack([B, fast * D]),
                np.vstack([from_B, fast * D12]),
                np.hstack([to_C, np.zeros((len(to_C), p))]),
            )
            C, D12 = np.hstack([np.zeros((p, n)), np.sqrt(period) * np.eye(p)]), np.zeros_like(D12)
        triangle, basis, _ = _schur(A) if period else self.schur
        seen, reached = C @ basis, basis.T @ B
        X, scale_x, wrong_x = dtrsyl(triangle, triangle, -reached @ reached.T, tranb="T")
        Y, scale_y, wrong_y = dtrsyl(triangle, triangle, -seen.T @ seen, trana="T")
        if wrong_x or wrong_y:
            return None
        X, Y = basis @ (X / scale_x) @ basis.T, basis @ (Y / scale_y) @ basis.T
        to_rows = from_B.T @ Y
        by_K = 2 * (to_rows + D12.T @ C) @ X @ to_C.T + 2 * to_rows @ B @ D21.T
        return float(np.sum((C @ X) * C)), self.after.T @ by_K @ self.before.T


def _schur(A: Array) -> tuple[Array, Array, Array]:
    """Return the real Schur form of a matrix, its basis, and the real parts of its eigenvalues (n), NaN where not found."""
    triangle, _, real, _, basis, _, wrong = dgees(_unsorted, A)
    return triangle, basis, np.full_like(real, np.nan) if wrong else real


def _unsorted(real: float, imag: float) -> None:
    """Leave eigenvalues in any order."""
