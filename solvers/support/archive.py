"""Arrays in ``.npz``, ``.mat`` (MATLAB) and ``.nc`` (netCDF) files: written whole or not at all, read without trust."""

from __future__ import annotations

import json
import math
import os
import re
import struct
import sys
import zipfile
import zlib
from collections.abc import Mapping, Sequence
from pathlib import PurePath
from typing import IO, Any, BinaryIO, NoReturn

import numpy as np

from titop.blocks.basics.errors import Finding, ModelError
from titop.blocks.basics.local_files import open_file, replaced_file
from titop.blocks.basics.spatial import Array
from titop.blocks.basics.user_input import check_suffix

#: Most bytes of all arrays of a file, unless a caller allows more, and of the file's own list of them.
MAX_BYTES = 400_000_000
_MAX_DIRECTORY = 1_000_000

#: What NumPy writes before the numbers of an array.
_MAGIC = b"\x93NUMPY\x01\x00"
_HEADER = re.compile(rb"\{'descr': '([<|][biufU]\d{1,9})', 'fortran_order': (True|False), 'shape': \(([\d, ]*)\), \} *\n")
_SUFFIX = ".npy"
_CHUNK = 1 << 20
_ADVICE = "the file is damaged or another's: check the path"
#: What a damaged file does to the modules that read it: those of npz files, and also those of others.
_DAMAGE = (ValueError, EOFError, OSError, RuntimeError, NotImplementedError, struct.error, zipfile.BadZipFile, zlib.error)
_MORE_DAMAGE = (TypeError, LookupError, AttributeError, AssertionError, OverflowError, MemoryError)

#: Of a file of MATLAB: bytes of its header, and the kind of an element that is packed.
_MAT_HEADER, _PACKED = 128, 15

#: Suffixes of all formats.
FORMATS = ("npz", "mat", "nc")
#: Of a netCDF file: the name of an attribute that lists arrays without entries, and of one that tells truth values.
_EMPTY, _FLAG = "empty_arrays", "truth_values"


def write_archive(
    path: str | os.PathLike[str],
    arrays: Mapping[str, Any],
    formats: Sequence[str] = FORMATS[:1],
    axes: Mapping[str, Sequence[str]] | None = None,
) -> None:
    """Write arrays to a file of one of some `formats`, by its suffix; `axes` are names of dimensions in netCDF files.

    Raises `ModelError` if the path has another suffix.
    """
    check_suffix(path, formats)
    with replaced_file(path) as file:
        match _format_of(path):
            case "mat":
                _write_mat(file, arrays)
            case "nc":
                _write_nc(file, arrays, axes or {})
            case _:
                np.savez_compressed(file, **arrays)


def _format_of(path: str | os.PathLike[str]) -> str:
    return PurePath(path).suffix.lower().lstrip(".")


class Archive:
    """The arrays of a file that another program may have written; its suffix says its format, by default ``.npz``.

    Nothing in it is executed. `writer` says in messages what writes such files. Arguments of the methods are the `name` of an
    array and `kinds` of NumPy's dtypes; they, too, refuse what does not fit.

    Raises `ModelError` if there is no file, or it holds anything but arrays of numbers and texts, or more than `max_bytes`.
    """

    def __init__(self, path: str | os.PathLike[str], writer: str, max_bytes: int = MAX_BYTES) -> None:
        if not isinstance(path, str | os.PathLike):
            raise ModelError(Finding("wrong-type", "path", path, "the name of a file", f"give one that {writer} wrote"))
        self.path, self._writer, self._format = os.fspath(path), writer, _format_of(path)
        self.arrays: dict[str, Array] = {}
        try:
            with open_file(path) as file:
                if self._format in FORMATS[1:]:
                    self._read_other(file, max_bytes)
                else:
                    self._read(file, max_bytes)
        except ModelError:
            raise
        except FileNotFoundError as error:
            finding = Finding("no-file", self.path, error, f"a file of {writer}", "check the path")
            raise ModelError(finding) from None
        except _DAMAGE as error:
            self.refuse(error)

    def _read_other(self, file: BinaryIO, max_bytes: int) -> None:
        size = os.fstat(file.fileno()).st_size
        if size <= max_bytes and self._format == "mat":
            size = _unpacked_size(file, max_bytes)
        if size > max_bytes:
            self._refuse_size(size, max_bytes)
        from scipy.io.matlab import MatReadError

        try:
            self.arrays = _read_mat(file) if self._format == "mat" else _read_nc(file)
        except (*_MORE_DAMAGE, MatReadError) as error:
            self.refuse(f"{type(error).__name__}: {error}")

    def _read(self, file: BinaryIO, max_bytes: int) -> None:
        if _directory_size(file) > _MAX_DIRECTORY:
            self.refuse("a list of too many arrays")
        with zipfile.ZipFile(file) as archive:
            members = archive.infolist()
            unpacked = sum(member.file_size for member in members)
            if unpacked > max_bytes:
                self._refuse_size(unpacked, max_bytes)
            for member in members:
                if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
                    self.refuse(f"{member.filename}, packed in an unknown way")
                with archive.open(member) as stream:
                    self.arrays[member.filename.removesuffix(_SUFFIX)] = _array(stream, member.file_size)

    def _refuse_size(self, size: int, most: int) -> NoReturn:
        advice = "give max_bytes if you trust the file"
        raise ModelError(Finding("too-large", self.path, f"{size} bytes", f"at most {most} bytes", advice))

    def refuse(self, found: Any) -> NoReturn:
        """Refuse the file for what was `found` in it."""
        raise ModelError(Finding("wrong-format", self.path, found, f"a file of {self._writer}", _ADVICE))

    def array(self, name: str, *shape: int | None, kinds: str = "f") -> Array:
        """Return an array; its `shape` may leave sizes open (None).

        Raises `ModelError` if there is none, or one of another shape or kind.
        """
        array = self.arrays.get(name)
        if array is None:
            self.refuse(f"no {name}")
        if self._format == "mat":
            array = _with_axes(array, shape, kinds)
        fits = array.ndim == len(shape) and all(n in (m, None) for n, m in zip(shape, array.shape, strict=True))
        if not fits or array.dtype.kind not in kinds:
            self.refuse(f"{name} of shape {array.shape} and type {array.dtype}")
        return array

    def texts(self, name: str, *shape: int | None) -> Any:
        """Return an array of texts as nested lists; its `shape` as in `array`."""
        return self.array(name, *shape, kinds="U").tolist()

    def names(self, name: str) -> tuple[str, ...]:
        """Return a list of texts."""
        return tuple(self.texts(name, None))

    def scalar(self, name: str, kinds: str) -> Any:
        """Return the only entry of an array."""
        return self.array(name, kinds=kinds).item()

    def check_format(self, version: int) -> None:
        """Refuse a file whose array ``format`` is not that of a `version`."""
        found = self.scalar("format", "iu")
        if found != version:
            self.refuse(f"format {found}, not {version}")


def _directory_size(file: BinaryIO) -> int:
    """Return the bytes of a zip file's list of members, which would all be read at once."""
    file.seek(0, os.SEEK_END)
    file.seek(max(0, file.tell() - (1 << 16)))
    tail = file.read()
    end = tail.rfind(b"PK\x05\x06")
    return int(struct.unpack_from("<I", tail, end + 12)[0]) if 0 <= end <= len(tail) - 22 else 0


def _array(stream: IO[bytes], size: int) -> Array:
    """Return the array of a member of `size` bytes, and believe its header only so far."""
    if stream.read(len(_MAGIC)) != _MAGIC:
        raise ValueError("something that is no array")
    header = stream.read(*struct.unpack("<H", stream.read(2)))
    match = _HEADER.fullmatch(header)
    if match is None:
        raise ValueError(f"an array described by {header[:100]!r}")
    dtype, shape = np.dtype(match[1].decode()), [int(n) for n in match[3].split(b",") if n.strip()]
    count = math.prod(shape)
    if count * dtype.itemsize != size - len(_MAGIC) - 2 - len(header) or count > size:
        raise ValueError(f"an array of shape {tuple(shape)} in {size} bytes")
    flat = np.empty(count, dtype=dtype)
    if count and dtype.itemsize:
        _fill(flat, stream)
    stream.read()  # the end, where the checksum is compared
    return flat.reshape(shape[::-1]).T if match[2] == b"True" else flat.reshape(shape)


def _fill(flat: Array, stream: IO[bytes]) -> None:
    target = flat.view(np.uint8).data
    for start in range(0, len(target), _CHUNK):
        target[start : start + _CHUNK] = stream.read(min(_CHUNK, len(target) - start))
    if flat.dtype.kind == "U" and flat.view(np.uint32).max() > sys.maxunicode:
        raise ValueError("a text of what are no letters")


# -- MATLAB -----------------------------------------------------------------------------------------------------------------


def _write_mat(file: BinaryIO, arrays: Mapping[str, Any]) -> None:
    """Write arrays to a file of MATLAB: lists and tables of texts as cells, lists as columns."""
    from scipy.io import savemat

    def of_matlab(array: Any) -> Any:
        return array.astype(object) if isinstance(array, np.ndarray) and array.dtype.kind == "U" and array.ndim else array

    tables = {name: of_matlab(array) for name, array in arrays.items()}
    savemat(file, tables, do_compression=True, long_field_names=True, oned_as="column")


def _unpacked_size(file: BinaryIO, most: int) -> int:
    """Return the bytes of what is packed in a file of MATLAB, or some number larger than `most`.

    All of it is compared with its checksums here: scipy reads the bytes of a damaged file before it comes to these, and may
    crash. Raises `zlib.error` if something is damaged.
    """
    data, unpacked, at = file.read(), 0, _MAT_HEADER
    file.seek(0)
    order = {b"IM": "<", b"MI": ">"}.get(data[at - 2 : at])
    while order and at + 8 <= len(data) and unpacked <= most:
        kind, size = struct.unpack_from(f"{order}II", data, at)
        at += 8 + size
        if kind == _PACKED:
            stream = zlib.decompressobj()
            unpacked += len(stream.decompress(data[at - size : at], most - unpacked + 1))
            if not stream.eof and unpacked <= most:
                raise zlib.error("something packed without an end")
    return unpacked


def _read_mat(file: BinaryIO) -> dict[str, Array]:
    from scipy.io import loadmat

    result = {}
    for name, array in loadmat(file, mat_dtype=True).items():
        if not isinstance(array, np.ndarray) or array.dtype.names or array.dtype.kind not in "biufUO":
            continue
        if array.dtype.kind == "O":
            cells = [np.asarray(cell) for cell in array.ravel()]
            if any(cell.dtype.kind != "U" or cell.size > 1 for cell in cells):
                continue
            texts = np.array([str(cell.item()) if cell.size else "" for cell in cells], dtype=np.str_)
            array = texts.reshape(array.shape)
        result[name] = np.array(array, order="C")
    return result


def _with_axes(array: Array, shape: Sequence[int | None], kinds: str) -> Array:
    """Return an array of MATLAB, where all have two axes at least and none of length one at the end, with those of a shape."""
    if kinds == "b" and array.dtype.kind in "uf":
        array = array.astype(bool)
    if not array.size and "U" in kinds and not shape:
        return np.array("")
    if not array.size and not all(shape):
        return np.zeros([n or 0 for n in shape], dtype=array.dtype if array.dtype.kind in kinds else f"{kinds[0]}8")
    left = [n for n in array.shape if n != 1] if len(shape) < 2 else list(array.shape)
    sizes = [*left, *[1] * (len(shape) - len(left))]
    return array.reshape(sizes) if len(sizes) == len(shape) else array


# -- netCDF -----------------------------------------------------------------------------------------------------------------


def _write_nc(file: BinaryIO, arrays: Mapping[str, Any], axes: Mapping[str, Sequence[str]]) -> None:
    """Write arrays to a netCDF file (64-bit offsets): texts as characters in UTF-8, whole numbers in 32 bits."""
    from scipy.io import netcdf_file

    empty = {}
    dataset = netcdf_file(file, "w", version=2)
    for name, given in arrays.items():
        array = np.asarray(given)
        if not array.size:
            empty[name] = [list(array.shape), array.dtype.kind]
            continue
        names = [*axes.get(name, (f"{name}_{k}" for k in range(array.ndim)))]
        kind = array.dtype.kind
        if kind == "U":
            encoded = np.char.encode(array, "utf8")
            width = max(encoded.dtype.itemsize, 1)
            array = np.frombuffer(encoded.astype(f"S{width}").tobytes(), dtype="S1").reshape(*array.shape, width)
            names.append(f"{name}_letters")
        elif kind in "iub":
            array = array.astype(np.int8 if kind == "b" else np.int32)
        for axis, size in zip(names, array.shape, strict=True):
            if axis not in dataset.dimensions:
                dataset.createDimension(axis, size)
        variable = dataset.createVariable(name, array.dtype, names)
        variable.data[...] = array
        if kind == "U":
            variable._Encoding = "utf-8"
        if kind == "b":
            setattr(variable, _FLAG, 1)
    setattr(dataset, _EMPTY, json.dumps(empty))
    dataset.flush()


def _read_nc(file: BinaryIO) -> dict[str, Array]:
    from scipy.io import netcdf_file

    dataset = netcdf_file(file, "r", mmap=False)
    result = {}
    for name, variable in dataset.variables.items():
        array = np.array(variable.data)
        if array.dtype.kind == "S":
            joined = np.frombuffer(np.ascontiguousarray(array).tobytes(), dtype=f"S{array.shape[-1]}")
            result[name] = np.array(np.char.decode(joined, "utf8").reshape(array.shape[:-1]))
        elif hasattr(variable, _FLAG):
            result[name] = array.astype(bool)
        else:
            result[name] = array.astype(array.dtype.newbyteorder("="))
    for name, (shape, kind) in json.loads(getattr(dataset, _EMPTY, b"{}")).items():
        result[name] = np.zeros(shape, dtype={"U": "U1", "b": "?"}.get(kind, f"{kind}8"))
    return result
