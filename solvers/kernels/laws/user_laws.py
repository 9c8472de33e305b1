"""Laws that users wrote (see `titop.blocks.contract.law`) as compiled stages."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from titop.blocks.contract.law import Law, LawTerms
from titop.blocks.contract.target_motion import TargetMotion
from titop.blocks.interactions.interaction import TargetLoads
from titop.solvers.kernels.interface import layout
from titop.solvers.kernels.interface.records import bias_at, is_used, port_at
from titop.solvers.kernels.interface.stages import part_of
from titop.solvers.kernels.laws.compiled_interactions import (
    STEP,
    InteractionStages,
    advance,
    interaction_stages,
    move_along,
    put_slope,
    slopes_width,
)
from titop.solvers.kernels.laws.compiled_laws import CompiledLaw, CompiledSurroundings, surroundings_by
from titop.solvers.native.identity import identity_of
from titop.solvers.native.kernel import UserHelper


@functools.cache
def stages_of(law: Law) -> CompiledLaw:
    """Return the stages of a block's law; their machine code is kept under a hash of the function and of all that it calls."""
    write = UserHelper(_writing(UserHelper(law.function)))
    is_for_lanes = not getattr(law.function, "one_by_one", False)
    if law.energy is None:
        return CompiledLaw(_unique_name(law.function), write, is_for_lanes=is_for_lanes)
    name, energy = _unique_name(law.function, law.energy), UserHelper(_storing(UserHelper(law.energy)))
    return CompiledLaw(name, write, energy=energy, is_for_lanes=is_for_lanes)


@functools.cache
def surroundings_of(law: Law) -> CompiledSurroundings:
    """Return the stages of what a law says acts on its block; kept likewise."""
    assert law.applied is not None
    return surroundings_by(_unique_name(law.applied), UserHelper(law.applied))


@functools.cache
def interaction_stages_of(law: Law) -> InteractionStages:
    """Return the stages of an interaction's law; kept likewise."""
    name = _unique_name(*(part for part in (law.function, law.rates, law.gaps) if part is not None))
    acts, rates, gaps = (None if part is None else UserHelper(part) for part in (law.function, law.rates, law.gaps))
    writing = {"write_gap": _switching(gaps)} if gaps else {}
    if rates:
        writing |= {"write_rates": _changing(rates), "write_rates_driven": _changing_driven(rates)}
        writing |= {"write_rates_slopes": _changing_slopes(rates, acts)}
    helpers: dict[str, Any] = {stage: UserHelper(function) for stage, function in writing.items()}
    return interaction_stages(name, UserHelper(_acting(acts)), is_whole=True, **helpers)


def _unique_name(function: Any, *others: Any) -> str:
    """Return a name for the stages of a function, and of others with it, with a hash of them and of all that they call."""
    return f"law_{function.__name__}_{identity_of(function, *others)}"


def _writing(function: Any) -> Any:
    """Return the ``write`` of a `CompiledLaw` from the function of a `titop.blocks.contract.law.Law`."""

    def write(block, q, v, twist, law):
        n, ports = block.n, block.ports
        size, h = 6 + n, bias_at(n)
        law[0, : h + size] = 0.0
        rest, position = np.zeros(n + ports * (18 + 6 * n) + 6, law.dtype), n + 9 * ports
        at_parent = part_of(rest, n + ports * (18 + 6 * n), (6,))
        for r in range(6):
            at_parent[r] = twist[r]
        subspace = position + 3 * ports
        terms = LawTerms(
            part_of(law, 0, (size, size)),
            part_of(law, h, (size,)),
            part_of(rest, 0, (n,)),
            part_of(rest, n, (ports, 3, 3)),
            part_of(rest, position, (ports, 3)),
            part_of(rest, subspace, (ports, 6, n)),
            part_of(rest, subspace + 6 * n * ports, (ports, 6)),
        )
        function(block.numbers[0], q, v, at_parent, terms)
        if block.passive:
            for r in range(n):
                law[0, h + 6 + r] -= terms.passive[r]
        for p in range(ports):
            if is_used(block.used, p):
                o = port_at(n, p)
                for r in range(3):
                    for c in range(3):
                        law[0, o + 3 * r + c] = terms.rotation[p, r, c]
                    law[0, o + layout.PORT_P + r] = terms.position[p, r]
                for r in range(6):
                    law[0, o + layout.PORT_GAMMA + r] = terms.bias[p, r]
                    for c in range(n):
                        law[0, o + layout.PORT_S + r * n + c] = terms.subspace[p, r, c]

    return write


def _storing(function: Any) -> Any:
    """Return the ``energy`` of a `CompiledLaw` from that of a `titop.blocks.contract.law.Law`."""

    def energy(n, numbers, q):
        return function(numbers[0], q)

    return energy


def _acting(function: Any) -> Any:
    """Return the ``write`` of `interaction_stages` from the function of an interaction's law."""

    def write(ports, coordinates, inputs, states, stages, numbers, motion, loads):
        answer = TargetLoads(np.zeros((ports, 6), motion.dtype), np.zeros(coordinates, motion.dtype))
        function(numbers[0, : numbers.shape[1] - inputs], _tell(ports, coordinates, inputs, states, motion), answer)
        for k in range(ports):
            for r in range(6):
                loads[0, 6 * k + r] = answer.wrenches[k, r]
        for k in range(coordinates):
            loads[0, 6 * ports + k] = answer.efforts[k]
        return layout.OK

    return write


def _changing(function: Any) -> Any:
    """Return the ``write_rates`` of `interaction_stages` from that of an interaction's law."""

    def write_rates(ports, coordinates, inputs, states, stages, numbers, motion, rates):
        own = np.zeros(states)
        function(numbers[0, : numbers.shape[1] - inputs], _tell(ports, coordinates, inputs, states, motion), own)
        for k in range(states):
            rates[0, k] = own[k]
        return layout.OK

    return write_rates


def _changing_driven(function: Any) -> Any:
    """Return the ``write_rates_driven`` likewise."""

    def write_rates_driven(ports, coordinates, inputs, states, stages, numbers, motion, slopes):
        moved = motion.astype(np.complex128)
        for column in range(inputs):
            told, own = _tell(ports, coordinates, inputs, states, moved), np.zeros(states, np.complex128)
            if column < inputs - states:
                told.u[column] += 1j * STEP
            else:
                told.x[column - inputs + states] += 1j * STEP
            function(numbers[0, : numbers.shape[1] - inputs], told, own)
            for k in range(states):
                slopes[0, k * inputs + column] = own[k].imag / STEP
        return layout.OK

    return write_rates_driven


def _changing_slopes(rates: Any, acts: Any) -> Any:
    """Return the ``write_rates_slopes`` likewise, from the functions that say how states change and what they do."""

    def write_rates_slopes(ports, coordinates, inputs, states, stages, numbers, motion, slopes):
        width, rows = slopes_width(ports, coordinates), 6 * ports + coordinates
        law = numbers[0, : numbers.shape[1] - inputs]
        moved, own = motion.astype(np.complex128), np.zeros((1, states), np.complex128)
        for column in range(width):
            move_along(motion, moved, ports, column, 1.0)
            own[:] = 0.0
            rates(law, _tell(ports, coordinates, inputs, states, moved), own[0])
            move_along(motion, moved, ports, column, 0.0)
            put_slope(own, states, slopes, width, column)
        for k in range(states):
            told = _tell(ports, coordinates, inputs, states, moved)
            answer = TargetLoads(np.zeros((ports, 6), np.complex128), np.zeros(coordinates, np.complex128))
            told.x[k] += 1j * STEP
            acts(law, told, answer)
            o = states * width + k * rows
            for r in range(6 * ports):
                slopes[0, o + r] = answer.wrenches[r // 6, r % 6].imag / STEP
            for r in range(coordinates):
                slopes[0, o + 6 * ports + r] = answer.efforts[r].imag / STEP
        return layout.OK

    return write_rates_slopes


def _told(ports, coordinates, inputs, states, motion):
    """Return a `TargetMotion` of what stages are told, the last `states` of the inputs among it."""
    kind, own = motion.dtype, motion.shape[1] - inputs
    told = TargetMotion(
        np.zeros((ports, 3, 3), kind),
        np.zeros((ports, 3), kind),
        np.zeros((ports, 6), kind),
        np.zeros(coordinates, kind),
        np.zeros(coordinates, kind),
        np.zeros(inputs - states, kind),
        np.zeros(states, kind),
    )
    for k in range(ports):
        o = layout.MOTION_SIZE * k
        for r in range(3):
            for c in range(3):
                told.R[k, r, c] = motion[0, o + 3 * r + c]
            told.r[k, r] = motion[0, o + 9 + r]
        for r in range(6):
            told.V[k, r] = motion[0, o + layout.MOVING + r]
    for k in range(coordinates):
        told.q[k] = motion[0, layout.MOTION_SIZE * ports + k]
        told.v[k] = motion[0, layout.MOTION_SIZE * ports + coordinates + k]
    for k in range(inputs - states):
        told.u[k] = motion[0, own + k]
    for k in range(states):
        told.x[k] = motion[0, own + inputs - states + k]
    return told


_tell = UserHelper(_told)


def _switching(function: Any) -> Any:
    """Return the ``write_gap`` of `interaction_stages` from the ``gaps`` of an interaction's law."""

    def write_gap(ports, coordinates, inputs, states, stages, numbers, motion, gap):
        moved = np.empty(motion.shape, np.complex128)
        advance(motion, moved, ports, coordinates)
        told = _tell(ports, coordinates, inputs, states, moved)
        gaps, count = function(numbers[0, : numbers.shape[1] - inputs], told), gap.shape[1] // 2
        for k in range(count):
            value = gaps[k] if len(gaps) == count else complex(np.nan)  # which callers refuse
            gap[0, 2 * k], gap[0, 2 * k + 1] = value.real, value.imag / STEP
        return layout.OK

    return write_gap
