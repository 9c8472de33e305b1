"""Files of arrays: what is damaged, large or another's is refused by name, quickly."""

from __future__ import annotations

import io
import os
import struct
import time
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import titop as tt
from titop.solvers.support.archive import FORMATS, MAX_BYTES, Archive, write_archive

ARRAYS = {
    "matrix": np.arange(6.0).reshape(2, 3),
    "columns": np.asfortranarray(np.arange(6).reshape(2, 3)),
    "number": np.array(3),
    "flag": np.array(True),
    "empty": np.zeros((0, 4)),
    "names": np.array(["a", "größer"]),
    "text": np.array("x"),
    "none": np.array([], dtype=np.str_),
    "with/slash:and.dot": np.zeros(3, dtype=np.float32),
}


@pytest.fixture(scope="module")
def trajectory() -> tt.Trajectory:
    s = tt.System("cart")
    s.connect("world", tt.RigidBody("cart", 1.0, ports={"C": [1, 0, 0]}), tt.Prismatic("rail", axis=[1, 0, 0]))
    model = s.resolve()
    return tt.simulate(model, np.linspace(0, 1, 5), [0.0], [1.0], wrenches={"cart.C": np.ones(6)})


@pytest.fixture(scope="module")
def family() -> tt.LPVModel:
    s = tt.System("pendulum")
    s.connect("world", tt.RigidBody("bob", 1.0, com=[0, 0, -1]), tt.Revolute("hinge", axis=[1, 0, 0]))
    return tt.lpv(s.resolve(), {"bob.mass": [1.0, 2.0]}, unknowns=["hinge"], inputs=["hinge"], outputs=["hinge.q"])


def npy(array: Any) -> bytes:
    """Return an array as a member of a file."""
    buffer = io.BytesIO()
    np.save(buffer, array)
    return buffer.getvalue()


def packed(path: Path, members: dict[str, bytes], compression: int = zipfile.ZIP_DEFLATED) -> Path:
    """Write a zip file."""
    with zipfile.ZipFile(path, "w", compression) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return path


def refusal(path: Path) -> str:
    """Return the code of the refusal, which must come quickly."""
    start = time.process_time()
    with pytest.raises(tt.ModelError) as caught:
        Archive(path, "the test")
    assert time.process_time() - start < 2.0
    return caught.value.code


def test_round_trip(tmp_path: Path) -> None:
    write_archive(tmp_path / "x.npz", ARRAYS)
    assert os.listdir(tmp_path) == ["x.npz"]
    found = Archive(tmp_path / "x.npz", "the test").arrays
    assert found.keys() == ARRAYS.keys()
    for name, array in ARRAYS.items():
        assert found[name].dtype == array.dtype
        assert found[name].flags.writeable
        np.testing.assert_array_equal(found[name], array)


@pytest.mark.parametrize("suffix", FORMATS[1:])
def test_round_trip_of_other_formats(tmp_path: Path, suffix: str) -> None:
    """Shapes are those that are asked for: MATLAB knows no lists, and netCDF no arrays without entries."""
    more = {"texts": np.array([["a", ""], ["c d", "°"]]), "flags": np.array([True, False]), "no text": np.array("")}
    arrays = ARRAYS | more | {"cube": np.arange(6.0).reshape(3, 2, 1), "odd": np.array([-0.0, np.nan, np.inf])}
    arrays = {name.replace("/", "_").replace(" ", "_"): array for name, array in arrays.items() if ":" not in name}
    write_archive(tmp_path / f"x.{suffix}", arrays, FORMATS)
    archive = Archive(tmp_path / f"x.{suffix}", "the test")
    for name, array in arrays.items():
        kind = array.dtype.kind
        found = archive.array(name, *array.shape, kinds="iu" if kind == "i" else kind)
        assert found.shape == array.shape
        assert found.flags.writeable
        assert found.astype(array.dtype).tobytes() == array.tobytes()
    with pytest.raises(tt.ModelError, match=r"matrix of shape.*wrong-format"):
        archive.array("matrix", 3, 2)


def test_families_of_another_format_are_refused(family: tt.LPVModel, tmp_path: Path) -> None:
    family.save(tmp_path / "x.npz")
    assert tt.LPVModel.load(tmp_path / "x.npz").parameters["bob.mass"].tolist() == [1.0, 2.0]
    write_archive(tmp_path / "old.npz", Archive(tmp_path / "x.npz", "the test").arrays | {"format": np.array(1)})
    with pytest.raises(tt.ModelError, match=r"got format 1, not 2.*wrong-format"):
        tt.LPVModel.load(tmp_path / "old.npz")


@pytest.mark.parametrize("name", ["x.csv", "x", "x.npz.txt", "x.npy"])
def test_other_suffixes_are_refused(name: str, tmp_path: Path, trajectory: tt.Trajectory, family: tt.LPVModel) -> None:
    for save in (trajectory.save, family.save):
        with pytest.raises(tt.ModelError, match=r"expected one of .*\.npz"):
            save(tmp_path / name)
    assert os.listdir(tmp_path) == []


def test_what_is_no_file(tmp_path: Path) -> None:
    assert refusal(tmp_path) == "wrong-format"
    assert refusal(Path("nul\0byte")) == "wrong-format"
    assert refusal(tmp_path / "none.npz") == "no-file"
    if hasattr(os, "mkfifo"):
        os.mkfifo(tmp_path / "pipe")
        assert refusal(tmp_path / "pipe") == refusal(Path("/dev/zero")) == "wrong-format"


def test_a_small_file_of_large_arrays(tmp_path: Path) -> None:
    """3 GB of zeros in 3 MB; a caller who trusts the file may allow more."""
    path = tmp_path / "x.npz"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        archive.writestr("x.npy", npy(np.zeros(1_000_000)))
    data = path.read_bytes()
    size = struct.pack("<I", 8_000_128)
    assert data.count(size) == 2
    path.write_bytes(data.replace(size, struct.pack("<I", 3_000_000_000)))
    assert refusal(path) == "too-large"
    path.write_bytes(data)
    assert Archive(path, "the test", max_bytes=8_000_128).arrays["x"].shape == (1_000_000,)
    with pytest.raises(tt.ModelError, match="give max_bytes if you trust the file"):
        Archive(path, "the test", max_bytes=8_000_127)
    assert MAX_BYTES < 500_000_000


def test_a_small_file_of_matlab_of_large_arrays(tmp_path: Path) -> None:
    """What is packed counts unpacked: the tag and header of the matrix come with its numbers."""
    write_archive(tmp_path / "x.mat", {"x": np.zeros(1_000_000)}, ("mat",))
    assert (tmp_path / "x.mat").stat().st_size < 10_000
    assert Archive(tmp_path / "x.mat", "the test", max_bytes=8_000_100).arrays["x"].size == 1_000_000
    with pytest.raises(tt.ModelError, match="give max_bytes if you trust the file"):
        Archive(tmp_path / "x.mat", "the test", max_bytes=8_000_000)


def test_scipy_does_not_see_damaged_files_of_matlab(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It crashes of some of them before it compares checksums. Where it reads, what is packed is the same."""
    path, same = tmp_path / "x.mat", 0
    write_archive(path, {"x": np.arange(30.0)}, ("mat",))
    whole = path.read_bytes()
    monkeypatch.setattr("scipy.io.loadmat", lambda *_, **__: {})
    for place in range(136, len(whole)):  # behind the header and the element's tag
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
        try:
            Archive(path, "the test")
        except tt.ModelError:
            continue
        same += 1
        assert zlib.decompress(path.read_bytes()[136:]) == zlib.decompress(whole[136:])
    assert same <= 2  # unused bits before the checksum


@pytest.mark.parametrize("shape", ["(1000000000000,)", "(4,)", "(2,)", "(-3,)", "(0, 1000000000000)", "(" + "9" * 200 + ",)"])
def test_a_header_that_promises_what_is_not_there(shape: str, tmp_path: Path) -> None:
    header = f"{{'descr': '<f8', 'fortran_order': False, 'shape': {shape}, }}\n".encode()
    data = b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + bytes(24)
    expected = data.replace(shape.encode(), b"(3,)").replace(
        struct.pack("<H", len(header)), struct.pack("<H", len(header) - len(shape) + 4)
    )
    assert Archive(packed(tmp_path / "good.npz", {"x.npy": expected}), "the test").arrays["x"].tolist() == [0.0] * 3
    assert refusal(packed(tmp_path / "x.npz", {"x.npy": data})) == "wrong-format"


@pytest.mark.parametrize(
    "member",
    [
        b"",
        b"text",
        b"\x93NUMPY",
        b"\x93NUMPY\x01\x00\xff\xff",
        npy([1.0])[:-1],
        npy([1.0]) + b"x",
        npy(np.zeros(1, dtype="<f8,<f4")),
        b"\x93NUMPY\x01\x00\x10\x00" + b"(" * 16,
        npy(["a"])[:-4] + b"\xff\xff\xff\x7f",
    ],
    ids=["nothing", "text", "magic", "no header", "cut", "longer", "record", "nested", "no letter"],
)
def test_what_is_no_array(member: bytes, tmp_path: Path) -> None:
    assert refusal(packed(tmp_path / "x.npz", {"x.npy": member})) == "wrong-format"


def test_objects_are_not_executed(tmp_path: Path) -> None:
    np.savez(tmp_path / "x.npz", x=np.array([print], dtype=object))
    assert refusal(tmp_path / "x.npz") == "wrong-format"


def test_other_ways_of_packing(tmp_path: Path) -> None:
    assert refusal(packed(tmp_path / "x.npz", {"x.npy": npy([1.0])}, zipfile.ZIP_LZMA)) == "wrong-format"
    assert Archive(packed(tmp_path / "x.npz", {"x.npy": npy([1.0])}, zipfile.ZIP_STORED), "the test").arrays["x"] == [1.0]


def test_too_many_arrays(tmp_path: Path) -> None:
    assert refusal(packed(tmp_path / "x.npz", {str(k): b"" for k in range(20_000)})) == "wrong-format"


@pytest.mark.parametrize(
    ("name", "array"),
    [
        ("format", np.array("one")),
        ("format", np.array([1, 1])),
        ("format", np.array(2)),
        ("t", np.zeros((5, 1))),
        ("t", np.array(["a"] * 5)),
        ("q", np.zeros((4, 1))),
        ("v", np.zeros((5, 2))),
        ("coordinate_names", np.array([1.0])),
        ("wrench:cart.C", np.zeros((5, 5))),
        ("event:x", np.array(1.0)),
        ("statistic:steps", np.array("many")),
        ("control:t", np.zeros(5)),
    ],
)
def test_trajectories_of_other_shapes(name: str, array: Any, trajectory: tt.Trajectory, tmp_path: Path) -> None:
    trajectory.save(tmp_path / "x.npz")
    tt.load_trajectory(tmp_path / "x.npz", trajectory.model)
    arrays = Archive(tmp_path / "x.npz", "the test").arrays
    write_archive(tmp_path / "y.npz", arrays | {name: array})
    with pytest.raises(tt.ModelError, match="wrong-format"):
        tt.load_trajectory(tmp_path / "y.npz", trajectory.model)


@pytest.mark.parametrize(
    ("name", "array"),
    [
        ("format", np.array("one")),
        ("A", np.zeros((2, 2, 3))),
        ("valid", np.zeros(2)),
        ("parameter_1", np.zeros((2, 1))),
        ("parameter_units", np.array(["bob.mass", "kg"])),
        ("parameter_units", np.array([["bob.mass", "kg"], ["other", "kg"]])),
        ("states", np.array(["hinge.q"])),
        ("is_grid", np.array("yes")),
        ("name", np.array(1)),
    ],
)
def test_families_of_other_shapes(name: str, array: Any, family: tt.LPVModel, tmp_path: Path) -> None:
    family.save(tmp_path / "x.npz")
    tt.LPVModel.load(tmp_path / "x.npz")
    arrays = Archive(tmp_path / "x.npz", "the test").arrays
    write_archive(tmp_path / "y.npz", arrays | {name: array})
    with pytest.raises(tt.ModelError, match="wrong-format"):
        tt.LPVModel.load(tmp_path / "y.npz")


@pytest.mark.parametrize("kind", ["trajectory", "family"])
def test_mutants(kind: str, trajectory: tt.Trajectory, family: tt.LPVModel, tmp_path: Path) -> None:
    """Bytes changed: refused, or read; a checksum stands in the way of most changes."""
    result: Any = {"trajectory": trajectory, "family": family}[kind]
    load: Callable[..., Any] = tt.load_trajectory if kind == "trajectory" else lambda path, _: tt.LPVModel.load(path)
    result.save(tmp_path / "x.npz")
    data = (tmp_path / "x.npz").read_bytes()
    rng = np.random.default_rng(1)
    refused = 0
    for _ in range(500):
        mutant = bytearray(data)
        for position in rng.integers(len(data), size=rng.integers(1, 4)):
            mutant[position] = rng.integers(256)
        (tmp_path / "x.npz").write_bytes(mutant[: rng.integers(len(data)) if rng.random() < 0.1 else None])
        try:
            load(tmp_path / "x.npz", trajectory.model)
        except tt.ModelError:
            refused += 1
    assert 250 < refused <= 500
