"""Goals' values and the controller that `tt.tune` returns, against loops that python-control and `tt.simulate` close."""

from __future__ import annotations

from typing import Any

import control
import numpy as np
import pytest

import titop as tt
from tests.solvers.tuning.loops import objective_of, two_masses
from titop.blocks.basics.spatial import Array
from titop.solvers.tuning.objective import Objective

OMEGA = np.geomspace(1e-3, 1e3, 200)


def value(objective: Objective, theta: Any) -> Array:
    """Return the values of goals at numbers of an affine controller."""
    x = np.zeros(objective.size)
    x[: len(objective.coordinates)] = objective.coordinates.places(np.asarray(theta, dtype=float))
    values = objective.values(x)
    assert values is not None
    return values[0]


def closed(K: Any, plant: control.StateSpace, sign: int = -1) -> control.StateSpace:
    """Return the loop of python-control from forces and references of both places to both places and forces."""
    P = control.ss(plant.A, plant.B, plant.C, plant.D, plant.dt, inputs=["u1", "u2"], outputs=["y1", "y2"], name="P")
    K = control.ss(K.A, K.B, K.C, K.D, K.dt, inputs=["e1", "e2"], outputs=["c1", "c2"], name="K")
    sums = [
        control.summing_junction(["r", "y"] if sign > 0 else ["r", "-y"], "e", dimension=2, name="error"),
        control.summing_junction(["d", "c"], "u", dimension=2, name="force"),
    ]
    for one in sums:
        one.dt = plant.dt
    return control.interconnect(
        [P, K, *sums],
        connections=[
            *(["P.u1", "force.u[0]"], ["P.u2", "force.u[1]"], ["K.e1", "error.e[0]"], ["K.e2", "error.e[1]"]),
            *(["error.y[0]", "P.y1"], ["error.y[1]", "P.y2"], ["force.c[0]", "K.c1"], ["force.c[1]", "K.c2"]),
        ],
        inplist=["force.d[0]", "force.d[1]", "error.r[0]", "error.r[1]"],
        outlist=["P.y1", "P.y2", "K.c1", "K.c2"],
    )


GAINS = np.array([[1.2, -0.3], [0.4, 0.9]])
RATES = np.array([[0.8, 0.1], [-0.2, 1.1]])


def law(dt: float = 0.0) -> control.StateSpace:
    """Return a controller: gains and rates behind lags, in continuous time or by Tustin's rule."""
    lag = 0.1
    K = control.ss(-np.eye(2) / lag, np.eye(2) / lag, -RATES / lag, GAINS + RATES / lag)
    return control.sample_system(K, dt, "bilinear") if dt else K


def block() -> tuple[tt.Tunable, list[float]]:
    """Return the same controller as a tunable block, and its numbers."""
    K = law()
    numbers = np.concatenate([K.A.ravel(), K.B.ravel(), K.C.ravel(), K.D.ravel()])
    return tt.Tunable.state_space("K", ["near", "far"], ["push", "pull"], 2), numbers.tolist()


@pytest.mark.parametrize("sign", [-1, 1])
@pytest.mark.parametrize("dt", [0.0, 0.05])
def test_gains_and_variances(sign: int, dt: float) -> None:
    """python-control bisects the gain of its own interconnection to 1e-10, and solves Lyapunov's equation."""
    plant, (K, numbers) = two_masses(), block()
    numbers = (np.array(numbers) * ([1] * 8 + [-sign] * 8)).tolist()  # a stable loop with both signs
    held = control.sample_system(plant, dt, "zoh") if dt else plant
    goals = [
        tt.Goal.gain(["push", "pull"], ["near", "far"]),
        tt.Goal.h2(["push", "pull"], ["near", "far"]),
        tt.Goal.gain(["near", "far"], ["push", "pull"]),
    ]
    signals = {"inputs": plant.input_labels, "outputs": plant.output_labels}
    named = control.ss(held.A, held.B, held.C, held.D, held.dt, **signals)
    values = value(objective_of(named, K, goals, sign), numbers)
    loop = closed(-sign * law(dt), held, sign)
    to_places, to_forces = loop[[0, 1], [0, 1]], loop[[2, 3], [2, 3]]
    omega = np.linspace(0.0, np.pi / dt, 60_001) if dt else np.linspace(0.0, 20.0, 60_001)
    for system, found in ((to_places, values[0]), (to_forces, values[2])):
        response = np.moveaxis(np.asarray(system(np.exp(1j * omega * dt) if dt else 1j * omega)), 2, 0)
        dense = max(np.linalg.norm(response, 2, axis=(1, 2)).max(), np.linalg.norm(system.D, 2) if not dt else 0.0)
        assert found >= dense * (1 - 1e-9)
        assert found == pytest.approx(dense, rel=1e-5)  # of the grid
    A, B, C, D = (np.asarray(getattr(to_places, name)) for name in "ABCD")
    gramian = control.dlyap(A, B @ B.T) if dt else control.lyap(A, B @ B.T)
    assert values[1] == pytest.approx(np.sqrt(np.trace(C @ gramian @ C.T + D @ D.T)), rel=1e-8)


def loop_at(theta: float, goal: tt.Goal) -> float:
    """Return the value of a goal of a loop with one gain behind a lag."""
    filtered = control.ss([[-20.0]], [[20.0]], [[1.0]], [[0.0]], inputs=["near"], outputs=["fast"], name="lag")
    objective = objective_of(two_masses(damping=0.5), [filtered, tt.Tunable.gain("k", "fast", "push")], goal)
    return float(value(objective, [theta])[0])


def sensitivities(theta: float) -> tuple[Array, Array, Array]:
    """Return frequencies, and S and T of the same loop on a dense grid."""
    omega = np.r_[0.0, np.geomspace(1e-3, 1e3, 100_001)]
    P = np.asarray(two_masses(damping=0.5)[0, 0](1j * omega)).ravel()
    L = theta * 20 / (1j * omega + 20) * P
    return omega, 1 / (1 + L), L / (1 + L)


TARGET = control.tf([1.0, 2.0], [1.0, 0.01])


def on_grid(goal: str, omega: Array, S: Array, T: Array) -> float:
    """Return the value of a goal by its definition."""
    if goal == "margins":
        return float(np.abs(S - 0.5).max() * max(2 * (10**0.3 - 1) / (10**0.3 + 1), 2 * np.tan(np.pi / 8)))
    if goal == "skewed":
        return float(np.abs(S - 0.3).max() * 0.7)
    if goal == "shape":
        size = np.abs(np.asarray(TARGET(1j * omega)).ravel())
        return float(max((size * np.abs(S)).max(), (np.abs(T) / size).max()) / np.sqrt(2))
    if goal == "tracking":
        return float((np.abs(S) / np.abs((1j * omega + 2.0 * 0.001) / (1j * omega / 1.5 + 2.0))).max())
    band = (omega > 0.1) & (omega < 0.3)
    return float(3.0 * np.abs(S[band]).max())


GOALS = {
    "margins": tt.Goal.margins("push"),
    "skewed": tt.Goal.margins("near", disk=0.7, skew=0.4),
    "shape": tt.Goal.shape("near", TARGET),
    "tracking": tt.Goal.tracking("near", time=1.0),
    "rejection": tt.Goal.rejection("push", 3.0, band=(0.1, 0.3)),
}


@pytest.mark.parametrize("goal", GOALS)
def test_goals_by_their_definition(goal: str) -> None:
    """Steps of 1.4e-4 of the grid see peaks, and the ends of bands."""
    expected = on_grid(goal, *sensitivities(0.2))
    assert loop_at(0.2, GOALS[goal]) == pytest.approx(expected, rel=2e-4)


@pytest.mark.parametrize("dt", [0.0, 0.1])
def test_poles(dt: float) -> None:
    """Of a sampled loop as poles of continuous time with the same motion: the logarithm over the period."""
    plant = two_masses(damping=0.3)
    held = control.sample_system(plant, dt, "zoh") if dt else plant
    named = control.ss(held.A, held.B, held.C, held.D, held.dt, inputs=plant.input_labels, outputs=plant.output_labels)
    gains = tt.Tunable.matrix("k", ["near", "far"], ["push", "pull"])
    poles = np.linalg.eigvals(held.A - held.B @ GAINS @ held.C)
    poles = np.log(poles.astype(complex)) / dt if dt else poles
    goals = [
        tt.Goal.poles(decay=0.3),
        tt.Goal.poles(damping=0.6),
        tt.Goal.poles(fastest=1.5),
        tt.Goal.poles(decay=0.1, damping=0.2),
    ]
    expected = [
        (0.3 / -poles.real).max(),
        (0.6 * np.abs(poles) / -poles.real).max(),
        np.abs(poles).max() / 1.5,
        max((0.1 / -poles.real).max(), (0.2 * np.abs(poles) / -poles.real).max()),
    ]
    found = value(objective_of(named, gains, goals), GAINS.ravel())
    assert found == pytest.approx(expected, rel=1e-9)


def test_poles_of_the_controller_alone() -> None:
    K, numbers = block()
    found = value(objective_of(two_masses(damping=0.3), K, tt.Goal.poles(decay=1.0, of="controller")), numbers)
    assert found == pytest.approx([0.1], rel=1e-9)  # its lags have 0.1 s


def test_references_of_their_own() -> None:
    """A controller that takes references takes y itself; its tracking is that of ``r_near``, not of noise."""
    two = tt.Tunable.matrix("k", ["r_near", "near"], ["push"])
    goals = [tt.Goal.tracking("near", time=1.0, error=0.5, peak=4.0), tt.Goal.gain("r_near", "near")]
    found = value(objective_of(two_masses(damping=0.5), two, goals), [0.7, -0.4])
    omega = np.geomspace(1e-4, 1e3, 100_001)
    P = np.asarray(two_masses(damping=0.5)[0, 0](1j * omega)).ravel()
    response = 0.7 * P / (1 + 0.4 * P)
    allowed = np.abs((1j * omega + 1.0) / (1j * omega / 4 + 2.0))
    assert found[0] == pytest.approx((np.abs(1 - response) / allowed).max(), rel=1e-4)  # of the grid
    assert found[1] == pytest.approx(np.abs(response).max(), rel=1e-4)


@pytest.mark.parametrize("opened", [(), "pull"])
def test_opened_loops(opened: Any) -> None:
    """With the other force's loop open the margin is that of one loop alone."""
    gains = tt.Tunable.matrix("k", ["near", "far"], ["push", "pull"])
    plant, omega = two_masses(damping=0.3), np.geomspace(1e-3, 1e3, 40_001)
    P = np.moveaxis(np.asarray(plant(1j * omega)), 2, 0)
    L = GAINS @ P
    S = 1 / (1 + L[:, 0, 0]) if opened else np.linalg.inv(np.eye(2) + L)[:, 0, 0]
    found = value(objective_of(plant, gains, tt.Goal.margins("push", disk=1.0, opened=opened)), GAINS.ravel())
    assert found == pytest.approx([np.abs(S - 0.5).max()], rel=1e-5)


def test_whole_samples_of_delay() -> None:
    """Against a loop with shifts as states of its own."""
    dt, plant = 0.2, two_masses(damping=1.0)
    held = control.sample_system(plant, dt, "zoh")
    named = control.ss(held.A, held.B, held.C, held.D, dt, inputs=plant.input_labels, outputs=plant.output_labels)
    gains, goal = tt.Tunable.gain("k", "near", "push"), tt.Goal.margins("push", disk=1.0)
    found = value(objective_of(named, gains, goal, delay={"push": 2 * dt}), [0.1])
    z = np.exp(1j * np.linspace(0, np.pi, 100_001))
    S = 1 / (1 + 0.1 * z**-2 * np.asarray(held[0, 0](z)).ravel())
    assert found == pytest.approx([np.abs(S - 0.5).max()], rel=1e-5)
    none = value(objective_of(named, gains, goal), [0.1])
    assert abs(none[0] / found[0] - 1) > 0.02
