"""Closed loops: both resolvers against each other, and identities that hold for all closures."""

from __future__ import annotations

import ast
import re
import runpy
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import titop as tt
from tests.closed_systems import LENGTHS, accelerating, bricard, closed_four_bar, four_bar, random_closed_tree, slider_crank
from tests.mechanisms import windows
from tests.refusals import ENGINES, refusal
from tests.solvers.constraints.compared_engines import relative
from titop.blocks.basics.spatial import matrix_quaternion
from titop.graph.files.saving import to_text
from titop.solvers.constraints.multipliers import independent_rows

Segment = runpy.run_path(str(Path(__file__).parents[3] / "examples" / "custom_block.py"))["ConstantCurvatureSegment"]

pytestmark = pytest.mark.filterwarnings("ignore::titop.ModelWarning")


def open_accelerations(model, q, v, tau):
    """Return the accelerations of the tree without its rigid closures."""
    return model.mechanism.engine.dynamics.tree_hybrid(q, v, tau, np.zeros(model.nv), np.zeros(model.nv, dtype=bool), [])[0]


def rounding(model, q):
    """Return what rounding may leave of relative accuracy: 1e-14 times the condition of the constraints, masses included."""
    jacobian = model.closure_jacobian(q)
    jacobian = jacobian[independent_rows(jacobian, model.closure_rank(q))]
    return 1e-14 * np.linalg.cond(jacobian @ np.linalg.solve(model.mass_matrix(q), jacobian.T))


def assert_engines_agree(s, q, rng, prescribed=0):
    """Assert that both resolvers find the same of every quantity; return the compiled model and a state."""
    compiled, reference = s.resolve(), s.resolve("reference")
    q = compiled.assemble(q)
    reference.assemble(q)
    assert compiled.constraint_names == reference.constraint_names
    assert compiled.closure_rank(q) == reference.closure_rank(q) > 0
    v, a, tau = accelerating(compiled, q, rng)
    wrenches = {compiled.body_names[-1]: rng.normal(size=6)}
    found = []
    for m in (compiled, reference):
        found.append(
            {
                "error": m.closure_error(q),
                "jacobian": m.closure_jacobian(q),
                "bias": m.closure_bias(q, v),
                "forward": m.forward_dynamics(q, v, tau, wrenches),
                "inverse": m.inverse_dynamics(q, v, a, wrenches),
                "hybrid": np.concatenate(m.hybrid_dynamics(q, v, tau, a, [m.coordinate_names[prescribed]], wrenches)),
                "passive": m.passive_efforts(q, v),
                "energy": m.energy(q, v),
            }
            | {f"reaction {name}": m.reaction(name, q, v, a, wrenches) for name in (m.joint_names[-1], *CLOSURES)}
        )
    for name, value in found[0].items():
        assert relative(value, found[1][name]) < max(1e-11, rounding(compiled, q)), (name, rounding(compiled, q))
    return compiled, q, v, tau


CLOSURES = ("pin0", "pad1")


@pytest.mark.parametrize("seed", range(10))
def test_both_resolvers_agree(seed: int) -> None:
    rng = np.random.default_rng(seed)
    s, q = random_closed_tree(rng, 6, passive=True, loads=True)
    model, q, v, tau = assert_engines_agree(s, q, rng)
    # the negative control: closures do change the motion
    assert relative(model.forward_dynamics(q, v, tau), open_accelerations(model, q, v, tau)) > 1e-6


@pytest.mark.parametrize("port", ["C", None])
def test_both_resolvers_agree_on_closures_of_general_blocks(port) -> None:
    """Ports of blocks with own coordinates move with these, and closures on them drive these."""
    rng = np.random.default_rng(3)
    s = tt.System("soft", gravity=[1, 2, -9.81])
    bends = [Segment(f"bend{k}", 0.8, 0.15, 40.0, 3.0, 0.2) for k in range(2)]
    tips = [tt.RigidBody(f"tip{k}", 1.0, com=[0.1, 0, 0.2], inertia=0.1, ports={"E": [0.3, 0.1, 0.2]}) for k in range(2)]
    for k in range(2):
        s.connect("world", bends[k], tt.Spherical(f"ball{k}"), placement=[0.3 * k, 0, 0])
        s.connect(bends[k].port("C"), tips[k], tt.Universal(f"wrist{k}"))
    probe = s.resolve("reference")
    q = probe.random_configuration(rng)
    (R1, p1), (R2, p2) = probe.pose(f"bend0.{port}" if port else "bend0", q), probe.pose("tip1", q)
    tips[1].add_port("loop", R2.T @ (p1 - p2), R2.T @ R1)
    s.close_loop(bends[0].port(port) if port else bends[0], tips[1].port("loop"), tt.RigidClosure("pin0", "universal"))
    s.close_loop(bends[1].port("C"), s.world.port(None), tt.CompliantClosure("pad1", 20.0, 0.5))
    model, q, v, tau = assert_engines_agree(s, q, rng, prescribed=3)
    assert np.abs(model.closure_jacobian(q)[:, 3]).max() > (0.1 if port else -1)  # the bend's column
    assert relative(model.forward_dynamics(q, v, tau), open_accelerations(model, q, v, tau)) > 1e-3


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("seed", range(4))
def test_forward_undoes_inverse_and_keeps_the_loops_closed(engine: str, seed: int) -> None:
    rng = np.random.default_rng(100 + seed)
    kinds = ("Revolute", "Spherical", "Cylindrical", "Universal")
    s, q = random_closed_tree(rng, 7, rigid=2, compliant=1, kinds=kinds, passive=True)
    model = s.resolve(engine)
    q = model.assemble(q)
    v, a, tau = accelerating(model, q, rng)
    assert relative(model.forward_dynamics(q, v, model.inverse_dynamics(q, v, a)), a) < max(1e-11, rounding(model, q))
    moving = model.forward_dynamics(q, v, tau)

    def opening(a):
        return np.abs(model.closure_jacobian(q) @ a + model.closure_bias(q, v)).max() / max(1.0, np.abs(a).max())

    assert opening(moving) < 1e-11
    assert opening(open_accelerations(model, q, v, tau)) > 1e-3, "the negative control"


@pytest.mark.parametrize("engine", ENGINES)
def test_gauss_principle(engine: str) -> None:
    """The accelerations are those nearest to the tree's, in the metric of the mass matrix, among all that keep loops closed."""
    rng = np.random.default_rng(5)
    s, q = random_closed_tree(rng, 6, rigid=2, passive=True, kinds=("Revolute", "Spherical", "Free"))
    model = s.resolve(engine)
    q = model.assemble(q)
    v, _, tau = accelerating(model, q, rng)
    alone, root = open_accelerations(model, q, v, tau), np.linalg.cholesky(model.mass_matrix(q)).T
    jacobian, bias = model.closure_jacobian(q), model.closure_bias(q, v)
    change = np.linalg.lstsq(jacobian @ np.linalg.inv(root), -bias - jacobian @ alone, rcond=1e-9)[0]
    # a pseudo-inverse and a triangular solve of well-conditioned systems
    assert relative(model.forward_dynamics(q, v, tau), alone + np.linalg.solve(root, change)) < 1e-10


def test_the_reference_resolver_is_complex_safe_through_loops() -> None:
    """Its complex-step derivative of the accelerations agrees with differences."""
    model, q, v = closed_four_bar(engine="reference")
    direction, step, nothing = np.array([0.3, -0.5, 0.7]), 1e-30, np.zeros(3)
    for function in (
        lambda dv: model.forward_dynamics(q, v + dv, nothing),
        lambda dv: model.inverse_dynamics(q, v + dv, model.forward_dynamics(q, v + dv, nothing) + 0 * dv, actuated=["q1"]),
    ):
        exact = np.imag(function(1j * step * direction)) / step
        differences = (function(1e-4 * direction) - function(-1e-4 * direction)) / 2e-4
        # quadratic in v: central differences are exact but for rounding of 1e-15 / 1e-4, at accelerations of 1e2
        assert relative(exact, differences) < 1e-9


def test_rank_of_redundant_closures() -> None:
    planar = four_bar(tt.RigidClosure("pin", directions=np.eye(6)[:, :2]))
    for s, guess, expected in (
        (four_bar(), [0.5, 0.5, -1.5], 2),
        (planar, [0.5, 0.5, -1.5], 2),
        (slider_crank(), [0.5, -0.7, 0.2], 2),
        (bricard(), 0.3 * np.ones(5), 4),
    ):
        model = s.resolve()
        assert model.closure_rank(model.assemble(guess)) == expected


@pytest.mark.filterwarnings("default::titop.ModelWarning")
def test_redundant_constraints_are_named() -> None:
    with pytest.warns(tt.ModelWarning, match=r"pin: got z, tilt1, tilt2; .*redundant-closure"):
        four_bar().resolve()
    with pytest.warns(tt.ModelWarning, match=r"pin: got tilt2; .*redundant-closure"):
        bricard().resolve()
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        four_bar(tt.RigidClosure("pin", directions=np.eye(6)[:, :2])).resolve()


def test_the_rank_is_held_off_the_closures() -> None:
    """A little off, redundant constraints look independent; following them would give other accelerations."""
    model = bricard().resolve()
    q = model.assemble(0.3 * np.ones(5))
    v = model.assemble_velocity(q, np.ones(5))
    near = q + 1e-7 * np.array([1.0, -2.0, 1.0, 3.0, -1.0])
    change = relative(model.forward_dynamics(near, v, np.zeros(5)), model.forward_dynamics(q, v, np.zeros(5)))
    assert change < 1e-5  # 1e-7 times derivatives of the order of a hundred
    assert np.linalg.matrix_rank(model.closure_jacobian(near), tol=1e-10) == 5, "the control"


def test_reactions_are_least_and_balance_what_is_needed() -> None:
    model, q, v = closed_four_bar()
    a = model.forward_dynamics(q, v, np.zeros(3))
    wrench = model.reaction("pin", q, v, a)
    # planar: the constraints out of the plane carry nothing, up to rounding of forces of 1e2
    assert np.abs(wrench[[2, 3, 4, 5]]).max() < 1e-12
    only_plane = four_bar(tt.RigidClosure("pin", directions=np.eye(6)[:, :2])).resolve()
    assert wrench == pytest.approx(only_plane.reaction("pin", q, v, a), abs=1e-11)
    # the second closure on the same ports takes half
    s = four_bar()
    s.close_loop(s.world.port("ground"), s["rocker"].port("end"), tt.RigidClosure("twin", "revolute"))
    double = s.resolve()
    for name in ("pin", "twin"):
        assert double.reaction(name, q, v, a) == pytest.approx(wrench / 2, abs=1e-11)
    assert double.forward_dynamics(q, v, np.zeros(3)) == pytest.approx(a, abs=1e-10)


def test_reactions_with_applied_efforts() -> None:
    """With efforts applied the closures carry what these leave; by default the least efforts are taken."""
    model, q, v = closed_four_bar()
    tau = np.array([5.0, -3.0, 2.0])
    a = model.forward_dynamics(q, v, tau)
    jacobian = model.closure_jacobian(q)
    turn = model.pose("rocker.end", q)[0]
    force = turn @ model.reaction("pin", q, v, a, tau=tau)[:3]  # in the axes of the ground
    needed = model.mass_matrix(q) @ a + model.nonlinear_effects(q, v)
    assert tau + jacobian[:3].T @ force == pytest.approx(needed, abs=1e-10)
    least = model.inverse_dynamics(q, v, a)
    assert np.linalg.norm(least) < np.linalg.norm(tau)
    assert not np.allclose(turn @ model.reaction("pin", q, v, a)[:3], force, atol=0.1)


def test_independent_coordinates() -> None:
    model, q, _ = closed_four_bar()
    (chosen,) = model.independent_coordinates(q)
    assert model.independent_coordinates(q, [chosen]) == (chosen,)
    assert model.independent_coordinates(q, ["q1"]) == ("q1",)
    with pytest.raises(tt.ModelError, match=r"wrong-length"):
        model.independent_coordinates(q, ["q1", "q2"])
    # the slider's dead centre: crank and rod in line, the piston does not tell which way the crank turns
    s = tt.System("dead", gravity=[0, 0, 0])
    crank = tt.RigidBody("crank", 1.0, inertia=1.0, ports={"end": [0.3, 0, 0]})
    piston = tt.RigidBody("piston", 1.0, inertia=1.0)
    s.connect("world", crank, tt.Revolute("turn"))
    s.connect("world", piston, tt.Prismatic("slide", axis=[1, 0, 0]))
    rod = tt.RigidBody("rod", 1.0, inertia=1.0, ports={"end": [0.9, 0, 0]})
    s.connect(crank.port("end"), rod, tt.Revolute("swing"))
    s.close_loop(rod.port("end"), piston, tt.RigidClosure("pin", directions=np.eye(6)[:, :2]))
    dead = s.resolve()
    straight = np.array([0.0, 1.2, 0.0])
    assert np.abs(dead.closure_error(straight)).max() < 1e-15
    with pytest.raises(tt.ModelError, match=r"dependent-coordinates.*|take (turn|swing)"):
        dead.independent_coordinates(straight, ["slide"])
    assert dead.independent_coordinates(straight) in (("turn",), ("swing",))
    bent = dead.assemble([0.7, 1.0, -1.0], fixed=["turn"])
    assert dead.independent_coordinates(bent, ["slide"]) == ("slide",)


@pytest.mark.parametrize("engine", ENGINES)
def test_hybrid_dynamics_through_a_loop(engine: str) -> None:
    """What the crank needs to move as prescribed, applied, gives this motion."""
    model, q, v = closed_four_bar(engine=engine)
    applied = np.array([0.0, 0.4, -0.7])
    a, tau = model.hybrid_dynamics(q, v, applied, [3.0, 0, 0], prescribed=["q1"])
    assert a[0] == 3.0
    assert tau[1:] == pytest.approx(applied[1:])
    # rounding at accelerations of 1e2
    assert model.forward_dynamics(q, v, tau) == pytest.approx(a, abs=1e-10)
    assert model.inverse_dynamics(q, v, a, actuated=["q1"])[0] != pytest.approx(tau[0], abs=1e-3)
    every, least = model.hybrid_dynamics(q, v, applied, a, prescribed=["q1", "q2", "q3"])
    assert every == pytest.approx(a, abs=1e-12)
    assert least == pytest.approx(model.inverse_dynamics(q, v, a), abs=1e-10)


def test_inverse_dynamics_on_actuated_coordinates() -> None:
    model, q, v = closed_four_bar()
    a = model.assemble_acceleration(q, v, [3.0, 0, 0], fixed=["q1"])
    norms = {}
    for names in (["q1"], ["q2"], ["q3"], ["q1", "q3"], None):
        tau = model.inverse_dynamics(q, v, a, actuated=names)
        assert not tau[[name not in (names or model.coordinate_names) for name in model.coordinate_names]].any()
        assert model.forward_dynamics(q, v, tau) == pytest.approx(a, abs=1e-10)
        norms[str(names)] = np.linalg.norm(tau)
    assert norms["None"] == min(norms.values())
    assert norms["['q1', 'q3']"] < min(norms["['q1']"], norms["['q3']"])


def test_stacked_states_and_out() -> None:
    model, q, v = closed_four_bar()
    tau = np.arange(3.0)
    a = model.forward_dynamics(q, v, tau)
    assert np.array_equal(model.forward_dynamics(*(np.array([x, x]) for x in (q, v, tau))), [a, a])
    out = np.empty(3)
    assert model.forward_dynamics(q, v, tau, out=out) is out
    assert np.array_equal(out, a)
    efforts = model.inverse_dynamics(*(np.array([x, x]) for x in (q, v, a)), actuated=["q1"])
    assert np.array_equal(efforts, 2 * [model.inverse_dynamics(q, v, a, actuated=["q1"])])


def test_parameters_of_closures_and_bodies_reach_the_solvers() -> None:
    s = four_bar()
    s.close_loop(s["crank"].port("end"), s["rocker"], tt.CompliantClosure("pad", 3.0))
    model, reference = s.resolve(), s.resolve("reference")
    changes = {"coupler.mass": 3.0, "pad.stiffness.x.y": 1.0, "pin.axis.z": 2.0, "world.ground.position.x": 0.95}
    q = model.with_parameters(changes).assemble([0.5, 0.5, -1.5])
    found, expected = (m.with_parameters(changes).forward_dynamics(q, np.zeros(3), np.zeros(3)) for m in (model, reference))
    assert found == pytest.approx(expected, abs=1e-10)
    fast = {"coupler.mass": 3.0, "pad.stiffness.x.y": 1.0, "world.ground.position.x": 0.95}  # packed, nothing built again
    found, expected = (m.with_parameters(fast).forward_dynamics(q, np.zeros(3), np.zeros(3)) for m in (model, reference))
    assert found == pytest.approx(expected, abs=1e-10)
    assert found != pytest.approx(model.forward_dynamics(q, np.zeros(3), np.zeros(3)), abs=1e-3)
    for quantity in ("passive_efforts", "energy"):
        of_both = [np.asarray(getattr(m.with_parameters(fast), quantity)(q, np.ones(3))) for m in (model, reference)]
        assert of_both[0] == pytest.approx(of_both[1], abs=1e-11), quantity


def test_sensors_of_closures() -> None:
    s = four_bar()
    s.add_sensor(tt.ReactionSensor("load_cell", "pin"))
    model = s.resolve()
    q = model.assemble([0.5, 0.5, -1.5], fixed=["q1"])
    tau = np.array([1.0, 0, 0])
    a = model.forward_dynamics(q, np.zeros(3), tau)
    assert model.outputs(q, np.zeros(3), a, tau=tau) == pytest.approx(model.reaction("pin", q, np.zeros(3), a, tau=tau))


@pytest.mark.parametrize("method", ["assemble", "assemble_velocity", "assemble_acceleration", "independent_coordinates"])
def test_unknown_names_are_refused(method) -> None:
    model, q, v = closed_four_bar()
    arguments = {"assemble": (q,), "assemble_velocity": (q, v), "assemble_acceleration": (q, v, v)}.get(method, (q,))
    with pytest.raises(tt.ModelError, match=r"'q1'") as caught:
        getattr(model, method)(*arguments, ["q11"])
    assert caught.value.code == "unknown-coordinate"
    with pytest.raises(tt.ModelError, match=r"unknown-coordinate"):
        model.inverse_dynamics(q, v, v, actuated=["motor"])
    with pytest.raises(tt.ModelError, match=r"a joint or closure of the model"):
        model.reaction("pim", q, v, v)


def test_contradictions_are_refused() -> None:
    model, q, v = closed_four_bar()
    with pytest.raises(tt.ConvergenceError, match=r"fixed velocities contradict the closures: pin\.\w+ is left with"):
        model.assemble_velocity(q, [1.0, 0, 0], fixed=["q1", "q2"])
    with pytest.raises(tt.ConvergenceError, match=r"fixed accelerations contradict"):
        model.assemble_acceleration(q, v, [1.0, 0, 0], fixed=["q1", "q2"])
    with pytest.raises(tt.ConvergenceError, match=r"or fix less"):
        model.assemble([0.5, 0.5, -1.5], fixed=["q1", "q2"])
    with pytest.raises(tt.ModelError, match=r"inconsistent-acceleration"):
        model.inverse_dynamics(q, v, [1.0, 0, 0])
    with pytest.raises(tt.ModelError, match=r"inconsistent-acceleration"):
        model.hybrid_dynamics(q, v, v, [1.0, 0, 0], prescribed=["q1", "q2"])


def test_under_actuation_is_refused() -> None:
    model, q, v = closed_four_bar()
    a = model.assemble_acceleration(q, v, [3.0, 0, 0], fixed=["q1"])
    with pytest.raises(tt.ModelError, match=r"under-actuated"):
        model.inverse_dynamics(q, v, a, actuated=[])
    free = four_bar(tt.CompliantClosure("pad", 100.0)).resolve()
    with pytest.raises(tt.ModelError, match=r"left to others than q1, q2"):
        free.inverse_dynamics(q, v, a, actuated=["q1", "q2"])
    assert free.inverse_dynamics(q, v, a, actuated=["q1", "q2", "q3"]) == pytest.approx(free.inverse_dynamics(q, v, a))


@pytest.mark.parametrize("engine", ENGINES)
def test_a_singular_configuration_is_refused(engine: str) -> None:
    """A parallelogram with its bars in line can go on as one or turn inside out."""
    model = four_bar(lengths=(1.0, 0.4, 1.0, 0.4)).resolve(engine)
    assert model.closure_rank(model.assemble([0.5, -0.5, -np.pi + 0.5])) == 2
    in_line = np.array([0.0, 0.0, -np.pi])
    assert np.abs(model.closure_error(in_line)).max() < 1e-14  # sums of a few metres, turned by a rounded pi
    with pytest.raises(tt.ModelError, match=r"pin: got 1 independent constraints at q1 0, .*singular-closure") as caught:
        model.forward_dynamics(in_line, np.zeros(3), np.zeros(3))
    assert caught.value.where == "pin"
    with pytest.raises(tt.ModelError, match=r"singular-closure"):
        model.forward_dynamics_derivatives(in_line, np.zeros(3), np.zeros(3))
    with pytest.raises(tt.ModelError, match=r"singular-closure"):
        model.hybrid_dynamics(in_line, *np.zeros((3, 3)), ["q1"])
    with pytest.raises(tt.ModelError, match=r"singular-closure"):
        tt.linearize(model, in_line, ["q1"])
    held, needed = model.hybrid_dynamics(in_line, *np.zeros((3, 3)), ["q1", "q2", "q3"])
    assert not held.any()  # nothing is left undetermined where all is prescribed
    assert needed == pytest.approx(model.inverse_dynamics(in_line, *np.zeros((2, 3))))
    near = model.assemble([0.1, -0.1, -3.0], fixed=["q1"])
    assert np.isfinite(model.forward_dynamics(near, np.zeros(3), np.zeros(3))).all()


def test_bad_states_are_refused() -> None:
    model, q, v = closed_four_bar()
    with pytest.raises(tt.ModelError, match=r"not-finite"):
        model.forward_dynamics(q, v, [np.nan, 0, 0])
    with pytest.raises(tt.ModelError, match=r"not-finite"):
        model.forward_dynamics(q, [1e200, 0, 0], np.zeros(3))
    with pytest.raises(tt.ModelError, match=r"wrong-length"):
        model.forward_dynamics(q, v, np.zeros(2))


def test_a_coordinate_without_inertia_is_named_unless_closures_hold_it() -> None:
    s = four_bar()
    for name in ("coupler", "rocker"):
        s[name].mass, s[name].inertia = 0.0, np.zeros((3, 3))
    models = [s.resolve(engine) for engine in ("compiled", "reference")]
    q = models[0].assemble(np.array([-1.5, 1.0, 1.0]))
    rate = models[0].assemble_velocity(q, np.array([1.0, 0.0, 0.0]))
    a = [m.forward_dynamics(q, rate, [0.7, 0, 0]) for m in models]
    np.testing.assert_allclose(*a, rtol=1e-10)  # rounding times the condition of the constraints
    assert models[0].inverse_dynamics(q, rate, a[0], actuated=["q1"]) == pytest.approx([0.7, 0, 0], abs=1e-10)
    s.connect(s["rocker"], tt.RigidBody("lost", 0.0), tt.Revolute("q4"))
    with pytest.raises(tt.ModelError, match=r"q4: .*massless-joint"):
        s.resolve()


def test_accelerations_that_vanish_may_hold_rounding() -> None:
    model = four_bar().resolve()
    point = tt.trim(model, ["q1", "q2", "q3"], q={"q1": -1.5, "q2": 1.0, "q3": 1.0})
    a = model.forward_dynamics(point.q, point.v, np.zeros(3))
    # at rest in equilibrium nothing is needed: what is left are roundings of forces of 10 N m
    assert np.abs(model.inverse_dynamics(point.q, point.v, a, actuated=["q1"])).max() < 1e-6
    with pytest.raises(tt.ModelError, match="inconsistent-acceleration"):
        model.inverse_dynamics(point.q, point.v, np.array([1e-6, 0, 0]), actuated=["q1"])


def warned(s: tt.System, engine: str = "compiled") -> list[str]:
    """Return what warns when a system is resolved."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        s.resolve(engine)
    return [str(one.message) for one in caught]


def cure(message: str) -> dict[str, Any]:
    """Return the arguments of the closure that a warning asks for."""
    found = re.search(r"RigidClosure\('\w+', (kind=.*?)\) leaves out what follows", message)
    assert found, message
    call = ast.parse(f"f({found[1]})", mode="eval").body
    assert isinstance(call, ast.Call)
    return {str(one.arg): ast.literal_eval(one.value) for one in call.keywords}


def turned(closure: tt.RigidClosure) -> tuple[tt.System, np.ndarray]:
    """Return a four-bar linkage in an oblique plane, and that plane's normal in the axes of its bodies."""
    normal = np.array([0.48, 0.6, 0.64])
    first = np.cross(normal, [0, 0, 1.0]) / np.linalg.norm(np.cross(normal, [0, 0, 1.0]))
    s = tt.System("oblique", gravity=[0, 0, -9.81])
    s.world.add_port("ground", LENGTHS[0] * first)
    end: Any = "world"
    for k, length in enumerate(LENGTHS[1:]):
        inertia = 0.1 * length**2 * (np.eye(3) - np.outer(first, first)) + 1e-3 * np.eye(3)
        link = tt.RigidBody(f"link{k}", 1.0, com=length / 2 * first, inertia=inertia, ports={"end": length * first})
        s.connect(end, link, tt.Revolute(f"q{k}", axis=normal))
        end = link.port("end")
    s.close_loop(s.world.port("ground"), end, closure)
    return s, normal


@pytest.mark.parametrize("engine", ENGINES)
def test_what_is_meant_does_not_warn(engine: str) -> None:
    assert not warned(four_bar(tt.RigidClosure("pin", "revolute", redundant=True)), engine)
    assert len(warned(four_bar(tt.RigidClosure("pin", "revolute")), engine)) == 1
    twice = np.column_stack([np.eye(6)[:, :2], np.eye(6)[:, 0]])
    assert not warned(four_bar(tt.RigidClosure("pin", directions=twice, redundant=True)), engine)
    assert len(warned(four_bar(tt.RigidClosure("pin", directions=twice)), engine)) == 2


def test_others_warn_still() -> None:
    s = windows(2, spatial=True)
    s["pin2"].redundant = True
    assert [message.split(":")[0] for message in warned(s)] == ["pin1"]


def test_the_closure_that_repeats_another_is_to_be_left_out() -> None:
    def double(**second: Any) -> tt.System:
        s = four_bar(tt.RigidClosure("pin", "planar_revolute"))
        s.close_loop(s.world.port("ground"), s["rocker"].port("end"), tt.RigidClosure("twin", "planar_revolute", **second))
        return s

    (message,) = warned(double())
    assert message.startswith("twin: got offset1, offset2")
    assert "leave it out; redundant=True if it is meant" in message
    assert not warned(double(redundant=True))


@pytest.mark.parametrize("kind", ["revolute", "spherical", "universal"])
def test_a_pin_in_a_plane(kind: str) -> None:
    """The cure leaves two constraints, no warning and the same motion."""
    planar, q, v = closed_four_bar()
    a = planar.forward_dynamics(q, v, np.zeros(3))
    (message,) = warned(four_bar(tt.RigidClosure("pin", kind, axis2=[1, 0, 0])))
    found = cure(message)
    assert found == {"kind": "planar_revolute", "axis": [0.0, 0.0, 1.0]}
    s = four_bar(tt.RigidClosure("pin", **found))
    assert not warned(s)
    model = s.resolve()
    assert model.closure_rank(q) == len(model.constraint_names) == 2
    assert model.forward_dynamics(q, v, np.zeros(3)) == pytest.approx(a, abs=1e-12)  # rounding of numbers of ten


@pytest.mark.parametrize("kind", ["revolute", "spherical"])
def test_an_oblique_plane(kind: str) -> None:
    s, normal = turned(tt.RigidClosure("pin", kind, **({"axis": [0.48, 0.6, 0.64]} if kind == "revolute" else {})))
    found = cure(warned(s)[0])
    assert found["kind"] == "planar_revolute"
    assert abs(normal @ found["axis"]) == pytest.approx(1.0, abs=1e-11)  # said with twelve digits
    assert not warned(turned(tt.RigidClosure("pin", **found))[0])


def test_a_slider() -> None:
    found = cure(warned(slider_crank())[0])
    assert (found["kind"], found["axis"]) == ("planar_prismatic", [1.0, 0.0, 0.0])
    assert np.abs(found["axis2"]) == pytest.approx([0, 0, 1])
    before, other = slider_crank().resolve(), slider_crank(closure=tt.RigidClosure("slide", **found))
    q = before.assemble([0.5, -0.7, 0.2])
    v = before.assemble_velocity(q, [1.0, 0.0, 0.0])
    assert not warned(other)
    after = other.resolve()
    assert after.closure_rank(q) == len(after.constraint_names) == 2
    expected = before.forward_dynamics(q, v, np.zeros(3))
    assert after.forward_dynamics(q, v, np.zeros(3)) == pytest.approx(expected, abs=1e-11)
    assert np.abs(expected).max() > 1.0


def test_a_mechanism_that_is_not_planar() -> None:
    """One direction of Bricard's pin follows from the others: a cylinder would do."""
    found = cure(warned(bricard())[0])
    assert found["kind"] == "cylindrical"


def test_bad_input() -> None:
    with refusal("wrong-type", "redundant"):
        four_bar(tt.RigidClosure("pin", "revolute", redundant="yes")).resolve()  # type: ignore[arg-type]
    with refusal("parallel-axes", "pin.axis2"):
        four_bar(tt.RigidClosure("pin", "planar_prismatic", axis=[1, 0, 0], axis2=[2, 0, 0])).resolve()


# -- a nut that a closure keeps on its thread moves as a screw joint lets it, over many turns


def nut(joint: bool, pitch: float = 0.02) -> tt.System:
    s, axis = tt.System("nut", gravity=[0.5, 0, -9.81]), [0.3, -0.2, 1.0]
    body = tt.RigidBody("nut", 2.0, com=[0.03, 0.01, 0], inertia=[0.02, 0.03, 0.01])
    s.connect("world", body, tt.Screw("base", axis, pitch) if joint else tt.Free("base"))
    if not joint:
        s.close_loop("world", body, tt.RigidClosure("thread", "screw", axis, pitch=pitch))
    return s


@pytest.mark.parametrize("engine", ["compiled", "reference"])
@pytest.mark.parametrize("angle", [0.4, np.pi, 9.5 * np.pi, -40.0])
def test_a_nut_moves_as_a_screw_joint(engine: str, angle: float) -> None:
    m, tree, rate = nut(False).resolve(engine), nut(True).resolve(engine), 3.0
    rotation, position = tree.pose("nut", [angle])
    q = np.concatenate([position, matrix_quaternion(rotation)])
    v = tree.twist("nut", [angle], [rate])
    assert m.assemble(q) == pytest.approx(q, abs=1e-14)  # rounding: it is on a thread
    a, expected = m.forward_dynamics(q, v), tree.forward_dynamics([angle], [rate])[0]
    unit = tree.twist("nut", [angle], [1.0])
    assert a[3:] @ unit[3:] == pytest.approx(expected, rel=1e-11)  # rounding, and the condition of five constraints
    by_pitch = m.forward_dynamics_sensitivities(q, v, np.zeros(6), ["thread.pitch"])["thread.pitch"]
    step = 1e-6  # of second order
    moved = [nut(True, 0.02 + sign * step).resolve(engine).forward_dynamics([angle], [rate])[0] for sign in (1, -1)]
    assert unit[3:] @ by_pitch[3:] == pytest.approx((moved[0] - moved[1]) / (2 * step), rel=1e-6)


def test_a_nut_runs_along_its_thread_for_many_turns() -> None:
    m, tree, times = nut(False).resolve(), nut(True).resolve(), np.linspace(0, 3, 31)
    run = tt.simulate(m, times, m.neutral(), np.zeros(6), rtol=1e-10, atol=1e-11)
    expected = tt.simulate(tree, times, [0.0], [0.0], rtol=1e-10, atol=1e-11)
    assert abs(expected.q[-1, 0]) > 18 * 2 * np.pi
    along = run.q[:, :3] @ tree.twist("nut", [0.0], [1.0])[3:]
    assert np.abs(along - 0.02 * expected.q[:, 0]).max() < 1e-8  # of 2.3 m, by the integrators' tolerance


def test_files_keep_the_pitch() -> None:
    m = tt.load(to_text(nut(False))).resolve()
    assert m.parameters()["thread.pitch"] == (0.02, "m/rad")
