"""Mechanisms of any size: what is independent, balanced and redundant does not depend on the unit of length."""

from __future__ import annotations

import functools
import warnings

import numpy as np
import pytest

import titop as tt

SIZES = [1e-6, 1e-4, 1e6]


def slider_crank(length: float, crank: float = 1.0) -> tt.System:
    """Return a slider-crank whose slider has a motion along its rail, everything times a length."""
    s = tt.System("slider_crank", gravity=[0, 0, 0])
    first = tt.RigidBody("crank", 1.0, com=[length / 2, 0, 0], inertia=0.1 * length**2, ports={"C": [crank * length, 0, 0]})
    rod = tt.RigidBody("rod", 1.0, com=[length, 0, 0], inertia=0.4 * length**2, ports={"C": [2 * length, 0, 0]})
    slider = tt.RigidBody("slider", 1.0, inertia=0.1 * length**2)
    s.connect("world", first, tt.Revolute("shaft", axis=[0, 0, 1]))
    s.connect(first.port("C"), rod, tt.Revolute("knee", axis=[0, 0, 1]))
    s.connect("world", slider, tt.Prismatic("rail", axis=[1, 0, 0]))
    s.close_loop(rod.port("C"), slider, tt.RigidClosure("pin", "revolute", axis=[0, 0, 1]))
    return s


def screw_jack(length: float) -> tt.System:
    """Return a nut that a gear moves along as a motor turns, beside a lever that it pushes: lengths lead and follow."""
    s = tt.System("jack", gravity=[0, 0, 0])
    nut = tt.RigidBody("nut", 1.0, inertia=0.1 * length**2)
    rotor = tt.RigidBody("rotor", 0.1, inertia=1e-3 * length**2)
    lever = tt.RigidBody("lever", 1.0, com=[length / 2, 0, 0], inertia=0.1 * length**2)
    block = tt.RigidBody("block", 0.3, inertia=0.02 * length**2)
    s.world.add_port("shaft", [0, length, 0])
    s.connect("world", nut, tt.Prismatic("rail", axis=[1, 0, 0]))
    s.connect("world", rotor, tt.Revolute("motor", axis=[1, 0, 0]))
    s.connect(s.world.port("shaft"), lever, tt.Revolute("pivot", axis=[0, 0, 1]))
    s.connect(lever, block, tt.Prismatic("slot", axis=[1, 0, 0]))
    s.close_loop(block, nut, tt.RigidClosure("pin", "revolute", axis=[0, 0, 1]))
    s.add_gear(tt.Gear("screw", "motor", "rail", ratio=0.05 * length))
    return s


def five_bar(length: float) -> tt.System:
    """Return a five-bar, one of whose shafts slides on a rail; its pin holds more than a plane mechanism needs."""
    s = tt.System("five_bar", gravity=[0, 0, 0])
    inertia = 0.1 * length**2
    first = tt.RigidBody("first", 1.0, com=[length / 2, 0, 0], inertia=inertia, ports={"C": [length, 0, 0]})
    second = tt.RigidBody("second", 1.0, com=[length, 0, 0], inertia=inertia, ports={"C": [2 * length, 0, 0]})
    third = tt.RigidBody("third", 0.7, com=[0.75 * length, 0, 0], inertia=inertia, ports={"C": [1.5 * length, 0, 0]})
    slider = tt.RigidBody("slider", 0.5, inertia=inertia / 2)
    s.connect("world", first, tt.Revolute("shaft", axis=[0, 0, 1]))
    s.connect(first.port("C"), second, tt.Revolute("knee", axis=[0, 0, 1]))
    s.connect("world", slider, tt.Prismatic("rail", axis=[1, 0, 0]))
    s.connect(slider, third, tt.Revolute("hip", axis=[0, 0, 1]))
    s.close_loop(second.port("C"), third.port("C"), tt.RigidClosure("pin", "revolute", axis=[0, 0, 1]))
    return s


#: How they are built, where they are, which coordinates are lengths (1), and some that move independently.
MECHANISMS = {
    "slider-crank": (slider_crank, [0.5, -0.8, 2.7], np.array([0, 0, 1]), ["rail"]),
    "jack": (screw_jack, [0.3, 6.0, -1.2, 1.05], np.array([1, 0, 0, 1]), ["slot"]),
    "five-bar": (five_bar, [0.5, -0.8, 2.0, 1.2], np.array([0, 0, 1, 0]), ["rail", "hip"]),
}


@functools.cache
def answers(name: str, length: float, engine: str) -> dict[str, object]:
    """Return what is found out of a mechanism, in units of its length."""
    build, guess, lengths, driven = MECHANISMS[name]
    sizes = length**lengths
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        m = build(length).resolve(engine)
    q = m.assemble(guess * sizes)
    v = m.assemble_velocity(q, sizes * np.cos(np.arange(m.nv)))
    tau = length**2 / sizes * np.sin(1.0 + np.arange(m.nv))
    a = m.forward_dynamics(q, v, tau)
    hybrid = m.hybrid_dynamics(q, v, tau, a, driven)
    found: dict[str, object] = {
        "warned": sorted({str(w.message).rpartition("[")[2] for w in caught if "inertia" not in str(w.message)}),
        "rank": m.closure_rank(q),
        "independent": m.independent_coordinates(q),
        "q": q / sizes,
        "v": v / sizes,
        "a": a / sizes,
        "efforts": m.inverse_dynamics(q, v, a, actuated=driven) * sizes / length**2,
        "slopes": m.forward_dynamics_derivatives(q, v, tau)[0] * sizes / sizes[:, None],
        "hybrid": hybrid[0] / sizes,
        "imposing": hybrid[1] * sizes / length**2,
        "imposing slopes": m.hybrid_dynamics_derivatives(q, v, tau, a, driven).dtau_dq * sizes[:, None] * sizes / length**2,
        "reaction": m.reaction("pin", q, v, a, tau=tau) / length ** np.array([1, 1, 1, 2, 2, 2]),
    }
    return found


@pytest.mark.parametrize("engine", ["compiled", "reference"])
@pytest.mark.parametrize("name", MECHANISMS)
@pytest.mark.parametrize("length", SIZES)
def test_answers_scale(name: str, length: float, engine: str) -> None:
    """With what the mechanism of length one says, to rounding times the condition of its equations.

    Slopes of efforts are those of least norm, in N and N m: rounding times the largest unit over the smallest.
    """
    expected, found = answers(name, 1.0, engine), answers(name, length, engine)
    for key, value in expected.items():
        if isinstance(value, np.ndarray):
            exact = 1e-6 if key == "imposing slopes" else 1e-10
            np.testing.assert_allclose(found[key], value, rtol=0, atol=exact * np.abs(value).max(), err_msg=key)
        else:
            assert found[key] == value, key
