"""Springs of joints conserve energy, with controls that do not."""

from __future__ import annotations

import numpy as np
import pytest

import titop as tt
from tests.solvers.simulation.simulated_models import Array, largest
from tests.systems import KINDS, random_body


def sprung(kind: str, seed: int, damping: float = 0.0) -> tuple[tt.System, Array]:
    """Return a body on a joint with a full spring matrix, and a velocity at rest that takes it about 1 m and 1 rad away."""
    rng = np.random.default_rng(seed)
    n = getattr(tt, kind)("joint").nv
    spring = rng.uniform(-1.0, 1.0, (n, n))
    joint = getattr(tt, kind)("joint", stiffness=10 * (spring @ spring.T + 0.3 * np.eye(n)), damping=damping)
    s = tt.System("sprung", gravity=[0, 0, 0])
    s.connect("world", random_body(rng, "body").port("A"), joint)
    return s, 2.0 * rng.normal(size=n)


def energy_drift(system: tt.System, v: Array, engine: str = "compiled", end: float = 3.0) -> tuple[float, tt.Trajectory]:
    """Return the largest relative change of the energy, and the trajectory."""
    model = system.resolve(engine)
    trajectory = tt.simulate(model, np.linspace(0, end, 31), model.neutral(), v, rtol=1e-10, atol=1e-12)
    energy = trajectory.energy().sum(axis=1)
    return largest(energy / energy[0] - 1), trajectory


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "Weld"])
@pytest.mark.parametrize("seed", range(3))
def test_springs_conserve_energy(kind: str, seed: int) -> None:
    drift, trajectory = energy_drift(*sprung(kind, seed))
    reach = max(largest(trajectory.model.difference(trajectory.q[0], q)) for q in trajectory.q)
    assert 0.15 < reach < 2.5  # far enough for nonlinearity, below pi where the logarithm is cut
    # a hundred steps with a relative error of 1e-10 each
    assert drift < 1e-8


def test_dampers_do_not_conserve_energy() -> None:
    assert energy_drift(*sprung("Spherical", 0, damping=1e-3))[0] > 1e-5


@pytest.mark.parametrize("kind", ["Spherical", "Free"])
def test_springs_without_the_derivative_of_the_logarithm_create_energy(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    system, v = sprung(kind, 0)
    assert energy_drift(system, v, "reference", end=0.5)[0] < 1e-8
    monkeypatch.setattr(getattr(tt, kind), "difference_jacobian", lambda self, delta: np.eye(self.nv))
    assert energy_drift(system, v, "reference", end=0.5)[0] > 1e-5
