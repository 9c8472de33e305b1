"""Energy of contacts with bristles, and of interactions whose states store some: what is lost balances."""

from __future__ import annotations

from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
import pytest
from scipy.integrate import simpson

import titop as tt


def sliding(tangential_stiffness: float = 2e3) -> tt.Model:
    """Return a block of 2 kg on a slope of 0.2 rad, which may leave it, but not turn."""
    s = tt.System("slope", gravity=[9.81 * np.sin(0.2), 0, -9.81 * np.cos(0.2)])
    carriage, block = tt.RigidBody("carriage", mass=0.0), tt.RigidBody("block", mass=2.0)
    s.connect("world", carriage, tt.Prismatic("along", axis=[1, 0, 0]))
    s.connect(carriage, block, tt.Prismatic("up", axis=[0, 0, 1]))
    laws: dict[str, Any] = {"friction": 0.5, "slip_velocity": 0.05, "dissipation": 0.5, "exponent": 1.0}
    s.close_loop("world", block, tt.Contact("ground", 0.0, 1e4, tangential_stiffness=tangential_stiffness, **laws))
    return s.resolve()


def test_energy_that_bristles_take_balances() -> None:
    """A block slides, bounces a little while its bristle is bent, stops and springs back."""
    m, times = sliding(), np.linspace(0.0, 0.3, 12001)
    run = tt.simulate(m, times, [0.0, -3e-3], [-0.4, 0.0], rtol=1e-11, atol=1e-13)
    assert run.contacts("ground").depth.min() > 0.0  # it does not come off
    energy = m.energy(run.q, run.v, run.x).total
    power = m.dissipated_power(run.q, run.v, run.x)
    lost = energy[0] - energy[-1]
    # Simpson's rule over kinks of second derivatives where the bristle gives in: (25 us)^2 of 1 ms
    assert simpson(power, x=times) == pytest.approx(lost, rel=1e-7)
    assert lost > 0.1
    assert power.min() < -1e-3, "a bristle gives something back"
    unbent = simpson(m.dissipated_power(run.q, run.v), x=times)
    assert abs(unbent - lost) > 1e-3 * lost, "without the states nothing balances"


def test_bristles_have_no_energy() -> None:
    """Along a closed path through depth and slip, on which no bristle gives in, friction and push do work."""
    m, corners = sliding(), np.array([[0.0, -1e-3], [1e-4, -1e-3], [1e-4, -3e-3], [0.0, -3e-3], [0.0, -1e-3]])
    work = 0.0
    for begin, end in pairwise(corners):
        for part in (0.5 - 0.5 / np.sqrt(3), 0.5 + 0.5 / np.sqrt(3)):  # Gauss's two points
            q = begin + part * (end - begin)
            work -= 0.5 * m.inverse_dynamics(q, [0, 0], [0, 0], x=[q[0], 0, 0]) @ (end - begin)
    # 2e3 N b for the force of the bristle, 1e4 d for N, weight and spring apart: 2e3 * 1e4 * 2e-3 * (1e-4)^2 / 2
    assert work == pytest.approx(2e-4, rel=1e-4)  # the saturation of friction, (0.4)^8 / 8


class Creeping(tt.Interaction):
    """A spring k in series with a damper c on a coordinate: ``c dx/dt = k (q - x)``."""

    port_counts, coordinate_counts, state_names, state_units = (0, 0), (1, 1), ("creep",), ("rad",)
    parameter_units: ClassVar[dict[str, str]] = {}
    k, c = 20.0, 3.0

    def act(self, motion: Any) -> Any:
        return np.zeros((0, 6)), -self.k * (motion.q - motion.x)

    def state_rates(self, motion: Any) -> Any:
        return self.k * (motion.q - motion.x) / self.c

    def stored(self, motion: Any) -> Any:
        return 0.5 * self.k * (motion.q[0] - motion.x[0]) ** 2


@pytest.mark.parametrize("engine", ["compiled", "reference"])
def test_what_a_state_stores_is_not_lost(engine: str) -> None:
    s = tt.System("creeping", gravity=[0, 0, 0])
    s.connect("world", tt.RigidBody("wheel", mass=1.0, inertia=2.0), tt.Revolute("shaft", damping=0.1))
    s.add_interaction(Creeping("spring"), "shaft")
    m = s.resolve(engine=engine)
    q, v, x = np.array([[0.3], [0.1]]), np.array([[2.0], [-1.0]]), np.array([[-0.2], [0.4]])
    expected = (Creeping.k * (q - x)[:, 0]) ** 2 / Creeping.c + 0.1 * v[:, 0] ** 2
    np.testing.assert_allclose(m.dissipated_power(q, v, x), expected, rtol=1e-13)
    assert m.dissipated_power(q[0], v[0], {"spring.creep": -0.2}) == pytest.approx(expected[0], rel=1e-13)
