"""Where programs keep numbers while these are needed: one room, whose places are used again."""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

from titop.blocks.programs.program import TOTAL, Value


def rooms(lives: Iterable[tuple[int, int, int, int]]) -> tuple[dict[int, int], int]:
    """Return where numbers lie, by their key, and how large the room is.

    Of each key how many numbers it stands for, and from when until when these are needed, in the order of beginnings. What is
    no more needed gives its place to what is as large.
    """
    places, size = dict[int, int](), 0
    free: dict[int, list[int]] = defaultdict(list)
    held: list[tuple[int, int, int]] = []
    for key, count, begin, end in lives:
        while held and held[0][0] < begin:
            _, place, freed = heapq.heappop(held)
            free[freed].append(place)
        if not free[count]:
            free[count].append(size)
            size += count
        places[key] = free[count].pop()
        heapq.heappush(held, (end, places[key], count))
    return places, size


def neighbours(values: Sequence[Value], places: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Yield where runs of results of one loop, one behind the other, begin among some values, and how long they are."""
    first = 0
    for k in range(1, len(places) + 1):
        (operation, last), (following, own) = values[places[k - 1]], values[places[k]] if k < len(places) else ("", ())
        if operation != TOTAL or following != TOTAL or own != (last[0], last[1] + 1):
            yield first, k - first
            first = k
