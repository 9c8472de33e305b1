"""Derivatives of integrating and of taking differences."""

from __future__ import annotations

import numpy as np
import pytest

import titop as tt
from tests.systems import random_tree
from titop.blocks.contract.block import Block


@pytest.mark.parametrize("scale", [1e-9, 1e-3, 0.3, 2.5])  # series, both sides of where they end, and beyond half a turn
@pytest.mark.parametrize(
    "joint", [tt.Spherical("joint"), tt.Free("joint"), tt.Universal("joint")], ids=lambda j: type(j).__name__
)
def test_closed_forms_are_complex_steps(joint, scale) -> None:
    """Complex steps through the exponential and the logarithm, exact to rounding, which know of no closed form."""
    rng = np.random.default_rng(0)
    q0, q1, dq = joint.random_configuration(rng), joint.random_configuration(rng), scale * rng.normal(size=joint.nv)
    if joint.nq > joint.nv:
        expected = *Block.integrate_derivatives(joint, q0, dq), *Block.difference_derivatives(joint, q0, q1)
    else:
        expected = [sign * np.eye(joint.nv) for sign in (1.0, 1.0, -1.0, 1.0)]
    found = *joint.integrate_derivatives(q0, dq), *joint.difference_derivatives(q0, q1)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=0, atol=1e-13)


def test_models_put_their_blocks_together() -> None:
    """By differences over 1e-6, which leave 1e-9; and stacked."""
    model = random_tree(np.random.default_rng(0), 8).resolve()
    rng = np.random.default_rng(1)
    q0, q1 = (np.array([model.random_configuration(rng) for _ in range(2)]) for _ in range(2))
    dq = 0.7 * rng.normal(size=(2, model.nv))
    reached, steps = model.integrate(q0, dq), 1e-6 * np.eye(model.nv)
    by_q, by_step = model.integrate_derivatives(q0, dq)
    by_q0, by_q1 = model.difference_derivatives(q0, q1)
    for row in range(2):
        columns = [
            (
                model.difference(reached[row], model.integrate(model.integrate(q0[row], step), dq[row])),
                model.difference(reached[row], model.integrate(q0[row], dq[row] + step)),
                model.difference(model.integrate(q0[row], step), q1[row]) - model.difference(q0[row], q1[row]),
                model.difference(q0[row], model.integrate(q1[row], step)) - model.difference(q0[row], q1[row]),
            )
            for step in steps
        ]
        for found, column in zip((by_q, by_step, by_q0, by_q1), np.array(columns).transpose(1, 2, 0), strict=True):
            np.testing.assert_allclose(found[row], column / 1e-6, rtol=0, atol=1e-5)  # bends by 1e-6 times some units
        for stacked, one in zip((by_q, by_step), model.integrate_derivatives(q0[row], dq[row]), strict=True):
            np.testing.assert_allclose(stacked[row], one, rtol=0, atol=1e-14)
        for stacked, one in zip((by_q0, by_q1), model.difference_derivatives(q0[row], q1[row]), strict=True):
            np.testing.assert_allclose(stacked[row], one, rtol=0, atol=1e-14)


def test_pinocchio_says_the_same() -> None:
    pin = pytest.importorskip("pinocchio")
    s = tt.System("flyer")
    hub, tip = tt.RigidBody("hub", 1.0, inertia=[1, 1, 1]), tt.RigidBody("tip", 1.0, inertia=[1, 1, 1])
    s.connect("world", hub, tt.Free("base"))
    s.connect(hub, tip, tt.Spherical("ball"))
    model, peer = s.resolve(), pin.Model()
    base = peer.addJoint(0, pin.JointModelFreeFlyer(), pin.SE3.Identity(), "base")
    peer.addJoint(base, pin.JointModelSpherical(), pin.SE3.Identity(), "ball")
    rng = np.random.default_rng(0)
    for scale in (1e-6, 1.0):
        q0, q1, dq = model.random_configuration(rng), model.random_configuration(rng), scale * rng.normal(size=model.nv)
        pairs = (
            (model.integrate_derivatives(q0, dq), pin.dIntegrate(peer, q0, dq)),
            (model.difference_derivatives(q0, q1), pin.dDifference(peer, q0, q1)),
        )
        for found, expected in pairs:
            for one, other in zip(found, expected, strict=True):
                np.testing.assert_allclose(one, other, rtol=0, atol=1e-10)  # Pinocchio's series end at angles near 1e-4


class Backwards(tt.Spherical):
    """A ball joint that is integrated the other way round."""

    def integrate(self, q, dq):
        return super().integrate(q, -dq)

    def difference(self, q0, q1):
        return -super().difference(q0, q1)


def test_who_says_how_to_move_is_followed() -> None:
    joint, plain = Backwards("joint"), tt.Spherical("joint")
    rng = np.random.default_rng(0)
    q, dq = joint.random_configuration(rng), rng.normal(size=3)
    by_q, by_step = joint.integrate_derivatives(q, dq)
    ahead = plain.integrate_derivatives(q, -dq)
    np.testing.assert_allclose(by_q, ahead[0], atol=1e-13)
    np.testing.assert_allclose(by_step, ahead[1], atol=1e-13)
    assert np.abs(by_step - plain.integrate_derivatives(q, dq)[1]).max() > 0.1
