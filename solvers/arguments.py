"""Reading the arguments of a model's functions: states, wrenches, names."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from titop.blocks.errors import Finding, ModelError, did_you_mean
from titop.blocks.spatial import Array

#: How far a quaternion's norm may be from 1 before it is refused.
QUATERNION_TOLERANCE = 1e-6


def read_state(name: str, value: Any, names: tuple[str, ...]) -> Array:
    """Return a state argument as a C-contiguous array of shape ``(len(names),)`` or ``(batch, len(names))``.

    Raises
    ------
    ModelError
        If it is not numbers, has another length, or holds a NaN or infinity (the message names the coordinate).
    """
    try:
        array = np.asarray(value)
        array = (
            np.ascontiguousarray(array, dtype=np.result_type(array.dtype, float))
            if array.dtype != object
            else np.array(value, dtype=float)
        )
    except (TypeError, ValueError):
        raise ModelError(Finding("wrong-type", name, value, f"{len(names)} numbers", "give a list or an array")) from None
    if array.ndim not in (1, 2) or array.shape[-1] != len(names):
        raise ModelError(
            Finding(
                "wrong-length",
                name,
                f"shape {array.shape}",
                f"shape ({len(names)},), or (batch, {len(names)})",
                f"its entries are {shorten(names)}",
            )
        )
    bad = np.argwhere(~np.isfinite(array))
    if bad.size:
        entry = tuple(int(k) for k in bad[0])
        raise ModelError(
            Finding(
                "not-finite",
                f"{name}[{', '.join(map(str, entry))}]",
                array[entry],
                "finite numbers",
                f"it is the entry of {names[entry[-1]]}",
            )
        )
    return array


def check_quaternions(q: Array, starts: Iterable[int], names: tuple[str, ...]) -> None:
    """Refuse quaternions (four entries of q from each start) that are not unit.

    Raises
    ------
    ModelError
        Naming the joint and the norm.
    """
    for start in starts:
        norm = np.sqrt((q[..., start : start + 4] ** 2).sum(axis=-1))
        if (np.abs(np.real(norm) - 1) > QUATERNION_TOLERANCE).any():
            raise ModelError(
                Finding(
                    "not-unit",
                    f"q[{start}:{start + 4}]",
                    f"norm {np.max(np.real(norm)):.9g}",
                    "a unit quaternion (x, y, z, w)",
                    f"normalise the quaternion of {names[start].rsplit('.', 1)[0]}",
                )
            )


def read_wrenches(wrenches: Mapping[str, Any], ports: Mapping[str, Any]) -> dict[str, Array]:
    """Return external wrenches as finite arrays by port name.

    Raises
    ------
    ModelError
        If a port is unknown or a wrench is not six finite numbers.
    """
    result = {}
    for port, value in wrenches.items():
        if port not in ports:
            raise ModelError(
                Finding("unknown-port", f"wrenches[{port!r}]", port, "a port of the model", did_you_mean(port, ports))
            )
        wrench = np.asarray(value)
        if wrench.shape != (6,) or not np.isfinite(wrench).all():
            raise ModelError(
                Finding(
                    "wrong-shape",
                    f"wrenches[{port!r}]",
                    value,
                    "six finite numbers [F; T]",
                    "linear first, in the port's frame",
                )
            )
        result[port] = wrench
    return result


def prescribed_mask(prescribed: Iterable[str], names: tuple[str, ...], v_slices: Mapping[str, slice]) -> Array:
    """Return a mask (nv) that is true where the motion is prescribed.

    `prescribed` holds coordinate names, or names of joints and blocks for all of their coordinates.

    Raises
    ------
    ModelError
        If a name is unknown or a coordinate is prescribed twice.
    """
    mask = np.zeros(len(names), dtype=bool)
    position = {name: k for k, name in enumerate(names)}
    if isinstance(prescribed, str):
        prescribed = [prescribed]
    for name in prescribed:
        if name in v_slices:
            entries = range(v_slices[name].start, v_slices[name].stop)
        elif name in position:
            entries = range(position[name], position[name] + 1)
        else:
            raise ModelError(
                Finding(
                    "unknown-coordinate", "prescribed", name, "a joint or coordinate", did_you_mean(name, [*v_slices, *names])
                )
            )
        for k in entries:
            if mask[k]:
                raise ModelError(
                    Finding("prescribed-twice", "prescribed", name, "each coordinate once", f"{names[k]} is there already")
                )
            mask[k] = True
    return mask


def shorten(names: tuple[str, ...]) -> str:
    """Return names as text, the middle left out when there are many."""
    return ", ".join(names) if len(names) <= 12 else ", ".join([*names[:8], "...", *names[-2:]])
