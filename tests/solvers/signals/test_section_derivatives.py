"""Strains and wrenches of sections as outputs of linear models, against differences; gauges on rods."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import titop as tt
from tests.solvers.model.test_sections import robot, state

INPUTS = ["drive", "jet", "hand.E"]
OUTPUTS = ["rod.mid.strain", "rod.mid.section", "rod.section", "hinge.reaction"]
#: Steps of central differences, whose error is their square times third derivatives of order 100; rounding is 1e-10.
STEP, CLOSE = 1e-4, 3e-5


def read(model: tt.Model, q, v, tau, u, wrench):
    a = model.forward_dynamics(q, v, tau, {"hand.E": wrench}, u=u)
    acting = {"hand.E": wrench}, u, tau
    return np.concatenate(
        [
            model.section_strains("rod", [0.33], q)[0],
            *model.section_wrenches("rod", [0.33, 0.0], q, v, a, *acting),
            model.reaction("hinge", q, v, a, *acting),
        ]
    )


@pytest.mark.parametrize("closed", [False, True])
def test_derivatives_are_those_of_values(closed: bool) -> None:
    """Along one direction of everything at once."""
    model = robot(closed=False, strains="kirchhoff", basis=1)
    q, v, _ = state(model)
    if closed:
        model = robot(closed=True, strains="kirchhoff", basis=1)
        q, v = model.assemble(model.neutral()), np.zeros(model.nv)
    u = np.array([0.3, 0.2])
    point = tt.OperatingPoint(model, q, v, u=u)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tt.ModelWarning)  # no equilibrium
        system = tt.linearize(model, point, INPUTS, OUTPUTS)
    nu = 8
    rng = np.random.default_rng(5)
    dz = rng.normal(size=nu)
    if closed:
        dq = dv = np.zeros(model.nv)
        slope = system.D @ dz
    else:
        dq, dv = rng.normal(size=(2, model.nv))
        slope = system.C @ np.r_[dq, dv] + system.D @ dz

    def at(h: float):
        return read(model, model.integrate(q, h * dq), v + h * dv, np.zeros(model.nv), u + h * dz[:2], h * dz[2:])

    expected = (at(STEP) - at(-STEP)) / (2 * STEP)
    np.testing.assert_allclose(slope, expected, rtol=CLOSE, atol=CLOSE * np.abs(expected).max())
    np.testing.assert_allclose(slope[12:18], slope[18:24], atol=1e-9 * np.abs(slope).max())  # the base's are the reaction's
    assert np.abs(slope[6:12]).max() > 1


def test_sections_in_closed_loops_as_their_values() -> None:
    """By the states of a closed loop, although a rod that is cut is integrated in other steps: the tip moves by a millionth."""
    model = robot(closed=True, strains="kirchhoff", basis=1)
    q, rest = model.assemble(model.neutral()), np.zeros(model.nv)
    independent = ["rod.torsion0", "rod.torsion1", "rod.bending_y1", "rod.bending_z1", "wrist"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tt.ModelWarning)  # no equilibrium
        system = tt.linearize(model, tt.OperatingPoint(model, q, rest), INPUTS, OUTPUTS[1:], independent=independent)
    direction = np.random.default_rng(0).normal(size=5)
    places = [model.coordinate_names.index(name) for name in independent]

    def at(h: float):
        moved = q.copy()
        moved[places] += h * direction
        moved = model.assemble(moved, fixed=independent)
        return read(model, moved, rest, rest, np.zeros(2), np.zeros(6))[6:]

    step = 1e-3
    expected = (8 * (at(step) - at(-step)) - at(2 * step) + at(-2 * step)) / (12 * step)
    # fourth-order differences: loops close to 1e-12 or better, over the step 1e-9 of stiffnesses
    np.testing.assert_allclose(system.C[:, :5] @ direction, expected, atol=1e-8 * np.abs(expected).max())


def test_gauges() -> None:
    for engine in ("compiled", "reference"):
        s = tt.System("gauged", gravity=[0, 0, 0])
        rod = tt.Rod("rod", 1.0, tt.Section.circle(0.02), 1e6, 1000.0, basis=1, ports={"g": 0.25})
        s.connect("world", rod, tt.Weld("clamp"))
        s.add_sensor(tt.StrainGauge("gauge", rod.port("g")))
        model = s.resolve(engine)
        assert model.output_names[:3] == ("gauge.torsion", "gauge.bending_y", "gauge.bending_z")
        assert model.output_units == ("rad/m",) * 3 + ("1",) * 3
        q, rest = np.arange(6.0), np.zeros(6)
        read = model.outputs(q, rest, rest)
        np.testing.assert_allclose(read[:3], [0 - 0.5 * 1, 2 - 0.5 * 3, 4 - 0.5 * 5], atol=1e-14)  # P0 = 1, P1 = -1/2 there
        longer = model.with_parameters({"rod.length": 2.0})
        np.testing.assert_allclose(longer.outputs(q, rest, rest), 0.5 * read, atol=1e-14)  # it stretches along
        at_rest = tt.OperatingPoint(model, 0 * q)
        system = tt.linearize(model, at_rest, ["rod.tip.F"], ["gauge.bending_z"])
        np.testing.assert_allclose(system.C[0], [0, 0, 0, 0, 1, -0.5, *[0] * 6], atol=1e-14)


def test_gauges_stick_to_rods() -> None:
    s = tt.System("gauged")
    body = tt.RigidBody("body", 1.0, inertia=1.0)
    s.connect("world", body, tt.Revolute("hinge"))
    s.add_sensor(tt.StrainGauge("gauge", body))
    with pytest.raises(tt.ModelError, match=r"gauge.target: got body; expected a port of a tt.Rod"):
        s.resolve()


def test_only_sections_of_rods_have_names() -> None:
    model = robot()
    with pytest.raises(tt.ModelError, match=r"hand\.E\.strain"):
        tt.linearize(model, model.neutral(), ["drive"], ["hand.E.strain"])
