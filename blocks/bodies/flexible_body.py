"""Flexible bodies by modal coordinates."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from titop.blocks.basics.errors import Finding, ModelError
from titop.blocks.basics.paths import entry_of, owner_of
from titop.blocks.basics.spatial import Array, cross, right_jacobian, right_jacobian_rate, rotation_exp, skew
from titop.blocks.basics.user_input import FieldReader, check_suffix
from titop.blocks.bodies.modal_analysis import NaturalModes, lost_modes
from titop.blocks.bodies.modal_body import ModalBody
from titop.blocks.bodies.modal_checks import findings
from titop.blocks.bodies.modal_reduction import reduce_finite_elements
from titop.blocks.bodies.nastran_files import SUFFIXES, nastran_fields
from titop.blocks.bodies.reduced_matrices import SI, reduce_boundary
from titop.blocks.bodies.second_order import SPINS, deformed_inertia, inertia_change, stiffness_of
from titop.blocks.contract.description import second_moments
from titop.blocks.contract.own_coordinates import redefines

#: Random configurations move ports and centre of mass by this fraction of the body's size, and turn ports by as many rad.
_RANDOM_DEFORMATION = 0.05


class FlexibleBody(ModalBody):
    """A flexible body with modal coordinates, one parent port ``P`` (its reference frame) and any number of child ports.

    Give either `frequencies` (mass-normalised modes) or `modal_mass` and `modal_stiffness` (any coordinates, such as those of
    a Craig-Bampton reduction). The modes are those of the body clamped at P; the actual boundary conditions at P
    follow from the connections. A few clamped-free modes are not enough for a body that is also held at another port: use
    `from_finite_elements`, which adds the static deformations.

    Parameters
    ----------
    name : str
    mass : float, kg
        Of the whole body, flexible parts included.
    com : array_like (3,), m
        Centre of mass of the undeformed body, from P.
    inertia : array_like (3, 3), kg m^2
        Of the undeformed body about its centre of mass, in body axes; a number or three numbers mean a diagonal matrix.
    frequencies : array_like (n,), rad/s
        Natural frequencies of the body clamped at P; the modal mass of each mode is 1.
    participation : array_like (n, 6)
        Participation ``L = Phi^T M tau`` of the modes in the motion of P, linear first, in body axes.
    ports : mapping of name to position (3, m) or Pose
        Child ports of the undeformed body in the reference frame.
    shapes : mapping of name to array_like (6, n)
        Displacement (m) and rotation (rad) of each port per unit of each modal coordinate, in body axes at P.
    damping_ratios : float or (n,)
        In the order of `frequencies`, also if parameters make frequencies cross; with modal matrices, of the natural modes by
        ascending frequency.
    modal_mass, modal_stiffness, modal_damping : array_like (n, n), optional
        Instead of frequencies; the modal mass is the identity by default. The damping is added to that of the ratios.
    coordinate_names : sequence of str, optional
        Names of the modal coordinates; ``mode1``, ``mode2``, ... by default.
    geometric_stiffness : mapping of load to array_like (k, n, n), optional
        Geometric stiffness from a finite-element program for unit loads on the body clamped at P, in body axes.
        ``"acceleration"``: 3 matrices (N/m a m/s^2, in coordinates of a metre), under the inertia forces ``-a dm`` of a unit
        acceleration of P along x, y, z. ``"spin"``: 6, under the centrifugal forces of ``w w^T``: of unit ``wx^2``, ``wy^2``,
        ``wz^2``, ``wx wy``, ``wx wz``, ``wy wz``. ``"angular_acceleration"``: 3, under ``-alpha x r0 dm``; zeros if left out.
        The name of a port: 6, under unit forces and (semitangential) moments there. All symmetric.
    position_moments : array_like (3, 3, n), optional
        Entries k, l: ``int r0_k Phi_l dm`` (kg m^2 a metre), with the modes' displacements Phi at r0 from P. Required with
        `geometric_stiffness`, as are
    displacement_moments : array_like (3, 3, n, n), optional
        Entries k, l: ``int Phi_k^T Phi_l dm`` (kg).
    recovery : mapping of name to array_like (k, n), optional
        What a finite-element program gives per unit of each modal coordinate: stresses, strains, forces in elements,
        displacements of further nodes. See `recover`.

    Notes
    -----
    Coordinates ``eta`` (n). *With geometric stiffness* a point is at ``r0 + Phi eta - eta^T H eta / 2``, where H (n x n) is
    the geometric stiffness under a unit force on it; ports and their rotation vectors follow the same formula. The kinetic
    energy is that of these points to second order in the deformation, see `titop.blocks.bodies.second_order`. From
    this energy follow the stiffening and softening by spin, acceleration, gravity and loads at ports, up to buckling, with all
    reactions.

    *Without geometric stiffness* a port is at ``r0 + Phi_lin eta``, turned by ``exp(Phi_rot eta) R0``; the centre of mass at
    ``c + d``, ``d = L_lin^T eta / m``. The kinetic energy is that of the mass at the moving centre of mass, plus that of
    rotation and deformation about it as in the undeformed body: it is that of the undeformed body with ``v + w x d`` in place
    of v::

        T = y^T M_0 y / 2    y = [v + w x d; w; eta']    M_0 = [[D_P, L^T], [L, M_qq]]    [f; t; .] = M_0 y
        M_PP = [[m 1, -s~], [s~, J_P - s~ d~ - m d~ c~]]        M_qP = L - [0, L_lin d~]    s = m (c + d)
        h_P = [m w x d'; s x (w x d') + d' x f] - ad(V)^T [f; t + d x f]    h_q,j = L_lin,j . (w x (f / m + d'))
        passive = -K eta - D eta'

    Without deformation, at rest, both are the linear TITOP model (Chebbi, Dubanchet, Gonzalez and Alazard, Multibody System
    Dynamics 41(1), 2017) with residual mass ``D_P - L^T M_qq^-1 L``. Since the centre of mass follows the deformation, linear
    momentum is exact, deformations do not depend on the velocity of the observer, gravity has a potential and energy is
    conserved; and the inertia is positive definite for any deformation.
    Without geometric stiffness, other changes of the inertia and of the angular participation with the deformation, stiffening,
    and the shortening of bent parts are neglected. Centrifugal loads of a spinning body then act on its moving centre of mass
    only: the stretch of a radial beam would be ``rho W^2 (R L^2 / 2 + L^3 / 4) / E`` instead of ``L^3 / 3``. Spin rates must be
    small compared with the lowest frequency: otherwise simulations, trims and linear models warn.

    Examples
    --------
    >>> import numpy as np, titop as tt
    >>> shape, participation = np.zeros((6, 1)), np.zeros((1, 6))
    >>> shape[[1, 5], 0], participation[0, [1, 5]] = [2.0, 2.75], [0.783, 0.569]
    >>> panel = tt.FlexibleBody("panel", mass=1.0, com=[0.5, 0, 0], inertia=[0.001, 1 / 12, 1 / 12], frequencies=[3.0],
    ...                         participation=participation, ports={"C": [1, 0, 0]}, shapes={"C": shape}, damping_ratios=0.005)
    >>> panel.effective_mass.fraction[0, 1].round(3).item()
    0.613
    """

    @classmethod
    def from_finite_elements(
        cls,
        name: str,
        positions: Any,
        mass: Any,
        stiffness: Any,
        parent: int | Sequence[int],
        ports: Mapping[str, int | Sequence[int]],
        modes: int = 6,
        method: str = "craig-bampton",
        damping_ratios: Any = 0.0,
        geometric_stiffness: Mapping[str, Sequence[Any]] | None = None,
    ) -> FlexibleBody:
        """Return the body of finite-element matrices, reduced to few coordinates.

        Parameters
        ----------
        name : str
            Unique name in the system.
        positions : array_like (N, 3), m
            Of the nodes, in body axes.
        mass, stiffness : array_like or sparse (6N, 6N) or (3N, 3N)
            Of the free body; degrees of freedom node by node: displacements along x, y, z, then (of 6) rotations about x, y, z.
            If both are sparse, they stay sparse, so that a hundred thousand degrees of freedom fit into memory.
        parent : int or sequence of int
            Node of P; or several that move rigidly together, with P at the mean of their positions.
        ports : mapping of name to int or sequence of int
            Nodes of the child ports, likewise. With three degrees of freedom per node, a port needs at least three nodes.
        modes : int
            Number of fixed-interface modes (or of clamped modes), the lowest.
        method : {"craig-bampton", "attachment"}
            Craig-Bampton (AIAA Journal 6(7), 1968): the coordinates are the six displacements of each child port relative to P,
            then the amplitudes of modes with all ports held. Attachment: natural modes of the space of clamped modes and of the
            static deformations under forces and moments at the child ports.
        damping_ratios : float or (n,)
            Of the natural modes of the reduced body clamped at P.
        geometric_stiffness : mapping of load to matrices, dense or sparse, optional
            As in the class, each matrix over the degrees of freedom of `stiffness`. The moments follow from the mass: exactly
            for nodes with three degrees of freedom, up to the square of the elements' length for beams. They neglect the
            rotary inertia of nodes; a warning says if it matters. Without geometric stiffness there is no stiffening.

        Raises
        ------
        ModelError
            If shapes do not fit, nodes are unknown, or the matrices are not those of one free body.
        ConvergenceError
            If the iteration for the modes of sparse matrices fails.
        """
        fields = reduce_finite_elements(name, positions, mass, stiffness, parent, ports, modes, method, geometric_stiffness)
        return cls(name, **fields, damping_ratios=damping_ratios)

    @classmethod
    def from_craig_bampton(
        cls,
        name: str,
        mass: Any,
        stiffness: Any,
        boundary: Mapping[Hashable, Any],
        ports: Mapping[str, Hashable] | None,
        parent: Hashable,
        units: Sequence[str | float] = SI,
        damping_ratios: Any = 0.0,
        damping: Any = None,
        recovery: Mapping[str, Any] | None = None,
    ) -> FlexibleBody:
        """Return the body of matrices that a finite-element program has reduced already.

        Its coordinates are the displacements of each child port relative to P, then the modes, as `from_finite_elements` has
        them. Static deformations under loads at all boundary grids are exact.

        Parameters
        ----------
        name : str
            Unique name in the system.
        mass, stiffness : array_like (N, N)
            Of the free body: six degrees of freedom (displacements, then rotations) of each boundary grid, in the order of
            `boundary`, then modal coordinates.
        boundary : mapping of grid to position (3) or Pose
            Positions in body axes. The orientation of a `Pose` is that of the grid's degrees of freedom (its output frame);
            without it they are in body axes.
        ports : mapping of name to grid, or None
            Child ports, in body axes. Other grids of the boundary become ports as well: grid 19 is ``grid19``.
        parent : grid
            That of P.
        units : sequence of 3
            Units of length, mass and time of all numbers: names such as ``("mm", "t", "s")``, or numbers of SI units.
            Amplitudes of modes are scaled as well: modes of unit mass stay such modes.
        damping_ratios : float or (n,)
            Of the natural modes of the body clamped at P, by ascending frequency.
        damping : array_like (N, N), optional
            Damping matrix of the same coordinates, added to that of the ratios.
        recovery : mapping of name to array_like (k, N), optional
            Recovery matrices of the same coordinates, see `recover`: their results stay in the units and axes of the file.

        Raises
        ------
        ModelError
            If shapes do not fit, or if rigid motion of the grids strains the body, or moves no rigid body's mass: then
            positions, axes, units or the order of the coordinates are not those of the matrices.
        """
        fields = reduce_boundary(name, mass, stiffness, boundary, ports, parent, units, damping, recovery)
        return cls(name, **fields, damping_ratios=damping_ratios)

    @classmethod
    def from_nastran(
        cls,
        path: str | PathLike[str],
        parent: int,
        ports: Mapping[str, int] | None = None,
        name: str | None = None,
        units: Sequence[str | float] = SI,
        damping_ratios: Any = 0.0,
        grids: str | PathLike[str] | None = None,
        reference: int | None = None,
    ) -> FlexibleBody:
        """Return the body of a NASTRAN file: reduced matrices, or normal modes of the body clamped at P.

        Body axes are those of the basic frame.

        Parameters
        ----------
        path : path
            ``.op4`` or ``.pch`` of an external superelement (EXTSEOUT), with the ``.asm`` beside it: see `from_craig_bampton`;
            the punch file beside it names the recovery matrices, ``MUG1.16`` of a grid and ``MEF1.10`` of an element. Or
            ``.op2`` or ``.f06`` of normal modes (SOL 103) with MEFFMASS and the rigid mass.
        parent : int
            Grid of P.
        ports : mapping of name to int, optional
            Grids of the child ports. All grids of the boundary of a superelement are ports.
        name : str, optional
            Unique name in the system; that of the file by default.
        units : sequence of 3
            Units of length, mass and time in the file, as in `from_craig_bampton`.
        damping_ratios : float or (n,)
            Of the natural modes of the body clamped at P, by ascending frequency.
        grids : path, optional
            Bulk data with the positions of grids, if not in the file or beside it.
        reference : int, optional
            Grid about which participation and rigid mass are; the basic origin by default.

        Raises
        ------
        ModelError
            If pyYeti is not installed, the file lacks something, or what it says does not fit together.
        """
        check_suffix(path, SUFFIXES)
        name = Path(path).stem if name is None else name
        return cls(name, **nastran_fields(path, name, parent, ports, units, grids, reference), damping_ratios=damping_ratios)

    def in_natural_modes(self) -> FlexibleBody:
        """Return the same body in natural modes: frequencies instead of matrices. Its damping must be by ratios alone.

        Raises
        ------
        ModelError
            If the body is in a fluid, or its law is redefined.
        """
        return self._in_modes(self.natural_modes)

    def truncate(self, frequency: float) -> FlexibleBody:
        """Return the body with its natural modes up to a frequency (rad/s), each with its damping ratio.

        What is lost is in `lost` of the result: ``print(body.truncate(100.0).lost)``. Loads at ports find the body stiffer than
        it is. To remove modes without losing static deformations, reduce the matrices to fewer modes (`from_finite_elements`).

        Parameters
        ----------
        frequency : float, rad/s
            The highest that stays.

        Raises
        ------
        ModelError
            If no mode is left, the body is in a fluid, or its law is redefined.
        """
        reader, modes = FieldReader(self.name), self.natural_modes
        limit = reader.scalar("frequency", frequency)
        kept = modes.frequencies <= limit
        if not reader.findings and not kept.any():
            expected = f"a frequency of at least that of the first mode, {modes.frequencies[0]:.6g} rad/s"
            reader.report("no-modes", "frequency", frequency, expected, "a body without modes is a tt.RigidBody")
        reader.raise_findings()
        result = self._in_modes(modes.where(kept))
        result.lost = lost_modes(modes.where(~kept), modes, self.effective_mass.fraction[~kept], self.shapes)
        return result

    def _in_modes(self, natural: NaturalModes) -> FlexibleBody:
        if not self.is_modal:
            value = "a fluid around it" if self.fluid is not None else "a law of its own"
            advice = "take the modes of the body without it"
            raise ModelError(Finding("not-modal", self.name, value, "a body whose law is that of its modes", advice))
        frequencies, modes = natural.frequencies, natural.shapes
        damping = None if self.modal_damping is None else modes.T @ self.modal_damping @ modes
        second: dict[str, Any] = {}
        if self.second_order is not None:
            turned = self.second_order.in_coordinates(modes)
            second = {"position_moments": turned.first[1:], "displacement_moments": turned.second}
            second["geometric_stiffness"] = stiffness_of(turned.shortening) | turned.ports
        return FlexibleBody(
            self.name,
            self.mass,
            self.com,
            self.inertia,
            frequencies=frequencies,
            participation=modes.T @ self.participation,
            ports=self.port_poses,
            shapes={port: shape @ modes for port, shape in self.shapes.items()},
            damping_ratios=natural.ratios,
            modal_damping=damping,
            recovery={name: rows @ modes for name, rows in self.recovery.items()},
            **second,
        )

    def check(self) -> tuple[list[Finding], list[Finding]]:
        errors, warnings = super().check()
        wrong, suspicious = findings(self)
        return errors + wrong, warnings + suspicious

    def cannot_object(self, entry: str, value: float) -> bool:
        """Tell whether `entry` is a frequency with a positive `value`, or damping that takes energy."""
        of = entry_of(entry) if owner_of(entry).startswith("mode") else ""
        sound = value > 0.0 if of == "frequency" else of == "damping" and value >= 0.0
        return sound and not redefines(self, "check", FlexibleBody)

    # -- the law -------------------------------------------------------------------------------------------------------

    def pose(self, port: str, q: Array) -> tuple[Array, Array]:
        """Return rotation and position of a child port of the deformed body."""
        pose, moved = self.port_poses[port], self._displacement(port, q)
        return rotation_exp(moved[3:]) @ pose.rotation, pose.position + moved[:3]

    def _displacement(self, port: str, q: Array) -> Array:
        """Return displacement and rotation vector (6) of a child port."""
        moved = self.shapes[port] @ q
        return moved if self.second_order is None else moved - 0.5 * (self.second_order.ports[port] @ q) @ q

    def _moving(self, port: str, q: Array) -> Array:
        """Return the derivative (6 x n) of a child port's displacement and rotation vector."""
        return self.shapes[port] if self.second_order is None else self.shapes[port] - self.second_order.ports[port] @ q

    def mass_matrix(self, q: Array) -> Array:
        """Return the inertia at a deformation."""
        if self.second_order is not None:
            return deformed_inertia(self.second_order, self.undeformed, self.rigid_inverse, q)
        shift = skew(self.shift(q))
        onto = np.eye(6 + self.nv, dtype=shift.dtype)
        onto[:3, 3:6] = -shift
        return onto.T @ self.undeformed @ onto

    def shift(self, q: Array) -> Array:
        """Return the displacement of the centre of mass (3, m) from its place in the undeformed body."""
        return self.participation[:, :3].T @ q / self.mass if self.mass else np.zeros(3)

    def elastic_energy(self, q: Array) -> Any:
        """Return the elastic energy ``eta^T K eta / 2`` (J)."""
        return 0.5 * q @ self.matrices.stiffness @ q

    def damping_efforts(self, q: Array, v: Array) -> Array:
        """Return ``-D eta'``."""
        return -self.matrices.damping @ v

    def passive_efforts(self, q: Array, v: Array) -> Array:
        """Return ``-K eta - D eta'``."""
        return self.damping_efforts(q, v) - self.matrices.stiffness @ q

    def motion_subspace(self, port: str, q: Array) -> Array:
        shape, mounting = self._moving(port, q), self.port_poses[port].rotation
        phi = self._displacement(port, q)[3:]
        rotation = rotation_exp(phi) @ mounting
        return np.vstack([rotation.T @ shape[:3], mounting.T @ right_jacobian(phi) @ shape[3:]])

    def subspace_rate(self, port: str, q: Array, v: Array) -> Array:
        rotation, mounting = self.pose(port, q)[0], self.port_poses[port].rotation
        phi, rate = self._displacement(port, q)[3:], self._moving(port, q) @ v
        second = np.zeros(6) if self.second_order is None else -(self.second_order.ports[port] @ v) @ v
        jacobian, spinning = right_jacobian(phi), right_jacobian_rate(phi, rate[3:])
        turned = -skew(mounting.T @ jacobian @ rate[3:]) @ rotation.T @ rate[:3]
        return np.concatenate([turned + rotation.T @ second[:3], mounting.T @ (spinning + jacobian @ second[3:])])

    def gyroscopic(self, q: Array, v: Array, twist: Array) -> Array:
        """Return the gyroscopic terms h (6 + n): those with P at rest, plus those of the acceleration ``w x v`` of P."""
        return self._gyroscopic_at_rest(q, v, twist[3:]) + self.mass_matrix(q)[:, :3] @ cross(twist[3:], twist[:3])

    def _gyroscopic_at_rest(self, q: Array, v: Array, w: Array) -> Array:
        """Return the gyroscopic terms with P at rest and the angular velocity w (3, rad/s)."""
        if self.second_order is not None:
            inertia = self.second_order, self.undeformed, self.rigid_inverse
            momenta, changing, slope = inertia_change(*inertia, q, v, np.concatenate([np.zeros(3), w]))
            return changing + np.concatenate([cross(w, momenta[:3]), cross(w, momenta[3:6]), -slope])
        shift, rate = self.shift(q), self.shift(v)
        undeformed, spin = self.mass * self.com, skew(w)
        at_shift = np.concatenate([spin @ shift, w])
        force, torque = np.split(self.rigid_inertia @ at_shift + self.participation.T @ v, 2)
        torque = torque + skew(shift) @ force
        turned = spin @ rate
        changing = skew(undeformed + self.mass * shift) @ turned + skew(rate) @ force
        h_p = np.concatenate([self.mass * turned + spin @ force, changing + spin @ torque])
        velocity = force / self.mass if self.mass else np.zeros(3)
        return np.concatenate([h_p, self.participation[:, :3] @ (spin @ (velocity + rate))])

    def random_configuration(self, rng: np.random.Generator) -> Array:
        """Return a random small deformation: each mode moves the body by 5 % of its size or less, root mean square."""
        return rng.uniform(-1.0, 1.0, self.nv) * _RANDOM_DEFORMATION * self.coordinate_scales

    @property
    def coordinate_scales(self) -> Array:  # type: ignore[override]
        """Amplitude of each coordinate (n) that moves ports or mass by the body's size, or rotates a port by a radian."""
        places = (pose.position for pose in self.port_poses.values())
        size = float(np.max([np.linalg.norm(np.real(place)) for place in (self.com, *places)])) or 1.0
        shares = [np.zeros(self.nv)]
        if self.mass:
            shares.append(np.sqrt(np.maximum(np.diag(self.matrices.mass) / np.real(self.mass), 0.0)) / size)
        for shape in self.shapes.values():
            shares += [np.linalg.norm(shape[:3], axis=0) / size, np.linalg.norm(shape[3:], axis=0)]
        most = np.max(shares, axis=0)
        return 1.0 / np.where(most > 0, most, 1.0)

    def mass_moments(self) -> Array:
        """Return mass (kg) and moments (k,): the centre moves with the modes, second moments with geometric stiffness."""
        mass = self.mass or 1.0
        moved, inertia = self.participation[:, :3] / mass, self.inertia
        if self.second_order is None:
            return np.concatenate([[self.mass], self.com, second_moments(inertia), [0.0], np.ravel(moved)])
        first, bent = self.second_order.first, -self.second_order.shortening
        about = second_moments(inertia) + self.mass * np.outer(self.com, self.com)[*zip(*SPINS, strict=True)]
        pairs = [(1 + i, j) for i, j in SPINS], [(1 + j, i) for i, j in SPINS]
        by_q = np.array([first[one] + first[two] for one, two in zip(*pairs, strict=True)])
        twice = [self.second_order.second[i, j] + self.second_order.second[j, i] for i, j in SPINS]
        twice = [each + bent[one] + bent[two] for each, one, two in zip(twice, *pairs, strict=True)]
        second = np.concatenate([bent[0] / mass, twice]).transpose(1, 2, 0)
        return np.concatenate([[self.mass], self.com, about, [1.0], *map(np.ravel, (moved, by_q.T, second))])

    def law_numbers(self) -> Array:
        """Return the numbers of the compiled law: see `titop.solvers.kernels.laws.modal` and `stiffening` there."""
        D = self.rigid_inertia
        parts = [D[[0, 5, 3, 4], [0, 1, 2, 0]], D[[3, 4, 5, 3, 3, 4], [3, 4, 5, 4, 5, 5]], self.participation.T, *self.matrices]
        for port, pose in self.port_poses.items():
            parts += [pose.rotation, pose.position, self.shapes[port]]
        numbers = np.concatenate([np.ravel(part) for part in parts])
        if self.second_order is None:
            return numbers
        return np.concatenate([numbers, self.second_order.law_numbers(self.rigid_inverse, len(numbers))])
