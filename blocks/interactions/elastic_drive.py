"""Elastic drives: harmonic drives and other gears with compliance, hysteresis and kinematic error, between two coordinates."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from titop.blocks.basics.errors import Finding
from titop.blocks.basics.spatial import Array
from titop.blocks.contract.block import ParameterFields
from titop.blocks.contract.fields import Field, non_negative, scalar
from titop.blocks.contract.law import Law
from titop.blocks.contract.target_motion import TargetMotion
from titop.blocks.interactions.harmonics import harmonic_sum, read_harmonics, row_fields
from titop.blocks.interactions.interaction import Interaction


def transmitted(numbers: Any, motion: Any) -> tuple[Any, Any, Any, Any]:
    """Return the torque on the link, the torsion, its rate, and its derivative by the motor's angle.

    Numbers: ratio, stiffness, cubic stiffness, damping, torque and stiffness of the hysteresis, number of harmonics, harmonics.
    """
    count, angle = int(np.real(numbers[6])), motion.q[0]
    error, slope = harmonic_sum(numbers, 7, count, angle)
    slope = slope + 1.0 / numbers[0]
    torsion = angle / numbers[0] - motion.q[1] + error
    rate = slope * motion.v[0] - motion.v[1]
    torque = (numbers[1] + numbers[2] * torsion * torsion) * torsion + numbers[3] * rate
    if np.real(numbers[4]) > 0.0:
        torque = torque + motion.x[0]
    return torque, torsion, rate, slope


def elastic_loads(numbers: Any, motion: Any, loads: Any) -> None:
    """Fill in the efforts on motor and link."""
    torque, _, _, slope = transmitted(numbers, motion)
    loads.efforts[0] -= slope * torque
    loads.efforts[1] += torque


def elastic_rates(numbers: Any, motion: Any, rates: Any) -> None:
    """Fill in the rate of the hysteresis: Dahl's law."""
    _, _, rate, _ = transmitted(numbers, motion)
    against = rate if np.real(rate) > 0.0 else -rate
    if np.real(numbers[4]) > 0.0:
        rates[0] += numbers[5] * (rate - against * motion.x[0] / numbers[4])


ELASTIC_LAW = Law(elastic_loads, rates=elastic_rates)


class ElasticDrive(Interaction):
    """A harmonic drive, or another elastic gear, between the coordinates of a motor and of a link.

    `System.add_interaction` connects it to both, the motor's first. Outputs: ``name.torque`` on the link (N m), and
    ``name.torsion`` (rad).

    Parameters
    ----------
    name : str
    ratio : float
        Turns of the motor for one of the link; negative where they turn against each other, as in harmonic drives with a fixed
        circular spline.
    stiffness : float, N m/rad
        At the link, for small torsions.
    cubic_stiffness : float, N m/rad^3
        By which it stiffens.
    damping : float, N m s/rad
        Of the torsion.
    hysteresis_torque : float, N m
        Largest torque of the dry friction inside, with which the torque leads and lags. With it, its torque is a first-order
        state of the model, ``name.hysteresis``.
    hysteresis_stiffness : float, N m/rad
        Slope of this torque where the torsion turns back.
    kinematic_error : sequence of (order, amplitude, phase)
        Errors ``amplitude sin(order angle + phase)`` (rad) of the link's angle by the motor's; the phase may be left out. Those
        of harmonic drives are mainly of orders 2 and 4, since the wave generator is an ellipse.

    Raises
    ------
    ModelError
        When the model is built: for a ratio of zero, a hysteresis without stiffness, and orders that are not positive.

    Notes
    -----
    With the angles m of the motor and l of the link::

        d = m/ratio - l + error(m)                  torque = stiffness d + cubic_stiffness d^3 + damping dd/dt + z
        dz/dt = hysteresis_stiffness (dd/dt - |dd/dt| z/hysteresis_torque)

    The torque acts on the link, and ``-(1/ratio + derror/dm) torque`` on the motor, so that no power is lost but in damping and
    hysteresis. Stiffness and error: Tuttle, Seering, A nonlinear model of a harmonic drive gear transmission, IEEE Transactions
    on Robotics and Automation 12 (1996) 368-374. Hysteresis: Dahl's law with exponent one, Solid friction damping of mechanical
    vibrations, AIAA Journal 14 (1976) 1675-1682. In linear models of a drive at rest the hysteresis is a spring; the slope of
    ``|dd/dt|`` at zero is taken for a falling torsion.

    Examples
    --------
    >>> import titop as tt
    >>> s = tt.System("joint", gravity=[0, 0, 0])
    >>> s.connect("world", tt.RigidBody("rotor", mass=0.1, inertia=1e-4), tt.Revolute("motor"))
    >>> s.connect("world", tt.RigidBody("link", mass=1.0, inertia=0.5), tt.Revolute("elbow"))
    >>> s.add_interaction(tt.ElasticDrive("drive", ratio=100.0, stiffness=2e4), "motor", "elbow")
    >>> s.resolve(engine="reference").passive_efforts([0.1, 0.0], [0.0, 0.0]).round(9).tolist()  # torsion 1 mrad
    [-0.2, 20.0]
    """

    port_counts, coordinate_counts = (0, 0), (2, 2)
    compiled_law = ELASTIC_LAW
    readings, reading_units = ("torque", "torsion"), ("N m", "rad")
    parameter_units: ClassVar = {
        **{"ratio": "1", "stiffness": "N m/rad", "cubic_stiffness": "N m/rad^3", "damping": "N m s/rad"}
    }
    ratio = Field(scalar)
    stiffness = Field(non_negative("negative-stiffness"))
    cubic_stiffness = Field(scalar)
    damping = Field(non_negative("negative-damping"))
    hysteresis_torque = Field(non_negative("negative-torque"))
    hysteresis_stiffness = Field(non_negative("negative-stiffness"))
    kinematic_error = Field(read_harmonics)

    def __init__(
        self,
        name: str,
        ratio: float,
        stiffness: float,
        cubic_stiffness: float = 0.0,
        damping: float = 0.0,
        hysteresis_torque: float = 0.0,
        hysteresis_stiffness: float = 0.0,
        kinematic_error: Any = (),
    ) -> None:
        super().__init__(name)
        self.ratio, self.stiffness, self.cubic_stiffness, self.damping = ratio, stiffness, cubic_stiffness, damping
        self.hysteresis_torque, self.hysteresis_stiffness = hysteresis_torque, hysteresis_stiffness
        self.kinematic_error = kinematic_error
        #: Whether the hysteresis is a state: later values make no other of it.
        self._has_hysteresis = bool(self.hysteresis_torque)

    @property
    def state_names(self) -> tuple[str, ...]:  # type: ignore[override]
        """The torque of the hysteresis, where there is any."""
        return ("hysteresis",) if self._has_hysteresis else ()

    @property
    def state_units(self) -> tuple[str, ...]:  # type: ignore[override]
        """Its unit."""
        return ("N m",) if self._has_hysteresis else ()

    def law_numbers(self) -> Array:
        """Return the numbers of `transmitted`."""
        rows = self.kinematic_error
        own = self.ratio, self.stiffness, self.cubic_stiffness, self.damping, self.hysteresis_torque, self.hysteresis_stiffness
        return np.concatenate([[*own, len(rows)], np.ravel(rows)])

    def stored(self, motion: TargetMotion) -> Any:
        square = transmitted(self.law_numbers(), motion)[1] ** 2
        energy = (self.stiffness + self.cubic_stiffness * square / 2) * square / 2
        return energy + motion.x[0] ** 2 / (2 * self.hysteresis_stiffness) if self._has_hysteresis else energy

    def read(self, motion: TargetMotion) -> Array:
        """Return torque and torsion (2; N m, rad).

        Parameters
        ----------
        motion : TargetMotion
        """
        return np.array(transmitted(self.law_numbers(), motion)[:2])

    def denominators(self) -> tuple[Any, ...]:
        """Return those of efforts, rates of states and readings: powers of the ratio, which divides the torsion."""
        ratio = self.ratio
        of_torque = ratio**3 if self.cubic_stiffness else ratio
        of_state = (ratio * self.hysteresis_torque,) if self._has_hysteresis else ()
        return ratio * of_torque, of_torque, *of_state, of_torque, ratio

    def check(self) -> tuple[list[Finding], list[Finding]]:
        errors, warnings = super().check()
        if not self.ratio:
            expected, advice = "a ratio other than zero", "100 turns the motor a hundred times for the link's once"
            errors.append(Finding("zero-ratio", f"{self.name}.ratio", self.ratio, expected, advice))
        given = [value > 0 for value in (self.hysteresis_torque, self.hysteresis_stiffness)]
        if self._has_hysteresis != any(given) or any(given) != all(given):
            found = f"{self.hysteresis_torque:g} N m, {self.hysteresis_stiffness:g} N m/rad"
            expected = "both above zero" if self._has_hysteresis else "both zero"
            advice = "give hysteresis_stiffness beside hysteresis_torque, or build another drive"
            errors.append(Finding("no-hysteresis", f"{self.name}.hysteresis_torque", found, expected, advice))
        return errors, warnings

    def parameter_fields(self) -> ParameterFields:
        entries = {"hysteresis_torque": "N m", "hysteresis_stiffness": "N m/rad"} if self._has_hysteresis else {}
        fields = super().parameter_fields() | {name: (name, (), unit) for name, unit in entries.items()}
        return fields | row_fields("kinematic_error", self.kinematic_error, {"order": "", "amplitude": "rad", "phase": "rad"})
