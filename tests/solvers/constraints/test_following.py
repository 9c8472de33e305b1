"""Gears eliminated: to the same results as all constraints at once, and to closed forms however many there are."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

import titop as tt
from tests.closed_systems import random_closed_tree
from tests.refusals import ENGINES
from tests.systems import Array
from titop.solvers.constraints.following import following, leading_tree
from titop.solvers.constraints.multipliers import Partition, independence, independent_rows, least_step
from titop.solvers.kernels.interface import layout


def gears_among(rng: np.random.Generator, coordinates: int, count: int) -> Array:
    """Return rows of gears: trees, circles, some with a held or standing coordinate, one between two held ones."""
    rows = np.zeros((count, coordinates))
    for row in rows:
        driven, driver = rng.choice(coordinates, 2, replace=False)
        row[driven], row[driver] = 1.0, -rng.choice([0.0, *rng.uniform(0.3, 3.0, 4)])
    rows[0] = 0.0
    return rows


@pytest.mark.parametrize("seed", range(20))
def test_what_leads_moves_all_that_gears_let_move(seed: int) -> None:
    rng = np.random.default_rng(seed)
    rows = gears_among(rng, 12, 9)
    taken = following(rows)
    leads = np.delete(np.arange(12), taken.followers)
    x = taken.onto_leading(np.eye(12))[:, leads]
    # rounding of numbers of order one
    np.testing.assert_allclose(rows[taken.gears] @ x, 0.0, atol=1e-14)
    np.testing.assert_allclose(x.T @ x, np.eye(12 - len(taken.gears)), atol=1e-14)
    assert len(taken.gears) == len(set(taken.followers)) == np.linalg.matrix_rank(rows[taken.gears])
    assert sorted([*taken.gears, *taken.others]) == list(range(9))
    assert (np.abs(taken.basis[1]) <= 1.0 + 1e-14).all()  # the fastest leads
    # negative control: what they leave out would stop it
    rest = np.delete(np.eye(12), taken.followers, axis=0)
    assert any(np.abs(row @ x).max() > 0.1 for row in rest)


@pytest.mark.parametrize("seed", range(20))
def test_gears_eliminated_beside_other_constraints_give_the_same(seed: int) -> None:
    rng = np.random.default_rng(seed)
    matrix = np.vstack([rng.normal(size=(3, 12)), gears_among(rng, 12, 7)])
    matrix[2] = matrix[:2].sum(axis=0) + matrix[5]  # redundant
    rank = int(np.linalg.matrix_rank(matrix, tol=1e-9))
    rows = independent_rows(matrix, gears=7)
    assert len(rows) == rank == len(independent_rows(matrix)) == np.linalg.matrix_rank(matrix[rows], tol=1e-9)
    assert independence(matrix, rank, 7) > 1e-3
    assert independence(matrix, rank + 1, 7) == 0.0
    right = matrix @ rng.normal(size=(12, 2))
    # 1e-8: rounding times the condition of random matrices, squared in normal equations
    partition = Partition.of(matrix, rank, 7)
    np.testing.assert_allclose(partition.least(right), np.linalg.pinv(matrix, 1e-9) @ right, atol=1e-8)
    step = least_step(matrix, right[:, 0], 1e-6, 7)
    np.testing.assert_allclose(step, np.linalg.pinv(matrix, 1e-6) @ right[:, 0], atol=1e-8)
    x = rng.normal(size=12)
    np.testing.assert_allclose(partition.along(x), x - np.linalg.pinv(matrix, 1e-9) @ (matrix @ x), atol=1e-8)


def random_tree(rng: np.random.Generator, count: int) -> Array:
    """Return a tree of coordinates in random order, as kernels take it."""
    order = rng.permutation(count)
    before = np.full(count, -1)
    for k in range(1, count):
        if rng.random() < 0.9:
            before[order[k]] = order[rng.integers(max(0, k - 4), k)]
    return np.array([order, before])


def path(before: Array, k: int) -> list[int]:
    """Return a coordinate and those before it."""
    return [k, *path(before, before[k])] if k >= 0 else []


def pairs_apart(tree: Array, new_before: Array, leading: Array, still: Array) -> list[tuple[int, int]]:
    """Return coordinates on one path of a tree whose leaders are not on one path of the new one."""
    apart = []
    for k in range(len(leading)):
        for i in path(tree[1], k):
            if not (still[i] or still[k]) and leading[i] not in path(new_before, leading[k]):
                apart += [(i, k)] if leading[k] not in path(new_before, leading[i]) else []
    return apart


@pytest.mark.parametrize("seed", range(20))
def test_what_couples_in_the_tree_couples_along_the_tree_of_those_that_lead(seed: int) -> None:
    rng = np.random.default_rng(seed)
    tree = random_tree(rng, 30)
    taken = following(gears_among(rng, 30, 12))
    leading, moves = taken.basis
    order, before = new = leading_tree(tree, leading, moves == 0.0)
    assert sorted(order) == list(range(30))
    place = np.argsort(order)
    assert all(before[k] < 0 or place[before[k]] < place[k] for k in range(30))
    assert all(before[k] < 0 and k not in before for k in taken.followers)
    assert pairs_apart(tree, new[1], leading, moves == 0.0) == []
    alone = leading_tree(tree, np.arange(30), np.zeros(30, dtype=bool))
    np.testing.assert_array_equal(alone[1], tree[1])


def test_leaders_of_the_coordinates_before_are_no_such_tree() -> None:
    """The negative control: those that lead a coordinate's neighbours need not lie on its path."""
    tree = np.array([[0, 1, 2, 3], [-1, 0, 1, 0]])  # 0-1-2 and 0-3, 3 leads 1 from another branch
    leading, still = np.array([0, 3, 2, 3]), np.zeros(4, dtype=bool)
    assert pairs_apart(tree, np.array([-1, -1, 0, 0]), leading, still) == [(1, 2)]
    assert pairs_apart(tree, leading_tree(tree, leading, still)[1], leading, still) == []


@pytest.mark.parametrize("engine", ENGINES)
def test_gears_that_speed_up_beyond_all_rounding_are_independent(engine: str) -> None:
    """Two wheels on one driver, 1e7 times as fast: their rows differ by a part of 1e-7, less than what counts elsewhere."""
    s = tt.System("spindle", gravity=[0, 0, 0])
    for name in ("driver", "one", "two"):
        s.connect("world", tt.RigidBody(f"{name}_wheel", mass=1.0, inertia=0.5), tt.Revolute(name))
    for name in ("one", "two"):
        s.add_gear(tt.Gear(f"to_{name}", driver="driver", driven=name, ratio=1e7))
    m = s.resolve(engine)
    assert m.closure_rank(np.zeros(3)) == 2
    fast, nothing = 1.0 / (0.5 + 0.5 + 0.5e-14), np.zeros(3)
    moves = np.array([1e-7, 1.0, 1.0])
    a, *slopes = (
        m.forward_dynamics(nothing, nothing, [0.0, 1.0, 0.0]),
        m.forward_dynamics_derivatives(nothing, nothing, nothing),
    )
    np.testing.assert_allclose(a, moves * fast, rtol=1e-13)  # rounding
    np.testing.assert_allclose(slopes[0][2], fast * np.outer(moves, moves), rtol=1e-13, atol=1e-15)
    a, tau = m.hybrid_dynamics(nothing, nothing, nothing, moves, ["driver"])
    np.testing.assert_allclose([*a, tau[0]], [*moves, 1e7 / fast], rtol=1e-13)


def flywheels(count: int, drivers: list[int], rng: np.random.Generator) -> tuple[tt.System, Array, Array]:
    """Return wheels of which each but the first follows another, their inertias, and what they move a unit of the first."""
    s, inertias, moves = tt.System("wheels", gravity=[0, 0, 0]), rng.uniform(0.5, 2.0, count), np.ones(count)
    for k, inertia in enumerate(inertias):
        s.connect("world", tt.RigidBody(f"b{k}", mass=1.0, inertia=float(inertia)), tt.Revolute(f"j{k}"))
    for k, driver in enumerate(drivers, start=1):
        ratio = float(rng.choice([-1.0, 1.0]) * rng.uniform(0.8, 1.25))
        s.add_gear(tt.Gear(f"g{k}", driver=f"j{driver}", driven=f"j{k}", ratio=ratio))
        moves[k] = ratio * moves[driver]
    return s, inertias, moves


@pytest.mark.parametrize("pattern", ["star", "chain", "tree"])
def test_many_gears_leave_one_wheel_to_solve_for(pattern: str) -> None:
    rng, count = np.random.default_rng(0), 400
    drivers = {"star": [0] * (count - 1), "chain": list(range(count - 1)), "tree": [k // 3 for k in range(count - 1)]}
    s, inertias, moves = flywheels(count, drivers[pattern], rng)
    m = s.resolve()
    loops, tree = m.mechanism.engine.system.constraint_tables
    assert loops[0, layout.FOLLOWERS] == count - 1  # no constraint is left for multipliers
    assert (tree[1] < 0).all()
    tau = rng.normal(size=count)
    a = m.forward_dynamics(np.zeros(count), np.zeros(count), tau)
    # rounding of sums of as many terms
    np.testing.assert_allclose(a, moves * (moves @ tau) / (moves**2 @ inertias), rtol=1e-10)


def geared_closed_tree(seed: int) -> tuple[tt.System, Array]:
    """Return a random closed tree with gears among its first simple joints: a chain, two drivers of one, a circle."""
    rng = np.random.default_rng(seed)
    s, q = random_closed_tree(rng, 9, compliant=0)
    simple = [c.joint.name for c in s.connections if isinstance(c.joint, tt.Revolute | tt.Prismatic)]
    place = dict(zip(s.resolve("reference").configuration_names, q, strict=True))
    for k, (driver, driven) in enumerate(pairwise(simple)):
        ratio = float(rng.uniform(-2, 2))
        s.add_gear(tt.Gear(f"gear{k}", driver, driven, ratio, offset=place[driven] - ratio * place[driver]))
    if seed % 2:
        s.add_gear(tt.Gear("circle", simple[0], simple[1], s.gears[0].ratio, s.gears[0].offset))
    return s, q


@pytest.mark.filterwarnings("ignore::titop.ModelWarning")
@pytest.mark.parametrize("seed", range(6))
def test_gears_beside_loops_agree_with_the_reference(seed: int) -> None:
    """The reference resolver has a multiplier for every gear."""
    s, q = geared_closed_tree(seed)
    m, reference = s.resolve(), s.resolve("reference")
    rng = np.random.default_rng(seed)
    v, tau = m.assemble_velocity(q, rng.normal(size=m.nv)), rng.normal(size=m.nv)
    expected = reference.forward_dynamics(q, v, tau)
    # rounding times the condition of random mass matrices and constraints
    np.testing.assert_allclose(m.forward_dynamics(q, v, tau), expected, rtol=1e-8, atol=1e-9 * np.abs(expected).max())


@pytest.mark.filterwarnings("ignore::titop.ModelWarning")
@pytest.mark.parametrize("seed", range(4))
def test_derivatives_of_efforts_beside_loops_are_those_of_differences(seed: int) -> None:
    s, q = geared_closed_tree(seed)
    m, rng = s.resolve(), np.random.default_rng(seed)
    v = m.assemble_velocity(q, rng.normal(size=m.nv))
    a = m.forward_dynamics(q, v, rng.normal(size=m.nv))
    actuated = m.independent_coordinates(q)
    by_q, by_v, by_a = m.inverse_dynamics_derivatives(q, v, a, actuated=actuated)
    motion, step = m.assemble_velocity(q, rng.normal(size=m.nv)), 1e-5

    def efforts(part: float) -> Array:
        there = m.assemble(m.integrate(q, part * motion))
        rate = m.assemble_velocity(there, v)
        pushed = m.assemble_acceleration(there, rate, a)
        change = np.concatenate([m.difference(q, there), rate - v, pushed - a])
        return np.concatenate([m.inverse_dynamics(there, rate, pushed, actuated=actuated), change])

    difference = (efforts(step) - efforts(-step)) / (2 * step)
    change_q, change_v, change_a = np.split(difference[m.nv :], 3)
    expected = difference[: m.nv]
    found = by_q @ change_q + by_v @ change_v + by_a @ change_a
    # central differences: 1e-10 of the third derivatives, rounding over the step
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6 * (1.0 + np.abs(expected).max()))


@pytest.mark.filterwarnings("ignore::titop.ModelWarning")
def test_velocities_of_loops_that_leave_no_motion_are_assembled_again_and_again() -> None:
    """The coordinates that are locked have rounding alone, against which nothing may be judged."""
    s, q = geared_closed_tree(1)
    m = s.resolve()
    v = m.assemble_velocity(q, np.random.default_rng(1).normal(size=m.nv))
    for _ in range(2):
        np.testing.assert_allclose(m.assemble_velocity(q, v), v, atol=1e-14)  # rounding
