"""Compiled kernels: the cache notices edits, results are the same bits every time, a long compilation is announced."""

from __future__ import annotations

import functools
import importlib
import os
import pickle
import pkgutil
import shutil
import subprocess
import sys
import threading
import tracemalloc
from pathlib import Path

import numpy as np
import pytest

import titop as tt
from tests.flexible import random_system
from tests.solvers.kernels.ports.test_surroundings import Wet
from titop.solvers import kernels
from titop.solvers.kernels.entries import dynamics_entries
from titop.solvers.kernels.interface import layout
from titop.solvers.native import cache, calling, kernel, loading
from titop.solvers.native.compilation import machine_code
from titop.solvers.native.kernel import Feature, entry
from titop.solvers.native.signatures import CUBE, FLAG, INTEGER, INTS, MASK, NOTHING, REAL, VECTOR, Signature

ROOT = Path(__file__).parents[3]

#: Prints a number that passes through a helper (`write_rates` in kinematics.py) of a small kernel, and the file it came from.
SCRIPT = """
import numpy as np, titop
from titop.solvers.kernels.entries import dynamics_entries
from titop.solvers.kernels.interface import layout
ints = np.zeros((2, layout.INT_COLUMNS), int)
ints[0, layout.ELEMENTS], ints[1, layout.KIND] = 2, layout.AXIAL
rates = np.zeros(1)
dynamics_entries.configuration_rate(ints, np.zeros(1), np.array([-0.5]), rates)
print(titop.__file__, rates[0])
"""


@pytest.fixture(scope="module")
def copied_package(tmp_path_factory):
    folder = tmp_path_factory.mktemp("edited")
    package = folder / "titop"
    for name in ("blocks", "graph", "solvers"):
        shutil.copytree(ROOT / name, package / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("__init__.py", "__init__.pyi"):
        shutil.copy(ROOT / name, package)
    return folder


def run(folder: Path) -> float:
    environment = os.environ | {"PYTHONPATH": str(folder), "TITOP_CACHE_DIR": str(folder / "cache")}
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT], cwd=folder, env=environment, capture_output=True, text=True, check=True
    )
    file, number = done.stdout.split()
    assert Path(file).parent == folder / "titop"
    return float(number)


def test_an_edit_of_a_helper_in_another_file_changes_the_result(copied_package):
    before = run(copied_package)
    assert before == -0.5
    helper = copied_package / "titop" / "solvers" / "kernels" / "tree" / "kinematics.py"
    source = helper.read_text()
    edited = source.replace("            rates[k] = v[j]\n", "            rates[k] = 2 * v[j]\n")
    assert edited != source
    helper.write_text(edited)
    assert run(copied_package) == 2 * before


def test_the_second_process_reads_the_cache(copied_package):
    run(copied_package)
    folder = next((copied_package / "cache").iterdir())
    files = {path: path.stat().st_mtime_ns for path in folder.iterdir()}
    assert files
    run(copied_package)
    assert {path: path.stat().st_mtime_ns for path in folder.iterdir()} == files


def test_a_process_that_finds_its_kernels_does_not_load_numba(copied_package):
    run(copied_package)
    environment = os.environ | {"PYTHONPATH": str(copied_package), "TITOP_CACHE_DIR": str(copied_package / "cache")}
    script = SCRIPT + "import sys; print('numba' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.split()[-1] == "False"


def test_damaged_files_of_the_cache_are_compiled_again(copied_package):
    shutil.rmtree(copied_package / "cache", ignore_errors=True)
    before = run(copied_package)
    files = list(next((copied_package / "cache").iterdir()).iterdir())
    for path in files:
        path.write_bytes(path.read_bytes()[:-1] + b"?")
    assert run(copied_package) == before
    assert not any(path.read_bytes().endswith(b"?") for path in files)


def test_the_hash_covers_every_kernel_file(tmp_path):
    (tmp_path / "room").mkdir()
    for path in Path(cache.__file__).parent.glob("*.py"):
        shutil.copy(path, tmp_path)
        shutil.copy(path, tmp_path / "room")
    before = cache.source_hash([tmp_path])
    for path in tmp_path.rglob("*.py"):
        text = path.read_text()
        path.write_text(text + "\n# edited\n")
        assert cache.source_hash([tmp_path]) != before
        path.write_text(text)
    assert cache.source_hash([tmp_path]) == before


def test_without_a_writable_cache_kernels_still_compile(monkeypatch):
    monkeypatch.setattr(cache, "cache_folder", lambda: None)
    assert _doubled(3.0) == 6.0


@entry(REAL, result=REAL)
def _doubled(x):
    """Return twice a number."""
    return 2.0 * x


def test_a_folder_that_others_can_write_is_not_used(tmp_path, monkeypatch):
    monkeypatch.setenv("TITOP_CACHE_DIR", str(tmp_path))
    folder = cache.cache_folder.__wrapped__()
    assert folder is not None
    folder.chmod(0o777)
    assert cache.cache_folder.__wrapped__() is None


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


@entry(VECTOR, INTS, result=NOTHING)
def _count(vector, ints):
    """Write extents and allocated numbers into a vector."""
    scratch = np.empty(ints.shape[0] * ints.shape[1])
    scratch[:] = 2.0
    vector[0], vector[1], vector[2] = ints.shape[0], ints.shape[1], scratch.sum()


def test_every_type_of_argument_arrives_as_python_gave_it():
    cube = np.random.default_rng(0).normal(size=(2, 3, 4))
    mask = np.array([True, False, True, True])
    weights = np.einsum("i,j,k->ijk", [1, 2], 1 + 7 * np.arange(3), (1 + 31 * np.arange(4)) * mask)
    expected = 0.5 * float((weights * cube).sum())
    for flag, axis in ((False, 0), (True, 1), (np.bool_(True), np.int64(2))):
        assert _weighted(cube, mask, flag, axis, 0.5) == pytest.approx(
            expected + 1000 * cube.shape[axis] + 500 * bool(flag), rel=1e-14
        )
    vector = np.zeros(3)
    assert _count(vector, np.zeros((5, 7), dtype=np.int64)) is None
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
def test_arrays_of_another_kind_are_refused(wrong):
    with pytest.raises(TypeError, match=r"expected .*_count\(float64\[::1\], int64\[:, ::1\]\)"):
        _count(wrong, np.zeros((5, 7), dtype=np.int64))


def test_numbers_of_another_kind_are_refused():
    cube, mask = np.zeros((2, 3, 4)), np.ones(4, dtype=bool)
    for flag, axis, scale in ((True, 0, "half"), (True, 0.5, 1.0), (np.zeros(2), 0, 1.0)):
        with pytest.raises((TypeError, ValueError)):
            _weighted(cube, mask, flag, axis, scale)
    with pytest.raises(TypeError, match="expected"):
        _weighted(cube, mask, True, 0)
    with pytest.raises(OverflowError):
        _weighted(cube, mask, True, 2**70, 1.0)


def test_calls_neither_leak_nor_lose_memory():
    vector, ints = np.zeros(3), np.zeros((100, 100), dtype=np.int64)
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


def test_many_threads_call_at_once():
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


def test_another_layout_of_arrays_is_noticed(monkeypatch):
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
from titop.solvers.engines.compiled.law_tables import INTERACTIONS
calling._DATA -= {wrong}
spring = tt.SpringDamper("s", 3.0, 0.5, 0.2)
numbers, motion, wrenches = spring.law_numbers(), np.random.default_rng(0).normal(size=36), np.empty(12)
act = ctypes.CFUNCTYPE(ctypes.c_int64, *[ctypes.c_int64] * 7)(INTERACTIONS[tt.SpringDamper].act.address)
assert act(2, 0, 0, 3, numbers.ctypes.data, motion.ctypes.data, wrenches.ctypes.data) == 0
s = tt.System("pair")
arm = tt.RigidBody("arm", mass=1.0, com=[0.1, 0.2, 0.3], inertia=[1, 2, 2], ports={{"tip": [1, 0, 0]}})
s.connect("world", arm, tt.Free("base"))
hand = tt.RigidBody("hand", mass=0.5, com=[0, 0.1, 0])
s.connect(arm.port("tip"), hand, tt.Revolute("wrist", axis=[1, 1, 0]))
m = s.resolve()
rng = np.random.default_rng(0)
q, v, x = m.random_configuration(rng), rng.normal(size=m.nv), rng.normal(size=m.nv)
print(*wrenches, *m.forward_dynamics(q, v, x), *m.inverse_dynamics(list(q), v, x.tolist()))
try:
    m.forward_dynamics(q, v, x[1:])
except tt.ModelError as error:
    print(error)
"""


def test_another_layout_leads_through_numba_to_the_same():
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


def test_users_may_choose_numbas_calls(monkeypatch):
    monkeypatch.setenv(calling.SETTING, "numba")
    assert "TITOP_CALLS is set to numba" in str(calling.obstacle.__wrapped__())
    monkeypatch.setattr(sys, "_is_gil_enabled", lambda: False, raising=False)
    monkeypatch.delenv(calling.SETTING)
    assert "without its global lock" in str(calling.obstacle.__wrapped__())


def test_an_index_out_of_bounds_is_reported_where_numba_checks_them(tmp_path):
    script = (
        "import numpy as np\n"
        "from titop.solvers.native.kernel import entry\n"
        "from titop.solvers.native.signatures import INTEGER, REAL, VECTOR\n"
        "def pick(vector, k):\n    return vector[k]\n"
        "entry(VECTOR, INTEGER, result=REAL)(pick)(np.zeros(3), 5)\n"
    )
    environment = os.environ | {"NUMBA_BOUNDSCHECK": "1", "TITOP_CACHE_DIR": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=False)
    assert "MemoryError: " in done.stderr
    assert "index out of bounds" in done.stderr


def test_a_long_compilation_is_announced(monkeypatch, capsys):
    monkeypatch.setattr(kernel, "ANNOUNCE_AFTER", 0.0)
    with kernel._Announcement("something slow", kept=True) as announcement:
        announcement.timer.join()
    said = capsys.readouterr().err
    assert "compiling something slow" in said
    assert "(once; kept in a cache)" in said
    assert "compiled something slow" in said


def test_that_nothing_is_kept_is_said_once_and_why(monkeypatch, capsys):
    monkeypatch.setattr(kernel, "ANNOUNCE_AFTER", 0.0)
    monkeypatch.setattr(cache, "cache_folder", lambda: None)
    monkeypatch.setattr(cache, "obstacle", lambda: "/nowhere: Permission denied")
    for k in range(2):

        def own():
            return 0

        own.__module__ = f"titop.solvers.kernels.test{k}"  # kept, if it could be
        assert entry()(own)() == 0
    said = capsys.readouterr().err
    assert said.count("/nowhere: Permission denied; set TITOP_CACHE_DIR") == 1
    assert "kept in a cache" not in said


def test_the_same_bits_on_every_run():
    s = tt.System("pair")
    arm = tt.RigidBody("arm", mass=1.0, com=[0.1, 0.2, 0.3], inertia=[1, 2, 2], ports={"tip": [1, 0, 0]})
    s.connect("world", arm, tt.Free("base"))
    s.connect(arm.port("tip"), tt.RigidBody("hand", mass=0.5, com=[0, 0.1, 0]), tt.Revolute("wrist", axis=[1, 1, 0]))
    m = s.resolve()
    rng = np.random.default_rng(0)
    q, v, tau = m.random_configuration(rng), rng.normal(size=m.nv), rng.normal(size=m.nv)
    first = m.forward_dynamics(q, v, tau)
    assert all((m.forward_dynamics(q, v, tau) == first).all() for _ in range(100))
    assert (s.resolve().forward_dynamics(q, v, tau) == first).all()
    assert (m.forward_dynamics(np.tile(q, (3, 1)), np.tile(v, (3, 1)), np.tile(tau, (3, 1))) == first).all()


def test_a_kernel_that_needs_numba_when_it_runs_is_refused():
    @entry(CUBE, result=REAL)
    def flattened(cube):
        return cube.ravel()[0]

    with pytest.raises(RuntimeError, match="numba_attempt_nocopy_reshape"):
        flattened(np.zeros((2, 3, 4)))


def test_models_travel_to_other_processes():
    s = tt.System("pendulum")
    s.connect("world", tt.RigidBody("bob", mass=1.0, com=[0, 0, -1]), tt.Revolute("pivot", axis=[1, 0, 0]))
    model = s.resolve()
    first = model.forward_dynamics([0.3], [0.1])
    assert model.inverse_dynamics([0.3], [0.1], first) == pytest.approx(0.0, abs=1e-12)
    model.mass_matrix([0.3])
    model.forward_dynamics_derivatives([0.3], [0.1])
    model.inverse_dynamics_derivatives([0.3], [0.1], first)
    tt.linear_matrices(model, ([0.3], [0.1], [0.0]))
    assert sum(isinstance(value, functools.partial) for value in vars(model).values()) == 8
    copy = pickle.loads(pickle.dumps(model))
    assert copy.forward_dynamics([0.3], [0.1]) == first


def test_unaligned_states_are_copied():
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


def test_a_failed_conversion_ends_the_call():
    @entry(REAL, REAL, VECTOR, result=REAL)
    def added(a, b, vector):
        return a + b + vector[0]

    first, second = Rude(), Rude()
    with pytest.raises(KeyError, match="rude"):
        added(first, second, None)
    assert first.asked
    assert not second.asked
    assert added(1, np.float32(2), np.full(1, 4.0)) == 7.0


def test_states_of_the_wrong_size_do_not_reach_memory():
    s = tt.System("pendulum")
    s.connect("world", tt.RigidBody("bob", mass=1.0, com=[0, 0, -1]), tt.Revolute("pivot", axis=[1, 0, 0]))
    function, arguments = s.resolve().state_derivative(np.zeros(1))
    for rates, state in ((1, 2), (2, 1), (3, 3)):
        dy = np.zeros(rates)
        assert function(dy, 0.0, np.zeros(state), *arguments) == layout.WRONG_SIZE
        assert np.isnan(dy).all()
    function, arguments = s.resolve().state_derivative(np.zeros(0))
    assert function(np.zeros(2), 0.0, np.zeros(2), *arguments) == layout.WRONG_SIZE


class TestWhereTheCacheIs:
    """Where compiled kernels are kept, when something is odd about the places for them."""

    @pytest.fixture(autouse=True)
    def nowhere(self, monkeypatch, tmp_path):
        for name in ("TITOP_CACHE_DIR", "XDG_CACHE_HOME"):
            monkeypatch.delenv(name, raising=False)
        monkeypatch.setenv("HOME", str(tmp_path / "home"))
        monkeypatch.setattr(cache.tempfile, "gettempdir", lambda: str(tmp_path / "temporary"))
        self.find = cache.cache_folder.__wrapped__

    def test_in_the_users_folder(self, tmp_path, monkeypatch):
        folder = self.find()
        assert folder is not None
        assert folder.parent == tmp_path / "home" / ".cache" / "titop"
        assert folder.stat().st_mode & 0o777 == folder.parent.stat().st_mode & 0o777 == 0o700
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "elsewhere"))
        assert self.find().parent == tmp_path / "elsewhere" / "titop"
        monkeypatch.setenv("XDG_CACHE_HOME", "")
        assert self.find() == folder

    def test_without_a_home(self, tmp_path, monkeypatch):
        monkeypatch.setattr(cache.Path, "home", classmethod(lambda cls: (_ for _ in ()).throw(RuntimeError("no home"))))
        assert self.find().parent.parent == tmp_path / "temporary"

    def test_without_any_place(self, monkeypatch):
        def fail(*_):
            raise FileNotFoundError("nowhere")

        monkeypatch.setattr(cache.Path, "home", classmethod(fail))
        monkeypatch.setattr(cache.tempfile, "gettempdir", fail)
        assert self.find() is None
        assert cache.obstacle() == "no folder: nowhere; no folder: nowhere"

    def test_what_is_in_the_way_is_named(self, tmp_path, monkeypatch):
        assert cache.obstacle() is None
        (tmp_path / "file").write_text("")
        monkeypatch.setenv("TITOP_CACHE_DIR", str(tmp_path / "file"))
        assert cache.obstacle().startswith(f"{tmp_path / 'file'}")
        monkeypatch.setenv("TITOP_CACHE_DIR", str(tmp_path))
        self.find().chmod(0o777)
        assert cache.obstacle().endswith("is another user's, or can be written by others")

    def test_a_relative_place_is_meant_where_the_process_is(self, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        monkeypatch.setenv("TITOP_CACHE_DIR", "kernels")
        assert self.find().parent == tmp_path / "kernels"

    def test_a_place_that_others_made_is_not_used(self, tmp_path):
        (tmp_path / "home" / ".cache" / "titop").mkdir(parents=True)
        (tmp_path / "home" / ".cache" / "titop").chmod(0o777)
        assert self.find().parent.parent == tmp_path / "temporary"

    def test_a_file_that_others_can_write_is_not_read(self, tmp_path, monkeypatch):
        folder = self.find()
        monkeypatch.setattr(cache, "cache_folder", lambda: folder)
        cache.write("kernel", b"code")
        assert cache.read("kernel") == b"code"
        (folder / "kernel").chmod(0o666)
        assert cache.read("kernel") is None

    def test_nothing_is_kept_of_sources_that_were_edited(self, monkeypatch):
        folder = self.find()
        monkeypatch.setattr(cache, "cache_folder", lambda: folder)
        monkeypatch.setattr(cache, "source_hash", lambda: "edited")
        assert "edited" in cache.write("kernel", b"code")
        assert list(folder.iterdir()) == []

    def test_a_failed_write_leaves_nothing(self, monkeypatch):
        folder = self.find()
        monkeypatch.setattr(cache, "cache_folder", lambda: folder)

        def full(*_):
            raise OSError("no space left")

        monkeypatch.setattr(cache.os, "replace", full)
        assert cache.write("kernel", b"code") == f"{folder}: no space left"
        assert list(folder.iterdir()) == []


def test_code_without_the_function_is_refused():
    def nothing():
        return 0

    code = machine_code("titop_other", nothing, Signature(()))
    with pytest.raises(RuntimeError, match="no function"):
        loading.load("titop_missing", code)


def _all_features():
    within = pkgutil.walk_packages(kernels.__path__, f"{kernels.__name__}.")
    modules = [importlib.import_module(info.name) for info in within]
    found = {thing.name: thing for module in modules for thing in vars(module).values() if isinstance(thing, Feature)}
    assert len(found) > 10
    return sorted(found.items())


@pytest.fixture(scope="module")
def system_of_features():
    """A system that has everything which only some systems have, and its functions at a state."""
    s = random_system(np.random.default_rng(3))
    wet = Wet("wet", 0.5, [0, 0.1, 0], [0.02, 0.03, 0.04])
    s.connect(s["hub"], wet, tt.Spherical("socket", stiffness=2.0, armature=[0.1, 0.2, 0.3]))
    s.add_load(tt.Load("shove", s["tip"], force=[1.0, 2.0, 3.0], frame="world"))
    s.close_loop(s["near"].port("C0"), s["tip"], tt.SpringDamper("strut", stiffness=3.0, damping=0.1, length=0.2))
    oscillator = tt.System("oscillator")
    oscillator.connect("world", tt.RigidBody("mass", mass=1.0), tt.Prismatic("rail", stiffness=4.0, damping=0.1))
    rigid, m, rng = oscillator.resolve(), s.resolve(), np.random.default_rng(1)
    q, (v, a, tau) = m.random_configuration(rng), rng.normal(size=(3, m.nv))
    return {
        "forward": lambda: m.forward_dynamics(q, v, tau),
        "inverse": lambda: m.inverse_dynamics(q, v, a),
        "energy": lambda: m.energy(q, v),
        "by forward": lambda: m.forward_dynamics_derivatives(q, v, tau),
        "by inverse": lambda: m.inverse_dynamics_derivatives(q, v, a),
        "hybrid": lambda: m.hybrid_dynamics(q, v, a, tau, ["socket"]),
        "along": lambda: rigid.forward_dynamics_tangent([0.3], [0.2], [0.1], [1.0], [2.0], [3.0]),
        "transposed": lambda: np.concatenate(rigid.forward_dynamics_adjoint([0.3], [0.2], [0.1], [1.0])),
    }


@pytest.mark.parametrize(("name", "feature"), _all_features())
def test_a_feature_that_cannot_be_compiled_is_said(name, feature, system_of_features, monkeypatch):
    """What calls a feature gives up, and the reason reaches Python: no result that lacks what the feature does."""

    def broken(_):
        raise RuntimeError("no compiler")

    right = {function: np.concatenate([np.ravel(x) for x in call()]) for function, call in system_of_features.items()}
    known, reasons = feature._called.value, []
    with monkeypatch.context() as patched:
        feature._called.value = feature._first.address
        patched.setattr(type(feature), "address", property(broken))
        for function, call in system_of_features.items():
            try:
                found = np.concatenate([np.ravel(x) for x in call()])
            except RuntimeError as error:
                reasons.append(str(error))
            else:
                assert np.array_equal(found, right[function]), function
        feature._called.value = known
    assert set(reasons) == {"no compiler"}
    for function, call in system_of_features.items():
        assert np.array_equal(np.concatenate([np.ravel(x) for x in call()]), right[function])


def _counted(calls):
    def longer(numbers):
        calls.append(None)
        numbers[0] = 1.5 * numbers[0]
        return 0

    return longer


def test_a_patient_kernel_runs_as_it_is_written_until_that_takes_too_long(monkeypatch):
    calls, numbers = [], np.ones(1)
    longer = entry(VECTOR, patience=60.0)(_counted(calls))
    compiled = []
    monkeypatch.setattr(type(longer), "compiled", property(lambda self: compiled.append))
    assert longer(numbers) == 0
    assert numbers[0] == 1.5
    assert len(calls) == 1
    longer.patience = 1e-9
    longer(numbers)
    longer(numbers)
    assert len(calls) == 2
    assert len(compiled) == 1


def test_a_patient_kernel_of_which_machine_code_is_kept_uses_that(monkeypatch):
    calls = []
    longer = entry(VECTOR, patience=60.0)(_counted(calls))
    monkeypatch.setattr(cache, "read", lambda name: b"code")
    monkeypatch.setattr(type(longer), "compiled", property(lambda self: lambda numbers: 7))
    assert longer(np.ones(1)) == 7
    assert not calls


@pytest.mark.parametrize("seed", range(3))
def test_packing_gives_the_same_bits_uncompiled(seed):
    model = random_system(np.random.default_rng(seed)).resolve()
    tables, params = model._tables, model._params
    filled = []
    for pack in (dynamics_entries.pack.compiled, dynamics_entries.pack.function):
        tables_of_floats = [np.zeros_like(model._floats), np.zeros_like(model._frames), np.zeros_like(model._ports)]
        assert pack(model._ints, tables.sources, tables.constants, tables.port_table, params, *tables_of_floats) == layout.OK
        filled.append(tables_of_floats)
    for ours, theirs in zip(*filled, strict=True):
        assert np.array_equal(ours, theirs)
        assert ours.any()


def test_packing_refuses_what_is_not_finite_uncompiled_too():
    model = random_system(np.random.default_rng(0)).resolve()
    tables, filled = model._tables, [np.zeros_like(model._floats), np.zeros_like(model._frames), np.zeros_like(model._ports)]
    for wrong in (np.nan, np.inf):
        for k in range(0, len(model._params), 7):
            params = model._params.copy()
            params[k] = wrong
            assert (
                dynamics_entries.pack.function(
                    model._ints, tables.sources, tables.constants, tables.port_table, params, *filled
                )
                == 1
            )
