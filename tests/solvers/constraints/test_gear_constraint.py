"""Gears: two joint coordinates that move together, against the dynamics of the coordinates that remain."""

from __future__ import annotations

import numpy as np
import pytest

import titop as tt
from tests.closed_systems import OFFSET, RACK, RATIO, accelerating, geared_hand, random_closed_tree
from tests.refusals import ENGINES, assert_says, refused
from titop.blocks.basics.spatial import Array


def without_gears() -> tt.System:
    s = geared_hand()
    for gear in s.gears:
        del s.by_name[gear.name]
    s.gears.clear()
    return s


def reduction(model: tt.Model, ratio: float = RATIO) -> tuple[Array, Array]:
    """Return T and o with ``q = T x + o``, x wrist, left finger and left tip."""
    place = {name: k for k, name in enumerate(model.coordinate_names)}
    T, o = np.zeros((5, 3)), np.zeros(5)
    T[place["wrist"], 0] = T[place["l"], 1] = T[place["slide_l"], 2] = 1.0
    T[place["r"], 1], T[place["slide_r"], 1], o[place["r"]] = ratio, RACK, OFFSET
    return T, o


def meshed_state(model: tt.Model, seed: int = 0) -> tuple[Array, Array, Array]:
    """Return q and v in mesh, and efforts."""
    rng = np.random.default_rng(seed)
    T, o = reduction(model)
    return T @ rng.normal(size=3) + o, T @ rng.normal(size=3), rng.normal(size=5)


def reduced_accelerations(q: Array, v: Array, tau: Array, ratio: float = RATIO) -> Array:
    tree = without_gears().resolve("reference")
    T, _ = reduction(tree, ratio)
    h = tree.inverse_dynamics(q, v, np.zeros(5))
    return T @ np.linalg.solve(T.T @ tree.mass_matrix(q) @ T, T.T @ (tau - h))


@pytest.mark.parametrize("engine", ENGINES)
def test_dynamics_are_those_of_the_coordinates_that_remain(engine: str) -> None:
    model = geared_hand().resolve(engine)
    assert model.constraint_names == ("pair.mesh", "rack.mesh")
    q, v, tau = meshed_state(model)
    assert model.closure_rank(q) == 2
    assert np.abs(model.closure_error(q)).max() < 1e-15
    a = model.forward_dynamics(q, v, tau)
    assert np.abs(a - reduced_accelerations(q, v, tau)).max() < 1e-13  # rounding; accelerations of order 10
    T, _ = reduction(model)
    for actuated in (None, ["wrist", "l", "slide_l"], ["wrist", "r", "slide_l"]):
        efforts = model.inverse_dynamics(q, v, a, actuated=actuated)
        assert np.abs(T.T @ (efforts - tau)).max() < 1e-13
    found, efforts = model.hybrid_dynamics(q, v, tau, a, ["r"])
    assert np.abs(found - a).max() < 1e-12
    assert np.abs(T.T @ (efforts - tau)).max() < 1e-12


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("ratio", [1e7, 1e-7])
def test_a_gear_beside_one_of_quite_another_ratio_counts(engine: str, ratio: float) -> None:
    """Two pairs of flywheels, each a closed form: ``a = tau / (J_driver + ratio^2 J_driven)`` of the driver."""
    s = tt.System("pairs", gravity=[0, 0, 0])
    for name, each in (("swift", ratio), ("slow", 2.0)):
        for wheel in ("driver", "driven"):
            s.connect("world", tt.RigidBody(f"{name}_{wheel}", mass=1.0, inertia=0.5), tt.Revolute(f"{name}_{wheel}_axle"))
        s.add_gear(tt.Gear(name, driver=f"{name}_driver_axle", driven=f"{name}_driven_axle", ratio=each))
    model = s.resolve(engine)
    q, v = np.zeros(4), np.array([1.0, ratio, 1.0, 2.0])
    assert model.closure_rank(q) == 2
    drivers = np.array([1.0 / (0.5 + 0.5 * ratio**2), 1.0 / (0.5 + 0.5 * 4.0)])
    expected = np.array([drivers[0], ratio * drivers[0], drivers[1], 2.0 * drivers[1]])
    # without gears the drivers had 2 rad/s^2: what is left of that is known to its rounding
    np.testing.assert_allclose(model.forward_dynamics(q, v, [1.0, 0, 1.0, 0]), expected, rtol=1e-12, atol=1e-14)


def test_another_ratio_is_seen() -> None:
    """The negative control."""
    model = geared_hand(RATIO + 1e-6).resolve()
    q, v, tau = meshed_state(model)
    assert np.abs(model.forward_dynamics(q, v, tau) - reduced_accelerations(q, v, tau)).max() > 1e-8


@pytest.mark.filterwarnings("ignore::titop.ModelWarning")
@pytest.mark.parametrize("seed", range(4))
def test_with_closures_both_resolvers_agree(seed: int) -> None:
    rng = np.random.default_rng(seed)
    s, guess = random_closed_tree(rng, 6, passive=True, loads=True)
    plain = s.resolve()
    q = plain.assemble(guess)
    plain_joints = {c.joint.name for c in s.connections if c.joint.nv == c.joint.nq}
    pair = [name for name in plain.coordinate_names if name.partition(".")[0] in plain_joints][:2]
    values = [q[plain.mechanism.assembly.place(name)[0]] for name in pair]
    s.add_gear(tt.Gear("pair", *pair, ratio=0.7, offset=values[1] - 0.7 * values[0]))
    compiled, reference = s.resolve(), s.resolve("reference")
    for model in (compiled, reference):
        assert np.abs(model.closure_error(model.assemble(q))).max() < 1e-9
    q = compiled.assemble(q)
    assert compiled.closure_rank(q) == reference.closure_rank(q) == plain.closure_rank(q) + 1
    v, a, tau = accelerating(compiled, q, rng)
    for found, expected in (
        (compiled.closure_jacobian(q), reference.closure_jacobian(q)),
        (compiled.closure_bias(q, v), reference.closure_bias(q, v)),
        (compiled.forward_dynamics(q, v, tau), reference.forward_dynamics(q, v, tau)),
        (compiled.inverse_dynamics(q, v, a), reference.inverse_dynamics(q, v, a)),
    ):
        assert np.abs(found - expected).max() < 1e-9 * max(1.0, np.abs(expected).max())  # conditioning of random loops


@pytest.mark.parametrize("engine", ENGINES)
def test_derivatives(engine: str) -> None:
    model, twin = geared_hand().resolve(engine), geared_hand().resolve("reference")
    q, v, tau = meshed_state(model)
    a, step = model.forward_dynamics(q, v, tau), 1e-5
    slopes = model.forward_dynamics_derivatives(q, v, tau)
    inverse = model.inverse_dynamics_derivatives(q, v, a, actuated=["wrist", "l", "slide_l"])
    for k, direction in enumerate(np.eye(5) * step):
        for of, state in enumerate(([direction, 0, 0], [0, direction, 0], [0, 0, direction])):
            ahead = twin.forward_dynamics(q + state[0], v + state[1], tau + state[2])
            behind = twin.forward_dynamics(q - state[0], v - state[1], tau - state[2])
            # differences are good to 1e-9, of second order in the step
            assert np.abs((ahead - behind) / (2 * step) - slopes[of][:, k]).max() < 1e-7
    T, _ = reduction(model)
    for k, direction in enumerate(T.T * step):  # efforts are defined where accelerations stay in mesh
        for of, state in enumerate(([direction, 0, 0], [0, direction, 0], [0, 0, direction])):
            ahead, behind = (
                twin.inverse_dynamics(q + s * state[0], v + s * state[1], a + s * state[2], actuated=["wrist", "l", "slide_l"])
                for s in (1, -1)
            )
            assert np.abs((ahead - behind) / (2 * step) - inverse[of] @ T[:, k]).max() < 1e-7


def test_sensitivities_to_ratio_and_offset() -> None:
    model = geared_hand().resolve()
    q, v, tau = meshed_state(model)
    slopes = model.forward_dynamics_sensitivities(q, v, tau, ["pair.ratio", "pair.offset", "palm.mass"])
    step = 1e-5
    ahead, behind = (model.with_parameters({"pair.ratio": RATIO + s * step}).forward_dynamics(q, v, tau) for s in (1, -1))
    assert np.abs((ahead - behind) / (2 * step) - slopes["pair.ratio"]).max() < 1e-6
    assert np.abs(slopes["pair.offset"]).max() == 0.0  # it moves the mesh, not the dynamics at a given state


@pytest.mark.parametrize("method", ["DOP853", "generalized-alpha"])
def test_simulation_stays_in_mesh_and_keeps_energy(method: str) -> None:
    s = geared_hand()
    for connection in s.connections:
        connection.joint.damping = 0 * connection.joint.damping
    model = s.resolve()
    q, v, _ = meshed_state(model)
    accuracy = {"rtol": 1e-10, "atol": 1e-10} if method == "DOP853" else {"rtol": 1e-6, "atol": 1e-8}
    trajectory = tt.simulate(model, np.linspace(0, 1, 11), q, v, method=method, **accuracy)
    mesh = np.abs([model.closure_error(q) for q in trajectory.q]).max()
    energies = [sum(model.energy(q, v)) for q, v in zip(trajectory.q, trajectory.v, strict=True)]
    assert mesh < 1e-9
    # the tolerances, over some hundred steps; generalised-alpha also damps
    assert np.ptp(energies) < (1e-7 if method == "DOP853" else 1e-3) * max(1.0, np.abs(energies).max())


class TestFlywheels:
    """Two flywheels: everything in closed form."""

    I1, I2, RATIO, STIFFNESS = 2.0, 0.5, -3.0, 7.0

    def model(self, engine: str = "compiled") -> tt.Model:
        s = tt.System("flywheels", gravity=[0, 0, 0])
        for name, inertia in (("first", self.I1), ("second", self.I2)):
            wheel = tt.RigidBody(f"wheel_{name}", mass=1.0, inertia=[inertia] * 3)
            s.connect("world", wheel, tt.Revolute(name, stiffness=self.STIFFNESS if name == "second" else 0.0))
        s.add_gear(tt.Gear("mesh", driver="first", driven="second", ratio=self.RATIO))
        return s.resolve(engine)

    @property
    def inertia(self) -> float:
        return self.I1 + self.RATIO**2 * self.I2

    @pytest.mark.parametrize("engine", ENGINES)
    def test_dynamics(self, engine: str) -> None:
        model = self.model(engine)
        a = model.forward_dynamics([0.1, -0.3], [0.0, 0.0], [1.0, 0.0])
        expected = (1.0 - self.RATIO**2 * self.STIFFNESS * 0.1) / self.inertia
        assert a == pytest.approx([expected, self.RATIO * expected], rel=1e-14)
        assert model.inverse_dynamics([0.1, -0.3], [0.0, 0.0], a, actuated=["first"]) == pytest.approx([1.0, 0.0], abs=1e-14)

    def test_what_the_joint_carries_beside_the_gear(self) -> None:
        model = self.model()
        a = model.forward_dynamics([0.0, 0.0], [0.0, 0.0], [1.0, 0.0])
        assert model.reaction("first", [0.0, 0.0], [0.0, 0.0], a)[5] == pytest.approx(self.I1 * a[0], rel=1e-14)

    def test_what_the_gear_transmits(self) -> None:
        model = self.model()
        q, v, tau = [0.1, -0.3], [0.0, 0.0], [1.0, 0.4]
        a = model.forward_dynamics(q, v, tau)
        effort = model.gear_effort("mesh", q, v, a, tau=tau)
        assert effort == pytest.approx(self.I2 * a[1] - 0.4 + self.STIFFNESS * q[1], rel=1e-13)
        assert self.I1 * a[0] == pytest.approx(tau[0] - self.RATIO * effort, rel=1e-13)
        with pytest.raises(tt.ModelError, match="unknown-gear"):
            model.gear_effort("mess", q, v, a)

    @pytest.mark.parametrize("engine", ENGINES)
    def test_driven_coordinates_follow(self, engine: str) -> None:
        model = self.model(engine)
        assert model.assemble([0.1, 5.0]) == pytest.approx([0.1, -0.3])
        assert model.assemble([0.1, 5.0], fixed=["second"]) == pytest.approx([-5.0 / 3, 5.0])
        assert model.assemble_velocity([0.1, -0.3], [2.0, 1.0]) == pytest.approx([2.0, -6.0])
        assert model.assemble_acceleration([0.1, -0.3], [0, 0], [2.0, 1.0]) == pytest.approx([2.0, -6.0])
        assert model.independent_coordinates([0.1, -0.3]) == ("first",)

    def test_linear_model(self) -> None:
        model = self.model()
        system = tt.linearize(
            model, [0.0, 0.0], inputs=["first"], outputs=["second.q", "first.reaction[5]"], independent=["first"]
        )
        frequency = abs(self.RATIO) * np.sqrt(self.STIFFNESS / self.inertia)
        assert sorted(system.poles().imag) == pytest.approx([-frequency, frequency], rel=1e-12)
        assert system.D.ravel() == pytest.approx([0.0, self.I1 / self.inertia], abs=1e-14)
        assert system.C[0] == pytest.approx([self.RATIO, 0.0])

    def test_angular_errors_are_not_scaled(self) -> None:
        assert self.model().mechanism.angular_constraints.tolist() == [True]
        assert geared_hand().resolve().mechanism.angular_constraints.tolist() == [True, False]


def test_a_circle_of_gears_is_redundant_but_moves_rightly() -> None:
    s = tt.System("circle", gravity=[0, 0, 0])
    for k in range(3):
        s.connect("world", tt.RigidBody(f"w{k}", mass=1.0, inertia=1.0), tt.Revolute(f"j{k}"))
    for driver, driven, ratio in ((0, 1, 2.0), (1, 2, 3.0), (0, 2, 6.0)):
        s.add_gear(tt.Gear(f"g{driver}{driven}", f"j{driver}", f"j{driven}", ratio))
    with pytest.warns(tt.ModelWarning, match="redundant-closure"):
        model = s.resolve()
    assert model.closure_rank(np.zeros(3)) == 2
    a = model.forward_dynamics(np.zeros(3), np.zeros(3), [1.0, 0.0, 0.0])
    assert a == pytest.approx(np.array([1.0, 2.0, 6.0]) / 41, rel=1e-13)


def test_gears_that_contradict_each_other_are_noticed() -> None:
    s = geared_hand()
    s.add_gear(tt.Gear("other", driver="l", driven="r", ratio=RATIO, offset=OFFSET + 1.0))
    with pytest.raises(tt.ModelError, match=r"other: .*gears-contradict"):
        s.resolve()


@pytest.mark.parametrize(
    ("driver", "driven", "code", "where"),
    [
        ("l", "thumb", "unknown-joint", "extra.driven"),
        ("thumb", "l", "unknown-joint", "extra.driver"),
        ("ball", "l", "not-a-gear-coordinate", "extra.driver"),
        ("l.", "slide_l", "unknown-coordinate", "extra.driver"),
        ("r", "l", "gear-cycle", "l.angle"),
        ("ball.rx", "l", "not-a-gear-coordinate", "extra.driver"),
        ("l", "l", "self-connection", "extra"),
        ("l.angle", "l", "self-connection", "extra"),
    ],
)
def test_bad_gears_are_refused(driver: str, driven: str, code: str, where: str) -> None:
    s = geared_hand()
    s.connect("world", tt.RigidBody("extra_body", mass=1.0, inertia=1.0), tt.Spherical("ball"))
    s.add_gear(tt.Gear("extra", driver, driven))
    assert_says(refused(s), code, where)


def test_what_is_no_gear_is_refused() -> None:
    s = geared_hand()
    s.add_gear(tt.Revolute("other"))  # type: ignore[arg-type]
    assert_says(refused(s), "not-a-gear", "add_gear")
    s = geared_hand()
    s.add_gear(tt.Gear("extra", "l", "slide_l", ratio=np.nan))
    assert_says(refused(s), "not-finite", "extra.ratio")


def pointer(mass: float, ratio: float = -2.0) -> tt.System:
    """Return an arm and, at its end, a pointer of some mass that it drives; gravity acts in their plane."""
    s = tt.System("pointer", gravity=[0, -9.81, 0])
    arm = tt.RigidBody("arm", mass=1.0, com=[0.5, 0, 0], inertia=[0.1, 0.1, 0.1], ports={"end": [1, 0, 0]})
    needle = tt.RigidBody("needle", mass, com=[0.1, 0, 0], inertia=0.1 * mass) if mass else tt.RigidBody("needle", 0.0)
    s.connect("world", arm, tt.Revolute("a"))
    s.connect(arm.port("end"), needle, tt.Revolute("b"))
    s.add_gear(tt.Gear("mesh", driver="a", driven="b", ratio=ratio))
    return s


@pytest.mark.filterwarnings("ignore::titop.ModelWarning")
@pytest.mark.parametrize("engine", ENGINES)
def test_driven_links_need_no_inertia(engine: str) -> None:
    """Against the arm alone, in closed form, the driven joint's effort times the ratio acting on it, and the gear's effort."""
    model, efforts = pointer(0.0).resolve(engine), np.array([0.2, 0.1])
    q, v = model.assemble([0.3, 0.0]), model.assemble_velocity(model.assemble([0.3, 0.0]), [1.0, 0.0])
    inertia, weight = 0.1 + 0.25, 9.81 * 0.5
    expected = (0.2 - 2.0 * 0.1 - weight * np.cos(0.3)) / inertia
    a = model.forward_dynamics(q, v, efforts)
    assert a == pytest.approx([expected, -2.0 * expected], rel=1e-13)  # rounding
    by_q, _, by_tau = model.forward_dynamics_derivatives(q, v, efforts)
    along = by_q @ [1.0, -2.0]
    assert along == pytest.approx(np.array([1.0, -2.0]) * weight * np.sin(0.3) / inertia, rel=1e-12)
    assert by_tau == pytest.approx(np.outer([1.0, -2.0], [1.0, -2.0]) / inertia, rel=1e-12)
    assert model.hybrid_dynamics(q, v, efforts, [1.0, -2.0], ["a"])[1][0] == pytest.approx(inertia + weight * np.cos(0.3) + 0.2)
    assert model.gear_effort("mesh", q, v, a, tau=efforts) == pytest.approx(-0.1)  # nothing is moved by what both do
    assert np.abs(model.reaction("b", q, v, a, tau=efforts)).max() < 1e-13
    near = pointer(1e-9).resolve(engine).forward_dynamics(q, v, efforts)
    assert np.abs(near - a).max() < 1e-6  # accelerations of order 10 change by some times the mass
    assert np.abs(near - a).max() > 1e-10


@pytest.mark.filterwarnings("ignore::titop.ModelWarning")
def test_simulations_with_driven_links_without_inertia() -> None:
    """The energy of an arm that swings is that of the arm: to the integrator's tolerance."""
    model = pointer(0.0).resolve()
    run = tt.simulate(model, np.linspace(0, 1, 11), model.assemble([0.3, 0.0]), np.zeros(2), rtol=1e-10, atol=1e-12)
    energies = [sum(model.energy(q, v)[:2]) for q, v in zip(run.q, run.v, strict=True)]
    assert np.ptp(energies) < 1e-8
    assert np.abs(run.q[:, 1] + 2.0 * run.q[:, 0]).max() < 1e-8


@pytest.mark.filterwarnings("ignore::titop.ModelWarning")
@pytest.mark.parametrize("engine", ENGINES)
def test_gears_between_links_without_inertia_move_nothing(engine: str) -> None:
    s = pointer(0.0)
    s["arm"].mass, s["arm"].inertia = 0.0, np.zeros((3, 3))
    s.connect("world", tt.RigidBody("other", 1.0, inertia=1.0), tt.Revolute("c"))  # else nothing has dynamics, which is said
    with pytest.raises(tt.ModelError, match=r"a: .*massless-joint"):
        s.resolve(engine)


@pytest.mark.parametrize("engine", ENGINES)
def test_what_gears_do_is_part_of_joints_reactions(engine: str) -> None:
    """Motion alone says what joints transmit; along a driven joint's axis that is its effort, its damper's and the gear's."""
    model, tree = geared_hand().resolve(engine), without_gears().resolve("reference")
    q, v, tau = meshed_state(model)
    a = model.forward_dynamics(q, v, tau)
    for joint in model.joint_names:
        found, expected = model.reaction(joint, q, v, a, tau=tau), tree.reaction(joint, q, v, a)
        assert found == pytest.approx(expected, abs=1e-12)  # rounding of wrenches of order 10
    k, axis = model.coordinate_names.index("r"), np.array([0, 1, 0.2]) / np.hypot(1, 0.2)
    along = tau[k] - 0.1 * v[k] + model.gear_effort("pair", q, v, a, tau=tau)
    assert model.reaction("r", q, v, a, tau=tau)[3:] @ axis == pytest.approx(along, abs=1e-12)


def test_reactions_of_gears_are_not_wrenches() -> None:
    model = geared_hand().resolve()
    q, v, tau = meshed_state(model)
    with pytest.raises(tt.ModelError, match="unknown-joint"):
        model.reaction("pair", q, v, tau)


def test_files_subsystems_and_pictures(tmp_path) -> None:
    s = geared_hand()
    model = s.resolve()
    q, v, tau = meshed_state(model)
    a = model.forward_dynamics(q, v, tau)
    s.save(tmp_path / "hand.toml")
    again = tt.load(tmp_path / "hand.toml")
    assert (again.resolve().forward_dynamics(q, v, tau) == a).all()
    again.save(tmp_path / "again.toml")
    assert (tmp_path / "again.toml").read_bytes() == (tmp_path / "hand.toml").read_bytes()
    whole = tt.System("robot")
    whole.include(s, "left")
    gear = whole.gears[0]
    assert (gear.name, gear.driver, gear.driven) == ("left/pair", "left/l", "left/r")
    assert whole.resolve().forward_dynamics(q, v, tau) == pytest.approx(a, rel=1e-13)
    assert "gear pair: r = -1.5 x l + 0.2" in str(s)
    assert "gear rack: slide_r = 0.05 x l\n" in f"{s}\n"
    for picture in (s.to_mermaid(), s.to_dot(), s._repr_html_()):
        assert "-1.5 x l + 0.2" in picture.replace("#43;", "+")  # as Mermaid writes it
    s.draw(tmp_path / "hand.png")
    assert set(s.graph.successors("pair")) == {"l", "r"}


@pytest.mark.portable
def test_gears_with_flexible_bodies() -> None:
    """A flexible arm behind a gear: its modes are those of an arm on a shaft with the motor's reflected inertia."""
    beam = {"length": 1.0, "density": 1e3, "area": 1e-3, "young": 1e9, "iy": 1e-8, "iz": 1e-8}
    beam |= {"torsion_constant": 2e-8, "shear_modulus": 4e8}
    geared, direct = tt.System("geared", gravity=[0, 0, 0]), tt.System("direct", gravity=[0, 0, 0])
    for s, armature in ((geared, 0.0), (direct, 25 * 0.02)):
        s.connect("world", tt.Beam("arm", **beam), tt.Revolute("hinge", axis=[0, 0, 1], armature=armature))
    geared.connect("world", tt.RigidBody("rotor", mass=1.0, inertia=0.02), tt.Revolute("motor", axis=[0, 0, 1]))
    geared.add_gear(tt.Gear("box", driver="hinge", driven="motor", ratio=5.0))
    one, other = geared.resolve(), direct.resolve()
    rng = np.random.default_rng(0)
    x, rates, efforts = rng.normal(size=(3, other.nv)) * 0.1
    where = [one.coordinate_names.index(name) for name in other.coordinate_names]
    q, v, tau = np.zeros((3, one.nv))
    q[where], v[where], tau[where] = x, rates, efforts
    motor, hinge = one.coordinate_names.index("motor"), one.coordinate_names.index("hinge")
    q[motor], v[motor] = 5 * q[hinge], 5 * v[hinge]
    expected = other.forward_dynamics(x, rates, efforts)
    apart, mass = one.forward_dynamics(q, v, tau)[where] - expected, other.mass_matrix(x)
    error = one.conditioning(q).error + other.conditioning(x).error  # of the root of kinetic energy, 1e-11 each
    assert apart @ mass @ apart <= error**2 * (expected @ mass @ expected)
