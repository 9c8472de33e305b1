"""No unit of length, mass or time enters the derivatives of a block of one's own.

The block is a hinged lever whose coordinate is the deflection of its tip: a sine of the angle that a revolute joint would have,
so that all follows in closed form.
"""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import titop as tt
from titop.blocks.checking.block_findings import law_findings
from titop.blocks.checking.complex_safety import is_complex_safe
from titop.blocks.contract import coordinates

Array = NDArray[np.float64]

#: Twelve decades of length, mass and time.
DECADES = 10.0 ** np.arange(-6.0, 7.0, 2.0)
#: Second derivatives by differences of exact first ones leave 1e-13, of differences 1e-11.
ACCURACY = 1e-10


class Lever(tt.Block):
    """A massive lever of a length (m), hinged about z at its base; coordinate: how far its tip is off the x axis (m)."""

    coordinates, ports = ("deflection",), ("C",)

    def __init__(self, name: str, length: float, mass: float, rate: float) -> None:
        super().__init__(name)
        self.length, self.mass, self.stiffness = length, mass, 3.0 * mass * rate**2

    def cosine(self, sine: Any) -> Any:
        return np.sqrt(1.0 - sine * sine)

    def pose(self, port: str, q: Array) -> tuple[Array, Array]:
        s, z = q[0] / self.length, 0 * q[0]
        c = self.cosine(s)
        return np.array([[c, -s, z], [s, c, z], [z, z, 1.0 + z]]), self.length * np.array([c, s, z])

    def mass_matrix(self, q: Array) -> Array:
        """A point mass at the tip, and a small wheel there that turns with the lever."""
        s = q[0] / self.length
        c, z = self.cosine(s), 0 * s
        lever = self.length * np.array([c, s, z])
        cross = np.array([[z, -z, lever[1]], [z, z, -lever[0]], [-lever[1], lever[0], z]])
        moves = np.hstack([np.eye(3), cross, np.array([[-s / c], [1 + z], [z]])])
        turns = np.hstack([np.zeros((3, 3)), np.eye(3), np.array([[z], [z], [1 / (self.length * c)]])])
        return self.mass * (moves.T @ moves + 0.1 * self.length**2 * turns.T @ turns)

    def elastic_energy(self, q: Array) -> Any:
        return 0.5 * self.stiffness * q[0] ** 2


class RealLever(Lever):
    """Loses imaginary parts."""

    def cosine(self, sine: Any) -> Any:
        return np.sqrt(1.0 - np.real(sine) ** 2)


def closed_form(lever: Lever, q: float, v: float, a: float, gravity: float, tip: float) -> float:
    """Return the effort on the deflection, by the angle ``asin(q / L)``; gravity pulls along -y."""
    length = lever.length
    s = q / length
    c = np.sqrt(1 - s * s)
    rate = v / (length * c)
    acceleration = (a / length + s * rate**2) / c
    inertia = (1.1 * lever.mass + 1.1 * tip) * length**2
    torque = inertia * acceleration + (lever.mass + tip) * gravity * length * c
    return torque / (length * c) + lever.stiffness * q


def model(lever: Lever, gravity: float, tip: float, engine: str) -> tt.Model:
    """Return the lever on the world, with a body of the same kind as its own mass at the tip."""
    s = tt.System("lever", gravity=[0, -gravity, 0])
    s.connect("world", tt.RigidBody("tip", tip, inertia=0.1 * tip * lever.length**2), lever)
    return s.resolve(engine)


def error(cls: type[Lever], length: float, mass: float, rate: float, engine: str = "compiled") -> float:
    """Return the relative error of the effort at a fast motion."""
    lever = cls("lever", length, mass, rate)
    q, v, a, gravity, tip = 0.6 * length, 2.0 * length * rate, -3.0 * length * rate**2, 4.0 * length * rate**2, 0.7 * mass
    with pytest.warns(tt.ModelWarning, match="not-complex-safe") if cls is RealLever else nullcontext():
        found = model(lever, gravity, tip, engine).inverse_dynamics([q], [v], [a])[0]
    expected = closed_form(lever, q, v, a, gravity, tip)
    return abs(found - expected) / abs(expected)


@pytest.mark.parametrize("cls", [Lever, RealLever])
def test_dynamics_over_twelve_decades(cls: type[Lever]) -> None:
    for size in DECADES:
        for length, mass, rate in ((size, 1.0, 1.0), (1.0, size, 1.0), (1.0, 1.0, size), (size, size**3, 1 / size)):
            assert error(cls, length, mass, rate) < ACCURACY, (length, mass, rate)
    assert error(cls, 1e-3, 1e-6, 1e3, "reference") < ACCURACY


def test_steps_of_a_fixed_length_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    stencil = ((1, 3 / 4), (2, -3 / 20), (3, 1 / 60))

    def fixed(function: Any, _: float) -> Any:
        return sum(weight * (function(k * 2e-3) - function(-k * 2e-3)) for k, weight in stencil) / 2e-3

    def rate(length: float) -> Array:
        """The rate of the motion subspace, in units of the length."""
        lever = Lever("lever", length, 1.0, 1.0)
        return lever.subspace_rate("C", np.array([0.6 * length]), np.array([2.0 * length])) / ([length] * 3 + [1.0] * 3)

    expected = rate(1.0)
    assert np.abs(rate(1.6e-2) - expected).max() < ACCURACY
    monkeypatch.setattr(coordinates, "derivative", fixed)
    assert np.abs(rate(1.0) - expected).max() < 1e-9
    assert np.abs(rate(1.6e-2) - expected).max() > 1e-3


def test_declared_scales_are_taken() -> None:
    lever = Lever("lever", 1e-3, 1.0, 1.0)
    assert lever.steps[0] == pytest.approx(1e-5, rel=0.9)  # found: a hundredth of its length, more or less
    lever.forget_steps()
    lever.coordinate_scales = (1e-3,)
    assert lever.steps.tolist() == [1e-5]
    rng = np.random.default_rng(0)
    assert all(abs(lever.random_configuration(rng)[0]) < 1e-3 for _ in range(20))
    for wrong in ((1.0, 2.0), (-1.0,), (0.0,)):
        lever.coordinate_scales = wrong
        assert [finding.code for finding in law_findings(lever)] == ["bad-scales"]


@pytest.mark.parametrize("size", DECADES)
def test_checks_over_twelve_decades(size: float) -> None:
    tt.check_block(Lever("lever", size, size**3, 1.0))
    assert is_complex_safe(Lever("lever", size, size**2, size))
    assert not is_complex_safe(RealLever("lever", size, size**2, size))

    class Wrong(Lever):
        def gyroscopic(self, q: Array, v: Array, twist: Array) -> Array:
            return 1.001 * super().gyroscopic(q, v, twist)

        def subspace_rate(self, port: str, q: Array, v: Array) -> Array:
            return 1.001 * super().subspace_rate(port, q, v)

    with pytest.raises(tt.ModelError) as caught:
        tt.check_block(Wrong("lever", size, size**3, 1.0))
    assert {finding.where for finding in caught.value.findings} >= {"lever.gyroscopic", "lever.subspace_rate('C')"}


def test_linearised_laws_over_twelve_decades() -> None:
    """In units of the lever's own, all of them have the same linearised law."""
    expected = None
    for size in DECADES:
        lever = Lever("lever", size, size**3, 1.0)
        units = np.array([size] * 3 + [1.0] * 3 + [size])
        rng = np.random.default_rng(0)
        q, motion, x = np.array([0.5 * size]), units * rng.normal(size=7), units * rng.normal(size=7)
        slopes = np.hstack(lever.law_slopes(q, motion[6:], motion[:6], x))
        slopes *= np.outer(units, [size, size, *units[:6]]) / size**5  # energies
        expected = slopes if expected is None else expected
        assert np.abs(slopes - expected).max() < ACCURACY * np.abs(expected).max(), size


def test_flexible_bodies_of_any_size_deform_alike() -> None:
    def body(length: float, mass: float) -> tt.FlexibleBody:
        return tt.FlexibleBody(
            "panel",
            mass,
            com=[length / 2, 0, 0],
            inertia=mass * length**2 / 12,
            frequencies=[3.0],
            participation=0.3 * np.sqrt(mass) * np.array([[0, 1, 0, 0, 0, length]]),
            ports={"C": [length, 0, 0]},
            shapes={"C": np.array([[0, 2, 0, 0, 0, 3 / length]]).T / np.sqrt(mass)},
        )

    for length, mass in ((1e-6, 1e-15), (1e-3, 1.0), (1e6, 1e12)):
        found = body(length, mass).random_configuration(np.random.default_rng(0))
        expected = body(1.0, 1.0).random_configuration(np.random.default_rng(0))
        assert found / (length * np.sqrt(mass)) == pytest.approx(expected, rel=1e-12)
        tt.check_block(body(length, mass))
