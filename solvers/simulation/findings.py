"""Warnings about a motion: limits that it exceeds, deep contacts at its start, too brief impacts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from titop.blocks.basics.complex_steps import complex_step
from titop.blocks.basics.errors import Finding
from titop.blocks.basics.spatial import Array
from titop.blocks.contract.own_coordinates import effort_unit, rate_unit
from titop.blocks.interactions.interaction import motion_derivatives
from titop.blocks.joints.friction_and_limits import Limits
from titop.blocks.joints.joint import Joint
from titop.graph.network.connections import Joined
from titop.solvers.constraints.interaction_loads import contacts_of, target_derivatives, target_motion
from titop.solvers.model.model import Model

#: Steps that an impact should be resolved by (half a wave), for an error of one in a hundred.
_IMPACT_STEPS = 10
#: Points that start deeper than this part of the system's size are likely meant to start outside.
_DEEP = 0.01


def violations(model: Model, t: Array, q: Array, v: Array, tau: Array, u: Array) -> Iterator[Finding]:
    """Yield the worst instant of every coordinate, velocity, effort and input that exceeds its limits.

    Efforts are `tau` plus those of motors.

    - `t` (n, s);
    - `q`, `v`, `tau`, `u` (n, ...): as in `Trajectory`.
    """
    inputs, units = model.mechanism.inputs, model.mechanism.assembly.coordinate_units
    efforts = tau + u @ inputs.motors.T
    for limits, in_q, in_v in _limits(model):
        name, unit = model.coordinate_names[in_v], units[in_v]
        if in_q is not None:
            yield from _beyond(t, q[:, in_q], limits.lower, limits.upper, f"{name} position", unit)
        yield from _beyond(t, v[:, in_v], -limits.velocity, limits.velocity, f"{name} velocity", rate_unit(unit))
        yield from _beyond(t, efforts[:, in_v], -limits.effort, limits.effort, f"{name} effort", effort_unit(unit))
    for k, name in enumerate(inputs.names):
        yield from _beyond(t, u[:, k], inputs.lower[k], inputs.upper[k], f"{name} input", inputs.units[k])


def _limits(model: Model) -> Iterator[tuple[Limits, int | None, int]]:
    """Yield all limits of coordinates, and their indices in q (None for quaternions) and in v."""
    assembly = model.mechanism.assembly
    for block in assembly.blocks_with_coordinates:
        if isinstance(block, Joint):
            in_q, in_v = assembly.q_slices[block.name].start, assembly.v_slices[block.name].start
            is_plain = block.configuration_names == block.coordinates
            yield from ((limits, in_q + k if is_plain else None, in_v + k) for k, limits in enumerate(block.limits))
    for limited in assembly.limits:
        yield (limited.limits[0], *assembly.place(limited.joint))


def _beyond(t: Array, values: Array, lower: float, upper: float, what: str, unit: str) -> Iterator[Finding]:
    excess = np.maximum(lower - values, values - upper)
    worst = int(np.argmax(excess))
    if not excess[worst] <= 0:  # or where there is no number
        value, advice = f"{values[worst]:.6g} {unit} at t = {t[worst]:.6g} s", "change the motion or the limit"
        yield Finding("limit", what, value, f"between {lower:.6g} and {upper:.6g} {unit}", advice)


def deep_starts(model: Model, q: Array, v: Array) -> Iterator[Finding]:
    """Yield contacts that start with a sphere's centre in the material, or a point deeper than loads press it."""
    for name, loop in contacts_of(model.mechanism).items():
        gaps, radii = loop.closure.gaps(target_motion(model.mechanism, loop, q, v)), loop.closure.touching.radii
        deep = _DEEP * model.mechanism.scale.reach
        beyond = -gaps - np.where(radii > 0, radii, deep)
        if len(gaps) and beyond.max() > 0:
            k = int(beyond.argmax())
            depth = f"{loop.closure.point_names[k]} {-gaps[k]:.3g} m deep at the start"
            expected = f"less than its radius, {radii[k]:.3g} m" if radii[k] > 0 else f"less than {deep:.2g} m"
            yield Finding("deep-contact", name, depth, expected, "move it out, or it is thrown out")


def brief_impacts(model: Model, impacts: Iterable[tuple[str, int, Array, Array]], step: float) -> Iterator[Finding]:
    """Yield contacts whose shortest impact lasts only a few fixed steps (s).

    - `impacts`: the contact, the number of the gap that closes, and the state in which it closes;
    - `step` (s).
    """
    contacts, shortest = contacts_of(model.mechanism), dict[str, float]()
    for name, point, q, v in impacts:
        if name in contacts:
            lasts = _impact_time(model, contacts[name], q, v, point)
            shortest[name] = min(lasts, shortest.get(name, np.inf))
    for name, lasts in shortest.items():
        if lasts < _IMPACT_STEPS * step:
            impact = f"an impact of {lasts:.2g} s in steps of {step:.2g} s"
            expected = f"at least {_IMPACT_STEPS} steps an impact"
            advice = f"take step={lasts / _IMPACT_STEPS:.1g}, or leave it out: steps then follow from rtol and atol"
            yield Finding("brief-impact", name, impact, expected, advice)


def _impact_time(model: Model, loop: Joined, q: Array, v: Array, point: int) -> float:
    """Return the duration (s) of the elastic impact that a point is about to begin, infinite if it does not approach."""
    from scipy.special import beta

    contact: Any = loop.closure
    motion = target_motion(model.mechanism, loop, q, v)
    slopes = motion_derivatives(lambda moved: contact.gaps(moved)[point : point + 1], motion, complex_step)
    along = (slopes @ target_derivatives(model.mechanism, loop, q, v, motion))[0, : model.nv]
    speed = -float(along @ v)
    if speed <= 0:
        return np.inf
    mass = 1.0 / float(along @ np.linalg.solve(model.mass_matrix(q), along))
    p, k = float(contact.exponent), float(contact.stiffness)
    depth = ((p + 1.0) * mass * speed**2 / (2.0 * k)) ** (1.0 / (p + 1.0))
    return float(2.0 * depth / speed / (p + 1.0) * beta(1.0 / (p + 1.0), 0.5))
