"""Linear models in files: state spaces with their names, units and operating point; families and fractional models, too."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from titop.blocks.basics.errors import Finding, ModelError
from titop.blocks.basics.user_input import check_suffix
from titop.solvers.lft.lft_model import LFTModel
from titop.solvers.linear.lpv_model import LPVModel
from titop.solvers.linear.state_space import is_state_space, named_signals, named_system
from titop.solvers.signals.exported import Signal
from titop.solvers.support.archive import FORMATS, Archive, write_archive

if TYPE_CHECKING:
    from control import StateSpace

_FORMAT = 1
#: By side: the names of its signals where they have none, and the names of its axis in netCDF files.
_SIDES = {"state": "x", "input": "u", "output": "y"}
_AXES: dict[str, tuple[str, ...]] = {
    "A": ("state_rate", "state"),
    "B": ("state_rate", "input"),
    "C": ("output", "state"),
    "D": ("output", "input"),
}
_LISTS: dict[str, tuple[str, ...]] = {f"{side}_{what}": (side,) for side in _SIDES for what in ("names", "paths", "units")}


def save_linear(system: StateSpace | LPVModel | LFTModel, path: str | Path) -> None:
    """Write a linear model to a ``.npz``, ``.mat`` (MATLAB) or ``.nc`` (netCDF) file, whole or not at all.

    MATLAB's ``load`` gives ``A, B, C, D``, the sample time ``Ts`` (zero: continuous, -1: unknown), ``name``, and as cells of
    texts ``state_names``, ``input_names``, ``output_names``, and likewise units and paths. The operating point, if the system
    has one, is in ``point_names`` (what, name) and ``point_values``; see `OperatingPoint.values_by_name`.

    Parameters
    ----------
    system : control.StateSpace, LPVModel or LFTModel
        Of families and fractional models see `LPVModel.save` and `LFTModel.save`.
    path : str or Path

    Raises
    ------
    ModelError
        For another suffix, and what is none of these models.

    Examples
    --------
    >>> import tempfile, control, titop as tt
    >>> lag = control.ss([[-2.0]], [[2.0]], [[1.0]], [[0.0]], inputs=["command"], outputs=["torque"])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     tt.save_linear(lag, f"{folder}/lag.mat")
    ...     tt.load_linear(f"{folder}/lag.mat").input_labels
    ['command']
    """
    check_suffix(path, FORMATS)
    if isinstance(system, LPVModel | LFTModel):
        system.save(path)
        return
    if not is_state_space(system):
        expected, advice = (
            "a control.StateSpace, LPVModel or LFTModel",
            "control.ss(...) makes a state space of a transfer function",
        )
        raise ModelError(Finding("wrong-type", "system", type(system).__name__, expected, advice))
    arrays: dict[str, Any] = {name: np.array(getattr(system, name), dtype=float) for name in "ABCD"}
    arrays["Ts"] = np.array(-1.0 if system.dt is True else float(system.dt or 0.0))
    arrays["has_Ts"] = np.array(system.dt is not None)
    for side, signals in zip(_SIDES, named_signals(system), strict=True):
        columns = [s.name for s in signals], [s.path for s in signals], [s.unit for s in signals]
        for what, texts in zip(("names", "paths", "units"), columns, strict=True):
            arrays[f"{side}_{what}"] = np.array(texts, dtype=np.str_)
    point = getattr(system, "operating_point", None) or {}
    rows = [(kind, name, value) for kind, values in point.items() for name, value in values.items()]
    arrays["point_names"] = np.array([row[:2] for row in rows], dtype=np.str_).reshape(-1, 2)
    arrays["point_values"] = np.array([row[2] for row in rows], dtype=float)
    arrays |= {"has_point": np.array(bool(point)), "name": np.array(str(system.name)), "format": np.array(_FORMAT)}
    write_archive(path, arrays, FORMATS, _AXES | _LISTS)


def load_linear(path: str | Path) -> StateSpace | LPVModel | LFTModel:
    """Read a linear model that `save_linear`, `LPVModel.save` or `LFTModel.save` wrote; no code in the file is executed.

    Files with ``A, B, C, D`` alone are read, too: those of a controller, say, that MATLAB has saved, with ``Ts``,
    ``input_names`` and ``output_names`` as cells of texts if it has them.

    Parameters
    ----------
    path : str or Path

    Returns
    -------
    control.StateSpace, LPVModel or LFTModel
        A state space has its table (`signal_table`), and its operating point as a mapping `operating_point`. A fractional
        model has no system any more; see `LFTModel`.

    Raises
    ------
    ModelError
        If the file has another suffix, or is no such file.
    """
    check_suffix(path, FORMATS)
    archive = Archive(path, "save_linear")
    if "blk" in archive.arrays:
        return LFTModel.load(path)
    if "is_grid" in archive.arrays:
        return LPVModel.load(path)
    known = archive.arrays
    A, D = (archive.array(name, None, None, kinds="fiu") for name in "AD")
    sizes = dict(zip(_SIDES, (len(A), D.shape[1], D.shape[0]), strict=True))
    shapes = {name: [sizes[axis.removesuffix("_rate")] for axis in axes] for name, axes in _AXES.items()}
    matrices = [archive.array(name, *shape, kinds="fiu").astype(float) for name, shape in shapes.items()]
    groups: dict[str, list[Signal]] = {}
    for side, letter in _SIDES.items():
        names = archive.names(f"{side}_names") if f"{side}_names" in known else [f"{letter}[{k}]" for k in range(sizes[side])]
        paths = archive.names(f"{side}_paths") if f"{side}_paths" in known else names
        units = archive.names(f"{side}_units") if f"{side}_units" in known else [""] * sizes[side]
        if len(paths) != sizes[side] or len(units) != sizes[side]:
            archive.refuse(f"{len(paths)} names and {len(units)} units of {sizes[side]} {side}s")
        groups[side] = [*map(Signal, paths, units)]
        if len({signal.name for signal in groups[side]}) < sizes[side]:
            archive.refuse(f"{side}s of the same name: {', '.join(names)}")
    period = archive.scalar("Ts", "fiu") if "Ts" in known else 0.0
    if not np.isfinite(period):
        archive.refuse(f"a sample time of {period} s")
    if "has_Ts" in known and not archive.scalar("has_Ts", "b"):
        period = None
    point: dict[str, dict[str, float]] | None = None
    if "has_point" in known and archive.scalar("has_point", "b"):
        rows = archive.texts("point_names", None, 2)
        point = {kind: {} for kind in ("q", "v", "a", "tau", "u", "x", "wrenches", "parameters")}
        for (kind, name), value in zip(rows, archive.array("point_values", len(rows)).tolist(), strict=True):
            point.setdefault(kind, {})[name] = value
    name = archive.texts("name") if "name" in known else Path(path).stem
    x, u, y = groups.values()
    return named_system(matrices, x, u, y, name, True if period is not None and period < 0 else period, point)
