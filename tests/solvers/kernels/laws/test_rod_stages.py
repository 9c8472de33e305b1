"""The stages of rods against products of exponentials of matrices, differentiated as jets (see `rod_oracle`)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.solvers.kernels.laws.rod_oracle import displacement, inverse_dynamics, mass_matrix, omegas, subspaces
from tests.solvers.kernels.laws.rods import Called, Numbers, rod
from titop.solvers.kernels.interface import layout
from titop.solvers.kernels.laws import rod_stages

Array = NDArray[Any]

#: Exponentials of matrices by scaling and squaring keep some 13 digits, sums over points lose one.
ACCURACY = 1e-11

REST = np.zeros(6)


def error(found: Any, expected: Any) -> float:
    """Return the largest difference, relative to the largest entry if there is any that does not vanish."""
    return float(np.abs(np.asarray(found) - expected).max(initial=0.0) / (np.abs(expected).max(initial=0.0) or 1.0))


def turning(numbers: Numbers, q: Array) -> float:
    """Return the largest rotation (rad) from one point to the next."""
    return max(float(np.linalg.norm(omegas(step, numbers.components, q)[0][3:])) for step in numbers.steps)


#: What a rod is, how large its coordinates are, and between which angles (rad) its largest step turns.
CASES: dict[str, tuple[dict[str, Any], float, tuple[float, float]]] = {
    "straight": ({"curved": 0.0}, 0.0, (0.0, 1e-300)),
    "curved": ({"ports": (1.0, 0.37)}, 1.0, (0.1, 1.0)),
    "bent over a radian": ({"ports": (0.0, 0.5, 0.9, 1.0)}, 8.0, (1.0, 3.0)),
    "bent over half a turn": ({"ports": (0.6,)}, 20.0, (3.3, 9.0)),
    "vanishing at its tip": ({"taper": 1.0}, 1.0, (0.1, 1.0)),
    "bending in a plane": ({"orders": (0, 3, 0, 0, 0, 0)}, 1.0, (0.01, 1.0)),
    "without ports": ({"ports": ()}, 1.0, (0.01, 1.0)),
    "of two points": ({"points": 2, "orders": (1, 1, 1, 1, 1, 1)}, 1.0, (0.1, 2.0)),
    "rigid": ({"orders": (0, 0, 0, 0, 0, 0), "ports": (1.0, 0.3)}, 1.0, (0.0, 1.0)),
}


def state(name: str, seed: int = 0) -> tuple[Numbers, tuple[Array, ...], list[Array]]:
    """Return a rod, its motion (q, v, a, twist and acceleration) and the wrenches at its ports."""
    given, bend, (low, high) = CASES[name]
    numbers, rng = rod(seed, **given), np.random.default_rng(seed)
    q, v, a = rng.normal(size=(3, numbers.n))
    q *= bend
    assert low <= turning(numbers, q) < high
    return numbers, (q, v, a, *rng.normal(size=(2, 6))), list(rng.normal(size=(len(numbers.ports), 6)))


@pytest.mark.parametrize("passive", [True, False])
@pytest.mark.parametrize("name", CASES)
def test_inverse_dynamics(name: str, passive: bool) -> None:
    numbers, motion, wrenches = state(name)
    expected = inverse_dynamics(numbers, *motion, wrenches, passive)
    called = Called(rod_stages.LAW, numbers)
    called.call("outward", *motion, passive=passive)
    for p, wrench in enumerate(wrenches):
        assert error(called.port(p, 0, (3, 3)), expected.poses[p][:3, :3]) < ACCURACY
        assert error(called.port(p, layout.PORT_P, (3,)), expected.poses[p][:3, 3]) < ACCURACY
        assert error(called.port(p, layout.PORT_TWIST, (6,)), expected.twists[p]) < ACCURACY
        assert error(called.port(p, layout.PORT_ACC, (6,)), expected.accelerations[p]) < ACCURACY
        called.port(p, layout.PORT_WRENCH, (6,))[:] = wrench
    called.call("inward", *motion, passive=passive)
    assert error(called.result, expected.result) < ACCURACY


@pytest.mark.parametrize("name", CASES)
def test_terms(name: str) -> None:
    numbers, (q, v, a, twist, acceleration), _ = state(name)
    called = Called(rod_stages.LAW, numbers)
    called.call("terms", q, v, a, twist, acceleration)
    biased = inverse_dynamics(numbers, q, v, 0.0 * a, twist, REST, [REST] * called.ports)
    assert error(called.mass, mass_matrix(numbers, q)) < ACCURACY
    assert np.array_equal(called.mass, called.mass.T)
    assert error(called.bias, biased.result) < ACCURACY
    for p, expected in enumerate(subspaces(numbers, q)[1]):
        assert error(called.port(p, 0, (3, 3)), biased.poses[p][:3, :3]) < ACCURACY
        assert error(called.port(p, layout.PORT_P, (3,)), biased.poses[p][:3, 3]) < ACCURACY
        gamma = biased.accelerations[p]  # nothing but rounding where the base does not bend
        assert np.abs(called.port(p, layout.PORT_GAMMA, (6,)) - gamma).max() < ACCURACY * (1.0 + np.abs(gamma).max())
        assert error(called.port(p, layout.PORT_S, (6, numbers.n)), expected) < ACCURACY


def test_ports_out_of_use_are_left_alone() -> None:
    """What stands there is not written, and what others are told does not depend on it."""
    numbers, motion, _ = state("bent over a radian")
    called, bare = (
        Called(rod_stages.LAW, numbers, used=0b0100),
        Called(rod_stages.LAW, replace(numbers, ports=numbers.ports[2:3])),
    )
    for stage in ("terms", "outward"):
        called.call(stage, *motion)
        bare.call(stage, *motion)
        size = 36 + 6 * numbers.n
        columns = slice(0, layout.PORT_ACC + 6) if stage == "outward" else slice(layout.PORT_GAMMA, size)
        assert np.array_equal(called.port(2, 0, (size,))[columns], bare.port(0, 0, (size,))[columns])
        assert all(np.isnan(called.port(p, 0, (size,))).all() for p in (0, 1, 3))
    called.port(2, layout.PORT_WRENCH, (6,))[:] = bare.port(0, layout.PORT_WRENCH, (6,))[:] = 1.0
    for stage in ("inward", "slopes"):
        called.call(stage, *motion)
        bare.call(stage, *motion)
    assert np.array_equal(called.result, bare.result)
    assert np.array_equal(called.slopes_by("q"), bare.slopes_by("q"))


def changed(numbers: Numbers, what: str) -> Numbers:
    """Return the numbers of a rod, a millionth of some of which is wrong."""
    if what == "inertia":
        return replace(numbers, inertia=numbers.inertia * (1.0 + 1e-6 * (np.arange(len(numbers.inertia)) == 3)[:, None]))
    step = numbers.steps[2]
    wrong = {"length": step.length * (1.0 + 1e-6), "shapes": step.shapes * (1.0 + 1e-6)}
    return replace(numbers, steps=[*numbers.steps[:2], replace(step, **{what: wrong[what]}), *numbers.steps[3:]])


@pytest.mark.parametrize("what", ["inertia", "length", "shapes"])
def test_wrong_numbers_are_seen(what: str) -> None:
    """The negative control of the comparisons above."""
    numbers, motion, wrenches = state("curved")
    called = Called(rod_stages.LAW, changed(numbers, what))
    called.call("outward", *motion)
    for p, wrench in enumerate(wrenches):
        called.port(p, layout.PORT_WRENCH, (6,))[:] = wrench
    called.call("inward", *motion)
    assert error(called.result, inverse_dynamics(numbers, *motion, wrenches).result) > 100.0 * ACCURACY
    called.call("terms", *motion)
    assert error(called.mass, mass_matrix(numbers, motion[0])) > 100.0 * ACCURACY


@pytest.mark.parametrize("name", ["curved", "bent over a radian", "vanishing at its tip"])
def test_power_goes_into_kinetic_energy(name: str) -> None:
    """At the base and along the coordinates, without elasticity, damping and ports; h that is a millionth wrong is seen.

    The rate of M by differences of fourth order: rounding of 1e-15 over steps of 1e-3, and h^4 of 1e-12.
    """
    numbers, (q, v, a, twist, acceleration), _ = state(name)
    called = Called(rod_stages.LAW, numbers)

    def mass(t: float) -> Array:
        called.call("terms", q + t * v, v, a, twist, REST, passive=False)
        return called.mass.copy()

    step = 1e-3
    rate = (8.0 * (mass(step) - mass(-step)) - mass(2.0 * step) + mass(-2.0 * step)) / (12.0 * step)
    x, y = np.concatenate([twist, v]), np.concatenate([acceleration, a])
    found = mass(0.0) @ y
    for factor, sound in ((1.0, True), (1.0 + 1e-6, False)):
        power, stored = x @ (found + factor * called.bias), x @ found + 0.5 * x @ rate @ x
        assert bool(abs(power - stored) < 1e-9 * abs(x @ rate @ x)) is sound


def test_elastic_energy_and_its_efforts() -> None:
    numbers, (q, v, a, twist, acceleration), _ = state("curved")
    called = Called(rod_stages.LAW, numbers)
    called.call("energy", q, v, a, twist, acceleration)
    assert abs(called.law[0] / (0.5 * q @ numbers.stiffness @ q) - 1.0) < 1e-14
    efforts = []
    for passive in (True, False):
        called.call("terms", q, v, a, twist, acceleration, passive=passive)
        efforts.append(called.bias.copy())
    assert error(efforts[0][6:] - efforts[1][6:], numbers.stiffness @ q + numbers.damping @ v) < 1e-13
    assert np.array_equal(efforts[0][:6], efforts[1][:6])


def test_steps_are_of_fourth_order() -> None:
    """Halving the steps of a rod with linear strains takes 15/16 of the error away; with the bracket's sign turned, 3/4."""
    rng = np.random.default_rng(0)
    first, second = rng.normal(size=(2, 6)) + np.array([0.0, 0.0, 0.0, 1.0, 0.0, 0.0])
    q, nothing = np.zeros(1), np.zeros((2, 1))

    def tip(count: int) -> Array:
        numbers = replace(rod(0, orders=(1, 0, 0, 0, 0, 0), ports=(1.0,)), steps=[])
        h, mounted = 1.0 / count, numbers.ports[0]
        places = [[(k + 0.5 + side * np.sqrt(3.0) / 6.0) * h for side in (-1.0, 1.0)] for k in range(count)]
        steps = [
            replace(mounted.step, length=h, reference=np.array([first + x * (second - first) for x in pair]), shapes=nothing)
            for pair in places
        ]
        port = replace(mounted, point=count, step=replace(steps[0], length=0.0))
        numbers = replace(numbers, steps=steps, ports=[port], inertia=np.ones((count + 1, 4)))
        called = Called(rod_stages.LAW, numbers)
        called.call("outward", q, q, q, REST, REST)
        return called.port(0, layout.PORT_P, (3,)).copy()

    fine = tip(256)
    errors = [float(np.linalg.norm(tip(count) - fine)) for count in (8, 16, 32)]
    orders = np.log2(np.array(errors[:-1]) / errors[1:])
    assert np.all(np.abs(orders - 4.0) < 0.2)


def test_displacements_of_the_oracle_are_poses() -> None:
    """The oracle's own exponentials: rotations to rounding."""
    numbers, (q, *_), _ = state("bent over half a turn")
    g = displacement(numbers.steps[2], numbers.components, q)
    assert np.abs(g[:3, :3] @ g[:3, :3].T - np.eye(3)).max() < 1e-12
