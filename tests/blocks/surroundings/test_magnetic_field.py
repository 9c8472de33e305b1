"""Magnetic fields, and dipoles that they turn."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import titop as tt
from tests.blocks.surroundings.orbiting import FIELD, in_orbit, plate, satellite
from tests.refusals import refused
from titop.blocks.basics.complex_steps import complex_step

RNG = np.random.default_rng(0)


def test_a_dipoles_field_is_minus_the_gradient_of_its_potential() -> None:
    def potential(r: Any) -> Any:
        return np.array([1e-7 * FIELD.vector @ r / np.sqrt(r @ r) ** 3])

    for place in 7e6 * RNG.normal(size=(5, 3)):
        expected = -complex_step(potential, place)[0]
        np.testing.assert_allclose(FIELD.at(place), expected, rtol=0, atol=1e-14 * np.abs(expected).max())  # few operations
        assert abs(np.trace(complex_step(FIELD.at, place))) < 1e-13 * np.abs(complex_step(FIELD.at, place)).max()  # of rounding


def test_strength_by_the_field_at_the_equator() -> None:
    earth = tt.MagneticField.dipole(3e-5, axis=[0, 0, -2.0], radius=6e6)
    np.testing.assert_allclose(earth.at([6e6, 0, 0]), [0, 0, 3e-5], rtol=1e-15)
    np.testing.assert_allclose(earth.at([0, 0, 12e6]), [0, 0, -2 * 3e-5 / 8], rtol=1e-15)
    np.testing.assert_allclose(tt.MagneticField.dipole(3e-5 * 6e6**3 / 1e-7, [0, 0, -1]).vector, earth.vector, rtol=1e-15)
    assert (tt.MagneticField.uniform([1, 2, 3]).at(np.zeros(3)) == [1, 2, 3]).all()


def test_a_dipole_swings_about_the_field_line() -> None:
    """As a compass needle does: at the frequency sqrt(m B / J), and torque m x B at any angle."""
    s, hub = plate()
    s.add_interaction(tt.ResidualDipole("needle", [2.0, 0, 0], tt.MagneticField.uniform([3e-5, 0, 0])), hub)
    m = s.resolve(engine="reference")
    poles = tt.linearize(m, (m.neutral(), np.zeros(6))).poles()
    assert np.sort(abs(poles.imag))[-4:] == pytest.approx([np.sqrt(6e-5)] * 4, rel=1e-12)  # of the roots of a double pole
    turned = m.configuration({"base": [0, 0, 0, 0, 0, np.sin(0.4), np.cos(0.4)]})
    np.testing.assert_allclose(m.forward_dynamics(turned, np.zeros(6))[3:], [0, 0, -6e-5 * np.sin(0.8)], atol=1e-20)


def test_sensitivities_and_with_parameters() -> None:
    m = satellite().resolve(engine="reference")
    q, v = in_orbit(m)
    names = ["residual.moment.x", "residual.field.z", "torquer.field.y"]
    u = {"torquer.x": 3.0, "torquer.z": -2.0}
    at_rest = m.forward_dynamics(q, 0 * v, u=u)
    for name, slope in m.forward_dynamics_sensitivities(q, 0 * v, np.zeros(m.nv), names, u=u).items():
        value = m.parameters()[name][0]
        ahead = m.with_parameters({name: 1.5 * value}).forward_dynamics(q, 0 * v, u=u)
        np.testing.assert_allclose(ahead - at_rest, 0.5 * value * slope, atol=1e-11 * np.abs(at_rest).max())  # linear in it


@pytest.mark.parametrize(
    ("make", "code", "text"),
    [
        (lambda: tt.MagneticField("quadrupole", [1, 2, 3]), "bad-field", "uniform or dipole"),
        (lambda: tt.MagneticField.uniform([1, 2]), "wrong-shape", "field.vector"),
        (lambda: tt.MagneticField.dipole(1e22, axis=[0, 0, 0]), "zero-axis", "field.axis"),
        (lambda: tt.MagneticField.dipole(3e-5, radius=0.0), "no-radius", "radius > 0"),
    ],
)
def test_wrong_fields_are_refused(make: Any, code: str, text: str) -> None:
    with pytest.raises(tt.ModelError, match=text) as caught:
        make()
    assert caught.value.code == code


def test_a_dipole_without_field() -> None:
    s, hub = plate()
    s.add_interaction(tt.ResidualDipole("residual", [1, 0, 0], None), hub)  # type: ignore[arg-type]
    error = refused(s, "reference")
    assert (error.code, error.where) == ("no-field", "residual.field")
