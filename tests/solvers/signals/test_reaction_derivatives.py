"""Linear outputs that are reactions, against differences."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import titop as tt
from tests.closed_systems import bricard, four_bar, geared_hand, random_closed_tree, slider_crank
from tests.solvers.linear.nonlinear_systems import Array
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
