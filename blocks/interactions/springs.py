"""Springs and dampers: along the line between two ports, in all directions, and on coordinates."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from titop.blocks.basics.errors import Finding
from titop.blocks.basics.spatial import Array
from titop.blocks.basics.tolerances import SAME
from titop.blocks.constraints.closure import DISPLACEMENT, displacement, displacement_jacobians
from titop.blocks.contract.block import ParameterFields
from titop.blocks.contract.fields import Field, non_negative, numbers, scalar, symmetric
from titop.blocks.contract.law import Law
from titop.blocks.contract.own_coordinates import effort_unit, in_brackets, ratio_unit
from titop.blocks.contract.target_motion import TargetMotion
from titop.blocks.interactions.interaction import Interaction, line_along, opposite_wrenches, relative_rates


class SpringDamper(Interaction):
    """A spring and a damper along the line between the origins of two ports, with free rotation at both.

    Parameters
    ----------
    name : str
    stiffness : float, N/m
    damping : float, N s/m
    length : float, m
        Natural length.

    Notes
    -----
    The tension is ``stiffness (d - length) + damping dd/dt`` at the distance d. Where the ports coincide, up to rounding, the
    line is undefined and the force zero: a spring with a natural length must not be compressed to that point. Without a
    natural length the force is ``-stiffness r``, which is smooth there.

    Examples
    --------
    >>> import titop as tt
    >>> s = tt.System("hung", gravity=[0, 0, 0])
    >>> mass = tt.RigidBody("mass", mass=2.0)
    >>> s.connect("world", mass, tt.Prismatic("slide", axis=[1, 0, 0]))
    >>> s.close_loop("world", mass, tt.SpringDamper("spring", stiffness=10.0, length=1.0))
    >>> s.resolve().forward_dynamics([1.5], [0.0]).round(12).tolist()
    [-2.5]
    """

    drawn_straight = True
    parameter_units: ClassVar = {"stiffness": "N/m", "damping": "N s/m", "length": "m"}
    stiffness = Field(scalar)
    damping = Field(scalar)
    length = Field(non_negative("negative-length"))

    def __init__(self, name: str, stiffness: float = 0.0, damping: float = 0.0, length: float = 0.0) -> None:
        super().__init__(name)
        self.stiffness, self.damping, self.length = stiffness, damping, length

    def wrenches(self, R: Array, r: Array, V1: Array, V2: Array) -> tuple[Array, Array]:
        _, along = line_along(r)
        rate = relative_rates(R, r, V1, V2)[0]
        pushed = self.stiffness * self.length - self.damping * (along @ rate)
        return opposite_wrenches(R, r, r, pushed * along - self.stiffness * r)

    def energy(self, R: Array, r: Array) -> Any:
        return 0.5 * self.stiffness * (np.sqrt(r @ r) - self.length) ** 2

    def law_numbers(self) -> Array:
        """Return stiffness, damping and natural length."""
        return np.array([self.stiffness, self.damping, self.length])

    def check(self) -> tuple[list[Finding], list[Finding]]:
        errors, warnings = super().check()
        for field in ("stiffness", "damping"):
            if (value := getattr(self, field)) < 0:
                advice = "check the sign: the interaction feeds energy or is unstable"
                warnings.append(Finding(f"negative-{field}", f"{self.name}.{field}", value, "a number >= 0", advice))
        if not self.stiffness and not self.damping:
            advice = "give a stiffness, a damping or both"
            errors.append(Finding("empty-closure", self.name, "neither stiffness nor damping", "one of the two", advice))
        return errors, warnings


class CompliantClosure(Interaction):
    """A loop closed by stiffness and damping between two ports (key A, section 3.4).

    Parameters
    ----------
    name : str
    stiffness : float, (6,) or (6, 6)
        N/m, N and N m/rad, on the displacement ``delta = (r, log R)`` of the second port in the first (linear first).
    damping : float, (6,) or (6, 6)
        On the displacement's rate.

    Notes
    -----
    Stores ``delta^T K delta / 2`` and acts on port i with ``-J_i^T (K delta + D d delta/dt)``, ``d delta/dt = J1 V1 + J2 V2``:
    action equals reaction, for displacements of any size and rotations up to half a turn. At half a turn the rotation vector
    changes sign, and force and energy jump: `simulate` warns of it.
    """

    drawn_straight = True
    symmetric_fields = ("stiffness", "damping")
    stiffness = Field(symmetric(6))
    damping = Field(symmetric(6))

    def __init__(self, name: str, stiffness: Any = 0.0, damping: Any = 0.0) -> None:
        super().__init__(name)
        self.stiffness, self.damping = stiffness, damping

    def energy(self, R: Array, r: Array) -> Any:
        delta = displacement(R, r)
        return 0.5 * delta @ self.stiffness @ delta

    def wrenches(self, R: Array, r: Array, V1: Array, V2: Array) -> tuple[Array, Array]:
        J1, J2 = displacement_jacobians(R, r)
        force = self.force(R, r, V1, V2)
        return -J1.T @ force, -J2.T @ force

    def force(self, R: Array, r: Array, V1: Array, V2: Array) -> Array:
        """Return ``K delta + D d delta/dt`` (6, N and N m), to which the wrenches belong."""
        J1, J2 = displacement_jacobians(R, r)
        return self.stiffness @ displacement(R, r) + self.damping @ (J1 @ V1 + J2 @ V2)

    def law_numbers(self) -> Array:
        """Return stiffness and damping, row by row."""
        return np.concatenate([self.stiffness.ravel(), self.damping.ravel()])

    def check(self) -> tuple[list[Finding], list[Finding]]:
        errors, warnings = super().check()
        for field, matrix in (("stiffness", self.stiffness), ("damping", self.damping)):
            if np.isfinite(matrix).all() and np.linalg.eigvalsh(matrix)[0] < -SAME * np.abs(matrix).max():
                expected, advice = "a positive semidefinite matrix", "check the sign: the closure feeds energy or is unstable"
                warnings.append(Finding(f"negative-{field}", f"{self.name}.{field}", matrix.tolist(), expected, advice))
        if not self.stiffness.any() and not self.damping.any():
            advice = "give a stiffness, a damping or both; for a rigid loop use tt.RigidClosure"
            errors.append(Finding("empty-closure", self.name, "neither stiffness nor damping", "one of the two", advice))
        return errors, warnings

    def parameter_fields(self) -> ParameterFields:
        """Return the upper triangles of stiffness and damping, by pairs of directions."""
        return {
            f"{field}.{a}.{b}": (field, (i, j), f"{'N' if i < 3 else 'N m'}{per}{unit}")
            for field, per in (("stiffness", "/"), ("damping", " s/"))
            for i, a in enumerate(DISPLACEMENT)
            for j, (b, unit) in enumerate(DISPLACEMENT.items())
            if j >= i
        }


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
