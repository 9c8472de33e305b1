"""Attributes of URDF elements: origins as angles and as quaternions."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from tests.graph.robots.urdf_texts import load, one_joint, warned
from titop.graph.robots.urdf import from_urdf


@pytest.mark.parametrize(
    "rpy", [(0.1, 0.2, 0.3), (3.14159265358979, 0, 0), (0, np.pi / 2, 1), (2, -3, 6), (np.pi, np.pi, 1e-9)]
)
def test_origins_turn_about_fixed_axes(rpy: tuple[float, float, float]) -> None:
    model = load(one_joint("fixed", f'<origin rpy="{rpy[0]!r} {rpy[1]!r} {rpy[2]!r}"/>'.replace("np.float64", "")))
    expected = Rotation.from_euler("xyz", rpy).as_matrix()
    # products of three rotations, and the vector of it: some twenty roundings of 1e-16, and near half a turn of angles of 3
    np.testing.assert_allclose(model.pose("bob", [])[0], expected, atol=1e-14)


@pytest.mark.parametrize("rpy", ["0 0 90", "-45 0 0", "0 6.3 0", "2 -3 9"])
def test_angles_beyond_a_turn_are_suspected_to_be_degrees(rpy: str) -> None:
    text = one_joint("fixed", f'<origin rpy="{rpy}"/>')
    message = warned(text)
    assert message.startswith(f"r.joint.origin.rpy: got '{rpy}'; expected angles in radians")
    assert message.endswith("[beyond-a-turn]")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        rotation = from_urdf(text).resolve().pose("bob", [])[0]
    expected = Rotation.from_euler("xyz", [float(angle) for angle in rpy.split()]).as_matrix()  # taken as written
    np.testing.assert_allclose(rotation, expected, atol=1e-14)
    load(one_joint("fixed", '<origin rpy="6.2832 -6.2832 0"/>'))


def test_origins_may_be_quaternions() -> None:
    model = load(one_joint("fixed", '<origin quat_xyzw="0.5 0.5 0.5 0.5"/>'))
    np.testing.assert_allclose(model.pose("bob", [])[0], [[0, 0, 1], [1, 0, 0], [0, 1, 0]], atol=1e-14)  # rounding
