"""Cross-sections: moments against integrals over their points, tapers, what is refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import titop as tt
from titop.blocks.bodies.rods.section import along, dimension_fields
from titop.blocks.contract.block import with_number

Array = NDArray[Any]


def at_base(section: tt.Section, poisson: float = 0.3) -> Any:
    """Return the moments at the base."""
    return section.moments(np.zeros(1), 1.0, poisson)


SHAPES: dict[str, tuple[tt.Section, Callable[[Array, Array], Array]]] = {
    "circle": (tt.Section.circle(0.5), lambda y, z: y**2 + z**2 < 0.25),
    "ellipse": (tt.Section.ellipse(0.5, 0.3), lambda y, z: (y / 0.5) ** 2 + (z / 0.3) ** 2 < 1),
    "rectangle": (tt.Section.rectangle(1.0, 0.4), lambda y, z: (abs(y) < 0.5) & (abs(z) < 0.2)),
    "tube": (tt.Section.tube(0.5, 0.4), lambda y, z: (y**2 + z**2 < 0.25) & (y**2 + z**2 > 0.16)),
}


@pytest.mark.parametrize("shape", SHAPES)
def test_area_and_moments_are_integrals(shape: str) -> None:
    """Over two million squares; the boundary cuts a thousandth of them, and by halves at random."""
    section, inside = SHAPES[shape]
    places = (np.arange(1500) + 0.5) / 1500 - 0.5
    y, z = np.meshgrid(places, places)
    here = inside(y, z) / 1500**2
    found = at_base(section)
    np.testing.assert_allclose(found.area, here.sum(), rtol=1e-3)
    np.testing.assert_allclose(found.iy, (here * z**2).sum(), rtol=2e-3)
    np.testing.assert_allclose(found.iz, (here * y**2).sum(), rtol=2e-3)


def test_torsion_constants() -> None:
    """Tables of Timoshenko and Goodier: 0.1406 a^4 for squares, 0.249 and 0.3123 for 3 and 10 times as long as wide."""
    for ratio, expected in ((1, 0.140577), (3, 0.263317), (10, 0.312325)):
        for width, height in ((ratio, 1), (1, ratio)):
            found = at_base(tt.Section.rectangle(width, height)).torsion_constant[0]
            assert found == pytest.approx(expected * ratio, rel=1e-5)
    assert at_base(tt.Section.circle(2.0)).torsion_constant[0] == pytest.approx(np.pi * 2**4 / 2)
    assert at_base(tt.Section.ellipse(2.0, 1.0)).torsion_constant[0] == pytest.approx(np.pi * 8 / 5)


def test_shear_factors() -> None:
    """Cowper's table for nu = 0.3, and limits: an ellipse that is a circle, a tube without a hole, and a thin one."""
    assert at_base(tt.Section.circle(1.0)).shear_factors[0, 0] == pytest.approx(0.886, abs=1e-3)
    assert at_base(tt.Section.rectangle(1.0, 2.0)).shear_factors[1, 0] == pytest.approx(0.850, abs=1e-3)
    assert at_base(tt.Section.tube(1.0, 0.9999)).shear_factors[0, 0] == pytest.approx(0.531, abs=1e-3)
    round_one = at_base(tt.Section.circle(1.0)).shear_factors
    np.testing.assert_allclose(at_base(tt.Section.ellipse(1.0, 1.0)).shear_factors, round_one)
    np.testing.assert_allclose(at_base(tt.Section.tube(1.0, 0.0)).shear_factors, round_one)
    thin = at_base(tt.Section.ellipse(1.0, 1e-4), poisson=0.0).shear_factors[:, 0]
    np.testing.assert_allclose(thin, [0.9, 0.75], atol=1e-6)  # along the long axis as by parabolic shear: 0.9


def test_dimensions_may_taper_or_be_functions() -> None:
    places, radii = np.linspace(0, 1, 5), 0.3 - 0.2 * np.linspace(0, 1, 5)
    tapered = tt.Section.circle([0.3, 0.1]).moments(places, 2.0, 0.3)
    curved = tt.Section.circle(lambda X: 0.3 - 0.1 * X).moments(places, 2.0, 0.3)
    np.testing.assert_allclose(tapered.area, np.pi * radii**2)
    np.testing.assert_allclose(curved.iy, tapered.iy)


def test_a_section_may_vanish_at_an_end() -> None:
    with np.errstate(all="raise"):
        for section in (
            tt.Section.circle([0.1, 0.0]),
            tt.Section.ellipse([0.0, 0.1], [0.0, 0.2]),
            tt.Section.tube([0.1, 0], [0.05, 0]),
        ):
            moments = section.moments(np.array([0.0, 0.5, 1.0]), 1.0, 0.3)
            assert np.isfinite(np.vstack(moments)).all()
            assert section.findings("rod.section", np.array([0.01, 0.99]), 1.0, 0.3) == []


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: tt.Section.circle(-0.1), ("bad-radius", "section.radius")),
        (lambda: tt.Section.circle(0.0), ("bad-radius", "section.radius")),
        (lambda: tt.Section.circle([0.1, 0.2, 0.3]), ("wrong-shape", "function of X")),
        (lambda: tt.Section.circle("thin"), ("wrong-type", "section.radius")),
        (lambda: tt.Section.circle(lambda: 0.1), ("wrong-signature", "section.radius")),
        (lambda: tt.Section.rectangle(float("nan"), 0.1), ("not-finite", "section.width")),
        (lambda: tt.Section(area=-1.0, iy=1.0, iz=1.0), ("bad-area", "section.area")),
        (lambda: tt.Section.of_shape("circel", radius=1.0), ("unknown-shape", "circle")),
        (lambda: tt.Section.of_shape("circle", radus=1.0), ("unknown-dimension", "missing-dimension")),
    ],
)
def test_what_is_refused(make: Callable[[], tt.Section], says: tuple[str, ...]) -> None:
    with pytest.raises(tt.ModelError) as caught:
        make()
    assert all(part in str(caught.value) for part in says)


# Dimensions of sections along a rod.

PLACES = np.array([0.0, 0.25, 1.0])


def test_numbers_pairs_and_functions_of_the_abscissa() -> None:
    assert along("radius", (0.2,), PLACES, 2.0).tolist() == [0.2, 0.2, 0.2]
    # roundings of a product and a sum of numbers up to three times the result: up to six units of 1e-16
    np.testing.assert_allclose(along("radius", (0.2, 0.1), PLACES, 2.0), [0.2, 0.175, 0.1], rtol=1e-14)
    np.testing.assert_allclose(along("radius", lambda X: 0.3 - 0.1 * X, PLACES, 2.0), [0.3, 0.25, 0.1], rtol=1e-14)


def test_parameters_are_the_numbers_that_change_it() -> None:
    tapered = (0.2, 0.1)
    fields = {"radius.base": ("section", ("radius", 0), "m"), "radius.tip": ("section", ("radius", 1), "m")}
    assert dimension_fields("radius", tapered, "m", "section", ("radius",)) == fields
    assert dimension_fields("radius", lambda X: X, "m", "section") == {}
    assert along("radius", with_number(tapered, (0,), 0.4), PLACES, 2.0)[0] == 0.4
    assert along("radius", with_number(tapered, (1,), 0.4), PLACES, 2.0)[2] == 0.4
    assert along("radius", with_number((0.2,), (0,), 0.4), PLACES, 2.0).tolist() == [0.4] * 3
    assert dimension_fields("radius", (0.2,), "m", "y") == {"radius": ("y", (0,), "m")}


def test_a_function_that_fails_is_named() -> None:
    with pytest.raises(ValueError, match=r"section\.radius.*ZeroDivisionError.*X = 0\)"):
        along("radius", lambda X: 1 / X, PLACES, 2.0)
