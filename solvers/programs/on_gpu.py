"""`Model.on_gpu`: functions of a model on a graphics processor, for arrays of CuPy and of all libraries that know DLPack.

CuPy brings arrays with their memory, what else is computed of them, and a cache of compiled kernels; CUDA's own packages for
Python (`cuda-core`) bring kernels alone.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from titop.blocks.basics.errors import Finding, ModelError
from titop.solvers.programs.c_code import number_type
from titop.solvers.programs.cuda_code import NOT_FINITE, NOT_UNIT, cuda_text
from titop.solvers.programs.model_program import ModelProgram, named_arguments, numbers_by_name, program, without_health
from titop.solvers.programs.trusted_program import HEALTH
from titop.solvers.support.extras import import_cupy

#: Threads in a block: with 255 registers each, the most that a thread can have, two blocks of these fit a multiprocessor.
_THREADS = 128
#: NVRTC has CUDA's mathematics without headers, but not what `math.h` calls these.
_NUMBERS = """\
#ifndef NAN
#define NAN __int_as_float(0x7fffffff)
#define INFINITY __int_as_float(0x7f800000)
#endif
"""


def on_gpu(model: Any, function: str, precision: str = "double", **arguments: Any) -> GpuFunction:
    """Return a function of a model on a graphics processor: `Model.on_gpu`."""
    number_type(precision)
    xp = import_cupy("Model.on_gpu")
    return GpuFunction(program(model, function, **arguments), precision, xp)


class GpuArrays:
    """Arrays of numbers of one precision on the device, and the kernels of a text.

    - `xp`: the module CuPy; `kind`: the numbers' type.
    """

    def __init__(self, xp: Any, precision: str, text: str) -> None:
        self.xp, self.kind = xp, np.dtype(number_type(precision).replace("float", "float32"))
        self._module = xp.RawModule(code=_NUMBERS + text, backend="nvrtc")
        self._kernels: dict[str, Any] = {}

    def launch(self, name: str, n: int, *arguments: Any) -> None:
        """Start a kernel for n states; of the arguments, arrays in pairs with their steps are strided ones."""
        if name not in self._kernels:
            self._kernels[name] = self._module.get_function(name)
        if n:
            self._kernels[name]((-(-n // _THREADS),), (_THREADS,), (*arguments, np.uint64(n)))

    def read(self, name: str, value: Any, names: Sequence[str], default: Any) -> Any:
        """Return an argument on the device: a vector, or rows of them, of one number for each of some names.

        Raises `ModelError` for other shapes and types, unknown names, and arrays on another kind of device.
        """
        xp = self.xp
        if value is None:
            return xp.asarray(default, dtype=self.kind)
        if isinstance(value, Mapping):
            columns = numbers_by_name(name, value, names, default)
            given = [self._array(f"{name}[{key!r}]", each) for key, each in columns.items()]
            return xp.stack(xp.broadcast_arrays(*given), axis=-1)
        array = self._array(name, value)
        if array.ndim not in (1, 2) or array.shape[-1] != len(names):
            expected = f"({len(names)},), or (n, {len(names)}) for n states"
            raise ModelError(Finding("wrong-shape", name, f"shape {array.shape}", expected, "give a row for each state"))
        return array

    def _array(self, name: str, value: Any) -> Any:
        xp = self.xp
        if not isinstance(value, xp.ndarray) and not isinstance(value, np.ndarray) and hasattr(value, "__dlpack__"):
            if value.__dlpack_device__()[0] != xp.empty(0).__dlpack_device__()[0]:
                got, advice = f"{type(value).__name__} on another device", "move it first, in PyTorch by .cuda()"
                raise ModelError(Finding("wrong-device", name, got, "an array on the graphics processor", advice))
            value = xp.from_dlpack(value)
        array = value if isinstance(value, xp.ndarray) else xp.asarray(value)
        if array.dtype.kind not in "fiub":
            raise ModelError(Finding("wrong-type", name, f"{array.dtype} numbers", "real ones", "give floats"))
        return array.astype(self.kind, copy=False)

    def count(self, where: str, arrays: Sequence[Any]) -> int:
        """Return how many rows arrays have, one if all are vectors. Raises `ModelError` if they differ."""
        counts = sorted({len(array) for array in arrays if array.ndim == 2})
        if len(counts) > 1:
            got, advice = f"stacks of {', '.join(map(str, counts))} states", "give one row for each state"
            raise ModelError(Finding("wrong-shape", where, got, "stacks of one length", advice))
        return counts[0] if counts else 1

    def strided(self, array: Any) -> tuple[Any, np.int64, np.int64]:
        """Return a vector or rows, and the steps from state to state and from entry to entry."""
        steps = [step // self.kind.itemsize for step in array.strides]
        return array, np.int64(steps[0] if array.ndim == 2 else 0), np.int64(steps[-1])


class GpuFunction:
    """One function of a model on a graphics processor, made by `Model.on_gpu`.

    Parameters
    ----------
    program : Program
        What runs there: of one function.
    precision : str
    xp : module
        CuPy.

    Attributes
    ----------
    code : str
        Its CUDA, as `export_cuda` writes it.
    """

    def __init__(self, program: ModelProgram, precision: str, xp: Any) -> None:
        self.program, (self.name,), self.code = program, program.functions, cuda_text(program, precision)
        self._arrays = GpuArrays(xp, precision, self.code)
        self._inputs, outputs = program.functions[self.name].inputs, program.functions[self.name].outputs
        self._shapes = [output.shape for of, output in outputs.items() if of != HEALTH]

    def __repr__(self) -> str:
        return f"GpuFunction({self.name}; {self.program.operations} operations, {self._arrays.kind})"

    def __call__(self, *state: Any, status: Any = None, **others: Any) -> Any:
        """Return the function at one state or at stacked ones; a tuple of arrays if there are several. See `Model.on_gpu`."""
        named, xp = named_arguments(self.program, self.name, state, others), self._arrays.xp
        given = [self._read(name, named.get(name)) for name in self._inputs]
        n, is_one = self._arrays.count(self.name, given), all(array.ndim == 1 for array in given)
        by_columns = next((array.strides[0] < array.strides[1] for array in given if array.ndim == 2), False)
        results = [self._empty(shape, n, by_columns) for shape in self._shapes]
        found = xp.zeros(n, dtype=np.int32) if status is None else self._read_status(status, n)
        flat = [self._arrays.strided(array) for array in given]
        for shape, array in zip(self._shapes, results, strict=True):
            if 0 not in shape:
                first, last = array.strides[0] // array.itemsize, array.strides[-1] // array.itemsize
                flat.append((array, np.int64(first), np.int64(last if shape else 0)))
        self._arrays.launch(self.name, n, *(number for each in flat for number in each), found)
        if status is None and bool(found.any()):
            self._refuse(found)
        give = next(filter(None, map(_giver(xp), named.values())), lambda array: array)
        results = [give(array[0] if is_one else array) for array in results]
        return results[0] if len(results) == 1 else tuple(results)

    def _read(self, name: str, value: Any) -> Any:
        return self._arrays.read(name, value, self.program.names[name], self.program.at[name])

    def _empty(self, shape: tuple[int, ...], n: int, by_columns: bool) -> Any:
        """Return an array (n, ...) for results: rows, or a column for each entry."""
        xp, kind = self._arrays.xp, self._arrays.kind
        return xp.moveaxis(xp.empty((*shape, n), kind), -1, 0) if by_columns else xp.empty((n, *shape), kind)

    def _read_status(self, status: Any, n: int) -> Any:
        xp = self._arrays.xp
        array = status if isinstance(status, xp.ndarray) else xp.from_dlpack(status)
        if array.shape != (n,) or array.dtype != np.int32 or not array.flags.c_contiguous:
            got = f"{array.dtype} numbers of shape {array.shape}"
            raise ModelError(Finding("wrong-shape", "status", got, f"int32 numbers of shape ({n},)", "make it anew"))
        return array

    def _refuse(self, found: Any) -> None:
        """Raise `ModelError` for the first state whose status is not 0."""
        state = int((found != 0).argmax())
        status, where = int(found[state]), f"{self.name}, state {state}"
        if status > 0:
            raise ModelError(without_health(self.program.names["v"][status - 1]))
        if status == NOT_UNIT:
            advice = "normalise the quaternions"
            raise ModelError(Finding("not-unit", where, "a quaternion of another norm", "unit quaternions", advice))
        assert status == NOT_FINITE
        advice = "see whether the arguments are finite, and not too large for the precision"
        raise ModelError(Finding("not-finite", where, "NaN or infinity", "finite results", advice))


def _giver(xp: Any) -> Callable[[Any], Callable[[Any], Any] | None]:
    """Return what finds, for an argument, how its library takes results: None for CuPy's own, NumPy's and Python's."""

    def giver(value: Any) -> Callable[[Any], Any] | None:
        if isinstance(value, xp.ndarray | np.ndarray) or not hasattr(value, "__dlpack__"):
            return None
        own = getattr(value, "__array_namespace__", lambda: sys.modules[type(value).__module__.partition(".")[0]])
        give: Callable[[Any], Any] = own().from_dlpack
        return give

    return giver
