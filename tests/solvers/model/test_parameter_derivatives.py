"""Derivatives by parameters, inputs and wrenches: against differences of the model, Pinocchio's regressor, and Jacobians."""

from __future__ import annotations

import numpy as np
import pytest

import titop as tt
from tests.every_kind import SYSTEMS, states
from tests.solvers.engines.compiled.soft_systems import Array
from tests.solvers.reference_models import reference_model
from tests.systems import random_state, random_tree
from titop.blocks.basics.paths import entry_of
from titop.solvers.mechanism.system_parameters import perturbed_assembly


def actuated_system() -> tt.System:
    """Return a tree with motors, thrusters, friction, springs on every kind of joint and loads in both frames."""
    s = random_tree(np.random.default_rng(21), 7, passive=True, loads=True)
    s.connect("world", tt.RigidBody("puck", mass=1.0), tt.Prismatic("slide", friction=tt.Friction(0.3, 0.5)))
    s.add_actuator(tt.Motor("drive", "slide", gear=3.0, rotor_inertia=0.02))
    s.add_actuator(tt.Thruster("jet", s["b0"].port("A"), direction=[1, 2, 3]))
    s.add_actuator(tt.Force("push", s["b1"].port("A"), direction=[1, 0, 0], frame="world"))
    return s


def test_every_parameter_against_differences_of_the_model() -> None:
    """Fourth-order differences over the parameter's own scale; rest quaternions, which are not free numbers, are left out."""
    s = actuated_system()
    model, reference = s.resolve(), s.resolve("reference")
    q, v, a, tau = random_state(model, np.random.default_rng(4))
    u = {"drive": 0.7, "jet": 1.3, "push": -0.4}
    names = [name for name in model.parameters() if ".rest.q" not in name]
    inverse = model.inverse_dynamics_sensitivities(q, v, a, names, u=u)
    forward = model.forward_dynamics_sensitivities(q, v, tau, names, u=u)
    assert len(names) > 300
    sampled = np.random.default_rng(0).permutation(names)[:40]
    for name in sampled:
        value = model.parameters()[name][0]
        step = 1e-3 * max(abs(value), 0.01)

        def at(offset: float, name: str = name, value: float = value) -> Array:
            changed = reference_model(perturbed_assembly(reference.mechanism.assembly, {name: value + offset}))
            return np.array([changed.inverse_dynamics(q, v, a, u=u), changed.forward_dynamics(q, v, tau, u=u)])

        changes = sum(w * (at(n * step) - at(-n * step)) for n, w in ((1, 2 / 3), (2, -1 / 12))) / step
        for found, change in zip((inverse[name], forward[name]), changes, strict=True):
            # truncation of fourth order and the rounding of differences; friction's smoothing (1e-3) is the sharpest scale
            assert np.abs(found - change).max() < 1e-6 * max(1.0, np.abs(change).max()), name


def test_inertial_parameters_against_pinocchios_regressor() -> None:
    """Efforts are linear in mass, first moment and inertia about the frame; Pinocchio knows the coefficients."""
    pin = pytest.importorskip("pinocchio")
    from tests.pinocchio_peer import Peer

    system = random_tree(np.random.default_rng(8), 5, kinds=["Revolute", "Prismatic", "Spherical"], base="free")
    model, peer = system.resolve(), Peer(system)
    q, v, a, _ = random_state(model, np.random.default_rng(2))
    state = peer.configuration(q), peer.to_pinocchio(v), peer.to_pinocchio(a)
    regressor = pin.computeJointTorqueRegressor(peer.model, peer.data, *state)[peer.v_order]
    for connection in system.connections:
        body, index = connection.child.block, peer.joints[connection.joint.name]
        _, placement = peer.frames[body.name]
        slopes = model.inverse_dynamics_sensitivities(q, v, a, [f"{body.name}.mass", f"{body.name}.inertia.xy"])
        for name, change in (("mass", 1.0), ("inertia.xy", 1.0)):
            inertia = np.zeros((3, 3))
            inertia[0, 1] = inertia[1, 0] = change if name == "inertia.xy" else 0.0
            body_inertia = pin.Inertia(1.0 if name == "mass" else 0.0, body.com, inertia)
            parameters = placement.act(body_inertia).toDynamicParameters()
            expected = regressor[:, 10 * (index - 1) : 10 * index] @ parameters
            assert np.abs(slopes[f"{body.name}.{name}"] - expected).max() < 1e-11 * max(1.0, np.abs(expected).max())


def test_inputs_and_wrenches_act_through_their_jacobians() -> None:
    model = actuated_system().resolve()
    q, v, _, tau = random_state(model, np.random.default_rng(4))
    names = ["jet", "drive", "push", "b3.A"]
    found = model.forward_dynamics_sensitivities(q, v, tau, names, wrenches={"b3.A": np.ones(6)}, u={"jet": 1.0})
    base = model.forward_dynamics(q, v, tau, {"b3.A": np.ones(6)}, u={"jet": 1.0})
    for name in names[:3]:
        more = model.forward_dynamics(
            q, v, tau, {"b3.A": np.ones(6)}, u={"jet": 1.0 + (name == "jet"), name: 1.0 + (name == "jet")}
        )
        # accelerations are affine in inputs: a difference over one unit is exact but for rounding
        assert np.abs(found[name] - (more - base)).max() < 1e-11 * max(1.0, np.abs(base).max())
    more = model.forward_dynamics(q, v, tau, {"b3.A": [1, 1, 3, 1, 1, 1]}, u={"jet": 1.0})
    assert np.abs(2 * found["b3.A"][:, 2] - (more - base)).max() < 1e-11 * max(1.0, np.abs(base).max())


def test_unknown_names_are_refused_with_a_hint() -> None:
    model = actuated_system().resolve()
    q, v, a, _ = random_state(model, np.random.default_rng(4))
    with pytest.raises(tt.ModelError, match=r"puck\.mass"):
        model.inverse_dynamics_sensitivities(q, v, a, ["puck.mas"])


@pytest.mark.filterwarnings("ignore::titop.ModelWarning")
@pytest.mark.parametrize("kind", ["a planar loop", "gears in a loop"])
def test_inertias_of_closed_systems_beside_other_parameters(kind: str) -> None:
    """Asked for alone they come from the regressor of all states at once; beside a placement from each state's constraints."""
    model = SYSTEMS[kind]().resolve()
    rows, entries = states(model, 3), ("mass", "com.y", "inertia.zz")
    names = [name for name in model.parameters() if entry_of(name) in entries]
    other = next(name for name in model.parameters() if ".placement." in name)
    given = rows["q"], rows["v"], rows["tau"]
    alone, beside = (model.forward_dynamics_sensitivities(*given, asked) for asked in (names, [*names, other]))
    still = model.forward_dynamics_sensitivities(rows["q"], 0.0 * rows["v"], rows["tau"], names)
    assert len(names) >= 6
    found, expected, others = (np.array([each[name] for name in names]) for each in (alone, beside, still))
    assert np.abs(found - expected).max() < 1e-12 * np.abs(expected).max()  # products of some ten numbers of condition 1e2
    assert np.abs(others - expected).max() > 1e-3 * np.abs(expected).max()
