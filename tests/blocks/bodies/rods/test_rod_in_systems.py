"""Rods among rigid bodies and joints: both engines agree, and derivatives are those of the reference engine."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from numpy.typing import NDArray

import titop as tt

Array = NDArray[np.float64]

#: Rounding in systems of a dozen coordinates; of derivatives through the mass matrix, which loses three digits more.
SAME, SLOPES = 1e-10, 1e-9


def system() -> tt.System:
    """Return a free hub with a rod on a hinge, which carries a body at its tip, another rod in between, and a spring."""
    s = tt.System("soft arm", gravity=[0.3, -0.2, -9.81])
    hub = tt.RigidBody("hub", 4.0, [0.1, 0.0, -0.1], [0.5, 0.6, 0.7], ports={"A": [0, 0.4, 0], "B": [0, -0.4, 0.1]})
    turned = tt.Pose([0.0, 0.03, 0.0], np.array([[0, -1, 0], [1, 0, 0], [0, 0, 1]]))
    arm = tt.Rod(
        "arm",
        0.8,
        tt.Section.circle([0.03, 0.02]),
        1e6,
        1000.0,
        damping=500.0,
        strains={"torsion": 0, "bending_y": 1, "bending_z": 1, "elongation": 0},
        reference_strain=[0.2, 0.0, 0.5, 1.0, 0.0, 0.0],
        points=3,
        ports={"elbow": (0.5, turned)},
    )
    twig = tt.Rod("twig", 0.4, tt.Section.rectangle(0.02, 0.01), 5e6, 1200.0, strains={"bending_y": 0, "shear_z": 0}, points=2)
    s.connect("world", hub, tt.Free("base"))
    s.connect(hub.port("A"), arm, tt.Revolute("hinge", axis=[1, 0, 1], stiffness=3.0, damping=0.2))
    s.connect(arm.port("tip"), tt.RigidBody("hand", 0.3, [0.1, 0, 0], 0.01), tt.Spherical("wrist"))
    s.connect(arm.port("elbow"), twig, tt.Weld("graft"))
    s.add_load(tt.Load("push", twig.port("tip"), force=[0.3, -0.2, 0.5], torque=[0.01, 0.02, 0.03], frame="world"))
    s.close_loop(hub.port("B"), twig.port("tip"), tt.CompliantClosure("bungee", stiffness=2.0, damping=0.3))
    return s


@cache
def models() -> tuple[tt.Model, tt.Model]:
    """Return the system by both engines."""
    return system().resolve(), system().resolve(engine="reference")


@cache
def state() -> tuple[Array, Array, Array, Array]:
    """Return a state at which all deforms."""
    model = models()[0]
    moved, v, a, tau = 0.3 * np.random.default_rng(2).normal(size=(4, model.nv))
    return model.integrate(model.neutral(), moved), v, a, tau


def assert_same(one: Array, two: Array, tolerance: float = SAME) -> None:
    np.testing.assert_allclose(one, two, atol=tolerance * np.abs(two).max())


def test_dynamics() -> None:
    compiled, reference = models()
    q, v, a, tau = state()
    assert_same(compiled.inverse_dynamics(q, v, a), reference.inverse_dynamics(q, v, a))
    assert_same(compiled.forward_dynamics(q, v, tau), reference.forward_dynamics(q, v, tau), SLOPES)
    assert_same(compiled.mass_matrix(q), reference.mass_matrix(q))
    # and each undoes the other
    assert_same(compiled.inverse_dynamics(q, v, compiled.forward_dynamics(q, v, tau)), tau, SLOPES * 10)


def test_results() -> None:
    compiled, reference = models()
    q, v, a, _ = state()
    for port in ("arm.tip", "arm.elbow", "twig.tip", "hand"):
        assert_same(compiled.motion(port, q, v, a), reference.motion(port, q, v, a))
        assert_same(compiled.jacobian(port, q), reference.jacobian(port, q))
    assert_same(compiled.reaction("graft", q, v, a), reference.reaction("graft", q, v, a))
    assert_same(np.array(compiled.energy(q, v)), np.array(reference.energy(q, v)))
    assert_same(compiled.momentum(q, v), reference.momentum(q, v))
    assert_same(compiled.passive_efforts(q, v), reference.passive_efforts(q, v))


@pytest.mark.parametrize("kind", ["inverse", "forward"])
def test_derivatives(kind: str) -> None:
    compiled, reference = models()
    q, v, a, tau = state()
    last = a if kind == "inverse" else tau
    found, expected = (getattr(model, f"{kind}_dynamics_derivatives")(q, v, last) for model in (compiled, reference))
    for one, two in zip(found, expected, strict=True):
        assert_same(one, two, SLOPES)


def test_jacobian_is_the_derivative_of_the_pose() -> None:
    """By differences of the poses, along all coordinates at once."""
    compiled, _ = models()
    q, v, *_ = state()
    step = 1e-3
    ahead, behind = (compiled.pose("twig.tip", compiled.integrate(q, side * step * v))[1] for side in (1, -1))
    R, _ = compiled.pose("twig.tip", q)
    np.testing.assert_allclose(R @ compiled.jacobian("twig.tip", q)[:3] @ v, (ahead - behind) / (2 * step), atol=1e-6)
