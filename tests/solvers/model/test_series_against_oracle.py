"""Time derivatives of dynamics against Newton's and Euler's laws in the inertial frame, in fifty digits."""

from __future__ import annotations

import numpy as np
import pytest

from tests.refusals import ENGINES
from tests.series_oracle import Array, Oracle, aerial_manipulator, rounded, table3
from tests.systems import random_tree

#: Relative errors that are allowed, by order: rounding, and a digit for each order's factorials and cancellation.
ALLOWED = np.array([1e-12, 1e-12, 1e-11, 1e-11, 1e-10, 1e-9])

KINDS = ("Revolute", "Prismatic", "Spherical", "Free", "Weld")


def errors(found: Array, expected: Array) -> Array:
    """Return the error of each order, relative to its largest entry."""
    return np.asarray(np.abs(found - expected).max(axis=1) / np.abs(expected).max(axis=1))


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("instant", [0.0, 4.2, 17.0, 30.0])
def test_table_3(engine: str, instant: float) -> None:
    joints, q = table3(instant, 5)
    m, oracle = aerial_manipulator().resolve(engine), Oracle(aerial_manipulator())
    v_series, expected = rounded(oracle.velocities(joints)), rounded(oracle.inverse(joints))
    assert (errors(m.inverse_dynamics_series(q, v_series), expected) < ALLOWED).all()

    # the negative control: a millionth of one derivative
    v_series[5, 0] += 1e-6 * np.abs(v_series[5]).max()
    assert not (errors(m.inverse_dynamics_series(q, v_series), expected) < ALLOWED).all()


@pytest.mark.parametrize("instant", [0.0, 17.0])
def test_forward_dynamics_lose_what_rounding_of_the_efforts_does(instant: float) -> None:
    """Hanging arms make a thousand times as much of an acceleration's error two orders later, however it is computed."""
    joints, q = table3(instant, 5)
    m, oracle = aerial_manipulator().resolve(), Oracle(aerial_manipulator())
    v_series, efforts = rounded(oracle.velocities(joints)), rounded(oracle.inverse(joints))
    found = m.forward_dynamics_series(q, v_series[0], efforts)
    rng, size = np.random.default_rng(0), 1e-8
    changes = []
    for _ in range(4):
        others = efforts * (1 + size * rng.uniform(-1, 1, efforts.shape))
        changes.append(errors(m.forward_dynamics_series(q, v_series[0], others), v_series[1:]))
    rounding = np.max(changes, axis=0) / size * np.finfo(float).eps
    assert (errors(found, v_series[1:]) < 30 * rounding).all()  # of sums of tens of terms, each with half of eps
    assert (errors(found, v_series[1:])[:2] < 1e-12).all()


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("seed", range(8))
def test_random_trees_with_wrenches(engine: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    s = random_tree(rng, int(rng.integers(2, 8)), kinds=KINDS)
    m, oracle = s.resolve(engine), Oracle(s)
    q, v_series = m.random_configuration(rng), rng.normal(size=(7, m.nv))
    wrenches = {port: rng.normal(size=(6, 6)) for port in m.port_names[-2:]}
    expected = rounded(oracle.inverse(oracle.moving(q, v_series), wrenches))
    assert (errors(m.inverse_dynamics_series(q, v_series, wrenches=wrenches), expected) < ALLOWED).all()
    without = rounded(oracle.inverse(oracle.moving(q, v_series)))
    assert (errors(m.inverse_dynamics_series(q, v_series), without) < ALLOWED).all()
    back = m.forward_dynamics_series(q, v_series[0], expected, wrenches=wrenches)
    assert (errors(back, v_series[1:]) < 1e4 * ALLOWED).all()  # condition numbers of mass matrices up to 1e4

    constant = {port: wrench * (np.arange(6) == 0)[:, None] for port, wrench in wrenches.items()}
    apart = errors(m.inverse_dynamics_series(q, v_series, wrenches=constant), expected)
    assert not (apart < ALLOWED).all()
