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
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

import titop as tt
from tests.systems import KINDS, random_pose, random_state, random_tree

Array = NDArray[np.float64]

EPS = np.finfo(float).eps
ENGINES = ("compiled", "reference")
SEEDS = st.integers(0, 2**32 - 1)
#: Reproducible: the same seeds in every run.
FEW = settings(max_examples=12, derandomize=True, deadline=None, database=None)
SOME = settings(max_examples=30, derandomize=True, deadline=None, database=None)
#: Eighth-order central difference: offset in steps, weight.
STENCIL = ((1, 4 / 5), (2, -1 / 5), (3, 4 / 105), (4, -1 / 280))
#: Seed of the systems that the controls break: eight bodies, every joint moves.
CONTROL = 7


class Case:
    """A random tree at a random state, with external wrenches on two of its ports.

    Parameters
    ----------
    seed : int
    engine : {"compiled", "reference"}
    kinds : sequence of str
        Kinds of joint to draw from; a tree of welds alone has no coordinate.
    base : {"free", "fixed", "any"}
    """

    def __init__(self, seed: int, engine: str = "compiled", kinds: Sequence[str] = KINDS, base: str = "any") -> None:
        self.rng = np.random.default_rng(seed)
        bodies = 8 if seed == CONTROL else int(self.rng.integers(1, 9))
        drives = bool(self.rng.integers(2)) or seed == CONTROL
        self.system = random_tree(self.rng, bodies, kinds, base, passive=drives, loads=drives)
        self.model = self.system.resolve(engine)
        self.q, self.v, self.a, self.tau = random_state(self.model, self.rng)
        ports = self.rng.choice(self.model.port_names[3:], 2, replace=False)
        self.wrenches = {str(port): self.rng.normal(size=6) for port in ports}

    @property
    def tolerance(self) -> float:
        """Ten rounding errors, amplified by the condition of the mass matrix, above the rounding of the passes themselves."""
        return tolerance(self.model, self.q)


def control_case(engine: str = "compiled", base: str = "free") -> Case:
    """Return a case in which every body moves and every kind of effort acts."""
    return Case(CONTROL, engine, [kind for kind in KINDS if kind != "Weld"], base)


def tolerance(model: tt.Model, q: Array) -> float:
    """Return the relative error that rounding may leave in a solution with the mass matrix at `q`."""
    return 1e-12 + 10 * EPS * (np.linalg.cond(model.mass_matrix(q)) if model.nv else 1.0)


def assert_equal(found: Any, expected: Any, relative: float) -> None:
    """Compare in norm: relative to the whole result, absolutely where that is below 1 (states and units are of order one)."""
    found, expected = np.asarray(found), np.asarray(expected)
    assert found.shape == expected.shape
    assert np.linalg.norm(found - expected) <= relative * max(1.0, float(np.linalg.norm(expected)))


def derivative(function: Callable[[float], Any], step: float = 4e-3) -> Any:
    """Return the derivative at 0; truncation (about step^8) and rounding (eps / step) are both below 1e-12 of the function."""
    return sum(weight / step * (np.asarray(function(k * step)) - np.asarray(function(-k * step))) for k, weight in STENCIL)


def heavier(model: tt.Model) -> tt.Model:
    """Return the model with all masses a millionth larger."""
    masses = {name: value for name, (value, _) in model.parameters().items() if name.endswith(".mass")}
    return model.with_parameters({name: value * (1 + 1e-6) for name, value in masses.items()})


# -- forward, inverse and hybrid dynamics ------------------------------------------------------------------------------


def assert_forward_undoes_inverse(c: Case, forward: tt.Model) -> None:
    tau = c.model.inverse_dynamics(c.q, c.v, c.a, c.wrenches)
    assert_equal(forward.forward_dynamics(c.q, c.v, tau, c.wrenches), c.a, c.tolerance)


@pytest.mark.parametrize("engine", ENGINES)
@given(seed=SEEDS)
@SOME
def test_forward_dynamics_undoes_inverse_dynamics(engine: str, seed: int) -> None:
    c = Case(seed, engine)
    assert_forward_undoes_inverse(c, c.model)


@pytest.mark.parametrize("engine", ENGINES)
def test_forward_dynamics_of_heavier_bodies_does_not(engine: str) -> None:
    c = control_case(engine)
    with pytest.raises(AssertionError):
        assert_forward_undoes_inverse(c, heavier(c.model))


def assert_hybrid_is_consistent(c: Case, a: Array, prescribed: list[str]) -> None:
    """With the accelerations `a` of forward dynamics imposed on some joints, the others and all efforts come out."""
    free = ~mask(c.model, prescribed)
    noise = c.rng.normal(size=c.model.nv)
    known_a, known_tau = np.where(free, noise, a), np.where(free, c.tau, noise)
    found_a, found_tau = c.model.hybrid_dynamics(c.q, c.v, known_tau, known_a, prescribed, c.wrenches)
    expected = c.model.forward_dynamics(c.q, c.v, c.tau, c.wrenches)
    # accelerations carry the condition of the mass matrix, and efforts are the mass matrix times accelerations
    scale = max(1.0, float(np.linalg.norm(c.model.mass_matrix(c.q), 2)), float(np.linalg.norm(expected)))
    assert_equal(found_a, expected, c.tolerance)
    assert_equal(found_tau, c.tau, c.tolerance * scale)


def mask(model: tt.Model, prescribed: Sequence[str]) -> NDArray[np.bool_]:
    """Return which coordinates are named, by themselves or by their joint."""
    return np.array([name in prescribed or name.split(".")[0] in prescribed for name in model.coordinate_names], dtype=bool)


def some_coordinates(c: Case) -> list[str]:
    """Return a random choice of joints, and of single coordinates of the others."""
    joints = list(dict.fromkeys(name.split(".")[0] for name in c.model.coordinate_names))
    whole = [joint for joint in joints if c.rng.random() < 0.4]
    single = [name for name in c.model.coordinate_names if name.split(".")[0] not in whole and c.rng.random() < 0.3]
    return whole + single


@pytest.mark.parametrize("engine", ENGINES)
@given(seed=SEEDS)
@SOME
def test_hybrid_dynamics_lies_between_forward_and_inverse(engine: str, seed: int) -> None:
    c = Case(seed, engine)
    a = c.model.forward_dynamics(c.q, c.v, c.tau, c.wrenches)
    for prescribed in ([], some_coordinates(c), list(c.model.coordinate_names)):
        assert_hybrid_is_consistent(c, a, prescribed)


@pytest.mark.parametrize("engine", ENGINES)
def test_hybrid_dynamics_notices_another_motion(engine: str) -> None:
    c = control_case(engine)
    a = c.model.forward_dynamics(c.q, c.v, c.tau, c.wrenches) + 1e-6
    with pytest.raises(AssertionError):
        assert_hybrid_is_consistent(c, a, some_coordinates(c))


# -- mass matrix, Coriolis matrix --------------------------------------------------------------------------------------


def assert_is_mass_matrix(c: Case, matrix: Array) -> None:
    """Symmetric, positive definite, and its columns are the efforts of unit accelerations."""
    assert_equal(matrix, matrix.T, 1e-13)
    assert c.model.nv == 0 or np.linalg.eigvalsh(matrix)[0] > 0
    zero = np.zeros(c.model.nv)
    resting = c.model.inverse_dynamics(c.q, zero, zero)
    columns = [c.model.inverse_dynamics(c.q, zero, unit) - resting for unit in np.eye(c.model.nv)]
    # gravity and springs, up to a hundred times the inertia's efforts, cancel in the columns
    assert_equal(matrix.T, np.reshape(columns, matrix.shape), 1e-11)


@pytest.mark.parametrize("engine", ENGINES)
@given(seed=SEEDS)
@SOME
def test_mass_matrix(engine: str, seed: int) -> None:
    c = Case(seed, engine)
    assert_is_mass_matrix(c, c.model.mass_matrix(c.q))


def test_wrong_mass_matrices_are_found() -> None:
    c = control_case()
    matrix = c.model.mass_matrix(c.q)
    unsymmetric = matrix + 1e-9 * np.triu(np.ones_like(matrix), 1)
    for wrong in (-matrix, unsymmetric, heavier(c.model).mass_matrix(c.q)):
        with pytest.raises(AssertionError):
            assert_is_mass_matrix(c, wrong)


def assert_is_coriolis_matrix(c: Case, coriolis: Array) -> None:
    """``dM/dt - 2 C`` is skew and ``C v`` with gravity makes up the nonlinear effects."""
    matrix_rate = derivative(lambda t: c.model.mass_matrix(c.model.integrate(c.q, t * c.v)))
    difference = matrix_rate - 2 * coriolis
    scale = float(np.linalg.norm(c.model.mass_matrix(c.q)))
    # the step of the difference leaves 1e-11 of the mass matrix at chains of eight fast joints
    assert_equal(difference / scale, -difference.T / scale, 1e-9)
    assert_equal(coriolis @ c.v + c.model.gravity_effects(c.q), c.model.nonlinear_effects(c.q, c.v), 1e-11)


@pytest.mark.parametrize("engine", ENGINES)
@given(seed=SEEDS)
@FEW
def test_coriolis_matrix(engine: str, seed: int) -> None:
    c = Case(seed, engine, [kind for kind in KINDS if kind != "Weld"])
    assert_is_coriolis_matrix(c, c.model.coriolis_matrix(c.q, c.v))


@pytest.mark.parametrize("engine", ENGINES)
def test_half_the_velocity_derivative_is_no_coriolis_matrix(engine: str) -> None:
    c = control_case(engine)
    steps = np.eye(c.model.nv)
    ahead, behind = (np.array([c.model.nonlinear_effects(c.q, c.v + s * step) for step in steps]).T for s in (1.0, -1.0))
    with pytest.raises(AssertionError):
        assert_is_coriolis_matrix(c, 0.25 * (ahead - behind))  # exact, since quadratic, but for what joints of groups add


# -- power and wrenches ------------------------------------------------------------------------------------------------


def turns_from_rest(c: Case) -> list[float]:
    """Return how far spherical and free joints are turned: at pi, where the logarithm is cut, a spring's energy has a kink."""
    where = c.model.assembly.q_slices
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


def assert_wrenches_act_through_jacobians(c: Case, jacobian: Callable[[str], Array]) -> None:
    without = c.model.inverse_dynamics(c.q, c.v, c.a)
    with_wrenches = c.model.inverse_dynamics(c.q, c.v, c.a, c.wrenches)
    efforts = sum((jacobian(port).T @ wrench for port, wrench in c.wrenches.items()), np.zeros(c.model.nv))
    # the efforts of motion, up to a thousand times those of the wrenches, cancel in the difference
    assert_equal(without - with_wrenches, efforts, 1e-15 * max(1e3, float(np.linalg.norm(without))))


@pytest.mark.parametrize("engine", ENGINES)
@given(seed=SEEDS)
@SOME
def test_wrenches_act_through_jacobians(engine: str, seed: int) -> None:
    c = Case(seed, engine)
    assert_wrenches_act_through_jacobians(c, lambda port: c.model.jacobian(port, c.q))


@pytest.mark.parametrize("engine", ENGINES)
def test_wrenches_do_not_act_through_other_ports(engine: str) -> None:
    c = control_case(engine)
    c.wrenches = {"b3.A": c.wrenches.popitem()[1]}
    with pytest.raises(AssertionError):
        assert_wrenches_act_through_jacobians(c, lambda port: c.model.jacobian("b3.B", c.q))


# -- everything that a model tells -------------------------------------------------------------------------------------


def observations(c: Case, model: tt.Model) -> dict[str, Any]:
    """Return the results of all public functions of a model at the case's state, by function."""
    q, v, a, tau, wrenches = c.q, c.v, c.a, c.tau, c.wrenches
    ports = list(model.port_names[-3:])
    joints = model.joint_names[::3]
    hybrid = model.hybrid_dynamics(q, v, tau, a, list(model.coordinate_names[::2]), wrenches)
    return {
        "forward_dynamics": model.forward_dynamics(q, v, tau),
        "forward_dynamics with wrenches": model.forward_dynamics(q, v, tau, wrenches),
        "inverse_dynamics": model.inverse_dynamics(q, v, a),
        "inverse_dynamics with wrenches": model.inverse_dynamics(q, v, a, wrenches),
        "hybrid_dynamics": np.concatenate(hybrid),
        "mass_matrix": model.mass_matrix(q),
        "nonlinear_effects": model.nonlinear_effects(q, v),
        "gravity_effects": model.gravity_effects(q),
        "coriolis_matrix": model.coriolis_matrix(q, v),
        "passive_efforts": model.passive_efforts(q, v),
        "pose": [np.column_stack(model.pose(port, q)) for port in ports],
        "motion": [model.motion(port, q, v, a) for port in ports],
        "accelerometer": [model.accelerometer(port, q, v, a) for port in ports],
        "jacobian": [model.jacobian(port, q) for port in ports],
        "reaction": [model.reaction(joint, q, v, a, wrenches) for joint in joints],
        "energy": model.energy(q, v),
        "momentum": model.momentum(q, v),
        "center_of_mass": model.center_of_mass(q),
        "gravity": model.gravity,
    }


def assert_same(found: dict[str, Any], expected: dict[str, Any], relative: float) -> None:
    """Compare what two models tell."""
    for name in expected:
        assert_equal(found[name], expected[name], relative)


@given(seed=SEEDS)
@SOME
def test_resolvers_agree(seed: int) -> None:
    c = Case(seed)
    assert_same(observations(c, c.model), observations(c, c.system.resolve("reference")), c.tolerance)


def test_resolvers_disagree_on_everything_after_a_change_of_a_millionth() -> None:
    c = control_case()
    changes = {name: value + 1e-6 for name, (value, _) in c.model.parameters().items() if ".rest.q" not in name}
    found, expected = observations(c, c.model.with_parameters(changes)), observations(c, c.system.resolve("reference"))
    for name in expected:
        with pytest.raises(AssertionError):
            assert_equal(found[name], expected[name], c.tolerance)


def stretched(c: Case, factor: float) -> Case:
    """Return the case with all quaternions multiplied by a factor."""
    other = copy.copy(c)
    quaternions = np.array([name.rpartition(".")[2] in ("qx", "qy", "qz", "qw") for name in c.model.configuration_names])
    other.q = np.where(quaternions, factor * c.q, c.q)
    return other


@pytest.mark.parametrize("engine", ENGINES)
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


@pytest.mark.parametrize("engine", ENGINES)
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
@pytest.mark.parametrize("engine", ENGINES)
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


# -- batches and parameters --------------------------------------------------------------------------------------------


def assert_batch_equals_rows(c: Case, stack: tuple[Array, Array, Array], rows: tuple[Array, Array, Array]) -> None:
    for function in (c.model.forward_dynamics, c.model.inverse_dynamics):
        for wrenches in (None, c.wrenches):
            single = np.array([function(*row, wrenches) for row in zip(*rows, strict=True)])
            out = np.empty_like(rows[1])
            # not to the last digit: with wrenches, a single call and a batch take different ways through the kernels
            assert_equal(function(*stack, wrenches), single, c.tolerance)
            function(*stack, wrenches, out=out)
            assert_equal(out, single, c.tolerance)


def states(c: Case, number: int) -> tuple[Array, Array, Array]:
    """Return stacked configurations, velocities and efforts."""
    q, v, _, tau = zip(*(random_state(c.model, c.rng) for _ in range(number)), strict=True)
    return np.array(q), np.array(v), np.array(tau)


@pytest.mark.parametrize("engine", ENGINES)
@given(seed=SEEDS)
@FEW
def test_batches_equal_single_calls(engine: str, seed: int) -> None:
    c = Case(seed, engine)
    stack = states(c, 4)
    assert_batch_equals_rows(c, stack, stack)
    assert_batch_equals_rows(c, tuple(x[::2] for x in stack), tuple(x[::2] for x in stack))  # not contiguous


def test_a_batch_keeps_the_order_of_its_rows() -> None:
    c = control_case()
    stack = states(c, 4)
    with pytest.raises(AssertionError):
        assert_batch_equals_rows(c, stack, tuple(x[::-1] for x in stack))


def constructed(system: tt.System, values: dict[str, float]) -> tt.System:
    """Return the system built anew through the public constructors, with the numbers `values` by parameter name."""

    def numbers(stem: str, entries: Sequence[str]) -> list[float]:
        return [values[f"{stem}.{entry}"] for entry in entries]

    def pose(stem: str) -> tt.Pose:
        turn = Rotation.from_rotvec(numbers(f"{stem}.rotation", "xyz"))
        return tt.Pose(numbers(f"{stem}.position", "xyz"), turn)

    def body(block: tt.RigidBody) -> tt.RigidBody:
        xx, yy, zz, xy, xz, yz = numbers(f"{block.name}.inertia", ["xx", "yy", "zz", "xy", "xz", "yz"])
        return tt.RigidBody(
            block.name,
            mass=values[f"{block.name}.mass"],
            com=numbers(f"{block.name}.com", "xyz"),
            inertia=[[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]],
            ports={port: pose(f"{block.name}.{port}") for port in block.ports},
        )

    def joint(block: tt.Joint) -> tt.Joint:
        if not block.nv:
            return type(block)(block.name)
        names, n = block.coordinates, block.nv
        fields: dict[str, Any] = {field: numbers(f"{block.name}.{field}", "xyz") for field in type(block).axis_fields}
        if isinstance(block, tt.Screw):
            fields["pitch"] = values[f"{block.name}.pitch"]
        if n == 1:
            fields |= {field: values[f"{block.name}.{field}"] for field in ("stiffness", "damping", "armature", "rest")}
            return type(block)(block.name, **fields)
        for field in ("stiffness", "damping"):
            fields[field] = [
                [values[f"{block.name}.{field}.{names[min(i, j)]}.{names[max(i, j)]}"] for j in range(n)] for i in range(n)
            ]
        fields["armature"] = numbers(f"{block.name}.armature", names)
        fields["rest"] = numbers(f"{block.name}.rest", block.configuration_names)
        return type(block)(block.name, **fields)

    s = tt.System("constructed", gravity=numbers("gravity", "xyz"))
    for port in system.world.ports:
        world_port = pose(f"world.{port}")
        s.world.add_port(port, world_port.position, world_port.rotation)
    blocks: dict[str, tt.Block] = {"world": s.world}
    for c in system.connections:
        blocks[c.child.block.name] = body(c.child.block)
    for c in system.connections:
        parent, child = (tt.PortRef(blocks[ref.block.name], ref.name) for ref in (c.parent, c.child))
        s.connect(parent, child, joint(c.joint), pose(f"{c.joint.name}.placement"))
    for load in system.loads:
        target = tt.PortRef(blocks[load.target.block.name], load.target.name)
        force, torque = numbers(f"{load.name}.force", "xyz"), numbers(f"{load.name}.torque", "xyz")
        s.add_load(tt.Load(load.name, target, force, torque, load.frame))
    return s


def random_values(c: Case) -> dict[str, float]:
    """Return new values for about half of the blocks: inertias and springs remain positive, quaternions unit."""
    values: dict[str, float] = {}
    factors = {block: c.rng.uniform(0.8, 1.2) if c.rng.random() < 0.5 else 1.0 for block in c.model.assembly.blocks}
    for name, (value, _) in c.model.parameters().items():
        factor = factors.get(name.split(".")[0], 1.1)
        if factor != 1.0 and ".rest.q" not in name:
            values[name] = factor * value
    for connection in c.system.connections:
        joint = connection.joint
        if isinstance(joint, tt.Spherical | tt.Free):
            turn = c.rng.normal(size=4)
            values |= {
                f"{joint.name}.rest.{entry}": x
                for entry, x in zip(("qx", "qy", "qz", "qw"), turn / np.linalg.norm(turn), strict=True)
            }
        # springs appear where there were none, and go
        for i, entry in enumerate(joint.coordinates):
            switched = 0.0 if joint.stiffness[i, i] else c.rng.uniform(1.0, 5.0)
            if joint.nv == 1 and c.rng.random() < 0.5:
                values[f"{joint.name}.stiffness"] = switched
            elif joint.nv > 1 and switched:
                values[f"{joint.name}.stiffness.{entry}.{entry}"] = switched
    return values


@pytest.mark.parametrize("engine", ENGINES)
@given(seed=SEEDS)
@FEW
def test_changed_parameters_equal_a_system_built_with_them(engine: str, seed: int) -> None:
    c = Case(seed, engine)
    changes = random_values(c)
    before = {name: value for name, (value, _) in c.model.parameters().items()}
    changed = c.model.with_parameters(changes)
    c.model = constructed(c.system, before | changes).resolve(engine)
    assert_same(observations(c, changed), observations(c, c.model), c.tolerance)
    found = {name: value for name, (value, _) in changed.parameters().items()}
    assert found == before | changes


@pytest.mark.parametrize("engine", ENGINES)
def test_a_changed_model_leaves_its_origin_as_it_was(engine: str) -> None:
    c = control_case(engine)
    before = observations(c, c.model)
    observations(c, c.model.with_parameters(random_values(c)))
    assert_same(observations(c, c.model), before, 0.0)


@pytest.mark.parametrize("engine", ENGINES)
def test_each_parameter_matters_to_the_comparison(engine: str) -> None:
    c = control_case(engine)
    before = {name: value for name, (value, _) in c.model.parameters().items()}
    expected = observations(c, c.model)
    assert_same(observations(c, constructed(c.system, before).resolve(engine)), expected, c.tolerance)
    for name in ("b4.mass", "b4.com.y", "b4.inertia.xz", "j5.placement.rotation.x", "load3.torque.z", "gravity.x"):
        with pytest.raises(AssertionError):
            assert_same(observations(c, c.model.with_parameters({name: before[name] + 1e-6})), expected, c.tolerance)
