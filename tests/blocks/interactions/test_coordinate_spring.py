"""Springs and servos on linear combinations of coordinates, against their closed forms."""

from __future__ import annotations

import numpy as np
import pytest

import titop as tt
from titop.blocks.checking.block_check import check_block

ARMS, K, D, REST, GAIN = np.array([1.0, -0.5, 2.0]), 30.0, 0.4, 0.3, 7.0


def three_hinges(**more: float) -> tt.System:
    s = tt.System("hinges", gravity=[0, 0, 0])
    for name in "abc":
        s.connect("world", tt.RigidBody(f"{name}_wheel", mass=1.0, inertia=2.0), tt.Revolute(name))
    s.add_interaction(tt.CoordinateSpring("spring", ARMS, K, D, REST, **more), "a", "b", "c")
    return s


@pytest.mark.parametrize("engine", ["reference", "compiled"])
def test_efforts_are_arms_times_the_force_along_the_length(engine: str) -> None:
    m = three_hinges(gain=GAIN).resolve(engine=engine)
    q, v, u = np.array([0.3, -0.2, 0.5]), np.array([1.0, 2.0, -0.4]), 0.6
    force = GAIN * u - K * (ARMS @ q - REST) - D * (ARMS @ v)
    np.testing.assert_allclose(m.forward_dynamics(q, v, u=[u]), ARMS * force / 2.0, rtol=1e-13)  # a few roundings
    assert m.energy(q, v).elastic == pytest.approx(0.5 * K * (ARMS @ q - REST) ** 2, rel=1e-13)


def test_without_a_gain_there_is_no_input() -> None:
    assert three_hinges().resolve(engine="reference").nu == 0
    assert three_hinges(gain=GAIN).resolve(engine="reference").input_names == ("spring.command",)


def test_units_follow_the_first_coordinate() -> None:
    s = tt.System("rack", gravity=[0, 0, 0])
    s.connect("world", tt.RigidBody("rack_body", mass=1.0), tt.Prismatic("rack"))
    s.connect("world", tt.RigidBody("pinion_body", mass=1.0, inertia=1.0), tt.Revolute("pinion"))
    s.add_interaction(tt.CoordinateSpring("spring", [1.0, 0.1], K, D), "rack", "pinion")
    units = {name: unit for name, (_, unit) in s.resolve(engine="reference").parameters().items() if name.startswith("spring")}
    assert units["spring.stiffness"] == "N/m"
    assert units["spring.arms.1"] == "m/rad"


def test_it_obeys_the_contract_of_interactions() -> None:
    check_block(tt.CoordinateSpring("spring", ARMS, K, D, REST, GAIN))
