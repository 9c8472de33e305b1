"""The linearised law of rods against complex steps through products of exponentials (see `rod_oracle`)."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.solvers.kernels.laws.rod_oracle import Motion, bracket, inverse_dynamics, mass_matrix, subspaces
from tests.solvers.kernels.laws.rods import Called, Numbers
from tests.solvers.kernels.laws.test_rod_stages import ACCURACY, error, state
from titop.solvers.kernels.interface import layout
from titop.solvers.kernels.laws import rod_stages

Array = NDArray[Any]

STEP = 1e-30


def stepped(numbers: Numbers, motion: tuple[Array, ...], wrenches: list[Array], which: int, k: int) -> Motion:
    """Return inverse dynamics with an imaginary step of one number of q (0), v (1), or the twist (3)."""
    moved = [x.astype(complex) if j == which else x for j, x in enumerate(motion)]
    moved[which][k] += 1j * STEP
    return inverse_dynamics(numbers, *moved, wrenches)


def called_at(numbers: Numbers, motion: tuple[Array, ...], wrenches: list[Array]) -> Called:
    """Return the stages of a rod, called at a state up to its slopes."""
    called = Called(rod_stages.LAW, numbers)
    called.call("outward", *motion)
    for p, wrench in enumerate(wrenches):
        called.port(p, layout.PORT_WRENCH, (6,))[:] = wrench
    called.call("inward", *motion)
    called.call("slopes", *motion)
    return called


@pytest.mark.parametrize(
    "name",
    ["straight", "curved", "bent over a radian", "bent over half a turn", "vanishing at its tip", "without ports", "rigid"],
)
def test_slopes(name: str) -> None:
    numbers, motion, wrenches = state(name)
    called = called_at(numbers, motion, wrenches)
    for which, of, count in ((0, "q", numbers.n), (1, "v", numbers.n), (3, "twist", 6)):
        ways = [stepped(numbers, motion, wrenches, which, k) for k in range(count)]
        if not ways:
            continue
        expected = np.array([way.result.imag / STEP for way in ways]).T
        found = called.slopes_by(of)
        assert error(found[:6], expected[:6]) < ACCURACY
        assert error(found[6:], expected[6:]) < ACCURACY
        for p in range(called.ports if of != "twist" else 0):
            turned = np.array([way.twists[p].imag / STEP for way in ways]).T
            rates = [way.accelerations[p].imag / STEP for way in ways]
            rest = np.array([y - bracket(x, ways[0].twists[p].real) for x, y in zip(turned.T, rates, strict=True)]).T
            x, y, z = called.port_slopes(p)
            assert error(x if of == "q" else called.port(p, layout.PORT_S, (6, numbers.n)), turned) < ACCURACY
            assert error(y if of == "q" else z, rest) < ACCURACY


@pytest.mark.parametrize("name", ["curved", "bent over a radian", "vanishing at its tip"])
def test_slopes_leave_m_and_s(name: str) -> None:
    numbers, motion, wrenches = state(name)
    called = called_at(numbers, motion, wrenches)
    assert error(called.mass, mass_matrix(numbers, motion[0])) < ACCURACY
    assert np.array_equal(called.mass, called.mass.T)
    for p, expected in enumerate(subspaces(numbers, motion[0])[1]):
        assert error(called.port(p, layout.PORT_S, (6, numbers.n)), expected) < ACCURACY


def test_slopes_without_passive_efforts() -> None:
    numbers, motion, wrenches = state("curved")
    with_efforts, called = called_at(numbers, motion, wrenches), called_at(numbers, motion, wrenches)
    called.call("outward", *motion)
    called.call("inward", *motion, passive=False)
    called.call("slopes", *motion, passive=False)
    n = numbers.n
    for of, matrix in (("q", numbers.stiffness), ("v", numbers.damping)):
        difference = with_efforts.slopes_by(of) - called.slopes_by(of)
        assert error(difference[6:, :n], matrix) < 1e-12
        assert np.array_equal(difference[:6], np.zeros((6, n)))


@pytest.mark.parametrize("what", ["kept twist", "kept wrench"])
def test_a_slope_from_wrong_motion_is_seen(what: str) -> None:
    """The negative control: what ``outward`` or ``inward`` kept of one point differs by a millionth."""
    numbers, motion, wrenches = state("curved")
    called = called_at(numbers, motion, wrenches)
    expected = called.slopes_by("q").copy()
    place = 3 * 30 + (12 if what == "kept twist" else 24)
    called.room[place : place + 6] *= 1.0 + 1e-6
    called.call("slopes", *motion)
    assert error(called.slopes_by("q"), expected) > 10.0 * ACCURACY
