"""Belts: interactions on several coordinates, compiled and in Python."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

import titop as tt
from titop.blocks.contract.target_motion import TargetMotion


def belt_law(numbers: Any, motion: Any, loads: Any) -> None:
    """Write the efforts of a spring and a damper between two coordinates, and an input that turns the ports' bodies apart."""
    effort = numbers[0] * (motion.q[1] - motion.q[0]) + numbers[1] * (motion.v[1] - motion.v[0])
    loads.efforts[0] += effort
    loads.efforts[1] -= effort
    axis = motion.R[1][:, 2] * motion.u[0]
    for k in range(3):
        loads.wrenches[0, 3 + k] -= axis[k]
        for j in range(3):
            loads.wrenches[1, 3 + k] += motion.R[1][j, k] * axis[j]


class CompiledBelt(tt.Interaction):
    """A spring and a damper between two coordinates; its input, a torque between two ports."""

    port_counts, coordinate_counts = (2, 2), (2, 2)
    inputs, input_units = ("torque",), ("N m",)
    parameter_units: ClassVar = {"stiffness": "N m/rad", "damping": "N m s/rad"}
    compiled_law = tt.Law(belt_law)

    def __init__(self, name: str, stiffness: float, damping: float = 0.0) -> None:
        super().__init__(name)
        self.stiffness = self.reader.scalar("stiffness", stiffness)
        self.damping = self.reader.scalar("damping", damping)

    def law_numbers(self) -> Any:
        return np.array([self.stiffness, self.damping])

    def stored(self, motion: TargetMotion) -> Any:
        return 0.5 * self.stiffness * (motion.q[1] - motion.q[0]) ** 2


class PythonBelt(CompiledBelt):
    """The same in Python, by an override, which the compiled law knows nothing of."""

    def act(self, motion: TargetMotion) -> Any:
        effort = self.stiffness * (motion.q[1] - motion.q[0]) + self.damping * (motion.v[1] - motion.v[0])
        axis = motion.R[1] @ np.array([0, 0, motion.u[0]])
        apart = np.array([np.concatenate([np.zeros(3), -axis]), np.concatenate([np.zeros(3), motion.R[1].T @ axis])])
        return apart, np.array([effort, -effort])


class RealBelt(PythonBelt):
    """The same, of a function that loses imaginary parts."""

    def act(self, motion: TargetMotion) -> Any:
        return tuple(np.real(part) for part in super().act(motion._replace(q=np.real(motion.q), v=np.real(motion.v))))
