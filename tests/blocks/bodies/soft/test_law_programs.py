"""Programs of a law against complex steps of the kinematics, energy and dissipation themselves."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from titop.blocks.basics.spatial import skew
from titop.blocks.bodies.soft.law_programs import MASS, PLACE, POINT_SIZE, VOLUME, LawPrograms, shared_programs

Array = NDArray[Any]
N, STEP, VISCOSITY, GAIN = 2, 1e-30, 3.0, 0.7
RNG = np.random.default_rng(0)
Q, V, A = RNG.normal(size=(3, N))
STILL, TWIST, RATE = np.zeros(6), *RNG.normal(size=(2, 6))
POINTS = np.column_stack([RNG.uniform(-0.5, 0.5, (4, 3)), RNG.uniform(1, 2, (4, 2))])
#: Sums of some tens of products of size ten.
ROUNDING = {"rtol": 0, "atol": 1e-12}


def bent(x: Any, q: Any, numbers: Any) -> list[Any]:
    return [x[0] + numbers.gain * q[0] * x[2] ** 2, x[1] * (1 + 0.1 * q[1]), x[2] + np.sin(q[1]) * x[0] * x[2]]


def energy(F: Any, numbers: Any) -> Any:
    return 2.0 * np.sum(F * F) + 0.3 * np.sum(F * F) ** 2


def own_energy(q: Any, numbers: Any) -> Any:
    return 5.0 * numbers.gain * q[0] ** 2 * q[1]


def own_dissipation(q: Any, v: Any) -> Any:
    return 1.5 * v[0] ** 2 * q[1] ** 2


PROGRAMS = LawPrograms(bent, N, ("gain", "material.viscosity"), energy, (), own_energy, own_dissipation)


class Numbers:
    gain = GAIN


def shared(q: Array = Q, v: Array = V, a: Array = A, twist: Array = STILL, rate: Array = STILL) -> Array:
    return np.concatenate([q, v, a, twist, rate, [GAIN, VISCOSITY]])


def unpacked(totals: Array) -> tuple[Array, Array]:
    """Return M and h of totals."""
    half = np.zeros((6 + N, 6 + N))
    half[np.triu_indices(6 + N)] = totals[: -6 - N]
    return half + np.triu(half, 1).T, totals[-6 - N :]


def places(q: Array, x: Array = POINTS[:, PLACE]) -> Array:
    return np.array(bent(x.T, q, Numbers)).T


def gradients(q: Array) -> Array:
    """Return F (k, 3, 3), by complex steps in x; q is real."""
    steps = [places(q, POINTS[:, PLACE] + 1j * STEP * e).imag / STEP for e in np.eye(3)]
    return np.transpose(steps, (1, 2, 0))


def potential(q: Array) -> float:
    """Return the stored energy."""
    densities = np.array([energy(F, None) for F in gradients(q)])
    return float(densities @ POINTS[:, VOLUME] + own_energy(q, Numbers))


def test_points_have_places_and_gradients() -> None:
    each = PROGRAMS.places.at_points(shared(), POINTS)[1]
    np.testing.assert_allclose(each[:, :3], places(Q), **ROUNDING)
    np.testing.assert_allclose(each[:, 3:].reshape(-1, 3, 3), gradients(Q), **ROUNDING)
    assert (POINT_SIZE, MASS) == (5, 4)


def test_motion_is_that_along_the_path() -> None:
    """``p``, ``u = J v`` and ``b = J a + dJ/dt v`` by complex steps, and central differences of these."""
    moved = PROGRAMS.bends.at_points(shared(), POINTS)[1][:, :9]
    p, u, b = moved.reshape(-1, 3, 3).transpose(1, 0, 2)
    rates, h = [], 1e-5
    for t in (-h, 0.0, h):
        q, v = Q + t * V + 0.5 * t * t * A, V + t * A
        rates.append(places(q + 1j * STEP * v).imag / STEP)
    np.testing.assert_allclose(p, places(Q), **ROUNDING)
    np.testing.assert_allclose(u, rates[1], **ROUNDING)
    np.testing.assert_allclose(b, (rates[2] - rates[0]) / (2 * h), rtol=0, atol=1e-8)  # h^2
    coasting = PROGRAMS.columns.at_points(shared(a=np.zeros(N)), POINTS)[1]
    J = coasting[:, 9:].reshape(-1, 3, N)
    np.testing.assert_allclose(coasting[:, 6:9] + J @ A, b, **ROUNDING)
    np.testing.assert_allclose(J @ V, u, **ROUNDING)


def test_forces_that_accelerate_points_become_efforts() -> None:
    """By d'Alembert's principle, with velocities of points by complex steps of their places; and what is linear in M and h."""
    twist, rate = TWIST[:3], TWIST[3:]
    p, _, b = PROGRAMS.bends.at_points(shared(), POINTS)[1][:, :9].reshape(-1, 3, 3).transpose(1, 0, 2)
    J = np.stack([places(Q + 1j * STEP * e).imag / STEP for e in np.eye(N)], axis=2)
    G = np.concatenate([np.broadcast_to(np.eye(3), (4, 3, 3)), -np.array([skew(x) for x in p]), J], axis=2)
    carried = RATE[:3] + np.cross(RATE[3:], p) + b + np.cross(rate, twist + np.cross(rate, p) + 2.0 * J @ V)
    masses = POINTS[:, MASS]
    expected = np.einsum("kri,k,kr->i", G, masses, carried)
    moving = shared(twist=TWIST, rate=RATE)
    np.testing.assert_allclose(PROGRAMS.inertial_efforts.at_points(moving, POINTS)[0], expected, **ROUNDING)
    M, _ = unpacked(np.concatenate([PROGRAMS.inertia.at_points(moving, POINTS)[0], np.zeros(6 + N)]))
    h = PROGRAMS.inertial_efforts.at_points(shared(a=np.zeros(N), twist=TWIST), POINTS)[0]
    np.testing.assert_allclose(M, np.einsum("kri,k,krj->ij", G, masses, G), **ROUNDING)
    np.testing.assert_allclose(M @ np.concatenate([RATE, A]) + h, expected, **ROUNDING)


def test_efforts_and_terms_resist() -> None:
    """With elasticity and damping they are those of inertia and `resistance`."""
    moving = shared(twist=TWIST, rate=RATE)
    resisted = np.concatenate([np.zeros(6), PROGRAMS.resistance.at_points(moving, POINTS)[0]])
    close = {"rtol": 0, "atol": 1e-12 * np.abs(resisted).max()}
    alone = PROGRAMS.inertial_efforts.at_points(moving, POINTS)[0]
    np.testing.assert_allclose(PROGRAMS.efforts.at_points(moving, POINTS)[0] - alone, resisted, **close)
    M, h = unpacked(PROGRAMS.terms.at_points(moving, POINTS)[0])
    np.testing.assert_allclose(M @ np.concatenate([RATE, A]) + h - alone, resisted, **close)


def test_slopes_of_the_efforts_are_complex_steps() -> None:
    moving, size = shared(twist=TWIST, rate=RATE), 6 + N
    totals, begin = PROGRAMS.slopes.at_points(moving, POINTS)[0], 0
    for first, count in ((0, N), (N, N), (3 * N, 6)):
        found = totals[begin : begin + size * count].reshape(size, count)
        begin += size * count
        for k in range(count):
            stepped = moving + 1j * STEP * np.eye(len(moving))[first + k]
            expected = PROGRAMS.inertial_efforts.at_points(stepped, POINTS)[0].imag / STEP
            np.testing.assert_allclose(found[:, k], expected, rtol=0, atol=1e-12 * np.abs(found).max())
    M, _ = unpacked(np.concatenate([totals[begin:], np.zeros(size)]))
    np.testing.assert_allclose(M, unpacked(PROGRAMS.terms.at_points(moving, POINTS)[0])[0], **ROUNDING)


def test_elasticity_resists_by_the_slope_of_the_energy() -> None:
    h = 1e-3
    assert PROGRAMS.stored.at_points(shared(), POINTS)[0][0] == pytest.approx(potential(Q), rel=1e-13)
    still = PROGRAMS.resistance.at_points(shared(v=np.zeros(N)), POINTS)[0]
    at = {k: [potential(Q + k * h * e) for e in np.eye(N)] for k in (-2, -1, 1, 2)}
    slopes = (8 * np.subtract(at[1], at[-1]) - np.subtract(at[2], at[-2])) / (12 * h)
    # differences of fourth order, of scales of one; what the energy is rounded to, over the step
    np.testing.assert_allclose(still, slopes, rtol=1e-9, atol=8 * np.finfo(float).eps * potential(Q) / h)


def test_damping_takes_power() -> None:
    damped = (
        PROGRAMS.resistance.at_points(shared(), POINTS)[0] - PROGRAMS.resistance.at_points(shared(v=np.zeros(N)), POINTS)[0]
    )
    assert V @ damped > 2.0 * own_dissipation(Q, V)  # the material takes power too
    undamped = LawPrograms(bent, N, ("gain", "material.viscosity"), None, (), own_energy, own_dissipation)
    own = undamped.resistance.at_points(shared(), POINTS)[0] - undamped.resistance.at_points(shared(v=np.zeros(N)), POINTS)[0]
    np.testing.assert_allclose(V @ own, 2.0 * own_dissipation(Q, V), rtol=1e-13)


def test_slopes_of_the_resistance_are_complex_steps() -> None:
    by_q, by_v = PROGRAMS.resistance_slopes.at_points(shared(), POINTS)[0].reshape(2, N, N)
    for k, e in enumerate(np.eye(N)):
        for slopes, state in ((by_q, shared(q=Q + 1j * STEP * e)), (by_v, shared(v=V + 1j * STEP * e))):
            expected = PROGRAMS.resistance.at_points(state, POINTS)[0].imag / STEP
            np.testing.assert_allclose(slopes[:, k], expected, rtol=0, atol=1e-12 * np.abs(slopes).max())


def test_bodies_of_the_same_functions_share_programs() -> None:
    assert shared_programs(bent, N, ("gain",)) is shared_programs(bent, N, ("gain",))
    assert shared_programs(bent, N, ("gain",)) is not shared_programs(bent, N, ("gain", "more"))
