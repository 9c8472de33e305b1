"""Drives: motors on coordinates whose effort depends on motion and on states of their own."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from titop.blocks.basics.errors import Finding
from titop.blocks.basics.spatial import Array
from titop.blocks.contract.block import Block, ParameterFields
from titop.blocks.contract.fields import Field, bound, non_negative, optional, positive, scalar
from titop.blocks.devices.actuators import CoordinateActuator
from titop.blocks.devices.signal_path import SignalPath
from titop.blocks.interactions.harmonics import read_harmonics, row_fields


class CoordinateDrive(CoordinateActuator):
    """Common part of drives: systems add an interaction for each, with its inputs and states.

    Attributes
    ----------
    torque_field : str
        Name of the field with torques of the rotor by its angle: order per turn, torque (N m) and phase (rad) of each (n, 3).
    own_states : tuple of (str, str)
        Names and units of its states; an empty unit is that of the coordinate.
    readings : tuple of (str, str)
        Names and units of what it measures: outputs of the model.
    """

    rational_parameters = None
    acts_by_law = True
    own_states: tuple[tuple[str, str], ...] = ()
    readings: tuple[tuple[str, str], ...] = ()
    torque_field: ClassVar[str] = "harmonics"

    @property
    def torques(self) -> Array:
        """The torques (n, 3) in the field of that name: orders, torques (N m) and phases (rad)."""
        torques: Array = getattr(self, self.torque_field)
        return torques

    def drive_numbers(self) -> tuple[Any, ...]:
        """Return the kind of the drive and four numbers: see `titop.blocks.devices.first_order_states.drive_loads`."""
        raise NotImplementedError

    def denominators(self) -> tuple[Any, ...]:
        """Return numbers for effort, rates of states and readings, as `Interaction.denominators`."""
        raise NotImplementedError

    def energy(self, q: Any, x: Any) -> Any:
        """Return the energy (J) that the harmonics store at a coordinate; `x` are its states."""
        order, torque, phase = self.torques.T
        return (torque / order * np.cos(order * self.gear * q + phase)).sum()

    def read(self, command: Any, v: Any, x: Any) -> list[Any]:
        """Return the `readings` at a `command` behind the path, a rate `v` of the coordinate, and its states `x`."""
        return []

    def parameters_along(self, units: Sequence[str]) -> dict[str, tuple[float, str]]:
        """Return them with the units of a linear drive where the coordinate is a length; phases stay angles."""
        known = super().parameters_along(units)
        if units[0] != "m":
            return known
        return {name: (value, unit.replace("N m", "N").replace("/rad", "/m")) for name, (value, unit) in known.items()}

    def parameter_fields(self) -> ParameterFields:
        rows = row_fields(self.torque_field, self.torques, {"order": "", "torque": "N m", "phase": "rad"})
        return super().parameter_fields() | rows


class DCMotor(CoordinateDrive):
    """A motor with a winding, on a coordinate of a joint or of another block. Input: the voltage.

    Parameters
    ----------
    name : str
    joint : str or Block
        As of `Motor`.
    resistance : float, ohm
    torque_constant : float, N m/A
        Torque of the rotor per current; of a linear motor the force (N/A).
    back_emf : float, V s/rad, optional
        Voltage per speed of the rotor; that of the torque constant by default, as energy demands of an ideal motor.
    inductance : float, H
        With it, the current is a first-order state of the model, ``name.current``.
    gear : float
        Rotor motion per unit of joint motion.
    rotor_inertia : float, kg m^2 (or kg)
        ``gear^2`` times this is added to the joint's armature.
    cogging : sequence of (order, torque, phase)
        Torques ``torque sin(order angle + phase)`` (N m, rad) of the rotor by its angle ``gear q``; the phase may be left out.
    voltage_limit : float, V
        Largest absolute input.
    path : SignalPath, optional
        What the voltage passes.

    Raises
    ------
    ModelError
        When the model is built: without a resistance, or with orders that are not positive.

    Notes
    -----
    With the rotor's speed ``w = gear dq/dt`` (Franklin, Powell, Emami-Naeini, Feedback Control of Dynamic Systems, 2.3)::

        inductance di/dt = u - resistance i - back_emf w     effort = gear (torque_constant i + cogging)

    without an inductance the first equals zero. The input stands behind those of other actuators. The output ``name.current``
    (A) is the current in both cases.

    Examples
    --------
    >>> import titop as tt
    >>> s = tt.System("drive", gravity=[0, 0, 0])
    >>> s.connect("world", tt.RigidBody("rotor", mass=1.0, inertia=0.5), tt.Revolute("shaft"))
    >>> s.add_actuator(tt.DCMotor("motor", "shaft", resistance=2.0, torque_constant=0.1, gear=10.0))
    >>> m = s.resolve(engine="reference")
    >>> m.forward_dynamics([0.0], [0.0], u={"motor": 8.0}).tolist()  # 4 A, 0.4 N m, times ten, over 0.5 kg m^2
    [8.0]
    >>> current = tt.linearize(m, [0.0], inputs=["motor"], outputs=["motor.current"])
    >>> current.C.tolist(), current.D.tolist()  # A for one rad, one rad/s, and one volt
    ([[0.0, -0.5]], [[0.5]])
    """

    input_unit = "V"
    parameter_units: ClassVar = CoordinateActuator.parameter_units | {
        **{"resistance": "ohm", "torque_constant": "N m/A", "back_emf": "V s/rad"}
    }
    readings = (("current", "A"),)
    resistance = Field(positive("no-resistance", "more than zero ohm", "give that of the winding, or use tt.Motor"))
    torque_constant = Field(scalar)
    back_emf = Field(optional(scalar))
    inductance = Field(non_negative("negative-inductance"))
    torque_field = "cogging"
    cogging = Field(read_harmonics)
    upper = Field(bound, "voltage_limit")
    voltage_limit: float

    def __init__(
        self,
        name: str,
        joint: str | Block,
        resistance: float,
        torque_constant: float,
        *,
        back_emf: float | None = None,
        inductance: float = 0.0,
        gear: float = 1.0,
        rotor_inertia: float = 0.0,
        cogging: Any = (),
        voltage_limit: float = math.inf,
        path: SignalPath | None = None,
    ) -> None:
        super().__init__(name, joint, gear, rotor_inertia, path)
        self.resistance, self.torque_constant, self.back_emf = resistance, torque_constant, back_emf
        self.inductance, self.cogging, self.upper = inductance, cogging, voltage_limit
        #: Whether the current is a state: later values make no other of it.
        self._is_inductive = bool(self.inductance)

    @property
    def own_states(self) -> tuple[tuple[str, str], ...]:  # type: ignore[override]
        """The current, where there is an inductance."""
        return self.readings if self._is_inductive else ()

    def channel_units(self, along: Sequence[str] = ()) -> tuple[str, ...]:
        return ("V",)

    @property
    def _constant(self) -> Any:
        return self.torque_constant if self.back_emf is None else self.back_emf

    def drive_numbers(self) -> tuple[Any, ...]:
        kind = 1 if self._is_inductive else 0
        return kind, self.resistance, self.inductance, self.torque_constant, self._constant

    def denominators(self) -> tuple[Any, ...]:
        return (1.0, self.inductance, 1.0) if self._is_inductive else (self.resistance, self.resistance)

    def read(self, command: Any, v: Any, x: Any) -> list[Any]:
        """Return the current at a voltage `command`, a rate `v` of the coordinate, and states `x`."""
        return [x[-1] if self._is_inductive else (command - self._constant * self.gear * v) / self.resistance]

    def check(self) -> tuple[list[Finding], list[Finding]]:
        errors, warnings = super().check()
        if self._is_inductive != (self.inductance != 0):
            expected = "more than zero henry: the current is a state" if self._is_inductive else "zero: the current is no state"
            errors.append(Finding("other-states", f"{self.name}.inductance", self.inductance, expected, "build another motor"))
        return errors, warnings

    def parameter_fields(self) -> ParameterFields:
        return super().parameter_fields() | ({"inductance": ("inductance", (), "H")} if self._is_inductive else {})


class StepperDrive(CoordinateDrive):
    """A stepper motor with a gear, such as the drive of a solar array. Input: the commanded angle of the coordinate.

    Parameters
    ----------
    name : str
    joint : str or Block
        As of `Motor`.
    steps_per_turn : int
        Full steps of a turn of the rotor: 200 of a hybrid motor with 50 teeth and two phases.
    holding_torque : float, N m
        Largest torque with which the rotor resists at rest.
    time_constant : float, s
        With which the field follows the command: inductance over resistance of the windings.
    gear : float
        Rotor motion per unit of joint motion.
    rotor_inertia : float, kg m^2
        ``gear^2`` times this is added to the joint's armature.
    damping : float, N m s/rad
        Of the rotor.
    harmonics : sequence of (order, torque, phase)
        Micro-vibration: torques ``torque sin(order angle + phase)`` (N m, rad) of the rotor by its angle ``gear q``, such as
        the detent torque, of order `steps_per_turn`; the phase may be left out.
    path : SignalPath, optional
        What the command passes: ``tt.SignalPath(sample_time=0.01, quantum=drive.step)`` makes whole steps of it.

    Raises
    ------
    ModelError
        When the model is built: for numbers of steps, torques and times that are not positive, and such orders.

    Notes
    -----
    The field's angle x, on the side of the joint, is a first-order state, ``name.field``. There are four steps in a cycle of a
    two-phase motor, so that the rotor is pulled back, or slips by four steps (Kenjo, Sugawara, Stepping Motors and Their
    Microprocessor Controls, 2nd edition, chapter 4)::

        time_constant dx/dt = u - x
        effort = gear (holding_torque sin(steps_per_turn/4 gear (x - q)) - damping gear dq/dt + harmonics)

    Its electrical stiffness at rest is ``gear^2 holding_torque steps_per_turn/4``.

    Examples
    --------
    >>> import titop as tt
    >>> s = tt.System("array", gravity=[0, 0, 0])
    >>> s.connect("world", tt.RigidBody("panel", mass=10.0, inertia=2.0), tt.Revolute("sada"))
    >>> s.add_actuator(tt.StepperDrive("drive", "sada", 200, 0.1, 0.001, gear=100.0))
    >>> m = s.resolve(engine="reference")
    >>> point = tt.trim(m, q=[0.2], u={"drive": 0.2})  # it holds within two steps, 2 pi/100, of each field
    >>> point.q.round(9).tolist(), float(-tt.linearize(m, point).A[1, 0].round(6) * 2.0)  # N m/rad: 100^2 x 0.1 x 50
    ([0.2], 50000.0)
    """

    parameter_units: ClassVar = CoordinateActuator.parameter_units | {
        **{"holding_torque": "N m", "time_constant": "s", "damping": "N m s/rad"}
    }
    own_states = (("field", ""),)
    steps_per_turn = Field(positive("not-positive"))
    holding_torque = Field(positive("not-positive"))
    time_constant = Field(positive("not-positive"))
    damping = Field(non_negative("negative-damping"))
    harmonics = Field(read_harmonics)

    def __init__(
        self,
        name: str,
        joint: str | Block,
        steps_per_turn: float,
        holding_torque: float,
        time_constant: float,
        *,
        gear: float = 1.0,
        rotor_inertia: float = 0.0,
        damping: float = 0.0,
        harmonics: Any = (),
        path: SignalPath | None = None,
    ) -> None:
        super().__init__(name, joint, gear, rotor_inertia, path)
        self.steps_per_turn, self.holding_torque, self.time_constant = steps_per_turn, holding_torque, time_constant
        self.damping, self.harmonics = damping, harmonics

    @property
    def step(self) -> float:
        """Angle (rad) by which a full step turns the coordinate."""
        return 2 * math.pi / abs(self.steps_per_turn * self.gear)

    @property
    def _cycles(self) -> Any:
        """Cycles of the holding torque in a turn of the rotor."""
        return self.steps_per_turn / 4

    def channel_units(self, along: Sequence[str] = ()) -> tuple[str, ...]:
        return tuple(along) or ("rad",)

    def drive_numbers(self) -> tuple[Any, ...]:
        return 2, self.holding_torque, self._cycles, self.damping, self.time_constant

    def denominators(self) -> tuple[Any, ...]:
        return 1.0, self.time_constant

    def energy(self, q: Any, x: Any) -> Any:
        field = 1.0 - np.cos(self._cycles * self.gear * (x[-1] - q))
        return super().energy(q, x) + self.holding_torque / self._cycles * field
