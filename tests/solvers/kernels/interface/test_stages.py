"""The stages of general blocks: contracted slopes, and what Python is asked for."""

from __future__ import annotations

from typing import Any

import numpy as np

import titop as tt
from examples.custom_block import ConstantCurvatureSegment
from tests.flexible import random_body
from tests.solvers.kernels.interface.flexible_states import Array, error, state

STEP = 1e-30


class Interpreted(tt.FlexibleBody):
    """A flexible body that answers through Python, since it has a function of its own."""

    def passive_efforts(self, q: Array, v: Array) -> Array:
        """Return the same."""
        return super().passive_efforts(q, v)


def mixed() -> tt.System:
    """Return a chain of a beam and a flexible body in Python, with loads on all ports and on their frames."""
    s, rng = tt.System("mixed", gravity=[0.4, 0, -9.81]), np.random.default_rng(5)
    beam = tt.Beam("boom", length=0.8, density=2700, area=1e-2, young=1e4, iy=1e-5, iz=2e-5)
    body = random_body(rng, "near")
    body.__class__ = Interpreted
    s.connect("world", beam, tt.Spherical("ball"))
    s.connect(beam.port("C"), body, tt.Revolute("hinge", axis=[0, 1, 1]))
    s.connect(body.port("C0"), tt.RigidBody("tip", 0.5, [0.1, 0.2, 0], 0.02), tt.Prismatic("slide", axis=[1, 1, 0]))
    for k, ref in enumerate((beam.port("C"), body.port("C0"), body.port("C1"), beam.port(None), body.port(None))):
        for frame in ("world", "port"):
            s.add_load(tt.Load(f"{frame}{k}", ref, force=rng.normal(size=3), torque=rng.normal(size=3), frame=frame))
    return s


def test_contracted_slopes_are_those_of_the_reference() -> None:
    model, reference = mixed().resolve(), mixed().resolve("reference")
    assert not model.mechanism.engine.is_compiled
    q, v, a = state(model, 3)
    found = model.inverse_dynamics_derivatives(q, v, a)
    steps = 1j * STEP * np.eye(model.nv)
    turned = [reference.integrate(q, step) for step in steps]
    expected = [
        np.array([reference.inverse_dynamics(at, v, a).imag / STEP for at in turned]).T,
        np.array([reference.inverse_dynamics(q, v + step, a).imag / STEP for step in steps]).T,
        reference.mass_matrix(q),
    ]
    for ours, exact in zip(found, expected, strict=True):  # both exact to rounding, as are the reference's own slopes
        assert error(ours, exact) < 1e-11


def test_python_is_asked_once_a_state() -> None:
    asked = []

    class Counting(ConstantCurvatureSegment):
        def law(self, q: Array, v: Array, twist: Array) -> Any:
            asked.append("law")
            return super().law(q, v, twist)

        def law_slopes(self, q: Array, v: Array, twist: Array, x: Array) -> Any:
            asked.append("slopes")
            return super().law_slopes(q, v, twist, x)

    s = tt.System("one")
    s.connect(
        "world", Counting("segment", 0.4, 0.03, 1000.0, stiffness=3.0, damping=0.01), tt.Revolute("hinge", axis=[0, 1, 0])
    )
    model = s.resolve()
    q, v, x = state(model, 0)
    for function, expected in (
        (model.forward_dynamics, ["law"]),
        (model.inverse_dynamics, ["law"]),
        (model.inverse_dynamics_derivatives, ["law", "slopes"]),
        (model.forward_dynamics_derivatives, ["law", "slopes"]),
    ):
        asked.clear()
        function(q, v, x)
        assert asked == expected


FUNCTIONS = "forward_dynamics", "inverse_dynamics", "forward_dynamics_derivatives", "inverse_dynamics_derivatives"
