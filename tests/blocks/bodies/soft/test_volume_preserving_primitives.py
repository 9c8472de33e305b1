"""Primitives that keep the volume: det F = 1 however they are composed, their forms, bulges, what is refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import titop as tt

Array = NDArray[np.float64]
K = tt.Kinematics
L, R, HOLE = 0.1, 0.02, 0.008
TUBE = tt.Domain.tube(R, HOLE, L, along=4, around=5)
MODES: list[Callable[[Any], Any]] = [
    lambda z: 1.0,
    lambda z: z / L,
    lambda z: (z / L) * (1 - z / L),
    lambda z: np.sin(3 * z / L),
    lambda z: np.exp(-8 * (z / L - 0.5) ** 2),
]
#: Each primitive of given modes, with a name that is its own, and how large its coordinates are.
PRIMITIVES: dict[str, tuple[Callable[[Any, str], tt.Kinematics], float]] = {
    "elongation": (lambda modes, name: K.elongation(modes, name), 0.2),
    "twist": (lambda modes, name: K.twist(modes, name), 0.8),
    "shear x": (lambda modes, name: K.shear(modes, "x", name), 0.01),
    "shear y": (lambda modes, name: K.shear(modes, "y", name), 0.01),
    "bending x": (lambda modes, name: K.planar_bending(modes, "x", name), 6.0),
    "bending y": (lambda modes, name: K.planar_bending(modes, "y", name), 6.0),
    "source": (lambda modes, name: K.source(modes, HOLE, name), 0.3 * HOLE**2),
}
#: Rounding of products of four gradients: whatever quadrature leaves of integrals, their derivatives are exact.
KEPT = 1e-13


def body(kinematics: tt.Kinematics, domain: tt.Domain = TUBE) -> tt.SoftBody:
    made = tt.SoftBody("body", kinematics, domain, 1000.0, ports={})
    assert not made.reader.findings
    return made


def drawn(names: list[str], rng: np.random.Generator) -> tuple[tt.Kinematics, Array]:
    """Return primitives, one after the other, each with two modes at random, and a configuration."""
    parts, q = [], []
    for k, name in enumerate(names):
        make, size = PRIMITIVES[name]
        parts.append(make([MODES[j] for j in rng.choice(len(MODES), 2, replace=False)], f"p{k}_"))
        q += (size * rng.uniform(-0.5, 0.5, 2)).tolist()
    return parts[0].then(*parts[1:]), np.array(q)


@pytest.mark.parametrize("name", PRIMITIVES)
def test_each_keeps_the_volume_everywhere(name: str) -> None:
    kinematics, q = drawn([name], np.random.default_rng(1))
    made = body(kinematics)
    np.testing.assert_allclose(made.volume_ratios(q), 1.0, rtol=0, atol=KEPT)
    assert np.abs(made.positions(q) - TUBE.points).max() > 1e-4
    np.testing.assert_allclose(made.positions(0 * q), TUBE.points, rtol=0, atol=1e-15)  # some last digits of 0.1 m


@pytest.mark.parametrize("seed", range(6))
def test_composed_at_random_they_keep_the_volume(seed: int) -> None:
    """Sources first: others would move points into the hole that they were promised."""
    rng = np.random.default_rng(seed)
    names = rng.permutation([name for name in PRIMITIVES if name != "source"])[:4].tolist()
    kinematics, q = drawn(["source", *names] if seed % 2 else names, rng)
    np.testing.assert_allclose(body(kinematics).volume_ratios(q), 1.0, rtol=0, atol=KEPT)


def test_sections_that_only_bend_do_not_keep_it() -> None:
    """Negative control: constant curvature keeps sections' shape, and with it stretches what is outside."""
    ratios = body(K.constant_curvature(L)).volume_ratios(np.array([0.6]))
    np.testing.assert_allclose(ratios, 1.0 - 0.6 / L * TUBE.points[:, 0], atol=1e-14)


def test_order_matters() -> None:
    bend, turn = K.planar_bending(MODES[:1]), K.twist(MODES[1:2])
    first, second = body(bend.then(turn)), body(turn.then(bend))
    assert (first.coordinates, second.coordinates) == (("bending_y", "twist"), ("twist", "bending_y"))
    q = np.array([5.0, 0.8])
    assert np.abs(first.positions(q) - second.positions(q[::-1])).max() > 1e-3


class TestForms:
    """Each form where it can be said in closed form; points are no more than 0.1 m away."""

    X = np.array([0.012, -0.007, 0.06])

    def found(self, kinematics: tt.Kinematics, *q: float) -> Any:
        return np.asarray(kinematics(self.X, np.array(q)), float)

    def test_elongation(self) -> None:
        x, y, z = self.X
        expected = [x / np.sqrt(1.3 + 2 * z), y / np.sqrt(1.3 + 2 * z), z + 0.3 * z + z**2]
        np.testing.assert_allclose(self.found(K.elongation([lambda z: 1.0, lambda z: 2 * z]), 0.3, 1.0), expected, atol=1e-16)

    def test_bending_by_a_constant_curvature_is_an_annulus(self) -> None:
        """Areas of the section are kept: ``u = r - k r^2 / 2``."""
        x, y, z = self.X
        k = 5.0
        r = (1 - np.sqrt(1 - 2 * k * x)) / k
        expected = [1 / k - (1 / k - r) * np.cos(k * z), y, (1 / k - r) * np.sin(k * z)]
        np.testing.assert_allclose(self.found(K.planar_bending(lambda z: 1.0), k), expected, atol=1e-15)
        straight = self.found(K.planar_bending(lambda z: 1.0), 0.0)
        np.testing.assert_allclose(straight, self.X, rtol=1e-14)  # some last digits

    def test_bending_about_x_moves_the_tip_towards_minus_y(self) -> None:
        assert self.found(K.planar_bending(lambda z: 1.0, about="x"), 3.0)[1] < self.X[1]
        assert self.found(K.planar_bending(lambda z: 1.0, about="y"), 3.0)[0] > self.X[0]

    def test_source_twist_and_shear(self) -> None:
        x, y, z = self.X
        spread = np.sqrt(1 + 1e-5 / (x**2 + y**2))
        np.testing.assert_allclose(self.found(K.source(lambda z: 1.0, HOLE), 1e-5), [x * spread, y * spread, z], atol=1e-17)
        c, s = np.cos(5 * z), np.sin(5 * z)
        np.testing.assert_allclose(self.found(K.twist(lambda z: z), 5.0), [c * x - s * y, s * x + c * y, z], atol=1e-17)
        np.testing.assert_allclose(self.found(K.shear(lambda z: z, "y"), 0.3), [x, y + 0.3 * z, z], atol=1e-17)


class TestBulges:
    """Key P's simulation 4: bodies of constant curvature whose radius varies."""

    KINEMATICS = K.bulges(L, R).then(K.constant_curvature(L, elongation=True))

    def test_ends_and_the_other_side_stay(self) -> None:
        bulges = K.bulges(L, R)
        q = np.array([0.004, 0.0])
        middle = np.array([R, 0.0, L / 2])
        np.testing.assert_allclose(bulges(middle, q), [R + 0.004, 0.0, L / 2], rtol=1e-14)
        for x in ([-R, 0.0, L / 2], [R, 0.0, 0.0], [R, 0.0, L], [0.0, R, L / 2], [0.0, 0.0, L / 2]):
            np.testing.assert_array_equal(np.asarray(bulges(np.array(x), q), float), x)
        np.testing.assert_allclose(bulges(-middle * [1, 1, -1], q[::-1]), [-R - 0.004, 0.0, L / 2], rtol=1e-14)

    def test_a_body_of_them(self) -> None:
        """Its tip port stands on the axis, where bulges have no direction but do not move anything either."""
        domain = tt.Domain.cylinder(R, L, along=4, around=8)
        made = tt.SoftBody("arm", self.KINEMATICS, domain, 1000.0, tt.Material.neo_hookean(1e5, 0.4))
        assert not made.reader.findings
        axis = tt.Domain([[0.0, 0.0, L], [0.0, 0.0, 0.0]], [1e-6, 1e-6])
        alone = tt.SoftBody("axis", K.bulges(L, R), axis, 1000.0, ports={})
        assert not alone.reader.findings
        np.testing.assert_allclose(alone.volume_ratios(np.array([0.002, 0.001])), 1.0, rtol=1e-15)
        assert made.coordinates == ("bulge1", "bulge2", "bending", "elongation")
        q = np.array([0.002, 0.001, 0.4, 0.01])
        plain = tt.SoftBody("arm", K.constant_curvature(L, elongation=True), domain, 1000.0)
        np.testing.assert_allclose(made.pose("tip", q)[1], plain.pose("tip", q[2:])[1], atol=1e-15)
        assert np.isfinite(made.passive_efforts(q, q)).all()
        assert (made.volume_ratios(q).max() - plain.volume_ratios(q[2:]).max()) > 0.05


@pytest.mark.parametrize(
    ("make", "code", "field"),
    [
        (lambda: K.elongation([]), "wrong-type", "elongation"),
        (lambda: K.twist([1.0]), "wrong-type", "twist"),
        (lambda: K.shear(MODES, "z"), "bad-axis", "along"),
        (lambda: K.planar_bending(MODES, "z"), "bad-axis", "about"),
        (lambda: K.source(MODES, 0.0), "bad-inner-radius", "inner_radius"),
        (lambda: K.bulges(L, -R), "bad-radius", "radius"),
        (lambda: K.bulges(L, R, along=0.0), "bad-along", "along"),
    ],
)
def test_what_is_no_primitive_is_refused(make: Any, code: str, field: str) -> None:
    with pytest.raises(tt.ModelError) as caught:
        make()
    assert (caught.value.code, caught.value.where) == (code, f"kinematics.{field}")
