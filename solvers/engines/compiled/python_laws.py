"""Blocks and interactions whose law is plain Python, among compiled ones: kernels call them by address like stages."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from titop.blocks.basics.complex_steps import complex_step, trusted_step
from titop.blocks.basics.spatial import Array, twist_cross, twist_transport
from titop.blocks.contract.applied import BlockMotion, derivatives_at, efforts_at
from titop.blocks.contract.block import Block
from titop.blocks.contract.block_law import current_form
from titop.blocks.contract.target_motion import TargetMotion
from titop.blocks.interactions.interaction import (
    Interaction,
    load_derivatives,
    loads_by_states,
    rates_by_driving,
    rates_by_motion,
    stepping,
)
from titop.solvers.constraints.interaction_loads import read_rates
from titop.solvers.kernels.interface import layout, records
from titop.solvers.kernels.interface.stages import APPLYING_CALL, CALL, INTERACTION_CALL, Call
from titop.solvers.kernels.laws.compiled_laws import INWARD, OUTWARD
from titop.solvers.native.callbacks import Callback


class PythonLaw:
    """The stages of a block that answers through Python; see `titop.solvers.kernels.interface.stages`.

    Python is asked for the terms and the slopes, once a state: inverse dynamics follow from the terms.
    """

    outward, inward = OUTWARD, INWARD

    def __init__(self, block: Block) -> None:
        self.block = block
        stages = self._terms, self._slopes, self._energy
        self.terms, self.slopes, self.energy = (Callback(stage, len(CALL)) for stage in stages)

    def _terms(self, *words: int) -> None:
        call = Call(*words)
        state = _array(call.q, self.block.nq), _array(call.v, call.n), _array(call.twist, 6)
        terms = current_form(self.block, "law")(*(x.copy() for x in state))
        record, h = _array(call.law, records.law_size(call.n, call.ports)), records.bias_at(call.n)
        record[:h] = np.ravel(terms.inertia)
        record[h : h + 6 + call.n] = terms.gyroscopic
        if call.passive:
            record[h + 6 : h + 6 + call.n] -= terms.passive
        for p in range(call.ports):
            port = record[records.port_at(call.n, p) :]
            port[:9], port[layout.PORT_P :][:3] = np.ravel(terms.rotation[p]), terms.position[p]
            port[layout.PORT_GAMMA :][:6], port[layout.PORT_S :][: 6 * call.n] = terms.bias[p], np.ravel(terms.subspace[p])

    def _slopes(self, *words: int) -> None:
        call = Call(*words)
        state = _array(call.q, self.block.nq), _array(call.v, call.n), _array(call.a, call.n), _array(call.twist, 6)
        q, v, a, twist = (x.copy() for x in state)
        acceleration = _array(call.acceleration, 6).copy()
        record = _array(call.law, records.law_size(call.n, call.ports)).copy()
        by_q, by_v, by_twist = current_form(self.block, "law_slopes")(q, v, twist, np.concatenate([acceleration, a]))
        if not call.passive:
            step = complex_step if self.block.complex_safe else trusted_step
            by_q[6:] += self.block.slopes(lambda y: self.block.passive_efforts(y, v), q)
            by_v[6:] += step(lambda y: self.block.passive_efforts(q, y), v)
        columns = []
        for p, name in enumerate(self.block.ports):
            if not records.is_used(call.used, p):
                columns.append(np.zeros((18, call.n)))
                continue
            port = _Port(record[records.port_at(call.n, p) :], call.n)
            bends, rate_by_q, rate_by_v = current_form(self.block, "subspace_slopes")(name, q, v)
            by_q = by_q + port.pulled(bends)
            columns += port.columns(v, a, twist, acceleration, bends, rate_by_q, rate_by_v)
        result = _array(call.slopes, records.slopes_size(call.n, call.ports))
        result[:] = np.concatenate([np.ravel(part) for part in (by_q, by_v, by_twist, *columns)])

    def _energy(self, *words: int) -> None:
        call = Call(*words)
        _array(call.law, 1)[0] = self.block.elastic_energy(_array(call.q, self.block.nq).copy())


class PythonSurroundings:
    """The stages of what acts on a block that says so in Python; see `titop.solvers.kernels.interface.stages`."""

    def __init__(self, block: Block) -> None:
        self.block = block
        self.apply, self.apply_slopes = (Callback(stage, len(APPLYING_CALL)) for stage in (self._apply, self._apply_slopes))

    def _apply(self, n: int, _count: int, applying: int, _stages: int, _numbers: int, *addresses: int) -> None:
        *place, gravity, efforts = addresses
        _array(efforts, 6 + n)[:] = efforts_at(self.block, self._place(*place), _array(gravity, 3), applying > 1)

    def _apply_slopes(self, n: int, _count: int, _applying: int, _stages: int, _numbers: int, *addresses: int) -> None:
        *place, gravity, slopes = addresses
        parts = derivatives_at(self.block, self._place(*place), _array(gravity, 3))
        _array(slopes, (6 + n) * (2 * n + 12))[:] = np.concatenate([np.ravel(part) for part in parts])

    def _place(self, q: int, v: int, twist: int, pose: int) -> BlockMotion:
        own_q, own_v, at_parent, at = _array(q, self.block.nq), _array(v, self.block.nv), _array(twist, 6), _array(pose, 12)
        return BlockMotion(own_q.copy(), own_v.copy(), at_parent.copy(), at[:9].reshape(3, 3).copy(), at[9:].copy())


class PythonInteraction:
    """The stages of an interaction that answers through Python; see `titop.solvers.kernels.interface.stages`."""

    def __init__(self, interaction: Interaction) -> None:
        self.interaction = interaction
        self.act = self._stage(lambda motion: interaction.act(motion), lambda p, n: 6 * p + n)
        self.slopes = self._stage(lambda motion: [load_derivatives(interaction, motion, stepping(interaction))])
        self.stored = self._stage(lambda motion: [interaction.stored(motion)], lambda p, n: 1)
        self.rates = self._stage(lambda motion: [read_rates(interaction, motion)], lambda p, n: len(interaction.state_names))
        self.rates_driven = self._stage(lambda motion: [rates_by_driving(interaction, motion)])
        self.rates_slopes = self._stage(
            lambda motion: [rates_by_motion(interaction, motion), loads_by_states(interaction, motion).T]
        )

    def _stage(
        self, answer: Callable[[TargetMotion], Iterable[Any]], size: Callable[[int, int], int] | None = None
    ) -> Callback:
        """Return the stage that writes the numbers of an answer: of a user's, `size` many for p ports, n coordinates."""

        def stage(p: int, n: int, m: int, _states: int, _count: int, _stages: int, _numbers: int, motion: int, to: int) -> None:
            values = np.concatenate([np.ravel(part) for part in answer(self._motion(p, n, m, motion))])
            _array(to, size(p, n) if size else values.size)[:] = values

        return Callback(stage, len(INTERACTION_CALL))

    def _motion(self, p: int, n: int, m: int, motion: int) -> TargetMotion:
        """Return the motion of the interaction's targets from where it stands."""
        row = _array(motion, layout.MOTION_SIZE * p + 2 * n + m).copy()
        at_ports, coordinates, inputs = np.split(row, [layout.MOTION_SIZE * p, layout.MOTION_SIZE * p + 2 * n])
        ports, (u, x) = at_ports.reshape(p, layout.MOTION_SIZE), self.interaction.inputs_and_states(inputs)
        return TargetMotion(
            ports[:, :9].reshape(p, 3, 3), ports[:, 9:12], ports[:, 12:], coordinates[:n], coordinates[n:], u, x
        )


def _array(address: int, count: int) -> Array:
    """Return the `count` floats at an address."""
    return np.ctypeslib.as_array((ctypes.c_double * count).from_address(address)) if count else np.zeros(0)


class _Port:
    """A port's part of the record of a block with n own coordinates (see `titop.solvers.kernels.interface.layout`)."""

    def __init__(self, numbers: Array, n: int) -> None:
        self.transport = twist_transport(numbers[:9].reshape(3, 3), numbers[layout.PORT_P :][:3])
        self.twist, self.wrench = numbers[layout.PORT_TWIST :][:6], numbers[layout.PORT_WRENCH :][:6]
        self.S = numbers[layout.PORT_S :][: 6 * n].reshape(6, n)

    def pulled(self, bends: Array) -> Array:
        """Return the derivatives (6 + n x n) of what the port's wrench adds to W_P and tau, held in the port's frame."""
        turned = np.reshape([-twist_cross(s).T @ self.wrench for s in self.S.T], self.S.T.shape).T
        return np.vstack([self.transport.T @ turned, (bends.swapaxes(1, 2) @ self.wrench).T])

    def columns(
        self, v: Array, a: Array, twist: Array, acceleration: Array, bends: Array, rate_by_q: Array, rate_by_v: Array
    ) -> list[Array]:
        """Return X, Y, Z (6 x n) from dS/dq (n x 6 x n) and the derivatives of dS/dt v; see `kernels.derivatives`."""
        S, relative = self.S, self.S @ v
        changed, at_port = (bends @ v).T, twist_cross(self.twist)
        X = twist_cross(self.transport @ twist) @ S + changed
        Y = twist_cross(self.transport @ acceleration) @ S + (bends @ a).T + rate_by_q + at_port @ changed
        Z = rate_by_v + at_port @ S
        back = twist_cross(relative - self.twist)
        return [X, Y - back @ X, Z - back @ S]
