"""Derivatives of the dynamics: against complex steps through the reference resolver, and against Pinocchio."""

from __future__ import annotations

import numpy as np
import pytest

import titop as tt
from tests.solvers.engines.compiled.derivative_cases import FUNCTIONS, SOFT_TOLERANCE, TOLERANCE, Case, error, motion_error
from tests.solvers.engines.compiled.soft_systems import soft_system
from tests.systems import KINDS, random_body, random_state, random_tree


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

    Joints of which its derivatives are wrong are left out. Those of its forward dynamics are of its inverse dynamics, solved
    with its mass matrix: by its own elimination some keep eight digits only.
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
    accelerations = pin.aba(peer.model, peer.data, *state, peer.to_pinocchio(tau), forces).copy()
    theirs = pin.computeRNEADerivatives(peer.model, peer.data, *state, accelerations, forces)
    expected = [-np.linalg.solve(mass[order], part[order]) for part in theirs[:2]]
    ours = model.forward_dynamics_derivatives(q, v, tau, wrenches)
    assert error(ours, [*expected, np.linalg.inv(mass[order])]) < 1e-8


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
