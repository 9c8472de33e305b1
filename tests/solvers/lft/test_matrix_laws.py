"""Flexible bodies on what spins: members as `linearize` makes them, and laws that are no polynomial of their twist."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

import titop as tt
from tests.solvers.lft.satellites import panel
from titop.solvers.lft.matrix_laws import UncertainLaw, spun_law

#: Sums of products of numbers of order a thousand.
EXACT = 1e-10


def spinner(rate: float = 0.2) -> tuple[tt.Model, tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Return a panel of two modes on a hub that spins, and its state, held."""
    s = tt.System("spinner", gravity=[0, 0, 0])
    inertia = [[20.0, 1.0, -0.5], [1.0, 25.0, 0.7], [-0.5, 0.7, 30.0]]
    hub = tt.RigidBody("hub", 50.0, com=[0.05, 0.02, 0.1], inertia=inertia, ports={"arm": [0.5, 0.1, 0.2], "imu": [0.1, 0, 0]})
    s.connect("world", hub, joint=tt.Revolute("spin", axis=[0, 0, 1], damping=0.1))
    hinge = tt.Revolute("hinge", axis=[0, 1, 0], stiffness=2000.0, damping=1.0)
    s.connect(hub.port("arm"), panel("arm", 2), joint=hinge)
    s.add_actuator(tt.Torque("wheels", hub.port("imu")))
    m = s.resolve()
    q, v = m.neutral(), m.velocity({"spin": rate})
    return m, (q, v, m.inverse_dynamics(q, v, np.zeros(m.nv)))


@pytest.mark.parametrize(
    ("parameters", "most"),
    [
        ({"hinge.q": (-0.5, 0.6)}, [14]),
        ({"hub.arm.position.x": tt.percent(20)}, [4]),
        ({"hub.arm.rotation.z": (-0.3, 0.3)}, [8]),
        ({"spin.v": (0.15, 0.25)}, [7]),
        ({"spin.v": (0.15, 0.25), "hub.arm.position.x": tt.percent(20), "arm.mode1.frequency": tt.percent(10)}, None),
    ],
)
@pytest.mark.filterwarnings("ignore::titop.ModelWarning")
def test_what_spins_may_be_flexible(parameters: Mapping[str, Any], most: list[int] | None) -> None:
    """Angles, places and the rate itself; with as many copies as the degree says, two more of an angle, one of the rate."""
    m, point = spinner()
    model = tt.lft(m, point, parameters, ["hinge", "wheels"], ["hinge.q", "hub.imu.dv"])
    assert model.check(4) < EXACT
    if most is not None:
        assert all(block.repetitions <= own for block, own in zip(model.blocks, most, strict=True))


@pytest.mark.filterwarnings("ignore::titop.ModelWarning")
def test_the_rate_matters() -> None:
    """The negative control: the member of another rate is another one, by a percent of its response."""
    m, point = spinner()
    model = tt.lft(m, point, {"spin.v": (0.1, 0.3)}, ["hinge"], ["hinge.q"])
    s = 2.0j
    assert abs(model.at({"spin.v": 0.3})(s) / model.nominal(s) - 1) > 1e-3


def law_at(twist: np.ndarray, values: Mapping[str, float]) -> np.ndarray:
    """Return a made-up law: cubic where asked for, its second degree dependent on a number."""
    second = (1.0 + values.get("own", 0.0)) * twist[2] ** 2
    return np.array([[twist[0], second, values.get("cubic", 0.0)], [twist[1] * twist[2], 1.0, 2.0]])


def test_laws_that_are_none_are_refused_by_name() -> None:
    law: UncertainLaw = None  # type: ignore[assignment]
    middle = np.array([0.0, 0.1, 0.3, 0.0, 0.0, 0.2])
    found = spun_law(law, law_at, middle, [], ["spin.v"], "blade")
    np.testing.assert_allclose(found.linear[2, 0, 1], 2 * middle[2], rtol=1e-9, err_msg="the derivative of a square")
    with pytest.raises(tt.ModelError, match=r"spin\.v.*blade.*depends on own.*not-rational"):
        spun_law(law, law_at, middle, ["own"], ["spin.v"], "blade")
    with pytest.raises(tt.ModelError, match=r"spin\.v.*blade.*no quadratic function.*not-rational"):
        spun_law(law, lambda twist, values: law_at(twist, values) + twist[3] ** 3, middle, [], ["spin.v"], "blade")
