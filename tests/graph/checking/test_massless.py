"""Joints that move no inertia are found."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import titop as tt
from tests.refusals import assert_says, body, hinged, refused

POINT = {"com": [0, 0, 0], "inertia": 0.0}


class TestJointsThatMoveNoInertia:
    """All found when resolving, at the joint, never as a LinAlgError."""

    WORDS = ("expected inertia to move along every coordinate", "armature")

    @pytest.mark.parametrize("kind", ["Revolute", "Prismatic", "Cylindrical", "Universal", "Planar", "Spherical", "Free"])
    def test_a_massless_leaf(self, engine: str, kind: str) -> None:
        arm = body()
        s = hinged(arm)
        s.connect(arm.port("tip"), body("ghost", mass=0.0, inertia=0.0), getattr(tt, kind)("loose"))
        assert_says(refused(s, engine), "massless-joint", "loose", *self.WORDS)

    @pytest.mark.parametrize(
        ("joint", "com"),
        [
            pytest.param(tt.Revolute("loose", axis=[0, 0, 1]), [0, 0, 0], id="point mass at the joint"),
            pytest.param(tt.Revolute("loose", axis=[0, 0, 1]), [0, 0, 0.7], id="point mass on the axis"),
            pytest.param(tt.Revolute("loose", axis=[1, 2, -1]), [0.3, 0.6, -0.3], id="point mass on a slanted axis"),
            pytest.param(tt.Cylindrical("loose", axis=[1, 2, -1]), [0.3, 0.6, -0.3], id="cylindrical"),
            pytest.param(tt.Universal("loose", axis1=[1, 0, 0], axis2=[0, 1, 0]), [0, 0.7, 0], id="universal"),
            pytest.param(tt.Planar("loose"), [0, 0, 0.7], id="planar"),
            pytest.param(tt.Spherical("loose"), [0, 0, 0], id="spherical"),
            pytest.param(tt.Spherical("loose"), [0.1, 0.2, 0.7], id="spherical, point mass on a line through it"),
            pytest.param(tt.Free("loose"), [0.1, 0.2, 0.7], id="free"),
        ],
    )
    def test_inertia_but_not_along_every_coordinate(self, engine: str, joint: tt.Joint, com: list[float]) -> None:
        assert_says(refused(hinged(body(com=com, inertia=0.0), joint), engine), "massless-joint", "loose", *self.WORDS)

    def test_the_joint_is_named_in_the_midst_of_a_chain(self, engine: str) -> None:
        s = tt.System("rig")
        a, b, c = body("a"), body("b", **POINT), body("c")
        s.connect("world", a, tt.Revolute("j0", axis=[1, 0, 0]))
        s.connect(a.port("tip"), b, tt.Revolute("loose", axis=[0, 0, 1]))
        s.connect("world", c, tt.Revolute("j2", axis=[1, 0, 0]))
        assert_says(refused(s, engine), "massless-joint", "loose", *self.WORDS)

    def test_two_parallel_axes_at_one_place(self, engine: str) -> None:
        """Each axis moves inertia, the two together do not: their mass matrix is singular."""
        s = tt.System("rig")
        ring = body("ring", mass=0.0, inertia=0.0)
        s.connect("world", ring, tt.Revolute("outer", axis=[1, 2, 3]))
        s.connect(ring, body(), tt.Revolute("inner", axis=[1, 2, 3]))
        error = refused(s, engine)
        assert error.code == "massless-joint"
        assert error.where in ("outer", "inner")

    def test_singular_at_one_configuration_only(self, engine: str) -> None:
        """Rings without mass in a gimbal: the outer axes coincide when all angles are zero, and nowhere near."""
        s = tt.System("gimbal")
        outer, inner = (body(name, mass=0.0, inertia=0.0, ports={}) for name in ("outer", "inner"))
        s.connect("world", outer, tt.Revolute("yaw", axis=[0, 0, 1]))
        s.connect(outer, inner, tt.Revolute("pitch", axis=[1, 0, 0]))
        s.connect(inner, body(com=[0.1, 0.2, 0.3]), tt.Revolute("roll", axis=[0, 0, 1]))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", tt.ModelWarning)
            m = s.resolve(engine)
        q, tau = np.array([0.1, 0.5, 0.3]), np.array([1.0, 2.0, 3.0])
        a = m.forward_dynamics(q, np.zeros(3), tau)
        np.testing.assert_allclose(m.inverse_dynamics(q, np.zeros(3), a), tau, rtol=1e-10)
        with pytest.raises(tt.ModelError, match="massless-joint"):
            m.forward_dynamics(np.zeros(3), np.zeros(3), tau)

    @pytest.mark.parametrize(
        "arm",
        [
            pytest.param(body(com=[0, 1e-3, 0], inertia=0.0), id="a small lever arm"),
            pytest.param(body(mass=1e-9, com=[0, 0, 0], inertia=1e-15), id="a small body"),
            pytest.param(body(com=[0, 0, 1e3], inertia=[1e3, 1e3, 1e-3]), id="a slender body"),
        ],
    )
    def test_little_inertia_is_inertia(self, engine: str, arm: tt.RigidBody) -> None:
        """The negative control: nothing here is singular."""
        m = hinged(arm, tt.Revolute("hinge", axis=[0, 0, 1])).resolve(engine)
        tau = float(m.mass_matrix([0.0])[0, 0])
        np.testing.assert_allclose(m.forward_dynamics([0.0], [0.0], [tau]), [1.0], rtol=1e-6)

    def test_armature_is_inertia(self, engine: str) -> None:
        ghost = body("ghost", mass=0.0, inertia=0.0)
        m = hinged(ghost, tt.Revolute("motor", armature=0.5)).resolve(engine)
        np.testing.assert_allclose(m.forward_dynamics([0.0], [0.0], [1.0]), [2.0], rtol=1e-14)

    def test_welds_need_no_inertia(self, engine: str) -> None:
        arm = body()
        s = hinged(arm)
        s.connect(arm.port("tip"), body("ghost", mass=0.0, inertia=0.0), tt.Weld("glue"))
        assert s.resolve(engine).nv == 1
