"""The closures' errors, Jacobians and biases, against differences in time along a motion of both ports."""

from __future__ import annotations

import numpy as np
import pytest

import titop as tt
from tests.blocks.port_pairs import FIRST, STEP, Motion
from titop.blocks.basics.spatial import rotation_exp
from titop.blocks.constraints.closure import relative_pose
from titop.blocks.constraints.rigid_closure import KINDS

SECOND = np.array([1 / 90, -3 / 20, 3 / 2, -49 / 18, 3 / 2, -3 / 20, 1 / 90])


def codes_of(findings):
    return [finding.code for finding in findings]


def closure_of(kind, rng):
    axes = {"axis": rng.normal(size=3), "axis2": rng.normal(size=3), "pitch": 0.3 if kind == "screw" else 0.0}
    return tt.RigidClosure("pin", directions=rng.normal(size=(6, 3))) if kind == "any" else tt.RigidClosure("pin", kind, **axes)


@pytest.mark.parametrize("kind", [*KINDS, "any"])
@pytest.mark.parametrize("distance", [0.05, 0.8])
def test_error_rates_are_the_jacobians_and_the_bias(kind, distance):
    rng = np.random.default_rng(3)
    closure, one = closure_of(kind, rng), Motion(rng)
    two = Motion(rng, one, distance)

    def error(t):
        return closure.error(*relative_pose(one(t), two(t)))

    samples = np.array([error(k * STEP) for k in range(-3, 4)])
    relative = relative_pose(one(0.0), two(0.0))
    E1, E2 = closure.jacobians(*relative)
    bias = closure.bias(*relative, one.V, two.V)
    assert samples.shape == (7, len(closure.constraint_names))
    # differences of numbers near 1: 1e-16 / step and / step^2, with factors of a few
    assert np.abs(FIRST @ samples / STEP - (E1 @ one.V + E2 @ two.V)).max() < 1e-11
    assert np.abs(SECOND @ samples / STEP**2 - (E1 @ one.A + E2 @ two.A + bias)).max() < 1e-8
    assert np.abs(bias).max() > 1e-2, "a test of a bias that vanishes could not fail"


def test_a_point_on_a_line_or_plane_turns_as_it_likes():
    rng = np.random.default_rng(2)
    axis, R = rng.normal(size=3), rotation_exp(rng.normal(size=3))
    across = np.cross(axis, rng.normal(size=3))
    line, plane = (tt.RigidClosure("point", kind, axis) for kind in ("point_on_line", "point_on_plane"))
    assert np.abs(line.error(R, 0.7 * axis)).max() < 1e-15  # rounding of a product of ones
    assert np.abs(plane.error(R, across)).max() < 1e-15
    assert min(np.abs(line.error(R, across)).max(), np.abs(plane.error(R, 0.7 * axis)).max()) > 0.1
    assert (len(line.constraint_names), len(plane.constraint_names)) == (2, 1)


@pytest.mark.parametrize("turns", [0, 1, -7])
def test_a_screw_is_closed_on_every_thread(turns):
    axis, angle, pitch = np.array([0.6, 0.0, 0.8]), 3.1, 0.02
    thread = tt.RigidClosure("thread", "screw", axis, pitch=pitch)
    along = pitch * (angle + 2 * np.pi * turns)
    assert np.abs(thread.error(rotation_exp(angle * axis), along * axis)).max() < 1e-15  # rounding of numbers below one
    off = thread.error(rotation_exp(angle * axis), (along + 0.01) * axis)
    assert off[2] == pytest.approx(0.01, rel=1e-12)


@pytest.mark.parametrize("kind", [kind for kind in KINDS if not kind.startswith("point_")])  # of no single joint
def test_closed_where_the_joint_of_the_same_kind_leads(kind):
    rng = np.random.default_rng(5)
    axis, axis2 = rng.normal(size=3), rng.normal(size=3)
    joint = {
        "weld": lambda: tt.Weld("j"),
        "revolute": lambda: tt.Revolute("j", axis),
        "spherical": lambda: tt.Spherical("j"),
        "universal": lambda: tt.Universal("j", axis, axis2),
        "prismatic": lambda: tt.Prismatic("j", axis),
        "cylindrical": lambda: tt.Cylindrical("j", axis),
        "planar": lambda: tt.Planar("j"),
        "planar_weld": lambda: tt.Weld("j"),
        "planar_revolute": lambda: tt.Revolute("j", axis),
        "planar_prismatic": lambda: tt.Prismatic("j", axis),
        "screw": lambda: tt.Screw("j", axis, pitch=0.05),
    }[kind]()
    closure = tt.RigidClosure("pin", kind, axis=[0, 0, 1] if kind == "planar" else axis, axis2=axis2)
    closure.pitch = 0.05 if kind == "screw" else 0.0
    q = joint.random_configuration(rng)
    R, r = joint.pose("C", q)
    # a joint leaves exactly the motions that the closure does not constrain: rounding only
    assert np.abs(closure.error(R, r)).max() < 1e-14
    assert np.abs(closure.jacobians(R, r)[1] @ joint.motion_subspace("C", q)).max(initial=0.0) < 1e-14
    freedom = 3 if kind.startswith("planar_") else 6  # of bodies in a plane
    assert len(closure.constraint_names) == freedom - joint.nv


def test_findings():
    assert "empty-closure" in codes_of(tt.CompliantClosure("pad").check()[0])
    assert "unknown-kind" in codes_of(tt.RigidClosure("pin", "hinge").check()[0])
    assert "zero-axis" in codes_of(tt.RigidClosure("pin", "revolute", axis=[0, 0, 0]).check()[0])
    assert "parallel-axes" in codes_of(tt.RigidClosure("pin", "universal", axis=[0, 1, 0]).check()[0])
    twice = np.array([[1, 0, 0, 0, 0, 0], [0, 1, 0, 0, 0, 0], [1, 1, 0, 0, 0, 0]]).T
    assert "redundant-directions" in codes_of(tt.RigidClosure("pin", directions=twice).check()[1])
    assert "kind-and-directions" in codes_of(tt.RigidClosure("pin", "revolute", directions=twice).check()[0])
    assert "unused-pitch" in codes_of(tt.RigidClosure("pin", "revolute", pitch=0.1).check()[0])
    assert "zero-direction" in codes_of(tt.RigidClosure("pin", directions=0 * twice).check()[0])
    assert not tt.RigidClosure("pin", directions=twice[:, :2]).check()[1]
