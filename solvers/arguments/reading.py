"""Reading the arguments of a model's functions: states, wrenches, names, and ranges in percent of nominal values."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np

from titop.blocks.basics.errors import Finding, ModelError, did_you_mean
from titop.blocks.basics.paths import owner_of
from titop.blocks.basics.spatial import Array
from titop.blocks.basics.tolerances import TYPED
from titop.blocks.basics.user_input import is_masked, read_number, shape_of
from titop.blocks.contract.block import is_titops_own
from titop.graph.network.assembly import Assembly

_FLOAT = np.dtype(float)


class Whole(np.ndarray):
    """Checked inputs of a model with first-order states, followed by these states (nu + nx); or stacked ones."""


#: The types of arrays that functions accept without conversion.
_ARRAYS = np.ndarray, Whole

#: Up to this number of entries Python's `sum` is as fast as NumPy's `isfinite`.
_FEW = 60


def read_state(name: str, value: Any, names: tuple[str, ...], stacked: bool = False) -> Array:
    """Return a state argument as an array of shape ``(len(names),)``, or ``(batch, len(names))`` if stacked, for the kernels.

    Raises `ModelError` if it is not numbers, has another length, or holds a NaN or infinity (the message names the
    coordinate).
    """
    if is_ready(value, len(names), stacked):
        return value
    if is_ready(numbers := new_floats(value), len(names), stacked):
        return numbers  # type: ignore[return-value]
    try:
        if is_masked(value):
            raise TypeError
        array = np.asarray(value)
        if array.dtype.kind == "O":
            array = array.astype(float)
        if array.size and array.dtype.kind not in "fiubc":
            raise TypeError
        array = np.require(array, complex if array.dtype.kind == "c" else float, ["C", "A", "W"])
    except (TypeError, ValueError, OverflowError):
        raise ModelError(Finding("wrong-type", name, value, f"{len(names)} numbers", "give a list or an array")) from None
    if array.shape[-1:] != (len(names),) or array.ndim > (2 if stacked else 1):
        expected = f"shape ({len(names)},)" + (f" or (batch, {len(names)})" if stacked else "")
        raise ModelError(
            Finding("wrong-length", name, f"shape {array.shape}", expected, f"its entries are {shorten(names) or 'none'}")
        )
    if not np.isfinite(array).all():
        entry = tuple(int(k) for k in np.argwhere(~np.isfinite(array))[0])
        where = f"{name}[{', '.join(map(str, entry))}]"
        raise ModelError(Finding("not-finite", where, array[entry], "finite numbers", f"it is the entry of {names[entry[-1]]}"))
    return array


def is_world(frame: Any) -> bool:
    """Tell whether a `frame` argument means inertial axes, not those of a port. Raises `ModelError` if `frame` is neither."""
    if not isinstance(frame, str) or frame not in ("port", "world"):
        raise ModelError(Finding("bad-frame", "frame", frame, "port or world", "choose one of the two"))
    return bool(frame == "world")


def is_ready(value: Any, length: int, stacked: bool = False) -> bool:
    """Whether a value, or a stack, is a finite array that kernels accept: a fast check, for integrators."""
    return (
        type(value) is np.ndarray
        and value.dtype == _FLOAT
        and value.shape[-1:] == (length,)
        and value.ndim <= 1 + stacked
        and value.flags.carray
        and all_finite(value)
    )


def as_arrays(*arguments: Any) -> tuple[Any, ...]:
    """Return arrays, lists and tuples of real numbers as arrays that kernels accept; None and mappings as they are.

    Returns an empty tuple if no argument needs a conversion, or if one of them has to be checked in detail.
    """
    ready, changed = [], False
    for value in arguments:
        kind = type(value)
        if value is None or (kind is not list and kind is not tuple and _is_plain(value)):
            ready.append(value)
        elif (array := new_floats(value)) is not None:
            ready.append(array)
            changed = True
        elif isinstance(value, Mapping):
            ready.append(value)
        else:
            return ()
    return tuple(ready) if changed else ()


def _is_plain(value: Any) -> bool:
    """Whether a value is an array of a type and layout that kernels accept; shape and entries are not checked."""
    return type(value) in _ARRAYS and value.dtype == _FLOAT and value.flags.carray


def new_floats(value: Any) -> Array | None:
    """Return a new array of floats from an array, a list or a tuple of real numbers; None for anything else."""
    kind = type(value)
    if kind is list or kind is tuple:
        try:
            value = np.array(value)
        except ValueError:  # unequal rows
            return None
        if value.dtype == _FLOAT:
            return value
    elif kind is not np.ndarray:
        return None
    return value.astype(_FLOAT, "C") if value.dtype.kind in "fiub" else None


def all_finite(array: Array) -> bool:
    """Whether all entries of a float array are finite; for few entries much faster than ``np.isfinite(array).all()``."""
    flat = array if array.ndim == 1 else array.ravel()
    if flat.size <= _FEW and math.isfinite(sum(flat.tolist())):
        return True
    return bool(np.isfinite(flat).all())  # the sum may overflow


def store(result: Array, out: Array | None) -> Array:
    """Return `result`, or `out` with the result written into it.

    Raises `ModelError` if `out` is not a writable array of the result's shape that can hold its numbers.
    """
    if out is None:
        return result
    fits = isinstance(out, np.ndarray) and out.shape == result.shape and out.flags.writeable
    if not fits or out.dtype != result.dtype:
        got = f"{type(out).__name__} of shape {shape_of(out)} and type {getattr(out, 'dtype', 'none')}"
        expected = f"a writable array of shape {result.shape} and type {result.dtype}"
        raise ModelError(Finding("wrong-length", "out", got, expected, "make it with np.empty"))
    out[...] = result
    return out


def check_stacks(arrays: dict[str, Array]) -> None:
    """Refuse state arguments that are not all single, or all stacked with the same length.

    Raises `ModelError`, listing all shapes.
    """
    if len({array.shape[:-1] for array in arrays.values()}) > 1:
        names, shapes = ", ".join(arrays), ", ".join(str(array.shape) for array in arrays.values())
        raise ModelError(
            Finding("wrong-length", names, shapes, "all single, or equally stacked", "stack all along the first axis")
        )


def are_ready_rows(rows: Any) -> bool:
    """Tell whether a stack is an array of floats in rows without gaps, as kernels take it."""
    return type(rows) is np.ndarray and rows.ndim == 2 and rows.dtype == _FLOAT and rows.flags.carray


def of_one_state(inputs: Array) -> Array:
    """Return inputs with states behind them, as from `Inputs.whole`, and refuse stacked ones.

    Raises `ModelError` if they are stacked.
    """
    if inputs.ndim > 1:
        names, advice = "u, x" if type(inputs) is Whole else "u", "stack q and v alike, or give single ones"
        raise ModelError(Finding("wrong-length", names, f"{len(inputs)} stacked ones", "one, as of q and v", advice))
    return np.asarray(inputs)


def check_quaternions(q: Array, starts: Iterable[int], names: tuple[str, ...], argument: str = "q") -> None:
    """Refuse quaternions (four entries of the `argument` q from each start) whose norm is not one.

    Raises `ModelError`, naming the joint and the norm.
    """
    for start in starts:
        quaternion = q[..., start : start + 4]
        if q.ndim == 1 and q.dtype == _FLOAT and abs(math.hypot(*quaternion.tolist()) - 1) <= TYPED:
            continue
        norms = np.sqrt((quaternion**2).sum(axis=-1))
        wrong = np.abs(np.real(norms) - 1) > TYPED
        if not wrong.any():
            continue
        entry = tuple(int(k) for k in np.argwhere(wrong)[0])
        row, advice = "".join(f"{k}, " for k in entry), f"normalise the quaternion of {owner_of(names[start])}"
        where = f"{argument}[{row}{start}:{start + 4}]"
        norm = f"norm {np.real(norms[entry]):.9g}"
        raise ModelError(Finding("not-unit", where, norm, "a unit quaternion (x, y, z, w)", advice))


def read_mapping(name: str, value: Any) -> Mapping[str, Any]:
    """Return a mapping argument. Raises `ModelError` if it is no mapping."""
    if not isinstance(value, Mapping):
        raise ModelError(Finding("wrong-type", name, value, "a mapping of names to values", 'write {"name": value}'))
    return value


def read_wrenches(wrenches: Mapping[str, Any], ports: Mapping[str, Any]) -> dict[str, Array]:
    """Return external wrenches as finite arrays by port name.

    Raises `ModelError` if a port is unknown or a wrench is not six finite numbers.
    """
    result = {}
    for port, value in read_mapping("wrenches", wrenches).items():
        if port not in ports:
            raise ModelError(
                Finding("unknown-port", f"wrenches[{port!r}]", port, "a port of the model", did_you_mean(port, ports))
            )
        result[port] = read_wrench(port, value)
    return result


def read_wrench(port: str, value: Any) -> Array:
    """Return an external wrench (6) on a port as a finite array. Raises `ModelError` if it is not six finite numbers."""
    if is_ready(value, 6):
        return value.copy()
    try:
        if is_masked(value):
            raise TypeError
        wrench = np.asarray(value) + 0.0
        if wrench.dtype == object:
            wrench = wrench.astype(float)
    except (TypeError, ValueError, OverflowError):
        wrench = np.full(0, np.nan)
    if wrench.shape != (6,) or not np.isfinite(wrench).all():
        expected, advice = "six finite numbers [F; T]", "linear first, in the port's frame"
        raise ModelError(Finding("wrong-shape", f"wrenches[{port!r}]", value, expected, advice))
    return wrench


def coordinate_mask(chosen: Iterable[str], assembly: Assembly, argument: str = "prescribed") -> Array:
    """Return a mask (nv) that is true for the chosen coordinates.

    `chosen` holds names of coordinates; the name of a joint or block stands for all of its coordinates. `argument` is the name
    of the public function's argument, for messages. Raises `ModelError` if a name is unknown or a coordinate is chosen twice.
    """
    names = assembly.coordinate_names
    mask = np.zeros(len(names), dtype=bool)
    if isinstance(chosen, str):
        chosen = [chosen]
    if not isinstance(chosen, Iterable):
        raise ModelError(Finding("wrong-type", argument, chosen, "names of joints or coordinates", 'write ["hinge"]'))
    for name in chosen:
        if not isinstance(name, str):
            raise ModelError(Finding("unknown-coordinate", argument, name, "a joint or coordinate", "give its name"))
        entries = assembly.entries_of(name)
        if entries is None:
            advice = did_you_mean(name, [*assembly.v_slices, *names])
            raise ModelError(Finding("unknown-coordinate", argument, name, "a joint or coordinate", advice))
        for k in entries:
            if mask[k]:
                raise ModelError(
                    Finding(f"{argument}-twice", argument, name, "each coordinate once", f"{names[k]} is there already")
                )
            mask[k] = True
    return mask


def overflow(assembly: Assembly | None = None) -> Finding:
    """Return the finding for results that are not finite; it names blocks of the assembly as possible causes."""
    advice = "the arguments or parameters are too large for double precision"
    blocks = () if assembly is None else assembly.blocks.values()
    if users := tuple(block.name for block in blocks if not is_titops_own(block)):
        advice += f", or functions of {shorten(users)} return no finite numbers there"
    loops = () if assembly is None else assembly.loops
    if undefined := tuple(loop.closure.undefined for loop in loops if loop.closure.undefined):
        advice += f", or {shorten(undefined)}"
    return Finding("not-finite", "result", "NaN or infinity", "finite results", advice)


def is_without_dynamics(error: ModelError) -> bool:
    """Tell whether an error belongs to a state, not to the model: no inertia, a singular closure, or overflow."""
    return error.code in ("massless-joint", "singular-closure") or (error.code, error.where) == ("not-finite", "result")


def shorten(names: tuple[str, ...]) -> str:
    """Return names as text; if there are many, those in the middle are left out."""
    return ", ".join(names) if len(names) <= 12 else ", ".join([*names[:8], "...", *names[-2:]])


def read_duration(where: str, value: Any, zero: bool = False) -> float:
    """Return a positive (or, if `zero`, non-negative) finite time (s). Raises `ModelError` if it is no such time."""
    expected = "a time in seconds, zero or more" if zero else "a time in seconds, more than zero"
    wrong = Finding("bad-time", where, value, expected, "check the value")
    return read_number(wrong, lambda x: 0 < x < np.inf or (zero and x == 0))


class Percent(NamedTuple):
    """A range relative to the nominal value, in percent."""

    lower: float
    upper: float

    def about(self, where: str, nominal: float) -> tuple[float, float]:
        """Return the range about a nominal value; `where` names the range in messages. Raises `ModelError` if it is empty."""
        lower, upper = sorted(nominal * (1 + x / 100) for x in self)
        if not lower < upper:
            advice = "give the range itself: (lower, upper)"
            raise ModelError(Finding("no-range", where, f"{self} of {nominal}", "a range that is not empty", advice))
        return lower, upper


def percent(lower: float, upper: float | None = None) -> Percent:
    """Return a range relative to the nominal value.

    Parameters
    ----------
    lower, upper : float
        In percent: ``percent(15)`` is 15 % to either side, ``percent(-10, 20)`` from 10 % less to 20 % more.

    Examples
    --------
    >>> import titop as tt
    >>> tt.percent(15)
    Percent(lower=-15, upper=15)
    """
    for name, value in (("lower", lower), ("upper", 0.0 if upper is None else upper)):
        read_number(Finding("wrong-type", f"percent, {name}", value, "a number", "write percent(15)"))
    return Percent(-abs(lower), abs(lower)) if upper is None else Percent(lower, upper)
