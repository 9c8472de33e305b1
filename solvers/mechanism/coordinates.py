"""Names and configurations of a model, also along a motion, without dynamics."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cached_property, partial
from itertools import groupby
from typing import Any, NamedTuple

import numpy as np

from titop.blocks.basics.errors import Finding, ModelError, did_you_mean
from titop.blocks.basics.spatial import Array, cross
from titop.blocks.basics.taylor import Taylor, taylor_array
from titop.blocks.contract.block import Block, PortRef, overrides_method
from titop.blocks.contract.own_coordinates import random_steps
from titop.blocks.joints.joint import Joint
from titop.graph.network.assembly import Assembly
from titop.solvers.arguments.reading import check_quaternions, read_state
from titop.solvers.mechanism.kernel_calls import DONE, NO_CALLS, Shapes, real_only
from titop.solvers.mechanism.shared import structural


class PlainCoordinates(NamedTuple):
    """Indices in q and in v of coordinates that are plain numbers; and the other blocks, with the slices of theirs."""

    in_q: Array
    in_v: Array
    others: list[tuple[Block, slice, slice]]


def plain_coordinates(assembly: Assembly) -> PlainCoordinates:
    """Return which coordinates of a system are plain numbers."""
    nq, nv = len(assembly.configuration_names), len(assembly.coordinate_names)
    in_q, in_v, others = np.ones(nq, dtype=bool), np.ones(nv, dtype=bool), []
    for block in assembly.blocks_with_coordinates:
        if not _is_plain(block):
            where = assembly.q_slices[block.name], assembly.v_slices[block.name]
            others.append((block, *where))
            in_q[where[0]] = in_v[where[1]] = False
    return PlainCoordinates(np.flatnonzero(in_q), np.flatnonzero(in_v), others)


def _is_plain(block: Block) -> bool:
    """Whether a block's coordinates are numbers whose time derivatives are the velocities."""
    geometry = [overrides_method(block, name) for name in ("integrate", "difference", "along")]
    if isinstance(block, Joint):
        geometry.append(overrides_method(block, "difference_jacobian", Joint))
    return block.configuration_names == block.coordinates and not any(geometry)


class Configurations:
    """The coordinates of a system by name, and steps between configurations.

    Arguments of the methods: `q` a configuration (nq); `v` and `dq` tangent vectors (nv); `rng` a NumPy random generator.
    """

    def __init__(self, assembly: Assembly) -> None:
        self._assembly = assembly
        self.name = assembly.name
        self.coordinate_names = assembly.coordinate_names
        self.configuration_names = assembly.configuration_names
        self.nq: int = len(self.configuration_names)
        self.nv: int = len(self.coordinate_names)
        self._shapes = Shapes(nq=self.nq, nv=self.nv, states=2 * self.nv)
        self._stills = (), (np.zeros(self.nv),), (np.zeros(self.nv), np.zeros(self.nv))
        self._structural, self._geometric = self.__dict__.copy(), dict[str, Any]()

    @cached_property
    def _calls(self) -> Any:
        return NO_CALLS

    @property
    def assembly(self) -> Assembly:
        """The connected blocks, with their parameters."""
        return self._assembly

    # -- names ---------------------------------------------------------------------------------------------------------

    @structural
    def body_names(self) -> tuple[str, ...]:
        """Names of the bodies, parents first."""
        return tuple(c.child.block.name for c in self._assembly.connections)

    @structural
    def joint_names(self) -> tuple[str, ...]:
        """Names of the joints, in the order of their bodies."""
        return tuple(c.joint.name for c in self._assembly.connections)

    @structural
    def ports(self) -> dict[str, tuple[str, str | None]]:
        """Block and port by dotted name; a block's own name stands for its reference frame."""
        result: dict[str, tuple[str, str | None]] = {}
        for name in ("world", *self.body_names):
            result[name] = (name, None)
            result |= {f"{name}.{port}": (name, port) for port in self._assembly.blocks[name].ports}
        return result

    @property
    def port_names(self) -> tuple[str, ...]:
        """Names of all ports, the bodies' reference frames among them."""
        return tuple(self.ports)

    @structural
    def quaternions(self) -> tuple[int, ...]:
        """Where quaternions begin in q."""
        starts = []
        for name, where in self._assembly.q_slices.items():
            if self._assembly.blocks[name].quaternion.stop:
                starts.append(where.stop - 4)
        return tuple(starts)

    @structural
    def rotations(self) -> tuple[int, ...]:
        """Where the three coordinates of rotations with a quaternion begin in v."""
        free = [name for name in self._assembly.v_slices if self._assembly.blocks[name].quaternion.stop]
        return tuple(self._assembly.v_slices[name].stop - 3 for name in free)

    # -- configurations ------------------------------------------------------------------------------------------------

    def neutral(self) -> Array:
        """Return the configuration (nq) at which all coordinates are zero."""
        return self._neutral.copy()

    @structural
    def _neutral(self) -> Array:
        parts = [block.neutral() for block in self._assembly.blocks_with_coordinates]
        return np.concatenate([np.zeros(0), *parts]).astype(float, copy=False)

    def random_configuration(self, rng: np.random.Generator) -> Array:
        """Return a random configuration (nq)."""
        parts = [draw(rng) for draw in self._draws]
        return np.concatenate(parts).astype(float, copy=False) if parts else np.zeros(self.nq)

    @cached_property
    def _draws(self) -> list[Callable[[np.random.Generator], Array]]:
        draws: list[Callable[[np.random.Generator], Array]] = []
        for otherwise, blocks in groupby(self._assembly.blocks_with_coordinates, _draws_otherwise):
            if otherwise:
                draws += [block.random_configuration for block in blocks]
            else:
                draws.append(partial(random_steps, np.concatenate([block.steps for block in blocks])))
        return draws

    def integrate_unchecked(self, q: Array, dq: Array) -> Array:
        """Return the result of `integrate` (nq, rad and m) without checks of `q` and `dq`; stacked if these are."""
        plain = self.plain_coordinates
        if not plain.others:
            return q + dq
        result, kernel = np.empty(q.shape, np.result_type(q, dq)), self._calls.integrate
        if kernel is not None and q.dtype == dq.dtype == float:
            stacks = (part.reshape(-1, part.shape[-1]) for part in (q, dq, result))
            if kernel(*map(np.ascontiguousarray, stacks)) == DONE:
                return result
        result[..., plain.in_q] = q[..., plain.in_q] + dq[..., plain.in_v]
        for block, in_q, in_v in plain.others:
            for row in np.ndindex(q.shape[:-1]):
                result[row][in_q] = block.integrate(q[row][in_q], dq[row][in_v])
        return result

    def difference_unchecked(self, q0: Array, q1: Array) -> Array:
        """Return the result of `difference` (nv, rad and m) without checks of `q0` and `q1`; stacked if these are."""
        plain = self.plain_coordinates
        if not plain.others:
            return q1 - q0
        result = np.empty((*q0.shape[:-1], self.nv), np.result_type(q0, q1))
        result[..., plain.in_v] = q1[..., plain.in_q] - q0[..., plain.in_q]
        for block, in_q, in_v in plain.others:
            for row in np.ndindex(q0.shape[:-1]):
                result[row][in_v] = block.difference(q0[row][in_q], q1[row][in_q])
        return result

    def unit_configuration(self, q: Array) -> Array:
        """Return q (nq, or stacked) with every quaternion divided by its norm; NaN where that is zero."""
        return unit_quaternions(q, self.quaternions) if self.quaternions else q

    def rates(self, q: Array, v: Array) -> Array:
        """Return dq/dt (nq) at a checked state; stacked if the state is."""
        rates, plain = np.empty(q.shape, np.result_type(q, v)), self.plain_coordinates
        if plain.others and self._calls.configuration_rate is not None:
            stacks = (part.reshape(-1, part.shape[-1]) for part in (real_only(q, "q"), real_only(v, "v"), rates))
            self._calls.configuration_rate(*map(np.ascontiguousarray, stacks))
            return rates
        rates[..., plain.in_q] = v[..., plain.in_v]
        for block, in_q, in_v in plain.others:
            for row in np.ndindex(q.shape[:-1]):
                rates[row][in_q] = block.along(lambda x: x, q[row][in_q], v[row][in_v])
        return rates

    def difference_jacobian(self, dq: Any) -> Array:
        """Return the derivative (nv, nv) of ``difference(q0, q)`` by displacements of q, at ``q = integrate(q0, dq)``."""
        dq = self._read_v("dq", dq)
        derivatives = np.eye(self.nv, dtype=dq.dtype)
        for block, _, in_v in self.plain_coordinates.others:
            if isinstance(block, Joint):
                derivatives[in_v, in_v] = block.difference_jacobian(dq[in_v])
        return derivatives

    def displacement_rate(self, dq: Array, v: Array) -> Array:
        """Return the time derivative (nv) of the displacement `dq` from a configuration at the velocity `v`."""
        rate = v.copy()
        for block, _, in_v in self.plain_coordinates.others:
            if isinstance(block, Joint):
                rate[in_v] = block.difference_jacobian(dq[in_v]) @ v[in_v]
        return rate

    def has_plain_coordinates(self, k: int) -> bool:
        """Tell whether entry `k` of v is the rate of a number in q (not of a free or spherical joint's)."""
        return self._are_numbers[k]

    @structural
    def _are_numbers(self) -> tuple[bool, ...]:
        """Of each entry of v, whether it is the rate of a number in q."""
        blocks = self._assembly.blocks_with_coordinates
        return tuple(block.configuration_names == block.coordinates for block in blocks for _ in range(block.nv))

    @property
    def has_plain_configuration(self) -> bool:
        """Whether all entries of v are the rates of the numbers in q, in their order."""
        return not self.plain_coordinates.others

    # -- for the model and its engines -------------------------------------------------------------------------------

    @structural
    def plain_coordinates(self) -> PlainCoordinates:
        """Indices in q (nq) and in v (nv) of coordinates that are plain numbers (no unit), and the other blocks."""
        return plain_coordinates(self._assembly)

    @structural
    def own_coordinates(self) -> frozenset[str]:
        """Names of the bodies' own coordinates, their deformations."""
        bodies = [block for block in self._assembly.blocks_with_coordinates if not isinstance(block, Joint)]
        return frozenset(name for block in bodies for name in self.coordinate_names[self._v(block)])

    @structural
    def deformations(self) -> Array:
        """Which coordinates (nv) are bodies' own."""
        return np.array([name in self.own_coordinates for name in self.coordinate_names], dtype=bool)

    def _q(self, block: Block) -> slice:
        return self._assembly.q_slices[block.name]

    def _v(self, block: Block) -> slice:
        return self._assembly.v_slices[block.name]

    def bracket(self, v: Array) -> Array:
        """Return the matrix (nv, nv; 1/s) of the brackets of `v` with the velocities of free and spherical coordinates.

        Stacked, if `v` is.
        """
        bracket = np.zeros((*v.shape, self.nv), dtype=v.dtype)
        for block, at in self._turning:
            for row in np.ndindex(v.shape[:-1]):
                bracket[row][at, at] = block.bracket(v[row][at])
        return bracket

    @structural
    def _turning(self) -> list[tuple[Block, slice]]:
        """The blocks whose velocities have brackets, with their slices in v."""
        blocks = [block for block in self._assembly.blocks_with_coordinates if overrides_method(block, "bracket")]
        return [(block, self._v(block)) for block in blocks]

    def _read_q(self, q: Any, name: str = "q", stacked: bool = False, unit: bool = True) -> Array:
        q = read_state(name, q, self.configuration_names, stacked)
        check_quaternions(q, self.quaternions, self.configuration_names, name)
        return self.unit_configuration(q) if unit else q

    def _read_v(self, name: str, value: Any, stacked: bool = False) -> Array:
        return read_state(name, value, self.coordinate_names, stacked)

    def read_port(self, port: str) -> str:
        """Return the name `port`, checked. Raises `ModelError` if the model has no such port."""
        if isinstance(port, PortRef | Block):
            name = port.name if isinstance(port, Block) else str(port)
            raise ModelError(Finding("wrong-type", "port", repr(port), "the name of a port", f'write "{name}"'))
        if not isinstance(port, str) or port not in self.ports:
            raise ModelError(Finding("unknown-port", "port", port, "a port of the model", did_you_mean(port, self.ports)))
        return port


def unit_quaternions(q: Array, starts: Sequence[int]) -> Array:
    """Return q (nq, or stacked) with the quaternions that start at these entries divided by their norms; NaN for zero ones."""
    q = q.copy()
    for start in starts:
        quaternion = q[..., start : start + 4]
        if q.ndim == 1 and q.dtype == float:  # the same sum as below, for the same bits
            x, y, z, w = quaternion.tolist()
            quaternion /= math.sqrt(x * x + y * y + z * z + w * w) or math.nan
            continue
        x, y, z, w = np.moveaxis(quaternion, -1, 0)
        with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
            quaternion /= np.sqrt(x * x + y * y + z * z + w * w)[..., None]
    return q


def _draws_otherwise(block: Block) -> bool:
    """Tell whether a block overrides the methods from which its random configurations follow."""
    return any(overrides_method(block, name) for name in ("random_configuration", "neutral", "integrate"))


def configuration_series(block: Block, q: Array, v_series: Array) -> Array:
    """Return a block's configuration (nq) with as many time derivatives as there are rows of velocities (rows, n).

    Raises `ModelError` for user-defined coordinates that are neither plain nor those of a quaternion.
    """
    if block.configuration_names == block.coordinates:
        return taylor_array(np.vstack([q, v_series[:-1]]))
    quaternion = getattr(block, "quaternion", slice(0, 0))
    if len(range(*quaternion.indices(len(q)))) != 4:
        advice = "name its configuration as its coordinates, if these are plain numbers"
        expected = "plain coordinates or a quaternion"
        raise ModelError(Finding("no-series", block.name, block.configuration_names, expected, advice))
    angular = taylor_array(v_series[:, -3:])
    attitude = quaternion_series(q[quaternion], angular)
    if block.nv == 3:
        return attitude
    x, y, z, w = attitude
    r, u = np.array([x, y, z]), taylor_array(v_series[:, :3])
    rate = u + 2.0 * (w * cross(r, u) + cross(r, cross(r, u)))  # the twist's linear part in the joint's frame
    return np.concatenate([[integral(start, each) for start, each in zip(q[:3], rate, strict=True)], attitude])


def quaternion_series(q: Array, angular: Array) -> Array:
    """Return the quaternion (4, dtype object) that starts at q and has an angular velocity (3) in its own frame."""
    rates = np.array([each.coefficients for each in angular])
    series = np.zeros((4, rates.shape[1]))
    series[:, 0] = q
    for k in range(rates.shape[1] - 1):
        for j in range(k + 1):
            (x, y, z, w), (a, b, c) = series[:, j], rates[:, k - j]
            series[:, k + 1] += [w * a + y * c - z * b, w * b + z * a - x * c, w * c + x * b - y * a, -x * a - y * b - z * c]
        series[:, k + 1] /= 2.0 * (k + 1)
    result = np.empty(4, dtype=object)
    result[:] = [Taylor(row) for row in series]
    return result


def integral(start: float, rate: Taylor) -> Taylor:
    """Return the time integral of a rate, from a start value."""
    coefficients = rate.coefficients
    return Taylor(np.concatenate([[start], coefficients[:-1] / np.arange(1, len(coefficients))]))
