"""Inverse dynamics as it is written, against the equations of motion of a double pendulum in closed form."""

from __future__ import annotations

import numpy as np

import titop as tt
from tests.tolerances import ROUNDING
from titop.solvers.kernels.interface import layout
from titop.solvers.kernels.interface.records import State, Tables
from titop.solvers.kernels.tree import inverse, kinematics

L, G, MASSES, ARMATURE = 0.7, 9.81, (1.5, 0.8), 0.2


def double_pendulum() -> tt.System:
    """Return two points on massless rods of length L, the second joint with an armature."""
    s = tt.System("pendulum", gravity=[0, 0, -G])
    upper, lower = (tt.RigidBody(n, m, com=[0, 0, -L], ports={"E": [0, 0, -L]}) for n, m in zip("ul", MASSES, strict=True))
    s.connect("world", upper, tt.Revolute("first", axis=[0, 1, 0]))
    s.connect(upper.port("E"), lower, tt.Revolute("second", axis=[0, 1, 0], armature=ARMATURE))
    return s


def test_efforts_of_a_double_pendulum() -> None:
    """Lagrange's equations in absolute angles p; the joints' efforts are those of p less what the second takes on."""
    system = double_pendulum().resolve().mechanism.engine.system  # type: ignore[attr-defined]
    q, v, a, tau = np.array([0.4, 0.9]), np.array([1.1, -0.6]), np.array([0.3, 2.0]), np.zeros(2)
    work, state = np.empty((len(system.ints), layout.INVERSE_COLUMNS)), State(q, v)
    tables = Tables(system.ints, system.floats, None, None, None)
    assert kinematics.outward_twists(tables, state, work, layout.UNKNOWN) == layout.OK
    assert inverse.outward_motions(tables, state, a, work, layout.KNOWN) == layout.OK
    assert inverse.inward_wrenches(tables, state, a, work, tau) == layout.OK
    (m1, m2), p, w, b = MASSES, np.cumsum(q), np.cumsum(v), np.cumsum(a)
    c, s = np.cos(p[0] - p[1]), np.sin(p[0] - p[1])
    first = (m1 + m2) * L**2 * b[0] + m2 * L**2 * (c * b[1] + s * w[1] ** 2) + (m1 + m2) * G * L * np.sin(p[0])
    second = m2 * L**2 * (b[1] + c * b[0] - s * w[0] ** 2) + m2 * G * L * np.sin(p[1])
    np.testing.assert_allclose(tau, [first + second, second + ARMATURE * a[1]], **ROUNDING)
