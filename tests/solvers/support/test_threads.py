"""Linear algebra keeps to one thread where others work beside it, or matrices are small."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import control
import pytest
import scipy.linalg  # noqa: F401 (its library is one of those that are counted)
from threadpoolctl import ThreadpoolController

import titop as tt
from titop.solvers.robust.structure import Matrices
from titop.solvers.support.threads import one_thread
from titop.solvers.support.workers import spread


def threads(task: Any = None) -> set[int]:
    """Return how many threads the libraries of linear algebra have."""
    return {library.num_threads for library in ThreadpoolController().select(user_api="blas").lib_controllers}


@pytest.fixture
def two() -> Iterator[None]:
    """Let linear algebra have two threads, wherever the tests run."""
    with ThreadpoolController().limit(limits=2, user_api="blas"):
        if threads() != {2}:
            pytest.skip("OPENBLAS_NUM_THREADS was set before: libraries began with one thread, and keep to it")
        yield


@pytest.mark.usefixtures("two")
def test_one_is_left_for_a_while() -> None:
    with one_thread():
        assert threads() == {1}
    assert threads() == {2}


def given(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return function


@pytest.mark.usefixtures("two")
@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_processes_that_work_side_by_side_have_one_each(method: str) -> None:
    for found in spread(range(3), given, (threads,), 2, given, method):
        assert found == {1}
    assert threads() == {2}


@pytest.mark.usefixtures("two")
def test_bounds_of_robustness_are_found_in_one(monkeypatch: pytest.MonkeyPatch) -> None:
    counts = []

    def response(self: Matrices, omega: float) -> Any:
        counts.extend(threads())
        return original(self, omega)

    original = Matrices.response
    monkeypatch.setattr(Matrices, "response", response)
    system = control.ss([[-1.0]], [[1.0]], [[0.5]], [[0.0]])
    tt.mu(system, [1.0], blocks=[tt.DeltaBlock.real("k")])
    assert set(counts) == {1}
    assert threads() == {2}
