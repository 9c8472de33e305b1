"""General blocks' laws in elimination, against NumPy's dense solutions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.solvers.kernels.spatial.matrices_by_hand import adjoint, entries_of, random_frame
from tests.systems import Array
from tests.tolerances import ROUNDING
from titop.solvers.kernels.interface import layout
from titop.solvers.kernels.interface.records import bias_at, carried_at, law_size, port_at
from titop.solvers.kernels.tree import general

N, SIZE, OWN_V, START = 3, 9, 2, 4  # own coordinates, with the port's six; where they and the law begin


class Law:
    """A block with one port, whose law has an inertia, a bias, and a port that moves along S."""

    def __init__(self, seed: int = 0) -> None:
        rng = np.random.default_rng(seed)
        self.ints: Any = np.zeros((3, layout.INT_COLUMNS), dtype=np.int64)
        block, carried = self.ints[1], self.ints[2]
        block[layout.LAW], block[layout.OWN], block[layout.OWN_V], block[layout.PORT_COUNT] = START, N, OWN_V, 1
        carried[layout.PARENT], carried[layout.PORT] = 1, START + port_at(N, 0)
        root = rng.normal(size=(SIZE, SIZE))
        self.inertia, self.bias = root @ root.T + np.eye(SIZE), rng.normal(size=SIZE)
        self.rotation, self.position = random_frame(rng)
        self.gamma, self.subspace = rng.normal(size=6), rng.normal(size=(6, N))
        self.table = np.zeros((1, START + law_size(N, 1)))
        self.table[0, START : START + SIZE**2] = self.inertia.ravel()
        self.put(bias_at(N), self.bias)
        port = port_at(N, 0)
        self.put(port, np.concatenate([self.rotation.ravel(), self.position]))
        self.put(port + layout.PORT_GAMMA, self.gamma)
        self.put(port + layout.PORT_S, self.subspace.ravel())
        self.put(carried_at(N, 1), np.ones(N))

    def put(self, at: int, numbers: Array) -> None:
        """Write numbers into the law."""
        self.table[0, START + at : START + at + len(numbers)] = numbers

    def get(self, at: int, count: int) -> Array:
        """Return numbers of the law."""
        return self.table[0, START + at : START + at + count].copy()

    @property
    def to_port(self) -> Array:
        """The motion of the port (6 x 9) by ``[V_P; v]``."""
        return np.hstack([np.linalg.inv(adjoint(self.rotation, self.position)), self.subspace])


def test_ports_move_with_the_block_and_along_its_coordinates() -> None:
    law, rng = Law(), np.random.default_rng(1)
    x, rates = rng.normal(size=6), rng.normal(size=OWN_V + N)
    motion = law.to_port @ np.concatenate([x, rates[OWN_V:]])
    general.write_port_twists(N, 1, 1, law.table, START, x, rates, OWN_V)
    general.write_port_accelerations(N, 1, 1, law.table, START, x, rates, OWN_V)
    np.testing.assert_allclose(law.get(port_at(N, 0) + layout.PORT_TWIST, 6), motion, **ROUNDING)
    np.testing.assert_allclose(law.get(port_at(N, 0) + layout.PORT_ACC, 6), motion + law.gamma, **ROUNDING)
    law.put(port_at(N, 0) + layout.PORT_TWIST, np.full(6, 7.0))
    general.write_port_twists(N, 1, 0, law.table, START, x, rates, OWN_V)
    assert (law.get(port_at(N, 0) + layout.PORT_TWIST, 6) == 7.0).all()  # nobody uses the port


def test_what_a_port_carries_joins_the_law() -> None:
    """``W = M A + b`` at the port, whose acceleration is its motion's plus gamma: a congruence."""
    law, rng = Law(), np.random.default_rng(2)
    carried, bias = rng.normal(size=(6, 6)), rng.normal(size=6)
    carried += carried.T
    blocks = entries_of(carried[:3, :3]), carried[:3, 3:].ravel(), entries_of(carried[3:, 3:])
    general.add_at_port(law.ints, law.table, 2, 1, *blocks, bias)
    found = law.get(0, SIZE**2).reshape(SIZE, SIZE)
    np.testing.assert_allclose(found, law.inertia + law.to_port.T @ carried @ law.to_port, **ROUNDING)
    expected = law.bias + law.to_port.T @ (bias + carried @ law.gamma)
    np.testing.assert_allclose(law.get(bias_at(N), SIZE), expected, **ROUNDING)


@pytest.mark.parametrize("imposed", [[], [1], [0, 2], [0, 1, 2]])
def test_own_coordinates_are_eliminated_and_restored(imposed: list[int]) -> None:
    """The law that is left, and the accelerations and efforts behind it, solve ``M [A; a] + h = [W; tau]``."""
    law, rng = Law(3), np.random.default_rng(4)
    x, a, tau = rng.normal(size=6), rng.normal(size=OWN_V + N), rng.normal(size=OWN_V + N)
    held = np.isin(np.arange(OWN_V + N), OWN_V + np.array(imposed, dtype=int))
    free = np.flatnonzero(~held[OWN_V:])
    mask = held if imposed else None
    expected_a, expected_tau = a[OWN_V:].copy(), tau[OWN_V:].copy()
    inner, moved = law.inertia[6:, 6:], law.inertia[6:, :6] @ x + law.bias[6:]
    rest = (expected_tau - moved - inner[:, imposed] @ expected_a[imposed])[free]
    expected_a[free] = np.linalg.solve(inner[np.ix_(free, free)], rest)
    expected_tau[imposed] = (moved + inner @ expected_a)[imposed]
    wrench = law.inertia[:6] @ np.concatenate([x, expected_a]) + law.bias[:6]

    assert general.eliminate_own(law.ints, law.table, 1, a, tau, mask, 1e-14) == 0
    left = np.array([law.get(SIZE * r, 6) for r in range(6)])
    np.testing.assert_allclose(left @ x + law.get(bias_at(N), 6), wrench, rtol=1e-10, atol=1e-10)  # times the condition
    general.restore_own(law.ints, law.table, 1, x, a, tau, mask)
    np.testing.assert_allclose(a[OWN_V:], expected_a, rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(tau[OWN_V:], expected_tau, rtol=1e-10, atol=1e-10)


def test_a_coordinate_that_moves_nothing_stops_elimination() -> None:
    law = Law()
    law.put(SIZE * 8 + 8, np.array([1e-15]))
    assert general.eliminate_own(law.ints, law.table, 1, np.zeros(5), np.zeros(5), None, 1e-14) == 1
