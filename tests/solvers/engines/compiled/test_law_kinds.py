"""Machine code of programs is found by what they are derived from: by other processes, and not after a change."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

import titop as tt
from titop.solvers.engines.compiled.law_kinds import interaction_codes, program_codes

#: Prints which programs a process derives before its first answers, given a bulk modulus.
SCRIPT = """
import sys, numpy as np, titop as tt
from titop.blocks.bodies.soft.law_programs import LawPrograms
from titop.blocks.bodies.soft.line_programs import LinePrograms
K, derived = tt.Kinematics, []
for cls in (LawPrograms, LinePrograms):
    for name in cls.ORDER:
        plain = vars(cls)[name].func
        vars(cls)[name].func = lambda self, plain=plain, name=name: derived.append(name) or plain(self)
bulk = float(sys.argv[1])
def energy(F, numbers):
    return 1e4 * np.sum(F * F) - 2e4 * np.log(tt.Material.determinant(F)) + bulk * np.log(tt.Material.determinant(F)) ** 2
kinematics = K.elongation(lambda z: 1.0).then(K.planar_bending(lambda z: z))
body = tt.SoftBody("body", kinematics, tt.Domain.cylinder(0.01, 0.1), 1000.0, tt.Material(energy, {}))
s = tt.System("s")
s.connect("world", body, tt.Weld("weld"))
s.add_interaction(tt.SoftTendon("tendon", body, [[0.005, 0, 0], [0.005, 0, 0.1]]))
m = s.resolve()
q = np.array([0.1, 2.0])
m.forward_dynamics(q, q, q, u=[1.0])
m.forward_dynamics_derivatives(q, q, q, u=[1.0])
print(*derived)
"""


def derived(bulk: float) -> list[str]:
    done = subprocess.run([sys.executable, "-c", SCRIPT, str(bulk)], capture_output=True, text=True, check=True)
    return done.stdout.split()


@pytest.mark.long
def test_later_processes_derive_nothing() -> None:
    """But the length of a tendon at rest, to check it. Another number in an energy is another law, but not another line."""
    derived(1e4)
    assert derived(1e4) == ["measure"]
    changed = derived(1e4 * (1.0 + 1e-9 * os.getpid()))
    assert {"terms", "resistance_slopes"}.issubset(changed)
    assert "curvature" not in changed


def test_names_of_programs() -> None:
    """Each has its own; a line in two bodies has those of both."""
    bodies = [
        tt.SoftBody(f"b{k}", tt.Kinematics.constant_curvature(0.1 + k), tt.Domain.cylinder(0.01, 0.1), 1000.0) for k in range(2)
    ]
    codes = [code for body in bodies for code in program_codes(body)]
    codes += interaction_codes(tt.SoftTendon("tendon", bodies, [[0.005, 0, 0], [0.005, 0, 0.1]]))
    names = {code.address and code.name for code in codes}
    assert len(names) == len(codes) == 2 * 11 + 2 * 2
    assert program_codes(tt.RigidBody("rigid", 1.0)) == []
