"""What is suspicious about contacts in simulations: deep ones at the start, impacts that are over within a few fixed steps."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy.special import beta

from titop.blocks.basics.complex_steps import complex_step
from titop.blocks.basics.errors import Finding
from titop.blocks.basics.spatial import Array
from titop.blocks.interactions.interaction import motion_derivatives
from titop.graph.network.connections import Loop
from titop.solvers.constraints.interaction_loads import contacts_of, target_derivatives, target_motion
from titop.solvers.model.model import Model
from titop.solvers.simulation.trajectory import Trajectory

#: So many steps follow the push of an impact, half a wave, to one in a hundred.
_STEPS = 10
#: Points that start deeper than this part of the system's reach are likely meant to start outside.
_DEEP = 0.01


def deep_starts(model: Model, q: Array, v: Array) -> Iterator[Finding]:
    """Yield contacts that start with a sphere's centre in the material, or a point as deep as nobody presses it."""
    for name, loop in contacts_of(model).items():
        gaps, radii = loop.closure.gaps(target_motion(model, loop, q, v)), loop.closure.touching.radii
        beyond = -gaps - np.where(radii > 0, radii, _DEEP * model.scale.reach)
        if len(gaps) and beyond.max() > 0:
            k = int(beyond.argmax())
            found = f"{loop.closure.point_names[k]} {-gaps[k]:.3g} m deep at the start"
            expected = (
                f"less than its radius, {radii[k]:.3g} m" if radii[k] > 0 else f"less than {_DEEP * model.scale.reach:.2g} m"
            )
            yield Finding("deep-contact", name, found, expected, "move it out, or it is thrown out")


def brief_impacts(trajectory: Trajectory, step: float) -> Iterator[Finding]:
    """Yield contacts that take up an impact which lasts a few fixed steps (s) only: the shortest of each."""
    for name, loop in contacts_of(trajectory.model).items():
        gaps = trajectory.contacts(name).gap
        hits = np.argwhere((gaps[:-1] > 0) & (gaps[1:] <= 0))
        if len(hits) and (shortest := min(_duration(trajectory, loop, *hit) for hit in hits)) < _STEPS * step:
            found, expected = f"an impact of {shortest:.2g} s in steps of {step:.2g} s", f"at least {_STEPS} steps an impact"
            advice = f"take step={shortest / _STEPS:.1g}, or leave it out: steps then follow from rtol and atol"
            yield Finding("brief-impact", name, found, expected, advice)


def _duration(trajectory: Trajectory, loop: Loop, row: int, point: int) -> float:
    """Return how long (s) an elastic impact lasts that a point begins between an output time and the next."""
    model, q, v = trajectory.model, trajectory.q[row], trajectory.v[row]
    contact: Any = loop.closure
    motion = target_motion(model, loop, q, v)
    slopes = motion_derivatives(lambda moved: contact.gaps(moved)[point : point + 1], motion, complex_step)
    along = (slopes @ target_derivatives(model, loop, q, v, motion))[0, : model.nv]
    speed = -float(along @ v)
    if speed <= 0:
        return np.inf
    mass = 1.0 / float(along @ np.linalg.solve(model.mass_matrix(q), along))
    p, k = float(contact.exponent), float(contact.stiffness)
    depth = ((p + 1.0) * mass * speed**2 / (2.0 * k)) ** (1.0 / (p + 1.0))
    return float(2.0 * depth / speed / (p + 1.0) * beta(1.0 / (p + 1.0), 0.5))
