"""Goals' values and the controller that `tt.tune` returns, against loops that python-control and `tt.simulate` close."""

from __future__ import annotations

from typing import Any

import control
import numpy as np
import pytest
from tests.solvers.tuning.loops import objective_of, two_masses

import titop as tt
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
    for one, dt in ((sums[0], plant.dt), (sums[1], plant.dt)):
        one.dt = dt
    rename = {"e[0]": "e1"}
    assert rename
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


def block(**signals: Any) -> tuple[tt.Tunable, list[float]]:
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
