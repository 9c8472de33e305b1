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

    @pytest.mark.parametrize("size", [0.003, 0.03, 0.3])
    def test_small_links_of_an_arm_in_kg_mm2(self, size: float) -> None:
        """Balls of steel at the end of an arm of 0.5 m: what is a thousand times their size is thinner than any matter."""
        mass = 4 / 3 * np.pi * size**3 * 7850.0
        honest = 0.4 * mass * size**2
        s = hinged(body(com=[0.25, 0, 0], ports={"tip": [0.5, 0, 0]}, inertia=0.1))
        s.connect(s["arm"].port("tip"), tt.RigidBody("ball", mass, inertia=honest), tt.Revolute("wrist"))
        assert self.codes(s) == []
        s["ball"].inertia = 1e6 * honest
        assert self.codes(s) == ["large-inertia"]
        s["ball"].inertia = 1e-6 * honest
        assert self.codes(s) == ["small-inertia"]

    def test_no_body_has_so_little_inertia(self) -> None:
        (finding,) = hinged(body(mass=0.1, inertia=1e-18)).check()
        assert (finding.code, finding.where) == ("small-inertia", "arm.inertia")
        radius = (3 * 0.1 / (4 * np.pi * 22_600)) ** (1 / 3)
        assert f"{0.4 * 0.1 * radius**2:.2g} kg m^2 or more" in str(finding)
        assert not hinged(body(mass=0.1, inertia=0.4 * 0.1 * radius**2)).check()  # the negative control: a ball of osmium
        for almost in (0.0, 1e-6):  # point masses
            assert not hinged(body(mass=1.0, inertia=almost)).check()

    def test_large_and_light_bodies_are_possible(self) -> None:
        """A sail of 50 m and 30 kg on a hub of 1 m, and a wheel whose centre of mass is 10 um off its axis."""
        s = hinged(body(inertia=0.1))
        s.connect(s["arm"].port("tip"), tt.RigidBody("sail", 30.0, inertia=[6e3, 6e3, 12e3]), tt.Weld("hub"))
        assert self.codes(s) == []
        wheel = tt.RigidBody("wheel", 6.0, [1e-5, 0, 0], [[0.04, 0, 2e-6], [0, 0.04, 0], [2e-6, 0, 0.08]])
        assert hinged(wheel).check() == []

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
        s = hinged(body(mass=1e9, inertia=1e11))
        s.connect(s["arm"].port("tip"), body("speck", mass=1e-6, inertia=1e-7), tt.Revolute("second"))
        (finding,) = s.check()
        assert (finding.code, finding.where) == ("far-masses", "speck.mass")
        assert "beside 1e+09 kg of arm" in str(finding)
        s["speck"].mass = 1e-2
        assert not s.check()
