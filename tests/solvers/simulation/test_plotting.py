"""Pictures of trajectories."""

from __future__ import annotations

import numpy as np
import pytest

import titop as tt


def test_figure(trajectory: tt.Trajectory) -> None:
    names = list(trajectory.model.configuration_names)
    for shown, figure in ((names, trajectory.plot()), (names[:2], trajectory.plot(names[:2]))):
        axes = [axis for axis in figure.axes if axis.get_visible()]
        assert [axis.get_title().split(" [")[0] for axis in axes] == shown
        for name, axis in zip(shown, axes, strict=True):
            assert np.array_equal(axis.lines[0].get_ydata(), trajectory.coordinate(name))
    with pytest.raises(tt.ModelError, match="unknown-coordinate"):
        trajectory.plot(["no such entry"])
    for wrong in (3, {"hinge": 1}, 2.5):
        with pytest.raises(tt.ModelError, match=r"names: got .*wrong-type"):
            trajectory.plot(wrong)
