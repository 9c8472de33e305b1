"""Sampled loops of linear fractional models, against loops whose members are sampled exactly."""

from __future__ import annotations

from functools import cache

import control
import numpy as np
import pytest
from scipy.linalg import expm

import titop as tt

#: Sampling period, and delay of the controller (s).
PERIOD, DELAY = 0.2, 0.1

#: Of three stages at this period.
STAGES = 1e-4

#: What is fed back: the second cart mostly, so that the spring has little damping left.
GAINS = np.array([[-1.0, -1.0, -1.6, -0.9]])
SIGNALS = ["rail_q", "link_q", "rail_v", "link_v"]


@cache
def carts() -> tt.LFTModel:
    """Return two carts with a spring between them, pushed at the first: mass and stiffness are uncertain."""
    s = tt.System("carts", gravity=[0, 0, 0])
    s.connect("world", tt.RigidBody("first", mass=1.0), tt.Prismatic("rail", axis=[1, 0, 0]))
    link = tt.Prismatic("link", axis=[1, 0, 0], stiffness=4.0, damping=0.04)
    s.connect(s["first"], tt.RigidBody("second", mass=1.0), link)
    m = s.resolve()
    parameters = {"link.stiffness": tt.percent(5), "second.mass": tt.percent(3)}
    return tt.lft(m, m.neutral(), parameters, ["rail"], ["rail.q", "link.q", "rail.v", "link.v"])


@cache
def loop() -> tt.LFTModel:
    K = control.ss([], [], [], GAINS, PERIOD, inputs=SIGNALS, outputs=["rail"])
    return carts().close(K, stages=3, delay=DELAY)


def exact(values: dict[str, float]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return A, B, C of a member's loop, from exponentials over both parts of a period; the command is a state."""
    plant = carts().members.member(carts().values(values))
    n = plant.nstates
    steps = [expm(np.block([[plant.A, plant.B], [np.zeros((1, n + 1))]]) * part)[:n] for part in (DELAY, PERIOD - DELAY)]
    (E1, B1), (E2, B2) = ((step[:, :n], step[:, n:]) for step in steps)
    C = np.asarray(plant.C)
    A = np.block([[E2 @ E1 + B2 @ GAINS @ C, E2 @ B1], [GAINS @ C, np.zeros((1, 1))]])
    return A, np.vstack([E2 @ B1 + B2, [[0.0]]]), np.hstack([C, np.zeros((4, 1))])


def radius(values: dict[str, float]) -> float:
    return float(np.abs(np.linalg.eigvals(exact(values)[0])).max())


def test_the_margin_is_that_of_exact_members() -> None:
    """The destabilising member has a pole on the unit circle, and none that is proved stable has."""
    found = tt.robust_stability(loop(), margin=True, progress=False)
    assert radius({}) < 1.0
    assert found.kind == "unstable"
    assert radius(found.member) == pytest.approx(1.0, abs=STAGES)
    assert found.margin[0] <= found.margin[1] < 1.05 * found.margin[0]
    rng = np.random.default_rng(0)
    for deltas in rng.uniform(-1.0, 1.0, (50, 2)):
        proved = deltas / np.abs(deltas).max() * found.margin[0]
        values = {block.name: block.value(delta) for block, delta in zip(loop().blocks, proved, strict=True)}
        assert radius(values) < 1.0


def test_the_worst_gain_is_that_of_an_exact_member() -> None:
    found = tt.worst_case_gain(loop(), "rail", "link_q", progress=False)
    A, B, C = exact(found.member)

    def gain(omega: float) -> float:
        return float(abs((C @ np.linalg.solve(np.exp(1j * omega * PERIOD) * np.eye(len(A)) - A, B))[1, 0]))

    assert max(map(gain, np.linspace(0.9, 1.1, 2001) * found.omega)) == pytest.approx(found.lower, rel=STAGES)
    assert found.lower <= found.upper < 1.05 * found.lower
    point = loop().operating_point(found.member)
    assert point.model.parameters()["link.stiffness"][0] == pytest.approx(found.member["link.stiffness"])


def test_the_worst_member_in_the_nonlinear_simulation() -> None:
    """With its controller and delay: the same motion as the loop's states; 1 % of stiffness makes another."""
    found = tt.worst_case_gain(loop(), "rail", "link_q", progress=False)
    point, times, q = loop().operating_point(found.member), np.arange(100) * PERIOD, np.array([0.1, 0.05])
    K = control.ss([], [], [], -GAINS, PERIOD, inputs=SIGNALS, outputs=["rail"])
    trajectory = tt.simulate(point.model, times, q, np.zeros(2), controller=K, delay=DELAY)

    def moved(member: control.StateSpace) -> float:
        x, positions = np.array([*q, 0.0, 0.0, 0.0]), []
        for _ in times:
            positions.append(x[:2])
            x = member.A @ x
        return float(np.abs(positions - trajectory.q).max() / np.abs(trajectory.q).max())

    assert moved(loop().at(found.member)) < 1e-5  # the integrator's tolerance, and the stages
    other = {**found.member, "link.stiffness": 1.01 * found.member["link.stiffness"]}
    assert moved(loop().at(other)) > 1e-3


def test_poles_of_sampled_loops_are_told_as_they_move() -> None:
    """A turn by 0.9 rad a sample that grows by a twentieth: ``log(z) / T``, where the bilinear map has another pole."""
    turn, growth = 0.9, 1.05
    A = growth * np.array([[np.cos(turn), -np.sin(turn)], [np.sin(turn), np.cos(turn)]])
    M = control.ss(A, [[1e-3], [0]], [[1, 0]], 0, PERIOD)
    with pytest.raises(tt.ModelError, match="unstable-nominal") as caught:
        tt.robust_stability(M, blocks=[tt.DeltaBlock.real("k")])
    pole = complex(str(caught.value).split("a pole at ")[1].split(" rad/s")[0])
    assert abs(pole.imag) == pytest.approx(turn / PERIOD, rel=1e-5)
    assert pole.real == pytest.approx(np.log(growth) / PERIOD, rel=1e-5)
    assert "another controller or sample time" in str(caught.value)
