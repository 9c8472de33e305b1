"""The core of the compiled engine on both roads: kernels called by titop's own calls, and through numba's (`TITOP_CALLS`)."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np

ROOT = Path(__file__).parents[3]

#: Prints what a system with flexible bodies, joints of all sizes, springs, loads and a strut says, then a closed linkage.
SCRIPT = """
import json
import warnings

import numpy as np

import titop as tt
from tests.closed_systems import closed_four_bar
from tests.flexible import random_system

warnings.simplefilter("ignore")
s = random_system(np.random.default_rng(0))
s.close_loop("world", s["hub"], tt.SpringDamper("strut", stiffness=3.0, damping=0.1, length=0.2))
m = s.resolve()
rng = np.random.default_rng(1)
q, (v, a, tau) = m.random_configuration(rng), rng.normal(size=(3, m.nv))
linkage, angles, rates = closed_four_bar()
found = {
    "forward": m.forward_dynamics(q, v, tau),
    "inverse": m.inverse_dynamics(q, v, a),
    "mass": m.mass_matrix(q),
    "energy": m.energy(q, v),
    "jacobian": m.jacobian("tip", q),
    "derivatives": m.inverse_dynamics_derivatives(q, v, a),
    "closed": linkage.forward_dynamics(angles, rates, np.ones(3)),
}
print(json.dumps({name: np.ravel(value).tolist() for name, value in found.items()}))
"""


def said(**environment: str) -> dict[str, np.ndarray]:
    command = [sys.executable, "-c", SCRIPT]
    done = subprocess.run(command, cwd=ROOT, env={**os.environ, **environment}, capture_output=True, text=True, check=True)
    assert ("through numba" in done.stderr) == bool(environment)
    return {name: np.array(values) for name, values in json.loads(done.stdout.splitlines()[-1]).items()}


def test_both_roads_say_the_same() -> None:
    """To rounding: LLVM may contract sums otherwise where functions are inlined otherwise."""
    native, through_numba = said(), said(TITOP_CALLS="numba")
    for name, values in native.items():
        assert values.size
        np.testing.assert_allclose(through_numba[name], values, rtol=0, atol=1e-12 * np.abs(values).max(), err_msg=name)
