"""Parameters of modes, and numbers from which several follow: held against bodies that are given by matrices."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import titop as tt

FREQUENCIES = np.array([5.0, 12.0])
PARTICIPATION = np.array([[0.0, 0.7, 0.0, 0.0, 0.1, 0.5], [0.1, -0.3, 0.2, 0.05, 0.0, -0.1]])
SHAPE = np.array([[0.0, 0.1], [1.4, -1.2], [0.1, 0.3], [0.0, 0.2], [0.1, 0.0], [1.9, -2.6]])
FIELDS: dict[str, Any] = {"com": [0.5, 0.1, 0.0], "ports": {"C": [1.0, 0.0, 0.0]}, "damping_ratios": [0.01, 0.02]}
INERTIA = np.array([[0.3, 0.01, 0.0], [0.01, 0.4, 0.0], [0.0, 0.0, 0.5]])


def panel() -> tt.FlexibleBody:
    shapes = {"C": SHAPE}
    return tt.FlexibleBody(
        "panel", 2.0, inertia=INERTIA, frequencies=FREQUENCIES, participation=PARTICIPATION, shapes=shapes, **FIELDS
    )


def heavier(s: float) -> tt.FlexibleBody:
    """Return the same body of s times the mass and the stiffness, in coordinates of which modal mass is s."""
    matrices = {"modal_mass": s * np.eye(2), "modal_stiffness": s * np.diag(FREQUENCIES**2)}
    return tt.FlexibleBody(
        "panel", 2.0 * s, inertia=s * INERTIA, participation=s * PARTICIPATION, shapes={"C": SHAPE}, **matrices, **FIELDS
    )


def response(body: tt.Block) -> np.ndarray:
    """Return the response of a hinged body with a tip mass, driven at hinge and tip, and read there."""
    s = tt.System("panel", gravity=[0, 0, 0])
    s.connect("world", body, joint=tt.Revolute("hinge", axis=[0, 0, 1], stiffness=30.0, damping=0.2))
    s.connect(body.port("C"), tt.RigidBody("tip", 0.5, inertia=0.01), joint=tt.Weld("weld"))
    m = s.resolve()
    return np.asarray(tt.linearize(m, m.neutral(), ["hinge", "panel.C.F"], ["hinge.a", "panel.C.v"])(6.0j))


def shared(name: str, value: float) -> dict[str, float]:
    return {share.name: share.factor * value**share.exponent for share in panel().common_parameters()[name].shares}


def test_names_and_units() -> None:
    parameters = panel().parameters()
    assert parameters["mode1.participation.y"] == (0.7, "sqrt(kg)")
    assert parameters["mode2.participation.rz"] == (-0.1, "m sqrt(kg)")
    assert parameters["C.mode2.y"] == (-1.2, "1/sqrt(kg)")
    assert parameters["C.mode1.rz"] == (1.9, "rad/(m sqrt(kg))")
    assert not any("participation" in name for name in heavier(1.0).parameters())


@pytest.mark.parametrize("name", ["mode2.participation.rx", "C.mode2.ry"])
def test_a_changed_entry_is_that_of_the_field(name: str) -> None:
    body: Any = panel().with_parameters({name: 0.9})
    changed = body.participation[1, 3] if "participation" in name else body.shapes["C"][4, 1]
    assert changed == 0.9
    assert (np.sum(body.participation != PARTICIPATION) + np.sum(body.shapes["C"] != SHAPE)) == 1
    assert body.undeformed[7, 3] == body.participation[1, 3]


def test_a_heavier_body_is_that_of_scaled_matrices() -> None:
    """To rounding; without the shapes at the tip it would be another."""
    changes = shared("mass_scale", 1.3)
    assert response(panel().with_parameters(changes)) == pytest.approx(response(heavier(1.3)), rel=1e-11, abs=1e-12)
    of_body = {name: value for name, value in changes.items() if not name.startswith("C.")}
    assert response(panel().with_parameters(of_body)) != pytest.approx(response(heavier(1.3)), rel=1e-3)


def test_a_stiffness_keeps_the_damping_coefficient() -> None:
    body: Any = panel().with_parameters(shared("mode2.stiffness", 150.0))
    assert body.matrices.stiffness[1, 1] == pytest.approx(150.0, rel=1e-15)
    assert body.matrices.damping == pytest.approx(panel().matrices.damping, rel=1e-15)


def test_bodies_known_to_second_order_have_none() -> None:
    """What moments and geometric stiffness say of the modes would not follow."""
    zeros = np.zeros((3, 2, 2))
    second = {"acceleration": zeros, "spin": np.zeros((6, 2, 2))}
    moments = {"position_moments": np.zeros((3, 3, 2)), "displacement_moments": np.zeros((3, 3, 2, 2))}
    body = tt.FlexibleBody(
        "panel", 2.0, inertia=INERTIA, frequencies=FREQUENCIES, participation=PARTICIPATION, shapes={"C": SHAPE}, **FIELDS,
        geometric_stiffness=second, **moments,
    )  # fmt: skip
    assert not any("participation" in name for name in body.parameters())
    assert set(body.common_parameters()) == {"mode1.stiffness", "mode2.stiffness"}
