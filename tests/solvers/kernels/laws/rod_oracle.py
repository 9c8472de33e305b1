"""The law of rods by an independent implementation: products of matrix exponentials, differentiated as jets.

A motion is known by its Taylor coefficients to second order, kept as block Toeplitz matrices, whose exponentials and products
are those of the motion: no tangent operator, no recursion. Complex numbers pass, for derivatives by complex steps.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tests.solvers.kernels.laws.rods import Numbers, Step

Array = NDArray[Any]


def hat(xi: Array) -> Array:
    """Return a twist [v; w] as a matrix (4 x 4)."""
    v, w = xi[:3], xi[3:]
    result = np.zeros((4, 4), dtype=xi.dtype)
    result[0, 1], result[0, 2], result[1, 2] = -w[2], w[1], -w[0]
    result[1, 0], result[2, 0], result[2, 1] = w[2], -w[1], w[0]
    result[:3, 3] = v
    return result


def vee(m: Array) -> Array:
    return np.array([m[0, 3], m[1, 3], m[2, 3], m[2, 1], m[0, 2], m[1, 0]])


def jet(*terms: Array) -> Array:
    """Return Taylor coefficients as a block Toeplitz matrix."""
    count, size = len(terms), len(terms[0])
    result = np.zeros((count * size, count * size), dtype=np.result_type(*terms))
    for r in range(count):
        for c in range(r, count):
            result[r * size : (r + 1) * size, c * size : (c + 1) * size] = terms[c - r]
    return result


def exponential(m: Array) -> Array:
    """Return the exponential of a matrix: Taylor's series of a small part of it, squared."""
    halvings = 8
    small, term, result = m / 2**halvings, np.eye(len(m)), np.eye(len(m))
    for k in range(1, 16):
        term = term @ small / k
        result = result + term
    for _ in range(halvings):
        result = result @ result
    return result


def bracket(x: Array, y: Array) -> Array:
    a, b = hat(x), hat(y)
    return vee(a @ b - b @ a)


def adjoint(x: Array) -> Array:
    return np.array([bracket(x, e) for e in np.eye(6)]).T


def omegas(step: Step, components: Array, *rates: Array) -> list[Array]:
    """Return the Taylor coefficients of Omega, from those of q."""
    terms = [np.zeros((2, 6), dtype=np.result_type(*rates)) for _ in rates]
    for order, rate in enumerate(rates):
        if order == 0:
            terms[0] = terms[0] + step.reference
        for place in range(2):
            np.add.at(terms[order][place], components, step.shapes[place] * rate)
    twists = [np.concatenate([term[:, 3:], term[:, :3]], axis=1) for term in terms]
    h, result = step.length, []
    for order in range(len(rates)):
        both = sum(bracket(twists[k][0], twists[order - k][1]) for k in range(order + 1))
        result.append(0.5 * h * twists[order].sum(axis=0) + np.sqrt(3.0) / 12.0 * h**2 * both)
    return result


def displacement(step: Step, components: Array, *rates: Array) -> Array:
    return exponential(jet(*(hat(omega) for omega in omegas(step, components, *rates))))


def chain(numbers: Numbers, start: Array, *rates: Array) -> tuple[list[Array], list[Array]]:
    """Return the jets of the points' poses and of the ports', from the base's."""
    poses = [start]
    for step in numbers.steps:
        poses.append(poses[-1] @ displacement(step, numbers.components, *rates))
    ports = []
    for port in numbers.ports:
        offset = np.eye(4)
        offset[:3, :3], offset[:3, 3] = port.rotation, port.position
        fixed = jet(offset, *(np.zeros((4, 4)) for _ in rates[1:]))
        ports.append(poses[port.point] @ displacement(port.step, numbers.components, *rates) @ fixed)
    return poses, ports


def motion(pose: Array) -> tuple[Array, Array]:
    """Return the twist and its rate of a pose's jet ``g + g' t + g'' t^2/2``."""
    g, first, second = pose[:4, :4], pose[:4, 4:8], 2.0 * pose[:4, 8:12]
    inverse = np.linalg.inv(g)
    speed = inverse @ first
    return vee(speed), vee(inverse @ second - speed @ speed)


def subspaces(numbers: Numbers, q: Array) -> tuple[list[Array], list[Array]]:
    """Return S of all points and of all ports."""
    points = [np.zeros((6, numbers.n), q.dtype) for _ in range(len(numbers.steps) + 1)]
    ports = [np.zeros((6, numbers.n), q.dtype) for _ in numbers.ports]
    for j, unit in enumerate(np.eye(numbers.n)):
        for filled, jets in zip((points, ports), chain(numbers, np.eye(8), q, unit), strict=True):
            for s, g in zip(filled, jets, strict=True):
                s[:, j] = vee(np.linalg.inv(g[:4, :4]) @ g[:4, 4:])
    return points, ports


def transport(g: Array) -> Array:
    """Return ``Ad(g)^-1``."""
    inverse = np.linalg.inv(g)
    return np.array([vee(inverse @ hat(e) @ g) for e in np.eye(6)]).T


@dataclass
class Motion:
    """What inverse dynamics of a rod give: W_P and tau in one, and each port's pose, twist and acceleration."""

    result: Array
    poses: list[Array]
    twists: list[Array]
    accelerations: list[Array]


def inverse_dynamics(
    numbers: Numbers,
    q: Array,
    v: Array,
    a: Array,
    twist: Array,
    acceleration: Array,
    wrenches: list[Array],
    passive: bool = True,
) -> Motion:
    """Return the inverse dynamics of a rod: point by point, by S."""
    base = hat(twist)
    start = jet(np.eye(4), base, 0.5 * (base @ base + hat(acceleration)))
    points, ports = chain(numbers, start, q, v, 0.5 * a)
    at_points, at_ports = subspaces(numbers, q)
    result = np.zeros(6 + numbers.n, dtype=np.result_type(q, v, a, twist, acceleration))
    if passive:
        result[6:] += numbers.stiffness @ q + numbers.damping @ v
    for pose, s, row in zip(points, at_points, numbers.inertia, strict=True):
        inertia = np.diag([row[0], row[0], row[0], *row[1:]])
        speed, rate = motion(pose)
        wrench = inertia @ rate - adjoint(speed).T @ inertia @ speed
        result += np.hstack([transport(pose[:4, :4]), s]).T @ wrench
    told = [motion(pose) for pose in ports]
    for pose, s, wrench in zip(ports, at_ports, wrenches, strict=True):
        result += np.hstack([transport(pose[:4, :4]), s]).T @ wrench
    return Motion(result, [pose[:4, :4] for pose in ports], [x for x, _ in told], [x for _, x in told])


def mass_matrix(numbers: Numbers, q: Array) -> Array:
    """Return M."""
    points, _ = chain(numbers, np.eye(4), q)
    result = np.zeros((6 + numbers.n, 6 + numbers.n))
    for pose, s, row in zip(points, subspaces(numbers, q)[0], numbers.inertia, strict=True):
        moved = np.hstack([transport(pose), s])
        result += moved.T @ np.diag([row[0], row[0], row[0], *row[1:]]) @ moved
    return result
