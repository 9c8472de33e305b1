"""Parameters of every class of joint: their names, units, and what they change."""

from __future__ import annotations

import numpy as np
import pytest

import titop as tt
from tests.blocks.joints.joint_kinds import FIELDS, make
from titop.blocks.joints.joint import Joint


@pytest.mark.parametrize("kind", FIELDS)
class TestParameters:
    def test_round_trip(self, kind: str, rng: np.random.Generator) -> None:
        joint = make(kind, rng)
        values = {name: value for name, (value, _) in joint.parameters().items()}
        assert joint.with_parameters(values).parameters() == joint.parameters()

    def test_each_changes_itself_alone_and_in_a_copy(self, kind: str, rng: np.random.Generator) -> None:
        joint = make(kind, rng)
        before = joint.parameters()
        for name, (value, unit) in before.items():
            after = joint.with_parameters({name: value + 0.5}).parameters()
            assert after == before | {name: (value + 0.5, unit)}
        assert joint.parameters() == before

    def test_matrices_stay_symmetric(self, kind: str, rng: np.random.Generator) -> None:
        joint = make(kind, rng)
        changed = joint.with_parameters(dict.fromkeys(joint.parameters(), 0.25))
        assert isinstance(changed, Joint)
        np.testing.assert_array_equal(changed.stiffness, changed.stiffness.T)
        np.testing.assert_array_equal(changed.damping, changed.damping.T)


class TestUnits:
    def test_names_and_units_of_a_single_coordinate(self) -> None:
        parameters = tt.Prismatic("rail", axis=[1, 0, 0], stiffness=3.0, damping=0.5, rest=0.1, armature=0.2).parameters()
        assert parameters["stiffness"] == (3.0, "N/m")
        assert parameters["damping"] == (0.5, "N s/m")
        assert parameters["rest"] == (0.1, "m")
        assert parameters["armature"] == (0.2, "kg")
        assert parameters["axis.x"] == (1.0, "1")

    def test_units_of_coupled_coordinates(self) -> None:
        parameters = tt.Cylindrical("slide").parameters()
        assert parameters["stiffness.displacement.displacement"][1] == "N/m"
        assert parameters["stiffness.displacement.angle"][1] == "N/rad"
        assert parameters["damping.angle.angle"][1] == "N m s/rad"
        assert parameters["armature.angle"][1] == "kg m^2"
