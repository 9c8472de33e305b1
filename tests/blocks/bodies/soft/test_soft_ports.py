"""Frames of ports: axes through material points, and what is no port."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import titop as tt
from titop.blocks.basics.user_input import FieldReader
from titop.blocks.bodies.soft.soft_ports import SoftPort, frame_through, read_soft_ports

L, R = 0.3, 0.02
DOMAIN = tt.Domain.cylinder(R, L)
THREE = SoftPort(((0.0, 0.0, L), (R, 0.0, L), (0.0, R, L)))


def test_the_tip_is_the_end_of_the_domain() -> None:
    """Its axes go through points as far away as the material reaches."""
    reader = FieldReader("b")
    (tip,) = read_soft_ports(reader, None, DOMAIN).values()
    place, along, beside = np.array(tip.points)
    np.testing.assert_array_equal(place, [0, 0, L])
    assert (along - place)[1:].tolist() == [0.0, 0.0]
    assert (beside - place)[[0, 2]].tolist() == [0.0, 0.0]
    assert 0 < along[0] <= R
    assert read_soft_ports(reader, None, tt.Domain(DOMAIN.points, DOMAIN.volumes)) == {}
    assert not reader.findings


def test_frames_turn_with_their_three_points() -> None:
    turn, shift = Rotation.from_rotvec([0.4, -0.2, 0.9]).as_matrix(), np.array([1.0, 2.0, 3.0])
    state = (np.array(THREE.points) @ turn.T + shift).ravel()
    rotation, position = frame_through(THREE, state)
    np.testing.assert_allclose(rotation.astype(float), turn, rtol=0, atol=1e-12)  # R among places of 4 m
    np.testing.assert_array_equal(position, state[:3])


def test_frames_of_one_point_follow_the_material() -> None:
    """x along the first column of F, y in the plane of the first two, however these are stretched and sheared."""
    F = np.array([[1.3, 0.4, 0.1], [0.2, 0.8, -0.3], [-0.1, 0.2, 1.1]])
    rotation = frame_through(SoftPort(((0.0, 0.0, L),)), np.concatenate([[1.0, 2.0, 3.0], F.T.ravel()]))[0].astype(float)
    Q, triangle = np.linalg.qr(F[:, :2])
    expected = Q * np.sign(np.diag(triangle))
    np.testing.assert_allclose(rotation[:, :2], expected, rtol=0, atol=1e-14)
    np.testing.assert_allclose(rotation[:, 2], np.cross(*expected.T), rtol=0, atol=1e-14)


@pytest.mark.parametrize(
    ("ports", "code", "where"),
    [
        (3, "wrong-type", "b.ports"),
        ({3: [0, 0, 0]}, "bad-name", "b.3"),
        ({"a.b": [0, 0, 0]}, "bad-name", "b.a.b"),
        ({"P": [0, 0, 0]}, "bad-name", "b.P"),
        ({"a": "end"}, "wrong-type", "b.ports.a"),
        ({"a": [0, 0]}, "wrong-type", "b.ports.a"),
        ({"a": [0, 0, np.nan]}, "wrong-type", "b.ports.a"),
        ({"a": [[0, 0, 0], [1, 0, 0], [1, 1, 0]]}, "bad-frame", "b.ports.a"),
        ({"a": [[0, 0, 0], [0, 0, 0], [0, 1, 0]]}, "bad-frame", "b.ports.a"),
    ],
)
def test_unusable_ports_are_refused_by_name(ports: Any, code: str, where: str) -> None:
    reader = FieldReader("b")
    read_soft_ports(reader, ports, DOMAIN)
    assert [(finding.code, finding.where) for finding in reader.findings] == [(code, where)]
