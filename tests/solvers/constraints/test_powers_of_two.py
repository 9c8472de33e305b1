"""Loops and gears in units that are powers of two: the same bits wherever nothing but scales of units is multiplied."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import titop as tt
from tests.solvers.constraints.test_closed_dynamics import slider_crank
from tests.solvers.scaled_systems import SI, Units, linkage
from tests.systems import Array

POWERS = [
    *[Units(2.0**k, 1.0, 1.0) for k in (-40, -27, -24, -20, 20, 30)],
    *[Units(1.0, 2.0**k, 1.0) for k in (-30, 30)],
    *[Units(1.0, 1.0, 2.0**k) for k in (-12, 12)],
    Units(2.0**-24, 2.0**-40, 2.0**-10),
]


def racked(units: Units) -> tt.System:
    """Return a sprung palm with two fingers: the left one drives the right one, and the right one's tip by a rack."""
    length, mass, time = units
    s = tt.System("hand", gravity=np.array([0.3, -1.0, -9.81]) * length / time**2)

    def body(name: str, own: float, moments: list[float], **ports: list[float]) -> tt.RigidBody:
        com = np.array([0.02, 0.01, 0.1]) * length
        places = {port: np.array(at) * length for port, at in ports.items()}
        return tt.RigidBody(name, own * mass, com, np.array(moments) * mass * length**2, places)

    palm = body("palm", 1.0, [0.1, 0.1, 0.1], l=[0.1, 0, 0.2], r=[-0.1, 0, 0.2])
    s.connect("world", palm, tt.Revolute("wrist", axis=[1, 2, 0.3], stiffness=2.0 * units.effort))
    for side in "lr":
        finger = body(f"finger_{side}", 0.3, [0.01, 0.02, 0.015], tip=[0, 0, 0.2])
        joint = tt.Revolute(side, axis=[0, 1, 0.2], damping=0.1 * units.effort * time)
        s.connect(palm.port(side), finger, joint)
        tip = body(f"tip_{side}", 0.1, [0.01, 0.02, 0.015])
        s.connect(finger.port("tip"), tip, tt.Prismatic(f"slide_{side}", axis=[0, 0.2, 1]))
    s.add_gear(tt.Gear("pair", driver="l", driven="r", ratio=-1.5, offset=0.2))
    s.add_gear(tt.Gear("rack", driver="l", driven="slide_r", ratio=0.05 * length))
    return s


def answers(
    m: tt.Model, units: Units, state: list[Array], prescribed: list[list[str]], actuated: list[list[str]]
) -> list[Array]:
    """Return hybrid and inverse dynamics and their derivatives at a state in SI, over the units of each."""
    lengths = np.where(np.array(m.mechanism.assembly.coordinate_units) == "m", units.length, 1.0)
    rate, second, effort = lengths / units.time, lengths / units.time**2, units.effort / lengths
    scales = lengths, rate, effort, second
    q, v, tau, a = (x * scale for x, scale in zip(state, scales, strict=True))
    found = []
    for names in prescribed:
        moved, efforts = m.hybrid_dynamics(q, v, tau, a, names)
        changes = m.hybrid_dynamics_derivatives(q, v, tau, a, names)
        found += [moved / second, efforts / effort]
        found += [part / second[:, None] * scale for part, scale in zip(changes[:4], scales, strict=True)]
        found += [part / effort[:, None] * scale for part, scale in zip(changes[4:], scales, strict=True)]
    for names in actuated:
        found.append(m.inverse_dynamics(q, v, a, actuated=names) / effort)
        parts = m.inverse_dynamics_derivatives(q, v, a, actuated=names)
        found += [part / effort[:, None] * scale for part, scale in zip(parts, (lengths, rate, second), strict=True)]
    return found


@pytest.mark.filterwarnings("ignore::titop.ModelWarning")
@pytest.mark.parametrize(
    ("make", "prescribed", "actuated"),
    [
        (slider_crank, [["A"], ["P"], ["B"]], [["A"], ["P"], ["B"]]),
        (linkage, [["A"], ["D"]], [["A"], ["B", "D"]]),
        (lambda units: linkage(units, geared=True), [["A"], ["E"], ["D"]], [["E"], ["A", "D"]]),
        (
            racked,
            [["wrist"], ["l"], ["slide_r"], ["r", "slide_l"], ["wrist", "slide_r"]],
            [["wrist", "l", "slide_l"], ["wrist", "slide_r", "slide_l"], ["wrist", "r", "slide_l"]],
        ),
    ],
    ids=["slider", "linkage", "geared", "rack"],
)
@pytest.mark.parametrize("engine", ["compiled", pytest.param("reference", marks=pytest.mark.long)])
def test_efforts_and_their_derivatives_in_other_units(
    make: Callable[[Units], tt.System], prescribed: list[list[str]], actuated: list[list[str]], engine: str
) -> None:
    """With a rack whose pitch is 1e-7 m a radian, and any other: what is least of one unit is so in all."""
    plain, rng = make(SI).resolve(engine), np.random.default_rng(3)
    q = plain.assemble(plain.integrate(plain.neutral(), rng.uniform(0.2, 0.8, plain.nv)))
    v = plain.assemble_velocity(q, rng.normal(size=plain.nv))
    a = plain.assemble_acceleration(q, v, rng.normal(size=plain.nv))
    state = [q, v, rng.normal(size=plain.nv), a]
    expected = answers(plain, SI, state, prescribed, actuated)
    for units in POWERS:
        for found, other in zip(
            answers(make(units).resolve(engine), units, state, prescribed, actuated), expected, strict=True
        ):
            # the same bits but for orders of sums, which weights of the system's size change
            np.testing.assert_allclose(found, other, rtol=0, atol=1e-12 * max(1.0, np.abs(other).max()), err_msg=str(units))
    assert np.abs(expected[-1]).max() > 1e-2
