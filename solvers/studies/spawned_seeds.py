"""Seeds of many samples at once, as `numpy.random.SeedSequence` spawns them one by one.

NumPy keeps this algorithm as it is (M. E. O'Neill's ``seed_seq``, with its constants): a pool of four words is mixed with the
seed, then with the words of the spawn key; what is generated are hashes of the pool.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.random.bit_generator import ISeedSequence

from titop.blocks.basics.spatial import Array

_WORD = 2**32
#: First constants of the hashes that mix and that generate, their factors, and those of a mix.
_MIXING, _MIXED, _GENERATING, _GENERATED = 0x43B0D7E5, 0x931E8875, 0x8B51F9DD, 0x58F38DED
_LEFT, _RIGHT = np.uint32(0xCA01F9DD), np.uint32(0x4973F715)


class Words(ISeedSequence):
    """A seed sequence that has generated its `words` (n, 64 bits each)."""

    def __init__(self, words: Array) -> None:
        self._words = words

    def generate_state(self, n_words: int, dtype: Any = np.uint64) -> Array:
        """Return the words."""
        return self._words


def spawned_words(seed: int, numbers: Sequence[int], child: int, count: int) -> Array:
    """Return ``SeedSequence(seed, spawn_key=(k, child)).generate_state(count, uint64)`` for all numbers k (n, count)."""
    if max(numbers) >= _WORD:
        every = (np.random.SeedSequence(seed, spawn_key=(k, child)) for k in numbers)
        return np.array([each.generate_state(count, np.uint64) for each in every])
    pool = np.tile(np.random.SeedSequence(seed).pool[:, None], (1, len(numbers)))
    length = len(pool)
    hashes = length**2 + length * max(0, -(-seed.bit_length() // 32) - length)
    constant = _MIXING * pow(_MIXED, hashes, _WORD) % _WORD
    for word in (np.array(numbers, dtype=np.uint32), np.full(len(numbers), child, dtype=np.uint32)):
        for k in range(length):
            hashed, constant = _hash(word, constant, _MIXED)
            mixed = _LEFT * pool[k] - _RIGHT * hashed
            pool[k] = mixed ^ (mixed >> np.uint32(16))
    generated, constant = np.empty((len(numbers), 2 * count), dtype=np.uint32), _GENERATING
    for k in range(2 * count):
        generated[:, k], constant = _hash(pool[k % length], constant, _GENERATED)
    return generated.astype("<u4").view("<u8").astype(np.uint64)


def _hash(words: Array, constant: int, factor: int) -> tuple[Array, int]:
    """Return hashes of words (n), and the next constant."""
    following = constant * factor % _WORD
    hashed = (words ^ np.uint32(constant)) * np.uint32(following)
    return hashed ^ (hashed >> np.uint32(16)), following
