"""Derivatives of closed loops: against complex steps through the reference resolver, and against a closed form."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
import sympy
from numpy.typing import NDArray

import titop as tt
from tests.closed_systems import bricard, four_bar, slider_crank
from tests.solvers.reference_models import reference_model
from titop.solvers.constraints import closed_dynamics
from titop.solvers.mechanism.system_parameters import perturbed_assembly

Array = NDArray[np.float64]

#: As for trees: both sides are exact but for rounding.
TOLERANCE = 1e-11


def padded() -> tt.System:
    """Return a spatial four-bar on a compliant pad, anisotropic and damped, with a flexible coupling of directions."""
    root = np.random.default_rng(3).normal(size=(6, 6))
    s = four_bar(tt.CompliantClosure("pad", stiffness=200 * root @ root.T, damping=[1, 2, 3, 0.1, 0.2, 0.3]))
    s.connect(s["coupler"].port("end"), tt.RigidBody("ball", mass=0.4, inertia=0.02), tt.Spherical("neck", stiffness=2.0))
    return s


def oblique() -> tt.System:
    """Return a spatial chain whose end a closure holds in oblique directions, with a compliant one beside it."""
    s = four_bar(tt.RigidClosure("pin", directions=np.random.default_rng(5).normal(size=(6, 1))))
    s.close_loop("world", s["coupler"], tt.CompliantClosure("pad", stiffness=30.0, damping=1.0))
    return s


SYSTEMS = {"four-bar": four_bar, "slider-crank": slider_crank, "bricard": bricard, "padded": padded, "oblique": oblique}


class Case:
    """A closed system in both engines, at a closed state."""

    def __init__(self, name: str) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", tt.ModelWarning)  # redundant constraints
            self.system = SYSTEMS[name]()
            self.model, self.reference = self.system.resolve(), self.system.resolve("reference")
        rng = np.random.default_rng(2)
        model = self.model
        self.q = model.assemble(model.integrate(model.neutral(), 0.5 * rng.normal(size=model.nv)))
        self.v = model.assemble_velocity(self.q, rng.normal(size=model.nv))
        self.a = model.assemble_acceleration(self.q, self.v, rng.normal(size=model.nv))
        self.tau = rng.normal(size=model.nv)
        self.wrenches = {model.port_names[-1]: rng.normal(size=6)}


def error(found: Any, expected: Any) -> float:
    """Return the largest error of several matrices, each relative to its largest entry (or to 1)."""
    pairs = list(zip(found, expected, strict=True))
    return max(float(np.abs(x - y).max(initial=0.0) / max(np.abs(y).max(initial=0.0), 1.0)) for x, y in pairs)


@pytest.fixture(params=SYSTEMS, scope="module")
def case(request: pytest.FixtureRequest) -> Case:
    return Case(request.param)


def test_forward_dynamics(case: Case) -> None:
    state = case.q, case.v, case.tau, case.wrenches
    found, expected = (m.forward_dynamics_derivatives(*state) for m in (case.model, case.reference))
    assert error(found, expected) < TOLERANCE


def test_inverse_dynamics(case: Case) -> None:
    state = case.q, case.v, case.a, case.wrenches
    found, expected = (m.inverse_dynamics_derivatives(*state) for m in (case.model, case.reference))
    assert error(found, expected) < TOLERANCE


def test_inverse_dynamics_of_the_independent_coordinates(case: Case) -> None:
    actuated = case.model.independent_coordinates(case.q)
    state = case.q, case.v, case.a, case.wrenches
    found, expected = (m.inverse_dynamics_derivatives(*state, actuated=actuated) for m in (case.model, case.reference))
    assert error(found, expected) < TOLERANCE


def test_hybrid_dynamics(case: Case) -> None:
    prescribed = case.model.independent_coordinates(case.q)[:1]
    state = case.q, case.v, case.tau, case.a, prescribed, case.wrenches
    found, expected = (m.hybrid_dynamics_derivatives(*state) for m in (case.model, case.reference))
    assert error(found, expected) < TOLERANCE


@pytest.mark.parametrize("name", ["four-bar", "bricard"])
def test_motions_that_depend_on_each_other_are_no_inputs(name: str) -> None:
    """Their derivatives are those of the least efforts; coordinates that are held besides may depend on each other."""
    model = Case(name).model
    point = tt.trim(model, [f"{joint}.tau" for joint in model.coordinate_names], q=Case(name).q)
    with pytest.raises(tt.ModelError, match=r"too many; expected coordinates that can move independently.*overdriven"):
        tt.linearize(model, point, inputs=[f"{joint}.a" for joint in model.coordinate_names], outputs=["q1.tau"])
    held = tt.linearize(
        model, point, inputs=["coupler"] if name == "four-bar" else ["link3"], outputs=["q1.tau"], hold=["q1", "q2"]
    )
    assert held.nstates == 0
    assert np.abs(held.D).max() > 1e-3


def five_bar() -> tt.System:
    """Return two cranks (0.3 m) and two rods (0.5 m) in a vertical plane, of two degrees of freedom."""
    s = tt.System("five_bar", gravity=[0, -9.81, 0])
    s.world.add_port("right", [0.6, 0, 0])
    ends = []
    for side, ground in (("a", "world"), ("b", s.world.port("right"))):
        crank, rod = (
            tt.RigidBody(f"{name}_{side}", 0.5, com=[size / 2, 0, 0], inertia=[1e-3, 0.01, 0.01], ports={"end": [size, 0, 0]})
            for name, size in (("crank", 0.3), ("rod", 0.5))
        )
        s.connect(ground, crank, tt.Revolute(f"turn_{side}"))
        s.connect(crank.port("end"), rod, tt.Revolute(f"swing_{side}"))
        ends.append(rod.port("end"))
    s.close_loop(*ends, tt.RigidClosure("pin", directions=np.eye(6)[:, :2]))
    return s


@pytest.mark.parametrize("engine", ["compiled", "reference"])
def test_dead_centres_of_what_is_prescribed_have_no_derivatives(engine: str) -> None:
    """Both rods in line: next to it efforts on the cranks grow as one over the distance; with one crank they do not."""
    model, nothing, cranks = five_bar().resolve(engine), np.zeros(4), ["turn_a", "turn_b"]

    def at(angle: float) -> NDArray[np.float64]:
        apart = 0.6 - 0.6 * np.cos(angle)  # of the cranks' ends (m), over rods of 0.5 m each
        rise = np.arccos(min(apart, 1.0))
        return np.array([angle, rise - angle, np.pi - angle, angle - rise])

    dead = np.arccos(-2 / 3)
    q = at(dead)
    accelerations = model.forward_dynamics(q, nothing)
    with pytest.raises(tt.ModelError, match=r"pin: got 1 independent .*\(turn_a, turn_b are\).* such as 2 around it"):
        model.hybrid_dynamics_derivatives(q, nothing, nothing, accelerations, cranks)
    found, _ = model.hybrid_dynamics(q, nothing, nothing, accelerations, cranks)
    assert found == pytest.approx(accelerations, rel=1e-10)  # rounding, twice: accelerations themselves are determined there
    for prescribed, grows in ((cranks, True), (["turn_a"], False)):
        sizes = []
        for aside in (1e-3, 1e-4):
            beside = at(dead - aside)
            a = model.forward_dynamics(beside, nothing)
            changes = model.hybrid_dynamics_derivatives(beside, nothing, nothing, a, prescribed)
            sizes.append(np.abs(changes.dtau_dq).max())
        assert bool(sizes[1] > 2.0 * sizes[0]) == grows, sizes


def with_closures(case: Case) -> tuple[list[Array], list[Array]]:
    """Return the compiled and the reference engine's derivatives of efforts and constraints, the multipliers given."""
    model, pushes = case.model, case.model.mechanism.external_pushes(case.wrenches)
    state = case.q, case.v, case.a, pushes, np.random.default_rng(4).normal(size=len(model.constraint_names))
    found, expected = (
        model.mechanism.engine.derivatives.with_closures(*state),
        case.reference.mechanism.engine.derivatives.with_closures(*state),
    )
    return [*found[0], *found[1]], [*expected[0], *expected[1]]


def test_compiled_closures_against_complex_steps(case: Case) -> None:
    assert error(*with_closures(case)) < TOLERANCE
    rates = case.reference.mechanism.engine.derivatives.closure_rate(case.q, case.v)
    assert error([case.model.mechanism.engine.derivatives.closure_rate(case.q, case.v)], [rates]) < TOLERANCE


def test_leaving_out_how_the_closures_turn_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    pushes = closed_dynamics.closure_pushes
    monkeypatch.setattr(closed_dynamics, "closure_pushes", lambda m, q, multipliers: pushes(m, np.real(q), multipliers))
    found, expected = with_closures(Case("four-bar"))
    assert error(found[:1], expected[:1]) > 1e-3


def test_compiled_efforts_are_the_least_ones(case: Case) -> None:
    """The kernel's inverse dynamics against `Shares` in the reference resolver, a wrench acting."""
    state = case.q, case.v, case.a, case.wrenches
    found, expected = (m.inverse_dynamics(*state) for m in (case.model, case.reference))
    assert error([found], [expected]) < TOLERANCE
    jacobian = case.model.closure_jacobian(case.q)
    largest = np.abs(jacobian).max(initial=1.0) * np.abs(found).max()
    assert np.abs(jacobian @ found).max(initial=0.0) < TOLERANCE * largest


def test_slider_crank_against_its_lagrangian() -> None:
    """One coordinate, the crank's angle: its acceleration and that acceleration's slopes, from sympy and from the closed chain.

    Along the mechanism ``dq = T dx`` and ``dv = T dx' + (dT/dx x') dx``; T and its slope come from the geometry alone.
    """
    r, length, masses = 0.3, 0.9, (1.0, 2.0, 1.5)
    with pytest.warns(tt.ModelWarning, match="redundant-closure"):
        model = slider_crank((r, length), masses).resolve()
    x, w, tau = sympy.symbols("x w tau")
    rod = -sympy.asin(r * sympy.sin(x) / length)  # the rod's attitude
    chain = sympy.Matrix([x, rod - x, -rod])  # the joints' angles
    points = [
        (masses[0], sympy.Matrix([r * sympy.cos(x), r * sympy.sin(x)]) / 2, masses[0] * r**2 / 12, x),
        (
            masses[1],
            sympy.Matrix([r * sympy.cos(x) + length * sympy.cos(rod) / 2, r * sympy.sin(x) + length * sympy.sin(rod) / 2]),
            masses[1] * length**2 / 12,
            rod,
        ),
        (masses[2], sympy.Matrix([r * sympy.cos(x) + length * sympy.cos(rod), 0]), 0.01, sympy.Integer(0)),
    ]
    inertia = sum(m * p.diff(x).dot(p.diff(x)) + j * sympy.diff(angle, x) ** 2 for m, p, j, angle in points)
    potential = sum(m * 9.81 * p[1] for m, p, _, _ in points)
    acceleration = (tau - inertia.diff(x) * w**2 / 2 - potential.diff(x)) / inertia
    at = {x: 0.7, w: 1.3, tau: 0.4}
    expected = [float(f.subs(at)) for f in (acceleration, acceleration.diff(x), acceleration.diff(w), acceleration.diff(tau))]
    T, bend = (np.array(f.subs(at).evalf(), dtype=float).ravel() for f in (chain.diff(x), chain.diff(x, 2)))
    q = np.array(chain.subs(at).evalf(), dtype=float).ravel()
    efforts = np.array([0.4, 0.0, 0.0])
    by_q, by_v, by_tau = model.forward_dynamics_derivatives(q, 1.3 * T, efforts)
    found = [model.forward_dynamics(q, 1.3 * T, efforts)[0], by_q[0] @ T + by_v[0] @ bend * 1.3, by_v[0] @ T, by_tau[0, 0]]
    assert found == pytest.approx(expected, rel=1e-11)  # rounding on both sides


@pytest.mark.parametrize("name", ["padded", "oblique", "four-bar"])
def test_sensitivities_against_differences_of_the_reference(name: str) -> None:
    """Every parameter of the closures and some others; sixth-order differences with steps of 5e-3, good to about 1e-9."""
    case = Case(name)
    model, q, v, tau = case.model, case.q, case.v, case.tau
    names = [n for n in model.parameters() if n.split(".")[0] in ("pin", "pad")]
    names += ["coupler.mass", "coupler.com.x", "coupler.end.position.x", "q1.stiffness", "q2.axis.x", "gravity.y"]
    found = model.forward_dynamics_sensitivities(q, v, tau, [*names, "coupler.end"], wrenches=case.wrenches)
    nothing, free = np.zeros(model.nv), np.zeros(model.nv, dtype=bool)

    def accelerations(parameter: str, change: float) -> Array:
        values = {parameter: model.parameters()[parameter][0] + change}
        changed = reference_model(perturbed_assembly(model.mechanism.assembly, values))
        pushes, rows = changed.mechanism.external_pushes(case.wrenches), changed.mechanism.engine.dynamics.constraints(q, v)
        return closed_dynamics.accelerations(changed.mechanism, q, v, nothing, tau, free, pushes, rows, model.closure_rank(q))

    for parameter in names:
        step = 5e-3 * max(abs(model.parameters()[parameter][0]), 1.0)
        weights = ((1, 3 / 4), (2, -3 / 20), (3, 1 / 60))
        parts = [w * (accelerations(parameter, k * step) - accelerations(parameter, -k * step)) for k, w in weights]
        expected = sum(parts) / step
        assert np.abs(found[parameter] - expected).max() < 1e-8 * max(1.0, np.abs(expected).max()), parameter
    port = {"coupler.end": np.array([0, 0, 1.0, 0, 0, 0])}
    pushed = {key: case.wrenches.get(key, 0) + port.get(key, 0) for key in {*case.wrenches, *port}}
    difference = model.forward_dynamics(q, v, tau, pushed) - model.forward_dynamics(q, v, tau, case.wrenches)
    assert found["coupler.end"][:, 2] == pytest.approx(difference, rel=1e-9, abs=1e-9)  # accelerations are affine in wrenches
