"""Contact of a sphere with a plane: Coulomb's friction, and no pull."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import titop as tt


def test_friction_is_coulombs_where_the_sphere_slides_and_none_where_it_rolls() -> None:
    contact = tt.Contact("ground", radius=0.5, stiffness=1e3, friction=0.4, slip_velocity=1e-6)
    R, r = np.eye(3), np.array([0.0, 0.0, 0.46])
    normal = 1e3 * 0.04**1.5
    sliding = contact.wrenches(R, r, np.zeros(6), np.array([3.0, 0, 0, 0, 0, 0]))[1]
    np.testing.assert_allclose(sliding, [-0.4 * normal, 0, normal, 0, 0.4 * normal * 0.46, 0], rtol=1e-9, atol=1e-12)
    rolling = contact.wrenches(R, r, np.zeros(6), np.array([3.0, 0, 0, 0, 3.0 / 0.46, 0]))[1]
    np.testing.assert_allclose(rolling, [0, 0, normal, 0, 0, 0], rtol=0, atol=1e-8)


def test_a_plane_never_pulls() -> None:
    contact = tt.Contact("mud", radius=0.5, stiffness=1e3, dissipation=10.0)
    leaving = contact.wrenches(np.eye(3), np.array([0, 0, 0.49]), np.zeros(6), np.array([0, 0, 5.0, 0, 0, 0]))
    assert not np.any(leaving)
    assert not np.any(contact.wrenches(np.eye(3), np.array([0, 0, 0.51]), np.zeros(6), np.zeros(6)))


def _rod() -> tt.Rod:
    return tt.Rod("rod", 0.5, tt.Section.circle(radius=[0.03, 0.01]), young=1e6, density=1000.0, strains={"bending_y": 1})


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"radius": 0.1, "stiffness": 1.0, "exponent": 0.5}, "c.exponent: got 0.5; expected a number >= 1"),
        ({"radius": 0.1}, "c.stiffness: got 0.0"),
        ({"radius": 0.1, "stiffness": -1.0}, "c.stiffness: got -1.0; expected a number > 0"),
        ({"radius": -0.1, "stiffness": 1.0}, "c.radius: got -0.1"),
        ({"radius": 0.1, "stiffness": 1.0, "slip_velocity": 0.0}, "c.slip_velocity: got 0.0"),
        ({"radius": 0.1, "stiffness": 1.0, "dissipation": -1.0}, "c.dissipation: got -1.0"),
        ({"radius": 0.1, "stiffness": 1.0, "friction": -0.1}, "c.friction: got -0.1"),
        ({"radius": 0.1, "stiffness": 1.0, "friction": 0.5, "tangential_stiffness": -1.0}, "c.tangential_stiffness: got -1.0"),
        ({"stiffness": 1.0}, "c.radius: got None"),
        ({"radius": [0.1, 0.2], "stiffness": 1.0}, "c.radius: got 2 radii; expected one for all, or one for each of 1"),
        ({"radius": 0.1, "stiffness": 1.0, "shape": "box"}, "c.shape: got box; expected a tt.Shape"),
        ({"radius": 0.1, "stiffness": 1.0, "shape": tt.Shape.sphere(1.0), "normal": [1, 0, 0]}, "no normal beside a shape"),
        ({"radius": 0.1, "stiffness": 1.0, "on": "rod"}, "c.on: got rod"),
        ({"radius": 0.1, "stiffness": 1.0, "points": [1.0, 2.0]}, "c.points: got [1.0, 2.0]; expected places (k, 3)"),
        ({"radius": 0.0, "stiffness": 1.0, "rolling": 0.1}, "0: points do not roll"),
        ({"radius": 0.1, "stiffness": 1.0, "rolling": -0.1}, "c.rolling: got -0.1"),
        ({"radius": 0.1, "stiffness": 1.0, "tangential_stiffness": 1e3}, "0 without friction"),
        ({"radius": 0.1, "stiffness": 1.0, "on": tt.Shape.sphere(0.1)}, "the shape that touches has a radius"),
        ({"stiffness": 1.0, "on": tt.Shape.box([1, 1, 1])}, "a tt.Shape that is a sphere or a capsule"),
        ({"stiffness": 1.0, "on": _rod(), "points": 2.5}, "how many, or abscissas from 0 to 0.5 m"),
        ({"stiffness": 1.0, "on": _rod(), "points": [0.1, 0.6]}, "how many, or abscissas from 0 to 0.5 m"),
    ],
)
def test_unusable_contacts_are_refused(given: dict[str, Any], said: str) -> None:
    errors, _ = tt.Contact("c", **given).check()
    assert any(said in str(error) for error in errors), errors


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("radius", -0.1),
        ("stiffness", -1.0),
        ("exponent", 0.5),
        ("dissipation", -1.0),
        ("friction", -0.1),
        ("slip_velocity", 0.0),
        ("rolling", -0.1),
        ("tangential_stiffness", -1.0),
    ],
)
def test_parameters_become_no_coefficients_that_add_energy(name: str, value: float) -> None:
    s = tt.System("ball", gravity=[0, 0, -9.81])
    s.connect("world", tt.RigidBody("ball", 1.0), tt.Prismatic("up", axis=[0, 0, 1]))
    contact = tt.Contact("c", 0.1, 1e4, friction=0.5, rolling=1e-3, tangential_stiffness=1e3)
    s.close_loop("world", s["ball"], contact)
    m = s.resolve()
    with pytest.raises(tt.ModelError, match=rf"c\.{name}: got {value}; expected "):
        m.with_parameters({f"c.{name}": value})
    assert m.with_parameters({f"c.{name}": 1.25}).parameters()[f"c.{name}"][0] == 1.25


def test_spheres_along_a_rod_are_as_thick_as_its_sections() -> None:
    contact = tt.Contact("c", stiffness=1.0, on=_rod(), points=3)
    np.testing.assert_allclose(contact.touching.radii, [0.03, 0.02, 0.01], rtol=1e-12)
    assert contact.point_names == ("c[0]", "c[1]", "c[2]")


def test_a_capsule_stands_on_both_ends() -> None:
    """Its weight rests on two spheres; of lever arms one carries what the other does not."""
    contact = tt.Contact("c", stiffness=1e3, on=tt.Shape.capsule(0.1, 0.6))
    R = np.array([[0.0, 0.0, 1.0], [0.0, 1.0, 0.0], [-1.0, 0.0, 0.0]])  # its axis along x
    force = contact.wrenches(R, np.array([0.0, 0.0, 0.09]), np.zeros(6), np.zeros(6))[1]
    np.testing.assert_allclose(R @ force[:3], [0.0, 0.0, 2e3 * 0.01**1.5], rtol=0, atol=1e-12)
    np.testing.assert_allclose(force[3:], 0.0, rtol=0, atol=1e-12)


def test_files_keep_all_of_a_contact(tmp_path: Any) -> None:
    s = tt.System("touching", gravity=[0, 0, -9.81])
    rod, body = _rod(), tt.RigidBody("body", mass=1.0, inertia=0.1)
    s.connect("world", rod, tt.Weld("clamp"))
    s.connect("world", body, tt.Free("float"))
    wall, laws = tt.Shape.cylinder(0.02, inside=True), {"friction": 0.3, "tangential_stiffness": 1e3}
    s.add_interaction(tt.Contact("wall", stiffness=1e5, on=rod, shape=wall, points=5, exponent=2.0, **laws), "world")
    s.add_interaction(tt.Contact("grip", 0.01, 1e5, on=rod, shape=tt.Shape.cylinder(0.1, 0.3), points=[0.1]), body)
    s.close_loop("world", body, tt.Contact("box", [0.1, 0.2], 1e5, shape=tt.Shape.box([1, 2, 3]), points=np.eye(3)[:2]))
    s.close_loop("world", body, tt.Contact("feet", None, 1e5, on=tt.Shape.capsule(0.1, 0.4), rolling=1e-3))
    s.save(tmp_path / "touching.toml")
    again = tt.load(tmp_path / "touching.toml")
    for name in ("wall", "grip", "box", "feet"):
        np.testing.assert_allclose(again[name].law_numbers(), s[name].law_numbers(), rtol=1e-15, atol=0)
        assert again[name].state_names == s[name].state_names
