"""Cosserat rods by strain coordinates, and rods cut at a section."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from titop.blocks.basics.complex_steps import complex_step
from titop.blocks.basics.spatial import Array
from titop.blocks.bodies.rods.discretisation import RodLayout, RodNumbers, pack
from titop.blocks.bodies.rods.recursion import RodMotion, gyroscopic, mass_matrix, transports
from titop.blocks.bodies.rods.rod_sections import RodSections
from titop.blocks.bodies.rods.strains import LINEAR_FIRST
from titop.blocks.bodies.water.immersion import Water, moving_wrenches, sum_over_sections, wrenches_to_efforts
from titop.blocks.contract.law import LawTerms
from titop.blocks.programs.repetition import for_each


class Rod(RodSections):
    """A slender rod along local x from its base, port ``P``, with large bending, torsion, elongation and shear.

    A geometrically exact Cosserat rod whose strain is a combination of functions of the abscissa (geometric variable strain,
    key M). Ports for rigid bodies, joints and other rods are at the tip and at any abscissa.

    Parameters
    ----------
    name : str
    length : float, m
    section : Section
        Constant or tapered.
    young : float, Pa
    density : float, kg/m^3
    poisson : float, optional
        At most 0.5; 0.3 by default.
    shear_modulus : float, Pa, optional
        In place of Poisson's ratio.
    damping : float, Pa s
        Viscosity of the material for rates of shear; that for rates of elongation is three times as large.
    strains : str or mapping of component to order or StrainBasis
        The free components: ``torsion``, ``bending_y``, ``bending_z`` (about y and z), ``elongation``, ``shear_y``,
        ``shear_z``. An order means Legendre polynomials up to it. Or a theory with several components:
        ``"kirchhoff"`` the first three (inextensible, without shear), ``"extensible"`` four, ``"timoshenko"`` (Reissner) all.
    basis : int or StrainBasis
        Of all components of a theory.
    reference_strain : array_like (6,) or callable
        Strain ``[k; s]`` without stress: twist and curvatures (rad/m), then stretch and shears. Straight,
        ``[0, 0, 0, 1, 0, 0]``, by default; constant curvature and twist make a helix. Or a function of X (m).
    ports : mapping of name to X or (X, Pose)
        Further ports: their abscissa (m), and their pose in the section's frame if they do not coincide with it. ``tip`` always
        exists.
    points : int
        Gauss points per smooth stretch of the rod (piecewise bases have several stretches); five by default. A strain with
        count functions needs count points in the stretch; more points give more accurate poses and inertia.
    fluid : Fluid, optional
        The fluid around the rod, which gives buoyancy; the following arguments define its other effects.
    added_mass : float, str, mapping, array_like (6, 6) or callable, optional
        Added mass. A number, or numbers for ``"normal"`` (``"normal_y"``, ``"normal_z"``) and ``"tangential"``, is a fraction
        of the displaced mass: 1 for a circle. ``"potential"`` is the added mass, in an ideal fluid, of the section's ellipse,
        or of the ellipse with the same extent. A matrix is an inertia per unit length in the section's frame (kg/m and so on);
        a function of X (m) returns one.
    drag : float, mapping, array_like (6, 6) or callable, optional
        A number, or numbers for ``"normal"`` (``"normal_y"``, ``"normal_z"``) and ``"tangential"``, is a drag coefficient C:
        the force per unit length is ``-rho/2 d C |v| v_k`` along each axis, with the width d across the flow (for tangential
        flow the mean width). ``"torsional"`` gives a moment ``-rho/2 C (d/2)^4 |w| w`` about x, ``"viscous_normal"`` and
        ``"viscous_tangential"`` (Pa s) a force ``-C v``. A matrix Q, or a function of X that returns one, gives the wrench
        ``-|v| Q V`` per unit length (key M, section 6.3); it may include lift, but must not create energy.
    lift : float or array_like (3,), optional
        An axis l in the section's frame: the force per unit length is ``rho/2 d |v| l x v``. A number means an axis along x.

    Notes
    -----
    Coordinates q (n), named after their component: ``bending_y0``, ``bending_y1``, ... The strain at X is::

        xi(X) = xi*(X) + sum_j (phi_j(X) / L) e_j q_j

    with L the length, so that coordinates of torsion and bending are angles (rad) and those of elongation and shear
    displacements (m): for Legendre polynomials (of ``2 X / L - 1``) the first is the rotation or displacement of the tip
    relative to the base. SoRoSim divides only the three rows of torsion and bending by L: its coordinates of elongation and
    shear are ours divided by L. Strains are ``[k; s]`` as in the papers; all else is linear first.

    Sections are rigid, with their frames' x along the rod at rest. From point to point (the ends of every stretch, and Gauss
    points in it) the pose changes by the exponential of a fourth-order Magnus expansion; the pose of a port
    follows by one further step. The law is exact for these poses: inertia is that of rigid sections at the points, subspaces
    and gyroscopic terms are the derivatives of these poses. So energy is conserved for any number of points, and poses and
    inertia converge with it. ``K`` and ``D`` have an integration of their own::

        passive = -K q - D q'    K = int Phi^T diag(G J, E Iy, E Iz, E A, G A ky, G A kz) Phi dX

    A fluid acts at the points with the same weights as gravity: by buoyancy, ``-rho_f A g`` per unit length, so that a rod with
    the density of the fluid has no weight; by the added mass, which has no weight; by drag and lift. Sections displace their
    area: tubes are flooded. Twists are relative to the current (Kirchhoff's equations for each section, without interaction
    of sections).

    The material is linear, and sections may intersect each other: see `fibre_stretch`. Functions of X are called with the
    original length; if parameters change the length, they and the ports are scaled with it.

    Examples
    --------
    >>> import numpy as np, titop as tt
    >>> rod = tt.Rod("rod", length=1.0, section=tt.Section.circle(0.01), young=1e6, density=1000.0, basis=1)
    >>> rod.coordinates
    ('torsion0', 'torsion1', 'bending_y0', 'bending_y1', 'bending_z0', 'bending_z1')
    >>> rod.pose("tip", np.array([0, 0, 0, 0, np.pi / 2, 0]))[1].round(4).tolist()  # a quarter of a circle about z
    [0.6366, 0.6366, 0.0]
    """

    def pose(self, port: str, q: Array) -> tuple[Array, Array]:
        rotations, positions = RodMotion(self.numbers, q).poses()
        return self._port_pose(port, rotations[self._row(port)], positions[self._row(port)])

    def mass_matrix(self, q: Array) -> Array:
        """Return the inertia of the sections at the points, and of the added mass, about P."""
        return self._mass_matrix(RodMotion(self.numbers, q).jacobians()[: self._points])

    def _mass_matrix(self, jacobians: Array) -> Array:
        inertia, water = mass_matrix(self.numbers.inertia, jacobians), self.numbers.water
        return inertia if water is None else inertia + sum_over_sections(water.added, jacobians)

    def _water_at(self, q: Array) -> tuple[Water, Array] | None:
        """Return the fluid at the points."""
        water = self.numbers.water
        return None if water is None else (water, RodMotion(self.numbers, q).jacobians()[: self._points])

    def _in_places(self, vector: Array, q: Array) -> Array:
        rotations = RodMotion(self.numbers, q).poses()[0][: self._points]
        return for_each(lambda rotations: (vector @ rotations,), rotations, of=vector)[0]

    def elastic_energy(self, q: Array) -> Any:
        """Return the elastic energy ``q^T K q / 2`` (J)."""
        return 0.5 * q @ self.numbers.stiffness @ q

    def damping_efforts(self, q: Array, v: Array) -> Array:
        """Return ``-D q'``."""
        return -self.numbers.damping @ v

    def passive_efforts(self, q: Array, v: Array) -> Array:
        """Return ``-K q - D q'``."""
        return self.damping_efforts(q, v) - self.numbers.stiffness @ q

    def motion_subspace(self, port: str, q: Array) -> Array:
        return self._onto_port(port) @ RodMotion(self.numbers, q).jacobians()[self._row(port), :, 6:]

    def subspace_rate(self, port: str, q: Array, v: Array) -> Array:
        """Return ``dS/dt v`` (6) of a child port: its acceleration while P rests and the rates are constant."""
        return self._onto_port(port) @ RodMotion(self.numbers, q).biases(v, np.zeros(6))[1][self._row(port)]

    def gyroscopic(self, q: Array, v: Array, twist: Array) -> Array:
        return self._efforts(RodMotion(self.numbers, q), v, twist, np.zeros(6 + self.nv))

    def _efforts(self, motion: RodMotion, v: Array, twist: Array, x: Array) -> Array:
        """Return ``M x + h`` (6 + n): the wrenches of the accelerated sections, without forming M."""
        inside = slice(self._points)
        jacobians, (twists, biases) = motion.jacobians()[inside], motion.biases(v, twist)
        accelerations = for_each(lambda bias, jacobian: (bias + jacobian @ x,), biases[inside], jacobians, of=x)[0]
        return self._gyroscopic(jacobians, twists[inside], accelerations)

    def _gyroscopic(self, jacobians: Array, twists: Array, accelerations: Array) -> Array:
        """Return the gyroscopic efforts (6 + n) of sections and of the added mass, at P and along the coordinates."""
        efforts, water = gyroscopic(self.numbers.inertia, jacobians, twists, accelerations), self.numbers.water
        if water is None:
            return efforts
        return efforts + wrenches_to_efforts(jacobians, moving_wrenches(water.added, twists, accelerations))

    def law(self, q: Array, v: Array, twist: Array) -> LawTerms:
        """Return the law at a state, from one pass over the points."""
        motion, inside = RodMotion(self.numbers, q), slice(self._points)
        (rotations, positions), jacobians = motion.poses(), motion.jacobians()
        twists, biases = motion.biases(v, twist)
        poses = [self._port_pose(port, rotations[row], positions[row]) for row, port in enumerate(self.ports, self._points)]
        onto = np.array([self._onto_port(port) for port in self.ports])
        return LawTerms(
            self._mass_matrix(jacobians[inside]),
            self._gyroscopic(jacobians[inside], twists[inside], biases[inside]),
            self.passive_efforts(q, v),
            np.array([rotation for rotation, _ in poses]),
            np.array([position for _, position in poses]),
            onto @ jacobians[self._points :, :, 6:],
            (onto @ biases[self._points :, :, None])[..., 0],
        )

    def law_slopes(self, q: Array, v: Array, twist: Array, x: Array) -> tuple[Array, Array, Array]:
        by_q = complex_step(lambda y: self._efforts(RodMotion(self.numbers, y), v, twist, x), q)
        motion = RodMotion(self.numbers, q)
        by_v = complex_step(lambda y: self._efforts(motion, y, twist, x), v)
        by_twist = complex_step(lambda y: self._efforts(motion, v, y, x), twist)
        by_q[6:] += self.numbers.stiffness
        by_v[6:] += self.numbers.damping
        return by_q, by_v, by_twist

    def _row(self, port: str) -> int:
        """Return the index of a port's section."""
        return self._points + self.ports.index(port)

    def _port_pose(self, port: str, rotation: Array, position: Array) -> tuple[Array, Array]:
        pose = self.rod_ports[port].pose
        return rotation @ pose.rotation, position + rotation @ pose.position

    def _onto_port(self, port: str) -> Array:
        """Return the transport (6x6) of twists from a port's section to the port."""
        pose = self.rod_ports[port].pose
        return transports(pose.rotation, pose.position)

    def law_numbers(self) -> Array:
        """Return the numbers of the compiled law: see `titop.solvers.kernels.laws.rod_numbers`.

        In order: the number m of intervals, and where the last two stand; the component (0 to 5 in ``[k; s]``) of each
        coordinate; for every interval its length, both reference strains and both rows of shapes; the inertia of every point; K
        and D; for every port the point before it, its step as an interval's, and its pose in the section's frame; the inertia
        of every point with the fluid that it moves along; and what the fluid does.
        """
        return pack(self.numbers, [pose for _, pose in self.rod_ports.values()])


# -- rods cut at a section -----------------------------------------------------------------------------------------------------

#: Number of the coordinates of a cut.
CUT = 6


class CutRod(Rod):
    """A rod with six further coordinates: the relative displacement of the part beyond a section, at a fraction of its length.

    The efforts that keep the cut closed are the internal wrench of the section. The six are the exponential coordinates of the
    displacement, linear first, in the section's frame; zero closes the cut. Points lie as in a rod whose strain jumps there, so
    that both parts have their own Gauss points, with the same accuracy as for the whole rod. The rod's own coordinates come
    first, with unchanged meaning.
    """

    def __init__(self, rod: Rod, fraction: float) -> None:
        vars(self).update(vars(rod.snapshot()))
        self.cut_at = fraction
        self.coordinates = (*rod.coordinates, *(f"cut{k}" for k in range(CUT)))
        self._update()

    def _layout(self, places: Sequence[float]) -> RodLayout:
        return super()._layout(places)._replace(cuts=(self.cut_at,))

    def numbers_to(self, places: Sequence[float]) -> RodNumbers:
        return _cut(super().numbers_to(places), self.cut_at)


def _cut(numbers: RodNumbers, fraction: float) -> RodNumbers:
    """Return a rod's numbers with one further step, after the point at the cut, displaced by the strain of the cut alone."""
    k = int(np.abs(numbers.fractions - fraction).argmin())
    n, water = len(numbers.components), numbers.water
    shapes = np.pad(np.insert(numbers.shapes, k, 0.0, axis=0), [(0, 0), (0, 0), (0, CUT)])
    shapes[k, :, n:] = 1.0
    return RodNumbers(
        np.concatenate([numbers.components, LINEAR_FIRST]),
        np.insert(numbers.fractions, k, numbers.fractions[k]),
        numbers.before + (numbers.before >= k),
        np.insert(numbers.steps, k, 1.0),
        np.insert(numbers.reference, k, 0.0, axis=0),
        shapes,
        np.insert(numbers.inertia, k, 0.0, axis=0),
        np.pad(numbers.stiffness, (0, CUT)),
        np.pad(numbers.damping, (0, CUT)),
        water and Water(water.current, *(np.insert(part, k, 0.0, axis=0) for part in water[1:])),
    )
