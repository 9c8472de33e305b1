"""Packing parameters into tables, compiled and not."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.flexible import random_system
from titop.solvers.kernels.entries import dynamics_entries
from titop.solvers.kernels.interface import layout


@pytest.mark.parametrize("seed", range(3))
def test_packing_gives_the_same_bits_uncompiled(seed: int) -> None:
    model = random_system(np.random.default_rng(seed)).resolve()
    system: Any = model.mechanism.engine.system
    tables, params = system.tables, system.params
    filled = []
    for pack in (dynamics_entries.pack.compiled, dynamics_entries.pack.function):
        tables_of_floats = [np.zeros_like(system.floats), np.zeros_like(system.frames), np.zeros_like(system.ports)]
        rows = tables.sources, tables.welded, tables.constants, tables.port_table
        assert pack(system.ints, *rows, params, *tables_of_floats) == layout.OK
        filled.append(tables_of_floats)
    for ours, theirs in zip(*filled, strict=True):
        assert np.array_equal(ours, theirs)
        assert ours.any()


def test_packing_refuses_what_is_not_finite_uncompiled_too() -> None:
    model = random_system(np.random.default_rng(0)).resolve()
    system: Any = model.mechanism.engine.system
    tables, filled = system.tables, [np.zeros_like(system.floats), np.zeros_like(system.frames), np.zeros_like(system.ports)]
    for wrong in (np.nan, np.inf):
        for k in range(0, len(system.params), 7):
            params = system.params.copy()
            params[k] = wrong
            rows = tables.sources, tables.welded, tables.constants, tables.port_table
            assert dynamics_entries.pack.function(system.ints, *rows, params, *filled) == 1
