"""Threads of linear algebra.

BLAS splits products and factorisations of a few hundred rows among as many threads as there are processors. Where these are
busy, with processes that titop has started or with others, each waits for the slowest: two processes with eigenvalues, singular
values and solutions of up to 120 rows took nine times as long on two processors as with one thread each, beside others longer.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from threadpoolctl import ThreadpoolController


@contextmanager
def one_thread() -> Iterator[None]:
    """Let BLAS work in the thread that calls it; also a decorator."""
    with _libraries().limit(limits=1, user_api="blas"):
        yield


@cache
def _libraries() -> ThreadpoolController:
    """The libraries of this process that have threads: those of NumPy and SciPy, once both are loaded."""
    import scipy.linalg  # noqa: F401
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()
