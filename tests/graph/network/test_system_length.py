"""The length of a system: of its bodies, wherever the inertial frame is."""

from __future__ import annotations

import numpy as np
import pytest

import titop as tt

LENGTHS = (0.3, 0.9, 0.7)  # of crank, coupler and rocker; the ground's is 1


def four_bar(away: float, length: float = 0.1) -> tt.Model:
    """Return a planar four-bar linkage so far from the inertial origin."""
    s = tt.System("four-bar", gravity=[0, 0, 0])
    s.world.add_port("o", [0, away, 0])
    s.world.add_port("g", [length, away, 0])
    parent = s.world.port("o")
    for name, part in zip(("crank", "coupler", "rocker"), LENGTHS, strict=True):
        bar = tt.RigidBody(name, 1.0, [part * length / 2, 0, 0], 1e-3 * length**2, ports={"end": [part * length, 0, 0]})
        s.connect(parent, bar, tt.Revolute(f"q_{name}", axis=[0, 0, 1]))
        parent = bar.port("end")
    s.close_loop(s.world.port("g"), parent, tt.RigidClosure("pin", directions=np.eye(6)[:, :2]))
    return s.resolve()


def swing(target: float | None) -> tt.Model:
    """Return a sprung slide with a sprung arm, and a port of the world and one of the arm somewhere."""
    s = tt.System("swing", gravity=[0, 0, -9.81])
    cart = tt.RigidBody("cart", 1.0, com=[0, 0, 0.1], inertia=0.01)
    arm = tt.RigidBody("arm", 0.3, com=[0.2, 0, 0], inertia=0.01)
    if target is not None:
        s.world.add_port("station", [target, 0, 0])
        arm.add_port("target", [target, 0, 0])
    s.connect("world", cart, tt.Prismatic("rail", axis=[0, 0, 1], stiffness=100.0, damping=1.0))
    s.connect(cart, arm, tt.Revolute("hinge", axis=[0, 1, 0], stiffness=2.0, damping=0.1))
    return s.resolve()


def rod() -> tt.Model:
    """Return a clamped rod, and nothing else."""
    s = tt.System("rod", gravity=[0, 0, 0])
    s.connect("world", tt.Rod("rod", 0.7, tt.Section.circle(0.01), 1e6, 1000.0), tt.Weld("clamp"))
    return s.resolve()


@pytest.mark.parametrize("target", [3e4, 7e6, 1e9])
def test_ports_that_nothing_joins_do_not_move_equilibria(target: float) -> None:
    """Judged beside its longest port, of 1e9 m, a hinge would be in balance wherever it is."""
    found = tt.trim(swing(target), q=[0.5, 1.0]).q
    np.testing.assert_allclose(found, tt.trim(swing(None)).q, rtol=0, atol=1e-10)
    # the weight of both on the rail's spring; the arm's on the hinge's
    assert found[0] == pytest.approx(-1.3 * 9.81 / 100.0)
    assert 2.0 * found[1] == pytest.approx(0.3 * 9.81 * 0.2 * np.cos(found[1]))


@pytest.mark.parametrize("away", [3e4, 6e6])
def test_linkages_move_alike_wherever_they_stand(away: float) -> None:
    """Beside their distance from the origin the equations of closing would be lost; rounding leaves 1e-9 m of 6e6 m."""
    near, far = four_bar(0.0), four_bar(away)
    q = near.assemble([1.0, -0.5, -2.0], fixed=["q_crank"])
    assert far.closure_rank(q) == 2
    effort = [5e-4, 0, 0]
    still = np.zeros(3)
    expected = near.forward_dynamics(q, still, effort)
    np.testing.assert_allclose(far.forward_dynamics(q, still, effort), expected, rtol=1e-7)
    np.testing.assert_allclose(far.assemble([1.0, -0.5, -2.0], fixed=["q_crank"]), q, rtol=0, atol=1e-6)
    rates = near.assemble_velocity(q, [1.0, 0, 0], fixed=["q_crank"])
    np.testing.assert_allclose(far.assemble_velocity(q, [1.0, 0, 0], fixed=["q_crank"]), rates, rtol=1e-7)
    ends = [tt.simulate(model, [0, 0.2], q, still, tau=effort, progress=False).q[-1] for model in (near, far)]
    np.testing.assert_allclose(ends[1], ends[0], rtol=0, atol=1e-5)
    with pytest.raises(tt.ModelError, match="open-start"):
        tt.simulate(far, [0, 0.2], q + np.array([0, 1e-4, 0]), still)


@pytest.mark.parametrize(
    ("model", "length"), [(four_bar(0.0), 0.09), (four_bar(6e6), 0.09), (swing(None), 0.2), (swing(1e9), 0.2), (rod(), 0.7)]
)
def test_the_longest_of_what_moves_counts(model: tt.Model, length: float) -> None:
    assert model.mechanism.scale.length == pytest.approx(length)


def test_bodies_without_any_have_the_lengths_of_their_ports() -> None:
    s = tt.System("wheel", gravity=[0, 0, 0])
    s.connect("world", tt.RigidBody("disc", 1.0, inertia=1.0, ports={"rim": [0, 0.4, 0]}), tt.Revolute("axle"))
    assert s.resolve().mechanism.scale.length == pytest.approx(0.4)


def test_without_lengths_of_bodies_it_is_the_distance_of_what_holds_them() -> None:
    s = tt.System("rails", gravity=[0, 0, 0])
    s.world.add_port("left", [1e6, -1.0, 0])
    s.world.add_port("right", [1e6, 2.0, 0])
    for side in ("left", "right"):
        s.connect(s.world.port(side), tt.RigidBody(f"{side}_cart", 1.0), tt.Prismatic(f"{side}_rail", axis=[1, 0, 0]))
    assert s.resolve().mechanism.scale.length == pytest.approx(3.0)
    alone = tt.System("rail", gravity=[0, 0, 0])
    alone.world.add_port("left", [1e6, -1.0, 0])
    alone.connect(alone.world.port("left"), tt.RigidBody("cart", 1.0), tt.Prismatic("rail", axis=[1, 0, 0]))
    assert alone.resolve().mechanism.scale.length == 1.0


@pytest.mark.parametrize("com", [0.0, 1e-15, 1e-9, 1e-6, 1e-3])
@pytest.mark.parametrize("pushed", [True, False])
def test_what_rounding_leaves_of_a_centre_of_mass_is_no_length(com: float, pushed: bool) -> None:
    """Beside a radius of gyration of 0.3 m; what holds the arm is found for each, next to that without."""

    def gantry(com: float) -> tt.Model:
        s = tt.System("gantry", gravity=[0, 0, -9.81])
        bridge, trolley = tt.RigidBody("bridge", 1.0), tt.RigidBody("trolley", 1.0)
        arm = tt.RigidBody("arm", 1.0, com=[com, 0, 0], inertia=0.1, ports={"tool": [0.5, 0, 0]} if pushed else None)
        s.connect("world", bridge, tt.Prismatic("x", axis=[1, 0, 0], stiffness=100.0))
        s.connect(bridge, trolley, tt.Prismatic("z", axis=[0, 0, 1], stiffness=50.0))
        s.connect(trolley, arm, tt.Revolute("hinge", axis=[0, 1, 0], stiffness=3.0))
        if pushed:
            s.add_load(tt.Load("push", arm.port("tool"), force=[1.0, 0, 0]))
        return s.resolve()

    m = gantry(com)
    assert m.mechanism.scale.length == (0.5 if pushed else 1.0)
    exact = tt.trim(gantry(0.0), tau=[5.0, 1.0, 0.2]).q
    np.testing.assert_allclose(tt.trim(m, tau=[5.0, 1.0, 0.2]).q, exact, rtol=0, atol=1e-8 + 4 * com)
