"""Cables: tendons and ropes over several ports, wound on coordinates."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import numpy as np

from titop.blocks.basics.errors import Finding
from titop.blocks.basics.spatial import Array
from titop.blocks.contract.fields import Field, scalar
from titop.blocks.contract.target_motion import TargetMotion
from titop.blocks.interactions.interaction import line_along
from titop.blocks.interactions.line import Elastic


class Cable(Elastic):
    """A massless cable through the origins of ports, and over pulleys driven by coordinates. Input: ``tension``, N.

    `System.add_interaction` connects it to its ports, in order: the ends, and between them eyes through which it slides without
    friction. Each coordinate winds or unwinds it.

    Parameters
    ----------
    name : str
        Unique name in the system; the input is ``name.tension``.
    stiffness : float, N/m
        Of the whole cable. Without it, the tension is the input alone.
    length : float, m
        Unstretched length.
    dissipation : float, s/m
        Of the elastic cable, as for a contact.
    arms : array_like (n,), m or 1
        Increase of the path length per unit of each coordinate; for a drum that winds it up, minus its radius.
    max_tension : float, N
        The input is between zero and this.

    Notes
    -----
    Its path length is ``L = sum |r_(k+1) - r_k| + arms . q``. Its tension is the input plus, for an elongation
    ``s = L - length > 0``, ``stiffness s (1 + dissipation ds/dt)``, which never pushes. It acts along the path, and the effort
    on each coordinate is minus tension times arm. Where two consecutive ports coincide, up to rounding, the direction is
    undefined, and the force between them is zero.

    Examples
    --------
    >>> import titop as tt
    >>> s = tt.System("lift", gravity=[0, 0, -9.81])
    >>> load, drum = tt.RigidBody("load", mass=2.0), tt.RigidBody("drum", mass=1.0, inertia=0.01)
    >>> eye, above = s.world.add_port("eye", [0, 0, 3]), s.world.add_port("above", [1, 0, 3])
    >>> s.connect("world", load, tt.Prismatic("up", axis=[0, 0, 1]))
    >>> s.connect("world", drum, tt.Revolute("axle", axis=[0, 1, 0]))
    >>> cable = tt.Cable("cable", stiffness=1e4, length=4.0, arms=[-0.1])
    >>> s.add_interaction(cable, above, eye, load, "axle")
    >>> m = s.resolve(engine="reference")
    >>> m.passive_efforts([0.0, -0.02], [0.0, 0.0]).round(9).tolist()  # 2 mm too short
    [20.0, 2.0]
    >>> m.forward_dynamics([0.0, 0.0], [0.0, 0.0], u={"cable.tension": 19.62}).round(9).tolist()
    [0.0, 196.2]
    """

    drawn_straight = True
    lower = 0.0
    one_sided = True
    parameter_units: ClassVar[dict[str, str]] = {"stiffness": "N/m", "length": "m", "dissipation": "s/m"}
    length = Field(scalar)

    def __init__(
        self,
        name: str,
        stiffness: float = 0.0,
        length: float = 0.0,
        dissipation: float = 0.0,
        arms: Any = (),
        max_tension: float = math.inf,
    ) -> None:
        super().__init__(name)
        self.stiffness, self.length, self.dissipation = stiffness, length, dissipation
        self.arms, self.upper = arms, max_tension

    @property
    def port_counts(self) -> tuple[float, float]:  # type: ignore[override]
        """At least two ports, or none for a belt between coordinates."""
        return (0 if self.arms.size else 2), math.inf

    @property
    def coordinate_counts(self) -> tuple[float, float]:  # type: ignore[override]
        """One coordinate for each arm."""
        return self.arms.size, self.arms.size

    def act(self, motion: TargetMotion) -> tuple[Array, Array]:
        length, directions = self._way(motion)
        velocities = [R @ V[:3] for R, V in zip(motion.R, motion.V, strict=True)]
        rate = self.arms @ motion.v
        for k, direction in enumerate(directions):
            rate = rate + direction @ (velocities[k + 1] - velocities[k])
        tension = motion.u[0] + self._elastic_tension(length - self.length, rate)
        wrenches = np.zeros((len(motion.R), 6), np.result_type(*motion, np.asarray(tension)))
        for k, direction in enumerate(directions):
            wrenches[k, :3] += motion.R[k].T @ direction * tension
            wrenches[k + 1, :3] -= motion.R[k + 1].T @ direction * tension
        return wrenches, -tension * self.arms

    def elongation(self, motion: TargetMotion) -> Any:
        return self._way(motion)[0] - self.length

    def _way(self, motion: TargetMotion) -> tuple[Any, list[Array]]:
        """Return the path length, and the direction from each port to the next."""
        length, directions = self.arms @ motion.q, []
        for step in motion.r[1:] - motion.r[:-1]:
            distance, direction = line_along(step)
            length = length + distance
            directions.append(direction)
        return length, directions

    def law_numbers(self) -> Array:
        """Return stiffness, length, dissipation and arms."""
        return np.array([self.stiffness, self.length, self.dissipation, *self.arms])

    def check(self) -> tuple[list[Finding], list[Finding]]:
        errors, warnings = super().check()
        for arm, value in enumerate(self.arms):
            if not value:
                expected, advice = "an arm other than zero", "leave coordinate and arm out"
                warnings.append(Finding("idle-arm", f"{self.name}.arms[{arm}]", value, expected, advice))
        return errors, warnings
