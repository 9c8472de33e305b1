"""Deformable bodies defined by their kinematics."""

from __future__ import annotations

from typing import Any

import numpy as np

from titop.blocks.basics.errors import ModelError
from titop.blocks.basics.spatial import Array, mirrored, skew, twist_cross, twist_transport
from titop.blocks.bodies.soft.law_programs import MASS, LawPrograms
from titop.blocks.bodies.soft.soft_data import SoftData
from titop.blocks.contract.description import MassProperties, Picture
from titop.blocks.contract.law import LawTerms
from titop.blocks.programs.program import Program
from titop.blocks.programs.repetition import summed, totals_of


class SoftBody(SoftData):
    """A deformable body whose points are a function of its coordinates: ``p = f(x, q)``.

    Everything else follows by automatic differentiation (key P): inertia, gyroscopic terms, elasticity, ports. The function is
    called once, with symbols in place of numbers; NumPy's functions, arithmetic and array operations work on them.

    Parameters
    ----------
    name : str
    kinematics : callable
        ``f(x, q)`` or ``f(x, q, numbers)``: the position (3, m) of the material point x (3, m at rest) in the frame of the
        parent port; `numbers` has the `parameters` as attributes. At q = 0 the body is at rest: ``f(x, 0) = x``, or another
        placement without stress.
    domain : Domain
        The volume at rest.
    density : float or callable, kg/m^3
        Or a function of x.
    material : Material, optional
        Without it, the elastic energy is `energy` alone.
    coordinates : sequence of str
        Names of the entries of q; predefined kinematics have their own.
    units : sequence of str, optional
        Of the coordinates, "1" by default.
    scales : sequence of float, optional
        Range of each coordinate over which the kinematics are nearly linear; 1 by default.
    ports : mapping of name to points or callable, optional
        Three material points: the port's origin, a point on its x and one on its y axis, with constant distances (key P, (3) to
        (6)); or one point (3), with the axes of the material there; or a function ``frame(q)`` or ``frame(q, numbers)`` that
        returns rotation and position. By default port ``tip`` is at the domain's tip, between points at the rim.
    parameters : mapping of name to number or (number, unit), optional
        Numbers that the functions receive as `numbers`, for sensitivities and families.
    energy, dissipation : callable, optional
        ``energy(q)`` (J) and ``dissipation(q, v)`` (W, half the dissipated power) of the whole body, in addition to the
        material's; both may take `numbers` as well.

    Errors in the fields are reported when the system is resolved.

    Examples
    --------
    >>> import numpy as np, titop as tt
    >>> def bend(x, q):  # constant curvature in the x-z plane
    ...     angle = q[0] * x[2] / 0.2
    ...     sinc, cosc = tt.Kinematics.sinc(angle), tt.Kinematics.cosc(angle)
    ...     return [x[2] * angle * cosc + x[0] * np.cos(angle), x[1], x[2] * sinc - x[0] * np.sin(angle)]
    >>> domain = tt.Domain.cylinder(radius=0.01, length=0.2)
    >>> body = tt.SoftBody("arm", bend, domain, 1000.0, tt.Material.neo_hookean(1e5, 0.4), coordinates=("bending",))
    >>> body.pose("tip", np.array([np.pi / 2]))[1].round(4).tolist()
    [0.1273, 0.0, 0.1273]
    """

    def pose(self, port: str, q: Array) -> tuple[Array, Array]:
        _, (row,) = self._law.port_poses.at_points(self.shared(q), self.points[:1])
        pose = row.reshape(-1, 12)[self.ports.index(port)]
        return pose[:9].reshape(3, 3), pose[9:]

    def mass_matrix(self, q: Array) -> Array:
        """Return the inertia of the points about P."""

        shared = self.shared(q)

        def inertia(points: Array) -> Array:
            G = self._columns(shared, points)[2]
            return np.einsum("kri,k,krj->ij", G, points[:, MASS], G)

        return mirrored(summed(inertia, self.points, of=shared))

    def gyroscopic(self, q: Array, v: Array, twist: Array) -> Array:
        shared, spin = self.shared(q, v, twist=twist), skew(twist[3:])

        def needed(points: Array) -> Array:
            p, (u, b), G = self._columns(shared, points)
            accelerations = b + (twist[:3] + p @ spin.T + 2.0 * u) @ spin.T
            return np.einsum("kri,k,kr->i", G, points[:, MASS], accelerations)

        return summed(needed, self.points, of=shared)

    def _columns(self, shared: Array, points: Array) -> tuple[Array, tuple[Array, Array], Array]:
        """Return positions (k, 3), (u, b) for zero ``[A_P; a]``, and their Jacobians (k, 3, 6 + n)."""
        _, each = self._law.columns.at_points(shared, points)
        p, J = each[:, :3], each[:, 9:].reshape(len(each), 3, self.nv)
        G = np.zeros((len(each), 3, 6 + self.nv), each.dtype)
        G[:, :, :3], G[:, :, 6:] = np.eye(3), J
        G[:, 0, 4], G[:, 0, 5], G[:, 1, 5] = p[:, 2], -p[:, 1], p[:, 0]
        G[:, 1, 3], G[:, 2, 3], G[:, 2, 4] = -p[:, 2], p[:, 1], -p[:, 0]
        return p, (each[:, 3:6], each[:, 6:9]), G

    def elastic_energy(self, q: Array) -> Any:
        return self._total(self._law.stored, q, np.zeros(self.nv))[0]

    def damping_efforts(self, q: Array, v: Array) -> Array:
        return self.passive_efforts(q, v) - self.passive_efforts(q, 0.0 * v)

    def passive_efforts(self, q: Array, v: Array) -> Array:
        return -self._total(self._law.resistance, q, v)

    def _total(self, program: Program, q: Array, v: Array) -> Array:
        return totals_of(program, self.shared(q, v), self.points)

    def motion_subspace(self, port: str, q: Array) -> Array:
        return self._port(port, q)[2]

    def subspace_rate(self, port: str, q: Array, v: Array) -> Array:
        return self._port(port, q, v)[3]

    def _port(self, port: str, q: Array, v: Array | None = None) -> tuple[Array, Array, Array, Array]:
        """Return rotation, position, S and ``dS/dt v`` of a child port."""
        return self._all_ports(q, v)[self.ports.index(port)]

    def _all_ports(self, q: Array, v: Array | None = None) -> list[tuple[Array, Array, Array, Array]]:
        _, (row,) = self._law.port_columns.at_points(self.shared(q, v), self.points[:1])
        size = 18 + 6 * self.nv
        parts = [row[k : k + size] for k in range(0, len(row), size)]
        return [(x[:9].reshape(3, 3), x[9:12], x[18:].reshape(6, self.nv), x[12:18]) for x in parts]

    def law(self, q: Array, v: Array, twist: Array) -> LawTerms:
        ports = self._all_ports(q, v)
        biases = [rate + twist_cross(twist_transport(R, r) @ twist + S @ v) @ (S @ v) for R, r, S, rate in ports]
        rotation, position, subspace = (np.array([port[k] for port in ports]) for k in range(3))
        M, h, passive = self.mass_matrix(q), self.gyroscopic(q, v, twist), self.passive_efforts(q, v)
        return LawTerms(M, h, passive, rotation, position, subspace, np.array(biases))

    def law_numbers(self) -> Array:
        """Return the numbers of the compiled law: see `titop.solvers.kernels.laws.soft_points`."""
        numbers = self.number_values
        return np.concatenate([[len(self.points), len(numbers)], numbers, self.points.ravel()])

    def positions(self, q: Array, points: Array | None = None) -> Array:
        """Return the positions of material points (k, 3; m) in the parent port's frame.

        Parameters
        ----------
        q : (n,) array
        points : (k, 3) array, m, optional
            Positions at rest; those of the domain by default.
        """
        at_rest = self.points if points is None else np.pad(points, [(0, 0), (0, self.points.shape[1] - 3)])
        return self._law.places.at_points(self.shared(q), at_rest)[1][:, :3]

    def mass_properties(self) -> MassProperties:
        places, masses = self.positions(self.neutral()), self.points[:, MASS]
        com = masses @ places / self.mass
        arms = places - com
        moments = (masses * arms.T) @ arms
        return MassProperties(self.mass, com, np.trace(moments) * np.eye(3) - moments)

    def picture(self, q: Array) -> Picture:
        """Return the deformed surface of the domain, or its points if it has none."""
        outline = self.domain.outline
        if outline is None:
            return Picture(self.positions(q), np.zeros((0, 3), int), ())
        return outline._replace(points=self.positions(q, outline.points))

    @property
    def _law(self) -> LawPrograms:
        if self.programs is None:
            raise ModelError(self.reader.findings)
        return self.programs
