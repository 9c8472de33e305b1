"""Connected blocks are the linear model of the whole, made without blocks; what they leave open is refused by name."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import control
import numpy as np
import pytest

import titop as tt
from tests.closed_systems import bar
from tests.refusals import refusal
from tests.systems import random_body

#: Of the largest response: two ways to one number, through the inverse of a mass matrix each.
TOLERANCE = 1e-12


def parts(model: tt.Model, point: Any) -> tuple[list[control.StateSpace], list[tuple[str, str]]]:
    """Return the blocks of a tree about a point, and their connections."""
    blocks, connections = [], []
    for one in model.mechanism.assembly.connections:
        joint, child, parent = one.joint.name, one.child.block.name, one.parent
        blocks += [tt.block_system(model, point, joint), tt.block_system(model, point, child)]
        connections.append((f"{joint}.C", f"{child}.P"))
        if parent.block.name != "world":
            connections.append((str(parent), f"{joint}.P"))
    return blocks, connections


def chain() -> tt.System:
    """Return rigid bodies on hinges with springs, placements and loads in both frames."""
    s = tt.System("chain", gravity=[1, 2, -9.81])
    bodies = [random_body(np.random.default_rng(k), f"b{k}") for k in range(4)]
    s.connect("world", bodies[0].port("B"), tt.Revolute("j0", [1, 2, 3]), placement=tt.Pose([1, 0, 0]))
    hinge = tt.Revolute("j1", [0, 1, 1], stiffness=3.0, damping=0.1)
    s.connect(bodies[0].port("A"), bodies[1], hinge, placement=tt.Pose([0, 1, 2]))
    s.connect(bodies[1].port("B"), bodies[2].port("A"), tt.Universal("j2"))
    s.connect(bodies[0].port("A"), bodies[3], tt.Prismatic("j3", [1, 0, 0], stiffness=30.0))
    s.add_load(tt.Load("fixed", bodies[2].port("B"), force=[1, 2, 3], torque=[0.3, 0.2, 0.1], frame="world"))
    return s


def satellite() -> tt.System:
    """Return a free hub with two flexible arms, and a hinge between one of them and a body."""
    s = tt.System("satellite", gravity=[0, 0, 0])
    hub = tt.RigidBody("hub", 20.0, com=[0.1, 0, 0], inertia=[3, 4, 5], ports={"L": [0.5, 0, 0], "R": [-0.5, 0.1, 0]})
    arms = [
        tt.Beam(name, 2.0, density=1500.0, area=4e-4, young=5e9, iy=2e-8, iz=3e-8, damping_ratio=0.01)
        for name in ("left", "right")
    ]
    s.connect("world", hub, tt.Free("base"))
    s.connect(hub.port("L"), arms[0], tt.Revolute("drive", [1, 0, 0], stiffness=10.0))
    s.connect(hub.port("R"), arms[1], tt.Weld("root"), placement=tt.Pose.from_rotation_vector([0, 0, 0], [0, 0, 2.0]))
    s.connect(arms[0].port("C"), tt.RigidBody("mass", 1.0, inertia=0.1), tt.Revolute("tip", [0, 1, 0], damping=0.1))
    return s


def hanging() -> tt.System:
    """Return a beam that bends under its weight and that of a body, on the frame of a cart, without a port of its own."""
    s = tt.System("hanging", gravity=[0, 0, -9.81])
    cart = tt.RigidBody("cart", 2.0, inertia=0.1)
    beam = tt.Beam("beam", 1.0, density=2700.0, area=1e-4, young=7e10, iy=1e-9, iz=2e-9, modes=1, torsion_modes=0)
    s.connect("world", cart, tt.Prismatic("rail", [1, 0, 0], stiffness=50.0, damping=0.1))
    s.connect(cart, beam, tt.Revolute("hinge", [0, 1, 0], stiffness=200.0, damping=0.1))
    s.connect(beam.port("C"), tt.RigidBody("bob", 0.5, com=[0, 0, -0.2], inertia=0.01), tt.Spherical("ball"))
    return s


def spinner() -> tt.System:
    """Return a body on a turning shaft, with another on a hinge."""
    s = tt.System("spinner", gravity=[0, 0, 0])
    hub, arm = (random_body(np.random.default_rng(k), name) for k, name in enumerate(("hub", "arm")))
    s.connect("world", hub, tt.Revolute("shaft", [0, 0, 1]))
    s.connect(hub.port("A"), arm, tt.Revolute("hinge", [1, 2, 0], stiffness=4.0))
    return s


def four_bar() -> tt.System:
    """Return a planar linkage with springs under gravity, the last pin of which is a joint, its foot welded to the world."""
    s = tt.System("four-bar", gravity=[0, -9.81, 0])
    s.world.add_port("ground", [1.0, 0, 0])
    parent: Any = "world"
    for name, length in (("crank", 0.3), ("coupler", 0.9), ("rocker", 0.7)):
        link = bar(name, length, 1.0)
        s.connect(parent, link, joint=tt.Revolute(f"at_{name}", stiffness=2.0, damping=0.1))
        parent = link.port("end")
    foot = tt.RigidBody("foot", 0.1, inertia=0.1, ports={"sole": [0, 0, 0]})
    s.connect(parent, foot, tt.Revolute("pin"))
    s.close_loop(s.world.port("ground"), foot.port("sole"), tt.RigidClosure("weld", "planar_weld"))
    return s


def held(system: tt.System, **motion: Any) -> tt.OperatingPoint:
    """Return a point away from zero, held by efforts."""
    model = system.resolve()
    q = motion.pop("q", None)
    if q is None:
        q = model.integrate(model.neutral(), np.random.default_rng(5).uniform(-0.5, 0.5, model.nv))
    return tt.trim(model, [f"{name}.tau" for name in model.coordinate_names], q=q, **motion)


def compare(point: tt.OperatingPoint, extra: tuple[Any, ...] = (), independent: Any = None) -> control.StateSpace:
    """Compare connected blocks and the linear model of the whole: responses of all efforts, and poles."""
    model, names = point.model, list(point.model.coordinate_names)
    outputs = [f"{name}.{end}" for end in "qva" for name in names]
    whole = tt.linearize(model, point, names, outputs, independent=independent)
    blocks, connections = parts(model, point)
    joined = tt.connect_blocks(blocks, [*connections, *extra], [f"{name}.tau" for name in names], outputs)
    assert joined.nstates == whole.nstates
    for s in (0.7j, 1.0 + 2.0j, 30.0j):
        expected = whole(s)
        stiff = 1e-18 * np.abs(whole.A).max()  # rounding of stiff modes in slow motions: the two engines differ as much
        assert np.abs(joined(s) - expected).max() < (TOLERANCE + stiff) * max(1.0, np.abs(expected).max())
    return joined


@pytest.mark.parametrize("system", [chain(), satellite(), hanging()], ids=["tree", "flexible", "loaded"])
@pytest.mark.filterwarnings("ignore::titop.ModelWarning")
def test_blocks_at_rest_are_the_whole(system: tt.System) -> None:
    """Springs at joints, loads, gravity; the states are the joints' and the beams' coordinates, so that A is the same too."""
    model = system.resolve()
    flexible = {"satellite": lambda: tt.OperatingPoint(model, model.neutral()), "hanging": lambda: tt.trim(model)}
    point = flexible.get(system.name, lambda: held(system))()
    joined, names = compare(point), list(point.model.coordinate_names)
    whole = tt.linearize(point.model, point, names, [f"{name}.{end}" for end in "qva" for name in names])
    order = [joined.state_labels.index(name) for name in whole.state_labels]
    poles, expected = (np.sort(np.abs(system.poles())) for system in (joined, whole))
    # what any eigenvalue solver leaves: roundings of the largest entry of A, the square of the fastest pole
    solved = 4 * np.finfo(float).eps * np.abs(whole.A).max()
    assert np.abs(poles - expected).max() < TOLERANCE * expected.max() + solved
    # solutions with a mass matrix of this condition (3e6 for beams) are off by up to eps times it; a twentieth is allowed
    rounding = np.finfo(float).eps / 20 * np.linalg.cond(model.mass_matrix(point.q))
    for found, expected in (
        (joined.A[np.ix_(order, order)], whole.A),
        (joined.B[order], whole.B),
        (joined.C[:, order], whole.C),
        (joined.D, whole.D),
    ):
        assert np.abs(found - expected).max() < (TOLERANCE + rounding) * np.abs(expected).max()


@pytest.mark.parametrize("system", [chain(), satellite()], ids=["tree", "flexible"])
def test_a_parent_port_on_the_world_rests_as_one_that_is_left_out(system: tt.System) -> None:
    """The connection says again that it rests: what rounding leaves of it ties no other states."""
    model = system.resolve()
    point = held(system) if system.name == "chain" else tt.OperatingPoint(model, model.neutral())
    root = model.mechanism.assembly.connections[0].joint.name
    assert compare(point, (("world", f"{root}.P"),)).state_labels == compare(point).state_labels


def test_blocks_in_steady_motion_are_the_whole() -> None:
    """Frames that turn: displacements are not the integrals of velocities."""
    model = spinner().resolve()
    point = tt.trim(model, ["hinge.tau"], v={"shaft": 3.0}, q={"hinge": 0.4})
    resting = tt.linearize(model, tt.trim(model, ["hinge.tau"], q=point.q), ["shaft"], ["shaft.v"])
    joined = compare(point)
    assert np.abs(joined.poles()[:, None] - resting.poles()).min(axis=1).max() > 1e-2


def test_a_closed_loop_is_the_whole() -> None:
    """Under gravity, with the loop cut at a weld: three of its directions, since the others are those of the plane."""
    model = four_bar().resolve()
    point = tt.trim(model, ["at_crank", "at_coupler", "at_rocker", "pin"], q=model.assemble([0.5, 0.5, -1.5, 0.0]))
    directions = np.eye(6)[:, [0, 1, 5]]
    joined = compare(point, (("world", "foot.sole", None, directions),))
    poles, whole = (np.sort_complex(system.poles()) for system in (joined, tt.linearize(point.model, point)))
    assert np.abs(poles - whole).max() < TOLERANCE * np.abs(whole).max() * 10  # one pair; its states differ
    with refusal("singular-loop", "world - foot_sole"):
        compare(point, (("world", "foot.sole"),))


def test_two_free_bodies_welded_at_child_ports_are_one() -> None:
    """Each a block of its own system, free at its parent port; the weld takes twelve states away. Once through a pose."""
    bodies, pose = [random_body(np.random.default_rng(k), f"b{k}") for k in range(2)], tt.Pose([1.0, 2.0, 0.5])
    s = tt.System("two", gravity=[0, 0, 0])
    s.connect("world", bodies[0], tt.Free("base"))
    s.connect(bodies[0].port("A"), bodies[1].port("B"), tt.Weld("weld"), placement=pose)
    m = s.resolve()
    whole = tt.linearize(m, m.neutral(), ["b0.A", "b1.A"], ["b0.A.dv", "b0.A.dw", "b1.B.dv", "b1.B.dw"])
    blocks = []
    for k in range(2):
        alone, body = tt.System("one", gravity=[0, 0, 0]), random_body(np.random.default_rng(k), f"b{k}")
        alone.connect("world", body, tt.Free("base"))
        model = alone.resolve()
        blocks.append(tt.invert_channels(tt.block_system(model, model.neutral(), body.name), f"b{k}.P"))
    ends = ["b0.A.W", "b1.A.W"], ["b0.A.dV", "b1.B.dV"]
    joined = tt.connect_blocks(blocks, [("b0.A", "b1.B", pose)], *ends)
    assert joined.nstates == 12
    assert np.abs(joined(1.0j) - whole(1.0j)).max() < TOLERANCE
    assert np.abs(tt.connect_blocks(blocks, [("b0.A", "b1.B")], *ends)(1.0j) - whole(1.0j)).max() > 1e-2
    again = tt.connect_blocks(blocks, [("b1.B", "b0.A", tt.Pose([-1.0, -2.0, -0.5]))], *ends)
    assert np.abs(again(1.0j) - whole(1.0j)).max() < TOLERANCE


def modal_arm(name: str) -> control.StateSpace:
    """Return an arm made by hand: 2 kg at its root in all directions, and an elastic mode that one of them excites."""
    L, frequency = 0.8, 3.0
    A, B = np.array([[0.0, 1.0], [-(frequency**2), -0.02]]), np.zeros((2, 6))
    B[1, 1] = -L
    D = -np.diag([2.0, 2.0, 2.0, 0.5, 0.5, 0.5])
    C = np.zeros((6, 2))
    C[1] = -L * A[1]
    D[1, 1] += L**2
    inputs, outputs = ([f"{name}_P_{kind}[{k}]" for k in range(6)] for kind in ("dV", "W"))
    return control.ss(A, B, C, D, inputs=inputs, outputs=outputs, states=[f"{name}_eta", f"{name}_rate"], name=name)


def at_rest(length: float, mass: float, light: float = 1.0) -> tt.OperatingPoint:
    """Return the point of an arm on a hinge with a body on a sprung slide, `light` times as heavy, held at rest."""
    s = tt.System("drive", gravity=[0, 0, -9.81 * length])
    inertia = 0.1 * mass * length**2
    arm = tt.RigidBody("arm", 2 * mass, [0, 0, -length], inertia, ports={"A": [0.2 * length, 0.1 * length, -length]})
    tip = tt.RigidBody("tip", mass * light, [0.1 * length, 0, -0.5 * length], light * inertia)
    s.connect("world", arm, tt.Revolute("hinge", [0, 1, 0.2], damping=inertia))
    s.connect(arm.port("A"), tip, tt.Prismatic("slide", [1, 0.3, 0], stiffness=mass * light, damping=0.2 * mass * light))
    m = s.resolve()
    return tt.OperatingPoint(m, m.neutral(), np.zeros(2), m.inverse_dynamics(m.neutral(), np.zeros(2), np.zeros(2)))


@pytest.mark.parametrize("length", [2.0**-20, 1.0, 2.0**20])
@pytest.mark.parametrize("mass", [2.0**-30, 2.0**30])
def test_no_unit_changes_what_is_connected(length: float, mass: float) -> None:
    """Lengths and masses from micro to mega, by powers of two: the same bits but for the order of pivots."""
    whole = []
    for k, m in ((length, mass), (1.0, 1.0)):
        point = at_rest(k, m)
        blocks, connections = parts(point.model, point)
        ends = ["hinge.tau", "slide.tau"], ["hinge.a", "slide.a"]
        joined = tt.connect_blocks(blocks, [("world", "hinge.P"), *connections], *ends)
        assert joined.state_labels == ["hinge_q", "hinge_v", "slide_q", "slide_v"]
        x, u = np.array([1, 1, k, k]), np.array([m * k**2, m * k])
        whole.append([joined.A * x / x[:, None], joined.D * u / np.array([[1], [k]])])
    for scaled, expected in zip(*whole, strict=True):
        assert np.abs(scaled - expected).max() < TOLERANCE * np.abs(expected).max()


@pytest.mark.parametrize("light", [1e-9, 1e9])
def test_bodies_of_very_different_masses_connect(light: float) -> None:
    point = at_rest(1.0, 1.0, light)
    compare(point)


def test_rounding_of_loads_on_stiff_parts_is_no_motion() -> None:
    """A heavy body at the tip of a thin beam on a free base, held: efforts leave accelerations of some 1e-8 rad/s^2."""
    s = tt.System("held", gravity=[0, 0, -9.81])
    beam = tt.Beam("beam", 1.2, density=2700.0, area=1e-4, young=7e10, iy=1e-9, iz=2e-9, modes=(1, 1), damping_ratio=0.01)
    s.connect("world", beam, tt.Free("base"))
    s.connect(beam.port("C"), tt.RigidBody("mass", 2.0, [3, 2, 1], [1, 1.2, 2]), tt.Revolute("hinge", [0, 1, 0], stiffness=3.0))
    m = s.resolve()
    rest = np.zeros(m.nv)
    point = tt.OperatingPoint(m, m.neutral(), rest, m.inverse_dynamics(m.neutral(), rest, rest))
    blocks, connections = parts(m, point)
    joined = tt.connect_blocks(blocks, connections, ["hinge.tau"], ["hinge.q"])
    assert joined.nstates == 2 * m.nv


def test_blocks_made_by_hand_keep_equal_states() -> None:
    """Two equal arms on a cart: both with the cart, and one against the other, which no input moves."""
    s = tt.System("cart", gravity=[0, 0, 0])
    cart = tt.RigidBody("cart", 3.0, inertia=1.0, ports={"L": [0, 0, 1], "R": [0, 0, -1]})
    s.connect("world", cart, tt.Prismatic("rail", [0, 1, 0]))
    m = s.resolve()
    blocks = [*(tt.block_system(m, m.neutral(), name) for name in ("rail", "cart")), modal_arm("a"), modal_arm("b")]
    connections = [("rail.C", "cart.P"), ("cart.L", "a.P"), ("cart.R", "b.P")]
    joined = tt.connect_blocks(blocks, connections, ["rail.tau"], ["rail.v", "a.rate"])
    assert joined.state_labels == ["rail_q", "rail_v", "a_eta", "a_rate", "b_eta", "b_rate"]
    # M eta'' + K eta = 0 with M = [[7, .8, .8], [.8, 1, 0], [.8, 0, 1]], K = diag(0, 9, 9), without damping
    squares = 9.0, 9.0 * 7.0 / (7.0 - 2 * 0.64)
    found = np.sort(joined.poles().imag)[-2:] ** 2
    assert found == pytest.approx(squares, rel=1e-3)  # damping changes frequencies by its square
    locked = tt.connect_blocks(blocks, connections, ["rail.a"], ["rail.tau"])
    assert np.sort(locked.poles().imag)[-2:] ** 2 == pytest.approx([9.0, 9.0], rel=1e-3)


def test_blocks_come_from_files(tmp_path: Path) -> None:
    model = spinner().resolve()
    blocks, connections = parts(model, model.neutral())
    for block in blocks:
        tt.save_linear(block, tmp_path / f"{block.name}.npz")
    again = [tt.load_linear(tmp_path / f"{block.name}.npz") for block in blocks]
    ends = ["hinge.tau", "hub.A.W"], ["hinge.q", "arm.P.dV", "shaft.P.W"]
    one, two = (tt.connect_blocks(each, connections, *ends) for each in (blocks, again))
    assert (one.state_labels, one.input_labels, one.output_labels) == (two.state_labels, two.input_labels, two.output_labels)
    assert np.array_equal(one(1.0j), two(1.0j))
    assert tt.signal_table(one)["hub_A_W[5]"] == tt.Signal("hub.A.W[5]", "N m")


def test_a_controller_is_a_block_too() -> None:
    """An input that is no port's: a motor made by hand drives nothing but its own output."""
    motor = control.ss([[-5.0]], [[1.0]], [[5.0]], [[0.0]], inputs=["u"], outputs=["torque"], states=["x"], name="motor")
    assert tt.connect_blocks([motor], [], ["u"], ["torque"])(2.0j) == pytest.approx(motor(2.0j), rel=TOLERANCE)


def test_what_is_refused() -> None:
    s = spinner()
    model = s.resolve()
    blocks, connections = parts(model, model.neutral())
    ends = ["hinge.tau"], ["hinge.q"]
    with refusal("unknown-port", "hub_A"):
        tt.connect_blocks(blocks, [("hub.AA", "hinge.P")], *ends)
    with refusal("unknown-signal", "outputs"):
        tt.connect_blocks(blocks, connections, ["hinge.tau"], ["hinge.z"])
    with refusal("no-input", "hub.P.dV[0]"):
        tt.connect_blocks(blocks, connections, ["hub.P.dV[0]"], ["hinge.q"])
    with refusal("no-input", "hinge.tau"):
        tt.connect_blocks(blocks, connections, ["hinge.a", "hinge.tau"], ["hinge.q"])
    with refusal("duplicate-signal", "hub.P.dV[0]"):
        tt.connect_blocks([*blocks, blocks[1]], connections, *ends)
    with refusal("wrong-type", "connections[0]"):
        tt.connect_blocks(blocks, ["hub.A"], *ends)
    with refusal("wrong-type", "6 x k"):
        tt.connect_blocks(blocks, [("hub.A", "hinge.P", None, np.ones((6, 2)))], *ends)
    with refusal("given-twice", "connections[0]"):
        tt.connect_blocks(blocks, [("hub.A", "hub.A")], *ends)
    with refusal("wrong-type", "blocks[0]"):
        tt.connect_blocks([3], connections, *ends)
    with refusal("no-block", "blocks"):
        tt.connect_blocks([], [], [], [])
    with refusal("sampled-block", "blocks[0]"):
        tt.connect_blocks([control.c2d(blocks[0], 0.1)], [], *ends)
    nothing = control.ss([], [], [], 0.0 * blocks[3].D, inputs=blocks[3].input_labels, outputs=blocks[3].output_labels)
    with refusal("singular-loop", "hinge.a"):  # a body without mass on a free hinge
        tt.connect_blocks([*blocks[:3], nothing], connections, *ends)
    with refusal("singular-loop", "hub_A - hinge_P"):  # the same connection twice
        tt.connect_blocks(blocks, [*connections, ("hub.A", "hinge.P")], *ends)


def test_blocks_about_different_points_are_refused() -> None:
    """The frames of one turn, those of the other do not: they are together now, not later."""
    model = spinner().resolve()
    points = (tt.trim(model, ["hinge.tau"], v={"shaft": rate}, q={"hinge": 0.4}) for rate in (3.0, 0.0))
    moving, resting = (parts(model, point)[0] for point in points)
    connections = parts(model, model.neutral())[1]
    with refusal("turning-port", "one steady operating point"):
        tt.connect_blocks([moving[0], resting[1], *moving[2:]], connections, ["hinge.tau"], ["hinge.q"])


def test_a_part_that_spins_on_a_moving_one_is_refused() -> None:
    """Its blocks are those of one moment: its frame turns against that of a body that may move."""
    s = tt.System("wheel", gravity=[0, 0, 0])
    hub = tt.RigidBody("hub", 1.0, inertia=1.0, ports={"A": [0, 0, 0.1]})
    s.connect("world", hub, tt.Free("base"))
    s.connect(hub.port("A"), tt.RigidBody("wheel", 0.1, inertia=[0.1, 0.1, 0.2]), tt.Revolute("axle", [0, 0, 1]))
    model = s.resolve()
    blocks, connections = parts(model, (model.neutral(), model.velocity({"axle": 5.0})))
    with refusal("turning-port", "axle_C"):
        tt.connect_blocks(blocks, connections, ["axle.tau"], ["axle.v"])
