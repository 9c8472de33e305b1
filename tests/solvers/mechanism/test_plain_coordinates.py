"""Which coordinates are plain: exactly those that move by the sum of configuration and displacement."""

from __future__ import annotations

import numpy as np
import pytest

import titop as tt
from tests.solvers.mechanism.soft_arms import soft_arm
from tests.systems import KINDS, Array, random_tree
from titop.solvers.mechanism.plain_coordinates import plain_coordinates


class Winding(tt.Revolute):
    """A hinge whose coordinate goes twice as far as its rate says."""

    def integrate(self, q: Array, dq: Array) -> Array:
        return q + 2.0 * dq

    def difference(self, q0: Array, q1: Array) -> Array:
        return (q1 - q0) / 2.0


def check(s: tt.System) -> list[str]:
    """Compare with what `Model.integrate` does; return the names of the blocks whose coordinates are not plain."""
    model, rng = s.resolve("reference"), np.random.default_rng(0)
    plain = plain_coordinates(model.mechanism.assembly)
    q, dq = model.random_configuration(rng), rng.normal(size=model.nv)
    np.testing.assert_allclose(model.integrate(q, dq)[plain.in_q], q[plain.in_q] + dq[plain.in_v], rtol=1e-14, atol=1e-14)
    assert len(plain.in_q) + sum(in_q.stop - in_q.start for _, in_q, _ in plain.others) == model.nq
    assert len(plain.in_v) + sum(in_v.stop - in_v.start for _, _, in_v in plain.others) == model.nv
    return [block.name for block, *_ in plain.others]


def test_quaternions_and_planes_are_not_plain() -> None:
    s = random_tree(np.random.default_rng(5), 12, [kind for kind in KINDS if kind != "Weld"])
    joints = [connection.joint for connection in s.connections]
    found = check(s)
    assert {type(joint) for joint in joints if joint.name in found} >= {tt.Spherical}
    assert found == [joint.name for joint in joints if joint.nq != joint.nv]


def test_own_coordinates_of_bodies_are_plain() -> None:
    assert check(soft_arm()) == []


@pytest.mark.filterwarnings("ignore:.*inconsistent-block:titop.ModelWarning")  # its poses do not follow
def test_a_joint_that_says_how_it_moves_is_asked() -> None:
    s = tt.System("winch")
    s.connect("world", tt.RigidBody("drum", mass=1.0, inertia=1.0), Winding("spool"))
    assert check(s) == ["spool"]
