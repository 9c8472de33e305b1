"""The law of a block: the functions that it defines, and those that follow from them by derivatives."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache, partial
from typing import Any, ClassVar, cast

import numpy as np

from titop.blocks.basics.complex_steps import REAL_STEP, by_differences, complex_step
from titop.blocks.basics.spatial import Array, gyroscopic_wrench, twist_cross, twist_transport
from titop.blocks.basics.tolerances import COMPLEX_STEP
from titop.blocks.contract.description import Described
from titop.blocks.contract.law import Law, LawTerms
from titop.blocks.contract.own_coordinates import redefines

#: Functions that combine others for speed, and these others. Such a combination is valid for its own class only.
_REPEATS: dict[str, tuple[str, ...]] = {
    "pose_and_subspace": ("pose", "motion_subspace"),
    "subspace_slopes": ("pose", "motion_subspace", "subspace_rate"),
    "elastic_slopes": ("passive_efforts", "elastic_energy", "damping_efforts"),
    "law_slopes": ("mass_matrix", "gyroscopic", "passive_efforts", "elastic_energy", "damping_efforts"),
}
_REPEATS["law"] = tuple(dict.fromkeys(("pose_and_subspace", *(name for others in _REPEATS.values() for name in others))))


class BlockLaw(Described):
    """The part of `Block` that is its law.

    Notes
    -----
    Arguments of the methods: `port` is the name of a child port; `q` the own configuration (nq); `v` its rates (n); `twist` the
    twist (6) of the parent port, in its frame.
    """

    #: A law that titop compiles, in place of evaluating the functions below in Python; see `titop.Law`.
    compiled_law: ClassVar[Law | None] = None

    # -- what a block defines --------------------------------------------------------------------------------------------

    def pose(self, port: str, q: Array) -> tuple[Array, Array]:
        """Return rotation (3x3) and position (3, m) of child port `port` in the parent port's frame."""
        if self.compiled_law is None:
            return super().pose(port, q)
        terms, k = self._terms_at(q), self.ports.index(port)
        return terms.rotation[k], terms.position[k]

    def mass_matrix(self, q: Array) -> Array:
        """Return the inertia about the parent port, (6 + n) x (6 + n), for ``[V_P; v]`` (kg, kg m and kg m^2)."""
        return np.zeros((6 + self.nv, 6 + self.nv)) if self.compiled_law is None else self._terms_at(q).inertia

    def _terms_at(self, q: Array) -> LawTerms:
        """Return the terms of the block's compiled law at rest."""
        assert self.compiled_law is not None
        return self.compiled_law.terms(self, q, np.zeros(self.nv), np.zeros(6))

    def elastic_energy(self, q: Array) -> Any:
        """Return the stored elastic energy (J)."""
        if self.compiled_law is None or self.compiled_law.energy is None:
            return 0.0 * q.sum()
        return self.compiled_law.energy(self.law_numbers(), q)

    def damping_efforts(self, q: Array, v: Array) -> Array:
        """Return the damping efforts on the own coordinates (n), opposed to the motion."""
        return np.zeros(self.nv)

    # -- what follows from the above; override for a faster form -------------------------------------------------------

    def motion_subspace(self, port: str, q: Array) -> Array:
        """Return ``S = g^-1 dg/dq`` (6 x n; m and rad per unit of q) of a child port, in the port's frame."""
        return self._pose_and_subspace(port, q)[2]

    def pose_and_subspace(self, port: str, q: Array) -> tuple[Array, Array, Array]:
        """Return rotation (3x3), position (3, m) and motion subspace (6 x n) of a child port; see `pose`, `motion_subspace`."""
        if redefines(self, "motion_subspace", BlockLaw):
            return *self.pose(port, q), self.motion_subspace(port, q)
        return self._pose_and_subspace(port, q)

    def _pose_and_subspace(self, port: str, q: Array) -> tuple[Array, Array, Array]:
        if self.nv == 0:
            return *self.pose(port, q), np.zeros((6, 0))
        pose, changes = self._with_slopes(lambda x: np.vstack(self.pose(port, x)), q)
        back = pose[:3].T
        spins = back @ changes[:, :3]
        columns = [
            [*(back @ change[3]), spin[2, 1], spin[0, 2], spin[1, 0]] for change, spin in zip(changes, spins, strict=True)
        ]
        return pose[:3], pose[3], np.array(columns).T

    def subspace_rate(self, port: str, q: Array, v: Array) -> Array:
        """Return ``dS/dt v`` (6, m/s^2 and rad/s^2) of a child port."""
        if self.nv == 0:
            return np.zeros(6)
        if redefines(self, "motion_subspace", BlockLaw) or not (self.takes_second(q) and np.isrealobj(v)):
            return self.along(lambda x: self.motion_subspace(port, x), q, v) @ v

        def pose(x: Array) -> Array:
            return np.vstack(self.pose(port, x))

        stepped = pose(self.integrate(q, 1j * COMPLEX_STEP * v))
        here, rate = np.real(stepped), np.imag(stepped) / COMPLEX_STEP
        return _body_rate(here, rate, rate, self.second_along(pose, q, v))

    def gyroscopic(self, q: Array, v: Array, twist: Array) -> Array:
        """Return the gyroscopic terms h (6 + n; N, N m) at the parent port's `twist` (6).

        ``h_P = (dM/dt x)_P - ad(V)^T (M x)_P`` and ``h_q = (dM/dt x)_q - d(x^T M x / 2)/dq - bracket(v)^T (M x)_q``.
        """
        return self._gyroscopic_of(*self._inertia_and_derivatives(q), v, twist)

    def _inertia_and_gyroscopic(self, q: Array) -> tuple[Array, Callable[[Array, Array], Array]]:
        """Return M, and h as a function of v and the parent port's twist."""
        if redefines(self, "gyroscopic", BlockLaw):
            return np.array(self.mass_matrix(q)), lambda v, twist: self.gyroscopic(q, v, twist)
        M, changes = self._inertia_and_derivatives(q)
        return M, lambda v, twist: self._gyroscopic_of(M, changes, v, twist)

    def _inertia_and_derivatives(self, q: Array) -> tuple[Array, Array]:
        """Return M, and its derivatives along the coordinates (n x 6 + n x 6 + n)."""
        if self.nv == 0:
            return (M := self.mass_matrix(q)), np.zeros((0, *M.shape))
        return self._with_slopes(self.mass_matrix, q)

    def _gyroscopic_of(self, M: Array, changes: Array, v: Array, twist: Array) -> Array:
        """Return the gyroscopic terms from M and its derivatives along the coordinates."""
        x = np.concatenate([twist, v])
        momentum, by_q = M @ x, changes @ x
        h = np.concatenate([gyroscopic_wrench(M[:6], x), -self.bracket(v).T @ momentum[6:]]) + v @ by_q
        h[6:] -= 0.5 * by_q @ x
        return h

    def passive_efforts(self, q: Array, v: Array) -> Array:
        """Return the efforts (n) of elasticity and damping."""
        elastic = np.array([self.along(self.elastic_energy, q, direction) for direction in np.eye(self.nv)])
        return self.damping_efforts(q, v) - elastic.reshape(self.nv)

    def law(self, q: Array, v: Array, twist: Array) -> LawTerms:
        """Return the law at a state, for the `twist` (6) of the parent port: all terms that the compiled engine needs."""
        parts = [port_terms(self, port, q, v, twist) for port in self.ports]
        shapes = (3, 3), (3,), (6, self.nv), (6,)
        stacked = [np.array([part[k] for part in parts]).reshape(len(parts), *shape) for k, shape in enumerate(shapes)]
        M, gyroscopic = self._inertia_and_gyroscopic(q)
        return LawTerms(M, gyroscopic(v, twist), self.passive_efforts(q, v), *stacked)

    # -- the linearised law: derivatives of the functions above; override for a faster or more accurate form ----------------

    def law_slopes(self, q: Array, v: Array, twist: Array, x: Array) -> tuple[Array, Array, Array]:
        """Return the derivatives of ``M x + h - [0; passive]`` (6 + n; N, N m) by q (n), v (n) and the parent port's twist (6).

        `x` = ``[A_P; a]`` holds the parent port's acceleration minus gravity, and the own accelerations.
        """

        def law(q: Array) -> Array:
            passive = np.concatenate([np.zeros(6), self.passive_efforts(q, v)])
            M, gyroscopic = self._inertia_and_gyroscopic(q)
            return M @ x + gyroscopic(v, twist) - passive

        if redefines(self, "gyroscopic", BlockLaw) or not self.takes_second(q):
            by_q = self.slopes(law, q)
            if not self.complex_safe:
                return by_q, *self._rate_derivatives(q, v, twist)
            _, gyroscopic = self._inertia_and_gyroscopic(q)
        else:
            M, first, second = self._with_second_slopes(self.mass_matrix, q)
            by_q = np.stack(
                [
                    slope @ x + self._gyroscopic_of(slope, changes, v, twist)
                    for slope, changes in zip(first, second, strict=True)
                ],
                axis=1,
            )
            by_q[6:] -= self._passive_slopes(q, v)

            def gyroscopic(v: Array, twist: Array) -> Array:
                return self._gyroscopic_of(M, first, v, twist)

        by_twist, by_v = complex_step(lambda y: gyroscopic(v, y), twist), complex_step(lambda y: gyroscopic(y, twist), v)
        by_v[6:] -= complex_step(lambda y: self.passive_efforts(q, y), v)
        return by_q, by_v, by_twist

    def _passive_slopes(self, q: Array, v: Array) -> Array:
        """Return the derivatives (n x n) of the passive efforts by the tangent of q, see `takes_second`."""
        if redefines(self, "passive_efforts", BlockLaw):
            return self.slopes(lambda y: self.passive_efforts(y, v), q)
        stiffness = self._with_second_slopes(lambda y: np.asarray(self.elastic_energy(y)), q)[2]
        return self.slopes(lambda y: self.damping_efforts(y, v), q) - stiffness

    def _rate_derivatives(self, q: Array, v: Array, twist: Array) -> tuple[Array, Array]:
        """Return the derivatives of ``h - [0; passive]`` by v and the twist, by differences: exact, since h is quadratic."""
        motion, sizes = np.concatenate([twist, v]), self.displacement_sizes(q)
        columns = []
        for change in np.diag(sizes * ((np.abs(motion) / sizes).max() or 1.0)):
            ahead, behind = (self.gyroscopic(q, moved[6:], moved[:6]) for moved in (motion + change, motion - change))
            columns.append((ahead - behind) / (2.0 * change.sum()))
        slopes = np.stack(columns, axis=-1)
        slopes[6:, 6:] -= by_differences(lambda y: self.passive_efforts(q, y), v)
        return slopes[:, 6:], slopes[:, :6]

    def subspace_slopes(self, port: str, q: Array, v: Array) -> tuple[Array, Array, Array]:
        """Return dS/dq (n x 6 x n, the j-th by q_j), and the derivatives of ``dS/dt v`` (6 x n each) by q and v.

        Units of S (m, rad) and of ``dS/dt v`` (m/s^2, rad/s^2), per unit of q or v.
        """

        def rate(y: Array) -> Array:
            return self.subspace_rate(port, y, v)

        if any(redefines(self, name, BlockLaw) for name in ("motion_subspace", "subspace_rate")) or not self.takes_second(q):
            bends, by_q = np.moveaxis(self.slopes(lambda y: self.motion_subspace(port, y), q), -1, 0), self.slopes(rate, q)
        else:  # by differences, since the function uses complex steps itself
            bends = self._subspace_bends(port, q)
            by_q = np.stack([self._by_differences(rate, q, direction) for direction in np.eye(self.nv)], axis=-1)
        return bends, by_q, np.tensordot(v, bends, 1) + (bends @ v).T

    def _subspace_bends(self, port: str, q: Array) -> Array:
        """Return dS/dq (n x 6 x n, the j-th by q_j) from second derivatives of the pose."""
        pose, first, second = self._with_second_slopes(lambda y: np.vstack(self.pose(port, y)), q)
        columns = [[_body_rate(pose, first[j], first[i], second[j, i]) for i in range(self.nv)] for j in range(self.nv)]
        return np.array(columns).swapaxes(1, 2)

    def elastic_slopes(self, q: Array) -> Array:
        """Return the derivative (n x n) of the passive efforts at rest by the tangent of q."""
        rest = np.zeros(self.nv)
        return self.slopes(lambda y: self.passive_efforts(y, rest), q)

    # -- characteristic sizes of the block -------------------------------------------------------------------------------------

    def displacement_sizes(self, q: Array) -> Array:
        """Return characteristic displacements of the parent port and along the coordinates (6 + n; m, rad).

        The distance of its farthest port or its radius of gyration, a radian, and the coordinates' scales: independent of
        units.
        """
        lengths = [np.linalg.norm(self.pose(port, q)[1]) for port in self.ports]
        masses = np.abs(np.diag(self.mass_matrix(q))[:6])
        if masses[:3].any():
            lengths.append(np.sqrt(masses[3:].sum() / masses[:3].sum()))
        return np.concatenate([[max(lengths, default=0.0) or 1.0] * 3, [1.0] * 3, self.steps / REAL_STEP])

    def inertia_weights(self) -> Array:
        """Return the square roots (6 + n; kg^0.5, kg^0.5 m) of the inertia's diagonal at the neutral configuration.

        Entries of the inertia divided by them are comparable.
        """
        weights = np.sqrt(np.abs(np.diag(self.mass_matrix(self.neutral()))))
        weights[weights == 0] = weights.max() or 1.0
        return weights

    def bending_parts(self) -> Callable[[Array], Sequence[Array]]:
        """Return the function of the configuration from which the law follows; see `law_parts`."""
        weights = self.inertia_weights()
        return lambda q: self.law_parts(q, weights)

    def law_parts(self, q: Array, weights: Array) -> list[Array]:
        """Return the quantities from which the law follows.

        Inertia over `weights` (no unit), elastic energy (J), rotation (3x3) and position (3, m) of every port.
        """
        poses = (np.asarray(part) for port in self.ports for part in self.pose(port, q))
        return [self.mass_matrix(q) / np.outer(weights, weights), np.asarray(self.elastic_energy(q)), *poses]


def current_form(block: BlockLaw, name: str) -> Callable[..., Any]:
    """Return a function of a block that combines others, such as ``law``.

    If a subclass, or the block itself, redefines one of these, it is the default form that calls them.
    """
    attributes, cls = vars(block), cast(Any, type(block))
    if name not in attributes and (_is_outdated(cls, name) or not attributes.keys().isdisjoint(_REPEATS[name])):
        return partial(getattr(BlockLaw, name), block)
    return cast(Callable[..., Any], getattr(block, name))


@cache
def _is_outdated(cls: type, name: str) -> bool:
    """Tell whether a class redefines a function that an inherited combination repeats."""
    forms = [vars(base) for base in cls.__mro__]
    owner = next(k for k, methods in enumerate(forms) if name in methods)
    return any(part in methods for methods in forms[:owner] for part in _REPEATS[name])


def _body_rate(pose: Array, moved: Array, change: Array, both: Array) -> Array:
    """Return the derivative of ``g^-1 dg`` (6) along a first motion.

    `pose` (4, 3): rotation and position; `moved`, `change` (4, 3): their derivatives along the first motion, and along that of
    ``dg``; `both` (4, 3): their second derivatives along both.
    """
    spin = moved[:3].T @ change[:3] + pose[:3].T @ both[:3]
    linear = moved[:3].T @ change[3] + pose[:3].T @ both[3]
    return np.array([*linear, spin[2, 1], spin[0, 2], spin[1, 0]])


def port_terms(block: BlockLaw, port: str, q: Array, v: Array, twist: Array) -> tuple[Array, Array, Array, Array]:
    """Return rotation, position, motion subspace and acceleration bias of a child port."""
    rotation, position, subspace = current_form(block, "pose_and_subspace")(port, q)
    relative = subspace @ v
    at_child = twist_transport(rotation, position) @ twist + relative
    return rotation, position, subspace, block.subspace_rate(port, q, v) + twist_cross(at_child) @ relative
