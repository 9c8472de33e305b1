"""Balanced channels of repeated blocks: the same loop, whose bounds no longer depend on how channels were scaled and mixed."""

from __future__ import annotations

import control
import numpy as np

import titop as tt
from tests.solvers.robust.families import structure_of_modes
from titop.solvers.robust.balancing import balanced
from titop.solvers.robust.centres import Centres
from titop.solvers.robust.uncertain_loop import read_loop
from titop.solvers.robust.upper_bound import upper_bound

SIZES = [4, 3, 2]
BLOCKS = [tt.DeltaBlock.real("a", 4), tt.DeltaBlock.complex("b", 3), tt.DeltaBlock.full("c", 2)]


def mixed(decades: float) -> tuple[control.StateSpace, control.StateSpace]:
    """Return a loop, and the same with channels of its repeated blocks mixed, by directions that differ by decades."""
    rng = np.random.default_rng(3)
    A, B, C, D = structure_of_modes(SIZES, 12, 0.02, 5)
    into = np.eye(9)
    for part in (slice(0, 4), slice(4, 7)):
        r = part.stop - part.start
        left, right = (np.linalg.qr(rng.normal(size=(r, r)))[0] for _ in range(2))
        into[part, part] = left * np.logspace(0, decades, r) @ right
    back = np.linalg.inv(into)
    return control.ss(A, B, C, D), control.ss(A, B @ back, into @ C, into @ D @ back)


def test_bounds_do_not_depend_on_the_coordinates_of_channels() -> None:
    """D and G take any mixing; what is left is how near to the lowest the method of centres comes."""
    omega = np.array([3.0, 10.0])
    plain, other = (tt.mu(system, omega, blocks=BLOCKS) for system in mixed(4.0))
    np.testing.assert_allclose(other.upper, plain.upper, rtol=0.02)

    loop = read_loop(mixed(4.0)[1], BLOCKS)
    raw = [upper_bound(Centres(loop.structure), loop.uncertain.response(w)).level for w in omega]
    assert max(raw / plain.upper) > 2  # the negative control: without it bounds are too high


def test_the_loop_stays_the_same() -> None:
    """Responses with the same deltas in all repetitions, full blocks left as they are."""
    loop = read_loop(mixed(2.0)[1], BLOCKS)
    other = balanced(loop)
    full = np.array([[0.1, 0.2j], [-0.3, 0.1]])
    delta = np.zeros((9, 9), dtype=complex)
    delta[:4, :4], delta[4:7, 4:7], delta[7:, 7:] = 0.3 * np.eye(4), 0.2j * np.eye(3), full
    for omega in (0.0, 2.5, np.inf):
        found, right = (np.linalg.det(np.eye(9) - one.uncertain.response(omega) @ delta) for one in (other, loop))
        np.testing.assert_allclose(found, right, rtol=1e-8)  # two decades, squared, of rounding
    reached, seen = other.uncertain.response(2.5)[:4], loop.uncertain.response(2.5)[:4]
    assert np.linalg.cond(reached) < np.linalg.cond(seen)
