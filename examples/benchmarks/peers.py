"""The engines that the benchmarks compare, behind one small interface.

Each engine holds a tree and a state in its own conventions. ``statements`` are the calls that are timed, from arrays to
arrays, as a user in a loop would write them; the attributes of the engine are their variables. Conventions are converted
before, so that nobody pays for them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar

import numpy as np
from models import GRAVITY, State, Tree, random_state, system
from scipy.spatial.transform import Rotation

#: How far a peer's dynamics may be from titop's, relative to the largest entry.
TOLERANCE = 1e-8


class Engine(ABC):
    """An engine with a tree and a state.

    Attributes
    ----------
    name : str
    statements : mapping of quantity (``"ID"``, ``"FD"``, ``"M"``, ...) to Python code
    """

    name: ClassVar[str]
    statements: ClassVar[dict[str, str]]

    @abstractmethod
    def __init__(self, tree: Tree) -> None: ...

    @abstractmethod
    def load(self, state: State, tau: np.ndarray) -> None:
        """Take over a state and the efforts of forward dynamics, given in titop's conventions."""

    @abstractmethod
    def efforts(self) -> np.ndarray:
        """Return the last inverse dynamics in titop's conventions."""

    @abstractmethod
    def accelerations(self) -> np.ndarray:
        """Return the last forward dynamics in titop's conventions."""


class Titop(Engine):
    """titop."""

    name = "titop"
    statements: ClassVar = {
        "ID": "model.inverse_dynamics(q, v, a, out=efforts_out)",
        "ID without out=": "model.inverse_dynamics(q, v, a)",
        "FD": "model.forward_dynamics(q, v, tau, out=accelerations_out)",
        "M": "model.mass_matrix(q)",
        "dID": "model.inverse_dynamics_derivatives(q, v, a, out=inverse_slopes)",
        "dFD": "model.forward_dynamics_derivatives(q, v, tau, out=forward_slopes)",
    }

    def __init__(self, tree: Tree) -> None:
        self.model = system(tree).resolve()
        n = self.model.nv
        self.efforts_out, self.accelerations_out = np.empty(n), np.empty(n)
        self.inverse_slopes, self.forward_slopes = np.empty((3, n, n)), np.empty((3, n, n))

    def load(self, state: State, tau: np.ndarray) -> None:
        """Keep state and efforts as they are."""
        self.q, self.v, self.a = state
        self.tau = tau

    def efforts(self) -> np.ndarray:
        """Return the efforts."""
        return self.efforts_out

    def accelerations(self) -> np.ndarray:
        """Return the accelerations."""
        return self.accelerations_out


class Pinocchio(Engine):
    """Pinocchio, whose conventions are titop's."""

    name = "Pinocchio"
    statements: ClassVar = {
        "ID": "pin.rnea(model, data, q, v, a)",
        "FD": "pin.aba(model, data, q, v, tau)",
        "M": "pin.crba(model, data, q)",
        "dID": "pin.computeRNEADerivatives(model, data, q, v, a)",
        "dFD": "pin.computeABADerivatives(model, data, q, v, tau)",
    }

    def __init__(self, tree: Tree) -> None:
        import pinocchio as pin

        self.pin, self.model = pin, pin.Model()
        self.model.gravity.linear = np.array(GRAVITY)
        joints: list[int] = []
        for k, body in enumerate(tree.bodies):
            free = tree.floating and k == 0
            joint = pin.JointModelFreeFlyer() if free else pin.JointModelRevoluteUnaligned(np.array(body.axis))
            if not free and sorted(body.axis) == [0.0, 0.0, 1.0]:  # its faster joints
                joint = (pin.JointModelRX, pin.JointModelRY, pin.JointModelRZ)[body.axis.index(1.0)]()
            parent = 0 if body.parent < 0 else joints[body.parent]
            index = self.model.addJoint(parent, joint, pin.SE3(np.eye(3), np.array(body.offset)), body.name)
            inertia = pin.Inertia(body.mass, np.array(body.com), np.diag(body.moments))
            self.model.appendBodyToJoint(index, inertia, pin.SE3.Identity())
            joints.append(index)
        self.data = self.model.createData()

    def load(self, state: State, tau: np.ndarray) -> None:
        """Keep state and efforts as they are."""
        self.q, self.v, self.a = state
        self.tau = tau

    def efforts(self) -> np.ndarray:
        """Return the efforts."""
        return self.data.tau

    def accelerations(self) -> np.ndarray:
        """Return the accelerations."""
        return self.data.ddq


class BaseInWorld(Engine):
    """An engine that gives the free base's velocity in world axes: the linear part, or both."""

    angular_in_world: ClassVar[bool]

    def turn(self, q: np.ndarray) -> None:
        """Remember the base's attitude."""
        linear = Rotation.from_quat(q[3:7]).as_matrix()
        angular = linear if self.angular_in_world else np.eye(3)
        self.attitude = np.block([[linear, np.zeros((3, 3))], [np.zeros((3, 3)), angular]])

    def outside(self, x: np.ndarray) -> np.ndarray:
        """Return velocities, efforts or accelerations (less `bias`) in the engine's axes."""
        return np.concatenate([self.attitude @ x[:6], x[6:]]) if self.floating else x.copy()

    def inside(self, x: np.ndarray) -> np.ndarray:
        """Return what `outside` turned."""
        return np.concatenate([self.attitude.T @ x[:6], x[6:]]) if self.floating else x.copy()

    def bias(self, v: np.ndarray) -> np.ndarray:
        """Return what the base's acceleration of a material point has more than the spatial one, in body axes."""
        result = np.zeros(len(v))
        if self.floating:
            result[:3] = np.cross(v[3:6], v[:3])
        return result

    floating: bool


class MuJoCo(BaseInWorld):
    """MuJoCo without contacts and constraints."""

    name = "MuJoCo"
    angular_in_world = False
    statements: ClassVar = {
        "ID": "qpos[:] = q; qvel[:] = v; qacc[:] = a; mujoco.mj_inverse(model, data)",
        "FD": "qpos[:] = q; qvel[:] = v; applied[:] = tau; mujoco.mj_forward(model, data)",
        "M": "qpos[:] = q; mujoco.mj_fwdKinematics(model, data); mujoco.mj_makeM(model, data); mujoco.mj_fullM(model, data, M)",
    }

    def __init__(self, tree: Tree) -> None:
        import mujoco

        self.mujoco, self.floating = mujoco, tree.floating
        self.model = mujoco.MjModel.from_xml_string(mjcf(tree))
        self.data = mujoco.MjData(self.model)
        self.qpos, self.qvel, self.qacc = self.data.qpos, self.data.qvel, self.data.qacc
        self.applied, self.M = self.data.qfrc_applied, np.zeros((self.model.nv, self.model.nv))

    def load(self, state: State, tau: np.ndarray) -> None:
        """Reorder the quaternion; linear velocities in world axes."""
        self.velocity = state.v
        self.q = state.q.copy()
        if self.floating:
            self.turn(state.q)
            self.q[3:7] = state.q[[6, 3, 4, 5]]
        self.v, self.a = self.outside(state.v), self.outside(state.a + self.bias(state.v))
        self.tau = self.outside(tau)

    def efforts(self) -> np.ndarray:
        """Return the efforts in body axes."""
        return self.inside(self.data.qfrc_inverse)

    def accelerations(self) -> np.ndarray:
        """Return the accelerations in body axes."""
        return self.inside(self.qacc) - self.bias(self.velocity)


def mjcf(tree: Tree) -> str:
    """Return a tree as MuJoCo's XML."""
    children: dict[int, list[int]] = {}
    for k, body in enumerate(tree.bodies):
        children.setdefault(body.parent, []).append(k)

    def numbers(values: tuple[float, ...]) -> str:
        return " ".join(repr(x) for x in values)

    def element(k: int) -> str:
        body = tree.bodies[k]
        free = tree.floating and k == 0
        joint = "<freejoint/>" if free else f'<joint type="hinge" axis="{numbers(body.axis)}"/>'
        inertial = f'<inertial pos="{numbers(body.com)}" mass="{body.mass!r}" diaginertia="{numbers(body.moments)}"/>'
        inside = "".join(element(child) for child in children.get(k, []))
        return f'<body name="{body.name}" pos="{numbers(body.offset)}">{joint}{inertial}{inside}</body>'

    bodies = "".join(element(k) for k in children[-1])
    option = f'<option gravity="{numbers(GRAVITY)}"><flag contact="disable" constraint="disable"/></option>'
    return f"<mujoco>{option}<worldbody>{bodies}</worldbody></mujoco>"


class Drake(BaseInWorld):
    """Drake's MultibodyPlant, continuous."""

    name = "Drake"
    angular_in_world = True
    statements: ClassVar = {
        "ID": (
            "plant.SetPositionsAndVelocities(context, x); plant.CalcForceElementsContribution(context, gravity); "
            "plant.CalcInverseDynamics(context, a, gravity)"
        ),
        "FD": "plant.SetPositionsAndVelocities(context, x); plant.EvalTimeDerivatives(context)",
        "M": "plant.SetPositions(context, q); plant.CalcMassMatrix(context)",
    }

    def __init__(self, tree: Tree) -> None:
        from pydrake.math import RigidTransform
        from pydrake.multibody import plant as plants
        from pydrake.multibody import tree as parts

        self.floating = tree.floating
        self.plant = plant = plants.MultibodyPlant(time_step=0.0)
        bodies: list[Any] = []
        order: list[int] = []
        for body in tree.bodies:
            inertia = parts.SpatialInertia.MakeFromCentralInertia(body.mass, body.com, parts.RotationalInertia(*body.moments))
            bodies.append(plant.AddRigidBody(body.name, inertia))
            if len(bodies) == 1 and tree.floating:
                continue
            parent = plant.world_body() if body.parent < 0 else bodies[body.parent]
            offset = parts.FixedOffsetFrame(f"{body.name}_joint", parent.body_frame(), RigidTransform(body.offset))
            frame = plant.AddFrame(offset)
            joint = parts.RevoluteJoint(f"{body.name}_joint", frame, bodies[-1].body_frame(), body.axis)
            order.append(int(plant.AddJoint(joint).index()))
        plant.mutable_gravity_field().set_gravity_vector(GRAVITY)
        plant.Finalize()
        starts = [plant.get_joint(parts.JointIndex(k)).velocity_start() for k in order]
        assert starts == sorted(starts), "Drake reordered the coordinates"
        self.context = plant.CreateDefaultContext()
        self.gravity = parts.MultibodyForces(plant)

    def load(self, state: State, tau: np.ndarray) -> None:
        """Angular velocity first; quaternion before position, scalar first; velocities in world axes."""
        self.velocity = state.v
        self.q = state.q.copy()
        if self.floating:
            self.turn(state.q)
            self.q[:7] = state.q[[6, 3, 4, 5, 0, 1, 2]]
        self.a = self._swapped(self.outside(state.a + self.bias(state.v)))
        self.x = np.concatenate([self.q, self._swapped(self.outside(state.v))])
        applied = self.plant.get_applied_generalized_force_input_port()
        applied.FixValue(self.context, self._swapped(self.outside(tau)))

    def efforts(self) -> np.ndarray:
        """Return the efforts in body axes."""
        return self.inside(self._swapped(self.plant.CalcInverseDynamics(self.context, self.a, self.gravity)))

    def accelerations(self) -> np.ndarray:
        """Return the accelerations in body axes."""
        rates = self.plant.EvalTimeDerivatives(self.context).CopyToVector()[len(self.q) :]
        return self.inside(self._swapped(rates)) - self.bias(self.velocity)

    def _swapped(self, x: np.ndarray) -> np.ndarray:
        return np.concatenate([x[3:6], x[:3], x[6:]]) if self.floating else x


PEERS: tuple[type[Engine], ...] = (Pinocchio, MuJoCo, Drake)


def engines(tree: Tree, peers: tuple[type[Engine], ...] = PEERS) -> list[Engine]:
    """Return titop and those peers that are installed, all with the same tree and state, and checked to agree.

    Raises
    ------
    RuntimeError
        If a peer's inverse or forward dynamics are not titop's.
    """
    titop = Titop(tree)
    state = random_state(titop.model)
    tau = titop.model.inverse_dynamics(*state)
    result: list[Engine] = [titop]
    for peer in peers:
        try:
            result.append(peer(tree))
        except ImportError:
            print(f"{peer.name} is not installed", flush=True)
    for engine in result:
        engine.load(state, tau)
        for quantity, expected, read in (("ID", tau, engine.efforts), ("FD", state.a, engine.accelerations)):
            exec(engine.statements[quantity], vars(engine))
            error = np.abs(read() - expected).max() / np.abs(expected).max()
            if not error < TOLERANCE:
                raise RuntimeError(f"{engine.name} disagrees with titop: {quantity} of {tree.name} by {error:.1e}")
    return result
