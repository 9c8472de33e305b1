"""Magnetic fields, and the torque that they exert on dipoles."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from titop.blocks.basics.choices import select
from titop.blocks.basics.spatial import Array
from titop.blocks.basics.user_input import FieldReader
from titop.blocks.contract.block import Block, ParameterFields
from titop.blocks.contract.fields import Field, vector
from titop.blocks.contract.law import Law
from titop.blocks.laws.vectors import Vector, cross3, dot3, times, transposed
from titop.blocks.surroundings.inertial_places import PLACE, PlacedInteraction, inertial_place

#: The magnetic constant over 4 pi (T m/A).
_MU0 = 1e-7


def flux_density(numbers: Any, at: Any, place: Any) -> Vector:
    """Return the field (3, T) at a place (3, m): its `MagneticField.numbers` begin in `numbers` at `at`."""
    source = numbers[at + 1], numbers[at + 2], numbers[at + 3]
    square = dot3(place, place)
    if np.real(numbers[at]) == 0.0:
        nothing = 0.0 * square
        return source[0] + nothing, source[1] + nothing, source[2] + nothing
    square = select(square.real > 0.0, square, square + 1.0)
    cube, along = square * np.sqrt(square), 3.0 * dot3(source, place) / square
    x, y, z = place
    return (along * x - source[0]) / cube, (along * y - source[1]) / cube, (along * z - source[2]) / cube


def torque_on_dipole(numbers: Any, at: Any, motion: Any, moment: Any) -> Vector:
    """Return the torque (3, N m) on a dipole `moment` (3, A m^2) at the second port, in its axes.

    Place of the world and field begin in `numbers` at `at`.
    """
    place, turn = inertial_place(numbers, at, motion, 1)
    return cross3(moment, times(transposed(turn), flux_density(numbers, at + PLACE, place)))


class MagneticField:
    """The magnetic field about a planet: `uniform`, or that of a `dipole` in its centre.

    It is given in inertial axes about the planet's centre, which are those of the world without `CentralGravity` or `Orbit`.
    The planet does not turn: over one orbit, a tilted dipole that turns with the earth moves by 25 degrees about its axis.

    Parameters
    ----------
    kind : {"uniform", "dipole"}
    vector : array_like (3,), T or A m^2
        The field, or the moment of the dipole.

    Attributes
    ----------
    kind, vector

    Raises
    ------
    ModelError
        For another kind, and a vector that is not three finite numbers.

    Notes
    -----
    That of a dipole m is ``B(r) = mu0/(4 pi r^3) (3 (m . e) e - m)``, with the distance r and the direction e from the centre
    (Wertz, Spacecraft Attitude Determination and Control, appendix H). Its components are parameters of all that stands in it,
    as ``"torquer.field.x"``.

    Examples
    --------
    >>> import titop as tt
    >>> earth = tt.MagneticField.dipole(2.98e-5, radius=6.3712e6, axis=[0, 0, -1])
    >>> (earth.at([0, 0, 6.3712e6]).round(8) + 0.0).tolist()  # above the north pole twice that at the equator, downwards
    [0.0, 0.0, -5.96e-05]
    """

    def __init__(self, kind: str, vector: Any) -> None:
        reader = FieldReader("field")
        if kind not in ("uniform", "dipole"):
            reader.report("bad-field", "kind", kind, "uniform or dipole", "write tt.MagneticField.uniform([0, 0, 3e-5])")
        self.kind, self.vector = kind, reader.array("vector", vector, (3,), "three numbers: T of a field, A m^2 of a dipole")
        reader.raise_findings()

    @classmethod
    def uniform(cls, B: Any) -> MagneticField:
        """Return the field that is the same everywhere.

        Parameters
        ----------
        B : array_like (3,), T
        """
        return cls("uniform", B)

    @classmethod
    def dipole(cls, strength: float, axis: Any = (0.0, 0.0, -1.0), radius: float | None = None) -> MagneticField:
        """Return the field of a dipole in the planet's centre.

        Parameters
        ----------
        strength : float, A m^2 or T
            Its moment (7.7e22 A m^2 of the earth); with a `radius`, the field at its equator at this distance (2.98e-5 T).
        axis : array_like (3,)
            Direction of the moment, of any length: of the earth, to the south.
        radius : float, m, optional

        Raises
        ------
        ModelError
            For an axis of zeros, and a radius that is not positive.
        """
        reader = FieldReader("field")
        size, direction = reader.scalar("strength", strength), reader.axis("axis", axis)
        cube = 1.0 if radius is None else reader.scalar("radius", radius) ** 3
        if cube <= 0:
            reader.report("no-radius", "radius", radius, "a radius > 0", "give the planet's, 6.3712e6 m of the earth")
        if not direction.any():
            reader.report("zero-axis", "axis", axis, "a non-zero direction", "give a direction such as [0, 0, -1]")
        reader.raise_findings()
        return cls("dipole", (size if radius is None else size * cube / _MU0) * direction / np.sqrt(direction @ direction))

    @property
    def numbers(self) -> Array:
        """Kind and source (4) in SI units: the field, or the moment times mu0/(4 pi)."""
        is_dipole = float(self.kind == "dipole")
        return np.concatenate([[is_dipole], (_MU0 if is_dipole else 1.0) * self.vector])

    def at(self, position: Any) -> Array:
        """Return the field (3) in SI units (T), in inertial axes; complex-safe.

        Parameters
        ----------
        position : array_like (3,), m
            From the planet's centre, in inertial axes.
        """
        return np.array(flux_density(self.numbers, 0, np.asarray(position) + 0.0))

    def __repr__(self) -> str:
        return f"MagneticField({self.kind!r}, {self.vector.tolist()})"


def read_field(block: Block, field: str, value: Any) -> MagneticField:
    """Read a field; anything else is reported, and replaced by none."""
    if isinstance(value, MagneticField):
        return value
    expected, advice = "a tt.MagneticField", "write tt.MagneticField.dipole(2.98e-5, radius=6.3712e6) for that of the earth"
    block.reader.report("no-field", field, value, expected, advice)
    return MagneticField("uniform", np.zeros(3))


def field_parameters(field: MagneticField) -> ParameterFields:
    """Return the parameters of a block's field, which is its attribute ``field``."""
    unit = "T" if field.kind == "uniform" else "A m^2"
    return {f"field.{axis}": ("field", ("vector", k), unit) for k, axis in enumerate("xyz")}


def dipole_loads(numbers: Any, motion: Any, loads: Any) -> None:
    """Fill in the torque on the port; numbers are the world's place, the field and the moment."""
    at = PLACE + 4
    torque = torque_on_dipole(numbers, 0, motion, (numbers[at], numbers[at + 1], numbers[at + 2]))
    for i in range(3):
        loads.wrenches[1, 3 + i] += torque[i]


#: Its machine code is kept once, for all dipoles.
DIPOLE_LAW = Law(dipole_loads)


class ResidualDipole(PlacedInteraction):
    """A magnetic dipole fixed in a body, such as that of currents and magnetised parts: the field turns it.

    ``s.add_interaction(tt.ResidualDipole("residual", [0.1, 0, 0], field), hub)`` connects it to its port.

    Parameters
    ----------
    name : str
    moment : array_like (3,), A m^2
        In the port's axes.
    field : MagneticField

    Raises
    ------
    ModelError
        When the model is built, without a field.

    Notes
    -----
    The torque is ``moment x B`` at the port's place. The force by the field's gradient, 1e-11 N for 1 A m^2 in low orbits of
    the earth, is left out, and no energy is stored: the field does work as an external load does.

    Examples
    --------
    >>> import titop as tt
    >>> s = tt.System("satellite", gravity=[0, 0, 0])
    >>> hub = tt.RigidBody("hub", mass=10.0, inertia=2.0)
    >>> s.connect("world", hub, tt.Free("base"))
    >>> field = tt.MagneticField.uniform([0, 3e-5, 0])
    >>> s.add_interaction(tt.ResidualDipole("residual", [0.1, 0, 0], field), hub)
    >>> m = s.resolve(engine="reference")
    >>> m.forward_dynamics(m.neutral(), m.velocity({}))[3:].tolist()  # 3e-6 N m over 2 kg m^2
    [0.0, 0.0, 1.5e-06]
    """

    compiled_law = DIPOLE_LAW
    parameter_units: ClassVar = {"moment": "A m^2"}
    moment = Field(vector)
    field = Field(read_field)

    def __init__(self, name: str, moment: Any, field: MagneticField) -> None:
        super().__init__(name)
        self.moment, self.field = moment, field

    def law_numbers(self) -> Array:
        """Return the world's place, the field and the moment."""
        return np.concatenate([self.place, self.field.numbers, self.moment])

    def parameter_fields(self) -> ParameterFields:
        return super().parameter_fields() | field_parameters(self.field)
