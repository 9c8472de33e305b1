"""Rigid bodies that welds join are one element, and every one of them answers for itself: against the reference engine."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import titop as tt
from tests.flexible import unit_beam
from tests.systems import random_body, random_joint, random_port, random_pose, random_state

#: Of the largest entry: rounding of sums of some hundred products, of which stiff beams cancel a thousandfold.
CLOSE = 1e-11


def clump(seed: int, closed: bool = False, beam: bool = True) -> tt.System:
    """Return welds behind a hinge, a weld and a beam, on ports and reference frames, with all that acts on welded bodies."""
    rng = np.random.default_rng(seed)
    s = tt.System("clump", gravity=[0.3, -0.5, -9.81])
    bodies = [random_body(rng, f"b{k}") for k in range(9)]

    def connect(parent: Any, child: Any, joint: tt.Joint) -> None:
        s.connect(parent, child, joint=joint, placement=random_pose(rng))

    connect("world", random_port(rng, bodies[0]), random_joint(rng, "hinge", "Revolute", passive=True))
    for k, parent in ((1, 0), (2, 1), (3, 1)):
        connect(random_port(rng, bodies[parent]), random_port(rng, bodies[k]), tt.Weld(f"weld{k}"))
    connect(random_port(rng, bodies[2]), random_port(rng, bodies[4]), random_joint(rng, "universal", "Universal"))
    connect(random_port(rng, bodies[4]), random_port(rng, bodies[5]), tt.Weld("weld5"))
    connect("world", random_port(rng, bodies[6]), tt.Weld("ground"))
    connect(random_port(rng, bodies[6]), random_port(rng, bodies[7]), tt.Weld("weld7"))
    if beam:
        connect(bodies[3].port("A"), unit_beam(), tt.Weld("root"))
        connect(s["beam"].port("C"), bodies[8], tt.Weld("tip"))
    else:
        connect(bodies[3].port("A"), bodies[8], random_joint(rng, "ball", "Spherical"))
    for k in (1, 5):
        force, torque = rng.uniform(-10.0, 10.0, (2, 3))
        s.add_load(tt.Load(f"load{k}", random_port(rng, bodies[k]), force, torque, frame=("world", "port")[k == 5]))
    s.add_sensor(tt.Accelerometer("accelerometer", bodies[2].port("B")))
    s.add_sensor(tt.ReactionSensor("sensor", "weld2"))
    s.close_loop(bodies[5].port("A"), bodies[7].port("B"), tt.SpringDamper("spring", 30.0, damping=0.5, length=0.2))
    if closed:
        s.close_loop(bodies[8].port("A"), bodies[7].port("A"), tt.RigidClosure("pin", directions=np.eye(6)[:, :1]))
    return s


def results(m: tt.Model, q: Any, v: Any, a: Any, tau: Any) -> dict[str, Any]:
    """Return what one asks of a model under wrenches on welded bodies."""
    wrenches = {"b3.A": np.arange(6.0), "b7": np.ones(6), "b5": np.array([0.0, 1.0, 0.0, 2.0, 0.0, 0.0])}
    found: dict[str, Any] = {
        "forward": m.forward_dynamics(q, v, tau, wrenches),
        "inverse": m.inverse_dynamics(q, v, a, wrenches),
        "mass": m.mass_matrix(q),
        "momentum": m.momentum(q, v),
        "centre": m.center_of_mass(q),
        "energy": np.array(m.energy(q, v)),
        "derivatives": np.array(m.inverse_dynamics_derivatives(q, v, a, wrenches)),
        "outputs": m.outputs(q, v, a, wrenches),
        "regressor": m.regressor(q, v, a),
    }
    for joint in ("weld1", "weld2", "weld3", "weld5", "weld7", "ground", "hinge", "universal", "spring"):
        found[joint] = m.reaction(joint, q, v, a, wrenches)
    for port in ("b0.A", "b1", "b2.B", "b5.A", "b7.B"):
        found[f"motion of {port}"] = m.motion(port, q, v, a)
        found[f"Jacobian of {port}"] = m.jacobian(port, q)
    return found


def assert_alike(ours: tt.Model, theirs: tt.Model, seed: int) -> None:
    state = random_state(ours, np.random.default_rng(seed))
    expected = results(theirs, *state)
    for name, found in results(ours, *state).items():
        np.testing.assert_allclose(found, expected[name], rtol=0.0, atol=CLOSE * np.abs(expected[name]).max(), err_msg=name)


@pytest.mark.parametrize("beam", [False, True])
def test_engines_agree_on_welded_bodies(beam: bool) -> None:
    s = clump(1, beam=beam)
    assert_alike(s.resolve(), s.resolve(engine="reference"), 2)


def test_parameters_of_welded_bodies_stay_apart() -> None:
    s = clump(3)
    values = {
        "b1.mass": 4.0, "b2.com.x": 0.3, "b3.inertia.xx": 2.0, "b1.A.position.y": 0.4, "weld2.placement.position.z": -0.3,
        "b5.B.rotation.x": 0.2, "weld5.placement.rotation.y": 0.5,
    }  # fmt: skip
    ours, theirs = (s.resolve(engine=engine).with_parameters(values) for engine in ("compiled", "reference"))
    assert_alike(ours, theirs, 4)
    with pytest.raises(AssertionError):
        assert_alike(ours, s.resolve(engine="reference"), 4)


def test_welded_bodies_in_a_closed_loop() -> None:
    s = clump(5, closed=True, beam=False)
    ours, theirs = s.resolve(), s.resolve(engine="reference")
    q = ours.assemble(ours.random_configuration(np.random.default_rng(6)))
    v = ours.assemble_velocity(q, np.ones(ours.nv))
    a = ours.forward_dynamics(q, v)
    np.testing.assert_allclose(a, theirs.forward_dynamics(q, v), rtol=0.0, atol=CLOSE * np.abs(a).max())
    for joint in ("weld3", "weld7", "pin", "hinge"):
        expected = theirs.reaction(joint, q, v, a)
        np.testing.assert_allclose(ours.reaction(joint, q, v, a), expected, rtol=0.0, atol=CLOSE * np.abs(expected).max())


def test_welded_bodies_share_an_element() -> None:
    system: Any = clump(7).resolve().mechanism.engine.system
    elements = system.tables.elements
    assert elements["b0"] == elements["b1"] == elements["b3"] == elements["weld3"]
    assert elements["b2"] > elements["b1"]  # a sensor reads what the weld carries
    assert elements["b4"] == elements["b5"]
    assert elements["b6"] == elements["b7"] > 0
    assert len(system.apart.tables.constants) == len(system.tables.constants) + len(system.tables.welded)


def test_joints_that_move_nothing_are_named() -> None:
    s = tt.System("empty")
    first, second = (tt.RigidBody(name, 0.0) for name in ("first", "second"))
    s.connect("world", tt.RigidBody("base", 1.0), joint=tt.Revolute("base"))
    s.connect("base", first, joint=tt.Revolute("hinge"))
    s.connect(first, second, joint=tt.Weld("weld"))
    with pytest.raises(tt.ModelError, match="hinge"):
        s.resolve().forward_dynamics([0.0, 0.0], [0.0, 0.0], [0.0, 0.0])
