"""Laws in plain Python among compiled ones."""

from __future__ import annotations

import numpy as np

import titop as tt
from examples.diver import Hull
from tests.flexible import unit_beam
from tests.solvers.engines.compiled.instrumented import instrumented
from tests.solvers.kernels.laws.belts import CompiledBelt, PythonBelt
from tests.systems import random_state
from tests.tolerances import ROUNDING_OF_MANY


class Buoyant(Hull):
    """A hull that floats and drags; what acts on it is told in Python."""


def test_python_tells_what_acts_on_its_blocks() -> None:
    s = tt.System("float", gravity=[0, 0, -9.81])
    hull = Buoyant("hull", 2.0, [0.1, 0, 0], [0.1, 0.2, 0.2], ports={"eye": [0.3, 0, 0]})
    s.connect("world", hull, tt.Free("sea"))
    s.connect(hull.port("eye"), unit_beam("keel", modes=1), tt.Revolute("hinge", axis=[0, 1, 0], damping=0.1))
    model, reference = s.resolve(), s.resolve("reference")
    rng = np.random.default_rng(0)
    q, v = (np.array(x) for x in zip(*[random_state(model, rng)[:2] for _ in range(2)], strict=True))
    expected = reference.passive_efforts(q, v)
    np.testing.assert_allclose(model.passive_efforts(q, v), expected, **ROUNDING_OF_MANY)
    np.testing.assert_allclose(model.passive_efforts(q[0], v[0]), expected[0], **ROUNDING_OF_MANY)
    assert np.abs(expected[:, :6]).max() > 0.1  # the water's


def test_interactions_in_python_read_the_same() -> None:
    compiled, python = (instrumented("beam", belt).resolve() for belt in (CompiledBelt, PythonBelt))
    q, v, a, _ = random_state(compiled, np.random.default_rng(2))
    u = np.linspace(-1.0, 1.0, compiled.nu)
    np.testing.assert_allclose(python.outputs(q, v, a, u=u), compiled.outputs(q, v, a, u=u), **ROUNDING_OF_MANY)
    np.testing.assert_allclose(python.actuation_matrix(q), compiled.actuation_matrix(q), **ROUNDING_OF_MANY)
