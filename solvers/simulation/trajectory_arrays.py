"""The contents of trajectories: in files, and as datasets."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np

from titop.blocks.basics.errors import Finding, ModelError
from titop.solvers.control.control_history import ControlHistory
from titop.solvers.model.model import Model
from titop.solvers.simulation.changes import Changed
from titop.solvers.support.archive import Archive, write_archive

_ARRAYS = ("t", "q", "v", "a", "tau", "u", "x")
_NAMES = ("configuration_names", "coordinate_names", "state_names")
_FORMAT = 1
#: Signals of a control loop: their kind, and their array in the history.
_LOOP_VARIABLES = {
    "measured": ("outputs", "y"),
    "reference": ("references", "r"),
    "commanded": ("commands", "u"),
    "controller_state": ("states", "x"),
}


def write_fields(path: str | Path, trajectory: Any) -> None:
    """Write all of a trajectory to a file; see `Trajectory.save`."""
    write_archive(path, fields_of(trajectory))


def fields_of(trajectory: Any) -> dict[str, Any]:
    """Return all of a trajectory as arrays by name."""
    names = {name: getattr(trajectory.model, name) for name in _NAMES}
    arrays = {name: getattr(trajectory, name) for name in _ARRAYS}
    arrays |= {name: np.array(value, dtype=np.str_) for name, value in names.items()}
    arrays |= {f"wrench:{port}": value for port, value in trajectory.wrenches.items()}
    arrays |= {f"event:{name}": value for name, value in trajectory.events.items()}
    arrays |= {f"statistic:{name}": np.array(value) for name, value in trajectory.statistics.items()}
    for prefix, control in zip(_prefixes(len(trajectory.controls)), trajectory.controls, strict=True):
        arrays |= {f"{prefix}{name}": value for name, value in control.to_arrays().items()}
    arrays |= {f"memory:{name}": value for name, value in trajectory.memory.items()}
    for k, change in enumerate(trajectory.changes):
        arrays |= {f"change[{k}]:{field.name}": np.array(getattr(change, field.name)) for field in fields(Changed)}
    return arrays | {"format": np.array(_FORMAT)}


def read_fields(path: str | Path, model: Model, max_bytes: int) -> dict[str, Any]:
    """Return all of a trajectory in a file but its model, by the names of the fields; see `load_trajectory`."""
    return read_fields_of(Archive(path, "Trajectory.save", max_bytes), model)


def read_fields_of(archive: Archive, model: Model) -> dict[str, Any]:
    """Return all of a trajectory among the arrays of an archive, as `read_fields`."""
    archive.check_format(_FORMAT)
    for key in _NAMES:
        names = getattr(model, key)
        saved = archive.names(key)
        if saved != names:
            where = f"{archive.path}: {key}"
            raise ModelError(Finding("other-model", where, saved, f"{names}", "load it with the model that made it"))
    t = archive.array("t", None)
    q = archive.array("q", len(t), model.nq)
    v, a, tau = (archive.array(name, len(t), model.nv) for name in ("v", "a", "tau"))
    u = archive.array("u", *((len(t), model.nu) if model.nu else (None, None)))
    x = archive.array("x", len(t), model.nx)
    parts = {
        kind: {name.removeprefix(kind): name for name in archive.arrays if name.startswith(kind)}
        for kind in ("wrench:", "event:", "statistic:", "memory:")
    }
    wrenches = {port: archive.array(name, len(t), 6) for port, name in parts["wrench:"].items()}
    events = {event: archive.array(name, None) for event, name in parts["event:"].items()}
    counted = {entry: archive.scalar(name, "iuf") for entry, name in parts["statistic:"].items()}
    memory = {entry: archive.arrays[name] for entry, name in parts["memory:"].items()}
    prefixes = [prefix for prefix in (*_prefixes(1), *_prefixes(len(archive.arrays))) if f"{prefix}t" in archive.arrays]
    controls = tuple(ControlHistory.from_archive(archive, prefix) for prefix in prefixes)
    changes = tuple(_read_change(archive, f"change[{k}]:") for k in range(sum(n.endswith("]:lost") for n in archive.arrays)))
    states = {"t": t, "q": q, "v": v, "a": a, "tau": tau, "u": u, "x": x}
    others = {"wrenches": wrenches, "events": events, "controls": controls, "statistics": counted, "memory": memory}
    others["changes"] = changes
    return states | others


def _read_change(archive: Archive, prefix: str) -> Changed:
    read: dict[str, Any] = {name: archive.scalar(f"{prefix}{name}", "U") for name in ("kind", "name")}
    read |= {name: archive.scalar(f"{prefix}{name}", "f") for name in ("t", "distance", "angle", "lost")}
    read |= {name: archive.array(f"{prefix}{name}", None) for name in ("impulse", "q", "before", "v")}
    return Changed(**read)


def _prefixes(count: int) -> list[str]:
    return ["control:"] if count == 1 else [f"control[{k}]:" for k in range(count)]


def dataset_of(trajectory: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return variables and coordinates of a Dataset; the coordinate ``<dimension>_unit`` holds the units along a dimension."""
    model = trajectory.model
    coordinates: dict[str, Any] = {"t": ("t", trajectory.t, {"units": "s"})}
    coordinates |= _axis("configuration", model.configuration_names, model.mechanism.assembly.configuration_units)
    coordinates |= _axis("coordinate", model.coordinate_names, model.mechanism.assembly.coordinate_units)
    variables: dict[str, Any] = {"q": (("t", "configuration"), trajectory.q)}
    variables |= {name: (("t", "coordinate"), getattr(trajectory, name)) for name in ("v", "a", "tau")}
    if model.nu:
        coordinates |= _axis("input", model.input_names, model.mechanism.inputs.units)
        variables["u"] = (("t", "input"), trajectory.u)
    if model.nx:
        coordinates |= _axis("state", model.state_names, model.mechanism.inputs.state_units)
        variables["x"] = (("t", "state"), trajectory.x)
    if model.output_names:
        coordinates |= _axis("output", model.output_names, model.output_units)
        variables["outputs"] = (("t", "output"), trajectory.outputs())
    for k, control in enumerate(trajectory.controls):
        _add_loop(control, f"_{k}" if len(trajectory.controls) > 1 else "", variables, coordinates)
    return variables, coordinates


def _add_loop(control: ControlHistory, suffix: str, variables: dict[str, Any], coordinates: dict[str, Any]) -> None:
    times = f"t_control{suffix}"
    coordinates[times] = (times, control.t, {"units": "s"})
    for variable, (kind, array) in _LOOP_VARIABLES.items():
        dimension = f"{variable}{suffix}_signal"
        coordinates |= _axis(dimension, control.names[kind], control.units[kind])
        variables[f"{variable}{suffix}"] = ((times, dimension), getattr(control, array))


def _axis(dimension: str, names: Any, units: Any) -> dict[str, Any]:
    return {dimension: np.array(names, dtype=np.str_), f"{dimension}_unit": (dimension, np.array(units, dtype=np.str_))}
