"""Stages of several states at once whose laws take one at a time: Python's, and those that no lanes can be computed with.

They copy the numbers of each lane out of the lanes, call the stage for a single state, and copy what it writes back.
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
from titop.solvers.native.signatures import INTEGER


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


def _of_blocks(column: int) -> Any:
    def stage(n, ports, used, number_count, passive, known, stages, numbers, q, v, a, twist, acceleration, law, room, slopes):
        own = ints_at(stages, 1, layout.STAGE_COLUMNS)
        single, kept, record = own[0, layout.SINGLE_ROW], own[0, layout.ROOM_COUNT], law_size(n, ports)
        function, asked = ints_at(single, 1, layout.STAGE_COLUMNS)[0, column], n if a != 0 else 0
        derived = slopes_size(n, ports) if slopes != 0 else 0
        moved, law_at = 3 * n, 3 * n + 12
        room_at = law_at + record
        slopes_at = room_at + kept
        space = np.empty(slopes_at + derived)
        for lane in range(LANE_COUNT):
            state = _take(q, n, lane, space, 0), _take(v, n, lane, space, n), _take(a, asked, lane, space, 2 * n)
            motion = _take(twist, 6, lane, space, moved), _take(acceleration, 6, lane, space, moved + 6)
            written = (
                _take(law, record, lane, space, law_at),
                _take(room, kept, lane, space, room_at),
                _take(slopes, derived, lane, space, slopes_at),
            )
            sizes = (n, ports, used, number_count, passive, known)
            status = call_at(function, (*sizes, single, numbers, *state, *motion, *written))
            if status != layout.OK:
                return status
            _put(space, law_at, record, lane, law)
            _put(space, room_at, kept, lane, room)
            _put(space, slopes_at, derived, lane, slopes)
        return layout.OK

    return stage


def _of_surroundings(column: int, columns: Any) -> Any:
    def stage(n, count, applying, stages, numbers, q, v, twist, pose, gravity, result):
        single = ints_at(stages, 1, layout.STAGE_COLUMNS)[0, layout.SINGLE_ROW]
        function, answer = ints_at(single, 1, layout.STAGE_COLUMNS)[0, column], (6 + n) * columns(n)
        space = np.empty(2 * n + 18 + answer)
        for lane in range(LANE_COUNT):
            state = _take(q, n, lane, space, 0), _take(v, n, lane, space, n)
            place = _take(twist, 6, lane, space, 2 * n), _take(pose, 12, lane, space, 2 * n + 6)
            told = _take(result, answer, lane, space, 2 * n + 18)
            status = call_at(function, (n, count, applying, single, numbers, *state, *place, gravity, told))
            if status != layout.OK:
                return status
            _put(space, 2 * n + 18, answer, lane, result)
        return layout.OK

    return stage


def _of_interactions(column: int) -> Any:
    size = RESULT_SIZES[column]

    def stage(ports, coordinates, inputs, states, count, stages, numbers, motion, result):
        single = ints_at(stages, 1, layout.STAGE_COLUMNS)[0, layout.SINGLE_ROW]
        function = ints_at(single, 1, layout.STAGE_COLUMNS)[0, column]
        told, answer = motion_size(ports, coordinates), size(ports, coordinates, inputs, count, result)
        space = np.empty(told + answer)
        for lane in range(LANE_COUNT):
            places = _take(motion, told, lane, space, 0), _take(result, answer, lane, space, told)
            status = call_at(function, (ports, coordinates, inputs, states, count, single, numbers, *places))
            if status != layout.OK:
                return status
            _put(space, told, answer, lane, result)
        return layout.OK

    return stage


def _stage(name: str, function: Any, arguments: Any) -> Stage:
    return Stage(f"lane_by_lane_{name}", function, (INTEGER,) * len(arguments))


#: For blocks, by stage (see `layout`).
OF_BLOCKS = {
    layout.TERMS: _stage("terms", _of_blocks(layout.TERMS), CALL),
    layout.OUTWARD: _stage("outward", _of_blocks(layout.OUTWARD), CALL),
    layout.INWARD: _stage("inward", _of_blocks(layout.INWARD), CALL),
    layout.LINEARISED: _stage("linearised", _of_blocks(layout.LINEARISED), CALL),
    layout.ENERGY: _stage("energy", _of_blocks(layout.ENERGY), CALL),
    layout.APPLY: _stage("apply", _of_surroundings(layout.APPLY, helper(lambda n: 1)), APPLYING_CALL),
    layout.APPLY_SLOPES: _stage(
        "apply_slopes", _of_surroundings(layout.APPLY_SLOPES, helper(lambda n: 2 * n + 12)), APPLYING_CALL
    ),
}

#: For interactions.
OF_INTERACTIONS = {
    layout.ACT: _stage("act", _of_interactions(layout.ACT), INTERACTION_CALL),
    layout.ACT_SLOPES: _stage("act_slopes", _of_interactions(layout.ACT_SLOPES), INTERACTION_CALL),
    layout.STORED: _stage("stored", _of_interactions(layout.STORED), INTERACTION_CALL),
}
