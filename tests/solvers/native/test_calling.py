"""Calls of compiled kernels: every type of argument arrives, what does not fit is refused, nothing leaks."""

from __future__ import annotations

import subprocess
import sys
import threading
import tracemalloc

import numpy as np
import pytest

import titop as tt
from titop.solvers.native import calling
from titop.solvers.native.kernel import entry
from titop.solvers.native.signatures import CUBE, FLAG, INTEGER, INTS, MASK, REAL, VECTOR


@entry(CUBE, MASK, FLAG, INTEGER, REAL, result=REAL)
def _weighted(cube, mask, flag, axis, scale):
    """Return a sum that tells apart every number, extent and stride of its arguments."""
    total = 1000.0 * cube.shape[axis] + (500.0 if flag else 0.0)
    for i in range(cube.shape[0]):
        for j in range(cube.shape[1]):
            for k in range(cube.shape[2]):
                if mask[k]:
                    total += scale * (1 + i) * (1 + 7 * j) * (1 + 31 * k) * cube[i, j, k]
    return total


@entry(VECTOR, INTS)
def _count(vector, ints):
    """Write extents and allocated numbers into a vector; return how many there are."""
    scratch = np.empty(ints.shape[0] * ints.shape[1])
    scratch[:] = 2.0
    vector[0], vector[1], vector[2] = ints.shape[0], ints.shape[1], scratch.sum()
    return ints.size


def test_every_type_of_argument_arrives_as_python_gave_it() -> None:
    cube = np.random.default_rng(0).normal(size=(2, 3, 4))
    mask = np.array([True, False, True, True])
    weights = np.einsum("i,j,k->ijk", [1, 2], 1 + 7 * np.arange(3), (1 + 31 * np.arange(4)) * mask)
    expected = 0.5 * float((weights * cube).sum())
    for flag, axis in ((False, 0), (True, 1), (np.bool_(True), np.int64(2))):
        assert _weighted(cube, mask, flag, axis, 0.5) == pytest.approx(
            expected + 1000 * cube.shape[axis] + 500 * bool(flag), rel=1e-14
        )
    vector = np.zeros(3)
    assert _count(vector, np.zeros((5, 7), dtype=np.int64)) == 35
    assert vector.tolist() == [5, 7, 70]


def read_only(array):
    array = array.copy()
    array.flags.writeable = False
    return array


@pytest.mark.parametrize(
    "wrong",
    [
        None,
        [0.0, 0.0, 0.0],
        np.zeros(3, dtype=np.float32),
        np.zeros(3, dtype=np.int64),
        np.zeros(3, dtype=">f8"),
        np.zeros((3, 1)),
        np.zeros(6)[::2],
        np.zeros(25, dtype=np.uint8)[1:].view(float),
        np.zeros(3).view(np.recarray),
        read_only(np.zeros(3)),
    ],
    ids=["none", "list", "single", "integers", "swapped", "matrix", "strided", "unaligned", "subclass", "read-only"],
)
def test_arrays_of_another_kind_are_refused(wrong) -> None:
    with pytest.raises(TypeError, match=r"expected .*_count\(float64\[::1\], int64\[:, ::1\]\)"):
        _count(wrong, np.zeros((5, 7), dtype=np.int64))


def test_numbers_of_another_kind_are_refused() -> None:
    cube, mask = np.zeros((2, 3, 4)), np.ones(4, dtype=bool)
    for flag, axis, scale in ((True, 0, "half"), (True, 0.5, 1.0), (np.zeros(2), 0, 1.0)):
        with pytest.raises((TypeError, ValueError)):
            _weighted(cube, mask, flag, axis, scale)
    with pytest.raises(TypeError, match="expected"):
        _weighted(cube, mask, True, 0)
    with pytest.raises(OverflowError):
        _weighted(cube, mask, True, 2**70, 1.0)


def test_calls_neither_leak_nor_lose_memory() -> None:
    vector, ints = np.zeros(3), np.zeros((200, 200), dtype=np.int64)  # memory of that size does not wait for the next call
    _count(vector, ints)
    references = sys.getrefcount(vector), sys.getrefcount(ints)
    tracemalloc.start()  # it follows the memory that kernels allocate, too
    try:
        for _ in range(100):
            _count(vector, ints)
            with pytest.raises(TypeError):
                _count(vector, vector)
        used, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak > ints.nbytes > 10 * used
    assert references == (sys.getrefcount(vector), sys.getrefcount(ints))


def test_many_threads_call_at_once() -> None:
    ints = np.zeros((300, 300), dtype=np.int64)
    vectors = np.zeros((8, 3))

    def work(vector):
        for _ in range(50):
            _count(vector, ints)

    threads = [threading.Thread(target=work, args=(vector,)) for vector in vectors]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (vectors == [300, 300, 180000]).all()


@entry(INTEGER, REAL, result=REAL)
def _filled(count, number):
    """Fill rooms of a size, of the same one, and of one more page, which waits at the same place; return what they hold."""
    one, two, more = np.empty(count), np.empty(count), np.empty(count + 512)
    one[:], two[:], more[:] = number, 2.0 * number, 3.0 * number
    return one.sum() + two.sum() + more.sum()


def test_memory_that_waits_is_used_by_one_at_a_time() -> None:
    wrong = []

    def work(number):
        for k in range(2000):
            count = (100, 200, 712, 5000)[k % 4]
            if _filled(count, number) != number * (6 * count + 3 * 512):  # exact: sums of whole numbers
                wrong.append(count)

    threads = [threading.Thread(target=work, args=(float(k),)) for k in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_another_layout_of_arrays_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    assert calling.is_layout_known()
    for offset in ("_CLASS", "_DATA", "_NDIM", "_FLAGS", "_DTYPE", "_TYPE_NUMBER", "_BYTE_ORDER"):
        with monkeypatch.context() as patch:
            patch.setattr(calling, offset, getattr(calling, offset) - 8)
            assert not calling.is_layout_known()


BOTH_ROADS = """
import ctypes
import numpy as np
import titop as tt
from titop.solvers.native import calling
from titop.solvers.engines.compiled.law_kinds import interaction_of_kind
calling._DATA -= {wrong}
spring = tt.SpringDamper("s", 3.0, 0.5, 0.2)
numbers, motion, wrenches = spring.law_numbers(), np.random.default_rng(0).normal(size=36), np.empty(12)
act = ctypes.CFUNCTYPE(ctypes.c_int64, *[ctypes.c_int64] * 9)(interaction_of_kind(spring).act.address)
assert act(2, 0, 0, 0, 3, 0, numbers.ctypes.data, motion.ctypes.data, wrenches.ctypes.data) == 0
s = tt.System("pair")
arm = tt.RigidBody("arm", mass=1.0, com=[0.1, 0.2, 0.3], inertia=[1, 2, 2], ports={{"tip": [1, 0, 0]}})
s.connect("world", arm, tt.Free("base"))
hand = tt.RigidBody("hand", mass=0.5, com=[0, 0.1, 0])
s.connect(arm.port("tip"), hand, tt.Revolute("wrist", axis=[1, 1, 0]))
m = s.resolve()
rng = np.random.default_rng(0)
q, v, x = m.random_configuration(rng), rng.normal(size=m.nv), rng.normal(size=m.nv)
print(*wrenches, *m.forward_dynamics(q, v, x), *m.forward_dynamics(list(q), v, x.tolist()))
try:
    m.forward_dynamics(q, v, x[1:])
except tt.ModelError as error:
    print(error)
"""


@pytest.mark.long
def test_another_layout_leads_through_numba_to_the_same() -> None:
    """Fused multiplications may differ between the roads: the last digits of numbers of order one to ten."""
    done = [
        subprocess.run([sys.executable, "-c", BOTH_ROADS.format(wrong=wrong)], capture_output=True, text=True, check=True)
        for wrong in (0, 8)
    ]
    (native, refused), (dispatched, refused_too) = (each.stdout.splitlines() for each in done)
    np.testing.assert_allclose(*(np.array(line.split(), float) for line in (native, dispatched)), rtol=0, atol=1e-12)
    assert refused == refused_too
    assert "through numba" not in done[0].stderr
    assert "calls them through numba: arrays of NumPy" in done[1].stderr


def test_users_may_choose_numbas_calls(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(calling.SETTING, "numba")
    assert "TITOP_CALLS is set to numba" in str(calling.obstacle.__wrapped__())
    monkeypatch.setattr(sys, "_is_gil_enabled", lambda: False, raising=False)
    monkeypatch.delenv(calling.SETTING)
    assert "without its global lock" in str(calling.obstacle.__wrapped__())


def test_unaligned_states_are_copied() -> None:
    s = tt.System("pendulum")
    s.connect("world", tt.RigidBody("bob", mass=1.0, com=[0, 0, -1]), tt.Revolute("pivot", axis=[1, 0, 0]))
    model = s.resolve()
    q = np.zeros(1, dtype=[("before", "u1"), ("q", "f8", 1)])["q"][0]
    q[:] = 0.3
    v = np.frombuffer(b"-" + np.array([0.1]).tobytes(), offset=1)
    assert not q.flags.aligned
    assert not v.flags.aligned
    for function in (model.energy, model.forward_dynamics, model.nonlinear_effects, model.momentum):
        assert np.array_equal(function(q, v), function([0.3], [0.1]))


class Rude:
    """A number that fails when it is converted, and one that notes that it was asked."""

    def __init__(self):
        self.asked = False

    def __float__(self):
        self.asked = True
        raise KeyError("rude")


def test_a_failed_conversion_ends_the_call() -> None:
    @entry(REAL, REAL, VECTOR, result=REAL)
    def added(a, b, vector):
        return a + b + vector[0]

    first, second = Rude(), Rude()
    with pytest.raises(KeyError, match="rude"):
        added(first, second, None)
    assert first.asked
    assert not second.asked
    assert added(1, np.float32(2), np.full(1, 4.0)) == 7.0
