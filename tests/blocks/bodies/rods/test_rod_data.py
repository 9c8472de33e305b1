"""Fields of rods: bases, ports, points, parameters and their sensitivities, what is refused."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import titop as tt
from tests.blocks.bodies.rods.rod_systems import SECTION, clamped
from tests.refusals import assert_says, hinged, refused

#: Differences of fourth order in steps of a hundredth: 1e-8 of what they are taken of, and what rounding adds.
DIFFERENCES = 1e-6


def rod(**fields: Any) -> tt.Rod:
    """Return a rod with some fields replaced."""
    given: dict[str, Any] = {"length": 0.5, "section": SECTION, "young": 1e6, "density": 1000.0, "basis": 1}
    return tt.Rod("rod", **(given | fields))


class TestCoordinates:
    def test_names_and_units(self) -> None:
        made = rod(strains={"elongation": 0, "bending_y": 1, "torsion": tt.StrainBasis.piecewise_constant(2)})
        assert made.coordinates == ("torsion0", "torsion1", "bending_y0", "bending_y1", "elongation0")
        assert made.units == ("rad", "rad", "rad", "rad", "m")
        assert hinged(made).resolve("reference").coordinate_names[1:] == tuple(f"rod.{name}" for name in made.coordinates)

    @pytest.mark.parametrize(("theory", "count"), [("kirchhoff", 3), ("extensible", 4), ("timoshenko", 6)])
    def test_theories(self, theory: str, count: int) -> None:
        assert rod(strains=theory, basis=0).nv == count

    def test_the_first_polynomial_says_how_far_the_tip_has_gone(self) -> None:
        made = rod(strains="timoshenko")
        assert made.pose("tip", np.eye(12)[6] * 0.1)[1] == pytest.approx([0.6, 0.0, 0.0])  # elongation
        assert made.pose("tip", np.eye(12)[8] * 0.1)[1] == pytest.approx([0.5, 0.1, 0.0])  # shear along y
        turned = made.pose("tip", np.eye(12)[4] * 0.3)[0]  # bending about z
        assert np.arctan2(turned[1, 0], turned[0, 0]) == pytest.approx(0.3)

    def test_a_helix_by_its_reference_strain(self) -> None:
        """Curvature k and twist t wind a helix of radius k / (k^2 + t^2) and of pitch 2 pi t / (k^2 + t^2)."""
        k, t = 8.0, 3.0
        turn = 2 * np.pi / np.hypot(k, t)
        helix = rod(
            length=2.5 * turn, strains={"bending_z": 0}, reference_strain=[t, 0, k, 1, 0, 0], points=9, ports={"turn": turn}
        )
        R, r = helix.pose("turn", np.zeros(1))
        axis = np.array([t, 0, k]) / np.hypot(k, t)
        np.testing.assert_allclose(R, np.eye(3), atol=1e-13)
        np.testing.assert_allclose(r, 2 * np.pi * t / (k**2 + t**2) * axis, atol=1e-13)


class TestBases:
    PLACES = np.array([0.1, 0.3, 0.55, 0.9])

    def test_values(self) -> None:
        x = self.PLACES
        legendre = tt.StrainBasis.legendre(2).values(x, 0.5)
        np.testing.assert_allclose(legendre, np.array([1 + 0 * x, 2 * x - 1, 1.5 * (2 * x - 1) ** 2 - 0.5]).T)
        pieces = tt.StrainBasis.piecewise_constant(2).values(x, 0.5)
        np.testing.assert_array_equal(pieces, [[1, 0], [1, 0], [0, 1], [0, 1]])
        hats = tt.StrainBasis.piecewise_affine(2).values(x, 0.5)
        np.testing.assert_allclose(hats, [[0.8, 0.2, 0], [0.4, 0.6, 0], [0, 0.9, 0.1], [0, 0.2, 0.8]])
        bells = tt.StrainBasis.gaussian(3, 0.2).values(x, 0.5)
        np.testing.assert_allclose(bells, np.exp(-(((x[:, None] - [0, 0.5, 1]) / 0.2) ** 2) / 2))
        own = tt.StrainBasis(lambda X: [X, X**2], 2).values(x, 0.5)
        np.testing.assert_allclose(own, np.array([x / 2, x**2 / 4]).T)  # of the abscissa in metres

    def test_polynomials_given_as_a_function_are_the_same_rod(self) -> None:
        own = tt.StrainBasis(lambda X: [1.0, 4.0 * X - 1.0], 2)
        one, two = rod(strains="kirchhoff", basis=own), rod(strains="kirchhoff", basis=1)
        np.testing.assert_allclose(one.law_numbers(), two.law_numbers(), rtol=1e-13, atol=1e-13)

    def test_pieces_have_points_of_their_own(self) -> None:
        made = rod(strains={"bending_z": tt.StrainBasis.piecewise_constant(4)}, points=2)
        np.testing.assert_allclose(made.numbers.fractions[::3], [0, 0.25, 0.5, 0.75, 1])
        assert made.numbers.inertia[::3].sum() == 0.0  # no weight at the jumps
        angles = np.array([0.2, -0.4, 0.6, 1.0])  # exact: of four arcs, each turning by a quarter of its angle
        turned = made.pose("tip", angles)[0]
        assert np.arctan2(turned[1, 0], turned[0, 0]) == pytest.approx(angles.sum() / 4, abs=1e-14)


class TestPorts:
    def test_further_ports_change_nothing_else(self) -> None:
        bare, more = rod(), rod(ports={"camera": (0.21, tt.Pose([0, 0.01, 0])), "root": 0.0})
        q = bare.random_configuration(np.random.default_rng(0))
        assert more.ports == ("tip", "camera", "root")
        np.testing.assert_array_equal(more.mass_matrix(q), bare.mass_matrix(q))
        np.testing.assert_array_equal(more.pose("tip", q)[1], bare.pose("tip", q)[1])
        np.testing.assert_array_equal(more.pose("root", q)[1], np.zeros(3))
        R, r = rod(ports={"camera": 0.21}).pose("camera", q)
        np.testing.assert_allclose(more.pose("camera", q)[1], r + 0.01 * R[:, 1])

    def test_a_port_at_a_point_stands_there(self) -> None:
        made = rod(ports={"end": 0.5, "middle": 0.25})
        q = made.random_configuration(np.random.default_rng(0))
        np.testing.assert_array_equal(made.pose("end", q)[1], made.pose("tip", q)[1])
        assert made.numbers.steps[-1] == 0.0  # five Gauss points: the third is the middle

    def test_ports_move_along_with_the_length(self) -> None:
        longer: Any = rod(ports={"middle": 0.25}).with_parameters({"length": 1.0})
        np.testing.assert_allclose(longer.pose("middle", longer.neutral())[1], [0.5, 0, 0])
        assert longer.named_ports["middle"].abscissa == 0.5


NAMES = [
    *("length", "young", "density", "damping", "poisson", "section.radius.base", "section.radius.tip"),
    *("reference_strain.torsion", "reference_strain.elongation", "eye.position.z", "eye.rotation.x"),
]


@pytest.mark.parametrize("name", NAMES)
def test_sensitivities_are_exact(name: str) -> None:
    """Against differences of models with other values, the load standing at a port of its own."""
    made = rod(
        section=tt.Section.circle([0.03, 0.02]),
        strains="timoshenko",
        basis=0,
        damping=100.0,
        ports={"eye": (0.3, tt.Pose([0.0, 0.1, 0.0]))},
    )
    s = tt.System("sensitive")
    s.connect("world", made, tt.Revolute("hinge", axis=[0, 1, 0]))
    s.add_load(tt.Load("pull", made.port("eye"), force=[1.0, 2.0, 3.0], torque=[0.1, 0.2, 0.3]))
    model = s.resolve(engine="reference")
    q, v, a = 0.3 * np.random.default_rng(1).normal(size=(3, model.nv))
    q[5:] *= 0.1
    assert set(NAMES) < {entry.removeprefix("rod.") for entry in model.parameters()}
    name = f"rod.{name}"
    value = model.parameters()[name][0]
    step = 0.01 * (abs(value) or 1.0)
    near, far = (
        [model.with_parameters({name: value + side * k * step}).inverse_dynamics(q, v, a) for side in (1, -1)] for k in (1, 2)
    )
    expected = (8 * (near[0] - near[1]) - (far[0] - far[1])) / (12 * step)
    found = model.inverse_dynamics_sensitivities(q, v, a, [name])[name]
    assert np.abs(found - expected).max() < DIFFERENCES * np.abs(expected).max()


def test_a_given_shear_modulus_takes_the_place_of_poissons_ratio() -> None:
    one, two = rod(poisson=0.25), rod(shear_modulus=1e6 / 2.5)
    np.testing.assert_allclose(one.law_numbers(), two.law_numbers(), rtol=1e-14)
    known = {"poisson", "shear_modulus"}
    assert known & one.parameters().keys() == {"poisson"}
    assert known & two.parameters().keys() == {"shear_modulus"}
    assert rod(poisson=0.5).check() == ([], [])  # rubber


def test_a_cone_may_end_in_a_point() -> None:
    cone = rod(section=tt.Section.circle([0.02, 0.0]))
    assert cone.check() == ([], [])
    assert cone.mass == pytest.approx(1000 * np.pi * 0.02**2 * 0.5 / 3)
    assert np.linalg.eigvalsh(cone.numbers.stiffness).min() > 0
    assert np.linalg.eigvalsh(cone.mass_matrix(cone.neutral())).min() > 0


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({"length": -0.5}, ("bad-length", "rod.length", "a value > 0")),
        ({"length": "long"}, ("wrong-type", "rod.length")),
        ({"young": 0.0}, ("bad-young", "rod.young")),
        ({"density": -1.0}, ("bad-density", "rod.density")),
        ({"shear_modulus": -1.0}, ("bad-shear-modulus", "rod.shear_modulus")),
        ({"poisson": -1.0}, ("bad-poisson", "rod.poisson")),
        ({"poisson": 0.3, "shear_modulus": 1e5}, ("poisson-or-shear", "rod.poisson", "one of the two")),
        ({"damping": -1.0}, ("bad-damping", "rod.damping")),
        ({"section": 0.01}, ("wrong-type", "rod.section", "tt.Section")),
        ({"section": tt.Section.circle(lambda X: 0.1 - X)}, ("bad-radius", "rod.section.radius")),
        ({"section": tt.Section.tube(0.1, 0.2)}, ("bad-section", "rod.section")),
        ({"section": tt.Section.circle(lambda X: "thick")}, ("bad-values", "rod.section.radius", "a finite number")),
        ({"section": tt.Section.circle(lambda X: 1 / 0)}, ("function-fails", "rod.section.radius", "ZeroDivisionError")),
        ({"strains": "kirchof"}, ("unknown-theory", "rod.strains", "'kirchhoff'")),
        ({"strains": {"bending": 1}}, ("unknown-strain", "rod.strains.bending", "'bending_y'")),
        ({"strains": {"torsion": -1}}, ("bad-order", "rod.strains.torsion")),
        ({"strains": {}}, ("no-strains", "rod.strains", "tt.RigidBody")),
        (
            {"strains": {"torsion": 5}},
            ("too-few-points", "rod.points", "at least 6 for the 6 functions of torsion", "points=6"),
        ),
        ({"strains": {"torsion": tt.StrainBasis(lambda X: [X, 2 * X], 2)}}, ("singular-basis", "rod.strains.torsion")),
        ({"strains": {"torsion": tt.StrainBasis(lambda X: [X], 2)}}, ("bad-values", "rod.strains.torsion", "shape (2,)")),
        ({"points": 0}, ("not-a-count", "rod.points")),
        ({"points": 2.5}, ("not-a-count", "rod.points")),
        ({"reference_strain": [0, 0, 1]}, ("wrong-shape", "rod.reference_strain", "straight is")),
        ({"reference_strain": [0, 0, 0, 0, 0, 0]}, ("bad-reference", "rod.reference_strain", "a stretch > 0")),
        ({"reference_strain": lambda X: [0, 0, 1]}, ("bad-values", "rod.reference_strain", "shape (6,)")),
        ({"ports": {"far": 0.6}}, ("off-the-rod", "rod.ports.far", "0.5 m")),
        ({"ports": {"far": [0.1, 0, 0]}}, ("wrong-type", "rod.ports.far", "an abscissa")),
        ({"ports": {"P": 0.1}}, ("bad-name", "rod.P")),
        ({"ports": 0.1}, ("wrong-type", "rod.ports")),
    ],
    ids=lambda value: "-".join(value) if isinstance(value, dict) else value[0],
)
def test_what_is_refused(fields: dict[str, Any], says: tuple[str, ...]) -> None:
    if "torsion" in str(fields):
        fields = fields | {"basis": 0}
    assert_says(refused(hinged(rod(**fields)), "reference"), *says)


def test_several_mistakes_are_told_at_once() -> None:
    error = refused(hinged(rod(length=-1.0, young=0.0, strains={"torsion": 8})), "reference")
    assert [finding.code for finding in error.findings] == ["too-few-points", "bad-length", "bad-young"]


def test_parameters_are_checked_when_they_change() -> None:
    model = hinged(rod()).resolve("reference")
    with pytest.raises(tt.ModelError, match="bad-young"):
        model.with_parameters({"rod.young": -1.0})
    with pytest.raises(tt.ModelError, match="bad-radius"):
        model.with_parameters({"rod.section.radius": -0.1})


def test_what_is_suspicious() -> None:
    with pytest.warns(tt.ModelWarning, match="large-poisson"):
        clamped(rod(poisson=0.6, strains={"torsion": 0}))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        clamped(rod(strains={"torsion": 0}))  # the negative control


@pytest.mark.parametrize(
    ("make", "code"),
    [
        (lambda: tt.StrainBasis.legendre(1.5), "not-a-count"),
        (lambda: tt.StrainBasis.piecewise_constant(0), "not-a-count"),
        (lambda: tt.StrainBasis.gaussian(2, -1.0), "bad-width"),
        (lambda: tt.StrainBasis.of_kind("splines", order=2), "unknown-basis"),
        (lambda: tt.StrainBasis.of_kind("legendre", pieces=2), "wrong-numbers"),
        (lambda: tt.StrainBasis(lambda X: [X], 1, breaks=[0.5, 0.2]), "bad-breaks"),
        (lambda: tt.StrainBasis(1.0, 1), "wrong-type"),
    ],
)
def test_bases_that_are_refused(make: Any, code: str) -> None:
    with pytest.raises(tt.ModelError) as caught:
        make()
    assert caught.value.code == code
