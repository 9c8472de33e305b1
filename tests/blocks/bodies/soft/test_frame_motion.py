"""Twists, accelerations and wrenches of frames against steps along their poses."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from titop.blocks.bodies.soft.chain import Chain, ChainLink
from titop.blocks.bodies.soft.soft_ports import FrameMotion
from titop.blocks.programs.graph import Graph

Array = NDArray[Any]
N, STEP = 2, 1e-30
RNG = np.random.default_rng(0)
Q, V, A = RNG.normal(size=(3, N))
TWIST, RATE, WRENCH = RNG.normal(size=(3, 6))
#: Sums of some ten products of size one.
ROUNDING = {"rtol": 0, "atol": 1e-13}


def pose(q: Any) -> tuple[list[list[Any]], list[Any]]:
    """Return a frame that turns about z by q0, then about x by ``q1 + q0^2``, and goes along a curve."""
    c, s, d, e = np.cos(q[0]), np.sin(q[0]), np.cos(q[1] + q[0] ** 2), np.sin(q[1] + q[0] ** 2)
    return [[c, -s * d, s * e], [s, c * d, -c * e], [0.0 * c, e, d]], [q[0] * q[1], np.sin(q[1]), q[0] ** 3]


GRAPH = Graph()
FRAME = FrameMotion(GRAPH)


def chain() -> Chain:
    q, v, a = (GRAPH.input(name, N) for name in "qva")

    def entries(_: Any, own: Any) -> Any:
        rotation, position = pose(own)
        return np.array([*(x for row in rotation for x in row), *position], dtype=object)

    return Chain([ChainLink.of(GRAPH, entries, 0, 0, q)], np.zeros(0, dtype=object), v, a)


CHAIN = chain()


def value(numbers: Any, q: Array = Q) -> Array:
    return GRAPH.program(dict.fromkeys("qva", N), {"y": numbers}).evaluate({"q": q, "v": V, "a": A})["y"]


def twist_of(q: Array, v: Array, parent: Array) -> Array:
    """Return the twist of the frame."""
    h = 1e-6
    rotation, position = (np.array(part) for part in pose(q))
    (ahead, there), (behind, back) = ([np.array(part) for part in pose(q + side * h * v)] for side in (1, -1))
    spin, way = rotation.T @ (ahead - behind) / (2 * h), rotation.T @ (there - back) / (2 * h)
    carried = rotation.T @ (parent[:3] + np.cross(parent[3:], position))
    return np.concatenate([carried + way, rotation.T @ parent[3:] + [spin[2, 1], spin[0, 2], spin[1, 0]]])


#: Central differences with steps of 1e-6.
DIFFERENCES = {"rtol": 0, "atol": 1e-8}


def test_the_pose_is_a_rotation() -> None:
    rotation = np.array(pose(Q)[0])
    np.testing.assert_allclose(Rotation.from_matrix(rotation).as_matrix(), rotation, **ROUNDING)


def test_subspace_times_rates_is_the_twist() -> None:
    S = value(FRAME.subspace_at(CHAIN))
    np.testing.assert_allclose(S @ V, twist_of(Q, V, np.zeros(6)), **DIFFERENCES)


def test_the_rate_of_the_twist_has_both_parts() -> None:
    """``dS/dt v + S a``, along ``q + t v + t^2 a / 2``."""
    found, h = value(FRAME.rate_at(CHAIN)), 1e-4
    ahead, behind = (twist_of(Q + t * V + 0.5 * t * t * A, V + t * A, np.zeros(6)) for t in (h, -h))
    np.testing.assert_allclose(found, (ahead - behind) / (2 * h), rtol=0, atol=1e-6)  # h^2, and 1e-10 over h
    S = value(FRAME.subspace_at(CHAIN))
    assert np.abs(found - S @ A).max() > 0.1


@pytest.mark.parametrize("k", range(N))
def test_slopes_of_the_twist_are_its_derivatives(k: int) -> None:
    slopes = FRAME.slopes_at(CHAIN, np.concatenate([TWIST, RATE]))
    h, e = 1e-4, np.eye(N)[k]
    expected = (twist_of(Q + h * e, V, TWIST) - twist_of(Q - h * e, V, TWIST)) / (2 * h)
    np.testing.assert_allclose(value(slopes[0])[:, k], expected, rtol=0, atol=1e-6)


@pytest.mark.parametrize("k", range(N))
def test_a_wrench_presses_on_the_parent_as_the_frame_stands(k: int) -> None:
    """``[R F; R T + r x R F]``, and the efforts ``S^T W``, by complex steps in q."""
    pressed, efforts = FRAME.wrench_slopes_at(CHAIN, WRENCH)
    rotation, position = (np.array(part) for part in pose(Q + 1j * STEP * np.eye(N)[k]))
    force, torque = rotation @ WRENCH[:3], rotation @ WRENCH[3:]
    expected = np.concatenate([force, torque + np.cross(position, force)]).imag / STEP
    np.testing.assert_allclose(value(pressed)[:, k], expected, **ROUNDING)
    subspace = FRAME.subspace_at(CHAIN)
    h = 1e-6
    ahead, behind = (value(subspace, Q + side * h * np.eye(N)[k]).T @ WRENCH for side in (1, -1))
    np.testing.assert_allclose(value(efforts)[:, k], (ahead - behind) / (2 * h), **DIFFERENCES)
