"""Stages of several states at once whose laws take one at a time: Python's, and those that no lanes can be computed with.

They copy the numbers of each lane out of the lanes, call the stage for a single state, and copy what it writes back. Those of
members copy what is theirs of the tables as well (`own`).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from titop.solvers.kernels.interface import layout
from titop.solvers.kernels.interface.records import law_size, slopes_size
from titop.solvers.kernels.interface.stages import (
    APPLYING_CALL,
    CALL,
    INTERACTION_CALL,
    address_of,
    call_at,
    ints_at,
    vector_at,
)
from titop.solvers.kernels.laws.compiled_interactions import RESULT_SIZES, motion_size
from titop.solvers.native.identity import LANE_COUNT
from titop.solvers.native.kernel import Stage, helper
from titop.solvers.native.signatures import IN_LANES, INTEGER, OF_MEMBERS


@helper
def _take(lanes, count, lane, room, begin):
    """Copy the numbers of a lane (`count`) into `room` from `begin`; return where they stand."""
    side = vector_at(lanes, count * LANE_COUNT)
    for k in range(count):
        room[begin + k] = side[k * LANE_COUNT + lane]
    return address_of(room, begin)


@helper
def _put(room, begin, count, lane, lanes):
    """Copy numbers back into a lane."""
    side = vector_at(lanes, count * LANE_COUNT)
    for k in range(count):
        side[k * LANE_COUNT + lane] = room[begin + k]


def _of_blocks(column: int, own: bool) -> Any:
    def stage(n, ports, used, number_count, passive, known, stages, numbers, q, v, a, twist, acceleration, law, room, slopes):
        addresses = ints_at(stages, 1, layout.STAGE_COLUMNS)
        single, kept, record = addresses[0, layout.SINGLE_ROW], addresses[0, layout.ROOM_COUNT], law_size(n, ports)
        function, asked = ints_at(single, 1, layout.STAGE_COLUMNS)[0, column], n if a != 0 else 0
        derived = slopes_size(n, ports) if slopes != 0 else 0
        moved, law_at = 3 * n, 3 * n + 12
        room_at = law_at + record
        slopes_at = room_at + kept
        numbers_at = slopes_at + derived
        space = np.empty(numbers_at + (number_count if own else 0))
        for lane in range(LANE_COUNT):
            laws = _take(numbers, number_count, lane, space, numbers_at) if own else numbers
            state = _take(q, n, lane, space, 0), _take(v, n, lane, space, n), _take(a, asked, lane, space, 2 * n)
            motion = _take(twist, 6, lane, space, moved), _take(acceleration, 6, lane, space, moved + 6)
            written = (
                _take(law, record, lane, space, law_at),
                _take(room, kept, lane, space, room_at),
                _take(slopes, derived, lane, space, slopes_at),
            )
            sizes = (n, ports, used, number_count, passive, known)
            status = call_at(function, (*sizes, single, laws, *state, *motion, *written))
            if status != layout.OK:
                return status
            _put(space, law_at, record, lane, law)
            _put(space, room_at, kept, lane, room)
            _put(space, slopes_at, derived, lane, slopes)
        return layout.OK

    return stage


def _of_surroundings(column: int, own: bool) -> Any:
    with_slopes = column == layout.APPLY_SLOPES

    def stage(n, count, applying, stages, numbers, q, v, twist, pose, gravity, result):
        single = ints_at(stages, 1, layout.STAGE_COLUMNS)[0, layout.SINGLE_ROW]
        function, answer = ints_at(single, 1, layout.STAGE_COLUMNS)[0, column], (6 + n) * (2 * n + 12 if with_slopes else 1)
        told_at = 2 * n + 18
        numbers_at = told_at + answer
        space = np.empty(numbers_at + (count + 3 if own else 0))
        for lane in range(LANE_COUNT):
            laws = _take(numbers, count, lane, space, numbers_at) if own else numbers
            falling = _take(gravity, 3, lane, space, numbers_at + count) if own else gravity
            state = _take(q, n, lane, space, 0), _take(v, n, lane, space, n)
            place = _take(twist, 6, lane, space, 2 * n), _take(pose, 12, lane, space, 2 * n + 6)
            told = _take(result, answer, lane, space, told_at)
            status = call_at(function, (n, count, applying, single, laws, *state, *place, falling, told))
            if status != layout.OK:
                return status
            _put(space, told_at, answer, lane, result)
        return layout.OK

    return stage


def _of_interactions(column: int, own: bool) -> Any:
    size, of_states = RESULT_SIZES[column], column in (layout.RATES, layout.RATES_DRIVEN, layout.RATES_SLOPES)

    def stage(ports, coordinates, inputs, states, count, stages, numbers, motion, result):
        single = ints_at(stages, 1, layout.STAGE_COLUMNS)[0, layout.SINGLE_ROW]
        function = ints_at(single, 1, layout.STAGE_COLUMNS)[0, column]
        told, answer = motion_size(ports, coordinates) + inputs, size(ports, coordinates, inputs, count, result)
        if of_states:  # the size is that of rates of all inputs
            answer = answer // inputs * states
        space = np.empty(told + answer + (count if own else 0))
        for lane in range(LANE_COUNT):
            laws = _take(numbers, count, lane, space, told + answer) if own else numbers
            places = _take(motion, told, lane, space, 0), _take(result, answer, lane, space, told)
            status = call_at(function, (ports, coordinates, inputs, states, count, single, laws, *places))
            if status != layout.OK:
                return status
            _put(space, told, answer, lane, result)
        return layout.OK

    return stage


def _stage(name: str, function: Any, arguments: Any) -> Stage:
    return Stage(name, function, (INTEGER,) * len(arguments))


def _blocks(name: str, own: bool) -> dict[int, Stage]:
    """Return the stages of blocks that exist, by column (see `layout`), under names that begin so."""
    blocks = {"terms": layout.TERMS, "outward": layout.OUTWARD, "inward": layout.INWARD}
    blocks |= {"linearised": layout.LINEARISED, "energy": layout.ENERGY}
    made = {at: _stage(f"{name}_{of}", _of_blocks(at, own), CALL) for of, at in blocks.items()}
    for of, at in {"apply": layout.APPLY, "apply_slopes": layout.APPLY_SLOPES}.items():
        made[at] = _stage(f"{name}_{of}", _of_surroundings(at, own), APPLYING_CALL)
    return made


def _interactions(name: str, own: bool) -> dict[int, Stage]:
    """Likewise, of interactions."""
    columns = {"act": layout.ACT, "act_slopes": layout.ACT_SLOPES, "stored": layout.STORED, "rates": layout.RATES}
    columns |= {"rates_driven": layout.RATES_DRIVEN, "rates_slopes": layout.RATES_SLOPES}
    return {at: _stage(f"{name}_{of}", _of_interactions(at, own), INTERACTION_CALL) for of, at in columns.items()}


#: By form, those of blocks and of interactions.
OF_BLOCKS = {IN_LANES: _blocks("lane_by_lane", False), OF_MEMBERS: _blocks("member_by_member", True)}
OF_INTERACTIONS = {IN_LANES: _interactions("lane_by_lane", False), OF_MEMBERS: _interactions("member_by_member", True)}
