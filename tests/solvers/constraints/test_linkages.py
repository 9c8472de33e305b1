"""Linkages against models that know nothing of trees and multipliers, another engine, and published results."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import fsolve

import titop as tt
from tests.closed_systems import (
    ANDREWS_ACCELERATIONS,
    ANDREWS_END,
    ANDREWS_ORDER,
    ANDREWS_TORQUE,
    accelerating,
    bar,
    closed_four_bar,
    four_bar,
    random_closed_tree,
    slider_crank,
)
from tests.solvers.constraints.linkages import GRAVITY, FourBar, SliderCrank, along, andrews_start, spring

pytestmark = pytest.mark.filterwarnings("ignore::titop.ModelWarning")


@pytest.mark.parametrize("engine", ["compiled", "reference"])
@pytest.mark.parametrize("angle", [0.5, 1.7, 4.0])
def test_four_bar_against_its_one_degree_of_freedom(engine: str, angle) -> None:
    oracle, rate, torque = FourBar(), 3.0, 0.7
    first, second, third = oracle.angles(angle)
    model = four_bar().resolve(engine)
    q = model.assemble([first, second - first, third - second], fixed=["q1"])
    assert q == pytest.approx([first, second - first, third - second], abs=1e-12)
    v = model.assemble_velocity(q, [rate, 0, 0], fixed=["q1"])
    assert v == pytest.approx(np.diff(oracle.rates(angle)[0] * rate, prepend=0.0), abs=1e-12)
    a = model.forward_dynamics(q, v, [torque, 0, 0])
    expected = oracle.acceleration(angle, rate, torque)
    # two derivations, complex steps in one: rounding at accelerations of 1e2
    assert a[0] == pytest.approx(expected, rel=1e-11)
    assert model.inverse_dynamics(q, v, a, actuated=["q1"]) == pytest.approx([torque, 0, 0], abs=1e-11)
    wrench = model.reaction("pin", q, v, a, tau=[torque, 0, 0])
    turn = np.array([along(third), [-np.sin(third), np.cos(third)]])
    assert wrench[:2] == pytest.approx(turn @ oracle.closure_force(angle, rate, expected), rel=1e-10)
    assert oracle.mass(angle) * 1.001 != pytest.approx(oracle.mass(angle), rel=1e-11), "a tolerance that can fail"


@pytest.mark.parametrize("engine", ["compiled", "reference"])
@pytest.mark.parametrize("angle", [0.4, 2.5, 5.0])
def test_slider_crank_inverse_dynamics_through_the_loop(engine: str, angle) -> None:
    oracle, rate, acceleration = SliderCrank(), 7.0, -4.0
    first, second, _ = oracle.angles(angle)
    model = slider_crank().resolve(engine)
    q = model.assemble([first, second - first, -second], fixed=["q1"])
    v = model.assemble_velocity(q, [rate, 0, 0], fixed=["q1"])
    a = model.assemble_acceleration(q, v, [acceleration, 0, 0], fixed=["q1"])
    torque = oracle.torque(angle, rate, acceleration)
    tau = model.inverse_dynamics(q, v, a, actuated=["q1"])
    # two derivations, complex steps in one: rounding at torques of 1e1
    assert tau == pytest.approx([torque, 0, 0], rel=1e-10, abs=1e-11)
    assert model.forward_dynamics(q, v, tau)[0] == pytest.approx(acceleration, abs=1e-10)
    slide = model.reaction("slide", q, v, a, tau=tau)
    assert slide == pytest.approx([0, oracle.slide_force(angle, rate, acceleration), 0, 0, 0, 0], rel=1e-10, abs=1e-10)


def test_a_compliant_closure_tends_to_the_rigid_one() -> None:
    """Two bars between fixed points carry their weight: gap and force are off by 1/K."""

    def truss(closure):
        s = tt.System("truss", gravity=[0, -GRAVITY, 0])
        s.world.add_port("ground", [1.0, 0, 0])
        left, right = bar("left", 0.7, 1.0), bar("right", 0.6, 2.0)
        s.connect("world", left, tt.Revolute("q1"))
        s.connect(left.port("end"), right, tt.Revolute("q2"))
        s.close_loop(s.world.port("ground"), right.port("end"), closure)
        return s.resolve()

    def force_at_rest(model, q):
        return model.pose("right.end", q)[0] @ model.reaction("pin", q, *np.zeros((3, 2))[:2], tau=np.zeros(2))[:3]

    rigid = truss(tt.RigidClosure("pin", directions=np.eye(6)[:, :2]))
    closed = rigid.assemble([0.7, -1.4])
    force = force_at_rest(rigid, closed)
    assert rigid.forward_dynamics(closed, np.zeros(2), np.zeros(2)) == pytest.approx([0, 0], abs=1e-11)
    gaps, errors = [], []
    for stiffness in (1e4, 1e5, 1e6):
        soft = truss(tt.CompliantClosure("pin", [stiffness, stiffness, 0, 0, 0, 0]))
        q = fsolve(lambda q, m=soft: m.inverse_dynamics(q, np.zeros(2), np.zeros(2)), closed, xtol=1e-14)
        gap = soft.pose("right.end", q)[1] - [1.0, 0, 0]
        assert gap == pytest.approx(-force / stiffness, rel=20 * GRAVITY / stiffness)
        gaps.append(np.linalg.norm(gap))
        errors.append(np.linalg.norm(force_at_rest(soft, q) - force))
    # first order in 1/K: ten times stiffer is ten times nearer, to the next order (force over stiffness: 1e-3)
    assert np.array(gaps[:-1]) / gaps[1:] == pytest.approx([10, 10], rel=2e-2)
    assert np.array(errors[:-1]) / errors[1:] == pytest.approx([10, 10], rel=2e-2)


@pytest.mark.parametrize("kind", ["weld", "spherical"])
@pytest.mark.parametrize("seed", range(4))
def test_against_pinocchio(kind, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    pin = pytest.importorskip("pinocchio")
    from tests.pinocchio_peer import Peer

    rng = np.random.default_rng(seed)
    joints = ("Revolute", "Spherical", "Free", "Prismatic", "Cylindrical")
    monkeypatch.setattr("tests.closed_systems.CLOSURE_KINDS", (kind,))
    s, q = random_closed_tree(rng, 8, compliant=0, kinds=joints, base="free")
    model, peer = s.resolve(), Peer(s)
    q = model.assemble(q)
    v, _, tau = accelerating(model, q, rng)
    (loop,) = s.loops
    (joint1, place1), (joint2, place2) = peer.frames[str(loop.first)], peer.frames[str(loop.second)]
    contact = pin.ContactType.CONTACT_6D if kind == "weld" else pin.ContactType.CONTACT_3D
    constraint = pin.RigidConstraintModel(contact, peer.model, joint1, place1, joint2, place2, pin.ReferenceFrame.LOCAL)
    constraints, states = pin.StdVec_RigidConstraintModel(), pin.StdVec_RigidConstraintData()
    constraints.append(constraint)
    states.append(constraint.createData())
    pin.initConstraintDynamics(peer.model, peer.data, constraints, states)
    settings = pin.ProximalSettings(1e-14, 1e-12, 50)
    arguments = peer.configuration(q), peer.to_pinocchio(v), peer.to_pinocchio(tau)
    expected = pin.constraintDynamics(peer.model, peer.data, *arguments, constraints, states, settings)[peer.v_order]
    found = model.forward_dynamics(q, v, tau)
    # two engines at accelerations of 1e2; its constraints are solved by iteration, to 1e-12
    assert np.abs(found - expected).max() < 1e-9 * np.abs(expected).max()
    free = model.mechanism.engine.dynamics.tree_hybrid(q, v, tau, np.zeros(model.nv), np.zeros(model.nv, dtype=bool), [])[0]
    assert np.abs(free - expected).max() > 1e-3 * np.abs(expected).max(), "the negative control"


def test_andrews_mechanism_is_the_published_one() -> None:
    model, q = andrews_start()
    # the published angles close the loops to the digits with which they are given
    assert np.abs(model.closure_error(q)).max() < 1e-15
    assert (model.nv, model.closure_rank(q)) == (7, 6)
    # rounding: both are given to 15 digits
    a = model.forward_dynamics(q, np.zeros(7), model.velocity({"beta": ANDREWS_TORQUE}), {"k3.D": spring(model, q)})
    assert a[:2] == pytest.approx(ANDREWS_ACCELERATIONS, rel=1e-11)


def test_andrews_mechanism_against_the_published_solution() -> None:
    model, q = andrews_start()
    drive = model.velocity({"beta": ANDREWS_TORQUE})
    pull = {"k3.D": lambda t, q, v: spring(model, q)}
    trajectory = tt.simulate(model, [0, 0.015, 0.03], q, np.zeros(7), drive, pull, rtol=1e-11, atol=1e-13)
    found = np.array([trajectory.q[-1][model.coordinate_names.index(name)] for name in ANDREWS_ORDER])
    # the crank turns 2.5 times; the published digits are known to carry errors of about 3e-10 themselves
    assert np.abs(found - ANDREWS_END).max() < 1e-8
    assert np.abs(model.closure_error(trajectory.q[-1])).max() < 1e-13


def test_closed_four_bar_starts_where_it_is_told() -> None:
    _, q, v = closed_four_bar(0.9, 1.5)
    assert (q[0], v[0]) == (0.9, 1.5)
