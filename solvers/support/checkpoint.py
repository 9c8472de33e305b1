"""What a long sweep has computed, in a file from which it goes on."""

from __future__ import annotations

import functools
import hashlib
import io
import os
import pickle
import time
from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from types import CellType, CodeType
from typing import Any

import numpy as np

from titop.blocks.basics.errors import Finding, ModelError
from titop.blocks.basics.local_files import open_file, replaced_file

#: Seconds between two writings, and how many times as long as a writing takes.
_EVERY, _RARELY = 5.0, 20.0

_NUMBERS = int | float | complex | np.generic | np.ndarray

#: What a file begins with.
_MAGIC = "titop checkpoint 1"

#: What arrays and complex numbers are made of when they are read.
_PLAIN = {
    ("builtins", "complex"),
    ("numpy", "ndarray"),
    ("numpy", "dtype"),
    *((f"numpy.{core}.{module}", name) for core in ("core", "_core") for module, name in (
        ("multiarray", "_reconstruct"), ("multiarray", "scalar"), ("numeric", "_frombuffer"))),
}  # fmt: skip


class Checkpoint:
    """The answers of a sweep's tasks, in a file that is written whole or not at all.

    It is written every five seconds, less often where that takes longer than a twentieth of the time, and at the end.

    - `path`: a file that exists has to be of the same sweep;
    - `sweep`: the function that sweeps;
    - `about`: what makes the sweep this one: its arguments;
    - `kinds`: classes of which answers are made, besides numbers, texts, arrays and their collections.

    Raises `ModelError` if the file is of another sweep (the message says in what it differs), damaged or another program's;
    nothing in it is executed. Raises `OSError` if it cannot be written.

    `key` in the methods: the name of a task; `message` an answer as bytes.
    """

    def __init__(self, path: str | os.PathLike[str], sweep: str, about: Mapping[str, Any], kinds: Sequence[type] = ()) -> None:
        if not isinstance(path, str | os.PathLike):
            advice = "such as checkpoint='night.sweep'"
            raise ModelError(Finding("wrong-type", "checkpoint", path, "the name of a file", advice))
        self._path, self._kinds = os.fspath(path), kinds
        self._header = {"sweep": sweep, **{name: digest(thing) for name, thing in about.items()}}
        self._messages: dict[Any, bytes] = {}
        if os.path.lexists(path):
            self._read()
        self._due, self._changed = 0.0, True
        self.save()

    def __contains__(self, key: Any) -> bool:
        return key in self._messages

    def answer(self, key: Any) -> Any:
        """Return an answer."""
        try:
            return _load(self._messages[key], self._kinds)
        except Exception as error:
            raise self._refusal(error) from None

    def put(self, key: Any, message: bytes) -> None:
        """Keep an answer; write the file if that is due."""
        self._messages[key], self._changed = message, True
        if time.monotonic() >= self._due:
            self.save()

    def save(self) -> None:
        """Write the file, if there is something new."""
        if not self._changed:
            return
        begin = time.monotonic()
        with replaced_file(self._path) as file:
            pickle.dump((_MAGIC, self._header | {"answers": digest(self._messages)}, self._messages), file)
        end = time.monotonic()
        self._due, self._changed = end + max(_EVERY, _RARELY * (end - begin)), False

    def _read(self) -> None:
        try:
            with open_file(self._path) as file:
                magic, header, messages = _load(file.read(), ())
            if magic != _MAGIC or not isinstance(messages, dict) or not isinstance(header, dict):
                raise ValueError("no list of answers")
            if header.get("answers") != digest(messages):
                raise ValueError("other answers than were written")
        except Exception as error:
            raise self._refusal(error) from None
        other = [name for name, value in self._header.items() if header.get(name) != value]
        if other:
            got = f"another sweep's: {header.get('sweep')}" if other[0] == "sweep" else f"of another {', '.join(other)}"
            advice = "give the arguments that it was begun with, or the name of a new file"
            raise ModelError(Finding("other-sweep", self._path, got, f"the checkpoint of this {self._header['sweep']}", advice))
        self._messages = messages

    def _refusal(self, error: Exception) -> ModelError:
        advice = "the file is damaged or another's: give the name of a new file"
        return ModelError(Finding("wrong-format", self._path, error, "a checkpoint of titop", advice))


class _PlainReader(pickle.Unpickler):
    """Makes nothing but plain data and the results that are expected."""

    def __init__(self, data: Any, kinds: Sequence[type]) -> None:
        super().__init__(data)
        self._kinds = {(kind.__module__, kind.__qualname__): kind for kind in kinds}

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) in _PLAIN:
            return super().find_class(module, name)
        if (module, name) not in self._kinds:
            raise pickle.UnpicklingError(f"{module}.{name} in it")
        return self._kinds[module, name]


def _load(data: bytes, kinds: Sequence[type]) -> Any:
    return _PlainReader(io.BytesIO(data), kinds).load()


def identity(model: Any) -> tuple[Any, ...]:
    """Return what tells models apart: their coordinates, states, inputs and parameters."""
    return model.coordinate_names, model.configuration_names, model.state_names, model.input_names, model.parameters()


def digest(thing: Any) -> str:
    """Return a text that tells things apart, the same in every process.

    Of functions it is their code, and the numbers, texts and arrays that it refers to; other objects are told by their class.
    """
    state = hashlib.sha256()
    for part in _parts(thing):
        state.update(part.encode() if isinstance(part, str) else part)
        state.update(b"\0")
    return state.hexdigest()


def _parts(thing: Any) -> Any:
    """Yield texts and bytes of which a thing consists."""
    yield type(thing).__name__
    if isinstance(thing, np.ndarray) and thing.dtype != object:
        yield from (str(thing.dtype), str(thing.shape), np.ascontiguousarray(thing).tobytes())
    elif isinstance(thing, Mapping):
        for key, value in thing.items():
            yield from _parts(key)
            yield from _parts(value)
    elif isinstance(thing, list | tuple | np.ndarray):
        for value in thing:
            yield from _parts(value)
        yield "end"
    elif isinstance(thing, CodeType):
        yield thing.co_code
        yield from _parts(thing.co_consts)
        yield from _parts(thing.co_names)
    elif isinstance(thing, functools.partial):
        yield from _parts((thing.func, thing.args, thing.keywords))
    elif hasattr(thing, "__code__"):
        yield thing.__qualname__
        yield from _parts(thing.__code__)
        outside = [thing.__globals__.get(name) for name in thing.__code__.co_names]
        closure = [cell.cell_contents for cell in thing.__closure__ or () if cell != CellType()]
        values = [*(thing.__defaults__ or ()), *(thing.__kwdefaults__ or {}).values(), *closure, *outside]
        yield from _parts([value for value in values if isinstance(value, _NUMBERS | str)])
    elif is_dataclass(thing):
        for field in fields(thing):
            yield from _parts(getattr(thing, field.name))
    elif isinstance(thing, str | bytes | range | _NUMBERS) or thing is None:
        yield thing if isinstance(thing, bytes) else repr(thing)
    else:
        yield getattr(thing, "__qualname__", type(thing).__qualname__)
