"""Identities that hold for every system: random trees, each identity with a control that breaks it.

Every ``assert_...`` below states one property. A test calls it on random systems; the test after it calls it on something
broken and expects it to fail.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

import titop as tt
from tests.refusals import ENGINES, LONG_BY_REFERENCE
from tests.solvers.model.identities import (
    FEW,
    SEEDS,
    SOME,
    Array,
    Case,
    assert_equal,
    assert_same,
    control_case,
    derivative,
    observations,
)
from tests.systems import random_pose

# -- power and wrenches ------------------------------------------------------------------------------------------------


def turns_from_rest(c: Case) -> list[float]:
    """Return how far spherical and free joints are turned: at pi, where the logarithm is cut, a spring's energy has a kink."""
    where = c.model.mechanism.assembly.q_slices
    joints = [connection.joint for connection in c.system.connections]
    groups = (joint for joint in joints if isinstance(joint, tt.Spherical | tt.Free))
    return [float(np.linalg.norm(joint.difference(joint.rest, c.q[where[joint.name]])[-3:])) for joint in groups]


def assert_power_balances(c: Case, tau: Array, wrenches: dict[str, Array]) -> None:
    """The energy changes by the power of applied efforts, dampers, loads and external wrenches."""
    model, q, v = c.model, c.q, c.v
    energy_rate = derivative(lambda t: model.energy(model.integrate(q, t * v), v + t * c.a).total)
    damping = model.passive_efforts(q, v) - model.passive_efforts(q, 0 * v)
    external = list(wrenches.items())
    external += [(str(load.target), load.wrench(model.pose(str(load.target), q)[0])) for load in c.system.loads]
    power = v @ (tau + damping) + sum(wrench @ model.jacobian(port, q) @ v for port, wrench in external)
    # energies reach thousands of joules in fast trees; the difference quotient keeps 1e-12 of them
    scale = max(1.0, sum(map(abs, model.energy(q, v))))
    assert_equal(energy_rate / scale, power / scale, 1e-9)


@pytest.mark.parametrize("engine", ENGINES)
@given(seed=SEEDS)
@SOME
def test_power_balance(engine: str, seed: int) -> None:
    c = Case(seed, engine)
    assume(all(turn < 3.1 for turn in turns_from_rest(c)))
    assert_power_balances(c, c.model.inverse_dynamics(c.q, c.v, c.a, c.wrenches), c.wrenches)


@pytest.mark.parametrize("engine", ENGINES)
def test_power_balance_misses_what_is_left_out(engine: str) -> None:
    c = control_case(engine)
    tau = c.model.inverse_dynamics(c.q, c.v, c.a, c.wrenches)
    without_dampers = c.model.with_parameters({name: 0.0 for name in c.model.parameters() if ".damping" in name})
    for wrong_tau, wrenches in (
        (-tau, c.wrenches),
        (tau, {}),
        (without_dampers.inverse_dynamics(c.q, c.v, c.a, c.wrenches), c.wrenches),
    ):
        with pytest.raises(AssertionError):
            assert_power_balances(c, wrong_tau, wrenches)


def stretched(c: Case, factor: float) -> Case:
    """Return the case with all quaternions multiplied by a factor."""
    other = copy.copy(c)
    quaternions = np.array([name.rpartition(".")[2] in ("qx", "qy", "qz", "qw") for name in c.model.configuration_names])
    other.q = np.where(quaternions, factor * c.q, c.q)
    return other


@pytest.mark.parametrize("engine", LONG_BY_REFERENCE)
@given(seed=SEEDS)
@FEW
def test_almost_unit_quaternions_are_normalised(engine: str, seed: int) -> None:
    c = Case(seed, engine, base="free")
    assert_same(observations(stretched(c, 1 + 9e-7), c.model), observations(c, c.model), c.tolerance)


@pytest.mark.parametrize("engine", ENGINES)
def test_other_quaternions_are_refused(engine: str) -> None:
    c = stretched(control_case(engine), 1 + 1.1e-6)
    q, v, a, tau = c.q, c.v, c.a, c.tau
    for call in (
        lambda model: model.forward_dynamics(q, v, tau),
        lambda model: model.inverse_dynamics(q, v, a),
        lambda model: model.forward_dynamics(q[None], v[None], tau[None]),
        lambda model: model.hybrid_dynamics(q, v, tau, a, ["j1"]),
        lambda model: model.mass_matrix(q),
        lambda model: model.energy(q, v),
        lambda model: model.motion("b0", q, v, a),
        lambda model: model.integrate(q, v),
    ):
        with pytest.raises(tt.ModelError, match="unit quaternion"):
            call(c.model)


# -- the same system said differently ----------------------------------------------------------------------------------


def rebuilt(
    system: tt.System, rename: Callable[[str], str], order: Sequence[int], rotation: Rotation, position: Array
) -> tt.System:
    """Return a system with other names and another order of the connect calls, everything displaced in the inertial frame."""
    s = tt.System("rebuilt", gravity=rotation.apply(system.gravity))
    bodies = {}
    for connection in system.connections:
        bodies[connection.child.block] = renamed(connection.child.block, rename)

    def port(ref: tt.PortRef) -> tt.PortRef:
        return tt.PortRef(bodies[ref.block], ref.name)

    for k in order:
        c = system.connections[k]
        parent, placement = c.parent, c.placement
        if parent.block is system.world:
            placement = after(tt.Pose(position, rotation), after(tt.Pose(*system.world.pose(parent.name)[::-1]), placement))
        s.connect("world" if parent.block is system.world else port(parent), port(c.child), renamed(c.joint, rename), placement)
    for load in system.loads:
        turn = rotation if load.frame == "world" else Rotation.identity()
        s.add_load(tt.Load(rename(load.name), port(load.target), turn.apply(load.force), turn.apply(load.torque), load.frame))
    return s


def renamed(block: tt.Block, rename: Callable[[str], str]) -> Any:
    """Return a copy of a block under another name."""
    block = copy.deepcopy(block)
    block.name = rename(block.name)
    return block


def after(outer: tt.Pose, inner: tt.Pose) -> tt.Pose:
    """Return the pose `inner`, given in the frame of the pose `outer`, in the frame in which that is given."""
    return tt.Pose(outer.position + outer.rotation @ inner.position, outer.rotation @ inner.rotation)


def assert_displaced(c: Case, moved: tt.Model, rotation: Rotation, position: Array) -> None:
    """The model tells the same, displaced where it speaks of the inertial frame."""
    found, expected = observations(c, moved), observations(c, c.model)
    turn = rotation.as_matrix()
    expected["pose"] = [turn @ pose + np.outer(position, [0, 0, 0, 1]) for pose in expected["pose"]]
    expected["center_of_mass"] = turn @ expected["center_of_mass"] + position
    expected["gravity"] = turn @ expected["gravity"]
    linear, angular = turn @ expected["momentum"][:3], turn @ expected["momentum"][3:]
    expected["momentum"] = np.concatenate([linear, angular + np.cross(position, linear)])
    mass = sum(value for name, (value, _) in c.model.parameters().items() if name.endswith(".mass"))
    kinetic, gravity, elastic = expected["energy"]
    expected["energy"] = kinetic, gravity - mass * moved.gravity @ position, elastic
    # position and attitude, seen from the inertial frame, are compared by "pose"
    for motions in (found, expected):
        motions["motion"] = [motion[:12] for motion in motions["motion"]]
    for name in expected:
        assert_equal(found[name], expected[name], c.tolerance)


@pytest.mark.parametrize("engine", LONG_BY_REFERENCE)
@given(seed=SEEDS)
@FEW
def test_displacing_the_world_changes_nothing_inside(engine: str, seed: int) -> None:
    c = Case(seed, engine)
    rotation, position = Rotation.from_quat(c.rng.normal(size=4)), c.rng.normal(size=3)
    moved = rebuilt(c.system, str, range(len(c.system.connections)), rotation, position).resolve(engine)
    assert_displaced(c, moved, rotation, position)


@pytest.mark.parametrize("engine", ENGINES)
def test_turning_the_world_but_not_gravity_does(engine: str) -> None:
    c = control_case(engine)
    rotation = Rotation.from_rotvec([0, 1e-6, 0])
    moved = rebuilt(c.system, str, range(8), rotation, np.zeros(3)).resolve(engine)
    fallen = moved.with_parameters({f"gravity.{axis}": g for axis, g in zip("xyz", c.system.gravity, strict=True)})
    assert_displaced(c, moved, rotation, np.zeros(3))
    with pytest.raises(AssertionError):
        assert_displaced(c, fallen, rotation, np.zeros(3))


def reordered(c: Case, engine: str) -> tuple[Case, NDArray[np.int64]]:
    """Return the case with other names and another order of the connect calls, and where its coordinates stood before."""
    other = copy.copy(c)
    order = c.rng.permutation(len(c.system.connections))
    aliases = dict(zip(c.model.body_names, c.rng.permutation([f"body/{k}" for k in range(len(order))]).tolist(), strict=True))

    def rename(name: str) -> str:
        return aliases.get(name, f"{name}-again")

    other.system = rebuilt(c.system, rename, order, Rotation.identity(), np.zeros(3))
    other.model = other.system.resolve(engine)
    back = {rename(name): name for name in (*c.model.joint_names, *c.model.body_names)}

    def places(names: Sequence[str], before: Sequence[str]) -> NDArray[np.int64]:
        originals = (".".join([back[name.split(".")[0]], *name.split(".")[1:]]) for name in names)
        return np.array([before.index(name) for name in originals], dtype=np.int64)

    q_places = places(other.model.configuration_names, c.model.configuration_names)
    v_places = places(other.model.coordinate_names, c.model.coordinate_names)
    other.q, other.v, other.a, other.tau = c.q[q_places], c.v[v_places], c.a[v_places], c.tau[v_places]
    other.wrenches = {rename(port.split(".")[0]) + port[len(port.split(".")[0]) :]: w for port, w in c.wrenches.items()}
    return other, v_places


def assert_reordered(c: Case, other: Case, places: NDArray[np.int64]) -> None:
    forward = c.model.forward_dynamics(c.q, c.v, c.tau, c.wrenches)
    inverse = c.model.inverse_dynamics(c.q, c.v, c.a, c.wrenches)
    assert_equal(other.model.forward_dynamics(other.q, other.v, other.tau, other.wrenches), forward[places], c.tolerance)
    assert_equal(other.model.inverse_dynamics(other.q, other.v, other.a, other.wrenches), inverse[places], c.tolerance)
    assert_equal(other.model.mass_matrix(other.q), c.model.mass_matrix(c.q)[np.ix_(places, places)], c.tolerance)
    assert_equal(other.model.energy(other.q, other.v), c.model.energy(c.q, c.v), c.tolerance)
    assert_equal(other.model.momentum(other.q, other.v), c.model.momentum(c.q, c.v), c.tolerance)


@pytest.mark.parametrize("engine", ENGINES)
@given(seed=SEEDS)
@SOME
def test_names_and_order_of_connections_do_not_matter(engine: str, seed: int) -> None:
    c = Case(seed, engine)
    assert_reordered(c, *reordered(c, engine))


@pytest.mark.parametrize("engine", ENGINES)
def test_coordinates_follow_the_order_of_connections(engine: str) -> None:
    c = control_case(engine)
    other, places = reordered(c, engine)
    with pytest.raises(AssertionError):
        assert_reordered(c, other, np.roll(places, 1))


def split(c: Case, steiner: float = 1.0) -> tt.System:
    """Return the case's system with its middle body cut in two halves that are welded together.

    `steiner` weighs the halves' distance in their inertia; 1 is right.
    """
    s = rebuilt(c.system, str, range(len(c.system.connections)), Rotation.identity(), np.zeros(3))
    body = s.connections[len(s.connections) // 2].child.block
    mass, cut = body.mass, random_pose(c.rng)
    near, far = 0.4 * mass, 0.6 * mass
    lever = c.rng.uniform(-0.05, 0.05, 3)
    remaining = body.inertia - steiner * near * far / mass * (lever @ lever * np.eye(3) - np.outer(lever, lever))
    com = body.com - lever * near / mass
    half = tt.RigidBody(
        "half",
        mass=far,
        com=cut.rotation.T @ (com - cut.position),
        inertia=cut.rotation.T @ (0.7 * remaining) @ cut.rotation,
        ports={"cut": tt.Pose()},
    )
    body.mass, body.com, body.inertia = near, body.com + lever * far / mass, 0.3 * remaining
    body.add_port("cut", cut.position, cut.rotation)
    s.connect(body.port("cut"), half.port("cut"), tt.Weld("glue"))
    return s


def assert_split_does_not_matter(c: Case, halves: tt.Model) -> None:
    found, expected = observations(c, halves), observations(c, c.model)
    ports = {"pose", "motion", "accelerometer", "jacobian", "reaction"}  # of other bodies: the last ones
    for name in expected.keys() - ports:
        assert_equal(found[name], expected[name], c.tolerance)
    for joint in c.model.joint_names:
        reactions = (model.reaction(joint, c.q, c.v, c.a, c.wrenches) for model in (halves, c.model))
        assert_equal(*reactions, c.tolerance)


@pytest.mark.filterwarnings("ignore::titop.ModelWarning")  # thin halves may violate the triangle inequality
@pytest.mark.parametrize("engine", LONG_BY_REFERENCE)
@given(seed=SEEDS)
@FEW
def test_a_body_may_be_split_in_welded_halves(engine: str, seed: int) -> None:
    c = Case(seed, engine)
    assert_split_does_not_matter(c, split(c).resolve(engine))


@pytest.mark.filterwarnings("ignore::titop.ModelWarning")
@pytest.mark.parametrize("engine", ENGINES)
def test_halves_without_their_distance_are_another_body(engine: str) -> None:
    c = control_case(engine)
    with pytest.raises(AssertionError):
        assert_split_does_not_matter(c, split(c, steiner=1.001).resolve(engine))
