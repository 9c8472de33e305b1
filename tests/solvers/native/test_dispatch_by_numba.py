"""The core of the compiled engine on both roads: kernels called by titop's own calls, and through numba's (`TITOP_CALLS`)."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from titop.solvers.native import signatures

ROOT = Path(__file__).parents[3]

#: Prints which types the kernels take that a few functions are computed by, and what these say: of a system with a flexible
#: body, springs and a load, whose kernels call others by address and by name, and of a rigid one.
SCRIPT = """
import gc
import json
import warnings

import numpy as np

import titop as tt
from tests.flexible import random_body
from titop.solvers.native.kernel import Feature, Kernel, Stage

warnings.simplefilter("ignore")
rng = np.random.default_rng(1)
s = tt.System("panel on a hub", gravity=[0.2, 0.0, -1.0])
s.connect("world", tt.RigidBody("hub", 4.0, [0.1, 0.0, -0.1], [0.5, 0.6, 0.7]), tt.Free("base"))
panel = random_body(rng, "panel", 2, 1)
s.connect(s["hub"], panel, tt.Universal("gimbal", [1, 0, 0], [0, 1, 0], stiffness=3.0, damping=0.2))
s.close_loop("world", s["hub"], tt.SpringDamper("strut", stiffness=3.0, damping=0.1, length=0.2))
s.add_load(tt.Load("push", panel.port("C0"), force=[0.3, -0.2, 0.5], torque=[0.1, 0.2, 0.3], frame="world"))
m = s.resolve()
q, (v, tau) = m.random_configuration(rng), rng.normal(size=(2, m.nv))
r = tt.System("pendulum")
r.connect("world", tt.RigidBody("bob", mass=1.0, com=[0, 0.2, -1]), tt.Revolute("pivot", axis=[1, 0, 0]))
rigid = r.resolve()
arrays = np.array([0.3]), np.array([0.2])
unaligned, swapped = np.frombuffer(bytearray(b"-" + np.array([0.1]).tobytes()), offset=1), np.array([0.1], dtype=">f8")
found = {
    "forward": m.forward_dynamics(q, v, tau),
    "energy": m.energy(q, v),
    "rate": m.configuration_rate(q, v),
    "integrated": m.integrate_derivatives(q, v),
    "rigid": rigid.forward_dynamics([0.3], [0.2], [0.1]),
    "unaligned": rigid.forward_dynamics(*arrays, unaligned),
    "swapped": rigid.forward_dynamics(*arrays, swapped),
    "hybrid": rigid.hybrid_dynamics([0.3], [0.2], [0.1], [0.4], ["pivot"]),
    "jacobian": rigid.jacobian("bob", [0.3]),
}
kernels = [item for item in gc.get_objects() if isinstance(item, Kernel) and item._loaded]
stages = [item for item in gc.get_objects() if isinstance(item, Stage) and item.is_loaded]
kinds = {str(kind) for kernel in kernels for kind in (*kernel.signature.arguments, kernel.signature.result)}
kinds |= {"without" for kernel in kernels for kind in kernel.signature.arguments if not kind.given}
kinds |= {type(stage).__name__ for stage in stages}
numbers = {name: np.hstack([np.ravel(part) for part in value]).tolist() for name, value in found.items()}
print(json.dumps([sorted(kinds), numbers]))
"""

#: All that kernels take and return but single floats, which only integrators hand over: `test_calling` does.
KINDS = {str(kind) for kind in vars(signatures).values() if isinstance(kind, signatures.Type)} - {"float64"}
#: Kernels that do without some of their arguments, functions called by address, and those called by name.
KINDS |= {"without", "Stage", "Feature"}


def said(**environment: str) -> tuple[set[str], dict[str, np.ndarray]]:
    command = [sys.executable, "-c", SCRIPT]
    done = subprocess.run(command, cwd=ROOT, env={**os.environ, **environment}, capture_output=True, text=True, check=True)
    assert ("through numba" in done.stderr) == bool(environment)
    kinds, found = json.loads(done.stdout.splitlines()[-1])
    return set(kinds), {name: np.array(values) for name, values in found.items()}


@pytest.mark.long
def test_both_roads_say_the_same() -> None:
    """To rounding: LLVM may contract sums otherwise where functions are inlined otherwise.

    The roads differ in how arguments are handed over and how functions call each other, not in what kernels compute: a few
    kernels are enough that together take every type, allocate memory, and call others in both ways. Those of this road are
    compiled anew in every process, for seconds each.
    """
    (kinds, native), (dispatched, through_numba) = said(), said(TITOP_CALLS="numba")
    assert kinds == dispatched == KINDS
    assert native["rigid"] == native["unaligned"] == native["swapped"]
    for name, values in native.items():
        assert values.size
        np.testing.assert_allclose(through_numba[name], values, rtol=0, atol=1e-12 * np.abs(values).max(), err_msg=name)
