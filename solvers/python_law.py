"""Blocks and interactions whose law is plain Python, among compiled ones: kernels call them by address, like compiled stages.

An exception in a block's function cannot pass through compiled code: the kernel gives up with the status `RAISED`, and
`raise_pending` raises it where Python goes on.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable

import numpy as np

from titop.blocks.block import Block, complex_step, trusted_step
from titop.blocks.interaction import Interaction, TargetMotion, load_slopes
from titop.blocks.overrides import is_titops_own
from titop.blocks.spatial import Array, twist_cross, twist_transport
from titop.solvers.kernels import layout
from titop.solvers.native.signatures import RAISED

_pending = threading.local()


class Callback:
    """A Python function of `count` integers that kernels call by its address."""

    def __init__(self, function: Callable[..., None], count: int) -> None:
        def guarded(*arguments: int) -> int:
            try:
                function(*arguments)
            except BaseException as error:  # raised again by `raise_pending`
                _pending.error = error
                return RAISED
            return layout.OK

        self._function = ctypes.CFUNCTYPE(ctypes.c_int64, *[ctypes.c_int64] * count)(guarded)

    @property
    def address(self) -> int:
        """Where the function stands, as long as this object lives."""
        return ctypes.cast(self._function, ctypes.c_void_p).value or 0


class PythonLaw:
    """The stages of a block that answers through Python; see `kernels.stages`."""

    def __init__(self, block: Block) -> None:
        self.block = block
        self.terms, self.linear_terms = Callback(self._terms, 9), Callback(self._linear_terms, 10)

    def _terms(
        self, n: int, ports: int, _count: int, _numbers: int, q: int, v: int, twist: int, passive: int, law: int
    ) -> None:
        size = 6 + n
        given = _array(q, self.block.nq), _array(v, n), _array(twist, 6)
        record = _array(law, size * (size + 1) + ports * (18 + 6 * n))
        terms = self.block.law(*(x.copy() for x in given))
        record[: size * size] = np.ravel(terms.inertia)
        h = record[size * size : size * size + size]
        h[:] = terms.gyroscopic
        if passive:
            h[6:] -= terms.passive
        by_port = record[size * (size + 1) :].reshape(ports, 18 + 6 * n)
        if ports:
            stacks = terms.rotation, terms.position, terms.bias, terms.subspace
            np.concatenate([np.reshape(stack, (ports, -1)) for stack in stacks], axis=1, out=by_port)

    def _linear_terms(
        self, n: int, ports: int, _count: int, _numbers: int, q: int, v: int, twist: int, acceleration: int, a: int, slopes: int
    ) -> None:
        given = _array(q, self.block.nq), _array(v, n), _array(twist, 6), _array(acceleration, 6), _array(a, n)
        own_q, own_v, at_parent, rate, own_a = (x.copy() for x in given)
        record = _array(slopes, (6 + n) * (2 * n + 6) + ports * (18 * n + 6 * n * n))
        parts = list(self.block.law_slopes(own_q, own_v, at_parent, np.concatenate([rate, own_a])))
        for port in self.block.ports:
            parts += _port_slopes(self.block, port, own_q, own_v, own_a, at_parent, rate)
        record[:] = np.concatenate([np.ravel(part) for part in parts])


class PythonInteraction:
    """The stages of an interaction that answers through Python; see `kernels.stages`."""

    def __init__(self, interaction: Interaction) -> None:
        self.interaction = interaction
        self.act, self.slopes, self.stored = Callback(self._act, 7), Callback(self._slopes, 7), Callback(self._stored, 7)

    def _act(self, p: int, n: int, m: int, count: int, numbers: int, motion: int, loads: int) -> None:
        wrenches, efforts = self.interaction.act(_told(p, n, m, count, numbers, motion))
        _array(loads, 6 * p + n)[:] = np.concatenate([np.ravel(wrenches), np.ravel(efforts)])

    def _slopes(self, p: int, n: int, m: int, count: int, numbers: int, motion: int, slopes: int) -> None:
        step = complex_step if is_titops_own(self.interaction) else trusted_step
        found = load_slopes(self.interaction, _told(p, n, m, count, numbers, motion), step)
        _array(slopes, found.size)[:] = found.ravel()

    def _stored(self, p: int, n: int, m: int, count: int, numbers: int, motion: int, energy: int) -> None:
        _array(energy, 1)[0] = self.interaction.stored(_told(p, n, m, count, numbers, motion))


def _told(p: int, n: int, m: int, count: int, numbers: int, motion: int) -> TargetMotion:
    """Return the motion of an interaction's targets from where it stands."""
    given = _array(motion, layout.MOTION_SIZE * p + 2 * n).copy()
    ports, own = given[: layout.MOTION_SIZE * p].reshape(p, layout.MOTION_SIZE), given[layout.MOTION_SIZE * p :]
    inputs = _array(numbers, count)[count - m :].copy()
    return TargetMotion(ports[:, :9].reshape(p, 3, 3), ports[:, 9:12], ports[:, 12:], own[:n], own[n:], inputs)


def raise_pending() -> None:
    """Raise what a block's function has raised in this thread since the last call, if anything."""
    error, _pending.error = getattr(_pending, "error", None), None
    if error is not None:
        raise error


def _array(address: int, count: int) -> Array:
    """Return the `count` floats at an address."""
    return np.ctypeslib.as_array((ctypes.c_double * count).from_address(address)) if count else np.zeros(0)


def _port_slopes(block: Block, port: str, q: Array, v: Array, a: Array, twist: Array, acceleration: Array) -> list[Array]:
    """Return X, Y, Z (6 x n) and dS/dq (n x 6 x n) of a port, in its frame; see `kernels.derivatives`."""
    S = block.motion_subspace(port, q)
    transport = twist_transport(*block.pose(port, q))
    bends, rate_by_q, rate_by_v = block.subspace_slopes(port, q, v)
    relative, carrier = S @ v, transport @ twist
    at_port = carrier + relative
    carried = transport @ acceleration  # less the port's own motion
    X = twist_cross(carrier) @ S + (bends @ v).T
    Y = twist_cross(carried) @ S + (bends @ a).T + rate_by_q + twist_cross(at_port) @ (bends @ v).T
    Z = rate_by_v + twist_cross(at_port) @ S
    for j in range(block.nv):
        Y[:, j] += twist_cross(X[:, j]) @ (relative - at_port)
        Z[:, j] += twist_cross(S[:, j]) @ (relative - at_port)
    return [X, Y, Z, bends]
