"""Materials: energies against closed forms of homogeneous strains, damping, exact sensitivities, what is refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import titop as tt
from tests.tolerances import ROUNDING
from titop.blocks.basics.user_input import FieldReader
from titop.blocks.bodies.soft.material import check_numbers

YOUNG, POISSON, VISCOSITY = 1e5, 0.4, 30.0
SHEAR = YOUNG / (2 * (1 + POISSON))
BULK = 2 * SHEAR * POISSON / (1 - 2 * POISSON)
DOMAIN = tt.Domain.box(0.02, 0.03, 0.1, along=2, across=2)
VOLUME = 0.02 * 0.03 * 0.1


def stretched(material: tt.Material) -> tt.SoftBody:
    """Return a box that stretches along its axes and shears, the same everywhere."""

    def place(x: Any, q: Any) -> Any:
        return [(1 + q[0]) * x[0] + q[2] * x[2], (1 + q[0]) * x[1], (1 + q[1]) * x[2]]

    return tt.SoftBody("box", place, DOMAIN, 1000.0, material, coordinates=("wide", "long", "shear"))


def gradient(q: Any) -> Any:
    return np.array([[1 + q[0], 0, q[2]], [0, 1 + q[0], 0], [0, 0, 1 + q[1]]])


def saint_venant(F: Any) -> Any:
    strain = (F.T @ F - np.eye(3)) / 2
    return SHEAR * np.sum(strain**2) + BULK / 2 * np.trace(strain) ** 2


def neo_hooke(F: Any) -> Any:
    volume = np.log(np.linalg.det(F))
    return SHEAR / 2 * (np.trace(F @ F.T) - 3 - 2 * volume) + BULK / 2 * volume**2


ENERGIES: dict[str, tuple[tt.Material, Callable[[Any], Any]]] = {
    "linear": (tt.Material.linear(YOUNG, POISSON, VISCOSITY), saint_venant),
    "neo-hookean": (tt.Material.neo_hookean(YOUNG, POISSON, VISCOSITY), neo_hooke),
    "own": (
        tt.Material(lambda F, numbers: numbers.a * np.sum((F - np.eye(3)) ** 2), {"a": (3.0, "Pa")}, VISCOSITY),
        lambda F: 3.0 * np.sum((F - np.eye(3)) ** 2),
    ),
    "own of F alone": (tt.Material(lambda F: np.sum((F.T @ F - np.eye(3)) ** 2)), lambda F: np.sum((F.T @ F - np.eye(3)) ** 2)),
}


@pytest.mark.parametrize("name", ENERGIES)
def test_homogeneous_strains(name: str) -> None:
    """Efforts against central differences of the closed form, whose error is some 1e-9 of the energy."""
    material, density = ENERGIES[name]
    body = stretched(material)
    assert not body.reader.findings
    q, h = np.array([-0.1, 0.2, 0.15]), 1e-5
    np.testing.assert_allclose(body.elastic_energy(q), VOLUME * density(gradient(q)), **ROUNDING)
    steps = h * np.eye(3)
    expected = [-VOLUME * (density(gradient(q + d)) - density(gradient(q - d))) / (2 * h) for d in steps]
    np.testing.assert_allclose(body.passive_efforts(q, np.zeros(3)), expected, atol=1e-8 * np.abs(expected).max())
    np.testing.assert_allclose(body.passive_efforts(np.zeros(3), np.zeros(3)), 0.0, atol=1e-12 * YOUNG * VOLUME)


@pytest.mark.parametrize("name", ["linear", "neo-hookean"])
def test_uniaxial_stress_gives_youngs_modulus(name: str) -> None:
    """The stiffness at rest, its width free to shrink, is E; held, it is lambda + 2 mu."""
    body, h = stretched(ENERGIES[name][0]), 1e-6
    slopes = [body.passive_efforts(h * d, np.zeros(3)) - body.passive_efforts(-h * d, np.zeros(3)) for d in np.eye(3)]
    stiffness = -np.array(slopes) / (2 * h) / VOLUME
    assert stiffness[1, 1] == pytest.approx(BULK + 2 * SHEAR, rel=1e-8)
    assert stiffness[1, 1] - stiffness[0, 1] ** 2 / stiffness[0, 0] == pytest.approx(YOUNG, rel=1e-8)
    assert stiffness[2, 2] == pytest.approx(SHEAR, rel=1e-8)


def test_damping_takes_power_from_rates_of_greens_strain() -> None:
    body, q, v = stretched(ENERGIES["linear"][0]), np.array([0.1, -0.2, 0.3]), np.array([0.5, 0.3, -0.2])
    F, rate = gradient(q), gradient(v) - np.eye(3)
    strain_rate = (F.T @ rate + rate.T @ F) / 2
    assert -v @ body.damping_efforts(q, v) == pytest.approx(2 * VISCOSITY * VOLUME * np.sum(strain_rate**2), rel=1e-12)
    np.testing.assert_allclose(stretched(tt.Material.linear(YOUNG, POISSON)).damping_efforts(q, v), 0.0, atol=1e-15)


class TestIncompressible:
    """Key P's law ``C (tr B - 3)`` has a stress at rest, which does no work where the volume is kept."""

    LAW = tt.Material.incompressible_neo_hookean(40.0, VISCOSITY)

    def body(self, kinematics: Any, **fields: Any) -> tt.SoftBody:
        return tt.SoftBody("box", kinematics, DOMAIN, 1000.0, self.LAW, **fields)

    def test_kinematics_that_keep_the_volume(self) -> None:
        body = self.body(tt.Kinematics.elongation(lambda z: 1.0))
        assert not body.reader.findings
        q = np.array([0.3])
        expected = 40.0 * VOLUME * (1.3**2 + 2 / 1.3 - 3)
        assert body.elastic_energy(q) == pytest.approx(expected, rel=1e-12)
        assert abs(body.passive_efforts(np.zeros(1), np.zeros(1))[0]) < 1e-13 * 40.0

    def test_others_are_refused_by_name(self) -> None:
        body = self.body(tt.Kinematics.constant_curvature(0.1))
        (finding,) = body.reader.findings
        assert (finding.code, finding.where) == ("changes-volume", "box.material")
        assert "incompressible" in finding.expected
        assert "neo_hookean" in finding.advice


def test_numbers_are_parameters_with_exact_sensitivities() -> None:
    """Against central differences: their rounding leaves 1e-9 of the efforts."""
    s = tt.System("rig")
    s.connect("world", stretched(ENERGIES["neo-hookean"][0]), joint=tt.Weld("clamp"))
    m = s.resolve(engine="reference")
    names = ["box.material.young", "box.material.poisson", "box.material.viscosity", "box.density"]
    assert [m.parameters()[name] for name in names[:3]] == [(YOUNG, "Pa"), (POISSON, "1"), (VISCOSITY, "Pa s")]
    q, v, a = np.array([0.1, 0.2, -0.1]), np.array([0.3, -0.1, 0.2]), np.array([1.0, 2.0, 3.0])
    found = m.inverse_dynamics_sensitivities(q, v, a, names)
    for name in names:
        value = m.parameters()[name][0]
        changed = [m.with_parameters({name: value * (1 + step)}).inverse_dynamics(q, v, a) for step in (1e-5, -1e-5)]
        expected = (changed[0] - changed[1]) / (2e-5 * value)
        np.testing.assert_allclose(found[name], expected, rtol=1e-6, atol=1e-9 * np.abs(expected).max())


@pytest.mark.parametrize(
    ("make", "code", "field"),
    [
        (lambda: tt.Material.linear(-YOUNG, 0.3), "bad-young", "young"),
        (lambda: tt.Material.linear(YOUNG, 0.5), "bad-poisson", "poisson"),
        (lambda: tt.Material.neo_hookean(YOUNG, -1.0), "bad-poisson", "poisson"),
        (lambda: tt.Material.neo_hookean(YOUNG, np.nan), "not-finite", "poisson"),
        (lambda: tt.Material.neo_hookean(YOUNG, 0.3, viscosity=-1.0), "bad-viscosity", "viscosity"),
        (lambda: tt.Material.incompressible_neo_hookean(0.0), "bad-stiffness", "stiffness"),
        (lambda: tt.Material.incompressible_neo_hookean("soft"), "wrong-type", "stiffness"),  # type: ignore[arg-type]
        (lambda: tt.Material(3.0), "wrong-type", "energy"),  # type: ignore[arg-type]
        (lambda: tt.Material(np.sum, {"viscosity": 1.0}), "bad-name", "parameters"),
        (lambda: tt.Material(np.sum, {"a": "much"}), "wrong-type", "parameters.a"),
        (lambda: tt.Material(np.sum, {"young": -1.0}), "bad-young", "parameters.young"),
        (lambda: tt.Material(np.sum, [1.0]), "wrong-type", "parameters"),  # type: ignore[arg-type]
    ],
)
def test_what_is_no_material_is_refused(make: Any, code: str, field: str) -> None:
    with pytest.raises(tt.ModelError) as caught:
        make()
    assert (caught.value.code, caught.value.where) == (code, f"material.{field}")


@pytest.mark.parametrize(("name", "value"), [("young", -1.0), ("poisson", 0.5), ("viscosity", -1.0), ("density", 0.0)])
def test_parameters_are_checked_when_they_change(name: str, value: float) -> None:
    s = tt.System("rig")
    s.connect("world", stretched(ENERGIES["linear"][0]), joint=tt.Weld("clamp"))
    m = s.resolve(engine="reference")
    path = "box.density" if name == "density" else f"box.material.{name}"
    with pytest.raises(tt.ModelError) as caught:
        m.with_parameters({path: value})
    assert (caught.value.code, caught.value.where) == (f"bad-{name}", path)


def test_two_wrong_numbers_are_told_at_once() -> None:
    with pytest.raises(tt.ModelError) as caught:
        tt.Material.linear(-1.0, 0.7)
    assert [finding.code for finding in caught.value.findings] == ["bad-young", "bad-poisson"]


# Numbers that materials may have, and those that none has.


@pytest.mark.parametrize(
    ("field", "inside", "outside"),
    [
        ("young", [1e-9, 1e12], [0.0, -1.0, float("inf")]),
        ("material.stiffness", [1.0], [0.0]),
        ("density", [1.0], [0.0, -1.0]),
        ("viscosity", [0.0, 1.0], [-1e-9, float("inf")]),
        ("material.poisson", [-0.999, 0.0, 0.4999], [-1.0, 0.5, 0.6]),
        ("colour", [-1.0, 0.0], []),
    ],
)
def test_ranges(field: str, inside: list[float], outside: list[float]) -> None:
    reader = FieldReader("b")
    for value in inside:
        check_numbers(reader, {field: value, "other": -3.0})
        check_numbers(reader, {field: value + 1e-30j})  # a complex step changes nothing
    assert not reader.findings
    for value in outside:
        check_numbers(reader, {field: value})
    name = field.rpartition(".")[2]
    assert [(found.code, found.where, found.value) for found in reader.findings] == [
        (f"bad-{name}", f"b.{field}", value) for value in outside
    ]


def test_what_was_reported_before_is_passed_over() -> None:
    reader = FieldReader("b")
    check_numbers(reader, {"young": float("nan")})
    assert not reader.findings
