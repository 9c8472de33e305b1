"""Families of linear models in files: for titop, for MATLAB's ``ssInterpolant``, for xarray."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np

from titop.blocks.basics.paths import split_end
from titop.blocks.basics.spatial import Array
from titop.blocks.basics.user_input import check_suffix
from titop.solvers.signals.exported import Signal
from titop.solvers.support.archive import FORMATS, Archive, write_archive

MATRICES = ("A", "B", "C", "D")
TRIMS = ("q", "v", "tau", "u", "y")
SIGNALS = ("states", "inputs", "outputs")
_NAMES = ("configuration_names", "coordinate_names", "input_names")
_FORMAT = 2

#: Axes of the arrays at a point: states, inputs, outputs, entries of q, of v, of u.
AXES = {"A": "xx", "B": "xw", "C": "yx", "D": "yw", "q": "q", "v": "v", "tau": "v", "u": "u", "y": "y"}


def save_lpv(path: str | Path, family: Any) -> None:
    """Write a family to a file; see `LPVModel.save`."""
    arrays: dict[str, Any] = {name: getattr(family, name) for name in (*MATRICES, *TRIMS, "x", "valid")}
    arrays |= {f"parameter_{k + 1}": values for k, values in enumerate(family.parameters.values())}
    arrays |= {"parameter_units": np.array(list(family.units.items()), dtype=np.str_)}
    arrays |= {name: np.array(getattr(family, name), dtype=np.str_).reshape(-1, 2) for name in SIGNALS}
    arrays |= {name: np.array(getattr(family, name), dtype=np.str_) for name in (*_NAMES, "own_states")}
    arrays |= {"failed": np.array([*family.failed], dtype=int).reshape(-1, len(family.shape))}
    arrays |= {"reasons": np.array([*family.failed.values()], dtype=np.str_)}
    if family.search:
        arrays |= {"search": np.array(json.dumps(dict(family.search), default=lambda value: np.asarray(value).tolist()))}
    arrays |= {"name": np.array(family.name), "is_grid": np.array(family.is_grid), "format": np.array(_FORMAT)}
    if Path(path).suffix.lower() == ".mat":
        arrays |= {name: np.moveaxis(arrays[name], (-2, -1), (0, 1)) for name in MATRICES} | _for_matlab(family)
    write_archive(path, arrays, FORMATS)


def load_lpv(path: str | Path, max_bytes: int) -> dict[str, Any]:
    """Return the fields of a family in a file."""
    check_suffix(path, FORMATS)
    archive = Archive(path, "LPVModel.save", max_bytes)
    archive.check_format(_FORMAT)
    is_grid = archive.scalar("is_grid", "b")
    units = dict(archive.texts("parameter_units", None, 2))
    keys = {name: f"parameter_{k + 1}" for k, name in enumerate(units)}
    parameters = {name: archive.array(key, None) for name, key in keys.items()}
    lengths = [len(values) for values in parameters.values()]
    shape = tuple(lengths) if is_grid else tuple(lengths[:1])
    if not lengths or (not is_grid and len(set(lengths)) > 1):
        archive.refuse(f"parameters of lengths {lengths}")
    fields: dict[str, Any] = {name: tuple(Signal(*row) for row in archive.texts(name, None, 2)) for name in SIGNALS}
    fields |= {name: archive.names(name) for name in _NAMES}
    sizes = dict(zip("xwyqvu", map(len, fields.values()), strict=True))
    of_matlab = Path(path).suffix.lower() == ".mat"
    for name, axes in AXES.items():
        at_point = [sizes[axis] for axis in axes]
        if of_matlab and name in MATRICES:
            fields[name] = np.ascontiguousarray(np.moveaxis(archive.array(name, *at_point, *shape), (0, 1), (-2, -1)))
        else:
            fields[name] = archive.array(name, *shape, *at_point)
    fields["own_states"] = archive.names("own_states")
    fields["x"] = archive.array("x", *shape, len(fields["own_states"]))
    fields["valid"] = archive.array("valid", *shape, kinds="b")
    failed, reasons = archive.array("failed", None, len(shape), kinds="iu").tolist(), archive.names("reasons")
    if len(reasons) != len(failed):
        archive.refuse(f"{len(reasons)} reasons for {len(failed)} points that failed")
    fields["failed"] = dict(zip(map(tuple, failed), reasons, strict=True))
    if "search" in archive.arrays:  # not where points were given
        try:
            fields["search"] = json.loads(archive.texts("search"))
        except ValueError:
            archive.refuse("a search that cannot be read")
    return {"name": archive.texts("name"), "parameters": parameters, "units": units, "is_grid": is_grid, **fields}


# -- MATLAB -----------------------------------------------------------------------------------------------------------------


def _for_matlab(family: Any) -> dict[str, Any]:
    """Return the grid and the offsets of a family as structs, and names of signals as cells."""
    size = family.shape if len(family.shape) > 1 else (*family.shape, 1)
    values = family.parameters.values()
    over = np.meshgrid(*values, indexing="ij") if family.is_grid else values
    grid = {re.sub(r"\W", "_", name): axis.reshape(size) for name, axis in zip(family.parameters, over, strict=True)}
    offsets = np.empty(size, dtype=[(name, object) for name in ("dx", "x", "u", "y")])
    columns = *_offsets(family), family.y
    for index in np.ndindex(size):
        offsets[index] = tuple(array[index[: len(family.shape)]][:, None] for array in columns)
    names = ((f"{side[:-1].capitalize()}Name", getattr(family, side)) for side in SIGNALS)
    listed = {name: np.array([signal.name for signal in signals], dtype=np.str_) for name, signals in names}
    return {"SamplingGrid": grid, "offsets": offsets, **listed}


def _offsets(family: Any) -> tuple[Array, Array, Array]:
    """Return rates of states, states and inputs at all points; zero of what the trims have no plain number of.

    Where a point moves steadily, its coordinates change by its rates.
    """
    values = {f"{name}.q": family.q[..., k] for k, name in enumerate(family.configuration_names)}
    rates = {f"{name}.v": family.v[..., k] for k, name in enumerate(family.coordinate_names)}
    values |= rates | {name: family.x[..., k] for k, name in enumerate(family.own_states)}
    driven = {name: family.u[..., k] for k, name in enumerate(family.input_names)}
    driven |= {name: family.tau[..., k] for k, name in enumerate(family.coordinate_names)}
    none = np.zeros(family.shape)

    def stacked(arrays: list[Array]) -> Array:
        return np.stack(arrays, axis=-1) if arrays else np.zeros((*family.shape, 0))

    paths = [signal.path for signal in family.states]
    moving = [f"{split_end(path)[0]}.v" if path in values and split_end(path)[1] == "q" else "" for path in paths]
    return (
        stacked([rates.get(path, none) for path in moving]),
        stacked([values.get(path, none) for path in paths]),
        stacked([driven.get(signal.path, none) for signal in family.inputs]),
    )
