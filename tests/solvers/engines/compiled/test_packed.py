"""Systems as tables: variants with loads leave the system as it is, and pushed wrenches act where they should."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

from tests.solvers.kernels.packed_trees import Packed
from tests.tolerances import ROUNDING_OF_MANY
from titop.solvers.engines.compiled.packed import MOST_VARIANTS
from titop.solvers.kernels.entries.dynamics_entries import inverse_dynamics
from titop.solvers.kernels.interface import layout
from titop.solvers.mechanism.inputs import PortPush, WrenchPlace


@pytest.fixture(scope="module")
def packed() -> Packed:
    return Packed(3, bodies=5, loads=True)


def efforts(system: Any, packed: Packed) -> np.ndarray:
    """Return the efforts of inverse dynamics by a system's tables."""
    tau = np.empty(packed.model.nv)
    assert system.bound(inverse_dynamics)(packed.q, packed.v, packed.a, tau) == layout.OK
    return tau


@pytest.mark.parametrize("inertial", [False, True])
def test_pushes_act_as_wrenches_on_the_reference_engine_do(packed: Packed, inertial: bool) -> None:
    ports, wrenches = packed.model.port_names[-3:], np.random.default_rng(0).normal(size=(3, 6))
    pushes = [PortPush(port, inertial, wrench) for port, wrench in zip(ports, wrenches, strict=True)]
    before = efforts(packed.system, packed)
    found = efforts(packed.system.with_pushes(pushes), packed)
    expected = before.copy()
    for port, wrench in zip(ports, wrenches, strict=True):
        turn = packed.reference.pose(port, packed.q)[0].T if inertial else np.eye(3)
        expected -= packed.reference.jacobian(port, packed.q).T @ np.kron(np.eye(2), turn) @ wrench
    np.testing.assert_allclose(found, expected, **ROUNDING_OF_MANY)
    assert np.array_equal(efforts(packed.system, packed), before)  # the system itself hears nothing of it
    assert packed.system.with_pushes([]) is packed.system


def test_variants_are_kept_and_not_without_end(packed: Packed) -> None:
    places = [(WrenchPlace(port, bool(k % 2)),) for k in range(4) for port in packed.model.port_names]
    first = packed.system.with_loads_at(places[0])
    assert packed.system.with_loads_at(places[0]) is first
    for k in range(MOST_VARIANTS + 1):
        packed.system.with_loads_at(tuple(WrenchPlace(packed.model.port_names[-1], False) for _ in range(k + 1)))
    assert len(packed.system._loaded) <= MOST_VARIANTS
    again = packed.system.with_loads_at(places[0])
    assert np.array_equal(again.ints, first.ints)


def test_the_bare_system_has_neither_springs_nor_loads() -> None:
    """Of the reference engine, what passive efforts and loads take off is added again."""
    packed = Packed(3, bodies=5, loads=True, passive=True)
    silent = ("force", "torque")
    names = [name for name in packed.reference.parameters() if name.split(".")[1] in silent]
    unloaded = packed.reference.with_parameters(dict.fromkeys(names, 0.0))
    expected = unloaded.inverse_dynamics(packed.q, packed.v, packed.a) + unloaded.passive_efforts(packed.q, packed.v)
    np.testing.assert_allclose(efforts(packed.system.bare, packed), expected, **ROUNDING_OF_MANY)
    for part in (unloaded, packed.reference):
        assert np.abs(part.inverse_dynamics(packed.q, packed.v, packed.a) - expected).max() > 0.01  # both count


def test_tables_travel_without_what_follows_from_them(packed: Packed) -> None:
    again = pickle.loads(pickle.dumps(packed.system))
    assert "_loaded" not in vars(again)
    assert np.array_equal(efforts(again, packed), efforts(packed.system, packed))


def test_parameters_that_are_no_numbers_are_not_packed(packed: Packed) -> None:
    broken = packed.system.variant(params=np.full_like(packed.system.params, np.nan), floats=packed.floats.copy())
    assert not broken.pack()
    assert packed.system.pack()
