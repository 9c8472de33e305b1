"""Magnetorquers: coils and rods whose dipoles the magnetic field turns."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import numpy as np

from titop.blocks.basics.spatial import Array
from titop.blocks.contract.block import Block, ParameterFields, PortRef
from titop.blocks.contract.fields import Field, axis, bound, optional
from titop.blocks.devices.actuators import PortActuator
from titop.blocks.devices.device import FilterKind
from titop.blocks.devices.signal_path import SignalPath
from titop.blocks.surroundings.magnetic_field import MagneticField, field_parameters, read_field


class Magnetorquer(PortActuator):
    """A magnetorquer at a port, or three of them along its axes. Inputs: their dipole moments, A m^2.

    Parameters
    ----------
    name : str
    target : PortRef or Block
        Where it is fixed.
    field : MagneticField
        In which it stands.
    axis : array_like (3,), optional
        Direction of the moment in the port's axes; normalised. Without it there are three inputs ``name.x``, ``name.y``,
        ``name.z``.
    max_dipole : float, A m^2
        Largest absolute value of each input.
    path : SignalPath, optional
        Coils that lag are ``tt.SignalPath.lag(0.1)``.

    Raises
    ------
    ModelError
        When the model is built: without a field, and for an axis of zeros.

    Notes
    -----
    The torque is ``m x B`` at the port's place, with the moment m of the inputs and the field B (Wertz, Spacecraft Attitude
    Determination and Control, section 18.5): there is none along the field. The torque is linear in the inputs, with factors
    that depend on place and attitude; the force by the field's gradient is left out. The inputs stand behind those of other
    actuators.

    Examples
    --------
    >>> import titop as tt
    >>> s = tt.System("satellite", gravity=[0, 0, 0])
    >>> hub = tt.RigidBody("hub", mass=10.0, inertia=2.0)
    >>> s.connect("world", hub, tt.Free("base"))
    >>> s.add_actuator(tt.Magnetorquer("torquer", hub, tt.MagneticField.uniform([0, 3e-5, 0]), max_dipole=10.0))
    >>> m = s.resolve(engine="reference")
    >>> m.forward_dynamics(m.neutral(), m.velocity({}), u={"torquer.x": 4.0})[3:].tolist()  # 1.2e-4 N m over 2 kg m^2
    [0.0, 0.0, 6e-05]
    """

    rational_parameters = None
    input_unit = "A m^2"
    acts_by_law = True
    parameter_units: ClassVar = {"axis": "1"}
    field = Field(read_field)
    axis = Field(optional(axis))
    upper = Field(bound, "max_dipole")
    max_dipole: float

    def __init__(
        self,
        name: str,
        target: PortRef | Block,
        field: MagneticField,
        axis: Any = None,
        max_dipole: float = math.inf,
        *,
        path: SignalPath | None = None,
    ) -> None:
        super().__init__(name, target, path=path)
        self.field, self.axis, self.upper = field, axis, max_dipole

    @property
    def lower(self) -> float:  # type: ignore[override]
        """The smallest input: minus the largest."""
        return -self.upper

    @property
    def inputs(self) -> tuple[str, ...]:  # type: ignore[override]
        """One input along the axis, or three along the port's axes."""
        return ("x", "y", "z") if self.axis is None else ("",)

    @property
    def filter_ports(self) -> tuple[Any, ...]:
        """The world, and the target."""
        return "world", self.target

    @property
    def filter_law(self) -> tuple[FilterKind, Array]:
        """The field (4; T or T m^3), and the moment per unit of each input (3 k, no unit)."""
        moments = np.eye(3) if self.axis is None else self.axis / np.sqrt(self.axis @ self.axis)
        return FilterKind.DIPOLE, np.concatenate([self.field.numbers, moments.ravel()])

    def parameter_fields(self) -> ParameterFields:
        return super().parameter_fields() | field_parameters(self.field)
