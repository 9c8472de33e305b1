"""Springs of spherical and free joints: their derivatives, in all functions that have them."""

from __future__ import annotations

import numpy as np
import pytest

import titop as tt
from tests.tolerances import ROUNDING

JOINTS = {
    "spherical": tt.Spherical("joint", stiffness=[2.0, 3.0, 4.0], damping=0.1, rest=[0.5, -0.5, 0.5, 0.5]),
    "free": tt.Free(
        "joint", stiffness=np.diag([20.0, 30.0, 40.0, 2.0, 3.0, 4.0]) + 0.3, rest=[0.1, 0.2, 0.3, 0.5, 0.5, -0.5, 0.5]
    ),
    "free at rest": tt.Free("joint", stiffness=5.0),
}


def hung(joint: tt.Joint) -> tt.System:
    """Return a bar on a joint, and another that hangs from it by a hinge with a spring."""
    s = tt.System("hung", gravity=[0, 0, -9.81])
    body = tt.RigidBody("body", mass=1.0, com=[0.1, 0.2, 0.3], inertia=0.5, ports={"end": [0.3, 0, 0]})
    s.connect("world", body, joint)
    s.connect(
        body.port("end"), tt.RigidBody("tail", mass=0.5, com=[0.1, 0, 0], inertia=0.1), tt.Revolute("hinge", stiffness=1.5)
    )
    return s


@pytest.fixture(scope="module", params=JOINTS)
def models(request: pytest.FixtureRequest) -> tuple[tt.Model, tt.Model]:
    return hung(JOINTS[request.param]).resolve(), hung(JOINTS[request.param]).resolve("reference")


def states(m: tt.Model) -> list[np.ndarray]:
    """Return configurations near the rest, where series are used, and far from it; and the neutral one."""
    rng = np.random.default_rng(4)
    return [m.neutral(), m.integrate(m.neutral(), 1e-4 * rng.normal(size=m.nv)), m.random_configuration(rng)]


def test_derivatives_are_those_of_the_reference(models: tuple[tt.Model, tt.Model]) -> None:
    rng = np.random.default_rng(5)
    for q in states(models[0]):
        v, x = rng.normal(size=models[0].nv), rng.normal(size=models[0].nv)
        for name in ("inverse_dynamics_derivatives", "forward_dynamics_derivatives"):
            ours, theirs = (np.array(getattr(m, name)(q, v, x)) for m in models)
            np.testing.assert_allclose(ours, theirs, **ROUNDING)


def test_slopes_are_those_of_efforts(models: tuple[tt.Model, tt.Model]) -> None:
    """Central differences over 1e-5 along each direction, whose errors are some 1e-10 of the stiffness."""
    m, step = models[0], 1e-5
    still = np.zeros(m.nv)
    for q in states(m):
        at_rest = m.inverse_dynamics_derivatives(q, still, still)[0]
        for j, e in enumerate(np.eye(m.nv)):
            ahead, behind = (m.inverse_dynamics(m.integrate(q, sign * step * e), still, still) for sign in (1, -1))
            np.testing.assert_allclose(at_rest[:, j], (ahead - behind) / (2 * step), rtol=0, atol=1e-7)


def test_no_block_is_left_to_python(models: tuple[tt.Model, tt.Model], monkeypatch: pytest.MonkeyPatch) -> None:
    m = models[0]
    monkeypatch.setattr(tt.Joint, "elastic_slopes", None)
    monkeypatch.setattr(tt.Joint, "passive_efforts", None)
    q, still = m.neutral(), np.zeros(m.nv)
    m.forward_dynamics_derivatives(q, still, still)
    m.hybrid_dynamics_derivatives(q, still, still, still, ["hinge"])
    m.forward_dynamics_tangent(q, still, still, still, still, still)
