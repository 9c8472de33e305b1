"""Systems of general blocks, and all that a model tells of them."""

from __future__ import annotations

from typing import Any

import numpy as np

import titop as tt
from titop.blocks.basics.spatial import Array, twist_transport

#: Results of order 1 to 1000 of two engines that add up the same terms in another order.
ACCURACY = 1e-10


class Slider(tt.Block):
    """A block in plain Python: a mass that slides on a bent rail, and turns as it goes."""

    coordinates, ports = ("slide",), ("C",)

    def pose(self, port: str, q: Array) -> tuple[Array, Array]:
        """Return the pose of the mass."""
        c, s, x = np.cos(q[0]), np.sin(q[0]), 0 * q[0]
        return np.array([[c, -s, x], [s, c, x], [x, x, 1 + x]]), np.array([q[0], 0.3 * q[0] ** 2, 0.1 + x])

    def mass_matrix(self, q: Array) -> Array:
        """Return the inertia of the mass at its pose."""
        J = np.column_stack([twist_transport(*self.pose("C", q)), self.motion(q)])
        return J.T @ np.diag([0.8, 0.8, 0.8, 0.02, 0.03, 0.04]) @ J

    def motion(self, q: Array) -> Array:
        """Return the motion of the mass a unit of the coordinate."""
        rotation, _ = self.pose("C", q)
        return np.concatenate([rotation.T @ np.array([1 + 0 * q[0], 0.6 * q[0], 0 * q[0]]), [0, 0, 1]])

    def elastic_energy(self, q: Array) -> Any:
        """Return the energy of a spring."""
        return 4.0 * q[0] ** 2

    def damping_efforts(self, q: Array, v: Array) -> Array:
        """Return the efforts of a damper."""
        return -0.3 * v


def state(model: tt.Model, seed: int = 0) -> tuple[Array, Array, Array]:
    """Return a random configuration, velocity and effort (or acceleration)."""
    rng = np.random.default_rng(seed)
    step = 0.2 * rng.normal(size=model.nv)
    return model.integrate(model.neutral(), step), rng.normal(size=model.nv), rng.normal(size=model.nv)


def functions(model: tt.Model, q: Array, v: Array, x: Array) -> dict[str, Array]:
    """Return all that a model says of a state."""
    stacked = model.forward_dynamics(np.stack([q, q]), np.stack([v, 0 * v]), np.stack([x, x]))
    return {
        "inverse": model.inverse_dynamics(q, v, x),
        "forward": model.forward_dynamics(q, v, x),
        "stacked": stacked,
        "mass matrix": model.mass_matrix(q),
        "energy": np.array(model.energy(q, v)),
        "momentum": model.momentum(q, v),
        "jacobian": model.jacobian("tip", q),
        "motion": model.motion("boom.C", q, v, x),
        "passive": model.passive_efforts(q, v),
        "reaction": model.reaction("weld", q, v, x),
        "rate": model.configuration_rate(q, v),
    }


def stepped(model: tt.Model, function: str, q: Array, v: Array, x: Array) -> Array:
    """Return the derivatives (3, nv, nv) of a function of a state by differences of the fourth order."""

    def at(step: Array) -> Array:
        dq, dv, dx = step.reshape(3, model.nv)
        return getattr(model, function)(model.integrate(q, dq), v + dv, x + dx)

    # a fifth of the beam's coordinates bends it far: its second mode foreshortens within millimetres
    columns, size = [], 1e-4
    for step in size * np.eye(3 * model.nv):
        columns.append((8 * (at(step) - at(-step)) - at(2 * step) + at(-2 * step)) / (12 * size))
    return np.array(np.split(np.array(columns).T, 3, axis=1))


def differences(one: dict[str, Array], two: dict[str, Array]) -> dict[str, float]:
    """Return the relative differences that are too large."""
    errors = {name: float(np.abs(one[name] - two[name]).max() / max(1.0, np.abs(two[name]).max())) for name in two}
    return {name: error for name, error in errors.items() if not error < ACCURACY}


def assert_close(found: Any, expected: Any, tolerance: float) -> None:
    """Compare with the largest entry."""
    np.testing.assert_allclose(found, expected, rtol=0, atol=tolerance * np.abs(expected).max())


def assert_slopes(m: tt.Model, reference: tt.Model, q: Array, v: Array, a: Array, tolerance: float, **inputs: Any) -> None:
    """Compare the derivatives of inverse dynamics with complex steps of the reference; turns of the base are among them."""
    by_q, by_v, _ = m.inverse_dynamics_derivatives(q, v, a, **inputs)
    steps = 1e-30j * np.eye(m.nv)
    by_place = [reference.inverse_dynamics(reference.integrate(q, step), v + 0j, a, **inputs).imag / 1e-30 for step in steps]
    by_rate = [reference.inverse_dynamics(q + 0j, v + step, a, **inputs).imag / 1e-30 for step in steps]
    assert_close(by_q, np.transpose(by_place), tolerance)
    assert_close(by_v, np.transpose(by_rate), tolerance)
