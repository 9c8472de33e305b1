"""Seeds of many samples are those that NumPy spawns one by one."""

import numpy as np
import pytest

from titop.solvers.studies.distributions import Words, spawned_words


def spawned(seed: int, k: int, child: int) -> np.random.SeedSequence:
    return np.random.SeedSequence(seed, spawn_key=(k,)).spawn(child + 1)[child]


@pytest.mark.parametrize("seed", [0, 5, 2**40, 2**127 + 3, 2**128, 2**200 - 1])
@pytest.mark.parametrize("numbers", [[0, 1, 77, 2**32 - 1], [3, 2**32, 2**40]])
@pytest.mark.parametrize(("child", "count"), [(0, 4), (1, 1)])
def test_words_are_those_of_numpy(seed: int, numbers: list[int], child: int, count: int) -> None:
    expected = [spawned(seed, k, child).generate_state(count, np.uint64) for k in numbers]
    words = spawned_words(seed, numbers, child, count)
    np.testing.assert_array_equal(words, expected)  # whole numbers
    assert words.dtype == np.uint64
    assert (words != spawned_words(seed + 1, numbers, child, count)).any(axis=1).all()


def test_generators_are_those_of_numpy() -> None:
    (words,) = spawned_words(3, [2], 0, 4)
    drawn = np.random.Generator(np.random.PCG64(Words(words))).normal(size=5)
    np.testing.assert_array_equal(drawn, np.random.default_rng(spawned(3, 2, 0)).normal(size=5))
