"""The same system in Pinocchio, built from what a `titop.System` says of itself, without titop's solvers.

Both use linear-first twists in body axes and scalar-last quaternions, so that states differ by the order of the joints
only. Pinocchio wants its joints depth-first (its mass matrix is silently wrong otherwise); titop orders them by ``connect``.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pinocchio as pin
from numpy.typing import NDArray

import titop as tt

Array = NDArray[np.float64]

X, Y, Z = np.eye(3)


def revolute(axis: Array) -> pin.JointModel:
    """Return a rotation about a direction."""
    return pin.JointModelRevoluteUnaligned(axis / np.linalg.norm(axis))


def prismatic(axis: Array) -> pin.JointModel:
    """Return a translation along a direction."""
    return pin.JointModelPrismaticUnaligned(axis / np.linalg.norm(axis))


def composite(*joints: pin.JointModel) -> pin.JointModel:
    """Return joints in a row as one."""
    result = pin.JointModelComposite()
    for joint in joints:
        result.addJoint(joint)
    return result


#: Pinocchio's joint for each of titop's. Its own planar and universal joints have other coordinates and orthogonal axes only.
JOINTS: dict[type, Callable[[tt.Joint], pin.JointModel]] = {
    tt.Revolute: lambda joint: revolute(joint.axis),
    tt.Prismatic: lambda joint: prismatic(joint.axis),
    tt.Screw: lambda joint: pin.JointModelHelicalUnaligned(joint.axis / np.linalg.norm(joint.axis), float(joint.pitch[0])),
    tt.Cylindrical: lambda joint: composite(prismatic(joint.axis), revolute(joint.axis)),
    tt.Universal: lambda joint: composite(revolute(joint.axis1), revolute(joint.axis2)),
    tt.Planar: lambda joint: composite(prismatic(X), prismatic(Y), revolute(Z)),
    tt.Spherical: lambda joint: pin.JointModelSpherical(),
    tt.Free: lambda joint: pin.JointModelFreeFlyer(),
}

#: Those whose axes carry each other along. Pinocchio's derivatives of such composite joints, not their dynamics, disagree with
#: differences of its own dynamics.
CARRYING = ("Universal", "Planar")


class Peer:
    """A Pinocchio model with titop's coordinates.

    Parameters
    ----------
    s : titop.System
        A tree of rigid bodies on built-in joints, with any loads.

    Attributes
    ----------
    frames : dict
        Joint and pose in the joint's frame of every body and port, by dotted name.
    joints : dict
        Pinocchio's index of every joint that moves, by name.
    """

    def __init__(self, s: tt.System) -> None:
        self.system = s
        self.model = pin.Model()
        self.model.gravity.linear = s.gravity
        self.frames: dict[str, tuple[int, pin.SE3]] = {}
        self.joints: dict[str, int] = {}
        self._add_ports(s.world, 0, pin.SE3.Identity())
        self._add_children(s.world)
        #: Inertia of the bodies welded to the world, which Pinocchio keeps but leaves out of its sums.
        self.grounded = self.model.inertias[0]
        self.data = self.model.createData()
        self.moving = [c.joint for c in s.connections if c.joint.nv]
        starts = np.cumsum([0, *(joint.nv for joint in self.moving)])
        self.titop_v = {joint.name: slice(i, i + joint.nv) for joint, i in zip(self.moving, starts, strict=False)}
        starts = np.cumsum([0, *(joint.nq for joint in self.moving)])
        self.titop_q = {joint.name: slice(i, i + joint.nq) for joint, i in zip(self.moving, starts, strict=False)}
        #: Where titop's entries stand in Pinocchio's: ``x_titop = x_pinocchio[order]``.
        self.q_order = self._order(self.model.idx_qs, self.model.nqs)
        self.v_order = self._order(self.model.idx_vs, self.model.nvs)
        self.armature = np.concatenate([np.zeros(0), *(joint.armature for joint in self.moving)])
        self.model.armature = self.to_pinocchio(self.armature)

    def _order(self, starts: list[int], sizes: list[int]) -> NDArray[np.int64]:
        indices = (self.joints[joint.name] for joint in self.moving)
        return np.array([k for i in indices for k in range(starts[i], starts[i] + sizes[i])], dtype=np.int64)

    # -- building ------------------------------------------------------------------------------------------------------

    def _add_children(self, parent: tt.Block) -> None:
        for connection in self.system.connections:
            if connection.parent.block is not parent:
                continue
            index, port = self.frames[str(connection.parent)]
            joint, body = connection.joint, connection.child.block
            placement = port * se3(connection.placement)
            if joint.nv:
                index = self.model.addJoint(index, JOINTS[type(joint)](joint), placement, joint.name)
                self.joints[joint.name] = index
                placement = pin.SE3.Identity()
            reference = placement * port_pose(body, connection.child.name).inverse()
            self.model.appendBodyToJoint(index, pin.Inertia(body.mass, body.com, body.inertia), reference)
            self._add_ports(body, index, reference)
            self._add_children(body)

    def _add_ports(self, body: tt.Block, index: int, reference: pin.SE3) -> None:
        for port in (None, *body.ports):
            name = body.name if port is None else f"{body.name}.{port}"
            self.frames[name] = index, reference * port_pose(body, port)

    # -- coordinates ---------------------------------------------------------------------------------------------------

    def configuration(self, q: Array) -> Array:
        """Return titop's configuration in Pinocchio's order."""
        result = np.empty(self.model.nq)
        result[self.q_order] = q
        return result

    def to_pinocchio(self, x: Array) -> Array:
        """Return titop's velocities, accelerations or efforts in Pinocchio's order."""
        result = np.empty(self.model.nv)
        result[self.v_order] = x
        return result

    # -- dynamics ------------------------------------------------------------------------------------------------------

    def inverse_dynamics(self, q: Array, v: Array, a: Array, wrenches: dict[str, Array] | None = None) -> Array:
        """Return applied efforts: those of Pinocchio less the passive ones."""
        states = self.configuration(q), self.to_pinocchio(v), self.to_pinocchio(a)
        tau = pin.rnea(self.model, self.data, *states, self._forces(q, wrenches))
        return tau[self.v_order] - self.passive_efforts(q, v)

    def forward_dynamics(self, q: Array, v: Array, tau: Array, wrenches: dict[str, Array] | None = None) -> Array:
        """Return the accelerations under applied and passive efforts."""
        efforts = self.to_pinocchio(tau + self.passive_efforts(q, v))
        states = self.configuration(q), self.to_pinocchio(v)
        return pin.aba(self.model, self.data, *states, efforts, self._forces(q, wrenches))[self.v_order]

    def mass_matrix(self, q: Array) -> Array:
        """Return the mass matrix (its lower half is not computed by Pinocchio)."""
        upper = np.triu(pin.crba(self.model, self.data, self.configuration(q)))
        full = upper + np.triu(upper, 1).T
        return full[np.ix_(self.v_order, self.v_order)]

    def nonlinear_effects(self, q: Array, v: Array) -> Array:
        """Return Coriolis, centrifugal and gravity terms."""
        h = pin.nonLinearEffects(self.model, self.data, self.configuration(q), self.to_pinocchio(v))
        return h[self.v_order] - self.armature_efforts(v)

    def gravity_effects(self, q: Array) -> Array:
        """Return gravity's terms."""
        return pin.computeGeneralizedGravity(self.model, self.data, self.configuration(q))[self.v_order]

    def passive_efforts(self, q: Array, v: Array) -> Array:
        """Return the efforts on Pinocchio's joints that titop counts to its own."""
        return self.spring_and_damper_efforts(q, v) + self.armature_efforts(v)

    def spring_and_damper_efforts(self, q: Array, v: Array) -> Array:
        """Return the efforts of springs and dampers."""
        result = np.zeros(self.model.nv)
        for joint in self.moving:
            where = self.titop_v[joint.name]
            delta, jacobian = difference(joint, joint.rest, q[self.titop_q[joint.name]])
            result[where] = -jacobian.T @ joint.stiffness @ delta - joint.damping @ v[where]
        return result

    def armature_efforts(self, v: Array) -> Array:
        """Return what Pinocchio leaves out of armatures: their gyroscopic efforts, on velocities that turn with the body."""
        result = np.zeros(self.model.nv)
        for joint in self.moving:
            where = self.titop_v[joint.name]
            momentum = joint.armature * v[where]
            if isinstance(joint, tt.Spherical):
                result[where] = -np.cross(v[where], momentum)
            elif isinstance(joint, tt.Free):
                result[where] = -pin.Motion(v[where]).cross(pin.Force(momentum)).vector
        return result

    def _forces(self, q: Array, wrenches: dict[str, Array] | None) -> list[pin.Force]:
        """Return the loads and the given wrenches as a force on each joint's child."""
        forces = [pin.Force.Zero() for _ in range(self.model.njoints)]
        acting = [*(wrenches or {}).items(), *(self._load_wrench(load, q) for load in self.system.loads)]
        for port, wrench in acting:
            index, placement = self.frames[port]
            forces[index] += placement.act(pin.Force(wrench))
        return forces

    def _load_wrench(self, load: tt.Load, q: Array) -> tuple[str, Array]:
        rotation = np.eye(3) if load.frame == "port" else self.pose(str(load.target), q).rotation
        return str(load.target), np.concatenate([rotation.T @ load.force, rotation.T @ load.torque])

    # -- what can be read of a state -------------------------------------------------------------------------------------

    def pose(self, port: str, q: Array) -> pin.SE3:
        """Return the pose of a port in the inertial frame."""
        index, placement = self.frames[port]
        pin.forwardKinematics(self.model, self.data, self.configuration(q))
        return self.data.oMi[index] * placement

    def jacobian(self, port: str, q: Array) -> Array:
        """Return the Jacobian of a port's twist, in the port's frame."""
        index, placement = self.frames[port]
        jacobian = pin.computeJointJacobian(self.model, self.data, self.configuration(q), index)
        return placement.toActionMatrixInverse() @ jacobian.reshape(6, -1)[:, self.v_order]

    def twist_and_acceleration(self, port: str, q: Array, v: Array, a: Array) -> tuple[Array, Array]:
        """Return twist and inertial spatial acceleration of a port, in its frame."""
        index, placement = self.frames[port]
        pin.forwardKinematics(self.model, self.data, self.configuration(q), self.to_pinocchio(v), self.to_pinocchio(a))
        return placement.actInv(self.data.v[index]).vector, placement.actInv(self.data.a[index]).vector

    def reaction(self, joint: str, q: Array, v: Array, a: Array, wrenches: dict[str, Array] | None = None) -> Array:
        """Return the wrench that a joint transmits to its child, at the child's port."""
        self.inverse_dynamics(q, v, a, wrenches)
        return self.data.f[self.joints[joint]].vector

    def kinetic_energy(self, q: Array, v: Array) -> float:
        """Return the kinetic energy; Pinocchio's own leaves out the armature of some kinds of joint."""
        pin.forwardKinematics(self.model, self.data, self.configuration(q), self.to_pinocchio(v))
        bodies = zip(self.model.inertias, self.data.v, strict=True)
        return 0.5 * (sum(inertia.vtiv(twist) for inertia, twist in bodies) + self.armature @ v**2)

    def gravity_energy(self, q: Array) -> float:
        """Return gravity's potential energy, zero at the inertial origin."""
        moving = pin.computePotentialEnergy(self.model, self.data, self.configuration(q))
        return moving - self.system.gravity @ self.grounded.lever * self.grounded.mass

    def elastic_energy(self, q: Array) -> float:
        """Return the springs' energy."""
        deltas = ((joint, difference(joint, joint.rest, q[self.titop_q[joint.name]])[0]) for joint in self.moving)
        return sum(0.5 * delta @ joint.stiffness @ delta for joint, delta in deltas)

    def center_of_mass(self, q: Array) -> Array:
        """Return the centre of mass."""
        moving = pin.centerOfMass(self.model, self.data, self.configuration(q))
        masses = pin.computeTotalMass(self.model), self.grounded.mass
        return np.average([moving, self.grounded.lever], axis=0, weights=masses)

    def momentum(self, q: Array, v: Array) -> Array:
        """Return linear and angular momentum about the inertial origin."""
        about_com = pin.computeCentroidalMomentum(self.model, self.data, self.configuration(q), self.to_pinocchio(v))
        shift = np.cross(self.data.com[0], about_com.linear)
        return np.concatenate([about_com.linear, about_com.angular + shift])


def se3(pose: tt.Pose) -> pin.SE3:
    """Return a titop pose as Pinocchio's."""
    return pin.SE3(pin.exp3(pose.rotation_vector), pose.position)


def port_pose(body: tt.Block, port: str | None) -> pin.SE3:
    """Return the pose of a body's port in its reference frame (None: the frame itself)."""
    return pin.SE3.Identity() if port is None else se3(body.port_poses[port])


def difference(joint: tt.Joint, q0: Array, q1: Array) -> tuple[Array, Array]:
    """Return the tangent vector from one configuration of a joint to another, and its derivative along the second."""
    if isinstance(joint, tt.Spherical):
        turn = pin.Quaternion(q0).matrix().T @ pin.Quaternion(q1).matrix()
        return pin.log3(turn), pin.Jlog3(turn)
    if isinstance(joint, tt.Free):
        step = pin.XYZQUATToSE3(q0).actInv(pin.XYZQUATToSE3(q1))
        return pin.log6(step).vector, pin.Jlog6(step)
    return q1 - q0, np.eye(joint.nv)
