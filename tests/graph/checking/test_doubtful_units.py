"""Numbers that are most likely in another unit are found."""

from __future__ import annotations

import numpy as np
import pytest

import titop as tt
from tests.refusals import body, hinged


class TestUnitsInDoubt:
    """Usable, and most likely not meant."""

    @staticmethod
    def codes(s: tt.System) -> list[str]:
        return [finding.code for finding in s.check()]

    def test_inertia_in_kg_mm2(self) -> None:
        (finding,) = hinged(body(inertia=[2e5, 2e5, 3e5])).check()
        assert (finding.code, finding.where) == ("large-inertia", "arm.inertia")
        assert "radius of gyration of 548 m" in str(finding)
        assert not hinged(body(inertia=[1.0, 1.0, 1.5], com=[0, 0, 0.02], ports={})).check()  # a hub: reach is not size
        assert not hinged(body(inertia=2e4, com=[0, 0, 0], ports={})).check()  # no length to compare with

    @pytest.mark.parametrize("turn", [[0, 0, 90.0], [45.0, 0, 0], [0, -180.0, 0]])
    def test_rotation_vectors_in_degrees(self, turn: list[float]) -> None:
        pose = tt.Pose.from_rotation_vector([0, 0, 1], turn)
        (finding,) = hinged(body(ports={"tip": pose})).check()
        assert (finding.code, finding.where) == ("degrees", "arm.tip.rotation_vector")
        (finding,) = hinged(placement=pose).check()
        assert (finding.code, finding.where) == ("degrees", "hinge.placement.rotation_vector")
        s = hinged()
        s.world.add_port("stand", pose)
        assert self.codes(s) == ["degrees"]
        assert not hinged(placement=tt.Pose.from_rotation_vector([0, 0, 1], [0, 0, 2 * np.pi])).check()

    def test_masses_that_no_system_holds_together(self) -> None:
        s = hinged(body(mass=1e9, inertia=1e8))
        s.connect(s["arm"].port("tip"), body("speck", mass=1e-6, inertia=1e-7), tt.Revolute("second"))
        (finding,) = s.check()
        assert (finding.code, finding.where) == ("far-masses", "speck.mass")
        assert "beside 1e+09 kg of arm" in str(finding)
        s["speck"].mass = 1e-2
        assert not s.check()
