"""The block contract: what a body, a joint or a body model of your own has to say about itself.

To write a block, subclass `Block` and

1. set ``coordinates`` (names of the own coordinates q, dimension n) and ``ports`` (names of the child ports);
2. define ``pose(port, q)``: where each child port stands in the parent port's frame;
3. define ``mass_matrix(q)``: the inertia (6 + n) x (6 + n) seen from the parent port, for ``x = [V_P; v]``;
4. define ``elastic_energy(q)`` and ``damping_efforts(q, v)`` if there are any.

Everything else follows: the motion subspace, its rate and the gyroscopic terms come from derivatives of these
functions (complex step when they accept complex arguments, otherwise sixth-order differences, announced by a warning). Any of
them may be overridden by a faster form.

The law of a block (all in the parent port's frame, ``x = [A_P; a]``)::

    [W_P; tau + passive] = M(q) x + h(q, v, V_P) + sum_k [Ad(g_k)^-T; S_k^T] W_k
"""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, ClassVar

import numpy as np

from titop.blocks.checks import FieldReader, is_name
from titop.blocks.errors import Finding
from titop.blocks.spatial import Array, twist_cross, twist_transport

#: Name of the port through which a block hangs on its parent.
PARENT_PORT = "P"

_COMPLEX_STEP = 1e-30
_REAL_STEP = 2e-3
#: Sixth-order central difference: offset in steps, weight.
_STENCIL = ((1, 3 / 4), (2, -3 / 20), (3, 1 / 60))


class Block:
    """A port block with one parent port, child ports, and own coordinates.

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

    Notes
    -----
    Arguments of the methods: `port` is the name of a child port; `q` the own configuration (nq); `v` and `dq` tangent
    vectors (n); `twist` the twist (6) of the parent port, in its frame; `rng` a NumPy random generator; `values` new
    values of parameters by their names in `parameters`.
    """

    coordinates: tuple[str, ...] = ()
    ports: tuple[str, ...] = ()
    #: Attributes in which the block names joints of the system, or one of their coordinates.
    joint_fields: ClassVar[tuple[str, ...]] = ()
    #: Whether the block's functions accept complex arguments; found by `is_complex_safe` when a system is checked.
    complex_safe: bool = True
    #: Whether `with_parameters` accepts complex numbers; else derivatives by the parameters are taken by differences.
    complex_parameters: ClassVar[bool] = True
    #: Units of the block's parameters by dotted name, for those that it wants to be known by.
    parameter_units: ClassVar[dict[str, str]] = {}

    def __init__(self, name: str) -> None:
        self.name = str(name)
        self.reader = FieldReader(self.name)
        if not is_name(name):
            self.reader.report("bad-name", "name", name, "letters, digits and _-/", "rename the block")

    # -- what a user's block defines -----------------------------------------------------------------------------------

    def pose(self, port: str, q: Array) -> tuple[Array, Array]:
        """Return rotation (3x3) and position (3, m) of child port `port` in the parent port's frame."""
        raise NotImplementedError(f"block {self.name!r} defines no pose for port {port!r}")

    def mass_matrix(self, q: Array) -> Array:
        """Return the inertia seen from the parent port, (6 + n) x (6 + n), for ``[V_P; v]``."""
        return np.zeros((6 + self.nv, 6 + self.nv))

    def elastic_energy(self, q: Array) -> Any:
        """Return the stored elastic energy (J)."""
        return 0.0 * q.sum()

    def damping_efforts(self, q: Array, v: Array) -> Array:
        """Return the damping's efforts on the own coordinates (n), opposed to the motion."""
        return np.zeros(self.nv)

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
    def nq(self) -> int:
        """Number of numbers that describe the own configuration."""
        return len(self.configuration_names)

    def neutral(self) -> Array:
        """Return the configuration at which the coordinates are zero."""
        return np.zeros(self.nq)

    def random_configuration(self, rng: np.random.Generator) -> Array:
        """Return a random configuration."""
        return self.integrate(self.neutral(), rng.uniform(-1.0, 1.0, self.nv))

    def integrate(self, q: Array, dq: Array) -> Array:
        """Return the configuration reached from `q` along the tangent vector `dq` (n)."""
        return q + dq

    def difference(self, q0: Array, q1: Array) -> Array:
        """Return the tangent vector (n) that leads from `q0` to `q1`."""
        return q1 - q0

    def bracket(self, v: Array) -> Array:
        """Return the n x n matrix of the coordinates' Lie bracket: zero for plain coordinates."""
        return np.zeros((self.nv, self.nv))

    # -- what follows from the above; override for a faster form -------------------------------------------------------

    def motion_subspace(self, port: str, q: Array) -> Array:
        """Return ``S = g^-1 dg/dq`` (6 x n) of a child port, in the port's frame."""
        if self.nv == 0:
            return np.zeros((6, 0))
        rotation, _ = self.pose(port, q)
        columns = []
        for direction in np.eye(self.nv):
            d_rotation = self.along(lambda x: self.pose(port, x)[0], q, direction)
            d_position = self.along(lambda x: self.pose(port, x)[1], q, direction)
            spin = rotation.T @ d_rotation
            columns.append([*(rotation.T @ d_position), spin[2, 1], spin[0, 2], spin[1, 0]])
        return np.array(columns).T

    def subspace_rate(self, port: str, q: Array, v: Array) -> Array:
        """Return ``dS/dt v`` (6) of a child port."""
        if self.nv == 0:
            return np.zeros(6)
        return self.along(lambda x: self.motion_subspace(port, x), q, v) @ v

    def gyroscopic(self, q: Array, v: Array, twist: Array) -> Array:
        """Return the gyroscopic terms h (6 + n) at the parent port's `twist` (6).

        ``h_P = (dM/dt x)_P - ad(V)^T (M x)_P`` and ``h_q = (dM/dt x)_q - d(x^T M x / 2)/dq - bracket(v)^T (M x)_q``.
        """
        x = np.concatenate([twist, v])
        momentum = self.mass_matrix(q) @ x
        h = np.concatenate([-twist_cross(twist).T @ momentum[:6], -self.bracket(v).T @ momentum[6:]])
        for j, direction in enumerate(np.eye(self.nv)):
            change = self.along(self.mass_matrix, q, direction) @ x
            h = h + v[j] * change
            h[6 + j] -= 0.5 * x @ change
        return h

    def passive_efforts(self, q: Array, v: Array) -> Array:
        """Return the efforts (n) of elasticity and damping."""
        elastic = np.array([self.along(self.elastic_energy, q, direction) for direction in np.eye(self.nv)])
        return self.damping_efforts(q, v) - elastic.reshape(self.nv)

    # -- the linearised law: derivatives of the functions above; override for a faster or more exact form ----------------

    def law_slopes(self, q: Array, v: Array, twist: Array, x: Array) -> tuple[Array, Array, Array]:
        """Return the derivatives of ``M x + h - [0; passive]`` (6 + n) by q (n), v (n) and the parent port's twist (6).

        `x` = ``[A_P; a]`` holds the parent port's acceleration less gravity's, and the own accelerations.
        """

        def law(q: Array, v: Array, twist: Array) -> Array:
            passive = np.concatenate([np.zeros(6), self.passive_efforts(q, v)])
            return self.mass_matrix(q) @ x + self.gyroscopic(q, v, twist) - passive

        by_q = self.slopes(lambda y: law(y, v, twist), q)
        if not self.complex_safe:
            return by_q, _differences(lambda y: law(q, y, twist), v), _differences(lambda y: law(q, v, y), twist)
        return by_q, complex_step(lambda y: law(q, y, twist), v), complex_step(lambda y: law(q, v, y), twist)

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
        columns = [self.along(function, q, direction) for direction in np.eye(self.nv)]
        return np.stack(columns, axis=-1) if columns else np.zeros((*np.shape(function(q)), 0))

    def along(self, function: Callable[[Array], Any], q: Array, direction: Array) -> Any:
        """Return the derivative of ``function(q)`` along a tangent `direction` (n)."""
        if self.complex_safe and not np.iscomplexobj(q) and not np.iscomplexobj(direction):
            return np.imag(function(self.integrate(q, 1j * _COMPLEX_STEP * direction))) / _COMPLEX_STEP
        return sum(
            weight
            / _REAL_STEP
            * (
                function(self.integrate(q, k * _REAL_STEP * direction))
                - function(self.integrate(q, -k * _REAL_STEP * direction))
            )
            for k, weight in _STENCIL
        )

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

    def snapshot(self) -> Block:
        """Return a copy that later changes of the block do not reach."""
        copied = copy.copy(self)
        for name, value in vars(self).items():
            if isinstance(value, np.ndarray | dict | list):
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


def complex_step(function: Callable[[Array], Any], x: Array) -> Array:
    """Return the derivatives of ``function(x)`` by the entries of x, stacked along the last axis: exact to rounding."""
    steps = 1j * _COMPLEX_STEP * np.eye(len(x))
    return np.stack([np.imag(np.asarray(function(x + step))) / _COMPLEX_STEP for step in steps], axis=-1)


def _differences(function: Callable[[Array], Any], x: Array) -> Array:
    """Return sixth-order differences of ``function(x)`` by the entries of x, stacked along the last axis."""
    steps = _REAL_STEP * max(1.0, float(np.abs(x).max(initial=0.0))) * np.eye(len(x))
    columns = [
        sum(weight * (function(x + k * step) - function(x - k * step)) for k, weight in _STENCIL) / step.sum() for step in steps
    ]
    return np.stack(columns, axis=-1)


def acceleration_bias(block: Block, port: str, q: Array, v: Array, twist: Array) -> Array:
    """Return ``gamma = dS/dt v + ad(V_C) S v`` (6) of a child port, ``V_C = Ad(g)^-1 V_P + S v``."""
    relative = block.motion_subspace(port, q) @ v
    at_child = twist_transport(*block.pose(port, q)) @ twist + relative
    return block.subspace_rate(port, q, v) + twist_cross(at_child) @ relative


def law_findings(block: Block) -> Iterator[Finding]:
    """Yield what is wrong with a block's functions, each called once at a random configuration."""
    if not hasattr(block, "reader"):
        advice = "call super().__init__(name) first in __init__"
        yield Finding("no-name", type(block).__name__, block, "a block that Block.__init__ has named", advice)
        return
    q = block.random_configuration(np.random.default_rng(0))
    size = 6 + block.nv
    calls: list[tuple[str, Callable[[], Any], tuple[int, ...]]] = [
        ("mass_matrix", lambda: block.mass_matrix(q), (size, size)),
        ("elastic_energy", lambda: block.elastic_energy(q), ()),
        ("damping_efforts", lambda: block.damping_efforts(q, np.ones(block.nv)), (block.nv,)),
    ]
    for port in block.ports:
        calls.append((f"pose({port!r})[0]", partial(_part_of_pose, block, port, q, 0), (3, 3)))
        calls.append((f"pose({port!r})[1]", partial(_part_of_pose, block, port, q, 1), (3,)))
    for name, call, shape in calls:
        where = f"{block.name}.{name}"
        try:
            value = np.asarray(call(), dtype=float)
        except Exception as error:
            yield Finding(
                "block-fails",
                where,
                f"{type(error).__name__}: {error}",
                f"numbers of shape {shape}",
                "see the block's function",
            )
            continue
        if value.shape != shape:
            yield Finding(
                "wrong-shape", where, f"shape {value.shape}", f"shape {shape}", "see the block contract in titop.blocks.block"
            )
        elif not np.isfinite(value).all():
            yield Finding("not-finite", where, value, f"finite numbers (q = {q})", "check the block's parameters and function")
        elif name == "mass_matrix" and np.abs(value - value.T).max() > 1e-9 * np.abs(value).max():
            yield Finding("not-symmetric", where, value, "a symmetric matrix", "build it as a sum of J^T D J")


def _part_of_pose(block: Block, port: str, q: Array, part: int) -> Array:
    return block.pose(port, q)[part]


def is_complex_safe(block: Block) -> bool:
    """Tell whether complex steps through the block's functions give the derivatives that differences give."""
    if block.nv == 0:
        return True
    q = block.random_configuration(np.random.default_rng(0))
    direction = np.linspace(0.3, 1.0, block.nv)
    by_steps, by_differences = copy.copy(block), copy.copy(block)
    by_steps.complex_safe, by_differences.complex_safe = True, False
    functions: list[Callable[[Array], Any]] = [block.mass_matrix, block.elastic_energy]
    functions += [partial(_pose_matrix, block, port) for port in block.ports]
    for function in functions:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", np.exceptions.ComplexWarning)
                exact = np.asarray(by_steps.along(function, q, direction), dtype=float)
        except (TypeError, ValueError):
            return False
        difference = np.asarray(by_differences.along(function, q, direction), dtype=float)
        if not np.allclose(exact, difference, rtol=1e-6, atol=1e-6 * max(1.0, np.abs(difference).max())):
            return False
    return True


def _pose_matrix(block: Block, port: str, q: Array) -> Array:
    return np.column_stack(block.pose(port, q))
