"""Linear outputs that are reactions, against differences."""

from __future__ import annotations

import warnings
from collections.abc import Callable

import numpy as np
import pytest

import titop as tt
from tests.closed_systems import bricard, four_bar, geared_hand, random_closed_tree, slider_crank
from tests.solvers.linear.nonlinear_systems import Array
from tests.solvers.model.test_sections import robot, state
from tests.systems import random_tree
from titop.blocks.basics.complex_steps import complex_step
from titop.blocks.contract.target_motion import TargetMotion


def test_reactions_of_a_closed_chain() -> None:
    """Of a closure, a joint and a sensor, by the crank's angle and rate, its effort and a wrench: against differences."""
    s = four_bar()
    s.add_sensor(tt.ReactionSensor("cell", "q2"))
    with pytest.warns(tt.ModelWarning, match="redundant-closure"):
        model = s.resolve()
    point = tt.trim(model, ["q1", "q2", "q3"], q={"q1": -1.5, "q2": 1.0, "q3": 1.0})
    outputs = ["pin.reaction", "q1.reaction", "cell"]
    system = tt.linearize(model, point, ["q1", "coupler.end"], outputs, independent=["q1"])

    def reactions(x: Array) -> Array:
        q = model.assemble([point.q[0] + x[0], *point.q[1:]], fixed=["q1"])
        v = model.assemble_velocity(q, [x[1], 0.0, 0.0], fixed=["q1"])
        tau, wrenches = np.array([x[2], 0.0, 0.0]), {"coupler.end": x[3:]}
        a = model.forward_dynamics(q, v, tau, wrenches)
        return np.concatenate([model.reaction(name, q, v, a, wrenches, tau=tau) for name in ("pin", "q1", "q2")])

    step = 1e-5
    slopes = np.column_stack([(reactions(d) - reactions(-d)) / (2 * step) for d in step * np.eye(9)])
    # second-order differences of forces near 10 N with a step of 1e-5: about 1e-9
    assert np.abs(np.hstack([system.C, system.D]) - slopes).max() < 1e-7
    assert np.abs(slopes).max() > 1


def _closed_trees(seed: int) -> Callable[[], tt.System]:
    return lambda: random_closed_tree(np.random.default_rng(seed), 5, passive=True)[0]


@pytest.mark.parametrize(
    ("make", "rank", "count"),
    [
        (four_bar, 2, 5),
        (slider_crank, 2, 5),
        (bricard, 4, 5),
        (geared_hand, 2, 2),
        (_closed_trees(16), 6, 6),
        (_closed_trees(28), 4, 5),
    ],
)
@pytest.mark.parametrize("prescribed", [False, True])
@pytest.mark.filterwarnings("ignore::titop.ModelWarning")
def test_reactions_are_those_of_complex_steps(make: Callable[[], tt.System], rank: int, count: int, prescribed: bool) -> None:
    """Of all joints and closures, redundant ones among these, in motion under loads: by the reference's values."""
    rng, system = np.random.default_rng(0), make()
    model, reference = system.resolve(), system.resolve("reference")
    q = model.assemble(model.random_configuration(rng))
    assert (model.closure_rank(q), len(model.constraint_names)) == (rank, count)
    v, tau = model.assemble_velocity(q, rng.normal(size=model.nv)), rng.normal(size=model.nv)
    body, first, wrench = model.body_names[-1], model.coordinate_names[0], rng.normal(size=6)
    joints = [*model.joint_names, *(loop.closure.name for loop in model.mechanism.rigid_loops)]
    coordinates = [f"{name}.{what}" for what in ("q", "v", "a", "tau") for name in model.coordinate_names]
    inputs = [first + ".a" if prescribed else first, body]
    point = tt.OperatingPoint(model, q, v, tau=tau, wrenches={body: wrench})
    linear = tt.linearize(model, point, inputs, coordinates + [f"{name}.reaction" for name in joints])
    whole, n = np.hstack([linear.C, linear.D]), model.nv
    dq, dv, da, dtau = whole[: 4 * n].reshape(4, n, -1)
    a = model.forward_dynamics(q, v, tau, {body: wrench})  # about which motion is prescribed, too

    def reactions(z: Array) -> Array:
        state = reference.integrate(q, dq @ z), v + dv @ z, a + da @ z
        acting = {body: wrench + z[-6:]}
        return np.concatenate([reference.reaction(name, *state, acting, tau=tau + dtau @ z) for name in joints])

    expected = complex_step(reactions, np.zeros(whole.shape[1]))
    # hundreds of operations on numbers of one size, over what is left of the constraints: a hundredth at least
    assert np.abs(whole[4 * n :] - expected).max() < 1e-11 * np.abs(expected).max()
    assert np.abs(expected).max() > 1


class _Motor(tt.Interaction):
    """A spring between two ports and a coordinate, pulled by an input; in NumPy."""

    coordinate_counts = (1, 1)
    inputs, input_units = ("pull",), ("N",)

    def act(self, motion: TargetMotion) -> tuple[Array, Array]:
        """Return what pulls along the line between the ports, and what turns the coordinate."""
        r = motion.r[1]
        size = np.sqrt(r @ r)
        force = -(3.0 * (size - 0.2) + (1.0 + motion.q[0]) * motion.u[0] + 0.3 * motion.v[0]) * r / size
        pair = np.array([*-force, 0 * force[0], 0 * force[0], 0 * force[0]])
        turned = np.concatenate([motion.R[1].T @ force, 0.0 * force])
        return np.array([pair, turned]), np.array([-0.5 * motion.q[0] - 0.1 * motion.v[0]])


@pytest.mark.parametrize("closed", [False, True])
@pytest.mark.filterwarnings("ignore::titop.ModelWarning")
def test_reactions_of_and_beside_interactions(closed: bool) -> None:
    """Of a spring in titop's own words, of one in a user's with an input, and of a joint: against differences."""
    s = four_bar() if closed else random_tree(np.random.default_rng(3), 4, kinds=("Revolute",), base="fixed")
    first, *_, last = (c.child.block for c in s.connections)
    s.add_interaction(tt.SpringDamper("strut", stiffness=20.0, damping=0.5, length=0.2), "world", last)
    joint = next(c.joint.name for c in s.connections if c.joint.nv)
    s.add_interaction(_Motor("puller"), first, last, joint)
    model = s.resolve()
    guess = {"q1": -1.5, "q2": 1.0, "q3": 1.0} if closed else dict.fromkeys(model.coordinate_names, 0.3)
    point = tt.trim(model, list(model.coordinate_names), q=guess, u={"puller.pull": 2.0})
    outputs = ["strut.reaction", "puller.reaction", f"{joint}.reaction"]
    system = tt.linearize(model, point, ["puller.pull", joint], outputs, independent=[joint] if closed else None)
    n = 1 if closed else model.nv

    def reactions(x: Array) -> Array:
        dq, v, u, tau = x[:n], x[n : 2 * n], x[2 * n : 2 * n + 1], np.concatenate([x[2 * n + 1 :], np.zeros(model.nv - 1)])
        q = point.q + np.pad(dq, (0, model.nv - n))
        v = np.pad(v, (0, model.nv - n))
        if closed:
            q, v = model.assemble(q, fixed=[joint]), model.assemble_velocity(model.assemble(q, fixed=[joint]), v, fixed=[joint])
        u, tau = point.u + u, point.tau + tau
        a = model.forward_dynamics(q, v, tau, u=u)
        return np.concatenate([model.reaction(name.partition(".")[0], q, v, a, u=u, tau=tau) for name in outputs])

    step = 1e-5
    slopes = np.column_stack([(reactions(d) - reactions(-d)) / (2 * step) for d in step * np.eye(2 * n + 2)])
    # second-order differences of forces near 10 N with a step of 1e-5: about 1e-9
    assert np.abs(np.hstack([system.C, system.D]) - slopes).max() < 1e-7 * max(1.0, np.abs(slopes).max())
    assert np.abs(slopes[6:12, 2 * n]).max() > 0.1


INPUTS = ["drive", "jet", "hand.E"]
OUTPUTS = ["rod.mid.strain", "rod.mid.section", "rod.section", "hinge.reaction"]
#: Steps of central differences, whose error is their square times third derivatives of order 100; rounding is 1e-10.
STEP, CLOSE = 1e-4, 3e-5


def read(model: tt.Model, q, v, tau, u, wrench):
    a = model.forward_dynamics(q, v, tau, {"hand.E": wrench}, u=u)
    acting = {"hand.E": wrench}, u, tau
    return np.concatenate(
        [
            model.section_strains("rod", [0.33], q)[0],
            *model.section_wrenches("rod", [0.33, 0.0], q, v, a, *acting),
            model.reaction("hinge", q, v, a, *acting),
        ]
    )


@pytest.mark.parametrize("closed", [False, True])
def test_derivatives_are_those_of_values(closed: bool) -> None:
    """Along one direction of everything at once."""
    model = robot(closed=False, strains="kirchhoff", basis=1)
    q, v, _ = state(model)
    if closed:
        model = robot(closed=True, strains="kirchhoff", basis=1)
        q, v = model.assemble(model.neutral()), np.zeros(model.nv)
    u = np.array([0.3, 0.2])
    point = tt.OperatingPoint(model, q, v, u=u)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tt.ModelWarning)  # no equilibrium
        system = tt.linearize(model, point, INPUTS, OUTPUTS)
    nu = 8
    rng = np.random.default_rng(5)
    dz = rng.normal(size=nu)
    if closed:
        dq = dv = np.zeros(model.nv)
        slope = system.D @ dz
    else:
        dq, dv = rng.normal(size=(2, model.nv))
        slope = system.C @ np.r_[dq, dv] + system.D @ dz

    def at(h: float):
        return read(model, model.integrate(q, h * dq), v + h * dv, np.zeros(model.nv), u + h * dz[:2], h * dz[2:])

    expected = (at(STEP) - at(-STEP)) / (2 * STEP)
    np.testing.assert_allclose(slope, expected, rtol=CLOSE, atol=CLOSE * np.abs(expected).max())
    np.testing.assert_allclose(slope[12:18], slope[18:24], atol=1e-9 * np.abs(slope).max())  # the base's are the reaction's
    assert np.abs(slope[6:12]).max() > 1


def test_sections_in_closed_loops_as_their_values() -> None:
    """By the states of a closed loop, although a rod that is cut is integrated in other steps: the tip moves by a millionth."""
    model = robot(closed=True, strains="kirchhoff", basis=1)
    q, rest = model.assemble(model.neutral()), np.zeros(model.nv)
    independent = ["rod.torsion0", "rod.torsion1", "rod.bending_y1", "rod.bending_z1", "wrist"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tt.ModelWarning)  # no equilibrium
        system = tt.linearize(model, tt.OperatingPoint(model, q, rest), INPUTS, OUTPUTS[1:], independent=independent)
    direction = np.random.default_rng(0).normal(size=5)
    places = [model.coordinate_names.index(name) for name in independent]

    def at(h: float):
        moved = q.copy()
        moved[places] += h * direction
        moved = model.assemble(moved, fixed=independent)
        return read(model, moved, rest, rest, np.zeros(2), np.zeros(6))[6:]

    step = 1e-3
    expected = (8 * (at(step) - at(-step)) - at(2 * step) + at(-2 * step)) / (12 * step)
    # fourth-order differences: loops close to 1e-12 or better, over the step 1e-9 of stiffnesses
    np.testing.assert_allclose(system.C[:, :5] @ direction, expected, atol=1e-8 * np.abs(expected).max())


def test_gauges() -> None:
    for engine in ("compiled", "reference"):
        s = tt.System("gauged", gravity=[0, 0, 0])
        rod = tt.Rod("rod", 1.0, tt.Section.circle(0.02), 1e6, 1000.0, basis=1, ports={"g": 0.25})
        s.connect("world", rod, tt.Weld("clamp"))
        s.add_sensor(tt.StrainGauge("gauge", rod.port("g")))
        model = s.resolve(engine)
        assert model.output_names[:3] == ("gauge.torsion", "gauge.bending_y", "gauge.bending_z")
        assert model.output_units == ("rad/m",) * 3 + ("1",) * 3
        q, rest = np.arange(6.0), np.zeros(6)
        read = model.outputs(q, rest, rest)
        np.testing.assert_allclose(read[:3], [0 - 0.5 * 1, 2 - 0.5 * 3, 4 - 0.5 * 5], atol=1e-14)  # P0 = 1, P1 = -1/2 there
        longer = model.with_parameters({"rod.length": 2.0})
        np.testing.assert_allclose(longer.outputs(q, rest, rest), 0.5 * read, atol=1e-14)  # it stretches along
        at_rest = tt.OperatingPoint(model, 0 * q)
        system = tt.linearize(model, at_rest, ["rod.tip.F"], ["gauge.bending_z"])
        np.testing.assert_allclose(system.C[0], [0, 0, 0, 0, 1, -0.5, *[0] * 6], atol=1e-14)


def test_gauges_stick_to_rods() -> None:
    s = tt.System("gauged")
    body = tt.RigidBody("body", 1.0, inertia=1.0)
    s.connect("world", body, tt.Revolute("hinge"))
    s.add_sensor(tt.StrainGauge("gauge", body))
    with pytest.raises(tt.ModelError, match=r"gauge.target: got body; expected a port of a tt.Rod"):
        s.resolve()


def test_only_sections_of_rods_have_names() -> None:
    model = robot()
    with pytest.raises(tt.ModelError, match=r"hand\.E\.strain"):
        tt.linearize(model, model.neutral(), ["drive"], ["hand.E.strain"])
