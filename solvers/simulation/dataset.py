"""The variables and coordinates of a trajectory as an xarray Dataset."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from titop.solvers.simulation.recorded_motion import RecordedMotion

if TYPE_CHECKING:
    from titop.solvers.control.control_history import ControlHistory

#: Variables of a control loop: kind of signal, array of the history.
_LOOP = {
    "measured": ("outputs", "y"),
    "reference": ("references", "r"),
    "commanded": ("commands", "u"),
    "controller_state": ("states", "x"),
}


def trajectory_variables(trajectory: RecordedMotion) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return variables and coordinates; the coordinate ``<dimension>_unit`` holds the units along a dimension."""
    model = trajectory.model
    coordinates: dict[str, Any] = {"t": ("t", trajectory.t, {"units": "s"})}
    coordinates |= _axis("configuration", model.configuration_names, model.assembly.configuration_units)
    coordinates |= _axis("coordinate", model.coordinate_names, model.assembly.coordinate_units)
    variables: dict[str, Any] = {"q": (("t", "configuration"), trajectory.q)}
    variables |= {name: (("t", "coordinate"), getattr(trajectory, name)) for name in ("v", "a", "tau")}
    if model.nu:
        coordinates |= _axis("input", model.input_names, model.inputs.units)
        variables["u"] = (("t", "input"), trajectory.u)
    if model.nx:
        coordinates |= _axis("state", model.state_names, model.inputs.state_units)
        variables["x"] = (("t", "state"), trajectory.x)
    if model.output_names:
        coordinates |= _axis("output", model.output_names, model.output_units)
        variables["outputs"] = (("t", "output"), trajectory.outputs())
    if trajectory.control is not None:
        _add_loop(trajectory.control, variables, coordinates)
    return variables, coordinates


def _add_loop(control: ControlHistory, variables: dict[str, Any], coordinates: dict[str, Any]) -> None:
    coordinates["t_control"] = ("t_control", control.t, {"units": "s"})
    for variable, (kind, array) in _LOOP.items():
        dimension = f"{variable}_signal"
        coordinates |= _axis(dimension, control.names[kind], control.units[kind])
        variables[variable] = (("t_control", dimension), getattr(control, array))


def _axis(dimension: str, names: Any, units: Any) -> dict[str, Any]:
    return {dimension: np.array(names, dtype=np.str_), f"{dimension}_unit": (dimension, np.array(units, dtype=np.str_))}
