"""Points whose loops are open are refused by everything that is made about them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import titop as tt
from tests.closed_systems import four_bar
from tests.refusals import refusal

MODEL = four_bar(tt.RigidClosure("pin", directions=np.eye(6)[:, :2]), stiffness=5.0, damping=0.2).resolve()
CLOSED = MODEL.assemble([1.2, -0.9, -1.2])

USES: list[Callable[[tt.OperatingPoint], object]] = [
    lambda p: p.stability,
    lambda p: p.eigenvalues,
    lambda p: tt.linearize(MODEL, p),
    lambda p: tt.linear_matrices(MODEL, p),
    lambda p: tt.linear_matrices(MODEL, (p.q, p.v, p.tau)),
    lambda p: tt.lft(MODEL, p, {"crank.mass": tt.percent(10)}, ["q1"], ["q1.q"]),
    lambda p: tt.lpv(MODEL, {"crank.mass": [1.0]}, inputs=["q1"], outputs=["q1.q"], points=[p], progress=False),
    lambda p: MODEL.to_nlsys(["q1"], None, p),
]


@pytest.mark.parametrize(
    "use", USES, ids=["stability", "eigenvalues", "linearize", "matrices", "matrices of a state", "lft", "lpv", "nlsys"]
)
def test_open_points_are_refused(use: Callable[[tt.OperatingPoint], object]) -> None:
    with refusal("open-point", "loop 'pin' is open by 0."):
        use(tt.OperatingPoint(MODEL, CLOSED + np.array([0.3, 0.0, 0.0])))
    with refusal("open-point", " changing at "):
        use(tt.OperatingPoint(MODEL, CLOSED, [1.0, 0.0, 0.0]))


def test_a_point_of_a_model_whose_lengths_have_changed_is_open() -> None:
    longer = MODEL.with_parameters({"crank.end.position.x": 0.45})
    with refusal("open-point", "take point at m.assemble"):
        tt.linearize(longer, CLOSED)
    point = tt.trim(longer, q=longer.assemble(CLOSED))
    assert tt.linearize(longer, point).nstates == 2


def test_what_trim_and_assembling_leave_open_is_closed() -> None:
    nearly = CLOSED + 1e-8
    tt.linearize(MODEL, (nearly, np.zeros(3), MODEL.inverse_dynamics(CLOSED, np.zeros(3), np.zeros(3))))


def flying() -> tt.Model:
    """Return a four-bar linkage on a body that flies freely."""
    s = tt.System("flying", gravity=[0, 0, 0])
    hub = tt.RigidBody("hub", 100.0, inertia=20.0, ports={"a": [0.5, 0, 0], "g": [0.8, 0, 0]})
    s.connect("world", hub, tt.Free("base"))
    parent = hub.port("a")
    for name, length in (("crank", 0.09), ("coupler", 0.27), ("rocker", 0.21)):
        bar = tt.RigidBody(name, 1.0, [length / 2, 0, 0], 1e-2 * length**2, ports={"end": [length, 0, 0]})
        s.connect(parent, bar, tt.Revolute(f"q_{name}", axis=[0, 0, 1]))
        parent = bar.port("end")
    s.close_loop(hub.port("g"), parent, tt.RigidClosure("pin", directions=np.eye(6)[:, :2]))
    return s.resolve()


@pytest.mark.parametrize("speed", [0.0, 7.5e3])
def test_velocities_that_open_loops_are_found_however_fast_the_base_flies(speed: float) -> None:
    """Motion of the whole opens no loop, and excuses none: 2e-3 rad/s open it by 5e-4 m/s."""
    m = flying()
    q = m.assemble([0, 0, 0, 0, 0, 0, 1, 1.0, -0.5, -2.0], fixed=["base", "q_crank"])
    v = np.array([speed, 0.2 * speed, 0, 0, 0, 0, 0, 2e-3, 0])
    with refusal("open-start", " changing at 0.000"):
        tt.simulate(m, [0, 0.1], q, v)


@pytest.mark.parametrize("away", [2e6, 7e6])
def test_loops_are_kept_closed_far_from_the_inertial_origin(away: float) -> None:
    """Rounding of places leaves 1e-9 m at 7e6 m; the motion of the loop follows from the errors to a thousand times that."""
    m = flying()
    q = m.assemble([0, 0, 0, 0, 0, 0, 1, 1.0, -0.5, -2.0], fixed=["base", "q_crank"])
    far = q + np.array([away, 0.3 * away, 0, 0, 0, 0, 0, 0, 0, 0])
    np.testing.assert_allclose(m.assemble(far, fixed=["base", "q_crank"])[3:], q[3:], rtol=0, atol=1e-7)
    v = m.assemble_velocity(q, [0, 0, 0, 0.1, 0.2, 0.3, 2.0, 0, 0], fixed=["base", "q_crank"])
    near, beyond = (tt.simulate(m, [0, 0.5, 1.0], start, v, progress=False) for start in (q, far))
    np.testing.assert_allclose(beyond.q[-1, 3:], near.q[-1, 3:], rtol=0, atol=1e-5)
    assert beyond.statistics["steps"] < 2 * near.statistics["steps"]
