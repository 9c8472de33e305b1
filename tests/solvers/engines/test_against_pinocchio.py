"""Random trees of every kind of joint, against Pinocchio."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from numpy.typing import NDArray

import titop as tt

pytest.importorskip("pinocchio")

from tests.pinocchio_peer import Peer
from tests.systems import KINDS, random_body, random_state, random_tree

Array = NDArray[np.float64]

#: The accuracy asked of two engines in double precision. Rounding alone, over up to 40 bodies and condition numbers of the
#: mass matrix up to 2e5, leaves errors below 1e-12; a wrong term, or a millionth of a mass, is far above.
TOLERANCE = 1e-10

#: Trees of 1 to 40 bodies; every other one with springs, dampers, armatures and loads.
SEEDS = range(60)


@dataclass(frozen=True)
class Case:
    """A tree in both engines, at a random state."""

    system: tt.System
    model: tt.Model
    peer: Peer
    q: Array
    v: Array
    a: Array
    tau: Array
    wrenches: dict[str, Array]


def make_case(seed: int, engine: str = "compiled") -> Case:
    """Return the tree of a seed, with external wrenches on a third of its bodies."""
    rng = np.random.default_rng(seed)
    drives = seed % 2 == 1
    system = random_tree(rng, bodies=1 + 2 * seed // 3, passive=drives, loads=drives)
    model = system.resolve(engine)
    state = random_state(model, rng)
    wrenches = {f"{body}.A": rng.normal(size=6) for body in model.body_names[::3]}
    return Case(system, model, Peer(system), *state, wrenches)


@pytest.fixture(params=SEEDS, scope="module")
def case(request: pytest.FixtureRequest) -> Case:
    return make_case(request.param)


def relative_error(found: Array | float, expected: Array | float) -> float:
    """Return the error relative to the norm of the whole result.

    Not entry by entry: an entry in which large terms cancel keeps their rounding. Results are of order one or more in SI
    units; one that happens to be smaller, such as the acceleration of a grounded port, is compared absolutely.
    """
    return float(np.linalg.norm(np.subtract(found, expected)) / max(float(np.linalg.norm(expected)), 1.0))


def assert_dynamics_agree(model: tt.Model, c: Case) -> None:
    """Compare inverse and forward dynamics and the mass matrix."""
    q, v, a, tau, wrenches = c.q, c.v, c.a, c.tau, c.wrenches
    inverse = model.inverse_dynamics(q, v, a, wrenches)
    forward = model.forward_dynamics(q, v, tau, wrenches)
    assert relative_error(inverse, c.peer.inverse_dynamics(q, v, a, wrenches)) < TOLERANCE
    assert relative_error(forward, c.peer.forward_dynamics(q, v, tau, wrenches)) < TOLERANCE
    assert relative_error(model.mass_matrix(q), c.peer.mass_matrix(q)) < TOLERANCE


def test_cases_cover_kinds_bases_and_branches() -> None:
    cases = [make_case(seed) for seed in SEEDS]
    connections = [connection for c in cases for connection in c.system.connections]
    assert {type(connection.joint).__name__ for connection in connections} == set(KINDS)
    first = [c.system.connections[0].joint for c in cases]
    assert 20 < sum(isinstance(joint, tt.Free) for joint in first) < 40
    branches = [max(degree for _, degree in c.system.graph.out_degree()) for c in cases]
    assert sum(degree > 1 for degree in branches) > 50
    assert {len(c.system.connections) for c in cases} >= {1, 2, 39, 40}


def test_dynamics(case: Case) -> None:
    assert_dynamics_agree(case.model, case)


def test_dynamics_without_external_wrenches(case: Case) -> None:
    q, v, a, tau = case.q, case.v, case.a, case.tau
    inverse, forward = case.model.inverse_dynamics(q, v, a), case.model.forward_dynamics(q, v, tau)
    assert relative_error(inverse, case.peer.inverse_dynamics(q, v, a)) < TOLERANCE
    assert relative_error(forward, case.peer.forward_dynamics(q, v, tau)) < TOLERANCE


def test_hybrid_dynamics(case: Case) -> None:
    q, v, tau, m = case.q, case.v, case.tau, case.peer.mass_matrix(case.q)
    prescribed = list(case.peer.joints)[::2]
    motion = np.isin(case.model.coordinate_names, [n for n in case.model.coordinate_names if n.split(".")[0] in prescribed])
    expected_a = np.where(motion, case.a, 0.0)
    effort = ~motion
    rest = (tau - case.peer.inverse_dynamics(q, v, expected_a, case.wrenches))[effort]
    expected_a[effort] = np.linalg.solve(m[np.ix_(effort, effort)], rest)
    a, found_tau = case.model.hybrid_dynamics(q, v, tau, case.a, prescribed, case.wrenches)
    assert relative_error(a, expected_a) < TOLERANCE
    assert relative_error(found_tau, case.peer.inverse_dynamics(q, v, expected_a, case.wrenches)) < TOLERANCE


def test_terms_of_the_equations_of_motion(case: Case) -> None:
    q, v, model, peer = case.q, case.v, case.model, case.peer
    gravity, bias = peer.gravity_effects(q), peer.nonlinear_effects(q, v)
    assert relative_error(model.nonlinear_effects(q, v), bias) < TOLERANCE
    assert relative_error(model.gravity_effects(q), gravity) < TOLERANCE
    assert relative_error(model.coriolis_matrix(q, v) @ v, bias - gravity) < TOLERANCE
    assert relative_error(model.passive_efforts(q, v), peer.spring_and_damper_efforts(q, v)) < TOLERANCE


def test_energy_momentum_and_center_of_mass(case: Case) -> None:
    q, v, peer, energy = case.q, case.v, case.peer, case.model.energy(case.q, case.v)
    assert relative_error(energy.kinetic, peer.kinetic_energy(q, v)) < TOLERANCE
    assert relative_error(energy.gravity, peer.gravity_energy(q)) < TOLERANCE
    assert relative_error(energy.elastic, peer.elastic_energy(q)) < TOLERANCE
    assert relative_error(case.model.momentum(q, v), peer.momentum(q, v)) < TOLERANCE
    assert relative_error(case.model.center_of_mass(q), peer.center_of_mass(q)) < TOLERANCE


def test_motion_of_ports(case: Case) -> None:
    q, v, a, peer = case.q, case.v, case.a, case.peer
    for port in case.model.port_names:
        pose = peer.pose(port, q)
        rotation, position = case.model.pose(port, q)
        assert relative_error(rotation, pose.rotation) < TOLERANCE
        assert relative_error(position, pose.translation) < TOLERANCE
        assert relative_error(case.model.jacobian(port, q), peer.jacobian(port, q)) < TOLERANCE
        twist, acceleration = peer.twist_and_acceleration(port, q, v, a)
        motion = case.model.motion(port, q, v, a)
        assert relative_error(motion[6:12], twist) < TOLERANCE
        assert relative_error(motion[:6], acceleration) < TOLERANCE
        felt = acceleration[:3] + np.cross(twist[3:], twist[:3]) - pose.rotation.T @ case.system.gravity
        assert relative_error(case.model.accelerometer(port, q, v, a), felt) < TOLERANCE


def test_reactions(case: Case) -> None:
    q, v, a, wrenches = case.q, case.v, case.a, case.wrenches
    for joint in case.peer.joints:
        expected = case.peer.reaction(joint, q, v, a, wrenches)
        assert relative_error(case.model.reaction(joint, q, v, a, wrenches), expected) < TOLERANCE


@pytest.mark.parametrize("seed", SEEDS[::10])
def test_reference_resolver(seed: int) -> None:
    c = make_case(seed, engine="reference")
    assert_dynamics_agree(c.model, c)


@pytest.mark.parametrize("seed", SEEDS[::10])
def test_a_millionth_of_one_mass_is_seen(seed: int) -> None:
    c = make_case(seed)
    moving = c.system.connections[-1].child.block.name
    mass, _ = c.model.parameters()[f"{moving}.mass"]
    changed = c.model.with_parameters({f"{moving}.mass": mass * (1 + 1e-6)})
    assert_dynamics_agree(c.model.with_parameters({f"{moving}.mass": mass}), c)
    with pytest.raises(AssertionError):
        assert_dynamics_agree(changed, c)


@pytest.mark.parametrize("offset", [0.0, 1e-9, 1e-6, 1e-4, 1e-2])
@pytest.mark.parametrize("pole", np.vstack([np.eye(3), -np.eye(3)]).tolist())
def test_axes_near_the_coordinate_axes(pole: list[float], offset: float) -> None:
    rng = np.random.default_rng(0)
    system = tt.System("pendulum")
    axis = np.array(pole) + offset * np.array([0.6, -0.8, 0.3])
    system.connect("world", random_body(rng, "bob"), tt.Revolute("hinge", axis=axis))
    system.connect(
        system.connections[0].child, random_body(rng, "tip"), tt.Universal("elbow", axis1=axis, axis2=rng.normal(size=3))
    )
    model = system.resolve()
    c = Case(system, model, Peer(system), *random_state(model, rng), wrenches={})
    assert_dynamics_agree(model, c)
