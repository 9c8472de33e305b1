"""The common part of tendons, which pull, and pressure chambers, which push, in rods and in deformable bodies."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from titop.blocks.basics.errors import Finding
from titop.blocks.basics.paths import split_path
from titop.blocks.basics.spatial import Array, replace_entry
from titop.blocks.contract.block import Block
from titop.blocks.contract.fields import Field, fields_of, numbers, put, refuse_change, scalar
from titop.blocks.contract.own_coordinates import ratio_unit
from titop.blocks.contract.target_motion import TargetMotion
from titop.blocks.interactions.interaction import Interaction


class Line(Interaction):
    """Common part of loads along a `path` in bodies, or in a cavity: ``efforts = -tension d(measure)/dq``.

    Attributes
    ----------
    path
        Its length or volume, ``measure(q)``, and the derivatives by the ``size`` coordinates of the bodies.
    measured : {"length", "volume"}
    upper : float
        The largest input.
    both_ways : bool
        Whether the input may be negative, down to minus `upper`.
    """

    port_counts = (0, 0)
    measured = "length"
    path: Any
    upper: float
    both_ways: bool

    @property
    def coordinate_counts(self) -> tuple[float, float]:  # type: ignore[override]
        """All coordinates of the bodies."""
        count = len(self.own_coordinates)
        return count, count

    @property
    def one_sided(self) -> bool:  # type: ignore[override]
        """Whether a negative input is refused."""
        return not self.both_ways

    @property
    def lower(self) -> float:  # type: ignore[override]
        """The smallest input."""
        return -self.upper if self.both_ways else 0.0

    @lower.setter
    def lower(self, lower: Any) -> None:
        fields = fields_of(type(self))
        advice = f"set {fields['both_ways'].argument} and {fields['upper'].argument}, from which it follows"
        refuse_change(self, "lower", lower, advice)

    def measure(self, q: Array) -> Any:
        """Return the length (m) of a tendon, or the volume (m^3) of a chamber.

        Parameters
        ----------
        q : (..., n) array
            Coordinates of the bodies, one body after the other.
        """
        return self.path.measure(q[..., : self.path.size])

    def rate(self, q: Array, v: Array) -> Any:
        """Return the rate of the measure (m/s or m^3/s) at coordinates and rates (..., n each)."""
        size = self.path.size
        return (self.path.gradient(q[..., :size]) * v[..., :size]).sum(-1)

    def act(self, motion: TargetMotion) -> tuple[Array, Array]:
        """Return no wrenches (0, 6), and the efforts (n) on the coordinates."""
        return np.zeros((0, 6)), -self.tension(motion) * self._slopes(motion.q)

    def tension(self, motion: TargetMotion) -> Any:
        """Return the tension (N) of a tendon, or minus the pressure (Pa) of a chamber."""
        raise NotImplementedError

    def _slopes(self, q: Array) -> Array:
        """Return the derivatives (n) by all coordinates of the length on which the tension acts."""
        return self.path.gradient(q)

    def _line_numbers(self, sign: float, elastic: Sequence[Any], arms: Array) -> Array:
        """Return the numbers of the compiled law: see `titop.solvers.kernels.laws.soft_lines`."""
        raise NotImplementedError

    def with_parameters(self, values: dict[str, float]) -> Block:
        """Return a copy with some parameters changed."""
        changed = copy.copy(self)
        for name, value in values.items():
            changed._change(*split_path(name), value)
        return changed

    def _change(self, field: str, entry: str | None, value: Any) -> None:
        """Change a number."""
        put(self, field, value)


class Chamber(Line):
    """Common part of chambers: a pressure p above the outside pressure gives the efforts ``p dV/dq``."""

    inputs = ("pressure",)
    input_units = ("Pa",)
    measured = "volume"

    def tension(self, motion: TargetMotion) -> Any:
        """Return minus the pressure (Pa)."""
        return -motion.u[0]

    def law_numbers(self) -> Array:
        """Return the path, without elasticity and arms."""
        return self._line_numbers(-1.0, (0.0, 0.0, 0.0), np.zeros(0))


class ElasticTendon(Line):
    """Common part of tendons along a `path` in bodies, which motors wind and unwind by `arms`.

    The tension is the input plus, for an elongation ``e = l - l(rest) + displacement + arms . q > 0``, that of the tendon,
    ``stiffness e (1 + dissipation de/dt)``, which never pushes.

    Attributes
    ----------
    stiffness, displacement, dissipation : float, N/m, m, s/m
    arms : (m,) array, m or 1
    """

    inputs = ("tension",)
    input_units = ("N",)
    parameter_units: ClassVar[dict[str, str]] = {"stiffness": "N/m", "displacement": "m", "dissipation": "s/m"}
    stiffness = Field(scalar)
    displacement = Field(scalar)
    dissipation = Field(scalar)
    arms = Field(numbers)

    @property
    def coordinate_counts(self) -> tuple[float, float]:  # type: ignore[override]
        """All coordinates of the bodies, and one more for each arm."""
        count = len(self.own_coordinates) + self.arms.size
        return count, count

    def tension(self, motion: TargetMotion) -> Any:
        """Return the tension (N)."""
        return motion.u[0] + self._elastic_tension(motion)

    def stretch(self, q: Array) -> Any:
        """Return the elongation (m) of the tendon relative to its length without tension; the motors' coordinates come last."""
        size = self.path.size
        return self.path.measure(q[:size]) + self._drawn_in + self.arms @ q[size:]

    def stored(self, motion: TargetMotion) -> Any:
        """Return the stored energy (J)."""
        stretch = self.stretch(motion.q)
        return 0.5 * self.stiffness * stretch**2 if np.real(stretch) > 0 else 0.0

    def gaps(self, motion: TargetMotion) -> Array:
        """Return the elongation (1, m) of an elastic tendon."""
        return np.array([self.stretch(motion.q)]) if self.stiffness else np.zeros(0)

    @property
    def _drawn_in(self) -> Any:
        """The displacement without the motors, minus the length at rest (m)."""
        return self.displacement - self.path.measure(np.zeros(self.path.size))

    def _elastic_tension(self, motion: TargetMotion) -> Any:
        if not self.stiffness:
            return 0.0
        stretch, share = self.stretch(motion.q), 1.0 + self.dissipation * (self._slopes(motion.q) @ motion.v)
        return self.stiffness * stretch * share if np.real(stretch) > 0 and np.real(share) > 0 else 0.0

    def _slopes(self, q: Array) -> Array:
        """Return the derivatives (n) by all coordinates of the length on which the tension acts."""
        return np.concatenate([self.path.gradient(q[: self.path.size]), self.arms])

    def law_numbers(self) -> Array:
        """Return elasticity, arms and path."""
        return self._line_numbers(1.0, (self.stiffness, self.dissipation, self._drawn_in), self.arms)

    def check(self) -> tuple[list[Finding], list[Finding]]:
        """Return what is wrong with the tendon and what is suspicious."""
        errors, warnings = super().check()
        for field in ("stiffness", "dissipation"):
            value = getattr(self, field)
            if value < 0:
                expected, advice = "a number >= 0", "check the sign: the tendon would be unstable"
                errors.append(Finding(f"negative-{field}", f"{self.name}.{field}", value, expected, advice))
        if not self.stiffness and (self.displacement or self.arms.any()):
            expected, advice = "a stiffness > 0 with a displacement or arms", "give stiffness, in N/m, of the whole tendon"
            warnings.append(Finding("idle-displacement", f"{self.name}.stiffness", self.stiffness, expected, advice))
        return errors, warnings

    def parameters(self) -> dict[str, tuple[float, str]]:
        """Return stiffness, displacement, dissipation, arms, and the numbers of the path, if it has any."""
        return self.parameters_along(("1",) * len(self.arms))

    def parameters_along(self, units: Sequence[str]) -> dict[str, tuple[float, str]]:
        """Return `parameters`: an arm is in metres per unit of its coordinate."""
        along = units[len(units) - len(self.arms) :]
        arms = {
            f"arms.{k}": (float(arm), ratio_unit("m", unit)) for k, (arm, unit) in enumerate(zip(self.arms, along, strict=True))
        }
        return super().parameters() | arms

    def _change(self, field: str, entry: str | None, value: Any) -> None:
        """Change a number."""
        if field == "arms":
            put(self, field, replace_entry(self.arms, int(entry or 0), value))
        else:
            super()._change(field, entry, value)
