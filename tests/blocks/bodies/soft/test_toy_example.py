"""Key P's toy example: its closed forms, corrected, derived again by sympy; the body against both.

A cylinder with L = R = rho = 1 of constant curvature, its frame S at the tip. F, T and pi are the inertial force, torque about
the centre of mass and inertial effort within S, all in S. With the torque about the origin of S, ``T + p x F``, the effort of
all of it is ``-pi - dv F - dw (T + p x F)`` (key P, (34) and (38)).
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pytest
import sympy as sp

import titop as tt

q, rate, acceleration = sp.symbols("q qd qdd", real=True)
c, s = sp.cos(q), sp.sin(q)
F_X = -sp.pi * (acceleration * (q**2 * (1 + c) - 2 * q * s) + rate**2 * (6 * s - 4 * q - 2 * q * c)) / q**4
F_Z = -sp.pi * (acceleration * (2 * q - 2 * q * c - q**2 * s) + rate**2 * (q**2 - 6 + 6 * c + 2 * q * s)) / q**4
T_Y = sp.pi * (
    acceleration * (sp.Rational(1, 8) + 1 / (2 * q**2) - (1 - c) / q**4)
    + rate**2 * (4 / q**5 - 1 / q**3 - 4 * c / q**5 - s / q**4)
)
PI = sp.pi * (
    acceleration * (sp.Rational(1, 24) + 1 / (6 * q**2) - (3 + c) / q**4 + 4 * s / q**5)
    + rate**2 * (8 / q**5 - 2 / (3 * q**3) + 2 * c / q**5 - 10 * s / q**6)
)
#: Key P's projectors: dv (x and z) and dw (y).
VELOCITY, SPIN = ((c - 1) / q**2, (q - s) / q**2), -1
#: Where closed forms keep enough digits: their terms cancel like q^4.
STATES = [(0.7, 0.3, -1.2), (-2.0, 1.5, 0.4), (3.0, -0.7, 2.0)]
#: Of numbers of size one, after that cancellation.
CLOSE = 1e-12


def kinematics(x: Any, angle: Any) -> Any:
    """Return key P's kinematics, bent towards -x; no division by q."""
    turn = angle[0] * x[2]
    return [
        -x[2] * turn * tt.Kinematics.cosc(turn) + x[0] * np.cos(turn),
        x[1],
        x[2] * tt.Kinematics.sinc(turn) + x[0] * np.sin(turn),
    ]


def body(material: Any = None, length_points: int = 12) -> tt.SoftBody:
    """Return the body; twelve Gauss points integrate its sines to rounding."""
    domain = tt.Domain.cylinder(1.0, 1.0, along=length_points)
    made = tt.SoftBody("toy", kinematics, domain, 1.0, material, coordinates=("q",), units=("rad",))
    assert not made.reader.findings
    return made


@functools.cache
def derived() -> tuple[Any, ...]:
    """Return F_x, F_z, T_y and the effort by integrating accelerations over the cylinder."""
    x1, x3 = sp.symbols("x1 x3", real=True)
    angle = q * x3
    place = sp.Matrix([(sp.cos(angle) - 1) / q + x1 * sp.cos(angle), sp.sin(angle) / q + x1 * sp.sin(angle)])
    slope = place.diff(q)
    change = acceleration * slope + rate**2 * slope.diff(q)

    def over_volume(integrand: Any) -> Any:
        """Integrate: of powers of x1 the disc leaves pi, 0 and pi/4."""
        powers = sp.Poly(sp.expand(integrand), x1).all_coeffs()[::-1]
        section = sum(moment * power for moment, power in zip((sp.pi, 0, sp.pi / 4), powers, strict=False))
        return sp.integrate(sp.expand(section), (x3, 0, 1), conds="none")

    force = change.applyfunc(over_volume)
    center = place.applyfunc(over_volume) / sp.pi
    moment = over_volume(place[1] * change[0] - place[0] * change[1]) - (center[1] * force[0] - center[0] * force[1])
    effort = over_volume((slope.T * change)[0])
    in_tip = sp.Matrix([[c, s], [-s, c]]) * force  # S has x axis (cos q, sin q) and z axis (-sin q, cos q) in the plane
    p = sp.Matrix([[c, s], [-s, c]]) * (center - place.subs({x1: 0, x3: 1}))
    return -in_tip[0], -in_tip[1], -moment, effort, p


def value(expression: Any, state: tuple[float, float, float]) -> float:
    numbers = dict(zip((q, rate, acceleration), map(sp.Float, map(str, state), [40] * 3), strict=True))
    return float(sp.N(expression.subs(numbers), 40))


@pytest.mark.parametrize("state", STATES)
def test_the_corrected_closed_forms_are_the_integrals(state: tuple[float, float, float]) -> None:
    """Of forces and torques by themselves, and of the effort that all three make up."""
    for printed, integral in zip((F_X, F_Z, T_Y), derived()[:3], strict=True):
        assert value(printed, state) == pytest.approx(value(integral, state), rel=1e-14, abs=1e-14)
    assert value(effort_by_parts(), state) == pytest.approx(value(derived()[3], state), rel=1e-14)


def effort_by_parts() -> Any:
    p = derived()[4]
    return -PI - VELOCITY[0] * F_X - VELOCITY[1] * F_Z - SPIN * (T_Y + p[1] * F_X - p[0] * F_Z)


@pytest.mark.parametrize("state", STATES)
def test_the_body_has_these_efforts(state: tuple[float, float, float]) -> None:
    toy = body()
    position, velocity, change = (np.array([entry]) for entry in state)
    found = toy.mass_matrix(position)[6:, 6:] @ change + toy.gyroscopic(position, velocity, np.zeros(6))[6:]
    assert found[0] == pytest.approx(value(effort_by_parts(), state), rel=CLOSE, abs=CLOSE)
    # F and T too: what the clamp has to hold, without the effort
    held = toy.mass_matrix(position)[:6, 6:] @ change + toy.gyroscopic(position, velocity, np.zeros(6))[:6]
    rotation, _ = toy.pose("tip", position)
    np.testing.assert_allclose(rotation.T @ -held[:3], [value(F_X, state), 0.0, value(F_Z, state)], atol=CLOSE)
    about_center = held[3:] - np.cross(center_of(toy, position), held[:3])
    np.testing.assert_allclose(rotation.T @ -about_center, [0.0, value(T_Y, state), 0.0], atol=CLOSE)


def center_of(toy: tt.SoftBody, position: Any) -> Any:
    return toy.domain.volumes @ toy.positions(position) / toy.domain.volumes.sum()


def test_the_mass_that_the_facts_state() -> None:
    assert body().mass_matrix(np.array([0.7]))[6, 6] == pytest.approx(0.41585, abs=5e-6)


def test_few_points_do_not_reach_the_closed_forms() -> None:
    """Negative control: two Gauss points along the body are off by thousandths."""
    masses = [body(length_points=count).mass_matrix(np.array([3.0]))[6, 6] for count in (2, 12, 14)]
    assert abs(masses[0] / masses[1] - 1) > 1e-3
    assert masses[2] == pytest.approx(masses[1], rel=1e-13)


@pytest.mark.parametrize("angle", [0.7, -2.0, 1e-3, 0.0])
def test_gravity(angle: float) -> None:
    """Along -z: the effort is the slope of ``g int z dm = pi g (1 - cos q) / q^2``, which key P prints as -pi^g."""
    rig = tt.System("rig", gravity=[0, 0, -9.81])
    rig.connect("world", body(), joint=tt.Weld("clamp"))
    found = rig.resolve(engine="reference").gravity_effects(np.array([angle]))[0]
    exact = value((q * s + 2 * c - 2) / q**3, (angle, 0, 0)) if angle else 0.0
    assert found == pytest.approx(np.pi * 9.81 * exact, rel=1e-11, abs=1e-12)


@pytest.mark.parametrize("angle", [0.7, -0.4, 0.0])
def test_elasticity_of_the_printed_law_gives_half_pi(angle: float) -> None:
    """``C (tr B - 3)`` is ``C pi q^2 / 4`` here, and the effort ``C pi q / 2``; key P prints ``pi q / 4``."""
    law = tt.Material(lambda F: 3.0 * (np.sum(F * F) - 3.0))
    found = body(law).passive_efforts(np.array([angle]), np.zeros(1))[0]
    assert found == pytest.approx(-3.0 * np.pi * angle / 2, rel=CLOSE, abs=CLOSE)


def test_the_incompressible_law_is_refused_there() -> None:
    made = tt.SoftBody(
        "toy", kinematics, tt.Domain.cylinder(1.0, 1.0), 1.0, tt.Material.incompressible_neo_hookean(3.0), coordinates=("q",)
    )
    assert [finding.code for finding in made.reader.findings] == ["changes-volume"]
