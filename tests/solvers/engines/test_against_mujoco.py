"""The balloon of key A (section 4, table 1), against MuJoCo.

Two things differ from the paper, in both engines, since MuJoCo refuses them: the balloon's product of inertia is -2, not -7
(which breaks the triangle inequality), and the point masses have a small inertia.
"""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

import titop as tt

mujoco = pytest.importorskip("mujoco")

Array = NDArray[np.float64]

#: Both engines are in double precision and the mass matrix has condition numbers below 1e3: what rounding may leave.
TOLERANCE = 1e-12

BUOYANCY = np.array([0.0, 157.0, 0.0])
SMALL_INERTIA = 1e-3

BALLOON = f"""
<mujoco>
  <option gravity="0 -9.81 0"/>
  <worldbody>
    <body name="balloon">
      <freejoint/>
      <inertial pos="0 0 0" mass="10" fullinertia="5 10 10 0 0 -2"/>
      <body name="slider" pos="0 -2 0">
        <joint type="slide" axis="1 0 -1" stiffness="100" damping="2"/>
        <inertial pos="0 0 0" mass="1" diaginertia="{SMALL_INERTIA} {SMALL_INERTIA} {SMALL_INERTIA}"/>
        <body name="pendulum1">
          <joint type="hinge" axis="0 0 1" damping="0.2"/>
          <inertial pos="0 -1.2 0" mass="2" diaginertia="{SMALL_INERTIA} {SMALL_INERTIA} {SMALL_INERTIA}"/>
          <body name="pendulum2" pos="0 -1.2 0">
            <joint type="hinge" axis="0 0 1" damping="0.2"/>
            <inertial pos="0 -1.6 0" mass="3" diaginertia="{SMALL_INERTIA} {SMALL_INERTIA} {SMALL_INERTIA}"/>
          </body>
        </body>
      </body>
    </body>
  </worldbody>
</mujoco>
"""


def balloon() -> tt.System:
    """Return the balloon as a titop system."""
    inertia = [[5, 0, 0], [0, 10, -2], [0, -2, 10]]
    hub = tt.RigidBody("balloon", mass=10.0, inertia=inertia, ports={"C": [0, -2, 0]})
    slider = tt.RigidBody("slider", mass=1.0, inertia=SMALL_INERTIA)
    upper = tt.RigidBody("pendulum1", mass=2.0, com=[0, -1.2, 0], inertia=SMALL_INERTIA, ports={"tip": [0, -1.2, 0]})
    lower = tt.RigidBody("pendulum2", mass=3.0, com=[0, -1.6, 0], inertia=SMALL_INERTIA)
    s = tt.System("balloon", gravity=[0, -9.81, 0])
    s.connect("world", hub, tt.Free("base"))
    s.connect(hub.port("C"), slider, tt.Prismatic("rail", axis=[1, 0, -1], stiffness=100.0, damping=2.0))
    s.connect(slider, upper, tt.Revolute("hinge1", axis=[0, 0, 1], damping=0.2))
    s.connect(upper.port("tip"), lower, tt.Revolute("hinge2", axis=[0, 0, 1], damping=0.2))
    s.add_load(tt.Load("buoyancy", hub, force=BUOYANCY, frame="world"))
    return s


class MujocoBalloon:
    """MuJoCo's balloon at one state, with titop's coordinates.

    MuJoCo's free joint has a scalar-first quaternion and the linear velocity in the inertial frame, so that
    ``v_mujoco = T v`` with ``T = blkdiag(R, 1)``, and ``a_mujoco = T (a + [w x v; 0])``.
    """

    def __init__(self, q: Array, v: Array) -> None:
        self.model = mujoco.MjModel.from_xml_string(BALLOON)
        self.data = mujoco.MjData(self.model)
        self.T = np.eye(9)
        self.T[:3, :3] = Rotation.from_quat(q[3:7]).as_matrix()
        self.turning = np.concatenate([np.cross(v[3:6], v[:3]), np.zeros(6)])
        self.data.qpos = np.concatenate([q[:3], np.roll(q[3:7], 1), q[7:]])
        self.data.qvel = self.T @ v
        self.data.xfrc_applied[self.model.body("balloon").id, :3] = BUOYANCY

    def forward_dynamics(self, tau: Array) -> Array:
        """Return the accelerations under efforts."""
        self.data.qfrc_applied = self.T @ tau
        mujoco.mj_forward(self.model, self.data)
        return self.T.T @ self.data.qacc - self.turning

    def inverse_dynamics(self, a: Array) -> Array:
        """Return the efforts besides the buoyancy, which MuJoCo counts to them: it acts at the base's origin."""
        mujoco.mj_forward(self.model, self.data)
        self.data.qacc = self.T @ (a + self.turning)
        mujoco.mj_inverse(self.model, self.data)
        efforts = self.data.qfrc_inverse.copy()
        efforts[:3] -= BUOYANCY
        return self.T.T @ efforts

    def mass_matrix(self) -> Array:
        """Return the mass matrix."""
        mujoco.mj_forward(self.model, self.data)
        result = np.zeros((9, 9))
        mujoco.mj_fullM(self.model, self.data, result)
        return self.T.T @ result @ self.T


@pytest.fixture(scope="module")
def model() -> tt.Model:
    return balloon().resolve()


def relative_error(found: Array, expected: Array) -> float:
    """Return the error relative to the norm of the whole result."""
    return float(np.linalg.norm(found - expected) / np.linalg.norm(expected))


@pytest.mark.parametrize("seed", range(10))
def test_dynamics(model: tt.Model, seed: int) -> None:
    rng = np.random.default_rng(seed)
    q, (v, a, tau) = model.random_configuration(rng), rng.normal(size=(3, model.nv))
    peer = MujocoBalloon(q, v)
    assert relative_error(model.mass_matrix(q), peer.mass_matrix()) < TOLERANCE
    assert relative_error(model.forward_dynamics(q, v, tau), peer.forward_dynamics(tau)) < TOLERANCE
    assert relative_error(model.inverse_dynamics(q, v, a), peer.inverse_dynamics(a)) < TOLERANCE


def test_a_changed_damping_is_seen(model: tt.Model) -> None:
    rng = np.random.default_rng(0)
    q, v = model.random_configuration(rng), rng.normal(size=model.nv)
    changed = model.with_parameters({"rail.damping": 2.0 * (1 + 1e-6)})
    a = MujocoBalloon(q, v).forward_dynamics(np.zeros(model.nv))
    assert relative_error(changed.forward_dynamics(q, v, np.zeros(model.nv)), a) > TOLERANCE
