"""Elastic tension, of cables and of tendons, and the common part of lines in bodies: tendons pull, pressure chambers push."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any, ClassVar, TypeVar

import numpy as np

from titop.blocks.basics.errors import Finding
from titop.blocks.basics.spatial import Array
from titop.blocks.contract.block import Block, ParameterFields
from titop.blocks.contract.fields import Field, Read, bound, fields_of, non_negative, numbers, refuse_change, scalar, switch
from titop.blocks.contract.own_coordinates import ratio_unit
from titop.blocks.contract.target_motion import TargetMotion
from titop.blocks.interactions.interaction import BodyInteraction, Interaction

T = TypeVar("T", bound=Block)


class Measure:
    """A length (m) or volume (m^3), and its derivatives by coordinates q (..., n), which may be complex."""

    #: Number of coordinates.
    size: int

    def measured(self, q: Array) -> tuple[Any, Array]:
        """Return the measure and its derivatives (..., n)."""
        raise NotImplementedError

    @cached_property
    def at_rest(self) -> Any:
        """The measure at zero coordinates."""
        return self.measure(np.zeros(self.size))

    def measure(self, q: Array) -> Any:
        """Return the measure."""
        return self.measured(q)[0]

    def gradient(self, q: Array) -> Array:
        """Return its derivatives (..., n)."""
        return self.measured(q)[1]


class Elastic(Interaction):
    """Common part of cables and tendons, which coordinates wind and unwind by `arms`.

    The tension is the input plus, for an `elongation` e > 0, ``stiffness e (1 + dissipation de/dt)``, which never pushes.

    Attributes
    ----------
    stiffness, dissipation : float, N/m and s/m
    arms : (m,) array, m or 1
    upper : float, N
        The largest input.
    """

    inputs = ("tension",)
    input_units = ("N",)
    stiffness = Field(non_negative("negative-stiffness"))
    dissipation = Field(non_negative("negative-dissipation"))
    arms = Field(numbers)
    upper = Field(bound, "max_tension")
    max_tension: float

    def elongation(self, motion: TargetMotion) -> Any:
        """Return the elongation (m) relative to the length without tension."""
        raise NotImplementedError

    def stored(self, motion: TargetMotion) -> Any:
        elongation = self.elongation(motion)
        return 0.5 * self.stiffness * elongation**2 if np.real(elongation) > 0 else 0.0

    def gaps(self, motion: TargetMotion) -> Array:
        """Return the elongation (1, m), if it is elastic."""
        return np.array([self.elongation(motion)]) if self.stiffness else np.zeros(0)

    def _elastic_tension(self, elongation: Any, rate: Any) -> Any:
        share = 1.0 + self.dissipation * rate
        return self.stiffness * elongation * share if np.real(elongation) > 0 and np.real(share) > 0 else 0.0

    def parameter_fields(self) -> ParameterFields:
        unit = ratio_unit("m", "1")
        return super().parameter_fields() | {f"arms.{k}": ("arms", (k,), unit) for k in range(len(self.arms))}

    def parameters_along(self, units: Sequence[str]) -> dict[str, tuple[float, str]]:
        """Return `parameters`: an arm is in metres per unit of its coordinate."""
        pairs = zip(self.arms, units[len(units) - len(self.arms) :], strict=True)
        return self.parameters() | {f"arms.{k}": (float(arm), ratio_unit("m", unit)) for k, (arm, unit) in enumerate(pairs)}


class Line(BodyInteraction):
    """Common part of loads along a `path` in bodies, or in a cavity: ``efforts = -tension d(measure)/dq``.

    The measure depends on the coordinates of the bodies alone, and the efforts do not act on rigid motions of the bodies.

    Attributes
    ----------
    path
        Its length or volume, ``measure(q)`` and ``at_rest``, and the derivatives by the ``size`` coordinates of the bodies.
    measured : {"length", "volume"}
    upper : float
        The largest input.
    both_ways : bool
        Whether the input may be negative, down to minus `upper`.
    """

    port_counts = (0, 0)
    measured = "length"
    drawn_within = True
    path: Any
    upper: Any
    both_ways: Any

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


class Chamber(Line):
    """Common part of chambers: a pressure p above the outside pressure gives the efforts ``p dV/dq``."""

    inputs = ("pressure",)
    input_units = ("Pa",)
    measured = "volume"
    upper = Field(bound, "max_pressure")
    max_pressure: float
    both_ways = Field(switch, "suction")
    suction: bool

    def tension(self, motion: TargetMotion) -> Any:
        """Return minus the pressure (Pa)."""
        return -motion.u[0]

    def law_numbers(self) -> Array:
        """Return the path, without elasticity and arms."""
        return self._line_numbers(-1.0, (0.0, 0.0, 0.0), np.zeros(0))


class ElasticTendon(Elastic, Line):
    """Common part of tendons along a `path` in bodies: the elongation is ``l - l(rest) + displacement + arms . q``.

    Attributes
    ----------
    displacement : float, m
    """

    parameter_units: ClassVar[dict[str, str]] = {"stiffness": "N/m", "displacement": "m", "dissipation": "s/m"}
    displacement = Field(scalar)
    both_ways = Field(switch, "push")
    push: bool

    @property
    def coordinate_counts(self) -> tuple[float, float]:  # type: ignore[override]
        """All coordinates of the bodies, and one more for each arm."""
        count = len(self.own_coordinates) + self.arms.size
        return count, count

    def tension(self, motion: TargetMotion) -> Any:
        if not self.stiffness:
            return motion.u[0]
        return motion.u[0] + self._elastic_tension(self.stretch(motion.q), self._slopes(motion.q) @ motion.v)

    def elongation(self, motion: TargetMotion) -> Any:
        return self.stretch(motion.q)

    def stretch(self, q: Array) -> Any:
        """Return the elongation (m) at coordinates (n), those of motors last."""
        size = self.path.size
        return self.path.measure(q[:size]) + self._drawn_in + self.arms @ q[size:]

    @property
    def _drawn_in(self) -> Any:
        """The displacement without the motors, minus the length at rest (m)."""
        return self.displacement - self.path.at_rest

    def _slopes(self, q: Array) -> Array:
        return np.concatenate([self.path.gradient(q[: self.path.size]), self.arms])

    def law_numbers(self) -> Array:
        """Return elasticity, arms and path."""
        return self._line_numbers(1.0, (self.stiffness, self.dissipation, self._drawn_in), self.arms)

    def check(self) -> tuple[list[Finding], list[Finding]]:
        errors, warnings = super().check()
        if not self.stiffness and (self.displacement or self.arms.any()):
            expected, advice = "a stiffness > 0 with a displacement or arms", "give stiffness, in N/m, of the whole tendon"
            warnings.append(Finding("idle-displacement", f"{self.name}.stiffness", self.stiffness, expected, advice))
        return errors, warnings


def bodies_of(kind: type[T], name: str, expected: str) -> Read[tuple[T, ...]]:
    """Return a reader of one body of a kind with this name, or of several."""

    def read(line: Block, field: str, value: Any) -> tuple[T, ...]:
        entries = [value] if isinstance(value, Block) else list(value) if isinstance(value, Sequence) else [value]
        bodies = tuple(body for body in entries if isinstance(body, kind))
        if not bodies or len(bodies) < len(entries):
            advice = f"write the {name.split()[-1]} itself, not its name"
            line.reader.report(f"not-a-{name.replace(' ', '-')}", field, value, expected, advice)
        return bodies

    return read
