"""No unit of length, mass or time enters the derivatives of a block of one's own.

The block is a hinged lever whose coordinate is the deflection of its tip: a sine of the angle that a revolute joint would have,
so that all follows in closed form.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import titop as tt
from tests.blocks.scaled_blocks import Array, Lever
from titop.blocks.checking.block_findings import law_findings
from titop.blocks.contract import own_coordinates as coordinates
from titop.blocks.contract import own_coordinates as units


def test_steps_of_a_fixed_length_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    stencil = ((1, 3 / 4), (2, -3 / 20), (3, 1 / 60))

    def fixed(function: Any, _: float) -> Any:
        return sum(weight * (function(k * 2e-3) - function(-k * 2e-3)) for k, weight in stencil) / 2e-3

    def change(length: float) -> Array:
        """How the rate of the motion subspace changes with the coordinate, in units of the length."""
        lever = Lever("lever", length, 1.0, 1.0)
        by_q = lever.subspace_slopes("C", np.array([0.6 * length]), np.array([2.0 * length]))[1][:, 0]
        return by_q * length / ([length] * 3 + [1.0] * 3)

    expected = change(1.0)
    assert np.abs(change(1.6e-2) - expected).max() < 3e-9  # 1e-12 of the rate, over steps of 4e-3 of the length
    monkeypatch.setattr(coordinates, "derivative", fixed)
    assert np.abs(change(1.0) - expected).max() < 1e-8
    assert np.abs(change(1.6e-2) - expected).max() > 1e-3


def test_second_derivatives_by_complex_steps_of_45_degrees(monkeypatch: pytest.MonkeyPatch) -> None:
    """The rate of the motion subspace in closed form, whatever the unit of length; steps as long as the lever are noticed."""

    def error(length: float) -> float:
        lever, sine, rate = Lever("lever", length, 1.0, 1.0), 0.6, 2.0
        gain = rate**2 * sine / (1 - sine**2) ** 1.5  # d2/dt2 of the angle, whose sine changes at a constant rate
        found = lever.subspace_rate("C", np.array([sine * length]), np.array([rate * length]))
        return float(np.abs(found / ([length] * 3 + [1.0] * 3) - gain * np.array([0, 1, 0, 0, 0, 1])).max())

    assert error(1.0) < 1e-11  # the step to the fourth power, and rounding over the step
    assert error(1.6e-2) < 1e-11
    monkeypatch.setattr(coordinates, "_SECOND", 50.0)
    assert error(1.0) > 1e-4


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


class Platform(tt.Block):
    """Three coordinates that turn and move its port by each other, and a mass there."""

    coordinates, ports, units = ("a", "b", "c"), ("C",), ("rad", "rad", "m")

    def pose(self, port: str, q: Array) -> tuple[Array, Array]:
        (ca, sa), (cb, sb), z = (np.cos(q[0]), np.sin(q[0])), (np.cos(q[1]), np.sin(q[1])), 0 * q[0]
        turned = np.array([[ca, -sa, z], [sa, ca, z], [z, z, 1 + z]]) @ np.array([[1 + z, z, z], [z, cb, -sb], [z, sb, cb]])
        return turned, turned @ np.array([0.3 + q[2] * q[0], 0.2 * sb, q[2] * cb])

    def mass_matrix(self, q: Array) -> Array:
        position = self.pose("C", q)[1]
        columns = np.hstack([np.eye(3), np.array(cross_matrix(position)).T, self.along_all(q)])
        return 2.0 * columns.T @ columns

    def along_all(self, q: Array) -> Array:
        return np.outer([1.0, 0.4, 0.2], [np.cos(q[0]), np.sin(q[1]), 1 + q[2] * q[0]])

    def elastic_energy(self, q: Array) -> Any:
        return 3.0 * (q[0] - q[1] * q[2]) ** 2 + q[2] ** 4

    def damping_efforts(self, q: Array, v: Array) -> Array:
        return -0.3 * (1 + q[0] ** 2) * v


def cross_matrix(x: Array) -> list[list[Any]]:
    return [[0 * x[0], -x[2], x[1]], [x[2], 0 * x[0], -x[0]], [-x[1], x[0], 0 * x[0]]]


def test_both_ways_to_second_derivatives_agree(monkeypatch: pytest.MonkeyPatch) -> None:
    """Complex steps of 45 degrees, and differences of complex steps, which leave 1e-9 of third derivatives."""
    block, rng = Platform("platform"), np.random.default_rng(2)
    q, v, twist, x = 0.4 * rng.normal(size=3), rng.normal(size=3), rng.normal(size=6), rng.normal(size=9)
    ways = []
    for takes in (True, False):
        monkeypatch.setattr(Platform, "takes_second", lambda self, q, takes=takes: takes and not np.iscomplexobj(q))
        found = [*block.law_slopes(q, v, twist, x), *block.subspace_slopes("C", q, v), block.subspace_rate("C", q, v)]
        ways.append(np.concatenate([np.ravel(part) for part in found]))
    np.testing.assert_allclose(ways[0], ways[1], rtol=0, atol=1e-8)
    assert not np.array_equal(*ways)
    assert np.abs(ways[0]).max() > 1.0


# Units of what goes with coordinates: the product of effort and coordinate is an energy.


@pytest.mark.parametrize(
    ("unit", "rate", "acceleration", "effort", "inertia"),
    [
        ("m", "m/s", "m/s^2", "N", "kg"),
        ("rad", "rad/s", "rad/s^2", "N m", "kg m^2"),
        ("1", "1/s", "1/s^2", "J", "J s^2"),
        ("sqrt(kg) m", "sqrt(kg) m/s", "sqrt(kg) m/s^2", "J/(sqrt(kg) m)", "J s^2/(sqrt(kg) m)^2"),
        ("mol", "mol/s", "mol/s^2", "J/mol", "J s^2/mol^2"),
    ],
)
def test_what_goes_with_a_coordinate(unit: str, rate: str, acceleration: str, effort: str, inertia: str) -> None:
    found = units.rate_unit(unit), units.acceleration_unit(unit), units.effort_unit(unit), units.inertia_unit(unit)
    assert found == (rate, acceleration, effort, inertia)


def test_ratios_are_without_a_unit_between_equals_alone() -> None:
    assert units.ratio_unit("rad", "rad") == "1"
    assert units.ratio_unit("m", "rad") == "m/rad"
    assert units.ratio_unit("rad", "m/s") == "rad/(m/s)"


def test_units_count_only_if_there_is_one_for_each() -> None:
    assert units.known_units(["m", "rad"], 2) == ("m", "rad")
    assert units.known_units(["m"], 2) == ("1", "1")
    assert units.known_units([], 0) == ()
