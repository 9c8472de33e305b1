"""Derivatives of the dynamics: against complex steps through the reference resolver, and against Pinocchio."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import titop as tt
from tests.solvers.engines.compiled.soft_systems import Array, soft_system
from tests.systems import KINDS, random_body, random_state, random_tree
from titop.solvers.mechanism.parameters import perturbed_assembly

#: Both sides are exact but for rounding, which the inverse of the mass matrix multiplies: 1e-11 of the largest entry.
TOLERANCE = 1e-11

FUNCTIONS = ("inverse", "forward", "hybrid")


class Case:
    """A tree in both engines at a random state; every other one with springs, dampers, friction, armatures and loads."""

    def __init__(self, seed: int) -> None:
        rng = np.random.default_rng(seed)
        drives = seed % 2 == 1
        self.system = random_tree(rng, bodies=int(rng.integers(2, 9)), passive=drives, loads=drives)
        if drives:
            self.system.connect("world", tt.RigidBody("puck", mass=1.0), tt.Prismatic("slide", friction=tt.Friction(0.3, 0.5)))
        self.model, self.reference = self.system.resolve(), self.system.resolve("reference")
        self.q, self.v, self.a, self.tau = random_state(self.model, rng)
        self.wrenches = {port: rng.normal(size=6) for port in rng.choice(self.model.port_names[1:], 2, replace=False)}
        self.prescribed = [name for name in self.model.coordinate_names if rng.integers(2)]

    def derivatives(self, model: tt.Model, function: str) -> Any:
        """Return the derivatives of one of the `FUNCTIONS`."""
        if function == "hybrid":
            state = self.q, self.v, self.tau, self.a, self.prescribed
            return model.hybrid_dynamics_derivatives(*state, wrenches=self.wrenches)
        if function == "forward":
            return model.forward_dynamics_derivatives(self.q, self.v, self.tau, wrenches=self.wrenches)
        return model.inverse_dynamics_derivatives(self.q, self.v, self.a, wrenches=self.wrenches)


def error(found: Any, expected: Any) -> float:
    """Return the largest error of several matrices, each relative to its largest entry (or to 1)."""
    pairs = list(zip(found, expected, strict=True))
    return max(float(np.abs(x - y).max(initial=0.0) / max(np.abs(y).max(initial=0.0), 1.0)) for x, y in pairs)


@pytest.fixture(params=range(16), scope="module")
def case(request: pytest.FixtureRequest) -> Case:
    return Case(request.param)


@pytest.mark.parametrize("function", FUNCTIONS)
def test_against_complex_steps_through_the_reference(case: Case, function: str) -> None:
    assert error(case.derivatives(case.model, function), case.derivatives(case.reference, function)) < TOLERANCE


def test_a_slightly_different_model_is_noticed() -> None:
    case = Case(7)
    name = next(name for name in case.model.parameters() if name.endswith("mass"))
    changed = case.model.with_parameters({name: 1.0000001 * case.model.parameters()[name][0]})
    for function in FUNCTIONS:
        assert error(case.derivatives(changed, function), case.derivatives(case.reference, function)) > TOLERANCE


def test_inverse_and_forward_derivatives_are_inverse_to_each_other(case: Case) -> None:
    q, v, tau, model = case.q, case.v, case.tau, case.model
    a = model.forward_dynamics(q, v, tau)
    by_q, by_v, mass = model.inverse_dynamics_derivatives(q, v, a)
    da_dq, da_dv, da_dtau = model.forward_dynamics_derivatives(q, v, tau)
    assert error([mass @ da_dq, mass @ da_dv, mass @ da_dtau], [-by_q, -by_v, np.eye(model.nv)]) < TOLERANCE
    assert error([mass], [model.mass_matrix(q)]) < 1e-13  # two summations of the same terms


def test_stacked_states_out_and_lists(case: Case) -> None:
    model, q, v, a = case.model, case.q, case.v, case.a
    single = np.array(model.inverse_dynamics_derivatives(q, v, a))
    stacked = model.inverse_dynamics_derivatives(np.array([q, q]), np.array([v, 0 * v]), np.array([a, a]))
    assert stacked[0].shape == (2, model.nv, model.nv)
    out = np.empty((3, model.nv, model.nv))
    model.inverse_dynamics_derivatives(q, v, a, out=out)
    assert np.array_equal(out, single)
    # on the slow way in, quaternions are divided by their norm: a rounding
    assert error(np.array(stacked)[:, 0], single) < 1e-13
    assert error(model.inverse_dynamics_derivatives(q.tolist(), v.tolist(), a.tolist()), single) < 1e-13
    forward = model.forward_dynamics_derivatives(q, v, np.zeros(model.nv))
    assert error(model.forward_dynamics_derivatives(q, v), forward) < TOLERANCE


#: The reference differentiates a user's block inside complex steps by sixth-order differences, with errors near 1e-11.
SOFT_TOLERANCE = 1e-9


@pytest.mark.parametrize("function", ["inverse", "forward"])
def test_blocks_with_own_coordinates(function: str) -> None:
    s = soft_system()
    model, reference = s.resolve(), s.resolve("reference")
    q, v, a, _ = random_state(model, np.random.default_rng(1))
    found, expected = (getattr(m, f"{function}_dynamics_derivatives")(q, v, a) for m in (model, reference))
    assert error(found, expected) < SOFT_TOLERANCE
    lighter = s.resolve().with_parameters({"b4.mass": 0.999 * s["b4"].mass})
    assert error(getattr(lighter, f"{function}_dynamics_derivatives")(q, v, a), expected) > SOFT_TOLERANCE


def flexible_system() -> tt.System:
    """Return a free hub with two flexible bodies, one carrying a beam and a pendulum, loads on their ports."""
    rng = np.random.default_rng(6)
    s = tt.System("flexible", gravity=[0.5, -1, -9.81])
    hub = random_body(rng, "hub")
    panel = tt.FlexibleBody(
        "panel",
        mass=3.0,
        com=[0.5, 0.1, 0.2],
        inertia=[1.0, 2.0, 2.5],
        frequencies=[2.0, 5.0, 9.0],
        damping_ratios=0.02,
        participation=0.3 * rng.normal(size=(3, 6)),
        ports={"C": [1, 0, 0], "D": [0, 1, 0]},
        shapes={"C": 0.3 * rng.normal(size=(6, 3)), "D": 0.3 * rng.normal(size=(6, 3))},
    )
    section = {"area": 1e-3, "young": 1e9, "iy": 1e-7, "iz": 2e-7, "torsion_constant": 1e-7, "shear_modulus": 4e8}
    beam = tt.Beam("beam", length=1.5, density=2700.0, damping_ratio=0.01, **section)
    s.connect("world", hub, tt.Free("base"))
    s.connect(hub.port("A"), panel, tt.Revolute("hinge", [1, 2, 3]))
    s.connect(panel.port("C"), beam, tt.Universal("elbow"))
    s.connect(beam.port("C"), random_body(rng, "bob"), tt.Spherical("neck"))
    s.connect(panel.port("D"), random_body(rng, "tip"), tt.Weld("weld"))
    s.add_load(tt.Load("fixed", beam.port("C"), force=[1, 2, 3], torque=[0.3, 0.2, 0.1], frame="world"))
    s.add_load(tt.Load("turning", panel.port("D"), force=[1, -2, 3]))
    return s


@pytest.mark.parametrize("function", ["inverse", "forward"])
def test_flexible_bodies(function: str) -> None:
    s = flexible_system()
    model, reference = s.resolve(), s.resolve("reference")
    rng = np.random.default_rng(1)
    q, v, a = (
        model.integrate(model.neutral(), 0.1 * rng.normal(size=model.nv)),
        rng.normal(size=model.nv),
        rng.normal(size=model.nv),
    )
    found, expected = (getattr(m, f"{function}_dynamics_derivatives")(q, v, a) for m in (model, reference))
    M = model.mass_matrix(q)
    scale = 1 / np.sqrt(np.diag(M))
    # forward: those of inverse dynamics, solved with a mass matrix of condition 8e4 (scaled to a diagonal of ones)
    solved = np.finfo(float).eps * np.linalg.cond(scale[:, None] * M * scale) if function == "forward" else 0.0
    assert error(found, expected) < TOLERANCE + solved
    assert motion_error(model, reference, q, v, a) < TOLERANCE


def motion_error(model: tt.Model, reference: tt.Model, q: Array, v: Array, a: Array) -> float:
    """Return the largest error of the derivatives of all ports' motions; the reference goes through all in one pass."""
    found = [model.motion_derivatives(port, q, v, a) for port in model.port_names]
    expected = reference.motion_derivatives_of(model.port_names, q, v, a)
    return max(error(*pair) for pair in zip(found, expected, strict=True))


def test_motion_of_ports(case: Case) -> None:
    assert motion_error(case.model, case.reference, case.q, case.v, case.a) < TOLERANCE


def test_several_ports_move_as_each_alone() -> None:
    case = Case(3)
    ports, state = case.model.port_names[-2:], (case.q, case.v, case.a)
    for model in (case.model, case.reference):
        for port, together in zip(ports, model.motion_derivatives_of(ports, *state), strict=True):
            assert error(together, model.motion_derivatives(port, *state)) < TOLERANCE


def test_motion_of_ports_of_blocks_with_own_coordinates() -> None:
    s = soft_system()
    model, reference = s.resolve(), s.resolve("reference")
    q, v, a, _ = random_state(model, np.random.default_rng(1))
    assert motion_error(model, reference, q, v, a) < SOFT_TOLERANCE


def test_motion_derivatives_are_those_of_the_motion_vector() -> None:
    """Against differences of `Model.motion`, gravity's part of the acceleration included."""
    case = Case(4)
    model, q, v, a = case.model, case.q, case.v, case.a
    port, step = model.port_names[-1], 1e-6
    slopes = model.motion_derivatives(port, q, v, a)
    directions = step * np.eye(model.nv)
    ahead = np.array([model.motion(port, model.integrate(q, dq), v, a)[:12] for dq in directions])
    behind = np.array([model.motion(port, model.integrate(q, -dq), v, a)[:12] for dq in directions])
    by_q = (ahead - behind).T / (2 * step)
    # second-order differences of numbers near 10 with a step of 1e-6: about 1e-9
    assert error([slopes.dA_dq, slopes.dV_dq], [by_q[:6], by_q[6:]]) < 1e-7


def test_inputs_act_where_they_point() -> None:
    s = tt.System("probe")
    hub = tt.RigidBody("hub", mass=2.0, inertia=[1.0, 2.0, 2.5], ports={"T": [0.3, 0.1, 0.0]})
    s.connect("world", hub, tt.Free("base"))
    s.add_actuator(tt.Force("push", hub.port("T"), direction=[1, 0, 0], frame="world"))
    s.add_actuator(tt.Thruster("jet", hub.port("T"), direction=[0, 1, 0]))
    model, reference = s.resolve(), s.resolve("reference")
    rng = np.random.default_rng(2)
    q, v, tau = model.random_configuration(rng), rng.normal(size=6), rng.normal(size=6)
    u = {"push": 3.0, "jet": 2.0}
    found, expected = model.forward_dynamics_derivatives(q, v, tau, u=u), reference.forward_dynamics_derivatives(q, v, tau, u=u)
    assert error(found, expected) < TOLERANCE
    assert error(found, reference.forward_dynamics_derivatives(q, v, tau)) > 1e-3


def test_far_from_the_inertial_origin_nothing_is_lost() -> None:
    """A tree in orbit: positions of 7e6 m must not enter products with angular velocities."""
    s = random_tree(np.random.default_rng(11), 6, base="free")
    model, reference = s.resolve(), s.resolve("reference")
    q, v, a, _ = random_state(model, np.random.default_rng(1))
    q[:3] = 7e6, -1e5, 3e6
    assert error(model.inverse_dynamics_derivatives(q, v, a), reference.inverse_dynamics_derivatives(q, v, a)) < TOLERANCE


@pytest.mark.parametrize("seed", range(0, 100, 2))
def test_against_pinocchio(seed: int) -> None:
    """Its derivatives are analytic too; 1e-8 relative is what two engines are asked for (rounding leaves 1e-12).

    Joints of which its derivatives are wrong are left out.
    """
    pin = pytest.importorskip("pinocchio")
    from tests.pinocchio_peer import CARRYING, Peer

    rng = np.random.default_rng(1000 + seed)
    system = random_tree(rng, bodies=1 + seed // 3, kinds=[kind for kind in KINDS if kind not in CARRYING])
    model, peer = system.resolve(), Peer(system)
    q, v, a, tau = random_state(model, rng)
    wrenches = {f"{body}.A": rng.normal(size=6) for body in model.body_names[::3]}
    order = np.ix_(peer.v_order, peer.v_order)
    forces = peer._forces(q, wrenches)
    state = peer.configuration(q), peer.to_pinocchio(v)
    theirs = pin.computeRNEADerivatives(peer.model, peer.data, *state, peer.to_pinocchio(a), forces)
    mass = np.triu(theirs[2]) + np.triu(theirs[2], 1).T
    ours = model.inverse_dynamics_derivatives(q, v, a, wrenches)
    assert error(ours, [theirs[0][order], theirs[1][order], mass[order]]) < 1e-8
    theirs = pin.computeABADerivatives(peer.model, peer.data, *state, peer.to_pinocchio(tau), forces)
    inverse = np.triu(theirs[2]) + np.triu(theirs[2], 1).T
    ours = model.forward_dynamics_derivatives(q, v, tau, wrenches)
    assert error(ours, [theirs[0][order], theirs[1][order], inverse[order]]) < 1e-8


@pytest.mark.parametrize("method", ["inverse_dynamics_derivatives", "forward_dynamics_derivatives"])
def test_unusable_arguments_are_refused(method: str) -> None:
    model = random_tree(np.random.default_rng(3), 3).resolve()
    q, v, x, _ = random_state(model, np.random.default_rng(3))
    function = getattr(model, method)
    for arguments in ((q[:-1], v, x), (q, np.append(v, 0.0), x), (q, v, np.full(model.nv, np.nan))):
        with pytest.raises(tt.ModelError):
            function(*arguments)
    with pytest.raises(tt.ModelError):
        function(q, v, x, out=np.empty((2, model.nv, model.nv)))


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
            changed = reference.of(perturbed_assembly(reference.assembly, {name: value + offset}))
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
