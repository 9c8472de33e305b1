"""Tendons and chambers in deformable bodies: closed forms of constant curvature, virtual work, both engines, bad input."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import titop as tt
from tests.tolerances import ROUNDING, ROUNDING_OF_MANY
from titop.blocks.programs.program import Program

Array = NDArray[Any]

LENGTH, RADIUS, ARM = 0.2, 0.02, 0.015
DOMAIN = tt.Domain.cylinder(RADIUS, LENGTH, along=4, around=4, outwards=1)
BENDING = tt.Kinematics.constant_curvature(LENGTH, elongation=True)
STRAIGHT = [[ARM, 0.0, 0.0], [ARM, 0.0, LENGTH]]


def body(name: str = "body") -> tt.SoftBody:
    return tt.SoftBody(name, BENDING, DOMAIN, 1000.0, tt.Material.neo_hookean(1e5, 0.4, 10.0))


def arm(*interactions: Callable[[list[tt.SoftBody]], tt.Interaction]) -> tt.System:
    """Return two segments that hang, with interactions made for them."""
    s, bodies = tt.System("arm", gravity=[0, 0, 9.81]), [body("lower"), body("upper")]
    s.connect("world", bodies[0], tt.Weld("base"))
    s.connect(bodies[0].port("tip"), bodies[1], tt.Weld("joint"))
    for make in interactions:
        s.add_interaction(make(bodies))
    return s


def pulled() -> tt.System:
    return arm(
        lambda bodies: tt.SoftTendon("tendon", bodies, STRAIGHT),
        lambda bodies: tt.SoftChamber("chamber", bodies[1], tt.Domain.cylinder(0.005, LENGTH), max_pressure=1e5),
    )


def test_a_tendon_beside_a_circle_is_shorter_by_its_arm_times_the_angle() -> None:
    """Of sections that stay plane and square to the centre line, whatever that is; the elongation adds to all lengths."""
    tendon = tt.SoftTendon("t", [body("a"), body("b")], STRAIGHT)
    q = np.array([0.7, 0.01, -0.4, 0.02])
    expected = 2 * LENGTH + 0.03 - ARM * (0.7 - 0.4)
    np.testing.assert_allclose(tendon.measure(q), expected, **ROUNDING)
    np.testing.assert_allclose(tendon.path.gradient(q), [-ARM, 1.0, -ARM, 1.0], **ROUNDING)
    stacked = tendon.measure(np.array([q, 0.0 * q]))
    np.testing.assert_allclose(stacked, [expected, 2 * LENGTH], **ROUNDING)


def test_a_curve_may_be_a_function() -> None:
    """A helix on a straight body: its length is that of an unrolled line; many Gauss points make it exact to rounding."""
    turns = 1.5

    def helix(s: Any) -> list[Any]:
        return [ARM * np.cos(2 * np.pi * turns * s), ARM * np.sin(2 * np.pi * turns * s), LENGTH * s]

    tendon = tt.SoftTendon("t", body(), helix, points=30)
    np.testing.assert_allclose(tendon.measure(np.zeros(2)), np.hypot(LENGTH, 2 * np.pi * turns * ARM), **ROUNDING)


def test_a_chamber_along_the_axis_grows_with_the_elongation() -> None:
    """Sections keep their area: its volume is the area times the length, bent or not; beside the axis bending opens it."""
    area = np.pi * 0.005**2
    chamber = tt.SoftChamber("c", body(), tt.Domain.cylinder(0.005, LENGTH))
    np.testing.assert_allclose(chamber.measure(np.array([0.9, 0.05])), area * (LENGTH + 0.05), rtol=1e-12)
    beside = tt.SoftChamber("c", body(), tt.Domain.cylinder(0.005, LENGTH).placed(tt.Pose([ARM, 0.0, 0.0])))
    np.testing.assert_allclose(beside.measure(np.array([0.9, 0.05])), area * (LENGTH + 0.05 - 0.9 * ARM), rtol=1e-12)


def test_derivatives_of_the_measure() -> None:
    """Against complex steps; the second derivatives of a length beside a bend do not vanish for a slanting curve."""
    slanting = tt.SoftTendon("t", body(), [[ARM, 0.0, 0.0], [-ARM, 0.01, LENGTH]])
    q, step = np.array([0.6, 0.03]), 1e-30
    gradient = [np.imag(slanting.measure(q + 1j * step * e)) / step for e in np.eye(2)]
    hessian = [np.imag(slanting.path.gradient(q + 1j * step * e)) / step for e in np.eye(2)]
    np.testing.assert_allclose(slanting.path.gradient(q), gradient, **ROUNDING)
    np.testing.assert_allclose(slanting.path.hessian(q), hessian, **ROUNDING)
    assert np.abs(slanting.path.hessian(q)).max() > 1e-3


FUNCTIONS: dict[str, Callable[[tt.Model, Array, Array, Array], Any]] = {
    "forward dynamics": lambda m, q, v, u: m.forward_dynamics(q, v, u=u),
    "derivatives": lambda m, q, v, u: np.hstack(m.forward_dynamics_derivatives(q, v, u=u)[:2]),
    "actuation matrix": lambda m, q, v, u: m.actuation_matrix(q),
    "readings": lambda m, q, v, u: (
        tt.linearize(
            m, tt.OperatingPoint(m, q, v, u=u), outputs=["tendon.length", "tendon.rate", "chamber.volume", "chamber.rate"]
        ).C
    ),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_engines_agree(name: str) -> None:
    q, v, u = np.array([0.7, 0.01, -0.4, 0.02]), np.array([1.0, 0.1, -2.0, 0.2]), np.array([3.0, 2e4])
    found, expected = (FUNCTIONS[name](m, q, v, u) for m in (pulled().resolve(), pulled().resolve(engine="reference")))
    scale = np.abs(expected).max()
    np.testing.assert_allclose(found / scale, expected / scale, **ROUNDING_OF_MANY)


def test_readings_run_machine_code(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of sensors and of linear models; both engines agree, and only the reference's interprets programs."""
    s = pulled()
    s.add_sensor(tt.TendonSensor("sensor", "tendon"))
    models = [s.resolve(), s.resolve(engine="reference")]
    q, v = np.array([[0.7, 0.01, -0.4, 0.02], [0.1, 0.0, 0.3, -0.01]]), np.array([[1.0, 0.1, -2.0, 0.2], [0.0, 1.0, 0.0, 0.0]])
    expected = models[1].outputs(q, v, 0 * v)
    tendon: Any = models[0].mechanism.assembly.loops[0].closure
    hessian = tendon.path.hessian(q[0])

    def refuse(*_: Any) -> None:
        raise AssertionError

    monkeypatch.setattr(Program, "evaluate", refuse)
    np.testing.assert_allclose(models[0].outputs(q, v, 0 * v), expected, **ROUNDING)
    found = models[0].mechanism.engine.observations.line_curvature(tendon, q[0])
    np.testing.assert_allclose(found, hessian, **ROUNDING)
    with pytest.raises(AssertionError):
        models[1].outputs(q, v, 0 * v)


def test_power() -> None:
    """What inputs do is minus tension times the rate of the length, and pressure times that of the volume."""
    m = pulled().resolve()
    tendon, chamber = (loop.closure for loop in m.mechanism.assembly.loops)
    assert isinstance(tendon, tt.SoftTendon)
    assert isinstance(chamber, tt.SoftChamber)
    q, v, u = np.array([0.7, 0.01, -0.4, 0.02]), np.array([1.0, 0.1, -2.0, 0.2]), np.array([3.0, 2e4])
    expected = -u[0] * tendon.rate(q, v) + u[1] * chamber.rate(q[2:], v[2:])
    np.testing.assert_allclose(v @ m.actuation_matrix(q) @ u, expected, **ROUNDING)


def test_a_hard_pull_is_held() -> None:
    """On the way Newton's steps turn the material inside out, where its energy is no number: they are cut short."""
    s = arm(lambda bodies: tt.SoftTendon("tendon", bodies, STRAIGHT))
    s.gravity = np.array([0, 0, -9.81])
    m = s.resolve()
    point = tt.trim(m, u={"tendon.tension": 150.0})
    assert point.stability == "stable"
    efforts = m.inverse_dynamics(point.q, point.v, np.zeros(m.nv), u=point.u)
    assert np.abs(efforts).max() < 1e-6 * 150.0 * ARM  # a millionth of the tension's moment


def test_bad_input() -> None:
    rod = tt.Rod("rod", 0.2, tt.Section.circle(0.01), 1e6, 1000.0)
    cases = {
        "not-a-soft-body": lambda: tt.SoftTendon("t", rod, STRAIGHT),
        "wrong-shape": lambda: tt.SoftTendon("t", body(), [[0.0, 0.0, 0.0]]),
        "no-length": lambda: tt.SoftTendon("t", body(), [[0.0, 0.0, 0.1], [0.0, 0.0, 0.1]]),
        "wrong-count": lambda: tt.SoftTendon("t", [body("a"), body("b")], [STRAIGHT] * 3),
        "bad-curve": lambda: tt.SoftTendon("t", body(), lambda s: [0.0, 0.0, float(np.real(s))]),
        "wrong-type": lambda: tt.SoftChamber("c", body(), "cylinder"),
        "no-surface": lambda: tt.SoftChamber("c", body(), tt.Domain(DOMAIN.points, DOMAIN.volumes)),
        "bad-limits": lambda: tt.SoftTendon("t", body(), STRAIGHT, max_tension=-1.0),
    }
    for code, make in cases.items():
        errors, _ = make().check()
        assert [finding.code for finding in errors] == [code]


def test_a_body_of_another_system_is_refused() -> None:
    s = arm(lambda bodies: tt.SoftTendon("t", body("elsewhere"), STRAIGHT))
    with pytest.raises(tt.ModelError, match="foreign-target"):
        s.resolve()
