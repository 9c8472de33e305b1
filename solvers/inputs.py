"""The named inputs of a model: what they do to joints and ports."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from titop.blocks.actuators import Actuator, Motor, PortActuator
from titop.blocks.errors import Finding, ModelError, did_you_mean
from titop.blocks.joint_parameters import effort_unit
from titop.blocks.spatial import Array
from titop.graph.assembly import Assembly
from titop.solvers.arguments import read_state

if TYPE_CHECKING:
    from titop.solvers.dynamics import Dynamics


class Place(NamedTuple):
    """Where wrenches act: on a port, in the port's or the inertial frame (`inertial`)."""

    port: str
    inertial: bool


class Push(NamedTuple):
    """A wrench (6) on a port, in the port's or the inertial frame (`inertial`)."""

    port: str
    inertial: bool
    wrench: Array


class Inputs:
    """The inputs of a model, in the order in which their actuators were added.

    Attributes
    ----------
    names, units : tuple of str
    lower, upper : (nu,) arrays
        Ranges.
    motors : (nv, nu) array
        Efforts on the coordinates a unit of the motors' inputs.
    places : tuple of Place
        Where the others act.
    """

    def __init__(self, assembly: Assembly) -> None:
        actuators = assembly.actuators
        self.names = tuple(name for actuator in actuators for name in actuator.input_names)
        self.units = tuple(_unit(assembly, actuator) for actuator in actuators for _ in actuator.inputs)
        self.lower = np.array([actuator.lower for actuator in actuators for _ in actuator.inputs])
        self.upper = np.array([actuator.upper for actuator in actuators for _ in actuator.inputs])
        gears = [actuator.gear for actuator in actuators if isinstance(actuator, Motor)]
        self.motors = np.zeros((len(assembly.coordinate_names), len(self.names)), np.result_type(float, *gears))
        places, wrenches, columns, column = [], [], [], 0
        for actuator in actuators:
            if isinstance(actuator, Motor):
                self.motors[assembly.place(actuator.joint)[1], column] = actuator.gear
            elif isinstance(actuator, PortActuator):
                for k, wrench in enumerate(actuator.wrenches):
                    places.append(Place(str(actuator.target), actuator.frame == "world"))
                    wrenches.append(wrench)
                    columns.append(column + k)
            column += len(actuator.inputs)
        self.places = tuple(places)
        self._wrenches, self._columns = np.array(wrenches).reshape(len(places), 6), np.array(columns, dtype=int)

    def read(self, u: Any) -> Array:
        """Return inputs given as numbers (nu), or by name (the others zero).

        Raises
        ------
        ModelError
            For unknown names, a wrong length, and entries that are not finite.
        """
        if not isinstance(u, Mapping):
            return read_state("u", u, self.names)
        values = np.zeros(len(self.names))
        for name, value in u.items():
            if name not in self.names:
                raise ModelError(Finding("unknown-input", "u", name, "an input of the model", did_you_mean(name, self.names)))
            values[self.names.index(name)] = value
        return read_state("u", values, self.names)

    def pushes(self, u: Array) -> list[Push]:
        """Return what the inputs do to ports."""
        return [Push(*place, wrench) for place, wrench in zip(self.places, self.wrenches(u), strict=True)]

    def wrenches(self, u: Array) -> Array:
        """Return the wrenches (n, 6) of the inputs at their places."""
        return u[self._columns, None] * self._wrenches

    def matrix(self, model: Dynamics, q: Any) -> Array:
        """Return the efforts on the coordinates a unit of each input (nv, nu) at a configuration."""
        matrix = self.motors.copy()
        for (port, inertial), wrench, k in zip(self.places, self._wrenches, self._columns, strict=True):
            if inertial:
                back = model.pose(port, q)[0].T
                wrench = np.concatenate([back @ wrench[:3], back @ wrench[3:]])
            matrix[:, k] += model.jacobian(port, q).T @ wrench
        return matrix


def _unit(assembly: Assembly, actuator: Actuator) -> str:
    """Return the unit of an actuator's inputs; a motor's is that of efforts on its coordinate."""
    if isinstance(actuator, Motor):
        return effort_unit(assembly.coordinate_units[assembly.place(actuator.joint)[1]])
    return actuator.input_unit
