"""Closing rigid loops."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import titop as tt
from tests.closed_systems import four_bar, random_closed_tree
from tests.refusals import ENGINES, refusal

pytestmark = pytest.mark.filterwarnings("ignore::titop.ModelWarning")


# -- states that satisfy the closures -------------------------------------------------------------------------------------


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("seed", range(5))
def test_assembling_random_systems(engine: str, seed: int) -> None:
    rng = np.random.default_rng(310 + seed)
    s, q = random_closed_tree(rng, 6, rigid=1, compliant=0)
    model = s.resolve(engine)
    assert model.closure_rank(q) > 0
    guess = model.integrate(q, 0.1 * rng.normal(size=model.nv))
    assert np.abs(model.closure_error(guess)).max() > 1e-4
    found = model.assemble(guess)
    # Gauss-Newton steps go on to rounding
    assert np.abs(model.closure_error(found)).max() < 1e-12
    v = rng.normal(size=model.nv)
    kept = model.assemble_velocity(found, v)
    assert np.abs(model.closure_jacobian(found) @ kept).max() < 1e-12
    # least change, lengths over the system's size: at right angles to every velocity that keeps the loops closed
    other = model.assemble_velocity(found, rng.normal(size=model.nv))
    sizes = model.mechanism.scale.coordinates
    assert abs(((kept - v) / sizes) @ (other / sizes)) < 1e-11
    a = model.assemble_acceleration(found, kept, v)
    assert np.abs(model.closure_jacobian(found) @ a + model.closure_bias(found, kept)).max() < 1e-10


def test_fixed_coordinates_keep_their_values() -> None:
    model = four_bar().resolve()
    q = model.assemble([1.1, 0.5, -1.5], fixed=["q1"])
    v = model.assemble_velocity(q, [2.0, 0, 0], fixed=["q1"])
    a = model.assemble_acceleration(q, v, [3.0, 0, 0], fixed=["q1"])
    assert (q[0], v[0], a[0]) == (1.1, 2.0, 3.0)


@pytest.mark.parametrize("fixed", [(), ("q1",)])
def test_what_is_closed_already_is_copied(fixed: tuple[str, ...]) -> None:
    model = four_bar().resolve()
    closed = model.assemble([1.1, 0.5, -1.5])
    before = closed.copy()
    again = model.assemble(closed, fixed)
    again += 1.0
    np.testing.assert_array_equal(closed, before)


def test_joints_end_next_to_where_they_were_guessed() -> None:
    """Near folded configurations steps may be a hundred turns long; a whole turn less is as closed."""
    s = tt.System("two arms", gravity=[0, 0, 0])
    s.world.add_port("far", [0.6, 0.0, 0.0])
    at: tt.PortRef | str = "world"
    for k, length in enumerate((0.4, 0.7, 0.5)):
        bar = tt.RigidBody(f"bar{k}", 1.0, inertia=[0.01, 0.01, 0.01], ports={"end": [length, 0, 0]})
        s.connect(at, bar, tt.Revolute(f"j{k}", axis=[0, 0, 1]))
        at = bar.port("end")
    s.close_loop(at, s.world.port("far"), tt.RigidClosure("pin", directions=np.eye(6)[:, :2]))
    model = s.resolve()
    for guess in ([1.0, 1.4, -1.3], *np.random.default_rng(0).uniform(-3, 3, (20, 3)) * [0, 1, 1] + [1.0, 0, 0]):
        q = model.assemble(guess, fixed=["j0"])
        assert np.abs(q - guess).max() <= np.pi
        assert np.abs(model.closure_error(q)).max() < 1e-14


def test_geared_joints_end_next_to_where_they_were_guessed() -> None:
    """Cranks that a gear couples turn back together."""
    s = tt.System("five-bar", gravity=[0, 0, 0])
    s.world.add_port("far", [0.4, 0.0, 0.0])
    for side, foot in (("l", "world"), ("r", s.world.port("far"))):
        crank, arm = (
            tt.RigidBody(f"{name}_{side}", 1.0, inertia=[0.01, 0.01, 0.01], ports={"end": [length, 0, 0]})
            for name, length in (("crank", 0.3), ("arm", 0.7))
        )
        s.connect(foot, crank, tt.Revolute(f"q_{side}"))
        s.connect(crank.port("end"), arm, tt.Revolute(f"p_{side}"))
    s.close_loop(s["arm_l"].port("end"), s["arm_r"].port("end"), tt.RigidClosure("pin", directions=np.eye(6)[:, :2]))
    s.add_gear(tt.Gear("gear", driver="q_l", driven="q_r", ratio=-1.0, offset=np.pi))
    model = s.resolve()
    for guess in ([-0.826, -0.495, 0.248, -2.324], [-0.558, -2.998, 1.466, 2.111], [0.1, -0.6, 1.7, -0.2]):
        q = model.assemble(guess)
        assert np.abs(q - guess).max() < 2 * np.pi  # each of the two cranks half a turn, and what their gear moves besides
        assert np.abs(model.closure_error(q)).max() < 1e-13


def test_screws_keep_their_turns() -> None:
    """A nut three turns along its thread: a whole turn back would open the loop."""
    s = tt.System("thread", gravity=[0, 0, 0])
    s.world.add_port("stop", [0.0, 0.0, 0.06])
    s.connect(
        "world", tt.RigidBody("nut", 1.0, inertia=[0.01, 0.01, 0.01]), tt.Screw("thread", axis=[0, 0, 1], pitch=0.01 / np.pi)
    )
    s.close_loop(s["nut"], s.world.port("stop"), tt.RigidClosure("pin", directions=np.eye(6)[:, 2:3]))
    q = s.resolve().assemble([0.5])
    np.testing.assert_allclose(q, [6 * np.pi], rtol=1e-12)


# -- what is refused ------------------------------------------------------------------------------------------------------


def test_a_loop_that_cannot_close_is_named_with_what_is_left() -> None:
    short = four_bar(lengths=(1.0, 0.1, 0.2, 0.3))
    with pytest.warns(tt.ModelWarning, match="open-closure"):
        model = short.resolve()
    with pytest.raises(tt.ConvergenceError, match=r"loop 'pin' is open by 0\.4\d* m and \S+ rad"):
        model.assemble([0.1, 0.1, 0.1])
    with pytest.raises(tt.ConvergenceError, match="cannot be closed from there"):
        model.forward_dynamics(np.zeros(3), np.zeros(3), np.zeros(3))


def test_a_loop_closed_the_wrong_way_round_is_refused() -> None:
    s = tt.System("hinge", gravity=[0, 0, 0])
    body = tt.RigidBody("body", 1.0, inertia=1.0)
    s.connect("world", body, tt.Spherical("ball"))
    s.close_loop("world", body, tt.RigidClosure("pin", "revolute", axis=[0, 0, 1]))
    model = s.resolve()
    flipped = np.array([np.sin(1.5), 0, 0, np.cos(1.5)])  # nearly upside down
    with pytest.raises(tt.ConvergenceError, match=r"'pin' closes with its axes antiparallel"):
        model.assemble(flipped)
    assert np.abs(model.closure_error(model.assemble([np.sin(0.5), 0, 0, np.cos(0.5)]))).max() < 1e-12


# -- bodies that deform ---------------------------------------------------------------------------------------------------


def chain_with_beam() -> tt.Model:
    """Return three links, the middle one a beam, whose end is pinned at 0.5 of their length."""
    s = tt.System("chain", gravity=[0, 0, -9.81])
    s.world.add_port("pin", [0.45, 0, 0])
    links = [
        tt.RigidBody("a", 1.0, com=[0.15, 0, 0], inertia=[1e-3, 1e-2, 1e-2], ports={"C": [0.3, 0, 0]}),
        tt.Beam("beam", length=0.3, density=2700.0, area=1e-4, young=70e9, iy=1e-9, iz=1e-9),
        tt.RigidBody("b", 1.0, com=[0.15, 0, 0], inertia=[1e-3, 1e-2, 1e-2], ports={"C": [0.3, 0, 0]}),
    ]
    at: str | tt.PortRef = "world"
    for k, link in enumerate(links):
        s.connect(at, link, tt.Revolute(f"hinge{k}", axis=[0, 1, 0]))
        at = link.port("C")
    s.close_loop(s.world.port("pin"), at, tt.RigidClosure("loop", "revolute", axis=[0, 1, 0]))
    return s.resolve()


def test_joints_close_loops_before_bodies_deform() -> None:
    m = chain_with_beam()
    assert m.mechanism.deformations.tolist() == [not name.startswith("hinge") for name in m.coordinate_names]
    guess = m.integrate(m.neutral(), np.where(m.mechanism.deformations, 0.0, 0.5) * np.linspace(-1.0, 1.0, m.nv))
    q = m.assemble(guess)
    assert np.abs(m.closure_error(q)).max() < 1e-12
    assert not q[m.mechanism.deformations].any()
    # as a model's own closed configuration; its bodies are bent by the small step that shows whether it is regular
    assert np.abs(m.mechanism.regular_configuration[m.mechanism.deformations]).max() < 0.02


def test_bodies_deform_where_joints_cannot_close_a_loop() -> None:
    m = chain_with_beam()
    guess = m.assemble(m.integrate(m.neutral(), np.where(m.mechanism.deformations, 0.0, [*np.full(m.nv - 1, 0.5), -1.5])))
    guess[m.mechanism.deformations] = 1e-4 * np.arange(1, np.count_nonzero(m.mechanism.deformations) + 1)
    q = m.assemble(guess, fixed=["hinge0", "hinge1", "hinge2"])
    assert np.abs(m.closure_error(q)).max() < 1e-12
    assert 1e-6 < np.abs((q - guess)[m.mechanism.deformations]).max() < 0.1


MODEL = four_bar(tt.RigidClosure("pin", directions=np.eye(6)[:, :2]), stiffness=5.0, damping=0.2).resolve()
CLOSED = MODEL.assemble([1.2, -0.9, -1.2])

USES: list[Callable[[tt.OperatingPoint], object]] = [
    lambda p: p.stability,
    lambda p: p.eigenvalues,
    lambda p: tt.linearize(MODEL, p),
    lambda p: tt.linear_matrices(MODEL, p),
    lambda p: tt.linear_matrices(MODEL, (p.q, p.v, p.tau)),
    lambda p: tt.lft(MODEL, p, {"crank.mass": tt.percent(10)}, ["q1"], ["q1.q"]),
    lambda p: tt.lpv(MODEL, {"crank.mass": [1.0]}, inputs=["q1"], outputs=["q1.q"], points=[p], progress=False),
    lambda p: MODEL.to_nlsys(["q1"], None, p),
]


@pytest.mark.parametrize(
    "use", USES, ids=["stability", "eigenvalues", "linearize", "matrices", "matrices of a state", "lft", "lpv", "nlsys"]
)
def test_open_points_are_refused(use: Callable[[tt.OperatingPoint], object]) -> None:
    with refusal("open-point", "loop 'pin' is open by 0."):
        use(tt.OperatingPoint(MODEL, CLOSED + np.array([0.3, 0.0, 0.0])))
    with refusal("open-point", " changing at "):
        use(tt.OperatingPoint(MODEL, CLOSED, [1.0, 0.0, 0.0]))


def test_a_point_of_a_model_whose_lengths_have_changed_is_open() -> None:
    longer = MODEL.with_parameters({"crank.end.position.x": 0.45})
    with refusal("open-point", "take point at m.assemble"):
        tt.linearize(longer, CLOSED)
    point = tt.trim(longer, q=longer.assemble(CLOSED))
    assert tt.linearize(longer, point).nstates == 2


def test_what_trim_and_assembling_leave_open_is_closed() -> None:
    nearly = CLOSED + 1e-8
    tt.linearize(MODEL, (nearly, np.zeros(3), MODEL.inverse_dynamics(CLOSED, np.zeros(3), np.zeros(3))))


def flying() -> tt.Model:
    """Return a four-bar linkage on a body that flies freely."""
    s = tt.System("flying", gravity=[0, 0, 0])
    hub = tt.RigidBody("hub", 100.0, inertia=20.0, ports={"a": [0.5, 0, 0], "g": [0.8, 0, 0]})
    s.connect("world", hub, tt.Free("base"))
    parent = hub.port("a")
    for name, length in (("crank", 0.09), ("coupler", 0.27), ("rocker", 0.21)):
        bar = tt.RigidBody(name, 1.0, [length / 2, 0, 0], 1e-2 * length**2, ports={"end": [length, 0, 0]})
        s.connect(parent, bar, tt.Revolute(f"q_{name}", axis=[0, 0, 1]))
        parent = bar.port("end")
    s.close_loop(hub.port("g"), parent, tt.RigidClosure("pin", directions=np.eye(6)[:, :2]))
    return s.resolve()


@pytest.mark.parametrize("speed", [0.0, 7.5e3])
def test_velocities_that_open_loops_are_found_however_fast_the_base_flies(speed: float) -> None:
    """Motion of the whole opens no loop, and excuses none: 2e-3 rad/s open it by 5e-4 m/s."""
    m = flying()
    q = m.assemble([0, 0, 0, 0, 0, 0, 1, 1.0, -0.5, -2.0], fixed=["base", "q_crank"])
    v = np.array([speed, 0.2 * speed, 0, 0, 0, 0, 0, 2e-3, 0])
    with refusal("open-start", " changing at 0.000"):
        tt.simulate(m, [0, 0.1], q, v)


@pytest.mark.parametrize("away", [2e6, 7e6])
def test_loops_are_kept_closed_far_from_the_inertial_origin(away: float) -> None:
    """Rounding of places leaves 1e-9 m at 7e6 m; the motion of the loop follows from the errors to a thousand times that."""
    m = flying()
    q = m.assemble([0, 0, 0, 0, 0, 0, 1, 1.0, -0.5, -2.0], fixed=["base", "q_crank"])
    far = q + np.array([away, 0.3 * away, 0, 0, 0, 0, 0, 0, 0, 0])
    np.testing.assert_allclose(m.assemble(far, fixed=["base", "q_crank"])[3:], q[3:], rtol=0, atol=1e-7)
    v = m.assemble_velocity(q, [0, 0, 0, 0.1, 0.2, 0.3, 2.0, 0, 0], fixed=["base", "q_crank"])
    near, beyond = (tt.simulate(m, [0, 0.5, 1.0], start, v, progress=False) for start in (q, far))
    np.testing.assert_allclose(beyond.q[-1, 3:], near.q[-1, 3:], rtol=0, atol=1e-5)
    assert beyond.statistics["steps"] < 2 * near.statistics["steps"]
