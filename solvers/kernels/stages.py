"""The seam between the passes and the kinds of general blocks: compiled functions that passes call by their addresses.

A kind of block answers with *stages*, each a function compiled for itself, so that no pass needs to be compiled again for a
new kind, and kinds mix in one system. Addresses are passed as integers; n is the number of the block's own coordinates,
`ports` that of its child ports, `count` that of its `numbers`:

``terms(n, ports, count, numbers, q, v, twist, passive, law)``
    writes M, h (less the efforts of elasticity and damping, if `passive`) and every port's pose, gamma and S into the
    block's part of `law` (see `layout`), at the twist of its parent port.
``linear_terms(n, ports, count, numbers, q, v, twist, acceleration, a, slopes)``
    writes the derivatives of ``M x + h``, ``x = [acceleration; a]``, and of the ports' motions into the block's part of
    `slopes`.

Interactions have three stages of their own, told the numbers of ports, coordinates and inputs, which are the last of `numbers`,
and the part of `law` with the motion of their targets (see `layout`):

``act(ports, coordinates, inputs, count, numbers, motion, loads)``
    writes the wrenches on the ports, each in its port's frame, and the efforts on the coordinates.
``slopes(ports, coordinates, inputs, count, numbers, motion, slopes)``
    writes their derivatives into the interaction's part of `slopes`.
``stored(ports, coordinates, inputs, count, numbers, motion, energy)``
    writes the stored energy.

Each returns a status.
"""

from __future__ import annotations

from typing import Any

from titop.solvers.kernels.layout import (
    ACC,
    ACT_COORDINATES,
    ACT_INPUTS,
    ACT_PORTS,
    BLOCK,
    LAW,
    LINEAR_TERMS,
    NUMBER_COUNT,
    NUMBERS,
    OWN,
    OWN_Q,
    OWN_V,
    PASSIVE,
    PORT_COUNT,
    SLOPES,
    TERMS,
    TWIST,
)
from titop.solvers.native.kernel import helper


class Intrinsic:
    """A function of `intrinsics`, for kernels that name it before numba is loaded."""

    def __init__(self, name: str) -> None:
        self.name = name

    @property
    def _numba_type_(self) -> Any:
        """What numba asks for where it meets the function in a kernel."""
        from titop.solvers.native import intrinsics

        return intrinsics.type_of(self.name)


address_of: Any = Intrinsic("address_of")
row_at: Any = Intrinsic("row_at")
vector_at: Any = Intrinsic("vector_at")
call_at: Any = Intrinsic("call_at")


@helper
def write_terms(ints, numbers, stages, law, i, q, v, work):
    """Let general block i write its law, at its twist; return a status."""
    arguments = (
        ints[i, OWN],
        ints[i, PORT_COUNT],
        ints[i, NUMBER_COUNT],
        address_of(numbers, ints[i, NUMBERS]),
        address_of(q, ints[i, OWN_Q]),
        address_of(v, ints[i, OWN_V]),
        address_of(work, i * work.shape[1] + TWIST),
        ints[0, PASSIVE],
        address_of(law, ints[i, LAW]),
    )
    return call_at(stages[ints[i, BLOCK], TERMS], arguments)


@helper
def write_slopes(ints, numbers, stages, i, q, v, a, work, slopes):
    """Let general block i write its linearised law, at its twist and acceleration; return a status."""
    arguments = (
        ints[i, OWN],
        ints[i, PORT_COUNT],
        ints[i, NUMBER_COUNT],
        address_of(numbers, ints[i, NUMBERS]),
        address_of(q, ints[i, OWN_Q]),
        address_of(v, ints[i, OWN_V]),
        address_of(work, i * work.shape[1] + TWIST),
        address_of(work, i * work.shape[1] + ACC),
        address_of(a, ints[i, OWN_V]),
        address_of(slopes, ints[i, SLOPES]),
    )
    return call_at(stages[ints[i, BLOCK], LINEAR_TERMS], arguments)


@helper
def call_interaction(ints, numbers, stages, law, row, stage, result):
    """Let the interaction at `row` write what it does, its slopes or its energy to the address `result`; return a status."""
    arguments = (
        ints[row, ACT_PORTS],
        ints[row, ACT_COORDINATES],
        ints[row, ACT_INPUTS],
        ints[row, NUMBER_COUNT],
        address_of(numbers, ints[row, NUMBERS]),
        address_of(law, ints[row, LAW]),
        result,
    )
    return call_at(stages[ints[row, BLOCK], stage], arguments)
