"""Springs and dampers on linear combinations of coordinates, and servos that command their length."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from titop.blocks.basics.spatial import Array
from titop.blocks.contract.block import ParameterFields
from titop.blocks.contract.fields import Field, numbers, scalar
from titop.blocks.contract.law import Law
from titop.blocks.contract.own_coordinates import effort_unit, in_brackets, ratio_unit
from titop.blocks.contract.target_motion import TargetMotion
from titop.blocks.interactions.interaction import Interaction


def spring_loads(numbers: Any, motion: Any, loads: Any) -> None:
    """Fill in the efforts: numbers are stiffness, damping, rest, gain and arms."""
    arms = numbers[4:]
    stretch, rate = -numbers[2], 0.0 * numbers[2]
    for k in range(len(arms)):
        stretch = stretch + arms[k] * motion.q[k]
        rate = rate + arms[k] * motion.v[k]
    force = -numbers[0] * stretch - numbers[1] * rate
    if len(motion.u):
        force = force + numbers[3] * motion.u[0]
    for k in range(len(arms)):
        loads.efforts[k] += arms[k] * force


SPRING_LAW = Law(spring_loads)


class CoordinateSpring(Interaction):
    """A spring and a damper on a linear combination of coordinates, and a command to it: torsion bars, tendons, servos.

    `System.add_interaction` connects it to its coordinates. Input, where it has a gain: ``command``.

    Parameters
    ----------
    name : str
    arms : array_like (n,)
        Change of the length per unit of each coordinate: 1 for a spring on one, (1, -1) between two. The length is in the unit
        of the first coordinate.
    stiffness : float, N/m or N m/rad
    damping : float, N s/m or N m s/rad
    rest : float, m or rad
        Length without elastic force.
    gain : float
        Force by the command. A servo that holds a commanded length has a gain equal to its stiffness, one that holds a rate a
        gain equal to its damping. Without a gain there is no input.

    Notes
    -----
    ``force = gain u - stiffness (arms . q - rest) - damping arms . v``; the effort on each coordinate is its arm times this.

    Examples
    --------
    >>> import titop as tt
    >>> s = tt.System("servo", gravity=[0, 0, 0])
    >>> s.connect("world", tt.RigidBody("arm", mass=1.0, inertia=0.5), tt.Revolute("hinge"))
    >>> s.add_interaction(tt.CoordinateSpring("servo", arms=[1.0], stiffness=20.0, damping=2.0, gain=20.0), "hinge")
    >>> m = s.resolve(engine="reference")
    >>> m.forward_dynamics([0.1], [0.0], u={"servo.command": 0.3}).round(9).tolist()  # 20 (0.3 - 0.1) / 0.5
    [8.0]
    """

    port_counts = (0, 0)
    compiled_law = SPRING_LAW
    input_units = ("1",)
    parameter_units: ClassVar = {"stiffness": "N m/rad", "damping": "N m s/rad", "rest": "rad", "gain": "N m"}
    arms = Field(numbers)
    stiffness = Field(scalar)
    damping = Field(scalar)
    rest = Field(scalar)
    gain = Field(scalar)

    def __init__(
        self, name: str, arms: Any, stiffness: float = 0.0, damping: float = 0.0, rest: float = 0.0, gain: float = 0.0
    ) -> None:
        super().__init__(name)
        self.arms, self.stiffness, self.damping, self.rest, self.gain = arms, stiffness, damping, rest, gain
        #: Whether there is an input: later values make no other of it.
        self._is_commanded = bool(self.gain)

    @property
    def inputs(self) -> tuple[str, ...]:  # type: ignore[override]
        """The command, where there is a gain."""
        return ("command",) if self._is_commanded else ()

    @property
    def coordinate_counts(self) -> tuple[float, float]:  # type: ignore[override]
        """One coordinate for each arm."""
        return self.arms.size, self.arms.size

    def stored(self, motion: TargetMotion) -> Any:
        return 0.5 * self.stiffness * (self.arms @ motion.q - self.rest) ** 2

    def law_numbers(self) -> Array:
        """Return the numbers of `spring_loads`."""
        return np.array([self.stiffness, self.damping, self.rest, self.gain, *self.arms])

    def parameter_fields(self) -> ParameterFields:
        return super().parameter_fields() | {f"arms.{k}": ("arms", (k,), "1") for k in range(len(self.arms))}

    def parameters_along(self, units: Sequence[str]) -> dict[str, tuple[float, str]]:
        """Return `parameters`, lengths in the unit of the first coordinate."""
        effort, per = effort_unit(units[0]), in_brackets(units[0])
        known = {"stiffness": f"{effort}/{per}", "damping": f"{effort} s/{per}", "rest": units[0], "gain": effort}
        known |= {f"arms.{k}": ratio_unit(units[0], unit) for k, unit in enumerate(units)}
        return {name: (value, known[name]) for name, (value, _) in self.parameters().items()}
