"""The energy balance of key P's simulations 5 to 8: two soft bodies that fall, by four kinematics, as in the example."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.integrate import solve_ivp

import titop as tt
from tests.example_scripts import script

Array = NDArray[Any]

#: Tolerance of the integrator, and how long the bodies fall (s): PCS shears, which is damped within microseconds.
TOLERANCE, DURATION = 1e-7, 0.1


def fallen(model: tt.Model, start: Array, viscosity: float = 1.0) -> tuple[float, float, float]:
    """Return the largest energy (J), what has been dissipated, and how much more the energy has fallen.

    The power of dissipation, times `viscosity`, is integrated with the state, so that the balance has the integrator's error
    alone; its derivatives are differences.
    """
    n = model.nv

    def rate(t: float, y: Array) -> Array:
        q, v = y[:n], y[n : 2 * n]
        power = viscosity * model.dissipated_power(q, v)
        return np.concatenate([v, model.forward_dynamics(q, v), [power]])

    state = np.concatenate([start, np.zeros(n + 1)])
    run = solve_ivp(rate, (0, DURATION), state, method="Radau", rtol=TOLERANCE, atol=1e-2 * TOLERANCE)
    assert run.success
    energies = [model.energy(y[:n], y[n : 2 * n]).total for y in (run.y[:, 0], run.y[:, -1])]
    return max(map(abs, energies)), run.y[-1, -1], energies[0] - energies[1] - run.y[-1, -1]


@pytest.mark.long
@pytest.mark.parametrize("name", ["PGC", "PCC", "PAC", "PCS"])
def test_what_the_energy_loses_is_dissipated(name: str) -> None:
    example = script("soft_free_evolution")
    case = example["CASES"][name]
    model, start = example["build"](case).resolve(), np.array(case.start, dtype=float)
    largest, dissipated, rest = fallen(model, start)
    # found: 4e-12 of the largest energy, and less
    assert abs(rest) < 1e-2 * TOLERANCE * largest
    _, _, left = fallen(model, start, viscosity=1.001)  # the negative control: the dissipated power by a thousandth wrong
    assert left == pytest.approx(-1e-3 * dissipated, rel=1e-3)
    assert abs(left) > TOLERANCE * largest
