"""Readings of contacts: what acts on the bodies, exact derivatives of outputs, and motions in time."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import titop as tt
from tests.blocks.interactions.touching_systems import LOSSES, rod_and_wall, soft_and_wall, state, two_bodies

HOLLOW = tt.Shape.cylinder(0.15, inside=True)
SYSTEMS = {
    "bodies": lambda: two_bodies(tt.Contact("touch", 1.2, 300.0, points=[[0.1, 0.2, 0.3], [-0.3, 0.4, 0.1]], **LOSSES)),
    "rod": lambda: rod_and_wall(HOLLOW, rolling=0.0),
    "soft": lambda: soft_and_wall(HOLLOW, points=[[0.01, 0, 0.1], [0.0, 0.01, 0.2]]),
}


@pytest.mark.parametrize("kind", SYSTEMS)
def test_forces_are_what_acts_on_the_shape(kind: str) -> None:
    m = SYSTEMS[kind]().resolve(engine="reference")
    q, v, a = state(m)
    found = m.contacts(q, v)
    assert found.names == tuple(f"touch[{k}]" for k in range(len(found.gap)))
    np.testing.assert_allclose(found.depth, np.maximum(-found.gap, 0.0), rtol=0, atol=0)
    # the reaction on the second port: of bodies that of what touches, else of the shape itself, in its frame
    reaction = m.reaction("touch", q, v, a)[:3]
    total = found.force.sum(axis=0)
    if kind == "bodies":
        port = m.pose("arm.E", q)[0].T @ m.pose("body", q)[0]
        np.testing.assert_allclose(port @ total, reaction, rtol=0, atol=1e-12 * np.abs(total).max())  # sums of a few terms
    else:
        np.testing.assert_allclose(-total, reaction, rtol=0, atol=1e-12 * np.abs(total).max())


@pytest.mark.filterwarnings("ignore:.*no-equilibrium")
@pytest.mark.parametrize("kind", SYSTEMS)
def test_outputs_have_exact_derivatives(kind: str) -> None:
    m = SYSTEMS[kind]().resolve()
    q, v, _ = state(m)
    point = tt.OperatingPoint(m, q, v, m.inverse_dynamics(q, v, np.zeros(m.nv)))
    outputs = ["touch.gap", "touch.force", "touch[1].force[2]"]
    linear = tt.linearize(m, point, inputs=[m.coordinate_names[0]], outputs=outputs)

    def read(dq: Any, dv: Any) -> Any:
        found = m.contacts(m.integrate(q, dq), v + dv)
        return np.concatenate([found.gap, found.force.sum(axis=0), found.force[1, 2:]])

    still, h = np.zeros(m.nv), 1e-6
    units = h * np.eye(m.nv)
    by_q, by_v = (
        np.array([(read(*at(e)) - read(*at(-e))) / (2 * h) for e in units]).T
        for at in (lambda e: (e, still), lambda e: (still, e))
    )
    # central differences of 1e-6: 1e-9 of values and of third derivatives, of forces of some hundred newtons
    np.testing.assert_allclose(linear.C, np.hstack([by_q, by_v]), rtol=0, atol=1e-6 * np.abs(by_q).max())
    single = tt.linearize(m, point, inputs=[m.coordinate_names[0]], outputs=["touch[1].gap"])
    assert np.array_equal(single.C, linear.C[1:2])


def test_motions_are_read_over_time() -> None:
    s = tt.System("ball", gravity=[0, 0, -9.81])
    ball = tt.RigidBody("ball", mass=0.5)
    s.connect("world", ball, tt.Prismatic("up", axis=[0, 0, 1]))
    s.close_loop("world", ball, tt.Contact("ground", radius=0.1, stiffness=1e5, dissipation=0.5))
    trajectory = tt.simulate(s.resolve(), np.linspace(0, 0.5, 51), [0.12], [0.0])
    found = trajectory.contacts("ground")
    assert found.force.shape == (51, 1, 3)
    np.testing.assert_allclose(found.gap[:, 0], trajectory.q[:, 0] - 0.1, rtol=0, atol=1e-15)
    weight = 0.5 * (trajectory.a[:, 0] + 9.81)  # Newton's second law, for the force that nobody else knows
    np.testing.assert_allclose(found.force[:, 0, 2], weight, rtol=0, atol=1e-9)
    with pytest.raises(tt.ModelError, match="did you mean 'ground'"):
        trajectory.contacts("grund")
