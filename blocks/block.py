"""The block contract: what a body, a joint or a body model of your own has to say about itself."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import numpy as np

from titop.blocks.checks import FieldReader, is_name
from titop.blocks.differences import derivative, settled_step
from titop.blocks.errors import Finding
from titop.blocks.law import Law, LawTerms
from titop.blocks.spatial import Array, twist_cross, twist_transport
from titop.blocks.surroundings import Surrounded
from titop.blocks.units import known_units

#: Name of the port through which a block hangs on its parent.
PARENT_PORT = "P"

#: Attributes of which a snapshot has copies.
_MUTABLE = (np.ndarray, dict, list)

#: Differences and right complex steps agree to this part.
_TRUST = 1e-5
_COMPLEX_STEP = 1e-30
#: Real steps over the coordinates' scales.
REAL_STEP = 1e-2


class Block(Surrounded):
    """A port block with one parent port, child ports, and own coordinates.

    To write a block, subclass `Block` and

    1. set ``coordinates`` (names of the own coordinates q, dimension n) and ``ports`` (names of the child ports);
    2. define ``pose(port, q)``: where each child port stands in the parent port's frame;
    3. define ``mass_matrix(q)``: the inertia (6 + n) x (6 + n) seen from the parent port, for ``x = [V_P; v]``;
    4. define ``elastic_energy(q)`` and ``damping_efforts(q, v)`` if there are any;
    5. set ``inputs`` (their names, such as ``("tendon",)``) and define ``input_matrix(q)`` if the block has inputs of its own:
       tendons, piezoelectric patches, pressures. They join the model's inputs as ``block.tendon``; ``input_ranges`` are theirs;
    6. define ``applied_efforts(q, v, twist, rotation, position)`` if something acts on the block because of where it is or how
       it moves: drag, buoyancy, follower loads, springs to the ground; and ``applied_energy(q, rotation, position)`` for what
       of it is stored;
    7. define ``weight(q)`` if gravity does not pull at all of the inertia: in a fluid, which bears and is moved along.

    A law written as one function that numba can compile (see `titop.Law`) takes the place of 2 and 3.

    Everything else follows: the motion subspace, its rate and the gyroscopic terms come from derivatives of these functions
    (complex step when they accept complex arguments, otherwise sixth-order differences, announced by a warning): arrays of the
    arguments' type, ``np.sqrt(x @ x)`` instead of norms, comparisons of real parts, no conjugates. Any of them may be
    overridden; `titop.check_block` holds them equal. What each buys:

    - ``coordinate_scales``: how far each coordinate goes until the functions bend (a millimetre for the deflection of a small
      spring, a radian for an angle); saves the search for steps that suit them, which differences need and second derivatives
      always do; random configurations are of that size;
    - ``motion_subspace``, ``subspace_rate``, ``gyroscopic``, ``passive_efforts``: time, in every function of the model;
    - ``pose_and_subspace``, or ``law`` for all at once: the same, if they have much in common;
    - ``law_slopes``, ``subspace_slopes``: time in derivatives, and digits where complex steps are not possible;
    - ``integrate``, ``difference``, ``bracket``, ``neutral``, ``configuration_names``: coordinates that are no plain numbers;
    - ``parameter_units``, or ``parameters`` and ``with_parameters``: numbers that sensitivities, trims and families can vary.

    The law of a block (all in the parent port's frame, ``x = [A_P; a]``)::

        [W_P; tau + B(q) u + passive] + applied = M(q) x + h(q, v, V_P) + sum_k [Ad(g_k)^-T; S_k^T] W_k

    Parameters
    ----------
    name : str
        Unique in a system; letters, digits and ``_-/`` (dots separate the parts of a path).

    Attributes
    ----------
    coordinates : tuple of str
        Names of the own coordinates' tangent directions (n of them).
    ports : tuple of str
        Names of the child ports.
    units, input_units : tuple of str
        Unit of each coordinate and of each input; "1" where a block does not tell.
    inputs : tuple of str
        Names of the inputs of its own.
    input_ranges : sequence of (lower, upper)
        Of each input, in its unit, as actuators have them: controllers' commands and trims stay in them, and
        `Trajectory.violations` tells what leaves them. Unbounded where a block does not tell.

    Notes
    -----
    Arguments of the methods: `port` is the name of a child port; `q` the own configuration (nq); `v` and `dq` tangent
    vectors (n); `twist` the twist (6) of the parent port, in its frame; `rng` a NumPy random generator; `values` new
    values of parameters by their names in `parameters`.
    """

    coordinates: tuple[str, ...] = ()
    ports: tuple[str, ...] = ()
    units: tuple[str, ...] = ()
    inputs: tuple[str, ...] = ()
    input_units: tuple[str, ...] = ()
    input_ranges: Sequence[tuple[float, float]] = ()
    #: Attributes in which the block names joints of the system, or one of their coordinates.
    joint_fields: ClassVar[tuple[str, ...]] = ()
    #: How far each coordinate goes until the block's functions bend (n, in its unit); without it, found by comparing steps.
    coordinate_scales: Sequence[float] | None = None
    #: Whether derivatives may be complex steps: the block's functions accept complex arguments, as `is_complex_safe` finds when
    #: a system is checked, and its parameters are real.
    complex_safe: bool = True
    #: Whether `with_parameters` accepts complex numbers; else derivatives by the parameters are taken by differences.
    complex_parameters: ClassVar[bool] = True
    #: A law that titop compiles, in place of evaluating the functions below in Python; see `titop.Law`.
    compiled_law: ClassVar[Law | None] = None
    #: Units of the block's parameters by dotted name, for those that it wants to be known by.
    parameter_units: ClassVar[dict[str, str]] = {}
    _steps: Array | None = None

    def __init__(self, name: str) -> None:
        self.name = str(name)
        self.reader = FieldReader(self.name)
        if not is_name(name):
            self.reader.report("bad-name", "name", name, "letters, digits and _-/", "rename the block")

    # -- what a user's block defines -----------------------------------------------------------------------------------

    def pose(self, port: str, q: Array) -> tuple[Array, Array]:
        """Return rotation (3x3) and position (3, m) of child port `port` in the parent port's frame."""
        if self.compiled_law is None:
            raise NotImplementedError(f"block {self.name!r} defines no pose for port {port!r}")
        terms, k = self._terms_at(q), self.ports.index(port)
        return terms.rotation[k], terms.position[k]

    def mass_matrix(self, q: Array) -> Array:
        """Return the inertia seen from the parent port, (6 + n) x (6 + n), for ``[V_P; v]``."""
        return np.zeros((6 + self.nv, 6 + self.nv)) if self.compiled_law is None else self._terms_at(q).inertia

    def _terms_at(self, q: Array) -> LawTerms:
        """Return what the block's compiled law says at rest."""
        assert self.compiled_law is not None
        return self.compiled_law.terms(self, q, np.zeros(self.nv), np.zeros(6))

    def elastic_energy(self, q: Array) -> Any:
        """Return the stored elastic energy (J)."""
        if self.compiled_law is None or self.compiled_law.energy is None:
            return 0.0 * q.sum()
        return self.compiled_law.energy(self.law_numbers(), q)

    def damping_efforts(self, q: Array, v: Array) -> Array:
        """Return the damping's efforts on the own coordinates (n), opposed to the motion."""
        return np.zeros(self.nv)

    def input_matrix(self, q: Array) -> Array:
        """Return the efforts on the own coordinates a unit of each input, B (n x inputs)."""
        if self.inputs and self.nv:
            raise NotImplementedError(f"block {self.name!r} does not say what its inputs do")
        return np.zeros((self.nv, len(self.inputs)))

    @property
    def input_names(self) -> tuple[str, ...]:
        """Names of the inputs in a system; one without a name goes by the block's."""
        return tuple(f"{self.name}.{entry}" if entry else self.name for entry in self.inputs)

    # -- own coordinates: plain numbers unless a block says otherwise --------------------------------------------------

    @property
    def nv(self) -> int:
        """Dimension of the tangent space of the own coordinates."""
        return len(self.coordinates)

    @property
    def configuration_names(self) -> tuple[str, ...]:
        """Names of the numbers that describe the own configuration."""
        return self.coordinates

    @property
    def configuration_units(self) -> tuple[str, ...]:
        """Units of these numbers: the coordinates' where they are these, else "1" where a block does not tell."""
        own = self.units if self.configuration_names == self.coordinates else ()
        return known_units(own, self.nq)

    @property
    def nq(self) -> int:
        """Number of numbers that describe the own configuration."""
        return len(self.configuration_names)

    def neutral(self) -> Array:
        """Return the configuration at which the coordinates are zero."""
        return np.zeros(self.nq)

    def random_configuration(self, rng: np.random.Generator) -> Array:
        """Return a random configuration within the coordinates' scales."""
        return self.integrate(self.neutral(), rng.uniform(-1.0, 1.0, self.nv) * self.steps / REAL_STEP)

    def integrate(self, q: Array, dq: Array) -> Array:
        """Return the configuration reached from `q` along the tangent vector `dq` (n)."""
        return q + dq

    def difference(self, q0: Array, q1: Array) -> Array:
        """Return the tangent vector (n) that leads from `q0` to `q1`."""
        return q1 - q0

    def integrate_derivatives(self, q: Array, dq: Array) -> tuple[Array, Array]:
        """Return how `integrate` moves its result with `q`, and with `dq`: two n x n matrices between tangent vectors."""
        if not self._moves_otherwise(Block):
            return np.eye(self.nv), np.eye(self.nv)
        reached = self.integrate(q, dq)
        step = complex_step if self.complex_safe else trusted_step
        by_q = self.slopes(lambda x: self.difference(reached, self.integrate(x, dq)), q)
        return by_q, step(lambda x: self.difference(reached, self.integrate(q, x)), dq)

    def difference_derivatives(self, q0: Array, q1: Array) -> tuple[Array, Array]:
        """Return the derivatives of `difference` by tangent displacements of `q0` and of `q1`: two n x n matrices."""
        if not self._moves_otherwise(Block):
            return -np.eye(self.nv), np.eye(self.nv)
        return self.slopes(lambda x: self.difference(x, q1), q0), self.slopes(lambda x: self.difference(q0, x), q1)

    def _moves_otherwise(self, base: type[Block]) -> bool:
        """Tell whether the block says itself how configurations are reached, below a `base` of its class."""
        return overrides_method(self, "integrate", base) or overrides_method(self, "difference", base)

    def bracket(self, v: Array) -> Array:
        """Return the n x n matrix of the coordinates' Lie bracket: zero for plain coordinates."""
        return np.zeros((self.nv, self.nv))

    # -- what follows from the above; override for a faster form -------------------------------------------------------

    def motion_subspace(self, port: str, q: Array) -> Array:
        """Return ``S = g^-1 dg/dq`` (6 x n) of a child port, in the port's frame."""
        return self._pose_and_subspace(port, q)[2]

    def pose_and_subspace(self, port: str, q: Array) -> tuple[Array, Array, Array]:
        """Return rotation (3x3), position (3) and motion subspace (6 x n) of a child port; see `pose` and `motion_subspace`."""
        if overrides_method(self, "motion_subspace"):
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

    def _with_slopes(self, function: Callable[[Array], Array], q: Array) -> tuple[Array, Array]:
        """Return ``function(q)``, and its derivatives along the coordinates stacked first."""
        if self.complex_safe and not np.iscomplexobj(q):  # the value is the real part of any of its complex steps
            stepped = np.array([function(self.integrate(q, 1j * _COMPLEX_STEP * direction)) for direction in np.eye(self.nv)])
            return stepped[0].real, stepped.imag / _COMPLEX_STEP
        return function(q), np.array([self.along(function, q, direction) for direction in np.eye(self.nv)])

    def subspace_rate(self, port: str, q: Array, v: Array) -> Array:
        """Return ``dS/dt v`` (6) of a child port."""
        if self.nv == 0:
            return np.zeros(6)
        return self.along(lambda x: self.motion_subspace(port, x), q, v) @ v

    def gyroscopic(self, q: Array, v: Array, twist: Array) -> Array:
        """Return the gyroscopic terms h (6 + n) at the parent port's `twist` (6).

        ``h_P = (dM/dt x)_P - ad(V)^T (M x)_P`` and ``h_q = (dM/dt x)_q - d(x^T M x / 2)/dq - bracket(v)^T (M x)_q``.
        """
        return self._gyroscopic_of(*self._inertia_and_slopes(q), v, twist)

    def _inertia_and_gyroscopic(self, q: Array) -> tuple[Array, Callable[[Array, Array], Array]]:
        """Return M, and h as a function of v and the parent port's twist."""
        if overrides_method(self, "gyroscopic"):
            return self.mass_matrix(q), lambda v, twist: self.gyroscopic(q, v, twist)
        M, changes = self._inertia_and_slopes(q)
        return M, lambda v, twist: self._gyroscopic_of(M, changes, v, twist)

    def _inertia_and_slopes(self, q: Array) -> tuple[Array, Array]:
        """Return M, and its derivatives along the coordinates (n x 6 + n x 6 + n)."""
        if self.nv == 0:
            return (M := self.mass_matrix(q)), np.zeros((0, *M.shape))
        return self._with_slopes(self.mass_matrix, q)

    def _gyroscopic_of(self, M: Array, changes: Array, v: Array, twist: Array) -> Array:
        """Return the gyroscopic terms from M and its derivatives along the coordinates."""
        x = np.concatenate([twist, v])
        momentum, by_q = M @ x, changes @ x
        h = np.concatenate([-twist_cross(twist).T @ momentum[:6], -self.bracket(v).T @ momentum[6:]]) + v @ by_q
        h[6:] -= 0.5 * by_q @ x
        return h

    def passive_efforts(self, q: Array, v: Array) -> Array:
        """Return the efforts (n) of elasticity and damping."""
        elastic = np.array([self.along(self.elastic_energy, q, direction) for direction in np.eye(self.nv)])
        return self.damping_efforts(q, v) - elastic.reshape(self.nv)

    def law(self, q: Array, v: Array, twist: Array) -> LawTerms:
        """Return the law at a state, the parent port moving with `twist` (6): all that the compiled resolver asks for."""
        parts = [port_terms(self, port, q, v, twist) for port in self.ports]
        stacked = [np.stack(part) for part in zip(*parts, strict=True)] or [np.zeros(0)] * 4
        M, gyroscopic = self._inertia_and_gyroscopic(q)
        return LawTerms(M, gyroscopic(v, twist), self.passive_efforts(q, v), *stacked)

    def law_numbers(self) -> Array:
        """Return the numbers from which the block's compiled law is computed; none without such a law."""
        return np.zeros(0)

    # -- the linearised law: derivatives of the functions above; override for a faster or more exact form ----------------

    def law_slopes(self, q: Array, v: Array, twist: Array, x: Array) -> tuple[Array, Array, Array]:
        """Return the derivatives of ``M x + h - [0; passive]`` (6 + n) by q (n), v (n) and the parent port's twist (6).

        `x` = ``[A_P; a]`` holds the parent port's acceleration less gravity's, and the own accelerations.
        """

        def law(q: Array) -> Array:
            passive = np.concatenate([np.zeros(6), self.passive_efforts(q, v)])
            M, gyroscopic = self._inertia_and_gyroscopic(q)
            return M @ x + gyroscopic(v, twist) - passive

        by_q = self.slopes(law, q)
        if not self.complex_safe:
            return by_q, *self._rate_slopes(q, v, twist)
        _, gyroscopic = self._inertia_and_gyroscopic(q)
        by_twist, by_v = complex_step(lambda y: gyroscopic(v, y), twist), complex_step(lambda y: gyroscopic(y, twist), v)
        by_v[6:] -= complex_step(lambda y: self.passive_efforts(q, y), v)
        return by_q, by_v, by_twist

    def _rate_slopes(self, q: Array, v: Array, twist: Array) -> tuple[Array, Array]:
        """Return the derivatives of ``h - [0; passive]`` by v and the twist by differences: h is quadratic, so exactly."""
        motion, sizes = np.concatenate([twist, v]), self.displacement_sizes(q)
        columns = []
        for change in np.diag(sizes * ((np.abs(motion) / sizes).max() or 1.0)):
            ahead, behind = (self.gyroscopic(q, moved[6:], moved[:6]) for moved in (motion + change, motion - change))
            columns.append((ahead - behind) / (2.0 * change.sum()))
        slopes = np.stack(columns, axis=-1)
        slopes[6:, 6:] -= _differences(lambda y: self.passive_efforts(q, y), v)
        return slopes[:, 6:], slopes[:, :6]

    def subspace_slopes(self, port: str, q: Array, v: Array) -> tuple[Array, Array, Array]:
        """Return dS/dq (n x 6 x n, the j-th by q_j), and the derivatives of ``dS/dt v`` (6 x n each) by q and v."""
        bends = np.moveaxis(self.slopes(lambda y: self.motion_subspace(port, y), q), -1, 0)
        by_q = self.slopes(lambda y: self.subspace_rate(port, y, v), q)
        return bends, by_q, np.tensordot(v, bends, 1) + (bends @ v).T

    def elastic_slopes(self, q: Array) -> Array:
        """Return the derivative (n x n) of the passive efforts at rest by the tangent of q."""
        rest = np.zeros(self.nv)
        return self.slopes(lambda y: self.passive_efforts(y, rest), q)

    def slopes(self, function: Callable[[Array], Any], q: Array) -> Array:
        """Return the derivatives of ``function(q)`` along each tangent direction, stacked along the last axis."""
        return _stacked([self.along(function, q, direction) for direction in np.eye(self.nv)], function, q)

    def along(self, function: Callable[[Array], Any], q: Array, direction: Array) -> Any:
        """Return the derivative of ``function(q)`` along a tangent `direction` (n).

        A complex step, or differences where the imaginary parts are taken: by another complex step around this one.
        """
        if self.complex_safe and not np.iscomplexobj(q) and not np.iscomplexobj(direction):
            return np.imag(function(self.integrate(q, 1j * _COMPLEX_STEP * direction))) / _COMPLEX_STEP
        reach = (np.abs(direction) / self.steps).max(initial=0.0)
        if not reach:
            return 0.0 * np.asarray(function(q))
        return derivative(lambda s: function(self.integrate(q, s * direction)), 1.0 / reach)

    @property
    def steps(self) -> Array:
        """The steps (n) with which differences along the coordinates begin: a hundredth of the coordinates' scales."""
        if self._steps is None:
            scales = self.coordinate_scales
            self._steps = self._found_steps() if scales is None else REAL_STEP * np.asarray(scales, dtype=float)
        return self._steps

    def displacement_sizes(self, q: Array) -> Array:
        """Return displacements of the parent port and along the coordinates (6 + n) that suit the block: no unit enters.

        Its farthest port or its radius of gyration, a radian, and the coordinates' scales.
        """
        lengths = [np.linalg.norm(self.pose(port, q)[1]) for port in self.ports]
        masses = np.abs(np.diag(self.mass_matrix(q))[:6])
        if masses[:3].any():
            lengths.append(np.sqrt(masses[3:].sum() / masses[:3].sum()))
        return np.concatenate([[max(lengths, default=0.0) or 1.0] * 3, [1.0] * 3, self.steps / REAL_STEP])

    def forget_steps(self) -> None:
        """Let the steps be found anew, for changed parameters."""
        self._steps = None

    def take_real_steps(self, steps: Array) -> None:
        """Take derivatives by differences, which begin with `steps` (n): parameters are complex."""
        self.complex_safe, self._steps = False, steps

    def inertia_weights(self) -> Array:
        """Return the roots (6 + n) of the inertia's diagonal at the neutral configuration: divided by them, entries compare."""
        weights = np.sqrt(np.abs(np.diag(self.mass_matrix(self.neutral()))))
        weights[weights == 0] = weights.max() or 1.0
        return weights

    def law_parts(self, q: Array, weights: Array) -> list[Array]:
        """Return what all else derives from: inertia over `weights`, elastic energy, rotation and position of every port."""
        poses = (np.asarray(part) for port in self.ports for part in self.pose(port, q))
        return [self.mass_matrix(q) / np.outer(weights, weights), np.asarray(self.elastic_energy(q)), *poses]

    def _found_steps(self) -> Array:
        """Return steps that suit the parts of the law, each coordinate alone and then with the others moved."""
        steps, moved = np.full(self.nv, REAL_STEP), np.zeros(self.nv)
        if not self.nv:
            return steps
        rest, weights = self.neutral(), self.inertia_weights()
        for _ in range(2):
            for j, direction in enumerate(np.eye(self.nv)):
                others = moved * (direction == 0)

                def parts(s: float, direction: Array = direction, others: Array = others) -> list[Array]:
                    return self.law_parts(self.integrate(rest, others + s * direction), weights)

                steps[j] = settled_step(parts, steps[j]) or steps[j]
            moved = 0.3 / REAL_STEP * steps * np.resize([1.0, -1.0], self.nv)
        return steps

    # -- checks and parameters -----------------------------------------------------------------------------------------

    def check(self) -> tuple[list[Finding], list[Finding]]:
        """Return what is wrong with the block and what is suspicious."""
        return list(self.reader.findings), list(self.reader.warnings)

    def parameters(self) -> dict[str, tuple[float, str]]:
        """Return the block's numbers by dotted name (without the block's own), each with its unit."""
        return {name: (float(getattr(self, name)), unit) for name, unit in self.parameter_units.items()}

    def with_parameters(self, values: dict[str, float]) -> Block:
        """Return a copy with some parameters changed; names as in `parameters`."""
        changed = copy.copy(self)
        for name, value in values.items():
            setattr(changed, name, value)
        return changed

    def parameters_along(self, units: Sequence[str]) -> dict[str, tuple[float, str]]:
        """Return `parameters`, their units made of the `units` of the coordinates that the block acts on, in their order."""
        return self.parameters()

    def snapshot(self) -> Block:
        """Return a copy that later changes of the block do not reach."""
        copied = copy.copy(self)
        for name, value in vars(self).items():
            if isinstance(value, _MUTABLE):
                setattr(copied, name, value.copy())
        return copied

    def port(self, name: str | None) -> PortRef:
        """Return a reference to a port, for `connect` and for loads."""
        return PortRef(self, name)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r})"


class PortRef:
    """A port of a block.

    Attributes
    ----------
    block : Block
    name : str or None
        None stands for the block's reference frame.
    """

    def __init__(self, block: Block, name: str | None) -> None:
        self.block = block
        self.name = name

    def __str__(self) -> str:
        return self.block.name if self.name is None else f"{self.block.name}.{self.name}"

    def __repr__(self) -> str:
        return f"PortRef({self})"


def overrides_method(block: Block, name: str, base: type[Block] = Block) -> bool:
    """Tell whether a block has a form of its own of a method that a `base` of its class has."""
    return getattr(type(block), name) is not getattr(base, name) or name in vars(block)


def complex_step(function: Callable[[Array], Any], x: Array) -> Array:
    """Return the derivatives of ``function(x)`` by the entries of x, stacked along the last axis: exact to rounding."""
    steps = 1j * _COMPLEX_STEP * np.eye(len(x))
    return _stacked([np.imag(np.asarray(function(x + step))) / _COMPLEX_STEP for step in steps], function, x)


def trusted_step(function: Callable[[Array], Any], x: Array) -> Array:
    """Return the derivatives of ``function(x)`` as `complex_step` does, or by differences if imaginary parts get lost.

    Both are compared along one direction.
    """
    direction = np.linspace(0.6, 1.0, len(x))
    start = REAL_STEP * (float(np.abs(x).max(initial=0.0)) or 1.0)

    def moved(s: float) -> Any:
        return function(x + s * direction)

    expected = derivative(moved, settled_step(lambda s: (moved(s),), start) or start)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", np.exceptions.ComplexWarning)
        try:
            found = complex_step(function, x)
        except TypeError:
            return _differences(function, x)
    size = np.abs(found) @ np.abs(direction) + np.abs(expected)
    return (
        found if np.all(np.abs(found @ direction - expected) <= _TRUST * size.max(initial=0.0)) else _differences(function, x)
    )


def _differences(function: Callable[[Array], Any], x: Array) -> Array:
    """Return differences of ``function(x)`` by the entries of x, stacked along the last axis."""
    start, columns = REAL_STEP * (float(np.abs(x).max(initial=0.0)) or 1.0), []
    for direction in np.eye(len(x)):

        def at(s: float, direction: Array = direction) -> Any:
            return function(x + s * direction)

        def alone(s: float, at: Callable[[float], Any] = at) -> tuple[Any]:
            return (at(s),)

        columns.append(derivative(at, settled_step(alone, start) or start))
    return _stacked(columns, function, x)


def _stacked(columns: list[Array], function: Callable[[Array], Any], x: Array) -> Array:
    """Return the columns stacked along the last axis; none have the shape of ``function(x)`` all the same."""
    return np.stack(columns, axis=-1) if columns else np.zeros((*np.shape(function(x)), 0))


def port_terms(block: Block, port: str, q: Array, v: Array, twist: Array) -> tuple[Array, Array, Array, Array]:
    """Return rotation, position, motion subspace and acceleration bias of a child port."""
    rotation, position, subspace = block.pose_and_subspace(port, q)
    relative = subspace @ v
    at_child = twist_transport(rotation, position) @ twist + relative
    return rotation, position, subspace, block.subspace_rate(port, q, v) + twist_cross(at_child) @ relative
