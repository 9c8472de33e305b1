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


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"ports": "C"}, r'mine.ports.*write ports = \("C",\)'),
        ({"ports": ("C", "C")}, r"mine.ports.*duplicate-name"),
        ({"ports": ("P",)}, r"mine.ports.*duplicate-name"),
        ({"coordinates": ("x", "x")}, r"mine.coordinates.*duplicate-name"),
        ({"coordinates": ("a.b", "y")}, r"mine.coordinates.*bad-name"),
        ({"coordinates": ("C", "y")}, r"mine.ports.*duplicate-name"),
        ({"parameter_units": {"length": "m"}}, r"mine.parameter_units: got AttributeError.*block-fails"),
        ({"passive_efforts": lambda *_: np.zeros(3)}, r"mine.passive_efforts: got shape \(3,\); expected shape \(2,\)"),
        ({"gyroscopic": lambda *_: np.zeros(6)}, r"mine.gyroscopic: got shape \(6,\); expected shape \(8,\)"),
        ({"motion_subspace": lambda *_: np.zeros((6, 3))}, r"mine.motion_subspace\('C'\): got shape \(6, 3\)"),
        ({"motion_subspace": lambda *_: np.full((6, 2), np.nan)}, r"mine.motion_subspace\('C'\).*not-finite"),
        ({"law": lambda *_: None}, r"mine.law: got None.*LawTerms"),
        ({"weight": lambda *_: (np.zeros(3), 1.0)}, r"mine.weight.*block-fails"),
    ],
)
def test_mistakes_in_names_and_forms_are_told_by_name(fields: dict[str, Any], said: str) -> None:
    plane = {
        "coordinates": ("x", "y"),
        "ports": ("C",),
        "pose": lambda _, port, q: (np.eye(3) + 0 * q[0], np.array([q[0], q[1], 0 * q[0]])),
        "mass_matrix": lambda _, q: np.diag([0.0] * 6 + [2.0, 2.0]) + 0 * q[0],
    }
    block = type("Mine", (tt.Block,), plane | fields)("mine")
    with pytest.raises(tt.ModelError, match=said):
        tt.check_block(block)
    s = tt.System("plane")
    s.connect("world", block, tt.Weld("weld"))
    with pytest.raises(tt.ModelError, match=said):
        s.resolve()


def test_a_block_that_nobody_named_is_told_where_it_is_connected() -> None:
    nameless = type("Nameless", (tt.Block,), {"__init__": lambda self: None})()
    with pytest.raises(tt.ModelError, match=r"Nameless.*call super"):
        tt.System("none").connect("world", nameless, tt.Weld("weld"))


def test_what_a_parent_computes_by_itself_has_to_be_overridden_too() -> None:
    class Hard(tt.Revolute):
        def elastic_energy(self, q: Any) -> Any:
            return 7.0 * q[0] ** 4

    s = tt.System("hard", gravity=[0, 0, 0])
    s.connect("world", tt.RigidBody("wheel", 1.0, inertia=1.0), Hard("hinge"))
    with pytest.warns(tt.ModelWarning, match="define passive_efforts in Hard too"):
        s.resolve()


@pytest.mark.long
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("joint", [tt.Spherical("ball"), tt.Free("base")], ids=["spherical", "free"])
def test_rounding_of_third_differences_is_no_mistake(joint: tt.Joint, seed: int) -> None:
    tt.check_block(joint, seed)
