"""Compiling kernels: results are the same bits every time, and what would need numba later is refused."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import namedtuple

import numpy as np
import pytest

import titop as tt
from titop.blocks.laws.impact import HERTZ, impact_push
from titop.solvers.native.kernel import entry, helper
from titop.solvers.native.signatures import CUBE, REAL, VECTOR


def test_an_index_out_of_bounds_is_reported_where_numba_checks_them(tmp_path) -> None:
    script = (
        "import numpy as np\n"
        "from titop.solvers.native.kernel import entry\n"
        "from titop.solvers.native.signatures import INTEGER, REAL, VECTOR\n"
        "def pick(vector, k):\n    return vector[k]\n"
        "entry(VECTOR, INTEGER, result=REAL)(pick)(np.zeros(3), 5)\n"
    )
    environment = os.environ | {"NUMBA_BOUNDSCHECK": "1", "TITOP_CACHE_DIR": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=False)
    assert "MemoryError: " in done.stderr
    assert "index out of bounds" in done.stderr


def test_the_same_bits_on_every_run() -> None:
    s = tt.System("pair")
    arm = tt.RigidBody("arm", mass=1.0, com=[0.1, 0.2, 0.3], inertia=[1, 2, 2], ports={"tip": [1, 0, 0]})
    s.connect("world", arm, tt.Free("base"))
    s.connect(arm.port("tip"), tt.RigidBody("hand", mass=0.5, com=[0, 0.1, 0]), tt.Revolute("wrist", axis=[1, 1, 0]))
    m = s.resolve()
    rng = np.random.default_rng(0)
    q, v, tau = m.random_configuration(rng), rng.normal(size=m.nv), rng.normal(size=m.nv)
    first = m.forward_dynamics(q, v, tau)
    assert all((m.forward_dynamics(q, v, tau) == first).all() for _ in range(100))
    assert (s.resolve().forward_dynamics(q, v, tau) == first).all()
    assert (m.forward_dynamics(np.tile(q, (3, 1)), np.tile(v, (3, 1)), np.tile(tau, (3, 1))) == first).all()


def test_a_kernel_that_needs_numba_when_it_runs_is_refused() -> None:
    @entry(CUBE, result=REAL)
    def flattened(cube):
        return cube.ravel()[0]

    with pytest.raises(RuntimeError, match="numba_attempt_nocopy_reshape"):
        flattened(np.zeros((2, 3, 4)))


Numbers = namedtuple("Numbers", "x more")


def test_branches_for_absent_fields_are_dropped() -> None:
    """They could not be compiled. A field is read by its name or by its place, also of a record within a tuple."""

    @helper
    def by_name(numbers):
        return numbers.x + (numbers.more[0] if numbers.more is not None else 0.0)

    @helper
    def by_place(within):
        ((x, more), a), b, c, d = within, 2.0, 3.0, 0.0  # four at once: numba makes a tuple of them
        if more is not None:
            x += more[0]
        return x + a + b + c + d

    @entry(REAL, result=REAL)
    def asked(x):
        return by_name(Numbers(x, None)) + 10.0 * by_place((Numbers(x, None), 1.0))

    @entry(REAL, VECTOR, result=REAL)
    def told(x, more):
        return by_name(Numbers(x, more)) + 10.0 * by_place((Numbers(x, more), 1.0))

    assert asked(1.0) == 1.0 + 70.0
    assert told(1.0, np.array([100.0])) == 101.0 + 1070.0


def test_plain_functions_of_blocks_become_part_of_kernels() -> None:
    @entry(REAL, REAL, result=REAL)
    def pushed(depth, rate):
        return impact_push(depth, rate, 300.0, 0.4, 2.2) + impact_push(depth, rate, 300.0, 0.4, HERTZ)

    for depth, rate in ((0.2, 0.3), (-0.1, 0.3), (0.2, -5.0)):
        expected = sum(impact_push(depth, rate, 300.0, 0.4, exponent) for exponent in (2.2, HERTZ))
        assert pushed(depth, rate) == pytest.approx(expected, rel=1e-15, abs=0.0)  # a power of other libraries: one rounding


def test_other_plain_functions_are_refused() -> None:
    def doubled(x):
        return 2.0 * x

    @entry(REAL, result=REAL)
    def refused(x):
        return doubled(x)

    with pytest.raises(Exception, match="doubled"):
        refused(1.0)
