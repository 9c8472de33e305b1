"""How a state and all that acts on it change with states and inputs: the parts of one matrix."""

from __future__ import annotations

import numpy as np
import pytest

from tests.systems import Array
from titop.solvers.signals.snapshot import SnapshotDerivatives

NV, INPUTS = 3, 2
RNG = np.random.default_rng(0)
BY_STATE, BY_INPUT = RNG.normal(size=(4, 2 * NV, 2 * NV)), RNG.normal(size=(2 * NV, INPUTS))
EFFORTS = RNG.normal(size=(4, NV, 2 * NV)), RNG.normal(size=(NV, INPUTS))
#: From independent states to all displacements and rates.
BASIS = RNG.normal(size=(2 * NV, 4))


@pytest.fixture
def change() -> SnapshotDerivatives:
    return SnapshotDerivatives(
        lambda matrix: matrix @ BASIS, BY_STATE, np.tile(BY_INPUT, (4, 1, 1)), EFFORTS[0], np.tile(EFFORTS[1], (4, 1, 1))
    )


@pytest.mark.parametrize("k", range(4))
def test_each_part_goes_through_the_independent_states(change: SnapshotDerivatives, k: int) -> None:
    """For a change of states and inputs, every part moves as the whole equations say."""
    single, z = change.at(k), np.random.default_rng(1).normal(size=4 + INPUTS)
    moved, driven = BASIS @ z[:4], z[4:]
    expected = {
        "q": moved[:NV],
        "v": moved[NV:],
        "a": BY_STATE[k, NV:] @ moved + BY_INPUT[NV:] @ driven,
        "tau": EFFORTS[0][k] @ moved + EFFORTS[1] @ driven,
        "inputs": driven,
    }
    for name, part in expected.items():
        found: Array = getattr(single, name) @ z
        np.testing.assert_allclose(found, part, rtol=1e-13, atol=1e-13)


def test_parts_that_are_not_stacked_serve_all(change: SnapshotDerivatives) -> None:
    shared = SnapshotDerivatives(lambda matrix: matrix @ BASIS, BY_STATE, BY_INPUT, EFFORTS[0], EFFORTS[1])
    for name in ("q", "v", "a", "tau", "inputs"):
        assert np.array_equal(getattr(shared.at(2), name), getattr(change.at(2), name))


@pytest.mark.parametrize("names", ["q", "qv", "qva"])
def test_what_depends_on_them_changes_with_them(change: SnapshotDerivatives, names: str) -> None:
    """Also through the independent states, as products with whole changes say."""
    single = change.at(1)
    derivatives = np.random.default_rng(2).normal(size=(len(names), 5, NV))
    expected = sum(by @ getattr(single, name) for by, name in zip(derivatives, names, strict=True))
    np.testing.assert_allclose(single.along(*derivatives), expected, rtol=0, atol=1e-13)  # sums of some twenty numbers near one
