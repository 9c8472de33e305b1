"""Flexible bodies and systems of them for the tests."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh, null_space
from scipy.spatial.transform import Rotation

import titop as tt

Array = NDArray[np.float64]

#: A slender beam with E I = rho A = length = 1: bending frequencies are the squares of the tabulated numbers.
UNIT: dict[str, Any] = {"length": 1.0, "density": 1.0, "area": 1.0, "young": 1e4, "iy": 1e-4, "iz": 1e-4}


def unit_beam(name: str = "beam", **fields: Any) -> tt.Beam:
    """Return the slender unit beam with some fields replaced."""
    return tt.Beam(name, **(UNIT | fields))


def random_body(rng: np.random.Generator, name: str = "panel", modes: int = 3, ports: int = 2) -> tt.FlexibleBody:
    """Return a body whose modes are of no particular shape, with turned ports and full matrices.

    The participation is that of modes that move a rigid body and its parts: it leaves a positive residual mass.
    """
    mass, com, shape = rng.uniform(1.0, 3.0), rng.uniform(-0.3, 0.3, 3), rng.uniform(-0.4, 0.4, (3, 3))
    moments = mass * (shape @ shape.T + 0.05 * np.eye(3))
    inertia = np.trace(moments) * np.eye(3) - moments
    root = rng.normal(size=(modes, modes))
    modal_mass = root @ root.T + np.eye(modes)
    rigid = tt.RigidBody("rigid", mass, com, inertia).mass_matrix()
    directions = np.linalg.qr(rng.normal(size=(6, modes)))[0].T  # orthonormal rows take at most all of the inertia
    participation = 0.8 * np.linalg.cholesky(modal_mass) @ directions @ np.linalg.cholesky(rigid).T
    stiffness, damping = (scale * np.cov(rng.normal(size=(modes, 4 * modes))).reshape(modes, modes) for scale in (90.0, 0.5))
    names = [f"C{k}" for k in range(ports)]
    poses = {port: tt.Pose(rng.uniform(-0.5, 0.5, 3), Rotation.from_quat(rng.normal(size=4))) for port in names}
    shapes = {port: rng.uniform(-0.5, 0.5, (6, modes)) for port in names}
    return tt.FlexibleBody(
        name,
        mass,
        com,
        inertia,
        participation=participation,
        ports=poses,
        shapes=shapes,
        modal_mass=modal_mass,
        modal_stiffness=stiffness,
        modal_damping=damping,
    )


@dataclass(frozen=True)
class Cloud:
    """Material points that foreshorten: ``r0 + Phi q - q^T H q / 2`` each, and two ports that do.

    Attributes
    ----------
    masses : (p,) array, kg
    positions : (p, 3) array, m
    shapes : (p, 3, n) array
    curvatures : (p, 3, n, n) array
        H.
    ports : dict of name to (6, n, n) array
    """

    masses: Array
    positions: Array
    shapes: Array
    curvatures: Array
    ports: dict[str, Array]

    @classmethod
    def random(cls, rng: np.random.Generator, modes: int = 3, points: int = 12) -> Cloud:
        """Return points of no particular shape."""
        ports = {f"C{k}": _symmetric(rng.normal(size=(6, modes, modes))) for k in range(2)}
        bends = _symmetric(rng.normal(size=(points, 3, modes, modes)))
        shapes = rng.normal(size=(points, 3, modes))
        return cls(rng.uniform(0.05, 0.2, points), rng.uniform(-0.5, 0.5, (points, 3)), 0.4 * shapes, bends, ports)

    def stands(self, q: Array) -> Array:
        """Return the points (p, 3)."""
        return np.asarray(self.positions + self.shapes @ q - 0.5 * (self.curvatures @ q) @ q)

    def under(self, forces: Array) -> Array:
        """Return the geometric stiffness (n x n) under forces (p, 3) on the points."""
        return np.asarray(np.einsum("pk,pkij->ij", forces, self.curvatures))

    def fields(self) -> dict[str, Any]:
        """Return the second order as `FlexibleBody` takes it: stiffness under the loads that it names, and moments."""
        axes, m, r = np.eye(3), self.masses[:, None], self.positions

        def centrifugal(i: int, j: int) -> Array:
            pairs = ((i, j),) if i == j else ((i, j), (j, i))
            return np.asarray(sum(-m * np.cross(axes[k], np.cross(axes[l], r)) for k, l in pairs))  # noqa: E741

        products = ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2))
        stiffness = {
            "acceleration": [self.under(-m * axis) for axis in axes],
            "angular_acceleration": [self.under(-m * np.cross(axis, r)) for axis in axes],
            "spin": [self.under(centrifugal(*pair)) for pair in products],
        }
        weighted = self.shapes * self.masses[:, None, None]
        return {
            "geometric_stiffness": stiffness | self.ports,
            "position_moments": np.einsum("pk,pli->kli", r, weighted),
            "displacement_moments": np.einsum("pki,plj->klij", weighted, self.shapes),
        }

    def body(self, rng: np.random.Generator, name: str) -> tt.FlexibleBody:
        """Return the points as a body with stiffness, damping and turned ports."""
        m, n = self.masses, self.shapes.shape[2]
        com = m @ self.positions / m.sum()
        own = self.positions - com
        weighted = self.shapes * m[:, None, None]
        participation = [weighted.sum(axis=0), np.cross(self.positions[:, :, None], weighted, axis=1).sum(axis=0)]
        stiffness, damping = (scale * np.cov(rng.normal(size=(n, 4 * n))).reshape(n, n) for scale in (90.0, 0.5))
        return tt.FlexibleBody(
            name,
            m.sum(),
            com,
            (m @ (own**2).sum(axis=1)) * np.eye(3) - (own.T * m) @ own,
            participation=np.vstack(participation).T,
            ports={port: tt.Pose(rng.uniform(-0.5, 0.5, 3), Rotation.from_quat(rng.normal(size=4))) for port in self.ports},
            shapes={port: rng.uniform(-0.5, 0.5, (6, n)) for port in self.ports},
            modal_mass=np.einsum("pki,pkj->ij", weighted, self.shapes),
            modal_stiffness=stiffness,
            modal_damping=damping,
            **self.fields(),
        )


def _symmetric(matrices: Array) -> Array:
    return np.asarray(matrices + matrices.swapaxes(-1, -2)) / 2


def random_system(rng: np.random.Generator) -> tt.System:
    """Return a free-flying tree of rigid and flexible bodies: flexible in series, side by side, at the end and in between."""
    s = tt.System("flexible tree", gravity=rng.normal(size=3))
    hub = tt.RigidBody("hub", 4.0, [0.1, 0.0, -0.1], [0.5, 0.6, 0.7], ports={"A": [0, 0.4, 0], "B": [0, -0.4, 0.1]})
    near, far, side = random_body(rng, "near"), random_body(rng, "far", 1, 1), random_body(rng, "side", 2, 1)
    tip = tt.RigidBody("tip", 0.6, [0, 0.1, 0], [0.02, 0.03, 0.04])
    s.connect("world", hub, tt.Free("base"))
    s.connect(hub.port("A"), near, tt.Revolute("hinge", axis=[1, 0, 1], stiffness=3.0, damping=0.2))
    s.connect(near.port("C1"), far, tt.Spherical("ball"), tt.Pose([0.1, 0, 0]))
    s.connect(far.port("C0"), tip, tt.Prismatic("slide", axis=[0, 1, 0]))
    s.connect(near.port("C0"), side, tt.Weld("glue"))
    beam = tt.Beam("boom", 1.5, 40.0, 1e-2, 1e6, 1e-5, 2e-5, modes=1, damping_ratio=0.01)
    s.connect(hub.port("B"), beam, tt.Universal("gimbal", axis1=[1, 0, 0], axis2=[0, 1, 0]))
    s.add_load(tt.Load("push", near.port("C0"), force=[0.3, -0.2, 0.5], torque=[0.1, 0.2, 0.3], frame="world"))
    s.add_load(tt.Load("pull", beam.port("C"), force=[0.0, 0.2, 0.1]))
    return s


def linear_frequencies(model: tt.Model, held: dict[str, list[int]] | None = None, count: int = 3) -> Array:
    """Return the lowest non-zero frequencies (rad/s) of small motions about the neutral configuration.

    `held` names directions (0 to 5) in which ports are held.
    """
    q = model.neutral()
    mass = model.mass_matrix(q)
    stiffness = -np.array([model.passive_efforts(q + e, np.zeros(model.nv)) for e in _steps(model)]).T
    rows = [model.jacobian(port, q)[directions] for port, directions in (held or {}).items()]
    basis = null_space(np.vstack(rows)) if rows else np.eye(model.nv)
    squares = eigh(basis.T @ stiffness @ basis, basis.T @ mass @ basis, eigvals_only=True)
    return np.sqrt(squares[squares > 1e-3])[:count]


def _steps(model: tt.Model) -> Array:
    """Return unit steps of the configuration along plain coordinates; those on a group do not store energy here."""
    steps = np.zeros((model.nv, model.nq))
    plain = [name for name in model.coordinate_names if name in model.configuration_names]
    for name in plain:
        steps[model.coordinate_names.index(name), model.configuration_names.index(name)] = 1.0
    if "base.x" in model.coordinate_names:
        steps[:6] = 0.0
    return steps
