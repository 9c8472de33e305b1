"""The equations of equilibria: their slopes, against differences."""

from __future__ import annotations

import numpy as np
import pytest

import titop as tt
from tests.actuated_systems import satellite
from tests.systems import random_state, random_tree
from titop.solvers.equilibrium.equations import difference_slopes, equation_slopes
from titop.solvers.equilibrium.unknowns import Unknowns


@pytest.mark.parametrize("seed", range(4))
def test_slopes_against_differences(seed: int) -> None:
    """Of every kind of unknown, at a random state of a random tree or of the satellite with its actuators."""
    rng = np.random.default_rng(seed)
    model = satellite().resolve() if seed == 0 else random_tree(rng, 4, passive=True, loads=True).resolve()
    q, v, _, tau = random_state(model, rng)
    names = list(model.coordinate_names)
    unknowns = [*names, *(f"{n}.v" for n in names), *(f"{n}.tau" for n in names), *model.input_names]
    unknowns += [name for name in model.parameters() if name.endswith("mass") and "wheel" not in name][:1]
    searched = Unknowns(tt.OperatingPoint(model, q, v, tau, np.ones(model.nu) if model.nu else None), unknowns)
    x = 0.1 * rng.normal(size=len(searched.entries))
    for moving in (False, True):
        found = equation_slopes(searched, x, moving)
        expected = difference_slopes(searched, x, True)[: len(found)]
        size = max(1.0, np.abs(expected).max())
        assert np.abs(found - expected).max() < 1e-6 * size  # central differences with a step of 1e-5
