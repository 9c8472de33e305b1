"""Coefficients of drag, lift and added mass: what feeds energy, or acts without a fluid, is refused by name."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import titop as tt

WATER = tt.Fluid(1000.0)
TILTED = np.diag([1.0, 2.0, 3.0, 0.1, 0.1, 0.1])
TILTED[0, 1] = 0.5
NEGATIVE = np.diag([1.0, 2.0, -0.1, 0.0, 0.0, 0.0])


def ball(**given: Any) -> tt.System:
    s = tt.System("s")
    s.connect("world", tt.RigidBody("ball", 1.0, inertia=1.0, **given), tt.Free("base"))
    return s


def rod(**given: Any) -> tt.System:
    s = tt.System("s")
    s.connect("world", tt.Rod("rod", 1.0, tt.Section.circle(0.01), young=1e6, density=1000.0, **given), tt.Free("base"))
    return s


IMMERSED = {"fluid": WATER, "volume": 0.1}


@pytest.mark.parametrize(
    ("system", "given", "where", "code"),
    [
        (ball, {"drag": 1.0}, "ball.drag", "no-fluid"),
        (ball, {"volume": 1.0}, "ball.volume", "no-fluid"),
        (ball, {"fluid": WATER}, "ball.volume", "no-volume"),
        (ball, {"fluid": WATER, "volume": -1.0}, "ball.volume", "negative-volume"),
        (ball, {**IMMERSED, "drag": {"x": -0.1}}, "ball.drag.x", "negative-coefficient"),
        (ball, {**IMMERSED, "drag": {"sideways": 0.1}}, "ball.drag.sideways", "unknown-coefficient"),
        (ball, {**IMMERSED, "drag": "much"}, "ball.drag", "wrong-type"),
        (ball, {**IMMERSED, "drag": NEGATIVE}, "ball.drag", "negative-coefficient"),
        (ball, {**IMMERSED, "added_mass": TILTED}, "ball.added_mass", "not-symmetric"),
        (ball, {**IMMERSED, "added_mass": NEGATIVE}, "ball.added_mass", "negative-coefficient"),
        (ball, {**IMMERSED, "added_mass": "potential"}, "ball.added_mass", "wrong-type"),
        (ball, {**IMMERSED, "lift": [1.0, 2.0]}, "ball.lift", "wrong-shape"),
        (rod, {"added_mass": 1.0}, "rod.added_mass", "no-fluid"),
        (rod, {"lift": 1.0}, "rod.lift", "no-fluid"),
        (rod, {"fluid": WATER, "drag": {"normal": np.nan}}, "rod.drag.normal", "not-finite"),
        (rod, {"fluid": WATER, "added_mass": lambda X: NEGATIVE}, "rod.added_mass", "negative-coefficient"),
        (rod, {"fluid": WATER, "drag": lambda X: np.eye(5)}, "rod.drag", "bad-values"),
    ],
)
def test_bad_coefficients_are_named(system: Any, given: dict[str, Any], where: str, code: str) -> None:
    with pytest.raises(tt.ModelError) as refused:
        system(**given).resolve(engine="reference")
    assert (where, code) in [(finding.where, finding.code) for finding in refused.value.findings]


def test_a_drag_may_lift() -> None:
    """The skew part does no work: the control above is the same matrix as an added mass."""
    ball(**IMMERSED, drag=TILTED).resolve(engine="reference")
    drag = rod(fluid=WATER, drag=TILTED)["rod"].check()[0]
    assert not drag


def test_a_number_stands_for_all_directions_or_the_normal_ones() -> None:
    one, two = (ball(**IMMERSED, added_mass=given)["ball"] for given in (0.5, {"x": 0.5, "y": 0.5, "z": 0.5}))
    np.testing.assert_array_equal(one.mass_matrix(None), two.mass_matrix(None))
    q = np.zeros(12)
    one, two = (rod(fluid=WATER, added_mass=given)["rod"] for given in (0.9, {"normal_y": 0.9, "normal": 0.9}))
    np.testing.assert_array_equal(one.mass_matrix(q), two.mass_matrix(q))
    assert one.parameters()["added_mass.normal"] == (0.9, "1")


@pytest.mark.parametrize("name", ["fluid.density", "added_mass.x", "drag.x"])
@pytest.mark.parametrize("kind", ["body", "rod", "beam"])
def test_changed_coefficients_are_held_to_the_same(kind: str, name: str) -> None:
    """A negative drag would feed energy, whether it is given or changed."""
    water: dict[str, Any] = {"fluid": tt.Fluid(1000.0, [0.1, 0, 0])}
    if kind == "body":
        block: tt.Block = tt.RigidBody("wet", 1.0, inertia=0.1, volume=0.001, added_mass={"x": 0.5}, drag={"x": 0.1}, **water)
    else:
        water |= {"added_mass": {"normal": 1.0}, "drag": {"normal": 1.0}}
        name = name.replace(".x", ".normal")
    if kind == "rod":
        block = tt.Rod("wet", 0.3, tt.Section.circle(0.01), 1e6, 1100.0, strains={"bending_z": 1}, **water)
    elif kind == "beam":
        block = tt.Beam("wet", 1.0, 1100.0, 1e-3, 1e9, 1e-7, 1e-7, **water)
    s = tt.System("s")
    s.connect("world", block, tt.Free("float"))
    m = s.resolve(engine="reference")
    with pytest.raises(tt.ModelError, match=rf"wet\.{name}: got -0\.5"):
        m.with_parameters({f"wet.{name}": -0.5})
    changed = m.with_parameters({f"wet.{name}": 0.5, "wet.fluid.current.x": -0.5})
    assert changed.parameters()[f"wet.{name}"][0] == 0.5
