"""What is wrong with the functions of a block of one's own is named."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import titop as tt
from tests.blocks.checking.wrong_blocks import Segment, refused, segment


def swollen(self: Any, port: str, q: Any) -> Any:
    """1.1 times the rotation."""
    rotation, position = Segment.pose(self, port, q)
    return 1.1 * rotation, position


def indefinite(self: Any, q: Any) -> Any:
    """A negative mass of the last coordinate."""
    return Segment.mass_matrix(self, q) * np.outer(*2 * [[1, 1, 1, 1, 1, 1, 1j]]).real


def test_a_rotation_must_be_one() -> None:
    assert refused(segment(pose=swollen))["pose('C')[0]"] == "not-a-rotation"
    mirrored = segment(pose=lambda self, port, q: (np.diag([1.0, 1.0, -1.0]) + 0 * q[0], np.zeros(3)))
    assert refused(mirrored)["pose('C')[0]"] == "not-a-rotation"


def test_an_inertia_must_not_be_negative() -> None:
    assert refused(segment(mass_matrix=indefinite))["mass_matrix"] == "indefinite-inertia"
    s = tt.System("negative")
    s.connect("world", segment(mass_matrix=indefinite), tt.Weld("clamp"))
    with pytest.raises(tt.ModelError, match="indefinite-inertia"):
        s.resolve()


def test_damping_must_oppose_the_motion() -> None:
    pushing = {"damping_efforts": lambda self, q, v: 0.2 * v}
    assert refused(segment(**pushing))["damping_efforts"] == "negative-damping"
    assert refused(tt.Revolute("hinge", damping=-1.0)) == {"damping_efforts": "negative-damping"}
    s = tt.System("negative")
    s.connect("world", segment(**pushing), tt.Weld("clamp"))
    with pytest.warns(tt.ModelWarning, match="negative-damping"):
        s.resolve()
    tt.check_block(tt.Planar("table", damping=[1, 2, 3], friction=tt.Friction(0.3, 0.5)))
