"""Loads at the bearing of a wheel: those of imbalance and harmonics, which turn; of a limit, and of a loop, of its speed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np

from titop.blocks.basics.choices import positive, select
from titop.blocks.basics.errors import Finding
from titop.blocks.basics.spatial import Array
from titop.blocks.basics.tolerances import NEGLIGIBLE
from titop.blocks.contract.block import ParameterFields
from titop.blocks.contract.fields import Field
from titop.blocks.contract.law import Law
from titop.blocks.contract.target_motion import TargetMotion
from titop.blocks.interactions.harmonics import row_fields
from titop.blocks.interactions.interaction import Interaction

#: Rows of harmonics, in order, with units.
_LINE = {"order": "1", "force": "N s^2", "torque": "N m s^2", "phase": "rad"}


def wheel_loads(numbers: Any, motion: Any, loads: Any) -> None:
    """Fill in the torques of limit and loop, and the rotating wrenches on the port; see `WheelLoads` for the numbers."""
    v, limit, torque = motion.v[0], numbers[0], numbers[1]
    slope = torque / (NEGLIGIBLE * limit)
    ahead, behind = slope * positive(v - limit), slope * positive(-v - limit)
    loads.efforts[0] += select(behind.real > torque.real, torque + 0.0 * v, behind)
    loads.efforts[0] -= select(ahead.real > torque.real, torque + 0.0 * v, ahead) + numbers[3] * (v - numbers[4])
    for k in range((len(numbers) - 11) // 4):
        at = 11 + 4 * k
        angle, square = numbers[at] * motion.q[0] + numbers[at + 3], numbers[2] * v * v
        for i in range(3):
            along = square * (np.cos(angle) * numbers[5 + i] + np.sin(angle) * numbers[8 + i])
            loads.wrenches[0, i] += numbers[at + 1] * along
            loads.wrenches[0, 3 + i] += numbers[at + 2] * along


#: Its machine code is kept once, for all wheels.
WHEEL_LAW = Law(wheel_loads)


class WheelLoads(Interaction):
    """Rotating loads of a wheel on the port that carries it, and the limit of its speed.

    Each of the `lines` is a force and a torque (N and N m per rad^2/s^2) along a direction that turns about the axis, at the
    angle ``order q + phase`` from `radial` towards `tangential`, with q and v those of the wheel::

        F = turning gain force v^2 (cos(order q + phase) radial + sin(order q + phase) tangential)

    Beyond the `limit` (rad/s) of the speed the motor loses `torque` (N m): all of it from 1.001 times the limit on. Without a
    torque there is no limit. A loop holds the `speed` (rad/s) by the torque ``servo (speed - v)``. The lines only disturb:
    `turning` is one, and zero in equilibria and linear models.
    """

    port_counts, coordinate_counts = (1, 1), (1, 1)
    external = True
    compiled_law = WHEEL_LAW
    parameter_units: ClassVar = {
        **{"limit": "rad/s", "torque": "N m", "gain": "1", "servo": "N m s/rad", "speed": "rad/s"},
        **{"radial": "1", "tangential": "1", "turning": "1"},
    }
    disturbances = ("turning",)
    limit, torque, gain = Field[float](), Field[float](), Field[float]()
    servo, speed, turning = Field[float](), Field[float](), Field[float]()
    radial, tangential, lines = Field[Array](), Field[Array](), Field[Array]()

    def __init__(
        self,
        name: str,
        limit: float,
        torque: float,
        gain: float,
        servo: float,
        speed: float,
        radial: Any,
        tangential: Any,
        lines: Any,
    ) -> None:
        super().__init__(name)
        self.limit, self.torque, self.gain, self.servo, self.speed = limit, torque, gain, servo, speed
        self.radial, self.tangential, self.lines, self.turning = radial, tangential, lines, 1.0

    def doubts(self, motion: TargetMotion) -> Iterator[Finding]:
        """Yield that the wheel turns above the limit of its speed, where it is braked."""
        speed = float(motion.v[0])
        if self.torque and abs(speed) > (1 + 2 * NEGLIGIBLE) * self.limit:  # motors drive wheels to half of that
            where, got = f"{self.name.removesuffix('/loads')}.speed_limit", f"{speed:.6g} rad/s"
            advice = "turn it slower, or raise the limit: above it the wheel is braked"
            yield Finding("above-limit", where, got, f"at most {self.limit:.6g} rad/s", advice)

    def parameter_fields(self) -> ParameterFields:
        return super().parameter_fields() | row_fields("lines", self.lines, _LINE)

    def law_numbers(self) -> Array:
        """Return limit, torque, gain, the loop's two numbers, the two directions, and the lines."""
        numbers = [self.limit, self.torque, self.turning * self.gain, self.servo, self.speed]
        return np.concatenate([numbers, self.radial, self.tangential, np.ravel(self.lines)])

    def gaps(self, motion: TargetMotion) -> Array:
        """Return how far the speed is from its limit in both directions."""
        return np.array([self.limit - motion.v[0], self.limit + motion.v[0]] if self.torque else [])
