"""Arrays in ``.npz`` files: written whole or not at all, read without trust."""

from __future__ import annotations

import math
import os
import re
import struct
import sys
import zipfile
import zlib
from collections.abc import Mapping
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
#: What a damaged file does to the modules that read it.
_DAMAGE = (ValueError, EOFError, OSError, RuntimeError, NotImplementedError, struct.error, zipfile.BadZipFile, zlib.error)


def write_archive(path: str | os.PathLike[str], arrays: Mapping[str, Any]) -> None:
    """Write arrays to a ``.npz`` file.

    Raises
    ------
    ModelError
        If the path does not end in ``.npz``.
    """
    check_suffix(path, ("npz",))
    with replaced_file(path) as file:
        np.savez_compressed(file, **arrays)


class Archive:
    """The arrays of a file that another program may have written.

    Parameters
    ----------
    path : str or path
    writer : str
        What writes such files, for messages.
    max_bytes : int
        Most bytes of all arrays.

    Attributes
    ----------
    arrays : dict of name to array

    Raises
    ------
    ModelError
        If there is no file, or it holds anything but arrays of numbers and texts, or more than `max_bytes`; nothing in it is
        executed.

    Notes
    -----
    Arguments of the methods: `name`, of an array; `kinds`, of NumPy's dtypes.
    """

    def __init__(self, path: str | os.PathLike[str], writer: str, max_bytes: int = MAX_BYTES) -> None:
        if not isinstance(path, str | os.PathLike):
            raise ModelError(Finding("wrong-type", "path", path, "the name of a file", f"give one that {writer} wrote"))
        self._path, self._writer = os.fspath(path), writer
        self.arrays: dict[str, Array] = {}
        try:
            with open_file(path) as file:
                self._read(file, max_bytes)
        except ModelError:
            raise
        except FileNotFoundError as error:
            finding = Finding("no-file", self._path, error, f"a file of {writer}", "check the path")
            raise ModelError(finding) from None
        except _DAMAGE as error:
            self.refuse(error)

    def _read(self, file: BinaryIO, max_bytes: int) -> None:
        if _directory_size(file) > _MAX_DIRECTORY:
            self.refuse("a list of too many arrays")
        with zipfile.ZipFile(file) as archive:
            members = archive.infolist()
            unpacked = sum(member.file_size for member in members)
            if unpacked > max_bytes:
                advice = "give max_bytes if you trust the file"
                raise ModelError(Finding("too-large", self._path, f"{unpacked} bytes", f"at most {max_bytes} bytes", advice))
            for member in members:
                if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
                    self.refuse(f"{member.filename}, packed in an unknown way")
                with archive.open(member) as stream:
                    self.arrays[member.filename.removesuffix(_SUFFIX)] = _array(stream, member.file_size)

    def refuse(self, found: Any) -> NoReturn:
        """Refuse the file for what was `found` in it."""
        raise ModelError(Finding("wrong-format", self._path, found, f"a file of {self._writer}", _ADVICE))

    def array(self, name: str, *shape: int | None, kinds: str = "f") -> Array:
        """Return an array; its `shape` may leave sizes open (None).

        Raises
        ------
        ModelError
            If there is none, or one of another shape or kind; so do the other methods.
        """
        array = self.arrays.get(name)
        if array is None:
            self.refuse(f"no {name}")
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
