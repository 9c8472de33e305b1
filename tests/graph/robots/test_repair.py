"""What real robots have wrong is mended to the nearest sound value."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

import titop as tt
from tests.graph.robots.urdf_texts import GOOD, ROUNDING, inertial, one_joint
from titop.graph.robots.repair import nearest_inertia
from titop.graph.robots.urdf import from_urdf

Array = NDArray[np.float64]


# -- repair ------------------------------------------------------------------------------------------------------------


def repaired(text: str) -> tuple[tt.System, list[str]]:
    """Return the mended system and what is said about it."""
    with pytest.warns(tt.ModelWarning) as caught:
        system = from_urdf(text, repair=True)
    return system, [str(w.message) for w in caught]


def is_sound(inertia: Array, tolerance: float) -> bool:
    """Tell whether there is a distribution of mass with an inertia: its second moments are not negative."""
    second_moments = np.trace(inertia) / 2 * np.eye(3) - inertia
    return bool(np.linalg.eigvalsh(second_moments)[0] >= -tolerance)


def test_the_nearest_inertia() -> None:
    """The nearest point P of a convex cone to I is the one with ``(I - P) . (J - P) <= 0`` for all J in it."""
    rng = np.random.default_rng(1)
    unsound = 0
    for _ in range(300):
        inertia = rng.normal(size=(3, 3)) * 10.0 ** rng.uniform(-8, 8)
        inertia += inertia.T + rng.choice([0.0, 3.0]) * np.abs(inertia).max() * np.eye(3)
        size = float(np.abs(inertia).max())
        unsound += not is_sound(inertia, 0.0)
        nearest = nearest_inertia(inertia)
        rounding = 1e-13 * size  # of a few operations with entries of the size
        assert is_sound(nearest, rounding)
        if is_sound(inertia, 0.0):
            np.testing.assert_allclose(nearest, inertia, atol=rounding)
        for scale in (0.1, 1.0, 10.0):
            masses = scale * size * rng.normal(size=(3, 3))
            other = np.trace(masses @ masses.T) / size * np.eye(3) - masses @ masses.T / size
            assert np.sum((inertia - nearest) * (other - nearest)) <= 1e-12 * size * np.abs(other - nearest).max()
    assert 50 < unsound < 250


def test_a_nearby_inertia_is_not_the_nearest() -> None:
    """The negative control: the least change of the largest moment alone is no projection."""
    inertia, nearby = np.diag([1.0, 1.0, 3.0]), np.diag([1.0, 1.0, 2.0])
    np.testing.assert_allclose(nearest_inertia(inertia), np.diag([4, 4, 8]) / 3, rtol=1e-14)
    assert np.linalg.norm(nearby - inertia) > np.linalg.norm(nearest_inertia(inertia) - inertia)


@pytest.mark.parametrize("moments", [(-1e-9, 0.4, 0.4), (0.1, 0.2, 0.5), (-1.0, -1.0, -1.0)])
def test_inertias_are_mended(moments: tuple[float, ...]) -> None:
    text = one_joint("continuous", inertia=inertial(xyz="0 0 -1", rpy="0.1 0.2 0.3", diagonal=moments))
    system, said = repaired(text)
    assert len(said) == 1
    assert said[0].startswith("r.bob.inertia: got principal moments ")
    assert said[0].endswith("[repaired]")
    turn = Rotation.from_euler("xyz", [0.1, 0.2, 0.3]).as_matrix()
    np.testing.assert_allclose(system["bob"].inertia, turn @ nearest_inertia(np.diag(moments)) @ turn.T, atol=ROUNDING)
    assert system.check() == []
    with pytest.raises(tt.ModelError, match="repair=True") if min(moments) < 0 else pytest.warns(match="triangle-inequality"):
        from_urdf(text).resolve()


def two_joints(first: str = "", second: str = "", tip: str = "") -> str:
    """Return an arm of two joints, the outer link with `tip` as its inertial."""
    joints = "".join(
        f'<joint name="{name}" type="continuous"><axis xyz="{axis}"/>'
        f'<parent link="{parent}"/><child link="{child}"/>{inside}</joint>'
        for name, axis, parent, child, inside in (("inner", "1 0 0", "a", "b", first), ("outer", "0 1 0", "b", "c", second))
    )
    return f'<robot name="r"><link name="a"/><link name="b">{inertial()}</link><link name="c">{tip}</link>{joints}</robot>'


def test_mimics_of_unknown_joints_are_dropped() -> None:
    text = two_joints(second='<mimic joint="iner" multiplier="2"/>', tip=inertial())
    system, said = repaired(text)
    assert said == ["r.outer.mimic: got <mimic> of 'iner'; expected a joint that moves; 'outer' moves on its own [repaired]"]
    assert system.gears == []
    assert system.resolve().nv == 2
    with pytest.raises(tt.ModelError, match=r"did you mean 'inner'\?; or repair=True mends it"):
        from_urdf(text)


def test_mimics_that_are_sound_stay() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        system = from_urdf(two_joints(second='<mimic joint="inner"/>', tip=inertial()), repair=True)
    assert [gear.driver for gear in system.gears] == ["inner"]


@pytest.mark.parametrize(
    ("text", "coordinates"),
    [
        (two_joints(), ("inner",)),
        (two_joints().replace(inertial(), ""), ("inner", "outer")),
        (two_joints(second='<dynamics armature="1"/>').replace(inertial(), ""), ("outer",)),
        (two_joints(tip=inertial()).replace(inertial(), "", 1), ("inner", "outer")),
    ],
    ids=["leaf", "all", "armature", "massless within"],
)
def test_joints_that_carry_nothing_become_fixed(text: str, coordinates: tuple[str, ...]) -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        system = from_urdf(text, repair=True)
    assert system.resolve().coordinate_names == coordinates
    assert sum("taken as fixed" in str(w.message) for w in caught) == 2 - len(coordinates)


@pytest.mark.parametrize(
    "mimics", [{"second": '<mimic joint="inner"/>'}, {"first": '<mimic joint="outer"/>'}], ids=["follows", "leads"]
)
def test_joints_that_carry_nothing_stay_where_gears_couple_them_to_others(mimics: dict[str, str]) -> None:
    """They neither give a warning nor change how the others move, which welded ones would not either."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        system = from_urdf(two_joints(**mimics), repair=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        welded = from_urdf(two_joints(), repair=True).resolve("reference")
    m = system.resolve("reference")
    assert m.coordinate_names == ("inner", "outer")
    assert welded.coordinate_names == ("inner",)
    (expected,) = welded.forward_dynamics([0.3], [0.5], [0.7])
    turned = m.forward_dynamics([0.3, 0.3], [0.5, 0.5], [0.7, 0.0])
    np.testing.assert_allclose(turned, [expected, expected], rtol=ROUNDING)


def test_what_cannot_be_mended_is_refused_all_the_same() -> None:
    for old, new in (('mass value="2.0"', 'mass value="-2.0"'), ("bob", "stand"), ('xyz="0 1 0"', 'xyz="0 0 0"')):
        with pytest.raises(tt.ModelError):
            from_urdf(GOOD.replace(old, new), repair=True)
    with pytest.raises(tt.ModelError, match="another joint"):
        from_urdf(two_joints(first='<mimic joint="inner"/>', tip=inertial()), repair=True)


# -- leftovers that say nothing ------------------------------------------------------------------------------------------

LEFTOVERS = [
    ('axis xyz="0 1 0"', 'axis xyz="0 1 0" rpy="0 0 0"', "rpy='0 0 0' of <axis>"),
    ('ixy="0"', 'ixy="0" iyx="0"', "iyx='0' of <inertia>"),
    ('ixy="0"', 'ixy="0.01" iyx="1e-2"', "iyx='1e-2' of <inertia>"),
    (' ixz="0"', "", "no ixz; expected all products of inertia; taken as 0"),
    ('effort="4"', 'effort="-1"', "effort -1; expected a value >= 0; taken as unlimited"),
    ('velocity="3"', 'velocity="-1"', "velocity -1; expected a value >= 0; taken as unlimited"),
    ('lower="-1" upper="2"', 'lower="1" upper="0"', "lower 1 above upper 0; expected lower <= upper; taken as unlimited"),
]


@pytest.mark.parametrize(("old", "new", "word"), LEFTOVERS)
def test_leftovers_are_mended_with_a_word(old: str, new: str, word: str) -> None:
    text = GOOD.replace(old, new)
    assert text != GOOD
    with pytest.raises(tt.ModelError, match="repair=True"):
        from_urdf(text)
    system, said = repaired(text)
    assert len(said) == 1
    assert word in said[0]
    assert said[0].endswith("[repaired]")
    changed = "ixy" in old and "0.01" in new
    expected = from_urdf(GOOD)["bob"].inertia + (0.01 * (np.eye(3)[[1, 0, 2]] - np.diag([0, 0, 1])) if changed else 0.0)
    np.testing.assert_array_equal(system["bob"].inertia, expected)


def test_limits_that_are_none_limit_nothing() -> None:
    text = GOOD.replace('lower="-1" upper="2" velocity="3" effort="4"', 'lower="1" upper="0" velocity="-1" effort="-1"')
    system, said = repaired(text)
    assert len(said) == 3
    assert system["joint"].limits == (tt.Limits(),)


def test_a_product_given_the_other_way_round_is_taken() -> None:
    system, said = repaired(GOOD.replace('ixy="0"', 'iyx="0.01"'))
    assert system["bob"].inertia[0, 1] == 0.01
    (text,) = said  # and not that what is taken says nothing
    assert "no ixy" in text
    assert "taken as 0.01" in text


@pytest.mark.parametrize(
    ("old", "new", "where"),
    [
        ('axis xyz="0 1 0"', 'axis xyz="0 1 0" rpy="0 0 1"', "r.joint.axis.rpy"),
        ('ixy="0"', 'ixy="0.01" iyx="0"', "r.bob.inertial.inertia.iyx"),
        ('ixy="0"', 'ixy="0" iyx="zero"', "r.bob.inertial.inertia.iyx"),
    ],
)
def test_leftovers_that_say_something_are_refused(old: str, new: str, where: str) -> None:
    """The negative control: an axis that is turned, an inertia that is not symmetric."""
    with pytest.raises(tt.ModelError) as caught:
        from_urdf(GOOD.replace(old, new), repair=True)
    assert (caught.value.code, caught.value.where) == ("unknown-attribute", where)
