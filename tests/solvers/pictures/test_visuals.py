"""Shapes that users give for bodies in animations."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import titop as tt
from tests.refusals import assert_says, hinged
from titop.solvers.pictures.scene import read_visuals

MODEL = hinged().resolve("reference")


def test_shapes_have_a_size_along_each_axis() -> None:
    """A cylinder along z is as wide along x as along y, a sphere the same along all."""
    turn = Rotation.from_rotvec([0.1, -0.4, 0.7])
    shapes = [
        {"box": [0.1, 0.2, 0.3], "color": "red"},
        {"cylinder": [0.1, 0.5], "position": [1, 2, 3]},
        {"sphere": 0.2, "rotation": turn},
        {"ellipsoid": [0.1, 0.2, 0.3]},
    ]
    read = read_visuals(MODEL, {"arm": shapes, "world": {"sphere": 1}})
    assert [*read] == ["arm", "world"]
    box, cylinder, sphere, ellipsoid = read["arm"]
    assert [visual.kind for visual in read["arm"]] == ["box", "cylinder", "sphere", "sphere"]
    np.testing.assert_array_equal([box.size, cylinder.size, sphere.size], [[0.1, 0.2, 0.3], [0.1, 0.1, 0.5], [0.2, 0.2, 0.2]])
    np.testing.assert_array_equal(ellipsoid.size, [0.1, 0.2, 0.3])
    np.testing.assert_array_equal(cylinder.position, [1, 2, 3])
    np.testing.assert_allclose(sphere.rotation, turn.as_matrix(), rtol=0, atol=1e-15)
    assert (box.color, cylinder.color) == ("#ff0000", None)
    np.testing.assert_array_equal(box.rotation, np.eye(3))


@pytest.mark.parametrize(
    ("visuals", "code", "where", "said"),
    [
        ([1], "wrong-type", "visuals.visuals", 'write {"hub": {"sphere": 0.1}}'),
        ({"am": {"sphere": 1}}, "unknown-block", "visuals.am", "did you mean 'arm'"),
        ({"arm": 3}, "unknown-visual", "visuals.arm", "exactly one of box, cylinder, capsule, sphere, ellipsoid and mesh"),
        ({"arm": {"sphere": 1, "box": [1, 1, 1]}}, "unknown-visual", "visuals.arm", "exactly one"),
        ({"arm": {"sphere": [1, 2]}}, "wrong-shape", "visuals.arm.sphere", "shape ()"),
        ({"arm": {"box": [1, -1, 1]}}, "bad-size", "visuals.arm.box", "lengths > 0"),
        ({"arm": {"sphere": 1, "color": "reddish"}}, "unknown-color", "visuals.arm.color", "tab:blue"),
        ({"arm": {"mesh": [[0, 0, 0]]}}, "wrong-type", "visuals.arm.mesh", "vertices (k, 3) and faces (m, 3)"),
        ({"arm": {"sphere": 1, "rotation": 2 * np.eye(3)}}, "not-orthogonal", "visuals.arm.rotation", "orthonormalise"),
    ],
)
def test_unusable_shapes_are_refused_by_name(visuals: Any, code: str, where: str, said: str) -> None:
    with pytest.raises(tt.ModelError) as caught:
        read_visuals(MODEL, visuals)
    assert_says(caught.value, code, where, said)


def test_keys_are_told_in_the_order_in_which_they_are_given() -> None:
    """Not in that of a set of words, which differs from process to process."""
    keys = ["width", "depth", "label", "name", "look", "shade"]
    with pytest.raises(tt.ModelError) as caught:
        read_visuals(MODEL, {"arm": {"sphere": 1, **dict.fromkeys(keys, 1)}})
    assert [finding.where for finding in caught.value.findings] == [f"visuals.arm.{key}" for key in keys]
