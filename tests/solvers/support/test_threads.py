"""Stacked states among threads: the bits of one thread, its errors, and nothing in processes that sweeps start."""

from __future__ import annotations

import copy
import multiprocessing
import os
import pickle
import threading
import time
from typing import Any

import numpy as np
import pytest

import titop as tt
from tests.every_kind import SYSTEMS, states
from tests.solvers.model.test_stacked_bits import calls, parts
from titop.solvers.engines.compiled import acted_on
from titop.solvers.support import threads
from titop.solvers.support.threads import alone, call_in_parts, in_parts

pytestmark = pytest.mark.filterwarnings("ignore::titop.ModelWarning")

ROWS = 41


@pytest.fixture
def eager(monkeypatch: pytest.MonkeyPatch) -> set[int]:
    """Let threads take the shortest work; the threads that did."""
    monkeypatch.setattr(threads, "_WORTH", 1e-12)
    monkeypatch.setattr(acted_on, "BY_PYTHON", 0.0)
    worked: set[int] = set()
    whole = threads.in_parts

    def noting(count: int | None, rows: int, run: Any, *more: float, **named: Any) -> int:
        def noted(part: slice) -> int:
            worked.add(threading.get_ident())
            return run(part)

        return whole(count, rows, noted, *more, **named)

    for module in (acted_on, threads):
        monkeypatch.setattr(module, "in_parts", noting)
    return worked


NAMES = ("a tree", "gears in a loop", "gears", "rods, tendons and chambers", "laws in Python")


@pytest.mark.parametrize("name", NAMES)
def test_threads_give_the_same_bits(name: str, eager: set[int]) -> None:
    one, several = SYSTEMS[name]().resolve(), SYSTEMS[name]().resolve(threads=3)
    rows = states(one, ROWS)
    names = ("forward_dynamics", "inverse_dynamics", "mass_matrix", "outputs", "integrate", "regressor", "pose")
    asked = {label: call for label, call in calls(one).items() if label.split()[0] in names}
    again = calls(several)
    assert len(asked) >= len(names)
    for label, call in asked.items():
        expected, found = parts(call(rows)), parts(again[label](rows))
        assert [part.tobytes() for part in found] == [part.tobytes() for part in expected], label
    assert (len(eager) > 1) == several.mechanism.engine.is_compiled  # laws in Python hold its lock


def test_errors_are_those_of_one_thread(eager: set[int]) -> None:
    s = tt.System("gimbal")
    s.connect("world", tt.RigidBody("bob", 1.0, com=[1, 0, 0]), tt.Universal("gimbal", axis1=[0, 0, 1], axis2=[0, 1, 0]))
    q, v = np.random.default_rng(0).uniform(-1.0, 1.0, (2, ROWS, 2))
    q[30, 1] = np.pi / 2
    said = []
    for count in (1, 3):
        m = s.resolve(threads=count)
        for function in (m.forward_dynamics, m.forward_dynamics_derivatives):
            with pytest.raises(tt.ModelError) as found:
                function(q, v, v)
            said.append(str(found.value))
        wrong = v.copy()
        wrong[33, 1] = np.nan
        with pytest.raises(tt.ModelError, match=r"v\[33, 1\]"):
            m.forward_dynamics(v, wrong, v)
        with pytest.raises(tt.ModelError, match="stack all"):
            m.forward_dynamics(v, v[:8], v[:8])
    assert said[:2] == said[2:]


def test_the_first_status_in_the_order_of_rows(eager: set[int]) -> None:
    begun = []

    def run(rows: slice) -> int:
        time.sleep(0.02 * (rows.start == 24))
        begun.append(rows)
        return 7 if rows.start > 24 else 3 if rows.start == 24 else 0

    assert threads.in_parts(4, 64, run) == 3
    assert sorted((rows.start, rows.stop) for rows in begun) == [(0, 8), (8, 24), (24, 40), (40, 56), (56, 64)]


def test_errors_of_parts_are_raised_after_all_have_ended(eager: set[int]) -> None:
    ended = []

    def run(rows: slice) -> int:
        if rows.start == 8:
            raise TypeError("first")
        ended.append(rows.start)
        return 0

    with pytest.raises(TypeError, match="first"):
        threads.in_parts(3, 32, run)
    assert sorted(ended) == [0, 16, 24]


def test_little_work_stays_in_one_thread() -> None:
    begun = []

    def run(rows: slice) -> int:
        begun.append(rows)
        return 0

    assert in_parts(4, 64, run) == 0
    assert begun == [slice(0, 8), slice(8, 64)]
    assert in_parts(4, 5, run) == in_parts(1, 64, run) == 0
    assert begun[2:] == [slice(0, 5), slice(0, 64)]


@pytest.mark.parametrize("count", [1, 3])
def test_ctrl_c_waits_for_no_more_than_a_piece(count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threads, "_PIECE", 0.01)
    done: list[slice] = []

    def run(rows: slice) -> int:
        time.sleep(1e-4 * (rows.stop - rows.start))  # as a kernel that lets no signal in
        done.append(rows)
        if sum(part.stop - part.start for part in done) > 600 and threading.current_thread() is threading.main_thread():
            raise KeyboardInterrupt
        return 0

    with pytest.raises(KeyboardInterrupt):
        in_parts(count, 4000, run)
    assert 600 < sum(rows.stop - rows.start for rows in done) < 2000  # other threads have ended, too
    assert max(rows.stop - rows.start for rows in done) <= 200  # of some 100 states, as clocks are
    monkeypatch.setattr(threads, "_PIECE", 10.0)
    done.clear()
    with pytest.raises(KeyboardInterrupt):
        in_parts(count, 4000, run)
    assert sum(rows.stop - rows.start for rows in done) == 4000  # the negative control


def test_pieces_cover_all_states_and_keep_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    m = SYSTEMS["a tree"]().resolve()
    q, v, tau = (states(m, 4)[name].repeat(600, 0) for name in ("q", "v", "tau"))
    whole = m.forward_dynamics(q, v, tau)
    monkeypatch.setattr(threads, "_PIECE", 1e-9)
    assert m.forward_dynamics(q, v, tau).tobytes() == whole.tobytes()
    tau[2000, 0] = np.nan
    with pytest.raises(tt.ModelError, match=r"tau\[2000, 0\]"):
        m.forward_dynamics(q, v, tau)


def test_arrays_of_other_lengths_are_the_kernels_to_refuse(eager: set[int]) -> None:
    def kernel(first: Any, second: Any) -> int:
        return int(len(first) != len(second))

    assert call_in_parts(3, kernel, np.zeros((64, 1)), np.zeros((32, 1))) == 1
    assert call_in_parts(3, kernel, [1.0], np.zeros((64, 1))) == 1
    assert call_in_parts(3, kernel, np.zeros((64, 1)), np.zeros((64, 2))) == 0


def test_models_keep_their_threads(eager: set[int]) -> None:
    for engine in ("compiled", "reference"):
        m = SYSTEMS["gears"]().resolve(engine, threads=3)
        mass, stiffness = (next(name for name in m.parameters() if name.endswith(end)) for end in (".mass", ".stiffness"))
        for model in (m, m.with_parameters({mass: 2.0}), m.with_parameters({stiffness: 3.0}), pickle.loads(pickle.dumps(m))):
            assert model.threads == 3
        assert copy.copy(m).threads == copy.deepcopy(m).threads == m.undisturbed.threads == 3
    assert SYSTEMS["gears"]().resolve().threads == 1
    assert SYSTEMS["gears"]().resolve(threads=None).threads is None
    q = states(m, ROWS)["q"]
    m = SYSTEMS["gears"]().resolve(threads=None)
    np.testing.assert_array_equal(m.mass_matrix(q), np.array([m.mass_matrix(each) for each in q]))


@pytest.mark.parametrize("wrong", [0, -1, 1.0, True, "2", 10**9])
def test_numbers_of_threads_are_checked(wrong: Any) -> None:
    with pytest.raises(tt.ModelError, match=r"threads: got .*; expected a number of threads from 1"):
        SYSTEMS["gears"]().resolve(threads=wrong)


def _work(pipe: Any, m: tt.Model, rows: dict[str, Any]) -> None:
    pipe.send(m.forward_dynamics(rows["q"], rows["v"], rows["tau"]))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are not forked here")
def test_forked_processes_have_threads_of_their_own(eager: set[int]) -> None:
    m = SYSTEMS["a free base"]().resolve(threads=3)
    rows = states(m, ROWS)
    expected = m.forward_dynamics(rows["q"], rows["v"], rows["tau"])
    assert len(eager) > 1
    near, far = multiprocessing.get_context("fork").Pipe()
    process = multiprocessing.get_context("fork").Process(target=_work, args=(far, m, rows))
    process.start()
    assert near.poll(30)
    np.testing.assert_array_equal(near.recv(), expected)
    process.join()


def _begun(m: tt.Model) -> dict[str, float]:
    """Return how many parts of a stacked call are given to other threads."""
    given, rows, pool = [], states(m, ROWS), threads._pool
    threads._pool = lambda count: given.append(count) or pool(count)
    try:
        m.forward_dynamics(rows["q"], rows["v"], rows["tau"])
    finally:
        threads._pool = pool
    return {"begun": float(len(given))}


def test_sweeps_do_not_multiply_them(eager: set[int]) -> None:
    m = SYSTEMS["springs, friction and stops"]().resolve(threads=3)
    rows = states(m, ROWS)
    with alone():
        m.forward_dynamics(rows["q"], rows["v"], rows["tau"])
    assert len(eager) == 1
    m.forward_dynamics(rows["q"], rows["v"], rows["tau"])
    assert len(eager) > 1  # the negative control
    mass = next(name for name in m.parameters() if name.endswith(".mass"))
    for workers in (1, 2):
        samples = tt.monte_carlo(m, {mass: (0.9, 1.1)}, _begun, n=2, workers=workers, progress=False)
        assert (samples.outcomes["begun"].max() == 0.0) == (workers > 1)
