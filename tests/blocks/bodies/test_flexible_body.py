"""Flexible bodies: their law against derivatives, and the identities of linear TITOP blocks."""

from __future__ import annotations

import numpy as np
import pytest

import titop as tt
from tests.blocks.bodies.flexible_panels import Array, static_and_dynamic
from tests.flexible import random_body, unit_beam
from titop.blocks.basics.spatial import right_jacobian, rotation_exp, twist_transport

#: Rounding of sums of tens of terms of order one.
ROUNDING = 1e-13


class TestLaw:
    """The closed forms equal what `Block` derives from pose, mass matrix and energy by complex steps."""

    @pytest.mark.parametrize("turn", [0.1, 1.0, 4.0])  # series and closed form of the rotation, about 0.1, 1 and 4 rad
    @pytest.mark.parametrize("seed", range(3))
    def test_closed_forms_are_the_derivatives(self, seed: int, turn: float) -> None:
        rng = np.random.default_rng(seed)
        body = random_body(rng)
        q, v, twist = turn * rng.normal(size=3), rng.normal(size=3), rng.normal(size=6)
        generic = tt.Block
        for port in body.ports:
            np.testing.assert_allclose(body.motion_subspace(port, q), generic.motion_subspace(body, port, q), atol=ROUNDING)
            rate = body.subspace_rate(port, q, v)
            np.testing.assert_allclose(rate, generic.subspace_rate(body, port, q, v), atol=10 * ROUNDING)
        h = body.gyroscopic(q, v, twist)
        np.testing.assert_allclose(h, generic.gyroscopic(body, q, v, twist), atol=ROUNDING * max(1, turn) * 10)
        passive = body.passive_efforts(q, v)
        np.testing.assert_allclose(passive, generic.passive_efforts(body, q, v), rtol=1e-12, atol=1e-11)

    def test_another_gyroscopic_term_is_noticed(self) -> None:
        rng = np.random.default_rng(0)
        body = random_body(rng)
        q, v, twist = rng.normal(size=3), rng.normal(size=3), rng.normal(size=6)
        constant = body.gyroscopic(0 * q, v, twist)  # as if the first moment did not follow the deformation
        assert np.abs(constant - tt.Block.gyroscopic(body, q, v, twist)).max() > 1e-2

    def test_linear_momentum_is_that_of_the_moving_centre_of_mass(self) -> None:
        rng = np.random.default_rng(1)
        body = random_body(rng)
        q, v, twist = rng.normal(size=3), rng.normal(size=3), rng.normal(size=6)
        moment = body.mass * body.com + body.participation[:, :3].T @ q
        expected = body.mass * twist[:3] + np.cross(twist[3:], moment) + body.participation[:, :3].T @ v
        found = (body.mass_matrix(q) @ np.concatenate([twist, v]))[:3]
        np.testing.assert_allclose(found, expected, atol=ROUNDING)

    def test_inertia_stays_positive_definite(self) -> None:
        """A tip deflection of a fifth of the length, and modes that leave little residual mass."""
        beam = unit_beam(modes=8)
        q = np.zeros(beam.nv)
        q[1] = 0.2
        lowest = np.linalg.eigvalsh(beam.mass_matrix(q))[0]
        assert lowest > 0.5 * np.linalg.eigvalsh(beam.mass_matrix(0 * q))[0] > 0
        # with the first moment alone following the deformation it is indefinite, already at a fiftieth of that
        matrix = beam.mass_matrix(0 * q)
        coupling = beam.mass_matrix(0.02 * q)[:3, 3:6] - matrix[:3, 3:6]
        matrix[:3, 3:6] += coupling
        matrix[3:6, :3] += coupling.T
        assert np.linalg.eigvalsh(matrix)[0] < 0

    def test_ports_move_and_turn_with_the_modes(self) -> None:
        body = random_body(np.random.default_rng(2))
        q = np.array([0.1, -0.2, 0.3])
        for port in body.ports:
            rotation, position = body.pose(port, q)
            moved = body.shapes[port] @ q
            np.testing.assert_allclose(position, body.port_poses[port].position + moved[:3], atol=ROUNDING)
            np.testing.assert_allclose(rotation, rotation_exp(moved[3:]) @ body.port_poses[port].rotation, atol=ROUNDING)

    def test_right_jacobian_by_complex_step(self) -> None:
        phi, d = np.array([0.5, -1.0, 0.7]), np.array([0.3, 0.2, -0.5])
        change = np.imag(rotation_exp(phi + 1e-30j * d)) / 1e-30
        spin = rotation_exp(phi).T @ change
        np.testing.assert_allclose(right_jacobian(phi) @ d, [spin[2, 1], spin[0, 2], spin[1, 0]], atol=1e-15)


class TestIdentitiesOfTitopBlocks:
    """A body clamped at P and loaded at C; wrenches as in key A, `W_C` applied to the body, `W_P` by the body."""

    body = unit_beam(modes=3, axial_modes=2)
    tau = twist_transport(*body.pose("C", np.zeros(body.nv)))

    def state_space(self, body: tt.FlexibleBody) -> tuple[Array, Array, Array, Array]:
        """Return the linear model from [W_C; a_P] to [a_C; W_P]."""
        M, K, D = body.matrices
        phi, L, n = body.shapes["C"], body.participation, body.nv
        inverse = np.linalg.inv(M)
        inputs = np.hstack([phi.T, -L])
        outputs = inputs.T @ inverse  # a_C = tau a_P + phi eta'', W_P = -D_P a_P + tau^T W_C - L^T eta''
        A = np.block([[np.zeros((n, n)), np.eye(n)], [-inverse @ K, -inverse @ D]])
        B = np.vstack([np.zeros((n, 12)), inverse @ inputs])
        C = -np.hstack([outputs @ K, outputs @ D])
        through = np.block([[np.zeros((6, 6)), self.tau], [self.tau.T, -body.rigid_inertia]])
        return A, B, C, through + outputs @ inputs

    def test_static_response_is_that_of_the_rigid_body(self) -> None:
        rng = np.random.default_rng(0)
        a_p, w_c = rng.normal(size=(2, 6))
        a_c, w_p = static_and_dynamic(self.body, a_p, w_c)["static"]
        np.testing.assert_allclose(a_c, self.tau @ a_p, atol=1e-12)
        # statically nothing deforms further: the reaction is what a rigid body takes
        np.testing.assert_allclose(-w_p, -self.body.rigid_inertia @ a_p + self.tau.T @ w_c, atol=1e-12)
        A, B, C, D = self.state_space(self.body)
        gain = D - C @ np.linalg.solve(A, B)
        # the steady state of a system whose stiffnesses span a factor 1e6
        np.testing.assert_allclose(gain[:6], np.hstack([np.zeros((6, 6)), self.tau]), atol=1e-9)

    def test_response_at_high_frequency_is_that_of_the_residual_mass(self) -> None:
        rng = np.random.default_rng(1)
        a_p, w_c = rng.normal(size=(2, 6))
        a_c, w_p = static_and_dynamic(self.body, a_p, w_c)["high"]
        D = self.state_space(self.body)[3]
        # accelerations of the massless tip are a hundred times as large as the load
        np.testing.assert_allclose(np.concatenate([a_c, -w_p]), D @ np.concatenate([w_c, a_p]), rtol=1e-11, atol=1e-11)
        np.testing.assert_allclose(D[6:, 6:], -self.body.residual_mass, atol=1e-14)

    def test_reciprocity(self) -> None:
        D = self.state_space(self.body)[3]
        np.testing.assert_allclose(D, D.T, atol=1e-12 * np.abs(D).max())

    def test_inverting_a_channel_twice_changes_nothing(self) -> None:
        original = self.state_space(self.body)
        for channel in (slice(0, 6), slice(6, 12)):
            twice = inverted(inverted(original, channel), channel)
            for found, expected in zip(twice, original, strict=True):
                # two inversions of a 6x6 matrix of condition 1e4
                np.testing.assert_allclose(found, expected, atol=1e-11 * np.abs(expected).max())


def inverted(system: tuple[Array, Array, Array, Array], channel: slice) -> tuple[Array, Array, Array, Array]:
    """Return a linear system with some inputs and the outputs of the same numbers exchanged."""
    A, B, C, D = (matrix.copy() for matrix in system)
    inverse = np.linalg.inv(D[channel, channel])
    B2, C2, D12, D21 = B[:, channel], C[channel], D[:, channel], D[channel]
    other = np.ones(12, dtype=bool)
    other[channel] = False
    new_A, new_B, new_C, new_D = A - B2 @ inverse @ C2, B - B2 @ inverse @ D21, C - D12 @ inverse @ C2, D - D12 @ inverse @ D21
    new_B[:, channel], new_C[channel] = B2 @ inverse, -inverse @ C2
    new_D[other, channel], new_D[channel, other] = D[other, channel] @ inverse, -inverse @ D[channel, other]
    new_D[channel, channel] = inverse
    return new_A, new_B, new_C, new_D


def test_without_second_order_all_points_move_as_the_centre_of_mass() -> None:
    """The law is that of second order whose displacements are ``L_lin^T eta / m`` at every point, and shorten nothing."""
    body = random_body(np.random.default_rng(1))
    n, along = body.nv, np.asarray(body.participation)[:, :3] / body.mass
    nothing = {"acceleration": np.zeros((3, n, n)), "spin": np.zeros((6, n, n))}
    second = tt.FlexibleBody(
        "second",
        body.mass,
        body.com,
        body.inertia,
        participation=body.participation,
        ports=body.port_poses,
        shapes=body.shapes,
        modal_mass=body.matrices.mass,
        modal_stiffness=body.matrices.stiffness,
        modal_damping=body.matrices.damping,
        geometric_stiffness=nothing | {port: np.zeros((6, n, n)) for port in body.ports},
        position_moments=body.mass * np.einsum("k,nl->kln", body.com, along),
        displacement_moments=body.mass * np.einsum("ik,jl->klij", along, along),
    )
    rng = np.random.default_rng(4)
    for _ in range(5):
        q, (v, twist) = body.random_configuration(rng), (rng.normal(size=n), rng.normal(size=6))
        mass = body.mass_matrix(q)
        np.testing.assert_allclose(second.mass_matrix(q), mass, rtol=0, atol=1e-13 * np.abs(mass).max())  # some ten operations
        terms = body.gyroscopic(q, v, twist)
        np.testing.assert_allclose(second.gyroscopic(q, v, twist), terms, rtol=0, atol=1e-12 * np.abs(terms).max())
