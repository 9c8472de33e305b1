"""The seam between the passes and the kinds of general blocks: compiled functions that passes call by their addresses.

A kind of block answers with *stages*, each a function compiled for itself, so that no pass needs to be compiled again for a
new kind, and kinds mix in one system. What they write and read stands in the records that `layout` describes. Of blocks:

``terms``
    writes M, h (less the efforts of elasticity and damping, if `passive`) and every port's pose, gamma and S, at the twist of
    the parent port. Here and below, every port is every one in use.
``outward``
    writes every port's pose, twist and acceleration, and into the block's room what ``inward`` needs. If `known`, what
    ``terms`` writes at this state stands in `law` already.
``inward``
    writes W_P and tau, from the wrenches at the ports, which stand in `law`; ``outward`` has been called before.
``slopes``
    writes the derivatives of W_P and tau into `slopes`, accelerations and the ports' wrenches held, these in the ports' frames,
    and every port's X, Y and Z (see `tree_derivatives`). M and every S stand in `law` then. ``inward`` has been called before.
``energy``
    writes the stored elastic energy into the first number of `law`, the rest of which is used up.

All take the same integers, a `Call`, and return a status. Inverse dynamics are ``outward`` and ``inward``: no M, no S. A kind
that has none of its own gets them from its ``terms`` (see `compiled_laws`). Where each block of a kind has machine code of its
own (see `titop.solvers.native.programs`), it stands in the block's row of stages.

Blocks on which something acts, given the pose of their parent port (rotation 9, position 3) and gravity, have as well

``apply(n, count, applying, stages, numbers, q, v, twist, pose, gravity, efforts)``
    writes what acts on the block (6 + n), as much of it as `applying` says (see `layout`).
``apply_slopes(n, count, applying, stages, numbers, q, v, twist, pose, gravity, slopes)``
    writes the derivatives of all of it by q, v, the twist and a displacement of the parent port.

Interactions have stages of their own, told the numbers of ports, coordinates and inputs (states of the first order count among
them, behind the others), and of states, the address of their row of stages, their `numbers`, the last of which have room for
the inputs, and the part of `law` with the motion of their targets (see `layout`), behind which the inputs of a state stand:

``act(ports, coordinates, inputs, states, count, stages, numbers, motion, loads)``
    writes the wrenches on the ports, each in its port's frame, and the efforts on the coordinates.
``slopes(ports, coordinates, inputs, states, count, stages, numbers, motion, slopes)``
    writes their derivatives into the interaction's part of `slopes`.
``stored(ports, coordinates, inputs, states, count, stages, numbers, motion, energy)``
    writes the stored energy.
``gap(ports, coordinates, inputs, states, count, stages, numbers, motion, gap)``
    writes the numbers that are zero where the interaction switches, of kinds that do: pairs of one and its rate, as many as
    `gaps` of the block has. The first number of `gap` says before for how many pairs there is room.
``rates(ports, coordinates, inputs, states, count, stages, numbers, motion, rates)``
    writes the rates of the k states; of kinds that have some, as the two that follow.
``rates_driven(ports, coordinates, inputs, states, count, stages, numbers, motion, slopes)``
    writes the derivatives (k x inputs) of the rates by inputs and states.
``rates_slopes(ports, coordinates, inputs, states, count, stages, numbers, motion, slopes)``
    writes the derivatives of the rates by the motion, a row for each state, in the columns of ``slopes``; then what a unit of
    each state changes of wrenches and efforts, a row for each state as ``act`` has it.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from titop.solvers.kernels.interface import layout
from titop.solvers.native.kernel import helper
from titop.solvers.native.signatures import INTEGER, STATE_AT, TABLE_AT


class Intrinsic:
    """A function of `intrinsics`, for kernels that name it before numba is loaded."""

    def __init__(self, name: str, as_written: Any = None) -> None:
        self.name, self._as_written = name, as_written

    def __call__(self, *arguments: Any) -> Any:
        """Return what the function gives where a kernel runs as it is written."""
        return self._as_written(*arguments)

    @property
    def _numba_type_(self) -> Any:
        """What numba asks for where it meets the function in a kernel."""
        from titop.solvers.native import intrinsics

        return intrinsics.type_of(self.name)


class Call(NamedTuple):
    """What all stages of blocks are called with, in this order: integers, most of them addresses of numbers.

    Attributes
    ----------
    n, ports, used, number_count : int
        How many own coordinates and child ports the block has, bits for the ports in use (`records.is_used`), and how many
        `numbers`.
    passive : int
        Whether elasticity and damping act.
    known : int
        Whether what ``terms`` writes at this state stands in `law` already. For ``terms``, what of it is asked for: all, M and
        the ports (`layout.ONLY_INERTIA`), or these (`layout.ONLY_PORTS`); it may write all in any case.
    stages : int
        Address of the block's row of stages: of its own ``terms``, and of the programs of its kind (see `layout`).
    numbers : int
        Of the numbers that its law is computed from.
    q, v, a : int
        Of the own coordinates, their rates and accelerations; the last only for other stages than ``terms``.
    twist, acceleration : int
        Of the parent port's twist, and of its acceleration less gravity's.
    law, room, slopes : int
        Of the block's part of ``law``, of the room of its kind, and, for ``slopes`` only, of its part of these.
    """

    n: int
    ports: int
    used: int
    number_count: int
    passive: int
    known: int
    stages: int
    numbers: int
    q: int
    v: int
    a: int
    twist: int
    acceleration: int
    law: int
    room: int
    slopes: int


#: The arguments of stages of blocks, of what acts on blocks, and of interactions.
CALL = (*[INTEGER] * 7, TABLE_AT, *[STATE_AT] * 8)
APPLYING_CALL = (*[INTEGER] * 4, TABLE_AT, *[STATE_AT] * 4, TABLE_AT, STATE_AT)
INTERACTION_CALL = (*[INTEGER] * 6, TABLE_AT, *[STATE_AT] * 2)

address_of: Any = Intrinsic("address_of")
floats_at: Any = Intrinsic("floats_at")
ints_at: Any = Intrinsic("ints_at")
row_at: Any = Intrinsic("row_at")
vector_at: Any = Intrinsic("vector_at")
place_of: Any = Intrinsic("place_of")
part_of: Any = Intrinsic("part_of")
call_at: Any = Intrinsic("call_at")
fused: Any = Intrinsic("fused", lambda x, y, z: float(Fraction(x) * Fraction(y) + Fraction(z)))
entry_at: Any = Intrinsic("entry_at", lambda array, first, k: array.reshape(-1)[int(first + k)])
put_entry_at: Any = Intrinsic("put_entry_at", lambda array, first, k, x: array.reshape(-1).__setitem__(int(first + k), x))
lane_count: Any = Intrinsic("lane_count", lambda array: 1)
complex_type: Any = Intrinsic("complex_type")
jet_type: Any = Intrinsic("jet_type")
integral: Any = Intrinsic("integral")
sizes: Any = Intrinsic("sizes", abs)
larger: Any = Intrinsic("larger", max)
is_within: Any = Intrinsic("is_within", lambda x, y: x <= y)
value_of: Any = Intrinsic("value_of", lambda x: x)
circular: Any = Intrinsic("circular", lambda x, y, slope: y)


@helper
def address_or_zero(array):
    """Return the address of an array's first number, zero for None."""
    if array is not None:
        return address_of(array, 0)
    return 0


@helper
def given(ints, law, work):
    """Return what features begin with: addresses and sizes of tables, of which `law` may be None."""
    return address_of(ints, 0), ints.shape[0], address_or_zero(law), address_of(work, 0), work.shape[1]


@helper
def call_block(tables, slopes, i, state, a, work, known, stage):
    """Call a stage of general block i, at the motion of its element; return a status. `a` and `slopes` may be None."""
    ints, stages, law = tables.ints, tables.stages, tables.law
    row, element, accelerations, derived = ints[i, layout.BLOCK], i * work.shape[1], 0, 0
    if a is not None:
        accelerations = address_of(a, ints[i, layout.OWN_V])
    if slopes is not None:
        derived = address_of(slopes, ints[i, layout.SLOPES])
    sizes = ints[i, layout.OWN], ints[i, layout.PORT_COUNT], ints[i, layout.USED], ints[i, layout.NUMBER_COUNT]
    told = address_of(stages, row * layout.STAGE_COLUMNS), address_of(tables.numbers, ints[i, layout.NUMBERS])
    own = address_of(state.q, ints[i, layout.OWN_Q]), address_of(state.v, ints[i, layout.OWN_V]), accelerations
    moved = address_of(work, element + layout.TWIST), address_of(work, element + layout.ACC)
    written = address_of(law, ints[i, layout.LAW]), address_of(law, ints[i, layout.ROOM]), derived
    return call_at(stages[row, stage], (*sizes, ints[0, layout.PASSIVE], known, *told, *own, *moved, *written))


@helper
def elastic_energy(tables, state, work):
    """Return the elastic energy of all general blocks (J), not a number where one fails; their laws are used up."""
    ints, energy = tables.ints, 0.0
    for i in range(1, ints[0, layout.ELEMENTS]):
        if ints[i, layout.LAW] >= 0:
            status = call_block(tables, None, i, state, None, work, layout.UNKNOWN, layout.ENERGY)
            energy += tables.law[0, ints[i, layout.LAW]] if status == layout.OK else np.nan
    return energy


@helper
def call_interaction(tables, row, stage, result):
    """Let the interaction at `row` write what it does, its slopes or its energy to the address `result`; return a status."""
    return call_interaction_at(tables.stages[tables.ints[row, layout.BLOCK], stage], tables, row, result)


@helper
def call_interaction_at(stage, tables, row, result):
    """Call a stage of the interaction at `row` by its address; return a status."""
    ints, stages = tables.ints, address_of(tables.stages, tables.ints[row, layout.BLOCK] * layout.STAGE_COLUMNS)
    targets = ints[row, layout.ACT_PORTS], ints[row, layout.ACT_COORDINATES], ints[row, layout.ACT_INPUTS]
    told = ints[row, layout.ACT_STATES], ints[row, layout.NUMBER_COUNT], stages
    numbers, motion = address_of(tables.numbers, ints[row, layout.NUMBERS]), address_of(tables.law, ints[row, layout.LAW])
    return call_at(stage, (*targets, *told, numbers, motion, result))
