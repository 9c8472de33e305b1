"""Linear blocks: connected they are the linear system; inverted twice they are themselves."""

from __future__ import annotations

from typing import Any

import control
import numpy as np
import pytest
from numpy.typing import NDArray

import titop as tt
from tests.closed_systems import bar
from tests.refusals import refusal
from tests.solvers.engines.compiled.soft_systems import soft_system
from tests.solvers.kernels.ports.wet_systems import hung
from tests.systems import random_body

Array = NDArray[np.complex128]

#: Where transfer functions are compared (rad/s).
FREQUENCIES = (0.3j, 1.0 + 2.0j)

#: A user's block is differentiated by differences of differences in the reference: 1e-9 of efforts near 100.
TOLERANCE = 1e-7


def chain() -> tt.System:
    """Return rigid bodies on revolute joints with placements, and loads in both frames."""
    s = tt.System("chain", gravity=[1, 2, -9.81])
    bodies = [random_body(np.random.default_rng(k), f"b{k}") for k in range(3)]
    s.connect("world", bodies[0].port("B"), tt.Revolute("j0", [1, 2, 3]), placement=tt.Pose([1, 0, 0]))
    s.connect(
        bodies[0].port("A"), bodies[1], tt.Revolute("j1", [0, 1, 1], stiffness=3.0, damping=0.1), placement=tt.Pose([0, 1, 2])
    )
    s.connect(bodies[1].port("B"), bodies[2].port("A"), tt.Universal("j2"))
    s.add_load(tt.Load("fixed", bodies[2].port("B"), force=[1, 2, 3], torque=[0.3, 0.2, 0.1], frame="world"))
    s.add_load(tt.Load("turning", bodies[1], force=[1, -2, 3], torque=[0.3, 0.2, 0.1]))
    return s


def connected(model: tt.Model, point: tt.OperatingPoint, s: complex) -> Array:
    """Return the transfer matrix from all accelerations to all efforts, of the connected linear blocks.

    From the tip inwards: what hangs on a port answers its acceleration with a wrench, and the joints' accelerations likewise.
    """
    assembly = model.mechanism.assembly
    order = [(c.joint.name, c.parent, c.child.block.name) for c in assembly.connections]
    parents = {}
    for joint, parent, child in order:
        parents[joint], parents[child] = f"{parent.block.name}.{parent.name}", f"{joint}.C"
    blocks = {name: tt.block_system(model, point, name) for pair in order for name in (pair[0], pair[2])}
    inputs = [(name, label) for name, block in blocks.items() for label in block.input_labels]
    outputs = [(name, label) for name, block in blocks.items() for label in block.output_labels]
    G = np.zeros((len(outputs), len(inputs)), dtype=complex)
    for name, block in blocks.items():
        rows, columns = ([k for k, (owner, _) in enumerate(x) if owner == name] for x in (outputs, inputs))
        G[np.ix_(rows, columns)] = block(s).reshape(len(rows), len(columns))
    K = np.zeros((len(inputs), len(outputs)))
    labels_in, labels_out = [label for _, label in inputs], [label for _, label in outputs]
    for name, port in parents.items():
        path = port.replace(".", "_")
        for k in range(6):
            if f"{path}_dV[{k}]" in labels_out:
                K[labels_in.index(f"{name}_P_dV[{k}]"), labels_out.index(f"{path}_dV[{k}]")] = 1.0
                K[labels_in.index(f"{path}_W[{k}]"), labels_out.index(f"{name}_P_W[{k}]")] = 1.0
    whole = np.linalg.solve(np.eye(len(outputs)) - G @ K, G)
    names = [name.replace(".", "_") for name in model.coordinate_names]
    return whole[np.ix_([labels_out.index(f"{n}_tau") for n in names], [labels_in.index(f"{n}_a") for n in names])]


@pytest.mark.parametrize("system", [chain(), soft_system(), hung()], ids=["rigid", "soft", "wet"])
def test_connected_blocks_are_the_linear_system(system: tt.System) -> None:
    """At a resting equilibrium away from zero, held by efforts."""
    model = system.resolve()
    q = model.integrate(model.neutral(), np.random.default_rng(5).uniform(-0.5, 0.5, model.nv))
    point = tt.trim(model, [f"{name}.tau" for name in model.coordinate_names], q=q)
    names = list(model.coordinate_names)
    whole = tt.linearize(model, point, [f"{name}.a" for name in names], [f"{name}.tau" for name in names])
    forward = tt.linearize(model, point, names, [f"{name}.a" for name in names])
    for s in FREQUENCIES:
        found = connected(model, point, s)
        assert np.abs(found - whole(s)).max() < TOLERANCE
        assert np.abs(np.linalg.inv(found) - forward(s)).max() < TOLERANCE
    other = tt.OperatingPoint(model, model.integrate(q, np.full(model.nv, 1e-3)))
    assert np.abs(connected(model, other, FREQUENCIES[0]) - whole(FREQUENCIES[0])).max() > TOLERANCE


def test_a_spinning_chain() -> None:
    """At a relative equilibrium the frames of the blocks move, but their twists are constant."""
    s = tt.System("spinner", gravity=[0, 0, 0])
    hub, arm = (random_body(np.random.default_rng(k), name) for k, name in enumerate(("hub", "arm")))
    s.connect("world", hub, tt.Revolute("shaft", [0, 0, 1]))
    s.connect(hub.port("A"), arm, tt.Revolute("hinge", [1, 2, 0]))
    model = s.resolve()
    point = tt.trim(model, ["hinge.tau"], v={"shaft": 3.0}, q={"hinge": 0.4})
    whole = tt.linearize(model, point, ["shaft.a", "hinge.a"], ["shaft.tau", "hinge.tau"])
    for s_ in FREQUENCIES:
        assert np.abs(connected(model, point, s_) - whole(s_)).max() < TOLERANCE
        assert np.abs(connected(model, tt.OperatingPoint(model, point.q), s_) - whole(s_)).max() > 1e-2


def test_a_rigid_block_is_its_dynamic_model() -> None:
    """Key A, eq. 11 and 18: ``W_P = -D_P A_P + tau_CP^T W_C``, ``A_C = tau_CP A_P``."""
    s = tt.System("rig", gravity=[0, 0, 0])
    body = tt.RigidBody("body", 2.0, com=[0.1, 0.2, 0.3], inertia=[0.3, 0.4, 0.5], ports={"C": [1, 0, 0]})
    s.connect("world", body, tt.Weld("weld"))
    model = s.resolve()
    system = tt.block_system(model, model.neutral(), "body")
    assert np.abs(system.D[:6, :6] + body.mass_matrix()).max() < 1e-15
    assert np.abs(system.D[:6, 6:] - system.D[6:, :6].T).max() < 1e-15
    assert system.C.any() == False  # noqa: E712
    assert tt.signal_table(system)["body_C_dV[5]"] == tt.Signal("body.C.dV[5]", "rad/s^2")
    assert system.state_labels[:2] == ["body_P_xi[0]", "body_P_xi[1]"]


def pair() -> tt.Model:
    """Return two bodies on hinges."""
    s = tt.System("two", gravity=[0, 0, -9.81])
    bodies = [random_body(np.random.default_rng(k), f"b{k}") for k in range(2)]
    s.connect("world", bodies[0], tt.Revolute("hinge", [1, 0, 0], stiffness=50.0))
    s.connect(bodies[0].port("A"), bodies[1], tt.Revolute("second", [0, 1, 0]))
    return s.resolve()


@pytest.mark.parametrize("channels", ["hinge", "b1.P", [("b1_P_dV[2]", "b1_P_W[2]")]])
def test_inverting_twice_changes_nothing(channels: Any) -> None:
    model = pair()
    if channels == "hinge":
        system = tt.linearize(model, tt.trim(model), ["hinge", "second"], ["hinge.a", "second.q"])
    else:
        system = tt.block_system(model, model.neutral(), "b1")
    once = tt.invert_channels(system, channels)
    back = channels if isinstance(channels, str) else [(new, old) for old, new in channels]
    twice = tt.invert_channels(once, back)
    assert (twice.input_labels, twice.output_labels) == (system.input_labels, system.output_labels)
    assert once.input_labels != system.input_labels
    for name in "ABCD":
        assert np.abs(getattr(twice, name) - getattr(system, name)).max() < 1e-11, name  # the inverse of an inverse


def test_an_inverted_channel_is_its_transfer_function_inverted() -> None:
    """Free at the parent port instead of driven there."""
    model = pair()
    system = tt.block_system(model, model.neutral(), "b1")
    inverted = tt.invert_channels(system, "b1.P")
    for s in FREQUENCIES:
        driven, free = system(s), inverted(s)
        part = np.linalg.inv(driven[:6, :6])
        assert np.abs(free[:6, :6] - part).max() < 1e-9  # numbers near 100
        assert np.abs(free[6:, 6:] - driven[6:, 6:] + driven[6:, :6] @ part @ driven[:6, 6:]).max() < 1e-9
    with refusal("singular-channel", "rank 6 of 18"):  # its three ports move as one
        tt.invert_channels(inverted, ["b1.A", "b1.B", "b1.P"])


def test_an_inverted_sampled_system_keeps_its_sample_time() -> None:
    sampled = control.ss([[0.5]], [[1.0]], [[1.0]], [[2.0]], 0.1, inputs=["u"], outputs=["y"])
    inverted = tt.invert_channels(sampled, [("u", "y")])
    assert inverted.dt == 0.1
    z = np.exp(0.3j)
    assert abs(inverted(z) * sampled(z) - 1.0) < 1e-14  # one division of numbers near one


def test_bad_input_is_refused() -> None:
    model = chain().resolve()
    with refusal("unknown-block", "did you mean 'b1'"):
        tt.block_system(model, model.neutral(), "b11")
    system = tt.block_system(model, model.neutral(), "b1")
    with refusal("unknown-channel", "0 inputs"):
        tt.invert_channels(system, ["b1.X"])
    with refusal("unknown-channel", "did you mean"):
        tt.invert_channels(system, [("b1_P_dV[0]", "b1_P_V[0]")])
    with refusal("duplicate-channel", "b1_P_dV[0]"):
        tt.invert_channels(system, ["b1.P", ("b1_P_dV[0]", "b1_P_W[0]")])
    with refusal("wrong-type", "list of names"):
        tt.invert_channels(system, 3)  # type: ignore[arg-type]


def test_the_name_of_parent_ports_is_refused_for_others() -> None:
    """Wrenches there would be those that the block applies; hung by it, it is the parent port itself."""
    s = tt.System("swing", gravity=[0, 0, -9.81])
    s.connect("world", tt.RigidBody("bob", 2.0, inertia=1.0, ports={"parent": [0, 0, -1]}), tt.Free("base"))
    m = s.resolve()
    with refusal("reserved-name", "bob.parent"):
        tt.block_system(m, m.neutral(), "bob")
    s = tt.System("swing", gravity=[0, 0, -9.81])
    s.connect("world", tt.RigidBody("bob", 2.0, inertia=1.0, ports={"parent": [0, 0, -1]}).port("parent"), tt.Free("base"))
    m = s.resolve()
    assert tt.block_system(m, m.neutral(), "bob").input_labels[0] == "bob_P_dV[0]"


def test_a_pinned_bar_leaves_half_its_weight_to_its_hinge() -> None:
    """The hinge's force on the bar turns with it: its slope is the half of the weight that the hinge carries."""
    s = tt.System("bar", gravity=[0, -9.81, 0])
    s.world.add_port("pin", [1, 0, 0])
    body = tt.RigidBody("bar", 1.0, com=[0.5, 0, 0], inertia=[0.0, 1 / 12, 1 / 12], ports={"end": [1, 0, 0]})
    s.connect("world", body, tt.Revolute("hinge", axis=[0, 0, 1]))
    s.close_loop(s.world.port("pin"), body.port("end"), tt.RigidClosure("pin", directions=np.eye(6)[:, [1]]))
    model = s.resolve()
    hinge = tt.block_system(model, model.neutral(), "hinge")
    assert hinge.C[0, hinge.state_labels.index("hinge_q")] == pytest.approx(4.905, abs=1e-12)


def rigid_loop(closed: bool) -> tt.Model:
    """Return a planar four-bar linkage, or its tree."""
    s = tt.System("four-bar", gravity=[0, -9.81, 0])
    s.world.add_port("ground", [1.0, 0, 0])
    parent: Any = "world"
    for name, length in (("crank", 0.3), ("coupler", 0.9), ("rocker", 0.7)):
        link = bar(name, length, 1.0)
        s.connect(parent, link, joint=tt.Revolute(f"at_{name}"))
        parent = link.port("end")
    if closed:
        s.close_loop(s.world.port("ground"), parent, tt.RigidClosure("pin", directions=np.eye(6)[:, :2]))
    return s.resolve()


def soft_loop(closed: bool) -> tt.Model:
    """Return two beams whose tips a spring and damper joins, or its tree."""
    s = tt.System("frame", gravity=[1, 2, -9.81])
    beams = [
        tt.Beam(name, 1.0 + k, density=2700.0, area=1e-4, young=7e10, iy=1e-9, iz=2e-9, modes=2)
        for k, name in enumerate(("left", "right"))
    ]
    s.connect("world", beams[0], tt.Revolute("hinge", [0, 1, 0]))
    s.connect("world", beams[1], tt.Revolute("second", [1, 0, 1]), placement=tt.Pose([0.1, 0.2, 0.0]))
    if closed:
        stiffness, damping = np.diag([20.0, 30, 40, 1, 2, 3]), 0.1 * np.eye(6)
        s.close_loop(beams[0].port("C"), beams[1].port("C"), tt.CompliantClosure("pad", stiffness, damping))
    return s.resolve()


@pytest.mark.parametrize("loop", [rigid_loop, soft_loop])
def test_closures_are_what_they_carry(loop: Any) -> None:
    """The blocks of a closed loop are those of its tree under the closure's forces, taken from the balance of its reaction."""
    model, tree = loop(True), loop(False)
    closure = model.mechanism.assembly.loops[0]
    q = model.assemble([0.5, 0.5, -1.5]) if model.is_constrained else np.random.default_rng(0).uniform(-0.05, 0.05, model.nv)
    v = model.assemble_velocity(q, np.random.default_rng(1).normal(size=model.nv)) if model.is_constrained else 0.1 + 0.0 * q
    tau = np.linspace(-1.0, 1.0, model.nv)
    at_second = model.reaction(closure.closure.name, q, v, model.forward_dynamics(q, v, tau), tau=tau)
    (R1, p1), (R2, p2) = (model.pose(str(port), q) for port in (closure.first, closure.second))
    force = R2 @ at_second[:3]
    at_first = -np.concatenate([R1.T @ force, R1.T @ (R2 @ at_second[3:] + np.cross(p2 - p1, force))])
    wrenches = {str(closure.second): at_second}
    if not str(closure.first).startswith("world"):
        wrenches[str(closure.first)] = at_first
    loaded, bare = (tt.OperatingPoint(tree, q, v, tau, wrenches=acting) for acting in (wrenches, None))
    forgotten = 0.0
    for name in (*tree.joint_names, *tree.body_names):
        found, expected, without = (
            tt.block_system(*pair, name) for pair in ((model, (q, v, tau)), (tree, loaded), (tree, bare))
        )
        assert found.output_labels == expected.output_labels
        for matrix in "ABCD":
            wanted = getattr(expected, matrix)
            error = np.abs(getattr(found, matrix) - wanted).max(initial=0.0)
            assert error < 1e-9 * max(1.0, np.abs(wanted).max(initial=0.0)), (name, matrix)  # rounding of sums
        forgotten = max(forgotten, np.abs(found.C - without.C).max())
    assert forgotten > 0.1


@pytest.mark.parametrize("table", [True, False])
def test_a_port_is_not_the_coordinate_that_is_named_after_it(table: bool) -> None:
    """A beam's deformations ``link.C_x`` are no part of its port ``link.C``, also where only exported names are left."""
    s = tt.System("arm", gravity=[0, 0, 0])
    beam = tt.Beam("link", 1.0, density=2700.0, area=1e-3, young=7e10, iy=1e-8, iz=1e-8, modes=1)
    s.connect("world", beam, tt.Revolute("hinge"))
    s.connect(beam.port("C"), tt.RigidBody("tip", 1.0, inertia=0.1), tt.Weld("bracket"))
    model = s.resolve()
    driven = tt.block_system(model, model.neutral(), "link")
    if not table:
        del driven.signals
    free = tt.invert_channels(driven, [f"link.{name}" for name in beam.coordinates])
    assert [label for label in free.input_labels if label.endswith("tau")] == [f"link_{x}_tau" for x in beam.coordinates]
    if not table:
        del free.signals
    clamped = tt.invert_channels(free, "link.C")
    changed = [old for old, new in zip(free.input_labels, clamped.input_labels, strict=True) if old != new]
    assert changed == [f"link_C_W[{k}]" for k in range(6)]
    one = tt.invert_channels(driven, "link.C_x")
    assert [new for old, new in zip(driven.input_labels, one.input_labels, strict=True) if old != new] == ["link_C_x_tau"]
