"""Massless rods, and nodes and links without mass that closures hold, against the same mechanisms without these."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

import titop as tt

Array = NDArray[Any]

CORNERS = {"A": [-1.0, -0.5, 0.0], "B": [1.0, -0.5, 0.0], "D": [0.0, 0.8, 0.1]}


def tripod(unit: float = 1.0) -> tt.System:
    """Return a cart with three rods that meet at a node without mass, from which a bob hangs; in another unit of mass."""
    s = tt.System("tripod", gravity=[0, 0, -10])
    cart = tt.RigidBody("cart", 2.0 * unit, inertia=0.1 * unit, ports=CORNERS)
    node, bob = tt.RigidBody("node", 0.0), tt.RigidBody("bob", 3.0 * unit)
    for body, joint in ((cart, tt.Prismatic("rail", [1, 0, 0])), (node, tt.Cartesian("at")), (bob, tt.Cartesian("swing"))):
        s.connect("world", body, joint)
    for corner in CORNERS:
        s.close_loop(cart.port(corner), node, tt.Distance(corner, 1.5))
    s.close_loop(node, bob, tt.Distance("rope", 1.0))
    return s


def stiff(top: Array) -> tt.System:
    """Return the same with the rope tied to the cart itself."""
    s = tt.System("pendulum", gravity=[0, 0, -10])
    cart, bob = tt.RigidBody("cart", 2.0, inertia=0.1, ports={"T": top}), tt.RigidBody("bob", 3.0)
    s.connect("world", cart, tt.Prismatic("rail", [1, 0, 0]))
    s.connect("world", bob, tt.Cartesian("swing"))
    s.close_loop(cart.port("T"), bob, tt.Distance("rope", 1.0))
    return s


def state_of(m: tt.Model) -> tuple[Array, Array]:
    """Return a closed configuration with the cart at zero, and velocities."""
    q = m.assemble(m.configuration({"at": [0, 0, 1.2], "swing": [0.2, 0.3, 0.3]}), fixed=["rail"])
    return q, m.assemble_velocity(q, np.array([0.3, 0.2, 0.2, -0.1, 0.5, -0.3, 0.2]))


#: The coordinates without those of the node.
OWN = [0, 4, 5, 6]


class TestNodes:
    @pytest.mark.parametrize("engine", ["reference", "compiled"])
    def test_rods_carry_as_the_cart_itself_does(self, engine: str) -> None:
        m = tripod().resolve(engine=engine)
        q, v = state_of(m)
        tau = np.array([0.4, 0, 0, 0, 0.3, -0.2, 0.1])
        plain = stiff(q[1:4]).resolve(engine=engine)
        a, expected = m.forward_dynamics(q, v, tau), plain.forward_dynamics(q[OWN], v[OWN], tau[OWN])
        # rounding of equations with condition about ten
        np.testing.assert_allclose(a[OWN], expected, atol=1e-12)
        np.testing.assert_allclose(a[1:4], [a[0], 0, 0], atol=1e-12)
        forces = {name: m.reaction(name, q, v, a, tau=tau)[:3] for name in ("A", "B", "D", "rope")}
        np.testing.assert_allclose(
            forces["rope"], plain.reaction("rope", q[OWN], v[OWN], expected, tau=tau[OWN])[:3], atol=1e-11
        )
        # the rods' pull on the node, and what the rope takes away
        np.testing.assert_allclose(forces["A"] + forces["B"] + forces["D"], forces["rope"], atol=1e-11)

    def test_derivatives_of_the_engines_agree(self) -> None:
        q, v = state_of(tripod().resolve())
        tau, a = np.zeros(7), np.zeros(7)
        models = [tripod().resolve(engine=engine) for engine in ("compiled", "reference")]
        for one, two in zip(*(m.forward_dynamics_derivatives(q, v, tau) for m in models), strict=True):
            np.testing.assert_allclose(one, two, atol=1e-12 * np.abs(two).max())  # rounding
        driven = [m.hybrid_dynamics_derivatives(q, v, tau, a, prescribed=["rail"]) for m in models]
        for one, two in zip(*driven, strict=True):
            np.testing.assert_allclose(one, two, atol=1e-12 * max(np.abs(two).max(), 1.0))

    @pytest.mark.parametrize("unit", [2.0**-20, 2.0**20])
    def test_units_of_mass_change_nothing(self, unit: float) -> None:
        one, other = tripod().resolve(), tripod(unit).resolve()
        q, v = state_of(one)
        np.testing.assert_allclose(other.forward_dynamics(q, v), one.forward_dynamics(q, v), atol=1e-12)  # rounding

    def test_a_run_is_that_of_the_plain_pendulum(self) -> None:
        m = tripod().resolve()
        q, v = state_of(m)
        t, plain = np.linspace(0, 2, 11), stiff(q[1:4]).resolve()
        runs = [tt.simulate(*each, rtol=1e-9, atol=1e-9) for each in ((m, t, q, v), (plain, t, q[OWN], v[OWN]))]
        np.testing.assert_allclose(
            runs[0].q[:, OWN], runs[1].q, atol=1e-7
        )  # the integrator's tolerance over some hundred steps

    def test_linear_models(self) -> None:
        m = tripod().resolve()
        point = tt.trim(m, q=state_of(m)[0])
        rates = np.sort(np.abs(np.linalg.eigvals(tt.linearize(m, point).A).imag))
        # a pendulum, and one on a cart of 2 kg; the cart's own motion is a double zero, of which rounding leaves its root
        np.testing.assert_allclose(rates, np.sqrt([0, 0, 10, 10, 25, 25]), atol=1e-6)
        members = tt.lft(m, point, {"cart.mass": tt.percent(20)}, ["rail"], ["swing.x.q"], reduce=False)
        changed = m.with_parameters({"cart.mass": 2.3})
        expected, member = tt.linearize(changed, point.q, ["rail"], ["swing.x.q"]), members.at({"cart.mass": 2.3})
        for rate in (0.3, 2.0, 7.0):
            one, two = (S.C @ np.linalg.solve(1j * rate * np.eye(6) - S.A, S.B) for S in (member, expected))
            np.testing.assert_allclose(one, two, rtol=1e-9)  # of the trim

    @pytest.mark.parametrize("engine", ["reference", "compiled"])
    def test_masses_may_become_zero(self, engine: str) -> None:
        system = tripod()
        system.graph.nodes["node"]["block"].mass = 0.5
        m, expected = system.resolve(engine=engine).with_parameters({"node.mass": 0.0}), tripod().resolve(engine="reference")
        q, v = state_of(expected)
        np.testing.assert_allclose(m.forward_dynamics(q, v), expected.forward_dynamics(q, v), atol=1e-12)  # rounding

    def test_a_small_mass_has_nearly_the_same_effect(self) -> None:
        m = tripod().resolve()
        q, v = state_of(m)
        exact, heavy = m.forward_dynamics(q, v), m.with_parameters({"node.mass": 1e-3}).forward_dynamics(q, v)
        assert 1e-5 < np.abs(heavy - exact).max() < 1e-2


class TestLinks:
    def test_a_coupler_without_mass_is_a_rod(self) -> None:
        """A four-bar mechanism, whose coupler is a body between revolute joints, or a constraint."""
        models = []
        for link in (True, False):
            s = tt.System("four bars", gravity=[0, -9.81, 0])
            s.world.add_port("R", position=[0.45, 0, 0])
            crank = tt.RigidBody("crank", 1.0, com=[0.1, 0, 0], inertia=0.02, ports={"E": [0.2, 0, 0]})
            rocker = tt.RigidBody("rocker", 2.0, com=[0.2, 0, 0], inertia=0.05, ports={"E": [0.4, 0, 0]})
            s.connect("world", crank, tt.Revolute("first"))
            s.connect(s.world.port("R"), rocker, tt.Revolute("last"))
            if link:
                s.connect(
                    crank.port("E"), coupler := tt.RigidBody("coupler", 0.0, ports={"E": [0.5, 0, 0]}), tt.Revolute("middle")
                )
                s.close_loop(coupler.port("E"), rocker.port("E"), tt.RigidClosure("pin", kind="planar_revolute"))
            else:
                s.close_loop(crank.port("E"), rocker.port("E"), tt.Distance("rod", 0.5))
            models += [s.resolve(), s.resolve(engine="reference")]
        q = models[0].assemble([1.0, 1.4, -0.6], fixed=["first"])
        v, tau = models[0].assemble_velocity(q, [2.0, 0, 0], fixed=["first"]), np.array([0.1, 0, 0])
        bodies, rods = ([m.forward_dynamics(q[:n], v[:n], tau[:n]) for m in models[k : k + 2]] for k, n in ((0, 3), (2, 2)))
        # rounding of equations with condition about ten
        np.testing.assert_allclose(bodies[0], bodies[1], atol=1e-11)
        np.testing.assert_allclose([bodies[0][:2], rods[0]], [rods[1], rods[1]], atol=1e-11)

    @pytest.mark.parametrize("engine", ["reference", "compiled"])
    def test_a_point_mass_in_the_pin_belongs_to_the_crank(self, engine: str) -> None:
        """The coupler turns about its own mass: its joint moves no inertia, though it has mass."""
        models = []
        for on_crank, on_coupler in ((1.0, 0.0), (0.0, 1.0)):
            s = tt.System("four bars", gravity=[0, -9.81, 0])
            s.world.add_port("R", position=[0.45, 0, 0])
            crank = tt.RigidBody("crank", 0.5 + on_crank, com=[0.2, 0, 0], inertia=0.02, ports={"E": [0.2, 0, 0]})
            rocker = tt.RigidBody("rocker", 2.0, com=[0.2, 0, 0], inertia=0.05, ports={"E": [0.4, 0, 0]})
            s.connect("world", crank, tt.Revolute("first"))
            s.connect(s.world.port("R"), rocker, tt.Revolute("last"))
            coupler = tt.RigidBody("coupler", on_coupler, ports={"E": [0.5, 0, 0]})
            s.connect(crank.port("E"), coupler, tt.Revolute("middle"))
            s.close_loop(coupler.port("E"), rocker.port("E"), tt.RigidClosure("pin", kind="planar_revolute"))
            models.append(s.resolve(engine=engine))
        q = models[0].assemble([1.0, -0.6, 1.4], fixed=["first"])
        v = models[0].assemble_velocity(q, [2.0, 0, 0], fixed=["first"])
        one, two = (m.forward_dynamics(q, v) for m in models)
        np.testing.assert_allclose(one, two, atol=1e-11)  # rounding of equations with condition about ten


class TestRefusals:
    @pytest.mark.parametrize("engine", ["reference", "compiled"])
    def test_pins_that_slide_freely(self, engine: str) -> None:
        """Two slots along one line hold the crank, and not the pin in them; rounding of the slots' direction is no inertia."""
        s, turned = tt.System("slots", gravity=[0, -10, 0]), tt.Pose(rotation=Rotation.from_euler("z", 0.3))
        crank, pin, other = tt.RigidBody("crank", 1.0, inertia=0.1), tt.RigidBody("pin", 0.0), tt.RigidBody("other", 0.0)
        s.connect("world", crank, tt.Revolute("hinge"))
        s.connect(crank, pin, tt.Prismatic("own", [1, 0, 0]))
        s.connect("world", other, tt.Prismatic("fixed", [1, 0, 0]), placement=turned)
        s.close_loop(pin, other, tt.RigidClosure("both", directions=np.eye(6)[:, :2]))
        with pytest.raises(tt.ModelError, match=r"no inertia along .*\[massless-joint\]"):
            s.resolve(engine=engine).forward_dynamics([0.3, 1.0, 1.0], np.zeros(3))

    def test_nodes_that_nothing_holds(self) -> None:
        s = tripod()
        s.connect("world", tt.RigidBody("lost", 0.0), tt.Cartesian("nowhere"))
        with pytest.raises(tt.ModelError, match=r"nowhere: .*hold it by rigid closures \[massless-joint\]"):
            s.resolve()

    @pytest.mark.parametrize("engine", ["reference", "compiled"])
    def test_nodes_that_can_swing(self, engine: str) -> None:
        s = tt.System("bridle", gravity=[0, 0, -10])
        s.world.add_port("A", position=[-1, 0, 0])
        s.world.add_port("B", position=[1, 0, 0])
        for name, mass in (("node", 0.0), ("bob", 3.0)):
            s.connect("world", tt.RigidBody(name, mass), tt.Cartesian(f"{name}_at"))
        node, bob = (s.graph.nodes[name]["block"] for name in ("node", "bob"))
        for corner in "AB":
            s.close_loop(s.world.port(corner), node, tt.Distance(corner, 1.5))
        s.close_loop(node, bob, tt.Distance("rope", 1.0))
        height = np.sqrt(1.5**2 - 1)
        m = s.resolve(engine=engine)
        hanging = m.configuration({"node_at": [0, 0, -height], "bob_at": [0, 0, -height - 1]})
        with pytest.raises(tt.ModelError, match=r"node_at.*\[(massless-joint|singular-closure)\]"):
            m.forward_dynamics(hanging, np.zeros(6))
