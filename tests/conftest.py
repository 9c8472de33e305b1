"""What happens before any test."""

from __future__ import annotations

import os
import signal
from collections.abc import Generator

import numpy as np
import pytest

# one thread of BLAS a process: tests run side by side, and threads that wait for each other's cores take several times as long
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from titop.solvers.engines.compiled.compile_ahead import compile_ahead
from titop.solvers.native import calling


def pytest_configure(config: pytest.Config) -> None:
    """Before tests are spread over processes, compile all that several of them would compile at the same time.

    Ctrl-C, which some tests send, is heard also where the shell that started them in the background ignores it.
    """
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if calling.obstacle() is None and getattr(config.option, "numprocesses", None) and not hasattr(config, "workerinput"):
        compile_ahead()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol() -> Generator[None, object, object]:
    """Leave NumPy's print options as they were: pyYeti sets them for good, and what later tests print would follow them."""
    with np.printoptions():
        return (yield)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with what takes longest, so that processes side by side end together."""
    items.sort(key=lambda item: item.path.stem != "test_processors")
