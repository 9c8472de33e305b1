"""Trajectories as datasets."""

from __future__ import annotations

import numpy as np
import pytest

import titop as tt


def test_dataset(trajectory: tt.Trajectory) -> None:
    pytest.importorskip("xarray")
    data, model = trajectory.to_xarray(), trajectory.model
    assert data.sizes == {"t": 5, "configuration": model.nq, "coordinate": model.nv}
    for k, name in enumerate(model.coordinate_names):
        for variable in ("v", "a", "tau"):
            assert np.array_equal(data[variable].sel(coordinate=name), getattr(trajectory, variable)[:, k])
    for k, name in enumerate(model.configuration_names):
        assert np.array_equal(data["q"].sel(configuration=name), trajectory.q[:, k])
        assert np.array_equal(trajectory.coordinate(name), trajectory.q[:, k])
    assert np.array_equal(data["t"], trajectory.t)
